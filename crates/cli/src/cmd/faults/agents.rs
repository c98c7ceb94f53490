//! What agents hold, and what may be asked of them.

use std::time::Duration;

use cosmark_cluster::agent::everybody;
use serde_json::{Value, json};

use crate::args::NatsArgs;
use crate::exit::{Exit, Outcome};
use crate::{host, nats, output};

/// Lists them.
pub fn list(url: &str, login: &NatsArgs, as_json: bool) -> Outcome {
    let agents = host::runtime()?.block_on(async {
        let bus = nats::connect(url, login, "faults").await?;
        everybody(&bus).await.map_err(|error| nats::problem(&error))
    })?;
    let is_quiet = agents.iter().all(|agent| agent.held.is_none());
    let code = if is_quiet { Exit::Done } else { Exit::StageFailed };
    if as_json {
        let all: Vec<Value> = agents
            .iter()
            .map(|agent| {
                let faults = agent.faults.iter();
                let allows = faults.map(|fault| json!({"name": fault.name, "longest_ms": fault.longest_ms}));
                json!({"agent": agent.name, "holds": agent.held, "allows": allows.collect::<Vec<_>>()})
            })
            .collect();
        verbatim!("{}", output::json(&all)?);
        return Ok(code);
    }
    if agents.is_empty() {
        println!(
            "no agents; `cosmark node --join URL --trust KEY --faults FILE` starts one that can make faults"
        );
        return Ok(Exit::Done);
    }
    let plain = |text: &str| text.replace(char::is_control, " ");
    for agent in &agents {
        let held = agent.held.as_deref().map_or_else(|| "nothing".to_owned(), plain);
        let allowed = agent.faults.iter().map(|fault| {
            let longest = Duration::from_millis(fault.longest_ms);
            format!("{} (for {longest:?} at most)", plain(&fault.name))
        });
        let allowed = allowed.collect::<Vec<_>>().join(", ");
        let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed };
        println!("{} holds {held}; its operator allows: {allowed}", agent.name);
    }
    Ok(code)
}
