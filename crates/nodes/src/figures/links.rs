//! How full links are, each direction of them, and parts of what they send that are limited by themselves.

use cosmark_metrics::{QuantityResult, ResourceKind as Kind, UnitResult, Waiting};

use crate::quantity::{self as q, Quantity};

/// What carries so many times the speed that it tells has made that up: a tunnel says 10 Mbit/s and a pair 10 Gbit/s, whatever goes
/// through them.
const MADE_UP: f64 = 1.2;
/// A device counts a packet of 64 KiB with one header that its queue counts with those of all that it becomes: up to so many times
/// as much for small packets.
const MORE_HEADERS: f64 = 1.25;

/// What a direction of a link can do, bytes per second, and what was dropped or held back there per second. A shaped one sends
/// no more than its queue lets through, whatever the hardware could.
pub(super) fn link(kind: Kind, rate: impl Fn(&Quantity) -> Option<f64>) -> Option<(f64, Option<Waiting>)> {
    let sends = kind == Kind::NetworkTransmit;
    let carried = [&q::NETWORK_RECEIVED, &q::NETWORK_SENT].into_iter().filter_map(&rate).fold(0.0, f64::max);
    let said = rate(&q::NETWORK_SPEED).filter(|speed| carried <= MADE_UP * speed);
    let shaped = rate(if sends { &q::SEND_LIMIT } else { &q::RECEIVE_LIMIT });
    let waiting = if sends {
        [Some(&q::NETWORK_SEND_DROPS), Some(&q::QUEUE_SEND_DROPS), Some(&q::QUEUE_HELD)]
    } else {
        [Some(&q::NETWORK_RECEIVE_DROPS), Some(&q::QUEUE_RECEIVE_DROPS), None]
    };
    let of = |rows: &[Option<&'static Quantity>]| -> Vec<f64> {
        rows.iter().flatten().filter_map(|row| rate(row)).collect()
    };
    // In what the device counts, less fits through a queue that counts more.
    let queued = rate(&q::QUEUE_SENT).zip(rate(&q::NETWORK_SENT)).filter(|_| sends);
    let more = queued.filter(|(_, sent)| *sent > 0.0).map_or(1.0, |(queued, sent)| queued / sent);
    let shaped = shaped.map(|limit| limit / if more <= MORE_HEADERS { more.max(1.0) } else { 1.0 });
    let full = said.into_iter().chain(shaped).filter(|speed| *speed > 0.0).reduce(f64::min)?;
    Some((full, of(&waiting).into_iter().reduce(|a, b| a + b).map(Waiting::Events)))
}

/// What is taken out of all that a link sends, and is limited by itself: it has a queue that counts, and is no link.
pub(super) fn parts(
    figures: &[QuantityResult],
    rate: impl Fn(&Quantity, &str) -> Option<f64>,
) -> Vec<UnitResult> {
    let kind = Kind::NetworkTransmit;
    let is_part = |figure: &&QuantityResult| {
        figure.quantity == q::QUEUE_SENT.id && rate(&q::NETWORK_SENT, &figure.unit).is_none()
    };
    let part = |figure: &QuantityResult| {
        let (full, waiting) = link(kind, |row| rate(row, &figure.unit))?;
        let [busy, highest_busy] = [figure.mean, figure.highest].map(|rate| (rate / full).clamp(0.0, 1.0));
        Some(UnitResult { kind, name: figure.unit.clone(), busy, highest_busy, waiting })
    };
    figures.iter().filter(is_part).filter_map(part).collect()
}
