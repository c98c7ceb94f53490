//! The table of cases, `benches/verdict/cases.json`: what is run, what is planted, what may be said of it. The timed half
//! (`benches/verdict-bench`) reads the same table.

use std::path::PathBuf;

use cosmark_archive::Overall;
use cosmark_simstore::Behaviour;
use cosmark_workload::{Environment, Format, Workload, parse};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::machine::DriverPlant;

/// One case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    /// What it is, or what is planted, for the table.
    #[expect(dead_code, reason = "for who reads the table")]
    pub what: String,
    /// The overall words that are right.
    pub right: Vec<Overall>,
    /// Ids of checks, or words, by one of which the first reason has to name the cause; empty for a healthy case.
    #[serde(default)]
    pub first: Vec<String>,
    /// Fields of the workload beside `storage`; `stages` at least.
    pub workload: Value,
    /// Keys of the storage.
    #[serde(default)]
    pub storage: Value,
    /// A behaviour file of `cosmark-simstore`.
    #[serde(default)]
    pub store: Value,
    /// Objects of container 1 that an earlier run left in the store: how many, and of how many bytes.
    #[serde(default)]
    pub filled: Option<(u64, u64)>,
    /// What is planted on each driver; there are as many.
    #[serde(default = "one_healthy")]
    pub drivers: Vec<DriverPlant>,
    /// Another run loads the same drivers.
    #[serde(default)]
    pub beside: bool,
}

fn one_healthy() -> Vec<DriverPlant> {
    vec![DriverPlant::default()]
}

impl Case {
    pub fn is_healthy(&self) -> bool {
        self.first.is_empty()
    }

    pub fn workload(&self, seed: u64) -> Workload {
        let mut storage = json!({"type": "s3", "endpoint": "http://127.0.0.1:9", "accesskey": "a", "secretkey": "b",
            "path_style_access": true, "sut_background": "none", "sut_ram": "1MiB"});
        merge(&mut storage, &self.storage);
        let mut text = json!({"name": "bench", "seed": seed, "storage": storage});
        merge(&mut text, &self.workload);
        let (workload, mistakes) = parse(&text.to_string(), Format::Yaml, &Environment::default());
        workload.unwrap_or_else(|| panic!("{}: {mistakes:?}", self.name))
    }

    pub fn behaviour(&self) -> Behaviour {
        let mut behaviour =
            json!({"store": {"mode": "null", "null_bytes": 65_536}, "time_zero": "first_request"});
        merge(&mut behaviour, &self.store);
        Behaviour::from_yaml(&behaviour.to_string()).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

/// The fields of `more` instead of those of `base`; `null` takes one away.
fn merge(base: &mut Value, more: &Value) {
    let (Some(base), Some(more)) = (base.as_object_mut(), more.as_object()) else { return };
    for (key, value) in more {
        if value.is_null() {
            base.remove(key);
        } else {
            base.insert(key.clone(), value.clone());
        }
    }
}

/// All of them; of another file where COSMARK_VERDICT_CASES names one.
pub fn all() -> Vec<Case> {
    let ours = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../benches/verdict/cases.json");
    let path = std::env::var_os("COSMARK_VERDICT_CASES").map_or_else(ours, PathBuf::from);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
