//! A held ssh session to another machine, with nothing installed there: a shell that runs one script after another, each with a
//! time limit on this side. It ends when this process does, however that ends. Source: ssh(1), sh(1p).

use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::act::command::{Output, last_line};

/// The program and the options with which a session never waits for a person, and ends when the other side is silent.
const SSH: [&str; 8] = [
    "ssh",
    "-T",
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oStrictHostKeyChecking=yes",
    "--",
];
/// Being connected takes no longer, beside the first answer.
const CONNECTED_WITHIN: Duration = Duration::from_secs(30);
/// What is remembered of what a script prints.
const MOST_BYTES: usize = 16 << 20;
/// Of what ssh itself says.
const MOST_WORDS: usize = 4096;
/// How long ssh's last words are waited for.
const WORDS_WITHIN: Duration = Duration::from_secs(2);
/// How often it is looked whether an answer is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Blocks that wait; more are read when there is room.
const WAITING: usize = 64;

pub struct Session {
    host: String,
    child: Child,
    input: ChildStdin,
    output: Receiver<Vec<u8>>,
    words: Arc<Mutex<Vec<u8>>>,
    asked: u64,
    /// Why nothing can be asked any more.
    lost: Option<String>,
}

impl Session {
    /// Connects, and waits until the shell over there answers.
    ///
    /// # Errors
    /// Why it does not, with what ssh said.
    pub fn open(host: &str) -> Result<Self, String> {
        let [program, options @ ..] = SSH;
        let mut command = Command::new(program);
        command.args(options).args([host, "sh", "-s"]);
        Self::over(command, host)
    }

    /// The same over a program that runs a shell.
    fn over(mut command: Command, host: &str) -> Result<Self, String> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C is for this program: what it has made to fail is healed over this session.
            .process_group(0)
            .spawn()
            .map_err(|cause| format!("ssh cannot be run: {cause}; it comes with OpenSSH"))?;
        let (Some(input), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("there are no pipes to ssh".to_owned());
        };
        let (send, output) = sync_channel(WAITING);
        let words = Arc::new(Mutex::new(Vec::new()));
        let own = Arc::clone(&words);
        read(stdout, move |block| send.send(block.to_vec()).is_ok());
        read(stderr, move |block| {
            let mut own = own.lock().unwrap_or_else(PoisonError::into_inner);
            let room = MOST_WORDS.saturating_sub(own.len()).min(block.len());
            own.extend_from_slice(block.get(..room).unwrap_or_default());
            true
        });
        let mut session = Self { host: host.to_owned(), child, input, output, words, asked: 0, lost: None };
        match session.ask(":", CONNECTED_WITHIN) {
            Ok(_) => Ok(session),
            Err(why) => Err(format!(
                "{why}; first make `ssh -oBatchMode=yes {host} true` work from here, without a question"
            )),
        }
    }

    /// Runs a script over there; what it printed, both ways, and its exit code.
    ///
    /// # Errors
    /// When the session ended, or nothing came within the time: nothing more can be asked then.
    pub fn ask(&mut self, script: &str, within: Duration) -> Result<Output, String> {
        let output = self.ask_wanted(script, within, &|| true)?;
        output.ok_or_else(|| format!("{}: the answer was not waited for", self.host))
    }

    /// As [`Session::ask`], as long as an answer is `wanted`; `None` where it was not any more: nothing more can be asked then.
    ///
    /// # Errors
    /// As [`Session::ask`].
    pub fn ask_wanted(
        &mut self,
        script: &str,
        within: Duration,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Option<Output>, String> {
        if let Some(why) = &self.lost {
            return Err(why.clone());
        }
        let until = Instant::now() + within;
        self.asked += 1;
        // No script prints this: it does not know it.
        let end = format!("=cosmark-{}-{}-{}=", std::process::id(), self.asked, nanoseconds());
        let text = format!("(\n{script}\n) </dev/null 2>&1\necho \"\n{end} $?\"\n");
        if let Err(cause) = self.input.write_all(text.as_bytes()).and_then(|()| self.input.flush()) {
            return Err(self.lose(&cause.to_string()));
        }
        let mut found: Vec<u8> = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left.min(LOOK_EVERY)) {
                Ok(block) => found.extend_from_slice(&block),
                Err(RecvTimeoutError::Timeout) if !wanted() => {
                    self.lost = Some(format!("{}: the answer was not waited for", self.host));
                    return Ok(None);
                }
                Err(RecvTimeoutError::Timeout) if left > LOOK_EVERY => continue,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.lose(&format!("nothing came for {within:?}")));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.lose("the session ended")),
            }
            if found.len() > MOST_BYTES {
                return Err(self.lose("it sends more than was asked for"));
            }
            // The end may lie on the border of two blocks, and is short.
            let tail = found.len().saturating_sub(end.len() + 4096);
            let near = String::from_utf8_lossy(found.get(tail..).unwrap_or_default()).into_owned();
            let Some((_, code)) = near.rsplit_once(&end) else { continue };
            let Some(code) = code.strip_suffix('\n') else { continue };
            let text = String::from_utf8_lossy(&found).into_owned();
            let text = text.rsplit_once(&end).map_or("", |(before, _)| before).trim().to_owned();
            return Ok(Some(Output { code: code.trim().parse().ok(), text }));
        }
    }

    /// Nothing can be asked any more.
    fn lose(&mut self, why: &str) -> String {
        let until = Instant::now() + WORDS_WITHIN;
        // Who reads the words lets go of them at their end, which may be read after ssh has ended.
        let is_heard =
            |child: &mut Child| !matches!(child.try_wait(), Ok(None)) && Arc::strong_count(&self.words) == 1;
        while !is_heard(&mut self.child) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let words = String::from_utf8_lossy(&words).into_owned();
        let said = if words.trim().is_empty() { String::new() } else { format!(": {}", last_line(&words)) };
        let text = format!("{}: {why}{said}", self.host).replace(char::is_control, " ");
        self.lost = Some(text.clone());
        text
    }

    pub fn is_lost(&self) -> bool {
        self.lost.is_some()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Hands over what comes through a pipe, block by block, until it ends or nobody wants it.
fn read(mut pipe: impl Read + Send + 'static, mut take: impl FnMut(&[u8]) -> bool + Send + 'static) {
    std::thread::spawn(move || {
        let mut block = vec![0; 16 << 10];
        loop {
            match pipe.read(&mut block) {
                Ok(read) if read > 0 && take(block.get(..read).unwrap_or_default()) => {}
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    });
}

/// Since 1970; for names that nobody else has.
pub fn nanoseconds() -> u128 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session whose program is a shell of this machine.
    fn over(script: &str) -> Result<Session, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Session::over(command, "host")
    }

    #[test]
    fn what_ssh_has_said_is_told_although_somebody_keeps_its_standard_error_open() {
        let why = over("echo 'Permission denied' >&2; sleep 20 >/dev/null & exit 255").err().unwrap();
        assert!(why.starts_with("host: ") && why.contains(": Permission denied; first make"), "{why}");
        let mut session = over("echo banner >&2; sleep 20 >/dev/null & exec sh -s").unwrap();
        let output = session.ask("echo said; exit 3", Duration::from_secs(60)).unwrap();
        assert_eq!((output.code, output.text.as_str()), (Some(3), "said"));
    }
}
