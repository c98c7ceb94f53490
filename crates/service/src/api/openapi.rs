//! The OpenAPI document (OpenAPI 3.1), made from the rows of the routes and the types of the interface.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::routes::{Access, ROUTES, Reply, Route};
use super::types;

/// Where the document keeps the types.
const SCHEMAS: &str = "/components/schemas";

/// The types that routes take and give, with everything in them.
fn schemas() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = SCHEMAS.into();
    let mut all = settings.into_generator();
    let put: &[fn(&mut SchemaGenerator) -> schemars::Schema] = &[
        SchemaGenerator::subschema_for::<types::Refusal>,
        SchemaGenerator::subschema_for::<types::SessionInfo>,
        SchemaGenerator::subschema_for::<types::Login>,
        SchemaGenerator::subschema_for::<types::Status>,
        SchemaGenerator::subschema_for::<types::DriverInfo>,
        SchemaGenerator::subschema_for::<types::Drain>,
        SchemaGenerator::subschema_for::<types::Submission>,
        SchemaGenerator::subschema_for::<types::CheckResult>,
        SchemaGenerator::subschema_for::<types::Submitted>,
        SchemaGenerator::subschema_for::<types::LostDriver>,
        SchemaGenerator::subschema_for::<types::RunSummary>,
        SchemaGenerator::subschema_for::<types::QueueMove>,
        SchemaGenerator::subschema_for::<types::Cancel>,
        SchemaGenerator::subschema_for::<types::TagChange>,
        SchemaGenerator::subschema_for::<types::Note>,
        SchemaGenerator::subschema_for::<types::Baseline>,
        SchemaGenerator::subschema_for::<types::FileInfo>,
        SchemaGenerator::subschema_for::<types::SourceText>,
        SchemaGenerator::subschema_for::<types::LogLine>,
        SchemaGenerator::subschema_for::<types::TargetText>,
        SchemaGenerator::subschema_for::<types::TargetTest>,
        SchemaGenerator::subschema_for::<types::LibraryEntry>,
        SchemaGenerator::subschema_for::<types::ConvertText>,
        SchemaGenerator::subschema_for::<types::Converted>,
        SchemaGenerator::subschema_for::<types::SecretValue>,
        SchemaGenerator::subschema_for::<types::StudySummary>,
        SchemaGenerator::subschema_for::<types::Study>,
        SchemaGenerator::subschema_for::<types::StudyGrid>,
        SchemaGenerator::subschema_for::<types::StudyPart>,
        SchemaGenerator::subschema_for::<types::SystemEvent>,
        SchemaGenerator::subschema_for::<types::RunEvent>,
    ];
    for one in put {
        one(&mut all);
    }
    all.take_definitions(true)
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#{SCHEMAS}/{schema}") })
}

fn content(media: &str, schema: Value) -> Value {
    json!({ media: { "schema": schema } })
}

/// The media types of a table, each once and without its encoding.
fn medias(some: &[(&str, &'static str)]) -> Vec<&'static str> {
    let mut found: Vec<&str> = Vec::new();
    for media in some.iter().filter_map(|(_, media)| media.split(';').next()) {
        if !found.contains(&media) {
            found.push(media);
        }
    }
    found
}

fn reply(route: &Route) -> (String, Value) {
    let created = matches!(route.reply, Reply::One("Submitted"));
    let status = match route.reply {
        Reply::Nothing => "204",
        _ if created => "201",
        _ => "200",
    };
    let (description, body) = match route.reply {
        Reply::One(schema) => (schema.to_owned(), Some(content("application/json", reference(schema)))),
        Reply::Many(schema) => {
            let list = json!({ "type": "array", "items": reference(schema) });
            (format!("list of {schema}"), Some(content("application/json", list)))
        }
        Reply::Json(what) => {
            (what.to_owned(), Some(content("application/json", json!({ "description": what }))))
        }
        Reply::Media(media) => (media.to_owned(), Some(content(media, json!({ "type": "string" })))),
        Reply::Either(some) => {
            let medias = medias(some);
            let any =
                medias.iter().map(|media| ((*media).to_owned(), json!({ "schema": { "type": "string" } })));
            (medias.join(" or "), Some(Value::Object(any.collect())))
        }
        Reply::Events(schema) => {
            let what = format!("server-sent events; name and data are those of {schema}");
            (what, Some(content("text/event-stream", reference(schema))))
        }
        Reply::Nothing => ("done".to_owned(), None),
    };
    let mut answer = json!({ "description": description });
    if let Some(body) = body {
        answer["content"] = body;
    }
    (status.to_owned(), answer)
}

/// `/a/{*name}` is `/a/{name}` in the document.
fn path_of(route: &Route) -> String {
    route.path.replace("{*", "{")
}

fn parameters(route: &Route) -> Vec<Value> {
    let path = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let path = path.map(|name| {
        let name = name.trim_start_matches('*');
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
    });
    let query = route.query.iter().map(|(name, what)| {
        json!({ "name": name, "in": "query", "required": false, "description": what,
                "schema": { "type": "string" } })
    });
    path.chain(query).collect()
}

fn operation(route: &Route) -> Value {
    let (status, answer) = reply(route);
    let tag = route.path.split('/').find(|part| !matches!(*part, "" | "api" | "v1")).unwrap_or("api");
    let mut responses = Map::new();
    responses.insert(status, answer);
    let refusal =
        json!({ "description": "refused", "content": content("application/json", reference("Refusal")) });
    if !route.path.starts_with("/controller/") {
        responses.insert("default".to_owned(), refusal);
    }
    let mut operation = json!({ "summary": route.summary, "tags": [tag], "parameters": parameters(route), "responses": responses });
    if let Some(body) = route.body {
        let content = if body.contains('/') {
            content(
                body,
                json!({ "type": "object", "properties": { "config": { "type": "string", "format": "binary" } } }),
            )
        } else {
            content("application/json", reference(body))
        };
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    let need = match route.access {
        Access::Open => None,
        Access::View => Some("view"),
        Access::Operate => Some("operate"),
        Access::Own => Some("its own"),
    };
    if let Some(need) = need {
        operation["description"] = format!("Role: {need}.").into();
    }
    if matches!(route.access, Access::Open) {
        operation["security"] = json!([]);
    }
    operation
}

/// The document.
#[must_use]
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(path_of(route)).or_insert_with(|| json!({}));
        path[route.method.to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Cosmark controller",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            "description": "Queue, runs, drivers and results of a Cosmark controller. Scripts send `Authorization: Bearer TOKEN`; \
                            the console has a session cookie, with which changes need the header `X-Cosmark: 1` and an Origin \
                            of its own. Every refusal is a `Refusal`.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": crate::auth::COOKIE },
            },
        },
        "security": [{ "bearer": [] }, { "session": [] }],
    })
}

/// The reference page of the routes, in Markdown: the table of `docs/reference/rest.md`.
#[must_use]
pub fn routes_as_markdown() -> String {
    let mut out = String::from("| method and path | role | takes | gives | |\n|---|---|---|---|---|\n");
    for route in ROUTES {
        let role = match route.access {
            Access::Open => "none",
            Access::View => "view",
            Access::Operate => "operate",
            Access::Own => "own login",
        };
        let query: Vec<String> = route.query.iter().map(|(name, _)| format!("`{name}`")).collect();
        let body = route.body.map(|body| format!("`{body}`")).into_iter();
        let takes: Vec<String> = body.chain(query).collect();
        let gives = match route.reply {
            Reply::One(schema) => format!("`{schema}`"),
            Reply::Many(schema) => format!("list of `{schema}`"),
            Reply::Json(what) => what.to_owned(),
            Reply::Media(media) => media.to_owned(),
            Reply::Either(some) => medias(some).join(", "),
            Reply::Events(schema) => format!("events `{schema}`"),
            Reply::Nothing => "204".to_owned(),
        };
        out.push_str(&format!(
            "| `{} {}` | {role} | {} | {gives} | {} |\n",
            route.method,
            path_of(route),
            takes.join(", "),
            route.summary
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_several_forms_has_each_of_their_media_types() {
        let document = document();
        for (path, media) in [
            ("plot", ["image/svg+xml", "image/png", "application/pdf"].as_slice()),
            ("export", ["text/plain", "application/octet-stream"].as_slice()),
            ("files/{name}", ["application/json", "text/csv", "application/octet-stream"].as_slice()),
        ] {
            let content =
                &document["paths"][format!("/api/v1/runs/{{id}}/{path}")]["get"]["responses"]["200"];
            for one in media {
                assert!(content["content"][*one]["schema"].is_object(), "{path} as {one}: {content}");
            }
        }
        assert_eq!(
            medias(&[("a", "text/x; charset=utf-8"), ("b", "text/x"), ("c", "y/z")]),
            ["text/x", "y/z"]
        );
        assert!(routes_as_markdown().contains("| image/svg+xml, image/png, application/pdf |"));
    }
}
