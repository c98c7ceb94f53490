//! A real sshd on loopback with throw-away keys, and an `ssh` that knows it as `far`.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SSHD: &str = "/usr/sbin/sshd";
const PATIENCE: Duration = Duration::from_secs(90);

/// An sshd, and an `ssh` that knows it as `far`. Ends what it started.
pub struct Far {
    pub home: tempfile::TempDir,
    pub server: Child,
}

impl Drop for Far {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

pub fn program(directory: &Path, name: &str, text: &str) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join(name), format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(directory.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

fn key(file: &Path) {
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file).status();
    assert!(made.unwrap().success());
}

pub fn until(what: &str, mut good: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !good() {
        assert!(Instant::now() < end, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server whose sessions find their programs in `path`; `Err` says why there is none on this machine.
pub fn far(path: &str) -> Result<Far, String> {
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
    key(&home.path().join("hostkey"));
    key(&home.path().join("key"));
    let public = fs::read_to_string(home.path().join("hostkey.pub")).unwrap();
    let ssh = format!("exec /usr/bin/ssh -F '{}' \"$@\"", own("ssh_config"));
    program(&home.path().join("bin"), "ssh", &ssh);
    fs::write(
        home.path().join("target.yaml"),
        "storage: {type: mock}\nnodes:\n  - {name: s1, role: storage, type: ssh, host: far}\n",
    )
    .unwrap();
    fs::create_dir(home.path().join("disk")).unwrap();
    let log = home.path().join("sshd.log");
    let mut tries = 0;
    let server = loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
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
        fs::write(home.path().join("known"), format!("[127.0.0.1]:{port} {public}")).unwrap();
        let mut server = Command::new(SSHD)
            .args(["-D", "-e", "-f", &own("sshd_config")])
            .stdin(Stdio::null())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .map_err(|cause| format!("{SSHD}: {cause}"))?;
        let mut listens = false;
        until("sshd's first word", || {
            listens = fs::read_to_string(&log).unwrap_or_default().contains("listening");
            listens || server.try_wait().unwrap().is_some()
        });
        tries += 1;
        // Somebody else may have taken the port before it did.
        if listens || tries == 5 {
            break server;
        }
    };
    let far = Far { home, server };
    let reached = far.with_ssh(Command::new("ssh")).args(["-oBatchMode=yes", "far", ":"]).output().unwrap();
    if !reached.status.success() {
        let why = String::from_utf8_lossy(&reached.stderr).trim().to_owned();
        return Err(format!("nobody may log in over ssh here: {why}"));
    }
    Ok(far)
}

impl Far {
    pub fn with_ssh(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.home.path().join("bin").display()));
        command.stdin(Stdio::null());
        command
    }
}
