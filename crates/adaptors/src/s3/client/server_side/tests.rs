//! What is asked, and what an answer of status 200 can still mean.

use std::sync::Arc;

use cosmark_adaptor_api::{Client, ErrorKind, Marks, ObjectName, Session, Settings};

use crate::s3::DEF;
use crate::scripted::{Script, Scripted, serve};

const FROM: ObjectName<'static> = ObjectName { container: "b-1", object: "dir/a b+c" };
const TO: ObjectName<'static> = ObjectName { container: "b-1", object: "copy" };

fn client(server: &Scripted) -> Box<dyn Client> {
    let url = server.url("");
    let entries = [("endpoint", url.as_str()), ("accesskey", "AKID"), ("secretkey", "hunter2")];
    let (settings, problems) = Settings::parse(DEF.keys, entries);
    assert!(problems.is_empty(), "{problems:?}");
    (DEF.open)(&settings).unwrap().client(&Arc::new(Session::default())).unwrap()
}

fn ok(body: &str) -> Script {
    Script::status("200 OK", "", body)
}

#[tokio::test(flavor = "current_thread")]
async fn a_copy_names_its_source_and_is_believed_only_by_its_body() {
    let server = serve(vec![
        ok("<CopyObjectResult><ETag>x</ETag></CopyObjectResult>"),
        ok("<Error><Code>InternalError</Code><Message>late</Message></Error>"),
        Script::status("404 Not Found", "", "<Error><Code>NoSuchKey</Code></Error>"),
    ]);
    let mut client = client(&server);
    let mut marks = Marks::default();
    assert!(client.copy(FROM, TO, &mut marks).await.is_ok());
    let request = &server.requests()[0];
    assert!(request.starts_with("PUT /b-1/copy HTTP/1.1\r\n"), "{request}");
    assert!(request.to_lowercase().contains("\r\nx-amz-copy-source: /b-1/dir/a%20b%2bc\r\n"), "{request}");
    assert!(request.contains("x-amz-copy-source;"), "it is signed: {request}");
    for (kind, code) in [(ErrorKind::Status(500), "InternalError"), (ErrorKind::Status(404), "NoSuchKey")] {
        let error = client.copy(FROM, TO, &mut marks).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (kind, Some(code)));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_bulk_delete_succeeds_only_if_every_object_is_gone() {
    let refused = "<DeleteResult><Error><Key>gone</Key><Code>NoSuchKey</Code></Error>\
                   <Error><Key>k&lt;</Key><Code>AccessDenied</Code><Message>no</Message></Error>\
                   <Error><Key>l</Key><Code>InternalError</Code></Error></DeleteResult>";
    let server = serve(vec![
        ok("<DeleteResult/>"),
        ok("<DeleteResult><Error><Key>gone</Key><Code>NoSuchKey</Code></Error></DeleteResult>"),
        ok(refused),
    ]);
    let mut client = client(&server);
    let objects = vec!["k<".to_owned(), "l".to_owned(), "gone".to_owned()];
    let mut marks = Marks::default();
    for _ in 0..2 {
        client.delete_many("b-1", &objects, &mut marks).await.unwrap();
    }
    let request = &server.requests()[0];
    assert!(request.starts_with("POST /b-1?delete") && request.contains("<Key>k&lt;</Key>"), "{request}");
    assert!(request.to_lowercase().contains("\r\ncontent-md5: "), "{request}");
    assert_eq!(marks.body_bytes, 0, "a list of names is no object data");
    let error = client.delete_many("b-1", &objects, &mut marks).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Status(403), Some("AccessDenied")));
    assert!(error.message().contains("2 objects") && error.message().contains("k<"), "{error}");
    assert_eq!(marks.status, 403);
}

#[tokio::test(flavor = "current_thread")]
async fn a_tag_replaces_the_tags_of_the_object() {
    let server =
        serve(vec![ok(""), Script::status("404 Not Found", "", "<Error><Code>NoSuchKey</Code></Error>")]);
    let mut client = client(&server);
    client.set_metadata(FROM, "a&b", "<1>", &mut Marks::default()).await.unwrap();
    let request = &server.requests()[0];
    assert!(request.starts_with("PUT /b-1/dir/a%20b%2Bc?tagging"), "{request}");
    assert!(request.contains("<Key>a&amp;b</Key><Value>&lt;1&gt;</Value>"), "{request}");
    let error = client.set_metadata(FROM, "k", "v", &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Status(404));
}

#[tokio::test(flavor = "current_thread")]
async fn a_restore_is_taken_or_refused() {
    let busy = "<Error><Code>RestoreAlreadyInProgress</Code></Error>";
    let server = serve(vec![
        Script::status("202 Accepted", "", ""),
        ok(""),
        Script::status("409 Conflict", "", busy),
        Script::status("403 Forbidden", "", "<Error><Code>InvalidObjectState</Code></Error>"),
    ]);
    let mut client = client(&server);
    client.restore(FROM, &mut Marks::default()).await.unwrap();
    client.restore(FROM, &mut Marks::default()).await.unwrap();
    let request = &server.requests()[0];
    assert!(request.starts_with("POST /b-1/dir/a%20b%2Bc?restore"), "{request}");
    assert!(request.contains("<Days>1</Days>") && request.contains("<Tier>Standard</Tier>"), "{request}");
    for code in ["RestoreAlreadyInProgress", "InvalidObjectState"] {
        let error = client.restore(FROM, &mut Marks::default()).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{error}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_proxys_page_says_of_nothing_that_it_is_gone() {
    let page = || Script::status("404 Not Found", "", "<!DOCTYPE html>\n<h1>no such host here</h1>");
    let gone = || Script::status("404 Not Found", "", "");
    let server = serve(vec![page(), page(), gone(), gone()]);
    let mut client = client(&server);
    let mut marks = Marks::default();
    for error in [client.delete(FROM, &mut marks).await, client.delete_container("b-1", &mut marks).await] {
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Protocol, None), "{error}");
    }
    client.delete(FROM, &mut marks).await.unwrap();
    client.delete_container("b-1", &mut marks).await.unwrap();
}
