//! A ladder: the same load at rising rates, with what each unit of the store's machines was busy with at each step.

pub use cosmark_metrics::{ResourceKind as Kind, Waiting};

use crate::regression::Line;

/// The smallest thing that can be full.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unit {
    /// The machine.
    pub node: String,
    /// What the machine does, as the user calls it: proxy, storage, gateway.
    pub role: String,
    /// What it is.
    pub kind: Kind,
    /// Its name there: `cpu3`, `sda`, `eth0`, `swift-proxy-server/1234`.
    pub name: String,
}

/// What was seen of one unit during one step. Both are means over the step's window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// Share of the time in which it was busy, 0 to 1; `None` where it was not measured.
    pub busy: Option<f64>,
    /// What waited for it; `None` where that was not measured.
    pub waiting: Option<Waiting>,
    /// Share of the time in which the client itself kept it busy, because both are on one machine; `None` where that is not known.
    pub by_client: Option<f64>,
    /// Of a machine: share of the time in which neither the client nor the store's daemons nor interrupts kept it busy; `None`
    /// where that is not known.
    pub by_others: Option<f64>,
    /// Share of the time, of that in which it was busy, that a hypervisor gave to somebody else.
    pub stolen: f64,
}

impl Usage {
    /// How many times as much it would have let through with what a hypervisor took from it: 1 where nothing was taken.
    #[must_use]
    pub(crate) fn undisturbed(&self) -> f64 {
        let busy = self.busy.unwrap_or(0.0);
        if self.stolen > 0.0 && busy > self.stolen { busy / (busy - self.stolen) } else { 1.0 }
    }
}

/// One load and what it led to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// Operations completed per second, X.
    pub throughput_per_s: f64,
    /// Operations that this rate was counted from; `None` where that is not known.
    pub counted: Option<u64>,
    /// Operations under way in the store on average, N, as the client counts them.
    pub in_flight: f64,
    /// Mean service time of an operation in seconds, R.
    pub service_s: f64,
    /// The client's own checks say that it was not the client who limited the rate.
    pub client_clear: bool,
    /// Share of the operations that failed, or had to be repeated, 0 to 1.
    pub failed_share: f64,
    /// Operations that came due per second by the clock, whatever the store did; `None` of workers that wait for answers.
    pub offered_per_s: Option<f64>,
    /// Bytes of an operation's body on average; 0 where none were counted.
    pub bytes_each: f64,
    /// In the order of the ladder's units.
    pub usage: Vec<Usage>,
}

/// Steps in rising order of load.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ladder {
    /// What was looked at.
    pub units: Vec<Unit>,
    /// How busy each unit is without load; the same order; `None` where nobody looked.
    pub idle: Vec<Option<f64>>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// A unit that is at least so busy is full, whether or not it can be seen that work waits for it.
pub const FULL: f64 = 0.97;
/// Throughput counts as level where more load adds less than this share.
pub const LEVEL: f64 = 0.05;

impl Ladder {
    /// The steps by rising load, without those that measured nothing.
    #[must_use]
    pub fn sorted(&self) -> Vec<&Step> {
        self.order().into_iter().map(|at| &self.steps[at]).collect()
    }

    /// The places of these steps, in the same order: by what was offered where all loads came by the clock, else by what was
    /// under way. A pool of workers that are all in use looks the same at every rate beyond.
    #[must_use]
    pub fn order(&self) -> Vec<usize> {
        let usable = |step: &Step| {
            let figures = [step.throughput_per_s, step.in_flight, step.service_s];
            figures.iter().all(|figure| figure.is_finite() && *figure > 0.0)
        };
        let mut order: Vec<usize> = (0..self.steps.len()).filter(|at| usable(&self.steps[*at])).collect();
        let by_the_clock = order.iter().all(|at| self.steps[*at].offered_per_s.is_some());
        let load = |at: &usize| {
            let step = &self.steps[*at];
            step.offered_per_s.filter(|_| by_the_clock).unwrap_or(step.in_flight)
        };
        order.sort_by(|a, b| load(a).total_cmp(&load(b)));
        order
    }

    /// The steps that did at most so many operations a second because no more was asked of them: those before the last at which
    /// throughput is level. A store that breaks down beyond it does less again, and what an operation costs it then says nothing
    /// of what one costs alone.
    pub(crate) fn low(&self, below_per_s: f64) -> Vec<&Step> {
        let steps = self.sorted();
        // One lucky step at a low load is no peak, so this does not look for the highest one.
        let until =
            highest(&steps).and_then(|highest| steps.iter().rposition(|step| is_level(step, highest)));
        let until = until.map_or(steps.len(), |at| at + 1);
        steps.into_iter().take(until).filter(|step| step.throughput_per_s <= below_per_s).collect()
    }

    /// The throughput at which more load adds nothing, if the ladder reached it.
    #[must_use]
    pub fn plateau(&self) -> Option<f64> {
        plateau(&self.sorted())
    }
}

/// The throughput at which more load adds nothing: the load in flight grew by at least a quarter beyond the first step that
/// came near it, or more came due than was done at several, and the last step did not come to more, or by chance to a little more.
/// The steps by rising load.
///
/// It is the highest median of three neighbours: one step that somebody disturbed, or that was lucky, is no plateau.
#[must_use]
pub(crate) fn plateau(steps: &[&Step]) -> Option<f64> {
    let highest = highest(steps)?;
    let level_steps = level(steps);
    let (lowest, first, last) = (*steps.first()?, *level_steps.first()?, *steps.last()?);
    let is_more =
        more_under_way(first, last) || more_offered(first, last) || are_behind(lowest, &level_steps);
    let is_no_more = |level: f64| last.throughput_per_s <= highest * (1.0 + level);
    let is_level = is_no_more(LEVEL) || (is_no_more(2.0 * LEVEL) && creeps(steps));
    (is_more && is_level).then_some(highest)
}

/// With more load throughput may grow by this power of it, and be level: full units do a little more at once the more waits.
pub(crate) const CREEPS: f64 = 0.1;

/// Over the loads from half of the highest on, three at least, throughput hardly grows. Of loops whose loads double no three
/// lie so near: then over the last three.
fn creeps(steps: &[&Step]) -> bool {
    let Some(last) = steps.last() else { return false };
    let mut upper: Vec<&&Step> = steps.iter().filter(|step| step.in_flight * 2.0 >= last.in_flight).collect();
    let last_three = &steps[steps.len().saturating_sub(3)..];
    if upper.len() < 3 && last_three.iter().all(|step| step.offered_per_s.is_none()) {
        upper = last_three.iter().collect();
    }
    let points = upper.iter().map(|step| (step.in_flight.ln(), step.throughput_per_s.ln()));
    let points: Vec<(f64, f64)> = points.collect();
    points.len() >= 3 && Line::through(&points).is_some_and(|line| line.slope < CREEPS)
}

/// More load than this many times as much is more load.
const MORE: f64 = 1.25;
/// Operations that take so many times as long as at the lowest load have so many times as many under way as the store needs: it
/// comes to within a tenth of what it can do, also where several of its parts are as slow.
const LONGER: f64 = 10.0;

fn more_under_way(first: &Step, last: &Step) -> bool {
    last.in_flight >= first.in_flight * MORE
}

fn more_offered(first: &Step, last: &Step) -> bool {
    let both = first.offered_per_s.zip(last.offered_per_s);
    both.is_some_and(|(first, last)| last >= first * MORE)
}

/// At two loads by the clock or more that are level less was done than came due, while operations took [`LONGER`]: the store does no
/// more, however little the one rate lies above the other, as in ladders of even steps.
fn are_behind(lowest: &Step, level: &[&Step]) -> bool {
    let is_behind = |step: &&&Step| {
        let is_more_due = step.offered_per_s.is_some_and(|due| due > step.throughput_per_s * (1.0 + LEVEL));
        is_more_due && step.service_s >= lowest.service_s * LONGER
    };
    level.iter().filter(is_behind).count() >= 2
}

/// Throughput is level, but all that was added came due and found no worker: with more of them the store might do more. The steps
/// by rising load.
#[must_use]
pub(crate) fn lacks_workers(steps: &[&Step]) -> bool {
    let level = level(steps);
    let (Some(lowest), Some(first), Some(last)) = (steps.first(), level.first(), steps.last()) else {
        return false;
    };
    !more_under_way(first, last) && last.service_s < lowest.service_s * LONGER
}

fn highest(steps: &[&Step]) -> Option<f64> {
    let medians = steps.windows(3).map(|three| {
        let mut rates = [0, 1, 2].map(|at| three[at].throughput_per_s);
        rates.sort_by(f64::total_cmp);
        rates[1]
    });
    medians.reduce(f64::max)
}

/// The steps at which throughput is level.
#[must_use]
pub(crate) fn level<'a>(steps: &[&'a Step]) -> Vec<&'a Step> {
    let highest = highest(steps).unwrap_or(0.0);
    steps.iter().filter(|step| is_level(step, highest)).copied().collect()
}

fn is_level(step: &Step, highest: f64) -> bool {
    step.throughput_per_s >= highest * (1.0 - LEVEL)
}
