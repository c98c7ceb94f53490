//! Workloads: COSBench XML or native YAML in, a [`model::Workload`] and every mistake with its place and a hint out.
//! Pure: no input or output, no async, no clock. What the words mean: `docs/reference/workload-xml.md` and
//! `docs/reference/workload-yaml.md`.

pub mod access_log;
mod assemble;
pub mod check;
pub mod convert;
pub mod diagnostics;
pub mod document;
pub mod encoding;
mod file_name;
pub mod keys;
pub mod leftovers;
pub mod logins;
pub mod model;
pub mod places;
pub mod plan;
pub mod reachability;
mod room;
mod xml;
mod yaml;

use std::collections::BTreeMap;

pub use assemble::NO_STORAGE;

pub use convert::{to_expanded_xml, to_xml, to_yaml};
pub use cosmark_units as units;
pub use diagnostics::{Diagnostic, Severity, Span};
pub use file_name::safe_name;
pub use keys::reference::reference_markdown;
pub use keys::schema::{self, json_schema};
pub use keys::setting::apply_setting;
pub use keys::{attributes, operation};
pub use model::dataset::{self, DataSetFacts, DataSetUse, FillPass};
pub use model::selector::{IntSelector, SizeSelector, SizeUnit};
pub use model::target::{Target, apply_target, parse_target};
pub use model::{Workload, search, selector, threshold};
pub use plan::choose::{Chooser, SizeChooser};
pub use plan::share::{Slice, WorkerIndex};
pub use plan::{choose, drivers, permutation, schedule, share};
pub use reachability::{asked, compared, listed, read_sizes};

use diagnostics::Mistakes;

/// What a workload may ask about the machine it is read on.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Values of `${sys:name}` in XML, by name: what COSBench took from the Java system properties, e.g. `user.name`.
    pub system: BTreeMap<String, String>,
    /// Data sets that operations may name, by name.
    pub datasets: BTreeMap<String, DataSetFacts>,
}

/// What a workload file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// COSBench XML.
    Xml,
    /// Native YAML.
    Yaml,
}

impl Format {
    /// Tells the format of a file: a text that starts with `<` is XML, and so is a file that is named so.
    #[must_use]
    pub fn detect(file_name: &str, text: &str) -> Format {
        let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let name = file_name.to_ascii_lowercase();
        if text.starts_with('<') || name.ends_with(".xml") { Format::Xml } else { Format::Yaml }
    }
}

/// Reads a workload and looks for every mistake in it, sorted by place. The workload is there when none of them is an
/// error.
#[must_use]
pub fn parse(source: &str, format: Format, environment: &Environment) -> (Option<Workload>, Vec<Diagnostic>) {
    let (workload, diagnostics) = parse_what_is_there(source, format, environment);
    (workload.filter(|_| diagnostics::none_is_error(&diagnostics)), diagnostics)
}

/// Reads the faults that the operator of a machine lets its agent make, and every mistake in them, sorted by place.
#[must_use]
pub fn parse_allowed_faults(source: &str) -> (Vec<model::faults::AllowedFault>, Vec<Diagnostic>) {
    let mut mistakes = Mistakes::default();
    let faults = yaml::allowed::read(source, &mut mistakes);
    (faults, mistakes.finish())
}

/// The same as [`parse`], but with what could be read also where there are errors: good for looking for further mistakes, not for
/// running.
#[must_use]
pub fn parse_what_is_there(
    source: &str,
    format: Format,
    environment: &Environment,
) -> (Option<Workload>, Vec<Diagnostic>) {
    let mut mistakes = Mistakes::default();
    let workload = read(source, format, environment, &mut mistakes);
    if let Some(workload) = &workload {
        check::into(workload, &mut mistakes);
    }
    (workload, mistakes.finish())
}

/// What could be read of a workload, without a look for mistakes: for whoever shows what was run, of many runs at once.
#[must_use]
pub fn read_unchecked(source: &str, format: Format, environment: &Environment) -> Option<Workload> {
    read(source, format, environment, &mut Mistakes::default())
}

fn read(
    source: &str,
    format: Format,
    environment: &Environment,
    mistakes: &mut Mistakes,
) -> Option<Workload> {
    match format {
        Format::Xml => xml::parse(source, environment, mistakes),
        Format::Yaml => yaml::parse(source, environment, mistakes),
    }
}
