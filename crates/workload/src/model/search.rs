//! `search:` of a stage: look for the highest rate or number of workers that meets the stage's thresholds; and `repeat:`, the
//! same stages again in a drawn order. Why in a drawn order: Abedi and Brecht, "Conducting Repeatable Experiments in Highly
//! Variable Cloud Computing Environments" (ICPE 2017).

use std::time::Duration;

use cosmark_units::{Complaint, parse_rate};

use crate::diagnostics::shown;
use crate::diagnostics::suggest;
use crate::model::{Arrivals, FINEST_SLICE, Load, Stage, WhenFull, WorkKind, Workload};

/// Most loads of a list.
pub(crate) const MOST_STEPS: usize = 200;
/// Most trials that may be asked for.
pub(crate) const MOST_TRIALS: u32 = 1000;
/// A trial has at least so many intervals, where they are not finer than sums are told: short ones need enough to tell
/// one second from the next.
const LEAST_INTERVALS: u32 = 16;
/// Most repetitions.
pub const MOST_REPEATS: u32 = 1000;

/// What is varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Arrivals per second of an open loop.
    Rate,
    /// Workers of a closed loop.
    Workers,
}

impl Over {
    /// Both, with their words.
    pub const TABLE: &'static [(Over, &'static str)] = &[(Over::Rate, "rate"), (Over::Workers, "workers")];

    /// The word in a workload.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }
}

/// Which loads are tried.
#[derive(Debug, Clone, PartialEq)]
pub enum Loads {
    /// All of these, in this order.
    Steps(Vec<f64>),
    /// Doubling from the first until one fails, then halving the gap; never beyond the second.
    Between(f64, f64),
}

/// A search.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// What is varied.
    pub over: Over,
    /// Which loads are tried.
    pub loads: Loads,
    /// The answer is settled when the gap between what passes and what fails is at most this share of it.
    pub width: f64,
    /// A trial that decides nothing is repeated and the results put together, until there are this many.
    pub extend: u32,
    /// Fresh trials at each end of the answer: those at the answer have to pass, those above it to miss.
    pub confirm: u32,
    /// No more trials than this.
    pub max_trials: u32,
    /// No trial begins later than this after the first.
    pub max_time: Duration,
}

impl Search {
    /// The defaults of everything but the loads.
    #[must_use]
    pub fn new(over: Over, loads: Loads) -> Search {
        Search {
            over,
            loads,
            width: 0.05,
            extend: 3,
            confirm: 3,
            max_trials: 60,
            max_time: Duration::from_secs(24 * 3600),
        }
    }

    /// The stage of one trial: this load, its own name, fine intervals, and no search.
    #[must_use]
    pub fn trial(&self, stage: &Stage, load: f64, suffix: &str) -> Stage {
        let mut trial = stage.clone();
        trial.search = None;
        trial.name = format!("{}-{}{}{suffix}", stage.name, self.unit(), load_text(load));
        for work in &mut trial.works {
            work.interval = work.interval.min(work.runtime / LEAST_INTERVALS).max(FINEST_SLICE);
            match self.over {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "loads are checked to be whole numbers of workers"
                )]
                Over::Workers => work.workers = load as u32,
                Over::Rate => work.load = with_rate(&work.load, load),
            }
        }
        trial
    }

    /// The load of the trial of this name, and what its name has behind that; `None` where it is no trial of this search.
    #[must_use]
    pub fn load_of<'a>(&self, stage: &Stage, trial: &'a str) -> Option<(f64, &'a str)> {
        let rest = trial.strip_prefix(stage.name.as_str())?.strip_prefix('-')?.strip_prefix(self.unit())?;
        let (load, suffix) = rest.split_at(rest.find('-').unwrap_or(rest.len()));
        let load = load.parse::<f64>().ok().filter(|load| load.is_finite() && *load > 0.0)?;
        Some((load, suffix))
    }

    fn unit(&self) -> &'static str {
        match self.over {
            Over::Rate => "rate",
            Over::Workers => "w",
        }
    }

    /// Rounds a load to what can be tried: whole workers, four digits of a rate.
    #[must_use]
    pub fn rounded(&self, load: f64) -> f64 {
        self.in_steps(load, f64::round)
    }

    /// The highest load that can be tried and is not above this one.
    #[must_use]
    pub fn rounded_down(&self, load: f64) -> f64 {
        let near = self.rounded(load);
        if near <= load { near } else { self.in_steps(load, f64::floor) }
    }

    fn in_steps(&self, load: f64, whole: fn(f64) -> f64) -> f64 {
        match self.over {
            Over::Workers => whole(load).max(1.0),
            Over::Rate => {
                let scale = 10_f64.powf(load.max(1e-9).log10().floor() - 3.0);
                // Divided, not multiplied, where that is exact: 0.1 has no exact value.
                if scale < 1.0 {
                    let inverse = (1.0 / scale).round();
                    whole(load * inverse) / inverse
                } else {
                    whole(load / scale) * scale
                }
            }
        }
    }
}

/// `400` or `12.5`.
#[must_use]
pub fn load_text(load: f64) -> String {
    format!("{load}")
}

fn with_rate(load: &Load, rate_per_s: f64) -> Load {
    match load {
        Load::Open { arrivals: Arrivals::Poisson { .. }, when_full } => {
            Load::Open { arrivals: Arrivals::Poisson { rate_per_s }, when_full: *when_full }
        }
        Load::Open { when_full, .. } => {
            Load::Open { arrivals: Arrivals::Constant { rate_per_s }, when_full: *when_full }
        }
        _ => Load::Open { arrivals: Arrivals::Constant { rate_per_s }, when_full: WhenFull::Wait },
    }
}

/// A load as it stands in the file.
pub(crate) fn parse_load(over: Option<Over>, text: &str) -> Result<f64, Complaint> {
    if over == Some(Over::Workers) {
        let whole = text.trim().parse::<u32>().ok().filter(|n| *n > 0);
        return whole.map(f64::from).ok_or_else(|| {
            (format!("`{}` is no number of workers", shown(text)), "write a whole number above 0".to_owned())
        });
    }
    parse_rate(text)
}

pub(crate) fn parse_over(text: &str) -> Result<Over, Complaint> {
    let word = text.trim();
    Over::TABLE.iter().find(|row| row.1 == word).map(|row| row.0).ok_or_else(|| {
        let hint = suggest::hint(word, Over::TABLE.iter().map(|row| row.1));
        (format!("cannot search over `{}`", shown(word)), hint)
    })
}

/// `5 %` or `0.05`.
pub(crate) fn parse_width(text: &str) -> Result<f64, Complaint> {
    let (number, scale) = text.trim().strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let width = number.trim().parse::<f64>().ok().map(|width| width / scale);
    width.filter(|w| (0.001..=1.0).contains(w)).ok_or_else(|| {
        (format!("`{}` is no width", shown(text)), "write a share from 0.1 % to 100 %, e.g. 5 %".to_owned())
    })
}

/// Repeats every group of measuring stages `times` times, named `-r1`, `-r2` ..: stages that stand behind each other and
/// have normal works only. The order of a group stays, but cells of one matrix are shuffled in each round.
pub fn repeat(workload: &mut Workload, times: u32, seed: u64) {
    let stages = std::mem::take(&mut workload.stages);
    let mut group: Vec<Stage> = Vec::new();
    let mut order = Order(seed);
    for stage in stages {
        let measures = !stage.works.is_empty()
            && stage.search.is_none()
            && stage.works.iter().all(|work| work.kind == WorkKind::Normal);
        if measures {
            group.push(stage);
        } else {
            workload.stages.extend(repeated(std::mem::take(&mut group), times, &mut order));
            workload.stages.push(stage);
        }
    }
    workload.stages.extend(repeated(group, times, &mut order));
}

/// The rounds of one group.
pub(crate) fn repeated(group: Vec<Stage>, times: u32, order: &mut Order) -> Vec<Stage> {
    let mut all = Vec::new();
    for round in 1..=times {
        for cells in group.chunk_by(|a, b| a.span.start == b.span.start && a.span.len == b.span.len) {
            let mut cells = cells.to_vec();
            order.shuffle(&mut cells);
            for cell in &mut cells {
                if times > 1 {
                    cell.name.push_str(&format!("-r{round}"));
                }
            }
            all.extend(cells);
        }
    }
    all
}

/// Draws orders: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(crate) struct Order(pub(crate) u64);

impl Order {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        usize::try_from((u128::from(z) * n as u128) >> 64).unwrap_or(0)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_rounded_to_what_can_be_tried_and_named() {
        let rate = Search::new(Over::Rate, Loads::Between(1.0, 2.0));
        for (load, text) in [(1234.56, "1235"), (0.123_456, "0.1235"), (400.0, "400"), (98_765.4, "98770")] {
            assert_eq!(load_text(rate.rounded(load)), text);
        }
        let workers = Search::new(Over::Workers, Loads::Between(1.0, 2.0));
        assert_eq!((workers.rounded(3.5), workers.rounded(0.2)), (4.0, 1.0));
    }

    #[test]
    fn a_limit_is_rounded_to_what_can_be_tried_and_is_not_beyond_it() {
        let rate = Search::new(Over::Rate, Loads::Between(1.0, 2.0));
        for (load, text) in [
            (12_345.0, "12340"),
            (33_333.0, "33330"),
            (8.333_33, "8.333"),
            (8.333, "8.333"),
            (999.96, "999.9"),
        ] {
            assert_eq!(load_text(rate.rounded_down(load)), text);
        }
        let workers = Search::new(Over::Workers, Loads::Between(1.0, 2.0));
        assert_eq!(workers.rounded_down(7.0), 7.0);
    }
}
