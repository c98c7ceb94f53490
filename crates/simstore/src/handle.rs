//! Starting a simulated store, and what its owner can ask of it while it runs.

use std::net::{SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::mpsc;

use crate::behaviour::{Behaviour, BehaviourError};
use crate::clock::Clock;
use crate::log::{Counters, LogRecord};
use crate::server::run;
use crate::state::{Command, Shared};
use crate::tls;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// Why a simulated store could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The behaviour makes no sense.
    #[error(transparent)]
    Behaviour(#[from] BehaviourError),
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}; choose another address, or port 0 for any free one")]
    Listen {
        /// The address.
        address: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file of the behaviour, a certificate, or a thread.
    #[error("cannot start the simulated store: {0}")]
    Setup(String),
}

/// The server is no longer there: its thread ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the simulated store has stopped; start it again")]
pub struct Stopped;

/// The entrance of the crate.
pub struct SimStore;

impl SimStore {
    /// Starts a store on a thread of its own and returns when it accepts connections. `address` is an IP
    /// address or name with a port, such as `127.0.0.1:0`.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(behaviour: Behaviour, address: &str) -> Result<Handle, StartError> {
        behaviour.check()?;
        let listener =
            listen(address).map_err(|source| StartError::Listen { address: address.to_owned(), source })?;
        let addr = listener
            .local_addr()
            .map_err(|source| StartError::Listen { address: address.to_owned(), source })?;
        let (acceptor, certificate) = match &behaviour.tls {
            None => (None, None),
            Some(options) => {
                let (acceptor, certificate) = tls::acceptor(options).map_err(StartError::Setup)?;
                (Some(acceptor), Some(certificate))
            }
        };
        let clock = Clock::start();
        // Answers are awaited one by one, so a few places are plenty.
        let (commands, receiver) = mpsc::channel(64);
        let (ready, started) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("simstore".to_owned())
            .spawn(move || serve(listener, behaviour, clock, acceptor, receiver, ready))
            .map_err(|error| StartError::Setup(error.to_string()))?;
        match started.recv() {
            Ok(Ok(())) => {
                Ok(Handle { addr, clock, certificate, commands: Some(commands), thread: Some(thread) })
            }
            Ok(Err(reason)) => Err(StartError::Setup(reason)),
            Err(_) => Err(StartError::Setup("its thread ended at once".to_owned())),
        }
    }
}

fn listen(address: &str) -> std::io::Result<std::net::TcpListener> {
    let mut last = None;
    for addr in address.to_socket_addrs()? {
        let open = || {
            let family = if addr.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
            net::sockopt::set_socket_reuseaddr(&socket, true)?;
            net::bind(&socket, &addr)?;
            net::listen(&socket, BACKLOG)?;
            Ok::<_, std::io::Error>(socket.into())
        };
        match open() {
            Ok(listener) => return Ok(listener),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| std::io::Error::other("the name has no address")))
}

/// The body of the server's thread.
fn serve(
    listener: std::net::TcpListener,
    behaviour: Behaviour,
    clock: Clock,
    acceptor: Option<tls::Acceptor>,
    commands: mpsc::Receiver<Command>,
    ready: SyncSender<Result<(), String>>,
) {
    let core = behaviour.core;
    let start = || -> Result<_, String> {
        pin(core)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
            .map_err(|error| error.to_string())?;
        let (listener, shared) = {
            let _inside = runtime.enter();
            let listener = TcpListener::from_std(listener).map_err(|error| error.to_string())?;
            (listener, Rc::new(Shared::new(clock, behaviour)?))
        };
        Ok((runtime, listener, shared))
    };
    // If nobody waits for the news any more, nobody will send commands either and the loop ends at once.
    match start() {
        Err(reason) => _ = ready.send(Err(reason)),
        Ok((runtime, listener, shared)) => {
            _ = ready.send(Ok(()));
            runtime.block_on(run(listener, shared, acceptor, commands));
        }
    }
}

#[cfg(target_os = "linux")]
fn pin(core: Option<usize>) -> Result<(), String> {
    let Some(core) = core else { return Ok(()) };
    if core >= libc::CPU_SETSIZE as usize {
        return Err(format!("there is no core {core}; check `core`"));
    }
    // SAFETY: an all-zero cpu_set_t is the empty set, and CPU_SET stays inside it (checked above).
    let failed = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) != 0
    };
    if failed {
        Err(format!("cannot pin to core {core}: {}; check `core`", std::io::Error::last_os_error()))
    } else {
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
fn pin(core: Option<usize>) -> Result<(), String> {
    match core {
        None => Ok(()),
        Some(_) => Err("pinning to a core needs Linux; remove `core`".to_owned()),
    }
}

/// A running store. Dropping it stops the store. Its methods wait for the server's thread: call them from
/// ordinary threads, not from async tasks.
pub struct Handle {
    addr: SocketAddr,
    clock: Clock,
    certificate: Option<String>,
    commands: Option<mpsc::Sender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Handle {
    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `http://ip:port` or `https://ip:port`.
    pub fn url(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.addr)
    }

    /// The clock that all times of the log count on.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The server's certificate chain in PEM, if it serves TLS.
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    fn ask<T>(&self, command: impl FnOnce(SyncSender<T>) -> Command) -> Result<T, Stopped> {
        let (to, from) = sync_channel(1);
        let mut command = command(to);
        loop {
            let Some(commands) = &self.commands else { return Err(Stopped) };
            match commands.try_send(command) {
                Ok(()) => return from.recv().map_err(|_| Stopped),
                Err(mpsc::error::TrySendError::Closed(_)) => return Err(Stopped),
                Err(mpsc::error::TrySendError::Full(back)) => command = back,
            }
            std::thread::yield_now();
        }
    }

    /// The newest records of the log, oldest first. The copy is made on the caller's thread.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn log(&self) -> Result<Vec<LogRecord>, Stopped> {
        self.ask(Command::Log).map(crate::log::Snapshot::into_records)
    }

    /// All counters.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn counters(&self) -> Result<Counters, Stopped> {
        self.ask(Command::Counters)
    }

    /// Starts the script's clock anew (or makes it wait for the next request, if the behaviour says so): full
    /// token buckets, empty queue. Random streams go on where they are.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn zero(&self) -> Result<(), Stopped> {
        self.ask(Command::Zero)
    }

    /// Forgets the log in memory and the counters.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn clear(&self) -> Result<(), Stopped> {
        self.ask(Command::Clear)
    }

    /// Exchanges all rules and options of the protocols, with fresh random streams and a fresh clock. What is
    /// stored stays, and so do `store`, `etag`, `log`, `tls`, `core` and `spin_us`.
    ///
    /// # Errors
    /// [`StartError::Behaviour`] or [`StartError::Setup`]; the old rules then stay.
    pub fn set_behaviour(&self, behaviour: Behaviour) -> Result<(), StartError> {
        behaviour.check()?;
        let set = self.ask(|to| Command::Set(Box::new(behaviour), to));
        set.map_err(|stopped| StartError::Setup(stopped.to_string()))?.map_err(StartError::Setup)
    }

    /// The content of an object of an S3 bucket or a Swift container; of equal names one is chosen.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn object(&self, container: &str, object: &str) -> Result<Option<Vec<u8>>, Stopped> {
        self.ask(|to| Command::Object(container.to_owned(), object.to_owned(), to))
    }

    /// The names of the objects of a bucket or container, in order; `None` if there is no such container.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn names(&self, container: &str) -> Result<Option<Vec<String>>, Stopped> {
        self.ask(|to| Command::Names(container.to_owned(), to))
    }

    /// Stops the store, closes its connections, completes its CSV file, and waits for all that.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the server was reported by the panic hook already.
            let _ended = thread.join();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.end();
    }
}
