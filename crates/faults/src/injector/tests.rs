//! The guard that an agent is: with short real commands, and times of a second.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cosmark_archive::{FaultInForce, FaultJournal, Heal};
use cosmark_workload::diagnostics::Span;
use cosmark_workload::model::faults::{AllowedFault, FaultKind, FaultPlace};

use super::{Injector, Patience, Progress, Said, Step, Wish};

/// Nothing of a test takes so long.
const PATIENCE: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(600);

struct Bed {
    directory: tempfile::TempDir,
    said: Arc<Mutex<Vec<String>>>,
}

impl Bed {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), said: Arc::default() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn is_there(&self) -> bool {
        self.at("there").exists()
    }

    fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.at(name)).unwrap_or_default().lines().count()
    }

    /// A file that is there; each time that it is made or healed is a line.
    fn allowed(&self) -> AllowedFault {
        let at = |name: &str| self.at(name).display().to_string();
        AllowedFault {
            name: "there".to_owned(),
            kind: FaultKind::Command {
                inject: format!("echo x >>{}; touch {}", at("made"), at("there")),
                heal: format!("echo x >>{}; rm -f {}", at("healed"), at("there")),
                proof: Some(format!("test -e {}", at("there"))),
                place: FaultPlace::Here,
            },
            longest: LONG,
            within: Duration::from_secs(30),
            noticed: Some("sleep 20".to_owned()),
            whole: None,
            span: Span::default(),
        }
    }

    fn injector(&self, patience: Patience) -> Injector {
        let said = Arc::clone(&self.said);
        let talk = move |text: &str| said.lock().unwrap().push(text.to_owned());
        let injector =
            Injector::begin(vec![self.allowed()], self.directory.path(), Vec::new(), patience, talk).unwrap();
        until("the injector is ready", || injector.core.state().is_ready);
        injector
    }

    fn has_said(&self, words: &str) -> bool {
        self.said.lock().unwrap().iter().any(|text| text.contains(words))
    }
}

fn patience(silent: Duration, grace: Duration) -> Patience {
    Patience { silent, grace }
}

fn wish(run: &str, hold: Duration) -> Wish {
    let [run, stage, slot, fault] = [run, "s1", "gone 1", "there"].map(str::to_owned);
    Wish { run, stage, slot, fault, hold }
}

fn until(what: &str, mut good: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !good() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn done(injector: &Injector, ticket: u64, number: u32, step: Step) -> Said {
    let end = Instant::now() + PATIENCE;
    loop {
        match injector.step(ticket, number, step) {
            Progress::Done(said) => return said,
            Progress::Busy => assert!(Instant::now() < end, "{step:?} does not end"),
            Progress::Refused(why) => panic!("{step:?}: {why}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_fault_is_made_once_however_often_it_is_asked_for_and_a_second_run_hears_of_the_first() {
    let bed = Bed::new();
    let injector = bed.injector(patience(LONG, LONG));
    let ticket = injector.open(wish("w1", LONG)).unwrap();
    assert!(!bed.is_there() && injector.held().is_none(), "an asking makes nothing");
    for _ in 0..3 {
        assert_eq!(done(&injector, ticket, 1, Step::Inject), Said::Yes(String::new()));
    }
    let again = done(&injector, ticket, 2, Step::Inject);
    assert!(matches!(&again, Said::Failed(why) if why.contains("made already")), "{again:?}");
    assert!(matches!(injector.step(ticket, 1, Step::Inject), Progress::Refused(_)), "of the past");
    assert_eq!((bed.lines("made"), bed.is_there()), (1, true));
    assert_eq!(injector.held().unwrap().run, "w1");
    let refused = injector.open(wish("w2", LONG)).unwrap_err();
    assert!(refused.contains("there for run w1 (gone 1)"), "{refused}");
    assert!(matches!(injector.step(ticket ^ 1, 9, Step::Heal), Progress::Refused(_)), "another's ticket");
    let proved = done(&injector, ticket, 3, Step::Prove);
    assert!(matches!(&proved, Said::Yes(proof) if proof.contains("it ended with 0")), "{proved:?}");
    assert!(matches!(done(&injector, ticket, 4, Step::Heal), Said::Yes(_)));
    assert!(!bed.is_there() && injector.held().is_none());
    assert!(matches!(done(&injector, ticket, 5, Step::Heal), Said::Yes(_)));
    assert_eq!(bed.lines("healed"), 1);
    assert!(FaultJournal::of(bed.directory.path()).all().unwrap().is_empty());
    injector.open(wish("w2", LONG)).unwrap();
}

#[test]
fn what_the_operator_does_not_allow_is_not_to_be_had() {
    let bed = Bed::new();
    let injector = bed.injector(Patience::default());
    assert_eq!(injector.allowed(), [("there".to_owned(), LONG)]);
    let refused = |wish: Wish| injector.open(wish).unwrap_err();
    let other = refused(Wish { fault: "rm -rf /".to_owned(), ..wish("w1", LONG) });
    assert!(other.contains("allowed are: there"), "{other}");
    let long = refused(wish("w1", LONG + Duration::from_millis(1)));
    assert!(long.contains("at most"), "{long}");
    assert!(refused(wish("w1", Duration::ZERO)).contains("at most"));
    for run in ["", "../w1", "w 1", "w1/x", &"x".repeat(200)] {
        assert!(refused(wish(run, LONG)).contains("no id of a run"), "{run}");
    }
    assert_eq!(bed.lines("made"), 0);
}

#[test]
fn a_request_that_comes_late_makes_nothing() {
    let bed = Bed::new();
    let injector = bed.injector(patience(Duration::from_secs(6), LONG));
    let ticket = injector.open(wish("w1", LONG)).unwrap();
    std::thread::sleep(Duration::from_millis(6500));
    let late = injector.step(ticket, 1, Step::Inject);
    assert!(matches!(&late, Progress::Refused(why) if why.contains("came late")), "{late:?}");
    // The newest asking counts.
    let (first, second) =
        (injector.open(wish("w1", LONG)).unwrap(), injector.open(wish("w1", LONG)).unwrap());
    assert!(matches!(injector.step(first, 1, Step::Inject), Progress::Refused(_)));
    assert_eq!(done(&injector, second, 1, Step::Prove), Said::No);
    assert_eq!(bed.lines("made"), 0);
}

#[test]
fn what_waits_to_be_made_is_not_made_when_its_run_is_gone_or_has_it_healed() {
    for (silent, is_gone) in [(Duration::from_secs(6), true), (LONG, false)] {
        let bed = Bed::new();
        // Somebody else has made it, and heals it a while later.
        fs::write(bed.at("there"), "").unwrap();
        let injector = bed.injector(patience(silent, LONG));
        let ticket = injector.open(wish("w1", LONG)).unwrap();
        assert_eq!(injector.step(ticket, 1, Step::Inject), Progress::Busy);
        until("it waits", || injector.held().is_some());
        if is_gone {
            std::thread::sleep(silent + Duration::from_secs(1));
        } else {
            assert_eq!(injector.step(ticket, 2, Step::Heal), Progress::Busy);
        }
        fs::remove_file(bed.at("there")).unwrap();
        until("it is given up", || injector.held().is_none());
        if !is_gone {
            assert_eq!(done(&injector, ticket, 2, Step::Heal), Said::Yes(String::new()));
        }
        assert_eq!((bed.lines("made"), bed.is_there()), (0, false), "{:?}", bed.said);
        injector.open(wish("w2", LONG)).unwrap();
    }
}

#[test]
fn a_fault_of_a_run_that_is_silent_or_goes_on_for_too_long_is_healed_and_its_run_hears_why() {
    // Longer than a busy machine takes from one step of this test to the next.
    let short = Duration::from_secs(6);
    for (patience, hold, why) in [
        (patience(short, LONG), LONG, "nothing was heard of its run"),
        (patience(LONG, Duration::ZERO), short, "its time is over"),
    ] {
        let bed = Bed::new();
        let injector = bed.injector(patience);
        let ticket = injector.open(wish("w1", hold)).unwrap();
        assert!(matches!(done(&injector, ticket, 1, Step::Inject), Said::Yes(_)));
        until(why, || !bed.is_there() && injector.held().is_none());
        assert!(bed.has_said(why), "{:?}", bed.said);
        let proved = done(&injector, ticket, 2, Step::Prove);
        assert!(matches!(&proved, Said::Failed(said) if said.contains(why)), "{proved:?}");
        let ended = done(&injector, ticket, 3, Step::Heal);
        assert!(
            matches!(&ended, Said::Ended { why: said, ago } if said.contains(why) && *ago < PATIENCE),
            "{ended:?}"
        );
        // Also where another run has asked since, and from the next start.
        injector.open(wish("w2", hold)).unwrap();
        let again = done(&injector, ticket, 4, Step::Heal);
        assert!(matches!(&again, Said::Ended { why: said, .. } if said.contains(why)), "{again:?}");
        drop(injector);
        let again = done(&bed.injector(patience), ticket, 1, Step::Heal);
        assert!(matches!(&again, Said::Ended { why: said, .. } if said.contains(why)), "{again:?}");
        assert_eq!((bed.lines("made"), bed.lines("healed")), (1, 1));
    }
}

#[test]
fn who_says_that_its_run_lives_is_not_silent() {
    let bed = Bed::new();
    // Longer than a busy machine holds this thread up between two of its words.
    let injector = bed.injector(patience(Duration::from_secs(8), LONG));
    let ticket = injector.open(wish("w1", LONG)).unwrap();
    assert!(matches!(done(&injector, ticket, 1, Step::Inject), Said::Yes(_)));
    let end = Instant::now() + Duration::from_secs(11);
    while Instant::now() < end {
        injector.alive(ticket);
        injector.alive(ticket ^ 1);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(bed.is_there(), "{:?}", bed.said);
    injector.end();
    assert!(!bed.is_there() && bed.has_said("the agent ends"), "{:?}", bed.said);
    assert!(injector.open(wish("w2", LONG)).unwrap_err().contains("the agent ends"));
}

#[test]
fn what_a_start_that_was_killed_has_left_is_healed_by_the_next_one() {
    let bed = Bed::new();
    fs::write(bed.at("there"), "").unwrap();
    let words = |script: String| vec!["sh".to_owned(), "-c".to_owned(), script];
    let left = |script: String| {
        let heal = Heal::Command {
            words: words(script),
            directory: bed.directory.path().to_owned(),
            within: Duration::from_secs(30),
            proof: None,
        };
        let mut fault = FaultInForce::made_here("w1", "s1", "gone 1", "x", heal);
        fault.process.started_ticks = fault.process.started_ticks.map(|ticks| ticks + 1);
        fault
    };
    let journal = FaultJournal::of(bed.directory.path());
    journal.note(&left("rm there".to_owned())).unwrap();
    let injector = bed.injector(Patience::default());
    assert!(!bed.is_there() && journal.all().unwrap().is_empty(), "{:?}", bed.said);
    injector.open(wish("w2", LONG)).unwrap();
    drop(injector);
    // What it cannot heal is not made worse.
    journal.note(&left("exit 3".to_owned())).unwrap();
    let injector = bed.injector(Patience::default());
    let refused = injector.open(wish("w2", LONG)).unwrap_err();
    assert!(refused.contains("is still in force") && refused.contains("cosmark faults heal"), "{refused}");
}

#[test]
fn a_question_holds_no_fault() {
    let bed = Bed::new();
    let mut allowed = bed.allowed();
    (allowed.noticed, allowed.within) = (Some("sleep 600".to_owned()), LONG);
    let path: &Path = bed.directory.path();
    let injector = Injector::begin(vec![allowed], path, Vec::new(), patience(LONG, LONG), |_| ()).unwrap();
    until("ready", || injector.core.state().is_ready);
    let ticket = injector.open(wish("w1", LONG)).unwrap();
    assert!(matches!(done(&injector, ticket, 1, Step::Inject), Said::Yes(_)));
    assert_eq!(injector.step(ticket, 2, Step::Noticed), Progress::Busy);
    std::thread::sleep(Duration::from_millis(300));
    // Long before the question ends.
    assert!(matches!(done(&injector, ticket, 3, Step::Heal), Said::Yes(_)));
    assert!(!bed.is_there());
    let whole = done(&injector, ticket, 4, Step::Whole);
    assert!(matches!(&whole, Said::Failed(why) if why.contains("whole: in the agent's file")), "{whole:?}");
}

#[test]
fn what_another_process_has_healed_is_not_healed_again_and_who_deletes_the_journal_has_healed_nothing() {
    let bed = Bed::new();
    let injector = bed.injector(patience(LONG, LONG));
    let journal = bed.at(".faults");
    for healed in [false, true] {
        let ticket = injector.open(wish("w1", LONG)).unwrap();
        assert!(matches!(done(&injector, ticket, 1, Step::Inject), Said::Yes(_)));
        if healed {
            fs::remove_file(bed.at("there")).unwrap();
            let notes = fs::read_dir(&journal).unwrap().map(|entry| entry.unwrap().path());
            notes.for_each(|note| fs::remove_file(note).unwrap());
        } else {
            fs::remove_dir_all(&journal).unwrap();
        }
        let said = done(&injector, ticket, 2, Step::Heal);
        let by_another = matches!(&said, Said::Ended { why, .. } if why.contains("somebody else"));
        assert_eq!((by_another, matches!(said, Said::Yes(_))), (healed, !healed), "{said:?}");
        assert!(!bed.is_there() && injector.held().is_none(), "{:?}", bed.said);
        assert_eq!(bed.lines("healed"), 1);
    }
}

#[test]
fn a_proof_that_hangs_keeps_no_fault_in_force() {
    let second = Duration::from_secs(1);
    // The run asks to have it healed, or its time is over.
    for (grace, asks) in [(LONG, true), (second, false)] {
        let bed = Bed::new();
        let mut allowed = bed.allowed();
        allowed.within = LONG;
        if let FaultKind::Command { proof: Some(proof), .. } = &mut allowed.kind {
            // What is not there is said at once.
            proof.push_str(" && sleep 600");
        }
        let path: &Path = bed.directory.path();
        let injector =
            Injector::begin(vec![allowed], path, Vec::new(), patience(LONG, grace), |_| ()).unwrap();
        until("ready", || injector.core.state().is_ready);
        let ticket = injector.open(wish("w1", second)).unwrap();
        assert!(matches!(done(&injector, ticket, 1, Step::Inject), Said::Yes(_)));
        assert_eq!(injector.step(ticket, 2, Step::Prove), Progress::Busy);
        std::thread::sleep(Duration::from_millis(300));
        if asks {
            assert!(matches!(done(&injector, ticket, 3, Step::Heal), Said::Yes(_)));
        } else {
            let proved = done(&injector, ticket, 2, Step::Prove);
            assert!(matches!(&proved, Said::Failed(why) if why.contains("had not ended")), "{proved:?}");
        }
        until("it is healed", || !bed.is_there() && injector.held().is_none());
        assert_eq!((bed.lines("made"), bed.lines("healed")), (1, 1));
    }
}

#[test]
fn what_cannot_be_made_is_healed_and_said() {
    let bed = Bed::new();
    let mut allowed = bed.allowed();
    if let FaultKind::Command { inject, .. } = &mut allowed.kind {
        inject.push_str("; exit 3");
    }
    let path: &Path = bed.directory.path();
    let injector = Injector::begin(vec![allowed], path, Vec::new(), Patience::default(), |_| ()).unwrap();
    until("ready", || injector.core.state().is_ready);
    let ticket = injector.open(wish("w1", LONG)).unwrap();
    let said = done(&injector, ticket, 1, Step::Inject);
    assert!(matches!(&said, Said::Failed(why) if why.contains("ended with 3")), "{said:?}");
    assert!(!bed.is_there() && injector.held().is_none());
    assert_eq!((bed.lines("made"), bed.lines("healed")), (1, 1));
}

#[test]
fn a_run_hears_from_the_next_start_what_became_of_its_fault_and_by_whom() {
    let bed = Bed::new();
    let injector = bed.injector(patience(LONG, LONG));
    let never = injector.open(wish("w1", LONG)).unwrap();
    let ticket = injector.open(wish("w1", LONG)).unwrap();
    assert!(matches!(done(&injector, ticket, 1, Step::Inject), Said::Yes(_)));
    injector.end();
    assert!(!bed.is_there());
    let said = done(&injector, ticket, 2, Step::Heal);
    assert!(matches!(&said, Said::Ended { why, .. } if why.contains("the agent ends")), "{said:?}");
    let next = bed.injector(patience(LONG, LONG));
    let said = done(&next, ticket, 2, Step::Heal);
    assert!(matches!(&said, Said::Ended { why, .. } if why.contains("the agent ends")), "{said:?}");
    assert_eq!(done(&next, never, 1, Step::Heal), Said::Yes("it was never made".to_owned()));
    assert!(matches!(next.step(ticket ^ 1, 1, Step::Heal), Progress::Refused(_)), "nobody's ticket");
    drop(next);
    // A start that was killed, as its files are then; healed by its guardian, by the next start, by nobody.
    for (heals, log, is_healed, words) in [
        ("rm there", true, true, "healed by its guardian, because"),
        ("rm there", false, true, "its next start healed it"),
        ("exit 3", false, false, "still in force"),
    ] {
        let bed = Bed::new();
        let journal = FaultJournal::of(bed.directory.path());
        let (mut tickets, _) = cosmark_archive::FaultTickets::open(bed.directory.path());
        let [run, stage, slot] = ["w1", "s1", "gone 1"].map(str::to_owned);
        let asked = cosmark_archive::FaultTicket { ticket: 7, run, stage, slot, made: None, ended: None };
        tickets.add(asked).unwrap();
        tickets.make(7).unwrap();
        fs::write(bed.at("there"), "").unwrap();
        let heal = Heal::Command {
            words: ["sh", "-c", heals].map(str::to_owned).to_vec(),
            directory: bed.directory.path().to_owned(),
            within: Duration::from_secs(30),
            proof: None,
        };
        let mut fault = FaultInForce::made_here("w1", "s1", "gone 1", "x", heal).for_ticket(7);
        fault.process.started_ticks = fault.process.started_ticks.map(|ticks| ticks + 1);
        let note = journal.note(&fault).unwrap();
        if log {
            fault
                .log(note.path(), "healed by its guardian, because the run that made it is gone: x")
                .unwrap();
            fs::remove_file(bed.at("there")).unwrap();
            note.forget().unwrap();
        }
        let injector = bed.injector(Patience::default());
        let said = done(&injector, 7, 1, Step::Heal);
        let good = match &said {
            Said::Ended { why, .. } => is_healed && why.contains(words),
            Said::Failed(why) => !is_healed && why.contains(words),
            _ => false,
        };
        assert!(good, "{words}: {said:?}");
        assert_eq!(bed.is_there(), !is_healed, "{words}");
    }
}

#[test]
fn what_a_start_before_has_in_force_while_it_still_ends_is_looked_at_again() {
    let bed = Bed::new();
    fs::write(bed.at("there"), "").unwrap();
    let heal = Heal::Command {
        words: ["rm", "there"].map(str::to_owned).to_vec(),
        directory: bed.directory.path().to_owned(),
        within: Duration::from_secs(30),
        proof: None,
    };
    // Of a process that lives: this one.
    let fault = FaultInForce::made_here("w1", "s1", "gone 1", "x", heal).for_ticket(7);
    let note = FaultJournal::of(bed.directory.path()).note(&fault).unwrap();
    let injector = bed.injector(patience(LONG, LONG));
    assert!(bed.is_there() && injector.core.heal_left().is_some(), "{:?}", bed.said);
    note.forget().unwrap();
    assert!(injector.core.heal_left().is_none(), "{:?}", bed.said);
}

#[test]
fn a_run_that_has_just_asked_for_a_fault_is_not_pushed_out_by_another_one() {
    let bed = Bed::new();
    let injector = bed.injector(patience(LONG, LONG));
    let ticket = injector.open(wish("w1", LONG)).unwrap();
    let refused = injector.open(wish("w2", LONG)).unwrap_err();
    assert!(refused.contains("run w1 is about to have there made (gone 1)"), "{refused}");
    assert!(matches!(done(&injector, ticket, 1, Step::Inject), Said::Yes(_)));
    assert!(matches!(done(&injector, ticket, 2, Step::Heal), Said::Yes(_)));
    // Who does not have it made in its turn is asked after no more.
    injector.open(wish("w1", LONG)).unwrap();
    until("its turn is over", || injector.open(wish("w2", LONG)).is_ok());
}

#[test]
fn a_run_that_waits_until_its_fault_is_made_is_not_pushed_out_by_another_one() {
    let bed = Bed::new();
    let injector = bed.injector(patience(Duration::from_secs(10), LONG));
    // Nobody does what is asked for: as while the agent is at something that takes long.
    injector.end();
    injector.core.state().stop = false;
    let ticket = injector.open(wish("w1", LONG)).unwrap();
    assert!(matches!(injector.step(ticket, 1, Step::Inject), Progress::Busy));
    let refused = injector.open(wish("w2", LONG)).unwrap_err();
    assert!(refused.contains("run w1 is about to have there made (gone 1)"), "{refused}");
    until("it is silent", || injector.open(wish("w2", LONG)).is_ok());
}
