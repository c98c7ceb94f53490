//! The daemons of Ceph on this machine, by their administration sockets: cheap enough for once a second, where the manager's
//! figures are 5 to 15 s old. Source: Ceph, `perf dump` and `AdminSocket::do_accept` (a JSON command that ends with a zero byte,
//! an answer behind its length in four bytes, big endian).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

use super::http::poll_with;
use super::{News, now_ns};
use crate::quantity::{self as q, Quantity};
use crate::reading::{Reading, Sample};

/// Where the sockets are.
#[derive(Debug)]
pub struct AdminSockets {
    directory: PathBuf,
    interval: Duration,
    /// Servers that have answered: one that falls silent is named.
    answered: Mutex<BTreeSet<String>>,
}

/// A daemon whose whole answer takes longer is done without. All are asked side by side.
const PATIENCE: Duration = Duration::from_secs(2);
/// An OSD answers with some 50 kB.
const MOST_BYTES: u32 = 4 << 20;
/// More daemons are not on one machine.
const MOST_SOCKETS: usize = 200;
/// So many silent daemons are named.
const MOST_NAMED: usize = 3;
const QUESTION: &[u8] = b"{\"prefix\":\"perf dump\",\"format\":\"json\"}\0";
const FOREIGN: &str = "it answers otherwise than a daemon of Ceph";
const ENDED: &str = "nobody listens on its socket: it has ended";

/// One number of an answer: its section, its name, the kind of request, and what it is. Latencies have two parts.
struct Known {
    section: &'static str,
    name: &'static str,
    part: &'static str,
    kind: &'static str,
    quantity: &'static Quantity,
}

const fn of(section: &'static str, name: &'static str, quantity: &'static Quantity) -> Known {
    Known { section, name, part: "", kind: "", quantity }
}

const fn latency(section: &'static str, name: &'static str, kind: &'static str) -> [Known; 2] {
    [
        Known { section, name, part: "avgcount", kind, quantity: &q::SERVER_REQUESTS },
        Known { section, name, part: "sum", kind, quantity: &q::SERVER_REQUEST_TIME },
    ]
}

/// Gateways of newer releases have `rgw_op` instead of the initial latencies.
static LATENCIES: &[[Known; 2]] = &[
    latency("osd", "op_r_latency", "read"),
    latency("osd", "op_w_latency", "write"),
    latency("osd", "subop_w_latency", "copy"),
    latency("bluestore", "kv_sync_lat", "journal"),
    latency("bluestore", "read_lat", "device read"),
    latency("rgw", "get_initial_lat", "get"),
    latency("rgw", "put_initial_lat", "put"),
    latency("rgw_op", "get_obj_lat", "get"),
    latency("rgw_op", "put_obj_lat", "put"),
];
static NUMBERS: &[Known] = &[
    of("osd", "recovery_ops", &q::STORE_RECOVERIES),
    of("osd", "recovery_bytes", &q::STORE_RECOVERED_BYTES),
    of("osd", "op_wip", &q::SERVER_QUEUE),
    of("rgw", "qlen", &q::SERVER_QUEUE),
];

impl AdminSockets {
    /// All daemons whose sockets lie in a directory; `~/` is the user's own.
    #[must_use]
    pub fn new(directory: &str, interval: Duration) -> Self {
        let own = directory.strip_prefix("~/").zip(std::env::home_dir());
        let directory = own.map_or_else(|| PathBuf::from(directory), |(rest, home)| home.join(rest));
        Self { directory, interval, answered: Mutex::default() }
    }

    /// Asks every interval until nobody listens.
    pub async fn collect(self: Arc<Self>, to: Sender<News>) {
        poll_with(self.interval, to, move || {
            let own = Arc::clone(&self);
            async move { own.ask().await }
        })
        .await;
    }

    /// What those say that answer, and who does not.
    async fn ask(&self) -> Result<Vec<News>, String> {
        let (reading, missing) = self.look().await?;
        Ok(vec![News::Reading(reading), News::Missing(missing)])
    }

    /// What those daemons say that answer within two seconds, and in one sentence who does not.
    ///
    /// # Errors
    /// One sentence when none does.
    pub async fn look(&self) -> Result<(Reading, Option<String>), String> {
        let sockets = self.sockets()?;
        let mut reading = Reading { at_ns: now_ns(), samples: Vec::new() };
        let mut asked = JoinSet::new();
        for (at, path) in sockets.iter().cloned().enumerate() {
            // Of an answer no more than its samples is held until the others are there.
            asked.spawn(async move {
                let answer = perf_dump(&path).await;
                (at, answer.map(|answer| samples(&daemon(&path), &answer)))
            });
        }
        let mut answers = Vec::new();
        while let Some(answer) = asked.join_next().await {
            answers.extend(answer);
        }
        answers.sort_by_key(|(at, _)| *at);
        let (mut heard, mut silent) = (BTreeSet::new(), BTreeMap::new());
        for (at, answer) in answers {
            let name = daemon(&sockets[at]);
            match answer {
                Ok(samples) => {
                    reading.samples.extend(samples);
                    heard.insert(name);
                }
                Err(why) => drop(silent.insert(name, why)),
            }
        }
        if !reading.samples.is_empty() {
            let missing = self.missing(heard, silent);
            return Ok((reading, missing));
        }
        let shown = self.directory.display();
        Err(match silent.first_key_value() {
            Some((name, why)) => format!("{shown}: {name}: {why}"),
            None => format!("no daemon of Ceph has a socket in {shown}"),
        })
    }

    fn sockets(&self) -> Result<Vec<PathBuf>, String> {
        let entries = std::fs::read_dir(&self.directory).map_err(|cause| {
            format!(
                "{}: {cause}; `ceph-conf --show-config-value admin_socket` tells where the sockets are",
                self.directory.display()
            )
        })?;
        let mut sockets: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "asok"))
            .collect();
        sockets.sort();
        sockets.truncate(MOST_SOCKETS);
        Ok(sockets)
    }

    /// One sentence about the servers that have not answered. The socket of a daemon that ended before stays in its directory,
    /// and a gateway has another one after each start: who never answered, and who answers by another socket, are not missed.
    fn missing(&self, heard: BTreeSet<String>, silent: BTreeMap<String, String>) -> Option<String> {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut missing: BTreeMap<String, String> = silent
            .into_iter()
            .filter(|(name, _)| is_server(name) && !heard.contains(name))
            .filter(|(name, why)| why != ENDED || answered.contains(name))
            .collect();
        for name in answered.difference(&heard) {
            missing.entry(name.clone()).or_insert_with(|| "its socket is gone".to_owned());
        }
        answered.extend(heard.into_iter().filter(|name| is_server(name)));
        let mut named: Vec<String> =
            missing.iter().take(MOST_NAMED).map(|(name, why)| format!("{name}: {why}")).collect();
        if missing.len() > MOST_NAMED {
            named.push(format!("and {} more", missing.len() - MOST_NAMED));
        }
        (!named.is_empty()).then(|| format!("{}; the others answer", named.join("; ")))
    }
}

/// Programs that use the store have sockets too, and come and go.
fn is_server(daemon: &str) -> bool {
    !daemon.starts_with("client.") || daemon.starts_with("client.rgw")
}

/// `ceph-osd.3.asok` and `osd.3.asok` are osd.3; a client's name has its process behind it.
fn daemon(path: &Path) -> String {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name = stem.strip_prefix("ceph-").unwrap_or(stem);
    let numbered = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts: Vec<&str> = name.split('.').collect();
    if parts.first() == Some(&"client") {
        while parts.len() > 2 && parts.last().is_some_and(numbered) {
            parts.pop();
        }
    }
    parts.join(".")
}

async fn perf_dump(path: &Path) -> Result<Value, String> {
    let text = match tokio::time::timeout(PATIENCE, answer(path)).await {
        Ok(text) => text.map_err(|cause| match cause.kind() {
            // The queue of its socket is full.
            ErrorKind::WouldBlock => "it does not take connections: it hangs or is stopped".to_owned(),
            ErrorKind::ConnectionRefused => ENDED.to_owned(),
            _ => cause.to_string(),
        })?,
        Err(_) => {
            return Err(format!("no answer in {} s: it hangs or is stopped", PATIENCE.as_secs()));
        }
    };
    serde_json::from_slice(&text).map_err(|_| FOREIGN.to_owned())
}

async fn answer(path: &Path) -> Result<Vec<u8>, Error> {
    let mut socket = UnixStream::connect(path).await?;
    socket.write_all(QUESTION).await?;
    let length = socket.read_u32().await?;
    if length > MOST_BYTES {
        return Err(Error::new(ErrorKind::InvalidData, FOREIGN));
    }
    let mut text = Vec::new();
    socket.take(u64::from(length)).read_to_end(&mut text).await?;
    Ok(text)
}

fn samples(daemon: &str, answer: &Value) -> Vec<Sample> {
    let mut reading = Reading::default();
    let mut take = |known: &Known| {
        let Some(found) = answer.get(known.section).and_then(|section| section.get(known.name)) else {
            return;
        };
        let found = if known.part.is_empty() { Some(found) } else { found.get(known.part) };
        let Some(value) = found.and_then(Value::as_f64) else { return };
        let unit = if known.kind.is_empty() { daemon.to_owned() } else { format!("{daemon} {}", known.kind) };
        reading.add(known.quantity, &unit, value);
    };
    LATENCIES.iter().flatten().chain(NUMBERS).for_each(&mut take);
    reading.samples
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("cosmark-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// A daemon that answers once with these bytes.
    fn serve(path: &Path, answer: Vec<u8>) -> std::thread::JoinHandle<()> {
        let listener = UnixListener::bind(path).unwrap();
        std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            let mut byte = [0];
            while socket.read_exact(&mut byte).is_ok() && byte != [0] {
                asked.extend(byte);
            }
            assert_eq!(serde_json::from_slice::<Value>(&asked).unwrap()["prefix"], "perf dump");
            let _ = socket.write_all(&answer);
        })
    }

    fn behind_length(text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap();
        [&length.to_be_bytes()[..], text.as_bytes()].concat()
    }

    /// What was read, and who is missed.
    fn parts(news: Vec<News>) -> (Reading, Option<String>) {
        match <[News; 2]>::try_from(news) {
            Ok([News::Reading(reading), News::Missing(missing)]) => (reading, missing),
            other => unreachable!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn each_daemon_that_answers_has_its_times_and_one_that_lies_is_named() {
        let directory = directory("asok");
        let osd = "{\"osd\":{\"op_r_latency\":{\"avgcount\":4,\"sum\":0.5,\"avgtime\":0.125},\"recovery_bytes\":7,\"op_wip\":2},\
                   \"bluestore\":{\"kv_sync_lat\":{\"avgcount\":9,\"sum\":0.25}}}";
        serve(&directory.join("ceph-osd.0.asok"), behind_length(osd));
        serve(&directory.join("mon.a.asok"), b"\xff\xff\xff\xff".to_vec());
        drop(UnixListener::bind(directory.join("osd.9.asok")).unwrap());
        let sockets = AdminSockets::new(directory.to_str().unwrap(), Duration::from_secs(1));
        let (read, missing) = parts(sockets.ask().await.unwrap());
        assert_eq!(missing.unwrap(), format!("mon.a: {FOREIGN}; the others answer"));
        let found: Vec<_> = read.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
        assert_eq!(
            found,
            [
                ("server_requests", "osd.0 read", 4.0),
                ("server_request_s", "osd.0 read", 0.5),
                ("server_requests", "osd.0 journal", 9.0),
                ("server_request_s", "osd.0 journal", 0.25),
                ("store_recovered_bytes", "osd.0", 7.0),
                ("server_queue", "osd.0", 2.0),
            ]
        );
        std::fs::remove_dir_all(&directory).unwrap();
    }

    const SMALL: &str = "{\"osd\":{\"op_wip\":2}}";

    /// As `SIGSTOP` leaves a daemon: its socket is there, and nobody accepts.
    #[tokio::test]
    async fn a_daemon_that_is_stopped_holds_nothing_up_and_is_named_while_the_others_go_on() {
        let directory = directory("stopped-asok");
        let _stopped = UnixListener::bind(directory.join("osd.3.asok")).unwrap();
        let sockets = AdminSockets::new(directory.to_str().unwrap(), Duration::from_secs(1));
        for at in 0..8 {
            if at == 1 {
                // Daemons of Ceph have a queue of five, which a few polls fill.
                while UnixStream::connect(directory.join("osd.3.asok")).await.is_ok() {}
            }
            let path = directory.join("osd.1.asok");
            serve(&path, behind_length(SMALL));
            let began = std::time::Instant::now();
            let (reading, missing) = parts(sockets.ask().await.unwrap());
            assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
            assert_eq!(reading.samples.len(), 1, "{reading:?}");
            let missing = missing.unwrap();
            assert!(missing.starts_with("osd.3: ") && missing.ends_with("; the others answer"), "{missing}");
            let expected = if at == 0 { "no answer in 2 s" } else { "it does not take connections" };
            assert!(missing.contains(expected), "{missing}");
            std::fs::remove_file(path).unwrap();
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[tokio::test]
    async fn a_byte_now_and_then_is_no_answer() {
        let directory = directory("slow-asok");
        serve(&directory.join("osd.1.asok"), behind_length(SMALL));
        let slow = UnixListener::bind(directory.join("osd.2.asok")).unwrap();
        std::thread::spawn(move || {
            let (mut socket, _) = slow.accept().unwrap();
            while socket.write_all(b"\0").is_ok() {
                std::thread::sleep(Duration::from_millis(900));
            }
        });
        let sockets = AdminSockets::new(directory.to_str().unwrap(), Duration::from_secs(1));
        let began = std::time::Instant::now();
        let (_, missing) = parts(sockets.ask().await.unwrap());
        assert!(missing.unwrap().starts_with("osd.2: no answer in 2 s"));
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[tokio::test]
    async fn a_daemon_that_ends_is_missed_and_one_that_never_was_there_is_not() {
        let directory = directory("ended-asok");
        let path = |name: &str| directory.join(name);
        let sockets = AdminSockets::new(directory.to_str().unwrap(), Duration::from_secs(1));
        drop(UnixListener::bind(path("osd.9.asok")).unwrap());
        let names = ["osd.1.asok", "osd.2.asok", "client.rgw.a.7.9.asok", "client.bench.4.4.asok"];
        let served = names.map(|name| serve(&path(name), behind_length(SMALL)));
        assert_eq!(parts(sockets.ask().await.unwrap()).1, None);
        served.into_iter().for_each(|daemon| daemon.join().unwrap());
        std::fs::remove_file(path("osd.1.asok")).unwrap();
        serve(&path("osd.1.asok"), behind_length(SMALL));
        serve(&path("client.rgw.a.8.9.asok"), behind_length(SMALL));
        std::fs::remove_file(path("client.bench.4.4.asok")).unwrap();
        let missing = parts(sockets.ask().await.unwrap()).1;
        assert_eq!(missing.unwrap(), format!("osd.2: {ENDED}; the others answer"));
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[tokio::test]
    async fn without_a_daemon_the_sentence_says_where_was_looked() {
        let directory = directory("no-asok");
        let sockets = AdminSockets::new(directory.to_str().unwrap(), Duration::from_secs(1));
        assert!(sockets.ask().await.unwrap_err().contains("no daemon of Ceph has a socket in"));
        serve(&directory.join("osd.1.asok"), behind_length("[1"));
        assert!(sockets.ask().await.unwrap_err().contains("otherwise than a daemon of Ceph"));
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(sockets.ask().await.unwrap_err().contains("admin_socket"));
        let own = AdminSockets::new("~/x", Duration::from_secs(1)).directory;
        assert!(own.is_absolute() && own.ends_with("x"), "{own:?}");
    }

    #[test]
    fn a_gateways_process_is_no_part_of_its_name() {
        for (file, name) in [
            ("client.rgw.a.4711.94322.asok", "client.rgw.a"),
            ("ceph-osd.12.asok", "osd.12"),
            ("mgr.x.asok", "mgr.x"),
        ] {
            assert_eq!(daemon(Path::new(file)), name);
        }
    }
}
