//! What XML and YAML share when a workload is put together: special works, triggers, operation ids.

use std::time::Duration;

use cosmark_units::Complaint;

use crate::diagnostics::{Mistakes, Span, shown};
use crate::file_name::safe_name;
use crate::model::{
    Config, Division, Load, OpKind, Operation, Stage, TargetSpec, Trigger, Work, WorkKind, Workload,
};

/// Most stages of a workload.
pub const MAX_STAGES: usize = 10_000;
/// Most operations of a workload, over all stages.
pub const MAX_OPERATIONS: usize = 50_000;
/// Most works of a stage, and most operations of a work.
pub const MAX_PER_PARENT: usize = 1_000;
/// Most keys of an auth or a storage, and most entries of a `config` list.
pub const MAX_ENTRIES: usize = 100;
/// Message of the warning for a workload without a storage; a target given later makes it pointless.
pub const NO_STORAGE: &str = "no storage: give one here, or in a target file (--target FILE)";
/// Acceptable failures per million of a normal work that says nothing.
pub const DEFAULT_AFR_PER_MILLION: u32 = 200_000;

/// A type of work: its word, its kind, and for special works what they do and how they are divided.
pub(crate) struct WorkType {
    pub(crate) word: &'static str,
    pub(crate) kind: WorkKind,
    pub(crate) special: Option<(OpKind, Division)>,
}

/// Every type of work but `delay`, which is no work here.
pub(crate) const WORK_TYPES: &[WorkType] = &[
    WorkType { word: "normal", kind: WorkKind::Normal, special: None },
    WorkType { word: "init", kind: WorkKind::Init, special: Some((OpKind::Init, Division::Container)) },
    WorkType { word: "prepare", kind: WorkKind::Prepare, special: Some((OpKind::Prepare, Division::Object)) },
    WorkType {
        word: "mprepare",
        kind: WorkKind::Prepare,
        special: Some((OpKind::MultipartWrite, Division::Object)),
    },
    WorkType { word: "cleanup", kind: WorkKind::Cleanup, special: Some((OpKind::Cleanup, Division::Object)) },
    WorkType {
        word: "dispose",
        kind: WorkKind::Dispose,
        special: Some((OpKind::Dispose, Division::Container)),
    },
];

/// Warns of a workload's name, which stands at `span`, where names of files cannot have it.
pub(crate) fn workload_name(name: &str, span: Span, mistakes: &mut Mistakes) {
    if safe_name(name) != name {
        let message = format!("the workload name `{}` will be changed in file names", shown(name));
        let hint = "begin with no dot, use neither / nor \\ nor control characters, and 200 bytes at most";
        mistakes.warning(span, message, hint);
    }
}

/// The type of a work in the model.
pub(crate) fn type_of(kind: WorkKind, operation: Option<OpKind>) -> &'static WorkType {
    let exact = WORK_TYPES.iter().find(|t| t.kind == kind && t.special.map(|s| s.0) == operation);
    exact.or_else(|| WORK_TYPES.iter().find(|t| t.kind == kind)).unwrap_or(&WORK_TYPES[0])
}

impl Work {
    /// What one of its operations is called in results: a special work gives its own word, so that an `mprepare`, which makes
    /// the same requests as `mwrite`, is not taken for a measurement.
    #[must_use]
    pub fn word_of(&self, operation: &Operation) -> &'static str {
        match self.kind {
            WorkKind::Normal => operation.kind.word(),
            kind => type_of(kind, Some(operation.kind)).word,
        }
    }
}

/// Words of `division`.
pub(crate) const DIVISIONS: &[(&str, Division)] =
    &[("none", Division::None), ("container", Division::Container), ("object", Division::Object)];

pub(crate) fn division_word(division: Division) -> &'static str {
    DIVISIONS.iter().find(|row| row.1 == division).map_or("none", |row| row.0)
}

/// A stage without works, of which nothing else is said.
pub(crate) fn blank_stage(name: String, trigger: Option<Trigger>, span: crate::Span) -> Stage {
    let (thresholds, faults, works) = (Vec::new(), Vec::new(), Vec::new());
    let (search, consistency) = (None, None);
    Stage {
        name,
        closure_delay: Duration::ZERO,
        trigger,
        thresholds,
        search,
        faults,
        consistency,
        works,
        span,
    }
}

/// A work of which nothing is said: where it differs from this one, its values are written.
pub(crate) fn blank_work(kind: WorkKind) -> Work {
    Work {
        name: String::new(),
        kind,
        workers: 1,
        interval: Duration::from_secs(5),
        division: Division::None,
        runtime: Duration::ZERO,
        rampup: Duration::ZERO,
        rampdown: Duration::ZERO,
        total_ops: None,
        total_bytes: None,
        afr_per_million: if kind == WorkKind::Normal { DEFAULT_AFR_PER_MILLION } else { 0 },
        driver: None,
        load: Load::Closed,
        pass: None,
        histogram: true,
        auth: no_target(),
        storage: no_target(),
        operations: Vec::new(),
        span: crate::Span::default(),
    }
}

/// The target of a work that names none.
pub(crate) fn no_target() -> TargetSpec {
    TargetSpec { kind: "none".to_owned(), config: Config::default(), span: crate::Span::default() }
}

/// Reads `script.sh(arg1,arg2)`.
///
/// # Errors
/// When it is not a plain file name with arguments in parentheses.
pub(crate) fn parse_trigger(text: &str) -> Result<Trigger, Complaint> {
    let text = text.trim();
    let (script, args) = match text.split_once('(') {
        None => (text, Vec::new()),
        Some((script, rest)) => {
            let Some(rest) = rest.strip_suffix(')') else {
                let message = format!("the trigger `{}` has no closing parenthesis", shown(text));
                return Err((message, "write script.sh(arg1,arg2)".to_owned()));
            };
            let args = rest.split(',').map(|a| a.trim().to_owned());
            (script.trim(), if rest.trim().is_empty() { Vec::new() } else { args.collect() })
        }
    };
    check_script(script)?;
    Ok(Trigger { script: script.to_owned(), args })
}

/// A script is named, not pointed at: drivers run what lies in their own script directory.
pub(crate) fn check_script(script: &str) -> Result<(), Complaint> {
    if script.is_empty() || script == "." || script == ".." || script.contains(['/', '\\', '\0']) {
        return Err((
            format!("`{}` is not the name of a script", shown(script)),
            "give the file name alone; it is looked for in the driver's script directory".to_owned(),
        ));
    }
    Ok(())
}

/// Numbers the operations of every stage: `op1`, `op2`, .. in document order.
pub(crate) fn number_operations(workload: &mut Workload) {
    for stage in &mut workload.stages {
        number_stage(stage);
    }
}

fn number_stage(stage: &mut Stage) {
    let operations = stage.works.iter_mut().flat_map(|work| &mut work.operations);
    for (index, operation) in operations.enumerate() {
        operation.id = format!("op{}", index + 1);
    }
}
