//! `cosmark controller`: the service, until Ctrl-C.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cosmark_service::tokens::{self, role_of};
use cosmark_service::{LocalSetup, ServiceError, Setup, StateDir, Tls, run_local};
use cosmark_wire::api::{DriverInfo, DriverState, Role};

use crate::args::ControllerArgs;
use crate::client::state_directory;
use crate::exit::{Exit, Outcome, Problem};
use crate::host;
use crate::registry::CATALOG;

/// Seconds that operations in flight may take after the load has ended.
const DRAIN: Duration = Duration::from_secs(10);

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Archive(error) => error.into(),
            ServiceError::Start(_) | ServiceError::Bus(_) => Self::ours(error.to_string()),
            _ => Self::usage(error.to_string()),
        }
    }
}

/// Runs the subcommand.
pub fn run(args: &ControllerArgs) -> Outcome {
    let state = state_directory(args.state.as_deref())?;
    if args.add_token.is_some() || args.remove_token.is_some() || args.tokens {
        return manage_tokens(args, &state);
    }
    host::raise_open_files();
    let name = args.name.clone().unwrap_or_else(|| host::record().hostname);
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(cert), Some(key)) => Tls::Given { cert: cert.clone(), key: key.clone() },
        _ if args.tls => Tls::Own,
        _ => Tls::Off,
    };
    let setup = Setup {
        name,
        listen: args.listen,
        tls,
        insecure: args.insecure,
        state,
        archive: args.archive.clone(),
        concurrency: usize::from(args.concurrency),
        catalog: CATALOG,
        environment: host::environment(),
        home: std::env::var("HOME").unwrap_or_default(),
        host: host::record(),
        tell: Arc::new(|text| eprintln!("cosmark: {text}")),
    };
    let threads = args.threads.map_or_else(|| host::processors().saturating_sub(1).max(1), usize::from);
    let local = LocalSetup { threads, scripts: args.scripts.clone(), drain: DRAIN, about: about() };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("service")
        .enable_all()
        .build()
        .map_err(|cause| Problem::ours(format!("cannot start: {cause}")))?;
    runtime.block_on(async { run_local(setup, local, interrupted()).await })?;
    runtime.shutdown_timeout(Duration::from_secs(2));
    Ok(Exit::Done)
}

/// What others are told of the driver in this process.
fn about() -> DriverInfo {
    DriverInfo {
        name: "local".to_owned(),
        labels: Vec::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        message_version: 1,
        host: host::record().hostname,
        cores: u32::try_from(host::processors()).unwrap_or(u32::MAX),
        memory_bytes: host::memory_bytes(),
        nics: Vec::new(),
        adaptors: CATALOG.adaptors.iter().map(|def| def.name.to_owned()).collect(),
        ceiling_ops_per_s: None,
        state: DriverState::Idle,
        trouble: None,
        run: None,
        load: None,
        clock_offset_ns: Some(0.0),
        clock_error_ns: Some(0.0),
        last_seen: String::new(),
    }
}

/// Until Ctrl-C or SIGTERM.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

fn manage_tokens(args: &ControllerArgs, state: &Path) -> Outcome {
    let state = StateDir::open(state)?;
    if let Some(name) = &args.add_token {
        let role = role_of(&args.role).unwrap_or(Role::View);
        println!("{}", tokens::add(&state, name, role)?);
    }
    if let Some(name) = &args.remove_token
        && !tokens::remove(&state, name)?
    {
        return Err(Problem::usage(format!("no token is called {name}; --tokens lists them")));
    }
    if args.tokens {
        for who in tokens::list(&state)? {
            let role = if who.role == Role::Operate { "operate" } else { "view" };
            println!("{:<20} {role}", who.name);
        }
    }
    Ok(Exit::Done)
}
