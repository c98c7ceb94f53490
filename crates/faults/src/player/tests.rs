//! Faults that are played: how often a store is asked, and what a question that hangs does to them.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cosmark_archive::{Archive, Heal, Timestamp};
use cosmark_metrics::SlotResult;
use cosmark_workload::diagnostics::Span;
use cosmark_workload::model::faults::{FaultAt, FaultKind, FaultPlace, FaultSpec};

use super::{Player, Playing, is_steady};
use crate::act::agent::{Agents, FaultThere, Said, Step, Wish};
use crate::act::proxy::Proxies;

/// A fault that is made and healed at once: a file that is there.
fn healed_at_once(file: &str, whole: String, slot: Duration) -> FaultSpec {
    FaultSpec {
        name: "gone".to_owned(),
        kind: FaultKind::Command {
            inject: format!("touch {file}"),
            heal: format!("rm -f {file}"),
            proof: Some(format!("test -e {file}")),
            place: FaultPlace::Here,
        },
        at: FaultAt::After(Duration::ZERO),
        hold: Duration::from_millis(100),
        slot,
        repeats: 1,
        keep: Duration::from_secs(1),
        within: Duration::from_secs(60),
        noticed: None,
        whole: Some(whole),
        whole_within: Duration::ZERO,
        limit: None,
        span: Span::default(),
    }
}

fn begin(path: &Path, faults: Vec<FaultSpec>) -> Player {
    begin_with(path, faults, None)
}

fn begin_with(path: &Path, faults: Vec<FaultSpec>, agents: Option<Arc<dyn Agents>>) -> Player {
    begin_at(path, faults, agents, (Timestamp::now(), None))
}

/// A load that began then, of a run that was taken up then.
fn begin_at(
    path: &Path,
    faults: Vec<FaultSpec>,
    agents: Option<Arc<dyn Agents>>,
    (began, taken_up): (Timestamp, Option<Timestamp>),
) -> Player {
    Player::begin(Playing {
        faults,
        run: "w1".to_owned(),
        stage: "s1".to_owned(),
        began,
        taken_up,
        ramp_s: 0.0,
        load_s: None,
        is_open: true,
        journal: Archive::open(path).unwrap().fault_journal(),
        proxies: Proxies::default(),
        agents,
        guardian: Vec::new(),
    })
}

fn until_over(player: &Player) {
    let until = Instant::now() + Duration::from_secs(120);
    while !player.is_over() {
        assert!(Instant::now() < until, "the faults do not end");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_rate_with_pauses_every_few_seconds_becomes_steady_and_one_that_warms_up_does_not() {
    let pauses = |every: usize, seconds: usize| {
        let of = |at: usize| if at.is_multiple_of(every) { 0.0 } else { 100.0 };
        (0..seconds).map(of).collect::<Vec<f64>>()
    };
    for every in 3..=20 {
        let steady = (30..90).filter(|seconds| is_steady(&pauses(every, *seconds))).count();
        assert!(steady > 0, "every {every} s");
    }
    let warming = |at: usize| 20.0 + 80.0 * (at.min(60) as f64) / 60.0;
    let rates: Vec<f64> = (0..60).map(warming).collect();
    assert!((0..60).all(|seconds| !is_steady(&rates[..seconds])));
    assert!(is_steady(&[100.0; 30]) && !is_steady(&[100.0; 29]) && !is_steady(&[0.0; 60]));
}

#[test]
fn a_question_that_hangs_holds_no_fault_and_no_end_of_the_load_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let file = path.join("gone");
    let hangs = |hold: Duration| FaultSpec {
        noticed: Some("sleep 600".to_owned()),
        hold,
        within: Duration::from_secs(300),
        ..healed_at_once(file.to_str().unwrap(), "true".to_owned(), hold + Duration::from_secs(1))
    };
    let player = begin(path, vec![hangs(Duration::from_secs(2))]);
    until_over(&player);
    let slot = &player.results(&[])[0].slots[0];
    assert!(slot.heal_s.unwrap() - slot.from_s < 60.0, "{slot:?}");
    assert!(!file.exists());
    // A machine that is busy beyond measure may make it void, and says so.
    let said = format!("{slot:?}");
    let good = ["the store had not noticed ", "it was held for"].iter().any(|words| said.contains(words));
    assert!(good, "{said}");

    let player = begin(path, vec![hangs(Duration::from_secs(500))]);
    let until = Instant::now() + Duration::from_secs(60);
    while !player.take().iter().any(|news| news.text.contains("it is there")) {
        assert!(Instant::now() < until, "it does not land");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    player.stop();
    until_over(&player);
    assert!(!file.exists());
}

/// A fault by commands whose file is its being there; `proof` is run where it is.
fn by_commands(path: &Path, inject: &str, proof: &str, hold_s: u64) -> FaultSpec {
    let (file, hold) = (path.join("gone"), Duration::from_secs(hold_s));
    let spec = healed_at_once(file.to_str().unwrap(), "true".to_owned(), hold + Duration::from_secs(1));
    let kind = FaultKind::Command {
        inject: format!("cd {}; touch gone; {inject}", path.display()),
        heal: format!("rm -f {}", file.display()),
        proof: Some(format!("cd {}; test -e gone && {{ {proof}; }}", path.display())),
        place: FaultPlace::Here,
    };
    let noticed = Some("false".to_owned());
    FaultSpec { kind, hold, within: Duration::from_secs(300), noticed, whole: None, ..spec }
}

#[test]
fn a_fault_by_commands_that_ends_by_itself_is_void() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let player = begin(path, vec![by_commands(path, "(sleep 1; rm gone) >/dev/null 2>&1 &", "true", 4)]);
    until_over(&player);
    let slot = &player.results(&[])[0].slots[0];
    let why = slot.void.as_deref().unwrap_or_default();
    // A machine that is busy beyond measure may be too late to prove it.
    assert!(why.contains("it was gone before it was to be healed") || slot.landed_s.is_none(), "{slot:?}");
    assert!(slot.void.is_some(), "{slot:?}");
}

#[test]
fn a_proof_that_is_slow_or_hangs_keeps_no_fault_in_force_for_longer_and_no_load_from_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let held_s = |slot: &SlotResult| slot.heal_s.unwrap() - slot.from_s;
    let played = |proof: &str| {
        let player = begin(path, vec![by_commands(path, "true", proof, 7)]);
        until_over(&player);
        assert!(!path.join("gone").exists());
        player.results(&[]).remove(0).slots.remove(0)
    };
    // One that never comes has 15 s, in which the others are played; for one there is no time to be given twice.
    let (other, third) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let never = begin(other.path(), vec![by_commands(other.path(), "true", "sleep 600", 1)]);
    let once = begin(third.path(), vec![by_commands(third.path(), "true", "sleep 6", 8)]);
    let slow = played("sleep 3");
    // A machine that is busy beyond measure may hold it for longer, and says so.
    let is_late = |slot: &SlotResult| slot.void.as_ref().is_some_and(|why| why.contains("it was held for"));
    assert!(slow.landed_s.is_some() && (held_s(&slow) < 9.5 || is_late(&slow)), "{slow:?}");
    let unnoticed = &slow.unknown["noticed_after_s"];
    let is_soon = slow.landed_s.unwrap() - slow.from_s < 4.0;
    assert!(!is_soon || unnoticed.contains("s before it was to be healed"), "{unnoticed}");
    until_over(&once);
    let once = once.results(&[]).remove(0).slots.remove(0);
    assert!(once.landed_s.is_some() && (held_s(&once) < 10.5 || is_late(&once)), "{once:?}");
    let hangs = played("test ! -e proved || sleep 600; touch proved");
    assert!(held_s(&hangs) < 60.0, "{hangs:?}");
    until_over(&never);
    assert!(!other.path().join("gone").exists());
    for slot in [hangs, never.results(&[]).remove(0).slots.remove(0)] {
        let why = slot.void.as_deref().unwrap_or_default();
        assert!(why.contains("its proof did not end in time"), "{slot:?}");
    }

    let player = begin(path, vec![by_commands(path, "true", "sleep 600", 500)]);
    let until = Instant::now() + Duration::from_secs(60);
    while !path.join("gone").exists() {
        assert!(Instant::now() < until, "it is not made");
        std::thread::sleep(Duration::from_millis(20));
    }
    player.stop();
    until_over(&player);
    assert!(!path.join("gone").exists());
    let slot = &player.results(&[])[0].slots[0];
    assert_eq!(slot.void.as_deref(), Some("the load ended before it was proved"), "{slot:?}");
}

#[test]
fn a_store_that_works_for_its_answer_is_left_alone_for_four_times_as_long() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let asked = path.join("asked");
    // When each question began and ended, in nanoseconds.
    let whole = format!("date +%s%N >>{0}; sleep 0.5; date +%s%N >>{0}; false", asked.display());
    let player = begin(
        path,
        vec![healed_at_once(path.join("gone").to_str().unwrap(), whole, Duration::from_secs(24))],
    );
    until_over(&player);
    let results = player.results(&[]);
    let slot = &results[0].slots[0];
    assert_eq!(slot.void, None, "{slot:?}");
    let why = format!("{slot:?}");
    assert!(why.contains("redundancy was not whole before the slot ended (last asked "), "{why}");
    let text = std::fs::read_to_string(asked).unwrap();
    let times: Vec<i64> = text.lines().map(|line| line.parse().unwrap()).collect();
    let questions: Vec<&[i64]> = times.chunks_exact(2).collect();
    assert!(questions.len() >= 3, "{times:?}");
    // The last one is asked where the slot ends, however short the pause before it is.
    for pair in questions.windows(2).take(questions.len() - 2) {
        let (took, rest) = (pair[0][1] - pair[0][0], pair[1][0] - pair[0][1]);
        assert!(rest >= 4 * took, "took {took} ns, the next one {rest} ns later: {times:?}");
    }
}

/// A fault that is healed at once, on a store that is whole when `whole` says so.
fn not_whole(path: &Path, whole: String, whole_within: Duration, repeats: u32) -> FaultSpec {
    let file = path.join("gone");
    let fault = healed_at_once(file.to_str().unwrap(), whole, Duration::from_secs(1));
    FaultSpec { whole_within, repeats, ..fault }
}

#[test]
fn the_next_fault_waits_until_the_store_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let asked = path.join("asked");
    // Not before the fifth question, and a slot of one second has time for two.
    let whole = format!("echo x >>{0}; test $(wc -l <{0}) -ge 5", asked.display());
    let player = begin(path, vec![not_whole(path, whole, Duration::from_secs(100), 2)]);
    until_over(&player);
    let slots = &player.results(&[])[0].slots;
    let [first, second] = &slots[..] else { panic!("{slots:?}") };
    assert_eq!((first.void.as_ref(), second.void.as_ref()), (None, None), "{slots:?}");
    let whole_s = first.from_s + first.whole_after_s.unwrap();
    assert!(whole_s > first.to_s, "{slots:?}");
    assert!(second.from_s >= whole_s, "{slots:?}");
    assert!(player.take().iter().any(|news| news.text.contains("gone 1: waiting until redundancy is whole")));
}

#[test]
fn slots_that_would_begin_on_a_store_that_is_not_whole_are_void_unless_nobody_waits_for_it() {
    let quiet = |slot| FaultSpec {
        name: "quiet".to_owned(),
        kind: FaultKind::None,
        repeats: 1,
        whole: None,
        ..healed_at_once("x", String::new(), slot)
    };
    for (within, is_void) in [(Duration::from_secs(2), true), (Duration::ZERO, false)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let faults = vec![not_whole(path, "false".to_owned(), within, 2), quiet(Duration::from_secs(1))];
        let player = begin(path, faults);
        until_over(&player);
        let all: Vec<_> = player.results(&[]).into_iter().flat_map(|result| result.slots).collect();
        assert_eq!((all.len(), all[0].void.as_ref()), (3, None), "{all:?}");
        for slot in &all[1..] {
            let why = slot.void.as_deref().unwrap_or_default();
            assert_eq!(
                why.starts_with("redundancy is not whole since gone 1"),
                is_void,
                "{within:?}: {slot:?}"
            );
        }
    }
}

#[test]
fn slots_that_are_not_made_any_more_are_void_and_say_why() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let file = path.join("made");
    let fault = |at: FaultAt, repeats: u32| FaultSpec {
        at,
        repeats,
        ..healed_at_once(file.to_str().unwrap(), "true".to_owned(), Duration::from_secs(1))
    };
    // A moment that does not come, and what was to be made behind it.
    let faults = vec![fault(FaultAt::Objects(u64::MAX), 2), fault(FaultAt::After(Duration::ZERO), 3)];
    let player = begin(path, faults);
    std::thread::sleep(Duration::from_millis(300));
    player.stop();
    until_over(&player);
    let results = player.results(&[]);
    assert_eq!(results.iter().map(|result| result.slots.len()).collect::<Vec<_>>(), [2, 3]);
    for (result, slot) in
        results.iter().flat_map(|result| result.slots.iter().map(move |slot| (result, slot)))
    {
        let why = slot.void.as_deref().unwrap_or_default();
        assert!(why.starts_with("the load ") && slot.landed_s.is_none(), "{}: {slot:?}", result.name);
    }
    assert_eq!(results[0].slots[0].void.as_deref(), Some("the load ended before its moment came"));
    let said: Vec<String> = player.take().into_iter().map(|news| news.text).collect();
    assert!(said.iter().any(|text| text == "4 further slots are not made: the load had ended"), "{said:?}");

    // Behind what could not be healed nothing is made.
    let unhealed = FaultSpec {
        kind: FaultKind::Command {
            inject: format!("touch {}", path.join("stays").display()),
            heal: "false".to_owned(),
            proof: Some(format!("test -e {}", path.join("stays").display())),
            place: FaultPlace::Here,
        },
        whole: None,
        ..fault(FaultAt::After(Duration::ZERO), 1)
    };
    let player = begin(path, vec![unhealed, fault(FaultAt::After(Duration::ZERO), 1)]);
    until_over(&player);
    let results = player.results(&[]);
    let why = results[1].slots[0].void.as_deref();
    assert_eq!(why, Some("the fault before it is not known to be healed"), "{:?}", results[0].slots);
    assert!(!file.exists());
}

#[test]
fn a_store_that_is_not_whole_is_waited_for_behind_the_load_until_the_user_ends_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let fault = not_whole(path, "false".to_owned(), Duration::from_secs(1000), 1);
    let player = begin(path, vec![fault]);
    let until = Instant::now() + Duration::from_secs(60);
    while !player.take().iter().any(|news| news.text.contains("waiting until redundancy is whole")) {
        assert!(Instant::now() < until, "nobody waits");
        std::thread::sleep(Duration::from_millis(20));
    }
    player.stop();
    std::thread::sleep(Duration::from_secs(2));
    assert!(!player.is_over(), "the end of the load is no reason");
    player.leave();
    until_over(&player);
    assert_eq!(player.results(&[])[0].slots[0].void, None);
}

/// An agent, and the steps that it was asked for.
struct OneAgent {
    steps: Arc<Mutex<Vec<Step>>>,
    /// It has healed the fault by itself before it was asked to.
    heals_by_itself: bool,
    /// What it answers when it is to heal it, where that is something else.
    heals: Option<Result<Said, String>>,
    /// So many questions whether all is whole have no answer.
    lost: usize,
}

impl Agents for OneAgent {
    fn became(&self, _agent: &str, _ticket: u64) -> Result<Said, String> {
        unreachable!("its run lives")
    }

    fn open(&self, agent: &str, wish: &Wish) -> Result<Box<dyn FaultThere>, String> {
        assert_eq!((agent, wish.run.as_str(), wish.slot.as_str()), ("s1", "w1", "gone 1"));
        assert_eq!((wish.fault.as_str(), wish.hold), ("file there", Duration::from_secs(1)));
        let (steps, heals_by_itself, lost) = (Arc::clone(&self.steps), self.heals_by_itself, self.lost);
        Ok(Box::new(OneFault { steps, heals_by_itself, heals: self.heals.clone(), lost }))
    }
}

/// For so long an answer that does not come is waited for. The store has no work with it, so that is asked again soon.
const NO_ANSWER: Duration = Duration::from_secs(2);

struct OneFault {
    steps: Arc<Mutex<Vec<Step>>>,
    heals_by_itself: bool,
    heals: Option<Result<Said, String>>,
    lost: usize,
}

impl FaultThere for OneFault {
    fn ticket(&self) -> Option<u64> {
        Some(7)
    }

    fn step(&mut self, step: Step, _wanted: &dyn Fn() -> bool) -> Result<Option<Said>, String> {
        let mut steps = self.steps.lock().unwrap();
        let was_proved = steps.contains(&Step::Prove);
        steps.push(step);
        if step == Step::Whole && steps.iter().filter(|one| **one == Step::Whole).count() <= self.lost {
            std::thread::sleep(NO_ANSWER);
            return Err("no answer".to_owned());
        }
        if let Some(said) = self.heals.clone().filter(|_| step == Step::Heal) {
            return said.map(Some);
        }
        Ok(Some(match step {
            Step::Prove if was_proved && self.heals_by_itself => {
                Said::Failed("it was healed already, because nothing was heard of its run".to_owned())
            }
            step => Said::Yes(format!("{step:?} done")),
        }))
    }
}

#[test]
fn a_fault_by_an_agent_is_played_as_any_other_and_is_void_where_its_agent_had_to_heal_it() {
    for (heals_by_itself, is_reached) in [(false, true), (true, true), (false, false)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let fault = FaultSpec {
            kind: FaultKind::Agent { agent: "s1".to_owned(), fault: "file there".to_owned() },
            hold: Duration::from_secs(1),
            whole: None,
            ..healed_at_once("unused", String::new(), Duration::from_secs(3))
        };
        let steps = Arc::new(Mutex::new(Vec::new()));
        let agent = OneAgent { steps: Arc::clone(&steps), heals_by_itself, heals: None, lost: 0 };
        let agents = is_reached.then(|| Arc::new(agent) as Arc<dyn Agents>);
        let player = begin_with(path, vec![fault], agents);
        until_over(&player);
        let results = player.results(&[]);
        let slot = &results[0].slots[0];
        assert!(Archive::open(path).unwrap().fault_journal().all().unwrap().is_empty(), "it is healed");
        let steps = steps.lock().unwrap().clone();
        let why = slot.void.clone().unwrap_or_default();
        if !is_reached {
            assert!(why.contains("does not go over a NATS") && steps.is_empty(), "{slot:?}");
            continue;
        }
        assert_eq!(steps[..3], [Step::Inject, Step::Prove, Step::Noticed], "{steps:?}");
        assert_eq!(steps.iter().filter(|step| **step == Step::Heal).count(), 1, "{steps:?}");
        assert_eq!(slot.proof.as_deref(), Some("s1: Prove done"), "{slot:?}");
        if heals_by_itself {
            assert!(why.contains("because nothing was heard of its run"), "{slot:?}");
        } else {
            assert_eq!((why.as_str(), steps.last()), ("", Some(&Step::Whole)), "{slot:?}");
        }
    }
}

#[test]
fn what_became_of_a_fault_of_an_agent_is_said_in_words_that_differ_and_only_what_is_unhealed_stays_noted() {
    let ago = Duration::from_millis(400);
    let ended = Said::Ended { why: "nothing was heard of its run for 10 s".to_owned(), ago };
    // What the agent answers, what is said, what the slot is void for, whether it stays written down, whether it is healed.
    for (heals, says, void, stays, is_healed) in [
        (
            Ok(ended),
            "before its run asked for it, says agent s1: nothing was heard",
            "nothing was heard",
            false,
            true,
        ),
        (
            Err("agent s1 does not answer".to_owned()),
            "IT IS NOT KNOWN WHETHER IT IS HEALED: agent s1 does not answer",
            "it is not known whether it was healed",
            true,
            false,
        ),
        (
            Ok(Said::Failed("it ended with 3".to_owned())),
            "COULD NOT BE HEALED: agent s1: it ended with 3",
            "it could not be healed",
            true,
            false,
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let fault = FaultSpec {
            kind: FaultKind::Agent { agent: "s1".to_owned(), fault: "file there".to_owned() },
            hold: Duration::from_secs(1),
            whole: None,
            ..healed_at_once("unused", String::new(), Duration::from_secs(3))
        };
        let steps = Arc::new(Mutex::new(Vec::new()));
        let agent = OneAgent { steps, heals_by_itself: false, heals: Some(heals), lost: 0 };
        let player = begin_with(path, vec![fault], Some(Arc::new(agent)));
        // Nobody waits any more for an answer that does not come, once the fault was to be healed.
        let mut news = String::new();
        let until = Instant::now() + Duration::from_secs(60);
        let waits = says.contains("NOT KNOWN");
        while !news.contains("it is there") || (waits && !news.contains("the run waits as long")) {
            assert!(Instant::now() < until, "{news}");
            player.take().iter().for_each(|one| news.push_str(&format!("{}\n", one.text)));
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_secs(4));
        player.leave();
        until_over(&player);
        player.take().iter().for_each(|one| news.push_str(&format!("{}\n", one.text)));
        assert!(news.contains(says), "{news}");
        // What the run waits for is said while it waits, once, and only where an answer may still come.
        assert_eq!(news.matches("the run waits as long").count(), usize::from(waits), "{news}");
        let results = player.results(&[]);
        let slot = &results[0].slots[0];
        assert!(slot.void.as_ref().is_some_and(|why| why.contains(void)), "{slot:?}");
        assert_eq!(slot.healed_s.is_some(), is_healed, "{slot:?}");
        let left = Archive::open(path).unwrap().fault_journal().all().unwrap();
        assert_eq!(!left.is_empty(), stays, "{news}");
        let is_named = |heal: &Heal| *heal == Heal::Agent { agent: "s1".to_owned(), ticket: Some(7) };
        assert!(left.iter().all(|(_, fault)| is_named(&fault.heal)), "{left:?}");
    }
}

#[test]
fn of_a_run_that_is_taken_up_slots_that_may_have_begun_are_void_and_the_others_are_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let file = path.join("made");
    let fault = |name: &str, at_s: u64, repeats: u32| {
        let spec = healed_at_once(file.to_str().unwrap(), "true".to_owned(), Duration::from_secs(1));
        FaultSpec { name: name.to_owned(), at: FaultAt::After(Duration::from_secs(at_s)), repeats, ..spec }
    };
    let now = Timestamp::now();
    let began = now.checked_sub(Duration::from_secs(4)).unwrap();
    // The third slot can have begun at 12 s, and 4 s of the load are over.
    let faults = vec![fault("before", 0, 2), fault("after", 12, 1)];
    let player = begin_at(path, faults, None, (began, Some(now)));
    until_over(&player);
    let results = player.results(&[]);
    for slot in &results[0].slots {
        assert!(
            slot.void.as_ref().is_some_and(|why| why.contains("taken up by another controller 4 s")),
            "{slot:?}"
        );
        assert_eq!(slot.landed_s, None);
    }
    assert_eq!(results[0].slots.len(), 2);
    let made = &results[1].slots[0];
    assert!(made.landed_s.is_some() && made.from_s >= 12.0, "{made:?}");
    let said: Vec<String> = player.take().into_iter().map(|news| news.text).collect();
    assert!(said.iter().any(|text| text.starts_with("before 1: void: the run was taken up")), "{said:?}");
    // A load that begins afterwards has all.
    let player = begin_at(path, vec![fault("before", 0, 2)], None, (Timestamp::now(), Some(now)));
    until_over(&player);
    assert!(player.results(&[])[0].slots.iter().all(|slot| slot.landed_s.is_some()));
}

#[test]
fn of_a_store_whose_agent_does_not_answer_nobody_says_that_it_is_not_whole() {
    let directory = tempfile::tempdir().unwrap();
    let fault = FaultSpec {
        kind: FaultKind::Agent { agent: "s1".to_owned(), fault: "file there".to_owned() },
        hold: Duration::from_secs(1),
        whole: None,
        ..healed_at_once("unused", String::new(), Duration::from_secs(10))
    };
    let agent = OneAgent { steps: Arc::default(), heals_by_itself: false, heals: None, lost: usize::MAX };
    let player = begin_with(directory.path(), vec![fault], Some(Arc::new(agent)));
    until_over(&player);
    let results = player.results(&[]);
    let slot = &results[0].slots[0];
    let why = &slot.unknown["whole_after_s"];
    assert!(slot.whole_after_s.is_none() && slot.landed_s.is_some(), "{slot:?}");
    assert!(why.starts_with("nobody could say whether") && why.ends_with("no answer"), "{why}");
}

#[test]
fn an_agent_that_is_away_for_a_while_is_asked_again_whether_all_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let fault = FaultSpec {
        kind: FaultKind::Agent { agent: "s1".to_owned(), fault: "file there".to_owned() },
        hold: Duration::from_secs(1),
        whole: None,
        ..healed_at_once("unused", String::new(), Duration::from_secs(14))
    };
    let steps = Arc::new(Mutex::new(Vec::new()));
    let agent = OneAgent { steps: Arc::clone(&steps), heals_by_itself: false, heals: None, lost: 2 };
    let player = begin_with(directory.path(), vec![fault], Some(Arc::new(agent)));
    until_over(&player);
    let said: Vec<String> = player.take().into_iter().map(|news| news.text).collect();
    let results = player.results(&[]);
    let slot = &results[0].slots[0];
    assert!(slot.void.is_none() && slot.whole_after_s.is_some(), "{slot:?} {said:?}");
    assert_eq!(steps.lock().unwrap().iter().filter(|step| **step == Step::Whole).count(), 3, "{said:?}");
}
