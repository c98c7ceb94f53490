//! Secrets: fetched from where the workload says, and kept out of everything that is shown or written.

use std::ops::Range;

use cosmark_adaptor_api::{Key, Reach, Stars};
use cosmark_workload::logins::{hosts_in, logins_in, tokens_in};
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

    /// The home directory, for what lies in it (`~/..`); `None` where nobody's home is to be used.
    fn home(&self) -> Option<String>;
}

/// The values that must not be seen.
#[derive(Debug, Default, Clone)]
pub struct Secrets {
    /// Each in every form in which a file may have it.
    stars: Stars,
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
        let (mut values, mut hosts): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for spec in specs {
            for entry in &spec.config.entries {
                let ConfigValue::Text(text) = &entry.value else { continue };
                let whole = catalog.is_secret(&spec.kind, &entry.key).then_some(text.as_str());
                if whole.is_none() {
                    hosts.extend(hosts_in(text));
                }
                let in_urls = logins_in(text).into_iter().filter_map(|at| text.get(at));
                // A login is hidden as a whole, and its password wherever else it occurs.
                let passwords = in_urls.clone().filter_map(|login| Some(login.split_once(':')?.1));
                let tokens = tokens_in(text).into_iter().filter_map(|at| text.get(at));
                for value in whole.into_iter().chain(in_urls).chain(passwords).chain(tokens) {
                    if !values.iter().any(|known| known == value) {
                        values.push(value.to_owned());
                    }
                }
            }
        }
        Self { stars: Stars::new(values.iter().flat_map(|value| forms_of(value)).collect(), hosts) }
    }

    /// What puts stars in their places.
    #[must_use]
    pub fn stars(&self) -> &Stars {
        &self.stars
    }

    /// The text without them, also where XML, YAML, JSON or a URL has escaped them.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.stars.hide(text)
    }
}

/// A value as it stands in a text: as it is, in an attribute of XML, in the quotes of YAML and JSON, in a URL.
fn forms_of(value: &str) -> Vec<String> {
    let mut forms = vec![
        value.to_owned(),
        value.replace('\'', "''"),
        value.replace('\\', "\\\\").replace('"', "\\\""),
        percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC).to_string(),
    ];
    let in_xml = value.replace('&', "&amp;").replace('<', "&lt;");
    // Signs that may stand there as they are.
    for quote in ["\"", "&quot;", "&#34;"] {
        for apostrophe in ["'", "&apos;", "&#39;"] {
            for greater in [">", "&gt;"] {
                let form = in_xml.replace('"', quote).replace('\'', apostrophe).replace('>', greater);
                forms.push(form);
            }
        }
    }
    forms
}

/// Where in a text logins and tokens of its URLs stand, apart from each other.
fn in_urls(text: &str) -> Vec<Range<usize>> {
    let mut all = logins_in(text);
    all.extend(tokens_in(text));
    all.sort_unstable_by_key(|one| one.start);
    let mut apart: Vec<Range<usize>> = Vec::new();
    for one in all {
        match apart.last_mut().filter(|last| one.start < last.end) {
            Some(last) => last.end = last.end.max(one.end),
            None => apart.push(one),
        }
    }
    apart
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
            ConfigValue::Text(text) => match file_in_home(catalog, kind, key, text, from) {
                Some(path) => path,
                None => continue,
            },
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

/// The path of a file that a key gives as one of the home directory, `~/..`.
fn file_in_home(
    catalog: &Catalog,
    kind: &str,
    key: &str,
    text: &str,
    from: &dyn SecretSource,
) -> Option<String> {
    let rest = text.trim().strip_prefix("~/")?;
    let names_a_file = |row: &Key| row.answers_to(key.trim()) && row.kind.reach() == Reach::File;
    let is_file = catalog.keys_of(kind).any(names_a_file);
    from.home().filter(|_| is_file).map(|home| format!("{home}/{rest}"))
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
            for secret in in_urls(text).into_iter().rev() {
                text.replace_range(secret, "***");
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
    // What a later value has replaced, and what stands in comments or in keys that nobody reads, is none of the workload's.
    stars_over_secrets(catalog, &Secrets::of(catalog, workload).hide(&text))
}

/// The text with stars in place of what looks like the value of a secret key, letter for letter, so that places in it stay what
/// they are. For showing where a mistake stands: also a text that makes no workload has secrets in it.
#[must_use]
pub fn stars_over_secrets(catalog: &Catalog, text: &str) -> String {
    let mut places = in_urls(text);
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
        let length = length_of(value, ends);
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

/// How long a value is that ends at one of these signs, where it is not written with an escape: `\"`, `''` or `&apos;`.
fn length_of(value: &str, ends: &[char]) -> usize {
    let is_quoted = |quote| ends.first() == Some(&quote);
    let mut from = 0;
    while let Some(at) = value.get(from..).and_then(|rest| rest.find(ends)).map(|at| from + at) {
        let (before, end) = value.split_at(at);
        let slashes = before.len() - before.trim_end_matches('\\').len();
        let entity = before.rsplit_once('&').map(|(_, name)| name);
        let is_name = |name: &str| {
            (1..=10).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#')
        };
        from = match end.as_bytes() {
            [b'"', ..] if is_quoted('"') && slashes % 2 == 1 => at + 1,
            [b'\'', b'\'', ..] if is_quoted('\'') => at + 2,
            [b';', ..] if entity.is_some_and(is_name) => at + 1,
            _ => return at,
        };
    }
    value.len()
}

fn hide_places(catalog: &Catalog, source: &str, workload: &Workload) -> String {
    let mut places: Vec<(usize, usize)> = Vec::new();
    for spec in specs(workload) {
        for entry in &spec.config.entries {
            let ConfigValue::Text(value) = &entry.value else { continue };
            let end = entry.span.start.saturating_add(entry.span.len);
            let Some(stretch) = source.get(entry.span.start..end) else { continue };
            let found = if !value.is_empty() && catalog.is_secret(&spec.kind, &entry.key) {
                vec![value_in(stretch)]
            } else {
                in_urls(stretch)
            };
            let found = found.into_iter().filter(|place| !place.is_empty());
            places.extend(found.map(|place| (entry.span.start + place.start, entry.span.start + place.end)));
        }
    }
    places.sort_unstable();
    // What one reader of an entry calls a login may be a part of what another calls a secret.
    let mut apart: Vec<(usize, usize)> = Vec::new();
    for (start, end) in places {
        match apart.last_mut().filter(|last| start < last.1) {
            Some(last) => last.1 = last.1.max(end),
            None => apart.push((start, end)),
        }
    }
    let mut hidden = source.to_owned();
    for (start, end) in apart.into_iter().rev() {
        hidden.replace_range(start..end, "***");
    }
    Secrets::of(catalog, workload).hide(&hidden)
}

/// Where the value of an entry stands in the text of it, without its quotes. The value as it was read is not looked for: the file
/// may have it with escapes, over several lines or by an alias.
fn value_in(entry: &str) -> Range<usize> {
    let start = entry.find([':', '=']).map_or(0, |sign| sign + 1);
    let behind = entry.get(start..).unwrap_or_default();
    let value = behind.trim();
    let start = start + behind.len() - behind.trim_start().len();
    let is_quoted = |quote: char| {
        value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
            .is_some_and(|rest| !rest.is_empty())
    };
    let quotes = usize::from(is_quoted('"') || is_quoted('\''));
    start + quotes..start + value.len() - quotes
}

#[cfg(test)]
mod tests {
    use cosmark_adaptor_api::Stars;
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    use super::{SecretSource, Secrets, hide_in_source, resolve, stars_over_secrets};
    use crate::catalog::tests::STORES;

    /// Hides what is secret in a text whose storage has this secret key, and gives the value that was read of it.
    fn hidden(source: &str, name: &str) -> (String, String) {
        let read =
            parse_what_is_there(source, Format::detect(name, source), &Environment::default()).0.unwrap();
        let entries = &read.stages[0].works[0].storage.config.entries;
        let value = entries.iter().find(|entry| entry.key == "secretkey").map(|entry| &entry.value);
        let Some(cosmark_workload::model::ConfigValue::Text(value)) = value else { panic!("{read:?}") };
        (hide_in_source(&STORES, source, name, &read), value.clone())
    }

    #[test]
    fn a_secret_is_hidden_in_the_source_however_it_is_spelt_there() {
        let work = "works: [{name: w, workers: 1, runtime: 1s, operations: [{type: list}]}]";
        for (entry, value, leak) in [
            ("secretkey: plainpass", "plainpass", "plain"),
            ("secretkey: 'pa''ss'", "pa'ss", "pa'"),
            (r#"secretkey: "pa\"ss\\word""#, r#"pa"ss\word"#, "word"),
            (r#"secretkey: "\x70\x61ss1""#, "pass1", "x70"),
            (r#""secretkey": "a\u0062""#, "ab", "u0062"),
            ("secretkey: |\n    first\n    second", "first\nsecond", "first"),
            ("secretkey: >-\n    first\n    second", "first second", "first"),
            ("secretkey: first\n    second", "first second", "first"),
            ("note: &p 'pa''ss'\n  secretkey: *p", "pa'ss", "pa'"),
            ("secretkey: ke", "ke", "ke\n"),
        ] {
            let source = format!(
                "name: n\nstorage:\n  type: s3\n  accesskey: AKID\n  {entry}\nstages:\n  - name: s\n    {work}\n"
            );
            let (shown, read) = hidden(&source, "w.yaml");
            assert_eq!(read, value, "{source}");
            assert!(!shown.contains(leak) && shown.contains("AKID") && shown.contains("***"), "{shown}");
            assert!(shown.contains("secretkey"), "{shown}");
        }
        for (written, value, leak) in [
            ("plainpass", "plainpass", "plain"),
            ("pa&gt;ss", "pa>ss", "pa&"),
            ("p&apos;ass", "p'ass", "ass"),
            ("&#x61;bcd", "abcd", "x61"),
            ("abc&#x64;", "abcd", "x64"),
            ("&quot;p&quot;", "\"p\"", "quot"),
        ] {
            let source = format!(
                "<workload name=\"n\"><storage type=\"s3\" config=\"accesskey=AKID;secretkey={written};endpoint=http://h\"/>\
                 <workflow><workstage name=\"s\"><work name=\"w\" workers=\"1\" runtime=\"1\"><operation type=\"list\"/>\
                 </work></workstage></workflow></workload>"
            );
            let (shown, read) = hidden(&source, "w.xml");
            assert_eq!(read, value, "{source}");
            assert!(!shown.contains(leak), "{shown}");
            assert!(shown.contains("accesskey=AKID;secretkey=***;endpoint=http://h\""), "{shown}");
        }
    }

    #[test]
    fn a_secret_that_the_workload_has_not_is_hidden_in_the_source_as_well() {
        let xml = "<workload name=\"n\" config=\"password=OfAll77\"><!-- <storage config=\"secretkey=Old77;endpoint=http://prod\"/> -->\
                   <storage type=\"s3\" config=\"secretkey=First77;accesskey=AKID;secretkey=Second77;endpoint=http://h\"/><workflow>\
                   <workstage name=\"s\"><work name=\"w\" workers=\"1\" runtime=\"1\" config=\"secretkey=OfWork77\"><operation \
                   type=\"list\"/></work></workstage></workflow></workload>";
        let yaml = "name: n\n# storage: {type: s3, secretkey: Old77}\nstorage: {type: s3, accesskey: AKID, secretkey: Now77}\nstages:\n  \
                    - name: s\n    works: [{name: w, workers: 1, runtime: 1s, operations: [{type: list}]}]\n";
        for (source, name) in [(xml, "w.xml"), (yaml, "w.yaml")] {
            let (shown, _) = hidden(source, name);
            assert!(
                !shown.contains("77") && shown.contains("AKID") && shown.contains("secretkey"),
                "{shown}"
            );
        }
    }

    #[test]
    fn a_token_in_an_address_of_a_machine_is_hidden_like_a_login() {
        let source = "name: n\nstorage: {type: s3, endpoint: 'http://h/v1?temp_url_sig=51gned&x=1'}\n\
                      nodes:\n  - {name: a, type: prometheus, url: 'http://u:word@h/m?x=1&token=t0ken'}\n\
                      stages:\n  - name: s\n    works: [{name: w, workers: 1, runtime: 1s, operations: [{type: list}]}]\n";
        let format = Format::detect("w.yaml", source);
        let read = parse_what_is_there(source, format, &Environment::default()).0.unwrap();
        let shown = hide_in_source(&STORES, source, "w.yaml", &read);
        assert!(shown.contains("url: 'http://***@h/m?x=1&token=***'}"), "{shown}");
        assert!(shown.contains("endpoint: 'http://h/v1?temp_url_sig=***&x=1'}"), "{shown}");
        let copy = super::hidden(&STORES, &read);
        let entries = &copy.nodes[0].source.config.entries;
        let url = entries.iter().find(|entry| entry.key == "url").map(|entry| entry.value.clone());
        let Some(cosmark_workload::model::ConfigValue::Text(url)) = url else { panic!("{copy:?}") };
        assert_eq!(url, "http://***@h/m?x=1&token=***");
        let said = Secrets::of(&STORES, &read)
            .hide("h: no user u:word, no t0ken here: word, and temp_url_sig=51gned");
        assert_eq!(said, "h: no user ***, no *** here: ***, and temp_url_sig=***");
    }

    #[test]
    fn a_secret_that_is_an_ordinary_word_spoils_neither_the_source_nor_the_address() {
        let source = "name: a test of prod\nstorage:\n  type: s3\n  endpoint: 'http://u:prod@prod.example:9000/x'\n  \
                      secretkey: test\nnodes:\n  - {name: a, type: prometheus, url: 'http://prod:9100/m?token=9100'}\n\
                      stages:\n  - name: test-1\n    works: [{name: w, workers: 1, runtime: 1s, operations: [{type: list}]}]\n";
        let (shown, _) = hidden(source, "w.yaml");
        for line in [
            "name: a test of prod\n",
            "endpoint: 'http://***@prod.example:9000/x'\n",
            "secretkey: ***\n",
            "url: 'http://prod:9100/m?token=***'}",
            "- name: test-1\n",
        ] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
    }

    /// Somebody with a home, or without one, and with nothing else.
    struct Somebody(Option<&'static str>);

    impl SecretSource for Somebody {
        fn variable(&self, _name: &str) -> Result<String, String> {
            Err("which is not there".to_owned())
        }

        fn file(&self, _path: &str) -> Result<String, String> {
            Err("which is not there".to_owned())
        }

        fn named(&self, _name: &str) -> Result<String, String> {
            Err("which is not there".to_owned())
        }

        fn habitual(&self, _name: &str) -> Option<String> {
            None
        }

        fn home(&self) -> Option<String> {
            self.0.map(str::to_owned)
        }
    }

    #[test]
    fn a_file_in_the_home_directory_is_found_there_by_whoever_has_one() {
        let source = "name: n\nstorage: {type: s3, ca_file: ~/own/ca.pem, accesskey: ~/word}\nstages:\n  - name: s\n    works: \
                      [{name: w, workers: 1, runtime: 1s, operations: [{type: list}]}]\n";
        let seen = |home: Option<&'static str>, key: &str| {
            let format = Format::detect("w.yaml", source);
            let mut read = parse_what_is_there(source, format, &Environment::default()).0.unwrap();
            resolve(&STORES, &mut read, &Somebody(home)).unwrap();
            let entries = &read.stages[0].works[0].storage.config.entries;
            let value = entries.iter().find(|entry| entry.key == key).map(|entry| entry.value.clone());
            let Some(cosmark_workload::model::ConfigValue::Text(value)) = value else { panic!("{read:?}") };
            value
        };
        assert_eq!(seen(Some("/its/home"), "ca_file"), "/its/home/own/ca.pem");
        assert_eq!(seen(Some("/its/home"), "accesskey"), "~/word", "no file");
        assert_eq!(seen(None, "ca_file"), "~/own/ca.pem");
    }

    #[test]
    fn a_secret_with_escapes_has_stars_to_its_end_where_a_mistake_is_shown() {
        for (text, shown) in [
            ("password: plain, x: y", "password: *****, x: y"),
            (r#"password: "a\"b\\", x: y"#, r#"password: "******", x: y"#),
            ("password: 'a''b', x: y", "password: '****', x: y"),
            ("password=a&gt;b&#x41;;x=y", "password=************;x=y"),
            ("password=a;b;x=y", "password=*;b;x=y"),
            ("password: \"a", "password: \"*"),
            ("url: http://u:p@h/m?token=ab, x: y", "url: http://***@h/m?token=**, x: y"),
        ] {
            assert_eq!(stars_over_secrets(&STORES, text), shown);
        }
    }

    #[test]
    fn a_secret_is_hidden_wherever_else_it_stands_with_escapes() {
        let value = r#"a'b"c>d\e&f"#;
        let secrets = Secrets { stars: Stars::new(super::forms_of(value), Vec::new()) };
        for text in [
            value,
            r#"'a''b"c>d\e&f'"#,
            r#""a'b\"c>d\\e&f""#,
            r#"x="a'b&quot;c>d\e&amp;f""#,
            r#"x="a&apos;b&quot;c&gt;d\e&amp;f""#,
            r#"x='a&#39;b"c>d\e&amp;f'"#,
            "?p=a%27b%22c%3Ed%5Ce%26f",
        ] {
            let shown = secrets.hide(text);
            assert!(shown.contains("***") && !shown.contains('a') && !shown.contains('f'), "{text}: {shown}");
        }
    }
}
