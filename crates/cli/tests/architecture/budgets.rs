//! The budgets of CONTRIBUTING.md that a machine can check: the length of a function, and how many crates of others the product uses directly. The numbers only go down.

use std::collections::BTreeSet;

use super::{Source, product, texts_below};

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
