//! Swift's recon of one storage node: what is still to be done, what was found damaged, how full its devices are, and what the
//! passes of its replicator and auditor came to. It knows no processor and not how busy a disk is: for these name the machine
//! once more with another way. Sources: Swift, Administrator's Guide, Cluster Telemetry and Monitoring;
//! `swift/obj/{replicator,auditor}.py`, `swift/common/middleware/recon.py` (diskusage).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_workload::logins::without_logins;
use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::http::{HttpSource, Login, json_of, poll};
use super::{News, now_ns};
use crate::quantity::{self as q, Quantity};
use crate::reading::Reading;

/// Where to ask.
#[derive(Debug)]
pub struct Recon {
    http: HttpSource,
    url: String,
    interval: Duration,
    passes: Mutex<Passes>,
}

/// What ended since the first question: recon has the last pass of each daemon only.
#[derive(Debug, Default)]
struct Passes {
    /// When the last pass of the replicator ended that is counted or from before, seconds since 1970.
    replicated_s: Option<f64>,
    compared: f64,
    sent: f64,
    /// When the auditor's last report began.
    audited_s: Option<f64>,
    audited: f64,
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
        let http = HttpSource::new(url, Login::default())?;
        Ok(Self { http, url: format!("{base}/recon"), interval, passes: Mutex::default() })
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
            let answer = json_of(&text);
            match answer.as_ref().and_then(|answer| answer.get(field)) {
                Some(Value::Number(number)) => reading.add(quantity, "", number.as_f64().unwrap_or(f64::NAN)),
                // No daemon has counted it yet.
                Some(Value::Null) => {}
                _ => {
                    return Err(format!(
                        "{} tells no `{field}`; give the URL of an object server with the recon filter",
                        without_logins(&url)
                    ));
                }
            }
        }
        self.replication(&mut reading);
        self.audit(&mut reading);
        self.usage(&mut reading);
        Ok(reading)
    }

    /// What a server answers that knows of this; the others tell the rest all the same.
    fn more(&self, path: &str) -> Option<Value> {
        let text = self.http.ask(&format!("{}/{path}", self.url), "application/json", None).ok()?;
        json_of(&text)
    }

    /// How full its devices are. One that is not mounted has no numbers.
    fn usage(&self, reading: &mut Reading) {
        let Some(answer) = self.more("diskusage") else { return };
        for one in answer.as_array().into_iter().flatten() {
            let number = |name: &str| one.get(name).and_then(Value::as_f64);
            let device = one.get("device").and_then(Value::as_str);
            if let (Some(device), Some(size), Some(used)) = (device, number("size"), number("used")) {
                reading.add(&q::STORE_CAPACITY, device, size);
                reading.add(&q::STORE_USED, device, used);
            }
        }
    }

    fn replication(&self, reading: &mut Reading) {
        let Some(answer) = self.more("replication/object") else { return };
        let field = |name: &str| answer.get(name);
        let Some(ended) = field("object_replication_last").or(field("replication_last")) else { return };
        // No pass has ended yet.
        let ended_s = ended.as_f64().unwrap_or(0.0);
        let stats = |name: &str| field("replication_stats")?.get(name)?.as_f64();
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        if passes.replicated_s.is_some_and(|seen_s| ended_s > seen_s) {
            passes.compared += stats("attempted").unwrap_or(0.0);
            passes.sent += stats("rsync").unwrap_or(0.0);
        }
        passes.replicated_s = Some(ended_s);
        reading.add(&q::STORE_COMPARED, "", passes.compared);
        reading.add(&q::STORE_SENT, "", passes.sent);
    }

    fn audit(&self, reading: &mut Reading) {
        let Some(answer) = self.more("auditor/object") else { return };
        let Some(all) = answer.get("object_auditor_stats_ALL") else { return };
        // With several processes there is one entry for each of their devices.
        let each: Vec<&Value> = match all.get("start_time") {
            Some(_) => vec![all],
            None => all.as_object().into_iter().flat_map(|devices| devices.values()).collect(),
        };
        let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        let began_s = passes.audited_s;
        for one in each {
            let start_s = number(one, "start_time");
            if began_s.is_some_and(|seen_s| start_s > seen_s) {
                passes.audited += number(one, "passes");
            }
            passes.audited_s = Some(passes.audited_s.unwrap_or(0.0).max(start_s));
        }
        passes.audited_s.get_or_insert(0.0);
        reading.add(&q::STORE_SCANNED, "", passes.audited);
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
    fn passes_that_end_meanwhile_are_counted_and_earlier_ones_are_not() {
        let replicated = |last: &str, attempted: u32, rsync: u32| {
            format!(
                "{{\"object_replication_last\": {last}, \"replication_stats\": {{\"attempted\": {attempted}, \"rsync\": \
                 {rsync}, \"hashmatch\": 9}}}}"
            )
        };
        let audited = |began: u32| {
            format!(
                "{{\"object_auditor_stats_ALL\": {{\"sda\": {{\"start_time\": {began}, \"passes\": 3}}, \"sdb\": \
                 {{\"start_time\": 1, \"passes\": 9}}}}, \"object_auditor_stats_ZBF\": {{}}}}"
            )
        };
        let rounds = [
            (replicated("100.5", 512, 400), audited(100)),
            (replicated("100.5", 512, 400), audited(100)),
            (replicated("130.25", 500, 2), audited(200)),
            (replicated("160", 500, 0), "{\"object_auditor_stats_ALL\": {}}".to_owned()),
        ];
        let mut answers = Vec::new();
        for (replication, audit) in rounds {
            let quiet = ["{\"async_pending\": 0}", "{\"objects\": 0}"].map(str::to_owned);
            answers.extend(quiet.into_iter().chain([replication, audit, "[]".to_owned()]));
        }
        let whole = |body: String| format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}");
        let (url, _) = server(answers.into_iter().map(whole).collect());
        let recon = Recon::new(url.trim_end_matches("metrics"), Duration::from_secs(1)).unwrap();
        let of = |reading: &Reading, id: &str| {
            reading.samples.iter().find(|one| one.quantity.id == id).map(|one| one.value)
        };
        let found: Vec<_> = (0..4)
            .map(|_| recon.ask().unwrap())
            .map(|reading| {
                ["store_partitions_compared", "store_partitions_sent", "store_objects_scanned"]
                    .map(|id| of(&reading, id).unwrap())
            })
            .collect();
        assert_eq!(found, [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [500.0, 2.0, 3.0], [1000.0, 2.0, 3.0]]);
    }

    #[test]
    fn a_device_says_how_full_it_is_unless_it_is_not_mounted() {
        let usage = "[{\"device\": \"sdb1\", \"mounted\": true, \"size\": 1000, \"used\": 250, \"avail\": 750}, \
                     {\"device\": \"sdc1\", \"mounted\": false, \"size\": \"\", \"used\": \"\", \"avail\": \"\"}]";
        let reading = ask(&["{\"async_pending\": 0}", "{\"objects\": 0}", "{}", "{}", usage]).unwrap();
        let found: Vec<_> =
            reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
        let devices: Vec<_> = found.into_iter().filter(|one| one.1 == "sdb1" || one.1 == "sdc1").collect();
        assert_eq!(devices, [("store_capacity_bytes", "sdb1", 1000.0), ("store_used_bytes", "sdb1", 250.0)]);
    }

    #[test]
    fn another_server_is_named_with_the_remedy() {
        for answer in ["<html>", "{}", "{\"async_pending\": \"x\"}", "[]"] {
            let said = ask(&[answer]).unwrap_err();
            assert!(said.contains("/recon/async tells no `async_pending`"), "{said}");
        }
    }
}
