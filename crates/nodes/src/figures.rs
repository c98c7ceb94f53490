//! What one machine did in a window of time: figures from the readings that lie in it. Counters become rates between the
//! first and the last reading of the window; a counter that began anew adds what it has counted since, and one that steps
//! back a little waits until it has caught up. Nothing is interpolated: where readings are rare, the figures say how old
//! they were.

mod links;

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
    /// Why no unit was made of some numbers: they cannot be true. One sentence.
    pub doubt: Option<String>,
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
    let mut series = series_of(&used, from_ns, to_ns);
    let mut found = NodeFigures {
        readings: if used.len() < 2 { used.len() } else { inside.len() },
        renewed_every_s: renewed_every_s(&inside),
        seen: seen(&inside),
        ..NodeFigures::default()
    };
    let (parts, mut threads_ran_s, mut there) = (Parts::of(&used), 0.0, There::default());
    let without_zeros = parts_without_zeros(&used);
    for limit in limits_of_a_part(&series) {
        series.remove(&limit);
    }
    for ((id, unit), (quantity, points)) in series {
        let mut points = match without_zeros.get(&(id, unit.as_str())) {
            Some(part) => with_zeros(&used, &points, quantity.reads, |at| parts.holds(at, part)),
            None => points,
        };
        if id == q::CPU_IO_WAIT.id {
            never_back(&mut points);
        }
        let figure = match quantity.reads {
            Reads::Gauge => gauge(&points),
            Reads::Counter => counter(quantity, &points, &mut found.resets),
        };
        if let Some((mean, highest)) = figure {
            if id == q::THREAD_BUSY.id {
                threads_ran_s += mean * span_s(&points);
            }
            if ONE_AT_MOST.iter().any(|row| row.id == id) {
                there.seconds.insert((id, unit.clone()), span_s(&points));
            }
            found.quantities.push(QuantityResult { quantity: quantity.id.to_owned(), unit, mean, highest });
        }
    }
    let whole_s = used.first().zip(used.last()).map_or(0.0, |(first, last)| seconds(first.at_ns, last.at_ns));
    found.quantities.extend(daemons(threads_ran_s, whole_s));
    there.whole_s = whole_s;
    there.over_all_of_it(&mut found.quantities);
    leave_out_ways(&mut found.quantities);
    let (believed, doubt) = believed(&found.quantities, found.readings);
    found.units = units(&believed, &there);
    found.doubt = doubt;
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

/// The course of each quantity of each unit. A number that bears a time counts at that time, and once, however often it
/// was read since.
fn series_of(readings: &[&Reading], from_ns: u64, to_ns: u64) -> BTreeMap<(&'static str, String), Points> {
    let mut series: BTreeMap<(&'static str, String), Points> = BTreeMap::new();
    for reading in readings {
        for sample in &reading.samples {
            let key = (sample.quantity.id, sample.unit.clone());
            let points = &mut series.entry(key).or_insert((sample.quantity, Vec::new())).1;
            let at_ns = sample.at_ns.unwrap_or(reading.at_ns);
            let is_later = points.last().is_none_or(|(last_ns, _)| at_ns > *last_ns);
            if sample.at_ns.is_none() || (is_later && (from_ns..=to_ns).contains(&at_ns)) {
                points.push((at_ns, sample.value));
            }
        }
    }
    series
}

/// `nvme0n1` of `nvme0c1n1`, which is one of the ways to it (`CONFIG_NVME_MULTIPATH`).
fn reached_by(way: &str) -> Option<String> {
    let (subsystem, rest) = way.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let all_are = [subsystem, controller, namespace].iter().all(is_number);
    all_are.then(|| format!("nvme{subsystem}n{namespace}"))
}

/// Leaves out what the ways to a disk did where the disk itself counts the same, as since Linux 6.4.
fn leave_out_ways(figures: &mut Vec<QuantityResult>) {
    let moves = |figure: &&QuantityResult| figure.highest > 0.0 && figure.unit.starts_with("nvme");
    let key = |figure: &QuantityResult| (figure.quantity.clone(), figure.unit.clone());
    let counted: BTreeSet<(String, String)> = figures.iter().filter(moves).map(key).collect();
    figures.retain(|figure| {
        let disk = reached_by(&figure.unit);
        disk.is_none_or(|disk| !counted.contains(&(figure.quantity.clone(), disk)))
    });
}

/// How long each processor, thread and disk was there: some are switched on or off, end or are pulled out while a
/// machine runs.
#[derive(Default)]
struct There {
    /// By what tells how busy it is, and its name.
    seconds: BTreeMap<(&'static str, String), f64>,
    /// From the first reading to the last.
    whole_s: f64,
}

/// A processor that was there for no less was there all the time: an answer may lack a number.
const ALL_THE_TIME: f64 = 0.98;
/// What was there for less is busy for a share of the whole time, and what was there for longer for one of its own: a
/// daemon that was started again was as busy as either of its halves.
const BRIEF: f64 = 0.45;

impl There {
    fn seconds(&self, row: &Quantity, unit: &str) -> Option<f64> {
        self.seconds.get(&(row.id, unit.to_owned())).copied()
    }

    /// The share of the time in which a processor was there, by the one that was there longest.
    fn share_of_core(&self, core: &str) -> f64 {
        let cores = self.seconds.iter().filter(|((id, _), _)| *id == q::CPU_BUSY.id);
        let longest_s = cores.map(|(_, seconds)| *seconds).fold(0.0, f64::max);
        match self.seconds(&q::CPU_BUSY, core).map(|seconds| seconds / longest_s) {
            Some(share) if share < ALL_THE_TIME => share,
            _ => 1.0,
        }
    }

    /// A processor did nothing while it was not there.
    fn over_all_of_it(&self, figures: &mut [QuantityResult]) {
        let of_a_core = |figure: &&mut QuantityResult| {
            quantity(&figure.quantity).is_some_and(|row| row.of == Resource::Core)
        };
        for figure in figures.iter_mut().filter(of_a_core) {
            figure.mean *= self.share_of_core(&figure.unit);
        }
    }

    /// What how busy a thread or a disk was is multiplied by.
    fn brief(&self, row: &Quantity, unit: &str) -> f64 {
        let share = self.seconds(row, unit).map(|seconds| seconds / self.whole_s);
        match share {
            Some(share) if share < BRIEF && row.of != Resource::Core => share,
            _ => 1.0,
        }
    }
}

/// What is busy for no more than a second in each.
static ONE_AT_MOST: &[&Quantity] = &[&q::CPU_BUSY, &q::THREAD_BUSY, &q::DISK_BUSY];
/// Beyond this it is no error of the times of readings.
const IMPOSSIBLE: f64 = 2.0;

/// The figures of which units are made, and why of some there are none.
fn believed(figures: &[QuantityResult], readings: usize) -> (Vec<QuantityResult>, Option<String>) {
    let cannot_be = |figure: &&QuantityResult| {
        let is_bounded = ONE_AT_MOST.iter().any(|row| row.id == figure.quantity);
        is_bounded && readings >= LEAST_TO_TELL && figure.mean > IMPOSSIBLE
    };
    let (wrong, right): (Vec<_>, Vec<_>) = figures.iter().partition(cannot_be);
    let doubt = wrong.first().map(|first| {
        let others = if wrong.len() > 1 { format!(" and {} more", wrong.len() - 1) } else { String::new() };
        format!(
            "it says that {}{others} was busy for {:.1} s in each second, which cannot be, and counts as nothing: its numbers are in \
             other units, or several machines answer in turn",
            first.unit, first.mean
        )
    });
    (right.into_iter().cloned().collect(), doubt)
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

/// The part of its answers that each number is in of which its source says nothing where it is 0.
fn parts_without_zeros<'a>(readings: &[&'a Reading]) -> BTreeMap<(&'static str, &'a str), &'a str> {
    let mut firsts = BTreeMap::new();
    for sample in readings.iter().copied().flat_map(|reading| &reading.samples) {
        firsts.entry((sample.quantity.id, sample.unit.as_str())).or_insert(sample);
    }
    firsts.retain(|_, own| own.at_ns.is_none() && prometheus::leaves_zeros_out(&own.name));
    firsts.into_iter().map(|(key, own)| (key, part_of(&own.name))).collect()
}

/// The part of an exporter's answers that has numbers of this name: the first three words of it.
fn part_of(name: &str) -> &str {
    name.match_indices('_').nth(2).map_or(name, |(at, _)| name.split_at(at).0)
}

/// Which parts of its answers each reading has. An exporter gives all of them together; a server of Prometheus scrapes
/// each of them at a time of its own, and a reading of one says nothing of the others.
struct Parts<'a> {
    of_readings: Vec<BTreeSet<&'a str>>,
    /// Each part with all that ever came together with it.
    together: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Parts<'a> {
    fn of(readings: &[&'a Reading]) -> Self {
        let parts = |reading: &'a Reading| -> BTreeSet<&'a str> {
            reading.samples.iter().map(|sample| part_of(&sample.name)).collect()
        };
        let of_readings: Vec<BTreeSet<&str>> = readings.iter().copied().map(parts).collect();
        let mut together: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for all in &of_readings {
            all.iter().for_each(|part| together.entry(*part).or_default().extend(all));
        }
        Self { of_readings, together }
    }

    /// Whether reading `at` would have a number of this part that is not 0. One without any is an answer, too.
    fn holds(&self, at: usize, part: &str) -> bool {
        let own = self.of_readings.get(at);
        let with = self.together.get(part);
        own.zip(with).is_some_and(|(own, with)| own.is_empty() || !own.is_disjoint(with))
    }
}

/// A point at each reading that `holds` such numbers: 0 where there is none. A counter is not 0 again once it has
/// counted.
fn with_zeros(
    readings: &[&Reading],
    points: &[(u64, f64)],
    reads: Reads,
    holds: impl Fn(usize) -> bool,
) -> Vec<(u64, f64)> {
    let known: BTreeMap<u64, f64> = points.iter().copied().collect();
    let may_be_0 = |at_ns: u64| reads == Reads::Gauge || points.first().is_some_and(|first| at_ns < first.0);
    let point = |(at, reading): (usize, &&Reading)| {
        let is_0 = may_be_0(reading.at_ns) && holds(at);
        let value = known.get(&reading.at_ns).copied().or_else(|| is_0.then_some(0.0))?;
        Some((reading.at_ns, value))
    };
    readings.iter().enumerate().filter_map(point).collect()
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
    &q::QUEUE_SENT,
    &q::DISK_FOLLOWED,
    &q::DISK_FAR,
];

/// What 32 bits hold of its numbers. The kernel counts the milliseconds of a disk in so many (iostats.rst): those of a
/// queue of 32 requests come round every day and a half. So do the ports of a switch with what they dropped (RFC 2863),
/// and all counters of machines of 32 bits.
fn round_of(quantity: &Quantity) -> Option<f64> {
    const NUMBERS: f64 = 4_294_967_296.0;
    match (quantity.of, quantity.measured_in()) {
        (Resource::Disk, "s") => Some(NUMBERS / 1e3),
        (Resource::Disk, "bytes") => Some(NUMBERS * 512.0),
        (Resource::Disk | Resource::Network, _) => Some(NUMBERS),
        _ => None,
    }
}

/// What came round was no further from the end than this share of all, and is no further from the beginning: a counter
/// that a restart takes back has hardly ever come just there.
const NEAR_THE_END: f64 = 0.02;

/// How much a counter grew that is less than it was, and whether it began anew.
fn grown_back(quantity: &Quantity, before: f64, now: f64) -> (f64, bool) {
    let came_round =
        |round: &f64| before < *round && before > round * (1.0 - NEAR_THE_END) && now < round * NEAR_THE_END;
    match round_of(quantity).filter(came_round) {
        Some(round) => (round - before + now, false),
        None => (now, true),
    }
}

/// What is asked for in every second reading, and said again in those between ([`crate::links::EVERY`]).
static IN_TURNS: &[&Quantity] =
    &[&q::QUEUE_SEND_DROPS, &q::QUEUE_RECEIVE_DROPS, &q::QUEUE_HELD, &q::QUEUE_REQUEUES, &q::QUEUE_SENT];

/// Of such a number its first and its last point, where these say what was true at the reading before: else what it grew by is
/// of a second more or less than its time, of four.
fn renewed_ends<'a>(quantity: &Quantity, points: &'a [(u64, f64)]) -> &'a [(u64, f64)] {
    let is_said_again = |pair: &[(u64, f64)]| pair[0].1 == pair[1].1;
    let is_one = IN_TURNS.iter().any(|row| row.id == quantity.id) && points.len() > 3;
    if !is_one || !points.windows(2).any(is_said_again) {
        return points;
    }
    let from = usize::from(!is_said_again(&points[..2]));
    let to = points.len() - usize::from(is_said_again(&points[points.len() - 2..]));
    &points[from..to]
}

fn counter(quantity: &Quantity, points: &[(u64, f64)], resets: &mut usize) -> Option<(f64, f64)> {
    let points = renewed_ends(quantity, points);
    let whole = span_s(points);
    if whole <= 0.0 {
        return None;
    }
    // It begins at 0 again without a restart.
    let wraps = BEGIN_ANEW.iter().any(|row| row.id == quantity.id);
    let (mut sum, mut highest) = (0.0, 0.0_f64);
    // A number that did not move is not yet renewed: its time belongs to the next one that did.
    let mut since = points[0];
    for point in &points[1..] {
        let is_back = point.1 < since.1;
        if is_back && !wraps && point.1 > since.1 * STEP_BACK {
            continue;
        }
        let (grew, is_new) =
            if is_back { grown_back(quantity, since.1, point.1) } else { (point.1 - since.1, false) };
        *resets += usize::from(is_new && !wraps);
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

fn units(figures: &[QuantityResult], there: &There) -> Vec<UnitResult> {
    let rates: BTreeMap<(&str, &str), f64> = figures
        .iter()
        .map(|figure| ((figure.quantity.as_str(), figure.unit.as_str()), figure.mean))
        .collect();
    let rate = |row: &Quantity, unit: &str| rates.get(&(row.id, unit)).copied();
    let mut units = Vec::new();
    for figure in figures {
        let Some(row) = quantity(&figure.quantity).filter(|row| row.aspect == Aspect::Utilisation) else {
            continue;
        };
        let name = figure.unit.as_str();
        let mut add = |kind: Kind, full: f64, waiting: Option<Waiting>| {
            let share = |rate: f64| (rate / full).clamp(0.0, 1.0);
            let (busy, highest_busy) = (share(figure.mean) * there.brief(row, name), share(figure.highest));
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
                if let Some((full, waiting)) = links::link(kind, |row| rate(row, name)) {
                    add(kind, full, waiting);
                }
            }
            _ => {}
        }
    }
    units.extend(links::parts(figures, rate));
    units.extend(machine(figures, there));
    units
}

/// All processors together: the mean of each, and the pressure on all.
fn machine(figures: &[QuantityResult], there: &There) -> Option<UnitResult> {
    let of = |row: &Quantity| -> Vec<&QuantityResult> {
        figures.iter().filter(|figure| figure.quantity == row.id).collect()
    };
    let (cores, queues) = (of(&q::CPU_BUSY), of(&q::CPU_RUN_QUEUE));
    let count: f64 = cores.iter().map(|core| there.share_of_core(&core.unit)).sum();
    let mean = |sum: f64| (sum / count).clamp(0.0, 1.0);
    let queue = queues.iter().map(|figure| figure.mean).reduce(|a, b| a + b).map(Waiting::Queue);
    let runnable = of(&q::TASKS_RUNNABLE);
    let runnable = runnable.first().map(|figure| Waiting::Queue((figure.mean - count).max(0.0)));
    let pressure = of(&q::CPU_PRESSURE).first().map(|figure| Waiting::Share(figure.mean));
    (!cores.is_empty()).then(|| UnitResult {
        kind: Kind::Machine,
        name: "cpu".to_owned(),
        busy: mean(cores.iter().map(|core| core.mean).sum()),
        highest_busy: mean(cores.iter().map(|core| core.highest * there.share_of_core(&core.unit)).sum()),
        waiting: queue.or(pressure).or(runnable),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a test may stop at the first surprise")]
mod tests;
