//! Rates and counts under overload, throttling and fast failures.

use cosmark_simstore::Op;

use crate::bench::{READS, against, one_work, rate, time, timed};

const NULL: &str = "store: {mode: 'null', null_bytes: 1024}\ntime_zero: first_request\n";

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn g5_an_overloaded_store_is_seen_as_one_and_no_arrival_is_lost() {
    const SECONDS: f64 = 12.0;
    let attempt = || {
        let ran = against(
            &format!("{NULL}capacity: {{servers: 1, service_ms: 10, op: get}}\n"),
            "30s",
            &one_work(&format!("workers: 400, runtime: {SECONDS}s, rate: 120/s, {READS}")),
        );
        let op = ran.main();
        let accounted = op.ok + op.failed + op.missed + op.unfinished;
        // 1440 arrivals; the one that is due exactly at the end may count or not.
        assert!((1440..=1441).contains(&accounted), "{accounted} arrivals of 1440");
        ran
    };
    timed("G5 overload", attempt, |ran| {
        let op = ran.main();
        // A queue adds up how late its server is: half a millisecond each moves the median by a quarter of a second. So
        // the median's truth takes the pace that the server says it kept.
        let mut answered: Vec<u64> =
            ran.served(Op::Get).map(|one| one.headers_ns).filter(|ns| *ns > 0).collect();
        answered.sort_unstable();
        let paced = answered.first().zip(answered.last()).map_or(0, |(first, last)| last - first);
        let kept_per_s = (answered.len() as f64 - 1.0) / (paced as f64 / 1e9);
        let median_s = SECONDS / 2.0 * (1.0 - kept_per_s / 120.0) + 0.01;
        vec![
            rate("rate /s", 100.0, op.throughput_per_s, 120.0, false),
            rate("unfinished", 20.0 * SECONDS, Some(op.unfinished as f64), 120.0, false).moved_by(0.1),
            time("p50 ms, at the pace that the server kept", 1000.0 * median_s, op.response_ms.p50),
        ]
    });
}

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn g7_fast_failures_raise_no_rate_and_lower_no_latency() {
    let attempt = || {
        let ran = against(
            &format!(
                "{NULL}delay: {{op: get, law: {{constant_ms: 100}}}}\nerrors: {{op: get, status: 503, exact: {{count: 1, of: 5}}, \
                 delay_ms: 1}}\n"
            ),
            "30s",
            &one_work(&format!("workers: 10, runtime: 8s, {READS}")),
        );
        let failed = ran.rows.iter().filter(|row| row.sample.status == 503).count() as u64;
        assert_eq!(failed, ran.counters.of(Op::Get, 503));
        let op = ran.main();
        assert_eq!(op.errors.keys().collect::<Vec<_>>(), ["http_503"]);
        assert_eq!((op.retries, op.bytes), (0, 1024 * op.ok), "failures are not retried and bring no bytes");
        let share = op.failed as f64 / (op.failed + op.ok) as f64;
        assert!((share - 0.2).abs() <= 0.005, "{share} failed");
        ran
    };
    timed("G7 fast failures", attempt, |ran| {
        let op = ran.main();
        let all = (op.ok + op.failed) as f64 / op.window_s;
        vec![
            rate("requests /s", 10.0 / 0.0802, Some(all), 80.0, true),
            rate("good /s", 8.0 / 0.0802, op.throughput_per_s, 80.0, true),
            time("success p50 ms", 100.0, op.service_ms.p50),
            time("failure p50 ms", 1.0, op.failed_service_ms.p50).showing(99.0),
        ]
    });
}

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn g24_a_throttled_run_reports_every_request_that_was_on_the_wire() {
    let attempt = || {
        let ran = against(
            &format!("{NULL}rate_cap: {{op: get, per_s: 200, burst: 10, status: 503, code: SlowDown}}\n"),
            "30s",
            &one_work(&format!("workers: 100, runtime: 8s, rate: 300/s, {READS}")),
        );
        let rows = |status| ran.rows.iter().filter(|row| row.sample.status == status).count() as u64;
        assert_eq!((rows(200), rows(503)), (ran.counters.of(Op::Get, 200), ran.counters.of(Op::Get, 503)));
        let op = ran.main();
        assert_eq!((op.retries, op.requests), (0, op.ok + op.failed));
        assert_eq!(op.codes.get("SlowDown"), Some(&op.failed));
        ran
    };
    timed("G24 throttle", attempt, |ran| {
        let op = ran.main();
        vec![
            // A pause of more than 50 ms overflows the bucket, and its tokens are lost.
            rate("goodput /s", 200.0, op.throughput_per_s, 50.0, false),
            rate("throttled /s", 100.0, Some(op.failed as f64 / op.window_s), 50.0, false).within(0.02),
        ]
    });
}
