//! Drivers that joined over NATS.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_nats::Request;
use async_nats::jetstream::kv;
use axum::body::Bytes;
use cosmark_adaptor_api::Reach;
use cosmark_archive::Timestamp;
use cosmark_cluster::controller::{Offsets, RemoteError, RemoteJob, check_size, run};
use cosmark_cluster::nats::{Bus, Present, Registry, names};
use cosmark_controller::Ended;
use cosmark_driver::{Catalog, Permit};
use cosmark_wire::message::{Doing, Registration, TargetAnswer, TargetQuestion, decode, encode};
use cosmark_wire::{MESSAGE_VERSION, stage_to_text};
use cosmark_workload::drivers::DriverThere;
use cosmark_workload::model::TargetSpec;
use cosmark_workload::{Environment, Format, Workload, parse};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::ServiceError;
use crate::api::types::{DriverDoing, DriverInfo, DriverState, NicInfo};
use crate::auth::keys::random;
use crate::drivers::{DriverPool, PoolJob, Tried};
use crate::queue::store::Answer;

/// Keys of the drivers that get nothing new begin so.
const DRAINED: &str = "drained.";
/// A target's own patience is half a minute at most.
const TRY_PATIENCE: Duration = Duration::from_secs(40);
/// The stage in which a target travels to the driver that tries it.
const ONE_WORK: &str = "name: try\nstorage: {type: none}\nstages:\n  - name: try\n    works:\n      - {name: try, workers: 1, \
                        total_ops: 1, operations: [{type: read, containers: c(1), objects: c(1)}]}\n";
/// A driver that was not heard of for so long is lost.
const LOST_AFTER: Duration = Duration::from_secs(10);
/// What drivers told of a run that is archived is forgotten within this time.
const PURGE_PATIENCE: Duration = Duration::from_secs(10);

fn not_taken(cause: &dyn Display) -> ServiceError {
    ServiceError::Bus(format!("NATS does not take the word on a driver now: {cause}; try again"))
}

/// The drivers of a NATS.
pub struct NatsPool {
    bus: Bus,
    registry: Registry,
    offsets: Offsets,
    catalog: Catalog,
    admit: Vec<(String, String)>,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    drained: BTreeSet<String>,
    forgotten: BTreeSet<String>,
    /// Run and driver.
    at_work: Vec<(String, String)>,
}

impl NatsPool {
    /// Those that register at this NATS; `admit` are names and keys of those that get work, none = all.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn watch(
        bus: Bus,
        catalog: Catalog,
        admit: Vec<(String, String)>,
    ) -> Result<Self, crate::ServiceError> {
        let registry = bus.registry().await.map_err(|error| crate::ServiceError::Bus(error.to_string()))?;
        let offsets = Offsets::watch(bus.clone(), registry.clone());
        Ok(Self { bus, registry, offsets, catalog, admit, now: Mutex::default() })
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
        } else if let Err(text) =
            self.bus.can_order(registration).and_then(|()| self.is_admitted(registration))
        {
            (DriverState::Refused, Some(text))
        } else if drained {
            (DriverState::Drained, None)
        } else if run.is_some() || !registration.runs.is_empty() {
            (DriverState::Busy, None)
        } else {
            (DriverState::Idle, None)
        };
        let trouble = trouble.or_else(|| registration.trouble.clone());
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let clock = self.offsets.of(name).map(|fix| (fix.wall_offset_ns as f64, fix.error_ns as f64));
        let (clock_offset_ns, clock_error_ns) = clock.unzip();
        DriverInfo {
            name: name.clone(),
            labels: registration.labels.clone(),
            version: version.clone(),
            message_version: *message_version,
            host: registration.host.clone(),
            cores: registration.cores,
            memory_bytes: registration.memory_bytes,
            nics: registration.nics.iter().map(NicInfo::from).collect(),
            adaptors: registration.adaptors.clone(),
            ceiling_ops_per_s: registration.ceiling_ops_per_s,
            state,
            trouble,
            doing: self.doing(registration),
            run: run.or_else(|| registration.runs.first().cloned()),
            load: registration.load,
            clock_offset_ns,
            clock_error_ns,
            last_seen: wall_clock(*heard),
            forged: registration.forged,
            key: Some(registration.identity.clone()).filter(|key| !key.is_empty()),
        }
    }

    /// Whether this driver is to get work; what it says of its key was proved.
    fn is_admitted(&self, driver: &Registration) -> Result<(), String> {
        let Registration { name, identity, .. } = driver;
        let admitted =
            self.admit.is_empty() || self.admit.iter().any(|(who, key)| who == name && key == identity);
        if admitted {
            return Ok(());
        }
        Err(format!(
            "waiting to be admitted: if it is yours, start the controller with `--admit {name}={identity}`"
        ))
    }

    /// What a driver says that it does.
    fn doing(&self, registration: &Registration) -> Vec<DriverDoing> {
        let ordered = |run: &str| {
            let mine = (run.to_owned(), registration.name.clone());
            self.with_now(|now| now.at_work.contains(&mine))
        };
        let entry = |doing: &Doing| DriverDoing {
            run: doing.run.clone(),
            ordered: ordered(&doing.run),
            requests_per_s: doing.requests_per_s,
            lease: doing.standing.word().to_owned(),
            lease_age_s: doing.lease_age_ms.map(|ms| Duration::from_millis(ms).as_secs_f64()),
            stores: doing.stores.clone(),
        };
        registration.doing.iter().map(entry).collect()
    }

    async fn meta(&self) -> Result<kv::Store, ServiceError> {
        if !self.bus.is_connected() {
            return Err(ServiceError::Away { url: self.bus.url().to_owned() });
        }
        self.bus.bucket(names::META).await.map_err(|error| ServiceError::Bus(error.to_string()))
    }

    /// The driver that tries a target: one that speaks its protocol, best one that has nothing else to do.
    fn fit_to_try(&self, storage: &TargetSpec) -> Option<Registration> {
        let rank = |state| match state {
            DriverState::Idle => Some(0),
            DriverState::Busy => Some(1),
            DriverState::Drained => Some(2),
            DriverState::Refused | DriverState::Lost => None,
        };
        let speaks = |registration: &Registration| {
            let kind =
                self.catalog.adaptor(&storage.kind).map_or(storage.kind.as_str(), |found| found.def.name);
            registration.adaptors.iter().any(|name| name == kind)
        };
        let all = self.registry.all().into_iter();
        let fit = all.filter_map(|one| Some((rank(self.info(&one).state)?, one.registration)));
        fit.filter(|(_, registration)| speaks(registration))
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, registration)| registration)
    }

    /// What is known of these drivers.
    fn registrations(&self, names: &[String]) -> Result<Vec<Registration>, String> {
        let one = |name: &String| {
            let present = self.registry.get(name).map(|present| present.registration);
            present.ok_or_else(|| format!("the driver {name} went away before the run began"))
        };
        names.iter().map(one).collect()
    }
}

fn wall_clock(heard: Instant) -> String {
    let at = SystemTime::now().checked_sub(heard.elapsed()).unwrap_or_else(SystemTime::now);
    Timestamp::try_from(at).map_or_else(|_| String::new(), |at| at.to_string())
}

impl DriverPool for NatsPool {
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

    fn there(&self) -> Vec<DriverThere> {
        let infos = self.registry.all().into_iter().map(|present| self.info(&present));
        let alive = infos.filter(|info| matches!(info.state, DriverState::Idle | DriverState::Busy));
        alive
            .map(|info| DriverThere {
                is_free: info.state == DriverState::Idle,
                name: info.name,
                labels: info.labels,
            })
            .collect()
    }

    fn reserve(&self, id: &str, drivers: &[String]) {
        let pairs = drivers.iter().map(|driver| (id.to_owned(), driver.clone()));
        self.with_now(|now| now.at_work.extend(pairs));
    }

    fn release(&self, id: &str) {
        self.with_now(|now| now.at_work.retain(|(run, _)| run != id));
    }

    fn drain<'a>(&'a self, name: &'a str, drained: bool) -> Answer<'a, bool> {
        Box::pin(async move {
            if self.registry.get(name).is_none() {
                return Ok(false);
            }
            let meta = self.meta().await?;
            let key = format!("{DRAINED}{name}");
            let stored = match drained {
                true => meta.put(key, Bytes::new()).await.map(drop).map_err(|cause| cause.to_string()),
                false => meta.purge(key).await.map_err(|cause| cause.to_string()),
            };
            stored.map_err(|cause| not_taken(&cause))?;
            self.with_now(|now| match drained {
                true => now.drained.insert(name.to_owned()),
                false => now.drained.remove(name),
            });
            Ok(true)
        })
    }

    fn recall(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            // A NATS that lost its data has lost this, too.
            drop(self.bus.publish_key().await);
            let meta = self.meta().await?;
            let keys = self.bus.keys(&meta).await.map_err(|cause| not_taken(&cause))?;
            let drained = keys.iter().filter_map(|key| key.strip_prefix(DRAINED).map(str::to_owned));
            let drained: BTreeSet<String> = drained.collect();
            self.with_now(|now| now.drained = drained);
            Ok(())
        })
    }

    fn takes(&self, workload: &Workload) -> Result<(), ServiceError> {
        check_size(&self.bus, workload).map_err(|error| match error {
            RemoteError::TooLarge { stage, bytes, most } => {
                ServiceError::TooLarge { what: format!("stage {stage}"), bytes, most }
            }
            other => ServiceError::Bus(other.to_string()),
        })
    }

    fn permit_elsewhere(&self) -> Option<Permit> {
        permit_of(self.registry.all().iter().map(|present| &present.registration))
    }

    fn forget(&self, name: &str) -> Result<bool, String> {
        let Some(present) = self.registry.get(name) else { return Ok(false) };
        if self.info(&present).state != DriverState::Lost {
            return Err(format!("the driver {name} is alive; end it on its machine, and it goes by itself"));
        }
        self.with_now(|now| now.forgotten.insert(name.to_owned()));
        Ok(true)
    }

    fn agents(&self) -> Option<Bus> {
        Some(self.bus.clone())
    }

    fn continues(&self) -> bool {
        true
    }

    fn clear<'a>(&'a self, id: &'a str) -> BoxFuture<'a, ()> {
        // What stays behind goes with its age.
        Box::pin(async move { drop(tokio::time::timeout(PURGE_PATIENCE, self.bus.purge_run(id)).await) })
    }

    fn run(&self, job: PoolJob<'_>) -> Result<Option<Ended>, String> {
        let PoolJob { id, drivers, workload, dir, operation_log, nodes, faults, .. } = job;
        let PoolJob { stop, mut abandon, redact, observer, .. } = job;
        let drivers = self.registrations(drivers)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|cause| format!("cannot start: {cause}")).and_then(|runtime| {
            let job = RemoteJob {
                nodes,
                faults,
                run: id.to_owned(),
                workload,
                dir,
                bus: self.bus.clone(),
                drivers,
                operation_log,
                // A submission asks for one by `check: durability`.
                ledger: false,
                drain: None,
                stop,
                redact,
            };
            let ended = runtime.block_on(async {
                tokio::select! {
                    ended = run(job, observer) => match ended {
                        // It is somebody else's now.
                        Err(RemoteError::TakenUp(_)) => Ok(None),
                        ended => ended.map(Some),
                    },
                    _ = abandon.wait_for(|abandoned| *abandoned) => Ok(None),
                }
            });
            runtime.shutdown_background();
            ended.map_err(|error| error.to_string())
        })
    }

    fn try_target(&self, auth: &TargetSpec, storage: &TargetSpec) -> Tried {
        let Some(driver) = self.fit_to_try(storage) else {
            let text = format!(
                "no driver is there that speaks {}; drivers make the load, so one of them has to try the target: start one \
                 with `cosmark driver --join`",
                storage.kind
            );
            return Tried { driver: None, ms: 0.0, outcome: Err(text) };
        };
        let begun = Instant::now();
        // The thread is one of the service's blocking pool.
        let asked = tokio::runtime::Handle::current().block_on(ask(&self.bus, &driver, auth, storage));
        let waited_ms = begun.elapsed().as_secs_f64() * 1e3;
        let (ms, outcome) = match asked {
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of half a minute")]
            Ok(answer) => (answer.ms as f64, answer.failure.map_or(Ok(()), |failure| Err(failure.text))),
            Err(text) => (waited_ms, Err(text)),
        };
        Tried { driver: Some(driver.name), ms, outcome }
    }
}

/// What one or another of these allows; `None` when there is none, or one does not say.
fn permit_of<'a>(drivers: impl Iterator<Item = &'a Registration>) -> Option<Permit> {
    let said: Option<Vec<&[String]>> = drivers.map(|driver| driver.reaches.as_deref()).collect();
    let words = said.filter(|said| !said.is_empty())?.concat();
    Some(Permit::elsewhere(words.iter().filter_map(|word| Reach::of_word(word)).collect()))
}

/// Lets a driver try a target; secrets travel sealed for it.
async fn ask(
    bus: &Bus,
    driver: &Registration,
    auth: &TargetSpec,
    storage: &TargetSpec,
) -> Result<TargetAnswer, String> {
    let (workload, _) = parse(ONE_WORK, Format::Yaml, &Environment::default());
    let stage = workload.and_then(|workload| workload.stages.into_iter().next());
    let mut stage = stage.ok_or_else(|| "the question cannot be written; report this as a bug".to_owned())?;
    for work in &mut stage.works {
        (work.auth, work.storage) = (auth.clone(), storage.clone());
    }
    let question =
        encode(&TargetQuestion { stage: stage_to_text(&stage) }).map_err(|error| error.to_string())?;
    let question = bus.signed_probe(
        driver,
        u64::from_be_bytes(random().map_err(|error| error.to_string())?),
        &question,
    )?;
    let request = Request::new().payload(question.into()).timeout(Some(TRY_PATIENCE));
    let asked = bus.client().send_request(names::question(&driver.name, "probe"), request).await;
    let answer =
        asked.map_err(|cause| format!("driver {} does not answer ({cause}); try again", driver.name))?;
    decode(&answer.payload).map_err(|error| format!("driver {}: {error}", driver.name))
}
