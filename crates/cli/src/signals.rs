//! What ends this program from outside: Ctrl-C, SIGTERM, and a terminal that is closed (SIGHUP), which all mean the same; and what
//! does not: a file that grew beyond its limit (SIGXFSZ) is an error of that file. Source: signal(7), setrlimit(2), nohup(1).

use std::future::Future;
use std::io;
use std::sync::LazyLock;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::exit::{Exit, Problem};

/// Whether something in this process asked that it ends, as Ctrl-C would: a request to stop that it was to look for.
static ASKED: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::Sender::new(false));

/// Ends what this process does, and what it begins later, as one Ctrl-C does.
pub fn ask() {
    ASKED.send_replace(true);
}

/// What this process is asked to end by.
pub struct Ends {
    interrupt: Signal,
    terminate: Signal,
    /// Not there under nohup. Counts once: the system tells it of the terminal, and then the shell that ends.
    hangup: Option<Signal>,
    /// Counts once, also for who listens only after it was asked.
    asked: Option<watch::Receiver<bool>>,
}

impl Ends {
    /// Listens from now on; until then each of them ends the process.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen() -> io::Result<Self> {
        // Whoever started this to outlive its terminal has said so before.
        let hangup = if is_ignored(libc::SIGHUP) { None } else { Some(signal(SignalKind::hangup())?) };
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Self { interrupt, terminate, hangup, asked: Some(ASKED.subscribe()) })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = recv(&mut self.hangup) => self.hangup = None,
            () = heard(&mut self.asked) => self.asked = None,
        }
    }
}

async fn recv(signal: &mut Option<Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}

async fn heard(asked: &mut Option<watch::Receiver<bool>>) {
    if let Some(asked) = asked
        && asked.wait_for(|is_asked| *is_asked).await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

/// Listens from now on, and waits for one; for ever where nothing can be listened to.
pub fn first() -> impl Future<Output = ()> + Send {
    let ends = Ends::listen();
    async move {
        match ends {
            Ok(mut ends) => ends.next().await,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Once and twice: says so, and what `levels` has for it. Three times: ends the process without a word.
pub fn three_times<T: Send + Sync + 'static>(
    told: watch::Sender<T>,
    levels: [(T, &'static str); 2],
) -> impl Future<Output = ()> + Send {
    // Before anybody can be told to end, and not when the task is first looked at.
    let ends = Ends::listen();
    async move {
        let Ok(mut ends) = ends else { return };
        for (level, text) in levels {
            ends.next().await;
            eprintln!("\ncosmark: {text}");
            told.send_replace(level);
        }
        ends.next().await;
        #[expect(clippy::exit, reason = "the user has asked three times")]
        std::process::exit(i32::from(Exit::Cancelled.code()));
    }
}

/// Listens from now on; what comes back waits on this thread for one.
///
/// # Errors
/// When nothing can be listened to.
pub fn listen() -> Result<impl FnOnce(), Problem> {
    let fail = |cause: io::Error| Problem::ours(format!("cannot listen for Ctrl-C: {cause}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fail)?;
    let mut ends = {
        let _inside = runtime.enter();
        Ends::listen().map_err(fail)?
    };
    Ok(move || runtime.block_on(ends.next()))
}

/// A file that may not grow further is told like a full disk, and does not end the process.
pub fn prepare() {
    // SAFETY: ignoring a signal installs no code; called before there is any other thread.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

fn is_ignored(number: libc::c_int) -> bool {
    // SAFETY: a zeroed `sigaction` is a valid value, and without a new action the call only fills it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(number, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
