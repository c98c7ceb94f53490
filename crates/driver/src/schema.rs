//! The schema of a workload for editors, with the types and keys of the tables: an editor refuses a key that the reader
//! refuses.

use cosmark_adaptor_api::{Key, KeyKind, STORE_FACTS};
use cosmark_workload::json_schema;
use cosmark_workload::schema::{Role, TargetKey, TargetType, TargetValue};
use serde_json::Value;

use crate::catalog::Catalog;

/// The type of a node, one sentence on it, and its keys.
pub type NodeRow = (&'static str, &'static str, &'static [Key]);

/// The JSON Schema of workloads for a build that speaks what `catalog` has and knows nodes of these types.
#[must_use]
pub fn workload_schema(catalog: &Catalog, nodes: impl IntoIterator<Item = NodeRow>) -> Value {
    let storages = catalog.adaptors.iter().map(|row| TargetType {
        role: Role::Storage,
        names: [row.name].into_iter().chain(row.aliases.iter().map(|alias| alias.name)).collect(),
        help: row.summary,
        keys: keys(row.keys),
        has_unknown_keys: row.name == catalog.plugin.name,
    });
    let auths = catalog.auths.iter().map(|row| TargetType {
        role: Role::Auth,
        names: [row.name].into_iter().chain(row.aliases.iter().map(|alias| alias.name)).collect(),
        help: row.summary,
        keys: keys(row.keys),
        has_unknown_keys: false,
    });
    let nodes = nodes.into_iter().map(|(name, help, rows)| TargetType {
        role: Role::Node,
        names: vec![name],
        help,
        keys: keys(rows),
        has_unknown_keys: false,
    });
    let types: Vec<TargetType> = storages.chain(auths).chain(nodes).collect();
    json_schema(&types)
}

/// Those of a table, and those that say something of the store and may stand with any.
fn keys(rows: &'static [Key]) -> Vec<TargetKey> {
    let facts = STORE_FACTS.iter().filter(|fact| !rows.iter().any(|row| row.answers_to(fact.name)));
    let key = |row: &'static Key| TargetKey {
        names: [row.name].into_iter().chain(row.aliases.iter().copied()).collect(),
        help: row.help,
        default: row.default.filter(|_| !row.secret),
        value: value(row.kind),
    };
    rows.iter().chain(facts).map(key).collect()
}

fn value(kind: KeyKind) -> TargetValue {
    match kind {
        KeyKind::Text
        | KeyKind::Host
        | KeyKind::List
        | KeyKind::File
        | KeyKind::Directory
        | KeyKind::Library
        | KeyKind::OwnAddress => TargetValue::Text,
        KeyKind::Url => TargetValue::Url,
        KeyKind::Bool => TargetValue::Switch,
        KeyKind::Int(low, high) => TargetValue::Whole(low, high),
        KeyKind::Float(low, high) => TargetValue::Number(low, high),
        KeyKind::Duration => TargetValue::Time,
        KeyKind::Size => TargetValue::Size,
        KeyKind::Choice(words) => TargetValue::Words(words),
    }
}
