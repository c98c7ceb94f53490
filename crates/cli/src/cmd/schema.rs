//! `cosmark schema`: the JSON Schema of native workloads.

use crate::exit::{Exit, Outcome, Problem};

/// Runs the subcommand.
pub fn run() -> Outcome {
    let text = serde_json::to_string_pretty(&cosmark_workload::json_schema())
        .map_err(|cause| Problem::ours(cause.to_string()))?;
    verbatim!("{text}");
    Ok(Exit::Done)
}
