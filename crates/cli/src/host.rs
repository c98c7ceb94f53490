//! This machine: its name for the record, its limits for the run.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cosmark_archive::HostRecord;
use cosmark_workload::Environment;

use crate::exit::Problem;

/// What `run.json` says about this machine.
#[must_use]
pub fn record() -> HostRecord {
    HostRecord { hostname: hostname(), cpus: u32::try_from(processors()).unwrap_or(0), kernel: kernel() }
}

/// Where test beds have their data.
///
/// # Errors
/// When no variable says it.
pub fn data_of_beds() -> Result<PathBuf, String> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    var("COSMARK_TESTBED_DIR")
        .or_else(|| Some(var("HOME")?.join(".cache/cosmark-testbeds")))
        .ok_or_else(|| "neither COSMARK_TESTBED_DIR nor HOME is set".to_owned())
}

/// The state directory that is meant: `given`, or the usual one.
///
/// # Errors
/// When there is none to be found.
pub fn state_directory(given: Option<&Path>) -> Result<PathBuf, Problem> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || var("HOME").map(|home| home.join(".local/state"));
    var("XDG_STATE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(home)
        .map(|base| base.join("cosmark"))
        .ok_or_else(|| {
            Problem::usage("there is no home directory; give the state directory with --state DIR".to_owned())
        })
}

/// # Errors
/// When what an option names is no directory.
pub fn is_directory(flag: &str, directory: &Path) -> Result<(), Problem> {
    if directory.is_dir() {
        return Ok(());
    }
    Err(Problem::usage(format!("{flag} {}: there is no such directory", directory.display())))
}

/// A runtime of one thread. It ends although a blocking call hangs: a daemon that is stopped, a file system that is gone.
#[derive(Debug)]
pub struct Runtime(Option<tokio::runtime::Runtime>);

/// Blocking calls that nobody waits for any more have so long to end.
const LAST_CALLS: Duration = Duration::from_secs(2);

/// A runtime of one thread.
///
/// # Errors
/// When the system refuses.
pub fn runtime() -> Result<Runtime, Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|cause| Problem::ours(format!("cannot start: {cause}")))?;
    Ok(Runtime(Some(runtime)))
}

impl Deref for Runtime {
    type Target = tokio::runtime::Runtime;

    fn deref(&self) -> &Self::Target {
        let Self(Some(runtime)) = self else { unreachable!("it is there until it is dropped") };
        runtime
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(LAST_CALLS);
        }
    }
}

/// Processors that this process may use.
#[must_use]
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Load threads where nobody says how many: one processor is left for everything else.
#[must_use]
pub fn load_threads() -> usize {
    processors().saturating_sub(1).max(1)
}

/// Name of this machine.
pub fn hostname() -> String {
    let mut name = [0; 256];
    // SAFETY: the buffer is valid for its length, and the last byte stays 0.
    let result = unsafe { libc::gethostname(name.as_mut_ptr(), name.len() - 1) };
    if result != 0 {
        return "unknown".into();
    }
    // SAFETY: the buffer ends with a 0 that was never written.
    unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned()
}

fn kernel() -> String {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{file}")).unwrap_or_default();
    format!("{} {}", read("ostype").trim(), read("osrelease").trim()).trim().to_owned()
}

/// Values for `${sys:..}` of COSBench XML.
#[must_use]
pub fn environment() -> Environment {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    let mut system = BTreeMap::new();
    system.insert("user.name".into(), user_name().unwrap_or_default());
    system.insert("user.home".into(), var("HOME"));
    system.insert("user.dir".into(), std::env::current_dir().unwrap_or_default().display().to_string());
    system.insert("java.io.tmpdir".into(), std::env::temp_dir().display().to_string());
    system.insert("os.name".into(), "Linux".into());
    system.insert("os.arch".into(), std::env::consts::ARCH.into());
    system.retain(|_, value: &mut String| !value.is_empty());
    Environment { system, ..Environment::default() }
}

fn user_name() -> Option<String> {
    let from_environment = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    from_environment.filter(|name| !name.is_empty()).or_else(|| {
        // SAFETY: the entry is read at once, on the program's only thread; a null is checked.
        let entry = unsafe { libc::getpwuid(libc::geteuid()).as_ref() }?;
        // SAFETY: the name of an entry is a C string.
        Some(unsafe { CStr::from_ptr(entry.pw_name) }.to_string_lossy().into_owned())
    })
}

/// Raises the limit on open files to what the kernel allows; a worker needs one descriptor. Gives what was reached.
pub fn raise_open_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return 1024;
    }
    let before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: as above.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } == 0 {
        limit.rlim_cur
    } else {
        before
    }
}

/// Memory of this machine; 0 where the system does not tell.
#[must_use]
pub fn memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_hangs_does_not_hold_the_end_up() {
        let (let_go, hangs) = std::sync::mpsc::sync_channel::<()>(1);
        let runtime = runtime().unwrap();
        runtime.block_on(async {
            drop(tokio::task::spawn_blocking(move || hangs.recv_timeout(Duration::from_secs(60))));
        });
        let began = std::time::Instant::now();
        drop(runtime);
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        drop(let_go);
    }
}
