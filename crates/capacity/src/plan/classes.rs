//! Each kind of operation by itself. Workers that draw what they do next, each kind by its share, are one chain whose operations
//! change their kind: its throughput is that of an operation of the mean cost, of which each kind has its share, and only the
//! times differ. Source: F. Baskett, K. M. Chandy, R. R. Muntz and F. G. Palacios, Open, Closed, and Mixed Networks of Queues
//! with Different Classes of Customers (JACM 22, 1975).

use super::{Planner, Range};
use crate::model::{Mix, Model, Observed, Stations};
use crate::mva::Solution;
use crate::number::real;

/// Mean service time of one kind of operation: which, of how many bytes, and for which part of it what waits is served in turn.
pub(super) fn service_s(
    model: &Model,
    stations: &Stations,
    solved: &Solution,
    (class, bytes, in_turn): (usize, f64, f64),
) -> f64 {
    let inside = stations.response_s(model, class, bytes, &stations.slower(solved), in_turn);
    model.classes[class].delay.at(bytes) + inside
}

/// Operations per second of each kind that the mix has.
pub(super) fn rates_per_s(mix: &Mix, all: Range) -> Vec<Range> {
    let of = |share: f64| Range { value: all.value * share, low: all.low * share, high: all.high * share };
    mix.iter().filter(|one| one.0 > 0.0).map(|one| of(one.0)).collect()
}

impl Planner {
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
    pub(super) fn wider(&self, range: Range, class: usize) -> Range {
        let Range { value, low, high } = range;
        let away = value * 1.96 * self.class_misfits.get(class).copied().unwrap_or(0.0);
        Range {
            value,
            low: (value - (value - low).hypot(away)).max(0.0),
            high: value + (high - value).hypot(away),
        }
    }

    /// What no load has shown may be either: all of what waits is served in turn, or nothing.
    pub(super) fn may_be_in_turn(&self) -> impl Iterator<Item = f64> {
        let ends: &'static [f64] = if self.model.in_turn.is_none() { &[0.0, 1.0] } else { &[] };
        ends.iter().copied()
    }
}
