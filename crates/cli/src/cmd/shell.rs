//! `cosmark completions` and `cosmark man`.

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::exit::{Exit, Outcome, Problem};
use crate::out::Reader;

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Outcome {
    clap_complete::generate(args.shell, &mut Args::command(), "cosmark", &mut Reader);
    Ok(Exit::Done)
}

/// Prints the manual page, subcommands included.
pub fn man() -> Outcome {
    let fail = |cause: std::io::Error| Problem::ours(format!("cannot print the manual: {cause}"));
    let mut out = Reader;
    let command = Args::command();
    clap_mangen::Man::new(command.clone()).render(&mut out).map_err(fail)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let sub = sub.clone().name(format!("cosmark {}", sub.get_name()).leak() as &'static str);
        let man = clap_mangen::Man::new(sub);
        man.render_name_section(&mut out).map_err(fail)?;
        man.render_options_section(&mut out).map_err(fail)?;
    }
    Ok(Exit::Done)
}
