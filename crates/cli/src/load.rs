//! From a file on the command line to a workload that can be run.

use std::io::Read;
use std::path::Path;

use cosmark_adaptor_api::{Key, Settings};
use cosmark_workload::check::check;
use cosmark_workload::diagnostic::{Span, sort};
use cosmark_workload::model::{ConfigValue, TargetSpec};
use cosmark_workload::{
    Diagnostic, Format, NO_STORAGE, Severity, Target, Workload, apply_setting, apply_target, parse_target,
    parse_what_is_there,
};

use crate::diagnose;
use crate::exit::Problem;
use crate::host;
use crate::registry::CATALOG;

/// A workload, and the text it came from.
pub struct Loaded {
    /// What to do; secrets are still references.
    pub workload: Workload,
    /// As given.
    pub source: String,
    /// Without a directory.
    pub file_name: String,
    /// Its format.
    pub format: Format,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

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
    read.map_err(|cause| Problem::usage(format!("cannot read {shown}: {cause}")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(Problem::usage(format!("{shown} is larger than 64 MiB: that is no workload")));
    }
    String::from_utf8(bytes).map_err(|bad| {
        let line =
            bad.as_bytes()[..bad.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count()
                + 1;
        Problem::usage(format!("{shown}, line {line}: not UTF-8; save the file in UTF-8"))
    })
}

/// Reads and checks a workload file; shows all mistakes.
///
/// # Errors
/// When one of them is an error.
pub fn load(file: &Path, target: Option<&Path>, settings: &[String]) -> Result<Loaded, Problem> {
    let source = read_text(file)?;
    let file_name = if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
    let base_name =
        file.file_name().map_or_else(|| "stdin".into(), |name| name.to_string_lossy().into_owned());
    load_text(source, &file_name, &base_name, target, settings)
}

/// The same for a text that is at hand.
///
/// # Errors
/// When one of the mistakes is an error.
pub fn load_text(
    source: String,
    shown_name: &str,
    base_name: &str,
    target: Option<&Path>,
    settings: &[String],
) -> Result<Loaded, Problem> {
    let target = target.map(load_target).transpose()?;
    load_for(source, shown_name, base_name, target, settings)
}

/// The same for a target that is at hand.
///
/// # Errors
/// When one of the mistakes is an error.
pub fn load_for(
    source: String,
    shown_name: &str,
    base_name: &str,
    target: Option<Target>,
    settings: &[String],
) -> Result<Loaded, Problem> {
    let format = Format::detect(base_name, &source);
    let (workload, mut diagnostics) = parse_what_is_there(&source, format, &host::environment());
    if target.as_ref().is_some_and(|target| target.storage.is_some()) {
        // The target is the answer to this one.
        diagnostics.retain(|one| one.message != NO_STORAGE);
    }
    if let Some(workload) = &workload
        && target.is_none()
    {
        diagnostics.extend(check_targets(workload, format));
        sort(&mut diagnostics);
    }
    diagnose::show(shown_name, &source, &diagnostics);
    let refused = diagnostics.iter().any(|one| one.severity == Severity::Error);
    let Some(mut workload) = workload.filter(|_| !refused) else {
        let count = diagnose::count(&diagnostics);
        return Err(Problem::usage(format!("{shown_name}: {count}; nothing was sent")));
    };
    if let Some(target) = target {
        apply_target(&mut workload, &target);
    }
    for setting in settings {
        apply_setting(&mut workload, setting)
            .map_err(|text| Problem::usage(format!("--set {setting}: {text}")))?;
    }
    if !settings.is_empty() {
        let mistakes = check(&workload);
        if let Some(mistake) = mistakes.iter().find(|one| one.severity == Severity::Error) {
            return Err(Problem::usage(format!(
                "after --set {}: {}",
                settings.join(" --set "),
                mistake.message
            )));
        }
    }
    Ok(Loaded { workload, source, file_name: base_name.to_owned(), format, diagnostics })
}

fn load_target(path: &Path) -> Result<Target, Problem> {
    let text = read_text(path)?;
    let shown = path.display().to_string();
    let (target, mut diagnostics) = parse_target(&text);
    if let Some(target) = &target {
        for (what, spec) in [("auth", &target.auth), ("storage", &target.storage)] {
            diagnostics.extend(spec.iter().flat_map(|spec| check_spec(what, spec, Format::Yaml)));
        }
        sort(&mut diagnostics);
    }
    diagnose::show(&shown, &text, &diagnostics);
    let refused = diagnostics.iter().any(|one| one.severity == Severity::Error);
    target.filter(|_| !refused).ok_or_else(|| {
        Problem::usage(format!("{shown}: {}; nothing was sent", diagnose::count(&diagnostics)))
    })
}

/// Mistakes in the types and keys of auths and storages.
fn check_targets(workload: &Workload, format: Format) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let works = workload.stages.iter().flat_map(|stage| &stage.works);
    for (what, spec) in works.flat_map(|work| [("auth", &work.auth), ("storage", &work.storage)]) {
        for found in check_spec(what, spec, format) {
            // Inherited elements are seen once for every work.
            let same = |one: &Diagnostic| {
                one.message == found.message
                    && one.span.start == found.span.start
                    && one.span.len == found.span.len
            };
            if !diagnostics.iter().any(same) {
                diagnostics.push(found);
            }
        }
    }
    diagnostics
}

/// Unknown keys are warnings in XML, as in COSBench, and errors in YAML.
fn check_spec(what: &str, spec: &TargetSpec, format: Format) -> Vec<Diagnostic> {
    let given: Vec<_> = spec
        .config
        .entries
        .iter()
        .filter_map(|entry| match &entry.value {
            ConfigValue::Text(text) => Some((entry, text.as_str())),
            ConfigValue::Env(_) | ConfigValue::File(_) => None,
        })
        .collect();
    let keys: &'static [Key] = match what {
        "auth" => match CATALOG.auth(&spec.kind) {
            Ok(found) => found.def.keys,
            Err(text) => return vec![type_error(spec.span, text)],
        },
        _ => match CATALOG.storage(&spec.kind, given.iter().map(|(entry, text)| (entry.key.as_str(), *text)))
        {
            Ok(found) => found.def.keys,
            Err(text) => return vec![type_error(spec.span, text)],
        },
    };
    let (_, problems) = Settings::parse(keys, given.iter().map(|(entry, text)| (entry.key.as_str(), *text)));
    problems
        .into_iter()
        .map(|problem| {
            let span = given.get(problem.entry).map_or(spec.span, |(entry, _)| entry.span);
            let message = format!("{what} {}: {}", spec.kind, problem.message);
            let hint =
                problem.hint.or_else(|| Some(format!("`cosmark adaptors {}` lists its keys", spec.kind)));
            let severity =
                if problem.fatal || format == Format::Yaml { Severity::Error } else { Severity::Warning };
            Diagnostic { severity, span, message, hint }
        })
        .collect()
}

fn type_error(span: Span, text: String) -> Diagnostic {
    Diagnostic::error(span, text).with_hint("`cosmark adaptors` lists what this build speaks")
}
