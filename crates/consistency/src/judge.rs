//! What the looks amount to: by time since the acknowledgement, with intervals, and as a history.

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
    /// The upper end of the 95 % interval of the share that misses it, over all times.
    pub high: f64,
    /// How long after the acknowledgement the last look began that missed the change, ms.
    pub longest_ms: Option<f64>,
    /// The first time after which at most 1 % of looks can miss the change (95 %), ms; none where the looks cannot tell.
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
    let report = check(&seen.history, Rules::default()).unwrap_or_default();
    let classes = Class::TABLE.iter().filter_map(|(class, ..)| class_outcome(*class, &seen.looks)).collect();
    Outcome {
        classes,
        changes: report.counts.writes,
        reads: report.counts.reads,
        went_back: report.counts.of(Wrong::WentBack),
        never_written: report.counts.of(Wrong::NeverWritten),
        most_versions: report.most_versions,
        failed: seen.failed,
        failed_why: seen.why.clone(),
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
        let (looks, stale) = count(ms * 1_000_000, u64::MAX);
        looks > 0 && clopper_pearson(stale, looks, CONFIDENCE).1 <= LITTLE
    });
    let (all, stale) = count(0, u64::MAX);
    Some(ClassOutcome {
        class,
        looks: all,
        stale,
        high: rounded(clopper_pearson(stale, all, CONFIDENCE).1),
        longest_ms: longest_ns.map(|ns| (ns as f64 / 1e4).round() / 100.0),
        visible_after_ms,
        points,
    })
}

/// A share to six digits: more of them say nothing.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}
