//! One direction of a job: counts, rates and times.

use std::collections::BTreeMap;

use cosmark_metrics::{HIGHEST_NS, Latencies, Latency, PERCENTILES};
use serde_json::Value;

use crate::record::fio::FioTimes;

/// What the reads or the writes of a job came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Side {
    /// Requests that ended.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Seconds that it took.
    pub runtime_s: f64,
    /// How long requests took, from submitted to completed.
    pub times: Times,
}

/// How long requests took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Times {
    /// How many were timed.
    pub count: u64,
    /// Mean, least and greatest, in ns.
    pub mean_ns: Option<f64>,
    /// Least.
    pub min_ns: Option<f64>,
    /// Greatest.
    pub max_ns: Option<f64>,
    /// Percentiles in ns, by the name that fio gives them, e.g. `99.000000`.
    percentiles: BTreeMap<String, f64>,
    /// Bins of its histogram: ns, and how many.
    bins: Vec<(u64, u64)>,
}

/// Beyond this no device of today goes: such a number is a mistake.
const MOST_PER_S: f64 = 1e13;
const MOST_IOS: u64 = 1_000_000_000_000_000;
/// fio rounds, and each of its figures by itself.
const ROUNDING: f64 = 0.02;
/// Requests that may have been under way when the measured time began.
const MOST_UNDER_WAY: u64 = 65_536;
/// Times that one of two sums may lack.
const FEW: u64 = 16;
/// fio has no more bins.
const MOST_BINS: usize = 100_000;

impl Side {
    /// The direction `name` of a job; `None` where it did nothing.
    pub fn of(job: &Value, name: &str) -> Result<Option<Self>, String> {
        let Some(side) = job.get(name) else { return Ok(None) };
        let number = |key: &str| -> Result<f64, String> {
            let number =
                side.get(key).and_then(Value::as_f64).ok_or_else(|| format!("`{name}.{key}` is missing"))?;
            let is_sound = number.is_finite() && (0.0..=1e19).contains(&number);
            if is_sound { Ok(number) } else { Err(format!("`{name}.{key}` is {number}: that cannot be")) }
        };
        let count = |key: &str| side.get(key).and_then(Value::as_u64);
        let ios = count("total_ios").ok_or_else(|| format!("`{name}.total_ios` is missing or no count"))?;
        if ios == 0 {
            return Ok(None);
        }
        if ios > MOST_IOS {
            return Err(format!("`{name}.total_ios` is {ios}: that cannot be"));
        }
        let bytes = count("io_bytes").ok_or_else(|| format!("`{name}.io_bytes` is missing or no count"))?;
        let (iops, runtime_s) = (number("iops")?, number("runtime")? / 1e3);
        // Older ones have KiB alone.
        let bytes_per_s = number("bw_bytes").or_else(|_| number("bw").map(|kib| kib * 1024.0))?;
        if runtime_s <= 0.0 {
            return Err(format!("`{name}.runtime` is 0 and `{name}.total_ios` {ios}: that cannot be"));
        }
        #[expect(clippy::cast_precision_loss, reason = "compared with what was rounded")]
        let rates =
            [("iops", iops, ios as f64 / runtime_s), ("bw_bytes", bytes_per_s, bytes as f64 / runtime_s)];
        for (key, said, expected) in rates {
            // A short job is measured in few milliseconds.
            let room =
                (ROUNDING + 0.002 / runtime_s) * expected + if key == "bw_bytes" { 1024.0 } else { 1.0 };
            if said > MOST_PER_S || (said - expected).abs() > room {
                return Err(format!(
                    "`{name}.{key}` is {said}, and its counts over `{name}.runtime` give {expected:.1}: it contradicts itself"
                ));
            }
        }
        let times = Times::of(side, name, ios)?;
        Ok(Some(Self { ios, bytes, iops, bytes_per_s, runtime_s, times }))
    }
}

impl Times {
    /// From submitted to completed; where fio has percentiles of the whole time alone (`lat_percentiles`), of that.
    fn of(side: &Value, name: &str, ios: u64) -> Result<Self, String> {
        let count_of = |times: &Value| times.get("N").and_then(Value::as_u64).unwrap_or(0);
        let known: Vec<(&str, &Value)> = ["clat_ns", "lat_ns"]
            .into_iter()
            .filter_map(|key| Some((key, side.get(key).filter(|times| count_of(times) > 0)?)))
            .collect();
        let has_shape =
            |(_, times): &&(&str, &Value)| times.get("bins").is_some() || times.get("percentile").is_some();
        let Some((key, times)) = known.iter().find(has_shape).or(known.first()).copied() else {
            return Ok(Self::default());
        };
        let place = format!("{name}.{key}");
        let count = count_of(times);
        // fio counts requests as it sends them and times as they end: those that were under way when the ramp was over
        // are in the times alone.
        if count > ios + ios / 10 + MOST_UNDER_WAY {
            return Err(format!(
                "`{place}.N` is {count}, and `{name}.total_ios` {ios}: it contradicts itself"
            ));
        }
        let ns = |key: &str| times.get(key).and_then(Value::as_f64).filter(|ns| ns.is_finite() && *ns >= 0.0);
        let listed = times.get("percentile").and_then(Value::as_object).into_iter().flatten();
        let percentiles =
            listed.filter_map(|(at, ns)| Some((at.clone(), ns.as_f64().filter(|ns| *ns >= 0.0)?)));
        let mut own = Self {
            count,
            mean_ns: ns("mean"),
            min_ns: ns("min"),
            max_ns: ns("max"),
            percentiles: percentiles.collect(),
            bins: Vec::new(),
        };
        own.bins = bins(times, &place, count)?;
        Ok(own)
    }

    /// Where they come from.
    #[must_use]
    pub fn kind(&self) -> FioTimes {
        match (self.bins.is_empty(), self.percentiles.is_empty()) {
            (false, _) => FioTimes::Bins,
            (true, false) => FioTimes::Percentiles,
            (true, true) => FioTimes::None,
        }
    }

    /// The distribution; empty where there are no bins.
    #[must_use]
    pub fn distribution(&self) -> Latency {
        let mut all = Latency::default();
        for (ns, count) in &self.bins {
            let mut left = *count;
            while left > 0 {
                let part = u32::try_from(left).unwrap_or(u32::MAX);
                all.record_many((*ns).min(HIGHEST_NS), part);
                left -= u64::from(part);
            }
        }
        all
    }

    /// As a result has them. A percentile beyond which too few lie is withheld, as of any run.
    #[must_use]
    pub fn latencies(&self) -> Latencies {
        let ms = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
        // What fio knows exactly; the middle of a bin may lie beyond it.
        let exact = |of: Latencies| {
            let (min, max) = (ms(self.min_ns).or(of.min), ms(self.max_ns).or(of.max));
            let (low, high) = (min.unwrap_or(0.0), max.unwrap_or(f64::INFINITY));
            let inside = |time: Option<f64>| time.map(|ms| ms.max(low).min(high.max(low)));
            Latencies {
                mean: ms(self.mean_ns).or(of.mean),
                min,
                p50: inside(of.p50),
                p60: inside(of.p60),
                p80: inside(of.p80),
                p90: inside(of.p90),
                p95: inside(of.p95),
                p99: inside(of.p99),
                p99_9: inside(of.p99_9),
                p99_99: inside(of.p99_99),
                max,
                ..of
            }
        };
        if self.count == 0 {
            return Latencies { withheld: Some("fio measured no times".to_owned()), ..Latencies::default() };
        }
        if !self.bins.is_empty() {
            return exact(Latencies::of(&self.distribution()));
        }
        let at = |index: usize| {
            let percentile = PERCENTILES.get(index).filter(|percentile| self.count >= percentile.needs())?;
            self.percentiles.get(&format!("{:.6}", percentile.quantile * 100.0)).map(|ns| ns / 1e6)
        };
        exact(Latencies {
            count: self.count,
            p50: at(0),
            p60: at(1),
            p80: at(2),
            p90: at(3),
            p95: at(4),
            p99: at(5),
            p99_9: at(6),
            p99_99: at(7),
            withheld: Some(
                "fio printed percentiles and no histogram: others, and those that too few support, are not known"
                    .to_owned(),
            ),
            ..Latencies::default()
        })
    }
}

/// The bins of fio's histogram, which hold all that were timed.
fn bins(times: &Value, place: &str, count: u64) -> Result<Vec<(u64, u64)>, String> {
    let Some(listed) = times.get("bins").and_then(Value::as_object) else { return Ok(Vec::new()) };
    if listed.len() > MOST_BINS {
        return Err(format!("`{place}.bins` has {} entries, more than {MOST_BINS}", listed.len()));
    }
    let mut bins = Vec::with_capacity(listed.len());
    for (ns, count) in listed {
        let bin = ns.parse::<u64>().ok().zip(count.as_u64());
        bins.push(bin.ok_or_else(|| format!("`{place}.bins`: {ns} is no time in ns with a count"))?);
    }
    bins.sort_unstable();
    let sum = bins.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    if sum.abs_diff(count) > count / 100 + FEW {
        return Err(format!(
            "`{place}.bins` hold {sum} requests, and `{place}.N` is {count}: it contradicts itself"
        ));
    }
    Ok(bins)
}
