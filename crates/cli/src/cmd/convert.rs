//! `cosmark convert`: COSBench XML to native YAML and back; access logs to recorded arrivals.

use std::path::Path;

use cosmark_driver::{cosbench_xml, native_yaml};
use cosmark_workload::access_log::LOG_FORMATS;
use cosmark_workload::{Format, Severity};

use crate::args::ConvertArgs;
use crate::cmd::arrivals;
use crate::diagnose;
use crate::exit::{Exit, Outcome, Problem};
use crate::load::load;
use crate::output;
use crate::registry::READING;

/// Runs the subcommand.
pub fn run(args: &ConvertArgs) -> Outcome {
    let read: Vec<&Path> =
        [Some(args.file.as_path()), args.target.as_deref()].into_iter().flatten().collect();
    output::check(args.output.as_deref(), &read)?;
    let log = match &args.from {
        Some(name) => {
            let found = LOG_FORMATS.iter().find(|(known, _)| known == name).map(|(_, format)| *format);
            let known: Vec<&str> = LOG_FORMATS.iter().map(|(known, _)| *known).collect();
            let unknown = || Problem::usage(format!("--from {name}: give one of {}", known.join(", ")));
            Some(found.ok_or_else(unknown)?)
        }
        None if args.file.as_os_str() == "-" => None,
        None => arrivals::detect(&args.file),
    };
    if let Some(format) = log {
        return arrivals::run(args, format);
    }
    let loaded = load(&READING, &args.file, args.target.as_deref(), &[])?;
    check_ending(args.output.as_deref(), loaded.format)?;
    let (text, lost) = match loaded.format {
        Format::Xml => (native_yaml(&READING, &loaded.workload), Vec::new()),
        Format::Yaml => cosbench_xml(&READING, &loaded.workload),
    };
    diagnose::show(&args.file.display().to_string(), &loaded.source, &lost);
    output::write_bytes(args.output.as_deref(), text.as_bytes())?;
    let errors = lost.iter().filter(|one| one.severity == Severity::Error).count();
    if errors > 0 {
        return Err(Problem::usage(format!(
            "{}: what was written means something else: XML cannot carry {errors} of its values",
            args.file.display()
        )));
    }
    Ok(Exit::Done)
}

/// Refuses a file whose name says the other format: what is called `.xml` is read as XML, whatever is in it.
fn check_ending(output: Option<&Path>, from: Format) -> Result<(), Problem> {
    let Some(path) = output::file(output) else { return Ok(()) };
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let (becomes, own, others): (_, _, &[&str]) = match from {
        Format::Xml => ("native YAML", "yaml", &["xml"]),
        Format::Yaml => ("COSBench's XML", "xml", &["yaml", "yml"]),
    };
    if others.contains(&ending.as_str()) {
        let shown = path.display();
        return Err(Problem::usage(format!(
            "{shown}: this becomes {becomes}; name a file that ends with .{own}"
        )));
    }
    Ok(())
}
