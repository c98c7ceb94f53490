//! The requests that this machine's disks are given, as the kernel's tracing tells them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::lbn::{Distances, Trace};

/// Where the kernel's tracing is mounted.
pub const TRACING: &str = "/sys/kernel/tracing";

/// Between two looks.
pub const PAUSE: Duration = Duration::from_millis(50);

/// So much is taken without a pause, 64 KiB at a time: a flood costs no processor, the kernel then loses some.
const MOST_TURNS: u32 = 64;

/// A buffer of the kernel's tracing that is ours alone, removed at the end.
#[derive(Debug)]
struct Instance(PathBuf);

impl Drop for Instance {
    fn drop(&mut self) {
        // What cannot be removed holds a few megabytes until the machine starts again.
        let _ = fs::write(self.0.join("events/block/block_rq_issue/enable"), "0");
        let _ = fs::remove_dir(&self.0);
    }
}

/// Removes buffers of processes that were killed. One that is read by somebody cannot be removed.
fn remove_those_of_the_dead(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten().take(1_000) {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix("cosmark-")?.split('-').next());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Requests from now on.
#[derive(Debug)]
pub struct Requests {
    pipe: File,
    left: Vec<u8>,
    bytes: Vec<u8>,
    _instance: Option<Instance>,
}

impl Requests {
    /// Begins to follow.
    ///
    /// # Errors
    /// What could not be done, and why: it needs root, and a kernel with tracing.
    pub fn follow() -> Result<Self, (&'static str, io::Error)> {
        // Two may follow at once.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        remove_those_of_the_dead(&Path::new(TRACING).join("instances"));
        let path = Path::new(TRACING).join(format!("instances/cosmark-{}-{number}", std::process::id()));
        fs::create_dir(&path).map_err(|cause| ("requests cannot be followed here", cause))?;
        let instance = Instance(path);
        let switch = instance.0.join("events/block/block_rq_issue/enable");
        fs::write(&switch, "1").map_err(|cause| ("the event block_rq_issue cannot be switched on", cause))?;
        let pipe = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(instance.0.join("trace_pipe"))
            .map_err(|cause| ("its requests cannot be read", cause))?;
        Ok(Self::of(pipe, Some(instance)))
    }

    fn of(pipe: File, instance: Option<Instance>) -> Self {
        Self { pipe, left: Vec::new(), bytes: vec![0; 1 << 16], _instance: instance }
    }

    /// Takes what is there; false: nothing was.
    ///
    /// # Errors
    /// When the kernel does not give it any more.
    pub fn take(&mut self, trace: &mut Trace) -> io::Result<bool> {
        match self.pipe.read(&mut self.bytes) {
            Ok(count) if count > 0 => {
                self.left.extend_from_slice(&self.bytes[..count]);
                let end = self.left.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                String::from_utf8_lossy(&self.left[..end]).lines().for_each(|line| trace.add_line(line));
                self.left.drain(..end);
                Ok(true)
            }
            Err(cause) if !matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Err(cause)
            }
            _ => Ok(false),
        }
    }
}

/// A thread that follows all disks until this is dropped.
#[derive(Debug)]
pub struct Following {
    is_over: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Seen {
    trace: Trace,
    /// Why no more comes.
    ended: Option<String>,
}

fn hold(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Following {
    /// Begins to follow.
    ///
    /// # Errors
    /// Why it cannot be done here.
    pub fn begin() -> Result<Self, String> {
        Self::of(Requests::follow().map_err(|(what, cause)| format!("{what}: {cause}"))?)
    }

    fn of(mut requests: Requests) -> Result<Self, String> {
        let (is_over, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Seen::default())));
        let (ends, of_thread) = (Arc::clone(&is_over), Arc::clone(&seen));
        let follow = move || {
            let mut turns = 0;
            while !ends.load(Ordering::Relaxed) {
                let took = requests.take(&mut hold(&of_thread).trace);
                turns += 1;
                match took {
                    Ok(true) if turns < MOST_TURNS => {}
                    Ok(_) => {
                        turns = 0;
                        std::thread::sleep(PAUSE);
                    }
                    Err(cause) => {
                        hold(&of_thread).ended = Some(cause.to_string());
                        return;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("requests".to_owned()).spawn(follow);
        let thread = Some(thread.map_err(|cause| cause.to_string())?);
        Ok(Self { is_over, seen, thread })
    }

    /// By `major,minor`, what was seen of each disk since it began.
    ///
    /// # Errors
    /// Why no more comes.
    pub fn disks(&self) -> Result<Vec<(String, Distances)>, String> {
        let seen = hold(&self.seen);
        match &seen.ended {
            Some(why) => Err(why.clone()),
            None => {
                Ok(seen.trace.disks().iter().map(|(disk, found)| (disk.clone(), found.clone())).collect())
            }
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // It has to remove its buffer before the process ends, or the kernel goes on filling it.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A thread that follows one disk beside something else.
pub struct Beside {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Trace>,
    disk: String,
}

impl Beside {
    /// Begins to follow a disk, given as `major,minor`.
    ///
    /// # Errors
    /// Why it cannot be done here.
    pub fn of(disk: String) -> Result<Self, String> {
        let mut requests = Requests::follow().map_err(|(what, cause)| format!("{what}: {cause}"))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::Builder::new()
            .name("requests".to_owned())
            .spawn(move || {
                let mut trace = Trace::default();
                loop {
                    let ended = ends.load(Ordering::Relaxed);
                    match requests.take(&mut trace) {
                        Ok(true) if !ended => {}
                        Ok(_) if !ended => std::thread::sleep(PAUSE),
                        // What came last is read once more.
                        _ => return trace,
                    }
                }
            })
            .map_err(|cause| cause.to_string())?;
        Ok(Self { is_over, thread, disk })
    }

    /// What was seen of the disk until now; nothing when it had no request.
    #[must_use]
    pub fn end(self) -> Option<Distances> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().ok()?.disks().get(&self.disk).cloned()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;

    /// Follows what stands in a file, as if the kernel wrote it.
    pub(crate) fn following(text: &str) -> Following {
        let path = std::env::temp_dir().join(format!("cosmark-trace-{}-{:p}", std::process::id(), text));
        File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        let pipe = File::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let following = Following::of(Requests::of(pipe, None)).unwrap();
        let until = std::time::Instant::now() + Duration::from_secs(60);
        let requests = text.lines().filter(|line| crate::lbn::issued(line).is_some()).count() as u64;
        let all = |disks: &[(String, Distances)]| disks.iter().map(|disk| disk.1.requests).sum::<u64>();
        while all(&following.disks().unwrap()) < requests && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        following
    }

    #[test]
    fn requests_are_followed_until_nobody_wants_to_know() {
        let line = |start: u64| format!("x: block_rq_issue: 8,0 R 4096 () {start} + 8 [x]\n");
        let following = following(&format!("{}{}{}", line(0), line(8), line(9_000_000)));
        let disks = following.disks().unwrap();
        let [(name, found)] = disks.as_slice() else { unreachable!("{disks:?}") };
        assert_eq!((name.as_str(), found.requests, found.distances, found.far), ("8,0", 3, 2, 1));
        let thread = Arc::downgrade(&following.seen);
        drop(following);
        assert!(thread.upgrade().is_none(), "its thread has ended");
    }

    #[test]
    fn what_cannot_be_read_any_more_is_said() {
        // A directory can be opened and gives nothing.
        let pipe = File::open(std::env::temp_dir()).unwrap();
        let following = Following::of(Requests::of(pipe, None)).unwrap();
        let until = std::time::Instant::now() + Duration::from_secs(60);
        while following.disks().is_ok() && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(following.disks().is_err());
    }
}
