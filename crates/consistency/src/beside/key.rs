//! The life of one key: its changes, when it is looked at after each, and what its history says in the end.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use cosmark_history::{ABSENT, Kind, Operation, Rules, Wrong, check};
use cosmark_metrics::LookClass;
use futures_util::future::{join, join_all};

use super::{AT_ONCE, Field, LISTS, Life, Looked, READS, WRITERS};
use crate::change::{CHANGES, Change};

/// A miss sooner than that after the acknowledgement draws no look behind it.
const LEAST: Duration = Duration::from_millis(1);
/// Every other look behind the last miss is up to so many times as late.
const WIDE: f64 = 3.0;
const WIDE_SHARE: f64 = 0.5;
/// Others are up to where the change was seen first behind it, as long as that is by so much later.
const CLOSE_SHARE: f64 = 0.75;
const CLOSE_ENOUGH: f64 = 1.005;

/// Where a window ends, as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Edge {
    /// Time of the last miss after the acknowledgement, us.
    missed_us: u64,
    /// The first time behind it at which a change was seen.
    seen_us: Option<u64>,
}

impl Edge {
    /// A look so long after the acknowledgement, and whether it missed the change.
    fn take(&mut self, (after_us, is_stale): (u64, bool)) {
        if is_stale {
            self.missed_us = self.missed_us.max(after_us);
            self.seen_us = self.seen_us.filter(|seen_us| *seen_us > self.missed_us);
        } else if after_us > self.missed_us {
            self.seen_us = Some(self.seen_us.map_or(after_us, |seen_us| seen_us.min(after_us)));
        }
    }

    fn missed(self) -> Duration {
        Duration::from_micros(self.missed_us)
    }

    /// When it is looked behind the last miss, if it is: `which` and `place` are drawn from 0 to below 1. A window that is
    /// always as long is halved again and again; one that is longer now and then is met by those that look far.
    fn look_behind(self, which: f64, place: f64) -> Option<Duration> {
        let missed = Some(self.missed()).filter(|missed| *missed >= LEAST)?;
        let close = || {
            let seen = Duration::from_micros(self.seen_us?);
            let most = seen.as_secs_f64() / missed.as_secs_f64();
            Some(most.min(WIDE)).filter(|_| which < CLOSE_SHARE && most > CLOSE_ENOUGH)
        };
        let most = if which < WIDE_SHARE { Some(WIDE) } else { close() };
        most.map(|most| missed.mul_f64(1.0 + (most - 1.0) * place))
    }
}

impl Field<'_> {
    /// One key.
    pub(super) async fn life(&self) {
        let Some(reach) = self.reach() else { return };
        let key = self.next_key.replace(self.next_key.get().wrapping_add(1));
        let object = format!("{}{key:08}", self.plan.prefix);
        let writer = key as usize % WRITERS;
        let life = Life { writer, reach, history: RefCell::default(), latest: Cell::new(0) };
        for version in 1..=CHANGES {
            if version > 1 && !self.promised(self.cost(version)).await {
                break;
            }
            let change = Change { key, version, object: &object, processes: 0 };
            if !self.change(&change, &life).await || self.control.is_ending() {
                break;
            }
        }
        self.judge(life);
    }

    /// Changes the key and looks at it; `false`: the change has no answer that can be built on.
    async fn change(&self, change: &Change<'_>, life: &Life) -> bool {
        life.latest.set(change.version);
        if !change.is_delete() {
            self.there.borrow_mut().insert(change.object.to_owned());
        }
        let beside = self.read(change, life, self.reader(), None);
        let (written, _) = join(self.write(change, life), beside).await;
        let Some((acked_ns, endpoint)) = written else { return false };
        if change.is_delete() {
            self.there.borrow_mut().remove(change.object);
        }
        self.sum(|sums| sums.changes += 1);
        let reads =
            join_all(self.times(READS, life.reach, change.class()).into_iter().map(|after_ns| async move {
                if !self.until(acked_ns.saturating_add(after_ns)).await {
                    return None;
                }
                // The connection that wrote is one of those that read.
                let of = self.draw_below(self.hands.len() - WRITERS + 1);
                let hand = if of == 0 { life.writer } else { WRITERS + of - 1 };
                self.read(change, life, hand, Some((acked_ns, endpoint))).await
            }));
        let wanted = change.class_of_list().filter(|_| self.plan.lists);
        let times = wanted.map(|class| self.times(LISTS, life.reach, class)).unwrap_or_default();
        let lists = join_all(times.into_iter().map(|after_ns| async move {
            if !self.until(acked_ns.saturating_add(after_ns)).await {
                return None;
            }
            self.list(change, acked_ns, endpoint).await
        }));
        let (reads, lists) = join(reads, lists).await;
        self.seen(change.class(), &reads);
        if let Some(class) = wanted {
            self.seen(class, &lists);
        }
        true
    }

    fn seen(&self, class: LookClass, looks: &[Looked]) {
        let all = || looks.iter().flatten();
        let Some(last_us) = all().map(|look| look.0).max() else { return };
        let last_stale_us = all().filter(|look| look.1).map(|look| look.0).max();
        let mut edges = self.edges.borrow_mut();
        let edge = edges.entry(class).or_default();
        // Misses first: what was seen before the last of them is not behind it.
        all().filter(|look| look.1).chain(all().filter(|look| !look.1)).for_each(|look| edge.take(*look));
        drop(edges);
        self.sum(|sums| sums.change(class, last_us, last_stale_us));
    }

    /// Times after an acknowledgement, ns, one in each of as many parts of the axis. For most changes one of them is drawn
    /// behind the last miss of the class: evenly over the logarithm few looks come to the end of a long window.
    fn times(&self, count: usize, reach: Duration, class: LookClass) -> Vec<u64> {
        let most_ms = (reach.as_secs_f64() * 1e3).max(1.0);
        let one = |number: usize| {
            let place = (number as f64 + self.draw()) / count as f64;
            if place < AT_ONCE {
                return 0;
            }
            let after_ms = most_ms.powf((place - AT_ONCE) / (1.0 - AT_ONCE));
            Duration::from_secs_f64(after_ms / 1e3).as_nanos() as u64
        };
        let mut times: Vec<u64> = (0..count).map(one).collect();
        let edge = self.edges.borrow().get(&class).copied().unwrap_or_default();
        let behind = edge.look_behind(self.draw(), self.draw()).map(|behind| behind.as_nanos() as u64);
        let reach_ns = reach.as_nanos() as u64;
        if let Some(behind_ns) = behind.filter(|_| edge.missed().as_nanos() < reach.as_nanos()) {
            let nearest = times.iter_mut().min_by_key(|at| at.abs_diff(behind_ns));
            nearest.into_iter().for_each(|at| *at = behind_ns.min(reach_ns));
        }
        times
    }

    /// What a key's history says.
    fn judge(&self, life: Life) {
        let history = life.history.into_inner();
        if self.plan.records > 0 {
            self.control.add_own(&history, self.may_record());
        }
        let Ok(report) = check(&history, Rules::default()) else { return };
        let back = (0..self.hands.len())
            .map(|hand| went_back(&history, hand as u32, life.latest.get()))
            .sum::<u64>();
        self.sum(|sums| {
            sums.reads += report.counts.reads;
            sums.back_on_a_connection += back;
            sums.went_back += report.counts.of(Wrong::WentBack);
            sums.never_written += report.counts.of(Wrong::NeverWritten);
        });
    }
}

/// Reads of one connection that gave an older version than one of its earlier reads: with the versions that it can have seen chosen
/// as well as they can be, since no object is what three of them look like.
fn went_back(history: &[Operation], process: u32, latest: u64) -> u64 {
    let mut reads: Vec<&Operation> =
        history.iter().filter(|one| one.kind == Kind::Read && one.process == process).collect();
    reads.sort_by_key(|one| one.call_ns);
    let (mut floor, mut back) = (0, 0);
    for read in reads {
        let absences =
            [0].into_iter().chain((1..=latest).filter(|version| {
                Change { key: 0, version: *version, object: "", processes: 0 }.is_delete()
            }));
        let seen = if read.value == ABSENT {
            absences.filter(|version| *version >= floor).min()
        } else {
            Some(read.value).filter(|version| *version >= floor)
        };
        match seen {
            // What nobody wrote is counted elsewhere.
            Some(u64::MAX) => {}
            Some(version) => floor = version,
            None => back += 1,
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use cosmark_history::Outcome;

    use super::*;

    fn read(call_ns: u64, value: u64) -> Operation {
        Operation {
            call_ns,
            return_ns: call_ns + 1,
            value,
            key: 0,
            process: 3,
            kind: Kind::Read,
            outcome: Outcome::Done,
        }
    }

    /// The last miss after so many looks behind the first, which was at a tenth of the window, as a part of the window.
    fn found(looks: u32, is_missed: impl Fn(u32) -> bool) -> f64 {
        let window_us = 4_000_000;
        let mut edge = Edge::default();
        edge.take((window_us / 10, true));
        for look in 0..looks {
            // Numbers that are spread evenly (the golden section, and the root of 2).
            let [which, place] = [0.618_034, 0.414_214].map(|step| (f64::from(look) * step).fract());
            let Some(after) = edge.look_behind(which, place) else { continue };
            let after_us = after.as_micros() as u64;
            edge.take((after_us, after_us < window_us && is_missed(look)));
        }
        edge.missed().as_secs_f64() / 4.0
    }

    #[test]
    fn looks_come_to_the_end_of_a_window_that_is_always_as_long_and_of_one_that_is_not() {
        let fixed = found(40, |_| true);
        assert!((0.98..1.0).contains(&fixed), "{fixed}");
        let now_and_then = found(200, |look| look % 3 == 0);
        assert!((0.85..1.0).contains(&now_and_then), "{now_and_then}");
        let (mut edge, none) = (Edge::default(), Edge::default());
        assert_eq!(none.look_behind(0.1, 0.5), None, "nothing was missed");
        edge.take((5_000, false));
        edge.take((9_000, true));
        assert_eq!(edge.seen_us, None, "it was seen before the last miss");
        assert_eq!(edge.look_behind(0.9, 0.5), None);
        assert_eq!(edge.look_behind(0.1, 0.5), Some(Duration::from_millis(18)));
    }

    #[test]
    fn a_connection_went_back_only_where_no_order_of_the_versions_explains_it() {
        for (values, latest, back) in [
            (&[0, 1, 1, 2][..], 2, 0),
            (&[1, 0], 2, 1),
            // The absence after the second version is that of the delete.
            (&[1, 2, 0, 4, 0], 5, 0),
            (&[2, 1, 2, 1], 2, 2),
            (&[4, 0], 4, 1),
            (&[4, 2, 0], 4, 2),
            (&[2, u64::MAX, 2], 2, 0),
        ] {
            let mut history: Vec<_> = (0..).zip(values).map(|(at, value)| read(at * 10, *value)).collect();
            history.reverse();
            assert_eq!(went_back(&history, 3, latest), back, "{values:?}");
            assert_eq!(went_back(&history, 2, latest), 0);
        }
    }
}
