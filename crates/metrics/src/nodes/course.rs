//! The course of one machine over time: a handful of figures of each stretch between two readings that differ, and the charts
//! that they are drawn in. Reports, live pages and plots draw what is listed here, for the machines of each role.

use std::collections::BTreeMap;

use super::quantity::{self as q, Quantity, Reads};
use super::reading::Reading;
use crate::results::Unit;

/// How the units of a machine become one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// The mean of all.
    Mean,
    /// The one that has most: what is full does not show in a mean, and sums count a disk and what lies on it twice.
    Highest,
    /// Used of what there is room for: of the whole, where that is known, else of all of them together.
    Full,
    /// The same of the fullest of several.
    Fullest,
}

/// One line of a machine in a chart.
#[derive(Debug, Clone, Copy)]
pub struct CourseFigure {
    /// Of what: per second for what is counted up, as it is for what is not.
    pub quantity: &'static Quantity,
    /// How units become one.
    pub over: Over,
    /// What it is a share of.
    pub of: Option<&'static Quantity>,
    /// The line beside others of its machine.
    pub name: &'static str,
}

/// One chart of the machines of one role.
#[derive(Debug)]
pub struct NodeChart {
    /// Its name in addresses and files.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// What one reads there.
    pub hint: &'static str,
    /// Of its values.
    pub unit: Unit,
    /// Whether it is only shown where something is not 0.
    pub only_if_moved: bool,
    /// Its lines.
    pub figures: &'static [CourseFigure],
}

const fn mean(quantity: &'static Quantity, name: &'static str) -> CourseFigure {
    CourseFigure { quantity, over: Over::Mean, of: None, name }
}

const fn highest(quantity: &'static Quantity, name: &'static str) -> CourseFigure {
    CourseFigure { quantity, over: Over::Highest, of: None, name }
}

/// The charts of a role, in the order in which they are shown.
pub static NODE_CHARTS: &[NodeChart] = &[
    NodeChart {
        id: "processors",
        title: "Processors",
        hint: "Share of the time in which they ran anything: all of a machine, the busiest one, the busiest thread of the daemons, and what was used of a quota.",
        unit: Unit::Share,
        only_if_moved: false,
        figures: &[
            mean(&q::CPU_BUSY, "all"),
            highest(&q::CPU_BUSY, "busiest"),
            highest(&q::THREAD_BUSY, "busiest thread"),
            CourseFigure {
                quantity: &q::QUOTA_USED,
                over: Over::Highest,
                of: Some(&q::QUOTA_PROCESSORS),
                name: "quota",
            },
        ],
    },
    NodeChart {
        id: "disks",
        title: "Busiest disk",
        hint: "Share of the time in which at least one request was under way. A device that serves many at once has room left at 100 %: look at its queue.",
        unit: Unit::Share,
        only_if_moved: true,
        figures: &[highest(&q::DISK_BUSY, "")],
    },
    NodeChart {
        id: "disk-queue",
        title: "Requests under way at a disk",
        hint: "Mean number of requests that the disk with the most of them had to do.",
        unit: Unit::Count("request"),
        only_if_moved: true,
        figures: &[highest(&q::DISK_QUEUE, "")],
    },
    NodeChart {
        id: "disk-bytes",
        title: "Bytes of a disk",
        hint: "Of the disk that reads, or writes, most.",
        unit: Unit::BytesPerS,
        only_if_moved: true,
        figures: &[highest(&q::DISK_READ_BYTES, "read"), highest(&q::DISK_WRITTEN_BYTES, "written")],
    },
    NodeChart {
        id: "network",
        title: "Network",
        hint: "Of the interface that receives, or sends, most.",
        unit: Unit::BytesPerS,
        only_if_moved: true,
        figures: &[highest(&q::NETWORK_RECEIVED, "received"), highest(&q::NETWORK_SENT, "sent")],
    },
    NodeChart {
        id: "waiting",
        title: "Waiting",
        hint: "Share of the time in which some task waited for a processor, a disk or memory (PSI), or a control group was stopped because its quota was used up.",
        unit: Unit::Share,
        only_if_moved: true,
        figures: &[
            mean(&q::CPU_PRESSURE, "for a processor"),
            mean(&q::IO_PRESSURE, "for a disk"),
            mean(&q::MEMORY_PRESSURE, "for memory"),
            highest(&q::QUOTA_THROTTLED, "for its quota"),
        ],
    },
    NodeChart {
        id: "memory",
        title: "Memory",
        hint: "What programs could still get, and what keeps contents of disks.",
        unit: Unit::Bytes,
        only_if_moved: false,
        figures: &[mean(&q::MEMORY_AVAILABLE, "available"), mean(&q::MEMORY_CACHE, "page cache")],
    },
    NodeChart {
        id: "tcp",
        title: "TCP segments sent again",
        hint: "Per second; a sign of loss on the way, or of a receiver that cannot follow.",
        unit: Unit::PerS,
        only_if_moved: true,
        figures: &[mean(&q::TCP_RESENT, "")],
    },
    NodeChart {
        id: "full",
        title: "How full the store is",
        hint: "Used of what there is room for, copies and all: of the whole store where a machine knows that, else of all devices or file systems that it names; and of the fullest of these.",
        unit: Unit::Share,
        only_if_moved: false,
        figures: &[
            CourseFigure { quantity: &q::STORE_CAPACITY, over: Over::Full, of: None, name: "all" },
            CourseFigure {
                quantity: &q::STORE_CAPACITY,
                over: Over::Fullest,
                of: None,
                name: "fullest device",
            },
        ],
    },
];

/// All figures, chart by chart.
pub fn figures() -> impl Iterator<Item = (&'static NodeChart, &'static CourseFigure)> {
    NODE_CHARTS.iter().flat_map(|chart| chart.figures.iter().map(move |figure| (chart, figure)))
}

/// Counters whose numbers bear times of their own, as those of a kubelet's cAdvisor: each is renewed at a time of its
/// own, and what it grew by since the reading before was counted over many seconds.
#[derive(Debug, Clone, Default)]
pub struct OwnTimes(BTreeMap<(&'static str, String), OwnTime>);

#[derive(Debug, Clone, Copy)]
struct OwnTime {
    at_ns: u64,
    value: f64,
    /// Per second, between the last two numbers that differ in their times.
    rate: Option<f64>,
}

impl OwnTimes {
    /// Takes what is newer in a reading, and forgets what is not in it.
    #[expect(clippy::cast_precision_loss, reason = "seconds between two numbers")]
    fn take(&mut self, reading: &Reading) {
        let before = std::mem::take(&mut self.0);
        for sample in &reading.samples {
            let (Some(at_ns), Reads::Counter) = (sample.at_ns, sample.quantity.reads) else { continue };
            let (key, value) = ((sample.quantity.id, sample.unit.clone()), sample.value);
            let now = match before.get(&key) {
                Some(known) if known.at_ns >= at_ns => *known,
                Some(known) => {
                    let took_s = (at_ns - known.at_ns) as f64 / 1e9;
                    let rate = (value >= known.value).then(|| (value - known.value) / took_s);
                    OwnTime { at_ns, value, rate }
                }
                None => OwnTime { at_ns, value, rate: None },
            };
            self.0.insert(key, now);
        }
    }
}

/// The figures of the stretch between two readings, in the order of [`figures`]; `None` where nothing is known. What a
/// counter did that began anew is not known. A counter with times of its own has the rate of the last time over which
/// it was counted: `own` is what is known of these, by all readings before.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "seconds between readings, and a handful of units")]
pub fn between(earlier: &Reading, later: &Reading, own: &mut OwnTimes) -> Vec<Option<f64>> {
    own.take(earlier);
    own.take(later);
    let took_s = later.at_ns.saturating_sub(earlier.at_ns) as f64 / 1e9;
    let mut units: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
    let before: BTreeMap<(&str, &str), f64> = earlier
        .samples
        .iter()
        .filter(|sample| sample.quantity.reads == Reads::Counter)
        .map(|sample| ((sample.quantity.id, sample.unit.as_str()), sample.value))
        .collect();
    for sample in &later.samples {
        let value = match sample.quantity.reads {
            Reads::Gauge => Some(sample.value),
            Reads::Counter if sample.at_ns.is_some() => {
                own.0.get(&(sample.quantity.id, sample.unit.clone())).and_then(|known| known.rate)
            }
            Reads::Counter => before
                .get(&(sample.quantity.id, sample.unit.as_str()))
                .filter(|before| took_s > 0.0 && sample.value >= **before)
                .map(|before| (sample.value - before) / took_s),
        };
        if let Some(value) = value {
            units.entry(sample.quantity.id).or_default().push((&sample.unit, value));
        }
    }
    let of = |quantity: &Quantity| units.get(quantity.id).map_or(&[][..], Vec::as_slice);
    let rooms = rooms(of(&q::STORE_CAPACITY), of(&q::STORE_USED), of(&q::STORE_FREE));
    let figure = |(chart, row): (&NodeChart, &CourseFigure)| {
        let wholes = row.of.map(|whole| of(whole).iter().copied().collect::<BTreeMap<&str, f64>>());
        let share_of = |unit: &str, value: f64| match &wholes {
            None => Some(value),
            Some(wholes) => {
                let whole = *wholes.get(unit)?;
                (whole > 0.0).then(|| value / whole)
            }
        };
        let values = of(row.quantity).iter().filter_map(|(unit, value)| share_of(unit, *value));
        let values: Vec<f64> = values.collect();
        let found = match row.over {
            Over::Mean => (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64),
            Over::Highest => values.into_iter().reduce(f64::max),
            Over::Full => full(&rooms),
            Over::Fullest => fullest(&rooms),
        };
        found.map(|value| if chart.unit == Unit::Share { value.clamp(0.0, 1.0) } else { value })
    };
    figures().map(figure).collect()
}

/// What there is room for and what is used of it, by the device; of the whole store by nothing.
fn rooms<'a>(
    capacities: &[(&'a str, f64)],
    used: &[(&str, f64)],
    free: &[(&str, f64)],
) -> Vec<(&'a str, f64, f64)> {
    let [used, free] = [used, free].map(|all| all.iter().copied().collect::<BTreeMap<&str, f64>>());
    let room = |(unit, capacity): &(&'a str, f64)| {
        let rest = || free.get(unit).map(|free| (capacity - free).max(0.0));
        let used = used.get(unit).copied().or_else(rest)?;
        (*capacity > 0.0).then_some((*unit, *capacity, used))
    };
    capacities.iter().filter_map(room).collect()
}

fn full(rooms: &[(&str, f64, f64)]) -> Option<f64> {
    if let Some((_, capacity, used)) = rooms.iter().find(|room| room.0.is_empty()) {
        return Some(used / capacity);
    }
    let sum = rooms.iter().fold((0.0, 0.0), |sum, room| (sum.0 + room.1, sum.1 + room.2));
    (sum.0 > 0.0).then(|| sum.1 / sum.0)
}

fn fullest(rooms: &[(&str, f64, f64)]) -> Option<f64> {
    let devices = || rooms.iter().filter(|room| !room.0.is_empty());
    let shares = devices().map(|room| room.2 / room.1);
    shares.reduce(f64::max).filter(|_| devices().count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(second: u64, values: &[(&'static Quantity, &str, f64)]) -> Reading {
        let mut reading = Reading { at_ns: second * 1_000_000_000, samples: Vec::new() };
        values.iter().for_each(|(quantity, unit, value)| reading.add(quantity, unit, *value));
        reading
    }

    fn found(values: &[Option<f64>]) -> Vec<(&'static str, &'static str, f64)> {
        let named = figures().zip(values).filter_map(|((chart, row), value)| Some((chart, row, (*value)?)));
        named.map(|(chart, row, value)| (chart.id, row.name, value)).collect()
    }

    #[test]
    fn a_stretch_has_the_mean_and_the_busiest_of_each_kind_and_nothing_of_what_began_anew() {
        let earlier = reading(
            10,
            &[
                (&q::CPU_BUSY, "cpu0", 5.0),
                (&q::CPU_BUSY, "cpu1", 7.0),
                (&q::DISK_READ_BYTES, "sda", 900.0),
                (&q::DISK_READ_BYTES, "sdb", 0.0),
                (&q::QUOTA_USED, "proxy", 1.0),
                (&q::QUOTA_USED, "other", 1.0),
            ],
        );
        let later = reading(
            12,
            &[
                (&q::CPU_BUSY, "cpu0", 5.5),
                (&q::CPU_BUSY, "cpu1", 8.5),
                (&q::DISK_READ_BYTES, "sda", 100.0),
                (&q::DISK_READ_BYTES, "sdb", 50.0),
                (&q::QUOTA_USED, "proxy", 1.5),
                (&q::QUOTA_USED, "other", 3.0),
                (&q::QUOTA_PROCESSORS, "proxy", 0.5),
                (&q::MEMORY_AVAILABLE, "", 77.0),
            ],
        );
        assert_eq!(
            found(&between(&earlier, &later, &mut OwnTimes::default())),
            [
                ("processors", "all", 0.5),
                ("processors", "busiest", 0.75),
                ("processors", "quota", 0.5),
                ("disk-bytes", "read", 25.0),
                ("memory", "available", 77.0),
            ]
        );
        let same = between(&later, &later, &mut OwnTimes::default());
        assert_eq!(found(&same), [("memory", "available", 77.0)], "no time, no rate");
    }

    /// Two containers, each looked at every 10 s at a time of its own, by an exporter that is read more often.
    #[test]
    fn what_is_renewed_at_times_of_its_own_has_the_rate_of_the_time_over_which_it_was_counted() {
        let at = |second: u64, counted: [(&str, u64, f64); 2]| {
            let mut reading = Reading { at_ns: second * 1_000_000_000, samples: Vec::new() };
            for (container, true_s, value) in counted {
                let true_ns = Some(true_s * 1_000_000_000);
                reading.add_at(&q::QUOTA_USED, container, "", value, true_ns);
                reading.add(&q::QUOTA_PROCESSORS, container, 0.5);
            }
            reading
        };
        let readings = [
            at(10, [("a", 8, 100.0), ("b", 4, 50.0)]),
            at(15, [("a", 8, 100.0), ("b", 14, 51.0)]),
            at(20, [("a", 18, 102.0), ("b", 14, 51.0)]),
            at(21, [("a", 18, 102.0), ("b", 14, 51.0)]),
            // It began anew.
            at(29, [("a", 28, 1.0), ("b", 24, 55.0)]),
        ];
        let mut own = OwnTimes::default();
        let shares: Vec<Vec<f64>> = readings
            .windows(2)
            .map(|pair| found(&between(&pair[0], &pair[1], &mut own)).into_iter().map(|one| one.2).collect())
            .collect();
        assert_eq!(shares, [vec![0.2], vec![0.4], vec![0.4], vec![0.8]]);
    }

    #[test]
    fn a_store_is_as_full_as_who_knows_the_whole_says_or_as_all_devices_together() {
        let full = |values: &[(&'static Quantity, &str, f64)]| {
            let now = reading(12, values);
            let shares = between(&reading(10, &[]), &now, &mut OwnTimes::default());
            found(&shares).into_iter().map(|(_, name, share)| (name, share)).collect::<Vec<_>>()
        };
        let osds = [
            (&q::STORE_CAPACITY, "osd.0", 100.0),
            (&q::STORE_USED, "osd.0", 10.0),
            (&q::STORE_CAPACITY, "osd.1", 300.0),
            (&q::STORE_FREE, "osd.1", 75.0),
            (&q::STORE_CAPACITY, "osd.2", 300.0),
            (&q::STORE_CAPACITY, "osd.3", 0.0),
            (&q::STORE_USED, "osd.3", 0.0),
        ];
        assert_eq!(full(&osds), [("all", 0.5875), ("fullest device", 0.75)]);
        let whole = [(&q::STORE_CAPACITY, "", 1000.0), (&q::STORE_USED, "", 400.0)];
        assert_eq!(full(&[&osds[..], &whole[..]].concat()), [("all", 0.4), ("fullest device", 0.75)]);
        assert_eq!(full(&whole), [("all", 0.4)]);
        let one = [(&q::STORE_CAPACITY, "/srv", 10.0), (&q::STORE_FREE, "/srv", 12.0)];
        assert_eq!(full(&one), [("all", 0.0)]);
        assert_eq!(full(&[(&q::STORE_USED, "", 5.0)]), []);
        let over = [(&q::STORE_CAPACITY, "", 10.0), (&q::STORE_USED, "", 12.0)];
        assert_eq!(full(&over), [("all", 1.0)]);
    }
}
