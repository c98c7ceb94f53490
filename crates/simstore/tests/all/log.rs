//! The log and the counters against what a client did.

use cosmark_simstore::{CSV_HEADER, Op, Outcome, Protocol, SimStore, StartError};

use crate::client::{Client, pattern, request, store, with_bucket};

#[test]
fn every_request_has_its_record() {
    let (handle, mut c) = with_bucket("");
    let body = pattern(1000);
    let put = request("PUT /bkt/a/k", &[], &body);
    c.send("PUT /bkt/a/k", &[], &body);
    c.ask("GET /bkt/a/k");
    c.send("GET /bkt/a/k", &[("Range", "bytes=0-9")], b"");
    c.ask("GET /bkt/none");
    let mut other = Client::new(handle.addr());
    other.ask("HEAD /bkt/a/k");
    let port = other.stream().local_addr().unwrap().port();
    let log = handle.log().unwrap();
    let seen: Vec<_> =
        log.iter().map(|r| (r.connection, r.request, r.op, r.status, r.version, r.body_bytes)).collect();
    assert_eq!(
        seen,
        [
            (1, 1, Op::PutContainer, 200, 0, 0),
            (1, 2, Op::Put, 200, 1, 0),
            (1, 3, Op::Get, 200, 1, 1000),
            (1, 4, Op::Get, 206, 1, 10),
            (1, 5, Op::Get, 404, 0, log[4].body_bytes),
            (2, 1, Op::Head, 200, 1, 0),
        ]
    );
    assert_eq!((&*log[1].container, &*log[1].object, &*log[4].object), ("bkt", "a/k", "none"));
    assert_eq!((log[5].peer_port, log[1].request_bytes), (port, put.len() as u64));
    assert!(log.iter().all(|r| r.protocol == Protocol::S3 && r.outcome == Outcome::Done && r.rule.is_none()));
    assert!(log.windows(2).all(|pair| pair[0].arrival_ns <= pair[1].arrival_ns));
    let now = handle.clock().now_ns();
    assert!(log.iter().all(|r| r.arrival_ns <= r.complete_ns
        && r.complete_ns <= r.headers_ns
        && r.headers_ns <= r.end_ns
        && r.end_ns <= now));
    let counters = handle.counters().unwrap();
    assert_eq!((counters.total(), counters.of_op(Op::Get), counters.of(Op::Get, 200)), (6, 3, 1));
    assert_eq!((counters.connections_accepted, counters.connections_open, counters.distinct_keys), (2, 2, 2));
    assert_eq!((counters.objects, counters.outcomes["done"]), (1, 6));
}

#[test]
fn a_client_that_leaves_in_its_body_is_logged_as_gone() {
    let (handle, mut c) = with_bucket("");
    c.raw(b"PUT /bkt/k HTTP/1.1\r\nContent-Length: 1000\r\n\r\nonly this");
    drop(c);
    let record = loop {
        let record = handle.log().unwrap().pop().unwrap();
        if record.op == Op::Put {
            break record;
        }
        std::thread::yield_now();
    };
    assert_eq!((record.status, record.outcome), (0, Outcome::Gone));
    assert_eq!(handle.object("bkt", "k").unwrap(), None);
}

#[test]
fn the_csv_file_is_complete_when_the_store_has_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("requests.csv");
    let handle = store(&format!("log: {{max_records: 10, csv: '{}'}}", path.display()));
    let mut c = Client::new(handle.addr());
    for n in 0..200 {
        c.ask(&format!("GET /bkt/{n}"));
    }
    assert_eq!(handle.log().unwrap().len(), 10);
    handle.stop();
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines.len()), (CSV_HEADER, 201));
    for (n, line) in lines[1..].iter().enumerate() {
        assert_eq!(line.split(',').nth(6), Some(n.to_string().as_str()));
    }
}

#[test]
fn the_servers_own_paths_serve_other_processes() {
    let handle = store("{time_zero: first_request, errors: {status: 500}}");
    let mut c = Client::new(handle.addr());
    c.ask("GET /bkt/k");
    let counters: serde_json::Value = serde_json::from_slice(&c.ask("GET /_simstore/counters").body).unwrap();
    assert_eq!(counters["requests"]["get"]["500"], 1);
    assert_eq!(counters["rules"]["errors[0]"], 1);
    assert!(counters["epoch_monotonic_ns"].as_u64().unwrap() > 0);
    assert_eq!((c.ask("POST /_simstore/zero").status, c.ask("POST /_simstore/clear").status), (204, 204));
    assert_eq!((handle.counters().unwrap().total(), handle.log().unwrap().len()), (0, 0));
    assert_eq!(c.ask("GET /_simstore/else").status, 404);
}

#[test]
fn a_store_that_cannot_start_says_why() {
    let taken = store("");
    let address = taken.addr().to_string();
    let error = |yaml: &str, address: &str| {
        let behaviour = cosmark_simstore::Behaviour::from_yaml(yaml).unwrap();
        SimStore::start(behaviour, address).err().unwrap().to_string()
    };
    assert!(error("", &address).contains("choose another address"));
    assert!(error("delay: {law: {file: /no/such/file}}", "127.0.0.1:0").contains("/no/such/file"));
    assert!(error("log: {csv: /no/such/dir/x.csv}", "127.0.0.1:0").contains("log.csv"));
    assert!(error("core: 1000", "127.0.0.1:0").contains("core 1000"));
    let invalid = cosmark_simstore::Behaviour { close_after: Some(0), ..Default::default() };
    assert!(matches!(SimStore::start(invalid, "127.0.0.1:0"), Err(StartError::Behaviour(_))));
    #[cfg(not(feature = "tls"))]
    assert!(error("tls: {}", "127.0.0.1:0").contains("feature `tls`"));
}
