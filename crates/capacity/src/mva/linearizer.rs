//! Closed networks of more states than can be counted. An operation that comes to a station finds there what the network without
//! it has; how the shares of each class change when one operation of another is away is read from the networks that lack it.
//! Source: K. M. Chandy and D. Neuse, Linearizer: A Heuristic Algorithm for Queueing Network Models of Computing Systems
//! (Communications of the ACM 25, 1982).

use super::Alike;

/// Operations by class and station.
type Queues = Vec<Vec<f64>>;

/// Changes are read so often but once; more often they hardly change.
const ROUNDS: usize = 3;
/// Two stations that are as busy settle slowly; those that are left are near by then.
const MOST_STEPS: usize = 3_000;
/// As a part of its class.
const SETTLED: f64 = 1e-9;

struct Network<'a> {
    alike: &'a Alike,
    think_s: &'a [f64],
}

/// Throughput of each class and the queue at each station.
pub(super) fn linearized(alike: &Alike, population: &[u32], think_s: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let network = Network { alike, think_s };
    let stations = alike.demands_s.len();
    let without = |one: usize| {
        let many = |(class, many): (usize, &u32)| many.saturating_sub(u32::from(class == one));
        population.iter().enumerate().map(many).collect::<Vec<u32>>()
    };
    let fewer: Vec<Vec<u32>> = (0..population.len()).map(without).collect();
    let mut changes = vec![vec![vec![0.0; stations]; population.len()]; population.len()];
    let mut whole = network.spread(population);
    let mut lacking: Vec<Queues> = fewer.iter().map(|population| network.spread(population)).collect();
    let mut rates = network.settle(population, &changes, &mut whole);
    for _ in 1..ROUNDS {
        for (population, queues) in fewer.iter().zip(&mut lacking) {
            network.settle(population, &changes, queues);
        }
        for ((change, fewer), queues) in changes.iter_mut().zip(&fewer).zip(&lacking) {
            for (class, change) in change.iter_mut().enumerate() {
                let (all, left) = (f64::from(population[class]), f64::from(fewer[class]));
                for (at, change) in change.iter_mut().enumerate().filter(|_| left > 0.0) {
                    *change = queues[class][at] / left - whole[class][at] / all;
                }
            }
        }
        rates = network.settle(population, &changes, &mut whole);
    }
    let totals = (0..stations).map(|at| whole.iter().map(|of_class| of_class[at]).sum());
    (rates, totals.collect())
}

impl Network<'_> {
    /// All classes as many at each station.
    fn spread(&self, population: &[u32]) -> Queues {
        let stations = self.alike.many.iter().sum::<f64>().max(1.0);
        population.iter().map(|many| vec![f64::from(*many) / stations; self.alike.many.len()]).collect()
    }

    /// Throughput of each class where the shares at each station change by so much when one of a class is away; the queues lead to
    /// it, and are what it leads to.
    fn settle(&self, population: &[u32], changes: &[Queues], queues: &mut Queues) -> Vec<f64> {
        let many: Vec<f64> = population.iter().map(|many| f64::from(*many)).collect();
        let mut rates = vec![0.0; many.len()];
        for _ in 0..MOST_STEPS {
            let (before, mut moved) = (queues.clone(), 0.0_f64);
            for (class, own) in many.iter().enumerate().filter(|(_, own)| **own > 0.0) {
                // Who comes finds all but itself.
                let there = |at: usize| {
                    let of = |(other, all): (usize, &f64)| {
                        let left = if other == class { all - 1.0 } else { *all };
                        left * (before[other][at] / all + changes[class][other][at])
                    };
                    let others = many.iter().enumerate().filter(|(_, all)| **all > 0.0);
                    others.map(of).sum::<f64>().max(0.0)
                };
                let demands_s = self.alike.demands_s.iter().enumerate();
                let waits: Vec<f64> =
                    demands_s.map(|(at, demand)| demand[class] * (1.0 + there(at))).collect();
                rates[class] = own / (self.think_s[class] + self.alike.sum(&waits));
                for (at, wait) in waits.iter().enumerate() {
                    queues[class][at] = rates[class] * wait;
                    moved = moved.max((queues[class][at] - before[class][at]).abs() / own);
                }
            }
            if moved < SETTLED {
                break;
            }
        }
        rates
    }
}
