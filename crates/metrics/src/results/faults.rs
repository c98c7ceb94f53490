//! What faults cost: each of their slots, and what the slots of one fault have in common. The parts of a slot are those of
//! ISO/IEC 25045:2010, "Evaluation module for recoverability".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One fault of a stage, over all its repetitions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FaultResult {
    /// Its name in the workload.
    pub name: String,
    /// How it is made, in words.
    pub what: String,
    /// `bed`, `command`, `signal`, `proxy` or `none`.
    #[serde(rename = "type")]
    pub kind: String,
    /// How the rate is without a fault; null when there were too few seconds before the first slot, or too few operations in
    /// them.
    pub healthy: Option<HealthyResult>,
    /// Its slots in order.
    pub slots: Vec<SlotResult>,
    /// What the slots have in common, one entry for each figure.
    pub figures: Vec<FaultFigure>,
    /// What was seen where there was no fault; null where there was no such time.
    pub false_dips: Option<FalseDips>,
    /// What the proxy of a `proxy` fault itself added; null for others.
    pub proxy: Option<ProxyCost>,
    /// What a reader should know.
    pub remarks: Vec<String>,
}

/// The rate of a stage in its healthy seconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HealthyResult {
    /// First of them, seconds since the load began.
    pub from_s: f64,
    /// End of the last.
    pub to_s: f64,
    /// Median of the operations per second.
    pub median_per_s: f64,
    /// Their median absolute deviation.
    pub deviation_per_s: f64,
    /// Lower end of the band: median - 3 deviations.
    pub low_per_s: f64,
    /// Its upper end.
    pub high_per_s: f64,
    /// Mean of the seconds within the band, less what pauses take that come again and again: what is lost is counted from
    /// here.
    pub level_per_s: f64,
    /// The same in body bytes.
    pub level_bytes_per_s: f64,
}

/// One repetition of a fault. Times `.._s` without `after` are seconds since the load began; those with `after` count from
/// when the fault was asked for. What is null has its reason in `unknown`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SlotResult {
    /// From 1.
    pub number: u32,
    /// Why nothing can be said of it; null when all went as it was to.
    pub void: Option<String>,
    /// When the fault was asked for.
    pub from_s: f64,
    /// When it was proved to be there.
    pub landed_s: Option<f64>,
    /// By what.
    pub proof: Option<String>,
    /// When healing began.
    pub heal_s: Option<f64>,
    /// When it was done.
    pub healed_s: Option<f64>,
    /// End of the slot.
    pub to_s: f64,
    /// The rate was lower than without a fault, for longer than chance explains; null when that cannot be said.
    pub dip: Option<bool>,
    /// First operation that failed, to the second.
    pub first_error_after_s: Option<f64>,
    /// The store's own state showed it.
    pub noticed_after_s: Option<f64>,
    /// The rate fell.
    pub dip_after_s: Option<f64>,
    /// How far: 1 - the least mean of ten seconds / the level, of more seconds where ten differ by chance, of five where these
    /// are deeper by more than chance; of a shorter dip, of the seconds that lie whole in it. One of less than two seconds may
    /// have none, and is at least so deep.
    pub depth: Option<f64>,
    /// Operations that were not done.
    pub lost_operations: Option<f64>,
    /// Body bytes that were not moved.
    pub lost_bytes: Option<f64>,
    /// Operations beyond the level afterwards: they had waited.
    pub made_up_operations: Option<f64>,
    /// Operations that failed.
    pub failed_operations: Option<u64>,
    /// These by class, as in an operation; none where that is not known.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Seconds with less than a tenth of the level.
    pub below_tenth_s: Option<f64>,
    /// Seconds in which the 99th percentile of the response time was beyond `limit`, more than 1 % of operations
    /// failed, and more than in any second without a fault, or nothing was answered; where so few operations come that
    /// nothing is answered in some seconds by chance, the latter only in a dip.
    pub beyond_limit_s: Option<f64>,
    /// 99th percentile of the response time in the dip, in ms; where too few operations were answered in it, until
    /// those were that had waited; where the rate did not fall, while the fault was there, and of a slot without one,
    /// of all of it.
    pub p99_ms: Option<f64>,
    /// The rate was back in the band, and stayed there as long as it had to.
    pub back_after_s: Option<f64>,
    /// Redundancy was whole again.
    pub whole_after_s: Option<f64>,
    /// Operations that were not done between healing and then; 0 where chance explains what is missing.
    pub rebuild_lost_operations: Option<f64>,
    /// Operations of the slot over those of as many seconds without a fault: of other slots without one, or where there are
    /// none, before the first slot.
    pub resiliency: Option<f64>,
    /// Steps that somebody beside the store took to heal it.
    pub manual_steps: Option<u32>,
    /// Parts of the slot, in order.
    pub parts: Vec<SlotPart>,
    /// Operations per second from `course_from_s` on, a value for every `course_step_s` seconds.
    pub course_per_s: Vec<f64>,
    /// Where they begin, seconds since the load began: some time before the fault.
    pub course_from_s: f64,
    /// Seconds of each.
    pub course_step_s: f64,
    /// Why figures are null, by their names.
    pub unknown: BTreeMap<String, String>,
}

/// A part of a slot.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SlotPart {
    /// `injection`, `detection`, `initiation`, `recovery` or `keep`.
    pub part: String,
    /// Start, seconds since the load began.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
}

/// A figure over the slots of a fault.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FaultFigure {
    /// Its name, as in a slot.
    pub figure: String,
    /// For people.
    pub title: String,
    /// `s`, `ms`, `share`, `count` or `bytes`.
    pub unit: String,
    /// Mean of the slots that have it; null when none has.
    pub mean: Option<f64>,
    /// Lower end of its 95 % interval (Student); null with fewer than two.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// How many slots have it.
    pub slots: u32,
    /// Why none has it; null otherwise.
    pub reason: Option<String>,
}

/// How often a dip is found where there was no fault.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FalseDips {
    /// Stretches without a fault that were looked at.
    pub stretches: u32,
    /// Seconds of each.
    pub seconds: f64,
    /// Dips that were found.
    pub dips: u32,
    /// Upper end of the 95 % interval of their share (Clopper and Pearson).
    pub share_at_most: f64,
}

/// What a proxy between client and store adds while it makes no fault.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProxyCost {
    /// Where it listened.
    pub listens: String,
    /// Where it sent to.
    pub of: String,
    /// Connections.
    pub connections: u64,
    /// Bytes in both directions.
    pub bytes: u64,
    /// Mean time from when bytes had been read to when they had been sent on, in microseconds; null when none were.
    pub mean_us: Option<f64>,
    /// The longest.
    pub max_us: Option<f64>,
    /// Processor time of its thread, in seconds; null where the system does not tell.
    pub cpu_s: Option<f64>,
}

/// A figure: its name in a slot, for people, its unit, and where it stands.
#[derive(Debug, Clone, Copy)]
pub struct SlotFigure {
    /// Its name in `run.json`.
    pub figure: &'static str,
    /// For people.
    pub title: &'static str,
    /// `s`, `ms`, `share`, `count` or `bytes`.
    pub unit: &'static str,
    /// Where it stands.
    pub of: fn(&SlotResult) -> Option<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "counts of operations")]
fn failed(slot: &SlotResult) -> Option<f64> {
    slot.failed_operations.map(|failed| failed as f64)
}

const fn row(
    figure: &'static str,
    title: &'static str,
    unit: &'static str,
    of: fn(&SlotResult) -> Option<f64>,
) -> SlotFigure {
    SlotFigure { figure, title, unit, of }
}

/// The figures of a slot, in the order in which they are shown.
pub const SLOT_FIGURES: &[SlotFigure] = &[
    row("landed_after_s", "proved after", "s", |slot| slot.landed_s.map(|landed_s| landed_s - slot.from_s)),
    row("first_error_after_s", "first failure after", "s", |slot| slot.first_error_after_s),
    row("noticed_after_s", "store noticed after", "s", |slot| slot.noticed_after_s),
    row("dip_after_s", "rate fell after", "s", |slot| slot.dip_after_s),
    row("depth", "depth", "share", |slot| slot.depth),
    row("lost_operations", "operations lost", "count", |slot| slot.lost_operations),
    row("lost_bytes", "bytes lost", "bytes", |slot| slot.lost_bytes),
    row("made_up_operations", "operations made up later", "count", |slot| slot.made_up_operations),
    row("failed_operations", "operations failed", "count", failed),
    row("below_tenth_s", "below a tenth for", "s", |slot| slot.below_tenth_s),
    row("beyond_limit_s", "beyond the limit for", "s", |slot| slot.beyond_limit_s),
    row("p99_ms", "99th percentile inside", "ms", |slot| slot.p99_ms),
    row("back_after_s", "back after", "s", |slot| slot.back_after_s),
    row("whole_after_s", "redundancy whole after", "s", |slot| slot.whole_after_s),
    row("rebuild_lost_operations", "operations lost to rebuilding", "count", |slot| {
        slot.rebuild_lost_operations
    }),
    row("resiliency", "resiliency", "share", |slot| slot.resiliency),
    row("manual_steps", "steps to heal it", "count", |slot| slot.manual_steps.map(f64::from)),
];

impl FaultResult {
    /// As what operations failed in the slots that count, most often first; `None` where none did, or that is not known.
    #[must_use]
    pub fn failed_as(&self) -> Option<String> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        let counted = self.slots.iter().filter(|slot| slot.void.is_none());
        for (class, count) in counted.flat_map(|slot| &slot.errors) {
            let sum = sums.entry(class).or_default();
            *sum = sum.saturating_add(*count);
        }
        let mut all: Vec<(&str, u64)> = sums.into_iter().filter(|(_, count)| *count > 0).collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let said: Vec<String> = all.iter().map(|(class, count)| format!("{class} ({count})")).collect();
        (!said.is_empty()).then(|| format!("operations failed in its slots as {}", said.join(", ")))
    }
}

impl SlotResult {
    /// The figure of this name; `None` where it is not known, or there is none of the name.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<f64> {
        SLOT_FIGURES.iter().find(|row| row.figure == name).and_then(|row| (row.of)(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_summed_by_class_over_the_slots_that_count() {
        let slot = |void: Option<&str>, errors: &[(&str, u64)]| SlotResult {
            void: void.map(str::to_owned),
            errors: errors.iter().map(|(class, count)| ((*class).to_owned(), *count)).collect(),
            ..SlotResult::default()
        };
        let of = |slots: Vec<SlotResult>| FaultResult { slots, ..FaultResult::default() }.failed_as();
        let slots = vec![
            slot(None, &[("http_503", 3), ("timeout", 7)]),
            slot(Some("x"), &[("reset", 99)]),
            slot(None, &[("http_503", 5)]),
        ];
        assert_eq!(of(slots).as_deref(), Some("operations failed in its slots as http_503 (8), timeout (7)"));
        assert_eq!(of(vec![slot(None, &[]), slot(None, &[("timeout", 0)])]), None);
    }
}
