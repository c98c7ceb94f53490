//! What servers of the store send by themselves: timings of their requests over UDP, as Swift does with `log_statsd_host`. Source:
//! Etsy, `StatsD` metric types (`name:value|ms|@rate`, several to a packet, a line each); Swift, Administrator's Guide, Reporting
//! metrics to `StatsD`.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::{News, now_ns};
use crate::quantity as q;
use crate::reading::Reading;

/// The address that is listened on, held from the start.
#[derive(Debug)]
pub struct StatsdReceiver {
    socket: UdpSocket,
    address: SocketAddr,
    interval: Duration,
}

/// Kinds of requests beyond these are not told apart: a sender that makes names up fills no memory.
const MOST_NAMES: usize = 1_000;
/// Longer names are none.
const LONGEST_NAME: usize = 200;
/// One packet of UDP.
const PACKET: usize = 65_536;
/// Who sends nothing for so long at the start was not told to.
const PATIENCE: Duration = Duration::from_secs(15);

/// Requests and seconds by kind, since the start.
#[derive(Debug, Default)]
struct Sums(BTreeMap<String, (f64, f64)>);

impl StatsdReceiver {
    /// Listens on an address.
    ///
    /// # Errors
    /// When it is none, or another program has it.
    pub fn on(address: &str, interval: Duration) -> Result<Self, String> {
        let wrong = |why: &str| format!("listen: {address}: {why}");
        let parsed: SocketAddr =
            address.parse().map_err(|_| wrong("give IP:PORT, such as 127.0.0.1:8125"))?;
        let socket = UdpSocket::bind(parsed).map_err(|cause| wrong(&cause.to_string()))?;
        socket.set_nonblocking(true).map_err(|cause| wrong(&cause.to_string()))?;
        let address = socket.local_addr().map_err(|cause| wrong(&cause.to_string()))?;
        Ok(Self { socket, address, interval })
    }

    /// Gathers what comes, and brings the sums every interval until nobody listens.
    pub async fn collect(self: Arc<Self>, to: Sender<News>) {
        let socket = self.socket.try_clone().and_then(tokio::net::UdpSocket::from_std);
        let socket = match socket {
            Ok(socket) => socket,
            Err(cause) => {
                let _ = to.send(News::Lost(format!("{}: {cause}", self.address))).await;
                return;
            }
        };
        let (mut sums, began, mut warned) = (Sums::default(), Instant::now(), false);
        let mut packet = vec![0; PACKET];
        let mut due = tokio::time::interval(self.interval);
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = due.tick() => {
                    let news = if !sums.0.is_empty() {
                        News::Reading(sums.reading(now_ns()))
                    } else if !warned && began.elapsed() > PATIENCE {
                        warned = true;
                        News::Lost(self.silent())
                    } else if to.is_closed() {
                        return;
                    } else {
                        continue;
                    };
                    if to.send(news).await.is_err() {
                        return;
                    }
                }
                came = socket.recv(&mut packet) => {
                    // An error is one of an earlier answer of ours, and we answer nobody.
                    if let Ok(length) = came {
                        String::from_utf8_lossy(&packet[..length]).lines().for_each(|line| sums.take(line));
                    }
                }
            }
        }
    }

    fn silent(&self) -> String {
        format!(
            "no timing came to {} in {} s; Swift sends them with log_statsd_host and log_statsd_port",
            self.address,
            PATIENCE.as_secs()
        )
    }
}

impl Sums {
    /// One line; what is no timing is passed over.
    fn take(&mut self, line: &str) {
        let Some((name, value, rate)) = timing(line) else { return };
        if self.0.len() >= MOST_NAMES && !self.0.contains_key(name) {
            return;
        }
        let sum = self.0.entry(name.to_owned()).or_default();
        sum.0 += 1.0 / rate;
        sum.1 += value / 1e3 / rate;
    }

    fn reading(&self, at_ns: u64) -> Reading {
        let mut reading = Reading { at_ns, samples: Vec::new() };
        for (name, (requests, seconds)) in &self.0 {
            reading.add(&q::SERVER_REQUESTS, name, *requests);
            reading.add(&q::SERVER_REQUEST_TIME, name, *seconds);
        }
        reading
    }
}

/// Name, milliseconds and the share that is sent of a `name:12.3|ms|@0.5`.
fn timing(line: &str) -> Option<(&str, f64, f64)> {
    let (name, rest) = line.trim().rsplit_once(':')?;
    let mut parts = rest.split('|');
    let value: f64 = parts.next()?.parse().ok()?;
    let is_timing = parts.next()? == "ms";
    let rate = match parts.find_map(|part| part.strip_prefix('@')) {
        Some(rate) => rate.parse().ok().filter(|rate| *rate > 0.0 && *rate <= 1.0)?,
        None => 1.0,
    };
    let name = name.strip_suffix(".timing").unwrap_or(name);
    let readable = name.bytes().all(|byte| byte.is_ascii_graphic());
    let good =
        is_timing && !name.is_empty() && name.len() <= LONGEST_NAME && readable && !is_per_kilobyte(name);
    (good && value.is_finite() && value >= 0.0).then_some((name, value, rate))
}

/// Swift's `object-server.PUT.DEVICE` is in milliseconds for each kB, which is no time of a request.
fn is_per_kilobyte(name: &str) -> bool {
    name.split_once("object-server.PUT.").is_some_and(|(_, device)| !device.is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_timing_is_read_with_its_rate_and_everything_else_is_passed_over() {
        assert_eq!(
            timing("proxy-server.object.GET.200.timing:12.5|ms"),
            Some(("proxy-server.object.GET.200", 12.5, 1.0))
        );
        assert_eq!(timing("a.b:4|ms|@0.25"), Some(("a.b", 4.0, 0.25)));
        for line in [
            "",
            ":",
            "a",
            "a:1",
            "a:1|c",
            "a:x|ms",
            "a:-1|ms",
            "a:NaN|ms",
            "a:1|ms|@0",
            "a:1|ms|@2",
            "a b:1|ms",
            "object-server.PUT.sdb1.timing:0.4|ms",
            ":1|ms",
        ] {
            assert_eq!(timing(line), None, "{line}");
        }
        assert_eq!(timing(&format!("{}:1|ms", "x".repeat(500))), None);
    }

    #[tokio::test]
    async fn timings_of_a_real_packet_are_summed_up_and_names_are_bounded() {
        let receiver = StatsdReceiver::on("127.0.0.1:0", Duration::from_millis(20)).unwrap();
        let (address, sender) = (receiver.address, UdpSocket::bind("127.0.0.1:0").unwrap());
        let (to, mut from) = tokio::sync::mpsc::channel(4);
        let task = tokio::spawn(Arc::new(receiver).collect(to));
        sender
            .send_to(b"get.timing:125|ms\nget.timing:62.5|ms|@0.5\n\xff\xfe:1|ms\nnothing", address)
            .unwrap();
        let Some(News::Reading(reading)) = from.recv().await else { panic!("no reading") };
        let found: Vec<_> =
            reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
        assert_eq!(found, [("server_requests", "get", 3.0), ("server_request_s", "get", 0.25)]);
        drop(from);
        task.await.unwrap();
        let mut sums = Sums::default();
        (0..MOST_NAMES * 2).for_each(|at| sums.take(&format!("n{at}:1|ms")));
        sums.take("n0:1|ms");
        assert_eq!((sums.0.len(), sums.0["n0"].0), (MOST_NAMES, 2.0));
    }

    #[test]
    fn an_address_that_cannot_be_had_is_named() {
        let held = StatsdReceiver::on("127.0.0.1:0", Duration::from_secs(1)).unwrap();
        for (address, words) in [("storage1", "give IP:PORT"), (&*held.address.to_string(), "in use")] {
            let said = StatsdReceiver::on(address, Duration::from_secs(1)).unwrap_err();
            assert!(said.starts_with("listen: ") && said.contains(words), "{said}");
        }
    }
}
