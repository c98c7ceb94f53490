//! What the probers beside a load have seen, all drivers together, with exact intervals (Clopper and Pearson). Looks of one change
//! are not independent of each other: what is said of changes counts each of them once.

use cosmark_metrics::{
    ChangeCell, ConsistencyClass, ConsistencyFrom, ConsistencyPoint, ConsistencyResult, ConsistencySums,
    ConsistencyVisible, LOOK_EDGES_US, LookBin, LookCell, LookClass, LookFrom,
};
use cosmark_stats::proportions::clopper_pearson;

const CONFIDENCE: f64 = 0.95;
/// Shares of changes of which is said from when on they are visible.
const SHARES: [f64; 3] = [0.9, 0.99, 0.999];

/// Makes the result of the sums.
pub fn result(sums: &ConsistencySums) -> ConsistencyResult {
    ConsistencyResult {
        requests: sums.requests,
        load_operations: sums.load_operations,
        changes: sums.changes,
        reads: sums.reads,
        back_on_a_connection: sums.back_on_a_connection,
        went_back: sums.went_back,
        never_written: sums.never_written,
        unanswered: sums.unanswered,
        unanswered_why: sums.unanswered_why.clone(),
        left: sums.left.clone(),
        classes: classes(sums),
        between_drivers: None,
        not_recorded: 0,
    }
}

/// The classes that were looked at.
pub fn classes(sums: &ConsistencySums) -> Vec<ConsistencyClass> {
    LookClass::TABLE.iter().filter_map(|(class, ..)| one_class(*class, sums)).collect()
}

fn one_class(class: LookClass, sums: &ConsistencySums) -> Option<ConsistencyClass> {
    let cells: Vec<&LookCell> = sums.looks.iter().filter(|cell| cell.class == class).collect();
    let bins = cells.iter().fold(Vec::new(), |sum, cell| added(sum, &cell.bins));
    let (looks, stale) = totals(&bins);
    if looks == 0 {
        return None;
    }
    let none = Vec::new();
    let seen = sums.seen.iter().find(|cell| cell.class == class);
    let seen = seen.map_or(&none, |ChangeCell { from_then_on, .. }| from_then_on);
    let (changes, missed_changes) = seen.first().copied().unwrap_or_default();
    let by = LookFrom::TABLE.iter().filter_map(|(from, ..)| one_place(*from, &cells));
    let by: Vec<ConsistencyFrom> = by.collect();
    Some(ConsistencyClass {
        class,
        title: class.words().to_owned(),
        looks,
        stale,
        changes,
        missed_changes,
        missed_at_most: rounded(clopper_pearson(missed_changes, changes, CONFIDENCE).1),
        longest_stale_ms: cells.iter().filter_map(|cell| cell.longest_stale_us).max().map(ms),
        visible: SHARES.iter().map(|share| visible(*share, seen, &bins)).collect(),
        points: points(&bins),
        from: if by.len() > 1 { by } else { Vec::new() },
    })
}

/// The first edge from which on changes leave room for no more misses than that, and looks up to the last miss, too: of
/// changes that are looked at now and then only a part of those that are hidden is missed. One that is hidden for long
/// lets looks at the others come up to its end: those just behind the edge, as far as any, may not show more misses.
fn visible(share: f64, seen: &[(u64, u64)], bins: &[LookBin]) -> ConsistencyVisible {
    let most = 1.0 - share;
    let is_rare = |stale, of| clopper_pearson(stale, of, CONFIDENCE).1 <= most;
    let is_frequent = |(looks, stale): (u64, u64)| {
        stale as f64 > most * looks as f64 && clopper_pearson(stale, looks, CONFIDENCE).0 > most
    };
    let last = bins.iter().rposition(|bin| bin.stale > 0);
    let is_met = |at: usize| {
        let (looked, missed) = seen.get(at).copied().unwrap_or_default();
        let up_to_last = last.and_then(|last| bins.get(at..=last)).unwrap_or_default();
        let (looks, stale) = totals(up_to_last);
        is_rare(missed, looked)
            && (looks == 0 || is_rare(stale, looks))
            && !(1..=up_to_last.len()).any(|count| is_frequent(totals(&up_to_last[..count])))
    };
    let after = (0..seen.len()).find(|at| is_met(*at)).and_then(|at| LOOK_EDGES_US.get(at));
    ConsistencyVisible { share, after_ms: after.map(|us| ms(*us)) }
}

fn one_place(from: LookFrom, cells: &[&LookCell]) -> Option<ConsistencyFrom> {
    let cell = cells.iter().find(|cell| cell.from == from)?;
    let (looks, stale) = totals(&cell.bins);
    Some(ConsistencyFrom {
        from,
        looks,
        stale,
        longest_stale_ms: cell.longest_stale_us.map(ms),
        points: points(&cell.bins),
    })
}

fn added(mut sum: Vec<LookBin>, more: &[LookBin]) -> Vec<LookBin> {
    sum.resize(sum.len().max(more.len()), LookBin::default());
    for (bin, other) in sum.iter_mut().zip(more) {
        bin.looks += other.looks;
        bin.stale += other.stale;
        bin.sum_us += other.sum_us;
    }
    sum
}

fn totals(bins: &[LookBin]) -> (u64, u64) {
    bins.iter().fold((0, 0), |(looks, stale), bin| (looks + bin.looks, stale + bin.stale))
}

fn points(bins: &[LookBin]) -> Vec<ConsistencyPoint> {
    let edges = LOOK_EDGES_US.iter().zip(LOOK_EDGES_US.iter().skip(1).map(Some).chain([None]));
    let all = bins.iter().zip(edges).filter(|(bin, _)| bin.looks > 0);
    let point = |(bin, (from_us, to_us)): (&LookBin, (&u64, Option<&u64>))| {
        let (low, high) = clopper_pearson(bin.stale, bin.looks, CONFIDENCE);
        ConsistencyPoint {
            from_ms: ms(*from_us),
            to_ms: to_us.map(|us| ms(*us)),
            mean_ms: ms(bin.sum_us / bin.looks.max(1)),
            looks: bin.looks,
            stale: bin.stale,
            low: rounded(low),
            high: rounded(high),
        }
    };
    all.map(point).collect()
}

fn ms(us: u64) -> f64 {
    us as f64 / 1e3
}

/// A share to six digits: more of them say nothing.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store that shows a change to nobody before 200 ms, in `stale` of `of` changes.
    fn sums(stale: u64, of: u64) -> ConsistencySums {
        let mut sums = ConsistencySums::default();
        for change in 0..of {
            let is_late = change < stale;
            for at_us in [0, 50_000, 180_000, 400_000] {
                let from = if change % 2 == 0 { LookFrom::SameConnection } else { LookFrom::OtherConnection };
                sums.look(LookClass::ReadAfterOverwrite, from, at_us, is_late && at_us < 200_000);
            }
            sums.change(LookClass::ReadAfterOverwrite, 400_000, is_late.then_some(180_000));
        }
        sums
    }

    #[test]
    fn a_window_is_told_by_its_last_miss_its_share_and_when_changes_are_visible() {
        let found = result(&sums(300, 1000));
        let [class] = found.classes.as_slice() else { panic!("{found:?}") };
        assert_eq!((class.looks, class.stale, class.changes, class.missed_changes), (4000, 900, 1000, 300));
        assert_eq!(class.longest_stale_ms, Some(180.0));
        // The edge after 150 ms, in whose part the last miss was, is the first from which on nothing is missed.
        let after: Vec<_> = class.visible.iter().map(|one| one.after_ms).collect();
        assert_eq!(after, [Some(220.0), Some(220.0), None], "1000 changes without a miss do not show 99.9 %");
        let first = class.points[0];
        assert!(first.low < 0.3 && first.high > 0.3 && first.high - first.low < 0.06, "{first:?}");
        assert_eq!(class.from.len(), 2);
        assert_eq!(class.from.iter().map(|from| from.looks).sum::<u64>(), 4000);
    }

    #[test]
    fn changes_that_are_hidden_for_long_are_not_visible_because_half_of_them_were_not_looked_at_then() {
        let (class, from) = (LookClass::ReadAfterOverwrite, LookFrom::OtherConnection);
        let mut sums = ConsistencySums::default();
        // 1.5 % of changes are hidden for four seconds; every other change is looked at behind the first.
        for change in 0..10_000_u64 {
            let is_hidden = change.is_multiple_of(67);
            let second_us = if change.is_multiple_of(2) { 2_000_000 } else { 700_000 };
            for at_us in [0, second_us, 6_000_000] {
                sums.look(class, from, at_us, is_hidden && at_us < 4_000_000);
            }
            sums.change(class, 6_000_000, is_hidden.then_some(second_us));
        }
        let found = result(&sums);
        let after: Vec<_> = found.classes[0].visible.iter().map(|one| (one.share, one.after_ms)).collect();
        // From a second on fewer than one in a hundred changes was missed, and more than that are hidden.
        assert_eq!(after, [(0.9, Some(0.0)), (0.99, Some(2200.0)), (0.999, Some(2200.0))]);
    }

    #[test]
    fn changes_that_are_hidden_for_a_second_are_not_visible_because_few_others_are_hidden_for_long() {
        let (class, from) = (LookClass::ReadAfterOverwrite, LookFrom::OtherConnection);
        let mut sums = ConsistencySums::default();
        // 2 % of changes are hidden for a second, 0.2 % for twenty. Each has one look between the first and the last.
        for change in 0..10_000_u64 {
            let hidden_us = match change {
                _ if change.is_multiple_of(499) => 20_000_000,
                _ if change.is_multiple_of(49) => 1_000_000,
                _ => 0,
            };
            let second_us = [700_000, 2_000_000, 5_000_000, 12_000_000][(change % 4) as usize];
            let looks = [0, second_us, 30_000_000];
            for at_us in looks {
                sums.look(class, from, at_us, at_us < hidden_us);
            }
            sums.change(class, 30_000_000, looks.into_iter().rfind(|at_us| *at_us < hidden_us));
        }
        let found = result(&sums);
        let after: Vec<_> = found.classes[0].visible.iter().map(|one| (one.share, one.after_ms)).collect();
        // Fewer than one in a hundred of all looks behind the first, and of changes by these, missed it.
        assert_eq!(after, [(0.9, Some(0.0)), (0.99, Some(1000.0)), (0.999, Some(15_000.0))]);
    }

    #[test]
    fn few_changes_show_no_visibility_however_often_each_was_looked_at() {
        let found = result(&sums(0, 30));
        let class = &found.classes[0];
        assert_eq!((class.stale, class.longest_stale_ms), (0, None));
        assert!(!class.visible.is_empty());
        assert!(class.visible.iter().all(|one| one.after_ms.is_none()), "{:?}", class.visible);
        assert!(class.missed_at_most > 0.1, "0 of 30 leave room for a tenth");
        assert!(result(&ConsistencySums::default()).classes.is_empty());
    }
}
