//! `cosmark baseline` of a machine over ssh: a real sshd on loopback with keys of its own, whose sessions have programs that stand in
//! for fio.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::support::skipped;
use super::{cosmark, said};

const SSHD: &str = "/usr/sbin/sshd";
const PATIENCE: Duration = Duration::from_secs(90);

/// Answers each pattern at once.
const ANSWERS: &str = r#"for word; do case $word in --rw=*) rw=${word#--rw=};; --filename=*) f=${word#--filename=};; esac; done
case $rw in *read) side=read;; *) side=write;; esac
[ -f "$f" ] || exit 9
echo "{\"fio version\": \"x\", \"jobs\": [{\"jobname\": \"$rw\", \"error\": 0, \"job options\": {\"rw\": \"$rw\", \"direct\": \"1\"},
\"$side\": {\"io_bytes\": 8192000, \"bw_bytes\": 4096000, \"iops\": 1000, \"runtime\": 2000}}]}""#;

/// An sshd, and an `ssh` that knows it as `far`. Ends what it started.
struct Far {
    home: tempfile::TempDir,
    server: Child,
}

impl Drop for Far {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

fn program(directory: &Path, name: &str, text: &str) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join(name), format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(directory.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

fn key(file: &Path) {
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file).status();
    assert!(made.unwrap().success());
}

fn until(what: &str, mut good: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !good() {
        assert!(Instant::now() < end, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server whose sessions find their programs in `path`; `Err` says why there is none on this machine.
fn far(path: &str) -> Result<Far, String> {
    if !Path::new(SSHD).exists() {
        return Err("sshd is not installed: apt-get install openssh-server".to_owned());
    }
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } == 0 {
        // Where it parts with its rights; it starts with the machine where there is a service.
        fs::create_dir_all("/run/sshd").map_err(|cause| format!("/run/sshd cannot be made: {cause}"))?;
    }
    let home = tempfile::tempdir().unwrap();
    let own = |name: &str| home.path().join(name).display().to_string();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    key(&home.path().join("hostkey"));
    key(&home.path().join("key"));
    let text = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nPidFile none\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
         PasswordAuthentication no\nSetEnv PATH={path}\n",
        own("hostkey"),
        own("key.pub")
    );
    fs::write(home.path().join("sshd_config"), text).unwrap();
    let text = format!(
        "Host far\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n",
        own("key"),
        own("known")
    );
    fs::write(home.path().join("ssh_config"), text).unwrap();
    let public = fs::read_to_string(home.path().join("hostkey.pub")).unwrap();
    fs::write(home.path().join("known"), format!("[127.0.0.1]:{port} {public}")).unwrap();
    let ssh = format!("exec /usr/bin/ssh -F '{}' \"$@\"", own("ssh_config"));
    program(&home.path().join("bin"), "ssh", &ssh);
    fs::write(
        home.path().join("target.yaml"),
        "storage: {type: mock}\nnodes:\n  - {name: s1, role: storage, type: ssh, host: far}\n",
    )
    .unwrap();
    fs::create_dir(home.path().join("disk")).unwrap();
    let log = fs::File::create(home.path().join("sshd.log")).unwrap();
    let server = Command::new(SSHD)
        .args(["-D", "-e", "-f", &own("sshd_config")])
        .stdin(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(|cause| format!("{SSHD}: {cause}"))?;
    let mut far = Far { home, server };
    let log = far.home.path().join("sshd.log");
    until("sshd's first word", || {
        let said = fs::read_to_string(&log).unwrap_or_default();
        said.contains("listening") || far.server.try_wait().unwrap().is_some()
    });
    let reached = far.with_ssh(Command::new("ssh")).args(["-oBatchMode=yes", "far", ":"]).output().unwrap();
    if !reached.status.success() {
        let why = String::from_utf8_lossy(&reached.stderr).trim().to_owned();
        return Err(format!("nobody may log in over ssh here: {why}"));
    }
    Ok(far)
}

impl Far {
    fn with_ssh(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.home.path().join("bin").display()));
        command.stdin(Stdio::null());
        command
    }

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
