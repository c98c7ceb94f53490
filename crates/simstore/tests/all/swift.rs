//! The Swift protocol, verb by verb.

use cosmark_simstore::Handle;

use crate::client::{Client, Reply, pattern, store};

/// A client with a token for the account `AUTH_acc`.
struct Swift {
    client: Client,
    token: String,
}

impl Swift {
    fn new(handle: &Handle) -> Swift {
        let mut client = Client::new(handle.addr());
        let auth = client.send("GET /auth/v1.0", &[("X-Auth-User", "acc:user"), ("X-Auth-Key", "k")], b"");
        assert_eq!(auth.status, 200);
        assert_eq!(auth.header("x-storage-url"), Some("http://test/v1/AUTH_acc"));
        let token = auth.header("x-auth-token").unwrap().to_owned();
        Swift { client, token }
    }

    fn send(&mut self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let (method, path) = line.split_once(' ').unwrap();
        let token = self.token.clone();
        let mut all = vec![("X-Auth-Token", token.as_str())];
        all.extend_from_slice(headers);
        self.client.send(&format!("{method} /v1/AUTH_acc{path}"), &all, body)
    }

    fn ask(&mut self, line: &str) -> Reply {
        self.send(line, &[], b"")
    }
}

fn with_container(yaml: &str) -> (Handle, Swift) {
    let handle = store(yaml);
    let mut swift = Swift::new(&handle);
    assert_eq!(swift.ask("PUT /con").status, 201);
    (handle, swift)
}

#[test]
fn tokens_are_checked_expire_and_belong_to_their_account() {
    let (handle, mut s) = with_container("swift: {users: {'acc:user': k}}");
    let bad = s.client.send("GET /auth/v1.0", &[("X-Auth-User", "acc:user"), ("X-Auth-Key", "wrong")], b"");
    assert_eq!(bad.status, 401);
    let none = s.client.ask("GET /v1/AUTH_acc/con");
    assert_eq!(none.status, 401);
    assert!(none.header("www-authenticate").unwrap().starts_with("Swift realm="));
    let token = s.token.clone();
    assert_eq!(s.client.send("GET /v1/AUTH_other/con", &[("X-Auth-Token", &token)], b"").status, 403);
    drop(handle);

    let (_handle, mut s) = with_container("swift: {token_max_requests: 3}");
    assert_eq!(
        [s.ask("HEAD /con").status, s.ask("HEAD /con").status, s.ask("HEAD /con").status],
        [204, 204, 401]
    );

    let (_handle, mut s) = with_container("swift: {token_lifetime_ms: 4000}");
    while s.ask("HEAD /con").status != 401 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let open = store("swift: {check_tokens: false}");
    assert_eq!(Client::new(open.addr()).ask("HEAD /v1/AUTH_x").status, 204);
}

#[test]
fn containers_have_swifts_statuses_policies_and_metadata() {
    let (_handle, mut s) = with_container("");
    assert_eq!(s.ask("PUT /con").status, 202);
    assert_eq!(s.send("PUT /gold", &[("X-Storage-Policy", "Gold")], b"").status, 201);
    assert_eq!(s.send("PUT /gold", &[("X-Storage-Policy", "silver")], b"").status, 409);
    assert_eq!(s.send("PUT /bad", &[("X-Storage-Policy", "tin")], b"").status, 400);
    assert_eq!(
        s.send("POST /con", &[("X-Container-Meta-A", "1"), ("X-Container-Meta-B", "2")], b"").status,
        204
    );
    assert_eq!(s.send("POST /con", &[("X-Remove-Container-Meta-A", "x")], b"").status, 204);
    let head = s.ask("HEAD /con");
    assert_eq!(
        (head.status, head.header("x-container-meta-a"), head.header("x-container-meta-b")),
        (204, None, Some("2"))
    );
    assert_eq!(
        (head.header("x-container-object-count"), head.header("x-storage-policy")),
        (Some("0"), Some("Policy-0"))
    );
    assert_eq!(s.ask("HEAD /gold").header("x-storage-policy"), Some("gold"));
    s.send("PUT /con/o", &[], b"12345");
    assert_eq!(s.ask("HEAD /con").header("x-container-bytes-used"), Some("5"));
    assert_eq!(s.ask("DELETE /con").status, 409);
    assert_eq!(s.ask("DELETE /con/o").status, 204);
    assert_eq!(s.ask("DELETE /con").status, 204);
    assert_eq!(
        [s.ask("DELETE /con").status, s.ask("HEAD /con").status, s.ask("GET /con").status],
        [404, 404, 404]
    );
    let account = s.ask("HEAD ");
    assert_eq!((account.status, account.header("x-account-container-count")), (204, Some("1")));
    assert_eq!(s.send("POST ", &[("X-Account-Meta-Q", "9")], b"").status, 204);
    assert_eq!(s.ask("HEAD ").header("x-account-meta-q"), Some("9"));
    assert_eq!(s.ask(&format!("PUT /{}", "c".repeat(257))).status, 400);
}

#[test]
fn objects_have_swifts_statuses_and_headers() {
    let (_handle, mut s) = with_container("");
    let body = pattern(70_000);
    let put = s.send("PUT /con/a/b", &[("X-Object-Meta-Color", "red"), ("Content-Type", "t/x")], &body);
    assert_eq!(put.status, 201);
    let etag = put.header("etag").unwrap().to_owned();
    assert!(!etag.contains('"') && etag.len() == 32);
    let get = s.ask("GET /con/a/b");
    assert_eq!((get.status, get.body == body, get.header("etag")), (200, true, Some(etag.as_str())));
    assert_eq!((get.header("x-object-meta-color"), get.header("content-type")), (Some("red"), Some("t/x")));
    assert!(get.header("x-timestamp").unwrap().contains('.') && get.header("x-trans-id").is_some());
    let head = s.ask("HEAD /con/a/b");
    assert_eq!((head.status, head.header("content-length")), (200, Some("70000")));
    assert_eq!(s.send("GET /con/a/b", &[("Range", "bytes=0-9")], b"").status, 206);
    assert_eq!(s.send("GET /con/a/b", &[("Range", "bytes=99999-")], b"").status, 416);
    assert_eq!(s.send("POST /con/a/b", &[("X-Object-Meta-New", "1")], b"").status, 202);
    let head = s.ask("HEAD /con/a/b");
    assert_eq!((head.header("x-object-meta-color"), head.header("x-object-meta-new")), (None, Some("1")));
    assert_eq!(
        s.send("PUT /con/c", &[("Transfer-Encoding", "chunked")], b"2\r\nhi\r\n0\r\n\r\n").status,
        201
    );
    assert_eq!(s.ask("GET /con/c").text(), "hi");
    assert_eq!(s.send("PUT /none/o", &[], b"x").status, 404);
    assert_eq!(
        [s.ask("GET /con/none").status, s.ask("DELETE /con/none").status, s.ask("POST /con/none").status],
        [404, 404, 404]
    );
    let token = s.token.clone();
    s.client.raw(format!("PUT /v1/AUTH_acc/con/x HTTP/1.1\r\nX-Auth-Token: {token}\r\n\r\n").as_bytes());
    assert_eq!(s.client.reply(false).status, 411);
}

#[test]
fn a_stated_etag_is_verified_when_etags_are_md5() {
    let (_handle, mut s) = with_container("etag: md5");
    assert_eq!(s.send("PUT /con/o", &[("ETag", "5d41402abc4b2a76b9719d911017c592")], b"hello").status, 201);
    assert_eq!(s.send("PUT /con/o", &[("ETag", "00000000000000000000000000000000")], b"hello").status, 422);
}

#[test]
fn listings_come_as_text_and_json_with_markers() {
    let (_handle, mut s) = with_container("");
    assert_eq!(s.ask("GET /con").status, 204);
    assert_eq!(s.ask("GET /con?format=json").text(), "[]");
    for name in ["a", "b/1", "b/2", "c%22"] {
        s.send(&format!("PUT /con/{name}"), &[], b"xyz");
    }
    assert_eq!(s.ask("GET /con").text(), "a\nb/1\nb/2\nc\"\n");
    assert_eq!(s.ask("GET /con?limit=2&marker=a").text(), "b/1\nb/2\n");
    assert_eq!(s.ask("GET /con?end_marker=b/2").text(), "a\nb/1\n");
    assert_eq!(s.ask("GET /con?prefix=b/").text(), "b/1\nb/2\n");
    assert_eq!(s.ask("GET /con?delimiter=/").text(), "a\nb/\nc\"\n");
    assert_eq!(s.ask("GET /con?delimiter=/&marker=b/").text(), "c\"\n");
    assert_eq!(s.ask("GET /con?limit=10001").status, 412);
    // From the end the marker is behind what comes.
    for (query, names) in [
        ("reverse=true", "c\"\nb/2\nb/1\na\n"),
        ("reverse=on&limit=2", "c\"\nb/2\n"),
        ("reverse=1&marker=c%22&end_marker=a", "b/2\nb/1\n"),
        ("reverse=yes&marker=b/2&limit=1", "b/1\n"),
        ("reverse=true&delimiter=/", "c\"\nb/\na\n"),
        ("reverse=false&limit=1", "a\n"),
    ] {
        assert_eq!(s.ask(&format!("GET /con?{query}")).text(), names, "{query}");
    }
    let rows: serde_json::Value =
        serde_json::from_slice(&s.ask("GET /con?format=json&delimiter=/").body).unwrap();
    assert_eq!(
        (&rows[0]["name"], &rows[0]["bytes"], &rows[1]["subdir"]),
        (&"a".into(), &3.into(), &"b/".into())
    );
    assert!(
        rows[0]["last_modified"].as_str().unwrap().len() == 26
            && rows[0]["hash"].as_str().unwrap().len() == 32
    );
    s.ask("PUT /zoo");
    assert_eq!(s.ask("GET ").text(), "con\nzoo\n");
    assert_eq!(s.ask("GET ?marker=con").text(), "zoo\n");
    let rows: serde_json::Value =
        serde_json::from_slice(&s.send("GET ", &[("Accept", "application/json")], b"").body).unwrap();
    assert_eq!(
        (&rows[0]["name"], &rows[0]["count"], &rows[0]["bytes"]),
        (&"con".into(), &4.into(), &12.into())
    );
    let info: serde_json::Value = serde_json::from_slice(&s.client.ask("GET /info").body).unwrap();
    assert_eq!(info["swift"]["policies"][0]["default"], true);
}

#[test]
fn objects_go_when_their_time_is_over() {
    let (_handle, mut s) = with_container("");
    for (name, value) in [("X-Delete-At", "1"), ("X-Delete-After", "0"), ("X-Delete-At", "soon")] {
        assert_eq!(s.send("PUT /con/o", &[(name, value)], b"x").status, 400, "{name}: {value}");
    }
    s.send("PUT /con/o", &[("X-Delete-At", "9999999999")], b"x");
    assert_eq!(s.ask("HEAD /con/o").header("x-delete-at"), Some("9999999999"));
    // A POST that does not name it takes it away.
    s.ask("POST /con/o");
    assert_eq!(s.ask("HEAD /con/o").header("x-delete-at"), None);
    s.send("PUT /con/p", &[("X-Delete-After", "1")], b"first");
    s.send("POST /con/o", &[("X-Delete-After", "1")], b"");
    let gone = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        s.ask("GET /con/o").status == 404
    });
    assert!(gone, "it is read long behind its second");
    assert_eq!((s.ask("HEAD /con/o").status, s.ask("POST /con/o").status), (404, 404));
    assert_eq!(s.send("PUT /con/copy", &[("X-Copy-From", "/con/o")], b"").status, 404);
    // A listing has it until somebody deletes it, and a write finds nothing there.
    assert_eq!(s.ask("GET /con").text(), "o\np\n");
    assert_eq!(s.ask("DELETE /con/o").status, 404);
    assert_eq!(s.send("PUT /con/p", &[("If-None-Match", "*")], b"second").status, 201);
    assert_eq!((s.ask("GET /con").text(), s.ask("GET /con/p").body), ("p\n".to_owned(), b"second".to_vec()));
}

#[test]
fn copies_work_both_ways() {
    let (_handle, mut s) = with_container("");
    s.ask("PUT /two");
    s.send("PUT /con/o%20x", &[("X-Object-Meta-A", "1")], b"content");
    assert_eq!(
        s.send("COPY /con/o%20x", &[("Destination", "two/p"), ("X-Object-Meta-B", "2")], b"").status,
        201
    );
    let got = s.ask("GET /two/p");
    assert_eq!(
        (got.text().as_str(), got.header("x-object-meta-a"), got.header("x-object-meta-b")),
        ("content", Some("1"), Some("2"))
    );
    let copy = s.send("PUT /two/q", &[("X-Copy-From", "/con/o%20x"), ("X-Fresh-Metadata", "true")], b"");
    assert_eq!((copy.status, copy.header("x-copied-from")), (201, Some("con/o%20x")));
    assert_eq!(s.ask("HEAD /two/q").header("x-object-meta-a"), None);
    assert_eq!(s.send("COPY /con/o%20x", &[("Destination", "nowhere")], b"").status, 412);
    assert_eq!(s.send("COPY /con/o%20x", &[("Destination", "none/x")], b"").status, 404);
    assert_eq!(s.send("PUT /two/q", &[("X-Copy-From", "/con/none")], b"").status, 404);
}

#[test]
fn dynamic_large_objects_follow_their_prefix() {
    let (_handle, mut s) = with_container("");
    for (name, text) in [("seg/2", "world"), ("seg/1", "hello "), ("other", "x")] {
        s.send(&format!("PUT /con/{name}"), &[], text.as_bytes());
    }
    assert_eq!(s.send("PUT /con/dlo", &[("X-Object-Manifest", "con/seg/")], b"").status, 201);
    let got = s.ask("GET /con/dlo");
    assert_eq!((got.text().as_str(), got.header("x-object-manifest")), ("hello world", Some("con/seg/")));
    s.send("PUT /con/seg/3", &[], b"!");
    assert_eq!(s.ask("GET /con/dlo").text(), "hello world!");
    assert_eq!(s.ask("HEAD /con/dlo").header("content-length"), Some("12"));
    assert_eq!(s.send("PUT /con/bad", &[("X-Object-Manifest", "nothing")], b"").status, 400);
    assert_eq!(s.send("COPY /con/dlo", &[("Destination", "con/flat")], b"").status, 201);
    let flat = s.ask("GET /con/flat");
    assert_eq!((flat.text().as_str(), flat.header("x-object-manifest")), ("hello world!", None));
}

#[test]
fn static_large_objects_check_their_segments_and_are_deleted_with_them() {
    for mode in ["full", "headers"] {
        let (_handle, mut s) = with_container(&format!("store: {{mode: {mode}}}"));
        let etag = s.send("PUT /con/s1", &[], &pattern(1000)).header("etag").unwrap().to_owned();
        s.send("PUT /con/s2", &[], &pattern(500));
        let manifest = format!(
            r#"[{{"path":"/con/s1","etag":"{etag}","size_bytes":1000}},{{"path":"con/s2","range":"100-199"}}]"#
        );
        let put = s.send("PUT /con/slo?multipart-manifest=put", &[], manifest.as_bytes());
        assert_eq!(put.status, 201, "{}", put.text());
        let got = s.ask("GET /con/slo");
        assert_eq!(
            (got.status, got.body.len(), got.header("x-static-large-object")),
            (200, 1100, Some("True")),
            "{mode}"
        );
        if mode == "full" {
            assert_eq!(got.body, [&pattern(1000)[..], &pattern(500)[100..200]].concat());
        }
        assert_eq!(s.ask("GET /con/slo?multipart-manifest=get").text(), manifest);
        assert_eq!(got.header("etag"), put.header("etag"));
        let rows: serde_json::Value =
            serde_json::from_slice(&s.ask("GET /con?format=json&prefix=slo").body).unwrap();
        assert_eq!(rows[0]["bytes"], 1100);
        for bad in [
            r#"[{"path":"/con/none"}]"#,
            r#"[{"path":"/con/s1","size_bytes":1}]"#,
            r#"[{"path":"/con/slo"}]"#,
            "[]",
            "{",
        ] {
            assert_eq!(s.send("PUT /con/x?multipart-manifest=put", &[], bad.as_bytes()).status, 400, "{bad}");
        }
        s.send("PUT /con/s2", &[], b"changed");
        assert_eq!(s.ask("GET /con/slo").status, 409);
        let gone = s.ask("DELETE /con/slo?multipart-manifest=delete");
        assert_eq!((gone.status, gone.text().contains("\"Number Deleted\":3")), (200, true));
        assert_eq!(s.ask("GET /con").status, 204);
    }
}

#[test]
fn null_mode_serves_swift_too() {
    let handle = store("store: {mode: 'null', null_bytes: 10}");
    let mut s = Swift::new(&handle);
    for (line, status) in [
        ("PUT /c", 201),
        ("PUT /c/o", 201),
        ("GET /c/o", 200),
        ("DELETE /c/o", 204),
        ("GET /c", 204),
        ("HEAD /c", 204),
    ] {
        assert_eq!(s.ask(line).status, status, "{line}");
    }
}
