//! Which difference so many repetitions find: the table of `docs/guide/comparing-runs.md`, simulated with the code that
//! decides a comparison (`rank::mann_whitney`), and held to it. The failure prints what has to stand there.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::path::Path;

use cosmark_stats::difference::POWER;
use cosmark_stats::rank::mann_whitney;

/// Rows of a comparison of one kind of operation: throughput, mean, p50, p95, p99, errors. They are one family.
const ROWS: f64 = 6.0;
/// What a comparison calls no difference, `--least`.
const LEAST: f64 = 0.01;
const REPETITIONS: [usize; 6] = [5, 6, 8, 10, 15, 20];
/// By how much equal runs differ: standard deviation as a share of the mean.
const SPREADS: [f64; 5] = [0.01, 0.02, 0.05, 0.10, 0.20];
const TRIALS: usize = 1000;

/// Numbers of Steele's SplitMix64 (OOPSLA 2014), made normal after Box and Muller (1958).
struct Draw(u64);

impl Draw {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        f64::from(u32::try_from((z ^ (z >> 31)) >> 32).unwrap()) / f64::from(u32::MAX)
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().max(1e-12).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn runs(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }
}

/// Ends of the interval of the shift between two sides that do not differ, in standard deviations of a run, for each trial.
fn intervals(runs: usize) -> Vec<(f64, f64)> {
    let mut draw = Draw(runs as u64);
    let trial = |_| {
        let found = mann_whitney(&draw.runs(runs), &draw.runs(runs), 0.05 / ROWS).unwrap();
        (found.low.unwrap(), found.high.unwrap())
    };
    (0..TRIALS).map(trial).collect()
}

/// A difference moves both ends by its logarithm, and is found where the lower end is beyond what is none: the least that is
/// found in nine of ten trials.
fn found_in_nine_of_ten(intervals: &[(f64, f64)], spread: f64) -> f64 {
    let mut needed: Vec<f64> = intervals.iter().map(|(low, _)| LEAST.ln_1p() - spread * low).collect();
    needed.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place"
    )]
    let at = (POWER * needed.len() as f64) as usize;
    needed[at].exp_m1()
}

fn row(name: &str, cells: impl Iterator<Item = String>) -> String {
    format!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "))
}

#[test]
fn the_guide_says_which_difference_so_many_repetitions_find_and_equal_sides_do_not_differ() {
    let all: Vec<_> = REPETITIONS.iter().map(|runs| intervals(*runs)).collect();
    for (runs, own) in REPETITIONS.iter().zip(&all) {
        // Without `--least` even, by which still fewer do.
        let wrong = own.iter().filter(|(low, high)| *low > 0.0 || *high < 0.0).count();
        // 0.83 % of 1000 are 8.3; more than 21 have a chance below 1 in 10 000.
        assert!(wrong <= 21, "{wrong} of {TRIALS} with {runs} runs a side");
    }
    let mut table =
        vec![row("equal runs differ by", REPETITIONS.iter().map(|runs| format!("{runs} runs a side")))];
    table.push(format!("|{}", "---|".repeat(REPETITIONS.len() + 1)));
    for spread in SPREADS {
        let cells = all.iter().map(|own| format!("{:.1} %", 100.0 * found_in_nine_of_ten(own, spread)));
        table.push(row(&format!("{:.0} %", 100.0 * spread), cells));
    }
    let table = table.join("\n");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/comparing-runs.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(&table), "docs/guide/comparing-runs.md has another table than\n{table}");
}
