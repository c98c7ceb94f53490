//! The timeline of a stage while it is written: `sN-NAME.csv`.

use std::io::Read;
use std::path::Path;

use crate::ArchiveError;
use crate::csv::cosbench as tables;
use crate::csv::layout::StageLayout;
use crate::directory::files::GrowingFile;
use crate::regular;

/// The file of one stage, and what is known of it.
#[derive(Default)]
pub struct Timeline {
    /// `None` until the stage begins, and as long as there is no room for it.
    pub file: Option<GrowingFile>,
    /// Rows that were added.
    pub rows: u64,
    /// Rows that came while there was no room to make the file.
    pub early: Vec<u8>,
}

impl Timeline {
    /// Of a run that is taken up.
    ///
    /// # Errors
    /// When the file cannot be read or opened.
    pub fn reopen(path: &Path, stage: &StageLayout) -> Result<Self, ArchiveError> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let head = if stage.works.is_empty() { Vec::new() } else { tables::timeline_head(stage) };
        let lines = read_lines(path)?;
        let file = GrowingFile::reopen(path, &head)?;
        Ok(Self { file: Some(file), rows: lines.saturating_sub(2), early: Vec::new() })
    }
}

/// Whole lines of a file.
fn read_lines(path: &Path) -> Result<u64, ArchiveError> {
    let mut lines = 0;
    let mut block = vec![0; 1 << 16];
    let mut file = regular::open(path).map_err(ArchiveError::io("read", path))?;
    loop {
        let read = file.read(&mut block).map_err(ArchiveError::io("read", path))?;
        if read == 0 {
            return Ok(lines);
        }
        lines += block.iter().take(read).filter(|byte| **byte == b'\n').count() as u64;
    }
}
