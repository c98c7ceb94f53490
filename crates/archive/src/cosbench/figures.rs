//! What a result table of COSBench says, as a result of ours. What it does not know is null, or 0 where ours are counts.

use cosmark_metrics::{Latencies, OperationResult};

use super::CosbenchOperation;

impl CosbenchOperation {
    /// Its figures; rates may be infinite, as COSBench writes them.
    #[must_use]
    pub fn result(&self) -> OperationResult {
        let times = |mean| Latencies { count: self.count, mean, ..Latencies::default() };
        OperationResult {
            name: self.label.clone(),
            op: self.op.clone(),
            workers: self.workers.and_then(|workers| u32::try_from(workers).ok()).unwrap_or(0),
            ok: self.count,
            bytes: self.bytes,
            throughput_per_s: self.throughput_per_s,
            bandwidth_bytes_per_s: self.bandwidth_bytes_per_s,
            success_ratio: self.success_ratio,
            response_ms: Latencies {
                p60: self.p60_ms,
                p80: self.p80_ms,
                p90: self.p90_ms,
                p95: self.p95_ms,
                p99: self.p99_ms,
                max: self.max_ms,
                ..times(self.response_ms)
            },
            first_byte_ms: times(self.processing_ms),
            ..OperationResult::default()
        }
    }
}

/// How many failed beside `count` successes.
pub fn failures(count: u64, success_ratio: Option<f64>) -> Option<u64> {
    let ratio = success_ratio.filter(|ratio| *ratio > 0.0 && *ratio <= 1.0)?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count that was rounded to a share of four digits"
    )]
    let failed = (count as f64 * (1.0 / ratio - 1.0)).round() as u64;
    Some(failed)
}
