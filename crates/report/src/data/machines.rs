//! What `run.json` says of the store's machines: figures of a stage, and the ladder that shows what limits the store.

use cosmark_archive::{RunRecord, StageRecord};
use cosmark_metrics::nodes::{costs, quantity as q, skew};
use cosmark_metrics::results::{Metric, Unit};
use cosmark_metrics::{
    BottleneckResult, CandidateResult, EfficiencyResult, NodeResult, ResourceKind, UnitResult, Waiting,
};

use super::model::{Fact, LadderData, LadderStep, LadderUnit, NodeData, NodeUnit, RawShare};

/// Figures that are renewed more rarely are said to be old.
const OLD_S: f64 = 4.0;

/// What the machines of a stage were busy with in the measured window. Of a single load it is said which parts are much busier
/// than others like them; of the steps of a ladder the ladder says it.
pub fn nodes(record: &RunRecord, stage: &StageRecord) -> Vec<NodeData> {
    let is_step = record.bottlenecks.iter().any(|found| found.stages.contains(&stage.id));
    let mut found: Vec<NodeData> = stage.nodes.iter().map(node).collect();
    if !is_step {
        for (name, text) in skew::of_stage(&stage.nodes, &record.idle_nodes, &stage.clients) {
            let own = found.iter_mut().find(|node| node.name == name);
            own.into_iter().for_each(|node| node.remarks.push(text.clone()));
        }
    }
    found
}

fn node(node: &NodeResult) -> NodeData {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_part_that_is_much_busier_than_its_like_is_a_remark_of_its_machine() {
        let node = |name: &str, busy: f64| NodeResult {
            name: name.to_owned(),
            role: "storage".to_owned(),
            readings: 9,
            units: vec![UnitResult {
                kind: ResourceKind::Disk,
                name: "sda".to_owned(),
                busy,
                highest_busy: busy,
                waiting: None,
            }],
            ..NodeResult::default()
        };
        let mut record: RunRecord = serde_json::from_value(json!({"schema": 1, "cosmark": "0", "id": "w1", "name": "n",
            "description": null, "state": "finished", "reason": null, "seed": 1, "submitted": null, "started": null,
            "ended": null, "process": null}))
        .unwrap();
        let mut stage: StageRecord =
            serde_json::from_value(json!({"id": "s1-main", "name": "main", "state": "completed"})).unwrap();
        stage.nodes = vec![node("s1", 0.1), node("s2", 0.9), node("s3", 0.1)];
        let remarks = |record: &RunRecord| -> Vec<usize> {
            nodes(record, &stage).iter().map(|node| node.remarks.len()).collect()
        };
        assert_eq!(remarks(&record), [0, 1, 0]);
        assert!(nodes(&record, &stage)[1].remarks[0].contains("the load is not spread"));
        let ladder = BottleneckResult { stages: vec!["s1-main".to_owned()], ..BottleneckResult::default() };
        record.bottlenecks = vec![ladder];
        assert_eq!(remarks(&record), [0, 0, 0]);
    }
}
