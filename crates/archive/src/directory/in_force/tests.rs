//! Faults that are written down, claimed, and forgotten.

use super::*;

#[test]
fn how_a_fault_is_healed_is_said_in_words_that_no_terminal_obeys() {
    let words = ["sh", "-c", "rm x\u{1b}[2J"].map(str::to_owned).to_vec();
    let within = Duration::from_secs(1);
    let heal = Heal::Command { words, directory: PathBuf::from("/srv"), within, proof: None };
    assert_eq!(heal.to_string(), "`sh -c rm x [2J` in /srv");
    let by_agent = Heal::Agent { agent: "s\n1".into(), ticket: None };
    assert!(by_agent.to_string().starts_with("its agent s 1, ") && by_agent.ends_with_its_maker());
    assert!(!heal.ends_with_its_maker() && Heal::Itself.ends_with_its_maker());
    assert_eq!(Heal::Continue(vec![(7, 1), (9, 1)]).to_string(), "SIGCONT to 7, 9");
}

fn noted(directory: &Path) -> (FaultNote, FaultInForce) {
    let journal = FaultJournal { directory: directory.join(DIRECTORY) };
    let fault = FaultInForce::made_here("w1", "s1-main", "gone 1", "x", Heal::Itself);
    (journal.note(&fault).unwrap(), fault)
}

#[test]
fn one_process_at_a_time_heals_a_fault_and_who_comes_later_sees_that_it_is_healed() {
    let directory = tempfile::tempdir().unwrap();
    let (note, fault) = noted(directory.path());
    let same = FaultNote::read(note.path()).unwrap();
    assert_eq!(same.1, fault);
    // Opened before it was deleted, locked afterwards.
    let late = FaultNote { path: note.path().to_owned() };
    let claim = note.claim().unwrap();
    assert!(matches!(claim, Claim::Mine(Some(_))), "{claim:?}");
    assert!(matches!(same.0.claim().unwrap(), Claim::Busy));
    assert!(matches!(same.0.claim_within(Duration::from_millis(50)).unwrap(), Claim::Busy));
    let waiting = std::thread::spawn(move || late.claim_within(Duration::from_secs(60)).unwrap());
    std::thread::sleep(Duration::from_millis(60));
    assert!(!note.was_forgotten());
    note.forget().unwrap();
    drop(claim);
    assert!(matches!(waiting.join().unwrap(), Claim::Gone));
    assert!(same.0.was_forgotten());
    fs::remove_dir_all(directory.path().join(DIRECTORY)).unwrap();
    assert!(!same.0.was_forgotten(), "who deletes the journal has healed nothing");
}

#[test]
fn what_a_group_or_others_may_have_written_heals_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (note, _) = noted(directory.path());
    assert_eq!(fs::metadata(note.path()).unwrap().mode() & 0o022, 0);
    // Whoever lets others read nothing has commands with passwords there.
    for (mode, closed) in [(0o600, 0o600), (0o640, 0o640), (0o664, 0o644), (0o666, 0o644)] {
        fs::set_permissions(note.path(), Permissions::from_mode(mode)).unwrap();
        close_to_others(note.path()).unwrap();
        assert_eq!(fs::metadata(note.path()).unwrap().mode() & 0o777, closed, "{mode:o}");
    }
    for mode in [0o664, 0o646] {
        fs::set_permissions(note.path(), Permissions::from_mode(mode)).unwrap();
        let why = FaultJournal::of(directory.path()).all().unwrap_err().to_string();
        assert!(why.contains("others may write it") && why.contains("heal that by hand"), "{why}");
    }
    fs::set_permissions(note.path(), Permissions::from_mode(0o600)).unwrap();
    assert_eq!(FaultJournal::of(directory.path()).all().unwrap().len(), 1);
}

#[test]
fn what_can_be_read_is_found_beside_what_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let (note, _) = noted(directory.path());
    let journal = FaultJournal::of(directory.path());
    let damaged = directory.path().join(DIRECTORY).join("w9-9.json");
    fs::write(&damaged, "{").unwrap();
    let (found, why) = journal.found().unwrap();
    assert_eq!((found.len(), why.len()), (1, 1), "{why:?}");
    assert_eq!(found[0].0.path(), note.path());
    assert!(why[0].to_string().contains("w9-9.json"), "{}", why[0]);
    assert!(journal.all().is_err(), "nobody takes it for all");
    fs::remove_file(&damaged).unwrap();
    assert!(is_gone(&damaged) && !is_gone(note.path()));
    assert_eq!(journal.all().unwrap().len(), 1);
}

/// Who was given an archive knows from its records what this machine and its boot are called.
#[test]
fn a_note_that_came_with_an_archive_is_nobodys_order() {
    let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (note, fault) = noted(own.path());
    assert!(FaultNote::read(note.path()).unwrap().1.was_made_here() && fault.was_made_here());
    let unpacked = other.path().join(DIRECTORY);
    fs::create_dir(&unpacked).unwrap();
    let copy = unpacked.join(note.path().file_name().unwrap());
    fs::copy(note.path(), &copy).unwrap();
    assert!(!FaultNote::read(&copy).unwrap().1.was_made_here());
    // Without a word of where it was written down, too.
    let mut bare: serde_json::Value = serde_json::from_slice(&fs::read(&copy).unwrap()).unwrap();
    assert!(bare.as_object_mut().unwrap().remove("journal").is_some());
    fs::write(note.path(), bare.to_string()).unwrap();
    assert!(!FaultNote::read(note.path()).unwrap().1.was_made_here());
    // An archive that is moved stays what it was.
    let (note, _) = noted(own.path());
    let moved = other.path().join("moved");
    fs::rename(own.path().join(DIRECTORY), &moved).unwrap();
    let there = moved.join(note.path().file_name().unwrap());
    assert!(FaultNote::read(&there).unwrap().1.was_made_here());
}

#[test]
fn a_pipe_in_place_of_the_guardians_log_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let (note, fault) = noted(directory.path());
    let log = directory.path().join(DIRECTORY).join(LOG);
    assert!(std::process::Command::new("mkfifo").arg(&log).status().unwrap().success());
    let (to, from) = std::sync::mpsc::sync_channel(1);
    let journal = FaultJournal::of(directory.path());
    std::thread::spawn(move || {
        let word = journal.last_word(("w1", "s1-main", "gone 1"), Timestamp::UNIX_EPOCH);
        to.send((word.is_none(), fault.log(note.path(), "healed").is_err()))
    });
    assert_eq!(from.recv_timeout(Duration::from_secs(60)).unwrap(), (true, true));
}

#[test]
fn what_a_guardian_did_is_a_line_beside_the_journal_also_where_there_is_no_run() {
    let directory = tempfile::tempdir().unwrap();
    let (note, fault) = noted(directory.path());
    fault.log(note.path(), "healed by\nnobody").unwrap();
    fault.log(note.path(), "again").unwrap();
    let text = fs::read_to_string(directory.path().join(DIRECTORY).join(LOG)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].ends_with("w1 s1-main gone 1: healed by nobody"), "{text}");
    let journal = FaultJournal::of(directory.path());
    let word = |fault: &str, since| journal.last_word(("w1", "s1-main", fault), since).map(|(_, text)| text);
    assert_eq!(word("gone 1", fault.since).as_deref(), Some("again"));
    assert_eq!((word("gone", fault.since), word("gone 1", Timestamp::MAX)), (None, None));
}
