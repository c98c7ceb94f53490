//! Which load to try next. Pure: told how each trial came out, it says what to do. Doubling and halving on a logarithmic scale
//! with three-valued trials, after RFC 9971 (MLRsearch). No single trial decides anything for good: both ends of the answer
//! are confirmed by fresh trials, in turns, so that the lower end is tried right after an overload; trials that contradict
//! each other are repeated, and when the majority turns, the gap opens again.

use cosmark_stats::settle::Decision;
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
    /// The last one decided nothing; its results are put together with those of this one.
    Again,
    /// Trials contradict each other.
    Repeat,
    /// A little above the answer, where it has to fail.
    Above,
    /// Once more at one end of the answer.
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
            Self::Repeat => "repeat",
            Self::Above => "above",
            Self::Confirm => "confirm",
        }
    }
}

/// How a trial came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The data decide, or do not.
    Decided(Decision),
    /// It did not meet the thresholds, but the client itself was in trouble: that says nothing about the store.
    NotProven,
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
    /// Fresh trials at the best load that met the thresholds, one behind the other.
    pub confirmed: u32,
    /// Why the answer is not settled; `None` when it is.
    pub unsettled: Option<String>,
    pub notes: Vec<String>,
}

/// What is known of one load.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tried {
    load: f64,
    met: u32,
    missed: u32,
    /// How the last one came out, and how many did so one behind the other.
    last_met: bool,
    run: u32,
    /// How often a load was given up because nothing was decided, however often it was tried.
    blank: u32,
    /// The last time, because of the client.
    unproven: bool,
    throughput: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Met,
    Missed,
    /// As many trials say one as the other.
    Contested,
    /// Nothing is decided.
    Open,
}

impl Tried {
    fn standing(&self) -> Standing {
        match self.met.cmp(&self.missed) {
            std::cmp::Ordering::Greater => Standing::Met,
            std::cmp::Ordering::Less => Standing::Missed,
            std::cmp::Ordering::Equal if self.met > 0 && !self.is_stuck() => Standing::Contested,
            std::cmp::Ordering::Equal => Standing::Open,
        }
    }

    fn votes(&self) -> u32 {
        self.met + self.missed
    }

    /// More trials at this load would be a waste.
    fn is_stuck(&self) -> bool {
        self.votes() >= MOST_VOTES || self.blank >= MOST_BLANK || (self.votes() == 0 && self.blank > 0)
    }

    /// Trials that all say what the majority says, up to the last.
    fn agreeing(&self) -> u32 {
        let majority = match self.standing() {
            Standing::Met => self.last_met,
            Standing::Missed => !self.last_met,
            _ => false,
        };
        if majority { self.run } else { 0 }
    }

    fn is_certain(&self) -> bool {
        self.met.abs_diff(self.missed) >= CERTAIN || self.is_stuck()
    }

    fn text(&self) -> String {
        let Self { load, met, missed, .. } = self;
        format!("{} was met in {met} and missed in {missed} trials", load_text(*load))
    }
}

/// How far above the answer a load has to fail.
const ABOVE: f64 = 1.1;
/// Most trials at one load that decide something.
const MOST_VOTES: u32 = 12;
/// Most times that a load is given up before it is left alone.
const MOST_BLANK: u32 = 2;
/// Two loads that contradict each other are repeated until one gives in or both have so many trials more for than against.
const CERTAIN: u32 = 3;
/// Trials that the client spoiled, one behind the other, before a load is given up.
const MOST_UNPROVEN: u32 = 3;
/// An open zone is closed in from both sides until this part of the width is left on each.
const ZONE: f64 = 0.3;

/// A search, as far as it has come.
#[derive(Debug)]
pub struct Machine {
    search: Search,
    /// In order of load.
    tried: Vec<Tried>,
    /// The trial that is being made, and how many at its load decided nothing or proved nothing.
    now: Option<Request>,
    undecided: u32,
    unproven: u32,
    /// What the first trial at this load was made for.
    purpose: Purpose,
    step: usize,
    /// The trial above this load was made.
    above: Option<f64>,
    notes: Vec<String>,
}

impl Machine {
    pub fn new(search: &Search) -> Self {
        Self {
            search: search.clone(),
            tried: Vec::new(),
            now: None,
            undecided: 0,
            unproven: 0,
            purpose: Purpose::Step,
            step: 0,
            above: None,
            notes: Vec::new(),
        }
    }

    /// The next trial; `None` when the search is over.
    pub fn next(&mut self) -> Option<Request> {
        self.now = match self.now {
            Some(last) if self.undecided + self.unproven > 0 => {
                Some(Request { purpose: Purpose::Again, ..last })
            }
            _ => {
                let fresh = self.fresh();
                self.purpose = fresh.map_or(self.purpose, |request| request.purpose);
                fresh
            }
        };
        self.now
    }

    fn fresh(&mut self) -> Option<Request> {
        if let Loads::Steps(steps) = &self.search.loads
            && let Some(load) = steps.get(self.step)
        {
            self.step += 1;
            return Some(Request { load: *load, purpose: Purpose::Step });
        }
        let contested = self.tried.iter().find(|one| one.standing() == Standing::Contested);
        if let Some(one) = contested {
            return Some(Request { load: one.load, purpose: Purpose::Repeat });
        }
        if let Some((missed, met)) = self.contradiction() {
            let unsure = [missed, met].into_iter().filter(|one| !one.is_certain());
            let load = unsure.min_by_key(Tried::votes)?.load;
            return Some(Request { load, purpose: Purpose::Repeat });
        }
        let Loads::Between(from, to) = self.search.loads else { return self.confirmation() };
        self.between(from, to)
    }

    fn between(&mut self, from: f64, to: f64) -> Option<Request> {
        let request = |load, purpose| Some(Request { load, purpose });
        // What can be tried has four digits: more of them are beyond the end, or never reach it.
        let to = self.search.rounded_down(to);
        let Some(highest) = self.tried.last().copied() else {
            return request(self.search.rounded(from).min(to), Purpose::Double);
        };
        match (self.best(), self.missed_at()) {
            // The lowest load of all misses: not by a single trial.
            (None, Some(high)) => {
                let one = self.at(high)?;
                let lowest = self.tried.first().is_some_and(|first| first.load >= high);
                let again = lowest && one.agreeing() < self.needed() && !one.is_stuck();
                again.then_some(Request { load: high, purpose: Purpose::Confirm })
            }
            (low, None) => {
                // Loads that the client itself cannot make say that higher ones are of no use.
                let ceiling = self.tried.iter().find(|one| one.standing() == Standing::Open && one.unproven);
                match (low, ceiling) {
                    (Some(low), Some(ceiling)) => match self.middle(low, ceiling.load, self.search.width) {
                        Some(load) => request(load, Purpose::Halve),
                        None => self.confirmation(),
                    },
                    (None, Some(_)) => None,
                    (_, None) if highest.load >= to => self.confirmation(),
                    (_, None) => request(self.search.rounded(highest.load * 2.0).min(to), Purpose::Double),
                }
            }
            (Some(low), Some(high)) => match self.inside(low, high) {
                Some(load) => request(load, Purpose::Halve),
                None => self.confirmation(),
            },
        }
    }

    /// The geometric middle of two loads, if they are further apart than `width` and there is a load in between.
    fn middle(&self, low: f64, high: f64, width: f64) -> Option<f64> {
        let middle = self.search.rounded((low * high).sqrt());
        ((high - low) / low > width + 1e-9 && middle > low && middle < high).then_some(middle)
    }

    /// A load in the gap that may close it. What lies in it and could not be decided is closed in from both sides.
    fn inside(&self, low: f64, high: f64) -> Option<f64> {
        let width = self.search.width;
        if (high - low) / low <= width + 1e-9 {
            return None;
        }
        let zone: Vec<f64> =
            self.tried.iter().map(|one| one.load).filter(|load| *load > low && *load < high).collect();
        let (Some(first), Some(last)) = (zone.first(), zone.last()) else {
            return self.middle(low, high, width);
        };
        let below = self.middle(low, *first, width * ZONE).map(|load| (first / low, load));
        let above = self.middle(*last, high, width * ZONE).map(|load| (high / last, load));
        [below, above].into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, load)| load)
    }

    /// How many trials in a row have to agree at each end.
    fn needed(&self) -> u32 {
        self.search.confirm.saturating_add(1)
    }

    /// Fresh trials at the ends of the answer, the one with fewer first, and the upper one before the lower one.
    fn confirmation(&mut self) -> Option<Request> {
        let best = self.best()?;
        if self.search.confirm == 0 {
            return None;
        }
        if let Some(request) = self.overload(best) {
            return Some(request);
        }
        let ends = [self.missed_at(), Some(best)].into_iter().flatten().filter_map(|load| self.at(load));
        let open = ends.filter(|one| one.agreeing() < self.needed() && !one.is_stuck());
        open.min_by_key(Tried::agreeing).map(|one| Request { load: one.load, purpose: Purpose::Confirm })
    }

    /// Once for each answer, a load well above it.
    fn overload(&mut self, best: f64) -> Option<Request> {
        let Loads::Between(_, to) = self.search.loads else { return None };
        let high = self.missed_at()?;
        let above = self.search.rounded(best * ABOVE);
        if self.above == Some(best) || above <= high || above > to || self.at(above).is_some() {
            return None;
        }
        self.above = Some(best);
        Some(Request { load: above, purpose: Purpose::Above })
    }

    fn at(&self, load: f64) -> Option<Tried> {
        self.tried.iter().find(|one| one.load == load).copied()
    }

    fn entry(&mut self, load: f64) -> Option<&mut Tried> {
        let at = self.tried.partition_point(|one| one.load < load);
        if self.tried.get(at).is_none_or(|one| one.load != load) {
            let blank = Tried {
                load,
                met: 0,
                missed: 0,
                last_met: false,
                run: 0,
                blank: 0,
                unproven: false,
                throughput: 0.0,
            };
            self.tried.insert(at, blank);
        }
        self.tried.get_mut(at)
    }

    /// How the trial came out that was asked for last, and its throughput per second.
    pub fn record(&mut self, outcome: Outcome, throughput: f64) {
        let Some(now) = self.now else { return };
        let decision = match outcome {
            Outcome::Decided(Decision::Undecided) => {
                self.undecided += 1;
                if self.undecided < self.search.extend {
                    return;
                }
                None
            }
            Outcome::NotProven => {
                self.unproven += 1;
                if self.unproven < MOST_UNPROVEN {
                    return;
                }
                None
            }
            Outcome::Decided(decision) => Some(decision == Decision::Pass),
        };
        let by_client = outcome == Outcome::NotProven;
        (self.undecided, self.unproven) = (0, 0);
        let before = self.at(now.load).map(|one| one.standing());
        let Some(one) = self.entry(now.load) else { return };
        let Some(met) = decision else {
            one.blank += 1;
            one.unproven = by_client;
            return;
        };
        one.run = if one.last_met == met { one.run + 1 } else { 1 };
        one.last_met = met;
        if met {
            one.met += 1;
            one.throughput = throughput;
        } else {
            one.missed += 1;
        }
        self.note_contradiction(now, met, before);
    }

    fn note_contradiction(&mut self, now: Request, met: bool, before: Option<Standing>) {
        let load = load_text(now.load);
        let note = match (before, met) {
            (Some(Standing::Met), false) if self.purpose == Purpose::Confirm => format!(
                "a fresh trial at {load} right after an overload missed the thresholds that it had met before"
            ),
            (Some(Standing::Met), false) | (Some(Standing::Missed), true) => {
                format!("a fresh trial at {load} contradicted the ones before")
            }
            _ => return,
        };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The lowest load that misses and the highest that meets, where the first is the lower one.
    fn contradiction(&self) -> Option<(Tried, Tried)> {
        let missed = self.tried.iter().find(|one| one.standing() == Standing::Missed)?;
        let met = self.tried.iter().rfind(|one| one.standing() == Standing::Met)?;
        (met.load > missed.load).then_some((*missed, *met))
    }

    /// The highest load that met the thresholds, below every load that missed them; of a list, the one with the highest
    /// throughput.
    fn best(&self) -> Option<f64> {
        let met = self.tried.iter().filter(|one| one.standing() == Standing::Met);
        if let Loads::Steps(_) = self.search.loads {
            return met.max_by(|a, b| a.throughput.total_cmp(&b.throughput)).map(|one| one.load);
        }
        let missed = self.tried.iter().filter(|one| one.standing() == Standing::Missed);
        let lowest = missed.map(|one| one.load).fold(f64::INFINITY, f64::min);
        met.map(|one| one.load).filter(|load| *load < lowest).reduce(f64::max)
    }

    /// The lowest load above the best that missed the thresholds; where loads contradict each other, above all that met.
    fn missed_at(&self) -> Option<f64> {
        let met = self.tried.iter().filter(|one| one.standing() == Standing::Met);
        let floor = if matches!(self.search.loads, Loads::Steps(_)) {
            self.best().unwrap_or(0.0)
        } else {
            met.map(|one| one.load).fold(0.0, f64::max)
        };
        let missed = self.tried.iter().filter(|one| one.standing() == Standing::Missed);
        missed.map(|one| one.load).find(|load| *load > floor)
    }

    pub fn answer(&self) -> Answer {
        let (best, missed_at) = (self.best(), self.missed_at());
        let mut notes = self.notes.clone();
        let given_up = self.tried.iter().filter(|one| one.blank > 0);
        notes.extend(given_up.map(|one| {
            let load = load_text(one.load);
            if one.unproven {
                format!("{load}: not proven, the client itself was in trouble in {MOST_UNPROVEN} trials one behind the other")
            } else {
                format!("{load}: not decided by {} trials put together", self.search.extend)
            }
        }));
        let confirmed = best.and_then(|load| self.at(load)).map_or(0, |one| one.agreeing().saturating_sub(1));
        let unsettled = self.unsettled(best, missed_at);
        if let Some((missed, met)) = self.contradiction() {
            let (met, missed) = (load_text(met.load), load_text(missed.load));
            notes.push(format!("not monotonic: {met} met the thresholds, {missed} did not"));
        }
        Answer { best, missed_at, confirmed, unsettled, notes }
    }

    /// The first reason not to call the answer settled.
    fn unsettled(&self, best: Option<f64>, missed_at: Option<f64>) -> Option<String> {
        let Some(best) = best else { return Some(self.no_load()) };
        if let Some((missed, met)) = self.contradiction() {
            return Some(format!(
                "a higher load is better than a lower one: {}, {}",
                missed.text(),
                met.text()
            ));
        }
        let client = self.tried.iter().find(|one| one.load > best && one.unproven && one.votes() == 0);
        match (&self.search.loads, missed_at) {
            (Loads::Between(_, to), None) => {
                let open = self.tried.iter().find(|one| one.load > best && one.standing() != Standing::Met);
                return Some(match (client, open) {
                    (Some(one), _) => {
                        format!("at {} the client itself was the limit", load_text(one.load))
                    }
                    (None, Some(one)) if one.votes() > 0 => {
                        format!("trials contradict each other: {}", one.text())
                    }
                    (None, Some(one)) => {
                        format!("trials at {} did not decide: make runtime longer", load_text(one.load))
                    }
                    (None, None) => {
                        let to = load_text(self.search.rounded_down(*to));
                        format!("every load up to {to} met the thresholds: look higher")
                    }
                });
            }
            (Loads::Between(..), Some(high)) if self.is_wide(best, high) => {
                let by_client = client.filter(|one| one.load < high).map(|one| {
                    format!(
                        "at {} the client itself was in trouble: use a quieter machine",
                        load_text(one.load)
                    )
                });
                return Some(by_client.unwrap_or_else(|| {
                    let (low, high) = (load_text(best), load_text(high));
                    format!("trials between {low} and {high} did not decide: make runtime longer")
                }));
            }
            (Loads::Steps(steps), _) if self.step < steps.len() => {
                return Some("not every step was tried".to_owned());
            }
            _ => {}
        }
        let mut ends = [Some(best), missed_at].into_iter().flatten().filter_map(|load| self.at(load));
        let weak = ends.find(|one| self.search.confirm == 0 || one.agreeing() < self.needed());
        weak.map(|one| match one.votes() {
            1 => format!("{} was not confirmed by another trial", load_text(one.load)),
            _ if one.met * one.missed == 0 => {
                format!(
                    "{} was confirmed by {} of {} trials",
                    load_text(one.load),
                    one.run - 1,
                    self.search.confirm
                )
            }
            _ => format!("trials contradict each other: {}", one.text()),
        })
    }

    /// The gap is wider than was asked, and a load would fit into it.
    fn is_wide(&self, low: f64, high: f64) -> bool {
        self.middle(low, high, self.search.width).is_some()
    }

    fn no_load(&self) -> String {
        let Some(first) = self.tried.first() else { return "no trial decided anything".to_owned() };
        let load = load_text(first.load);
        match first.standing() {
            Standing::Missed => format!("{load} already misses the thresholds: look lower"),
            _ if first.unproven => {
                format!("{load} was not proven: the client itself was in trouble; use a quieter machine")
            }
            _ => format!("{load} was not decided: make runtime longer"),
        }
    }
}

#[cfg(test)]
mod tests;
