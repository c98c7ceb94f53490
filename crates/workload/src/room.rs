//! How much text a workload may hold. Each work and each operation has its own copy of what the levels above it say, and a
//! stage that is repeated has them again: without a bound a small file could ask for all the memory there is.

use cosmark_units::Complaint;

use crate::diagnostics::{Mistakes, Span};
use crate::keys::operation::Setting;
use crate::model::{ConfigValue, TargetSpec, Work, Workload};

/// Most text of all works and operations together, in bytes, with [`EACH`] for every value.
pub const MOST_BYTES: usize = 256 << 20;
/// Most text that may be passed on from level to level while a file is read, whoever holds it in the end.
const MOST_PASSED: usize = 16 << 30;
/// What a value weighs beside its text.
const EACH: usize = 64;

/// What is left of the room while a file is read.
#[derive(Debug)]
pub(crate) struct Room {
    left: usize,
    passes_left: usize,
    is_full: bool,
}

impl Default for Room {
    fn default() -> Room {
        Room { left: MOST_BYTES, passes_left: MOST_PASSED, is_full: false }
    }
}

impl Room {
    /// True once something did not fit: the rest need not be read.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Bytes that are held.
    pub(crate) fn used(&self) -> usize {
        MOST_BYTES - self.left
    }

    /// Takes so many bytes to hold; the first time that they do not fit is a mistake.
    pub(crate) fn take(&mut self, bytes: usize, span: Span, mistakes: &mut Mistakes) -> bool {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(0);
        self.fits(left.is_some(), span, mistakes)
    }

    /// The same for bytes that a level has of the one above it.
    pub(crate) fn pass(&mut self, bytes: usize, span: Span, mistakes: &mut Mistakes) -> bool {
        let left = self.passes_left.checked_sub(bytes);
        self.passes_left = left.unwrap_or(0);
        self.fits(left.is_some(), span, mistakes)
    }

    fn fits(&mut self, fits: bool, span: Span, mistakes: &mut Mistakes) -> bool {
        if !fits && !self.is_full {
            mistakes.error(span, "too much text, what is inherited included", hint());
        }
        self.is_full |= !fits;
        !self.is_full
    }
}

pub(crate) fn hint() -> String {
    format!("works and operations hold at most {} MiB of keys and values together", MOST_BYTES >> 20)
}

/// What an auth or a storage weighs.
pub(crate) fn of_target(spec: &TargetSpec) -> usize {
    let values = spec.config.entries.iter().map(|entry| match &entry.value {
        ConfigValue::Text(text)
        | ConfigValue::Env(text)
        | ConfigValue::File(text)
        | ConfigValue::Secret(text) => EACH + entry.key.len() + text.len(),
    });
    EACH + spec.kind.len() + values.sum::<usize>()
}

/// What the keys of an operation weigh: it has them as values and as the text of its config.
pub(crate) fn of_settings<'s>(settings: impl IntoIterator<Item = &'s Setting>) -> usize {
    settings.into_iter().map(|setting| EACH + 2 * setting.value.len()).sum()
}

fn of_work(work: &Work) -> usize {
    let operations = work.operations.iter().map(|operation| EACH + 2 * operation.config_text.len());
    of_target(&work.auth) + of_target(&work.storage) + operations.sum::<usize>()
}

/// Whether each work of a workload may get so many bytes more, and each operation so many.
///
/// # Errors
/// What is wrong and what may be.
pub(crate) fn has_room(workload: &Workload, of_works: usize, of_operations: usize) -> Result<(), Complaint> {
    let works = || workload.stages.iter().flat_map(|stage| &stage.works);
    let held: usize = works().map(of_work).sum();
    let operations: usize = works().map(|work| work.operations.len()).sum();
    let more = works().count().saturating_mul(of_works);
    let more = more.saturating_add(operations.saturating_mul(of_operations));
    if held.saturating_add(more) <= MOST_BYTES {
        return Ok(());
    }
    Err(("too much text for so many works".to_owned(), hint()))
}
