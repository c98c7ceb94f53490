//! From the bounds of the figures to the word of the verdict: which figures count, and how well they must be known.

use cosmark_metrics::results::{Bound, Cause, METRICS, Metric, Reading};

use crate::evidence::{Evidence, OperationEvidence};
use crate::finding::Finding;
use crate::numbers::{list, percent, plain};

/// The figures by which a run is known, of every operation. The word of the verdict follows from them.
pub const HEADLINE: &[&str] = &["throughput_per_s", "response_ms.p50", "response_ms.p95", "response_ms.p99"];

/// TRUE: every headline figure is known within this share of its value.
pub const HOLDS_WITHIN: f64 = 0.05;

/// A figure that is known only within more than this does not hold. Where no headline figure does, the verdict is FALSE if
/// the client is why, and NOT PROVEN if there is too little data.
pub const USEFUL_WITHIN: f64 = 0.5;

/// How well a headline figure is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Within [`HOLDS_WITHIN`].
    Well,
    /// Within [`USEFUL_WITHIN`].
    Roughly,
    /// The client took much of it, and the kernel's time stamps say how much: what is left is the store's.
    OnTheWire,
    /// The client can have made it anything.
    Not,
    /// There is too little data for it.
    TooLittle,
}

/// A headline figure of an operation.
struct Figure<'a> {
    op: &'a OperationEvidence,
    metric: &'static Metric,
    bound: Option<&'a Bound>,
    held: Held,
}

/// The rows of the headline figures.
pub(super) fn headline() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().filter(|metric| HEADLINE.contains(&metric.id))
}

/// The value of a headline figure.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn value_of(op: &OperationEvidence, metric: &Metric) -> Option<f64> {
    match metric.reading {
        Reading::Response(of) => of(&op.response),
        _ => (op.window_s > 0.0).then(|| op.ok as f64 / op.window_s),
    }
}

fn figures(evidence: &Evidence) -> Vec<Figure<'_>> {
    let ended = evidence.operations.iter().filter(|op| op.ended() > 0);
    let figure = |op, metric: &'static Metric| {
        let bound = OperationEvidence::bound(op, metric.id);
        Figure { op, metric, bound, held: held(op, metric, bound) }
    };
    ended.flat_map(|op| headline().map(move |metric| figure(op, metric))).collect()
}

fn held(op: &OperationEvidence, metric: &Metric, bound: Option<&Bound>) -> Held {
    let Some(bound) = bound else { return Held::TooLittle };
    match bound.within {
        Some(within) if within <= HOLDS_WITHIN => Held::Well,
        Some(within) if within <= USEFUL_WITHIN => Held::Roughly,
        // What was never seen to its end is no doing of the client's.
        _ if matches!(bound.cause, Some(Cause::Sampling | Cause::Unfinished)) => Held::TooLittle,
        _ if bound.cause == Some(Cause::Measured) && on_the_wire(op, metric).is_some() => Held::OnTheWire,
        _ => Held::Not,
    }
}

/// A time of an operation on the wire.
fn on_the_wire(op: &OperationEvidence, metric: &Metric) -> Option<f64> {
    match metric.reading {
        Reading::Response(of) => of(op.wire.as_ref()?),
        _ => None,
    }
}

impl Figure<'_> {
    fn name(&self) -> &'static str {
        self.metric.names.compare
    }

    /// What makes it worse than others: first what the client can have made anything, then how far it may be off.
    fn badness(&self) -> (bool, f64) {
        (self.held == Held::Not, self.within())
    }

    fn within(&self) -> f64 {
        self.bound.and_then(|bound| bound.within).unwrap_or(f64::INFINITY)
    }

    fn is_known(&self) -> bool {
        matches!(self.held, Held::Well | Held::Roughly | Held::OnTheWire)
    }

    /// `p99 of read is known only within 18 % (9.8 to 12.3 ms), because the client's machine paused`.
    fn sentence(&self) -> String {
        let of = format!("{} of {}", self.name(), self.op.name);
        let Some(bound) = self.bound else { return format!("{of} has too few operations") };
        let cause = bound.cause.map(|cause| format!(", because {}", cause.sentence())).unwrap_or_default();
        match (self.held, bound.within, bound.low.zip(bound.high)) {
            (Held::Well | Held::Roughly, Some(within), Some((low, high))) => {
                let unit = self.metric.unit.sign();
                let (within, low, high) = (percent(within), plain(low), plain(high));
                format!("{of} is known only within {within} ({low} to {high}{unit}){cause}")
            }
            (Held::OnTheWire, ..) => {
                let value = value_of(self.op, self.metric).zip(on_the_wire(self.op, self.metric));
                let (value, wire) = value.unwrap_or_default();
                let (value, wire) = (plain(value), plain(wire));
                format!(
                    "{of} is {value} ms, of which the store took {wire} ms by the kernel's time stamps and the client the rest"
                )
            }
            _ => format!("{of} does not hold{cause}"),
        }
    }
}

/// `throughput within 0.8 %, p50 within 1.2 %`: of each headline figure the worst operation.
fn how_well(figures: &[&Figure<'_>]) -> String {
    let parts = headline().filter_map(|metric| {
        let own = figures.iter().filter(|figure| figure.metric == metric).map(|figure| figure.within());
        Some(format!("{} within {}", metric.names.compare, percent(own.reduce(f64::max)?)))
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// What is said of the figures beside the worst that are not known well: each kind in words of its own.
fn beside(all: &[Figure<'_>], worst: &Figure<'_>) -> String {
    const KINDS: [Held; 4] = [Held::Not, Held::TooLittle, Held::OnTheWire, Held::Roughly];
    let said = KINDS.into_iter().filter_map(|held| {
        let own = || all.iter().filter(move |figure| figure.held == held && !std::ptr::eq(*figure, worst));
        let names: Vec<String> =
            own().map(|figure| format!("{} of {}", figure.name(), figure.op.name)).collect();
        let (names, several) = (list(&names), names.len() > 1);
        if names.is_empty() {
            return None;
        }
        if held == worst.held {
            return Some(format!("; likewise {names}"));
        }
        Some(match held {
            Held::Roughly => {
                let within = percent(own().map(Figure::within).fold(0.0, f64::max));
                format!("; {names} {} known within {within}", if several { "are" } else { "is" })
            }
            Held::TooLittle => format!("; for {names} there is too little data"),
            Held::OnTheWire => format!("; the client took much of {names}"),
            Held::Not | Held::Well => format!("; {names} {} not hold", if several { "do" } else { "does" }),
        })
    });
    said.collect()
}

/// V25.
pub(crate) fn figures_hold(evidence: &Evidence) -> Finding {
    let all = figures(evidence);
    if all.is_empty() {
        return Finding::unknown("no operation ended in a measured window, so there is no figure to bound");
    }
    let well: Vec<&Figure<'_>> = all.iter().filter(|figure| figure.held == Held::Well).collect();
    let order = |a: &Figure<'_>, b: &Figure<'_>| {
        a.badness().0.cmp(&b.badness().0).then(a.within().total_cmp(&b.within()))
    };
    let worst = all.iter().max_by(|a, b| order(a, b));
    let Some(worst) = worst.filter(|_| well.len() < all.len()) else {
        let within = all.iter().map(Figure::within).fold(0.0, f64::max);
        return Finding::pass(
            within,
            HOLDS_WITHIN,
            format!("the headline figures hold: {}", how_well(&well)),
        );
    };
    let also = beside(&all, worst);
    let rest = if well.is_empty() { String::new() } else { format!("; {} hold", how_well(&well)) };
    let within = worst.within().min(1.0);
    // The highest quantile is where a client adds most.
    let on_the_wire = all.iter().rfind(|figure| figure.held == Held::OnTheWire);
    let on_the_wire = on_the_wire.filter(|figure| !std::ptr::eq(*figure, worst));
    let seen = on_the_wire.map(|figure| format!("; {}", figure.sentence())).unwrap_or_default();
    let message = format!("{}{also}{seen}{rest}", worst.sentence());
    if all.iter().any(Figure::is_known) {
        Finding::warn(within, HOLDS_WITHIN, message).moving(worst.metric.id, within)
    } else if all.iter().any(|figure| figure.held == Held::Not) {
        let message = format!("no headline figure holds: {message}");
        Finding::fail(within, USEFUL_WITHIN, message).moving(worst.metric.id, within)
    } else {
        Finding::too_little(within, USEFUL_WITHIN, format!("no headline figure is known: {message}"))
            .moving(worst.metric.id, within)
    }
}

/// Which headline figure of which operation these causes widen most, and by how much.
pub(crate) struct Widened {
    /// As a share of the figure.
    pub share: f64,
    /// The figure.
    pub metric: &'static Metric,
    /// `p99 of read`.
    pub figure: String,
}

impl Widened {
    /// `p99 of read may be up to 12 % lower`: what a client without this would have measured.
    pub fn sentence(&self) -> String {
        let Self { share, metric, figure } = self;
        let way = if metric.is_time() { "lower" } else { "higher" };
        if *share >= 1.0 {
            return format!("{figure} may be anything {way}");
        }
        match percent(*share).as_str() {
            "0 %" => "that moves no headline figure".to_owned(),
            moved => format!("{figure} may be up to {moved} {way}"),
        }
    }
}

/// The headline figure that these causes widen most.
pub(crate) fn widened_by(evidence: &Evidence, causes: &[Cause]) -> Option<Widened> {
    let moved =
        evidence.operations.iter().filter_map(|op| Some((super::moved_by(evidence, op, causes)?, op)));
    let ((share, metric), op) = moved.max_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
    Some(Widened {
        share: share.min(1.0),
        metric,
        figure: format!("{} of {}", metric.names.compare, op.name),
    })
}
