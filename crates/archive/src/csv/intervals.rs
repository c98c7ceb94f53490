//! `intervals.csv`: what every operation did in every interval on every driver, ramps and drain included, errors by class.

use std::collections::BTreeMap;

use cosmark_metrics::results::METRICS;
use cosmark_metrics::{OpSnapshot, OperationResult, Outcome, Phase};

use crate::csv::line::push_line;
use crate::csv::number::decimal;
use crate::csv::table::{Fields, Table};
use crate::directory::counts::Counted;
use crate::{ArchiveError, Run};

pub(crate) const INTERVALS: Table = Table {
    file: "intervals.csv",
    columns: &[
        "stage",
        "tag",
        "driver",
        "phase",
        "start_s",
        "end_s",
        "count",
        "failures",
        "missed",
        "delayed",
        "bytes",
        "partial_bytes",
        "in_flight_mean",
        "requests",
        "retries",
        "connections",
        "errors",
        "accepted_only",
        "renewals",
        "unfinished",
        "intended",
        "checked",
    ],
    first: 17,
    figures: true,
};

/// Digits behind the point of times, and of a mean in flight.
const START_DIGITS: usize = 3;
const MEAN_DIGITS: usize = 4;

/// A run ends before: three centuries.
const LONGEST_S: f64 = 1e10;
/// Workers are counted with 32 bits.
const MOST_IN_FLIGHT: f64 = 4_294_967_295.0;

/// A line of `intervals.csv`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntervalLine {
    /// Id of the stage.
    pub stage: String,
    /// Tag of the operation, as in `run.json`.
    pub tag: String,
    /// Name of the driver.
    pub driver: String,
    /// `rampup`, `window`, `rampdown` or `drain`; no interval lies in two.
    pub phase: String,
    /// Start, seconds since the stage's load began.
    pub start_s: f64,
    /// End, likewise.
    pub end_s: f64,
    /// Successes that ended in it.
    pub ok: u64,
    /// Failures.
    pub failed: u64,
    /// Arrivals that were dropped.
    pub missed: u64,
    /// Arrivals that had waited for a free worker.
    pub delayed: u64,
    /// Body bytes of successes.
    pub bytes: u64,
    /// Body bytes of failures.
    pub partial_bytes: u64,
    /// Mean number of operations in flight.
    pub in_flight_mean: Option<f64>,
    /// Requests on the wire.
    pub requests: u64,
    /// Retries among them.
    pub retries: u64,
    /// Connections opened.
    pub connections: u64,
    /// Failures by class.
    pub errors: BTreeMap<String, u64>,
    /// Successes that the store only accepted.
    pub accepted_only: u64,
    /// Logins made again.
    pub renewals: u64,
    /// Operations that were due by the end of the window and had not finished then; told when that is known.
    pub unfinished: u64,
    /// Arrivals of an open loop that were due in the window.
    pub intended: u64,
    /// Bodies that were compared with what they should be; listings that ended with all that must be in them.
    pub checked: u64,
    /// Figures that have no column of their own, by name.
    pub metrics: BTreeMap<String, f64>,
}

impl IntervalLine {
    /// What `op` says of an interval from `start_s` to `end_s`. `stage` and `tag` are left for the archive, which alone
    /// knows them.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
    pub fn of(driver: &str, phase: Phase, start_s: f64, end_s: f64, op: &OpSnapshot) -> Self {
        let seconds = end_s - start_s;
        Self {
            stage: String::new(),
            tag: String::new(),
            driver: driver.to_owned(),
            phase: phase.word().to_owned(),
            start_s,
            end_s,
            ok: op.ok,
            failed: op.failed,
            missed: op.missed,
            delayed: op.delayed,
            bytes: op.bytes,
            partial_bytes: op.partial_bytes,
            in_flight_mean: (seconds > 0.0).then(|| op.in_flight_ns as f64 / 1e9 / seconds),
            requests: op.requests,
            retries: op.retries,
            connections: op.connections,
            errors: op.errors.iter().map(|(outcome, count)| (outcome.label(), *count)).collect(),
            accepted_only: op.accepted_only,
            renewals: op.renewals,
            unfinished: op.unfinished,
            intended: op.intended,
            checked: op.checked,
            metrics: OperationResult::figures(op, seconds),
        }
    }

    /// As it is read from the file: times in milliseconds, means with four digits.
    #[must_use]
    pub fn as_written(&self) -> Self {
        let read = |value: f64, digits| decimal(value, digits).parse().unwrap_or(value);
        Self {
            start_s: read(self.start_s, START_DIGITS),
            end_s: read(self.end_s, START_DIGITS),
            in_flight_mean: self.in_flight_mean.map(|mean| read(mean, MEAN_DIGITS)),
            ..self.clone()
        }
    }

    /// The counts as the sums of an operation that has no times.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time in flight is positive and shorter than centuries"
    )]
    pub fn sums(&self) -> OpSnapshot {
        let seconds = (self.end_s - self.start_s).max(0.0);
        OpSnapshot {
            ok: self.ok,
            failed: self.failed,
            missed: self.missed,
            delayed: self.delayed,
            bytes: self.bytes,
            partial_bytes: self.partial_bytes,
            in_flight_ns: (self.in_flight_mean.unwrap_or(0.0).max(0.0) * seconds * 1e9) as u128,
            requests: self.requests,
            retries: self.retries,
            connections: self.connections,
            errors: self.errors.iter().map(|(label, count)| (Outcome::failed(label), *count)).collect(),
            accepted_only: self.accepted_only,
            renewals: self.renewals,
            unfinished: self.unfinished,
            intended: self.intended,
            checked: self.checked,
            ..OpSnapshot::default()
        }
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, String> {
        Ok(Self {
            stage: fields.text(0),
            tag: fields.text(1),
            driver: fields.text(2),
            phase: fields.text(3),
            start_s: fields.number(4)?,
            end_s: fields.number(5)?,
            ok: fields.count(6)?,
            failed: fields.count(7)?,
            missed: fields.count(8)?,
            delayed: fields.count(9)?,
            bytes: fields.count(10)?,
            partial_bytes: fields.count(11)?,
            in_flight_mean: fields.number_if_any(12)?,
            requests: fields.count(13)?,
            retries: fields.count(14)?,
            connections: fields.count(15)?,
            errors: read_errors(&fields.text(16))?,
            accepted_only: fields.count_if_any(17)?.unwrap_or(0),
            renewals: fields.count_if_any(18)?.unwrap_or(0),
            unfinished: fields.count_if_any(19)?.unwrap_or(0),
            intended: fields.count_if_any(20)?.unwrap_or(0),
            checked: fields.count_if_any(21)?.unwrap_or(0),
            metrics: fields.figures()?,
        })
    }

    /// All that it counts.
    fn counted(&self) -> Counted {
        let own = [
            self.ok,
            self.failed,
            self.missed,
            self.delayed,
            self.requests,
            self.retries,
            self.connections,
            self.accepted_only,
            self.renewals,
            self.unfinished,
            self.intended,
            self.checked,
        ];
        let counts = own.iter().chain(self.errors.values()).map(|count| u128::from(*count)).sum();
        Counted { counts, bytes: u128::from(self.bytes) + u128::from(self.partial_bytes) }
    }

    pub(crate) fn push(&self, out: &mut Vec<u8>) {
        let errors: Vec<String> =
            self.errors.iter().map(|(label, count)| format!("{label}={count}")).collect();
        let figures = METRICS.iter().filter(|metric| metric.is_measured());
        let figures = figures
            .map(|metric| self.metrics.get(metric.id).map_or_else(String::new, |value| decimal(*value, 6)));
        push_line(
            out,
            [
                self.stage.clone(),
                self.tag.clone(),
                self.driver.clone(),
                self.phase.clone(),
                decimal(self.start_s, START_DIGITS),
                decimal(self.end_s, START_DIGITS),
                self.ok.to_string(),
                self.failed.to_string(),
                self.missed.to_string(),
                self.delayed.to_string(),
                self.bytes.to_string(),
                self.partial_bytes.to_string(),
                self.in_flight_mean.map_or_else(String::new, |mean| decimal(mean, MEAN_DIGITS)),
                self.requests.to_string(),
                self.retries.to_string(),
                self.connections.to_string(),
                errors.join(";"),
                self.accepted_only.to_string(),
                self.renewals.to_string(),
                self.unfinished.to_string(),
                self.intended.to_string(),
                self.checked.to_string(),
            ]
            .into_iter()
            .chain(figures),
        );
    }
}

fn read_errors(text: &str) -> Result<BTreeMap<String, u64>, String> {
    let entry = |part: &str| {
        let (label, count) = part.rsplit_once('=')?;
        Some((label.to_owned(), count.parse().ok()?))
    };
    text.split(';')
        .filter(|part| !part.is_empty())
        .map(|part| entry(part).ok_or_else(|| format!("errors: `{part}` is not label=count")))
        .collect()
}

impl Run {
    /// Calls `each` with every line of `intervals.csv`, in the order in which they were written; false when the run has
    /// none. Memory does not grow with the file.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn intervals(&self, mut each: impl FnMut(IntervalLine)) -> Result<bool, ArchiveError> {
        // Whoever adds lines up may do so as they are.
        let mut counted = Counted::default();
        INTERVALS.read(&self.path, |fields| {
            let line = IntervalLine::read(fields)?;
            counted = counted.and(line.counted());
            let in_time = |seconds: f64| seconds.abs() <= LONGEST_S;
            let is_possible = in_time(line.start_s) && in_time(line.end_s);
            if !is_possible || line.in_flight_mean.is_some_and(|mean| mean.abs() > MOST_IN_FLIGHT) {
                return Err("no run is so long, or has so much in flight".to_owned());
            }
            if !counted.is_possible() {
                return Err("the counts up to here are more than a run can have".to_owned());
            }
            each(line);
            Ok(())
        })
    }
}
