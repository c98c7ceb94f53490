//! A Prometheus server that has scraped the machine's exporter already. It is asked for the raw samples of a window, each with
//! the time of its scrape, and never for what it would make of them. Source: Prometheus, HTTP API, instant queries of range
//! vectors.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_workload::logins::without_logins;
use cosmark_workload::units::shown;
use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::http::{HttpSource, Login, json_of, poll};
use super::{News, now_ns};
use crate::filesystems::none_of;
use crate::prometheus::{self, Series, filesystems};

/// Where to ask, and for whose series.
#[derive(Debug)]
pub struct Server {
    http: HttpSource,
    query_url: String,
    matchers: String,
    interval: Duration,
    /// Where the file systems are mounted that hold what the store stores.
    directories: Vec<String>,
    seen: Mutex<Seen>,
}

/// What is known already, in milliseconds since 1970 by the server's clock. Each series has times of its own: an exporter
/// may say when each of its numbers was true (cAdvisor does), and machines are scraped one after the other.
#[derive(Debug, Default)]
struct Seen {
    newest_ms: Option<u64>,
    by_series: HashMap<u64, u64>,
    /// Anything new, by the server's clock.
    all: Coming,
    /// File systems of the store, by the times that they bear.
    filesystems: Coming,
}

/// What comes again and again.
#[derive(Debug, Default)]
struct Coming {
    /// When it came last, and the longest time that it took until it did again.
    came_ms: Option<u64>,
    longest_ms: u64,
}

impl Coming {
    fn patience_s(&self) -> u64 {
        match self.longest_ms / 1000 {
            0 => UNKNOWN_SILENCE_S,
            longest_s => (longest_s * LATER).max(LEAST_SILENCE_S),
        }
    }

    /// For how many seconds it has not come where that is too long.
    fn late_s(&self, now_ms: u64) -> Option<u64> {
        let since_ms = now_ms.saturating_sub(self.came_ms?);
        let patience_s = self.patience_s();
        (since_ms > patience_s * 1000).then_some(patience_s)
    }

    fn comes(&mut self, at_ms: u64) {
        let before_ms = self.came_ms.unwrap_or(at_ms);
        // How long it was away says nothing of how often it comes.
        if self.late_s(at_ms).is_none() {
            self.longest_ms = self.longest_ms.max(at_ms.saturating_sub(before_ms));
        }
        self.came_ms = Some(before_ms.max(at_ms));
    }
}

impl Seen {
    /// Whether this is the first time that a series ([`number_of`]) is seen at this time or later.
    fn is_new(&mut self, series: u64, at_ms: u64) -> bool {
        let known = self.by_series.get(&series).copied();
        if known.is_none() && self.by_series.len() >= MOST_SERIES {
            return false;
        }
        let is_new = known.is_none_or(|known| at_ms > known);
        if is_new {
            self.by_series.insert(series, at_ms);
            self.newest_ms = Some(self.newest_ms.map_or(at_ms, |newest| newest.max(at_ms)));
        }
        is_new
    }

    /// Nothing would be newer than what was seen before the server's clock was set back.
    fn follow_clock(&mut self, server_ms: u64) {
        if self.newest_ms.is_some_and(|newest_ms| newest_ms > server_ms + SET_BACK_S * 1000) {
            *self = Self::default();
        }
    }

    /// Takes down whether something new came; gives for how many seconds nothing did where that is too long.
    fn silent_for_s(&mut self, server_ms: u64, is_new: bool) -> Option<u64> {
        if is_new || self.all.came_ms.is_none() {
            self.all.comes(server_ms);
            return None;
        }
        self.all.late_s(server_ms)
    }

    /// No file system of the store was ever among it, or none has been for too long while other things came.
    fn lacks_filesystems(&self) -> bool {
        let is_late = self.newest_ms.is_some_and(|newest_ms| self.filesystems.late_s(newest_ms).is_some());
        self.filesystems.came_ms.is_none() || is_late
    }

    /// Forgets what is older than any question: series that come and go, as those of jobs do, fill no memory.
    fn forget(&mut self) {
        let newest_ms = self.newest_ms.unwrap_or(0);
        self.by_series.retain(|_, at_ms| newest_ms.saturating_sub(*at_ms) <= LONGEST_S * 1000);
    }
}

/// The first question is for so much of the past: most servers scrape four times a minute.
const FIRST_S: u64 = 60;
/// No question is for more: what is older is no use to a run.
const LONGEST_S: u64 = 600;
/// A scrape is written down some time after the moment that it bears, and what a kubelet says is up to half a minute old then.
const LATE_S: u64 = 30;
/// A clock that tells so much less than the newest scrape was set back: servers that answer by turns differ by less.
const SET_BACK_S: u64 = 10;
/// A machine of which nothing came for so many times as long as it ever took is scraped no more.
const LATER: u64 = 3;
/// But not after less than this; and after so much where it is not known how long it takes.
const LEAST_SILENCE_S: u64 = 30;
const UNKNOWN_SILENCE_S: u64 = 90;
/// So many of the warnings of an answer are shown.
const MOST_WARNINGS: usize = 2;
/// Times beyond this have no nanoseconds in 63 bits; it is in the year 2255.
const LATEST_S: f64 = 9e9;
/// No name that is asked for is longer, and more series are not one store's.
const LONGEST_NAME: usize = 200;
const MOST_SERIES: usize = 200_000;

impl Server {
    /// A server by its URL, with the matchers that select one machine (`instance="storage1:9100"`).
    ///
    /// # Errors
    /// When the matchers are none, and when the file cannot be read or has no certificate.
    pub fn new(url: &str, matchers: &str, login: Login<'_>, interval: Duration) -> Result<Self, String> {
        let matchers = matchers.trim().trim_start_matches('{').trim_end_matches('}').trim();
        let matchers = matchers.trim_end_matches(',');
        if !are_matchers(matchers) {
            return Err(format!("select: `{matchers}` selects nothing; write instance=\"storage1:9100\""));
        }
        let base = url.trim_end_matches('/');
        let base = base.strip_suffix("/api/v1/query").or(base.strip_suffix("/api/v1")).unwrap_or(base);
        Ok(Self {
            http: HttpSource::new(url, login)?,
            query_url: format!("{base}/api/v1/query"),
            matchers: matchers.to_owned(),
            interval,
            directories: Vec::new(),
            seen: Mutex::default(),
        })
    }

    /// The same, and the file systems that are mounted at these directories or below are the store's.
    #[must_use]
    pub fn with_filesystems(self, directories: Vec<String>) -> Self {
        Self { directories, ..self }
    }

    /// Asks every interval until nobody listens.
    pub async fn collect(self: Arc<Self>, to: Sender<News>) {
        poll(self.interval, to, self, Self::ask).await;
    }

    fn ask(&self) -> Result<Vec<News>, String> {
        let asked_ns = now_ns();
        let (clock, _) = self.query("time()")?;
        let here_ns = u64::midpoint(asked_ns, now_ns());
        let server_ms = clock.get(1).and_then(Value::as_str).and_then(millis);
        let server_ms = server_ms.ok_or_else(|| self.no("tells no time"))?;
        let ahead_ns = nanoseconds(server_ms).cast_signed() - here_ns.cast_signed();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.follow_clock(server_ms);
        let since_s = seen.newest_ms.map_or(FIRST_S, |seen| server_ms.saturating_sub(seen) / 1000 + LATE_S);
        let rooms = if self.directories.is_empty() { &[][..] } else { &filesystems::NAMES[..] };
        let names =
            prometheus::names().into_iter().chain(rooms.iter().copied()).collect::<Vec<_>>().join("|");
        let window_s = since_s.clamp(1, LONGEST_S);
        let (found, partial) =
            self.query(&format!("{{__name__=~\"{names}\",{}}}[{window_s}s]", self.matchers))?;
        let had_none = seen.newest_ms.is_none();
        seen.forget();
        let scrapes = self.scrapes(&found, &mut seen)?;
        if had_none && scrapes.is_empty() {
            return Err(self.no(&format!(
                "has no series of a machine with {{{}}} from the last {FIRST_S} s; look at its page of targets",
                self.matchers
            )));
        }
        if let Some(seconds) = seen.silent_for_s(server_ms, !scrapes.is_empty()) {
            return Err(self.no(&format!(
                "has had nothing new of {{{}}} for {seconds} s: it scrapes that machine no more, or cannot; look at its page of \
                 targets",
                self.matchers
            )));
        }
        let mut readings = Vec::new();
        for (at_ms, series) in scrapes {
            let at_ns = nanoseconds(at_ms).saturating_add_signed(ahead_ns.saturating_neg());
            let mut reading = prometheus::reading(&series, at_ns);
            if filesystems::add(&series, &self.directories, &mut reading) > 0 {
                seen.filesystems.comes(at_ms);
            }
            readings.push(News::Reading(reading));
        }
        let none =
            (!self.directories.is_empty() && seen.lacks_filesystems()).then(|| none_of(&self.directories));
        let missing: Vec<String> = partial.into_iter().chain(none).collect();
        let missing = (!missing.is_empty()).then(|| missing.join("; "));
        let mut news = vec![News::Ahead(ahead_ns), News::Missing(missing)];
        news.append(&mut readings);
        Ok(news)
    }

    /// The result, and one sentence where the server says that it may be a part of what there is.
    fn query(&self, query: &str) -> Result<(Value, Option<String>), String> {
        let text = self.http.ask(&self.query_url, "application/json", Some(&[("query", query)]))?;
        let mut answer: Value =
            json_of(&text).ok_or_else(|| self.no("does not answer as a Prometheus server"))?;
        if answer.get("status").and_then(Value::as_str) != Some("success") {
            let why = answer.get("error").and_then(Value::as_str).unwrap_or("no reason given");
            return Err(self.no(&format!("refuses the question: {}", self.http.words(why))));
        }
        let partial = partial(&answer).map(|why| self.no(&why));
        Ok((answer.pointer_mut("/data/result").map(Value::take).unwrap_or_default(), partial))
    }

    /// What was scraped and is new, by the time that it bears.
    fn scrapes(&self, found: &Value, seen: &mut Seen) -> Result<BTreeMap<u64, Vec<Series>>, String> {
        let mut scrapes: BTreeMap<u64, Vec<Series>> = BTreeMap::new();
        let mut instances = BTreeSet::new();
        for one in found.as_array().into_iter().flatten() {
            let Some(metric) = one.get("metric").and_then(Value::as_object) else { continue };
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let name = metric.get("__name__").map(text).unwrap_or_default();
            if name.len() > LONGEST_NAME {
                continue;
            }
            let labels: Arc<[(String, String)]> =
                metric.iter().map(|(key, value)| (key.clone(), text(value))).collect();
            let series = number_of(&labels);
            if name.starts_with("node_") {
                instances.extend(metric.get("instance").map(text));
            }
            for point in one.get("values").and_then(Value::as_array).into_iter().flatten() {
                let at_ms = point.get(0).and_then(Value::as_f64).and_then(whole_millis);
                let value = point.get(1).and_then(Value::as_str).and_then(|text| text.parse().ok());
                let (Some(at_ms), Some(value)) = (at_ms, value) else { continue };
                if !seen.is_new(series, at_ms) {
                    continue;
                }
                let one = Series { name: name.clone(), labels: Arc::clone(&labels), value, at_ms: None };
                scrapes.entry(at_ms).or_default().push(one);
            }
        }
        if instances.len() > 1 {
            let some: Vec<String> = instances.iter().take(3).map(|name| shown(name)).collect();
            let matchers = &self.matchers;
            return Err(self.no(&format!(
                "knows {} machines with {{{matchers}}} ({}, ..); select one: instance=\"{}\"",
                instances.len(),
                some.join(", "),
                some[0]
            )));
        }
        Ok(scrapes)
    }

    fn no(&self, why: &str) -> String {
        self.http.without_secrets(&format!("{} {why}", without_logins(&self.query_url)))
    }
}

/// Whether a text can stand between the braces of a selector. Within quotes there may be anything, as the braces of
/// `osd-[0-9]{1,2}`. Source: Prometheus, string literals.
fn are_matchers(text: &str) -> bool {
    let (mut quote, mut signs) = (None, text.chars());
    while let Some(sign) = signs.next() {
        match (quote, sign) {
            (Some('"' | '\''), '\\') => {
                signs.next();
            }
            (Some(open), sign) if open == sign => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(sign),
            (None, '{' | '}') => return false,
            _ => {}
        }
    }
    quote.is_none() && text.contains('=') && !text.contains('\n')
}

/// What an answer says of what it lacks: `warnings` of Prometheus and what stands before several of it, `isPartial` of
/// `VictoriaMetrics`.
fn partial(answer: &Value) -> Option<String> {
    let warnings = answer.get("warnings").and_then(Value::as_array);
    let all: Vec<&str> = warnings.into_iter().flatten().filter_map(Value::as_str).collect();
    if !all.is_empty() {
        let some: Vec<String> = all.iter().take(MOST_WARNINGS).map(|warning| shown(warning)).collect();
        return Some(format!("warns that something may be missing: {}", some.join("; ")));
    }
    let is_partial = answer.get("isPartial").and_then(Value::as_bool) == Some(true);
    is_partial.then(|| "answers with a part of what it has: one of its stores is away".to_owned())
}

fn number_of(labels: &[(String, String)]) -> u64 {
    let mut hasher = DefaultHasher::new();
    labels.hash(&mut hasher);
    hasher.finish()
}

/// `1700000000.123` seconds.
fn millis(text: &str) -> Option<u64> {
    text.parse().ok().and_then(whole_millis)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "within the range that is asked for"
)]
fn whole_millis(seconds: f64) -> Option<u64> {
    (0.0..=LATEST_S).contains(&seconds).then(|| (seconds * 1e3).round() as u64)
}

fn nanoseconds(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
