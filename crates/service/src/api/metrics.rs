//! Metrics of the controller for Prometheus (text format 0.0.4).

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::Shared;
use crate::api::types::{DriverState, RunSummary};

/// The states of a driver and their words.
const STATES: [(DriverState, &str); 5] = [
    (DriverState::Idle, "idle"),
    (DriverState::Busy, "busy"),
    (DriverState::Drained, "drained"),
    (DriverState::Refused, "refused"),
    (DriverState::Lost, "lost"),
];

/// `GET /metrics`
pub async fn show(State(app): State<Shared>) -> Response {
    let mut out = String::new();
    let mut family = |name: &str, help: &str, rows: Vec<(String, f64)>| {
        out.push_str(&format!("# HELP {name} {help}\n# TYPE {name} gauge\n"));
        rows.iter().for_each(|(labels, value)| out.push_str(&format!("{name}{labels} {value}\n")));
    };
    let active = app.queue.active();
    let drivers = app.queue.runner().pool.drivers();
    let waiting = |run: &&RunSummary| run.position.is_some();
    let leads = app.leader.borrow().is_none();
    family(
        "cosmark_controller_info",
        "Version of the controller.",
        vec![(format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1.0)],
    );
    family(
        "cosmark_controller_leads",
        "Whether this controller leads.",
        vec![(String::new(), f64::from(u8::from(leads)))],
    );
    family(
        "cosmark_runs_queued",
        "Runs that wait.",
        vec![(String::new(), count(active.iter().filter(waiting).count()))],
    );
    let running: Vec<&RunSummary> = active.iter().filter(|run| run.position.is_none()).collect();
    family("cosmark_runs_running", "Runs that run.", vec![(String::new(), count(running.len()))]);
    let progress = running.iter().filter_map(|run| Some((format!("{{run=\"{}\"}}", run.id), run.progress?)));
    family("cosmark_run_stage_progress", "Part of the running stage that is over.", progress.collect());
    let by_state = STATES.map(|(state, word)| {
        (
            format!("{{state=\"{word}\"}}"),
            count(drivers.iter().filter(|driver| driver.state == state).count()),
        )
    });
    family("cosmark_drivers", "Drivers by state.", by_state.to_vec());
    ([(header::CONTENT_TYPE, cosmark_report::export::encode::PROMETHEUS_TYPE)], out).into_response()
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs and drivers")]
fn count(number: usize) -> f64 {
    number as f64
}
