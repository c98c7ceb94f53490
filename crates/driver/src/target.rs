//! From a work's `auth` and `storage` to something that can be spoken to. What their keys reach on this machine goes through
//! the permit before anything is opened.

use std::sync::Arc;

use cosmark_adaptor_api::{Adaptor, Alias, Auth, Key, KeyKind, KeyProblem, Settings};
use cosmark_workload::Workload;
use cosmark_workload::model::{ConfigValue, TargetSpec, Work};
use cosmark_workload::places;

use crate::catalog::Catalog;
use crate::permit::{Origin, Permit};

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
/// One sentence: an unknown type, a bad or missing key, what the permit refuses.
pub fn open_target(
    catalog: &Catalog,
    permit: &Permit,
    auth: &TargetSpec,
    storage: &TargetSpec,
) -> Result<Opened, String> {
    let found = catalog.auth(&auth.kind)?;
    let auth_settings = settings(permit, "auth", auth, found.def.keys, found.alias)?;
    let base = catalog.adaptor(&storage.kind)?;
    let storage_failed = |text: String| format!("storage {}: {text}", storage.kind);
    let (def, storage_settings) = if base.def.name == catalog.plugin.name {
        let base = library_settings(permit, storage, base.def.keys)?;
        let library = base.get(catalog.plugin.key).unwrap_or_default().to_owned();
        let def = (catalog.plugin.row_of)(&library).map_err(|error| storage_failed(error.to_string()))?;
        // The library is the one that was decided about.
        let keep = (catalog.plugin.key, library.as_str());
        (def, settings_with(permit, "storage", storage, def.keys, None, Some(keep))?)
    } else {
        (base.def, settings(permit, "storage", storage, base.def.keys, base.alias)?)
    };
    // Both are decided about before the first is opened.
    let auth = (found.def.open)(&auth_settings).map_err(|error| format!("auth {}: {error}", auth.kind))?;
    let adaptor = (def.open)(&storage_settings).map_err(|error| storage_failed(error.to_string()))?;
    Ok(Opened { auth, adaptor })
}

/// Whether both may be opened here, as far as that can be said without loading anybody's code.
///
/// # Errors
/// As [`open_target`].
pub(crate) fn check(
    catalog: &Catalog,
    permit: &Permit,
    auth: &TargetSpec,
    storage: &TargetSpec,
) -> Result<(), String> {
    let found = catalog.auth(&auth.kind)?;
    settings(permit, "auth", auth, found.def.keys, found.alias)?;
    let found = catalog.adaptor(&storage.kind)?;
    if found.def.name == catalog.plugin.name {
        return library_settings(permit, storage, found.def.keys).map(drop);
    }
    settings(permit, "storage", storage, found.def.keys, found.alias).map(drop)
}

fn settings(
    permit: &Permit,
    what: &str,
    spec: &TargetSpec,
    keys: &'static [Key],
    alias: Option<&'static Alias>,
) -> Result<Settings, String> {
    settings_with(permit, what, spec, keys, alias, None)
}

/// The keys that every plugin has; those of its own are not known before its code is loaded.
fn library_settings(permit: &Permit, spec: &TargetSpec, keys: &'static [Key]) -> Result<Settings, String> {
    let entries = texts("storage", spec)?;
    let known = entries.into_iter().filter(|(name, _)| keys.iter().any(|key| key.answers_to(name.trim())));
    admitted(permit, "storage", spec, keys, known.collect())
}

/// `keep` is a key whose value was decided about already.
fn settings_with(
    permit: &Permit,
    what: &str,
    spec: &TargetSpec,
    keys: &'static [Key],
    alias: Option<&'static Alias>,
    keep: Option<(&str, &str)>,
) -> Result<Settings, String> {
    let mut entries: Vec<(&str, &str)> = alias.map_or(&[][..], |alias| alias.implied).to_vec();
    entries.extend(texts(what, spec)?);
    entries.extend(keep);
    let own = permit.source_address.map(|address| address.to_string());
    if let Some(own) = &own {
        let source = keys.iter().filter(|key| key.kind == KeyKind::OwnAddress);
        let given = |key: &Key| entries.iter().any(|(name, _)| key.answers_to(name.trim()));
        let missing: Vec<_> = source.filter(|key| !given(key)).map(|key| (key.name, own.as_str())).collect();
        entries.extend(missing);
    }
    admitted(permit, what, spec, keys, entries)
}

fn texts<'a>(what: &str, spec: &'a TargetSpec) -> Result<Vec<(&'a str, &'a str)>, String> {
    let text = |entry: &'a cosmark_workload::model::ConfigEntry| match &entry.value {
        ConfigValue::Text(text) => Ok((entry.key.as_str(), text.as_str())),
        ConfigValue::Env(_) | ConfigValue::File(_) | ConfigValue::Secret(_) => {
            Err(format!("{what} {}: the secret `{}` was not resolved", spec.kind, entry.key))
        }
    };
    spec.config.entries.iter().map(text).collect()
}

fn admitted(
    permit: &Permit,
    what: &str,
    spec: &TargetSpec,
    keys: &'static [Key],
    entries: Vec<(&str, &str)>,
) -> Result<Settings, String> {
    let shown = format!("{what} {}", spec.kind);
    let (settings, problems) = Settings::parse(keys, entries);
    match problems.into_iter().find(|problem| problem.fatal) {
        None => settings
            .admitted(permit.origin == Origin::Outside, |key, value| permit.admit_key(&shown, key, value)),
        Some(KeyProblem { message, hint, .. }) => {
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            Err(format!("{shown}: {message}{hint}"))
        }
    }
}

impl Permit {
    /// Whether all of a work may be done here. Opens nothing.
    ///
    /// # Errors
    /// One sentence.
    pub(crate) fn check_work(&self, catalog: &Catalog, work: &Work) -> Result<(), String> {
        if self.origin == Origin::Here {
            return Ok(());
        }
        self.admit_work(work)?;
        check(catalog, self, &work.auth, &work.storage)
    }

    /// Whether all of a workload may be done here, before any of it is. Opens nothing.
    ///
    /// # Errors
    /// One sentence.
    pub fn check(&self, catalog: &Catalog, workload: &Workload) -> Result<(), String> {
        if self.origin == Origin::Here {
            return Ok(());
        }
        let mut copy = workload.clone();
        places::of_workload(&mut copy).try_for_each(|named| self.admit_named(named))?;
        let works = workload.stages.iter().flat_map(|stage| &stage.works);
        let mut seen: Vec<(&TargetSpec, &TargetSpec)> = Vec::new();
        for pair in works.map(|work| (&work.auth, &work.storage)) {
            if !seen.contains(&pair) {
                check(catalog, self, pair.0, pair.1)?;
                seen.push(pair);
            }
        }
        Ok(())
    }
}
