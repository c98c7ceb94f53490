//! YAML as a tree of values that know their places, for files beside workloads that report all their mistakes as workloads do.

use crate::diagnostics::{Diagnostic, Mistakes};
pub use crate::yaml::tree::{Node, NodeKind, Pair};

/// Reads a text.
///
/// # Errors
/// When it is no YAML, too large, nested too deeply or empty, with the place.
pub fn read(source: &str) -> Result<Node, Vec<Diagnostic>> {
    let mut mistakes = Mistakes::default();
    crate::yaml::tree::read(source, &mut mistakes).ok_or_else(|| mistakes.finish())
}
