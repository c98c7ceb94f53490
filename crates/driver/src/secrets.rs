//! Secrets: fetched from where the workload says, and kept out of everything that is shown or written.

use std::ops::Range;

use cosmark_adaptor_api::Key;
use cosmark_workload::model::nodes::NodeSpec;
use cosmark_workload::model::{ConfigEntry, ConfigValue, TargetSpec};
use cosmark_workload::{Environment, Format, Span, Workload, parse_what_is_there};

use crate::catalog::Catalog;
use crate::places::{Place, places_of};

/// Where secrets come from. What an asker must not read, it does not give.
pub trait SecretSource {
    /// A variable of the environment that a workload names: `{env: NAME}`.
    ///
    /// # Errors
    /// Why there is no value, as the end of a sentence that has named the variable.
    fn variable(&self, name: &str) -> Result<String, String>;

    /// What a file that a workload names holds: `{file: PATH}`.
    ///
    /// # Errors
    /// Why there is no value, as the end of a sentence that has named the file.
    fn file(&self, path: &str) -> Result<String, String>;

    /// What the controller keeps under a name: `{secret: NAME}`.
    ///
    /// # Errors
    /// Why there is no value, as the end of a sentence that has named the secret.
    fn named(&self, name: &str) -> Result<String, String>;

    /// Whether the secret of this name may be sent to all of these places.
    ///
    /// # Errors
    /// Why not, as the end of a sentence that has named the secret.
    fn may_go(&self, _name: &str, _places: &[Place]) -> Result<(), String> {
        Ok(())
    }

    /// True: references to named secrets stay references, for somebody else to resolve.
    fn leaves_named(&self) -> bool {
        false
    }

    /// A variable that a key has in the table of adaptors; `None` when it is not set, or not to be used.
    fn habitual(&self, name: &str) -> Option<String>;

    /// The home directory, for defaults that lie in it; `None` where nobody's home is to be used.
    fn home(&self) -> Option<String>;
}

/// Texts shorter than this are only hidden where they stand, not wherever they occur.
const SHORTEST: usize = 4;

/// The values that must not be seen.
#[derive(Debug, Default, Clone)]
pub struct Secrets {
    values: Vec<String>,
}

impl Secrets {
    /// Those of a workload whose references are resolved.
    #[must_use]
    pub fn of(catalog: &Catalog, workload: &Workload) -> Self {
        Self::among(catalog, specs(workload))
    }

    /// Those of one auth and one storage.
    #[must_use]
    pub fn of_target(catalog: &Catalog, auth: &TargetSpec, storage: &TargetSpec) -> Self {
        Self::among(catalog, [auth, storage].into_iter())
    }

    fn among<'a>(catalog: &Catalog, specs: impl Iterator<Item = &'a TargetSpec>) -> Self {
        let mut values = Vec::new();
        for spec in specs {
            for entry in &spec.config.entries {
                let ConfigValue::Text(text) = &entry.value else { continue };
                let whole = catalog.is_secret(&spec.kind, &entry.key).then_some(text.as_str());
                let in_urls = logins_in(text).into_iter().filter_map(|at| text.get(at));
                // A login is hidden as a whole, and its password wherever else it occurs.
                let passwords = in_urls.clone().filter_map(|login| Some(login.split_once(':')?.1));
                for value in whole.into_iter().chain(in_urls).chain(passwords) {
                    if value.len() >= SHORTEST && !values.iter().any(|known| known == value) {
                        values.push(value.to_owned());
                    }
                }
            }
        }
        // The longest first, so that one secret inside another leaves no rest behind.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { values }
    }

    /// The text without them, also where XML or a URL has escaped them.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            let in_xml = value.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
            let in_url =
                percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC).to_string();
            for form in [value.as_str(), &in_xml, &in_url] {
                if text.contains(form) {
                    text = text.replace(form, "***");
                }
            }
        }
        text
    }
}

/// Where in a text `user:password` stands before the host of a URL. No adaptor takes a login there, but people write it.
fn logins_in(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (scheme_end, mark) in text.match_indices("://") {
        let start = scheme_end + mark.len();
        let rest = text.get(start..).unwrap_or_default();
        let end = rest.find(|c: char| matches!(c, '/' | '?' | '#' | ',') || c.is_whitespace());
        let authority = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        if let Some(at) = authority.rfind('@').filter(|at| *at > 0) {
            found.push(start..start + at);
        }
    }
    found
}

fn specs(workload: &Workload) -> impl Iterator<Item = &TargetSpec> {
    let works = workload.stages.iter().flat_map(|stage| &stage.works);
    let nodes = workload.nodes.iter().map(|node| &node.source);
    works.flat_map(|work| [&work.auth, &work.storage]).chain(nodes)
}

fn specs_mut(workload: &mut Workload) -> impl Iterator<Item = &mut TargetSpec> {
    let Workload { stages, nodes, .. } = workload;
    let works = stages.iter_mut().flat_map(|stage| &mut stage.works);
    works
        .flat_map(|work| [&mut work.auth, &mut work.storage])
        .chain(nodes.iter_mut().map(|node| &mut node.source))
}

/// Replaces `{env: NAME}`, `{file: PATH}` and `{secret: NAME}` by what they stand for.
///
/// # Errors
/// One sentence that names the key and the remedy.
pub fn resolve(catalog: &Catalog, workload: &mut Workload, from: &dyn SecretSource) -> Result<(), String> {
    let mut works = workload.stages.iter_mut().flat_map(|stage| &mut stage.works);
    works.try_for_each(|work| resolve_target(catalog, &mut work.auth, &mut work.storage, from))?;
    resolve_nodes(catalog, &mut workload.nodes, from)
}

/// The same for machines of a store.
///
/// # Errors
/// One sentence that names the key and the remedy.
pub fn resolve_nodes(
    catalog: &Catalog,
    nodes: &mut [NodeSpec],
    from: &dyn SecretSource,
) -> Result<(), String> {
    nodes.iter_mut().try_for_each(|node| resolve_spec(catalog, &mut node.source, from))
}

/// The same for the auth and the storage of one work: what a named secret is sent to is known from both.
///
/// # Errors
/// One sentence that names the key and the remedy.
pub fn resolve_target(
    catalog: &Catalog,
    auth: &mut TargetSpec,
    storage: &mut TargetSpec,
    from: &dyn SecretSource,
) -> Result<(), String> {
    let mut used = Vec::new();
    for spec in [&*auth, &*storage] {
        for entry in &spec.config.entries {
            if let ConfigValue::Secret(name) = &entry.value
                && !from.leaves_named()
            {
                used.push((spec.kind.clone(), entry.key.trim().to_owned(), name.clone()));
            }
        }
    }
    resolve_spec(catalog, auth, from)?;
    resolve_spec(catalog, storage, from)?;
    let keys: Vec<String> = used.iter().map(|(_, key, _)| key.clone()).collect();
    let places = if used.is_empty() { Vec::new() } else { places_of(catalog, auth, storage, &keys) };
    used.iter().try_for_each(|(kind, key, name)| {
        from.may_go(name, &places).map_err(|why| format!("{kind}: `{key}` is the secret {name}, {why}"))
    })
}

/// The same for one auth or storage, without a look at where it goes.
///
/// # Errors
/// One sentence that names the key and the remedy.
fn resolve_spec(catalog: &Catalog, spec: &mut TargetSpec, from: &dyn SecretSource) -> Result<(), String> {
    let kind = &spec.kind;
    for entry in &mut spec.config.entries {
        let key = &entry.key;
        let value = match &entry.value {
            ConfigValue::Text(_) => continue,
            ConfigValue::Env(name) => from.variable(name).map_err(|why| {
                format!("{kind}: `{key}` comes from the environment variable {name}, {why}")
            })?,
            ConfigValue::File(path) => {
                from.file(path).map_err(|why| format!("{kind}: `{key}` comes from the file {path}: {why}"))?
            }
            // Only what the table calls a secret is kept out of archives and answers.
            ConfigValue::Secret(name) if !catalog.is_secret(kind, key.trim()) => {
                return Err(format!(
                    "{kind}: `{key}` is not kept secret, so the secret {name} must not stand there; write its value as it is"
                ));
            }
            ConfigValue::Secret(_) if from.leaves_named() => continue,
            ConfigValue::Secret(name) => {
                from.named(name).map_err(|why| format!("{kind}: `{key}` is the secret {name}, {why}"))?
            }
        };
        entry.value = ConfigValue::Text(value);
    }
    add_habitual(catalog, spec, from);
    Ok(())
}

/// Adds what the environment gives for keys that have a variable, if the workload gives none of them, and their defaults that
/// lie in the home directory.
fn add_habitual(catalog: &Catalog, spec: &mut TargetSpec, from: &dyn SecretSource) {
    let is_given = |spec: &TargetSpec, key: &Key| {
        spec.config.entries.iter().any(|entry| key.answers_to(entry.key.trim()))
    };
    let keys: Vec<&'static Key> = catalog.keys_of(&spec.kind).filter(|key| key.env.is_some()).collect();
    let says_nothing = !keys.iter().any(|key| is_given(spec, key));
    for key in keys {
        let variable = key.env.filter(|_| says_nothing).and_then(|name| from.habitual(name));
        let in_home = |text: &str| Some(format!("{}/{}", from.home()?, text.strip_prefix("~/")?));
        let variable = variable.filter(|value| !value.is_empty());
        let variable = variable.map(|value| in_home(&value).unwrap_or(value));
        let value = variable.or_else(|| key.default.and_then(in_home));
        if let Some(value) = value
            && !is_given(spec, key)
        {
            let value = ConfigValue::Text(value);
            spec.config.entries.push(ConfigEntry { key: key.name.to_owned(), value, span: Span::default() });
        }
    }
}

/// A copy with `***` in place of every secret, for the archive.
#[must_use]
pub fn hidden(catalog: &Catalog, workload: &Workload) -> Workload {
    let mut copy = workload.clone();
    for spec in specs_mut(&mut copy) {
        let kind = spec.kind.clone();
        for entry in &mut spec.config.entries {
            let ConfigValue::Text(text) = &mut entry.value else { continue };
            if catalog.is_secret(&kind, &entry.key) {
                *text = "***".into();
            }
            for login in logins_in(text).into_iter().rev() {
                text.replace_range(login, "***");
            }
        }
    }
    copy
}

/// The source text without the secrets that are written in it, whatever their length, also those that a target has replaced
/// since. `workload` is what was made of it; `file_name` may tell the format.
#[must_use]
pub fn hide_in_source(catalog: &Catalog, source: &str, file_name: &str, workload: &Workload) -> String {
    let format = Format::detect(file_name, source);
    let as_written = parse_what_is_there(source, format, &Environment::default()).0;
    let text = match &as_written {
        Some(written) => hide_places(catalog, source, written),
        None => source.to_owned(),
    };
    Secrets::of(catalog, workload).hide(&text)
}

/// The text with stars in place of what looks like the value of a secret key, letter for letter, so that places in it stay what
/// they are. For showing where a mistake stands: also a text that makes no workload has secrets in it.
#[must_use]
pub fn stars_over_secrets(catalog: &Catalog, text: &str) -> String {
    let mut places = logins_in(text);
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut rest = 0;
    while let Some(start) = text.get(rest..).and_then(|tail| tail.find(is_word)).map(|at| rest + at) {
        let tail = text.get(start..).unwrap_or_default();
        let word = tail.split(|c| !is_word(c)).next().unwrap_or_default();
        rest = start + word.len();
        let behind = text.get(rest..).unwrap_or_default();
        let sign = behind.trim_start_matches(['"', '\'', ' ']);
        if !sign.starts_with([':', '=']) || !catalog.names_a_secret(word) {
            continue;
        }
        let value = sign.get(1..).unwrap_or_default().trim_start_matches(' ');
        let (value, ends): (&str, &[char]) = match value.chars().next() {
            // A reference, which is no secret.
            Some('{' | '$') => continue,
            Some('"') => (value.get(1..).unwrap_or_default(), &['"', '\n']),
            Some('\'') => (value.get(1..).unwrap_or_default(), &['\'', '\n']),
            _ => (value, &[';', ',', '}', '"', '\'', '<', ' ', '\n', '\r']),
        };
        let length = value.find(ends).unwrap_or(value.len());
        let at = text.len() - value.len();
        places.push(at..at + length);
        rest = at + length;
    }
    let mut shown = text.to_owned();
    for place in places {
        let stars = "*".repeat(place.len());
        shown.replace_range(place, &stars);
    }
    shown
}

fn hide_places(catalog: &Catalog, source: &str, workload: &Workload) -> String {
    let mut places: Vec<(usize, usize)> = Vec::new();
    for spec in specs(workload) {
        for entry in &spec.config.entries {
            let ConfigValue::Text(value) = &entry.value else { continue };
            let end = entry.span.start.saturating_add(entry.span.len);
            let Some(stretch) = source.get(entry.span.start..end) else { continue };
            if !value.is_empty()
                && catalog.is_secret(&spec.kind, &entry.key)
                && let Some(at) = stretch.rfind(value.as_str())
            {
                places.push((entry.span.start + at, value.len()));
            } else {
                let logins = logins_in(stretch).into_iter();
                places.extend(logins.map(|login| (entry.span.start + login.start, login.len())));
            }
        }
    }
    places.sort_unstable();
    places.dedup();
    let mut hidden = source.to_owned();
    for (at, len) in places.into_iter().rev() {
        hidden.replace_range(at..at + len, "***");
    }
    Secrets::of(catalog, workload).hide(&hidden)
}

#[cfg(test)]
mod tests {
    use super::logins_in;

    #[test]
    fn logins_in_urls_are_found_and_nothing_else_is() {
        let found = |text: &str| -> Vec<String> {
            logins_in(text).into_iter().map(|at| text[at].to_owned()).collect()
        };
        assert_eq!(found("http://u:p@h:80/a@b"), ["u:p"]);
        assert_eq!(found("http://u:p%40x@y@h,https://token@[::1]/"), ["u:p%40x@y", "token"]);
        assert_eq!(found("http://h/?mail=a@b"), Vec::<String>::new());
        assert_eq!(found("a@b"), Vec::<String>::new());
        assert_eq!(found("http://@h"), Vec::<String>::new());
    }
}
