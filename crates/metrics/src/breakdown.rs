//! Parts of one operation's sums: by size of the object, by endpoint. The parts of a whole are kept only where there is more
//! than one, so that a run of one size on one endpoint pays nothing for them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::is_nothing;
use crate::{Latency, Sample, TimeSums, WireSums};

/// The sum of some of one operation's samples.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PartSums {
    /// Successes.
    pub ok: u64,
    /// Failures.
    pub failed: u64,
    /// Body bytes of successes.
    pub bytes: u64,
    /// Connections opened; not known of sizes.
    pub connections: u64,
    /// Response times of successes; filled only where due and sent can differ.
    pub response: Latency,
    /// Service times of successes.
    pub service: Latency,
    /// Times to first byte of successes.
    pub first_byte: Latency,
    /// Times on the wire of successes, where the system stamped them.
    #[serde(skip_serializing_if = "is_nothing")]
    pub wire: WireSums,
    /// What the times of successes went into.
    #[serde(skip_serializing_if = "is_nothing")]
    pub time: TimeSums,
}

impl PartSums {
    /// Adds one sample; `paced` = due and sent can differ.
    pub fn add(&mut self, sample: &Sample, paced: bool) {
        self.connections += u64::from(sample.connections);
        if !sample.outcome.is_ok() {
            self.failed += 1;
            return;
        }
        self.ok += 1;
        self.bytes += sample.bytes;
        self.service.record(sample.service_ns());
        if paced {
            self.response.record(sample.response_ns());
        }
        if let Some(ns) = sample.time_to_first_byte_ns() {
            self.first_byte.record(ns);
        }
        if sample.wire.weight != 0 {
            self.wire.add(sample);
        }
        self.time.add(sample);
    }

    /// Adds another part of the same operation. Order does not matter.
    pub fn merge(&mut self, other: &Self) {
        let Self { ok, failed, bytes, connections, response, service, first_byte, wire, time } = other;
        self.ok += ok;
        self.failed += failed;
        self.bytes += bytes;
        self.connections += connections;
        self.response.merge(response);
        self.service.merge(service);
        self.first_byte.merge(first_byte);
        self.wire.merge(wire);
        self.time.merge(time);
    }

    /// The distribution that counts from due: the service times where due and sent are the same.
    #[must_use]
    pub fn response_or_service(&self) -> &Latency {
        if self.response.count() > 0 { &self.response } else { &self.service }
    }
}

/// A class of sizes: 0 is below 1 KiB, 1 is 1 KiB to below 4 KiB, and so on in powers of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SizeClass(u8);

impl SizeClass {
    /// The class of an object of this size.
    #[inline]
    #[must_use]
    pub fn of(bytes: u64) -> Self {
        match bytes.checked_ilog2() {
            Some(log @ 10..) => Self(u8::try_from((log - 10) / 2 + 1).unwrap_or(u8::MAX)),
            _ => Self(0),
        }
    }

    /// Least size in it.
    #[must_use]
    pub fn least_bytes(self) -> u64 {
        if self.0 == 0 { 0 } else { 1 << (10 + 2 * (u32::from(self.0) - 1)).min(63) }
    }

    /// Greatest size in it.
    #[must_use]
    pub fn most_bytes(self) -> u64 {
        1_u64.checked_shl(10 + 2 * u32::from(self.0)).map_or(u64::MAX, |end| end - 1)
    }

    /// Such as `4 KiB..16 KiB`; the upper end is not in it.
    #[must_use]
    pub fn label(self) -> String {
        let upper = self.most_bytes().checked_add(1).map_or_else(|| "16 EiB".to_owned(), binary);
        format!("{}..{upper}", binary(self.least_bytes()))
    }
}

fn binary(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let step = bytes.checked_ilog2().unwrap_or(0) / 10;
    let unit = UNITS.get(step as usize).copied().unwrap_or("B");
    format!("{} {unit}", bytes >> (10 * step))
}

/// One operation's sums by size. As long as all successes are of one class nothing is kept but its number: the class is
/// the whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SizeClasses {
    seen: Seen,
    /// Successes of each class, once there are several.
    split: BTreeMap<SizeClass, PartSums>,
    /// Failures whose size is known: those of writes.
    failed: BTreeMap<SizeClass, u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
enum Seen {
    #[default]
    Nothing,
    Only(SizeClass),
    Several,
}

impl SizeClasses {
    /// True when a success of this class needs [`SizeClasses::meet`] before it is added to the whole.
    #[inline]
    pub(crate) fn is_news(&self, class: SizeClass) -> bool {
        self.seen != Seen::Only(class) && self.seen != Seen::Several
    }

    /// True when each success has to be added to its class.
    #[inline]
    pub(crate) fn is_split(&self) -> bool {
        self.seen == Seen::Several
    }

    pub(crate) fn part_mut(&mut self, class: SizeClass) -> &mut PartSums {
        self.split.entry(class).or_default()
    }

    pub(crate) fn add_failure(&mut self, class: SizeClass) {
        *self.failed.entry(class).or_default() += 1;
    }

    /// The first success of `class` is about to be added to what `before` says.
    #[cold]
    pub(crate) fn meet(&mut self, class: SizeClass, before: impl FnOnce() -> PartSums) {
        self.seen = match self.seen {
            Seen::Nothing => Seen::Only(class),
            Seen::Only(first) if first != class => {
                self.split.insert(first, before());
                Seen::Several
            }
            same => same,
        };
    }

    /// Merges the classes of another whole. `ours` and `theirs` say the successes of both before they are merged.
    pub(crate) fn merge(
        &mut self,
        other: &Self,
        ours: impl FnOnce() -> PartSums,
        theirs: impl FnOnce() -> PartSums,
    ) {
        let Self { seen, split, failed } = other;
        for (class, count) in failed {
            *self.failed.entry(*class).or_default() += count;
        }
        match (self.seen, *seen) {
            (_, Seen::Nothing) => {}
            (Seen::Nothing, Seen::Only(class)) => self.seen = Seen::Only(class),
            (Seen::Only(ours), Seen::Only(theirs)) if ours == theirs => {}
            (_, Seen::Only(class)) => {
                self.meet(class, ours);
                self.part_mut(class).merge(&theirs());
            }
            (before, Seen::Several) => {
                if let Seen::Only(class) = before {
                    self.split.insert(class, ours());
                }
                self.seen = Seen::Several;
                split.iter().for_each(|(class, sums)| self.part_mut(*class).merge(sums));
            }
        }
    }

    /// The sums of all classes that have their own.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &PartSums> {
        self.split.values()
    }

    /// Failures of each class.
    pub(crate) fn failures(&self) -> impl Iterator<Item = &u64> {
        self.failed.values()
    }

    /// All classes with something in them; empty unless successes of several sizes occurred.
    #[must_use]
    pub fn several(&self) -> Vec<(SizeClass, PartSums)> {
        if !self.is_split() {
            return Vec::new();
        }
        let mut all = self.split.clone();
        for (class, failed) in &self.failed {
            all.entry(*class).or_default().failed += failed;
        }
        all.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpSnapshot;

    #[test]
    fn classes_are_powers_of_four_from_1_kib() {
        let cases = [
            (0, "0 B..1 KiB"),
            (1023, "0 B..1 KiB"),
            (1024, "1 KiB..4 KiB"),
            (4095, "1 KiB..4 KiB"),
            (4096, "4 KiB..16 KiB"),
            (65_536, "64 KiB..256 KiB"),
            (1 << 20, "1 MiB..4 MiB"),
            (5 << 40, "4 TiB..16 TiB"),
            (u64::MAX, "4 EiB..16 EiB"),
        ];
        for (bytes, label) in cases {
            let class = SizeClass::of(bytes);
            assert_eq!(class.label(), label, "{bytes}");
            assert!((class.least_bytes()..=class.most_bytes()).contains(&bytes), "{bytes}");
        }
    }

    #[test]
    fn one_size_makes_no_classes_and_a_second_one_makes_both_complete() {
        let sample = |bytes: u64, ns: u64| Sample { sent_ns: 1, end_ns: 1 + ns, bytes, ..Sample::default() };
        let mut op = OpSnapshot::default();
        for ns in 1..=5 {
            op.add(&sample(4096, ns), false);
        }
        assert!(op.sizes.several().is_empty());
        op.add(&sample(100, 9), false);
        op.add(&sample(5000, 6), false);
        let classes = op.sizes.several();
        let counts: Vec<_> =
            classes.iter().map(|(class, sums)| (class.label(), sums.ok, sums.bytes)).collect();
        assert_eq!(
            counts,
            [("0 B..1 KiB".to_owned(), 1, 100), ("4 KiB..16 KiB".to_owned(), 6, 5 * 4096 + 5000)]
        );
        assert_eq!(classes[1].1.service.max_ns(), Some(6));
    }

    #[test]
    fn times_on_the_wire_are_split_as_the_others_and_add_up_in_any_order() {
        let sample = |bytes: u64, wire_ns: u64, endpoint: u16| Sample {
            sent_ns: 1,
            end_ns: 1 + 2 * wire_ns,
            bytes,
            endpoint,
            wire: crate::WireTimes { spent_ns: wire_ns, weight: 1, ..Default::default() },
            ..Sample::default()
        };
        let (mut first, mut second, mut whole) =
            (OpSnapshot::default(), OpSnapshot::default(), OpSnapshot::default());
        for at in 1..=40_u64 {
            let small = sample(100, at * 1_000, 1 + u16::from(at > 10));
            let large = sample(1 << 20, at * 1_000_000, 2);
            first.add(&small, false);
            second.add(&large, true);
            [small, large].iter().for_each(|sample| whole.add(sample, false));
        }
        // What the system could not stamp is a success without such a time.
        let unstamped = Sample { wire: crate::WireTimes::default(), ..sample(100, 7, 1) };
        [&mut first, &mut whole].into_iter().for_each(|sums| sums.add(&unstamped, false));
        let (mut forth, mut back) = (first.clone(), second.clone());
        forth.merge(&second);
        back.merge(&first);
        for sums in [&forth, &back, &whole] {
            let result = crate::results::OperationResult::of(sums, 1.0);
            let classes: Vec<_> = result
                .size_classes
                .iter()
                .map(|class| (class.sums.ok, class.sums.wire_ms.count, class.sums.client_added_ms.count))
                .collect();
            assert_eq!(classes, [(41, 40, 40), (40, 40, 40)]);
            let most = |at: usize| result.size_classes[at].sums.wire_ms.max.unwrap();
            assert!((most(0) - 0.04).abs() < 1e-3 && (most(1) - 40.0).abs() < 0.1, "{result:?}");
            let endpoints: Vec<_> = result.endpoints.iter().map(|one| one.sums.wire_ms.count).collect();
            assert_eq!(endpoints, [10, 70]);
            assert_eq!(result.wire_ms.count, 80);
        }
    }
}
