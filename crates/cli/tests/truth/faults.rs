//! Damage: does every kind of fault get its own name, the exact count, and no more time than it deserves?

use std::collections::BTreeMap;

use cosmark_archive::Overall;
use cosmark_metrics::Phase;
use cosmark_simstore::Op;

use crate::bench::{READS, Ran, against, alone, one_work, say};

const NULL: &str = "store: {mode: 'null', null_bytes: 65536}\n";

/// Failures of one class: in run.json, in the operation log, and as often as the server's rule acted.
fn assert_only(ran: &Ran, class: &str, rule: &str) -> u64 {
    let op = ran.main();
    let acted = ran.counters.rule(rule);
    assert_eq!(
        op.errors.iter().map(|(class, n)| (class.as_str(), *n)).collect::<Vec<_>>(),
        [(class, acted)],
        "{rule}"
    );
    assert_eq!(op.retries, 0, "{rule}");
    assert!(acted > 0, "{rule} never acted");
    acted
}

#[test]
fn g10_truncated_bodies_are_counted_exactly_and_their_bytes_are_partial() {
    let _alone = alone();
    for chunked in [false, true] {
        let ran = against(
            &format!("{NULL}truncate: {{op: get, exact: {{count: 1, of: 100}}, chunked: {chunked}}}\n"),
            "30s",
            &one_work(&format!("workers: 8, total_ops: 1000, {READS}")),
        );
        assert_eq!(assert_only(&ran, "short_body", "truncate[0]"), 10);
        let op = ran.main();
        assert_eq!(
            (op.ok, op.bytes, op.partial_bytes),
            (990, 990 * 65_536, 10 * 32_768),
            "chunked {chunked}"
        );
        say(&format!(
            "G10 truncated, chunked {chunked}: 10 of 1000 short_body, {} partial bytes",
            op.partial_bytes
        ));
    }
}

#[test]
fn g11_a_flipped_bit_is_found_each_time_and_never_where_there_is_none() {
    let _alone = alone();
    let workload = |reads: &str| {
        format!(
            "name: truth\nseed: 7\nstorage: ${{STORE}}\ndefaults: {{verify: true, sizes: c(8)KiB, containers: 'r(1,1)', objects: \
             'r(1,100)'}}\nstages:\n  - name: init\n    works:\n      - {{type: init, workers: 1}}\n  - name: prepare\n    works:\n      \
             - {{type: prepare, workers: 4}}\n  \
             - name: main\n    works:\n      - {{name: main, workers: 8, acceptable_failure_ratio: 1, {reads}, operations: \
             [{{type: read}}]}}\n"
        )
    };
    let clean = against("seed: 3\n", "30s", &workload("total_ops: 20000"));
    let op = clean.main();
    assert_eq!((op.ok, op.failed), (20_000, 0), "{:?}", op.errors);
    let damaged =
        against("flip_byte: {op: get, exact: {count: 1, of: 1000}}\n", "30s", &workload("total_ops: 10000"));
    assert_eq!(assert_only(&damaged, "corrupt_body", "flip_byte[0]"), 10);
    assert_eq!(damaged.main().ok, 9990);
    say("G11 flipped: 10 of 10 000 corrupt_body, 0 of 20 000 clean ones");
}

/// (what the store does to every second request, its rule, class). A body that ends early is `short_body`, whatever ended it.
const KINDS: &[(&str, &str, &str)] = &[
    ("reset: {op: get, at: request, every_nth: 2}", "reset[0]", "reset"),
    ("reset: {op: get, at: reply, every_nth: 2}", "reset[0]", "reset"),
    ("reset: {op: get, at: headers, every_nth: 2}", "reset[0]", "short_body"),
    ("reset: {op: get, at: body, every_nth: 2}", "reset[0]", "short_body"),
    ("garbage_status_line: {op: get, every_nth: 2}", "garbage_status_line[0]", "protocol"),
    ("wrong_content_length: {op: get, by: 10, every_nth: 2}", "wrong_content_length[0]", "short_body"),
    ("endless_headers: {op: get, every_nth: 2}", "endless_headers[0]", "protocol"),
    ("redirect_loop: {op: get, every_nth: 2}", "redirect_loop[0]", "http_307"),
    ("errors: {op: get, status: 500, every_nth: 2}", "errors[0]", "http_500"),
];

#[test]
fn every_kind_of_fault_has_its_own_class_and_never_hangs() {
    let _alone = alone();
    let mut wrong = Vec::new();
    for (behaviour, rule, class) in KINDS {
        let ran = against(
            &format!("{NULL}{behaviour}\n"),
            "20s",
            &one_work(&format!("workers: 4, total_ops: 60, {READS}")),
        );
        let op = ran.main();
        let expected = [((*class).to_owned(), 30)];
        if op.errors != expected.into() || ran.counters.rule(rule) != 30 || op.ok != 30 {
            let acted = ran.counters.rule(rule);
            wrong.push(format!("{behaviour}: acted {acted}, {:?}, {:?}", op.errors, op.error_examples));
        }
        // Far from its limit: a fault that only the time limit ended would show here.
        let longest_ms = op.failed_service_ms.max.unwrap_or(0.0);
        if longest_ms >= 20_000.0 {
            wrong.push(format!("{behaviour}: took {longest_ms} ms"));
        }
        say(&format!("faults: {behaviour}: {:?} (longest {longest_ms:.1} ms)", op.errors));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_error_document_under_status_200_fails_the_operation() {
    let _alone = alone();
    let ran = against(
        "error_body_with_200: {op: multipart_complete, every_nth: 2}\n",
        "20s",
        "name: truth\nseed: 7\nstorage: ${STORE}\ndefaults: {containers: 'r(1,1)', objects: 'r(1,20)', sizes: c(6)MiB}\nstages:\n  \
         - name: init\n    works:\n      - {type: init, workers: 1}\n  - name: main\n    works:\n      - {name: main, workers: 2, \
         total_ops: 20, acceptable_failure_ratio: 1, operations: [{type: mwrite}]}\n",
    );
    let op = ran.main();
    assert_eq!(
        (op.ok, op.failed, ran.counters.rule("error_body_with_200[0]")),
        (10, 10, 10),
        "{:?}",
        op.errors
    );
    assert_eq!(op.codes.get("InternalError"), Some(&10), "{:?}", op.errors);
    say(&format!("faults: 200 with an error document: {:?} {:?}", op.errors, op.codes));
}

#[test]
fn a_body_that_trickles_is_cut_at_the_time_limit() {
    let _alone = alone();
    // Of 50 seconds a body would take; one that is sent at once is not held up for as long as the limit by any machine.
    let ran = against(
        "store: {mode: 'null', null_bytes: 1000}\nslow_trickle: {op: get, bytes: 1, every_ms: 50, every_nth: 2}\n",
        "6s",
        &one_work(&format!("workers: 4, total_ops: 8, {READS}")),
    );
    let op = ran.main();
    assert_eq!(assert_only(&ran, "timeout", "slow_trickle[0]"), 4);
    assert_eq!(op.ok, 4);
    let cut = ran.rows.iter().filter(|row| row.sample.outcome.label() == "timeout");
    for row in cut {
        let took_ns = row.sample.service_ns();
        assert!(took_ns >= 6_000_000_000, "cut before its limit, after {took_ns} ns");
        assert!(row.sample.bytes < 1000 && row.phase == Phase::Window, "{row:?}");
    }
    assert!(ran.counters.of_op(Op::Get) == 8);
    say(&format!("faults: trickle: {:?}, cut after {:?} ms", op.errors, op.failed_service_ms.max));
}

/// Two containers of 50 objects, written one after another, and listings of any of them.
fn listed(head: &str, list: &str) -> String {
    let stage = |name: &str, work: &str| format!("  - name: {name}\n    works:\n      - {{{work}}}\n");
    let main = format!(
        "name: main, workers: 2, total_ops: 40, acceptable_failure_ratio: 1, operations: [{{type: list, containers: 'u(1,2)'{list}}}]"
    );
    format!(
        "name: truth\nseed: 7\n{head}storage: ${{STORE}}\ndefaults: {{containers: 'r(1,2)', objects: 'r(1,50)', sizes: \
         c(128)B}}\nstages:\n"
    ) + &stage("init", "type: init, workers: 1")
        + &stage("prepare", "type: prepare, workers: 1")
        + &stage("main", &main)
}

#[test]
fn a_store_whose_listings_lack_what_it_acknowledged_is_found_out() {
    const LIE: &str = "broken_promise: {kind: unlisted, op: put, every_nth: 5}\n";
    let _alone = alone();
    let listing = |behaviour: &str, head: &str, list: &str| {
        let ran = against(behaviour, "20s", &listed(head, list));
        let row = ran.record.verdict.checks.iter().find(|check| check.id == "V20").unwrap();
        (ran.main().ok, ran.main().errors.clone(), row.message.clone(), ran.record.verdict.overall)
    };
    let all_wrong: BTreeMap<String, u64> = [("wrong_listing".to_owned(), 40)].into();
    let (ok, errors, message, overall) = listing(LIE, "", "");
    assert_eq!((ok, &errors, overall), (0, &all_wrong, Overall::False), "{message}");
    assert!(
        message.contains("40 of 40 listings lacked names that must be in them")
            && message.contains("ends after 40 names where at least 50 were written"),
        "{message}"
    );
    // Twenty of each container are a full page, and what follows is not asked for.
    assert_eq!(listing(LIE, "", ", page_size: 20").0, 40);
    assert_eq!(listing(LIE, "", ", page_size: 60, list_prefix: myobjects1").1, all_wrong);
    assert_eq!(listing(LIE, "settle: 1h\n", "").0, 40, "it may still be behind");
    let (ok, errors, message, _) = listing("seed: 3\n", "", "");
    assert!(ok == 40 && errors.is_empty(), "{errors:?}");
    assert!(message.contains("40 of 40 listings had every name that must be in them"), "{message}");
}
