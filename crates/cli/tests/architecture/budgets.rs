//! The budgets of CONTRIBUTING.md that a machine can check: the length of a function, and how many crates of others the product uses directly. The numbers only go down.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, manifests, own_dependencies, product, texts_below};

/// Functions are read at one sight.
const MOST_LINES_OF_A_FUNCTION: usize = 70;

/// How many are longer, and the longest of them.
const LONGER_FUNCTIONS: (usize, usize) = (7, 90);

/// Crates of others in `[dependencies]` of any of ours.
const MOST_DEPENDENCIES: usize = 57;

/// (lines, place) of every function of the product.
fn functions(source: &Source) -> Vec<(usize, String)> {
    let lines: Vec<(usize, &str)> = source.code().collect();
    let mut found = Vec::new();
    for (at, (number, line)) in lines.iter().enumerate() {
        let text = line.trim_start();
        let name = text.split_once("fn ").map(|(before, _)| before);
        let is_head = name.is_some_and(|before| {
            before.split_whitespace().all(|word| {
                word.starts_with("pub") || ["const", "async", "unsafe", "extern", "\"C\""].contains(&word)
            })
        });
        if !is_head || text.ends_with([';', '}']) {
            continue;
        }
        let close = format!("{}}}", &line[..line.len() - text.len()]);
        if let Some((end, _)) = lines[at..].iter().find(|(_, line)| *line == close) {
            found.push((end - number + 1, format!("{}:{number}", source.path)));
        }
    }
    found
}

#[test]
fn functions_stay_short_enough_to_be_read_at_one_sight() {
    let mut long: Vec<(usize, String)> = product().iter().flat_map(functions).collect();
    assert!(long.len() > 1000, "{} functions", long.len());
    long.retain(|(lines, _)| *lines > MOST_LINES_OF_A_FUNCTION);
    long.sort();
    let (count, longest) = (long.len(), long.last().map_or(0, |row| row.0));
    assert!(
        count <= LONGER_FUNCTIONS.0 && longest <= LONGER_FUNCTIONS.1,
        "{count} functions are longer than {MOST_LINES_OF_A_FUNCTION} lines, the longest has {longest}; at most \
         {LONGER_FUNCTIONS:?}:\n{long:#?}"
    );
    let text = "impl A {\n    pub(crate) async fn a(\n        b: u8,\n    ) {\n        fn_call();\n    }\n    fn c() {}\n}\n";
    assert_eq!(functions(&Source::of("crates/a/src/b.rs", text)), [(5, "crates/a/src/b.rs:2".to_owned())]);
}

/// The crates of others in a manifest's `[dependencies]`, those for one system included.
fn others_in(manifest: &str) -> BTreeSet<String> {
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim();
        } else if section.ends_with("dependencies]")
            && !section.contains("dev-")
            && !section.contains("build-")
        {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if !name.is_empty() && !name.starts_with(['#', ']']) && !name.starts_with("cosmark-") {
                found.insert(name.to_owned());
            }
        }
    }
    found
}

#[test]
fn the_product_uses_few_crates_of_others() {
    let mut all = BTreeSet::new();
    for manifest in texts_below("crates").iter().filter(|source| source.path.ends_with("/Cargo.toml")) {
        all.extend(others_in(&manifest.text));
    }
    assert!(all.len() > 20, "{all:?}");
    assert!(all.len() <= MOST_DEPENDENCIES, "{} crates, at most {MOST_DEPENDENCIES}: {all:?}", all.len());
    let text = "[dependencies]\na.workspace = true\ncosmark-b.workspace = true\n# c\n\n[dev-dependencies]\nd = \"1\"\n\
                [target.'cfg(unix)'.dependencies]\ne = { version = \"1\" }\n";
    assert_eq!(others_in(text).into_iter().collect::<Vec<_>>(), ["a", "e"]);
}

/// Sections of a manifest that say how the package of the binary is compiled, apart from others.
fn overrides_of_the_binary(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        }
        let key = line.split(['.', ' ', '=']).next().unwrap_or_default().trim_matches('"');
        let is_own = section.ends_with(".package.cosmark") || section.ends_with(".package.\"cosmark\"");
        if section.starts_with("profile.") && (is_own || (section.ends_with(".package") && key == "cosmark"))
        {
            found.push(format!("{section}: {line}"));
        }
    }
    found
}

/// The numbers of files that the table of CONTRIBUTING.md says of something: as it is, and with what it may have of its own.
fn files_of(page: &str, what: &str, own: &str) -> Option<(usize, usize)> {
    let row = page.lines().find_map(|line| line.strip_prefix(&format!("| {what} (")))?;
    let (plain, rest) = row.split_once("; ")?;
    let (with_own, _) = rest.split_once(&format!(" with a {own} of its own)"))?;
    let plain = plain.strip_suffix(" files").or_else(|| plain.strip_suffix(" file"))?;
    Some((plain.parse().ok()?, with_own.parse().ok()?))
}

/// The kinds of operations of their enum, and in how many files each is named.
fn files_by_kind(kinds: &Source, all: &[Source]) -> BTreeMap<String, usize> {
    let lines = kinds.code().map(|(_, line)| line).skip_while(|line| !line.contains("enum OpKind {"));
    let kinds =
        lines.skip(1).take_while(|line| *line != "}").filter_map(|line| line.trim().strip_suffix(','));
    let files = |kind: &str| {
        let word = format!("OpKind::{kind}");
        all.iter().filter(|source| source.code().any(|(_, line)| super::has_word(line, &word))).count()
    };
    kinds.map(|kind| (kind.to_owned(), files(kind))).collect()
}

#[test]
fn an_operation_costs_as_many_files_as_its_budget_says() {
    let page = std::fs::read_to_string(super::root().join("CONTRIBUTING.md")).unwrap();
    let (plain, with_verb) = files_of(&page, "an operation", "verb").unwrap();
    let all = product();
    let kinds = all.iter().find(|source| source.path == "crates/workload/src/model/op_kind.rs").unwrap();
    let found = files_by_kind(kinds, &all);
    assert!(found.len() > 10 && found.values().all(|files| *files > 0), "{found:?}");
    // The file that performs it names no kind. Whatever must know every kind stands in all of these numbers.
    let least = found.values().min().unwrap() + 1;
    assert_eq!(least, plain, "files of the cheapest operation, its own included: {found:?}");
    assert!(with_verb > plain, "a verb is at least a trait, a row and an adaptor more");
    let page = "| a |\n| an operation (2 files; 5 with a verb of its own) | x |\n";
    assert_eq!(files_of(page, "an operation", "verb"), Some((2, 5)));
    let all = [
        Source::of(
            "crates/a/src/k.rs",
            "pub enum OpKind {\n    /// One.\n    Read,\n    ReadAll,\n}\nOpKind::Read\n",
        ),
        Source::of("crates/a/src/b.rs", "// OpKind::Read\nlet all = OpKind::ReadAll;\n"),
        Source::of("crates/a/src/c.rs", "OpKind::ReadAll | OpKind::Read\n"),
    ];
    let found = files_by_kind(&all[0], &all[..2]);
    assert_eq!(found, BTreeMap::from([("Read".to_owned(), 1), ("ReadAll".to_owned(), 1)]));
    assert_eq!(files_by_kind(&all[0], &all)["ReadAll"], 2);
}

/// The files in whose code each of these words stands.
fn files_with_all<'a>(words: &BTreeSet<String>, all: &'a [Source]) -> Vec<&'a str> {
    let has = |source: &Source, word: &str| source.code().any(|(_, line)| super::has_word(line, word));
    let with_all = all.iter().filter(|source| words.iter().all(|word| has(source, word)));
    with_all.map(|source| source.path.as_str()).collect()
}

/// The names of figures in a table of them, in quotation marks.
fn figures(table: &Source) -> BTreeSet<String> {
    let rows = table.code().filter_map(|(_, line)| line.trim().strip_prefix("id: \"")?.split_once("\","));
    rows.filter(|(id, _)| !id.is_empty()).map(|(id, _)| format!("\"{id}\"")).collect()
}

/// The names of the public fields of a struct.
fn fields(source: &Source, name: &str) -> BTreeSet<String> {
    let head = format!("pub struct {name} {{");
    let lines = source.code().map(|(_, line)| line).skip_while(|line| *line != head).skip(1);
    let lines = lines.take_while(|line| *line != "}");
    let fields = lines.filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'));
    fields.map(|(field, _)| field.to_owned()).collect()
}

#[test]
fn a_metric_costs_as_many_files_as_its_budget_says() {
    let page = std::fs::read_to_string(super::root().join("CONTRIBUTING.md")).unwrap();
    let (plain, with_sum) = files_of(&page, "a metric", "sum").unwrap();
    let all = product();
    let of = |path: &str| all.iter().find(|source| source.path == path).unwrap();
    // What has to know every figure, or every sum, is a file more for each.
    let (metrics, sums) = (
        figures(of("crates/metrics/src/results/table.rs")),
        fields(of("crates/metrics/src/snapshot.rs"), "OpSnapshot"),
    );
    assert!(metrics.len() > 25 && sums.len() > 25, "{metrics:?} {sums:?}");
    let rows = files_with_all(&metrics, &all);
    let summed = files_with_all(&sums, &all);
    assert_eq!(rows.len(), plain, "files that know every figure: {rows:?}");
    assert_eq!(rows.len() + summed.len(), with_sum, "and every sum: {summed:?}");
    let row = page.lines().find(|line| line.starts_with("| a metric (")).unwrap();
    assert!(rows.iter().chain(&summed).all(|path| row.contains(path)), "{rows:?} and {summed:?} in {row}");
    // The pages have theirs from one file, which is generated.
    let console: Vec<Source> =
        texts_below("console/src").into_iter().filter(|source| !source.path.contains(".test.")).collect();
    let table = console.iter().find(|source| source.path == "console/src/data/metrics.ts").unwrap();
    let shown = figures(table);
    assert!(shown.len() > 10 && shown.is_subset(&metrics), "{shown:?}");
    assert_eq!(files_with_all(&shown, &console), ["console/src/data/metrics.ts"]);
    let page = "| a metric (1 file; 3 with a sum of its own) | x |\n";
    assert_eq!(files_of(page, "a metric", "sum"), Some((1, 3)));
    let all = [
        Source::of("a.rs", "pub struct Op {\n    /// One.\n    pub one: u64,\n    pub two: u8,\n}\n"),
        Source::of("b.rs", "Op { one, two }\n"),
        Source::of("c.rs", "Op { one, .. }\n// two\n"),
    ];
    assert_eq!(files_with_all(&fields(&all[0], "Op"), &all[..2]), ["a.rs", "b.rs"]);
    assert_eq!(files_with_all(&fields(&all[0], "Op"), &all[1..]), ["b.rs"]);
    let table = Source::of("t.rs", "    id: \"\",\n    id: \"a.b\", unit: x\n");
    assert_eq!(figures(&table), BTreeSet::from(["\"a.b\"".to_owned()]));
}

/// For a package with settings of its own cargo 1.95 passes `strip=debuginfo`, whatever the profile says: a fifth of the binary.
#[test]
fn the_binary_is_stripped_as_its_profile_says() {
    let manifest = std::fs::read_to_string(super::root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("[profile.release]\n") && manifest.contains("\nstrip = true"), "{manifest}");
    assert_eq!(overrides_of_the_binary(&manifest), [""; 0]);
    let text = "[profile.release.package]\ncosmark-a.opt-level = 1\ncosmark.opt-level = \"s\"\n[dependencies]\ncosmark.path = \"a\"\n\
                [profile.dev.package.cosmark]\nopt-level = 1\n";
    let found = overrides_of_the_binary(text);
    assert_eq!(found[0], "profile.release.package: cosmark.opt-level = \"s\"");
    assert_eq!(found.len(), 3, "{found:?}");
}

/// Crates of others that the development profile leaves slow, without those that run in the compiler.
fn left_slow(manifest: &str) -> BTreeSet<&str> {
    manifest
        .lines()
        .skip_while(|line| *line != "[profile.dev.package]")
        .skip(1)
        .take_while(|line| !line.starts_with('[') && !line.starts_with("# Procedural macros"))
        .filter_map(|line| line.strip_suffix(".opt-level = 0"))
        .collect()
}

/// Crates of ours that it makes fast, without `cosmark-`.
fn made_fast(manifest: &str) -> BTreeSet<&str> {
    let heads = manifest.lines().filter_map(|line| line.strip_prefix("[profile.dev.package.cosmark-"));
    heads.filter_map(|rest| rest.strip_suffix(']')).collect()
}

/// What each crate uses: those of others by the lock file, ours by their manifests, so without what only tests use.
fn used(lock: &str, ours: &[(String, String)]) -> BTreeMap<String, BTreeSet<String>> {
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let name = package.split('"').nth(1).unwrap_or_default();
        let list = package.split_once("dependencies = [").map_or("", |(_, rest)| rest);
        let list = list.split_once(']').map_or("", |(list, _)| list);
        // A version stands behind the name where there are several.
        let names = list.split('"').skip(1).step_by(2).filter_map(|text| text.split(' ').next());
        used.entry(name.to_owned()).or_default().extend(names.map(str::to_owned));
    }
    for (name, manifest) in ours {
        let own = own_dependencies(manifest).into_iter().map(|name| format!("cosmark-{name}"));
        used.insert(format!("cosmark-{name}"), others_in(manifest).into_iter().chain(own).collect());
    }
    used
}

fn slow_below_fast(manifest: &str, lock: &str, ours: &[(String, String)]) -> Vec<String> {
    let (slow, used) = (left_slow(manifest), used(lock, ours));
    let mut broken = Vec::new();
    for fast in made_fast(manifest) {
        let mut seen = BTreeSet::new();
        let mut todo = vec![format!("cosmark-{fast}")];
        while let Some(name) = todo.pop() {
            if seen.contains(&name) {
                continue;
            }
            todo.extend(used.get(&name).into_iter().flatten().cloned());
            seen.insert(name);
        }
        let found = seen.iter().filter(|name| slow.contains(name.as_str()));
        broken.extend(found.map(|name| format!("{name} below cosmark-{fast}")));
    }
    broken
}

/// At the levels 0 and 1 rustc links to generic code that a crate below has compiled already, as slow as it is there.
#[test]
fn nothing_that_is_left_slow_for_tests_is_below_a_crate_that_computes() {
    let read = |name: &str| std::fs::read_to_string(super::root().join(name)).unwrap();
    let manifest = read("Cargo.toml");
    assert!(left_slow(&manifest).len() > 5 && made_fast(&manifest).len() > 3, "{manifest}");
    assert_eq!(slow_below_fast(&manifest, &read("Cargo.lock"), &manifests()), [""; 0]);
    let manifest = "[profile.dev.package]\nslow.opt-level = 0\nelsewhere.opt-level = 0\n# Procedural macros run\n\
                    derive.opt-level = 0\n[profile.dev.package.cosmark-a]\nopt-level = 1\n";
    let lock = "[[package]]\nname = \"between\"\nversion = \"1\"\ndependencies = [\n \"derive\",\n \"slow 0.2.0\",\n]\n\n\
                [[package]]\nname = \"slow\"\nversion = \"0.2.0\"\n";
    let ours = [
        ("a", "[dependencies]\ncosmark-b.workspace = true\n[dev-dependencies]\nelsewhere = \"1\"\n"),
        ("b", "[dependencies]\nbetween.workspace = true\n"),
    ];
    let ours = ours.map(|(name, manifest)| (name.to_owned(), manifest.to_owned()));
    assert_eq!(slow_below_fast(manifest, lock, &ours), ["slow below cosmark-a"]);
}
