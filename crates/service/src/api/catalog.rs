//! The protocols that can be used, the workloads that come with Cosmark, and the secrets that the controller stores.

use axum::extract::State;
use axum::http::StatusCode;
use cosmark_driver::describe::{adaptor_as_json, auth_as_json};
use cosmark_driver::places::Address;
use cosmark_driver::schema::workload_schema;
use cosmark_driver::secrets::{Secrets as Hidden, resolve_target};
use cosmark_driver::{cosbench_xml, native_yaml, read_target};
use cosmark_nodes::source::SOURCES;
use cosmark_workload::model::{Config, TargetSpec};
use cosmark_workload::{Environment, Format, Span, parse_what_is_there};
use serde_json::Value;

use super::answer::{Body, Given, Path, blocking, json};
use super::{No, Shared};
use crate::api::types::{ConvertText, Converted, LibraryEntry, SecretValue, TargetTest, TargetText};
use crate::auth::secrets::{LONGEST, is_name};
use crate::check::placed;
use crate::drivers::Tried;

include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// `GET adaptors`
pub async fn adaptors(State(app): State<Shared>) -> Given<Vec<Value>> {
    let catalog = &app.queue.runner().reader.catalog;
    let of_kind = |kind: &str, mut row: Value| {
        row["kind"] = kind.into();
        row
    };
    let storages = catalog.adaptors.iter().map(|def| of_kind("storage", adaptor_as_json(def)));
    let auths = catalog.auths.iter().map(|def| of_kind("auth", auth_as_json(def)));
    json(storages.chain(auths).collect())
}

/// `POST targets/test`
pub async fn test(State(app): State<Shared>, Body(wish): Body<TargetText>) -> Given<TargetTest> {
    json(
        blocking(move || {
            let reader = &app.queue.runner().reader;
            let (target, found) = read_target(&reader.catalog, &wish.target);
            let Some(target) = target else {
                return Err(No::mistakes(placed(&wish.target, &found)));
            };
            let none =
                || TargetSpec { kind: "none".to_owned(), config: Config::default(), span: Span::default() };
            let mut auth = target.auth.unwrap_or_else(none);
            let Some(mut storage) = target.storage else {
                return Err(No::bad("a target that can be tried has a storage"));
            };
            resolve_target(&reader.catalog, &mut auth, &mut storage, &reader.secrets).map_err(No::bad)?;
            let hidden = Hidden::of_target(&reader.catalog, &auth, &storage);
            let Tried { driver, ms, outcome } = app.queue.runner().pool.try_target(&auth, &storage);
            Ok(match outcome {
                Ok(()) => TargetTest {
                    ok: true,
                    ms,
                    message: "logged in, and the store answered".to_owned(),
                    hint: None,
                    driver,
                },
                Err(text) => {
                    let text = hidden.hide(&text);
                    let (message, hint) = match text.split_once("; ") {
                        Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
                        None => (text, None),
                    };
                    TargetTest { ok: false, ms, message, hint, driver }
                }
            })
        })
        .await?,
    )
}

/// `GET library`
pub async fn library() -> Given<Vec<LibraryEntry>> {
    json(LIBRARY.iter().map(|(kind, path, source)| entry(kind, path, source)).collect())
}

fn entry(kind: &str, path: &str, source: &str) -> LibraryEntry {
    let file = path.rsplit('/').next().unwrap_or_default();
    let parent = path.rsplit('/').nth(1).unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let name = if stem == "target" { parent } else { stem };
    let titled = source.lines().find_map(|line| line.strip_prefix("name:")).map(str::trim);
    let comment = source
        .lines()
        .map(|line| line.trim_start_matches(['#', '<', '!', '-', ' ']))
        .find(|line| !line.is_empty());
    let summary = comment.unwrap_or_default().trim_end_matches("-->").trim();
    LibraryEntry {
        kind: kind.to_owned(),
        name: name.to_owned(),
        title: titled.unwrap_or(name).to_owned(),
        summary: summary.trim_start_matches("Question: ").to_owned(),
        path: path.to_owned(),
        source: source.to_owned(),
    }
}

/// `POST convert`
pub async fn convert(State(app): State<Shared>, Body(text): Body<ConvertText>) -> Given<Converted> {
    json(
        blocking(move || {
            let source = text.source;
            let format = Format::detect("", &source);
            let (workload, found) = parse_what_is_there(&source, format, &Environment::default());
            let mut mistakes = placed(&source, &found);
            let broken = mistakes
                .iter()
                .any(|one| one.severity == "error" && one.message != cosmark_workload::NO_STORAGE);
            let Some(workload) = workload.filter(|_| !broken) else {
                return Ok(Converted { xml: None, yaml: None, mistakes });
            };
            let catalog = &app.queue.runner().reader.catalog;
            let yaml = native_yaml(catalog, &workload);
            let (xml, lost) = cosbench_xml(catalog, &workload);
            mistakes.extend(placed(&source, &lost));
            Ok(Converted { xml: Some(xml), yaml: Some(yaml), mistakes })
        })
        .await?,
    )
}

/// `GET schema`
pub async fn schema(State(app): State<Shared>) -> Given<Value> {
    let nodes = SOURCES.iter().map(|row| (row.name, row.help, row.keys));
    json(workload_schema(&app.queue.runner().reader.catalog, nodes))
}

/// `GET secrets`
pub async fn secrets(State(app): State<Shared>) -> Given<Vec<String>> {
    json(app.secrets.names()?)
}

/// `PUT secrets/NAME`
pub async fn set_secret(
    State(app): State<Shared>,
    Path(name): Path<String>,
    Body(secret): Body<SecretValue>,
) -> Result<StatusCode, No> {
    if !is_name(&name) {
        return Err(No::bad(
            "a name has 1 to 64 letters, digits, or one of - _ ., and does not begin with a dot",
        ));
    }
    if secret.value.is_empty() || secret.value.len() > LONGEST {
        return Err(No::bad("a secret has 1 to 65536 bytes; DELETE forgets one"));
    }
    let wrong = secret.endpoints.iter().find(|text| Address::parse(text).is_none());
    if let Some(wrong) = wrong {
        return Err(No::bad(format!(
            "`{wrong}` is no endpoint: write https://host:port, host, or a storage type"
        )));
    }
    if secret.endpoints.is_empty() {
        return Err(No::bad(
            "say where the secret may be sent: `endpoints`, such as [\"https://keystone:5000\", \"https://swift:8080\"]",
        ));
    }
    blocking(move || Ok(app.secrets.set(&name, &secret.value, &secret.endpoints)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE secrets/NAME`
pub async fn remove_secret(State(app): State<Shared>, Path(name): Path<String>) -> Result<StatusCode, No> {
    if !is_name(&name) || !app.secrets.remove(&name)? {
        return Err(No::unknown("no secret has this name; GET /api/v1/secrets lists them"));
    }
    Ok(StatusCode::NO_CONTENT)
}
