//! Two certificates side by side: the questions whose answers differ.

use std::fmt::Write as _;

use crate::certificate::{Answer, Asked, Certificate};
use crate::page::cell;

/// A question that two stores answered differently, or that only one was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The question's id.
    pub id: String,
    /// What is asked.
    pub asks: String,
    /// Answer of the first and what was seen; `None`: it was not put to it.
    pub first: Option<(Answer, String)>,
    /// The same of the second.
    pub second: Option<(Answer, String)>,
}

/// The differences, in the order of the first certificate, then what only the second has.
#[must_use]
pub fn compare(first: &Certificate, second: &Certificate) -> Vec<Difference> {
    let of = |all: &Certificate, id: &str| -> Option<Asked> {
        all.questions.iter().find(|one| one.id == id).cloned()
    };
    let ids = first.questions.iter().map(|one| one.id.as_str());
    let more = second.questions.iter().map(|one| one.id.as_str()).filter(|id| of(first, id).is_none());
    let mut found = Vec::new();
    for id in ids.chain(more) {
        let pair = (of(first, id), of(second, id));
        if pair.0.as_ref().map(|one| one.answer) == pair.1.as_ref().map(|one| one.answer) {
            continue;
        }
        let asks = pair.0.as_ref().or(pair.1.as_ref()).map(|one| one.asks.clone()).unwrap_or_default();
        let short = |one: Option<Asked>| one.map(|one| (one.answer, one.saw));
        found.push(Difference { id: id.to_owned(), asks, first: short(pair.0), second: short(pair.1) });
    }
    found
}

/// The same as a page.
#[must_use]
pub fn comparison_markdown(first: &Certificate, second: &Certificate) -> String {
    let all = compare(first, second);
    let mut text = format!("# {} and {}\n\n", cell(&first.target.name), cell(&second.target.name));
    for one in [first, second] {
        let counts = one.counts;
        let _ = writeln!(
            text,
            "- {}: {} yes, {} differ, {} no, {} not asked ({})",
            cell(&one.target.name),
            counts.yes,
            counts.differs,
            counts.no,
            counts.not_asked,
            cell(&one.began)
        );
    }
    if all.is_empty() {
        text.push_str("\nEvery question is answered alike.\n");
        return text;
    }
    let _ = write!(
        text,
        "\n{} questions are answered differently.\n\n| question | {} | {} |\n|---|---|---|\n",
        all.len(),
        cell(&first.target.name),
        cell(&second.target.name)
    );
    let shown = |one: &Option<(Answer, String)>| match one {
        Some((answer, saw)) => format!("**{}** {}", answer.word(), cell(saw)),
        None => "not put to it".to_owned(),
    };
    for one in all {
        let _ = writeln!(
            text,
            "| {} `{}` | {} | {} |",
            cell(&one.asks),
            one.id,
            shown(&one.first),
            shown(&one.second)
        );
    }
    text
}
