//! What the verdict said of a case's runs against what is true, as a table and as a matrix.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cosmark_archive::{Check, Verdict};

use crate::cases::Case;

/// All runs of one case.
#[derive(Debug, Default)]
pub struct Score {
    pub runs: usize,
    /// Overall words that were given, and how often.
    words: BTreeMap<&'static str, usize>,
    /// Checks that the first reasons came from, and how often.
    firsts: BTreeMap<String, usize>,
    /// Runs whose overall word is not right.
    pub wrong_word: usize,
    /// Runs whose first reason names something else.
    pub wrong_first: usize,
    /// A sentence that is wrong.
    pub example: Option<String>,
}

/// The check whose sentence the reason is; `-` without a reason.
fn check_of(verdict: &Verdict) -> Option<&Check> {
    let reason = verdict.reason.as_deref()?;
    verdict.checks.iter().find(|check| check.message == reason)
}

/// What the first reason is told by.
fn first_of(verdict: &Verdict) -> String {
    match (&verdict.reason, check_of(verdict)) {
        (_, Some(check)) => check.id.clone(),
        (Some(_), None) => "words".to_owned(),
        (None, None) => "-".to_owned(),
    }
}

impl Score {
    pub fn add(&mut self, case: &Case, verdict: &Verdict) {
        self.runs += 1;
        *self.words.entry(verdict.overall.words()).or_default() += 1;
        let first = first_of(verdict);
        let reason = verdict.reason.clone().unwrap_or_default();
        let right_word = case.right.contains(&verdict.overall);
        let named = case.is_healthy()
            || case
                .first
                .iter()
                .any(|wanted| *wanted == first || (!is_id(wanted) && reason.contains(wanted)));
        self.wrong_word += usize::from(!right_word);
        self.wrong_first += usize::from(!named);
        if !(right_word && named) {
            self.example.get_or_insert_with(|| format!("{} {first}: {reason}", verdict.overall.words()));
        }
        *self.firsts.entry(first).or_default() += 1;
    }

    pub fn wrong(&self) -> usize {
        self.wrong_word + self.wrong_first
    }
}

fn is_id(wanted: &str) -> bool {
    wanted.strip_prefix('V').is_some_and(|number| number.parse::<u32>().is_ok())
}

fn counts<K: AsRef<str>>(counts: &BTreeMap<K, usize>) -> String {
    let all: Vec<String> = counts.iter().map(|(what, count)| format!("{} {count}", what.as_ref())).collect();
    all.join(", ")
}

/// One line for each case, with what is wrong below it, then the matrix.
pub fn table(scores: &[(Case, Score)]) -> String {
    let mut text = String::new();
    for (case, score) in scores {
        let kind = if case.is_healthy() { "healthy" } else { "spoilt" };
        let verdict = if score.wrong() == 0 { "right" } else { "WRONG" };
        let _ = writeln!(
            text,
            "{verdict}  {kind:7}  {:<34} {:>2} runs  {:<34} first: {}",
            case.name,
            score.runs,
            counts(&score.words),
            counts(&score.firsts)
        );
        if let Some(example) = &score.example {
            let _ = writeln!(text, "         {example}");
        }
    }
    text + &matrix(scores)
}

/// False alarms, misses, first reasons.
pub fn matrix(scores: &[(Case, Score)]) -> String {
    let of = |healthy: bool| {
        scores.iter().filter(move |(case, _)| case.is_healthy() == healthy).map(|(_, score)| score)
    };
    let sum = |healthy, field: fn(&Score) -> usize| of(healthy).map(field).sum::<usize>();
    let (healthy, spoilt) = (sum(true, |score| score.runs), sum(false, |score| score.runs));
    let named = spoilt - sum(false, |score| score.wrong_first);
    format!(
        "healthy: {} cases, {healthy} runs, {} false alarms\nspoilt:  {} cases, {spoilt} runs, {} missed, first reason right in {} ({:.1} %)\n",
        of(true).count(),
        sum(true, |score| score.wrong_word),
        of(false).count(),
        sum(false, |score| score.wrong_word),
        named,
        100.0 * named as f64 / spoilt.max(1) as f64
    )
}
