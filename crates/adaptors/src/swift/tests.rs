//! The `swift` storage against scripted servers.

use cosmark_adaptor_api::{Ask, BytesSource, CollectSink, MultipartPlan, Whom};
use serde_json::Value;

use super::*;
use crate::scripted::{self, Script, Scripted};

const NAME: ObjectName<'_> = ObjectName { container: "my c", object: "a/b \u{e4}" };

fn session(server: &Scripted) -> Arc<Session> {
    let storage_url = Some(server.url("/v1/AUTH_test"));
    Arc::new(Session { token: Some(Secret::new("AUTH_tk1")), storage_url, ..Session::default() })
}

fn adaptor(entries: &[(&str, &str)]) -> Arc<dyn Adaptor> {
    let (settings, problems) = Settings::parse(KEYS, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    (DEF.open)(&settings).unwrap()
}

fn client(server: &Scripted, entries: &[(&str, &str)]) -> Box<dyn Client> {
    adaptor(entries).client(&session(server)).unwrap()
}

fn ok(status: &str) -> Script {
    Script::status(status, "", "")
}

#[tokio::test(flavor = "current_thread")]
async fn a_read_sends_the_token_and_escapes_the_name_as_cosbench_does() {
    let server = scripted::serve(vec![Script::status("200 OK", "", "hello")]);
    let (mut sink, mut marks) = (CollectSink::new(100), Marks::default());
    let read = client(&server, &[]).get(NAME, None, Some(&mut sink), &mut marks).await.unwrap();
    assert_eq!((read.bytes, sink.bytes.as_slice()), (5, b"hello".as_slice()));
    assert_eq!((marks.requests, marks.body_bytes, marks.status), (1, 5, 200));
    let request = &server.requests()[0];
    assert!(
        request.starts_with("GET /v1/AUTH_test/my%20c/a%2Fb%20%C3%A4 HTTP/1.1\r\nHost: 127.0.0.1:"),
        "{request}"
    );
    assert!(request.contains("\r\nX-Auth-Token: AUTH_tk1\r\n"), "{request}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_put_is_201_or_accepted_only_202() {
    for (status, accepted) in [("201 Created", false), ("202 Accepted", true)] {
        let server = scripted::serve(vec![ok(status)]);
        let put = client(&server, &[])
            .put(NAME, &BytesSource(b"xyz"), PutOptions::default(), &mut Marks::default())
            .await;
        assert_eq!(put.unwrap(), PutOutcome { bytes: 3, accepted_only: accepted });
        assert!(server.requests()[0].ends_with("Content-Length: 3\r\n\r\nxyz"), "{:?}", server.requests());
    }
    let server = scripted::serve(vec![ok("201 Created")]);
    let options = PutOptions { chunked: true };
    client(&server, &[]).put(NAME, &BytesSource(b"xyz"), options, &mut Marks::default()).await.unwrap();
    assert!(server.requests()[0].ends_with("Transfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_range_must_come_back_as_206() {
    let range = Some(ByteRange { first: 2, last: 4 });
    let server = scripted::serve(vec![
        Script::status("206 Partial Content", "Content-Range: bytes 2-4/5\r\n", "llo"),
        Script::status("200 OK", "", "hello"),
    ]);
    let mut client = client(&server, &[("x_newest", "true")]);
    assert_eq!(client.get(NAME, range, None, &mut Marks::default()).await.unwrap().bytes, 3);
    let error = client.get(NAME, range, None, &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongRange);
    assert!(server.requests()[0].contains("\r\nX-Newest: true\r\nRange: bytes=2-4\r\n"));
}

#[tokio::test(flavor = "current_thread")]
async fn failed_deletes_are_reported_with_reason_and_transaction() {
    let page = "<html><h1>Not Found</h1><p>The resource could not be found.</p></html>";
    let server = scripted::serve(vec![
        ok("204 No Content"),
        Script::status("404 Not Found", "X-Trans-Id: tx42-lab\r\n", page),
        Script::status("403 Forbidden", "", ""),
    ]);
    let mut client = client(&server, &[]);
    client.delete(NAME, &mut Marks::default()).await.unwrap();
    let error = client.delete(NAME, &mut Marks::default()).await.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(404), Some("NotFound")));
    assert!(error.message().contains("transaction tx42-lab"), "{error}");
    assert_eq!(client.delete(NAME, &mut Marks::default()).await.unwrap_err().status(), Some(403));
}

#[tokio::test(flavor = "current_thread")]
async fn containers_are_made_with_their_policy_and_deleted_when_empty_or_gone() {
    let server = scripted::serve(vec![
        ok("201 Created"),
        ok("202 Accepted"),
        ok("409 Conflict"),
        ok("204 No Content"),
        ok("404 Not Found"),
        ok("409 Conflict"),
    ]);
    let mut client = client(&server, &[("policy", "gold")]);
    client.create_container("c", &mut Marks::default()).await.unwrap();
    client.create_container("c", &mut Marks::default()).await.unwrap();
    let error = client.create_container("c", &mut Marks::default()).await.unwrap_err();
    assert!(error.hint().unwrap().contains("another storage policy"));
    client.delete_container("c", &mut Marks::default()).await.unwrap();
    client.delete_container("c", &mut Marks::default()).await.unwrap();
    let error = client.delete_container("c", &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.status(), Some(409));
    let requests = server.requests();
    assert!(requests[0].starts_with("PUT /v1/AUTH_test/c HTTP/1.1\r\n"));
    assert!(requests[0].contains("X-Storage-Policy: gold\r\n"));
    assert!(requests[3].starts_with("DELETE /v1/AUTH_test/c HTTP/1.1\r\n"));
}

#[tokio::test(flavor = "current_thread")]
async fn listings_are_paged_and_an_empty_container_is_no_error() {
    let server = scripted::serve(vec![
        Script::status("200 OK", "", "p1\np2\n"),
        ok("204 No Content"),
        Script::status("200 OK", "", "c1\n"),
    ]);
    let mut client = client(&server, &[]);
    let request = ListRequest {
        container: "c",
        prefix: "p",
        page_size: Some(2),
        want_names: true,
        ..ListRequest::default()
    };
    let page = client.list(request, &mut Marks::default()).await.unwrap();
    assert_eq!((page.names, page.next.as_deref()), (vec!["p1".to_owned(), "p2".to_owned()], Some("p2")));
    let request = ListRequest { after: Some("p2"), ..request };
    assert_eq!(client.list(request, &mut Marks::default()).await.unwrap(), ListPage::default());
    assert_eq!(client.list(ListRequest::default(), &mut Marks::default()).await.unwrap().count, 1);
    let targets: Vec<String> =
        server.requests().iter().map(|request| request.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(
        targets,
        ["/v1/AUTH_test/c?limit=2&prefix=p", "/v1/AUTH_test/c?limit=2&marker=p2&prefix=p", "/v1/AUTH_test"]
    );
}

#[tokio::test(flavor = "current_thread")]
async fn head_gives_the_length_and_the_probe_asks_for_the_account() {
    let server = scripted::serve(vec![
        Script::head("200 OK", 77),
        Script::head("404 Not Found", 0),
        ok("204 No Content"),
        ok("401 Unauthorized"),
    ]);
    let mut client = client(&server, &[]);
    assert_eq!(client.head(NAME, &mut Marks::default()).await.unwrap(), Some(77));
    assert_eq!(client.head(NAME, &mut Marks::default()).await.unwrap_err().status(), Some(404));
    client.probe(&mut Marks::default()).await.unwrap();
    assert!(client.probe(&mut Marks::default()).await.unwrap_err().status() == Some(401));
    assert!(server.requests()[2].starts_with("HEAD /v1/AUTH_test HTTP/1.1\r\n"));
}

#[tokio::test(flavor = "current_thread")]
async fn without_a_session_the_keys_are_used_and_a_renewed_one_takes_over() {
    let server = scripted::serve(vec![ok("204 No Content"), ok("204 No Content"), ok("204 No Content")]);
    let keys =
        [("token", "AUTH_own"), ("storage_url", &server.url("/v1/AUTH_own"))].map(|(k, v)| (k, v.to_owned()));
    let keys: Vec<(&str, &str)> = keys.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let mut client = adaptor(&keys).client(&Arc::default()).unwrap();
    client.probe(&mut Marks::default()).await.unwrap();
    client.set_session(&session(&server));
    let mut marks = Marks::default();
    client.probe(&mut marks).await.unwrap();
    assert_eq!(marks.connections, 1, "another account's URL is another place");
    let renewed = Session { token: Some(Secret::new("AUTH_tk2")), ..Session::clone(&session(&server)) };
    client.set_session(&Arc::new(renewed));
    let mut marks = Marks::default();
    client.probe(&mut marks).await.unwrap();
    assert_eq!(marks.connections, 0, "the same place keeps its connection");
    let requests = server.requests();
    for (request, token, path) in [
        (&requests[0], "AUTH_own", "AUTH_own"),
        (&requests[1], "AUTH_tk1", "AUTH_test"),
        (&requests[2], "AUTH_tk2", "AUTH_test"),
    ] {
        assert!(
            request.starts_with(&format!("HEAD /v1/{path} "))
                && request.contains(&format!("X-Auth-Token: {token}\r\n"))
        );
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_unreachable_storage_host_can_be_replaced() {
    let server = scripted::serve(vec![ok("204 No Content"), ok("204 No Content")]);
    let unreachable =
        Session { storage_url: Some("http://10.255.0.1:8080/v1/AUTH_x".into()), ..Session::default() };
    let host = server.url("").replace("http://", "");
    let mut client = adaptor(&[("storage_host", &host)]).client(&Arc::new(unreachable.clone())).unwrap();
    client.probe(&mut Marks::default()).await.unwrap();
    let url = server.url("/v1/AUTH_y");
    let mut client = adaptor(&[("storage_url_override", &url)]).client(&Arc::new(unreachable)).unwrap();
    client.probe(&mut Marks::default()).await.unwrap();
    assert!(server.requests()[0].starts_with("HEAD /v1/AUTH_x HTTP/1.1\r\nHost: 127.0.0.1:"));
    assert!(server.requests()[1].starts_with("HEAD /v1/AUTH_y "));
}

#[tokio::test(flavor = "current_thread")]
async fn a_session_with_a_broken_url_fails_every_call_until_the_next_one() {
    let server = scripted::serve(vec![ok("204 No Content")]);
    let mut client = client(&server, &[]);
    let broken = Session { storage_url: Some("gopher://x".into()), ..Session::default() };
    client.set_session(&Arc::new(broken));
    assert_eq!(client.probe(&mut Marks::default()).await.unwrap_err().kind(), ErrorKind::Config);
    client.set_session(&session(&server));
    client.probe(&mut Marks::default()).await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn an_empty_name_never_reaches_the_container_or_the_account() {
    let server = scripted::serve(Vec::new());
    let mut client = client(&server, &[]);
    for name in [ObjectName { container: "c", object: "" }, ObjectName { container: "", object: "o" }] {
        assert_eq!(client.delete(name, &mut Marks::default()).await.unwrap_err().kind(), ErrorKind::Config);
    }
    assert_eq!(
        client.delete_container("", &mut Marks::default()).await.unwrap_err().kind(),
        ErrorKind::Config
    );
    assert!(server.requests().is_empty());
}

/// A cluster that takes everything, but refuses requests whose line has `poison`.
fn cluster(poison: &'static str) -> Scripted {
    scripted::serve_with(move |request| {
        let line = request.lines().next().unwrap_or_default();
        if !poison.is_empty() && line.contains(poison) && line.starts_with("PUT") {
            return Script::status("503 Service Unavailable", "", "");
        }
        match line.split(' ').next() {
            Some("PUT") => Script::status("201 Created", "Etag: e7a9\r\n", ""),
            _ => Script::status("204 No Content", "", ""),
        }
    })
}

async fn put_parts(server: &Scripted, entries: &[(&str, &str)], marks: &mut Marks) -> Result<PutOutcome> {
    let body: Vec<u8> = (0..25_u8).collect();
    let plan = MultipartPlan { part_size_bytes: 10, concurrency: 2 };
    client(server, entries).put_multipart(NAME, &BytesSource(&body), plan, marks).await
}

fn lines(server: &Scripted, starts: &str) -> Vec<String> {
    let requests = server.requests();
    let lines = requests.iter().filter_map(|request| request.lines().next());
    let mut found: Vec<String> = lines.filter(|line| line.starts_with(starts)).map(str::to_owned).collect();
    found.sort();
    found
}

#[tokio::test(flavor = "current_thread")]
async fn a_static_large_object_is_its_parts_and_a_manifest_of_them() {
    let server = cluster("");
    let mut marks = Marks::default();
    let outcome = put_parts(&server, &[], &mut marks).await.unwrap();
    assert_eq!(outcome, PutOutcome { bytes: 25, accepted_only: false });
    assert_eq!((marks.requests, marks.body_bytes, marks.status), (5, 25, 201));
    assert!(marks.first_byte_ns > 0);
    assert_eq!(lines(&server, "PUT /v1/AUTH_test/my%20c_segments HTTP").len(), 1);
    let parts = lines(&server, "PUT /v1/AUTH_test/my%20c_segments/a%2Fb%20%C3%A4%2F");
    assert_eq!(parts.len(), 3);
    let last = server.requests().pop().unwrap();
    let (head, body) = last.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("PUT /v1/AUTH_test/my%20c/a%2Fb%20%C3%A4?multipart-manifest=put HTTP/1.1"),
        "{head}"
    );
    let manifest: Value = serde_json::from_str(body).unwrap();
    let sizes: Vec<u64> =
        manifest.as_array().unwrap().iter().map(|part| part["size_bytes"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [10, 10, 5]);
    for (number, part) in manifest.as_array().unwrap().iter().enumerate() {
        let path = part["path"].as_str().unwrap();
        assert!(
            path.starts_with("/my c_segments/a/b \u{e4}/") && path.ends_with(&format!("/0000000{number}")),
            "{path}"
        );
        assert_eq!(part["etag"], "e7a9");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_dynamic_large_object_names_the_beginning_of_its_parts() {
    let server = cluster("");
    let keys = [("large_object", "dlo"), ("segments_container", "shared")];
    put_parts(&server, &keys, &mut Marks::default()).await.unwrap();
    let last = server.requests().pop().unwrap();
    assert!(last.starts_with("PUT /v1/AUTH_test/my%20c/a%2Fb%20%C3%A4 HTTP/1.1"), "{last}");
    let manifest = last.lines().find_map(|line| line.strip_prefix("X-Object-Manifest: ")).unwrap();
    assert!(manifest.starts_with("shared/a/b%20%C3%A4/") && manifest.ends_with('/'), "{manifest}");
    assert_eq!(lines(&server, "PUT /v1/AUTH_test/shared/").len(), 3);
}

#[tokio::test(flavor = "current_thread")]
async fn parts_are_deleted_again_when_one_of_them_or_the_manifest_fails() {
    // (what fails, parts that were written)
    for (poison, expected) in [("00000002 ", 2), ("multipart-manifest=put", 3)] {
        let server = cluster(poison);
        let mut marks = Marks::default();
        let error = put_parts(&server, &[], &mut marks).await.unwrap_err();
        assert_eq!((error.status(), marks.status), (Some(503), 503), "{poison}");
        let deleted = lines(&server, "DELETE /v1/AUTH_test/my%20c_segments/");
        assert_eq!(deleted.len(), expected, "{poison}");
        let written = lines(&server, "PUT /v1/AUTH_test/my%20c_segments/");
        for line in deleted {
            assert!(written.contains(&line.replace("DELETE", "PUT")));
        }
        assert_eq!(marks.requests as usize, server.requests().len());
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_token_that_the_server_repeats_is_in_no_error() {
    for page in ["<html><h1>No</h1><p>AUTH_tk1 is over</p></html>", "AUTH_tk1", r#"{"Code":"AUTH_tk1"}"#] {
        let server = scripted::serve(vec![Script::status("401 Unauthorized", "", page)]);
        let error = client(&server, &[]).delete(NAME, &mut Marks::default()).await.unwrap_err();
        assert!(
            server.requests()[0].contains("AUTH_tk1") && !format!("{error:?}").contains("AUTH_tk1"),
            "{error:?}"
        );
    }
}

#[tokio::test(flavor = "current_thread")]
async fn deleting_with_segments_understands_swifts_report() {
    let report = |status: &str, deleted: u32, missing: u32, errors: &str| {
        let body = format!(
            r#"{{"Response Status":"{status}","Number Deleted":{deleted},"Number Not Found":{missing},"Errors":[{errors}],"Response Body":""}}"#
        );
        Script::status("200 OK", "", &body)
    };
    let no_slo = r#"["/v1/AUTH_test/my%20c/x","Not an SLO manifest"]"#;
    let failed = r#"["/c/1","409 Conflict"]"#;
    let page = || Script::status("200 OK", "", "<html>log in</html>");
    for script in [page(), report("200 OK", 0, 0, "")] {
        let server = scripted::serve(vec![script]);
        let deleted =
            client(&server, &[("delete_segments", "true")]).delete(NAME, &mut Marks::default()).await;
        assert_eq!(deleted.unwrap_err().kind(), ErrorKind::Protocol);
    }
    let cases: Vec<(Vec<Script>, Option<u16>)> = vec![
        (vec![report("200 OK", 4, 0, "")], None),
        (vec![report("200 OK", 0, 0, failed)], Some(500)),
        (vec![report("7 Odd", 4, 0, "")], Some(500)),
        (vec![report("400 Bad Request", 0, 0, no_slo), ok("204 No Content")], None),
        (vec![report("404 Not Found", 0, 1, "")], Some(404)),
        (vec![report("400 Bad Request", 1, 0, failed)], Some(400)),
        (vec![ok("204 No Content")], None),
        (vec![ok("404 Not Found")], Some(404)),
    ];
    for (scripts, status) in cases {
        let expected = scripts.len();
        let server = scripted::serve(scripts);
        let mut marks = Marks::default();
        let result = client(&server, &[("delete_segments", "true")]).delete(NAME, &mut marks).await;
        assert_eq!(result.err().and_then(|error| error.status()), status);
        assert_eq!(server.requests().len(), expected);
        assert!(
            server.requests()[0]
                .starts_with("DELETE /v1/AUTH_test/my%20c/a%2Fb%20%C3%A4?multipart-manifest=delete ")
        );
    }
}

#[tokio::test]
async fn copies_bulk_deletes_and_metadata_are_asked_as_swift_wants_them() {
    let report = |status: &str, errors: &str| {
        Script::status("200 OK", "", &format!(r#"{{"Response Status":"{status}","Errors":[{errors}]}}"#))
    };
    let fewer = r#"{"Response Status":"200 OK","Number Deleted":1,"Number Not Found":0,"Errors":[]}"#;
    let server = scripted::serve(vec![
        ok("201 Created"),
        report("200 OK", ""),
        report("404 Not Found", ""),
        report("400 Bad Request", r#"["/c/1","409 Conflict"]"#),
        Script::status("200 OK", "", "no report"),
        Script::status("200 OK", "", fewer),
        report("200 OK", r#"["/c/1","409 Conflict"]"#),
        ok("202 Accepted"),
    ]);
    let mut client = client(&server, &[]);
    let mut marks = Marks::default();
    let to = ObjectName { container: "other", object: "copy" };
    client.copy(NAME, to, &mut marks).await.unwrap();
    let objects = vec!["a/1".to_owned(), "b c".to_owned()];
    let mut bulk = Vec::new();
    for _ in 0..6 {
        bulk.push(client.delete_many("c", &objects, &mut marks).await.err().map(|error| error.kind()));
    }
    let (refused, none) = (Some(ErrorKind::Status(400)), Some(ErrorKind::Protocol));
    assert_eq!(bulk, [None, None, refused, none, none, Some(ErrorKind::Status(500))]);
    assert_eq!(marks.body_bytes, 0, "a list of names is no object data");
    client.set_metadata(NAME, "colour", "red", &mut marks).await.unwrap();
    let requests = server.requests();
    assert!(requests[0].starts_with("PUT /v1/AUTH_test/other/copy "), "{}", requests[0]);
    assert!(requests[0].contains("\r\nX-Copy-From: /my%20c/a%2Fb%20%C3%A4\r\n"), "{}", requests[0]);
    assert!(requests[1].starts_with("POST /v1/AUTH_test?bulk-delete "), "{}", requests[1]);
    assert!(requests[1].ends_with("/c/a%2F1\n/c/b%20c\n"), "{}", requests[1]);
    assert!(
        requests[7].starts_with("POST /v1/AUTH_test/my%20c/")
            && requests[7].contains("X-Object-Meta-colour: red")
    );
}

#[tokio::test]
async fn links_and_what_the_server_says_of_itself_are_asked_for_without_the_token_and_beside_the_accounts() {
    let server = scripted::serve(vec![ok("200 OK"), ok("200 OK")]);
    let mut asker = adaptor(&[]).asker(&session(&server)).unwrap().unwrap();
    let link = Ask { whom: Whom::Link, payload: Some("mykey"), ..Ask::new("GET", "c", "o") };
    asker.ask(&link).await.unwrap();
    asker.ask(&Ask::new("GET", "", "info")).await.unwrap();
    let requests = server.requests();
    assert!(requests[0].starts_with("GET /v1/AUTH_test/c/o?temp_url_sig="), "{requests:?}");
    assert!(requests[0].contains("&temp_url_expires=") && !requests[0].contains("X-Auth-Token"));
    assert!(requests[1].starts_with("GET /info HTTP/1.1\r\n"), "{requests:?}");
}
