//! Logins that end sooner than what they were made for: a stage that begins later, and the clean of what a run left.

use std::fs;

use cosmark_archive::RunState;
use cosmark_simstore::{Behaviour, Op, SimStore};

use crate::support::{operation, run, run_json, stderr};

/// Four seconds are longer than a busy machine takes from a login to its first question, and shorter than what lies between two
/// stages and than a clean of six deletes in turn, each of a second.
const BEHAVIOUR: &str = "swift: {token_lifetime_ms: 4000}\ndelay: [{op: delete, law: {constant_ms: 1000}}]\n";

const TARGET: &str = "auth: {type: swauth, username: 'test:tester', password: testing, auth_url: 'URL/auth/v1.0'}\nstorage: {type: swift}\n";

const WORKLOAD: &str = "name: tokens\nstages:\n  - {name: init, works: [{type: init, workers: 1, containers: 'r(1,1)'}]}\n  - {name: \
    prepare, closure_delay: 6s, works: [{type: prepare, workers: 4, containers: 'r(1,1)', objects: 'r(1,96)', sizes: c(1)KB}]}\n  - {name: \
    main, works: [{name: main, workers: 2, total_ops: 40, operations: [{type: read, containers: c(1), objects: 'u(1,96)'}]}]}\n";

#[test]
fn a_login_that_is_over_before_the_next_stage_or_in_the_middle_of_a_clean_is_made_anew() {
    let store = SimStore::start(Behaviour::from_yaml(BEHAVIOUR).unwrap(), "127.0.0.1:0").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("tokens.yaml"), WORKLOAD).unwrap();
    fs::write(path.join("target.yaml"), TARGET.replace("URL", &store.url())).unwrap();
    let args = ["run", "tokens.yaml", "--target", "target.yaml", "--quiet", "--no-report"];
    let (output, record) = run_json(path, &args);
    assert_eq!((output.status.code(), record.state), (Some(0), RunState::Finished), "{}", stderr(&output));
    let read = operation(&record, "main", "read");
    assert_eq!((read.ok, read.failed), (40, 0), "{read:?}");
    let refused =
        |op: Op| store.log().unwrap().iter().filter(|one| one.op == op && one.status == 401).count();
    assert!(refused(Op::Delete) == 0, "nothing was deleted yet");

    let cleaned = run(path, &["clean", "last", "--target", "target.yaml"]);
    assert!(cleaned.status.success(), "{}", stderr(&cleaned));
    assert!(refused(Op::Delete) > 0, "the clean was over before its login");
    let left = run(path, &["clean", "last", "--target", "target.yaml", "--dry-run", "--json"]);
    let left: serde_json::Value = serde_json::from_slice(&left.stdout).unwrap();
    assert_eq!(left["objects"], 0, "{left}");
    store.stop();
}

#[test]
fn temporary_keys_of_s3_that_have_ended_are_had_anew_in_the_middle_of_a_clean() {
    // Of eight deletes and the one that is made again, the seventh is refused.
    let behaviour = "errors: [{op: delete, every_nth: 7, status: 400, code: ExpiredToken}]\n";
    let store = SimStore::start(Behaviour::from_yaml(behaviour).unwrap(), "127.0.0.1:0").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let workload = "name: keys\nstages:\n  - {name: init, works: [{type: init, workers: 1, containers: 'r(1,1)'}]}\n  - {name: prepare, \
        works: [{type: prepare, workers: 2, containers: 'r(1,1)', objects: 'r(1,8)', sizes: c(1)KB}]}\n";
    fs::write(path.join("keys.yaml"), workload).unwrap();
    let target = format!("storage: {{type: s3, endpoint: '{}', accesskey: a, secretkey: b}}\n", store.url());
    fs::write(path.join("target.yaml"), target).unwrap();
    let (output, record) =
        run_json(path, &["run", "keys.yaml", "--target", "target.yaml", "--quiet", "--no-report"]);
    assert_eq!((output.status.code(), record.state), (Some(0), RunState::Finished), "{}", stderr(&output));
    let cleaned = run(path, &["clean", "last", "--target", "target.yaml", "--json"]);
    assert!(cleaned.status.success(), "{}", stderr(&cleaned));
    let refused = store.log().unwrap().iter().filter(|one| one.op == Op::Delete && one.status == 400).count();
    assert_eq!(refused, 1, "{}", stderr(&cleaned));
    let left = run(path, &["clean", "last", "--target", "target.yaml", "--dry-run", "--json"]);
    let left: serde_json::Value = serde_json::from_slice(&left.stdout).unwrap();
    assert_eq!(left["objects"], 0, "{left}");
    store.stop();
}
