//! YAML text to a tree of nodes that know their places, over the event parser of `serde-saphyr`: every mistake of a file is
//! reported at its place, which a deserializer that stops at the first one cannot do. Scalars stay text; bounded depth
//! and size, aliases included. Source: YAML 1.2.2.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span as EventSpan, StructureStyle};

use crate::diagnostics::{Mistakes, Span, shown};
use crate::xml::tree::MAX_INPUT_BYTES;

/// Deepest nesting.
pub const MAX_DEPTH: usize = 32;
/// Most nodes, those that aliases repeat included.
pub const MAX_NODES: usize = 1_000_000;
/// Most text that anchors and aliases repeat, in bytes.
pub const MAX_REPEATED_BYTES: usize = 32 << 20;

/// A value with its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Where it stands.
    pub span: Span,
}

/// What a value is.
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// No value: empty, `~` or `null`.
    Null,
    /// Text as written, without quotes.
    Scalar(String),
    /// A list.
    Sequence(Vec<Node>),
    /// A map, in the order of the text; a key may stand in it twice.
    Mapping(Vec<Pair>),
}

/// An entry of a map.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Its key.
    pub key: String,
    /// Where that stands.
    pub key_span: Span,
    /// Its value.
    pub value: Node,
}

impl Node {
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            NodeKind::Null => "nothing",
            NodeKind::Scalar(_) => "a single value",
            NodeKind::Sequence(_) => "a list",
            NodeKind::Mapping(_) => "a map",
        }
    }

    fn depth(&self) -> usize {
        match &self.kind {
            NodeKind::Null | NodeKind::Scalar(_) => 0,
            NodeKind::Sequence(items) => 1 + items.iter().map(Node::depth).max().unwrap_or(0),
            NodeKind::Mapping(pairs) => 1 + pairs.iter().map(|p| p.value.depth()).max().unwrap_or(0),
        }
    }

    /// Bytes of its keys and values.
    fn text_bytes(&self) -> usize {
        match &self.kind {
            NodeKind::Null => 0,
            NodeKind::Scalar(text) => text.len(),
            NodeKind::Sequence(items) => items.iter().map(Node::text_bytes).sum(),
            NodeKind::Mapping(pairs) => pairs.iter().map(|p| p.key.len() + p.value.text_bytes()).sum(),
        }
    }

    fn count(&self) -> usize {
        1 + match &self.kind {
            NodeKind::Null | NodeKind::Scalar(_) => 0,
            NodeKind::Sequence(items) => items.iter().map(Node::count).sum(),
            NodeKind::Mapping(pairs) => pairs.iter().map(|p| 1 + p.value.count()).sum(),
        }
    }
}

/// Reads `source`; `None` when it is no YAML, with the reason in `mistakes`.
pub(crate) fn read(source: &str, mistakes: &mut Mistakes) -> Option<Node> {
    if source.len() > MAX_INPUT_BYTES {
        let hint = format!("a workload has at most {} MiB", MAX_INPUT_BYTES >> 20);
        mistakes.error(Span::default(), "the file is too large", hint);
        return None;
    }
    let mut builder = Builder {
        mistakes,
        open: Vec::new(),
        root: None,
        anchors: HashMap::new(),
        nodes: 0,
        repeated_bytes: 0,
    };
    for event in Parser::new_from_str(source) {
        match event {
            Ok((event, span)) => builder.event(event, place(source, &span))?,
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(source.len()).min(source.len());
                let text = error.to_string();
                let message = text.split(" at char ").next().unwrap_or(&text);
                let hint = "check indentation and quotes; inside {..} put quotes around ${{ .. }}";
                builder.mistakes.error(
                    Span::between(at, at),
                    format!("cannot read the YAML: {message}"),
                    hint,
                );
                return None;
            }
        }
    }
    let root = builder.root.filter(|node| !matches!(node.kind, NodeKind::Null));
    if root.is_none() {
        mistakes.error(Span::default(), "the file is empty", "a workload starts with name: and stages:");
    }
    root
}

fn place(source: &str, span: &EventSpan) -> Span {
    let start = span.start.byte_offset().unwrap_or(0).min(source.len());
    let end = span.end.byte_offset().unwrap_or(start).clamp(start, source.len());
    let trimmed = source.get(start..end).map_or(0, |text| text.trim_end().len());
    Span { start, len: trimmed }
}

/// A collection that is being filled.
struct Open {
    node: Node,
    flow: bool,
    anchor: usize,
    /// Key whose value comes next.
    key: Option<(String, Span)>,
}

struct Builder<'m> {
    mistakes: &'m mut Mistakes,
    open: Vec<Open>,
    root: Option<Node>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    repeated_bytes: usize,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let kind = scalar(text, style);
                self.add(Node { kind, span }, anchor, 1)
            }
            Event::SequenceStart(style, anchor, _) => {
                self.start(NodeKind::Sequence(Vec::new()), style, anchor, span)
            }
            Event::MappingStart(style, anchor, _) => {
                self.start(NodeKind::Mapping(Vec::new()), style, anchor, span)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let mut open = self.open.pop()?;
                open.node.span = Span::between(open.node.span.start, span.end().max(open.node.span.start));
                if open.flow {
                    rejoin(&mut open.node);
                }
                self.add(open.node, open.anchor, 1)
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor) else {
                    self.mistakes.error(
                        span,
                        "an alias may not stand inside what it repeats",
                        "write the value out",
                    );
                    return None;
                };
                let (weight, depth, bytes) = (node.count(), node.depth(), node.text_bytes());
                self.spend(weight, span)?;
                self.repeat(bytes, span)?;
                if self.open.len() + depth > MAX_DEPTH {
                    self.mistakes.error(span, "nested too deeply", format!("at most {MAX_DEPTH} levels"));
                    return None;
                }
                let node = Node { span, ..self.anchors.get(&anchor)?.clone() };
                self.add(node, 0, 0)
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                self.mistakes.error(span, "there is a second document", "one file holds one workload");
                None
            }
            _ => Some(()),
        }
    }

    fn start(&mut self, kind: NodeKind, style: StructureStyle, anchor: usize, span: Span) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            self.mistakes.error(span, "nested too deeply", format!("at most {MAX_DEPTH} levels"));
            return None;
        }
        let flow = style == StructureStyle::Flow;
        self.open.push(Open { node: Node { kind, span }, flow, anchor, key: None });
        Some(())
    }

    fn spend(&mut self, nodes: usize, span: Span) -> Option<()> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            self.mistakes.error(span, "too many values, aliases included", format!("at most {MAX_NODES}"));
            return None;
        }
        Some(())
    }

    /// Few values may be much text.
    fn repeat(&mut self, bytes: usize, span: Span) -> Option<()> {
        self.repeated_bytes += bytes;
        if self.repeated_bytes > MAX_REPEATED_BYTES {
            let hint = format!("anchors and aliases repeat at most {} MiB", MAX_REPEATED_BYTES >> 20);
            self.mistakes.error(span, "too much text, aliases included", hint);
            return None;
        }
        Some(())
    }

    fn add(&mut self, node: Node, anchor: usize, weight: usize) -> Option<()> {
        self.spend(weight, node.span)?;
        if anchor != 0 {
            self.spend(node.count(), node.span)?;
            self.repeat(node.text_bytes(), node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Some(());
        };
        match (&mut open.node.kind, open.key.take()) {
            (NodeKind::Mapping(pairs), Some((key, key_span))) => {
                pairs.push(Pair { key, key_span, value: node })
            }
            (NodeKind::Mapping(_), None) => {
                let key = match node.kind {
                    NodeKind::Scalar(text) => text,
                    NodeKind::Null => "null".to_owned(),
                    _ => {
                        let message = format!("{} cannot be a key", node.what());
                        self.mistakes.error(node.span, message, "keys are plain words");
                        return None;
                    }
                };
                open.key = Some((key, node.span));
            }
            (NodeKind::Sequence(items), _) => items.push(node),
            _ => {}
        }
        Some(())
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> NodeKind {
    if style == ScalarStyle::Plain && matches!(text.as_ref(), "" | "~" | "null" | "Null" | "NULL") {
        return NodeKind::Null;
    }
    NodeKind::Scalar(text.into_owned())
}

/// Inside `{..}` and `[..]` YAML ends a plain value at every comma, so `{objects: u(1,100)}` comes as `objects: u(1` and
/// a key `100)` without a value. Parts of an open parenthesis are put together again.
fn rejoin(node: &mut Node) {
    match &mut node.kind {
        NodeKind::Mapping(pairs) => {
            let mut whole: Vec<Pair> = Vec::with_capacity(pairs.len());
            for pair in pairs.drain(..) {
                if let Some(last) = whole.last_mut().filter(|_| matches!(pair.value.kind, NodeKind::Null))
                    && join(&mut last.value, &pair.key, pair.key_span)
                {
                    continue;
                }
                whole.push(pair);
            }
            *pairs = whole;
        }
        NodeKind::Sequence(items) => {
            let mut whole: Vec<Node> = Vec::with_capacity(items.len());
            for item in items.drain(..) {
                let joined = match (&item.kind, whole.last_mut()) {
                    (NodeKind::Scalar(text), Some(last)) => join(last, text, item.span),
                    _ => false,
                };
                if !joined {
                    whole.push(item);
                }
            }
            *items = whole;
        }
        _ => {}
    }
}

/// Appends a part to a value whose parenthesis is still open.
fn join(value: &mut Node, part: &str, part_span: Span) -> bool {
    let NodeKind::Scalar(text) = &mut value.kind else { return false };
    let opens = text.matches('(').count() > text.matches(')').count();
    if !opens || text.len() > 10_000 {
        return false;
    }
    text.push(',');
    text.push_str(part);
    value.span = Span::between(value.span.start, part_span.end());
    true
}

/// Mistakes that YAML itself would not make: keys that are given twice.
pub(crate) fn report_duplicates(node: &Node, mistakes: &mut Mistakes) {
    match &node.kind {
        NodeKind::Mapping(pairs) => {
            let mut seen: HashMap<&str, Span> = HashMap::new();
            for pair in pairs {
                if seen.insert(&pair.key, pair.key_span).is_some() {
                    let message = format!("the key `{}` is given twice", shown(&pair.key));
                    mistakes.error(pair.key_span, message, "keep one of them");
                }
                report_duplicates(&pair.value, mistakes);
            }
        }
        NodeKind::Sequence(items) => items.iter().for_each(|item| report_duplicates(item, mistakes)),
        _ => {}
    }
}
