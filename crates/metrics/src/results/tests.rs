//! The table of figures against the types that it reads.

use std::collections::BTreeSet;
use std::path::Path;

use ts_rs::{Config, TS};

use super::*;
use crate::{OpSnapshot, Sample};

fn window() -> OpSnapshot {
    let mut op = OpSnapshot::default();
    for n in 1..=2000 {
        let sample = Sample { sent_ns: 1, end_ns: 1 + n * 1000, bytes: 10, requests: 1, ..Sample::default() };
        op.add(&sample, false);
    }
    op
}

#[test]
fn a_figure_has_one_row_and_one_name_in_each_place() {
    let ids: BTreeSet<&str> = METRICS.iter().map(|metric| metric.id).collect();
    assert_eq!(ids.len(), METRICS.len());
    let places: [fn(&Names) -> &'static str; 7] = [
        |names| names.terminal,
        |names| names.page,
        |names| names.side_by_side,
        |names| names.compare,
        |names| names.threshold,
        |names| names.plot,
        |names| names.export,
    ];
    for of in places {
        let shown = || METRICS.iter().map(|metric| of(&metric.names)).filter(|name| !name.is_empty());
        assert_eq!(shown().collect::<BTreeSet<_>>().len(), shown().count());
    }
    for metric in METRICS {
        assert!(!metric.title.is_empty() && !metric.help.is_empty(), "{}", metric.id);
    }
}

#[test]
fn a_result_says_the_same_as_the_sums_that_it_was_read_from() {
    let op = window();
    let result = OperationResult::of(&op, 4.0);
    for metric in METRICS {
        assert_eq!(metric.of(&result), metric.of_sums(&op, 4.0), "{}", metric.id);
    }
    let of = |id: &str| METRICS.iter().find(|metric| metric.id == id).and_then(|metric| metric.of(&result));
    assert_eq!(
        (of("throughput_per_s"), of("error_rate"), of("bytes")),
        (Some(500.0), Some(0.0), Some(20_000.0))
    );
    assert!((of("response_ms.max").unwrap() / 2.0 - 1.0).abs() < 1e-3);
    assert_eq!(of("response_ms.p99_9"), None, "2000 operations do not support it");
}

#[test]
fn an_empty_operation_has_no_rates_and_no_ratio() {
    let result = OperationResult::of(&OpSnapshot::default(), 0.0);
    assert_eq!((result.throughput_per_s, result.success_ratio, result.response_ms.mean), (None, None, None));
}

/// `console/src/data/results.ts`: the types of a result.
fn types() -> String {
    let config = Config::new().with_large_int("number");
    let declared = [
        OperationResult::decl(&config),
        PartResult::decl(&config),
        Latencies::decl(&config),
        Bound::decl(&config),
        Spread::decl(&config),
        Cause::decl(&config),
        LoopKind::decl(&config),
    ];
    let mut text = "// Generated from crates/metrics/src/results, where is said what each field means:\n\
                    // UPDATE_TYPES=1 cargo test -p cosmark-metrics --lib types\n"
        .to_owned();
    for one in declared {
        text.push_str(&format!("\nexport {one}\n"));
    }
    text
}

/// `console/src/data/metrics.ts`: the rows of the table of figures that a page shows.
fn figures() -> String {
    let mut text = "// Generated from crates/metrics/src/results/table.rs:\n\
                    // UPDATE_TYPES=1 cargo test -p cosmark-metrics --lib types\n\
                    import type { Metric } from \"./metric\";\n\n\
                    /** The figures of an operation that a page shows, in this order. */\n\
                    export const METRICS: readonly Metric[] = [\n"
        .to_owned();
    let quoted = |text: &str| if text.is_empty() { "null".to_owned() } else { format!("{text:?}") };
    for metric in METRICS {
        let (page, side) = (metric.names.page, metric.names.side_by_side);
        if page.is_empty() && side.is_empty() {
            continue;
        }
        text.push_str(&format!(
            "  {{\n    id: {:?}, unit: {:?}, more: {}, title: {:?}, help: {:?},\n    page: {}, sideBySide: {},\n  }},\n",
            metric.id,
            metric.unit.word(),
            metric.more_is_better(),
            metric.title,
            metric.help,
            quoted(page),
            quoted(side)
        ));
    }
    text.push_str("];\n");
    text
}

#[test]
fn the_types_of_results_on_pages_are_these() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console/src/data");
    for (file, text) in [("results.ts", types()), ("metrics.ts", figures())] {
        let path = folder.join(file);
        if std::env::var_os("UPDATE_TYPES").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let is = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(is == text, "run UPDATE_TYPES=1 cargo test -p cosmark-metrics --lib types");
    }
}
