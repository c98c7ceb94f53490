//! Which store a run spoke to, from the workload that lies beside its record: in a word or two, as lists show it.

use std::path::Path;

use cosmark_workload::model::{Config, ConfigEntry, ConfigValue};
use cosmark_workload::{Environment, Format, read_unchecked};

use crate::directory::files::read_bounded;
use crate::directory::reader::{MOST_WORKLOAD_BYTES, WORKLOAD};

/// Where the first storage of the archived workload is: its type and the host of the first key that names one.
pub fn target_of(path: &Path) -> Option<String> {
    let text = read_bounded(&path.join(WORKLOAD), MOST_WORKLOAD_BYTES).ok()?;
    let workload = read_unchecked(&text, Format::Yaml, &Environment::default())?;
    let work = workload.stages.iter().flat_map(|stage| &stage.works).next()?;
    let value = |config: &Config, keys: &[&str]| {
        let is_wanted = |entry: &&ConfigEntry| keys.iter().any(|key| entry.key.eq_ignore_ascii_case(key));
        let found = config.entries.iter().find(is_wanted)?;
        let text = match &found.value {
            ConfigValue::Text(text) => text,
            _ => return None,
        };
        Some(host_of(text.split([',', ' ']).find(|part| !part.is_empty())?))
    };
    let storage = &work.storage;
    let address =
        value(&storage.config, &ADDRESSES).or_else(|| value(&work.auth.config, &["auth_url", "url"]));
    Some(match address {
        Some(address) => format!("{} {address}", storage.kind),
        None => storage.kind.clone(),
    })
}

/// Keys of storages that say where they are, the most telling first.
const ADDRESSES: [&str; 12] = [
    "endpoint",
    "endpoints",
    "storage_url",
    "url",
    "host",
    "hosts",
    "monitor",
    "monitors",
    "mon_host",
    "ring",
    "directory",
    "pool",
];

/// `host:port` of a URL; anything else as it stands. A login inside it was refused before the run.
fn host_of(text: &str) -> String {
    let Some((_, rest)) = text.split_once("://") else { return text.to_owned() };
    rest.split(['/', '?']).next().unwrap_or(rest).to_owned()
}
