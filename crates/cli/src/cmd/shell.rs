//! `cosmark completions` and `cosmark man`.

use std::path::Path;

use clap::{Command, CommandFactory};

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::exit::{Exit, Outcome, Problem};
use crate::out::Reader;
use crate::output;

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Outcome {
    clap_complete::generate(args.shell, &mut Args::command(), "cosmark", &mut Reader);
    Ok(Exit::Done)
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
        Problem::usage(format!("cannot write {}: {cause}; give another directory", directory.display()))
    };
    std::fs::create_dir_all(directory).map_err(fail)?;
    let mut command = Args::command().disable_help_subcommand(true);
    // Names and usage lines of subcommands are complete only then.
    command.build();
    let mut pages = vec![("cosmark".to_owned(), page(&command, "cosmark")?)];
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let name = format!("cosmark-{}", sub.get_name());
        let mut text = page(sub, &name)?;
        text.extend_from_slice(b".SH \"SEE ALSO\"\n\\fBcosmark\\fR(1)\n");
        pages.push((name, text));
    }
    let count = pages.len();
    for (name, text) in pages {
        output::write_bytes(Some(&directory.join(format!("{name}.1"))), &text)?;
    }
    println!("{count} pages in {}", directory.display());
    Ok(Exit::Done)
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
