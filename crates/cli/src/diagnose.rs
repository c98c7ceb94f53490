//! Mistakes shown at their line, all at once.

use cosmark_driver::secrets::stars_over_secrets;
use cosmark_workload::diagnostics::LineIndex;
use cosmark_workload::{Diagnostic, Severity};
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, MietteError, MietteSpanContents,
    Report, SourceCode, SourceSpan, SpanContents,
};

use crate::paint::{To, is_on};
use crate::registry::CATALOG;
use crate::screen::columns;

/// Prints them to stderr, each as `file:line:column`, with the place in the source and what was probably meant.
pub fn show(file: &str, source: &str, diagnostics: &[Diagnostic]) {
    if diagnostics.is_empty() {
        // A study shows those of thousands of workloads.
        return;
    }
    let index = LineIndex::new(source);
    let source = &stars_over_secrets(&CATALOG, source);
    let lines = starts_of_lines(source);
    let theme = if crate::out::ascii_only() {
        GraphicalTheme::none()
    } else if is_on(To::Stderr) {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_context_lines(1);
    let handler = match columns(To::Stderr) {
        Some(columns) => handler.with_width(columns),
        None => handler.with_wrap_lines(false),
    };
    for diagnostic in diagnostics {
        let at = index.position(diagnostic.span.start);
        let word = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        eprintln!("{file}:{}:{}: {word}: {}", at.line, at.column, diagnostic.message);
        if let Some(around) = part_of_a_long_line(source, diagnostic.span.start) {
            eprintln!("  {around}");
            diagnostic.hint.iter().for_each(|hint| eprintln!("  help: {hint}"));
            continue;
        }
        let mut out = String::new();
        let shown = report(Excerpt::around(file, source, &lines, diagnostic.span.start), source, diagnostic);
        if handler.render_report(&mut out, shown.as_ref()).is_ok() {
            // The message stands in the line above already.
            let frame = |line: &&str| !line.contains('╭') && !line.contains(",-[");
            out.lines().skip_while(frame).for_each(|line| eprintln!("{line}"));
        } else if let Some(hint) = &diagnostic.hint {
            eprintln!("  {hint}");
        }
    }
}

/// A place in lines that are too long for a terminal, such as XML that a program wrote: what stands around it.
fn part_of_a_long_line(source: &str, at: usize) -> Option<String> {
    const LONGEST: usize = 400;
    const AROUND: usize = 60;
    let at = (0..=at.min(source.len())).rev().find(|at| source.is_char_boundary(*at))?;
    let (before, after) = source.split_at(at);
    // One line before and after it are shown, too.
    let long = before.rsplit('\n').take(2).chain(after.split('\n').take(2)).any(|part| part.len() > LONGEST);
    long.then(|| {
        let head: Vec<char> = before.chars().rev().take(AROUND).take_while(|c| *c != '\n').collect();
        let tail: String = after.chars().take(AROUND).take_while(|c| *c != '\n').collect();
        format!("..{} -->{tail}..", head.iter().rev().collect::<String>())
    })
}

/// Where each line begins.
fn starts_of_lines(source: &str) -> Vec<usize> {
    let ends = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).collect()
}

/// A line of a source with the one before and the one after it: to look for them again in the whole source for each mistake
/// would make a long file with many mistakes cost its square.
struct Excerpt {
    file: String,
    text: String,
    /// Byte offset of `text` in the source.
    start: usize,
    /// Line of its beginning, from 0.
    line: usize,
}

impl Excerpt {
    fn around(file: &str, source: &str, lines: &[usize], at: usize) -> Self {
        let own = lines.partition_point(|start| *start <= at).saturating_sub(1);
        let line = own.saturating_sub(1);
        let start = lines.get(line).copied().unwrap_or_default();
        let end = lines.get(own + 2).copied().unwrap_or(source.len());
        Self {
            file: file.to_owned(),
            text: source.get(start..end).unwrap_or_default().to_owned(),
            start,
            line,
        }
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        _span: &SourceSpan,
        _before: usize,
        _after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let span = SourceSpan::new(self.start.into(), self.text.len());
        let lines = self.text.lines().count();
        let contents =
            MietteSpanContents::new_named(self.file.clone(), self.text.as_bytes(), span, self.line, 0, lines);
        Ok(Box::new(contents))
    }
}

fn report(excerpt: Excerpt, source: &str, diagnostic: &Diagnostic) -> Report {
    let start = diagnostic.span.start.min(source.len());
    let len = diagnostic.span.len.min(source.len() - start);
    // A span of several lines is shown by its first.
    let first_line = source.get(start..start + len).and_then(|text| text.lines().next()).map_or(0, str::len);
    let mut shown = MietteDiagnostic::new(diagnostic.message.clone())
        .with_label(LabeledSpan::new_with_span(None, (start, len.min(first_line))));
    if let Some(hint) = &diagnostic.hint {
        shown = shown.with_help(hint.clone());
    }
    Report::new(shown).with_source_code(excerpt)
}

/// `2 errors, 1 warning`.
#[must_use]
pub fn count(diagnostics: &[Diagnostic]) -> String {
    let errors = diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
    let warnings = diagnostics.len() - errors;
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}", plural(errors, "error"), plural(warnings, "warning"))
}

/// Prints mistakes that a controller found.
pub fn show_remote(mistakes: &[serde_json::Value]) {
    for one in mistakes {
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        let place = match (one["line"].as_u64().unwrap_or(0), one["column"].as_u64().unwrap_or(0)) {
            (0, _) => String::new(),
            (line, column) => format!("{line}:{column}: "),
        };
        eprintln!("{place}{}: {}", text("severity"), text("message"));
        if !text("hint").is_empty() {
            eprintln!("  {}", text("hint"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_fills_screens_is_shown_only_around_the_mistake() {
        let long = format!("name: x\n{}é<bad>{}\nend", "a".repeat(100_000), "b".repeat(100_000));
        let at = long.find("<bad>").unwrap();
        let shown = part_of_a_long_line(&long, at).unwrap();
        assert!(shown.contains("é --><bad>") && shown.len() < 200, "{shown}");
        assert!(part_of_a_long_line("name: x\nstages: []\n", 8).is_none());
        assert!(part_of_a_long_line("", 5).is_none());
    }
}
