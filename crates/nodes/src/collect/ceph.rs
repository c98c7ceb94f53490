//! The daemons of Ceph on this machine, by their administration sockets: cheap enough for once a second, where the manager's
//! figures are 5 to 15 s old. Source: Ceph, `perf dump` and `AdminSocket::do_accept` (a JSON command that ends with a zero byte,
//! an answer behind its length in four bytes, big endian).

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::http::poll;
use super::{News, now_ns};
use crate::quantity::{self as q, Quantity};
use crate::reading::Reading;

/// Where the sockets are.
#[derive(Debug)]
pub struct AdminSockets {
    directory: PathBuf,
    interval: Duration,
}

/// A daemon that is silent for longer is passed over.
const PATIENCE: Duration = Duration::from_secs(2);
/// And all together have no more than this.
const ALL_OF_THEM: Duration = Duration::from_secs(10);
/// An OSD answers with some 50 kB.
const MOST_BYTES: u32 = 16 << 20;
/// More daemons are not on one machine.
const MOST_SOCKETS: usize = 200;

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
        Self { directory, interval }
    }

    /// Asks every interval until nobody listens.
    pub async fn collect(self: Arc<Self>, to: Sender<News>) {
        poll(self.interval, to, self, |own| own.ask().map(|reading| vec![News::Reading(reading)])).await;
    }

    fn ask(&self) -> Result<Reading, String> {
        let shown = self.directory.display();
        let entries = std::fs::read_dir(&self.directory).map_err(|cause| {
            format!(
                "{shown}: {cause}; `ceph-conf --show-config-value admin_socket` tells where the sockets are"
            )
        })?;
        let mut sockets: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "asok"))
            .collect();
        sockets.sort();
        sockets.truncate(MOST_SOCKETS);
        let mut reading = Reading { at_ns: now_ns(), samples: Vec::new() };
        let mut trouble = None;
        let until = Instant::now() + ALL_OF_THEM;
        for path in sockets.iter().take_while(|_| Instant::now() < until) {
            match perf_dump(path) {
                Ok(answer) => add(&mut reading, &daemon(path), &answer),
                // The socket of a daemon that was killed stays; the others answer.
                Err(why) => trouble = Some(format!("{}: {why}", path.display())),
            }
        }
        match (reading.samples.is_empty(), trouble) {
            (false, _) => Ok(reading),
            (true, Some(trouble)) => Err(trouble),
            (true, None) => Err(format!("no daemon of Ceph has a socket in {shown}")),
        }
    }
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

fn perf_dump(path: &Path) -> Result<Value, String> {
    let say = |cause: std::io::Error| cause.to_string();
    let mut socket = UnixStream::connect(path).map_err(say)?;
    socket.set_read_timeout(Some(PATIENCE)).map_err(say)?;
    socket.set_write_timeout(Some(PATIENCE)).map_err(say)?;
    socket.write_all(b"{\"prefix\":\"perf dump\",\"format\":\"json\"}\0").map_err(say)?;
    let mut length = [0; 4];
    socket.read_exact(&mut length).map_err(say)?;
    let length = u32::from_be_bytes(length);
    if length > MOST_BYTES {
        return Err("it answers otherwise than a daemon of Ceph".to_owned());
    }
    let mut text = Vec::new();
    socket.take(u64::from(length)).read_to_end(&mut text).map_err(say)?;
    serde_json::from_slice(&text).map_err(|_| "it answers otherwise than a daemon of Ceph".to_owned())
}

fn add(reading: &mut Reading, daemon: &str, answer: &Value) {
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
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("cosmark-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// A daemon that answers once with these bytes.
    fn serve(path: &Path, answer: Vec<u8>) {
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
        });
    }

    fn behind_length(text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap();
        [&length.to_be_bytes()[..], text.as_bytes()].concat()
    }

    #[test]
    fn each_daemon_that_answers_has_its_times_and_dead_and_lying_ones_are_passed_over() {
        let directory = directory("asok");
        let osd = "{\"osd\":{\"op_r_latency\":{\"avgcount\":4,\"sum\":0.5,\"avgtime\":0.125},\"recovery_bytes\":7,\"op_wip\":2},\
                   \"bluestore\":{\"kv_sync_lat\":{\"avgcount\":9,\"sum\":0.25}}}";
        serve(&directory.join("ceph-osd.0.asok"), behind_length(osd));
        serve(&directory.join("mon.a.asok"), b"\xff\xff\xff\xff".to_vec());
        drop(UnixListener::bind(directory.join("osd.9.asok")).unwrap());
        let read = AdminSockets::new(directory.to_str().unwrap(), Duration::from_secs(1)).ask().unwrap();
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

    #[test]
    fn without_a_daemon_the_sentence_says_where_was_looked() {
        let directory = directory("no-asok");
        let sockets = AdminSockets::new(directory.to_str().unwrap(), Duration::from_secs(1));
        assert!(sockets.ask().unwrap_err().contains("no daemon of Ceph has a socket in"));
        serve(&directory.join("osd.1.asok"), behind_length("[1"));
        assert!(sockets.ask().unwrap_err().contains("otherwise than a daemon of Ceph"));
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(sockets.ask().unwrap_err().contains("admin_socket"));
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
