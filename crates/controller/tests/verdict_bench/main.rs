//! The exact half of the bench of the verdict: each case of `benches/verdict/cases.json` as runs on simulated time. Drivers
//! and their store are simulated; recorder, controller, archive and verdict are the real ones.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may stop at the first surprise"
)]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "a simulation of minutes and thousands of operations"
)]

mod cases;
mod link;
mod load;
mod machine;
mod score;
mod store;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cosmark_archive::{Archive, BesideRecord, HostRecord, NewRun, StageRecord, Timestamp, Verdict};
use cosmark_controller::{ArchiveWriter, Observer, Progress, RunJob, StageNews, StopLevel, run_workload};
use cosmark_wire::DriverLink;
use tokio::sync::watch;

use cases::Case;
use link::{Bed, SimulatedDriver};
use score::Score;
use store::Store;

/// Cases that the verdict is known to judge wrongly. The list may only become shorter; a case that is judged rightly again is
/// told, so that it can be taken off.
const KNOWN_WRONG: &[&str] = &[];

/// Runs of a healthy case, and half as many of a spoilt one; COSMARK_VERDICT_RUNS says otherwise.
const RUNS: u64 = 2;

struct Nobody;

impl Observer for Nobody {
    fn stage_begins(&mut self, _news: &StageNews<'_>) {}
    fn progress(&mut self, _progress: &Progress<'_>) {}
    fn stage_ends(&mut self, _record: &StageRecord) {}
    fn note(&mut self, _text: &str) {}
}

/// One run, from its workload to the verdict in its archive.
fn judged(case: &Case, seed: u64, root: &Path) -> Verdict {
    let workload = case.workload(seed);
    let mut store = Store::new(case.behaviour(), seed);
    if let Some((objects, bytes)) = case.filled {
        (1..=objects).for_each(|object| store.put(1, object, bytes));
    }
    let bed = Bed::new(store, case.drivers.clone(), seed);
    let new = NewRun {
        number: None,
        workload: &workload,
        seed: workload.seed,
        source: None,
        config_xml: "<workload/>",
        config_yaml: &cosmark_workload::to_yaml(&workload),
        host: HostRecord { hostname: "here".into(), cpus: 2, kernel: "none".into() },
        submitted: Timestamp::now(),
    };
    let dir = Archive::open(root).unwrap().begin(&new).unwrap();
    let drivers = (0..case.drivers.len()).map(|number| {
        Box::new(SimulatedDriver::new(number, std::sync::Arc::clone(&bed))) as Box<dyn DriverLink>
    });
    let (_stop, stopped) = watch::channel(StopLevel::Run);
    let keep = |text: &str| text.to_owned();
    let mut job = RunJob::new(&workload, ArchiveWriter::new(dir), drivers.collect(), stopped, &keep);
    if case.beside {
        bed.lock().unwrap_or_else(PoisonError::into_inner).looks_beside = true;
        let record = BesideRecord {
            driver: "d1".into(),
            run: "w99".into(),
            requests_per_s: 400.0,
            same_driver: true,
            stores: Vec::new(),
        };
        job.on_beside(Box::new(move || vec![record.clone()]));
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let ended = runtime.block_on(run_workload(job, &mut Nobody));
    std::fs::remove_dir_all(&ended.path).unwrap();
    ended.record.verdict
}

/// Runs all cases (or those whose name holds COSMARK_VERDICT_CASE), side by side.
fn scores() -> Vec<(Case, Score)> {
    let wanted = std::env::var("COSMARK_VERDICT_CASE").unwrap_or_default();
    let mut cases = cases::all();
    cases.retain(|case| case.name.contains(&wanted));
    let most = std::env::var("COSMARK_VERDICT_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(RUNS);
    let runs: Vec<(usize, u64)> = (0..cases.len())
        .flat_map(|at| {
            let runs = if cases[at].is_healthy() { most } else { most.div_ceil(2) };
            (0..runs).map(move |seed| (at, seed))
        })
        .collect();
    let scores: Vec<Mutex<Score>> = cases.iter().map(|_| Mutex::default()).collect();
    let (next, root) = (AtomicUsize::new(0), tempfile::tempdir().unwrap());
    std::thread::scope(|scope| {
        for thread in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let (next, runs, cases, scores) = (&next, &runs, &cases, &scores);
            let root = root.path().join(thread.to_string());
            scope.spawn(move || {
                while let Some((at, seed)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = judged(&cases[*at], seed + 1, &root);
                    scores[*at].lock().unwrap_or_else(PoisonError::into_inner).add(&cases[*at], &verdict);
                    if std::env::var_os("COSMARK_VERDICT_SHOW").is_some() {
                        show(&cases[*at], &verdict);
                    }
                }
            });
        }
    });
    let scores = scores.into_iter().map(|score| score.into_inner().unwrap_or_else(PoisonError::into_inner));
    cases.into_iter().zip(scores).collect()
}

/// Everything that the checks found.
fn show(case: &Case, verdict: &Verdict) {
    println!("--- {}: {} {:?}", case.name, verdict.overall.words(), verdict.reason);
    for check in verdict.checks.iter().filter(|check| check.status != cosmark_archive::CheckStatus::Pass) {
        println!("{:?} {} {:?} {:?}: {}", check.stage, check.id, check.status, check.allows, check.message);
    }
}

#[test]
fn no_healthy_run_is_called_false_and_every_spoilt_one_is_found_and_its_cause_named() {
    let scores = scores();
    println!("{}", score::table(&scores));
    let is_known = |case: &Case| KNOWN_WRONG.contains(&case.name.as_str());
    let judged_wrongly = |(_, score): &&(Case, Score)| score.wrong() > 0;
    for (case, _) in scores.iter().filter(|one| is_known(&one.0) && !judged_wrongly(one)) {
        println!("no longer judged wrongly, to be taken off KNOWN_WRONG: {}", case.name);
    }
    let wrong: Vec<String> = scores
        .iter()
        .filter(|one| judged_wrongly(one) && !is_known(&one.0))
        .map(|(case, score)| format!("{}: {:?}", case.name, score.example))
        .collect();
    assert!(wrong.is_empty(), "judged wrongly:\n{}", wrong.join("\n"));
}
