//! `cosmark export`: a run for other programs.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::Path;

use cosmark_archive::open_run;
use cosmark_report::export::{ExportError, Format};

use crate::args::ExportArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::runs::find;

/// Runs the subcommand.
pub fn run(args: &ExportArgs) -> Outcome {
    let format = Format::named(&args.format).ok_or_else(|| {
        Problem::usage(format!("no format {}; `cosmark export --help` lists them", args.format))
    })?;
    let run = open_run(&find(&args.run, &args.archive)?)?;
    let written = match &args.output {
        Some(path) => write_file(path, |out| format.write(&run, out)),
        None if format.binary && io::stdout().is_terminal() => {
            let text =
                format!("{} is not text; name a file with --output FILE.{}", format.name, format.ending);
            return Err(Problem::usage(text));
        }
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            format.write(&run, &mut out).and_then(|()| Ok(out.flush()?))
        }
    };
    match written {
        Ok(()) => Ok(Exit::Done),
        // `cosmark export .. | head` is no mistake.
        Err(ExportError::Output(cause)) if args.output.is_none() && cause.kind() == ErrorKind::BrokenPipe => {
            Ok(Exit::Done)
        }
        Err(ExportError::Archive(error)) => Err(error.into()),
        Err(error) => Err(Problem::usage(error.to_string())),
    }
}

/// Writes under another name first, so that a failure leaves no half file.
fn write_file(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let temporary = path.with_file_name(format!(".{name}.tmp-{}", std::process::id()));
    let written = File::create(&temporary).map_err(ExportError::from).and_then(|file| {
        let mut out = BufWriter::with_capacity(1 << 16, file);
        fill(&mut out)?;
        out.flush()?;
        Ok(fs::rename(&temporary, path)?)
    });
    if written.is_err() {
        drop(fs::remove_file(&temporary));
    }
    written
}
