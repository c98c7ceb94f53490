//! Words that only this project used for things that have a name in the field: how often each is still part of an identifier
//! or of a file's name. The numbers only go down; a word that is gone stays gone.

use std::collections::BTreeMap;

use super::{Source, nothing, product};

/// A word, the field's word for it, and how many identifiers of the product may still have it.
const WORDS: &[(&str, &str, usize)] = &[
    ("bell", "timer", 0),
    ("crew", "workers", 0),
    ("desk", "run queue, worker state", 0),
    ("desks", "run queues", 0),
    ("door", "endpoint, handle", 0),
    ("doors", "endpoints, handles", 0),
    ("everyones", "common", 0),
    ("glance", "index", 3),
    ("hire", "spawn", 0),
    ("keeper", "archive writer", 0),
    ("kept", "stored, supervisor", 116),
    ("letter", "message, order", 3),
    ("letters", "messages, orders", 10),
    ("minilang", "config list", 0),
    ("ours", "internal", 104),
    ("spell", "suggest", 0),
    ("tap", "listener", 0),
    ("told", "watermark, reported", 122),
    ("wishes", "options", 85),
];

/// Names of files that say nothing to a stranger, with the field's word.
const FILES: &[(&str, &str)] = &[
    ("book", "journal"),
    ("changes", "server_side"),
    ("desk", "queue"),
    ("door", "handle"),
    ("doors", "endpoints"),
    ("ends", "ended"),
    ("few", "sparse"),
    ("fleet", "drivers"),
    ("gate", "start_barrier"),
    ("keeper", "archive_writer"),
    ("kept", "supervisor"),
    ("minilang", "config_list"),
    ("moves", "reorder"),
    ("post", "publisher"),
    ("spell", "suggest"),
    ("tail", "stream_reader"),
];

/// The words of an identifier: `RunDesk` and `run_desk` have `run` and `desk`.
fn words_of(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for sign in identifier.chars() {
        if sign == '_' || sign.is_uppercase() && was_small {
            words.push(String::new());
        }
        was_small = !sign.is_uppercase();
        if sign != '_' {
            words.last_mut().unwrap().extend(sign.to_lowercase());
        }
    }
    words
}

/// The code of a line without the texts in it.
fn without_texts(line: &str) -> String {
    let mut parts = Vec::new();
    let line = line.split(" //").next().unwrap_or_default().replace("\\\"", "");
    for (at, part) in line.split('"').enumerate() {
        if at % 2 == 0 {
            parts.push(part);
        }
    }
    parts.join(" ")
}

/// How often each banned word is in an identifier, and the first place of it.
fn uses(sources: &[Source]) -> BTreeMap<&'static str, (usize, String)> {
    let mut found: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for source in sources {
        for (number, line) in source.code() {
            for identifier in without_texts(line).split(|sign: char| !sign.is_alphanumeric() && sign != '_') {
                for word in words_of(identifier) {
                    if let Some((word, ..)) = WORDS.iter().find(|row| row.0 == word) {
                        let entry = found.entry(word).or_insert((0, format!("{}:{number}", source.path)));
                        entry.0 += 1;
                    }
                }
            }
        }
    }
    found
}

fn above(sources: &[Source], limits: &[(&str, &str, usize)]) -> Vec<String> {
    let found = uses(sources);
    let mut wrong = Vec::new();
    for (word, better, limit) in limits {
        if let Some((count, place)) = found.get(word).filter(|(count, _)| count > limit) {
            wrong.push(format!("`{word}` {count} times, at most {limit}, first in {place}: say {better}"));
        }
    }
    wrong
}

fn private_files(sources: &[Source]) -> Vec<String> {
    let name = |source: &Source| source.path.rsplit('/').next().unwrap().trim_end_matches(".rs").to_owned();
    let better = |name: &str| FILES.iter().find(|row| row.0 == name).map(|row| row.1);
    sources
        .iter()
        .filter_map(|source| Some(format!("{}: call it {}", source.path, better(&name(source))?)))
        .collect()
}

#[test]
fn words_that_nobody_else_uses_become_fewer() {
    nothing("Use the word of the field:", &above(&product(), WORDS));
    let bad = [Source::of(
        "crates/a/src/b.rs",
        "fn open_doors(d: &RunDesk) {}\n// a door\nlet x = \"door\"; // door\nindoor();\n",
    )];
    let places = above(&bad, &[("desk", "", 0), ("doors", "", 0), ("bell", "", 0)]);
    assert_eq!(places.len(), 2, "{places:?}");
    assert!(
        places[0].starts_with("`desk` 1 times") && places[1].starts_with("`doors` 1 times"),
        "{places:?}"
    );
    assert_eq!(above(&bad, &[("doors", "", 1), ("desk", "", 0)]).len(), 1);
}

#[test]
fn files_with_private_names_become_fewer() {
    let private = private_files(&product());
    let list = private.join("\n  ");
    assert!(private.is_empty(), "private names:\n  {list}");
    let bad = [Source::of("crates/a/src/x/desk.rs", ""), Source::of("crates/a/src/desks.rs", "")];
    assert_eq!(private_files(&bad), ["crates/a/src/x/desk.rs: call it queue"]);
}
