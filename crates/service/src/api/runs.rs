//! Runs: submit, list, change.

use std::path::{Path as FsPath, PathBuf};

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use cosmark_archive::cosbench::CosbenchRun;
use cosmark_archive::{ArchiveError, RunRecord, add_note, change_tags, open_run, overview_of, set_baseline};
use cosmark_driver::secrets::{hidden, hide_in_source};
use cosmark_driver::{cosbench_xml, native_yaml};
use cosmark_verdict::open_judged;
use cosmark_workload::{Environment, Format, parse_what_is_there, to_xml};

use super::answer::{Body, Given, Path, blocking, json};
use super::archived::{directory, number_of, unknown};
use super::history::summarize;
use super::text::text_of;
use super::{App, No, Shared};
use crate::api::types::{
    Baseline, Cancel, CheckResult, Note, QueueMove, RunSummary, SourceText, Submission, Submitted,
    SystemEvent, TagChange,
};
use crate::auth::tokens::Identity;
use crate::queue::runner::find_runs;
use crate::queue::store::QueueEntry;

/// Bytes of a note: with the name of who says it there is room for it in an event.
const LONGEST_NOTE: usize = 3000;

/// The record of a run; of a running one with the results of its running stage as they stand.
pub fn open(app: &App, id: &str) -> Result<cosmark_archive::Run, No> {
    let path = directory(app, id)?;
    match app.queue.live_at(id, &path) {
        Some(live) => Ok(live.so_far(path)?),
        None => Ok(open_judged(&path)?),
    }
}

/// One run, wherever it is.
pub async fn find(app: &Shared, id: &str) -> Result<RunSummary, No> {
    if let Some(run) = app.queue.find(id) {
        return Ok(run);
    }
    let (shared, wanted) = (Shared::clone(app), id.to_owned());
    let entry = app.queue.submission(id).await.unwrap_or_default();
    blocking(move || {
        let dir = directory(&shared, &wanted)?;
        let run = overview_of(&dir).map_err(|error| match error {
            // It was deleted just now.
            ArchiveError::NotARun { .. } => unknown(&wanted),
            error => No::from(error),
        })?;
        let mut summary = summarize(&shared, &run);
        if let Some(entry) = entry.filter(|entry| is_in(&shared, entry, &dir)) {
            summary.submitted_by = Some(entry.submitted_by);
            summary.priority = entry.priority;
        }
        summary.class = shared.queue.live_at(&wanted, &dir).and_then(|live| live.summary().class);
        // Who asked by the name of the directory goes on so.
        if number_of(&wanted).is_none() {
            summary.id = wanted;
        }
        Ok(summary)
    })
    .await
}

/// Whether what was submitted is the run in this directory, and not another one of its number. Blocks.
fn is_in(app: &App, entry: &QueueEntry, dir: &FsPath) -> bool {
    app.queue.runner().begun(entry).as_deref() == Some(dir)
}

/// `POST check`
pub async fn check(State(app): State<Shared>, Body(submission): Body<Submission>) -> Given<CheckResult> {
    json(blocking(move || Ok(app.queue.runner().reader.check(&submission))).await?)
}

/// `POST runs`
pub async fn submit(
    State(app): State<Shared>,
    Extension(who): Extension<Identity>,
    Body(submission): Body<Submission>,
) -> Result<Response, No> {
    let (id, mistakes) = app.queue.submit(submission, &who.name).await?;
    Ok((StatusCode::CREATED, axum::Json(Submitted { id, mistakes })).into_response())
}

/// `GET runs/ID`
pub async fn one(State(app): State<Shared>, Path(id): Path<String>) -> Given<RunSummary> {
    json(find(&app, &id).await?)
}

/// `GET runs/ID/record`
pub async fn record(State(app): State<Shared>, Path(id): Path<String>) -> Given<RunRecord> {
    json(blocking(move || Ok(open(&app, &id)?.record)).await?)
}

/// `PATCH runs/ID/queue`
pub async fn reorder(
    State(app): State<Shared>,
    Path(id): Path<String>,
    Body(to): Body<QueueMove>,
) -> Given<RunSummary> {
    json(app.queue.reorder(&id, &to).await?)
}

/// `POST runs/ID/cancel`
pub async fn cancel(
    State(app): State<Shared>,
    Path(id): Path<String>,
    Body(wish): Body<Cancel>,
) -> Given<RunSummary> {
    if app.queue.find(&id).is_none() {
        let run = find(&app, &id).await?;
        return Err(No::new(StatusCode::CONFLICT, format!("{id} is over: {}", run.state)));
    }
    json(app.queue.cancel(&id, wish.abort).await?)
}

/// `POST runs/ID/resubmit`
pub async fn resubmit(
    State(app): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(id): Path<String>,
) -> Result<Response, No> {
    let known = app.queue.submission(&id).await?;
    let shared = Shared::clone(&app);
    let submission = blocking(move || again(&shared, &id, known)).await?;
    let (id, mistakes) = app.queue.submit(submission, &who.name).await?;
    Ok((StatusCode::CREATED, axum::Json(Submitted { id, mistakes })).into_response())
}

/// What can be submitted again of a run, of which `known` may be the submission.
fn again(app: &App, id: &str, known: Option<QueueEntry>) -> Result<Submission, No> {
    match (directory(app, id), known) {
        (Ok(dir), Some(entry)) if is_in(app, &entry, &dir) => Ok(entry.submission),
        (Ok(dir), _) => from_archive(&dir, id),
        (Err(no), Some(entry)) => {
            // It waits or has just begun; it never began; or what it left is elsewhere and no other run here has its number.
            let is_nobodys = |number| find_runs(&app.queue.runner().archive, number).is_empty();
            let is_alone = entry.started.is_none() || number_of(id).is_some_and(is_nobodys);
            let is_missed = no.status() == StatusCode::NOT_FOUND && is_alone;
            if is_missed || app.queue.find(id).is_some() { Ok(entry.submission) } else { Err(no) }
        }
        (Err(no), None) => Err(no),
    }
}

/// What can be submitted again of a run that was not submitted here, or long ago.
fn from_archive(dir: &FsPath, id: &str) -> Result<Submission, No> {
    let yaml = open_run(dir)?.workload_yaml()?;
    let gone = "its submission is no longer kept; submit its workload again with its target";
    let yaml = yaml.ok_or_else(|| No::new(StatusCode::CONFLICT, format!("{id}: {gone}")))?;
    if yaml.contains("***") {
        return Err(No::new(StatusCode::CONFLICT, format!("{id} had secrets, and {gone}")));
    }
    Ok(Submission { source: yaml, file_name: Some("workload.yaml".to_owned()), ..Submission::default() })
}

async fn changed(app: &Shared, id: &str) -> Given<RunSummary> {
    let run = find(app, id).await?;
    app.queue.tell_all(&SystemEvent::Run(run.clone()));
    json(run)
}

/// `PUT runs/ID/tags`
pub async fn tag(
    State(app): State<Shared>,
    Path(id): Path<String>,
    Body(change): Body<TagChange>,
) -> Given<RunSummary> {
    let (shared, wanted) = (Shared::clone(&app), id.clone());
    blocking(move || {
        let dir = directory(&shared, &wanted)?;
        let tags =
            change_tags(&dir, &change.add, &change.remove).map_err(|error| No::bad(error.to_string()))?;
        if let Some(live) = shared.queue.live_at(&wanted, &dir) {
            live.change(|summary| summary.tags = tags.into_iter().collect());
        }
        Ok(())
    })
    .await?;
    changed(&app, &id).await
}

/// `POST runs/ID/notes`
pub async fn note(
    State(app): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(id): Path<String>,
    Body(note): Body<Note>,
) -> Given<RunSummary> {
    let text = note.text.trim();
    if text.is_empty() || text.len() > LONGEST_NOTE {
        let problem = if text.is_empty() { "is empty" } else { "is too long" };
        return Err(No::bad(format!("the note {problem}: give a text of up to {LONGEST_NOTE} bytes")));
    }
    let said = format!("{}: {text}", who.name);
    let (shared, wanted) = (Shared::clone(&app), id.clone());
    blocking(move || {
        let dir = directory(&shared, &wanted)?;
        if !dir.join("run.json").exists() {
            return Err(No::new(StatusCode::CONFLICT, format!("{wanted} is about to begin: it has no timeline yet")));
        }
        // The archive's own sentence names its place on this machine.
        let refused = |_| No::bad("the note cannot be kept: the run has as many events as it may, or its archive cannot be written");
        add_note(&dir, &said).map(drop).map_err(refused)
    })
    .await?;
    json(find(&app, &id).await?)
}

/// `PUT runs/ID/baseline`
pub async fn baseline(
    State(app): State<Shared>,
    Path(id): Path<String>,
    Body(wish): Body<Baseline>,
) -> Given<RunSummary> {
    let (shared, wanted) = (Shared::clone(&app), id.clone());
    blocking(move || {
        let dir = directory(&shared, &wanted)?;
        let name = open_run(&dir)?.record.name;
        Ok(set_baseline(&dir, &name, wish.baseline).map(drop)?)
    })
    .await?;
    changed(&app, &id).await
}

/// `GET runs/ID/source`
pub async fn source(State(app): State<Shared>, Path(id): Path<String>) -> Given<SourceText> {
    let entry = if app.queue.find(&id).is_some() { app.queue.submission(&id).await? } else { None };
    json(
        blocking(move || match entry {
            Some(entry) if app.queue.runner().begun(&entry).is_none() => waiting(&app, &entry.submission),
            _ => archived(&app, &directory(&app, &id)?),
        })
        .await?,
    )
}

/// The texts of a run that waits.
fn waiting(app: &App, submission: &Submission) -> Result<SourceText, No> {
    let reader = &app.queue.runner().reader;
    let Some(workload) = reader.read(submission).workload else {
        return Err(No::new(StatusCode::CONFLICT, "the workload can no longer be read"));
    };
    let file_name = submission.file_name.clone().unwrap_or_else(|| "workload".to_owned());
    let shown = hidden(&reader.catalog, &workload);
    let source = hide_in_source(&reader.catalog, &submission.source, &file_name, &workload);
    Ok(SourceText {
        file_name,
        source,
        yaml: native_yaml(&reader.catalog, &shown),
        xml: Some(cosbench_xml(&reader.catalog, &shown).0),
    })
}

/// The texts of a run that has begun.
fn archived(app: &App, dir: &FsPath) -> Result<SourceText, No> {
    let run = open_run(dir)?;
    if run.record.made_by.is_some() {
        return of_cosbench(app, dir);
    }
    let text = |path: PathBuf| text_of(&path).and_then(|bytes| String::from_utf8(bytes).ok());
    let yaml = run.workload_yaml()?.unwrap_or_default();
    let is_own = |path: &FsPath| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    let given = Some(dir.join("source"))
        .filter(|source| is_own(source))
        .and_then(|source| std::fs::read_dir(source).ok()?.next()?.ok());
    let (file_name, source) = match given {
        Some(file) => {
            (file.file_name().to_string_lossy().into_owned(), text(file.path()).unwrap_or_default())
        }
        None => ("workload.yaml".to_owned(), yaml.clone()),
    };
    let xml = text(dir.join("workload-config.xml")).or_else(|| {
        let workload = parse_what_is_there(&yaml, Format::Yaml, &Environment::default()).0;
        workload.map(|workload| to_xml(&workload).0)
    });
    Ok(SourceText { file_name, source, yaml, xml })
}

/// The texts of a run that COSBench made, which wrote its secrets as they were.
fn of_cosbench(app: &App, dir: &FsPath) -> Result<SourceText, No> {
    let file_name = "workload-config.xml".to_owned();
    let text = CosbenchRun::open(dir)?.config_xml.unwrap_or_default();
    let catalog = &app.queue.runner().reader.catalog;
    let parsed = parse_what_is_there(&text, Format::Xml, &Environment::default()).0;
    Ok(match parsed {
        Some(workload) => {
            let shown = hidden(catalog, &workload);
            let xml = cosbench_xml(catalog, &shown).0;
            SourceText { file_name, source: xml.clone(), yaml: native_yaml(catalog, &shown), xml: Some(xml) }
        }
        // What cannot be read cannot be cleaned of secrets.
        None => SourceText { file_name, source: String::new(), yaml: String::new(), xml: None },
    })
}
