//! What the program prints. The macros here stand in for those of the standard library, which panic when nobody reads: a reader that
//! has left (`| head`) ends no run and is no mistake, and output that cannot be written for another reason is told at the end.
//! On a terminal, sentences are broken to its width here and nowhere else; in a pipe or a file each stays one line.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use comfy_table::{TableStyle, presets};

use crate::exit::{Exit, Outcome, Problem};
use crate::paint::{To, is_on, without_orders};
use crate::screen::columns;
use crate::wrap::wrapped;

/// The first thing that went wrong with standard output.
static BROKEN: OnceLock<io::Error> = OnceLock::new();

macro_rules! print {
    ($($arg:tt)*) => { $crate::out::out(::std::format_args!($($arg)*)) };
}

macro_rules! println {
    () => { $crate::out::out(::std::format_args!("\n")) };
    ($($arg:tt)*) => { $crate::out::out(::std::format_args!("{}\n", ::std::format_args!($($arg)*))) };
}

macro_rules! eprintln {
    ($($arg:tt)*) => { $crate::out::err(::std::format_args!("{}\n", ::std::format_args!($($arg)*))) };
}

/// What is no sentence, but for another program, or to be copied: its lines are broken nowhere.
macro_rules! verbatim {
    ($($arg:tt)*) => { $crate::out::verbatim(::std::format_args!("{}\n", ::std::format_args!($($arg)*))) };
}

#[cfg(feature = "fleet")]
macro_rules! everbatim {
    ($($arg:tt)*) => { $crate::out::everbatim(::std::format_args!("{}\n", ::std::format_args!($($arg)*))) };
}

/// Writes to standard output, without orders to a terminal that a name may hold; what goes wrong is kept for [`end`].
pub fn out(text: Arguments<'_>) {
    let text = text.to_string();
    let text = without_orders(&text);
    match columns(To::Stdout) {
        Some(columns) => to_stdout(format_args!("{}", wrapped(&text, columns))),
        None => to_stdout(format_args!("{text}")),
    }
}

/// The same, as it stands; where a terminal shows it, without orders to that.
pub fn verbatim(text: Arguments<'_>) {
    if io::stdout().is_terminal() {
        to_stdout(format_args!("{}", without_orders(&text.to_string())));
    } else {
        to_stdout(text);
    }
}

fn to_stdout(text: Arguments<'_>) {
    crate::screen::clear();
    if BROKEN.get().is_none()
        && let Err(cause) = io::stdout().lock().write_fmt(text)
    {
        let _ = BROKEN.set(cause);
    }
}

/// Writes to standard error, without orders to a terminal; who cannot be told anything is told nothing.
pub fn err(text: Arguments<'_>) {
    let text = text.to_string();
    let text = without_orders(&text);
    match columns(To::Stderr) {
        Some(columns) => to_stderr(format_args!("{}", wrapped(&text, columns))),
        None => to_stderr(format_args!("{text}")),
    }
}

/// The same, its lines broken nowhere.
pub fn everbatim(text: Arguments<'_>) {
    to_stderr(format_args!("{}", without_orders(&text.to_string())));
}

fn to_stderr(text: Arguments<'_>) {
    crate::screen::clear();
    let _ = io::stderr().lock().write_fmt(text);
}

/// The locale says that the terminal shows no UTF-8. One that says nothing, as in most containers, is taken to show it.
pub fn ascii_only() -> bool {
    let said = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| std::env::var(name).ok());
    is_ascii_only(said)
}

fn is_ascii_only(mut said: impl Iterator<Item = String>) -> bool {
    said.find(|locale| !locale.is_empty())
        .is_some_and(|locale| !locale.to_ascii_lowercase().replace('-', "").contains("utf8"))
}

/// The lines of tables, in what the terminal can show.
pub fn frame() -> TableStyle {
    if ascii_only() { presets::ASCII_BORDERS_ONLY_CONDENSED } else { presets::UTF8_BORDERS_ONLY }
}

/// The reader of standard output has left, or nothing can be written to it: going on with nothing but output makes no sense.
pub fn nobody_reads() -> bool {
    BROKEN.get().is_some()
}

/// Standard output for writers of other crates, whose reader may leave.
pub struct Reader;

impl Write for Reader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if BROKEN.get().is_none()
            && let Err(cause) = io::stdout().lock().write_all(bytes)
        {
            let _ = BROKEN.set(cause);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Says what is wrong with the arguments, or prints the help that they ask for.
#[must_use]
pub fn arguments(error: &clap::Error) -> std::process::ExitCode {
    let text = error.render();
    let text = if is_on(if error.use_stderr() { To::Stderr } else { To::Stdout }) {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    if !error.use_stderr() {
        print!("{text}");
        return end(Ok(Exit::Done)).into();
    }
    eprintln!("{}", text.trim_end());
    Exit::Usage.into()
}

/// Makes of what a subcommand came to what the shell sees: 1 when it was done but could not be printed.
pub fn end(outcome: Outcome) -> Exit {
    if BROKEN.get().is_none()
        && let Err(cause) = io::stdout().lock().flush()
    {
        let _ = BROKEN.set(cause);
    }
    let lost = BROKEN.get().filter(|cause| cause.kind() != ErrorKind::BrokenPipe);
    let outcome = match (outcome, lost) {
        (Ok(Exit::Done), Some(cause)) => {
            Err(Problem::ours(format!("the output could not be written: {cause}; is the disk full?")))
        }
        (outcome, _) => outcome,
    };
    outcome.unwrap_or_else(|problem| {
        eprintln!("cosmark: {problem}");
        problem.exit()
    })
}

#[cfg(test)]
mod tests {
    use super::is_ascii_only;

    #[test]
    fn only_a_locale_that_says_so_has_no_utf_8() {
        let ascii = |locales: &[&str]| is_ascii_only(locales.iter().map(|&locale| locale.to_owned()));
        assert!(ascii(&["C"]) && ascii(&["", "POSIX"]) && ascii(&["de_DE.ISO-8859-1", "en_US.UTF-8"]));
        assert!(
            !ascii(&["C.UTF-8"]) && !ascii(&["", "", "en_US.utf8"]) && !ascii(&["", "", ""]) && !ascii(&[])
        );
    }
}
