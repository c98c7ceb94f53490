//! Drivers on simulated time behind the trait by which a controller uses any driver: they take their orders, make the
//! simulated load together, and tell what they saw of it with the moments at which they saw it.

use std::sync::{Arc, Mutex, PoisonError};

use cosmark_metrics::{ClientFacts, Phase};
use cosmark_wire::{
    Began, ClockDrift, ClockFix, ContainersBefore, DriverEvent, DriverLink, EventSender, Launched,
    MissionReport, StageOrder, TriggerOrder, TriggerReport,
};
use tokio::sync::mpsc;

use crate::load::{self, ORIGIN_NS, Share, ns};
use crate::machine::{DriverPlant, Machine};
use crate::store::Store;

/// What all drivers of a run have in common.
pub struct Bed {
    pub store: Store,
    pub plants: Vec<DriverPlant>,
    pub seed: u64,
    orders: Vec<Option<StageOrder>>,
    told: Vec<Vec<(f64, DriverEvent)>>,
    /// Time since the first stage that measures began: the script of the store begins with it.
    since_s: Option<f64>,
    /// The controller has to look beside while there is load.
    pub looks_beside: bool,
}

impl Bed {
    pub fn new(store: Store, plants: Vec<DriverPlant>, seed: u64) -> Arc<Mutex<Self>> {
        let drivers = plants.len();
        let orders = vec![None; drivers];
        Arc::new(Mutex::new(Self {
            store,
            plants,
            seed,
            orders,
            told: Vec::new(),
            since_s: None,
            looks_beside: false,
        }))
    }

    /// Makes the load of the stage that all have orders for.
    fn run(&mut self, origin_unix_ns: i64) {
        let orders: Vec<StageOrder> = self.orders.iter_mut().filter_map(Option::take).collect();
        let stage = Arc::clone(&orders[0].stage);
        let measures = stage.works.iter().any(|work| work.kind == cosmark_workload::model::WorkKind::Normal);
        if measures {
            self.since_s.get_or_insert(0.0);
        }
        self.store.begin(-self.since_s.unwrap_or(0.0));
        let length = stage.works.iter().map(|work| work.rampup + work.runtime + work.rampdown).max();
        let length_s = length.unwrap_or_default().as_secs_f64() + 40.0;
        // What is planted happens while something is measured.
        let plant = |plant: &DriverPlant| if measures { plant.clone() } else { DriverPlant::default() };
        let seed = self.seed ^ u64::from(orders[0].step) << 40;
        let mut machines: Vec<Machine> = (0..)
            .zip(&self.plants)
            .map(|(number, own)| Machine::new(plant(own), seed ^ number << 50, length_s))
            .collect();
        let shares = load::run(&orders, &mut self.store, &mut machines, seed);
        let ended_s = shares.iter().map(|share| share.ended_s).fold(0.0, f64::max);
        self.since_s = self.since_s.map(|since_s| since_s + ended_s);
        let mut of_drivers: Vec<Vec<Share>> = machines.iter().map(|_| Vec::new()).collect();
        shares.into_iter().for_each(|share| of_drivers[share.driver].push(share));
        let is_compared = machines.len() > 1;
        let drivers = of_drivers.into_iter().zip(&mut machines);
        self.told = drivers.map(|(own, machine)| tell(own, machine, is_compared, origin_unix_ns)).collect();
    }
}

/// Everything that a driver says of a stage, in its order.
fn tell(
    mut shares: Vec<Share>,
    machine: &mut Machine,
    is_compared: bool,
    origin_unix_ns: i64,
) -> Vec<(f64, DriverEvent)> {
    let plant = machine.plant.clone();
    let clock = is_compared.then_some(ClockFix {
        wall_offset_ns: (plant.clock_ahead_ms * 1e6) as i64,
        error_ns: (plant.clock_error_ms * 1e6) as u64,
    });
    let launched = Launched {
        start_ns: ORIGIN_NS,
        origin_ns: ORIGIN_NS,
        origin_unix_ns,
        clock,
        plans: shares.iter().map(|share| (share.work, share.plan)).collect(),
        endpoints: Vec::new(),
        containers: ContainersBefore::default(),
    };
    let facts = ClientFacts {
        load_threads: 1,
        clock_resolution_ns: Some(20),
        clock_cost_ns: Some(25.0),
        ephemeral_ports: Some(28_000),
        nofile_limit: Some(65_536),
        ..ClientFacts::default()
    };
    let ended_s = shares.iter().map(|share| share.ended_s).fold(0.0, f64::max);
    let until_s = plant.lost_at_s.unwrap_or(ended_s);
    let mut told = Vec::new();
    for sample in machine.health(ORIGIN_NS, until_s) {
        told.push(((sample.at_ns - ORIGIN_NS) as f64 / 1e9, DriverEvent::Health(sample)));
    }
    for snapshot in shares.iter_mut().flat_map(|share| std::mem::take(&mut share.snapshots)) {
        let is_nothing = snapshot.phase == Phase::Drain && snapshot.is_empty();
        if snapshot.end_ns <= ns(until_s) + 1 && !is_nothing {
            told.push(((snapshot.end_ns - ORIGIN_NS) as f64 / 1e9, DriverEvent::Snapshot(snapshot)));
        }
    }
    for second in 1..=until_s as u64 {
        let up_to_ns = ORIGIN_NS + second * 1_000_000_000;
        told.push((second as f64 + 0.001, DriverEvent::Told { up_to_ns }));
    }
    told.sort_by(|a, b| a.0.total_cmp(&b.0));
    told.insert(0, (0.0, DriverEvent::Launched(launched)));
    told.insert(1, (0.0, DriverEvent::Facts(facts)));
    told.push(match plant.lost_at_s {
        Some(lost_s) => (lost_s + 20.0, DriverEvent::Lost { silent_ms: 20_000, late: None }),
        None => {
            (ended_s, DriverEvent::Ended { missions: shares.iter().map(report).collect(), gave_up: None })
        }
    });
    told
}

fn report(share: &Share) -> MissionReport {
    MissionReport {
        work: share.work,
        workers: share.workers,
        window_s: share.window_s,
        endpoints: Vec::new(),
        examples: Vec::new(),
        began: Some(Began { first_ns: ns(share.began_s.0), last_ns: ns(share.began_s.1) }),
    }
}

/// The way to one of them.
pub struct SimulatedDriver {
    name: String,
    number: usize,
    bed: Arc<Mutex<Bed>>,
    events: Option<EventSender>,
}

impl SimulatedDriver {
    pub fn new(number: usize, bed: Arc<Mutex<Bed>>) -> Self {
        Self { name: format!("d{}", number + 1), number, bed, events: None }
    }

    fn bed(&self) -> std::sync::MutexGuard<'_, Bed> {
        self.bed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DriverLink for SimulatedDriver {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&mut self, order: StageOrder, events: EventSender) {
        self.bed().orders[self.number] = Some(order);
        events.try_send(DriverEvent::Authed);
        self.events = Some(events);
    }

    fn probe(&mut self, _step: u32) {
        if let Some(events) = &self.events {
            events.try_send(DriverEvent::Probed);
        }
    }

    fn compare_again(&mut self, _step: u32) -> Option<mpsc::Receiver<ClockDrift>> {
        const OVER_NS: f64 = 65e9;
        let plant = self.bed().plants[self.number].clone();
        let gained_ns = plant.clock_fast_ppm * 1e-6 * OVER_NS;
        let error_ns = (plant.clock_error_ms * 1e6) as u64;
        let last = ClockFix { wall_offset_ns: (plant.clock_ahead_ms * 1e6 + gained_ns) as i64, error_ns };
        let (sender, receiver) = mpsc::channel(1);
        let drift = ClockDrift {
            last,
            over_ns: OVER_NS as u64,
            gained_ns: gained_ns as i64,
            gained_error_ns: 2 * error_ns,
            strayed_ns: gained_ns.abs() as u64,
        };
        sender.try_send(drift).ok()?;
        Some(receiver)
    }

    fn go(&mut self, _step: u32, at_unix_ns: Option<i64>) {
        let origin_unix_ns = at_unix_ns.unwrap_or(1_767_600_000_000_000_000);
        let Some(events) = self.events.clone() else { return };
        let mut bed = self.bed();
        // The first that is told to go makes the load of all.
        if bed.orders.iter().any(Option::is_some) {
            bed.run(origin_unix_ns);
        }
        let told = std::mem::take(&mut bed.told[self.number]);
        let is_watched = bed.looks_beside;
        tokio::spawn(async move {
            for (at_s, event) in told {
                if is_watched && matches!(event, DriverEvent::Facts(_)) {
                    // The controller looks once a second, by its own clock, whether another run is beside it.
                    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
                }
                let past = origin_unix_ns + (at_s * 1e9) as i64;
                if events.send(Some(past), event).await.is_err() {
                    return;
                }
            }
        });
    }

    fn finish(&self, _step: u32) {}

    fn abort(&self, _step: u32) {}

    fn trigger(&mut self, _step: u32, _order: TriggerOrder) -> mpsc::Receiver<TriggerReport> {
        mpsc::channel(1).1
    }
}
