//! What a run leaves whose driver was lost goes when somebody cleans up after it.

use cosmark_archive::RunState;
use serde_json::Value;

use crate::bed::Bed;
use crate::support;

/// A second stage goes on for longer than anybody waits.
const FILLS: &str = "name: fills\non_driver_loss: fail\nlost_after: 5s\nstages:\n- name: init\n  works: [{type: init, workers: 2, containers: \
    'r(1,4)', container_prefix: lost-}]\n- name: main\n  works:\n  - {name: w, workers: 4, runtime: 600s, interval: 1s, pace: \
    {rate_per_worker: 20/s}, operations: [{type: write, containers: 'u(1,4)', container_prefix: lost-, objects: 'u(1,400)', \
    object_prefix: obj, sizes: c(1)KB}]}\n- name: dispose\n  works: [{type: dispose, workers: 1, containers: 'r(1,4)', container_prefix: \
    lost-}]\n";

#[test]
fn what_a_run_left_that_lost_its_driver_goes_with_the_containers_that_it_made() {
    let mut bed = Bed::new(2);
    let server = support::Server::start(bed.path(), &[]);
    server.target(bed.path(), None);
    let theirs = "name: theirs\nstages:\n- name: init\n  works: [{type: init, workers: 1, containers: 'r(4,4)', container_prefix: lost-}]\n";
    std::fs::write(bed.path().join("theirs.yaml"), theirs).unwrap();
    let made = support::run(
        bed.path(),
        &["run", "theirs.yaml", "--target", "target.yaml", "--quiet", "--archive", "theirs"],
    );
    assert!(made.status.success(), "{}", support::stderr(&made));
    std::fs::write(bed.path().join("fills.yaml"), FILLS).unwrap();
    let mut run = bed.start_run("fills.yaml", &["--target", "target.yaml"]);
    bed.wait_for_state(1, cosmark_archive::StageState::Running, &mut run);
    std::thread::sleep(std::time::Duration::from_secs(2));
    bed.drivers[1].kill();
    assert_eq!(run.wait(), 1, "{}", bed.logs());
    let record = bed.run().record;
    assert_eq!(record.state, RunState::Terminated, "{}", bed.logs());
    // The command that cleans up is told.
    assert!(run.log().contains("`cosmark clean w1 --dry-run`"), "{}", run.log());
    let containers = &record.stages[0].containers;
    assert_eq!(
        (containers.created.len(), containers.found.as_slice()),
        (3, ["lost-4".to_owned()].as_slice()),
        "{containers:?}"
    );
    let clean = |more: &[&str]| -> Value {
        let args = [&["clean", "w1", "--target", "target.yaml", "--json"], more].concat();
        let output = support::run(bed.path(), &args);
        assert_eq!(output.status.code(), Some(0), "{}", support::stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let planned = clean(&["--dry-run"]);
    assert!(planned["objects"].as_u64().unwrap() > 0, "{planned}");
    let done = clean(&[]);
    assert_eq!((&done["objects"], &done["containers_removed"]), (&planned["objects"], &3.into()), "{done}");
    let again = clean(&["--containers"]);
    assert_eq!((&again["objects"], &again["containers_removed"]), (&0.into(), &0.into()), "{again}");
    assert!(again.to_string().contains("was there before the run"), "{again}");
}
