//! `cosmark submit`: a workload for a controller. What it takes from the environment and files is taken here.

use std::path::Path;
use std::time::Duration;

use cosmark_archive::{GoalStatus, RunRecord, RunState};
use cosmark_driver::secrets::{SecretSource, resolve};
use cosmark_driver::{apply_settings, native_yaml, read_target, read_workload};
use cosmark_service::api::types::{CheckResult, RunSummary, Submission, Submitted};
use serde_json::Value;

use crate::args::SubmitArgs;
use crate::client::{Absence, Client};
use crate::exit::{Exit, Outcome, Problem};
use crate::load::read_text;
use crate::registry::READING as CATALOG;
use crate::secrets::Own;
use crate::{diagnose, goals, host, table, units, verdict};

/// A run that is waited for is looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Runs the subcommand.
pub fn run(args: &SubmitArgs) -> Outcome {
    let client = Client::new(&args.client)?;
    let submission = submission(args)?;
    if args.dry_run {
        return dry_run(&client, &submission, args.json);
    }
    let answer: Submitted = client.send("POST", "/api/v1/runs", &submission)?;
    diagnose::show_remote(&values(&answer.mistakes));
    let id = &answer.id;
    if !args.wait {
        if args.json {
            verbatim!("{}", pretty(&answer)?);
        } else {
            println!("{id}");
            eprintln!(
                "cosmark: {id} is in the queue of {}; `cosmark logs {id} --follow` shows it",
                client.url()
            );
        }
        return Ok(Exit::Done);
    }
    eprintln!("cosmark: {id} is in the queue of {}", client.url());
    let ended = wait(&client, id)?;
    let record: Option<RunRecord> = client.get(&format!("/api/v1/runs/{id}/record")).ok();
    report(&client, &ended, record.as_ref(), args.json)?;
    Ok(exit_of(&ended, record.as_ref()))
}

fn values(mistakes: &[cosmark_service::api::types::Mistake]) -> Vec<Value> {
    mistakes.iter().filter_map(|one| serde_json::to_value(one).ok()).collect()
}

fn pretty(value: &impl serde::Serialize) -> Result<String, Problem> {
    serde_json::to_string_pretty(value).map_err(|cause| Problem::ours(format!("cannot print JSON: {cause}")))
}

/// What is sent: the file as it is or, where it takes values from here, the workload with those in it.
fn submission(args: &SubmitArgs) -> Result<Submission, Problem> {
    let source = read_text(&args.file)?;
    let file_name = args.file.file_name().map(|name| name.to_string_lossy().into_owned());
    let file_name = file_name.filter(|name| name != "-");
    let target = args.target.as_deref().map(read_text).transpose()?;
    let mut submission = Submission {
        source,
        file_name,
        target,
        settings: args.set.clone(),
        priority: args.priority,
        tags: args.tags.clone(),
        operation_log: args.oplog,
        seed: args.seed,
        drivers: args.drivers.clone(),
        wait_for_drivers: args.wait_for_drivers.clone(),
    };
    take_from_here(&mut submission, args.target.as_deref())?;
    Ok(submission)
}

/// Puts `{env: ..}`, `{file: ..}` and habitual variables into what is sent, where there are any once the settings hold, as
/// `cosmark run` does: a setting may bring a reference, and take one away. Mistakes are left for the controller to tell.
fn take_from_here(submission: &mut Submission, shown: Option<&Path>) -> Result<(), Problem> {
    let mut target = None;
    if let Some(text) = &submission.target {
        let (read, mistakes) = read_target(&CATALOG, text);
        if read.is_none() {
            let file = shown.map(|path| path.display().to_string()).unwrap_or_default();
            diagnose::show(&file, text, &mistakes);
            return Err(Problem::usage(format!("{file}: {}; nothing was sent", diagnose::count(&mistakes))));
        }
        target = read;
    }
    let name = submission.file_name.as_deref().unwrap_or_default();
    let reading = read_workload(&CATALOG, &host::environment(), &submission.source, name, target.as_ref());
    let Some(mut workload) = reading.workload else { return Ok(()) };
    if apply_settings(&CATALOG, &mut workload, &submission.settings).is_err() {
        return Ok(());
    }
    let before = workload.clone();
    resolve(&CATALOG, &mut workload, &ForController).map_err(Problem::usage)?;
    if workload == before {
        return Ok(());
    }
    submission.settings.clear();
    submission.target = None;
    submission.source = native_yaml(&CATALOG, &workload);
    submission.file_name = Some("workload.yaml".to_owned());
    Ok(())
}

/// The user's own environment and files; named secrets stay names.
struct ForController;

impl SecretSource for ForController {
    fn variable(&self, name: &str) -> Result<String, String> {
        Own.variable(name)
    }

    fn file(&self, path: &str) -> Result<String, String> {
        Own.file(path)
    }

    fn named(&self, name: &str) -> Result<String, String> {
        Own.named(name)
    }

    fn leaves_named(&self) -> bool {
        true
    }

    fn habitual(&self, name: &str) -> Option<String> {
        Own.habitual(name)
    }

    fn home(&self) -> Option<String> {
        // Paths are those of a driver, on which this user has no home.
        None
    }
}

fn dry_run(client: &Client, submission: &Submission, json: bool) -> Outcome {
    let answer: CheckResult = client.send("POST", "/api/v1/check", submission)?;
    if json {
        verbatim!("{}", pretty(&answer)?);
    } else {
        diagnose::show_remote(&values(&answer.mistakes));
        for stage in &answer.stages {
            let time = stage.seconds.map_or_else(|| "until it is done".to_owned(), |s| format!("{s:.0} s"));
            let operations = stage.operations.map(|count| format!(", {} operations", units::grouped(count)));
            let bytes = stage.bytes_written.filter(|bytes| *bytes > 0);
            #[expect(clippy::cast_precision_loss, reason = "for people")]
            let bytes = bytes.map(|bytes| format!(", writes {}", units::bytes(bytes as f64)));
            println!(
                "{}: {}, {time}{}{}",
                stage.id,
                units::count(u64::from(stage.workers), "worker"),
                operations.unwrap_or_default(),
                bytes.unwrap_or_default()
            );
        }
        answer.preflight.iter().for_each(|line| println!("{line}"));
    }
    Ok(if answer.ok { Exit::Done } else { Exit::Usage })
}

/// Looks until the run is over; a controller that is away for a while is waited for.
fn wait(client: &Client, id: &str) -> Result<RunSummary, Problem> {
    let path = format!("/api/v1/runs/{id}");
    let mut absence = Absence::default();
    let mut told = String::new();
    loop {
        match client.get::<RunSummary>(&path) {
            Ok(run) if !matches!(run.state.as_str(), "queuing" | "processing") => return Ok(run),
            Ok(run) => {
                absence.ends(client);
                let now = match (&run.stage, run.position) {
                    (Some(stage), _) => format!("{} {stage}", run.state),
                    (None, Some(position)) => match &run.waits_for {
                        Some(what) => format!("queuing, {what}"),
                        None => format!("queuing, {position} before it"),
                    },
                    (None, None) => run.state.clone(),
                };
                if now != told {
                    eprintln!("cosmark: {id} {now}");
                    told = now;
                }
            }
            Err(problem) => absence.goes_on(client, problem)?,
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn report(
    client: &Client,
    ended: &RunSummary,
    record: Option<&RunRecord>,
    json: bool,
) -> Result<(), Problem> {
    match record {
        Some(record) if json => verbatim!("{}", pretty(record)?),
        None if json => verbatim!("{}", pretty(ended)?),
        Some(record) => {
            println!("{} {} {}", record.id, record.name, record.state.word());
            verdict::short(&record.verdict).iter().for_each(|line| println!("{line}"));
            if record.stages.iter().any(|stage| !stage.operations.is_empty()) {
                println!("{}", table::results(record));
            }
            let goals = goals::text(record);
            if !goals.is_empty() {
                println!("{goals}");
            }
            table::remarks(record).iter().for_each(|remark| println!("{remark}"));
            println!("run: {}/runs/{}", client.url(), record.id);
        }
        None => println!("{} {} {}", ended.id, ended.name, ended.state),
    }
    if let Some(reason) = &ended.reason {
        eprintln!("cosmark: {}: {reason}", ended.state);
    }
    Ok(())
}

/// The run's own exit code; from what its record says where the controller no longer knows it.
fn exit_of(ended: &RunSummary, record: Option<&RunRecord>) -> Exit {
    match ended.class.as_deref() {
        Some("finished") => return Exit::Done,
        Some("missed") => return Exit::Missed,
        Some("failed") => return Exit::StageFailed,
        Some("target") => return Exit::Target,
        Some("workload") => return Exit::Usage,
        Some("ours") => return Exit::Ours,
        Some("cancelled") => return Exit::Cancelled,
        _ => {}
    }
    match record.map(|record| record.state) {
        Some(RunState::Finished) => {
            let open = |record: &RunRecord| {
                record.thresholds.iter().any(|one| one.status != GoalStatus::Pass)
                    || record.searches.iter().any(|search| search.best.is_none())
            };
            if record.is_some_and(open) { Exit::Missed } else { Exit::Done }
        }
        Some(RunState::Failed) => Exit::StageFailed,
        _ => Exit::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(secret: &str, settings: &[&str]) -> Result<Submission, Problem> {
        let source = format!(
            "name: n\nstorage: {{type: s3, endpoint: 'http://h', accesskey: a, secretkey: {secret}}}\nstages:\n  - name: s\n    \
             works: [{{name: w, workers: 1, runtime: 1s, operations: [{{type: list}}]}}]\n"
        );
        let settings = settings.iter().map(|one| (*one).to_owned()).collect();
        let mut submission = Submission { source, settings, ..Submission::default() };
        take_from_here(&mut submission, None).map(|()| submission)
    }

    #[test]
    fn what_settings_bring_is_taken_from_here_and_what_they_replace_is_not_asked_for() {
        let path = std::env::var("PATH").unwrap();
        let brought = taken("s", &["storage.secretkey=${env:PATH}", "workers=3"]).unwrap();
        assert!(
            brought.source.contains(&path) && brought.source.contains("workers: 3"),
            "{}",
            brought.source
        );
        assert!(brought.settings.is_empty());
        let unset = "{env: COSMARK_THAT_NOBODY_SETS}";
        let setting = "storage.secretkey=x";
        let replaced = taken(unset, &[setting]).unwrap();
        // The file goes as it is, with its comments, and the setting beside it.
        assert!(replaced.source.contains(unset), "{}", replaced.source);
        assert_eq!(replaced.settings, [setting]);
        assert!(taken(unset, &[]).is_err(), "nothing replaces it");
        assert!(
            taken("{env: PATH}", &["worker=3"]).unwrap().source.contains("{env: PATH}"),
            "for the controller to refuse"
        );
    }
}
