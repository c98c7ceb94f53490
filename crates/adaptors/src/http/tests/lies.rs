//! Answers that are broken, hostile or early.

use std::time::Duration;

use cosmark_adaptor_api::{BytesSource, CollectSink, ErrorKind, Marks};

use super::server::{Server, Step, answer, say};
use super::*;

#[test]
fn each_lie_gives_its_kind_of_error_and_says_what_happened() {
    use ErrorKind::{Protocol, Reset, ShortBody};
    let head = |text: &str| {
        let mut script = answer(text);
        script.push(Step::AwaitClose);
        script
    };
    let endless = |first: &str, more: &'static [u8]| vec![Step::Head, say(first), Step::SayForEver(more)];
    let cases: Vec<(&str, Vec<Step>, ErrorKind, &str)> = vec![
        ("garbage", head("\x00\x01garbage\r\n\r\n"), Protocol, "not HTTP"),
        ("another protocol", head("SSH-2.0-OpenSSH\r\n"), Protocol, "not HTTP"),
        ("no answer", vec![Step::Head], Reset, "before any answer"),
        ("reset", vec![Step::Head, Step::Reset], Reset, "before any answer"),
        ("half a head", answer("HTTP/1.1 200 OK\r\nContent-"), Reset, "middle of the answer's head"),
        ("short body", answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234567"), ShortBody, "7 of 10"),
        (
            "reset in the body",
            vec![
                Step::Head,
                say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234567"),
                Step::Sleep(Duration::from_millis(50)),
                Step::Reset,
            ],
            ShortBody,
            "7 of 10",
        ),
        (
            "chunks without end",
            answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
            ShortBody,
            "3 body bytes",
        ),
        ("endless header line", endless("HTTP/1.1 200 OK\r\nX: ", b"xxxxxxxx"), Protocol, "longer than"),
        ("endless header lines", endless("HTTP/1.1 200 OK\r\n", b"Some: header\r\n"), Protocol, "head"),
        (
            "endless chunk extension",
            endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"xxxxxxxx"),
            Protocol,
            "chunk's line",
        ),
        (
            "endless trailer",
            endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n"),
            Protocol,
            "trailer",
        ),
        ("endless interim answers", endless("", b"HTTP/1.1 102 Wait\r\n\r\n"), Protocol, "interim"),
        (
            "two lengths",
            head("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"),
            Protocol,
            "two different",
        ),
    ];
    for (name, script, kind, words) in cases {
        for with_sink in [false, true] {
            let server =
                Server::start(vec![script.clone(), answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]);
            let mut connection = connection(server.port);
            run(async {
                let mut marks = Marks::default();
                let mut sink = CollectSink::new(100);
                let take = if with_sink { Take::Sink(&mut sink) } else { Take::Discard };
                let error = connection.exchange(Request::new(GET), take, &mut marks).await.unwrap_err();
                assert_eq!(error.kind(), kind, "{name}: {error}");
                assert!(error.message().contains(words), "{name}: {error}");
                if kind == ShortBody {
                    assert_eq!(error.partial_bytes(), marks.body_bytes, "{name}");
                    assert!(marks.body_bytes > 0 && marks.first_byte_ns > 0, "{name}");
                }
                let after = get(&mut connection, &mut marks).await.unwrap();
                assert_eq!((after.status, after.body_bytes, marks.connections), (200, 2, 2), "{name}");
            });
            server.heard();
        }
    }
}

#[test]
fn an_endless_body_is_cut_at_the_limit_where_it_is_kept() {
    let script = vec![
        Step::Head,
        say("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"),
        Step::SayForEver(b"0123456789abcdef"),
    ];
    let server = Server::start(vec![script]);
    let error = run(async {
        let request = Request::new(GET);
        connection(server.port).exchange(request, Take::Keep { limit: 100_000 }, &mut Marks::default()).await
    });
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.message().contains("longer than 100000 bytes"), "{error}");
}

#[test]
fn a_long_error_page_is_kept_up_to_its_limit_and_read_to_its_end() {
    let page = "e".repeat(ERROR_BODY_LIMIT + 5000);
    let script = answer(&format!("HTTP/1.1 503 Busy\r\nContent-Length: {}\r\n\r\n{page}", page.len()));
    let again = [script, answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")].concat();
    let server = Server::start(vec![again]);
    run(async {
        let (mut connection, mut marks) = (connection(server.port), Marks::default());
        let answer = get(&mut connection, &mut marks).await.unwrap();
        assert_eq!((answer.status, answer.body_bytes), (503, page.len() as u64));
        assert_eq!(connection.body(), &page.as_bytes()[..ERROR_BODY_LIMIT]);
        assert_eq!(marks.body_bytes, 0, "an error page is no object data");
        assert_eq!(get(&mut connection, &mut marks).await.unwrap().status, 200);
        assert_eq!(marks.connections, 1);
        assert!(connection.body().is_empty());
    });
}

#[test]
fn a_refusal_that_comes_while_the_body_is_sent_is_the_result() {
    let refusal = "HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\ndenied";
    let next = answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let endings: [(&str, Vec<Step>); 3] = [
        ("and the body is never read", vec![Step::AwaitClose]),
        ("and the connection is closed", vec![]),
        ("in two parts", vec![Step::Sleep(Duration::from_millis(20)), say("denied"), Step::AwaitClose]),
    ];
    for (name, ending) in endings {
        let first = if ending.len() == 3 { &refusal[..refusal.len() - 6] } else { refusal };
        let script = [vec![Step::Head, say(first)], ending].concat();
        let server = Server::start(vec![script, next.clone()]);
        run(async {
            let (mut connection, mut marks) = (connection(server.port), Marks::default());
            let body = vec![7_u8; 40 << 20];
            let source = BytesSource(&body);
            let head = put_head(body.len() as u64);
            let request = Request::with_body(&head, Body::Sized(&source));
            let answer = connection.exchange(request, Take::Discard, &mut marks).await;
            assert_eq!(answer.map(|answer| answer.status).map_err(|e| e.to_string()), Ok(403), "{name}");
            assert_eq!(connection.body(), b"denied", "{name}");
            assert!(
                marks.body_bytes < body.len() as u64,
                "{name}: the whole body was pushed into the refusal"
            );
            assert_eq!(get(&mut connection, &mut marks).await.unwrap().status, 200);
            assert_eq!(marks.connections, 2, "{name}: half a request is on the first connection");
        });
        server.heard();
    }
}

#[test]
fn a_server_that_hangs_up_under_the_body_is_a_reset_that_says_how_far_it_came() {
    let server = Server::start(vec![vec![Step::Head, Step::Bytes(100_000), Step::Reset]]);
    let body = vec![7_u8; 40 << 20];
    let mut marks = Marks::default();
    let error = run(async {
        let source = BytesSource(&body);
        let head = put_head(body.len() as u64);
        let request = Request::with_body(&head, Body::Sized(&source));
        connection(server.port).exchange(request, Take::Discard, &mut marks).await.unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Reset);
    assert!(error.message().contains("while the body was sent"), "{error}");
    assert!(error.partial_bytes() >= 100_000 && error.partial_bytes() == marks.body_bytes);
}

#[test]
fn a_success_before_the_body_was_read_is_not_believed() {
    let script = vec![Step::Head, say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Step::Reset];
    let server = Server::start(vec![script]);
    let body = vec![7_u8; 40 << 20];
    let error = run(async {
        let source = BytesSource(&body);
        let head = put_head(body.len() as u64);
        let request = Request::with_body(&head, Body::Sized(&source));
        connection(server.port).exchange(request, Take::Discard, &mut Marks::default()).await.unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Reset, "{error}");
}

#[test]
fn a_trickle_ends_with_the_callers_time_limit_and_the_next_call_is_clean() {
    let mut script = answer("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nx");
    script.push(Step::Trickle);
    let next = answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let server = Server::start(vec![script, next]);
    run(async {
        let (mut connection, mut marks) = (connection(server.port), Marks::default());
        // A limit by what has come: after a time of the clock nothing may have come on a machine that is busy.
        tokio::select! {
            biased;
            answer = get(&mut connection, &mut marks) => panic!("it has ended: {answer:?}"),
            () = server.until_trickled(20) => {}
        }
        assert!(marks.body_bytes > 0 && marks.body_bytes < 100_000 && marks.status == 200);
        let after = get(&mut connection, &mut marks).await.unwrap();
        assert_eq!((after.body_bytes, marks.connections), (2, 2));
    });
    server.heard();
}

#[test]
fn a_refused_connection_says_where_nothing_listens() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = run(async { get(&mut connection(port), &mut Marks::default()).await.unwrap_err() });
    assert_eq!(error.kind(), ErrorKind::Connect);
    assert!(error.to_string().starts_with(&format!("nothing listens at 127.0.0.1:{port}")), "{error}");
    let endpoint = endpoint("http://no-such-host.invalid", &[]);
    let error = run(async { get(&mut Connection::new(&endpoint), &mut Marks::default()).await.unwrap_err() });
    assert_eq!(error.kind(), ErrorKind::Connect);
    assert!(error.message().contains("no-such-host.invalid cannot be resolved"), "{error}");
}
