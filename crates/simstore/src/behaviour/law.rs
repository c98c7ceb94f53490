//! Laws of time: how long a scripted delay or service lasts, in a behaviour file.
//!
//! The law is data; `rules::sampler` draws from it and `truth` computes its exact quantiles.

use std::path::PathBuf;

use serde::Deserialize;

/// How long something takes. In YAML a map with one key: `{constant_ms: 5}`,
/// `{uniform: {min_ms: 1, max_ms: 3}}`, `{mixture: [{count: 99, ms: 5}, {count: 1, ms: 500}]}`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Law {
    /// Always this many milliseconds.
    ConstantMs(f64),
    /// Every value between the two with equal probability.
    Uniform {
        /// Least value, ms.
        min_ms: f64,
        /// Greatest value, ms.
        max_ms: f64,
    },
    /// Exponential with this mean, ms.
    ExponentialMs(f64),
    /// Log-normal: the logarithm is normal with mean ln(`median_ms`) and this standard deviation.
    Lognormal {
        /// Median, ms.
        median_ms: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Exact proportions: in each block of as many requests as the counts sum to, every part occurs
    /// exactly `count` times, in a seeded order that is shuffled anew for each block.
    Mixture(Vec<Part>),
    /// These values, ms, one after the other, then again from the first.
    ListMs(Vec<f64>),
    /// Values read from a text file, one number of milliseconds per line (`#` begins a comment), one
    /// after the other, then again from the first.
    File(PathBuf),
    /// Exponential approach: `to + (from - to) * exp(-t / tau)`, t counted from the script's time zero.
    Decay {
        /// Value at t = 0, ms.
        from_ms: f64,
        /// Value at t = infinity, ms.
        to_ms: f64,
        /// Time constant, s.
        tau_s: f64,
    },
    /// Linear drift from t = 0 to t = `over_s`, constant afterwards.
    Linear {
        /// Value at t = 0, ms.
        from_ms: f64,
        /// Value from t = `over_s` on, ms.
        to_ms: f64,
        /// Length of the drift, s.
        over_s: f64,
    },
    /// Grows with the size of the object read or written: a store that is limited by its disks or hashes.
    ByBytes {
        /// Value of an empty object, ms.
        base_ms: f64,
        /// Added per MiB of the object, ms.
        per_mib_ms: f64,
    },
    /// Grows with the number of objects stored: a store that slows down as it fills.
    ByObjects {
        /// Value of an empty store, ms.
        base_ms: f64,
        /// Added per million objects stored, ms.
        per_million_ms: f64,
    },
}

/// One part of a [`Law::Mixture`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// How often the value occurs in each block.
    pub count: u32,
    /// The value, ms.
    pub ms: f64,
}

/// Most requests in one block of a mixture: the shuffled block is held in memory.
pub const MAX_BLOCK: u64 = 10_000_000;
/// Most values in a list or file.
pub const MAX_LIST: usize = 10_000_000;

fn time(value_ms: f64, what: &str, problems: &mut Vec<String>) {
    // A day is far beyond any request a benchmark waits for, and keeps sums of nanoseconds in range.
    if !(0.0..=86_400_000.0).contains(&value_ms) {
        problems.push(format!("{what} is {value_ms}; give milliseconds between 0 and 86400000 (one day)"));
    }
}

impl Law {
    /// What is wrong with the numbers of this law, each with its remedy; empty if nothing is.
    pub fn problems(&self) -> Vec<String> {
        let mut out = Vec::new();
        match self {
            Law::ConstantMs(ms) => time(*ms, "constant_ms", &mut out),
            Law::ExponentialMs(ms) => time(*ms, "exponential_ms (the mean)", &mut out),
            Law::Uniform { min_ms, max_ms } => {
                time(*min_ms, "min_ms", &mut out);
                time(*max_ms, "max_ms", &mut out);
                if min_ms > max_ms {
                    out.push(format!("min_ms {min_ms} is above max_ms {max_ms}; exchange them"));
                }
            }
            Law::Lognormal { median_ms, sigma } => {
                time(*median_ms, "median_ms", &mut out);
                if !(0.0..=10.0).contains(sigma) {
                    out.push(format!("sigma is {sigma}; give a number between 0 and 10"));
                }
            }
            Law::Mixture(parts) => {
                let block: u64 = parts.iter().map(|part| u64::from(part.count)).sum();
                if block == 0 || block > MAX_BLOCK {
                    out.push(format!(
                        "the counts of the mixture sum to {block}; they must sum to 1..={MAX_BLOCK}"
                    ));
                }
                parts.iter().for_each(|part| time(part.ms, "ms of a part", &mut out));
            }
            Law::ListMs(list) => {
                if list.is_empty() || list.len() > MAX_LIST {
                    out.push(format!("list_ms has {} values; give 1..={MAX_LIST}", list.len()));
                }
                list.iter().for_each(|ms| time(*ms, "a value of list_ms", &mut out));
            }
            Law::File(_) => {}
            Law::Decay { from_ms, to_ms, tau_s } => {
                time(*from_ms, "from_ms", &mut out);
                time(*to_ms, "to_ms", &mut out);
                if !(tau_s.is_finite() && *tau_s > 0.0) {
                    out.push(format!("tau_s is {tau_s}; give seconds above 0"));
                }
            }
            Law::Linear { from_ms, to_ms, over_s } => {
                time(*from_ms, "from_ms", &mut out);
                time(*to_ms, "to_ms", &mut out);
                if !(over_s.is_finite() && *over_s > 0.0) {
                    out.push(format!("over_s is {over_s}; give seconds above 0"));
                }
            }
            Law::ByBytes { base_ms, per_mib_ms } => {
                time(*base_ms, "base_ms", &mut out);
                time(*per_mib_ms, "per_mib_ms", &mut out);
            }
            Law::ByObjects { base_ms, per_million_ms } => {
                time(*base_ms, "base_ms", &mut out);
                time(*per_million_ms, "per_million_ms", &mut out);
            }
        }
        out
    }
}
