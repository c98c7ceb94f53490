//! How the command line says where NATS is.

use cosmark_cluster::nats::{Bus, BusError, Limits, NatsOptions, patiently};

use crate::args::NatsArgs;
use crate::exit::Problem;

/// The options of a connection to this address.
#[must_use]
pub fn options(url: &str, login: &NatsArgs) -> NatsOptions {
    NatsOptions {
        url: url.to_owned(),
        token_file: login.nats_token_file.clone(),
        user: login.nats_user.clone(),
        password_file: login.nats_password_file.clone(),
        nkey_file: login.nats_nkey_file.clone(),
        creds_file: login.nats_creds.clone(),
        ca_file: login.nats_ca.clone(),
        client_cert: login.nats_cert.clone().zip(login.nats_key.clone()),
    }
}

/// Connects.
///
/// # Errors
/// One sentence with the remedy.
pub async fn connect(url: &str, login: &NatsArgs, name: &str) -> Result<Bus, Problem> {
    connect_by(&options(url, login), name).await
}

/// Connects with these options.
///
/// # Errors
/// One sentence with the remedy.
pub async fn connect_by(options: &NatsOptions, name: &str) -> Result<Bus, Problem> {
    let connecting = Bus::connect(options, name, Limits::default());
    patiently(connecting, || waits_for(options)).await.map_err(|error| problem(&error))
}

fn waits_for(options: &NatsOptions) {
    eprintln!("cosmark: waiting for JetStream of NATS at {}; it has half a minute", options.shown());
}

/// Connects as a driver.
///
/// # Errors
/// One sentence with the remedy.
pub async fn join(url: &str, login: &NatsArgs, driver: &str) -> Result<Bus, Problem> {
    if !cosmark_cluster::nats::names::is_token(driver) {
        return Err(Problem::usage(format!(
            "`{driver}` cannot be the name of a driver: up to 64 of A to Z, a to z, 0 to 9, - and _; give --name"
        )));
    }
    let options = options(url, login);
    patiently(Bus::join(&options, driver), || waits_for(&options)).await.map_err(|error| problem(&error))
}

/// Wrong options are bad usage; everything else about NATS is this machine's.
#[must_use]
pub fn problem(error: &BusError) -> Problem {
    match error {
        BusError::Options(_) | BusError::File { .. } => Problem::usage(error.to_string()),
        _ => Problem::ours(error.to_string()),
    }
}
