//! What the looks amount to: by time since the acknowledgement, with intervals, and as a history.

use std::collections::BTreeMap;

use cosmark_history::{Operation, Report, Rules, Wrong, check, jepsen_edn, porcupine_json};
use cosmark_stats::proportions::clopper_pearson;
use serde::{Deserialize, Serialize};

use crate::life::Seen;
use crate::when::Look;
use crate::{Class, OFFSETS_MS};

/// Violations that are told in words.
const MOST_EXAMPLES: usize = 10;
/// [`ClassOutcome::visible_after_ms`] is known when no more than this share can be stale from there on.
const LITTLE: f64 = 0.01;
const CONFIDENCE: f64 = 0.95;

/// Looks between two times after the acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// From so long after the acknowledgement, up to the next point, ms.
    pub after_ms: u64,
    /// Looks.
    pub looks: u64,
    /// Those that missed the change.
    pub stale: u64,
    /// The 95 % interval of the probability to miss it.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// One class of looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassOutcome {
    /// Which.
    pub class: Class,
    /// All looks.
    pub looks: u64,
    /// Those that missed the change.
    pub stale: u64,
    /// Changes that were looked at; 0 in files of earlier versions.
    #[serde(default)]
    pub changes: u64,
    /// Those that some look missed.
    #[serde(default)]
    pub missed_changes: u64,
    /// The upper end of the 95 % interval of the share of changes that a look misses, over all times. Looks of one
    /// change are not independent of each other: each change counts once.
    pub high: f64,
    /// How long after the acknowledgement the last look began that missed the change, ms.
    pub longest_ms: Option<f64>,
    /// The first time after which looks can miss at most 1 % of changes (95 %), ms; none where so few cannot tell.
    pub visible_after_ms: Option<u64>,
    /// By time.
    pub points: Vec<Point>,
}

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Classes that were looked at.
    pub classes: Vec<ClassOutcome>,
    /// Changes that were acknowledged.
    pub changes: u64,
    /// Reads that gave an answer.
    pub reads: u64,
    /// Reads that gave an older version than a read that had ended before, and missed no acknowledged one.
    pub went_back: u64,
    /// Reads that gave what nobody had written.
    pub never_written: u64,
    /// Most versions that a read was behind.
    pub most_versions: u64,
    /// Requests without an answer that could be judged.
    pub failed: u64,
    /// Why the last of them failed.
    pub failed_why: Option<String>,
    /// Some reads that no atomic register can give, in words.
    pub examples: Vec<String>,
    /// Names that were written.
    #[serde(skip)]
    pub names: Vec<String>,
    /// Every change and read.
    #[serde(skip)]
    pub history: History,
    /// How long it took, s.
    pub took_s: f64,
}

pub(crate) fn judge(seen: Seen) -> Outcome {
    let checked = check(&seen.history, Rules::default());
    let unjudged = checked.as_ref().err().map(|mistake| format!("the history cannot be judged: {mistake}"));
    let report = checked.unwrap_or_default();
    let classes = Class::TABLE.iter().filter_map(|(class, ..)| class_outcome(*class, &seen.looks)).collect();
    Outcome {
        classes,
        changes: report.counts.writes,
        reads: report.counts.reads,
        went_back: report.counts.of(Wrong::WentBack),
        never_written: report.counts.of(Wrong::NeverWritten),
        most_versions: report.most_versions,
        failed: seen.failed,
        failed_why: unjudged.or_else(|| seen.why.clone()),
        examples: examples(&seen, &report),
        took_s: (seen.took.as_secs_f64() * 10.0).round() / 10.0,
        names: seen.names,
        history: History(seen.history),
    }
}

/// What was done and seen, operation by operation, for other checkers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History(Vec<Operation>);

impl History {
    /// Nothing was done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As Jepsen's EDN: [`cosmark_history::jepsen_edn`].
    #[must_use]
    pub fn jepsen(&self) -> String {
        self.text(jepsen_edn)
    }

    /// As JSON lines for Porcupine: [`cosmark_history::porcupine_json`].
    #[must_use]
    pub fn porcupine(&self) -> String {
        self.text(porcupine_json)
    }

    fn text(&self, write: fn(&[Operation], &mut dyn std::fmt::Write) -> std::fmt::Result) -> String {
        let mut text = String::new();
        // A string takes all that is written to it.
        let _ = write(&self.0, &mut text);
        text
    }
}

fn examples(seen: &Seen, report: &Report) -> Vec<String> {
    let word = |value: u64| if value == 0 { "nothing".to_owned() } else { format!("version {value}") };
    let words = report.violations.iter().take(MOST_EXAMPLES).map(|violation| {
        let read = &seen.history[violation.read as usize];
        format!(
            "key {}: a read gave {}, {} versions and {:.1} ms behind ({})",
            violation.key,
            word(read.value),
            violation.versions,
            violation.age_ns as f64 / 1e6,
            violation.wrong.name()
        )
    });
    words.collect()
}

fn class_outcome(class: Class, looks: &[Look]) -> Option<ClassOutcome> {
    let own: Vec<&Look> = looks.iter().filter(|look| look.class == class).collect();
    if own.is_empty() {
        return None;
    }
    let count = |from_ns: u64, to_ns: u64| {
        let within = own.iter().filter(|look| (from_ns..to_ns).contains(&look.after_ns));
        within.fold((0, 0), |(looks, stale), look| (looks + 1, stale + u64::from(look.is_stale)))
    };
    let ends = OFFSETS_MS.iter().skip(1).map(|ms| ms * 1_000_000).chain([u64::MAX]);
    let points: Vec<Point> = OFFSETS_MS
        .iter()
        .zip(ends)
        .map(|(after_ms, end_ns)| {
            let (looks, stale) = count(after_ms * 1_000_000, end_ns);
            let (low, high) = clopper_pearson(stale, looks, CONFIDENCE);
            Point { after_ms: *after_ms, looks, stale, low: rounded(low), high: rounded(high) }
        })
        .filter(|point| point.looks > 0)
        .collect();
    let longest_ns = own.iter().filter(|look| look.is_stale).map(|look| look.after_ns).max();
    let behind_it = longest_ns.map(|ns| ns / 1_000_000 + 1);
    let mut candidates: Vec<u64> = OFFSETS_MS.iter().copied().chain(behind_it).collect();
    candidates.sort_unstable();
    let visible_after_ms = candidates.into_iter().find(|ms| {
        let (changes, missed) = count_changes(&own, ms * 1_000_000);
        changes > 0 && clopper_pearson(missed, changes, CONFIDENCE).1 <= LITTLE
    });
    let (all, stale) = count(0, u64::MAX);
    let (changes, missed_changes) = count_changes(&own, 0);
    Some(ClassOutcome {
        class,
        looks: all,
        stale,
        changes,
        missed_changes,
        high: rounded(clopper_pearson(missed_changes, changes, CONFIDENCE).1),
        longest_ms: longest_ns.map(|ns| (ns as f64 / 1e4).round() / 100.0),
        visible_after_ms,
        points,
    })
}

/// Changes that were looked at from a time on, and those that such a look missed.
fn count_changes(looks: &[&Look], from_ns: u64) -> (u64, u64) {
    let mut changes: BTreeMap<u64, bool> = BTreeMap::new();
    for look in looks.iter().filter(|look| look.after_ns >= from_ns) {
        *changes.entry(look.change).or_default() |= look.is_stale;
    }
    (changes.len() as u64, changes.values().filter(|is_missed| **is_missed).count() as u64)
}

/// A share to six digits: more of them say nothing.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: Class = Class::ReadAfterOverwrite;

    /// So many changes with ten looks each, of which the first ones are missed until 100 ms.
    fn looks(changes: u64, missed: u64) -> Vec<Look> {
        let of = |change| {
            (0..10_u64).map(move |at| Look {
                class: CLASS,
                change,
                after_ns: at * 20_000_000,
                is_stale: change < missed && at < 5,
            })
        };
        (0..changes).flat_map(of).collect()
    }

    #[test]
    fn many_looks_at_few_changes_prove_no_more_than_these_changes_do() {
        let few = class_outcome(CLASS, &looks(40, 0)).unwrap();
        assert_eq!((few.looks, few.stale, few.changes, few.missed_changes), (400, 0, 40, 0));
        // By 400 looks that know nothing of each other it would be 0.9 %.
        assert!(few.high > 0.08 && few.visible_after_ms.is_none(), "{few:?}");
        let many = class_outcome(CLASS, &looks(400, 0)).unwrap();
        assert!(many.high < 0.01 && many.visible_after_ms == Some(0), "{many:?}");
    }

    #[test]
    fn changes_that_were_missed_are_counted_once_and_are_seen_behind_their_window() {
        let found = class_outcome(CLASS, &looks(500, 50)).unwrap();
        assert_eq!((found.stale, found.changes, found.missed_changes), (250, 500, 50));
        assert!(found.high > 0.1 && found.high < 0.14, "{found:?}");
        assert_eq!(found.longest_ms, Some(80.0));
        assert_eq!(found.visible_after_ms, Some(81), "{found:?}");
    }
}
