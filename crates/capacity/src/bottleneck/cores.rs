//! Whether a processor is the limit of what is bound to it, or one of several that take work from each other.

use super::IDLE;
use crate::ladder::{FULL, Kind, Ladder, Step};
use crate::number::real;

/// A processor that is less busy has not taken work of which others have too much.
const LEFT_ALONE: f64 = 0.3;

/// The other processors of its machine are busy, too, most of the time. What is bound to one leaves the others idle; what is bound
/// to several fills all of these, and leaves some alone. What a client does on processors of its own is no work of the store.
pub(super) fn shares_work(ladder: &Ladder, unit: usize, steps: &[&Step]) -> bool {
    let own = &ladder.units[unit];
    if own.kind != Kind::Core {
        return false;
    }
    let all = ladder.units.iter().enumerate();
    let others = all.filter(|(at, other)| *at != unit && other.kind == Kind::Core && other.node == own.node);
    let busy = |at: usize| {
        let seen: Vec<f64> = steps.iter().filter_map(|step| by_the_store(step, unit, at)).collect();
        (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / real(seen.len()))
    };
    let others: Vec<f64> = others.filter_map(|(at, _)| busy(at)).collect();
    let (alone, rest): (Vec<f64>, Vec<f64>) = others.iter().partition(|busy| **busy < LEFT_ALONE);
    let are_bound = !alone.is_empty() && rest.iter().all(|busy| *busy >= FULL);
    !others.is_empty() && !are_bound && others.iter().sum::<f64>() >= IDLE * real(others.len())
}

/// How busy another processor is, without what a client does there that cannot run on this one.
fn by_the_store(step: &Step, unit: usize, other: usize) -> Option<f64> {
    let is_apart = step.usage.get(unit).and_then(|usage| usage.by_client) == Some(0.0);
    let usage = step.usage.get(other)?;
    let by_client = usage.by_client.filter(|_| is_apart).unwrap_or(0.0);
    Some((usage.busy? - by_client).max(0.0))
}
