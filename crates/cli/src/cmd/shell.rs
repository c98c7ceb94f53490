//! `cosmark completions` and `cosmark man`.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use cosmark_study::library::LIBRARY;

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::exit::{Exit, Outcome, Problem};
use crate::out::Reader;
use crate::output;

/// What looks up names of runs, studies and data sets when completion is asked for, shell by shell.
const BASH: &str = include_str!("../completions/names.bash");
const ZSH: &str = include_str!("../completions/names.zsh");
const FISH: &str = include_str!("../completions/names.fish");
/// How the generated script for zsh begins the line of an argument, and what completes that.
const IN_ZSH: &[(&str, &str)] = &[
    ("':run -- ", "_cosmark_runs"),
    ("'::run -- ", "_cosmark_runs"),
    ("'*::runs -- ", "_cosmark_runs"),
    ("':what -- Name of a study", "_cosmark_studies"),
    ("'::name -- With `new`", "_cosmark_begun"),
    ("':name -- Name of the data set", "_cosmark_datasets"),
];
/// A line of the script for zsh behind which functions may stand.
const HEAD_IN_ZSH: &str = "autoload -U is-at-least\n";

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Outcome {
    let text = script(args.shell);
    Reader.write_all(text.as_bytes()).map_err(cannot_print)?;
    Ok(Exit::Done)
}

/// What is generated, and what looks up names.
fn script(shell: Shell) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "cosmark", &mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match shell {
        Shell::Bash => text + &filled(BASH, " | "),
        Shell::Fish => text + &filled(FISH, " "),
        Shell::Zsh => {
            let own = |line: &str| match IN_ZSH.iter().find(|row| line.starts_with(row.0)) {
                Some((_, function)) => line.replace(":_default' \\", &format!(":{function}' \\")),
                None => line.to_owned(),
            };
            let lines: Vec<String> = text.lines().map(own).collect();
            let functions = format!("{HEAD_IN_ZSH}{}", filled(ZSH, " "));
            (lines.join("\n") + "\n").replacen(HEAD_IN_ZSH, &functions, 1)
        }
        _ => text,
    }
}

/// A part of a script with the commands that take a run, the studies of the library, and the options that take a value.
fn filled(part: &str, between: &str) -> String {
    let command = Args::command();
    let is_run = |argument: &clap::Arg| matches!(argument.get_id().as_str(), "run" | "runs");
    let takers = command.get_subcommands().filter(|sub| sub.get_positionals().any(is_run));
    let runs: Vec<&str> = takers.map(Command::get_name).collect();
    let studies: Vec<&str> = LIBRARY.iter().map(|entry| entry.name).collect();
    let mut options = BTreeSet::new();
    with_values(&command, &mut options);
    let options: Vec<String> = options.into_iter().collect();
    part.replace("@RUNS@", &runs.join(between))
        .replace("@STUDIES@", &studies.join(" "))
        .replace("@VALUES@", &options.join(" | "))
}

/// Options behind which their value stands.
fn with_values(command: &Command, found: &mut BTreeSet<String>) {
    for option in command.get_opts().filter(|option| !option.is_require_equals_set()) {
        found.extend(option.get_long().map(|long| format!("--{long}")));
        found.extend(option.get_short().map(|short| format!("-{short}")));
    }
    command.get_subcommands().for_each(|sub| with_values(sub, found));
}

/// Prints the manual page, subcommands included, or writes a page for each.
pub fn man(args: &ManArgs) -> Outcome {
    match &args.dir {
        Some(directory) => write_all(directory),
        None => print_one(),
    }
}

fn print_one() -> Outcome {
    let mut out = Reader;
    let command = Args::command();
    clap_mangen::Man::new(command.clone()).render(&mut out).map_err(cannot_print)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let sub = sub.clone().name(format!("cosmark {}", sub.get_name()).leak() as &'static str);
        let man = clap_mangen::Man::new(sub);
        man.render_name_section(&mut out).map_err(cannot_print)?;
        man.render_options_section(&mut out).map_err(cannot_print)?;
    }
    Ok(Exit::Done)
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn cannot_print(cause: std::io::Error) -> Problem {
    Problem::ours(format!("cannot print the manual: {cause}"))
}

/// `cosmark.1`, `cosmark-run.1`, .. with what each says of the others. Source: man-pages(7).
fn write_all(directory: &Path) -> Outcome {
    let fail = |cause: std::io::Error| {
        let text = format!("cannot write {}: {cause}; give another directory", directory.display());
        Problem::place(text, &cause)
    };
    std::fs::create_dir_all(directory).map_err(fail)?;
    let mut command = Args::command().disable_help_subcommand(true);
    // Names and usage lines of subcommands are complete only then.
    command.build();
    let mut pages = vec![("cosmark".to_owned(), page(&command, "cosmark")?)];
    below(&command, "cosmark", &mut pages)?;
    let count = pages.len();
    for (name, text) in pages {
        output::write_bytes(Some(&directory.join(format!("{name}.1"))), &text)?;
    }
    println!("{count} pages in {}", directory.display());
    Ok(Exit::Done)
}

/// Subcommands that are read together; each page names the others of its row. Those of one command follow by themselves.
const READ_TOGETHER: &[&[&str]] = &[
    &["demo", "quick", "run", "check", "convert", "schema"],
    &["list", "show", "judge", "report", "compare", "plot", "export", "watch"],
    &["controller", "submit", "cancel", "logs", "drivers", "driver", "node"],
    &["recover", "clean", "datasets", "verify-data", "faults"],
    &["baseline", "plan", "study", "certify", "lbn", "import"],
    &["tag", "note", "list"],
    &["serve", "adaptors", "quick"],
    &["completions", "man"],
];

/// Pages of all that is below a command, with what to read beside each.
fn below(command: &Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), Problem> {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        let own = format!("{name}-{}", sub.get_name());
        let mut text = page(sub, &own)?;
        let mut others = BTreeSet::from([name.to_owned()]);
        let rows = READ_TOGETHER.iter().filter(|row| name == "cosmark" && row.contains(&sub.get_name()));
        others.extend(rows.flat_map(|row| row.iter()).map(|other| format!("cosmark-{other}")));
        others.remove(&own);
        let bold: Vec<String> = others.iter().map(|other| format!("\\fB{}\\fR(1)", escaped(other))).collect();
        text.extend_from_slice(format!(".SH \"SEE ALSO\"\n{}\n", bold.join(", ")).as_bytes());
        pages.push((own.clone(), text));
        below(sub, &own, pages)?;
    }
    Ok(())
}

/// A hyphen of a name is no place to break, and is copied as one. Source: groff_char(7).
fn escaped(name: &str) -> String {
    name.replace('-', "\\-")
}

fn page(command: &Command, name: &str) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    let source = concat!("cosmark ", env!("CARGO_PKG_VERSION"));
    let named = command.clone().display_name(name.to_owned());
    clap_mangen::Man::new(named)
        .title(name.to_uppercase())
        .source(source)
        .manual("Cosmark")
        .render(&mut text)
        .map_err(cannot_print)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_are_named_beside_another_are_there() {
        let command = Args::command();
        for name in READ_TOGETHER.iter().copied().flatten() {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
        for sub in command.get_subcommands() {
            let name = sub.get_name();
            assert!(READ_TOGETHER.iter().any(|row| row.contains(&name)), "{name} is read beside nothing");
        }
    }

    #[test]
    fn scripts_look_up_names_and_have_no_gap() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = script(shell);
            assert!(!text.contains("@RUNS@") && !text.contains("@STUDIES@") && !text.contains("@VALUES@"));
            for word in ["verify-data", "zmanda-pebbles", "journal.jsonl", ".datasets"] {
                assert!(text.contains(word), "{shell}: {word}");
            }
        }
        // A pipe in place of a journal would be waited for, with the terminal.
        for (shell, asks) in [
            (Shell::Bash, "[[ -f $entry ]] && sed"),
            (Shell::Zsh, "*/journal.jsonl(N-.)"),
            (Shell::Fish, "test -f $file; and head"),
        ] {
            assert!(script(shell).contains(asks), "{shell}");
        }
        // Each argument of zsh that is a run, a study or a data set is completed by its function.
        let zsh = script(Shell::Zsh);
        for (start, function) in IN_ZSH {
            let lines: Vec<&str> = zsh.lines().filter(|line| line.starts_with(start)).collect();
            let ending = format!(":{function}' \\");
            assert!(
                !lines.is_empty() && lines.iter().all(|line| line.ends_with(&ending)),
                "{start}: {lines:?}"
            );
        }
        assert_eq!(zsh.matches("_cosmark_archive() {").count(), 1);
    }
}
