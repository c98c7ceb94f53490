//! Closed and open queueing networks with known demands. Sources: M. Reiser and S. S. Lavenberg, Mean-Value Analysis of
//! Closed Multichain Queuing Networks (JACM 27, 1980); A. Seidmann, P. J. Schweitzer and S. Shalev-Oren, Computerized Closed
//! Queueing Network Models of Flexible Manufacturing Systems (1987) for several servers; Lazowska et al. (1984), chapters 5
//! to 7 for bounds and open networks.

use std::collections::BTreeMap;

use self::linearizer::linearized;

mod linearizer;

/// A place that operations visit.
#[derive(Debug, Clone, PartialEq)]
pub struct Station {
    /// Seconds of service that one operation of each class needs here in total, all visits together.
    pub demands_s: Vec<f64>,
    /// How many operations can be served at once; 0 for a pure delay, where nobody waits.
    pub servers: u32,
}

/// What a network does at one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Operations per second of each class.
    pub throughput_per_s: Vec<f64>,
    /// Mean time of an operation of each class in the network, seconds, without think time.
    pub response_s: Vec<f64>,
    /// Share of each station's capacity that is used, 0 to 1; for a delay the mean number in it.
    pub busy: Vec<f64>,
    /// Mean number of operations at each station.
    pub queue: Vec<f64>,
}

/// More states than these are approximated.
const MOST_STATES: usize = 2_000_000;
/// Approximations are corrected by what is known of a population with no more states than these: of more operations, and of
/// what is served in turn, which is solved a hundred times for one answer.
const MOST_LIKE: usize = 200_000;
const MOST_CORRECTED: usize = 20_000;

/// A closed network: `population[c]` workers of class c, each with `think_s[c]` seconds between two operations. Exact for one
/// server a station, where the states can be counted; else approximated, and corrected by how far that is off for a smaller
/// population (within a few percent). Several servers are approximated after Seidmann: a fast server and a delay. `None` where
/// the arguments do not fit together.
#[must_use]
pub fn closed(stations: &[Station], population: &[u32], think_s: &[f64]) -> Option<Solution> {
    closed_in_turn(stations, population, think_s, 0.0)
}

/// The same where this part of what waits, 0 to 1, is served in turn: there an operation waits for all that came before it,
/// whatever it costs itself, unless it costs so little that it comes there now and then only. No recursion is exact for such a
/// part: it is approximated after Schweitzer, and corrected by how far that is off where nothing is served in turn. Source:
/// Lazowska et al. (1984), chapter 11.
#[must_use]
pub fn closed_in_turn(
    stations: &[Station],
    population: &[u32],
    think_s: &[f64],
    in_turn: f64,
) -> Option<Solution> {
    let classes = population.len();
    let fits = |station: &Station| {
        station.demands_s.len() == classes && station.demands_s.iter().all(|d| d.is_finite() && *d >= 0.0)
    };
    if classes == 0 || think_s.len() != classes || !stations.iter().all(fits) {
        return None;
    }
    if think_s.iter().any(|think| !think.is_finite() || *think < 0.0) {
        return None;
    }
    let demanded =
        |class: usize| think_s[class] + stations.iter().map(|one| one.demands_s[class]).sum::<f64>();
    if (0..classes).any(|class| demanded(class) <= 0.0) {
        return None;
    }
    // Of one class all wait alike anyway.
    let in_turn = if classes > 1 { in_turn.clamp(0.0, 1.0) } else { 0.0 };
    let (queueing, delays) = split(stations, classes);
    let alike = Alike::of(queueing);
    let think: Vec<f64> = (0..classes).map(|class| think_s[class] + delays[class]).collect();
    let states = population.iter().try_fold(1_usize, |all, n| all.checked_mul(*n as usize + 1));
    let states = states.map_or(usize::MAX, |states| states.saturating_mul(alike.demands_s.len().max(1)));
    let (rates, queues) = match in_turn > 0.0 {
        false if states <= MOST_STATES => exact(&alike, population, &think),
        false => nearly_exact(&alike, population, &think, MOST_LIKE),
        true => corrected(&alike, population, &think, in_turn),
    };
    let queues: Vec<f64> = alike.which.iter().map(|at| queues[*at]).collect();
    Some(solution(stations, population, think_s, rates, &queues))
}

/// Stations with the same demands, as those of thousands of machines of a role, have the same queue: one of each kind
/// is solved for all.
struct Alike {
    demands_s: Vec<Vec<f64>>,
    /// How many there are of each.
    many: Vec<f64>,
    /// Which of them each station is.
    which: Vec<usize>,
}

impl Alike {
    fn of(stations: Vec<Vec<f64>>) -> Self {
        let mut found = Self { demands_s: Vec::new(), many: Vec::new(), which: Vec::new() };
        let mut places: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
        for demands_s in stations {
            let bits = demands_s.iter().map(|demand| demand.to_bits()).collect();
            let at = *places.entry(bits).or_insert(found.demands_s.len());
            if at == found.demands_s.len() {
                found.demands_s.push(demands_s);
                found.many.push(0.0);
            }
            found.many[at] += 1.0;
            found.which.push(at);
        }
        found
    }

    /// The time that an operation waits at all of them.
    fn sum(&self, waits_s: &[f64]) -> f64 {
        waits_s.iter().zip(&self.many).map(|(wait, many)| wait * many).sum()
    }
}

/// Each station as a queue of one server and, for several servers, a delay.
fn split(stations: &[Station], classes: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut delays = vec![0.0; classes];
    let mut queueing = Vec::with_capacity(stations.len());
    for station in stations {
        let servers = f64::from(station.servers);
        queueing.push(if station.servers == 0 {
            vec![0.0; classes]
        } else {
            station.demands_s.iter().map(|d| d / servers).collect()
        });
        for (delay, demand) in delays.iter_mut().zip(&station.demands_s) {
            *delay += if station.servers == 0 { *demand } else { demand * (servers - 1.0) / servers };
        }
    }
    (queueing, delays)
}

/// Throughput of each class and the queue at each station, by recursion over all smaller populations.
fn exact(alike: &Alike, population: &[u32], think_s: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let strides: Vec<usize> = population
        .iter()
        .scan(1_usize, |stride, n| {
            let mine = *stride;
            *stride *= *n as usize + 1;
            Some(mine)
        })
        .collect();
    let states: usize = population.iter().map(|n| *n as usize + 1).product();
    let stations = alike.demands_s.len();
    let mut queues = vec![0.0; states * stations];
    let mut rates = vec![0.0; population.len()];
    let mut here = vec![0_u32; population.len()];
    for state in 0..states {
        if state > 0 {
            count_up(&mut here, population);
        }
        let mut now = vec![0.0; stations];
        for (class, many) in here.iter().enumerate() {
            rates[class] = 0.0;
            if *many == 0 {
                continue;
            }
            let before = (state - strides[class]) * stations;
            let waits: Vec<f64> = alike
                .demands_s
                .iter()
                .enumerate()
                .map(|(station, demand)| demand[class] * (1.0 + queues[before + station]))
                .collect();
            let rate = f64::from(*many) / (think_s[class] + alike.sum(&waits));
            rates[class] = rate;
            for (queue, wait) in now.iter_mut().zip(&waits) {
                *queue += rate * wait;
            }
        }
        queues[state * stations..(state + 1) * stations].copy_from_slice(&now);
    }
    (rates, queues[(states - 1) * stations..].to_vec())
}

/// The population with the most states that may be counted, which is like this one: its small classes are as they are, its large
/// ones smaller. `None` where one operation of each class has more.
fn countable(population: &[u32], stations: usize, most: usize) -> Option<Vec<u32>> {
    let is_few = |largest: u32| {
        let each = population.iter().map(|many| (*many).min(largest) as usize + 1);
        each.fold(stations.max(1), usize::saturating_mul) <= most
    };
    let (mut low, mut high) = (1, population.iter().copied().max()?.max(1));
    if !is_few(low) {
        return None;
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if is_few(middle) { low = middle } else { high = middle - 1 }
    }
    Some(population.iter().map(|many| (*many).min(low)).collect())
}

/// Throughput of each class and the queue at each station where the states are too many to count: approximated after Chandy and
/// Neuse, and corrected by how far that is off for the largest population like this one that has no more states than `most`. Of
/// a class that is smaller there that is less: such a class is the better approximated the more there are of it.
fn nearly_exact(alike: &Alike, population: &[u32], think_s: &[f64], most: usize) -> (Vec<f64>, Vec<f64>) {
    let like = countable(population, alike.demands_s.len(), most);
    if like.as_deref() == Some(population) {
        return exact(alike, population, think_s);
    }
    let (mut rates, mut queues) = linearized(alike, population, think_s);
    if let Some(like) = like {
        let (near_rates, near_queues) = linearized(alike, &like, think_s);
        let (exact_rates, exact_queues) = exact(alike, &like, think_s);
        let part = |(many, like): (&u32, &u32)| (f64::from(*like) / f64::from((*many).max(1))).powi(2);
        let parts: Vec<f64> = population.iter().zip(&like).map(part).collect();
        let whole = parts.iter().copied().fold(0.0, f64::max);
        let correct = |one: &mut f64, exact: f64, near: f64, part: f64| {
            *one *= if near > 0.0 { 1.0 + (exact / near - 1.0) * part } else { 1.0 };
        };
        for (at, rate) in rates.iter_mut().enumerate() {
            correct(rate, exact_rates[at], near_rates[at], parts[at]);
        }
        for (at, queue) in queues.iter_mut().enumerate() {
            correct(queue, exact_queues[at], near_queues[at], whole);
        }
    }
    keep_to_bounds(alike, population, think_s, &mut rates);
    (rates, queues)
}

/// The approximation of what is served in turn, in the proportion in which the same approximation is off where nothing is: a class
/// of few operations beside one of many is off by a fifth. Exact where all classes cost alike, however they are served.
fn corrected(alike: &Alike, population: &[u32], think_s: &[f64], in_turn: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut rates, mut queues) = schweitzer(alike, population, think_s, in_turn);
    let (plain_rates, plain_queues) = schweitzer(alike, population, think_s, 0.0);
    let (near_rates, near_queues) = nearly_exact(alike, population, think_s, MOST_CORRECTED);
    let correct = |all: &mut [f64], plain: &[f64], near: &[f64]| {
        for ((one, plain), near) in all.iter_mut().zip(plain).zip(near) {
            *one *= if *plain > 0.0 { near / plain } else { 1.0 };
        }
    };
    correct(&mut rates, &plain_rates, &near_rates);
    correct(&mut queues, &plain_queues, &near_queues);
    keep_to_bounds(alike, population, think_s, &mut rates);
    (rates, queues)
}

/// No class does more than if it was alone, and no station works more than all of the time.
fn keep_to_bounds(alike: &Alike, population: &[u32], think_s: &[f64], rates: &mut [f64]) {
    for (class, rate) in rates.iter_mut().enumerate() {
        let own_s: Vec<f64> = alike.demands_s.iter().map(|demands_s| demands_s[class]).collect();
        *rate = rate.min(f64::from(population[class]) / (think_s[class] + alike.sum(&own_s)));
    }
    let work = |demands_s: &Vec<f64>| demands_s.iter().zip(rates.iter()).map(|(d, x)| d * x).sum::<f64>();
    let busiest = alike.demands_s.iter().map(work).fold(1.0, f64::max);
    rates.iter_mut().for_each(|rate| *rate /= busiest);
}

/// The next population in the order of the states: the first class runs fastest.
fn count_up(here: &mut [u32], population: &[u32]) {
    for (many, most) in here.iter_mut().zip(population) {
        if *many < *most {
            *many += 1;
            return;
        }
        *many = 0;
    }
}

/// An operation that costs a station less than this part of the mean comes there now and then only.
const NOW_AND_THEN: f64 = 0.1;

/// How often an operation comes to where it costs so many times the mean.
pub(crate) fn comes(times_the_mean: f64) -> f64 {
    (times_the_mean / NOW_AND_THEN).clamp(0.0, 1.0)
}

/// By class, how long one operation is served at a time at a station, and how often it comes there, where classes have these
/// rates.
fn visits(demands_s: &[f64], rates: &[f64]) -> Vec<(f64, f64)> {
    let work: f64 = demands_s.iter().zip(rates).map(|(demand, rate)| demand * rate).sum();
    let mean = work / rates.iter().sum::<f64>();
    let visit = |demand: &f64| match comes(demand / mean) {
        often if often > 0.0 => (demand / often, often),
        _ => (0.0, 0.0),
    };
    demands_s.iter().map(visit).collect()
}

/// An arriving operation sees its own class's queue without its own share.
fn schweitzer(alike: &Alike, population: &[u32], think_s: &[f64], in_turn: f64) -> (Vec<f64>, Vec<f64>) {
    let (demands, stations) = (&alike.demands_s, alike.demands_s.len());
    let share = 1.0 / alike.many.iter().sum::<f64>().max(1.0);
    let mut queues: Vec<Vec<f64>> =
        population.iter().map(|many| vec![f64::from(*many) * share; stations]).collect();
    let mut rates: Vec<f64> = population.iter().map(|many| f64::from(*many)).collect();
    for _ in 0..10_000 {
        let mut moved = 0.0_f64;
        let visits: Vec<Vec<(f64, f64)>> = if in_turn > 0.0 {
            demands.iter().map(|demands_s| visits(demands_s, &rates)).collect()
        } else {
            Vec::new()
        };
        let totals: Vec<f64> =
            (0..stations).map(|s| queues.iter().map(|of_class| of_class[s]).sum()).collect();
        let mut next = queues.clone();
        for (class, many) in population.iter().map(|many| f64::from(*many)).enumerate() {
            if many == 0.0 {
                continue;
            }
            let by_cost = |s: usize| demands[s][class] * (totals[s] - queues[class][s] / many);
            let alike_s = |s: usize| {
                let there = |(other, (served_s, _)): (usize, &(f64, f64))| {
                    let own = if other == class { queues[class][s] / many } else { 0.0 };
                    served_s * (queues[other][s] - own)
                };
                let before: f64 = visits[s].iter().enumerate().map(there).sum();
                before * visits[s][class].1
            };
            let held_up = |s: usize| match in_turn > 0.0 {
                true => (1.0 - in_turn) * by_cost(s) + in_turn * alike_s(s),
                false => by_cost(s),
            };
            let waits: Vec<f64> = (0..stations).map(|s| demands[s][class] + held_up(s)).collect();
            rates[class] = many / (think_s[class] + alike.sum(&waits));
            for (s, wait) in waits.iter().enumerate() {
                next[class][s] = rates[class] * wait;
                moved = moved.max((next[class][s] - queues[class][s]).abs() / many);
            }
        }
        queues = next;
        if moved < 1e-9 {
            break;
        }
    }
    let totals = (0..stations).map(|s| queues.iter().map(|of_class| of_class[s]).sum()).collect();
    (rates, totals)
}

fn solution(
    stations: &[Station],
    population: &[u32],
    think_s: &[f64],
    rates: Vec<f64>,
    queues: &[f64],
) -> Solution {
    let response_s = rates
        .iter()
        .zip(population)
        .zip(think_s)
        .map(|((rate, many), think)| if *rate > 0.0 { f64::from(*many) / rate - think } else { 0.0 });
    let response_s = response_s.collect();
    let work = |station: &Station| station.demands_s.iter().zip(&rates).map(|(d, x)| d * x).sum::<f64>();
    let busy = stations.iter().map(|one| work(one) / f64::from(one.servers.max(1))).collect();
    let queue = stations.iter().zip(queues).map(|(one, queue)| match one.servers {
        0 => work(one),
        servers => queue + work(one) * (f64::from(servers) - 1.0) / f64::from(servers),
    });
    let queue = queue.collect();
    Solution { throughput_per_s: rates, response_s, busy, queue }
}

/// An open network: operations of each class arrive at these rates whatever happens. Poisson arrivals, exponential service,
/// several servers by Erlang's formula C. `None` where some station cannot keep up: then there is no steady state.
#[must_use]
pub fn open(stations: &[Station], rates_per_s: &[f64]) -> Option<Solution> {
    let mut response_s = vec![0.0; rates_per_s.len()];
    let (mut busy, mut queue) = (Vec::new(), Vec::new());
    for station in stations {
        if station.demands_s.len() != rates_per_s.len() {
            return None;
        }
        let offered: f64 = station.demands_s.iter().zip(rates_per_s).map(|(d, x)| d * x).sum();
        let slower = match station.servers {
            0 => 1.0,
            servers => 1.0 + waiting(offered, servers)?,
        };
        busy.push(offered / f64::from(station.servers.max(1)));
        queue.push(offered * slower);
        for (response, demand) in response_s.iter_mut().zip(&station.demands_s) {
            *response += demand * slower;
        }
    }
    Some(Solution { throughput_per_s: rates_per_s.to_vec(), response_s, busy, queue })
}

/// The time in the queue over the time in service of M/M/m at `offered` erlangs.
fn waiting(offered: f64, servers: u32) -> Option<f64> {
    let many = f64::from(servers);
    if !(0.0..many).contains(&offered) {
        return None;
    }
    // Erlang B by its recursion, then C from B.
    let blocked = (1..=servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b));
    let queued = blocked / (1.0 - offered / many * (1.0 - blocked));
    Some(queued / (many - offered))
}

/// The asymptotic bounds of a closed network of one class: at most min(1 / D_max, N / (D + Z)) operations per second, and a
/// response time of at least max(D, N D_max - Z) seconds.
#[must_use]
pub fn bounds(demands_s: &[f64], workers: f64, think_s: f64) -> (f64, f64) {
    let total: f64 = demands_s.iter().sum();
    let largest = demands_s.iter().copied().fold(0.0, f64::max);
    let most = (1.0 / largest).min(workers / (total + think_s));
    (most, total.max(workers * largest - think_s))
}
