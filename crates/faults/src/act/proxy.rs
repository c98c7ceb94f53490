//! A proxy between client and store, on a thread of its own: TCP both ways, and what a fault does to it. It measures what it
//! adds itself while no fault is in force. Delay and bandwidth act on the stream: bytes that were read are sent on later.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_archive::Heal;
use cosmark_metrics::ProxyCost;
use cosmark_stats::bootstrap::Random;
use cosmark_workload::model::faults::{NetworkFault, ProxyFault};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::Hand;
use super::process::Process;

/// Bytes that are read at once.
const BLOCK: usize = 64 << 10;
/// Blocks that are under way in one direction of a connection, where a delay or a bandwidth makes them wait.
const BLOCKS: usize = 64;
/// A store that cannot be reached within this time is not there.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How often the address is tried again after connections had been refused, and a connection where one could not be taken.
const BIND_AGAIN: Duration = Duration::from_millis(20);

/// The timer wakes nobody sooner: a bandwidth lets pass what would wait for less, and books it.
const TIMER_NS: u64 = 1_000_000;
/// What is not used of a bandwidth is lost but for so much: the timer wakes late, and a limit is not to be less than was asked for.
const OWED_NS: u64 = 5_000_000;

/// What it does now.
type Mode = Option<ProxyFault>;

/// What was seen.
#[derive(Default)]
struct Counts {
    connections: AtomicU64,
    bytes: AtomicU64,
    /// Blocks that were sent on without a fault, and how long that took in ns.
    passed: AtomicU64,
    passed_ns: AtomicU64,
    longest_ns: AtomicU64,
    cpu_ns: AtomicU64,
    /// Blocks that a fault could have swallowed so far.
    tossed: AtomicU64,
    /// Of the fault in force: blocks that it held or swallowed, the least time in ns that it held one, connections that it
    /// reset.
    held: AtomicU64,
    least_ns: AtomicU64,
    reset: AtomicU64,
    /// Moment up to which the bandwidth is used, ns since the proxy began.
    booked_ns: AtomicU64,
}

impl Counts {
    fn begin_fault(&self) {
        self.held.store(0, Relaxed);
        self.reset.store(0, Relaxed);
        self.least_ns.store(u64::MAX, Relaxed);
        self.booked_ns.store(0, Relaxed);
    }

    fn held(&self, for_ns: u64) {
        self.held.fetch_add(1, Relaxed);
        self.least_ns.fetch_min(for_ns, Relaxed);
    }
}

/// One proxy.
struct Proxy {
    of: String,
    listens: SocketAddr,
    mode: watch::Sender<Mode>,
    counts: Arc<Counts>,
    end: watch::Sender<bool>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end.send_replace(true);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            drop(thread.join());
        }
    }
}

/// The proxies of a run, by the host and port that they stand before.
#[derive(Clone, Default)]
pub struct Proxies {
    all: BTreeMap<String, Arc<Proxy>>,
}

/// Why there is no proxy.
#[derive(Debug)]
pub struct ProxyError(pub String);

impl std::fmt::Display for ProxyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProxyError {}

impl Proxies {
    /// Starts one before each of these stores (host and port).
    ///
    /// # Errors
    /// When one cannot listen.
    pub fn start<'a>(of: impl Iterator<Item = &'a str>) -> Result<Self, ProxyError> {
        let mut all = BTreeMap::new();
        for of in of {
            if !all.contains_key(of) {
                all.insert(of.to_owned(), Arc::new(start(of)?));
            }
        }
        Ok(Self { all })
    }

    /// Where the proxy before this store listens.
    #[must_use]
    pub fn instead_of(&self, of: &str) -> Option<SocketAddr> {
        self.all.get(of).map(|proxy| proxy.listens)
    }

    /// What it has added.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "times for people")]
    pub fn cost(&self, of: &str) -> Option<ProxyCost> {
        let proxy = self.all.get(of)?;
        let counts = &proxy.counts;
        let (passed, sum) = (counts.passed.load(Relaxed), counts.passed_ns.load(Relaxed));
        let cpu_ns = counts.cpu_ns.load(Relaxed);
        Some(ProxyCost {
            listens: proxy.listens.to_string(),
            of: proxy.of.clone(),
            connections: counts.connections.load(Relaxed),
            bytes: counts.bytes.load(Relaxed),
            mean_us: (passed > 0).then(|| sum as f64 / passed as f64 / 1e3),
            max_us: (passed > 0).then(|| counts.longest_ns.load(Relaxed) as f64 / 1e3),
            cpu_s: (cpu_ns > 0).then(|| cpu_ns as f64 / 1e9),
        })
    }

    /// Makes and heals a fault of it.
    pub(crate) fn hand(&self, of: &str, how: ProxyFault) -> Result<ByProxy, String> {
        let proxy = self.all.get(of).ok_or_else(|| format!("there is no proxy before {of}"))?;
        Ok(ByProxy { proxy: Arc::clone(proxy), how, since: None })
    }
}

fn start(of: &str) -> Result<Proxy, ProxyError> {
    let cannot = |cause: std::io::Error| ProxyError(format!("no proxy can stand before {of}: {cause}"));
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let listens = listener.local_addr().map_err(cannot)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let (mode, see_mode) = watch::channel(None);
    let (end, see_end) = watch::channel(false);
    let counts = Arc::new(Counts::default());
    let serve =
        Serve { of: of.to_owned(), listens, mode: see_mode, end: see_end, counts: Arc::clone(&counts) };
    let thread = std::thread::Builder::new()
        .name("proxy".to_owned())
        .spawn(move || runtime.block_on(serve.run(listener)))
        .map_err(cannot)?;
    Ok(Proxy { of: of.to_owned(), listens, mode, counts, end, thread: Mutex::new(Some(thread)) })
}

struct Serve {
    of: String,
    listens: SocketAddr,
    mode: watch::Receiver<Mode>,
    end: watch::Receiver<bool>,
    counts: Arc<Counts>,
}

impl Serve {
    async fn run(mut self, listener: std::net::TcpListener) {
        let mut listener = TcpListener::from_std(listener).ok();
        let began = Instant::now();
        let mut end = self.end.clone();
        loop {
            let mode = *self.mode.borrow_and_update();
            if mode == Some(ProxyFault::Refuse) {
                listener = None;
            } else if listener.is_none() {
                listener = listen(self.listens).ok();
            }
            tokio::select! {
                _ = end.wait_for(|end| *end) => return,
                _ = self.mode.changed() => {}
                accepted = accept(listener.as_ref()) => {
                    if let Ok(client) = accepted {
                        // As it is now: it may have changed since the listener was looked at.
                        let mode = *self.mode.borrow();
                        self.connect(client, mode, began);
                    }
                }
                () = sleep(Duration::from_millis(200)) => {}
            }
            self.counts.cpu_ns.store(thread_cpu_ns(), Relaxed);
        }
    }

    fn connect(&self, client: TcpStream, mode: Mode, began: Instant) {
        if mode == Some(ProxyFault::Reset) {
            self.counts.reset.fetch_add(1, Relaxed);
            reset(&client);
            return;
        }
        self.counts.connections.fetch_add(1, Relaxed);
        let (of, counts, mode) = (self.of.clone(), Arc::clone(&self.counts), self.mode.clone());
        tokio::spawn(async move {
            let Ok(Ok(store)) = timeout(CONNECT_WITHIN, TcpStream::connect(&of)).await else {
                reset(&client);
                return;
            };
            carry(client, store, mode, counts, began).await;
        });
    }
}

async fn accept(listener: Option<&TcpListener>) -> std::io::Result<TcpStream> {
    match listener {
        Some(listener) => match listener.accept().await {
            Ok((client, _)) => Ok(client),
            Err(cause) => {
                // Out of open files, for instance: asked again at once it would keep a processor busy beside the load.
                sleep(BIND_AGAIN).await;
                Err(cause)
            }
        },
        None => {
            sleep(BIND_AGAIN).await;
            Err(std::io::ErrorKind::NotConnected.into())
        }
    }
}

fn listen(at: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(at)?;
    socket.listen(1024)
}

/// Closing it sends a reset.
fn reset(stream: &TcpStream) {
    drop(stream.set_zero_linger());
}

/// Moves bytes both ways until one side ends or a fault resets it.
async fn carry(
    mut client: TcpStream,
    mut store: TcpStream,
    mode: watch::Receiver<Mode>,
    counts: Arc<Counts>,
    began: Instant,
) {
    drop(client.set_nodelay(true));
    drop(store.set_nodelay(true));
    // Halves that shut nothing down when they go: what is cut ends with a reset and not with an orderly end.
    let (from_client, to_client) = client.split();
    let (from_store, to_store) = store.split();
    let up = pump(from_client, to_store, mode.clone(), &counts, began);
    let down = pump(from_store, to_client, mode.clone(), &counts, began);
    let mut cut = mode;
    let is_cut = |mode: &Mode| matches!(mode, Some(ProxyFault::Reset | ProxyFault::Refuse));
    let was_cut = tokio::select! {
        _ = async { tokio::join!(up, down) } => false,
        _ = cut.wait_for(is_cut) => true,
    };
    if was_cut {
        reset(&client);
        reset(&store);
        counts.reset.fetch_add(1, Relaxed);
    }
}

/// One direction.
async fn pump(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    mut mode: watch::Receiver<Mode>,
    counts: &Counts,
    began: Instant,
) {
    let (blocks, mut read) = mpsc::channel::<(Instant, Vec<u8>)>(BLOCKS);
    let mut seen = mode.clone();
    let reading = async move {
        let mut block = vec![0; BLOCK];
        while let Ok(length) = from.read(&mut block).await {
            let Some(bytes) = block.get(..length).filter(|bytes| !bytes.is_empty()) else { return };
            if blocks.send((Instant::now(), bytes.to_vec())).await.is_err() {
                return;
            }
            // Where nothing is delivered nothing more is taken either: one block proves that it is held, and who sends more has
            // to wait, as before a network that is gone.
            if seen.wait_for(|mode| *mode != Some(ProxyFault::Stall)).await.is_err() {
                return;
            }
        }
    };
    // Where it cannot go on it drops its end, and the reader learns of it.
    let writing = async move {
        while let Some((at, bytes)) = read.recv().await {
            let fate = hold(at, bytes.len(), &mut mode, counts, began).await;
            if fate == Fate::Swallowed {
                continue;
            }
            if to.write_all(&bytes).await.is_err() {
                return;
            }
            counts.bytes.fetch_add(bytes.len() as u64, Relaxed);
            if fate == Fate::Passed {
                let took_ns = nanoseconds(at.elapsed());
                counts.passed.fetch_add(1, Relaxed);
                counts.passed_ns.fetch_add(took_ns, Relaxed);
                counts.longest_ns.fetch_max(took_ns, Relaxed);
            }
        }
        drop(to.shutdown().await);
    };
    tokio::join!(reading, writing);
}

/// What becomes of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It goes on as it came.
    Passed,
    /// It goes on, after what a fault did to it.
    Held,
    Swallowed,
}

/// Waits as long as the fault in force wants a block to.
async fn hold(
    at: Instant,
    length: usize,
    mode: &mut watch::Receiver<Mode>,
    counts: &Counts,
    began: Instant,
) -> Fate {
    let mut fate = Fate::Passed;
    loop {
        let now = *mode.borrow_and_update();
        match now {
            None | Some(ProxyFault::Reset | ProxyFault::Refuse) => return fate,
            Some(ProxyFault::Stall) => {
                counts.held(0);
                fate = Fate::Held;
                if mode.changed().await.is_err() {
                    return Fate::Held;
                }
            }
            Some(ProxyFault::Delay(delay)) => {
                fate = Fate::Held;
                tokio::select! {
                    () = sleep_until(at + delay) => {
                        counts.held(nanoseconds(at.elapsed()));
                        return Fate::Held;
                    }
                    _ = mode.changed() => {}
                }
            }
            Some(ProxyFault::Bandwidth(bytes_per_s)) => {
                fate = Fate::Held;
                let now_ns = nanoseconds(began.elapsed());
                let until_ns = book(&counts.booked_ns, length, bytes_per_s, now_ns);
                let wait_ns = until_ns.saturating_sub(now_ns);
                if wait_ns < TIMER_NS {
                    return Fate::Held;
                }
                counts.held(wait_ns);
                tokio::select! {
                    () = sleep_until(began + Duration::from_nanos(until_ns)) => return Fate::Held,
                    _ = mode.changed() => {}
                }
            }
            Some(ProxyFault::Drop(share)) => {
                let mut chance = Random::new(counts.tossed.fetch_add(1, Relaxed));
                if chance.next_u64() % u64::from(NetworkFault::WHOLE) >= u64::from(share) {
                    return Fate::Held;
                }
                counts.held(0);
                return Fate::Swallowed;
            }
        }
    }
}

/// When a block of this length may be sent, in ns: after all that were booked before it. Who wakes late is owed that.
fn book(booked_ns: &AtomicU64, length: usize, bytes_per_s: u64, now_ns: u64) -> u64 {
    let cost = (length as u128 * 1_000_000_000 / u128::from(bytes_per_s.max(1))).min(3_600_000_000_000);
    let cost_ns = u64::try_from(cost).unwrap_or(u64::MAX);
    // One thread books; nobody comes in between.
    let from_ns = booked_ns.load(Relaxed).max(now_ns.saturating_sub(OWED_NS));
    let until_ns = from_ns.saturating_add(cost_ns);
    booked_ns.store(until_ns, Relaxed);
    until_ns
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Processor time of this thread.
fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only fills `time`, which lives.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if done != 0 {
        return 0;
    }
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// A fault of a proxy.
pub struct ByProxy {
    proxy: Arc<Proxy>,
    how: ProxyFault,
    since: Option<std::time::Instant>,
}

impl Hand for ByProxy {
    fn plan(&self) -> Heal {
        Heal::Itself
    }

    fn inject(&mut self, _begun: &mut dyn FnMut(Process)) -> Result<String, String> {
        self.proxy.counts.begin_fault();
        self.since = Some(std::time::Instant::now());
        self.proxy.mode.send_replace(Some(self.how));
        Ok(String::new())
    }

    #[expect(clippy::cast_precision_loss, reason = "milliseconds for people")]
    fn landed(&mut self) -> Result<Option<String>, String> {
        let counts = &self.proxy.counts;
        let (held, reset) = (counts.held.load(Relaxed), counts.reset.load(Relaxed));
        let least_ns = counts.least_ns.load(Relaxed);
        if self.since.is_none() || *self.proxy.mode.borrow() != Some(self.how) {
            return Ok(None);
        }
        Ok(match self.how {
            ProxyFault::Delay(delay) => {
                let late = held > 0 && u128::from(least_ns) * 10 >= delay.as_nanos() * 9;
                late.then(|| {
                    format!("{held} blocks went on {:.1} ms or more after they came", least_ns as f64 / 1e6)
                })
            }
            ProxyFault::Stall => (held > 0).then(|| format!("{held} blocks are held back")),
            ProxyFault::Reset => (reset > 0).then(|| format!("{reset} connections were reset")),
            ProxyFault::Refuse => {
                let tried = std::net::TcpStream::connect_timeout(&self.proxy.listens, Duration::from_secs(1));
                let refused = tried.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused);
                refused.then(|| format!("a connection to {} is refused", self.proxy.listens))
            }
            ProxyFault::Bandwidth(_) => {
                (held > 0).then(|| format!("{held} blocks had to wait for their turn"))
            }
            ProxyFault::Drop(_) => (held > 0).then(|| format!("{held} blocks were swallowed")),
        })
    }

    fn heal(&mut self) -> Result<String, String> {
        self.proxy.mode.send_replace(None);
        self.since = None;
        Ok(String::new())
    }

    fn steps(&self) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests;
