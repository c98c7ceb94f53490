//! The whole gate (`scripts/test.sh`) in a repository whose programs, beds and cargo only say that they ran: what runs beside
//! what, what is counted, and that a gate which is ended leaves nothing behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{script, text};

const SCRIPTS: [&str; 6] =
    ["test.sh", "built.sh", "test_programs.sh", "bed_tests.sh", "repeat_failed.sh", "cargo_log.awk"];
const BEDS: [&str; 8] =
    ["swift", "keystone", "ceph", "versitygw", "nginx-dav", "apache-dav", "azurite", "fake-gcs"];

/// A line of what happened, and the number of the process that says it.
const SAY: &str = "#!/bin/sh\nsay() { echo \"$* $$\" >>\"$HERE/log\"; }\n";

/// Stands for cargo: three test programs, with a warning of clippy about them if there is a file `warning`.
const CARGO: &str = r#"
row() {
  echo '{"reason":"compiler-artifact","manifest_path":"'$HERE'/crates/cli/Cargo.toml","target":{"kind":["test"],"name":"'$1'","src_path":"'$HERE'/crates/cli/tests/'$1'.rs","test":true},"features":[],"executable":"'$HERE/$1'"}'
}
case "$*" in
  *--message-format*)
    for name in ordinary truth beds; do row $name; done
    echo '    Finished `test` profile' >&2
    [ ! -e "$HERE/warning" ] || echo 'warning: needless borrow' >&2
    say "built by ${RUSTC_WORKSPACE_WRAPPER##*/}"
    ;;
  *--no-default-features*)
    if [ -e "$HERE/lean" ]; then cat "$HERE/lean"; else echo 'test result: ok. 1 passed; 0 failed; 0 ignored'; fi
    ;;
  *"(line"*) if [ ! -e "$HERE/no-examples" ]; then echo '   Doc-tests x'; fi; echo 'test result: ok. 1 passed; 0 failed; 1 ignored' ;;
esac
"#;

/// One test of each bed, and one that says how many there are.
const BED_TESTS: &str = r#"
case "$*" in
  *--list*) for name in TESTS; do echo "${name}_works: test"; done ;;
  '') echo 'test result: ok. 0 passed; 0 failed; 8 ignored' ;;
  *)
    for name; do :; done
    say "tests of $name"
    n=0
    while [ -e "$HERE/hold" ] && [ $n -lt 6000 ]; do sleep 0.1; n=$((n + 1)); done
    case $name in
      FAILS) echo 'failures:'; echo "    $name"; echo; echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored'; exit 1 ;;
    esac
    echo 'test result: ok. 1 passed; 0 failed; 0 ignored'
    ;;
esac
"#;

struct Gate {
    directory: tempfile::TempDir,
}

impl Gate {
    /// A repository in which the test of this bed fails, and this bed does not come up.
    fn new(fails: &str, does_not_start: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        for name in ["scripts", "bin", "crates/cli/tests"] {
            fs::create_dir_all(here.join(name)).unwrap();
        }
        for name in SCRIPTS {
            fs::copy(script(name), here.join("scripts").join(name)).unwrap();
        }
        let write = |name: &str, body: &str| {
            let path = here.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("{SAY}{body}")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        for name in ["console", "python"] {
            let body = "case $1 in test | browser | live) echo 'test result: ok. 1 passed; 0 failed; 0 ignored' ;; esac\nsay \"$1\"\n";
            write(&format!("scripts/{name}.sh"), body);
        }
        write("scripts/deny.sh", "");
        fs::write(here.join("scripts/site.py"), "").unwrap();
        write("bin/cargo", CARGO);
        write("bin/clippy-driver", "");
        write("ordinary", "say ordinary\necho 'test result: ok. 5 passed; 0 failed; 0 ignored'\n");
        write("truth", "say truth\necho 'test result: ok. 2 passed; 0 failed; 0 ignored'\n");
        let names = "swift keystone ceph versitygw webdav digest azure gcs";
        write("beds", &BED_TESTS.replace("TESTS", names).replace("FAILS", fails));
        for bed in BEDS {
            let of = |name: &str| format!("testbeds/{bed}/{name}");
            write(&of("status"), "exit 3\n");
            let up = if bed == does_not_start { "exit 5\n" } else { "" };
            write(&of("up"), &format!("[ \"$1\" = --install ] || {{ say up {bed}\n{up}}}\n"));
            write(&of("down"), &format!("say down {bed}\n"));
        }
        Self { directory }
    }

    fn command(&self, mode: &str) -> Command {
        let here = self.directory.path();
        let path = format!("{}:{}", here.join("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(here.join("scripts/test.sh"));
        command.arg(mode).env("HERE", here).env("PATH", path).stdin(Stdio::null());
        command.env_remove("COSMARK_TEST_BEDS").env_remove("COSMARK_TEST_SECONDS");
        command
    }

    /// What happened, each with the number of its process.
    fn log(&self) -> Vec<(String, u32)> {
        let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let split = |line: &str| {
            let (what, pid) = line.rsplit_once(' ').unwrap();
            (what.to_owned(), pid.parse().unwrap())
        };
        log.lines().map(split).collect()
    }

    fn place(&self, what: &str) -> usize {
        let log = self.log();
        log.iter().position(|(said, _)| said == what).unwrap_or_else(|| panic!("no {what}: {log:?}"))
    }
}

/// Whether a process of the repository `here` is there still: not one that was given its number afterwards, nor one that is only
/// not waited for.
pub fn is_alive(here: &Path, pid: u32) -> bool {
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let here = format!("HERE={}", here.display());
    let (stat, environment) = (read("stat"), read("environ"));
    let stat = String::from_utf8_lossy(&stat);
    environment.split(|byte| *byte == 0).any(|entry| entry == here.as_bytes())
        && stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn last_line(printed: &str) -> &str {
    printed.trim_end().lines().last().unwrap()
}

#[test]
fn lanes_run_side_by_side_and_all_is_over_before_what_measures_begins() {
    let gate = Gate::new("nothing", "nothing");
    let output = gate.command("all").output().unwrap();
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    // Programs 5 + 2, documentation 1, the binary of the demo 1, console 1, Python 1, reports 1, console in a
    // browser 1, a test of each bed.
    assert_eq!(last_line(&printed), "21 passed, 0 failed, 1 skipped, 0 flaky", "{printed}");
    let log = gate.log();
    let truth = gate.place("truth");
    assert_eq!(truth, log.len() - 1, "it measures when all else is over: {log:?}");
    for bed in BEDS {
        assert!(gate.place(&format!("up {bed}")) < gate.place(&format!("down {bed}")), "{log:?}");
    }
    // One may stand on the processes of another.
    assert!(gate.place("tests of keystone_works") < gate.place("down swift"), "{log:?}");
    assert!(gate.place("down keystone") < gate.place("down swift"), "{log:?}");
    gate.place("built by linted.sh");
    for phase in ["lints", "bed ceph: tests", "console in a browser, beside others", "tests that measure"] {
        assert!(printed.contains(&format!(" s  {phase}")), "{phase}: {printed}");
    }
}

#[test]
fn a_warning_of_clippy_is_one_failure_and_all_else_runs() {
    let gate = Gate::new("nothing", "nothing");
    fs::write(gate.directory.path().join("warning"), "").unwrap();
    let output = gate.command("all").output().unwrap();
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert_eq!(last_line(&printed), "21 passed, 1 failed, 1 skipped, 0 flaky", "{printed}");
    // What a lane says at once may stand between the two.
    let line = |start: &str| printed.lines().position(|line| line.starts_with(start));
    let (said, ended) = (line("warning: needless borrow"), line("== lints: exit code 1"));
    assert!(said.is_some() && said < ended && ended < line("== phases"), "{printed}");
}

#[test]
fn a_warning_about_the_binary_of_the_demo_is_a_failure_and_so_is_no_test_of_it() {
    let result = |passed: u32| format!("test result: ok. {passed} passed; 0 failed; 0 ignored\n");
    for (said, counts) in [
        (format!("warning: unused import\n{}", result(1)), "21 passed, 1 failed"),
        (result(0), "20 passed, 1 failed"),
        (format!("{}{}", result(0), result(1)), "21 passed, 0 failed"),
    ] {
        let gate = Gate::new("nothing", "nothing");
        fs::write(gate.directory.path().join("lean"), &said).unwrap();
        let output = gate.command("all").output().unwrap();
        let printed = text(&output.stdout);
        let is_failed = !counts.ends_with(" 0 failed");
        assert_eq!(output.status.code(), Some(i32::from(is_failed)), "{said}: {printed}");
        assert_eq!(last_line(&printed), format!("{counts}, 1 skipped, 0 flaky"), "{said}: {printed}");
    }
}

#[test]
fn a_gate_that_finds_no_examples_in_the_documentation_fails() {
    let gate = Gate::new("nothing", "nothing");
    fs::write(gate.directory.path().join("no-examples"), "").unwrap();
    let output = gate.command("all").output().unwrap();
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert_eq!(last_line(&printed), "21 passed, 1 failed, 1 skipped, 0 flaky", "{printed}");
}

#[test]
fn a_bed_test_that_fails_and_a_bed_that_does_not_start_are_a_failure_each() {
    let gate = Gate::new("ceph_works", "azurite");
    let output = gate.command("beds").output().unwrap();
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert_eq!(last_line(&printed), "6 passed, 2 failed, 1 skipped, 0 flaky", "{printed}");
    for line in [
        "FAILED ceph_works: failed twice",
        "FAILED bed azurite: up ended with exit code 5; its 1 tests did not run",
    ] {
        assert!(printed.lines().any(|one| one == line), "{line}: {printed}");
    }
    let output = gate.command("beds").env("COSMARK_TEST_BEDS", "swift nobody").output().unwrap();
    let printed = text(&output.stdout);
    assert!(printed.contains("FAILED bed nobody: there is no such bed"), "{printed}");
    assert_eq!(last_line(&printed), "1 passed, 1 failed, 7 skipped, 0 flaky", "{printed}");
}

#[test]
fn a_bed_that_lost_a_part_or_serves_no_more_is_made_anew_before_what_failed_on_it_runs_again() {
    let anew = ["down ceph --wipe", "up ceph", "tests of ceph_works", "down ceph"];
    for (status, up, looks) in [
        // It is down, comes up, and loses a daemon that comes back with another cluster only.
        ("[ ! -e \"$HERE/torn\" ] || exit 1\nexit 3\n", "", &[][..]),
        // All its daemons are alive, and its data become whole no more.
        (
            "[ ! -e \"$HERE/torn\" ] || exit 0\nexit 3\n",
            "[ ! -e \"$HERE/torn\" ] || exit 1\n",
            &["up ceph"][..],
        ),
    ] {
        let gate = Gate::new("nothing", "nothing");
        let here = gate.directory.path();
        let write = |name: &str, body: &str| fs::write(here.join(name), format!("{SAY}{body}")).unwrap();
        write("testbeds/ceph/status", status);
        write("testbeds/ceph/up", &format!("[ \"$1\" = --install ] || {{ say up ceph\n{up}}}\n"));
        write(
            "testbeds/ceph/down",
            "say down ceph $1\n[ \"$1\" != --wipe ] || { rm -f \"$HERE/torn\"; touch \"$HERE/anew\"; }\n",
        );
        let fails = "ceph_works) [ -e \"$HERE/anew\" ] || { touch \"$HERE/torn\"; echo 'failures:'; echo \"    $name\"; echo; \
                     echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored'; exit 1; } ;;\n      FAILS)";
        let names = "swift keystone ceph versitygw webdav digest azure gcs";
        write(
            "beds",
            &BED_TESTS.replace("TESTS", names).replace("FAILS)", fails).replace("FAILS)", "nothing)"),
        );
        let output = gate.command("beds").output().unwrap();
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{printed}");
        for line in [
            "FLAKY ceph_works: failed beside others, passed alone",
            "FLAKY bed ceph: it did not run or serve",
        ] {
            assert!(printed.contains(line), "{line}: {printed}");
        }
        let log: Vec<String> = gate.log().into_iter().map(|(said, _)| said).collect();
        let of_ceph: Vec<&str> =
            log.iter().map(String::as_str).filter(|said| said.contains("ceph")).collect();
        let wanted = [&["up ceph", "tests of ceph_works"][..], looks, &anew[..]].concat();
        assert_eq!(of_ceph, wanted, "{log:?}");
    }
}

/// Waits, within a bound.
pub fn eventually(what: &str, done: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(180);
    while !done() {
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn signal(child: &Child, number: libc::c_int) {
    // SAFETY: a plain system call on a process that this test started and has not waited for.
    unsafe { libc::kill(libc::pid_t::try_from(child.id()).unwrap(), number) };
}

#[test]
fn a_gate_that_is_ended_or_killed_stops_its_beds_and_leaves_no_process() {
    for number in [libc::SIGTERM, libc::SIGKILL] {
        let gate = Gate::new("nothing", "nothing");
        fs::write(gate.directory.path().join("hold"), "").unwrap();
        let mut child = gate.command("all").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let began = |what: &str| gate.log().iter().any(|(said, _)| said == what);
        let all =
            |what: &str| ["swift", "ceph", "versitygw"].iter().all(|bed| began(&what.replace("BED", bed)));
        eventually("the tests of a bed of each lane", || all("tests of BED_works"));
        signal(&child, number);
        drop(child.wait());
        eventually("the end of these beds", || all("down BED"));
        let alive = || {
            gate.log()
                .into_iter()
                .filter(|(_, pid)| is_alive(gate.directory.path(), *pid))
                .collect::<Vec<_>>()
        };
        eventually(&format!("the end of all that it began, such as {:?},", alive()), || alive().is_empty());
        assert!(!began("tests of keystone_works") && !began("truth"), "{:?}", gate.log());
    }
}
