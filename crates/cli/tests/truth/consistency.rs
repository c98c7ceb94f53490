//! The prober beside a load: are windows and shares of stale reads, and listings that lag, reported as they are played, without
//! costing the load's figures anything, and does the prober end with the run whatever the store does?

use std::time::{Duration, Instant};

use cosmark_metrics::{ConsistencyClass, ConsistencyResult, LookClass, LookFrom};

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
        let ran = against(&behaviour, "30s", &probed("{share: 10%, reach: 2s}", 8));
        let found = found(&ran);
        for (class_of, window_ms, share) in rules {
            let one = class(found, class_of);
            let [(looks, stale), (beyond, late)] = split(one, window_ms);
            assert!(looks > 30 && beyond > 3, "{class_of:?}: {looks} and {beyond} looks");
            let measured = stale as f64 / looks as f64;
            // 99.99 % of what is drawn lies within four standard deviations.
            let within = 4.0 * (share * (1.0 - share) / looks as f64).sqrt();
            assert!((measured - share).abs() < within, "{class_of:?}: {stale} of {looks}, not {share}");
            assert_eq!(late, 0, "{class_of:?}: nothing is stale after {window_ms} ms: {one:#?}");
            let longest_ms = one.longest_stale_ms.unwrap();
            // The request leaves and arrives after the look has begun.
            assert!(
                longest_ms < window_ms && longest_ms > window_ms * 0.4,
                "{class_of:?}: {longest_ms} of {window_ms} ms"
            );
            let visible = one.visible.iter().find(|visible| (visible.share - 0.9).abs() < 1e-9).unwrap();
            assert!(
                visible.after_ms.is_none_or(|after_ms| after_ms >= longest_ms || share < 0.1),
                "{one:#?}"
            );
            say(&format!(
                "{class_of:?}: window {window_ms} ms, share {share}: last miss after {longest_ms} ms, {measured:.3} of {looks} looks, 90 % \
                 visible after {:?}, {} looks later none",
                visible.after_ms, beyond
            ));
        }
        let lists = class(found, LookClass::ListAfterCreate);
        let [(looks, stale), (_, late)] = split(lists, 150.0);
        assert!(looks > 10 && stale * 100 >= looks * 95 && late == 0, "{lists:#?}");
        assert_eq!(class(found, LookClass::ListAfterDelete).stale, 0);
        assert!(
            found.back_on_a_connection > 0,
            "a connection that saw the new version and then the old one: {found:#?}"
        );
        assert_eq!((found.never_written, found.unanswered, found.left.len()), (0, 0, 0), "{found:#?}");
    }
}

#[test]
fn a_prober_on_a_store_that_keeps_its_word_accuses_it_of_nothing_and_is_in_no_figure_of_the_load() {
    let _alone = alone();
    let ran = against("etag: md5\n", "30s", &probed("{share: 5%, reach: 1s}", 5));
    let found = found(&ran);
    for one in &found.classes {
        assert_eq!((one.stale, one.missed_changes, one.longest_stale_ms), (0, 0, None), "{one:#?}");
    }
    assert_eq!(found.classes.len(), 5, "{found:#?}");
    assert_eq!((found.back_on_a_connection, found.went_back, found.never_written), (0, 0, 0));
    let is_probe = |bucket: &str| bucket.starts_with("cosmark-probe-");
    let (probes, others): (Vec<_>, Vec<_>) = ran.log.iter().partition(|one| is_probe(&one.container));
    // Its container is made and taken away beside what is counted.
    let objects =
        probes.iter().filter(|one| !one.object.is_empty() || one.op == cosmark_simstore::Op::List).count()
            as u64;
    assert_eq!(objects, found.requests);
    assert!(found.requests * 20 <= found.load_operations, "{} of {}", found.requests, found.load_operations);
    assert!(
        found.requests * 40 >= found.load_operations,
        "the share is used: {} of {}",
        found.requests,
        found.load_operations
    );
    let reads = others.iter().filter(|one| one.op == cosmark_simstore::Op::Get).count() as u64;
    let main = ran.main();
    assert!(main.ok + main.failed <= reads && found.load_operations <= reads + 16, "{} of {reads}", main.ok);
    assert!(main.failed == 0 && main.ok > 0);
    // Every object that was written was deleted in the end, and the container, too.
    assert!(found.left.is_empty(), "{:?}", found.left);
    let removed =
        probes.iter().any(|one| one.op == cosmark_simstore::Op::DeleteContainer && one.status == 204);
    assert!(removed, "the container is still there");
    // Both readers on the writer's connection and others were asked.
    let from: Vec<_> =
        class(found, LookClass::ReadAfterOverwrite).from.iter().map(|from| from.from).collect();
    assert_eq!(from, [LookFrom::SameConnection, LookFrom::OtherConnection]);
}

#[test]
fn a_store_that_falls_silent_does_not_hold_the_prober_beyond_the_run() {
    let _alone = alone();
    let began = Instant::now();
    let store = start("stalls: [{at_s: 3, for_s: 600}]\n");
    let target = format!(
        "{{type: s3, endpoint: '{}', accesskey: a, secretkey: b, path_style_access: true, timeout: 60s}}",
        store.url()
    );
    let ran = alone_with(&probed("{share: 10%, reach: 1s}", 5).replace("${STORE}", &target));
    let took = began.elapsed();
    store.stop();
    let found = found(&ran);
    assert!(found.changes > 0, "{found:#?}");
    assert!(!found.left.is_empty(), "what could not be taken away is named: {found:#?}");
    assert!(took < Duration::from_secs(55), "{took:?}");
}
