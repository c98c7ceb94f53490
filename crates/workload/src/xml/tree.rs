//! XML text to a tree of elements that know their places. No DTD, no entities but the five predefined ones and character
//! references, bounded depth and counts. Source: XML 1.0, W3C, fifth edition.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::diagnostics::{Mistakes, Span, shown};

/// Largest input in bytes.
pub const MAX_INPUT_BYTES: usize = 64 << 20;
/// Deepest nesting of elements.
pub const MAX_DEPTH: usize = 32;
/// Most elements in a file.
pub const MAX_ELEMENTS: usize = 1_000_000;
/// Most attributes of an element.
pub const MAX_ATTRIBUTES: usize = 256;

/// Text of an attribute with references replaced, and the way back to the source.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    pub(crate) value: String,
    /// Where the raw text stands.
    pub(crate) span: Span,
    /// (offset in `value`, offset in the source) behind each replaced reference.
    shifts: Vec<(usize, usize)>,
}

impl Text {
    /// Place in the source of a stretch of `value`.
    pub(crate) fn span_of(&self, start: usize, end: usize) -> Span {
        let source = |at: usize| match self.shifts.iter().rev().find(|(value, _)| *value <= at) {
            Some((value, source)) => source + (at - value),
            None => self.span.start + at,
        };
        Span::between(source(start), source(end))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) name_span: Span,
    pub(crate) text: Text,
}

#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) name: String,
    /// The start tag.
    pub(crate) span: Span,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) children: Vec<Element>,
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }

    pub(crate) fn children_named<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Element> {
        self.children.iter().filter(move |c| c.name == name)
    }
}

/// Reads `source`; `None` when it is no XML, with the reason in `mistakes`.
pub(crate) fn read(source: &str, mistakes: &mut Mistakes) -> Option<Element> {
    if source.len() > MAX_INPUT_BYTES {
        let hint = format!("a workload has at most {} MiB", MAX_INPUT_BYTES >> 20);
        mistakes.error(Span::default(), "the file is too large", hint);
        return None;
    }
    let mut builder = Builder { source, mistakes, open: Vec::new(), root: None, elements: 0 };
    let complete = builder.run();
    let root = builder.root.take();
    if complete.is_some() && root.is_none() {
        mistakes.error(Span::default(), "there is no element in this file", "the root element is <workload>");
    }
    complete.and(root)
}

struct Builder<'a, 'm> {
    source: &'a str,
    mistakes: &'m mut Mistakes,
    open: Vec<Element>,
    root: Option<Element>,
    elements: usize,
}

impl Builder<'_, '_> {
    fn run(&mut self) -> Option<()> {
        // The reader takes a mark of byte order away and does not count it.
        let text = self.source.trim_start_matches('\u{feff}');
        let mark = self.source.len() - text.len();
        let counted = |position: u64| offset(position).saturating_add(mark);
        let mut reader = Reader::from_str(text);
        loop {
            let start = counted(reader.buffer_position());
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(error) => {
                    let at = counted(reader.error_position()).min(self.source.len());
                    return self.refuse(at, at, &error.to_string(), hint_for(&error));
                }
            };
            let end = counted(reader.buffer_position());
            match event {
                Event::Start(tag) => {
                    let element = self.element(&tag, start, end)?;
                    self.open.push(element);
                }
                Event::Empty(tag) => {
                    let element = self.element(&tag, start, end)?;
                    self.close(element)?;
                }
                Event::End(_) => {
                    // The reader has checked that the names match.
                    let element = self.open.pop()?;
                    self.close(element)?;
                }
                Event::DocType(_) => {
                    return self.refuse(
                        start,
                        end,
                        "a document type is not allowed",
                        "drop the <!DOCTYPE ..> line",
                    );
                }
                Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => self.text(start, end),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                Event::Eof => break,
            }
        }
        if let Some(element) = self.open.pop() {
            let message = format!("<{}> is not closed", shown(&element.name));
            let hint = format!("add </{}>", shown(&element.name));
            return self.refuse(element.span.start, element.span.end(), &message, &hint);
        }
        Some(())
    }

    fn refuse(&mut self, start: usize, end: usize, message: &str, hint: &str) -> Option<()> {
        let message = format!("cannot parse the xml configuration: {}", shown_long(message));
        self.mistakes.error(Span::between(start, end), message, hint);
        None
    }

    fn text(&mut self, start: usize, end: usize) {
        let text = self.source.get(start..end).unwrap_or_default();
        let blank = text.chars().all(|c| c.is_whitespace() || c == '\u{feff}');
        if !blank {
            let lead = text.len() - text.trim_start().len();
            let span = Span::between(start + lead, start + text.trim_end().len());
            self.mistakes.warning(span, "text between elements is ignored", "use <!-- .. --> for a comment");
        }
    }

    fn close(&mut self, element: Element) -> Option<()> {
        if let Some(parent) = self.open.last_mut() {
            parent.children.push(element);
        } else if self.root.is_some() {
            let span = element.span;
            return self.refuse(
                span.start,
                span.end(),
                "there is a second root element",
                "one file holds one workload",
            );
        } else {
            self.root = Some(element);
        }
        Some(())
    }

    fn element(&mut self, tag: &BytesStart<'_>, start: usize, end: usize) -> Option<Element> {
        self.elements += 1;
        if self.elements > MAX_ELEMENTS {
            self.refuse(start, end, "too many elements", &format!("at most {MAX_ELEMENTS}"))?;
        }
        if self.open.len() >= MAX_DEPTH {
            self.refuse(
                start,
                end,
                "elements are nested too deeply",
                &format!("at most {MAX_DEPTH} levels"),
            )?;
        }
        let name = tag.name().0.to_owned();
        let mut element =
            Element { name, span: Span::between(start, end), attributes: Vec::new(), children: Vec::new() };
        // Duplicates are looked for below: the library's own check takes quadratic time.
        let mut attributes = tag.attributes();
        for attribute in attributes.with_checks(false) {
            let attribute = match attribute {
                Ok(attribute) => attribute,
                Err(error) => {
                    let hint = "write name=\"value\", with quotes and a blank between attributes";
                    self.refuse(start, end, &error.to_string(), hint)?;
                    return None;
                }
            };
            if element.attributes.len() == MAX_ATTRIBUTES {
                self.refuse(start, end, "too many attributes", &format!("at most {MAX_ATTRIBUTES}"))?;
            }
            let name_span = self.place(attribute.key.0);
            let raw_span = self.place(&attribute.value);
            let text = self.unescape(&attribute.value, raw_span)?;
            let name = attribute.key.0.to_owned();
            if element.attribute(&name).is_some() {
                let message = format!("the attribute {} is given twice", shown(&name));
                self.refuse(name_span.start, name_span.end(), &message, "keep one of them")?;
            }
            element.attributes.push(Attribute { name, name_span, text });
        }
        Some(element)
    }

    /// Place of a slice of the source.
    fn place(&self, slice: &str) -> Span {
        let start = (slice.as_ptr() as usize).wrapping_sub(self.source.as_ptr() as usize);
        if start.saturating_add(slice.len()) <= self.source.len() {
            return Span { start, len: slice.len() };
        }
        Span::default()
    }

    fn unescape(&mut self, raw: &str, span: Span) -> Option<Text> {
        let mut text = Text { value: String::with_capacity(raw.len()), span, shifts: Vec::new() };
        let mut rest = raw;
        while let Some(at) = rest.find(['&', '<']) {
            push_normalized(&mut text.value, &rest[..at]);
            let here = span.start + (raw.len() - rest.len()) + at;
            if rest[at..].starts_with('<') {
                let hint = "replace the placeholder by a value, or write &lt; for the sign itself";
                self.refuse(here, here + 1, "`<` cannot stand inside an attribute", hint)?;
            }
            let body = &rest[at + 1..];
            let reference = body.find(';').filter(|len| *len <= 10).map(|len| &body[..len]);
            let Some(character) = reference.and_then(character_of) else {
                let what = reference
                    .map_or("`&` stands alone".to_owned(), |r| format!("unknown entity &{};", shown(r)));
                self.refuse(here, here + 1, &what, "write &amp; for the sign & itself")?;
                return None;
            };
            text.value.push(character);
            rest = &body[reference.map_or(0, str::len) + 1..];
            text.shifts.push((text.value.len(), span.start + (raw.len() - rest.len())));
        }
        push_normalized(&mut text.value, rest);
        Some(text)
    }
}

/// Line ends and tabs in attributes count as blanks.
fn push_normalized(out: &mut String, text: &str) {
    out.extend(text.chars().map(|c| if matches!(c, '\t' | '\n' | '\r') { ' ' } else { c }));
}

fn character_of(reference: &str) -> Option<char> {
    match reference {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = reference.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            let allowed = matches!(code, 0x9 | 0xa | 0xd | 0x20..);
            char::from_u32(code).filter(|c| allowed && !matches!(*c, '\u{fffe}' | '\u{ffff}'))
        }
    }
}

fn hint_for(error: &quick_xml::Error) -> &'static str {
    match error {
        quick_xml::Error::IllFormed(_) => "every start tag needs its end tag, in the right order",
        _ => "the file is not well-formed XML at this place",
    }
}

fn shown_long(message: &str) -> String {
    message.chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn offset(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}
