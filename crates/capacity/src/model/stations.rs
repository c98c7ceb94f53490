//! The units of a model as the places at which operations queue, in a closed or an open network. Sources: Lazowska et al.
//! (1984), chapters 6 and 7; for demands that change with the load A. Kattepur and M. Nambiar, Performance Modeling of
//! Multi-tiered Web Applications with Varying Service Demands (IEEE IPDPS Workshops, 2015).

use std::collections::BTreeMap;

use super::falling::busy_of;
use super::{Cost, Curve, Load, Mix, Model};
use crate::ladder::{Kind, Unit};
use crate::mva::{Solution, Station, closed, closed_in_turn, comes, open};

/// The places at which operations of one mix queue.
#[derive(Debug, Clone)]
pub(crate) struct Stations {
    /// Part of the model, and how much of its demand is served here.
    pub places: Vec<(usize, f64)>,
    demands_s: Vec<f64>,
    /// What parts would serve faster than one operation alone can use.
    pub extra_delay_s: f64,
    idle: Vec<f64>,
    curves: Vec<Option<Curve>>,
    /// How many times what they cost at the highest measured load operations cost at each place, and would if it was full.
    times: Vec<f64>,
    when_full: Vec<f64>,
    /// Share of the operations that wait at each place.
    visiting: Vec<f64>,
}

/// Workers of their own for each of some kinds of operation.
#[derive(Debug, Clone)]
pub(crate) struct Apart {
    pub loops: Vec<Loop>,
    /// Seconds between two operations of a worker.
    pub think_s: f64,
}

/// The workers of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    /// Its place in the classes of the model.
    pub class: usize,
    pub bytes: f64,
    pub workers: u32,
}

/// So often costs are asked for again.
const MOST_ROUNDS: usize = 60;
/// Costs that lie nearer than this share to those of the load that they lead to are these.
const SETTLED: f64 = 2e-5;
/// Costs go this part of the way at first, and half of it from where they led to a load whose costs lie on the other
/// side: those of a unit that is about to be full would swing without end.
const FIRST_WAY: f64 = 0.5;

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
        let mut ways: BTreeMap<(usize, &str), Vec<(f64, Kind)>> = BTreeMap::new();
        for one in placed.iter().filter(|one| is_cpu(unit(one))) {
            let machine = (one.2, unit(one).node.as_str());
            ways.entry(machine).or_default().push((demand(one), unit(one).kind));
        }
        let first_full = |mut ways: Vec<(f64, Kind)>| {
            // Machine sorts first: where two ways are about as full, the coarser one counts.
            ways.sort_by(|a, b| a.1.cmp(&b.1).then(b.0.total_cmp(&a.0)));
            ways.dedup_by_key(|way| way.1);
            let most = ways.iter().map(|way| way.0).fold(0.0, f64::max);
            ways.iter().find(|way| way.0 >= most * 0.95).map(|way| way.1)
        };
        let chosen: BTreeMap<(usize, &str), Option<Kind>> =
            ways.into_iter().map(|(machine, ways)| (machine, first_full(ways))).collect();
        let counts = |one: &(usize, f64, usize)| {
            let own = unit(one);
            !is_cpu(own) || chosen.get(&(one.2, own.node.as_str())) == Some(&Some(own.kind))
        };
        let counted: Vec<&(usize, f64, usize)> = placed.iter().filter(|one| counts(one)).collect();
        Self {
            places: counted.iter().map(|one| (one.0, one.1)).collect(),
            demands_s: counted.iter().map(|one| demand(one)).collect(),
            extra_delay_s,
            idle: counted.iter().map(|one| model.parts[one.0].idle).collect(),
            curves: counted.iter().map(|one| model.parts[one.0].curve).collect(),
            times: vec![1.0; counted.len()],
            when_full: vec![1.0; counted.len()],
            visiting: counted.iter().map(|one| visiting(model, one.0, mix)).collect(),
        }
    }

    /// With the costs of a load that was measured.
    pub(super) fn seen_at(mut self, model: &Model, units: &[Unit], load: &Load) -> Self {
        for ((curve, times), (part, _)) in self.curves.iter().zip(&mut self.times).zip(&self.places) {
            let unit = model.parts[*part].unit;
            let busy = load.usage.get(unit).and_then(|usage| busy_of(units.get(unit)?, usage));
            if let Some((curve, busy)) = curve.zip(busy) {
                *times = curve.times(busy, load.in_flight);
            }
        }
        self
    }

    /// With the costs of the load that they lead to: solved again until neither changes. Of several machines or units of one kind
    /// each has its part of the operations under way.
    pub(crate) fn settled(mut self, solve: impl Fn(&Self) -> Option<Solution>) -> Option<(Self, Solution)> {
        let mut solved = solve(&self)?;
        if self.curves.iter().all(Option::is_none) {
            return Some((self, solved));
        }
        let mut ways = vec![(FIRST_WAY, 0.0); self.curves.len()];
        let mut is_borne = true;
        for _ in 0..MOST_ROUNDS {
            let before = self.times.clone();
            let away = self.move_to(&solved, &mut ways);
            let next = solve(&self);
            is_borne = next.is_some();
            let Some(next) = next else {
                // Of arrivals by the clock: with these costs the queue would grow without end, and on the way there they fall.
                self.times = before;
                ways.iter_mut().for_each(|(way, _)| *way /= 2.0);
                continue;
            };
            solved = next;
            if away < SETTLED {
                break;
            }
        }
        is_borne.then_some((self, solved))
    }

    /// A part of the way to the costs of this load; gives the share that the farthest was away. `ways` has of each place
    /// which part it goes, and how far it was away last.
    fn move_to(&mut self, solved: &Solution, ways: &mut [(f64, f64)]) -> f64 {
        let first = |all: &[f64]| all.first().copied().unwrap_or(0.0);
        let in_flight = first(&solved.throughput_per_s) * first(&solved.response_s);
        let mut farthest = 0.0_f64;
        for (at, (curve, (way, last))) in self.curves.iter().zip(ways).enumerate() {
            let Some(curve) = curve else { continue };
            let here = in_flight * self.places[at].1;
            let busy = self.idle[at] + (1.0 - self.idle[at]) * solved.busy[at];
            let away = curve.times(busy.min(1.0), here) - self.times[at];
            if away * *last < 0.0 {
                *way /= 2.0;
            }
            *last = away;
            farthest = farthest.max((away / self.times[at]).abs());
            self.times[at] += *way * away;
            self.when_full[at] = curve.times(1.0, here);
        }
        farthest
    }

    /// Seconds of one operation at each place.
    fn costs_s(&self) -> impl Iterator<Item = f64> + '_ {
        self.demands_s.iter().zip(&self.times).map(|(demand, times)| demand * times)
    }

    /// The same where it is full.
    fn full_costs_s(&self) -> impl Iterator<Item = f64> + '_ {
        self.demands_s.iter().zip(&self.when_full).map(|(demand, times)| demand * times)
    }

    /// What is busy with other things anyway serves the slower.
    fn network(&self, delay_s: f64) -> Vec<Station> {
        let queue = |cost_s: f64| Station { demands_s: vec![cost_s], servers: 1 };
        let delay = Station { demands_s: vec![delay_s + self.extra_delay_s], servers: 0 };
        self.costs_s().map(queue).chain([delay]).collect()
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
            |(cost_s, queue): (f64, &f64)| if rate * cost_s > 0.0 { queue / (rate * cost_s) } else { 1.0 };
        self.costs_s().zip(&solved.queue).map(times).collect()
    }

    /// Seconds that one place serves an operation of one kind.
    fn own_s(&self, model: &Model, at: usize, class: usize, bytes: f64) -> f64 {
        let (part, share) = self.places[at];
        let cost = model.parts[part].costs.get(class).copied().unwrap_or_default();
        cost.at(bytes) * share * self.times[at] / (1.0 - self.idle[at]).max(1e-3)
    }

    /// A closed loop for each of these kinds: what each does, in their order, and what all of them do together.
    pub(crate) fn solve_apart(
        &self,
        model: &Model,
        apart: &Apart,
        in_turn: f64,
    ) -> Option<(Solution, Solution)> {
        let of_each = |of: &dyn Fn(&Loop) -> f64| apart.loops.iter().map(of).collect::<Vec<f64>>();
        let queue = |at: usize| {
            let demands_s = of_each(&|one| self.own_s(model, at, one.class, one.bytes));
            Station { demands_s, servers: 1 }
        };
        let elsewhere = of_each(&|one| model.classes[one.class].delay.at(one.bytes) + self.extra_delay_s);
        let delay = Station { demands_s: elsewhere, servers: 0 };
        let stations: Vec<Station> = (0..self.places.len()).map(queue).chain([delay]).collect();
        let population: Vec<u32> = apart.loops.iter().map(|one| one.workers).collect();
        let think_s = vec![apart.think_s; population.len()];
        let each = closed_in_turn(&stations, &population, &think_s, in_turn)?;
        let rate: f64 = each.throughput_per_s.iter().sum();
        let inside: f64 = each.throughput_per_s.iter().zip(&each.response_s).map(|(x, r)| x * r).sum();
        let all = Solution { throughput_per_s: vec![rate], response_s: vec![inside / rate], ..each.clone() };
        Some((each, all))
    }

    /// Seconds that an operation of one kind spends at the stations. For the part of it that is served in turn what waits holds all
    /// kinds up alike; else by as much as their own service takes, as processors do that all share.
    pub(crate) fn response_s(
        &self,
        model: &Model,
        class: usize,
        bytes: f64,
        slower: &[f64],
        in_turn: f64,
    ) -> f64 {
        let time = |((at, cost_s), slower): ((usize, f64), &f64)| {
            let own_s = self.own_s(model, at, class, bytes);
            let waiting = slower - 1.0;
            if cost_s <= 0.0 || self.visiting[at] <= 0.0 {
                return own_s * slower;
            }
            let alike_s = waiting * cost_s * comes(own_s / cost_s) / self.visiting[at];
            own_s + (1.0 - in_turn) * own_s * waiting + in_turn * alike_s
        };
        self.extra_delay_s + self.costs_s().enumerate().zip(slower).map(time).sum::<f64>()
    }

    /// The rate at which the first of them has no time left.
    pub(crate) fn ceiling_per_s(&self) -> f64 {
        1.0 / self.full_costs_s().fold(0.0, f64::max)
    }

    /// Places by their ceiling, the lowest first: which of [`Stations::places`], and the rate.
    pub(crate) fn by_ceiling(&self) -> Vec<(usize, f64)> {
        let mut all: Vec<(usize, f64)> =
            self.full_costs_s().enumerate().map(|(at, cost_s)| (at, 1.0 / cost_s)).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        all
    }
}

/// Share of the operations of a mix that come to a part.
fn visiting(model: &Model, part: usize, mix: &Mix) -> f64 {
    let part = &model.parts[part];
    let mean_s = part.demand_s(mix);
    let share = |(cost, (share, bytes)): (&Cost, &(f64, f64))| share * comes(cost.at(*bytes) / mean_s);
    if mean_s > 0.0 { part.costs.iter().zip(mix).map(share).sum() } else { 0.0 }
}

fn is_cpu(unit: &Unit) -> bool {
    matches!(unit.kind, Kind::Machine | Kind::Core | Kind::Thread | Kind::CpuQuota)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::law::Law;

    /// Laws, bends, and how busy a unit was with how many under way where its costs are known.
    fn curves() -> impl Iterator<Item = (Law, f64, (f64, f64))> {
        let laws = [
            (Law::Waking, [0.5, 1.0, 3.0]),
            (Law::Queue, [0.1, 0.2, 0.4]),
            (Law::Sharing, [0.1, 0.3, 0.5]),
            (Law::Meeting, [0.1, 0.3, 0.5]),
        ];
        let bent = |(law, bends): (Law, [f64; 3])| bends.map(|bend| (law, bend));
        let seen_at =
            |(law, bend): (Law, f64)| [(0.5, 4.0), (0.9, 16.0), (0.99, 48.0)].map(|seen| (law, bend, seen));
        laws.into_iter().flat_map(bent).flat_map(seen_at)
    }

    /// One unit, of which an operation takes a millisecond at the highest load.
    fn one(curve: Curve) -> Stations {
        Stations {
            places: vec![(0, 1.0)],
            demands_s: vec![1e-3],
            extra_delay_s: 0.0,
            idle: vec![0.0],
            curves: vec![Some(curve)],
            times: vec![1.0],
            when_full: vec![1.0],
            visiting: vec![1.0],
        }
    }

    /// How far its costs are from those of the load that they led to.
    fn away(curve: &Curve, found: &Stations, solved: &Solution) -> f64 {
        let in_flight = solved.throughput_per_s[0] * solved.response_s[0];
        (found.times[0] / curve.times(solved.busy[0].min(1.0), in_flight) - 1.0).abs()
    }

    #[test]
    fn costs_settle_also_where_a_unit_is_about_to_be_full() {
        let (mut count, mut wrong) = (0, Vec::new());
        for (law, bend, seen_at) in curves() {
            let curve = Curve::by(law, bend, seen_at);
            for workers in [1, 4, 16, 32, 64, 128] {
                for delay_s in [0.0, 1e-3, 8e-3, 16e-3, 30e-3, 60e-3, 0.1] {
                    let solve = |stations: &Stations| stations.solve_closed(delay_s, workers, 0.0);
                    let (found, solved) = one(curve).settled(solve).unwrap();
                    count += 1;
                    if away(&curve, &found, &solved) > 1e-3 {
                        wrong.push((law, bend, seen_at, workers, delay_s, found.times[0]));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} of {count}: {:?}", wrong.len(), wrong[0]);
    }

    #[test]
    fn a_rate_is_kept_up_with_at_the_costs_of_the_queue_that_it_makes() {
        for (law, bend, seen_at) in curves() {
            let curve = Curve::by(law, bend, seen_at);
            for share in [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99] {
                // Of what the unit does at its costs of the highest load.
                let solve = |stations: &Stations| stations.solve_open(2e-3, share * 1e3);
                let found = one(curve).settled(solve);
                let is_right = found.as_ref().is_some_and(|(own, solved)| away(&curve, own, solved) < 1e-3);
                assert!(is_right, "{law:?} {bend} {seen_at:?} {share}: {found:?}");
            }
            // Beyond that nothing says how far its costs go on falling.
            assert!(one(curve).settled(|stations| stations.solve_open(2e-3, 1010.0)).is_none());
        }
    }
}
