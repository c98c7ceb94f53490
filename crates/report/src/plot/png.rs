//! PNG from our SVG, by resvg, with DejaVu Sans from this binary: a machine without fonts gives the same picture.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::PlotError;

/// No picture of ours is larger.
const MOST_PIXELS: u32 = 20_000;
/// Units of SVG's `px` in an inch (CSS).
const PX_PER_INCH: f32 = 96.0;

/// The drawing as a tree, its words as outlines of DejaVu Sans.
pub(super) fn tree_of(name: &str, svg: &str) -> Result<Tree, PlotError> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    let options =
        Options { font_family: "DejaVu Sans".to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    Tree::from_str(svg, &options)
        .map_err(|error| PlotError::Render { name: name.to_owned(), problem: error.to_string() })
}

/// Renders the drawing `svg` of the picture `name` with so many dots per inch of paper.
///
/// # Errors
/// When the renderer cannot read it, or it is too large.
pub fn png(name: &str, svg: &str, dpi: f32) -> Result<Vec<u8>, PlotError> {
    let failed = |problem: String| PlotError::Render { name: name.to_owned(), problem };
    let tree = tree_of(name, svg)?;
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
