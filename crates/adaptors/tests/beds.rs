//! The conformance suite against every adaptor: `none`, `mock` and `file` here and now, the others against real servers.
//! Those are ignored unless their test bed runs:
//!
//!     testbeds/swift/up && cargo test -p cosmark-adaptors --test beds -- --ignored swift
//!
//! Each run uses a container of its own and leaves nothing behind.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cosmark_adaptor_api::conformance::{Ground, Verdict, run_all};
use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, AuthDef, BytesSource, ErrorKind, ListRequest, Marks, ObjectName, PutOptions,
    Session, Settings,
};
use cosmark_adaptors::{auth, azure, file, gcs, mock, none, rados, s3, swift, swift_object, webdav};

type Entries<'a> = &'a [(&'a str, &'a str)];

fn adaptor(def: &AdaptorDef, entries: Entries<'_>) -> Arc<dyn Adaptor> {
    let (settings, problems) = Settings::parse(def.keys, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    (def.open)(&settings).unwrap()
}

async fn login(def: &AuthDef, entries: Entries<'_>) -> cosmark_adaptor_api::Result<Arc<Session>> {
    let (settings, problems) = Settings::parse(def.keys, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    (def.open)(&settings)?.login().await.map(Arc::new)
}

/// A container that no other run uses.
fn container() -> String {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    format!("cosmark-{}-{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed))
}

/// Runs the suite; gives the names of the cases that passed.
async fn conform(adaptor: &dyn Adaptor, session: &Arc<Session>) -> Vec<&'static str> {
    let ground = Ground { container: container(), part_size_bytes: 1 << 20 };
    let results = run_all(adaptor, session, &ground).await;
    let failed: Vec<_> =
        results.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Failed(_))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    results.into_iter().filter(|(_, verdict)| *verdict == Verdict::Passed).map(|(case, _)| case).collect()
}

#[tokio::test(flavor = "current_thread")]
async fn none_and_mock_conform() {
    conform(adaptor(&none::DEF, &[]).as_ref(), &Arc::default()).await;
    let session = login(&auth::mock::DEF, &[("delay", "0")]).await.unwrap();
    conform(adaptor(&mock::DEF, &[("delay", "0")]).as_ref(), &session).await;
}

#[tokio::test(flavor = "current_thread")]
async fn file_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let session = login(&auth::none::DEF, &[]).await.unwrap();
    let url = format!("file://{}", directory.path().display());
    let passed = conform(adaptor(&file::DEF, &[("endpoint", &url)]).as_ref(), &session).await;
    assert!(passed.len() >= 15, "{passed:?}");
}

const SWIFT: Entries<'_> =
    &[("auth_url", "http://127.0.0.1:23080/auth/v1.0"), ("username", "test:tester"), ("password", "testing")];

async fn swift_names(adaptor: &dyn Adaptor, session: &Arc<Session>, container: &str) -> Vec<String> {
    let mut client = adaptor.client(session).unwrap();
    let request = ListRequest { container, want_names: true, ..ListRequest::default() };
    client.list(request, &mut Marks::default()).await.unwrap().names
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/swift/up"]
async fn swift_conforms_with_static_large_objects_and_leaves_nothing() {
    let session = login(&auth::swauth::DEF, SWIFT).await.unwrap();
    assert!(session.expires_at.is_some());
    let adaptor = adaptor(&swift::DEF, &[("delete_segments", "true"), ("x_newest", "true")]);
    let passed = conform(adaptor.as_ref(), &session).await;
    assert!(passed.contains(&"multipart_write_comes_back") && passed.len() == 19, "{passed:?}");
    let mine = format!("cosmark-{}-", std::process::id());
    let left = swift_names(adaptor.as_ref(), &session, "").await;
    assert!(!left.iter().any(|name| name.starts_with(&mine) && name.ends_with("_segments")), "{left:?}");
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/swift/up"]
async fn swift_conforms_with_dynamic_large_objects_and_a_storage_policy() {
    let session = login(&auth::swauth::DEF, SWIFT).await.unwrap();
    let segments = format!("{}-parts", container());
    let keys = [("large_object", "dlo"), ("segments_container", segments.as_str()), ("policy", "silver")];
    let adaptor = adaptor(&swift::DEF, &keys);
    conform(adaptor.as_ref(), &session).await;
    // A dynamic manifest does not own its parts: they are there still, three of them.
    let parts = swift_names(adaptor.as_ref(), &session, &segments).await;
    assert_eq!(parts.len(), 3, "{parts:?}");
    let mut client = adaptor.client(&session).unwrap();
    for part in &parts {
        let name = ObjectName { container: &segments, object: part };
        client.delete(name, &mut Marks::default()).await.unwrap();
    }
    client.delete_container(&segments, &mut Marks::default()).await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/swift/up"]
async fn swift_refusals_are_understood() {
    let wrong_key = [SWIFT[0], SWIFT[1], ("password", "wrong-secret")];
    let error = login(&auth::swauth::DEF, &wrong_key).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(!error.to_string().contains("wrong-secret"));
    let no_auth_url = [("auth_url", "http://127.0.0.1:23080/nothing/here"), SWIFT[1], SWIFT[2]];
    let error = login(&auth::swauth::DEF, &no_auth_url).await.unwrap_err();
    assert!(error.to_string().contains("/auth/v1.0"), "{error}");

    let session = login(&auth::swauth::DEF, SWIFT).await.unwrap();
    let adaptor = adaptor(&swift::DEF, &[]);
    let mut client = adaptor.client(&session).unwrap();
    let name = ObjectName { container: "cosmark-no-such-container", object: "x" };
    let put = client.put(name, &BytesSource(b"x"), PutOptions::default(), &mut Marks::default()).await;
    let error = put.unwrap_err();
    assert_eq!(error.status(), Some(404));
    assert!(
        error.message().contains("transaction tx") && error.hint().unwrap().contains("init stage"),
        "{error}"
    );

    let forged = Session {
        token: Some(cosmark_adaptor_api::Secret::new("AUTH_tkforged")),
        ..Session::clone(&session)
    };
    client.set_session(&Arc::new(forged));
    assert!(client.probe(&mut Marks::default()).await.unwrap_err().status() == Some(401));
    client.set_session(&session);
    client.probe(&mut Marks::default()).await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/swift/up"]
async fn swift_empty_containers_list_as_empty_and_missing_ones_are_gone_already() {
    let session = login(&auth::swauth::DEF, SWIFT).await.unwrap();
    let adaptor = adaptor(&swift::DEF, &[]);
    let mut client = adaptor.client(&session).unwrap();
    let container = container();
    client.create_container(&container, &mut Marks::default()).await.unwrap();
    let mut marks = Marks::default();
    let request = ListRequest { container: &container, ..ListRequest::default() };
    let page = client.list(request, &mut marks).await.unwrap();
    assert_eq!((page.count, page.next), (0, None));
    let error = client.delete_container("cosmark-never-made", &mut Marks::default()).await;
    assert!(error.is_ok(), "{error:?}");
    client.delete_container(&container, &mut Marks::default()).await.unwrap();
}

const USER: Entries<'_> = &[("username", "tester"), ("password", "testing")];

async fn http_login(url: &str) -> Arc<Session> {
    login(&auth::httpauth::DEF, &[("auth_url", url), USER[0], USER[1]]).await.unwrap()
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/apache-dav/up"]
async fn digest_conforms_on_apache_as_do_basic_and_no_login() {
    let open = login(&auth::none::DEF, &[]).await.unwrap();
    let dav = adaptor(&webdav::DEF, &[("endpoint", "http://127.0.0.1:23620/dav")]);
    let passed = conform(dav.as_ref(), &open).await;
    assert_eq!(passed.len(), 15, "{passed:?}");
    for path in ["basic", "digest"] {
        let url = format!("http://127.0.0.1:23620/{path}/");
        let session = http_login(&url).await;
        // The endpoint is the login's own URL.
        let passed = conform(adaptor(&webdav::DEF, &[]).as_ref(), &session).await;
        assert_eq!(passed.len(), 15, "{path}: {passed:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/apache-dav/up"]
async fn digest_nonce_that_runs_out_fails_one_call_or_is_a_counted_retry() {
    let url = "http://127.0.0.1:23620/digest-short/";
    let session = http_login(url).await;
    for (renew, expected_retries) in [("false", 0), ("true", 1)] {
        let adaptor = adaptor(&webdav::DEF, &[("endpoint", url), ("renew_stale", renew)]);
        let mut client = adaptor.client(&session).unwrap();
        let name = ObjectName { container: "none", object: "none" };
        // The session's nonce lives for two seconds.
        tokio::time::sleep(std::time::Duration::from_millis(3500)).await;
        let mut marks = Marks::default();
        let first = client.get(name, None, None, &mut marks).await.unwrap_err();
        assert_eq!(marks.retries, expected_retries, "{first:?}");
        assert_eq!(first.status(), Some(if renew == "true" { 404 } else { 401 }));
        let second = client.get(name, None, None, &mut Marks::default()).await.unwrap_err();
        assert_eq!(second.status(), Some(404));
    }
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/apache-dav/up"]
async fn digest_and_basic_deny_a_wrong_password() {
    for path in ["basic", "digest"] {
        let url = format!("http://127.0.0.1:23620/{path}/");
        let entries = [("auth_url", url.as_str()), ("username", "tester"), ("password", "wrong-secret")];
        let error = login(&auth::httpauth::DEF, &entries).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(!error.to_string().contains("wrong-secret"));
    }
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/nginx-dav/up"]
async fn webdav_as_plain_http_conforms_on_nginx_with_and_without_basic() {
    let open = login(&auth::none::DEF, &[]).await.unwrap();
    let plain = adaptor(&webdav::DEF, &[("endpoint", "http://127.0.0.1:23610/dav"), ("dav", "false")]);
    let passed = conform(plain.as_ref(), &open).await;
    assert!(passed.len() >= 11, "{passed:?}");
    let url = "http://127.0.0.1:23610/basic/";
    let session = http_login(url).await;
    conform(adaptor(&webdav::DEF, &[("endpoint", url), ("dav", "false")]).as_ref(), &session).await;
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/nginx-dav/up"]
async fn webdav_collections_of_nginx_are_only_deleted_unseen_if_the_user_says_so() {
    let (session, container) = (Arc::default(), container());
    let endpoint = ("endpoint", "http://127.0.0.1:23610/dav");
    let mut careful = adaptor(&webdav::DEF, &[endpoint]).client(&session).unwrap();
    careful.create_container(&container, &mut Marks::default()).await.unwrap();
    careful.create_container(&container, &mut Marks::default()).await.unwrap();
    let name = ObjectName { container: &container, object: "a/b" };
    careful.put(name, &BytesSource(b"x"), PutOptions::default(), &mut Marks::default()).await.unwrap();
    let error = careful.delete_container(&container, &mut Marks::default()).await.unwrap_err();
    assert!(error.hint().unwrap().contains("recursive_delete"), "{error}");
    assert_eq!(careful.head(name, &mut Marks::default()).await.unwrap(), Some(1));
    let mut bold = adaptor(&webdav::DEF, &[endpoint, ("recursive_delete", "true")]).client(&session).unwrap();
    bold.delete_container(&container, &mut Marks::default()).await.unwrap();
    assert_eq!(bold.head(name, &mut Marks::default()).await.unwrap_err().status(), Some(404));
    bold.delete_container(&container, &mut Marks::default()).await.unwrap();
}

/// The test bed's, or another one's in which the user `bench` (password `benchpass`) has a role in the project `bench`, and
/// whose catalogue's object store is a Swift that trusts it.
fn keystone_url() -> String {
    std::env::var("COSMARK_TEST_KEYSTONE").unwrap_or_else(|_| "http://127.0.0.1:23050/v3".to_owned())
}

const PROJECT_USER: Entries<'_> =
    &[("username", "bench"), ("password", "benchpass"), ("tenant_name", "bench")];

async fn keystone_login(more: Entries<'_>) -> cosmark_adaptor_api::Result<Arc<Session>> {
    let url = keystone_url();
    let entries: Vec<(&str, &str)> =
        [("auth_url", url.as_str())].into_iter().chain(PROJECT_USER.iter().chain(more).copied()).collect();
    login(&auth::keystone::DEF, &entries).await
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/keystone/up"]
async fn keystone_logs_in_and_tells_its_refusals_apart() {
    let session = keystone_login(&[]).await.unwrap();
    assert!(session.token.is_some() && session.expires_at.is_some());
    assert!(session.storage_url.as_deref().unwrap().contains("/v1/AUTH_"), "{session:?}");
    let token = session.token.as_ref().unwrap().expose().to_owned();
    let by_token = keystone_login(&[("username", ""), ("usertoken", &token)]).await.unwrap();
    assert_eq!(by_token.storage_url, session.storage_url);

    let cases: &[(Entries<'_>, ErrorKind, &str)] = &[
        (&[("password", "wrong-secret")], ErrorKind::Denied, "wrong user or password"),
        (&[("username", "nobody")], ErrorKind::Denied, "wrong user or password"),
        (&[("user_domain", "Nowhere")], ErrorKind::Denied, "wrong user or password"),
        (&[("tenant_name", "secret-lab")], ErrorKind::Denied, "its projects: bench"),
        (&[("region", "Mars")], ErrorKind::Denied, "public in RegionOne"),
        (&[("service", "minio")], ErrorKind::Denied, "object-store `swift`"),
    ];
    for (keys, kind, words) in cases {
        let error = keystone_login(keys).await.unwrap_err();
        assert_eq!(error.kind(), *kind, "{error}");
        assert!(error.message().contains(words) && error.hint().is_some(), "{error}");
        assert!(!error.to_string().contains("wrong-secret"));
    }
    let unversioned = keystone_url().replace("/v3", "");
    let entries = [("auth_url", unversioned.as_str()), PROJECT_USER[0], PROJECT_USER[1], PROJECT_USER[2]];
    login(&auth::keystone::DEF, &entries).await.unwrap();
    let old = format!("{unversioned}/v2.0");
    let entries = [("auth_url", old.as_str()), PROJECT_USER[0], PROJECT_USER[1], PROJECT_USER[2]];
    let error = login(&auth::keystone::DEF, &entries).await.unwrap_err();
    assert!(error.to_string().contains("no v2.0"), "{error}");
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/keystone/up"]
async fn keystone_opens_a_swift_that_conforms() {
    let session = keystone_login(&[]).await.unwrap();
    let adaptor = adaptor(&swift::DEF, &[("delete_segments", "true")]);
    assert_eq!(conform(adaptor.as_ref(), &session).await.len(), 19);
}

const CEPH: Entries<'_> = &[
    ("endpoint", "v2:127.0.0.1:23500"),
    ("accesskey", "bench"),
    ("secretkey", "AQAA8VNlAAAAABAAVQfPnAnzh15KCbP+cGHKHg=="),
];

fn ceph(more: Entries<'_>) -> Arc<dyn Adaptor> {
    adaptor(&rados::DEF, &[CEPH, more].concat())
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/ceph/up"]
async fn ceph_conforms_by_librados_in_namespaces_in_pools_and_in_pools_that_it_creates() {
    let session = Arc::default();
    let passed = conform(ceph(&[("pool", "bench")]).as_ref(), &session).await;
    assert_eq!(passed.len(), 16, "{passed:?}");
    let passed = conform(ceph(&[("pool", "bench"), ("piece", "64KiB")]).as_ref(), &session).await;
    assert_eq!(passed.len(), 16, "{passed:?}");
    let passed = conform(ceph(&[("create_pools", "true")]).as_ref(), &session).await;
    assert_eq!(passed.len(), 16, "{passed:?}");
    let ground = Ground { container: "cosbench1".into(), part_size_bytes: 1 << 20 };
    for (case, verdict) in run_all(ceph(&[]).as_ref(), &session, &ground).await {
        assert!(!matches!(verdict, Verdict::Failed(_)), "{case}: {verdict:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/ceph/up"]
async fn ceph_conforms_by_its_gateways_s3_and_swift() {
    let keys = [
        ("endpoint", "http://127.0.0.1:23580"),
        ("accesskey", "cosmark"),
        ("secretkey", "cosmark-secret"),
        ("path_style_access", "true"),
    ];
    let ground = Ground { container: container(), part_size_bytes: 5 << 20 };
    let adaptor_s3 = adaptor(&s3::DEF, &keys);
    for (case, verdict) in run_all(adaptor_s3.as_ref(), &Arc::default(), &ground).await {
        // This gateway refuses an empty body in signed chunks, which is how that case begins. That longer ones come back
        // is shown with the binary.
        let refused =
            |text: &str| case == "chunked_write_comes_back" && text.contains("XAmzContentSHA256Mismatch");
        assert!(!matches!(&verdict, Verdict::Failed(text) if !refused(text)), "s3 {case}: {verdict:?}");
    }
    let keys = [
        ("auth_url", "http://127.0.0.1:23580/auth/v1.0"),
        ("username", "bench:swift"),
        ("password", "swiftsecret"),
    ];
    let session = login(&auth::swauth::DEF, &keys).await.unwrap();
    let passed = conform(adaptor(&swift::DEF, &[]).as_ref(), &session).await;
    assert!(passed.len() >= 15, "{passed:?}");
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/ceph/up"]
async fn ceph_tells_a_user_who_may_not_write_so_and_refuses_objects_that_are_too_long() {
    let reader =
        [CEPH[0], ("accesskey", "reader"), ("secretkey", "AQAA8VNlAAAAABAAzvYJfypVOL/sCRK9Ub8UZw==")];
    let adaptor_reader = adaptor(&rados::DEF, &[&reader[..], &[("pool", "bench")]].concat());
    let mut client = adaptor_reader.client(&Arc::default()).unwrap();
    client.probe(&mut Marks::default()).await.unwrap();
    let name = ObjectName { container: "cosmark-reader", object: "x" };
    let put = client.put(name, &BytesSource(b"x"), PutOptions::default(), &mut Marks::default()).await;
    let error = put.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(403), Some("EPERM")), "{error}");

    let bench = ceph(&[("pool", "bench"), ("piece", "64MiB")]);
    let mut client = bench.client(&Arc::default()).unwrap();
    let long = vec![7_u8; (128 << 20) + 1];
    let name = ObjectName { container: "cosmark-long", object: "x" };
    let put = client.put(name, &BytesSource(&long), PutOptions::default(), &mut Marks::default()).await;
    let error = put.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(413), Some("EFBIG")), "{error}");
    let _ = client.delete(name, &mut Marks::default()).await;
}

/// Both ways in with which the test bed's application credential can be named.
#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/keystone/up"]
async fn keystone_takes_an_application_credential_and_refuses_a_wrong_secret() {
    let url = keystone_url();
    let entries = |secret| {
        [
            ("auth_url", url.as_str()),
            ("username", "bench"),
            ("application_credential_name", "bench-app"),
            ("application_credential_secret", secret),
        ]
    };
    let session = login(&auth::keystone::DEF, &entries("benchappsecret")).await.unwrap();
    assert!(session.storage_url.as_deref().unwrap().contains("/v1/AUTH_"), "{session:?}");
    let error = login(&auth::keystone::DEF, &entries("wrong-secret")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.message().contains("application credential"), "{error}");
    assert!(!error.to_string().contains("wrong-secret"));
}

/// The emulator's published account.
const AZURITE: Entries<'_> = &[
    ("endpoint", "http://127.0.0.1:23900/devstoreaccount1"),
    ("account", "devstoreaccount1"),
    (
        "account_key",
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    ),
];

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/azurite/up"]
async fn azure_conforms_on_azurite_with_the_account_key() {
    let adaptor = adaptor(&azure::DEF, AZURITE);
    let passed = conform(adaptor.as_ref(), &Arc::default()).await;
    assert!(passed.contains(&"multipart_write_comes_back") && passed.len() == 17, "{passed:?}");
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/azurite/up"]
async fn azure_conforms_on_azurite_with_a_sas_that_up_made() {
    // `up` writes it: read, write, delete, list, add, create for a day.
    let base = std::env::var("COSMARK_TESTBED_DIR")
        .unwrap_or_else(|_| format!("{}/.cache/cosmark-testbeds", std::env::var("HOME").unwrap()));
    let sas = std::fs::read_to_string(format!("{base}/azurite/sas")).unwrap();
    let adaptor = adaptor(&azure::DEF, &[AZURITE[0], ("sas", sas.trim())]);
    let passed = conform(adaptor.as_ref(), &Arc::default()).await;
    assert_eq!(passed.len(), 17, "{passed:?}");
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/azurite/up"]
async fn azure_refusals_of_azurite_are_understood() {
    let wrong = [AZURITE[0], AZURITE[1], ("account_key", "d3Jvbmcta2V5LXdyb25nLWtleQ==")];
    let mut client = adaptor(&azure::DEF, &wrong).client(&Arc::default()).unwrap();
    let error = client.probe(&mut Marks::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.hint().unwrap().contains("account_key"), "{error}");
    let mut client = adaptor(&azure::DEF, AZURITE).client(&Arc::default()).unwrap();
    let name = ObjectName { container: "cosmark-never-made", object: "x" };
    let put = client.put(name, &BytesSource(b"x"), PutOptions::default(), &mut Marks::default()).await;
    let error = put.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(404), Some("ContainerNotFound")), "{error}");
    assert!(error.hint().unwrap().contains("init stage"), "{error}");
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/fake-gcs/up"]
async fn gcs_conforms_on_fake_gcs() {
    let entries = [("endpoint", "http://127.0.0.1:23910"), ("project", "testbed")];
    let adaptor = adaptor(&gcs::DEF, &entries);
    let passed = conform(adaptor.as_ref(), &Arc::default()).await;
    assert!(passed.contains(&"multipart_write_comes_back") && passed.len() == 18, "{passed:?}");
}

/// Past the proxy: the suite's containers need not exist.
#[tokio::test(flavor = "current_thread")]
#[ignore = "needs a running test bed: testbeds/swift/up"]
async fn swift_object_servers_conform_without_the_proxy_and_what_they_take_the_proxy_gives_back() {
    let base = std::env::var("COSMARK_TESTBED_DIR")
        .unwrap_or_else(|_| format!("{}/.cache/cosmark-testbeds", std::env::var("HOME").unwrap()));
    let (ring, conf) = (format!("{base}/swift/etc/object.ring.gz"), format!("{base}/swift/etc/swift.conf"));
    let direct = |replica: &'static str| {
        let keys = [("ring", ring.as_str()), ("swift_conf", conf.as_str()), ("replica", replica)];
        adaptor(&swift_object::DEF, &keys)
    };
    let session = Arc::default();
    for replica in ["1", "3"] {
        let passed = conform(direct(replica).as_ref(), &session).await;
        assert!(passed.len() >= 10, "{passed:?}");
    }
    let proxy_session = login(&auth::swauth::DEF, SWIFT).await.unwrap();
    let mut proxy = adaptor(&swift::DEF, &[]).client(&proxy_session).unwrap();
    let container = container();
    proxy.create_container(&container, &mut Marks::default()).await.unwrap();
    let name = ObjectName { container: &container, object: "dir/by the ring" };
    let mut node = direct("1").client(&session).unwrap();
    node.put(name, &BytesSource(b"written to one node"), PutOptions::default(), &mut Marks::default())
        .await
        .unwrap();
    let mut sink = cosmark_adaptor_api::CollectSink::new(100);
    proxy.get(name, None, Some(&mut sink), &mut Marks::default()).await.unwrap();
    assert_eq!(sink.bytes, b"written to one node", "the proxy looks for it where we put it");
    // Most of its nodes have never heard of it, so the proxy's own deletion would be a 404.
    node.delete(name, &mut Marks::default()).await.unwrap();
    proxy.delete_container(&container, &mut Marks::default()).await.unwrap();
}
