//! Drivers that joined over NATS.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use cosmark_archive::Timestamp;
use cosmark_bus::{Bus, Present, Registry};
use cosmark_controller::Ended;
use cosmark_controller::remote::{RemoteError, RemoteJob, run};
use cosmark_driver::{Catalog, try_target};
use cosmark_wire::MESSAGE_VERSION;
use cosmark_wire::api::{DriverInfo, DriverState};
use cosmark_wire::message::Registration;
use cosmark_workload::model::TargetSpec;

use crate::fleet::{Fleet, FleetJob};

/// A driver that was not heard of for so long is lost.
const LOST_AFTER: Duration = Duration::from_secs(10);
/// A run whose drivers are not there yet waits for them for so long, after a takeover.
const PURGE_PATIENCE: Duration = Duration::from_secs(10);

/// The drivers of a NATS.
pub struct RemoteFleet {
    bus: Bus,
    registry: Registry,
    catalog: Catalog,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    drained: BTreeSet<String>,
    forgotten: BTreeSet<String>,
    /// Run and driver.
    at_work: Vec<(String, String)>,
}

impl RemoteFleet {
    /// Those that register at this NATS.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn watch(bus: Bus, catalog: Catalog) -> Result<Self, crate::ServiceError> {
        let registry = bus.registry().await.map_err(|error| crate::ServiceError::Bus(error.to_string()))?;
        Ok(Self { bus, registry, catalog, now: Mutex::default() })
    }

    fn with_now<T>(&self, look: impl FnOnce(&mut Now) -> T) -> T {
        look(&mut self.now.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn info(&self, present: &Present) -> DriverInfo {
        let Present { registration, heard } = present;
        let Registration { name, message_version, version, .. } = registration;
        let run = self.with_now(|now| {
            now.at_work.iter().find(|(_, driver)| driver == name).map(|(run, _)| run.clone())
        });
        let drained = self.with_now(|now| now.drained.contains(name));
        let silent = heard.elapsed();
        let (state, trouble) = if *message_version != MESSAGE_VERSION {
            let text = format!(
                "it speaks version {message_version} of the messages (Cosmark {version}), this controller version \
                 {MESSAGE_VERSION} (Cosmark {}): use the same Cosmark on both",
                env!("CARGO_PKG_VERSION")
            );
            (DriverState::Refused, Some(text))
        } else if silent > LOST_AFTER {
            (DriverState::Lost, Some(format!("not heard of for {} s", silent.as_secs())))
        } else if drained {
            (DriverState::Drained, None)
        } else if run.is_some() || !registration.runs.is_empty() {
            (DriverState::Busy, None)
        } else {
            (DriverState::Idle, None)
        };
        DriverInfo {
            name: name.clone(),
            labels: registration.labels.clone(),
            version: version.clone(),
            message_version: *message_version,
            host: registration.host.clone(),
            cores: registration.cores,
            memory_bytes: registration.memory_bytes,
            nics: registration.nics.clone(),
            adaptors: registration.adaptors.clone(),
            ceiling_ops_per_s: registration.ceiling_ops_per_s,
            state,
            trouble,
            run: run.or_else(|| registration.runs.first().cloned()),
            load: registration.load,
            clock_offset_ns: None,
            clock_error_ns: None,
            last_seen: wall_clock(*heard),
        }
    }

    /// Those that get a new run: alive, of our version, at work on nothing.
    fn free(&self) -> Vec<Registration> {
        let all = self.registry.all();
        let free = |present: &&Present| self.info(present).state == DriverState::Idle;
        all.iter().filter(free).map(|present| present.registration.clone()).collect()
    }
}

fn wall_clock(heard: Instant) -> String {
    let at = SystemTime::now().checked_sub(heard.elapsed()).unwrap_or_else(SystemTime::now);
    Timestamp::try_from(at).map_or_else(|_| String::new(), |at| at.to_string())
}

impl Fleet for RemoteFleet {
    fn drivers(&self) -> Vec<DriverInfo> {
        let all = self.registry.all();
        let infos = all.iter().map(|present| self.info(present));
        infos
            .filter(|info| {
                let is_lost = info.state == DriverState::Lost;
                self.with_now(|now| {
                    if !is_lost {
                        now.forgotten.remove(&info.name);
                    }
                    !now.forgotten.contains(&info.name)
                })
            })
            .collect()
    }

    fn ready(&self) -> usize {
        self.free().len()
    }

    fn drain(&self, name: &str, drained: bool) -> Result<bool, String> {
        if self.registry.get(name).is_none() {
            return Ok(false);
        }
        self.with_now(
            |now| if drained { now.drained.insert(name.to_owned()) } else { now.drained.remove(name) },
        );
        Ok(true)
    }

    fn forget(&self, name: &str) -> Result<bool, String> {
        let Some(present) = self.registry.get(name) else { return Ok(false) };
        if self.info(&present).state != DriverState::Lost {
            return Err(format!("the driver {name} is alive; end it on its machine, and it goes by itself"));
        }
        self.with_now(|now| now.forgotten.insert(name.to_owned()));
        Ok(true)
    }

    fn continues(&self) -> bool {
        true
    }

    fn run(&self, job: FleetJob<'_>) -> Result<Option<Ended>, String> {
        let FleetJob { id, workload, dir, operation_log, stop, mut abandon, redact, observer } = job;
        let drivers = self.free();
        let names: Vec<(String, String)> =
            drivers.iter().map(|driver| (id.to_owned(), driver.name.clone())).collect();
        self.with_now(|now| now.at_work.extend(names));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let ended = runtime.map_err(|cause| format!("cannot start: {cause}")).and_then(|runtime| {
            let bus = self.bus.clone();
            let job = RemoteJob {
                run: id.to_owned(),
                workload,
                dir,
                bus: bus.clone(),
                drivers,
                operation_log,
                drain: None,
                stop,
                redact,
            };
            let ended = runtime.block_on(async {
                let ended = tokio::select! {
                    ended = run(job, observer) => ended.map(Some),
                    _ = abandon.wait_for(|abandoned| *abandoned) => Ok(None),
                };
                if matches!(ended, Ok(Some(_)) | Err(RemoteError::Over(_))) {
                    // The archive has it; what stays behind goes when the stream is full.
                    drop(tokio::time::timeout(PURGE_PATIENCE, bus.purge_run(id)).await);
                }
                ended
            });
            runtime.shutdown_background();
            ended.map_err(|error| error.to_string())
        });
        self.with_now(|now| now.at_work.retain(|(run, _)| run != id));
        ended
    }

    fn try_target(&self, auth: &TargetSpec, storage: &TargetSpec) -> Result<(), String> {
        try_target(&self.catalog, auth, storage)
    }
}
