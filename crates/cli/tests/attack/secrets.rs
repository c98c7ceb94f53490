//! A secret that the controller keeps goes to the places for which it was stored, whatever key names another.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::service_bed::{Controller, workload};
use crate::table::Attacks;

/// Somebody who waits for a secret, and counts who comes.
struct Ear {
    port: u16,
    heard: Arc<AtomicUsize>,
}

impl Ear {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&heard);
        std::thread::spawn(move || {
            for _ in listener.incoming() {
                count.fetch_add(1, Ordering::AcqRel);
            }
        });
        Self { port, heard }
    }
}

/// What the controller answers, in one text.
fn answer_of(c: &Controller, target: &str) -> (bool, String) {
    let (status, tested) = c.send("POST", "targets/test", &json!({ "target": target }));
    let text = workload("leak", 1);
    let rest = text.split_once("stages:").unwrap().1;
    let source = format!("name: leak\n{target}stages:{rest}");
    let (submitted, answer) = c.send("POST", "runs", &json!({ "source": source }));
    (status != 200 && submitted != 201, format!("{status} {tested} {submitted} {answer}"))
}

/// Every key of every storage and auth with a secret that names a host: type, secret key, key.
fn keys_that_name_hosts(c: &Controller) -> Vec<(bool, String, String, String)> {
    let mut found = Vec::new();
    for row in c.get("adaptors").as_array().unwrap() {
        let keys = row["keys"].as_array().unwrap();
        let Some(secret) = keys.iter().find(|key| key["secret"] == json!(true)) else { continue };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for key in keys {
            let (name, kind) = (text(&key["name"]), text(&key["value"]));
            let names_a_host = kind == "URL"
                || ["endpoint", "proxyhost", "proxyd-url", "storage_host", "hosts"].contains(&name.as_str())
                    && key["reach"].is_null();
            if names_a_host {
                found.push((row["kind"] == "storage", text(&row["name"]), text(&secret["name"]), name));
            }
        }
    }
    found
}

#[test]
fn a_secret_goes_to_the_places_that_it_was_stored_for_and_to_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let mut attacks = Attacks::on("secrets of the service");
    let c = Controller::start(dir.path());
    let (prod, ear) = (Ear::open(), Ear::open());
    let (home, evil) = (format!("http://127.0.0.1:{}", prod.port), format!("http://127.0.0.1:{}", ear.port));
    let kept = json!({ "value": "pr0d-s3cret", "endpoints": [home] });
    assert_eq!(c.send("PUT", "secrets/prod", &kept).0, 204);
    let keys = keys_that_name_hosts(&c);
    assert!(keys.len() > 20, "{keys:?}");
    for (is_storage, kind, secret, key) in &keys {
        let value = if key == "proxyhost" { "127.0.0.2".to_owned() } else { evil.clone() };
        let spec = format!("{{type: {kind}, {secret}: {{secret: prod}}, {key}: '{value}'}}");
        let target = match is_storage {
            true => format!("storage: {spec}\n"),
            false => format!("auth: {spec}\nstorage: {{type: swift}}\n"),
        };
        let (refused, said) = answer_of(&c, &target);
        attacks.judge(
            &format!("{kind}: {key}"),
            "a kept secret",
            refused && !said.contains("pr0d-s3cret"),
            &said,
        );
    }
    let s3 =
        |rest: &str| format!("storage: {{type: s3, accesskey: a, secretkey: {{secret: prod}}, {rest}}}\n");
    for (what, target) in [
        ("a second endpoint", s3(&format!("endpoint: '{home},{evil}'"))),
        (
            "a login before the host",
            s3(&format!("endpoint: 'http://127.0.0.1:{}@127.0.0.1:{}'", prod.port, ear.port)),
        ),
        ("another spelling", s3(&format!("url: '{evil}'"))),
        ("another case", s3(&format!("ENDPOINT: '{evil}'"))),
        ("a proxy", s3(&format!("endpoint: '{home}', proxyhost: 127.0.0.3, proxyport: {}", ear.port))),
        ("the secret as the address", s3("endpoint: {secret: prod}")),
        (
            "an auth elsewhere",
            format!(
                "auth: {{type: swauth, auth_url: '{evil}', username: 'a:u', password: p}}\n{}",
                s3(&format!("endpoint: '{home}'"))
            ),
        ),
        ("the usual address", s3("path_style_access: true")),
    ] {
        let (refused, said) = answer_of(&c, &target);
        attacks.judge(what, "a kept secret", refused && !said.contains("pr0d-s3cret"), &said);
    }
    std::fs::write(dir.path().join("state/secrets/old"), "0ld-s3cret\n").unwrap();
    let old = s3(&format!("endpoint: '{home}'")).replace("secret: prod", "secret: old");
    let (refused, said) = answer_of(&c, &old);
    let held = refused && said.contains("set it again with its endpoints") && !said.contains("0ld-s3cret");
    attacks.judge("one that was stored for no place", "a kept secret", held, &said);
    let heard = ear.heard.load(Ordering::Acquire);
    attacks.judge("all of them", "whoever listens elsewhere", heard == 0, &format!("{heard} connections"));
    assert_eq!(prod.heard.load(Ordering::Acquire), 0, "nothing was sent before it was refused");
    let (_, tested) =
        c.send("POST", "targets/test", &json!({ "target": s3(&format!("endpoint: '{home}/'")) }));
    let came = prod.heard.load(Ordering::Acquire);
    attacks.judge("none: the place that it was stored for", "a kept secret", came > 0, &tested.to_string());
}
