//! PNG from our SVG, by resvg, with DejaVu Sans from this binary: a machine without fonts gives the same picture.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::PlotError;

/// Pixels per unit of the drawing: 720 units make 2160 pixels, 300 dpi at a width of 18 cm.
const SCALE: f32 = 3.0;
/// No picture of ours is larger.
const MOST_PIXELS: u32 = 20_000;

/// Renders the drawing `svg` of the picture `name`.
///
/// # Errors
/// When the renderer cannot read it, or it is too large.
pub fn png(name: &str, svg: &str) -> Result<Vec<u8>, PlotError> {
    let failed = |problem: String| PlotError::Render { name: name.to_owned(), problem };
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    let options =
        Options { font_family: "DejaVu Sans".to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(error.to_string()))?;
    let size = tree.size().to_int_size();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "sizes of pictures are small"
    )]
    let scaled = |units: u32| (units as f32 * SCALE).ceil() as u32;
    let (width, height) = (scaled(size.width()), scaled(size.height()));
    if width.max(height) > MOST_PIXELS {
        return Err(failed(format!("{width} x {height} pixels are too many")));
    }
    let mut pixels = Pixmap::new(width, height).ok_or_else(|| failed("it has no size".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(error.to_string()))
}
