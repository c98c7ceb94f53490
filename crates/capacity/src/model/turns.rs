//! How what waits holds up operations that cost little beside those that cost much. A disk, a thread or a lock serves them in
//! turn: all wait alike, whatever they cost. Processors that all share hold each up by as much as it costs. Most stores are
//! something of both; which, the times of each kind say at loads with several kinds.
//!
//! Sources: F. Baskett, K. M. Chandy, R. R. Muntz and F. G. Palacios, Open, Closed, and Mixed Networks of Queues with Different
//! Classes of Customers (JACM 22, 1975); Lazowska et al. (1984), chapter 11, for stations that serve in turn what
//! costs differ.

use super::{Load, Model, Observed, Stations};
use crate::ladder::Unit;

/// So often the part is asked for again with the times elsewhere that follow from it.
pub(super) const ROUNDS: usize = 2;
/// Where nobody knows, it is taken to be in the middle.
const UNKNOWN: f64 = 0.5;
/// Kinds with a smaller share of a load say little of it.
const LEAST_SHARE: f64 = 0.05;
/// The squares of how far both ways lie apart, in shares of the measured times, have to sum up to this for the loads to show which
/// it is.
const LEAST_APART: f64 = 0.05;

impl Model {
    /// The part that is served in turn, as far as it is known.
    pub(crate) fn turn(&self) -> f64 {
        self.in_turn.unwrap_or(UNKNOWN)
    }

    /// How a load that was measured queues, and how many times its own service an operation spends at each station.
    pub(super) fn waiting(&self, units: &[Unit], load: &Load) -> Option<(Stations, Vec<f64>)> {
        let stations = Stations::of(self, units, &load.mix()).seen_at(self, units, load);
        let solved = if load.open {
            stations.solve_open(0.0, load.rate_per_s())
        } else {
            stations.solve_for(load.in_flight, load.service_s())
        };
        let slower = stations.slower(&solved?);
        Some((stations, slower))
    }

    /// The part that is served in turn by the times of each kind of operation; `None` where they would be much the same.
    pub(super) fn seen_in_turn(&self, observed: &Observed) -> Option<f64> {
        let (mut along, mut apart) = (0.0, 0.0);
        for load in observed.loads.iter().filter(|load| load.client_clear) {
            let mix = load.mix();
            let is_mixed = |class: usize| (LEAST_SHARE..=1.0 - LEAST_SHARE).contains(&mix[class].0);
            if !(0..mix.len()).any(is_mixed) {
                continue;
            }
            let Some((stations, slower)) = self.waiting(&observed.units, load) else { continue };
            for (class, seen) in load.classes.iter().enumerate() {
                if !is_mixed(class) || seen.service_s <= 0.0 {
                    continue;
                }
                let inside = |in_turn: f64| {
                    stations.response_s(self, class, seen.bytes_each, &slower, in_turn) / seen.service_s
                };
                let (by_cost, alike) = (inside(0.0), inside(1.0));
                let left = 1.0 - self.classes[class].delay.at(seen.bytes_each) / seen.service_s - by_cost;
                along += (alike - by_cost) * left;
                apart += (alike - by_cost).powi(2);
            }
        }
        (apart >= LEAST_APART).then(|| (along / apart).clamp(0.0, 1.0))
    }
}
