//! An answer of `cosmark plan` as JSON, and as a person reads it: one table, one sentence, and what would refute it.

use std::collections::{BTreeMap, BTreeSet};

use cosmark_capacity::ladder::Unit;
use cosmark_capacity::others::Others;
use cosmark_capacity::plan::{Held, Prediction, Range};
use cosmark_workload::units::signed_text;
use serde::Serialize;

use crate::fit;
use crate::units;

/// A value with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    value: f64,
    low: f64,
    /// Null where the store may not keep up.
    high: Option<f64>,
}

impl Interval {
    fn of(range: Range, scale: f64) -> Self {
        let high = range.high * scale;
        Self { value: range.value * scale, low: range.low * scale, high: high.is_finite().then_some(high) }
    }

    fn text(self, number: fn(f64) -> String) -> [String; 2] {
        let high = self.high.map_or_else(|| "?".to_owned(), number);
        [number(self.value), format!("{} to {high}", number(self.low))]
    }
}

/// One unit of the planned store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// `disk sda of storage1 (storage)`.
    pub unit: String,
    /// Operations per second at which it has no time left.
    pub ceiling_per_s: f64,
    /// Share of the time in which it would be busy.
    pub busy: f64,
}

/// What a store would do, and what it costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlook {
    machines: BTreeMap<String, usize>,
    throughput_per_s: Interval,
    throughput_per_s_of: BTreeMap<String, Interval>,
    service_ms: Interval,
    service_ms_of: BTreeMap<String, Interval>,
    bandwidth_bytes_per_s: f64,
    ceiling_per_s: Interval,
    limits: Vec<Limit>,
    extrapolated: bool,
    /// What an operation costs some unit falls with the load.
    costs_fall: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    energy: Option<Energy>,
}

/// What the processors' packages of a store draw at its load (RAPL).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Energy {
    /// Watts of all machines of each role that tells.
    pub watts: BTreeMap<String, f64>,
    /// Joules of all of these.
    pub joules_per_operation: f64,
}

/// What a store costs at its load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// How amounts are called.
    pub currency: String,
    /// An hour.
    pub per_hour: f64,
    /// 10^6 operations.
    pub per_million_operations: f64,
}

impl Outlook {
    /// Of a prediction, for a store of these machines.
    #[must_use]
    pub fn of(
        said: &Prediction,
        units: &[Unit],
        machines: BTreeMap<String, usize>,
        cost: Option<(String, f64)>,
    ) -> Self {
        let limit = |(unit, ceiling_per_s, busy): &(usize, f64, f64)| Limit {
            unit: units.get(*unit).map(unit_text).unwrap_or_default(),
            ceiling_per_s: *ceiling_per_s,
            busy: *busy,
        };
        let rate = said.throughput_per_s.value;
        let rates = said.classes.iter().zip(&said.class_rates_per_s);
        Self {
            machines,
            throughput_per_s: Interval::of(said.throughput_per_s, 1.0),
            throughput_per_s_of: rates
                .map(|((kind, _), rate)| (kind.clone(), Interval::of(*rate, 1.0)))
                .collect(),
            service_ms: Interval::of(said.service_s, 1e3),
            service_ms_of: said
                .classes
                .iter()
                .map(|(kind, time)| (kind.clone(), Interval::of(*time, 1e3)))
                .collect(),
            bandwidth_bytes_per_s: rate * said.bytes_each,
            ceiling_per_s: Interval::of(said.ceiling_per_s, 1.0),
            limits: said.limits.iter().filter(|one| one.1.is_finite()).map(limit).collect(),
            extrapolated: said.extrapolated,
            costs_fall: said.costs_fall,
            cost: cost.map(|(currency, per_hour)| Cost {
                currency,
                per_hour,
                per_million_operations: per_hour / (rate * 3600.0) * 1e6,
            }),
            energy: None,
        }
    }

    /// What measured figures would not be those that are predicted. A rate that the store keeps up with is what is asked, whatever
    /// the store is like: then its time is what can be wrong.
    fn refuted_by(&self) -> String {
        let [_, rates] = self.throughput_per_s.text(units::rate);
        let [_, times] = self.service_ms.text(units::ms);
        if self.throughput_per_s.high == Some(self.throughput_per_s.low) {
            format!("its operations do not take {times} ms on average")
        } else {
            format!("it does not come to {rates} operations/s")
        }
    }

    /// The same with what its machines draw, watts by role; nothing where none tells.
    #[must_use]
    pub fn drawing(self, watts: BTreeMap<String, f64>) -> Self {
        let joules_per_operation = watts.values().sum::<f64>() / self.throughput_per_s.value;
        let is_known = !watts.is_empty() && joules_per_operation.is_finite();
        Self { energy: is_known.then_some(Energy { watts, joules_per_operation }), ..self }
    }
}

fn unit_text(unit: &Unit) -> String {
    match unit.kind {
        cosmark_metrics::ResourceKind::Machine => format!("the processors of {} ({})", unit.node, unit.role),
        kind => format!("{} {} of {} ({})", kind.word(), unit.name, unit.node, unit.role),
    }
}

/// Everything that is said of one ladder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The run.
    pub run: String,
    /// Its stages.
    pub stages: Vec<String>,
    /// Stages that are left out, because the store refused or broke there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// The load: `64 workers`, `800/s`.
    pub load: String,
    /// The store as it was measured.
    pub now: Outlook,
    /// The store as it is asked for; null where nothing is to change.
    pub planned: Option<Outlook>,
    /// Mean relative distance of the model from what it was made from.
    pub misfit: f64,
    /// Machines of each role that are full at once, as proportions.
    pub balance: BTreeMap<String, f64>,
    /// What other programs took of the machines meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherPrograms>,
}

/// What other programs took of one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtherPrograms {
    unit: String,
    /// The most at any load, as a share of all its processors.
    most: f64,
}

impl OtherPrograms {
    /// With the names of the machines.
    #[must_use]
    pub fn of(others: &[Others], units: &[Unit]) -> Vec<Self> {
        let named = |one: &Others| Some(Self { unit: units.get(one.unit).map(unit_text)?, most: one.most });
        others.iter().filter_map(named).collect()
    }

    /// `up to 45 % of the processors of proxy1 (proxy)`.
    #[must_use]
    pub fn text(all: &[Self]) -> String {
        let each = |one: &Self| format!("up to {:.0} % of {}", one.most * 100.0, one.unit);
        all.iter().map(each).collect::<Vec<_>>().join(" and ")
    }
}

impl Answer {
    /// Which loads are left out, and why; `None` where none is.
    #[must_use]
    pub fn left_out(refused: &[String]) -> Option<String> {
        (!refused.is_empty()).then(|| {
            format!(
                "left out, because operations failed or were repeated there, which costs the store as well: {}",
                refused.join(", ")
            )
        })
    }

    /// As a person reads it.
    #[must_use]
    pub fn text(&self) -> String {
        let aim = self.planned.as_ref().unwrap_or(&self.now);
        let mut lines = vec![
            format!(
                "from {} ({}), at {}; the model lies {:.1} % from what it was made from",
                self.run,
                units::count(self.stages.len() as u64, "load"),
                self.load,
                self.misfit * 100.0
            ),
            self.table(),
            self.sentence(aim),
        ];
        lines.extend(Self::left_out(&self.refused).map(|text| format!("  {text}")));
        if aim.extrapolated {
            lines.push(
                "  the size lies beyond those that were measured: the interval does not know of that".into(),
            );
        }
        if aim.costs_fall {
            lines.push(
                "  what an operation costs falls with the load: each unit is taken at the load that it would have; the interval \
                 holds what its laws let be true"
                    .into(),
            );
        }
        if !self.others.is_empty() {
            lines.push(format!(
                "  other programs took {}: what they took is not counted; the interval reaches from a store beside them \
                 to one without them",
                OtherPrograms::text(&self.others)
            ));
        }
        if self.balance.len() > 1 {
            let parts: Vec<String> =
                self.balance.iter().map(|(role, many)| format!("{role} {many:.1}")).collect();
            lines.push(format!("  machines that would be full at once: {}", parts.join(" to ")));
        }
        lines.push(format!(
            "  to refute: {} and measure it at {}: if {}, this is wrong",
            if self.planned.is_some() { "build it" } else { "repeat the run" },
            self.load,
            aim.refuted_by()
        ));
        lines.join("\n")
    }

    /// Kinds of operation that are shown one by one; none where there is one only.
    fn kinds(&self) -> BTreeSet<&str> {
        let all = std::iter::once(&self.now).chain(&self.planned);
        let kinds: BTreeSet<&str> =
            all.flat_map(|one| one.service_ms_of.keys().map(String::as_str)).collect();
        if kinds.len() > 1 { kinds } else { BTreeSet::new() }
    }

    fn table(&self) -> String {
        let mut rows: Vec<[String; 4]> = Vec::new();
        let planned = self.planned.as_ref();
        let mut ranged =
            |name: String, of: &dyn Fn(&Outlook) -> Option<Interval>, number: fn(f64) -> String| {
                let now = of(&self.now).map(|value| value.text(number));
                let then = planned.and_then(of).map(|value| value.text(number));
                let [now, now_between] = now.unwrap_or_default();
                let [then, between] = then.unwrap_or_else(|| [String::new(), now_between]);
                rows.push([name, now, then, between]);
            };
        let kinds = self.kinds();
        ranged("operations/s".into(), &|one| Some(one.throughput_per_s), units::rate);
        for kind in &kinds {
            ranged(format!("  {kind}"), &|one| one.throughput_per_s_of.get(*kind).copied(), units::rate);
        }
        ranged("service time, ms".into(), &|one| Some(one.service_ms), units::ms);
        for kind in &kinds {
            ranged(format!("  {kind}"), &|one| one.service_ms_of.get(*kind).copied(), units::ms);
        }
        ranged("ceiling, operations/s".into(), &|one| Some(one.ceiling_per_s), units::rate);
        let mut plain = |name: &str, of: &dyn Fn(&Outlook) -> String| {
            rows.push([name.to_owned(), of(&self.now), planned.map(of).unwrap_or_default(), String::new()]);
        };
        if self.now.bandwidth_bytes_per_s > 0.0 {
            plain("bandwidth", &|one| units::bandwidth(one.bandwidth_bytes_per_s));
        }
        let machines = |one: &Outlook| {
            let parts: Vec<String> =
                one.machines.iter().map(|(role, many)| format!("{many} {role}")).collect();
            parts.join(", ")
        };
        plain("machines", &machines);
        if self.now.cost.is_some() {
            let amount = |one: &Outlook, of: fn(&Cost) -> f64| {
                one.cost.as_ref().map(|cost| format!("{:.4} {}", of(cost), cost.currency)).unwrap_or_default()
            };
            plain("cost of an hour", &|one| amount(one, |cost| cost.per_hour));
            plain("cost of 10^6 operations", &|one| amount(one, |cost| cost.per_million_operations));
        }
        if self.now.energy.is_some() {
            let power = |energy: &Energy| {
                let each = energy.watts.iter().map(|(role, watts)| format!("{watts:.0} {role}"));
                each.collect::<Vec<_>>().join(", ")
            };
            let of = |one: &Outlook, text: &dyn Fn(&Energy) -> String| {
                one.energy.as_ref().map(text).unwrap_or_default()
            };
            plain("power (RAPL), W", &|one| of(one, &power));
            plain("energy of an operation, J", &|one| {
                of(one, &|energy| units::ms(energy.joules_per_operation))
            });
        }
        let mut heads = vec!["", "as it is", "planned", "95 %"];
        let mut keep = vec![0, 1, 2, 3];
        if planned.is_none() {
            heads.remove(2);
            keep.remove(2);
        }
        let shown = |row: &[String; 4]| keep.iter().map(|at| row[*at].clone()).collect();
        fit::plain(&heads, 1, &rows.iter().map(shown).collect::<Vec<_>>())
    }

    fn sentence(&self, aim: &Outlook) -> String {
        let limited = |limit: &Limit| format!("{} ({:.0} % busy)", limit.unit, limit.busy * 100.0);
        let first = aim.limits.first().map(limited).unwrap_or_default();
        let next = aim.limits.get(1).map(|limit| {
            format!("; next would be {}, at {} operations/s", limit.unit, units::rate(limit.ceiling_per_s))
        });
        let next = next.unwrap_or_default();
        let doubt = if aim.service_ms.high.is_none() { ", if it keeps up" } else { "" };
        let rate = units::rate(aim.throughput_per_s.value);
        if self.planned.is_none() {
            return format!(
                "plan: the store does {rate} operations/s{doubt}; the first limit is {first}{next}"
            );
        }
        let growth = (aim.throughput_per_s.value / self.now.throughput_per_s.value - 1.0) * 100.0;
        let growth = signed_text(growth, 0);
        format!(
            "plan: it would do {rate} operations/s ({growth} %) in {} ms{doubt}; the first limit is {first}{next}",
            units::ms(aim.service_ms.value)
        )
    }
}

/// One load that was left out, and what was said of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedLoad {
    in_flight: f64,
    client_clear: bool,
    throughput_per_s: f64,
    predicted_per_s: Interval,
    throughput_ratio: f64,
    service_ms: f64,
    predicted_ms: Interval,
    service_ratio: f64,
}

/// What came of leaving out the upper third of a ladder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// The run.
    pub run: String,
    /// Loads that the model was made from.
    pub fitted: usize,
    /// The others.
    pub loads: Vec<CheckedLoad>,
}

/// A prediction counts as right within this share.
const RIGHT: f64 = 0.15;

impl Checked {
    /// Of the loads that were held out.
    #[must_use]
    pub fn of(run: &str, fitted: usize, held: &[Held]) -> Self {
        let load = |one: &Held| CheckedLoad {
            in_flight: one.load.in_flight,
            client_clear: one.load.client_clear,
            throughput_per_s: one.load.rate_per_s(),
            predicted_per_s: Interval::of(one.throughput_per_s, 1.0),
            throughput_ratio: one.throughput_per_s.value / one.load.rate_per_s(),
            service_ms: one.load.service_s() * 1e3,
            predicted_ms: Interval::of(one.service_s, 1e3),
            service_ratio: one.service_s.value / one.load.service_s(),
        };
        Self { run: run.to_owned(), fitted, loads: held.iter().map(load).collect() }
    }

    /// As a person reads it.
    #[must_use]
    pub fn text(&self) -> String {
        let heads = [
            "in flight",
            "operations/s",
            "predicted",
            "95 %",
            "predicted / measured",
            "service ms",
            "predicted",
            "predicted / measured",
        ];
        let row = |one: &CheckedLoad| {
            let [rate, between] = one.predicted_per_s.text(units::rate);
            let [time, _] = one.predicted_ms.text(units::ms);
            let note = if one.client_clear { "" } else { " (client full)" };
            vec![
                format!("{:.1}{note}", one.in_flight),
                units::rate(one.throughput_per_s),
                rate,
                between,
                format!("{:.2}", one.throughput_ratio),
                units::ms(one.service_ms),
                time,
                format!("{:.2}", one.service_ratio),
            ]
        };
        format!(
            "from {}: of its {} loads the lower {} alone were fitted; they predict the upper {}, which alone are counted\n\
             {}\ncheck: {}",
            self.run,
            self.fitted + self.loads.len(),
            self.fitted,
            self.loads.len(),
            fit::plain(&heads, 1, &self.loads.iter().map(row).collect::<Vec<_>>()),
            self.outcome()
        )
    }

    /// Loads at which the client was full say nothing of the store.
    fn outcome(&self) -> String {
        let clear: Vec<&CheckedLoad> = self.loads.iter().filter(|one| one.client_clear).collect();
        let right = clear.iter().filter(|one| (one.throughput_ratio - 1.0).abs() <= RIGHT).count();
        if clear.is_empty() {
            return "the client was full at each of the upper loads: nothing is known of the prediction"
                .to_owned();
        }
        format!(
            "the throughput of {right} of {} lies within {:.0} % of what was predicted from the lower {} loads{}",
            clear.len(),
            RIGHT * 100.0,
            self.fitted,
            if right == clear.len() { "" } else { ": do not plan with this run" }
        )
    }
}
