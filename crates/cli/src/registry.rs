//! The composition root: which adaptors and auths this binary speaks.

use cosmark_driver::{Catalog, PluginRow};

/// All of them.
pub const CATALOG: Catalog = Catalog {
    adaptors: cosmark_adaptors::ADAPTORS,
    auths: cosmark_adaptors::AUTHS,
    not_built: cosmark_adaptors::NOT_BUILT,
    plugin: PluginRow {
        name: cosmark_adaptors::plugin::DEF.name,
        key: "path",
        row_of: cosmark_adaptors::plugin::row_of,
    },
};

/// The keys of this storage or auth type; of both, where both have the name.
pub fn keys_of(kind: &str) -> impl Iterator<Item = &'static cosmark_adaptor_api::Key> {
    let adaptor = CATALOG.adaptor(kind).map(|found| found.def.keys).unwrap_or_default();
    let auth = CATALOG.auth(kind).map(|found| found.def.keys).unwrap_or_default();
    adaptor.iter().chain(auth)
}

/// True when this key of this storage or auth type is a secret. Unknown types hide what sounds like one.
#[must_use]
pub fn is_secret(kind: &str, key: &str) -> bool {
    let in_table = |keys: &'static [cosmark_adaptor_api::Key]| {
        let answers = |row: &&cosmark_adaptor_api::Key| {
            row.name.eq_ignore_ascii_case(key)
                || row.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(key))
        };
        keys.iter().find(answers).map(|row| row.secret)
    };
    let adaptor = CATALOG.adaptor(kind).ok().and_then(|found| in_table(found.def.keys));
    let auth = CATALOG.auth(kind).ok().and_then(|found| in_table(found.def.keys));
    match (adaptor, auth) {
        (None, None) => {
            let key = key.to_ascii_lowercase();
            if cosmark_adaptors::plugin::declares_secret(&key) {
                return true;
            }
            ["secret", "password", "token", "key"].iter().any(|word| key.contains(word))
        }
        (adaptor, auth) => adaptor == Some(true) || auth == Some(true),
    }
}
