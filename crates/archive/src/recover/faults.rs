//! What is known of the faults of a stage that was cut: what its timeline says of each slot, and what is still written down as in
//! force. What they cost is not judged here.

use cosmark_metrics::{FaultFigure, FaultResult, SLOT_FIGURES, SlotResult};
use cosmark_workload::model::Stage;
use cosmark_workload::model::faults::{FaultKind, FaultSpec};
use jiff::Timestamp;

use crate::record::events::{
    EventKind, EventRecord, FAULT_HEALED, FAULT_LANDED, FAULT_NOTICED, FAULT_VOID, FAULT_WHOLE,
};
use crate::{FaultInForce, StageRecord};

/// How it is said of a fault that its agent was asked whether it is healed.
const SAYS_AGENT: &str = ", says agent ";
/// How it is said of a slot, without a colon, that healing failed.
const UNHEALED: &str = "COULD NOT BE HEALED";
/// Why no figure of a cut stage is known.
const UNKNOWN: &str = "the run was cut before it could be judged";

/// The faults of a stage that was cut at the moment `cut`. `left` are those that are written down as in force of this run;
/// `None` where that cannot be read.
pub fn of_cut_stage(
    stage: &Stage,
    record: &StageRecord,
    events: &[EventRecord],
    left: Option<&[FaultInForce]>,
    cut: Timestamp,
) -> Vec<FaultResult> {
    let own: Vec<&EventRecord> =
        events.iter().filter(|event| event.stage.as_ref() == Some(&record.id)).collect();
    let loaded = own.iter().find(|event| event.kind == EventKind::Stage && event.text == "load begins");
    // Without a load no fault was made.
    let Some(began) = record.load_started.or(loaded.map(|event| event.at)) else { return Vec::new() };
    let seconds = |at: Timestamp| at.duration_since(began).as_secs_f64().max(0.0);
    let cut_s = seconds(cut);
    stage
        .faults
        .iter()
        .map(|spec| {
            let mut result = empty(spec);
            for number in 1..=spec.repeats {
                let name = format!("{} {number}", spec.name);
                let steps: Vec<(f64, &str)> = own
                    .iter()
                    .filter(|event| event.kind == EventKind::Fault)
                    .filter_map(|event| Some((seconds(event.at), step_of(&event.text, &name)?)))
                    .collect();
                if steps.is_empty() {
                    let left = spec.repeats - number + 1;
                    result.remarks.push(format!("{left} of its {} slots had not begun", spec.repeats));
                    break;
                }
                let is_left =
                    left.map(|left| left.iter().any(|one| one.stage == record.id && one.fault == name));
                let (slot, remark) = slot_of(spec, number, &steps, is_left, cut_s);
                result.slots.push(slot);
                result.remarks.extend(remark.map(|remark| format!("{name}: {remark}")));
            }
            result
        })
        .collect()
}

fn empty(spec: &FaultSpec) -> FaultResult {
    let figures = SLOT_FIGURES.iter().map(|row| FaultFigure {
        figure: row.figure.to_owned(),
        title: row.title.to_owned(),
        unit: row.unit.to_owned(),
        reason: Some(UNKNOWN.to_owned()),
        ..FaultFigure::default()
    });
    FaultResult {
        name: spec.name.clone(),
        what: spec.kind.text(),
        kind: spec.kind.word().to_owned(),
        figures: figures.collect(),
        ..FaultResult::default()
    }
}

/// What an event says of the slot of this name.
fn step_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(name)?;
    // `gone 1 COULD NOT BE HEALED`, and neither `gone 10` nor the first slot of a fault that is called `gone 1`.
    rest.strip_prefix(": ").or_else(|| rest.strip_prefix(' ').filter(|rest| rest.starts_with(UNHEALED)))
}

/// When a fault was healed of which that was said at `at_s`; `None` where nobody knows. An agent that is asked says how long ago
/// that was, or that it is so by now.
fn healed_at(at_s: f64, by: &str) -> Option<f64> {
    let Some((when, _)) = by.split_once(SAYS_AGENT) else { return Some(at_s) };
    let (ago, unit) = when.trim().split_once(' ')?;
    let ago: f64 = ago.parse().ok().filter(|ago: &f64| ago.is_finite())?;
    unit.starts_with("s ").then(|| (at_s - ago).max(0.0))
}

/// A slot of which something is known, and what a reader should know of its healing.
fn slot_of(
    spec: &FaultSpec,
    number: u32,
    steps: &[(f64, &str)],
    is_left: Option<bool>,
    cut_s: f64,
) -> (SlotResult, Option<String>) {
    let found =
        |beginning: &str| steps.iter().find_map(|(at_s, text)| Some((*at_s, text.strip_prefix(beginning)?)));
    let from_s = steps.first().map_or(0.0, |step| step.0);
    let (landed, void) = (found(FAULT_LANDED), found(FAULT_VOID));
    // A guardian heals twice what may still be made: what became of the fault is what was said of that last.
    let is_of_healing = |text: &str| text.starts_with(FAULT_HEALED) || text.starts_with(UNHEALED);
    let last = steps.iter().rev().find(|(_, text)| is_of_healing(text));
    let healed = last.and_then(|(at_s, text)| Some((*at_s, text.strip_prefix(FAULT_HEALED)?)));
    let end_s = from_s + spec.slot.as_secs_f64();
    let was_made = !matches!(spec.kind, FaultKind::None)
        && steps.first().is_some_and(|(_, text)| !text.starts_with(FAULT_VOID));
    let after = |beginning: &str| found(beginning).map(|(at_s, _)| (at_s - from_s).max(0.0));
    let cut = (end_s > cut_s)
        .then(|| format!("cut {:.0} s before its end: the process that ran it was killed", end_s - cut_s));
    let mut slot = SlotResult {
        number,
        void: void.map(|(_, why)| why.to_owned()).or(cut),
        from_s,
        landed_s: landed.map(|(at_s, _)| at_s),
        proof: landed.map(|(_, proof)| proof.to_owned()),
        heal_s: healed.and_then(|(at_s, by)| healed_at(at_s, by)),
        healed_s: healed.and_then(|(at_s, by)| healed_at(at_s, by)),
        to_s: end_s.min(cut_s).max(from_s),
        noticed_after_s: after(FAULT_NOTICED),
        whole_after_s: after(FAULT_WHOLE),
        ..SlotResult::default()
    };
    let why = slot.void.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    for row in SLOT_FIGURES.iter().filter(|row| (row.of)(&slot).is_none()).collect::<Vec<_>>() {
        slot.unknown.insert(row.figure.to_owned(), why.clone());
    }
    let remark = match (was_made, healed, is_left) {
        (false, ..) => None,
        // The run itself.
        (_, Some((_, "")), _) => None,
        // Its agent was asked, maybe long after.
        (_, Some((at_s, by)), _) if by.contains(SAYS_AGENT) => {
            Some(format!("{FAULT_HEALED}{by}; that was said {at_s:.0} s after the load began"))
        }
        (_, Some((at_s, by)), _) => Some(format!("{FAULT_HEALED}{by}, {at_s:.0} s after the load began")),
        (_, None, Some(true)) => Some(
            "it was still written down as in force when this run was ended: `cosmark faults heal`".to_owned(),
        ),
        (_, None, Some(false)) => {
            Some("it was healed, or never made; by whom and when is not known".to_owned())
        }
        (_, None, None) => Some("it is not known whether it was healed".to_owned()),
    };
    (slot, remark)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cosmark_workload::{Environment, Format, parse_what_is_there};

    use super::*;
    use crate::Heal;

    fn at(s: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + s).unwrap()
    }

    fn stage(repeats: u32) -> Stage {
        let text = format!(
            "name: x\nstorage: {{type: mock}}\nstages:\n- {{name: main, faults: [{{name: gone, type: command, inject: a, heal: b, proof: c, \
             at: 5s, hold: 10s, slot: 30s, repeats: {repeats}}}], works: [{{name: w, workers: 1, runtime: 3000s, operations: [{{type: \
             read, containers: c(1), objects: c(1)}}]}}]}}\n"
        );
        let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
        workload.unwrap_or_else(|| panic!("{mistakes:?}")).stages.remove(0)
    }

    #[test]
    fn faults_of_a_cut_stage_stand_there_with_the_state_that_they_had() {
        let stage = stage(12);
        assert_eq!(stage.faults[0].slot, Duration::from_secs(30));
        let record = StageRecord::waiting(&stage, 0, at(0));
        assert_eq!(record.id, "s1-main");
        let said = [
            (0, EventKind::Stage, "load begins"),
            (4, EventKind::Fault, "gone 1 1: it is there: of a fault that is called gone 1"),
            (5, EventKind::Fault, "gone 1: a on this machine"),
            (6, EventKind::Fault, "gone 1: it is there: c ended with 0"),
            (7, EventKind::Command, "gone 1: healed, says a command"),
            (8, EventKind::Fault, "gone 1: the store has noticed"),
            (15, EventKind::Fault, "gone 1: healed"),
            (40, EventKind::Fault, "gone 1: redundancy is whole again HEALTH_OK"),
            (35, EventKind::Fault, "gone 2: void: it was there before it was made"),
            (65, EventKind::Fault, "gone 3: a on this machine"),
            (66, EventKind::Fault, "gone 3: it is there: c ended with 0"),
            (72, EventKind::Fault, "gone 3: healed by its guardian, because the run that made it is gone: b"),
            (80, EventKind::Fault, "gone 10: it is there: another one"),
        ];
        let mut events: Vec<EventRecord> = said
            .iter()
            .map(|(s, kind, text)| EventRecord::new(at(*s), *kind, Some("s1-main".to_owned()), text))
            .collect();
        events.push(EventRecord::new(
            at(70),
            EventKind::Fault,
            Some("s2-other".to_owned()),
            "gone 3: healed",
        ));
        let results = of_cut_stage(&stage, &record, &events, Some(&[]), at(70));
        let [result] = &results[..] else { panic!("{results:?}") };
        assert_eq!((result.name.as_str(), result.kind.as_str(), result.slots.len()), ("gone", "command", 3));
        let [first, second, third] = &result.slots[..] else { panic!("{result:?}") };
        assert_eq!((first.from_s, first.landed_s, first.healed_s), (5.0, Some(6.0), Some(15.0)));
        assert_eq!(
            (first.void.as_ref(), first.proof.as_deref(), first.to_s),
            (None, Some("c ended with 0"), 35.0)
        );
        assert_eq!(first.unknown["depth"], UNKNOWN);
        assert_eq!((first.noticed_after_s, first.whole_after_s), (Some(3.0), Some(35.0)));
        assert_eq!((second.noticed_after_s, second.whole_after_s), (None, None));
        assert_eq!(second.void.as_deref(), Some("it was there before it was made"));
        assert!(
            third.void.as_ref().is_some_and(|why| why.starts_with("cut 25 s before its end")),
            "{third:?}"
        );
        assert_eq!((third.landed_s, third.healed_s, third.to_s), (Some(66.0), Some(72.0), 70.0));
        let remarks = result.remarks.join("\n");
        assert!(
            remarks.contains("gone 3: healed by its guardian, because the run that made it is gone: b, 72 s"),
            "{remarks}"
        );
        assert!(
            remarks.contains("9 of its 12 slots had not begun") && !remarks.contains("gone 1"),
            "{remarks}"
        );

        // Nobody has healed it, or nobody knows.
        let events = &events[..11];
        let mut noted = FaultInForce::made_here("w1", "s1-main", "gone 3", "a", Heal::Itself);
        noted.since = at(65);
        for (left, words) in [
            (Some(&[noted][..]), "still written down as in force"),
            (Some(&[][..]), "by whom and when is not known"),
            (None, "it is not known whether it was healed"),
        ] {
            let results = of_cut_stage(&stage, &record, events, left, at(70));
            assert_eq!(results[0].slots[2].healed_s, None);
            assert!(results[0].remarks.iter().any(|one| one.contains(words)), "{words}: {results:?}");
        }
        assert!(of_cut_stage(&stage, &record, &[], None, at(70)).is_empty(), "no load was made");
    }

    #[test]
    fn of_a_fault_that_was_healed_twice_the_second_time_counts_also_where_that_failed() {
        let stage = stage(1);
        let record = StageRecord::waiting(&stage, 0, at(0));
        let left = [FaultInForce::made_here("w1", &record.id, "gone 1", "a", Heal::Itself)];
        let healed = "healed by its guardian, because the run that made it is gone: b";
        for (second, left, healed_s, words) in [
            (format!("{healed}; and a second time"), &[][..], Some(127.0), "and a second time, 127 s after"),
            (
                "COULD NOT BE HEALED by its guardian: b failed".to_owned(),
                &left[..],
                None,
                "still written down",
            ),
        ] {
            let said = [
                (7, format!("gone 1: {healed}; again in 120 s, since it may still be made")),
                (127, format!("gone 1: {second}")),
            ];
            let mut events =
                vec![EventRecord::new(at(0), EventKind::Stage, Some(record.id.clone()), "load begins")];
            let of = |(s, text): &(i64, String)| {
                EventRecord::new(at(*s), EventKind::Fault, Some(record.id.clone()), text)
            };
            events.extend(said.iter().map(of));
            let results = of_cut_stage(&stage, &record, &events, Some(left), at(6));
            assert_eq!(results[0].slots[0].healed_s, healed_s, "{results:?}");
            assert!(results[0].remarks.iter().any(|one| one.contains(words)), "{words}: {results:?}");
        }
    }

    #[test]
    fn what_an_agent_says_later_is_when_it_healed_a_fault_and_not_when_it_was_asked() {
        let stage = stage(1);
        let record = StageRecord::waiting(&stage, 0, at(0));
        let event = |s: i64, kind, text: &str| EventRecord::new(at(s), kind, Some(record.id.clone()), text);
        for (said, healed_s) in [
            ("healed 3590 s ago, says agent s1: nothing was heard of its run", Some(80.0)),
            ("healed 4 s before its run asked for it, says agent s1: it was ended", Some(3666.0)),
            ("healed by now, says agent s1", None),
            ("healed by its guardian, because the run that made it is gone: b", Some(3670.0)),
        ] {
            let events = [
                event(0, EventKind::Stage, "load begins"),
                event(65, EventKind::Fault, "gone 1: file there through agent s1"),
                event(3670, EventKind::Fault, &format!("gone 1: {said}")),
            ];
            let results = of_cut_stage(&stage, &record, &events, Some(&[]), at(70));
            let slot = &results[0].slots[0];
            assert_eq!((slot.heal_s, slot.healed_s), (healed_s, healed_s), "{said}");
            let later = if said.contains("agent") { "; that was said" } else { "," };
            let words = format!("gone 1: {said}{later} 3670 s after the load began");
            assert!(results[0].remarks.contains(&words), "{results:?}");
        }
    }
}
