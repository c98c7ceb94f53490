//! Times: do quantiles, first byte and the window say what the store did?

use cosmark_metrics::Phase;
use cosmark_simstore::{Op, truth};

use crate::bench::{READS, Ran, against, assert_never_below, one_work, quantile_ms, rate, time, timed};

const NULL: &str = "store: {mode: 'null', null_bytes: 1024}\ntime_zero: first_request\n";

fn behaviour(rules: &str) -> String {
    format!("{NULL}{rules}\n")
}

/// Service times of all operations against the server's own times between request and answer.
fn assert_contains_the_server(ran: &Ran) {
    let measured = ran.rows.iter().map(|row| row.sample.service_ns()).collect();
    let served = ran.served(Op::Get).map(|one| one.headers_ns - one.complete_ns).collect();
    assert_never_below(measured, served);
}

/// Little's law between three numbers that are measured apart: the gauge, the completions, the stopwatches.
fn assert_little(ran: &Ran) {
    let op = ran.main();
    let mean_s = (op.service_ms.mean.unwrap_or(0.0) * op.ok as f64
        + op.failed_service_ms.mean.unwrap_or(0.0) * op.failed as f64)
        / (op.ok + op.failed) as f64
        / 1000.0;
    let product = (op.ok + op.failed) as f64 / op.window_s * mean_s;
    let in_flight = op.in_flight_mean.unwrap();
    let longest_s = op.service_ms.max.unwrap().max(op.failed_service_ms.max.unwrap_or(0.0)) / 1000.0;
    let edge = 2.0 * longest_s / op.window_s;
    let off = (in_flight - product).abs() / in_flight;
    assert!(off <= 0.02 + edge, "in flight {in_flight}, X R {product}: off by {off}");
}

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn g1_a_constant_delay_is_reported_by_every_quantile_and_every_worker_keeps_its_connection() {
    let attempt = || {
        let ran = against(
            &behaviour("delay: {op: get, law: {constant_ms: 50}}"),
            "30s",
            &one_work(&format!("workers: 8, runtime: 6s, {READS}")),
        );
        assert_contains_the_server(&ran);
        assert_little(&ran);
        // Keep-alive, whatever the machine does: one connection per worker, and one for the question before the stage.
        assert_eq!((ran.counters.connections_accepted, ran.main().connections), (8 + 1, 8));
        ran
    };
    timed("G1 constant", attempt, |ran| {
        let op = ran.main();
        vec![
            time("p50 ms", 50.0, op.service_ms.p50),
            time("p95 ms", 50.0, op.service_ms.p95),
            rate("rate /s", 160.0, op.throughput_per_s, 50.0, true),
            time(
                "in flight x R / X, ms",
                50.0,
                op.in_flight_mean.zip(op.throughput_per_s).map(|(n, x)| n / x * 1000.0),
            ),
        ]
    });
}

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn g2_a_law_of_three_points_keeps_its_proportions_in_the_quantiles() {
    const LAW: &str = "{mixture: [{count: 1979, ms: 5}, {count: 20, ms: 50}, {count: 1, ms: 500}]}";
    let rules = behaviour(&format!("delay: {{op: get, law: {LAW}}}"));
    let law = cosmark_simstore::Behaviour::from_yaml(&rules).unwrap().delay[0].law.clone().unwrap();
    let attempt = || {
        let ran =
            against(&rules, "30s", &one_work(&format!("workers: 200, runtime: 24s, rate: 500/s, {READS}")));
        assert_contains_the_server(&ran);
        // The store's own draw: exact proportions in each block, whatever the machine does.
        let drawn = |ms: u64| ran.served(Op::Get).filter(|one| one.delay_ns == ms * 1_000_000).count();
        let blocks = ran.served(Op::Get).count() / 2000;
        assert!(drawn(50) >= 20 * blocks && drawn(500) >= blocks && blocks >= 5);
        assert_eq!(ran.main().missed, 0);
        ran
    };
    timed("G2 three points", attempt, |ran| {
        let response = &ran.main().response_ms;
        [
            ("p50", 0.5, response.p50),
            ("p95", 0.95, response.p95),
            ("p99", 0.99, response.p99),
            ("p99.9", 0.999, response.p99_9),
        ]
        .map(|(name, share, reported)| {
            time(&format!("{name} ms"), truth::quantile_ms(&law, share).unwrap(), reported)
        })
        .into()
    });
}

/// Response times of requests at an even rate when the store, `base_s` each, freezes once: what is in flight then keeps the
/// rest of its wait until after the freeze, what comes during it begins its wait after it.
fn frozen_ns(rate_per_s: f64, total_s: f64, freeze_at_s: f64, freeze_s: f64, base_s: f64) -> Vec<u64> {
    let over_s = freeze_at_s + freeze_s;
    (0..(rate_per_s * total_s) as u32)
        .map(|number| {
            let at_s = f64::from(number) / rate_per_s;
            let response_s = if at_s >= over_s || at_s + base_s <= freeze_at_s {
                base_s
            } else if at_s < freeze_at_s {
                base_s + freeze_s
            } else {
                over_s + base_s - at_s
            };
            (response_s * 1e9).round() as u64
        })
        .collect()
}

/// When the store was done with each request, by its own log, after the request was due: what a client without any cost of its
/// own would have measured. Requests are paired in the order in which they were sent and arrived; the two clocks differ by a
/// constant, which the request that was fastest on its way shows.
fn by_the_servers_log_ns(ran: &Ran) -> Vec<u64> {
    let mut sent: Vec<(u64, u64)> =
        ran.rows.iter().map(|row| (row.sample.sent_ns, row.sample.due_ns)).collect();
    let mut served: Vec<(u64, u64)> = ran.served(Op::Get).map(|one| (one.arrival_ns, one.end_ns)).collect();
    sent.sort_unstable();
    served.sort_unstable();
    assert_eq!(sent.len(), served.len());
    let pairs = || sent.iter().zip(&served);
    let offset_ns = pairs().map(|((sent_ns, _), (arrival_ns, _))| *arrival_ns as i64 - *sent_ns as i64).min();
    let offset_ns = offset_ns.unwrap();
    pairs()
        .map(|((_, due_ns), (_, end_ns))| {
            u64::try_from(*end_ns as i64 - offset_ns - *due_ns as i64).unwrap_or(0)
        })
        .collect()
}

/// An open loop of `per_s` requests per second for `total_s` seconds against 10 ms each and one stall of 1 s.
fn stalled_open_loop(per_s: u32, total_s: u32) {
    let truth_ns = frozen_ns(f64::from(per_s), f64::from(total_s), 10.0, 1.0, 0.01);
    let q = |share| {
        let listed = quantile_ms(truth_ns.clone(), share).unwrap();
        let closed = truth::stalled_quantile_ms(10.0, 1.0, f64::from(per_s), f64::from(total_s), share);
        // The same truth twice: by listing every request, and as a closed form.
        assert!((listed - closed).abs() < 1e-3, "{share}: {listed} {closed}");
        listed
    };
    let due = u64::from(per_s * total_s);
    let attempt = || {
        let ran = against(
            &behaviour("delay: {op: get, law: {constant_ms: 10}}\nstalls: {at_s: 10, for_s: 1}"),
            "30s",
            &one_work(&format!("workers: {}, runtime: {total_s}s, rate: {per_s}/s, {READS}", per_s * 3 / 2)),
        );
        assert_contains_the_server(&ran);
        let op = ran.main();
        assert_eq!(op.intended, Some(due));
        // Each arrival is answered in the window or counted as not.
        let accounted = op.ok + op.failed + op.missed + op.unfinished;
        assert!((due..=due + 1).contains(&accounted), "{accounted} arrivals of {due}");
        // In a stall of a second the store answers nobody: whoever came in its first half waited half a second or more.
        let long = ran.rows.iter().filter(|row| row.sample.response_ns() >= 500_000_000).count();
        assert!(
            long as f64 >= 0.49 * f64::from(per_s),
            "only {long} requests saw half a second of the stall"
        );
        ran
    };
    timed(&format!("G3 stall, open, {per_s}/s"), attempt, |ran| {
        let response = &ran.main().response_ms;
        let above = |times: &[u64]| times.iter().filter(|ns| **ns > 110_000_000).count() as f64;
        let by_server_ns = by_the_servers_log_ns(ran);
        let waited: Vec<u64> = ran.rows.iter().map(|row| row.sample.response_ns()).collect();
        vec![
            time("p95 ms", q(0.95), response.p95),
            time("p99 ms", q(0.99), response.p99),
            time("p99.9 ms", q(0.999), response.p99_9),
            time("max ms", q(1.0), response.max),
            time("p99 ms, by the server's log", quantile_ms(by_server_ns, 0.99).unwrap(), response.p99)
                .showing(1000.0),
            rate("held above 110 ms", above(&truth_ns), Some(above(&waited)), 1000.0, false)
                .moved_by(f64::from(per_s) / 1000.0),
        ]
    });
}

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn g3_an_open_loop_sees_every_request_that_a_stall_of_one_second_held_up() {
    stalled_open_loop(400, 26);
}

#[test]
#[ignore = "needs a machine with time for 1500 connections: run it alone with --release"]
fn g3_an_open_loop_of_a_thousand_per_second_sees_the_stall() {
    stalled_open_loop(1000, 30);
}

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn g3_a_closed_loop_samples_the_same_stall_once_per_worker() {
    let attempt = || {
        let ran = against(
            &behaviour("delay: {op: get, law: {constant_ms: 10}}\nstalls: {at_s: 3, for_s: 1}"),
            "30s",
            &one_work(&format!("workers: 10, runtime: 8s, {READS}")),
        );
        assert_contains_the_server(&ran);
        // Ten workers wait in the stall, each once: on any machine.
        let held = ran.rows.iter().filter(|row| row.sample.service_ns() >= 1_000_000_000).count();
        assert_eq!(held, 10);
        ran
    };
    timed("G3 stall, closed", attempt, |ran| {
        let service = &ran.main().service_ms;
        vec![time("p99 ms", 10.0, service.p99).showing(1000.0), time("max ms", 1010.0, service.max)]
    });
}

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn g9_a_slow_body_shows_in_the_total_and_not_in_the_first_byte() {
    const BYTES: u64 = 2_621_440;
    let rules = format!(
        "store: {{mode: 'null', null_bytes: {BYTES}}}\ndelay: {{op: get, law: {{constant_ms: 5}}}}\nbandwidth: {{op: get, \
         bytes_per_s: 10485760}}\n"
    );
    let attempt = || {
        let ran = against(&rules, "30s", &one_work(&format!("workers: 4, runtime: 4s, {READS}")));
        let op = ran.main();
        assert_eq!(op.bytes, op.ok * BYTES);
        assert_little(&ran);
        ran
    };
    timed("G9 slow body", attempt, |ran| {
        let op = ran.main();
        let per_op = op.service_ms.p50.map(|ms| BYTES as f64 / 1_048_576.0 / (ms - 5.0) * 1000.0);
        vec![
            time("first byte p50 ms", 5.0, op.first_byte_ms.p50).showing(250.0),
            time("total p50 ms", 255.0, op.service_ms.p50),
            rate("MiB/s of one body", 10.0, per_op, 250.0, true),
        ]
    });
}

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn a_slow_ramp_up_leaves_nothing_in_the_window() {
    let rules = behaviour(
        "delay:\n  - {op: get, until_s: 2, law: {constant_ms: 100}}\n  - {op: get, from_s: 2, law: {constant_ms: 10}}",
    );
    let attempt = || {
        let ran = against(
            &rules,
            "30s",
            &one_work(&format!("workers: 4, rampup: 4s, runtime: 4s, rampdown: 1s, {READS}")),
        );
        // As many operations as the server was slow with, the earliest: all of them in the ramp-up.
        let slow = ran.served(Op::Get).filter(|one| one.delay_ns == 100_000_000).count();
        let mut rows: Vec<_> = ran.rows.iter().collect();
        rows.sort_by_key(|row| row.sample.sent_ns);
        assert!(slow >= 4, "the script had no slow part");
        assert!(rows[..slow].iter().all(|row| row.phase == Phase::Rampup));
        assert!(rows.iter().any(|row| row.phase == Phase::Rampdown));
        ran
    };
    timed("window", attempt, |ran| {
        let op = ran.main();
        vec![
            time("p50 ms", 10.0, op.service_ms.p50),
            time("p99 ms", 10.0, op.service_ms.p99).showing(90.0),
            rate("rate /s", 400.0, op.throughput_per_s, 10.0, true),
        ]
    });
}
