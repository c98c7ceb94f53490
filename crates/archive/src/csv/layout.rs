//! The names that a workload gives to rows, columns, files and tags. Op-Name rules: COSBench 0.4.2's exporters.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cosmark_metrics::OperationResult;
use cosmark_workload::model::{OpKind, Operation, Stage, Work, Workload};

use crate::directory::files::safe_name;
use crate::directory::signs::is_hostile;

/// Names of one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageLayout {
    /// `s<k>-<name>`.
    pub id: String,
    /// Name as given.
    pub name: String,
    /// Name of its timeline file.
    pub file: String,
    /// Its works, in order.
    pub works: Vec<WorkLayout>,
}

/// Names of one work.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkLayout {
    /// Name as given.
    pub name: String,
    /// Workers over all drivers.
    pub workers: u32,
    /// Its operations, in order.
    pub operations: Vec<OperationLayout>,
}

/// Names of one operation.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationLayout {
    /// Op-Name: the operation's name, or `<name>-<sample type>` when the two differ.
    pub label: String,
    /// Op-Type: what it does.
    pub op: Cow<'static, str>,
    /// Start of its tags in the histogram log; unique in the run.
    pub tag: String,
    /// Head of its column in the response-time histogram.
    pub histogram_label: String,
    /// Config-Info: share and config, without commas and semicolons.
    pub config_info: String,
    /// True for `init` and `dispose`, whose rows COSBench leaves empty.
    pub silent: bool,
}

impl StageLayout {
    /// Gives the stage another 0-based index, and its files and tags the names that follow from it.
    pub(crate) fn renumber(&mut self, index: usize) {
        let before = std::mem::replace(&mut self.id, format!("s{}-{}", index + 1, self.name));
        self.file = format!("{}.csv", safe_name(&self.id));
        let (old, new) = (safe_tag(&before), safe_tag(&self.id));
        for operation in self.works.iter_mut().flat_map(|work| &mut work.operations) {
            if let Some(rest) = operation.tag.strip_prefix(&old) {
                operation.tag = format!("{new}{rest}");
            }
            if let Some(rest) = operation.histogram_label.strip_prefix(&before) {
                operation.histogram_label = format!("{}{rest}", self.id);
            }
        }
    }

    /// All operations, work by work.
    pub fn operations(&self) -> impl Iterator<Item = (&WorkLayout, &OperationLayout)> {
        self.works.iter().flat_map(|work| work.operations.iter().map(move |op| (work, op)))
    }
}

/// Names of all stages.
#[must_use]
pub fn layout_of(workload: &Workload) -> Vec<StageLayout> {
    workload.stages.iter().enumerate().map(|(index, stage)| layout_of_stage(stage, index)).collect()
}

/// Names of the stage at 0-based `index`.
pub(crate) fn layout_of_stage(stage: &Stage, index: usize) -> StageLayout {
    let id = stage.id(index);
    let mut seen = BTreeMap::<String, usize>::new();
    for operation in stage.works.iter().flat_map(|work| &work.operations) {
        *seen.entry(safe_tag(&label_of(&operation.name, operation.kind.sample_word()))).or_default() += 1;
    }
    let works = stage
        .works
        .iter()
        .enumerate()
        .map(|(k, work)| WorkLayout {
            name: work.name.clone(),
            workers: work.workers,
            operations: work.operations.iter().map(|op| operation_layout(&id, k, work, op, &seen)).collect(),
        })
        .collect();
    StageLayout { file: format!("{}.csv", safe_name(&id)), name: stage.name.clone(), works, id }
}

/// Names of a stage that the workload does not have: those of its results, in their order.
pub(crate) fn layout_of_results(id: &str, name: &str, results: &[OperationResult]) -> StageLayout {
    let mut works = Vec::<WorkLayout>::new();
    for operation in results {
        if works.last().is_none_or(|work| work.name != operation.work) {
            let (name, workers) = (operation.work.clone(), operation.workers);
            works.push(WorkLayout { name, workers, operations: Vec::new() });
        }
        let number = works.len();
        let silent = [OpKind::Init, OpKind::Dispose].iter().any(|kind| kind.word() == operation.op);
        let names = OperationLayout {
            label: label_of(&operation.name, &operation.sample),
            op: Cow::Owned(operation.op.clone()),
            tag: operation.tag.clone(),
            histogram_label: format!("{id}-w{number}-{}-{}", operation.work, operation.name),
            config_info: String::new(),
            silent,
        };
        if let Some(work) = works.last_mut() {
            work.operations.push(names);
        }
    }
    StageLayout { file: format!("{}.csv", safe_name(id)), name: name.to_owned(), works, id: id.to_owned() }
}

fn operation_layout(
    stage_id: &str,
    work_index: usize,
    work: &Work,
    operation: &Operation,
    seen: &BTreeMap<String, usize>,
) -> OperationLayout {
    let label = label_of(&operation.name, operation.kind.sample_word());
    // Two works of a stage may both have a `read`: only then the tag needs more than the label.
    let tag = if seen.get(&safe_tag(&label)).is_some_and(|count| *count > 1) {
        format!("{stage_id}.{label}-{}", operation.id)
    } else {
        format!("{stage_id}.{label}")
    };
    OperationLayout {
        op: Cow::Borrowed(work.word_of(operation)),
        tag: safe_tag(&tag),
        histogram_label: format!("{stage_id}-w{}-{}-{}", work_index + 1, work.name, operation.name),
        config_info: format!(
            "{}% {}",
            crate::csv::number::decimal(operation.weight, 2),
            operation.config_text.replace(',', "-").replace(';', " ")
        ),
        silent: matches!(operation.kind, OpKind::Init | OpKind::Dispose),
        label,
    }
}

fn label_of(name: &str, sample: &str) -> String {
    if name == sample { sample.to_owned() } else { format!("{name}-{sample}") }
}

/// The log format ends a tag at a comma, and has it without blanks. A record is read without hostile signs, so that a tag
/// with one would be found in the log no more.
fn safe_tag(tag: &str) -> String {
    tag.chars().map(|c| if c == ',' || c.is_whitespace() || is_hostile(c) { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::safe_tag;
    use crate::directory::signs::without_hostile_signs;

    #[test]
    fn a_tag_is_read_as_it_was_written_whatever_a_name_holds() {
        for name in ["r\u{202e}1", "r\u{2066}1", "r\u{2028}1", "r\u{1b}1", "r\u{9b}1", "r,1", "r 1", "r\n1"] {
            let tag = safe_tag(name);
            assert_eq!(tag, "r_1", "{name:?}");
            let json = format!("\"{tag}\"");
            assert_eq!(without_hostile_signs(&json), json);
        }
        assert_eq!(safe_tag("\u{5d0}\u{200f}-\u{65e5}"), "\u{5d0}\u{200f}-\u{65e5}");
    }
}
