//! A run while it runs, as others see it: its summary, its events, the archive so far with the running stage filled in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosmark_archive::{ArchiveError, CheckStatus, Overall, Run, StageState, Timestamp, Verdict, open_run};
use cosmark_controller::EndClass;
use cosmark_report::data::SeriesNews;
use cosmark_verdict::judge_so_far;

use super::feed::Feed;
use super::plan::{Left, RunPlan};
use super::series::{CourseSeen, Courses};
use super::sums::StageSums;
use crate::api::types::{LogLine, RunEvent, RunSummary, StageNews, VerdictNews};

/// Events of a run that are kept for those who come later: about two hours of a few operations.
const MOST_BYTES: usize = 16 << 20;

/// A run that runs.
pub struct LiveRun {
    /// Such as `w12`.
    pub id: String,
    /// Its events.
    pub feed: Arc<Feed>,
    seen: Mutex<Seen>,
    courses: Mutex<Courses>,
    plan: Mutex<RunPlan>,
}

struct Seen {
    summary: RunSummary,
    path: Option<PathBuf>,
    sums: Option<StageSums>,
    /// What was said last of each stage, by its place: the feed forgets it in a long run.
    stages: BTreeMap<u32, StageNews>,
}

impl Seen {
    fn note(&mut self, news: &StageNews) {
        let mut news = news.clone();
        if let Some(before) = self.stages.get(&news.index) {
            // Each is said once.
            news.load_started = news.load_started.or_else(|| before.load_started.clone());
            news.planned_s = news.planned_s.or(before.planned_s);
        }
        self.stages.insert(news.index, news);
    }
}

/// The word of a verdict in the interface.
#[must_use]
pub fn overall_word(overall: Overall) -> &'static str {
    match overall {
        Overall::True => "true",
        Overall::TrueWithLimits => "true_with_limits",
        Overall::NotProven => "not_proven",
        Overall::False => "false",
    }
}

/// The word of a class in the interface.
#[must_use]
pub fn class_word(class: EndClass) -> &'static str {
    match class {
        EndClass::Finished => "finished",
        EndClass::Missed => "missed",
        EndClass::Failed => "failed",
        EndClass::Target => "target",
        EndClass::Workload => "workload",
        EndClass::Internal => "ours",
        EndClass::Cancelled => "cancelled",
    }
}

fn status_word(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Pass => "pass",
        CheckStatus::Warn => "warn",
        CheckStatus::Fail => "fail",
        CheckStatus::NotRun => "not_run",
    }
}

impl LiveRun {
    /// A run that begins.
    #[must_use]
    pub fn new(summary: RunSummary) -> Arc<Self> {
        let id = summary.id.clone();
        let seen = Mutex::new(Seen { summary, path: None, sums: None, stages: BTreeMap::new() });
        let feed = Arc::new(Feed::new(MOST_BYTES));
        Arc::new(Self { id, feed, seen, courses: Mutex::default(), plan: Mutex::default() })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // A summary stays whole whatever happened to who held it.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As it stands now.
    #[must_use]
    pub fn summary(&self) -> RunSummary {
        self.seen().summary.clone()
    }

    /// Where its archive is, once it has one.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        self.seen().path.clone()
    }

    /// What was said last of each stage: who comes late, or after a gap, begins with it.
    #[must_use]
    pub fn stages(&self) -> Vec<StageNews> {
        self.seen().stages.values().cloned().collect()
    }

    /// Its archive is there.
    pub fn begins_at(&self, path: PathBuf) {
        self.seen().path = Some(path);
    }

    /// What it is to do: told before its first stage, so that its length is seen.
    pub fn plans(&self, plan: RunPlan) {
        for (index, id, planned_s) in plan.known() {
            self.tell(&RunEvent::Stage(StageNews {
                id: id.to_owned(),
                index: u32::try_from(index).unwrap_or(u32::MAX),
                state: StageState::Waiting.word().to_owned(),
                load_started: None,
                planned_s,
                reason: None,
            }));
        }
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    /// What is left of it: see [`RunPlan::left`].
    #[must_use]
    pub fn left(&self, behind: usize, own_s: Option<f64>) -> Left {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).left(behind, own_s)
    }

    /// Changes the summary and tells those who watch it.
    pub fn change(&self, change: impl FnOnce(&mut RunSummary)) {
        let summary = {
            let mut seen = self.seen();
            change(&mut seen.summary);
            seen.summary.clone()
        };
        self.tell(&RunEvent::Run(summary));
    }

    /// Sends an event to those who watch it.
    pub fn tell(&self, event: &RunEvent) {
        match event {
            RunEvent::Run(data) => self.feed.push("run", data),
            RunEvent::Stage(data) => {
                self.seen().note(data);
                self.feed.push("stage", data);
            }
            RunEvent::Interval(data) => self.feed.push("interval", data),
            // Each client is told of it as far as it has not been.
            RunEvent::Series(_) => {}
            RunEvent::Log(data) => self.feed.push("log", data),
            RunEvent::Verdict(data) => self.feed.push("verdict", data),
            RunEvent::End { state } => {
                self.feed.push("end", &serde_json::json!({ "state": state }));
                self.feed.close();
            }
        }
    }

    /// Sends a line of the log; secrets are removed already.
    pub fn log(&self, level: &str, from: &str, text: &str) {
        self.tell(&RunEvent::Log(LogLine {
            at: Timestamp::now().to_string(),
            level: level.to_owned(),
            from: from.to_owned(),
            text: text.to_owned(),
        }));
    }

    /// Sets or changes the sums of the running stage.
    pub fn with_sums<T>(&self, change: impl FnOnce(&mut Option<StageSums>) -> T) -> T {
        change(&mut self.seen().sums)
    }

    /// The course of its stages, to change it.
    pub fn courses(&self) -> MutexGuard<'_, Courses> {
        // Sums stay whole whatever happened to who held them.
        self.courses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has changed in the course of its stages since `seen`. Takes as long as there is to tell: not for the run's own
    /// task.
    pub fn course_news(&self, seen: &mut CourseSeen) -> Vec<SeriesNews> {
        let so_far = self.seen().sums.as_mut().and_then(StageSums::take_results);
        let mut courses = self.courses();
        if let Some(record) = so_far {
            courses.set_results(&record);
        }
        courses.news(seen)
    }

    /// The archive so far, with the results of the running stage as they stand.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn so_far(&self, path: PathBuf) -> Result<Run, ArchiveError> {
        let mut run = open_run(&path)?;
        let seen = self.seen();
        if let Some(sums) = &seen.sums
            && let Some(stage) = run.record.stages.get_mut(sums.index())
            && stage.operations.is_empty()
        {
            sums.fill(stage);
        }
        Ok(run)
    }

    /// Looks at the archive so far and tells the verdict as it stands. Reads the archive: not for the run's own task.
    pub fn judge(&self) {
        let Some(mut run) = self.path().and_then(|path| self.so_far(path).ok()) else { return };
        // Stages that have not begun say nothing yet.
        let begun = run.record.stages.iter().take_while(|stage| {
            stage.state.is_over() || (stage.state != StageState::Waiting && !stage.operations.is_empty())
        });
        let begun = begun.count();
        run.record.stages.truncate(begun);
        if begun == 0 {
            return;
        }
        let Some(verdict) = judge_so_far(&run) else { return };
        self.tell(&RunEvent::Verdict(news_of(&verdict)));
        let mut seen = self.seen();
        seen.summary.verdict = Some(overall_word(verdict.overall).to_owned());
        seen.summary.verdict_reason = verdict.reason;
    }
}

/// A verdict as those who watch are told.
#[must_use]
pub fn news_of(verdict: &Verdict) -> VerdictNews {
    let telling = |status: CheckStatus| matches!(status, CheckStatus::Warn | CheckStatus::Fail);
    let findings = verdict.checks.iter().filter(|check| telling(check.status));
    VerdictNews {
        overall: overall_word(verdict.overall).to_owned(),
        reason: verdict.reason.clone(),
        findings: findings
            .map(|check| {
                (
                    check.id.clone(),
                    check.stage.clone().unwrap_or_default(),
                    status_word(check.status).to_owned(),
                    check.message.clone(),
                )
            })
            .collect(),
    }
}
