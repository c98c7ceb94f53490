//! Joining: a connection with the stream and the buckets of [`crate::nats::names`] behind it. Existing ones are not
//! changed.

use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};

use crate::nats::connect::{Bus, NatsOptions};
use crate::nats::error::BusError;
use crate::nats::names::{
    AGENT_INBOX, ALL_RUNS, BUCKETS, DRIVER_INBOX, DUPLICATE_WINDOW, ForDrivers, RUN_MAX_AGE, RUNS,
};

/// How much Cosmark may keep in NATS.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of all runs that are not archived yet. Beyond it new messages are refused: drivers keep them.
    pub run_bytes: u64,
    /// Copies of everything, in a cluster of NATS servers.
    pub replicas: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { run_bytes: 4 << 30, replicas: 1 }
    }
}

/// A bucket that is not the stream of runs is small.
const BUCKET_BYTES: i64 = 64 << 20;
/// With less than this there is no room for runs.
const LEAST_RUN_BYTES: u64 = 64 << 20;
/// Attempts while a cluster chooses its leaders.
const ATTEMPTS: u32 = 20;

impl Bus {
    /// Connects, and makes the streams and buckets that are not there. `name` is what the server's operator sees.
    ///
    /// # Errors
    /// [`BusError`] when NATS cannot be reached now. Later it may come and go.
    pub async fn connect(options: &NatsOptions, name: &str, limits: Limits) -> Result<Self, BusError> {
        let bus = Self::dial(options, options.connect_options(name)?, false).await?;
        ensure(&bus, limits).await?;
        Ok(bus)
    }

    /// Connects as a driver of this name, whose login may do little ([`crate::nats::roles`]).
    ///
    /// # Errors
    /// [`BusError`] when NATS cannot be reached now, or this login is not a driver's.
    pub async fn join(options: &NatsOptions, driver: &str) -> Result<Self, BusError> {
        let connecting = options
            .connect_options(&format!("driver {driver}"))?
            .custom_inbox_prefix(format!("{DRIVER_INBOX}.{driver}"));
        let bus = Self::dial(options, connecting, true).await?;
        ensure_for_driver(&bus).await?;
        Ok(bus)
    }

    /// Connects as an agent of this name on one of the store's machines, whose login may do even less.
    ///
    /// # Errors
    /// [`BusError`] when NATS cannot be reached now.
    pub async fn join_as_agent(options: &NatsOptions, agent: &str) -> Result<Self, BusError> {
        let connecting = options
            .connect_options(&format!("agent {agent}"))?
            .custom_inbox_prefix(format!("{AGENT_INBOX}.{agent}"));
        Self::dial(options, connecting, true).await
    }

    /// Makes what is not there, as far as this connection may.
    pub(crate) async fn ensure(&self) -> Result<(), BusError> {
        if self.is_driver {
            return ensure_for_driver(self).await;
        }
        ensure(self, Limits::default()).await
    }
}

pub(crate) async fn ensure(bus: &Bus, limits: Limits) -> Result<(), BusError> {
    let mut last = String::new();
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(250)).await;
        }
        match try_all(bus, limits).await {
            Ok(()) => return Ok(()),
            Err(cause) => last = cause,
        }
        if let Some(denied) = bus.denied() {
            return Err(bus.problem(format!(
                "this login may not do what a controller does ({denied}); use the login of a controller"
            )));
        }
        if last.contains("JetStream not enabled") || last.contains("insufficient") {
            break;
        }
    }
    let remedy = if last.contains("insufficient") {
        "give its JetStream more room (max_file_store), or delete streams that nobody needs"
    } else {
        "start it with JetStream (`nats-server -js`), and let this account use it"
    };
    Err(bus.problem(format!("the streams cannot be made: {last}; {remedy}")))
}

/// What a driver needs, which it makes itself where its login may; elsewhere a controller does.
pub(crate) async fn ensure_for_driver(bus: &Bus) -> Result<(), BusError> {
    if has_what_drivers_need(bus).await {
        return Ok(());
    }
    // What is refused already will be refused again.
    let tried = match bus.denied() {
        Some(denied) => Err(denied),
        None => {
            let tried = try_all(bus, Limits::default()).await;
            for _ in 0..ATTEMPTS {
                if has_what_drivers_need(bus).await {
                    return Ok(());
                }
                tokio::time::sleep(std::time::Duration::from_millis(250)).await;
            }
            tried
        }
    };
    let cause = bus.denied().or(tried.err()).unwrap_or_else(|| "they are not there".to_owned());
    let enabled = if cause.contains("not enabled") {
        "start NATS with JetStream (`nats-server -js`)"
    } else {
        "start the controller first"
    };
    Err(bus.problem(format!(
        "the streams cannot be used: {cause}; {enabled}, and let this login have the role of a driver with the name that it has"
    )))
}

async fn has_what_drivers_need(bus: &Bus) -> bool {
    for row in BUCKETS.iter().filter(|row| row.for_drivers != ForDrivers::Nothing) {
        if bus.jetstream().get_key_value(row.name).await.is_err() {
            return false;
        }
    }
    bus.jetstream().get_stream(RUNS).await.is_ok()
}

async fn try_all(bus: &Bus, limits: Limits) -> Result<(), String> {
    let jetstream = bus.jetstream();
    for row in BUCKETS {
        if jetstream.get_key_value(row.name).await.is_ok() {
            continue;
        }
        // A bucket is a stream (NATS ADR-8). The client's own call asks servers for what those before 2.10 do not tell.
        let config = Config {
            name: format!("KV_{}", row.name),
            subjects: vec![format!("$KV.{}.>", row.name)],
            description: Some(format!("Cosmark: {}", row.holds)),
            max_messages_per_subject: 1,
            max_age: row.max_age.unwrap_or_default(),
            max_bytes: BUCKET_BYTES,
            storage: StorageType::File,
            num_replicas: limits.replicas,
            discard: DiscardPolicy::New,
            // A value that takes all others away is nothing that whoever may write one key should be able to write.
            allow_rollup: row.for_drivers == ForDrivers::Nothing,
            deny_delete: true,
            allow_direct: true,
            ..Config::default()
        };
        if let Err(cause) = jetstream.create_stream(config).await {
            // Somebody else may have made it meanwhile.
            if jetstream.get_key_value(row.name).await.is_err() {
                return Err(format!("{}: {cause}", row.name));
            }
        }
    }
    if jetstream.get_stream(RUNS).await.is_err() {
        make_runs(bus, limits).await?;
    }
    Ok(())
}

/// The stream of runs, as large as was asked for or as a server with less room has room for: JetStream sets aside what a
/// stream may grow to.
async fn make_runs(bus: &Bus, limits: Limits) -> Result<(), String> {
    let mut run_bytes = limits.run_bytes;
    loop {
        let config = Config {
            name: RUNS.to_owned(),
            subjects: vec![ALL_RUNS.to_owned()],
            max_bytes: i64::try_from(run_bytes).unwrap_or(i64::MAX),
            max_age: RUN_MAX_AGE,
            discard: DiscardPolicy::New,
            duplicate_window: DUPLICATE_WINDOW,
            num_replicas: limits.replicas,
            allow_direct: true,
            description: Some("Cosmark: everything that is said about runs".to_owned()),
            ..Config::default()
        };
        let Err(cause) = bus.jetstream().get_or_create_stream(config).await else { return Ok(()) };
        let text = cause.to_string();
        if !text.contains("insufficient") || run_bytes / 2 < LEAST_RUN_BYTES {
            return Err(text);
        }
        run_bytes /= 2;
    }
}
