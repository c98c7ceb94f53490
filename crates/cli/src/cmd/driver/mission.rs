//! `cosmark driver --mission`: one share of one stage, with no controller. What a driver would tell one comes on standard
//! output, one JSON object a line; `docs/reference/messages.md` lists them.

use std::io::Write;
use std::sync::Arc;

use cosmark_driver::secrets::{self, Secrets};
use cosmark_driver::{LocalDriver, Origin};
use cosmark_metrics::{Latencies, OpSnapshot, Snapshot};
use cosmark_wire::{
    DriverEvent, DriverLink, EventSender, Failure, FailureClass, FromDriver, Launched, StageOrder,
};
use cosmark_workload::model::Stage;
use cosmark_workload::read_sizes::lengths_of_stage;
use cosmark_workload::share::spread_stage;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::options;
use crate::args::DriverArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::load::load;
use crate::registry::CATALOG;
use crate::secrets::Own;
use crate::signals;

/// Runs the mission.
pub fn run(args: &DriverArgs) -> Outcome {
    let Some(file) = &args.mission else { return Err(Problem::usage("give --join URL or --mission FILE")) };
    let mut loaded = load(&CATALOG, file, args.target.as_deref(), &[])?;
    secrets::resolve(&CATALOG, &mut loaded.workload, &Own).map_err(Problem::usage)?;
    let known = Secrets::of(&CATALOG, &loaded.workload);
    let (share, shares) = parse_share(&args.share)?;
    let stages = &loaded.workload.stages;
    let found = stages.iter().enumerate().find(|(_, stage)| match &args.stage {
        Some(name) => stage.name == *name,
        None => !stage.works.is_empty(),
    });
    let Some((index, stage)) = found.filter(|(_, stage)| !stage.works.is_empty()) else {
        let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
        return Err(Problem::usage(format!(
            "there is no such stage with works; there are: {}",
            names.join(", ")
        )));
    };
    let names: Vec<String> = (1..=shares).map(|number| number.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let own: Vec<_> = spread_stage(stage, &names)
        .map_err(|error| Problem::usage(error.to_string()))?
        .into_iter()
        .filter(|one| one.driver == share)
        .collect();
    if own.is_empty() {
        print(&json!({"event": "ended", "missions": [], "gave_up": null}));
        return Ok(Exit::Done);
    }
    let order = StageOrder {
        step: 0,
        stage_index: index,
        stage: Arc::new(stage.clone()),
        shares: own,
        seed: args.seed.or(loaded.workload.seed).unwrap_or(0),
        log_operations: false,
        drain: None,
        lengths: lengths_of_stage(&loaded.workload, index),
        // Nobody says here what the stages before have written.
        listings: Vec::new(),
        probes: None,
    };
    let driver = LocalDriver::new(CATALOG, options(args, Origin::Here)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| Problem::ours(format!("cannot start: {cause}")))?;
    Ok(runtime.block_on(work(driver, order, stage, &known)))
}

/// `2/4` is the second of four: (1, 4).
fn parse_share(text: &str) -> Result<(usize, u32), Problem> {
    let parts =
        text.split_once('/').and_then(|(i, n)| Some((i.parse::<u32>().ok()?, n.parse::<u32>().ok()?)));
    match parts {
        Some((share, of)) if (1..=of).contains(&share) && of <= 100_000 => {
            Ok((usize::try_from(share - 1).unwrap_or(0), of))
        }
        _ => Err(Problem::usage(format!("--share {text}: write i/n with i from 1 to n, such as 1/4"))),
    }
}

async fn work(mut driver: LocalDriver, order: StageOrder, stage: &Stage, known: &Secrets) -> Exit {
    let (sender, mut events) = mpsc::channel(256);
    driver.start(order, EventSender::new(0, sender));
    let (told, mut stop) = tokio::sync::watch::channel(());
    tokio::spawn(async move {
        let Ok(mut ends) = signals::Ends::listen() else { return };
        loop {
            ends.next().await;
            told.send_modify(|()| ());
        }
    });
    let mut asked = false;
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            Ok(()) = stop.changed() => {
                if asked { driver.abort(0) } else { driver.finish(0) }
                asked = true;
                continue;
            }
        };
        let Some(FromDriver { event, .. }) = event else { return Exit::Ours };
        let authed = event == DriverEvent::Authed;
        if let Some(value) = line(&event, stage, known) {
            print(&value);
        }
        if authed {
            driver.go(0, None);
        }
        match event {
            DriverEvent::Refused(failure) | DriverEvent::Ended { gave_up: Some(failure), .. } => {
                return exit_of(&failure);
            }
            DriverEvent::Ended { .. } => return if asked { Exit::Cancelled } else { Exit::Done },
            _ => {}
        }
    }
}

fn exit_of(failure: &Failure) -> Exit {
    match failure.class {
        FailureClass::Target => Exit::Target,
        FailureClass::Workload => Exit::Usage,
        FailureClass::Stage => Exit::StageFailed,
        FailureClass::Driver | FailureClass::Restarted | FailureClass::Stopped => Exit::Ours,
    }
}

fn print(value: &Value) {
    let mut out = std::io::stdout().lock();
    // Nobody may be reading any more; the exit code still tells.
    let _ = writeln!(out, "{value}").and_then(|()| out.flush());
}

/// The line of an event; some are for controllers only.
fn line(event: &DriverEvent, stage: &Stage, known: &Secrets) -> Option<Value> {
    Some(match event {
        DriverEvent::Authed => json!({"event": "authed"}),
        DriverEvent::Launched(Launched { start_ns, origin_unix_ns, .. }) => {
            json!({"event": "launched", "start_ns": start_ns, "unix_ns": origin_unix_ns})
        }
        DriverEvent::Snapshot(snapshot) => slice(snapshot, stage),
        DriverEvent::Refused(failure) => json!({"event": "refused", "failure": failure_of(failure, known)}),
        DriverEvent::Ended { missions, gave_up } => {
            let missions: Vec<Value> = missions
                .iter()
                .map(|mission| {
                    let work = stage.works.get(mission.work).map_or("", |work| work.name.as_str());
                    let examples: Vec<String> = mission
                        .examples
                        .iter()
                        .map(|example| format!("{}: {}", example.label, known.hide(&example.text)))
                        .collect();
                    json!({"work": work, "workers": mission.workers, "window_s": mission.window_s, "examples": examples})
                })
                .collect();
            let gave_up = gave_up.as_ref().map(|failure| failure_of(failure, known));
            json!({"event": "ended", "missions": missions, "gave_up": gave_up})
        }
        _ => return None,
    })
}

fn failure_of(failure: &Failure, known: &Secrets) -> Value {
    json!({"work": failure.work, "class": format!("{:?}", failure.class).to_lowercase(), "text": known.hide(&failure.text)})
}

fn slice(snapshot: &Snapshot, stage: &Stage) -> Value {
    let work = stage.works.get(usize::from(snapshot.work));
    let names = work.map(|work| work.operations.iter().map(|op| op.name.as_str()).collect::<Vec<_>>());
    let operation = |(op, name): (&OpSnapshot, &str)| {
        let response = Latencies::of(op.response_or_service());
        json!({
            "name": name, "ok": op.ok, "failed": op.failed, "bytes": op.bytes,
            "mean_ms": response.mean, "p50_ms": response.p50, "p99_ms": response.p99, "max_ms": response.max,
        })
    };
    let names = names.unwrap_or_default();
    json!({
        "event": "slice",
        "work": work.map_or("", |work| work.name.as_str()),
        "phase": snapshot.phase.word(),
        "start_ns": snapshot.start_ns, "end_ns": snapshot.end_ns,
        "operations": snapshot.ops.iter().zip(names).map(operation).collect::<Vec<_>>(),
    })
}
