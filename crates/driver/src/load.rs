//! From a text to a workload that this build can run: read, its types and keys checked against the tables, its target and
//! its settings applied. What is wrong comes as diagnostics; who asks decides how to show them.

use std::net::IpAddr;
use std::time::Duration;

use cosmark_adaptor_api::{
    Capability, Error, Key, KeyKind, KeyProblem, SessionPart, Settings, times_without_unit,
};
use cosmark_workload::check::check;
use cosmark_workload::diagnostics::{Mistakes, Span, sort};
use cosmark_workload::logins::{hosts_in, without_logins};
use cosmark_workload::model::{ConfigEntry, ConfigValue, OpKind, TargetSpec, Work};
use cosmark_workload::{
    Diagnostic, Environment, Format, NO_STORAGE, Severity, Target, Workload, apply_setting, apply_target,
    parse_target, parse_what_is_there, to_xml, to_yaml,
};

use crate::catalog::Catalog;
use crate::places::Address;

/// What a text says.
pub struct Reading {
    /// What to do, secrets still references; `None` when a mistake is an error.
    pub workload: Option<Workload>,
    /// Every mistake, by place.
    pub mistakes: Vec<Diagnostic>,
    /// Its format.
    pub format: Format,
}

/// Reads a workload, checks it, and puts `target` into it. `file_name` may tell the format.
#[must_use]
pub fn read_workload(
    catalog: &Catalog,
    environment: &Environment,
    source: &str,
    file_name: &str,
    target: Option<&Target>,
) -> Reading {
    let format = Format::detect(file_name, source);
    let (workload, mut mistakes) = parse_what_is_there(source, format, environment);
    if target.is_some_and(|target| target.storage.is_some()) {
        // The target is the answer to this one.
        mistakes.retain(|one| one.message != NO_STORAGE);
    }
    if let Some(workload) = &workload
        && target.is_none()
    {
        mistakes.extend(check_targets(catalog, workload, format));
        sort(&mut mistakes);
    }
    let is_refused = |mistakes: &[Diagnostic]| mistakes.iter().any(|one| one.severity == Severity::Error);
    let workload = workload.filter(|_| !is_refused(&mistakes)).map(|mut workload| {
        if let Some(target) = target {
            mistakes.extend(logins_that_stay(catalog, &workload, target));
            mistakes.extend(apply_target(&mut workload, target).err());
        }
        workload
    });
    mistakes.extend(workload.iter().flat_map(|workload| check_abilities(catalog, workload)));
    let workload = workload.filter(|_| !is_refused(&mistakes));
    Reading { workload, mistakes, format }
}

/// Reads a target file and checks it; `None` when a mistake is an error.
#[must_use]
pub fn read_target(catalog: &Catalog, text: &str) -> (Option<Target>, Vec<Diagnostic>) {
    let (target, mut mistakes) = parse_target(text);
    if let Some(target) = &target {
        for (what, spec) in [("auth", &target.auth), ("storage", &target.storage)] {
            mistakes.extend(spec.iter().flat_map(|spec| check_spec(catalog, what, spec, Format::Yaml)));
        }
        sort(&mut mistakes);
    }
    let refused = mistakes.iter().any(|one| one.severity == Severity::Error);
    (target.filter(|_| !refused), mistakes)
}

/// Applies `KEY=VALUE` settings and checks the workload again, and what its storages lack after them.
///
/// # Errors
/// A sentence that names the setting, or the storage.
pub fn apply_settings(catalog: &Catalog, workload: &mut Workload, settings: &[String]) -> Result<(), String> {
    for setting in settings {
        let applied = apply_setting(workload, setting);
        applied
            .and_then(|()| says_its_unit(catalog, workload, setting))
            .map_err(|text| format!("--set {}: {text}", without_secret(catalog, setting)))?;
    }
    lacking(catalog, workload)?;
    if settings.is_empty() {
        return Ok(());
    }
    match check(workload).into_iter().find(|one| one.severity == Severity::Error) {
        Some(mistake) => {
            let shown: Vec<String> = settings.iter().map(|one| without_secret(catalog, one)).collect();
            Err(format!("after --set {}: {}", shown.join(" --set "), mistake.message))
        }
        None => Ok(()),
    }
}

/// A setting as it is repeated: with stars in place of what is, or by its name may be, a secret, and without logins.
fn without_secret(catalog: &Catalog, setting: &str) -> String {
    let is_secret = |path: &str| {
        let key = path.rsplit('.').next().unwrap_or_default();
        catalog.names_a_secret(key) || catalog.is_secret("", key)
    };
    match setting.split_once('=').map(|(path, _)| path.trim()).filter(|path| is_secret(path)) {
        Some(path) => format!("{path}=***"),
        None => without_logins(setting),
    }
}

/// A setting of a storage or auth that is a time says its unit, whatever the workload was written in.
fn says_its_unit(catalog: &Catalog, workload: &Workload, setting: &str) -> Result<(), String> {
    let Some((path, value)) = setting.split_once('=') else { return Ok(()) };
    let of = |what: &str| path.trim().rsplit_once(&format!("{what}.")).map(|(_, key)| key);
    let works = workload.stages.iter().flat_map(|stage| &stage.works);
    for (what, spec) in works.flat_map(|work| [("auth", &work.auth), ("storage", &work.storage)]) {
        let Some(key) = of(what) else { continue };
        let (keys, _) = keys_of(catalog, what, spec).unwrap_or_default();
        if let Some(problem) = times_without_unit(keys, [(key, value)]).into_iter().next() {
            return Err(format!("{}: {}", problem.message, problem.hint.unwrap_or_default()));
        }
    }
    Ok(())
}

/// The workload in native YAML, as it is read again: times of storages and auths that say no unit, as in COSBench's XML, get
/// theirs, and keys of them that nobody knows, which XML only warns of, are left out. YAML with either would be refused.
#[must_use]
pub fn native_yaml(catalog: &Catalog, workload: &Workload) -> String {
    let mut workload = workload.clone();
    for (what, spec) in targets(&mut workload) {
        // Of a type that nobody knows nothing can be said.
        let (keys, has_unknown_keys) = keys_of(catalog, what, spec).unwrap_or((&[], true));
        spec.config.entries.retain(|entry| has_unknown_keys || !is_unknown(keys, entry));
        for entry in &mut spec.config.entries {
            if let ConfigValue::Text(text) = &mut entry.value
                && !times_without_unit(keys, [(entry.key.as_str(), text.as_str())]).is_empty()
            {
                *text = format!("{}ms", text.trim());
            }
        }
    }
    to_yaml(&workload)
}

/// The workload in COSBench XML, and what of it is lost there. Times of storages and auths are whole milliseconds without a
/// unit, which is all that COSBench reads.
#[must_use]
pub fn cosbench_xml(catalog: &Catalog, workload: &Workload) -> (String, Vec<Diagnostic>) {
    let mut workload = workload.clone();
    let mut lost: Vec<Diagnostic> = Vec::new();
    for (what, spec) in targets(&mut workload) {
        let (keys, _) = keys_of(catalog, what, spec).unwrap_or_default();
        for entry in &mut spec.config.entries {
            let ConfigValue::Text(text) = &mut entry.value else { continue };
            let Some(time) = time_of(keys, &entry.key, text) else { continue };
            if time.subsec_nanos() % 1_000_000 == 0 {
                *text = time.as_millis().to_string();
                continue;
            }
            let message = format!("COSBench reads whole milliseconds, not {}={text}", entry.key);
            let hint = "give a time of whole milliseconds if COSBench has to run the file";
            // Inherited elements are seen once for every work.
            if !lost.iter().any(|one| one.message == message && one.span.start == entry.span.start) {
                lost.push(Diagnostic::warning(entry.span, message).with_hint(hint));
            }
        }
    }
    let (xml, more) = to_xml(&workload);
    lost.extend(more);
    sort(&mut lost);
    (xml, lost)
}

/// Auth and storage of every work.
fn targets(workload: &mut Workload) -> impl Iterator<Item = (&'static str, &mut TargetSpec)> {
    let works = workload.stages.iter_mut().flat_map(|stage| &mut stage.works);
    works.flat_map(|work| [("auth", &mut work.auth), ("storage", &mut work.storage)])
}

/// True for a key that the table has not, and that says nothing of the store either.
fn is_unknown(keys: &'static [Key], entry: &ConfigEntry) -> bool {
    misnamed(keys, entry).is_some()
}

/// What is wrong with the name of a key, whatever its value is and wherever that comes from.
fn misnamed(keys: &'static [Key], entry: &ConfigEntry) -> Option<KeyProblem> {
    let (_, problems) = Settings::parse(keys, [(entry.key.as_str(), "")]);
    problems.into_iter().find(|problem| !problem.fatal)
}

/// The time that this key is given; `None` where it is no time, or none that can be read.
fn time_of(keys: &'static [Key], name: &str, text: &str) -> Option<Duration> {
    let key = keys.iter().find(|key| key.kind == KeyKind::Duration && key.answers_to(name.trim()))?;
    let (settings, _) = Settings::parse(keys, [(key.name, text)]);
    settings.duration(key.name).filter(|_| settings.is_given(key.name))
}

/// The keys of a storage or auth; true when it has further ones that are not known before code is loaded.
fn keys_of(catalog: &Catalog, what: &str, spec: &TargetSpec) -> Result<(&'static [Key], bool), String> {
    if what == "auth" {
        return catalog.auth(&spec.kind).map(|found| (found.def.keys, false));
    }
    let found = catalog.storage(&spec.kind, texts(spec))?;
    Ok((found.def.keys, found.has_unknown_keys))
}

/// Mistakes in the types and keys of auths and storages.
fn check_targets(catalog: &Catalog, workload: &Workload, format: Format) -> Vec<Diagnostic> {
    let mut mistakes = Mistakes::default();
    let is_same = |one: &TargetSpec, other: &TargetSpec| {
        one.span.start == other.span.start && one.span.len == other.span.len && one == other
    };
    let mut last: [Option<&TargetSpec>; 2] = [None, None];
    for work in workload.stages.iter().flat_map(|stage| &stage.works) {
        for ((what, spec), last) in
            [("auth", &work.auth), ("storage", &work.storage)].into_iter().zip(&mut last)
        {
            // Inherited elements are seen once for every work.
            if last.replace(spec).is_some_and(|last| is_same(last, spec)) {
                continue;
            }
            check_spec(catalog, what, spec, format).into_iter().for_each(|found| mistakes.push(found));
        }
    }
    mistakes.finish()
}

/// What is wrong with logins of the workload that stay, because the target has a storage alone.
fn logins_that_stay(catalog: &Catalog, workload: &Workload, target: &Target) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let Some(storage) = target.storage.as_ref().filter(|_| target.auth.is_none()) else { return diagnostics };
    // Of what is not known, a plugin whose code is not loaded, nothing is said.
    let Some(takes) = taken_by(catalog, storage) else { return diagnostics };
    for work in workload.stages.iter().flat_map(|stage| &stage.works) {
        let Ok(found) = catalog.auth(&work.auth.kind) else { continue };
        let Some(part) = found.def.gives else { continue };
        let is_used = takes.contains(&part);
        let found =
            if is_used { goes_elsewhere(work, storage) } else { Some(goes_for_nothing(work, storage)) };
        // Inherited elements are seen once for every work.
        let is_new = |one: &Diagnostic| {
            !diagnostics.iter().any(|known| known.message == one.message && known.span == one.span)
        };
        if let Some(one) = found.filter(is_new) {
            diagnostics.push(one);
        }
    }
    diagnostics
}

/// It would go to where the workload was at home, password and all, and the storage of the target never uses what comes of it.
fn goes_for_nothing(work: &Work, storage: &TargetSpec) -> Diagnostic {
    let message = format!(
        "the login of auth {} would still go to where this workload sends it, and storage {} of the target has no use for it",
        work.auth.kind, storage.kind
    );
    let hint = "add `auth: {type: none}` to the target file, or the auth that the store wants";
    Diagnostic::error(work.auth.span, message).with_hint(hint)
}

/// What comes of it, which may be the password itself, goes to a host that the workload does not name: it may be another's store.
fn goes_elsewhere(work: &Work, storage: &TargetSpec) -> Option<Diagnostic> {
    let named = |spec: &TargetSpec| -> Vec<String> {
        let hosts = texts(spec).flat_map(|(_, text)| hosts_in(text));
        let host_of =
            |address: Address| if is_this_machine(&address.host) { LOCAL.into() } else { address.host };
        hosts.filter_map(|host| Address::parse(&host)).map(host_of).collect()
    };
    let own: Vec<String> = [&work.auth, &work.storage].into_iter().flat_map(named).collect();
    let foreign = named(storage).into_iter().find(|host| !own.is_empty() && !own.contains(host))?;
    let message = format!(
        "the login of auth {} of this workload goes to {foreign}, which only the target names",
        work.auth.kind
    );
    let hint = "if that is another store, add the auth that it wants to the target file";
    Some(Diagnostic::warning(work.auth.span, message).with_hint(hint))
}

/// One of the names by which this machine calls itself; which one says nothing.
const LOCAL: &str = "localhost";

/// Source: RFC 6761 (`localhost`) and RFC 6890 (127.0.0.0/8, ::1).
fn is_this_machine(host: &str) -> bool {
    host == LOCAL || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The parts of a session that a storage uses with its settings; what of these is fetched later counts as not given.
fn taken_by(catalog: &Catalog, spec: &TargetSpec) -> Option<&'static [SessionPart]> {
    let found = catalog.storage(&spec.kind, texts(spec)).ok().filter(|found| !found.has_unknown_keys)?;
    let implied = found.alias.map_or(&[][..], |alias| alias.implied).iter().copied();
    let (settings, _) = Settings::parse(found.def.keys, implied.chain(texts(spec)));
    Some((found.def.takes)(&settings))
}

/// Operations that their storage cannot do, whatever its settings. What a setting takes away is found by the run.
fn check_abilities(catalog: &Catalog, workload: &Workload) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for work in workload.stages.iter().flat_map(|stage| &stage.works) {
        let Ok(found) = catalog.storage(&work.storage.kind, texts(&work.storage)) else { continue };
        for operation in &work.operations {
            let Some(lacks) = lacks(operation.kind, found.def.capability) else { continue };
            let (kind, word) = (&work.storage.kind, operation.kind.word());
            let message = format!("storage {kind} has no {lacks}: every {word} would fail");
            let hint = format!("leave the operation out; `cosmark adaptors {kind}` shows what it can do");
            let one = Diagnostic::error(operation.span, message).with_hint(hint);
            // A matrix repeats its stages.
            if !diagnostics.iter().any(|known| known.message == one.message && known.span == one.span) {
                diagnostics.push(one);
            }
        }
    }
    diagnostics
}

/// What an operation needs and a storage lacks.
fn lacks(kind: OpKind, can: Capability) -> Option<&'static str> {
    let missing = cosmark_engine::needs(kind).without(can);
    missing.rows().next().map(|row| row.lack)
}

/// Keys and values that are known before secrets are fetched.
pub(crate) fn texts(spec: &TargetSpec) -> impl Iterator<Item = (&str, &str)> {
    spec.config.entries.iter().filter_map(|entry| match &entry.value {
        ConfigValue::Text(text) => Some((entry.key.as_str(), text.as_str())),
        ConfigValue::Env(_) | ConfigValue::File(_) | ConfigValue::Secret(_) => None,
    })
}

/// Unknown keys are warnings in XML, as in COSBench, and errors in YAML.
fn check_spec(catalog: &Catalog, what: &str, spec: &TargetSpec, format: Format) -> Vec<Diagnostic> {
    let given: Vec<_> = spec
        .config
        .entries
        .iter()
        .filter_map(|entry| match &entry.value {
            ConfigValue::Text(text) => Some((entry, text.as_str())),
            ConfigValue::Env(_) | ConfigValue::File(_) | ConfigValue::Secret(_) => None,
        })
        .collect();
    let (keys, has_unknown_keys) = match keys_of(catalog, what, spec) {
        Ok(found) => found,
        Err(text) => return vec![type_error(spec.span, text)],
    };
    if has_unknown_keys {
        return check_plugin(keys, spec, &given);
    }
    let entries = || given.iter().map(|(entry, text)| (entry.key.as_str(), *text));
    let (_, mut problems) = Settings::parse(keys, entries());
    if format == Format::Yaml {
        problems.extend(times_without_unit(keys, entries()));
    }
    let of_texts = problems
        .into_iter()
        .map(|problem| (given.get(problem.entry).map_or(spec.span, |(entry, _)| entry.span), problem));
    // Of what is fetched later the names are known already: a secret under a wrong one would never be used.
    let later = spec.config.entries.iter().filter(|entry| !matches!(entry.value, ConfigValue::Text(_)));
    let of_names = later.filter_map(|entry| misnamed(keys, entry).map(|problem| (entry.span, problem)));
    of_texts
        .chain(of_names)
        .map(|(span, problem)| {
            let message = format!("{what} {}: {}", spec.kind, problem.message);
            let hint =
                problem.hint.or_else(|| Some(format!("`cosmark adaptors {}` lists its keys", spec.kind)));
            let severity =
                if problem.fatal || format == Format::Yaml { Severity::Error } else { Severity::Warning };
            Diagnostic { severity, span, message, hint }
        })
        .collect()
}

/// What the keys of the storages lack together, the first of it: settings may have added what was missing.
fn lacking(catalog: &Catalog, workload: &Workload) -> Result<(), String> {
    for stage in &workload.stages {
        for spec in stage.works.iter().map(|work| &work.storage) {
            let Err(error) = lacks_of(catalog, spec) else { continue };
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            return Err(format!("stage {}, storage {}: {}{hint}", stage.name, spec.kind, error.message()));
        }
    }
    Ok(())
}

/// A value that is fetched later counts as given where it can be any text; elsewhere nothing is known before it is.
fn lacks_of(catalog: &Catalog, spec: &TargetSpec) -> Result<(), Error> {
    let Ok((keys, false)) = keys_of(catalog, "storage", spec) else { return Ok(()) };
    let Ok(found) = catalog.storage(&spec.kind, texts(spec)) else { return Ok(()) };
    let alias = found.def.aliases.iter().find(|alias| alias.name.eq_ignore_ascii_case(&spec.kind));
    let mut entries: Vec<(&str, &str)> = alias.map_or(&[][..], |alias| alias.implied).to_vec();
    for entry in &spec.config.entries {
        let key = keys.iter().find(|key| key.answers_to(entry.key.trim()));
        match &entry.value {
            ConfigValue::Text(text) => entries.push((&entry.key, text)),
            _ if key.is_none_or(|key| key.kind == KeyKind::Text) => entries.push((&entry.key, "later")),
            _ => return Ok(()),
        }
    }
    (found.def.lacks)(&Settings::parse(keys, entries).0)
}

/// A plugin whose code is not loaded: of its keys only those that all plugins have are known.
fn check_plugin(keys: &'static [Key], spec: &TargetSpec, given: &[(&ConfigEntry, &str)]) -> Vec<Diagnostic> {
    let known = given.iter().filter(|(entry, _)| keys.iter().any(|key| key.answers_to(entry.key.trim())));
    let (_, problems) = Settings::parse(keys, known.map(|(entry, text)| (entry.key.as_str(), *text)));
    let wrong = problems.into_iter().filter(|problem| problem.fatal).map(|problem| {
        let message = format!("storage {}: {}", spec.kind, problem.message);
        Diagnostic { severity: Severity::Error, span: spec.span, message, hint: problem.hint }
    });
    let unknown = Diagnostic {
        severity: Severity::Warning,
        span: spec.span,
        message: format!(
            "storage {}: its own keys are not checked, since reading a workload loads no code",
            spec.kind
        ),
        hint: Some("`cosmark check FILE --plugins DIR` loads a library below DIR and checks them".to_owned()),
    };
    wrong.chain([unknown]).collect()
}

fn type_error(span: Span, text: String) -> Diagnostic {
    Diagnostic::error(span, text).with_hint("`cosmark adaptors` lists what this build speaks")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cosmark_adaptor_api::{AdaptorDef, AuthDef, null};

    use super::*;
    use crate::catalog::tests::STORES;

    const KEYS: &[Key] = &[
        Key::new("endpoint", KeyKind::Url, ""),
        Key::new("timeout", KeyKind::Duration, "").default("30s").alias(&["limit"]),
    ];

    const CATALOG: Catalog = Catalog {
        adaptors: &[AdaptorDef {
            name: "timed",
            aliases: &[],
            summary: "for tests",
            keys: KEYS,
            capability: Capability::of(&[]),
            open: |_| Ok(Arc::new(null::Null)),
            lacks: AdaptorDef::lacks_nothing,
            takes: AdaptorDef::takes_nothing,
        }],
        auths: &[AuthDef {
            name: "none",
            aliases: &[],
            summary: "",
            keys: &[],
            open: |_| unreachable!("nothing is opened here"),
            gives: None,
        }],
        ..STORES
    };

    fn read(text: &str) -> Reading {
        read_workload(&CATALOG, &Environment::default(), text, "", None)
    }

    fn xml(storage: &str) -> String {
        format!(
            r#"<workload name="w"><storage type="timed" config="{storage}"/><workflow><workstage name="s">
            <work type="init" workers="1" config="containers=r(1,2)"/></workstage></workflow></workload>"#
        )
    }

    #[test]
    fn what_xml_only_warns_of_makes_no_yaml_that_is_refused() {
        let from_xml = read(&xml("endpoint=http://h;colour=red;sut_ram=1GiB;timeout=30000"));
        assert!(
            from_xml.mistakes.iter().any(|one| one.message.contains("colour")),
            "{:?}",
            from_xml.mistakes
        );
        let yaml = native_yaml(&CATALOG, &from_xml.workload.unwrap());
        assert!(!yaml.contains("colour") && yaml.contains("sut_ram: 1GiB"), "{yaml}");
        let again = read(&yaml);
        assert!(again.workload.is_some(), "{:?}\n{yaml}", again.mistakes);
    }

    #[test]
    fn a_key_whose_value_is_fetched_later_is_known_by_its_name_all_the_same() {
        let yaml = |entries: &str| {
            read(&format!(
                "name: w\nstorage: {{type: timed, {entries}}}\nstages:\n  - name: s\n    works:\n      - {{type: init, \
                 workers: 1, containers: 'r(1,2)'}}\n"
            ))
        };
        for value in ["{env: COSMARK_NOWHERE}", "{file: /nowhere}", "{secret: nothing}"] {
            let wrong = yaml(&format!("endpiont: {value}"));
            let mistake = wrong.mistakes.iter().find(|one| one.message.contains("unknown key `endpiont`"));
            let mistake = mistake.unwrap_or_else(|| panic!("{value}: {:?}", wrong.mistakes));
            assert_eq!(mistake.severity, Severity::Error, "{value}");
            assert_eq!(mistake.hint.as_deref(), Some("did you mean `endpoint`?"), "{value}");
            assert!(mistake.span.len > 0 && wrong.workload.is_none(), "{value}: {mistake:?}");
            for right in ["endpoint", "limit", "sut_ram"] {
                let read = yaml(&format!("{right}: {value}"));
                assert!(read.workload.is_some(), "{right}: {value}: {:?}", read.mistakes);
            }
        }
    }

    #[test]
    fn mistakes_of_storages_are_counted_and_not_kept_without_end() {
        let keys = |stage: usize| (0..99).map(|at| format!(", k{stage}x{at}: v")).collect::<String>();
        let stage = |at: usize| {
            format!(
                "  - name: s{at}\n    storage: {{type: timed{}}}\n    works:\n      - {{type: init, workers: 1, \
                 containers: 'r(1,2)'}}\n",
                keys(at)
            )
        };
        let stages: String = (0..12).map(stage).collect();
        let found = read(&format!("name: w\nstages:\n{stages}")).mistakes;
        assert_eq!(found.len(), 1001);
        assert!(found.iter().any(|one| one.message == "more mistakes are not shown"), "{:?}", found.last());
    }

    #[test]
    fn what_is_wrong_with_a_setting_is_said_without_the_secrets_of_any() {
        for (settings, shown) in [
            (&["sorage.secretkey=hunter2"][..], "--set sorage.secretkey=***: "),
            (&["s.storage.passwrd_token=hunter2", "workers=0"], "=*** --set workers=0: "),
            (&["auth.password = hunter2", "workers=0"], "after --set auth.password=*** --set workers=0: "),
            (
                &["storage.endpoint=http://u:hunter2@h", "workers=0"],
                "after --set storage.endpoint=http://h --set ",
            ),
            (&["storage.timeout=5"], "--set storage.timeout=5: "),
        ] {
            let mut workload = read(&xml("endpoint=http://h")).workload.unwrap();
            let settings: Vec<String> = settings.iter().map(|&one| one.to_owned()).collect();
            let said = apply_settings(&CATALOG, &mut workload, &settings).unwrap_err();
            assert!(said.contains(shown) && !said.contains("hunter2"), "{said}");
        }
    }

    #[test]
    fn times_of_a_storage_come_back_as_cosbench_has_them() {
        let from_xml = read(&xml("timeout=30000")).workload.unwrap();
        let yaml = native_yaml(&CATALOG, &from_xml);
        assert!(yaml.contains("timeout: 30000ms"), "{yaml}");
        let from_yaml = read(&yaml).workload.unwrap();
        let (back, lost) = cosbench_xml(&CATALOG, &from_yaml);
        assert!(back.contains("timeout=30000\"") && lost.is_empty(), "{lost:?}\n{back}");
        for (given, written) in
            [("limit=2m", "limit=120000"), ("timeout=0", "timeout=0"), ("timeout=", "timeout=")]
        {
            let (back, lost) = cosbench_xml(&CATALOG, &read(&xml(given)).workload.unwrap());
            assert!(back.contains(&format!("{written}\"")) && lost.is_empty(), "{given}: {lost:?}\n{back}");
        }
        let (back, lost) = cosbench_xml(&CATALOG, &read(&xml("timeout=1500us")).workload.unwrap());
        assert!(back.contains("timeout=1500us"), "{back}");
        assert!(lost.len() == 1 && lost[0].message.contains("whole milliseconds"), "{lost:?}");
    }
}
