//! How long a history of so many operations takes, and how much memory: `cargo run --release -p cosmark-history --example
//! ten_million -- 10000000 1000` (operations, keys). The second half of the table has one stale read in a million.
#![allow(clippy::print_stdout, reason = "an example that talks")]

use std::time::Instant;

use cosmark_history::{Kind, Operation, Outcome, Rules, Wrong, check};

fn main() {
    let number = |at: usize, default: u64| {
        std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (operations, keys) = (number(1, 1_000_000), number(2, 1000).max(1));
    let mut history = Vec::with_capacity(usize::try_from(operations).unwrap_or(0));
    let mut planted = 0;
    for at in 0..operations {
        let key = u32::try_from(at % keys).unwrap_or(0);
        let round = at / keys;
        let call_ns = 1000 * at;
        let is_write = round.is_multiple_of(4);
        let newest = round / 4 + 1;
        // Reads overlap the next write; one in a million shows the version before, long after.
        let is_old = !is_write && newest > 1 && at % 1_000_000 == 999_999;
        planted += u64::from(is_old);
        history.push(Operation {
            call_ns,
            return_ns: call_ns + 500,
            value: newest - u64::from(is_old),
            key,
            process: u32::try_from(round % 4).unwrap_or(0),
            kind: if is_write { Kind::Write } else { Kind::Read },
            outcome: Outcome::Done,
        });
    }
    let began = Instant::now();
    let report = check(&history, Rules::default());
    let took = began.elapsed();
    let stale = report.as_ref().map_or(0, |report| report.counts.of(Wrong::Stale));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM unknown").trim();
    println!(
        "{operations} operations, {keys} keys: {took:.2?}, {stale} of {planted} planted stale reads told, {peak}"
    );
}
