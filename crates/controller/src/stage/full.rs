//! A pass over a data set that ends when the store is so full. How full it is, its machines say, and that some seconds late: what
//! ends the pass is a figure that was read, never one that was reckoned, and what the store came to after the load is
//! waited for and said beside it.

use std::sync::Arc;
use std::time::Duration;

use cosmark_metrics::{FullResult, OpSnapshot, Outcome, Snapshot};
use cosmark_wire::{Failure, FailureClass};
use cosmark_workload::model::Stage;
use tokio::time::Instant;

use super::StageRun;
use crate::fullness::{Full, Fullness};
use crate::job::{RunJob, StopLevel};
use crate::observe::Observer;

/// No load begins before a figure is there; who does not give one in this time has none.
const FIRST_PATIENCE: Duration = Duration::from_secs(15);
/// Figures that come no more end the load; machines are read once a minute at least.
const SILENCE: Duration = Duration::from_secs(150);
/// So do figures that stay the same while objects are written, and a store that writes none any more.
const STUCK: Duration = Duration::from_secs(300);
/// A store that has no room for this long, or for so many times as long as it ever took to acknowledge an object, takes nothing
/// more: one full device refuses some objects while others are written.
const NO_ROOM_FOR: Duration = Duration::from_secs(10);
const NO_ROOM_TIMES: u32 = 3;
/// A store that becomes less full again by no more than this share puts in order what it has; more, and the figure that ended
/// the load was none to go by.
const LASTING: f64 = 0.01;
/// A store that is so much fuller than was asked for is not written to at all.
const FULLER: f64 = 0.05;
/// How often it is looked while nothing is to be done but to wait.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Time between two figures that differ: at least, at most, and while they have never changed.
const PACE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
const UNKNOWN_PACE: Duration = Duration::from_secs(15);

/// What the store answers that has no room left (RFC 4918, 11.5), and what its own codes for that are.
const NO_ROOM: u16 = 507;
const NO_ROOM_CODES: [&str; 4] = ["ENOSPC", "EDQUOT", "XMinioStorageFull", "QuotaExceeded"];

/// How far it is.
pub struct Filling {
    goal: f64,
    /// The nodes by whose word it goes; none = all that say how full the store is.
    named: Vec<String>,
    result: FullResult,
    sums: Sums,
    written: Written,
    /// It is so full, and what is missing between its objects is written.
    mends: bool,
    is_over: bool,
}

/// What was written when something last changed.
#[derive(Debug, Default)]
struct Written {
    /// Since when nothing was acknowledged, and how many objects were by then.
    since_ns: u64,
    ok: u64,
    /// The longest time between two looks at which something new was acknowledged.
    longest: Duration,
    /// Objects when the figures changed, and when they did.
    figure_ns: u64,
    figure_ok: u64,
    /// Refusals for want of room when something was last acknowledged.
    refused: u64,
}

/// What the drivers have reported.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    ok: u64,
    /// For want of room.
    refused: u64,
}

/// What a look comes to.
#[derive(Debug, PartialEq)]
enum Step {
    GoOn,
    /// The goal is reached.
    Reached,
    /// It will not be: one sentence.
    Hopeless(String),
}

impl Filling {
    /// Of a stage that is such a pass.
    pub fn of(stage: &Stage) -> Option<Self> {
        let pass = stage.works.first()?.pass.as_deref()?;
        let (goal, named) = (pass.full_at()?, pass.full_by.clone());
        let result = FullResult { goal, ..FullResult::default() };
        let (sums, written) = (Sums::default(), Written::default());
        Some(Self { goal, named, result, sums, written, mends: false, is_over: false })
    }

    /// Adds what a driver did.
    pub fn add(&mut self, snapshot: &Snapshot) {
        self.sums.ok += snapshot.ops.iter().map(|op| op.ok).sum::<u64>();
        self.sums.refused += snapshot.ops.iter().map(without_room).sum::<u64>();
    }

    /// How far it is from the first figure to the goal, 0 to 1.
    pub fn progress(&self, fullness: &Fullness) -> Option<f64> {
        let (now, before) = (fullness.now()?.share, self.result.before?);
        (self.goal > before).then(|| (now - before) / (self.goal - before))
    }

    /// The share at which its load ends. What is missing between objects may make it a little more than was asked for.
    fn ends_at(&self) -> f64 {
        if self.mends { self.goal.max(self.result.before.unwrap_or(0.0)) + LASTING } else { self.goal }
    }

    fn begin(&mut self, now_ns: u64) {
        self.written = Written { since_ns: now_ns, figure_ns: now_ns, ..Written::default() };
    }

    /// Looks at what is known at `now_ns`, since 1970.
    fn look(&mut self, now_ns: u64, full: &Full) -> Step {
        let (sums, ends_at) = (self.sums, self.ends_at());
        let since = |ns: u64| Duration::from_nanos(now_ns.saturating_sub(ns));
        self.result.at_end = Some(full.share);
        self.result.age_s = Some(since(full.read_ns).as_secs_f64());
        if full.share >= ends_at {
            self.result.reached = true;
            return Step::Reached;
        }
        let written = &mut self.written;
        if sums.ok > written.ok {
            written.longest = written.longest.max(since(written.since_ns));
            (written.since_ns, written.ok, written.refused) = (now_ns, sums.ok, sums.refused);
        }
        if full.same_since_ns > written.figure_ns {
            (written.figure_ns, written.figure_ok) = (full.same_since_ns, sums.ok);
        }
        let (share, goal) = percents(full.share, ends_at);
        if since(full.read_ns) > SILENCE {
            let s = SILENCE.as_secs();
            return Step::Hopeless(format!("for {s} s nobody said how full the store is ({share} before)"));
        }
        let without_room = NO_ROOM_FOR.max(written.longest * NO_ROOM_TIMES);
        if sums.refused > written.refused && since(written.since_ns) > without_room {
            return Step::Hopeless(format!(
                "the store has no room left for its objects at {share}, before {goal}: it says so itself"
            ));
        }
        let s = STUCK.as_secs();
        // Of objects that take longer than that, the store has ever more.
        if since(written.since_ns) > STUCK && since(full.same_since_ns) > STUCK {
            return Step::Hopeless(format!(
                "no object was acknowledged for {s} s; the store is {share} full"
            ));
        }
        // What is missing is too little to show, and has an end.
        if since(written.figure_ns) > STUCK && sums.ok > written.figure_ok && !self.mends {
            let objects = sums.ok - written.figure_ok;
            return Step::Hopeless(format!(
                "{objects} objects were written in {s} s, and the store still says that it is {share} full"
            ));
        }
        Step::GoOn
    }

    /// What the store came to, when the figures had time to follow: why that is not what was asked for.
    fn settle(&mut self, full: &Full, has_failed: bool) -> Option<String> {
        let result = &mut self.result;
        result.after = Some(full.share);
        (result.fullest, result.fullest_device) = full.fullest.clone().unzip();
        result.reached |= !has_failed && full.share >= self.goal;
        result.reached &= full.share >= self.goal - LASTING;
        let (share, goal) = percents(full.share, self.goal);
        match result.at_end.filter(|_| self.is_over) {
            _ if result.reached => None,
            Some(at_end) => Some(format!(
                "a figure of {} ended the load, and the store is {share} full and not {goal}: the figure did not last, and the same \
                 command goes on from there",
                percent(at_end)
            )),
            None => Some(format!(
                "all objects that it may have are written or were refused, and the store is {share} full and not {goal}: fill \
                 another data set with more of them to the same share"
            )),
        }
    }

    /// What came of it.
    pub fn result(self) -> FullResult {
        self.result
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The same of two shares, with so many places that they differ where the shares do.
fn percents(share: f64, goal: f64) -> (String, String) {
    let shown = |places: usize| [share, goal].map(|one| format!("{:.places$} %", one * 100.0));
    let [share, goal] = (1..=4).map(shown).find(|[share, goal]| share != goal).unwrap_or_else(|| shown(1));
    (share, goal)
}

/// What comes of the figure that is there before a load.
#[derive(Debug, PartialEq)]
enum First<'f> {
    Counts(&'f Full),
    IsAwaited,
    ComesNot,
}

/// One from before the stage may be of a store that a stage before has filled or emptied: it is waited for a new one, for a while
/// where it says that much is to be written, for there are more to come, and as long as it is believed at all where it
/// says that nothing is. `times_ns`: when the stage began, and now.
fn first(last: Option<&Full>, goal: f64, times_ns: (u64, u64), is_late: bool) -> First<'_> {
    let (began_ns, now_ns) = times_ns;
    match last.filter(|full| now_ns.saturating_sub(full.read_ns) < nanos(SILENCE)) {
        Some(full) if full.read_ns >= began_ns || (is_late && full.share < goal) => First::Counts(full),
        Some(full) if !is_late || full.share >= goal => First::IsAwaited,
        None if !is_late => First::IsAwaited,
        _ => First::ComesNot,
    }
}

impl StageRun<'_, '_> {
    /// True when the load may begin: for a pass that ends when the store is full enough, when it is known how full it is. One that
    /// has nothing to do writes nothing.
    pub(super) async fn knows_how_full(&mut self, observer: &mut dyn Observer) -> bool {
        let Some(filling) = &mut self.filling else { return true };
        let (goal, until) = (filling.goal, Instant::now() + FIRST_PATIENCE);
        let began_ns = u64::try_from(self.job.dir.present().as_nanosecond()).unwrap_or(0);
        self.job.fullness.begin(&filling.named, began_ns);
        let full = loop {
            self.job.keep_nodes(self.index);
            let now_ns = u64::try_from(self.job.dir.present().as_nanosecond()).unwrap_or(0);
            let is_late = Instant::now() >= until;
            match first(self.job.fullness.now(), goal, (began_ns, now_ns), is_late) {
                First::Counts(full) => break full.clone(),
                First::IsAwaited if self.job.has_nodes() => {}
                _ => {
                    self.failure = Some(nobody_knows(&self.job.fullness, &self.job.troubles_of_nodes()));
                    return false;
                }
            }
            if *self.job.stop.borrow() != StopLevel::Run {
                return false;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        };
        let fullness = &self.job.fullness;
        if let Some(text) = fullness.conflict().or_else(|| fullness.sizes_differ()) {
            self.failure = Some(Failure { work: String::new(), class: FailureClass::Workload, text });
            return false;
        }
        let (share, goal) = percents(full.share, filling.goal);
        filling.result.before = Some(full.share);
        if full.share < filling.goal {
            let by = fullness.by();
            observer.note(&format!("the store is {share} full, by the word of {by}; it is filled to {goal}"));
            return true;
        }
        // Should drivers write all the same, of a run that is taken up, the first look ends that.
        filling.result.reached = true;
        let is_fuller = full.share >= filling.goal + FULLER;
        let missing = self.leave_gaps(is_fuller);
        if let Some(filling) = &mut self.filling {
            filling.mends = missing > 0;
        }
        let by = self.job.fullness.by();
        observer.note(&match missing {
            0 => format!(
                "the store is {share} full already, by the word of {by}: nothing is written to come to {goal}"
            ),
            _ => format!(
                "the store is {share} full already, by the word of {by}, and was to be {goal}: only what is missing between the \
                 objects that are there is written"
            ),
        });
        true
    }

    /// Leaves of the passes what is missing between the objects that are there, and nothing of a store that `is_fuller`;
    /// how many objects that is.
    fn leave_gaps(&mut self, is_fuller: bool) -> u64 {
        let mut stage = Stage::clone(&self.stage);
        let mut missing = 0;
        for pass in stage.works.iter_mut().filter_map(|work| work.pass.as_mut()) {
            let gaps = if is_fuller { Vec::new() } else { pass.gaps() };
            let pass = Arc::make_mut(pass);
            missing += gaps.iter().map(|(first, last)| last - first + 1).sum::<u64>();
            (pass.left, pass.again, pass.later) = (Some(gaps), 0, 0);
        }
        self.stage = Arc::new(stage);
        missing
    }

    /// True once, when the load is to end because the store is full enough, or will not be.
    pub(super) fn is_full_enough(&mut self, observer: &mut dyn Observer) -> bool {
        let Some(origin) = self.first_launch().map(|launch| launch.origin()) else { return false };
        let Some(filling) = self.filling.as_mut().filter(|filling| !filling.is_over) else { return false };
        let Some(full) = self.job.fullness.now() else { return false };
        let now_ns = u64::try_from(self.job.dir.present().as_nanosecond()).unwrap_or(0);
        let origin_ns = u64::try_from(origin.as_nanosecond()).unwrap_or(0);
        if filling.written.since_ns == 0 {
            filling.begin(now_ns);
        }
        if let (Some(curve), Some(since_ns)) = (&mut self.curve, full.read_ns.checked_sub(origin_ns)) {
            curve.add_full(since_ns, full.share);
        }
        let step = match self.job.fullness.conflict() {
            Some(why) => Step::Hopeless(why),
            None => filling.look(now_ns, full),
        };
        filling.is_over = step != Step::GoOn;
        match step {
            Step::GoOn => return false,
            Step::Reached => {
                let (share, goal) = percents(full.share, filling.goal);
                let text =
                    format!("its load ends at a figure of the store of {share}, which was to be {goal} full");
                observer.note(&text);
                self.looks.stopped = Some(text);
            }
            Step::Hopeless(why) => {
                let trouble = self.job.fullness.trouble();
                let why = if trouble.is_empty() { why } else { format!("{why}; {trouble}") };
                let text = format!("{why}; what was written stays, and the same command goes on from there");
                self.failure.get_or_insert(Failure { work: String::new(), class: FailureClass::Stage, text });
            }
        }
        true
    }

    /// Lets the figures follow what was written, and says what the store came to.
    pub(super) async fn end_filling(&mut self, observer: &mut dyn Observer) {
        let Some(has_written) = self.filling.as_ref().map(|filling| filling.sums.ok > 0) else { return };
        let launched = self.first_launch().is_some();
        if has_written && self.failure.is_none() {
            let ended = Instant::now();
            while ended.elapsed() < follows(&self.job.fullness) && *self.job.stop.borrow() == StopLevel::Run {
                tokio::time::sleep(LOOK_EVERY).await;
                self.job.keep_nodes(self.index);
            }
        }
        let (Some(filling), Some(full)) = (&mut self.filling, self.job.fullness.now()) else { return };
        let short = filling.settle(full, self.failure.is_some());
        let (share, goal) = percents(full.share, filling.goal);
        if filling.result.reached && has_written {
            observer.note(&format!("the store is {share} full now, and was to be {goal}"));
        }
        let stopped = *self.job.stop.borrow() != StopLevel::Run;
        if let Some(text) = short.filter(|_| !stopped && launched && self.failure.is_none()) {
            self.failure = Some(Failure { work: String::new(), class: FailureClass::Stage, text });
        }
    }
}

/// Why nothing can be begun: a pass ends when the store is full enough, and nobody looks at its machines, or at those by
/// whose word it goes, or they speak of several stores.
pub fn cannot_be_measured(job: &mut RunJob<'_>) -> Option<String> {
    let fillings: Vec<Filling> = job.workload.stages.iter().filter_map(Filling::of).collect();
    if fillings.is_empty() {
        return None;
    }
    if !job.has_nodes() {
        return Some(nobody_knows(&job.fullness, &[]).text);
    }
    let there: Vec<&str> = job.idle_nodes.iter().map(|node| node.name.as_str()).collect();
    let mut named = fillings.iter().flat_map(|filling| &filling.named);
    if let Some(absent) = named.find(|name| !there.contains(&name.as_str())) {
        let there = there.join(", ");
        return Some(format!("a fill goes by the node {absent}, and none of this run is called so: {there}"));
    }
    job.keep_nodes(0);
    fillings.iter().find_map(|filling| {
        job.fullness.begin(&filling.named, 0);
        job.fullness.conflict().or_else(|| job.fullness.sizes_differ())
    })
}

/// Failures of one operation because there was no room.
fn without_room(op: &OpSnapshot) -> u64 {
    let by_code = NO_ROOM_CODES.iter().filter_map(|code| op.codes.get(*code)).sum::<u64>();
    let by_status = op.errors.get(&Outcome::failed(&format!("http_{NO_ROOM}"))).copied().unwrap_or(0);
    by_code.max(by_status)
}

/// For how long the figures may follow after the load.
fn follows(fullness: &Fullness) -> Duration {
    let pace = fullness.longest_between();
    let pace = if pace.is_zero() { UNKNOWN_PACE } else { pace.clamp(PACE.0, PACE.1) };
    pace * 2
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// So many sentences about machines are enough.
const MOST_TROUBLES: usize = 3;

/// `seen`: what else is the matter with machines, one sentence each.
fn nobody_knows(fullness: &Fullness, seen: &[String]) -> Failure {
    let trouble = Some(fullness.trouble()).filter(|trouble| !trouble.is_empty());
    let trouble = trouble.unwrap_or_else(|| seen[..seen.len().min(MOST_TROUBLES)].join("; "));
    let trouble = if trouble.is_empty() { trouble } else { format!(" ({trouble})") };
    let who = match fullness.named() {
        [] => "nobody".to_owned(),
        named => format!("none of the nodes by which the fill goes, {},", named.join(", ")),
    };
    let text = format!(
        "{who} says how full the store is{trouble}: name under nodes: who does, Ceph's manager or MinIO's metrics v3 (type: \
         prometheus), the recon of each storage node of Swift (type: recon), or each machine with filesystems: /srv/data (type: \
         local, ssh, or prometheus for its node_exporter), and leave --no-nodes out; or fill a number of objects, without `to`"
    );
    Failure { work: String::new(), class: FailureClass::Workload, text }
}

#[cfg(test)]
mod tests;
