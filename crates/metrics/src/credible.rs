//! What the sums of one slice of time may be at most. They come from drivers on other machines, and a driver's login
//! lets it lie about what it measured: what no load makes is seen before it is added to anything, so that sums do not
//! overflow and no list grows without end.

use std::collections::BTreeMap;

use crate::{HealthSample, Latency, OpSnapshot, PartSums, Snapshot, TimeSums, WireSums};

/// Operations of anything in a slice: a thousand million a second for a month.
const MOST: u64 = 1 << 52;
/// Bytes of a slice: some 18 PB.
const MOST_BYTES: u64 = 1 << 54;
/// So many operations that took an hour each.
const MOST_NS: u128 = 1 << 96;
/// Operations of a work, and its endpoints.
const MOST_OPERATIONS: usize = 50_000;
const MOST_ENDPOINTS: usize = 4096;
/// Codes and reasons of one operation in one slice, and their length. All threads of a driver together have at most
/// 1025, whatever a store answers.
const MOST_WORDS: usize = 2048;
const LONGEST_WORD: usize = 4096;

impl Snapshot {
    /// False when no load makes such sums.
    #[must_use]
    pub fn is_credible(&self) -> bool {
        self.ops.len() <= MOST_OPERATIONS && self.ops.iter().all(operation)
    }
}

impl HealthSample {
    /// False when no machine pauses so often, or for so long.
    #[must_use]
    pub fn is_credible(&self) -> bool {
        latency(&self.pause)
    }
}

fn operation(op: &OpSnapshot) -> bool {
    // Exhaustive, so that a new field cannot be forgotten here.
    let OpSnapshot {
        ok,
        failed,
        bytes,
        partial_bytes,
        accepted_only,
        missed,
        delayed,
        requests,
        retries,
        connections,
        renewals,
        unfinished,
        intended,
        checked,
        in_flight_ns,
        age_at_start_ns,
        age_at_end_ns,
        workers_done,
        workers_done_at_ns,
        response,
        service,
        first_byte,
        failed_service,
        connect,
        lag,
        unfinished_age,
        wire: on_wire,
        time: spent,
        sizes,
        endpoints,
        errors,
        codes,
    } = op;
    let counted = [
        ok,
        failed,
        accepted_only,
        missed,
        delayed,
        requests,
        retries,
        connections,
        renewals,
        unfinished,
        intended,
        checked,
        workers_done,
    ];
    let summed = [in_flight_ns, age_at_start_ns, age_at_end_ns, workers_done_at_ns];
    let times = [response, service, first_byte, failed_service, connect, lag, unfinished_age];
    let mut counted = counted.into_iter().chain(errors.values()).chain(sizes.failures());
    counted.all(count)
        && *bytes <= MOST_BYTES
        && *partial_bytes <= MOST_BYTES
        && summed.into_iter().all(sum)
        && times.into_iter().all(latency)
        && wire(on_wire)
        && time(spent)
        && endpoints.len() <= MOST_ENDPOINTS
        && endpoints.iter().chain(sizes.parts()).all(part)
        && words(codes)
}

fn part(sums: &PartSums) -> bool {
    let PartSums {
        ok,
        failed,
        bytes,
        connections,
        response,
        service,
        first_byte,
        wire: on_wire,
        time: spent,
    } = sums;
    [ok, failed, connections].into_iter().all(count)
        && *bytes <= MOST_BYTES
        && [response, service, first_byte].into_iter().all(latency)
        && wire(on_wire)
        && time(spent)
}

fn wire(sums: &WireSums) -> bool {
    let WireSums { times, added, stamped, unstamped } = sums;
    latency(times) && latency(added) && count(stamped) && words(unstamped)
}

fn time(sums: &TimeSums) -> bool {
    let TimeSums {
        count: of,
        connect_ns,
        tls_ns,
        several,
        several_ns,
        several_first_ns,
        unseen_ns,
        apart_connect_ns,
        drawn,
        drawn_send_ns,
        drawn_first_ns,
    } = sums;
    let summed = [
        connect_ns,
        tls_ns,
        several_ns,
        several_first_ns,
        unseen_ns,
        apart_connect_ns,
        drawn_send_ns,
        drawn_first_ns,
    ];
    [of, several, drawn].into_iter().all(count) && summed.into_iter().all(sum)
}

fn words(counted: &BTreeMap<String, u64>) -> bool {
    counted.len() <= MOST_WORDS
        && counted.iter().all(|(word, number)| word.len() <= LONGEST_WORD && count(number))
}

fn latency(times: &Latency) -> bool {
    times.count() <= MOST && times.sum_ns() <= MOST_NS
}

fn count(number: &u64) -> bool {
    *number <= MOST
}

fn sum(ns: &u128) -> bool {
    *ns <= MOST_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Phase, Sample};

    fn of(op: OpSnapshot) -> Snapshot {
        Snapshot { work: 0, phase: Phase::Window, start_ns: 0, end_ns: 1, ops: vec![op] }
    }

    #[test]
    fn what_a_load_makes_is_credible_and_what_none_makes_is_not() {
        let mut honest = OpSnapshot::default();
        for bytes in [0, 100, 1 << 20, 5 << 40] {
            honest.add(
                &Sample { sent_ns: 1, end_ns: 9_000_000, bytes, endpoint: 3, ..Sample::default() },
                true,
            );
        }
        // Threads whose store gives each failure a code of its own.
        for thread in 0..100 {
            let mut op = OpSnapshot::default();
            (0..200).for_each(|code| op.add_code(&format!("Code{thread}-{code}")));
            honest.merge(&op);
        }
        assert!(of(honest.clone()).is_credible());
        let lies: [fn(&mut OpSnapshot); 9] = [
            |op| op.ok = u64::MAX,
            |op| op.intended = u64::MAX,
            |op| op.bytes = u64::MAX,
            |op| op.in_flight_ns = u128::MAX,
            |op| op.time.tls_ns = u128::MAX,
            |op| op.wire.stamped = u64::MAX,
            |op| op.endpoints.resize_with(70_000, Default::default),
            |op| op.endpoints[0].connections = u64::MAX,
            |op| op.codes.extend((0..5000).map(|code| (code.to_string(), 1))),
        ];
        for (at, lie) in lies.into_iter().enumerate() {
            let mut op = honest.clone();
            lie(&mut op);
            assert!(!of(op).is_credible(), "{at}");
        }
        let many = Snapshot { ops: vec![OpSnapshot::default(); MOST_OPERATIONS + 1], ..of(honest) };
        assert!(!many.is_credible());
    }

    #[test]
    fn codes_of_very_many_snapshots_are_counted_and_not_all_by_name() {
        let mut sum = OpSnapshot::default();
        for round in 0..100 {
            let codes = (0..64).map(|code| (format!("{round}-{code}"), 1)).collect();
            sum.merge(&OpSnapshot { codes, ..OpSnapshot::default() });
        }
        assert!(sum.codes.len() <= 1025, "{}", sum.codes.len());
        assert_eq!(sum.codes.values().sum::<u64>(), 6400);
    }
}
