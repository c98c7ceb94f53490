//! `cosmark cancel`: ends a run of a controller.

use cosmark_service::api::types::{Cancel, RunSummary};

use crate::args::CancelArgs;
use crate::client::Client;
use crate::exit::{Exit, Outcome, Problem};

/// Runs the subcommand.
pub fn run(args: &CancelArgs) -> Outcome {
    let client = Client::new(&args.client)?;
    let path = format!("/api/v1/runs/{}/cancel", run_id(&args.id)?);
    let run: RunSummary = client.send("POST", &path, &Cancel { abort: args.abort })?;
    if args.json {
        let text = serde_json::to_string_pretty(&run).map_err(|cause| Problem::ours(cause.to_string()))?;
        verbatim!("{text}");
    } else {
        println!("{} {} is told to end", run.id, run.name);
    }
    Ok(Exit::Done)
}

/// `w12` of `w12` or `12`.
///
/// # Errors
/// When it is neither.
pub fn run_id(text: &str) -> Result<String, Problem> {
    let digits = text.strip_prefix('w').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Problem::usage(format!("{text} is not the id of a run; ids look like w12")));
    }
    Ok(format!("w{digits}"))
}
