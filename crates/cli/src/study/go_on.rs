//! Runs the last command of a study again for a controller whose operator allows it. What is run comes from the journal, which has to
//! be this user's own, and from nothing that a client sends. Who unpacks an archive of somebody else's owns its files, too: so each
//! call is also remembered where archives are not unpacked, and no other is run.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, UNIX_EPOCH};

use cosmark_archive::has_strict_modes;
use cosmark_study::journal::{Call, JOURNAL, digest, is_held};

use crate::host::state_directory;

/// What the study prints.
const LOG: &str = "go-on.log";
/// It has its journal, or has ended, within this time; else it is left alone.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Letters of what a study said when it did not begin.
const LONGEST_WHY: usize = 500;
/// Calls of one study that are remembered.
const MOST_CALLS: usize = 200;

/// Remembers that this user called the study of a directory so. Where that cannot be written it is not run from elsewhere.
pub fn remember(directory: &Path, call: &Call) {
    if let Ok(state) = state_directory(None) {
        drop(remember_in(&state, directory, call));
    }
}

/// The directory by its whole name, and where its calls are remembered.
fn memory_of(state: &Path, directory: &Path) -> std::io::Result<(String, PathBuf)> {
    let whole = directory.canonicalize()?.to_string_lossy().into_owned();
    let path = state.join("studies").join(format!("{}.json", digest(&whole)));
    Ok((whole, path))
}

/// Which directory it is: its inode, and when it was made, ns since 1970, where the file system knows. One that was unpacked since in
/// its place is another. Source: statx(2), `stx_btime`.
fn place_of(directory: &Path) -> std::io::Result<(u64, Option<u64>)> {
    let there = fs::metadata(directory)?;
    let made = there.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    Ok((there.ino(), made.and_then(|since| u64::try_from(since.as_nanos()).ok())))
}

/// What is remembered of a study: its directory by its whole name and as the one that it is, and its calls.
type Memory = (String, (u64, Option<u64>), Vec<Call>);

/// The calls of a study that are remembered, the newest last.
fn remembered(state: &Path, directory: &Path) -> Vec<Call> {
    let Ok((whole, path)) = memory_of(state, directory) else { return Vec::new() };
    let found: Option<Memory> = fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let Some((name, place, calls)) = found else { return Vec::new() };
    let is_same = name == whole && place_of(directory).is_ok_and(|own| own == place);
    if is_same { calls } else { Vec::new() }
}

fn remember_in(state: &Path, directory: &Path, call: &Call) -> std::io::Result<()> {
    let mut calls = remembered(state, directory);
    calls.push(call.clone());
    let calls = &calls[calls.len().saturating_sub(MOST_CALLS)..];
    let (whole, path) = memory_of(state, directory)?;
    DirBuilder::new().recursive(true).mode(0o700).create(state.join("studies"))?;
    let part = path.with_extension(format!("{}.part", std::process::id()));
    drop(fs::remove_file(&part));
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&part)?;
    let written = file
        .write_all(&serde_json::to_vec(&(whole, place_of(directory)?, calls))?)
        .and_then(|()| fs::rename(&part, path));
    written.inspect_err(|_| drop(fs::remove_file(&part)))
}

/// Runs the command again, as a process that outlives this one.
///
/// # Errors
/// When the journal is somebody else's, the command was not called by this user here, or the study does not begin.
pub fn go_on(directory: &Path, call: &Call) -> Result<(), String> {
    check_owner(directory)?;
    let is_known = state_directory(None).is_ok_and(|state| remembered(&state, directory).contains(call));
    if !is_known {
        return Err("nobody remembers that this user called the study so on this machine, and its journal may come from \
                    elsewhere: run the command once in a shell"
            .to_owned());
    }
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
        if meta.uid() != me || !has_strict_modes(&meta) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn call(words: &[&str]) -> Call {
        Call { at_s: 7, arguments: words.iter().map(|word| (*word).to_owned()).collect(), ..Call::default() }
    }

    #[test]
    fn only_what_was_called_here_is_remembered_and_only_of_this_directory() {
        let place = tempfile::tempdir().unwrap();
        let (state, own, unpacked) =
            (place.path().join("state"), place.path().join("a"), place.path().join("b"));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&unpacked).unwrap();
        let (first, second) = (call(&["study", "x"]), call(&["study", "x", "--retry"]));
        assert_eq!(remembered(&state, &own), []);
        remember_in(&state, &own, &first).unwrap();
        remember_in(&state, &own, &second).unwrap();
        assert_eq!(remembered(&state, &own), [first.clone(), second.clone()]);
        assert_eq!(remembered(&state, &unpacked), []);
        // A name of the same number is still another name.
        let (_, path) = memory_of(&state, &own).unwrap();
        fs::copy(&path, memory_of(&state, &unpacked).unwrap().1).unwrap();
        assert_eq!(remembered(&state, &unpacked), []);
        (0..MOST_CALLS).for_each(|_| remember_in(&state, &own, &second).unwrap());
        assert_eq!(remembered(&state, &own).len(), MOST_CALLS);
        assert!(!remembered(&state, &own).contains(&first));
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o600);
        fs::write(memory_of(&state, &own).unwrap().1, "{").unwrap();
        assert_eq!(remembered(&state, &own), []);
        remember_in(&state, &own, &first).unwrap();
        assert_eq!(remembered(&state, &own), [first]);
        // What is unpacked in its place is another study.
        fs::rename(&own, place.path().join("before")).unwrap();
        fs::create_dir(&own).unwrap();
        assert_eq!(remembered(&state, &own), []);
    }
}
