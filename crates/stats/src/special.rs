//! Distribution functions that the tests need: normal, Student's t, beta. Sources: Abramowitz and Stegun, Handbook of
//! Mathematical Functions, 7.1.5, 7.1.14 (error function), 26.5 (incomplete beta); Lanczos 1964 (log gamma); DLMF 8.17.22
//! (continued fraction of the incomplete beta function).

use std::f64::consts::PI;

/// Beyond this many degrees of freedom Student's t is the normal law to six digits.
const NORMAL_FROM: f64 = 1e6;
const STEPS: usize = 200;

/// Logarithm of the gamma function, for x > 0.
#[must_use]
pub fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let base = x + 7.5;
    let sum =
        (1_u32..).zip(&COEFFICIENTS[1..]).fold(COEFFICIENTS[0], |sum, (k, c)| sum + c / (x + f64::from(k)));
    0.5 * (2.0 * PI).ln() + (x + 0.5) * base.ln() - base + sum.ln()
}

/// Regularised incomplete beta function I_x(a, b) for a, b > 0.
#[must_use]
pub fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || !(a > 0.0 && b > 0.0) {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The continued fraction converges fast on this side of the mean only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_cdf(1.0 - x, b, a);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    front * beta_fraction(x, a, b)
}

/// Lentz's evaluation.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let tiny = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / tiny(1.0 - (a + b) * x / (a + 1.0));
    let mut f = d;
    for m in 1..20_000_u32 {
        let m = f64::from(m);
        let mut change = 1.0;
        for term in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / tiny(1.0 + term * d);
            c = tiny(1.0 + term / c);
            change = c * d;
            f *= change;
        }
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    f
}

/// The x with I_x(a, b) = p.
#[must_use]
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    bisect(0.0, 1.0, |x| beta_cdf(x, a, b) < p)
}

fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Standard normal distribution function.
#[must_use]
pub fn normal_cdf(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let half_tail = if x < 2.5 {
        let (mut term, mut sum) = (x, x);
        for n in 1..200_u32 {
            let n = f64::from(n);
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
            if term.abs() < 1e-17 {
                break;
            }
        }
        0.5 - sum / PI.sqrt()
    } else {
        let fraction = (1..120_u32).rev().fold(x, |below, k| x + f64::from(k) / 2.0 / below);
        (-x * x).exp() / (2.0 * PI.sqrt() * fraction)
    };
    if z > 0.0 { 1.0 - half_tail } else { half_tail }
}

/// The z with P(Z <= z) = p, for 0 < p < 1.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    bisect(-40.0, 40.0, |z| normal_cdf(z) < p)
}

/// Two-sided tail of Student's t: P(|T| >= t).
#[must_use]
pub fn t_two_sided(t: f64, degrees: f64) -> f64 {
    if !t.is_finite() {
        return 0.0;
    }
    if degrees >= NORMAL_FROM {
        return 2.0 * normal_cdf(-t.abs());
    }
    beta_cdf(degrees / (degrees + t * t), degrees / 2.0, 0.5)
}

/// The t > 0 with P(|T| >= t) = `alpha`.
#[must_use]
pub fn t_critical(alpha: f64, degrees: f64) -> f64 {
    bisect(0.0, 1e9, |t| t_two_sided(t, degrees) > alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        let cases = [
            (normal_quantile(0.975), 1.959_964),
            (normal_quantile(0.001), -3.090_232),
            (normal_cdf(-6.0), 9.865_876e-10),
            (t_critical(0.05, 1.0), 12.706_205),
            (t_critical(0.05, 10.0), 2.228_139),
            (t_critical(0.01, 30.0), 2.749_996),
            (t_critical(0.05, 1e7), 1.959_964),
            (t_two_sided(2.228_139, 10.0), 0.05),
            (beta_quantile(0.975, 1.0, 10.0), 0.308_497),
            (beta_quantile(0.025, 50.0, 51.0), 0.398_321),
            (ln_gamma(10.0), 12.801_827_48),
            (ln_gamma(0.5), 0.572_364_94),
        ];
        for (got, expected) in cases {
            assert!((got - expected).abs() <= 2e-6 * expected.abs().max(1e-3), "{got} is not {expected}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_an_answer_and_no_panic() {
        assert_eq!((beta_cdf(-1.0, 2.0, 2.0), beta_cdf(2.0, 2.0, 2.0)), (0.0, 1.0));
        assert_eq!(beta_cdf(0.5, 0.0, 1.0), 0.0);
        assert!(t_critical(0.05, 0.1).is_finite());
        assert_eq!(t_two_sided(f64::NAN, 3.0), 0.0);
        let huge = beta_cdf(0.05, 5e5, 9.5e6);
        assert!((huge - 0.5).abs() < 0.01, "{huge}");
    }
}
