//! Room that is kept for the end of a run: what it came to must find a place on a disk that others fill.

use std::path::Path;

use crate::directory::files::write_whole;
use crate::{ArchiveError, StageLayout};

const RESERVE: &str = ".reserve";
/// As much as `run.json` may need when all is known: of an operation its figures and their bounds, of a stage its checks and
/// how the clients were doing.
const RESERVED_BYTES: usize = 16 << 10;
const RESERVED_PER_OPERATION: usize = 20 << 10;
const RESERVED_PER_STAGE: usize = 12 << 10;

/// Keeps it, with so many bytes more for each stage.
pub fn keep(dir: &Path, layout: &[StageLayout], per_stage: usize) -> Result<(), ArchiveError> {
    let operations: usize = layout.iter().map(|stage| stage.operations().count()).sum();
    let stages = layout.len() * (RESERVED_PER_STAGE + per_stage);
    // The machines before the first stage are a stage of their own.
    let bytes = RESERVED_BYTES + operations * RESERVED_PER_OPERATION + stages + per_stage;
    write_whole(&dir.join(RESERVE), false, |out| {
        let zeros = [0; 4096];
        (0..bytes.div_ceil(zeros.len())).try_for_each(|_| out.write_all(&zeros))
    })
}

/// Gives it up; one that is not there gives no room.
pub fn release(dir: &Path) {
    drop(std::fs::remove_file(dir.join(RESERVE)));
}

/// It is still there.
pub fn is_kept(dir: &Path) -> bool {
    dir.join(RESERVE).exists()
}
