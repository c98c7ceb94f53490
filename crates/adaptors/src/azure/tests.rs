//! Azure against scripted servers: what it asks, and what it makes of the answers.

use cosmark_adaptor_api::{BytesSource, Marks, MultipartPlan, ObjectName, PutOptions};

use super::client::read_page;
use super::*;
use crate::scripted::{Script, Scripted, serve, serve_with};

const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const NAME: ObjectName<'static> = ObjectName { container: "c", object: "a b/c" };

fn opened(entries: &[(&str, &str)]) -> Result<Arc<dyn Adaptor>> {
    let (settings, problems) = Settings::parse(KEYS, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    open(&settings)
}

fn client(server: &Scripted, entries: &[(&str, &str)]) -> Box<dyn Client> {
    let url = server.url("/acct");
    let entries = [&[("endpoint", url.as_str())], entries].concat();
    opened(&entries).unwrap().client(&Arc::default()).unwrap()
}

#[test]
fn what_cannot_work_is_refused_with_a_remedy() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[], "account"),
        (&[("account", "My_Account")], "small letters"),
        (&[("account", "acct"), ("account_key", "???")], "base64"),
        (&[("endpoint", "http://x"), ("account_key", KEY)], "goes with account"),
        (&[("account", "acct"), ("account_key", KEY), ("sas", "sig=1")], "one of them"),
        (&[("account", "acct"), ("sas", "sv=1")], "no `sig=`"),
        (&[("connection_string", "AccountName")], "without `=`"),
        (&[("account", "acct"), ("api_version", "latest\r\nX: y")], "is no version"),
    ];
    for (entries, words) in cases {
        let error = opened(entries).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Config, "{entries:?}");
        assert!(error.to_string().contains(words) && error.hint().is_some(), "{entries:?}: {error}");
        assert!(!error.to_string().contains(KEY));
    }
}

#[test]
fn a_connection_string_gives_account_key_and_endpoint_and_keys_override_it() {
    let text = format!(
        "DefaultEndpointsProtocol=http;AccountName=acct;AccountKey={KEY};EndpointSuffix=core.example;\
         QueueEndpoint=http://other"
    );
    let read = |more: &[(&str, &str)]| {
        let (settings, _) = Settings::parse(KEYS, [&[("connection_string", text.as_str())], more].concat());
        Account::read(&settings).unwrap()
    };
    let account = read(&[]);
    assert_eq!((account.name.as_str(), account.endpoint.as_str()), ("acct", "http://acct.blob.core.example"));
    assert_eq!(account.key.expose(), KEY);
    assert_eq!(read(&[("endpoint", "http://127.0.0.1:1/acct")]).endpoint, "http://127.0.0.1:1/acct");
    let (settings, _) = Settings::parse(KEYS, [("account", "acct")]);
    assert_eq!(Account::read(&settings).unwrap().endpoint, "https://acct.blob.core.windows.net");
}

#[test]
fn pages_are_read_with_and_without_names() {
    let body = br#"<?xml version="1.0"?><EnumerationResults ContainerName="c"><Blobs><Blob><Name>a&amp;b</Name><Properties>
        <BlobType>BlockBlob</BlobType></Properties></Blob><Blob><Name Encoded="true">x%EF%BF%BF</Name></Blob></Blobs>
        <NextMarker>2!8</NextMarker></EnumerationResults>"#;
    let page = read_page(body, "Blob", true).unwrap();
    assert_eq!((page.count, page.next.as_deref()), (2, Some("2!8")));
    assert_eq!(page.names, ["a&b", "x\u{ffff}"]);
    let last = b"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>";
    let page = read_page(last, "Blob", true).unwrap();
    assert_eq!((page.count, page.next), (0, None));
    for none in [b"<html/>".as_slice(), &body[..150], &last[..last.len() - 3]] {
        assert_eq!(read_page(none, "Blob", false).unwrap_err().kind(), ErrorKind::Protocol);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_copy_is_done_or_under_way_only_where_the_answer_says_so() {
    let cases = [
        ("202 Accepted", "x-ms-copy-status: success\r\n", Ok(false)),
        ("202 Accepted", "x-ms-copy-status: pending\r\n", Ok(true)),
        ("202 Accepted", "", Ok(false)),
        ("202 Accepted", "x-ms-copy-status: failed\r\n", Err(ErrorKind::Protocol)),
        ("202 Accepted", "x-ms-copy-status: aborted\r\n", Err(ErrorKind::Protocol)),
        ("200 OK", "", Err(ErrorKind::Protocol)),
        ("404 Not Found", "", Err(ErrorKind::Status(404))),
    ];
    for (status, lines, expected) in cases {
        let server = serve(vec![Script::status(status, lines, "<html/>")]);
        let to = ObjectName { container: "c", object: "copy" };
        let result = client(&server, &[]).copy(NAME, to, &mut Marks::default()).await;
        assert_eq!(
            result.map(|done| done.accepted_only).map_err(|error| error.kind()),
            expected,
            "{status} {lines}"
        );
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_sas_stands_in_the_query_and_a_token_in_its_line_and_neither_in_an_error() {
    let server = serve_with(|_| {
        Script::status(
            "403 Forbidden",
            "x-ms-error-code: AuthenticationFailed\r\n",
            "<Error><Code>AuthenticationFailed</Code><Message>No.\nRequestId:1</Message></Error>",
        )
    });
    let mut client = client(&server, &[("sas", "?sv=2021&sig=hidden%2B")]);
    let error = client.get(NAME, None, None, &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.message(), "GET c/a b/c: status 403 AuthenticationFailed: No");
    assert!(error.hint().is_some() && !format!("{error:?}").contains("hidden"));
    let denied = client.probe(&mut Marks::default()).await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Denied);
    let session = Session { token: Some(Secret::new("tok\r\nX: y")), ..Session::default() };
    client.set_session(&Arc::new(session));
    client.get(NAME, None, None, &mut Marks::default()).await.unwrap_err();
    let requests = server.requests();
    assert!(requests[0].starts_with("GET /acct/c/a%20b/c?sv=2021&sig=hidden%2B HTTP/1.1"), "{}", requests[0]);
    assert!(requests[2].contains("Authorization: Bearer tok  X: y\r\n"), "{}", requests[2]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_block_that_fails_ends_the_write_with_its_error() {
    let server = serve_with(|request| {
        if request.contains("comp=block&") || request.contains("comp=block ") {
            return Script::status("503 Busy", "x-ms-error-code: ServerBusy\r\n", "");
        }
        Script::status("201 Created", "", "")
    });
    let mut client = client(&server, &[("account", "acct"), ("account_key", KEY)]);
    let plan = MultipartPlan { part_size_bytes: 10, concurrency: 2 };
    let mut marks = Marks::default();
    let error = client.put_multipart(NAME, &BytesSource(&[1; 35]), plan, &mut marks).await.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(503), Some("ServerBusy")));
    assert!(!server.requests().iter().any(|request| request.contains("comp=blocklist")));
    assert_eq!(marks.status, 503);
}

#[tokio::test(flavor = "current_thread")]
async fn a_full_container_is_left_alone_and_a_missing_one_is_gone_already() {
    let full =
        "<EnumerationResults><Blobs><Blob><Name>x</Name></Blob></Blobs><NextMarker/></EnumerationResults>";
    let server = serve(vec![Script::status("200 OK", "", full), Script::status("404 Not Found", "", "")]);
    let mut client = client(&server, &[]);
    let error = client.delete_container("c", &mut Marks::default()).await.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(409), Some("NotEmpty")));
    client.delete_container("c", &mut Marks::default()).await.unwrap();
    assert!(server.requests().iter().all(|request| request.starts_with("GET ")));
}

#[tokio::test(flavor = "current_thread")]
async fn a_body_without_a_length_is_refused_before_it_is_sent() {
    let server = serve(Vec::new());
    let mut client = client(&server, &[]);
    let options = PutOptions { chunked: true };
    let error = client.put(NAME, &BytesSource(b"x"), options, &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(server.requests().is_empty());
}
