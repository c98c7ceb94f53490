//! `cosmark convert`: COSBench XML to native YAML and back.

use cosmark_workload::{Format, to_xml, to_yaml};

use crate::args::ConvertArgs;
use crate::diagnose;
use crate::exit::{Exit, Outcome, Problem};
use crate::load::load;

/// Runs the subcommand.
pub fn run(args: &ConvertArgs) -> Outcome {
    let loaded = load(&args.file, None, &[])?;
    let text = match loaded.format {
        Format::Xml => to_yaml(&loaded.workload),
        Format::Yaml => {
            let (text, lost) = to_xml(&loaded.workload);
            diagnose::show(&args.file.display().to_string(), &loaded.source, &lost);
            text
        }
    };
    match &args.output {
        None => print!("{text}"),
        Some(path) => std::fs::write(path, text)
            .map_err(|cause| Problem::ours(format!("cannot write {}: {cause}", path.display())))?,
    }
    Ok(Exit::Done)
}
