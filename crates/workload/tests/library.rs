//! The shipped workloads and pages: every workload is read without an error and cleans up after itself, and the pages are what
//! the tables say (`UPDATE_DOCS=1` writes them again).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

// The same filling of lines as for all documents.
#[path = "../../cli/tests/docs/wrap.rs"]
mod wrap;

use std::fs;
use std::path::{Path, PathBuf};

use cosmark_workload::model::{OpKind, WorkKind};
use cosmark_workload::{Environment, Format, NO_STORAGE, Severity, parse, reference_markdown};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn library() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for directory in ["workloads", "workloads/cosbench"] {
        for entry in fs::read_dir(root().join(directory)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "xml" || e == "yaml") {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path, text));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn every_shipped_workload_is_read_without_an_error_or_an_unexpected_warning() {
    let files = library();
    assert!(files.len() >= 13, "{}", files.len());
    for (path, text) in files {
        let format = Format::detect(&path.to_string_lossy(), &text);
        let (workload, diagnostics) = parse(&text, format, &Environment::default());
        let unexpected: Vec<_> = diagnostics.iter().filter(|d| d.message != NO_STORAGE).collect();
        assert!(unexpected.is_empty(), "{path:?}: {unexpected:#?}");
        assert!(diagnostics.iter().all(|d| d.severity == Severity::Warning));
        let workload = workload.unwrap();
        for stage in &workload.stages {
            let good = |c: char| c.is_ascii_alphanumeric() || "_.-()".contains(c);
            assert!(stage.name.chars().all(good), "{path:?}: {}", stage.name);
        }
    }
}

#[test]
fn every_shipped_workload_says_what_it_answers_and_how_long_it_takes() {
    for (path, text) in library() {
        let head: String = text.lines().take(14).collect::<Vec<_>>().join("\n");
        for word in ["Question:", "Time:", "Data:"] {
            assert!(head.contains(word), "{path:?} has no `{word}` in its first lines");
        }
    }
}

#[test]
fn every_shipped_workload_leaves_nothing_behind() {
    for (path, text) in library() {
        let format = Format::detect(&path.to_string_lossy(), &text);
        let workload = parse(&text, format, &Environment::default()).0.unwrap();
        let operations = || {
            workload
                .stages
                .iter()
                .flat_map(|s| &s.works)
                .flat_map(|w| w.operations.iter().map(move |o| (w.kind, o)))
        };
        let made = operations()
            .filter(|(_, o)| matches!(o.kind, OpKind::Write | OpKind::Prepare | OpKind::MultipartWrite));
        for (_, o) in made {
            let (c, k) = (o.containers.as_ref().unwrap().bounds(), o.objects.as_ref().unwrap().bounds());
            let cleaned = operations().filter(|(kind, _)| *kind == WorkKind::Cleanup).any(|(_, d)| {
                let (dc, dk) =
                    (d.containers.as_ref().unwrap().bounds(), d.objects.as_ref().unwrap().bounds());
                (&d.container_prefix, &d.object_prefix) == (&o.container_prefix, &o.object_prefix)
                    && dc.0 <= c.0
                    && c.1 <= dc.1
                    && dk.0 <= k.0
                    && k.1 <= dk.1
            });
            assert!(cleaned, "{path:?}: {} {} is never cleaned up", o.id, o.config_text);
        }
    }
}

#[test]
fn the_reference_pages_are_what_the_tables_say() {
    for (file, format) in [("workload-xml.md", Format::Xml), ("workload-yaml.md", Format::Yaml)] {
        let path = root().join("docs/reference").join(file);
        let page = wrap::wrap(&reference_markdown(format));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &page).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == page, "{path:?} is out of date: run this test with UPDATE_DOCS=1");
        let fence = if format == Format::Xml { "```xml\n" } else { "```yaml\n" };
        let example = page.split(fence).nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let (workload, diagnostics) = parse(example, format, &Environment::default());
        assert!(workload.is_some() && diagnostics.is_empty(), "{file}: {diagnostics:#?}");
    }
}
