//! `cosmark clean`: removes from a store what a run left there, and nothing else.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cosmark_adaptor_api::{Key, Reach};
use cosmark_archive::{EventKind, EventRecord, Run, RunState, StageRecord, StageState, add_note, open_run};
use cosmark_driver::clean::{CleanedContainer, Cleaning, Written};
use cosmark_driver::secrets;
use cosmark_metrics::Phase;
use cosmark_workload::leftovers::{leftovers, probed_leftovers, written_names};
use cosmark_workload::logins::without_logins;
use cosmark_workload::model::target::PLACES;
use cosmark_workload::model::{ConfigValue, TargetSpec};
use cosmark_workload::{Target, Workload};
use serde_json::{Value, json};

use crate::args::CleanArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::load::{load_again, load_target};
use crate::registry::{CATALOG, READING};
use crate::runs::find;
use crate::secrets::Own;
use crate::signals;
use crate::units::grouped;

/// What stands in an archive in place of a secret.
const HIDDEN: &str = "***";

/// Runs the subcommand.
pub fn run(args: &CleanArgs) -> Outcome {
    let directory = find(&args.run, &args.archive)?;
    let run = open_run(&directory)?;
    if run.record.state == RunState::Running {
        return Err(Problem::usage(format!(
            "{} still runs; end it first (Ctrl-C, or `cosmark cancel`)",
            run.record.id
        )));
    }
    if let Some(maker) = run.record.made_by.as_deref().or(run.record.fio.as_ref().map(|_| "fio")) {
        return Err(Problem::usage(format!(
            "{} is a run of {maker}, and what that wrote is not known here: Cosmark removes what its own runs wrote",
            run.record.id
        )));
    }
    let workload = workload_of(&run, args.target.as_deref(), args.another_address)?;
    let begun = |stage: usize| run.record.stages.get(stage).is_some_and(was_begun);
    let mut left = leftovers(&workload, &begun);
    let stages = run.record.stages.iter().enumerate().filter(|(_, stage)| was_begun(stage));
    left.extend(stages.flat_map(|(at, stage)| probed_leftovers(&workload, at, &stage.containers.created)));
    let written = written(&run, &workload);
    let begun = || run.record.stages.iter().filter(|stage| was_begun(stage)).map(|stage| &stage.containers);
    let begins = || begin(&run, BY_CLEAN);
    let cleaning = Cleaning {
        catalog: CATALOG,
        leftovers: &left,
        written: written.as_ref(),
        created: begun().flat_map(|containers| containers.created.iter().cloned()).collect(),
        found: begun().flat_map(|containers| containers.found.iter().cloned()).collect(),
        containers: args.containers,
        dry_run: args.dry_run,
        asked: AtomicU64::new(0),
        begins: &begins,
    };
    let runtime = crate::host::runtime()?;
    let quiet = args.json;
    let mut tell = |cleaned: &CleanedContainer| {
        if !quiet && has_news(cleaned) {
            eprintln!("{}", line(cleaned, args.dry_run));
        }
    };
    let done = runtime.block_on(async {
        tokio::select! {
            done = cleaning.run(&mut tell) => Some(done),
            () = signals::first() => None,
        }
    });
    let cleaned = match done {
        Some(Ok(cleaned)) => cleaned,
        Some(Err(why)) => return Ok(ended_early(&run, &cleaning, &why, Exit::Target)),
        None => return Ok(ended_early(&run, &cleaning, "ended early", Exit::Cancelled)),
    };
    if !args.dry_run {
        let objects: u64 = cleaned.iter().map(|one| one.objects).sum();
        let containers = cleaned.iter().filter(|one| one.removed).count();
        let failed: u64 = cleaned.iter().map(|one| one.failed).sum();
        let what = format!("{} objects and {containers} containers{}", grouped(objects), maybe(failed));
        remember(&run, BY_CLEAN, cleaning.asked.load(Ordering::Relaxed), objects + failed, &what);
    }
    show(&run, &cleaned, args)?;
    let failed = cleaned.iter().any(|one| one.failed > 0);
    Ok(if failed { Exit::Target } else { Exit::Done })
}

/// Says how far it came, and writes it down in the run.
fn ended_early(run: &Run, cleaning: &Cleaning<'_>, why: &str, exit: Exit) -> Exit {
    let asked = cleaning.asked.load(Ordering::Relaxed);
    let what = format!("up to {} objects, and was ended early", grouped(asked));
    remember(run, BY_CLEAN, asked, asked, &what);
    let far = if asked == 0 { "nothing was removed" } else { "not all was removed: repeat the command" };
    eprintln!("cosmark: {why}; {far}");
    exit
}

/// How the note of a run begins of which objects were removed by this command.
const BY_CLEAN: &str = "`cosmark clean`";
/// The same of a data set that the run wrote.
pub const BY_DATASETS: &str = "`cosmark datasets clean`";
/// What such a note goes on with: before the first object is removed, where none was, and how many were.
const BEGINS: &str = " begins to remove objects";
const NOTHING: &str = " removed nothing";
const REMOVED: &str = " removed ";

/// Writes down in a run that objects of it are about to be removed, where none were: a process that is killed in it says no more.
pub fn begin(run: &Run, by: &str) {
    if removal(run).is_none() {
        write_down(run, &format!("{by}{BEGINS}"));
    }
}

/// Writes down in a run what was removed of it, if any `objects` were or may have been: who reads it back later finds nothing there.
/// `asked`: so many were to be removed.
pub fn remember(run: &Run, by: &str, asked: u64, objects: u64, what: &str) {
    if objects > 0 {
        write_down(run, &format!("{by}{REMOVED}{what}"));
    } else if asked > 0 && removal(run).is_none() {
        write_down(run, &format!("{by}{NOTHING}"));
    }
}

/// What is said of objects whose removal failed: a request without an answer may have removed its object.
pub fn maybe(failed: u64) -> String {
    if failed == 0 { String::new() } else { format!(", and may have removed {} more", grouped(failed)) }
}

fn write_down(run: &Run, text: &str) {
    if let Err(error) = add_note(&run.path, text) {
        eprintln!("cosmark: {error}; what was removed is not written down in {}", run.record.id);
    }
}

/// The last note of what was removed of a run, or was about to be by a process that said no more.
pub fn removal(run: &Run) -> Option<&EventRecord> {
    let (mut removed, mut begun) = (None, None);
    for event in run.record.events.iter().filter(|event| event.kind == EventKind::Note) {
        let rest = [BY_CLEAN, BY_DATASETS].iter().find_map(|by| event.text.strip_prefix(by));
        match rest {
            Some(rest) if rest.starts_with(BEGINS) => begun = Some(event),
            Some(rest) if rest.starts_with(NOTHING) => begun = None,
            Some(rest) if rest.starts_with(REMOVED) => (removed, begun) = (Some(event), None),
            _ => {}
        }
    }
    begun.or(removed)
}

/// A stage whose load was never on has left nothing.
fn was_begun(stage: &StageRecord) -> bool {
    stage.history.iter().any(|change| change.state == StageState::Running)
}

/// Of more names than these the operation log is not asked: what may have been written has to do.
const MOST_NAMES: usize = 5_000_000;

/// What the run wrote or tried to, by its operation log; `None` where that has not everything: rows of a driver that was lost, or of a
/// process that was killed, are missing.
fn written(run: &Run, workload: &Workload) -> Option<Written> {
    let record = &run.record;
    let whole =
        |stage: &StageRecord| stage.cut_s.is_none() && stage.missing.is_empty() && stage.state.is_over();
    if record.state == RunState::Killed || !record.stages.iter().all(whole) {
        return None;
    }
    // Every writing operation by how the log calls it.
    let mut known = HashMap::new();
    let mut due = HashMap::new();
    for (index, (stage, row)) in workload.stages.iter().zip(&record.stages).enumerate() {
        let operations = stage.works.iter().flat_map(|work| work.operations.iter().map(move |op| (work, op)));
        for ((work, operation), result) in operations.zip(&row.operations) {
            let key = (stage.id(index), work.name.clone(), operation.name.clone());
            *due.entry(key.clone()).or_insert(0) += result.ok + result.failed;
            if known.insert(key, written_names(operation)).is_some() {
                return None;
            }
        }
    }
    let (mut names, mut many) = (Written::new(), 0);
    for row in run.operations().ok()?? {
        let row = row.ok()?;
        let key = (row.stage.to_string(), row.work.to_string(), row.operation.to_string());
        let rules = known.get(&key)?;
        if row.phase == Phase::Window {
            let left = due.get_mut(&key)?;
            *left = left.checked_sub(1)?;
        }
        let Some((containers, objects)) = rules else { continue };
        let container = containers.name_of(row.sample.container)?;
        let object = objects.name_of(row.sample.object)?;
        many += usize::from(names.entry(container).or_default().insert(object));
        if many > MOST_NAMES {
            return None;
        }
    }
    due.values().all(|left: &u64| *left == 0).then_some(names)
}

/// What was run, with the secrets that the archive does not have. `anywhere`: the target may be another store.
///
/// # Errors
/// When it is not known, or not this store.
pub fn workload_of(run: &Run, target: Option<&Path>, anywhere: bool) -> Result<Workload, Problem> {
    let id = &run.record.id;
    let source = run.workload_yaml()?.ok_or_else(|| {
        Problem::usage(format!("{id} has no workload.yaml: what it would have written is not known"))
    })?;
    let target = target.map(|path| load_target(&READING, path)).transpose()?;
    let shown = format!("workload.yaml of {id}");
    let load = |target: Option<&Target>| load_again(&READING, &source, &shown, "workload.yaml", target);
    let mut workload = load(target.as_ref())?;
    let works = workload.stages.iter().flat_map(|stage| &stage.works);
    let hidden = works
        .flat_map(|work| [&work.auth, &work.storage])
        .flat_map(|spec| &spec.config.entries)
        .find(|entry| matches!(&entry.value, ConfigValue::Text(text) if text.contains(HIDDEN)));
    if let Some(entry) = hidden {
        return Err(Problem::usage(format!(
            "the archive does not keep the secret `{}`; give the store and its login with --target FILE",
            entry.key
        )));
    }
    let is_code = |row: &Key| row.kind.reach() == Reach::Library;
    if let Some(key) = key_in(&workload, is_code).filter(|_| target.is_none()) {
        return Err(Problem::usage(format!(
            "workload.yaml of {id} names code that would be run here (`{key}`), and may come from somebody else: give the store \
             and its login with --target FILE"
        )));
    }
    if let Some(key) = key_in(&workload, |row| LOGINS.contains(&row.name)).filter(|_| target.is_none()) {
        return Err(Problem::usage(format!(
            "workload.yaml of {id} names a file of this machine with which to log in (`{key}`), and may come from somebody else: \
             give the store and its login with --target FILE"
        )));
    }
    let as_archived = targets_of(&workload);
    secrets::resolve(&CATALOG, &mut workload, &Own).map_err(Problem::usage)?;
    if let Some(key) = added(&as_archived, &targets_of(&workload)).filter(|_| target.is_none()) {
        return Err(Problem::usage(format!(
            "workload.yaml of {id} would have this user's environment or files say `{key}`, and send it where that file says; a \
             run leaves no such thing, so it may come from somebody else: give the store and its login with --target FILE"
        )));
    }
    // Where it leads is known now: also where the environment, a file or nothing at all says it.
    if let Some(other) = another_store(&load(None)?, &workload).filter(|_| !anywhere) {
        return Err(Problem::usage(format!(
            "the target is another store than that of {id}: {other}; if both are addresses of one store, say --another-address"
        )));
    }
    Ok(workload)
}

/// Auth and storage of each work, in order.
fn targets_of(workload: &Workload) -> Vec<TargetSpec> {
    let works = workload.stages.iter().flat_map(|stage| &stage.works);
    works.flat_map(|work| [work.auth.clone(), work.storage.clone()]).collect()
}

/// Keys of files whose text, or a token that it is good for, is sent to where the same workload says.
const LOGINS: [&str; 2] = ["web_identity_token_file", "jsonkeyfile"];

/// A key of this kind that is given.
fn key_in(workload: &Workload, is_one: impl Fn(&Key) -> bool) -> Option<&'static str> {
    targets_of(workload).iter().find_map(|spec| {
        let is_given = |row: &&Key| spec.config.entries.iter().any(|entry| row.answers_to(entry.key.trim()));
        let mut found = CATALOG.keys_of(&spec.kind).filter(|row| is_one(row));
        found.find(is_given).map(|row| row.name)
    })
}

/// A key that got its value only here.
fn added(before: &[TargetSpec], after: &[TargetSpec]) -> Option<String> {
    before.iter().zip(after).find_map(|(before, after)| {
        let new = after.config.entries.iter().find(|entry| !before.config.entries.contains(entry));
        new.map(|entry| entry.key.trim().to_owned())
    })
}

/// What is different of the store that a run wrote to and the one where names like those of the run are to be deleted, whose
/// references are resolved.
fn another_store(ran: &Workload, given: &Workload) -> Option<String> {
    targets_of(ran).iter().zip(&targets_of(given)).find_map(|(ran, given)| {
        if type_of(&ran.kind) != type_of(&given.kind) {
            return Some(format!("it is of type {}, the run's of type {}", given.kind, ran.kind));
        }
        PLACES.iter().find_map(|place| {
            let (ran, given) = (place_of(ran, place), place_of(given, place));
            let is_secret = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(HIDDEN));
            if ran == given || is_secret(&ran) || is_secret(&given) {
                return None;
            }
            let shown = |text: Option<String>| text.unwrap_or_else(|| "not said".to_owned());
            Some(format!("its {place} is {}, the run's was {}", shown(given), shown(ran)))
        })
    })
}

/// The name by which the tables have a type that may be given by another.
fn type_of(kind: &str) -> String {
    let adaptor = CATALOG.adaptor(kind).map(|found| found.def.name);
    adaptor.or_else(|_| CATALOG.auth(kind).map(|found| found.def.name)).unwrap_or(kind).to_lowercase()
}

/// What a storage or auth says of a place, as it is used: by whatever spelling of the key, the last where it is given twice, or
/// what the tables say where it is not given. Without logins and in order, since several addresses are one store.
fn place_of(spec: &TargetSpec, place: &str) -> Option<String> {
    let row = CATALOG.keys_of(&spec.kind).find(|row| row.answers_to(place));
    let answers = |key: &str| row.map_or(key.eq_ignore_ascii_case(place), |row| row.answers_to(key));
    let given = spec.config.entries.iter().rev().filter(|entry| answers(entry.key.trim()));
    let mut given = given.map(|entry| match &entry.value {
        ConfigValue::Text(text) => text.trim().to_owned(),
        ConfigValue::Env(name) => format!("what the variable {name} said"),
        ConfigValue::File(path) => format!("what the file {path} said"),
        ConfigValue::Secret(name) => format!("what the secret {name} said"),
    });
    let text = given.find(|text| !text.is_empty()).or_else(|| row?.default.map(str::to_owned))?;
    let text = without_logins(&text);
    let mut addresses: Vec<String> = text.split(',').map(|one| plainly(one.trim())).collect();
    addresses.sort_unstable();
    Some(addresses.join(","))
}

/// An address in one spelling: scheme and host in lower case, without the last slash.
fn plainly(text: &str) -> String {
    let bare = match text.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (host, path) = rest.split_at(end);
            format!("{}://{}{path}", scheme.to_lowercase(), host.to_lowercase())
        }
        None => text.to_owned(),
    };
    bare.trim_end_matches('/').to_owned()
}

fn has_news(cleaned: &CleanedContainer) -> bool {
    cleaned.objects > 0
        || cleaned.others > 0
        || cleaned.removed
        || cleaned.note.is_some()
        || cleaned.failed > 0
}

/// What became of a container, one line.
pub fn line(cleaned: &CleanedContainer, dry_run: bool) -> String {
    let verb = if dry_run { "would be deleted" } else { "deleted" };
    let mut text = format!("{}: {} objects {verb}", cleaned.name, grouped(cleaned.objects));
    if cleaned.failed > 0 {
        text.push_str(&format!(", {} could not be", grouped(cleaned.failed)));
    }
    if cleaned.others > 0 {
        let more = if cleaned.others > cleaned.examples.len() as u64 { ", .." } else { "" };
        text.push_str(&format!(
            "; {} of others stay ({}{more})",
            grouped(cleaned.others),
            cleaned.examples.join(", ")
        ));
    }
    if cleaned.removed {
        text.push_str(if dry_run {
            "; the container would be removed"
        } else {
            "; the container is removed"
        });
    }
    if let Some(note) = &cleaned.note {
        text.push_str(&format!("; {note}"));
    }
    text
}

fn show(run: &Run, cleaned: &[CleanedContainer], args: &CleanArgs) -> Result<(), Problem> {
    let sum = |of: fn(&CleanedContainer) -> u64| cleaned.iter().map(of).sum::<u64>();
    let (objects, others, failed) = (sum(|one| one.objects), sum(|one| one.others), sum(|one| one.failed));
    let removed = cleaned.iter().filter(|one| one.removed).count();
    if args.json {
        let containers: Vec<Value> = cleaned
            .iter()
            .filter(|one| has_news(one))
            .map(|one| {
                json!({
                    "name": one.name, "objects": one.objects, "others": one.others, "examples": one.examples,
                    "failed": one.failed, "removed": one.removed, "note": one.note,
                })
            })
            .collect();
        let all = json!({
            "run": run.record.id, "dry_run": args.dry_run, "objects": objects, "others": others, "failed": failed,
            "containers_removed": removed, "containers": containers,
        });
        let text = serde_json::to_string_pretty(&all).map_err(|cause| Problem::ours(cause.to_string()))?;
        verbatim!("{text}");
        return Ok(());
    }
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    println!(
        "{}: {} objects and {removed} containers {verb}; {} objects of others stay{}",
        run.record.id,
        grouped(objects),
        grouped(others),
        if failed > 0 { format!("; {} could not be deleted", grouped(failed)) } else { String::new() }
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use cosmark_workload::{Environment, Format, parse};

    use super::*;

    /// A workload with these targets, and its references resolved where `here`.
    fn workload(targets: &str, here: bool) -> Workload {
        let text = format!(
            "name: n\n{targets}\nstages:\n  - name: s\n    \
             works: [{{name: w, workers: 1, runtime: 1s, operations: [{{type: list}}]}}]\n"
        );
        let (read, mistakes) = parse(&text, Format::Yaml, &Environment::default());
        let mut workload = read.unwrap_or_else(|| panic!("{mistakes:?}"));
        if here {
            secrets::resolve(&CATALOG, &mut workload, &Own).unwrap();
        }
        workload
    }

    #[test]
    fn an_archive_of_somebody_else_sends_no_file_and_no_variable_anywhere() {
        let place = tempfile::tempdir().unwrap();
        let secret = place.path().join("secret");
        std::fs::write(&secret, "hunter2\n").unwrap();
        let record = json!({"schema": 1, "cosmark": "0", "id": "w1", "name": "n", "description": null, "state": "finished",
            "reason": null, "seed": 1, "submitted": null, "started": null, "ended": null, "process": null});
        let run = Run { path: place.path().to_owned(), record: serde_json::from_value(record).unwrap() };
        let write = |name: &str, targets: String| {
            let stages = "name: n\nstages:\n  - {name: s, works: [{name: w, workers: 1, runtime: 1s, operations: [{type: list}]}]}\n";
            let text = if name == "workload.yaml" { targets + stages } else { targets };
            std::fs::write(place.path().join(name), text).unwrap();
        };
        let swift = |password: &str| {
            format!(
                "auth: {{type: swauth, auth_url: 'http://127.0.0.1:1/auth/v1.0', username: u, password: {password}}}\n\
                 storage: {{type: swift}}\n"
            )
        };
        write("target.yaml", swift("own"));
        let target = place.path().join("target.yaml");
        for password in [format!("{{file: '{}'}}", secret.display()), "{env: PATH}".to_owned()] {
            write("workload.yaml", swift(&password));
            let why = workload_of(&run, None, true).unwrap_err().to_string();
            assert!(why.contains("`password`") && why.contains("--target FILE"), "{why}");
            let own = workload_of(&run, Some(target.as_path()), true).unwrap();
            let mut said = own.stages[0].works[0].auth.config.entries.iter().map(|entry| &entry.value);
            assert!(said.any(|value| *value == ConfigValue::Text("own".to_owned())), "{password}");
        }
        write("workload.yaml", swift("written"));
        assert!(workload_of(&run, None, true).is_ok());
        // Nor is code of his run.
        for (key, store) in
            [("path", "plugin, path: /x/y.so"), ("library", "librados, endpoint: h, library: /x/y.so")]
        {
            write("workload.yaml", format!("storage: {{type: {store}}}\n"));
            let why = workload_of(&run, None, true).unwrap_err().to_string();
            assert!(why.contains(&format!("`{key}`")) && why.contains("--target FILE"), "{why}");
            assert!(workload_of(&run, Some(target.as_path()), true).is_ok());
        }
        // Nor is a file sent whose path stands there as plain text.
        let secret = secret.display();
        for (key, targets) in [
            (
                "web_identity_token_file",
                format!(
                    "auth: {{type: aws, role_arn: r, web_identity_token_file: '{secret}', sts_endpoint: 'http://127.0.0.1:1'}}\n\
                     storage: {{type: s3, endpoint: 'http://127.0.0.1:1'}}\n"
                ),
            ),
            (
                "jsonkeyfile",
                format!("storage: {{type: gcs, json_key_file: '{secret}', url: 'http://127.0.0.1:1'}}\n"),
            ),
        ] {
            write("workload.yaml", targets);
            let why = workload_of(&run, None, true).unwrap_err().to_string();
            assert!(why.contains(&format!("(`{key}`)")) && why.contains("--target FILE"), "{why}");
            assert!(workload_of(&run, Some(target.as_path()), true).is_ok(), "{key}");
        }
    }

    #[test]
    fn a_removal_that_began_stands_until_it_is_known_that_nothing_was_removed() {
        let of = |notes: &[&str]| {
            let events: Vec<Value> = notes
                .iter()
                .map(
                    |text| json!({"at": "2026-11-27T05:00:00Z", "kind": "note", "stage": null, "text": text}),
                )
                .collect();
            let record = json!({"schema": 1, "cosmark": "0", "id": "w1", "name": "n", "description": null,
                "state": "finished", "reason": null, "seed": 1, "submitted": null, "started": null, "ended": null,
                "process": null, "events": events});
            let run = Run { path: "none".into(), record: serde_json::from_value(record).unwrap() };
            removal(&run).map(|event| event.text.clone())
        };
        let (begins, nothing) = (format!("{BY_CLEAN}{BEGINS}"), format!("{BY_CLEAN}{NOTHING}"));
        let removed = format!("{BY_DATASETS}{REMOVED}3 objects of set");
        assert_eq!(of(&["fan of node 3 swapped"]), None);
        assert_eq!(of(&[&begins]), Some(begins.clone()));
        assert_eq!(of(&[&begins, &nothing]), None);
        assert_eq!(of(&[&begins, &removed, "fan of node 3 swapped"]), Some(removed.clone()));
        assert_eq!(of(&[&removed, &begins, &nothing]), Some(removed));
    }

    #[test]
    fn a_target_is_another_store_however_its_place_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("url");
        std::fs::write(&file, "http://b:1\n").unwrap();
        let by_file = format!("storage: {{type: s3, endpoint: {{file: '{}'}}}}", file.display());
        for (ran, given, other) in [
            ("storage: {type: s3, endpoint: 'http://a:1'}", by_file.as_str(), Some("http://b:1")),
            ("storage: {type: s3, endpoint: 'http://b:1'}", by_file.as_str(), None),
            (
                "storage: {type: s3, endpoint: 'http://a:1'}",
                "storage: {type: s3, Endpoint: 'http://b:1'}",
                Some("http://a:1"),
            ),
            ("storage: {type: s3, endpoint: 'http://a:1'}", "storage: {type: s3}", Some("amazonaws")),
            ("storage: {type: s3}", "storage: {type: s3, endpoint: 'http://b:1'}", Some("amazonaws")),
            (
                "storage: {type: s3, endpoint: 'http://a:1, http://b:1/'}",
                "storage: {type: S3, ENDPOINT: 'http://u:p@B:1,http://a:1'}",
                None,
            ),
            (
                "storage: {type: webdav, endpoint: 'http://a:1'}",
                "storage: {type: webdav, url: 'http://b:1'}",
                Some("http://b:1"),
            ),
            ("storage: {type: gcs}", "storage: {type: gcs, url: 'http://b:1'}", Some("googleapis")),
            (
                "storage: {type: azure, endpoint: 'http://a:1/x'}",
                "storage: {type: azblob, url: 'http://b:1/x'}",
                Some("http://b:1/x"),
            ),
            (
                "storage: {type: azure, endpoint: 'http://a:1/x'}",
                "storage: {type: azblob, url: 'http://a:1/x'}",
                None,
            ),
            (
                "storage: {type: cdmi, endpoint: 'http://a:1'}",
                "storage: {type: cdmi, storage_url: 'http://b:1'}",
                Some("http://b:1"),
            ),
            (
                "auth: {type: swauth, url: 'http://a:1/auth'}\nstorage: {type: swift}",
                "auth: {type: swauth, auth_url: 'http://b:1/auth'}\nstorage: {type: swift}",
                Some("http://b:1/auth"),
            ),
            (
                "auth: {type: keystone, auth_url: 'http://a:1/v3'}\nstorage: {type: swift}",
                "auth: {type: keystone, URL: 'http://a:1/v3/'}\nstorage: {type: swift}",
                None,
            ),
            (
                "storage: {type: s3, endpoint: {env: OF_THE_RUN}}",
                "storage: {type: s3, endpoint: 'http://b:1'}",
                Some("OF_THE_RUN"),
            ),
            ("storage: {type: swift}", "storage: {type: s3}", Some("of type s3")),
        ] {
            let found = another_store(&workload(ran, false), &workload(given, true));
            let named = found.as_deref().map(|text| other.is_some_and(|other| text.contains(other)));
            assert_eq!(named, other.map(|_| true), "{ran} | {given}: {found:?}");
        }
    }
}
