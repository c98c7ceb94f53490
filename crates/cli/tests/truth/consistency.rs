//! The prober beside a load: are windows and shares of stale reads, and listings that lag, reported as they are played, without
//! costing the load's figures anything, and does the prober end with the run whatever the store does?

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cosmark_archive::open_run;
use cosmark_metrics::{ConsistencyClass, ConsistencyResult, LookClass, LookFrom, ProbeKind, ProbeOperation};
use cosmark_simstore::{Behaviour, Handle, LogRecord, Op};

use crate::bench::{Ran, against, alone, alone_with, say, start};

/// A load with what it needs, and a prober beside it.
fn probed(consistency: &str, seconds: u32) -> String {
    format!(
        "name: truth\nseed: 7\nstorage: ${{STORE}}\ndefaults: {{sizes: c(1)KiB, containers: 'r(1,1)', objects: 'r(1,50)'}}\nstages:\n  \
         - name: init\n    works:\n      - {{type: init, workers: 1}}\n  - name: prepare\n    works:\n      - {{type: prepare, workers: \
         4}}\n  - name: main\n    consistency: {consistency}\n    works:\n      - {{name: main, workers: 16, rate: 4000/s, runtime: {seconds}s, \
         acceptable_failure_ratio: 1, operations: [{{type: read}}]}}\n"
    )
}

fn found(ran: &Ran) -> &ConsistencyResult {
    ran.record.stages.iter().find_map(|stage| stage.consistency.as_ref()).unwrap()
}

fn class(found: &ConsistencyResult, class: LookClass) -> &ConsistencyClass {
    found.classes.iter().find(|one| one.class == class).unwrap_or_else(|| panic!("no {class:?}: {found:#?}"))
}

/// Looks and misses of the points that end before a time, and of those that begin after it.
fn split(class: &ConsistencyClass, at_ms: f64) -> [(u64, u64); 2] {
    let sum = |keep: &dyn Fn(f64, f64) -> bool| {
        let points = class.points.iter().filter(|point| keep(point.from_ms, point.to_ms.unwrap_or(f64::MAX)));
        points.fold((0, 0), |(looks, stale), point| (looks + point.looks, stale + point.stale))
    };
    [sum(&|_, to_ms| to_ms <= at_ms), sum(&|from_ms, _| from_ms >= at_ms)]
}

/// A read of a changed object, as `probes.csv` has it. The store made the change while it was asked for it, and answered the read
/// while that was under way: so the change's age at the store lies between two bounds, on a machine of any speed.
struct Look {
    class: LookClass,
    /// Key and number of the change.
    change: (u32, usize),
    /// The least age, us: from the acknowledgement to when the read was sent.
    least_us: u64,
    /// The greatest, ns.
    most_ns: u64,
    is_stale: bool,
}

/// Classes of the changes of a key, in their order.
const CHANGES: [LookClass; 5] = [
    LookClass::ReadAfterCreate,
    LookClass::ReadAfterOverwrite,
    LookClass::ReadAfterDelete,
    LookClass::ReadAfterCreate,
    LookClass::ReadAfterDelete,
];

/// All reads between an acknowledgement and the next change. A few of them were sent for the one that then came late: those are no
/// looks of a class.
fn looks(ran: &Ran) -> Vec<Look> {
    let run = open_run(&ran.path("archive/w1-truth")).unwrap();
    let mut keys: BTreeMap<u32, Vec<ProbeOperation>> = BTreeMap::new();
    let has_file =
        run.probes(|line| keys.entry(line.operation.key).or_default().push(line.operation)).unwrap();
    assert!(has_file);
    let mut looks = Vec::new();
    for (key, of_key) in &keys {
        let (mut changes, reads): (Vec<&ProbeOperation>, Vec<&ProbeOperation>) =
            of_key.iter().partition(|one| one.kind != ProbeKind::Read);
        changes.sort_unstable_by_key(|change| change.call_ns);
        for read in reads {
            let Some(at) = changes.iter().rposition(|change| change.return_ns <= read.call_ns) else {
                continue;
            };
            if changes.get(at + 1).is_none_or(|next| read.return_ns <= next.call_ns) {
                looks.push(Look {
                    class: CHANGES[at],
                    change: (*key, at),
                    least_us: (read.call_ns - changes[at].return_ns) / 1000,
                    most_ns: read.return_ns - changes[at].call_ns,
                    is_stale: read.value != changes[at].value,
                });
            }
        }
    }
    looks
}

/// What the run says of a class is what its requests say, and they say what the store played.
fn assert_as_played(one: &ConsistencyClass, all: &[Look], (window_ms, share): (f64, f64)) {
    let class_of = one.class;
    let to_us = |ms: f64| (ms * 1e3).round() as u64;
    let window_us = to_us(window_ms);
    let of_class: Vec<&Look> = all.iter().filter(|look| look.class == class_of).collect();
    // In the window for certain: each of them was drawn. In it perhaps: some came too late to be.
    let is_within = |look: &&&Look| look.most_ns < window_us * 1000;
    let draws = of_class.iter().filter(is_within).count() as f64;
    let hits = of_class.iter().filter(is_within).filter(|look| look.is_stale).count() as f64;
    // 99.99 % of what is drawn lies within four standard deviations; where draws are few, one is much.
    let within = |draws: f64| 4.0 * (share * (1.0 - share) * draws).sqrt() + 1.0;
    assert!((hits - share * draws).abs() <= within(draws), "{class_of:?}: {hits} of {draws}, not {share}");
    let [(possible, stale), (beyond, late)] = split(one, window_ms);
    assert!(possible > 30, "{class_of:?}: only {possible} looks");
    assert!(
        (stale as f64) <= share * possible as f64 + within(possible as f64),
        "{class_of:?}: {stale} of {possible}, not {share}"
    );
    assert!(beyond > 3 && late == 0, "{class_of:?}: nothing is stale after {window_ms} ms: {one:#?}");

    // Those that the run counts, and those that it does not, since they were sent for the next change.
    let uncounted = (of_class.len() as u64).checked_sub(one.looks).unwrap();
    assert!(uncounted <= 2 * one.changes, "{uncounted} of {}", of_class.len());
    let mut stale_us: Vec<u64> =
        of_class.iter().filter(|look| look.is_stale).map(|look| look.least_us).collect();
    stale_us.sort_unstable_by_key(|us| std::cmp::Reverse(*us));
    let most = stale_us.len() as u64;
    assert!((most.saturating_sub(uncounted)..=most).contains(&one.stale), "{}, not {most}", one.stale);
    let longest_ms = one.longest_stale_ms.unwrap();
    let place = stale_us.iter().position(|us| *us == to_us(longest_ms));
    assert!(
        longest_ms < window_ms && place.is_some_and(|place| place as u64 <= uncounted),
        "{class_of:?}: {longest_ms} of {window_ms} ms, not {stale_us:?}"
    );
    let last = window_us * 2 / 5..window_us;
    assert!(
        of_class.iter().any(|look| last.contains(&look.least_us)),
        "{class_of:?}: no look at the end of {window_ms} ms"
    );

    // Changes that were looked at from then on, and those of them that were missed.
    let from = |at_ms: f64| {
        let at_us = to_us(at_ms);
        let later = of_class.iter().filter(|look| look.least_us >= at_us);
        let looked: BTreeSet<_> = later.clone().map(|look| look.change).collect();
        let missed: BTreeSet<_> = later.filter(|look| look.is_stale).map(|look| look.change).collect();
        (looked.len() as u64, missed.len() as u64)
    };
    let visible = one.visible.iter().find(|visible| (visible.share - 0.9).abs() < 1e-9).unwrap();
    if let Some(after_ms) = visible.after_ms {
        let (looked, missed) = from(after_ms);
        assert!(missed.saturating_sub(uncounted) * 10 <= looked, "{missed} of {looked}: {one:#?}");
    }
    // None of 36 leaves room for a tenth no more (Clopper and Pearson).
    let free_ms = one.points.iter().map(|point| point.from_ms).find(|from_ms| *from_ms >= window_ms);
    if let Some(free_ms) = free_ms.filter(|free_ms| from(*free_ms).0 >= 36 + uncounted) {
        assert!(visible.after_ms.is_some_and(|after_ms| after_ms <= free_ms), "{free_ms}: {one:#?}");
    }
    say(&format!(
        "{class_of:?}: window {window_ms} ms, share {share}: last miss after {longest_ms} ms, {hits} of {draws} looks that were \
         drawn for certain, 90 % visible after {:?}, {beyond} looks later none",
        visible.after_ms
    ));
}

#[test]
fn windows_and_shares_of_stale_reads_are_reported_beside_a_load_as_they_are_played() {
    let _alone = alone();
    for rules in [
        [
            (LookClass::ReadAfterOverwrite, 330.0, 0.3),
            (LookClass::ReadAfterDelete, 47.0, 0.6),
            (LookClass::ReadAfterCreate, 15.0, 0.9),
        ],
        [
            (LookClass::ReadAfterOverwrite, 22.0, 0.8),
            (LookClass::ReadAfterDelete, 680.0, 0.35),
            (LookClass::ReadAfterCreate, 100.0, 0.45),
        ],
    ] {
        let word = |class| match class {
            LookClass::ReadAfterOverwrite => "overwrite: true, delete: false",
            LookClass::ReadAfterDelete => "overwrite: false, delete: true",
            _ => "overwrite: false, delete: false, create: true",
        };
        let rule = |(class, window_ms, share): &(LookClass, f64, f64)| {
            format!("{{window_ms: {window_ms}, share: {share}, op: get, {}}}", word(*class))
        };
        let behaviour = format!(
            "seed: 3\nstale: [{}]\nstale_list: {{window_ms: 150, delete: false}}\n",
            rules.iter().map(rule).collect::<Vec<_>>().join(", ")
        );
        let windows = rules.map(|(class, window_ms, _)| (class, window_ms));
        let ran = enough(&behaviour, "{share: 10%, reach: 2s}", 8, |ran| are_looked_at(ran, &windows));
        let found = found(&ran);
        assert_eq!((found.never_written, found.unanswered, found.left.len()), (0, 0, 0), "{found:#?}");
        assert_eq!(found.not_recorded, 0);
        let all = looks(&ran);
        for (class_of, window_ms, share) in rules {
            assert_as_played(class(found, class_of), &all, (window_ms, share));
        }
        // A listing that is sent in the window reaches the store a moment later.
        let lists = class(found, LookClass::ListAfterCreate);
        let noise_ms = ran.noise_ms();
        let [(looks, stale), _] = split(lists, (150.0 - 2.0 * noise_ms).max(0.0));
        let [_, (_, late)] = split(lists, 150.0);
        assert!(
            lists.looks > 10 && stale * 100 >= looks * 95 && late == 0,
            "{noise_ms} ms of noise: {lists:#?}"
        );
        assert_eq!(class(found, LookClass::ListAfterDelete).stale, 0);
        assert!(
            found.back_on_a_connection > 0,
            "a connection that saw the new version and then the old one: {found:#?}"
        );
    }
}

/// A run that is long enough: the prober sends a share of what the machine lets the load do in `seconds`.
fn enough(behaviour: &str, consistency: &str, seconds: u32, has_enough: impl Fn(&Ran) -> bool) -> Ran {
    let run = |times: u32| against(behaviour, "30s", &probed(consistency, times * seconds));
    [1, 3, 9].into_iter().map(run).find(has_enough).unwrap_or_else(|| run(27))
}

/// Looks in each window and behind it, listings, and a connection that saw the new version and then the old one.
fn are_looked_at(ran: &Ran, windows: &[(LookClass, f64)]) -> bool {
    let of = |class_of: LookClass| found(ran).classes.iter().find(|one| one.class == class_of);
    let is_met = |(class_of, window_ms): &(LookClass, f64)| {
        of(*class_of).is_some_and(|one| {
            let [(looks, stale), (beyond, _)] = split(one, *window_ms);
            looks > 30 && stale > 0 && beyond > 3
        })
    };
    windows.iter().all(is_met)
        && of(LookClass::ListAfterCreate).is_some_and(|lists| lists.looks > 10)
        && found(ran).back_on_a_connection > 0
}

#[test]
fn a_prober_on_a_store_that_keeps_its_word_accuses_it_of_nothing_and_is_in_no_figure_of_the_load() {
    let _alone = alone();
    // By all that look, of which the writer's connection is one of several; and for long enough that it is little what
    // they could not send before they had begun.
    let is_seen_by_all = |ran: &Ran| {
        let found = found(ran);
        let overwrites = found.classes.iter().find(|one| one.class == LookClass::ReadAfterOverwrite);
        found.classes.len() == 5
            && overwrites.is_some_and(|one| one.from.len() == 2)
            && found.requests * 40 >= found.load_operations
    };
    let ran = enough("etag: md5\n", "{share: 5%, reach: 1s}", 5, is_seen_by_all);
    let found = found(&ran);
    for one in &found.classes {
        assert_eq!((one.stale, one.missed_changes, one.longest_stale_ms), (0, 0, None), "{one:#?}");
    }
    assert_eq!(found.classes.len(), 5, "{found:#?}");
    assert_eq!((found.back_on_a_connection, found.went_back, found.never_written), (0, 0, 0));
    let is_probe = |bucket: &str| bucket.starts_with("cosmark-probe-");
    let (probes, others): (Vec<_>, Vec<_>) = ran.log.iter().partition(|one| is_probe(&one.container));
    // Its container is made and taken away beside what is counted.
    let objects = probes.iter().filter(|one| !one.object.is_empty() || one.op == Op::List).count() as u64;
    assert_eq!(objects, found.requests);
    assert!(found.requests * 20 <= found.load_operations, "{} of {}", found.requests, found.load_operations);
    assert!(
        found.requests * 40 >= found.load_operations,
        "the share is used: {} of {}",
        found.requests,
        found.load_operations
    );
    let reads = others.iter().filter(|one| one.op == Op::Get).count() as u64;
    let main = ran.main();
    assert!(main.ok + main.failed <= reads && found.load_operations <= reads + 16, "{} of {reads}", main.ok);
    assert!(main.failed == 0 && main.ok > 0);
    // Every object that was written was deleted in the end, and the container, too.
    assert!(found.left.is_empty(), "{:?}", found.left);
    let removed = probes.iter().any(|one| one.op == Op::DeleteContainer && one.status == 204);
    assert!(removed, "the container is still there");
    // Both readers on the writer's connection and others were asked.
    let from: Vec<_> =
        class(found, LookClass::ReadAfterOverwrite).from.iter().map(|from| from.from).collect();
    assert_eq!(from, [LookFrom::SameConnection, LookFrom::OtherConnection]);
}

/// From then on the store answers nobody: when the prober has written some of its objects, whenever its stage began.
fn freeze_when_probed(store: &Handle) {
    let patience = Instant::now();
    let is_written = |one: &&LogRecord| {
        one.op == Op::Put && one.status == 200 && one.container.starts_with("cosmark-probe-")
    };
    while store.log().unwrap().iter().filter(is_written).count() < 3 && patience.elapsed().as_secs() < 100 {
        std::thread::sleep(Duration::from_millis(100));
    }
    store.set_behaviour(Behaviour::from_yaml("stalls: [{at_s: 0, for_s: 600}]\n").unwrap()).unwrap();
}

#[test]
fn a_store_that_falls_silent_does_not_hold_the_prober_beyond_the_run() {
    let _alone = alone();
    let began = Instant::now();
    let store = start("seed: 3\n");
    let target = format!(
        "{{type: s3, endpoint: '{}', accesskey: a, secretkey: b, path_style_access: true, timeout: 300s}}",
        store.url()
    );
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| freeze_when_probed(&store));
        alone_with(&probed("{share: 10%, reach: 1s}", 12).replace("${STORE}", &target))
    });
    let took = began.elapsed();
    store.stop();
    let found = found(&ran);
    assert!(found.changes > 0, "{found:#?}");
    assert!(!found.left.is_empty(), "what could not be taken away is named: {found:#?}");
    // Far from the time limit of a request, however slow this machine is.
    assert!(took < Duration::from_secs(150), "{took:?}");
}
