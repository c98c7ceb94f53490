//! Measures what a machine can do: disks by fio, the way to it by iperf3, a processor by openssl, memory by copying it. Each
//! within a time, a size and a directory that were named, and leaving nothing behind.

use std::time::{Duration, Instant};

use cosmark_metrics::{RawDisk, RawNetwork};

use super::import::{Imported, import};
use super::shell::{Shell, quoted};

/// A directory on a disk, and how much of it may be used for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskTask {
    /// Where the file is made.
    pub directory: String,
    /// Its size.
    pub bytes: u64,
    /// Of each of the four patterns.
    pub seconds: u64,
}

/// How each pattern is asked for: name, fio's word, block, requests under way.
const PATTERNS: [(&str, &str, &str, u32); 4] = [
    ("sequential_write", "write", "1M", 8),
    ("sequential_read", "read", "1M", 8),
    ("random_read", "randread", "4k", 32),
    ("random_write", "randwrite", "4k", 32),
];
/// Before the output of each; nothing that a machine prints to whoever logs in.
const MARK: &str = "=== cosmark fio: ";
/// A disk that writes less per second is given up.
const SLOWEST_BYTES_PER_S: u64 = 4 << 20;

impl DiskTask {
    fn one_limit_s(&self) -> u64 {
        self.seconds * 2 + 60 + self.bytes / SLOWEST_BYTES_PER_S
    }

    fn script(&self) -> String {
        use std::fmt::Write;
        let (directory, kib) = (quoted(&self.directory), self.bytes / 1024);
        let (limit, bytes, seconds) = (self.one_limit_s(), self.bytes, self.seconds);
        let mut text = format!(
            "command -v fio >/dev/null || {{ echo 'fio is not there: apt-get install fio' >&2; exit 90; }}\n\
             [ -d {directory} ] || {{ printf '%s is no directory\\n' {directory} >&2; exit 91; }}\n\
             cd -- {directory} || exit 91\n\
             [ -w . ] || {{ printf '%s cannot be written\\n' {directory} >&2; exit 91; }}\n\
             room=$(df -Pk . | awk 'NR == 2 {{ print $4 }}')\n\
             [ \"${{room:-0}}\" -ge {need} ] || {{ echo \"$room KiB are free there, {need} KiB are needed (twice --size)\" >&2; \
             exit 92; }}\n\
             name=.cosmark-baseline.$$.tmp\n\
             [ ! -e \"$name\" ] || {{ echo \"$name is there already: remove it\" >&2; exit 93; }}\n\
             clean() {{ rm -f \"$name\"; }}\n\
             set -C\n: > \"$name\"\nset +C\n\
             ask() {{ run timeout -k 5 {limit} fio --name=\"$1\" --filename=\"$name\" --rw=\"$2\" --bs=\"$3\" --iodepth=\"$4\" \
             --ioengine=libaio --direct=$direct --randrepeat=0 --refill_buffers=1 --fallocate=none --eta=never \
             --output-format=json \"$5\" \"$6\" \"$7\"; }}\n\
             direct=1; ask probe write 4k 1 --size=64k --loops=1 --stonewall >/dev/null 2>&1 || direct=0\n",
            need = kib * 2,
        );
        for (name, rw, block, depth) in PATTERNS {
            let _ = writeln!(
                text,
                "echo '{MARK}{name}'; ask {name} {rw} {block} {depth} --size={bytes} --runtime={seconds} --time_based=1 || exit"
            );
        }
        text
    }

    /// Measures it: sequential and random, read and written.
    ///
    /// # Errors
    /// Why it could not, in one sentence.
    pub async fn measure(&self, shell: &Shell) -> Result<Vec<RawDisk>, String> {
        let patterns = PATTERNS.len() as u64;
        let limit = Duration::from_secs(self.one_limit_s() * patterns + 60);
        let output = shell.run(&self.script(), limit).await?;
        let mut found = Vec::new();
        for part in output.split(MARK).skip(1) {
            match import(part, &self.directory)? {
                Imported::Disks(disks) => found.extend(disks),
                _ => return Err("fio printed something else than its results".to_owned()),
            }
        }
        // A disk that is also read while fio lays out its file would stand here twice.
        found.dedup_by_key(|disk| disk.pattern);
        if found.len() != PATTERNS.len() {
            return Err(format!("fio measured {} of {patterns} patterns", found.len()));
        }
        Ok(found)
    }
}

/// Bytes per second that one processor takes the SHA-256 and the MD5 of, by openssl. A machine by the rules of FIPS has
/// no MD5, and says the other.
///
/// # Errors
/// Why it cannot be asked.
pub async fn hashes(shell: &Shell) -> Result<[Result<f64, String>; 2], String> {
    let script = "command -v openssl >/dev/null || { echo 'openssl is not there: apt-get install openssl' >&2; exit 90; }\n\
                  for hash in sha256 md5; do run timeout -k 5 30 openssl speed -mr -seconds 1 -bytes 65536 -evp $hash 2>/dev/null \
                  || :; done";
    let output = shell.run(script, Duration::from_secs(90)).await?;
    let of = |name: &str| {
        let line =
            output.lines().find(|line| line.starts_with("+F:") && line.to_ascii_lowercase().contains(name));
        line.and_then(|line| line.rsplit(':').next()?.trim().parse::<f64>().ok())
            .filter(|speed| speed.is_finite() && *speed > 0.0)
            .ok_or_else(|| format!("openssl printed no speed of {name}"))
    };
    Ok(["sha256", "md5"].map(of))
}

/// Bytes that are copied at once: more than the caches of processors.
const COPIED: usize = 128 << 20;

/// Bytes per second that one processor of this machine copies in memory, the best of three. Takes 256 MiB while it runs.
#[must_use]
pub fn memory() -> f64 {
    let from = vec![0x5a_u8; COPIED];
    let mut to = vec![0_u8; COPIED];
    let mut best = 0.0_f64;
    for _ in 0..3 {
        let began = Instant::now();
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&to);
        #[expect(clippy::cast_precision_loss, reason = "a round number")]
        let speed = COPIED as f64 / began.elapsed().as_secs_f64().max(1e-9);
        best = best.max(speed);
    }
    best
}

/// Where an iperf3 server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Iperf3 {
    /// Address or name, as this machine reaches it.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Seconds for each direction.
    pub seconds: u64,
}

/// A server is waited for so often, a fifth of a second each time.
const TRIES: u32 = 50;

impl Iperf3 {
    /// With the server that is there: to it and from it.
    ///
    /// # Errors
    /// Why not.
    pub async fn measure(&self) -> Result<Vec<RawNetwork>, String> {
        Ok(vec![self.one("").await?, self.one("-R").await?])
    }

    /// Starts a server on a machine for as long as it takes.
    ///
    /// # Errors
    /// Why not.
    pub async fn measure_with(&self, server: &Shell) -> Result<Vec<RawNetwork>, String> {
        // Nobody else reaches a server that is here for a moment.
        let only = if server.is_local { "-B 127.0.0.1" } else { "" };
        let limit = self.seconds * 4 + 120;
        let script = format!(
            "command -v iperf3 >/dev/null || {{ echo 'iperf3 is not there: apt-get install iperf3' >&2; exit 90; }}\n\
             run timeout -k 5 {limit} iperf3 -s {only} -p {port} >/dev/null",
            port = self.port
        );
        tokio::select! {
            ended = server.run(&script, Duration::from_secs(limit + 10)) => {
                Err(ended.err().unwrap_or_else(|| "its server ended".to_owned()))
            }
            measured = self.measure() => measured,
        }
    }

    /// After so long a test that has not ended is stopped.
    fn limit_s(&self) -> u64 {
        self.seconds + 30
    }

    /// What came of a test. Where a firewall drops what is sent nobody refuses anything, and the test is stopped.
    fn answer(&self, output: &str) -> Result<Imported, String> {
        let silent = || {
            format!(
                "no result came from the iperf3 server at {}, port {}, in {} s: a firewall on the way may drop its packets; \
                 open that port, or name a server that can be reached by --iperf3 NODE=HOST:PORT",
                self.host,
                self.port,
                self.limit_s()
            )
        };
        if output.trim().is_empty() {
            return Err(silent());
        }
        import(output, "").map_err(|why| if why.contains("client has terminated") { silent() } else { why })
    }

    async fn one(&self, direction: &str) -> Result<RawNetwork, String> {
        let (host, port, seconds) = (quoted(&self.host), self.port, self.seconds);
        let script = format!(
            "command -v iperf3 >/dev/null || {{ echo 'iperf3 is not on this machine: apt-get install iperf3' >&2; exit 90; }}\n\
             run timeout -k 5 {} iperf3 -J -c {host} -p {port} -t {seconds} {direction} || :",
            self.limit_s()
        );
        let mut tries = 0;
        loop {
            let output = Shell::local().run(&script, Duration::from_secs(seconds + 60)).await?;
            match self.answer(&output) {
                Ok(Imported::Network(network)) => return Ok(network),
                Ok(_) => return Err("iperf3 printed something else than its results".to_owned()),
                Err(why) if tries < TRIES && may_be_soon(&why) => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Err(why) => return Err(why),
            }
        }
    }
}

/// Its server may not listen yet, or be busy with the end of the last test. Who is silent until time is up stays so.
fn may_be_soon(why: &str) -> bool {
    (why.contains("connect") && !why.contains("timed out")) || why.contains("busy")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// As on a machine whose openssl follows the rules of FIPS.
    #[tokio::test]
    async fn a_hash_that_is_not_there_takes_no_other_with_it() {
        let (data, shell) = place("fips", "exit 0");
        let programs = data.parent().unwrap().join("bin");
        let openssl = programs.join("openssl");
        let says = "#!/bin/sh\ncase $* in *sha256*) echo '+F:25:sha256:2000000000.00';; *) exit 1;; esac\n";
        std::fs::write(&openssl, says).unwrap();
        std::fs::set_permissions(&openssl, std::fs::Permissions::from_mode(0o755)).unwrap();
        let [sha256, md5] = hashes(&shell).await.unwrap();
        assert_eq!(sha256, Ok(2e9));
        assert_eq!(md5, Err("openssl printed no speed of md5".to_owned()));
        std::fs::remove_dir_all(data.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_server_behind_a_firewall_is_named_with_what_to_do_and_not_asked_again() {
        let server = Iperf3 { host: "s1".to_owned(), port: 5302, seconds: 10 };
        let stopped = r#"{"start": {"connected": []}, "intervals": [], "end": {},
            "error": "interrupt - the client has terminated"}"#;
        for output in ["", "\n", stopped] {
            let why = server.answer(output).unwrap_err();
            assert!(why.contains("s1, port 5302, in 40 s") && why.contains("--iperf3"), "{why}");
            assert!(!may_be_soon(&why), "{why}");
        }
        let failed =
            |error: &str| server.answer(&format!("{{\"start\": {{}}, \"error\": \"{error}\"}}")).unwrap_err();
        for (error, soon) in [
            ("unable to connect to server: Connection refused", true),
            ("the server is busy running a test. try again later", true),
            ("unable to connect to server: Connection timed out", false),
            ("unable to write to stream socket: Broken pipe", false),
        ] {
            assert_eq!(failed(error), format!("iperf3: {error}"));
            assert_eq!(may_be_soon(&failed(error)), soon, "{error}");
        }
    }

    /// A directory, and beside it a `fio` that does as the script says.
    fn place(name: &str, fio: &str) -> (std::path::PathBuf, Shell) {
        let path = std::env::temp_dir().join(format!("cosmark-disk-{name}-{}", std::process::id()));
        let (data, programs) = (path.join("it's data: \"x\" $(id)"), path.join("bin"));
        std::fs::create_dir_all(&data).unwrap();
        std::fs::create_dir_all(&programs).unwrap();
        let program = programs.join("fio");
        std::fs::write(&program, format!("#!/bin/sh\n{fio}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let shell = Shell::with_programs(&programs);
        (data, shell)
    }

    fn task(data: &std::path::Path) -> DiskTask {
        DiskTask { directory: data.to_str().unwrap().to_owned(), bytes: 1 << 20, seconds: 1 }
    }

    const ANSWERS: &str = r#"for word; do case $word in --rw=*) rw=${word#--rw=};; --filename=*) f=${word#--filename=};; esac; done
        case $rw in *read) side=read;; *) side=write;; esac
        [ -f "$f" ] || exit 9
        echo "{\"fio version\": \"x\", \"jobs\": [{\"jobname\": \"$rw\", \"error\": 0, \"job options\": {\"rw\": \"$rw\", \"direct\": \"1\"},
        \"$side\": {\"io_bytes\": 8192000, \"bw_bytes\": 4096000, \"iops\": 1000, \"runtime\": 2000}}]}""#;

    #[tokio::test]
    async fn four_patterns_are_measured_in_a_directory_of_any_name_and_nothing_stays() {
        // What is printed beside looks like a mark of a pattern, and like JSON.
        let (data, shell) = place("all", &format!("echo '=== {{welcome}} ==='\n{ANSWERS}"));
        let disks = task(&data).measure(&shell).await.unwrap();
        let patterns: Vec<&str> = disks.iter().map(|disk| disk.pattern.word()).collect();
        assert_eq!(patterns, ["sequential_write", "sequential_read", "random_read", "random_write"]);
        assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0);
        std::fs::remove_dir_all(data.parent().unwrap()).unwrap();
    }

    #[tokio::test]
    async fn what_fails_is_said_with_its_reason_and_nothing_stays() {
        let (data, shell) = place("cut", "echo '{\"fio version\": \"x\", \"jobs\": [{'");
        assert!(task(&data).measure(&shell).await.unwrap_err().contains("cut off"));
        assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0);
        let huge = DiskTask { bytes: 1 << 60, ..task(&data) };
        assert!(huge.measure(&shell).await.unwrap_err().contains("twice --size"));
        let nowhere = DiskTask { directory: "/nonexistent/d".into(), ..task(&data) };
        assert!(nowhere.measure(&shell).await.unwrap_err().contains("is no directory"));
        let device = DiskTask { directory: "/dev/null".into(), ..task(&data) };
        assert!(device.measure(&shell).await.unwrap_err().contains("is no directory"));
        std::fs::remove_dir_all(data.parent().unwrap()).unwrap();
    }
}
