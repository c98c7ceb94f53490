//! What programs and editors are told: the OpenAPI document and the reference page are what the table of routes says
//! (`UPDATE_DOCS=1` writes them again), and the schema of workloads what the reader takes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cosmark_service::api::openapi::{document, routes_as_markdown};
use cosmark_service::api::{ROUTES, Reply, Rule};
use cosmark_workload::{Environment, Format};
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

/// The files of a directory and below that end so.
fn files(directory: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let below = entries.flat_map(|path| if path.is_dir() { files(&path, end) } else { vec![path] });
    below.filter(|path| path.extension().is_some_and(|one| one == end)).collect()
}

fn cosmark(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cosmark")).args(args).output().unwrap()
}

#[test]
fn editors_take_every_workload_that_is_run_and_no_key_that_its_storage_has_not() {
    let printed = cosmark(&["schema"]).stdout;
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("workload.json", serde_json::from_slice(&printed).unwrap()).unwrap();
    let index = compiler.compile("workload.json", &mut schemas).unwrap();
    let validate = |yaml: &str| {
        let value: Value = serde_saphyr::from_str(yaml).unwrap();
        schemas.validate(&value, index).map_err(|error| format!("{error:#}"))
    };
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut taken = 0;
    for directory in ["workloads", "crates/workload/tests/data", "testbeds"] {
        for path in files(&repository.join(directory), "yaml") {
            let own = fs::read_to_string(&path).unwrap();
            let (read, _) = cosmark_workload::parse(&own, Format::Yaml, &Environment::default());
            let is_taken = cosmark(&["check", path.to_str().unwrap()]).status.success();
            if let Some(read) = read.filter(|_| is_taken) {
                taken += 1;
                let written = cosmark_workload::to_yaml(&read);
                validate(&own).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                validate(&written).unwrap_or_else(|error| panic!("{}: {error}\n{written}", path.display()));
            }
        }
        for path in files(&repository.join(directory), "xml") {
            let written = cosmark(&["convert", path.to_str().unwrap()]);
            if written.status.success() {
                taken += 1;
                let text = String::from_utf8(written.stdout).unwrap();
                validate(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()));
            }
        }
    }
    assert!(taken > 30, "{taken}");
    let with = |storage: &str| format!("name: x\nstorage: {storage}\nstages: [{{name: a, delay: 1s}}]\n");
    for storage in [
        "{type: s4}",
        "{type: s3, endpoit: 'http://x'}",
        "{type: swift, endpoint: 'http://x', accesskey: x}",
        "{type: webdav, endpoint: 's3://x'}",
        "{type: mock, delay: 1}",
    ] {
        assert!(validate(&with(storage)).is_err(), "{storage}");
    }
    // Every type with what `adaptors` says of its keys is one that an editor knows.
    let tables: Value = serde_json::from_slice(&cosmark(&["adaptors", "--json"]).stdout).unwrap();
    let mut known = 0;
    for what in ["storage", "auth", "nodes"] {
        for row in tables[what].as_array().unwrap() {
            let kind = row["name"].as_str().unwrap();
            for key in row["keys"].as_array().unwrap() {
                let Some(default) = key["default"].as_str().filter(|text| !text.is_empty()) else { continue };
                let name = key["name"].as_str().unwrap();
                let one = format!("{{type: {kind}, config: {{{name}: '{default}'}}}}");
                let text = match what {
                    "nodes" => format!("nodes: [{}]", one.replacen('{', "{name: m1, ", 1)),
                    _ => format!("{what}: {one}"),
                };
                let text = format!("name: x\n{text}\nstages: [{{name: a, delay: 1s}}]\n");
                validate(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                known += 1;
            }
        }
    }
    assert!(known > 50, "{known}");
}
