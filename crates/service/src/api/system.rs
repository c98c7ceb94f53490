//! The controller and its drivers.

use axum::extract::State;
use axum::http::StatusCode;
use cosmark_archive::Timestamp;

use super::answer::{Body, Given, Path, json};
use super::{App, No, Shared};
use crate::api::types::{API_VERSION, Drain, DriverInfo, DriverState, Status, SystemEvent};

/// The controller at a glance.
pub async fn status_of(app: &App) -> Status {
    let (nats_connected, nats) = app.queue.store().connection();
    let active = app.queue.active();
    let running = active.iter().filter(|run| run.position.is_none()).map(|run| run.id.clone()).collect();
    let mut controllers = app.queue.store().controllers().await.unwrap_or_default();
    if !controllers.contains(&app.name) {
        controllers.insert(0, app.name.clone());
    }
    let alive = |driver: &DriverInfo| !matches!(driver.state, DriverState::Lost | DriverState::Refused);
    let leader = app.leader.borrow().as_ref().map_or_else(|| app.name.clone(), |leader| leader.name.clone());
    Status {
        controller: app.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api_version: API_VERSION,
        leader,
        controllers,
        nats_connected,
        nats,
        now: Timestamp::now().to_string(),
        drivers_alive: count(app.queue.runner().pool.drivers().iter().filter(|one| alive(one)).count()),
        queued: count(active.iter().filter(|run| run.position.is_some()).count()),
        running,
        concurrency: count(app.queue.concurrency()),
        join: app.join.clone(),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// `GET status`
pub async fn status(State(app): State<Shared>) -> Given<Status> {
    json(status_of(&app).await)
}

/// `GET drivers`
pub async fn drivers(State(app): State<Shared>) -> Given<Vec<DriverInfo>> {
    json(app.queue.runner().pool.drivers())
}

fn unknown(name: &str) -> No {
    No::unknown(format!("no driver is called {name}; GET /api/v1/drivers lists them"))
}

/// `PATCH drivers/NAME`
pub async fn drain(
    State(app): State<Shared>,
    Path(name): Path<String>,
    Body(wish): Body<Drain>,
) -> Given<DriverInfo> {
    let pool = &app.queue.runner().pool;
    let found = pool.drain(&name, wish.drained).await?;
    let driver = pool.drivers().into_iter().find(|driver| found && driver.name == name);
    let driver = driver.ok_or_else(|| unknown(&name))?;
    app.queue.tell_all(&SystemEvent::Driver(driver.clone()));
    app.queue.look();
    json(driver)
}

/// `DELETE drivers/NAME`
pub async fn forget(State(app): State<Shared>, Path(name): Path<String>) -> Result<StatusCode, No> {
    let forgotten =
        app.queue.runner().pool.forget(&name).map_err(|text| No::new(StatusCode::CONFLICT, text))?;
    if !forgotten {
        return Err(unknown(&name));
    }
    app.queue.tell_all(&SystemEvent::DriverGone(name));
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /healthz`: whether this process answers, not whether it leads.
pub async fn healthz() -> &'static str {
    "ok\n"
}
