//! Swift's recon of one storage node: what is still to be done, and what was found damaged. It knows no processor and no disk: for
//! these name the machine once more with another way. Source: Swift, Administrator's Guide, Cluster Telemetry and Monitoring.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::http::{HttpSource, Login, poll};
use super::{News, now_ns};
use crate::quantity::{self as q, Quantity};
use crate::reading::Reading;

/// Where to ask.
#[derive(Debug)]
pub struct Recon {
    http: HttpSource,
    url: String,
    interval: Duration,
}

/// What is asked for, below the URL, and which number of the answer is which quantity.
static ASKED: &[(&str, &str, &Quantity)] =
    &[("async", "async_pending", &q::STORE_PENDING), ("quarantined", "objects", &q::STORE_QUARANTINED)];

impl Recon {
    /// The recon of an object server.
    ///
    /// # Errors
    /// As [`HttpSource::new`].
    pub fn new(url: &str, interval: Duration) -> Result<Self, String> {
        let base = url.trim_end_matches('/');
        let base = base.strip_suffix("/recon").unwrap_or(base);
        Ok(Self { http: HttpSource::new(url, Login::default())?, url: format!("{base}/recon"), interval })
    }

    /// Asks every interval until nobody listens.
    pub async fn collect(self: Arc<Self>, to: Sender<News>) {
        poll(self.interval, to, self, |own| own.ask().map(|reading| vec![News::Reading(reading)])).await;
    }

    fn ask(&self) -> Result<Reading, String> {
        let mut reading = Reading { at_ns: now_ns(), samples: Vec::new() };
        for (path, field, quantity) in ASKED {
            let url = format!("{}/{path}", self.url);
            let text = self.http.ask(&url, "application/json", None)?;
            let answer: Option<Value> = serde_json::from_str(&text).ok();
            match answer.as_ref().and_then(|answer| answer.get(field)) {
                Some(Value::Number(number)) => reading.add(quantity, "", number.as_f64().unwrap_or(f64::NAN)),
                // No daemon has counted it yet.
                Some(Value::Null) => {}
                _ => {
                    return Err(format!(
                        "{url} tells no `{field}`; give the URL of an object server with the recon filter"
                    ));
                }
            }
        }
        Ok(reading)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::collect::http::tests::server;

    fn ask(answers: &[&str]) -> Result<Reading, String> {
        let whole = |body: &&str| format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}");
        let (url, _) = server(answers.iter().map(whole).collect());
        Recon::new(url.trim_end_matches("metrics"), Duration::from_secs(1)).unwrap().ask()
    }

    #[test]
    fn what_is_pending_and_what_is_damaged_is_told() {
        let reading = ask(&[
            "{\"async_pending\": 7, \"async_pending_last\": 1.5}",
            "{\"objects\": 2, \"accounts\": 0}",
        ]);
        let found: Vec<_> = reading.unwrap().samples.iter().map(|s| (s.quantity.id, s.value)).collect();
        assert_eq!(found, [("store_updates_pending", 7.0), ("store_objects_quarantined", 2.0)]);
        let reading = ask(&["{\"async_pending\": null}", "{\"objects\": 0}"]).unwrap();
        assert_eq!(reading.samples.len(), 1, "{reading:?}");
    }

    #[test]
    fn another_server_is_named_with_the_remedy() {
        for answer in ["<html>", "{}", "{\"async_pending\": \"x\"}", "[]"] {
            let said = ask(&[answer]).unwrap_err();
            assert!(said.contains("/recon/async tells no `async_pending`"), "{said}");
        }
    }
}
