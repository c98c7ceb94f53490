//! Every file in `tests/data` against its `.expect` file: all diagnostics as `line:column severity message | hint`, then, for a
//! workload without errors, a short picture of what was understood. `UPDATE_EXPECT=1` writes the files again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cosmark_workload::diagnostics::LineIndex;
use cosmark_workload::model::Workload;
use cosmark_workload::{
    DataSetFacts, Diagnostic, Environment, Format, Severity, parse, parse_what_is_there, read_unchecked,
};

fn data() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|p| p.extension().is_some_and(|e| e == "xml" || e == "yaml")).collect();
    files.sort();
    files
}

fn environment() -> Environment {
    Environment { system: [("user.name".to_owned(), "tester".to_owned())].into(), ..Environment::default() }
}

fn rendered(source: &str, diagnostics: &[Diagnostic]) -> String {
    let index = LineIndex::new(source);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let place = index.position(diagnostic.span.start);
        let severity = if diagnostic.severity == Severity::Error { "error" } else { "warning" };
        let _ = write!(out, "{}:{} {severity} {}", place.line, place.column, diagnostic.message);
        let _ = writeln!(
            out,
            "{}",
            diagnostic.hint.as_ref().map(|hint| format!(" | {hint}")).unwrap_or_default()
        );
    }
    out
}

/// What the model holds, one line per stage, work and operation.
fn picture(workload: &Workload) -> String {
    let mut out =
        format!("workload {} seed {:?} trigger {:?}\n", workload.name, workload.seed, workload.trigger);
    for (index, stage) in workload.stages.iter().enumerate() {
        let _ = writeln!(
            out,
            "stage {} then {:?} trigger {:?}",
            stage.id(index),
            stage.closure_delay,
            stage.trigger
        );
        for work in &stage.works {
            let _ = writeln!(
                out,
                "  work {} {:?} workers {} every {:?} {:?} time {:?}+{:?}+{:?} ops {:?} bytes {:?} afr {} driver {:?} {:?} \
                 histogram {}",
                work.name,
                work.kind,
                work.workers,
                work.interval,
                work.division,
                work.rampup,
                work.runtime,
                work.rampdown,
                work.total_ops,
                work.total_bytes,
                work.afr_per_million,
                work.driver,
                work.load,
                work.histogram,
            );
            for (which, target) in [("auth", &work.auth), ("storage", &work.storage)] {
                let entries = target
                    .config
                    .entries
                    .iter()
                    .map(|e| format!(" {}={:?}", e.key, e.value))
                    .collect::<String>();
                let _ = writeln!(out, "    {which} {}{entries}", target.kind);
            }
            for o in &work.operations {
                let _ = writeln!(
                    out,
                    "    {} {} {:?} weight {} {:?} names {}*{}/{}*{} [{}]",
                    o.id,
                    o.name,
                    o.kind,
                    o.weight,
                    o.division,
                    o.container_prefix,
                    o.container_suffix,
                    o.object_prefix,
                    o.object_suffix,
                    o.config_text,
                );
            }
        }
    }
    out
}

#[test]
fn what_is_read_unchecked_is_what_the_checks_look_at() {
    let mut read = 0;
    for path in data() {
        let source = fs::read_to_string(&path).unwrap();
        let format = Format::detect(&path.to_string_lossy(), &source);
        let (checked, _) = parse_what_is_there(&source, format, &environment());
        let unchecked = read_unchecked(&source, format, &environment());
        read += usize::from(unchecked.is_some());
        assert_eq!(format!("{unchecked:?}"), format!("{checked:?}"), "{}", path.display());
    }
    assert!(read > 10, "{read}");
}

#[test]
fn every_data_file_gives_the_expected_diagnostics_and_picture() {
    let mut wrong = Vec::new();
    for path in data() {
        let source = fs::read_to_string(&path).unwrap();
        let format = Format::detect(&path.to_string_lossy(), &source);
        let (workload, diagnostics) = parse(&source, format, &environment());
        let mut actual = rendered(&source, &diagnostics);
        assert_eq!(
            workload.is_some(),
            diagnostics.iter().all(|d| d.severity == Severity::Warning),
            "{path:?}"
        );
        if let Some(workload) = &workload {
            actual.push_str(&picture(workload));
        }
        let expect = path.with_extension(format!("{}.expect", path.extension().unwrap().to_string_lossy()));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&expect, &actual).unwrap();
        } else if fs::read_to_string(&expect).unwrap_or_default() != actual {
            wrong.push(format!("{}:\n{actual}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "UPDATE_EXPECT=1 accepts these:\n{}", wrong.join("\n"));
}

#[test]
fn every_diagnostic_lies_inside_its_source_and_says_what_to_do() {
    for path in data() {
        let source = fs::read_to_string(&path).unwrap();
        let (_, diagnostics) =
            parse(&source, Format::detect(&path.to_string_lossy(), &source), &environment());
        for d in diagnostics {
            assert!(d.span.end() <= source.len(), "{path:?}: {d:?}");
            assert!(source.get(d.span.start..d.span.end()).is_some(), "{path:?}: {d:?}");
            assert!(d.hint.as_ref().is_some_and(|hint| !hint.is_empty()), "{path:?}: {d:?}");
            assert!(!d.message.ends_with('.') && !d.message.contains('\n'), "{path:?}: {d:?}");
        }
    }
}

#[test]
fn a_name_that_files_cannot_have_is_shown_where_it_stands() {
    let yaml = "# first\nseed: 1\nname: reads/writes\nstages:\n  - name: main\n    works:\n      - {type: init, workers: 1, \
                containers: 'r(1,2)'}\n";
    let xml = "<!-- first -->\n<workload\n  name=\"reads/writes\">\n<workflow><workstage name=\"main\"><work type=\"init\" \
               workers=\"1\" config=\"containers=r(1,2)\"/></workstage></workflow></workload>";
    for (source, format) in [(yaml, Format::Yaml), (xml, Format::Xml)] {
        let (_, diagnostics) = parse(source, format, &environment());
        let about: Vec<_> =
            diagnostics.iter().filter(|d| d.message.contains("changed in file names")).collect();
        assert_eq!(about.len(), 1, "{diagnostics:?}");
        let span = about[0].span;
        assert_eq!(LineIndex::new(source).position(span.start).line, 3, "{about:?}");
        let shown = source.get(span.start..span.end()).unwrap();
        assert!(shown.contains("reads/writes") && !shown.contains('\n'), "{shown}");
        for fine in ["reads and writes", "reads, writes; a=b"] {
            let (_, diagnostics) = parse(&source.replace("reads/writes", fine), format, &environment());
            assert!(diagnostics.iter().all(|d| !d.message.contains("file names")), "{diagnostics:?}");
        }
    }
}

/// A work of four workers with this attribute and one read of these objects.
fn four_workers(attribute: &str, operation: &str) -> String {
    format!(
        "<workload name=\"w\"><storage type=\"mock\"/><workflow><workstage name=\"s\"><work name=\"w\" workers=\"4\" \
         runtime=\"5\" {attribute}><operation type=\"read\" {operation}/></work></workstage></workflow></workload>"
    )
}

#[test]
fn ratios_of_which_each_is_0_sum_to_0() {
    let source = four_workers("", "ratio=\"0\" config=\"containers=c(1);objects=u(1,3)\"");
    let (_, found) = parse(&source, Format::Xml, &environment());
    assert!(found.iter().any(|d| d.message == "op ratio should sum to 100, not 0"), "{found:?}");
}

#[test]
fn fewer_numbers_in_order_than_workers_are_enough_whatever_the_division() {
    let found = |objects: &str| {
        let config = format!("config=\"containers=c(1);objects={objects}\"");
        parse(&four_workers("division=\"object\"", &config), Format::Xml, &environment()).1
    };
    let is_refused = |objects: &str| found(objects).iter().any(|d| d.message.contains("has no number"));
    assert!(!is_refused("s(1,3)"), "{:?}", found("s(1,3)"));
    assert!(is_refused("r(1,3)") && is_refused("u(1,3)"), "{:?}", found("r(1,3)"));
}

#[test]
fn the_format_is_told_by_the_text_and_then_by_the_name() {
    for (name, text, format) in [
        ("a.xml", "<workload/>", Format::Xml),
        ("-", "\u{feff}\n  <workload/>", Format::Xml),
        ("a.yaml", "<workload/>", Format::Xml),
        ("a.XML", "garbage", Format::Xml),
        ("a.yaml", "name: x", Format::Yaml),
        ("-", "name: x", Format::Yaml),
    ] {
        assert_eq!(Format::detect(name, text), format, "{name} {text}");
    }
}

#[test]
fn a_mark_of_byte_order_moves_no_place() {
    for path in data().iter().filter(|path| path.extension().is_some_and(|end| end == "xml")) {
        let plain = fs::read_to_string(path).unwrap();
        let found = |source: &str| {
            let (workload, diagnostics) = parse(source, Format::Xml, &environment());
            let place = |one: &Diagnostic| source.get(one.span.start..one.span.start + one.span.len);
            let mut found: Vec<(String, String)> = diagnostics
                .iter()
                .map(|one| (place(one).unwrap_or_default().to_owned(), one.message.clone()))
                .collect();
            found.sort();
            (workload.is_some(), found)
        };
        let wanted = found(&plain);
        for marks in ["\u{feff}", "\u{feff}\u{feff}"] {
            assert_eq!(found(&format!("{marks}{plain}")), wanted, "{}", path.display());
        }
    }
}

#[test]
fn only_reads_beyond_the_data_set_that_they_name_are_warned_of() {
    let facts = DataSetFacts {
        of: "pebbles r(1,4) r(1,250) c(10)KB".parse().unwrap(),
        container_names: ("pebbles-".to_owned(), String::new()),
        object_names: ("o".to_owned(), String::new()),
        refused: None,
    };
    let environment =
        Environment { datasets: [("pebbles".to_owned(), facts)].into(), ..Environment::default() };
    let warned = |beside: &str| {
        let source = format!(
            "name: w\nstorage: {{type: s3, endpoint: 'http://h'}}\nstages:\n  - name: main\n    works:\n      - {{name: main, \
             workers: 1, runtime: 2m, operations: [{{type: read, ratio: 80, dataset: pebbles}}, {{type: head, ratio: 20, dataset: \
             pebbles{beside}}}]}}\n"
        );
        let (workload, mistakes) = parse(&source, Format::Yaml, &environment);
        assert!(workload.is_some(), "{}", rendered(&source, &mistakes));
        mistakes.into_iter().map(|mistake| mistake.message).collect::<Vec<_>>()
    };
    for beside in ["", ", objects: 'z(1,250,0.99)'", ", containers: c(4)"] {
        assert!(warned(beside).is_empty(), "{beside}: {:?}", warned(beside));
    }
    for beside in [", objects: 'u(1,251)'", ", containers: 'u(1,5)'"] {
        let found = warned(beside);
        assert!(found.len() == 1 && found[0].contains("no earlier stage"), "{beside}: {found:?}");
    }
}

#[test]
fn names_that_are_there_twice_in_a_stage_are_told() {
    let work = |name: &str, operations: &str| {
        format!("      - {{name: {name}, workers: 1, total_ops: 9, operations: [{operations}]}}\n")
    };
    let list = |name: &str| format!("{{type: list, {name}containers: c(1)}}");
    let warned = |works: &[String]| -> Vec<String> {
        let works = works.concat();
        let text = format!("name: w\nstorage: {{type: mock}}\nstages:\n  - name: main\n    works:\n{works}");
        let (workload, diagnostics) = parse(&text, Format::Yaml, &environment());
        assert!(workload.is_some(), "{diagnostics:?}");
        diagnostics.into_iter().map(|one| one.message).collect()
    };
    let (named, unnamed) = (list("name: x, "), list(""));
    let both = format!("{named}, {named}");
    assert_eq!(
        warned(&[work("a", &named), work("a", &unnamed)]),
        ["a second work of the stage is called `a`"]
    );
    assert_eq!(warned(&[work("a", &both)]), ["a second operation of the work `a` is called `x`"]);
    // Works tell operations of one name apart, and what has no name is numbered.
    assert!(warned(&[work("a", &named), work("b", &named)]).is_empty());
    assert!(warned(&[work("a", &format!("{unnamed}, {unnamed}"))]).is_empty());
}
