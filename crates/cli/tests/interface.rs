//! The OpenAPI document and the reference page are what the table of routes says: `UPDATE_DOCS=1` writes them again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cosmark_service::api::openapi::{document, routes_as_markdown};
use cosmark_service::api::{ROUTES, Reply, Rule};
use serde_json::Value;

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name)
}

fn same_or_update(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, text).unwrap();
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    let differs = found.lines().zip(text.lines()).position(|(one, other)| one != other);
    assert!(
        found == text,
        "{}, line {}, is not what the table of routes says; UPDATE_DOCS=1 cargo test -p cosmark --test interface",
        path.display(),
        differs.unwrap_or_else(|| found.lines().count().min(text.lines().count())) + 1
    );
}

#[test]
fn the_published_document_is_that_of_the_routes() {
    let text = format!("{:#}\n", document());
    same_or_update(&docs("openapi.json"), &text);
}

#[test]
fn the_reference_page_has_the_table_of_the_routes() {
    let path = docs("rest.md");
    let page = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- routes -->\n", "<!-- end of routes -->");
    let (head, rest) = page.split_once(begin).unwrap();
    let (_, tail) = rest.split_once(end).unwrap();
    same_or_update(&path, &[head, begin, &routes_as_markdown(), end, tail].concat());
}

#[test]
fn the_document_covers_every_route_and_every_reference_in_it_leads_somewhere() {
    let document = document();
    let mut documented = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            documented.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    let routed: BTreeSet<String> =
        ROUTES.iter().map(|route| format!("{} {}", route.method, route.path.replace("{*", "{"))).collect();
    assert_eq!(documented, routed);
    assert_eq!(ROUTES.len(), routed.len(), "a route stands twice in the table");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in references(&document) {
        assert!(schemas.contains_key(&name), "{name} is named and not there");
    }
}

fn references(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Object(map) => {
            let own = map
                .get("$ref")
                .and_then(Value::as_str)
                .map(|text| text.rsplit('/').next().unwrap().to_owned());
            own.into_iter().chain(map.values().flat_map(references)).collect()
        }
        Value::Array(list) => list.iter().flat_map(references).collect(),
        _ => BTreeSet::new(),
    }
}

#[test]
fn what_changes_something_needs_the_role_for_it() {
    let harmless = ["/api/v1/check", "/api/v1/convert"];
    for route in ROUTES {
        let shown = format!("{} {}", route.method, route.path);
        match route.access {
            Rule::Open => assert!(matches!(route.path, "/healthz" | "/api/openapi.json"), "{shown}"),
            Rule::Own => {
                let own = route.path == "/api/v1/session" || route.path.starts_with("/controller/");
                assert!(own, "{shown}");
            }
            Rule::View => assert!(route.method == "GET" || harmless.contains(&route.path), "{shown}"),
            Rule::Operate => assert_ne!(route.method, "GET", "{shown}"),
        }
        assert!(!matches!(route.reply, Reply::Nothing) || route.method != "GET", "{shown}");
    }
}
