//! How operations are started, as one line of text: `5000/s`, `poisson,5000/s`, `ramp,100/s,5000/s`,
//! `step,100/s:10s,200/s:20s`, `recorded,2,/path/of/times`. XML writes it into the config key `rate`; YAML takes it too,
//! beside the longer map.

use std::time::Duration;

use cosmark_units::{
    Complaint, Plain, duration_text, parse_duration_as, parse_rate, parse_rate_or_zero, rate_text, shown,
};

use crate::model::{Arrivals, Load, WhenFull};

/// Most steps of a stepped rate.
pub(crate) const MAX_STEPS: usize = 10_000;

/// A ramp that leads somewhere.
pub(crate) fn ramp(from_per_s: f64, to_per_s: f64) -> Result<Arrivals, Complaint> {
    if from_per_s == 0.0 && to_per_s == 0.0 {
        return Err((
            "a ramp from 0/s to 0/s sends nothing".to_owned(),
            "give one end a rate above 0/s".to_owned(),
        ));
    }
    Ok(Arrivals::Ramp { from_per_s, to_per_s })
}

/// Reads arrivals from one line of text; `plain` is what the time of a step without a unit counts.
///
/// # Errors
/// What is wrong with it and how to write it.
pub(crate) fn parse_arrivals(text: &str, plain: Plain) -> Result<Arrivals, Complaint> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let complaint = |how: &str| (format!("the rate `{}` cannot be read", shown(text)), how.to_owned());
    match fields[..] {
        [rate] if !["constant", "poisson", "ramp", "step", "recorded"].contains(&rate) => {
            Ok(Arrivals::Constant { rate_per_s: parse_rate(rate)? })
        }
        ["constant", rate] => Ok(Arrivals::Constant { rate_per_s: parse_rate(rate)? }),
        ["poisson", rate] => Ok(Arrivals::Poisson { rate_per_s: parse_rate(rate)? }),
        ["ramp", from, to] => ramp(parse_rate_or_zero(from)?, parse_rate_or_zero(to)?),
        ["step", ref steps @ ..] if !steps.is_empty() => {
            if steps.len() > MAX_STEPS {
                return Err(complaint(&format!("at most {MAX_STEPS} steps")));
            }
            let steps = steps.iter().map(|step| {
                let (rate, time) =
                    step.split_once(':').ok_or_else(|| complaint("a step is RATE:TIME, e.g. 100/s:10s"))?;
                Ok((parse_rate(rate)?, step_time(time, plain)?))
            });
            Ok(Arrivals::Step { steps: steps.collect::<Result<_, Complaint>>()? })
        }
        ["recorded", warp, ..] if fields.len() > 2 => {
            // The path is the rest, commas included.
            let path = text.splitn(3, ',').nth(2).unwrap_or_default().trim();
            if path.is_empty() {
                return Err(complaint("write recorded,TIME_WARP,PATH"));
            }
            Ok(Arrivals::Recorded { path: path.to_owned(), time_warp: parse_time_warp(warp)? })
        }
        _ => Err(complaint(
            "write 5000/s, or poisson,5000/s, or ramp,100/s,5000/s, or step,100/s:10s,200/s:10s, or recorded,1,PATH",
        )),
    }
}

/// A step that takes no time is a mistake.
pub(crate) fn step_time(text: &str, plain: Plain) -> Result<Duration, Complaint> {
    let time = parse_duration_as(text, plain)?;
    if time.is_zero() {
        return Err(("a step takes no time".to_owned(), "give each step a time, e.g. 10s".to_owned()));
    }
    Ok(time)
}

/// A factor above 0.
pub(crate) fn parse_time_warp(text: &str) -> Result<f64, Complaint> {
    let warp = text.trim().parse::<f64>().ok().filter(|w| *w > 0.0 && *w <= 1e6);
    warp.ok_or_else(|| {
        (format!("`{}` is not a time warp", shown(text)), "a number above 0; 2 is twice as fast".to_owned())
    })
}

/// The text that [`parse_arrivals`] reads back exactly.
pub(crate) fn arrivals_text(arrivals: &Arrivals) -> String {
    match arrivals {
        Arrivals::Constant { rate_per_s } => rate_text(*rate_per_s),
        Arrivals::Poisson { rate_per_s } => format!("poisson,{}", rate_text(*rate_per_s)),
        Arrivals::Ramp { from_per_s, to_per_s } => {
            format!("ramp,{},{}", rate_text(*from_per_s), rate_text(*to_per_s))
        }
        Arrivals::Step { steps } => {
            let step =
                |(rate, time): &(f64, Duration)| format!(",{}:{}", rate_text(*rate), duration_text(*time));
            format!("step{}", steps.iter().map(step).collect::<String>())
        }
        Arrivals::Recorded { path, time_warp } => format!("recorded,{time_warp},{path}"),
    }
}

/// The four given values of a load; `None` = not given.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) arrivals: Option<Arrivals>,
    pub(crate) when_full: Option<WhenFull>,
    pub(crate) think_time: Option<Duration>,
    pub(crate) rate_per_worker: Option<f64>,
}

impl Parts {
    /// The values of a load.
    pub(crate) fn of(load: &Load) -> Parts {
        match load {
            Load::Closed => Parts::default(),
            Load::Paced { think_time, rate_per_worker } => {
                Parts { think_time: *think_time, rate_per_worker: *rate_per_worker, ..Parts::default() }
            }
            Load::Open { arrivals, when_full } => {
                Parts { arrivals: Some(arrivals.clone()), when_full: Some(*when_full), ..Parts::default() }
            }
        }
    }

    /// Puts them together.
    ///
    /// # Errors
    /// When they contradict each other.
    pub(crate) fn load(self) -> Result<Load, Complaint> {
        let no = |message: &str, hint: &str| Err((message.to_owned(), hint.to_owned()));
        let paced = self.think_time.is_some() || self.rate_per_worker.is_some();
        match self.arrivals {
            Some(_) if paced => no(
                "an open loop (rate) and a paced closed loop (think_time, rate_per_worker) exclude each other",
                "keep one of them",
            ),
            Some(arrivals) => Ok(Load::Open { arrivals, when_full: self.when_full.unwrap_or_default() }),
            None if self.when_full.is_some() => {
                no("when_full belongs to an open loop", "add a rate, or drop when_full")
            }
            None if paced => {
                Ok(Load::Paced { think_time: self.think_time, rate_per_worker: self.rate_per_worker })
            }
            None => Ok(Load::Closed),
        }
    }
}

/// `wait` or `drop`.
pub(crate) fn parse_when_full(text: &str) -> Result<WhenFull, Complaint> {
    match text.trim() {
        "wait" => Ok(WhenFull::Wait),
        "drop" => Ok(WhenFull::Drop),
        other => Err((format!("unknown when_full `{}`", shown(other)), "known: wait drop".to_owned())),
    }
}

/// The word that [`parse_when_full`] reads back.
pub(crate) fn when_full_text(when_full: WhenFull) -> &'static str {
    match when_full {
        WhenFull::Wait => "wait",
        WhenFull::Drop => "drop",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arrival_shape_reads_back_as_written() {
        for text in [
            "5000/s",
            "poisson,0.1/s",
            "ramp,0/s,5000/s",
            "step,100/s:10s,200.5/s:1500ms",
            "recorded,2,/a/b,c d.txt",
        ] {
            let arrivals = parse_arrivals(text, Plain::Refused).unwrap();
            assert_eq!(arrivals_text(&arrivals), text);
        }
        assert_eq!(parse_arrivals("300/m", Plain::Refused), Ok(Arrivals::Constant { rate_per_s: 5.0 }));
        assert_eq!(parse_arrivals("constant, 5", Plain::Refused), Ok(Arrivals::Constant { rate_per_s: 5.0 }));
    }

    #[test]
    fn a_rate_that_cannot_be_is_refused() {
        for text in [
            "",
            "0",
            "-1/s",
            "NaN",
            "inf",
            "1e12/s",
            "5/day",
            "poisson",
            "ramp,1",
            "ramp,0,0/s",
            "step",
            "step,1/s:0s",
            "x,1",
        ] {
            assert!(parse_arrivals(text, Plain::Seconds).is_err(), "{text}");
        }
        assert!(parse_arrivals("step,1/s:10", Plain::Refused).is_err(), "no unit");
        assert!(parse_arrivals("step,1/s:10", Plain::Seconds).is_ok(), "as XML has it");
    }
}
