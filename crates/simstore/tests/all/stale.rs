//! Staleness: what was true before is shown for a while, to the share of readers that the script says.

use cosmark_simstore::{Behaviour, Op};

use crate::client::with_bucket;

/// A window that no test outlives.
const LONG: &str = "window_ms: 86400000";

#[test]
fn overwrites_are_hidden_from_the_exact_share_of_reads() {
    let yaml = format!("{{version_header: true, stale: {{{LONG}, exact: {{count: 3, of: 10}}}}}}");
    let (handle, mut c) = with_bucket(&yaml);
    c.send("PUT /bkt/k", &[], b"old");
    for _ in 0..20 {
        assert_eq!(c.ask("GET /bkt/k").text(), "old", "a creation is not hidden by default");
    }
    c.send("PUT /bkt/k", &[], b"new");
    handle.clear().unwrap();
    let mut old = 0;
    for _ in 0..100 {
        let reply = c.ask("GET /bkt/k");
        let version = if reply.text() == "old" { "1" } else { "2" };
        assert_eq!(reply.header("x-simstore-version"), Some(version));
        old += u32::from(version == "1");
    }
    assert_eq!(old, 30);
    let records = handle.log().unwrap();
    assert_eq!(
        records.iter().filter(|r| r.version == 1 && r.rule.as_deref() == Some("stale[0]")).count(),
        30
    );
    assert_eq!(records.iter().filter(|r| r.version == 2 && r.rule.is_none()).count(), 70);
    // Other objects, and objects never changed, do not count.
    assert_eq!(c.ask("GET /bkt/none").status, 404);
    assert_eq!(handle.counters().unwrap().rule("stale[0]"), 30);
}

#[test]
fn deletions_and_creations_can_be_hidden_too() {
    let (handle, mut c) = with_bucket(&format!("stale: {{{LONG}}}"));
    c.send("PUT /bkt/k", &[], b"x");
    c.ask("DELETE /bkt/k");
    assert_eq!((c.ask("GET /bkt/k").text().as_str(), c.ask("HEAD /bkt/k").status), ("x", 200));
    assert_eq!(c.ask("DELETE /bkt").status, 204, "the ghost does not keep the bucket alive");
    let only_create = format!("stale: {{{LONG}, create: true, overwrite: false, delete: false}}");
    handle.set_behaviour(Behaviour::from_yaml(&only_create).unwrap()).unwrap();
    c.ask("PUT /bkt");
    c.send("PUT /bkt/k", &[], b"1");
    assert_eq!(c.ask("GET /bkt/k").status, 404);
    c.send("PUT /bkt/k", &[], b"2");
    assert_eq!(c.ask("GET /bkt/k").text(), "2");
}

#[test]
fn the_window_ends() {
    let (handle, mut c) = with_bucket("{stale: {window_ms: 40}, stale_list: {window_ms: 40}}");
    c.send("PUT /bkt/k", &[], b"old");
    std::thread::sleep(std::time::Duration::from_millis(50));
    // On a busy machine the window may be over before the first read; then it is tried again.
    for attempt in 1.. {
        handle.clear().unwrap();
        c.send("PUT /bkt/k", &[], b"new");
        if c.ask("GET /bkt/k").text() == "old" {
            break;
        }
        assert!(attempt < 20, "never stale");
        std::thread::sleep(std::time::Duration::from_millis(50));
        c.send("PUT /bkt/k", &[], b"old");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    while c.ask("GET /bkt/k").text() != "new" {}
    let log = handle.log().unwrap();
    let new = log.iter().find(|r| r.op == Op::Put).unwrap();
    let (stale, fresh): (Vec<_>, Vec<_>) =
        log.iter().filter(|r| r.op == Op::Get).partition(|r| r.version < new.version);
    assert!(stale.iter().all(|r| r.due_ns < new.due_ns + 40_000_000));
    assert!(fresh.iter().all(|r| r.due_ns >= new.due_ns + 40_000_000), "every read in the window is stale");
    // Nothing old comes after the window, and tombstones are forgotten.
    assert_eq!(c.ask("GET /bkt/k").text(), "new");
    c.ask("DELETE /bkt/k");
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(c.ask("GET /bkt/k").status, 404);
    c.send("PUT /bkt/other", &[], b"x");
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(c.ask("GET /bkt?list-type=2").tags("Key"), ["other"]);
}

#[test]
fn listings_miss_creations_and_show_ghosts_as_one_picture() {
    let (handle, mut c) = with_bucket("");
    for key in ["a", "b", "c"] {
        c.send(&format!("PUT /bkt/{key}"), &[], b"x");
    }
    handle
        .set_behaviour(Behaviour::from_yaml(&format!("stale_list: {{{LONG}, every_nth: 2}}")).unwrap())
        .unwrap();
    c.ask("DELETE /bkt/b");
    c.send("PUT /bkt/d", &[], b"x");
    c.send("PUT /bkt/a", &[], b"yy");
    for _ in 0..3 {
        assert_eq!(c.ask("GET /bkt?list-type=2").tags("Key"), ["a", "c", "d"]);
        assert_eq!(c.ask("GET /bkt?list-type=2").tags("Key"), ["a", "b", "c"]);
    }
    assert_eq!(
        handle.log().unwrap().iter().filter(|r| r.rule.as_deref() == Some("stale_list[0]")).count(),
        3
    );
    assert_eq!(handle.names("bkt").unwrap().unwrap(), ["a", "c", "d"]);
    let swift_free = format!("stale_list: {{{LONG}, delete: false}}");
    handle.set_behaviour(Behaviour::from_yaml(&swift_free).unwrap()).unwrap();
    assert_eq!(c.ask("GET /bkt?list-type=2").tags("Key"), ["a", "c"]);
}
