//! Mistakes in a workload file: all of them, each with its place, what is wrong and what was probably meant.

pub(crate) mod suggest;

use std::collections::HashSet;

pub use suggest::nearest;

/// A stretch of the source, in bytes from its start.
///
/// Two spans are always equal: a workload read from XML equals the same workload read from YAML.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    /// Byte offset.
    pub start: usize,
    /// Length in bytes.
    pub len: usize,
}

impl PartialEq for Span {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Span {}

/// How bad a mistake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The run goes on; probably not what was meant.
    Warning,
    /// Nothing is run.
    Error,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// Where.
    pub span: Span,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Span {
    /// The stretch from byte `start` up to, not including, byte `end`.
    #[must_use]
    pub fn between(start: usize, end: usize) -> Span {
        Span { start, len: end.saturating_sub(start) }
    }

    /// Byte offset just behind it.
    #[must_use]
    pub fn end(self) -> usize {
        self.start.saturating_add(self.len)
    }
}

/// A place for people: line and column from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
}

/// Turns byte offsets of one source into lines and columns.
#[derive(Debug, Clone)]
pub struct LineIndex<'a> {
    source: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    /// Looks for the line ends of `source`.
    #[must_use]
    pub fn new(source: &'a str) -> LineIndex<'a> {
        let ends = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        LineIndex { source, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Where the byte at `offset` stands; an offset beyond the end counts as the end.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.source.len());
        while !self.source.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let column = self.source[self.starts[line - 1]..offset].chars().count() + 1;
        Position { line, column }
    }
}

impl Diagnostic {
    /// A mistake that stops the run.
    #[must_use]
    pub fn error(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, span, message: message.into(), hint: None }
    }

    /// A mistake that does not stop the run.
    #[must_use]
    pub fn warning(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, span, message: message.into(), hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into());
        self
    }
}

/// Orders diagnostics as they stand in the source; errors before warnings at the same place.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|a, b| {
        let place = |d: &Diagnostic| (d.span.start, d.span.len, std::cmp::Reverse(d.severity));
        place(a).cmp(&place(b)).then_with(|| a.message.cmp(&b.message))
    });
}

/// True when none of them is an error.
#[must_use]
pub fn none_is_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().all(|d| d.severity != Severity::Error)
}

pub(crate) use cosmark_units::shown;

/// Collects mistakes: each once, however often the place is read, and not without end.
#[derive(Debug, Default)]
pub struct Mistakes {
    list: Vec<Diagnostic>,
    seen: HashSet<(usize, usize, String)>,
    left_off: bool,
}

impl Mistakes {
    /// More are not kept.
    const MOST: usize = 1000;

    /// Takes one in, if it is new and there is room.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.is_full() {
            self.left_off = true;
            return;
        }
        let key = (diagnostic.span.start, diagnostic.span.len, diagnostic.message.clone());
        if self.seen.insert(key) {
            self.list.push(diagnostic);
        }
    }

    pub(crate) fn error(&mut self, span: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.push(Diagnostic::error(span, message).with_hint(hint));
    }

    pub(crate) fn warning(&mut self, span: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.push(Diagnostic::warning(span, message).with_hint(hint));
    }

    /// True when nothing more is kept: whoever looks for mistakes may stop.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= Self::MOST
    }

    pub(crate) fn any_error(&self) -> bool {
        self.left_off || !none_is_error(&self.list)
    }

    /// All of them in the order of the source; where some found no room, an error that says so.
    #[must_use]
    pub fn finish(self) -> Vec<Diagnostic> {
        let mut list = self.list;
        sort(&mut list);
        if self.left_off {
            let end = list.last().map(|d| d.span).unwrap_or_default();
            list.push(Diagnostic::error(end, "more mistakes are not shown").with_hint("correct these first"));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_from_one() {
        let source = "ab\nçé x\r\n\n";
        let index = LineIndex::new(source);
        let at = |offset| (index.position(offset).line, index.position(offset).column);
        assert_eq!((at(0), at(2), at(3)), ((1, 1), (1, 3), (2, 1)));
        assert_eq!((at(8), at(9)), ((2, 4), (2, 5)));
        assert_eq!(at(4), (2, 1), "inside a character counts as its start");
        assert_eq!((at(11), at(999)), ((3, 1), (4, 1)));
        assert_eq!(LineIndex::new("").position(5), Position { line: 1, column: 1 });
    }

    #[test]
    fn a_mistake_is_kept_once_and_in_the_order_of_the_source() {
        let mut mistakes = Mistakes::default();
        let span = |start| Span { start, len: 1 };
        mistakes.warning(span(5), "b", "x");
        mistakes.error(span(9), "a", "x");
        mistakes.error(span(5), "c", "x");
        mistakes.warning(span(5), "b", "x");
        let texts: Vec<_> = mistakes.finish().into_iter().map(|d| d.message).collect();
        assert_eq!(texts, ["c", "b", "a"]);
    }

    #[test]
    fn foreign_text_is_shown_on_one_line_and_cut() {
        assert_eq!(shown("a\nb\u{7}"), "a\u{fffd}b\u{fffd}");
        assert_eq!(shown(&"x".repeat(81)).len(), 82);
    }
}
