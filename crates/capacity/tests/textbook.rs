//! Networks whose solution can be written down.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use cosmark_capacity::demand::fit;
use cosmark_capacity::mva::{Station, bounds, closed, closed_in_turn, open};
use cosmark_capacity::regression::of_classes;

fn single(demands: &[f64]) -> Vec<Station> {
    demands.iter().map(|d| Station { demands_s: vec![*d], servers: 1 }).collect()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-9), "{a} is not {b}");
}

/// With equal demands D at k stations, n operations: X = n / (D (n + k - 1)), by counting the states of equal probability.
#[test]
fn balanced_networks_have_a_closed_form() {
    for stations in 1_u32..=6 {
        for many in 1_u32..=20 {
            let solved = closed(&single(&vec![0.05; stations as usize]), &[many], &[0.0]).unwrap();
            let (n, k) = (f64::from(many), f64::from(stations));
            near(solved.throughput_per_s[0], n / (0.05 * (n + k - 1.0)));
            near(solved.queue.iter().sum::<f64>(), n);
            near(solved.busy[0], solved.throughput_per_s[0] * 0.05);
        }
    }
}

/// As thousands of machines of a role are: each by itself would be more states than can be counted.
#[test]
fn stations_that_are_alike_are_solved_exactly_however_many_there_are() {
    let mut stations = single(&vec![1e-6; 100_000]);
    let solved = closed(&stations, &[64], &[0.0]).unwrap();
    near(solved.throughput_per_s[0], 64.0 / (1e-6 * 100_063.0));
    assert_eq!((solved.queue.len(), solved.busy.len()), (100_000, 100_000));
    near(solved.queue[99_999], 64.0 / 100_000.0);
    // One among them that is another.
    stations[7].demands_s = vec![1e-3];
    let solved = closed(&stations, &[64], &[0.0]).unwrap();
    assert!(solved.busy[7] > 0.4 && solved.queue[7] > 100.0 * solved.queue[6], "{}", solved.queue[7]);
    near(solved.queue.iter().sum::<f64>(), 64.0);
}

/// One operation, or three, beside thousands of another kind at two stations that these keep as busy: of all that is approximated
/// this is off the most, by a fifth.
#[test]
fn few_operations_beside_thousands_do_what_they_do_also_where_states_are_too_many_to_count() {
    let rates = |demands: [[f64; 2]; 2], few: u32, many: u32, in_turn: f64| {
        let stations = demands.map(|demands_s| Station { demands_s: demands_s.into(), servers: 1 });
        closed_in_turn(&stations, &[few, many], &[4e-3; 2], in_turn).unwrap().throughput_per_s
    };
    let off = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
    let (balanced, nearly) = ([[1e-3, 3e-3], [2e-4, 3e-3]], [[1e-3, 2.99e-3], [2e-4, 3e-3]]);
    // Where the states of what is served in turn come to 20 000.
    for (few, many) in [(1, 4_999), (3, 2_499)] {
        for demands in [balanced, nearly] {
            for in_turn in [1e-9, 0.5] {
                let (before, after) =
                    (rates(demands, few, many, in_turn), rates(demands, few, many + 1, in_turn));
                assert!(off(&before, &after) < 2e-3, "{few} {many} {in_turn}: {before:?} {after:?}");
            }
            // Far beyond, against what is exact.
            let (said, exact) = (rates(demands, few, 20_000, 1e-9), rates(demands, few, 20_000, 0.0));
            assert!(off(&said, &exact) < 0.04, "{few}: {said:?} {exact:?}");
        }
    }
    // Where those of all else come to two million.
    let (before, after) = (rates(nearly, 1, 499_999, 0.0), rates(nearly, 1, 500_000, 0.0));
    assert!(off(&before, &after) < 5e-3, "{before:?} {after:?}");
}

/// R. Jain, The Art of Computer Systems Performance Analysis (1991), table 34.1: a timesharing system of a processor (16
/// visits of 125 ms), disk A (10 of 300 ms) and disk B (5 of 200 ms), with users who think 4 s.
#[test]
fn a_timesharing_system_is_solved_as_in_the_table_of_a_textbook() {
    let table = [
        (1, 6.000, 0.100, [0.200, 0.300, 0.100]),
        (2, 7.400, 0.175, [0.421, 0.684, 0.193]),
        (3, 9.088, 0.229, [0.651, 1.158, 0.273]),
        (4, 11.051, 0.266, [0.878, 1.721, 0.338]),
        (5, 13.256, 0.290, [1.088, 2.365, 0.388]),
        (17, 47.045, 0.333, [1.974, 13.195, 0.499]),
        (20, 56.016, 0.333, [1.991, 16.177, 0.500]),
    ];
    for (users, response_s, rate, queues) in table {
        let solved = closed(&single(&[2.0, 3.0, 1.0]), &[users], &[4.0]).unwrap();
        let printed =
            |said: f64, digits: f64| assert!((said - digits).abs() < 0.0006, "{users}: {said} {digits}");
        printed(solved.response_s[0], response_s);
        printed(solved.throughput_per_s[0], rate);
        solved.queue.iter().zip(queues).for_each(|(said, digits)| printed(*said, digits));
    }
}

/// D. A. Menasce, V. A. F. Almeida and L. W. Dowdy, Performance by Design (2004), section 12.2: a database server with two
/// customers, a processor and two disks; the numbers are of the Markov chain's six states, in 115ths.
#[test]
fn a_database_server_is_solved_as_its_markov_chain_is() {
    let solved = closed(&single(&[10.0, 7.5, 15.0]), &[2], &[0.0]).unwrap();
    for (said, queue) in solved.queue.iter().zip([0.5913, 0.4174, 0.9913]) {
        assert!((said - queue).abs() < 0.000_06, "{said} {queue}");
    }
    near(solved.busy[0], 52.0 / 115.0);
}

/// Two stations, by the normalising constant: X(n) = G(n - 1) / G(n) with G(n) = sum of D1^i D2^(n - i).
#[test]
fn two_stations_agree_with_the_normalising_constant() {
    let (a, b) = (0.605_f64, 2.1_f64);
    let constant = |n: i32| (0..=n).map(|i| a.powi(i) * b.powi(n - i)).sum::<f64>();
    for many in 1_i32..=12 {
        let solved = closed(&single(&[a, b]), &[many.unsigned_abs()], &[0.0]).unwrap();
        near(solved.throughput_per_s[0], constant(many - 1) / constant(many));
    }
}

/// The machine repairman: n workers who think Z and one server, by the birth and death equations.
#[test]
fn think_time_agrees_with_the_machine_repairman() {
    let (service, think, many) = (1.0_f64, 5.0_f64, 9_u32);
    let mut weights = vec![1.0];
    for at in 0..many {
        weights.push(weights[at as usize] * f64::from(many - at) / think * service);
    }
    let busy = 1.0 - weights[0] / weights.iter().sum::<f64>();
    let solved = closed(&single(&[service]), &[many], &[think]).unwrap();
    near(solved.busy[0], busy);
    near(solved.response_s[0], f64::from(many) * service / busy - think);
}

/// Two classes whose demands are alike are one class.
#[test]
fn classes_that_are_alike_share_what_one_class_would_get() {
    let stations: Vec<Station> =
        [0.1, 0.3].iter().map(|d| Station { demands_s: vec![*d, *d], servers: 1 }).collect();
    let both = closed(&stations, &[3, 5], &[0.2, 0.2]).unwrap();
    let one = closed(&single(&[0.1, 0.3]), &[8], &[0.2]).unwrap();
    near(both.throughput_per_s.iter().sum(), one.throughput_per_s[0]);
    near(both.throughput_per_s[0] * 5.0, both.throughput_per_s[1] * 3.0);
}

/// Beyond what can be counted the approximation takes over: it keeps the laws and lies within a few percent.
#[test]
fn large_populations_are_approximated_within_a_few_percent() {
    let station = |a: f64, b: f64, c: f64| Station { demands_s: vec![a, b, c], servers: 1 };
    let stations = [station(0.01, 0.02, 0.03), station(0.03, 0.01, 0.02), station(0.0, 0.02, 0.01)];
    let exact = closed(&stations, &[30, 30, 30], &[0.1, 0.1, 0.1]).unwrap();
    let scaled = closed(&stations, &[3000, 3000, 3000], &[0.1, 0.1, 0.1]).unwrap();
    let busiest = |solved: &cosmark_capacity::mva::Solution| solved.busy.iter().copied().fold(0.0, f64::max);
    assert!(busiest(&exact) <= 1.0 + 1e-9 && busiest(&scaled) <= 1.0 + 1e-6, "{exact:?} {scaled:?}");
    let total = |solved: &cosmark_capacity::mva::Solution| solved.throughput_per_s.iter().sum::<f64>();
    assert!((total(&scaled) / total(&exact) - 1.0).abs() < 0.05, "{exact:?} {scaled:?}");
}

#[test]
fn an_open_station_agrees_with_erlang() {
    let one = open(&single(&[0.1]), &[8.0]).unwrap();
    near(one.response_s[0], 0.1 / (1.0 - 0.8));
    // M/M/2 at 1.5 erlangs: R = s / (1 - rho^2).
    let two = open(&[Station { demands_s: vec![0.1], servers: 2 }], &[15.0]).unwrap();
    near(two.response_s[0], 0.1 / (1.0 - 0.75 * 0.75));
    assert!(open(&single(&[0.1]), &[10.0]).is_none());
    assert!(open(&[Station { demands_s: vec![0.1], servers: 2 }], &[20.1]).is_none());
}

#[test]
fn bounds_hold_for_every_solution() {
    let demands = [0.02, 0.05, 0.01];
    for many in [1, 2, 5, 17] {
        let solved = closed(&single(&demands), &[many], &[0.1]).unwrap();
        let (most, least) = bounds(&demands, f64::from(many), 0.1);
        assert!(solved.throughput_per_s[0] <= most + 1e-9 && solved.response_s[0] >= least - 1e-9);
    }
}

#[test]
fn what_does_not_fit_together_has_no_solution() {
    assert!(closed(&single(&[0.1]), &[1, 2], &[0.0, 0.0]).is_none());
    assert!(closed(&single(&[-0.1]), &[1], &[0.0]).is_none());
    assert!(closed(&single(&[0.0]), &[1], &[0.0]).is_none());
    assert!(closed(&single(&[f64::NAN]), &[1], &[0.0]).is_none());
    assert!(closed(&[], &[], &[]).is_none());
}

#[test]
fn odd_networks_have_solutions_of_finite_numbers_at_once() {
    let finite = |stations: &[Station], population: &[u32], think_s: &[f64]| {
        [0.0, 0.5].map(|in_turn| {
            let solved = closed_in_turn(stations, population, think_s, in_turn).unwrap();
            let all = [&solved.throughput_per_s, &solved.response_s, &solved.busy, &solved.queue];
            assert!(all.into_iter().flatten().all(|one| one.is_finite() && *one >= -1e-9), "{solved:?}");
            solved.throughput_per_s
        })
    };
    // Workers that only think, so many that nobody can count their states.
    for rates in finite(&[], &[3_000_000, 3_000_000], &[1e-3; 2]) {
        rates.into_iter().for_each(|rate| near(rate / 3e9, 1.0));
    }
    // Nobody of a kind, one, and kinds that need nothing of a station, without a pause, beside a million.
    let stations = [[1e-3, 0.0, 2e-3], [0.0, 0.0, 0.0], [1e-9, 4e-3, 2e-3]];
    let stations = stations.map(|demands_s| Station { demands_s: demands_s.into(), servers: 1 });
    for population in [[0, 0, 0], [1, 1, 1], [0, 1, 1_000_000], [1_000_000, 1, 0], [2_000_000; 3]] {
        finite(&stations, &population, &[0.0; 3]);
    }
}

#[test]
fn demands_are_found_again_and_two_equal_rates_say_nothing() {
    let points: Vec<(f64, f64)> = [10.0, 50.0, 90.0, 130.0].map(|x| (x, 0.04 + 0.002 * x)).into();
    let demand = fit(&points).unwrap();
    near(demand.seconds, 0.002);
    near(demand.ceiling_per_s(), 0.96 / 0.002);
    assert!(demand.constant && fit(&[(10.0, 0.1), (10.0, 0.2), (10.0, 0.3)]).is_none());
    let bent: Vec<(f64, f64)> = [10.0, 50.0, 90.0, 130.0].map(|x: f64| (x, x * x / 17_000.0)).into();
    assert!(!fit(&bent).unwrap().constant);
}

#[test]
fn classes_are_told_apart_only_where_their_rates_differ() {
    let rows: Vec<(Vec<f64>, f64)> = [(100.0, 0.0), (0.0, 50.0), (60.0, 30.0), (20.0, 45.0), (80.0, 45.0)]
        .map(|(read, write)| (vec![read, write], 0.03 + 0.001 * read + 0.008 * write))
        .into();
    let demands = of_classes(&rows).unwrap().costs;
    assert!((demands[0] - 0.001).abs() < 1e-6 && (demands[1] - 0.008).abs() < 1e-6, "{demands:?}");
    let fixed_mix: Vec<(Vec<f64>, f64)> =
        [10.0, 20.0, 30.0, 40.0].map(|x| (vec![x, x * 0.25], 0.01 * x)).into();
    assert!(of_classes(&fixed_mix).is_none());
}
