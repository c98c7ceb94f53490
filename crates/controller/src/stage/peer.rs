//! One driver in one stage: its phase, and what it reported about itself.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmark_archive::{ClientRecord, PauseRecord, Timestamp};
use cosmark_metrics::{ClientFacts, HealthSample, HealthSummary, SlicePlan};
use cosmark_wire::{Began, ClockDrift, ClockFix, Launched, PauseReason};
use cosmark_workload::share::MissionShare;

/// How far a clock may stray until it is compared again.
const STRAYS_NS: u64 = 500_000_000;

/// A driver in which a thread that sleeps a millisecond wakes so late stood still, and its load with it.
const STOOD_NS: u64 = 2_000_000_000;

/// Pauses that are written down of a driver in a stage.
const MOST_PAUSES: usize = 10_000;

/// How far a driver is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DriverPhase {
    /// It has no part in this stage.
    Idle,
    /// It has its order.
    Ordered,
    /// It is logged in.
    Authed,
    /// Its clock was compared.
    Ready,
    /// It was told when to begin.
    Started,
    /// Its load is on.
    Running,
    /// It has ended or refused.
    Over,
}

/// A driver.
pub struct Peer {
    pub phase: DriverPhase,
    /// Nothing is heard of it; until it comes back.
    pub is_lost: bool,
    /// It was lost or restarted, and has not told all.
    pub is_cut: bool,
    pub shares: Vec<MissionShare>,
    pub launch: Option<Launch>,
    /// When its first and its last worker began, on its clock.
    began: Option<Began>,
    /// It has told all that ended up to this time since the common instant, ns.
    pub watermark_ns: u64,
    facts: ClientFacts,
    /// When it made no load although it was to: on its clock.
    pauses: Vec<(u64, u64, PauseReason)>,
    /// When it stood still, on its clock.
    stood: Vec<(u64, u64)>,
    clock_drift: Option<ClockDrift>,
    /// How far it has spoken of the window of each of its works, ns since the common instant.
    pub windows_ns: BTreeMap<u16, u64>,
    /// In the measured windows of its works.
    in_window: HealthSummary,
    /// All the time, for stages that are too short for a look inside a window.
    all: HealthSummary,
}

/// How a driver began.
#[derive(Clone)]
pub struct Launch {
    /// The common instant on the driver's clock.
    pub origin_ns: u64,
    /// The same, ns since 1970.
    origin_unix_ns: i64,
    clock: Option<ClockFix>,
    /// Phases of each work on the driver's clock.
    pub plans: Vec<(usize, SlicePlan)>,
    endpoints: Vec<(usize, Vec<String>)>,
}

impl Launch {
    fn of(launched: Launched) -> Self {
        let Launched { start_ns: _, origin_ns, origin_unix_ns, clock, plans, endpoints, containers: _ } =
            launched;
        Self { origin_ns, origin_unix_ns, clock, plans, endpoints }
    }

    /// The common instant.
    pub fn origin(&self) -> Timestamp {
        Timestamp::from_nanosecond(i128::from(self.origin_unix_ns)).unwrap_or_default()
    }

    /// By how much times of this driver may be off against those of others, ns: what the comparison left open, and what a clock may
    /// stray until the next. One in the same process has the same clock.
    pub fn clock_error_ns(&self) -> i64 {
        self.clock
            .map_or(0, |clock| i64::try_from(clock.error_ns.saturating_add(STRAYS_NS)).unwrap_or(i64::MAX))
    }

    /// The endpoints that serve a work, in the order of their numbers; none unless there are several.
    pub fn endpoints_of(&self, work: u16) -> &[String] {
        let own = self.endpoints.iter().find(|(index, _)| *index == usize::from(work));
        own.map(|(_, names)| names.as_slice()).unwrap_or_default()
    }

    /// Time since the common instant, ns.
    pub fn since_ns(&self, driver_ns: u64) -> u64 {
        driver_ns.saturating_sub(self.origin_ns)
    }
}

impl Peer {
    pub fn new() -> Self {
        Self {
            phase: DriverPhase::Idle,
            is_lost: false,
            is_cut: false,
            shares: Vec::new(),
            launch: None,
            began: None,
            watermark_ns: 0,
            facts: ClientFacts::default(),
            pauses: Vec::new(),
            stood: Vec::new(),
            windows_ns: BTreeMap::new(),
            clock_drift: None,
            in_window: HealthSummary::default(),
            all: HealthSummary::default(),
        }
    }

    /// Something is still to come from it.
    pub fn is_awaited(&self) -> bool {
        !matches!(self.phase, DriverPhase::Idle | DriverPhase::Over) && !self.is_lost
    }

    pub fn launch(&mut self, launched: Launched) {
        self.launch = Some(Launch::of(launched));
        self.rise_to(DriverPhase::Running);
    }

    /// What is heard twice, or late, does not turn it back.
    pub fn rise_to(&mut self, phase: DriverPhase) {
        self.phase = self.phase.max(phase);
    }

    pub fn set_facts(&mut self, facts: ClientFacts) {
        self.facts = facts;
    }

    /// Adds a look at it; gives the start of its load for the archive.
    pub fn add_health(&mut self, sample: &HealthSample) -> Option<u64> {
        let launch = self.launch.as_ref()?;
        let middle_ns = sample.at_ns.saturating_sub(sample.span_ns / 2);
        self.all.add(sample);
        let longest_ns = sample.pause.max_ns().unwrap_or(0);
        if longest_ns >= STOOD_NS && self.stood.len() < MOST_PAUSES {
            // It may be heard of with the next look.
            let from_ns = sample.at_ns.saturating_sub(longest_ns.max(sample.span_ns));
            self.stood.push((from_ns, sample.at_ns));
        }
        if launch.plans.iter().any(|(_, plan)| plan.is_due_in_window(middle_ns)) {
            self.in_window.add(sample);
        }
        Some(launch.origin_ns)
    }

    pub fn has_reported(&self) -> bool {
        !self.all.is_empty() || self.facts.load_threads > 0
    }

    #[expect(clippy::cast_precision_loss, reason = "milliseconds need no more than 53 bits")]
    pub fn client_record(&self, name: &str) -> ClientRecord {
        let health = if self.in_window.is_empty() { &self.all } else { &self.in_window };
        let clock = self.clock();
        let drift = self.clock_drift;
        let per_million = |ns: f64| drift.map(|drift| ns / drift.over_ns.max(1) as f64 * 1e6);
        ClientRecord {
            clock_offset_ms: clock.map(|clock| clock.wall_offset_ns as f64 / 1e6),
            clock_error_ms: clock.map(|clock| clock.error_ns as f64 / 1e6),
            clock_offset_after_ms: drift.map(|drift| drift.last.wall_offset_ns as f64 / 1e6),
            clock_error_after_ms: drift.map(|drift| drift.last.error_ns as f64 / 1e6),
            clock_gained_ms: drift.map(|drift| drift.gained_ns as f64 / 1e6),
            clock_strayed_ms: drift.map(|drift| drift.strayed_ns as f64 / 1e6),
            clock_drift_ppm: drift.and_then(|drift| per_million(drift.gained_ns as f64)),
            clock_drift_error_ppm: drift.and_then(|drift| per_million(drift.gained_error_ns as f64)),
            began_ms: self.began().map(|began| began.first_ns as f64 / 1e6),
            all_began_ms: self.began().map(|began| began.last_ns as f64 / 1e6),
            ..health.client().with(name, self.facts)
        }
    }

    /// It made no load for some time.
    pub fn add_pause(&mut self, from_ns: u64, to_ns: u64, why: PauseReason) {
        if self.pauses.len() < MOST_PAUSES {
            self.pauses.push((from_ns, to_ns, why));
        }
    }

    /// When it made no load although it was to, since the common instant.
    pub fn pauses(&self, name: &str) -> Vec<PauseRecord> {
        let Some(launch) = &self.launch else { return Vec::new() };
        let seconds = |at_ns| Duration::from_nanos(launch.since_ns(at_ns)).as_secs_f64();
        let record = |&(from_ns, to_ns, why): &(u64, u64, PauseReason)| PauseRecord {
            driver: name.to_owned(),
            from_s: seconds(from_ns),
            to_s: seconds(to_ns),
            reason: match why {
                PauseReason::NotRenewed => "nobody renewed the lease of the run".to_owned(),
                PauseReason::StoodStill => "the driver stood still, and asked before it went on".to_owned(),
            },
        };
        self.pauses.iter().map(record).collect()
    }

    /// When it stood still, since the common instant.
    pub fn stood(&self, name: &str) -> Vec<PauseRecord> {
        let Some(launch) = &self.launch else { return Vec::new() };
        let seconds = |at_ns| Duration::from_nanos(launch.since_ns(at_ns)).as_secs_f64();
        let record = |&(from_ns, to_ns): &(u64, u64)| PauseRecord {
            driver: name.to_owned(),
            from_s: seconds(from_ns),
            to_s: seconds(to_ns),
            reason: "it stood still".to_owned(),
        };
        self.stood.iter().map(record).collect()
    }

    /// What a share of it said of its beginning.
    pub fn add_began(&mut self, of_share: Option<Began>) {
        let Some(own) = of_share else { return };
        let known = self.began.get_or_insert(own);
        *known =
            Began { first_ns: known.first_ns.min(own.first_ns), last_ns: known.last_ns.max(own.last_ns) };
    }

    /// When its first and its last worker really began, ns since the common instant.
    pub fn began(&self) -> Option<Began> {
        let (launch, began) = (self.launch.as_ref()?, self.began?);
        Some(Began { first_ns: launch.since_ns(began.first_ns), last_ns: launch.since_ns(began.last_ns) })
    }

    /// By how much its times may be off those of the controller, ns; 0 in one process.
    pub fn clock_error_ns(&self) -> u64 {
        self.clock().map_or(0, |clock| clock.error_ns)
    }

    fn clock(&self) -> Option<ClockFix> {
        self.launch.as_ref().and_then(|launch| launch.clock)
    }

    /// By how much its times may be off against those of others all through the stage, ns: what the first comparison and the last one
    /// left open, and how far its clock strayed between them; of one that was not asked again, how far a clock may stray.
    pub fn clock_bound_ns(&self) -> u64 {
        let Some(first) = self.clock() else { return 0 };
        let strayed_ns =
            self.clock_drift.map_or(STRAYS_NS, |drift| drift.strayed_ns.saturating_add(drift.last.error_ns));
        first.error_ns.saturating_add(strayed_ns)
    }

    /// Its clock is not the controller's.
    pub fn was_compared(&self) -> bool {
        self.clock().is_some()
    }

    /// What became of its clock in this stage.
    pub fn set_clock_drift(&mut self, drift: ClockDrift) {
        self.clock_drift = Some(drift);
    }

    /// From when on its part is missing, seconds since the common instant; `None` when nothing is.
    pub fn missing_from_s(&self) -> Option<f64> {
        self.is_cut.then(|| Duration::from_nanos(self.watermark_ns).as_secs_f64())
    }
}
