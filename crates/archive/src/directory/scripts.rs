//! What trigger scripts printed: `scripts.log`, whole whenever one has ended.

use crate::ArchiveError;
use crate::directory::files::write_whole;
use crate::directory::run_dir::{RunDir, ScriptLevel, no_stage, push_text, separator};

/// Output of one trigger script that is kept; the rest is cut.
const MOST_SCRIPT_BYTES: usize = 1 << 20;

impl RunDir {
    /// Keeps what a trigger script printed, at most 1 MiB per level.
    ///
    /// # Errors
    /// When there is no such stage, or the file cannot be written.
    pub fn script_output(&mut self, level: ScriptLevel, text: &str) -> Result<(), ArchiveError> {
        let at = match level {
            ScriptLevel::Workload => 0,
            ScriptLevel::Stage(stage) => stage + 1,
        };
        let stored = self.scripts.get_mut(at).ok_or_else(|| no_stage(at.saturating_sub(1)))?;
        if stored.len() < MOST_SCRIPT_BYTES {
            let room = MOST_SCRIPT_BYTES - stored.len();
            let end = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            push_text(stored, text.get(..end).unwrap_or_default());
            if end < text.len() {
                stored.push_str("[the rest was cut]\n");
            }
        }
        self.write_scripts()
    }

    pub(super) fn write_scripts(&self) -> Result<(), ArchiveError> {
        let mut text = separator("workload level");
        let mut outputs = self.scripts.iter();
        text.push_str(outputs.next().map_or("", String::as_str));
        for (layout, output) in self.layout.iter().zip(outputs) {
            text.push_str(&separator(&format!("stage: {}", layout.id)));
            text.push_str(output);
        }
        write_whole(&self.path.join("scripts.log"), false, |out| out.write_all(text.as_bytes()))
    }
}
