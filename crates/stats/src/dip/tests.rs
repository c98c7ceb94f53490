//! Planted dips of many depths, lengths and shapes come out as they were planted, and healthy series have none.

use super::*;
use crate::bootstrap::Random;
use crate::special::normal_quantile;

/// What the rate is of its level `t` seconds after the dip began; and how long the dip is.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// At once down, at once up.
    Box { length_s: f64 },
    /// At once down, up in a straight line after a while.
    Rising { hold_s: f64, rise_s: f64 },
    /// Down in a straight line, and up at once.
    Falling { fall_s: f64, hold_s: f64 },
    /// A little down, all of it, and a little again.
    Stepped { before_s: f64, deep_s: f64, after_s: f64, little: f64 },
    /// At once all of it, then half of it, then a little.
    Stairs { deep_s: f64, half_s: f64, little_s: f64, little: f64 },
}

impl Shape {
    fn length_s(self) -> f64 {
        match self {
            Self::Box { length_s } => length_s,
            Self::Rising { hold_s, rise_s } => hold_s + rise_s,
            Self::Falling { fall_s, hold_s } => fall_s + hold_s,
            Self::Stepped { before_s, deep_s, after_s, .. } => before_s + deep_s + after_s,
            Self::Stairs { deep_s, half_s, little_s, .. } => deep_s + half_s + little_s,
        }
    }

    /// Share of the depth that is lacking.
    fn share(self, t: f64) -> f64 {
        if t < 0.0 || t >= self.length_s() {
            return 0.0;
        }
        match self {
            Self::Box { .. } => 1.0,
            Self::Rising { hold_s, rise_s } => {
                if t < hold_s {
                    1.0
                } else {
                    1.0 - (t - hold_s) / rise_s
                }
            }
            Self::Falling { fall_s, .. } => (t / fall_s).min(1.0),
            Self::Stepped { before_s, deep_s, little, .. } => {
                if (before_s..before_s + deep_s).contains(&t) {
                    1.0
                } else {
                    little
                }
            }
            Self::Stairs { deep_s, half_s, little, .. } => match t {
                t if t < deep_s => 1.0,
                t if t < deep_s + half_s => 0.5,
                _ => little,
            },
        }
    }
}

#[derive(Debug)]
struct Planted {
    level: f64,
    noise: f64,
    begin_s: f64,
    depth: f64,
    shape: Shape,
}

impl Planted {
    /// One value a second, each the mean of a hundred moments, and what the dip costs.
    fn series(&self, seconds: usize, random: &mut Random) -> (Vec<f64>, f64) {
        let mut lost = 0.0;
        let of = |second: usize| {
            let shares = (0..100).map(|part| real(second) + (real(part) + 0.5) / 100.0);
            let lacking = shares.map(|t| self.shape.share(t - self.begin_s)).sum::<f64>() / 100.0;
            lost += self.level * self.depth * lacking;
            let chance = normal_quantile(random.unit().clamp(1e-9, 1.0 - 1e-9)) * self.noise * self.level;
            (self.level * (1.0 - self.depth * lacking) + chance).max(0.0).round()
        };
        ((0..seconds).map(of).collect(), lost)
    }
}

#[test]
fn a_store_that_loses_capacity_and_gets_it_back_costs_what_it_was_offered_and_could_not_take() {
    // 1000/s, 400/s for 30 s from 100 s on, back in a straight line over 60 s; 900/s are offered and what is too much goes.
    let capacity = |t: f64| match t {
        t if (100.0..130.0).contains(&t) => 400.0,
        t if (130.0..190.0).contains(&t) => 400.0 + (t - 130.0) * 10.0,
        _ => 1000.0,
    };
    for noise in [0.0, 0.01, 0.033] {
        let mut random = Random::new(7);
        let of = |second: usize| {
            let parts = (0..100).map(|part| capacity(real(second) + (real(part) + 0.5) / 100.0).min(900.0));
            let chance = normal_quantile(random.unit().clamp(1e-9, 1.0 - 1e-9)) * noise * 900.0;
            parts.sum::<f64>() / 100.0 + chance
        };
        let series: Vec<f64> = (0..300).map(of).collect();
        let band = Band::of(&series[..100]).unwrap();
        let found = find(&series, 100, 300, &band);
        let (from_s, to_s) = found.extent().unwrap();
        assert!((from_s - 100.0).abs() <= 1.0, "{noise}: begins at {from_s}");
        assert!((to_s - 180.0).abs() <= 3.0, "{noise}: back at {to_s}");
        assert!((found.lost() / 27_500.0 - 1.0).abs() < 0.02, "{noise}: lost {}", found.lost());
        assert!((found.depth() - 5.0 / 9.0).abs() < 0.02, "{noise}: depth {}", found.depth());
    }
}

#[test]
fn planted_dips_of_any_depth_length_and_shape_are_found_within_a_second_and_five_hundredths() {
    let mut random = Random::new(20_261_123);
    let mut late = 0;
    for case in 0..600 {
        let noise = [0.0, 0.01, 0.03, 0.05][case % 4];
        let level = [40.0, 300.0, 2_000.0, 50_000.0][case / 4 % 4];
        let depth = 0.3 + 0.7 * random.unit();
        let long = |random: &mut Random| 4.0 + 50.0 * random.unit();
        let shape = match case / 16 % 3 {
            0 => Shape::Box { length_s: long(&mut random) },
            1 => Shape::Rising { hold_s: long(&mut random), rise_s: long(&mut random) },
            _ => Shape::Falling { fall_s: long(&mut random), hold_s: long(&mut random) },
        };
        let begin_s = 90.0 + 40.0 * random.unit();
        let planted = Planted { level, noise, begin_s, depth, shape };
        let (series, lost) = planted.series(300, &mut random);
        let band = Band::of(&series[..85]).unwrap();
        let found = find(&series, 85, 300, &band);
        let told =
            || format!("case {case}: {level} {noise} {depth:.2} from {begin_s:.1} {shape:?}: {found:?}");
        let (from_s, to_s) = found.extent().unwrap_or_else(|| panic!("{}", told()));
        let end_s = begin_s + shape.length_s();
        // A straight side cannot be told better than the noise lets it.
        let side = |side_s: f64| 1.0 + 0.05 * shape.length_s().max(side_s * noise / depth * 6.0);
        let (fall_s, rise_s) = match shape {
            Shape::Box { .. } => (0.0, 0.0),
            Shape::Rising { rise_s, .. } => (0.0, rise_s),
            Shape::Falling { fall_s, .. } => (fall_s, 0.0),
            Shape::Stepped { .. } | Shape::Stairs { .. } => (0.0, 0.0),
        };
        let wrong = (from_s - begin_s).abs() > side(fall_s) || (to_s - end_s).abs() > side(rise_s);
        late += usize::from(wrong);
        let of_area = 0.05 * lost + 3.0 * noise * level * shape.length_s().sqrt();
        assert!((found.lost() - lost).abs() <= of_area + 0.02 * level, "lost {lost:.0}; {}", told());
        if matches!(shape, Shape::Box { length_s } if length_s > 4.0) {
            assert!((found.depth() - depth).abs() <= 0.05 + noise, "{}", told());
        }
    }
    assert!(late <= 6, "{late} of 600 begin or end elsewhere");
}

#[test]
fn what_falls_and_comes_back_at_once_is_timed_within_a_second_whatever_its_depth_and_length() {
    let mut random = Random::new(77);
    let cases = [
        (0.0, 0.1, 7.0),
        (0.01, 0.1, 20.0),
        (0.01, 0.4, 5.0),
        (0.02, 1.0, 3.0),
        (0.03, 0.7, 10.0),
        (0.03, 0.3, 30.0),
        (0.05, 1.0, 20.0),
    ];
    let (mut late, mut apart_s) = (0, Vec::new());
    for (noise, depth, least_s) in std::iter::repeat_n(cases, 40).flatten() {
        let (begin_s, length_s) = (110.0 + random.unit(), least_s + random.unit());
        let planted = Planted { level: 1000.0, noise, begin_s, depth, shape: Shape::Box { length_s } };
        let (series, _) = planted.series(300, &mut random);
        let band = Band::of(&series[..100]).unwrap();
        let found = find(&series, 100, 300, &band);
        let Some(dip) = found.dips.first() else {
            late += 1;
            continue;
        };
        let wrong_s = (dip.from_s - begin_s).abs().max((dip.to_s - dip.from_s - length_s).abs());
        late += usize::from(wrong_s > 1.0);
        apart_s.push(wrong_s);
    }
    assert!(late <= 8, "{late} of 280 begin or end elsewhere");
    let median_s = crate::bootstrap::median(&apart_s).unwrap();
    assert!(median_s < 0.15, "a half of them are timed within {median_s} s");
}

#[test]
fn a_dip_that_is_shallow_before_and_after_it_is_deep_is_timed_from_where_it_began_to_where_it_ended() {
    let mut random = Random::new(5);
    let mut late = 0;
    for _ in 0..200 {
        let long = |random: &mut Random| 8.0 + 12.0 * random.unit();
        let (before_s, after_s) = (long(&mut random), long(&mut random));
        let (deep_s, little) = (6.0 + 10.0 * random.unit(), 0.15 + 0.15 * random.unit());
        let shape = Shape::Stepped { before_s, deep_s, after_s, little };
        let begin_s = 100.0 + random.unit();
        let depth = 0.7 + 0.3 * random.unit();
        let planted = Planted { level: 1000.0, noise: 0.02, begin_s, depth, shape };
        let (series, lost) = planted.series(240, &mut random);
        let band = Band::of(&series[..90]).unwrap();
        let found = find(&series, 90, 240, &band);
        let (from_s, to_s) = found.extent().unwrap();
        let wrong_s = (from_s - begin_s).abs().max((to_s - begin_s - shape.length_s()).abs());
        late += usize::from(wrong_s > 1.0);
        assert!((found.lost() / lost - 1.0).abs() < 0.1, "{} of {lost}: {planted:?}", found.lost());
    }
    assert!(late <= 30, "{late} of 200 begin or end elsewhere");
}

#[test]
fn a_dip_that_comes_back_by_steps_is_over_when_the_last_of_them_is() {
    let mut random = Random::new(43);
    let mut late = 0;
    for case in 0..150 {
        let long = |random: &mut Random| 8.0 + 12.0 * random.unit();
        let (deep_s, half_s, little_s) = (long(&mut random), long(&mut random), long(&mut random));
        let little = 0.15 + 0.15 * random.unit();
        let shape = Shape::Stairs { deep_s, half_s, little_s, little };
        let (begin_s, depth) = (95.0 + random.unit(), 0.7 + 0.3 * random.unit());
        let noise = [0.01, 0.02, 0.03][case % 3];
        let planted = Planted { level: 1000.0, noise, begin_s, depth, shape };
        let (series, _) = planted.series(220, &mut random);
        let band = Band::of(&series[..85]).unwrap();
        let (from_s, to_s) = find(&series, 85, 220, &band).extent().unwrap();
        let end_s = begin_s + shape.length_s();
        late += usize::from((from_s - begin_s).abs() > 1.0 || (to_s - end_s).abs() > 1.0);
    }
    assert!(late <= 12, "{late} of 150 begin or end elsewhere");
}

#[test]
fn noise_makes_no_dip_deeper_than_it_was() {
    let mut random = Random::new(6);
    let mut apart = 0;
    for _ in 0..200 {
        let shape = Shape::Box { length_s: 20.0 + 40.0 * random.unit() };
        let (begin_s, depth) = (100.0 + random.unit(), 0.4 + 0.2 * random.unit());
        let planted = Planted { level: 1000.0, noise: 0.1, begin_s, depth, shape };
        let (series, _) = planted.series(240, &mut random);
        let band = Band::of(&series[..60]).unwrap();
        apart += usize::from((find(&series, 60, 240, &band).depth() - depth).abs() > 0.05);
    }
    assert!(apart <= 35, "{apart} of 200 have another depth");
    // What is deeper for ten seconds than the rest of its dip is so deep.
    let mut series = vec![1000.0; 200];
    series[100..140].fill(500.0);
    series[112..124].fill(0.0);
    for (at, rate) in series.iter_mut().enumerate() {
        *rate += if at % 2 == 0 { 20.0 } else { -20.0 };
    }
    let band = Band::of(&series[..90]).unwrap();
    let depth = find(&series, 90, 200, &band).depth();
    assert!((depth - 1.0).abs() < 0.02, "{depth}");
}

#[test]
fn a_dip_that_is_deepest_for_five_seconds_is_as_deep_as_it_was_then() {
    let mut random = Random::new(41);
    let mut apart = 0;
    for case in 0..100 {
        let shape = if case % 2 == 0 {
            Shape::Rising { hold_s: 5.0, rise_s: 20.0 }
        } else {
            Shape::Stepped { before_s: 8.0, deep_s: 6.0, after_s: 10.0, little: 0.5 }
        };
        let (begin_s, depth) = (100.0 + random.unit(), 0.4 + 0.2 * random.unit());
        let planted = Planted { level: 1000.0, noise: 0.01, begin_s, depth, shape };
        let (series, _) = planted.series(200, &mut random);
        let band = Band::of(&series[..90]).unwrap();
        let found = find(&series, 90, 200, &band).depth();
        apart += usize::from((found / depth - 1.0).abs() > 0.05);
    }
    assert!(apart <= 8, "{apart} of 100 have another depth");
}

#[test]
fn an_outage_within_a_dip_is_whole_however_much_few_operations_differ_by_chance() {
    // 5/s as chance has them; for 70 s the half of it, and for twelve of these nothing.
    let by_chance = [6.0_f64, 4.0, 9.0, 3.0, 5.0, 0.0, 7.0, 8.0, 2.0, 6.0];
    let mut series: Vec<f64> = by_chance.into_iter().cycle().take(200).collect();
    series[100..170].iter_mut().for_each(|rate| *rate = (*rate / 2.0).floor());
    series[130..142].fill(0.0);
    let band = Band::of(&series[..90]).unwrap();
    let depth = find(&series, 90, 200, &band).depth();
    assert!(depth > 0.95, "{depth}");
}

#[test]
fn a_dip_of_few_operations_is_no_outage_because_five_of_its_seconds_had_none_by_chance() {
    let mut random = Random::new(53);
    let mut outages = 0;
    for case in 0..120 {
        let (level, left) = ([5.0, 10.0, 20.0][case % 3], [0.2, 0.1][case / 3 % 2]);
        let mean = |second: usize| if (100..160).contains(&second) { level * left } else { level };
        let series: Vec<f64> = (0..200).map(|second| poisson(mean(second), &mut random)).collect();
        let band = Band::of(&series[..90]).unwrap();
        outages += usize::from(find(&series, 90, 200, &band).depth() > 0.99);
    }
    assert!(outages <= 6, "{outages} of 120");
}

#[test]
fn what_chance_takes_from_the_seconds_beside_a_dip_is_not_lost_in_it() {
    let mut random = Random::new(8);
    let (mut found_apart, mut truly_apart) = (0, 0);
    for _ in 0..200 {
        let shape = Shape::Box { length_s: 2.5 + 5.0 * random.unit() };
        let (begin_s, depth) = (100.0 + random.unit(), 0.4 + 0.2 * random.unit());
        let planted = Planted { level: 1000.0, noise: 0.03, begin_s, depth, shape };
        let (series, lost) = planted.series(240, &mut random);
        let band = Band::of(&series[..60]).unwrap();
        let is_apart = |sum: f64| usize::from((sum - lost).abs() > 0.05 * lost);
        found_apart += is_apart(find(&series, 60, 240, &band).lost());
        // What would be found if somebody knew in which seconds it was.
        let inside = &series[whole(begin_s)..whole((begin_s + shape.length_s()).ceil())];
        truly_apart += is_apart(inside.iter().map(|rate| band.level - rate).sum());
    }
    assert!(found_apart <= truly_apart + 8, "{found_apart} and not {truly_apart} of 200 by chance");
}

#[test]
fn a_healthy_series_has_no_dip() {
    let mut random = Random::new(3);
    let mut found = 0;
    for case in 0..400 {
        let (level, noise) = ([8.0, 100.0, 3_000.0][case % 3], [0.0, 0.02, 0.05, 0.1][case % 4]);
        let planted = Planted { level, noise, begin_s: 1e9, depth: 0.0, shape: Shape::Box { length_s: 0.0 } };
        let (series, _) = planted.series(240, &mut random);
        let band = Band::of(&series[..60]).unwrap();
        found += usize::from(!find(&series, 60, 240, &band).dips.is_empty());
    }
    assert!(found <= 4, "{found} of 400 healthy series have a dip");
}

/// Seconds that lie far out now and then, as those of real stores do: on both sides, below, or half of it once in a
/// while.
#[derive(Debug, Clone, Copy)]
enum Tails {
    Both,
    Below,
    Hiccups,
}

fn with_tails(tails: Tails, seconds: usize, random: &mut Random) -> Vec<f64> {
    let of = |_| {
        let (chance, other) = (random.unit().max(1e-12), random.unit());
        let far = -20.0 * chance.ln();
        match tails {
            Tails::Both => 1000.0 + if other < 0.5 { far } else { -far },
            Tails::Below => 1020.0 - far,
            Tails::Hiccups if chance < 0.02 => 500.0,
            Tails::Hiccups => 1000.0 + 30.0 * (other - 0.5),
        }
    };
    (0..seconds).map(of).collect()
}

#[test]
fn a_healthy_rate_whose_seconds_lie_far_out_now_and_then_seldom_has_a_dip() {
    let mut random = Random::new(61);
    for (tails, most) in [(Tails::Both, 3), (Tails::Below, 18), (Tails::Hiccups, 38)] {
        let (mut false_dips, mut missed) = (0, 0);
        for _ in 0..100 {
            let mut series = with_tails(tails, 300, &mut random);
            let band = Band::of(&series[..120]).unwrap();
            false_dips += usize::from(!find(&series, 120, 300, &band).dips.is_empty());
            series[180..200].iter_mut().for_each(|rate| *rate *= 0.85);
            let found = find(&series, 120, 300, &band);
            missed += usize::from(!found.dips.iter().any(|dip| dip.from_s < 200.0 && dip.to_s > 180.0));
        }
        assert!(false_dips <= most && missed <= 2, "{tails:?}: {false_dips} and {missed} of 100");
    }
}

#[test]
fn a_dip_of_a_rate_whose_seconds_lie_far_out_is_timed_as_others_are() {
    let mut random = Random::new(71);
    let mut late = 0;
    for case in 0..120 {
        let tails = [Tails::Both, Tails::Below][case % 2];
        let mut series = with_tails(tails, 220, &mut random);
        let begin_s = 130.0 + random.unit();
        for (at, rate) in series.iter_mut().enumerate() {
            let inside = (real(at + 1).min(begin_s + 10.0) - real(at).max(begin_s)).max(0.0);
            *rate -= 300.0 * inside;
        }
        let band = Band::of(&series[..110]).unwrap();
        let dips = find(&series, 110, 220, &band).dips;
        let is_it =
            |dip: &Dip| (dip.from_s - begin_s).abs() <= 1.0 && (dip.to_s - begin_s - 10.0).abs() <= 1.0;
        late += usize::from(!dips.iter().any(is_it));
    }
    assert!(late <= 14, "{late} of 120");
}

#[test]
fn two_short_dips_are_two_where_the_rate_was_back_for_some_seconds_between_them() {
    let mut random = Random::new(31);
    let mut right = 0;
    for case in 0..60 {
        let (noise, gap) = ([0.0, 0.01, 0.02][case % 3], 7 + case % 6);
        let mut series = vec![1000.0; 200];
        series[100..105].fill(0.0);
        series[105 + gap..113 + gap].fill(400.0);
        for rate in &mut series {
            *rate += normal_quantile(random.unit().clamp(1e-9, 1.0 - 1e-9)) * noise * 1000.0;
        }
        let band = Band::of(&series[..90]).unwrap();
        let found = find(&series, 90, 200, &band);
        let back_s = found.back_s(90.0, 5.0, 200.0).unwrap_or_default();
        let is_right = found.dips.len() == 2 && (back_s - 105.0).abs() <= 1.0;
        right += usize::from(is_right && (found.depth() - 1.0).abs() < 0.05);
        assert!((found.lost() / 9_800.0 - 1.0).abs() < 0.05, "{case}: {found:?}");
    }
    assert!(right >= 55, "{right} of 60");
}

#[test]
fn what_stays_a_little_down_for_long_after_an_outage_is_one_dip_with_it() {
    let mut random = Random::new(59);
    let (mut parted, mut late) = (0, 0);
    for case in 0..40 {
        let (noise, little) = [(0.05, 0.06), (0.08, 0.1)][case % 2];
        let mut series = vec![1000.0; 280];
        series[120..130].fill(0.0);
        series[130..190].fill(1000.0 * (1.0 - little));
        for rate in &mut series {
            *rate += normal_quantile(random.unit().clamp(1e-9, 1.0 - 1e-9)) * noise * 1000.0;
        }
        let band = Band::of(&series[..110]).unwrap();
        let found = find(&series, 110, 280, &band);
        parted += usize::from(found.dips.len() != 1);
        late += usize::from(found.back_s(110.0, 10.0, 280.0).is_none_or(|back_s| back_s < 150.0));
    }
    assert!(parted <= 4 && late <= 4, "{parted} and {late} of 40");
}

#[test]
fn pauses_that_come_again_and_again_are_no_dip_and_make_none_longer_or_larger() {
    let mut random = Random::new(21);
    let (mut false_dips, mut missed, mut late, mut apart) = (0, 0, 0, 0);
    // Every so many seconds, for how long, how deep; as a store does that puts in order what it has.
    let pauses = [(10, 1, 0.6), (20, 1, 0.6), (7, 1, 0.3), (10, 2, 0.2), (30, 2, 0.4)];
    for ((every, pause_s, pause_depth), noise) in
        pauses.iter().flat_map(|pause| [0.005, 0.03].map(|noise| (*pause, noise)))
    {
        let low = 1000.0 * (1.0 - pause_depth);
        let own = |second: usize| if second % every < pause_s { low } else { 1000.0 };
        for (length_s, depth) in [(0.0, 0.0), (4.3, 1.0), (8.0, 0.5)].repeat(20) {
            let begin_s = 112.0 + real(every) * random.unit();
            let mut lost = 0.0;
            let of = |second: usize| {
                let inside = (real(second + 1).min(begin_s + length_s) - real(second).max(begin_s)).max(0.0);
                lost += own(second) * depth * inside;
                let chance = normal_quantile(random.unit().clamp(1e-9, 1.0 - 1e-9)) * noise * 1000.0;
                own(second) * (1.0 - depth * inside) + chance
            };
            let series: Vec<f64> = (0..240).map(of).collect();
            let band = Band::of(&series[..110]).unwrap();
            let found = find(&series, 110, 240, &band);
            let Some((from_s, to_s)) = found.extent() else {
                missed += usize::from(depth > 0.0);
                continue;
            };
            if depth <= 0.0 {
                false_dips += 1;
                continue;
            }
            late += usize::from((from_s - begin_s).abs().max((to_s - begin_s - length_s).abs()) > 1.0);
            let one_pause = 1000.0 * pause_depth * real(pause_s);
            apart += usize::from((found.lost() - lost).abs() > 0.05 * lost + one_pause);
        }
    }
    assert!(false_dips <= 2 && missed == 0, "{false_dips} of 200, {missed} of 400");
    assert!(late <= 60 && apart <= 8, "{late} and {apart} of 400");
}

#[test]
fn a_dip_of_a_rate_that_swings_in_a_period_of_its_own_is_found_as_it_was() {
    let mut random = Random::new(47);
    let (mut false_dips, mut right) = (0, 0);
    for case in 0..60 {
        let period = [5.0, 10.0, 20.0][case % 3];
        let (phase, is_square) = (period * random.unit(), case % 2 == 0);
        let swing = |second: usize| {
            let turn = (real(second) + phase) / period;
            if is_square {
                0.05 * (turn.fract() - 0.5).signum()
            } else {
                0.1 * (turn * std::f64::consts::TAU).sin()
            }
        };
        let of = |second: usize| {
            let chance = normal_quantile(random.unit().clamp(1e-9, 1.0 - 1e-9)) * 0.01;
            1000.0 * (1.0 + swing(second) + chance)
        };
        let mut series: Vec<f64> = (0..260).map(of).collect();
        let band = Band::of(&series[..100]).unwrap();
        false_dips += usize::from(!find(&series, 100, 260, &band).dips.is_empty());
        let lost: f64 = series[150..170].iter().map(|rate| rate * 0.3).sum();
        series[150..170].iter_mut().for_each(|rate| *rate *= 0.7);
        let found = find(&series, 100, 260, &band);
        let Some((from_s, to_s)) = found.extent() else { continue };
        let is_timed = (from_s - 150.0).abs().max((to_s - 170.0).abs()) <= 1.5;
        let is_as_large = (found.lost() / lost - 1.0).abs() < 0.08 && (found.depth() - 0.3).abs() < 0.06;
        right += usize::from(is_timed && is_as_large);
    }
    assert!(false_dips <= 2 && right >= 46, "{false_dips} and {right} of 60");
}

#[test]
fn a_single_pause_of_healthy_seconds_is_not_what_their_rate_is() {
    let mut series = vec![1000.0; 200];
    series[20..26].fill(0.0);
    series[120..130].fill(300.0);
    let band = Band::of(&series[..100]).unwrap();
    assert!((band.level - 1000.0).abs() < 1e-9 && band.spread <= band.noise, "{band:?}");
    // Nor are two of them, one in each half.
    let mut two = vec![1000.0; 100];
    (two[10], two[70]) = (0.0, 0.0);
    assert!((Band::of(&two).unwrap().level - 1000.0).abs() < 1e-9);
    // Nor are pauses that are made up for at once.
    let mut waves = vec![1000.0; 200];
    for at in (5..100).step_by(10) {
        waves[at] = 400.0;
        waves[at + 1] = 1600.0;
    }
    assert!((Band::of(&waves[..100]).unwrap().level - 1000.0).abs() < 1e-9);
    for at in (5..100).step_by(10) {
        waves[at + 1] = 1000.0;
    }
    let band = Band::of(&waves[..100]).unwrap();
    assert!((band.level - 940.0).abs() < 1e-9 && band.median > 999.0, "{band:?}");
}

/// Operations of a second in which so many come on average.
fn poisson(mean: f64, random: &mut Random) -> f64 {
    let (mut count, mut product) = (0.0, random.unit());
    while product > (-mean).exp() {
        count += 1.0;
        product *= random.unit();
    }
    count
}

#[test]
fn arrivals_by_chance_have_no_dip_and_a_short_outage_among_them_is_seen() {
    let mut random = Random::new(11);
    let (mut false_dips, mut seen) = (0, 0);
    for _ in 0..200 {
        let mut series: Vec<f64> = (0..300).map(|_| poisson(50.0, &mut random)).collect();
        let band = Band::of(&series[..100]).unwrap();
        false_dips += usize::from(!find(&series, 100, 300, &band).dips.is_empty());
        series[150..153].fill(0.0);
        let found = find(&series, 100, 300, &band);
        let right = |dip: &Dip| (dip.from_s - 150.0).abs() <= 1.0 && (dip.to_s - 153.0).abs() <= 1.0;
        seen += usize::from(found.dips.iter().any(right));
    }
    assert!(false_dips <= 3, "{false_dips} of 200");
    assert!(seen >= 196, "{seen} of 200");
}

#[test]
fn two_dips_of_one_slot_are_told_apart_and_work_that_waited_is_counted_apart() {
    let mut series = vec![200.0; 200];
    series[60..70].fill(50.0);
    series[100..104].fill(0.0);
    series[104..112].fill(300.0);
    let band = Band::of(&series[..50]).unwrap();
    let found = find(&series, 50, 200, &band);
    assert_eq!(found.dips.len(), 2, "{found:?}");
    assert!((found.lost() - 2_300.0).abs() < 1.0, "{found:?}");
    assert!((found.made_up - 800.0).abs() < 1.0, "{found:?}");
    assert_eq!(found.back_s(50.0, 60.0, 200.0), Some(112.0));
    assert_eq!(found.back_s(50.0, 25.0, 200.0), Some(70.0), "long enough between the two");
    assert_eq!(found.back_s(50.0, 30.0, 200.0), Some(70.0), "just so");
    assert_eq!(found.back_s(50.0, 31.0, 200.0), Some(112.0), "no second of what lies between is cut off");
    assert_eq!(found.back_s(50.0, 89.0, 200.0), Some(112.0), "one of the last may be");
    assert_eq!(found.back_s(50.0, 100.0, 200.0), None);
    assert_eq!(Found::default().back_s(50.0, 60.0, 200.0), Some(50.0));
    assert!((found.depth() - 1.0).abs() < 1e-9);
}

#[test]
fn no_second_is_lost_in_two_dips_where_the_rate_rises_and_falls_slowly_between_them() {
    let mut near = 0;
    for (rise, gap) in (8..30).flat_map(|rise| (0..12).map(move |gap| (rise, gap))) {
        let slow = |away: usize| 20.0 + 180.0 * (away.min(rise) as f64 / rise as f64);
        let back = 80 + 2 * rise + gap;
        let rate = |at: usize| match at {
            at if at < 60 => 200.0,
            at if at < 80 => 20.0,
            at if at < back => slow((at - 80).min(back - at)),
            at if at < back + 20 => 20.0,
            _ => 200.0,
        };
        let wave = |at: usize| if at.is_multiple_of(2) { 3.0 } else { -3.0 };
        let series: Vec<f64> = (0..260).map(|at| rate(at) + wave(at)).collect();
        let band = Band::of(&series[..50]).unwrap();
        let found = find(&series, 50, 260, &band);
        near += usize::from(found.dips.len() > 1);
        for pair in found.dips.windows(2) {
            assert!(pair[0].bins.1 <= pair[1].bins.0, "{rise} {gap}: {pair:?}");
        }
        let missing: f64 = series[50..].iter().map(|rate| (band.level - rate).max(0.0)).sum();
        assert!(found.lost() <= missing + 1.0, "{rise} {gap}: {} of {missing}", found.lost());
    }
    assert!(near > 20, "{near}");
}

#[test]
fn too_few_or_empty_seconds_make_no_band_and_no_input_panics() {
    assert!(Band::of(&[5.0; 19]).is_none());
    assert!(Band::of(&[0.0; 60]).is_none());
    assert!(Band::of(&[f64::NAN; 60]).is_none());
    let band = Band::of(&[5.0; 60]).unwrap();
    for (from, to) in [(0, 0), (5, 3), (60, 99), (59, 60), (0, 60)] {
        assert!(find(&[5.0; 60], from, to, &band).dips.is_empty());
    }
    let all_gone = find(&[0.0; 60], 10, 60, &band);
    assert_eq!(all_gone.extent(), Some((10.0, 60.0)));
    for keep_s in [0.0, 1.0, 5.0] {
        assert_eq!(all_gone.back_s(10.0, keep_s, 60.0), None, "it is gone to the end");
    }
}

#[test]
fn a_slow_fall_right_behind_a_dip_begins_where_that_one_ended_at_the_earliest() {
    // As long as can be looked at second by second, and longer, where several seconds are one point.
    let mut pairs = 0;
    for fall in 120..300 {
        let mut series = vec![1000.0; 100];
        series.extend([100.0; 20]);
        series.extend([1060.0; 2]);
        series.extend((0..fall).map(|at| 940.0 - 840.0 * real(at) / real(fall)));
        series.extend([100.0; 30]);
        series.extend([1000.0; 60]);
        let band = Band::of(&series[..100]).unwrap();
        let found = find(&series, 100, series.len(), &band);
        for pair in found.dips.windows(2) {
            assert!(pair[0].to_s <= pair[1].from_s, "{fall}: {:?}", found.dips);
            assert!(pair[0].bins.1 <= pair[1].bins.0, "{fall}: {:?}", found.dips);
            pairs += 1;
        }
        assert!(
            found.dips.iter().all(|dip| dip.from_s <= dip.to_s && dip.to_s <= real(series.len())),
            "{fall}"
        );
    }
    assert_eq!(pairs, 180, "two dips each time");
}
