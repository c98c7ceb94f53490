//! The `webdav` storage against scripted servers.

use cosmark_adaptor_api::{HttpCredential, Secret};

use super::*;
use crate::scripted::{self, Script, Scripted};

const NAME: ObjectName<'_> = ObjectName { container: "c", object: "a/b" };

fn adaptor(entries: &[(&str, &str)]) -> Arc<dyn Adaptor> {
    let (settings, problems) = Settings::parse(KEYS, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    (DEF.open)(&settings).unwrap()
}

fn client(server: &Scripted, entries: &[(&str, &str)], session: Session) -> Box<dyn Client> {
    let url = server.url("/root/");
    let entries: Vec<(&str, &str)> =
        [("endpoint", url.as_str())].into_iter().chain(entries.iter().copied()).collect();
    adaptor(&entries).client(&Arc::new(session)).unwrap()
}

fn ok(status: &str) -> Script {
    Script::status(status, "", "")
}

fn first_lines(server: &Scripted) -> Vec<String> {
    server.requests().iter().map(|request| request.lines().next().unwrap().to_owned()).collect()
}

fn digest_session(nonce: &str) -> Session {
    let challenge = format!("realm=\"r\", nonce=\"{nonce}\", qop=\"auth\"");
    let http = HttpCredential::Digest { username: "u".into(), password: Secret::new("hunter2"), challenge };
    Session { http: Some(http), ..Session::default() }
}

fn authorization(request: &str) -> &str {
    request.lines().find_map(|line| line.strip_prefix("Authorization: ")).unwrap_or_default()
}

#[tokio::test(flavor = "current_thread")]
async fn names_are_escaped_members_or_plain_paths() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[], "/root/c/a%252Fb"),
        (&[("names", "plain")], "/root/c/a/b"),
        (&[("dav", "false")], "/root/c/a/b"),
        (&[("dav", "false"), ("names", "escaped")], "/root/c/a%252Fb"),
        (&[("base_path", "/x y/z/")], "/root/x%20y/z/c/a%252Fb"),
    ];
    for (entries, path) in cases {
        let server = scripted::serve(vec![Script::status("200 OK", "", "hello")]);
        let mut client = client(&server, entries, Session::default());
        assert_eq!(client.get(NAME, None, None, &mut Marks::default()).await.unwrap().bytes, 5);
        assert_eq!(first_lines(&server), [format!("GET {path} HTTP/1.1")]);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn dots_cannot_lead_out_of_the_base_path() {
    let server = scripted::serve(vec![ok("404 Not Found")]);
    let mut plain = client(&server, &[("names", "plain")], Session::default());
    for object in ["..", "x/../../y", "./x"] {
        let name = ObjectName { container: "c", object };
        assert_eq!(plain.delete(name, &mut Marks::default()).await.unwrap_err().kind(), ErrorKind::Config);
    }
    let mut escaped = client(&server, &[], Session::default());
    let name = ObjectName { container: "c", object: ".." };
    assert_eq!(escaped.delete(name, &mut Marks::default()).await.unwrap_err().status(), Some(404));
    assert_eq!(first_lines(&server), ["DELETE /root/c/%252E. HTTP/1.1"]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_put_may_be_200_201_204_or_202_and_hints_name_the_remedy() {
    let statuses = ["200 OK", "201 Created", "204 No Content", "202 Accepted"];
    let failures = [
        ("409 Conflict", "init stage"),
        ("413 Too Large", "client_max_body_size"),
        ("507 Full", "disk is full"),
    ];
    let scripts =
        statuses.iter().copied().chain(failures.iter().map(|(status, _)| *status)).map(ok).collect();
    let server = scripted::serve(scripts);
    let mut client = client(&server, &[], Session::default());
    for status in statuses {
        let put = client
            .put(NAME, &BytesSource(b"xyz"), PutOptions::default(), &mut Marks::default())
            .await
            .unwrap();
        assert_eq!(put, PutOutcome { bytes: 3, accepted_only: status.starts_with("202") });
    }
    for (_, words) in failures {
        let put = client.put(NAME, &BytesSource(b"xyz"), PutOptions::default(), &mut Marks::default()).await;
        let error = put.unwrap_err();
        assert!(error.hint().unwrap().contains(words), "{error}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn collections_are_made_listed_and_deleted_only_when_empty() {
    let list = |members: &str| {
        let body = format!(
            "<D:multistatus xmlns:D=\"DAV:\"><D:response><D:href>/root/c/</D:href><D:collection/></D:response>{members}</D:multistatus>"
        );
        Script::status("207 Multi-Status", "", &body)
    };
    let two = "<D:response><D:href>/root/c/a%252Fb</D:href></D:response><D:response><D:href>/root/c/x</D:href></D:response>";
    let server = scripted::serve(vec![
        ok("201 Created"),
        ok("405 Method Not Allowed"),
        list(two),
        list(two),
        list(""),
        ok("204 No Content"),
        ok("404 Not Found"),
        ok("405 Method Not Allowed"),
    ]);
    let mut client = client(&server, &[], Session::default());
    client.create_container("c", &mut Marks::default()).await.unwrap();
    client.create_container("c", &mut Marks::default()).await.unwrap();
    let request = ListRequest { container: "c", want_names: true, ..ListRequest::default() };
    assert_eq!(client.list(request, &mut Marks::default()).await.unwrap().names, ["a/b", "x"]);
    let mut marks = Marks::default();
    let error = client.delete_container("c", &mut marks).await.unwrap_err();
    assert_eq!((error.status(), marks.requests), (Some(409), 1));
    let mut marks = Marks::default();
    client.delete_container("c", &mut marks).await.unwrap();
    assert_eq!(marks.requests, 2);
    client.delete_container("c", &mut Marks::default()).await.unwrap();
    let error = client.delete_container("c", &mut Marks::default()).await.unwrap_err();
    assert!(error.hint().unwrap().contains("recursive_delete"), "{error}");
    let lines = first_lines(&server);
    assert_eq!(lines[0], "MKCOL /root/c/ HTTP/1.1");
    assert_eq!(
        lines[3..6],
        ["PROPFIND /root/c/ HTTP/1.1", "PROPFIND /root/c/ HTTP/1.1", "DELETE /root/c/ HTTP/1.1"]
    );
    assert!(server.requests()[2].contains("\r\nDepth: 1\r\n"));
}

#[tokio::test(flavor = "current_thread")]
async fn plain_http_claims_no_containers_and_refuses_them() {
    let server = scripted::serve(Vec::new());
    let url = server.url("");
    let adaptor = adaptor(&[("endpoint", &url), ("dav", "false")]);
    assert!(
        !adaptor.capability().has(Capability::CONTAINERS)
            && !adaptor.capability().has(Capability::LIST)
            && adaptor.capability().has(Capability::RANGE)
    );
    let mut client = adaptor.client(&Arc::default()).unwrap();
    let error = client.create_container("c", &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(server.requests().is_empty());
}

#[tokio::test(flavor = "current_thread")]
async fn basic_goes_with_every_request() {
    let server = scripted::serve(vec![ok("204 No Content"), ok("204 No Content")]);
    let http = HttpCredential::Basic { username: "u".into(), password: Secret::new("hunter2") };
    let mut client = client(&server, &[], Session { http: Some(http), ..Session::default() });
    for _ in 0..2 {
        client.delete(NAME, &mut Marks::default()).await.unwrap();
    }
    assert!(server.requests().iter().all(|request| authorization(request) == "Basic dTpodW50ZXIy"));
}

#[tokio::test(flavor = "current_thread")]
async fn digest_counts_its_uses_and_goes_on_with_the_new_nonce_after_a_401() {
    let stale = "WWW-Authenticate: Digest realm=\"r\", nonce=\"n2\", qop=\"auth\", stale=true\r\n";
    let server = scripted::serve(vec![
        ok("204 No Content"),
        Script::status("401 Unauthorized", stale, ""),
        Script::status("204 No Content", "Authentication-Info: nextnonce=\"n3\"\r\n", ""),
        ok("204 No Content"),
    ]);
    let mut client = client(&server, &[], digest_session("n1"));
    client.delete(NAME, &mut Marks::default()).await.unwrap();
    let mut marks = Marks::default();
    let error = client.delete(NAME, &mut marks).await.unwrap_err();
    assert!(error.status() == Some(401) && marks.requests == 1 && marks.retries == 0);
    client.delete(NAME, &mut Marks::default()).await.unwrap();
    client.delete(NAME, &mut Marks::default()).await.unwrap();
    let seen: Vec<String> =
        server.requests().iter().map(|request| authorization(request).to_owned()).collect();
    for (value, (nonce, count)) in seen.iter().zip([("n1", 2), ("n1", 3), ("n2", 1), ("n3", 1)]) {
        assert!(value.contains(&format!("nonce=\"{nonce}\"")), "{value}");
        assert!(value.contains(&format!("nc=0000000{count},")), "{value}");
        assert!(value.contains("uri=\"/root/c/a%252Fb\""), "{value}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_stale_nonce_is_answered_within_the_call_only_if_asked_and_is_counted() {
    let challenge =
        |stale: &str| format!("WWW-Authenticate: Digest realm=\"r\", nonce=\"n2\", qop=\"auth\"{stale}\r\n");
    let server = scripted::serve(vec![
        Script::status("401 Unauthorized", &challenge(", stale=true"), "log in"),
        ok("201 Created"),
        // Not stale: the password is wrong, which another try cannot mend.
        Script::status("401 Unauthorized", &challenge(""), "log in"),
        // Stale twice in a row: once is enough.
        Script::status("401 Unauthorized", &challenge(", stale=true"), ""),
        Script::status("401 Unauthorized", &challenge(", stale=true"), ""),
    ]);
    let mut client = client(&server, &[("renew_stale", "true")], digest_session("n1"));
    let mut marks = Marks::default();
    client.put(NAME, &BytesSource(b"xyz"), PutOptions::default(), &mut marks).await.unwrap();
    assert_eq!((marks.requests, marks.retries, marks.body_bytes, marks.status), (2, 1, 3, 201));
    for expected in [1, 2] {
        let mut marks = Marks::default();
        assert!(client.delete(NAME, &mut marks).await.unwrap_err().status() == Some(401));
        assert_eq!(marks.requests, expected);
    }
    assert!(server.requests()[1].ends_with("\r\n\r\nxyz"));
}

#[tokio::test(flavor = "current_thread")]
async fn without_an_endpoint_the_sessions_url_is_used_and_without_both_it_is_a_config_error() {
    let server = scripted::serve(vec![ok("204 No Content")]);
    let adaptor = adaptor(&[]);
    let session = Session { storage_url: Some(server.url("/dav")), ..Session::default() };
    adaptor.client(&Arc::new(session)).unwrap().delete(NAME, &mut Marks::default()).await.unwrap();
    assert_eq!(first_lines(&server), ["DELETE /dav/c/a%252Fb HTTP/1.1"]);
    let error = adaptor.client(&Arc::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.hint().unwrap().contains("endpoint="));
}
