//! A `nats-server` of our own, for those who have none: on this machine only, with a login for controllers and one for drivers,
//! its data in the state directory. Source: the NATS server's configuration (docs.nats.io, "Configuring NATS Server").

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::nats::connect::NatsOptions;
use crate::nats::error::BusError;
use crate::nats::owner::make_private;
use crate::nats::private_file::{io, write_private};
use crate::nats::roles::{Role, authorization, login, quoted, seed_file};

/// On the path, and where Debian puts it, which is not on everybody's path.
const PROGRAMS: [&str; 4] =
    ["nats-server", "/usr/sbin/nats-server", "/usr/local/bin/nats-server", "/usr/local/sbin/nats-server"];
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// How the local server is to be.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where its configuration, logins and data are; made if it is not there (0700).
    pub directory: PathBuf,
    /// Address to listen at.
    pub listen: IpAddr,
    /// Port; `None` = the one that it had last time, or any free one.
    pub port: Option<u16>,
    /// Do not end it with this process.
    pub leave_running: bool,
    /// Bytes that JetStream may use on disk.
    pub most_bytes: u64,
}

impl ServerOptions {
    /// On the loopback, ended with this process.
    #[must_use]
    pub fn in_directory(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: None,
            leave_running: false,
            most_bytes: 8 << 30,
        }
    }
}

/// A local server that runs.
#[derive(Debug)]
pub struct LocalServer {
    /// Ours; `None` when it was found running.
    child: Option<Child>,
    pid: u32,
    port: u16,
    options: ServerOptions,
}

impl LocalServer {
    /// Starts it, or finds the one that an earlier process left in the same directory.
    ///
    /// # Errors
    /// One sentence: the program is missing, the directory cannot be written, it did not come up.
    pub fn start(options: ServerOptions) -> Result<Self, BusError> {
        let directory = &options.directory;
        make_private(&directory.join("jetstream")).map_err(io("directory of the local NATS", directory))?;
        login(directory, &Role::Controller)?;
        login(directory, &Role::Driver(None))?;
        if let Some((pid, port)) = running(directory) {
            return Ok(Self { child: None, pid, port, options });
        }
        let remembered = read_number(&directory.join("port")).and_then(|port| u16::try_from(port).ok());
        let candidates = [options.port, remembered.filter(|_| options.port.is_none()), free_port(&options)];
        let mut last = BusError::Server("no port is free for a local nats-server".to_owned());
        for port in candidates.into_iter().flatten() {
            match start_at(&options, port) {
                Ok(child) => {
                    let pid = child.id();
                    return Ok(Self { child: Some(child), pid, port, options });
                }
                Err(error) => last = error,
            }
            if options.port.is_some() {
                break;
            }
        }
        Err(last)
    }

    /// How a controller connects to it.
    #[must_use]
    pub fn nats_options(&self) -> NatsOptions {
        let host = match self.options.listen {
            address if address.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            address => address,
        };
        let host = if host.is_ipv6() { format!("[{host}]") } else { host.to_string() };
        NatsOptions {
            url: format!("nats://{host}:{}", self.port),
            nkey_file: Some(seed_file(&self.options.directory, &Role::Controller)),
            ..NatsOptions::default()
        }
    }

    /// The file with the login of drivers.
    #[must_use]
    pub fn driver_login(&self) -> PathBuf {
        seed_file(&self.options.directory, &Role::Driver(None))
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts it again, where it was, if it has ended; true when it had.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn mend(&mut self) -> Result<bool, BusError> {
        if !self.is_over() {
            return Ok(false);
        }
        let child = start_at(&self.options, self.port)?;
        self.pid = child.id();
        self.child = Some(child);
        Ok(true)
    }

    fn is_over(&mut self) -> bool {
        match &mut self.child {
            Some(child) => !matches!(child.try_wait(), Ok(None)),
            None => running(&self.options.directory).is_none(),
        }
    }

    /// Its process, if it still runs.
    fn living(&mut self) -> Option<u32> {
        match &mut self.child {
            Some(child) => matches!(child.try_wait(), Ok(None)).then_some(self.pid),
            None => running(&self.options.directory).map(|(pid, _)| pid).filter(|pid| *pid == self.pid),
        }
    }

    /// True when an earlier process had started it.
    #[must_use]
    pub fn was_found(&self) -> bool {
        self.child.is_none()
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        if self.options.leave_running {
            return;
        }
        // Who has the number of one that has ended is a stranger.
        let Some(pid) = self.living().and_then(|pid| libc::pid_t::try_from(pid).ok()) else { return };
        // SAFETY: a plain system call; the process is the server that we started and have not waited for, or the one that runs with
        // this directory's configuration.
        unsafe { libc::kill(pid, libc::SIGTERM) };
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until {
            if self.is_over() {
                break;
            }
            std::thread::sleep(POLL);
        }
        drop(std::fs::remove_file(self.options.directory.join("pid")));
    }
}

const MISSING: &str = "there is no nats-server on this machine: install it (Debian, Ubuntu: `apt-get install \
                       nats-server`), or give the address of yours with --nats URL";

/// Starts the program, wherever it is.
fn spawn(config: &Path) -> Result<Child, BusError> {
    for program in PROGRAMS {
        let spawned = Command::new(program)
            .arg("-c")
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for us; the server goes when we are done.
            .process_group(0)
            .spawn();
        match spawned {
            Ok(child) => return Ok(child),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {}
            Err(cause) => return Err(io("program", Path::new(program))(cause)),
        }
    }
    Err(BusError::Server(MISSING.to_owned()))
}

fn free_port(options: &ServerOptions) -> Option<u16> {
    let listener = TcpListener::bind((options.listen, 0)).ok()?;
    listener.local_addr().ok().map(|address| address.port())
}

fn read_number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Process and port of the server that runs with this directory's configuration.
fn running(directory: &Path) -> Option<(u32, u16)> {
    let pid = u32::try_from(read_number(&directory.join("pid"))?).ok()?;
    let port = u16::try_from(read_number(&directory.join("port"))?).ok()?;
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let config = directory.join("nats.conf");
    let runs_here = command
        .split(|byte| *byte == 0)
        .any(|argument| argument == std::os::unix::ffi::OsStrExt::as_bytes(config.as_os_str()));
    runs_here.then_some((pid, port))
}

fn start_at(options: &ServerOptions, port: u16) -> Result<Child, BusError> {
    let directory = &options.directory;
    let host =
        if options.listen.is_ipv6() { format!("[{}]", options.listen) } else { options.listen.to_string() };
    let roles = [Role::Controller, Role::Driver(None)];
    let users = roles.map(|role| login(directory, &role).map(|key| (role, key)));
    let users = users.into_iter().collect::<Result<Vec<_>, _>>()?;
    let config = format!(
        "# Written by Cosmark at each start.\nlisten: \"{host}:{port}\"\nmax_payload: 8MB\n\
         jetstream {{ store_dir: {}, max_file_store: {}, max_memory_store: 268435456 }}\nlog_file: {}\n\
         pid_file: {}\nlogfile_size_limit: 16MB\n{}",
        quoted(&directory.join("jetstream")),
        options.most_bytes,
        quoted(&directory.join("nats.log")),
        quoted(&directory.join("pid")),
        authorization(&users),
    );
    let path = directory.join("nats.conf");
    write_private(&path, &config)?;
    write_private(&directory.join("port"), &port.to_string())?;
    let mut child = spawn(&path)?;
    let until = Instant::now() + PATIENCE;
    loop {
        if std::net::TcpStream::connect((options.listen_or_loopback(), port)).is_ok() {
            return Ok(child);
        }
        let ended = child.try_wait().ok().flatten();
        if ended.is_some() || Instant::now() > until {
            drop(child.kill());
            drop(child.wait());
            let log = std::fs::read_to_string(directory.join("nats.log")).unwrap_or_default();
            let last = log.lines().rev().find(|line| line.contains("[FTL]") || line.contains("[ERR]"));
            let why = last.map_or_else(|| "it says nothing".to_owned(), str::to_owned);
            return Err(BusError::Server(format!(
                "the local nats-server did not start: {why}; see {}",
                directory.join("nats.log").display()
            )));
        }
        std::thread::sleep(POLL);
    }
}

impl ServerOptions {
    fn listen_or_loopback(&self) -> IpAddr {
        if self.listen.is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { self.listen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nats::{Bus, Limits};

    #[tokio::test]
    async fn a_local_server_wants_a_login_and_is_found_again_when_its_process_was_left() {
        let directory = tempfile::tempdir().unwrap();
        let options =
            |leave_running| ServerOptions { leave_running, ..ServerOptions::in_directory(directory.path()) };
        let first = LocalServer::start(options(true)).unwrap();
        let (pid, port) = (first.pid(), first.port());
        let bus = Bus::connect(&first.nats_options(), "test", Limits::default()).await.unwrap();
        assert!(bus.is_connected() && bus.last_sequence().await.unwrap() == 0);
        let stranger = NatsOptions { nkey_file: None, ..first.nats_options() };
        let refused = Bus::connect(&stranger, "test", Limits::default()).await.unwrap_err().to_string();
        assert!(refused.contains("refuses us") && refused.contains("--nats-nkey-file"), "{refused}");
        for file in ["nats.conf", "controller.nk", "driver.nk"] {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(directory.path().join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
        drop(first);
        let second = LocalServer::start(options(false)).unwrap();
        assert!(second.was_found() && (second.pid(), second.port()) == (pid, port));
        drop(second);
        assert_eq!(running(directory.path()), None, "it is ended with its last user");
        // The streams are made once and stay.
        let third = LocalServer::start(options(false)).unwrap();
        assert_eq!(third.port(), port, "drivers find it where it was");
        let bus = Bus::connect(&third.nats_options(), "test", Limits::default()).await.unwrap();
        assert_eq!(bus.last_sequence().await.unwrap(), 0);
    }

    #[test]
    fn who_got_the_number_of_a_server_that_has_ended_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
        let (pid, port) = (stranger.id(), 1);
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        std::fs::write(directory.path().join("pid"), pid.to_string()).unwrap();
        std::fs::write(directory.path().join("port"), port.to_string()).unwrap();
        for child in [None, Some(ended)] {
            let options = ServerOptions::in_directory(directory.path());
            drop(LocalServer { child, pid, port, options });
            std::thread::sleep(Duration::from_millis(100));
            assert!(stranger.try_wait().unwrap().is_none(), "a stranger was ended");
        }
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[tokio::test]
    async fn a_server_that_was_started_without_jetstream_is_told_so() {
        let directory = tempfile::tempdir().unwrap();
        let options = ServerOptions::in_directory(directory.path());
        let port = free_port(&options).unwrap();
        let config = directory.path().join("nats.conf");
        std::fs::write(&config, format!("listen: \"127.0.0.1:{port}\"\n")).unwrap();
        let mut server = spawn(&config).unwrap();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(server.try_wait().unwrap().is_none(), "it has ended");
            std::thread::sleep(POLL);
        }
        let options = NatsOptions { url: format!("nats://127.0.0.1:{port}"), ..NatsOptions::default() };
        let text = Bus::connect(&options, "test", Limits::default()).await.unwrap_err().to_string();
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(text.contains("JetStream is not enabled there") && text.contains("jetstream {}"), "{text}");
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_one_sentence() {
        let options = NatsOptions { url: "nats://127.0.0.1:1".into(), ..NatsOptions::default() };
        let text = Bus::connect(&options, "test", Limits::default()).await.unwrap_err().to_string();
        assert!(text.contains("cannot be reached") && text.contains("nats-server -js"), "{text}");
    }
}
