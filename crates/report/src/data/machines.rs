//! What `run.json` says of the store's machines: figures of a stage, and the ladder that shows what limits the store.

use cosmark_archive::{RunRecord, StageRecord};
use cosmark_metrics::nodes::{costs, quantity as q};
use cosmark_metrics::results::{Metric, Unit};
use cosmark_metrics::{
    BottleneckResult, CandidateResult, EfficiencyResult, NodeResult, ResourceKind, UnitResult, Waiting,
};

use super::model::{Fact, LadderData, LadderStep, LadderUnit, NodeData, NodeUnit, RawShare};

/// Figures that are renewed more rarely are said to be old.
const OLD_S: f64 = 4.0;

/// What one machine was busy with in the measured window.
pub fn node(node: &NodeResult) -> NodeData {
    let mut busiest: Vec<&UnitResult> = Vec::new();
    for unit in &node.units {
        match busiest.iter_mut().find(|known| known.kind == unit.kind) {
            Some(known) if known.busy < unit.busy => *known = unit,
            Some(_) => {}
            None => busiest.push(unit),
        }
    }
    busiest.sort_by(|a, b| b.busy.total_cmp(&a.busy));
    let most = |id: &str| {
        let of = node.quantities.iter().filter(|one| one.quantity == id);
        of.map(|one| one.mean).reduce(f64::max)
    };
    NodeData {
        name: node.name.clone(),
        role: node.role.clone(),
        source: node.source.clone(),
        busiest: busiest.into_iter().map(unit).collect(),
        received_bytes_per_s: most(q::NETWORK_RECEIVED.id),
        sent_bytes_per_s: most(q::NETWORK_SENT.id),
        remarks: remarks(node),
    }
}

fn unit(unit: &UnitResult) -> NodeUnit {
    let of = |which: fn(Waiting) -> Option<f64>| unit.waiting.and_then(which);
    NodeUnit {
        kind: unit.kind.word().to_owned(),
        name: if unit.kind == ResourceKind::Machine { String::new() } else { unit.name.clone() },
        busy: unit.busy,
        highest_busy: unit.highest_busy,
        queue: of(|waiting| if let Waiting::Queue(queue) = waiting { Some(queue) } else { None }),
        waiting: of(|waiting| if let Waiting::Share(share) = waiting { Some(share) } else { None }),
    }
}

fn remarks(node: &NodeResult) -> Vec<String> {
    let mut said = Vec::new();
    match &node.lost {
        Some(why) => said.push(format!("did not answer: {why}")),
        None if node.readings < 2 => {
            said.push(format!("{} readings in the window: no figures", node.readings))
        }
        None => {}
    }
    if !node.is_covered() && node.readings >= 2 {
        let seen = node.covered_share.unwrap_or(0.0) * 100.0;
        said.push(format!("seen in {seen:.0} % of the window"));
    }
    if let Some(age) = node.renewed_every_s.filter(|age| *age > OLD_S) {
        said.push(format!("its figures are renewed every {age:.0} s only"));
    }
    if node.resets > 0 {
        said.push(format!("{} counters began anew: it was restarted", node.resets));
    }
    said
}

/// What a stage cost all machines, and what of it was the client's own work.
pub fn costs(stage: &StageRecord) -> Vec<Fact> {
    let fact = |(cost, value): (&Metric, f64)| Fact {
        name: cost.title.to_owned(),
        value: Some(value),
        unit: cost.unit.word().to_owned(),
    };
    costs::shown(&stage.nodes, &stage.clients, &stage.operations).into_iter().map(fact).collect()
}

/// Which share users got of what the machines can do by themselves.
pub fn raw_shares(record: &RunRecord) -> Vec<RawShare> {
    let all = record.stages.iter().flat_map(|stage| stage.efficiency.iter().map(move |one| (stage, one)));
    let share = |(stage, one): (&StageRecord, &EfficiencyResult)| {
        let (of, unit) = match one.of.as_str() {
            "disk_requests" => ("disk requests", Unit::PerS),
            "disk_bytes" => ("disks", Unit::BytesPerS),
            _ => ("network", Unit::BytesPerS),
        };
        RawShare {
            stage: stage.id.clone(),
            name: stage.name.clone(),
            direction: one.direction.clone(),
            of: of.to_owned(),
            unit: unit.word().to_owned(),
            user_per_s: one.user_per_s,
            raw_per_s: one.raw_per_s,
            share: one.share,
        }
    };
    all.map(share).collect()
}

/// The ladders of a run.
pub fn ladders(record: &RunRecord) -> Vec<LadderData> {
    record.bottlenecks.iter().map(|found| ladder(record, found)).collect()
}

fn ladder(record: &RunRecord, found: &BottleneckResult) -> LadderData {
    let name = |id: &str| {
        let stage = record.stages.iter().find(|stage| stage.id == id);
        stage.map_or_else(|| id.to_owned(), |stage| stage.name.clone())
    };
    let steps = found.steps.iter().map(|step| LadderStep {
        stage: step.stage.clone(),
        name: name(&step.stage),
        in_flight: step.in_flight,
        throughput_per_s: step.throughput_per_s,
        service_ms: step.service_ms,
    });
    LadderData {
        answer: found.answer.clone(),
        confidence: found.confidence.clone(),
        text: found.text.clone(),
        second: found.second.clone(),
        refute: found.refute.clone(),
        skewed: found.skewed.clone(),
        plateau_per_s: found.plateau_per_s,
        steps: steps.collect(),
        candidates: found.candidates.iter().map(|one| candidate(found, one)).collect(),
    }
}

fn candidate(found: &BottleneckResult, one: &CandidateResult) -> LadderUnit {
    let name = one.title();
    LadderUnit {
        named: found.units.contains(&name),
        name,
        demand_ms: one.demand_ms,
        ceiling_per_s: one.ceiling_per_s,
        ceiling_low_per_s: one.ceiling_low_per_s,
        ceiling_high_per_s: one.ceiling_high_per_s,
        busy: one.busy.clone(),
        against: one.against.clone(),
    }
}
