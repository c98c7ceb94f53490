//! The time axis of each stage: where its load began, how long the engine's slices are, and how many of them make one bin
//! of the report. Found from `intervals.csv` and the heads of the histogram log's lines, before any histogram is read.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use cosmark_archive::{ArchiveError, HistogramLog, Run, RunRecord, StageRecord, StageState, TimeKind};
use cosmark_metrics::Phase;

use super::model::{PhaseSpan, TimeAxis};

/// The phases, and what stands behind a tag and in the data for each.
const PHASES: [(Phase, &str, &str); 4] = [
    (Phase::Rampup, ".rampup", "rampup"),
    (Phase::Window, "", "window"),
    (Phase::Rampdown, ".rampdown", "rampdown"),
    (Phase::Drain, ".drain", "drain"),
];

/// What a line of the histogram log is about.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub stage: usize,
    pub operation: usize,
    pub kind: TimeKind,
    pub phase: Phase,
}

/// Every tag that the log of this run may have.
pub fn places(record: &RunRecord) -> HashMap<String, Place> {
    let mut places = HashMap::new();
    for (stage, stage_record) in record.stages.iter().enumerate() {
        for (operation, operation_record) in stage_record.operations.iter().enumerate() {
            for kind in TimeKind::ALL {
                for (phase, suffix, _) in PHASES {
                    let tag = format!("{}.{}{suffix}", operation_record.tag, kind.word());
                    places.insert(tag, Place { stage, operation, kind, phase });
                }
            }
        }
    }
    places
}

/// When things happened in one stage, in seconds of some clock.
#[derive(Debug, Clone)]
pub struct Extent {
    first_s: f64,
    last_s: f64,
    slice_s: f64,
    /// From and to of each phase, as in [`PHASES`].
    phases: [Option<(f64, f64)>; 4],
    /// Start of the first interval in which something succeeded.
    first_success_s: Option<f64>,
}

impl Extent {
    fn begun(at_s: f64) -> Self {
        Self { first_s: at_s, last_s: at_s, slice_s: 0.0, phases: [None; 4], first_success_s: None }
    }

    fn success(&mut self, start_s: f64) {
        self.first_success_s = Some(self.first_success_s.map_or(start_s, |first| first.min(start_s)));
    }

    fn add(&mut self, phase: Phase, start_s: f64, length_s: f64) {
        let end_s = start_s + length_s;
        self.first_s = self.first_s.min(start_s);
        self.last_s = self.last_s.max(end_s);
        self.slice_s = self.slice_s.max(length_s);
        let at = PHASES.iter().position(|row| row.0 == phase);
        if let Some(span) = at.and_then(|at| self.phases.get_mut(at)) {
            let (from, to) = span.unwrap_or((start_s, end_s));
            *span = Some((from.min(start_s), to.max(end_s)));
        }
    }
}

/// What happened when in each stage.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// On the clock of the histogram log, which has successes alone.
    pub logged: Option<Extent>,
    /// Since the load began, from `intervals.csv`.
    pub counted: Option<Extent>,
}

/// Looks through both files; each may be missing.
pub fn seen(run: &Run, places: &HashMap<String, Place>, has_log: bool) -> Result<Vec<Seen>, ArchiveError> {
    let stages = &run.record.stages;
    let mut seen = vec![Seen::default(); stages.len()];
    if has_log {
        for (seen, logged) in seen.iter_mut().zip(logged(&run.path, &run.record, places)?) {
            seen.logged = logged;
        }
    }
    run.intervals(|line| {
        let at = stages.iter().position(|stage| stage.id == line.stage);
        let Some(seen) = at.and_then(|at| seen.get_mut(at)) else { return };
        let Some((phase, _, _)) = PHASES.iter().find(|row| row.2 == line.phase) else { return };
        let extent = seen.counted.get_or_insert_with(|| Extent::begun(0.0));
        extent.add(*phase, line.start_s, line.end_s - line.start_s);
        if line.ok > 0 {
            extent.success(line.start_s);
        }
    })?;
    Ok(seen)
}

fn logged(
    path: &Path,
    record: &RunRecord,
    places: &HashMap<String, Place>,
) -> Result<Vec<Option<Extent>>, ArchiveError> {
    let mut extents: Vec<Option<Extent>> = vec![None; record.stages.len()];
    HistogramLog::marks(path, |tag, start, length| {
        let Some(place) = places.get(tag) else { return };
        let Some(extent) = extents.get_mut(place.stage) else { return };
        let (start_s, length_s) = (start.as_secs_f64(), length.as_secs_f64());
        let extent = extent.get_or_insert_with(|| Extent::begun(start_s));
        extent.add(place.phase, start_s, length_s);
        extent.success(start_s);
    })?;
    Ok(extents)
}

/// A stage's axis on the log's clock.
#[derive(Debug, Clone)]
pub struct Axis {
    /// When the load began, on the log's clock.
    pub origin_s: f64,
    /// What the page sees.
    pub time: TimeAxis,
    /// Length of the engine's slices in seconds.
    pub slice_s: f64,
    /// Phases since the load began.
    pub phases: Vec<PhaseSpan>,
}

/// The shortest bin in seconds: a stage of milliseconds is one bin.
const SHORTEST_S: f64 = 0.1;

impl Axis {
    /// The axis of a stage with at most `most_bins` bins; `None` when nothing was recorded over time.
    pub fn of(seen: &Seen, stage: &StageRecord, record: &RunRecord, most_bins: u32) -> Option<Self> {
        let extent = seen.counted.as_ref().or(seen.logged.as_ref())?;
        let origin_s = origin(seen, stage, record);
        // The extent's own clock against the load's begin.
        let shift_s = if seen.counted.is_some() { 0.0 } else { origin_s };
        let slice_s = extent.slice_s.max(SHORTEST_S);
        let end_s = (extent.last_s - shift_s).max(0.001);
        let (time, _) = grid(slice_s, end_s, most_bins);
        let phases = PHASES
            .iter()
            .zip(extent.phases)
            .filter_map(|((_, _, word), span)| {
                let (from, to) = span?;
                Some(PhaseSpan {
                    phase: (*word).to_owned(),
                    from_s: (from - shift_s).max(0.0),
                    to_s: to - shift_s,
                })
            })
            .collect();
        Some(Self { origin_s, time, slice_s, phases })
    }

    /// The bin that holds a slice; slices lie on the grid, so their middle decides.
    pub fn bin(&self, start: Duration, length: Duration) -> usize {
        self.bin_of(start.as_secs_f64() - self.origin_s, length.as_secs_f64())
    }

    /// The same for seconds since the load began.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded by the number of bins"
    )]
    pub fn bin_of(&self, start_s: f64, length_s: f64) -> usize {
        let bin = ((start_s + length_s / 2.0).max(0.0) / self.time.bin_s) as usize;
        bin.min(self.time.bins.saturating_sub(1) as usize)
    }
}

/// Bins of whole slices, at most `most_bins`, and how many slices make one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a day of slices fits")]
pub fn grid(slice_s: f64, end_s: f64, most_bins: u32) -> (TimeAxis, u32) {
    // Times in the log are rounded to milliseconds.
    let slices = ((end_s - 0.002).max(0.0) / slice_s).ceil().clamp(1.0, f64::from(u32::MAX)) as u32;
    let every = slices.div_ceil(most_bins.max(1)).max(1);
    (TimeAxis { bin_s: slice_s * f64::from(every), bins: slices.div_ceil(every), end_s }, every)
}

/// When the load began on the log's clock. Where both files have the first success, their difference says it. Else it is
/// the first line of the log, unless its slice was not the first: then the moment at which the stage entered `running` is
/// the better knowledge.
fn origin(seen: &Seen, stage: &StageRecord, record: &RunRecord) -> f64 {
    let Some(logged) = &seen.logged else { return 0.0 };
    let counted = seen.counted.as_ref().and_then(|counted| counted.first_success_s);
    if let Some((log_s, load_s)) = logged.first_success_s.zip(counted) {
        return log_s - load_s;
    }
    let running =
        stage.history.iter().find(|change| change.state == StageState::Running).map(|change| change.at);
    let Some((running, base)) = running.zip(record.submitted) else { return logged.first_s };
    let running_s = running.duration_since(base).as_secs_f64();
    if logged.first_s - running_s > logged.slice_s.max(SHORTEST_S) * 0.9 { running_s } else { logged.first_s }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_whole_slices_and_no_more_than_allowed() {
        let cases = [
            (1.0, 17.0, 600, (1.0, 17)),
            (1.0, 17.001, 600, (1.0, 17)),
            (1.0, 17.3, 600, (1.0, 18)),
            (5.0, 3600.0, 600, (10.0, 360)),
            (1.0, 86_400.0, 600, (144.0, 600)),
            (0.1, 0.04, 600, (0.1, 1)),
            (1.0, 1000.0, 0, (1000.0, 1)),
        ];
        for (slice_s, end_s, most, (bin_s, bins)) in cases {
            let (time, _) = grid(slice_s, end_s, most);
            assert_eq!((time.bin_s, time.bins), (bin_s, bins), "{slice_s} {end_s} {most}");
        }
    }

    #[test]
    fn a_slice_lies_in_the_bin_of_its_middle_and_none_is_lost() {
        let (time, _) = grid(1.0, 10.4, 5);
        let axis = Axis { origin_s: 2.0, time, slice_s: 1.0, phases: Vec::new() };
        let bin = |start: f64, length: f64| {
            axis.bin(Duration::from_secs_f64(start), Duration::from_secs_f64(length))
        };
        assert_eq!((time.bin_s, time.bins), (3.0, 4));
        assert_eq!([bin(2.0, 1.0), bin(4.0, 1.0), bin(5.0, 1.0), bin(12.0, 0.4)], [0, 0, 1, 3]);
        assert_eq!([bin(0.0, 1.0), bin(900.0, 1.0)], [0, 3], "what lies outside goes to the ends");
    }
}
