//! Due times of an open loop: one thread's part of the schedule of all threads of all drivers, computed, never skipped.
//! Every arrival has a home among the workers of the work, and belongs to the thread of that worker: so constant, ramp, step
//! and recorded schedules are the same however many drivers and threads share them, and nobody has to talk. Poisson
//! processes are split into independent ones of a smaller rate, whose sum is the process asked for.

use std::time::Duration;

use cosmark_workload::choose::unit;
use cosmark_workload::model::Arrivals;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::recorded::{ArrivalError, RecordedTimes};

enum Law {
    /// Arrival k at `k / rate`.
    Constant {
        period_ns: f64,
    },
    Poisson {
        mean_ns: f64,
        at_ns: f64,
        rng: Box<Xoshiro256PlusPlus>,
    },
    /// Arrival k where the integral of a rate that moves linearly reaches k.
    Ramp {
        from_per_s: f64,
        slope_per_s2: f64,
        length_s: f64,
        to_per_s: f64,
    },
    /// (start s, arrivals before it, rate)
    Steps(Vec<(f64, f64, f64)>),
    Recorded(std::vec::IntoIter<u64>),
}

/// Which arrivals belong to a thread: those whose home is one of its workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Workers of the work over all drivers; > 0.
    pub all_workers: u32,
    /// The driver's first worker.
    pub first_worker: u32,
    /// The driver's workers; > 0.
    pub workers: u32,
    /// The thread among those of the driver that have workers of this work.
    pub thread: u32,
    /// How many of these there are; > 0, at most `workers`.
    pub threads: u32,
}

impl Part {
    /// The whole schedule.
    #[cfg(test)]
    pub const WHOLE: Part = Part { all_workers: 1, first_worker: 0, workers: 1, thread: 0, threads: 1 };

    /// Home of arrival `number`. Neighbours have homes far apart (golden section), so that each driver's part is as even as
    /// the whole.
    fn home(self, number: u64) -> u32 {
        let all = u64::from(self.all_workers.max(1));
        let mut step = (all * 618_034 / 1_000_000).max(1);
        while greatest_common_divisor(step, all) != 1 {
            step += 1;
        }
        u32::try_from(u128::from(number) * u128::from(step) % u128::from(all)).unwrap_or(0)
    }

    fn owns(self, number: u64) -> bool {
        let Some(local) = self.home(number).checked_sub(self.first_worker) else { return false };
        local < self.workers && local % self.threads == self.thread
    }

    /// Numbers of arrivals in which the pattern of homes repeats.
    fn period(self) -> u64 {
        u64::from(self.all_workers.max(1))
    }

    /// The thread's share of the whole.
    fn share(self) -> f64 {
        let own = (self.workers + self.threads - 1 - self.thread) / self.threads;
        f64::from(own) / f64::from(self.all_workers.max(1))
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// One thread's due times, rising.
pub struct Schedule {
    law: Law,
    start_ns: u64,
    /// Own numbers within one period, rising; and how many whole periods are over.
    own: Vec<u64>,
    at: usize,
    before: u64,
    period: u64,
}

impl Schedule {
    /// The part of `arrivals` that belongs to a thread; `length` is how long the work runs, ramps included.
    ///
    /// # Errors
    /// [`ArrivalError`] for recorded arrivals.
    pub fn new(
        arrivals: &Arrivals,
        part: Part,
        start_ns: u64,
        length: Duration,
        rng: Xoshiro256PlusPlus,
    ) -> Result<Self, ArrivalError> {
        let law = match arrivals {
            Arrivals::Constant { rate_per_s } => Law::Constant { period_ns: 1e9 / rate_per_s },
            Arrivals::Poisson { rate_per_s } => {
                Law::Poisson { mean_ns: 1e9 / (rate_per_s * part.share()), at_ns: 0.0, rng: Box::new(rng) }
            }
            Arrivals::Ramp { from_per_s, to_per_s } => {
                let length_s = length.as_secs_f64().max(1e-9);
                let slope_per_s2 = (to_per_s - from_per_s) / length_s;
                Law::Ramp { from_per_s: *from_per_s, slope_per_s2, length_s, to_per_s: *to_per_s }
            }
            Arrivals::Step { steps } => Law::Steps(cumulate(steps)),
            Arrivals::Recorded { path, time_warp } => {
                Law::Recorded(read_recorded(path, *time_warp, part)?.into_iter())
            }
        };
        let period = part.period();
        let own = (0..period).filter(|number| part.owns(*number)).collect();
        Ok(Self { law, start_ns, own, at: 0, before: 0, period })
    }

    /// The next due time; `None` when the schedule is over.
    pub fn next_ns(&mut self) -> Option<u64> {
        #[expect(clippy::cast_precision_loss, reason = "arrival numbers stay far below 2^53")]
        let number = (self.before + self.own.get(self.at)?) as f64;
        let offset_ns = match &mut self.law {
            Law::Constant { period_ns } => number * *period_ns,
            Law::Poisson { mean_ns, at_ns, rng } => {
                *at_ns += -(1.0 - unit(rng)).ln() * *mean_ns;
                *at_ns
            }
            Law::Ramp { from_per_s, slope_per_s2, length_s, to_per_s } => {
                ramp_time_s(*from_per_s, *slope_per_s2, *length_s, *to_per_s, number)? * 1e9
            }
            Law::Steps(steps) => {
                let at = steps.partition_point(|(_, before, _)| *before <= number).saturating_sub(1);
                let (start_s, before, rate_per_s) = *steps.get(at)?;
                if rate_per_s <= 0.0 {
                    return None;
                }
                (start_s + (number - before) / rate_per_s) * 1e9
            }
            Law::Recorded(offsets) => return offsets.next().map(|ns| self.start_ns + ns),
        };
        self.at += 1;
        if self.at == self.own.len() {
            self.at = 0;
            self.before += self.period;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "offsets are not negative; beyond u64 saturates"
        )]
        Some(self.start_ns.saturating_add(offset_ns as u64))
    }
}

/// Solves `from t + slope t^2 / 2 = number` for t; after the ramp the end rate stays.
fn ramp_time_s(from_per_s: f64, slope_per_s2: f64, length_s: f64, to_per_s: f64, number: f64) -> Option<f64> {
    let in_ramp = length_s * (from_per_s + to_per_s) / 2.0;
    if number > in_ramp {
        return (to_per_s > 0.0).then(|| length_s + (number - in_ramp) / to_per_s);
    }
    if slope_per_s2.abs() < 1e-12 {
        return (from_per_s > 0.0).then(|| number / from_per_s);
    }
    let root = (from_per_s * from_per_s + 2.0 * slope_per_s2 * number).max(0.0).sqrt();
    Some((root - from_per_s) / slope_per_s2)
}

fn cumulate(steps: &[(f64, Duration)]) -> Vec<(f64, f64, f64)> {
    let (mut start_s, mut before) = (0.0, 0.0);
    let mut cumulated = Vec::with_capacity(steps.len());
    for (rate_per_s, length) in steps {
        // A pause (rate 0) has no arrivals: the next step begins with the same count, and is found in its place. One that is
        // the last has no arrivals for ever.
        cumulated.push((start_s, before, *rate_per_s));
        start_s += length.as_secs_f64();
        before += rate_per_s * length.as_secs_f64();
    }
    cumulated
}

fn read_recorded(path: &str, time_warp: f64, part: Part) -> Result<Vec<u64>, ArrivalError> {
    let mut offsets = Vec::new();
    for (number, seconds) in (0_u64..).zip(RecordedTimes::open(path)?) {
        let seconds = seconds?;
        if part.owns(number) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be finite and not negative"
            )]
            offsets.push((seconds / time_warp * 1e9) as u64);
        }
    }
    Ok(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::generator;

    /// All due times of `drivers` drivers with `threads` threads each, which share 12 workers.
    fn all_of(arrivals: &Arrivals, drivers: u32, threads: u32, until_s: f64) -> Vec<u64> {
        let mut due = Vec::new();
        let mut first_worker = 0;
        for driver in 0..drivers {
            let workers = 12 / drivers + u32::from(driver < 12 % drivers);
            let threads = threads.min(workers);
            for thread in 0..threads {
                let part = Part { all_workers: 12, first_worker, workers, thread, threads };
                let length = Duration::from_secs(10);
                let mut schedule =
                    Schedule::new(arrivals, part, 0, length, generator(1, first_worker + thread)).unwrap();
                while let Some(ns) = schedule.next_ns().filter(|ns| *ns as f64 <= until_s * 1e9) {
                    due.push(ns);
                }
            }
            first_worker += workers;
        }
        due.sort_unstable();
        due
    }

    fn all(arrivals: &Arrivals, threads: u32, until_s: f64) -> Vec<u64> {
        all_of(arrivals, 1, threads, until_s)
    }

    #[test]
    fn any_number_of_drivers_and_threads_shares_a_schedule_exactly_and_each_part_is_even() {
        let arrivals = Arrivals::Constant { rate_per_s: 120.0 };
        let one = all(&arrivals, 1, 9.999);
        for (drivers, threads) in [(1, 5), (2, 1), (3, 2), (5, 3), (12, 1)] {
            assert_eq!(all_of(&arrivals, drivers, threads, 9.999), one, "{drivers} x {threads}");
        }
        let part = Part { all_workers: 400, first_worker: 100, workers: 100, thread: 0, threads: 1 };
        let mut schedule = Schedule::new(&arrivals, part, 0, Duration::ZERO, generator(1, 1)).unwrap();
        let due: Vec<u64> = std::iter::from_fn(|| schedule.next_ns()).take(1000).collect();
        let longest = due.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(
            longest < 12 * 1_000_000_000 / 120,
            "a quarter of the arrivals comes about every fourth time: {longest}"
        );
    }

    #[test]
    fn constant_arrivals_are_the_same_for_any_number_of_threads() {
        let arrivals = Arrivals::Constant { rate_per_s: 120.0 };
        let one = all(&arrivals, 1, 9.999);
        assert_eq!(one.len(), 1200);
        assert_eq!(one[120], 1_000_000_000);
        assert_eq!(one, all(&arrivals, 7, 9.999));
    }

    #[test]
    fn a_ramp_has_as_many_arrivals_as_its_area_and_is_denser_at_its_end() {
        let arrivals = Arrivals::Ramp { from_per_s: 100.0, to_per_s: 300.0 };
        let due = all(&arrivals, 3, 9.9999);
        assert_eq!(due.len(), 2000);
        let half = due.iter().filter(|ns| **ns < 5_000_000_000).count();
        assert_eq!(half, 750);
    }

    #[test]
    fn steps_keep_their_rates_and_a_pause_has_no_arrivals() {
        let second = Duration::from_secs(1);
        let arrivals = Arrivals::Step { steps: vec![(10.0, second), (0.0, second), (20.0, second)] };
        let due = all(&arrivals, 2, 3.4999);
        let count =
            |from: u64, to: u64| due.iter().filter(|ns| (from..to).contains(&(**ns / 1_000_000))).count();
        assert_eq!(
            (count(0, 1000), count(1000, 2000), count(2000, 3000), count(3000, 3500)),
            (10, 0, 20, 10)
        );
    }

    #[test]
    fn a_pause_at_the_end_is_the_end() {
        let steps = vec![(10.0, Duration::from_millis(250)), (0.0, Duration::from_secs(1))];
        assert_eq!(all(&Arrivals::Step { steps }, 2, 100.0), [0, 100_000_000, 200_000_000]);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_their_law() {
        let due = all(&Arrivals::Poisson { rate_per_s: 5000.0 }, 4, 10.0);
        assert!((due.len() as f64 - 50_000.0).abs() < 4.0 * 50_000_f64.sqrt(), "{}", due.len());
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let variation = variance.sqrt() / mean;
        assert!((variation - 1.0).abs() < 0.03, "{variation}");
    }

    #[test]
    fn a_bad_line_of_recorded_arrivals_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "0.5\n1.5 # two\n1.0\n").unwrap();
        let error = read_recorded(file.path().to_str().unwrap(), 1.0, Part::WHOLE).unwrap_err();
        assert!(error.to_string().contains("line 3"), "{error}");
        std::fs::write(file.path(), "0.5\n1.5\n\n2\n").unwrap();
        let half = |first_worker| Part { all_workers: 2, first_worker, ..Part::WHOLE };
        let read = |part| read_recorded(file.path().to_str().unwrap(), 2.0, part).unwrap();
        assert_eq!(read(half(1)), [750_000_000]);
        assert_eq!(read(half(0)), [250_000_000, 1_000_000_000]);
    }
}
