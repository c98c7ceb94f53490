//! Takes a study through its cells: which is next, what is up for it, what was done already, when to stop. It runs nothing by
//! itself: a [`Runner`] does, and says the time.

mod begin;
mod far;

use std::collections::{BTreeMap, BTreeSet};

use crate::design::{Block, Design, Order};
use crate::estimate;
use crate::journal::{Call, CellEnd, CellState, Journal, Rest, Step, ended};
use crate::measured::{Observation, Origin};
pub use crate::runner::{Progress, Runner, Trouble, Up};
use crate::statistics::interval_of_amount;

pub use begin::{Belongs, belongs};
use begin::{first_step, is_the_same_choice, is_to_begin_again};
use far::Far;
pub use far::how_far;

/// After so many cells in a row that failed nobody believes in the next.
const MOST_FAILED_IN_A_ROW: u32 = 3;

/// How a study ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every cell was run as often as wanted.
    Complete,
    /// The budget of time is spent.
    BudgetSpent,
    /// The user stopped it.
    Stopped,
}

/// What limits a study, beside its cells.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// Seconds that it may take from now on.
    pub budget_s: Option<f64>,
    /// Cells that failed, and those whose run cannot be read, are run once more.
    pub retry: bool,
}

/// A study on its way.
pub struct Engine<'a> {
    design: &'a Design<'a>,
    journal: &'a mut Journal,
    limits: Limits,
    began_s: f64,
    failed_in_a_row: u32,
    /// The longest that a system took to come up in this call.
    start_s: f64,
    /// The runs that are over, as the journal has them.
    over: BTreeMap<String, CellEnd>,
    /// How far it is; nothing before somebody asks.
    far: Option<Far>,
    /// Runs that failed before and are done again.
    again: BTreeSet<String>,
    /// What is noted when there is something to do.
    call: Option<Call>,
    /// Another text or target than that with which it was begun was taken, since nothing was measured.
    pub is_begun_again: bool,
}

impl<'a> Engine<'a> {
    /// Begins or goes on: what the journal says was done stays done.
    ///
    /// # Errors
    /// When the journal is of another study, scale, seed or text.
    pub fn new(
        design: &'a Design<'a>,
        text: &str,
        journal: &'a mut Journal,
        limits: Limits,
        runner: &mut dyn Runner,
    ) -> Result<Self, String> {
        let is_begun_again = is_to_begin_again(design, text, &journal.steps, runner)?;
        if is_begun_again {
            journal.begin_again()?;
        }
        match belongs(design, text, &journal.steps)? {
            Belongs::NothingBegun => journal.append(first_step(design, text, runner))?,
            Belongs::OtherText => {
                return Err(
                    "the study's text or a target was changed since this directory was begun: what was measured does not \
                     belong together with what would be; give another --dir"
                        .to_owned(),
                );
            }
            Belongs::Whole => {}
        }
        is_the_same_choice(design, &journal.steps)?;
        let again =
            if limits.retry { to_be_retried(design, &journal.steps, runner) } else { BTreeSet::new() };
        let began_s = runner.now_s();
        let over = ended(&journal.steps).into_iter().map(|(run, end)| (run.to_owned(), end)).collect();
        Ok(Self {
            design,
            journal,
            over,
            far: None,
            limits,
            began_s,
            failed_in_a_row: 0,
            start_s: 0.0,
            again,
            call: None,
            is_begun_again,
        })
    }

    /// The journal names the call that this is, unless it finds nothing to do.
    #[must_use]
    pub fn on_call(mut self, call: Call) -> Self {
        self.call = Some(call);
        self
    }

    /// Runs what is left, until all is done, the budget is spent or the user stops it. What was started is stopped.
    ///
    /// # Errors
    /// When a system does not serve, cells fail one after the other, or the journal cannot be written.
    pub fn run(&mut self, runner: &mut dyn Runner) -> Result<Outcome, String> {
        let is_named = self.call.is_some();
        let outcome = self.repetitions(runner);
        if is_named && self.call.is_none() {
            let (how, why) = match &outcome {
                Ok(Outcome::Complete) => (Rest::Complete, None),
                Ok(Outcome::BudgetSpent) => (Rest::BudgetSpent, None),
                Ok(Outcome::Stopped) => (Rest::Stopped, None),
                Err(why) => (Rest::Trouble, Some(why.clone())),
            };
            let noted = self.journal.append(Step::Rested { at_s: runner.date_s(), how, why });
            return outcome.and_then(|outcome| noted.map(|()| outcome));
        }
        outcome
    }

    fn repetitions(&mut self, runner: &mut dyn Runner) -> Result<Outcome, String> {
        self.each_system_can_be(runner)?;
        let repetitions = self.design.scale.repetitions;
        let most = repetitions.most.unwrap_or(repetitions.least);
        for repetition in 1..=most {
            let wanted = self.wanted(repetition, runner);
            for block in self.design.blocks(repetition, &wanted) {
                match self.block(&block, runner)? {
                    Outcome::Complete => {}
                    other => return Ok(other),
                }
            }
        }
        // A kill came after the last cell and before its bed was down.
        if let Some(left) = self.left_up() {
            self.take_down(left, runner)?;
        }
        Ok(Outcome::Complete)
    }

    /// A study that cannot end is not begun: each system can be here, and has room for the largest of its cells that are left.
    fn each_system_can_be(&self, runner: &mut dyn Runner) -> Result<(), String> {
        let design = self.design;
        let mut largest: BTreeMap<usize, u64> = BTreeMap::new();
        for cell in design.cells.iter().filter(|cell| cell.is_run()) {
            let mut repetitions = 1..=design.scale.repetitions.least;
            if repetitions.any(|repetition| self.is_open(&cell.run_name(&design.spec.name, repetition))) {
                let bytes = largest.entry(cell.system).or_default();
                *bytes = estimate::stored_bytes(design, cell)?.max(*bytes);
            }
        }
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for (at, bytes) in largest {
            let system = &design.spec.systems[at];
            if let Some(why) = runner.lacks_room(system, bytes) {
                return Err(format!("{}: {why}", system.name));
            }
            match runner.cannot_be(system) {
                Some(why) => bad.push(format!("{}: {why}", system.name)),
                None => good.push(system.name.as_str()),
            }
        }
        match (bad.is_empty(), good.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => Err(bad.join("; ")),
            (false, false) => {
                Err(format!("{}; --only system={} leaves that out", bad.join("; "), good.join(",")))
            }
        }
    }

    /// The cells of a repetition: all up to the least number, then those whose interval is too wide.
    fn wanted(&self, repetition: u32, runner: &mut dyn Runner) -> BTreeSet<usize> {
        let repetitions = self.design.scale.repetitions;
        let all = 0..self.design.cells.len();
        if repetition <= repetitions.least {
            return all.collect();
        }
        let Some(within) = repetitions.within_percent else { return all.collect() };
        all.filter(|cell| self.width_percent(*cell, repetition, runner).is_none_or(|width| width > within))
            .collect()
    }

    /// Half the width of the widest 95 % interval of a throughput of a cell, in percent of its mean; `None` where none is known.
    fn width_percent(&self, cell: usize, before: u32, runner: &mut dyn Runner) -> Option<f64> {
        let cell = &self.design.cells[cell];
        let mut rates: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
        for repetition in 1..before {
            let run = cell.run_name(&self.design.spec.name, repetition);
            let Some(end) = self.over.get(&run) else { continue };
            let order = Order { design: self.design, cell, repetition, run: &run };
            for seen in runner.measured(&order, end) {
                if let Some(rate) = seen.values.get("throughput_per_s") {
                    rates.entry((format!("{:?}", seen.levels), seen.op)).or_default().push(*rate);
                }
            }
        }
        rates
            .values()
            .map(|rates| interval_of_amount(rates).map_or(f64::INFINITY, |known| known.half_percent()))
            .reduce(f64::max)
    }

    /// Whether a run is still to be done.
    fn is_open(&self, run: &str) -> bool {
        self.again.contains(run) || !self.over.contains_key(run)
    }

    /// The cells of a block that are still to be run. What the archive has needs no system.
    fn left_of(&mut self, block: &Block, runner: &mut dyn Runner) -> Result<Vec<usize>, String> {
        let design = self.design;
        let name = |cell: &usize| design.cells[*cell].run_name(&design.spec.name, block.repetition);
        let open: Vec<usize> = block.cells.iter().copied().filter(|cell| self.is_open(&name(cell))).collect();
        let mut left = Vec::new();
        for cell in open {
            let run = name(&cell);
            let order = Order { design, cell: &design.cells[cell], repetition: block.repetition, run: &run };
            // Of one that failed the archive has that run, or one that was begun again and ended before a kill.
            let is_again = self.again.contains(&run);
            let found = runner.earlier(&order).filter(|end| !is_again || end.state == CellState::Done);
            match found {
                Some(end) => self.end(&order, end)?,
                None => left.push(cell),
            }
        }
        Ok(left)
    }

    fn block(&mut self, block: &Block, runner: &mut dyn Runner) -> Result<Outcome, String> {
        let design = self.design;
        let left = self.left_of(block, runner)?;
        if left.is_empty() {
            return Ok(Outcome::Complete);
        }
        if runner.is_to_stop() {
            return Ok(Outcome::Stopped);
        }
        let system = &design.spec.systems[block.system];
        let left_up = self.left_up();
        let is_left = left_up.is_some_and(|left| design.group(left) == design.group(block.system));
        // A system that comes up and serves no cell is time for nothing.
        let start_s = if is_left || system.bed.is_none() { 0.0 } else { self.start_s };
        if !self.has_time_for(left[0], start_s, runner)? {
            return Ok(Outcome::BudgetSpent);
        }
        if let Some(call) = self.call.take() {
            self.journal.append(Step::Called { call })?;
        }
        if let Some(left) = left_up.filter(|_| !is_left) {
            self.take_down(left, runner)?;
        }
        let goes_on = |why: String| format!("{}: {why}; the same command goes on from here", system.name);
        // A kill or Ctrl-C may come while it starts: it is the study's from here on.
        let begins = !is_left
            && match runner.serves(system) {
                Ok(serves) => !serves,
                Err(Trouble::Stopped) => return Ok(Outcome::Stopped),
                Err(Trouble::Failed(why)) => return Err(goes_on(why)),
            };
        if begins {
            let (system, found) = (system.name.clone(), Vec::new());
            self.journal.append(Step::Up { system, found, started: true })?;
        }
        let asked_s = runner.now_s();
        let up = match runner.up(system, is_left) {
            Ok(up) => up,
            Err(trouble) => {
                let down = if begins { self.take_down(block.system, runner) } else { Ok(()) };
                return match (trouble, down) {
                    (Trouble::Stopped, down) => down.map(|()| Outcome::Stopped),
                    (Trouble::Failed(why), Ok(())) => Err(goes_on(why)),
                    (Trouble::Failed(why), Err(more)) => Err(goes_on(format!("{why}; and {more}"))),
                };
            }
        };
        self.start_s = self.start_s.max(runner.now_s() - asked_s);
        // A kill came between its start and its end: it is still the study's.
        let started = up.started || is_left || begins;
        self.journal.append(Step::Up { system: system.name.clone(), found: up.found, started })?;
        let outcome = self.cells(block.repetition, &left, runner);
        match runner.down(system, started) {
            Ok(()) if started => self.journal.append(Step::Down { system: system.name.clone() })?,
            Ok(()) | Err(Trouble::Stopped) => {}
            Err(Trouble::Failed(why)) => return outcome.and(Err(format!("{}: {why}", system.name))),
        }
        outcome
    }

    /// The system that an earlier call started and did not stop.
    fn left_up(&self) -> Option<usize> {
        let last = self.journal.steps.iter().rev().find_map(|step| match step {
            Step::Up { system, started: true, .. } => Some(Some(system)),
            Step::Up { .. } | Step::Down { .. } => Some(None),
            _ => None,
        });
        let name = last.flatten()?;
        self.design.spec.systems.iter().position(|system| system.name == *name)
    }

    fn take_down(&mut self, system: usize, runner: &mut dyn Runner) -> Result<(), String> {
        let system = &self.design.spec.systems[system];
        match runner.down(system, true) {
            Ok(()) => self.journal.append(Step::Down { system: system.name.clone() }),
            Err(Trouble::Stopped) => Ok(()),
            Err(Trouble::Failed(why)) => Err(format!("{}: {why}", system.name)),
        }
    }

    fn cells(
        &mut self,
        repetition: u32,
        cells: &[usize],
        runner: &mut dyn Runner,
    ) -> Result<Outcome, String> {
        let design = self.design;
        for at in cells {
            if runner.is_to_stop() {
                return Ok(Outcome::Stopped);
            }
            if !self.has_time_for(*at, 0.0, runner)? {
                return Ok(Outcome::BudgetSpent);
            }
            let cell = &design.cells[*at];
            let run = cell.run_name(&design.spec.name, repetition);
            let bytes = estimate::stored_bytes(design, cell)?;
            if let Some(why) = runner.lacks_room(&design.spec.systems[cell.system], bytes) {
                return Err(format!("{run}: {why}; the same command goes on from here"));
            }
            self.show(&run, runner);
            let order = Order { design, cell, repetition, run: &run };
            self.journal.append(Step::Begin { run: run.clone(), at_s: runner.date_s() })?;
            let end = match runner.run(&order) {
                Ok(end) => end,
                Err(Trouble::Stopped) => return Ok(Outcome::Stopped),
                Err(Trouble::Failed(why)) => {
                    return Err(format!(
                        "{run}: {why}; the same command goes on from here; a study whose text is changed begins anew in another \
                         --dir"
                    ));
                }
            };
            let why = end.why.clone().unwrap_or_default();
            let failed = end.state == CellState::Failed;
            self.end(&order, end)?;
            self.failed_in_a_row = if failed { self.failed_in_a_row + 1 } else { 0 };
            if failed && let Some(lost) = runner.no_longer_serves(&design.spec.systems[cell.system]) {
                return Err(format!(
                    "{run} failed ({why}), and its system does not serve any more: {lost}; see to it, then run the same command with \
                     --retry"
                ));
            }
            if self.failed_in_a_row >= MOST_FAILED_IN_A_ROW {
                return Err(format!(
                    "{MOST_FAILED_IN_A_ROW} cells in a row failed, the last with: {why}; see to it, then run the same command \
                     with --retry"
                ));
            }
        }
        Ok(Outcome::Complete)
    }

    fn end(&mut self, order: &Order<'_>, end: CellEnd) -> Result<(), String> {
        let run = order.run;
        self.again.remove(run);
        let CellEnd { state, place, took_s, why } = end.clone();
        self.journal.append(Step::End { run: run.to_owned(), state, place, took_s, why })?;
        if let Some(far) = &mut self.far {
            far.ends(order, self.over.get(run), &end);
        }
        self.over.insert(run.to_owned(), end);
        Ok(())
    }

    /// Seconds that a run of this cell will take: what it took before, or what is estimated.
    fn expected_s(&self, cell: usize) -> Result<f64, String> {
        let cell = &self.design.cells[cell];
        let start = format!("{}.{}.r", self.design.spec.name, cell.id);
        let took: Vec<f64> = self
            .over
            .range(start.clone()..)
            .take_while(|(run, _)| run.starts_with(&start))
            // Of what the archive alone knows the time may not be known, or be of a clock that was set back.
            .filter(|(_, end)| end.state == CellState::Done && end.took_s > 0.0)
            .map(|(_, end)| end.took_s)
            .collect();
        if took.is_empty() {
            Ok(estimate::cell_s(self.design, cell)? + estimate::fill_s(self.design, cell)?)
        } else {
            Ok(cosmark_stats::bootstrap::mean(&took))
        }
    }

    /// Whether the budget has time for a cell, behind a start of its system.
    fn has_time_for(&self, cell: usize, start_s: f64, runner: &mut dyn Runner) -> Result<bool, String> {
        let Some(budget_s) = self.limits.budget_s else { return Ok(true) };
        Ok(runner.now_s() - self.began_s + start_s + self.expected_s(cell)? <= budget_s)
    }

    fn show(&mut self, run: &str, runner: &mut dyn Runner) {
        let (design, over) = (self.design, &self.over);
        let far = self.far.get_or_insert_with(|| Far::of(design, |run| over.get(run)));
        let (done, of, left_s) = far.said();
        runner.progress(&Progress { run, done, of, left_s });
    }
}

/// Runs that failed, and those of this choice that cannot be read.
fn to_be_retried(design: &Design<'_>, steps: &[Step], runner: &mut dyn Runner) -> BTreeSet<String> {
    let ended = ended(steps);
    let failed = ended.iter().filter(|(_, end)| end.state == CellState::Failed);
    let mut again: BTreeSet<String> = failed.map(|(run, _)| (*run).to_owned()).collect();
    let most = design.scale.repetitions.most.unwrap_or(design.scale.repetitions.least);
    for cell in &design.cells {
        for repetition in 1..=most {
            let run = cell.run_name(&design.spec.name, repetition);
            let Some(end) = ended.get(run.as_str()) else { continue };
            let order = Order { design, cell, repetition, run: &run };
            if runner.measured(&order, end).iter().any(|one| one.unreadable) {
                again.insert(run);
            }
        }
    }
    again
}

/// Everything that was measured so far, in the order of the study.
#[must_use]
pub fn observations(design: &Design<'_>, steps: &[Step], origin: &dyn Origin) -> Vec<Observation> {
    let ended = ended(steps);
    let most = design.scale.repetitions.most.unwrap_or(design.scale.repetitions.least);
    let mut all = Vec::new();
    for cell in &design.cells {
        for repetition in 1..=most {
            let run = cell.run_name(&design.spec.name, repetition);
            if let Some(end) = ended.get(run.as_str()) {
                all.extend(origin.measured(&Order { design, cell, repetition, run: &run }, end));
            }
        }
    }
    all
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a test may stop at the first surprise"
)]
mod tests;
