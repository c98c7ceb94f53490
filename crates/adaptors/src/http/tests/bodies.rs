//! What arrives at the server is what the source holds, by every way of sending.

use std::cell::Cell;
use std::io;

use cosmark_adaptor_api::{BodySource, BytesSource, CollectSink, Marks, Piece};

use super::server::{Server, Step, answer, say, times};
use super::*;

/// Lends odd pieces, some of them from the scratch space, as a stamped body does; and more than asked, like a window on
/// a larger body.
struct Lender {
    content: Vec<u8>,
    visible: u64,
    lends: Cell<u32>,
}

impl BodySource for Lender {
    fn len(&self) -> u64 {
        self.visible
    }

    fn copy_to(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        BytesSource(&self.content).copy_to(offset, buf)
    }

    fn lend<'a>(&'a self, offset: u64, scratch: &'a mut [u8], pieces: &mut [Piece<'a>]) -> usize {
        self.lends.set(self.lends.get() + 1);
        let mut at = usize::try_from(offset).unwrap();
        let mut scratch = scratch;
        let mut count = 0;
        while count < pieces.len() && at < self.content.len() {
            let length = if count % 2 == 0 { 16 } else { 4080 }.min(self.content.len() - at);
            let bytes = &self.content[at..at + length];
            pieces[count] = if count % 2 == 0 {
                if scratch.len() < length {
                    break;
                }
                let (own, rest) = scratch.split_at_mut(length);
                own.copy_from_slice(bytes);
                scratch = rest;
                Piece::new(own)
            } else {
                Piece::new(bytes)
            };
            at += length;
            count += 1;
        }
        count
    }
}

pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8).collect()
}

pub const SIZES: [usize; 8] = [0, 1, 15, 4096, 16_384, 16_385, 300_000, 5_000_011];

#[test]
fn lent_and_copied_bodies_arrive_byte_by_byte() {
    for size in SIZES {
        let content = pattern(size + 777);
        let lender = Lender { content: content.clone(), visible: size as u64, lends: Cell::new(0) };
        let copied = BytesSource(&content[..size]);
        for source in [&lender as &dyn BodySource, &copied] {
            let script =
                vec![Step::Head, Step::Bytes(size), say("HTTP/1.1 201 C\r\nContent-Length: 0\r\n\r\n")];
            let server = Server::start(vec![times(2, script)]);
            let head = put_head(size as u64);
            run(async {
                let (mut connection, mut marks) = (connection(server.port), Marks::default());
                for _ in 0..2 {
                    let request = Request::with_body(&head, Body::Sized(source));
                    let answer = connection.exchange(request, Take::Discard, &mut marks).await.unwrap();
                    assert_eq!(answer.status, 201);
                }
                assert_eq!((marks.connections, marks.body_bytes), (1, 2 * size as u64));
            });
            let expected = [head.as_slice(), &content[..size]].concat().repeat(2);
            assert!(server.heard()[0] == expected, "a body of {size} bytes came changed");
        }
        assert!(size == 0 || lender.lends.get() > 0);
    }
}

#[test]
fn coded_bodies_arrive_in_valid_chunks() {
    for size in SIZES {
        let content = pattern(size);
        let mut framed = Vec::new();
        for chunk in content.chunks(65_536) {
            framed.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            framed.extend_from_slice(chunk);
            framed.extend_from_slice(b"\r\n");
        }
        framed.extend_from_slice(b"0\r\n\r\n");
        let head = b"PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        let script =
            vec![Step::Head, Step::Bytes(framed.len()), say("HTTP/1.1 201 C\r\nContent-Length: 0\r\n\r\n")];
        let server = Server::start(vec![script]);
        run(async {
            let (mut connection, mut marks) = (connection(server.port), Marks::default());
            let (source, mut coder) = (BytesSource(&content), PlainChunks);
            let request = Request::with_body(head, Body::Coded(&source, &mut coder));
            connection.exchange(request, Take::Discard, &mut marks).await.unwrap();
            assert_eq!(marks.body_bytes, size as u64, "the framing counts as no data");
        });
        assert!(
            server.heard()[0] == [&head[..], &framed].concat(),
            "a coded body of {size} bytes came changed"
        );
    }
}

#[test]
fn bodies_come_back_whole_to_a_sink_and_counted_without_one() {
    for size in SIZES {
        let content = pattern(size);
        let sized = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n").into_bytes();
        let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in content.chunks(100_003) {
            chunked.extend_from_slice(format!("{:X};x=y\r\n", chunk.len()).as_bytes());
            chunked.extend_from_slice(chunk);
            chunked.extend_from_slice(b"\r\n");
        }
        chunked.extend_from_slice(b"0\r\nX-Sum: 1\r\n\r\n");
        let sized = vec![Step::Head, Step::Say([sized, content.clone()].concat())];
        let chunked = vec![Step::Head, Step::Say(chunked)];
        let server = Server::start(vec![[times(2, sized), times(2, chunked)].concat()]);
        run(async {
            let (mut connection, mut marks) = (connection(server.port), Marks::default());
            for _ in 0..2 {
                let answer = get(&mut connection, &mut marks).await.unwrap();
                assert_eq!(answer.body_bytes, size as u64);
                let mut sink = CollectSink::new(size);
                connection.exchange(Request::new(GET), Take::Sink(&mut sink), &mut marks).await.unwrap();
                assert!(
                    sink.bytes == content && sink.seen == size as u64,
                    "a body of {size} bytes came changed"
                );
            }
            assert_eq!((marks.connections, marks.body_bytes), (1, 4 * size as u64));
        });
    }
}

#[test]
fn a_body_waits_for_100_but_not_for_ever() {
    let content = pattern(1000);
    let with_100 = vec![
        Step::Head,
        say("HTTP/1.1 100 Continue\r\n\r\n"),
        Step::Bytes(1000),
        say("HTTP/1.1 201 C\r\nContent-Length: 0\r\n\r\n"),
    ];
    let without = vec![Step::Head, Step::Bytes(1000), say("HTTP/1.1 201 C\r\nContent-Length: 0\r\n\r\n")];
    let refused = answer("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n");
    for (script, status, sent) in [(with_100, 201, 1000), (without, 201, 1000), (refused, 417, 0)] {
        let server = Server::start(vec![script]);
        run(async {
            let (mut connection, mut marks) = (connection(server.port), Marks::default());
            let (source, head) = (BytesSource(&content), put_head(1000));
            let mut request = Request::with_body(&head, Body::Sized(&source));
            request.expects_continue = true;
            let answer = connection.exchange(request, Take::Discard, &mut marks).await.unwrap();
            assert_eq!((answer.status, marks.body_bytes), (status, sent));
        });
    }
}

#[test]
fn a_source_that_cannot_be_read_is_an_error_of_this_machine() {
    struct Broken;
    impl BodySource for Broken {
        fn len(&self) -> u64 {
            10
        }
        fn copy_to(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
    let server = Server::start(vec![vec![Step::AwaitClose]]);
    let error = run(async {
        let head = put_head(10);
        let request = Request::with_body(&head, Body::Sized(&Broken));
        connection(server.port).exchange(request, Take::Discard, &mut Marks::default()).await.unwrap_err()
    });
    assert_eq!(error.kind(), cosmark_adaptor_api::ErrorKind::LocalIo);
}
