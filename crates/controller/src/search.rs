//! A stage with a search: trials of several loads, each a stage of the run, until the highest one that meets the thresholds
//! is settled.

mod machine;

use std::sync::Arc;
use std::time::Duration;

use cosmark_archive::{GoalStatus, SearchRecord, StageTables, TrialRecord, UslRecord};
use cosmark_metrics::Summary;
use cosmark_metrics::stats::settle::Decision;
use cosmark_metrics::stats::usl;
use cosmark_workload::model::{Arrivals, Load, Stage};
use cosmark_workload::search::{Over, Search, load_text};

use crate::observe::Observer;
use crate::run::{EndClass, RunJob, StopLevel};
use crate::search::machine::{Machine, Purpose, Request};
use crate::stage::StageRun;
use crate::thresholds::{Measured, judge};

/// A search that is over.
pub struct SearchEnd {
    /// Its part of `run.json`.
    pub record: SearchRecord,
    /// One entry per trial.
    pub tables: Vec<StageTables>,
    /// What it means for the run, and why.
    pub class: EndClass,
    pub reason: String,
}

/// A search under way.
struct Running<'s> {
    stage: &'s Stage,
    search: &'s Search,
    trials: Vec<TrialRecord>,
    tables: Vec<StageTables>,
    /// What the trials of the present load have measured together.
    pooled: Measured,
}

/// Makes the trials; the first takes the place of the stage at 0-based `index`, the others follow it.
pub async fn run(
    job: &mut RunJob<'_>,
    stage: &Stage,
    search: &Search,
    index: usize,
    observer: &mut dyn Observer,
) -> SearchEnd {
    let mut machine = Machine::new(search);
    let mut running =
        Running { stage, search, trials: Vec::new(), tables: Vec::new(), pooled: Measured::default() };
    let started = job.dir.now();
    let elapsed =
        |job: &RunJob<'_>| Duration::try_from(job.dir.now().duration_since(started)).unwrap_or_default();
    let (mut class, mut reason) = (EndClass::Finished, String::new());
    let mut stopped = None;
    while let Some(request) = machine.next() {
        if running.trials.len() >= search.max_trials as usize {
            stopped = Some(format!("stopped after {} trials", search.max_trials));
            break;
        }
        if !running.trials.is_empty() && elapsed(job) > search.max_time {
            stopped = Some(format!("stopped after {:?}", search.max_time));
            break;
        }
        let (decision, throughput, ended) = running.trial(job, request, index, observer).await;
        if !matches!(ended.0, EndClass::Finished | EndClass::Failed) {
            (class, reason) = ended;
            stopped = Some("stopped before its end".to_owned());
            break;
        }
        machine.told(decision, throughput);
        if *job.stop.borrow() != StopLevel::Run {
            class = EndClass::Cancelled;
            stopped = Some("cancelled".to_owned());
            break;
        }
    }
    let record = running.record(&machine, stopped);
    observer.note(&sentence(&record));
    if class == EndClass::Finished && record.best.is_none() {
        class = EndClass::Missed;
        reason = format!("{}: no load met the thresholds", record.name);
    }
    SearchEnd { record, tables: running.tables, class, reason }
}

/// The answer in one sentence.
fn sentence(record: &SearchRecord) -> String {
    let unit = if record.over == "rate" { "/s" } else { " workers" };
    let Some(best) = record.best else {
        return format!("search {}: no load met {}", record.name, record.thresholds.join(", "));
    };
    let missed =
        record.missed_at.map(|load| format!(", not at {}{unit}", load_text(load))).unwrap_or_default();
    let settled = if record.settled { "" } else { "; not settled" };
    format!("search {}: thresholds met at {}{unit}{missed}{settled}", record.name, load_text(best))
}

impl Running<'_> {
    async fn trial(
        &mut self,
        job: &mut RunJob<'_>,
        request: Request,
        first: usize,
        observer: &mut dyn Observer,
    ) -> (Decision, f64, (EndClass, String)) {
        let suffix = self.suffix(request);
        let mut trial = self.search.trial(self.stage, request.load, &suffix);
        for work in &mut trial.works {
            // Short trials need intervals enough to tell one second from the next.
            let fine = work.runtime / 16;
            work.interval = work.interval.min(fine).max(std::time::Duration::from_millis(100));
        }
        let index = first + self.trials.len();
        job.dir.put_stage(index, &trial, self.trials.is_empty());
        let trial = Arc::new(trial);
        let of = job.dir.record().stages.len();
        let ended = StageRun::new(job, Arc::clone(&trial), index, of).run(observer).await;
        self.tables.push(ended.tables);
        if request.purpose != Purpose::Again {
            self.pooled = Measured::default();
        }
        self.pooled.append(&ended.measured);
        let id = trial.id(index);
        let thresholds = judge(&trial, &id, &self.pooled);
        let overload = overloaded(&trial, &self.pooled);
        let failed = (ended.class == EndClass::Failed).then(|| ended.reason.clone());
        let of_status = |wanted: GoalStatus| thresholds.iter().find(|t| t.status == wanted);
        let named = |t: &cosmark_archive::ThresholdRecord| {
            format!("{} {}: {}", t.threshold, t.status.word(), t.message)
        };
        let missed = of_status(GoalStatus::Fail).map(named).or(overload).or(failed);
        let open = of_status(GoalStatus::NotDecided).map(named);
        let (status, decision) = match (&missed, &open) {
            (Some(_), _) => (GoalStatus::Fail, Decision::Fail),
            (None, Some(_)) => (GoalStatus::NotDecided, Decision::Undecided),
            (None, None) => (GoalStatus::Pass, Decision::Pass),
        };
        let (sum, window_s) = ended.measured.total();
        let summary = Summary::of(&sum, window_s);
        let throughput = summary.throughput_per_s;
        self.trials.push(TrialRecord {
            stage: id,
            load: request.load,
            purpose: request.purpose.word().to_owned(),
            throughput_per_s: throughput,
            bandwidth_bytes_per_s: summary.bandwidth_bytes_per_s,
            mean_ms: summary.response.mean,
            p95_ms: summary.response.p95,
            error_ratio: summary.success_ratio.map(|ratio| 1.0 - ratio),
            status,
            reason: missed.or(open),
            thresholds,
        });
        (decision, throughput.unwrap_or(0.0), (ended.class, ended.reason))
    }

    /// Every trial has a name of its own.
    fn suffix(&self, request: Request) -> String {
        let before = self.trials.iter().filter(|trial| trial.load == request.load);
        match request.purpose {
            Purpose::Again => format!("-again{}", before.count() + 1),
            Purpose::Above => "-above".to_owned(),
            Purpose::Confirm => {
                format!("-confirm{}", before.filter(|t| t.purpose == "confirm").count() + 1)
            }
            _ => match before.count() {
                0 => String::new(),
                more => format!("-{}", more + 1),
            },
        }
    }

    fn record(&self, machine: &Machine, stopped: Option<String>) -> SearchRecord {
        let answer = machine.answer();
        let points: Vec<(f64, f64)> =
            self.trials.iter().filter_map(|trial| trial.throughput_per_s.map(|x| (trial.load, x))).collect();
        let usl = (self.search.over == Over::Workers).then(|| usl::fit(&points, 1)).flatten();
        let mut notes = answer.notes;
        let settled = answer.settled && stopped.is_none();
        notes.extend(stopped);
        SearchRecord {
            name: self.stage.name.clone(),
            over: self.search.over.word().to_owned(),
            thresholds: self.stage.thresholds.iter().map(|t| t.text.clone()).collect(),
            best: answer.best,
            missed_at: answer.missed_at,
            settled,
            confirmed: answer.confirmed,
            notes,
            trials: self.trials.clone(),
            usl: usl.as_ref().map(UslRecord::from),
        }
    }
}

/// An open loop that does not complete what is offered has no steady response time, whatever the completed ones say.
#[expect(clippy::cast_precision_loss, reason = "counts need no more than 53 bits")]
fn overloaded(stage: &Stage, measured: &Measured) -> Option<String> {
    let rate_per_s = stage.works.iter().find_map(|work| match &work.load {
        Load::Open {
            arrivals: Arrivals::Constant { rate_per_s } | Arrivals::Poisson { rate_per_s }, ..
        } => Some(*rate_per_s),
        _ => None,
    })?;
    let (sum, window_s) = measured.total();
    let due = rate_per_s * window_s;
    // Arrivals at the ends of the window, and those that Poisson draws, are off by chance.
    let least = due * 0.99 - 3.0 * due.sqrt().max(1.0);
    let done = sum.total() as f64;
    (done < least).then(|| {
        format!("offered {rate_per_s:.1}/s, completed {:.1}/s: the queue grows all the time", done / window_s)
    })
}
