//! The JSON Schema of native YAML, for editors: made from the same tables as the reader. Draft 2020-12.

mod targets;
mod values;

use serde_json::{Map, Value, json};

pub use targets::{Role, TargetKey, TargetType, TargetValue};

use crate::keys::attributes::{self, AttributeRow};
use crate::keys::{KEYS, ValueKind};
use values::{either, fragment, in_any_case, reference};

/// The schema of a workload file whose storages, auths and nodes are of these types.
#[must_use]
pub fn json_schema(types: &[TargetType]) -> Value {
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
                ("count", fragment(ValueKind::Count)),
                ("labels", json!({"type": "string", "examples": ["zone=a", "zone=a,zone=b", "d1,d2"]})),
                ("wait", fragment(ValueKind::Duration)),
            ])),
        ]},
        "nodes": {"type": "array", "items": reference("node")},
        "matrix": matrix(),
        "thresholds": either(reference("threshold"), json!({"type": "array", "items": reference("threshold")})),
        "search": object("Trials of several loads", attributes::SEARCH, false, &["over"]),
        "faults": {"type": "array", "items": object("Something that is made to fail", attributes::FAULT, false, &["name", "type", "slot"])},
        "fill": object("A data set that is written", attributes::FILL, false, &["dataset", "sizes"]),
        "consistency": {"anyOf": [
            {"type": ["boolean", "string"]},
            object("A prober beside the load", attributes::CONSISTENCY, false, &[]),
        ]},
        "rate": either(reference("arrivals"), object("Arrivals by the clock", attributes::RATE, false, &[])),
        "pace": object("Closed loop with a pause or a rate per worker", attributes::PACE, false, &[]),
        "steps": {"type": "array", "minItems": 1, "items": closed("A rate that holds for a time", map([
            ("rate", fragment(ValueKind::Rate)),
            ("for", fragment(ValueKind::Duration)),
        ]))},
        "loads": {"type": "array", "minItems": 1, "items": fragment(ValueKind::Load)},
    });
    if let Some(definitions) = schema["$defs"].as_object_mut() {
        let of_values = values::definitions().into_iter().chain(targets::any_value());
        definitions.extend(of_values.map(|(name, value)| (name.to_owned(), value)));
        definitions.extend(targets::definitions(types));
    }
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

fn closed(description: &str, properties: Map<String, Value>) -> Value {
    json!({"type": "object", "description": description, "properties": properties, "additionalProperties": false})
}

/// The same, whose names may be written in any case.
fn closed_in_any_case(description: &str, properties: Map<String, Value>) -> Value {
    let names = format!(r"^\s*(?:{})\s*$", in_any_case(properties.keys().map(String::as_str)));
    let mut object = closed(description, properties);
    object["patternProperties"] = json!({names: true});
    object
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
    let stop = if default.is_empty() || help.ends_with(['.', ':', '?']) { "" } else { "." };
    value["description"] = json!(format!("{help}{stop}{default}"));
}

#[cfg(test)]
mod tests;
