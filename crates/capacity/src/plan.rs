//! What a store would do with more machines, another mix or other loads: the measured demands in a closed or an open network.
//! Validated by leaving out the upper third of a ladder and predicting it.

use std::collections::BTreeMap;

use crate::demand::{Demand, of_unit};
use crate::ladder::{Kind, Ladder};
use crate::mva::{Solution, Station, bounds, closed};

/// A store as queueing theory sees it, one class of operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What each unit costs, with its role.
    pub stations: Vec<ModelStation>,
    /// Seconds of an operation in which it waits for nothing that was sampled: what is left of the service time at the
    /// lowest load.
    pub delay_s: f64,
}

/// One unit of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelStation {
    /// The unit's place in the ladder.
    pub unit: usize,
    /// What the machine does.
    pub role: String,
    /// What an operation costs it.
    pub demand: Demand,
}

/// A rate or a time with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Best value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What a store is predicted to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Operations per second.
    pub throughput_per_s: Range,
    /// Mean service time, seconds.
    pub service_s: Range,
    /// The station that is busiest then, by its place in the model, and how busy.
    pub busiest: Option<(usize, f64)>,
}

/// Why nothing can be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cannot {
    /// No unit was measured at two loads.
    NothingMeasured,
    /// What an operation costs this unit of the ladder changes with the load by more than 5 % of the unit.
    DemandChanges(usize),
    /// There is no such role.
    NoSuchRole,
}

/// A unit that is less busy than this at the highest load may cost what it likes.
const MATTERS: f64 = 0.1;

impl Model {
    /// The model of a ladder, by all its steps. Processors of one machine that are sampled one by one and together are
    /// counted once: together.
    ///
    /// # Errors
    /// Where the demands are not known or not constant.
    pub fn of(ladder: &Ladder) -> Result<Self, Cannot> {
        let steps = ladder.sorted();
        let lowest = steps.first().ok_or(Cannot::NothingMeasured)?;
        let highest = steps.iter().map(|step| step.throughput_per_s).fold(0.0, f64::max);
        let counted = |unit: &usize| match ladder.units[*unit].kind {
            Kind::Core | Kind::Thread => {
                let node = &ladder.units[*unit].node;
                !ladder.units.iter().any(|other| other.node == *node && other.kind == Kind::Machine)
            }
            _ => true,
        };
        let mut stations = Vec::new();
        for unit in (0..ladder.units.len()).filter(counted) {
            let Some(demand) = of_unit(ladder, unit, f64::INFINITY) else { continue };
            if !demand.constant && demand.seconds * highest > MATTERS {
                return Err(Cannot::DemandChanges(unit));
            }
            if demand.seconds > 0.0 {
                stations.push(ModelStation { unit, role: ladder.units[unit].role.clone(), demand });
            }
        }
        if stations.is_empty() {
            return Err(Cannot::NothingMeasured);
        }
        let mut model = Self { stations, delay_s: 0.0 };
        model.delay_s = model.delay_that_gives(lowest.in_flight, lowest.service_s);
        Ok(model)
    }

    /// The delay with which the model's service time at this load is the measured one; 0 where it is longer already.
    fn delay_that_gives(&self, in_flight: f64, service_s: f64) -> f64 {
        let (mut low, mut high) = (0.0, service_s);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            let with = Self { delay_s: middle, ..self.clone() };
            match with.solve(whole(in_flight), 0.0, &|demand| demand.seconds) {
                Some(solution) if solution.response_s[0] < service_s => low = middle,
                Some(_) => high = middle,
                None => return 0.0,
            }
        }
        low
    }

    /// The same store with `factors` times as many machines of each role: each does that much less of an operation.
    ///
    /// # Errors
    /// For a role that the model does not have.
    pub fn scaled(&self, factors: &BTreeMap<String, f64>) -> Result<Self, Cannot> {
        if factors.keys().any(|role| self.stations.iter().all(|station| station.role != *role)) {
            return Err(Cannot::NoSuchRole);
        }
        let mut scaled = self.clone();
        for station in &mut scaled.stations {
            let factor = factors.get(&station.role).copied().unwrap_or(1.0);
            for seconds in [&mut station.demand.seconds, &mut station.demand.low, &mut station.demand.high] {
                *seconds /= factor;
            }
            // The new machines serve the rest of the operation as long as the old ones did: nobody is faster alone.
            scaled.delay_s += station.demand.seconds * (factor - 1.0).max(0.0);
        }
        Ok(scaled)
    }

    /// `workers` in a closed loop, each with `think_s` seconds between operations.
    #[must_use]
    pub fn predict(&self, workers: u32, think_s: f64) -> Option<Prediction> {
        let best = self.solve(workers, think_s, &|demand| demand.seconds)?;
        let cheap = self.solve(workers, think_s, &|demand| demand.low)?;
        let dear = self.solve(workers, think_s, &|demand| demand.high)?;
        let range = |of: &dyn Fn(&Solution) -> f64| {
            let all = [of(&best), of(&cheap), of(&dear)];
            Range {
                value: all[0],
                low: all.iter().copied().fold(f64::INFINITY, f64::min),
                high: all.iter().copied().fold(0.0, f64::max),
            }
        };
        let busiest = best.busy.iter().take(self.stations.len()).copied().enumerate();
        let busiest = busiest.max_by(|a, b| a.1.total_cmp(&b.1));
        Some(Prediction {
            throughput_per_s: range(&|solution| solution.throughput_per_s[0]),
            service_s: range(&|solution| solution.response_s[0]),
            busiest,
        })
    }

    /// The most that the store can do, operations per second.
    #[must_use]
    pub fn ceiling_per_s(&self) -> f64 {
        let demands: Vec<f64> =
            self.stations.iter().map(|station| inflated(&station.demand, station.demand.seconds)).collect();
        bounds(&demands, f64::INFINITY, 0.0).0
    }

    fn solve(&self, workers: u32, think_s: f64, pick: &dyn Fn(&Demand) -> f64) -> Option<Solution> {
        let mut stations: Vec<Station> = self
            .stations
            .iter()
            .map(|station| Station {
                demands_s: vec![inflated(&station.demand, pick(&station.demand))],
                servers: 1,
            })
            .collect();
        stations.push(Station { demands_s: vec![self.delay_s], servers: 0 });
        closed(&stations, &[workers], &[think_s])
    }
}

/// What is busy with other things anyway serves the slower.
fn inflated(demand: &Demand, seconds: f64) -> f64 {
    seconds / (1.0 - demand.idle).max(1e-3)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "kept within what fits")]
fn whole(in_flight: f64) -> u32 {
    in_flight.round().clamp(1.0, 1e9) as u32
}
