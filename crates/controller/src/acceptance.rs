//! Whether a stage is accepted: its failure ratio, and operations that never succeeded.

use cosmark_metrics::OpSnapshot;
use cosmark_workload::model::Stage;

/// Why a stage failed; `None` = it did not. COSBench's rules: a work may have `floor(total * afr)` failures, and an
/// operation with samples needs one success.
pub fn failed(stage: &Stage, windows: &[Vec<OpSnapshot>]) -> Option<String> {
    for (work, ops) in stage.works.iter().zip(windows) {
        let total: u64 = ops.iter().map(OpSnapshot::total).sum();
        let failures: u64 = ops.iter().map(|op| op.failed).sum();
        let accepted = u128::from(total) * u128::from(work.afr_per_million) / 1_000_000;
        if u128::from(failures) > accepted {
            let most = most_frequent(ops).map(|label| format!(", most of them {label}")).unwrap_or_default();
            return Some(format!(
                "work {}: {failures} of {total} operations failed{most}; its acceptable failure ratio allows {accepted}",
                work.name
            ));
        }
        for (operation, op) in work.operations.iter().zip(ops) {
            if op.failed > 0 && op.ok == 0 {
                return Some(format!(
                    "work {}: all {} operations of {} failed{}",
                    work.name,
                    op.failed,
                    operation.name,
                    most_frequent(std::slice::from_ref(op))
                        .map(|label| format!(" ({label})"))
                        .unwrap_or_default()
                ));
            }
        }
    }
    None
}

fn most_frequent(ops: &[OpSnapshot]) -> Option<String> {
    let mut sum = OpSnapshot::default();
    ops.iter().for_each(|op| sum.merge(op));
    let code = sum.codes.iter().max_by_key(|(_, count)| **count).map(|(code, _)| format!(" {code}"));
    let worst = sum.errors.iter().max_by_key(|(_, count)| **count)?;
    Some(format!("{}{}", worst.0.label(), code.unwrap_or_default()))
}
