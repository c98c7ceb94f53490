//! The rounds of a stage with `repeat:`. An archive knows them by their names alone (`main-r1`, `main-r2`, ..), and somebody may have
//! called stages so that are none: rounds are all there, do the same, and no stage has the name without a round.

use std::collections::BTreeMap;

/// Of each stage its name without the round, and the round where it is one. A stage is its name and what it does, which is `None`
/// where it never ran.
#[must_use]
pub fn of<'s, L: PartialEq>(stages: &[(&'s str, Option<L>)]) -> Vec<(&'s str, Option<u32>)> {
    let mut repeated: BTreeMap<&str, Vec<(u32, &L)>> = BTreeMap::new();
    let mut rounds: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (name, load) in stages {
        let Some((stem, round)) = parts(name) else { continue };
        rounds.entry(stem).or_default().push(round);
        repeated.entry(stem).or_default().extend(load.iter().map(|load| (round, load)));
    }
    rounds.retain(|stem, rounds| {
        rounds.sort_unstable();
        let is_whole = rounds.len() > 1 && rounds.iter().zip(1..).all(|(round, wanted)| *round == wanted);
        let loads = repeated.get(stem).map(Vec::as_slice).unwrap_or_default();
        let is_same = loads.windows(2).all(|pair| matches!(pair, [(_, one), (_, next)] if one == next));
        is_whole && is_same && !stages.iter().any(|(name, _)| name == stem)
    });
    let one = |&(name, _): &(&'s str, Option<L>)| match parts(name) {
        Some((stem, round)) if rounds.contains_key(stem) => (stem, Some(round)),
        _ => (name, None),
    };
    stages.iter().map(one).collect()
}

/// Name and round, where it may be one.
fn parts(name: &str) -> Option<(&str, u32)> {
    let (stem, round) = name.rsplit_once("-r")?;
    let is_number = !round.starts_with('0') && round.bytes().all(|byte| byte.is_ascii_digit());
    round.parse().ok().filter(|_| is_number).map(|round| (stem, round))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_all_there_and_do_the_same() {
        let rounds = |stages: &[(&'static str, u32)]| -> Vec<(&'static str, Option<u32>)> {
            let stages: Vec<(&str, Option<u32>)> =
                stages.iter().map(|(name, load)| (*name, Some(*load).filter(|load| *load > 0))).collect();
            of(&stages)
        };
        // In any order; one that never ran does nothing.
        let own = [("a-w2-r2", 2), ("a-w1-r1", 1), ("a-w2-r1", 2), ("a-w1-r2", 0)];
        let wanted = [("a-w2", Some(2)), ("a-w1", Some(1)), ("a-w2", Some(1)), ("a-w1", Some(2))];
        assert_eq!(rounds(&own), wanted);
        for named_so in [
            &[("x-r2", 1)][..],
            &[("x-r1", 1), ("x-r3", 1)],
            &[("x-r1", 1), ("x-r2", 8)],
            &[("x-r01", 1), ("x-r02", 1)],
            &[("x", 1), ("x-r1", 1), ("x-r2", 1)],
        ] {
            let names: Vec<(&str, Option<u32>)> = named_so.iter().map(|(name, _)| (*name, None)).collect();
            assert_eq!(rounds(named_so), names);
        }
    }
}
