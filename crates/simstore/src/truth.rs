//! What must be measured: exact arithmetic on the laws of a behaviour.

use crate::behaviour::Law;

/// Mean of a law in milliseconds; `None` for laws that depend on time, size, fill or a file.
pub fn mean_ms(law: &Law) -> Option<f64> {
    match law {
        Law::ConstantMs(ms) | Law::ExponentialMs(ms) => Some(*ms),
        Law::Uniform { min_ms, max_ms } => Some((min_ms + max_ms) / 2.0),
        Law::Lognormal { median_ms, sigma } => Some(median_ms * (sigma * sigma / 2.0).exp()),
        Law::Mixture(parts) => {
            let total: f64 = parts.iter().map(|part| f64::from(part.count)).sum();
            Some(parts.iter().map(|part| f64::from(part.count) * part.ms).sum::<f64>() / total)
        }
        Law::ListMs(list) => Some(list.iter().sum::<f64>() / list.len() as f64),
        Law::File(_)
        | Law::Decay { .. }
        | Law::Linear { .. }
        | Law::ByObjects { .. }
        | Law::ByBytes { .. } => None,
    }
}

/// Quantile of a law in milliseconds, for `q` in (0, 1): the least value that at least the share `q` of all
/// values does not exceed. `None` for laws that depend on time, size, fill or a file.
pub fn quantile_ms(law: &Law, q: f64) -> Option<f64> {
    match law {
        Law::ConstantMs(ms) => Some(*ms),
        Law::Uniform { min_ms, max_ms } => Some(min_ms + (max_ms - min_ms) * q),
        Law::ExponentialMs(mean) => Some(-mean * (1.0 - q).ln()),
        Law::Lognormal { median_ms, sigma } => Some(median_ms * (sigma * normal_quantile(q)).exp()),
        Law::Mixture(parts) => {
            Some(of_counts(parts.iter().map(|part| (part.ms, u64::from(part.count))).collect(), q))
        }
        Law::ListMs(list) => Some(of_counts(list.iter().map(|ms| (*ms, 1)).collect(), q)),
        Law::File(_)
        | Law::Decay { .. }
        | Law::Linear { .. }
        | Law::ByObjects { .. }
        | Law::ByBytes { .. } => None,
    }
}

/// Quantile of values with counts, by rank ceil(q * n).
fn of_counts(mut values: Vec<(f64, u64)>, q: f64) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: u64 = values.iter().map(|(_, count)| count).sum();
    // A billionth forgives that 0.99 * 2000 is not exactly 1980 in binary.
    let rank = ((q * total as f64 - 1e-9).ceil() as u64).clamp(1, total.max(1));
    let mut seen = 0;
    for (value, count) in &values {
        seen += count;
        if seen >= rank {
            return *value;
        }
    }
    values.last().map_or(f64::NAN, |(value, _)| *value)
}

/// Quantile of the response time (from the intended time) of an open loop at a uniform rate against a server
/// of constant service time without queueing that freezes once: `base_ms` each, frozen for `stall_s` once in
/// `total_s`, at `per_s` requests per second, one of them at the moment of the freeze. Requests that arrive x before the
/// end of the stall take x + base, those that are in flight when it begins take stall + base; all others take base.
pub fn stalled_quantile_ms(base_ms: f64, stall_s: f64, per_s: f64, total_s: f64, q: f64) -> f64 {
    let total = (per_s * total_s).round();
    let in_flight = ((per_s * base_ms / 1000.0 - 1e-9).ceil() - 1.0).max(0.0);
    let rank = (q * total - 1e-9).ceil().clamp(1.0, total);
    // How many take longer. The longest are those in flight, then those that came during the stall, in their order.
    let longer = total - rank;
    let spared_s = ((longer - in_flight).max(0.0) / per_s).min(stall_s);
    base_ms + (stall_s - spared_s) * 1000.0
}

/// Quantile of the time in an M/M/1 queue (arrivals at random, one server): exponential with the rate
/// mu - lambda. `None` if the load is 1 or more, where there is no steady state.
pub fn mm1_quantile_ms(arrivals_per_s: f64, service_ms: f64, q: f64) -> Option<f64> {
    let spare_per_s = 1000.0 / service_ms - arrivals_per_s;
    (spare_per_s > 0.0).then(|| -(1.0 - q).ln() / spare_per_s * 1000.0)
}

/// Quantile of the standard normal distribution, by bisection of [`normal_cdf`]; exact to 1e-6.
fn normal_quantile(q: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if normal_cdf(middle) < q { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// The standard normal distribution function by the series of Marsaglia (J. Stat. Software 11(4), 2004).
fn normal_cdf(x: f64) -> f64 {
    let (mut sum, mut term, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() && odd < 400.0 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_point_law_has_the_quantiles_of_its_counts() {
        let file = include_str!("../behaviours/three-point.yaml");
        let law = crate::Behaviour::from_yaml(file).unwrap().delay[0].law.clone().unwrap();
        for (q, expected) in [(0.5, 5.0), (0.95, 5.0), (0.99, 50.0), (0.999, 50.0), (0.9999, 500.0)] {
            assert_eq!(quantile_ms(&law, q), Some(expected), "{q}");
        }
        assert!((mean_ms(&law).unwrap() - 5.697_5).abs() < 1e-9);
    }

    #[test]
    fn a_one_second_stall_shows_in_the_tail_of_an_open_loop() {
        let q = |q| stalled_quantile_ms(10.0, 1.0, 100.0, 60.0, q);
        assert_eq!((q(0.5), q(0.95)), (10.0, 10.0));
        for (share, expected) in [(0.99, 410.0), (0.999, 950.0), (1.0, 1010.0)] {
            assert!((q(share) - expected).abs() < 1e-6, "{share}: {}", q(share));
        }
        // At a thousand per second nine are in flight when the store freezes, and all of them wait it out.
        let q = |q| stalled_quantile_ms(10.0, 1.0, 1000.0, 30.0, q);
        for (share, expected) in [(0.95, 10.0), (0.99, 719.0), (0.999, 989.0), (1.0, 1010.0)] {
            assert!((q(share) - expected).abs() < 1e-6, "{share}: {}", q(share));
        }
    }

    #[test]
    fn continuous_laws_have_their_textbook_quantiles() {
        let close = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-4 * b;
        assert!(close(quantile_ms(&Law::ExponentialMs(10.0), 0.99), 46.0517));
        assert!(close(quantile_ms(&Law::Uniform { min_ms: 2.0, max_ms: 4.0 }, 0.25), 2.5));
        let lognormal = Law::Lognormal { median_ms: 10.0, sigma: 1.0 };
        assert!(close(quantile_ms(&lognormal, 0.5), 10.0));
        assert!(close(quantile_ms(&lognormal, 0.975), 10.0 * 1.959_964_f64.exp()));
        assert!(close(quantile_ms(&lognormal, 0.001), 10.0 * (-3.090_232_f64).exp()));
        assert!(close(mm1_quantile_ms(80.0, 10.0, 0.99), 230.2585));
        assert_eq!(mm1_quantile_ms(100.0, 10.0, 0.5), None);
        assert_eq!(mean_ms(&Law::Decay { from_ms: 1.0, to_ms: 2.0, tau_s: 1.0 }), None);
    }
}
