//! Draws times from a law.

use std::io::{BufRead, BufReader};
use std::path::Path;

use super::pick::{Random, millis_ns, shuffle, stream, unit};
use crate::behaviour::{Law, MAX_LIST, Part};

/// What a law may depend on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moment {
    /// Time of the script, ns.
    pub(crate) at_ns: u64,
    /// Objects stored.
    pub(crate) objects: u64,
    /// Size of the object read or written.
    pub(crate) bytes: u64,
}

enum Kind {
    Law(Law),
    /// Values in order, then again.
    List {
        values_ns: Vec<u64>,
        next: usize,
    },
    /// A shuffled block, shuffled anew when it is used up.
    Block {
        values_ns: Vec<u64>,
        next: usize,
    },
}

/// A law with its stream of random numbers.
pub(crate) struct Sampler {
    kind: Kind,
    random: Random,
}

/// Longest time a law can give: a day. Keeps unbounded laws within range.
const MAX_NS: f64 = 86_400e9;

impl Sampler {
    /// Compiles a law; reads its file if it has one.
    pub(crate) fn new(law: &Law, seed: u64, label: &str) -> Result<Sampler, String> {
        let kind = match law {
            Law::Mixture(parts) => Kind::Block { values_ns: block(parts), next: usize::MAX },
            Law::ListMs(list) => {
                Kind::List { values_ns: list.iter().map(|ms| millis_ns(*ms)).collect(), next: 0 }
            }
            Law::File(path) => Kind::List { values_ns: read_list(path)?, next: 0 },
            other => Kind::Law(other.clone()),
        };
        Ok(Sampler { kind, random: stream(seed, label) })
    }

    /// The next time, ns.
    pub(crate) fn draw(&mut self, moment: Moment) -> u64 {
        let random = &mut self.random;
        let value_ms = match &mut self.kind {
            Kind::List { values_ns, next } => {
                let value = values_ns[*next];
                *next = (*next + 1) % values_ns.len();
                return value;
            }
            Kind::Block { values_ns, next } => {
                if *next >= values_ns.len() {
                    shuffle(random, values_ns);
                    *next = 0;
                }
                *next += 1;
                return values_ns[*next - 1];
            }
            Kind::Law(law) => match &*law {
                Law::ConstantMs(ms) => *ms,
                Law::Uniform { min_ms, max_ms } => min_ms + (max_ms - min_ms) * unit(random),
                Law::ExponentialMs(mean_ms) => -mean_ms * (1.0 - unit(random)).ln(),
                Law::Lognormal { median_ms, sigma } => median_ms * (sigma * normal(random)).exp(),
                Law::Decay { from_ms, to_ms, tau_s } => {
                    to_ms + (from_ms - to_ms) * (-(moment.at_ns as f64 / 1e9) / tau_s).exp()
                }
                Law::Linear { from_ms, to_ms, over_s } => {
                    from_ms + (to_ms - from_ms) * (moment.at_ns as f64 / 1e9 / over_s).min(1.0)
                }
                Law::ByBytes { base_ms, per_mib_ms } => {
                    base_ms + per_mib_ms * moment.bytes as f64 / 1_048_576.0
                }
                Law::ByObjects { base_ms, per_million_ms } => {
                    base_ms + per_million_ms * moment.objects as f64 / 1e6
                }
                // Compiled to a list or block above.
                Law::Mixture(_) | Law::ListMs(_) | Law::File(_) => 0.0,
            },
        };
        (value_ms * 1e6).clamp(0.0, MAX_NS) as u64
    }
}

/// A standard normal number (Box and Muller 1958; one of the pair is thrown away).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - unit(random)).ln()).sqrt();
    radius * (std::f64::consts::TAU * unit(random)).cos()
}

fn block(parts: &[Part]) -> Vec<u64> {
    parts.iter().flat_map(|part| std::iter::repeat_n(millis_ns(part.ms), part.count as usize)).collect()
}

fn read_list(path: &Path) -> Result<Vec<u64>, String> {
    let at = |line: usize, what: &str| format!("{}:{line}: {what}", path.display());
    let file = std::fs::File::open(path)
        .map_err(|error| format!("cannot open {}: {error}; check the name", path.display()))?;
    let mut values = Vec::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|error| at(index + 1, &error.to_string()))?;
        let text = line.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let ms: f64 =
            text.parse().map_err(|_| at(index + 1, &format!("`{text}` is no number of milliseconds")))?;
        if !(0.0..=86_400_000.0).contains(&ms) {
            return Err(at(index + 1, &format!("{ms} is not between 0 and 86400000 ms (one day)")));
        }
        if values.len() >= MAX_LIST {
            return Err(at(index + 1, &format!("more than {MAX_LIST} values; shorten the file")));
        }
        values.push(millis_ns(ms));
    }
    if values.is_empty() {
        return Err(format!("{} holds no value; give one number of milliseconds per line", path.display()));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write as _;

    use super::*;

    fn draws(law: &Law, n: usize) -> Vec<u64> {
        let mut sampler = Sampler::new(law, 1, "test").unwrap();
        (0..n).map(|_| sampler.draw(Moment::default())).collect()
    }

    #[test]
    fn a_mixture_has_its_exact_counts_in_every_block_and_is_shuffled_anew() {
        let law = Law::Mixture(vec![
            Part { count: 1979, ms: 5.0 },
            Part { count: 20, ms: 50.0 },
            Part { count: 1, ms: 500.0 },
        ]);
        let all = draws(&law, 10_000);
        let expected = BTreeMap::from([(5_000_000, 1979), (50_000_000, 20), (500_000_000, 1)]);
        for block in all.chunks(2000) {
            let mut counts = BTreeMap::new();
            block.iter().for_each(|value| *counts.entry(*value).or_insert(0) += 1);
            assert_eq!(counts, expected);
        }
        assert_ne!(all[..2000], all[2000..4000]);
        assert_eq!(all, draws(&law, 10_000));
    }

    #[test]
    fn random_laws_have_their_means_and_medians() {
        let n = 200_000;
        let mean = |law: &Law| draws(law, n).iter().sum::<u64>() as f64 / n as f64 / 1e6;
        let median = |law: &Law| {
            let mut all = draws(law, n);
            all.sort_unstable();
            all[n / 2] as f64 / 1e6
        };
        // Bounds are five standard errors or wider.
        assert!((mean(&Law::ExponentialMs(10.0)) - 10.0).abs() < 0.12);
        assert!((median(&Law::ExponentialMs(10.0)) - 10.0 * 2.0_f64.ln()).abs() < 0.12);
        assert!((mean(&Law::Uniform { min_ms: 2.0, max_ms: 6.0 }) - 4.0).abs() < 0.02);
        assert!((median(&Law::Lognormal { median_ms: 10.0, sigma: 1.0 }) - 10.0).abs() < 0.2);
        let expected = 10.0 * 0.5_f64.exp();
        assert!((mean(&Law::Lognormal { median_ms: 10.0, sigma: 1.0 }) - expected).abs() < 0.3);
    }

    #[test]
    fn laws_of_time_and_of_fill_follow_their_formulas() {
        let at = |law: Law, moment: Moment| Sampler::new(&law, 1, "t").unwrap().draw(moment);
        let decay = Law::Decay { from_ms: 100.0, to_ms: 10.0, tau_s: 20.0 };
        assert_eq!(at(decay.clone(), Moment::default()), 100_000_000);
        let after_tau = at(decay, Moment { at_ns: 20_000_000_000, ..Moment::default() }) as f64 / 1e6;
        assert!((after_tau - (10.0 + 90.0 / std::f64::consts::E)).abs() < 1e-5);
        let linear = Law::Linear { from_ms: 10.0, to_ms: 20.0, over_s: 100.0 };
        assert_eq!(at(linear.clone(), Moment { at_ns: 50_000_000_000, ..Moment::default() }), 15_000_000);
        assert_eq!(at(linear, Moment { at_ns: 500_000_000_000, ..Moment::default() }), 20_000_000);
        let size = Law::ByBytes { base_ms: 1.0, per_mib_ms: 8.0 };
        assert_eq!(at(size, Moment { bytes: 512 << 10, ..Moment::default() }), 5_000_000);
        let fill = Law::ByObjects { base_ms: 1.0, per_million_ms: 4.0 };
        assert_eq!(at(fill, Moment { objects: 500_000, ..Moment::default() }), 3_000_000);
    }

    #[test]
    fn a_recorded_file_is_played_in_order_and_again() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "# recorded\n1.5\n\n2 # second\n0").unwrap();
        assert_eq!(draws(&Law::File(file.path().to_owned()), 4), [1_500_000, 2_000_000, 0, 1_500_000]);
    }

    #[test]
    fn a_bad_recorded_file_names_its_line() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "1\nfast").unwrap();
        let error = Sampler::new(&Law::File(file.path().to_owned()), 1, "t").err().unwrap();
        assert!(error.contains(":2: `fast` is no number"), "{error}");
        assert!(
            Sampler::new(&Law::File("/no/such".into()), 1, "t").err().unwrap().contains("check the name")
        );
    }
}
