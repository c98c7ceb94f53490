//! The S3 subset, verb by verb.

use crate::client::{Client, pattern, store, with_bucket};
use data_encoding::HEXLOWER;

#[test]
fn buckets_are_created_listed_and_deleted_only_when_empty() {
    let (_store, mut c) = with_bucket("");
    let again = c.ask("PUT /bkt");
    assert_eq!((again.status, again.tag("Code").as_str()), (409, "BucketAlreadyOwnedByYou"));
    assert_eq!(c.ask("PUT /Bad_Name").tag("Code"), "InvalidBucketName");
    assert_eq!(c.ask("HEAD /bkt").status, 200);
    assert_eq!(c.ask("HEAD /other").status, 404);
    c.ask("PUT /second");
    assert_eq!(c.ask("GET /").tags("Name"), ["bkt", "second"]);
    c.send("PUT /bkt/k", &[], b"x");
    assert_eq!(c.ask("DELETE /bkt").tag("Code"), "BucketNotEmpty");
    assert_eq!(c.ask("DELETE /bkt/k").status, 204);
    assert_eq!(c.ask("DELETE /bkt").status, 204);
    assert_eq!(c.ask("DELETE /bkt").tag("Code"), "NoSuchBucket");
    assert_eq!(c.ask("GET /").tags("Name"), ["second"]);
}

#[test]
fn an_object_comes_back_with_its_bytes_and_metadata() {
    let (_store, mut c) = with_bucket("");
    let body = pattern(100_000);
    let headers = [("Content-Type", "text/x"), ("x-amz-meta-Color", "red"), ("Cache-Control", "no-store")];
    let put = c.send("PUT /bkt/a/b%20c", &headers, &body);
    assert_eq!((put.status, put.body.len()), (200, 0));
    for line in ["GET /bkt/a/b%20c", "HEAD /bkt/a/b%20c"] {
        let reply = c.ask(line);
        assert_eq!((reply.status, reply.header("content-length")), (200, Some("100000")), "{line}");
        assert_eq!(reply.header("etag"), put.header("etag"));
        assert_eq!(reply.header("content-type"), Some("text/x"));
        assert_eq!(reply.header("x-amz-meta-color"), Some("red"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert!(reply.header("last-modified").unwrap().ends_with(" GMT"));
        let expected: &[u8] = if line.starts_with("GET") { &body } else { b"" };
        assert_eq!(reply.body, expected);
    }
    assert_eq!(c.ask("GET /bkt/none").tag("Code"), "NoSuchKey");
    assert_eq!(c.ask("GET /none/k").tag("Code"), "NoSuchBucket");
    assert_eq!(c.send("PUT /none/k", &[], b"x").tag("Code"), "NoSuchBucket");
    assert_eq!(c.ask("HEAD /bkt/none").status, 404);
    assert_eq!(c.ask("DELETE /bkt/none").status, 204);
}

#[test]
fn objects_of_all_sizes_survive_and_an_overwrite_replaces_them() {
    let (store, mut c) = with_bucket("");
    for size in [0, 1, 100, 4096, 16_000, 65_536, 1_048_576, 3_000_001] {
        let body = pattern(size);
        assert_eq!(c.send("PUT /bkt/k", &[], &body).status, 200, "{size}");
        let got = c.ask("GET /bkt/k");
        assert!(got.whole && got.body == body, "{size}");
        assert_eq!(store.object("bkt", "k").unwrap().unwrap(), body);
    }
    assert_eq!(store.counters().unwrap().objects, 1);
}

#[test]
fn ranges_give_206_416_and_the_right_bytes() {
    let (_store, mut c) = with_bucket("");
    c.send("PUT /bkt/k", &[], b"0123456789");
    for (range, status, body, content_range) in [
        ("bytes=2-4", 206, "234", Some("bytes 2-4/10")),
        ("bytes=7-", 206, "789", Some("bytes 7-9/10")),
        ("bytes=-2", 206, "89", Some("bytes 8-9/10")),
        ("bytes=0-99", 206, "0123456789", Some("bytes 0-9/10")),
        ("nonsense", 200, "0123456789", None),
    ] {
        let reply = c.send("GET /bkt/k", &[("Range", range)], b"");
        assert_eq!((reply.status, reply.text().as_str()), (status, body), "{range}");
        assert_eq!(reply.header("content-range"), content_range);
    }
    assert_eq!(c.send("GET /bkt/k", &[("Range", "bytes=10-")], b"").tag("Code"), "InvalidRange");
    // A part of the version that is named, all of any other.
    let read = c.ask("GET /bkt/k");
    let [etag, date] = ["etag", "last-modified"].map(|name| read.header(name).unwrap().to_owned());
    let weak = format!("W/{etag}");
    for (given, status) in [(&etag, 206), (&weak, 200), (&date, 200), (&"\"other\"".to_owned(), 200)] {
        let lines = [("Range", "bytes=2-4"), ("If-Range", given.as_str())];
        let reply = c.send("GET /bkt/k", &lines, b"");
        let body = if status == 206 { "234" } else { "0123456789" };
        assert_eq!((reply.status, reply.text().as_str()), (status, body), "{given}");
    }
}

#[test]
fn conditions_are_met_or_refused() {
    let (_store, mut c) = with_bucket("");
    let etag = c.send("PUT /bkt/k", &[], b"one").header("etag").unwrap().to_owned();
    assert_eq!(c.send("GET /bkt/k", &[("If-None-Match", &etag)], b"").status, 304);
    assert_eq!(c.send("GET /bkt/k", &[("If-Match", "\"x\"")], b"").status, 412);
    assert_eq!(c.send("GET /bkt/k", &[("If-Match", &etag)], b"").status, 200);
    assert_eq!(c.send("PUT /bkt/k", &[("If-None-Match", "*")], b"two").tag("Code"), "PreconditionFailed");
    assert_eq!(c.send("PUT /bkt/new", &[("If-None-Match", "*")], b"two").status, 200);
    assert_eq!(c.ask("GET /bkt/k").text(), "one");
}

#[test]
fn listings_page_by_prefix_delimiter_and_token_in_both_versions() {
    let (_store, mut c) = with_bucket("");
    for key in ["a", "b/1", "b/2", "c/x/1", "c/y", "d%3C%26", "\u{e9}"] {
        let path: String = key
            .bytes()
            .map(|b| if b < 128 { (b as char).to_string() } else { format!("%{b:02X}") })
            .collect();
        assert_eq!(c.send(&format!("PUT /bkt/{path}"), &[], b"xy").status, 200);
    }
    let all = c.ask("GET /bkt?list-type=2");
    assert_eq!(all.tags("Key"), ["a", "b/1", "b/2", "c/x/1", "c/y", "d&lt;&amp;", "\u{e9}"]);
    assert_eq!(
        (all.tag("KeyCount"), all.tag("IsTruncated"), all.tag("Size")),
        ("7".into(), "false".into(), "2".into())
    );
    assert_eq!(c.ask("GET /bkt?list-type=2&prefix=c%2F").tags("Key"), ["c/x/1", "c/y"]);
    assert_eq!(c.ask("GET /bkt?list-type=2&start-after=b/1").tags("Key")[0], "b/2");
    assert_eq!(c.ask("GET /bkt?list-type=2&encoding-type=url&prefix=d").tags("Key"), ["d%3C%26"]);

    for (version, token_tag, token_name) in
        [("&list-type=2", "NextContinuationToken", "continuation-token"), ("", "NextMarker", "marker")]
    {
        let (mut rows, mut token, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let page = c.ask(&format!("GET /bkt?delimiter=/&max-keys=2{version}{token}"));
            rows.extend(page.tags("Key"));
            rows.extend(
                page.text()
                    .split("<CommonPrefixes><Prefix>")
                    .skip(1)
                    .map(|t| t.split('<').next().unwrap().to_owned()),
            );
            pages += 1;
            if page.tag("IsTruncated") == "false" {
                break;
            }
            let next = page.tag(token_tag).replace("&lt;", "%3C").replace("&amp;", "%26");
            token = format!("&{token_name}={next}");
        }
        // A page writes its prefixes behind its keys.
        rows.sort();
        assert_eq!(rows, ["a", "b/", "c/", "d&lt;&amp;", "\u{e9}"], "version {version}");
        assert_eq!(pages, 3);
    }
    assert_eq!(c.ask("GET /bkt?max-keys=x").tag("Code"), "InvalidArgument");
    assert_eq!(c.ask("GET /bkt?list-type=2&continuation-token=zz").tag("Code"), "InvalidArgument");
    let none = c.ask("GET /bkt?list-type=2&max-keys=0");
    assert_eq!((none.tag("KeyCount"), none.tag("IsTruncated")), ("0".into(), "false".into()));
    assert_eq!(c.ask("GET /other?list-type=2").tag("Code"), "NoSuchBucket");
}

#[test]
fn copies_share_content_and_keep_or_replace_metadata() {
    let (_store, mut c) = with_bucket("");
    c.send("PUT /bkt/src%20x", &[("x-amz-meta-a", "1")], b"content");
    let copy = c.send("PUT /bkt/dst", &[("x-amz-copy-source", "/bkt/src%20x")], b"");
    assert_eq!(copy.status, 200);
    let got = c.ask("GET /bkt/dst");
    assert_eq!((got.text().as_str(), got.header("x-amz-meta-a")), ("content", Some("1")));
    assert_eq!(format!("&quot;{}&quot;", got.header("etag").unwrap().trim_matches('"')), copy.tag("ETag"));
    let headers = [
        ("x-amz-copy-source", "bkt/src%20x"),
        ("x-amz-metadata-directive", "REPLACE"),
        ("x-amz-meta-b", "2"),
    ];
    c.send("PUT /bkt/dst", &headers, b"");
    let got = c.ask("HEAD /bkt/dst");
    assert_eq!((got.header("x-amz-meta-a"), got.header("x-amz-meta-b")), (None, Some("2")));
    assert_eq!(c.send("PUT /bkt/dst", &[("x-amz-copy-source", "/bkt/none")], b"").tag("Code"), "NoSuchKey");
    assert_eq!(
        c.send("PUT /bkt/dst", &[("x-amz-copy-source", "rubbish")], b"").tag("Code"),
        "InvalidArgument"
    );
}

#[test]
fn a_copy_is_made_only_where_its_source_meets_the_conditions() {
    let (_store, mut c) = with_bucket("");
    c.send("PUT /bkt/src", &[], b"content");
    let etag = c.ask("HEAD /bkt/src").header("etag").unwrap().to_owned();
    for (name, value, status) in [
        ("x-amz-copy-source-if-match", "\"other\"", 412),
        ("x-amz-copy-source-if-match", etag.as_str(), 200),
        ("x-amz-copy-source-if-none-match", etag.as_str(), 412),
        ("x-amz-copy-source-if-none-match", "\"other\"", 200),
    ] {
        let copy = c.send("PUT /bkt/dst", &[("x-amz-copy-source", "/bkt/src"), (name, value)], b"");
        assert_eq!(copy.status, status, "{name}: {value}");
    }
}

#[test]
fn a_multipart_upload_is_put_together_in_order_listed_and_aborted() {
    let (store, mut c) = with_bucket("");
    let start = c.send("POST /bkt/big?uploads", &[("Content-Type", "video/x")], b"");
    let id = start.tag("UploadId");
    let mut etags = Vec::new();
    for (number, size) in [(2, 70_000), (1, 50_000), (3, 10)] {
        let part = c.send(&format!("PUT /bkt/big?partNumber={number}&uploadId={id}"), &[], &pattern(size));
        etags.push((number, part.header("etag").unwrap().to_owned()));
    }
    etags.sort();
    assert_eq!(c.ask(&format!("GET /bkt/big?uploadId={id}")).tags("PartNumber"), ["1", "2", "3"]);
    let page = c.ask(&format!("GET /bkt/big?uploadId={id}&max-parts=2"));
    assert_eq!(
        (page.tags("PartNumber").len(), page.tag("IsTruncated"), page.tag("NextPartNumberMarker")),
        (2, "true".into(), "2".into())
    );
    assert_eq!(c.ask("GET /bkt?uploads").tags("UploadId"), [id.as_str()]);
    assert_eq!(c.ask("GET /bkt/big").status, 404);

    let document = |list: &[(i32, String)]| {
        let parts: String = list
            .iter()
            .map(|(n, e)| format!("<Part><PartNumber>{n}</PartNumber><ETag>{e}</ETag></Part>"))
            .collect();
        format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>").into_bytes()
    };
    let line = format!("POST /bkt/big?uploadId={id}");
    let mut wrong = etags.clone();
    wrong[1].1 = "\"nope\"".to_owned();
    assert_eq!(c.send(&line, &[], &document(&wrong)).tag("Code"), "InvalidPart");
    let reversed: Vec<_> = etags.iter().rev().cloned().collect();
    assert_eq!(c.send(&line, &[], &document(&reversed)).tag("Code"), "InvalidPartOrder");
    assert_eq!(c.send(&line, &[], b"<Complete").tag("Code"), "MalformedXML");
    let done = c.send(&line, &[], &document(&etags));
    assert!(done.status == 200 && done.tag("ETag").contains("-3"), "{}", done.text());
    let got = c.ask("GET /bkt/big");
    assert_eq!(got.body, [pattern(50_000), pattern(70_000), pattern(10)].concat());
    assert_eq!(got.header("content-type"), Some("video/x"));
    let across = c.send("GET /bkt/big", &[("Range", "bytes=49990-50009")], b"");
    assert_eq!(across.body, [&pattern(50_000)[49_990..], &pattern(70_000)[..10]].concat());
    assert_eq!(c.send(&line, &[], &document(&etags)).tag("Code"), "NoSuchUpload");

    let before = store.counters().unwrap().stored_bytes;
    let id = c.ask("POST /bkt/gone?uploads").tag("UploadId");
    c.send(&format!("PUT /bkt/gone?partNumber=1&uploadId={id}"), &[], &pattern(9000));
    let copied = c.send(
        &format!("PUT /bkt/gone?partNumber=2&uploadId={id}"),
        &[("x-amz-copy-source", "/bkt/big"), ("x-amz-copy-source-range", "bytes=0-9")],
        b"",
    );
    assert!(copied.text().contains("CopyPartResult"));
    // Of 120010 bytes: what is not within the source is refused, and not cut.
    for range in ["bytes=120000-120010", "bytes=120010-120019", "bytes=5-4", "bytes=5-", "bytes=-5", "0-9"] {
        let refused = c.send(
            &format!("PUT /bkt/gone?partNumber=3&uploadId={id}"),
            &[("x-amz-copy-source", "/bkt/big"), ("x-amz-copy-source-range", range)],
            b"",
        );
        assert_eq!((refused.status, refused.tag("Code").as_str()), (416, "InvalidRange"), "{range}");
    }
    assert!(store.counters().unwrap().stored_bytes > before + 9000);
    assert_eq!(c.ask(&format!("DELETE /bkt/gone?uploadId={id}")).status, 204);
    assert_eq!(store.counters().unwrap().stored_bytes, before);
    assert_eq!(c.ask(&format!("DELETE /bkt/gone?uploadId={id}")).tag("Code"), "NoSuchUpload");
    assert_eq!(c.ask("PUT /bkt/gone?partNumber=0&uploadId=x").tag("Code"), "InvalidArgument");
}

#[test]
fn many_objects_are_deleted_with_one_request() {
    let (store, mut c) = with_bucket("");
    for key in ["a", "b&c", "d"] {
        c.send(&format!("PUT /bkt/{key}"), &[], b"x");
    }
    let text = b"<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Object><Key>a</Key></Object><Object><Key>b&amp;c</Key></Object></Delete>";
    let reply = c.send("POST /bkt?delete", &[], text);
    assert_eq!(reply.tags("Key"), ["a", "b&amp;c"]);
    assert_eq!(store.names("bkt").unwrap().unwrap(), ["d"]);
    let quiet =
        c.send("POST /bkt?delete", &[], b"<Delete><Quiet>true</Quiet><Object><Key>d</Key></Object></Delete>");
    assert!(quiet.tags("Key").is_empty());
    assert_eq!(store.names("bkt").unwrap().unwrap(), [""; 0]);
    assert_eq!(c.send("POST /bkt?delete", &[], b"rubbish").tag("Code"), "MalformedXML");
}

#[test]
fn aws_chunked_bodies_are_decoded_with_signatures_and_trailers() {
    let (_store, mut c) = with_bucket("");
    let body = b"5;chunk-signature=aa\r\nhello\r\n6;chunk-signature=bb\r\n world\r\n0;chunk-signature=cc\r\nx-amz-checksum-crc32:DUoRhQ==\r\nx-amz-trailer-signature:dd\r\n\r\n";
    let headers = [
        ("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"),
        ("x-amz-decoded-content-length", "11"),
        ("Content-Encoding", "aws-chunked,gzip"),
        ("x-amz-trailer", "x-amz-checksum-crc32"),
    ];
    let put = c.send("PUT /bkt/k", &headers, body);
    assert_eq!((put.status, put.header("x-amz-checksum-crc32")), (200, Some("DUoRhQ==")));
    let got = c.send("GET /bkt/k", &[("x-amz-checksum-mode", "ENABLED")], b"");
    assert_eq!((got.text().as_str(), got.header("x-amz-checksum-crc32")), ("hello world", Some("DUoRhQ==")));
    assert_eq!(got.header("content-encoding"), Some("gzip"));
    assert_eq!(c.ask("GET /bkt/k").header("x-amz-checksum-crc32"), None);

    let chunked = [headers[0], headers[1], ("Transfer-Encoding", "chunked")];
    let outer = [
        format!("{:x}\r\n", 20).as_bytes(),
        &body[..20],
        b"\r\n",
        format!("{:x}\r\n", body.len() - 20).as_bytes(),
        &body[20..],
        b"\r\n0\r\n\r\n",
    ]
    .concat();
    assert_eq!(c.send("PUT /bkt/k2", &chunked, &outer).status, 200);
    assert_eq!(c.ask("GET /bkt/k2").text(), "hello world");

    let wrong = [headers[0], ("x-amz-decoded-content-length", "12")];
    assert_eq!(c.send("PUT /bkt/k3", &wrong, body).tag("Code"), "IncompleteBody");
    assert_eq!(c.send("PUT /bkt/k3", &headers, &body[..30]).status, 400);
    assert_eq!(Client::new(_store.addr()).ask("GET /bkt/k3").status, 404);
}

#[test]
fn chunked_uploads_and_expect_continue_work() {
    let (_store, mut c) = with_bucket("");
    let put =
        c.send("PUT /bkt/k", &[("Transfer-Encoding", "chunked")], b"3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
    assert_eq!(put.status, 200);
    assert_eq!(c.ask("GET /bkt/k").text(), "abcdefg");
    c.raw(b"PUT /bkt/k HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(c.reply(false).status, 100);
    c.raw(b"xyz");
    assert_eq!(c.reply(false).status, 200);
    assert_eq!(c.ask("GET /bkt/k").text(), "xyz");
}

#[test]
fn unknown_access_keys_are_refused_only_when_keys_are_given() {
    let (_open, mut c) = with_bucket("");
    let signed =
        "AWS4-HMAC-SHA256 Credential=WHO/20200101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
    assert_eq!(c.send("GET /bkt", &[("Authorization", signed)], b"").status, 200);
    let closed = store("keys: {GOOD: secret}");
    let mut c = Client::new(closed.addr());
    let v4 = |key: &str| signed.replace("WHO", key);
    for (headers, target, code) in [
        (vec![("Authorization", v4("GOOD"))], "/", None),
        (vec![("Authorization", "AWS GOOD:sig".to_owned())], "/", None),
        (vec![], "/?X-Amz-Credential=GOOD%2F2020%2Fr%2Fs3%2Faws4_request", None),
        (vec![], "/?AWSAccessKeyId=GOOD&Signature=x", None),
        (vec![("Authorization", v4("BAD"))], "/", Some("InvalidAccessKeyId")),
        (vec![("Authorization", "AWS BAD:sig".to_owned())], "/", Some("InvalidAccessKeyId")),
        (vec![], "/", Some("AccessDenied")),
    ] {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let reply = c.send(&format!("GET {target}"), &headers, b"");
        match code {
            None => assert_eq!(reply.status, 200, "{target} {headers:?}"),
            Some(code) => assert_eq!((reply.status, reply.tag("Code").as_str()), (403, code), "{headers:?}"),
        }
    }
}

#[test]
fn md5_etags_are_md5_and_content_md5_is_verified() {
    let (_store, mut c) = with_bucket("etag: md5");
    let put = c.send("PUT /bkt/k", &[("Content-MD5", "XUFAKrxLKna5cZ2REBfFkg==")], b"hello");
    assert_eq!((put.status, put.header("etag")), (200, Some("\"5d41402abc4b2a76b9719d911017c592\"")));
    let bad = c.send("PUT /bkt/k", &[("Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==")], b"hello");
    assert_eq!(bad.tag("Code"), "BadDigest");
    let id = c.ask("POST /bkt/m?uploads").tag("UploadId");
    let etag = c
        .send(&format!("PUT /bkt/m?partNumber=1&uploadId={id}"), &[], b"hello")
        .header("etag")
        .unwrap()
        .to_owned();
    let text = format!("<C><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part></C>");
    let done = c.send(&format!("POST /bkt/m?uploadId={id}"), &[], text.as_bytes());
    // The MD5 of the binary MD5s of the parts, and their number.
    assert_eq!(done.tag("ETag"), format!("&quot;{}-1&quot;", md5_of_md5()));
}

/// md5(unhex("5d41402abc4b2a76b9719d911017c592")), by the same crate but along another path.
fn md5_of_md5() -> String {
    use md5::{Digest as _, Md5};
    HEXLOWER.encode(Md5::digest(Md5::digest(b"hello")).as_ref())
}

#[test]
fn cheap_etags_are_unique_to_each_version() {
    let (_store, mut c) = with_bucket("version_header: true");
    let mut seen = std::collections::HashSet::new();
    for n in 1..=100 {
        let put = c.send("PUT /bkt/k", &[], b"same");
        assert!(seen.insert(put.header("etag").unwrap().to_owned()));
        assert_eq!(put.header("x-simstore-version").unwrap(), n.to_string());
        assert_eq!(c.ask("GET /bkt/k").header("x-simstore-version").unwrap(), n.to_string());
    }
}

#[test]
fn headers_mode_keeps_lengths_and_gives_the_fixed_pattern() {
    let (store, mut c) = with_bucket("store: {mode: headers}");
    let mut body = pattern(300_000);
    assert_eq!(c.send("PUT /bkt/k", &[("x-amz-checksum-crc32", "AAAA")], &body).status, 200);
    body.truncate(7);
    assert_eq!(
        c.send("PUT /bkt/chunked", &[("Transfer-Encoding", "chunked")], b"3\r\nabc\r\n0\r\n\r\n").status,
        200
    );
    let got = c.send("GET /bkt/k", &[("x-amz-checksum-mode", "ENABLED")], b"");
    assert_eq!((got.body.len(), got.header("x-amz-checksum-crc32")), (300_000, None));
    assert!(got.body.iter().zip(0..).all(|(byte, place)| *byte == cosmark_simstore::pattern_byte(place)));
    let part = c.send("GET /bkt/k", &[("Range", "bytes=1000-1009")], b"");
    assert_eq!(part.body, got.body[1000..1010]);
    assert_eq!(c.ask("HEAD /bkt/chunked").header("content-length"), Some("3"));
    assert!(store.counters().unwrap().stored_bytes < 3000);
    let id = c.ask("POST /bkt/m?uploads").tag("UploadId");
    let etag = c
        .send(&format!("PUT /bkt/m?partNumber=1&uploadId={id}"), &[], &pattern(1000))
        .header("etag")
        .unwrap()
        .to_owned();
    let text = format!("<C><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part></C>");
    assert_eq!(c.send(&format!("POST /bkt/m?uploadId={id}"), &[], text.as_bytes()).status, 200);
    assert_eq!(c.ask("GET /bkt/m").body, got.body[..1000]);
}

#[test]
fn null_mode_answers_everything_and_stores_nothing() {
    let store = store("store: {mode: 'null', null_bytes: 5000}");
    let mut c = Client::new(store.addr());
    for line in [
        "PUT /any",
        "PUT /any/key",
        "DELETE /any/key",
        "HEAD /any/key",
        "GET /any?list-type=2",
        "DELETE /any",
    ] {
        assert!(
            c.send(line, &[], if line == "PUT /any/key" { &[7; 100_000] } else { b"" }).status < 300,
            "{line}"
        );
    }
    for key in ["a", "b"] {
        let got = c.ask(&format!("GET /any/{key}"));
        assert_eq!((got.status, got.body.len()), (200, 5000));
    }
    assert_eq!(c.send("GET /any/a", &[("Range", "bytes=10-19")], b"").body.len(), 10);
    let counters = store.counters().unwrap();
    assert_eq!((counters.objects, counters.stored_bytes), (0, 0));
}

#[test]
fn memory_is_bounded_and_given_back() {
    let (store, mut c) = with_bucket("store: {max_total_bytes: 1000000, max_object_bytes: 600000}");
    let empty = store.counters().unwrap().stored_bytes;
    assert_eq!(c.send("PUT /bkt/huge", &[], &pattern(600_001)).tag("Code"), "EntityTooLarge");
    assert_eq!(c.send("PUT /bkt/a", &[], &pattern(600_000)).status, 200);
    assert_eq!(c.send("PUT /bkt/b", &[], &pattern(600_000)).status, 507);
    let chunked =
        [format!("{:x}\r\n", 600_000).into_bytes(), pattern(600_000), b"\r\n0\r\n\r\n".to_vec()].concat();
    assert_eq!(c.send("PUT /bkt/b", &[("Transfer-Encoding", "chunked")], &chunked).status, 507);
    assert_eq!(c.ask("DELETE /bkt/a").status, 204);
    assert_eq!(store.counters().unwrap().stored_bytes, empty);
    assert_eq!(c.send("PUT /bkt/b", &[], &pattern(600_000)).status, 200);
}

#[test]
fn sub_resources_that_are_not_served_say_so() {
    let (_store, mut c) = with_bucket("");
    assert!(c.ask("GET /bkt?location").text().contains("LocationConstraint"));
    assert!(c.ask("GET /bkt?versioning").text().contains("VersioningConfiguration"));
    for line in ["GET /bkt?acl", "PUT /bkt?policy", "GET /bkt/k?tagging", "PATCH /bkt/k", "POST /bkt"] {
        assert_eq!(c.ask(line).status, 501, "{line}");
    }
    assert_eq!(c.ask("GET /bkt/%ff").tag("Code"), "InvalidURI");
    assert_eq!(c.send(&format!("PUT /bkt/{}", "k".repeat(1025)), &[], b"").tag("Code"), "KeyTooLongError");
}
