//! What the checks may look at. `None` and empty lists mean that nobody recorded it, never 0.

use std::collections::BTreeMap;

use cosmark_metrics::results::Bound;
use cosmark_metrics::{ClientRecord, Latencies, NodeResult};
use cosmark_stats::batches::Batches;

/// Name of the work of operations whose works are not told apart: COSBench's tables have only their names.
pub const ALL_WORKS: &str = "all";

/// The class of failures of listings that are not what they must be.
pub(crate) const WRONG_LISTING: &str = "wrong_listing";

/// One measured stage and the client that measured it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    /// Seconds of the longest measured window.
    pub window_s: f64,
    /// Seconds of the longest start-up before it; `None` when the workload is not at hand.
    pub rampup_s: Option<f64>,
    /// Works with their pacing.
    pub works: Vec<WorkEvidence>,
    /// Operations of these works.
    pub operations: Vec<OperationEvidence>,
    /// Which part of the window the connections to the store carried something, as the kernel counts their segments; looked
    /// at where nothing ended in it, `None` where that was not counted.
    pub moving: Option<f64>,
    /// The window of each work over time.
    pub series: Vec<Series>,
    /// What each driver saw of its machine.
    pub clients: Vec<ClientRecord>,
    /// How many drivers made the load.
    pub drivers: usize,
    /// The clocks of drivers that were compared with the controller's.
    pub clocks: Vec<ClockEvidence>,
    /// Seconds from when the first worker of any driver began to when the last one of any driver did.
    pub start_skew_s: Option<f64>,
    /// By how much that may be off.
    pub start_skew_error_s: Option<f64>,
    /// Drivers whose part is missing from some moment on.
    pub missing: Vec<GapEvidence>,
    /// Drivers that made no load for a while, and went on.
    pub pauses: Vec<PauseEvidence>,
    /// Its load was cut, or goes on: what is under way at the end of what is known was counted by nobody.
    pub is_cut: bool,
    /// What failed while faults were made in it; `None` where no fault was proved to be there.
    pub in_faults: Option<FaultEvidence>,
    /// Other runs that loaded its drivers or its stores at the same time: who, and how much, in words.
    pub beside: Vec<String>,
    /// Operations that will not find their object, as far as the workload alone tells; `None` when it is not at hand.
    pub misses: Option<Vec<Miss>>,
    /// What is known of the data and the store.
    pub store: StoreEvidence,
    /// Successes per second of this stage in this and other runs of the same workload.
    pub repetitions: Vec<f64>,
    /// What the store's machines did in the window; empty where nobody looked.
    pub nodes: Vec<NodeResult>,
    /// The same before the first stage, without load.
    pub idle_nodes: Vec<NodeResult>,
    /// Each time that what the store acknowledged in the run was read back.
    pub durability: Vec<DurabilityEvidence>,
    /// The workload asks for that.
    pub reads_back: bool,
}

/// One reading back of what the store acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DurabilityEvidence {
    /// Objects in the ledger.
    pub objects: u64,
    /// Objects that were read.
    pub read: u64,
    /// Objects of which the store broke its word.
    pub broken: u64,
    /// The same in words.
    pub words: String,
    /// Objects that were late, undecided or could not be read.
    pub open: u64,
}

/// A driver's clocks against the controller's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClockEvidence {
    /// Name of the driver.
    pub driver: String,
    /// By how much its wall clock is ahead: times are corrected by it.
    pub offset_ms: f64,
    /// By how much it was ahead after the stage.
    pub offset_after_ms: Option<f64>,
    /// By how much the correction may be off.
    pub error_ms: f64,
    /// What the clock of its times was away from the correction at most while the stage ran.
    pub strayed_ms: Option<f64>,
    /// How much faster than the controller's it went, as a share.
    pub drift: Option<f64>,
    /// By how much that may be off.
    pub drift_error: f64,
}

/// How a work starts its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pacing {
    /// The next operation when the last is done.
    #[default]
    Closed,
    /// The same with pauses.
    Paced,
    /// By the clock.
    Open,
}

/// One work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorkEvidence {
    /// Name.
    pub name: String,
    /// Workers over all drivers.
    pub workers: u64,
    /// Seconds of its window.
    pub window_s: f64,
    /// How it starts operations.
    pub pacing: Pacing,
    /// What a rate per worker makes of all of them per second, and never more; `None` for other loads, or where the workload is
    /// not at hand.
    pub pace_per_s: Option<f64>,
    /// What the workload says of its time; `None` where it is not at hand, or something else than time ended the work.
    pub schedule: Option<ScheduleEvidence>,
}

/// What a work was to do by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScheduleEvidence {
    /// Seconds of its measured window.
    pub planned_s: f64,
    /// Operations that are due in it, where the clock says that.
    pub due: Option<f64>,
    /// Standard deviation of these.
    pub spread: f64,
}

/// One operation of one work over its window. Fields as in `run.json`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperationEvidence {
    /// Its work.
    pub work: String,
    /// Its name.
    pub name: String,
    /// What it does: `read`, `write`, ..
    pub kind: String,
    /// Seconds of its window.
    pub window_s: f64,
    /// Successes.
    pub ok: u64,
    /// Failures.
    pub failed: u64,
    /// Arrivals dropped.
    pub missed: u64,
    /// Arrivals that waited for a worker.
    pub delayed: u64,
    /// Not over when the window was.
    pub unfinished: u64,
    /// Bytes of successes.
    pub bytes: u64,
    /// Requests on the wire.
    pub requests: u64,
    /// Retries among them.
    pub retries: u64,
    /// Logins made again.
    pub renewals: u64,
    /// Connections opened.
    pub connections: u64,
    /// Arrivals due in the window (open loop).
    pub intended: Option<u64>,
    /// Mean in flight.
    pub in_flight_mean: Option<f64>,
    /// Mean number of workers of its work that had done their share of a total, counted with one operation of the work.
    pub workers_done_mean: Option<f64>,
    /// Seconds that what was in flight at the start of the window had been by then.
    pub age_at_start_s: Option<f64>,
    /// The same at its end.
    pub age_at_end_s: Option<f64>,
    /// From due, successes, ms.
    pub response: Latencies,
    /// From sent, successes, ms.
    pub service: Latencies,
    /// From sent, failures, ms.
    pub failed_service: Latencies,
    /// Of opening a connection, ms.
    pub connect: Latencies,
    /// Sent less due where a worker was free, ms.
    pub lag: Option<Latencies>,
    /// Ages of the unfinished at the end of the window, ms.
    pub unfinished_age: Option<Latencies>,
    /// Bodies whose bytes were compared; of listings, those that were held against what must be in them.
    pub checked: Option<u64>,
    /// Of writes: reads compared all of its objects with what was written.
    pub is_compared: bool,
    /// Smallest and largest size in bytes of the objects that are read, where the workload tells.
    pub sizes: Option<(u64, u64)>,
    /// Failures by class.
    pub errors: BTreeMap<String, u64>,
    /// What was wrong with one of its listings, in words.
    pub wrong_listing: Option<String>,
    /// By driver, where there are several.
    pub drivers: Vec<DriverEvidence>,
    /// From sent to the first byte, successes, ms.
    pub first_byte: Latencies,
    /// Its times over the window, where the histogram log has them.
    pub logged: Logged,
    /// Its counts over the window, interval by interval.
    pub steps: Vec<Step>,
    /// What ended outside of the window; looked at where nothing ended in it.
    pub outside: Outside,
    /// What the client itself added to each time from the moment of sending, ms, by the kernel's time stamps; `None` where
    /// there are none.
    pub client_share: Option<Latencies>,
    /// The operations' times on the wire, by the kernel's time stamps; `None` where `client_share` is.
    pub wire: Option<Latencies>,
    /// Between which values its figures lie, by their names.
    pub bounds: BTreeMap<String, Bound>,
}

/// Times of an operation over the window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Logged {
    /// From due.
    pub response: Option<Batches>,
    /// From sent, where that is something else.
    pub service: Option<Batches>,
    /// From sent to the first byte.
    pub first_byte: Option<Batches>,
}

/// What ended of an operation while load ran and its window did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outside {
    /// In the rampup, well or not.
    pub before: u64,
    /// Behind the window, successes.
    pub ok_after: u64,
    /// Behind the window, failures.
    pub failed_after: u64,
    /// Body bytes of the successes behind the window.
    pub bytes_after: u64,
}

/// Counts of an operation in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Step {
    /// Length of it.
    pub seconds: f64,
    /// Successes.
    pub ok: u64,
    /// Failures.
    pub failed: u64,
    /// Body bytes of successes.
    pub bytes: u64,
}

/// One driver's part of one operation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DriverEvidence {
    /// Its name.
    pub driver: String,
    /// Its workers.
    pub workers: u64,
    /// Its successes per second.
    pub rate_per_s: f64,
    /// Its response times, ms.
    pub response: Latencies,
}

/// A driver that was lost or restarted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GapEvidence {
    /// Its name.
    pub driver: String,
    /// Its workers.
    pub workers: u64,
    /// From when on, seconds since the load began.
    pub from_s: f64,
}

/// A driver that made no load for a while although it was to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PauseEvidence {
    /// Its name.
    pub driver: String,
    /// Its workers.
    pub workers: u64,
    /// From when on, seconds since the load began.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
    /// Why, in words.
    pub reason: String,
}

/// What failed in the slots of faults that were made on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaultEvidence {
    /// Operations.
    pub failed: u64,
    /// The same by class.
    pub errors: BTreeMap<String, u64>,
}

/// The window of one work in equal steps. Values of all its operations together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// The work.
    pub work: String,
    /// Where its first step begins, seconds since the load began; `None` when not recorded.
    pub start_s: Option<f64>,
    /// Seconds of the window before that: a window rarely begins where a step does.
    pub head_s: f64,
    /// Seconds of a step.
    pub step_s: f64,
    /// Successes per second.
    pub rate_per_s: Vec<f64>,
    /// Failures per second; empty when not recorded.
    pub failed_per_s: Vec<f64>,
    /// Mean response time of what ended in ms; `None` in a step in which nothing did.
    pub response_ms: Vec<Option<f64>>,
    /// Mean in flight; empty when not recorded.
    pub in_flight: Vec<f64>,
    /// Operations that are due in each step by the clock; empty where no clock says it.
    pub due: Vec<f64>,
}

/// Operations that will not find their object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Miss {
    /// The operation's work.
    pub work: String,
    /// Its name.
    pub operation: String,
    /// What it does.
    pub kind: String,
    /// Share of its operations over this run that find nothing, 0 to 1.
    pub share: f64,
    /// True when a store may answer them with success (a delete on S3).
    pub may_succeed: bool,
    /// True when nothing in the workload writes what is missing: a run before it may have done so.
    pub is_unwritten: bool,
    /// Why, in words, with the ranges that are to blame.
    pub cause: String,
}

/// What is known of the data and of the store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoreEvidence {
    /// Storage types of the works.
    pub kinds: Vec<String>,
    /// Bytes that reads of this stage touch; `None` when they cannot be told.
    pub read_bytes: Option<f64>,
    /// Copies that the store keeps of each.
    pub replicas: Option<f64>,
    /// Memory of all its servers in bytes.
    pub ram_bytes: Option<f64>,
    /// The user measures a cache, and says so.
    pub cache_intended: bool,
    /// The window is short on purpose: what happens less often than once in it is not asked for.
    pub short_intended: bool,
    /// The user measures what new connections cost, and says so.
    pub new_connections_intended: bool,
    /// Something that is written compresses and is alike: zeros. `None` when nothing is written or it is not known.
    pub writes_zeros: Option<bool>,
    /// What the store did beside, as the user says: `none`, `recovery`, ..
    pub background: Option<String>,
}

impl OperationEvidence {
    /// Between which values a figure lies.
    #[must_use]
    pub fn bound(&self, figure: &str) -> Option<&Bound> {
        self.bounds.get(figure)
    }

    /// All that ended.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.ok + self.failed
    }

    /// Sum of the service times of all that ended, seconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    pub fn service_sum_s(&self) -> f64 {
        let sum = |count: u64, mean: Option<f64>| count as f64 * mean.unwrap_or(0.0) / 1000.0;
        sum(self.ok, self.service.mean) + sum(self.failed, self.failed_service.mean)
    }
}

impl Evidence {
    /// Operations of one work.
    pub fn of_work<'a>(&'a self, work: &'a str) -> impl Iterator<Item = &'a OperationEvidence> {
        self.operations.iter().filter(move |op| op.work == work)
    }

    /// All that ended.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.operations.iter().map(OperationEvidence::ended).sum()
    }

    /// How many operations were under way when the window ended, where nothing ended in it and what was under way ended well
    /// behind it, but for one in a hundred. A store that hangs for good ends nothing well.
    #[must_use]
    pub fn late(&self) -> Option<u64> {
        let sum =
            |of: fn(&OperationEvidence) -> u64| self.operations.iter().map(of).fold(0, u64::saturating_add);
        let (ok, failed) = (sum(|op| op.outside.ok_after), sum(|op| op.outside.failed_after));
        let under_way = sum(|op| op.unfinished);
        let all = under_way.max(ok.saturating_add(failed));
        let ended_well = ok.saturating_mul(100) >= all.saturating_mul(99);
        (self.ended() == 0 && under_way > 0 && ended_well).then_some(under_way)
    }

    /// The same where each of them takes longer than the window because of its bytes: a store that stood still for all of
    /// the window, and went on behind it, answers as late. Bytes that moved for most of the window say which it was. Where
    /// nobody counted, it was the bytes if nothing had ended before either, and the objects need that long even at a megabyte
    /// per second. What has no bytes has no such reason.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    pub fn outlasting(&self) -> Option<u64> {
        const MOSTLY: f64 = 0.5;
        const SLOWEST_BYTES_PER_S: f64 = 1e6;
        let under_way = self.late()?;
        let each = |op: &OperationEvidence| op.outside.bytes_after as f64 / op.outside.ok_after.max(1) as f64;
        let ends_late = || self.operations.iter().filter(|op| op.unfinished > 0);
        let is_long = match self.moving {
            Some(share) => share > MOSTLY && ends_late().all(|op| each(op) > 0.0),
            None => {
                self.operations.iter().all(|op| op.outside.before == 0)
                    && ends_late().all(|op| each(op) >= SLOWEST_BYTES_PER_S * self.window_s.max(1e-6))
            }
        };
        is_long.then_some(under_way)
    }

    /// Workers of all works.
    #[must_use]
    pub fn workers(&self) -> u64 {
        self.works.iter().map(|work| work.workers).sum()
    }

    /// How many operations each worker of the closed loops ended on average; `None` without such a loop, or where nobody says
    /// how many workers there were.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    pub fn ended_per_closed_worker(&self) -> Option<f64> {
        let closed = || self.works.iter().filter(|work| work.pacing == Pacing::Closed);
        let workers: u64 = closed().map(|work| work.workers).sum();
        let is_closed =
            |op: &&OperationEvidence| op.work == ALL_WORKS || closed().any(|work| work.name == op.work);
        let ended: u64 = self.operations.iter().filter(is_closed).map(OperationEvidence::ended).sum();
        (workers > 0).then(|| ended as f64 / workers as f64)
    }

    /// Whether a driver paused in the window, at least in part.
    #[must_use]
    pub fn is_in_window(&self, pause: &PauseEvidence) -> bool {
        let start_s = self.rampup_s.unwrap_or(0.0);
        pause.to_s > start_s && pause.from_s < start_s + self.window_s
    }

    /// Which part of the load of the window so many workers make between two moments, seconds since the load began.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of workers fit 53 bits")]
    pub fn part_of_load(&self, from_s: f64, to_s: f64, workers: u64) -> f64 {
        let (start_s, window_s) = (self.rampup_s.unwrap_or(0.0), self.window_s.max(f64::MIN_POSITIVE));
        let in_window = |at_s: f64| (at_s - start_s).clamp(0.0, window_s);
        let all = (self.workers() as f64).max(1.0);
        (in_window(to_s) - in_window(from_s)).max(0.0) / window_s * workers as f64 / all
    }

    /// Which part of the load of the window was not made because drivers paused.
    #[must_use]
    pub fn paused_part(&self) -> f64 {
        self.pauses.iter().map(|pause| self.part_of_load(pause.from_s, pause.to_s, pause.workers)).sum()
    }

    /// How a work is paced.
    #[must_use]
    pub fn pacing_of(&self, work: &str) -> Option<Pacing> {
        self.works.iter().find(|own| own.name == work).map(|own| own.pacing)
    }

    /// By how many operations of the open loops more are under way at one end of the window than at the other, by chance alone.
    /// With a steady store both are Poisson numbers of the mean rate x time (Little's law; M/G/infinity).
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    pub fn under_way_by_chance(&self) -> f64 {
        const DEVIATIONS: f64 = 3.0;
        let open = self.operations.iter().filter(|op| self.pacing_of(&op.work) == Some(Pacing::Open));
        let usual = open.map(|op| {
            let window_s = if op.window_s > 0.0 { op.window_s } else { self.window_s }.max(f64::MIN_POSITIVE);
            let each_s = op.service.p50.or(op.service.mean).unwrap_or(0.0) / 1000.0;
            op.intended.unwrap_or(op.ended()) as f64 / window_s * each_s
        });
        DEVIATIONS * (2.0 * usual.sum::<f64>()).sqrt()
    }

    /// The share of what was due by the clock that was not served, where that is more than one in a hundred and than chance.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    pub fn not_served(&self) -> Option<f64> {
        let open = || self.operations.iter().filter(|op| self.pacing_of(&op.work) == Some(Pacing::Open));
        let due: u64 = open().filter_map(|op| op.intended).sum();
        let ended: u64 = open().map(OperationEvidence::ended).sum();
        let lack = 1.0 - ended as f64 / due.max(1) as f64;
        let chance = self.under_way_by_chance() / due.max(1) as f64;
        Some(lack).filter(|lack| due > 0 && *lack > 0.01 + chance)
    }

    /// True when a work is paced like this.
    #[must_use]
    pub fn any(&self, pacing: Pacing) -> bool {
        self.works.iter().any(|work| work.pacing == pacing)
    }
}
