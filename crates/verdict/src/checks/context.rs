//! Checks on the run as a whole: repetition, what the store did beside, and whether it is possible at all.

use cosmark_metrics::Latencies;
use cosmark_stats::quantile::enclosing_ranks;

use super::client::link_bits_per_s;
use super::nodes::{self, Tells};
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::numbers::{grouped, percent, plain};

/// Runs that a statement on repetition needs.
const LEAST_RUNS: usize = 5;

/// V22. With five runs least and greatest enclose the median with 94 %; from six on the ranks of 95 % are used.
pub(super) fn repetition(evidence: &Evidence) -> Finding {
    let mut rates = evidence.repetitions.clone();
    rates.retain(|rate| rate.is_finite());
    if rates.len() < LEAST_RUNS {
        return Finding::unknown(match rates.len() {
            0 | 1 => {
                "one run shows no spread: repeat it five times before comparing it with another".to_owned()
            }
            runs => format!("{runs} runs are too few for a statement on their spread: five are needed"),
        });
    }
    rates.sort_by(f64::total_cmp);
    let count = rates.len();
    let (low, high) = u64::try_from(count)
        .ok()
        .and_then(|count| enclosing_ranks(count, 0.5, 0.95))
        .and_then(|(low, high)| Some((usize::try_from(low).ok()?, usize::try_from(high).ok()?)))
        .unwrap_or((1, count));
    let at = |rank: usize| rates.get(rank.saturating_sub(1)).copied().unwrap_or(0.0);
    let median = (at(count.div_ceil(2)) + at(count / 2 + 1)) / 2.0;
    if median <= 0.0 {
        return Finding::unknown("the median of the runs is 0: there is no spread to speak of");
    }
    let half = (at(high) - median).max(median - at(low)) / median;
    let numbers = format!(
        "{count} runs, median {}/s, interval {} to {}/s",
        plain(median),
        plain(at(low)),
        plain(at(high))
    );
    Finding::graded(
        half,
        0.05,
        0.20,
        || numbers.clone(),
        || format!("{numbers}: differences below {} between two such medians prove nothing", percent(half)),
    )
}

/// V23.
pub(super) fn background(evidence: &Evidence) -> Finding {
    if !evidence.beside.is_empty() {
        let who = evidence.beside.join("; ");
        return Finding::warn(1.0, 0.0, format!("{who}: alone it would have been faster"));
    }
    let said = evidence.store.background.as_deref();
    if let Some(seen) = nodes::background(evidence).filter(|_| matches!(said, None | Some("none"))) {
        return Finding::warn(1.0, 0.0, format!("{seen}: a quiet store is faster"));
    }
    match said {
        None => match nodes::tells(evidence) {
            Tells::Both => {
                Finding::pass(0.0, 0.0, "no recovery and no scrubbing was seen on the store's machines")
            }
            Tells::Recovery(but) => Finding::unknown(format!("no recovery was seen; {but}")),
            Tells::Nothing => Finding::unknown(
                "whether the store was rebuilding, rebalancing or scrubbing is not known: look, and say sut_background: none",
            ),
        },
        Some("none") => Finding::pass(0.0, 0.0, "the store did nothing else, as you say"),
        Some(other) => {
            Finding::warn(1.0, 0.0, format!("the store was busy beside ({other}): a quiet one is faster"))
        }
    }
}

/// V24.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn bounds(evidence: &Evidence) -> Finding {
    for work in &evidence.works {
        let in_flight: f64 = evidence.of_work(&work.name).filter_map(|op| op.in_flight_mean).sum();
        let most = work.workers as f64;
        if work.workers > 0 && in_flight > 1.005 * most {
            let message = format!(
                "{} operations in flight on average with {} workers: that cannot be",
                plain(in_flight),
                grouped(work.workers)
            );
            return Finding::fail(in_flight / most, 1.0, message);
        }
    }
    for op in &evidence.operations {
        for (what, times) in [("response", &op.response), ("service", &op.service)] {
            if let Some(problem) = out_of_order(times) {
                return Finding::fail(
                    1.0,
                    0.0,
                    format!("{what} times of {}: {problem}; that cannot be", op.name),
                );
            }
        }
        // Objects of no bytes are a load like any other.
        let are_empty = op.sizes.is_some_and(|(_, most)| most == 0);
        if op.kind == "read" && op.ok > 0 && op.bytes == 0 && !are_empty {
            let message = format!(
                "{} reads of {} succeeded and gave no byte: nothing was transferred",
                grouped(op.ok),
                op.name
            );
            return Finding::fail(0.0, 1.0, message);
        }
    }
    if let Some(finding) = faster_than_the_wire(evidence) {
        return finding;
    }
    let pretends: Vec<&String> =
        evidence.store.kinds.iter().filter(|kind| matches!(kind.as_str(), "mock" | "none")).collect();
    if let Some(kind) = pretends.first() {
        return Finding::warn(
            1.0,
            0.0,
            format!("the storage {kind} only pretends: these are the numbers of the client"),
        );
    }
    Finding::pass(0.0, 0.0, "nothing contradicts itself")
}

fn out_of_order(times: &Latencies) -> Option<String> {
    let steps = [
        ("min", times.min),
        ("p50", times.p50),
        ("p60", times.p60),
        ("p80", times.p80),
        ("p90", times.p90),
        ("p95", times.p95),
        ("p99", times.p99),
        ("p99.9", times.p99_9),
        ("p99.99", times.p99_99),
        ("max", times.max),
    ];
    let known: Vec<_> =
        steps.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect();
    // Values are kept to three digits.
    let swapped = known.windows(2).find_map(|pair| match pair {
        [(low, a), (high, b)] if *a > b * 1.002 => {
            Some(format!("{low} is {} ms, {high} {} ms", plain(*a), plain(*b)))
        }
        _ => None,
    });
    let mean = times.mean.filter(|mean| times.max.is_some_and(|max| *mean > max * 1.002));
    swapped.or_else(|| mean.map(|mean| format!("the mean is {} ms, above the greatest", plain(mean))))
}

/// Bytes against the sum of the links, where all of them are known.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn faster_than_the_wire(evidence: &Evidence) -> Option<Finding> {
    let nics: Vec<_> = evidence.clients.iter().flat_map(|client| &client.nics).collect();
    let speeds: Option<Vec<f64>> = nics.iter().map(|nic| link_bits_per_s(nic)).collect();
    let speed: f64 = speeds.filter(|speeds| !speeds.is_empty())?.iter().sum();
    // A store on the client's own machine is reached past every link.
    let carried = nics.iter().map(|nic| nic.rx_bytes_per_s_max.max(nic.tx_bytes_per_s_max)).sum::<f64>();
    let rate: f64 = [true, false]
        .into_iter()
        .map(|reads| {
            let ops =
                evidence.operations.iter().filter(|op| (op.kind == "read") == reads && op.window_s > 0.0);
            ops.map(|op| op.bytes as f64 / op.window_s).sum::<f64>()
        })
        .fold(0.0, f64::max);
    (carried > 0.1 * rate && 8.0 * rate > 1.02 * speed).then(|| {
        let message = format!(
            "{} of what the links carry: bytes were not really transferred",
            percent(8.0 * rate / speed)
        );
        Finding::fail(8.0 * rate / speed, 1.0, message)
    })
}
