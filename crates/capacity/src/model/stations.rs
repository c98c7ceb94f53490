//! The units of a model as the places at which operations queue, in a closed or an open network. Sources: Lazowska et al.
//! (1984), chapters 6 and 7.

use super::{Mix, Model};
use crate::ladder::{Kind, Unit};
use crate::mva::{Solution, Station, closed, open};

/// The places at which operations of one mix queue.
#[derive(Debug, Clone)]
pub(crate) struct Stations {
    /// Part of the model, and how much of its demand is served here.
    pub places: Vec<(usize, f64)>,
    demands_s: Vec<f64>,
    /// What parts would serve faster than one operation alone can use.
    pub extra_delay_s: f64,
    idle: Vec<f64>,
}

impl Stations {
    /// The store as it was measured.
    pub(crate) fn of(model: &Model, units: &[Unit], mix: &Mix) -> Self {
        let all: Vec<(usize, f64, usize)> = (0..model.parts.len()).map(|part| (part, 1.0, 0)).collect();
        Self::at(model, units, mix, &all, 0.0)
    }

    /// Parts, the share of each part's demand, and which copy of its machine each belongs to. Of what stands for processor
    /// time of one machine in several ways (all processors, each, threads, quotas) the way that is full first counts: the
    /// others are the same seconds again.
    pub(crate) fn at(
        model: &Model,
        units: &[Unit],
        mix: &Mix,
        placed: &[(usize, f64, usize)],
        extra_delay_s: f64,
    ) -> Self {
        let demand = |(part, share, _): &(usize, f64, usize)| {
            let part = &model.parts[*part];
            part.demand_s(mix) * share / (1.0 - part.idle).max(1e-3)
        };
        let unit = |one: &(usize, f64, usize)| &units[model.parts[one.0].unit];
        let counts = |one: &(usize, f64, usize)| {
            let own = unit(one);
            if !is_cpu(own) {
                return true;
            }
            let beside = placed
                .iter()
                .filter(|other| other.2 == one.2 && unit(other).node == own.node && is_cpu(unit(other)));
            let mut ways: Vec<(f64, Kind)> = beside.map(|one| (demand(one), unit(one).kind)).collect();
            // Machine sorts first: where two ways are about as full, the coarser one counts.
            ways.sort_by(|a, b| a.1.cmp(&b.1).then(b.0.total_cmp(&a.0)));
            ways.dedup_by_key(|way| way.1);
            let most = ways.iter().map(|way| way.0).fold(0.0, f64::max);
            ways.iter().find(|way| way.0 >= most * 0.95).is_some_and(|way| way.1 == own.kind)
        };
        let counted: Vec<&(usize, f64, usize)> = placed.iter().filter(|one| counts(one)).collect();
        Self {
            places: counted.iter().map(|one| (one.0, one.1)).collect(),
            demands_s: counted.iter().map(|one| demand(one)).collect(),
            extra_delay_s,
            idle: counted.iter().map(|one| model.parts[one.0].idle).collect(),
        }
    }

    /// What is busy with other things anyway serves the slower.
    fn network(&self, delay_s: f64) -> Vec<Station> {
        let queue = |demand: &f64| Station { demands_s: vec![*demand], servers: 1 };
        let delay = Station { demands_s: vec![delay_s + self.extra_delay_s], servers: 0 };
        self.demands_s.iter().map(queue).chain([delay]).collect()
    }

    /// A closed loop of this many.
    pub(crate) fn solve_closed(&self, delay_s: f64, workers: u32, think_s: f64) -> Option<Solution> {
        closed(&self.network(delay_s), &[workers], &[think_s])
    }

    /// The same for a mean number in flight, which need not be whole. Of less than one each operation is alone while it lasts:
    /// it takes as long as one alone, and there are so many fewer of them.
    pub(crate) fn solve_in_flight(&self, delay_s: f64, in_flight: f64) -> Option<Solution> {
        if in_flight < 1.0 {
            let mut alone = self.solve_closed(delay_s, 1, 0.0)?;
            let all = [&mut alone.throughput_per_s, &mut alone.busy, &mut alone.queue];
            all.into_iter().flatten().for_each(|figure| *figure *= in_flight);
            return Some(alone);
        }
        let below = in_flight.floor().clamp(1.0, 1e6);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "kept within what fits")]
        let (low, part) = (below as u32, (in_flight - below).clamp(0.0, 1.0));
        let mut solved = self.solve_closed(delay_s, low, 0.0)?;
        if part > 0.01 {
            let above = self.solve_closed(delay_s, low + 1, 0.0)?;
            let between = |a: &mut Vec<f64>, b: &[f64]| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += (b - *a) * part);
            };
            between(&mut solved.throughput_per_s, &above.throughput_per_s);
            between(&mut solved.response_s, &above.response_s);
            between(&mut solved.busy, &above.busy);
            between(&mut solved.queue, &above.queue);
        }
        Some(solved)
    }

    /// With the delay that gives this service time at this number in flight; none where the stations alone take longer.
    pub(super) fn solve_for(&self, in_flight: f64, service_s: f64) -> Option<Solution> {
        let (mut low, mut high) = (0.0, service_s);
        for _ in 0..20 {
            let middle = f64::midpoint(low, high);
            match self.solve_in_flight(middle, in_flight)?.response_s.first() {
                Some(response) if *response < service_s => low = middle,
                _ => high = middle,
            }
        }
        self.solve_in_flight(low, in_flight)
    }

    /// Arrivals by the clock.
    pub(crate) fn solve_open(&self, delay_s: f64, rate_per_s: f64) -> Option<Solution> {
        open(&self.network(delay_s), &[rate_per_s])
    }

    /// How many times its own service an operation spends at each station.
    pub(crate) fn slower(&self, solved: &Solution) -> Vec<f64> {
        let rate = solved.throughput_per_s.first().copied().unwrap_or(0.0);
        let times =
            |(demand, queue): (&f64, &f64)| if rate * demand > 0.0 { queue / (rate * demand) } else { 1.0 };
        self.demands_s.iter().zip(&solved.queue).map(times).collect()
    }

    /// Seconds that an operation of one kind spends at the stations.
    pub(crate) fn response_s(&self, model: &Model, class: usize, bytes: f64, slower: &[f64]) -> f64 {
        let places = self.places.iter().zip(&self.idle).zip(slower);
        let time = |(((part, share), idle), slower): ((&(usize, f64), &f64), &f64)| {
            let cost = model.parts[*part].costs.get(class).copied().unwrap_or_default();
            cost.at(bytes) * share / (1.0 - idle).max(1e-3) * slower
        };
        self.extra_delay_s + places.map(time).sum::<f64>()
    }

    /// The rate at which the first of them has no time left.
    pub(crate) fn ceiling_per_s(&self) -> f64 {
        1.0 / self.demands_s.iter().copied().fold(0.0, f64::max)
    }

    /// Places by their ceiling, the lowest first: which of [`Stations::places`], and the rate.
    pub(crate) fn by_ceiling(&self) -> Vec<(usize, f64)> {
        let mut all: Vec<(usize, f64)> =
            self.demands_s.iter().enumerate().map(|(at, demand)| (at, 1.0 / demand)).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        all
    }
}

fn is_cpu(unit: &Unit) -> bool {
    matches!(unit.kind, Kind::Machine | Kind::Core | Kind::Thread | Kind::CpuQuota)
}
