//! The tables of adaptors and auths in JSON: names, capabilities, keys.

use cosmark_adaptor_api::{AdaptorDef, Alias, AuthDef, Capability, Key, Reach};
use serde_json::{Value, json};

/// What a storage can, in words.
#[must_use]
pub fn abilities(can: Capability) -> Vec<&'static str> {
    can.rows().map(|row| row.word).collect()
}

/// A row of the table of adaptors.
#[must_use]
pub fn adaptor_as_json(def: &AdaptorDef) -> Value {
    json!({ "name": def.name, "summary": def.summary, "aliases": alias_names(def.aliases),
        "capability": abilities(def.capability), "keys": keys_as_json(def.keys) })
}

/// A row of the table of auths.
#[must_use]
pub fn auth_as_json(def: &AuthDef) -> Value {
    json!({ "name": def.name, "summary": def.summary, "aliases": alias_names(def.aliases),
        "keys": keys_as_json(def.keys) })
}

fn alias_names(aliases: &[Alias]) -> Vec<&'static str> {
    aliases.iter().map(|alias| alias.name).collect()
}

/// The rows of a table of keys.
#[must_use]
pub fn keys_as_json(keys: &[Key]) -> Vec<Value> {
    keys.iter()
        .map(|key| {
            json!({ "name": key.name, "aliases": key.aliases, "value": key.kind.describe(),
                "default": key.default, "secret": key.secret, "env": key.env, "help": key.help,
                "reach": Some(key.kind.reach()).filter(|reach| *reach != Reach::Nothing).map(Reach::word) })
        })
        .collect()
}
