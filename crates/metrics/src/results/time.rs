//! What the mean response time of an operation went into: parts that add up to it, as they were measured.

use serde::{Deserialize, Serialize};

use crate::{Latency, OpSnapshot, PartSums, TimeSums};

/// The mean response time of an operation and its parts, in milliseconds: they add up to it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeResult {
    /// Mean response time.
    pub mean_ms: f64,
    /// From due to sent: the queue of an open loop, or of a paced one.
    pub wait_ms: f64,
    /// Opening connections: addresses, TCP, a proxy's tunnel.
    pub connect_ms: f64,
    /// TLS handshakes.
    pub tls_ms: f64,
    /// From the open connection to the moment the client's system had taken the last byte of the request; null where it was
    /// not seen, and then part of `first_byte_ms`.
    pub send_ms: Option<f64>,
    /// From then on to the first byte of the answer: the network, and what the store did before it answered.
    pub first_byte_ms: f64,
    /// From the first byte of the answer to the end of the operation.
    pub body_ms: f64,
    /// Operations of several requests (parts, pages, repeats), which have no such parts.
    pub several_ms: f64,
    /// What nobody can tell: operations of which no first byte is known.
    pub rest_ms: f64,
    /// How many operations `several_ms` is from.
    pub several: u64,
    /// Of how many operations of one request the sending was seen: its share is theirs.
    pub sampled: u64,
}

/// A part of the time, for whoever shows it.
#[derive(Debug)]
pub struct TimePart {
    /// Its name in files, without its unit.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Its mean in milliseconds; `None` = not known.
    pub of: fn(&TimeResult) -> Option<f64>,
}

/// The parts, in the order in which an operation goes through them.
pub const TIME_PARTS: &[TimePart] = &[
    TimePart {
        id: "wait",
        title: "wait",
        help: "from due to sent: no worker was free, or the client was late",
        of: |time| Some(time.wait_ms),
    },
    TimePart {
        id: "connect",
        title: "connect",
        help: "addresses, TCP, a proxy's tunnel",
        of: |time| Some(time.connect_ms),
    },
    TimePart { id: "tls", title: "TLS", help: "handshakes", of: |time| Some(time.tls_ms) },
    TimePart {
        id: "send",
        title: "send",
        help: "until the client's system had taken the last byte of the request",
        of: |time| time.send_ms,
    },
    TimePart {
        id: "first_byte",
        title: "first byte",
        help: "until the first byte of the answer: the network, and the store before it answers",
        of: |time| Some(time.first_byte_ms),
    },
    TimePart {
        id: "body",
        title: "body",
        help: "from the first byte of the answer to the end",
        of: |time| Some(time.body_ms),
    },
    TimePart {
        id: "several",
        title: "several requests",
        help: "operations of several requests, which cannot be divided further",
        of: |time| Some(time.several_ms),
    },
    TimePart {
        id: "rest",
        title: "rest",
        help: "operations of which no first byte is known",
        of: |time| Some(time.rest_ms),
    },
];

impl TimeResult {
    /// The parts of an operation; `None` where nothing succeeded, or its parts are not known.
    #[must_use]
    pub fn of(op: &OpSnapshot) -> Option<Self> {
        parts(op.response_or_service(), &op.service, &op.first_byte, &op.time)
    }

    /// The same of a part of it.
    #[must_use]
    pub fn of_part(part: &PartSums) -> Option<Self> {
        parts(part.response_or_service(), &part.service, &part.first_byte, &part.time)
    }
}

#[expect(clippy::cast_precision_loss, reason = "means of nanoseconds need no more than 53 bits")]
fn parts(response: &Latency, service: &Latency, first_byte: &Latency, time: &TimeSums) -> Option<TimeResult> {
    let count = service.count();
    if count == 0 || time.count != count || response.count() != count {
        return None;
    }
    let mean = |ns: u128| ns as f64 / count as f64 / 1e6;
    let (all_ns, service_ns) = (response.sum_ns(), service.sum_ns());
    // Of operations of one request: from their open connection to their first byte, and from there to their end.
    let one_connect_ns = time.connect_ns.saturating_sub(time.apart_connect_ns);
    let first_ns = first_byte.sum_ns().saturating_sub(time.several_first_ns).saturating_sub(one_connect_ns);
    let divided_ns = service_ns
        .saturating_sub(time.connect_ns)
        .saturating_sub(time.several_ns)
        .saturating_sub(time.unseen_ns);
    let first_ns = first_ns.min(divided_ns);
    let share = (time.drawn_first_ns > 0).then(|| time.drawn_send_ns as f64 / time.drawn_first_ns as f64);
    let send_ms = share.map(|share| mean(first_ns) * share);
    Some(TimeResult {
        mean_ms: mean(all_ns),
        wait_ms: mean(all_ns.saturating_sub(service_ns)),
        connect_ms: mean(time.connect_ns.saturating_sub(time.tls_ns)),
        tls_ms: mean(time.tls_ns),
        send_ms,
        first_byte_ms: (mean(first_ns) - send_ms.unwrap_or(0.0)).max(0.0),
        body_ms: mean(divided_ns - first_ns),
        several_ms: mean(time.several_ns),
        rest_ms: mean(time.unseen_ns),
        several: time.several,
        sampled: time.drawn,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sample;

    const MS: u64 = 1_000_000;

    fn sum(time: &TimeResult) -> f64 {
        TIME_PARTS.iter().filter_map(|part| (part.of)(time)).sum()
    }

    #[test]
    fn each_part_has_what_was_planted_and_they_add_up_to_the_mean() {
        let mut op = OpSnapshot::default();
        for at in 0..10_u64 {
            let opens = at == 0;
            let (connect_ms, tls_ms) = if opens { (30, 20) } else { (0, 0) };
            let sent_ns = 100 * MS + 7 * MS;
            let request_sent_ns = sent_ns + (connect_ms + 2) * MS;
            let first_byte_ns = request_sent_ns + 5 * MS;
            let sample = Sample {
                due_ns: 100 * MS,
                sent_ns,
                first_byte_ns,
                end_ns: first_byte_ns + 11 * MS,
                connect_ns: connect_ms * MS,
                tls_ns: tls_ms * MS,
                connections: u32::from(opens),
                requests: 1,
                bytes: 1000 + 100_000 * (at % 2),
                // Every other one is drawn and stands for two.
                request_sent_ns: if at % 2 == 0 { request_sent_ns } else { 0 },
                stands_for: if at % 2 == 0 { 2 } else { 0 },
                ..Sample::default()
            };
            op.add(&sample, true);
        }
        let time = TimeResult::of(&op).unwrap();
        assert_eq!((time.wait_ms, time.connect_ms, time.tls_ms), (7.0, 1.0, 2.0));
        assert_eq!((time.body_ms, time.several_ms, time.rest_ms, time.sampled), (11.0, 0.0, 0.0, 5));
        assert!(
            (time.send_ms.unwrap() - 2.0).abs() < 1e-9 && (time.first_byte_ms - 5.0).abs() < 1e-9,
            "{time:?}"
        );
        assert!((sum(&time) - time.mean_ms).abs() < 1e-9 && (time.mean_ms - 28.0).abs() < 1e-9, "{time:?}");
        // By size: only the small ones opened a connection, and only they were drawn.
        let classes = op.sizes.several();
        let times: Vec<TimeResult> =
            classes.iter().map(|(_, sums)| TimeResult::of_part(sums).unwrap()).collect();
        assert_eq!((times[0].tls_ms, times[1].tls_ms), (4.0, 0.0));
        assert_eq!((times[1].send_ms, times[1].first_byte_ms, times[1].sampled), (None, 7.0, 0));
        times.iter().for_each(|time| assert!((sum(time) - time.mean_ms).abs() < 1e-9, "{time:?}"));
    }

    #[test]
    fn what_cannot_be_divided_has_a_part_of_its_own_and_what_was_not_measured_is_nothing() {
        let mut op = OpSnapshot::default();
        let one = Sample {
            due_ns: 1,
            sent_ns: 1,
            first_byte_ns: 1 + 4 * MS,
            end_ns: 1 + 10 * MS,
            requests: 1,
            ..Sample::default()
        };
        op.add(&one, false);
        // Parts side by side opened four connections at once: no more than the operation took.
        op.add(&Sample { requests: 6, connections: 4, connect_ns: 40 * MS, tls_ns: 50 * MS, ..one }, false);
        op.add(&Sample { requests: 3, first_byte_ns: 0, ..one }, false);
        op.add(&Sample { first_byte_ns: 0, connections: 1, connect_ns: 2 * MS, ..one }, false);
        let time = TimeResult::of(&op).unwrap();
        assert_eq!((time.several, time.several_ms, time.rest_ms), (2, 2.5, 2.0));
        assert_eq!((time.connect_ms, time.tls_ms, time.first_byte_ms, time.body_ms), (0.5, 2.5, 1.0, 1.5));
        assert_eq!((time.send_ms, sum(&time), time.mean_ms), (None, 10.0, 10.0));
        assert_eq!(TimeResult::of(&OpSnapshot::default()), None);
        // Of a driver that tells no parts.
        let mut other = OpSnapshot::default();
        other.add(&one, false);
        op.merge(&OpSnapshot { time: TimeSums::default(), ..other });
        assert_eq!(TimeResult::of(&op), None);
    }

    proptest::proptest! {
        #[test]
        fn the_parts_of_any_operations_add_up_and_none_is_negative(
            all in proptest::collection::vec(
                (0_u64..1000, 0_u64..1000, 0_u64..1000, 0_u64..1000, 0_u64..3000, 0_u32..4, 0_u32..3), 1..60),
        ) {
            let (mut left, mut right) = (OpSnapshot::default(), OpSnapshot::default());
            for (at, (wait, send, first, body, connect, requests, weight)) in all.into_iter().enumerate() {
                let sent_ns = 10 + wait;
                let sample = Sample {
                    due_ns: 10,
                    sent_ns,
                    first_byte_ns: if first == 0 { 0 } else { sent_ns + first },
                    end_ns: sent_ns + first + body,
                    connect_ns: connect,
                    tls_ns: connect / 2,
                    connections: u32::from(connect > 0),
                    requests,
                    request_sent_ns: sent_ns + send,
                    stands_for: weight,
                    bytes: u64::from(requests) * 5000,
                    ..Sample::default()
                };
                if at % 2 == 0 { &mut left } else { &mut right }.add(&sample, true);
            }
            left.merge(&right);
            let parts = left.sizes.several();
            let times = parts.iter().filter_map(|(_, sums)| TimeResult::of_part(sums));
            for time in times.chain(TimeResult::of(&left)) {
                proptest::prop_assert!((sum(&time) - time.mean_ms).abs() < 1e-9, "{:?}", time);
                for part in TIME_PARTS {
                    proptest::prop_assert!((part.of)(&time).is_none_or(|ms| ms > -1e-12), "{} {:?}", part.id, time);
                }
            }
        }
    }
}
