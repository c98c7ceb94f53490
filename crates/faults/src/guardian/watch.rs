//! The guardian's own side: it listens to the process that has made the fault, looks whether that lives, and heals when it has to.
//! Every wait is bounded, and it ends as soon as nothing is left for it to do. Source: setsid(2), signal(7), proc(5), pipe(7).

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use cosmark_archive::{FaultInForce, FaultNote, Heal};

use super::{FAILED, GRACE, HEALED, MADE, MAKING, OVER, READY, SILENT, STOOD, Terms};
use crate::act::{Process, command};
use crate::left::{Done, claimed, forgotten, heal, tried, tried_again};

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// It stood still itself, if it looked so late: what others said meanwhile waits to be read.
const LATE: Duration = Duration::from_secs(2);
/// What fails is tried so often.
const TRIES: u32 = 3;
/// A fault that stands in the midst of being made is healed so often, since it may be made afterwards.
const ROUNDS: u32 = 3;
/// What may still be made is healed twice: at once, and with the tries that are left when what makes it has had its time.
const TRIES_AT_ONCE: u32 = 1;
/// On another machine making it may begin so much later: its shell's own work, and a watcher that it starts first.
const BEGINS_THERE: Duration = Duration::from_secs(30);
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
        return Err(format!("{} was made elsewhere, or before this machine was started", fault.fault));
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
    let mut watch = Watch {
        note: Some(note),
        fault,
        terms,
        began: now,
        heard: now,
        looked: now,
        making: None,
        made: false,
        rounds: 0,
    };
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
        if watch.is_alone() && matches!(watch.hear_out(&lines), Heard::Over) {
            return Ok(());
        }
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
    /// The first process of the command that makes the fault.
    making: Option<Process>,
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
                line => {
                    let rest = line.strip_prefix(MAKING).and_then(|rest| rest.trim().split_once(' '));
                    let process =
                        rest.and_then(|(number, start)| Some((number.parse().ok()?, start.parse().ok()?)));
                    // Any other line is a sign of life.
                    self.making = process.or(self.making);
                }
            }
            next = lines.try_recv().ok();
        }
        Heard::Nothing
    }

    /// The last words of whoever made it may still wait to be read.
    fn hear_out(&mut self, lines: &Receiver<String>) -> Heard {
        let until = Instant::now() + LATE;
        loop {
            match self.hear(lines) {
                Heard::Nothing if Instant::now() < until => {}
                heard => return heard,
            }
        }
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
        if !self.made {
            if !self.is_alone() {
                return self.act_meanwhile(why, answers);
            }
            if let Some(lasts) = making_lasts(&self.fault.heal) {
                return self.act_orphaned(why, lasts, answers);
            }
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
        self.ended(done, &path, why, answers)
    }

    fn ended(
        &self,
        done: Done,
        path: &Path,
        why: &str,
        answers: &mut dyn Write,
    ) -> Option<Result<(), String>> {
        let (word, text) = match done {
            Done::ByAnother => return Some(Ok(())),
            Done::Healed(how) => (HEALED, format!("healed by its guardian, because {why}: {how}")),
            Done::Failed(what) => (
                FAILED,
                format!("COULD NOT BE HEALED by its guardian ({why}): {what}; `cosmark faults heal`"),
            ),
        };
        answer(answers, word, &text);
        drop(self.fault.log(path, &text));
        Some(if word == HEALED { Ok(()) } else { Err(text) })
    }

    /// Whoever made it is gone, and what it has begun may go on without it and make the fault after it was healed. So its
    /// command is ended, and because that may have handed the work on, the fault is healed again when that has had its time
    /// (`lasts`). Until then it stays written down, and claimed.
    fn act_orphaned(
        &mut self,
        why: &str,
        lasts: Duration,
        answers: &mut dyn Write,
    ) -> Option<Result<(), String>> {
        let since = Instant::now();
        let ended = self.making.take().is_some_and(command::end);
        let note = self.note.take()?;
        let path = note.path().to_owned();
        let claim = if path.exists() { claimed(&note, self.fault.heal.longest()) } else { Ok(None) };
        let claim = match claim {
            Ok(claim) => claim,
            Err(done) => return self.ended(done, &path, why, answers),
        };
        let first = tried(&self.fault, TRIES_AT_ONCE);
        let ended = if ended { "what was making it was ended; " } else { "" };
        let said = match &first {
            Ok(how) => format!("healed by its guardian, because {why}: {ended}{how}"),
            Err(what) => format!("not healed by its guardian yet ({why}): {ended}{what}"),
        };
        let again = format!("{said}; again in {:.0} s, since it may still be made", lasts.as_secs_f64());
        drop(self.fault.log(&path, &again));
        while since.elapsed() < lasts {
            if note.was_forgotten() {
                return self.ended(Done::ByAnother, &path, why, answers);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let said = tried_again(&self.fault, first, TRIES - TRIES_AT_ONCE);
        self.ended(forgotten(note, claim, said), &path, why, answers)
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

/// How long what makes a fault may go on by itself when its run is gone; `None` where that ends with the run.
fn making_lasts(heal: &Heal) -> Option<Duration> {
    match heal {
        Heal::Command { within, .. } => Some(*within),
        Heal::Elsewhere { within, .. } => Some(within.saturating_add(BEGINS_THERE)),
        Heal::Continue(_) | Heal::Groups(_) | Heal::Agent { .. } | Heal::Itself => None,
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
        // Who made it is gone; what it is told before nobody says anything more; how many seconds the fault may last,
        // in which that is read; how often it heals; whether it stays noted.
        for (is_gone, orders, longest_s, times, stays) in [
            (true, "beat\nmade\n", 600, 1, false),
            // It was killed while it made it, and a command of its own may go on.
            (true, "beat\n", 600, 2, false),
            (true, "over\n", 600, 0, true),
            (false, "beat\nmade\nover\n", 600, 0, true),
            (false, "made\n", 4, 1, false),
            // It stands in being made, and may be made afterwards.
            (false, "beat\n", 0, 3, true),
        ] {
            let terms = Terms { hold: Duration::ZERO, longest: Duration::from_secs(longest_s) };
            let heals = directory.path().join("heals");
            drop(std::fs::remove_file(&heals));
            let words = ["sh", "-c", "echo x >> heals"].map(str::to_owned).to_vec();
            let within = Duration::from_secs(6);
            let heal = Heal::Command { words, directory: directory.path().to_owned(), within, proof: None };
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
            assert_eq!(said.contains("healed healed by its guardian, because"), !stays, "{said}");
            assert_eq!(ended.is_err(), times == 3, "{ended:?}");
            note.forget().unwrap();
        }
    }

    /// Has a guardian look after a fault whose run was killed while it made it; what it came to, what it said, whether it
    /// stays noted.
    fn orphaned(
        directory: &Path,
        heal: &str,
        within: Duration,
        orders: &str,
    ) -> (Result<(), String>, String, bool) {
        let words = ["sh", "-c", heal].map(str::to_owned).to_vec();
        let heal = Heal::Command { words, directory: directory.to_owned(), within, proof: None };
        let mut fault = FaultInForce::made_here("w1", "s1-main", "gone 1", "x", heal);
        fault.process.pid = u32::MAX;
        let note = Archive::open(directory).unwrap().fault_journal().note(&fault).unwrap();
        let terms = Terms { hold: Duration::from_secs(500), longest: Duration::from_secs(600) };
        let mut said = Vec::new();
        let ended = watch(note.path(), terms, Cursor::new(orders.as_bytes().to_vec()), &mut said);
        (ended, String::from_utf8(said).unwrap(), note.path().exists())
    }

    #[test]
    fn the_command_with_which_a_run_that_is_gone_was_making_a_fault_is_ended_with_all_it_started() {
        use std::os::unix::process::{CommandExt, ExitStatusExt};

        let directory = tempfile::tempdir().unwrap();
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "sleep 600; touch there"]).current_dir(directory.path()).process_group(0);
        let mut child = command.spawn().unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let start = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap();
        // Another process may have that number by now: it is left alone.
        let orders = |start: &str| format!("beat\nmaking {} {start}\n", child.id());
        let (before, now) = (orders("1"), orders(start));
        // Longer than a busy machine takes for a command.
        let within = Duration::from_secs(6);
        let (ended, said, _) = orphaned(directory.path(), "true", within, &before);
        assert_eq!(ended, Ok(()), "{said}");
        assert_eq!(child.try_wait().unwrap(), None);
        let (ended, said, stays) = orphaned(directory.path(), "true", within, &now);
        assert_eq!((ended, stays), (Ok(()), false), "{said}");
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        let log = std::fs::read_to_string(directory.path().join(".faults/guardian.log")).unwrap();
        assert!(log.contains("what was making it was ended"), "{log}");
    }

    #[test]
    fn what_comes_to_be_after_its_run_is_gone_is_healed_again_in_its_time() {
        // What heals it, how often that runs, what is said, whether the fault is called healed.
        for (heal, times, says, is_healed) in [
            ("rm -f there", 2, "; and a second time", true),
            // There was nothing to be healed at first.
            ("rm there", 2, "; the first time: ", true),
            // To be healed twice is an error, and nothing came meanwhile.
            ("test $(wc -l <heals) -eq 1", 3, "; the second time: ", true),
            // What the second healing did is not known.
            ("test $(wc -l <heals) -eq 1 || sleep 60", 3, "took longer than", false),
            ("test -e never", 3, "COULD NOT BE HEALED by its guardian", false),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let there = directory.path().join("there");
            let makes_it = heal.starts_with("rm").then(|| {
                let (there, healed) = (there.clone(), directory.path().join("healed"));
                std::thread::spawn(move || {
                    // Behind the first healing, and long before the second one.
                    let until = Instant::now() + Duration::from_secs(60);
                    while !healed.exists() && Instant::now() < until {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    std::fs::write(there, "").unwrap();
                })
            });
            let command = format!("echo x >>heals; {heal}; code=$?; touch healed; exit $code");
            let (ended, said, stays) = orphaned(directory.path(), &command, Duration::from_secs(6), "beat\n");
            makes_it.into_iter().for_each(|thread| thread.join().unwrap());
            let healed = std::fs::read_to_string(directory.path().join("heals")).unwrap().lines().count();
            assert_eq!((ended.is_ok(), stays, healed), (is_healed, !is_healed, times), "{heal}: {said}");
            assert!(said.contains(says), "{heal}: {said}");
            assert!(!there.exists(), "{heal}: {said}");
        }
    }

    #[test]
    fn what_another_process_has_healed_or_heals_is_not_healed_again() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Archive::open(directory.path()).unwrap().fault_journal();
        let words = ["sh", "-c", "touch healed"].map(str::to_owned).to_vec();
        let heal = Heal::Command {
            words,
            directory: directory.path().to_owned(),
            within: Duration::from_secs(60),
            proof: None,
        };
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
