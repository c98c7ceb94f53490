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

fn is_design(step: &Step) -> bool {
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

/// Whether a journal of this design and text is also of its choice: levels within runs, the call that began it, targets, seed.
///
/// # Errors
/// What differs, and what to do.
pub(super) fn is_the_same_choice(design: &Design<'_>, steps: &[Step]) -> Result<(), String> {
    let choice = &design.choice;
    let Some(Step::Design { seed, tag, targets, within, .. }) = steps.iter().find(|step| is_design(step))
    else {
        return Err("the journal does not begin with a design".to_owned());
    };
    if !design.is_only_within(within) {
        let before = if within.is_empty() { "without such a choice" } else { within };
        return Err(format!(
            "this study was begun with --only {before}: runs that are over have those points alone; give the \
             same, or another --dir"
        ));
    }
    if *tag != choice.tag {
        return Err("another call began this study at the same moment; run the same command again".to_owned());
    }
    let now = &choice.targets;
    let changed = targets.iter().find(|(name, digest)| now.get(*name).is_some_and(|now| now != *digest));
    if let Some((system, _)) = changed {
        return Err(format!(
            "the target of {system} was changed since this directory was begun: what was measured there does not belong \
             together with what would be; give another --dir"
        ));
    }
    if *seed != choice.seed {
        return Err(format!(
            "this study was begun with --seed {seed}; go on with that, or give another --dir"
        ));
    }
    Ok(())
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
