//! The rules of ARCHITECTURE.md that the compiler does not know, checked over the sources themselves.
//!
//! A rule is a function from sources to the places that break it. Each is applied twice: to the repository, where it has
//! to find nothing, and to a few lines that break it, where it has to find them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "architecture/budgets.rs"]
mod budgets;
#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/commits.rs"]
mod commits;
#[path = "architecture/examples.rs"]
mod examples;
mod support;
#[path = "architecture/words.rs"]
mod words;

/// Each crate and the crates of ours that its `[dependencies]` name, in an order in which nobody uses what comes later.
const ARROWS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("pipe", &[]),
    ("metrics", &[]),
    ("workload", &["metrics", "units"]),
    ("adaptor-api", &["units"]),
    ("history", &[]),
    ("simstore", &[]),
    ("embedded", &[]),
    ("adaptors", &["adaptor-api"]),
    ("engine", &["adaptor-api", "metrics", "workload"]),
    ("stats", &["metrics"]),
    ("consistency", &["adaptor-api", "history", "metrics", "stats"]),
    ("certify", &["adaptor-api", "consistency"]),
    ("capacity", &["metrics", "stats", "units"]),
    ("nodes", &["adaptor-api", "metrics", "pipe", "workload"]),
    ("ledger", &["metrics", "workload"]),
    ("archive", &["ledger", "metrics", "stats", "workload"]),
    ("faults", &["archive", "metrics", "pipe", "stats", "workload"]),
    ("verdict", &["archive", "capacity", "metrics", "stats", "workload"]),
    ("report", &["archive", "history", "metrics", "stats", "workload"]),
    ("study", &["archive", "metrics", "report", "stats", "workload"]),
    ("wire", &["metrics", "workload"]),
    ("driver", &["adaptor-api", "consistency", "engine", "ledger", "metrics", "pipe", "wire", "workload"]),
    ("controller", &["archive", "metrics", "stats", "verdict", "wire", "workload"]),
    (
        "cluster",
        &[
            "adaptor-api",
            "archive",
            "controller",
            "driver",
            "engine",
            "faults",
            "metrics",
            "nodes",
            "wire",
            "workload",
        ],
    ),
    (
        "service",
        &[
            "adaptor-api",
            "archive",
            "cluster",
            "controller",
            "driver",
            "metrics",
            "nodes",
            "report",
            "study",
            "verdict",
            "wire",
            "workload",
        ],
    ),
    (
        "cli",
        &[
            "adaptor-api",
            "adaptors",
            "archive",
            "capacity",
            "certify",
            "cluster",
            "controller",
            "driver",
            "embedded",
            "ledger",
            "metrics",
            "faults",
            "nodes",
            "report",
            "service",
            "simstore",
            "stats",
            "study",
            "verdict",
            "wire",
            "workload",
        ],
    ),
];

/// The crates of a run on one machine.
const ON_ONE_MACHINE: &[&str] = &["engine", "driver", "controller"];
/// What they are built without, however far down: what NATS, a service and pictures need.
const NOT_ON_ONE_MACHINE: &[&str] = &[
    "async-nats",
    "nkeys",
    "crypto_box",
    "axum",
    "hyper",
    "resvg",
    "dejavu",
    "cosmark-report",
    "cosmark-cluster",
];

/// Files may have this many lines without their tests.
const MOST_LINES: usize = 600;

/// Files that have more, how many at most, and why. Numbers only go down.
const LONGER: &[(&str, usize, &str)] = &[];

/// What reads a clock, a file or a socket, waits, or talks to people.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::io",
    "std::env",
    "std::process",
    "std::thread",
    "tokio",
    "async fn",
    "async move",
    "Instant",
    "SystemTime",
    "Timestamp::now",
];

/// What prints, exits, or reads the arguments or the environment.
const TALK: &[&str] = &[
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "dbg!",
    "io::stdout",
    "io::stderr",
    "env::var",
    "env::var_os",
    "env::vars",
    "env::args",
    "env::set_var",
    "process::exit",
    "process::abort",
];

/// Host paths that belong to somebody's machine, and the files in which they mean something else.
const FOREIGN_PATHS: [&str; 4] =
    [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];
const PATHS_OF_A_TEST_SERVER: &[&str] = &["crates/adaptors/src/webdav/tests.rs"];

/// One source file.
struct Source {
    /// From the repository's root.
    path: String,
    text: String,
}

impl Source {
    fn of(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// Name of the crate that it belongs to.
    fn member(&self) -> &str {
        self.path.split('/').nth(1).unwrap()
    }

    /// True for what is compiled into the library or binary and not only into tests or examples.
    fn is_product(&self) -> bool {
        let inside = self.path.splitn(3, '/').nth(2).unwrap();
        let name = self.path.rsplit('/').next().unwrap();
        inside.starts_with("src/")
            && !inside.contains("/tests/")
            && name != "tests.rs"
            && !name.ends_with("_tests.rs")
    }

    /// Its lines without comments and without the test module at its end; those keep their numbers.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let end = lines
            .windows(2)
            .position(|pair| {
                pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
            })
            .unwrap_or(lines.len());
        lines
            .into_iter()
            .take(end)
            .enumerate()
            .map(|(at, line)| (at + 1, line))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file below a directory, but for what is built, kept by version control or left by runs.
fn files_below(directory: &Path, found: &mut Vec<PathBuf>) {
    const NOT_OURS: [&str; 8] =
        ["target", ".git", "archive", "node_modules", "dist", ".venv", "__pycache__", "Cargo.lock"];
    let is_root = directory.join("Cargo.lock").exists();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        // `archive` is results in the root and a crate below `crates`.
        if NOT_OURS.contains(&name.as_str()) && (is_root || name != "archive") {
            continue;
        }
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files_below(&entry.path(), found);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
}

fn texts_below(place: &str) -> Vec<Source> {
    let root = root();
    let mut files = Vec::new();
    files_below(&root.join(place), &mut files);
    files.sort();
    files
        .into_iter()
        .filter_map(|file| {
            // What is no text has no lines to check.
            let text = fs::read_to_string(&file).ok()?;
            Some(Source { path: file.strip_prefix(&root).unwrap().display().to_string(), text })
        })
        .collect()
}

/// The Rust sources of all crates, without modules that only tests declare.
fn sources() -> Vec<Source> {
    let all: Vec<Source> =
        texts_below("crates").into_iter().filter(|source| source.path.ends_with(".rs")).collect();
    assert!(all.len() > 200, "only {} sources found: this test looks in the wrong place", all.len());
    all
}

/// Product code; modules behind `#[cfg(test)] mod name;` are none.
fn product() -> Vec<Source> {
    let all = sources();
    let mut for_tests = BTreeSet::new();
    for source in &all {
        let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
        for pair in lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]") {
            if let Some(name) = pair[1].strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
                let parent = source.path.rsplit_once('/').unwrap().0;
                for_tests.insert(format!("{parent}/{name}.rs"));
            }
        }
    }
    all.into_iter().filter(|source| source.is_product() && !for_tests.contains(&source.path)).collect()
}

fn nothing(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}\n  {}", broken.join("\n  "));
}

/// Whether `word` stands in `line` and is not the end or the beginning of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |sign: Option<char>| sign.is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
    line.match_indices(word).any(|(at, _)| {
        !is_part(line[..at].chars().next_back()) && !is_part(line[at + word.len()..].chars().next())
    })
}

fn places_with(sources: &[Source], words: &[&str]) -> Vec<String> {
    let mut places = Vec::new();
    for source in sources {
        for (number, line) in source.code() {
            for word in words.iter().filter(|word| has_word(line, word)) {
                places.push(format!("{}:{number}: {word}", source.path));
            }
        }
    }
    places
}

fn members(names: &[&str]) -> Vec<Source> {
    product().into_iter().filter(|source| names.contains(&source.member())).collect()
}

/// The names in a manifest's `[dependencies]`.
fn dependencies(manifest: &str) -> BTreeSet<&str> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split(['.', ' ', '=']).next().unwrap())
        .collect()
}

/// Those of them that are ours, without `cosmark-`.
fn own_dependencies(manifest: &str) -> BTreeSet<String> {
    dependencies(manifest)
        .iter()
        .filter_map(|name| name.strip_prefix("cosmark-"))
        .map(str::to_owned)
        .collect()
}

/// Name and manifest of every crate of ours.
fn manifests() -> Vec<(String, String)> {
    let mut manifests = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let entry = entry.unwrap();
        let manifest = entry.path().join("Cargo.toml");
        if manifest.exists() {
            let name = entry.file_name().to_string_lossy().into_owned();
            manifests.push((name, fs::read_to_string(manifest).unwrap()));
        }
    }
    manifests
}

/// Ways from a crate, over crates of ours, to dependencies that `forbidden` names.
fn ways_to(manifests: &[(String, String)], from: &str, forbidden: &[&str]) -> Vec<String> {
    let mut ways = Vec::new();
    let (mut open, mut seen) = (vec![from.to_owned()], BTreeSet::new());
    while let Some(way) = open.pop() {
        let name = way.rsplit(" -> ").next().unwrap().to_owned();
        if !seen.insert(name.clone()) {
            continue;
        }
        let manifest = &manifests.iter().find(|(one, _)| *one == name).unwrap().1;
        let found = dependencies(manifest).into_iter().filter(|one| forbidden.contains(one));
        ways.extend(found.map(|one| format!("{way} -> {one}")));
        open.extend(own_dependencies(manifest).iter().map(|next| format!("{way} -> {next}")));
    }
    ways
}

#[test]
fn a_run_on_one_machine_is_built_without_nats_services_and_pictures() {
    let manifests = manifests();
    let ways: Vec<String> =
        ON_ONE_MACHINE.iter().flat_map(|from| ways_to(&manifests, from, NOT_ON_ONE_MACHINE)).collect();
    nothing("A crate below comes with what it must do without:", &ways);
    let there = ways_to(&manifests, "service", NOT_ON_ONE_MACHINE);
    for way in ["cluster -> async-nats", "report -> resvg"] {
        assert!(
            there.iter().any(|one| one.starts_with("service -> ") && one.ends_with(way)),
            "{way}: {there:?}"
        );
    }
    let (a, b) =
        ("[dependencies]\ncosmark-b.workspace = true\n", "[dependencies]\naxum = \"1\"\n[x]\nhyper = 1\n");
    let made = [("a".to_owned(), a.to_owned()), ("b".to_owned(), b.to_owned())];
    assert_eq!(ways_to(&made, "a", &["axum", "hyper"]), ["a -> b -> axum"]);
}

fn wrong_arrows(manifests: &[(String, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, manifest) in manifests {
        let Some((_, allowed)) = ARROWS.iter().find(|row| row.0 == name) else {
            wrong.push(format!("{name} is not in ARROWS: say there and in ARCHITECTURE.md what it may use"));
            continue;
        };
        let used = own_dependencies(manifest);
        let allowed: BTreeSet<String> = allowed.iter().map(|&one| one.to_owned()).collect();
        wrong.extend(used.difference(&allowed).map(|to| format!("{name} -> {to} is not allowed")));
        wrong.extend(allowed.difference(&used).map(|to| format!("{name} -> {to} is no longer there")));
    }
    wrong
}

#[test]
fn crates_use_each_other_only_along_the_arrows() {
    let manifests = manifests();
    assert_eq!(manifests.len(), ARROWS.len(), "ARROWS names a crate that is not there, or misses one");
    nothing("An arrow between crates differs from ARROWS:", &wrong_arrows(&manifests));
    for (at, (name, uses)) in ARROWS.iter().enumerate() {
        for used in *uses {
            assert!(ARROWS[..at].iter().any(|row| row.0 == *used), "{name} -> {used} makes a circle");
        }
    }
}

#[test]
fn an_arrow_that_is_wrong_is_found_in_either_direction() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\ncosmark-engine.workspace = true\n\n[dev-dependencies]\n\
                    cosmark-cli.workspace = true\n";
    let wrong = wrong_arrows(&[("wire".into(), manifest.into()), ("news".into(), String::new())]);
    assert_eq!(wrong.len(), 4, "{wrong:?}");
    assert!(wrong[0].contains("wire -> engine is not allowed") && wrong[3].contains("news"), "{wrong:?}");
}

#[test]
fn pure_crates_do_no_io_are_not_async_and_read_no_clock() {
    let mut pure = members(&["units", "workload", "metrics", "stats", "capacity", "history", "ledger"]);
    let checks = members(&["verdict"]);
    let of_verdict = pure.len();
    let is_pure = ["crates/verdict/src/checks/", "crates/verdict/src/bounds/"];
    pure.extend(checks.into_iter().filter(|source| is_pure.iter().any(|path| source.path.starts_with(path))));
    assert!(pure.len() > of_verdict + 5, "the checks of the verdict are looked for in the wrong place");
    nothing("Pure crates have to stay pure:", &places_with(&pure, IMPURE));
}

#[test]
fn adaptors_speak_their_protocol_and_nothing_else() {
    let mut words = TALK.to_vec();
    words.extend(["std::env", "process::Command", "cosmark_metrics", "cosmark_engine"]);
    nothing("An adaptor measures, prints and asks nobody:", &places_with(&members(&["adaptors"]), &words));
}

#[test]
fn only_the_binary_prints_exits_and_reads_the_environment() {
    let libraries: Vec<Source> = product().into_iter().filter(|source| source.member() != "cli").collect();
    nothing("Only crates/cli talks to people and to the shell:", &places_with(&libraries, TALK));
}

#[test]
fn only_one_place_names_concrete_adaptors() {
    let mut others = product();
    others.retain(|source| source.member() != "adaptors" && source.path != "crates/cli/src/registry.rs");
    let found = places_with(&others, &["cosmark_adaptors"]);
    nothing("Only crates/cli/src/registry.rs names cosmark_adaptors:", &found);
}

#[test]
fn a_word_of_a_rule_is_found_in_code_and_not_in_comments_tests_or_longer_words() {
    let source = Source::of(
        "crates/metrics/src/x.rs",
        "//! Reads no Instant.\nfn a() {\n    // tokio\n    let x = Instantly;\n    eprintln!();\n    let now = Instant::now();\n}\n\
         #[cfg(test)]\nmod tests {\n    use std::fs;\n}\n",
    );
    let words = ["Instant", "tokio", "std::fs", "println!", "eprintln!"];
    let found = places_with(&[source], &words);
    assert_eq!(found, ["crates/metrics/src/x.rs:5: eprintln!", "crates/metrics/src/x.rs:6: Instant"]);
    let is_product = |path| Source::of(path, "").is_product();
    assert!(is_product("crates/a/src/b/c.rs"));
    for other in [
        "crates/a/src/tests.rs",
        "crates/a/src/b/tests/c.rs",
        "crates/a/tests/c.rs",
        "crates/a/examples/c.rs",
    ] {
        assert!(!is_product(other), "{other}");
    }
}

fn calls_of_perform(sources: &[Source]) -> Vec<String> {
    let mut calls = Vec::new();
    for source in sources {
        for (number, line) in source.code() {
            if has_word(line, "perform") && !line.contains("fn perform") {
                calls.push(format!("{}:{number}", source.path));
            }
        }
    }
    calls
}

#[test]
fn only_the_worker_loop_performs_operations() {
    let calls = calls_of_perform(&members(&["engine"]));
    assert_eq!(calls.len(), 1, "one loop over operations, one call of ops::perform: {calls:?}");
    assert!(calls[0].starts_with("crates/engine/src/worker.rs:"), "{calls:?}");
    let second =
        Source::of("crates/engine/src/fast.rs", "pub async fn perform() {}\nx = ops::perform(call).await;\n");
    assert_eq!(calls_of_perform(&[second]), ["crates/engine/src/fast.rs:2"]);
}

#[test]
fn no_lock_is_taken_where_operations_are_made() {
    let hot = |source: &Source| {
        let file = source.path.strip_prefix("crates/engine/src/").unwrap_or_default();
        ["worker.rs", "recorder.rs", "source.rs", "choice.rs", "content.rs", "timer.rs"].contains(&file)
            || file.starts_with("ops/")
            || file.starts_with("pace/")
    };
    let sources: Vec<Source> = product().into_iter().filter(hot).collect();
    assert!(sources.len() >= 12, "{}", sources.len());
    nothing(
        "The way of an operation takes no lock of ours:",
        &places_with(&sources, &["Mutex", "RwLock", ".lock"]),
    );
}

#[test]
fn what_waits_for_drivers_and_controllers_waits_by_the_clock_that_tests_pause() {
    // Threads that look after a process of nats-server have no runtime; the queue's runner waits on a thread of its own.
    // Who makes faults speaks with agents from there.
    const ON_THREADS: [&str; 4] = [
        "cluster/src/nats/server.rs",
        "cluster/src/nats/supervisor.rs",
        "cluster/src/agent/faults.rs",
        "service/src/queue/runner.rs",
    ];
    let is_of = |names: &[&str], source: &Source| {
        names.iter().any(|name| source.path.starts_with(&format!("crates/{name}/src/")))
    };
    let sources: Vec<Source> = product()
        .into_iter()
        .filter(|source| is_of(&["controller", "cluster", "service"], source))
        .filter(|source| !ON_THREADS.iter().any(|file| source.path.ends_with(file)))
        .collect();
    assert!(sources.len() >= 80, "{}", sources.len());
    nothing(
        "No clock is waited by but tokio's, which a test stops and moves on:",
        &places_with(&sources, &["std::time::Instant", "thread::sleep"]),
    );
    let imports = sources.iter().flat_map(|source| source.text.lines().map(|line| (&source.path, line)));
    let by_list: Vec<String> = imports
        .filter(|(_, line)| line.starts_with("use std::time::{") && line.contains("Instant"))
        .map(|(path, line)| format!("{path}: {line}"))
        .collect();
    nothing("The same, by a list of imports:", &by_list);
    let controllers: Vec<Source> =
        sources.into_iter().filter(|source| is_of(&["controller"], source)).collect();
    assert!(controllers.len() >= 12, "{}", controllers.len());
    nothing("A controller reads no wall clock, either:", &places_with(&controllers, &["SystemTime"]));
}

/// Merging functions whose pattern leaves fields out with `..`, or that have no pattern at all.
fn sloppy_merges(source: &Source) -> Vec<String> {
    let code: Vec<(usize, &str)> = source.code().collect();
    let mut sloppy = Vec::new();
    for (at, (number, _)) in code.iter().enumerate().filter(|(_, (_, line))| line.contains("pub fn merge(")) {
        let body: String =
            code[at + 1..].iter().map(|(_, line)| line.trim()).take_while(|line| *line != "}").collect();
        let pattern = body.strip_prefix("let Self {").and_then(|rest| rest.split_once('}'));
        if pattern.is_none_or(|(fields, rest)| fields.contains("..") || !rest.starts_with(" = other;")) {
            sloppy.push(format!("{}:{number}", source.path));
        }
    }
    sloppy
}

#[test]
fn a_merge_names_every_field_so_that_none_can_be_forgotten() {
    let metrics = members(&["metrics"]);
    let merges = metrics.iter().filter(|source| source.text.contains("pub fn merge(")).count();
    assert!(merges >= 2, "{merges}");
    let sloppy: Vec<String> = metrics.iter().flat_map(sloppy_merges).collect();
    nothing("A merge begins with `let Self { every, field } = other;`:", &sloppy);
    for bad in ["let Self { a, .. } = other;", "self.a += other.a;"] {
        let source =
            Source::of("x.rs", &format!("pub fn merge(&mut self, other: &Self) {{\n    {bad}\n}}\n"));
        assert_eq!(sloppy_merges(&source), ["x.rs:1"], "{bad}");
    }
}

fn without_head(sources: &[Source]) -> Vec<String> {
    sources.iter().filter(|one| !one.text.starts_with("//! ")).map(|one| one.path.clone()).collect()
}

#[test]
fn every_source_file_begins_with_what_it_is() {
    nothing("The first line is `//! what this is`:", &without_head(&sources()));
    let bad = [Source::of("a.rs", "use x;\n"), Source::of("b.rs", "//! B.\n"), Source::of("c.rs", "")];
    assert_eq!(without_head(&bad), ["a.rs", "c.rs"]);
}

fn heaps(paths: &[String]) -> Vec<String> {
    const NAMES: [&str; 9] =
        ["util", "utils", "common", "helper", "helpers", "manager", "managers", "misc", "shared"];
    let is_heap = |path: &&String| {
        path.split('/').any(|part| NAMES.contains(&part.split('.').next().unwrap_or_default()))
    };
    paths.iter().filter(is_heap).cloned().collect()
}

#[test]
fn no_module_is_named_after_nothing() {
    let paths: Vec<String> = sources().into_iter().map(|source| source.path).collect();
    nothing("Name a module after what it holds:", &heaps(&paths));
    let bad = [
        "crates/a/src/utils.rs".to_owned(),
        "crates/b/src/common/x.rs".to_owned(),
        "crates/c/src/units.rs".to_owned(),
    ];
    assert_eq!(heaps(&bad), &bad[..2]);
}

/// Lines of `[workspace.dependencies]` that name a crate that is not ours and give no reason.
fn without_reason(manifest: &str) -> Vec<String> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| line.contains('=') && !line.starts_with('#') && !line.starts_with("cosmark-"))
        .filter(|line| line.rsplit_once('#').is_none_or(|(_, reason)| reason.trim().len() < 10))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    nothing("A dependency is one line with its reason behind `#`:", &without_reason(&manifest));
    let bad = "[workspace.dependencies]\ncosmark-x = { path = \"x\" }\na = \"1\" # does what a does\nb = \"2\"\nc = \"3\" #\n[x]\nd = 1\n";
    assert_eq!(without_reason(bad), ["b = \"2\"", "c = \"3\" #"]);
    for source in texts_below("crates").iter().filter(|source| source.path.ends_with("/Cargo.toml")) {
        let own = source.text.lines().find(|line| line.contains("= \"") && line.contains("version"));
        assert!(own.is_none(), "{}: versions stand in the root Cargo.toml: {own:?}", source.path);
    }
}

fn without_question(workloads: &[Source]) -> Vec<String> {
    let answers = |source: &Source| {
        let head = match source.path.rsplit('.').next() {
            Some("xml") => source.text.split("<workload").next().unwrap_or_default(),
            _ => source.text.split("\nname:").next().unwrap_or_default(),
        };
        let comments = head.lines().map(|line| line.trim_start_matches(['#', ' ']));
        let begins = source.text.starts_with('#')
            || source
                .text
                .trim_start_matches("<?xml version=\"1.0\" encoding=\"UTF-8\"?>")
                .trim_start()
                .starts_with("<!--");
        begins && comments.filter_map(|line| line.strip_prefix("Question: ")).any(|text| text.len() > 20)
    };
    workloads.iter().filter(|source| !answers(source)).map(|source| source.path.clone()).collect()
}

#[test]
fn every_workload_begins_with_the_question_that_it_answers() {
    let workloads: Vec<Source> = texts_below("workloads")
        .into_iter()
        .filter(|source| source.path.ends_with(".yaml") || source.path.ends_with(".xml"))
        .collect();
    assert!(workloads.len() > 10, "{}", workloads.len());
    nothing("A workload begins with `Question: ..` in a comment:", &without_question(&workloads));
    let bad = [
        Source::of("a.yaml", "name: a\n# Question: does this come too late to be read?\n"),
        Source::of("b.xml", "<workload name=\"b\"/><!-- Question: is this in front of it? -->"),
        Source::of("c.yaml", "# A workload.\nname: c\n"),
    ];
    assert_eq!(without_question(&bad), ["a.yaml", "b.xml", "c.yaml"]);
}

fn foreign_paths(sources: &[Source]) -> Vec<String> {
    let mut places = Vec::new();
    for source in sources {
        for (at, line) in source.text.lines().enumerate() {
            let begins_a_path = |(found, _): (usize, &str)| {
                let before = line[..found].chars().next_back();
                !before.is_some_and(|sign| sign.is_alphanumeric() || "._-}>*)".contains(sign))
            };
            for path in FOREIGN_PATHS {
                if line.match_indices(path).any(begins_a_path) {
                    places.push(format!("{}:{}: {path}", source.path, at + 1));
                }
            }
        }
    }
    places
}

#[test]
fn no_text_names_a_path_of_somebodys_machine() {
    let mut texts = texts_below(".");
    assert!(texts.len() > 300, "{}", texts.len());
    texts.retain(|source| !PATHS_OF_A_TEST_SERVER.contains(&source.path.as_str()));
    nothing("Paths of one machine mean nothing on another:", &foreign_paths(&texts));
    let bad = format!("cd {}x\nhttps://h/a{}b\n", FOREIGN_PATHS[0], FOREIGN_PATHS[1]);
    assert_eq!(foreign_paths(&[Source::of("a.md", &bad)]).len(), 1);
}

fn too_long(sources: &[Source], longer: &[(&str, usize, &str)]) -> Vec<String> {
    let lines = |source: &Source| source.code().last().map_or(0, |(number, _)| number);
    let mut wrong = Vec::new();
    for source in sources {
        let limit = longer.iter().find(|row| row.0 == source.path).map_or(MOST_LINES, |row| row.1);
        if lines(source) > limit {
            wrong.push(format!("{}: {} lines, at most {limit}", source.path, lines(source)));
        }
    }
    for (path, limit, reason) in longer {
        let own = sources.iter().find(|source| source.path == *path).map_or(0, lines);
        if own <= MOST_LINES || reason.is_empty() {
            wrong.push(format!("{path}: has {own} lines and needs no exception ({limit}) any more"));
        }
    }
    wrong
}

#[test]
fn files_stay_short_enough_to_be_read() {
    nothing("Cut the file where it holds two things:", &too_long(&product(), LONGER));
    let long = Source::of("crates/a/src/long.rs", &"fn f() {}\n".repeat(MOST_LINES + 1));
    assert_eq!(too_long(std::slice::from_ref(&long), &[]).len(), 1);
    assert!(too_long(std::slice::from_ref(&long), &[("crates/a/src/long.rs", 700, "why")]).is_empty());
    assert_eq!(too_long(&[], &[("crates/a/src/gone.rs", 700, "why")]).len(), 1);
}

/// Names in backticks behind "Test:" in the page of the architecture. A list of names may go on in the next line.
fn named_tests(page: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut goes_on = false;
    for line in page.lines() {
        let list = match line.split_once("Test:") {
            Some((_, rest)) => rest,
            None if goes_on && line.trim_start().starts_with('`') => line,
            None => {
                goes_on = false;
                continue;
            }
        };
        names.extend(list.split('`').skip(1).step_by(2));
        goes_on = !list.trim_end().ends_with('.');
    }
    names.into_iter().map(|name| name.rsplit("::").next().unwrap_or(name)).collect()
}

/// Lines of numbered lists whose number does not follow the one before: a rule is known by its number. Each list begins with 1.
fn misnumbered(page: &str) -> Vec<String> {
    let mut before = 0;
    let mut found = Vec::new();
    for line in page.lines() {
        let Some((number, _)) = line.split_once(". ") else { continue };
        let Ok(number) = number.parse::<u32>() else { continue };
        if number != 1 && number != before + 1 {
            found.push(line.to_owned());
        }
        before = number;
    }
    found
}

#[test]
fn every_invariant_names_a_test_that_is_there() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let names = named_tests(&page);
    assert!(names.len() >= 10, "{names:?}");
    let all = sources();
    let is_there = |name: &str| {
        let head = format!("fn {name}(");
        all.iter().any(|source| source.text.contains(&head))
    };
    let missing: Vec<String> =
        names.iter().filter(|name| !is_there(name)).map(|&name| name.to_owned()).collect();
    nothing("ARCHITECTURE.md names tests that do not exist:", &missing);
    assert!(!is_there(concat!("no_such_", "test")));
    nothing("invariants of ARCHITECTURE.md whose number is not the next:", &misnumbered(&page));
    assert_eq!(misnumbered("1. a\n2. b\n2. c\n\n1. d. Test: `e`\n3. f\n"), ["2. c", "3. f"]);
    assert_eq!(named_tests("1. X. Test: `a::b_c`, `d`.\n`e`\n"), ["b_c", "d"]);
    assert_eq!(named_tests("1. X. Test:\n   `a`,\n   `b`\n2. `c`. Test: `d`\n\n`e`\n"), ["a", "b", "d"]);
}

/// Paths of files in backticks, such as `crates/engine/src/worker.rs`.
fn named_files(page: &str) -> BTreeSet<&str> {
    const ENDS: [&str; 6] = [".rs", ".md", ".yaml", ".json", ".toml", ".sh"];
    page.split('`')
        .skip(1)
        .step_by(2)
        .map(|text| text.split("::").next().unwrap_or(text))
        .filter(|text| {
            text.contains('/')
                && ENDS.iter().any(|end| text.ends_with(end))
                && !text.contains(['*', ' ', '<'])
        })
        .filter(|text| !text.chars().any(|sign| sign.is_ascii_uppercase()) || text.starts_with("docs/"))
        .collect()
}

#[test]
fn every_file_that_the_map_names_is_there() {
    let root = root();
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/extend/where-to-look.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let is_there = |name: &&str| root.join(name).exists() || root.join("crates").join(name).exists();
        let missing: Vec<&str> = named_files(&text).into_iter().filter(|name| !is_there(name)).collect();
        assert!(missing.is_empty(), "{page} names files that are not there: {missing:?}");
        // 300 full lines.
        assert!(text.len() <= 36_000, "{page} is a map, not a book: {} signs", text.len());
    }
    assert_eq!(
        named_files("`a/b.rs::run` and `x.rs`, `c d/e.rs`").into_iter().collect::<Vec<_>>(),
        ["a/b.rs"]
    );
}

/// The first cells of rows that are one name in backticks, below the head whose first cell is `head`.
fn rows_of<'a>(page: &'a str, head: &str) -> BTreeSet<&'a str> {
    let head = format!("| {head} |");
    let rows = page.lines().skip_while(|line| !line.starts_with(&head)).skip(2);
    let cells = rows.map_while(|line| line.strip_prefix("| `")).filter_map(|line| line.split_once("` |"));
    cells.map(|(name, _)| name).collect()
}

#[test]
fn every_crate_has_its_row_on_the_map() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let manifests = manifests();
    let crates: BTreeSet<&str> = manifests.iter().map(|(name, _)| name.as_str()).collect();
    assert!(crates.len() > 20, "{crates:?}");
    assert_eq!(rows_of(&page, "crate"), crates);
    let page = "| crate | is |\n|---|---|\n| `a` | pure |\n| `b` | not |\n\n| thread | does |\n|---|---|\n| `c` | d |\n";
    assert_eq!(rows_of(page, "crate"), BTreeSet::from(["a", "b"]));
}

/// What the page says is in a file, such as `run` of `cli/src/cmd/run.rs::run`.
fn named_items(page: &str) -> Vec<(&str, &str)> {
    let in_backticks = page.split('`').skip(1).step_by(2);
    in_backticks.filter_map(|text| text.split_once(".rs::")).collect()
}

/// What a source defines by name: the word behind each keyword of a definition.
fn definitions(text: &str) -> BTreeSet<&str> {
    const KINDS: [&str; 7] = ["fn", "struct", "enum", "trait", "type", "const", "mod"];
    let words =
        text.split(|sign: char| !sign.is_alphanumeric() && sign != '_').filter(|word| !word.is_empty());
    words.clone().zip(words.skip(1)).filter(|(kind, _)| KINDS.contains(kind)).map(|(_, name)| name).collect()
}

/// Types of ours that the page names, such as `StageRun::run`: of each its first word.
fn named_types(page: &str) -> BTreeSet<&str> {
    let is_type = |name: &&str| {
        name.starts_with(|sign: char| sign.is_ascii_uppercase())
            && name.contains(|sign: char| sign.is_ascii_lowercase())
            && name.chars().all(|sign| sign.is_ascii_alphanumeric())
    };
    let in_backticks = page.split('`').skip(1).step_by(2);
    in_backticks.filter_map(|text| text.split([':', ' ']).next()).filter(is_type).collect()
}

#[test]
fn every_item_that_the_map_names_is_in_the_sources() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let all = sources();
    let defined: Vec<(&str, BTreeSet<&str>)> =
        all.iter().map(|source| (source.path.as_str(), definitions(&source.text))).collect();
    let items: Vec<String> = named_items(&page)
        .into_iter()
        .filter(|(file, item)| {
            let (file, item) = (format!("{file}.rs"), item.split("::").last().unwrap_or(item));
            !defined.iter().any(|(path, names)| path.ends_with(&file) && names.contains(item))
        })
        .map(|(file, item)| format!("{file}.rs::{item}"))
        .collect();
    nothing("ARCHITECTURE.md names what is not in its file:", &items);
    // A variant of an enumeration stands on a line of its own.
    let is_variant = |text: &str, name: &str| {
        text.lines().any(|line| {
            line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with([',', '(', ' ']))
        })
    };
    let types: Vec<String> = named_types(&page)
        .into_iter()
        .filter(|name| !defined.iter().any(|(_, names)| names.contains(name)))
        .filter(|name| !all.iter().any(|one| is_variant(&one.text, name)))
        .map(str::to_owned)
        .collect();
    nothing("ARCHITECTURE.md names types that do not exist:", &types);
    assert_eq!(definitions("pub fn run(a: A) {} struct B;").into_iter().collect::<Vec<_>>(), ["B", "run"]);
    assert_eq!(named_items("`a/b.rs::run` and `x.rs`"), [("a/b", "run")]);
    assert_eq!(
        named_types("`StageRun::run`, `Slot { due_ns }`, `GET`, `run`, `A b`")
            .into_iter()
            .collect::<Vec<_>>(),
        ["Slot", "StageRun"]
    );
}

/// Places in tests that end without having tried anything and do not report it. A `return skipped(..)` does; a process that a
/// test starts is ignored, and says by whom it is started.
fn silent_skips(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut found = Vec::new();
    let mut end = None;
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        if end == Some(*line) {
            end = None;
        } else if text.starts_with("fn ") || text.starts_with("async fn ") {
            let attributes = lines[..at].iter().rev().map(|line| line.trim_start());
            let attributes: Vec<&str> = attributes.take_while(|line| line.starts_with('#')).collect();
            let is_test =
                attributes.iter().any(|one| one.starts_with("#[test]") || one.starts_with("#[tokio::test"));
            if is_test && !attributes.iter().any(|one| one.starts_with("#[ignore = \"started by ")) {
                let indent = line.len() - text.len();
                end =
                    lines[at..].iter().copied().find(|line| line.len() == indent + 1 && line.ends_with('}'));
            }
        } else if end.is_some() && !text.starts_with("//") {
            let gives_up = ["return;", "return }", "return eprintln!", "return println!", "SKIPPED"];
            if gives_up.iter().any(|words| text.contains(words)) {
                found.push(format!("{}:{}: {text}", source.path, at + 1));
            }
        }
    }
    found
}

#[test]
fn a_test_that_cannot_run_fails_or_reports_that_it_was_skipped() {
    let mut all = sources();
    all.retain(|source| source.path != "crates/cli/tests/architecture.rs");
    let found: Vec<String> = all.iter().flat_map(silent_skips).collect();
    nothing("A test fails with what to install, or ends by `return skipped(why)`:", &found);
    let bad = Source::of(
        "crates/a/tests/b.rs",
        "#[test]\nfn a() {\n    if x {\n        return;\n    }\n    let Some(y) = z else { return };\n    return skipped(why);\n}\n\
         fn helper() {\n    return;\n}\n\
         #[test]\n#[ignore = \"started by a\"]\nfn child() {\n    return;\n}\n\
         mod b {\n    #[tokio::test]\n    async fn c() {\n        println!(\"SKIPPED\");\n        return;\n    }\n}\n",
    );
    let places = silent_skips(&bad);
    let numbers: Vec<&str> = places.iter().map(|place| place.split(':').nth(1).unwrap()).collect();
    assert_eq!(numbers, ["4", "6", "20", "21"], "{places:?}");
}
