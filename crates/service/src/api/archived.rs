//! Where a run lies in the archive, by its id.

use std::path::PathBuf;

use axum::http::StatusCode;

use super::{App, No};
use crate::queue::runner::find_run;

/// The number in `w12`.
pub fn number_of(id: &str) -> Option<u64> {
    let digits = id.strip_prefix('w')?;
    let good = !digits.is_empty() && digits.len() < 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    good.then(|| digits.parse().ok()).flatten()
}

/// What there is to say where a run is not.
pub fn unknown(id: &str) -> No {
    No::unknown(format!("there is no run {id}; `cosmark list --controller` and GET /api/v1/runs list them"))
}

/// The directory of a run.
pub fn directory(app: &App, id: &str) -> Result<PathBuf, No> {
    let found = number_of(id).and_then(|number| find_run(&app.queue.runner().archive, number));
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
