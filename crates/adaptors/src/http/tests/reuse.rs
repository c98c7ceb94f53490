//! When a connection is used again and when it is not.

use std::time::Duration;

use cosmark_adaptor_api::{CollectSink, Marks};

use super::server::{Server, Step, answer, say, times};
use super::*;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn many_requests_go_over_one_connection() {
    let server = Server::start(vec![times(50, answer(OK))]);
    run(async {
        let (mut connection, mut marks) = (connection(server.port), Marks::default());
        for _ in 0..50 {
            assert_eq!(get(&mut connection, &mut marks).await.unwrap().body_bytes, 2);
        }
        assert_eq!((marks.connections, marks.requests, marks.body_bytes), (1, 50, 100));
        assert!(marks.connect_ns > 0 && marks.first_byte_ns > 0 && marks.status == 200);
    });
    assert_eq!(server.heard()[0], GET.repeat(50));
}

#[test]
fn answers_that_end_a_connection_or_cannot_be_trusted_are_followed_by_a_new_one() {
    let endings: &[(&str, Vec<Step>)] = &[
        ("says close", answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")),
        ("old protocol", answer("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")),
        ("ends by closing", answer("HTTP/1.1 200 OK\r\n\r\nok")),
        ("says too much", [answer(&format!("{OK}more")), vec![Step::AwaitClose]].concat()),
        ("closes silently", answer(OK)),
        ("resets silently", [answer(OK), vec![Step::Sleep(Duration::from_millis(20)), Step::Reset]].concat()),
        (
            "says too much, late",
            [answer(OK), vec![Step::Sleep(Duration::from_millis(20)), say("more"), Step::AwaitClose]]
                .concat(),
        ),
    ];
    for (name, script) in endings {
        let server = Server::start(vec![script.clone(), answer(OK)]);
        run(async {
            let (mut connection, mut marks) = (connection(server.port), Marks::default());
            assert_eq!(get(&mut connection, &mut marks).await.unwrap().body_bytes, 2, "{name}");
            server.until_over(1).await;
            assert_eq!(get(&mut connection, &mut marks).await.unwrap().body_bytes, 2, "{name}");
            assert_eq!((marks.connections, marks.requests, marks.retries), (2, 2, 0), "{name}");
        });
        server.heard();
    }
}

#[test]
fn a_connection_that_died_while_long_idle_is_noticed_without_the_runtimes_help() {
    let server = Server::start(vec![answer(OK), answer(OK)]);
    run(async {
        let (mut connection, mut marks) = (connection(server.port), Marks::default());
        get(&mut connection, &mut marks).await.unwrap();
        // Blocks the runtime too, so that only the look at the socket itself can find the end.
        server.wait_until_over(1);
        std::thread::sleep(Duration::from_millis(600));
        get(&mut connection, &mut marks).await.unwrap();
        assert_eq!(marks.connections, 2);
    });
}

#[test]
fn a_head_answer_has_no_body_and_one_that_has_spoils_only_its_own_connection() {
    let honest = answer("HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n");
    let script =
        [honest, answer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"), vec![Step::AwaitClose]].concat();
    let server = Server::start(vec![script, answer(OK)]);
    run(async {
        let (mut connection, mut marks) = (connection(server.port), Marks::default());
        for length in [12345, 4] {
            let request = Request::head(b"HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n");
            let answer = connection.exchange(request, Take::Discard, &mut marks).await.unwrap();
            assert_eq!(answer, Answer { status: 200, body_bytes: 0, content_length: Some(length) });
        }
        server.until_over(1).await;
        assert_eq!(get(&mut connection, &mut marks).await.unwrap().body_bytes, 2);
        assert_eq!((marks.connections, marks.body_bytes), (2, 2));
    });
}

#[test]
fn interim_answers_are_passed_over_and_do_not_count_as_the_first_byte() {
    let pause = Step::Sleep(Duration::from_millis(60));
    let script = vec![Step::Head, say("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), pause, say(OK)];
    let server = Server::start(vec![script]);
    run(async {
        let (mut connection, mut marks) = (connection(server.port), Marks::default());
        let begun = cosmark_adaptor_api::clock::now_ns();
        assert_eq!(get(&mut connection, &mut marks).await.unwrap().status, 200);
        assert!(marks.first_byte_ns - begun >= 50_000_000, "the interim answer was taken for the answer");
    });
}

#[test]
fn dropping_a_call_at_any_point_leaves_nothing_for_the_next_one_to_stumble_over() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    // The rest comes to whoever still listens: however late this machine looks, the call has not ended before.
    let slow = vec![
        Step::Head,
        Step::Sleep(Duration::from_millis(30)),
        say(chunked),
        Step::AwaitClose,
        say("1\r\n!\r\n0\r\n\r\n"),
    ];
    for limit_ms in [1, 15, 45] {
        let server = Server::start(vec![slow.clone(), answer(OK)]);
        run(async {
            let (mut connection, mut marks) = (connection(server.port), Marks::default());
            let call = get(&mut connection, &mut marks);
            assert!(tokio::time::timeout(Duration::from_millis(limit_ms), call).await.is_err());
            let mut sink = CollectSink::new(10);
            let request = Request::new(GET);
            connection.exchange(request, Take::Sink(&mut sink), &mut marks).await.unwrap();
            assert_eq!(sink.bytes, b"ok");
        });
        server.heard();
    }
}

#[test]
fn header_lines_of_the_last_answer_can_be_asked_for() {
    let first =
        "HTTP/1.1 200 OK\r\nX-Thing: one\r\nETag: \"abc\"\r\nX-Thing: two\r\nContent-Length: 0\r\n\r\n";
    let server = Server::start(vec![[answer(first), answer(OK)].concat()]);
    run(async {
        let (mut connection, mut marks) = (connection(server.port), Marks::default());
        get(&mut connection, &mut marks).await.unwrap();
        assert_eq!(connection.header("etag"), Some("\"abc\""));
        assert_eq!(connection.header_all("X-THING").collect::<Vec<_>>(), ["one", "two"]);
        get(&mut connection, &mut marks).await.unwrap();
        assert_eq!(connection.header("etag"), None);
    });
}

#[test]
fn a_name_with_several_addresses_is_tried_until_one_answers() {
    let server = Server::start(vec![answer(OK)]);
    let endpoint = endpoint(&format!("http://localhost:{}", server.port), &[]);
    run(async {
        let mut connection = Connection::new(&endpoint);
        assert_eq!(get(&mut connection, &mut Marks::default()).await.unwrap().status, 200);
    });
    assert!(server.heard()[0].starts_with(b"GET /x"));
}

#[test]
fn the_source_address_and_socket_buffers_are_used() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let entries = [("source_address", "127.0.0.9"), ("send_buffer", "64KiB"), ("receive_buffer", "64KiB")];
    let endpoint = endpoint(&url, &entries);
    // Closed as soon as it is known from where it comes.
    let from = std::thread::spawn(move || listener.accept().unwrap().1.ip().to_string());
    run(async {
        let mut connection = Connection::new(&endpoint);
        assert!(get(&mut connection, &mut Marks::default()).await.is_err());
    });
    assert_eq!(from.join().unwrap(), "127.0.0.9");
}
