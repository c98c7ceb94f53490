//! Looks for a request to stop in a study's directory while the study runs: it ends the cell that runs as Ctrl-C does.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use cosmark_study::place::{asked_to_stop, forget_stop};

use crate::exit::Problem;
use crate::signals;

/// A request is found within this time.
const EVERY: Duration = Duration::from_millis(500);

/// Looks until it is dropped.
pub struct Stops {
    is_asked: Arc<AtomicBool>,
    /// Its end is the end of the thread that looks.
    _alive: SyncSender<()>,
}

impl Stops {
    /// Forgets what was asked of an earlier call, and looks from now on.
    ///
    /// # Errors
    /// When an earlier request cannot be removed, or there can be no thread.
    pub fn look_for(directory: &Path) -> Result<Self, Problem> {
        forget_stop(directory).map_err(Problem::usage)?;
        let is_asked = Arc::new(AtomicBool::new(false));
        let (alive, ended) = sync_channel::<()>(1);
        let (flag, directory) = (Arc::clone(&is_asked), directory.to_owned());
        let look = move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                if let Some(who) = asked_to_stop(&directory) {
                    eprintln!("\ncosmark: {who} asked this study to stop; what was measured stays");
                    flag.store(true, Ordering::Release);
                    signals::ask();
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("stops".to_owned())
            .spawn(look)
            .map_err(|cause| Problem::ours(format!("cannot look for requests to stop: {cause}")))?;
        Ok(Self { is_asked, _alive: alive })
    }

    /// Whether somebody asked.
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Acquire)
    }
}
