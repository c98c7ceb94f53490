//! The console's files, built by `make console` and taken into the library by its build script. Its pages are one page: what
//! is no file of it and no interface is answered with that.

use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::No;

include!(concat!(env!("OUT_DIR"), "/console.rs"));

const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Cosmark</title>\
<meta name=\"viewport\" content=\"width=device-width\"><body style=\"font-family:sans-serif;max-width:40em;margin:3em auto\">\
<h1>Cosmark</h1><p>This controller runs, but it was built without the web console. With Node.js 20.19 or newer run \
<code>make console</code>, then build cosmark again (<code>cargo build --release</code>).</p>\
<p>Everything else works: <code>cosmark submit</code>, <code>cosmark list</code>, <code>cosmark logs</code>, and the \
interface that <a href=\"/api/openapi.json\">/api/openapi.json</a> describes.</p></body></html>";

/// Media types by ending.
const MEDIA: &[(&str, &str)] = &[
    (".html", "text/html; charset=utf-8"),
    (".js", "text/javascript; charset=utf-8"),
    (".css", "text/css; charset=utf-8"),
    (".json", "application/json"),
    (".webmanifest", "application/manifest+json"),
    (".svg", "image/svg+xml"),
    (".png", "image/png"),
    (".ico", "image/x-icon"),
    (".woff2", "font/woff2"),
    (".wasm", "application/wasm"),
    (".txt", "text/plain; charset=utf-8"),
];

/// A file of the console, or its page.
pub async fn file(request: Request) -> Response {
    let path = request.uri().path();
    let is_api =
        ["/api/", "/controller/", "/metrics", "/healthz"].iter().any(|prefix| path.starts_with(prefix));
    if is_api || !matches!(*request.method(), Method::GET | Method::HEAD) {
        // COSBench's console was at /controller/: its users find ours from there.
        if matches!(path, "/controller/" | "/controller/index.html") {
            return axum::response::Redirect::temporary("/").into_response();
        }
        return No::unknown("there is nothing at this path; /api/openapi.json lists what there is")
            .into_response();
    }
    let name = path.trim_start_matches('/');
    if let Some((name, bytes)) = FILES.iter().find(|(known, _)| *known == name) {
        return answer(name, bytes);
    }
    // What looks like a file is not there; what does not is a page of the console.
    if name.rsplit('/').next().is_some_and(|last| last.contains('.')) && name != "index.html" {
        return No::unknown("the console has no such file").into_response();
    }
    match FILES.iter().find(|(known, _)| *known == "index.html") {
        Some((name, bytes)) => answer(name, bytes),
        None => (StatusCode::OK, [(header::CONTENT_TYPE, MEDIA[0].1)], NOT_BUILT).into_response(),
    }
}

fn answer(name: &str, bytes: &'static [u8]) -> Response {
    let media = MEDIA
        .iter()
        .find(|(ending, _)| name.ends_with(ending))
        .map_or("application/octet-stream", |row| row.1);
    // Names in assets/ hold a digest of what is in them.
    let keep = if name.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    ([(header::CONTENT_TYPE, media), (header::CACHE_CONTROL, keep)], bytes).into_response()
}
