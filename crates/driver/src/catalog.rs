//! The tables of adaptors and auths, as the composition root hands them over.

use cosmark_adaptor_api::{AdaptorDef, Alias, AuthDef, Key};

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
}

/// A row, and the alias that led to it.
pub struct Found<T> {
    /// The row.
    pub def: T,
    /// Set when the name was an alias.
    pub alias: Option<&'static Alias>,
}

impl Catalog {
    /// The adaptor with this name or alias.
    ///
    /// # Errors
    /// A sentence that says what there is.
    pub fn adaptor(&self, name: &str) -> Result<Found<&'static AdaptorDef>, String> {
        let rows = self.adaptors.iter().map(|def| (def.name, def.aliases, def));
        self.find("storage", name, rows.collect())
    }

    /// The adaptor with this name or alias, as these keys and values make it.
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
        let value = entries.into_iter().filter(|entry| entry.0.eq_ignore_ascii_case(self.plugin.key)).last();
        let row = (self.plugin.row_of)(value.map_or("", |entry| entry.1.trim()));
        row.map(|def| Found { def, alias: found.alias }).map_err(|error| error.to_string())
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
                if (self.plugin.declares_secret)(&key) {
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
                return Ok(Found { def, alias: None });
            }
            if let Some(alias) = aliases.iter().find(|alias| alias.name.eq_ignore_ascii_case(name)) {
                return Ok(Found { def, alias: Some(alias) });
            }
        }
        if let Some((_, sentence)) = self.not_built.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))
        {
            return Err(format!("{what} type `{name}`: {sentence}"));
        }
        Err(format!("unrecognized {what} type `{name}`; known are {known}"))
    }
}
