//! The pages of `docs/` against the binary: tables and help are what it says, examples are what it accepts, links lead
//! somewhere. `UPDATE_DOCS=1 cargo test -p cosmark --test docs` writes the generated parts again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

#[path = "docs/wrap.rs"]
mod wrap;

#[allow(dead_code, reason = "only its table is needed here")]
#[path = "../src/exit.rs"]
mod exit;

/// Held by whoever writes a page: the tests of this program run beside each other.
static WRITING: Mutex<()> = Mutex::new(());

const BEGIN: &str = "<!-- generated: UPDATE_DOCS=1 cargo test -p cosmark --test docs -->";
const END: &str = "<!-- end of the generated part -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The binary in a terminal of 100 columns, started in the repository's root.
fn cosmark(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cosmark"))
        .args(args)
        .current_dir(root())
        .env("COLUMNS", if args == ["adaptors"] { "1000" } else { "100" })
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = cosmark(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The page with `part` between its marks.
fn with_part(page: &str, part: &str) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n\n{}\n\n{END}{tail}", part.trim()))
}

fn compare(page: &str, part: &str) {
    compare_at(&format!("reference/{page}"), part);
}

fn compare_at(page: &str, part: &str) {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let path = root().join("docs").join(page);
    let is = fs::read_to_string(&path).unwrap();
    let should = with_part(&is, part).unwrap_or_else(|| panic!("{page} has no marks `{BEGIN}` and `{END}`"));
    let should = wrap::wrap(&should);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, should).unwrap();
    } else {
        let differs = is.lines().zip(should.lines()).position(|(is, should)| is != should);
        assert!(
            is == should,
            "{page} is not what the binary says, first at line {}; run UPDATE_DOCS=1 cargo test -p cosmark --test docs",
            differs.unwrap_or_else(|| is.lines().count().min(should.lines().count())) + 1
        );
    }
}

#[test]
fn a_changed_part_is_noticed_and_the_rest_of_the_page_stays() {
    let page = format!("# Head\n{BEGIN}\n\nold\n\n{END}\ntail\n");
    assert_eq!(with_part(&page, "old\n"), Some(page.clone()));
    let new = with_part(&page, "new").unwrap();
    assert!(
        new != page && new.starts_with("# Head\n") && new.ends_with("\ntail\n") && new.contains("\nnew\n")
    );
    assert_eq!(with_part("# no marks", "x"), None);
}

/// Subcommands as the help lists them, without `help`.
fn subcommands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_page_of_the_command_line_is_the_help() {
    let help = stdout(&["--help"]);
    let mut part = format!("## cosmark\n\n```text\n{}\n```\n", help.trim_end());
    let names = subcommands(&help);
    assert!(names.len() >= 12, "{names:?}");
    for name in names {
        let own = stdout(&[&name, "--help"]);
        let _ = write!(part, "\n## cosmark {name}\n\n```text\n{}\n```\n", own.trim_end());
        for below in subcommands(&own) {
            let help = stdout(&[&name, &below, "--help"]);
            let _ = write!(part, "\n### cosmark {name} {below}\n\n```text\n{}\n```\n", help.trim_end());
        }
    }
    // Quotes of help are written as they are typed in a shell.
    let escaped: Vec<&str> = part.lines().filter(|line| line.contains("\\\"")).collect();
    assert!(escaped.is_empty(), "marks of escapes in help: {escaped:#?}");
    compare("command-line.md", &part);
}

#[test]
fn the_page_of_exit_codes_is_the_table_and_the_help_knows_all_of_them() {
    let help = stdout(&["--help"]);
    let codes = help.split_once("Exit codes:").unwrap().1;
    let mut part = "| code | meaning |\n|---|---|\n".to_owned();
    for (_, code, meaning) in exit::Exit::TABLE {
        let _ = writeln!(part, "| {code} | {meaning} |");
        assert!(codes.contains(&format!("{code} ")), "the help says nothing of exit code {code}");
    }
    compare("exit-codes.md", &part);
}

#[test]
fn the_page_of_certification_has_every_question() {
    let mut part = String::new();
    let mut group = "";
    for row in cosmark_certify::QUESTIONS.iter().copied().flatten() {
        if row.group.title() != group {
            group = row.group.title();
            let _ = write!(part, "\n### {group}\n\n| question | asks | right | by |\n|---|---|---|---|\n");
        }
        let slow = if row.is_slow { " (not with `--quick`)" } else { "" };
        let _ = writeln!(
            part,
            "| `{}` | {}{slow} | {} | {} |",
            row.id,
            cell(row.asks),
            cell(row.right),
            cell(row.source)
        );
    }
    part.push_str("\n### Answers\n\n| answer | means |\n|---|---|\n");
    for (_, word, meaning) in cosmark_certify::Answer::TABLE {
        let _ = writeln!(part, "| {word} | {meaning} |");
    }
    compare("certify.md", &part);
}

#[test]
fn the_page_of_errors_is_the_table() {
    let mut part = "| class | meaning |\n|---|---|\n| `http_503`, .. | the store answered with this HTTP status, or its protocol's \
                    equivalent |\n"
        .to_owned();
    for (_, label, meaning) in cosmark_adaptor_api::ErrorKind::TABLE {
        let _ = writeln!(part, "| `{label}` | {} |", cell(meaning));
    }
    part.push_str("| `other` | a class that this version does not know, in a log of another version |\n");
    compare("errors.md", &part);
}

#[test]
fn the_page_on_believing_a_result_has_every_check_and_every_fact_about_a_store() {
    let mut part =
        "| | check | it asks | it needs | warns | fails | then |\n|---|---|---|---|---|---|---|\n".to_owned();
    for row in cosmark_verdict::CHECKS {
        let texts = [row.question, row.needs, row.warns, row.fails, row.remedy].map(cell);
        let _ = writeln!(part, "| {} | `{}` | {} |", row.id, row.name, texts.join(" | "));
    }
    part.push_str("\nFacts about the store, keys of any storage:\n\n| key | value | says |\n|---|---|---|\n");
    for key in cosmark_adaptor_api::STORE_FACTS {
        let _ = writeln!(part, "| `{}` | {} | {} |", key.name, cell(&key.kind.describe()), cell(key.help));
    }
    compare_at("guide/believing-a-result.md", &part);
}

/// What stands before ` checks` as a number, in every place of a page.
fn counts_of_checks(page: &str) -> Vec<usize> {
    let before =
        page.match_indices(" checks").filter_map(|(at, _)| page[..at].split_whitespace().next_back());
    before.filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn pages_that_count_the_checks_of_a_verdict_count_them_all() {
    let there = cosmark_verdict::CHECKS.iter().filter(|row| row.id.starts_with('V')).count();
    let mut count = 0;
    for (path, page) in with_commands() {
        for said in counts_of_checks(&page) {
            count += 1;
            assert_eq!(said, there, "{} counts {said} checks", path.display());
        }
    }
    assert!(count >= 4, "only {count} pages were found");
    assert_eq!(counts_of_checks("made of 26 checks: or\n7 checks, 2 s or more checks"), [26, 7]);
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn words(value: &Value) -> String {
    let all = value.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned());
    all.collect::<Vec<_>>().join(", ")
}

fn section(def: &Value, what: &str) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut part = format!("### {what} `{}`\n\n{}.\n", text(&def["name"]), text(&def["summary"]));
    if !words(&def["aliases"]).is_empty() {
        let _ = write!(part, "\nOther names: {}.\n", words(&def["aliases"]));
    }
    if def["capability"].is_array() && !words(&def["capability"]).is_empty() {
        let _ = write!(part, "\nIt can: {}.\n", words(&def["capability"]));
    }
    let keys = def["keys"].as_array().unwrap();
    if keys.is_empty() {
        return part + "\nIt has no keys.\n";
    }
    part += "\n| key | value | default | meaning |\n|---|---|---|---|\n";
    for key in keys {
        let aliases = words(&key["aliases"]);
        let also = if aliases.is_empty() { String::new() } else { format!(" ({aliases})") };
        let default = text(&key["default"]);
        let default = if default.is_empty() { default } else { format!("`{}`", cell(&default)) };
        let secret = if key["secret"] == true { "secret; " } else { "" };
        let env = key["env"].as_str().map(|name| format!("; environment: `{name}`")).unwrap_or_default();
        let _ = writeln!(
            part,
            "| `{}`{also} | {} | {default} | {secret}{}{env} |",
            text(&key["name"]),
            cell(&text(&key["value"])),
            cell(&text(&key["help"]))
        );
    }
    part
}

#[test]
fn the_page_of_adaptors_is_their_tables() {
    let all: Value = serde_json::from_str(&stdout(&["adaptors", "--json"])).unwrap();
    let mut part = String::new();
    for (kind, title) in [("storage", "Storage"), ("auth", "Auth")] {
        let _ = write!(part, "## {title} types\n\n");
        let sections = all[kind].as_array().unwrap().iter().map(|def| section(def, kind));
        part += &sections.collect::<Vec<_>>().join("\n");
        part += "\n";
    }
    let list = stdout(&["adaptors"]);
    let known = list.split_once("known, but not spoken by this build\n").unwrap().1;
    part += "## Known, but not spoken\n\n| type | what to do |\n|---|---|\n";
    for line in known.lines().filter(|line| line.starts_with("  ")) {
        let (name, sentence) = line.trim().split_once(' ').unwrap();
        let _ = writeln!(part, "| `{name}` | {} |", cell(sentence.trim()));
    }
    compare("adaptors.md", &part);
}

/// Markdown files of the repository: the root's, `docs`, `testbeds`.
fn pages() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut places = vec![root()];
    while let Some(place) = places.pop() {
        for entry in fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            let below =
                place != root() || ["docs", "testbeds", "benches"].iter().any(|name| path.ends_with(name));
            if path.is_dir() && below {
                places.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push((path.clone(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(found.len() > 10, "{found:?}");
    found
}

#[test]
fn lines_of_prose_fit_on_a_screen() {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut long = Vec::new();
    for (path, page) in pages() {
        let filled = wrap::wrap(&page);
        if filled != page && std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, filled).unwrap();
        } else if filled != page {
            long.push(path);
        }
    }
    assert!(
        long.is_empty(),
        "paragraphs have lines of more than {} signs: UPDATE_DOCS=1 cargo test -p cosmark --test docs fills them: {long:?}",
        wrap::WIDTH
    );
}

fn guides() -> Vec<(PathBuf, String)> {
    let guides: Vec<_> =
        pages().into_iter().filter(|(path, _)| is_guide(path) || path.ends_with("docs/README.md")).collect();
    assert!(guides.len() >= 5, "{guides:?}");
    guides
}

fn is_guide(path: &Path) -> bool {
    path.starts_with(root().join("docs/guide"))
}

/// Texts of the fenced blocks of a language, with the line after their fence.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<(usize, Vec<&'a str>)> {
    let mut found: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut inside: Option<bool> = None;
    for (at, line) in page.lines().enumerate() {
        match (inside, line.trim_start().strip_prefix("```")) {
            (None, Some(name)) => {
                inside = Some(name == language);
                if name == language {
                    found.push((at + 2, Vec::new()));
                }
            }
            (Some(_), Some(_)) => inside = None,
            (Some(true), None) => found.last_mut().unwrap().1.push(line),
            (Some(false) | None, None) => {}
        }
    }
    found
}

/// Whole workloads that stand in a block of no format, or in an indented one, where nobody would check them: the lines that
/// their stages begin at.
fn unchecked_workloads(page: &str) -> Vec<usize> {
    let mut language: Option<&str> = None;
    let mut found = Vec::new();
    for (at, line) in page.lines().enumerate() {
        let text = line.trim_start();
        if let Some(name) = text.strip_prefix("```") {
            language = language.is_none().then_some(name);
            continue;
        }
        let is_code = language.is_some() || line.starts_with("    ");
        let begins = text.starts_with("stages:") || text.starts_with("<workflow>");
        if is_code && begins && !matches!(language, Some("yaml" | "xml")) {
            found.push(at + 1);
        }
    }
    found
}

#[test]
fn every_whole_workload_of_a_page_stands_where_it_is_checked() {
    let mut bad = Vec::new();
    for (path, page) in pages() {
        bad.extend(unchecked_workloads(&page).into_iter().map(|line| format!("{}:{line}", path.display())));
    }
    assert!(bad.is_empty(), "put these into a block of yaml or xml, which is checked: {bad:?}");
    let yaml = "name: x\nstages:\n  - {name: s}\n";
    assert_eq!(unchecked_workloads(&format!("```yaml\n{yaml}```\n\n```text\n{yaml}```\n")), [9]);
    assert_eq!(unchecked_workloads("An example:\n\n    name: x\n    stages:\n"), [4]);
    assert_eq!(unchecked_workloads("\n    <workload>\n      <workflow>\n"), [3]);
    assert!(unchecked_workloads("stages: these run\n").is_empty());
}

/// The workload with a stage before its first one that fills the data set which it reads: an earlier run did that.
fn filled_before(text: &str) -> String {
    let named = text.split("dataset: ").nth(1).filter(|_| !text.contains("fill:"));
    let Some(name) = named.and_then(|rest| rest.split([',', '}', '\n']).next()) else {
        return text.to_owned();
    };
    let fill = format!(
        "stages:\n  - {{name: fill, fill: {{dataset: {name}, objects: 1000000, containers: 'r(1,4)', sizes: c(10)KB, workers: 4}}}}"
    );
    text.replacen("stages:", &fill, 1)
}

/// What the binary says against a block: a whole workload, or a target for one.
fn complaint(text: &str) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("block.yaml");
    let text = &filled_before(text);
    fs::write(&file, format!("{text}\n")).unwrap();
    let file = file.display().to_string();
    let has = |field: &str| text.lines().any(|line| line.starts_with(field));
    let output = if has("stages:") {
        cosmark(&["check", &file])
    } else if has("storage:") || has("auth:") {
        let whole = cosmark(&["check", "workloads/smoke.yaml", "--target", &file]);
        if String::from_utf8_lossy(&whole.stderr).contains("has no listings") {
            let smoke = fs::read_to_string(root().join("workloads/smoke.yaml")).unwrap();
            let listing = "          - type: list\n            ratio: 10\n            containers: u(1,2)\n";
            assert!(smoke.contains(listing));
            let without = directory.path().join("smoke.yaml");
            fs::write(&without, smoke.replace(listing, "")).unwrap();
            cosmark(&["check", without.to_str().unwrap(), "--target", &file])
        } else {
            whole
        }
    } else {
        return Some("neither a workload (stages:) nor a target (storage:, auth:)".to_owned());
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // A warning is no good example either.
    (!output.status.success() || said.contains("warning")).then_some(said)
}

#[test]
fn every_yaml_example_of_the_guides_and_every_workload_is_accepted_without_a_warning() {
    let mut count = 0;
    for (path, page) in pages() {
        for (line, text) in blocks(&page, "yaml") {
            // Other pages show single fields, too.
            if !is_guide(&path) && !text.iter().any(|line| line.starts_with("stages:")) {
                continue;
            }
            count += 1;
            if let Some(said) = complaint(&text.join("\n")) {
                panic!("{}:{line}:\n{said}", path.display());
            }
        }
    }
    assert!(count >= 10, "{count}");
    assert!(
        complaint("name: x\nstorage: {type: mock}\nstages: [{name: m, works: [{workers: 0}]}]").is_some()
    );
    assert!(complaint("storage: {type: s3, endpoit: http://h}").is_some());
    assert!(complaint("ratio: 1").is_some());
}

#[test]
fn every_xml_example_of_the_guides_and_every_workload_is_accepted() {
    let mut count = 0;
    for (path, page) in pages() {
        for (line, text) in blocks(&page, "xml") {
            if !is_guide(&path) && !text.iter().any(|line| line.contains("<workflow>")) {
                continue;
            }
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("block.xml");
            fs::write(&file, text.join("\n")).unwrap();
            let output = cosmark(&["check", &file.display().to_string()]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                output.status.success() && !said.contains("warning"),
                "{}:{line}:\n{said}",
                path.display()
            );
            count += 1;
        }
    }
    assert!(count >= 1, "no example was found");
}

/// The arguments of a line that calls the binary, as a shell would cut them; `#`, `>` and `|` end it.
fn arguments(line: &str) -> Option<Vec<String>> {
    let line = line.trim().trim_start_matches("$ ");
    let call = line.split_whitespace().position(|word| word == "cosmark")?;
    let before = line.split_whitespace().take(call);
    if before.into_iter().any(|word| !word.contains('=')) {
        return None;
    }
    let rest = line.split_once("cosmark")?.1;
    let mut arguments: Vec<String> = Vec::new();
    // The quote that a word of several pieces began with.
    let mut open: Option<char> = None;
    for word in rest.split_whitespace() {
        if let (Some(quote), Some(last)) = (open, arguments.last_mut()) {
            last.push(' ');
            last.push_str(word.trim_end_matches(quote));
            open = open.filter(|quote| !word.ends_with(*quote));
            continue;
        }
        if word.starts_with(['#', '>', '|', '&']) {
            break;
        }
        open =
            word.chars().next().filter(|first| ['"', '\''].contains(first) && !word[1..].ends_with(*first));
        arguments.push(word.trim_matches(['"', '\'']).to_owned());
    }
    Some(arguments)
}

/// Lines that are commands of the binary, with their numbers: those of `sh` blocks, and indented ones that begin with its
/// name, as a page without fences shows them.
fn commands(page: &str) -> Vec<(usize, &str)> {
    let blocks = blocks(page, "sh").into_iter();
    let mut found: Vec<(usize, &str)> = blocks
        .flat_map(|(line, text)| text.into_iter().enumerate().map(move |(at, one)| (line + at, one)))
        .collect();
    let mut is_fenced = false;
    for (at, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced && line.strip_prefix("    ").is_some_and(|rest| rest.starts_with("cosmark ")) {
            found.push((at + 1, line));
        }
    }
    found
}

/// Pages that show commands: the guides, the reference and the first page of the repository.
fn with_commands() -> Vec<(PathBuf, String)> {
    let reference = root().join("docs/reference");
    let others = pages().into_iter();
    let mut found: Vec<_> = others
        .filter(|(path, _)| path.starts_with(&reference) || *path == root().join("README.md"))
        .collect();
    found.extend(guides());
    found
}

fn refused(arguments: &[String]) -> Option<String> {
    let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // Flags and values are read up to here; then the help is shown and nothing is done.
    all.push("--help");
    let output = cosmark(&all);
    if !output.status.success() {
        return Some(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let missing = arguments.iter().find(|one| {
        ["workloads/", "testbeds/", "docs/"].iter().any(|place| one.starts_with(place))
            && !root().join(one).exists()
    });
    missing.map(|one| format!("{one} is not there"))
}

#[test]
fn every_command_of_guides_and_reference_has_only_flags_and_files_that_exist() {
    let mut count = 0;
    for (path, page) in with_commands() {
        for (line, call) in
            commands(&page).into_iter().filter_map(|(line, one)| Some((line, arguments(one)?)))
        {
            count += 1;
            if let Some(said) = refused(&call) {
                panic!("{}:{line}: cosmark {call:?}\n{said}", path.display());
            }
        }
    }
    assert!(count >= 100, "{count}");
    let both = "```sh\ncosmark a\n```\n\n    cosmark b\n    name: c\n\n```text\n    cosmark d\n```\n";
    assert_eq!(commands(both), [(2, "cosmark a"), (5, "    cosmark b")]);
    assert!(refused(&["report".into(), "w3".into(), "--open".into(), "yes".into()]).is_some());
    assert!(refused(&["run".into(), "x.yaml".into(), "--fast".into()]).is_some());
    assert!(refused(&["run".into(), "workloads/none.yaml".into()]).is_some());
    assert_eq!(
        arguments("A=1 cosmark run \"a\" --json > b"),
        Some(vec!["run".into(), "a".into(), "--json".into()])
    );
    assert_eq!(arguments("cargo run cosmark"), None);
}

/// Commands in backquotes in a text of the program, with something for what it fills in, and without ` ..` at their ends.
fn named(text: &str) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for rest in text.split("`cosmark ").skip(1) {
        let Some((call, _)) = rest.split_once('`').filter(|(call, _)| !call.contains('\n')) else { continue };
        let mut filled = String::new();
        for (at, part) in call.split('{').enumerate() {
            let rest = if at == 0 { part } else { part.split_once('}').map_or("", |(_, rest)| rest) };
            filled.push_str(if at == 0 { "" } else { "x" });
            filled.push_str(rest);
        }
        found.extend(arguments(&format!("cosmark {}", filled.trim_end_matches(" .."))));
    }
    found
}

#[test]
fn every_command_that_the_program_names_has_only_flags_that_exist() {
    let mut text = String::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        texts_of(&entry.unwrap().path().join("src"), &[".rs"], &mut text);
    }
    let calls = named(&text);
    assert!(calls.len() >= 100, "{}", calls.len());
    for call in &calls {
        // An option may be named without its value.
        let said = refused(call).filter(|said| !said.contains("a value is required for"));
        assert_eq!(said, None, "{call:?}");
    }
    let call = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let both = "`cosmark show {id} --archive {}`, `cosmark serve ..`, `other show`, `cosmark a\n`";
    let found = [call(&["serve"]), call(&["show", "x", "--archive", "x"])];
    assert_eq!(named(both), BTreeSet::from(found));
    assert!(refused(&call(&["datasets", "--archive", "x"])).is_some());
}

/// What a text gives services in `COSMARK_NAME_ARGS="..."`: the subcommand and its arguments.
fn of_services(text: &str) -> Vec<Vec<String>> {
    let one = |rest: &str| {
        let (name, rest) = rest.split_once("_ARGS=\"")?;
        let (given, _) = rest.split_once('"')?;
        let call = std::iter::once(name.to_lowercase());
        Some(call.chain(given.split_whitespace().map(str::to_owned)).collect())
    };
    text.split("COSMARK_").skip(1).filter_map(one).collect()
}

#[test]
fn services_are_started_with_the_logins_and_the_state_that_the_page_makes_for_them() {
    const STATE: &str = "--state /var/lib/cosmark/state ";
    let page = fs::read_to_string(root().join("docs/guide/deploy.md")).unwrap();
    let section = page.split("### systemd\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let unit = |name: &str| {
        fs::read_to_string(root().join(format!("deploy/systemd/cosmark-{name}.service"))).unwrap()
    };
    let texts = [section.to_owned(), unit("controller"), unit("driver"), unit("node")];
    let calls: Vec<Vec<String>> = texts.iter().flat_map(|text| of_services(text)).collect();
    for call in &calls {
        assert_eq!(refused(call), None, "{call:?}");
    }
    let names: Vec<&str> = calls.iter().map(|call| call[0].as_str()).collect();
    assert_eq!(names, ["controller", "driver", "controller", "driver", "node"]);
    // A login is for the driver of its name; the user of the services makes it, where their controller looks for its key.
    let writes = section.lines().find(|line| line.contains("--write-nats-config")).unwrap();
    assert!(
        writes.contains("--nats-driver d1") && section.contains("install -m 640 -g cosmark driver-d1.nk")
    );
    assert!(calls[1].join(" ").contains(" --name d1 --nats-nkey-file /etc/cosmark/driver.nk "), "{calls:?}");
    assert!(calls[0].join(" ").contains("--nats-nkey-file /etc/cosmark/nats/controller.nk "), "{calls:?}");
    assert!(writes.contains(" --write-nats-config /etc/cosmark/nats ") && unit("controller").contains(STATE));
    let by_hand: Vec<&str> = section.lines().filter(|line| line.contains("cosmark controller ")).collect();
    assert_eq!(by_hand.len(), 2, "{by_hand:?}");
    for line in by_hand {
        assert!(
            line.starts_with("    runuser -u cosmark -- cosmark controller ") && line.contains(STATE),
            "{line}"
        );
        let called = arguments(line.trim_start().trim_start_matches("runuser -u cosmark -- ")).unwrap();
        assert_eq!(refused(&called), None, "{line}");
    }
    assert!(section.contains("journalctl -u cosmark-controller"), "where the first token is");
}

/// Targets of `[text](target)` in a page, without what begins with a scheme or stands in a fenced block.
fn links(page: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_block = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if !in_block {
            let ends = line.match_indices("](").filter_map(|(at, _)| line[at + 2..].split(')').next());
            found.extend(ends.filter(|link| !link.contains("://") && !link.starts_with('#')));
        }
    }
    found
}

#[test]
fn every_link_leads_to_a_file_that_is_there() {
    for (path, page) in pages() {
        for link in links(&page) {
            let file = link.split('#').next().unwrap();
            assert!(path.parent().unwrap().join(file).exists(), "{}: {link} is not there", path.display());
        }
    }
    assert_eq!(links("[a](b.md#c) [d](https://e) [f](#g)\n```\n[h](i)\n```\n"), ["b.md#c"]);
}

/// Names in backticks in the last column of the table of a page.
fn names_in_last_column(page: &str) -> Vec<&str> {
    let rows = page.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---")).skip(1);
    rows.flat_map(|row| {
        row.trim_end_matches('|').rsplit('|').next().unwrap_or("").split('`').skip(1).step_by(2)
    })
    .collect()
}

fn texts_of(place: &Path, kinds: &[&str], into: &mut String) {
    for entry in fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !["target", "node_modules", "artefacts", "dist"].contains(&name.as_str()) {
            texts_of(&path, kinds, into);
        } else if kinds.iter().any(|kind| name.ends_with(kind)) {
            into.push_str(&fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

#[test]
fn every_test_of_what_was_found_wrong_is_there() {
    let page = fs::read_to_string(root().join("docs/extend/kept-right.md")).unwrap();
    let (mut rust, mut console, mut python) = (String::new(), String::new(), String::new());
    texts_of(&root().join("crates"), &[".rs"], &mut rust);
    texts_of(&root().join("console/src"), &[".test.ts"], &mut console);
    texts_of(&root().join("console/e2e"), &[".mjs"], &mut console);
    texts_of(&root().join("python/tests"), &[".py"], &mut python);
    let is_there = |name: &str| {
        let of_rust = !name.contains(' ') && rust.contains(&format!("fn {name}("));
        of_rust || python.contains(&format!("def {name}(")) || (name.contains(' ') && console.contains(name))
    };
    let names = names_in_last_column(&page);
    assert!(names.len() > 40, "{names:?}");
    let missing: Vec<&&str> = names.iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "docs/extend/kept-right.md names tests that do not exist: {missing:#?}");
    assert!(!is_there("no_such_test") && !is_there("no such test at all"));
    assert_eq!(names_in_last_column("| a | b |\n|---|---|\n| `x` | `c`, `d e` |\n`f`\n"), ["c", "d e"]);
}

#[test]
fn the_index_names_every_page() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    for place in ["guide", "reference"] {
        for entry in fs::read_dir(root().join("docs").join(place)).unwrap() {
            let name = format!("{place}/{}", entry.unwrap().file_name().to_string_lossy());
            assert!(index.contains(&format!("]({name})")), "docs/README.md does not name {name}");
        }
    }
}

/// The values that the help of an option lists, one a line.
fn values_in_help<'a>(help: &'a str, option: &str) -> Vec<&'a str> {
    let of_option = help.lines().skip_while(|line| !line.trim_start().starts_with(option)).skip(1);
    let until_next = of_option.take_while(|line| !line.trim_start().starts_with("-o"));
    let values = until_next.filter_map(|line| line.trim_start().strip_prefix("- "));
    values.filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect()
}

#[test]
fn the_table_of_variables_has_those_that_the_program_reads() {
    let page = fs::read_to_string(root().join("docs/reference/command-line.md")).unwrap();
    let mut text = String::new();
    texts_of(&root().join("crates/cli/src"), &[".rs"], &mut text);
    let is_of_name = |sign: char| sign.is_ascii_uppercase() || sign == '_';
    let named = text.match_indices("\"COSMARK_").map(|(at, _)| &text[at + 1..]);
    let names: BTreeSet<&str> = named
        .filter_map(|rest| rest.split_once('"'))
        .map(|(name, _)| name)
        .filter(|name| name.chars().all(is_of_name) && *name != "COSMARK_THAT_NOBODY_SETS")
        .collect();
    assert!(names.len() > 3, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/reference/command-line.md does not name {missing:?}");
}

#[test]
fn the_page_of_exports_has_every_format() {
    let page = fs::read_to_string(root().join("docs/reference/exports.md")).unwrap();
    let rows: String = page.lines().filter(|line| line.starts_with("| `")).collect();
    let help = stdout(&["export", "--help"]);
    let formats = values_in_help(&help, "--format");
    assert!(formats.len() > 15, "{formats:?}");
    let missing: Vec<_> = formats.iter().filter(|name| !rows.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/reference/exports.md has no row for {missing:?}");
}

#[test]
fn the_table_of_workloads_has_the_whole_library() {
    let page = fs::read_to_string(root().join("docs/guide/by-example.md")).unwrap();
    for entry in fs::read_dir(root().join("workloads")).unwrap() {
        let entry = entry.unwrap();
        let slash = if entry.path().is_dir() { "/" } else { "" };
        let name = format!("`{}{slash}`", entry.file_name().to_string_lossy());
        let has_row = page.lines().any(|line| line.starts_with("| `") && line.contains(&name));
        assert!(has_row, "docs/guide/by-example.md has no row for {name}");
    }
}

/// What a bed's compose file lacks: versions that its script installs, ports at which its target files reach it.
fn missing_in_compose(script: &str, targets: &[String], compose: &str) -> Vec<String> {
    let has = |word: &str| {
        compose
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
            .any(|one| one.trim_matches('.') == word)
    };
    let versions =
        script.lines().filter_map(|line| line.split_once("_VERSION=")).filter_map(|(name, rest)| {
            let version = rest.split_whitespace().next()?.trim_matches('"').trim_start_matches('v');
            name.chars().all(|c| c.is_ascii_uppercase() || c == '_').then(|| version.to_owned())
        });
    let ports = targets
        .iter()
        .flat_map(|text| text.split("127.0.0.1:").skip(1))
        .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    let wanted: BTreeSet<String> = versions.chain(ports).collect();
    assert!(wanted.len() >= 2, "no version or no port was found: {wanted:?}");
    wanted.into_iter().filter(|word| !has(word)).collect()
}

#[test]
fn a_beds_compose_file_has_the_version_of_its_script_and_the_ports_of_its_targets() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("testbeds")).unwrap() {
        let bed = entry.unwrap().path();
        let Ok(compose) = fs::read_to_string(bed.join("docker-compose.yml")) else { continue };
        let script = fs::read_to_string(bed.join("bed.sh")).unwrap();
        let files = fs::read_dir(&bed).unwrap().map(|entry| entry.unwrap().path());
        let targets: Vec<String> = files
            .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
            .map(|path| fs::read_to_string(path).unwrap())
            .collect();
        let missing = missing_in_compose(&script, &targets, &compose);
        assert!(missing.is_empty(), "{}: its docker-compose.yml does not have {missing:?}", bed.display());
        count += 1;
    }
    assert!(count >= 1);
    let targets = ["endpoint: http://127.0.0.1:80\n".to_owned()];
    let missing = |compose| missing_in_compose("X_VERSION=v1.2 # why\nexport Y=2\n", &targets, compose);
    assert!(missing("image: x:1.2\nports: 80, 81\n").is_empty());
    assert_eq!(missing("image: x:1.20\nports: 8080\n"), ["1.2", "80"]);
}
