//! The side of the process that makes a fault: it starts the fault's guardian before the fault is made, says every second that
//! it lives, and hears what the guardian did. Source: pipe(7), fcntl(2), poll(2).

use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cosmark_archive::FaultNote;

use super::{BEAT, BEAT_EVERY, FAILED, HEALED, MADE, MAKING, OVER, READY, STOOD, Terms};
use crate::act::Process;

/// A guardian that is not ready by then is none.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// How long it is waited for the word of one that has healed.
const WORD_WITHIN: Duration = Duration::from_secs(2);
/// One that has nothing left to do and does not end within this time is ended.
const END_WITHIN: Duration = Duration::from_secs(3);
/// A guardian says no more than this in one line.
const LONGEST_LINE: usize = 64 << 10;

/// The guardian of one fault.
pub struct Guardian {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    orders: Mutex<Option<ChildStdin>>,
    said: Mutex<Said>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone)]
struct Said {
    is_ready: bool,
    healed: Option<String>,
    /// This process stood still while it made the fault.
    stood: Option<String>,
    is_gone: bool,
    /// It was sent away.
    over: Option<Instant>,
}

impl Shared {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, within: Duration, done: impl Fn(&Said) -> bool) -> Said {
        let waited = self.changed.wait_timeout_while(self.said(), within, |said| !done(said));
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// One that is gone, or reads nothing, hears nothing.
    fn send(&self, word: &str) {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(orders) = orders.as_mut() {
            drop(orders.write_all(format!("{word}\n").as_bytes()));
        }
    }
}

impl Guardian {
    /// Starts it and waits until it is ready. `program` is that of a guardian and its first words; `news` is called when it is
    /// gone without having been sent away, or could not heal.
    ///
    /// # Errors
    /// Why there is none; the fault is made without it, or not at all.
    pub fn begin(
        program: &[OsString],
        note: &FaultNote,
        terms: Terms,
        news: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, String> {
        let mut child = spawn(program, note, terms)?;
        let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("there are no pipes to it".to_owned());
        };
        // A guardian that stands still must not make its run stand still.
        never_wait(&orders)?;
        let shared = Arc::new(Shared { orders: Mutex::new(Some(orders)), ..Shared::default() });
        let own = Arc::clone(&shared);
        let begun = std::thread::Builder::new()
            .name("guardian".to_owned())
            .spawn(move || Listening { shared: own, child, answers, line: Vec::new() }.run(&news));
        begun.map_err(|cause| format!("no thread could be started: {cause}"))?;
        let own = Self { shared };
        let said = own.shared.wait(READY_WITHIN, |said| said.is_ready || said.is_gone);
        if said.is_ready && !said.is_gone {
            return Ok(own);
        }
        own.over();
        let why = if said.is_gone { "it ended at once" } else { "it was not ready in time" };
        Err(why.to_owned())
    }

    /// A command that makes the fault runs, the first of its group: it is not to outlive this process.
    pub fn making(&self, first: Process) {
        self.shared.send(&format!("{MAKING} {} {}", first.0, first.1));
    }

    /// Making the fault is over, however that went.
    pub fn made(&self) {
        self.shared.send(MADE);
    }

    /// What it did, where it has healed the fault; waits for its word, since its work may be seen before that is.
    #[must_use]
    pub fn healed(&self) -> Option<String> {
        self.shared.wait(WORD_WITHIN, |said| said.healed.is_some() || said.is_gone).healed
    }

    /// What it did while this process stood still in making the fault; all that it said is heard when it was sent away.
    #[must_use]
    pub fn stood(&self) -> Option<String> {
        self.shared.wait(WORD_WITHIN, |said| said.stood.is_some() || said.is_gone).stood
    }

    /// There is nothing left for it to do.
    pub fn over(&self) {
        self.shared.said().over.get_or_insert_with(Instant::now);
        self.shared.send(OVER);
        self.shared.orders.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn spawn(program: &[OsString], note: &FaultNote, terms: Terms) -> Result<Child, String> {
    let Some((program, words)) = program.split_first() else {
        return Err("there is no program for it".to_owned());
    };
    let path = note.path().canonicalize().map_err(|cause| format!("{}: {cause}", note.path().display()))?;
    let ms = |time: Duration| time.as_millis().to_string();
    Command::new(program)
        .arg0("cosmark-guard")
        .args(words)
        .arg("--note")
        .arg(path)
        .args(["--hold-ms", &ms(terms.hold), "--longest-ms", &ms(terms.longest)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|cause| format!("it cannot be started: {cause}"))
}

fn never_wait(pipe: &ChildStdin) -> Result<(), String> {
    // SAFETY: the pipe is open; the calls only read and change its flags.
    let done = unsafe {
        let flags = libc::fcntl(pipe.as_raw_fd(), libc::F_GETFL);
        flags >= 0 && libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error().to_string()) }
}

struct Listening {
    shared: Arc<Shared>,
    child: Child,
    answers: ChildStdout,
    line: Vec<u8>,
}

impl Listening {
    fn run(mut self, news: &dyn Fn(&str)) {
        while self.hear(news) {
            self.shared.send(BEAT);
        }
        let ended = self.child.try_wait();
        if !matches!(ended, Ok(Some(_))) {
            // Its answers are closed: it ends this moment, or is ended.
            drop(self.child.kill());
            drop(self.child.wait());
        }
        let before = {
            let mut said = self.shared.said();
            said.is_gone = true;
            said.clone()
        };
        self.shared.changed.notify_all();
        self.shared.orders.lock().unwrap_or_else(PoisonError::into_inner).take();
        if before.is_ready && before.over.is_none() && before.healed.is_none() {
            news(&format!(
                "its guardian (process {}) is gone; should this run be killed now, `cosmark faults heal` heals it",
                self.child.id()
            ));
        }
    }

    /// Waits a second at most for what it says; false when it says nothing any more.
    fn hear(&mut self, news: &dyn Fn(&str)) -> bool {
        let over = self.shared.said().over;
        if over.is_some_and(|over| over.elapsed() > END_WITHIN) {
            return false;
        }
        let time = if over.is_some() { END_WITHIN / 10 } else { BEAT_EVERY };
        let mut look = libc::pollfd { fd: self.answers.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one open file, and a structure that lives.
        let found =
            unsafe { libc::poll(&raw mut look, 1, i32::try_from(time.as_millis()).unwrap_or(i32::MAX)) };
        if found <= 0 {
            return true;
        }
        let mut block = [0; 4096];
        match self.answers.read(&mut block) {
            Ok(0) => false,
            Ok(read) => {
                self.take(block.get(..read).unwrap_or_default(), news);
                self.line.len() <= LONGEST_LINE
            }
            Err(error) => error.kind() == ErrorKind::Interrupted,
        }
    }

    fn take(&mut self, bytes: &[u8], news: &dyn Fn(&str)) {
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
            let (word, text) = line.split_once(' ').unwrap_or((&line, ""));
            match word {
                READY => self.shared.said().is_ready = true,
                HEALED => self.shared.said().healed = Some(text.to_owned()),
                OVER => {
                    self.shared.said().over.get_or_insert_with(Instant::now);
                }
                STOOD => self.shared.said().stood = Some(text.to_owned()),
                FAILED => news(text),
                _ => {}
            }
            self.shared.changed.notify_all();
        }
    }
}
