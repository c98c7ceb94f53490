//! Whether what a directory holds is of a study, its scale and its text, and whether it may begin again with another text.

use std::collections::BTreeSet;

use super::Runner;
use crate::design::{Design, Order};
use crate::journal::{Step, digest, is_untouched};

/// How what was measured and a design belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belongs {
    /// Nothing was begun.
    NothingBegun,
    /// It is of this design, and of the same text.
    Whole,
    /// It is of another text of the study.
    OtherText,
}

pub(super) fn is_design(step: &Step) -> bool {
    matches!(step, Step::Design { .. })
}

/// Whether steps are of this design; `text` is that of the study with its targets.
///
/// # Errors
/// When they are of another study or scale.
pub fn belongs(design: &Design<'_>, text: &str, steps: &[Step]) -> Result<Belongs, String> {
    let Some(Step::Design { study, scale, as_published, digest: before, .. }) =
        steps.iter().find(|step| is_design(step))
    else {
        return Ok(Belongs::NothingBegun);
    };
    let choice = &design.choice;
    let same = *study == design.spec.name && *scale == choice.scale && *as_published == choice.as_published;
    if !same {
        return Err(format!(
            "this directory holds {study} --scale {scale}{}: what was measured there is not of this study, scale and choice; \
             give another --dir",
            if *as_published { " --as-published" } else { "" }
        ));
    }
    Ok(if *before == digest(text) { Belongs::Whole } else { Belongs::OtherText })
}

/// With what a study is begun.
pub(super) fn first_step(design: &Design<'_>, text: &str, runner: &mut dyn Runner) -> Step {
    let choice = &design.choice;
    Step::Design {
        study: design.spec.name.clone(),
        scale: choice.scale.clone(),
        as_published: choice.as_published,
        seed: choice.seed,
        digest: digest(text),
        within: design.only_within(),
        tag: choice.tag.clone(),
        targets: choice.targets.clone(),
        at_s: runner.date_s(),
        machine: runner.machine(),
    }
}

/// Whether a study that was begun with another text or target, and has measured nothing, may begin with this one: nothing
/// would be mixed. A run that ended unseen would be taken for one of the new text.
pub(super) fn is_to_begin_again(
    design: &Design<'_>,
    text: &str,
    steps: &[Step],
    runner: &mut dyn Runner,
) -> Result<bool, String> {
    let targets = steps.iter().find_map(|step| match step {
        Step::Design { targets, .. } => Some(targets),
        _ => None,
    });
    let now = &design.choice.targets;
    let is_elsewhere = targets
        .is_some_and(|old| old.iter().any(|(name, digest)| now.get(name).is_some_and(|now| now != digest)));
    // Of another study or scale it is refused in any case.
    let is_other = belongs(design, text, steps)? == Belongs::OtherText || is_elsewhere;
    if !is_other || !is_untouched(steps) {
        return Ok(false);
    }
    let begun: BTreeSet<&str> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Begin { run, .. } => Some(run.as_str()),
            _ => None,
        })
        .collect();
    let most = design.scale.repetitions.most.unwrap_or(design.scale.repetitions.least);
    for cell in &design.cells {
        for repetition in 1..=most {
            let run = cell.run_name(&design.spec.name, repetition);
            let order = Order { design, cell, repetition, run: &run };
            if begun.contains(run.as_str()) && runner.earlier(&order).is_some() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
