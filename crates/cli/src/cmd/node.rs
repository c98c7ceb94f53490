//! `cosmark node`: reads this machine for runs of controllers elsewhere.

use std::sync::Arc;

use cosmark_cluster::agent::{AgentOptions, serve};
use cosmark_cluster::driver::{Leave, Talk};
use cosmark_cluster::nats::Bus;
use cosmark_nodes::collect::check_daemons;
use tokio::sync::watch;

use crate::args::NodeArgs;
use crate::cmd::driver;
use crate::exit::{Exit, Outcome, Problem};
use crate::{host, nats, signals};

/// Runs the subcommand.
pub fn run(args: &NodeArgs) -> Outcome {
    let options = options(args)?;
    host::runtime()?.block_on(async {
        let (level, leave) = watch::channel(Leave::Stay);
        tokio::spawn(signals::three_times(
            level,
            [(Leave::Politely, "leaving"), (Leave::AtOnce, "leaving at once")],
        ));
        let nats = nats::options(&args.join, &args.login);
        let bus = Bus::join_as_agent(&nats, &options.name).await;
        let bus = bus.map_err(|error| nats::problem(&error))?;
        let talk: Talk = Arc::new(|text: &str| eprintln!("cosmark: {text}"));
        serve(bus, options, leave, talk).await.map_err(|error| driver::problem(&error))
    })?;
    Ok(Exit::Done)
}

fn options(args: &NodeArgs) -> Result<AgentOptions, Problem> {
    check_daemons(&args.daemons).map_err(|why| Problem::usage(format!("--daemons: {why}")))?;
    driver::check_keys(&args.trust)?;
    Ok(AgentOptions {
        name: args.name.clone().unwrap_or_else(driver::name_of_host),
        role: args.role.clone(),
        daemons: args.daemons.clone(),
        state: args.state.clone().map_or_else(driver::state_directory, Ok)?,
        trust: args.trust.clone(),
        host: host::hostname(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}
