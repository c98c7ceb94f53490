//! Studies: the list, one of them, its cells, its figures, its runs; stop and go on.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use cosmark_report::data as report_data;
use cosmark_verdict::open_judged;
use serde::Deserialize;

use super::answer::{Given, Params, Path, blocking, json};
use super::{App, No, Shared};
use crate::api::types::{Role, Study, StudyGrid, StudyPart, StudySummary};
use crate::auth::tokens::Identity;
use crate::studies::{self, Known};

/// The study of this name.
fn find(app: &App, id: &str) -> Result<Arc<Known>, No> {
    app.studies
        .find(id)
        .ok_or_else(|| No::unknown(format!("there is no study {id}; GET /api/v1/studies lists them")))
}

fn conflict(why: String) -> No {
    No::new(StatusCode::CONFLICT, why)
}

/// `GET studies`
pub async fn list(State(app): State<Shared>) -> Given<Vec<StudySummary>> {
    json(blocking(move || Ok(app.studies.all().iter().map(|known| known.summary()).collect())).await?)
}

/// What is shown to somebody.
fn shown(app: &App, known: &Known, who: &Identity) -> Study {
    studies::show(known, who.role == Role::Operate, app.studies.go_on().is_some())
}

/// `GET studies/STUDY`
pub async fn one(
    State(app): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(id): Path<String>,
) -> Given<Study> {
    json(blocking(move || Ok(shown(&app, &*find(&app, &id)?, &who))).await?)
}

/// What the cells show.
#[derive(Debug, Deserialize)]
pub struct GridWish {
    metric: Option<String>,
    operation: Option<String>,
}

/// `GET studies/STUDY/grid`
pub async fn grid(
    State(app): State<Shared>,
    Path(id): Path<String>,
    Params(wish): Params<GridWish>,
) -> Given<StudyGrid> {
    json(
        blocking(move || {
            let known = find(&app, &id)?;
            studies::grid(&known, wish.metric.as_deref(), wish.operation.as_deref()).map_err(conflict)
        })
        .await?,
    )
}

/// `GET studies/STUDY/figures`
pub async fn figures(State(app): State<Shared>, Path(id): Path<String>) -> Given<Vec<StudyPart>> {
    json(blocking(move || studies::results(&*find(&app, &id)?).map_err(conflict)).await?)
}

/// `GET studies/STUDY/runs/RUN/data`
pub async fn data(
    State(app): State<Shared>,
    Path((id, run)): Path<(String, String)>,
) -> Given<report_data::ReportData> {
    json(
        blocking(move || {
            let directory = studies::run_directory(&*find(&app, &id)?, &run);
            let directory = directory.ok_or_else(|| {
                No::unknown(format!("{id} has no run {run} that is over and has an archive of its own"))
            })?;
            Ok(report_data::read_run(&open_judged(&directory)?, None)?)
        })
        .await?,
    )
}

/// `POST studies/STUDY/stop`
pub async fn stop(
    State(app): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(id): Path<String>,
) -> Given<Study> {
    json(
        blocking(move || {
            app.studies.stop(&*find(&app, &id)?, &who.name).map_err(conflict)?;
            Ok(shown(&app, &*find(&app, &id)?, &who))
        })
        .await?,
    )
}

/// `POST studies/STUDY/go-on`
pub async fn go_on(
    State(app): State<Shared>,
    Extension(who): Extension<Identity>,
    Path(id): Path<String>,
) -> Given<Study> {
    json(
        blocking(move || {
            let known = find(&app, &id)?;
            let Some(go_on) = app.studies.go_on() else {
                let text = "this controller starts no studies: its operator allows that by --studies-go-on; the command is on \
                            the study's page";
                return Err(No::new(StatusCode::FORBIDDEN, text));
            };
            if known.is_held {
                return Err(conflict(format!("{id} is being run")));
            }
            let call = known.look.as_ref().ok().and_then(|look| look.calls().next_back());
            let call = call.ok_or_else(|| {
                conflict(format!("how {id} was called is not written down: run its command once more"))
            })?;
            go_on(&known.directory, call).map_err(conflict)?;
            Ok(shown(&app, &*find(&app, &id)?, &who))
        })
        .await?,
    )
}
