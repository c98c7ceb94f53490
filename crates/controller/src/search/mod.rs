//! A stage with a search: trials of several loads, each a stage of the run, until the highest load that meets the
//! thresholds is settled.

mod client;
mod machine;
#[cfg(test)]
mod simulated;
mod trial;

use std::sync::Arc;
use std::time::Duration;

use cosmark_archive::{GoalStatus, SearchRecord, StageTables, TrialRecord, UslRecord};
use cosmark_metrics::OperationResult;
use cosmark_stats::usl;
use cosmark_workload::model::Stage;
use cosmark_workload::search::{Over, Search, load_text};

use crate::job::{EndClass, RunJob, StopLevel};
use crate::observe::Observer;
use crate::search::client::ClientState;
use crate::search::machine::{Machine, Outcome, Purpose, Request};
use crate::search::trial::{enough, judged_with};
use crate::stage::StageRun;
use crate::thresholds::Measured;

pub(crate) use client::Excess;

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
    /// What the trials of the present load have measured together, and how the client was doing in them.
    pooled: Measured,
    client: ClientState,
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
    let mut running = Running {
        stage,
        search,
        trials: Vec::new(),
        tables: Vec::new(),
        pooled: Measured::default(),
        client: ClientState::default(),
    };
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
        let (outcome, throughput, ended) = running.trial(job, request, index, observer).await;
        if !matches!(ended.0, EndClass::Finished | EndClass::Failed) {
            (class, reason) = ended;
            stopped = Some("stopped before its end".to_owned());
            break;
        }
        machine.record(outcome, throughput);
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
        let reason = record.unsettled.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        return format!("search {}: no load met {}{reason}", record.name, record.thresholds.join(", "));
    };
    let missed =
        record.missed_at.map(|load| format!(", not at {}{unit}", load_text(load))).unwrap_or_default();
    let settled =
        record.unsettled.as_ref().map_or_else(String::new, |reason| format!("; not settled: {reason}"));
    format!("search {}: thresholds met at {}{unit}{missed}{settled}", record.name, load_text(best))
}

/// Why the last trial that decided nothing did not, of those behind which none of the same load decided.
fn left_open(trials: &[TrialRecord]) -> Option<String> {
    let is_open =
        |trial: &TrialRecord| matches!(trial.status, GoalStatus::NotDecided | GoalStatus::NotProven);
    let left = |(at, trial): &(usize, &TrialRecord)| {
        trials.iter().skip(*at).all(|later| later.load != trial.load || is_open(later))
    };
    let (_, trial) = trials.iter().enumerate().rev().find(left)?;
    Some(format!("at {}: {}", load_text(trial.load), trial.reason.as_ref()?))
}

impl Running<'_> {
    async fn trial(
        &mut self,
        job: &mut RunJob<'_>,
        request: Request,
        first: usize,
        observer: &mut dyn Observer,
    ) -> (Outcome, f64, (EndClass, String)) {
        let suffix = self.suffix(request);
        let trial = self.search.trial(self.stage, request.load, &suffix);
        let index = first + self.trials.len();
        job.dir.put_stage(index, &trial, self.trials.is_empty());
        let trial = Arc::new(trial);
        let of = job.dir.record().stages.len();
        let ended = StageRun::new(job, Arc::clone(&trial), index, of).run(observer).await;
        self.tables.push(ended.tables);
        if request.purpose != Purpose::Again {
            (self.pooled, self.client) = (Measured::default(), ClientState::default());
        }
        let mut pooled = self.pooled.clone();
        pooled.append(&ended.measured);
        let id = trial.id(index);
        let failed = (ended.class == EndClass::Failed).then(|| ended.reason.clone());
        let client = job.dir.record().stages.get(index).map(ClientState::of).unwrap_or_default();
        let all = client.clone().or_worse(&self.client);
        let judged = judged_with(&trial, &id, (&pooled, &all), (&ended.measured, &client), failed);
        let own_s = trial.works.iter().map(|work| work.runtime.as_secs_f64()).fold(0.0, f64::max);
        let reason = judged.reason.map(|reason| match judged.settles_s {
            Some(seconds) => format!("{reason}; {}", enough(seconds, self.search.extend, own_s)),
            None => reason,
        });
        if judged.pools {
            // What the client spoiled stays out of what the trials of this load say together.
            (self.pooled, self.client) = (pooled, all);
        }
        let whole = OperationResult::of(&ended.measured.total(), ended.measured.longest_s());
        let throughput = ended.measured.per_s(|op| op.ok);
        self.trials.push(TrialRecord {
            stage: id,
            load: request.load,
            purpose: request.purpose.word().to_owned(),
            throughput_per_s: throughput,
            bandwidth_bytes_per_s: ended.measured.per_s(|op| op.bytes),
            mean_ms: whole.response_ms.mean,
            p95_ms: whole.response_ms.p95,
            error_ratio: whole.success_ratio.map(|ratio| 1.0 - ratio),
            status: judged.status,
            reason,
            thresholds: judged.thresholds,
        });
        (judged.outcome, throughput.unwrap_or(0.0), (ended.class, ended.reason))
    }

    /// Every trial has a name of its own.
    fn suffix(&self, request: Request) -> String {
        let word = request.purpose.word();
        let before = || self.trials.iter().filter(|trial| trial.load == request.load);
        let same = before().filter(|trial| trial.purpose == word).count() + 1;
        match request.purpose {
            Purpose::Again | Purpose::Repeat | Purpose::Confirm => format!("-{word}{same}"),
            Purpose::Above if same == 1 => "-above".to_owned(),
            _ => match before().count() {
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
        // Which sample is missing stands where the answer is read, and not only in the list of trials.
        let unsettled = stopped.or(answer.unsettled).map(|reason| match left_open(&self.trials) {
            Some(open) => format!("{reason}; {open}"),
            None => reason,
        });
        SearchRecord {
            name: self.stage.name.clone(),
            over: self.search.over.word().to_owned(),
            thresholds: self.stage.thresholds.iter().map(|t| t.text.clone()).collect(),
            best: answer.best,
            missed_at: answer.missed_at,
            settled: unsettled.is_none(),
            unsettled,
            confirmed: answer.confirmed,
            notes: answer.notes,
            trials: self.trials.clone(),
            usl: usl.as_ref().map(UslRecord::from),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_a_later_trial_decided_is_not_told_as_open() {
        let trial = |load: f64, status: &str| -> TrialRecord {
            let record = serde_json::json!({
                "stage": "s", "load": load, "purpose": "double", "throughput_per_s": null,
                "bandwidth_bytes_per_s": null, "mean_ms": null, "p95_ms": null, "error_ratio": null,
                "status": status, "reason": "too few", "thresholds": []
            });
            serde_json::from_value(record).unwrap()
        };
        let (met, open) = (|load| trial(load, "pass"), |load| trial(load, "not_decided"));
        assert_eq!(left_open(&[open(4.0), met(4.0), open(8.0), open(8.0), met(8.0)]), None);
        assert_eq!(left_open(&[open(4.0), met(8.0)]).unwrap(), "at 4: too few");
        assert_eq!(left_open(&[met(4.0), open(4.0), met(8.0)]).unwrap(), "at 4: too few", "a confirmation");
        assert_eq!(left_open(&[]), None);
    }
}
