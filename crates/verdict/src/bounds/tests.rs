//! Known truths, clients that add known delays to them, and bounds from what such a client would know of itself.

use cosmark_metrics::{ClientRecord, HealthSample, HealthSummary, Latencies, Latency};
use cosmark_stats::bootstrap::Random;

use super::*;
use crate::evidence::{Logged, Series, WorkEvidence};

/// A store's time in ms.
type Store = fn(&mut Random) -> f64;

fn exponential(random: &mut Random, mean: f64) -> f64 {
    -mean * (1.0 - random.unit()).ln()
}

const STORES: [(&str, Store); 4] = [
    ("constant", |_| 10.0),
    ("even", |random| 8.0 + 4.0 * random.unit()),
    ("exponential", |random| 1.0 + exponential(random, 9.0)),
    (
        "two kinds",
        |random| if random.unit() < 0.9 { 2.0 + random.unit() } else { 40.0 + exponential(random, 10.0) },
    ),
];

/// The client's machine: pauses of this length (ms, exponential or constant) begin so often, on average.
#[derive(Clone, Copy)]
struct Machine {
    every_ms: f64,
    length_ms: f64,
    constant: bool,
}

impl Machine {
    const QUIET: Self = Self { every_ms: f64::INFINITY, length_ms: 0.0, constant: true };

    /// When its pauses begin and end, over a window.
    fn pauses(self, random: &mut Random, window_ms: f64) -> Vec<(f64, f64)> {
        let (mut at, mut pauses) = (0.0, Vec::new());
        loop {
            at += exponential(random, self.every_ms);
            if !at.is_finite() || at >= window_ms {
                return pauses;
            }
            let length = if self.constant { self.length_ms } else { exponential(random, self.length_ms) };
            pauses.push((at, at + length));
            at += length;
        }
    }
}

/// When something that happens at this moment is noticed.
fn noticed(pauses: &[(f64, f64)], at: f64) -> f64 {
    let before = pauses.partition_point(|(from, _)| *from <= at);
    before.checked_sub(1).and_then(|pause| pauses.get(pause)).map_or(at, |(_, to)| to.max(at))
}

/// What a thread that sleeps a millisecond at a time notes of them: each pause once per nap that it swallowed.
fn canary(pauses: &[(f64, f64)], window_ms: f64) -> ClientRecord {
    let mut pause = Latency::default();
    let mut naps = 0_u64;
    for (from, to) in pauses {
        // A nap ends somewhere in its first millisecond.
        let mut left = (to - from) - (1.0 - from.fract());
        while left > 0.0 {
            pause.record((left * 1e6) as u64);
            (left, naps) = (left - 1.0, naps + 1);
        }
    }
    (naps..window_ms as u64).for_each(|nap| pause.record(20_000 + nap % 5 * 1000));
    HealthSummary::of(&[HealthSample { span_ns: 1, pause, ..HealthSample::default() }])
}

struct Trial {
    evidence: Evidence,
    /// What a client that adds nothing would have measured, growing.
    truth: Vec<f64>,
    rate_per_s: f64,
}

fn latency_of(times: &[f64]) -> Latencies {
    let mut latency = Latency::default();
    times.iter().for_each(|ms| latency.record((ms * 1e6) as u64));
    Latencies::of(&latency)
}

const WINDOW_MS: f64 = 60_000.0;

/// Seconds of the window with what ended in each.
fn batches_of(times: &[(f64, f64)]) -> Batches {
    let mut batches = Batches::new(1_000_000_000);
    let mut seconds: BTreeMap<u64, Latency> = BTreeMap::new();
    for (end, ms) in times {
        seconds.entry((end / 1000.0) as u64).or_default().record((ms * 1e6) as u64);
    }
    for (second, latency) in seconds {
        batches.add_times(second * 1_000_000_000, &latency.filled().unwrap());
    }
    batches.close(60_000_000_000);
    batches
}

fn evidence_of(pacing: Pacing, times: &[(f64, f64)], client: ClientRecord, workers: u64) -> Evidence {
    let values: Vec<f64> = times.iter().map(|(_, ms)| *ms).collect();
    let published = latency_of(&values);
    let batches = batches_of(times);
    let rates = batches.batches().iter().map(|batch| batch.ok as f64).collect();
    let op = OperationEvidence {
        work: "main".into(),
        name: "read".into(),
        kind: "read".into(),
        window_s: WINDOW_MS / 1000.0,
        ok: times.len() as u64,
        requests: times.len() as u64,
        in_flight_mean: Some(values.iter().sum::<f64>() / WINDOW_MS),
        response: published.clone(),
        service: published,
        logged: Logged { response: Some(batches), ..Logged::default() },
        ..OperationEvidence::default()
    };
    Evidence {
        window_s: WINDOW_MS / 1000.0,
        works: vec![WorkEvidence {
            name: "main".into(),
            workers,
            pacing,
            window_s: 60.0,
            ..WorkEvidence::default()
        }],
        operations: vec![op],
        series: vec![Series { work: "main".into(), step_s: 1.0, rate_per_s: rates, ..Series::default() }],
        clients: vec![client],
        drivers: 1,
        ..Evidence::default()
    }
}

fn client_of(pauses: &[(f64, f64)]) -> ClientRecord {
    let pause = canary(pauses, WINDOW_MS);
    ClientRecord {
        driver: "local".into(),
        load_threads: 1,
        thread_busy_max: Some(0.01),
        run_queue_wait_share_max: Some(0.0),
        pause_p99_9_ms: pause.pause_p99_9_ms,
        pause_max_ms: pause.pause_max_ms,
        pause_beyond: pause.pause_beyond,
        ..ClientRecord::default()
    }
}

/// Arrivals by the clock, which a machine that pauses sends late and hears late.
fn open_loop(store: Store, machine: Machine, rate_per_s: f64, seed: u64) -> Trial {
    let mut random = Random::new(seed);
    let pauses = machine.pauses(&mut random, WINDOW_MS);
    let (mut due, mut truth, mut seen, mut lags) = (0.0, Vec::new(), Vec::new(), Vec::new());
    loop {
        due += exponential(&mut random, 1000.0 / rate_per_s);
        if due >= WINDOW_MS {
            break;
        }
        let time = store(&mut random);
        let sent = noticed(&pauses, due);
        let end = noticed(&pauses, sent + time);
        truth.push(time);
        lags.push(sent - due);
        seen.push((end.min(WINDOW_MS - 1.0), end - due));
    }
    let mut evidence = evidence_of(Pacing::Open, &seen, client_of(&pauses), 1000);
    evidence.operations[0].lag = Some(latency_of(&lags));
    truth.sort_by(f64::total_cmp);
    Trial { evidence, truth, rate_per_s }
}

/// Workers that wait for their answers; in a pause nobody sends.
fn closed_loop(store: Store, machine: Machine, workers: u64, seed: u64) -> Trial {
    let mut random = Random::new(seed);
    let pauses = machine.pauses(&mut random, WINDOW_MS);
    let (mut truth, mut seen) = (Vec::new(), Vec::new());
    for _ in 0..workers {
        let mut at = 0.0;
        loop {
            let time = store(&mut random);
            let end = noticed(&pauses, at + time);
            if end >= WINDOW_MS {
                break;
            }
            truth.push(time);
            seen.push((end, end - at));
            at = end;
        }
    }
    let evidence = evidence_of(Pacing::Closed, &seen, client_of(&pauses), workers);
    let mean = truth.iter().sum::<f64>() / truth.len() as f64;
    truth.sort_by(f64::total_cmp);
    Trial { evidence, truth, rate_per_s: 1000.0 * workers as f64 / mean }
}

/// Workers with a schedule of their own, which a machine that pauses sends late and hears late.
fn paced_loop(store: Store, machine: Machine, (workers, period_ms): (u64, f64), seed: u64) -> Trial {
    let mut random = Random::new(seed);
    let pauses = machine.pauses(&mut random, WINDOW_MS);
    let (mut truth, mut seen, mut lags) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..workers {
        let (mut due, mut free) = (0.0, 0.0_f64);
        while due < WINDOW_MS {
            let sent = noticed(&pauses, free.max(due));
            let time = store(&mut random);
            let end = noticed(&pauses, sent + time);
            if end >= WINDOW_MS {
                break;
            }
            // Who was still busy when it was due is late by that, and not by the machine.
            lags.extend((due >= free).then_some(sent - due));
            truth.push(time);
            seen.push((end, end - due));
            (free, due) = (end, due + period_ms);
        }
    }
    let mut evidence = evidence_of(Pacing::Paced, &seen, client_of(&pauses), workers);
    let rate_per_s = 1000.0 * workers as f64 / period_ms;
    evidence.works[0].pace_per_s = Some(rate_per_s);
    evidence.operations[0].lag = Some(latency_of(&lags));
    truth.sort_by(f64::total_cmp);
    Trial { evidence, truth, rate_per_s }
}

fn true_value(trial: &Trial, metric: &Metric) -> Option<f64> {
    let times = &trial.truth;
    let at = |share: f64| times.get(((times.len() as f64 * share).ceil() as usize).max(1) - 1).copied();
    match metric.statistic {
        Statistic::Quantile(quantile) => at(quantile),
        Statistic::Mean => Some(times.iter().sum::<f64>() / times.len() as f64),
        Statistic::Rate(Amount::Operations) => Some(trial.rate_per_s),
        _ => None,
    }
}

/// Figures that were bounded, and those of them whose bounds do not contain the truth.
fn missed(trial: &Trial) -> (usize, Vec<String>) {
    let bounds = of_operation(&trial.evidence, &trial.evidence.operations[0]);
    let (mut bounded, mut wrong) = (0, Vec::new());
    for metric in METRICS {
        let (Some(bound), Some(truth)) = (bounds.get(metric.id), true_value(trial, metric)) else { continue };
        bounded += 1;
        let below = bound.low.is_some_and(|low| truth < low);
        let above = bound.high.is_some_and(|high| truth > high);
        if below || above {
            wrong.push(format!("{}: {truth} is not in {:?} to {:?}", metric.id, bound.low, bound.high));
        }
    }
    (bounded, wrong)
}

const MACHINES: [(&str, Machine); 4] = [
    ("short pauses, often", Machine { every_ms: 50.0, length_ms: 0.5, constant: false }),
    ("3.6 ms now and then", Machine { every_ms: 2000.0, length_ms: 3.6, constant: true }),
    ("a second of ten", Machine { every_ms: 9000.0, length_ms: 1000.0, constant: true }),
    ("stretches of all lengths", Machine { every_ms: 300.0, length_ms: 20.0, constant: false }),
];

#[test]
fn the_truth_lies_between_the_bounds_whatever_the_client_adds() {
    let (mut bounded, mut wrong) = (0, Vec::new());
    for (name, store) in STORES {
        for (machine_name, machine) in MACHINES {
            for seed in 0..2 {
                let open = open_loop(store, machine, 150.0, seed);
                let closed = closed_loop(store, machine, 3, seed);
                for (kind, trial) in [("open", open), ("closed", closed)] {
                    let (figures, misses) = missed(&trial);
                    bounded += figures;
                    wrong.extend(
                        misses
                            .into_iter()
                            .map(|miss| format!("{name}, {machine_name}, {kind} {seed}: {miss}")),
                    );
                }
            }
        }
    }
    assert!(bounded > 500, "{bounded}");
    assert!(wrong.len() * 50 <= bounded, "{} of {bounded}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_client_that_added_nothing_leaves_only_the_sampling_error() {
    for (name, store) in STORES {
        let trials = [open_loop(store, Machine::QUIET, 300.0, 1), closed_loop(store, Machine::QUIET, 8, 1)];
        for trial in trials {
            let bounds = of_operation(&trial.evidence, &trial.evidence.operations[0]);
            for figure in ["response_ms.p50", "response_ms.p99", "service_ms.p50"] {
                let (bound, value) = (&bounds[figure], trial.evidence.operations[0].response.p50.unwrap());
                let client = bound.client.below.unwrap() / value;
                assert!(client < 0.01, "{name} {figure}: {bound:?}");
            }
            let median = &bounds["response_ms.p50"];
            let room = if name == "exponential" { 0.04 } else { 0.02 };
            assert!(median.holds() && median.within.unwrap() < room, "{name}: {median:?}");
        }
    }
}

#[test]
fn a_time_below_nothing_in_a_damaged_record_stops_no_verdict() {
    let mut trial = paced_loop(STORES[0].1, MACHINES[0].1, (8, 50.0), 4);
    for damaged in [-1.0, -1e308, 0.0, 1e308] {
        let times = &mut trial.evidence.operations[0].response;
        (times.p50, times.p95, times.p99) = (Some(damaged), Some(damaged), Some(damaged));
        let bounds = of_operation(&trial.evidence, &trial.evidence.operations[0]);
        assert!(!bounds.is_empty(), "{damaged}");
    }
}

#[test]
fn a_rate_per_worker_is_never_above_what_it_asks_for_however_late_it_was_sent() {
    let rate =
        |evidence: &Evidence| of_operation(evidence, &evidence.operations[0])["throughput_per_s"].clone();
    for (name, machine) in MACHINES {
        let trial = paced_loop(STORES[0].1, machine, (8, 50.0), 4);
        let (bound, value) = (rate(&trial.evidence), trial.evidence.operations[0].ok as f64 / 60.0);
        let most = value + bound.client.above.unwrap();
        assert!(most <= trial.rate_per_s + 1e-6, "{name}: {most} {value} {bound:?}");
        assert!(missed(&trial).1.iter().all(|miss| !miss.starts_with("throughput")), "{name}: {bound:?}");
    }
    // Each is sent later than it takes: without a rate nothing would limit what that kept back.
    let mut trial = paced_loop(|_| 0.2, Machine::QUIET, (4, 50.0), 3);
    let count = trial.evidence.operations[0].ok as usize;
    trial.evidence.operations[0].lag = Some(latency_of(&vec![0.3; count]));
    let mut of = |pace_per_s: Option<f64>| {
        trial.evidence.works[0].pace_per_s = pace_per_s;
        let op = &trial.evidence.operations[0];
        let measured = Measured::of(&op.response, op.logged.response.as_ref()).unwrap();
        let late = Added::after_due(&trial.evidence, op).only(&[Cause::Lag]);
        let metric = METRICS.iter().find(|metric| metric.id == "throughput_per_s").unwrap();
        (rate(&trial.evidence), moves(&trial.evidence, op, &measured, &late, metric).unwrap())
    };
    let (asked, moved) = of(Some(80.0));
    assert!(asked.holds() && asked.within.unwrap() < 0.01 && moved == 0.0, "{asked:?} {moved}");
    let (behind, moved) = of(Some(88.0));
    assert!((behind.client.above.unwrap() - 8.0).abs() < 1e-6 && (moved - 0.1).abs() < 1e-9, "{behind:?}");
    let (unknown, moved) = of(None);
    assert!(!unknown.holds() && moved == 1.0, "{unknown:?} {moved}");
}

#[test]
fn a_pause_that_one_sample_in_a_thousand_sees_leaves_the_median_alone() {
    // 3.6 ms in one of a thousand, at 1.15 ms and in a closed loop.
    let machine = Machine { every_ms: 3600.0, length_ms: 3.6, constant: true };
    let trial = closed_loop(|random| 0.9 + exponential(random, 0.08), machine, 2, 5);
    let bounds = of_operation(&trial.evidence, &trial.evidence.operations[0]);
    let within = |figure: &str| bounds[figure].within.unwrap();
    assert!(
        within("response_ms.p50") < 0.01 && within("throughput_per_s") < 0.02,
        "{:?} {:?}",
        bounds["response_ms.p50"],
        bounds["throughput_per_s"]
    );
    assert!(within("response_ms.p99") < 0.05, "{:?}", bounds["response_ms.p99"]);
    let tail = &bounds["response_ms.p99_99"];
    assert!(tail.low.unwrap() < 0.7 * trial.evidence.operations[0].response.p99_99.unwrap(), "{tail:?}");
    assert_eq!(missed(&trial).1, Vec::<String>::new());
}

#[test]
fn what_had_not_finished_is_above_and_takes_the_upper_bound_with_it() {
    let mut trial = closed_loop(STORES[1].1, Machine::QUIET, 8, 3);
    let op = &mut trial.evidence.operations[0];
    op.unfinished = op.ok / 50;
    op.unfinished_age = Some(latency_of(&vec![5000.0; op.unfinished as usize]));
    let bounds = of_operation(&trial.evidence, &trial.evidence.operations[0]);
    let tail = &bounds["response_ms.p99"];
    assert_eq!((tail.high, tail.client.above, tail.cause), (None, None, Some(Cause::Unfinished)));
    assert!(tail.does_not_hold.as_ref().is_some_and(|why| why.contains("had not finished")), "{tail:?}");
    assert!(bounds["response_ms.p50"].holds());
}

#[test]
fn times_that_the_kernel_stamped_take_the_place_of_what_is_inferred() {
    let machine = MACHINES[3].1;
    let mut trial = closed_loop(STORES[2].1, machine, 4, 9);
    let inferred = of_operation(&trial.evidence, &trial.evidence.operations[0]);
    trial.evidence.operations[0].client_share = Some(latency_of(&vec![0.01; 20_000]));
    let stamped = of_operation(&trial.evidence, &trial.evidence.operations[0]);
    let below = |bounds: &BTreeMap<String, Bound>| bounds["response_ms.p95"].client.below.unwrap();
    assert!(
        below(&stamped) < 0.02 && below(&inferred) > below(&stamped),
        "{} {}",
        below(&inferred),
        below(&stamped)
    );
}

#[test]
fn what_is_not_known_is_no_bound_and_nothing_panics() {
    let mut evidence = Evidence::default();
    assert!(of_operation(&evidence, &OperationEvidence::default()).is_empty());
    evidence.operations.push(OperationEvidence {
        window_s: 10.0,
        ok: 3,
        failed: 1,
        ..OperationEvidence::default()
    });
    let op = &mut evidence.operations[0];
    op.response = latency_of(&[1.0, 2.0, 3.0]);
    add(&mut evidence);
    let bounds = &evidence.operations[0].bounds;
    assert_eq!(bounds["throughput_per_s"].low, None, "nobody knows its course");
    assert!(!bounds["throughput_per_s"].holds() && !bounds.contains_key("response_ms.p99"));
    let failed = &bounds["error_rate"];
    assert!(failed.low.unwrap() < 0.03 && failed.high.unwrap() > 0.6, "{failed:?}");
    assert!((bounds["success_ratio"].low.unwrap() + failed.high.unwrap() - 1.0).abs() < 1e-9);
}

/// A client of which nothing is known has no delays, and their sum is -0.
#[test]
fn no_end_of_an_interval_is_below_0_for_want_of_delays() {
    let trial = closed_loop(STORES[0].1, Machine::QUIET, 8, 3);
    let evidence = Evidence { operations: trial.evidence.operations.clone(), ..Evidence::default() };
    let bounds = of_operation(&evidence, &evidence.operations[0]);
    let mean = &bounds["response_ms.mean"];
    assert_eq!(mean.client.below.map(f64::to_bits), Some(0), "{mean:?}");
    for (name, bound) in bounds {
        let spreads = [bound.client, bound.sampling];
        let sides = spreads.iter().flat_map(|spread| [spread.below, spread.above]);
        for end in sides.chain([bound.low, bound.high, bound.within]).flatten() {
            assert!(end.is_sign_positive(), "{name}: {end}");
        }
    }
}

#[test]
fn a_share_of_failures_is_bounded_by_its_count() {
    let mut trial = closed_loop(STORES[0].1, Machine::QUIET, 8, 3);
    trial.evidence.operations[0].failed = 0;
    let bounds = of_operation(&trial.evidence, &trial.evidence.operations[0]);
    let failed = &bounds["error_rate"];
    assert!(
        failed.holds() && failed.high.unwrap() < 4.0 / trial.truth.len() as f64 && failed.low == Some(0.0)
    );
}

#[test]
fn what_moves_a_figure_by_less_than_can_be_written_moves_none() {
    let p99 = cosmark_metrics::results::METRICS.iter().find(|metric| metric.is_time()).unwrap();
    let sentence = |share| Widened { share, metric: p99, figure: "p99 of read".into() }.sentence();
    assert_eq!(sentence(0.000_004), "that moves no headline figure");
    assert_eq!(sentence(0.000_04), "p99 of read may be up to 0.004 % lower");
    assert_eq!(sentence(0.12), "p99 of read may be up to 12 % lower");
    assert_eq!(sentence(1.0), "p99 of read may be anything lower");
}

#[test]
fn a_figure_that_is_known_roughly_is_not_said_not_to_hold() {
    let mut trial = closed_loop(STORES[1].1, Machine::QUIET, 8, 3);
    let bound = |within: Option<f64>| Bound {
        low: Some(9.0),
        high: Some(11.0),
        within,
        cause: Some(Cause::Lag),
        ..Bound::default()
    };
    let mut said = |p99: Option<Bound>| {
        let known = [("throughput_per_s", 0.001), ("response_ms.p50", 0.25), ("response_ms.p95", 0.4)];
        let known = known.map(|(figure, within)| (figure.to_owned(), bound(Some(within))));
        let p99 = p99.map(|bound| ("response_ms.p99".to_owned(), bound));
        trial.evidence.operations[0].bounds = known.into_iter().chain(p99).collect();
        figures_hold(&trial.evidence).message
    };
    let rest = "; p50 of read and p95 of read are known within 40 %; throughput within 0.1 % hold";
    assert_eq!(said(None), format!("p99 of read has too few operations{rest}"));
    let message = said(Some(bound(None)));
    assert!(message.starts_with("p99 of read does not hold, because"), "{message}");
    assert!(message.ends_with(rest), "{message}");
}
