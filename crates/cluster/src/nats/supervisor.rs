//! Supervises a local `nats-server`: one that dies is restarted at the same address, so that its clients find it
//! again.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::nats::error::BusError;
use crate::nats::server::LocalServer;

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// A server that does not come up, or dies at once, is started again after pauses of up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A server that lived for so long has come up.
const LIVED: Duration = Duration::from_secs(30);

/// A local server that is looked after; both end when this is dropped.
#[derive(Debug)]
pub struct SupervisedServer {
    /// Its end is the word to end.
    word: Option<SyncSender<()>>,
    looking: Option<JoinHandle<()>>,
}

impl SupervisedServer {
    /// Looks after `server` from now on. `tell` is told when it had to be started again, and when that failed.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn keep(server: LocalServer, tell: impl Fn(&str) + Send + 'static) -> Result<Self, BusError> {
        let (word, ended) = sync_channel(0);
        let looking = std::thread::Builder::new()
            .name("nats".into())
            .spawn(move || look_after(server, &ended, &tell))
            .map_err(|cause| BusError::Server(format!("cannot start a thread: {cause}")))?;
        Ok(Self { word: Some(word), looking: Some(looking) })
    }
}

impl Drop for SupervisedServer {
    fn drop(&mut self) {
        drop(self.word.take());
        if let Some(looking) = self.looking.take() {
            // It broke, and the server with it: there is nothing left to end.
            drop(looking.join());
        }
    }
}

fn look_after(mut server: LocalServer, ended: &Receiver<()>, tell: &impl Fn(&str)) {
    let mut pause = LOOK_EVERY;
    let mut trouble = String::new();
    let mut born = Instant::now();
    while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        match server.mend() {
            Ok(false) => {
                if born.elapsed() > LIVED {
                    pause = LOOK_EVERY;
                }
            }
            Ok(true) => {
                tell(&format!(
                    "the local nats-server had ended and was started again (process {})",
                    server.pid()
                ));
                trouble.clear();
                // Not at once again and again, should it die of what it finds on the disk.
                pause = if born.elapsed() > LIVED { LOOK_EVERY } else { (pause * 2).min(LONGEST_PAUSE) };
                born = Instant::now();
            }
            Err(error) => {
                let text = error.to_string();
                if text != trouble {
                    tell(&text);
                    trouble = text;
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}
