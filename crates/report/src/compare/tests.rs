//! Comparisons of archives that are made here, with and without a difference.

use std::path::Path;
use std::time::Duration;

use cosmark_archive::{
    Archive, HostRecord, IntervalLine, NewRun, RunState, StageState, StageTables, Timestamp,
};
use cosmark_metrics::results::{Bound, Cause, Spread};
use cosmark_metrics::{Latencies, Latency, OpSnapshot, OperationResult, Phase, Sample, Snapshot};
use cosmark_stats::batches::Batches;
use cosmark_stats::bootstrap::Random;
use cosmark_workload::units::columns_of;
use cosmark_workload::{Environment, Format, parse, to_yaml};

use super::load::{LoadedOperation, LoadedStage};
use super::*;

/// Near enough to a standard normal number, and cheap.
fn normal(random: &mut Random) -> f64 {
    ((0..3).map(|_| random.unit()).sum::<f64>() - 1.5) * 2.0
}

/// A run of `seconds`: each second has about `rate` operations of log-normal times around `ms`, and seconds resemble each other.
fn run(random: &mut Random, seconds: u64, rate: f64, ms: f64, phi: f64) -> Loaded {
    let mut batches = Batches::new(1_000_000_000);
    let mut all = Latency::default();
    let mut state = normal(random);
    for second in 0..seconds {
        state = phi * state + (1.0 - phi * phi).sqrt() * normal(random);
        let slow = 1.0 + 0.03 * state;
        let count = (rate / slow).round() as u64;
        let mut times = Latency::default();
        for _ in 0..count {
            let ns = (ms * slow * (0.2 * normal(random)).exp() * 1e6) as u64;
            times.record(ns);
        }
        batches.add_times(second * 1_000_000_000, &times.filled().unwrap());
        all.merge(&times);
    }
    let quantile = |q: f64| all.quantile_ns(q).map(|ns| ns as f64 / 1e6);
    let operation = LoadedOperation {
        name: "read".into(),
        op: "read".into(),
        workers: Some(8),
        window_s: Some(seconds as f64),
        failures: Some(0),
        published: OperationResult {
            ok: all.count(),
            throughput_per_s: Some(all.count() as f64 / seconds as f64),
            response_ms: Latencies {
                mean: all.mean_ns().map(|ns| ns / 1e6),
                p50: quantile(0.5),
                p95: quantile(0.95),
                p99: quantile(0.99).filter(|_| all.count() >= 1000),
                ..Latencies::default()
            },
            ..OperationResult::default()
        },
        batches: Some(batches),
        ..LoadedOperation::default()
    };
    Loaded {
        label: "x".into(),
        place: std::path::PathBuf::new(),
        workload: "w".into(),
        host: String::new(),
        state: "finished".into(),
        refuted: None,
        is_cosbench: false,
        stages: vec![LoadedStage { name: "main".into(), waits: None, operations: vec![operation] }],
        faults: Vec::new(),
    }
}

fn named(word: &str) -> &'static Metric {
    compared().find(|metric| metric.names.compare == word).unwrap()
}

fn differs(comparison: &Comparison) -> bool {
    comparison.rows().any(|row| matches!(row.outcome, Outcome::Better | Outcome::Worse))
}

#[test]
fn two_runs_of_the_same_thing_show_no_difference_in_at_least_90_of_100_trials() {
    let mut random = Random::new(17);
    let quiet = (0..100)
        .filter(|_| {
            let mut side = || vec![run(&mut random, 24, 30.0, 10.0, 0.6)];
            !differs(&compare(&[side(), side()], &Options::default()))
        })
        .count();
    assert!(quiet >= 90, "{quiet} of 100");
}

#[test]
fn a_slowdown_of_5_percent_is_found_within_the_length_that_is_recommended() {
    let mut random = Random::new(23);
    let pilot = [vec![run(&mut random, 40, 60.0, 10.0, 0.3)], vec![run(&mut random, 40, 60.0, 10.0, 0.3)]];
    let pilot = compare(&pilot, &Options::default());
    let mean = pilot.rows().find(|row| row.metric.names.compare == "mean").unwrap();
    let seconds = mean.recommended_s.unwrap();
    assert!((30.0..1000.0).contains(&seconds), "{seconds}");
    let found = (0..10)
        .filter(|_| {
            let sides = [
                vec![run(&mut random, seconds as u64, 60.0, 10.0, 0.3)],
                vec![run(&mut random, seconds as u64, 60.0 / 1.05, 10.5, 0.3)],
            ];
            let comparison = compare(&sides, &Options::default());
            let row = comparison.rows().find(|row| row.metric.names.compare == "mean").unwrap();
            row.outcome == Outcome::Worse
        })
        .count();
    assert!(found >= 8, "{found} of 10 at {seconds} s");
}

/// What `--fail-on` says of two sides: whether it fails, and what could not be tested.
fn gate(sides: &[Vec<Loaded>], conditions: &[&str], allow_untested: bool) -> (bool, Vec<String>) {
    let fail_on = conditions.iter().map(|text| FailOn::parse(text).unwrap()).collect();
    let comparison = compare(sides, &Options { fail_on, allow_untested, ..Options::default() });
    let xml = junit(&comparison, true);
    let errors = comparison.rows().filter(|row| row.untested).count();
    assert_eq!(xml.matches("<error ").count(), errors, "{xml}");
    (comparison.fails(), comparison.untested)
}

#[test]
fn a_condition_that_nothing_could_be_tested_for_is_named_and_is_no_pass() {
    let mut random = Random::new(41);
    let mut side = |ms: f64| vec![run(&mut random, 40, 60.0, ms, 0.3)];
    let (good, slow) = (side(10.0), side(95.0));
    assert_eq!(gate(&[good.clone(), side(10.0)], &["p95 +50%", "throughput -50%"], false), (false, vec![]));
    assert_eq!(gate(&[good.clone(), slow.clone()], &["p95 +50%"], false), (true, vec![]));
    // Nine times as slow, with another number of workers: nobody can tell.
    let mut unlike = slow;
    unlike[0].stages[0].operations[0].workers = Some(4);
    let (fails, untested) = gate(&[good.clone(), unlike.clone()], &["p95 +50%", "mean +5%"], false);
    assert!(!fails && untested.len() == 2, "{untested:?}");
    assert_eq!(untested[0], "p95 of main read: 8 workers against 4");
    assert_eq!(gate(&[good.clone(), unlike.clone()], &["p95 +50%"], true), (false, vec![]));
    // Without a condition nothing is asked for.
    assert_eq!(gate(&[good.clone(), unlike], &[], false), (false, vec![]));
    // 200 operations have no p99.
    let mut few = || vec![run(&mut random, 10, 20.0, 10.0, 0.3)];
    let (fails, untested) = gate(&[few(), few()], &["p99 +5%"], false);
    assert!(!fails && untested == ["p99: neither x nor x has it"], "{untested:?}");
}

#[test]
fn an_operation_that_only_one_side_has_cannot_be_tested_and_setups_are_not_asked() {
    let mut random = Random::new(43);
    let mut side = || vec![run(&mut random, 40, 60.0, 10.0, 0.3)];
    let (first, mut second) = (side(), side());
    let mut write = second[0].stages[0].operations[0].clone();
    (write.name, write.op) = ("write".into(), "write".into());
    second[0].stages[0].operations.push(write.clone());
    let (_, untested) = gate(&[first.clone(), second.clone()], &["p95 +5%"], false);
    assert_eq!(untested, ["p95 of main write: only on the second side"]);
    let (_, untested) = gate(&[second.clone(), first.clone()], &["p95 +5%"], false);
    assert_eq!(untested, ["p95 of main write: only on the first side"]);
    // A preparation with another number of workers is no reason.
    (write.name, write.op, write.workers) = ("prepare".into(), "prepare".into(), Some(3));
    second[0].stages[0].operations[1] = write.clone();
    let mut both = first;
    both[0].stages[0].operations.push(LoadedOperation { workers: Some(5), ..write });
    assert_eq!(gate(&[both, second], &["p95 +50%"], false), (false, vec![]));
}

#[test]
fn each_metric_has_a_length_of_its_own() {
    let mut random = Random::new(31);
    let mut side = || vec![run(&mut random, 40, 60.0, 10.0, 0.3)];
    let mut comparison = compare(&[side(), side()], &Options::default());
    let sentence = comparison.sentence();
    for row in comparison.rows().filter(|row| row.recommended_s.is_some()) {
        let text = format!("{} {:.0} s", row.metric.names.compare, row.recommended_s.unwrap());
        assert!(sentence.contains(&text), "{text}: {sentence}");
    }
    let set = |comparison: &mut Comparison, seconds: f64| {
        let rows = comparison.pairs[0].rows.iter_mut();
        rows.filter(|row| row.recommended_s.is_some()).for_each(|row| row.recommended_s = Some(seconds));
    };
    set(&mut comparison, 30.0);
    assert!(comparison.sentence().ends_with("to see 5 %, measure 30 s per run"), "{}", comparison.sentence());
    set(&mut comparison, 1e6);
    assert!(comparison.sentence().contains("vary too much"), "{}", comparison.sentence());
}

#[test]
fn ten_runs_a_side_find_5_percent_and_three_say_that_they_cannot() {
    let mut random = Random::new(5);
    let mut side = |count: usize, ms: f64| -> Vec<Loaded> {
        (0..count).map(|_| run(&mut random, 10, 60.0, ms, 0.3)).collect()
    };
    let comparison = compare(&[side(10, 10.0), side(10, 10.5)], &Options::default());
    let row = comparison.rows().find(|row| row.metric.names.compare == "mean").unwrap();
    assert_eq!(row.outcome, Outcome::Worse);
    assert!(row.low.unwrap() < 1.05 && 1.05 < row.high.unwrap() && row.delta.unwrap() > 0.8, "{row:?}");
    let comparison = compare(&[side(3, 10.0), side(3, 20.0)], &Options::default());
    let row = comparison.rows().find(|row| row.metric.names.compare == "mean").unwrap();
    assert_eq!(row.outcome, Outcome::NotTested);
    assert!(row.note.as_ref().unwrap().contains("on each side can"), "{row:?}");
}

#[test]
fn courses_of_fio_in_steps_of_other_lengths_are_compared_as_rates() {
    // One in which nothing ended for a second, and one that is cut at the end.
    let steps = [(1.0, 100.0), (1.0, 80.0), (2.0, 20.0), (0.2, 3.0)];
    let found: Vec<f64> = super::load::rates(&steps).into_iter().map(|(rate, _)| rate).collect();
    assert_eq!(found, [100.0, 80.0, 10.0, 10.0]);
    assert!(super::load::rates(&[]).is_empty() && super::load::rates(&[(0.0, 5.0)]).is_empty());
    // However many a file makes of a few.
    let endless = [vec![(0.001, 1.0); 51_000], vec![(10.0, 1.0); 49_000]].concat();
    assert_eq!(super::load::rates(&endless).len(), 200_000);
    let mut random = Random::new(5);
    let mut of = |step_s: f64, rate: f64| {
        let mut one = run(&mut random, 10, 60.0, 10.0, 0.0);
        let count = (120.0 / step_s) as usize;
        let steps: Vec<(f64, f64)> =
            (0..count).map(|_| (step_s, rate * step_s * (1.0 + 0.01 * normal(&mut random)))).collect();
        let op = &mut one.stages[0].operations[0];
        (op.batches, op.intervals, op.window_s) = (None, super::load::rates(&steps), Some(120.0));
        op.published.throughput_per_s = Some(rate);
        vec![one]
    };
    for (fine, coarse, rate, truth) in
        [(1.0, 1.0, 1000.0, 1.0), (0.5, 5.0, 1000.0, 1.0), (0.5, 2.0, 1500.0, 1.5)]
    {
        let comparison = compare(&[of(fine, 1000.0), of(coarse, rate)], &Options::default());
        let row = comparison.rows().find(|row| row.metric.names.compare == "throughput").unwrap();
        let ratio = row.ratio.unwrap();
        assert!((ratio / truth - 1.0).abs() < 0.02, "{fine} s and {coarse} s: {row:?}");
    }
}

#[test]
fn runs_that_delivered_nothing_and_intervals_that_could_hide_a_factor_of_two_are_no_pass() {
    let mut random = Random::new(61);
    let mut side = || -> Vec<Loaded> { (0..10).map(|_| run(&mut random, 10, 60.0, 10.0, 0.3)).collect() };
    let (good, mut dead) = (side(), side());
    for run in &mut dead[..7] {
        let published = &mut run.stages[0].operations[0].published;
        (published.ok, published.throughput_per_s) = (0, Some(0.0));
    }
    let sides = [good.clone(), dead];
    let (_, untested) = gate(&sides, &["throughput -5%"], false);
    assert!(untested.len() == 1 && untested[0].contains("7 of 10"), "{untested:?}");
    // Ten runs each, from a tenth to ten times as fast.
    let mut wild = good.clone();
    for (at, run) in wild.iter_mut().enumerate() {
        let rate = &mut run.stages[0].operations[0].published.throughput_per_s;
        *rate = rate.map(|rate| rate * 10_f64.powf((at as f64 - 4.5) / 4.5));
    }
    let comparison = compare(&[good, wild], &Options::default());
    let row = comparison.rows().find(|row| row.metric.names.compare == "throughput").unwrap();
    assert_eq!(row.outcome, Outcome::TooShort, "{row:?}");
}

#[test]
fn the_sentence_counts_no_row_as_tested_that_too_few_runs_can_say_nothing_of() {
    let mut random = Random::new(62);
    let mut side = || -> Vec<Loaded> { (0..2).map(|_| run(&mut random, 10, 60.0, 10.0, 0.3)).collect() };
    let comparison = compare(&[side(), side()], &Options::default());
    let rows = comparison.rows().count();
    let tested = comparison.rows().filter(|row| row.outcome != Outcome::NotTested).count();
    assert!(tested > 0 && tested < rows, "{tested} of {rows}");
    let sentence = comparison.sentence();
    let wanted = format!("no difference shown ({tested} of {rows} rows could be tested)");
    assert!(sentence.starts_with(&wanted), "{sentence}");
}

#[test]
fn what_cannot_be_compared_is_not_tested_and_says_why() {
    let mut random = Random::new(2);
    let a = run(&mut random, 20, 60.0, 10.0, 0.0);
    let changed = |change: fn(&mut LoadedOperation)| {
        let mut b = a.clone();
        change(&mut b.stages[0].operations[0]);
        let mut a = a.clone();
        a.stages[0].operations[0].open = Some(false);
        compare(&[vec![a], vec![b]], &Options::default())
    };
    for (comparison, word) in [
        (changed(|op| op.open = Some(true)), "open loop"),
        (changed(|op| op.published.bytes = op.published.ok * 4096), "bytes"),
        (changed(|op| op.workers = Some(9)), "9"),
    ] {
        assert_eq!(comparison.tests, 0);
        assert!(comparison.pairs[0].warnings.iter().any(|w| w.contains(word)), "{comparison:?}");
        assert!(comparison.rows().all(|row| row.outcome == Outcome::NotTested));
    }
    let mut b = a.clone();
    b.stages[0].name = "other".into();
    assert!(compare(&[vec![a], vec![b]], &Options::default()).rows().next().is_none());
}

#[test]
fn failures_are_compared_and_a_condition_makes_the_comparison_fail() {
    let mut random = Random::new(9);
    let a = run(&mut random, 60, 60.0, 10.0, 0.0);
    let mut b = run(&mut random, 60, 60.0, 13.0, 0.0);
    b.stages[0].operations[0].failures = Some(100);
    let fail_on = vec![FailOn::parse("p95 +5%").unwrap()];
    let options = Options { fail_on, ..Options::default() };
    let comparison = compare(&[vec![a.clone()], vec![b.clone()]], &options);
    let errors = comparison.rows().find(|row| row.metric.names.compare == "errors").unwrap();
    assert_eq!(errors.outcome, Outcome::Worse);
    assert!(comparison.fails());
    assert!(!compare(&[vec![b], vec![a]], &options).fails(), "faster is no failure");
    assert!(junit(&comparison, true).contains("<failure message="));
    assert!(markdown(&comparison).contains("| main | read | p95 ms |"));
    assert!(table(&comparison, None).contains("(fails)") && normalised(&comparison).contains("1.3"));
}

#[test]
fn what_only_later_runs_have_stands_among_the_values_beside_the_first() {
    let mut random = Random::new(19);
    let mut side = || vec![run(&mut random, 60, 60.0, 10.0, 0.0)];
    let (mut first, second, mut third) = (side(), side(), side());
    // An operation, a work and a stage that only the last run has, a metric that the first does not have, and failures of
    // the last alone.
    first[0].stages[0].operations[0].published.response_ms.p99 = None;
    let operation = &mut third[0].stages[0].operations[0];
    operation.failures = Some(operation.published.ok);
    let named = |name: &str, op: &str, throughput: f64| LoadedOperation {
        name: name.into(),
        op: op.into(),
        published: OperationResult { throughput_per_s: Some(throughput), ..OperationResult::default() },
        ..LoadedOperation::default()
    };
    third[0].stages[0].operations.extend([named("late write", "write", 12.0), named("boxes", "init", 3.0)]);
    let operations = vec![named("list", "list", 7.5)];
    third[0].stages.push(LoadedStage { name: "more".into(), waits: None, operations });
    // What only the first run has is left out of none of them.
    first[0].stages[0].operations.push(named("early", "head", 4.0));
    let text = normalised(&compare(&[first, second.clone(), third], &Options::default()));
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap_or("");
    assert!(line("main read throughput: ").starts_with("main read throughput: 1.000  "), "{text}");
    assert_eq!(line("main late write throughput: "), "main late write throughput: -  -  12.0 op/s");
    assert_eq!(line("more list throughput: "), "more list throughput: -  -  7.500 op/s");
    assert_eq!(line("main early throughput: "), "main early throughput: 1.000  -  -");
    assert_eq!(line("main read errors: "), "main read errors: 0.000 share  0.000 share  0.500 share");
    let p99 = second[0].stages[0].operations[0].published.response_ms.p99.unwrap();
    assert!(line("main read p99: ").starts_with(&format!("main read p99: -  {p99:.1} ms  ")), "{text}");
    assert!(!text.contains("boxes"), "{text}");
}

#[test]
fn an_operation_is_compared_also_where_one_run_has_further_works_beside_its_own() {
    let mut random = Random::new(37);
    let mut of = |works: &[&str]| -> Vec<Loaded> {
        let mut one = run(&mut random, 20, 60.0, 10.0, 0.0);
        let operation = one.stages[0].operations.remove(0);
        for work in works {
            let mut own = operation.clone();
            // As they are called when they are loaded.
            own.name = if works.len() > 1 { format!("{work} read") } else { "read".to_owned() };
            own.published.work = (*work).to_owned();
            one.stages[0].operations.push(own);
        }
        let costs =
            LoadedOperation { name: "store".into(), op: "store".into(), ..LoadedOperation::default() };
        one.stages[0].operations.push(costs);
        vec![one]
    };
    let compared_of = |sides: &[Vec<Loaded>]| {
        let comparison = compare(sides, &Options::default());
        let rows = comparison.rows().filter(|row| row.metric.names.compare == "mean");
        rows.map(|row| row.operation.clone()).collect::<Vec<String>>()
    };
    let (front, both) = (of(&["front"]), of(&["front", "back"]));
    assert_eq!(compared_of(&[front.clone(), both.clone()]), ["front read"]);
    assert_eq!(compared_of(&[both.clone(), front.clone()]), ["front read"]);
    assert_eq!(compared_of(&[front.clone(), front.clone(), both.clone()]), ["front read", "front read"]);
    let text = normalised(&compare(&[front.clone(), both.clone()], &Options::default()));
    assert!(
        text.contains("main front read mean: 1.000  ") && text.contains("main back read mean: -  "),
        "{text}"
    );
    // Works of other names are compared by their operations where each is alone, and the name alone says it there.
    let renamed = of(&["behind"]);
    assert_eq!(compared_of(&[front.clone(), renamed.clone()]), ["read"]);
    assert_eq!(compared_of(&[front, renamed, both]), ["read"]);
}

#[test]
fn a_stage_that_not_every_repetition_has_is_compared_and_said() {
    let mut random = Random::new(29);
    let mut side = || -> Vec<Loaded> { (0..2).map(|_| run(&mut random, 20, 60.0, 10.0, 0.0)).collect() };
    let (mut first, mut second) = (side(), side());
    let more = |run: &Loaded| {
        let mut stage = run.stages[0].clone();
        stage.name = "more".into();
        stage
    };
    // Of the first side not in the run that is named first.
    for run in second.iter_mut().chain(first.last_mut()) {
        let own = more(run);
        run.stages.push(own);
    }
    let of = |comparison: &Comparison| comparison.rows().filter(|row| row.stage == "more").count();
    let comparison = compare(&[first.clone(), second.clone()], &Options::default());
    assert!(of(&comparison) > 3, "{comparison:?}");
    let warnings = &comparison.pairs[0].warnings;
    let said = |text: &str| warnings.iter().filter(|warning| warning.as_str() == text).count();
    assert_eq!(said("more read: only in 1 of 2 runs of the first side"), 1, "{warnings:?}");
    assert_eq!(warnings.iter().filter(|warning| warning.contains("only in")).count(), 1, "{warnings:?}");
    // And where the other side does not have it at all it cannot be tested.
    second.iter_mut().for_each(|run| run.stages.truncate(1));
    let (_, untested) = gate(&[first, second], &["p95 +5%"], false);
    assert!(untested.contains(&"p95 of more read: only on the first side".to_owned()), "{untested:?}");
}

#[test]
fn a_stage_of_whatever_name_is_text_in_markdown() {
    let mut random = Random::new(9);
    let mut a = run(&mut random, 60, 60.0, 10.0, 0.0);
    a.stages[0].name = "[m](javascript:x)|<b>".into();
    let text = markdown(&compare(&[vec![a.clone()], vec![a]], &Options::default()));
    assert!(text.contains("| \\[m](javascript:x)\\|\\<b> | read | p95 ms |"), "{text}");
}

#[test]
fn names_of_any_script_leave_the_columns_of_a_table_where_they_are() {
    let mut random = Random::new(21);
    let mut side = || {
        let mut side = run(&mut random, 60, 60.0, 10.0, 0.0);
        let mut other = side.stages[0].clone();
        (other.name, other.operations[0].name) =
            ("\u{8a66}\u{9a13}\u{53f0}".into(), "e\u{301}crit \u{1f680}".into());
        side.stages.push(other);
        vec![side]
    };
    let text = table(&compare(&[side(), side()], &Options::default()), None);
    // The first row of each operation has its names.
    let begins = |line: &str| line.split("throughput op/s").next().map(columns_of);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("throughput op/s")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows[0].starts_with("main ") && rows[1].starts_with('\u{8a66}'), "{text}");
    assert_eq!(begins(rows[0]), begins(rows[1]), "{text}");
}

#[test]
fn a_narrow_terminal_has_every_metric_with_its_outcome_in_one_line() {
    let mut random = Random::new(17);
    let mut side = |ms: f64| vec![run(&mut random, 60, 60.0, ms, 0.0)];
    let (a, b) = (side(10.0), side(13.0));
    let sides = [with_clients(a, Some(0.1)), with_clients(b, Some(0.1))];
    let comparison = compare(&sides, &Options::default());
    let rows = |text: &str| -> Vec<String> {
        let is_row = |line: &&str| line.contains(" to ") && line.contains(" %") && !line.contains(", B = ");
        text.lines()
            .filter(is_row)
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    let whole = table(&comparison, None);
    let widest = whole.lines().map(|line| line.chars().count()).max().unwrap();
    assert_eq!(table(&comparison, Some(widest)), whole);
    let outcomes = |text: &str| comparison.rows().filter(|row| text.contains(row.outcome.word())).count();
    for columns in [120, 100, 80] {
        let text = table(&comparison, Some(columns));
        let at = text.lines().position(|line| line.trim_start().starts_with("metric"));
        let is_of_it = |line: &&str| line.starts_with("  ") || *line == "main read";
        let grouped: Vec<&str> = text.lines().skip(at.unwrap()).take_while(is_of_it).collect();
        assert!(grouped.len() >= 7 && grouped[1] == "main read", "{text}");
        assert!(grouped.iter().all(|line| line.chars().count() <= columns), "{columns}: {text}");
        assert_eq!(outcomes(&text), outcomes(&whole), "{text}");
        assert_eq!(rows(&text).len(), rows(&whole).len(), "{text}");
        assert_eq!(text.contains("bounds of A and B"), !text.contains(" +0.0 -"), "{text}");
    }
}

#[test]
fn failures_that_come_in_one_batch_are_worth_fewer_than_failures_that_do_not() {
    let mut random = Random::new(4);
    let a = run(&mut random, 60, 60.0, 10.0, 0.0);
    let with = |ended: Vec<(u64, u64)>| {
        let mut b = a.clone();
        b.stages[0].operations[0].failures = Some(ended.iter().map(|(_, failed)| failed).sum());
        b.stages[0].operations[0].ended = ended;
        let comparison = compare(&[vec![a.clone()], vec![b]], &Options::default());
        comparison.rows().find(|row| row.metric.names.compare == "errors").unwrap().clone()
    };
    let even = with((0..60).map(|_| (60, 1)).collect());
    assert_eq!(even.outcome, Outcome::Worse, "{even:?}");
    let burst = with((0..60).map(|second| (60, if second == 30 { 60 } else { 0 })).collect());
    assert_eq!((burst.outcome, burst.b), (Outcome::NoDifferenceShown, even.b), "{burst:?}");
}

#[test]
fn a_run_that_stands_more_than_once_is_named() {
    let mut random = Random::new(3);
    let mut at = |label: &str, place: &str| {
        let (label, place) = (label.to_owned(), place.into());
        Loaded { label, place, ..run(&mut random, 20, 60.0, 10.0, 0.0) }
    };
    let (one, same, other) = (at("w1", "/a/w1-x"), at("last", "/a/w1-x"), at("w2", "/a/w2-x"));
    let nowhere = at("old", "");
    let said = |a: &[&Loaded], b: &[&Loaded]| {
        let sides = [a, b].map(|side| side.iter().map(|run| (*run).clone()).collect::<Vec<Loaded>>());
        compare(&sides, &Options::default()).pairs[0].warnings.join("\n")
    };
    assert!(said(&[&one], &[&same]).contains("w1 stands on both sides"));
    let twice = said(&[&one, &same], &[&other]);
    assert!(twice.contains("last stands twice on one side") && !twice.contains("both sides"), "{twice}");
    for (a, b) in [(&one, &other), (&nowhere, &nowhere)] {
        assert!(!said(&[a], &[b]).contains("stands"));
    }
    // However often both are named: it is one run against one.
    let sides = [&one, &other].map(|run| vec![run.clone(); 7]);
    let found = compare(&sides, &Options::default());
    let single = compare(&[vec![one], vec![other]], &Options::default());
    assert_eq!((found.tests, found.sentence()), (single.tests, single.sentence()));
    assert!(found.rows().all(|row| row.delta.is_none()), "no ranks of seven against seven");
    assert_eq!((found.pairs[0].a.as_str(), found.pairs[0].b.as_str()), ("w1", "w2"));
    let warnings = &found.pairs[0].warnings;
    assert!(warnings.iter().any(|text| text.starts_with("w2 stands twice")), "{warnings:?}");
    assert!(warnings.iter().any(|text| text.contains("one run on each side")), "{warnings:?}");
    // Of runs that do not say where they lie each may be another.
    let unknown = vec![vec![nowhere.clone(); 2], vec![nowhere; 2]];
    assert!(compare(&unknown, &Options::default()).pairs[0].a.contains("old,old"));
}

#[test]
fn rounds_of_a_stage_are_runs_of_it() {
    let mut random = Random::new(12);
    let mut side = |ms: f64| {
        let mut whole = run(&mut random, 10, 60.0, ms, 0.3);
        let stage = whole.stages.remove(0);
        for round in 1..=8 {
            let mut one = run(&mut random, 10, 60.0, ms, 0.3).stages.remove(0);
            one.name = format!("{}-r{round}", stage.name);
            whole.stages.push(one);
        }
        super::load::join_rounds(&mut whole.stages);
        whole
    };
    let comparison = compare(&[vec![side(10.0)], vec![side(11.0)]], &Options::default());
    let row = comparison.rows().find(|row| row.metric.names.compare == "mean").unwrap();
    assert_eq!((row.stage.as_str(), row.outcome), ("main", Outcome::Worse), "{row:?}");
    assert!(row.delta.is_some(), "ranks of 8 against 8: {row:?}");
    assert!(!comparison.pairs[0].warnings.iter().any(|w| w.contains("one run on each side")));
    // Stages that somebody called so do something else.
    let mut others = side(10.0);
    others.stages = ["x-r1", "x-r2"]
        .map(|name| LoadedStage {
            name: name.into(),
            ..run(&mut Random::new(1), 4, 9.0, 10.0, 0.3).stages.remove(0)
        })
        .to_vec();
    others.stages[1].operations[0].workers = Some(64);
    super::load::join_rounds(&mut others.stages);
    assert_eq!(others.stages[1].name, "x-r2");
    let mut names = ["main", "main-r1", "main-r2", "x-r2"].map(|name| LoadedStage {
        name: name.into(),
        waits: None,
        operations: Vec::new(),
    });
    super::load::join_rounds(&mut names);
    assert_eq!(
        names.map(|stage| stage.name),
        ["main", "main-r1", "main-r2", "x-r2"],
        "names of their own stay"
    );
}

#[test]
fn a_start_up_in_the_window_is_told() {
    let mut random = Random::new(8);
    let steady = run(&mut random, 100, 60.0, 10.0, 0.0);
    let mut warm = steady.clone();
    let mut batches = Batches::new(1_000_000_000);
    for second in 0..100_u64 {
        let count = if second < 20 { 30 } else { 60 };
        (0..count).for_each(|_| batches.add_one(second * 1_000_000_000, 10_000_000));
    }
    warm.stages[0].operations[0].batches = Some(batches);
    let told = |a: &Loaded, b: &Loaded| {
        let comparison = compare(&[vec![a.clone()], vec![b.clone()]], &Options::default());
        comparison.pairs[0].warnings.iter().any(|w| w.contains("the first 20 s drift"))
    };
    assert!(told(&steady, &warm) && !told(&steady, &steady));
}

#[test]
fn a_run_that_hung_is_told_and_its_few_times_are_not_tested() {
    let mut random = Random::new(15);
    let good = run(&mut random, 20, 60.0, 10.0, 0.0);
    let mut hung = good.clone();
    hung.refuted = Some("time was spent in operations that never ended".into());
    let operation = &mut hung.stages[0].operations[0];
    let mut batches = Batches::new(1_000_000_000);
    (0..25).for_each(|_| batches.add_one(7_000_000_000, 6_500_000_000));
    batches.close(20_000_000_000);
    operation.published = OperationResult {
        ok: 25,
        throughput_per_s: Some(1.25),
        response_ms: Latencies { mean: Some(6500.0), p50: Some(6500.0), ..Latencies::default() },
        ..OperationResult::default()
    };
    operation.batches = Some(batches);
    let comparison = compare(&[vec![hung], vec![good]], &Options::default());
    for row in comparison.rows().filter(|row| ["mean", "p50"].contains(&row.metric.names.compare)) {
        assert_eq!(row.outcome, Outcome::NotTested, "all of one moment: {row:?}");
    }
    let warnings = &comparison.pairs[0].warnings;
    assert!(warnings.iter().any(|w| w.contains("is FALSE: time was spent")), "{warnings:?}");
    assert!(!warnings.iter().any(|w| w.contains("inf")), "{warnings:?}");
}

#[test]
fn a_client_that_was_kept_from_its_work_on_one_side_is_told() {
    let mut random = Random::new(6);
    let mut side = |waits: Option<f64>| {
        let mut side = run(&mut random, 20, 60.0, 10.0, 0.0);
        side.stages[0].waits = waits;
        vec![side]
    };
    let mut told = |a, b| {
        let comparison = compare(&[side(a), side(b)], &Options::default());
        comparison.pairs[0].warnings.iter().filter(|w| w.contains("waited for a processor 2 %")).count()
    };
    assert_eq!(told(Some(0.02), Some(0.31)), 1);
    assert_eq!((told(Some(0.02), Some(0.05)), told(Some(0.02), None)), (0, 0));
}

#[test]
fn conditions_are_read_or_refused() {
    assert_eq!(FailOn::parse("p95 +5%").unwrap(), FailOn { metric: named("p95"), change: 0.05 });
    assert_eq!(FailOn::parse("throughput-2.5%").unwrap().change, -0.025);
    for bad in ["", "p95", "p95 5%", "p59 +5%", "p95 +0%", "p95 -100%", "errors +5%", "p95 +x%"] {
        assert!(FailOn::parse(bad).is_err(), "{bad}");
    }
}

/// What the client of every run of a side can have added to each time, as a share of it; `None`: nothing limits that.
fn with_clients(mut side: Vec<Loaded>, below: Option<f64>) -> Vec<Loaded> {
    for operation in side.iter_mut().flat_map(|run| &mut run.stages).flat_map(|stage| &mut stage.operations) {
        for figure in ["mean", "p50", "p95", "p99"] {
            let id = format!("response_ms.{figure}");
            let Some(value) = METRICS.iter().find(|m| m.id == id).and_then(|m| m.of(&operation.published))
            else {
                continue;
            };
            let client = Spread { below: below.map(|share| share * value), above: Some(0.0) };
            let low = client.below.map(|below| value - below);
            let bound =
                Bound { low, high: Some(value), client, cause: Some(Cause::Pauses), ..Bound::default() };
            operation.published.bounds.insert(id, bound);
        }
    }
    side
}

#[test]
fn a_difference_that_the_clients_may_have_made_is_not_called_one() {
    let mut random = Random::new(51);
    for count in [1, 10] {
        let mut side =
            |ms: f64| -> Vec<Loaded> { (0..count).map(|_| run(&mut random, 60, 60.0, ms, 0.0)).collect() };
        let (a, b) = (side(10.0), side(11.5));
        let outcome = |of_a: Option<f64>, of_b: Option<f64>, swap: bool| {
            let mut sides = [with_clients(a.clone(), of_a), with_clients(b.clone(), of_b)];
            if swap {
                sides.reverse();
            }
            let comparison = compare(&sides, &Options::default());
            let row = comparison.rows().find(|row| row.metric.names.compare == "p50").unwrap().clone();
            (row.outcome, row)
        };
        let known = |share| Some(share);
        assert_eq!(outcome(known(0.0), known(0.0), false).0, Outcome::Worse, "{count}");
        // The store of B took 10.35 ms at least, if its client added a tenth: still more than 10 ms.
        let (narrow, row) = outcome(known(0.0), known(0.1), false);
        assert_eq!(narrow, Outcome::Worse, "{row:?}");
        let (wide, row) = outcome(known(0.0), known(0.2), false);
        assert_eq!(wide, Outcome::WithinBounds, "{row:?}");
        assert!(
            row.note.as_ref().unwrap().contains("the client of B may have moved it by 25.0 %"),
            "{row:?}"
        );
        assert!(row.note.as_ref().unwrap().contains("machine paused"), "{row:?}");
        // A client that adds to the faster side makes the difference greater and never smaller.
        assert_eq!(outcome(known(0.3), known(0.0), false).0, Outcome::Worse, "{count}");
        assert_eq!(outcome(known(0.0), known(0.1), true).0, Outcome::Better, "{count}");
        assert_eq!(outcome(known(0.0), known(0.2), true).0, Outcome::WithinBounds, "{count}");
        let (open, row) = outcome(known(0.0), None, false);
        assert_eq!((open, row.low), (Outcome::WithinBounds, None), "{row:?}");
        assert!(row.note.as_ref().unwrap().contains("nothing limits"), "{row:?}");
        // What the side without a limit cannot make smaller is called all the same.
        assert_eq!(outcome(None, known(0.0), false).0, Outcome::Worse, "{count}");
    }
}

#[test]
fn bounds_stand_beside_the_values_and_a_condition_that_they_leave_open_is_no_pass() {
    let mut random = Random::new(53);
    let mut side = |ms: f64| vec![run(&mut random, 60, 60.0, ms, 0.0)];
    let (a, b) = (side(10.0), side(13.0));
    let sides = [with_clients(a, Some(0.0)), with_clients(b, Some(0.4))];
    let comparison = compare(&sides, &Options::default());
    let (text, row) =
        (table(&comparison, None), comparison.rows().find(|r| r.metric.names.compare == "p50").unwrap());
    let value = row.b.unwrap();
    assert!(text.contains(&format!("{value:.1} +0.0 -{:.1}", 0.4 * value)), "{text}");
    assert!(
        text.contains("within the bounds") && comparison.sentence().contains("than their clients"),
        "{text}"
    );
    assert!(row.detectable.unwrap() > 0.6, "a client that may hide 67 %: {row:?}");
    assert_eq!(row.recommended_s, None, "no length helps");
    let (fails, untested) = gate(&sides, &["p50 +5%"], false);
    assert!(!fails && untested.len() == 1 && untested[0].contains("the client of B"), "{untested:?}");
    assert_eq!(gate(&sides, &["p50 +5%"], true), (false, vec![]));
}

/// An archive, read again, of a window that begins so many ms after its load and is so long. `second` says how many reads end in
/// each second of it, and how many us they take. Its slices are those of a load: a second long, and cut where the window is.
fn archived(root: &Path, (from_ms, window_ms): (u64, u64), second: impl Fn(u64) -> (u64, u64)) -> Loaded {
    let text = "name: known\nstorage: {type: none}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 4, runtime: 8s, \
                operations: [{type: read, containers: c(1), objects: c(1)}]}\n";
    let (workload, mistakes) = parse(text, Format::Yaml, &Environment::default());
    let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
    let submitted: Timestamp = "2026-01-05T08:00:00Z".parse().unwrap();
    let begun = submitted + Duration::from_micros(3_217_400);
    let new = NewRun {
        number: None,
        workload: &workload,
        seed: Some(7),
        source: None,
        config_xml: "<workload/>",
        config_yaml: &to_yaml(&workload),
        host: HostRecord::default(),
        submitted,
    };
    let mut run = Archive::open(root).unwrap().begin(&new).unwrap();
    run.set_load_started(0, begun);
    run.enter_stage(0, StageState::Running, begun).unwrap();
    let (mut all, mut start_ms) = (OpSnapshot::default(), from_ms);
    let to_ms = from_ms + window_ms;
    while start_ms < to_ms {
        let end_ms = to_ms.min((start_ms / 1000 + 1) * 1000);
        let (count, us) = second((start_ms - from_ms) / 1000);
        let mut op = OpSnapshot::default();
        for k in 0..count * (end_ms - start_ms) / 1000 {
            let ns = us * (1000 + k % 50);
            let (sent_ns, first_byte_ns) = (1, 1 + ns / 2);
            let times = Sample { due_ns: 1, sent_ns, first_byte_ns, end_ns: 1 + ns, ..Sample::default() };
            op.add(&times, false);
        }
        let (start_ns, end_ns) = (start_ms * 1_000_000, end_ms * 1_000_000);
        let slice = Snapshot { work: 0, phase: Phase::Window, start_ns, end_ns, ops: vec![op.clone()] };
        run.append_histograms(0, begun + Duration::from_nanos(start_ns), &slice).unwrap();
        let (start_s, end_s) = (start_ms as f64 / 1e3, end_ms as f64 / 1e3);
        let line = IntervalLine::of("d1", Phase::Window, start_s, end_s, &op);
        run.append_work_interval(0, 0, vec![line]).unwrap();
        all.merge(&op);
        start_ms = end_ms;
    }
    let ended = begun + Duration::from_millis(to_ms);
    let mut record = run.record().stages[0].clone();
    record.set_results(&workload.stages[0], 0, &[(window_ms as f64 / 1e3, vec![all.clone()])]);
    record.enter(StageState::Completed, ended);
    run.end_stage(0, record).unwrap();
    let mut record = run.record().clone();
    (record.state, record.ended) = (RunState::Finished, Some(ended));
    run.finish(&record, &[StageTables::of(&[all])]).unwrap();
    load("x", run.path()).unwrap()
}

/// Every row of two single runs has the ratio of the figures that it shows, and that lies in its interval.
fn ratios_are_of_what_is_shown(comparison: &Comparison, about: &str) {
    for word in ["throughput", "mean", "p50", "p95"] {
        let row = comparison.rows().find(|row| row.metric.names.compare == word).unwrap();
        let ratio = row.ratio.unwrap();
        assert!((ratio / (row.b.unwrap() / row.a.unwrap()) - 1.0).abs() < 1e-9, "{about}: {row:?}");
        assert!(row.low.unwrap() <= ratio && ratio <= row.high.unwrap(), "{about}: {row:?}");
    }
}

#[test]
fn the_last_second_of_a_window_counts_and_a_ratio_is_that_of_the_figures_that_are_shown() {
    let root = tempfile::tempdir().unwrap();
    let usual = (200, 10_000);
    let idle_first = |second: u64| if second == 0 { (0, 0) } else { usual };
    for (from_ms, window_ms, idle) in
        [(0, 7_990, false), (0, 8_000, false), (0, 8_010, false), (0, 8_000, true), (3_500, 8_000, false)]
    {
        let about = format!("{window_ms} ms from {from_ms} ms, first second idle: {idle}");
        let before_last = |second: u64| if idle { idle_first(second) } else { usual };
        let a = archived(root.path(), (from_ms, window_ms), before_last);
        let dip = |second: u64| if second >= 7 { (20, 90_000) } else { before_last(second) };
        let b = archived(root.path(), (from_ms, window_ms), dip);
        let counts: Vec<u64> = [&a, &b]
            .into_iter()
            .flat_map(|run| run.stages[0].operations[0].batches.as_ref().unwrap().batches())
            .map(|batch| batch.ok)
            .collect();
        let of_run = |last: u64| {
            let mut counts = vec![200; 8];
            (counts[0], counts[7]) = (if idle { 0 } else { 200 }, last);
            counts
        };
        let [last_of_a, last_of_b] = if window_ms == 7_990 { [198, 19] } else { [200, 20] };
        let is_cut = from_ms > 0;
        let wanted = if is_cut { vec![200; 14] } else { [of_run(last_of_a), of_run(last_of_b)].concat() };
        assert_eq!(counts, wanted, "{about}");
        let comparison = compare(&[vec![a], vec![b]], &Options::default());
        ratios_are_of_what_is_shown(&comparison, &about);
        // The dip lies in the half of a slice that is no batch: they cannot say how usual it is.
        assert!(!is_cut || !differs(&comparison), "{about}");
    }
}

#[test]
fn a_condition_sees_what_only_the_last_second_makes_of_a_figure() {
    let root = tempfile::tempdir().unwrap();
    let good = archived(root.path(), (0, 8_000), |_| (200, 100_000));
    let of = |last_us: u64| {
        let slow = |second: u64| (200, if second == 7 { last_us } else { 104_850 });
        vec![archived(root.path(), (0, 8_000), slow)]
    };
    let fails = |b: Vec<Loaded>| gate(&[vec![good.clone()], b], &["mean +5%"], false).0;
    assert!(fails(of(107_000)), "5.1 % of the whole, and 4.9 % without its last second");
    assert!(!fails(of(104_850)));
}

#[test]
fn runs_whose_batches_have_other_lengths_are_compared_as_rates() {
    let mut random = Random::new(29);
    let sides = [500, 600].map(|seconds| vec![run(&mut random, seconds, 20.0, 10.0, 0.0)]);
    let width_ns = |side: &Vec<Loaded>| side[0].stages[0].operations[0].batches.as_ref().unwrap().width_ns();
    assert_eq!(sides.each_ref().map(width_ns), [1_000_000_000, 2_000_000_000]);
    let comparison = compare(&sides, &Options::default());
    assert!(!differs(&comparison));
    ratios_are_of_what_is_shown(&comparison, "batches of one and of two seconds");
}

#[test]
fn a_run_of_cosbench_and_ours_of_the_same_file_are_compared_operation_by_operation() {
    let mut random = Random::new(31);
    let mut mine = run(&mut random, 40, 60.0, 10.0, 0.0);
    let operation = &mut mine.stages[0].operations[0];
    operation.name = "two 1-read".into();
    let published = &mut operation.published;
    (published.work, published.name, published.sample) = ("two".into(), "1-read".into(), "read".into());
    let mut prepare = operation.clone();
    (prepare.name, prepare.op) = ("one prepare".into(), "prepare".into());
    (prepare.published.work, prepare.published.name) = ("one".into(), "prepare".into());
    prepare.published.sample = "write".into();
    mine.stages[0].operations.push(prepare);
    let mut theirs = Loaded { is_cosbench: true, ..mine.clone() };
    for (operation, label) in theirs.stages[0].operations.iter_mut().zip(["1-read-read", "prepare-write"]) {
        operation.name = label.into();
        operation.published.work = String::new();
    }
    for sides in [[vec![theirs.clone()], vec![mine.clone()]], [vec![mine.clone()], vec![theirs.clone()]]] {
        let comparison = compare(&sides, &Options::default());
        let both = comparison.rows().filter(|row| row.a.is_some() && row.b.is_some());
        let mut names: Vec<&str> = both.map(|row| row.operation.as_str()).collect();
        names.dedup();
        assert_eq!(names, ["1-read-read", "prepare-write"]);
        assert!(comparison.pairs[0].unmatched.is_empty());
    }
    // Two works with an operation of one name have one label, as in COSBench's tables.
    let (mut twice, mut both) = (mine.clone(), theirs.clone());
    for (run, work) in [(&mut twice, "three"), (&mut both, "")] {
        let mut more = run.stages[0].operations[0].clone();
        more.name = if work.is_empty() { "1-read-read (2)".into() } else { "three 1-read".into() };
        more.published.work = work.into();
        run.stages[0].operations.push(more);
    }
    let comparison = compare(&[vec![both], vec![twice]], &Options::default());
    let names: std::collections::BTreeSet<&str> = comparison
        .rows()
        .filter(|row| row.a.is_some() && row.b.is_some())
        .map(|row| row.operation.as_str())
        .collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["1-read-read", "1-read-read (2)", "prepare-write"]);
    let alone = compare(&[vec![mine.clone()], vec![mine]], &Options::default());
    assert!(alone.rows().all(|row| ["two 1-read", "one prepare"].contains(&row.operation.as_str())));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/cosbench-runs/w3-mock-full");
    assert!(load("x", &example).unwrap().is_cosbench);
}

#[test]
fn a_percentile_beyond_the_last_bucket_of_cosbench_has_no_value_and_no_ratio() {
    let mut random = Random::new(37);
    let mut runs = (0..3).map(|_| run(&mut random, 40, 60.0, 10.0, 0.0));
    let [mut a, other, b] = [runs.next().unwrap(), runs.next().unwrap(), runs.next().unwrap()];
    drop(runs);
    a.stages[0].operations[0].published.response_ms.p99 = Some(f64::INFINITY);
    for sides in [[vec![a.clone()], vec![b.clone()]], [vec![b.clone()], vec![other, a]]] {
        let comparison = compare(&sides, &Options::default());
        let row = comparison.rows().find(|row| row.metric.names.compare == "p99").unwrap();
        let beyond = row.a.xor(row.b);
        assert!(beyond.is_some() && row.ratio.is_none(), "{row:?}");
        assert_eq!(row.outcome, Outcome::NotTested);
        assert!(row.note.as_ref().unwrap().contains("above 500 s"), "{row:?}");
        for text in [table(&comparison, None), markdown(&comparison), normalised(&comparison)] {
            assert!(!text.contains("inf ") && !text.contains("NaN"), "{text}");
        }
    }
}

/// The run of COSBench among the examples of archives, with other bytes of the first operation that writes at random, and its
/// workload, if any.
fn of_cosbench(root: &Path, name: &str, (count, bytes): (u64, u64), config: bool) -> Loaded {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/cosbench-runs/w3-mock-full");
    let to = root.join(name);
    std::fs::create_dir(&to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    let table = to.join("w3-mock-full.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    let other = text.replace(",write,write,16282,7383984000,", &format!(",write,write,{count},{bytes},"));
    assert!(text.contains(",write,write,16282,7383984000,"));
    std::fs::write(table, other).unwrap();
    let place = to.join("workload-config.xml");
    if config {
        // A mock says itself how long its objects are.
        let text = std::fs::read_to_string(&place).unwrap().replace("type=\"mock\"", "type=\"swift\"");
        std::fs::write(place, text).unwrap();
    } else {
        std::fs::remove_file(place).unwrap();
    }
    load(name, &to).unwrap()
}

#[test]
fn repetitions_of_cosbench_whose_sizes_are_drawn_are_compared() {
    // Three percent more, as draws of such sizes may give.
    const USUAL: (u64, u64) = (16_282, 7_383_984_000);
    const MORE: (u64, u64) = (16_282, 7_605_503_520);
    let root = tempfile::tempdir().unwrap();
    let run = |name: &str, of, config| of_cosbench(root.path(), name, of, config);
    let (usual, more) = (run("a", USUAL, true), run("b", MORE, true));
    let of = |stage: usize, name: &str| {
        let mut operations = usual.stages[stage].operations.iter();
        operations.find(|op| op.name == name).unwrap().sizes.clone().map(|sizes| sizes.text)
    };
    assert_eq!(of(2, "write").as_deref(), Some("h(1|64|10,64|512|70,512|2048|20)KB"));
    assert_eq!(of(3, "write").as_deref(), Some("u(1,10)KB"));
    assert!(of(2, "read").unwrap().ends_with("c(4)KB") && of(2, "list").is_none());
    let notes = |sides: &[Vec<Loaded>]| -> Vec<String> {
        let comparison = compare(sides, &Options::default());
        comparison
            .rows()
            .filter_map(|row| row.note.clone())
            .filter(|note| note.contains("objects of"))
            .collect()
    };
    assert_eq!(notes(&[vec![usual.clone()], vec![more]]), [""; 0]);
    // Without its workload nothing tells, and a side is what its runs are together.
    let (usual, more) = (run("c", USUAL, false), run("d", MORE, false));
    let other = run("e", USUAL, false);
    assert_eq!(notes(&[vec![usual.clone(), more.clone()], vec![other.clone()]]), [""; 0]);
    assert_eq!(notes(&[vec![more, usual.clone()], vec![other]]), [""; 0]);
    let far = run("f", (USUAL.0, 2 * USUAL.1), false);
    assert!(!notes(&[vec![usual], vec![far]]).is_empty());
}
