//! `cosmark schema`: the JSON Schema of native workloads.

use cosmark_driver::schema::workload_schema;
use cosmark_nodes::source::SOURCES;

use crate::exit::{Exit, Outcome, Problem};
use crate::registry::CATALOG;

/// Runs the subcommand.
pub fn run() -> Outcome {
    let nodes = SOURCES.iter().map(|row| (row.name, row.help, row.keys));
    let text = serde_json::to_string_pretty(&workload_schema(&CATALOG, nodes))
        .map_err(|cause| Problem::ours(cause.to_string()))?;
    verbatim!("{text}");
    Ok(Exit::Done)
}
