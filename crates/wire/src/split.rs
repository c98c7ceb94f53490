//! Events that are too large for one message are sent as several that mean the same.

use cosmark_metrics::{OpSnapshot, Snapshot};

use crate::DriverEvent;

/// Cuts an event in two that together say the same; `None` where that cannot be done.
#[must_use]
pub fn split(event: &DriverEvent) -> Option<(DriverEvent, DriverEvent)> {
    match event {
        DriverEvent::Samples { work, samples } if samples.len() > 1 => {
            let (left, right) = samples.split_at(samples.len() / 2);
            let of = |part: &[_]| DriverEvent::Samples { work: *work, samples: part.to_vec() };
            Some((of(left), of(right)))
        }
        DriverEvent::Probes { operations, missed } if operations.len() > 1 => {
            let (left, right) = operations.split_at(operations.len() / 2);
            let of = |part: &[_], missed| DriverEvent::Probes { operations: part.to_vec(), missed };
            Some((of(left, *missed), of(right, 0)))
        }
        DriverEvent::Snapshot(snapshot) => {
            let (left, right) = split_snapshot(snapshot)?;
            Some((DriverEvent::Snapshot(left), DriverEvent::Snapshot(right)))
        }
        _ => None,
    }
}

/// Some operations in one part, the rest in the other: merging both gives the whole.
fn split_snapshot(snapshot: &Snapshot) -> Option<(Snapshot, Snapshot)> {
    let nothing = OpSnapshot::default();
    let filled: Vec<usize> =
        snapshot.ops.iter().enumerate().filter(|(_, op)| **op != nothing).map(|(at, _)| at).collect();
    if filled.len() < 2 {
        return None;
    }
    let middle = *filled.get(filled.len() / 2)?;
    let part = |keep: &dyn Fn(usize) -> bool| Snapshot {
        ops: snapshot
            .ops
            .iter()
            .enumerate()
            .map(|(at, op)| if keep(at) { op.clone() } else { OpSnapshot::default() })
            .collect(),
        ..*snapshot
    };
    Some((part(&|at| at < middle), part(&|at| at >= middle)))
}
