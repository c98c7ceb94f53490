//! `cosmark clean`: removes from a store what a run left there, and nothing else.

use std::path::Path;

use cosmark_archive::{Run, RunState, StageRecord, StageState, open_run};
use cosmark_driver::clean::{CleanedContainer, Cleaning};
use cosmark_driver::secrets;
use cosmark_workload::Workload;
use cosmark_workload::leftovers::leftovers;
use cosmark_workload::model::ConfigValue;
use serde_json::{Value, json};

use crate::args::CleanArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::load::load_text;
use crate::registry::{CATALOG, READING};
use crate::runs::find;
use crate::secrets::Own;
use crate::units::grouped;

/// What stands in an archive in place of a secret.
const HIDDEN: &str = "***";

/// Runs the subcommand.
pub fn run(args: &CleanArgs) -> Outcome {
    let directory = find(&args.run, &args.archive)?;
    let run = open_run(&directory)?;
    if run.record.state == RunState::Running {
        return Err(Problem::usage(format!(
            "{} still runs; end it first (Ctrl-C, or `cosmark cancel`)",
            run.record.id
        )));
    }
    let workload = workload_of(&run, args.target.as_deref())?;
    let begun = |stage: usize| run.record.stages.get(stage).is_some_and(was_begun);
    let left = leftovers(&workload, &begun);
    let cleaning =
        Cleaning { catalog: CATALOG, leftovers: &left, containers: args.containers, dry_run: args.dry_run };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| Problem::ours(format!("cannot start: {cause}")))?;
    let quiet = args.json;
    let mut tell = |cleaned: &CleanedContainer| {
        if !quiet && has_news(cleaned) {
            eprintln!("{}", line(cleaned, args.dry_run));
        }
    };
    let cleaned = match runtime.block_on(cleaning.run(&mut tell)) {
        Ok(cleaned) => cleaned,
        Err(text) => {
            eprintln!("cosmark: {text}; nothing was removed");
            return Ok(Exit::Target);
        }
    };
    show(&run, &cleaned, args)?;
    let failed = cleaned.iter().any(|one| one.failed > 0);
    Ok(if failed { Exit::Target } else { Exit::Done })
}

/// A stage whose load was never on has left nothing.
fn was_begun(stage: &StageRecord) -> bool {
    stage.history.iter().any(|change| change.state == StageState::Running)
}

/// What was run, with the secrets that the archive does not have.
fn workload_of(run: &Run, target: Option<&Path>) -> Result<Workload, Problem> {
    let id = &run.record.id;
    let source = run.workload_yaml()?.ok_or_else(|| {
        Problem::usage(format!("{id} has no workload.yaml: what it would have written is not known"))
    })?;
    let mut workload =
        load_text(&READING, source, &format!("workload.yaml of {id}"), "workload.yaml", target, &[])?
            .workload;
    let works = workload.stages.iter().flat_map(|stage| &stage.works);
    let hidden = works
        .flat_map(|work| [&work.auth, &work.storage])
        .flat_map(|spec| &spec.config.entries)
        .find(|entry| matches!(&entry.value, ConfigValue::Text(text) if text.contains(HIDDEN)));
    if let Some(entry) = hidden {
        return Err(Problem::usage(format!(
            "the archive does not keep the secret `{}`; give the store and its login with --target FILE",
            entry.key
        )));
    }
    secrets::resolve(&CATALOG, &mut workload, &Own).map_err(Problem::usage)?;
    Ok(workload)
}

fn has_news(cleaned: &CleanedContainer) -> bool {
    cleaned.objects > 0
        || cleaned.others > 0
        || cleaned.removed
        || cleaned.note.is_some()
        || cleaned.failed > 0
}

fn line(cleaned: &CleanedContainer, dry_run: bool) -> String {
    let verb = if dry_run { "would be deleted" } else { "deleted" };
    let mut text = format!("{}: {} objects {verb}", cleaned.name, grouped(cleaned.objects));
    if cleaned.failed > 0 {
        text.push_str(&format!(", {} could not be", grouped(cleaned.failed)));
    }
    if cleaned.others > 0 {
        let more = if cleaned.others > cleaned.examples.len() as u64 { ", .." } else { "" };
        text.push_str(&format!(
            "; {} of others stay ({}{more})",
            grouped(cleaned.others),
            cleaned.examples.join(", ")
        ));
    }
    if cleaned.removed {
        text.push_str(if dry_run {
            "; the container would be removed"
        } else {
            "; the container is removed"
        });
    }
    if let Some(note) = &cleaned.note {
        text.push_str(&format!("; {note}"));
    }
    text
}

fn show(run: &Run, cleaned: &[CleanedContainer], args: &CleanArgs) -> Result<(), Problem> {
    let sum = |of: fn(&CleanedContainer) -> u64| cleaned.iter().map(of).sum::<u64>();
    let (objects, others, failed) = (sum(|one| one.objects), sum(|one| one.others), sum(|one| one.failed));
    let removed = cleaned.iter().filter(|one| one.removed).count();
    if args.json {
        let containers: Vec<Value> = cleaned
            .iter()
            .filter(|one| has_news(one))
            .map(|one| {
                json!({
                    "name": one.name, "objects": one.objects, "others": one.others, "examples": one.examples,
                    "failed": one.failed, "removed": one.removed, "note": one.note,
                })
            })
            .collect();
        let all = json!({
            "run": run.record.id, "dry_run": args.dry_run, "objects": objects, "others": others, "failed": failed,
            "containers_removed": removed, "containers": containers,
        });
        let text = serde_json::to_string_pretty(&all).map_err(|cause| Problem::ours(cause.to_string()))?;
        println!("{text}");
        return Ok(());
    }
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    println!(
        "{}: {} objects and {removed} containers {verb}; {} objects of others stay{}",
        run.record.id,
        grouped(objects),
        grouped(others),
        if failed > 0 { format!("; {} could not be deleted", grouped(failed)) } else { String::new() }
    );
    Ok(())
}
