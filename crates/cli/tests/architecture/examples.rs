//! Examples in doc comments are compiled and run only where a crate has some: a crate without would cost a compiler's start.
use super::{Source, manifests, nothing, sources};

/// Whether a source has an example that is run: a fence in a doc comment that does not say what else it holds.
fn has_example(source: &Source) -> bool {
    let (mut is_open, mut found) = (false, false);
    for line in source.text.lines().map(str::trim) {
        let Some(what) = line.strip_prefix("//! ```").or_else(|| line.strip_prefix("/// ```")) else {
            continue;
        };
        found |= !is_open && !what.starts_with("text") && !what.starts_with("ignore");
        is_open = !is_open;
    }
    found
}

/// Crates whose manifest does not say what their sources have.
fn wrong(manifests: &[(String, String)], sources: &[Source]) -> Vec<String> {
    let is_of = |source: &&Source, name: &str| source.path.starts_with(&format!("crates/{name}/src/"));
    manifests
        .iter()
        .filter(|(name, _)| sources.iter().any(|source| source.path == format!("crates/{name}/src/lib.rs")))
        .filter(|(name, manifest)| {
            let has = sources.iter().filter(|source| is_of(source, name)).any(has_example);
            manifest.contains("doctest = false") == has
        })
        .map(|(name, _)| name.clone())
        .collect()
}

#[test]
fn examples_are_looked_for_where_there_are_some() {
    nothing("A crate without examples has `doctest = false` in its [lib]:", &wrong(&manifests(), &sources()));
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let bad = [
        source("crates/a/src/lib.rs", "//! ```\n//! let a = 1;\n//! ```\n"),
        source("crates/b/src/lib.rs", "//! ```text\n//! a b\n//! ```\n"),
        source("crates/c/src/lib.rs", ""),
        source("crates/c/src/d.rs", "/// ```no_run\n/// d();\n/// ```\n"),
    ];
    let manifest = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let none = "[lib]\ndoctest = false\n";
    assert_eq!(wrong(&[manifest("a", none), manifest("b", ""), manifest("c", none)], &bad), ["a", "b", "c"]);
    assert!(wrong(&[manifest("a", ""), manifest("b", none), manifest("c", "")], &bad).is_empty());
}

/// What only a library or a program alone has, compiled without its tests, nobody lints (scripts/linted.sh).
fn left_out(manifests: &[(String, String)], sources: &[Source]) -> Vec<String> {
    let is_apart = |source: &&Source| {
        source.path.contains("/src/") && source.text.lines().any(|line| line.contains("cfg(not(test))"))
    };
    let untested =
        manifests.iter().filter(|(_, manifest)| manifest.lines().any(|line| line == "test = false"));
    let sources = sources.iter().filter(is_apart).map(|source| source.path.clone());
    sources.chain(untested.map(|(name, _)| name.clone())).collect()
}

#[test]
fn nothing_of_a_library_is_left_out_where_it_is_compiled_with_its_tests() {
    nothing("Lints see a library with its tests alone:", &left_out(&manifests(), &sources()));
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let bad = [
        source("crates/a/src/b.rs", "#[cfg(not(test))]\nfn c() {}\n"),
        source("crates/a/src/d.rs", "#[cfg(test)]\nmod tests;\n"),
    ];
    let manifests = [("a", "[lib]\ndoctest = false\n"), ("e", "[lib]\ntest = false\n")]
        .map(|(name, manifest)| (name.to_owned(), manifest.to_owned()));
    assert_eq!(left_out(&manifests, &bad), ["crates/a/src/b.rs", "e"]);
}
