//! A Prometheus server that has scraped the machine's exporter already. It is asked for the raw samples of a window, each with
//! the time of its scrape, and never for what it would make of them. Source: Prometheus, HTTP API, instant queries of range
//! vectors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::http::{HttpSource, Login, poll};
use super::{News, now_ns};
use crate::prometheus::{self, Series};

/// Where to ask, and for whose series.
#[derive(Debug)]
pub struct Server {
    http: HttpSource,
    query_url: String,
    matchers: String,
    interval: Duration,
    /// Milliseconds since 1970 by the server's clock; what was scraped by then is known.
    seen_ms: Mutex<Option<u64>>,
}

/// The first question is for so much of the past: most servers scrape four times a minute.
const FIRST_S: u64 = 60;
/// No question is for more: what is older is no use to a run.
const LONGEST_S: u64 = 600;
/// A scrape is written down some time after the moment that it bears.
const LATE_S: u64 = 5;

impl Server {
    /// A server by its URL, with the matchers that select one machine (`instance="storage1:9100"`).
    ///
    /// # Errors
    /// When the matchers are none, and when the file cannot be read or has no certificate.
    pub fn new(url: &str, matchers: &str, login: Login<'_>, interval: Duration) -> Result<Self, String> {
        let matchers = matchers.trim().trim_start_matches('{').trim_end_matches('}').trim();
        if !matchers.contains('=') || matchers.contains(['{', '}', '\n']) {
            return Err(format!("select: `{matchers}` selects nothing; write instance=\"storage1:9100\""));
        }
        let base = url.trim_end_matches('/');
        let base = base.strip_suffix("/api/v1/query").or(base.strip_suffix("/api/v1")).unwrap_or(base);
        Ok(Self {
            http: HttpSource::new(url, login)?,
            query_url: format!("{base}/api/v1/query"),
            matchers: matchers.trim_end_matches(',').to_owned(),
            interval,
            seen_ms: Mutex::new(None),
        })
    }

    /// Asks every interval until nobody listens.
    pub async fn collect(self: Arc<Self>, to: Sender<News>) {
        poll(self.interval, to, self, Self::ask).await;
    }

    fn ask(&self) -> Result<Vec<News>, String> {
        let asked_ns = now_ns();
        let clock = self.query("time()")?;
        let here_ns = u64::midpoint(asked_ns, now_ns());
        let server_ms = clock.get(1).and_then(Value::as_str).and_then(millis);
        let server_ms = server_ms.ok_or_else(|| self.no("tells no time"))?;
        let ahead_ns = nanoseconds(server_ms).cast_signed() - here_ns.cast_signed();
        let mut seen = self.seen_ms.lock().unwrap_or_else(PoisonError::into_inner);
        let since_s = seen.map_or(FIRST_S, |seen| server_ms.saturating_sub(seen) / 1000 + LATE_S);
        let names = prometheus::names().into_iter().collect::<Vec<_>>().join("|");
        let window_s = since_s.clamp(1, LONGEST_S);
        let found = self.query(&format!("{{__name__=~\"{names}\",{}}}[{window_s}s]", self.matchers))?;
        let scrapes = self.scrapes(&found)?;
        if seen.is_none() && scrapes.is_empty() {
            return Err(self.no(&format!(
                "has no series of a machine with {{{}}} from the last {FIRST_S} s; look at its page of targets",
                self.matchers
            )));
        }
        let mut news = vec![News::Ahead(ahead_ns)];
        for (at_ms, series) in scrapes {
            if seen.is_some_and(|seen| at_ms <= seen) {
                continue;
            }
            *seen = Some(at_ms);
            let at_ns = nanoseconds(at_ms).saturating_add_signed(ahead_ns.saturating_neg());
            news.push(News::Reading(prometheus::reading(&series, at_ns)));
        }
        Ok(news)
    }

    fn query(&self, query: &str) -> Result<Value, String> {
        let text = self.http.ask(&self.query_url, "application/json", Some(&[("query", query)]))?;
        let mut answer: Value =
            serde_json::from_str(&text).map_err(|_| self.no("does not answer as a Prometheus server"))?;
        if answer.get("status").and_then(Value::as_str) != Some("success") {
            let why = answer.get("error").and_then(Value::as_str).unwrap_or("no reason given");
            return Err(self.no(&format!("refuses the question: {why}")));
        }
        Ok(answer.pointer_mut("/data/result").map(Value::take).unwrap_or_default())
    }

    /// What was scraped, by the time of the scrape.
    fn scrapes(&self, found: &Value) -> Result<BTreeMap<u64, Vec<Series>>, String> {
        let mut scrapes: BTreeMap<u64, Vec<Series>> = BTreeMap::new();
        let mut instances = BTreeSet::new();
        for one in found.as_array().into_iter().flatten() {
            let Some(metric) = one.get("metric").and_then(Value::as_object) else { continue };
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let name = metric.get("__name__").map(text).unwrap_or_default();
            let labels: Vec<(String, String)> =
                metric.iter().map(|(key, value)| (key.clone(), text(value))).collect();
            if name.starts_with("node_") {
                instances.extend(metric.get("instance").map(text));
            }
            for point in one.get("values").and_then(Value::as_array).into_iter().flatten() {
                let at_ms = point.get(0).and_then(Value::as_f64).and_then(whole_millis);
                let value = point.get(1).and_then(Value::as_str).and_then(|text| text.parse().ok());
                let (Some(at_ms), Some(value)) = (at_ms, value) else { continue };
                let series = Series { name: name.clone(), labels: labels.clone(), value, at_ms: None };
                scrapes.entry(at_ms).or_default().push(series);
            }
        }
        if instances.len() > 1 {
            let some: Vec<&str> = instances.iter().take(3).map(String::as_str).collect();
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
        format!("{} {why}", self.query_url)
    }
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
    (0.0..=1e11).contains(&seconds).then(|| (seconds * 1e3).round() as u64)
}

fn nanoseconds(ms: u64) -> u64 {
    ms.saturating_mul(1_000_000)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::collect::http::tests::server;

    fn source(url: &str) -> Server {
        Server::new(
            url.trim_end_matches("/metrics"),
            "{instance=\"s1:9100\"}",
            Login::default(),
            Duration::from_secs(5),
        )
        .unwrap()
    }

    fn answer(result: &str) -> String {
        let body =
            format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"x\",\"result\":{result}}}}}");
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}")
    }

    fn busy(instance: &str, points: &str) -> String {
        format!(
            "{{\"metric\":{{\"__name__\":\"node_cpu_seconds_total\",\"cpu\":\"0\",\"mode\":\"user\",\"instance\":\"{instance}\"}},\
             \"values\":[{points}]}}"
        )
    }

    #[test]
    fn scrapes_have_their_own_times_on_this_clock_and_come_once() {
        let now_s = now_ns() / 1_000_000_000;
        // The server's clock is an hour ahead.
        let there = now_s + 3_600;
        let clock = answer(&format!("[{there}, \"{there}.000\"]"));
        let points = |seconds: &[u64]| -> String {
            let all: Vec<String> = seconds.iter().map(|s| format!("[{}.5,\"{s}\"]", there - s)).collect();
            all.join(",")
        };
        let (url, asked) = server(vec![
            clock.clone(),
            answer(&format!("[{}]", busy("s1:9100", &points(&[31, 16])))),
            clock,
            answer(&format!("[{}]", busy("s1:9100", &points(&[31, 16, 1])))),
        ]);
        let source = source(&url);
        let times = |news: Vec<News>| -> Vec<u64> {
            let at = |one: News| match one {
                News::Reading(reading) => Some(reading.at_ns / 1_000_000_000),
                _ => None,
            };
            news.into_iter().filter_map(at).collect()
        };
        let near = |got: Vec<u64>, ago: &[u64]| {
            assert_eq!(got.len(), ago.len(), "{got:?}");
            for (got, ago) in got.iter().zip(ago) {
                assert!(got.abs_diff(now_s - ago) <= 300, "{got} {ago} {now_s}");
            }
        };
        near(times(source.ask().unwrap()), &[31, 16]);
        near(times(source.ask().unwrap()), &[1]);
        let asked = asked.join().unwrap();
        assert!(asked[1].contains("POST /api/v1/query") && asked[1].contains("s1%3A9100"), "{}", asked[1]);
        assert!(asked[1].contains("%5B60s%5D"), "{}", asked[1]);
    }

    #[test]
    fn what_is_no_answer_is_one_sentence() {
        let clock = || answer("[1, \"1\"]");
        for (answers, words) in [
            (vec![clock(), answer("[]")], "no series of a machine with {instance=\"s1:9100\"}"),
            (
                vec![
                    clock(),
                    answer(&format!("[{},{}]", busy("a:1", "[1,\"2\"]"), busy("b:1", "[1,\"2\"]"))),
                ],
                "knows 2 machines",
            ),
            (vec!["HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n<html>".to_owned()], "as a Prometheus server"),
            (
                vec!["HTTP/1.1 400 x\r\nconnection: close\r\n\r\n{\"error\":\"parse error\"}".to_owned()],
                "answers 400: parse error",
            ),
            (vec![answer("[]")], "tells no time"),
        ] {
            let (url, _) = server(answers);
            let said = source(&url).ask().unwrap_err();
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn matchers_that_select_nothing_are_refused() {
        for matchers in ["", "{}", "storage1", "a=\"b\"}[5m] or x{"] {
            assert!(
                Server::new("http://x", matchers, Login::default(), Duration::from_secs(5)).is_err(),
                "{matchers}"
            );
        }
    }
}
