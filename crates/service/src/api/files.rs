//! What a run has left: data of the report, files, pictures, exports. File names come from the directory's own listing: a
//! name that is not in it is not opened.

use std::path::Path as FsPath;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use cosmark_archive::{ArchiveError, last_lines, open_file, place_named, text_of_name};
use cosmark_report::export::Format;
use cosmark_report::plot::{KINDS, Picture, PlotRun, Sheet, Wishes, named, pictures};
use cosmark_report::{ReportError, data as report_data, html};
use serde::Deserialize;

use super::answer::{Given, Params, Path, blocking, json};
use super::archived::directory;
use super::download::{of_file, of_files};
use super::runs::open;
use super::{No, Shared};
use crate::api::types::{FileInfo, LogLine};

/// Lines of a log without a wish.
const USUAL_LINES: usize = 1000;
/// Lines of a log at most.
const MOST_LINES: usize = 10_000;
/// Files of a run's directory that are listed.
const MOST_FILES: usize = 10_000;

/// What is in the files of a run, by name or ending.
const WHAT: &[(&str, &str)] = &[
    ("run.json", "the record of the run: everything but what is over time"),
    ("workload.log", "what happened, line by line"),
    ("workload.yaml", "the workload as it was run, native YAML"),
    ("workload-config.xml", "the workload as it was run, COSBench XML"),
    ("histograms.hlog", "response times over time (HdrHistogram log)"),
    ("intervals.csv", "counts by operation, driver and interval"),
    ("clients.csv", "how the load drivers were doing, second by second"),
    ("events.csv", "what happened and when: stages, drivers, faults, notes of people"),
    ("probes.csv", "every request of the probers beside the load"),
    ("operations.parquet", "one row per operation"),
    ("nodes.parquet", "what was read of the store's machines"),
    ("report.html", "the report: one file that works offline"),
    ("scripts.log", "what trigger scripts printed"),
    ("tags.json", "tags"),
    ("-rt-histogram.csv", "response times in buckets of 10 ms, as COSBench"),
    (".parquet", "rows of operations"),
    (".csv", "a table, as COSBench"),
];

/// `GET runs/ID/data`
pub async fn data(State(app): State<Shared>, Path(id): Path<String>) -> Given<report_data::ReportData> {
    json(blocking(move || Ok(report_data::read_run(&open(&app, &id)?, None)?)).await?)
}

/// `GET runs/ID/report`: made when it is asked for, so that it shows what there is now.
pub async fn report(State(app): State<Shared>, Path(id): Path<String>) -> Result<Response, No> {
    let text = blocking(move || {
        html::page_of(&open(&app, &id)?).map_err(|error| match error {
            ReportError::NoPage => No::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            error => error.into(),
        })
    })
    .await?;
    // The page has its script inside, and runs in a world of its own: no cookie, no request to anywhere.
    let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; \
                  font-src data:; sandbox allow-scripts allow-downloads allow-popups";
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, policy)];
    Ok((headers, text).into_response())
}

/// True for a run that another program made: its log and its configuration may hold secrets as they were.
pub fn is_foreign(dir: &FsPath) -> bool {
    !dir.join("run.json").is_file()
}

/// All files below a run's directory, sorted by name. Half-written ones and links are left out; of a run that COSBench made
/// there are its tables alone, because it wrote secrets into its other files as they were.
fn listing(dir: &FsPath) -> Result<Vec<FileInfo>, No> {
    let foreign = is_foreign(dir);
    let is_table = |name: &str| name.ends_with(".csv") || name.ends_with(".csv.gz");
    let mut found = Vec::new();
    let mut open = vec![(dir.to_owned(), String::new())];
    while let Some((directory, prefix)) = open.pop() {
        let fail =
            |source| No::from(ArchiveError::Io { action: "read directory", path: directory.clone(), source });
        for entry in std::fs::read_dir(&directory).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = text_of_name(&entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            let shown = format!("{prefix}{name}");
            if name.starts_with('.') || found.len() >= MOST_FILES || (foreign && !is_table(&name)) {
                continue;
            }
            if kind.is_dir() && prefix.is_empty() {
                open.push((entry.path(), format!("{shown}/")));
            } else if kind.is_file() {
                let bytes = entry.metadata().map_or(0, |meta| meta.len());
                let what = WHAT.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, what)| *what);
                let given = if shown.starts_with("source/") { "the workload as it was given" } else { "" };
                let what = if given.is_empty() { what.unwrap_or_default() } else { given };
                found.push(FileInfo { name: shown, bytes, what: what.to_owned() });
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// `GET runs/ID/files`
pub async fn list(State(app): State<Shared>, Path(id): Path<String>) -> Given<Vec<FileInfo>> {
    json(blocking(move || listing(&directory(&app, &id)?)).await?)
}

/// `GET runs/ID/files/NAME`
pub async fn one(
    State(app): State<Shared>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, No> {
    let wanted = name.clone();
    let body = blocking(move || {
        let dir = directory(&app, &id)?;
        let found = listing(&dir)?.into_iter().find(|file| file.name == wanted);
        let file = found.ok_or_else(|| {
            No::unknown(format!("{id} has no such file; GET /api/v1/runs/{id}/files lists them"))
        })?;
        let open = open_file(&place_named(&dir, &file.name))
            .map_err(|cause| No::internal(format!("{id}: {} cannot be read: {cause}", file.name)))?;
        Ok(of_file(open, file.bytes))
    })
    .await?;
    let file_name = name.rsplit('/').next().unwrap_or_default();
    Ok((attachment(file_name, media_of(file_name)), body).into_response())
}

const TEXT: &str = "text/plain; charset=utf-8";
const BYTES: &str = "application/octet-stream";

/// Media types of files of a run, by the ends of their names. None is shown as a page: they are what somebody wrote.
pub const FILES: &[(&str, &str)] = &[
    ("json", "application/json"),
    ("csv", "text/csv; charset=utf-8"),
    ("xml", "application/xml"),
    ("log", TEXT),
    ("yaml", TEXT),
    ("yml", TEXT),
    ("txt", TEXT),
    ("", BYTES),
];

/// Those of an export: as text, and in bytes.
pub const EXPORTS: &[(&str, &str)] = &[("text", TEXT), ("binary", BYTES)];

/// Those of a picture, by the names of their formats.
pub const PICTURES: &[(&str, &str)] =
    &[("svg", "image/svg+xml"), ("png", "image/png"), ("pdf", "application/pdf")];

fn media_in(known: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    known.iter().find(|(one, _)| *one == name).map(|(_, media)| *media)
}

fn media_of(name: &str) -> &'static str {
    name.rsplit('.').next().and_then(|ending| media_in(FILES, ending)).unwrap_or(BYTES)
}

/// Headers of a download.
pub fn attachment(name: &str, media: &str) -> [(header::HeaderName, HeaderValue); 2] {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_graphic() && !matches!(c, '"' | '\\') { c } else { '_' })
        .collect();
    let text = format!("attachment; filename=\"{plain}\"");
    let value =
        |text: &str, otherwise| HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(otherwise));
    [
        (header::CONTENT_TYPE, value(media, "application/octet-stream")),
        (header::CONTENT_DISPOSITION, value(&text, "attachment")),
    ]
}

/// `GET runs/ID/archive.tar.gz`
pub async fn archive(State(app): State<Shared>, Path(id): Path<String>) -> Result<Response, No> {
    let (dir, files) = blocking(move || {
        let dir = directory(&app, &id)?;
        let files = listing(&dir)?;
        Ok((dir, files))
    })
    .await?;
    let stem = dir.file_name().map(text_of_name).unwrap_or_default();
    let headers = attachment(&format!("{stem}.tar.gz"), "application/gzip");
    Ok((headers, of_files(dir, stem, files)).into_response())
}

/// How much of a log.
#[derive(Debug, Deserialize)]
pub struct Tail {
    tail: Option<usize>,
}

/// `GET runs/ID/log`
pub async fn log(
    State(app): State<Shared>,
    Path(id): Path<String>,
    Params(Tail { tail }): Params<Tail>,
) -> Given<Vec<LogLine>> {
    let most = tail.unwrap_or(USUAL_LINES).clamp(1, MOST_LINES);
    json(
        blocking(move || {
            let mut last = None;
            let dir = directory(&app, &id)?;
            let lines = if is_foreign(&dir) { Vec::new() } else { last_lines(&dir, most)? };
            let first = lines.iter().find_map(|line| line.at);
            let lines = lines.into_iter().map(|line| {
                // What has no time of its own was written with the line before.
                last = line.at.or(last).or(first);
                LogLine {
                    at: last.map(|at| at.to_string()).unwrap_or_default(),
                    level: line.level,
                    from: line.from,
                    text: line.text,
                }
            });
            Ok(lines.collect())
        })
        .await?,
    )
}

/// What to export.
#[derive(Debug, Deserialize)]
pub struct ExportWish {
    format: String,
}

/// `GET runs/ID/export`
pub async fn export(
    State(app): State<Shared>,
    Path(id): Path<String>,
    Params(wish): Params<ExportWish>,
) -> Result<Response, No> {
    let format = Format::named(&wish.format).ok_or_else(|| {
        let known: Vec<&str> = cosmark_report::export::FORMATS.iter().map(|format| format.name).collect();
        No::bad(format!("there is no format {}; known are {}", wish.format, known.join(", ")))
    })?;
    let name = format!("{id}.{}", format.ending);
    let bytes = blocking(move || {
        let mut out = Vec::new();
        format
            .write(&open(&app, &id)?, &mut out)
            .map_err(|error| No::new(StatusCode::CONFLICT, error.to_string()))?;
        Ok(out)
    })
    .await?;
    let media = media_in(EXPORTS, if format.binary { "binary" } else { "text" }).unwrap_or(BYTES);
    Ok((attachment(&name, media), bytes).into_response())
}

/// What to draw.
#[derive(Debug, Deserialize)]
pub struct PlotWish {
    kind: String,
    format: Option<String>,
    metric: Option<String>,
    stage: Option<String>,
    operation: Option<String>,
    number: Option<usize>,
}

/// `GET runs/ID/plot`
pub async fn plot(
    State(app): State<Shared>,
    Path(id): Path<String>,
    Params(wish): Params<PlotWish>,
) -> Result<Response, No> {
    let kind = KINDS.iter().find(|kind| kind.name == wish.kind).ok_or_else(|| {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        No::bad(format!("there is no kind {}; known are {}", wish.kind, known.join(", ")))
    })?;
    let format = wish.format.clone().unwrap_or_else(|| "svg".to_owned());
    let media = media_in(PICTURES, &format)
        .ok_or_else(|| No::bad(format!("there is no format {format}; known are svg, png and pdf")))?;
    let metrics = match wish.metric.as_deref() {
        None => Vec::new(),
        Some(name) => vec![named(name).ok_or_else(|| {
            No::bad(format!("there is no metric {name}; `cosmark plot --help` lists them"))
        })?],
    };
    let wishes = Wishes {
        metrics,
        stages: wish.stage.into_iter().collect(),
        operations: wish.operation.into_iter().collect(),
        ..Wishes::default()
    };
    let number = wish.number.unwrap_or(0);
    let bytes = blocking(move || {
        let conflict =
            |error: cosmark_report::plot::PlotError| No::new(StatusCode::CONFLICT, error.to_string());
        let run = PlotRun::open(&directory(&app, &id)?, Some(&id)).map_err(conflict)?;
        let drawn: Vec<Picture> = pictures(&[run], &[kind.name], &wishes).map_err(conflict)?.pictures;
        let picture = drawn
            .get(number)
            .ok_or_else(|| No::unknown(format!("there are {} such pictures", drawn.len())))?;
        let sheet = Sheet::default();
        match format.as_str() {
            "png" => picture.png(sheet, 300.0).map_err(conflict),
            "pdf" => picture.pdf(sheet).map_err(conflict),
            _ => Ok(picture.svg(sheet).into_bytes()),
        }
    })
    .await?;
    let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
    Ok(([(header::CONTENT_TYPE, media), (header::CONTENT_SECURITY_POLICY, policy)], bytes).into_response())
}
