//! A ladder: the same load at rising rates, with what each unit of the store's machines was busy with at each step.

pub use cosmark_metrics::{ResourceKind as Kind, Waiting};

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
}

/// One load and what it led to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// Operations completed per second, X.
    pub throughput_per_s: f64,
    /// Operations under way in the store on average, N, as the client counts them.
    pub in_flight: f64,
    /// Mean service time of an operation in seconds, R.
    pub service_s: f64,
    /// The client's own checks say that it was not the client who limited the rate.
    pub client_clear: bool,
    /// Share of the operations that failed, 0 to 1.
    pub failed_share: f64,
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
    /// The steps by rising load in flight, without those that measured nothing.
    #[must_use]
    pub fn sorted(&self) -> Vec<&Step> {
        let usable = |step: &&Step| {
            let figures = [step.throughput_per_s, step.in_flight, step.service_s];
            figures.iter().all(|figure| figure.is_finite() && *figure > 0.0)
        };
        let mut steps: Vec<&Step> = self.steps.iter().filter(usable).collect();
        steps.sort_by(|a, b| a.in_flight.total_cmp(&b.in_flight));
        steps
    }

    /// The throughput at which more load adds nothing, if the ladder reached it.
    #[must_use]
    pub fn plateau(&self) -> Option<f64> {
        plateau(&self.sorted())
    }
}

/// The throughput at which more load adds nothing: the load in flight grew by at least a quarter beyond the first step that
/// came near it, and the last step did not come to more. The steps by rising load.
///
/// It is the highest median of three neighbours: one step that somebody disturbed, or that was lucky, is no plateau.
#[must_use]
pub(crate) fn plateau(steps: &[&Step]) -> Option<f64> {
    let highest = highest(steps)?;
    let (first, last) = (*level(steps).first()?, *steps.last()?);
    let is_reached =
        last.in_flight >= first.in_flight * 1.25 && last.throughput_per_s <= highest * (1.0 + LEVEL);
    is_reached.then_some(highest)
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
    let high = |step: &&&Step| step.throughput_per_s >= highest * (1.0 - LEVEL);
    steps.iter().filter(high).copied().collect()
}
