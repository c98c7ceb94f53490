//! The gate itself (`scripts/`): what it counts in a log of `cargo test`, and which failed tests it runs once more.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "gate/ceph.rs"]
mod ceph;
#[path = "gate/console.rs"]
mod console;
#[path = "gate/filestore.rs"]
mod filestore;
#[path = "gate/lanes.rs"]
mod lanes;
#[path = "gate/limits.rs"]
mod limits;
#[path = "gate/memory.rs"]
mod memory;
#[path = "gate/packages.rs"]
mod packages;
mod support;
#[path = "gate/wipe.rs"]
mod wipe;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Two programs with a failed test each, whose own output looks like a list of failures; one program of ignored tests; one
/// that crashed; documentation.
const LOG: &str = "\
   Compiling x v0.1.0
     Running unittests src/lib.rs (target/debug/deps/x-0123456789abcdef)

running 4 tests
test a::passes ... ok
test a::is_unlucky ... FAILED
SKIPPED test c::needs_root: only root can do this
test c::needs_root ... ok
test b::waits ... ignored

failures:

---- a::is_unlucky stdout ----
failures:
    not::a::test
the text above was printed by the test

failures:
    a::is_unlucky

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

     Running tests/all/main.rs (target/debug/deps/all-0123456789abcdef)

failures:

failures:
    always_fails

test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

     Running unittests src/main.rs (target/debug/deps/x-1123456789abcdef)
test result: ok. 0 passed; 0 failed; 7 ignored; 0 measured; 0 filtered out; finished in 0.01s
   Doc-tests x

failures:
    src/lib.rs - (line 3)

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
";

const CRASHED: &str =
    "     Running tests/crash.rs (target/debug/deps/crash-0123456789abcdef)\n\nrunning 1 test\n";

/// Stands for `cargo test`: passes the unlucky test and no other, and writes down how it was called.
const CARGO: &str = "#!/bin/sh\n\
    echo \"$@\" >>\"$CALLS\"\n\
    case \"$*\" in *is_unlucky) passed=1 ;; *is_gone) passed=0 ;; *) passed=0 failed=1 ;; esac\n\
    echo \"test result: x. $passed passed; ${failed:-0} failed; 0 ignored\"\n\
    exit ${failed:-0}\n";

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn read_log(log: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    fs::write(&path, log).unwrap();
    let output = Command::new("awk").arg("-f").arg(script("cargo_log.awk")).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| line.replace('\t', "|")).collect()
}

/// What `repeat_failed.sh` makes of a log, and the calls of cargo that it made.
fn repeat(log: &str) -> (Output, Vec<String>) {
    repeat_with(&[], log)
}

fn repeat_with(options: &[&str], log: &str) -> (Output, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let [log_path, cargo, calls] = ["log", "cargo", "calls"].map(|name| directory.path().join(name));
    fs::write(&log_path, log).unwrap();
    fs::write(&cargo, CARGO).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(script("repeat_failed.sh"))
        .arg(&log_path)
        .args(options)
        .arg(&cargo)
        .args(["test", "--workspace"])
        .env("CALLS", &calls)
        .output()
        .unwrap();
    let calls = fs::read_to_string(&calls).unwrap_or_default();
    (output, calls.lines().map(str::to_owned).collect())
}

fn failed_list(names: &[&str]) -> String {
    let mut log = "     Running tests/many.rs (target/debug/deps/many-0)\n\nfailures:\n".to_owned();
    for name in names {
        log.push_str("    ");
        log.push_str(name);
        log.push('\n');
    }
    log + &format!("\ntest result: FAILED. 1 passed; {} failed; 0 ignored; 0 measured\n", names.len())
}

#[test]
fn a_log_is_read_for_counts_failed_tests_and_programs_without_a_result() {
    assert_eq!(
        read_log(&[LOG, CRASHED].concat()),
        [
            "failed|--lib|a::is_unlucky",
            "failed|--test all|always_fails",
            "failed|-|src/lib.rs - (line 3)",
            "broken|Running tests/crash.rs (target/debug/deps/crash-0123456789abcdef)",
            "count|5|3|9",
        ]
    );
    assert_eq!(read_log("error: could not compile `x`\n"), ["count|0|0|0"]);
    // The list does not agree with the result: no name of it is believed.
    let short = failed_list(&["a", "b"]).replace("2 failed", "1 failed");
    assert_eq!(read_log(&short)[0], "failed|-|a test of Running tests/many.rs (target/debug/deps/many-0)");
}

#[test]
fn a_test_that_passes_alone_is_flaky_and_one_that_fails_twice_fails() {
    let (output, calls) = repeat(LOG);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        calls,
        [
            "test --workspace --lib -- --exact a::is_unlucky",
            "test --workspace --test all -- --exact always_fails"
        ]
    );
    let printed = text(&output.stdout);
    let lines: Vec<&str> = printed.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(
        lines,
        [
            "FLAKY a::is_unlucky: failed beside others, passed alone",
            "FAILED always_fails: failed twice",
            "FAILED src/lib.rs - (line 3): it cannot be run alone"
        ]
    );
    let (output, _) = repeat(&failed_list(&["only::is_unlucky"]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // The tests of the test beds are ignored by cargo unless it is told.
    let (output, calls) = repeat_with(&["--ignored"], &failed_list(&["only::is_unlucky"]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(calls, ["test --workspace --test many -- --ignored --exact only::is_unlucky"]);
    // A name that selects no test proves nothing.
    let (output, _) = repeat(&failed_list(&["the_test_is_gone"]));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn many_failures_and_a_crash_are_no_unlucky_moment() {
    let names =
        ["a_is_unlucky", "b_is_unlucky", "c_is_unlucky", "d_is_unlucky", "e_is_unlucky", "f_is_unlucky"];
    let (output, calls) = repeat(&failed_list(&names));
    assert_eq!((output.status.code(), calls.len()), (Some(1), 0), "{output:?}");
    assert_eq!(text(&output.stdout), "6 tests failed: more than 5 are not repeated\n");
    let (output, calls) = repeat(&failed_list(&names[..5]));
    assert_eq!((output.status.code(), calls.len()), (Some(0), 5), "{output:?}");
    let (output, calls) = repeat(CRASHED);
    assert_eq!((output.status.code(), calls.len()), (Some(1), 0), "{output:?}");
}

/// Stands for `cargo test --no-run`: tells of two programs that wait for each other, of one that measures, and of one that
/// breaks off; what else is built is no test program.
const BUILT: &str = r#"#!/bin/sh
row() {
  echo '{"reason":"compiler-artifact","manifest_path":"'$HERE/${4:-cli}'/Cargo.toml","target":{"kind":["test"],"name":"'$1'","src_path":"'$HERE/${4:-cli}/$2'","test":true},"profile":{"opt_level":"0","test":'$3'},"features":[],"filenames":[],"executable":"'$HERE/$1'","fresh":true}'
}
row left tests/left.rs true
row library src/lib.rs false
row breaks src/lib.rs true
row windows tests/windows.rs true engine
row verdict tests/verdict.rs true
row truth tests/truth.rs true
row right tests/right/main.rs true
"#;

/// Waits for the other of the two, and tells in two lines, between which nobody else's may stand.
const MEETS: &str = r#"#!/bin/sh
cd "$HERE"
echo "running 1 test of $0"
touch "began-$1"
n=0
while [ ! -e "began-$2" ] && [ $n -lt 1200 ]; do sleep 0.1; n=$((n + 1)); done
[ -e "began-$2" ] || exit 1
touch "ended-$1"
echo "test result: ok. 1 passed; 0 failed; 0 ignored"
"#;

#[test]
fn programs_run_two_at_once_but_for_those_that_measure() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let windows = "#!/bin/sh\ncd \"$HERE\"\n[ -e ended-truth ] && [ -e ended-verdict ] && touch ended-windows && echo 'test \
                   result: ok. 2 passed; 0 failed; 0 ignored'\n";
    // A pair, after the others.
    let pair = MEETS.replace(
        "touch \"began-$1\"",
        "[ -e ended-left ] && [ -e ended-right ] || exit 1\ntouch \"began-$1\"",
    );
    let programs = [
        ("cargo", BUILT.to_owned()),
        ("left", MEETS.replace("$1", "left").replace("$2", "right")),
        ("right", MEETS.replace("$1", "right").replace("$2", "left")),
        ("truth", pair.replace("$1", "truth").replace("$2", "verdict")),
        ("verdict", pair.replace("$1", "verdict").replace("$2", "truth")),
        ("windows", windows.to_owned()),
        ("breaks", "#!/bin/sh\necho 'running 1 test'\nexit 101\n".to_owned()),
    ];
    for (name, text) in programs {
        fs::write(here.join(name), text).unwrap();
        fs::set_permissions(here.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    for package in ["cli", "engine"] {
        fs::create_dir(here.join(package)).unwrap();
    }
    let run = || {
        let mut list = Command::new(script("built.sh"));
        let built = list.arg("list").arg(here.join("cargo")).arg("test").env("HERE", here).output().unwrap();
        if !built.status.success() {
            return built;
        }
        fs::write(here.join("built"), built.stdout).unwrap();
        Command::new(script("test_programs.sh")).arg(here.join("built")).env("HERE", here).output().unwrap()
    };
    let output = run();
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "one program broke off: {output:?}");
    assert!(here.join("ended-truth").exists(), "it did not run, or not after the others: {printed}");
    assert!(here.join("ended-windows").exists(), "it did not run, or not after the pair: {printed}");
    // Each program's lines stand together, below what it is.
    for (name, source) in [("left", "tests/left.rs"), ("right", "tests/right/main.rs")] {
        let whole = format!(
            "     Running {source} ({0}/{name})\nrunning 1 test of {0}/{name}\ntest result: ok. 1 passed",
            here.display()
        );
        assert!(printed.contains(&whole), "{whole}:\n{printed}");
    }
    let broken = format!("broken|Running unittests src/lib.rs ({}/breaks)", here.display());
    assert_eq!(read_log(&printed), [broken, "count|6|0|0".to_owned()]);
    fs::write(here.join("breaks"), "#!/bin/sh\necho 'test result: ok. 1 passed; 0 failed; 0 ignored'\n")
        .unwrap();
    assert_eq!(run().status.code(), Some(0));
    // A cargo whose messages are others must not look like one whose tests all passed.
    fs::write(here.join("cargo"), "#!/bin/sh\necho '{}'\n").unwrap();
    let output = run();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

/// Ends when as many programs have begun as are to run at once.
const ALL_MEET: &str = r#"#!/bin/sh
cd "$HERE"
touch "began-NAME"
begun() { [ "$(ls | grep -c '^began-')" -ge COUNT ]; }
n=0
until begun || [ $n -ge 1200 ]; do sleep 0.1; n=$((n + 1)); done
begun || exit 1
touch "ended-NAME"
echo "test result: ok. 1 passed; 0 failed; 0 ignored"
"#;

#[test]
fn programs_that_sleep_take_no_place_from_the_others_and_their_failures_count() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let processors = Command::new("nproc").output().unwrap();
    let places = text(&processors.stdout).trim().parse::<usize>().unwrap() + 1;
    let write = |name: &str, body: &str| {
        fs::write(here.join(name), body).unwrap();
        fs::set_permissions(here.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    // As many as have a place, and one that sleeps.
    let meets =
        |name: &str| write(name, &ALL_MEET.replace("NAME", name).replace("COUNT", &(places + 1).to_string()));
    let mut built = BUILT.split("row left").next().unwrap().to_owned();
    for at in 0..places {
        let name = format!("busy{at}");
        built += &format!("row {name} tests/{name}.rs true\n");
        meets(&name);
    }
    built += "row cosmark_faults src/lib.rs true faults\nrow lies tests/lies.rs true adaptors\n";
    write("cargo", &built);
    meets("cosmark_faults");
    // The next that sleeps begins when the first has ended.
    let after = "#!/bin/sh\n[ -e \"$HERE/ended-cosmark_faults\" ] || exit 2\n";
    write(
        "lies",
        &format!(
            "{after}printf 'failures:\\n    is_unlucky\\n\\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\\n'\nexit 101\n"
        ),
    );
    for package in ["cli", "faults", "adaptors"] {
        fs::create_dir(here.join(package)).unwrap();
    }
    let mut list = Command::new(script("built.sh"));
    let listed = list.arg("list").arg(here.join("cargo")).arg("test").env("HERE", here).output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
    fs::write(here.join("built"), listed.stdout).unwrap();
    let run = |part: &[&str]| {
        let mut programs = Command::new(script("test_programs.sh"));
        programs.args(part).arg(here.join("built")).env("HERE", here).output().unwrap()
    };
    let output = run(&["--beside"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(
        read_log(&printed),
        ["failed|--test lies|is_unlucky".to_owned(), format!("count|{}|1|0", places + 1)],
        "{printed}"
    );
    write("lies", &format!("{after}echo 'test result: ok. 1 passed; 0 failed; 0 ignored'\n"));
    assert_eq!(run(&[]).status.code(), Some(0));
    let output = run(&["--alone"]);
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(0), ""),
        "nothing of it measures"
    );
}

#[test]
fn programs_that_wait_for_servers_run_more_tests_at_once_than_there_are_processors() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let processors = Command::new("nproc").output().unwrap();
    let processors = text(&processors.stdout).trim().parse::<usize>().unwrap();
    let built = BUILT.split("row left").next().unwrap().to_owned()
        + "row survive tests/survive.rs true\nrow docs tests/docs.rs true\n";
    let says = |name: &str| {
        format!(
            "#!/bin/sh\necho \"$*\" >\"$HERE/given-{name}\"\necho 'test result: ok. 1 passed; 0 failed; 0 ignored'\n"
        )
    };
    for (name, body) in [("cargo", built), ("survive", says("survive")), ("docs", says("docs"))] {
        fs::write(here.join(name), body).unwrap();
        fs::set_permissions(here.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir(here.join("cli")).unwrap();
    let mut list = Command::new(script("built.sh"));
    let listed = list.arg("list").arg(here.join("cargo")).arg("test").env("HERE", here).output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
    fs::write(here.join("built"), listed.stdout).unwrap();
    // In the place of awk: what it reads of the kernel is a file of this test.
    let awk = "#!/usr/bin/env bash\nPATH=${PATH#*:}\n\
               for one; do [[ $one != /proc/stat ]] || one=$HERE/stat; set -- \"${@:2}\" \"$one\"; done\n\
               exec awk \"$@\"\n";
    fs::create_dir(here.join("bin")).unwrap();
    fs::write(here.join("bin/awk"), awk).unwrap();
    fs::set_permissions(here.join("bin/awk"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", here.join("bin").display(), std::env::var("PATH").unwrap());
    // Three times as many, or twice as many on a machine that others keep busy.
    for (stat, times) in [
        ("procs_running 1\n".to_owned(), 3),
        (format!("cpu 1 2\nprocs_running {}\nprocs_blocked 0\n", 2 * processors), 3),
        (format!("cpu 1 2\nprocs_running {}\nprocs_blocked 0\n", 2 * processors + 1), 2),
        ("cpu 1 2\n".to_owned(), 3),
    ] {
        fs::write(here.join("stat"), &stat).unwrap();
        let mut programs = Command::new(script("test_programs.sh"));
        programs.arg("--beside").arg(here.join("built")).env("HERE", here).env("PATH", &path);
        let output = programs.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let given =
            ["survive", "docs"].map(|name| fs::read_to_string(here.join(format!("given-{name}"))).unwrap());
        assert_eq!(given, [format!("--test-threads {}\n", times * processors), "\n".to_owned()], "{stat}");
    }
}
