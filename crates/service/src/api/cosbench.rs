//! COSBench's own endpoints, for the scripts and `cli.sh` that people have: COSBench 0.4.2's `/controller/cli/*.action`, the
//! timeline and the downloads. Texts and columns are COSBench's. What differs: `password` is a token of this controller,
//! `username` any word; who has none gets 401, but for programs of this machine where the operator allows it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::extract::multipart::MultipartError;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequest, Multipart, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use cosmark_archive::{StageRecord, TimeZone, Timestamp, open_run};

use super::answer::{Path, blocking};
use super::archived::directory;
use super::files::{attachment, is_foreign};
use super::runs::{find, source};
use super::text::text_of;
use super::{MOST_BODY, No, Shared};
use crate::api::types::{Role, RunSummary, Submission};
use crate::auth::tokens::Identity;
use crate::auth::{Closed, basic, bearer};

/// Parameters of a login.
pub const LOGIN: &[(&str, &str)] = &[("username", "any word"), ("password", "a token")];
/// The same with a run.
pub const LOGIN_AND_ID: &[(&str, &str)] =
    &[("username", "any word"), ("password", "a token"), ("id", "id of the run, such as w12")];

/// The largest form without a file.
const MOST_FORM: usize = 64 << 10;

/// A text, as COSBench answers.
fn text(status: StatusCode, text: impl Into<String>) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text.into()).into_response()
}

type Fields = BTreeMap<String, String>;

fn fields(urlencoded: &str) -> Fields {
    let decode = |part: &str| {
        let part = part.replace('+', " ");
        percent_encoding::percent_decode_str(&part).decode_utf8_lossy().into_owned()
    };
    let pairs = urlencoded.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
        .collect()
}

/// Who asks, by COSBench's ways or ours.
fn identify(
    app: &Shared,
    method: &Method,
    headers: &HeaderMap,
    from: SocketAddr,
    fields: &Fields,
    needed: Role,
) -> Result<Identity, Box<Response>> {
    let given = |name: &str| fields.get(name).filter(|value| !value.is_empty());
    // COSBench's own `cli.sh` says this where nobody gave it a login, in the query or the form, and curl in a header.
    let is_usual = |user: &str, password: &str| user == "anonymous" && password == "cosbench";
    let by_header = || {
        !headers.contains_key(header::AUTHORIZATION)
            || basic(headers).is_some_and(|(user, password)| is_usual(&user, &password))
    };
    let has_none = match (given("username"), given("password")) {
        (None, None) => !headers.contains_key(header::COOKIE) && by_header(),
        (Some(user), Some(password)) => is_usual(user, password),
        _ => false,
    };
    let found = if let Some(who) = app.access.nameless(headers, from).filter(|_| has_none) {
        Ok(who)
    } else if bearer(headers).is_some() {
        app.access.identify(method, headers, from.ip())
    } else {
        match (given("username"), given("password")) {
            (Some(_), Some(password)) => app.access.by_token(password, from.ip()),
            _ => app.access.identify(method, headers, from.ip()),
        }
    };
    let who = found.map_err(|closed| {
        let user = given("username").map_or("", String::as_str);
        let (status, sentence) = match closed {
            Closed::TooMany => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many wrong tokens came from this address; wait half a minute".to_owned(),
            ),
            Closed::Foreign => (StatusCode::FORBIDDEN, No::from(closed).text().to_owned()),
            // The password may be a token with a slip in it.
            Closed::Wrong => (StatusCode::UNAUTHORIZED, format!("User info [{user}:***] incorrect !")),
            Closed::Unknown => (
                StatusCode::UNAUTHORIZED,
                "Please input complete user info [username:password] to get authentication!".to_owned(),
            ),
        };
        let mut response = text(status, format!("{sentence}\n"));
        if status == StatusCode::UNAUTHORIZED {
            let basic = header::HeaderValue::from_static("Basic realm=\"cosmark\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, basic);
        }
        Box::new(response)
    })?;
    if needed == Role::Operate && who.role != Role::Operate {
        return Err(Box::new(text(StatusCode::FORBIDDEN, No::may_only_look(&who).text())));
    }
    Ok(who)
}

/// What was asked by somebody who may.
struct Call {
    fields: Fields,
}

/// Reads the query and, where there is one, the form.
async fn call(app: &Shared, from: SocketAddr, request: Request, needed: Role) -> Result<Call, Box<Response>> {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let mut all = fields(request.uri().query().unwrap_or_default());
    let is_form = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("application/x-www-form-urlencoded"));
    if is_form {
        let bytes = axum::body::to_bytes(request.into_body(), MOST_FORM).await;
        let bytes = bytes.map_err(|_| Box::new(text(StatusCode::BAD_REQUEST, "Bad Request")))?;
        all.extend(fields(&String::from_utf8_lossy(&bytes)));
    }
    identify(app, &method, &headers, from, &all, needed)?;
    Ok(Call { fields: all })
}

/// `submit.action` and `config.action`
pub async fn submit(
    State(app): State<Shared>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    match try_submit(&app, from, request).await {
        Ok(response) => response,
        Err(response) => *response,
    }
}

/// A form that cannot be read, in COSBench's words; in ours where it is too large.
fn unread(cause: &MultipartError) -> Box<Response> {
    Box::new(match cause.status() {
        StatusCode::PAYLOAD_TOO_LARGE => text(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the form is too large: at most 64 MiB, and 4 MiB where its login does not stand in the query or a header\n",
        ),
        _ => text(StatusCode::OK, "Bad Request"),
    })
}

/// A workload in an encoding that is not read, by the line where that shows.
fn not_read(line: usize) -> Box<Response> {
    let why = format!("line {line} of the file is not UTF-8; save the file in UTF-8\n");
    Box::new(text(StatusCode::OK, why))
}

async fn try_submit(app: &Shared, from: SocketAddr, mut request: Request) -> Result<Response, Box<Response>> {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let mut all = fields(request.uri().query().unwrap_or_default());
    // Who gives a login in the query or a header is known before the file is read; for a login in the form it has to be.
    let early = bearer(&headers).is_some() || all.contains_key("password");
    if early || !headers.contains_key(header::CONTENT_TYPE) {
        identify(app, &method, &headers, from, &all, Role::Operate)?;
    }
    if early || app.access.nameless(&headers, from).is_some() {
        DefaultBodyLimit::max(MOST_BODY).apply(&mut request);
    }
    let bad = || Box::new(text(StatusCode::OK, "Bad Request"));
    let mut form = match Multipart::from_request(request, app).await {
        Ok(form) => form,
        Err(_) => {
            identify(app, &method, &headers, from, &all, Role::Operate)?;
            return Err(bad());
        }
    };
    let mut submission = None;
    while let Some(field) = form.next_field().await.map_err(|cause| unread(&cause))? {
        let name = field.name().unwrap_or_default().to_owned();
        let file_name = field.file_name().map(str::to_owned);
        match name.as_str() {
            "config" => {
                let bytes = field.bytes().await.map_err(|cause| unread(&cause))?;
                let source = cosmark_workload::encoding::text_of(bytes.into()).map_err(not_read)?;
                submission = Some(Submission { source, file_name, ..Submission::default() });
            }
            "username" | "password" => {
                let value = field.text().await.map_err(|cause| unread(&cause))?;
                all.insert(name, value);
            }
            _ => {}
        }
    }
    let who = identify(app, &method, &headers, from, &all, Role::Operate)?;
    let submission = submission.ok_or_else(bad)?;
    Ok(match app.queue.submit(submission, &who.name).await {
        Ok((id, _)) => text(StatusCode::OK, format!("Accepted with ID: {id}\n")),
        Err(refused) => text(StatusCode::OK, format!("{}\n", No::from(refused).text())),
    })
}

/// `Thu Jul 12 04:37:31 MDT 2012`: how Java writes a date.
fn java_date(rfc3339: Option<&str>) -> String {
    let at: Option<Timestamp> = rfc3339.and_then(|text| text.parse().ok());
    at.map_or_else(String::new, |at| {
        at.to_zoned(TimeZone::system()).strftime("%a %b %d %H:%M:%S %Z %Y").to_string()
    })
}

/// The state in COSBench's words, which has none for a run whose process was killed: something ended it.
pub(super) fn state(run: &RunSummary) -> String {
    if run.state == "killed" { "TERMINATED".to_owned() } else { run.state.to_uppercase() }
}

fn line(run: &RunSummary) -> String {
    format!("{}\t{}\t{}\n", run.id, java_date(run.submitted.as_deref()), state(run))
}

/// `index.action`
pub async fn index(
    State(app): State<Shared>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    if let Err(response) = call(&app, from, request, Role::View).await {
        return *response;
    }
    let drivers = app.queue.runner().pool.drivers();
    let mut out = String::from("Drivers:\n");
    for driver in &drivers {
        // A driver of ours has no URL: it dials out. Its host stands there.
        out.push_str(&format!("{}\t{}\n", driver.name, driver.host));
    }
    out.push_str(&format!("Total: {} drivers\n\nActive Workloads:\n", drivers.len()));
    let active = app.queue.active();
    for run in &active {
        let stage = run.stage.as_deref().unwrap_or("None");
        out.push_str(&format!(
            "{}\t{}\t{}\t{stage}\n",
            run.id,
            java_date(run.submitted.as_deref()),
            state(run)
        ));
    }
    out.push_str(&format!("Total: {} active workloads\n", active.len()));
    text(StatusCode::OK, out)
}

/// The run that is asked for by somebody who may.
async fn run_of(
    app: &Shared,
    from: SocketAddr,
    request: Request,
    needed: Role,
) -> Result<RunSummary, Response> {
    let call = call(app, from, request, needed).await.map_err(|response| *response)?;
    match call.fields.get("id").filter(|id| !id.is_empty()) {
        Some(id) => named(app, id).await,
        None => Err(text(StatusCode::BAD_REQUEST, "Bad Request\n")),
    }
}

/// The run with this id.
async fn named(app: &Shared, id: &str) -> Result<RunSummary, Response> {
    find(app, id).await.map_err(|no| match no.status() {
        StatusCode::NOT_FOUND => text(StatusCode::NOT_FOUND, "Not Found\n"),
        status => text(status, format!("{}\n", no.text())),
    })
}

/// `workload.action`
pub async fn workload(
    State(app): State<Shared>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    match run_of(&app, from, request, Role::View).await {
        Ok(run) => text(StatusCode::OK, line(&run)),
        Err(response) => response,
    }
}

/// `cancel.action`; of a run that is over it answers the same line, as COSBench does.
pub async fn cancel(
    State(app): State<Shared>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let run = match run_of(&app, from, request, Role::Operate).await {
        Ok(run) => run,
        Err(response) => return response,
    };
    if app.queue.find(&run.id).is_some()
        && let Err(refused) = app.queue.cancel(&run.id, false).await
    {
        let no = No::from(refused);
        return text(no.status(), format!("{}\n", no.text()));
    }
    match named(&app, &run.id).await {
        Ok(run) => text(StatusCode::OK, line(&run)),
        Err(response) => response,
    }
}

/// `timeline.csv?wid=&sid=`: the CSV of a stage, also of one that runs.
pub async fn timeline(
    State(app): State<Shared>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let call = match call(&app, from, request, Role::View).await {
        Ok(call) => call,
        Err(response) => return *response,
    };
    let (Some(run), Some(stage)) = (call.fields.get("wid").cloned(), call.fields.get("sid").cloned()) else {
        return text(StatusCode::BAD_REQUEST, "Bad Request\n");
    };
    let name = format!("{stage}.csv");
    let read = blocking(move || {
        let dir = directory(&app, &run)?;
        let record = open_run(&dir)?.record;
        let is_it = |one: &&StageRecord| one.id == stage || one.id.split('-').next() == Some(stage.as_str());
        let stage = record.stages.iter().find(is_it).ok_or_else(|| No::unknown("Not Found"))?;
        let bytes = open_run(&dir)?.timeline_text(stage)?;
        Ok(bytes)
    });
    match read.await {
        Ok(bytes) => (attachment(&name, "text/csv; charset=utf-8"), bytes).into_response(),
        Err(no) => text(no.status(), format!("{}\n", no.text())),
    }
}

/// `download-log.do?id=`
pub async fn log(
    State(app): State<Shared>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let run = match run_of(&app, from, request, Role::View).await {
        Ok(run) => run,
        Err(response) => return response,
    };
    let read = blocking(move || {
        let dir = directory(&app, &run.id)?;
        if is_foreign(&dir) {
            return Err(No::unknown(
                "COSBench's own log may hold secrets: read it on the controller's machine",
            ));
        }
        text_of(&dir.join("workload.log")).ok_or_else(|| No::unknown("this run has no log that can be read"))
    });
    match read.await {
        Ok(bytes) => (attachment("workload-log.txt", "text/plain; charset=utf-8"), bytes).into_response(),
        Err(no) => text(no.status(), format!("{}\n", no.text())),
    }
}

/// `download-config.do?id=`
pub async fn config(
    State(app): State<Shared>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let run = match run_of(&app, from, request, Role::View).await {
        Ok(run) => run,
        Err(response) => return response,
    };
    match source(State(app), Path(run.id)).await {
        Ok(axum::Json(texts)) => {
            (attachment("workload-config.xml", "application/xml"), texts.xml.unwrap_or_default())
                .into_response()
        }
        Err(no) => text(no.status(), format!("{}\n", no.text())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_java() {
        let shown = java_date(Some("2026-11-22T05:01:02Z"));
        let words: Vec<&str> = shown.split(' ').collect();
        assert!(words.len() == 6 && words[1] == "Nov" && words[5] == "2026", "{shown}");
        assert_eq!(java_date(None), "");
    }

    #[test]
    fn forms_are_read_with_their_escapes() {
        let read = fields("id=w1&username=a+b&password=%26%3D&empty&=x");
        assert_eq!(read["username"], "a b");
        assert_eq!(read["password"], "&=");
        assert_eq!((read["empty"].as_str(), read[""].as_str()), ("", "x"));
    }
}
