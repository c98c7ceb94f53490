//! What probers beside the load did goes into the run's directory; the file is made by the first of it.

use cosmark_metrics::ProbeOperation;

use crate::ArchiveError;
use crate::csv::probes::{PROBES, probe_lines};
use crate::directory::files::GrowingFile;
use crate::directory::run_dir::{RunDir, no_stage};

impl RunDir {
    /// Adds what a driver's prober did to `probes.csv`: when the load of stage `stage` (0-based) began on the driver's clock, and by how
    /// much that may be off against others, both ns.
    ///
    /// # Errors
    /// When there is no such stage, or the file cannot be written.
    pub fn append_probes(
        &mut self,
        stage: usize,
        driver: &str,
        clock: (u64, u64),
        operations: &[ProbeOperation],
    ) -> Result<(), ArchiveError> {
        let layout = self.layout.get(stage).ok_or_else(|| no_stage(stage))?;
        let lines = probe_lines((&layout.id, driver), clock, operations);
        let file = match self.probes.take() {
            Some(file) => file,
            None => GrowingFile::reopen(&self.path.join(PROBES.file), &PROBES.head())?,
        };
        self.probes.insert(file).append(&lines)
    }
}
