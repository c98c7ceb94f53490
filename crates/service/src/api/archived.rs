//! Where a run lies in the archive, by its id.

use std::collections::BTreeSet;
use std::path::PathBuf;

use axum::http::StatusCode;
use cosmark_archive::cosbench::CosbenchRun;
use cosmark_archive::{RunOverview, text_of_name};

use super::{App, No};
use crate::queue::runner::{find_called, find_runs};

/// So many directories are named where a number is that of several.
const MOST_NAMED: usize = 5;

/// The number in `w12`.
pub fn number_of(id: &str) -> Option<u64> {
    let digits = id.strip_prefix('w')?;
    let good = !digits.is_empty() && digits.len() < 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    good.then(|| digits.parse().ok()).flatten()
}

/// The number in `w12`, and in the name of a directory, `w12-mixed`.
pub fn number_in(id: &str) -> Option<u64> {
    number_of(id.split_once('-').map_or(id, |(number, _)| number))
}

/// What there is to say where a run is not.
pub fn unknown(id: &str) -> No {
    No::unknown(format!("there is no run {id}; `cosmark list --controller` and GET /api/v1/runs list them"))
}

/// Numbers that more than one of these runs has: each of them has the name of its directory for its id.
pub fn of_several(runs: &[RunOverview]) -> BTreeSet<u64> {
    let mut seen = BTreeSet::new();
    let real = runs.iter().filter(|run| !run.is_hollow);
    real.map(|run| run.number).filter(|number| !seen.insert(*number)).collect()
}

/// The directory of a run. Its id is its number; where several have that, it is the name of its directory, and the number is that
/// of the one which this controller has run, also where that one is not there any more. Blocks.
pub fn directory(app: &App, id: &str) -> Result<PathBuf, No> {
    let found = match number_of(id) {
        Some(number) => numbered(app, id, number)?,
        None => called(app, id)?,
    };
    // Asked last: it looks at all that waits.
    let is_queued = || app.queue.find(id).is_some();
    let not_yet = |why: &str| No::new(StatusCode::CONFLICT, format!("{id} {why}: it has no archive yet"));
    match found {
        // Its directory is made a moment before what is in it.
        Some(path) if !path.join("run.json").exists() && is_queued() => Err(not_yet("has just begun")),
        Some(path) => Ok(path),
        None if is_queued() => Err(not_yet("waits in the queue")),
        None => Err(unknown(id)),
    }
}

/// Where this controller writes the run, while it goes on.
fn own(app: &App, id: &str) -> Option<PathBuf> {
    app.queue.find(id)?;
    app.queue.live(id)?.path()
}

fn numbered(app: &App, id: &str, number: u64) -> Result<Option<PathBuf>, No> {
    // The queue knows it by no other writing.
    let own = format!("w{number}");
    // What this controller runs goes on under the id that it gave, whatever was copied beside it, and is missed where it was.
    if let Some(place) = app.queue.place(&own) {
        return Ok(place.filter(|place| place.is_dir()));
    }
    let mut found = find_runs(&app.queue.runner().archive, number);
    // A folder without a run takes nothing from one that has.
    let is_run = |path: &PathBuf| path.join("run.json").is_file() || CosbenchRun::is_at(path);
    if found.len() > 1 && found.iter().any(is_run) {
        found.retain(is_run);
    }
    if found.is_empty() {
        return Ok(None);
    }
    match app.queue.place_of_ended(&own) {
        Ok(Some(Some(place))) => return Ok(Some(place)),
        // The one that is left is not the one that was asked for.
        Ok(Some(None)) if found.len() < 2 => return Ok(None),
        // An archive can be read without the store: who deletes asks for himself.
        Ok(None) | Err(_) if found.len() < 2 => return Ok(found.pop()),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let names = found.iter().filter_map(|path| path.file_name()).map(text_of_name);
    let mut names: Vec<String> = names.take(MOST_NAMED).collect();
    if found.len() > MOST_NAMED {
        names.push("..".to_owned());
    }
    let text = format!(
        "{} runs have the number of {id}: {}; ask for one of them by the name of its directory",
        found.len(),
        names.join(", ").replace(char::is_control, "?")
    );
    Err(No::new(StatusCode::CONFLICT, text))
}

fn called(app: &App, name: &str) -> Result<Option<PathBuf>, No> {
    let Some(path) = find_called(&app.queue.runner().archive, name) else { return Ok(None) };
    let id = name.split_once('-').map_or(name, |(id, _)| id);
    // What is done to it is to reach those who watch it.
    if own(app, id).is_some_and(|own| own.file_name() == path.file_name()) {
        return Err(No::new(StatusCode::CONFLICT, format!("{name} goes on: ask for it as {id}")));
    }
    Ok(Some(path))
}
