//! A certificate as a page: Markdown, and one HTML file that works offline.

use std::fmt::Write as _;

use crate::certificate::{Answer, Asked, Certificate};
use crate::picture;
use crate::xml::escaped;

/// A text in a cell of a Markdown table.
pub(crate) fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' => {
                out.push('\\');
                out.push(sign);
            }
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            sign if is_hostile(sign) => out.push(' '),
            sign => out.push(sign),
        }
    }
    out
}

/// What commands a terminal, or turns the direction in which what follows is shown.
fn is_hostile(sign: char) -> bool {
    sign.is_control()
        || matches!(sign, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A text that stands between the signs of code in a cell.
pub(crate) fn code(text: &str) -> String {
    text.chars().map(|sign| if is_hostile(sign) || matches!(sign, '|' | '`') { '?' } else { sign }).collect()
}

fn title(certificate: &Certificate) -> String {
    format!("What {} answers", certificate.target.name)
}

fn summary(certificate: &Certificate) -> String {
    let counts = certificate.counts;
    format!(
        "{} questions: {} yes, {} differ, {} no, {} not asked",
        certificate.questions.len(),
        counts.yes,
        counts.differs,
        counts.no,
        counts.not_asked
    )
}

fn facts(certificate: &Certificate) -> Vec<(&'static str, String)> {
    let target = &certificate.target;
    let mut facts = vec![
        ("store", target.name.clone()),
        ("address", format!("{} ({})", target.endpoint, target.adaptor)),
        (
            "asked",
            format!(
                "{}, {:.0} s, by Cosmark {}",
                certificate.began_to_the_second(),
                certificate.took_s,
                certificate.cosmark
            ),
        ),
    ];
    facts.extend(target.server.clone().map(|server| ("calls itself", server)));
    facts.extend(certificate.ended_early.clone().map(|why| ("ended early", why)));
    if !certificate.left_behind.is_empty() {
        facts.push(("left behind", certificate.left_behind.join("; ")));
    }
    facts
}

/// The groups in the order of their first questions.
fn groups(certificate: &Certificate) -> Vec<(&str, Vec<&Asked>)> {
    let mut groups: Vec<(&str, Vec<&Asked>)> = Vec::new();
    for one in &certificate.questions {
        match groups.iter_mut().find(|(name, _)| *name == one.group) {
            Some((_, all)) => all.push(one),
            None => groups.push((&one.group, vec![one])),
        }
    }
    groups
}

/// The page as Markdown.
#[must_use]
pub fn markdown(certificate: &Certificate) -> String {
    let mut text = format!("# {}\n\n{}.\n\n", cell(&title(certificate)), summary(certificate));
    for (name, value) in facts(certificate) {
        let _ = writeln!(text, "- {name}: {}", cell(&value));
    }
    for (group, all) in groups(certificate) {
        let _ = write!(text, "\n## {group}\n\n| question | right | answer | seen |\n|---|---|---|---|\n");
        for one in all {
            let _ = writeln!(
                text,
                "| {} `{}` | {} | **{}** | {} |",
                cell(&one.asks),
                one.id,
                cell(&one.right),
                one.answer.word(),
                cell(&one.saw)
            );
        }
    }
    if let Some(outcome) = probed(certificate) {
        consistency(&mut text, outcome);
    }
    let shown: Vec<&Asked> = certificate
        .questions
        .iter()
        .filter(|one| matches!(one.answer, Answer::No | Answer::Differs))
        .collect();
    if !shown.is_empty() {
        text.push_str("\n## Evidence\n");
    }
    for one in shown {
        let _ = write!(
            text,
            "\n### `{}`: {}\n\n{}. Right by {}: {}.\n\n",
            one.id,
            one.answer.word(),
            cell(&one.saw),
            cell(&one.source),
            cell(&one.right)
        );
        for exchange in &one.evidence {
            let _ = writeln!(
                text,
                "- {} -> {} ({:.1} ms)",
                cell(&exchange.request),
                cell(&exchange.reply),
                exchange.took_ms
            );
        }
    }
    text
}

/// What a probe saw; none where it looked at nothing.
fn probed(certificate: &Certificate) -> Option<&cosmark_consistency::Outcome> {
    certificate.consistency.as_ref().filter(|outcome| !outcome.classes.is_empty())
}

/// The looks of the probe, by time after the acknowledgement.
fn consistency(text: &mut String, outcome: &cosmark_consistency::Outcome) {
    text.push_str("\n## Looks that missed a change, by time after it was acknowledged\n\n| after, ms |");
    outcome.classes.iter().for_each(|class| {
        let _ = write!(text, " {} |", class.class.words());
    });
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(outcome.classes.len()));
    for after_ms in cosmark_consistency::OFFSETS_MS {
        let of = |class: &cosmark_consistency::ClassOutcome| {
            let point = class.points.iter().find(|point| point.after_ms == after_ms);
            point.map(|point| {
                format!("{} of {} (at most {:.1} %)", point.stale, point.looks, point.high * 100.0)
            })
        };
        let cells: Vec<Option<String>> = outcome.classes.iter().map(of).collect();
        if cells.iter().any(Option::is_some) {
            let cells: Vec<String> = cells.into_iter().map(Option::unwrap_or_default).collect();
            let _ = writeln!(text, "| {after_ms} | {} |", cells.join(" | "));
        }
    }
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}\
table{border-collapse:collapse;width:100%;margin:.5rem 0 1.5rem}td,th{border-bottom:1px solid #ddd;padding:.35rem .6rem;text-align:left;vertical-align:top}\
code{font:13px ui-monospace,monospace;color:#555}.a{font-weight:600;white-space:nowrap}.yes{color:#0a6b2d}.differs{color:#8a5a00}.no{color:#b00020}.not_asked{color:#666}\
.bar{display:flex;height:14px;border-radius:7px;overflow:hidden;max-width:40rem}.bar i{display:block}details{margin:.2rem 0}summary{cursor:pointer;color:#555}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}td,th{border-color:#333}code,summary{color:#aaa}.yes{color:#5fcf83}.differs{color:#e0b050}.no{color:#ff7a85}}";

/// The name of an answer's colours.
fn class(answer: Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::Differs => "differs",
        Answer::No => "no",
        Answer::NotAsked => "not_asked",
    }
}

fn bar(certificate: &Certificate) -> String {
    let counts = certificate.counts;
    let parts = [
        (counts.yes, "#2e9e57", "yes"),
        (counts.differs, "#d9a520", "differs"),
        (counts.no, "#c62838", "no"),
        (counts.not_asked, "#999", "not asked"),
    ];
    let parts: String = parts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, colour, word)| {
            format!("<i style=\"flex:{count};background:{colour}\" title=\"{count} {word}\"></i>")
        })
        .collect();
    format!("<div class=\"bar\" role=\"img\" aria-label=\"{}\">{parts}</div>", escaped(&summary(certificate)))
}

/// The page as one HTML file: no script, nothing from elsewhere.
#[must_use]
pub fn html(certificate: &Certificate) -> String {
    let title = escaped(&title(certificate));
    let mut text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1><p>{}.</p>{}<table>",
        escaped(&summary(certificate)),
        bar(certificate)
    );
    for (name, value) in facts(certificate) {
        let _ = write!(text, "<tr><th>{name}</th><td>{}</td></tr>", escaped(&value));
    }
    text.push_str("</table>");
    for (group, all) in groups(certificate) {
        let _ = write!(
            text,
            "<h2>{}</h2><table><tr><th>question</th><th>right</th><th>answer</th><th>seen</th></tr>",
            escaped(group)
        );
        for one in all {
            html_row(&mut text, one);
        }
        text.push_str("</table>");
    }
    if let Some(outcome) = probed(certificate) {
        text.push_str(&picture::consistency(outcome));
    }
    text.push_str("<h2>What the answers mean</h2><table>");
    for (answer, word, meaning) in Answer::TABLE {
        let _ = write!(text, "<tr><td class=\"a {}\">{word}</td><td>{meaning}</td></tr>", class(*answer));
    }
    text.push_str("</table></body></html>\n");
    text
}

fn html_row(text: &mut String, one: &Asked) {
    let _ = write!(
        text,
        "<tr><td>{}<br><code>{}</code></td><td>{}<br><small>{}</small></td><td class=\"a {}\">{}</td><td>{}",
        escaped(&one.asks),
        escaped(&one.id),
        escaped(&one.right),
        escaped(&one.source),
        class(one.answer),
        one.answer.word(),
        escaped(&one.saw)
    );
    if !one.evidence.is_empty() {
        text.push_str("<details><summary>requests</summary>");
        for exchange in &one.evidence {
            let _ = write!(
                text,
                "<div><code>{} &rarr; {} ({:.1} ms)</code></div>",
                escaped(&exchange.request),
                escaped(&exchange.reply),
                exchange.took_ms
            );
        }
        text.push_str("</details>");
    }
    text.push_str("</td></tr>");
}
