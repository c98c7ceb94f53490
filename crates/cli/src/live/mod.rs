//! Metrics that leave while a run lasts: Prometheus may fetch them, or they are sent to a receiver of Prometheus remote
//! write, OTLP or InfluxDB. What a receiver does is its own affair: sending has a thread of its own, waits for a bounded
//! time, keeps nothing but the latest sums, and is counted and told at the end. Counters count all phases of the load.

mod push;
mod scrape;
mod sums;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosmark_archive::{RunRecord, StageRecord};
use cosmark_controller::{Observer, Progress, SliceNews, StageNews};

use crate::args::LiveOptions;
use crate::exit::Problem;
use crate::progress::Terminal;

use push::Push;
use sums::Sums;

/// The sums that all share.
#[derive(Clone)]
struct Shared(Arc<Mutex<Sums>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Sums> {
        // Sums stay whole whatever happened to who held them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows progress in the terminal, and sums up what others want to know.
pub struct Live {
    terminal: Terminal,
    sums: Shared,
    pushes: Vec<Push>,
    active: bool,
}

/// Mistakes that can be told before the run.
///
/// # Errors
/// When an address may be reached from elsewhere, or a URL is not one.
pub fn check(options: &LiveOptions) -> Result<(), Problem> {
    if let Some(listen) = options.metrics_listen
        && !is_loopback(listen)
        && !options.metrics_allow_remote
    {
        return Err(Problem::usage(format!(
            "--metrics-listen {listen} can be reached by other machines; add --metrics-allow-remote if that is meant"
        )));
    }
    push::RECEIVERS.iter().try_for_each(|receiver| match (receiver.url)(options) {
        Some(url) => push::endpoint(receiver, url).map(drop),
        None => Ok(()),
    })
}

fn is_loopback(address: SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    }
}

impl Live {
    /// Begins to listen and to send, as `options` ask.
    ///
    /// # Errors
    /// When the address is taken, or a thread cannot be started.
    pub fn start(terminal: Terminal, options: &LiveOptions, record: &RunRecord) -> Result<Self, Problem> {
        let sums = Shared(Arc::new(Mutex::new(Sums::new(record))));
        if let Some(listen) = options.metrics_listen {
            let address = scrape::serve(listen, sums.clone())?;
            eprintln!("cosmark: metrics at http://{address}/metrics");
        }
        let mut pushes = Vec::new();
        for receiver in push::RECEIVERS {
            if let Some(url) = (receiver.url)(options) {
                pushes.push(Push::start(receiver, url, sums.clone())?);
            }
        }
        let active = options.metrics_listen.is_some() || !pushes.is_empty();
        Ok(Self { terminal, sums, pushes, active })
    }

    /// Sends the last sums; one sentence per receiver. Waits for a few seconds at most.
    pub fn end(self) -> Vec<String> {
        self.pushes.into_iter().map(Push::end).collect()
    }
}

impl Observer for Live {
    fn stage_begins(&mut self, news: &StageNews<'_>) {
        if self.active {
            self.sums.lock().begin(news.stage, news.index);
        }
        self.terminal.stage_begins(news);
    }

    fn slice(&mut self, slice: &SliceNews<'_>) {
        if self.active {
            self.sums.lock().add(slice.stage, slice.index, slice.snapshot);
        }
        self.terminal.slice(slice);
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        self.terminal.progress(progress);
    }

    fn stage_ends(&mut self, record: &StageRecord) {
        if self.active {
            self.sums.lock().end();
        }
        self.terminal.stage_ends(record);
    }

    fn note(&mut self, text: &str) {
        self.terminal.note(text);
    }
}
