//! A ledger comes back as it was, whatever was merged and wherever a kill cut it.

use cosmark_ledger::What;

use super::*;

fn row(object: u64, at: i64, acknowledged: bool) -> Row {
    let change = Change {
        sent_ns: at,
        end_ns: at + 5,
        what: What::Random,
        acknowledged,
        version: u32::try_from(at % 1_000_000).unwrap(),
        bytes: 1000 + object % 7,
    };
    Row { key: Key { space: 0, container: 1 + object % 3, object }, change }
}

fn writer(dir: &Path) -> LedgerWriter {
    let names = |prefix: &str| cosmark_ledger::Template {
        prefix: prefix.to_owned(),
        suffix: String::new(),
        numbered: true,
        scattered: false,
    };
    let space = Space {
        site: cosmark_ledger::Site { stage: 0, work: 0 },
        containers: names("c"),
        objects: Some(names("o")),
        written: true,
        deleted: false,
        anonymous: false,
    };
    let mut plan = Plan::default();
    plan.spaces.push(space);
    LedgerWriter::create(dir, plan).unwrap()
}

#[test]
fn a_file_with_a_number_beyond_all_is_none_of_the_ledgers() {
    let dir = tempfile::tempdir().unwrap();
    let foreign = dir.path().join(DIRECTORY).join(format!("0-{}.run", u64::MAX));
    std::fs::create_dir(dir.path().join(DIRECTORY)).unwrap();
    std::fs::write(&foreign, "not a run").unwrap();
    let mut ledger = writer(dir.path());
    ledger.rows.push(row(1, 1, true));
    ledger.finish().unwrap();
    let read = Ledger::open(dir.path()).unwrap().unwrap();
    assert_eq!(read.count().unwrap(), 1);
    assert_eq!(std::fs::read_to_string(foreign).unwrap(), "not a run");
}

#[test]
fn what_was_added_comes_back_in_order_whatever_was_merged_on_the_way() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = writer(dir.path());
    let mut truth: BTreeMap<Key, Entry> = BTreeMap::new();
    let mut state = 3_u64;
    // Enough runs for three sizes of them.
    for round in 0..600 {
        for _ in 0..50 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = i64::from(round) * 100 + i64::try_from((state >> 40) % 100).unwrap();
            let one = row((state >> 33) % 5000, at, !state.is_multiple_of(50));
            truth.entry(one.key).or_default().add(one.change);
            ledger.rows.push(one);
        }
        ledger.flush().unwrap();
    }
    assert!(ledger.runs.len() == 3 && ledger.runs.values().all(|runs| runs.len() < FAN_IN));
    ledger.finish().unwrap();
    let read = Ledger::open(dir.path()).unwrap().unwrap();
    assert!(read.head.complete);
    assert_eq!(read.count().unwrap(), truth.len() as u64);
    let sorted = |entry: &Entry| {
        let mut changes = entry.changes().to_vec();
        changes.sort_unstable();
        changes
    };
    for (own, (key, entry)) in read.entries().unwrap().zip(&truth) {
        let (read_key, read_entry) = own.unwrap();
        assert_eq!((read_key, sorted(&read_entry)), (*key, sorted(entry)));
    }
}

#[test]
fn a_run_that_stands_in_two_files_counts_once_and_what_was_not_finished_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = writer(dir.path());
    ledger.rows.extend((0..10_000).map(|object| row(object, 1, true)));
    ledger.rows.sort_unstable();
    ledger.flush().unwrap();
    let path = ledger.runs[&0][0].clone();
    // Killed between the writing of the merged run and the removal of what it was made of.
    std::fs::copy(&path, path.with_file_name("1-00000009.run")).unwrap();
    drop(ledger);
    let read = Ledger::open(dir.path()).unwrap().unwrap();
    assert!(!read.head.complete);
    assert_eq!(read.count().unwrap(), 10_000);
    assert!(read.entries().unwrap().all(|entry| entry.unwrap().1.changes().len() == 1));
}

#[test]
fn a_damaged_file_is_said_to_be_damaged_wherever_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = writer(dir.path());
    ledger.rows.extend((0..9000).map(|object| row(object, 1, true)));
    ledger.rows.sort_unstable();
    ledger.flush().unwrap();
    let path = ledger.runs[&0][0].clone();
    let whole = std::fs::read(&path).unwrap();
    assert!(whole.len() < 9000 * 12, "{} bytes", whole.len());
    for at in (0..whole.len()).step_by(1511) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x20;
        std::fs::write(&path, &damaged).unwrap();
        let read = Ledger::open(dir.path()).unwrap().unwrap();
        let sound = read.entries().is_ok_and(|mut entries| entries.all(|entry| entry.is_ok()));
        assert!(!sound, "byte {at}");
    }
    for cut in [0, 7, 8, 20, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let read = Ledger::open(dir.path()).unwrap().unwrap();
        let sound = read.entries().is_ok_and(|mut entries| entries.all(|entry| entry.is_ok()));
        assert!(!sound, "cut at {cut}");
    }
}

#[test]
fn a_file_that_is_gone_is_missed_and_not_taken_for_objects_that_nobody_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = writer(dir.path());
    for round in 0..20 {
        ledger.rows.extend((0..100).map(|object| row(object, round * 10, true)));
        ledger.flush().unwrap();
    }
    ledger.finish().unwrap();
    let read = Ledger::open(dir.path()).unwrap().unwrap();
    assert_eq!((read.count().unwrap(), read.head.files.as_ref().map(Vec::len)), (100, Some(read.runs.len())));
    assert!(read.runs.len() > 3, "{:?}", read.runs);
    for path in &read.runs {
        let whole = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        let why = Ledger::open(dir.path()).unwrap_err().to_string();
        assert!(why.contains(&path.display().to_string()) && why.contains("it is gone"), "{why}");
        std::fs::write(path, whole).unwrap();
    }
    assert!(Ledger::open(dir.path()).unwrap().is_some());
    // A run that is taken up writes on, and what a kill leaves then is not over.
    let mut ledger = writer(dir.path());
    ledger.rows.push(row(1, 1000, true));
    drop(ledger);
    std::fs::remove_file(&read.runs[0]).unwrap();
    assert!(!Ledger::open(dir.path()).unwrap().unwrap().head.complete);
}
