//! What the looks amount to: by time since the acknowledgement, with intervals, and as a history.

use std::collections::BTreeMap;
use std::ops::Range;

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

/// Looks between two times after the acknowledgement, without those that were sent because others had missed the change:
/// they would be counted for changes that are missed, and for no others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// From so long after the acknowledgement, up to the next point, ms.
    pub after_ms: u64,
    /// Looks.
    pub looks: u64,
    /// Those that missed the change.
    pub stale: u64,
    /// The 95 % interval of the probability to miss it; each change counts once, however often it was looked at.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// One class of looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassOutcome {
    /// Which.
    pub class: Class,
    /// All looks but those that were sent because others had missed the change.
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
    let ends = OFFSETS_MS.iter().skip(1).map(|ms| ms * 1_000_000).chain([u64::MAX]);
    let points: Vec<Point> = OFFSETS_MS
        .iter()
        .zip(ends)
        .filter_map(|(after_ms, end_ns)| point(&own, *after_ms, after_ms * 1_000_000..end_ns))
        .collect();
    let longest_ns = own.iter().filter(|look| look.is_stale).map(|look| look.after_ns).max();
    let behind_it = longest_ns.map(|ns| ns / 1_000_000 + 1);
    let mut candidates: Vec<u64> = OFFSETS_MS.iter().copied().chain(behind_it).collect();
    candidates.sort_unstable();
    let visible_after_ms = candidates.into_iter().find(|ms| {
        let (changes, missed) = count_changes(&own, ms * 1_000_000);
        changes > 0 && clopper_pearson(missed, changes, CONFIDENCE).1 <= LITTLE
    });
    let planned = || own.iter().filter(|look| !look.is_further);
    let (changes, missed_changes) = count_changes(&own, 0);
    Some(ClassOutcome {
        class,
        looks: planned().count() as u64,
        stale: planned().filter(|look| look.is_stale).count() as u64,
        changes,
        missed_changes,
        high: rounded(clopper_pearson(missed_changes, changes, CONFIDENCE).1),
        longest_ms: longest_ns.map(|ns| (ns as f64 / 1e4).round() / 100.0),
        visible_after_ms,
        points,
    })
}

/// Looks within a time; none where there was no planned one.
fn point(looks: &[&Look], after_ms: u64, within_ns: Range<u64>) -> Option<Point> {
    let (mut all, mut stale) = (0, 0);
    // Of each change its looks and those that missed it.
    let mut changes: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
    for look in looks.iter().filter(|look| !look.is_further && within_ns.contains(&look.after_ns)) {
        let of_change = changes.entry(look.change).or_default();
        of_change.0 += 1;
        of_change.1 += u32::from(look.is_stale);
        all += 1;
        stale += u64::from(look.is_stale);
    }
    if all == 0 {
        return None;
    }
    // Looks of one change miss it together: as many as there are, they are one in the interval.
    let count = changes.len() as u64;
    let missed: f64 = changes.values().map(|(looks, stale)| f64::from(*stale) / f64::from(*looks)).sum();
    // A sum of shares may be a little beside a whole number.
    let [least, most] = [(missed + 1e-9).floor(), (missed - 1e-9).ceil()].map(|changes| changes as u64);
    let low = clopper_pearson(least, count, CONFIDENCE).0;
    let high = clopper_pearson(most, count, CONFIDENCE).1;
    Some(Point { after_ms, looks: all, stale, low: rounded(low), high: rounded(high) })
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
                is_further: false,
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

    fn at_ms(change: u64, ms: u64, is_stale: bool, is_further: bool) -> Look {
        Look { class: CLASS, change, after_ns: ms * 1_000_000, is_stale, is_further }
    }

    #[test]
    fn looks_that_wait_for_a_missed_change_do_not_make_misses_more_likely_than_they_are() {
        // One of 40 changes is hidden for four seconds, and was looked at until it was seen.
        let mut looks: Vec<Look> = (0..40).map(|change| at_ms(change, 1500, change == 7, false)).collect();
        looks.extend((16..44).map(|at| at_ms(7, at * 100, at < 40, true)));
        let found = class_outcome(CLASS, &looks).unwrap();
        assert_eq!(found.points.len(), 1, "{found:?}");
        let point = found.points[0];
        assert_eq!((point.after_ms, point.looks, point.stale), (1000, 40, 1));
        assert!(point.low < 0.025 && point.high > 0.025 && point.high < 0.14, "{point:?}");
        assert_eq!((found.looks, found.stale, found.changes, found.missed_changes), (40, 1, 40, 1));
        // They tell how long it was hidden.
        assert_eq!(found.longest_ms, Some(3900.0));
    }

    #[test]
    fn looks_of_one_change_at_about_one_time_are_one_in_the_interval_of_that_time() {
        // Half of ten changes are missed by each of ten looks, the others by none.
        let of = |change: u64| (0..10).map(move |at| at_ms(change, 100 + at * 9, change < 5, false));
        let found = class_outcome(CLASS, &(0..10).flat_map(of).collect::<Vec<_>>()).unwrap();
        let point = found.points[0];
        assert_eq!((point.after_ms, point.looks, point.stale), (100, 100, 50));
        let (low, high) = clopper_pearson(5, 10, CONFIDENCE);
        assert_eq!((point.low, point.high), (rounded(low), rounded(high)));
        assert!(low < 0.2 && high > 0.8, "{point:?}");
        // A change of whose looks a third missed it is a third of one, in the wider direction.
        let third: Vec<Look> = (0..3).map(|at| at_ms(1, 20 + at * 9, at == 0, false)).collect();
        let point = class_outcome(CLASS, &third).unwrap().points[0];
        assert_eq!((point.looks, point.stale), (3, 1));
        assert!(point.low < 1e-6 && point.high > 0.97, "{point:?}");
    }
}
