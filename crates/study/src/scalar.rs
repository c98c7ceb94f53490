//! Values that YAML writes with or without quotes: `5`, `128KB`, `true` are all text here.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

/// A single value as text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Text(pub String);

/// A value, or several.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OneOrMore(pub Vec<String>);

/// Values of variables by name.
pub type Values = BTreeMap<String, Text>;

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Any {
    Text(String),
    Number(serde_json::Number),
    Switch(bool),
    Several(Vec<Any>),
}

fn single(any: Any) -> Option<String> {
    match any {
        Any::Text(text) => Some(text),
        Any::Number(number) => Some(number.to_string()),
        Any::Switch(switch) => Some(switch.to_string()),
        Any::Several(_) => None,
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let wrong = || serde::de::Error::custom("a single value is needed here, not a list");
        let any =
            Any::deserialize(from).map_err(|_| serde::de::Error::custom("a single value is needed here"))?;
        single(any).map(Self).ok_or_else(wrong)
    }
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let wrong = || serde::de::Error::custom("a value or a list of values is needed here");
        let all = match Any::deserialize(from).map_err(|_| wrong())? {
            Any::Several(all) => all.into_iter().map(single).collect::<Option<Vec<String>>>(),
            one => single(one).map(|one| vec![one]),
        };
        all.filter(|all| !all.is_empty()).map(Self).ok_or_else(wrong)
    }
}

impl JsonSchema for Text {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "number", "boolean"]})
    }
}

impl JsonSchema for OneOrMore {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OneOrMore".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = json_schema!({"type": ["string", "number", "boolean"]});
        json_schema!({"anyOf": [one.clone(), {"type": "array", "items": one, "minItems": 1}]})
    }
}
