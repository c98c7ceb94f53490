//! An exporter that answers with the text of Prometheus.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Sender;

use super::http::{HttpSource, Login, poll};
use super::{News, now_ns};
use crate::prometheus;

/// Where and how to ask.
#[derive(Debug)]
pub struct Exporter {
    http: HttpSource,
    url: String,
    interval: Duration,
}

impl Exporter {
    /// An exporter at a URL.
    ///
    /// # Errors
    /// As [`HttpSource::new`].
    pub fn new(url: &str, login: Login<'_>, interval: Duration) -> Result<Self, String> {
        Ok(Self { http: HttpSource::new(url, login)?, url: url.to_owned(), interval })
    }

    /// Asks every interval until nobody listens.
    pub async fn collect(self: Arc<Self>, to: Sender<News>) {
        poll(self.interval, to, self, |own| own.ask().map(|reading| vec![News::Reading(reading)])).await;
    }

    fn ask(&self) -> Result<crate::reading::Reading, String> {
        let url = &self.url;
        let asked_ns = now_ns();
        let body = self.http.ask(url, "text/plain;version=0.0.4", None)?;
        // The exporter looked at its machine somewhere between the question and the answer.
        let at_ns = u64::midpoint(asked_ns, now_ns());
        let exposition = prometheus::parse(&body);
        let reading = prometheus::reading(&exposition.series, at_ns);
        if reading.samples.is_empty() {
            let what = match exposition.first_unreadable {
                Some((line, text)) if exposition.series.is_empty() => {
                    format!("no exposition (line {line}: {text})")
                }
                _ => format!("{} series, none of them one of a machine's", exposition.series.len()),
            };
            return Err(format!(
                "{url} answers {what}; give the URL of a node_exporter, or of Ceph's or MinIO's metrics"
            ));
        }
        Ok(reading)
    }
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
    const MOVED: &str = "HTTP/1.1 302 x\r\nlocation: http://127.0.0.1:1/\r\nconnection: close\r\n\r\n";

    fn ask(url: &str, token: Option<&str>) -> Result<crate::reading::Reading, String> {
        Exporter::new(url, Login { token, ..Login::default() }, Duration::from_secs(1)).unwrap().ask()
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
            (FOREIGN, "1 series, none of them one of a machine's"),
            (MOVED, "answers 302; give the URL"),
        ] {
            let said = ask(&server(vec![answer.to_owned()]).0, Some("wrong")).unwrap_err();
            assert!(said.contains(words) && !said.contains("wrong"), "{said}");
        }
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
