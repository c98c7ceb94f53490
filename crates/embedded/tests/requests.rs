//! Requests against a running store, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod client;

use data_encoding::HEXLOWER;
use std::io::Write;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use client::{Answer, Client, pattern, read_answer};
use cosmark_embedded::{EmbeddedStore, Options};

fn started() -> (EmbeddedStore, Client) {
    limited(None)
}

fn limited(max_bytes: Option<u64>) -> (EmbeddedStore, Client) {
    let store = EmbeddedStore::start(Options { max_bytes, ..Options::default() }).unwrap();
    let client = Client::of(&store);
    assert_eq!(client.put("/bucket", b"").status, 200);
    (store, client)
}

fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn objects_of_all_sizes_come_back_with_their_md5_as_etag() {
    let (store, client) = started();
    for len in [0, 1, 4096, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 3_000_000] {
        let content = pattern(len);
        let written = client.put("/bucket/key", &content);
        assert_eq!(written.status, 200, "{}", written.text());
        let read = client.get("/bucket/key");
        assert_eq!((read.status, read.body.len()), (200, len));
        assert!(read.body == content, "{len}: the content differs");
        let md5 = HEXLOWER.encode((<md5::Md5 as md5::Digest>::digest(&content)).as_ref());
        assert_eq!(read.header("etag"), Some(format!("\"{md5}\"").as_str()));
        assert_eq!(written.header("etag"), read.header("etag"));
        assert_eq!(store.used_bytes(), len as u64);
    }
    assert_eq!(client.delete("/bucket/key").status, 204);
    assert_eq!(client.get("/bucket/key").error(), (404, "NoSuchKey".into()));
    assert_eq!(client.delete("/bucket/key").status, 204);
    assert_eq!(store.used_bytes(), 0);
}

#[test]
fn a_range_gives_its_bytes_and_says_which() {
    let (_store, client) = started();
    let content = pattern(300_000);
    client.put("/bucket/key", &content);
    for (range, first, last) in [
        ("bytes=0-0", 0, 0),
        ("bytes=17-4242", 17, 4242),
        ("bytes=1000-250000", 1000, 250_000),
        ("bytes=299990-", 299_990, 299_999),
        ("bytes=-10", 299_990, 299_999),
        ("bytes=299990-999999", 299_990, 299_999),
    ] {
        let answer = client.send("GET", "/bucket/key", "", &[("Range", range)], b"");
        assert_eq!(answer.status, 206, "{range}");
        assert!(answer.body == content[first..=last], "{range}");
        assert_eq!(answer.header("content-range"), Some(format!("bytes {first}-{last}/300000").as_str()));
    }
    let answer = client.send("GET", "/bucket/key", "", &[("Range", "bytes=300000-")], b"");
    assert_eq!(answer.error(), (416, "InvalidRange".into()));
}

#[test]
fn a_part_is_given_only_of_the_version_that_if_range_names() {
    let (_store, client) = started();
    client.put("/bucket/key", &pattern(900));
    let old = client.get("/bucket/key").header("etag").unwrap().to_owned();
    let content = pattern(1000);
    client.put("/bucket/key", &content);
    let read = client.get("/bucket/key");
    let [new, date] = ["etag", "last-modified"].map(|name| read.header(name).unwrap().to_owned());
    let weak = format!("W/{new}");
    let cases = [(&new, true), (&old, false), (&weak, false), (&date, false)];
    for (given, is_part) in cases {
        let lines = [("Range", "bytes=500-999"), ("If-Range", given.as_str())];
        let answer = client.send("GET", "/bucket/key", "", &lines, b"");
        assert_eq!(answer.status, if is_part { 206 } else { 200 }, "{given}");
        assert!(answer.body == content[if is_part { 500 } else { 0 }..], "{given}");
    }
}

#[test]
fn signatures_are_checked() {
    let (_store, client) = started();
    client.put("/bucket/key", b"x");
    let wrong = |access: &str, secret: &str| Client {
        address: client.address,
        access: access.into(),
        secret: secret.into(),
    };
    let forged = wrong(&client.access, "not the secret");
    for answer in [forged.get("/bucket/key"), forged.put("/bucket/key", b"y"), forged.get("/")] {
        assert_eq!(answer.error(), (403, "SignatureDoesNotMatch".into()));
    }
    let stranger = wrong("NOBODY", &client.secret);
    assert_eq!(stranger.get("/bucket/key").error(), (403, "InvalidAccessKeyId".into()));
    let mut stream = client.connect();
    stream.write_all(b"GET /bucket/key HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    assert_eq!(read_answer(&mut stream).error(), (403, "AccessDenied".into()));
    assert_eq!(client.get("/bucket/key").body, b"x");
}

#[test]
fn what_is_missing_or_in_the_way_is_told_by_the_right_error() {
    let (_store, client) = started();
    client.put("/bucket/key", b"x");
    let cases: &[(&str, &str, u16, &str)] = &[
        ("GET", "/other/key", 404, "NoSuchBucket"),
        ("PUT", "/other/key", 404, "NoSuchBucket"),
        ("DELETE", "/other/key", 404, "NoSuchBucket"),
        ("DELETE", "/other", 404, "NoSuchBucket"),
        ("GET", "/other", 404, "NoSuchBucket"),
        ("HEAD", "/other", 404, ""),
        ("HEAD", "/bucket/other", 404, ""),
        ("GET", "/bucket/other", 404, "NoSuchKey"),
        ("PUT", "/bucket", 409, "BucketAlreadyOwnedByYou"),
        ("DELETE", "/bucket", 409, "BucketNotEmpty"),
        ("PUT", "/No_Name", 400, "InvalidBucketName"),
    ];
    for (method, path, status, code) in cases {
        let answer = client.send(method, path, "", &[], b"");
        assert_eq!(answer.error(), (*status, (*code).to_owned()), "{method} {path}");
    }
    client.delete("/bucket/key");
    assert_eq!(client.delete("/bucket").status, 204);
    assert_eq!(client.put("/bucket/key", b"x").error(), (404, "NoSuchBucket".into()));
    assert_eq!(client.put("/bucket", b"").status, 200);
}

#[test]
fn names_of_any_form_are_objects_of_their_own() {
    let (_store, client) = started();
    let names =
        ["a", "a/", "a/b", "a//b", "a/../b", "../up", "%E4%B8%AD", "x%20y", "x%2By", "%01", ".hidden"];
    for name in names {
        assert_eq!(client.put(&format!("/bucket/{name}"), name.as_bytes()).status, 200, "{name}");
    }
    for name in names {
        assert_eq!(client.get(&format!("/bucket/{name}")).text(), name);
    }
    let list = client.send("GET", "/bucket", "encoding-type=url&list-type=2", &[], b"");
    assert_eq!(list.tags("Key").len(), names.len());
    let long = "k".repeat(1025);
    assert_eq!(client.put(&format!("/bucket/{long}"), b"").error(), (400, "KeyTooLongError".into()));
}

#[test]
fn listings_give_every_key_once_page_by_page() {
    let (_store, client) = started();
    let mut names: Vec<_> =
        (0..25).map(|n| format!("n{n:02}")).chain((0..9).map(|n| format!("d{n}/x"))).collect();
    for name in &names {
        client.put(&format!("/bucket/{name}"), b"");
    }
    names.sort();
    let (mut seen, mut token) = (Vec::new(), None::<String>);
    for _ in 0..20 {
        let start = token.map(|token| format!("continuation-token={token}&")).unwrap_or_default();
        let page = client.send("GET", "/bucket", &format!("{start}list-type=2&max-keys=7"), &[], b"");
        assert!(page.tags("Key").len() <= 7, "{}", page.text());
        seen.extend(page.tags("Key"));
        token = page.tag("NextContinuationToken");
        assert_eq!(page.tag("IsTruncated"), Some(token.is_some().to_string()));
        if token.is_none() {
            break;
        }
    }
    assert_eq!(seen, names);
    let (mut prefixes, mut keys, mut marker) = (Vec::new(), Vec::new(), String::new());
    for _ in 0..20 {
        let query = format!("delimiter=%2F&marker={marker}&max-keys=4");
        let page = client.send("GET", "/bucket", &query, &[], b"");
        prefixes.extend(page.tags("CommonPrefixes").iter().map(|inner| inner.replace("Prefix>", "")));
        keys.extend(page.tags("Key"));
        match page.tag("NextMarker") {
            Some(next) => marker = next.replace('/', "%2F"),
            None => break,
        }
    }
    assert_eq!((prefixes.len(), keys.len()), (9, 25));
}

fn begin_upload(client: &Client) -> String {
    client.send("POST", "/bucket/key", "uploads=", &[], b"").tag("UploadId").unwrap()
}

fn put_part(client: &Client, id: &str, number: u32, body: &[u8]) -> String {
    let answer = client.send("PUT", "/bucket/key", &format!("partNumber={number}&uploadId={id}"), &[], body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.header("etag").unwrap().to_owned()
}

fn complete(client: &Client, id: &str, parts: &[(u32, &str)]) -> Answer {
    let rows: String = parts
        .iter()
        .map(|(number, tag)| format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>"))
        .collect();
    let body = format!("<CompleteMultipartUpload>{rows}</CompleteMultipartUpload>");
    client.send("POST", "/bucket/key", &format!("uploadId={id}"), &[], body.as_bytes())
}

#[test]
fn an_object_written_in_parts_is_their_sequence() {
    let (store, client) = started();
    let id = begin_upload(&client);
    let (first, second) = (pattern(5 << 20), pattern(1234));
    let one = put_part(&client, &id, 1, &first);
    put_part(&client, &id, 3, b"replaced below");
    let three = put_part(&client, &id, 3, &second);
    assert_eq!(client.get("/bucket/key").status, 404);
    let cases = [
        (vec![(3, three.as_str()), (1, one.as_str())], "InvalidPartOrder"),
        (vec![(1, one.as_str()), (2, three.as_str())], "InvalidPart"),
        (vec![(1, three.as_str())], "InvalidPart"),
    ];
    for (parts, code) in cases {
        assert_eq!(complete(&client, &id, &parts).error(), (400, code.into()));
    }
    let done = complete(&client, &id, &[(1, &one), (3, &three)]);
    assert_eq!(done.status, 200, "{}", done.text());
    let read = client.get("/bucket/key");
    assert!(read.body == [first, second].concat());
    assert!(read.header("etag").is_some_and(|tag| tag.ends_with("-2\"")));
    assert_eq!(complete(&client, &id, &[(1, &one)]).error(), (404, "NoSuchUpload".into()));
    assert_eq!(store.used_bytes(), (5 << 20) + 1234);
}

#[test]
fn a_last_part_of_no_bytes_adds_nothing_and_may_be_the_only_one() {
    let (_store, client) = started();
    let id = begin_upload(&client);
    let none = put_part(&client, &id, 1, b"");
    let done = complete(&client, &id, &[(1, &none)]);
    assert_eq!(done.status, 200, "{}", done.text());
    let read = client.get("/bucket/key");
    assert!(read.status == 200 && read.body.is_empty());
    assert!(read.header("etag").is_some_and(|tag| tag.ends_with("-1\"")));
    let id = begin_upload(&client);
    let first = pattern(5 << 20);
    let (one, two) = (put_part(&client, &id, 1, &first), put_part(&client, &id, 2, b""));
    let done = complete(&client, &id, &[(1, &one), (2, &two)]);
    assert_eq!(done.status, 200, "{}", done.text());
    assert!(client.get("/bucket/key").body == first);
}

#[test]
fn an_aborted_upload_gives_its_space_back() {
    let (store, client) = started();
    let id = begin_upload(&client);
    put_part(&client, &id, 1, &pattern(100_000));
    assert_eq!(store.used_bytes(), 100_000);
    assert_eq!(client.send("DELETE", "/bucket/key", &format!("uploadId={id}"), &[], b"").status, 204);
    assert_eq!(store.used_bytes(), 0);
    let id = begin_upload(&client);
    put_part(&client, &id, 1, &pattern(100_000));
    assert_eq!(client.delete("/bucket").status, 204);
    assert_eq!(store.used_bytes(), 0);
}

#[test]
fn a_body_that_breaks_off_leaves_nothing() {
    let (store, client) = started();
    client.put("/bucket/key", b"before");
    for sent in [10, 500_000] {
        let mut stream = client.connect();
        stream.write_all(client.head("PUT", "/bucket/key", "", &[], 1_000_000).as_bytes()).unwrap();
        stream.write_all(&pattern(sent)).unwrap();
        eventually("the write did not begin", || store.used_bytes() > 6);
        stream.shutdown(Shutdown::Both).unwrap();
        eventually("the space was not given back", || store.used_bytes() == 6);
    }
    assert_eq!(client.get("/bucket/key").body, b"before");
}

#[test]
fn a_wrong_checksum_stores_nothing() {
    let (store, client) = started();
    let md5 = "AAAAAAAAAAAAAAAAAAAAAA==";
    for (header, value) in
        [("Content-MD5", md5), ("x-amz-checksum-crc32", "AAAAAA=="), ("x-amz-checksum-sha256", md5)]
    {
        let answer = client.send("PUT", "/bucket/key", "", &[(header, value)], b"hello");
        assert_eq!(answer.error(), (400, "BadDigest".into()), "{header}");
    }
    let right = client.send("PUT", "/bucket/key", "", &[("x-amz-checksum-crc32", "NhCmhg==")], b"hello");
    assert_eq!((right.status, store.used_bytes()), (200, 5));
}

#[test]
fn the_limit_of_bytes_is_507_and_passes_when_objects_are_deleted() {
    let (store, client) = limited(Some(100_000));
    assert_eq!(client.put("/bucket/a", &pattern(90_000)).status, 200);
    for len in [10_001, 20_000_000] {
        let answer = client.put("/bucket/b", &pattern(len));
        assert_eq!(answer.error(), (507, "InsufficientStorage".into()));
        assert!(answer.text().contains("100000"), "{}", answer.text());
    }
    client.delete("/bucket/a");
    assert_eq!(client.put("/bucket/b", &pattern(100_000)).status, 200);
    assert_eq!(store.used_bytes(), 100_000);
}

#[test]
fn a_client_that_is_refused_in_the_middle_of_its_body_reads_why() {
    let (_store, client) = started();
    let forged = Client { address: client.address, access: client.access.clone(), secret: "wrong".into() };
    for _ in 0..5 {
        assert_eq!(
            forged.put("/bucket/key", &pattern(8_000_000)).error(),
            (403, "SignatureDoesNotMatch".into())
        );
    }
}

#[test]
fn what_the_store_has_not_is_refused_not_ignored() {
    let (_store, client) = started();
    for (header, value) in [
        ("x-amz-tagging", "a=b"),
        ("x-amz-server-side-encryption", "AES256"),
        ("x-amz-acl", "public-read"),
        ("x-amz-website-redirect-location", "/x"),
    ] {
        let answer = client.send("PUT", "/bucket/key", "", &[(header, value)], b"x");
        assert_eq!(answer.error(), (501, "NotImplemented".into()), "{header}");
    }
    assert_eq!(client.send("GET", "/bucket", "policy=", &[], b"").status, 501);
    assert_eq!(client.get("/bucket/key").status, 404);
}

#[test]
fn bytes_that_are_no_request_end_their_connection_only() {
    let (_store, client) = started();
    let long = [b"A".repeat(1_000_000), b"\r\n\r\n".to_vec()].concat();
    let cases: [&[u8]; 5] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /%zz%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"PUT /b/k HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        &long,
    ];
    for bytes in cases {
        let mut stream = client.connect();
        let _ = stream.write_all(bytes);
        let answer = read_answer(&mut stream);
        assert!((400..500).contains(&answer.status), "{}", answer.head);
    }
    assert_eq!(client.put("/bucket/key", b"x").status, 200);
}

#[test]
fn hundreds_of_connections_at_once_are_all_answered() {
    let (_store, client) = started();
    client.put("/bucket/key", &pattern(4096));
    let mut streams: Vec<_> = (0..300).map(|_| client.connect()).collect();
    let head = client.head("GET", "/bucket/key", "", &[], 0);
    for stream in &mut streams {
        stream.write_all(head.as_bytes()).unwrap();
    }
    for stream in &mut streams {
        let answer = read_answer(stream);
        assert_eq!((answer.status, answer.body.len()), (200, 4096));
    }
}
