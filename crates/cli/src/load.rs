//! From a file on the command line to a workload that can be run.

use std::io::Read;
use std::path::{Path, PathBuf};

use cosmark_archive::known_datasets;
use cosmark_driver::{Catalog, Reading, apply_settings, read_target, read_workload};
use cosmark_workload::encoding::text_of;
use cosmark_workload::{Diagnostic, Environment, Format, Severity, Target, Workload};

use crate::address::is_address;
use crate::diagnose;
use crate::exit::Problem;
use crate::{host, nodes};

/// A workload, and the text it came from.
pub struct Loaded {
    /// What to do; secrets are still references.
    pub workload: Workload,
    /// As given.
    pub source: String,
    /// Without a directory.
    pub file_name: String,
    /// The one it lies in.
    pub directory: PathBuf,
    /// Its format.
    pub format: Format,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Where runs are archived when nobody says otherwise.
pub const ARCHIVE: &str = "archive";
/// Files beyond this are no workload.
const LARGEST: u64 = 64 << 20;

/// Reads a text file or, for `-`, standard input.
///
/// # Errors
/// What cannot be read, is too large or is no UTF-8.
pub fn read_text(path: &Path) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    let shown = path.display();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
    };
    read.map_err(|cause| {
        // It may have a secret in it, so it is not repeated.
        if is_address(&path.to_string_lossy()) {
            return Problem::usage(
                "this is an address, not a file: `cosmark quick URL` measures a store by its address; for a \
                 workload write it into a target file (`auth:` and `storage:`, docs/guide/targets.md)",
            );
        }
        Problem::usage(format!(
            "cannot read {shown}: {cause}; name a file that can be read, or - for standard input"
        ))
    })?;
    if is_packed(&bytes) {
        return Err(packed(path));
    }
    if bytes.len() as u64 > LARGEST {
        return Err(Problem::usage(format!("{shown} is larger than 64 MiB: that is no workload")));
    }
    text_of(bytes)
        .map_err(|line| Problem::usage(format!("{shown}, line {line}: not UTF-8; save the file in UTF-8")))
}

/// Whether this is the beginning of what gzip wrote (RFC 1952).
#[must_use]
pub fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// What to do with such a file.
#[must_use]
pub fn packed(path: &Path) -> Problem {
    let shown = path.display();
    Problem::usage(format!(
        "{shown} is packed by gzip: unpack it; a log can also be piped, `zcat FILE | cosmark convert - --from combined`"
    ))
}

/// Reads and checks a workload file; shows all mistakes. `catalog` says what there is, and whose code may be loaded to know it.
///
/// # Errors
/// When one of them is an error.
pub fn load(
    catalog: &Catalog,
    file: &Path,
    target: Option<&Path>,
    settings: &[String],
) -> Result<Loaded, Problem> {
    load_beside(catalog, file, target, settings, Path::new(ARCHIVE))
}

/// The same beside another archive, whose data sets may be named.
///
/// # Errors
/// When one of the mistakes is an error.
pub fn load_beside(
    catalog: &Catalog,
    file: &Path,
    target: Option<&Path>,
    settings: &[String],
    archive: &Path,
) -> Result<Loaded, Problem> {
    let source = read_text(file)?;
    let file_name = if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
    let base_name =
        file.file_name().map_or_else(|| "stdin".into(), |name| name.to_string_lossy().into_owned());
    let target = target.map(|path| load_target(catalog, path)).transpose()?;
    load_for(catalog, source, (&file_name, &base_name), target, settings, archive)
}

/// The same for a text that is at hand.
///
/// # Errors
/// When one of the mistakes is an error.
pub fn load_text(
    catalog: &Catalog,
    source: String,
    shown_name: &str,
    base_name: &str,
    target: Option<&Path>,
    settings: &[String],
) -> Result<Loaded, Problem> {
    let target = target.map(|path| load_target(catalog, path)).transpose()?;
    load_for(catalog, source, (shown_name, base_name), target, settings, Path::new(ARCHIVE))
}

/// The same for a target that is at hand.
///
/// # Errors
/// When one of the mistakes is an error.
pub fn load_for(
    catalog: &Catalog,
    source: String,
    (shown_name, base_name): (&str, &str),
    target: Option<Target>,
    settings: &[String],
    archive: &Path,
) -> Result<Loaded, Problem> {
    let Reading { workload, mistakes: diagnostics, format } =
        read_beside(catalog, &source, base_name, target.as_ref(), archive);
    diagnose::show(shown_name, &source, &diagnostics);
    let mut workload = workload.ok_or_else(|| refused(shown_name, &diagnostics))?;
    apply_settings(catalog, &mut workload, settings).map_err(Problem::usage)?;
    nodes::check(&workload)?;
    let directory = Path::new(shown_name).parent().unwrap_or(Path::new("")).to_owned();
    Ok(Loaded { workload, source, file_name: base_name.to_owned(), directory, format, diagnostics })
}

/// What a text says beside an archive, whose data sets may be named; no mistake is shown.
#[must_use]
pub fn read_beside(
    catalog: &Catalog,
    source: &str,
    base_name: &str,
    target: Option<&Target>,
    archive: &Path,
) -> Reading {
    let environment = Environment { datasets: known_datasets(archive), ..host::environment() };
    read_workload(catalog, &environment, source, base_name, target)
}

/// Reads a workload that was run before: its warnings were shown then, only what it cannot be read for is shown.
///
/// # Errors
/// When one of the mistakes is an error.
pub fn load_again(
    catalog: &Catalog,
    source: &str,
    shown_name: &str,
    base_name: &str,
    target: Option<&Target>,
) -> Result<Workload, Problem> {
    let mut reading = read_workload(catalog, &host::environment(), source, base_name, target);
    reading.mistakes.retain(|mistake| mistake.severity == Severity::Error);
    diagnose::show(shown_name, source, &reading.mistakes);
    reading.workload.ok_or_else(|| refused(shown_name, &reading.mistakes))
}

fn refused(shown_name: &str, diagnostics: &[Diagnostic]) -> Problem {
    Problem::usage(format!("{shown_name}: {}; nothing was sent", diagnose::count(diagnostics)))
}

/// Reads and checks a target file; shows all mistakes.
///
/// # Errors
/// When one of them is an error.
pub fn load_target(catalog: &Catalog, path: &Path) -> Result<Target, Problem> {
    let text = read_text(path)?;
    let shown = path.display().to_string();
    let (target, diagnostics) = read_target(catalog, &text);
    diagnose::show(&shown, &text, &diagnostics);
    target.ok_or_else(|| refused(&shown, &diagnostics))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_the_place_of_a_file_is_not_repeated() {
        for address in ["s3+http://k:hunter2@h", "k:hunter2@h:9000", "me@example.org:hunter2@h"] {
            let said = read_text(Path::new(address)).err().unwrap().to_string();
            assert!(said.contains("`cosmark quick URL`") && !said.contains("hunter2"), "{said}");
        }
        let said = read_text(Path::new("a@b.yaml")).err().unwrap().to_string();
        assert!(said.contains("cannot read a@b.yaml"), "{said}");
    }
}
