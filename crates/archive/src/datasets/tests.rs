//! How far data sets are, and who may write and read them.

use cosmark_workload::{Environment, Format, parse_what_is_there};

use super::*;
use crate::datasets::admit::enter;

const FILL: &str =
    "- {name: f, fill: {dataset: d, objects: 500, containers: 'r(1,4)', sizes: c(1)KB, delete: 10 %}}\n";
const READ: &str =
    "- {name: m, works: [{name: w, workers: 1, runtime: 60s, operations: [{type: read, dataset: d}]}]}\n";

fn workload(archive: &Path, stages: &str, host: &str) -> Workload {
    let text =
        format!("name: x\nseed: 5\nstorage: {{type: s3, endpoint: 'http://{host}/'}}\nstages:\n{stages}");
    let environment = Environment { datasets: known_datasets(archive), ..Environment::default() };
    let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &environment);
    assert!(mistakes.iter().all(|one| !one.message.contains("data set")), "{mistakes:?}");
    workload.unwrap_or_else(|| panic!("{mistakes:?}"))
}

/// The passes of a run with this id as if it began now.
fn begun(archive: &Path, id: &str, workload: &Workload) -> Fills {
    let run = archive.join(format!("{id}-x"));
    Fills::begin(&run, id, workload).unwrap().unwrap()
}

/// Samples of objects of pass 0, acknowledged or not.
fn samples(fills: &Fills, positions: impl Iterator<Item = u64>, status: u16) -> Vec<Sample> {
    let own = &fills.passes[0];
    let of = |position| {
        let cell = cosmark_workload::dataset::cell_of(own.pass.object_at(position), 4);
        let outcome = if status < 300 {
            cosmark_metrics::Outcome::OK
        } else {
            cosmark_metrics::Outcome::failed("http")
        };
        Sample {
            container: 1 + cell.container,
            object: 1 + cell.object,
            status,
            outcome,
            ..Sample::default()
        }
    };
    positions.map(of).collect()
}

#[test]
fn a_pass_goes_on_from_what_was_acknowledged_wherever_it_was_killed() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    let mut first = workload(path, FILL, "a");
    assert_eq!(admit(path, &mut first), Ok(Vec::new()));
    let mut fills = begun(path, "w1", &first);
    fills.add((1, 0), &samples(&fills, (0..100).chain(150..200), 200)).unwrap();
    fills.add((1, 0), &samples(&fills, 100..150, 503)).unwrap();
    // A kill: nothing is flushed, and an entry is cut short.
    drop(fills);
    let log = path.join(".datasets/d/pass-0.log");
    let mut bytes = std::fs::read(&log).unwrap();
    assert_eq!(bytes.len(), 150 * 8);
    bytes.extend_from_slice(&[7, 0, 0]);
    std::fs::write(&log, bytes).unwrap();
    let mut second = workload(path, FILL, "a");
    second.seed = Some(99);
    let notes = admit(path, &mut second).unwrap();
    assert_eq!(notes, ["data set d: goes on, 150 of 600 writes and deletions are done"]);
    let pass = second.stages[1].works[0].pass.as_ref().unwrap();
    assert_eq!((pass.seed, pass.left.as_deref()), (Some(5), Some(&[(100, 149), (200, 499)][..])));
    let mut fills = begun(path, "w2", &second);
    fills.add((1, 0), &samples(&fills, (100..150).chain(200..500), 200)).unwrap();
    fills.flush().unwrap();
    drop(fills);
    let set = DataSet::find(path, "d").unwrap().unwrap();
    let done = set.done().unwrap();
    assert!(done[0].is_whole() && done[1].count() == 0);
    assert_eq!(set.state().unwrap(), DataSetState::Partial);
    assert_eq!(set.record.runs.iter().map(|run| run.from).collect::<Vec<_>>(), [0, 150]);
}

#[test]
fn what_a_later_pass_has_done_to_an_object_no_earlier_one_does_again() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    let own = workload(path, FILL, "a");
    let mut fills = begun(path, "w1", &own);
    let [first, second, ..] = fills.passes.as_mut_slice() else { panic!("a fill and a deletion") };
    let [gone, other] = [3, 40].map(|at| first.pass.position_of(second.pass.object_at(at)).unwrap());
    first.progress.add((0..500).filter(|at| ![gone, other].contains(at))).unwrap();
    second.progress.add(0..40).unwrap();
    drop(fills);
    let mut again = workload(path, FILL, "a");
    let notes = admit(path, &mut again).unwrap();
    assert_eq!(notes, ["data set d: goes on, 539 of 600 writes and deletions are done"]);
    assert_eq!(again.stages[1].works[0].pass.as_ref().unwrap().left, Some(vec![(other, other)]));
    // What the store has not acknowledged may come late all the same, and its check is to know that.
    assert!(!DataSet::find(path, "d").unwrap().unwrap().done().unwrap()[0].has(gone));
}

#[test]
fn a_pass_whose_objects_are_missing_in_thousands_of_places_goes_on_to_its_end_in_one_run() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    let text = FILL.replace("500", "40000").replace(", delete: 10 %", "");
    let own = workload(path, &text, "a");
    let mut fills = begun(path, "w1", &own);
    // One of two drivers was lost.
    fills.passes[0].progress.add((0..24_000).step_by(2)).unwrap();
    drop(fills);
    let mut again = workload(path, &text, "a");
    let notes = admit(path, &mut again).unwrap();
    assert_eq!(notes.len(), 2, "{notes:?}");
    let says = "what is missing lies in more than 4000 places: 11998 objects between these are written again";
    assert!(notes[1].ends_with(says), "{notes:?}");
    let pass = again.stages[1].works[0].pass.as_ref().unwrap();
    assert_eq!(pass.left, Some(vec![(1, 23_997), (23_999, 39_999)]));
    assert_eq!((pass.before(), pass.again, pass.later), (12_000, 11_998, 0));
}

fn whole(path: &Path) -> DataSet {
    let mut own = workload(path, FILL, "a");
    admit(path, &mut own).unwrap();
    let mut fills = begun(path, "w1", &own);
    for pass in &mut fills.passes {
        let count = pass.pass.count;
        pass.progress.add(0..count).unwrap();
    }
    drop(fills);
    DataSet::find(path, "d").unwrap().unwrap()
}

#[test]
fn a_data_set_is_read_where_it_lies_while_it_is_whole_and_nowhere_else() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    let mut set = whole(path);
    assert_eq!(set.state().unwrap(), DataSetState::Whole);
    let mut reads = workload(path, READ, "a");
    assert_eq!(admit(path, &mut reads), Ok(Vec::new()));
    let elsewhere = admit(path, &mut workload(path, READ, "user:word@b")).unwrap_err();
    assert!(elsewhere.contains("another store") && elsewhere.contains("http://b"), "{elsewhere}");
    assert!(!elsewhere.contains("word"), "{elsewhere}");
    // The same again has nothing to do; another one of this name is refused.
    let mut again = workload(path, FILL, "a");
    assert_eq!(admit(path, &mut again).unwrap(), ["data set d: whole, nothing is left to write"]);
    assert!(again.stages[1].works[0].pass.as_ref().unwrap().left.as_ref().unwrap().is_empty());
    for (other, says) in [
        (FILL.replace("500", "600"), "other objects"),
        (FILL.replace("c(1)", "c(2)"), "other sizes"),
        (FILL.replace("delete: 10 %", "delete: 20 %"), "order and ageing"),
    ] {
        let refused = admit(path, &mut workload(path, &other, "a")).unwrap_err();
        assert!(refused.contains(says), "{refused}");
    }
    let hold = set.hold().unwrap();
    set.set_cleaned(&hold).unwrap();
    let gone = admit(path, &mut reads).unwrap_err();
    assert!(gone.contains("was removed"), "{gone}");
    assert!(known_datasets(path)["d"].refused.is_some());
    let none = tempfile::tempdir().unwrap();
    let unknown = admit(none.path(), &mut reads).unwrap_err();
    assert!(unknown.contains("knows no data set `d`"), "{unknown}");
}

#[test]
fn no_login_of_any_endpoint_of_a_list_is_written_down() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    let of = |first: &str, second: &str| workload(path, FILL, &format!("{first}a:80,http://{second}b:80"));
    let mut own = of("u:word,one@", "v:word-two@");
    admit(path, &mut own).unwrap();
    drop(begun(path, "w1", &own));
    let set = DataSet::find(path, "d").unwrap().unwrap();
    assert_eq!(set.record.store, ["endpoint=http://a:80,http://b:80", "s3"]);
    // With another password, or none, it is the same store.
    assert!(admit(path, &mut of("", "w:other@")).is_ok());
}

#[test]
fn a_data_set_of_which_the_removal_was_cut_off_is_not_whole_and_is_written_from_the_beginning() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    let set = whole(path);
    assert_eq!(set.state().unwrap(), DataSetState::Whole);
    set.forget_written(&set.hold().unwrap()).unwrap();
    let set = DataSet::find(path, "d").unwrap().unwrap();
    assert_eq!((set.state().unwrap(), set.record.cleaned), (DataSetState::Partial, None));
    assert!(set.done().unwrap().iter().all(|done| done.count() == 0));
    let notes = admit(path, &mut workload(path, FILL, "a")).unwrap();
    assert!(notes[0].contains("goes on, 0 of "), "{notes:?}");
    // Once more is no error.
    set.forget_written(&set.hold().unwrap()).unwrap();
}

#[test]
fn two_runs_do_not_write_one_data_set_at_a_time() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    let own = workload(path, FILL, "a");
    let first = begun(path, "w1", &own);
    let second = Fills::begin(&path.join("w2-x"), "w2", &own);
    assert!(matches!(second, Err(ArchiveError::InUse { .. })), "a second one began");
    drop(first);
    assert!(Fills::begin(&path.join("w2-x"), "w2", &own).is_ok());
}

#[test]
fn damaged_records_are_named_and_hold_nobody_up() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    let set = whole(path);
    let head = path.join(".datasets/d/dataset.json");
    let good = std::fs::read_to_string(&head).unwrap();
    for wrong in [
        "",
        "{",
        &good.replace("\"d\"", "\"e\""),
        &good.replace("\"schema\": 1", "\"schema\": 2"),
        &good.replace("step=1", "step=7"),
    ] {
        std::fs::write(&head, wrong).unwrap();
        let error = DataSet::find(path, "d").unwrap_err().to_string();
        assert!(error.contains("dataset.json"), "{error}");
        assert!(known_datasets(path).is_empty());
    }
    for containers in [(0, u64::MAX), (1, u64::MAX), (5, 4)] {
        let mut record: serde_json::Value = serde_json::from_str(&good).unwrap();
        record["containers"] = serde_json::json!(containers);
        std::fs::write(&head, record.to_string()).unwrap();
        let error = DataSet::find(path, "d").unwrap_err().to_string();
        assert!(error.contains("its containers do not fit"), "{error}");
    }
    std::fs::write(&head, &good).unwrap();
    std::fs::write(path.join(".datasets/d/pass-0.done"), b"cosmfillxxxx").unwrap();
    assert!(set.state().is_err());
    assert!(known_datasets(path)["d"].refused.as_ref().unwrap().contains("is not known"));
    for name in ["../d", "", "D", "d/e"] {
        assert!(DataSet::find(path, name).unwrap().is_none(), "{name}");
    }
}

#[test]
fn what_is_left_is_told_in_stretches_as_a_look_at_each_position_would() {
    for len in [1_u64, 63, 64, 65, 1000] {
        for every in [1, 2, 3, 64, 65, 200] {
            let mut done = Done::none(len);
            for position in (0..len).filter(|position| position / every % 2 == 0) {
                assert!(done.set(position), "new");
            }
            assert!(!done.set(len) && !done.has(len));
            let left = done.left(usize::MAX, false);
            assert_eq!((left.again, left.later), (0, 0), "{len} {every}");
            let listed: Vec<u64> =
                left.stretches.into_iter().flat_map(|(first, last)| first..=last).collect();
            let looked: Vec<u64> = (0..len).filter(|position| !done.has(*position)).collect();
            assert_eq!(listed, looked, "{len} {every}");
            assert_eq!(done.count() + looked.len() as u64, len);
            assert!(done.left(2, false).stretches.len() <= 2);
        }
    }
}

#[test]
fn who_overwrites_a_data_set_is_remembered() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    whole(path);
    let writes = workload(path, &READ.replace("type: read", "type: write"), "a");
    for _ in 0..2 {
        note_overwriting(path, "w9", &writes).unwrap();
        note_overwriting(path, "w3", &workload(path, READ, "a")).unwrap();
    }
    assert_eq!(DataSet::find(path, "d").unwrap().unwrap().record.overwritten_by, ["w9"]);
    let own = workload(path, FILL, "a");
    let (_, work, pass) = passes_of(&own).next().unwrap();
    enter(path, &path.join(".datasets/d"), "w1", &own, work, pass).unwrap();
    assert_eq!(DataSet::find(path, "d").unwrap().unwrap().record.runs.len(), 1);
}

const TO_A_SHARE: &str =
    "- {name: f, fill: {dataset: d, to: 60 %, objects: 500, containers: 'r(1,4)', sizes: c(1)KB}}\n";

/// What a run says of a pass that ended at a store so full.
fn came_to(share: f64, reached: bool) -> FillResult {
    let full = cosmark_metrics::FullResult {
        goal: 0.6,
        reached,
        after: Some(share),
        ..cosmark_metrics::FullResult::default()
    };
    FillResult { dataset: "d".to_owned(), full: Some(full), ..FillResult::default() }
}

#[test]
fn a_data_set_that_fills_a_share_of_the_store_has_what_is_there_without_a_gap() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    let run = path.join("w1-x");
    let mut own = workload(path, TO_A_SHARE, "a");
    assert_eq!(admit(path, &mut own), Ok(Vec::new()));
    let mut fills = begun(path, "w1", &own);
    fills.add((1, 0), &samples(&fills, (0..201).chain(205..210), 200)).unwrap();
    assert!(note_full(&run, &mut came_to(0.61, true)).is_err(), "the run writes it still");
    drop(fills);
    // One that did not reach the goal is not whole, however much is there.
    let mut short = came_to(0.5, false);
    note_full(&run, &mut short).unwrap();
    assert_eq!(short.full.unwrap().objects, Some(201));
    let set = DataSet::find(path, "d").unwrap().unwrap();
    assert_eq!((set.state().unwrap(), set.full_at(), set.objects()), (DataSetState::Partial, Some(0.6), 500));
    note_full(&run, &mut came_to(0.61, true)).unwrap();
    let set = DataSet::find(path, "d").unwrap().unwrap();
    assert_eq!((set.state().unwrap(), set.objects()), (DataSetState::Whole, 201));
    assert_eq!(set.used().unwrap().objects, (1, 50));
    assert_eq!(set.done().unwrap()[0].up_to(), 210);
    assert_eq!(admit(path, &mut workload(path, READ, "a")), Ok(Vec::new()));
    let read = &workload(path, READ, "a").stages[0].works[0].operations[0];
    assert_eq!(read.objects.as_ref().unwrap().bounds(), (1, 50));
    // To another share it goes on, and is not whole until that is reached; what has a number of objects is another one.
    let mut more = workload(path, &TO_A_SHARE.replace("60 %", "75.5 %"), "a");
    let notes = admit(path, &mut more).unwrap();
    assert_eq!(notes, ["data set d: 206 objects are there; it is filled to 75.5 % of the store"]);
    let left = more.stages[1].works[0].pass.as_ref().unwrap().left.clone();
    assert_eq!(left, Some(vec![(201, 204), (210, 499)]));
    drop(begun(path, "w2", &more));
    let set = DataSet::find(path, "d").unwrap().unwrap();
    assert_eq!((set.state().unwrap(), set.full_at()), (DataSetState::Partial, Some(0.755)));
    let refused = admit(path, &mut workload(path, &TO_A_SHARE.replace("to: 60 %, ", ""), "a")).unwrap_err();
    assert!(refused.contains("order and ageing"), "{refused}");
    note_full(&run, &mut FillResult { dataset: "d".to_owned(), ..FillResult::default() }).unwrap();
    assert_eq!(DataSet::find(path, "d").unwrap().unwrap().record.full, None, "no pass to a share");
}

#[test]
fn a_failure_among_the_first_objects_of_a_fill_to_a_share_is_said_and_left_for_the_same_command() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    let run = path.join("w1-x");
    let own = workload(path, TO_A_SHARE, "a");
    let mut fills = begun(path, "w1", &own);
    fills.add((1, 0), &samples(&fills, (0..9).chain(10..400), 200)).unwrap();
    fills.add((1, 0), &samples(&fills, 9..10, 500)).unwrap();
    drop(fills);
    assert_eq!(note_full(&run, &mut came_to(0.61, true)).unwrap(), Some(390));
    let mut again = workload(path, TO_A_SHARE, "a");
    admit(path, &mut again).unwrap();
    assert_eq!(again.stages[1].works[0].pass.as_ref().unwrap().gaps(), [(9, 9)]);
    let mut fills = begun(path, "w2", &again);
    fills.add((1, 0), &samples(&fills, 9..10, 200)).unwrap();
    drop(fills);
    assert_eq!(note_full(&run, &mut came_to(0.61, true)).unwrap(), None);
    assert_eq!(DataSet::find(path, "d").unwrap().unwrap().objects(), 400);
}

#[test]
fn a_data_set_of_which_a_container_would_be_empty_is_not_read() {
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path();
    let own = workload(path, TO_A_SHARE, "a");
    for (there, whole) in [(0, false), (3, false), (4, true)] {
        let mut fills = begun(path, "w1", &own);
        fills.add((1, 0), &samples(&fills, 0..there, 200)).unwrap();
        drop(fills);
        note_full(&path.join("w1-x"), &mut came_to(0.7, true)).unwrap();
        let state = DataSet::find(path, "d").unwrap().unwrap().state().unwrap();
        assert_eq!(state == DataSetState::Whole, whole, "{there}");
    }
}

#[test]
fn the_first_gap_and_the_last_object_are_found_as_a_look_at_each_position_would() {
    for len in [1_u64, 63, 64, 65, 200] {
        for (gap, end) in
            [(0, 0), (0, len), (len / 2, len), (len, len), (len.saturating_sub(1), len.saturating_sub(1))]
        {
            let mut done = Done::none(len);
            (0..end).filter(|position| *position != gap).for_each(|position| {
                done.set(position);
            });
            let first = (0..len).find(|position| !done.has(*position)).unwrap_or(len);
            let last = (0..len).rev().find(|position| done.has(*position)).map_or(0, |position| position + 1);
            assert_eq!((done.first_missing(), done.up_to()), (first, last), "{len} {gap} {end}");
        }
    }
}
