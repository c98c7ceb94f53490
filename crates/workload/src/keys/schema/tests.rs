//! The shipped YAML files and the valid samples, checked against the schema by a validator of the words that the schema uses.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{TIME, json_schema};
use crate::diagnostics::Mistakes;
use crate::yaml::tree::{self, Node, NodeKind};

struct Validator {
    schema: Value,
}

impl Validator {
    /// The first contradiction, with the path of keys that leads there.
    fn check(&self, node: &Node, schema: &Value, path: &str) -> Result<(), String> {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.trim_start_matches("#/$defs/");
            return self.check(node, &self.schema["$defs"][name], path);
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            let errors: Vec<String> =
                choices.iter().filter_map(|c| self.check(node, c, path).err()).collect();
            return if errors.len() < choices.len() { Ok(()) } else { Err(errors.join("; or ")) };
        }
        match &node.kind {
            NodeKind::Null => Err(format!("{path} is empty")),
            NodeKind::Scalar(text) => Self::scalar(text, schema, path),
            NodeKind::Sequence(items) => {
                Self::type_is("array", schema, path)?;
                items.iter().try_for_each(|item| self.check(item, &schema["items"], path))
            }
            NodeKind::Mapping(pairs) => {
                Self::type_is("object", schema, path)?;
                for pair in pairs {
                    let inner = match (&schema["properties"][&pair.key], &schema["additionalProperties"]) {
                        (Value::Null, Value::Bool(false)) => {
                            return Err(format!("{path} has no `{}`", pair.key));
                        }
                        (Value::Null, additional) => additional,
                        (property, _) => property,
                    };
                    self.check(&pair.value, inner, &format!("{path}.{}", pair.key))?;
                }
                let required = schema["required"].as_array().cloned().unwrap_or_default();
                let missing = required
                    .iter()
                    .find(|name| pairs.iter().all(|pair| Some(pair.key.as_str()) != name.as_str()));
                missing.map_or(Ok(()), |name| Err(format!("{path} lacks {name}")))
            }
        }
    }

    fn type_is(wanted: &str, schema: &Value, path: &str) -> Result<(), String> {
        if schema["type"] == wanted { Ok(()) } else { Err(format!("{path} is no {wanted}")) }
    }

    fn scalar(text: &str, schema: &Value, path: &str) -> Result<(), String> {
        if let Some(words) = schema["enum"].as_array() {
            return if words.iter().any(|w| w == text) {
                Ok(())
            } else {
                Err(format!("{path}: {text} is no {words:?}"))
            };
        }
        if !schema["const"].is_null() {
            let is_it = text.parse::<f64>().ok() == schema["const"].as_f64();
            return if is_it { Ok(()) } else { Err(format!("{path}: {text} is not {}", schema["const"])) };
        }
        if let Some(pattern) = schema["pattern"].as_str() {
            // The two patterns that the schema uses.
            let has_unit = pattern == TIME && text.contains(|c: char| c.is_ascii_lowercase());
            if !has_unit && !text.contains("${{") {
                return Err(format!("{path}: {text} does not match {pattern}"));
            }
        }
        let types = match &schema["type"] {
            Value::Array(types) => types.clone(),
            one => vec![one.clone()],
        };
        let number = text.parse::<f64>().ok();
        let fits = types.iter().any(|t| match t.as_str() {
            Some("string") => number.is_none() || types.len() == 1,
            Some("number") => number.is_some(),
            Some("integer") => text.parse::<u64>().is_ok(),
            Some("boolean") => matches!(text, "true" | "false"),
            _ => false,
        });
        let above = |limit: &Value| limit.as_f64().is_none_or(|limit| number.is_none_or(|n| n >= limit));
        let below = |limit: &Value| limit.as_f64().is_none_or(|limit| number.is_none_or(|n| n <= limit));
        if fits && above(&schema["minimum"]) && below(&schema["maximum"]) {
            return Ok(());
        }
        Err(format!("{path}: `{text}` is not {types:?}"))
    }
}

fn validate(text: &str) -> Result<(), String> {
    let schema = json_schema();
    let node = tree::read(text, &mut Mistakes::default()).ok_or("no YAML")?;
    let validator = Validator { schema };
    validator.check(&node, &validator.schema, "")
}

#[test]
fn the_shipped_files_and_the_valid_samples_fit_the_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for directory in ["../../workloads", "tests/data"] {
        for entry in fs::read_dir(root.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "yaml") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let (workload, _) = crate::parse(&text, crate::Format::Yaml, &crate::Environment::default());
            if let Some(workload) = workload {
                seen += 1;
                validate(&text).unwrap_or_else(|e| panic!("{path:?}: {e}"));
                let canonical = crate::to_yaml(&workload);
                validate(&canonical).unwrap_or_else(|e| panic!("{path:?}, written back: {e}\n{canonical}"));
            }
        }
    }
    assert!(seen > 12, "{seen}");
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    for (text, part) in [
        ("name: x\nstages: [{name: a, works: [{type: init, workers: 1, colour: red}]}]\n", "has no `colour`"),
        ("name: x\nstages: [{name: a, works: [{type: innit, workers: 1}]}]\n", "innit is no"),
        ("name: x\nstages: [{name: a, works: [{type: init, workers: 0}]}]\n", "`0` is not"),
        ("name: x\nstages: [{name: a, works: [{type: init}]}]\n", "lacks \"workers\""),
        ("name: x\nstages: {name: a}\n", "is no object"),
        ("name: x\n", "lacks \"stages\""),
        ("name: x\nlost_after: 30\nstages: [{name: a, delay: 1s}]\n", "30 does not match"),
        (
            "name: x\nstages: [{name: a, closure_delay: 5, works: [{type: init, workers: 1}]}]\n",
            "5 does not match",
        ),
    ] {
        let error = validate(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn every_reference_has_its_definition() {
    let schema = json_schema();
    let text = schema.to_string();
    let names: Vec<_> = text.split("\"#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 10);
    for name in names {
        assert!(schema["$defs"].get(name).is_some(), "{name}");
    }
}
