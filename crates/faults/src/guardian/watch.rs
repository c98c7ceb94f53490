//! The guardian's own side: it listens to the process that has made the fault, looks whether that lives, and heals when it has to.
//! Every wait is bounded, and it ends as soon as nothing is left for it to do. Source: setsid(2), signal(7), proc(5), pipe(7).

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use cosmark_archive::{FaultInForce, FaultNote};

use super::{FAILED, GRACE, HEALED, MADE, OVER, READY, SILENT, STOOD, Terms};
use crate::left::{Done, heal, tried};

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// It stood still itself, if it looked so late: what others said meanwhile waits to be read.
const LATE: Duration = Duration::from_secs(2);
/// What fails is tried so often.
const TRIES: u32 = 3;
/// A fault that stands in the midst of being made is healed so often, since it may be made afterwards.
const ROUNDS: u32 = 3;
/// Lines that wait; more are read when there is room.
const WAITING: usize = 64;

/// What ignores a signal hands that on to the programs that it starts, and healing may start a server: with a handler these get
/// the default.
extern "C" fn pass(_: libc::c_int) {}

/// Makes this process one that nothing of its parent's ends or holds open: a session of its own, no files but the three standard
/// ones, no directory, signals that ask it to end are let pass. Before anything else is opened.
pub fn detach() {
    let open: Vec<libc::c_int> = std::fs::read_dir("/proc/self/fd")
        .map(|entries| {
            entries.flatten().filter_map(|entry| entry.file_name().to_string_lossy().parse().ok()).collect()
        })
        .unwrap_or_default();
    for number in open.into_iter().filter(|number| *number > libc::STDERR_FILENO) {
        // SAFETY: files that were open when this program began, or the directory just read, which is closed already: nothing
        // of this process holds one of them.
        unsafe { libc::close(number) };
    }
    // SAFETY: a handler that does nothing, and calls that only concern this process; the name ends with a zero.
    unsafe {
        for number in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
            libc::signal(number, pass as *const () as libc::sighandler_t);
        }
        libc::setsid();
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_NAME, c"cosmark-guard".as_ptr());
    }
    drop(std::env::set_current_dir("/"));
}

/// Looks after the fault of a file until it is healed; `orders` come from the process that makes it, which reads `answers`.
///
/// # Errors
/// When there is no such fault, or it was made on another machine, or it could not be healed.
pub fn watch(
    path: &Path,
    terms: Terms,
    orders: impl Read + Send + 'static,
    answers: &mut dyn Write,
) -> Result<(), String> {
    let (note, fault) = FaultNote::read(path).map_err(|error| error.to_string())?;
    if !fault.was_made_here() {
        return Err(format!("{} was made on another machine, or before this one was started", fault.fault));
    }
    let (send, lines) = sync_channel(WAITING);
    let reader = move || {
        for line in BufReader::new(orders).lines() {
            let Ok(line) = line else { return };
            if send.send(line).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("orders".to_owned())
        .spawn(reader)
        .map_err(|cause| format!("no thread could be started: {cause}"))?;
    answer(answers, READY, "");
    let now = Instant::now();
    let mut watch =
        Watch { note: Some(note), fault, terms, began: now, heard: now, looked: now, made: false, rounds: 0 };
    loop {
        match watch.hear(&lines) {
            Heard::Over => return Ok(()),
            Heard::End => std::thread::sleep(LOOK_EVERY),
            Heard::Nothing => {}
        }
        if watch.note.as_ref().is_some_and(FaultNote::was_forgotten) {
            // Whoever deletes its file has healed it: the run that made it, before it died, or `cosmark faults heal`.
            answer(answers, OVER, "");
            return Ok(());
        }
        let Some(why) = watch.reason() else { continue };
        if let Some(ended) = watch.act(&why, answers) {
            return ended;
        }
    }
}

/// Whoever reads the answers may be gone.
fn answer(answers: &mut dyn Write, word: &str, text: &str) {
    drop(answers.write_all(format!("{word} {text}\n").as_bytes()).and_then(|()| answers.flush()));
}

enum Heard {
    /// Its work is done.
    Over,
    /// Nobody will say anything any more.
    End,
    Nothing,
}

struct Watch {
    note: Option<FaultNote>,
    fault: FaultInForce,
    terms: Terms,
    began: Instant,
    /// When the last sign of life came.
    heard: Instant,
    looked: Instant,
    /// Making the fault is over.
    made: bool,
    rounds: u32,
}

impl Watch {
    fn hear(&mut self, lines: &Receiver<String>) -> Heard {
        let next = lines.recv_timeout(LOOK_EVERY);
        let now = Instant::now();
        if now.duration_since(self.looked) > LATE {
            self.heard = now;
        }
        self.looked = now;
        let mut next = match next {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Heard::End,
        };
        while let Some(line) = next {
            self.heard = now;
            match line.as_str() {
                OVER => return Heard::Over,
                MADE => self.made = true,
                // A sign of life.
                _ => {}
            }
            next = lines.try_recv().ok();
        }
        Heard::Nothing
    }

    fn is_alone(&self) -> bool {
        !self.fault.has_its_maker()
    }

    /// Why the guardian has to heal it now.
    fn reason(&self) -> Option<String> {
        if self.is_alone() {
            return Some("the run that made it is gone".to_owned());
        }
        let (lasts, silent) = (self.began.elapsed(), self.heard.elapsed());
        if lasts > self.terms.hold.saturating_add(GRACE) && silent > SILENT {
            return Some(format!(
                "the run that made it stood still: no sign of life for {:.0} s, {:.0} s after the fault was to end",
                silent.as_secs_f64(),
                lasts.saturating_sub(self.terms.hold).as_secs_f64()
            ));
        }
        (lasts > self.terms.longest)
            .then(|| format!("the run that made it had not healed it after {:.0} s", lasts.as_secs_f64()))
    }

    /// What was done; `None` when it has to go on looking.
    fn act(&mut self, why: &str, answers: &mut dyn Write) -> Option<Result<(), String>> {
        if !self.is_alone() && !self.made {
            return self.act_meanwhile(why, answers);
        }
        let note = self.note.take()?;
        let path = note.path().to_owned();
        // Where whoever made it heals it this moment, and stands still, it is left to that.
        let patience = self.fault.heal.longest();
        let done = if path.exists() {
            heal(note, &self.fault, patience, TRIES)
        } else {
            // The whole journal was deleted: nobody else knows of it any more.
            tried(&self.fault, TRIES).map_or_else(Done::Failed, Done::Healed)
        };
        let (word, text) = match done {
            Done::ByAnother => return Some(Ok(())),
            Done::Healed(how) => (HEALED, format!("healed by its guardian, because {why}: {how}")),
            Done::Failed(what) => (
                FAILED,
                format!("COULD NOT BE HEALED by its guardian ({why}): {what}; `cosmark faults heal`"),
            ),
        };
        answer(answers, word, &text);
        drop(self.fault.log(&path, &text));
        Some(if word == HEALED { Ok(()) } else { Err(text) })
    }

    /// Whoever makes it stands still in the midst of that, and may go on and make it: it stays written down, and is looked after.
    fn act_meanwhile(&mut self, why: &str, answers: &mut dyn Write) -> Option<Result<(), String>> {
        self.rounds += 1;
        let claim = self.note.as_ref()?.claim();
        if let Ok(cosmark_archive::Claim::Mine(_)) = &claim {
            let text = match tried(&self.fault, 1) {
                Ok(how) => format!("healed by its guardian while it was made, because {why}: {how}"),
                Err(what) => format!("not healed by its guardian while it was made ({why}): {what}"),
            };
            if let Some(note) = &self.note {
                drop(self.fault.log(note.path(), &text));
            }
            answer(answers, STOOD, &text);
        }
        drop(claim);
        (self.began, self.heard) = (Instant::now(), Instant::now());
        let text = format!("its guardian has ended: the run stands still in making it ({why})");
        (self.rounds >= ROUNDS).then(|| {
            answer(answers, FAILED, &text);
            Err(text)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use cosmark_archive::{Archive, Heal};

    use super::*;

    #[test]
    fn it_heals_what_nobody_else_does_and_nothing_that_it_need_not() {
        let directory = tempfile::tempdir().unwrap();
        let archive = Archive::open(directory.path()).unwrap();
        let terms = Terms { hold: Duration::ZERO, longest: Duration::from_millis(300) };
        // Who made it is gone; what it is told before nobody says anything more; how often it heals; whether it stays noted.
        for (is_gone, orders, times, stays) in [
            (true, "beat\n", 1, false),
            (true, "over\n", 0, true),
            (false, "beat\nmade\nover\n", 0, true),
            (false, "made\n", 1, false),
            // It stands in being made, and may be made afterwards.
            (false, "beat\n", 3, true),
        ] {
            let heals = directory.path().join("heals");
            drop(std::fs::remove_file(&heals));
            let words = ["sh", "-c", "echo x >> heals"].map(str::to_owned).to_vec();
            let within = Duration::from_secs(60);
            let heal = Heal::Command { words, directory: directory.path().to_owned(), within };
            let mut fault = FaultInForce::made_here("w1", "s1-main", "gone 1", "x", heal);
            if is_gone {
                fault.process.pid = u32::MAX;
            }
            let note = archive.fault_journal().note(&fault).unwrap();
            let mut said = Vec::new();
            let ended = watch(note.path(), terms, Cursor::new(orders.as_bytes().to_vec()), &mut said);
            let said = String::from_utf8(said).unwrap();
            let healed = std::fs::read_to_string(&heals).unwrap_or_default().lines().count();
            assert_eq!((healed, note.path().exists()), (times, stays), "{orders:?}: {said} {ended:?}");
            assert!(said.starts_with("ready"), "{said}");
            assert_eq!(said.contains("healed healed by its guardian, because"), times == 1, "{said}");
            assert_eq!(ended.is_err(), times == 3, "{ended:?}");
            note.forget().unwrap();
        }
    }

    #[test]
    fn what_another_process_has_healed_or_heals_is_not_healed_again() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Archive::open(directory.path()).unwrap().fault_journal();
        let words = ["sh", "-c", "touch healed"].map(str::to_owned).to_vec();
        let heal =
            Heal::Command { words, directory: directory.path().to_owned(), within: Duration::from_secs(60) };
        let mut fault = FaultInForce::made_here("w1", "s1-main", "gone 1", "x", heal);
        fault.process.pid = u32::MAX;
        let note = journal.note(&fault).unwrap();
        let claim = note.claim().unwrap();
        let path = note.path().to_owned();
        let terms = Terms { hold: Duration::ZERO, longest: Duration::from_secs(600) };
        let watching =
            std::thread::spawn(move || watch(&path, terms, Cursor::new(Vec::new()), &mut Vec::new()));
        std::thread::sleep(Duration::from_millis(600));
        assert!(!watching.is_finished(), "it waits for who heals it");
        note.forget().unwrap();
        drop(claim);
        assert_eq!(watching.join().unwrap(), Ok(()));
        assert!(!directory.path().join("healed").exists());
    }
}
