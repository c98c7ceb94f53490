//! Which load to try next. Pure: told how each trial came out, it says what to do. Doubling and halving on a logarithmic scale
//! with three-valued trials, after RFC 9971 (MLRsearch); confirmation at the answer right after an overload, so that a
//! system that does not recover from one is seen.

use cosmark_metrics::stats::settle::Decision;
use cosmark_workload::search::{Loads, Search, load_text};

/// Why a trial is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// From the list.
    Step,
    /// Looking for the first load that fails.
    Double,
    /// Closing the gap.
    Halve,
    /// The last one decided nothing.
    Again,
    /// A little above the answer, where it has to fail.
    Above,
    /// Once more at the answer, where it has to pass.
    Confirm,
}

impl Purpose {
    /// The word in `run.json`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Double => "double",
            Self::Halve => "halve",
            Self::Again => "again",
            Self::Above => "above",
            Self::Confirm => "confirm",
        }
    }
}

/// A trial to make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    pub load: f64,
    pub purpose: Purpose,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub best: Option<f64>,
    pub missed_at: Option<f64>,
    pub confirmed: u32,
    pub settled: bool,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Tried {
    load: f64,
    passed: bool,
    throughput: f64,
}

/// A search, as far as it has come.
#[derive(Debug)]
pub struct Machine {
    search: Search,
    /// One entry per load and purpose that was decided.
    tried: Vec<Tried>,
    /// The trial that is being made, and how many at its load decided nothing.
    now: Option<Request>,
    undecided: u32,
    /// What the first trial at this load was made for.
    purpose: Purpose,
    step: usize,
    confirmed: u32,
    /// The trial above the answer was made.
    above: bool,
    /// The best load has been refuted down to nothing.
    hopeless: bool,
    notes: Vec<String>,
}

/// How far above the answer a load has to fail.
const ABOVE: f64 = 1.1;

impl Machine {
    pub fn new(search: &Search) -> Self {
        Self {
            search: search.clone(),
            tried: Vec::new(),
            now: None,
            undecided: 0,
            purpose: Purpose::Step,
            step: 0,
            confirmed: 0,
            above: false,
            hopeless: false,
            notes: Vec::new(),
        }
    }

    /// The next trial; `None` when the search is over.
    pub fn next(&mut self) -> Option<Request> {
        self.now = match self.now {
            Some(last) if self.undecided > 0 => Some(Request { purpose: Purpose::Again, ..last }),
            _ => {
                let fresh = self.fresh();
                self.purpose = fresh.map_or(self.purpose, |request| request.purpose);
                fresh
            }
        };
        self.now
    }

    fn fresh(&mut self) -> Option<Request> {
        if self.hopeless {
            return None;
        }
        let request = |load, purpose| Some(Request { load, purpose });
        match self.search.loads.clone() {
            Loads::Steps(steps) => {
                if let Some(load) = steps.get(self.step) {
                    self.step += 1;
                    return request(*load, Purpose::Step);
                }
                self.confirmation()
            }
            Loads::Between(from, to) => match (self.best(), self.missed_at()) {
                (None, None) => request(self.search.rounded(from), Purpose::Double),
                (None, Some(_)) => None,
                (Some(low), None) if low >= to => self.confirmation(),
                (Some(low), None) => request(self.search.rounded((low * 2.0).min(to)), Purpose::Double),
                (Some(low), Some(high)) => {
                    let middle = self.search.rounded((low * high).sqrt());
                    if (high - low) / low <= self.search.width + 1e-9 || middle <= low || middle >= high {
                        self.confirmation()
                    } else {
                        request(middle, Purpose::Halve)
                    }
                }
            },
        }
    }

    fn confirmation(&mut self) -> Option<Request> {
        let best = self.best()?;
        if self.confirmed >= self.search.confirm {
            return None;
        }
        let above = self.search.rounded(best * ABOVE);
        let bisected = matches!(self.search.loads, Loads::Between(..));
        if bisected && !self.above && self.missed_at().is_some() && above > best {
            return Some(Request { load: above, purpose: Purpose::Above });
        }
        Some(Request { load: best, purpose: Purpose::Confirm })
    }

    /// How the trial came out that was asked for last, and its throughput per second.
    pub fn told(&mut self, decision: Decision, throughput: f64) {
        let Some(now) = self.now else { return };
        if decision == Decision::Undecided {
            self.undecided += 1;
            if self.undecided < self.search.extend {
                return;
            }
            self.notes.push(format!(
                "{}: still not decided after {} trials, counted as missed",
                load_text(now.load),
                self.undecided
            ));
        }
        let passed = decision == Decision::Pass;
        self.undecided = 0;
        match self.purpose {
            Purpose::Above => {
                self.above = true;
                if passed {
                    self.notes.push(format!(
                        "{} met the thresholds although a lower load did not: not monotonic",
                        load_text(now.load)
                    ));
                }
            }
            Purpose::Confirm if passed => self.confirmed += 1,
            Purpose::Confirm => self.refuted(now.load, throughput),
            _ => self.tried.push(Tried { load: now.load, passed, throughput }),
        }
    }

    /// A fresh trial at the answer failed: it passed by luck, or the system has not recovered.
    fn refuted(&mut self, load: f64, throughput: f64) {
        self.notes.push(format!(
            "a fresh trial at {} right after an overload missed the thresholds that it had met before",
            load_text(load)
        ));
        self.confirmed = 0;
        self.above = false;
        self.tried.retain(|one| one.load != load);
        self.tried.push(Tried { load, passed: false, throughput });
        self.hopeless = self.best().is_none();
    }

    /// The highest load that passed, below every load that failed; of a list, the one with the highest throughput.
    fn best(&self) -> Option<f64> {
        let passed = self.tried.iter().filter(|one| one.passed);
        if let Loads::Steps(_) = self.search.loads {
            return passed.max_by(|a, b| a.throughput.total_cmp(&b.throughput)).map(|one| one.load);
        }
        let lowest_missed =
            self.tried.iter().filter(|one| !one.passed).map(|one| one.load).fold(f64::INFINITY, f64::min);
        passed.map(|one| one.load).filter(|load| *load < lowest_missed).reduce(f64::max)
    }

    /// The lowest load above the best that failed.
    fn missed_at(&self) -> Option<f64> {
        let best = self.best().unwrap_or(0.0);
        let missed = self.tried.iter().filter(|one| !one.passed).map(|one| one.load);
        missed.filter(|load| *load > best).reduce(f64::min)
    }

    pub fn answer(&self) -> Answer {
        let (best, missed_at) = (self.best(), self.missed_at());
        let mut notes = self.notes.clone();
        let lowest_missed = self.tried.iter().filter(|one| !one.passed).map(|one| one.load).reduce(f64::min);
        let beyond =
            self.tried.iter().find(|one| one.passed && lowest_missed.is_some_and(|missed| one.load > missed));
        if let (Some(beyond), Some(missed)) = (beyond, lowest_missed) {
            notes.push(format!(
                "not monotonic: {} met the thresholds, {} did not",
                load_text(beyond.load),
                load_text(missed)
            ));
        }
        match (&self.search.loads, best, missed_at) {
            (Loads::Between(_, to), Some(_), None) => {
                notes.push(format!("every load up to {} met the thresholds: look higher", load_text(*to)));
            }
            (Loads::Between(from, _), None, _) if !self.hopeless => {
                notes.push(format!("{} already misses the thresholds: look lower", load_text(*from)));
            }
            _ => {}
        }
        let settled = best.is_some()
            && self.confirmed >= self.search.confirm
            && match self.search.loads {
                Loads::Steps(ref steps) => self.step >= steps.len(),
                Loads::Between(..) => missed_at.is_some(),
            };
        Answer { best, missed_at, confirmed: self.confirmed, settled, notes }
    }
}

#[cfg(test)]
mod tests;
