//! `cosmark baseline` of a machine over ssh: a real sshd on loopback with keys of its own, whose sessions have programs that stand in
//! for fio.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::sshd::{Far, far, program, until};
use super::support::skipped;
use super::{cosmark, said};

/// Answers each pattern at once.
const ANSWERS: &str = r#"for word; do case $word in --rw=*) rw=${word#--rw=};; --filename=*) f=${word#--filename=};; esac; done
case $rw in *read) side=read;; *) side=write;; esac
[ -f "$f" ] || exit 9
echo "{\"fio version\": \"x\", \"jobs\": [{\"jobname\": \"$rw\", \"error\": 0, \"job options\": {\"rw\": \"$rw\", \"direct\": \"1\"},
\"$side\": {\"io_bytes\": 8192000, \"bw_bytes\": 4096000, \"iops\": 1000, \"runtime\": 2000}}]}""#;

impl Far {
    fn disk(&self) -> PathBuf {
        self.home.path().join("disk")
    }

    fn baseline(&self) -> Command {
        let mut command = self.with_ssh(cosmark(self.home.path()));
        let directory = format!("s1={}", self.disk().display());
        command.args(["baseline", "target.yaml", "--size", "1MiB", "--seconds", "1", "--no-network"]);
        command.args(["--directory", &directory]);
        command
    }

    fn files(&self) -> usize {
        fs::read_dir(self.disk()).unwrap().count()
    }
}

#[test]
fn a_machine_is_measured_over_ssh_and_nothing_stays_on_it() {
    let programs = tempfile::tempdir().unwrap();
    program(programs.path(), "fio", ANSWERS);
    let far = match far(&format!("{}:/usr/bin:/bin", programs.path().display())) {
        Ok(far) => far,
        Err(why) => return skipped(&why),
    };
    let output = far.baseline().output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for words in ["sequential write", "sequential read", "random read", "random write"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(far.files(), 0);
    let shown = said(far.home.path(), "show w1");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("random read"));
}

#[test]
fn a_machine_without_fio_is_refused_with_what_to_install() {
    let programs = tempfile::tempdir().unwrap();
    for name in ["sh", "cat", "rm", "printf"] {
        let place =
            ["/usr/bin", "/bin"].iter().map(|place| Path::new(place).join(name)).find(|path| path.exists());
        symlink(place.unwrap(), programs.path().join(name)).unwrap();
    }
    let far = match far(&programs.path().display().to_string()) {
        Ok(far) => far,
        Err(why) => return skipped(&why),
    };
    let output = far.baseline().output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains("s1: disk of") && error.contains("fio is not there: apt-get install fio"),
        "{error}"
    );
    assert!(error.contains("openssl is not there: apt-get install openssl"), "{error}");
    assert_eq!(far.files(), 0);
    assert!(!far.home.path().join("archive").exists());
}

/// The program over there would write for an hour.
#[test]
fn what_runs_on_a_machine_ends_when_the_one_who_asked_is_killed() {
    let programs = tempfile::tempdir().unwrap();
    let number = programs.path().join("number");
    let sleeps =
        format!("case $* in *probe*) exit 0;; esac; echo $$ > '{}'; exec sleep 3600", number.display());
    program(programs.path(), "fio", &sleeps);
    let far = match far(&format!("{}:/usr/bin:/bin", programs.path().display())) {
        Ok(far) => far,
        Err(why) => return skipped(&why),
    };
    let mut child = far.baseline().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let running = || fs::read_to_string(&number).ok()?.trim().parse::<u32>().ok();
    until("the program's start over there", || running().is_some() && far.files() == 1);
    let process = PathBuf::from(format!("/proc/{}", running().unwrap()));
    assert!(process.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    until("its end over there", || far.files() == 0 && !process.exists());
}
