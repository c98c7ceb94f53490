//! How fast the links of a machine are where the machine itself does not say it: what somebody declares of them, and what the
//! kernel's queues in front of them let through. Sources: iproute2, tc(8), tc-tbf(8), tc-htb(8), tc-netem(8), and what its
//! `-s -j` prints: rates in bytes per second, classes as text also where JSON is asked for (up to 6.1).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::quantity as q;
use crate::reading::Reading;

/// What `tc -s -j qdisc show` printed, among the files of a machine; no path is called so.
pub const QUEUES: &str = "tc-qdisc";
/// What `tc class show dev ..` printed, with the name of the interface behind it.
pub const CLASSES: &str = "tc-class ";
/// What `tc -s class show dev ..` printed, with the name of the interface behind it: classes, and what each has sent.
pub const COUNTED: &str = "tc-counted-class ";
/// What `tc filter show dev .. ingress` printed, with the name of the interface behind it.
pub const FILTERS: &str = "tc-filter ";
/// How often the queues are asked for, in readings: a program is started for it.
pub const EVERY: u32 = 2;
/// How often classes and filters are, which change when somebody configures them.
pub const CLASSES_EVERY: u32 = 10;
/// Interfaces whose classes are asked for what they have sent as often as the queues are: a program is started for each.
pub const MOST_COUNTED: usize = 2;
/// Interfaces whose classes are asked for, and whose filters; more are not shaped by hand.
pub const MOST_SHAPED: usize = 16;
/// Interfaces that are looked at over ssh, where the shell does not know which have some.
pub const MOST_LOOKED_AT: usize = 32;
/// More text is no answer of `tc`.
pub const MOST_BYTES: usize = 1 << 20;
/// More queues are not looked at.
const MOST_QUEUES: usize = 4_000;
/// Parts of links that are limited by themselves; more of a machine are not looked at.
const MOST_PARTS: usize = 64;
/// Queues that stand one behind the other.
const DEEPEST: usize = 8;
/// The kernel's names of interfaces have 15 signs; alternative ones have more.
const LONGEST_NAME: usize = 128;

/// One queue.
#[derive(Debug)]
struct Queue<'a> {
    kind: &'a str,
    device: &'a str,
    handle: &'a str,
    parent: Option<&'a str>,
    all: &'a Value,
}

impl<'a> Queue<'a> {
    fn of(row: &'a Value) -> Option<Self> {
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        let plain = |name: &&str| {
            !name.is_empty()
                && name.len() <= LONGEST_NAME
                && !name.contains(|sign: char| sign.is_control() || sign.is_whitespace())
        };
        Some(Self {
            kind: text("kind")?,
            device: text("dev").filter(plain)?,
            handle: text("handle").unwrap_or_default(),
            parent: text("parent"),
            all: row,
        })
    }

    fn is_root(&self) -> bool {
        self.all.get("root").and_then(Value::as_bool) == Some(true)
    }

    fn looks_at_what_comes(&self) -> bool {
        matches!(self.kind, "ingress" | "clsact")
    }

    /// What passes here comes to nothing else than to a queue behind it.
    fn has_one_behind_it(&self) -> bool {
        matches!(self.kind, "tbf" | "netem")
    }

    /// Bytes per second that it lets through at most; `None` where it limits nothing, or not everything.
    fn limit(&self, classes: &BTreeMap<String, String>) -> Option<f64> {
        let option = |key: &str| self.all.get("options").and_then(|options| options.get(key));
        let rate = match self.kind {
            "tbf" => option("rate")?.as_f64(),
            "netem" => option("rate")?.get("rate")?.as_f64(),
            "cake" => option("bandwidth")?.as_f64(),
            "htb" => {
                let default = option("default")?.as_str()?;
                let default = default.trim_start_matches("0x");
                htb_limit(classes.get(&format!("{CLASSES}{}", self.device))?, self.handle, default)
            }
            _ => None,
        };
        rate.filter(|rate| *rate > 0.0)
    }
}

/// Interfaces whose queue has its rates in classes.
#[must_use]
pub fn with_classes(queues: &str) -> Vec<String> {
    let rows = rows(queues);
    let shaped = rows.iter().filter_map(Queue::of).filter(|queue| queue.kind == "htb" && queue.is_root());
    shaped.map(|queue| queue.device.to_owned()).take(MOST_SHAPED).collect()
}

/// Interfaces that may have a policer.
#[must_use]
pub fn with_filters(queues: &str) -> Vec<String> {
    let rows = rows(queues);
    let looked_at = rows.iter().filter_map(Queue::of).filter(Queue::looks_at_what_comes);
    looked_at.map(|queue| queue.device.to_owned()).take(MOST_SHAPED).collect()
}

fn rows(text: &str) -> Vec<Value> {
    let read = if text.len() > MOST_BYTES { None } else { serde_json::from_str(text.trim()).ok() };
    match read {
        Some(Value::Array(mut rows)) => {
            rows.truncate(MOST_QUEUES);
            rows
        }
        _ => Vec::new(),
    }
}

/// What the queues among the files of a machine say.
pub(crate) fn read(files: &BTreeMap<String, String>, reading: &mut Reading) {
    let Some(text) = files.get(QUEUES) else { return };
    let rows = rows(text);
    let queues: Vec<Queue<'_>> = rows.iter().filter_map(Queue::of).collect();
    for queue in &queues {
        let count = |key: &str| queue.all.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let device = queue.device;
        if queue.looks_at_what_comes() {
            reading.add(&q::QUEUE_RECEIVE_DROPS, device, count("drops"));
            let limit = files.get(&format!("{FILTERS}{device}")).and_then(|text| policed(text));
            limit.into_iter().for_each(|limit| reading.add(&q::RECEIVE_LIMIT, device, limit));
        }
        // A queue counts what its own classes drop, and one that keeps nothing counts nothing.
        if !queue.is_root() || queue.kind == "noqueue" {
            continue;
        }
        reading.add(&q::QUEUE_SEND_DROPS, device, count("drops"));
        reading.add(&q::QUEUE_HELD, device, count("overlimits"));
        reading.add(&q::QUEUE_REQUEUES, device, count("requeues"));
        reading.add(&q::QUEUE_BYTES, device, count("backlog"));
        if let Some(limit) = limit(queue, &queues, files) {
            reading.add(&q::SEND_LIMIT, device, limit);
            reading.add(&q::QUEUE_SENT, device, count("bytes"));
        }
    }
    let parts = queues.iter().flat_map(|queue| match queue.is_root() {
        true => classes_of(queue, &queues, files),
        false => queue_of_a_class(queue, &queues, files).into_iter().collect(),
    });
    for Part { name, limit, counts: [sent, drops, held] } in parts.take(MOST_PARTS) {
        reading.add(&q::SEND_LIMIT, &name, limit);
        reading.add(&q::QUEUE_SENT, &name, sent);
        reading.add(&q::QUEUE_SEND_DROPS, &name, drops);
        reading.add(&q::QUEUE_HELD, &name, held);
    }
}

/// What a filter or a class takes out of all that a link sends, and lets through more slowly than the link could.
struct Part {
    name: String,
    /// Bytes per second.
    limit: f64,
    /// Bytes sent, packets dropped, times that packets were held back.
    counts: [f64; 3],
}

/// A class of an htb.
struct Class<'a> {
    name: &'a str,
    parent: Option<&'a str>,
    /// Bytes per second that it may send, also where others leave it theirs.
    ceiling: f64,
    counts: [f64; 3],
}

impl<'a> Class<'a> {
    /// All of them: what each has counted stands in the line behind it.
    fn all(text: &'a str) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            match words.as_slice() {
                ["class", "htb", name, rest @ ..] => {
                    let behind = |name: &str| rest.iter().skip_while(|word| **word != name).nth(1).copied();
                    let ceiling = behind("ceil").or(behind("rate")).and_then(bytes_per_s);
                    let (parent, ceiling) = (behind("parent"), ceiling.unwrap_or(f64::NAN));
                    found.push(Self { name: *name, parent, ceiling, counts: [f64::NAN; 3] });
                }
                ["Sent", sent, "bytes", _, "pkt", "(dropped", drops, "overlimits", held, ..] => {
                    let counts = [*sent, drops.trim_end_matches(','), *held];
                    if let Some(class) = found.last_mut() {
                        class.counts = counts.map(|count| count.parse().unwrap_or(f64::NAN));
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// The classes of an htb at the root that may send less than the class above them, or than the link.
fn classes_of(root: &Queue<'_>, queues: &[Queue<'_>], files: &BTreeMap<String, String>) -> Vec<Part> {
    let text = files.get(&format!("{COUNTED}{}", root.device)).filter(|_| root.kind == "htb");
    let all = text.map_or_else(Vec::new, |text| Class::all(text));
    let whole = limit(root, queues, files);
    let ceilings: BTreeMap<&str, f64> = all.iter().map(|class| (class.name, class.ceiling)).collect();
    let is_part = |class: &&Class<'_>| {
        let above = class.parent.map_or(whole, |parent| ceilings.get(parent).copied());
        class.name.starts_with(root.handle)
            && class.name.len() <= LONGEST_NAME
            && class.ceiling > 0.0
            && above.is_none_or(|above| class.ceiling < above)
    };
    let part = |class: &Class<'_>| Part {
        name: format!("{} class {}", root.device, class.name),
        limit: class.ceiling,
        counts: class.counts,
    };
    all.iter().filter(is_part).map(part).collect()
}

/// A queue that only some packets come to, with a rate of its own.
fn queue_of_a_class(
    queue: &Queue<'_>,
    queues: &[Queue<'_>],
    files: &BTreeMap<String, String>,
) -> Option<Part> {
    let least = limit(queue, queues, files).filter(|_| queue.handle.len() <= LONGEST_NAME)?;
    let (above, _) = queue.parent?.split_once(':')?;
    let here = || queues.iter().filter(|other| other.device == queue.device);
    let above = here().find(|other| other.handle.strip_suffix(':') == Some(above));
    let whole = here().find(|other| other.is_root()).and_then(|root| limit(root, queues, files));
    let is_part = !queue.looks_at_what_comes()
        && above.is_none_or(|above| !above.has_one_behind_it())
        && whole.is_none_or(|whole| least < whole);
    let count = |key: &str| queue.all.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN);
    is_part.then(|| Part {
        name: format!("{} queue {}", queue.device, queue.handle),
        limit: least,
        counts: ["bytes", "drops", "overlimits"].map(count),
    })
}

/// The least that a queue and those behind it let through.
fn limit(root: &Queue<'_>, queues: &[Queue<'_>], files: &BTreeMap<String, String>) -> Option<f64> {
    let (mut least, mut at) = (None::<f64>, Some(root));
    for _ in 0..DEEPEST {
        let Some(queue) = at else { break };
        least = match (least, queue.limit(files)) {
            (Some(a), Some(b)) => Some(f64::min(a, b)),
            (a, b) => a.or(b),
        };
        let only_class = format!("{}1", queue.handle);
        let behind =
            |other: &&Queue<'_>| other.device == queue.device && other.parent == Some(only_class.as_str());
        at = if queue.has_one_behind_it() { queues.iter().find(behind) } else { None };
    }
    least
}

/// What the classes at the root of an htb may send together; `None` where packets without a class pass by them.
fn htb_limit(text: &str, handle: &str, default: &str) -> Option<f64> {
    let (mut sum, mut has_default) = (None::<f64>, false);
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let ["class", "htb", class, rest @ ..] = words.as_slice() else { continue };
        let Some(number) = class.strip_prefix(handle) else { continue };
        has_default |= number == default;
        if rest.first() == Some(&"root") {
            let behind = |name: &str| rest.iter().skip_while(|word| **word != name).nth(1).copied();
            sum = Some(sum.unwrap_or(0.0) + behind("ceil").or(behind("rate")).and_then(bytes_per_s)?);
        }
    }
    sum.filter(|_| has_default)
}

/// What policers let in of everything that comes; `None` where none drops the rest, or where they look at a part only.
fn policed(text: &str) -> Option<f64> {
    let has = |words: &[&str], pair: [&str; 2]| words.windows(2).any(|two| *two == pair);
    let (mut of_all, mut matches, mut least) = (false, None::<bool>, None::<f64>);
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.first().copied() {
            Some("filter") => {
                of_all = has(&words, ["protocol", "all"]);
                matches = words.contains(&"matchall").then_some(true);
            }
            // All matches of a filter have to hold.
            Some("match") => {
                let everything = words == ["match", "00000000/00000000", "at", "0"];
                matches = Some(matches.unwrap_or(true) && everything);
            }
            _ => {}
        }
        let drops = words.contains(&"police") && has(&words, ["action", "drop"]);
        if drops && of_all && matches == Some(true) {
            let rate = words.iter().skip_while(|word| **word != "rate").nth(1).copied().and_then(bytes_per_s);
            least = [least, rate].into_iter().flatten().reduce(f64::min);
        }
    }
    least.filter(|rate| *rate > 0.0)
}

/// `40Mbit`, `1500Kbit`, `1Gibit`, as tc prints rates.
fn bytes_per_s(text: &str) -> Option<f64> {
    let bits = text.strip_suffix("bit")?;
    let begins = bits.find(|sign: char| !(sign.is_ascii_digit() || sign == '.')).unwrap_or(bits.len());
    let (number, unit) = bits.split_at(begins);
    let (prefix, thousand) = match unit.strip_suffix('i') {
        Some(prefix) => (prefix, 1024.0_f64),
        None => (unit, 1000.0),
    };
    let power = match prefix {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * thousand.powi(power) / 8.0)
}

/// What somebody says of a link holds, whatever the machine does: it tells no speed of a virtual one, and of one that is shaped
/// that of the hardware. Bytes per second of each direction.
pub fn declare(reading: &mut Reading, links: &[(String, f64)]) {
    for (link, speed) in links {
        let said = [q::NETWORK_SPEED.id, q::SEND_LIMIT.id, q::RECEIVE_LIMIT.id];
        reading.samples.retain(|sample| sample.unit != *link || !said.contains(&sample.quantity.id));
        reading.add(&q::NETWORK_SPEED, link, *speed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// As iproute2 6.1 prints them, in a network namespace of Linux 6.
    const TBF: &str = r#"[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{},"bytes":0,"packets":0,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0},{"kind":"tbf","handle":"8001:","dev":"eth0","root":true,"refcnt":2,"options":{"rate":5000000,"burst":32765,"lat":50000},"bytes":9996321,"packets":90150,"drops":12,"overlimits":340,"requeues":1,"backlog":3028,"qlen":2},{"kind":"clsact","handle":"ffff:","dev":"eth0","parent":"ffff:fff1","options":{},"bytes":1,"packets":1,"drops":7,"overlimits":0,"requeues":0,"backlog":0,"qlen":0}]"#;
    const HTB: &str = r#"[{"kind":"htb","handle":"1:","dev":"eth0","root":true,"refcnt":2,"options":{"r2q":10,"default":"0x10","direct_packets_stat":0,"direct_qlen":1000},"bytes":0,"packets":0,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0},{"kind":"fq_codel","handle":"8003:","dev":"eth0","parent":"1:10","options":{"limit":10240},"drops":4,"overlimits":0,"requeues":0,"backlog":0,"qlen":0}]"#;
    const HTB_CLASSES: &str = "class htb 1:10 parent 1:1 leaf 8003: prio 0 rate 40Mbit ceil 60Mbit burst 1600b cburst 1590b \n \
                               Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n\nclass htb 1:1 root rate 80Mbit ceil 100Mbit \
                               burst 1600b cburst 1600b \n Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n";

    fn found(files: &[(&str, &str)]) -> Vec<(&'static str, String, f64)> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let mut reading = Reading::default();
        read(&files, &mut reading);
        reading.samples.into_iter().map(|sample| (sample.quantity.id, sample.unit, sample.value)).collect()
    }

    fn limit_of(files: &[(&str, &str)]) -> Option<f64> {
        let is_of_a_link = |one: &(&str, String, f64)| one.0 == q::SEND_LIMIT.id && !one.1.contains(' ');
        found(files).into_iter().find(is_of_a_link).map(|one| one.2)
    }

    #[test]
    fn a_shaped_link_tells_its_rate_and_what_waited_or_was_dropped() {
        let eth0 = |id, value| (id, "eth0".to_owned(), value);
        assert_eq!(
            found(&[(QUEUES, TBF)]),
            [
                eth0("network_queue_send_drops", 12.0),
                eth0("network_queue_held", 340.0),
                eth0("network_queue_requeues", 1.0),
                eth0("network_queue_bytes", 3028.0),
                eth0("network_send_limit_bytes_per_s", 5e6),
                eth0("network_queue_sent_bytes", 9_996_321.0),
                eth0("network_queue_receive_drops", 7.0),
            ]
        );
    }

    #[test]
    fn classes_limit_a_link_where_nothing_passes_by_them() {
        assert_eq!(with_classes(HTB), ["eth0"]);
        assert_eq!(with_classes(TBF), Vec::<String>::new());
        let classes = |text| limit_of(&[(QUEUES, HTB), ("tc-class eth0", text)]);
        assert_eq!(classes(HTB_CLASSES), Some(100e6 / 8.0));
        assert_eq!(limit_of(&[(QUEUES, HTB)]), None);
        assert_eq!(limit_of(&[(QUEUES, HTB), ("tc-class eth1", HTB_CLASSES)]), None);
        let elsewhere = HTB.replace("0x10", "0");
        assert_eq!(limit_of(&[(QUEUES, &elsewhere), ("tc-class eth0", HTB_CLASSES)]), None);
        assert_eq!(classes("class htb 1:10 root rate 40Mbit ceil lots\n"), None);
        let two = "class htb 1:10 root prio 0 rate 40Mbit ceil 40Mbit\nclass htb 1:20 root rate 1500Kbit ceil 1500Kbit\n";
        assert_eq!(classes(two), Some(41.5e6 / 8.0));
    }

    #[test]
    fn the_least_of_queues_behind_each_other_counts_and_that_of_one_class_of_many_does_not() {
        let two = |root: &str, parent: &str| {
            format!(
                "[{{\"kind\":\"{root}\",\"handle\":\"1:\",\"dev\":\"e\",\"root\":true,\"options\":{{\"rate\":\
                 {{\"rate\":10000000,\"cellsize\":0}}}}}},{{\"kind\":\"tbf\",\"handle\":\"2:\",\"dev\":\"e\",\
                 \"parent\":\"{parent}\",\"options\":{{\"rate\":1250000}}}}]"
            )
        };
        assert_eq!(limit_of(&[(QUEUES, &two("netem", "1:1"))]), Some(1.25e6));
        assert_eq!(limit_of(&[(QUEUES, &two("netem", "3:1"))]), Some(1e7));
        assert_eq!(limit_of(&[(QUEUES, &two("prio", "1:1"))]), None);
        // One that stands behind itself.
        let circle = two("netem", "1:1").replace("\"handle\":\"2:\"", "\"handle\":\"1:\"");
        assert_eq!(limit_of(&[(QUEUES, &circle)]), Some(1.25e6));
    }

    /// As `tc -s class show` prints them: one class for the rest, and a direction to each of two addresses.
    const COUNTED_CLASSES: &str = "class htb c05:20 parent c05:2 leaf 8004: prio 0 rate 5Mbit ceil 100Mbit burst 15Kb \n Sent 100 bytes \
                                   1 pkt (dropped 0, overlimits 1 requeues 0) \n backlog 0b 0p requeues 0\n\nclass htb c05:1 root \
                                   prio 0 rate 100Gbit ceil 100Gbit \n Sent 9 bytes 1 pkt (dropped 0, overlimits 0 requeues 0) \n\n\
                                   class htb c05:2 root rate 100Mbit ceil 100Mbit \n Sent 12500000 bytes 900 pkt (dropped 7, overlimits \
                                   340 requeues 0) \n\nclass htb c05:30 parent c05:3 prio 0 rate 1Mbit ceil 8Mbit \n Sent 5000 bytes \
                                   5 pkt (dropped 0, overlimits 3 requeues 0) \nclass htb c05:3 root rate 50Mbit ceil 100Mbit \n";

    #[test]
    fn what_a_class_takes_out_of_a_link_is_a_part_with_a_limit_of_its_own() {
        let queues = HTB.replace("1:", "c05:").replace("0x10", "0x1");
        let files = [
            (QUEUES, queues.as_str()),
            ("tc-class eth0", COUNTED_CLASSES),
            ("tc-counted-class eth0", COUNTED_CLASSES),
        ];
        let of_parts = |files: &[(&str, &str)]| {
            let parts = found(files).into_iter().filter(|one| one.1.contains(' '));
            parts.map(|(id, unit, value)| (id, unit, value.to_string())).collect::<Vec<_>>()
        };
        let of = |unit: &str, limit: &str, counts: &[&str]| {
            let ids = [q::SEND_LIMIT.id, q::QUEUE_SENT.id, q::QUEUE_SEND_DROPS.id, q::QUEUE_HELD.id];
            let values = [limit].into_iter().chain(counts.iter().copied());
            ids.into_iter()
                .zip(values)
                .map(|(id, value)| (id, unit.to_owned(), value.to_owned()))
                .collect::<Vec<_>>()
        };
        // One below another that may send as much is no part of its own, and one that may send as much as the link neither.
        let expected = [
            of("eth0 class c05:1", "12500000000", &["9", "0", "0"]),
            of("eth0 class c05:2", "12500000", &["12500000", "7", "340"]),
            of("eth0 class c05:30", "1000000", &["5000", "0", "3"]),
            of("eth0 class c05:3", "12500000", &[]),
        ];
        assert_eq!(of_parts(&files), expected.concat());
        assert_eq!(of_parts(&files[..2]), [], "nobody counts");
        let one = "class htb c05:1 root rate 40Mbit ceil 40Mbit \n Sent 9 bytes 1 pkt (dropped 0, overlimits 0 requeues 0) \n";
        let whole = [(QUEUES, queues.as_str()), ("tc-class eth0", one), ("tc-counted-class eth0", one)];
        assert_eq!(of_parts(&whole), []);
        // Packets that no class takes pass by.
        let elsewhere = queues.replace("0x1", "0x99");
        let parts = of_parts(&[(QUEUES, elsewhere.as_str()), ("tc-counted-class eth0", one)]);
        assert_eq!(parts, of("eth0 class c05:1", "5000000", &["9", "0", "0"]));
    }

    #[test]
    fn a_queue_behind_a_class_that_has_a_rate_is_a_part_and_one_behind_the_whole_link_is_none() {
        let behind = |root: &str, rate: u32, parent: &str| {
            let text = format!(
                "[{{\"kind\":\"{root}\",\"handle\":\"1:\",\"dev\":\"e\",\"root\":true,\"options\":{{\"rate\":{rate}}}}},\
                 {{\"kind\":\"tbf\",\"handle\":\"30:\",\"dev\":\"e\",\"parent\":\"{parent}\",\"options\":{{\"rate\":\
                 1250000}},\"bytes\":77,\"drops\":2,\"overlimits\":3}}]"
            );
            let parts = found(&[(QUEUES, text.as_str())]).into_iter().filter(|one| one.1 == "e queue 30:");
            parts.map(|one| one.2).collect::<Vec<_>>()
        };
        assert_eq!(behind("prio", 0, "1:3"), [1.25e6, 77.0, 2.0, 3.0]);
        assert_eq!(behind("mq", 0, "1:1"), [1.25e6, 77.0, 2.0, 3.0]);
        assert_eq!(behind("tbf", 5_000_000, "1:1"), [0.0; 0]);
    }

    /// As `print_police` and the filters `u32` and `matchall` of iproute2 print them.
    #[test]
    fn a_policer_of_everything_limits_what_is_received() {
        const U32: &str = "filter parent ffff: protocol all pref 49152 u32 chain 0 \nfilter parent ffff: protocol all pref \
                           49152 u32 chain 0 fh 800: ht divisor 1 \nfilter parent ffff: protocol all pref 49152 u32 chain 0 \
                           fh 800::800 order 2048 key ht 800 bkt 0 flowid :1 not_in_hw \n  match 00000000/00000000 at 0\n \
                           police 0x1 rate 20Mbit burst 100Kb mtu 2Kb action drop overhead 0b \n\tref 1 bind 1 \n";
        const MATCHALL: &str = "filter protocol all pref 49152 matchall chain 0 handle 0x1 \n  not_in_hw\n\taction order 1:  \
                                police 0x2 rate 8Mbit burst 100Kb mtu 2Kb action drop overhead 0b \n";
        assert_eq!((policed(U32), policed(MATCHALL)), (Some(2.5e6), Some(1e6)));
        assert_eq!(policed(&format!("{U32}{MATCHALL}")), Some(1e6));
        for (text, instead) in [
            ("protocol all", "protocol ip"),
            ("  match 00000000/00000000 at 0\n", "  match 0a000001/ffffffff at 12\n"),
            (
                "  match 00000000/00000000 at 0\n",
                "  match 0a000001/ffffffff at 12\n  match 00000000/00000000 at 0\n",
            ),
            ("action drop", "action reclassify"),
            ("rate 20Mbit", "rate 0bit"),
            ("rate 20Mbit", "pkts_rate 100"),
        ] {
            assert_eq!(policed(&U32.replace(text, instead)), None, "{instead}");
        }
        assert_eq!(with_filters(TBF), ["eth0"]);
        let all = found(&[(QUEUES, TBF), ("tc-filter eth0", U32)]);
        let limit = ("network_receive_limit_bytes_per_s", "eth0".to_owned(), 2.5e6);
        assert!(all.contains(&limit), "{all:?}");
    }

    #[test]
    fn what_is_no_answer_of_tc_says_nothing() {
        let many = format!("[{}]", vec!["{}"; 100_000].join(","));
        let deep = "[".repeat(5_000);
        for text in [
            "",
            "null",
            "{}",
            "[1,{},{\"kind\":3}]",
            "[{\"kind\":\"tbf\"",
            "qdisc noqueue 0: dev lo root",
            "[{\"kind\":\"tbf\",\"dev\":\"a\\u001b[31m\",\"root\":true,\"options\":{\"rate\":1}}]",
            "[{\"kind\":\"tbf\",\"dev\":\"e\",\"root\":true,\"options\":{\"rate\":-5},\"drops\":-1}]",
            &many,
            &deep,
        ] {
            assert_eq!(found(&[(QUEUES, text)]), [], "{}", &text[..text.len().min(80)]);
        }
        for (text, rate) in [
            ("40Mbit", Some(5e6)),
            ("8bit", Some(1.0)),
            ("1Gibit", Some(134_217_728.0)),
            ("40", None),
            ("bit", None),
            ("1e3bit", None),
            ("-8bit", None),
        ] {
            assert_eq!(bytes_per_s(text), rate, "{text}");
        }
    }

    #[test]
    fn what_is_declared_of_a_link_holds_against_what_was_found() {
        let mut reading = Reading::default();
        reading.add(&q::NETWORK_SPEED, "eth0", 1.25e9);
        reading.add(&q::SEND_LIMIT, "eth0", 1e6);
        reading.add(&q::SEND_LIMIT, "eth1", 2e6);
        declare(&mut reading, &[("eth0".to_owned(), 5e6)]);
        let left: Vec<_> = reading.samples.iter().map(|one| (one.unit.as_str(), one.value)).collect();
        assert_eq!(left, [("eth1", 2e6), ("eth0", 5e6)]);
    }
}
