//! The JSON Schema of native YAML, for editors: made from the same tables as the reader. Draft 2020-12.

use serde_json::{Map, Value, json};

use crate::keys::attributes::{self, AttributeRow};
use crate::keys::{KEYS, ValueKind};

/// The schema of a workload file.
#[must_use]
pub fn json_schema() -> Value {
    let mut schema = object("A Cosmark workload", attributes::WORKLOAD, false, &["name", "stages"]);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Cosmark workload");
    let mut work = object("A group of workers that do the same", attributes::WORK, true, &["workers"]);
    work["properties"]["name"] = json!({"type": ["string", "number"], "description": "Name of the work"});
    let mut operation = object("One line of the mix", attributes::OPERATION, true, &["type"]);
    operation["properties"]["name"] =
        json!({"type": ["string", "number"], "description": "Name in the results"});
    schema["$defs"] = json!({
        "keys": closed("Operation keys that hold for everything inside", keys()),
        "stages": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/stage"}},
        "stage": object("A step of the workload", attributes::STAGE, false, &["name"]),
        "works": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/work"}},
        "work": work,
        "operations": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/operation"}},
        "operation": operation,
        "target": {
            "type": "object",
            "description": "An auth or a storage: its type and its keys (cosmark adaptors NAME lists them)",
            "properties": {"type": {"type": "string"}, "config": {"$ref": "#/$defs/config"}},
            "required": ["type"],
            "additionalProperties": {"$ref": "#/$defs/configValue"},
        },
        "config": {"type": "object", "additionalProperties": {"$ref": "#/$defs/configValue"}},
        "configValue": {"anyOf": [
            {"type": ["string", "number", "boolean"]},
            closed("A value kept elsewhere", one(&[("env", "Name of an environment variable")])),
            closed("A value kept elsewhere", one(&[("file", "Path of a file whose content is the value")])),
            closed("A value kept elsewhere", one(&[("secret", "Name of a secret that the controller keeps")])),
        ]},
        "trigger": {"anyOf": [
            {"type": "string", "description": "script.sh(arg1,arg2)"},
            closed("A script and its arguments", map([
                ("script", json!({"type": "string", "description": "File name of the script"})),
                ("args", json!({"type": "array", "items": {"type": ["string", "number", "boolean"]}})),
            ])),
        ]},
        "drivers": {"anyOf": [
            {"type": ["integer", "string"], "minimum": 1, "examples": [3, "zone=a", "3,zone=a"]},
            closed("How many drivers, which, and how long they are waited for", map([
                ("count", json!({"type": "integer", "minimum": 1})),
                ("labels", json!({"type": "string", "examples": ["zone=a", "zone=a,zone=b", "d1,d2"]})),
                ("wait", fragment(ValueKind::Duration)),
            ])),
        ]},
        "nodes": {"type": "array", "items": {
            "type": "object",
            "description": "A machine of the store, and how its figures are had",
            "properties": {
                "name": {"type": ["string", "number"], "description": "Its name in the results"},
                "role": {"type": "string", "description": "What it does: proxy, storage, gateway"},
                "type": {"type": "string", "description": "Who gives its figures: local, ssh, prometheus"},
                "links": {
                    "type": "object",
                    "description": "Speeds of interfaces in each direction, where the machine tells none or a limit is laid on them",
                    "additionalProperties": {"type": "string", "examples": ["40Mbit/s", "1 Gbit/s", "5 MB/s"]},
                },
            },
            "required": ["name", "type"],
            "additionalProperties": {"$ref": "#/$defs/configValue"},
        }},
        "matrix": matrix(),
        "thresholds": {"anyOf": [
            {"type": "string", "examples": ["read.p95 <= 20 ms"]},
            {"type": "array", "items": {"type": "string", "examples": [
                "read.p95 <= 20 ms", "error_rate <= 0.1 %", "throughput >= 1000/s", "p95 <= 200 ms + size / 1 MB/s"
            ]}},
        ]},
        "search": object("Trials of several loads", attributes::SEARCH, false, &["over"]),
        "faults": {"type": "array", "items": object("Something that is made to fail", attributes::FAULT, false, &["name", "type", "slot"])},
        "fill": object("A data set that is written", attributes::FILL, false, &["dataset", "sizes"]),
        "consistency": {"anyOf": [
            {"type": ["boolean", "string"]},
            object("A prober beside the load", attributes::CONSISTENCY, false, &[]),
        ]},
        "rate": {"anyOf": [
            fragment(ValueKind::Rate),
            object("Arrivals by the clock", attributes::RATE, false, &[]),
        ]},
        "pace": object("Closed loop with a pause or a rate per worker", attributes::PACE, false, &[]),
        "steps": {"type": "array", "minItems": 1, "items": closed("A rate that holds for a time", map([
            ("rate", fragment(ValueKind::Rate)),
            ("for", fragment(ValueKind::Duration)),
        ]))},
        "loads": {"type": "array", "minItems": 1, "items": fragment(ValueKind::Load)},
    });
    schema
}

fn matrix() -> Value {
    let single = json!({"type": ["string", "number", "boolean"]});
    let rules = json!({"type": "array", "items": {"type": "object", "additionalProperties": single}});
    json!({
        "type": "object",
        "description": "Axes and their values; the stage is repeated for every combination",
        "properties": {"include": rules, "exclude": rules},
        "additionalProperties": {"anyOf": [single, {"type": "array", "minItems": 1, "items": single}]},
    })
}

fn map<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn one(fields: &[(&str, &str)]) -> Map<String, Value> {
    fields
        .iter()
        .map(|(key, help)| ((*key).to_owned(), json!({"type": "string", "description": help})))
        .collect()
}

fn closed(description: &str, properties: Map<String, Value>) -> Value {
    json!({"type": "object", "description": description, "properties": properties, "additionalProperties": false})
}

fn object(description: &str, rows: &[AttributeRow], with_keys: bool, required: &[&str]) -> Value {
    let mut properties = if with_keys { keys() } else { Map::new() };
    for row in rows.iter().filter(|row| !row.yaml.is_empty()) {
        let mut value = fragment(row.value);
        describe(&mut value, row.help, row.default);
        properties.insert(row.yaml.to_owned(), value);
    }
    let mut object = closed(description, properties);
    object["required"] = json!(required);
    object
}

fn keys() -> Map<String, Value> {
    let rows = KEYS.iter().filter(|key| key.is_for_operations());
    rows.map(|key| {
        let mut value = fragment(key.value);
        describe(&mut value, key.help, key.default);
        (key.yaml.to_owned(), value)
    })
    .collect()
}

fn describe(value: &mut Value, help: &str, default: &str) {
    let default = if default.is_empty() { String::new() } else { format!(" Default: {default}.") };
    value["description"] = json!(format!("{help}{default}"));
}

/// A time says its unit, or stands for `${{ matrix.x }}`.
const TIME: &str = "[a-z]|\\$\\{\\{";

/// What a value may look like; texts are allowed wherever `${{ matrix.x }}` may stand.
fn fragment(kind: ValueKind) -> Value {
    match kind {
        ValueKind::Text => json!({"type": ["string", "number", "boolean"]}),
        ValueKind::Directory => json!({"type": "string"}),
        ValueKind::Numbers => {
            json!({"type": "string", "examples": ["r(1,100)", "u(1,100)", "c(1)", "z(1,100,0.99)"]})
        }
        ValueKind::Sizes => json!({"type": "string", "examples": ["c(64)KiB", "u(1,10)MB", "64KiB"]}),
        ValueKind::Bool => json!({"type": ["boolean", "string"]}),
        ValueKind::Count => json!({"type": ["integer", "string"], "minimum": 1}),
        ValueKind::Integer => json!({"type": ["integer", "string"], "minimum": 0}),
        ValueKind::Bytes => json!({"type": ["integer", "string"], "minimum": 0, "examples": ["5MiB"]}),
        ValueKind::Duration => json!({
            "anyOf": [{"const": 0}, {"type": "string", "pattern": TIME}],
            "examples": ["30s", "500ms"],
        }),
        ValueKind::Percent => json!({"type": ["number", "string"], "examples": ["5 %"]}),
        ValueKind::Load => fragment(ValueKind::Rate),
        ValueKind::Number => json!({"type": ["number", "string"], "minimum": 0}),
        ValueKind::Share => json!({"type": ["number", "string"], "minimum": 0, "maximum": 1}),
        ValueKind::Rate => json!({"type": ["number", "string"], "examples": ["5000/s"]}),
        ValueKind::Words(words) => {
            json!({"anyOf": [{"enum": words}, {"type": "string", "pattern": "\\$\\{\\{"}]})
        }
        ValueKind::Nested(name) => json!({"$ref": format!("#/$defs/{name}")}),
    }
}

#[cfg(test)]
mod tests;
