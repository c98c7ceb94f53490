//! Bad input, hostile clients, many connections: the store answers or hangs up, and lives on.

use std::io::Write;
use std::net::Shutdown;

use cosmark_simstore::Op;

use crate::client::{Client, pattern, request, with_object};

/// A small seeded generator (xorshift64), so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

#[test]
fn malformed_requests_get_400_and_a_closed_connection() {
    let (handle, _c, _) = with_object("", 10);
    for text in [
        "\0\0\0\0\r\n\r\n",
        "GET\r\n\r\n",
        "GET /bkt/key HTTP/9.9\r\n\r\n",
        "GET /bkt/key HTTP/1.1\r\nbad header\r\n\r\n",
        "PUT /bkt/k HTTP/1.1\r\nContent-Length: ten\r\n\r\n",
        "PUT /bkt/k HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "PUT /bkt/k HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nnot a chunk\r\n",
    ] {
        let mut c = Client::new(handle.addr());
        c.raw(text.as_bytes());
        let reply = c.reply(false);
        assert_eq!((reply.status, reply.header("connection")), (400, Some("close")), "{text:?}");
        assert!(c.is_closed(), "{text:?}");
    }
    assert_eq!(handle.counters().unwrap().bad_requests, 6);
    let mut c = Client::new(handle.addr());
    c.raw(format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(40_000)).as_bytes());
    assert_eq!(c.reply(false).status, 431);
}

#[test]
fn random_and_mutated_bytes_never_stop_the_store() {
    let (handle, _c, body) = with_object("", 500);
    let seeds = [
        request(
            "PUT /bkt/fuzz",
            &[("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")],
            b"5\r\nhello\r\n0\r\na:b\r\n\r\n",
        ),
        request("GET /bkt?list-type=2&prefix=%41&delimiter=/&max-keys=5", &[], b""),
        request("GET /bkt/key", &[("Range", "bytes=1-2")], b""),
        request(
            "POST /bkt/key?uploadId=1",
            &[],
            b"<C><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></C>",
        ),
        request(
            "PUT /v1/AUTH_a/c/o?multipart-manifest=put",
            &[("X-Auth-Token", "t")],
            b"[{\"path\":\"/c/o\"}]",
        ),
        request("GET /auth/v1.0", &[("X-Auth-User", "a:b"), ("X-Auth-Key", "c")], b""),
        request("PUT /bkt/fuzz", &[("Transfer-Encoding", "chunked")], b"3\r\nabc\r\n0\r\n\r\n"),
    ];
    let mut dice = Dice(0x5eed);
    for round in 0..600 {
        let mut bytes = seeds[dice.below(seeds.len())].clone();
        if round % 5 == 0 {
            bytes = (0..dice.below(2000)).map(|_| dice.next() as u8).collect();
        }
        for _ in 0..dice.below(6) {
            let place = dice.below(bytes.len().max(1));
            match dice.below(4) {
                0 if !bytes.is_empty() => bytes[place] = dice.next() as u8,
                1 => bytes.truncate(place),
                2 if !bytes.is_empty() => bytes.insert(place, b"\r\n:%/0"[dice.below(6)]),
                _ if !bytes.is_empty() => drop(bytes.remove(place)),
                _ => {}
            }
        }
        let mut c = Client::new(handle.addr());
        c.raw(&bytes);
        let _already_closed = c.stream().shutdown(Shutdown::Write);
        // Whatever it says, it must come to an end.
        c.rest(1 << 20);
        if round % 100 == 0 {
            assert_eq!(Client::new(handle.addr()).ask("GET /bkt/key").body, body, "round {round}");
        }
    }
    assert_eq!(Client::new(handle.addr()).ask("GET /bkt/key").body, body);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let (_handle, mut c, body) = with_object("", 5000);
    let mut all = Vec::new();
    for n in 0..50 {
        all.extend(request(&format!("PUT /bkt/p{n}"), &[], format!("body {n}").as_bytes()));
        all.extend(request(&format!("GET /bkt/p{n}"), &[], b""));
        all.extend(request("GET /bkt/key", &[], b""));
    }
    c.raw(&all);
    for n in 0..50 {
        assert_eq!(c.reply(false).status, 200);
        assert_eq!(c.reply(false).text(), format!("body {n}"));
        assert_eq!(c.reply(false).body, body);
    }
}

#[test]
fn large_uploads_followed_by_a_request_in_one_write_are_told_apart() {
    for mode in ["full", "headers", "'null'"] {
        let handle = crate::client::store(&format!("store: {{mode: {mode}, null_bytes: 2000000}}"));
        let mut c = Client::new(handle.addr());
        c.ask("PUT /bkt");
        let mut all = request("PUT /bkt/big", &[], &pattern(2_000_000));
        all.extend(request("GET /bkt/big", &[], b""));
        let mut writer = c.stream().try_clone().unwrap();
        let sending = std::thread::spawn(move || writer.write_all(&all).unwrap());
        assert_eq!(c.reply(false).status, 200);
        assert_eq!(c.reply(false).body.len(), 2_000_000);
        sending.join().unwrap();
    }
}

#[test]
fn requests_that_arrive_byte_by_byte_are_served() {
    let (_handle, mut c, _) = with_object("", 10);
    for byte in request("PUT /bkt/slow", &[("Transfer-Encoding", "chunked")], b"3\r\nabc\r\n0\r\n\r\n") {
        c.raw(&[byte]);
    }
    assert_eq!(c.reply(false).status, 200);
    assert_eq!(c.ask("GET /bkt/slow").text(), "abc");
}

#[test]
fn connection_close_and_http_1_0_end_the_connection() {
    let (_handle, mut c, body) = with_object("", 10);
    let reply = c.send("GET /bkt/key", &[("Connection", "close")], b"");
    assert_eq!((reply.body == body, reply.header("connection")), (true, Some("close")));
    assert!(c.is_closed());
    let (_handle, mut c, body) = with_object("", 10);
    c.raw(b"GET /bkt/key HTTP/1.0\r\n\r\n");
    assert_eq!(c.reply(false).body, body);
    assert!(c.is_closed());
}

#[test]
fn hundreds_of_connections_are_served_at_once() {
    let (handle, _c, body) = with_object("delay: {law: {constant_ms: 1}}", 4096);
    let mut clients: Vec<Client> = (0..200).map(|_| Client::new(handle.addr())).collect();
    for _ in 0..5 {
        clients.iter_mut().for_each(|c| c.raw(&request("GET /bkt/key", &[], b"")));
        clients.iter_mut().for_each(|c| assert_eq!(c.reply(false).body, body));
    }
    let counters = handle.counters().unwrap();
    assert_eq!((counters.of(Op::Get, 200), counters.connections_open), (1000, 201));
    drop(clients);
    while handle.counters().unwrap().connections_open > 1 {
        std::thread::yield_now();
    }
}

#[test]
fn a_client_that_never_reads_does_not_stop_the_others() {
    let (handle, mut c, body) = with_object("", 8_000_000);
    let mut deaf: Vec<Client> = (0..5).map(|_| Client::new(handle.addr())).collect();
    deaf.iter_mut().for_each(|d| d.raw(&request("GET /bkt/key", &[], b"").repeat(20)));
    assert_eq!(c.ask("GET /bkt/key").body, body);
    drop(deaf);
    handle.stop();
}
