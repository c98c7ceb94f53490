//! `cosmark check`: every mistake, and what the workload would do; sends nothing.

use std::path::Path;
use std::time::Duration;

use cosmark_driver::{Catalog, ReadsPlugins, RecordedProblem, recorded_files};
use cosmark_workload::Workload;
use cosmark_workload::model::WorkKind;

use crate::args::CheckArgs;
use crate::cmd::driver::is_directory;
use crate::exit::{Exit, Outcome, Problem};
use crate::load::load;
use crate::registry::{CATALOG, READING};
use crate::{diagnose, units, verdict};

/// Runs the subcommand.
pub fn run(args: &CheckArgs) -> Outcome {
    let catalog = reading(args.plugins.as_deref())?;
    let loaded = load(&catalog, &args.file, args.target.as_deref(), &args.set)?;
    println!("{}: {}", args.file.display(), diagnose::count(&loaded.diagnostics));
    plan(&loaded.workload);
    let wrong = recorded(&loaded.workload, &loaded.directory);
    verdict::preflight(&loaded.workload).iter().for_each(|line| println!("{line}"));
    if !wrong.is_empty() {
        return Err(Problem::usage(wrong.join("\n")));
    }
    if !verdict::is_false_already(&loaded.workload) {
        return Ok(Exit::Done);
    }
    let code = Exit::Untrusted.code();
    let hint = if args.strict { String::new() } else { format!("; with --strict that is exit code {code}") };
    println!("a run of this would be FALSE, whatever the store does{hint}");
    Ok(if args.strict { Exit::Untrusted } else { Exit::Done })
}

/// Says what the files of recorded arrivals hold; what is wrong with those that are there.
fn recorded(workload: &Workload, beside: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in recorded_files(workload, beside) {
        let name = format!("{} {}", file.stage, file.work);
        match file.found {
            Ok(found) => println!(
                "  {name}: {} in {}, recorded in {}",
                units::count(found.count, "arrival"),
                units::clock(Duration::from_secs_f64(found.last_s)),
                file.path
            ),
            Err(RecordedProblem::Missing(why)) => println!(
                "warning: {name}: {why}; a run on this machine would end with that, drivers elsewhere look on theirs"
            ),
            Err(RecordedProblem::Wrong(why)) => wrong.push(format!("{name}: {why}")),
        }
    }
    wrong
}

/// What a text is read with: a directory of plugins is only given by who wants their code loaded.
///
/// # Errors
/// When it is no directory.
pub fn reading(plugins: Option<&Path>) -> Result<Catalog, Problem> {
    let Some(directory) = plugins else { return Ok(READING) };
    is_directory("--plugins", directory)?;
    // Once in the life of a command.
    let directory: &'static Path = Box::leak(directory.to_owned().into_boxed_path());
    Ok(CATALOG.reading(ReadsPlugins::Below(directory)))
}

/// One line per work: what it will do, how long it takes, what it writes.
fn plan(workload: &Workload) {
    let mut time = Duration::ZERO;
    let mut written = 0.0;
    for (index, stage) in workload.stages.iter().enumerate() {
        let longest = stage.works.iter().map(|work| work.rampup + work.runtime + work.rampdown).max();
        time += longest.unwrap_or_default() + stage.closure_delay;
        if stage.works.is_empty() {
            println!("  {}: wait {:?}", stage.id(index), stage.closure_delay);
        }
        for work in &stage.works {
            let mut parts =
                vec![format!("{} on {}", units::count(u64::from(work.workers), "worker"), work.storage.kind)];
            if !work.runtime.is_zero() {
                parts.push(format!("for {}", units::clock(work.rampup + work.runtime + work.rampdown)));
            }
            if let Some(total) = work.total_ops {
                parts.push(format!("{} operations", units::grouped(total)));
            }
            for operation in &work.operations {
                let containers = operation.containers.as_ref().map_or(1, |containers| containers.count());
                let objects = operation.objects.as_ref().map_or(0, |objects| objects.count());
                if work.kind == WorkKind::Prepare {
                    let count = containers.saturating_mul(objects);
                    #[expect(clippy::cast_precision_loss, reason = "an estimate for people")]
                    let bytes =
                        count as f64 * operation.sizes.as_ref().map_or(0.0, |sizes| sizes.mean_bytes());
                    written += bytes;
                    parts.push(format!("{} objects, {}", units::grouped(count), units::bytes(bytes)));
                } else if work.kind == WorkKind::Normal {
                    parts.push(format!("{} {}", operation.name, operation.weight));
                }
            }
            println!("  {} {}: {}", stage.id(index), work.name, parts.join(", "));
        }
    }
    println!("at least {} of load and pauses; prepares write {}", units::clock(time), units::bytes(written));
}
