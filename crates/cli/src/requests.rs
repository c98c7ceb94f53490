//! The requests that this machine's disks are given, as the kernel's tracing tells them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, atomic::AtomicU64};
use std::thread::JoinHandle;
use std::time::Duration;

use cosmark_nodes::lbn::{Distances, Trace};

/// Where the kernel's tracing is mounted.
pub const TRACING: &str = "/sys/kernel/tracing";

/// Between two looks.
pub const PAUSE: Duration = Duration::from_millis(50);

/// A buffer of the kernel's tracing that is ours alone, removed at the end.
struct Instance(PathBuf);

impl Drop for Instance {
    fn drop(&mut self) {
        // What cannot be removed holds a few megabytes until the machine starts again.
        let _ = fs::write(self.0.join("events/block/block_rq_issue/enable"), "0");
        let _ = fs::remove_dir(&self.0);
    }
}

/// Requests from now on.
pub struct Requests {
    pipe: File,
    left: Vec<u8>,
    bytes: Vec<u8>,
    _instance: Instance,
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
        Ok(Self { pipe, left: Vec::new(), bytes: vec![0; 1 << 16], _instance: instance })
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
