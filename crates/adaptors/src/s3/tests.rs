//! The adaptor against scripted servers: what it asks, and what it makes of the answers.

use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{
    Adaptor, AwsKeys, ByteRange, BytesSource, Client, CollectSink, Error, ErrorKind, ListRequest, Marks,
    MultipartPlan, ObjectName, PutOptions, Result, Secret, Session, Settings,
};

use super::DEF;
use crate::scripted::{Script, Scripted, serve, serve_with};

const NAME: ObjectName<'static> = ObjectName { container: "my-bucket", object: "dir/an object" };

type Entries<'a> = &'a [(&'a str, &'a str)];

fn open(entries: Entries<'_>) -> Result<Arc<dyn Adaptor>> {
    let (settings, problems) = Settings::parse(DEF.keys, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    (DEF.open)(&settings)
}

fn client_at(url: &str, more: Entries<'_>) -> Box<dyn Client> {
    let base = [("endpoint", url), ("accesskey", "AKID"), ("secretkey", "hunter2")];
    open(&[&base[..], more].concat()).unwrap().client(&Arc::new(Session::default())).unwrap()
}

fn client(server: &Scripted, more: Entries<'_>) -> Box<dyn Client> {
    client_at(&server.url(""), more)
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn error_body(code: &str) -> String {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>told so</Message></Error>")
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Get,
    GetRange,
    Put,
    PutChunked,
    Delete,
    Head,
    List,
    Create,
    Drop,
    Probe,
}

async fn call(op: Op, client: &mut dyn Client, marks: &mut Marks) -> Result<u64> {
    let source = BytesSource(b"content");
    match op {
        Op::Get => client.get(NAME, None, None, marks).await.map(|read| read.bytes),
        Op::GetRange => {
            let range = ByteRange { first: 10, last: 16 };
            client.get(NAME, Some(range), None, marks).await.map(|read| read.bytes)
        }
        Op::Put => client.put(NAME, &source, PutOptions::default(), marks).await.map(|put| put.bytes),
        Op::PutChunked => {
            client.put(NAME, &source, PutOptions { chunked: true }, marks).await.map(|put| put.bytes)
        }
        Op::Delete => client.delete(NAME, marks).await.map(|()| 0),
        Op::Head => client.head(NAME, marks).await.map(Option::unwrap_or_default),
        Op::List => {
            let request = ListRequest { container: NAME.container, ..ListRequest::default() };
            client.list(request, marks).await.map(|page| page.count)
        }
        Op::Create => client.create_container(NAME.container, marks).await.map(|()| 0),
        Op::Drop => client.delete_container(NAME.container, marks).await.map(|()| 0),
        Op::Probe => client.probe(marks).await.map(|()| 0),
    }
}

/// The one request that `op` sends with these settings.
fn request_of(op: Op, settings: Entries<'_>) -> String {
    let server = serve(vec![Script::status("200 OK", "", "<ListBucketResult/>")]);
    let mut client = client(&server, settings);
    let _ = run(call(op, client.as_mut(), &mut Marks::default()));
    server.requests().pop().unwrap()
}

#[test]
fn requests_are_what_the_settings_say() {
    let scope = "/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=";
    let class = "host;x-amz-content-sha256;x-amz-date;x-amz-storage-class";
    let cases: &[(Op, Entries<'_>, &[&str])] = &[
        (
            Op::Get,
            &[],
            &[
                "GET /my-bucket/dir/an%20object HTTP/1.1\r\nHost: 127.0.0.1:",
                "x-amz-content-sha256: UNSIGNED-PAYLOAD\r\n",
                scope,
            ],
        ),
        (Op::Get, &[("payload", "signed")], &["x-amz-content-sha256: e3b0c44298fc1c14"]),
        (Op::Get, &[("region", "eu-west-3")], &["/eu-west-3/s3/aws4_request"]),
        (Op::Get, &[("session_token", "tok")], &["x-amz-security-token: tok\r\n", ";x-amz-security-token, "]),
        (Op::Get, &[("signature", "v2")], &["Date: ", " GMT\r\n", "Authorization: AWS AKID:"]),
        (Op::GetRange, &[], &["Range: bytes=10-16\r\n"]),
        (Op::Get, &[("namespace", "ns1")], &["x-emc-namespace: ns1\r\n", ";x-emc-namespace, "]),
        (
            Op::Put,
            &[],
            &[
                "PUT /my-bucket/dir/an%20object",
                "Content-Length: 7\r\n",
                "UNSIGNED-PAYLOAD",
                "\r\n\r\ncontent",
            ],
        ),
        (
            Op::Put,
            &[("payload", "signed")],
            &["x-amz-content-sha256: ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73\r\n"],
        ),
        (Op::Put, &[("storage_class", "COLD")], &["x-amz-storage-class: COLD\r\n", class]),
        (
            Op::Put,
            &[("checksum", "crc32c")],
            &["x-amz-checksum-crc32c: Ya91Mw==\r\n", "host;x-amz-checksum-crc32c;"],
        ),
        (
            Op::Put,
            &[("payload", "streaming-trailer")],
            &[
                "Content-Encoding: aws-chunked\r\n",
                "x-amz-decoded-content-length: 7\r\n",
                "x-amz-trailer: x-amz-checksum-crc32\r\n",
                "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
                "\r\n\r\n7\r\ncontent\r\n0\r\nx-amz-checksum-crc32:",
            ],
        ),
        (
            Op::PutChunked,
            &[],
            &[
                "STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n",
                "x-amz-decoded-content-length: 7\r\n",
                "\r\n\r\n7;chunk-signature=",
            ],
        ),
        (
            Op::PutChunked,
            &[("signature", "none")],
            &["Transfer-Encoding: chunked\r\n", "\r\n\r\n7\r\ncontent\r\n0\r\n\r\n"],
        ),
        (Op::List, &[], &["GET /my-bucket?list-type=2 HTTP/1.1\r\n"]),
        (Op::List, &[("list_version", "1")], &["GET /my-bucket HTTP/1.1\r\n"]),
        (Op::Create, &[], &["PUT /my-bucket HTTP/1.1\r\n", "Content-Length: 0\r\n"]),
        (Op::Create, &[("region", "eu-west-3")], &["<LocationConstraint>eu-west-3</LocationConstraint>"]),
        (Op::Delete, &[], &["DELETE /my-bucket/dir/an%20object "]),
        (Op::Drop, &[], &["DELETE /my-bucket HTTP"]),
        (Op::Head, &[], &["HEAD /my-bucket/dir/an%20object "]),
        (Op::Probe, &[], &["GET / HTTP/1.1\r\n"]),
    ];
    for (op, settings, words) in cases {
        let request = request_of(*op, settings);
        for part in *words {
            assert!(request.contains(part), "{op:?} {settings:?}: no {part:?} in\n{request}");
        }
        assert!(!request.contains("hunter2"));
    }
    assert!(!request_of(Op::Get, &[("signature", "none")]).contains("Authorization"));
}

#[test]
fn the_bucket_stands_in_the_host_name_where_it_can() {
    let server = serve_with(|_| Script::status("200 OK", "", ""));
    let port = server.url("").rsplit(':').next().unwrap().to_owned();
    let url = format!("http://localhost:{port}/base");
    run(async {
        let mut client = client_at(&url, &[("path_style_access", "false")]);
        for container in ["my-bucket", "other", "Not.DNS"] {
            let name = ObjectName { container, ..NAME };
            client.get(name, None, None, &mut Marks::default()).await.unwrap();
        }
        client.probe(&mut Marks::default()).await.unwrap();
    });
    let starts: Vec<String> =
        server.requests().iter().map(|text| text.lines().take(2).collect::<Vec<_>>().join("|")).collect();
    assert_eq!(
        starts,
        [
            format!("GET /base/dir/an%20object HTTP/1.1|Host: my-bucket.localhost:{port}"),
            format!("GET /base/dir/an%20object HTTP/1.1|Host: other.localhost:{port}"),
            format!("GET /base/Not.DNS/dir/an%20object HTTP/1.1|Host: localhost:{port}"),
            format!("GET /base/ HTTP/1.1|Host: localhost:{port}"),
        ]
    );
}

#[test]
fn each_answer_is_taken_for_what_it_means() {
    use ErrorKind::{Denied, Protocol, Status, WrongRange};
    let no_key = error_body("NoSuchKey");
    let no_bucket = error_body("NoSuchBucket");
    let bad = |code: &str| error_body(code);
    let cases: Vec<(Op, &str, String, std::result::Result<u64, ErrorKind>)> = vec![
        (Op::Get, "200 OK", "12345".into(), Ok(5)),
        (Op::Get, "206 Partial", "12345".into(), Err(WrongRange)),
        (Op::Get, "404 No", no_key.clone(), Err(Status(404))),
        (Op::Get, "503 Slow", bad("SlowDown"), Err(Status(503))),
        (Op::Get, "307 Elsewhere", bad("TemporaryRedirect"), Err(Status(307))),
        (Op::GetRange, "206 Partial\r\nContent-Range: bytes 10-16/99", "1234567".into(), Ok(7)),
        (Op::GetRange, "206 Partial\r\nContent-Range: bytes 10-16/*", "1234567".into(), Ok(7)),
        (Op::GetRange, "206 Partial\r\nContent-Range: bytes 10-12/13", "123".into(), Ok(3)),
        (Op::GetRange, "206 Partial\r\nContent-Range: bytes 10-12/99", "123".into(), Err(WrongRange)),
        (Op::GetRange, "206 Partial\r\nContent-Range: bytes 0-6/99", "1234567".into(), Err(WrongRange)),
        (Op::GetRange, "206 Partial\r\nContent-Range: bytes 10-16/99", "12345678".into(), Err(WrongRange)),
        (Op::GetRange, "206 Partial", "1234567".into(), Err(WrongRange)),
        (Op::GetRange, "200 OK", "1234567".into(), Err(WrongRange)),
        (Op::Put, "200 OK", bad("InternalError"), Err(Status(500))),
        (Op::Put, "200 OK", String::new(), Ok(7)),
        (Op::Put, "400 Bad", bad("BadDigest"), Err(Status(400))),
        (Op::Delete, "204 Gone", String::new(), Ok(0)),
        (Op::Delete, "200 OK", String::new(), Ok(0)),
        (Op::Delete, "200 OK", bad("InternalError"), Err(Status(500))),
        (Op::Delete, "404 No", no_key, Ok(0)),
        (Op::Delete, "404 No", no_bucket.clone(), Err(Status(404))),
        (Op::Delete, "403 No", bad("AccessDenied"), Err(Status(403))),
        (Op::List, "200 OK", "<ListBucketResult><Key>a</Key><Key>b</Key></ListBucketResult>".into(), Ok(2)),
        (Op::List, "200 OK", "<html/>".into(), Err(Protocol)),
        (Op::List, "404 No", no_bucket.clone(), Err(Status(404))),
        (Op::Create, "200 OK", bad("InternalError"), Err(Status(500))),
        (Op::Create, "409 Is", bad("BucketAlreadyOwnedByYou"), Ok(0)),
        (Op::Create, "409 Is", bad("BucketAlreadyExists"), Err(Status(409))),
        (Op::Drop, "404 No", no_bucket, Ok(0)),
        (Op::Drop, "200 OK", bad("InternalError"), Err(Status(500))),
        (Op::Drop, "409 Full", bad("BucketNotEmpty"), Err(Status(409))),
        (Op::Probe, "200 OK", "<ListAllMyBucketsResult/>".into(), Ok(0)),
        (Op::Probe, "403 No", bad("AccessDenied"), Ok(0)),
        (Op::Probe, "405 No", bad("MethodNotAllowed"), Ok(0)),
        (Op::Probe, "403 No", bad("InvalidAccessKeyId"), Err(Denied)),
        (Op::Probe, "403 No", bad("SignatureDoesNotMatch"), Err(Denied)),
        (Op::Probe, "403 No", bad("RequestTimeTooSkewed"), Err(Denied)),
        (Op::Probe, "403 No", "a proxy's page".into(), Err(Status(403))),
        (Op::Probe, "503 Busy", String::new(), Err(Status(503))),
    ];
    for (op, status, body, expected) in cases {
        let server = serve(vec![Script::status(status, "", &body), Script::status("200 OK", "", "after")]);
        let mut client = client(&server, &[]);
        let (result, after) = run(async {
            let result = call(op, client.as_mut(), &mut Marks::default()).await;
            (result, call(Op::Get, client.as_mut(), &mut Marks::default()).await)
        });
        assert_eq!(
            result.as_ref().map_err(Error::kind).copied(),
            expected,
            "{op:?} {status} {body}: {result:?}"
        );
        assert_eq!(after.unwrap(), 5, "{op:?} {status}: the connection is not usable");
    }
}

#[test]
fn what_changes_an_object_is_no_success_where_the_body_tells_an_error() {
    let late = || Script::status("200 OK", "", &error_body("InternalError"));
    let server = serve(vec![late(), late(), Script::status("200 OK", "", "")]);
    let mut client = client(&server, &[]);
    run(async {
        let mut marks = Marks::default();
        let tagged = client.set_metadata(NAME, "k", "v", &mut marks).await.unwrap_err();
        let restored = client.restore(NAME, &mut marks).await.unwrap_err();
        for error in [tagged, restored] {
            assert_eq!((error.kind(), error.code()), (ErrorKind::Status(500), Some("InternalError")));
        }
        client.set_metadata(NAME, "k", "v", &mut marks).await.unwrap();
    });
}

#[test]
fn a_head_without_a_body_still_tells_what_is_missing() {
    let server = serve(vec![Script::head("404 Not Found", 200), Script::head("200 OK", 12_345)]);
    let mut client = client(&server, &[]);
    run(async {
        let error = client.head(NAME, &mut Marks::default()).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Status(404), Some("NoSuchKey")));
        assert!(error.message().contains("dir/an object"), "{error}");
        assert_eq!(client.head(NAME, &mut Marks::default()).await.unwrap(), Some(12_345));
    });
}

#[test]
fn a_foreign_bucket_is_used_only_when_allowed() {
    for (value, allowed) in [("false", false), ("true", true)] {
        let server = serve(vec![Script::status("409 Conflict", "", &error_body("BucketAlreadyExists"))]);
        let mut client = client(&server, &[("bucket_exists_ok", value)]);
        let result = run(client.create_container("b-1", &mut Marks::default()));
        assert_eq!(result.is_ok(), allowed);
        if let Err(error) = result {
            assert!(error.hint().is_some_and(|hint| hint.contains("bucket_exists_ok")), "{error}");
        }
    }
}

#[test]
fn pages_are_asked_for_by_token_or_by_name() {
    let page = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t/1=</NextContinuationToken>\
                <Key>a</Key></ListBucketResult>";
    for (version, second, third) in [
        (
            "2",
            "?continuation-token=t%2F1%3D&list-type=2&max-keys=7&prefix=p%26",
            "?list-type=2&max-keys=7&prefix=p%26&start-after=n",
        ),
        ("1", "?marker=a&max-keys=7&prefix=p%26", "?marker=n&max-keys=7&prefix=p%26"),
    ] {
        let server = serve_with(|_| Script::status("200 OK", "", page));
        let mut client = client(&server, &[("list_version", version)]);
        run(async {
            let base =
                ListRequest { container: "b-1", prefix: "p&", page_size: Some(7), ..ListRequest::default() };
            let first = client.list(base, &mut Marks::default()).await.unwrap();
            let request = ListRequest { after: first.next.as_deref(), ..base };
            client.list(request, &mut Marks::default()).await.unwrap();
            client.list(ListRequest { after: Some("n"), ..base }, &mut Marks::default()).await.unwrap();
        });
        let requests = server.requests();
        assert!(requests[1].starts_with(&format!("GET /b-1{second} ")), "{}", requests[1]);
        assert!(requests[2].starts_with(&format!("GET /b-1{third} ")), "{}", requests[2]);
    }
}

#[test]
fn workers_use_the_endpoints_in_turn() {
    let servers = [(); 2].map(|()| serve_with(|_| Script::status("200 OK", "", "x")));
    let list = format!("{},{}", servers[0].url(""), servers[1].url(""));
    let adaptor = open(&[("endpoint", list.as_str()), ("signature", "none")]).unwrap();
    run(async {
        for _ in 0..6 {
            let mut client = adaptor.client(&Arc::default()).unwrap();
            client.get(NAME, None, None, &mut Marks::default()).await.unwrap();
        }
    });
    assert_eq!(servers.map(|server| server.requests().len()), [3, 3]);
}

#[test]
fn requests_go_round_the_endpoints_or_to_the_least_busy_one() {
    for (choice, expected) in [("round-robin", [3, 3]), ("least-busy", [3, 3]), ("sticky", [6, 0])] {
        let servers = [(); 2].map(|()| serve_with(|_| Script::status("200 OK", "", "x")));
        let list = format!("{},{}", servers[0].url(""), servers[1].url(""));
        let adaptor =
            open(&[("endpoint", list.as_str()), ("signature", "none"), ("endpoint_choice", choice)]).unwrap();
        let endpoints: Vec<u16> = run(async {
            let mut client = adaptor.client(&Arc::default()).unwrap();
            let mut endpoints = Vec::new();
            for _ in 0..6 {
                let mut marks = Marks::default();
                client.get(NAME, None, None, &mut marks).await.unwrap();
                endpoints.push(marks.endpoint);
            }
            endpoints
        });
        assert_eq!(servers.map(|server| server.requests().len()), expected, "{choice}");
        assert_eq!(
            endpoints.iter().filter(|number| **number == endpoints[0]).count(),
            expected[0].max(expected[1])
        );
    }
}

#[test]
fn a_renewed_session_signs_the_next_request() {
    let server = serve_with(|_| Script::status("200 OK", "", "x"));
    let mut client = client(&server, &[]);
    let keys = AwsKeys {
        access_key: "NEWKEY".into(),
        secret_key: Secret::new("s"),
        session_token: Some(Secret::new("newtoken")),
    };
    run(async {
        client.get(NAME, None, None, &mut Marks::default()).await.unwrap();
        client.set_session(&Arc::new(Session { aws: Some(keys), ..Session::default() }));
        client.get(NAME, None, None, &mut Marks::default()).await.unwrap();
    });
    let requests = server.requests();
    assert!(requests[0].contains("Credential=AKID/") && !requests[0].contains("newtoken"));
    assert!(
        requests[1].contains("Credential=NEWKEY/") && requests[1].contains("x-amz-security-token: newtoken")
    );
}

#[test]
fn names_that_would_ask_for_something_else_are_refused() {
    let mut client = client_at("http://127.0.0.1:9", &[]);
    run(async {
        for name in [
            ObjectName { container: "b", object: "" },
            ObjectName { container: "", object: "o" },
            ObjectName { container: "..", object: "o" },
        ] {
            let error = client.delete(name, &mut Marks::default()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{name:?}");
        }
        assert_eq!(
            client.delete_container("", &mut Marks::default()).await.unwrap_err().kind(),
            ErrorKind::Config
        );
    });
}

#[test]
fn line_ends_in_names_and_keys_make_no_second_header_line() {
    let server = serve_with(|_| Script::status("200 OK", "", ""));
    let mut client = client(&server, &[]);
    let name = ObjectName { container: "b-1", object: "x HTTP/1.1\r\nEvil: 1\r\n\r\n" };
    run(client.get(name, None, None, &mut Marks::default())).unwrap();
    assert!(
        server.requests()[0]
            .starts_with("GET /b-1/x%20HTTP/1.1%0D%0AEvil%3A%201%0D%0A%0D%0A HTTP/1.1\r\nHost")
    );
    let bad = open(&[("accesskey", "A\nEvil: 1"), ("secretkey", "s")]).unwrap();
    assert_eq!(bad.client(&Arc::default()).err().map(|error| error.kind()), Some(ErrorKind::Config));
}

/// Answers an upload in parts; `tweak` may answer a request otherwise.
fn upload_server(tweak: impl Fn(&str) -> Option<Script> + Send + Sync + 'static) -> Scripted {
    serve_with(move |request| {
        if let Some(script) = tweak(request) {
            return script;
        }
        let line = request.lines().next().unwrap_or_default();
        if line.starts_with("POST") && line.contains("?uploads") {
            Script::status("200 OK", "", "<R><UploadId>id&amp;1</UploadId></R>")
        } else if let Some((_, number)) = line.split_once("partNumber=") {
            let number: String = number.chars().take_while(char::is_ascii_digit).collect();
            Script::status("200 OK", &format!("ETag: \"tag{number}\"\r\n"), "")
        } else if line.starts_with("DELETE") {
            Script::status("204 Gone", "", "")
        } else {
            Script::status("200 OK", "", "<CompleteMultipartUploadResult/>")
        }
    })
}

const PLAN: MultipartPlan = MultipartPlan { part_size_bytes: 10, concurrency: 3 };

#[test]
fn parts_are_sent_side_by_side_and_joined_in_order() {
    let server = upload_server(|_| None);
    let mut client = client(&server, &[("storage_class", "COLD")]);
    let content: Vec<u8> = (b'a'..=b'z').collect();
    let mut marks = Marks::default();
    for round in 1..=2 {
        let outcome = run(client.put_multipart(NAME, &BytesSource(&content), PLAN, &mut marks)).unwrap();
        assert_eq!((outcome.bytes, marks.body_bytes, marks.requests), (26, 26 * round, 5 * round as u32));
        client = self::client(&server, &[("storage_class", "COLD")]);
    }
    let requests = server.requests();
    assert!(requests[0].starts_with("POST /my-bucket/dir/an%20object?uploads= "));
    assert!(requests[0].contains("x-amz-storage-class: COLD"));
    let mut parts: Vec<_> =
        requests[1..4].iter().map(|text| text.rsplit("\r\n\r\n").next().unwrap()).collect();
    parts.sort_unstable();
    assert_eq!(parts, ["abcdefghij", "klmnopqrst", "uvwxyz"]);
    assert!(requests[1].contains("&uploadId=id%261 ") && !requests[1].contains("storage-class"));
    let part = |n: u32| format!("<Part><PartNumber>{n}</PartNumber><ETag>&quot;tag{n}&quot;</ETag></Part>");
    assert!(requests[4].contains(&[part(1), part(2), part(3)].concat()), "{}", requests[4]);
}

#[test]
fn all_parts_of_an_upload_go_to_the_endpoint_whose_turn_it_is_and_are_signed_with_the_newest_keys() {
    for choice in ["round-robin", "least-busy"] {
        let servers = [(); 2].map(|()| upload_server(|_| None));
        let list = format!("{},{}", servers[0].url(""), servers[1].url(""));
        let mut client = client_at(&list, &[("endpoint_choice", choice)]);
        let keys = AwsKeys { access_key: "NEWKEY".into(), secret_key: Secret::new("s"), session_token: None };
        run(async {
            for upload in 0..6 {
                if upload == 4 {
                    let keys = Some(keys.clone());
                    client.set_session(&Arc::new(Session { aws: keys, ..Session::default() }));
                }
                let body = BytesSource(&[b'x'; 30]);
                client.put_multipart(NAME, &body, PLAN, &mut Marks::default()).await.unwrap();
            }
        });
        for server in servers {
            let requests = server.requests();
            let parts = |key: &str| {
                let of_key = |text: &&String| text.contains("partNumber=") && text.contains(key);
                requests.iter().filter(of_key).count()
            };
            // Two uploads with the first keys, one with the others.
            assert_eq!((requests.len(), parts("=AKID/"), parts("=NEWKEY/")), (15, 6, 3), "{choice}");
        }
    }
}

#[test]
fn a_failed_part_gives_the_upload_up_and_is_the_error() {
    let busy = |request: &str| {
        request.contains("partNumber=2").then(|| Script::status("503 Busy", "", &error_body("SlowDown")))
    };
    let server = upload_server(busy);
    let mut client = client(&server, &[]);
    let error =
        run(client.put_multipart(NAME, &BytesSource(&[b'x'; 100]), PLAN, &mut Marks::default())).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Status(503), Some("SlowDown")));
    let last = server.requests().pop().unwrap();
    assert!(last.starts_with("DELETE /my-bucket/dir/an%20object?uploadId=id%261 "), "{last}");
}

#[test]
fn a_part_without_a_name_fails_the_upload() {
    for etag in ["", "ETag: \r\n", "ETag: \"\"\r\n"] {
        let nameless =
            |request: &str| request.contains("partNumber=2").then(|| Script::status("200 OK", etag, ""));
        let server = upload_server(nameless);
        let mut client = client(&server, &[]);
        let sent = run(client.put_multipart(NAME, &BytesSource(&[b'x'; 30]), PLAN, &mut Marks::default()));
        let error = sent.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{etag:?}: {error}");
        assert!(server.requests().pop().unwrap().starts_with("DELETE "), "{etag:?}");
    }
}

#[test]
fn a_completion_that_fails_behind_status_200_is_an_error() {
    let late = |request: &str| {
        let completes = request.starts_with("POST") && request.contains("uploadId=");
        completes.then(|| Script::status("200 OK", "", &error_body("InternalError")))
    };
    let server = upload_server(late);
    let mut client = client(&server, &[]);
    let error =
        run(client.put_multipart(NAME, &BytesSource(&[b'x'; 20]), PLAN, &mut Marks::default())).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Status(500), Some("InternalError")));
    assert!(server.requests().pop().unwrap().starts_with("DELETE "));
}

#[test]
fn an_upload_that_was_dropped_is_given_up_by_the_next_one() {
    let (comes, came) = std::sync::mpsc::sync_channel(1);
    let (drops, dropped) = std::sync::mpsc::sync_channel(1);
    let dropped = std::sync::Mutex::new(dropped);
    let slow = move |request: &str| {
        if request.contains("partNumber=1&") && !request.contains("second") {
            let _ = dropped.lock().unwrap().recv();
        } else if request.contains("partNumber=4&") && !request.contains("second") {
            comes.send(()).unwrap();
        }
        None
    };
    let server = upload_server(slow);
    let mut client = client(&server, &[]);
    run(async {
        let (source, mut marks) = (BytesSource(&[b'x'; 40]), Marks::default());
        let mut call = client.put_multipart(NAME, &source, PLAN, &mut marks);
        // Until the last part is with the server: others have ended, and the first one has no answer yet.
        while came.try_recv().is_err() {
            assert!(tokio::time::timeout(Duration::from_millis(5), &mut call).await.is_err());
        }
        drop(call);
        drops.send(()).unwrap();
        // Also what was under way: the beginning of the upload, and four parts.
        assert_eq!((marks.requests, marks.body_bytes), (5, 40), "{marks:?}");
        let name = ObjectName { object: "second", ..NAME };
        client.put_multipart(name, &source, PLAN, &mut Marks::default()).await.unwrap();
    });
    let given_up =
        server.requests().iter().position(|text| text.starts_with("DELETE /my-bucket/dir/")).unwrap();
    let second = server.requests().iter().position(|text| text.contains("/second?uploads")).unwrap();
    assert!(given_up < second);
}

#[test]
fn what_makes_no_upload_is_refused() {
    let mut client = client_at("http://127.0.0.1:9", &[]);
    let content = vec![0; 10_001];
    let plan = MultipartPlan { part_size_bytes: 1, concurrency: 1 };
    let error =
        run(client.put_multipart(NAME, &BytesSource(&content), plan, &mut Marks::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let server = serve(vec![Script::status("200 OK", "", "<R/>")]);
    let mut client = self::client(&server, &[]);
    let error = run(client.put_multipart(NAME, &BytesSource(b"x"), PLAN, &mut Marks::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
}

#[test]
fn a_sink_sees_only_the_objects_bytes_never_an_error_page() {
    let server = serve(vec![
        Script::status("500 Broken", "", &error_body("InternalError")),
        Script::status("200 OK", "", "data"),
    ]);
    let mut client = client(&server, &[]);
    run(async {
        let (mut sink, mut marks) = (CollectSink::new(100), Marks::default());
        assert!(client.get(NAME, None, Some(&mut sink), &mut marks).await.is_err());
        assert_eq!((sink.seen, marks.body_bytes, marks.status), (0, 0, 500));
        client.get(NAME, None, Some(&mut sink), &mut marks).await.unwrap();
        assert_eq!(sink.bytes, b"data");
    });
}
