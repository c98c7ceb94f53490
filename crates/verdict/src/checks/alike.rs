//! Check of drivers that differ: percentiles and rates of each, and what chance leaves of a difference.

use super::client::ONE_DRIVER;
use super::steadiness::unevenness::Unevenness;
use super::{MEDIAN, RATE, TAIL};
use crate::evidence::{DriverEvidence, Evidence, OperationEvidence};
use crate::finding::{Finding, Status};
use crate::numbers::plain;

/// What is left of a factor between two drivers when as much is taken off as chance makes of so few operations: the least and
/// the greatest of several were looked for. `spread` is the relative standard error of the figure times the root of their
/// number: 1 of a count, more of percentiles of uneven times.
fn beyond_chance(factor: f64, spread: f64, (few, many): (f64, f64)) -> f64 {
    const DEVIATIONS: f64 = 4.0;
    /// A driver that did none where the other did fewer is chance.
    const LEAST_EXPECTED: f64 = 15.0;
    if factor == f64::MAX {
        return if many >= LEAST_EXPECTED { factor } else { 1.0 };
    }
    let error = spread * (1.0 / few.max(1.0) + 1.0 / many.max(1.0)).sqrt();
    (factor / (DEVIATIONS * error).exp()).max(1.0)
}

/// One number of a driver.
type Figure = fn(&DriverEvidence) -> Option<f64>;

/// The drivers with the least and the greatest of these figures.
fn ends(op: &OperationEvidence, figure: Figure) -> Option<[(f64, &DriverEvidence); 2]> {
    let all = || op.drivers.iter().filter_map(move |driver| Some((figure(driver)?, driver)));
    let order = |a: &(f64, &DriverEvidence), b: &(f64, &DriverEvidence)| a.0.total_cmp(&b.0);
    Some([all().min_by(order)?, all().max_by(order)?])
}

/// Whether the percentile of two drivers may be on the two sides of a leap that the times of both have, as between hits and misses
/// of a cache: the one with the less has times like the other's right above it, and the other has the like right below.
fn is_at_a_leap((below, above): (Figure, Figure), [least, most]: [(f64, &DriverEvidence); 2]) -> bool {
    const ALIKE: f64 = 1.25;
    most.0 > ALIKE * least.0
        && above(least.1).is_some_and(|next| ALIKE * next >= most.0)
        && below(most.1).is_some_and(|next| next <= ALIKE * least.0)
}

/// A figure of drivers by its name: which headline figure it moves, how uneven it is, and the percentiles next to it.
type Compared = (&'static str, &'static str, f64, Figure, Option<(Figure, Figure)>);

#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
const COMPARED: [Compared; 3] = [
    (
        "median",
        MEDIAN,
        1.5,
        |driver| driver.response.p50,
        Some((|one| one.response.min, |one| one.response.p60)),
    ),
    (
        "p99",
        TAIL,
        4.0,
        |driver| driver.response.p99,
        Some((|one| one.response.p95, |one| one.response.p99_9.or(one.response.max))),
    ),
    (
        "rate per worker",
        RATE,
        1.0,
        |driver| (driver.workers > 0).then(|| driver.rate_per_s / driver.workers as f64),
        None,
    ),
];

/// V17. The worst factor between two drivers over all operations.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn drivers_alike(evidence: &Evidence) -> Finding {
    if evidence.drivers < 2 {
        return Finding::does_not_apply(ONE_DRIVER);
    }
    let mut worst: Option<(f64, &'static str, String)> = None;
    for op in evidence.operations.iter().filter(|op| op.drivers.len() > 1) {
        for (what, moved, spread, figure, beside) in COMPARED {
            let Some(found) = ends(op, figure) else { continue };
            let mean = |driver: &DriverEvidence| driver.response.mean;
            // On which side of a leap a percentile falls is chance; the mean tells how much is on each.
            let of_mean = beside.filter(|beside| is_at_a_leap(*beside, found)).and_then(|_| ends(op, mean));
            let (what, spread, [least, most]) = match of_mean {
                Some(found) => ("mean", Unevenness::of(evidence, &op.work).variance.max(1.0).sqrt(), found),
                None => (what, spread, found),
            };
            let factor = if least.0 > 0.0 { most.0 / least.0 } else { f64::MAX };
            let [few, many] = [least, most].map(|(_, driver)| driver.rate_per_s * op.window_s);
            let certain = beyond_chance(factor, spread, (few, many));
            if worst.as_ref().is_none_or(|(most, ..)| certain > *most) {
                let (slow, fast) = (&most.1.driver, &least.1.driver);
                let text = if least.0 > 0.0 {
                    let times = plain(factor);
                    format!("{what} of {} is {times} times as high on driver {slow} as on {fast}", op.name)
                } else {
                    format!("driver {fast} delivered nothing of {}, and driver {slow} did", op.name)
                };
                worst = Some((certain, moved, text));
            }
        }
    }
    let Some((factor, moved, what)) = worst else {
        return Finding::unknown("results by driver were not recorded");
    };
    let found = Finding::graded(
        factor,
        1.25,
        2.0,
        || what.clone(),
        || format!("{what}: pooled percentiles mix two populations, read the drivers one by one"),
    );
    // One of so many drivers moves that part of what is pooled; a tail may be all its own.
    let part = if moved == TAIL { 1.0 } else { 1.0 / evidence.drivers as f64 };
    match found.status {
        Status::Warn | Status::Fail => found.moving(moved, part * (1.0 - 1.0 / factor.max(1.0))),
        _ => found,
    }
}
