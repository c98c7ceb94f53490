//! `probes.csv`: every request of the probers beside the load.

use cosmark_metrics::{ProbeKind, ProbeOperation};

use crate::csv::line::push_line;
use crate::csv::table::{Fields, Table};
use crate::{ArchiveError, Run};

/// `probes.csv`. Times count from when the stage's load began, by the driver's clock; what was sent before has 0.
pub(crate) const PROBES: Table = Table {
    file: "probes.csv",
    columns: &[
        "stage",
        "driver",
        "key",
        "writer",
        "process",
        "op",
        "call_ns",
        "return_ns",
        "value",
        "done",
        "clock_error_ns",
    ],
    first: 11,
    figures: false,
};

/// A line of `probes.csv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeLine {
    /// Id of the stage.
    pub stage: String,
    /// Name of the driver that sent it.
    pub driver: String,
    /// What it was; times count from when the stage's load began.
    pub operation: ProbeOperation,
    /// By how much the driver's clock may be off against those of others, ns.
    pub clock_error_ns: u64,
}

impl ProbeLine {
    fn read(fields: &Fields<'_>) -> Result<Self, String> {
        let small = |at| {
            let count = fields.count(at)?;
            u32::try_from(count).map_err(|_| format!("{count} is too large"))
        };
        let op = fields.text(5);
        let kind =
            ProbeKind::named(&op).ok_or_else(|| "op: neither read, write, delete nor list".to_owned())?;
        Ok(Self {
            stage: fields.text(0),
            driver: fields.text(1),
            operation: ProbeOperation {
                key: small(2)?,
                process: small(4)?,
                kind,
                call_ns: fields.count(6)?,
                return_ns: fields.count(7)?,
                value: fields.count(8)?,
                is_done: fields.count(9)? != 0,
            },
            clock_error_ns: fields.count(10)?,
        })
    }
}

/// The lines of these requests; `origin_ns` is when the stage's load began on their clock.
pub(crate) fn probe_lines(
    (stage, driver): (&str, &str),
    (origin_ns, clock_error_ns): (u64, u64),
    operations: &[ProbeOperation],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(80 * operations.len());
    for one in operations {
        let ProbeOperation { key, process, kind, call_ns, return_ns, value, is_done } = *one;
        push_line(
            &mut out,
            [
                stage.to_owned(),
                driver.to_owned(),
                key.to_string(),
                one.writer().map(|writer| writer.to_string()).unwrap_or_default(),
                process.to_string(),
                kind.name().to_owned(),
                call_ns.saturating_sub(origin_ns).to_string(),
                return_ns.saturating_sub(origin_ns).to_string(),
                value.to_string(),
                u8::from(is_done).to_string(),
                clock_error_ns.to_string(),
            ],
        );
    }
    out
}

impl Run {
    /// Calls `each` with every line of `probes.csv`, in the order in which they were written; false when the run has none. Memory
    /// does not grow with the file.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn probes(&self, mut each: impl FnMut(ProbeLine)) -> Result<bool, ArchiveError> {
        PROBES.read(&self.path, |fields| {
            each(ProbeLine::read(fields)?);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_prober_did_comes_back_as_it_was_with_times_since_the_load_began() {
        let dir = tempfile::tempdir().unwrap();
        let written = ProbeOperation {
            key: ProbeOperation::shared_key(3, 1),
            process: 2,
            kind: ProbeKind::Delete,
            call_ns: 1_500,
            return_ns: 1_700,
            value: u64::MAX,
            is_done: false,
        };
        let mut text = PROBES.head();
        text.extend(probe_lines(("s1-main", "=d1"), (1_000, 7), &[written]));
        std::fs::write(dir.path().join(PROBES.file), text).unwrap();
        let mut found = Vec::new();
        let read = PROBES.read(dir.path(), |fields| {
            found.push(ProbeLine::read(fields)?);
            Ok(())
        });
        assert!(read.unwrap());
        let operation = ProbeOperation { call_ns: 500, return_ns: 700, ..written };
        let line =
            ProbeLine { stage: "s1-main".to_owned(), driver: "=d1".to_owned(), operation, clock_error_ns: 7 };
        assert_eq!(found, [line]);
    }
}
