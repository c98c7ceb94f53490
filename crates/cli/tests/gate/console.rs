//! What builds and tests the web pages (`scripts/console.sh`), with programs that only say that they ran: what is ended leaves
//! nothing behind, and what failed is not taken for done.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::lanes::{eventually, is_alive, signal};
use super::script;

/// Stands for Node.js: a script of the browser, and a browser, that nobody but a signal ends.
const NODE: &str = r#"#!/bin/sh
case $1 in
  --version) echo v99.0.0 ;;
  -e) ;;
  *)
    sleep 300 &
    echo "browser $!" >>"$HERE/log"
    echo "$2 $$" >>"$HERE/log"
    wait
    ;;
esac
"#;

/// Stands for the compiler, which finds a mistake as long as there is one, and for what makes the pages.
const NPX: &str = r#"#!/bin/sh
echo "$2 $$" >>"$HERE/log"
case "$*" in
  *tsc*) [ ! -e "$HERE/mistake" ] ;;
  *vite.console*) mkdir -p dist/console && echo page >dist/console/index.html ;;
  *) echo page >dist/report.html ;;
esac
"#;

fn repository() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    write("scripts/console.sh", &fs::read(script("console.sh")).unwrap());
    write("testbeds/lib.sh", &fs::read(script("../testbeds/lib.sh")).unwrap());
    write("console/package-lock.json", b"");
    write("console/node_modules/.package-lock.json", b"");
    write("console/dist/.gitkeep", b"");
    write("target/debug/cosmark", b"");
    write("bin/node", NODE.as_bytes());
    write("bin/npx", NPX.as_bytes());
    for name in ["npm", "chromium"] {
        write(&format!("bin/{name}"), b"");
    }
    directory
}

fn console(here: &Path, what: &str) -> Command {
    let path = format!("{}:{}", here.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(here.join("scripts/console.sh"));
    command.arg(what).env("HERE", here).env("PATH", path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn log(here: &Path) -> Vec<(String, u32)> {
    let log = fs::read_to_string(here.join("log")).unwrap_or_default();
    let split = |line: &str| line.split_once(' ').map(|(what, pid)| (what.to_owned(), pid.parse().unwrap()));
    log.lines().filter_map(split).collect()
}

#[test]
fn browser_tests_that_are_ended_leave_no_browser() {
    let directory = repository();
    let here = directory.path();
    fs::create_dir_all(here.join("console/dist/console")).unwrap();
    fs::write(here.join("console/dist/console/index.html"), "").unwrap();
    let mut child = console(here, "live").spawn().unwrap();
    // Two scripts at once, each with its browser.
    eventually("the start of both", || log(here).len() == 4);
    signal(&child, libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let left = || log(here).into_iter().filter(|(_, pid)| is_alive(here, *pid)).count();
    eventually("the end of all", || left() == 0);
    assert_eq!(log(here).len(), 4, "nothing runs once more: {:?}", log(here));
}

#[test]
fn pages_are_built_again_until_all_of_them_went_well_and_not_afterwards() {
    let directory = repository();
    let here = directory.path();
    fs::write(here.join("mistake"), "").unwrap();
    let build = || console(here, "build").status().unwrap().code();
    assert_eq!((build(), log(here).len()), (Some(1), 3));
    assert_eq!((build(), log(here).len()), (Some(1), 6), "both pages are there, but there is a mistake");
    fs::remove_file(here.join("mistake")).unwrap();
    assert_eq!((build(), log(here).len()), (Some(0), 9));
    assert_eq!((build(), log(here).len()), (Some(0), 9), "nothing is newer");
    fs::remove_file(here.join("console/dist/report.html")).unwrap();
    assert_eq!((build(), log(here).len()), (Some(0), 12));
}
