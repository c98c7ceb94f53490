//! The time axis of a stage: bins of whole intervals, at most so many. When there are more, bins are doubled, so that every
//! coarser axis is made of pairs of the finer one's bins and a run that goes on can be followed on it.

use cosmark_metrics::Phase;

use super::model::{PhaseSpan, TimeAxis};

/// The phases and their words in the data.
pub const PHASES: [(Phase, &str); 4] = [
    (Phase::Rampup, "rampup"),
    (Phase::Window, "window"),
    (Phase::Rampdown, "rampdown"),
    (Phase::Drain, "drain"),
];

/// The shortest bin: a stage of milliseconds is one bin.
const SHORTEST_US: u64 = 100_000;
/// Times in the archive are rounded to milliseconds: an end this far into a bin is none.
const ROUNDING_US: u64 = 2_000;

/// A stretch of time, microseconds since the stage's load began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub start_us: u64,
    pub length_us: u64,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run, not negative")]
fn micros(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e6).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a run fit 53 bits")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

impl Span {
    /// From seconds since the load began.
    pub fn of(start_s: f64, length_s: f64) -> Self {
        Self { start_us: micros(start_s), length_us: micros(length_s) }
    }

    /// Its length in seconds.
    pub fn length_s(self) -> f64 {
        seconds(self.length_us)
    }

    pub fn end_us(self) -> u64 {
        self.start_us + self.length_us
    }

    /// Number of the stretch of `grid_us` in which its middle lies.
    fn number_on(self, grid_us: u64) -> u64 {
        self.start_us.saturating_mul(2).saturating_add(self.length_us) / grid_us.saturating_mul(2).max(1)
    }

    /// That stretch.
    pub fn on_grid(self, grid_us: u64) -> Self {
        Self { start_us: self.number_on(grid_us) * grid_us, length_us: grid_us }
    }
}

/// How far what was recorded of a stage reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    last_us: u64,
    /// Longest interval.
    slice_us: u64,
    /// From and to of each phase, as in [`PHASES`].
    phases: [Option<(u64, u64)>; 4],
}

impl Extent {
    /// Something was recorded of this stretch.
    pub fn add(&mut self, phase: Phase, span: Span) {
        self.slice_us = self.slice_us.max(span.length_us);
        self.reach(phase, span);
    }

    /// The same of a stretch that is not over yet: how long an interval is it does not say, unless nothing else does.
    pub fn add_open(&mut self, phase: Phase, span: Span, is_first: bool) {
        if is_first {
            self.slice_us = self.slice_us.max(span.length_us);
        }
        self.reach(phase, span);
    }

    fn reach(&mut self, phase: Phase, span: Span) {
        let (start_us, end_us) = (span.start_us, span.end_us());
        self.last_us = self.last_us.max(end_us);
        let at = PHASES.iter().position(|row| row.0 == phase);
        if let Some(known) = at.and_then(|at| self.phases.get_mut(at)) {
            let (from, to) = known.unwrap_or((start_us, end_us));
            *known = Some((from.min(start_us), to.max(end_us)));
        }
    }

    /// Nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.last_us == 0 && self.phases.iter().all(Option::is_none)
    }
}

/// A stage's axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What the page sees.
    pub time: TimeAxis,
    /// Length of a bin.
    pub bin_us: u64,
    /// Length of an interval, seconds.
    pub slice_s: f64,
    /// Phases since the load began.
    pub phases: Vec<PhaseSpan>,
}

impl Axis {
    /// The axis with at most `most_bins` bins.
    pub fn of(extent: &Extent, most_bins: u32) -> Self {
        let slice_us = extent.slice_us.max(SHORTEST_US);
        let slices = extent.last_us.saturating_sub(ROUNDING_US).div_ceil(slice_us).max(1);
        let every = slices.div_ceil(u64::from(most_bins.max(1))).next_power_of_two();
        let bin_us = slice_us * every;
        let phases = PHASES.iter().zip(extent.phases).filter_map(|((_, word), span)| {
            let (from, to) = span?;
            Some(PhaseSpan { phase: (*word).to_owned(), from_s: seconds(from), to_s: seconds(to) })
        });
        Self {
            time: TimeAxis {
                bin_s: seconds(bin_us),
                bins: u32::try_from(slices.div_ceil(every)).unwrap_or(u32::MAX),
                end_s: seconds(extent.last_us.max(1000)),
            },
            bin_us,
            slice_s: seconds(slice_us),
            phases: phases.collect(),
        }
    }

    /// The bin that holds a stretch: where its middle lies, or the last.
    pub fn bin(&self, span: Span) -> u32 {
        let bin = u32::try_from(span.number_on(self.bin_us)).unwrap_or(u32::MAX);
        bin.min(self.time.bins.saturating_sub(1))
    }

    /// Length of a bin in seconds; the last may be shorter.
    pub fn length_s(&self, bin: u32) -> f64 {
        let begin_s = f64::from(bin) * self.time.bin_s;
        if bin + 1 >= self.time.bins { self.time.end_s - begin_s } else { self.time.bin_s }
    }

    /// The same for seconds since the load began.
    pub fn bin_of(&self, start_s: f64, length_s: f64) -> usize {
        self.bin(Span::of(start_s, length_s)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(slice_s: f64, end_s: f64, most_bins: u32) -> Axis {
        let mut extent = Extent::default();
        extent.add(Phase::Window, Span::of(0.0, slice_s));
        extent.add(Phase::Window, Span::of(0.0, 0.0));
        extent.last_us = micros(end_s);
        Axis::of(&extent, most_bins)
    }

    #[test]
    fn bins_are_whole_slices_doubled_until_they_are_no_more_than_allowed() {
        let cases = [
            (1.0, 17.0, 600, (1.0, 17)),
            (1.0, 17.001, 600, (1.0, 17)),
            (1.0, 17.3, 600, (1.0, 18)),
            (5.0, 3600.0, 600, (10.0, 360)),
            (1.0, 86_400.0, 600, (256.0, 338)),
            (0.1, 0.04, 600, (0.1, 1)),
            (1.0, 1000.0, 1, (1024.0, 1)),
        ];
        for (slice_s, end_s, most, (bin_s, bins)) in cases {
            let time = axis(slice_s, end_s, most).time;
            assert_eq!((time.bin_s, time.bins), (bin_s, bins), "{slice_s} {end_s} {most}");
        }
    }

    #[test]
    fn a_slice_lies_in_the_bin_of_its_middle_and_none_is_lost() {
        let axis = axis(1.0, 10.4, 5);
        assert_eq!((axis.time.bin_s, axis.time.bins), (4.0, 3));
        let bin = |start: f64, length: f64| axis.bin_of(start, length);
        assert_eq!([bin(0.0, 1.0), bin(3.0, 1.0), bin(4.0, 1.0), bin(10.0, 0.4)], [0, 0, 1, 2]);
        assert_eq!([bin(-2.0, 1.0), bin(900.0, 1.0)], [0, 2], "what lies outside goes to the ends");
    }
}
