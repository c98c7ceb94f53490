//! What was probably meant by a word of the command line that is none of it: a slip of the fingers, for which the parser's own
//! measure misses words that are short or whose characters changed places, or the word of another tool.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use cosmark_workload::diagnostics::nearest;

use crate::address::{is_address, without_login};

/// Commands of other tools and of habit, with what does that here. Source: the helps of warp, elbencho and COSBench's cli.sh.
const ELSEWHERE: &[(&str, &str)] = &[
    ("analyze", "results again: `cosmark show RUN`, `cosmark report RUN`, `cosmark judge RUN`"),
    ("bench", "measure a store: `cosmark quick URL`, or `cosmark run FILE`"),
    ("benchmark", "measure a store: `cosmark quick URL`, or `cosmark run FILE`"),
    ("client", "load for controllers elsewhere: `cosmark driver --join URL`"),
    ("cmp", "two runs beside each other: `cosmark compare w1 w2`"),
    (
        "delete",
        "writes and deletes: `cosmark quick URL --mix write=50,delete=50`; what a run left: `cosmark clean RUN`",
    ),
    ("diff", "two runs beside each other: `cosmark compare w1 w2`"),
    ("get", "only reads: `cosmark quick URL --mix read=100`"),
    ("info", "runs and their states: `cosmark list`, with --controller URL those of a controller"),
    ("kill", "end a run: Ctrl-C where it was started, or `cosmark cancel RUN` at its controller"),
    ("lint", "mistakes of a workload: `cosmark check FILE`"),
    ("ls", "the runs of an archive: `cosmark list`"),
    ("merge", "repetitions are joined by commas: `cosmark compare w1,w3 w2,w4`"),
    ("mixed", "reads and writes: `cosmark quick URL --mix read=80,write=20`"),
    ("nodes", "the store's machines: `nodes:` in a target file, and `cosmark node` for an agent on each"),
    ("ps", "the runs of an archive: `cosmark list`"),
    ("put", "only writes: `cosmark quick URL --mix write=100`"),
    ("results", "results again: `cosmark show RUN`"),
    ("start", "run a workload: `cosmark run FILE`; a queue with a console: `cosmark controller --local`"),
    ("stat", "only HEAD requests: `cosmark quick URL --mix head=100`"),
    ("status", "a run: `cosmark watch RUN`; all of them: `cosmark list`; a study: `cosmark study status`"),
    ("stop", "end a run: Ctrl-C where it was started, or `cosmark cancel RUN` at its controller"),
    (
        "validate",
        "mistakes of a workload: `cosmark check FILE`; what a store still has: `cosmark verify-data RUN`",
    ),
    ("version", "the version: `cosmark --version`"),
];

/// What an address is for that stands where a command belongs.
const BY_ITS_ADDRESS: &str = "measure a store by its address: `cosmark quick URL`";

/// The error with a tip where it can have one; `given` are the words of the command line.
#[must_use]
pub fn explained(mut error: Error, command: &Command, given: &[String]) -> Error {
    if let Some(word) = text(&error, ContextKind::InvalidSubcommand) {
        // What stands behind the word is no group that it would belong to.
        let mut before = given.iter().take_while(|one| **one != word);
        let group = before.find_map(|one| command.find_subcommand(one).filter(|sub| sub.has_subcommands()));
        let elsewhere = ELSEWHERE.iter().find(|row| row.0 == word && group.is_none()).map(|row| row.1);
        if let Some(instead) = elsewhere.or(is_address(&word).then_some(BY_ITS_ADDRESS)) {
            error.remove(ContextKind::SuggestedSubcommand);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(instead)]));
        } else if error.get(ContextKind::SuggestedSubcommand).is_none() {
            let all = group.unwrap_or(command).get_subcommands().filter(|sub| !sub.is_hide_set());
            if let Some(name) = nearest(&word, all.map(Command::get_name)) {
                let names = ContextValue::Strings(vec![name.to_owned()]);
                error.insert(ContextKind::SuggestedSubcommand, names);
            }
        }
    }
    if let Some(tip) = about_a_negative(&error, given) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    let value =
        text(&error, ContextKind::InvalidValue).filter(|_| error.get(ContextKind::SuggestedValue).is_none());
    let meant = match (value, error.get(ContextKind::ValidValue)) {
        (Some(value), Some(ContextValue::Strings(valid))) => {
            nearest(&value, valid.iter().map(String::as_str)).map(str::to_owned)
        }
        _ => None,
    };
    if let Some(meant) = meant {
        error.insert(ContextKind::SuggestedValue, ContextValue::String(meant));
    }
    hide_logins(&mut error);
    error
}

/// Puts stars in the place of a login that was given where no address belongs.
fn hide_logins(error: &mut Error) {
    for kind in [ContextKind::InvalidSubcommand, ContextKind::InvalidArg, ContextKind::InvalidValue] {
        if let Some(word) = text(error, kind).filter(|word| is_address(word)) {
            error.insert(kind, ContextValue::String(without_login(&word)));
        }
    }
}

/// A number with a sign is taken for an option that there is none of, and the parser would have it given as a word of
/// its own, which no option takes.
fn about_a_negative(error: &Error, given: &[String]) -> Option<String> {
    let word = text(error, ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let is_number = |rest: &str| rest.starts_with(|sign: char| sign.is_ascii_digit() || sign == '.');
    word.strip_prefix('-').filter(|rest| is_number(rest))?;
    let at = given.iter().position(|one| one.starts_with(&word))?;
    let before = at.checked_sub(1).and_then(|at| given.get(at)).filter(|one| one.starts_with('-'));
    Some(match before {
        Some(option) => format!("nothing that {option} takes is negative"),
        None => "words that begin with - are options, and no option is a number".to_owned(),
    })
}

fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{ELSEWHERE, explained};
    use crate::args::Args;

    fn said(words: &[&str]) -> String {
        let given: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let Err(error) = Args::try_parse_from(["cosmark"].iter().chain(words)) else {
            return "it was understood".to_owned();
        };
        explained(error, &Args::command(), &given).render().to_string()
    }

    #[test]
    fn a_slip_finds_its_word_and_nonsense_none() {
        for (words, tip) in [
            (["rnu"].as_slice(), "'run'"),
            (&["verifydata", "w3"], "'verify-data'"),
            (&["--color", "never", "shwo"], "'show'"),
            (&["export", "w3", "--format", "cvs"], "'csv'"),
            (&["datasets", "shwo"], "'show'"),
            (&["cmp", "w1", "w2"], "`cosmark compare w1 w2`"),
            (&["status"], "`cosmark study status`"),
            (&["ls", "datasets"], "`cosmark list`"),
            (&["shwo", "datasets"], "'show'"),
            (&["demo", "--runtime", "-5"], "nothing that --runtime takes is negative"),
            (&["run", "x.yaml", "--seed", "-5"], "nothing that --seed takes is negative"),
            (&["list", "--limit", "-.5"], "nothing that --limit takes is negative"),
            (&["show", "-1"], "words that begin with - are options, and no option is a number"),
        ] {
            let text = said(words);
            assert!(text.contains("tip: ") && text.contains(tip), "{words:?}: {text}");
            assert_eq!(text.matches("tip: ").count(), 1, "{words:?}: {text}");
        }
        for words in [
            ["xyzzy"].as_slice(),
            &["datasets", "rnu"],
            &["datasets", "cmp"],
            &["export", "--format", "xyzzy"],
        ] {
            assert!(!said(words).contains("tip: "), "{words:?}: {}", said(words));
        }
    }

    #[test]
    fn a_login_in_the_place_of_another_word_is_not_repeated() {
        for (words, shown) in [
            (["s3+http://k:hunter2@h:9000"].as_slice(), "'s3+http://***@h:9000'"),
            (&["k:hunter2@h:9000"], "'***@h:9000'"),
            (&["datasets", "k:hunter2@h"], "'***@h'"),
            (&["demo", "s3+http://k:hunter2@h"], "'s3+http://***@h'"),
            (&["quick", "s3+http://h", "k:hunter2@h"], "'***@h'"),
            (&["export", "w3", "--format", "k:hunter2@h"], "'***@h'"),
            (&["list", "--limit", "k:hunter2@h"], "'***@h'"),
        ] {
            let text = said(words);
            assert!(text.contains(shown) && !text.contains("hunter2"), "{words:?}: {text}");
        }
        assert!(said(&["s3+http://h"]).contains("tip: measure a store by its address: `cosmark quick URL`"));
    }

    #[test]
    fn no_word_of_another_tool_is_one_of_ours_and_each_is_sorted_in() {
        let command = Args::command();
        for (word, instead) in ELSEWHERE {
            assert!(command.find_subcommand(word).is_none(), "{word} is a command");
            for call in instead.split('`').skip(1).step_by(2).filter(|call| call.starts_with("cosmark ")) {
                let name = call.split(' ').nth(1).unwrap_or_default();
                assert!(name.starts_with('-') || command.find_subcommand(name).is_some(), "{call}");
            }
        }
        assert!(ELSEWHERE.is_sorted_by_key(|row| row.0));
    }
}
