//! Counts of a record that may be anybody's: what was counted in a run is added up in many ways, and together it has to be what
//! a run can have, so that no sum runs over and calls a run with failures one that has none.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Names of what is counted while a run lasts. Limits and settings are none: who sets one to the greatest number may.
const COUNTED: &[&str] = &[
    "accepted_only",
    "back_on_a_connection",
    "before_sent",
    "bytes",
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
    "partial_bytes",
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

/// Bytes included, all counts of a run come to no more: 10^9 bytes a second for ten years, three times over.
pub const MOST: u128 = 1 << 60;

/// True when all that a record in JSON counts could be counted in one run.
///
/// # Errors
/// When it is no JSON.
pub fn are_possible(json: &str) -> Result<bool, serde_json::Error> {
    let mut read = serde_json::Deserializer::from_str(json);
    Ok(Sum { counts: false, is_table: false }.deserialize(&mut read)? <= MOST)
}

/// The sum of all numbers below names of counts.
#[derive(Clone, Copy)]
struct Sum {
    counts: bool,
    /// Of a map, whatever its names are.
    is_table: bool,
}

impl<'de> DeserializeSeed<'de> for Sum {
    type Value = u128;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<u128, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sum {
    type Value = u128;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<u128, E> {
        Ok(0)
    }

    fn visit_u64<E>(self, number: u64) -> Result<u128, E> {
        Ok(if self.counts { u128::from(number) } else { 0 })
    }

    fn visit_i64<E>(self, number: i64) -> Result<u128, E> {
        Ok(if self.counts { u128::from(number.unsigned_abs()) } else { 0 })
    }

    fn visit_f64<E>(self, _: f64) -> Result<u128, E> {
        Ok(0)
    }

    fn visit_str<E>(self, _: &str) -> Result<u128, E> {
        Ok(0)
    }

    fn visit_unit<E>(self) -> Result<u128, E> {
        Ok(0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<u128, A::Error> {
        let mut sum = 0_u128;
        while let Some(more) = values.next_element_seed(self)? {
            sum = sum.saturating_add(more);
        }
        Ok(sum)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<u128, A::Error> {
        let mut sum = 0_u128;
        while let Some(name) = values.next_key::<String>()? {
            let counts = self.is_table || COUNTED.contains(&name.as_str());
            let is_table = TABLES.contains(&name.as_str());
            sum = sum.saturating_add(values.next_value_seed(Self { counts, is_table })?);
        }
        Ok(sum)
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
            (format!(r#"{{"a":{{"b":[{{"bytes":{0}}},{{"bytes":{0}}}]}}}}"#, (1_u64 << 59) + 1), false),
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
}
