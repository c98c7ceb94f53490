//! An exporter that answers with the text of Prometheus.

mod stamps;

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_workload::logins::without_logins;
use tokio::sync::mpsc::Sender;

use super::http::{HttpSource, Login, poll};
use super::{News, now_ns};
use crate::prometheus::{self, Series, filesystems};
use crate::reading::Reading;
use stamps::Stamps;

/// Where and how to ask.
#[derive(Debug)]
pub struct Exporter {
    http: HttpSource,
    url: String,
    interval: Duration,
    /// Where the file systems are mounted that hold what the store stores.
    directories: Vec<String>,
    clock: Mutex<Clock>,
    stamps: Mutex<Stamps>,
}

/// The last comparisons of the machine's clock with this one: how long the answer took, and by how much the other is ahead.
#[derive(Debug, Default)]
struct Clock(VecDeque<(u64, i64)>);

/// Clocks are set and drift: so many answers are compared.
const COMPARED: usize = 12;

impl Clock {
    /// By how much the machine's clock is ahead in nanoseconds, by the fastest answer: a slow one was held up on its way.
    fn compare(&mut self, took_ns: u64, ahead_ns: i64) -> i64 {
        self.0.push_back((took_ns, ahead_ns));
        if self.0.len() > COMPARED {
            self.0.pop_front();
        }
        self.0.iter().min_by_key(|(took_ns, _)| *took_ns).map_or(ahead_ns, |(_, ahead_ns)| *ahead_ns)
    }
}

impl Exporter {
    /// An exporter at a URL.
    ///
    /// # Errors
    /// As [`HttpSource::new`].
    pub fn new(url: &str, login: Login<'_>, interval: Duration) -> Result<Self, String> {
        let http = HttpSource::new(url, login)?;
        let (directories, clock, stamps) = (Vec::new(), Mutex::default(), Mutex::default());
        Ok(Self { http, url: url.to_owned(), interval, directories, clock, stamps })
    }

    /// The same, and the file systems that are mounted at these directories or below are the store's.
    #[must_use]
    pub fn with_filesystems(self, directories: Vec<String>) -> Self {
        Self { directories, ..self }
    }

    /// Asks every interval until nobody listens.
    pub async fn collect(self: Arc<Self>, to: Sender<News>) {
        poll(self.interval, to, self, |own| {
            let (reading, ahead_ns, missing) = own.ask()?;
            let news = [News::Reading(reading), News::Missing(missing)];
            Ok(news.into_iter().chain(ahead_ns.map(News::Ahead)).collect())
        })
        .await;
    }

    /// What it says, by how much its clock is ahead where it says the time, and in one sentence that it has no file system of the
    /// store where it should.
    fn ask(&self) -> Result<(Reading, Option<i64>, Option<String>), String> {
        let url = without_logins(&self.url);
        let asked_ns = now_ns();
        let (body, date_s) = self.http.ask_dated(&self.url, "text/plain;version=0.0.4", None)?;
        // The exporter looked at its machine somewhere between the question and the answer.
        let answered_ns = now_ns();
        let at_ns = u64::midpoint(asked_ns, answered_ns);
        let mut exposition = prometheus::parse(&body);
        if let Some(machines) = several_machines(&exposition.series) {
            return Err(format!("{url} {machines}"));
        }
        let is_time = |one: &&Series| {
            one.at_ms.is_none() && ["node_time_seconds", "node_time"].contains(&one.name.as_str())
        };
        let time_s = exposition.series.iter().find(is_time).map(|time| time.value);
        let (stamps, here_ms) = (self.stamps.lock(), (at_ns / 1_000_000).cast_signed());
        stamps.unwrap_or_else(PoisonError::into_inner).place(&mut exposition.series, here_ms, date_s);
        let mut reading = prometheus::reading(&exposition.series, at_ns);
        let found = filesystems::add(&exposition.series, &self.directories, &mut reading);
        if reading.samples.is_empty() {
            return Err(nothing(&url, exposition.series.len(), exposition.first_unreadable));
        }
        let missing = (found == 0 && !self.directories.is_empty()).then(|| {
            format!(
                "{url} names no file system that is mounted at or below {}: give `filesystems` as a node_exporter with its \
                 collector filesystem sees them",
                self.directories.join(", ")
            )
        });
        let ahead_ns = time_s.and_then(|time_s| ahead(time_s, at_ns)).map(|ahead_ns| {
            let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
            clock.compare(answered_ns.saturating_sub(asked_ns), ahead_ns)
        });
        Ok((reading, ahead_ns, missing))
    }
}

/// That nothing of an answer is known, and what it is instead.
fn nothing(url: &str, series: usize, unreadable: Option<(usize, String)>) -> String {
    let what = match unreadable {
        Some((line, text)) if series == 0 => format!("no exposition (line {line}: {text})"),
        None if series == 0 => {
            "no series at all, as a manager of Ceph on standby does: the active one has them".to_owned()
        }
        _ => format!("{series} series, none of them one of a machine's"),
    };
    format!(
        "{url} answers {what}; give the URL of a node_exporter, a kubelet's cAdvisor, an snmp_exporter, or of Ceph's or \
         MinIO's metrics"
    )
}

/// Seconds since 1970 there, against this machine's clock at that moment.
#[expect(
    clippy::cast_possible_truncation,
    reason = "within the range that is asked for; a clock's error is no smaller"
)]
fn ahead(there_s: f64, at_ns: u64) -> Option<i64> {
    let there_ns = (0.0..=9e9).contains(&there_s).then_some((there_s * 1e9) as i64)?;
    Some(there_ns - at_ns.cast_signed())
}

/// Why the figures of several machines at once are none, as the `/federate` of a Prometheus server gives them.
fn several_machines(series: &[Series]) -> Option<String> {
    let known = prometheus::names();
    let is_read = |one: &&Series| one.name.starts_with("node_") && known.contains(one.name.as_str());
    let of_machines = series.iter().filter(is_read);
    let instances: BTreeSet<&str> = of_machines.filter_map(|one| one.label("instance")).collect();
    let first = instances.first().filter(|_| instances.len() > 1)?;
    let some: Vec<&str> = instances.iter().take(3).copied().collect();
    Some(format!(
        "knows {} machines ({}, ..); select one: ?match[]={{instance=\"{first}\"}}",
        instances.len(),
        some.join(", ")
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::collect::http::tests::server;

    const GOOD: &str =
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 7\n";
    const REFUSED: &str = "HTTP/1.1 401 no\r\nconnection: close\r\n\r\n";
    const PAGE: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n<html>metrics</html>\n";
    const FOREIGN: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nup 1\n";
    const EMPTY: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    const SEVERAL: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nnode_procs_running{instance=\"a:9100\"} 7\n\
                           node_procs_running{instance=\"b:9100\"} 1\n";
    const ZIPPED: &str =
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n\u{1f}\u{8b}\u{8}cut\n";
    /// Of 12345 seconds 123 came.
    const CUT: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nup 1\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 123";
    const SHORT: &str =
        "HTTP/1.1 200 OK\r\ncontent-length: 900\r\nconnection: close\r\n\r\nnode_procs_running 7\n";
    const PAINTED: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n\u{1b}[31mred\n";
    const MOVED_NOWHERE: &str = "HTTP/1.1 308 x\r\nconnection: close\r\n\r\n";
    const MOVED: &str = "HTTP/1.1 302 x\r\nlocation: http://127.0.0.1:1/\r\nconnection: close\r\n\r\n";

    fn ask(url: &str, token: Option<&str>) -> Result<Reading, String> {
        let login = Login { token, ..Login::default() };
        Exporter::new(url, login, Duration::from_secs(1)).unwrap().ask().map(|(reading, ..)| reading)
    }

    #[test]
    fn an_answer_is_a_reading_and_everything_else_one_sentence() {
        let (url, asked) = server(vec![GOOD.to_owned(), GOOD.to_owned()]);
        assert_eq!(ask(&url, None).unwrap().samples[0].value, 7.0);
        ask(&url, Some("right")).unwrap();
        let asked = asked.join().unwrap();
        assert!(!asked[0].contains("authorization") && asked[1].contains("authorization: Bearer right"));
        for (answer, words) in [
            (REFUSED, "answers 401; give its `token`"),
            (PAGE, "no exposition (line 1: <html>"),
            (EMPTY, "no series at all, as a manager of Ceph on standby does"),
            (FOREIGN, "1 series, none of them one of a machine's"),
            (SEVERAL, "knows 2 machines (a:9100, b:9100, ..); select one: ?match[]={instance=\"a:9100\"}"),
            (MOVED, "answers 302; give the URL that it leads to: http://127.0.0.1:1/"),
            (MOVED_NOWHERE, "answers 308; give the URL that it leads to"),
            (ZIPPED, "answers in gzip, which nobody asked for"),
            (CUT, "the answer is cut off"),
            (SHORT, "/metrics: "),
            (PAINTED, "no exposition (line 1: [31mred)"),
        ] {
            let said = ask(&server(vec![answer.to_owned()]).0, Some("wrong")).unwrap_err();
            assert!(said.contains(words) && !said.contains("wrong"), "{said}");
        }
    }

    #[test]
    fn file_systems_of_the_store_are_read_and_missed_where_there_are_none_beside_the_rest_of_the_machine() {
        let sizes = "node_filesystem_size_bytes{device=\"/dev/sdb\",mountpoint=\"/data\"} 10\n\
                     node_filesystem_free_bytes{device=\"/dev/sdb\",mountpoint=\"/data\"} 4\n";
        for (directory, found) in [("/data", true), ("/dat", false)] {
            let (url, _) = server(vec![format!("{GOOD}{sizes}")]);
            let exporter = Exporter::new(&url, Login::default(), Duration::from_secs(1)).unwrap();
            let asked = exporter.with_filesystems(vec![directory.to_owned()]).ask();
            let (reading, _, missing) = asked.unwrap();
            let has = |id: &str| reading.samples.iter().any(|one| one.quantity.id == id);
            assert_eq!((has("store_free_bytes"), has("cpu_busy_s"), missing.is_none()), (found, true, found));
            assert!(missing.is_none_or(|why| why.contains("at or below /dat:")), "{directory}");
        }
        // What says nothing of a machine at all is no answer.
        let exporter =
            Exporter::new(&server(vec![FOREIGN.to_owned()]).0, Login::default(), Duration::from_secs(1));
        let said = exporter.unwrap().with_filesystems(vec!["/data".to_owned()]).ask().unwrap_err();
        assert!(said.contains("none of them one of a machine's"), "{said}");
    }

    /// An exporter that says how long its answer is, and ends its last line with the answer.
    #[test]
    fn a_last_line_without_an_end_is_one_where_the_answer_is_whole() {
        let body = "node_procs_running 7";
        let answer =
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
        let (url, _) = server(vec![answer]);
        assert_eq!(ask(&url, None).unwrap().samples[0].value, 7.0);
    }

    #[test]
    fn the_clock_of_a_machine_is_compared_by_the_time_that_its_exporter_says() {
        let hour_ns = 3_600_000_000_000;
        let hour_ahead = now_ns() / 1_000_000_000 + 3_600;
        let (url, _) = server(vec![format!("{GOOD}node_time_seconds {hour_ahead}.25\n"), GOOD.to_owned()]);
        let exporter = Exporter::new(&url, Login::default(), Duration::from_secs(1)).unwrap();
        let ahead_ns = exporter.ask().unwrap().1.unwrap();
        // A machine that is busy answers late.
        assert!((ahead_ns - hour_ns).abs() < 300_000_000_000, "{ahead_ns}");
        assert_eq!(exporter.ask().unwrap().1, None);
        let mut clock = Clock::default();
        assert_eq!(clock.compare(10, 5), 5);
        assert_eq!(clock.compare(900, 70), 5);
        for _ in 1..COMPARED {
            clock.compare(20, -3);
        }
        assert_eq!(clock.compare(20, -3), -3);
    }

    /// As a kubelet's cAdvisor does, here by a clock of long ago: each container has a time of its own, quotas have
    /// none.
    #[test]
    fn numbers_bear_the_times_that_their_exporter_says() {
        let labels = |name: &str| format!("{{container=\"{name}\",namespace=\"n\",pod=\"p\"}}");
        let (a, b) = (labels("a"), labels("b"));
        let body = format!(
            "container_cpu_usage_seconds_total{a} 10 784111775000\ncontainer_cpu_usage_seconds_total{b} 5 784111770000\n\
             container_spec_cpu_quota{a} 50000\ncontainer_spec_cpu_period{a} 100000\n"
        );
        let head = "HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\nconnection: close\r\n\r\n";
        let reading = ask(&server(vec![format!("{head}{body}")]).0, None).unwrap();
        let found: Vec<(&str, &str, f64)> =
            reading.samples.iter().map(|one| (one.quantity.id, one.unit.as_str(), one.value)).collect();
        assert_eq!(
            found,
            [
                ("quota_processors", "n/p/a", 0.5),
                ("quota_used_s", "n/p/a", 10.0),
                ("quota_used_s", "n/p/b", 5.0)
            ]
        );
        let times: Vec<Option<u64>> = reading.samples.iter().map(|one| one.at_ns).collect();
        assert_eq!((times[0], times[1].unwrap() - times[2].unwrap()), (None, 5_000_000_000));
        // By the date of the answer these are of 2 and of 7 seconds before.
        assert!(times[1].unwrap() < reading.at_ns, "{times:?}");
        let undated = ask(&server(vec![format!("HTTP/1.1 200 OK\r\n\r\n{body}")]).0, None).unwrap();
        assert!(!undated.samples.is_empty(), "{undated:?}");
        assert!(undated.samples.iter().all(|one| one.at_ns.is_none()), "{undated:?}");
    }

    #[tokio::test]
    async fn an_exporter_that_comes_back_is_heard_again_and_its_trouble_is_told_once() {
        let (url, _) = server([PAGE, PAGE, PAGE, GOOD].map(str::to_owned).into());
        let exporter = Exporter::new(&url, Login::default(), Duration::from_millis(20)).unwrap();
        let (to, mut from) = tokio::sync::mpsc::channel(16);
        let task = tokio::spawn(Arc::new(exporter).collect(to));
        let first = from.recv().await;
        assert!(matches!(first, Some(News::Lost(_))), "{first:?}");
        let second = from.recv().await;
        assert!(matches!(second, Some(News::Reading(_))), "{second:?}");
        drop(from);
        task.await.unwrap();
    }
}
