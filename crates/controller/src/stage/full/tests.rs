//! Passes to a share of a store, on virtual time, before a store of which nobody knows at once how full it is.

use cosmark_metrics::Phase;
use cosmark_metrics::nodes::reading::NodeLook;

use super::*;
use crate::fullness::tests::{look, silent};

const SECOND: u64 = 1_000_000_000;
/// When the load begins.
const START_S: u64 = 1_000;

/// A store of 1000 objects, before it is filled.
struct Store {
    /// Objects in it.
    stored: f64,
    per_s: f64,
    /// A figure is that old when it is read.
    lag_s: usize,
    /// From this second of the load on nothing is read of it.
    silent_from_s: u64,
    /// From this one on all writes are refused because there is no room.
    no_room_from_s: u64,
    /// So many objects were stored at the end of each second.
    past: Vec<f64>,
}

impl Store {
    fn new(stored: f64, per_s: f64) -> Self {
        let never = u64::MAX;
        Self { stored, per_s, lag_s: 0, silent_from_s: never, no_room_from_s: never, past: vec![stored] }
    }

    /// Goes on for a second: what a driver did, and what is seen of the machine.
    fn next(&mut self, second: u64) -> (Snapshot, NodeLook) {
        let refuses = second >= self.no_room_from_s;
        let ok = if refuses { 0.0 } else { self.per_s };
        self.stored += ok;
        self.past.push(self.stored);
        let mut op = OpSnapshot { ok: ok as u64, ..OpSnapshot::default() };
        if refuses {
            op.errors.insert(Outcome::failed("http_507"), 3);
        }
        let snapshot = Snapshot { work: 0, phase: Phase::Window, start_ns: 0, end_ns: 0, ops: vec![op] };
        let at_s = START_S + second;
        if second >= self.silent_from_s {
            return (snapshot, silent("manager", at_s));
        }
        let used = self.past[self.past.len().saturating_sub(1 + self.lag_s)];
        (snapshot, look("manager", at_s, &[("", 1000.0, used)]))
    }
}

fn filling(goal: f64) -> Filling {
    let mut filling = Filling {
        goal,
        named: Vec::new(),
        result: FullResult { goal, before: Some(0.1), ..FullResult::default() },
        sums: Sums::default(),
        written: Written::default(),
        mends: false,
        is_over: false,
    };
    filling.begin(START_S * SECOND);
    filling
}

/// Seconds until the load ends, how, and what was known then.
fn play(goal: f64, mut store: Store) -> (u64, Step, Filling, Store) {
    let (mut filling, mut fullness) = (filling(goal), Fullness::default());
    fullness.hear(&[look("manager", START_S, &[("", 1000.0, store.stored)])]);
    for second in 1..10_000 {
        let (snapshot, seen) = store.next(second);
        filling.add(&snapshot);
        fullness.hear(&[seen]);
        let step = filling.look((START_S + second) * SECOND, fullness.now().unwrap());
        if step != Step::GoOn {
            return (second, step, filling, store);
        }
    }
    panic!("the load had no end");
}

#[test]
fn the_load_ends_at_the_figure_that_reaches_the_goal_and_what_was_written_meanwhile_is_not_hidden() {
    for (lag_s, goal, ends_s) in [(0, 0.6, 50), (15, 0.6, 65), (15, 0.35, 40), (3, 0.105, 4)] {
        let (second, step, filling, store) = play(goal, Store { lag_s, ..Store::new(100.0, 10.0) });
        assert_eq!((second, step), (ends_s, Step::Reached), "lag {lag_s}");
        let result = filling.result();
        assert!(result.reached && result.at_end.unwrap() >= goal, "{result:?}");
        let over = store.stored / 1000.0 - result.at_end.unwrap();
        assert!((over - 0.01 * lag_s as f64).abs() < 1e-9, "what came meanwhile is {over}");
        assert_eq!(result.age_s, Some(0.0));
    }
}

#[test]
fn figures_that_come_no_more_end_the_load() {
    let (second, step, filling, _) = play(0.9, Store { silent_from_s: 20, ..Store::new(100.0, 1.0) });
    let Step::Hopeless(why) = step else { panic!("{step:?}") };
    assert_eq!(second, 19 + 151, "{why}");
    assert!(why.starts_with("for 150 s nobody said"), "{why}");
    assert!(!filling.result().reached);
}

#[test]
fn figures_that_never_change_end_a_load_that_writes_and_leave_one_alone_that_the_store_holds_up() {
    let still = Store { lag_s: 100_000, ..Store::new(100.0, 1.0) };
    let (second, step, ..) = play(0.9, Store { past: vec![100.0; 10], ..still });
    let Step::Hopeless(why) = step else { panic!("{step:?}") };
    assert!(second == 301 && why.contains("objects were written in 300 s"), "{second}: {why}");
    let (second, step, ..) = play(0.9, Store::new(100.0, 0.0));
    let Step::Hopeless(why) = step else { panic!("{step:?}") };
    assert!(second == 301 && why.contains("no object was acknowledged for 300 s"), "{second}: {why}");
}

#[test]
fn a_store_that_has_no_room_any_more_ends_the_load_soon() {
    let (second, step, ..) = play(0.9, Store { no_room_from_s: 30, ..Store::new(100.0, 10.0) });
    let Step::Hopeless(why) = step else { panic!("{step:?}") };
    assert!(second == 29 + 11 && why.contains("no room left"), "{second}: {why}");
    // As long as others are written, it is not full.
    let mut filling = filling(0.9);
    let mut op = OpSnapshot { ok: 1, ..OpSnapshot::default() };
    op.codes.insert("XMinioStorageFull".to_owned(), 2);
    assert_eq!(without_room(&op), 2);
    let snapshot = Snapshot { work: 0, phase: Phase::Window, start_ns: 0, end_ns: 0, ops: vec![op] };
    let full = Full { share: 0.2, fullest: None, read_ns: START_S * SECOND, same_since_ns: START_S * SECOND };
    for second in 1..5 {
        filling.add(&snapshot);
        assert_eq!(filling.look((START_S + second) * SECOND, &full), Step::GoOn);
    }
}

/// Looks each second at a store in which an object is acknowledged every so many seconds and one refused in each.
fn refuses_beside(every: u64, seconds: u64) -> Option<(u64, Step)> {
    let mut filling = filling(0.9);
    (1..seconds).find_map(|second| {
        let mut op = OpSnapshot { ok: u64::from(second.is_multiple_of(every)), ..OpSnapshot::default() };
        op.errors.insert(Outcome::failed("http_507"), 1);
        filling.add(&Snapshot { work: 0, phase: Phase::Window, start_ns: 0, end_ns: 0, ops: vec![op] });
        let at_ns = (START_S + second) * SECOND;
        // The figures rise with every object.
        let same_since_ns = (START_S + second / every * every) * SECOND;
        let full = Full { share: 0.2, fullest: None, read_ns: at_ns, same_since_ns };
        Some((second, filling.look(at_ns, &full))).filter(|(_, step)| *step != Step::GoOn)
    })
}

#[test]
fn a_store_that_refuses_some_objects_and_takes_others_however_slowly_is_filled_on() {
    for every in [1, 2, 7, 10] {
        assert_eq!(refuses_beside(every, 900), None, "one in {every} s");
    }
    let (second, step) = refuses_beside(100_000, 900).unwrap();
    assert!(second == 11 && matches!(step, Step::Hopeless(_)), "{second} {step:?}");
}

#[test]
fn objects_that_take_longer_than_anybody_waits_are_waited_for_while_the_store_grows() {
    let (mut filling, mut fullness) = (filling(0.9), Fullness::default());
    for second in 1..1_500 {
        fullness.hear(&[look("manager", START_S + second, &[("", 1e6, 1e5 + second as f64)])]);
        let step = filling.look((START_S + second) * SECOND, fullness.now().unwrap());
        assert_eq!(step, Step::GoOn, "{second}");
    }
}

#[test]
fn figures_have_twice_their_own_pace_to_follow_what_was_written() {
    let mut fullness = Fullness::default();
    assert_eq!(follows(&fullness), Duration::from_secs(30), "nothing is known of it");
    for (at_s, used, seconds) in [(10, 1.0, 30), (11, 2.0, 2), (17, 3.0, 12), (90, 4.0, 60)] {
        fullness.hear(&[look("manager", at_s, &[("", 10.0, used)])]);
        assert_eq!(follows(&fullness), Duration::from_secs(seconds), "{at_s}");
    }
}

/// What a store is at the end of a load whose last figure was another one: whether that is what was asked for, and what is said.
fn settled(goal: f64, at_end: f64, after: f64) -> (bool, Option<String>) {
    let full =
        |share| Full { share, fullest: None, read_ns: START_S * SECOND, same_since_ns: START_S * SECOND };
    let mut filling = filling(goal);
    filling.is_over = filling.look((START_S + 1) * SECOND, &full(at_end)) != Step::GoOn;
    let short = filling.settle(&full(after), false);
    (filling.result().reached, short)
}

#[test]
fn a_figure_that_does_not_last_is_no_goal_that_was_reached() {
    assert_eq!(settled(0.6, 0.61, 0.63), (true, None));
    assert_eq!(settled(0.6, 0.61, 0.592), (true, None), "a store that puts in order what it has");
    assert_eq!(settled(0.6, 0.55, 0.6), (true, None), "what was written last was not in the figure");
    let (reached, short) = settled(0.6, 0.97, 0.31);
    let short = short.unwrap();
    assert!(
        !reached && short.starts_with("a figure of 97.0 % ended the load, and the store is 31.0 %"),
        "{short}"
    );
    assert!(short.contains("the same command goes on"), "{short}");
    let (reached, short) = settled(0.6, 0.5, 0.5999);
    let short = short.unwrap();
    assert!(!reached && short.contains("the store is 59.99 % full and not 60.00 %: fill another"), "{short}");
    let mut failed = filling(0.6);
    failed.settle(
        &Full { share: 0.7, fullest: None, read_ns: START_S * SECOND, same_since_ns: START_S * SECOND },
        true,
    );
    assert!(!failed.result().reached, "it was not this load that made it so full");
}

#[test]
fn what_is_missing_between_objects_is_written_to_a_store_that_is_so_full_already() {
    let full = |share, at_s: u64| Full {
        share,
        fullest: None,
        read_ns: (START_S + at_s) * SECOND,
        same_since_ns: START_S * SECOND,
    };
    let mut filling = Filling { mends: true, ..filling(0.6) };
    let op = OpSnapshot { ok: 1, ..OpSnapshot::default() };
    let snapshot = Snapshot { work: 0, phase: Phase::Window, start_ns: 0, end_ns: 0, ops: vec![op] };
    // What is missing is so little that it does not show, however long it takes.
    for second in 1..900 {
        filling.add(&snapshot);
        assert_eq!(filling.look((START_S + second) * SECOND, &full(0.603, second)), Step::GoOn, "{second}");
    }
    assert_eq!(filling.look((START_S + 900) * SECOND, &full(0.611, 900)), Step::Reached);
    assert_eq!(filling.settle(&full(0.611, 900), false), None);
}

#[test]
fn shares_that_differ_are_shown_apart() {
    let text = |share, goal| {
        let (share, goal) = percents(share, goal);
        format!("{share}, {goal}")
    };
    assert_eq!(text(0.3, 0.6), "30.0 %, 60.0 %");
    assert_eq!(text(0.59996, 0.6), "59.996 %, 60.000 %");
    assert_eq!(text(0.6, 0.6), "60.0 %, 60.0 %");
    assert_eq!(text(0.6 - 1e-9, 0.6), "60.0 %, 60.0 %");
}

/// Objects are written, and others delete more of them for a while.
#[test]
fn a_store_that_becomes_less_full_while_it_is_filled_is_filled_on() {
    let (mut filling, mut fullness) = (filling(0.6), Fullness::default());
    let op = OpSnapshot { ok: 5, ..OpSnapshot::default() };
    let snapshot = Snapshot { work: 0, phase: Phase::Window, start_ns: 0, end_ns: 0, ops: vec![op] };
    let mut stored = 500.0;
    let ended = (1..2_000_u64).find(|second| {
        stored += if *second < 800 { -0.5 } else { 1.0 };
        filling.add(&snapshot);
        fullness.hear(&[look("manager", START_S + second, &[("", 1000.0, stored)])]);
        assert!(filling.progress(&fullness).is_some_and(f64::is_finite));
        filling.look((START_S + second) * SECOND, fullness.now().unwrap()) != Step::GoOn
    });
    let full = filling.result();
    assert!(full.reached && full.at_end == Some(0.6005), "{full:?}");
    assert_eq!(ended, Some(800 + 499), "from 100.5 objects to 600");
}

#[test]
fn a_load_begins_by_a_figure_of_before_and_none_is_left_out_by_one() {
    let at =
        |second: u64, share: f64| Full { share, fullest: None, read_ns: second * SECOND, same_since_ns: 0 };
    let of = |full: Option<&Full>, now: u64, is_late: bool| match first(
        full,
        0.6,
        (100 * SECOND, now * SECOND),
        is_late,
    ) {
        First::Counts(_) => "counts",
        First::IsAwaited => "is awaited",
        First::ComesNot => "comes not",
    };
    for (second, share, now, is_late, right) in [
        (101, 0.7, 102, false, "counts"),
        (101, 0.1, 102, false, "counts"),
        (99, 0.1, 102, false, "is awaited"),
        (99, 0.1, 115, true, "counts"),
        // A stage before may have emptied the store, and its machines be read once a minute.
        (99, 0.7, 102, false, "is awaited"),
        (99, 0.7, 115, true, "is awaited"),
        (99, 0.7, 248, true, "is awaited"),
        (99, 0.7, 250, true, "comes not"),
        (99, 0.1, 250, true, "comes not"),
    ] {
        assert_eq!(of(Some(&at(second, share)), now, is_late), right, "{second} {share} {now} {is_late}");
    }
    assert_eq!((of(None, 102, false), of(None, 115, true)), ("is awaited", "comes not"));
}

#[test]
fn how_far_it_is_goes_from_the_first_figure_to_the_goal() {
    let mut fullness = Fullness::default();
    let filling = filling(0.6);
    assert_eq!(filling.progress(&fullness), None);
    fullness.hear(&[look("manager", START_S, &[("", 1000.0, 350.0)])]);
    assert!((filling.progress(&fullness).unwrap() - 0.5).abs() < 1e-9);
}

#[test]
fn only_a_pass_with_a_goal_is_one_and_whoever_says_nothing_is_named_with_the_remedy() {
    let mut fullness = Fullness::default();
    fullness.hear(&[silent("manager", START_S)]);
    let failure = nobody_knows(&fullness, &["node x: nothing came yet".to_owned()]);
    assert_eq!(failure.class, FailureClass::Workload);
    assert!(failure.text.contains("(node manager: connection refused)"), "{}", failure.text);
    assert!(failure.text.contains("type: recon"), "{}", failure.text);
    fullness.begin(&["m1".to_owned(), "m2".to_owned()], 0);
    let seen: Vec<String> = (1..9).map(|at| format!("node s{at}: no file system")).collect();
    let text = nobody_knows(&fullness, &seen).text;
    let begin = "none of the nodes by which the fill goes, m1, m2, says how full the store is (node s1: no file system; ";
    assert!(text.starts_with(begin) && !text.contains("s4"), "{text}");
    let text = |more: &str| {
        format!(
            "name: x\nstorage: {{type: mock}}\nstages:\n- {{name: f, fill: {{dataset: d, objects: 5, sizes: c(1)KB{more}}}}}\n"
        )
    };
    let named = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    for (more, goal) in [
        ("", None),
        (", to: 60 %", Some((0.6, named(&[])))),
        (", to: 0.6", Some((0.6, named(&[])))),
        (", to: 60%, nodes: 'a, b'", Some((0.6, named(&["a", "b"])))),
    ] {
        let (workload, mistakes) = cosmark_workload::parse(
            &text(more),
            cosmark_workload::Format::Yaml,
            &cosmark_workload::Environment::default(),
        );
        let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
        let found = Filling::of(&workload.stages[1]).map(|filling| (filling.goal, filling.named));
        assert_eq!(found, goal);
        assert!(Filling::of(&workload.stages[0]).is_none(), "containers are made first");
    }
}
