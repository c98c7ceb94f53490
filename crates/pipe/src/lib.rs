//! What a command prints: taken while it runs, bounded, and all of it there when the command has ended, however late anybody
//! looks.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// So many bytes are read at once.
const BLOCK: usize = 64 << 10;
/// So much is taken in one turn of somebody who prints without end.
const TURN: usize = 1 << 20;
/// What a command left running in the background may print one block in so long.
const BACKGROUND_PAUSE: Duration = Duration::from_millis(20);

/// The pipe into which a command prints, with the beginning of what came out of it.
#[derive(Debug)]
pub struct Printed {
    pipe: PipeReader,
    kept: Vec<u8>,
    most: usize,
    block: Vec<u8>,
    /// Nobody can print any more.
    is_ended: bool,
}

impl Printed {
    /// A pipe of whose bytes the first `most` are kept, and its end for the command, which may be given for both of its outputs.
    ///
    /// # Errors
    /// When this process may open no more files.
    pub fn new(most: usize) -> io::Result<(Self, PipeWriter)> {
        let (pipe, writer) = io::pipe()?;
        waits(&pipe, false)?;
        Ok((Self { pipe, kept: Vec::new(), most, block: vec![0; BLOCK], is_ended: false }, writer))
    }

    /// Waits for at most `pause` for the command to print something, and takes what it did.
    pub fn take_within(&mut self, pause: Duration) {
        if self.is_ended {
            std::thread::sleep(pause);
            return;
        }
        let ms = i32::try_from(pause.as_millis()).unwrap_or(i32::MAX);
        let mut asked = libc::pollfd { fd: self.pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure of ours and the pipe that we hold; whatever comes of it, the pipe is read next.
        unsafe { libc::poll(&raw mut asked, 1, ms) };
        self.take();
    }

    /// Takes what is in the pipe by now.
    fn take(&mut self) {
        let mut turn = TURN;
        while !self.is_ended && turn > 0 {
            match self.pipe.read(&mut self.block) {
                Ok(0) => self.is_ended = true,
                Ok(read) => {
                    let room = self.most.saturating_sub(self.kept.len()).min(read);
                    self.kept.extend_from_slice(self.block.get(..room).unwrap_or_default());
                    turn = turn.saturating_sub(read);
                }
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.is_ended = true,
            }
        }
    }

    /// The beginning of what a command printed that has ended: all of that is in the pipe by now. What it printed through others
    /// is awaited for at most `rest`. Those that it left running keep the pipe open for good: what they print is read on and
    /// thrown away at some 3 MB/s, as nobody is to be ended by a pipe without a reader, or to wait in vain for room in one.
    pub fn of_ended(mut self, rest: Duration) -> Vec<u8> {
        let until = Instant::now() + rest;
        self.take();
        while let left = until.saturating_duration_since(Instant::now())
            && !self.is_ended
            && !left.is_zero()
        {
            self.take_within(left);
        }
        let Self { mut pipe, kept, mut block, is_ended, .. } = self;
        if !is_ended && waits(&pipe, true).is_ok() {
            let reading = move || {
                loop {
                    match pipe.read(&mut block) {
                        Ok(0) => break,
                        Ok(_) => std::thread::sleep(BACKGROUND_PAUSE),
                        Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                        Err(_) => break,
                    }
                }
            };
            // Where there may be no more threads, what the command printed is there all the same.
            drop(std::thread::Builder::new().name("printed".to_owned()).spawn(reading));
        }
        kept
    }
}

/// Whether a read of an empty pipe waits for somebody to write.
fn waits(pipe: &PipeReader, is_so: bool) -> io::Result<()> {
    // SAFETY: a plain system call on a descriptor that we hold.
    let flags = unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    let flags = if is_so { flags & !libc::O_NONBLOCK } else { flags | libc::O_NONBLOCK };
    // SAFETY: as before.
    match unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell that runs these lines, in a process group of its own.
    fn shell(script: &str, most: usize) -> (Child, Printed) {
        use std::os::unix::process::CommandExt;
        let (printed, writer) = Printed::new(most).unwrap();
        let errors = writer.try_clone().unwrap();
        let child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .unwrap();
        (child, printed)
    }

    fn end(child: &Child) {
        let group = libc::pid_t::try_from(child.id()).unwrap();
        // SAFETY: the group of a process that this test has started.
        unsafe { libc::killpg(group, libc::SIGKILL) };
    }

    #[test]
    fn all_that_was_printed_is_there_although_nobody_looked_before_the_end() {
        let (mut child, printed) =
            shell("head -c 3000 /dev/zero | tr '\\0' x; echo bad >&2; echo last", 1 << 20);
        assert!(child.wait().unwrap().success());
        // Without any patience: what a command has printed is awaited by nobody.
        let kept = String::from_utf8(printed.of_ended(Duration::ZERO)).unwrap();
        assert_eq!((kept.len(), &kept[3000..]), (3009, "bad\nlast\n"));
    }

    #[test]
    fn what_runs_on_in_the_background_takes_nothing_away_and_is_not_awaited() {
        let (mut child, printed) = shell("sleep 600 & echo begun", 1 << 20);
        assert!(child.wait().unwrap().success());
        assert_eq!(printed.of_ended(Duration::from_millis(1)), b"begun\n");
        // One that prints on and on is kept from nothing, and is given no more room than anybody.
        let (mut loud, printed) = shell("echo begun; yes background & true", 1000);
        assert!(loud.wait().unwrap().success());
        let kept = printed.of_ended(Duration::from_millis(100));
        assert!(kept.starts_with(b"begun\n") && kept.len() <= 1000);
        let written = |pid: u32| -> Option<u64> {
            let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
            text.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
        };
        let leader = loud.id().to_string();
        let background = || {
            std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
                let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
                let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
                let (_, rest) = stat.rsplit_once(") ")?;
                (rest.split(' ').nth(2)? == leader && pid.to_string() != leader).then_some(pid)
            })
        };
        let first = background().and_then(written);
        let goes_on = (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            background().and_then(written) > first
        });
        assert!(goes_on, "who prints in the background waits for room: {first:?}");
        end(&child);
        end(&loud);
    }

    #[test]
    fn a_command_that_prints_more_than_is_kept_comes_to_its_end() {
        let (mut child, mut printed) = shell("head -c 3000000 /dev/zero; exec >&- 2>&-; sleep 0.1", 10);
        let ended = (0..60_000).any(|_| {
            printed.take_within(Duration::from_millis(10));
            child.try_wait().unwrap().is_some()
        });
        assert!(ended, "it waits for room");
        assert_eq!(printed.of_ended(Duration::ZERO), [0; 10]);
    }
}
