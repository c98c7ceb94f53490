//! The shipped workloads and pages: every workload is read without an error and cleans up after itself, and the pages are what
//! the tables say (`UPDATE_DOCS=1` writes them again).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

// The same filling of lines as for all documents.
#[path = "../../cli/tests/docs/wrap.rs"]
mod wrap;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cosmark_metrics::results::METRICS;
use cosmark_workload::diagnostics::Span;
use cosmark_workload::model::{OpKind, WorkKind};
use cosmark_workload::threshold::Threshold;
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

/// The rows of the table whose head begins so.
fn rows_below<'a>(page: &'a str, head: &str) -> Vec<Vec<&'a str>> {
    let lines = page.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

#[test]
fn the_table_of_thresholds_has_every_figure_that_one_may_name() {
    let page = reference_markdown(Format::Yaml);
    let rows = rows_below(&page, "| metric | is | limit |");
    let names: Vec<&str> =
        rows.iter().flat_map(|row| row[0].split(' ')).map(|name| name.trim_matches('`')).collect();
    let shown: BTreeSet<&str> = names
        .iter()
        .map(|name| {
            let read = ["<= 20 ms", "<= 0.1 %", ">= 10/s", ">= 1 MB/s"]
                .iter()
                .find_map(|limit| Threshold::parse(&format!("{name} {limit}")).ok());
            read.unwrap_or_else(|| panic!("{name} is no figure")).metric.names.threshold
        })
        .collect();
    let known: BTreeSet<&str> = METRICS.iter().map(|metric| metric.names.threshold).collect();
    let known: BTreeSet<&str> = known.into_iter().filter(|name| !name.is_empty()).collect();
    assert_eq!((shown.len(), &shown), (names.len(), &known));
    assert!(known.len() > 15 && known.contains("client_added_p99"), "{known:?}");
}

#[test]
fn defaults_of_the_page_of_xml_are_what_xml_reads_as_them() {
    let page = reference_markdown(Format::Xml);
    let work = |attribute: &str| {
        let source = format!(
            "<workload name=\"w\"><storage type=\"mock\"/><workflow><workstage name=\"s\"><work name=\"m\" workers=\"1\" \
             totalOps=\"9\" {attribute}><operation type=\"read\" config=\"containers=c(1);objects=c(1)\"/></work></workstage>\
             </workflow></workload>"
        );
        let (workload, mistakes) = parse(&source, Format::Xml, &Environment::default());
        assert!(mistakes.is_empty(), "{attribute}: {mistakes:#?}");
        let mut work = workload.unwrap().stages.remove(0).works.remove(0);
        // What stands behind the attribute moves.
        (work.span, work.operations) = (Span::default(), Vec::new());
        work
    };
    let table = page.split("## `<work>`").nth(1).unwrap();
    let rows = rows_below(table, "| attribute |");
    let mut tried = 0;
    for row in rows {
        let (name, default) = (row[0].trim_matches('`'), row[2].split([' ', ',']).next().unwrap());
        if ["interval", "division", "rampup", "rampdown", "runtime", "afr", "totalBytes"].contains(&name) {
            assert_eq!(work(&format!("{name}=\"{default}\"")), work(""), "{name} {default}");
            tried += 1;
        }
    }
    assert_eq!(tried, 7);
}
