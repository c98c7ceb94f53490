//! Mistakes shown at their line, all at once.

use std::io::IsTerminal;

use cosmark_workload::diagnostic::LineIndex;
use cosmark_workload::{Diagnostic, Severity};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report};

/// Prints them to stderr, each as `file:line:column`, with the place in the source and what was probably meant.
pub fn show(file: &str, source: &str, diagnostics: &[Diagnostic]) {
    let index = LineIndex::new(source);
    let theme = if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_context_lines(1).with_width(110);
    for diagnostic in diagnostics {
        let at = index.position(diagnostic.span.start);
        let word = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        eprintln!("{file}:{}:{}: {word}: {}", at.line, at.column, diagnostic.message);
        let mut out = String::new();
        let shown = report(file, source, diagnostic);
        if handler.render_report(&mut out, shown.as_ref()).is_ok() {
            // The message stands in the line above already.
            out.lines().skip_while(|line| !line.contains('╭')).for_each(|line| eprintln!("{line}"));
        } else if let Some(hint) = &diagnostic.hint {
            eprintln!("  {hint}");
        }
    }
}

fn report(file: &str, source: &str, diagnostic: &Diagnostic) -> Report {
    let start = diagnostic.span.start.min(source.len());
    let len = diagnostic.span.len.min(source.len() - start);
    // A span of several lines is shown by its first.
    let first_line = source.get(start..start + len).and_then(|text| text.lines().next()).map_or(0, str::len);
    let mut shown = MietteDiagnostic::new(diagnostic.message.clone())
        .with_label(LabeledSpan::new_with_span(None, (start, len.min(first_line))));
    if let Some(hint) = &diagnostic.hint {
        shown = shown.with_help(hint.clone());
    }
    Report::new(shown).with_source_code(NamedSource::new(file, source.to_owned()))
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
