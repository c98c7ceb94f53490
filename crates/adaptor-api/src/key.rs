//! The key tables: one row per configuration key, from which parsing, unknown-key hints, help and docs derive.

use std::path::PathBuf;
use std::time::Duration;

use cosmark_units::{Plain, has_no_unit, parse_bool, parse_duration_as, parse_signed, parse_size, unit_hint};

use crate::{Error, ErrorKind, Reach, Result, Secret};

/// One configuration key of an adaptor or auth.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Name in a workload; case is ignored when reading.
    pub name: &'static str,
    /// Other spellings.
    pub aliases: &'static [&'static str],
    /// What a value looks like.
    pub kind: KeyKind,
    /// Value when the key is not given; `None` = no value.
    pub default: Option<&'static str>,
    /// True: the value never reaches a log, an archive or an error text.
    pub secret: bool,
    /// Variable of the environment that gives the value where a workload says nothing of the kind; see [`Key::env`].
    pub env: Option<&'static str>,
    /// One sentence.
    pub help: &'static str,
}

impl Key {
    /// A key with no aliases, no default, not secret.
    #[must_use]
    pub const fn new(name: &'static str, kind: KeyKind, help: &'static str) -> Self {
        Self { name, aliases: &[], kind, default: None, secret: false, env: None, help }
    }

    /// With a default value.
    #[must_use]
    pub const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    /// With other spellings.
    #[must_use]
    pub const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Marked as secret.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// With a variable of the environment. If a workload gives none of the keys that have one, the variables that are set
    /// give them all; what is written in the workload never mixes with what is not. The binary reads them, not the adaptor.
    #[must_use]
    pub const fn env(mut self, variable: &'static str) -> Self {
        self.env = Some(variable);
        self
    }

    /// True for its name and its other spellings, whatever their case.
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
            || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }
}

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeyKind {
    /// Any text.
    Text,
    /// `http://` or `https://` URL.
    Url,
    /// Name or address of a host, alone: it holds no login.
    Host,
    /// true/yes/on or false/no/off.
    Bool,
    /// Whole number between the two, inclusive; `0x` hex is fine.
    Int(i64, i64),
    /// Number between the two, inclusive.
    Float(f64, f64),
    /// A number with `ns`, `us`, `ms`, `s`, `m`, `h` or `d`; without one, milliseconds, which only COSBench's XML may write.
    Duration,
    /// Bytes, or a number with KB, MB, GB, TB (decimal) or KiB, MiB, GiB, TiB.
    Size,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Comma-separated texts.
    List,
    /// A file of the machine that uses it; see [`crate::Reach`].
    File,
    /// A directory of that machine.
    Directory,
    /// A shared library of that machine: its code runs.
    Library,
    /// An address of that machine.
    OwnAddress,
}

impl KeyKind {
    /// For help and docs.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Url => "URL".into(),
            Self::Host => "name or address of a host".into(),
            Self::Bool => "true or false".into(),
            Self::Int(low, high) if high == i64::MAX => format!("whole number from {low}"),
            Self::Int(low, high) => format!("whole number {low} to {high}"),
            Self::Float(low, high) => format!("number {low} to {high}"),
            Self::Duration => "time with its unit: 30s".into(),
            Self::Size => "size (bytes, or with a unit: 64KiB)".into(),
            Self::Choice(words) => words.join(" | "),
            Self::List => "list, separated by commas".into(),
            Self::File => "path of a file".into(),
            Self::Directory => "path of a directory".into(),
            Self::Library => "path or name of a library".into(),
            Self::OwnAddress => "IP address".into(),
        }
    }

    /// What a value of this kind reaches.
    #[must_use]
    pub const fn reach(self) -> Reach {
        match self {
            Self::Text
            | Self::Url
            | Self::Host
            | Self::Bool
            | Self::Int(..)
            | Self::Float(..)
            | Self::Duration
            | Self::Size
            | Self::Choice(_)
            | Self::List => Reach::Nothing,
            Self::File => Reach::File,
            Self::Directory => Reach::Directory,
            Self::Library => Reach::Library,
            Self::OwnAddress => Reach::Address,
        }
    }

    fn check(self, text: &str) -> std::result::Result<(), String> {
        let ok = match self {
            Self::Text | Self::List | Self::File | Self::Directory | Self::Library | Self::OwnAddress => true,
            Self::Url => {
                let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
                rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
            }
            // As a URL without a path is how some write it.
            Self::Host => {
                let rest = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
                !rest.is_empty()
                    && !rest.contains(['@', '/', '?', '#'])
                    && !rest.contains(char::is_whitespace)
            }
            Self::Bool => parse_bool(text).is_some(),
            Self::Int(low, high) => parse_signed(text).is_some_and(|value| (low..=high).contains(&value)),
            Self::Float(low, high) => text.parse::<f64>().is_ok_and(|value| (low..=high).contains(&value)),
            Self::Duration => parse_time(text).is_some(),
            Self::Size => parse_size(text).is_ok(),
            Self::Choice(words) => words.iter().any(|word| word.eq_ignore_ascii_case(text)),
        };
        if ok { Ok(()) } else { Err(format!("expected {}", self.describe())) }
    }
}

/// So much of a value that is refused as is repeated: what stands before an @ may be a login, and what follows the address in an
/// address the signature of a link.
fn shown_of(kind: KeyKind, value: &str) -> String {
    if value.contains('@') {
        return "***".to_owned();
    }
    match value.find(['?', '#']).filter(|_| matches!(kind, KeyKind::Url | KeyKind::Host)) {
        Some(at) => format!("{}***", value.get(..=at).unwrap_or_default()),
        None => value.to_owned(),
    }
}

/// Something wrong with one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyProblem {
    /// Index of the entry in the list given to [`Settings::parse`].
    pub entry: usize,
    /// False: the entry is only useless (unknown key).
    pub fatal: bool,
    /// What is wrong; never shows the value of a secret.
    pub message: String,
    /// What was probably meant.
    pub hint: Option<String>,
}

/// Values of one adaptor or auth, checked against its keys.
#[derive(Clone)]
pub struct Settings {
    keys: &'static [Key],
    given: Vec<Option<String>>,
    /// Whoever gave them is not on this machine.
    from_outside: bool,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut map = f.debug_map();
        for (key, value) in self.keys.iter().zip(&self.given) {
            if let Some(value) = value {
                map.entry(&key.name, if key.secret { &"***" } else { value });
            }
        }
        map.finish()
    }
}

impl Settings {
    /// Reads `entries` (key, value; later wins) against `keys`, with every problem found.
    pub fn parse<'a>(
        keys: &'static [Key],
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> (Self, Vec<KeyProblem>) {
        let mut given = vec![None; keys.len()];
        let mut problems = Vec::new();
        for (entry, (name, value)) in entries.into_iter().enumerate() {
            let (name, value) = (name.trim(), value.trim());
            let Some(at) = keys.iter().position(|key| key.answers_to(name)) else {
                if let Some(fact) = STORE_FACTS.iter().find(|key| key.answers_to(name)) {
                    problems.extend(fact.kind.check(value).err().map(|expected| KeyProblem {
                        entry,
                        fatal: true,
                        message: format!("`{name}={value}`: {expected}"),
                        hint: Some(fact.help.to_owned()),
                    }));
                    continue;
                }
                let hint = closest(name, keys).map(|near| format!("did you mean `{near}`?"));
                problems.push(KeyProblem {
                    entry,
                    fatal: false,
                    message: format!("unknown key `{name}`"),
                    hint,
                });
                continue;
            };
            match keys[at].kind.check(value) {
                Ok(()) => given[at] = Some(value.to_owned()),
                Err(_) if value.is_empty() => given[at] = None,
                Err(expected) => {
                    let shown =
                        if keys[at].secret { "***".to_owned() } else { shown_of(keys[at].kind, value) };
                    let message = format!("`{name}={shown}`: {expected}");
                    problems.push(KeyProblem { entry, fatal: true, message, hint: None });
                }
            }
        }
        (Self { keys, given, from_outside: false }, problems)
    }

    /// The same with each given value that reaches something of this machine replaced by what `decide` makes of it, or
    /// refused. From outside, what this machine's user keeps for himself (defaults in his home directory) is no value.
    ///
    /// # Errors
    /// The first refusal.
    pub fn admitted<E>(
        mut self,
        from_outside: bool,
        mut decide: impl FnMut(&Key, &str) -> std::result::Result<String, E>,
    ) -> std::result::Result<Self, E> {
        for (key, value) in self.keys.iter().zip(&mut self.given) {
            if key.kind.reach() == Reach::Nothing {
                continue;
            }
            // Whoever writes the table's own default asks for nothing else; one that lies in a home is somebody's.
            let usual = key.default.filter(|text| !text.starts_with("~/"));
            if let Some(text) = value.as_deref().filter(|text| !text.is_empty() && Some(*text) != usual) {
                *value = Some(decide(key, text)?);
            }
        }
        self.from_outside = from_outside;
        Ok(self)
    }

    /// True when whoever gave them is not on this machine: nothing that its user keeps for himself (credentials in places of
    /// their own) may be used for them.
    #[must_use]
    pub fn is_from_outside(&self) -> bool {
        self.from_outside
    }

    /// The value as text: given, else the default, else `None`.
    ///
    /// # Panics
    /// In debug builds when `name` is not in the table.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let at = self.keys.iter().position(|key| key.name == name);
        debug_assert!(at.is_some(), "no key `{name}` in this table");
        let at = at?;
        let default = self.keys[at].default.filter(|text| !(self.from_outside && text.starts_with("~/")));
        self.given[at].as_deref().or(default)
    }

    /// True when the table has such a key.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
    }

    /// True when the user gave it.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.keys.iter().position(|key| key.name == name).is_some_and(|at| self.given[at].is_some())
    }

    /// Text, or empty.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    /// Text that must be there.
    ///
    /// # Errors
    /// `Config`, naming the key.
    pub fn required(&self, name: &str) -> Result<String> {
        match self.get(name) {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(Error::new(ErrorKind::Config, format!("no such key defined: {name}"))
                .with_hint(format!("add `{name}=...` to the config"))),
        }
    }

    /// A secret, or the empty one.
    #[must_use]
    pub fn secret(&self, name: &str) -> Secret {
        Secret::new(self.get(name).unwrap_or_default())
    }

    /// A switch; false without value.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(parse_bool).unwrap_or(false)
    }

    /// A whole number.
    #[must_use]
    pub fn int(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(parse_signed)
    }

    /// A number.
    #[must_use]
    pub fn float(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(|text| text.parse().ok())
    }

    /// A time; a plain number is milliseconds, see [`times_without_unit`].
    #[must_use]
    pub fn duration(&self, name: &str) -> Option<Duration> {
        self.get(name).and_then(parse_time)
    }

    /// A size in bytes.
    #[must_use]
    pub fn size_bytes(&self, name: &str) -> Option<u64> {
        self.get(name).and_then(|text| parse_size(text).ok())
    }

    /// A comma-separated list, trimmed, without empty parts.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<String> {
        let text = self.get(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// A path, where one is given or the default.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).filter(|text| !text.is_empty()).map(PathBuf::from)
    }
}

/// What a user may say about the store beside how to reach it, in any storage: no adaptor reads it, the verdict does.
pub const STORE_FACTS: &[Key] = &[
    Key::new("sut_ram", KeyKind::Size, "Memory of all servers of the store together, e.g. 512GiB"),
    Key::new("sut_replicas", KeyKind::Float(1.0, 100.0), "Copies that the store keeps of each object"),
    Key::new("sut_cache", KeyKind::Choice(&["intended"]), "`intended`: a cache is what is measured"),
    Key::new(
        "sut_window",
        KeyKind::Choice(&["short"]),
        "`short`: a window below 60 s is meant so, and what the store does less often is not asked for",
    ),
    Key::new(
        "sut_connections",
        KeyKind::Choice(&["new"]),
        "`new`: what a new connection for each request costs is what is measured",
    ),
    Key::new(
        "sut_background",
        KeyKind::Text,
        "`none`, or what else the store was doing, e.g. recovery, rebalancing, scrubbing",
    ),
];

fn closest(name: &str, keys: &'static [Key]) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    keys.iter()
        .flat_map(|key| std::iter::once(key.name).chain(key.aliases.iter().copied()))
        .map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// COSBench's rule; where a unit has to be said, [`times_without_unit`] asks for it.
fn parse_time(text: &str) -> Option<Duration> {
    parse_duration_as(text, Plain::Milliseconds).ok()
}

/// The times among `entries` that say no unit. In COSBench's XML they are milliseconds; anywhere else the unit has to be
/// written, as in every other time of a native workload.
pub fn times_without_unit<'a>(
    keys: &[Key],
    entries: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<KeyProblem> {
    let is_time = |name: &str| keys.iter().any(|key| key.kind == KeyKind::Duration && key.answers_to(name));
    let entries = entries.into_iter().map(|(name, value)| (name.trim(), value.trim())).enumerate();
    let plain = entries.filter(|(_, (name, value))| is_time(name) && has_no_unit(value));
    plain
        .map(|(entry, (name, value))| KeyProblem {
            entry,
            fatal: true,
            message: format!("`{name}={value}` says no unit"),
            hint: Some(unit_hint(value)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[Key] = &[
        Key::new("endpoint", KeyKind::Url, "where").default("http://127.0.0.1"),
        Key::new("secretkey", KeyKind::Int(0, 9), "key").alias(&["secret_key"]).secret(),
        Key::new("timeout", KeyKind::Duration, "limit").default("30000"),
        Key::new("part_size", KeyKind::Size, "part"),
    ];

    #[test]
    fn a_host_is_a_name_or_an_address_alone_and_a_login_before_it_is_not_repeated() {
        const HOSTS: &[Key] =
            &[Key::new("proxyhost", KeyKind::Host, ""), Key::new("endpoint", KeyKind::Url, "")];
        for host in ["proxy", "10.0.0.7", "[::1]", "http://proxy.example/", ""] {
            let (_, problems) = Settings::parse(HOSTS, [("proxyhost", host)]);
            assert!(problems.is_empty(), "{host}: {problems:?}");
        }
        for (key, value) in [
            ("proxyhost", "user:word77@proxy"),
            ("proxyhost", "http://user:word77@proxy:3128/"),
            ("proxyhost", "https://proxy"),
            ("proxyhost", "proxy/path"),
            ("proxyhost", "a proxy"),
            ("endpoint", "user:word77@store"),
            ("endpoint", "store/v1?temp_url_sig=word77"),
            ("endpoint", "ftp://store#word77"),
            ("proxyhost", "proxy?word77"),
        ] {
            let (settings, problems) = Settings::parse(HOSTS, [(key, value)]);
            assert!(
                problems.len() == 1 && problems[0].fatal && !settings.is_given(key),
                "{value}: {problems:?}"
            );
            assert!(!problems[0].message.contains("word77"), "{}", problems[0].message);
        }
    }

    #[test]
    fn a_later_entry_wins_and_defaults_fill_the_rest() {
        let (settings, problems) = Settings::parse(KEYS, [("part_size", "5MiB"), ("part_size", "1KB")]);
        assert!(problems.is_empty());
        assert_eq!(settings.size_bytes("part_size"), Some(1000));
        assert_eq!(settings.duration("timeout"), Some(Duration::from_secs(30)));
        assert!(!settings.is_given("timeout"));
    }

    #[test]
    fn a_time_without_a_unit_is_found_and_what_is_no_time_or_nothing_is_not() {
        let entries = [("part_size", "30"), ("TIMEOUT", " 30 "), ("timeout", "0"), ("timeout", "30s")];
        let problems = times_without_unit(KEYS, entries);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].entry == 1 && problems[0].fatal && problems[0].message.contains("says no unit"));
        let (settings, _) = Settings::parse(KEYS, [("timeout", "30")]);
        assert_eq!(settings.duration("timeout"), Some(Duration::from_millis(30)), "as COSBench has it");
    }

    #[test]
    fn an_unknown_key_names_the_nearest_known_one() {
        let (_, problems) = Settings::parse(KEYS, [("endpiont", "http://x")]);
        assert_eq!(problems[0].hint.as_deref(), Some("did you mean `endpoint`?"));
        assert!(!problems[0].fatal);
    }

    #[test]
    fn facts_about_the_store_are_taken_everywhere_and_checked() {
        let (_, problems) = Settings::parse(KEYS, [("sut_ram", "512GiB"), ("sut_cache", "intended")]);
        assert!(problems.is_empty(), "{problems:?}");
        let (_, problems) = Settings::parse(KEYS, [("sut_ram", "much")]);
        assert!(problems.len() == 1 && problems[0].fatal, "{problems:?}");
    }

    #[test]
    fn a_secret_is_shown_neither_in_problems_nor_in_debug() {
        let (_, problems) = Settings::parse(KEYS, [("secretkey", "hunter2")]);
        assert!(problems[0].fatal && !problems[0].message.contains("hunter2"));
        let (settings, _) = Settings::parse(KEYS, [("secret_key", "7")]);
        assert_eq!(format!("{settings:?}"), r#"{"secretkey": "***"}"#);
    }

    const PLACES: &[Key] = &[
        Key::new("own", KeyKind::File, "kept in the home directory").default("~/.own"),
        Key::new("library", KeyKind::Library, "code").default("usual.so"),
        Key::new("file", KeyKind::File, "a file").alias(&["f"]),
        Key::new("word", KeyKind::Text, "no place"),
    ];

    #[test]
    fn what_reaches_the_machine_is_decided_once_whatever_it_is_called_and_nothing_else_is() {
        let entries = [("word", "/etc"), ("LIBRARY", "usual.so"), ("F", "first"), ("file", "/x")];
        let parsed = || Settings::parse(PLACES, entries).0;
        let mut asked = Vec::new();
        let admitted = parsed().admitted(true, |key, value| {
            asked.push((key.name, value.to_owned()));
            Ok::<_, ()>("/real".to_owned())
        });
        assert_eq!(asked, [("file", "/x".to_owned())], "the table's own default is nobody's wish");
        let admitted = admitted.unwrap();
        assert_eq!((admitted.get("file"), admitted.get("word")), (Some("/real"), Some("/etc")));
        assert_eq!((admitted.get("own"), parsed().get("own")), (None, Some("~/.own")));
        assert_eq!(parsed().admitted(true, |_, _| Err("no")).err(), Some("no"));
    }

    #[test]
    fn a_url_without_a_host_is_refused() {
        let (_, problems) = Settings::parse(KEYS, [("endpoint", "http:///bucket")]);
        assert!(problems[0].fatal);
    }
}
