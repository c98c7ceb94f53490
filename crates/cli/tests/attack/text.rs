//! What a store says, and what names say: nothing of it drives the terminal of who looks, breaks a line of a log, or becomes a
//! formula in a spreadsheet.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{run, stderr, stdout};
use crate::table::Attacks;

/// What a store may put into its codes and messages: name, text.
const SAID: &[(&str, &str)] = &[
    ("clears the screen", "\u{1b}[2J\u{1b}[H"),
    ("sets the title", "\u{1b}]0;owned\u{7}"),
    ("writes to the clipboard", "\u{1b}]52;c;ZWNobw==\u{7}"),
    ("hides what follows", "\u{1b}[8m"),
    ("8-bit control", "\u{9b}31m"),
    ("rings, backs up, writes over", "\u{7}\u{8}\u{8}\r"),
    ("turns the direction of writing", "\u{202e}gpj.exe\u{202c}"),
    ("begins a line of its own", "x\r\n2030-01-01 [FATAL] forged"),
    ("ends a line by Unicode", "x\u{2028}forged\u{2029}"),
    ("a zero byte", "a\0b"),
    ("leaves its place in a page", "</script><script>alert(1)</script>"),
];

/// Answers every request with this body and 403.
struct Store {
    port: u16,
    is_over: Arc<AtomicBool>,
}

impl Store {
    fn start(text: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::Acquire) {
                    break;
                }
                std::thread::spawn(move || answer(stream, text));
            }
        });
        Self { port, is_over }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn answer(mut stream: TcpStream, text: &str) {
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        heard.extend_from_slice(&buffer[..count]);
        let Some(end) = heard.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let is_list = heard.starts_with(b"GET / ");
        heard.drain(..end + 4);
        let (status, body) = if is_list {
            ("200 OK", "<ListAllMyBucketsResult/>".to_owned())
        } else {
            (
                "403 Forbidden",
                format!("<Error><Code>No{text}</Code><Message>said {text} end</Message></Error>"),
            )
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_err() {
            return;
        }
    }
}

/// What may not stand in a text that people look at; line ends are the text's own.
fn hostile(text: &str) -> Option<char> {
    text.chars().find(|c| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        if entry.path().is_dir() {
            files.extend(files_below(&entry.path()))
        } else {
            files.push(entry.path())
        }
    }
    files
}

#[test]
fn what_a_store_says_stays_text() {
    let mut attacks = Attacks::on("what a store says");
    for (name, text) in SAID {
        let store = Store::start(text);
        let directory = tempfile::tempdir().unwrap();
        let workload = format!(
            "name: t\nstorage: {{type: s3, endpoint: 'http://127.0.0.1:{}', accesskey: a, secretkey: b, path_style_access: true}}\n\
             stages:\n  - name: main\n    works:\n      - {{name: main, workers: 1, total_ops: 3, operations: [{{type: read, \
             containers: c(1), objects: 'u(1,9)'}}]}}\n",
            store.port
        );
        fs::write(directory.path().join("t.yaml"), workload).unwrap();
        let output = run(directory.path(), &["run", "t.yaml", "--archive", "archive"]);
        let mut seen =
            vec![("terminal".to_owned(), stdout(&output)), ("terminal".to_owned(), stderr(&output))];
        for more in [&["show", "w1"][..], &["judge", "w1"], &["list"]] {
            let told = run(directory.path(), &[more, &["--archive", "archive"]].concat());
            seen.push((more.join(" "), stdout(&told) + &stderr(&told)));
        }
        // Some of it was heard, or nothing is proved.
        let run_json = files_below(&directory.path().join("archive"))
            .into_iter()
            .find(|path| path.ends_with("run.json"))
            .map(|path| fs::read_to_string(path).unwrap_or_default())
            .unwrap_or_default();
        assert!(run_json.contains("said "), "{name}: {run_json}\n{}", stderr(&output));
        for path in files_below(&directory.path().join("archive")) {
            // Pictures, histograms and the page's own script are no text of the store's.
            if let Ok(text) = fs::read_to_string(&path)
                && path.extension().is_none_or(|ending| ending != "html")
            {
                seen.push((path.file_name().unwrap().to_string_lossy().into_owned(), text));
            }
        }
        let found = seen.iter().find_map(|(place, text)| hostile(text).map(|c| format!("{c:?} in {place}")));
        let forged = seen.iter().any(|(_, text)| text.lines().any(|line| line.starts_with("2030-01-01")));
        let outcome = match found {
            Some(found) => Err(found),
            None if forged => Err("a line of its own".to_owned()),
            None => Ok(format!("shown as text in {} places", seen.len())),
        };
        attacks.tell(name, "terminal, run.json, logs, tables", outcome);
    }
}

#[test]
fn what_stands_in_a_directory_of_a_study_stays_text() {
    let mut attacks = Attacks::on("studies of others");
    for (name, text) in SAID {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("study-x");
        fs::create_dir_all(&place).unwrap();
        let (run, why) = (format!("x.{text}.r1"), format!("said {text} end"));
        let steps = [
            serde_json::json!({"step": "design", "study": format!("x{text}"), "scale": "quick",
                "as_published": false, "seed": 1, "digest": "0", "at_s": 1}),
            serde_json::json!({"step": "begin", "run": run, "at_s": 1}),
            serde_json::json!({"step": "called", "call": {}}),
            serde_json::json!({"step": "rested", "at_s": 2, "how": "trouble", "why": why}),
        ];
        let journal: String = steps.iter().map(|step| format!("{step}\n")).collect();
        fs::write(place.join("journal.jsonl"), journal).unwrap();
        let output = crate::support::run(directory.path(), &["study", "status", "--dir", "study-x"]);
        let told = stdout(&output) + &stderr(&output);
        assert!(told.contains("said "), "{name}: {told}");
        let outcome =
            hostile(&told).map_or_else(|| Ok("shown as text".to_owned()), |c| Err(format!("{c:?}")));
        attacks.tell(name, "who looks how far a study is", outcome);
    }
}

/// Names that a spreadsheet would take for a formula.
const FORMULAS: &[&str] = &["=1+1", "@SUM(A1:A9)", "+1-1x", "-2+3x", "=HYPERLINK(\"http://x\")", "'=1+1"];

/// Cells of a table by RFC 4180.
fn cells(text: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => is_quoted = !is_quoted,
            // Rows end with both.
            '\r' if !is_quoted && chars.peek() == Some(&'\n') => {}
            ',' | '\n' if !is_quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    cells
}

#[test]
fn names_are_no_formulas_in_any_table() {
    let mut attacks = Attacks::on("names in tables");
    for name in FORMULAS {
        let directory = tempfile::tempdir().unwrap();
        let quoted = format!("'{}'", name.replace('\'', "''"));
        let workload = format!(
            "name: {quoted}\nstorage: {{type: mock}}\nstages:\n  - name: {quoted}\n    works:\n      - {{name: {quoted}, workers: 1, \
             total_ops: 20, operations: [{{type: write, name: {quoted}, containers: c(1), objects: 'u(1,9)', sizes: c(1)KB}}]}}\n"
        );
        fs::write(directory.path().join("n.yaml"), workload).unwrap();
        let output = run(directory.path(), &["run", "n.yaml", "--archive", "archive"]);
        let exported = run(directory.path(), &["export", "w1", "--format", "csv", "--archive", "archive"]);
        let mut tables = vec![("export".to_owned(), stdout(&exported))];
        for path in files_below(&directory.path().join("archive")) {
            if path.extension().is_some_and(|ending| ending == "csv") {
                let text = fs::read_to_string(&path).unwrap();
                tables.push((path.file_name().unwrap().to_string_lossy().into_owned(), text));
            }
        }
        assert!(tables.len() > 5 && !tables[0].1.is_empty(), "{}{}", stderr(&output), stderr(&exported));
        let is_formula = |cell: &String| {
            cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err()
        };
        let found = tables.iter().find_map(|(table, text)| {
            cells(text).into_iter().find(is_formula).map(|cell| format!("{cell} in {table}"))
        });
        attacks.tell(
            &format!("everything is called {name}"),
            "who opens a table in a spreadsheet",
            found.map_or_else(|| Ok(format!("no formula in {} tables", tables.len())), Err),
        );
        // The names come back as they were, to Cosmark and to whoever reads run.json.
        let shown = run(directory.path(), &["show", "w1", "--json", "--archive", "archive"]);
        let record: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(record["stages"][0]["name"], *name, "{record}");
    }
}
