//! What a store acknowledges and does not keep is found and named, and nothing else is: against a simulated store that breaks
//! its word, whose own log says where.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use cosmark_archive::{DataSet, DataSetState, DurabilityRecord};
use cosmark_simstore::{Handle, Op};

use super::store;
use crate::support::{cosmark, run, run_json, signal, stderr, stdout};

/// The looks at what seems broken, the last of them after six times `settle`, are tried on virtual time where they are made.
/// Nothing here settles but listings, within 300 ms.
const CHECK: &str = "check: durability\nsettle: 2s\n";

/// Writes, overwrites and deletes, no two at once of one object; the end would delete everything. Of fewer than 16 bytes nobody
/// can tell which write they were, and an old version is as corrupt as any other bytes.
fn workload(directory: &Path, store: &Handle, main: &str) {
    let text = format!(
        "name: kept\nseed: 7\n{CHECK}storage: {{type: s3, endpoint: \"{}\", accesskey: a, secretkey: b, \
         path_style_access: true, timeout: 60s}}\ndefaults: {{containers: \"r(1,2)\", container_prefix: kept, object_prefix: o-, \
         objects: \"r(1,300)\", sizes: \"u(16,9000)B\"}}\nstages:\n  - {{name: init, works: [{{type: init, workers: 1}}]}}\n  \
         - {{name: prepare, works: [{{type: prepare, workers: 4}}]}}\n{main}  \
         - {{name: cleanup, works: [{{type: cleanup, workers: 4}}]}}\n",
        store.url()
    );
    std::fs::write(directory.join("kept.yaml"), text).unwrap();
}

/// Of each worker its own objects.
const APART: &str = "  - name: main\n    works: [{name: main, workers: 4, total_ops: 2000, division: object, operations: [\
    {type: write, containers: \"u(1,2)\", objects: \"u(1,300)\", ratio: 60}, \
    {type: delete, containers: \"u(1,2)\", objects: \"u(1,300)\", ratio: 20}, \
    {type: read, containers: \"u(1,2)\", objects: \"u(1,300)\", ratio: 20}]}]\n";
/// Everybody at the same few.
const TOGETHER: &str = "  - name: main\n    works: [{name: main, workers: 16, total_ops: 6000, acceptable_failure_ratio: 1, operations: [\
    {type: write, containers: \"u(1,2)\", objects: \"u(1,30)\", ratio: 70}, \
    {type: delete, containers: \"u(1,2)\", objects: \"u(1,30)\", ratio: 30}]}]\n";

/// The rules in their order, and what each does.
const LIES: &str = "broken_promise:\n  - {kind: forget, op: put, every_nth: 31}\n  - {kind: damage, op: put, every_nth: 37}\n  \
    - {kind: unlisted, op: put, every_nth: 41}\n  - {kind: forget, op: delete, every_nth: 5}\n  \
    - {kind: unlisted, op: delete, every_nth: 4}\n";

#[derive(Default, Clone, Copy)]
struct Kept {
    /// Numbers of the changes that made what is there and what should be; `None` = nothing.
    there: Option<usize>,
    acknowledged: Option<usize>,
    damaged: bool,
    unlisted: bool,
}

/// What the store's own log says is broken: container, object, class.
fn broken_by_the_log(store: &Handle) -> BTreeSet<(String, String, String)> {
    let mut log = store.log().unwrap();
    log.sort_by_key(|record| record.arrival_ns);
    let mut objects: BTreeMap<(String, String), Kept> = BTreeMap::new();
    for (at, record) in log.iter().enumerate().filter(|(_, record)| record.status < 300) {
        if !matches!(record.op, Op::Put | Op::Delete) {
            continue;
        }
        let kept = objects.entry((record.container.to_string(), record.object.to_string())).or_default();
        let change = (record.op == Op::Put).then_some(at);
        kept.acknowledged = change;
        match record.rule.as_deref() {
            Some("broken_promise[0]" | "broken_promise[3]") => {}
            Some("broken_promise[1]") => (kept.there, kept.damaged, kept.unlisted) = (change, true, false),
            Some("broken_promise[2]" | "broken_promise[4]") => {
                (kept.there, kept.damaged, kept.unlisted) = (change, false, true)
            }
            Some(other) => panic!("{other}"),
            // What is gone is not deleted again, and a ghost of it stays.
            None if change.is_none() && kept.there.is_none() => {}
            None => (kept.there, kept.damaged, kept.unlisted) = (change, false, false),
        }
    }
    let class = |kept: &Kept| match (kept.acknowledged, kept.there) {
        (Some(_), None) => Some("lost"),
        // An old version that was damaged as well is no version.
        (Some(_), Some(_)) if kept.damaged => Some("corrupt"),
        (Some(a), Some(b)) if a != b => Some("stale"),
        (None, Some(_)) => Some("resurrected"),
        (Some(_), Some(_)) if kept.unlisted => Some("there_not_listed"),
        (None, None) if kept.unlisted => Some("listed_not_there"),
        _ => None,
    };
    let named = |((container, object), kept): (&(String, String), &Kept)| {
        Some((container.clone(), object.clone(), class(kept)?.to_owned()))
    };
    objects.iter().filter_map(named).collect()
}

/// What the table of findings says.
fn found(run: &Path, number: u32) -> BTreeSet<(String, String, String)> {
    let text = std::fs::read_to_string(run.join(format!("durability-{number}.csv"))).unwrap();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let found: BTreeSet<_> = lines
        .iter()
        .map(|line| {
            let mut cells = line.splitn(4, ',').map(str::to_owned);
            let (class, container, object) =
                (cells.next().unwrap(), cells.next().unwrap(), cells.next().unwrap());
            (container, object, class)
        })
        .collect();
    assert_eq!(found.len(), lines.len(), "each object once");
    found
}

/// What differs is few; the whole would be a page.
fn same(found: &BTreeSet<(String, String, String)>, truth: &BTreeSet<(String, String, String)>) {
    let missed: Vec<_> = truth.difference(found).collect();
    let invented: Vec<_> = found.difference(truth).collect();
    assert!(missed.is_empty() && invented.is_empty(), "missed {missed:?}, invented {invented:?}");
}

#[test]
fn every_broken_promise_is_found_and_named_and_no_other_is() {
    let store = store(LIES);
    let directory = tempfile::tempdir().unwrap();
    workload(directory.path(), &store, APART);
    // Before the cleanup the log has what it was read back against: the run is made without one.
    let path = directory.path().join("kept.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let cleanup = text.find("  - {name: cleanup").unwrap();
    std::fs::write(&path, &text[..cleanup]).unwrap();
    let (output, record) = run_json(directory.path(), &["run", "kept.yaml", "--quiet", "--no-report"]);
    assert_eq!(output.status.code(), Some(9), "{}", stderr(&output));
    let truth = broken_by_the_log(&store);
    for class in ["lost", "stale", "corrupt", "resurrected", "there_not_listed", "listed_not_there"] {
        assert!(truth.iter().any(|(_, _, own)| own == class), "nothing was {class}: {truth:?}");
    }
    let durability = &record.durability[0];
    let run_directory = directory.path().join("archive/w1-kept");
    same(&found(&run_directory, 1), &truth);
    assert_eq!((durability.objects, durability.read(), durability.broken()), (600, 600, truth.len() as u64));
    assert!(
        durability.complete && durability.ledger_complete && durability.listed_containers == 2,
        "{durability:?}"
    );
    let check = record.verdict.checks.iter().find(|check| check.id == "V26").unwrap();
    assert!(check.message.contains("cannot be relied on"), "{check:?}");

    // The same, later and by itself.
    let args = ["verify-data", "last", "--quiet", "--settle", "0", "--target", "target.yaml"];
    std::fs::write(directory.path().join("target.yaml"), target(&store)).unwrap();
    let later = run(directory.path(), &args);
    assert_eq!(later.status.code(), Some(9), "{}", stderr(&later));
    assert!(stdout(&later).contains("BROKEN") && stdout(&later).contains(" lost, "), "{}", stdout(&later));
    same(&found(&run_directory, 2), &truth);
}

fn target(store: &Handle) -> String {
    format!(
        "storage: {{type: s3, endpoint: \"{}\", accesskey: a, secretkey: b, path_style_access: true, timeout: 60s}}\n",
        store.url()
    )
}

#[test]
fn a_store_that_keeps_its_word_is_accused_of_nothing_whatever_overlaps_fails_or_gets_no_answer() {
    let store = store(
        "{errors: {op: [put, delete], share: 0.03, status: 503}, reset: [{at: reply, op: [put, delete], share: 0.03}, \
         {at: request, op: [put, delete], share: 0.02}], stale_list: {window_ms: 300}, delay: {law: {uniform: {min_ms: 0, max_ms: 3}}}}",
    );
    let directory = tempfile::tempdir().unwrap();
    workload(directory.path(), &store, TOGETHER);
    let (output, record) = run_json(directory.path(), &["run", "kept.yaml", "--quiet", "--no-report"]);
    let durability = &record.durability[0];
    assert_eq!(durability.broken(), 0, "{durability:?}\n{}", stderr(&output));
    assert_eq!(durability.undecided + durability.unreadable, 0, "{durability:?}");
    assert!(durability.unanswered_done > 0 && durability.unanswered_not_done > 0, "{durability:?}");
    assert_eq!((durability.objects, durability.read()), (600, 600));
    assert_eq!(durability.after.as_deref(), Some("s3-main"), "before the cleanup");
    let cleaned = record.stages.last().unwrap();
    assert_eq!(cleaned.name, "cleanup");
    assert!(store.names("kept1").unwrap().is_some_and(|names| names.len() < 50), "the cleanup came after it");
}

/// A run that has left its 600 objects, with a ledger.
fn left(directory: &Path, store: &Handle) {
    workload(directory, store, "");
    let path = directory.join("kept.yaml");
    let text = std::fs::read_to_string(&path).unwrap().replace(CHECK, "");
    std::fs::write(&path, &text[..text.find("  - {name: cleanup").unwrap()]).unwrap();
    std::fs::write(directory.join("target.yaml"), target(store)).unwrap();
    let ran = run(directory, &["run", "kept.yaml", "--quiet", "--no-report", "--ledger"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
}

#[test]
fn what_cosmark_itself_has_removed_is_not_called_lost() {
    let store = store("{}");
    let directory = tempfile::tempdir().unwrap();
    left(directory.path(), &store);
    let look = || {
        run(directory.path(), &["verify-data", "last", "--target", "target.yaml", "--quiet", "--settle", "0"])
    };
    let clean = |more: &[&str]| {
        let cleaned = run(directory.path(), &[&["clean", "last", "--target", "target.yaml"], more].concat());
        assert!(cleaned.status.success(), "{}", stderr(&cleaned));
    };
    clean(&["--dry-run"]);
    let there = look();
    assert!(there.status.success(), "only looked at: {}{}", stdout(&there), stderr(&there));
    clean(&[]);
    let gone = look();
    assert_eq!(gone.status.code(), Some(2), "{}", stdout(&gone));
    assert!(stderr(&gone).contains("`cosmark clean` removed 600 objects"), "{}", stderr(&gone));
    let tables = std::fs::read_dir(directory.path().join("archive/w1-kept")).unwrap().flatten();
    let tables = tables.filter(|entry| entry.file_name().to_string_lossy().starts_with("durability-"));
    assert!(tables.count() <= 1, "nothing was read back after it was removed");
}

const CLEAN: [&str; 4] = ["clean", "last", "--target", "target.yaml"];

/// Objects that are there.
fn there(store: &Handle) -> usize {
    ["kept1", "kept2"].iter().map(|one| store.names(one).unwrap().map_or(0, |names| names.len())).sum()
}

/// A clean that gets this signal when some of the 600 objects are gone.
fn ended_in_a_clean(directory: &Path, store: &Handle, how: i32) -> Output {
    left(directory, store);
    let early = run(directory, &["verify-data", "last", "--target", "target.yaml", "--quiet", "--removed"]);
    assert_eq!(early.status.code(), Some(2), "{}", stdout(&early));
    assert!(stderr(&early).contains("without --removed"), "what is lost is not hidden: {}", stderr(&early));
    let child = cosmark(directory).args(CLEAN).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(180);
    while there(store) == 600 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&child, how);
    let ended = child.wait_with_output().unwrap();
    let some = there(store);
    assert!(some > 0 && some < 600, "{some}");
    ended
}

/// Reading back names this note and a remedy, with which what is left is right and of what is missing nothing is said.
fn only_what_is_left_is_judged(directory: &Path, note: &str) {
    let args = ["verify-data", "last", "--target", "target.yaml", "--quiet", "--settle", "0"];
    let gone = run(directory, &args);
    assert_eq!(gone.status.code(), Some(2), "{}", stdout(&gone));
    assert!(stderr(&gone).contains(note) && stderr(&gone).contains("--removed"), "{}", stderr(&gone));
    let rest = run(directory, &[&args[..], &["--removed", "--json"][..]].concat());
    assert_eq!(rest.status.code(), Some(0), "{}", stderr(&rest));
    let found: DurabilityRecord = serde_json::from_slice(&rest.stdout).unwrap();
    assert_eq!((found.right + found.undecided, found.broken()), (600, 0), "{found:?}");
    assert!(found.right > 0 && found.undecided > 0 && !found.ledger_complete, "{found:?}");
}

const SLOW_TO_DELETE: &str = "delay: {op: delete, law: {constant_ms: 200}}";

#[test]
fn what_a_clean_that_is_ended_early_has_removed_is_not_called_lost_either() {
    let store = store(SLOW_TO_DELETE);
    let directory = tempfile::tempdir().unwrap();
    let ended = ended_in_a_clean(directory.path(), &store, libc::SIGINT);
    assert_eq!(ended.status.code(), Some(5), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("not all was removed: repeat"), "{}", stderr(&ended));
    only_what_is_left_is_judged(directory.path(), "`cosmark clean` removed up to ");
    let again = run(directory.path(), &CLEAN);
    assert!(again.status.success(), "{}", stderr(&again));
    assert_eq!(there(&store), 0);
    // Nothing is left that could be known to be there.
    let args = ["verify-data", "last", "--target", "target.yaml", "--quiet", "--settle", "0", "--removed"];
    let nothing = run(directory.path(), &args);
    assert_eq!(nothing.status.code(), Some(3), "{}{}", stdout(&nothing), stderr(&nothing));
    assert!(stdout(&nothing).contains("600 are undecided"), "{}", stdout(&nothing));
}

#[test]
fn what_a_clean_that_was_killed_has_removed_is_not_called_lost_either() {
    let store = store(SLOW_TO_DELETE);
    let directory = tempfile::tempdir().unwrap();
    let ended = ended_in_a_clean(directory.path(), &store, libc::SIGKILL);
    assert_eq!(ended.status.code(), None, "{}", stderr(&ended));
    only_what_is_left_is_judged(directory.path(), "`cosmark clean` begins to remove objects");
}

#[test]
fn a_reading_that_is_killed_goes_on_where_it_was_and_comes_to_the_same() {
    let store = store("broken_promise: {kind: forget, op: put, every_nth: 97}");
    let directory = tempfile::tempdir().unwrap();
    workload(directory.path(), &store, "");
    let path = directory.path().join("kept.yaml");
    let text = std::fs::read_to_string(&path).unwrap().replace(CHECK, "");
    std::fs::write(&path, &text[..text.find("  - {name: cleanup").unwrap()]).unwrap();
    std::fs::write(directory.path().join("target.yaml"), target(&store)).unwrap();
    // Another seed writes other bytes.
    let none = run(directory.path(), &["run", "kept.yaml", "--quiet", "--no-report", "--seed", "9"]);
    assert!(none.status.success(), "{}", stderr(&none));
    let refused = run(directory.path(), &["verify-data", "last", "--target", "target.yaml"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("kept no ledger"), "{}", stderr(&refused));

    let ran = run(directory.path(), &["run", "kept.yaml", "--quiet", "--no-report", "--ledger"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let truth = 6;
    let args = ["verify-data", "w2", "--target", "target.yaml", "--quiet", "--settle", "0", "--json"];
    let mut child = cosmark(directory.path())
        .args(args)
        .args(["--rate", "50", "--workers", "4"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let run_directory = directory.path().join("archive/w2-kept");
    let progress = run_directory.join("durability-1.progress.json");
    let begun = Instant::now();
    let decided = || {
        let text = std::fs::read_to_string(&progress).unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        value["record"]["right"].as_u64().unwrap_or(0)
    };
    while decided() < 150 {
        assert!(
            begun.elapsed() < Duration::from_secs(180) && child.try_wait().unwrap().is_none(),
            "it was over too soon"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let read_before = store.counters().unwrap().of_op(Op::Get);
    assert!(read_before < 600, "{read_before}");

    let resumed = run(directory.path(), &[&args[..], &["--resume"]].concat());
    assert_eq!(resumed.status.code(), Some(9), "{}", stderr(&resumed));
    let record: DurabilityRecord = serde_json::from_slice(&resumed.stdout).unwrap();
    assert_eq!((record.objects, record.read(), record.broken()), (600, 600, truth), "{record:?}");
    assert_eq!(found(&run_directory, 1).len() as u64, truth);
    let read = store.counters().unwrap().of_op(Op::Get);
    assert!(read - read_before < 600, "it did not begin anew: {read_before}, {read}");
    assert!(!progress.exists());
    let again = run(directory.path(), &[&args[..], &["--resume"]].concat());
    assert!(stderr(&again).contains("no interrupted reading to continue"), "{}", stderr(&again));

    // Some of them, and what that proves.
    let some = run(directory.path(), &[&args[..], &["--sample", "200"]].concat());
    let record: DurabilityRecord = serde_json::from_slice(&some.stdout).unwrap();
    assert_eq!((record.sample, record.read()), (Some(200), 200));
    let share = record.broken_share_below.unwrap();
    assert!(share > truth as f64 / 600.0 && share < 0.08, "{share}");
}

#[test]
fn the_exit_code_says_whose_trouble_it_is_that_nothing_was_read_back() {
    let store = store("{}");
    let directory = tempfile::tempdir().unwrap();
    left(directory.path(), &store);
    let args = ["verify-data", "last", "--target", "target.yaml", "--quiet", "--settle", "0"];
    // The user's.
    let again = run(directory.path(), &[&args[..], &["--resume"][..]].concat());
    assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));
    // This machine's: no file can be written.
    let mut full = cosmark(directory.path());
    full.args(args);
    let nothing = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: between fork and exec only a system call is made, with a value that lives.
    unsafe {
        full.pre_exec(move || match libc::setrlimit(libc::RLIMIT_FSIZE, &raw const nothing) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let full = full.output().unwrap();
    assert_eq!(full.status.code(), Some(1), "{}", stderr(&full));
    assert!(stderr(&full).contains("the disk is full"), "{}", stderr(&full));
    // The store's.
    store.stop();
    let away = run(directory.path(), &args);
    assert_eq!(away.status.code(), Some(3), "{}", stderr(&away));
}

#[test]
fn a_data_set_whose_clean_was_killed_is_not_called_whole_and_is_filled_again() {
    let store = store(SLOW_TO_DELETE);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let stages = "stages:\n  - name: fill\n    fill: {dataset: pebbles, objects: 600, containers: 'r(1,2)', sizes: c(1)KB, \
        workers: 4, interval: 1s}\n";
    std::fs::write(path.join("fill.yaml"), format!("name: filling\n{}{stages}", target(&store))).unwrap();
    std::fs::write(path.join("target.yaml"), target(&store)).unwrap();
    let fill = ["run", "fill.yaml", "--quiet", "--no-report"];
    let state = || DataSet::find(&path.join("archive"), "pebbles").unwrap().unwrap().state().unwrap();
    let there = || -> usize {
        let names = |container: &str| store.names(container).unwrap().map_or(0, |names| names.len());
        ["pebbles-1", "pebbles-2"].into_iter().map(names).sum()
    };
    let filled = run(path, &fill);
    assert_eq!((filled.status.code(), there()), (Some(0), 600), "{}", stderr(&filled));
    assert_eq!(state(), DataSetState::Whole);
    let clean = ["datasets", "clean", "pebbles", "--target", "target.yaml"];
    let mut child = cosmark(path).args(clean).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Sixteen at a time go on for seven seconds, longer than anybody is kept from a look.
    let until = Instant::now() + Duration::from_secs(180);
    while there() == 600 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What the store was asked for by then is over.
    std::thread::sleep(Duration::from_secs(1));
    assert!((1..600).contains(&there()), "{}", there());
    assert_eq!(state(), DataSetState::Partial);
    let again = run(path, &fill);
    assert_eq!((again.status.code(), there()), (Some(0), 600), "{}", stderr(&again));
    assert_eq!(state(), DataSetState::Whole);
}
