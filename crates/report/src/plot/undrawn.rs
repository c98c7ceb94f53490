//! What takes the places of `png` and `pdf` in a program without their renderer.

pub mod png {
    use std::collections::BTreeSet;

    use crate::plot::PlotError;
    use crate::plot::typeface::Typeface;

    /// Says that it is not there.
    ///
    /// # Errors
    /// Always.
    pub fn png_in(_: &str, _: &str, _: Option<&Typeface>, _: f32) -> Result<Vec<u8>, PlotError> {
        Err(PlotError::NoRenderer("PNG"))
    }

    /// What is not drawn has no boxes.
    pub fn shapeless(_: &BTreeSet<char>, _: Option<&Typeface>) -> BTreeSet<char> {
        BTreeSet::new()
    }

    /// Says that fonts cannot be read.
    ///
    /// # Errors
    /// Always.
    pub fn typeface_of(_: Vec<Vec<u8>>) -> Result<Typeface, PlotError> {
        Err(PlotError::Typeface("this binary cannot read fonts (`make build` makes one that can)".to_owned()))
    }
}

pub mod pdf {
    use crate::plot::PlotError;
    use crate::plot::typeface::Typeface;

    /// Says that it is not there.
    ///
    /// # Errors
    /// Always.
    pub fn pdf(_: &str, _: &str, _: &str, _: Option<&Typeface>) -> Result<Vec<u8>, PlotError> {
        Err(PlotError::NoRenderer("PDF"))
    }
}
