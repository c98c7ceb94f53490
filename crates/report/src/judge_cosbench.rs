//! placeholder
use cosmark_archive::Verdict;
use cosmark_archive::cosbench::CosbenchRun;
/// x
#[must_use]
pub fn judge_cosbench(_run: &CosbenchRun) -> Verdict {
    Verdict::default()
}
