//! A controller that stood still until another one had taken its runs up, each with an archive of its own.

use cosmark_archive::{RunState, open_run};

use crate::machines::Bed;
use crate::service::{Controller, within};
use crate::support::signal;
use crate::{TOTAL, ask, counted, finished, log_of, wait_for_drivers, wait_for_progress};

#[test]
fn an_overtaken_controller_ends_the_run_in_its_own_archive_and_names_the_other() {
    let bed = Bed::new(2);
    let url = bed.url();
    let launch = |name: &str, archive: &str| {
        Controller::launch(bed.path(), name, &["--nats", &url, "--name", name, "--archive", archive])
    };
    let a = launch("a", "archive-a");
    within(|| (a.with_token(&a.token, &[], "/api/v1/status").0 == 200).then_some(()));
    std::fs::create_dir(bed.path().join("b")).unwrap();
    for file in ["cluster.key", "tokens", "local-token"] {
        std::fs::copy(bed.path().join("a").join(file), bed.path().join("b").join(file)).unwrap();
    }
    let b = launch("b", "archive-b");
    wait_for_drivers(&a, 2);
    let id = a.submit(&counted("overtaken", 20));
    wait_for_progress(&a, &id, 0.1);
    signal(&a.child, libc::SIGSTOP);
    within(|| ask(&b, "status").filter(|status| status["leader"] == "b"));
    signal(&a.child, libc::SIGCONT);
    let operation = finished(&b, &id, || log_of(bed.path()));
    assert_eq!(operation["count"], TOTAL, "{operation}");
    let own = |archive: &str| open_run(&bed.path().join(format!("{archive}/{id}-overtaken"))).unwrap().record;
    within(|| (own("archive-a").state != RunState::Running).then_some(()));
    let left = own("archive-a");
    assert_eq!(left.state, RunState::Terminated);
    let reason = left.reason.unwrap();
    assert!(reason.contains("another controller took this run up"), "{reason}");
    // What it measured until then is there, and the whole is where it was ended.
    assert!(left.stages[0].operations[0].ok < TOTAL, "{:?}", left.stages[0].operations);
    assert_eq!(own("archive-b").state, RunState::Finished);
}
