//! Studies on stores with known delays, and a study that is killed in a cell.

use std::fs;
use std::path::{Path, PathBuf};

use cosmark_archive::{RunRecord, RunState};
use cosmark_simstore::{Behaviour, Handle, SimStore};

use crate::eventually;
use crate::support::{cosmark, repository, run, signal, skipped, stderr, stdout};

const STUDY: &str = "name: planted
title: Three stores, one of them quick
question: Which store is quickest?
systems: [{name: slow}, {name: same}, {name: quick}]
factors:
  - {name: workers, within: true, levels: [2]}
scales:
  quick: {repetitions: {least: 5}}
  full: {repetitions: {least: 5}}
workload:
  before: |
    - {name: init, works: [{type: init, workers: 1, container_prefix: '${{ prefix }}', containers: 'r(1,1)'}]}
    - {name: prepare, works: [{type: prepare, workers: 2, container_prefix: '${{ prefix }}', containers: 'r(1,1)', objects: 'r(1,4)', sizes: c(1)KB}]}
  point: |
    - name: read-${{ workers }}
      works:
        - {name: main, workers: 2, runtime: 2500ms, operations: [{type: read, container_prefix: '${{ prefix }}', containers: 'u(1,1)', objects: 'u(1,4)'}]}
  after: |
    - {name: cleanup, works: [{type: cleanup, workers: 2, container_prefix: '${{ prefix }}', containers: 'r(1,1)', objects: 'r(1,4)'}]}
  measured: read-${{ workers }}
claims:
  - {id: P1, says: quick is the quickest, test: [{of: {where: {system: quick, op: read}}, to: {where: {system: slow, op: read}}, least: 1.5}]}
";

/// A store that answers reads after a fixed time, and its target.
fn store(directory: &Path, name: &str, delay_ms: u32) -> (Handle, PathBuf) {
    let behaviour =
        Behaviour::from_yaml(&format!("delay: [{{op: get, law: {{constant_ms: {delay_ms}}}}}]")).unwrap();
    let store = SimStore::start(behaviour, "127.0.0.1:0").unwrap();
    let target = directory.join(format!("{name}.yaml"));
    let url = store.url();
    let text = format!(
        "storage: {{type: s3, endpoint: \"{url}\", accesskey: a, secretkey: b, path_style_access: true}}\n"
    );
    fs::write(&target, text).unwrap();
    (store, target)
}

fn journal(directory: &Path) -> String {
    fs::read_to_string(directory.join("study-planted-quick/journal.jsonl")).unwrap_or_default()
}

/// What programs are given of the study has every run, with its figures and its directory.
fn is_whole_as_json(place: &Path) {
    let output = run(place, &["study", "status", "planted", "--json"]);
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all[0]["state"], "complete", "{all:#}");
    assert_eq!(all[0]["done"], all[0]["planned"]);
    let observations = all[0]["observations"].as_array().unwrap();
    let is_whole = |seen: &serde_json::Value| {
        seen["values"]["throughput_per_s"].as_f64() > Some(0.0)
            && place.join("study-planted-quick/archive").join(seen["run"].as_str().unwrap()).is_dir()
    };
    assert!(observations.len() >= 15 && observations.iter().all(is_whole), "{observations:#?}");
}

#[test]
fn a_study_that_is_killed_in_a_cell_goes_on_and_finds_the_planted_winner() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    fs::write(place.join("study.yaml"), STUDY).unwrap();
    // Long beside what a busy machine adds to each read, and cells long beside its pauses.
    let stores =
        [("slow", 80), ("same", 80), ("quick", 5)].map(|(name, delay)| (name, store(place, name, delay)));
    let systems: Vec<String> =
        stores.iter().map(|(name, (_, target))| format!("{name}={}", target.display())).collect();
    let mut args = vec!["study", "study.yaml", "--no-nodes"];
    systems.iter().for_each(|system| args.extend(["--system", system]));
    let mut child = cosmark(place).args(&args).spawn().unwrap();
    // Killed in its third cell.
    eventually("the third cell", || journal(place).matches("\"step\":\"begin\"").count() >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = journal(place).matches("\"step\":\"end\"").count();
    assert!((2..15).contains(&before), "{before}");
    // In which order the systems are named is nothing.
    let mut turned = vec!["study", "study.yaml", "--no-nodes"];
    systems.iter().rev().for_each(|system| turned.extend(["--system", system]));
    let output = run(place, &turned);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let steps = journal(place);
    let mut ends: Vec<&str> = steps
        .lines()
        .filter(|line| line.contains("\"step\":\"end\""))
        .map(|line| line.split("\"run\":\"").nth(1).unwrap().split('"').next().unwrap())
        .collect();
    ends.sort_unstable();
    let doubles = ends.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert_eq!((ends.len(), doubles), (15, 0), "{ends:?}");
    // On a busy machine a cell may be FALSE, and then nothing is shown; what is known is told.
    let report = fs::read_to_string(place.join("study-planted-quick/report.md")).unwrap();
    let row = |system: &str| {
        report.lines().find(|line| line.contains(&format!("| {system} / slow |"))).unwrap().to_owned()
    };
    let ratio = |system: &str| {
        let text = row(system).split("/ slow | ").nth(1).unwrap().to_owned();
        text.split([' ', '|']).next().unwrap().parse::<f64>().unwrap()
    };
    assert!(ratio("quick") > 1.5 && (0.5..2.0).contains(&ratio("same")), "{}\n{}", row("quick"), row("same"));
    let is_believed = !report.lines().any(|line| line.starts_with("| ") && line.contains("FALSE"));
    assert!(row("quick").contains("quick is faster") || !is_believed, "{report}");
    assert!(stdout(&output).contains("P1     agrees") || !is_believed, "{}\n{report}", stdout(&output));
    assert!(!stdout(&output).contains("disagrees"), "{}", stdout(&output));
    let html = fs::read_to_string(place.join("study-planted-quick/report.html")).unwrap();
    assert!(html.contains("<svg") || html.contains("<table"), "{}", &html[..200]);
    // What is there is complete: nothing is run a second time.
    let output = run(place, &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(journal(place), steps);
    let output = run(place, &["study", "status"]);
    assert!(stdout(&output).contains("planted --scale quick"), "{}", stdout(&output));
    is_whole_as_json(place);
    // Another store at the same path is another study; another password is not.
    let target = &stores[2].1.1;
    let text = fs::read_to_string(target).unwrap();
    fs::write(target, text.replace("secretkey: b", "secretkey: longer")).unwrap();
    assert_eq!(run(place, &args).status.code(), Some(0));
    fs::write(target, text.replace("path_style_access: true", "path_style_access: false")).unwrap();
    let output = run(place, &args);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("the target of quick was changed"), "{}", stderr(&output));
    fs::write(target, text).unwrap();
    // A run that was damaged since is not taken for one that was not run, and is run once more when that is asked for.
    let damaged = steps.split("\"place\":\"").nth(1).unwrap().split('"').next().unwrap();
    fs::write(place.join("study-planted-quick/archive").join(damaged).join("run.json"), "{\"sch").unwrap();
    // Its report takes the place of a link, as a directory from elsewhere may have one, and goes nowhere else.
    let (page, precious) = (place.join("study-planted-quick/report.html"), place.join("precious"));
    fs::write(&precious, "precious").unwrap();
    fs::remove_file(&page).unwrap();
    std::os::unix::fs::symlink(&precious, &page).unwrap();
    let output = run(place, &[&args[..], &["--report"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("cannot be read: {damaged}")), "{}", stderr(&output));
    assert!(!page.is_symlink() && fs::read_to_string(&precious).unwrap() == "precious");
    let report = fs::read_to_string(place.join("study-planted-quick/report.md")).unwrap();
    let is_named = |line: &str| line.contains("| FALSE |") && line.contains("its run cannot be read");
    assert!(report.lines().any(is_named), "{report}");
    // Numbers of one scale are no report of another.
    let other = ["--report", "--scale", "full", "--dir", "study-planted-quick"];
    let output = run(place, &[&args[..], &other].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("holds planted --scale quick"), "{}", stderr(&output));
    let output = run(place, &[&args[..], &["--retry"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(journal(place).matches("\"step\":\"end\"").count(), 16);
}

/// A study of one stage, `main`, that reads one container; `goals` stands in the stage, `work` in its work.
fn of_one_stage(name: &str, systems: &str, goals: &str, work: &str) -> String {
    format!(
        "name: {name}
title: one stage
question: what comes of it
systems: [{systems}]
factors: [{{name: size, levels: [1KB]}}]
scales: {{quick: {{}}}}
workload:
  head: |
    defaults: {{container_prefix: '${{{{ prefix }}}}', containers: 'r(1,1)', sizes: 'c(${{{{ size }}}})'}}
  before: |
    - {{name: init, works: [{{type: init, workers: 1}}]}}
    - {{name: prepare, works: [{{type: prepare, workers: 4, objects: 'r(1,20)'}}]}}
  point: |
    - name: main
      {goals}
      works:
        - {{name: main, {work}, operations: [{{type: read, containers: c(1), objects: 'u(1,20)'}}]}}
  after: |
    - {{name: cleanup, works: [{{type: cleanup, workers: 4, objects: 'r(1,20)'}}]}}
    - {{name: dispose, works: [{{type: dispose, workers: 1}}]}}
  measured: main
"
    )
}

/// A store with a behaviour, its target in a file, and its host and port.
fn behaving(directory: &Path, name: &str, behaviour: &str) -> (Handle, String, String) {
    let store = SimStore::start(Behaviour::from_yaml(behaviour).unwrap(), "127.0.0.1:0").unwrap();
    let url = store.url();
    let text = format!(
        "storage: {{type: s3, endpoint: \"{url}\", accesskey: a, secretkey: b, path_style_access: true}}\n"
    );
    fs::write(directory.join(format!("{name}.yaml")), text).unwrap();
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    (store, format!("{name}={name}.yaml"), address)
}

/// The files of all runs of a study's archive.
fn files(study: &Path) -> Vec<PathBuf> {
    let inside = |path: PathBuf| {
        let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path()).collect::<Vec<PathBuf>>()
    };
    let runs = inside(study.join("archive"));
    runs.into_iter().filter(|run| run.is_dir()).flat_map(inside).collect()
}

/// Whether one of them has this in its name.
fn has_file(study: &Path, part: &str) -> bool {
    let names = files(study).into_iter();
    let mut names = names.filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()));
    names.any(|name| name.contains(part))
}

/// What the runs of a study's archive say of their events.
fn logged(study: &Path) -> String {
    let logs = files(study).into_iter().filter(|file| file.ends_with("events.csv"));
    logs.filter_map(|log| fs::read_to_string(log).ok()).collect()
}

/// The rows of the report that begin so.
fn rows(study: &Path, start: &str) -> Vec<String> {
    let report = fs::read_to_string(study.join("report.md")).unwrap();
    report.lines().filter(|line| line.starts_with(start)).map(str::to_owned).collect()
}

fn journal_at(study: &Path) -> String {
    fs::read_to_string(study.join("journal.jsonl")).unwrap_or_default()
}

fn ends(study: &Path) -> usize {
    journal_at(study).matches("\"step\":\"end\"").count()
}

#[test]
fn a_study_of_searches_that_is_killed_in_one_finds_the_planted_knee_and_says_where_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    // 200 per second; and one that is too late for every rate.
    let known = behaving(place, "known", "capacity: {servers: 4, service_ms: 20}");
    let late = behaving(place, "late", "delay: [{op: get, law: {constant_ms: 900}}]");
    let goals = "thresholds: [p90 <= 400 ms]\n      search: {over: rate, steps: [100/s, 400/s], confirm: 0, max_trials: 8}";
    let work = "workers: 256, rampup: 500ms, runtime: 3s, rate: {rate: 100/s}";
    fs::write(place.join("study.yaml"), of_one_stage("knees", "{name: known}, {name: late}", goals, work))
        .unwrap();
    let args = ["study", "study.yaml", "--no-nodes", "--quiet", "--system", &known.1, "--system", &late.1];
    let study = place.join("study-knees-quick");
    let mut child = cosmark(place).args(args).spawn().unwrap();
    // Killed in its first search, behind its first trial.
    eventually("the first trial", || has_file(&study, "main-rate100"));
    child.kill().unwrap();
    child.wait().unwrap();
    let output = run(place, &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(ends(&study), 2);
    let report = fs::read_to_string(study.join("report.md")).unwrap();
    assert!(report.contains("## What searches found"), "{report}");
    let found = rows(&study, "| known | 1KB | read | 100 /s");
    // On a busy machine a client may be in trouble, which proves nothing and says so.
    let is_busy = report.contains("client itself");
    assert!(found.len() == 1 || is_busy, "{report}");
    // In what searches found, and among all cells, there behind the verdict.
    let found = rows(&study, "| late | 1KB | read | - (FALSE) |");
    let none = [found, rows(&study, "| late | 1KB | read | no load found | - (FALSE) |")].concat();
    let says = |row: &String| row.contains("no load met p90 \\<= 400 ms");
    assert!(none.len() == 2 && none.iter().all(says), "{none:?}\n{report}");
    // What is there is complete: no search is made a second time.
    let output = run(place, &args);
    assert_eq!((output.status.code(), ends(&study)), (Some(0), 2), "{}", stderr(&output));
}

#[test]
fn a_study_that_is_killed_in_a_cell_with_a_fault_goes_on_and_finds_the_planted_dip() {
    assert!(
        (0..4).any(|_| is_dip_found()),
        "four times the machine itself stood still before or in the slot"
    );
}

/// False where the machine of the test stood still: the slot is void because the rate had fallen before it, or more was lost in it
/// than was due while the proxy stood.
fn is_dip_found() -> bool {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let (_store, system, address) = behaving(place, "here", "delay: [{op: get, law: {constant_ms: 2}}]");
    let goals = format!(
        "faults: [{{name: stall, type: proxy, of: '{address}', stall: true, at: 28s, hold: 4s, slot: 11s, repeats: 1, keep: 4s}}]"
    );
    let work = "workers: 8, runtime: 40s, interval: 1s, rate: {rate: 100/s, when_full: drop}";
    fs::write(place.join("study.yaml"), of_one_stage("dips", "{name: here}", &goals, work)).unwrap();
    let args = ["study", "study.yaml", "--no-nodes", "--quiet", "--system", &system];
    let study = place.join("study-dips-quick");
    let mut child = cosmark(place).args(args).spawn().unwrap();
    eventually("the load", || logged(&study).contains("s3-main,load begins"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(ends(&study), 0);
    let output = run(place, &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(ends(&study), 1);
    let records = cosmark_archive::list(&study.join("archive")).unwrap().into_iter();
    let finished = |record: &RunRecord| record.state == RunState::Finished;
    let whole = records.map(|one| one.record.unwrap().unwrap()).find(finished).unwrap();
    let slot = &whole.stages[2].faults[0].slots[0];
    if slot.void.as_ref().is_some_and(|why| why.contains("had fallen before it, and without a fault")) {
        return false;
    }
    let depth = rows(&study, "| here | 1KB | Fault of stall: depth |");
    assert_eq!(depth.len(), 1, "{}", fs::read_to_string(study.join("report.md")).unwrap());
    let value = depth[0].split("depth | ").nth(1).unwrap().split([' ', '|']).next().unwrap();
    // Nothing is answered for four of the ten seconds over which a depth is a mean.
    assert!(value.parse::<f64>().unwrap() > 0.25, "{depth:?}");
    let lost = rows(&study, "| here | 1KB | Fault of stall: operations lost |");
    let value = lost[0].split("lost | ").nth(1).unwrap().split([' ', '|']).next().unwrap();
    // What was due in its four seconds, and until a busy machine had healed it.
    let due = 100.0 * (slot.healed_s.unwrap() - slot.from_s);
    let found = value.parse::<f64>().unwrap();
    assert!(due > 390.0 && found >= due - 200.0, "{due} were due: {lost:?}");
    eprintln!("{due} were due: {lost:?}");
    found <= due + 100.0
}

/// Eight of 16 combinations of what is done, by how many, how large and in how many containers.
const EFFECTS: &str = "name: effects
title: eight of sixteen
question: what does what
systems: [{name: here}]
factors:
  - {name: kind, levels: [read, write]}
  - {name: workers, levels: [2, 4]}
  - {name: size, levels: [1KB, 2KB]}
  - {name: containers, levels: [1, 2]}
scales:
  quick:
    fraction: {generators: [containers = kind workers size]}
    repetitions: {least: 2}
workload:
  head: |
    defaults: {container_prefix: '${{ prefix }}', containers: 'r(1,${{ containers }})', sizes: 'c(${{ size }})'}
  before: |
    - {name: init, works: [{type: init, workers: 1}]}
    - {name: prepare, works: [{type: prepare, workers: 2, objects: 'r(1,8)'}]}
  point: |
    - name: main
      works:
        - {name: main, workers: ${{ workers }}, runtime: 700ms, operations: [{type: '${{ kind }}', containers: 'u(1,${{ containers }})', objects: 'u(1,8)'}]}
  after: |
    - {name: cleanup, works: [{type: cleanup, workers: 2, objects: 'r(1,8)'}]}
    - {name: dispose, works: [{type: dispose, workers: 1}]}
  measured: main
";

#[test]
fn half_of_all_combinations_have_the_planted_effects_of_a_store() {
    assert!(
        [1, 2, 4, 8].into_iter().any(are_effects_found),
        "four times the machine itself stood still in one of its cells"
    );
}

/// False where an effect is not what was planted: a machine that stands still for a moment takes most of a cell, and one
/// that is busy all the time adds as much to a read as to a write. Where cells and delays are so many times as long, both
/// are less.
fn are_effects_found(times: u32) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let (read_ms, write_ms) = (15 * times, 60 * times);
    let delays = format!(
        "delay: [{{op: get, law: {{constant_ms: {read_ms}}}}}, {{op: put, law: {{constant_ms: {write_ms}}}}}]"
    );
    let (_store, system, _) = behaving(place, "here", &delays);
    let runtime = "runtime: 700ms";
    assert!(EFFECTS.contains(runtime));
    let text = EFFECTS.replace(runtime, &format!("runtime: {}ms", 700 * times));
    fs::write(place.join("study.yaml"), text).unwrap();
    let args = ["study", "study.yaml", "--no-nodes", "--quiet", "--system", &system];
    let plan = run(place, &[&args[..], &["--plan"]].concat());
    assert!(stdout(&plan).contains("2^(4-1) of resolution IV: 8 of 16"), "{}", stdout(&plan));
    assert!(stdout(&plan).contains("16 runs"), "{}", stdout(&plan));
    let output = run(place, &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let study = place.join("study-effects-quick");
    assert_eq!(ends(&study), 16);
    // Writes take four times as long, twice the workers do twice as much, and nothing else is planted.
    for (effect, from, to, aliased) in [
        ("kind: read to write", 0.15, 0.45, "+ workers x size x containers"),
        ("workers: 2 to 4", 1.5, 2.4, "+ kind x size x containers"),
        ("size: 1KB to 2KB", 0.75, 1.33, "+ kind x workers x containers"),
        ("containers: 1 to 2", 0.75, 1.33, "+ kind x workers x size"),
    ] {
        let found = rows(&study, &format!("| here | {effect} | "));
        assert_eq!(found.len(), 1, "{effect}: {}", fs::read_to_string(study.join("report.md")).unwrap());
        let value = found[0].split(" | ").nth(2).unwrap().split(' ').next().unwrap();
        assert!(found[0].contains(aliased), "{found:?}");
        if !(from..=to).contains(&value.parse::<f64>().unwrap()) {
            eprintln!("{found:?}");
            return false;
        }
    }
    true
}

#[test]
fn a_fault_of_a_study_acts_on_this_machine_only_where_its_user_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let (_store, system, _) = behaving(place, "here", "");
    let goals = "faults: [{name: gone, type: command, inject: 'touch there', heal: 'rm -f there', proof: 'test -e there', at: 26s, hold: 1s, slot: 3s, repeats: 1}]";
    let work = "workers: 8, runtime: 40s, rate: {rate: 50/s, when_full: drop}";
    fs::write(place.join("study.yaml"), of_one_stage("refused", "{name: here}", goals, work)).unwrap();
    let args = ["study", "study.yaml", "--no-nodes", "--quiet", "--system", &system];
    let output = run(place, &args);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--allow-faults"), "{}", stderr(&output));
    assert!(!place.join("study-refused-quick").exists() && !place.join("there").exists());
    let output = run(place, &[&args[..], &["--plan"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// A bed whose scripts say in a file that they were called, and do nothing.
fn bed(place: &Path, name: &str) {
    let folder = place.join("testbeds").join(name);
    fs::create_dir_all(&folder).unwrap();
    for (script, code) in [("up", 0), ("down", 0), ("status", 3)] {
        let text = format!("#!/bin/sh\necho {script} >> {}/called\nexit {code}\n", place.display());
        let path = folder.join(script);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_bed_that_another_study_has_is_neither_started_nor_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    bed(place, "idle");
    let one = STUDY.replace(
        "systems: [{name: slow}, {name: same}, {name: quick}]",
        "systems: [{name: slow, bed: idle}]",
    );
    fs::write(place.join("study.yaml"), one.split("claims:").next().unwrap()).unwrap();
    let data = place.join("data");
    fs::create_dir_all(&data).unwrap();
    let held = fs::File::create(data.join(".idle.study")).unwrap();
    held.lock().unwrap();
    let output = cosmark(place)
        .env("COSMARK_TESTBED_DIR", &data)
        .args(["study", "study.yaml", "--no-nodes"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("another study uses the test bed idle; wait for it"),
        "{}",
        stderr(&output)
    );
    assert!(
        !place.join("called").exists(),
        "{}",
        fs::read_to_string(place.join("called")).unwrap_or_default()
    );
}

#[test]
fn a_fault_that_a_killed_cell_has_left_in_a_bed_is_waited_for_and_the_cell_is_done_once_more() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    bed(place, "idle");
    let (_store, _, address) = behaving(place, "here", "");
    let beds = place.join("testbeds/idle");
    fs::copy(place.join("here.yaml"), beds.join("target.yaml")).unwrap();
    assert!(fs::read_to_string(beds.join("target.yaml")).unwrap().contains(&address));
    // It is up, and not whole while the fault is there.
    let status = format!("#!/bin/sh\ntest ! -e {}/there\n", place.display());
    fs::write(beds.join("status"), status).unwrap();
    let goals = "faults: [{name: gone, type: command, inject: 'touch there', heal: 'touch healing; until test -e go; do sleep 0.05; done; rm -f there', \
                 proof: 'test -e there', at: 5 objects, hold: 1s, slot: 2s, repeats: 1}]";
    let work = "workers: 4, runtime: 30s, interval: 1s, rate: {rate: 50/s, when_full: drop}";
    let text = of_one_stage("left", "{name: here, bed: idle, target: target.yaml}", goals, work);
    fs::write(place.join("study.yaml"), text.replace("type: read", "type: write")).unwrap();
    let begin = |said: &str| {
        let mut command = cosmark(place);
        command.env("COSMARK_TESTBED_DIR", place.join("data"));
        command.args(["study", "study.yaml", "--no-nodes", "--quiet", "--allow-faults"]);
        command.stderr(fs::File::create(place.join(said)).unwrap()).spawn().unwrap()
    };
    let study = place.join("study-left-quick");
    let mut first = begin("first");
    // Of one that may still be made a guardian would have to wait for longer.
    let is_made = || {
        let runs = fs::read_dir(study.join("archive")).into_iter().flatten().flatten();
        let events = runs.filter_map(|run| fs::read_to_string(run.path().join("events.csv")).ok());
        events.into_iter().any(|text| text.contains("gone 1: it is there"))
    };
    eventually("the fault", || place.join("there").exists() && is_made());
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(ends(&study), 0);
    // Its guardian is at it, and is not through before it may.
    eventually("its guardian", || place.join("healing").exists());
    let mut second = begin("second");
    let said = || fs::read_to_string(place.join("second")).unwrap_or_default();
    eventually("that it waits", || {
        assert!(!said().contains("a part of the bed"), "{}", said());
        said().contains("is being healed")
    });
    assert!(second.try_wait().unwrap().is_none(), "{}", said());
    fs::write(place.join("go"), "").unwrap();
    eventually("its end", || second.try_wait().unwrap().is_some());
    assert_eq!(ends(&study), 1, "{}", said());
    assert!(said().contains("was healed by its guardian") && !place.join("there").exists(), "{}", said());
    let called = fs::read_to_string(place.join("called")).unwrap_or_default();
    assert_eq!(called, "", "a bed that was up is neither started nor stopped");
}

#[test]
fn a_bed_that_does_not_come_up_is_taken_down_with_its_reason_and_one_that_cannot_is_not_begun() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    bed(place, "idle");
    let script = |name: &str, text: &str| {
        let path = place.join("testbeds/idle").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    let called = || fs::read_to_string(place.join("called")).unwrap_or_default();
    let log = place.join("called").display().to_string();
    script("up", &format!("echo up >> {log}\necho 'idle: error: its port is taken' >&2\nexit 1"));
    let text = of_one_stage("refuses", "{name: here, bed: idle}", "", "workers: 2, runtime: 700ms");
    fs::write(place.join("study.yaml"), text).unwrap();
    let said = || {
        let mut command = cosmark(place);
        command.env("COSMARK_TESTBED_DIR", place.join("data"));
        let output = command.args(["study", "study.yaml", "--no-nodes", "--quiet"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        stderr(&output)
    };
    let why = said();
    for words in ["testbeds/idle/up ended with 1: idle: error: its port is taken", "the same command goes on"]
    {
        assert!(why.contains(words), "{why}");
    }
    assert!(called().contains("up\n") && called().ends_with("down\n"), "{}", called());
    // What the bed says that it cannot be here is said before anything of it is asked.
    fs::remove_file(place.join("called")).unwrap();
    script("possible", "echo 'idle: error: it needs root' >&2\nexit 1");
    let why = said();
    assert!(why.contains("here: testbeds/idle/possible ended with 1: idle: error: it needs root"), "{why}");
    assert_eq!(called(), "");
    script("possible", "exit 0");
    assert!(said().contains("its port is taken"));
}

#[test]
fn variants_of_test_beds_are_left_out_beside_a_store_of_the_user_unless_they_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let systems = "{name: here, bed: idle}, {name: slow, bed: idle, environment: {IDLE_LINK: 10}}";
    let text = of_one_stage("beside", systems, "", "workers: 2, runtime: 700ms");
    fs::write(place.join("study.yaml"), text).unwrap();
    fs::write(place.join("here.yaml"), "storage: {type: mock}\n").unwrap();
    let plan = |more: &[&str]| {
        let output = run(place, &[&["study", "study.yaml", "--plan"][..], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        (stdout(&output).contains("slow.1KB"), stderr(&output))
    };
    assert!(plan(&[]).0);
    let own = ["--system", "here=here.yaml"];
    let (has_variant, said) = plan(&own);
    assert!(!has_variant && said.contains("left out: slow, variants of test beds"), "{said}");
    // As people write it, too.
    for named in ["system=here,slow", "system = here, slow", " system=slow ,here "] {
        assert!(plan(&[&own[..], &["--only", named]].concat()).0, "{named}");
    }
    let without_a_name = "write FACTOR=LEVEL, such as system=swift";
    for (named, words) in [
        ("system = ", without_a_name),
        (" = slow", without_a_name),
        ("system", without_a_name),
        ("system=here,", "--only system=: its levels are here, slow"),
        ("systems = slow", "--only systems=..: no factor"),
    ] {
        let output = run(place, &["study", "study.yaml", "--plan", "--only", named]);
        assert_eq!(output.status.code(), Some(2), "{named}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{named}: {}", stderr(&output));
    }
    let twice = ["study", "study.yaml", "--plan", "--only", "system=here", "--only", "system =slow"];
    let said = stderr(&run(place, &twice));
    assert!(said.contains("--only system: give all its levels at once"), "{said}");
}

#[test]
fn a_run_that_is_over_without_the_whole_of_its_archive_is_done_once_more() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let (_store, system, _) = behaving(place, "here", "");
    let text = of_one_stage("whole", "{name: here}", "", "workers: 2, runtime: 700ms");
    fs::write(place.join("study.yaml"), text).unwrap();
    let study = place.join("study-whole-quick");
    let go_on = |runs: usize| {
        let output = run(place, &["study", "study.yaml", "--no-nodes", "--quiet", "--system", &system]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let all = fs::read_dir(study.join("archive")).unwrap().flatten();
        let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let names: Vec<String> = names.filter(|name| name.contains("-whole.")).collect();
        assert_eq!((ends(&study), names.len()), (1, runs), "{names:?}");
        // As a kill leaves it that came before the end of the cell was noted.
        let journal = journal_at(&study);
        let before = journal.lines().take_while(|line| !line.contains("\"step\":\"end\""));
        let before: String = before.flat_map(|line| [line, "\n"]).collect();
        fs::write(study.join("journal.jsonl"), before).unwrap();
        names
    };
    let first = go_on(1).remove(0);
    go_on(1);
    fs::create_dir(study.join("incomplete")).unwrap();
    fs::write(study.join("incomplete").join(first), "{}").unwrap();
    go_on(2);
    go_on(2);
}

#[test]
fn the_study_that_new_writes_runs_as_it_is_under_another_name() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let (_store, system, _) = behaving(place, "here", "delay: [{op: get, law: {constant_ms: 2}}]");
    let output = run(place, &["study", "new", "reads-of-mine"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let args = ["study", "reads-of-mine", "--no-nodes", "--quiet", "--only", "size=4KB", "--system", &system];
    let output = run(place, &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let study = place.join("study-reads-of-mine-quick");
    assert_eq!(ends(&study), 1);
    // Both points, and the published one beside each.
    for workers in ["1", "8"] {
        assert_eq!(rows(&study, &format!("| here | 4KB | {workers} | read |")).len(), 1, "{workers} workers");
    }
    let report = fs::read_to_string(study.join("report.md")).unwrap();
    assert!(report.contains("| M1 |") && report.contains("mine.read"), "{report}");
    // What it is called is no word of the command, and no study that is there.
    for word in ["list", "schema", "status", "new", "iccl", "there/tls"] {
        let output = run(place, &["study", "new", word]);
        assert_eq!(output.status.code(), Some(2), "{word}");
        assert!(!place.join(word).exists(), "{word}");
    }
    fs::create_dir(place.join("bare")).unwrap();
    let output = run(place, &["study", "bare", "--plan"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("bare: this directory has no study.yaml"), "{}", stderr(&output));
}

#[test]
fn a_study_of_fio_begins_nothing_where_fio_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    fs::create_dir(place.join("bin")).unwrap();
    let output = cosmark(place)
        .env("PATH", place.join("bin"))
        .args(["study", "baseline", "--dir", "out"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("apt-get install fio"), "{}", stderr(&output));
    assert!(!place.join("out").exists());
}

#[test]
fn the_smallest_version_of_the_baseline_puts_this_disk_beside_the_printed_one() {
    if std::process::Command::new("fio").arg("--version").output().is_err() {
        return skipped("fio is not here: apt-get install fio");
    }
    let directory = tempfile::tempdir().unwrap();
    let from = repository().join("studies/baseline");
    let text = fs::read_to_string(from.join("study.yaml")).unwrap();
    let long = "variables: {image: 1GiB, rampup: 1s, runtime: 5s}";
    assert!(text.contains(long), "{text}");
    let text = text.replacen(long, "variables: {image: 16MiB, rampup: 0s, runtime: 1s}", 1);
    fs::write(directory.path().join("study.yaml"), text).unwrap();
    fs::copy(from.join("published.csv"), directory.path().join("published.csv")).unwrap();
    let only = ["--only", "depth=1", "--only", "block=1m", "--only", "pattern=read,write"];
    let args = [&["study", "study.yaml", "--dir", "out", "--no-nodes"], &only[..]].concat();
    let output = run(directory.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = fs::read_to_string(directory.path().join("out/report.md")).unwrap();
    for row in ["| disk | read | 1m | 1 | read |", "| disk | write | 1m | 1 | write |"] {
        assert!(report.lines().any(|line| line.starts_with(row)), "{row}: {report}");
    }
    for words in ["143 MB/s", "123 MB/s", "baseline.disk"] {
        assert!(report.contains(words), "{words}: {report}");
    }
    // Each cell is a run of the archive, which every command opens.
    let archive = directory.path().join("out/archive");
    let found = cosmark_archive::overview(&archive).unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    for run in found {
        let path = archive.join(&run.directory);
        let record: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(path.join("run.json")).unwrap()).unwrap();
        assert!(record["fio"]["version"].as_str().unwrap().starts_with("fio-3"), "{record}");
        assert_eq!(record["fio"]["jobs"][0]["times"], "bins", "{record}");
        assert!(record["stages"][0]["operations"][0]["throughput_per_s"].as_f64().unwrap() > 0.0, "{record}");
        assert!(path.join("source/fio.json").is_file() && path.join("histograms.hlog").is_file());
        let shown = self::run(directory.path(), &["show", path.to_str().unwrap()]);
        assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    }
}

#[test]
fn a_study_of_fio_that_is_killed_in_a_cell_goes_on_and_its_archive_says_which_run_was_cut() {
    if std::process::Command::new("fio").arg("--version").output().is_err() {
        return skipped("fio is not here: apt-get install fio");
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let from = repository().join("studies/baseline");
    let text = fs::read_to_string(from.join("study.yaml")).unwrap();
    let long = "variables: {image: 1GiB, rampup: 1s, runtime: 5s}";
    let text = text.replacen(long, "variables: {image: 16MiB, rampup: 0s, runtime: 2s}", 1);
    fs::write(place.join("study.yaml"), text).unwrap();
    fs::copy(from.join("published.csv"), place.join("published.csv")).unwrap();
    let only = ["--only", "depth=1", "--only", "block=1m", "--only", "pattern=read,write"];
    let args = [&["study", "study.yaml", "--dir", "out", "--no-nodes"], &only[..]].concat();
    let archive = place.join("out/archive");
    let mut child = cosmark(place).args(&args).spawn().unwrap();
    let is_running = |found: &cosmark_archive::FoundRun| {
        let record = found.record.as_ref().and_then(|record| record.as_ref().ok());
        record.is_some_and(|record| record.stages.iter().any(|stage| stage.started.is_some()))
    };
    eventually("a cell of fio", || {
        cosmark_archive::list(&archive).is_ok_and(|found| found.iter().any(is_running))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let left = || -> Vec<std::path::PathBuf> {
        let found = fs::read_dir(place.join("out")).unwrap().flatten().map(|entry| entry.path());
        found.filter(|path| path.extension().is_some_and(|end| end == "tmp")).collect()
    };
    let file = left().remove(0);
    let states = || -> Vec<RunState> {
        let found = cosmark_archive::list(&archive).unwrap();
        found.into_iter().map(|one| one.record.unwrap().unwrap().state).collect()
    };
    assert_eq!(states(), [RunState::Killed], "what has no end says so");
    let output = run(place, &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected = [RunState::Killed, RunState::Finished, RunState::Finished];
    assert_eq!(states(), expected, "each cell once, beside the one that was cut");
    assert_eq!(left(), Vec::<std::path::PathBuf>::new());
    // As a kill between the last cell and the end of the study leaves it.
    fs::write(&file, "left").unwrap();
    let output = run(place, &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!file.exists() && stderr(&output).contains("which a killed call of this study left"));
}

/// Its scripts say that they were called, and end with 3 but for the `status`, which is given.
fn bed_that_notes(place: &Path, status: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let bed = place.join("beds/one");
    fs::create_dir_all(&bed).unwrap();
    for (script, end) in [("up", "exit 3"), ("down", "exit 3"), ("possible", "exit 3"), ("status", status)] {
        let text = format!("#!/bin/sh\necho {script} >> '{}/called'\n{end}\n", place.display());
        fs::write(bed.join(script), text).unwrap();
        fs::set_permissions(bed.join(script), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(bed.join("target.yaml"), "storage: {type: mock}\n").unwrap();
}

#[test]
fn ctrl_c_while_a_bed_is_asked_stops_the_study_and_starts_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    bed_that_notes(place, "exec sleep 100");
    fs::remove_file(place.join("beds/one/possible")).unwrap();
    let text = of_one_stage("asked", "{name: here, bed: one}", "", "workers: 1, runtime: 1s");
    fs::write(place.join("study.yaml"), text).unwrap();
    let child = cosmark(place)
        .env("COSMARK_TESTBED_DIR", place.join("data"))
        .args(["study", "study.yaml", "--testbeds", "beds", "--dir", "out", "--no-nodes"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let called = || fs::read_to_string(place.join("called")).unwrap_or_default();
    eventually("the question to the bed", || called() == "status\n");
    signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("0 of 1 runs are done; the same command goes on"),
        "{}",
        stderr(&output)
    );
    assert_eq!(called(), "status\n", "nothing was started or stopped");
    assert!(journal_at(&place.join("out")).contains("\"how\":\"stopped\""));
}

/// What cannot be written is found before a bed, which takes minutes to start, is even asked.
#[test]
fn a_study_whose_archive_cannot_be_written_starts_no_bed() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    bed_that_notes(place, "exit 3");
    let text = of_one_stage("closed", "{name: here, bed: one}", "", "workers: 1, runtime: 1s");
    fs::write(place.join("study.yaml"), text).unwrap();
    fs::create_dir(place.join("out")).unwrap();
    fs::write(place.join("out/archive"), "precious").unwrap();
    let study = |args: &[&str]| {
        let all = ["study", "study.yaml", "--testbeds", "beds", "--dir", "out", "--no-nodes"];
        let mut command = cosmark(place);
        command.env("COSMARK_TESTBED_DIR", place.join("data")).args(all).args(args).output().unwrap()
    };
    let output = study(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("the study's archive: cannot make directory out/archive"), "{said}");
    assert!(!place.join("called").exists(), "{}", fs::read_to_string(place.join("called")).unwrap());
    assert_eq!(fs::read_to_string(place.join("out/archive")).unwrap(), "precious");
    // With room for it the bed is asked.
    fs::remove_file(place.join("out/archive")).unwrap();
    let output = study(&[]);
    assert_ne!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(fs::read_to_string(place.join("called")).unwrap().starts_with("possible"));
}
