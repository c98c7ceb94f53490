//! The typeface of a paper in the place of our own.

use super::svg::{FONTS, escaped};

const SIZE: &str = "font-size=\"";

/// A typeface for all words of a picture.
#[derive(Debug)]
pub struct Typeface {
    family: String,
    /// The files of its faces.
    pub(super) files: Vec<Vec<u8>>,
    /// At most 1: so much smaller is the text of a face that is wider than the room that words are given.
    shrink: f64,
}

impl Typeface {
    /// A family by its name, whose words are so many times as wide as the room for them.
    pub(super) fn new(family: &str, files: Vec<Vec<u8>>, width: f64) -> Self {
        // Quotes end a name in a list of families.
        let family = family.replace(['\'', '"', '\\'], " ");
        Self { family, files, shrink: 1.0 / width.max(1.0) }
    }

    /// The drawing with its words in this typeface; what it has no sign for stays in our own.
    pub(super) fn set(&self, svg: &str) -> String {
        let families = format!("'{}', {FONTS}", escaped(&self.family));
        let svg = svg.replacen(FONTS, &families, 1);
        let mut parts = svg.split(SIZE);
        let mut set = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (size, rest) = part.split_once('"').unwrap_or((part, ""));
            let smaller = size.parse::<f64>().map(|size| size * self.shrink);
            set.push_str(SIZE);
            set.push_str(&smaller.map_or_else(|_| size.to_owned(), |size| format!("{size:.2}")));
            set.push('"');
            set.push_str(rest);
        }
        set
    }
}
