//! The interface over HTTP. Every route is a row of [`routes::ROUTES`]: who may use it, what it takes and gives; the router, the
//! access rules, the OpenAPI document and the reference page are made from the rows.

mod answer;
mod archived;
mod bounds;
mod catalog;
mod compare;
mod console;
mod cosbench;
mod download;
mod events;
mod files;
mod history;
mod metrics;
pub mod openapi;
mod routes;
mod runs;
mod session;
mod studies;
mod system;
mod text;
pub mod types;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use crate::api::types::Role;
use crate::auth::secrets::Secrets;
use crate::auth::tokens::Identity;
use crate::auth::{Access, Closed};
use crate::http::relay::{self, Unanswered};
use crate::queue::RunQueue;
use crate::queue::store::Leader;
use crate::studies::Studies;

pub use answer::No;
pub use routes::{Access as Rule, ROUTES, Reply, Route};
pub use system::status_of;

/// The largest body of a request.
const MOST_BODY: usize = 64 << 20;
/// The largest body of somebody who has shown no login yet: many of them may come at once.
const MOST_OF_STRANGER: usize = 4 << 20;
/// The largest body of a login alone.
const MOST_LOGIN: usize = 64 << 10;
/// A request is answered within this time; events and downloads only begin within it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Paths that the controller that leads answers.
const OF_LEADER: [&str; 3] = ["/api/", "/controller/", "/metrics"];

/// What the handlers share.
pub struct App {
    /// Name of this controller.
    pub name: String,
    /// The queue.
    pub queue: Arc<RunQueue>,
    /// Who is let in.
    pub access: Access,
    /// Secrets by name.
    pub secrets: Secrets,
    /// Studies on this machine.
    pub studies: Studies,
    /// Who leads, if not this controller; set by whoever looks after the lease.
    pub leader: tokio::sync::watch::Receiver<Option<crate::queue::store::Leader>>,
    /// When this process began, part of the ids of events.
    pub epoch: u64,
    /// The command that lets a driver of another machine join.
    pub join: Option<String>,
}

/// As every handler sees it.
pub type Shared = Arc<App>;

/// All routes, with everything that holds for each.
pub fn router(app: Shared) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.path, (route.handler)());
    }
    let small = SizeAbove::new(1024)
        .and(NotForContentType::new("text/event-stream"))
        .and(NotForContentType::IMAGES)
        .and(NotForContentType::new("application/gzip"));
    router
        .route_layer(middleware::from_fn_with_state(Arc::clone(&app), guard))
        .fallback(console::file)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&app), only_the_leader))
        .layer(DefaultBodyLimit::max(MOST_BODY))
        .layer(CompressionLayer::new().gzip(true).compress_when(small))
        .layer(middleware::from_fn(with_patience))
        .layer(CatchPanicLayer::custom(|_| {
            No::new(StatusCode::INTERNAL_SERVER_ERROR, "this request failed by a bug; please report it")
                .into_response()
        }))
        .layer(middleware::from_fn(security_headers))
        .with_state(app)
}

/// `GET /api/openapi.json`
async fn show_document() -> answer::Given<serde_json::Value> {
    answer::json(openapi::document())
}

async fn no_such_method() -> No {
    No::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path has no such method; /api/openapi.json lists what there is",
    )
}

async fn with_patience(request: Request, next: Next) -> Response {
    let length = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > MOST_BODY) {
        return No::new(StatusCode::PAYLOAD_TOO_LARGE, "the request is larger than 64 MiB").into_response();
    }
    let request = request.map(bounds::in_time);
    match tokio::time::timeout(PATIENCE, next.run(request)).await {
        Ok(response) => response,
        Err(_) => No::new(StatusCode::SERVICE_UNAVAILABLE, "this took too long; ask for less at a time")
            .into_response(),
    }
}

/// A controller that does not lead passes requests on to the one that does; pages it has itself.
async fn only_the_leader(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let leader = app.leader.borrow().clone();
    let is_page = !OF_LEADER.iter().any(|prefix| request.uri().path().starts_with(prefix));
    let Some(leader) = leader.filter(|_| !is_page) else {
        if let Some(from) = relay::asked_by(app.access.key(), request.method(), request.headers()) {
            request.extensions_mut().insert(ConnectInfo(SocketAddr::new(from, 0)));
        }
        return next.run(request).await;
    };
    if leader.url.is_empty() {
        return nobody_leads(&app).into_response();
    }
    let Leader { name, url, .. } = &leader;
    let unavailable = |text| No::new(StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    if request.headers().contains_key(relay::RELAYED) {
        return unavailable(format!(
            "{name} leads, but {url}, where it says that it is, leads to {}, which does not: ask again in a few seconds; if \
             that goes on, give each controller the --public-url by which the others reach it",
            app.name
        ));
    }
    relay::pass_on(app.access.key(), app.leader.clone(), &leader, request).await.unwrap_or_else(|error| {
        unavailable(match error {
            Unanswered::Away(why) => {
                format!("{name} leads and cannot be reached at {url} ({why}); ask again in a few seconds")
            }
            Unanswered::Overtaken => format!(
                "{name} led when it was asked, gave no answer, and leads no longer: ask again; whether it made a change that was \
                 asked for, look first"
            ),
        })
    })
}

fn nobody_leads(app: &App) -> No {
    let (connected, url) = app.queue.store().connection();
    if connected {
        let text = "no controller leads at the moment; ask again in a few seconds";
        return No::new(StatusCode::SERVICE_UNAVAILABLE, text);
    }
    crate::ServiceError::Away { url }.into()
}

/// Lets in whom the row of the route lets in.
async fn guard(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let method = if *request.method() == Method::HEAD { Method::GET } else { request.method().clone() };
    let row = ROUTES.iter().find(|row| Some(row.path) == path.as_deref() && row.method == method.as_str());
    let rule = row.map_or(Rule::Operate, |row| row.access);
    if rule == Rule::Open {
        return next.run(request).await;
    }
    let from = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let Some(from) = from else { return No::from(Closed::Unknown).into_response() };
    if rule == Rule::Own {
        let Some(_heard) = app.access.hear_stranger(from) else {
            let text = "too many logins and requests of COSBench's kind are on their way from this address; try again";
            return No::new(StatusCode::SERVICE_UNAVAILABLE, text).into_response();
        };
        // COSBench's way has a file in the same body as the login.
        let has_file = row.and_then(|row| row.body).is_some_and(|body| body.starts_with("multipart/"));
        DefaultBodyLimit::max(if has_file { MOST_OF_STRANGER } else { MOST_LOGIN }).apply(&mut request);
        return next.run(request).await;
    }
    let who = match app.access.identify(request.method(), request.headers(), from) {
        Ok(who) => who,
        Err(closed) => return No::from(closed).into_response(),
    };
    if rule == Rule::Operate && who.role != Role::Operate {
        return No::may_only_look(&who).into_response();
    }
    request.extensions_mut().insert(who);
    let login = Access::login_of(request.headers());
    let response = next.run(request).await;
    match login {
        Some(login) => bounds::while_logged_in(&app, login, response),
        None => response,
    }
}

/// Who makes a request that was let in.
pub type Who = axum::Extension<Identity>;

/// What every answer says to browsers. Scripts and everything else come from here alone; styles may stand in the page, which
/// the editor and the charts need.
static HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

async fn security_headers(request: Request, next: Next) -> Response {
    let is_api =
        request.uri().path().starts_with("/api/") || request.uri().path().starts_with("/controller/");
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        if !headers.contains_key(name) {
            headers.insert(name.clone(), HeaderValue::from_static(value));
        }
    }
    if is_api && !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
