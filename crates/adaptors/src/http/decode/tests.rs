//! The decoder against answers of every kind, honest and not.

use super::*;

/// Decodes `answer` in steps of `step` bytes; gives status, body, bytes used, and whether it is complete.
fn decode(answer: &[u8], is_head: bool, step: usize) -> Result<(u16, Vec<u8>, usize, bool)> {
    let mut decoder = Decoder::new();
    decoder.start(is_head);
    let (mut body, mut used) = (Vec::new(), 0);
    for piece in answer.chunks(step) {
        let mut rest = piece;
        loop {
            let (taken, event) = decoder.push(rest, |part| body.extend_from_slice(part))?;
            rest = &rest[taken..];
            used += taken;
            match event {
                Event::More => break,
                Event::Done => return Ok((decoder.status, body, used, true)),
                Event::Interim | Event::Head => {}
            }
        }
    }
    let ended = decoder.end_of_stream();
    Ok((decoder.status, body, used, ended))
}

#[test]
fn every_framing_is_decoded_the_same_in_pieces_of_any_size() {
    let cases: &[(&str, bool, u16, &str, usize)] = &[
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloEXTRA", false, 200, "hello", 5),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", false, 200, "hello", 0),
        ("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", true, 200, "", 0),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", false, 204, "", 0),
        ("HTTP/1.1 304\r\n\r\n", false, 304, "", 0),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 201 C\r\nContent-Length: 0\r\n\r\n",
            false,
            201,
            "",
            0,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n",
            false,
            200,
            "hello!",
            0,
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nrest", false, 200, "", 4),
        ("HTTP/1.0 200 OK\n\nuntil the end", false, 200, "until the end", 0),
    ];
    for (answer, is_head, status, body, extra) in cases {
        for step in [1, 2, 3, 7, answer.len()] {
            let seen = decode(answer.as_bytes(), *is_head, step).unwrap();
            let expected = (*status, body.as_bytes().to_vec(), answer.len() - extra, true);
            assert_eq!(seen, expected, "{answer:?} in steps of {step}");
        }
    }
}

#[test]
fn an_answer_that_lies_is_a_protocol_error_that_says_why() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "y".repeat(HEAD_LIMIT));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(LINES_LIMIT + 1));
    let extension =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;{}", "x".repeat(CHUNK_LINE_LIMIT));
    let trailer = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}",
        "A: b\r\n".repeat(HEAD_LIMIT / 6 + 1)
    );
    let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(20);
    let cases: &[(&str, &str)] = &[
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "is not HTTP"),
        ("\u{15}\u{3}\u{1}\0\u{2}\u{2}\r\n\r\n", "in TLS"),
        (&long, "longer than"),
        (&many, "header lines"),
        (&extension, "chunk's line"),
        (&trailer, "trailer"),
        (&interim, "interim"),
        ("HTTP/1.1 101 Switching\r\n\r\n", "interim"),
        ("HTTP/1.1 199999 X\r\n\r\n", "is not HTTP"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "not a number"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "not a number"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "two different"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "transfer coding"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "hex number"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", "hex number"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "hex number"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", "longer than its size"),
    ];
    for (answer, words) in cases {
        for step in [5, answer.len()] {
            let error = decode(answer.as_bytes(), false, step).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{words}");
            assert!(error.message().contains(words), "{words}: {error}");
        }
    }
}

#[test]
fn a_body_that_ends_early_is_not_complete() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nConte",
    ] {
        assert!(!decode(answer.as_bytes(), false, 4).unwrap().3, "{answer}");
    }
}

#[test]
fn the_connection_is_kept_only_when_both_sides_can_go_on() {
    let cases: &[(&str, bool)] = &[
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: foo, Close\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nconnection: Keep-Alive\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\n\r\n", false),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", true),
        ("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", false),
    ];
    for (answer, kept) in cases {
        let mut decoder = Decoder::new();
        decoder.start(false);
        decoder.push(answer.as_bytes(), |_| {}).unwrap();
        assert_eq!(decoder.keep_alive, *kept, "{answer}");
    }
}

proptest::proptest! {
    /// Cuts, flips and repeats of valid answers: never a panic, never a different reading for different pieces.
    #[test]
    fn any_bytes_are_read_the_same_whatever_the_pieces(
        start in 0..6_usize,
        edits in proptest::collection::vec((0..200_usize, proptest::prelude::any::<u8>(), 0..3_u8), 0..6),
        step in 1..40_usize,
    ) {
        let starts = [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\nConnection: close\r\n\r\n",
            "HTTP/1.0 404 No\nServer: x\n\nuntil the end",
            "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            "\r\n\r\n",
        ];
        let mut bytes = starts[start].as_bytes().to_vec();
        for (at, byte, edit) in edits {
            let at = at % bytes.len().max(1);
            match edit {
                0 if at < bytes.len() => bytes[at] = byte,
                1 => bytes.insert(at.min(bytes.len()), byte),
                _ => bytes.truncate(at),
            }
        }
        let whole = decode(&bytes, false, bytes.len().max(1));
        let pieces = decode(&bytes, false, step);
        if let (Ok(whole), Ok(pieces)) = (whole, pieces) {
            proptest::prop_assert_eq!(whole, pieces);
        }
    }
}

#[test]
fn header_lines_are_found_by_name_whatever_the_case() {
    let mut decoder = Decoder::new();
    decoder.start(false);
    decoder.push(b"HTTP/1.1 200 A: b\r\nETag:  \"x\" \r\nSet: 1\r\nset: 2\r\n\r\n", |_| {}).unwrap();
    assert_eq!(decoder.header_all("etag").collect::<Vec<_>>(), ["\"x\""]);
    assert_eq!(decoder.header_all("SET").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(decoder.header_all("HTTP/1.1 200 A").count(), 0);
}
