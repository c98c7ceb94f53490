//! A target: auth and storage kept apart from the workload, so that one workload runs against many stores.

use crate::diagnostics::{Diagnostic, Mistakes, Span};
use crate::model::nodes::NodeSpec;
use crate::model::{TargetSpec, Workload};
use crate::{room, yaml};

/// Keys of storages and auths that say where a store is.
pub const PLACES: [&str; 9] = [
    "endpoint",
    "hosts",
    "auth_url",
    "storage_url",
    "storage_url_override",
    "url",
    "directory",
    "pool",
    "account",
];

/// Auth and storage of a target file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Target {
    /// Replaces the auth of every work.
    pub auth: Option<TargetSpec>,
    /// Replaces the storage of every work.
    pub storage: Option<TargetSpec>,
    /// The machines of the store; where there are any, they replace those of the workload.
    pub nodes: Vec<NodeSpec>,
}

/// Reads a target file: YAML with `auth:`, `storage:` or both, and the store's `nodes:`.
#[must_use]
pub fn parse_target(text: &str) -> (Option<Target>, Vec<Diagnostic>) {
    let mut mistakes = Mistakes::default();
    let parts = yaml::parse_target(text, &mut mistakes);
    let target = parts.map(|(auth, storage, nodes)| Target { auth, storage, nodes });
    let target = target.filter(|_| !mistakes.any_error());
    (target, mistakes.finish())
}

/// Puts a target into every work. A target without an auth leaves each work its own, a storage likewise.
///
/// # Errors
/// When so many works cannot hold it; nothing is changed then.
pub fn apply_target(workload: &mut Workload, target: &Target) -> Result<(), Diagnostic> {
    let bytes = [&target.auth, &target.storage].into_iter().flatten().map(room::of_target).sum();
    room::has_room(workload, bytes, 0).map_err(|(message, hint)| {
        Diagnostic::error(Span::default(), format!("the target has {message}")).with_hint(hint)
    })?;
    if !target.nodes.is_empty() {
        workload.nodes.clone_from(&target.nodes);
    }
    for work in workload.stages.iter_mut().flat_map(|stage| &mut stage.works) {
        if let Some(auth) = &target.auth {
            work.auth.clone_from(auth);
        }
        if let Some(storage) = &target.storage {
            work.storage.clone_from(storage);
        }
    }
    Ok(())
}
