//! What the clients of two sides leave open of a ratio: the systematic part of the error bounds (`bounds` of `run.json`). The
//! statistical part is the test's own. A client's part is no chance, so neither length nor repetition makes it smaller, and the
//! worst of both sides is taken.

use cosmark_metrics::results::{Bound, Metric, Spread};
use cosmark_stats::rank::mann_whitney;

use super::load::LoadedOperation;

/// By which factors a value may be wrong because of the client: the true value lies between `low` and `high` times the
/// published one. Without a known limit they are 0 and infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Factors {
    low: f64,
    high: f64,
}

const EXACT: Factors = Factors { low: 1.0, high: 1.0 };

/// The figures of one side of a row: of each run the logarithm of its value with the client's factors.
#[derive(Debug, Clone)]
pub struct Room {
    a: Vec<(f64, Factors)>,
    b: Vec<(f64, Factors)>,
    /// What to tell where that decides: which side is widest, and why.
    why: Option<String>,
}

/// Ends of the interval of a ratio; `None` where there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends {
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

impl Room {
    /// Of all runs of both sides that have the figure.
    pub fn of(a: &[LoadedOperation], b: &[LoadedOperation], metric: &Metric) -> Self {
        let side = |side: &[LoadedOperation]| -> Vec<(f64, Factors)> {
            let known = side.iter().filter_map(|op| Some((metric.of(&op.published)?, op)));
            let more = known.filter(|(value, _)| *value > 0.0);
            more.map(|(value, op)| (value.ln(), factors(value, op.published.bounds.get(metric.id)))).collect()
        };
        Self { a: side(a), b: side(b), why: widest(a, b, metric) }
    }

    /// The factors by which the ends of the interval of the ratio of two single runs move outwards.
    pub fn of_single(&self) -> (f64, f64) {
        let one = |side: &[(f64, Factors)]| side.first().map_or(EXACT, |(_, factors)| *factors);
        let (a, b) = (one(&self.a), one(&self.b));
        (b.low / a.high, b.high / a.low)
    }

    /// The interval of the shift between several runs, each moved as far as its client leaves open.
    pub fn of_runs(&self, alpha: f64) -> Ends {
        type End = fn(Factors) -> f64;
        let (low, high): (End, End) = (|factors| factors.low, |factors| factors.high);
        let moved = |side: &[(f64, Factors)], end: End| -> Vec<f64> {
            side.iter().map(|(log, factors)| log + end(*factors).ln()).collect()
        };
        // Without a limit a logarithm is infinite, and there is no test of that end.
        let test = |of_a: End, of_b: End| mann_whitney(&moved(&self.a, of_a), &moved(&self.b, of_b), alpha);
        Ends {
            low: test(high, low).and_then(|found| found.low).map(f64::exp),
            high: test(low, high).and_then(|found| found.high).map(f64::exp),
        }
    }

    /// Why a difference that the data show is not called one.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }
}

fn factors(value: f64, bound: Option<&Bound>) -> Factors {
    let Some(Bound { client: Spread { below, above }, .. }) = bound else { return EXACT };
    let share = |by: Option<f64>| by.map(|by| (by / value).max(0.0));
    Factors {
        low: share(*below).map_or(0.0, |by| (1.0 - by).max(0.0)),
        high: share(*above).map_or(f64::INFINITY, |by| 1.0 + by),
    }
}

/// A sentence about the side whose client leaves most open; `None` where no client leaves anything.
fn widest(a: &[LoadedOperation], b: &[LoadedOperation], metric: &Metric) -> Option<String> {
    let of = |side: &'static str, ops: &[LoadedOperation]| {
        let bounds = ops.iter().filter_map(|op| {
            let bound = op.published.bounds.get(metric.id)?;
            let Factors { low, high } = factors(metric.of(&op.published).filter(|v| *v > 0.0)?, Some(bound));
            let width = if low > 0.0 { high / low } else { f64::INFINITY };
            (width > 1.0).then_some((width, side, bound.cause))
        });
        bounds.max_by(|x, y| x.0.total_cmp(&y.0))
    };
    let found = of("A", a).into_iter().chain(of("B", b)).max_by(|x, y| x.0.total_cmp(&y.0));
    let (width, side, cause) = found?;
    let why = cause.filter(|cause| !is_of_chance(*cause)).map(|cause| format!(": {}", cause.sentence()));
    let word = metric.names.compare;
    Some(if width.is_finite() {
        format!(
            "{word}: the client of {side} may have moved it by {:.1} %{}",
            (width - 1.0) * 100.0,
            why.unwrap_or_default()
        )
    } else {
        format!("{word}: nothing limits what the client of {side} did to it{}", why.unwrap_or_default())
    })
}

fn is_of_chance(cause: cosmark_metrics::results::Cause) -> bool {
    use cosmark_metrics::results::Cause;
    matches!(cause, Cause::Sampling | Cause::Resolution)
}
