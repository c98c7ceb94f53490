//! Watches a run from inside the controller and tells the others. It runs on the run's own task: it only adds up and passes
//! on; the verdict, which reads files, is looked for on another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cosmark_archive::{OperationResult, RunRecord, StageRecord, StageState, Timestamp, append_log};
use cosmark_controller::{ArchiveListener, Measured, Observer, Progress, SliceNews, StageNews};
use tokio::time::Instant;

use super::run::LiveRun;
use super::sums::StageSums;
use crate::api::types::{LostDriver, RunEvent, StageNews as StageState1};

/// The verdict is looked for at most this often.
const VERDICT_EVERY: Duration = Duration::from_secs(5);
/// The summary is sent at most this often while nothing but its progress changes.
const SUMMARY_EVERY: Duration = Duration::from_secs(1);

/// Passes on what happens in a run.
pub struct Watcher {
    live: Arc<LiveRun>,
    redact: Box<dyn Fn(&str) -> String>,
    several: bool,
    planned_s: Option<f64>,
    load_told: bool,
    judged: Instant,
    judging: Arc<AtomicBool>,
    summed: Instant,
    changed: Arc<dyn Fn() + Send + Sync>,
}

impl Watcher {
    /// Watches for `live`; `several` = more than one driver; `redact` takes secrets out of texts; `changed` is called when
    /// the summary has changed.
    #[must_use]
    pub fn new(
        live: Arc<LiveRun>,
        several: bool,
        redact: Box<dyn Fn(&str) -> String>,
        changed: Arc<dyn Fn() + Send + Sync>,
    ) -> Self {
        let now = Instant::now();
        Self {
            live,
            redact,
            several,
            planned_s: None,
            load_told: false,
            judged: now,
            judging: Arc::default(),
            summed: now,
            changed,
        }
    }

    fn give(&self, told: Duration, all: bool) {
        let taken =
            self.live.with_sums(|sums| sums.as_mut().map(|sums| sums.take(told, all)).unwrap_or_default());
        taken.into_iter().for_each(|interval| self.live.tell(&RunEvent::Interval(interval)));
    }

    /// A driver that is lost, or back, is told at once: in the summary, the charts and the verdict as it forms.
    fn tell_missing(&mut self, progress: &Progress<'_>) {
        let missing = &progress.missing;
        let is_news = self.live.with_sums(|sums| sums.as_mut().is_some_and(|sums| sums.set_missing(missing)));
        if !is_news {
            return;
        }
        self.live.courses().set_missing(progress.index, missing);
        let lost = missing.iter().map(|one| LostDriver::of(one, progress.stage)).collect();
        self.live.change(|summary| summary.lost = lost);
        (self.changed)();
        self.judged = self.judged.checked_sub(VERDICT_EVERY).unwrap_or(self.judged);
    }

    fn look_for_verdict(&mut self) {
        if self.judged.elapsed() < VERDICT_EVERY || self.judging.swap(true, Ordering::AcqRel) {
            return;
        }
        self.judged = Instant::now();
        let (live, judging) = (Arc::clone(&self.live), Arc::clone(&self.judging));
        let begun = std::thread::Builder::new().name("verdict".into()).spawn(move || {
            live.judge();
            judging.store(false, Ordering::Release);
        });
        if begun.is_err() {
            self.judging.store(false, Ordering::Release);
        }
    }
}

impl Observer for Watcher {
    fn stage_begins(&mut self, news: &StageNews<'_>) {
        self.planned_s = news.planned.map(|planned| planned.as_secs_f64());
        self.load_told = false;
        let sums = StageSums::new(news.stage, news.index, self.several);
        self.live.with_sums(|slot| *slot = Some(sums));
        self.live.courses().begin(news.stage, news.index);
        let workers: u64 = news.stage.works.iter().map(|work| u64::from(work.workers)).sum();
        let long = self.planned_s.map(|seconds| format!(", {seconds} s")).unwrap_or_default();
        let (id, at, of) = (news.stage.id(news.index), news.index + 1, news.of);
        self.note(&format!("stage {id} begins, {at} of {of}: {workers} workers{long}"));
    }

    fn slice(&mut self, slice: &SliceNews<'_>) {
        if !self.load_told {
            self.load_told = true;
            self.live.tell(&RunEvent::Stage(StageState1 {
                id: slice.stage.id(slice.index),
                index: u32::try_from(slice.index).unwrap_or(u32::MAX),
                state: StageState::Running.word().to_owned(),
                load_started: Some(slice.load_started.to_string()),
                planned_s: self.planned_s,
                reason: None,
            }));
        }
        self.live.with_sums(|sums| {
            if let Some(sums) = sums {
                sums.add(slice);
            }
        });
        self.live.courses().add_slice(slice, self.several);
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        self.tell_missing(progress);
        self.give(progress.watermark, false);
        if self.summed.elapsed() >= SUMMARY_EVERY {
            self.summed = Instant::now();
            let own_s = progress.remaining.map(|left| left.as_secs_f64());
            let left = self.live.left(progress.of.saturating_sub(progress.index + 1), own_s);
            self.live.change(|summary| {
                (summary.progress, summary.remaining_s) = (progress.done, own_s);
                (summary.left_s, summary.left_open) = (Some(left.known_s), left.open);
            });
            (self.changed)();
        }
        self.look_for_verdict();
    }

    fn stage_ends(&mut self, record: &StageRecord) {
        let of = |count: fn(&OperationResult) -> u64| record.operations.iter().map(count).sum::<u64>();
        let (done, failed) = (of(|op| op.ok), of(|op| op.failed));
        let why = record.reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
        self.note(&format!(
            "stage {} {}: {done} operations, {failed} failed{why}",
            record.id,
            record.state.word()
        ));
        let last = self.live.with_sums(|sums| sums.take().map(|mut sums| sums.take(Duration::ZERO, true)));
        // Those who are told of the last intervals find the results as they are.
        self.live.courses().set_results(record);
        last.into_iter().flatten().for_each(|interval| self.live.tell(&RunEvent::Interval(interval)));
        // The next look is at a stage that is over.
        self.judged = self.judged.checked_sub(VERDICT_EVERY).unwrap_or(self.judged);
        self.look_for_verdict();
    }

    fn note(&mut self, text: &str) {
        let text = (self.redact)(text);
        if let Some(path) = self.live.path() {
            // What cannot be written is still told; a full disk is told by the archive.
            drop(append_log(&path, Timestamp::now(), "INFO", "controller", &text));
        }
        self.live.log("INFO", "controller", &text);
    }
}

/// Passes on what goes into the archive.
pub struct RunListener {
    live: Arc<LiveRun>,
    changed: Arc<dyn Fn() + Send + Sync>,
}

impl RunListener {
    /// For `live`; `changed` is called when the summary has changed.
    #[must_use]
    pub fn new(live: Arc<LiveRun>, changed: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { live, changed }
    }
}

impl ArchiveListener for RunListener {
    fn measured(&mut self, index: usize, measured: &Measured<'_>) {
        self.live.courses().add(index, measured);
    }

    fn stage(&mut self, index: usize, record: &RunRecord) {
        let Some(stage) = record.stages.get(index) else { return };
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        self.live.tell(&RunEvent::Stage(StageState1 {
            id: stage.id.clone(),
            index: count(index),
            state: stage.state.word().to_owned(),
            load_started: None,
            planned_s: None,
            reason: stage.reason.clone(),
        }));
        let over = record.stages.iter().filter(|stage| stage.state.is_done()).count();
        let current = (!stage.state.is_over()).then(|| stage.id.clone());
        let behind = record.stages.len().saturating_sub(index + 1);
        // Between two stages nothing is left of the first.
        let left = self.live.left(behind, current.is_none().then_some(0.0));
        self.live.change(|summary| {
            if summary.started.is_none() {
                summary.started = record.started.map(|at| at.to_string());
            }
            if summary.stage != current || current.is_none() {
                (summary.progress, summary.remaining_s) = (None, None);
                (summary.left_s, summary.left_open) = (Some(left.known_s), left.open);
                summary.lost.clear();
            }
            summary.stage = current;
            (summary.stages_done, summary.stages) = (count(over), count(record.stages.len()));
        });
        (self.changed)();
    }

    fn log(&mut self, level: &str, from: &str, text: &str) {
        self.live.log(level, from, text);
    }
}
