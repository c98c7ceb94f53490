//! The tables of adaptors and auths, as the composition root hands them over.

use std::path::Path;

use cosmark_adaptor_api::{AdaptorDef, Alias, AuthDef, Key, Reach};

use crate::permit::Permit;

/// All that a driver can speak.
#[derive(Clone, Copy)]
pub struct Catalog {
    /// Storage adaptors.
    pub adaptors: &'static [AdaptorDef],
    /// Auths.
    pub auths: &'static [AuthDef],
    /// Known names that this build cannot speak, with a sentence each.
    pub not_built: &'static [(&'static str, &'static str)],
    /// The adaptor that stands for those in shared libraries.
    pub plugin: PluginRow,
}

/// A row of the table of adaptors that stands for rows which are only known when a workload names them.
#[derive(Clone, Copy)]
pub struct PluginRow {
    /// Its `type`.
    pub name: &'static str,
    /// The key whose value leads to the row.
    pub key: &'static str,
    /// The row.
    pub row_of: fn(&str) -> cosmark_adaptor_api::Result<&'static AdaptorDef>,
    /// True when a row that was loaded so calls this key a secret.
    pub declares_secret: fn(&str) -> bool,
    /// Where reading a workload may load the code that it names, to know the rows. Running it is another matter.
    pub reads: ReadsPlugins,
}

/// Which libraries are loaded where a workload is only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadsPlugins {
    /// None: reading a text runs nobody's code. Keys of a plugin's own are taken as they are.
    Never,
    /// Those below this directory.
    Below(&'static Path),
    /// Any: whoever runs Cosmark on this machine is about to run the workload here.
    Any,
}

/// A row, and the alias that led to it.
pub struct Found<T> {
    /// The row.
    pub def: T,
    /// Set when the name was an alias.
    pub alias: Option<&'static Alias>,
    /// The row has keys that are not known before code is loaded.
    pub has_unknown_keys: bool,
}

impl Catalog {
    /// The same, but for reading: whose code may be loaded for it.
    #[must_use]
    pub const fn reading(mut self, reads: ReadsPlugins) -> Self {
        self.plugin.reads = reads;
        self
    }

    /// The adaptor with this name or alias.
    ///
    /// # Errors
    /// A sentence that says what there is.
    pub fn adaptor(&self, name: &str) -> Result<Found<&'static AdaptorDef>, String> {
        let rows = self.adaptors.iter().map(|def| (def.name, def.aliases, def));
        self.find("storage", name, rows.collect())
    }

    /// The adaptor with this name or alias, as these keys and values make it. Loads code as [`PluginRow::reads`] says.
    ///
    /// # Errors
    /// A sentence that says what there is, or why a plugin cannot be loaded.
    pub fn storage<'a>(
        &self,
        name: &str,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Found<&'static AdaptorDef>, String> {
        let found = self.adaptor(name)?;
        if found.def.name != self.plugin.name {
            return Ok(found);
        }
        let is_key = |name: &str| name.trim().eq_ignore_ascii_case(self.plugin.key);
        let value = entries.into_iter().filter(|entry| is_key(entry.0)).last();
        let value = value.map_or("", |entry| entry.1.trim());
        let library = match self.plugin.reads {
            ReadsPlugins::Never => return Ok(Found { has_unknown_keys: true, ..found }),
            ReadsPlugins::Any => value.to_owned(),
            ReadsPlugins::Below(directory) => {
                let permit = Permit { plugins: Some(directory.to_owned()), ..Permit::outside() };
                permit.admit(Reach::Library, &format!("`{}`", self.plugin.key), value)?
            }
        };
        let row = (self.plugin.row_of)(&library);
        row.map(|def| Found { def, ..found }).map_err(|error| error.to_string())
    }

    /// The auth with this name or alias.
    ///
    /// # Errors
    /// A sentence that says what there is.
    pub fn auth(&self, name: &str) -> Result<Found<&'static AuthDef>, String> {
        let rows = self.auths.iter().map(|def| (def.name, def.aliases, def));
        self.find("auth", name, rows.collect())
    }

    /// The keys of this storage or auth type; of both, where both have the name.
    pub fn keys_of(&self, kind: &str) -> impl Iterator<Item = &'static Key> + use<> {
        let adaptor = self.adaptor(kind).map(|found| found.def.keys).unwrap_or_default();
        let auth = self.auth(kind).map(|found| found.def.keys).unwrap_or_default();
        adaptor.iter().chain(auth)
    }

    /// True when this key of this storage or auth type is a secret. Unknown types hide what sounds like one.
    #[must_use]
    pub fn is_secret(&self, kind: &str, key: &str) -> bool {
        let in_table = |keys: &'static [Key]| {
            let answers = |row: &&Key| {
                row.name.eq_ignore_ascii_case(key)
                    || row.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(key))
            };
            keys.iter().find(answers).map(|row| row.secret)
        };
        let adaptor = self.adaptor(kind).ok().and_then(|found| in_table(found.def.keys));
        let auth = self.auth(kind).ok().and_then(|found| in_table(found.def.keys));
        match (adaptor, auth) {
            (None, None) => {
                let key = key.to_ascii_lowercase();
                // What a plugin keeps secret is not known where its code is not loaded: all of its own is hidden.
                let is_closed = self.plugin.reads != ReadsPlugins::Any;
                if (self.plugin.declares_secret)(&key)
                    || (is_closed && kind.eq_ignore_ascii_case(self.plugin.name))
                {
                    return true;
                }
                ["secret", "password", "token", "key"].iter().any(|word| key.contains(word))
            }
            (adaptor, auth) => adaptor == Some(true) || auth == Some(true),
        }
    }

    /// Names of keys that are secrets in some type, and what sounds like one, for texts that cannot be read as a workload.
    pub(crate) fn names_a_secret(&self, word: &str) -> bool {
        let keys =
            self.adaptors.iter().flat_map(|def| def.keys).chain(self.auths.iter().flat_map(|def| def.keys));
        keys.into_iter().any(|key| key.secret && key.answers_to(word))
            || ["secret", "password"].iter().any(|part| word.to_ascii_lowercase().contains(part))
    }

    fn find<T>(
        &self,
        what: &str,
        name: &str,
        rows: Vec<(&'static str, &'static [Alias], T)>,
    ) -> Result<Found<T>, String> {
        let names: Vec<&str> = rows.iter().map(|row| row.0).collect();
        let known = names.join(", ");
        for (row_name, aliases, def) in rows {
            if row_name.eq_ignore_ascii_case(name) {
                return Ok(Found { def, alias: None, has_unknown_keys: false });
            }
            if let Some(alias) = aliases.iter().find(|alias| alias.name.eq_ignore_ascii_case(name)) {
                return Ok(Found { def, alias: Some(alias), has_unknown_keys: false });
            }
        }
        if let Some((_, sentence)) = self.not_built.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            return Err(format!("{what} type `{name}`: {sentence}"));
        }
        Err(format!("unrecognized {what} type `{name}`; known are {known}"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use cosmark_adaptor_api::{Capability, KeyKind, null};

    use super::*;

    const fn store(name: &'static str, aliases: &'static [Alias], keys: &'static [Key]) -> AdaptorDef {
        AdaptorDef {
            name,
            aliases,
            summary: "for tests",
            keys,
            capability: Capability::of(&[]),
            open: |_| Ok(Arc::new(null::Null)),
            lacks: AdaptorDef::lacks_nothing,
            takes: AdaptorDef::takes_nothing,
        }
    }

    const S3: &[Key] = &[
        Key::new("endpoint", KeyKind::Url, "").default("https://s3.example").alias(&["url"]),
        Key::new("accesskey", KeyKind::Text, ""),
        Key::new("secretkey", KeyKind::Text, "").secret(),
        Key::new("ca_file", KeyKind::File, ""),
    ];
    const AZURE: &[Key] = &[
        Key::new("account", KeyKind::Text, ""),
        Key::new("sas", KeyKind::Text, "").secret(),
        Key::new("connection_string", KeyKind::Text, "").secret(),
        Key::new("endpoint", KeyKind::Url, ""),
        Key::new("note", KeyKind::Text, ""),
    ];

    /// Stores whose keys stand for those of the real ones.
    pub(crate) const STORES: Catalog = Catalog {
        adaptors: &[
            store("s3", &[], S3),
            store("azure", &[Alias { name: "azblob", implied: &[], note: "" }], AZURE),
        ],
        auths: &[],
        not_built: &[],
        plugin: PluginRow {
            name: "plugin",
            key: "path",
            row_of: |path| unreachable!("{path}"),
            declares_secret: |_| false,
            reads: ReadsPlugins::Never,
        },
    };
}
