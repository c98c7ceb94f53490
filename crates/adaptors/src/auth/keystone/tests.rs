//! Keystone logins against scripted servers, with answers as real Keystones write them.

use serde_json::{Value, json};

use super::*;
use crate::scripted::{self, Script, Scripted};

async fn login(url: &str, more: &[(&str, &str)]) -> Result<Session> {
    let (settings, problems) =
        Settings::parse(KEYS, [("auth_url", url)].into_iter().chain(more.iter().copied()));
    assert!(problems.is_empty(), "{problems:?}");
    (DEF.open)(&settings)?.login().await
}

const USER: &[(&str, &str)] = &[("username", "bench"), ("password", "hunter2"), ("tenant_name", "lab")];

fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    USER.iter().chain(more).copied().collect()
}

fn v3_token(catalog: &Value) -> Script {
    let body = json!({ "token": {
        "issued_at": "2026-03-01T10:00:00.000000Z", "expires_at": "2026-03-01T11:00:00.000000Z",
        "user": { "name": "bench" }, "catalog": catalog,
    } });
    Script::status("201 Created", "X-Subject-Token: gAAAAA-token\r\n", &body.to_string())
}

fn v3_catalog() -> Value {
    let endpoint = |interface: &str, region: &str, url: &str| json!({ "interface": interface, "region": region, "region_id": region, "url": url });
    json!([
        { "type": "identity", "name": "keystone", "endpoints": [endpoint("public", "RegionOne", "http://k:5000/v3")] },
        { "type": "object-store", "name": "radosgw", "endpoints": [endpoint("public", "RegionTwo", "http://rgw/swift/v1")] },
        { "type": "object-store", "name": "swift", "endpoints": [
            endpoint("admin", "RegionOne", "http://admin:8080"),
            endpoint("internal", "RegionOne", "http://in:8080/v1/AUTH_1"),
            endpoint("public", "RegionOne", "http://out:8080/v1/AUTH_1/"),
        ] },
    ])
}

fn body_of(server: &Scripted, at: usize) -> Value {
    let request = server.requests().remove(at);
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test(flavor = "current_thread")]
async fn a_v3_password_login_gives_token_url_and_lifetime() {
    let server = scripted::serve(vec![v3_token(&v3_catalog())]);
    let session = login(&server.url("/v3"), &with(&[("user_domain", "Users")])).await.unwrap();
    assert_eq!(session.token, Some(Secret::new("gAAAAA-token")));
    assert_eq!(session.storage_url.as_deref(), Some("http://out:8080/v1/AUTH_1"));
    let left = session.expires_at.unwrap() - Instant::now();
    assert!(left > Duration::from_secs(3400) && left <= Duration::from_secs(3540), "{left:?}");
    assert!(server.requests()[0].starts_with("POST /v3/auth/tokens HTTP/1.1\r\n"));
    assert_eq!(
        body_of(&server, 0),
        json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": {
                "name": "bench", "domain": { "name": "Users" }, "password": "hunter2" } } },
            "scope": { "project": { "name": "lab", "domain": { "id": "default" } } },
        } })
    );
}

#[tokio::test(flavor = "current_thread")]
async fn domains_are_known_by_name_or_by_id_as_in_workloads_of_forks() {
    const ID: &str = "0f9b3c5d7e8a4b1c9d2e6f7081a2b3c4";
    let (id, name) = (|id: &str| json!({ "id": id }), |name: &str| json!({ "name": name }));
    type Keys<'a> = &'a [(&'a str, &'a str)];
    let cases: [(Keys<'_>, Value, Value); 7] = [
        (&[("domain", "default")], id("default"), id("default")),
        (&[("domain", "Corp")], name("Corp"), name("Corp")),
        (&[("user_domain", ID), ("project_domain", "default")], id(ID), id("default")),
        (&[("domain", ID), ("user_domain", "Users")], name("Users"), id(ID)),
        (&[("domain", "Corp"), ("project_domain_id", "p")], name("Corp"), id("p")),
        (&[("user_domain", "Default")], name("Default"), id("default")),
        (&[("user_domain_name", &ID[1..])], name(&ID[1..]), id("default")),
    ];
    for (keys, user, project) in cases {
        let server = scripted::serve(vec![v3_token(&v3_catalog())]);
        login(&server.url("/v3"), &with(keys)).await.unwrap();
        let body = body_of(&server, 0);
        assert_eq!(body["auth"]["identity"]["password"]["user"]["domain"], user, "{keys:?}");
        assert_eq!(body["auth"]["scope"]["project"]["domain"], project, "{keys:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn application_credentials_and_ready_tokens_are_other_methods() {
    let cases: &[(&[(&str, &str)], Value)] = &[
        (
            &[
                ("application_credential_id", "ac1"),
                ("application_credential_secret", "s"),
                ("tenant_name", "ignored"),
            ],
            json!({ "identity": { "methods": ["application_credential"],
                "application_credential": { "id": "ac1", "secret": "s" } } }),
        ),
        (
            &[
                ("application_credential_name", "n"),
                ("application_credential_secret", "s"),
                ("username", "u"),
            ],
            json!({ "identity": { "methods": ["application_credential"], "application_credential": {
                "name": "n", "secret": "s", "user": { "name": "u", "domain": { "id": "default" } } } } }),
        ),
        (
            &[("usertoken", "tk"), ("tenant_id", "p1")],
            json!({ "identity": { "methods": ["token"], "token": { "id": "tk" } }, "scope": { "project": { "id": "p1" } } }),
        ),
    ];
    for (keys, expected) in cases {
        let server = scripted::serve(vec![v3_token(&v3_catalog())]);
        login(&server.url(""), keys).await.unwrap();
        assert_eq!(body_of(&server, 0)["auth"], *expected);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn region_interface_and_service_choose_the_endpoint() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[], "http://out:8080/v1/AUTH_1"),
        (&[("interface", "internal")], "http://in:8080/v1/AUTH_1"),
        (&[("region", "RegionTwo")], "http://rgw/swift/v1"),
        (&[("service", "radosgw")], "http://rgw/swift/v1"),
        (&[("service_type", "identity")], "http://k:5000/v3"),
    ];
    for (keys, url) in cases {
        let server = scripted::serve(vec![v3_token(&v3_catalog())]);
        let session = login(&server.url("/v3"), &with(keys)).await.unwrap();
        assert_eq!(session.storage_url.as_deref(), Some(*url), "{keys:?}");
    }
}

/// A catalogue, further keys, words of the error.
type Missing<'a> = (Value, &'a [(&'a str, &'a str)], &'a str);

#[tokio::test(flavor = "current_thread")]
async fn a_catalogue_without_the_store_is_told_with_what_it_has() {
    let cases: Vec<Missing<'_>> = vec![
        (
            v3_catalog(),
            &[("region", "Mars")],
            "object-store `swift` (admin in RegionOne, internal in RegionOne, public",
        ),
        (
            v3_catalog(),
            &[("service", "minio")],
            "no public endpoint of a service named `minio` in the catalogue; it has",
        ),
        (json!([]), &[], "it has nothing"),
    ];
    for (catalog, keys, words) in cases {
        let server = scripted::serve(vec![v3_token(&catalog)]);
        let error = login(&server.url("/v3"), &with(keys)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert!(error.message().contains(words) && error.hint().is_some(), "{error}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_wrong_password_and_a_wrong_project_are_told_apart() {
    let denied = || {
        let body = json!({ "error": { "code": 401, "message": "The request you have made requires authentication." } });
        Script::status("401 Unauthorized", "", &body.to_string())
    };
    let server = scripted::serve(vec![denied(), denied()]);
    let error = login(&server.url("/v3"), USER).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(
        error.message().contains("wrong user or password (user `bench`, domain id `default`)"),
        "{error}"
    );
    assert!(!error.to_string().contains("hunter2"));

    let projects = json!({ "projects": [{ "name": "alpha" }, { "name": "beta" }] }).to_string();
    let server =
        scripted::serve(vec![denied(), v3_token(&json!([])), Script::status("200 OK", "", &projects)]);
    let error = login(&server.url("/v3"), USER).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.message().contains("has no project `lab`"), "{error}");
    assert!(error.message().contains("its projects: alpha, beta"), "{error}");
    assert_eq!(body_of(&server, 1)["auth"]["scope"], "unscoped");
    assert!(server.requests()[2].contains("X-Auth-Token: gAAAAA-token\r\n"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_token_that_keystone_does_not_know_is_denied_although_it_says_404() {
    let body = json!({ "error": { "code": 404, "message": "Could not find token." } }).to_string();
    let server = scripted::serve(vec![Script::status("404 Not Found", "", &body)]);
    let error =
        login(&server.url("/v3"), &[("usertoken", "hunter2"), ("tenant_name", "lab")]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(
        error.message().contains("Could not find token") && !error.to_string().contains("hunter2"),
        "{error}"
    );
}

#[tokio::test(flavor = "current_thread")]
async fn a_v2_login_is_cosbenchs() {
    let body = json!({ "access": {
        "token": { "id": "tk2", "issued_at": "2014-01-30T15:30:58.819584", "expires": "2014-01-31T15:30:58Z" },
        "serviceCatalog": [
            { "name": "nova", "type": "compute", "endpoints": [] },
            { "name": "swift", "type": "object-store", "endpoints": [
                { "region": "regionOne", "publicURL": "http://p/v1/AUTH_1", "internalURL": "http://i", "adminURL": "http://a" } ] },
        ],
    } });
    let server = scripted::serve(vec![Script::status("200 OK", "", &body.to_string())]);
    let session = login(&server.url("/v2.0"), &with(&[("service", "swift")])).await.unwrap();
    assert_eq!(session.token, Some(Secret::new("tk2")));
    assert_eq!(session.storage_url.as_deref(), Some("http://p/v1/AUTH_1"));
    assert!(session.expires_at.unwrap() > Instant::now() + Duration::from_secs(80_000));
    assert!(server.requests()[0].starts_with("POST /v2.0/tokens HTTP/1.1\r\n"));
    let expected = json!({ "auth": { "passwordCredentials": { "username": "bench", "password": "hunter2" }, "tenantName": "lab" } });
    assert_eq!(body_of(&server, 0), expected);
}

#[tokio::test(flavor = "current_thread")]
async fn answers_that_are_not_keystones_are_told_with_the_usual_url() {
    let cases = [
        ("/v3", Script::status("404 Not Found", "", "no"), "usual URLs"),
        ("/v2.0", Script::status("404 Not Found", "", "no"), "end auth_url in /v3"),
        ("/v3", Script::status("200 OK", "", "<html>"), "without an X-Subject-Token line"),
        ("/v3", Script::status("200 OK", "X-Subject-Token: x\r\n", "<html>"), "without a v3 token"),
        ("/v2.0", Script::status("200 OK", "", "{}"), "without a v2.0 token"),
        ("/v3", Script::status("400 Bad Request", "", r#"{"error":{"message":"no 'user'"}}"#), "no 'user'"),
        ("/v3", Script::status("500 Oops", "", ""), "auth service's own log"),
    ];
    for (path, script, words) in cases {
        let server = scripted::serve(vec![script]);
        let error = login(&server.url(path), USER).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.hint().is_some(), "{error}");
    }
    let error = login(&scripted::closed_port_url("/v3"), USER).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect);
}

#[test]
fn the_version_comes_from_the_url_unless_it_is_given() {
    let cases = [
        ("http://k:5000/v3/", "auto", "http://k:5000/v3", Version::V3),
        ("http://k:5000/v2.0", "auto", "http://k:5000/v2.0", Version::V2),
        ("http://k/identity", "auto", "http://k/identity/v3", Version::V3),
        ("http://k/identity/v3/auth/tokens", "auto", "http://k/identity/v3", Version::V3),
        ("http://k:5000/v2.0/tokens", "3", "http://k:5000/v3", Version::V3),
        ("http://k:5000", "2.0", "http://k:5000/v2.0", Version::V2),
    ];
    for (url, asked, expected, version) in cases {
        assert_eq!(versioned(url, asked), (expected.to_owned(), version));
    }
}

#[test]
fn missing_credentials_are_a_config_error_before_anything_is_sent() {
    let cases: &[&[(&str, &str)]] = &[
        &[],
        &[("application_credential_id", "x")],
        &[("application_credential_name", "x"), ("application_credential_secret", "s")],
    ];
    for entries in cases {
        let (settings, _) =
            Settings::parse(KEYS, [("url", "http://k/v3")].into_iter().chain(entries.iter().copied()));
        let error = (DEF.open)(&settings).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.hint().is_some());
    }
}
