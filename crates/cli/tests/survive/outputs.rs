//! Every subcommand that writes a file where it is told to: what is no regular file stays what it is.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::short_run;
use crate::support::{cosmark, repository, run, skipped_part, stderr, stdout};

/// Each subcommand that takes a file for its output, up to the file's name.
fn writers() -> Vec<Vec<String>> {
    let workload = repository().join("workloads/cosbench/demo.xml").display().to_string();
    let rows: [&[&str]; 7] = [
        &["export", "w1", "--format", "csv", "-o"],
        &["export", "w1", "--format", "parquet", "-o"],
        &["export", "w1", "--format", "hlog", "-o"],
        &["report", "w1", "-o"],
        &["convert", &workload, "-o"],
        &["convert", "short.yaml", "-o"],
        &["convert", "access.log", "-o"],
    ];
    rows.iter().map(|row| row.iter().map(|word| (*word).to_owned()).collect()).collect()
}

fn write_to(directory: &Path, writer: &[String], output: &str) -> (Option<i32>, String) {
    let done = cosmark(directory).args(writer).arg(output).stdout(Stdio::piped()).output().unwrap();
    (done.status.code(), stderr(&done))
}

fn prepared() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    short_run(directory.path());
    fs::write(directory.path().join("access.log"), "100.5,get,10\n103,put,7\n").unwrap();
    directory
}

/// A report can only be made where the page is built in.
fn is_there(directory: &Path, writer: &[String]) -> bool {
    writer[0] != "report" || run(directory, &["report", "w1"]).status.success()
}

#[test]
fn no_output_replaces_a_device_a_fifo_or_a_link() {
    let directory = prepared();
    let dir = directory.path();
    let device = dir.join("null");
    // Of our own, in a directory of our own: never the one that every program of the machine uses.
    let made = Command::new("mknod").arg(&device).args(["c", "1", "3"]).output().unwrap().status.success();
    let usable = made && fs::OpenOptions::new().write(true).open(&device).is_ok();
    if !usable {
        skipped_part("a device", "only root can make a device node, on a file system that has them");
    }
    assert!(Command::new("mkfifo").arg(dir.join("fifo")).status().unwrap().success());
    symlink("target", dir.join("link")).unwrap();
    for writer in writers().iter().filter(|writer| is_there(dir, writer)) {
        if usable {
            let (code, said) = write_to(dir, writer, "null");
            assert_eq!(code, Some(0), "{writer:?}: {said}");
            assert!(fs::symlink_metadata(&device).unwrap().file_type().is_char_device(), "{writer:?}");
        }
        let fifo = dir.join("fifo");
        let reader = std::thread::spawn(move || fs::read(fifo).unwrap());
        let (code, said) = write_to(dir, writer, "fifo");
        let through = reader.join().unwrap();
        assert_eq!(code, Some(0), "{writer:?}: {said}");
        assert!(fs::symlink_metadata(dir.join("fifo")).unwrap().file_type().is_fifo(), "{writer:?}");

        fs::write(dir.join("target"), "old").unwrap();
        fs::set_permissions(dir.join("target"), fs::Permissions::from_mode(0o604)).unwrap();
        let (code, said) = write_to(dir, writer, "link");
        assert_eq!(code, Some(0), "{writer:?}: {said}");
        assert!(dir.join("link").is_symlink(), "{writer:?}");
        let mode = fs::metadata(dir.join("target")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o604, "{writer:?}");
        let written = fs::read(dir.join("target")).unwrap();
        assert!(written.len() > 10 && written.len() == through.len(), "{writer:?}");
    }
    let left: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains(".tmp-")), "{left:?}");
}

#[test]
fn a_dash_and_the_names_of_standard_output_are_standard_output() {
    let directory = prepared();
    let dir = directory.path();
    for writer in writers().iter().filter(|writer| is_there(dir, writer)) {
        let (code, said) = write_to(dir, writer, "file");
        assert_eq!(code, Some(0), "{writer:?}: {said}");
        let length = fs::metadata(dir.join("file")).unwrap().len();
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let printed = cosmark(dir).args(writer).arg(name).output().unwrap();
            assert_eq!(printed.status.code(), Some(0), "{writer:?} {name}: {}", stderr(&printed));
            assert_eq!(printed.stdout.len() as u64, length, "{writer:?} {name}");
        }
        let log = fs::OpenOptions::new().create(true).append(true).open(dir.join("log")).unwrap();
        let before = log.metadata().unwrap().len();
        let appended = cosmark(dir).args(writer).arg("/dev/fd/1").stdout(log).status().unwrap();
        assert!(appended.success());
        assert_eq!(fs::metadata(dir.join("log")).unwrap().len(), before + length, "{writer:?}");
    }
    assert!(!dir.join("-").exists());
}

#[test]
fn an_output_that_cannot_be_written_names_the_remedy_and_costs_nothing() {
    let directory = prepared();
    let dir = directory.path();
    fs::create_dir(dir.join("directory")).unwrap();
    for writer in writers().iter().filter(|writer| is_there(dir, writer)) {
        for (output, remedy) in
            [("directory", "name a file in it"), ("none/file", "make its directory first")]
        {
            let (code, said) = write_to(dir, writer, output);
            assert!(code == Some(2) && said.contains(remedy), "{writer:?} {output}: {code:?} {said}");
        }
        let (code, said) = write_to(dir, writer, "/dev/full");
        assert!(code == Some(1) && said.contains("No space left"), "{writer:?}: {code:?} {said}");
        assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    }
    let refused = run(dir, &["export", "w1", "--format", "nothing", "-o", "file"]);
    assert!(!refused.status.success() && !dir.join("file").exists(), "{}", stdout(&refused));
}

#[test]
fn no_output_takes_the_place_of_what_is_read_or_of_a_file_of_a_run() {
    let directory = prepared();
    let dir = directory.path();
    fs::copy(repository().join("workloads/cosbench/demo.xml"), dir.join("mine.xml")).unwrap();
    symlink("mine.xml", dir.join("other.xml")).unwrap();
    fs::hard_link(dir.join("mine.xml"), dir.join("twin.xml")).unwrap();
    fs::write(dir.join("target.yaml"), "storage: {type: mock}\n").unwrap();
    for (read, output) in [
        ("mine.xml", "twin.xml"),
        ("mine.xml --target target.yaml", "target.yaml"),
        ("mine.xml", "mine.xml"),
        ("mine.xml", "./mine.xml"),
        ("mine.xml", "other.xml"),
        ("other.xml", "mine.xml"),
        ("access.log", "access.log"),
    ] {
        let before = fs::read(dir.join(output)).unwrap();
        let words: Vec<&str> = ["convert"].into_iter().chain(read.split(' ')).chain(["-o", output]).collect();
        let refused = run(dir, &words);
        assert_eq!(refused.status.code(), Some(2), "{read} {output}: {}", stderr(&refused));
        assert!(stderr(&refused).contains("this is the file that is read"), "{}", stderr(&refused));
        assert!(fs::read(dir.join(output)).unwrap() == before, "{read} {output}");
    }
    let archive = dir.join("archive");
    let found = cosmark_archive::list(&archive).unwrap().remove(0).path;
    let source = fs::read_dir(found.join("source")).unwrap().next().unwrap().unwrap().path();
    for file in [found.join("run.json"), found.join("histograms.hlog"), found.join("intervals.csv"), source] {
        let (before, output) = (fs::read(&file).unwrap(), file.display().to_string());
        for writer in writers() {
            let (code, said) = write_to(dir, &writer, &output);
            assert!(
                code == Some(2) && said.contains("a file of a run"),
                "{writer:?} {output}: {code:?} {said}"
            );
        }
        assert!(fs::read(&file).unwrap() == before, "{output}");
    }
    // So are those of the archive itself, and of a run that COSBench made.
    let history = archive.join("run-history.csv");
    let cosbench = dir.join("w3-mock-full");
    fs::create_dir(&cosbench).unwrap();
    let theirs = repository().join("crates/archive/tests/cosbench-runs/w3-mock-full");
    for name in ["w3-mock-full.csv", "workload-config.xml"] {
        fs::copy(theirs.join(name), cosbench.join(name)).unwrap();
    }
    for file in [history, cosbench.join("w3-mock-full.csv"), cosbench.join("workload-config.xml")] {
        let (before, output) = (fs::read(&file).unwrap(), file.display().to_string());
        let (code, said) = write_to(dir, &writers()[0], &output);
        assert!(code == Some(2) && said.contains("a file of "), "{output}: {code:?} {said}");
        assert!(fs::read(&file).unwrap() == before, "{output}");
    }
    // What was not there before, and the report, are nobody's loss.
    for name in ["new.csv", "report.html"] {
        let output = found.join(name).display().to_string();
        let (code, said) = write_to(dir, &writers()[0], &output);
        assert_eq!(code, Some(0), "{name}: {said}");
    }
}

#[test]
fn pictures_go_through_links_too() {
    let directory = prepared();
    let dir = directory.path();
    fs::create_dir(dir.join("plots")).unwrap();
    let drawn = run(dir, &["plot", "w1", "-o", "first"]);
    assert!(drawn.status.success(), "{}", stderr(&drawn));
    for entry in fs::read_dir(dir.join("first")).unwrap() {
        let name = entry.unwrap().file_name();
        symlink(format!("../kept-{}", name.display()), dir.join("plots").join(&name)).unwrap();
    }
    let drawn = run(dir, &["plot", "w1", "-o", "plots"]);
    assert!(drawn.status.success(), "{}", stderr(&drawn));
    let links: Vec<_> = fs::read_dir(dir.join("plots")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!links.is_empty());
    for link in links {
        assert!(link.is_symlink() && fs::metadata(&link).unwrap().len() > 0, "{}", link.display());
    }
}

#[test]
fn what_is_missing_of_a_run_is_said_and_its_figures_are_shown() {
    let directory = prepared();
    let dir = directory.path();
    let log = cosmark_archive::list(&dir.join("archive")).unwrap().remove(0).path.join("histograms.hlog");
    let commands = [
        "show w1",
        "judge w1",
        "plot w1 -o pictures",
        "compare w1 w1",
        "report w1 -o page.html",
        "export w1 --format prometheus -o w1.prom",
        "export w1 --format influx -o w1.lp",
        "export w1 --format hlog -o w1.hlog",
    ];
    let done = |command: &str| run(dir, &command.split(' ').collect::<Vec<_>>());
    for command in commands {
        assert!(!stderr(&done(command)).contains("histograms.hlog"), "{command}");
    }
    let whole = fs::read(&log).unwrap();
    let half = &whole[..whole.len() / 2];
    fs::write(&log, half.strip_suffix(b"\n").unwrap_or(half)).unwrap();
    for command in commands {
        let said = stderr(&done(command));
        assert!(said.contains("w1: histograms.hlog ends in the middle of a line"), "{command}: {said}");
    }
    let shown = done("show w1");
    assert!(shown.status.success() && stdout(&shown).contains("read"), "{}", stdout(&shown));
    if is_there(dir, &writers()[3]) {
        let page = fs::read_to_string(dir.join("page.html")).unwrap();
        assert!(page.contains("histograms.hlog ends in the middle of a line"));
    }
    // What lacks one line, wherever it was cut, gives no percentiles away and draws nothing without a word.
    let text = String::from_utf8(whole).unwrap();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let last = lines.iter().rposition(|line| line.contains(".response,")).unwrap();
    lines.remove(last);
    fs::write(&log, lines.concat()).unwrap();
    for command in commands {
        let said = stderr(&done(command));
        assert!(said.contains("w1: histograms.hlog has "), "{command}: {said}");
    }
    if is_there(dir, &writers()[3]) {
        let page = fs::read_to_string(dir.join("page.html")).unwrap();
        assert!(page.contains("histograms.hlog has ") && !page.contains("in the middle of a line"));
    }
}
