//! `cosmark check`: every mistake, and what the workload would do; sends nothing.

use std::path::Path;
use std::time::Duration;

use cosmark_driver::{Catalog, ReadsPlugins, RecordedProblem, apply_settings, read_target, recorded_files};
use cosmark_workload::diagnostics::LineIndex;
use cosmark_workload::model::WorkKind;
use cosmark_workload::{Diagnostic, Severity, Workload};
use serde_json::{Value, json};

use crate::args::CheckArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::host::is_directory;
use crate::load::{ARCHIVE, load, read_beside, read_text};
use crate::registry::{CATALOG, READING};
use crate::{diagnose, nodes, output, units, verdict};

/// Runs the subcommand.
pub fn run(args: &CheckArgs) -> Outcome {
    let catalog = reading(args.plugins.as_deref())?;
    if args.json {
        return as_json(&catalog, args);
    }
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

/// The same for programs.
fn as_json(catalog: &Catalog, args: &CheckArgs) -> Outcome {
    let (workload, mut mistakes) = read_all(catalog, args)?;
    let beside = args.file.parent().unwrap_or(Path::new(""));
    for file in workload.iter().flat_map(|workload| recorded_files(workload, beside)) {
        let (severity, why) = match file.found {
            Ok(_) => continue,
            Err(RecordedProblem::Missing(why)) => (Severity::Warning, why),
            Err(RecordedProblem::Wrong(why)) => (Severity::Error, why),
        };
        mistakes.push(without_place(severity, &format!("{} {}: {why}", file.stage, file.work)));
    }
    let of = |word: &str| mistakes.iter().filter(|one| one["severity"] == word).count();
    let (errors, warnings) = (of("error"), of("warning"));
    let is_false = workload.as_ref().is_some_and(verdict::is_false_already);
    let value = json!({
        "file": args.file.display().to_string(),
        "can_run": errors == 0 && workload.is_some(),
        "errors": errors,
        "warnings": warnings,
        "mistakes": mistakes,
        "is_false_already": is_false,
        "checks": workload.as_ref().map(cosmark_verdict::preflight).unwrap_or_default(),
    });
    verbatim!("{}", output::json(&value)?);
    Ok(match (errors, is_false && args.strict) {
        (0, true) => Exit::Untrusted,
        (0, false) => Exit::Done,
        _ => Exit::Usage,
    })
}

/// The workload with its target and settings, where it can be read; every mistake of either file.
fn read_all(catalog: &Catalog, args: &CheckArgs) -> Result<(Option<Workload>, Vec<Value>), Problem> {
    let mut mistakes = Vec::new();
    let mut target = None;
    if let Some(path) = &args.target {
        let text = read_text(path)?;
        let (read, found) = read_target(catalog, &text);
        mistakes.extend(places(path, &text, &found));
        if read.is_none() {
            return Ok((None, mistakes));
        }
        target = read;
    }
    let source = read_text(&args.file)?;
    let name = args.file.file_name().map_or_else(|| "stdin".into(), |name| name.to_string_lossy());
    let read = read_beside(catalog, &source, &name, target.as_ref(), Path::new(ARCHIVE));
    mistakes.extend(places(&args.file, &source, &read.mistakes));
    let Some(mut workload) = read.workload else { return Ok((None, mistakes)) };
    let set = apply_settings(catalog, &mut workload, &args.set).map_err(Problem::usage);
    if let Err(problem) = set.and_then(|()| nodes::check(&workload)) {
        mistakes.push(without_place(Severity::Error, &problem.to_string()));
    }
    Ok((Some(workload), mistakes))
}

fn places(file: &Path, source: &str, found: &[Diagnostic]) -> Vec<Value> {
    let index = LineIndex::new(source);
    let value = |one: &Diagnostic| {
        let at = index.position(one.span.start);
        json!({
            "severity": word(one.severity),
            "file": file.display().to_string(),
            "line": at.line,
            "column": at.column,
            "message": one.message,
            "hint": one.hint,
        })
    };
    found.iter().map(value).collect()
}

/// What stands in no line of a file: an option, or another file.
fn without_place(severity: Severity, message: &str) -> Value {
    json!({
        "severity": word(severity),
        "file": null,
        "line": null,
        "column": null,
        "message": message,
        "hint": null,
    })
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
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
                units::clock(Duration::try_from_secs_f64(found.last_s).unwrap_or_default()),
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
    let (mut written, mut until_full) = (0.0, false);
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
                    let goal = work.pass.as_ref().and_then(|pass| pass.full_at());
                    let most = if goal.is_some() { "at most " } else { "" };
                    parts.push(format!("{most}{} objects, {}", units::grouped(count), units::bytes(bytes)));
                    parts
                        .extend(goal.map(|goal| format!("until the store is {} full", units::percent(goal))));
                    until_full |= goal.is_some();
                } else if work.kind == WorkKind::Normal {
                    parts.push(format!("{} {}", operation.name, operation.weight));
                }
            }
            println!("  {} {}: {}", stage.id(index), work.name, parts.join(", "));
        }
    }
    let most = if until_full { "at most " } else { "" };
    println!(
        "at least {} of load and pauses; prepares write {most}{}",
        units::clock(time),
        units::bytes(written)
    );
    if until_full && workload.nodes.is_empty() {
        println!(
            "warning: nothing under nodes: says how full the store is; unless an agent on its machines does, a run ends before its load"
        );
    } else if let Some(absent) = absent(workload) {
        println!(
            "warning: a fill relies on the node {absent}, which is not under nodes:; unless an agent has that name, a run ends \
             before its load"
        );
    }
}

/// A node by which a fill goes that the workload does not have.
fn absent(workload: &Workload) -> Option<&str> {
    let passes =
        workload.stages.iter().flat_map(|stage| &stage.works).filter_map(|work| work.pass.as_deref());
    let mut named = passes.flat_map(|pass| &pass.full_by).map(String::as_str);
    let is_there = |name: &&str| workload.nodes.iter().any(|node| node.name == **name);
    named.find(|name| !is_there(name))
}
