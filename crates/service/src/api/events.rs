//! Server-sent events (WHATWG HTML, 9.2). Ids are `<process>.<number>`: a client that comes again to the same process goes on
//! after the event that it saw last; to another one, or after a gap, it gets everything again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use serde::Serialize;
use serde_json::json;

use super::answer::Path;
use super::runs::find;
use super::system::status_of;
use super::{App, No, Shared};
use crate::api::types::RunSummary;
use crate::live::{CourseSeen, Feed, Line, LiveRun};

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

/// A run whose course is told beside its events, and what was told of it.
struct Course {
    live: Arc<LiveRun>,
    seen: CourseSeen,
}

impl Course {
    /// What has changed, as events without a number: who comes again is told everything. `None` when nobody can look any
    /// more; the stream ends then, and the client comes again.
    async fn news(mut self) -> Option<(Self, VecDeque<Event>)> {
        let looked = tokio::task::spawn_blocking(move || {
            let news = self.live.course_news(&mut self.seen);
            (self, news)
        });
        let (course, news) = looked.await.ok()?;
        Some((course, news.iter().filter_map(|news| first("series", news, None)).collect()))
    }
}

struct Reading {
    feed: Arc<Feed>,
    news: tokio::sync::watch::Receiver<u64>,
    seen: u64,
    waiting: std::vec::IntoIter<Line>,
    course: Option<Course>,
    /// Goes out before anything else.
    made: VecDeque<Event>,
    over: bool,
    /// A gap at the beginning is no reason to cut.
    begun: bool,
}

impl Reading {
    /// Looks at the course; false when nobody can any more.
    async fn look(&mut self) -> bool {
        let Some(course) = self.course.take() else { return true };
        let Some((course, made)) = course.news().await else { return false };
        self.course = Some(course);
        self.made.extend(made);
        true
    }

    async fn next(&mut self, epoch: u64) -> Option<Event> {
        loop {
            if let Some(event) = self.made.pop_front() {
                return Some(event);
            }
            if let Some(line) = self.waiting.next() {
                self.seen = line.number;
                // Who is told of the end listens no longer.
                if line.name == "end" && !self.look().await {
                    return None;
                }
                self.made.push_back(event_of(epoch, &line));
                continue;
            }
            if self.over {
                return None;
            }
            self.news.mark_unchanged();
            let batch = self.feed.after(self.seen);
            if batch.gap && self.begun {
                return None;
            }
            self.begun = true;
            self.over = batch.over;
            if !batch.lines.is_empty() {
                self.waiting = batch.lines.into_iter();
                continue;
            }
            // Who has read everything is told of the course: a slow client is told of it once in a while, as it is then.
            if self.over || !self.look().await {
                return None;
            }
            if self.made.is_empty() && self.news.changed().await.is_err() {
                return None;
            }
        }
    }
}

/// What comes after `seen`, until it is over or the client has fallen behind what is kept.
fn follow(feed: Arc<Feed>, course: Option<Course>, seen: u64, epoch: u64) -> impl Stream<Item = Event> {
    let reading = Reading {
        news: feed.subscribe(),
        feed,
        seen,
        waiting: Vec::new().into_iter(),
        course,
        made: VecDeque::new(),
        over: false,
        begun: false,
    };
    stream::unfold(reading, move |mut reading| async move {
        let event = reading.next(epoch).await?;
        Some((event, reading))
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
    let rest = follow(feed, None, known.unwrap_or(last), app.epoch);
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
    let stages = live.stages();
    let begin = first("run", &summary, None);
    let begin: Vec<_> =
        begin.into_iter().chain(stages.iter().filter_map(|stage| first("stage", stage, None))).collect();
    let course = Course { live: Arc::clone(&live), seen: CourseSeen::default() };
    let rest = follow(Arc::clone(&live.feed), Some(course), known.unwrap_or(0), app.epoch);
    Ok(answer(&app, stream::iter(begin).chain(rest)))
}

/// A run that was over before this process began, or long ago.
fn over(app: &App, run: &RunSummary) -> Result<Response, No> {
    let events = [first("run", run, None), first("end", &json!({ "state": run.state }), None)];
    Ok(answer(app, stream::iter(events.into_iter().flatten())))
}
