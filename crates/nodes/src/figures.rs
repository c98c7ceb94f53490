//! What one machine did in a window of time: figures from the readings that lie in it. Counters become rates between the
//! first and the last reading of the window; a counter that began anew adds what it has counted since, and one that steps
//! back a little waits until it has caught up. Nothing is interpolated: where readings are rare, the figures say how old
//! they were.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use cosmark_metrics::{QuantityResult, ResourceKind as Kind, UnitResult, Waiting};

use crate::prometheus;
use crate::quantity::{self as q, Aspect, Quantity, Reads, Resource, quantity};
use crate::reading::Reading;

/// What one machine did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeFigures {
    /// Readings in the window.
    pub readings: usize,
    /// The longest time between two readings that differ, seconds: an exporter that renews its numbers every 15 s shows it here.
    pub renewed_every_s: Option<f64>,
    /// The first and the last reading, nanoseconds by their clock, and the median time between two, seconds.
    pub seen: Option<(u64, u64, f64)>,
    /// Counters that began anew in the window.
    pub resets: usize,
    /// All quantities.
    pub quantities: Vec<QuantityResult>,
    /// What can be full.
    pub units: Vec<UnitResult>,
}

/// The numbers of one quantity of one unit, each with its time.
type Points = (&'static Quantity, Vec<(u64, f64)>);

/// Limits of links that were there in less than nine of ten readings: they are no ceiling of the whole window.
fn limits_of_a_part(series: &BTreeMap<(&'static str, String), Points>) -> Vec<(&'static str, String)> {
    let count = |id: &'static str, link: &str| {
        series.get(&(id, link.to_owned())).map_or(0, |(_, points)| points.len())
    };
    let mut found = Vec::new();
    for (limit, moved) in [(&q::SEND_LIMIT, &q::NETWORK_SENT), (&q::RECEIVE_LIMIT, &q::NETWORK_RECEIVED)] {
        let links = series.keys().filter(|(id, _)| *id == limit.id).map(|(_, link)| link);
        let parts = links.filter(|link| count(limit.id, link) * 10 < count(moved.id, link) * 9);
        found.extend(parts.map(|link| (limit.id, link.clone())));
    }
    found
}

/// The figures of a window, both ends in nanoseconds by the clock of the readings.
#[must_use]
pub fn over<R: Borrow<Reading>>(readings: &[R], from_ns: u64, to_ns: u64) -> NodeFigures {
    let mut inside: Vec<&Reading> = readings
        .iter()
        .map(Borrow::borrow)
        .filter(|reading| (from_ns..=to_ns).contains(&reading.at_ns))
        .collect();
    // What a server has scraped comes as it was written down, and not as it was true.
    inside.sort_by_key(|reading| reading.at_ns);
    let used = renewed(&inside);
    let mut series: BTreeMap<(&'static str, String), Points> = BTreeMap::new();
    for reading in &used {
        for sample in &reading.samples {
            let key = (sample.quantity.id, sample.unit.clone());
            series.entry(key).or_insert((sample.quantity, Vec::new())).1.push((reading.at_ns, sample.value));
        }
    }
    let mut found = NodeFigures {
        readings: if used.len() < 2 { used.len() } else { inside.len() },
        renewed_every_s: renewed_every_s(&inside),
        seen: seen(&inside),
        ..NodeFigures::default()
    };
    let mut threads_ran_s = 0.0;
    for limit in limits_of_a_part(&series) {
        series.remove(&limit);
    }
    for ((id, unit), (quantity, points)) in series {
        let mut points = if leaves_zeros_out(&used, id, &unit) {
            with_zeros(&used, &points, quantity.reads)
        } else {
            points
        };
        if id == q::CPU_IO_WAIT.id {
            never_back(&mut points);
        }
        let figure = match quantity.reads {
            Reads::Gauge => gauge(&points),
            Reads::Counter => counter(&points, BEGIN_ANEW.iter().any(|row| row.id == id), &mut found.resets),
        };
        if let Some((mean, highest)) = figure {
            if id == q::THREAD_BUSY.id {
                threads_ran_s += mean * span_s(&points);
            }
            found.quantities.push(QuantityResult { quantity: quantity.id.to_owned(), unit, mean, highest });
        }
    }
    let whole_s = used.first().zip(used.last()).map_or(0.0, |(first, last)| seconds(first.at_ns, last.at_ns));
    found.quantities.extend(daemons(threads_ran_s, whole_s));
    found.units = units(&found.quantities);
    let idle_threads = take_idle_threads(&mut found.units);
    let of_idle = |figure: &QuantityResult| {
        quantity(&figure.quantity).is_some_and(|row| row.of == Resource::Thread)
            && idle_threads.contains(&figure.unit)
    };
    found.quantities.retain(|figure| !of_idle(figure));
    // Most counters of a large machine never move; that a drop or an error did not happen is no figure of its own.
    found.quantities.retain(|figure| figure.highest > 0.0);
    found
}

/// A source whose numbers stay as they are for so many readings is read much more often than it renews them.
pub(crate) const RARE: f64 = 2.5;
/// What is renewed by a clock, and not when something happens, has no gap that is so much longer than another.
const REGULAR: f64 = 1.5;
/// Among so many readings of a machine that is read as often as it renews its numbers, several bring something new.
const LEAST_TO_TELL: usize = 4;

/// The readings that brought something new, where a source renews its numbers much more rarely than it is read: the
/// others repeat what was true before, so that a rate up to them is of more or less time than was counted. Else all.
fn renewed<'a>(inside: &[&'a Reading]) -> Vec<&'a Reading> {
    let pairs = inside.windows(2);
    let new: Vec<&Reading> =
        pairs.filter(|pair| pair[0].samples != pair[1].samples).map(|pair| pair[1]).collect();
    let of_processors =
        |reading: &&Reading| reading.samples.iter().any(|sample| sample.quantity.id == q::CPU_BUSY.id);
    let never_stands_still = inside.first().is_some_and(of_processors);
    if new.len() < 2 {
        // Nobody knows how long it took to get there.
        let stale = never_stands_still && inside.len() >= LEAST_TO_TELL;
        let one = if stale { new.first().or(inside.first()) } else { None };
        return one.map_or_else(|| inside.to_vec(), |one| vec![*one]);
    }
    let gaps = gaps(&new);
    let shortest = gaps.iter().copied().fold(f64::INFINITY, f64::min);
    let longest = gaps.iter().copied().fold(0.0, f64::max);
    // Two of them have one gap, which is as long as itself.
    let by_a_clock = never_stands_still || (new.len() > 2 && longest <= REGULAR * shortest);
    let rare = usual_gap_s(inside).is_some_and(|usual| shortest > RARE * usual);
    if rare && by_a_clock { new } else { inside.to_vec() }
}

fn gaps(readings: &[&Reading]) -> Vec<f64> {
    readings.windows(2).map(|pair| seconds(pair[0].at_ns, pair[1].at_ns)).collect()
}

/// The median time between two readings, seconds; `None` with fewer than two.
fn usual_gap_s(readings: &[&Reading]) -> Option<f64> {
    let mut gaps = gaps(readings);
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied()
}

fn seen(inside: &[&Reading]) -> Option<(u64, u64, f64)> {
    Some((inside.first()?.at_ns, inside.last()?.at_ns, usual_gap_s(inside)?))
}

/// Whether the source of these numbers says nothing where a number is 0.
fn leaves_zeros_out(readings: &[&Reading], id: &str, unit: &str) -> bool {
    let mut samples = readings.iter().flat_map(|reading| &reading.samples);
    let own = samples.find(|sample| sample.quantity.id == id && sample.unit == unit);
    own.is_some_and(|sample| prometheus::leaves_zeros_out(&sample.name))
}

/// A point at each reading: 0 where there is none. A counter is not 0 again once it has counted.
fn with_zeros(readings: &[&Reading], points: &[(u64, f64)], reads: Reads) -> Vec<(u64, f64)> {
    let known: BTreeMap<u64, f64> = points.iter().copied().collect();
    let may_be_0 = |at_ns: u64| reads == Reads::Gauge || points.first().is_some_and(|first| at_ns < first.0);
    let at = |at_ns: u64| known.get(&at_ns).copied().or_else(|| may_be_0(at_ns).then_some(0.0));
    readings.iter().filter_map(|reading| Some((reading.at_ns, at(reading.at_ns)?))).collect()
}

/// A daemon of hundreds of threads has a handful that do anything: the others, which never ran for more than this share of the
/// time between two readings, are no figures of their own.
const IDLE_THREAD: f64 = 0.01;

/// All threads together: hundreds that do next to nothing each may do much. A daemon that was restarted has other threads
/// than before, none of which was there all the time: what they ran is over the time of all readings.
fn daemons(ran_s: f64, whole_s: f64) -> Option<QuantityResult> {
    let mean = ran_s / whole_s;
    let quantity = q::DAEMONS_BUSY.id.to_owned();
    // Each thread has its highest at another time.
    (ran_s > 0.0 && whole_s > 0.0).then(|| QuantityResult {
        quantity,
        unit: String::new(),
        mean,
        highest: mean,
    })
}

fn take_idle_threads(units: &mut Vec<UnitResult>) -> BTreeSet<String> {
    let idle = |unit: &UnitResult| unit.kind == Kind::Thread && unit.highest_busy < IDLE_THREAD;
    let names = units.iter().filter(|unit| idle(unit)).map(|unit| unit.name.clone()).collect();
    units.retain(|unit| !idle(unit));
    names
}

#[expect(clippy::cast_precision_loss, reason = "seconds between readings")]
fn seconds(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "a handful of readings")]
fn gauge(points: &[(u64, f64)]) -> Option<(f64, f64)> {
    let sum: f64 = points.iter().map(|point| point.1).sum();
    let highest = points.iter().map(|point| point.1).reduce(f64::max)?;
    Some((sum / points.len() as f64, highest))
}

/// The kernel takes back some of what a processor waited for disks now and then (proc.rst, `/proc/stat`); a machine that began
/// anew lost more than this.
const TAKEN_BACK_S: f64 = 3.0;

/// The course of such a counter without the steps back.
fn never_back(points: &mut [(u64, f64)]) {
    let mut highest = f64::NEG_INFINITY;
    for point in points {
        if point.1 < highest && highest - point.1 < TAKEN_BACK_S {
            point.1 = highest;
        } else {
            highest = point.1;
        }
    }
}

/// From the first to the last of them, seconds.
fn span_s(points: &[(u64, f64)]) -> f64 {
    points.first().zip(points.last()).map_or(0.0, |(first, last)| seconds(first.0, last.0))
}

/// A counter that lost less than this share has not begun anew: a source added up its parts in another order, or the
/// kernel took something back.
const STEP_BACK: f64 = 0.5;

/// Numbers that begin at 0 again without a restart: RAPL's when they have come to their end, within minutes under load, and
/// those of a link's queue when it is shaped otherwise, as a fault does, or of requests when they are followed again.
static BEGIN_ANEW: &[&Quantity] = &[
    &q::ENERGY,
    &q::QUEUE_SEND_DROPS,
    &q::QUEUE_RECEIVE_DROPS,
    &q::QUEUE_HELD,
    &q::QUEUE_REQUEUES,
    &q::DISK_FOLLOWED,
    &q::DISK_FAR,
];

/// A number that `wraps` begins at 0 again without a restart.
fn counter(points: &[(u64, f64)], wraps: bool, resets: &mut usize) -> Option<(f64, f64)> {
    let whole = span_s(points);
    if whole <= 0.0 {
        return None;
    }
    let (mut sum, mut highest) = (0.0, 0.0_f64);
    // A number that did not move is not yet renewed: its time belongs to the next one that did.
    let mut since = points[0];
    for point in &points[1..] {
        let is_back = point.1 < since.1;
        if is_back && !wraps && point.1 > since.1 * STEP_BACK {
            continue;
        }
        *resets += usize::from(is_back && !wraps);
        let grew = if is_back { point.1 } else { point.1 - since.1 };
        let took = seconds(since.0, point.0);
        if grew > 0.0 && took > 0.0 {
            sum += grew;
            highest = highest.max(grew / took);
        }
        if grew > 0.0 || is_back {
            since = *point;
        }
    }
    Some((sum / whole, highest))
}

fn renewed_every_s(readings: &[&Reading]) -> Option<f64> {
    let mut changes = Vec::new();
    let mut last = *readings.first()?;
    for reading in &readings[1..] {
        if reading.samples != last.samples {
            changes.push(seconds(last.at_ns, reading.at_ns));
            last = reading;
        }
    }
    changes.into_iter().reduce(f64::max)
}

/// What carries so many times the speed that it tells has made that up: a tunnel says 10 Mbit/s and a pair 10 Gbit/s, whatever goes
/// through them.
const MADE_UP: f64 = 1.2;

fn units(figures: &[QuantityResult]) -> Vec<UnitResult> {
    let rate = |row: &Quantity, unit: &str| {
        figures
            .iter()
            .find(|figure| figure.quantity == row.id && figure.unit == unit)
            .map(|figure| figure.mean)
    };
    let mut units = Vec::new();
    for figure in figures {
        let Some(row) = quantity(&figure.quantity).filter(|row| row.aspect == Aspect::Utilisation) else {
            continue;
        };
        let name = figure.unit.as_str();
        let mut add = |kind: Kind, full: f64, waiting: Option<Waiting>| {
            let share = |rate: f64| (rate / full).clamp(0.0, 1.0);
            let (busy, highest_busy) = (share(figure.mean), share(figure.highest));
            units.push(UnitResult { kind, name: name.to_owned(), busy, highest_busy, waiting });
        };
        match row.of {
            Resource::Core => add(Kind::Core, 1.0, rate(&q::CPU_RUN_QUEUE, name).map(Waiting::Queue)),
            Resource::Thread => add(Kind::Thread, 1.0, rate(&q::THREAD_RUN_QUEUE, name).map(Waiting::Share)),
            Resource::CpuQuota => {
                // Stopped in nearly every period: the quota is used up. Seconds say less, they add up over processors.
                let periods = rate(&q::QUOTA_PERIODS, name).filter(|periods| *periods > 0.0);
                let stopped = rate(&q::QUOTA_STOPPED_PERIODS, name)
                    .zip(periods)
                    .map(|(stopped, periods)| Waiting::Share((stopped / periods).clamp(0.0, 1.0)));
                if let Some(full) = rate(&q::QUOTA_PROCESSORS, name).filter(|full| *full > 0.0) {
                    add(Kind::CpuQuota, full, stopped);
                }
            }
            Resource::IoLimit => {
                let group = name.split(' ').next().unwrap_or_default();
                let waited = rate(&q::GROUP_IO_PRESSURE, group).map(Waiting::Share);
                if let Some(full) = rate(&q::IO_LIMIT, name).filter(|full| *full > 0.0) {
                    add(Kind::IoLimit, full, waited);
                }
            }
            Resource::Disk => add(Kind::Disk, 1.0, rate(&q::DISK_QUEUE, name).map(Waiting::Queue)),
            Resource::Network => {
                let kind = if row.id == q::NETWORK_RECEIVED.id {
                    Kind::NetworkReceive
                } else {
                    Kind::NetworkTransmit
                };
                if let Some((full, waiting)) = link(kind, |row| rate(row, name)) {
                    add(kind, full, waiting);
                }
            }
            _ => {}
        }
    }
    units.extend(machine(figures));
    units
}

/// What a direction of a link can do, bytes per second, and what was dropped or held back there per second. A shaped one sends
/// no more than its queue lets through, whatever the hardware could.
fn link(kind: Kind, rate: impl Fn(&Quantity) -> Option<f64>) -> Option<(f64, Option<Waiting>)> {
    let sends = kind == Kind::NetworkTransmit;
    let carried = [&q::NETWORK_RECEIVED, &q::NETWORK_SENT].into_iter().filter_map(&rate).fold(0.0, f64::max);
    let said = rate(&q::NETWORK_SPEED).filter(|speed| carried <= MADE_UP * speed);
    let shaped = rate(if sends { &q::SEND_LIMIT } else { &q::RECEIVE_LIMIT });
    let waiting = if sends {
        [Some(&q::NETWORK_SEND_DROPS), Some(&q::QUEUE_SEND_DROPS), Some(&q::QUEUE_HELD)]
    } else {
        [Some(&q::NETWORK_RECEIVE_DROPS), Some(&q::QUEUE_RECEIVE_DROPS), None]
    };
    let of = |rows: &[Option<&'static Quantity>]| -> Vec<f64> {
        rows.iter().flatten().filter_map(|row| rate(row)).collect()
    };
    let full = said.into_iter().chain(shaped).filter(|speed| *speed > 0.0).reduce(f64::min)?;
    Some((full, of(&waiting).into_iter().reduce(|a, b| a + b).map(Waiting::Events)))
}

/// All processors together: the mean of each, and the pressure on all.
#[expect(clippy::cast_precision_loss, reason = "a handful of processors")]
fn machine(figures: &[QuantityResult]) -> Option<UnitResult> {
    let of = |row: &Quantity| -> Vec<&QuantityResult> {
        figures.iter().filter(|figure| figure.quantity == row.id).collect()
    };
    let (cores, queues) = (of(&q::CPU_BUSY), of(&q::CPU_RUN_QUEUE));
    let count = cores.len() as f64;
    let mean = |sum: f64| (sum / count).clamp(0.0, 1.0);
    let queue = queues.iter().map(|figure| figure.mean).reduce(|a, b| a + b).map(Waiting::Queue);
    let runnable = of(&q::TASKS_RUNNABLE);
    let runnable = runnable.first().map(|figure| Waiting::Queue((figure.mean - count).max(0.0)));
    let pressure = of(&q::CPU_PRESSURE).first().map(|figure| Waiting::Share(figure.mean));
    (!cores.is_empty()).then(|| UnitResult {
        kind: Kind::Machine,
        name: "cpu".to_owned(),
        busy: mean(cores.iter().map(|core| core.mean).sum()),
        highest_busy: mean(cores.iter().map(|core| core.highest).sum()),
        waiting: queue.or(pressure).or(runnable),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn readings(quantity: &'static Quantity, unit: &str, values: &[f64]) -> Vec<Reading> {
        let at = |second: usize| second as u64 * 1_000_000_000;
        let reading = |(second, value): (usize, &f64)| {
            let mut reading = Reading { at_ns: at(second), samples: Vec::new() };
            reading.add(quantity, unit, *value);
            reading
        };
        values.iter().enumerate().map(reading).collect()
    }

    const ALL: (u64, u64) = (0, u64::MAX);

    #[test]
    fn a_counter_is_a_rate_and_begins_anew_when_its_machine_does() {
        let read = readings(&q::DISK_READS, "sda", &[100.0, 150.0, 170.0, 10.0, 30.0]);
        let found = over(&read, ALL.0, ALL.1);
        assert_eq!((found.readings, found.resets), (5, 1));
        assert_eq!(
            (found.quantities[0].mean, found.quantities[0].highest),
            ((50.0 + 20.0 + 10.0 + 20.0) / 4.0, 50.0)
        );
    }

    #[test]
    fn what_the_kernel_takes_back_of_a_wait_for_disks_is_no_restart() {
        let read = readings(&q::CPU_IO_WAIT, "cpu0", &[3000.5, 3000.49, 3000.6, 3000.7]);
        let found = over(&read, ALL.0, ALL.1);
        let own = found.quantities.iter().find(|one| one.quantity == q::CPU_IO_WAIT.id).unwrap();
        assert!(found.resets == 0 && (own.mean - 0.2 / 3.0).abs() < 1e-6 && own.highest < 0.2, "{own:?}");
        let read = readings(&q::CPU_IO_WAIT, "cpu0", &[3000.5, 0.2, 0.3]);
        assert_eq!(over(&read, ALL.0, ALL.1).resets, 1, "its machine began anew");
    }

    #[test]
    fn a_small_step_back_is_no_restart_and_a_counter_of_energy_that_wraps_is_none_either() {
        let read = readings(&q::CPU_BUSY, "cpu0", &[1_000_000.5, 1_000_000.49, 1_000_000.9, 1_000_001.3]);
        let found = over(&read, ALL.0, ALL.1);
        assert!(found.resets == 0 && (found.quantities[0].mean - 0.8 / 3.0).abs() < 1e-6, "{found:?}");
        assert!(found.quantities[0].highest < 0.5, "{found:?}");
        let read = readings(&q::ENERGY, "package-0", &[262_100.0, 262_140.0, 36.0, 76.0]);
        let found = over(&read, ALL.0, ALL.1);
        assert_eq!((found.resets, found.quantities[0].mean), (0, (40.0 + 36.0 + 40.0) / 3.0));
        // Read rarely, it may come to more than half of what it was.
        let read = readings(&q::ENERGY, "package-0", &[200_000.0, 150_000.0]);
        assert_eq!(over(&read, ALL.0, ALL.1).quantities[0].mean, 150_000.0);
    }

    #[test]
    fn a_counter_that_is_renewed_rarely_has_no_peaks_of_its_own_and_its_age_is_told() {
        let read = readings(&q::DISK_READS, "sda", &[0.0, 0.0, 0.0, 300.0, 300.0, 300.0, 600.0]);
        let found = over(&read, ALL.0, ALL.1);
        assert_eq!((found.quantities[0].mean, found.quantities[0].highest), (100.0, 100.0));
        assert_eq!(found.renewed_every_s, Some(3.0));
    }

    /// A processor that is busy half of the time, read every second for so long by an exporter that renews its numbers
    /// every 15 s, `phase` seconds after the first reading for the first time.
    fn renewed_every_15_s(phase: usize, long: usize) -> NodeFigures {
        let renewed_at = |second: usize| (second + 15 - phase) / 15 * 15;
        let values: Vec<f64> = (0..=long).map(|second| 1000.0 + renewed_at(second) as f64 * 0.5).collect();
        over(&readings(&q::CPU_BUSY, "cpu0", &values), ALL.0, ALL.1)
    }

    #[test]
    fn a_rate_is_between_renewals_however_they_lie_in_the_window() {
        for long in [20, 40, 50] {
            for phase in 0..15 {
                let found = renewed_every_15_s(phase, long);
                let busy = found.quantities.first().map(|one| one.mean);
                let said = format!("{long} s, phase {phase}: {found:?}");
                match busy {
                    Some(busy) => assert!((busy / 0.5 - 1.0).abs() < 0.05, "{said}"),
                    None => assert!(long == 20 && found.readings == 1 && found.units.is_empty(), "{said}"),
                }
                assert!(busy.is_none() || found.readings == long + 1, "{said}");
            }
        }
        assert_eq!(renewed_every_15_s(14, 5).readings, 1, "nothing was renewed at all");
        // What is counted when something happens stands still in between, and that time is its own.
        let requests = |values: &[f64]| {
            over(&readings(&q::SERVER_REQUESTS, "GET", values), ALL.0, ALL.1).quantities[0].mean
        };
        assert_eq!(requests(&[0.0, 0.0, 0.0, 9.0, 9.0, 9.0]), 1.8);
        assert_eq!(requests(&[0.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 18.0, 18.0, 18.0, 24.0]), 24.0 / 11.0);
    }

    #[test]
    fn a_source_that_leaves_zeros_out_is_read_as_if_it_gave_them() {
        let mut read: Vec<Reading> =
            (0..5u64).map(|at| Reading { at_ns: at * 1_000_000_000, samples: Vec::new() }).collect();
        // One answer in the middle lacks the counter: it has not begun anew.
        for (at, total) in [(1, 40.0), (2, 40.0), (4, 100.0)] {
            read[at].add_named(&q::SERVER_REQUESTS, "GetObject", "minio_api_requests_total", total);
        }
        read[3].add_named(&q::SERVER_QUEUE, "in flight", "minio_api_requests_inflight_total", 5.0);
        read[3].add_named(&q::SERVER_QUEUE, "rgw.a", "ceph_rgw_qlen", 5.0);
        let found = over(&read, ALL.0, ALL.1);
        let means: Vec<_> =
            found.quantities.iter().map(|one| (one.unit.as_str(), one.mean, one.highest)).collect();
        assert_eq!(means, [("in flight", 1.0, 5.0), ("rgw.a", 5.0, 5.0), ("GetObject", 25.0, 40.0)]);
    }

    #[test]
    fn only_the_window_counts_and_one_reading_is_no_rate() {
        let read = readings(&q::DISK_READS, "sda", &[0.0, 1000.0, 1010.0, 1020.0, 9000.0]);
        let found = over(&read, 1_000_000_000, 3_000_000_000);
        assert_eq!((found.readings, found.quantities[0].mean), (3, 10.0));
        assert_eq!(over(&read, 1_000_000_000, 1_500_000_000).quantities, []);
        assert_eq!(over::<Reading>(&[], 0, 1), NodeFigures::default());
    }

    #[test]
    fn a_link_that_is_shaped_otherwise_meanwhile_is_no_machine_that_was_restarted() {
        let found = over(&readings(&q::QUEUE_HELD, "eth0", &[100.0, 130.0, 20.0, 30.0]), ALL.0, ALL.1);
        assert_eq!((found.quantities[0].mean, found.resets), (20.0, 0));
        let found = over(&readings(&q::DISK_READS, "sda", &[100.0, 130.0, 20.0, 30.0]), ALL.0, ALL.1);
        assert_eq!((found.quantities[0].mean, found.resets), (20.0, 1));
    }

    #[test]
    fn a_link_that_is_shaped_for_a_part_of_the_window_has_no_ceiling_there() {
        let shaped = |from: usize| {
            let mut read = readings(&q::NETWORK_SENT, "eth0", &[0.0, 1e6, 2e6, 3e6, 4e6, 5e6]);
            read[from..].iter_mut().for_each(|reading| reading.add(&q::SEND_LIMIT, "eth0", 2e6));
            over(&read, ALL.0, ALL.1).units.iter().map(|unit| unit.busy).collect::<Vec<_>>()
        };
        assert_eq!((shaped(0), shaped(1), shaped(5)), (vec![0.5], Vec::new(), Vec::new()));
    }

    #[test]
    fn readings_that_come_late_are_put_where_they_belong() {
        let mut read = readings(&q::DISK_READS, "sda", &[0.0, 10.0, 20.0, 30.0]);
        read.swap(1, 2);
        let found = over(&read, ALL.0, ALL.1);
        let reads = found.quantities.first().map(|one| (one.mean, one.highest));
        assert_eq!((reads, found.resets), (Some((10.0, 10.0)), 0));
        assert_eq!(found.seen.map(|seen| (seen.0, seen.1)), Some((0, 3_000_000_000)));
    }

    #[test]
    fn threads_that_do_next_to_nothing_are_left_out() {
        let mut read = vec![Reading::default(), Reading { at_ns: 1_000_000_000, samples: Vec::new() }];
        for (at, reading) in read.iter_mut().enumerate() {
            let at = at as f64;
            for (name, busy) in [("osd/1", 0.4), ("osd/2", 0.009), ("osd/3", 0.0)] {
                reading.add(&q::THREAD_BUSY, name, 5.0 + at * busy);
                reading.add(&q::THREAD_RUN_QUEUE, name, at * 0.001);
            }
        }
        let found = over(&read, ALL.0, ALL.1);
        assert_eq!(found.units.iter().map(|unit| unit.name.as_str()).collect::<Vec<_>>(), ["osd/1"]);
        let together = found.quantities.iter().find(|figure| figure.quantity == "daemons_busy_s").unwrap();
        assert!((together.mean - 0.409).abs() < 1e-9, "{together:?}");
        let others = found.quantities.iter().filter(|figure| figure.quantity != "daemons_busy_s");
        assert!({ others }.all(|figure| figure.unit == "osd/1"), "{found:?}");
    }

    #[test]
    fn threads_of_a_daemon_that_was_restarted_are_not_added_up_as_if_all_were_there_at_once() {
        let reading = |second: u64| {
            let mut reading = Reading { at_ns: second * 1_000_000_000, samples: Vec::new() };
            let (before, after) = (second <= 5, second >= 5);
            for name in [("osd/1", before), ("osd/2", after)].iter().filter(|one| one.1).map(|one| one.0) {
                reading.add(&q::THREAD_BUSY, name, second as f64);
            }
            reading
        };
        let read: Vec<Reading> = (0..=10).map(reading).collect();
        let found = over(&read, ALL.0, ALL.1);
        let together = found.quantities.iter().find(|figure| figure.quantity == "daemons_busy_s").unwrap();
        assert!((together.mean - 1.0).abs() < 0.01, "{together:?}");
        assert_eq!(found.units.iter().map(|unit| unit.busy).collect::<Vec<_>>(), [1.0, 1.0]);
    }

    #[test]
    fn a_shaped_link_is_full_at_what_its_queue_lets_through_in_the_direction_that_it_shapes() {
        let mut read = vec![Reading::default(), Reading { at_ns: 2_000_000_000, samples: Vec::new() }];
        for (at, reading) in read.iter_mut().enumerate() {
            let at = at as f64;
            for name in ["eth0", "veth1"] {
                reading.add(&q::NETWORK_SENT, name, at * 8e6);
                reading.add(&q::NETWORK_RECEIVED, name, at * 8e6);
                reading.add(&q::SEND_LIMIT, name, 5e6);
                reading.add(&q::NETWORK_SEND_DROPS, name, at * 2.0);
                reading.add(&q::QUEUE_SEND_DROPS, name, at * 4.0);
                reading.add(&q::QUEUE_HELD, name, at * 100.0);
                reading.add(&q::QUEUE_RECEIVE_DROPS, name, at * 6.0);
            }
            reading.add(&q::NETWORK_SPEED, "eth0", 1.25e8);
            reading.add(&q::RECEIVE_LIMIT, "veth1", 8e6);
        }
        let units = over(&read, ALL.0, ALL.1).units;
        let found: Vec<_> =
            units.iter().map(|unit| (unit.kind, unit.name.as_str(), unit.busy, unit.waiting)).collect();
        let events = |rate| Some(Waiting::Events(rate));
        assert_eq!(
            found,
            [
                (Kind::NetworkReceive, "eth0", 0.032, events(3.0)),
                (Kind::NetworkReceive, "veth1", 0.5, events(3.0)),
                (Kind::NetworkTransmit, "eth0", 0.8, events(53.0)),
                (Kind::NetworkTransmit, "veth1", 0.8, events(53.0)),
            ]
        );
    }

    #[test]
    fn what_can_be_full_is_a_unit_and_a_link_without_a_speed_is_none() {
        let mut read = vec![Reading::default(), Reading { at_ns: 2_000_000_000, samples: Vec::new() }];
        for (at, reading) in read.iter_mut().enumerate() {
            let at = at as f64;
            reading.add(&q::CPU_BUSY, "cpu0", 1.0 + at);
            reading.add(&q::CPU_BUSY, "cpu1", 2.0);
            reading.add(&q::CPU_PRESSURE, "", at * 0.5);
            reading.add(&q::DISK_BUSY, "sda", at * 2.2);
            reading.add(&q::DISK_QUEUE, "sda", at * 14.0);
            reading.add(&q::NETWORK_SENT, "lo", at * 1e9);
            reading.add(&q::NETWORK_SENT, "eth0", at * 1e8);
            reading.add(&q::NETWORK_SPEED, "eth0", 1.25e8);
            // A tunnel: 10 Mbit/s by its own words.
            reading.add(&q::NETWORK_SENT, "tun0", at * 1e7);
            reading.add(&q::NETWORK_RECEIVED, "tun0", at * 1e3);
            reading.add(&q::NETWORK_SPEED, "tun0", 1.25e6);
            reading.add(&q::QUOTA_USED, "proxy", at);
            reading.add(&q::QUOTA_PROCESSORS, "proxy", 0.5);
        }
        let found = over(&read, ALL.0, ALL.1);
        let busy: Vec<_> =
            found.units.iter().map(|unit| (unit.kind, unit.name.as_str(), unit.busy)).collect();
        assert_eq!(
            busy,
            [
                (Kind::Core, "cpu0", 0.5),
                (Kind::Core, "cpu1", 0.0),
                (Kind::Disk, "sda", 1.0),
                (Kind::NetworkTransmit, "eth0", 0.4),
                (Kind::CpuQuota, "proxy", 1.0),
                (Kind::Machine, "cpu", 0.25),
            ]
        );
        assert_eq!(found.units[2].waiting, Some(Waiting::Queue(7.0)));
        assert_eq!(found.units[5].waiting, Some(Waiting::Share(0.25)));
    }
}
