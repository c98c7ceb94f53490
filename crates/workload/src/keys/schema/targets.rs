//! The types of storages, auths and nodes and the keys of each, as JSON Schema. Who knows them hands them over: this crate
//! knows none.

use serde_json::{Map, Value, json};

use super::values::{self, REFERENCE, either, in_any_case, reference, text};
use super::{closed, closed_in_any_case};

/// Of what something is a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `storage:`
    Storage,
    /// `auth:`
    Auth,
    /// An entry of `nodes:`
    Node,
}

impl Role {
    const ALL: [Self; 3] = [Self::Storage, Self::Auth, Self::Node];

    /// Name of its definition.
    const fn word(self) -> &'static str {
        match self {
            Self::Storage => "storage",
            Self::Auth => "auth",
            Self::Node => "node",
        }
    }

    const fn help(self) -> &'static str {
        match self {
            Self::Storage => "What is measured: its type and its keys (cosmark adaptors NAME lists them)",
            Self::Auth => "Who logs in: its type and its keys (cosmark adaptors NAME lists them)",
            Self::Node => "A machine of the store, and how its figures are had",
        }
    }
}

/// A type, and the keys that may stand beside it.
#[derive(Debug, Clone)]
pub struct TargetType {
    /// Of what.
    pub role: Role,
    /// Its name and its other spellings; their case does not matter.
    pub names: Vec<&'static str>,
    /// One sentence.
    pub help: &'static str,
    /// Its keys.
    pub keys: Vec<TargetKey>,
    /// It has keys that are not known before code is loaded.
    pub has_unknown_keys: bool,
}

/// A key of a type.
#[derive(Debug, Clone)]
pub struct TargetKey {
    /// Its name and its other spellings; their case does not matter.
    pub names: Vec<&'static str>,
    /// One sentence.
    pub help: &'static str,
    /// What it is where it is not given, where that may be shown.
    pub default: Option<&'static str>,
    /// What a value looks like.
    pub value: TargetValue,
}

/// What the value of a key looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TargetValue {
    /// Any text.
    Text,
    /// `http://` or `https://` and a host.
    Url,
    /// true/yes/on, false/no/off.
    Switch,
    /// A whole number between the two, inclusive.
    Whole(i64, i64),
    /// A number between the two, inclusive.
    Number(f64, f64),
    /// A time with its unit.
    Time,
    /// A number of bytes, or one with its unit.
    Size,
    /// One of these words, in any case.
    Words(&'static [&'static str]),
}

/// The definitions of `storage`, `auth` and `node`, and of each of their types.
pub(super) fn definitions(types: &[TargetType]) -> Map<String, Value> {
    let mut found = Map::new();
    for role in Role::ALL {
        let rows = || types.iter().filter(|row| row.role == role);
        for row in rows() {
            let (keys, whole) = (keys_of(row), with_its_keys(row));
            found.insert(format!("{}-keys", name_of(row)), keys);
            found.insert(name_of(row), whole);
        }
        let names: Vec<&str> = rows().flat_map(|row| row.names.iter().copied()).collect();
        let when = rows().map(|row| {
            let is_it = json!({"type": "string", "pattern": format!(r"^\s*(?:{})\s*$", in_any_case(row.names.iter().copied()))});
            json!({"if": {"required": ["type"], "properties": {"type": is_it}}, "then": reference(&name_of(row))})
        });
        let when: Vec<Value> = when.collect();
        let mut kind = either(json!({"enum": names}), text(&in_any_case(names.iter().copied())));
        kind["description"] = json!("What it is, which decides what its keys are");
        let mut properties = if role == Role::Node { of_nodes() } else { Map::new() };
        properties.insert("type".to_owned(), kind);
        let config = "Its keys that cannot stand beside `type`, such as one that is called `type` itself";
        properties.insert("config".to_owned(), json!({"type": "object", "description": config}));
        let one = json!({
            "type": "object",
            "description": role.help(),
            "properties": properties,
            "required": if role == Role::Node { json!(["name", "type"]) } else { json!(["type"]) },
            "allOf": when,
        });
        found.insert(role.word().to_owned(), one);
    }
    found
}

/// What every node has beside its type and the keys of that.
fn of_nodes() -> Map<String, Value> {
    let links = json!({
        "type": "object",
        "description": "Speeds of interfaces in each direction, where the machine tells none or a limit is laid on them",
        "additionalProperties": reference("speed"),
    });
    [
        ("name", json!({"type": ["string", "number"], "description": "Its name in the results"})),
        (
            "role",
            json!({"type": ["string", "number"], "description": "What it does: proxy, storage, gateway"}),
        ),
        ("links", links),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn name_of(row: &TargetType) -> String {
    format!("{}-{}", row.role.word(), row.names.first().copied().unwrap_or_default())
}

/// The keys alone, as they stand in `config:`.
fn keys_of(row: &TargetType) -> Value {
    let mut properties = Map::new();
    for key in &row.keys {
        let Some((first, others)) = key.names.split_first() else { continue };
        properties.insert((*first).to_owned(), value_of(key));
        for name in others {
            let same = format!("{}-keys/properties/{first}", name_of(row));
            properties.insert((*name).to_owned(), reference(&same));
        }
    }
    let mut keys = closed_in_any_case(row.help, properties);
    if row.has_unknown_keys {
        keys["additionalProperties"] = reference("configValue");
    }
    keys
}

/// The keys beside the type, and what else stands there.
fn with_its_keys(row: &TargetType) -> Value {
    let keys = format!("{}-keys", name_of(row));
    let mut properties = Map::new();
    for name in row.keys.iter().flat_map(|key| &key.names) {
        properties.insert((*name).to_owned(), reference(&format!("{keys}/properties/{name}")));
    }
    let mut whole = closed_in_any_case(row.help, properties);
    // A key that is called as one of these stands in `config`.
    whole["properties"]["type"] = json!(true);
    whole["properties"]["config"] = reference(&keys);
    if row.role == Role::Node {
        for (name, value) in of_nodes() {
            whole["properties"][name] = value;
        }
    }
    if row.has_unknown_keys {
        whole["additionalProperties"] = reference("configValue");
    }
    whole
}

fn value_of(key: &TargetKey) -> Value {
    let mut value = match key.value {
        TargetValue::Text => reference("configValue"),
        other => {
            json!({"anyOf": [look_of(other), {"type": "string", "pattern": r"^\s*$"}, reference("elsewhere")]})
        }
    };
    super::describe(&mut value, key.help, key.default.unwrap_or_default());
    value
}

fn look_of(value: TargetValue) -> Value {
    match value {
        TargetValue::Text => reference("configValue"),
        TargetValue::Url => text(r"https?:\/\/[^\/].*"),
        TargetValue::Switch => reference("switch"),
        TargetValue::Whole(low, high) => {
            let number = json!({"type": "integer", "minimum": low, "maximum": high});
            either(number, text(&values::signed_whole()))
        }
        TargetValue::Number(low, high) => {
            let number = json!({"type": "number", "minimum": low, "maximum": high});
            either(number, text(&values::signed_number()))
        }
        TargetValue::Time => reference("time"),
        TargetValue::Size => reference("bytes"),
        TargetValue::Words(words) => {
            // What YAML takes for a number or a switch is one there.
            let as_yaml =
                |word: &&str| serde_json::from_str::<Value>(word).ok().filter(|value| !value.is_object());
            let others: Vec<Value> = words.iter().filter_map(as_yaml).collect();
            let known: Vec<Value> = words.iter().map(|word| json!(word)).chain(others).collect();
            either(json!({"enum": known}), text(&in_any_case(words.iter().copied())))
        }
    }
}

/// The values of keys of which nothing is known, and values that stand elsewhere.
pub(super) fn any_value() -> [(&'static str, Value); 2] {
    let one = |name: &str, help: &str| {
        let place = json!({"type": "string", "description": help, "pattern": format!(r"\S|{REFERENCE}")});
        let mut one =
            closed("A value that stands elsewhere", [(name.to_owned(), place)].into_iter().collect());
        one["required"] = json!([name]);
        one
    };
    let elsewhere = json!({"anyOf": [
        one("env", "Name of an environment variable"),
        one("file", "Path of a file whose content is the value"),
        one("secret", "Name of a secret that the controller keeps"),
    ]});
    let any = json!({"anyOf": [{"type": ["string", "number", "boolean"]}, reference("elsewhere")]});
    [("elsewhere", elsewhere), ("configValue", any)]
}
