//! `cosmark list`: the runs of an archive.

#[cfg(feature = "fleet")]
mod of_controller;
#[cfg(not(feature = "fleet"))]
use crate::cmd::alone::of_controller;

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use cosmark_archive::{Overall, RunOverview, RunState, TimeZone, Timestamp, newest};
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::fit::{self, Column};
use crate::paint::Ink;
use crate::runs::no_archive;

/// Runs the subcommand.
pub fn run(args: &ListArgs) -> Outcome {
    let archive = match (&args.archive, &args.client.controller) {
        (None, Some(_)) => return of_controller::list(args),
        (archive, _) => archive.as_deref().unwrap_or(Path::new("archive")),
    };
    if !archive.is_dir() {
        return Err(no_archive(archive));
    }
    let since = args.since.as_deref().map(|text| moment(text, Timestamp::now())).transpose()?;
    let most = most(args).unwrap_or(usize::MAX);
    // Which runs fit is known when they are read; the newest of all are so by their numbers.
    let (read, all) = newest(archive, if is_choosy(args) { usize::MAX } else { most })?;
    let mut runs: Vec<&RunOverview> = read.iter().rev().filter(|run| is_wanted(run, args, since)).collect();
    let fitting = if is_choosy(args) { runs.len() } else { all };
    runs.truncate(most);
    if args.json {
        let rows = runs.iter().map(|run| row_of_json(run, archive)).collect();
        verbatim!("{:#}", Value::Array(rows));
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        let of = if all == 0 { String::new() } else { format!(" that fit (of {all})") };
        println!("no runs{of} in {}", archive.display());
        return Ok(Exit::Done);
    }
    let now = Timestamp::now();
    let rows: Vec<Vec<String>> = runs.iter().map(|run| row(run, now)).collect();
    println!("{}", fit::table(COLUMNS, &rows, ink));
    // In a cell such a sentence would make the table as wide as it is long, or be cut.
    for run in runs.iter().filter(|run| run.state.is_none()) {
        println!("w{}: {}", run.number, run.problem.as_deref().unwrap_or("it cannot be read"));
    }
    tell_of_more(fitting - runs.len());
    Ok(Exit::Done)
}

/// On a terminal nobody wants to see a thousand.
const MOST_SHOWN: usize = 40;

/// How many runs are shown; `None` = all.
fn most(args: &ListArgs) -> Option<usize> {
    match args.limit {
        Some(limit) => Some(limit).filter(|limit| *limit > 0),
        None => (std::io::stdout().is_terminal() && !args.json).then_some(MOST_SHOWN),
    }
}

fn tell_of_more(hidden: usize) {
    if hidden > 0 {
        println!("{} not shown: --limit 0", crate::units::count(hidden as u64, "older run"));
    }
}

/// What is shown of a run; what is worth least goes first where the terminal is narrow, and no figure stays without its verdict.
const COLUMNS: &[Column] = &[
    Column::text("id"),
    Column::text("name").least(10),
    Column::text("state"),
    Column::text("verdict").goes(1).least(8),
    Column::number("op/s").goes(2),
    Column::number("p99 ms").goes(3),
    Column::number("failed").goes(4),
    Column::text("target").goes(6).least(14),
    Column::text("submitted").goes(7),
    Column::number("took").goes(8),
    Column::text("tags").goes(5).least(6),
];

fn ink(column: usize, text: &str) -> Ink {
    match column {
        2 => Ink::of_state(text),
        3 => Ink::of_verdict(text),
        6 if !text.is_empty() => Ink::Bad,
        _ => Ink::Plain,
    }
}

/// The moment in local time; without the year where it is this one.
fn when(at: Timestamp, now: Timestamp) -> String {
    let (at, now) = (at.to_zoned(TimeZone::system()), now.to_zoned(TimeZone::system()));
    let form = if at.year() == now.year() { "%m-%d %H:%M" } else { "%F %H:%M" };
    at.strftime(form).to_string()
}

/// True where not every run is wanted, whatever its number.
fn is_choosy(args: &ListArgs) -> bool {
    args.search.is_some() || args.state.is_some() || args.since.is_some() || !args.tags.is_empty()
}

fn is_wanted(run: &RunOverview, args: &ListArgs, since: Option<Timestamp>) -> bool {
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

fn row_of_json(run: &RunOverview, archive: &Path) -> Value {
    let counted = |count: u64| has_counts(run).then_some(count);
    json!({
        "id": format!("w{}", run.number), "name": run.name, "state": run.state.map(RunState::word),
        "submitted": run.submitted, "started": run.started, "ended": run.ended, "operations": counted(run.operations),
        "failures": counted(run.failures), "verdict": run.verdict, "target": run.target, "headline": run.headline, "tags": run.tags, "baseline": run.baseline, "error": run.problem,
        "path": archive.join(&run.directory).display().to_string(),
    })
}

/// The record of a run that was killed, or goes on, has the stages that had ended: that is not what it did.
fn has_counts(run: &RunOverview) -> bool {
    run.state.is_some_and(|state| state != RunState::Killed && state != RunState::Running)
}

fn row(run: &RunOverview, now: Timestamp) -> Vec<String> {
    let mut tags: Vec<String> = run.baseline.then(|| "(baseline)".to_owned()).into_iter().collect();
    tags.extend(run.tags.iter().cloned());
    let id = format!("w{}", run.number);
    let Some(state) = run.state else {
        let state = if run.is_hollow { "no run" } else { "damaged" };
        let mut cells = vec![id, run.directory.clone(), state.to_owned()];
        cells.resize(COLUMNS.len() - 1, String::new());
        cells.push(tags.join(" "));
        return cells;
    };
    let took = run.started.zip(run.ended).map(|(started, ended)| {
        crate::units::clock(Duration::from_secs_f64(
            ended.duration_since(started).unsigned_abs().as_secs_f64().round(),
        ))
    });
    let verdict = run.verdict.filter(|_| run.ended.is_some()).map(Overall::words);
    let failed = Some(run.failures).filter(|failures| *failures > 0 && has_counts(run));
    let failed = failed.map(crate::units::grouped).unwrap_or_default();
    let rate = run.headline.as_ref().map(|headline| crate::units::rate(headline.throughput_per_s));
    let p99 = run.headline.as_ref().and_then(|headline| p99_of(headline.p99_ms, headline.p99_is_least));
    vec![
        id,
        run.name.clone(),
        state.word().to_owned(),
        verdict.map(|word| word.to_owned()).unwrap_or_default(),
        rate.unwrap_or_default(),
        p99.unwrap_or_default(),
        failed,
        run.target.clone().unwrap_or_default(),
        run.submitted.map(|at| when(at, now)).unwrap_or_default(),
        took.unwrap_or_default(),
        tags.join(" "),
    ]
}

/// COSBench's tables do not say how far beyond their last bucket a percentile lies.
fn p99_of(ms: Option<f64>, is_least: bool) -> Option<String> {
    let shown = crate::units::ms(ms?);
    Some(if is_least { format!("> {shown}") } else { shown })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_figure_stays_where_the_verdict_on_it_has_gone() {
        let goes = |head: &str| COLUMNS.iter().find(|column| column.head == head).unwrap().goes;
        for figure in ["op/s", "p99 ms"] {
            assert!(goes(figure) > goes("verdict"), "{figure}");
        }
    }

    #[test]
    fn a_percentile_beyond_the_last_bucket_of_cosbench_is_in_the_list_as_what_is_known_of_it() {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../archive/tests/cosbench-runs/w7-c4");
        let run = cosmark_archive::overview_of(&example).unwrap();
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        assert!(row(&run, now).contains(&"> 500000".to_owned()), "{:?}", row(&run, now));
        let json = row_of_json(&run, Path::new(""));
        assert_eq!(json["headline"]["p99_ms"], json!(500_000.0));
        assert_eq!(json["headline"]["p99_is_least"], json!(true));
    }

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
