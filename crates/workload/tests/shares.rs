//! The division arithmetic: nothing is lost, nothing is done twice.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use cosmark_workload::model::{Division, Stage, Work};
use cosmark_workload::share::{own_numbers, share_of_total, slice_of, spread_stage, workers_over_drivers};
use cosmark_workload::{Environment, Format, IntSelector, Slice, WorkerIndex, parse};
use proptest::prelude::*;

proptest! {
    #[test]
    fn shares_sum_to_the_total(total in any::<u64>(), workers in 1..500u32) {
        let sum: u128 = (0..workers).map(|i| u128::from(share_of_total(total, i, workers))).sum();
        prop_assert_eq!(sum, u128::from(total));
        let (first, last) = (share_of_total(total, 0, workers), share_of_total(total, workers - 1, workers));
        prop_assert!(first - last <= 1);
    }

    #[test]
    fn slices_partition_the_range(len in any::<u64>(), workers in 1..300u32) {
        let mut next = 0u64;
        for index in 0..workers {
            let slice = slice_of(len, WorkerIndex { index, total: workers });
            prop_assert_eq!(slice.offset, next);
            next += slice.len;
        }
        prop_assert_eq!(next, len);
    }

    #[test]
    fn every_worker_has_exactly_one_driver(workers in 0..2000u32, drivers in 1..40usize, start in 0..40usize) {
        let mut pointer = start % drivers;
        let shares = workers_over_drivers(workers, drivers, &mut pointer);
        prop_assert_eq!(shares.iter().sum::<u32>(), workers);
        let (most, least) = (shares.iter().max().unwrap(), shares.iter().min().unwrap());
        prop_assert!(most - least <= 1);
        prop_assert_eq!(pointer, (start % drivers + workers as usize % drivers) % drivers);
    }
}

#[test]
fn the_first_workers_get_one_more() {
    let lens: Vec<u64> = (0..4).map(|index| slice_of(10, WorkerIndex { index, total: 4 }).len).collect();
    assert_eq!(lens, [3, 3, 2, 2]);
}

#[test]
fn a_worker_beyond_the_range_has_nothing_to_walk() {
    let range: IntSelector = "r(11,13)".parse().unwrap();
    let own = |index| own_numbers(&range, Slice::Own, WorkerIndex { index, total: 5 });
    assert_eq!((own(0), own(2), own(3)), (Some((11, 11)), Some((13, 13)), None));
    assert_eq!(own_numbers(&range, Slice::Whole, WorkerIndex { index: 3, total: 5 }), Some((11, 13)));
    assert_eq!(
        own_numbers(&"r(0,0)".parse().unwrap(), Slice::Whole, WorkerIndex { index: 0, total: 1 }),
        None
    );
}

#[test]
fn a_division_cuts_what_it_names() {
    assert_eq!(Slice::of_containers(Division::Container), Slice::Own);
    assert_eq!(Slice::of_objects(Division::Container), Slice::Whole);
    assert_eq!(Slice::of_objects(Division::Object), Slice::Own);
    assert_eq!(Slice::of_containers(Division::None), Slice::Whole);
}

fn stage(works: &[(u32, Option<&str>)]) -> Stage {
    let text = "<workload name='w'><storage type='mock'/><workflow><workstage name='s'><work name='a' workers='1' runtime='1'>\
                <operation type='read' config='containers=c(1);objects=c(1)'/></work></workstage></workflow></workload>";
    let (workload, _) = parse(text, Format::Xml, &Environment::default());
    let mut stage = workload.unwrap().stages.remove(0);
    let blank = stage.works.remove(0);
    for (workers, driver) in works {
        stage.works.push(Work { workers: *workers, driver: driver.map(str::to_owned), ..blank.clone() });
    }
    stage
}

#[test]
fn the_remainder_is_dealt_from_a_pointer_that_moves_on_from_work_to_work() {
    let missions = spread_stage(&stage(&[(4, None), (4, None)]), &["a", "b", "c"]).unwrap();
    let shares: Vec<_> = missions.iter().map(|m| (m.work, m.driver, m.first_worker, m.workers)).collect();
    assert_eq!(shares, [(0, 0, 0, 2), (0, 1, 2, 1), (0, 2, 3, 1), (1, 0, 0, 1), (1, 1, 1, 2), (1, 2, 3, 1)]);
}

#[test]
fn a_pinned_work_goes_whole_to_its_driver_and_takes_it_away_from_the_others() {
    let missions =
        spread_stage(&stage(&[(4, None), (7, Some("b")), (1, Some("nobody"))]), &["a", "b"]).unwrap();
    let shares: Vec<_> = missions.iter().map(|m| (m.work, m.driver, m.first_worker, m.workers)).collect();
    assert_eq!(shares, [(0, 0, 0, 4), (1, 1, 0, 7), (2, 0, 0, 1)]);
    let none_left = spread_stage(&stage(&[(4, None), (7, Some("a"))]), &["a"]).unwrap_err();
    assert!(none_left.to_string().contains("no free driver available"));
}
