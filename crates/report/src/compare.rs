//! Two or more runs side by side: what differs, how surely, and what could have been seen at all.
//!
//! Single runs are compared by the block bootstrap of their intervals, repetitions by rank (see `cosmark_stats`). All
//! rows of a comparison are one family: the chance that anything differs by luck is 5 %, not 5 % per row (Bonferroni), and
//! what is smaller than the least difference that matters, or than what the clients may have done to the figures, is not
//! called one.

mod barrier;
mod bounds;
mod estimates;
mod faults;
mod load;
mod once;
mod rows;
mod show;
mod values;
mod works;

use cosmark_metrics::nodes::costs::COSTS;
use cosmark_metrics::results::{METRICS, Metric, Statistic, Unit};
use serde::{Serialize, Serializer};

pub(crate) use faults::beside as faults_beside;
pub use faults::{FaultBeside, FaultCell, FaultRow, FaultSide, FaultsBeside};
pub use load::{Loaded, load, load_by};
pub use show::{junit, markdown, normalised, table};

use cosmark_stats::rank;

use values::ValueRow;

/// What to compare and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// 0.95: all intervals together hold with this confidence.
    pub confidence: f64,
    /// Relative differences below this are not called differences.
    pub least: f64,
    /// The relative difference that the recommended run length is for.
    pub effect: f64,
    /// Conditions under which the comparison fails.
    pub fail_on: Vec<FailOn>,
    /// A condition that could not be tested is no reason to stop.
    pub allow_untested: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { confidence: 0.95, least: 0.01, effect: 0.05, fail_on: Vec::new(), allow_untested: false }
    }
}

/// The figures that are compared.
pub fn compared() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().chain(COSTS).filter(|metric| !metric.names.compare.is_empty())
}

/// Unit of a figure, as a comparison writes it.
fn unit(metric: &Metric) -> &'static str {
    match metric.unit {
        Unit::PerS => "op/s",
        Unit::BytesPerS => "B/s",
        other => other.word(),
    }
}

/// `p95 +5%`: fail when it has grown by more than 5 %.
#[derive(Debug, Clone, PartialEq)]
pub struct FailOn {
    /// Which figure.
    pub metric: &'static Metric,
    /// Signed relative change.
    pub change: f64,
}

impl FailOn {
    /// Reads `p95 +5%` or `throughput -5%`.
    ///
    /// # Errors
    /// How to write it.
    pub fn parse(text: &str) -> Result<FailOn, String> {
        let can_fail = || compared().filter(|metric| metric.statistic != Statistic::Failures);
        let wrong = || {
            let words: Vec<&str> = can_fail().map(|metric| metric.names.compare).collect();
            format!("`{text}`: write a metric and a change, e.g. \"p95 +5%\"; metrics: {}", words.join(" "))
        };
        let at = text.find(['+', '-']).ok_or_else(wrong)?;
        let (word, change) = text.split_at(at);
        let metric = can_fail().find(|metric| metric.names.compare == word.trim()).ok_or_else(wrong)?;
        let change = change.trim().trim_end_matches('%').trim().parse::<f64>().map_err(|_| wrong())? / 100.0;
        let sensible = change.is_finite() && change > -1.0 && change != 0.0;
        if sensible { Ok(FailOn { metric, change }) } else { Err(wrong()) }
    }
}

/// How one row came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// B is better for certain.
    Better,
    /// B is worse for certain.
    Worse,
    /// The data do not show a difference that matters.
    NoDifferenceShown,
    /// The data show one, or would hide one of a factor of two, because of what the clients may have done to the figures.
    WithinBounds,
    /// Even a difference of a factor of two could hide in so little data.
    TooShort,
    /// The data allow no test.
    NotTested,
}

impl Outcome {
    /// True where neither a difference nor its absence was shown.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::NotTested | Self::TooShort | Self::WithinBounds)
    }

    /// For people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "WORSE",
            Self::NoDifferenceShown => "no difference shown",
            Self::WithinBounds => "within the bounds",
            Self::TooShort => "too short to tell",
            Self::NotTested => "not tested",
        }
    }
}

/// One metric of one operation, B against A.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Name of the stage.
    pub stage: String,
    /// Work and operation.
    pub operation: String,
    /// What is compared.
    #[serde(serialize_with = "word_of")]
    pub metric: &'static Metric,
    /// Its unit.
    pub unit: &'static str,
    /// Value of A: of several runs the median.
    pub a: Option<f64>,
    /// Value of B.
    pub b: Option<f64>,
    /// Between which values a client that adds nothing would have measured A; null for several runs and where nothing is known.
    pub a_bounds: Option<Within>,
    /// The same of B.
    pub b_bounds: Option<Within>,
    /// B / A; of several runs the Hodges-Lehmann estimate.
    pub ratio: Option<f64>,
    /// Lower end of its interval, with what the clients leave open; null where nothing limits it.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Chance of such a difference where there is none, the clients' part left out; of this row alone.
    pub p: Option<f64>,
    /// Cliff's delta of several runs, -1 to 1.
    pub delta: Option<f64>,
    /// Least relative difference that would have been found in 9 of 10 cases.
    pub detectable: Option<f64>,
    /// Window of each run, in seconds, that would find the difference asked for in 9 of 10 cases.
    pub recommended_s: Option<f64>,
    /// How it came out.
    pub outcome: Outcome,
    /// Why it was not tested, or what else to know.
    pub note: Option<String>,
    /// A condition of `--fail-on` is met.
    pub fails: bool,
    /// A condition of `--fail-on` asks for this row, it could not be tested, and that was not allowed.
    pub untested: bool,
    /// It prepares a measurement or clears up after it.
    #[serde(skip)]
    pub setup: bool,
}

/// The interval of one figure, in its unit; null where there is no end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Within {
    /// A client that adds nothing would have measured no less.
    pub low: Option<f64>,
    /// And no more.
    pub high: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn word_of<S: Serializer>(metric: &&'static Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(metric.names.compare)
}

/// B against A.
#[derive(Debug, Clone, Serialize)]
pub struct Pair {
    /// What the first side is called.
    pub a: String,
    /// What the other side is called.
    pub b: String,
    /// All rows.
    pub rows: Vec<Row>,
    /// What makes the two hard to compare.
    pub warnings: Vec<String>,
    /// Operations that only one side has.
    #[serde(skip)]
    unmatched: Vec<String>,
}

/// The first side against every other.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Confidence of all intervals together.
    pub confidence: f64,
    /// Rows that were tested: the size of the family.
    pub tests: usize,
    /// Differences below this are not called differences.
    pub least: f64,
    /// What the recommended lengths are for.
    pub effect: f64,
    /// One per other side.
    pub pairs: Vec<Pair>,
    /// Conditions of `--fail-on` that could not be tested, with the reason; empty where that is allowed.
    pub untested: Vec<String>,
    /// What the faults of all sides cost; null where no side has any.
    pub faults: Option<FaultsBeside>,
    /// The values of all sides, also of what only some of them have.
    #[serde(skip)]
    values: Vec<ValueRow>,
}

impl Comparison {
    /// Marks the rows that a condition asks for and no test could be made of. Rows of what prepares and clears up are asked only
    /// where there are no others.
    fn mark_untested(&mut self, fail_on: &[FailOn]) {
        for fail in fail_on {
            let word = fail.metric.names.compare;
            for pair in &mut self.pairs {
                let Pair { a, b, rows, unmatched, .. } = pair;
                let has_measured = rows.iter().any(|row| row.metric == fail.metric && !row.setup);
                let own = |row: &&mut Row| row.metric == fail.metric && (!row.setup || !has_measured);
                let mut any = false;
                for row in rows.iter_mut().filter(own) {
                    any = true;
                    if !row.outcome.is_open() {
                        continue;
                    }
                    row.untested = true;
                    let why =
                        row.note.as_deref().unwrap_or("even twice as much could hide in so little data");
                    self.untested.push(format!("{word} of {} {}: {why}", row.stage, row.operation));
                }
                if !any {
                    self.untested.push(format!("{word}: neither {a} nor {b} has it"));
                }
                self.untested.extend(unmatched.iter().map(|text| format!("{word} of {text}")));
            }
        }
    }

    /// True when a row meets a condition of `--fail-on`.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.rows().any(|row| row.fails)
    }

    /// No operation could be put beside another, and no fault either.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows().next().is_none() && self.faults.is_none()
    }

    /// Every row.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.pairs.iter().flat_map(|pair| &pair.rows)
    }

    /// How long to measure, metric by metric: a percentile of the tail asks for far more than a mean.
    fn lengths(&self) -> Option<String> {
        let of = |metric: &Metric| {
            let rows = self.rows().filter(|row| row.metric == metric);
            rows.filter_map(|row| row.recommended_s).reduce(f64::max)
        };
        let all: Vec<(&str, f64)> =
            compared().filter_map(|metric| Some((metric.names.compare, of(metric)?))).collect();
        let least = all.iter().map(|(_, seconds)| *seconds).reduce(f64::min)?;
        let most = all.iter().map(|(_, seconds)| *seconds).reduce(f64::max)?;
        if least > LONGEST_ADVICE_S {
            return Some(
                "these runs vary too much: measure longer, repeat them, and compare again".to_owned(),
            );
        }
        if most <= SAME_ADVICE * least {
            return Some(format!("measure {most:.0} s per run"));
        }
        let one = |(word, seconds): &(&str, f64)| {
            if *seconds > LONGEST_ADVICE_S {
                format!("{word} varies too much")
            } else {
                format!("{word} {seconds:.0} s")
            }
        };
        Some(format!("measure per run: {}", all.iter().map(one).collect::<Vec<_>>().join(", ")))
    }

    /// Everything in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let count = |outcome| self.rows().filter(|row| row.outcome == outcome).count();
        let (better, worse) = (count(Outcome::Better), count(Outcome::Worse));
        let (too_short, within) = (count(Outcome::TooShort), count(Outcome::WithinBounds));
        // Of the family those are missing that too few runs can say nothing of.
        let rows = self.rows().count();
        let tested = rows - count(Outcome::NotTested);
        let mut text = match (better, worse, tested) {
            (_, _, 0) => "nothing could be tested".to_owned(),
            (0, 0, _) if too_short > 0 => format!("{too_short} of {tested} too short to tell"),
            (0, 0, _) if within > 0 => {
                format!("{within} of {tested} differ by no more than their clients may have done")
            }
            (0, 0, _) if tested < rows => {
                format!("no difference shown ({tested} of {rows} rows could be tested)")
            }
            (0, 0, _) => "no difference shown".to_owned(),
            _ => format!("{worse} worse, {better} better of {tested} tested"),
        };
        let open = self.rows().filter(|row| row.outcome == Outcome::NoDifferenceShown);
        let seen = open.filter_map(|row| row.detectable).filter(|d| d.is_finite()).reduce(f64::max);
        if let Some(seen) = seen {
            text.push_str(&format!("; differences above {:.1} % would have been seen", seen * 100.0));
        }
        if let Some(lengths) = self.lengths() {
            text.push_str(&format!("; to see {:.0} %, {lengths}", self.effect * 100.0));
        }
        text
    }
}

/// Nobody measures longer on a comparison's word: half a day.
const LONGEST_ADVICE_S: f64 = 12.0 * 3600.0;
/// Lengths that differ by less than this factor are one.
const SAME_ADVICE: f64 = 1.5;

/// Compares the first side with each of the others; a side is one run or several repetitions of it.
#[must_use]
pub fn compare(sides: &[Vec<Loaded>], options: &Options) -> Comparison {
    let once = once::each_once(sides);
    let sides = once.as_ref().map_or(sides, |once| once.sides.as_slice());
    let said = |at: usize| once.iter().filter_map(move |once| once.said.get(at)).flatten().cloned();
    let alike = works::named_alike(sides);
    let sides = alike.as_deref().unwrap_or(sides);
    let Some((first, others)) = sides.split_first() else {
        return Comparison {
            confidence: options.confidence,
            tests: 0,
            least: options.least,
            effect: options.effect,
            pairs: Vec::new(),
            untested: Vec::new(),
            faults: None,
            values: Vec::new(),
        };
    };
    let mut drafts: Vec<_> = others.iter().map(|other| rows::drafts(first, other)).collect();
    let tests = drafts.iter().flat_map(|draft| &draft.rows).filter(|row| row.can_be_tested()).count();
    #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
    let alpha = (1.0 - options.confidence) / tests.max(1) as f64;
    let label = |side: &[Loaded]| side.iter().map(|run| run.label.as_str()).collect::<Vec<_>>().join(",");
    let pairs = others
        .iter()
        .zip(&mut drafts)
        .enumerate()
        .map(|(at, (other, draft))| Pair {
            a: label(first),
            b: label(other),
            rows: draft.rows.drain(..).map(|row| row.finish(alpha, options)).collect(),
            warnings: said(0).chain(said(at + 1)).chain(draft.warnings.drain(..)).collect(),
            unmatched: std::mem::take(&mut draft.unmatched),
        })
        .collect();
    let Options { confidence, least, effect, .. } = *options;
    let faults = faults::beside(sides);
    let values = values::values(sides);
    let mut made =
        Comparison { confidence, tests, least, effect, pairs, untested: Vec::new(), faults, values };
    if !options.allow_untested {
        made.mark_untested(&options.fail_on);
    }
    made
}

/// Runs on each side that a comparison of so many rows needs.
#[must_use]
pub fn runs_needed(options: &Options, tests: usize) -> usize {
    #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
    let alpha = (1.0 - options.confidence) / tests.max(1) as f64;
    rank::runs_needed(alpha)
}

#[cfg(test)]
mod tests;
