//! Runs the last command of a study again for a controller whose operator allows it. What is run comes from the journal, which has to
//! be this user's own, and from nothing that a client sends.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cosmark_study::journal::{Call, JOURNAL, is_held};

/// What the study prints.
const LOG: &str = "go-on.log";
/// It has its journal, or has ended, within this time; else it is left alone.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Letters of what a study said when it did not begin.
const LONGEST_WHY: usize = 500;

/// Runs the command again, as a process that outlives this one.
///
/// # Errors
/// When the journal is somebody else's, or the study does not begin.
pub fn go_on(directory: &Path, call: &Call) -> Result<(), String> {
    check_owner(directory)?;
    if !call.arguments.iter().any(|word| word == "study") || call.directory.is_empty() {
        return Err("the journal does not say how the study was called".to_owned());
    }
    let failed = |what: &str, cause: &std::io::Error| format!("the study does not begin: {what}: {cause}");
    let program = std::env::current_exe().map_err(|cause| failed("this program", &cause))?;
    let log = open_log(directory).map_err(|cause| failed(LOG, &cause))?;
    let other = log.try_clone().map_err(|cause| failed(LOG, &cause))?;
    let mut child = Command::new(program)
        .args(&call.arguments)
        .current_dir(&call.directory)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(other)
        // Ctrl-C at the controller is not meant for it.
        .process_group(0)
        .spawn()
        .map_err(|cause| failed("its command", &cause))?;
    let begun = wait_until_begun(&mut child, directory);
    // Nobody else waits for its end.
    let waiting = std::thread::Builder::new().name("study".to_owned()).spawn(move || drop(child.wait()));
    drop(waiting);
    begun
}

fn wait_until_begun(child: &mut Child, directory: &Path) -> Result<(), String> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => return Err(format!("the study does not go on: {}", last_words(directory))),
            Ok(None) | Err(_) if is_held(directory) => return Ok(()),
            Ok(None) | Err(_) => std::thread::sleep(LOOK_EVERY),
        }
    }
    Ok(())
}

/// A journal that somebody else may have written is no command of this user.
fn check_owner(directory: &Path) -> Result<(), String> {
    // SAFETY: a plain system call that cannot fail.
    let me = unsafe { libc::geteuid() };
    for path in [directory.to_owned(), directory.join(JOURNAL)] {
        let meta = fs::symlink_metadata(&path).map_err(|cause| format!("the journal: {cause}"))?;
        if meta.uid() != me || meta.mode() & 0o022 != 0 {
            return Err("the journal or its directory belongs to somebody else, or others may write it: the study is not started \
                        from here"
                .to_owned());
        }
    }
    Ok(())
}

/// A new file; what stood there, also a link, goes.
fn open_log(directory: &Path) -> std::io::Result<File> {
    let path = directory.join(LOG);
    match fs::remove_file(&path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => return Err(cause),
        _ => {}
    }
    OpenOptions::new().create_new(true).append(true).open(path)
}

/// The end of what the study printed.
fn last_words(directory: &Path) -> String {
    let text = fs::read_to_string(directory.join(LOG)).unwrap_or_default();
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    last.chars().filter(|sign| !sign.is_control()).take(LONGEST_WHY).collect()
}
