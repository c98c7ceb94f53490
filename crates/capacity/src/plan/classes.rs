//! Each kind of operation by itself. Workers that draw what they do next, each kind by its share, are one chain whose operations
//! change their kind: its throughput is that of an operation of the mean cost, of which each kind has its share, and only the
//! times differ. Workers that do one kind only are a chain for each, and their mix is what they come to.
//!
//! Sources: F. Baskett, K. M. Chandy, R. R. Muntz and F. G. Palacios, Open, Closed, and Mixed Networks of Queues with Different
//! Classes of Customers (JACM 22, 1975); M. Reiser and S. S. Lavenberg (JACM 27, 1980) for several chains.

use std::collections::BTreeMap;

use super::{Demanded, Planner, Range, Wanted, mix_text};
use crate::model::{Apart, Cannot, Loop, Mix, Model, Observed, Stations};
use crate::mva::Solution;
use crate::number::real;

/// So often workers of their own are asked what their mix is.
const MOST_ROUNDS: usize = 20;
/// Shares that move by less are those of the mix.
const SETTLED: f64 = 1e-3;

/// Mean service time of one kind of operation: which, of how many bytes, and for which part of it what waits is served in turn.
fn service_s(
    model: &Model,
    stations: &Stations,
    solved: &Solution,
    (class, bytes, in_turn): (usize, f64, f64),
) -> f64 {
    let inside = stations.response_s(model, class, bytes, &stations.slower(solved), in_turn);
    model.classes[class].delay.at(bytes) + inside
}

/// The interval of a figure of the store, by its model and what it does at a load, and what it is where it cannot keep up.
type Ranged<'a> = dyn Fn(&dyn Fn(&Model, &Stations, &Solution) -> f64, f64) -> Range + 'a;

/// The kinds of a load that is asked for, and what the best model says of it.
pub(super) struct Kinds<'a> {
    pub planner: &'a Planner,
    pub mix: &'a Mix,
    pub wanted: &'a Wanted,
    pub solved: (&'a Stations, &'a Solution),
}

impl Kinds<'_> {
    /// Those that there are.
    fn named(&self) -> impl Iterator<Item = usize> {
        (0..self.mix.len()).filter(move |class| self.mix[*class].0 > 0.0)
    }

    /// Rate and time of one kind.
    fn each(
        &self,
        model: &Model,
        stations: &Stations,
        solved: &Solution,
        class: usize,
        in_turn: f64,
    ) -> (f64, f64) {
        let Some(apart) = self.planner.apart(self.mix, self.wanted) else {
            let time = service_s(model, stations, solved, (class, self.mix[class].1, in_turn));
            return (solved.throughput_per_s[0] * self.mix[class].0, time);
        };
        let place = apart.loops.iter().position(|one| one.class == class);
        let found = place.zip(stations.solve_apart(model, &apart, in_turn));
        found.map_or((0.0, f64::INFINITY), |(at, (each, _))| (each.throughput_per_s[at], each.response_s[at]))
    }

    /// What no load has shown may be either: all of what waits is served in turn, or nothing.
    fn reaching(&self, range: Range, of: impl Fn(f64) -> f64) -> Range {
        let ends: &[f64] = if self.planner.model.in_turn.is_none() { &[0.0, 1.0] } else { &[] };
        ends.iter().fold(range, |range, in_turn| range.reaching(of(*in_turn)))
    }

    /// Throughput (0) or time (1) of all, which depends on how what waits is served only where workers do one kind.
    pub fn all(&self, range: Range, of: fn((f64, f64)) -> f64) -> Range {
        let Some(apart) = self.planner.apart(self.mix, self.wanted) else { return range };
        let (stations, _) = self.solved;
        self.reaching(range, |in_turn| {
            let all = stations.solve_apart(&self.planner.model, &apart, in_turn).map(|(_, all)| all);
            all.map_or(range.value, |all| of((all.throughput_per_s[0], all.response_s[0])))
        })
    }

    /// Operations of each kind per second.
    pub fn rates_per_s(&self, all: Range, ranged: &Ranged<'_>) -> Vec<Range> {
        let of = |class: usize| {
            if self.planner.apart(self.mix, self.wanted).is_none() {
                let share = self.mix[class].0;
                return Range { value: all.value * share, low: all.low * share, high: all.high * share };
            }
            let (best, (stations, solved)) = (&self.planner.model, self.solved);
            let rate = |model: &Model, stations: &Stations, solved: &Solution| {
                self.each(model, stations, solved, class, best.turn()).0
            };
            self.reaching(ranged(&rate, 0.0), |in_turn| self.each(best, stations, solved, class, in_turn).0)
        };
        self.named().map(of).collect()
    }

    /// Mean service time of each kind.
    pub fn times_s(&self, ranged: &Ranged<'_>) -> Vec<(String, Range)> {
        let of = |class: usize| {
            let (best, (stations, solved)) = (&self.planner.model, self.solved);
            let time = |model: &Model, stations: &Stations, solved: &Solution| {
                self.each(model, stations, solved, class, best.turn()).1
            };
            let range = self.planner.wider(ranged(&time, f64::INFINITY), class);
            let range = self.reaching(range, |in_turn| self.each(best, stations, solved, class, in_turn).1);
            (best.classes[class].name.clone(), range)
        };
        self.named().map(of).collect()
    }
}

impl Planner {
    /// The workers of each kind, where they have kinds of their own.
    pub(super) fn apart(&self, mix: &Mix, wanted: &Wanted) -> Option<Apart> {
        let Demanded::Apart(workers, think_s) = &wanted.load else { return None };
        let classes = self.model.classes.iter().enumerate();
        let loops = classes.filter_map(|(class, one)| {
            let workers = *workers.get(&one.name)?;
            (workers > 0).then_some(Loop { class, bytes: mix[class].1, workers })
        });
        Some(Apart { loops: loops.collect(), think_s: *think_s })
    }

    /// The shares of the workers, with which the search for their mix begins.
    pub(super) fn shares_of(&self, workers: &BTreeMap<String, u32>) -> Result<BTreeMap<String, f64>, Cannot> {
        if !self.by_class && self.measured_mix.len() > 1 {
            return Err(Cannot::OneMix(mix_text(&self.measured_mix)));
        }
        if workers.values().all(|many| *many == 0) {
            let known: Vec<&str> = self.measured_mix.keys().map(String::as_str).collect();
            return Err(Cannot::NotMeasured("a load of no workers".to_owned(), known.join(", ")));
        }
        Ok(workers.iter().map(|(kind, many)| (kind.clone(), f64::from(*many))).collect())
    }

    /// The mix that workers with kinds of their own come to; any other as it is.
    pub(super) fn settled_mix(&self, mut mix: Mix, wanted: &Wanted) -> Result<Mix, Cannot> {
        for _ in 0..MOST_ROUNDS {
            let Some(apart) = self.apart(&mix, wanted) else { return Ok(mix) };
            let Some((stations, _)) = self.solve(&self.model, &mix, wanted)? else { return Ok(mix) };
            let Some((each, all)) = stations.solve_apart(&self.model, &apart, self.model.turn()) else {
                return Ok(mix);
            };
            let mut moved = 0.0_f64;
            for (one, rate) in apart.loops.iter().zip(&each.throughput_per_s) {
                let share = rate / all.throughput_per_s[0];
                moved = moved.max((share - mix[one.class].0).abs());
                mix[one.class].0 = share;
            }
            if moved < SETTLED {
                break;
            }
        }
        Ok(mix)
    }

    /// How far the model lies from the service times of each kind that it was made from, beyond how far it lies from all.
    pub(super) fn farther(&self, used: &Observed) -> Vec<f64> {
        let mut squares: Vec<Vec<f64>> = vec![Vec::new(); used.classes.len()];
        for load in used.loads.iter().filter(|load| load.client_clear) {
            let Some((stations, solved)) = self.settle_measured(&self.model, load) else { continue };
            for (class, seen) in load.classes.iter().enumerate() {
                if seen.rate_per_s > 0.0 && seen.service_s > 0.0 {
                    let of = (class, seen.bytes_each, self.model.turn());
                    let said = service_s(&self.model, &stations, &solved, of);
                    squares[class].push((said / seen.service_s - 1.0).powi(2));
                }
            }
        }
        let beyond = |own: &Vec<f64>| {
            let mean = own.iter().sum::<f64>() / real(own.len().max(1));
            (mean - self.misfit.powi(2)).max(0.0).sqrt()
        };
        squares.iter().map(beyond).collect()
    }

    /// The time of one kind of operation with that distance.
    fn wider(&self, range: Range, class: usize) -> Range {
        let Range { value, low, high } = range;
        let away = value * 1.96 * self.class_misfits.get(class).copied().unwrap_or(0.0);
        Range {
            value,
            low: (value - (value - low).hypot(away)).max(0.0),
            high: value + (high - value).hypot(away),
        }
    }
}
