//! When requests left and answers came, by the system's stamps, against a server that says what it does when.

use std::time::Duration;

use cosmark_adaptor_api::{BytesSource, CollectSink, Marks, WireGap, clock};

use super::server::{Server, Step, answer, say, times};
use super::*;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const PAUSE: Duration = Duration::from_millis(60);

fn stamped(port: u16) -> Connection {
    let (settings, problems) = Settings::parse(STORE_KEYS, [("wire_time", "all")]);
    assert!(problems.is_empty(), "{problems:?}");
    Connection::new(&Endpoint::new(&format!("http://127.0.0.1:{port}"), &settings).unwrap())
}

/// The first packets after the first socket of a machine asked for stamps may have none.
fn wait_for_stamps() {
    let server = Server::start(vec![times(2000, answer(OK))]);
    run(async {
        let mut connection = stamped(server.port);
        for _ in 0..2000 {
            let mut marks = Marks::default();
            get(&mut connection, &mut marks).await.unwrap();
            if marks.wire.complete(1).is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("this system stamps nothing");
    });
}

#[test]
fn a_client_that_is_late_to_read_changes_nothing_on_the_wire() {
    wait_for_stamps();
    let server = Server::start(vec![times(2, answer(OK))]);
    run(async {
        let mut connection = stamped(server.port);
        let mut prompt = Marks::default();
        get(&mut connection, &mut prompt).await.unwrap();
        let (mut late, began_ns) = (Marks::default(), clock::now_ns());
        // The whole thread stands still between the request and the answer, as on a machine that is full.
        // Polled right after the request was sent.
        let stands_still = async { std::thread::sleep(PAUSE) };
        let (answer, ()) = tokio::join!(get(&mut connection, &mut late), stands_still);
        let service_ns = clock::now_ns() - began_ns;
        answer.unwrap();
        assert_eq!((prompt.wire.complete(1), late.wire.complete(1)), (Ok(1), Ok(1)));
        let pause_ns = u64::try_from(PAUSE.as_nanos()).unwrap();
        assert!(late.wire.spent_ns <= service_ns, "{:?}", late.wire);
        assert!(late.first_byte_ns - began_ns >= pause_ns, "the client read late");
        assert!(
            late.wire.first_byte_ns <= late.wire.end_ns && late.wire.end_ns < late.first_byte_ns,
            "and the answer had come before it did: {:?}",
            late.wire
        );
        assert!(late.wire.sent_ns >= began_ns && late.wire.sent_ns <= began_ns + service_ns);
    });
    server.heard();
}

#[test]
fn what_the_server_takes_is_on_the_wire_and_bodies_in_several_reads_count_to_their_end() {
    wait_for_stamps();
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n";
    let slow = [Step::Head, Step::Sleep(PAUSE), say(&format!("{head}abc")), Step::Sleep(PAUSE), say("def")];
    let server = Server::start(vec![times(60, slow.to_vec())]);
    let pause_ns = u64::try_from(PAUSE.as_nanos()).unwrap();
    run(async {
        let mut connection = stamped(server.port);
        let (mut way, mut tries) = (0, 0);
        while way < 3 {
            let mut marks = Marks::default();
            let mut sink = CollectSink::default();
            let take = match way {
                0 => Take::Discard,
                1 => Take::Sink(&mut sink),
                _ => Take::Keep { limit: 10 },
            };
            connection.exchange(Request::new(GET), take, &mut marks).await.unwrap();
            let wire = marks.wire;
            assert_eq!(wire.complete(1), Ok(1), "{way}: {wire:?}");
            assert!(wire.first_byte_ns - wire.sent_ns >= pause_ns, "{way}: {wire:?}");
            assert_eq!(wire.spent_ns, wire.end_ns - wire.sent_ns);
            // Who is held up for so long reads both parts at once, and they have one stamp: then once more.
            tries += 1;
            if wire.end_ns - wire.first_byte_ns >= pause_ns / 2 {
                (way, tries) = (way + 1, 0);
            }
            assert!(tries < 20, "{way}: {wire:?}");
        }
    });
}

#[test]
fn a_request_with_a_body_leaves_with_its_first_byte_and_a_100_is_no_answer() {
    wait_for_stamps();
    let body = vec![7_u8; 300_000];
    let steps = [
        vec![Step::Head, say("HTTP/1.1 100 Continue\r\n\r\n"), Step::Sleep(PAUSE), Step::Bytes(body.len())],
        vec![Step::Sleep(PAUSE), say(OK)],
    ];
    let server = Server::start(vec![times(2, steps.concat())]);
    let pause_ns = u64::try_from(PAUSE.as_nanos()).unwrap();
    run(async {
        let mut connection = stamped(server.port);
        for expects_continue in [true, false] {
            let mut marks = Marks::default();
            let head = put_head(body.len() as u64);
            let source = BytesSource(&body);
            let request = Request { expects_continue, ..Request::with_body(&head, Body::Sized(&source)) };
            let began_ns = clock::now_ns();
            connection.exchange(request, Take::Discard, &mut marks).await.unwrap();
            let wire = marks.wire;
            assert_eq!(wire.complete(1), Ok(1), "{wire:?}");
            assert!(wire.first_byte_ns - wire.sent_ns >= pause_ns, "{wire:?} after {began_ns}");
        }
    });
    let heard = server.heard();
    let whole = [put_head(body.len() as u64), body].concat();
    assert!(heard[0] == whole.repeat(2), "cutting the first write changed what was sent");
}

#[test]
fn requests_of_one_operation_add_up_and_a_failed_one_leaves_it_without_times() {
    wait_for_stamps();
    let server = Server::start(vec![
        [times(2, answer(OK)), vec![Step::Head, Step::Reset]].concat(),
        answer("HTTP/1.1 200 OK\r\n\r\nuntil the end"),
    ]);
    run(async {
        let (mut connection, mut marks) = (stamped(server.port), Marks::default());
        get(&mut connection, &mut marks).await.unwrap();
        tokio::time::sleep(PAUSE).await;
        get(&mut connection, &mut marks).await.unwrap();
        let wire = marks.wire;
        assert_eq!(wire.complete(2), Ok(1));
        let between_ns = u64::try_from(PAUSE.as_nanos()).unwrap();
        assert!(wire.end_ns - wire.sent_ns >= wire.spent_ns + between_ns, "{wire:?}");
        get(&mut connection, &mut marks).await.unwrap_err();
        assert_eq!(marks.wire.complete(3), Err(Some(WireGap::Partly)));
        // A new connection; the answer ends with it.
        let mut marks = Marks::default();
        get(&mut connection, &mut marks).await.unwrap();
        assert_eq!((marks.wire.complete(1), marks.connections), (Ok(1), 1));
    });
    server.heard();
}

#[test]
fn nothing_is_stamped_that_nobody_asked_for_and_that_is_said() {
    let server = Server::start(vec![answer(OK), answer(OK)]);
    run(async {
        let mut marks = Marks::default();
        get(&mut connection(server.port), &mut marks).await.unwrap();
        assert_eq!(marks.wire.complete(1), Err(None), "a login is no operation");
        let (settings, _) = Settings::parse(STORE_KEYS, [("wire_time", "off")]);
        let off = Endpoint::new(&format!("http://127.0.0.1:{}", server.port), &settings).unwrap();
        let mut marks = Marks::default();
        get(&mut Connection::new(&off), &mut marks).await.unwrap();
        assert_eq!(marks.wire.complete(1), Err(Some(WireGap::Off)));
    });
    server.heard();
}
