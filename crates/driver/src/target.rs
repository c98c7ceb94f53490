//! From a work's `auth` and `storage` to something that can be spoken to.

use std::sync::Arc;

use cosmark_adaptor_api::{Adaptor, Alias, Auth, Key, KeyProblem, Settings};
use cosmark_workload::model::{ConfigValue, TargetSpec};

use crate::catalog::Catalog;

/// A system under test.
pub struct Opened {
    /// Where sessions come from.
    pub auth: Arc<dyn Auth>,
    /// How it is spoken to.
    pub adaptor: Arc<dyn Adaptor>,
}

/// Opens both; sends nothing.
///
/// # Errors
/// One sentence: an unknown type, a bad or missing key.
pub fn open_target(catalog: &Catalog, auth: &TargetSpec, storage: &TargetSpec) -> Result<Opened, String> {
    let found = catalog.auth(&auth.kind)?;
    let settings = settings("auth", auth, found.def.keys, found.alias)?;
    let opened_auth = (found.def.open)(&settings).map_err(|error| format!("auth {}: {error}", auth.kind))?;
    let found = catalog
        .storage(&storage.kind, crate::load::texts(storage))
        .map_err(|text| format!("storage {}: {text}", storage.kind))?;
    let settings = self::settings("storage", storage, found.def.keys, found.alias)?;
    let adaptor =
        (found.def.open)(&settings).map_err(|error| format!("storage {}: {error}", storage.kind))?;
    Ok(Opened { auth: opened_auth, adaptor })
}

fn settings(
    what: &str,
    spec: &TargetSpec,
    keys: &'static [Key],
    alias: Option<&'static Alias>,
) -> Result<Settings, String> {
    let implied = alias.map_or(&[][..], |alias| alias.implied);
    let mut entries: Vec<(&str, &str)> = implied.to_vec();
    for entry in &spec.config.entries {
        match &entry.value {
            ConfigValue::Text(text) => entries.push((&entry.key, text)),
            ConfigValue::Env(_) | ConfigValue::File(_) | ConfigValue::Secret(_) => {
                return Err(format!("{what} {}: the secret `{}` was not resolved", spec.kind, entry.key));
            }
        }
    }
    let (settings, problems) = Settings::parse(keys, entries);
    match problems.into_iter().find(|problem| problem.fatal) {
        None => Ok(settings),
        Some(KeyProblem { message, hint, .. }) => {
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            Err(format!("{what} {}: {message}{hint}", spec.kind))
        }
    }
}
