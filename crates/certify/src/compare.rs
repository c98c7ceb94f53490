//! Two certificates side by side: the questions whose answers differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::certificate::{Answer, Asked, Certificate};
use crate::page::{cell, code};

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

/// Ids of questions that were put otherwise to the two and are named.
const MOST_NAMED: usize = 5;

/// The questions of a certificate; of two with one id the first. Who wrote it may have written any number into it.
fn by_id(certificate: &Certificate) -> BTreeMap<&str, &Asked> {
    let mut by_id: BTreeMap<&str, &Asked> = BTreeMap::new();
    for one in &certificate.questions {
        by_id.entry(one.id.as_str()).or_insert(one);
    }
    by_id
}

/// The differences, in the order of the first certificate, then what only the second has.
#[must_use]
pub fn compare(first: &Certificate, second: &Certificate) -> Vec<Difference> {
    let [before, after] = [first, second].map(by_id);
    let ids = first.questions.iter().map(|one| one.id.as_str());
    let more = second.questions.iter().map(|one| one.id.as_str()).filter(|id| !before.contains_key(id));
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for id in ids.chain(more).filter(|id| seen.insert(*id)) {
        let pair = (before.get(id).copied(), after.get(id).copied());
        if pair.0.map(|one| one.answer) == pair.1.map(|one| one.answer) {
            continue;
        }
        let asks = pair.0.or(pair.1).map(|one| one.asks.clone()).unwrap_or_default();
        let short = |one: Option<&Asked>| one.map(|one| (one.answer, one.saw.clone()));
        found.push(Difference { id: id.to_owned(), asks, first: short(pair.0), second: short(pair.1) });
    }
    found
}

impl Difference {
    /// Both stores have answered it.
    #[must_use]
    pub fn is_of_both(&self) -> bool {
        let answered = |one: &Option<(Answer, String)>| {
            one.as_ref().is_some_and(|(answer, _)| *answer != Answer::NotAsked)
        };
        answered(&self.first) && answered(&self.second)
    }
}

/// What a reader of the comparison has to know of the two before any difference says something.
fn remarks(first: &Certificate, second: &Certificate) -> Vec<String> {
    let mut remarks = Vec::new();
    if first == second {
        remarks.push(
            "Both are one and the same certification: nothing is compared here. Give two, of two stores or of one store \
             before and after a change."
                .to_owned(),
        );
    }
    if first.quick != second.quick {
        remarks.push(
            "One was asked quickly and one in full: what moves many bytes or takes long was put to one of them only."
                .to_owned(),
        );
    }
    if first.cosmark != second.cosmark {
        remarks.push(format!(
            "They were asked by two versions of Cosmark, {} and {}: questions may have been added or mended between them.",
            cell(&first.cosmark),
            cell(&second.cosmark)
        ));
    }
    let (before, after) = (by_id(first), by_id(second));
    let otherwise: Vec<&str> = before
        .iter()
        .filter(|(id, one)| {
            after.get(*id).is_some_and(|two| (&one.asks, &one.right) != (&two.asks, &two.right))
        })
        .map(|(id, _)| *id)
        .collect();
    if !otherwise.is_empty() {
        let named: Vec<String> =
            otherwise.iter().take(MOST_NAMED).map(|id| format!("`{}`", code(id))).collect();
        let more = if otherwise.len() > MOST_NAMED { ", .." } else { "" };
        remarks.push(format!(
            "{} put otherwise to the two, so that another answer need not be another store: {}{more}.",
            counted(otherwise.len(), "was", "were"),
            named.join(", ")
        ));
    }
    for one in [first, second] {
        remarks.extend(
            one.ended_early
                .as_ref()
                .map(|why| format!("{} ended early: {}.", named(one, first, second), cell(why))),
        );
    }
    remarks
}

/// How a column is called: two of one name by when each was asked.
fn named(one: &Certificate, first: &Certificate, second: &Certificate) -> String {
    let name = cell(&one.target.name);
    if is_of_one_name(first, second) { format!("{name}, {}", cell(&one.began_to_the_second())) } else { name }
}

fn is_of_one_name(first: &Certificate, second: &Certificate) -> bool {
    first.target.name == second.target.name
}

/// The same as a page.
#[must_use]
pub fn comparison_markdown(first: &Certificate, second: &Certificate) -> String {
    let all = compare(first, second);
    let names = [first, second].map(|one| named(one, first, second));
    let mut text = format!("# {} and {}\n\n", names[0], names[1]);
    for (one, name) in [first, second].into_iter().zip(&names) {
        let counts = Certificate::count(&one.questions);
        let when = if is_of_one_name(first, second) {
            String::new()
        } else {
            format!(" ({})", cell(&one.began_to_the_second()))
        };
        let _ = writeln!(
            text,
            "- {name}: {} yes, {} differ, {} no, {} not asked{when}",
            counts.yes, counts.differs, counts.no, counts.not_asked
        );
    }
    for remark in remarks(first, second) {
        let _ = write!(text, "\n{remark}\n");
    }
    if first == second {
        return text;
    }
    let (both, one): (Vec<&Difference>, Vec<&Difference>) = all.iter().partition(|one| one.is_of_both());
    if both.is_empty() {
        text.push_str("\nEvery question that both have answered is answered alike.\n");
    } else {
        let _ = write!(text, "\n{} answered differently.\n", counted(both.len(), "is", "are"));
        rows(&mut text, &names, &both);
    }
    if !one.is_empty() {
        let _ = write!(text, "\n{} an answer of one of them only.\n", counted(one.len(), "has", "have"));
        rows(&mut text, &names, &one);
    }
    text
}

fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 question {one}") } else { format!("{count} questions {many}") }
}

fn rows(text: &mut String, names: &[String; 2], all: &[&Difference]) {
    let _ = write!(text, "\n| question | {} | {} |\n|---|---|---|\n", names[0], names[1]);
    let shown = |one: &Option<(Answer, String)>| match one {
        Some((answer, saw)) => format!("**{}** {}", answer.word(), cell(saw)),
        None => "not put to it".to_owned(),
    };
    for one in all {
        let _ = writeln!(
            text,
            "| {} `{}` | {} | {} |",
            cell(&one.asks),
            code(&one.id),
            shown(&one.first),
            shown(&one.second)
        );
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::certificate::{SCHEMA, Target};

    fn certificate(name: &str, began: &str, answers: &[(&str, Answer)]) -> Certificate {
        let questions: Vec<Asked> = answers
            .iter()
            .map(|(id, answer)| Asked {
                id: (*id).to_owned(),
                group: "Operations".to_owned(),
                asks: "Is it?".to_owned(),
                right: "yes".to_owned(),
                source: "API".to_owned(),
                answer: *answer,
                saw: "seen".to_owned(),
                evidence: Vec::new(),
                took_ms: 1.0,
            })
            .collect();
        Certificate {
            schema: SCHEMA,
            cosmark: "1".to_owned(),
            target: Target { name: name.to_owned(), ..Target::default() },
            began: began.to_owned(),
            took_s: 1.0,
            quick: false,
            ended_early: None,
            counts: Certificate::count(&questions),
            left_behind: Vec::new(),
            consistency: None,
            questions,
            history: cosmark_consistency::History::default(),
        }
    }

    #[test]
    fn a_certification_beside_itself_is_said_to_be_one() {
        let one = certificate("a", "2026-01-01", &[("any.x", Answer::No)]);
        let text = comparison_markdown(&one, &one.clone());
        assert!(text.contains("one and the same") && !text.contains("alike"), "{text}");
        // Of one store twice: that is a comparison.
        let again = certificate("a", "2026-01-02", &[("any.x", Answer::No)]);
        let text = comparison_markdown(&one, &again);
        assert!(!text.contains("one and the same") && text.contains("alike"), "{text}");
        assert!(
            text.contains("# a, 2026-01-01 and a, 2026-01-02"),
            "two of one name have their dates: {text}"
        );
        // A moment is as long as one reads it, and stands once in a line.
        let at = "2026-01-02T03:04:05.678901234Z";
        for name in ["a", "b"] {
            let text = comparison_markdown(&one, &certificate(name, at, &[("any.x", Answer::No)]));
            let line = text.lines().find(|line| line.contains("03:04:05Z") && line.starts_with("- "));
            assert!(line.is_some_and(|line| line.matches("2026").count() == 1), "{text}");
            assert!(!text.contains(".678"), "{text}");
        }
    }

    #[test]
    fn what_one_was_not_asked_is_no_difference_between_the_two() {
        let full =
            certificate("a", "1", &[("any.x", Answer::No), ("any.y", Answer::Yes), ("s3.z", Answer::Yes)]);
        let quick = Certificate {
            quick: true,
            ended_early: Some("it was over".to_owned()),
            ..certificate("b", "2", &[("any.x", Answer::Yes), ("any.y", Answer::NotAsked)])
        };
        let text = comparison_markdown(&full, &quick);
        for words in [
            "1 question is answered differently",
            "2 questions have an answer of one of them only",
            "One was asked quickly and one in full",
            "b ended early: it was over.",
            "not put to it",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let both: Vec<bool> = compare(&full, &quick).iter().map(Difference::is_of_both).collect();
        assert_eq!(both, [true, false, false]);
    }

    #[test]
    fn what_somebody_wrote_into_a_certificate_commands_no_terminal_and_breaks_no_table() {
        let hostile = "s3.x`|\u{1b}]0;own\u{7}\u{202e}\n| y";
        let first = certificate("a", "2026-01-01T00:00:00Z", &[(hostile, Answer::Yes)]);
        let mut second = certificate("b\u{202e}", "2026-01-01T00:00:00Z", &[(hostile, Answer::No)]);
        second.questions[0].saw = "\u{1b}[2J\u{2066}".to_owned();
        let text = comparison_markdown(&first, &second);
        let is_hostile =
            |sign: char| (sign.is_control() && sign != '\n') || matches!(sign, '\u{202e}' | '\u{2066}');
        assert!(!text.contains(is_hostile), "{text:?}");
        let row = text.lines().find(|line| line.contains("s3.x")).unwrap();
        assert_eq!((row.matches(" | ").count(), row.matches('`').count()), (2, 2), "{row}");
    }

    #[test]
    fn one_name_for_two_questions_is_said_and_a_name_twice_is_one_row() {
        let answers = [("any.x", Answer::Yes), ("any.y", Answer::Yes), ("any.x", Answer::No)];
        let first = certificate("a", "1", &answers);
        let mut second = certificate("b", "2", &[("any.x", Answer::No), ("any.y", Answer::Yes)]);
        let text = comparison_markdown(&first, &second);
        assert!(!text.contains("otherwise"), "{text}");
        assert_eq!((compare(&first, &second).len(), text.matches("`any.x`").count()), (1, 1), "{text}");
        second.questions[1].right = "something else".to_owned();
        // What somebody wrote beside the questions is not what they say.
        second.counts.yes = 500;
        let text = comparison_markdown(&first, &second);
        assert!(text.contains("1 question was put otherwise to the two"), "{text}");
        assert!(text.contains("another store: `any.y`.\n"), "{text}");
        assert!(text.contains("- b: 1 yes, 0 differ, 1 no, 0 not asked"), "{text}");
    }

    #[test]
    fn any_number_of_questions_is_compared_in_bearable_time() {
        let ids: Vec<String> = (0..60_000).map(|at| format!("s3.{at}")).collect();
        let of = |answer| ids.iter().map(|id| (id.as_str(), answer)).collect::<Vec<_>>();
        let first = certificate("a", "2026-01-01T00:00:00Z", &of(Answer::Yes));
        let second = certificate("b", "2026-01-01T00:00:00Z", &of(Answer::No));
        let began = Instant::now();
        assert_eq!(compare(&first, &second).len(), ids.len());
        // Each held against each other one takes minutes.
        assert!(began.elapsed() < Duration::from_secs(45), "{:?}", began.elapsed());
    }
}
