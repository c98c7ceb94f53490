//! `cosmark list`: the runs of an archive.

use std::path::Path;
use std::time::Duration;

use comfy_table::Table;
use cosmark_archive::{RunGlance, RunState, TimeZone, Timestamp, overview};
use cosmark_service::api::types::RunSummary;
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::client::Client;
use crate::exit::{Exit, Outcome, Problem};

/// Runs the subcommand.
pub fn run(args: &ListArgs) -> Outcome {
    let archive = match (&args.archive, &args.client.controller) {
        (None, Some(_)) => return of_controller(args),
        (archive, _) => archive.as_deref().unwrap_or(Path::new("archive")),
    };
    if !archive.is_dir() {
        let shown = archive.display();
        return Err(Problem::usage(format!("no archive at {shown}; name one with --archive DIR")));
    }
    let since = args.since.as_deref().map(|text| moment(text, Timestamp::now())).transpose()?;
    let all = overview(archive)?;
    let runs: Vec<&RunGlance> = all.iter().filter(|run| is_wanted(run, args, since)).collect();
    if args.json {
        let rows = runs.iter().map(|run| row_of_json(run, archive)).collect();
        println!("{:#}", Value::Array(rows));
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        let of = if all.is_empty() { String::new() } else { format!(" that fit (of {})", all.len()) };
        println!("no runs{of} in {}", archive.display());
        return Ok(Exit::Done);
    }
    let mut table = Table::new();
    table.load_style(crate::out::frame()).set_header([
        "id",
        "name",
        "state",
        "submitted",
        "took",
        "what",
        "tags",
    ]);
    runs.iter().for_each(|run| {
        table.add_row(row(run));
    });
    println!("{table}");
    Ok(Exit::Done)
}

/// Runs that a controller has in its queue and its history.
fn of_controller(args: &ListArgs) -> Outcome {
    let client = Client::new(&args.client)?;
    let since = args.since.as_deref().map(|text| moment(text, Timestamp::now())).transpose()?;
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", "1000");
    for (name, value) in [("search", &args.search), ("state", &args.state)] {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    query.append_pair("tag", &args.tags.join(","));
    let runs: Vec<RunSummary> = client.get(&format!("/api/v1/runs?{}", query.finish()))?;
    let submitted = |run: &RunSummary| run.submitted.as_ref().and_then(|at| at.parse::<Timestamp>().ok());
    let runs: Vec<RunSummary> = runs
        .into_iter()
        .filter(|run| since.is_none_or(|since| submitted(run).is_some_and(|at| at >= since)))
        .collect();
    if args.json {
        let text = serde_json::to_string_pretty(&runs).map_err(|cause| Problem::ours(cause.to_string()))?;
        println!("{text}");
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        println!("no runs at {}", client.url());
        return Ok(Exit::Done);
    }
    let mut table = Table::new();
    table.load_style(crate::out::frame()).set_header([
        "id",
        "name",
        "state",
        "submitted",
        "stage",
        "verdict",
        "tags",
    ]);
    for run in &runs {
        let state = match run.position {
            Some(position) => match &run.waits_for {
                Some(what) => format!("{}, {what}", run.state),
                None => format!("{} ({position} before it)", run.state),
            },
            None => run.state.clone(),
        };
        let stage = run.stage.clone().unwrap_or_else(|| format!("{} of {}", run.stages_done, run.stages));
        let mut tags: Vec<String> = run.baseline.then(|| "(baseline)".to_owned()).into_iter().collect();
        tags.extend(run.tags.iter().cloned());
        let at = submitted(run).map(|at| at.strftime("%F %T UTC").to_string());
        let verdict = run.verdict.as_deref().map(|word| word.replace('_', " "));
        let cells = [state, at.unwrap_or_default(), stage, verdict.unwrap_or_default(), tags.join(" ")];
        let [state, at, stage, verdict, tags] = cells;
        table.add_row([run.id.clone(), run.name.clone(), state, at, stage, verdict, tags]);
    }
    println!("{table}");
    Ok(Exit::Done)
}

fn is_wanted(run: &RunGlance, args: &ListArgs, since: Option<Timestamp>) -> bool {
    let text = args.search.as_ref().map(|text| text.to_lowercase());
    let has = |text: &String| {
        let id = format!("w{}", run.number);
        let words = [id.as_str(), run.name.as_str(), run.directory.as_str()];
        words
            .into_iter()
            .chain(run.tags.iter().map(String::as_str))
            .any(|word| word.to_lowercase().contains(text))
    };
    text.as_ref().is_none_or(has)
        && args.tags.iter().all(|tag| run.tags.contains(tag))
        && args.state.as_ref().is_none_or(|state| run.state.map(RunState::word) == Some(state.as_str()))
        && since.is_none_or(|since| run.submitted.is_some_and(|at| at >= since))
}

/// A day (local time), a moment (RFC 3339), or how long ago: `90m`, `12h`, `7d`.
fn moment(text: &str, now: Timestamp) -> Result<Timestamp, Problem> {
    let day = format!("{text} 00:00:00");
    let day = cosmark_archive::LocalTime::strptime("%Y-%m-%d %H:%M:%S", &day).ok();
    let ago = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            "w" => 604_800,
            _ => return None,
        };
        let ago = Duration::from_secs(number.parse::<u64>().ok()?.checked_mul(seconds)?);
        now.checked_sub(ago).ok()
    };
    let of_day = day.and_then(|day| day.to_zoned(TimeZone::system()).ok()).map(|zoned| zoned.timestamp());
    of_day.or_else(|| text.parse().ok()).or_else(ago).ok_or_else(|| {
        Problem::usage(format!(
            "--since {text}: give a day (2026-11-21), a moment (RFC 3339), or 90m, 12h, 7d"
        ))
    })
}

fn row_of_json(run: &RunGlance, archive: &Path) -> Value {
    json!({
        "id": format!("w{}", run.number), "name": run.name, "state": run.state.map(RunState::word),
        "submitted": run.submitted, "started": run.started, "ended": run.ended, "operations": run.operations,
        "failures": run.failures, "tags": run.tags, "baseline": run.baseline, "error": run.problem,
        "path": archive.join(&run.directory),
    })
}

fn row(run: &RunGlance) -> [String; 7] {
    let id = format!("w{}", run.number);
    let mut tags: Vec<String> = run.baseline.then(|| "(baseline)".to_owned()).into_iter().collect();
    tags.extend(run.tags.iter().cloned());
    let tags = tags.join(" ");
    let Some(state) = run.state else {
        let (state, what) = match &run.problem {
            Some(problem) => ("damaged", problem.as_str()),
            None => ("no run.json", "written by COSBench?"),
        };
        return [
            id,
            run.directory.clone(),
            state.into(),
            String::new(),
            String::new(),
            what.to_owned(),
            tags,
        ];
    };
    let took = run.started.zip(run.ended).map(|(started, ended)| {
        format!("{:.0} s", ended.duration_since(started).unsigned_abs().as_secs_f64())
    });
    let failed = if run.failures > 0 {
        format!(", {} failed", crate::units::grouped(run.failures))
    } else {
        String::new()
    };
    let what = format!("{} stages, {} operations{failed}", run.stages, crate::units::grouped(run.operations));
    let submitted = run.submitted.map(|at| at.strftime("%F %T UTC").to_string());
    let cells = [submitted.unwrap_or_default(), took.unwrap_or_default(), what, tags];
    let [submitted, took, what, tags] = cells;
    [id, run.name.clone(), state.word().to_owned(), submitted, took, what, tags]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_takes_days_moments_and_spans() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let at = |text: &str| moment(text, now).map(|at| at.to_string()).ok();
        assert_eq!(at("12h").as_deref(), Some("2026-11-21T00:00:00Z"));
        assert_eq!(at("7d").as_deref(), Some("2026-11-14T12:00:00Z"));
        assert_eq!(at("2026-11-20T01:02:03Z").as_deref(), Some("2026-11-20T01:02:03Z"));
        assert!(at("2026-11-20").is_some());
        for wrong in ["", "d", "7", "yesterday", "7ü", "99999999999999999999d", "9999999999999999d"] {
            assert!(at(wrong).is_none(), "{wrong}");
        }
    }
}
