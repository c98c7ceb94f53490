//! An exporter that answers with the text of Prometheus. Each request has its own thread for as long as it takes: a silent
//! exporter holds nothing up but itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig};

use super::{News, now_ns};
use crate::prometheus;

/// Where and how to ask.
#[derive(Debug)]
pub struct Exporter {
    agent: Agent,
    url: String,
    authorization: Option<String>,
    interval: Duration,
}

/// One answer takes no longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Exporters of large clusters answer with some megabytes.
const MOST_BYTES: u64 = 64 << 20;

impl Exporter {
    /// An exporter at a URL, with a bearer token and a file of certificates.
    ///
    /// # Errors
    /// When the file cannot be read or has no certificate.
    pub fn new(url: &str, token: Option<&str>, ca: Option<&str>, interval: Duration) -> Result<Self, String> {
        let mut config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            // A token goes where the user said, and nowhere else.
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false);
        if url.starts_with("https://") {
            let found = rustls_native_certs::load_native_certs();
            let mut roots: Vec<Certificate<'static>> =
                found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
            roots.extend(ca.map(certificates).transpose()?.into_iter().flatten());
            let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            let tls = TlsConfig::builder()
                .unversioned_rustls_crypto_provider(provider)
                .root_certs(RootCerts::new_with_certs(&roots));
            config = config.tls_config(tls.build());
        } else if let Some(ca) = ca {
            certificates(ca)?;
        }
        let authorization = token.map(|token| format!("Bearer {token}"));
        Ok(Self { agent: config.build().into(), url: url.to_owned(), authorization, interval })
    }

    /// Asks every interval until nobody listens. What goes wrong is told once; the exporter may come back.
    pub async fn collect(self: Arc<Self>, to: Sender<News>) {
        let mut due = tokio::time::interval(self.interval);
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut last_trouble = None;
        loop {
            due.tick().await;
            let own = Arc::clone(&self);
            let answer = tokio::task::spawn_blocking(move || own.ask()).await;
            let news = match answer.unwrap_or_else(|cause| Err(cause.to_string())) {
                Ok(reading) => {
                    last_trouble = None;
                    Some(News::Reading(reading))
                }
                Err(trouble) if last_trouble.as_ref() == Some(&trouble) => None,
                Err(trouble) => {
                    last_trouble = Some(trouble.clone());
                    Some(News::Lost(trouble))
                }
            };
            let gone = match news {
                Some(news) => to.send(news).await.is_err(),
                None => to.is_closed(),
            };
            if gone {
                return;
            }
        }
    }

    fn ask(&self) -> Result<crate::reading::Reading, String> {
        let url = &self.url;
        let mut request = self.agent.get(url).header("accept", "text/plain;version=0.0.4");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let asked_ns = now_ns();
        let mut answer = request.call().map_err(|cause| format!("{url}: {cause}"))?;
        let status = answer.status().as_u16();
        if status != 200 {
            let hint = match status {
                401 | 403 => "; give its `token`",
                301..=308 => "; give the URL that it leads to",
                _ => "",
            };
            return Err(format!("{url} answers {status}{hint}"));
        }
        let body = answer.body_mut().with_config().limit(MOST_BYTES).lossy_utf8(true).read_to_string();
        let body = body.map_err(|cause| format!("{url}: {cause}"))?;
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
            return Err(format!("{url} answers {what}; give the URL of a node_exporter"));
        }
        Ok(reading)
    }
}

fn certificates(path: &str) -> Result<Vec<Certificate<'static>>, String> {
    let pem = std::fs::read(path).map_err(|cause| format!("ca: cannot read {path}: {cause}"))?;
    let items = ureq::tls::parse_pem(&pem).filter_map(Result::ok);
    let found: Vec<_> = items
        .filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate.to_owned()),
            _ => None,
        })
        .collect();
    if found.is_empty() { Err(format!("ca: there is no certificate in {path}")) } else { Ok(found) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// A server that gives these answers one after the other, then no more; gives its URL.
    fn server(answers: Vec<&'static str>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/metrics", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for answer in answers {
                let Ok((mut stream, _)) = listener.accept() else { return };
                let mut head = [0; 4096];
                let read = stream.read(&mut head).unwrap_or(0);
                let asked = String::from_utf8_lossy(&head[..read]).to_ascii_lowercase();
                let answer =
                    if answer.contains("401") && asked.contains("bearer right") { GOOD } else { answer };
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        url
    }

    const GOOD: &str =
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 7\n";
    const REFUSED: &str = "HTTP/1.1 401 no\r\nconnection: close\r\n\r\n";
    const PAGE: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n<html>metrics</html>\n";
    const FOREIGN: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nup 1\n";
    const MOVED: &str = "HTTP/1.1 302 x\r\nlocation: http://127.0.0.1:1/\r\nconnection: close\r\n\r\n";

    fn ask(url: &str, token: Option<&str>) -> Result<crate::reading::Reading, String> {
        Exporter::new(url, token, None, Duration::from_secs(1)).unwrap().ask()
    }

    #[test]
    fn an_answer_is_a_reading_and_everything_else_one_sentence() {
        assert_eq!(ask(&server(vec![GOOD]), None).unwrap().samples[0].value, 7.0);
        assert_eq!(ask(&server(vec![REFUSED]), Some("right")).unwrap().samples.len(), 1);
        for (answer, words) in [
            (REFUSED, "answers 401; give its `token`"),
            (PAGE, "no exposition (line 1: <html>"),
            (FOREIGN, "1 series, none of them one of a machine's"),
            (MOVED, "answers 302; give the URL"),
        ] {
            let said = ask(&server(vec![answer]), Some("wrong")).unwrap_err();
            assert!(said.contains(words) && !said.contains("wrong"), "{said}");
        }
    }

    #[tokio::test]
    async fn an_exporter_that_comes_back_is_heard_again_and_its_trouble_is_told_once() {
        let url = server(vec![PAGE, PAGE, PAGE, GOOD]);
        let exporter = Exporter::new(&url, None, None, Duration::from_millis(20)).unwrap();
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
