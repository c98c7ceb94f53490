//! A stage as text for a driver: a workload of one stage in canonical native YAML. The parser is the contract, so drivers
//! and controllers of different versions agree on what a stage means or say what they do not understand.

use cosmark_workload::model::{Stage, Workload};
use cosmark_workload::{Environment, Format, Severity, Workload as Parsed, parse, to_yaml};

/// The text of a stage, without what is the controller's alone: pauses, triggers, thresholds, searches,
/// faults.
#[must_use]
pub fn stage_to_text(stage: &Stage) -> String {
    let mut stage = stage.clone();
    stage.closure_delay = std::time::Duration::ZERO;
    (stage.trigger, stage.search) = (None, None);
    stage.thresholds.clear();
    stage.faults.clear();
    to_yaml(&Workload { name: stage.name.clone(), stages: vec![stage], ..Workload::default() })
}

/// The stage of such a text.
///
/// # Errors
/// One sentence with the first mistake: the text comes from another version, or was damaged.
pub fn stage_from_text(text: &str) -> Result<Stage, String> {
    let (workload, mistakes): (Option<Parsed>, _) = parse(text, Format::Yaml, &Environment::default());
    if let Some(stage) = workload.and_then(|workload| workload.stages.into_iter().next()) {
        return Ok(stage);
    }
    let first = mistakes.into_iter().find(|mistake| mistake.severity == Severity::Error);
    let what = first.map_or_else(|| "there is no stage in it".to_owned(), |mistake| mistake.message);
    Err(format!("this driver does not understand the stage: {what}; use drivers of the controller's version"))
}
