//! What the histogram log says of time before a histogram is decoded: which operation each tag is, and when the load of each
//! stage began on the log's clock.

use std::collections::HashMap;

use cosmark_archive::{ArchiveError, HistogramLog, Run, RunRecord, StageRecord, StageState, TimeKind};
use cosmark_metrics::Phase;

use super::axis::{Extent, PHASES, Span};

/// What a line of the histogram log is about.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub stage: usize,
    pub operation: usize,
    pub kind: TimeKind,
    pub phase: Phase,
}

/// What stands behind a tag in each phase, as in [`PHASES`].
const SUFFIXES: [&str; 4] = [".rampup", "", ".rampdown", ".drain"];

/// Every tag that the log of this run may have.
pub fn places(record: &RunRecord) -> HashMap<String, Place> {
    let mut places = HashMap::new();
    for (stage, stage_record) in record.stages.iter().enumerate() {
        for (operation, operation_record) in stage_record.operations.iter().enumerate() {
            for kind in TimeKind::ALL {
                for ((phase, _), suffix) in PHASES.iter().zip(SUFFIXES) {
                    let tag = format!("{}.{}{suffix}", operation_record.tag, kind.word());
                    places.insert(tag, Place { stage, operation, kind, phase: *phase });
                }
            }
        }
    }
    places
}

/// How far the log of a stage reaches, in seconds of the log's clock.
#[derive(Debug, Clone, Copy)]
pub struct Logged {
    first_s: f64,
    slice_s: f64,
    phases: [Option<(f64, f64)>; 4],
}

impl Logged {
    /// The same since the load began at `origin_s`.
    pub fn extent(&self, origin_s: f64) -> Extent {
        let mut extent = Extent::default();
        for ((phase, _), span) in PHASES.iter().zip(self.phases) {
            let Some((from, to)) = span else { continue };
            extent.add(*phase, Span::of(from - origin_s, self.slice_s.min(to - from)));
            extent.add_open(*phase, Span::of(from - origin_s, to - from), false);
        }
        extent
    }
}

/// Looks through the heads of the log's lines.
pub fn logged(run: &Run, places: &HashMap<String, Place>) -> Result<Vec<Option<Logged>>, ArchiveError> {
    let mut all: Vec<Option<Logged>> = vec![None; run.record.stages.len()];
    HistogramLog::marks(&run.path, |tag, start, length| {
        let Some(place) = places.get(tag) else { return };
        let Some(slot) = all.get_mut(place.stage) else { return };
        let (start_s, length_s) = (start.as_secs_f64(), length.as_secs_f64());
        let own = slot.get_or_insert(Logged { first_s: start_s, slice_s: 0.0, phases: [None; 4] });
        own.first_s = own.first_s.min(start_s);
        own.slice_s = own.slice_s.max(length_s);
        let at = PHASES.iter().position(|row| row.0 == place.phase);
        if let Some(span) = at.and_then(|at| own.phases.get_mut(at)) {
            let (from, to) = span.unwrap_or((start_s, start_s + length_s));
            *span = Some((from.min(start_s), to.max(start_s + length_s)));
        }
    })?;
    Ok(all)
}

/// When the load began on the log's clock. The record says it; of older runs, where both files have the first success, their
/// difference does. Else it is the first line of the log, unless its slice was not the first: then the moment at which the
/// stage entered `running` is the better knowledge.
pub fn origin_s(
    logged: &Logged,
    first_counted_s: Option<f64>,
    stage: &StageRecord,
    record: &RunRecord,
) -> f64 {
    const WHOLE_SLICE: f64 = 0.9;
    const SHORTEST_S: f64 = 0.1;
    if let Some((began, base)) = stage.load_started.zip(record.submitted) {
        return began.duration_since(base).as_secs_f64();
    }
    if let Some(load_s) = first_counted_s {
        return logged.first_s - load_s;
    }
    let running =
        stage.history.iter().find(|change| change.state == StageState::Running).map(|change| change.at);
    let Some((running, base)) = running.zip(record.submitted) else { return logged.first_s };
    let running_s = running.duration_since(base).as_secs_f64();
    if logged.first_s - running_s > logged.slice_s.max(SHORTEST_S) * WHOLE_SLICE {
        running_s
    } else {
        logged.first_s
    }
}
