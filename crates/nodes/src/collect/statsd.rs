//! What servers of the store send by themselves: timings and counters of their requests over UDP, as Swift does with
//! `log_statsd_host`. Source: Etsy, `StatsD` metric types (`name:value|ms|@rate`, `name:value|c|@rate`, several to a packet, a
//! line each); Swift, Administrator's Guide, Reporting metrics to `StatsD`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

use super::{News, now_ns};
use crate::quantity as q;
use crate::reading::Reading;

/// The address that is listened on.
#[derive(Debug)]
pub struct StatsdReceiver {
    address: SocketAddr,
    interval: Duration,
}

/// Kinds of requests beyond these are not told apart: a sender that makes names up fills no memory.
const MOST_NAMES: usize = 1_000;
/// No request takes longer, in ms: a day.
const LONGEST_TIMING: f64 = 86_400_000.0;
/// No line stands for more requests, with its rate, nor counts more: above it a sum no longer changes by what is real.
const MOST_REQUESTS: f64 = 1e8;
const MOST_COUNTED: f64 = 1e13;
/// Longer names are none.
const LONGEST_NAME: usize = 200;
/// One packet of UDP.
const PACKET: usize = 65_536;
/// Who sends nothing for so long at the start was not asked to.
const PATIENCE: Duration = Duration::from_secs(15);
/// An address that another program has is tried again after so long.
const AGAIN: Duration = Duration::from_secs(5);
/// How much of a line that is neither a timing nor a counter is shown.
const SHOWN: usize = 60;

/// Requests and seconds by kind, since the start.
#[derive(Debug, Default)]
struct Sums {
    kinds: BTreeMap<String, (f64, f64)>,
    /// What was counted, by name, since the start.
    counters: BTreeMap<String, f64>,
    /// Timings and milliseconds per kilobyte by device, since the last reading.
    devices: BTreeMap<String, (f64, f64)>,
    /// Lines that are neither, or of amounts that nothing has, and how the first begins.
    others: u64,
    first_other: String,
    /// Lines whose names were too many, and the first of these names.
    left_out: u64,
    first_left_out: String,
}

impl StatsdReceiver {
    /// Listens on an address.
    ///
    /// # Errors
    /// When it is none.
    pub fn on(address: &str, interval: Duration) -> Result<Self, String> {
        let address = address
            .parse()
            .map_err(|_| format!("listen: {address}: give IP:PORT, such as 127.0.0.1:8125"))?;
        Ok(Self { address, interval })
    }

    /// Gathers what comes, and brings the sums every interval until nobody listens.
    pub async fn collect(self: Arc<Self>, to: Sender<News>) {
        let mut last_trouble = None;
        let socket = loop {
            let cause = match UdpSocket::bind(self.address).await {
                Ok(socket) => break socket,
                Err(cause) => format!("listen: {}: {cause}", self.address),
            };
            if last_trouble.as_ref() != Some(&cause) {
                last_trouble = Some(cause.clone());
                if to.send(News::Lost(cause)).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(AGAIN) => {}
                () = to.closed() => return,
            }
        };
        self.gather(&socket, &to).await;
    }

    async fn gather(&self, socket: &UdpSocket, to: &Sender<News>) {
        let (mut sums, began, mut warned) = (Sums::default(), Instant::now(), false);
        let mut packet = vec![0; PACKET];
        let mut due = tokio::time::interval(self.interval);
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = due.tick() => {
                    let news = if sums.has_any() || began.elapsed() <= PATIENCE {
                        // A store that has no load yet sends nothing, and is not waited for.
                        News::Reading(sums.reading(now_ns()))
                    } else if !warned {
                        warned = true;
                        News::Lost(self.silent(&sums))
                    } else if to.is_closed() {
                        return;
                    } else {
                        continue;
                    };
                    let is_heard = matches!(news, News::Reading(_));
                    if to.send(news).await.is_err() {
                        return;
                    }
                    if is_heard && to.send(News::Missing(sums.missing())).await.is_err() {
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

    fn silent(&self, sums: &Sums) -> String {
        let (address, seconds) = (self.address, PATIENCE.as_secs());
        if sums.others > 0 {
            return format!(
                "{} lines came to {address} in {seconds} s, none a timing or a counter (first: {})",
                sums.others, sums.first_other
            );
        }
        format!(
            "no timing came to {address} in {seconds} s; Swift sends them with log_statsd_host and log_statsd_port"
        )
    }
}

fn shown(text: &str) -> String {
    text.chars().filter(|sign| !sign.is_control()).take(SHOWN).collect()
}

impl Sums {
    /// One line; what is neither a timing nor a counter is counted.
    fn take(&mut self, line: &str) {
        let Some(timing) = timing(line) else {
            if let Some((name, count)) = counter(line) {
                self.add_count(name, count);
                return;
            }
            if self.others == 0 {
                self.first_other = shown(line);
            }
            self.others += 1;
            return;
        };
        let device = device_of(timing.name);
        let (sums, name, per_timing) = match device {
            Some(device) => (&mut self.devices, device, timing.milliseconds),
            None => (&mut self.kinds, timing.name, timing.milliseconds / 1e3),
        };
        if sums.len() >= MOST_NAMES && !sums.contains_key(name) {
            self.leave_out(name);
            return;
        }
        let sum = sums.entry(name.to_owned()).or_default();
        sum.0 += timing.requests / timing.rate;
        sum.1 += per_timing / timing.rate;
    }

    fn add_count(&mut self, name: &str, count: f64) {
        if let Some(sum) = self.counters.get_mut(name) {
            *sum += count;
        } else if self.counters.len() < MOST_NAMES {
            self.counters.insert(name.to_owned(), count);
        } else {
            self.leave_out(name);
        }
    }

    fn leave_out(&mut self, name: &str) {
        if self.left_out == 0 {
            self.first_left_out = shown(name);
        }
        self.left_out += 1;
    }

    /// What of all that came is in no sum for want of room, in one sentence.
    fn missing(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} lines of names beyond the first {MOST_NAMES} were left out (first: {})",
                self.left_out, self.first_left_out
            )
        })
    }

    fn has_any(&self) -> bool {
        !self.kinds.is_empty() || !self.counters.is_empty() || !self.devices.is_empty()
    }

    fn reading(&mut self, at_ns: u64) -> Reading {
        let mut reading = Reading { at_ns, samples: Vec::new() };
        for (name, (requests, seconds)) in &self.kinds {
            reading.add(&q::SERVER_REQUESTS, name, *requests);
            reading.add(&q::SERVER_REQUEST_TIME, name, *seconds);
        }
        for (name, count) in &self.counters {
            // Of Swift's proxy: what requests of this kind and status sent or received as bodies.
            match name.strip_suffix(".xfer").filter(|kind| !kind.is_empty()) {
                Some(kind) => reading.add(&q::SERVER_MOVED, kind, *count),
                None => reading.add(&q::SERVER_EVENTS, name, *count),
            }
        }
        for (device, (timings, milliseconds)) in std::mem::take(&mut self.devices) {
            reading.add(&q::DEVICE_PUT_TIME, &device, milliseconds / timings);
        }
        reading
    }
}

/// What one line says.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Timing<'a> {
    name: &'a str,
    /// Of all its values together; of a counter what it counts.
    milliseconds: f64,
    /// The greatest of its values.
    greatest: f64,
    /// How many values it has.
    requests: f64,
    /// The share of all that is sent.
    rate: f64,
}

/// A `name:12.3|ms|@0.5`, with tags behind it (`|#method:GET`) and several values as `DogStatsD` has them; its histograms and
/// distributions (`h`, `d`) are of milliseconds, too.
fn timing(line: &str) -> Option<Timing<'_>> {
    let (kind, all) = numbers(line)?;
    let name = all.name.strip_suffix(".timing").unwrap_or(all.name);
    let is_timing = matches!(kind, "ms" | "h" | "d") && !name.is_empty();
    let is_possible = all.greatest <= LONGEST_TIMING && all.requests / all.rate <= MOST_REQUESTS;
    (is_timing && is_possible).then_some(Timing { name, ..all })
}

/// A `name:3|c|@0.5`: its name, and how much was counted.
fn counter(line: &str) -> Option<(&str, f64)> {
    let (kind, all) = numbers(line)?;
    let count = all.milliseconds / all.rate;
    (kind == "c" && count <= MOST_COUNTED).then_some((all.name, count))
}

/// What a line is, and its numbers.
fn numbers(line: &str) -> Option<(&str, Timing<'_>)> {
    let (head, rest) = line.trim().split_once('|')?;
    let (name, values) = head.split_once(':')?;
    let mut parts = rest.split('|');
    let kind = parts.next()?;
    let rate = match parts.find_map(|part| part.strip_prefix('@')) {
        Some(rate) => rate.parse().ok().filter(|rate| *rate > 0.0 && *rate <= 1.0)?,
        None => 1.0,
    };
    let readable = name.bytes().all(|byte| byte.is_ascii_graphic());
    if name.is_empty() || name.len() > LONGEST_NAME || !readable {
        return None;
    }
    let mut all = Timing { name, milliseconds: 0.0, greatest: 0.0, requests: 0.0, rate };
    for value in values.split(':') {
        let value: f64 = value.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)?;
        all.milliseconds += value;
        all.greatest = all.greatest.max(value);
        all.requests += 1.0;
    }
    Some((kind, all))
}

/// The device of Swift's `object-server.PUT.DEVICE`, which is in milliseconds for each kB and no time of a request.
fn device_of(name: &str) -> Option<&str> {
    let (_, device) = name.split_once("object-server.PUT.")?;
    // The times of requests that failed are whole ones, as those of other methods.
    (!device.is_empty() && device != "errors").then_some(device)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn one(line: &str) -> Option<(&str, f64, f64, f64)> {
        timing(line).map(|read| (read.name, read.milliseconds, read.requests, read.rate))
    }

    #[test]
    fn a_timing_is_read_with_its_rate_and_everything_else_is_passed_over() {
        assert_eq!(
            one("proxy-server.object.GET.200.timing:12.5|ms"),
            Some(("proxy-server.object.GET.200", 12.5, 1.0, 1.0))
        );
        assert_eq!(one("a.b:4|ms|@0.25"), Some(("a.b", 4.0, 1.0, 0.25)));
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
            ":1|ms",
            "a|ms",
            "a:1:x|ms",
        ] {
            assert_eq!(timing(line), None, "{line}");
        }
        assert_eq!(timing(&format!("{}:1|ms", "x".repeat(500))), None);
    }

    #[test]
    fn tags_change_no_timing_and_histograms_are_timings() {
        for (line, expected) in [
            ("get:12.5|ms|#method:GET,status:200", ("get", 12.5, 1.0, 1.0)),
            ("get:12.5|ms|@0.5|#a:b", ("get", 12.5, 1.0, 0.5)),
            ("get:12.5|ms|#a:b|@0.5", ("get", 12.5, 1.0, 0.5)),
            ("get:3|h|#a:b", ("get", 3.0, 1.0, 1.0)),
            ("get:1:2:3|d|#a:b|c:83c0a99c", ("get", 6.0, 3.0, 1.0)),
        ] {
            assert_eq!(one(line), Some(expected), "{line}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

        /// Whoever reaches the port may send anything.
        #[test]
        fn whatever_a_packet_holds_is_a_number_or_counted(
            lines in proptest::collection::vec("[a-z.]{0,4}:?(1e308|-?[0-9]{1,3}|NaN|inf|:){1,3}\\|?(ms|c|g|h|d)?(\\|@(1e-320|0|0.5|2|inf))?[\\|# é]{0,2}", 0..40),
        ) {
            let mut sums = Sums::default();
            lines.iter().for_each(|line| sums.take(line));
            proptest::prop_assert!(sums.others <= lines.len() as u64);
            proptest::prop_assert!(sums.first_other.chars().count() <= SHOWN);
            let reading = sums.reading(7);
            proptest::prop_assert!(reading.samples.iter().all(|one| one.value.is_finite() && one.value >= 0.0));
        }
    }

    fn found(reading: &Reading) -> Vec<(&'static str, &str, f64)> {
        reading.samples.iter().map(|one| (one.quantity.id, one.unit.as_str(), one.value)).collect()
    }

    #[test]
    fn counters_are_rates_by_their_names_and_bytes_by_the_kind_of_request() {
        let mut sums = Sums::default();
        for line in [
            "proxy-server.object.GET.200.xfer:4096|c",
            "proxy-server.object.GET.200.xfer:1024|c|@0.5",
            "object-server.async_pendings:1|c",
            "object-server.async_pendings:2:3|c|#a:b",
        ] {
            sums.take(line);
        }
        // A rate cannot come of what goes down, nor of a gauge or of what is no number.
        for line in ["a:-1|c", "a:NaN|c", "a:1e999|c", "a:1|c|@0", "a:1|g", "a:x|c", "|c", ":1|c", "a b:1|c"]
        {
            sums.take(line);
        }
        let expected = [
            ("server_events", "object-server.async_pendings", 6.0),
            ("server_moved_bytes", "proxy-server.object.GET.200", 6144.0),
        ];
        assert!(sums.has_any());
        assert_eq!((sums.others, found(&sums.reading(1))), (9, expected.to_vec()));
        assert_eq!(found(&sums.reading(2)), expected, "they are sums since the start");
        (0..MOST_NAMES * 2).for_each(|at| sums.take(&format!("n{at}:1|c")));
        assert_eq!(sums.counters.len(), MOST_NAMES);
    }

    #[test]
    fn a_disk_has_the_mean_of_its_writes_since_the_last_reading() {
        let mut sums = Sums::default();
        for line in ["object-server.PUT.sdb1.timing:0.5|ms", "x.object-server.PUT.sdb1.timing:1.5|ms|@0.5"] {
            sums.take(line);
        }
        sums.take("object-server.PUT.timing:7|ms");
        let reading = sums.reading(1);
        let requests =
            [("server_requests", "object-server.PUT", 1.0), ("server_request_s", "object-server.PUT", 0.007)];
        let mean = 3.5 / 3.0;
        assert_eq!(found(&reading)[..2], requests);
        assert_eq!(found(&reading)[2..], [("device_put_ms_per_kb", "sdb1", mean)]);
        assert_eq!(found(&sums.reading(2)), requests);
    }

    #[tokio::test]
    async fn timings_of_a_real_packet_are_summed_up_and_names_are_bounded() {
        let receiver = StatsdReceiver::on("127.0.0.1:0", Duration::from_millis(20)).unwrap();
        let socket = UdpSocket::bind(receiver.address).await.unwrap();
        let (address, sender) =
            (socket.local_addr().unwrap(), std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        let (to, mut from) = tokio::sync::mpsc::channel(4);
        let task = tokio::spawn(async move { receiver.gather(&socket, &to).await });
        sender
            .send_to(b"get.timing:125|ms\nget.timing:62.5|ms|@0.5\n\xff\xfe:1|ms\nnothing", address)
            .unwrap();
        let reading = loop {
            match from.recv().await {
                Some(News::Reading(reading)) if !reading.samples.is_empty() => break reading,
                Some(News::Reading(_) | News::Missing(None)) => {}
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(found(&reading), [("server_requests", "get", 3.0), ("server_request_s", "get", 0.25)]);
        drop(from);
        task.await.unwrap();
        let mut sums = Sums::default();
        (0..MOST_NAMES).for_each(|at| sums.take(&format!("n{at}:1|ms")));
        sums.take("n0:1|ms");
        assert_eq!(sums.missing(), None);
        (MOST_NAMES..MOST_NAMES * 2).for_each(|at| sums.take(&format!("n{at}:1|ms")));
        assert_eq!((sums.kinds.len(), sums.kinds["n0"].0), (MOST_NAMES, 2.0));
        let missing = sums.missing().unwrap();
        assert!(missing.starts_with("1000 lines of names beyond") && missing.contains("n1000)"), "{missing}");
    }

    #[test]
    fn amounts_that_nothing_has_spoil_no_sum() {
        let mut sums = Sums::default();
        let real = ["get:100|ms|@0.1", "object-server.PUT.sdb1.timing:2|ms", "hits:5|c"];
        let invented = [
            "get:1|ms|@1e-320",
            "get:0|ms|@1e-320",
            "get:1e308|ms",
            "get:1e308:1e308|ms",
            "get:90000000|ms",
            "object-server.PUT.sdb1.timing:1e300|ms",
            "object-server.PUT.sdb1.timing:1|ms|@1e-300",
            "hits:1e308|c",
            "hits:1e308:1e308|c",
            "hits:1|c|@1e-320",
        ];
        real.iter().chain(&invented).for_each(|line| sums.take(line));
        assert_eq!((sums.others, sums.first_other.as_str()), (invented.len() as u64, "get:1|ms|@1e-320"));
        let expected = [
            ("server_requests", "get", 10.0),
            ("server_request_s", "get", 1.0),
            ("server_events", "hits", 5.0),
            ("device_put_ms_per_kb", "sdb1", 2.0),
        ];
        assert_eq!(found(&sums.reading(1)), expected);
        sums.take("slow:86400000|ms|@0.001");
        assert_eq!(sums.kinds["slow"], (1000.0, 86_400_000.0));
    }

    #[tokio::test]
    async fn names_that_found_no_room_are_said_beside_the_readings() {
        let receiver = StatsdReceiver::on("127.0.0.1:0", Duration::from_millis(20)).unwrap();
        let socket = UdpSocket::bind(receiver.address).await.unwrap();
        let (address, sender) =
            (socket.local_addr().unwrap(), std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
        let (to, mut from) = tokio::sync::mpsc::channel(4);
        let task = tokio::spawn(async move { receiver.gather(&socket, &to).await });
        let text: String = (0..MOST_NAMES + 7).map(|at| format!("n{at}:1|c\n")).collect();
        sender.send_to(text.as_bytes(), address).unwrap();
        let said = loop {
            match from.recv().await {
                Some(News::Missing(Some(who))) => break who,
                Some(News::Reading(_) | News::Missing(None)) => {}
                other => panic!("{other:?}"),
            }
        };
        assert!(said.starts_with("7 lines of names beyond the first 1000"), "{said}");
        drop(from);
        task.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_something_else_is_shown() {
        let receiver = StatsdReceiver::on("127.0.0.1:0", Duration::from_secs(1)).unwrap();
        let mut sums = Sums::default();
        assert!(receiver.silent(&sums).starts_with("no timing came to 127.0.0.1:0 in 15 s"));
        ["hits:1|c\u{1b}[31m", "used:7|g"].into_iter().for_each(|line| sums.take(line));
        let said = receiver.silent(&sums);
        assert!(
            said.starts_with("2 lines came to ")
                && said.ends_with("a timing or a counter (first: hits:1|c[31m)"),
            "{said}"
        );
        let socket = UdpSocket::bind(receiver.address).await.unwrap();
        let (to, mut from) = tokio::sync::mpsc::channel(64);
        let task = tokio::spawn(async move { receiver.gather(&socket, &to).await });
        let lost = loop {
            match from.recv().await {
                Some(News::Reading(reading)) => assert!(reading.samples.is_empty(), "{reading:?}"),
                Some(News::Missing(None)) => {}
                other => break other,
            }
        };
        assert!(matches!(&lost, Some(News::Lost(why)) if why.starts_with("no timing came")), "{lost:?}");
        drop(from);
        task.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_that_another_program_has_is_named_and_taken_when_it_is_free() {
        assert!(StatsdReceiver::on("storage1", Duration::from_secs(1)).unwrap_err().contains("give IP:PORT"));
        let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = other.local_addr().unwrap().to_string();
        let receiver = StatsdReceiver::on(&address, Duration::from_secs(1)).unwrap();
        let (to, mut from) = tokio::sync::mpsc::channel(4);
        let task = tokio::spawn(Arc::new(receiver).collect(to));
        let lost = from.recv().await;
        assert!(
            matches!(&lost, Some(News::Lost(why)) if why.contains("in use") && why.contains(&address)),
            "{lost:?}"
        );
        drop(other);
        assert!(matches!(from.recv().await, Some(News::Reading(_))));
        drop(from);
        task.await.unwrap();
    }
}
