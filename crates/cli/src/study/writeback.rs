//! What earlier jobs left in memory for a slow disk: it is written back before the next begins, which would wait for it.

use std::time::Duration;

use cosmark_nodes::raw::shell::{Shell, quoted};

/// The program that writes back whatever is not on a disk yet.
pub const SYNC: &str = "sync";
/// It may take this long; then the next job begins all the same.
pub const LIMIT: Duration = Duration::from_secs(120);
/// What takes longer is said.
const UNSAID: Duration = Duration::from_secs(2);
/// Beyond the limit, for a program that cannot even be killed while it waits for a disk.
const TO_END: Duration = Duration::from_secs(10);

/// Writes back by a program, within a limit of whole seconds; `say` is called once where that takes a while. Gives why not all of
/// it was written, `None` where it was.
pub async fn write_back(program: &str, limit: Duration, say: impl Fn()) -> Option<String> {
    let script = format!(
        "run timeout -k 5 {seconds} {program} || {{\ncode=$?\n\
         case $code in 124 | 137) echo 'it did not end within {seconds} s' >&2 ;; esac\nexit $code\n}}\n",
        seconds = limit.as_secs(),
        program = quoted(program),
    );
    let shell = Shell::local();
    let mut done = std::pin::pin!(shell.run(&script, limit + TO_END));
    let early = tokio::time::timeout(UNSAID, done.as_mut()).await;
    let said = if let Ok(said) = early {
        said
    } else {
        say();
        done.await
    };
    said.err().map(|why| {
        format!("not all that earlier jobs wrote was on the disks when this began: {program}: {why}")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[tokio::test]
    async fn what_is_dirty_is_written_back_and_a_disk_that_takes_too_long_is_said_and_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let stub = |name: &str, script: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path.display().to_string()
        };
        let said = std::cell::Cell::new(0);
        let say = || said.set(said.get() + 1);
        let place = directory.path().display().to_string();
        let quick = stub("quick", &format!(": > {}", quoted(&format!("{place}/written"))));
        assert_eq!(write_back(&quick, LIMIT, say).await, None);
        assert!(directory.path().join("written").is_file());
        let broken = stub("broken", "echo 'error syncing: Input/output error' >&2; exit 1");
        let why = write_back(&broken, LIMIT, say).await.unwrap();
        assert!(why.contains("when this began") && why.ends_with("Input/output error"), "{why}");
        let slow = stub("slow", "exec sleep 3600");
        let why = write_back(&slow, UNSAID + Duration::from_secs(2), say).await.unwrap();
        assert!(why.ends_with("it did not end within 4 s"), "{why}");
        assert_eq!(said.get(), 1, "of what takes long alone");
    }
}
