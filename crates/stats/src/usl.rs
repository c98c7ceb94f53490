//! Gunther's universal scalability law, X(N) = c N / (1 + a (N - 1) + b N (N - 1)), fitted with a, b >= 0. Source: N. J. Gunther,
//! Guerrilla Capacity Planning (2007), chapters 4 to 6. Uncertainty from resampled residuals (Efron and Tibshirani, An
//! Introduction to the Bootstrap, chapter 9). The law describes a curve; it proves nothing beyond the points it was fitted to.

use super::bootstrap::Random;
use super::linear;

/// A parameter and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Best value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A fitted law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usl {
    /// Throughput of one worker, per second.
    pub one: Parameter,
    /// Contention: the share that cannot be done at the same time.
    pub contention: Parameter,
    /// Coherence: what makes throughput fall with more workers.
    pub coherence: Parameter,
    /// Workers at which throughput is highest; only where the interval of `coherence` excludes 0.
    pub peak_workers: Option<Parameter>,
    /// Largest relative distance of a point from the curve.
    pub largest_residual: f64,
    /// How many points.
    pub points: usize,
}

const ROUNDS: usize = 1000;
/// Three parameters and something to judge them by.
const LEAST_POINTS: usize = 5;

#[expect(clippy::cast_precision_loss, reason = "a handful of points")]
fn real(n: usize) -> f64 {
    n as f64
}

impl Usl {
    /// Throughput of `workers` by the curve.
    #[must_use]
    pub fn at(&self, workers: f64) -> f64 {
        law([self.one.value, self.contention.value, self.coherence.value], workers)
    }
}

fn law([one, a, b]: [f64; 3], n: f64) -> f64 {
    one * n / (1.0 + a * (n - 1.0) + b * n * (n - 1.0))
}

/// Fits points of (workers, throughput per second). `None` with fewer than 5 usable points with different workers.
#[must_use]
pub fn fit(points: &[(f64, f64)], seed: u64) -> Option<Usl> {
    let usable = |(n, x): &(f64, f64)| *n >= 1.0 && *x > 0.0 && n.is_finite() && x.is_finite();
    let points: Vec<(f64, f64)> = points.iter().copied().filter(usable).collect();
    let mut different: Vec<f64> = points.iter().map(|p| p.0).collect();
    different.sort_by(f64::total_cmp);
    different.dedup();
    if different.len() < LEAST_POINTS {
        return None;
    }
    let best = solve(&points)?;
    let residuals: Vec<f64> = points.iter().map(|(n, x)| (x / law(best, *n)).ln()).collect();
    let inflate = (real(points.len()) / real(points.len() - 3)).sqrt();
    let mut random = Random::new(seed);
    let mut fits: Vec<[f64; 3]> = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let drawn: Vec<(f64, f64)> = points
            .iter()
            .map(|(n, _)| {
                let residual = residuals.get(random.below(residuals.len())).copied().unwrap_or(0.0);
                (*n, law(best, *n) * (residual * inflate).exp())
            })
            .collect();
        fits.extend(solve(&drawn));
    }
    let parameter = |value: f64, of: &dyn Fn(&[f64; 3]) -> f64| {
        let mut all: Vec<f64> = fits.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        let at = |share: f64| percentile(&all, share).unwrap_or(value);
        Parameter { value, low: at(0.025).min(value), high: at(0.975).max(value) }
    };
    let coherence = parameter(best[2], &|f| f[2]);
    let peak = |f: &[f64; 3]| ((1.0 - f[1]).max(0.0) / f[2]).sqrt();
    Some(Usl {
        one: parameter(best[0], &|f| f[0]),
        contention: parameter(best[1], &|f| f[1]),
        coherence,
        peak_workers: (coherence.low > 0.0).then(|| parameter(peak(&best), &peak)),
        largest_residual: residuals.iter().map(|r| r.exp_m1().abs()).fold(0.0, f64::max),
        points: points.len(),
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index within the list")]
fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    sorted.get((share * real(sorted.len().checked_sub(1)?)).round() as usize).copied()
}

/// Least squares of relative errors, linear in c0 = 1/c, c1 = a/c, c2 = b/c: N/X = c0 + c1 (N-1) + c2 N (N-1), with c1 and c2
/// at least 0. All four cases of a parameter held at 0 are tried; the best allowed one is the answer.
fn solve(points: &[(f64, f64)]) -> Option<[f64; 3]> {
    let rows: Vec<[f64; 3]> = points.iter().map(|(n, x)| [x / n, (n - 1.0) * x / n, (n - 1.0) * x]).collect();
    let cases: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
    let mut best: Option<(f64, [f64; 3])> = None;
    for used in cases {
        let Some(c) = normal_equations(&rows, used) else { continue };
        if c[0] <= 0.0 || c[1] < 0.0 || c[2] < 0.0 {
            continue;
        }
        let off: f64 =
            rows.iter().map(|r| (r.iter().zip(&c).map(|(r, c)| r * c).sum::<f64>() - 1.0).powi(2)).sum();
        if best.is_none_or(|(least, _)| off < least) {
            best = Some((off, [1.0 / c[0], c[1] / c[0], c[2] / c[0]]));
        }
    }
    best.map(|(_, found)| found)
}

/// Solves for the used columns by Gaussian elimination on scaled columns; the others are 0.
fn normal_equations(rows: &[[f64; 3]], used: &[usize]) -> Option<[f64; 3]> {
    let scale = |column: usize| rows.iter().map(|r| r[column] * r[column]).sum::<f64>().sqrt().max(1e-300);
    let scales: Vec<f64> = used.iter().map(|c| scale(*c)).collect();
    let system = used.iter().zip(&scales).map(|(own, scale)| {
        let product =
            |(other, by): (&usize, &f64)| rows.iter().map(|r| r[*own] * r[*other]).sum::<f64>() / scale / by;
        let right = rows.iter().map(|r| r[*own]).sum::<f64>() / scale;
        used.iter().zip(&scales).map(product).chain([right]).collect()
    });
    let solved = linear::solve(system.collect(), 1e-13)?;
    let mut found = [0.0; 3];
    for ((column, value), scale) in used.iter().zip(solved).zip(scales) {
        found[*column] = value / scale;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Vec<f64> {
        (0..10).map(|k| 5.0 * f64::from(1 << k)).collect()
    }

    fn points(truth: [f64; 3], noise: f64) -> Vec<(f64, f64)> {
        let mut random = Random::new(9);
        steps().into_iter().map(|n| (n, law(truth, n) * (1.0 + noise * (random.unit() - 0.5)))).collect()
    }

    #[test]
    fn the_parameters_of_an_exact_curve_come_back() {
        for truth in [[40.0, 0.012, 2.2e-6], [100.0, 0.0, 1e-5], [3.0, 0.2, 0.0], [7.0, 0.0, 0.0]] {
            let found = fit(&points(truth, 0.0), 1).unwrap();
            for (got, expected) in
                [(found.one, truth[0]), (found.contention, truth[1]), (found.coherence, truth[2])]
            {
                assert!((got.value - expected).abs() <= 1e-6 * expected + 1e-9, "{truth:?}: {found:?}");
            }
            assert!(found.largest_residual < 1e-6);
        }
    }

    #[test]
    fn a_peak_is_named_only_where_throughput_falls_for_certain() {
        let falling = fit(&points([40.0, 0.012, 4e-5], 0.05), 1).unwrap();
        let peak = falling.peak_workers.unwrap();
        let truth = ((1.0 - 0.012_f64) / 4e-5).sqrt();
        assert!(
            peak.low <= truth && truth <= peak.high && peak.high < 2.0 * truth,
            "{peak:?} around {truth}"
        );
        let flat = fit(&points([40.0, 0.02, 0.0], 0.05), 1).unwrap();
        assert!(flat.peak_workers.is_none() && flat.coherence.value >= 0.0, "{flat:?}");
    }

    #[test]
    fn intervals_cover_the_truth_and_no_parameter_is_negative() {
        let truth = [40.0, 0.012, 2e-5];
        let covered = (0..100)
            .filter(|seed| {
                let mut random = Random::new(*seed + 100);
                let noisy: Vec<_> = steps()
                    .into_iter()
                    .map(|n| (n, law(truth, n) * (1.0 + 0.08 * (random.unit() - 0.5))))
                    .collect();
                let found = fit(&noisy, *seed).unwrap();
                assert!(found.contention.low >= 0.0 && found.coherence.low >= 0.0);
                found.contention.low <= truth[1] && truth[1] <= found.contention.high
            })
            .count();
        assert!(covered >= 80, "{covered} of 100");
    }

    #[test]
    fn too_few_points_are_no_curve() {
        assert!(fit(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0)], 1).is_none());
        assert!(fit(&[(1.0, 1.0); 20], 1).is_none());
        assert!(fit(&[(f64::NAN, 1.0); 9], 1).is_none());
    }
}
