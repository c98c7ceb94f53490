//! A workload as text again: COSBench XML, COSBench's expanded `workload-config.xml`, native YAML. What is written is read
//! back as the same workload; what XML cannot carry is reported.

mod faults;
mod xml_writer;
mod yaml_writer;

use crate::diagnostics::Diagnostic;
use crate::model::{TargetSpec, Work, Workload};

/// COSBench XML. Open loops, fractions and references to secrets go into `config` keys that Cosmark reads back; a
/// diagnostic says what even they cannot carry.
#[must_use]
pub fn to_xml(workload: &Workload) -> (String, Vec<Diagnostic>) {
    xml_writer::write(workload, false, |_, _| false)
}

/// COSBench's expanded file: everything inherited or defaulted is written out. `is_secret` is asked with the type of an
/// auth or storage and a key; a secret's value is written as `***`.
#[must_use]
pub fn to_expanded_xml(
    workload: &Workload,
    is_secret: fn(kind: &str, key: &str) -> bool,
) -> (String, Vec<Diagnostic>) {
    xml_writer::write(workload, true, is_secret)
}

/// Native YAML, canonical: it is what is stored beside results and sent to drivers.
#[must_use]
pub fn to_yaml(workload: &Workload) -> String {
    yaml_writer::write(workload)
}

/// The target that all works share, if they do.
fn shared(workload: &Workload, of: fn(&Work) -> &TargetSpec) -> Option<&TargetSpec> {
    let mut works = workload.stages.iter().flat_map(|stage| &stage.works).map(of);
    let first = works.next()?;
    works.all(|other| other == first).then_some(first)
}

/// True for `type: none` without keys, which is what holds when nothing is said.
fn is_nothing(target: &TargetSpec) -> bool {
    target.kind == "none" && target.config.entries.is_empty()
}
