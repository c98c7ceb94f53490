//! Whether the histogram log of a run that is over reaches to its end: one that was cut, or copied in part, reads like a shorter one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::directory::files::last_byte;
use crate::directory::histograms::FILE_NAME;
use crate::{ArchiveError, HistogramLog, Run, RunState, StageRecord};

/// What the last slices of a stage of hundreds of operations take.
const TAIL_BYTES: u64 = 8 << 20;
/// A log of at most so much is counted: that of a run of seconds, whose end may lie within the slack.
const COUNTED_BYTES: u64 = 4 << 20;
/// Slices end, and clocks of drivers agree, no better than that.
const SLACK_S: f64 = 5.0;

fn sentence(why: &str) -> String {
    format!(
        "{FILE_NAME} {why}: response times over time and distributions are missing or not whole; the figures of run.json are \
         those of the whole run; restore the file from a copy"
    )
}

impl Run {
    /// Which times of operations are missing in the archive of a run that is over, in a sentence; `None` where nothing is known to
    /// be missing, and for runs whose times others took. Takes no longer for a long log than for a short one.
    #[must_use]
    pub fn lost_times(&self) -> Option<String> {
        let record = &self.record;
        if !self.has_all_times() {
            return None;
        }
        let has_times =
            |stage: &&StageRecord| stage.operations.iter().any(|op| op.ok > 0 && !op.tag.is_empty());
        let last = record.stages.iter().rev().find(has_times)?;
        let why = match last_byte(&self.path.join(FILE_NAME)) {
            Ok(None) => Some("is not there, or is empty".to_owned()),
            Ok(Some(b'\n')) => match self.why_short(last) {
                Ok(None) if self.is_soon_counted() => self.why_fewer(),
                Ok(why) => why,
                Err(_) => Some("is damaged near its end".to_owned()),
            },
            Ok(Some(_)) => Some("ends in the middle of a line".to_owned()),
            Err(error) => Some(format!("cannot be read ({error})")),
        }?;
        Some(sentence(&why))
    }

    /// The same for what gives all times away: it reads the whole log, however long, and finds also the few that are missing at the
    /// end of a long run.
    #[must_use]
    pub fn lost_times_counted(&self) -> Option<String> {
        if let Some(why) = self.lost_times() {
            return Some(why);
        }
        if !self.has_all_times() || self.is_soon_counted() {
            return None;
        }
        self.why_fewer().map(|why| sentence(&why))
    }

    fn is_soon_counted(&self) -> bool {
        self.path.join(FILE_NAME).metadata().is_ok_and(|log| log.len() <= COUNTED_BYTES)
    }

    /// Why the log has fewer times than its record counts; it reads the whole log.
    fn why_fewer(&self) -> Option<String> {
        let operations = || self.record.stages.iter().flat_map(|stage| &stage.operations);
        let mut found: BTreeMap<String, u64> =
            operations().map(|op| (format!("{}.response", op.tag), 0)).collect();
        // What cannot be read is named by who reads it next.
        for entry in self.histograms().ok()? {
            let entry = entry.ok()?;
            if let Some(count) = found.get_mut(&entry.tag) {
                *count += entry.histogram.len();
            }
        }
        operations().find_map(|op| {
            let has = found.get(&format!("{}.response", op.tag)).copied().unwrap_or_default();
            let counted = op.response_ms.count;
            (has < counted).then(|| format!("has {has} of {counted} response times of {}", op.tag))
        })
    }

    /// Whether every time that its record counts was written to its log.
    fn has_all_times(&self) -> bool {
        let record = &self.record;
        let is_over = !matches!(record.state, RunState::Running | RunState::Killed);
        is_over && record.made_by.is_none() && record.fio.is_none()
    }

    /// Why the log does not reach to the end of the last stage that has times.
    fn why_short(&self, stage: &StageRecord) -> Result<Option<String>, ArchiveError> {
        let heads: Vec<String> = stage.operations.iter().map(|op| format!("{}.", op.tag)).collect();
        let mut reach: Option<Duration> = None;
        HistogramLog::last_marks(&self.path, TAIL_BYTES, |tag, start, length| {
            if heads.iter().any(|head| tag.starts_with(head.as_str())) {
                reach = reach.max(Some(start.saturating_add(length)));
            }
        })?;
        let Some(reach) = reach else { return Ok(Some(format!("has nothing of stage {}", stage.id))) };
        let Some((began, base)) = stage.load_started.zip(self.record.submitted) else { return Ok(None) };
        let reach_s = reach.as_secs_f64() - began.duration_since(base).as_secs_f64();
        let window_s = stage.operations.iter().map(|op| op.window_s).fold(0.0, f64::max);
        if reach_s + SLACK_S >= window_s {
            return Ok(None);
        }
        // A store that was silent until the end leaves nothing there either.
        let mut last_s = 0.0_f64;
        self.intervals(|line| {
            if line.stage == stage.id && line.ok > 0 {
                last_s = last_s.max(line.start_s);
            }
        })?;
        let is_short = reach_s + SLACK_S < last_s;
        Ok(is_short
            .then(|| format!("ends {:.0} s before the operations of stage {}", last_s - reach_s, stage.id)))
    }
}
