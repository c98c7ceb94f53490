//! PNG from our SVG, by resvg, with DejaVu Sans from this binary: a machine without fonts gives the same picture.

use std::collections::BTreeSet;
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Node, Options, Tree, fontdb};

use super::PlotError;
use super::svg::{FONTS, escaped, width_of};
use super::typeface::Typeface;

/// No picture of ours is larger.
const MOST_PIXELS: u32 = 20_000;
/// Units of SVG's `px` in an inch (CSS).
const PX_PER_INCH: f32 = 96.0;

/// The drawing as a tree, its words as outlines of DejaVu Sans or of `typeface`, whose family it names.
pub(super) fn tree_of(name: &str, svg: &str, typeface: Option<&Typeface>) -> Result<Tree, PlotError> {
    let mut fonts = fontdb::Database::new();
    for file in typeface.into_iter().flat_map(|typeface| &typeface.files) {
        fonts.load_font_data(file.clone());
    }
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    let options =
        Options { font_family: "DejaVu Sans".to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    Tree::from_str(svg, &options)
        .map_err(|error| PlotError::Render { name: name.to_owned(), problem: error.to_string() })
}

/// Which of these signs no font has, neither `typeface` nor our own: boxes are drawn for them.
pub(super) fn shapeless(signs: &BTreeSet<char>, typeface: Option<&Typeface>) -> BTreeSet<char> {
    let text = |sign: &char| {
        format!("<text x=\"0\" y=\"20\" font-size=\"13\">{}</text>", escaped(&sign.to_string()))
    };
    let texts: String = signs.iter().map(text).collect();
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"99\" height=\"99\" font-family=\"{FONTS}\">{texts}</svg>"
    );
    let svg = typeface.map_or_else(|| svg.clone(), |typeface| typeface.set(&svg));
    // A font that cannot be used is told where it is.
    let Ok(tree) = tree_of("signs", &svg, typeface) else { return BTreeSet::new() };
    let texts = tree.root().children().iter().filter_map(|node| match node {
        Node::Text(text) => Some(text),
        _ => None,
    });
    let glyphs = texts.flat_map(|text| text.layouted()).flat_map(|span| &span.positioned_glyphs);
    glyphs.filter(|glyph| glyph.id.0 == 0).flat_map(|glyph| glyph.text.chars()).collect()
}

/// About as long as the words of a picture, and as many kinds of letters.
const SAMPLE: &str = "Response time, throughput in 1/s";
const SAMPLE_SIZE: f64 = 100.0;

/// The typeface of these files of fonts, of which the first says the family.
///
/// # Errors
/// When one of them is no font, or has another family.
pub fn typeface_of(files: Vec<Vec<u8>>) -> Result<Typeface, PlotError> {
    let mut family = String::new();
    for file in &files {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(file.clone());
        let own: Vec<&str> =
            fonts.faces().flat_map(|face| &face.families).map(|(name, _)| name.as_str()).collect();
        let Some(first) = own.first() else {
            return Err(PlotError::Typeface("no font in TrueType or OpenType".to_owned()));
        };
        if family.is_empty() {
            family = (*first).to_owned();
        } else if !own.contains(&family.as_str()) {
            let said = format!("a font of another family: {first} beside {family}");
            return Err(PlotError::Typeface(said));
        }
    }
    let typeface = Typeface::new(&family, files, 1.0);
    let width = width_in(&typeface)? / width_of(SAMPLE, SAMPLE_SIZE);
    Ok(Typeface::new(&family, typeface.files, width))
}

/// How wide the sample is.
fn width_in(typeface: &Typeface) -> Result<f64, PlotError> {
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9000\" height=\"200\" font-family=\"{FONTS}\">\
         <text x=\"0\" y=\"150\" font-size=\"{SAMPLE_SIZE}\">{SAMPLE}</text></svg>"
    );
    let tree = tree_of("sample", &typeface.set(&svg), Some(typeface))?;
    let widths = tree.root().children().iter().map(|node| match node {
        Node::Text(text) => f64::from(text.bounding_box().width()),
        _ => 0.0,
    });
    Ok(widths.sum())
}

/// Renders the drawing `svg` of the picture `name` with so many dots per inch of paper.
///
/// # Errors
/// When the renderer cannot read it, or it is too large.
pub fn png(name: &str, svg: &str, dpi: f32) -> Result<Vec<u8>, PlotError> {
    png_in(name, svg, None, dpi)
}

/// The same with words in a typeface.
pub(super) fn png_in(
    name: &str,
    svg: &str,
    typeface: Option<&Typeface>,
    dpi: f32,
) -> Result<Vec<u8>, PlotError> {
    let failed = |problem: String| PlotError::Render { name: name.to_owned(), problem };
    let tree = tree_of(name, svg, typeface)?;
    let (size, scale) = (tree.size(), dpi / PX_PER_INCH);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes of pictures are small"
    )]
    let scaled = |px: f32| (px * scale).ceil() as u32;
    let (width, height) = (scaled(size.width()), scaled(size.height()));
    if width.max(height) > MOST_PIXELS {
        return Err(failed(format!("{width} x {height} pixels are too many: lower --dpi")));
    }
    let mut pixels = Pixmap::new(width, height).ok_or_else(|| failed("it has no size".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    let png = pixels.encode_png().map_err(|error| failed(error.to_string()))?;
    Ok(with_resolution(png, dpi))
}

/// Puts the chunk pHYs behind the head, so that programs know how large the picture is on paper. Source: PNG (third edition),
/// 11.3.4.3.
fn with_resolution(mut png: Vec<u8>, dpi: f32) -> Vec<u8> {
    /// Signature, and the head with its length, name and check.
    const HEAD: usize = 8 + 12 + 13;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousand")]
    let per_metre = (dpi / 0.0254).round() as u32;
    let mut chunk = b"pHYs".to_vec();
    chunk.extend_from_slice(&per_metre.to_be_bytes());
    chunk.extend_from_slice(&per_metre.to_be_bytes());
    chunk.push(1);
    let check = crc(&chunk);
    let mut whole = 9_u32.to_be_bytes().to_vec();
    whole.append(&mut chunk);
    whole.extend_from_slice(&check.to_be_bytes());
    if png.len() > HEAD {
        png.splice(HEAD..HEAD, whole);
    }
    png
}

/// The cyclic redundancy code of PNG, annex D.
fn crc(bytes: &[u8]) -> u32 {
    let mut code = u32::MAX;
    for byte in bytes {
        code ^= u32::from(*byte);
        for _ in 0..8 {
            code = if code & 1 == 1 { 0xedb8_8320 ^ (code >> 1) } else { code >> 1 };
        }
    }
    !code
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"300\" height=\"40\" \
        font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\"><text x=\"5\" y=\"20\" font-size=\"13\">p99 → 5 ms</text></svg>";

    #[test]
    fn words_are_in_the_typeface_that_was_given_and_no_wider_than_their_room() {
        let serif =
            typeface_of(vec![dejavu::serif::regular().to_vec(), dejavu::serif::bold().to_vec()]).unwrap();
        let set = serif.set(SVG);
        assert!(set.contains("font-family=\"'DejaVu Serif', DejaVu Sans, Verdana"), "{set}");
        let (own, other) = (png("x", SVG, 96.0).unwrap(), png_in("x", &set, Some(&serif), 96.0).unwrap());
        assert!(other.starts_with(b"\x89PNG") && own != other, "the words look different");
        // Each of its letters is as wide as the widest of others: smaller text.
        let mono = typeface_of(vec![dejavu::sans_mono::regular().to_vec()]).unwrap();
        let set = mono.set(SVG);
        let size: f64 = set.split("font-size=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        assert!((10.0..12.9).contains(&size), "{set}");
        assert!(set.ends_with(">p99 → 5 ms</text></svg>"), "{set}");
        assert!(width_in(&mono).unwrap() <= width_of(SAMPLE, SAMPLE_SIZE) * 1.01);
    }

    #[test]
    fn signs_that_no_font_has_are_known() {
        let of = |text: &str| -> BTreeSet<char> { text.chars().collect() };
        assert_eq!(shapeless(&of("aü→≤µ…試験&"), None), of("試験"));
        let serif = typeface_of(vec![dejavu::serif::regular().to_vec()]).unwrap();
        assert_eq!(shapeless(&of("ü験"), Some(&serif)), of("験"));
        assert_eq!(shapeless(&BTreeSet::new(), None), BTreeSet::new());
    }

    #[test]
    fn what_is_no_font_or_of_another_family_is_refused() {
        let serif = || dejavu::serif::regular().to_vec();
        for (files, said) in [
            (vec![b"no font".to_vec()], "no font in TrueType"),
            (vec![serif(), b"%PDF-1.5".to_vec()], "no font in TrueType"),
            (vec![serif(), dejavu::sans::bold().to_vec()], "another family: DejaVu Sans beside DejaVu Serif"),
        ] {
            let wrong = typeface_of(files).err().unwrap().to_string();
            assert!(wrong.contains(said), "{wrong}");
        }
    }
}
