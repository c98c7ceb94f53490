//! Google Cloud Storage against scripted servers: what it asks, and what it makes of the answers.

use cosmark_adaptor_api::{BytesSource, Marks, MultipartPlan, ObjectName, PutOptions};

use super::client::{bytes_of_range, read_page, upload_place};
use super::*;
use crate::scripted::{Script, Scripted, serve};
use crate::service_account::tests::{key_file, verified};

const NAME: ObjectName<'static> = ObjectName { container: "b", object: "a/b c" };

fn opened(entries: &[(&str, &str)]) -> Result<Arc<dyn Adaptor>> {
    let (settings, problems) = Settings::parse(KEYS, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    open(&settings)
}

fn client(server: &Scripted, entries: &[(&str, &str)]) -> Box<dyn Client> {
    let url = server.url("");
    let entries = [&[("endpoint", url.as_str()), ("project", "p")], entries].concat();
    opened(&entries).unwrap().client(&Arc::default()).unwrap()
}

#[test]
fn what_a_store_has_of_an_upload_is_no_number_beyond_all() {
    for (range, bytes) in [
        ("bytes=0-99", 100),
        ("0-0", 1),
        ("bytes=0-18446744073709551615", 0),
        ("bytes", 0),
        ("bytes=0--1", 2),
    ] {
        assert_eq!(bytes_of_range(range), bytes, "{range}");
    }
}

#[test]
fn where_an_upload_goes_on_is_read_without_its_host() {
    let cases = [
        ("https://storage.example/upload/x?upload_id=1", Some("/upload/x?upload_id=1")),
        ("/upload/x?upload_id=1", Some("/upload/x?upload_id=1")),
        ("https://storage.example", None),
        ("https://storage.example/", None),
        ("", None),
        ("https://storage.example/a b", None),
    ];
    for (location, place) in cases {
        assert_eq!(upload_place(location).as_deref(), place, "{location}");
    }
}

#[test]
fn pages_are_read_with_and_without_names() {
    let page =
        read_page(br#"{"kind":"x","nextPageToken":"t","items":[{"name":"a\"b"},{"name":"c","x":1}]}"#, true)
            .unwrap();
    assert_eq!((page.count, page.next.as_deref()), (2, Some("t")));
    assert_eq!(page.names, ["a\"b", "c"]);
    let page = read_page(b"{}", true).unwrap();
    assert_eq!((page.count, page.next), (0, None));
    for none in [b"<html>".as_slice(), br#"{"error":{"code":500,"message":"no"}}"#] {
        assert_eq!(read_page(none, false).unwrap_err().kind(), ErrorKind::Protocol);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_upload_is_done_only_where_the_answer_is_one_and_has_all_bytes() {
    for (answer, expected) in [
        (r#"{"size":"3"}"#, None),
        ("{}", None),
        (r#"{"size":"0"}"#, Some(ErrorKind::Protocol)),
        ("", Some(ErrorKind::Protocol)),
        ("<html>log in</html>", Some(ErrorKind::Protocol)),
    ] {
        let server = serve(vec![Script::status("200 OK", "", answer)]);
        let mut client = client(&server, &[]);
        let put = client.put(NAME, &BytesSource(b"abc"), PutOptions::default(), &mut Marks::default()).await;
        assert_eq!(put.err().map(|error| error.kind()), expected, "{answer}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_key_file_signs_tokens_that_the_store_can_check_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key.json");
    let (text, public_key) = key_file("https://unused.example/token");
    std::fs::write(&file, text).unwrap();
    let server = serve(vec![Script::status("200 OK", "", "{}"), Script::status("204 No Content", "", "")]);
    let mut client = client(&server, &[("jsonkeyfile", file.to_str().unwrap())]);
    client.probe(&mut Marks::default()).await.unwrap();
    client.set_session(&Arc::new(Session { token: Some(Secret::new("given")), ..Session::default() }));
    client.delete(NAME, &mut Marks::default()).await.unwrap();
    let requests = server.requests();
    let token = requests[0].split("Authorization: Bearer ").nth(1).unwrap().lines().next().unwrap();
    let claims = verified(token, &public_key);
    assert_eq!(
        (claims["aud"].as_str(), &claims["sub"]),
        (Some("https://storage.googleapis.com/"), &claims["iss"])
    );
    assert!(requests[1].starts_with("DELETE /storage/v1/b/b/o/a%2Fb%20c HTTP/1.1"), "{}", requests[1]);
    assert!(requests[1].contains("Authorization: Bearer given\r\n"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_large_write_goes_in_chunks_and_is_given_up_when_one_fails() {
    let begun =
        || Script::status("200 OK", "Location: https://elsewhere.example/upload/s?upload_id=7\r\n", "");
    let goes_on =
        |last: u64| Script::status("308 Resume Incomplete", &format!("Range: bytes=0-{last}\r\n"), "");
    let server = serve(vec![
        begun(),
        goes_on(262_143),
        Script::status("200 OK", "", "{\"size\":\"300000\"}"),
        begun(),
        goes_on(1000),
        Script::status("499 Client Closed Request", "", ""),
    ]);
    let mut client = client(&server, &[]);
    let content = vec![5; 300_000];
    let plan = MultipartPlan { part_size_bytes: 1000, concurrency: 4 };
    let mut marks = Marks::default();
    client.put_multipart(NAME, &BytesSource(&content), plan, &mut marks).await.unwrap();
    assert_eq!((marks.requests, marks.body_bytes), (3, 300_000));
    let error =
        client.put_multipart(NAME, &BytesSource(&content), plan, &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    let heads: Vec<String> =
        server.requests().iter().map(|request| request.lines().next().unwrap().to_owned()).collect();
    assert_eq!(
        heads[0],
        "POST /upload/storage/v1/b/b/o?uploadType=resumable&name=a%2Fb%20c&fields=size HTTP/1.1"
    );
    assert_eq!(heads[2], "PUT /upload/s?upload_id=7 HTTP/1.1");
    assert_eq!(heads[5], "DELETE /upload/s?upload_id=7 HTTP/1.1");
    assert!(server.requests()[2].contains("Content-Range: bytes 262144-299999/300000\r\n"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_bucket_that_somebody_else_owns_is_an_error_and_ones_own_is_not() {
    let conflict = || {
        Script::status(
            "409 Conflict",
            "",
            r#"{"error":{"code":409,"message":"Taken.","errors":[{"reason":"conflict"}]}}"#,
        )
    };
    let server = serve(vec![
        conflict(),
        Script::status("200 OK", "", "{}"),
        conflict(),
        Script::status("403 Forbidden", "", "{}"),
    ]);
    let mut client = client(&server, &[("location", "EU")]);
    client.create_container("b", &mut Marks::default()).await.unwrap();
    let error = client.create_container("b", &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.message(), "create bucket b: status 409 conflict: Taken");
    assert!(error.hint().unwrap().contains("cprefix"));
    assert!(server.requests()[0].ends_with(r#"{"location":"EU","name":"b"}"#), "{}", server.requests()[0]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_token_that_is_refused_is_told_apart_from_a_store_that_is_not_there() {
    let server = serve(vec![Script::status("401 Unauthorized", "", "Anonymous caller\n")]);
    let mut refused = client(&server, &[("token", "expired-token")]);
    let error = refused.probe(&mut Marks::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(!format!("{error:?}").contains("expired-token"));
    let url = crate::scripted::closed_port_url("");
    let mut gone = opened(&[("endpoint", &url)]).unwrap().client(&Arc::default()).unwrap();
    let put = gone.put(NAME, &BytesSource(b"x"), PutOptions::default(), &mut Marks::default()).await;
    assert_eq!(put.unwrap_err().kind(), ErrorKind::Connect);
}
