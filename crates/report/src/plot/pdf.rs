//! PDF from our SVG: the same tree that PNGs are drawn from, its words as outlines, so that no reader needs a font. The same
//! drawing always gives the same bytes. Source: PDF Reference 1.7 (Adobe, 2006), chapters 3 and 4.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use resvg::tiny_skia::{PathSegment, Point, Transform};
use resvg::usvg::{FillRule, Group, LineCap, LineJoin, Node, Paint, Path, Stroke};

use super::PlotError;
use super::png::tree_of;
use super::typeface::Typeface;

/// Units of SVG's `px` are 1/96 inch, those of PDF 1/72.
const PT_PER_PX: f32 = 0.75;
/// Deeper groups than this we do not make.
const DEEPEST: usize = 64;

/// Renders the drawing `svg` of the picture `name` as a page of its size.
///
/// # Errors
/// When the renderer cannot read it.
pub fn pdf(name: &str, title: &str, svg: &str, typeface: Option<&Typeface>) -> Result<Vec<u8>, PlotError> {
    let failed = |problem: String| PlotError::Render { name: name.to_owned(), problem };
    let tree = tree_of(name, svg, typeface)?;
    let (width, height) = (tree.size().width() * PT_PER_PX, tree.size().height() * PT_PER_PX);
    let mut page = Page::default();
    // PDF counts from below.
    page.matrix(Transform::from_row(PT_PER_PX, 0.0, 0.0, -PT_PER_PX, 0.0, height));
    page.group(tree.root(), DEEPEST);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(page.text.as_bytes()).map_err(|error| failed(error.to_string()))?;
    let packed = packed.finish().map_err(|error| failed(error.to_string()))?;
    let states: String = page
        .opacities
        .iter()
        .map(|percent| {
            let share = f32::from(*percent) / 100.0;
            format!("/G{percent} << /ca {share} /CA {share} >> ")
        })
        .collect();
    let mut file = File { bytes: b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n".to_vec(), places: Vec::new() };
    file.object(b"<< /Type /Catalog /Pages 2 0 R >>");
    file.object(b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
    let page = format!(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R /Resources << /ExtGState << {states}>> >> >>",
        short(width),
        short(height)
    );
    file.object(page.as_bytes());
    let mut stream = format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", packed.len()).into_bytes();
    stream.extend_from_slice(&packed);
    stream.extend_from_slice(b"\nendstream");
    file.object(&stream);
    file.object(format!("<< /Title {} /Producer (Cosmark) >>", text_string(title)).as_bytes());
    Ok(file.end())
}

/// Objects one after the other, and where each begins.
struct File {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

impl File {
    fn object(&mut self, body: &[u8]) {
        self.places.push(self.bytes.len());
        self.bytes.extend_from_slice(format!("{} 0 obj\n", self.places.len()).as_bytes());
        self.bytes.extend_from_slice(body);
        self.bytes.extend_from_slice(b"\nendobj\n");
    }

    fn end(mut self) -> Vec<u8> {
        let (table, count) = (self.bytes.len(), self.places.len() + 1);
        let mut text = format!("xref\n0 {count}\n0000000000 65535 f \n");
        for place in &self.places {
            let _ = writeln!(text, "{place:010} 00000 n ");
        }
        let _ =
            write!(text, "trailer\n<< /Size {count} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{table}\n%%EOF\n");
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes
    }
}

/// UTF-16 with its mark, in hexadecimal: any text without anything to escape.
fn text_string(text: &str) -> String {
    let mut hex = "<FEFF".to_owned();
    for unit in text.encode_utf16() {
        let _ = write!(hex, "{unit:04X}");
    }
    hex.push('>');
    hex
}

fn short(value: f32) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// What a page shows.
#[derive(Default)]
struct Page {
    text: String,
    /// In percent, each once.
    opacities: Vec<u8>,
}

impl Page {
    fn matrix(&mut self, by: Transform) {
        if !by.is_identity() {
            let numbers = [by.sx, by.ky, by.kx, by.sy, by.tx, by.ty].map(|number| format!("{number:.6}"));
            let _ = writeln!(self.text, "{} cm", numbers.join(" "));
        }
    }

    fn group(&mut self, group: &Group, deeper: usize) {
        if deeper == 0 {
            return;
        }
        self.text.push_str("q\n");
        self.matrix(group.transform());
        if let Some(clip) = group.clip_path() {
            self.clip(clip.root(), clip.transform());
        }
        for node in group.children() {
            match node {
                Node::Group(inner) => self.group(inner, deeper - 1),
                Node::Path(path) => self.path(path),
                Node::Text(text) => self.group(text.flattened(), deeper - 1),
                // We draw none.
                Node::Image(_) => {}
            }
        }
        self.text.push_str("Q\n");
    }

    /// What follows in this group shows only inside of the paths of `group`.
    fn clip(&mut self, group: &Group, by: Transform) {
        let mut any = false;
        for node in group.children() {
            if let Node::Path(path) = node {
                self.outline(path, by.pre_concat(group.transform()));
                any = true;
            }
        }
        if any {
            self.text.push_str("W n\n");
        }
    }

    fn outline(&mut self, path: &Path, by: Transform) {
        let place = |point: Point| {
            let mut points = [point];
            by.map_points(&mut points);
            format!("{} {}", short(points[0].x), short(points[0].y))
        };
        let mut last = Point::default();
        for segment in path.data().segments() {
            let line = match segment {
                PathSegment::MoveTo(to) => format!("{} m", place(to)),
                PathSegment::LineTo(to) => format!("{} l", place(to)),
                // A curve of the second degree as one of the third.
                PathSegment::QuadTo(bend, to) => {
                    let towards = |from: Point| Point {
                        x: from.x + (bend.x - from.x) * 2.0 / 3.0,
                        y: from.y + (bend.y - from.y) * 2.0 / 3.0,
                    };
                    format!("{} {} {} c", place(towards(last)), place(towards(to)), place(to))
                }
                PathSegment::CubicTo(first, second, to) => {
                    format!("{} {} {} c", place(first), place(second), place(to))
                }
                PathSegment::Close => "h".to_owned(),
            };
            if let PathSegment::MoveTo(to)
            | PathSegment::LineTo(to)
            | PathSegment::QuadTo(_, to)
            | PathSegment::CubicTo(_, _, to) = segment
            {
                last = to;
            }
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    fn opacity(&mut self, share: f32) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
        let percent = (share.clamp(0.0, 1.0) * 100.0).round() as u8;
        if !self.opacities.contains(&percent) {
            self.opacities.push(percent);
        }
        let _ = writeln!(self.text, "/G{percent} gs");
    }

    fn path(&mut self, path: &Path) {
        if !path.is_visible() {
            return;
        }
        if let Some((fill, colour)) = path.fill().and_then(|fill| Some((fill, colour_of(fill.paint())?))) {
            self.opacity(fill.opacity().get());
            let _ = writeln!(self.text, "{colour} rg");
            self.outline(path, Transform::identity());
            self.text.push_str(if fill.rule() == FillRule::EvenOdd { "f*\n" } else { "f\n" });
        }
        if let Some((stroke, colour)) =
            path.stroke().and_then(|stroke| Some((stroke, colour_of(stroke.paint())?)))
        {
            self.opacity(stroke.opacity().get());
            let _ = writeln!(self.text, "{colour} RG");
            self.pen(stroke);
            self.outline(path, Transform::identity());
            self.text.push_str("S\n");
        }
    }

    fn pen(&mut self, stroke: &Stroke) {
        let cap = match stroke.linecap() {
            LineCap::Butt => 0,
            LineCap::Round => 1,
            LineCap::Square => 2,
        };
        let join = match stroke.linejoin() {
            LineJoin::Round => 1,
            LineJoin::Bevel => 2,
            LineJoin::Miter | LineJoin::MiterClip => 0,
        };
        let dashes: Vec<String> =
            stroke.dasharray().unwrap_or_default().iter().map(|length| short(*length)).collect();
        let (width, offset) = (short(stroke.width().get()), short(stroke.dashoffset()));
        let _ = writeln!(self.text, "{width} w {cap} J {join} j [{}] {offset} d", dashes.join(" "));
    }
}

fn colour_of(paint: &Paint) -> Option<String> {
    let Paint::Color(colour) = paint else { return None };
    Some([colour.red, colour.green, colour.blue].map(|part| short(f32::from(part) / 255.0)).join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"144pt\" height=\"72pt\" viewBox=\"0 0 288 144\" \
        font-family=\"DejaVu Sans\"><clipPath id=\"c\"><rect x=\"9\" y=\"9\" width=\"50\" height=\"50\"/></clipPath>\
        <g clip-path=\"url(#c)\"><circle cx=\"30\" cy=\"30\" r=\"12\" fill=\"#ff0000\" fill-opacity=\"0.5\"/></g>\
        <line x1=\"0\" y1=\"0\" x2=\"288\" y2=\"144\" stroke=\"#0072b2\" stroke-width=\"2\" stroke-dasharray=\"7 3\"/>\
        <text x=\"10\" y=\"100\" font-size=\"20\">p99</text></svg>";

    #[test]
    fn a_page_has_its_size_and_every_object_lies_where_the_table_says() {
        let bytes = pdf("x", "Über (p99)", SVG, None).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("%PDF-1.5") && text.trim_end().ends_with("%%EOF"));
        assert!(
            text.contains("/MediaBox [0 0 144 72]") && text.contains("/G50 << /ca 0.5 /CA 0.5 >>"),
            "{text}"
        );
        let find = |what: &[u8]| bytes.windows(what.len()).rposition(|part| part == what).unwrap();
        let table = find(b"xref\n0 6\n");
        for (number, line) in String::from_utf8_lossy(&bytes[table..]).lines().skip(3).take(5).enumerate() {
            let place: usize = line.split(' ').next().unwrap().parse().unwrap();
            assert!(bytes[place..].starts_with(format!("{} 0 obj\n", number + 1).as_bytes()), "{line}");
        }
        assert_eq!(bytes, pdf("x", "Über (p99)", SVG, None).unwrap(), "the same drawing, the same bytes");
    }

    #[test]
    fn words_lines_and_what_is_cut_are_on_the_page() {
        let tree = tree_of("x", SVG, None).unwrap();
        let mut page = Page::default();
        page.group(tree.root(), DEEPEST);
        let count = |what: &str| page.text.lines().filter(|line| line.ends_with(what)).count();
        assert_eq!((count("W n"), count(" S") + count("S")), (1, 1), "{}", page.text);
        assert!(count(" c") > 20, "outlines of three letters and a circle");
        assert!(page.text.contains("[7 3] 0 d") && page.text.contains("0 0.447 0.698 RG"), "{}", page.text);
        let opened = page.text.lines().filter(|line| *line == "q").count();
        assert_eq!(opened, page.text.lines().filter(|line| *line == "Q").count());
    }
}
