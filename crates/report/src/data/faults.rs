//! Faults and events of a stage, from `run.json` and `events.csv`.

use cosmark_archive::{ArchiveError, Run, StageRecord};
use cosmark_metrics::{FaultResult, SlotResult};

use super::model::{EventMark, FaultData, FaultFigureData, FaultSlotData, FaultSlotPart};

/// What happened while this stage ran.
pub fn events(run: &Run, stage: &StageRecord) -> Result<Vec<EventMark>, ArchiveError> {
    let Some(began) = stage.load_started.or(stage.started) else { return Ok(Vec::new()) };
    let (from, to) = (stage.started.unwrap_or(began), stage.ended);
    let own = run.events()?.into_iter().filter(|event| match &event.stage {
        Some(id) => *id == stage.id,
        None => event.at >= from && to.is_none_or(|to| event.at <= to),
    });
    let mark = |event: cosmark_archive::EventRecord| EventMark {
        at_s: (event.at.duration_since(began).as_secs_f64() * 1e3).round() / 1e3,
        kind: event.kind.word().to_owned(),
        text: event.text,
    };
    Ok(own.map(mark).collect())
}

/// One fault.
pub fn fault(fault: &FaultResult) -> FaultData {
    let healthy = fault.healthy.as_ref();
    FaultData {
        id: fault.name.replace(|sign: char| !sign.is_alphanumeric(), "-"),
        name: fault.name.clone(),
        what: fault.what.clone(),
        kind: fault.kind.clone(),
        low_per_s: healthy.map(|healthy| healthy.low_per_s),
        high_per_s: healthy.map(|healthy| healthy.high_per_s),
        level_per_s: healthy.map(|healthy| healthy.level_per_s),
        slots: fault.slots.iter().map(|slot| one_slot(fault, slot)).collect(),
        figures: fault
            .figures
            .iter()
            .map(|figure| FaultFigureData {
                title: figure.title.clone(),
                unit: figure.unit.clone(),
                mean: figure.mean,
                low: figure.low,
                high: figure.high,
                reason: figure.reason.clone(),
            })
            .collect(),
        quiet: fault.false_dips.as_ref().map(|quiet| {
            format!(
                "without a fault a dip was found in {} of {} stretches of {:.0} s (at most {:.0} % of them, with 95 % \
                 confidence)",
                quiet.dips,
                quiet.stretches,
                quiet.seconds,
                quiet.share_at_most * 100.0
            )
        }),
        proxy: fault.proxy.as_ref().map(|proxy| {
            let time = |us: Option<f64>| us.map_or("not known".to_owned(), |us| format!("{us:.0} µs"));
            let cpu = proxy.cpu_s.map_or("not known".to_owned(), |cpu_s| format!("{cpu_s:.1} s"));
            format!(
                "the load went through a proxy of Cosmark's ({}), which without a fault added {} to each block of bytes on \
                 average, {} at most, and took {cpu} of processor time",
                proxy.listens,
                time(proxy.mean_us),
                time(proxy.max_us)
            )
        }),
        remarks: fault.failed_as().into_iter().chain(fault.remarks.iter().cloned()).collect(),
    }
}

fn one_slot(fault: &FaultResult, slot: &SlotResult) -> FaultSlotData {
    let after = |after_s: Option<f64>| after_s.map(|after_s| slot.from_s + after_s);
    let is_fault = fault.kind != "none";
    let marks = [
        (is_fault.then_some(slot.from_s), "made"),
        (slot.landed_s, "proved"),
        (after(slot.first_error_after_s), "first failure"),
        (after(slot.noticed_after_s), "noticed"),
        (slot.heal_s, "healing"),
        (slot.healed_s, "healed"),
        (after(slot.back_after_s).filter(|_| slot.dip == Some(true)), "back"),
        // The store may have been whole later than the picture ends.
        (after(slot.whole_after_s).filter(|at_s| *at_s <= slot.to_s), "whole"),
    ];
    let mark = |(at_s, text): (Option<f64>, &str)| {
        Some(EventMark { at_s: at_s?, kind: "fault".to_owned(), text: text.to_owned() })
    };
    let part = |part: &cosmark_metrics::SlotPart| FaultSlotPart {
        part: part.part.clone(),
        from_s: part.from_s,
        to_s: part.to_s,
    };
    FaultSlotData {
        number: slot.number,
        void: slot.void.clone(),
        from_s: slot.from_s,
        to_s: slot.to_s,
        proof: slot.proof.clone(),
        dip: slot.dip,
        course_from_s: slot.course_from_s,
        course_step_s: slot.course_step_s,
        course_per_s: slot.course_per_s.clone(),
        parts: slot.parts.iter().map(part).collect(),
        marks: marks.into_iter().filter_map(mark).collect(),
        values: fault.figures.iter().map(|figure| slot.figure(&figure.figure)).collect(),
    }
}
