//! The endpoints of a stage over all its drivers. Each driver numbers what its own resolver told it; results go by names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cosmark_metrics::{PartSums, Snapshot};

/// Names of endpoints by work, in the order of their numbers in the sums of the stage.
#[derive(Debug, Default)]
pub struct EndpointNames {
    works: BTreeMap<u16, Vec<String>>,
}

impl EndpointNames {
    /// The snapshot of a driver, whose own numbers stand for `names`, with the numbers of the stage.
    pub fn renumber<'a>(&mut self, snapshot: &'a Snapshot, names: &[String]) -> Cow<'a, Snapshot> {
        let most = snapshot.ops.iter().map(|op| op.endpoints.len()).max().unwrap_or(0);
        if most == 0 || names.is_empty() {
            return Cow::Borrowed(snapshot);
        }
        let known = self.works.entry(snapshot.work).or_default();
        let numbers: Vec<usize> = (0..most).map(|at| place(known, at, names)).collect();
        if numbers.iter().enumerate().all(|(own, number)| own == *number) {
            return Cow::Borrowed(snapshot);
        }
        let mut renumbered = snapshot.clone();
        for op in &mut renumbered.ops {
            let own = std::mem::take(&mut op.endpoints);
            for (sums, number) in own.iter().zip(&numbers) {
                let least = op.endpoints.len().max(number + 1);
                op.endpoints.resize_with(least, PartSums::default);
                if let Some(place) = op.endpoints.get_mut(*number) {
                    place.merge(sums);
                }
            }
        }
        Cow::Owned(renumbered)
    }

    /// Names of a work's endpoints; empty where no driver named any.
    pub fn of(&self, work: usize) -> &[String] {
        let own = u16::try_from(work).ok().and_then(|work| self.works.get(&work));
        own.map(Vec::as_slice).unwrap_or_default()
    }
}

/// The stage's number of a driver's endpoint. One that the driver met after the load began has no name yet.
fn place(known: &mut Vec<String>, at: usize, names: &[String]) -> usize {
    let name = names.get(at).cloned().unwrap_or_else(|| (at + 1).to_string());
    known.iter().position(|one| *one == name).unwrap_or_else(|| {
        known.push(name);
        known.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use cosmark_metrics::{OpSnapshot, Phase};

    use super::*;

    /// A driver's snapshot with so many successes of each of its endpoints.
    fn snapshot(counts: &[u64]) -> Snapshot {
        let endpoints = counts.iter().map(|ok| PartSums { ok: *ok, ..PartSums::default() }).collect();
        let ops = vec![OpSnapshot { endpoints, ..OpSnapshot::default() }];
        Snapshot { work: 0, phase: Phase::Window, start_ns: 0, end_ns: 1, ops }
    }

    #[test]
    fn endpoints_are_added_up_by_their_names_whatever_number_a_driver_gives_them() {
        let names = |all: &[&str]| -> Vec<String> { all.iter().map(|name| (*name).to_owned()).collect() };
        let mut stage = EndpointNames::default();
        let mut sum = OpSnapshot::default();
        let drivers =
            [(&["a", "b"][..], &[1, 2][..]), (&["b", "c"], &[10, 20]), (&["c", "b", "a"], &[100, 200, 300])];
        for (own, counts) in drivers {
            let told = snapshot(counts);
            sum.merge(&stage.renumber(&told, &names(own)).ops[0]);
        }
        let by_name: Vec<_> =
            stage.of(0).iter().map(String::as_str).zip(sum.endpoints.iter().map(|one| one.ok)).collect();
        assert_eq!(by_name, [("a", 301), ("b", 212), ("c", 120)]);
    }

    #[test]
    fn who_names_no_endpoint_is_left_as_it_is() {
        let mut stage = EndpointNames::default();
        let told = snapshot(&[1, 2]);
        assert!(matches!(stage.renumber(&told, &[]), Cow::Borrowed(_)));
        assert!(stage.of(0).is_empty());
    }
}
