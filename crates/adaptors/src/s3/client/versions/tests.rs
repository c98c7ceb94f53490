//! Versioned buckets against scripted servers.

use std::sync::Arc;

use cosmark_adaptor_api::{Client, Session, Settings};

use super::*;
use crate::s3::DEF;
use crate::scripted::{Script, Scripted, serve};

fn client(server: &Scripted, more: &[(&str, &str)]) -> Box<dyn Client> {
    let url = server.url("");
    let own = [("endpoint", url.as_str()), ("accesskey", "AKID"), ("secretkey", "hunter2")];
    let (settings, problems) = Settings::parse(DEF.keys, own.into_iter().chain(more.iter().copied()));
    assert!(problems.is_empty(), "{problems:?}");
    (DEF.open)(&settings).unwrap().client(&Arc::new(Session::default())).unwrap()
}

fn ok(body: &str) -> Script {
    Script::status("200 OK", "", body)
}

#[tokio::test(flavor = "current_thread")]
async fn a_created_bucket_gets_the_versioning_that_was_asked_for() {
    for (word, asked) in
        [("enabled", "<Status>Enabled</Status>"), ("suspended", "<Status>Suspended</Status>")]
    {
        let server = serve(vec![
            Script::status("409 Conflict", "", "<Error><Code>BucketAlreadyOwnedByYou</Code></Error>"),
            ok(""),
        ]);
        let mut client = client(&server, &[("versioning", word)]);
        client.create_container("b-1", &mut Marks::default()).await.unwrap();
        let request = &server.requests()[1];
        assert!(request.starts_with("PUT /b-1?versioning") && request.contains(asked), "{request}");
    }
    let server = serve(vec![
        ok(""),
        Script::status("501 Not Implemented", "", "<Error><Code>NotImplemented</Code></Error>"),
    ]);
    client(&server, &[]).create_container("b-1", &mut Marks::default()).await.unwrap();
    assert_eq!(server.requests().len(), 1, "by default nothing is asked");
    let server = serve(vec![
        ok(""),
        Script::status("501 Not Implemented", "", "<Error><Code>NotImplemented</Code></Error>"),
    ]);
    let error =
        client(&server, &[("versioning", "enabled")]).create_container("b-1", &mut Marks::default()).await;
    assert_eq!(error.unwrap_err().code(), Some("NotImplemented"), "a store without versions says so");
}

const FIRST: &str = "<ListVersionsResult><Name>b-1</Name><IsTruncated>true</IsTruncated><NextKeyMarker>k&lt;</NextKeyMarker>\
    <NextVersionIdMarker>v2</NextVersionIdMarker>\
    <DeleteMarker><Key>a</Key><VersionId>m1</VersionId><IsLatest>true</IsLatest></DeleteMarker>\
    <Version><Key>a</Key><VersionId>v1</VersionId><IsLatest>false</IsLatest></Version>\
    <Version><Key>k&lt;</Key><VersionId>v2</VersionId><IsLatest>true</IsLatest></Version></ListVersionsResult>";
const SECOND: &str = "<ListVersionsResult><IsTruncated>false</IsTruncated>\
    <DeleteMarker><Key>k&lt;</Key><VersionId>m0</VersionId><IsLatest>false</IsLatest></DeleteMarker></ListVersionsResult>";
const MARKS_ONLY: &str = "<ListVersionsResult><IsTruncated>false</IsTruncated>\
    <DeleteMarker><Key>a</Key><VersionId>m1</VersionId><IsLatest>true</IsLatest></DeleteMarker>\
    <Version><Key>k&lt;</Key><VersionId>v2</VersionId><IsLatest>true</IsLatest></Version></ListVersionsResult>";

#[tokio::test(flavor = "current_thread")]
async fn old_versions_go_before_the_marks_of_deletion_and_objects_that_are_there_stay() {
    let deleted = || ok("<DeleteResult/>");
    let server = serve(vec![
        ok(FIRST),
        deleted(),
        ok(SECOND),
        deleted(),
        ok(MARKS_ONLY),
        deleted(),
        Script::status("409 Conflict", "", "<Error><Code>BucketNotEmpty</Code></Error>"),
    ]);
    let mut client = client(&server, &[("purge_versions", "true")]);
    let error = client.delete_container("b-1", &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.status(), Some(409), "an object is still there: {error}");
    let requests = server.requests();
    assert!(requests[0].starts_with("GET /b-1?versions"), "{}", requests[0]);
    assert!(
        requests[2].starts_with("GET /b-1?key-marker=k%3C&version-id-marker=v2&versions"),
        "{}",
        requests[2]
    );
    let listed = |at: usize| -> Vec<&str> {
        crate::http::xml_scan::texts(requests[at].as_bytes(), "VersionId").collect()
    };
    assert_eq!((listed(1), listed(3), listed(5)), (vec!["v1"], vec!["m0"], vec!["m1"]));
    assert!(requests[6].starts_with("DELETE /b-1 "), "{}", requests[6]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_listing_of_versions_that_leads_nowhere_is_an_error_and_a_missing_bucket_is_not() {
    let endless = FIRST.replace("v1", "v0");
    let deleted = || ok("<DeleteResult/>");
    let server = serve(vec![ok(&endless), deleted(), ok(&endless), deleted()]);
    let error =
        client(&server, &[("purge_versions", "true")]).delete_container("b-1", &mut Marks::default()).await;
    let error = error.unwrap_err();
    assert!(error.kind() == ErrorKind::Protocol && error.message().contains("same page"), "{error}");
    let nowhere = Script::status("404 Not Found", "", "<Error><Code>NoSuchBucket</Code></Error>");
    let server = serve(vec![nowhere.clone(), nowhere]);
    client(&server, &[("purge_versions", "true")])
        .delete_container("b-1", &mut Marks::default())
        .await
        .unwrap();
    for bad in [
        "<html/>",
        "<ListVersionsResult><IsTruncated>true</IsTruncated></ListVersionsResult>",
        "<ListVersionsResult><Version><Key>a</Key></Version></ListVersionsResult>",
    ] {
        assert_eq!(read(bad.as_bytes()).unwrap_err().kind(), ErrorKind::Protocol, "{bad}");
    }
}
