//! Everything the script does to answers and connections, with exact counts.

use std::io::ErrorKind;

use cosmark_simstore::{Behaviour, Op, Outcome};

use crate::client::{Client, Reply, with_object};

/// This many GETs, each on a fresh connection.
fn fresh_gets(handle: &cosmark_simstore::Handle, count: usize) -> Vec<Reply> {
    (0..count).map(|_| Client::new(handle.addr()).ask("GET /bkt/key")).collect()
}

#[test]
fn errors_come_by_share_count_or_exact_block_and_leave_the_store_alone() {
    let (handle, mut c, _) =
        with_object("errors: {op: get, status: 503, exact: {count: 20, of: 100}, delay_ms: 0}", 10);
    let statuses: Vec<u16> = (0..300).map(|_| c.ask("GET /bkt/key").status).collect();
    for block in statuses.chunks(100) {
        assert_eq!(block.iter().filter(|s| **s == 503).count(), 20);
    }
    let counters = handle.counters().unwrap();
    assert_eq!((counters.of(Op::Get, 503), counters.rule("errors[0]")), (60, 60));

    let set = |yaml: &str| handle.set_behaviour(Behaviour::from_yaml(yaml).unwrap()).unwrap();
    set("{errors: [{op: put, status: 500, code: Broken, every_nth: 2}], retry_after_s: 9}");
    let (one, two) = (c.send("PUT /bkt/new", &[], b"1"), c.send("PUT /bkt/new", &[], b"22"));
    assert_eq!(
        (one.status, two.status, two.tag("Code").as_str(), two.header("retry-after")),
        (200, 500, "Broken", None)
    );
    assert_eq!(handle.object("bkt", "new").unwrap().unwrap(), b"1");
    set("{errors: {status: 503, retry_after_s: 2}, retry_after_s: 9}");
    let reply = c.ask("GET /bkt/key");
    assert_eq!((reply.header("retry-after"), reply.tag("Code").as_str()), (Some("2"), "SlowDown"));
    let swift = c.ask("GET /v1/AUTH_a/c/o");
    assert!(swift.status == 503 && swift.text().contains("<h1>Service Unavailable</h1>"));
    set("errors: {key_prefix: hot/, status: 500}");
    assert_eq!((c.ask("GET /bkt/hot/1").status, c.ask("GET /bkt/key").status), (500, 200));
    set("errors: {share: 0.3, status: 500, op: get}");
    handle.clear().unwrap();
    let hit = (0..1000).filter(|_| c.ask("GET /bkt/key").status == 500).count();
    // Five standard deviations of Binomial(1000, 0.3), and the log says the same.
    assert!((228..=372).contains(&hit), "{hit}");
    assert_eq!(handle.counters().unwrap().of(Op::Get, 500), hit as u64);
}

#[test]
fn an_early_error_comes_before_the_body_and_closes() {
    let (_handle, mut c, _) = with_object("errors: {op: put, status: 403, before_body: true}", 10);
    c.raw(b"PUT /bkt/x HTTP/1.1\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n");
    let reply = c.reply(false);
    assert_eq!((reply.status, reply.header("connection")), (403, Some("close")));
    assert!(c.is_closed());
}

#[test]
fn every_nth_body_is_cut_in_half_and_the_connection_closed() {
    let (handle, _c, body) = with_object("truncate: {every_nth: 3}", 100_000);
    let replies = fresh_gets(&handle, 9);
    for (n, reply) in replies.iter().enumerate() {
        let expected = if n % 3 == 2 { &body[..50_000] } else { &body[..] };
        assert_eq!((reply.status, reply.header("content-length")), (200, Some("100000")));
        assert_eq!((reply.body == expected, reply.whole), (true, n % 3 != 2), "{n}");
    }
    let cut: Vec<_> = handle.log().unwrap().into_iter().filter(|r| r.outcome == Outcome::Cut).collect();
    assert_eq!(cut.len(), 3);
    assert!(cut.iter().all(|r| r.body_bytes == 50_000 && r.rule.as_deref() == Some("truncate[0]")));
}

#[test]
fn a_chunked_body_without_its_last_chunk_is_not_whole() {
    let (handle, _c, body) = with_object("truncate: {keep: 0.25, chunked: true, every_nth: 2}", 1000);
    let replies = fresh_gets(&handle, 2);
    assert!(replies[0].whole && replies[0].header("transfer-encoding").is_none());
    assert_eq!(replies[1].header("transfer-encoding"), Some("chunked"));
    assert_eq!((replies[1].body == body[..250], replies[1].whole), (true, false));
}

#[test]
fn chunked_bodies_are_right() {
    let (_handle, mut c, body) = with_object("chunked: {}", 600_000);
    for _ in 0..2 {
        let reply = c.ask("GET /bkt/key");
        assert!(reply.whole && reply.body == body && reply.header("content-length").is_none());
    }
    assert_eq!(c.ask("HEAD /bkt/key").header("content-length"), Some("600000"));
}

#[test]
fn exactly_one_bit_of_every_nth_body_is_flipped() {
    let (handle, mut c, body) = with_object("flip_byte: {every_nth: 10}", 300_000);
    let mut places = Vec::new();
    for n in 1..=40 {
        let got = c.ask("GET /bkt/key").body;
        assert_eq!(got.len(), body.len());
        let wrong: Vec<usize> = (0..body.len()).filter(|i| got[*i] != body[*i]).collect();
        assert_eq!(wrong.len(), usize::from(n % 10 == 0), "{n}");
        wrong.iter().for_each(|i| assert_eq!((got[*i] ^ body[*i]).count_ones(), 1));
        places.extend(wrong);
    }
    places.dedup();
    assert!(places.len() > 1, "always the same place");
    assert_eq!(handle.counters().unwrap().rule("flip_byte[0]"), 4);
    assert_eq!(handle.object("bkt", "key").unwrap().unwrap(), body);
}

#[test]
fn resets_happen_where_the_script_says() {
    let (handle, _c, body) = with_object("", 2_000_000);
    let set = |at: &str| {
        let yaml = format!("reset: {{at: {at}, op: [get, put]}}");
        handle.set_behaviour(Behaviour::from_yaml(&yaml).unwrap()).unwrap();
        handle.clear().unwrap();
    };
    for (at, status) in [("request", 0), ("reply", 0), ("headers", 200), ("body", 200)] {
        set(at);
        let mut c = Client::new(handle.addr());
        let reply = c.ask("GET /bkt/key");
        assert_eq!((reply.status, reply.whole), (status, false), "{at}");
        assert!(reply.body.len() <= body.len() / 2 && body.starts_with(&reply.body));
        assert!(reply.broken == Some(ErrorKind::ConnectionReset), "{at}: {:?}", reply.broken);
        let record = handle.log().unwrap().pop().unwrap();
        assert_eq!((record.outcome, record.rule.as_deref()), (Outcome::Reset, Some("reset[0]")), "{at}");
    }
    // A write that is reset before it is done has no effect; one that is reset after has.
    for (at, kept) in [("request", false), ("reply", true)] {
        set(at);
        assert_eq!(Client::new(handle.addr()).send(&format!("PUT /bkt/{at}"), &[], b"x").status, 0);
        assert_eq!(handle.object("bkt", at).unwrap().is_some(), kept, "{at}");
    }
    set("accept");
    let reply = Client::new(handle.addr()).ask("GET /bkt/key");
    assert_eq!(reply.status, 0);
    assert_eq!(handle.counters().unwrap().connections_reset, 1);
}

#[test]
fn connections_are_closed_after_n_answers_with_and_without_a_word() {
    let (handle, mut c, _) = with_object("close_after: 3", 10);
    // Two requests went over this connection before the rule came.
    let last = c.ask("GET /bkt/key");
    assert_eq!((last.status, last.header("connection")), (200, Some("close")));
    assert!(c.is_closed());
    handle.set_behaviour(Behaviour::from_yaml("close_silently_after: 2").unwrap()).unwrap();
    let mut c = Client::new(handle.addr());
    for _ in 0..2 {
        let reply = c.ask("GET /bkt/key");
        assert_eq!((reply.status, reply.header("connection")), (200, None));
    }
    assert!(c.is_closed());
}

#[test]
fn a_wrong_length_is_stated_and_the_true_body_sent() {
    let (handle, _c, body) = with_object("wrong_content_length: {by: 7}", 1000);
    let reply = &fresh_gets(&handle, 1)[0];
    assert_eq!(
        (reply.header("content-length"), reply.body == body, reply.whole),
        (Some("1007"), true, false)
    );
    handle.set_behaviour(Behaviour::from_yaml("wrong_content_length: {by: -10}").unwrap()).unwrap();
    let mut c = Client::new(handle.addr());
    let reply = c.ask("GET /bkt/key");
    assert_eq!((reply.header("content-length"), reply.body == body[..990]), (Some("990"), true));
    assert_eq!(c.rest(100).0, body[990..]);
}

#[test]
fn garbage_and_endless_headers_are_sent_and_end() {
    let (handle, mut c, _) = with_object("garbage_status_line: {text: 'what is this'}", 10);
    c.raw(b"GET /bkt/key HTTP/1.1\r\n\r\n");
    assert_eq!(c.rest(usize::MAX).0, b"what is this\r\n\r\n");
    handle.set_behaviour(Behaviour::from_yaml("endless_headers: {limit_bytes: 300000}").unwrap()).unwrap();
    let mut c = Client::new(handle.addr());
    c.raw(b"GET /bkt/key HTTP/1.1\r\n\r\n");
    let (bytes, _) = c.rest(usize::MAX);
    assert!(
        bytes.starts_with(b"HTTP/1.1 200 OK\r\nx-endless: ")
            && bytes.len() >= 300_000
            && bytes.len() < 320_000
    );
    assert!(!bytes.windows(4).any(|w| w == b"\r\n\r\n"));
}

#[test]
fn a_trickled_body_is_right_and_slow() {
    let (handle, mut c, body) = with_object("slow_trickle: {bytes: 10, every_ms: 2}", 95);
    assert_eq!(c.ask("GET /bkt/key").body, body);
    let record = handle.log().unwrap().pop().unwrap();
    assert!(record.end_ns - record.headers_ns >= 20_000_000);
}

#[test]
fn redirects_lead_back_and_hidden_errors_wear_a_200() {
    let (handle, mut c, _) = with_object("redirect_loop: {every_nth: 2}", 10);
    assert_eq!(c.ask("GET /bkt/key?x=1").status, 200);
    let reply = c.ask("GET /bkt/key?x=1");
    assert_eq!((reply.status, reply.header("location")), (307, Some("http://test/bkt/key?x=1")));
    handle
        .set_behaviour(Behaviour::from_yaml("error_body_with_200: {op: put, code: Internal}").unwrap())
        .unwrap();
    let reply = c.send("PUT /bkt/new", &[], b"x");
    assert_eq!((reply.status, reply.tag("Code").as_str()), (200, "Internal"));
    assert_eq!(handle.object("bkt", "new").unwrap(), None);
}

#[test]
fn too_many_connections_are_turned_away() {
    let (handle, c, _) = with_object("max_connections: 3", 10);
    let mut open: Vec<Client> = (0..2).map(|_| Client::new(handle.addr())).collect();
    open.iter_mut().for_each(|c| assert_eq!(c.ask("GET /bkt/key").status, 200));
    assert!(Client::new(handle.addr()).is_closed());
    assert_eq!(handle.counters().unwrap().connections_refused, 1);
    drop((open, c));
}

#[test]
fn a_new_connection_can_be_kept_waiting() {
    let (handle, _c, _) = with_object("accept_delay_ms: 50", 10);
    let begin = handle.clock().now_ns();
    assert_eq!(Client::new(handle.addr()).ask("GET /bkt/key").status, 200);
    let record = handle.log().unwrap().pop().unwrap();
    assert!(record.arrival_ns - begin >= 50_000_000);
}

#[test]
fn idle_connections_are_closed_but_scripted_waits_are_not_idle() {
    let (handle, mut idle, _) = with_object("{idle_timeout_s: 1, delay: {law: {constant_ms: 2500}}}", 10);
    let mut busy = Client::new(handle.addr());
    let waiting = std::thread::spawn(move || busy.ask("GET /bkt/key").status);
    assert!(idle.is_closed());
    assert_eq!(waiting.join().unwrap(), 200);
}
