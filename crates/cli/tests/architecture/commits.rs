//! How CONTRIBUTING.md wants the first line of a commit, checked over the history since the rule is checked.

use std::process::Command;

use super::root;
use super::support::skipped;

/// The last commit that nobody looked at.
const UNCHECKED: &str = "40aa43e0d1cd1515ed33ea1de4f104e8ea45129d";
const MOST_SIGNS: usize = 72;

/// What is wrong with the first line of a commit.
fn problem(subject: &str) -> Option<&'static str> {
    if subject.chars().count() > MOST_SIGNS {
        return Some("longer than 72 signs");
    }
    if subject.contains(';') {
        return Some("two subjects, or a semicolon");
    }
    if subject.ends_with('.') {
        return Some("ends with a full stop");
    }
    let begins = subject.chars().next().is_some_and(char::is_uppercase);
    (!begins).then_some("does not begin with a capital letter")
}

#[test]
fn commits_say_in_one_short_line_what_they_do() {
    let range = format!("{UNCHECKED}..HEAD");
    let log = Command::new("git")
        .args(["-c", "safe.directory=*", "log", "--no-merges", "--format=%h %s", &range])
        .current_dir(root())
        .output();
    assert_eq!(problem("Speak WebDAV, with Basic and Digest login"), None);
    for wrong in ["Speak WebDAV; add a bed", "Speak WebDAV.", "speak WebDAV", "", &"Speak ".repeat(13)] {
        assert!(problem(wrong).is_some(), "{wrong}");
    }
    let Some(log) = log.ok().filter(|log| log.status.success()) else {
        return skipped("there is no git, or the history does not reach back to where the rule is checked");
    };
    let text = String::from_utf8_lossy(&log.stdout).into_owned();
    let wrong: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(commit, subject)| Some(format!("{commit} {subject}: {}", problem(subject)?)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
