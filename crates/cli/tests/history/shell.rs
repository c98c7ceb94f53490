//! At home in a shell: what a list says, which run is the last, a view of a run in a terminal of any width, pages for `man`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use cosmark_simstore::{Behaviour, SimStore};

use super::support::skipped;
use super::{cosmark, good, said};

const TWO_OPERATIONS: &str = "name: view\nstorage: {type: mock, delay: 2ms}\nstages:\n  - name: main\n    works:\n      - {name: \
    mixed, workers: 4, runtime: 4s, interval: 1s, operations: [{type: read, ratio: 80, containers: c(1), objects: \"u(1,9)\"}, \
    {type: write, ratio: 20, containers: c(1), objects: \"u(1,9)\", sizes: c(64)KB}]}\n";

/// Nobody listens at port 1.
const NO_STORE: &str = "name: refused\nstorage: {type: s3, endpoint: \"http://127.0.0.1:1\", accesskey: a, secretkey: b}\n\
    stages:\n  - name: main\n    works:\n      - {name: main, workers: 1, runtime: 1s, operations: [{type: read, containers: \
    c(1), objects: c(1)}]}\n";

/// Both ends of a new terminal of this size.
fn terminal(columns: u16, rows: u16) -> (File, OwnedFd) {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut master, mut slave) = (-1, -1);
    // SAFETY: both descriptors are valid for the call, which fills them; name and settings may be null.
    let opened = unsafe {
        libc::openpty(
            &raw mut master,
            &raw mut slave,
            std::ptr::null_mut(),
            std::ptr::null(),
            &raw const size,
        )
    };
    assert_eq!(opened, 0, "no pseudo-terminal");
    // What another test starts meanwhile is not to hold it open.
    for end in [master, slave] {
        // SAFETY: takes no pointer.
        assert!(unsafe { libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC) } >= 0);
    }
    // SAFETY: they were just opened and belong to nobody else.
    unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) }
}

/// Reads what is written to a terminal until nobody holds it any more.
fn read_all(mut master: File) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut seen, mut part) = (Vec::new(), [0; 4096]);
        // The other end fails when nobody holds the terminal any more.
        while let Ok(length @ 1..) = master.read(&mut part) {
            seen.extend_from_slice(&part[..length]);
        }
        String::from_utf8_lossy(&seen).into_owned()
    })
}

/// What a program writes to a terminal of this size, its exit code, and whether the terminal is then as it was before.
fn on_terminal(home: &Path, arguments: &str, columns: u16, rows: u16) -> (String, Option<i32>, bool) {
    let (master, slave) = terminal(columns, rows);
    let settings = |slave: &OwnedFd| {
        // SAFETY: a zeroed `termios` is valid for the call, which fills it.
        unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(slave.as_raw_fd(), &raw mut settings), 0);
            (settings.c_iflag, settings.c_oflag, settings.c_cflag, settings.c_lflag)
        }
    };
    let before = settings(&slave);
    let mut child = cosmark(home)
        .args(arguments.split_whitespace())
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .stdout(Stdio::from(slave.try_clone().unwrap()))
        .stderr(Stdio::from(slave.try_clone().unwrap()))
        .spawn()
        .unwrap();
    let reader = read_all(master);
    let code = child.wait().unwrap().code();
    let unchanged = settings(&slave) == before;
    drop(slave);
    (reader.join().unwrap(), code, unchanged)
}

/// What a script of a shell whose terminal this is writes there, and its exit code; `$0` is the program.
fn in_a_shell(home: &Path, script: &str) -> (String, Option<i32>) {
    let (master, slave) = terminal(100, 30);
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(cosmark(home).get_program()).current_dir(home);
    shell.env("TERM", "xterm-256color").env_remove("COLUMNS");
    shell.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
    // SAFETY: both calls are allowed between fork and exec, and take no pointer.
    unsafe {
        shell.pre_exec(|| {
            let is_own = libc::setsid() >= 0 && libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0) == 0;
            if is_own { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        })
    };
    let mut child = shell.spawn().unwrap();
    // It holds the terminal, too.
    drop(shell);
    let reader = read_all(master);
    let code = child.wait().unwrap().code();
    (reader.join().unwrap(), code)
}

/// Without the orders to the terminal.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\x1b' {
            // CSI, parameters, and a letter that ends it.
            rest.find(char::is_ascii_alphabetic);
        } else {
            shown.push(c);
        }
    }
    shown
}

#[test]
fn a_view_fits_its_terminal_has_p99_and_errors_and_changes_nothing_of_it() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("w.yaml"), TWO_OPERATIONS).unwrap();
    for (columns, rows) in [(80, 24), (50, 8), (200, 50)] {
        let (text, code, unchanged) = on_terminal(home, "run w.yaml --no-report", columns, rows);
        assert_eq!(code, Some(0), "{text}");
        assert!(unchanged, "a setting of the terminal is another one afterwards");
        for mode in ["\x1b[?1049h", "\x1b[?25l", "\x1b[?1000h"] {
            assert!(!text.contains(mode), "a mode was set that a kill would leave: {mode:?}");
        }
        // Each line of the view ends by being cleared to its end.
        let drawn: Vec<String> = text
            .split("\x1b[K")
            .map(|part| plain(part.rsplit('\n').next().unwrap_or(part)).replace('\r', ""))
            .collect();
        let view: Vec<&String> =
            drawn.iter().filter(|line| line.starts_with("[1/1] main") || line.contains("p99")).collect();
        assert!(view.len() >= 4, "{text}");
        for line in &drawn[..drawn.len() - 1] {
            assert!(line.chars().count() < usize::from(columns), "{columns}: {line:?}");
        }
        let all = drawn.join("\n");
        assert!(all.contains("errors 0") && all.contains("op/s") && all.contains("p99 ms"), "{all}");
        // What is well is faint, and the verdict at the end has the colour of its word.
        assert!(text.contains("\x1b[2merrors 0\x1b[0m") && text.contains("verdict: \x1b[3"), "{text:?}");
        if rows > 20 {
            assert!(
                drawn.iter().any(|line| line.starts_with("write ") && line.trim_end().ends_with('0')),
                "{all}"
            );
        }
    }
    let (text, ..) = on_terminal(home, "list", 80, 24);
    assert!(plain(&text).lines().all(|line| line.trim_end().chars().count() <= 80), "{text}");
    assert!(text.contains("\x1b["), "a verdict has its colour");
    let (text, ..) = on_terminal(home, "list --color never", 80, 24);
    assert!(!text.contains('\x1b'), "{text}");
    let (text, ..) = on_terminal(home, "show last", 60, 24);
    assert!(text.contains("verdict: \x1b[3"), "{text:?}");
    let table: Vec<String> =
        plain(&text).lines().filter(|line| line.contains('│')).map(str::to_owned).collect();
    assert!(table.len() >= 3 && table.iter().all(|line| line.trim_end().chars().count() <= 60), "{text}");
    assert!(
        table[0].contains("p99") && table[0].contains("failed") && table[0].contains("op/s"),
        "{table:?}"
    );
}

#[test]
fn a_run_behind_the_prompt_draws_nothing_over_what_is_written_there() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("w.yaml"), TWO_OPERATIONS).unwrap();
    let run = "\"$0\" run w.yaml --no-report";
    // Job control gives what is behind a group of its own, as at a prompt.
    let (text, code) = in_a_shell(home, &format!("set -m; {run} & wait $!"));
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("\x1b[K") && !text.contains("\x1b[J"), "{text}");
    let text = plain(&text);
    assert!(text.contains("[1/1] main begins") && text.contains("w1 view finished"), "{text}");
    // The same in front of it.
    let (text, code) = in_a_shell(home, &format!("set -m; {run}"));
    assert!(code == Some(0) && text.contains("\x1b[K") && !plain(&text).contains("main begins"), "{text}");
}

/// A workload with a mistake whose sentences are long, and one against which the verdict has much to say.
const WRONG: &str = "name: wrong\nstorage: {type: mock}\nstages:\n  - name: main\n    works:\n      - name: main\n        \
    wrokers: 4\n        runtime: 1s\n        operations: [{type: raed, containers: c(1), objects: \"u(1,9)\"}]\n";

#[test]
fn sentences_are_broken_between_words_on_a_terminal_and_whole_in_a_pipe() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("w.yaml"), TWO_OPERATIONS.replace("runtime: 4s", "runtime: 1s")).unwrap();
    fs::write(home.join("wrong.yaml"), WRONG).unwrap();
    fs::write(home.join("refused.yaml"), NO_STORE).unwrap();
    good(home, "run w.yaml --no-report --quiet");
    let words = |text: &str| -> Vec<String> {
        // The frames of tables are as wide as there is room; their sentences are those of the lines without frames.
        let sentences =
            text.lines().filter(|line| !line.contains(|sign| ('\u{2500}'..='\u{259f}').contains(&sign)));
        let mut words: Vec<String> = sentences.flat_map(str::split_whitespace).map(str::to_owned).collect();
        // How much of a disk is free is another number with each call: others write there.
        let free: Vec<usize> = (2..words.len()).filter(|at| words[*at] == "free").collect();
        free.into_iter().for_each(|at| words[at - 2..at].iter_mut().for_each(String::clear));
        words
    };
    let mut broken = 0;
    for arguments in [
        "show w1 --color never",
        "list --archive missing/of/a/name/that/is/long --since yesterday-or-the-day-before-that --color never",
        "plan w1 --color never --rate 1000000000 --color never",
        "check wrong.yaml --color never",
        "adaptors --color never",
        "adaptors s3 --color never",
        "study list --color never",
        "study signatures --plan --color never",
        "faults --archive archive --color never",
        "compare w1 w1 --color never",
        "certify questions --only s3.listing --color never",
        "run refused.yaml --no-report --color never",
        "run w.yaml --runtime for-as-long-as-it-takes-until-somebody-presses-a-key-of-the-keyboard --color never",
    ] {
        let piped = said(home, arguments);
        let piped = [piped.stdout, piped.stderr].map(|part| String::from_utf8_lossy(&part).into_owned());
        for columns in [80_u16, 66, 120] {
            let (text, ..) = on_terminal(home, arguments, columns, 24);
            assert!(!text.is_empty(), "{arguments}");
            let text = plain(&text).replace('\r', "");
            // A line of a file, with its number, is shown as it stands there, with a mark below.
            let is_quoted = |line: &&str| {
                let line = line.trim_start();
                line.starts_with('·')
                    || line.starts_with(|sign: char| sign.is_ascii_digit()) && line.contains('│')
            };
            let is_wide = |line: &&str| line.chars().count() > usize::from(columns) && !is_quoted(line);
            for line in text.lines().filter(is_wide) {
                assert_eq!(line.split_whitespace().count(), 1, "{arguments} at {columns}: {line:?}");
            }
            // Results and remarks meet in one terminal in an order of their own, a run says other numbers each time, and compare
            // leaves columns out.
            let is_same = !arguments.starts_with("run") && !arguments.starts_with("compare");
            if ["adaptors", "certify"].iter().any(|table| arguments.starts_with(table)) {
                // Its table is a block for each row where it has no room, with every word of it.
                let (shown, mut all) = (words(&text), words(&piped.concat()));
                all.retain(|word| !shown.contains(word));
                assert!(all.is_empty(), "{arguments} at {columns} lacks {all:?}");
            } else if piped[0].is_empty() != piped[1].is_empty() && is_same {
                assert_eq!(words(&text), words(&piped.concat()), "{arguments} at {columns}");
            }
            let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            broken += usize::from(longest(&piped.concat()) > usize::from(columns));
        }
    }
    assert!(broken > 10, "only {broken} outputs have a line that has to be broken");
    // Programs get what they can read, on a terminal, too.
    let (text, ..) = on_terminal(home, "schema", 80, 24);
    let text = plain(&text).replace('\r', "");
    assert_eq!(text, good(home, "schema"));
    assert!(text.lines().any(|line| line.chars().count() > 80), "{text}");
}

#[test]
fn a_list_has_figures_the_newest_first_and_a_refused_login_is_not_the_last_run() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("w.yaml"), TWO_OPERATIONS.replace("runtime: 4s", "runtime: 2s")).unwrap();
    fs::write(home.join("refused.yaml"), NO_STORE).unwrap();
    fs::create_dir_all(home.join("archive")).unwrap();
    assert_eq!(good(home, "list"), "no runs in archive\n");
    fs::create_dir_all(home.join("hollow/w3-hollow")).unwrap();
    let hollow = good(home, "list --archive hollow");
    assert!(hollow.contains("an empty folder") && !hollow.contains("COSBench"), "{hollow}");
    let none = said(home, "list --archive nowhere");
    let none = (none.status.code(), String::from_utf8_lossy(&none.stderr).into_owned());
    assert!(
        none.0 == Some(2) && none.1.contains("no archive at nowhere") && !none.1.contains("COSBench"),
        "{none:?}"
    );
    // What is wrong with a run stands below the table, whole, and makes it no wider.
    fs::create_dir_all(home.join("hollow/w4-damaged")).unwrap();
    fs::write(home.join("hollow/w4-damaged/run.json"), "{\"schema\":").unwrap();
    let damaged = good(home, "list --archive hollow");
    let is_framed = |line: &&str| line.contains(|sign| ('\u{2500}'..='\u{259f}').contains(&sign));
    assert!(damaged.lines().filter(is_framed).all(|line| line.chars().count() <= 80), "{damaged}");
    let line = damaged.lines().find(|line| line.starts_with("w4: "));
    assert!(line.is_some_and(|said| said.contains("w4-damaged/run.json: line ")), "{damaged}");
    // JSON has no form for a name that is no UTF-8.
    let odd = OsStr::from_bytes(b"odd\xff");
    fs::create_dir_all(home.join(odd).join("w3-hollow")).unwrap();
    let output = cosmark(home).args(["list", "--json", "--archive"]).arg(odd).output().unwrap();
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), rows[0]["path"].as_str()), (Some(0), Some("odd\u{fffd}/w3-hollow")));
    assert!(damaged.contains("\nw3: an empty folder\n") && damaged.contains("damaged"), "{damaged}");
    let (text, ..) = on_terminal(home, "list --archive hollow", 60, 24);
    assert!(plain(&text).lines().all(|line| line.trim_end().chars().count() <= 60), "{text}");
    fs::remove_dir_all(home.join("hollow/w4-damaged")).unwrap();
    for first in ["show last", "watch 1", "note last hi", "plot last", "datasets list --archive nowhere"] {
        let output = said(&home.join("hollow"), first);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && text.contains("the first `cosmark demo`"),
            "{first}: {text}"
        );
    }
    good(home, "run w.yaml --no-report --quiet");
    assert!(!said(home, "run refused.yaml --no-report --quiet").status.success());
    let listed = good(home, "list");
    let lines: Vec<&str> = listed.lines().filter(|line| line.contains(" w")).collect();
    assert!(lines[0].contains("w2") && lines[1].contains("w1"), "{listed}");
    assert!(lines[0].contains("terminated") && lines[0].contains("s3 127.0.0.1:1"), "{listed}");
    let json: serde_json::Value = serde_json::from_str(&good(home, "list --json --limit 5")).unwrap();
    assert_eq!((&json[0]["id"], &json[1]["id"]), (&"w2".into(), &"w1".into()));
    let run: serde_json::Value = serde_json::from_str(&good(home, "show w1 --json")).unwrap();
    let operations = run["stages"][0]["operations"].as_array().unwrap();
    let rate: f64 = operations.iter().map(|op| op["throughput_per_s"].as_f64().unwrap()).sum();
    assert!((json[1]["headline"]["throughput_per_s"].as_f64().unwrap() - rate).abs() < 1e-6, "{json}");
    assert_eq!(json[1]["target"], "mock");
    assert_eq!(good(home, "compare w1 w1 --json"), good(home, "compare w1 w1 --format json"));
    assert_eq!(said(home, "compare w1 w1 --json --format table").status.code(), Some(2));
    let one = good(home, "list --limit 1");
    assert!(one.contains("w2") && !one.contains("w1 ") && one.contains("1 older run not shown"), "{one}");
    let last = said(home, "show last");
    let (out, err) = (String::from_utf8_lossy(&last.stdout), String::from_utf8_lossy(&last.stderr));
    assert!(out.starts_with("w1 view") && err.contains("last is w1"), "{out}{err}");
    assert!(good(home, "show w2").starts_with("w2 refused"));
    // Nor is one that a store refuses, whatever status it says that with.
    let swauth = "auth: {type: swauth, username: 'a:b', password: c, auth_url: 'URL/auth/v1.0'}\nstorage: {type: swift}\n";
    let s3 = "storage: {type: s3, endpoint: 'URL', accesskey: a, secretkey: b}\n";
    for (behaviour, target, status) in [
        ("swift: {users: {'x:y': z}}", swauth, 401),
        ("errors: [{op: auth, status: 403}]", swauth, 403),
        ("keys: {known: secret}", s3, 403),
        ("errors: [{status: 403, code: SignatureDoesNotMatch}]", s3, 403),
    ] {
        let store = SimStore::start(Behaviour::from_yaml(behaviour).unwrap(), "127.0.0.1:0").unwrap();
        fs::write(home.join("target.yaml"), target.replace("URL", &store.url())).unwrap();
        let run = said(home, "run refused.yaml --target target.yaml --no-report --quiet");
        let answers: Vec<u16> = store.log().unwrap().iter().map(|request| request.status).collect();
        assert!(!run.status.success() && !answers.is_empty(), "{behaviour}: {run:?}");
        assert!(answers.iter().all(|answer| *answer == status), "{behaviour}: {answers:?}");
        store.stop();
        let newest = good(home, "list --limit 1");
        assert!(newest.contains("terminated") && !newest.contains("w2"), "{behaviour}: {newest}");
        let last = said(home, "show last");
        let (out, err) = (String::from_utf8_lossy(&last.stdout), String::from_utf8_lossy(&last.stderr));
        assert!(out.starts_with("w1 view") && err.contains("last is w1"), "{behaviour}: {out}{err}");
    }
    // Nor is any of them one before the last.
    let before = said(home, "show last-1");
    let err = String::from_utf8_lossy(&before.stderr);
    assert!(before.status.code() == Some(2) && err.contains("fewer runs than that made load"), "{err}");
}

#[test]
fn a_run_is_watched_from_its_files_and_watching_ends_with_it() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("w.yaml"), TWO_OPERATIONS.replace("runtime: 4s", "runtime: 8s")).unwrap();
    let mut run = cosmark(home)
        .args(["run", "w.yaml", "--no-report", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let intervals = home.join("archive/w1-view/intervals.csv");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(180);
    while fs::read_to_string(&intervals).map_or(0, |text| text.lines().count()) < 3 {
        assert!(std::time::Instant::now() < deadline, "no load");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let (text, code, _) = on_terminal(home, "watch", 100, 30);
    assert!(run.wait().unwrap().success());
    assert_eq!(code, Some(0), "{text}");
    let text = plain(&text);
    for what in ["w1 [1/1] main running", "left 00:0", "read", "write", "w1 view finished", "verdict:"] {
        assert!(text.contains(what), "{what} in\n{text}");
    }
    let again = said(home, "watch w1");
    assert!(again.status.success() && String::from_utf8_lossy(&again.stdout).contains("w1 view finished"));
}

#[test]
fn there_is_a_manual_page_for_every_subcommand() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    assert!(good(home, "man --dir pages").contains("pages in pages"));
    let page = |name: &str| fs::read_to_string(home.join("pages").join(name)).unwrap();
    assert!(page("cosmark.1").starts_with(".ie") || page("cosmark.1").contains(".TH COSMARK 1"));
    let run = page("cosmark-run.1");
    assert!(
        run.contains(".TH COSMARK-RUN 1") && run.contains("cosmark\\-run \\-") && run.contains("\\-\\-seed"),
        "{run}"
    );
    let help = good(home, "--help");
    let commands = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty());
    let mut count = 0;
    let commands = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for name in commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        assert!(home.join(format!("pages/cosmark-{name}.1")).is_file(), "{name}");
        count += 1;
    }
    assert!(count > 20, "{help}");
    // What stands below a subcommand has its page, too, and what nobody calls by hand has none.
    assert!(page("cosmark-datasets-check.1").contains("\\-\\-sample"), "no options of datasets check");
    assert!(page("cosmark-faults-heal.1").contains("\\fBcosmark\\-faults\\fR(1)"));
    assert!(!home.join("pages/cosmark-faults-guard.1").exists());
    let beside = page("cosmark-show.1");
    let beside = beside.split("SEE ALSO").nth(1).unwrap();
    assert!(
        beside.contains("\\fBcosmark\\-compare\\fR(1)") && !beside.contains("cosmark\\-show"),
        "{beside}"
    );
}

/// What can be completed, and the script of a shell.
fn to_complete(place: &Path, shell: &str) {
    let directories = [
        "archive/w3-mixed",
        "archive/w12-x",
        "archive/w1$(touch bad)-y",
        "archive/.datasets/pebbles",
        "other/w7-z",
        "my other/w8-z",
        "study-a",
    ];
    for directory in directories {
        fs::create_dir_all(place.join(directory)).unwrap();
    }
    fs::write(place.join("archive/.datasets/pebbles/dataset.json"), "{}").unwrap();
    fs::write(place.join("study-a/journal.jsonl"), "{\"step\":\"design\",\"study\":\"mine\"}\n").unwrap();
    let script = cosmark(place).args(["completions", shell]).output().unwrap();
    fs::write(place.join("script"), script.stdout).unwrap();
}

fn is_there(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn runs_studies_and_data_sets_are_completed_in_bash() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path();
    to_complete(place, "bash");
    let completed = |words: &[&str]| {
        let call = "source ./script; COMP_WORDS=(cosmark \"$@\"); COMP_CWORD=$#; \
                    _cosmark_with_names cosmark \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"; \
                    echo \"${COMPREPLY[*]}\"";
        let mut bash = std::process::Command::new("bash");
        let output =
            bash.current_dir(place).args(["--norc", "-c", call, "bash"]).args(words).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    for (words, expected) in [
        (["show", ""].as_slice(), "w12 w3 last"),
        (&["show", "w3"], "w3"),
        (&["--color", "never", "judge", "--archive", "other", ""], "w7 last"),
        (&["report", "--archive", "=", "other", "w"], "w7"),
        (&["show", "--archive", "my\\ other", "w"], "w8"),
        (&["show", "--archive", "\"my other\"", "w"], "w8"),
        (&["show", "--archive", "'$(touch bad)'", "w"], ""),
        (&["compare", "w3", "w12,w3"], "w12,w3"),
        (&["study", "sli"], "slides"),
        (&["study", "status", ""], "mine"),
        (&["datasets", "check", ""], "pebbles"),
        (&["faults", "heal", "w1"], "w12"),
        (&["show", "--js"], "--json"),
        (&["export", "w3", "--format", "cs"], "csv"),
    ] {
        assert_eq!(completed(words), expected, "{words:?}");
    }
    assert!(!place.join("bad").exists(), "a name was run");
}

#[test]
fn runs_studies_and_data_sets_are_completed_in_fish() {
    if !is_there("fish") {
        return skipped("fish is not installed");
    }
    let home = tempfile::tempdir().unwrap();
    let place = home.path();
    to_complete(place, "fish");
    for (line, expected) in [
        ("cosmark show w", "w12 w3"),
        ("cosmark show l", "last"),
        ("cosmark --color never judge --archive other w", "w7"),
        ("cosmark report --archive=other w", "w7"),
        ("cosmark show --archive my\\ other w", "w8"),
        ("cosmark show --archive '$(touch bad)' w", ""),
        ("cosmark show --archive ~/other w", "w7"),
        ("cosmark compare w3 w12,w", "w12,w12 w12,w3"),
        ("cosmark study sli", "slides"),
        ("cosmark study status m", "mine my other/"),
        ("cosmark datasets check ", "pebbles"),
        ("cosmark faults heal w1", "w12"),
        ("cosmark show --js", "--json"),
        ("cosmark export w3 --format cs", "csv"),
    ] {
        let mut fish = std::process::Command::new("fish");
        fish.current_dir(place).env("HOME", place).args(["--no-config", "-c"]);
        let output = fish.args(["source script; complete -C \"$argv\"", line]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut found: Vec<&str> = text.lines().filter_map(|line| line.split('\t').next()).collect();
        found.sort_unstable();
        assert_eq!(found.join(" "), expected, "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(!place.join("bad").exists(), "a name was run");
}

/// What zsh's own functions do is left out: these print the names that they are given.
const IN_ZSH: &str =
    "compdef() { : }; compset() { return 1 }; _files() { : }; _wanted() { shift 5; print -r -- \"$@\" }
source ./script
typeset -A opt_args; [[ -n $1 ]] && opt_args=(--archive \"$1\"); function=$2; shift 2
words=(\"$@\"); CURRENT=$#words; $function";

#[test]
fn runs_studies_and_data_sets_are_looked_up_in_zsh() {
    if !is_there("zsh") {
        return skipped("zsh is not installed");
    }
    let home = tempfile::tempdir().unwrap();
    let place = home.path();
    to_complete(place, "zsh");
    // Where several runs may stand zsh takes the options out of the words, and doubles their backslashes.
    for (archive, words, expected) in [
        ("", ["_cosmark_runs", "show", ""].as_slice(), "last w12 w3"),
        ("other", &["_cosmark_runs", "judge", "w"], "last w7"),
        ("my\\\\ other", &["_cosmark_runs", "judge", "w"], "last w8"),
        ("'my other'", &["_cosmark_runs", "judge", "w"], "last w8"),
        ("'$(touch bad)'", &["_cosmark_runs", "judge", "w"], "last"),
        ("", &["_cosmark_runs", "show", "--archive", "my\\ other", "w"], "last w8"),
        ("", &["_cosmark_runs", "show", "--archive=other", "w"], "last w7"),
        ("~/other", &["_cosmark_runs", "judge", "w"], "last w7"),
        ("", &["_cosmark_begun", "status", ""], "mine"),
        ("", &["_cosmark_datasets", "check", ""], "pebbles"),
    ] {
        let mut zsh = std::process::Command::new("zsh");
        zsh.current_dir(place).env("HOME", place).args(["-f", "-c", IN_ZSH, "zsh", archive]);
        let output = zsh.args(words).output().unwrap();
        let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert_eq!(found, expected, "{archive} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(!place.join("bad").exists(), "a name was run");
}
