//! Whether a run may begin, and on which drivers: all that are not drained, or those that it asks for. Who came first is served
//! first: what an earlier run waits for is not given to a later one.

use std::time::Duration;

use cosmark_workload::drivers::{DriverThere, DriversWanted, Standing};
use tokio::time::Instant;

use super::{Job, RunQueue};
use crate::queue::store::QueueEntry;

/// What is to be done with a run that waits.
pub(super) struct Next {
    pub(super) id: String,
    /// Who makes its load; nobody for one that is taken up again, and for one that does not begin.
    pub(super) drivers: Vec<String>,
    /// It does not begin: why.
    pub(super) refused: Option<String>,
}

/// What a run that waits has waited for.
#[derive(Default)]
pub(super) struct Waiting {
    /// In words; `None` = for its turn.
    pub(super) what: Option<String>,
    /// Since when drivers that it asks for are not there.
    short_since: Option<Instant>,
    /// Since when it was its turn.
    turn_since: Option<Instant>,
}

impl Waiting {
    /// How long it was its turn already.
    pub(super) fn waited(&self) -> Duration {
        self.turn_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Takes note of how it stands; why it does not begin, when its patience is over.
    fn note(&mut self, wanted: &DriversWanted, standing: &Standing, now: Instant) -> Option<String> {
        self.turn_since.get_or_insert(now);
        self.what = wanted.waits_for(standing);
        let Standing::Short { there } = standing else {
            self.short_since = None;
            return None;
        };
        let since = *self.short_since.get_or_insert(now);
        wanted.patience().filter(|patience| now.duration_since(since) >= *patience)?;
        Some(wanted.in_vain(*there))
    }
}

/// What a run asks for, by what was submitted with it and by its workload.
pub(super) fn wanted_of(entry: &QueueEntry) -> DriversWanted {
    let wanted = DriversWanted::of_text(&entry.wants).unwrap_or_default();
    DriversWanted { wait: entry.wait_for_drivers_ms.map(Duration::from_millis), ..wanted }
}

impl RunQueue {
    /// The next run that may begin, or that has waited in vain: one that was cancelled while it waited at once, the others in
    /// their order while there is room.
    pub(super) fn next(&self) -> Option<Next> {
        let mut changed = Vec::new();
        let next = {
            let mut jobs = self.jobs();
            if !jobs.leading || jobs.stopping {
                return None;
            }
            if let Some(job) = jobs.active.iter().find(|job| job.stop.is_none() && job.resumed) {
                return Some(Next { id: job.entry.id.clone(), drivers: Vec::new(), refused: None });
            }
            if let Some(job) =
                jobs.active.iter().find(|job| job.stop.is_none() && job.entry.cancelled.is_some())
            {
                let refused = Some("it was cancelled before it began".to_owned());
                return Some(Next { id: job.entry.id.clone(), drivers: Vec::new(), refused });
            }
            let running = jobs.active.iter().filter(|job| job.stop.is_some()).count();
            let has_room = running < self.concurrency;
            let mut waiting: Vec<&mut Job> =
                jobs.active.iter_mut().filter(|job| job.stop.is_none()).collect();
            waiting.sort_by_key(|job| job.place());
            let before: Vec<Option<String>> = waiting.iter().map(|job| job.waiting.what.clone()).collect();
            let next =
                if has_room { serve(&mut waiting, self.runner.pool.there(), Instant::now()) } else { None };
            if !has_room {
                waiting.iter_mut().for_each(|job| job.waiting = Waiting::default());
            }
            for (job, before) in waiting.iter().zip(before) {
                if job.waiting.what != before {
                    changed.push((job.live.clone(), job.waiting.what.clone()));
                }
            }
            next
        };
        for (live, what) in changed {
            let id = live.id.clone();
            live.change(|summary| summary.waits_for = what);
            self.tell_run(&id);
        }
        next
    }
}

/// Goes through those that wait, in their order.
fn serve(waiting: &mut [&mut Job], mut there: Vec<DriverThere>, now: Instant) -> Option<Next> {
    let mut next = None;
    for job in waiting {
        let standing = job.wanted.stand(&there);
        let id = || job.entry.id.clone();
        if let Some(reason) = job.waiting.note(&job.wanted, &standing, now) {
            next.get_or_insert(Next { id: id(), drivers: Vec::new(), refused: Some(reason) });
        }
        if let Standing::Ready(drivers) = standing {
            next.get_or_insert(Next { id: id(), drivers, refused: None });
        }
        // Whoever comes later waits for these, too.
        there.iter_mut().filter(|driver| job.wanted.means(driver)).for_each(|driver| driver.is_free = false);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::store::QueueEntry;

    fn pool(names: &[&str]) -> Vec<DriverThere> {
        let driver = |name: &&str| DriverThere {
            name: (*name).to_owned(),
            labels: vec![("zone".to_owned(), name[..1].to_owned())],
            is_free: true,
        };
        names.iter().map(driver).collect()
    }

    fn job(number: u64, wants: &str, wait_ms: Option<u64>) -> Job {
        let entry = QueueEntry {
            wants: wants.to_owned(),
            wait_for_drivers_ms: wait_ms,
            ..crate::queue::store::example(number, String::new())
        };
        Job::of(entry)
    }

    fn serve_all(
        jobs: &mut [Job],
        there: &[DriverThere],
        now: Instant,
    ) -> Option<(String, Vec<String>, Option<String>)> {
        let mut waiting: Vec<&mut Job> = jobs.iter_mut().collect();
        serve(&mut waiting, there.to_vec(), now).map(|next| (next.id, next.drivers, next.refused))
    }

    #[test]
    fn the_first_in_the_queue_gets_all_and_the_second_waits_for_all() {
        let mut there = pool(&["a1", "a2", "b1"]);
        let mut jobs = [job(1, "", None), job(2, "", None)];
        let now = Instant::now();
        let (id, drivers, _) = serve_all(&mut jobs, &there, now).unwrap();
        assert_eq!((id.as_str(), drivers.len()), ("w1", 3));
        there[1].is_free = false;
        assert_eq!(serve_all(&mut jobs[1..], &there, now), None);
        assert_eq!(
            jobs[1].waiting.what.as_deref(),
            Some("waiting for all drivers, 3 are there and 2 are free")
        );
    }

    #[test]
    fn what_is_missing_is_waited_for_up_to_its_time_and_disjoint_labels_pass() {
        let there = pool(&["a1", "a2", "b1"]);
        let mut jobs = [job(1, "5,zone=a", Some(60_000)), job(2, "zone=a", None), job(3, "zone=b", None)];
        let now = Instant::now();
        let (id, drivers, _) = serve_all(&mut jobs, &there, now).unwrap();
        assert_eq!((id.as_str(), drivers), ("w3", vec!["b1".to_owned()]));
        assert_eq!(jobs[0].waiting.what.as_deref(), Some("waiting for 5 drivers of zone=a, 2 are there"));
        assert!(jobs[1].waiting.what.is_some(), "what the first waits for is not given to the second");
        let (id, drivers, refused) =
            serve_all(&mut jobs[..2], &there, now + Duration::from_secs(61)).unwrap();
        assert_eq!((id.as_str(), drivers.len()), ("w1", 0));
        let reason = refused.unwrap();
        assert!(
            reason.contains("5 drivers of zone=a") && reason.contains("2 are there within 60s"),
            "{reason}"
        );
    }

    #[test]
    fn without_a_wish_a_driver_is_waited_for_without_end() {
        let mut jobs = [job(1, "", None)];
        let now = Instant::now();
        assert_eq!(serve_all(&mut jobs, &[], now), None);
        assert_eq!(serve_all(&mut jobs, &[], now + Duration::from_secs(86_400)), None);
        assert_eq!(jobs[0].waiting.what.as_deref(), Some("waiting for a driver, 0 are there"));
    }
}
