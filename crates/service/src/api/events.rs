//! Server-sent events (WHATWG HTML, 9.2). Ids are `<process>.<number>`: a client that comes again to the same process goes on
//! after the event that it saw last; to another one, or after a gap, it gets everything again.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use serde::Serialize;
use serde_json::json;

use super::runs::find;
use super::system::status_of;
use super::{App, No, Shared};
use crate::api::types::RunSummary;
use crate::live::{Feed, Line};

/// A comment comes this often when nothing happens.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Number of the event that a client saw last, if it is one of this process.
fn seen(app: &App, headers: &HeaderMap) -> Option<u64> {
    let id = headers.get("last-event-id")?.to_str().ok()?;
    let (epoch, number) = id.split_once('.')?;
    (epoch.parse() == Ok(app.epoch)).then(|| number.parse().ok()).flatten()
}

fn event_of(epoch: u64, line: &Line) -> Event {
    Event::default().event(line.name).id(format!("{epoch}.{}", line.number)).data(&*line.data)
}

/// Events without a number: what a connection begins with.
fn first(name: &str, data: &impl Serialize, id: Option<String>) -> Option<Event> {
    let event = Event::default().event(name).json_data(data).ok()?;
    Some(match id {
        Some(id) => event.id(id),
        None => event,
    })
}

struct Reading {
    feed: Arc<Feed>,
    news: tokio::sync::watch::Receiver<u64>,
    seen: u64,
    waiting: std::vec::IntoIter<Line>,
    over: bool,
    /// A gap at the beginning is no reason to cut.
    begun: bool,
}

/// What comes after `seen`, until it is over or the client has fallen behind what is kept.
fn follow(feed: Arc<Feed>, seen: u64, epoch: u64) -> impl Stream<Item = Event> {
    let news = feed.subscribe();
    let reading = Reading { feed, news, seen, waiting: Vec::new().into_iter(), over: false, begun: false };
    stream::unfold(reading, move |mut reading| async move {
        loop {
            if let Some(line) = reading.waiting.next() {
                reading.seen = line.number;
                return Some((event_of(epoch, &line), reading));
            }
            if reading.over {
                return None;
            }
            reading.news.mark_unchanged();
            let batch = reading.feed.after(reading.seen);
            if batch.gap && reading.begun {
                return None;
            }
            reading.begun = true;
            reading.over = batch.over;
            if batch.lines.is_empty() {
                if reading.over || reading.news.changed().await.is_err() {
                    return None;
                }
                continue;
            }
            reading.waiting = batch.lines.into_iter();
        }
    })
}

fn answer(app: &App, events: impl Stream<Item = Event> + Send + 'static) -> Response {
    // Fused: whoever passes the answer on may ask once more after its end.
    let events = events.map(Ok::<_, Infallible>).take_until(leads_no_longer(app)).fuse();
    let keep_alive = KeepAlive::new().interval(HEARTBEAT).text("alive");
    let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
    // Proxies must not hold events back.
    response.headers_mut().insert("x-accel-buffering", axum::http::HeaderValue::from_static("no"));
    response
}

/// From then on nothing more happens here: whoever listens has to come again, and is sent on to the one that leads.
fn leads_no_longer(app: &App) -> impl Future<Output = ()> + Send + 'static {
    let mut leader = app.leader.clone();
    async move {
        if leader.wait_for(Option::is_some).await.is_err() {
            std::future::pending().await
        }
    }
}

/// `GET events`
pub async fn of_all(State(app): State<Shared>, headers: HeaderMap) -> Result<Response, No> {
    let feed = Arc::clone(&app.queue.feed);
    let last = feed.last();
    let known = seen(&app, &headers).filter(|seen| *seen <= last && !feed.after(*seen).gap);
    let everything = match known {
        Some(_) => None,
        None => {
            let data = json!({
                "status": status_of(&app).await,
                "drivers": app.queue.runner().pool.drivers(),
                "active": app.queue.active(),
            });
            first("everything", &data, Some(format!("{}.{last}", app.epoch)))
        }
    };
    let rest = follow(feed, known.unwrap_or(last), app.epoch);
    Ok(answer(&app, stream::iter(everything).chain(rest)))
}

/// `GET runs/ID/events`
pub async fn of_run(
    State(app): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, No> {
    let Some(live) = app.queue.live(&id) else { return over(&app, &find(&app, &id).await?) };
    let known = seen(&app, &headers).filter(|seen| *seen <= live.feed.last());
    // As it stands in the queue, with its place there.
    let summary = app.queue.find(&id).unwrap_or_else(|| live.summary());
    let begin = first("run", &summary, None);
    let rest = follow(Arc::clone(&live.feed), known.unwrap_or(0), app.epoch);
    Ok(answer(&app, stream::iter(begin).chain(rest)))
}

/// A run that was over before this process began, or long ago.
fn over(app: &App, run: &RunSummary) -> Result<Response, No> {
    let events = [first("run", run, None), first("end", &json!({ "state": run.state }), None)];
    Ok(answer(app, stream::iter(events.into_iter().flatten())))
}
