//! Faults by the `faults` script of a test bed: what it makes fail, how it proves that, and the verb that heals it.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cosmark_archive::{Heal, check_strict_modes, open_file};

use super::command::{run_wanted, run_watched};
use super::process::Process;
use super::{Hand, here, text_of};

/// A verb and the one that heals it.
const HEALED_BY: &[(&str, &str)] = &[
    ("kill", "restart"),
    ("pause", "resume"),
    ("devfail", "devheal"),
    ("lose", "replace"),
    ("partition", "heal"),
    ("delay", "heal"),
    ("fill", "heal"),
    ("out", "in"),
];

/// The script of a bed, by its whole path.
///
/// # Errors
/// When there is none.
pub fn script(bed: &str) -> Result<String, String> {
    let path = Path::new(bed).join("faults");
    let whole = path.canonicalize().map_err(|cause| {
        format!(
            "{}: {cause}; bed: is the directory of a test bed, seen from where cosmark runs",
            path.display()
        )
    })?;
    Ok(text_of(&whole))
}

/// What a bed has among its data, with the directory of the scripts by which it was started.
const SIGN: &str = ".cosmark-testbed";
/// A longer one was written by no bed: no path is longer. Source: limits.h, PATH_MAX.
const LONGEST_SIGN: u64 = 4096;
/// Where beds whose server runs as another user have their data where root starts them.
const DATA_OF_ROOT: &str = "/var/lib/cosmark-testbeds";

/// Whether the script may be run: without the user's word only where nobody but the user and the administrator can have
/// written it, and one of them has started its bed. What came with a workload was read by nobody.
///
/// # Errors
/// When there is none, it belongs to somebody else, or its bed was not started.
pub fn check(bed: &str, allowed: bool, data: Option<&Path>) -> Result<(), String> {
    let path = script(bed)?;
    if allowed {
        return Ok(());
    }
    check_strict_modes(Path::new(&path)).map_err(|why| format!("{why}, or allow it by --allow-faults"))?;
    let scripts = Path::new(&path).parent().unwrap_or(Path::new("/"));
    let mut places = data.into_iter().chain([Path::new(DATA_OF_ROOT)]);
    if places.any(|data| was_started(data, scripts)) {
        return Ok(());
    }
    Err(format!(
        "{path} is run for it, and no test bed was started by {up}: run that, or read what they do, and allow it by \
         --allow-faults",
        up = scripts.join("up").display()
    ))
}

/// Whether a bed that has its data there was started by the scripts of a directory, and nobody else can have said so.
fn was_started(data: &Path, scripts: &Path) -> bool {
    let Ok(beds) = std::fs::read_dir(data) else { return false };
    let mut signs = beds.flatten().map(|bed| bed.path().join(SIGN));
    signs.any(|sign| {
        check_strict_modes(&sign).is_ok() && directory_of(&sign).is_some_and(|said| said == scripts)
    })
}

/// The directory that a sign names, byte for byte; `None` for what is none.
fn directory_of(sign: &Path) -> Option<PathBuf> {
    // In place of a file a pipe would be waited for without end.
    let mut said = Vec::new();
    open_file(sign).ok()?.take(LONGEST_SIGN).read_to_end(&mut said).ok()?;
    said.strip_suffix(b"\n").map(|path| PathBuf::from(OsStr::from_bytes(path)))
}

pub struct Bed {
    script: String,
    verb: String,
    target: String,
    argument: Option<String>,
    healing: &'static str,
    directory: PathBuf,
    within: Duration,
}

impl Bed {
    pub fn of(
        bed: &str,
        verb: &str,
        target: &str,
        argument: Option<&str>,
        within: Duration,
    ) -> Result<Self, String> {
        let known = || HEALED_BY.iter().map(|row| row.0).collect::<Vec<_>>().join(", ");
        let healing = HEALED_BY.iter().find(|row| row.0 == verb).map(|row| row.1);
        Ok(Self {
            script: script(bed)?,
            verb: verb.to_owned(),
            target: target.to_owned(),
            argument: argument.map(str::to_owned),
            healing: healing
                .ok_or_else(|| format!("verb {verb} is not known to be healed; known: {}", known()))?,
            directory: here()?,
            within,
        })
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        std::iter::once(self.script.as_str()).chain(words.iter().copied()).map(str::to_owned).collect()
    }

    fn call(&self, words: &[&str], begun: &mut dyn FnMut(Process)) -> Result<String, String> {
        let words = self.words(words);
        let output = run_watched(&words, &self.directory, self.within, begun)?;
        if output.code == Some(0) { Ok(output.text) } else { Err(output.failure(&words)) }
    }

    /// The bed's own list does not have it. Each verb writes it there before it acts or when it has acted, and takes it out when
    /// it is healed; what cannot be asked is taken to be in force.
    fn is_over(&self) -> bool {
        let note = format!("{}.{}", self.target, self.verb);
        self.call(&["list"], &mut |_| {}).is_ok_and(|list| list.lines().all(|line| line.trim() != note))
    }
}

impl Hand for Bed {
    fn plan(&self) -> Heal {
        let words = self.words(&[self.healing, &self.target]);
        let proof = Some(self.words(&["proof", &self.verb, &self.target]));
        Heal::Command { words, directory: self.directory.clone(), within: self.within, proof }
    }

    fn acts_on(&self) -> Vec<String> {
        vec![format!("{} {}", self.script, self.target)]
    }

    fn lasts(&self) -> bool {
        true
    }

    fn inject(&mut self, begun: &mut dyn FnMut(Process)) -> Result<String, String> {
        let mut words = vec![self.verb.as_str(), self.target.as_str()];
        words.extend(self.argument.as_deref());
        self.call(&words, begun)
    }

    fn landed(&mut self) -> Result<Option<String>, String> {
        self.landed_while(&|| true)
    }

    fn landed_while(&mut self, wanted: &dyn Fn() -> bool) -> Result<Option<String>, String> {
        let words = self.words(&["proof", &self.verb, &self.target]);
        let output = run_wanted(&words, &self.directory, self.within, wanted)?;
        Ok(output.filter(|output| output.code == Some(0)).map(|output| output.text))
    }

    fn heal(&mut self) -> Result<String, String> {
        let said = self.call(&[self.healing, &self.target], &mut |_| {});
        match self.landed() {
            // Healing twice is an error to some verbs; what counts is that nothing is broken. A proof alone does not say
            // that: of what was killed it is gone as soon as one process runs again.
            Ok(None) => said.or_else(|why| if self.is_over() { Ok(why) } else { Err(why) }),
            Ok(Some(proof)) => Err(said.err().unwrap_or_else(|| format!("it is still there: {proof}"))),
            Err(why) => said.and(Err(why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A bed whose target is killed and restarted; how each verb ends is in files.
    const SCRIPT: &str = r#"#!/bin/sh
cd "${0%/*}"
case $1 in
  kill) : >x.kill ;;
  restart) test -e starts || { echo it does not stay; exit 1; }; rm -f x.kill ;;
  proof) test -e x.kill && test ! -e half && echo none runs ;;
  list) test ! -e down && for note in *.kill; do test -e $note && echo $note; done; test ! -e down ;;
esac
"#;

    #[test]
    fn what_is_in_the_beds_own_list_is_not_healed_although_its_proof_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("faults"), SCRIPT).unwrap();
        std::fs::set_permissions(at("faults"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut bed =
            Bed::of(&text_of(directory.path()), "kill", "x", None, Duration::from_secs(60)).unwrap();
        bed.inject(&mut |_| {}).unwrap();
        assert_eq!(bed.landed().unwrap().as_deref(), Some("none runs"));
        assert!(bed.heal().unwrap_err().contains("it does not stay"));
        // One of its processes runs again, and the others do not.
        std::fs::write(at("half"), "").unwrap();
        assert_eq!(bed.landed(), Ok(None));
        let why = bed.heal().unwrap_err();
        assert!(why.contains("it does not stay"), "{why}");
        // Another fault of the bed does not matter, and a list that cannot be had says nothing.
        std::fs::rename(at("x.kill"), at("y.kill")).unwrap();
        assert!(bed.heal().unwrap().contains("it does not stay"), "healed before");
        std::fs::write(at("down"), "").unwrap();
        assert!(bed.heal().is_err());
        std::fs::write(at("starts"), "").unwrap();
        assert_eq!(bed.heal(), Ok(String::new()));
    }

    /// A bed of one target, in which each signal to a process of it ends the script that sends it.
    const INTERRUPTED: &str = r#"set -euo pipefail
. "$1/../../testbeds/lib.sh"
bed_init tiny
bed_target() { echo x; }
bed_targets() { echo x; }
process_names() { echo x; }
process_members() { echo 1; }
process_is_alive() { [[ -e $TESTBED_DIR/alive ]]; }
process_signal() { builtin kill -KILL $$; }
bed_faults "$2" x
"#;

    /// A bed of which nothing but its beginning is left.
    const STARTED: &str = r#"set -euo pipefail
. "$1/../../testbeds/lib.sh"
bed_init tiny
bed_prepare() { exit 0; }
memory_prepare() { :; }
up_failed() { :; }
bed_up
"#;

    #[test]
    fn the_script_of_a_bed_that_the_user_has_started_is_run_and_another_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        let (data, started, packed) = (place.join("data"), place.join("a b"), place.join("packed"));
        let mode = |at: &Path, mode| {
            std::fs::set_permissions(at, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for scripts in [&started, &packed] {
            std::fs::create_dir(scripts).unwrap();
            mode(scripts, 0o755);
            std::fs::write(scripts.join("faults"), "").unwrap();
            mode(&scripts.join("faults"), 0o644);
        }
        assert!(!was_started(&data, &started), "nothing was started");
        let mut command = std::process::Command::new("bash");
        command.args(["-c", STARTED, &text_of(&started.join("up")), env!("CARGO_MANIFEST_DIR")]);
        let output = command.env("COSMARK_TESTBED_DIR", &data).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(was_started(&data, &started) && !was_started(&data, &packed));
        let said = check(&text_of(&packed), false, Some(&data)).unwrap_err();
        assert!(said.contains("packed/up") && said.contains("--allow-faults"), "{said}");
        assert_eq!(check(&text_of(&packed), true, None), Ok(()));
        assert_eq!(check(&text_of(&started), false, Some(&data)), Ok(()));
        // Where others may write they may say it, too.
        let sign = data.join("tiny").join(SIGN);
        mode(&sign, 0o666);
        assert!(!was_started(&data, &started));
        // A pipe in its place is waited for by nobody.
        std::fs::remove_file(&sign).unwrap();
        assert!(
            std::process::Command::new("mkfifo").args(["-m", "644"]).arg(&sign).status().unwrap().success()
        );
        assert!(!was_started(&data, &started));
    }

    #[test]
    fn beds_of_root_have_their_data_where_their_script_puts_them() {
        let script = include_str!("../../../../testbeds/apache-dav/bed.sh");
        assert!(script.contains(&format!("bed_init apache-dav {DATA_OF_ROOT}\n")));
    }

    #[test]
    fn the_beds_write_down_what_they_kill_or_halt_before_they_do_and_nothing_that_they_refuse() {
        use std::os::unix::process::ExitStatusExt;

        for verb in ["kill", "pause"] {
            let directory = tempfile::tempdir().unwrap();
            let at = |name: &str| directory.path().join(name);
            std::fs::create_dir(at("tiny")).unwrap();
            std::fs::write(at("tiny/.cosmark-testbed"), "").unwrap();
            let faults = || {
                let mut command = std::process::Command::new("bash");
                command.args(["-c", INTERRUPTED, "faults", env!("CARGO_MANIFEST_DIR"), verb]);
                let output = command.env("COSMARK_TESTBED_DIR", directory.path()).output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let noted = std::fs::read_dir(at("tiny/faults")).unwrap().flatten();
                let noted: Vec<_> =
                    noted.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
                (output.status.signal(), noted, said)
            };
            let (signal, noted, said) = faults();
            assert_eq!((signal, noted.len()), (None, 0), "{verb}: {said}");
            assert!(said.contains("x is not running"), "{verb}: {said}");
            std::fs::write(at("alive"), "").unwrap();
            let (signal, noted, said) = faults();
            assert_eq!((signal, noted), (Some(libc::SIGKILL), vec![format!("x.{verb}")]), "{said}");
        }
    }

    #[test]
    fn a_swift_has_noticed_what_its_proxy_has_logged_since_the_fault_was_asked_for() {
        use std::io::Write;

        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("swift/log")).unwrap();
        std::fs::write(directory.path().join("swift/.cosmark-testbed"), "").unwrap();
        let path = directory.path().join("swift/log/proxy.log");
        let log = |node: u8, what: &str| {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
            writeln!(file, "proxy-server: {what} 127.0.0.1{node}:23{node}10/d{node} (txn: tx1)").unwrap();
        };
        let faults = |verb: &str, target: &str| {
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testbeds/swift/faults");
            let mut command = std::process::Command::new(script);
            command.args([verb, target]).env_remove("SWIFT_BED");
            command.env("COSMARK_TESTBED_DIR", directory.path()).output().unwrap()
        };
        let noticed = |target: &str| {
            let output = faults("noticed", target);
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        log(2, "ERROR with Object server");
        assert_eq!(noticed("node.2").0, Some(1), "it was never made to fail");
        // Nothing of this bed runs; that it was asked for is noted all the same.
        assert!(!faults("kill", "node.2").status.success());
        log(3, "ERROR with Object server");
        assert_eq!(noticed("node.2").0, Some(1), "what was before, and of another node");
        log(2, "Node will be error limited for 60.00s:");
        let (code, said) = noticed("node.2");
        assert!(code == Some(0) && said.contains("error limited for 60.00s: 127.0.0.12:23210"), "{said}");
        assert_eq!(noticed("proxy").0, Some(77), "nobody can say");
    }
}
