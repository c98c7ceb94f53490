//! Counts of a record that may be anybody's: what was counted in a run is added up in many ways, and together it has to be what
//! a run can have, so that no sum runs over and calls a run with failures one that has none.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Names of what is counted while a run lasts, in the order of the alphabet. Limits and settings are none: who sets one
/// to the greatest number may.
const COUNTED: &[&str] = &[
    "accepted_only",
    "back_on_a_connection",
    "before_sent",
    "changes",
    "checked",
    "connections",
    "corrupt",
    "count",
    "delayed",
    "failed_operations",
    "failures",
    "intended",
    "late",
    "listed_not_there",
    "listed_twice",
    "load_operations",
    "looks",
    "lost",
    "missed",
    "missed_changes",
    "never_written",
    "reads",
    "renewals",
    "requests",
    "resent",
    "resets",
    "resurrected",
    "retries",
    "right",
    "sampled",
    "stale",
    "tcp_retransmitted",
    "tcp_segments_out",
    "there_not_listed",
    "unanswered",
    "unanswered_done",
    "unanswered_not_done",
    "undecided",
    "unfinished",
    "unjudged",
    "unreadable",
    "went_back",
    "within_clock_error",
];

/// Names of tables of counts, each by a name that may be any.
const TABLES: &[&str] = &["error_codes", "errors", "wire_unstamped"];

/// Names of what is counted in bytes.
const BYTES: &[&str] = &["bytes", "partial_bytes"];

/// All counts of a run but those of bytes come to no more: 10^9 of them a second for ten years, three times over.
pub const MOST: u128 = 1 << 60;
/// All bytes of a run, which stand in a record by operation and again by driver, endpoint and size: 1 TB/s for fifteen
/// weeks, or for three where each is there five times. Sums of them fit into the 64 bits of every reader, with a sign
/// or without; readers whose numbers have 53 bits show them rounded.
pub const MOST_BYTES: u128 = (1 << 63) - 1;

/// What was counted, all of it together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counted {
    pub counts: u128,
    pub bytes: u128,
}

impl Counted {
    /// With what somebody else has counted.
    pub fn and(self, more: Self) -> Self {
        Self { counts: self.counts.saturating_add(more.counts), bytes: self.bytes.saturating_add(more.bytes) }
    }

    /// True when one run can have counted it.
    pub fn is_possible(self) -> bool {
        self.counts <= MOST && self.bytes <= MOST_BYTES
    }
}

/// True when all that a record in JSON counts could be counted in one run.
///
/// # Errors
/// When it is no JSON.
pub fn are_possible(json: &str) -> Result<bool, serde_json::Error> {
    let mut read = serde_json::Deserializer::from_str(json);
    Ok(Sum { of: Of::Settings, is_table: false }.deserialize(&mut read)?.is_possible())
}

/// What the numbers of a value are.
#[derive(Clone, Copy)]
enum Of {
    /// No counts.
    Settings,
    Counts,
    Bytes,
}

/// The sum of all numbers below names of counts.
#[derive(Clone, Copy)]
struct Sum {
    of: Of,
    /// Of a map, whatever its names are.
    is_table: bool,
}

impl Sum {
    fn counted(self, number: u64) -> Counted {
        match self.of {
            Of::Settings => Counted::default(),
            Of::Counts => Counted { counts: u128::from(number), bytes: 0 },
            Of::Bytes => Counted { counts: 0, bytes: u128::from(number) },
        }
    }
}

impl<'de> DeserializeSeed<'de> for Sum {
    type Value = Counted;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Counted, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sum {
    type Value = Counted;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Counted, E> {
        Ok(Counted::default())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Counted, E> {
        Ok(self.counted(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Counted, E> {
        Ok(self.counted(number.unsigned_abs()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Counted, E> {
        Ok(Counted::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Counted, E> {
        Ok(Counted::default())
    }

    fn visit_unit<E>(self) -> Result<Counted, E> {
        Ok(Counted::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Counted, A::Error> {
        let mut sum = Counted::default();
        while let Some(more) = values.next_element_seed(self)? {
            sum = sum.and(more);
        }
        Ok(sum)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Counted, A::Error> {
        let mut sum = Counted::default();
        while let Some(below) = values.next_key_seed(Name { is_in_table: self.is_table })? {
            sum = sum.and(values.next_value_seed(below)?);
        }
        Ok(sum)
    }
}

/// A name, which says what the numbers below it are. A record has thousands: none is copied.
struct Name {
    is_in_table: bool,
}

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Sum;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<Sum, D::Error> {
        name.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Sum;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Sum, E> {
        let of = if self.is_in_table || COUNTED.binary_search(&name).is_ok() {
            Of::Counts
        } else if BYTES.contains(&name) {
            Of::Bytes
        } else {
            Of::Settings
        };
        Ok(Sum { of, is_table: TABLES.contains(&name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_would_run_over_are_impossible_and_settings_are_no_counts() {
        let greatest = u64::MAX;
        for (json, possible) in [
            (
                r#"{"stages":[{"operations":[{"count":7,"failures":2,"bytes":1000000000000000}]}]}"#
                    .to_owned(),
                true,
            ),
            (format!(r#"{{"seed":{greatest},"a":[{greatest}],"count":null,"bytes":1e300,"x":"1"}}"#), true),
            (format!(r#"{{"stages":[{{"failures":{greatest}}},{{"failures":1}}]}}"#), false),
            (format!(r#"{{"a":{{"b":[{{"requests":{0}}},{{"requests":{0}}}]}}}}"#, (1_u64 << 59) + 1), false),
            // 1 TB/s for two weeks, by operation, driver, endpoint and size.
            (
                format!(
                    r#"{{"bytes":{0},"drivers":[{{"bytes":{0}}}],"a":[{{"bytes":{0}}},{{"bytes":{0}}}],"count":7}}"#,
                    14 * 86_400 * 1_000_000_000_000_u64
                ),
                true,
            ),
            (format!(r#"{{"bytes":{0},"partial_bytes":{0}}}"#, (1_u64 << 62) - 1), true),
            (format!(r#"{{"bytes":{0},"partial_bytes":{0}}}"#, 1_u64 << 62), false),
            // What one of the two may still have is nothing that the other may have.
            (format!(r#"{{"bytes":{},"count":{}}}"#, i64::MAX, 1_u64 << 60), true),
            (format!(r#"{{"bytes":1,"count":{}}}"#, (1_u64 << 60) + 1), false),
            (r#"{"count":-9223372036854775808}"#.to_owned(), false),
            // What a reading back found would be nothing together with one more.
            (format!(r#"{{"durability":[{{"lost":1,"resurrected":{greatest}}}]}}"#), false),
            (format!(r#"{{"operations":[{{"failures":1,"errors":{{"http_503":{greatest}}}}}]}}"#), false),
            (r#"{"operations":[{"errors":{"http_503":7,"seed":8}}]}"#.to_owned(), true),
            (format!(r#"{{"errors":{{"at":{{"seed":{greatest}}}}}}}"#), true),
        ] {
            assert_eq!(are_possible(&json).unwrap(), possible, "{json}");
        }
        assert!(are_possible("{").is_err());
    }

    #[test]
    fn each_name_of_a_count_is_found_also_where_it_is_spelt_with_escapes() {
        assert!(COUNTED.is_sorted(), "they are looked up by halves");
        for name in COUNTED {
            assert!(!are_possible(&format!(r#"{{"{name}":{}}}"#, u64::MAX)).unwrap(), "{name}");
        }
        assert!(!are_possible(&format!(r#"{{"co\u0075nt":{}}}"#, u64::MAX)).unwrap());
        assert!(are_possible(&format!(r#"{{"counts":{0},"coun":{0}}}"#, u64::MAX)).unwrap());
    }
}
