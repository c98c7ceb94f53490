//! `cosmark logs`: the log of a controller's run.

use std::time::Duration;

use cosmark_archive::Timestamp;
use cosmark_service::api::types::LogLine;
use serde_json::Value;

use crate::args::LogsArgs;
use crate::client::{Absence, Client};
use crate::cmd::cancel::{path_of, run_id};
use crate::exit::{Exit, Outcome, Problem};
use crate::out::nobody_reads;

/// A stream that broke off is taken up again after this time.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Runs the subcommand.
pub fn run(args: &LogsArgs) -> Outcome {
    let client = Client::new(&args.client)?;
    let id = run_id(&args.id)?;
    let show = |line: &LogLine| -> Result<(), Problem> {
        if args.json {
            let text = serde_json::to_string(line).map_err(|cause| Problem::ours(cause.to_string()))?;
            verbatim!("{text}");
        } else {
            let at = line.at.parse::<Timestamp>();
            let at = at.map_or_else(|_| line.at.clone(), |at| at.strftime("%FT%T.%3fZ").to_string());
            let from = if line.from.is_empty() { String::new() } else { format!("{}: ", line.from) };
            println!("{at} {:<5} {from}{}", line.level, line.text);
        }
        Ok(())
    };
    let of_run = path_of(&id);
    let path = format!("{of_run}/log?tail={}", args.tail);
    if !args.follow {
        let lines: Vec<LogLine> = client.get(&path)?;
        lines.iter().try_for_each(show)?;
        return Ok(Exit::Done);
    }
    // A run that waits has no log yet; what is there already comes with the events of a run that runs.
    let run: Value = client.get(&of_run)?;
    if !matches!(run["state"].as_str(), Some("queuing" | "processing")) {
        let lines: Vec<LogLine> = client.get(&path)?;
        lines.iter().try_for_each(show)?;
    }
    let events = format!("{of_run}/events");
    let (mut last, mut absence) = (None, Absence::default());
    loop {
        let done = client.events(&events, &mut last, |name, data| {
            absence.ends(&client);
            match name {
                "log" => {
                    if let Ok(line) = serde_json::from_value::<LogLine>(data.clone()) {
                        show(&line)?;
                    }
                    Ok(nobody_reads())
                }
                "end" => {
                    eprintln!("cosmark: {id} is over: {}", data["state"].as_str().unwrap_or_default());
                    Ok(true)
                }
                _ => Ok(false),
            }
        });
        match done {
            Ok(true) => return Ok(Exit::Done),
            Ok(false) => absence.ends(&client),
            Err(problem) => absence.goes_on(&client, problem)?,
        }
        std::thread::sleep(AGAIN_AFTER);
    }
}
