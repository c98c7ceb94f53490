//! Writes SVG 1.1: few kinds of elements, numbers with two digits, text escaped.

use std::fmt::Write as _;

/// Fonts: the one that PNGs are drawn with, then what other programs have.
pub const FONTS: &str = "DejaVu Sans, Verdana, Arial, sans-serif";

/// Where a text is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// At its start.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

impl Hold {
    fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A line's look.
#[derive(Debug, Clone, Copy)]
pub struct Stroke<'a> {
    /// Colour.
    pub colour: &'a str,
    /// Width.
    pub width: f64,
    /// Dashes; empty = drawn through.
    pub dash: &'a str,
    /// 0..=1.
    pub opacity: f64,
}

impl<'a> Stroke<'a> {
    /// A thin line drawn through.
    pub fn plain(colour: &'a str, width: f64) -> Self {
        Self { colour, width, dash: "", opacity: 1.0 }
    }
}

/// A drawing on its way.
#[derive(Debug)]
pub struct Svg {
    text: String,
}

fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text for an element or an attribute.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // XML 1.0 has no place for other control characters.
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

impl Svg {
    /// A white sheet of so many units; `unit_pt` is the size of one on paper.
    pub fn new(width: f64, height: f64, unit_pt: f64, title: &str) -> Self {
        let (w, h) = (short(width), short(height));
        let (paper_w, paper_h) = (short(width * unit_pt), short(height * unit_pt));
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" \
             width=\"{paper_w}pt\" height=\"{paper_h}pt\" viewBox=\"0 0 {w} {h}\" font-family=\"{FONTS}\">\n<title>{}</title>\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n",
            escaped(title)
        );
        Self { text }
    }

    /// A line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke<'_>) {
        let (x1, y1, x2, y2) = (short(from.0), short(from.1), short(to.0), short(to.1));
        let look = look(stroke);
        let _ = writeln!(self.text, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {look}/>");
    }

    /// A line through many points.
    pub fn polyline(&mut self, points: &[(f64, f64)], class: &str, stroke: Stroke<'_>) {
        let places: Vec<String> =
            points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
        let look = look(stroke);
        let _ = writeln!(
            self.text,
            "<polyline class=\"{class}\" points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {look}/>",
            places.join(" ")
        );
    }

    /// A filled shape with an edge.
    pub fn polygon(&mut self, points: &[(f64, f64)], class: &str, fill: &str, edge: &str) {
        let places: Vec<String> =
            points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect();
        let _ = writeln!(
            self.text,
            "<polygon class=\"{class}\" points=\"{}\" fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"1\"/>",
            places.join(" ")
        );
    }

    /// A circle.
    pub fn circle(&mut self, at: (f64, f64), radius: f64, class: &str, fill: &str, edge: &str) {
        let _ = writeln!(
            self.text,
            "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"1\"/>",
            short(at.0),
            short(at.1),
            short(radius)
        );
    }

    /// A rectangle.
    pub fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), class: &str, fill: &str, edge: &str) {
        let _ = writeln!(
            self.text,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" stroke=\"{edge}\"/>",
            short(at.0),
            short(at.1),
            short(size.0),
            short(size.1)
        );
    }

    /// A rectangle without an edge.
    pub fn filled(&mut self, at: (f64, f64), size: (f64, f64), fill: &str) {
        let _ = writeln!(
            self.text,
            "<rect class=\"cell\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>",
            short(at.0),
            short(at.1),
            short(size.0),
            short(size.1)
        );
    }

    /// White behind words, through which a line is still seen.
    pub fn backing(&mut self, at: (f64, f64), size: (f64, f64)) {
        let _ = writeln!(
            self.text,
            "<rect class=\"backing\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#ffffff\" fill-opacity=\"0.75\"/>",
            short(at.0),
            short(at.1),
            short(size.0),
            short(size.1)
        );
    }

    /// Words; `turned` in degrees.
    pub fn words(&mut self, at: (f64, f64), size: f64, hold: Hold, turned: f64, bold: bool, text: &str) {
        let (x, y) = (short(at.0), short(at.1));
        let turn = if turned == 0.0 {
            String::new()
        } else {
            format!(" transform=\"rotate({} {x} {y})\"", short(turned))
        };
        let weight = if bold { " font-weight=\"bold\"" } else { "" };
        let _ = writeln!(
            self.text,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"#1a1a1a\"{weight}{turn}>{}</text>",
            short(size),
            hold.word(),
            escaped(text)
        );
    }

    /// What follows is cut at this rectangle, until [`Svg::uncut`].
    pub fn cut(&mut self, at: (f64, f64), size: (f64, f64)) {
        let _ = writeln!(
            self.text,
            "<clipPath id=\"frame\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n\
             <g clip-path=\"url(#frame)\">",
            short(at.0),
            short(at.1),
            short(size.0),
            short(size.1)
        );
    }

    /// Ends [`Svg::cut`].
    pub fn uncut(&mut self) {
        self.text.push_str("</g>\n");
    }

    /// The drawing.
    pub fn end(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

fn look(stroke: Stroke<'_>) -> String {
    let mut text = format!("stroke=\"{}\" stroke-width=\"{}\"", stroke.colour, short(stroke.width));
    if !stroke.dash.is_empty() {
        let _ = write!(text, " stroke-dasharray=\"{}\"", stroke.dash);
    }
    if stroke.opacity < 1.0 {
        let _ = write!(text, " stroke-opacity=\"{}\"", short(stroke.opacity));
    }
    text
}

/// About how wide a text is in DejaVu Sans; rather too wide than too narrow.
pub fn width_of(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '\'' | ' ' | '\u{202f}' => 0.32,
            'f' | 't' | 'r' | '(' | ')' | '-' | '/' => 0.42,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
            'A'..='Z' | '+' | '=' | '<' | '>' => 0.74,
            c if c.is_ascii() => 0.635,
            _ => 1.0,
        })
        .sum();
    ems * size
}
