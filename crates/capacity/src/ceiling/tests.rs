//! Curves whose ceiling is known, seen at some steps below 60 % of it.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers of operations")]

use super::*;
use crate::demand;
use crate::ladder::{Kind, Step, Unit, Usage};

const IDLE: f64 = 0.03;
const AT_THE_PLATEAU: f64 = 32.0;
const SIX: &[f64] = &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
const FOUR: &[f64] = &[0.15, 0.3, 0.45, 0.6];

/// Seconds that an operation costs a unit that is so busy, where so many are under way.
type Cost = fn(f64, f64) -> f64;

const LINEAR: Cost = |_: f64, _: f64| 2e-3;

/// Costs that fall, each as some servers' do. Of a unit that is full what waits is all that is under way.
const FALLING: &[(&str, Cost)] = &[
    ("waking", |busy: f64, _: f64| 2e-3 * (1.0 + 0.8 * (1.0 - busy))),
    ("a fixed cost that its queue shares", |busy: f64, _: f64| 1.2e-3 + 0.8e-3 * (1.0 - busy)),
    ("a power of what waits for it", |busy: f64, under_way: f64| {
        2e-3 * (1.0 + waiting(busy, under_way)).powf(-0.12)
    }),
    ("the logarithm of what waits for it", |busy: f64, under_way: f64| {
        2e-3 * (1.0 - 0.12 * waiting(busy, under_way).ln_1p())
    }),
    ("a power of all under way", |_: f64, under_way: f64| 2e-3 * under_way.powf(-0.12)),
    ("the logarithm of all under way", |_: f64, under_way: f64| 2e-3 * (1.0 - 0.1 * under_way.ln_1p())),
    ("a power of those that meet", |_: f64, under_way: f64| 2e-3 * (1.0 + under_way).powf(-0.18)),
];

fn waiting(busy: f64, under_way: f64) -> f64 {
    if busy < 1.0 { (busy / (1.0 - busy)).min(under_way) } else { under_way }
}

fn truth(cost: Cost) -> f64 {
    (1.0 - IDLE) / cost(1.0, AT_THE_PLATEAU)
}

/// Loads by the clock that come to these shares of the ceiling. How busy the unit is, is off by `noise`, up and down in turn.
fn seen(cost: Cost, shares: &[f64], noise: f64) -> Vec<Point> {
    let at = |(place, share): (usize, &f64)| {
        let rate_per_s = share * truth(cost);
        let under_way = |busy: f64| rate_per_s * 1e-3 + busy / (1.0 - busy);
        let (mut low, mut high) = (IDLE, 0.9999);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            let needed = IDLE + rate_per_s * cost(middle, under_way(middle));
            if needed > middle { low = middle } else { high = middle }
        }
        let off = if place % 2 == 0 { noise } else { -noise };
        Point { rate_per_s, in_flight: under_way(low), busy: low + off, operations: None }
    };
    shares.iter().enumerate().map(at).collect()
}

fn predicted(points: &[Point]) -> Predicted {
    predict(Some(IDLE), points, AT_THE_PLATEAU).unwrap()
}

#[test]
fn the_ceiling_of_every_planted_law_is_in_the_interval_and_beyond_that_of_a_straight_line() {
    for (name, cost) in FALLING {
        let truth = truth(*cost);
        for (shares, noise) in [(SIX, 0.0), (SIX, 0.008), (FOUR, 0.004)] {
            let points = seen(*cost, shares, noise);
            let found = predicted(&points);
            assert!(found.holds(truth), "{name} {noise}: {truth} of {found:?}");
            assert!((0.7..1.5).contains(&(found.per_s / truth)), "{name} {noise}: {truth} of {found:?}");
            let straight: Vec<(f64, f64)> =
                points.iter().map(|point| (point.rate_per_s, point.busy)).chain([(0.0, IDLE)]).collect();
            let straight = Line::from_idle(&straight).unwrap().full_at();
            assert!(straight < found.per_s, "{name} {noise}: {straight} and {found:?}");
        }
    }
}

#[test]
fn a_cost_that_does_not_fall_is_not_made_to() {
    let truth = truth(LINEAR);
    let exact = predicted(&seen(LINEAR, SIX, 0.0));
    assert!((exact.per_s / truth - 1.0).abs() < 0.01 && exact.holds(truth), "{exact:?}");
    assert!(exact.low > 0.93 * truth && exact.high < 2.0 * truth, "{exact:?}");
    for (shares, noise) in [(SIX, 0.008), (FOUR, 0.004)] {
        let found = predicted(&seen(LINEAR, shares, noise));
        assert!((found.per_s / truth - 1.0).abs() < 0.06 && found.holds(truth), "{found:?}");
    }
}

#[test]
fn a_step_with_another_job_widens_the_interval_and_does_not_push_the_ceiling_out_of_it() {
    for (name, cost) in FALLING.iter().chain(&[("a straight line", LINEAR)]) {
        let quiet = predicted(&seen(*cost, SIX, 0.0));
        for disturbed in [2, 4] {
            let mut points = seen(*cost, SIX, 0.0);
            points[disturbed].busy += 0.1;
            let found = predicted(&points);
            assert!(found.holds(truth(*cost)), "{name} {disturbed}: {found:?}");
            assert!(found.high / found.low > quiet.high / quiet.low, "{name}: {found:?} and {quiet:?}");
        }
    }
}

#[test]
fn steps_of_few_operations_have_a_wide_interval_however_near_a_line_they_lie() {
    let width = |operations: Option<u64>| {
        let points = seen(LINEAR, SIX, 0.0).into_iter().map(|point| Point { operations, ..point });
        let found = predicted(&points.collect::<Vec<Point>>());
        let truth = truth(LINEAR);
        assert!((found.per_s / truth - 1.0).abs() < 0.01 && found.holds(truth), "{operations:?}: {found:?}");
        found.high / found.low
    };
    // What a unit was busy is not known so exactly that more operations would tell more.
    assert!((width(Some(1_000_000)) / width(None) - 1.0).abs() < 1e-9);
    assert!(width(Some(100)) > 2.0 * width(None) && width(Some(10)) > 2.0 * width(Some(100)));
    assert!(width(Some(1)).is_infinite() && width(Some(0)).is_infinite());
}

#[test]
fn the_interval_widens_with_the_way_to_the_ceiling_and_is_none_of_too_few_steps() {
    let near = predicted(&seen(LINEAR, SIX, 0.004));
    let far = predicted(&seen(LINEAR, &SIX[..4], 0.004));
    assert!(far.high / far.low > near.high / near.low, "{far:?} and {near:?}");
    assert!(predict(Some(IDLE), &seen(LINEAR, &SIX[..2], 0.0), AT_THE_PLATEAU).is_none());
    assert!(predict(None, &seen(LINEAR, &SIX[..3], 0.0), AT_THE_PLATEAU).is_none());
    for in_flight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(predict(Some(IDLE), &seen(LINEAR, SIX, 0.0), in_flight).is_none());
    }
    // A unit that operations do not need has none.
    let less = |point: &Point| IDLE - 1e-5 * point.rate_per_s;
    let idle: Vec<Point> =
        seen(LINEAR, SIX, 0.0).into_iter().map(|point| Point { busy: less(&point), ..point }).collect();
    assert!(predict(Some(IDLE), &idle, AT_THE_PLATEAU).is_none());
}

#[test]
fn a_straight_line_has_an_interval_that_widens_with_the_way_to_where_it_is_full() {
    let line = |shares: &[f64]| {
        let points: Vec<(f64, f64)> =
            seen(LINEAR, shares, 0.004).iter().map(|point| (point.rate_per_s, point.busy)).collect();
        Line::through(&points).unwrap()
    };
    let (near, far) = (line(SIX), line(&[0.05, 0.1, 0.15, 0.2, 0.25, 0.3]));
    let between = |line: &Line| line.full_between(1e-4);
    for line in [near, far] {
        let (low, high) = between(&line);
        assert!(low < line.full_at() && line.full_at() < high, "{line:?}: {low} {high}");
        let (least, most) = line.full_between(0.0);
        assert!((least / line.full_at() - 1.0).abs() < 1e-9 && (most / least - 1.0).abs() < 1e-9, "{line:?}");
    }
    let width = |line: &Line| between(line).1 - between(line).0;
    assert!(width(&far) > 1.5 * width(&near), "{near:?} {far:?}");
    // One that may be level has no upper end.
    assert!(near.full_between(10.0).1.is_infinite());
}

/// What `benches/bottleneck --bed ceph` measured of the quotas of a gateway (reads) and of the OSDs (writes) on 2026-11-26, twice:
/// rate, operations under way, share of the quota that was used.
const GATEWAY: &[(f64, f64, f64)] = &[
    (15.0, 0.038, 0.2301),
    (30.0, 0.068, 0.4148),
    (45.0, 0.103, 0.6093),
    (60.0, 0.147, 0.7596),
    (75.0, 0.216, 0.8664),
    (90.0, 0.415, 0.9263),
    (105.0, 1.123, 0.9465),
    (116.25, 2.0, 0.9619),
    (94.5, 4.0, 0.8854),
    (123.75, 8.0, 0.9452),
    (138.75, 12.0, 0.9609),
    (136.75, 16.0, 0.9564),
    (163.25, 24.0, 0.9775),
    (152.0, 32.0, 0.9658),
];
const OSDS: &[(f64, f64, f64)] = &[
    (10.0, 0.21, 0.519),
    (19.25, 0.72, 0.8244),
    (24.5, 2.0, 0.9036),
    (27.5, 4.0, 0.9283),
    (35.0, 8.0, 0.9566),
    (28.75, 8.01, 0.9706),
    (36.25, 12.0, 0.9604),
    (38.0, 16.0, 0.9616),
    (45.75, 24.0, 0.9688),
    (37.25, 25.82, 0.9765),
    (49.0, 32.0, 0.965),
    (44.25, 48.46, 0.9862),
];
const GATEWAY_AGAIN: &[(f64, f64, f64)] = &[
    (15.0, 0.037, 0.21807),
    (30.0, 0.073, 0.42415),
    (45.0, 0.105, 0.62871),
    (60.0, 0.169, 0.85923),
    (75.0, 0.558, 0.96643),
    (90.75, 1.843, 0.95611),
    (80.0, 1.999, 0.91358),
    (105.0, 3.011, 0.96214),
    (118.75, 3.999, 0.9055),
    (128.5, 7.999, 0.96634),
    (121.0, 12.0, 0.9706),
    (138.0, 16.0, 0.9651),
    (134.25, 24.0, 0.97093),
    (145.0, 32.0, 0.97332),
];
const OSDS_AGAIN: &[(f64, f64, f64)] = &[
    (6.0, 0.074, 0.38425),
    (9.0, 0.212, 0.53426),
    (12.0, 0.525, 0.72275),
    (14.75, 0.768, 0.81787),
    (17.75, 1.206, 0.87037),
    (18.5, 2.0, 0.92092),
    (21.75, 4.0, 0.93652),
    (22.25, 4.045, 0.95319),
    (24.5, 6.641, 0.94824),
    (21.0, 8.0, 0.94855),
    (23.5, 12.0, 0.97047),
    (31.0, 16.0, 0.97241),
    (31.25, 24.0, 0.9869),
    (35.25, 27.453, 0.98629),
    (31.5, 32.0, 0.99106),
    (37.0, 61.493, 0.98919),
];

/// Each step counted operations for four seconds.
fn measured(idle: f64, rows: &[(f64, f64, f64)]) -> Ladder {
    let unit =
        Unit { node: "all in one".into(), role: "ceph".into(), kind: Kind::CpuQuota, name: "quota".into() };
    let step = |(rate, under_way, busy): &(f64, f64, f64)| Step {
        throughput_per_s: *rate,
        counted: Some((rate * 4.0).round() as u64),
        in_flight: *under_way,
        service_s: under_way / rate,
        client_clear: true,
        usage: vec![Usage { busy: Some(*busy), ..Usage::default() }],
        ..Step::default()
    };
    Ladder { units: vec![unit], idle: vec![Some(idle)], steps: rows.iter().map(step).collect() }
}

#[test]
fn thousands_of_steps_say_what_some_of_them_do_and_as_soon() {
    let row = |at: u32| {
        let rate = f64::from(at) / 4_000.0 * 0.6 * truth(LINEAR);
        let busy = IDLE + rate * 2e-3;
        (rate, rate * 1e-3 + busy / (1.0 - busy), busy)
    };
    let rows: Vec<(f64, f64, f64)> = (1..=4_000).map(row).collect();
    let began = std::time::Instant::now();
    let found = of_unit(&measured(IDLE, &rows), 0, f64::INFINITY, AT_THE_PLATEAU).unwrap();
    assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
    assert!((found.per_s / truth(LINEAR) - 1.0).abs() < 0.01 && found.holds(truth(LINEAR)), "{found:?}");
}

#[test]
fn what_quotas_of_ceph_came_to_is_in_the_interval_that_the_steps_below_it_predict() {
    for (idle, rows, plateau, under_way, most_off) in [
        (0.0256, GATEWAY, 152.0, 32.0, 0.1),
        (0.144, OSDS, 45.75, 32.0, 0.1),
        (0.0171, GATEWAY_AGAIN, 138.0, 28.0, 0.1),
        // Of 24 to 84 operations at each step the value is far off, and the interval says so.
        (0.1017, OSDS_AGAIN, 35.25, 32.0, 0.35),
    ] {
        let found = of_unit(&measured(idle, rows), 0, plateau * 0.6, under_way).unwrap();
        let off = found.per_s / plateau - 1.0;
        assert!(found.holds(plateau) && off.abs() < most_off, "{plateau}: {found:?}");
        let straight = demand::of_unit(&measured(idle, rows), 0, plateau * 0.6).unwrap().ceiling_per_s();
        assert!(straight < 0.7 * plateau, "{straight} of {plateau}");
        // Every step at which the quota was used up, by all steps before any of them.
        let (mut held, mut all) = (0_u32, 0_u32);
        for known in 4..rows.len() {
            let below = measured(idle, &rows[..known]);
            for (rate, under_way, _) in rows[known..].iter().filter(|row| row.2 > 0.94) {
                let found = of_unit(&below, 0, f64::INFINITY, *under_way).unwrap();
                (held, all) = (held + u32::from(found.holds(*rate)), all + 1);
            }
        }
        assert!(all > 30 && f64::from(held) >= 0.95 * f64::from(all), "{plateau}: {held} of {all}");
    }
}
