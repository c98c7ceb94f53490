//! What takes the places of `png` and `pdf` in a program without their renderer.

pub mod png {
    use crate::plot::PlotError;

    /// Says that it is not there.
    ///
    /// # Errors
    /// Always.
    pub fn png(_: &str, _: &str, _: f32) -> Result<Vec<u8>, PlotError> {
        Err(PlotError::NoRenderer("PNG"))
    }
}

pub mod pdf {
    use crate::plot::PlotError;

    /// Says that it is not there.
    ///
    /// # Errors
    /// Always.
    pub fn pdf(_: &str, _: &str, _: &str) -> Result<Vec<u8>, PlotError> {
        Err(PlotError::NoRenderer("PDF"))
    }
}
