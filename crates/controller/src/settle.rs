//! Ends a stage when its headline figures are known well enough, so that nobody has to guess how long that takes.
//!
//! The rule is the sequential interval of fixed width: measure on until the interval is narrow enough (Y. S. Chow, H. Robbins,
//! "On the asymptotic theory of fixed-width sequential confidence intervals for the mean", Annals of Mathematical Statistics 36,
//! 1965; for series whose parts resemble each other P. W. Glynn, W. Whitt, "The asymptotic validity of sequential stopping rules
//! for stochastic simulations", Annals of Applied Probability 2, 1992). Who looks again and again stops rather early than late:
//! there is a least window, looks are far apart, and each asks for more than is promised.

use std::time::Duration;

use cosmark_archive::ThresholdRecord;
use cosmark_workload::model::{Stage, WorkKind};
use cosmark_workload::threshold::Threshold;

use crate::thresholds::{Measured, judge};

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settle {
    /// Not before the window is this long.
    pub least: Duration,
    /// Looks are this far apart.
    pub every: Duration,
    /// The headline figures are to be known within this share of their values.
    pub within: f64,
}

impl Default for Settle {
    fn default() -> Self {
        Self { least: Duration::from_secs(60), every: Duration::from_secs(10), within: 0.05 }
    }
}

/// A look asks for so much of what is promised: its interval holds with 90 %, what is published with 95 %, and it is not the
/// only look.
const STRICTER: f64 = 0.6;
/// The figures by which a run is known, as conditions that every value meets: what they say of the interval is of interest.
const FIGURES: [&str; 4] = ["throughput >= 0/s", "p50 <= 24 h", "p95 <= 24 h", "p99 <= 24 h"];

/// What a look found.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// Every headline figure is known well enough.
    pub is_enough: bool,
    /// The figure that is known worst, and how well: `p99 of read within 7.5 %`.
    pub worst: String,
}

/// True for a stage that time ends: others are as long as what they have to do.
#[must_use]
pub fn applies_to(stage: &Stage) -> bool {
    let by_time = |work: &cosmark_workload::model::Work| {
        work.kind == WorkKind::Normal
            && !work.runtime.is_zero()
            && work.total_ops.is_none()
            && work.total_bytes.is_none()
    };
    stage.search.is_none() && !stage.works.is_empty() && stage.works.iter().all(by_time)
}

/// Looks at what was measured so far.
#[must_use]
pub fn look(stage: &Stage, measured: &Measured, settle: &Settle) -> Look {
    let thresholds = FIGURES.iter().filter_map(|text| Threshold::parse(text).ok()).collect();
    let asked = Stage { thresholds, ..stage.clone() };
    let figures: Vec<(f64, String)> =
        judge(&asked, "", measured).iter().map(|record| (within(record), name_of(stage, record))).collect();
    let worst = figures.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let is_enough = worst.is_some_and(|worst| worst.0 <= STRICTER * settle.within);
    let worst = worst.map_or_else(
        || "nothing was measured".to_owned(),
        |(within, name)| {
            if within.is_finite() {
                format!("{name} within {:.1} %", within * 100.0)
            } else {
                format!("{name} by too few operations")
            }
        },
    );
    Look { is_enough, worst }
}

/// Half the width of the interval as a share of the value; infinite where it is not known.
fn within(record: &ThresholdRecord) -> f64 {
    let sides = record.value.filter(|value| *value > 0.0).zip(record.low.zip(record.high));
    sides.map_or(f64::INFINITY, |(value, (low, high))| (high - value).max(value - low) / value)
}

fn name_of(stage: &Stage, record: &ThresholdRecord) -> String {
    let works = stage.works.iter().filter(|work| work.kind == WorkKind::Normal).count();
    match (&record.operation, &record.work) {
        (Some(operation), Some(work)) if works > 1 && work != operation => {
            format!("{} of {work} {operation}", record.metric)
        }
        (Some(operation), _) => format!("{} of {operation}", record.metric),
        (None, _) => record.metric.clone(),
    }
}

#[cfg(test)]
mod tests {
    use cosmark_metrics::OpSnapshot;
    use cosmark_stats::batches::Batches;
    use cosmark_stats::bootstrap::Random;
    use cosmark_workload::{Environment, Format, parse};

    use super::*;

    fn stage() -> Stage {
        let text = "name: x\nstorage: {type: mock}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 8, runtime: \
                    300s, operations: [{type: read, containers: c(1), objects: c(1)}]}\n";
        let (workload, mistakes) = parse(text, Format::Yaml, &Environment::default());
        workload.unwrap_or_else(|| panic!("{mistakes:?}")).stages.remove(0)
    }

    fn normal(random: &mut Random) -> f64 {
        ((0..6).map(|_| random.unit()).sum::<f64>() - 3.0) * std::f64::consts::SQRT_2
    }

    /// Seconds of about `rate` operations around 10 ms; seconds resemble each other by `phi` and are `rough`.
    struct Course {
        random: Random,
        state: f64,
        rate: f64,
        phi: f64,
        rough: f64,
        op: OpSnapshot,
        batches: Batches,
        seconds: u64,
    }

    impl Course {
        fn new(seed: u64, rate: f64, phi: f64, rough: f64) -> Self {
            let (op, batches) = (OpSnapshot::default(), Batches::new(1_000_000_000));
            Self { random: Random::new(seed), state: 0.0, rate, phi, rough, op, batches, seconds: 0 }
        }

        fn go_on(&mut self, seconds: u64) -> Measured {
            for _ in 0..seconds {
                let news = normal(&mut self.random);
                self.state = self.phi * self.state + (1.0 - self.phi * self.phi).sqrt() * news;
                let slow = (self.rough * self.state).exp();
                for _ in 0..(self.rate / slow).round() as u64 {
                    let ns = (10e6 * slow * (0.3 * normal(&mut self.random)).exp()) as u64;
                    self.batches.add_one(self.seconds * 1_000_000_000, ns);
                    self.op.response.record(ns);
                    self.op.service.record(ns);
                    self.op.ok += 1;
                }
                self.seconds += 1;
            }
            let window_s = self.seconds as f64;
            Measured::new(vec![(window_s, vec![self.op.clone()])], vec![vec![self.batches.clone()]])
        }

        /// Seconds until a look finds enough, at most 300, and what p50 and throughput were then.
        fn settled(&mut self, settle: &Settle) -> (u64, bool, f64, f64) {
            let mut measured = self.go_on(settle.least.as_secs());
            loop {
                let found = look(&stage(), &measured, settle);
                if found.is_enough || self.seconds >= 300 {
                    let p50_ms = self.op.response.quantile_ns(0.5).unwrap_or(0) as f64 / 1e6;
                    return (self.seconds, found.is_enough, p50_ms, self.op.ok as f64 / self.seconds as f64);
                }
                measured = self.go_on(settle.every.as_secs());
            }
        }
    }

    #[test]
    fn an_even_store_is_known_at_the_first_look_and_a_rough_one_later_or_never() {
        let settle = Settle::default();
        assert_eq!(Course::new(1, 200.0, 0.3, 0.02).settled(&settle).0, 60);
        let rough = Course::new(2, 60.0, 0.7, 0.2).settled(&settle);
        assert!(rough.0 > 60, "{rough:?}");
        let wild = Course::new(3, 20.0, 0.9, 0.8).settled(&settle);
        assert_eq!((wild.0, wild.1), (300, false));
        let few = Course::new(4, 0.2, 0.0, 0.0).go_on(100);
        let few = look(&stage(), &few, &settle);
        assert!(!few.is_enough && few.worst.contains("too few operations"), "{few:?}");
        assert!(!look(&stage(), &Measured::default(), &settle).is_enough);
    }

    #[test]
    fn what_was_stopped_at_is_right_within_what_was_promised() {
        let settle = Settle::default();
        // The median and the rate in the long run: slow seconds have fewer operations.
        let truth = (10.0 * (-0.12_f64 * 0.12).exp(), 60.0);
        let (mut settled, mut right) = (0, 0);
        for seed in 0..60 {
            let (_, enough, p50_ms, rate) = Course::new(100 + seed, truth.1, 0.5, 0.12).settled(&settle);
            let lean = (0.5 * 0.12_f64 * 0.12).exp();
            let off = (p50_ms / truth.0 - 1.0).abs().max((rate / (truth.1 * lean) - 1.0).abs());
            settled += u32::from(enough);
            right += u32::from(enough && off <= settle.within);
        }
        // Of 150 such runs 143 were right in both figures, 145 in each of them.
        assert!(settled >= 40 && right * 100 >= settled * 90, "{right} of {settled}");
    }

    #[test]
    fn only_what_time_ends_is_ended_early() {
        let mut own = stage();
        assert!(applies_to(&own));
        own.works[0].total_ops = Some(1000);
        assert!(!applies_to(&own));
        own.works[0].total_ops = None;
        own.works[0].kind = WorkKind::Prepare;
        assert!(!applies_to(&own));
    }
}
