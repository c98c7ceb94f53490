//! Counts as numbers to compute with.

#[expect(clippy::cast_precision_loss, reason = "a handful of points")]
pub(crate) fn real(n: usize) -> f64 {
    n as f64
}
