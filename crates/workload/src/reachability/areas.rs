//! Which objects exist when a stage begins, as far as the workload alone tells: rectangles of container and object numbers
//! under one naming, added by writes, cut out by deletes.

use std::collections::HashMap;

use crate::model::{ObjectNames, Operation};

/// First and last container number, first and last object number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) containers: (u64, u64),
    pub(crate) objects: (u64, u64),
}

/// Where names come from: prefixes and suffixes, and how numbers stand between them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Naming([String; 4], ObjectNames);

/// The area that an operation works on; `None` when it works on no numbered objects.
pub(crate) fn area(operation: &Operation) -> Option<(Naming, Area)> {
    #[cfg(test)]
    effort::count();
    let (containers, objects) = (operation.containers.as_ref()?, operation.objects.as_ref()?);
    if containers.is_nothing() || objects.is_nothing() {
        return None;
    }
    let names = [
        operation.container_name.as_ref().unwrap_or(&operation.container_prefix),
        &operation.container_suffix,
        &operation.object_prefix,
        &operation.object_suffix,
    ];
    Some((
        Naming(names.map(Clone::clone), operation.object_names),
        Area { containers: containers.bounds(), objects: objects.bounds() },
    ))
}

/// The area of the data set that an operation names.
pub(crate) fn lying(operation: &Operation) -> Option<(Naming, Area)> {
    let used = operation.dataset.as_ref()?;
    let (naming, _) = area(operation)?;
    Some((naming, Area { containers: used.containers, objects: used.objects }))
}

/// Comparisons that this thread made, so that tests can tell how they grow.
#[cfg(test)]
pub(crate) mod effort {
    use std::cell::Cell;

    thread_local!(static MADE: Cell<u64> = const { Cell::new(0) });

    pub(crate) fn count() {
        MADE.set(MADE.get() + 1);
    }

    /// How many `work` makes.
    pub(crate) fn of(work: impl FnOnce()) -> u64 {
        let before = MADE.get();
        work();
        MADE.get() - before
    }
}

pub(crate) fn overlap(a: (u64, u64), b: (u64, u64)) -> Option<(u64, u64)> {
    #[cfg(test)]
    effort::count();
    let (lo, hi) = (a.0.max(b.0), a.1.min(b.1));
    (lo <= hi).then_some((lo, hi))
}

impl Area {
    pub(crate) fn overlaps(self, other: Area) -> bool {
        overlap(self.containers, other.containers).is_some() && overlap(self.objects, other.objects).is_some()
    }

    /// The up to four rectangles that are left when `hole` is cut out.
    pub(crate) fn without(self, hole: Area) -> Vec<Area> {
        let (Some(containers), Some(objects)) =
            (overlap(self.containers, hole.containers), overlap(self.objects, hole.objects))
        else {
            return vec![self];
        };
        let mut left = Vec::new();
        if self.containers.0 < containers.0 {
            left.push(Area { containers: (self.containers.0, containers.0 - 1), objects: self.objects });
        }
        if containers.1 < self.containers.1 {
            left.push(Area { containers: (containers.1 + 1, self.containers.1), objects: self.objects });
        }
        if self.objects.0 < objects.0 {
            left.push(Area { containers, objects: (self.objects.0, objects.0 - 1) });
        }
        if objects.1 < self.objects.1 {
            left.push(Area { containers, objects: (objects.1 + 1, self.objects.1) });
        }
        left
    }
}

/// What exists.
#[derive(Debug, Default)]
pub(crate) struct Existing {
    areas: HashMap<Naming, Vec<Area>>,
    /// Where a mix deleted: what is left there is chance.
    doubted: HashMap<Naming, Vec<Area>>,
}

impl Existing {
    /// More rectangles than this are not followed: then everything counts as existing.
    const MOST: usize = 200;

    pub(crate) fn add(&mut self, naming: Naming, area: Area) {
        let areas = self.areas.entry(naming).or_default();
        if areas.len() <= Self::MOST && !areas.contains(&area) {
            areas.push(area);
        }
    }

    pub(crate) fn doubt(&mut self, naming: &Naming, area: Area) {
        let areas = self.doubted.entry(naming.clone()).or_default();
        if areas.len() <= Self::MOST && !areas.contains(&area) {
            areas.push(area);
        }
    }

    fn is_doubted(&self, naming: &Naming, area: Area) -> bool {
        let of = self.doubted.get(naming);
        of.is_some_and(|areas| areas.len() > Self::MOST || areas.iter().any(|one| one.overlaps(area)))
    }

    pub(crate) fn remove(&mut self, naming: &Naming, hole: Area) {
        if let Some(areas) = self.areas.get_mut(naming).filter(|areas| areas.len() <= Self::MOST) {
            *areas = areas.iter().flat_map(|area| area.without(hole)).collect();
        }
    }

    /// True when every object of `wanted` exists.
    pub(crate) fn covers(&self, naming: &Naming, wanted: Area) -> bool {
        let Some(areas) = self.areas.get(naming) else { return false };
        if areas.len() > Self::MOST {
            return true;
        }
        let mut missing = vec![wanted];
        for area in areas.iter().filter(|area| area.overlaps(wanted)) {
            missing = missing.into_iter().flat_map(|m| m.without(*area)).collect();
            if missing.len() > Self::MOST {
                return true;
            }
        }
        missing.is_empty()
    }

    /// Something that may still be in one of these containers, whatever its objects are called; `None` also where too much was
    /// done to tell.
    pub(crate) fn left_in(&self, prefix: &str, suffix: &str, containers: (u64, u64)) -> Option<Area> {
        let same = |naming: &Naming| {
            let Naming([own_prefix, own_suffix, ..], _) = naming;
            own_prefix == prefix && own_suffix == suffix
        };
        let areas = self.areas.iter().filter(|(naming, areas)| same(naming) && areas.len() <= Self::MOST);
        let certain = areas.flat_map(|(naming, areas)| {
            areas.iter().copied().filter(|area| !self.is_doubted(naming, *area)).collect::<Vec<_>>()
        });
        let mut left: Vec<Area> = certain.collect();
        left.sort_by_key(|area| (area.containers, area.objects));
        left.into_iter().find_map(|area| {
            let containers = overlap(area.containers, containers)?;
            Some(Area { containers, ..area })
        })
    }

    /// True when something of `wanted` exists.
    pub(crate) fn touches(&self, naming: &Naming, wanted: Area) -> bool {
        self.areas
            .get(naming)
            .is_some_and(|areas| areas.len() > Self::MOST || areas.iter().any(|a| a.overlaps(wanted)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming() -> Naming {
        Naming(["c".into(), String::new(), "o".into(), String::new()], ObjectNames::Counted)
    }

    fn square(containers: (u64, u64), objects: (u64, u64)) -> Area {
        Area { containers, objects }
    }

    #[test]
    fn two_halves_cover_the_whole_and_a_hole_uncovers_it() {
        let mut existing = Existing::default();
        let whole = square((1, 4), (1, 100));
        existing.add(naming(), square((1, 2), (1, 100)));
        assert!(!existing.covers(&naming(), whole));
        assert!(existing.touches(&naming(), whole));
        existing.add(naming(), square((3, 4), (1, 100)));
        assert!(existing.covers(&naming(), whole));
        existing.remove(&naming(), square((2, 3), (50, 50)));
        assert!(!existing.covers(&naming(), whole));
        assert!(existing.covers(&naming(), square((1, 4), (1, 49))));
        assert!(existing.covers(&naming(), square((4, 4), (1, 100))));
        existing.remove(&naming(), whole);
        assert!(!existing.touches(&naming(), whole));
    }
}
