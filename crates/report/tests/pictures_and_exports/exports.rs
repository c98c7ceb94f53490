//! Every format says the same as `run.json`.

use std::collections::BTreeMap;
use std::io::Read;

use cosmark_archive::{EventKind, EventRecord, Run, RunState, open_run};
use cosmark_metrics::results::Bound;
use cosmark_metrics::{FaultFigure, FaultResult, SlotResult};
use cosmark_report::export::encode::remote_write;
use cosmark_report::export::{ExportError, FORMATS, Format, run_points};
use serde_json::Value;

use crate::support::{FAILED, READS, at, cosbench, ours, quick};

fn run() -> (tempfile::TempDir, Run) {
    let home = tempfile::tempdir().unwrap();
    let path = ours(home.path(), "a, \"b\" = c\\", 4, 1);
    let run = open_run(&path).unwrap();
    (home, run)
}

fn bytes(run: &Run, format: &str) -> Vec<u8> {
    let mut out = Vec::new();
    Format::named(format).unwrap().write(run, &mut out).unwrap();
    out
}

fn text(run: &Run, format: &str) -> String {
    String::from_utf8(bytes(run, format)).unwrap()
}

#[test]
fn every_format_writes_something_of_every_run() {
    let (_home, run) = run();
    for format in FORMATS {
        assert!(!bytes(&run, format.name).is_empty(), "{}", format.name);
    }
}

#[test]
fn what_probers_did_is_a_history_for_others_and_a_run_without_them_says_so() {
    let (_home, mut run) = run();
    let lines = text(&run, "history-jsonl");
    assert_eq!(lines.lines().count(), 2);
    assert!(
        lines
            .starts_with("{\"ClientId\":0,\"Input\":{\"Key\":0,\"Op\":\"write\",\"Value\":1},\"Call\":4000,"),
        "{lines}"
    );
    let events = text(&run, "history-edn");
    assert_eq!(events.lines().count(), 4);
    assert!(
        events.starts_with("{:index 0, :type :invoke, :f :write, :value [0 1], :process 0, :time 4000}"),
        "{events}"
    );
    assert!(text(&run, "probes").contains("local,0,,1,read,6000,7000,1,1,0"), "{}", text(&run, "probes"));
    run.path = run.path.join("elsewhere");
    let refused = Format::named("history-edn").unwrap().write(&run, &mut Vec::new()).unwrap_err().to_string();
    assert!(refused.contains("probes.csv") && refused.contains("consistency:"), "{refused}");
}

#[test]
fn what_each_slot_of_a_fault_cost_is_a_table_with_what_is_not_known_and_why() {
    let (_home, mut run) = run();
    let heads_only = text(&run, "faults");
    assert_eq!(heads_only.lines().count(), 1, "{heads_only}");
    let first = SlotResult {
        number: 1,
        from_s: 60.5,
        landed_s: Some(61.0),
        depth: Some(0.8),
        lost_operations: Some(800.0),
        errors: BTreeMap::from([("http_503".to_owned(), 30)]),
        unknown: BTreeMap::from([("p99_ms".to_owned(), "too few, as said".to_owned())]),
        ..SlotResult::default()
    };
    let void =
        SlotResult { number: 2, from_s: 120.0, void: Some("=it was there".into()), ..SlotResult::default() };
    let mean = FaultFigure {
        figure: "depth".into(),
        unit: "share".into(),
        mean: Some(0.8),
        low: Some(0.75),
        slots: 1,
        ..FaultFigure::default()
    };
    run.record.stages[0].faults = vec![FaultResult {
        name: "gone".into(),
        kind: "command".into(),
        what: "a on this machine".into(),
        slots: vec![first, void],
        figures: vec![mean],
        ..FaultResult::default()
    }];
    let stage = run.record.stages[0].id.clone();
    let table = text(&run, "faults");
    let has = |line: &str| {
        let line = format!("{stage},gone,command,a on this machine,{line}");
        assert!(table.lines().any(|one| one == line), "{line}\n{table}");
    };
    has("1,60.5,,depth,share,0.8,,,,");
    has("1,60.5,,lost_operations,count,800,,,,");
    has("1,60.5,,landed_after_s,s,0.5,,,,");
    has("1,60.5,,p99_ms,ms,,,,,\"too few, as said\"");
    has("1,60.5,,errors.http_503,count,30,,,,");
    has("all,,,depth,share,0.8,0.75,,1,");
    // A spreadsheet computes nothing of what a store or a script has said.
    assert!(!table.contains(",=it was there"), "{table}");
    assert!(table.contains("it was there,depth,share,,,,,"), "{table}");
}

#[test]
fn the_tidy_table_has_every_number_of_run_json() {
    let (_home, run) = run();
    let text = text(&run, "csv");
    assert!(text.contains("\r\n") && text.contains("\"a, \"\"b\"\" = c\\\""), "RFC 4180");
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let value = |quantity: &str| {
        let row =
            rows.iter().find(|row| row.get(6) == Some("window") && row.get(8) == Some(quantity)).unwrap();
        row.get(9).unwrap().parse::<f64>().unwrap()
    };
    let op = &run.record.stages[0].operations[0];
    assert_eq!(value("count"), READS as f64);
    assert_eq!(value("response_ms.p99"), op.response_ms.p99.unwrap());
    assert_eq!(value("errors.http_503"), FAILED as f64);
    let counts = rows.iter().filter(|row| row.get(6) == Some("interval") && row.get(8) == Some("count"));
    let sum: u64 = counts.map(|row| row.get(9).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, READS, "intervals add up");
}

#[test]
fn intervals_that_end_in_one_second_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let run = open_run(&quick(home.path())).unwrap();
    let table = text(&run, "csv");
    let mut table = csv::Reader::from_reader(table.as_bytes());
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let counts = || rows.iter().filter(|row| row.get(6) == Some("interval") && row.get(8) == Some("count"));
    let times: Vec<&str> = counts().map(|row| row.get(7).unwrap()).collect();
    assert_eq!(times[..4], ["18:54:00.450", "18:54:00.700", "18:54:00.950", "18:54:01.200"]);
    assert_eq!((times.len(), times[20]), (21, "18:54:05.269"), "and what ended behind the load");
    let ends_s: Vec<&str> = counts().map(|row| row.get(13).unwrap()).collect();
    assert_eq!((&ends_s[..3], ends_s[20]), (&["0.25", "0.5", "0.75"][..], "5.069"), "whatever day it is");
    let document: Value = serde_json::from_str(&text(&run, "json")).unwrap();
    let last = &document["timelines"]["s1-main"][20];
    assert!(last["time"] == "18:54:05.269" && last["end_s"] == 5.069, "{last}");
    // What stands before a damage counts, and without it nobody invents what times of the day cannot tell.
    let (lines, whole) = (run.path.join("intervals.csv"), text(&run, "csv"));
    let good = std::fs::read_to_string(&lines).unwrap();
    std::fs::write(&lines, good.clone() + "what is this\n").unwrap();
    assert!(run.intervals(drop).is_err());
    assert_eq!(text(&run, "csv"), whole);
    let head = good.lines().next().unwrap();
    std::fs::write(&lines, format!("{head}\nwhat is this\n")).unwrap();
    let document: Value = serde_json::from_str(&text(&run, "json")).unwrap();
    let last = &document["timelines"]["s1-main"][20];
    assert!(last["time"] == "18:54:05" && last["end_s"].is_null(), "{last}");
}

#[test]
fn the_parts_of_response_times_are_a_table_that_adds_up_and_a_run_without_them_says_so() {
    let (_home, mut run) = run();
    let text = text(&run, "time");
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let value = |part: &str| {
        let row =
            rows.iter().find(|row| row.get(5) == Some(part)).unwrap_or_else(|| panic!("{part}: {text}"));
        assert_eq!((row.get(4), row.get(8)), (Some("client"), Some(READS.to_string().as_str())), "{text}");
        row.get(6).unwrap().parse::<f64>().unwrap()
    };
    let mean = run.record.stages[0].operations[0].response_ms.mean.unwrap();
    assert!((value("response") - mean).abs() < 1e-9 && (value("first_byte") - 0.5).abs() < 1e-9, "{text}");
    assert!((value("first_byte") + value("body") - mean).abs() < 1e-9, "{text}");
    assert!(!text.contains(",send,"), "nobody saw the sending: {text}");
    run.record.stages[0].operations[0].time = None;
    let said = Format::named("time").unwrap().write(&run, &mut Vec::new()).unwrap_err().to_string();
    assert!(said.contains("older versions, of those that were killed"), "{said}");
}

#[test]
fn bounds_are_exported_as_they_were_published_and_only_where_they_hold() {
    let (_home, mut run) = run();
    let holds = Bound { low: Some(1.25), high: Some(1.5), ..Bound::default() };
    let open = Bound { high: None, ..holds.clone() };
    let not = Bound { does_not_hold: Some("wider than 50 %".into()), ..holds.clone() };
    run.record.stages[0].operations[0].bounds = [
        ("response_ms.p50".to_owned(), holds),
        ("response_ms.p95".to_owned(), open),
        ("response_ms.p99".to_owned(), not),
    ]
    .into();
    let samples = samples(&text(&run, "prometheus"));
    let of = |name: &str| -> Vec<(&str, f64)> {
        let own = samples.iter().filter(|(series, _)| series.starts_with(name));
        own.map(|(series, value)| (series.split_once("figure=\"").unwrap().1.trim_end_matches("\"}"), *value))
            .collect()
    };
    assert_eq!(of("cosmark_bound_low"), [("response_ms.p50", 1.25), ("response_ms.p95", 1.25)]);
    assert_eq!(of("cosmark_bound_high"), [("response_ms.p50", 1.5)]);
    for format in ["openmetrics", "otel", "influx"] {
        let text = text(&run, format);
        assert!(text.contains("bound") && text.contains("response_ms.p95"), "{format}: {text}");
    }
    let table = text(&run, "csv");
    for (figure, end, value) in
        [("p50", "low", "1.25"), ("p50", "holds", "1"), ("p99", "high", "1.5"), ("p99", "holds", "0")]
    {
        let line = format!("bounds.response_ms.{figure}.{end},{value},");
        assert!(table.contains(&line), "{line}: {table}");
    }
}

/// Samples of Prometheus's text: name with labels, and value.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (series, value) = line.split_once("} ").unwrap();
            (format!("{series}}}"), value.split(' ').next().unwrap().parse().unwrap())
        })
        .collect()
}

#[test]
fn prometheus_gets_escaped_labels_and_growing_buckets() {
    let (_home, run) = run();
    let text = text(&run, "prometheus");
    let samples = samples(&text);
    let labels =
        r#"{op="read",operation="read",run="w1",stage="s1-main",work="main",workload="a, \"b\" = c\\""#;
    assert_eq!(samples[&format!("cosmark_operations_total{labels},outcome=\"ok\"}}")], READS as f64);
    assert_eq!(samples[&format!("cosmark_operations_total{labels},outcome=\"http_503\"}}")], FAILED as f64);
    assert_eq!(samples[&format!("cosmark_response_seconds_count{labels}}}")], READS as f64);
    let edge = |edge: &str| samples[&format!("cosmark_response_seconds_bucket{labels},le=\"{edge}\"}}")];
    assert_eq!((edge("0.00005"), edge("+Inf")), (0.0, READS as f64));
    assert!(edge("0.05") > 0.45 * READS as f64 && edge("0.05") < 0.55 * READS as f64);
    let mean = samples[&format!("cosmark_response_seconds_sum{labels}}}")] / READS as f64;
    assert!((mean * 1e3 / run.record.stages[0].operations[0].response_ms.mean.unwrap() - 1.0).abs() < 1e-6);
    let families: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let unique: std::collections::BTreeSet<&&str> = families.iter().collect();
    assert_eq!(unique.len(), families.len(), "each family once");
}

#[test]
fn openmetrics_ends_with_its_mark_and_has_times() {
    let (_home, run) = run();
    let text = text(&run, "openmetrics");
    assert!(text.ends_with("# EOF\n"));
    assert!(text.contains("# TYPE cosmark_operations counter\n"));
    let end = run.record.ended.unwrap().as_second();
    let plain = text.lines().filter(|line| !line.starts_with('#'));
    assert!(plain.clone().count() > 10 && plain.clone().all(|line| line.contains(&format!(" {end}."))));
}

#[test]
fn otlp_is_a_request_with_cumulative_sums() {
    let (_home, run) = run();
    let request: Value = serde_json::from_str(&text(&run, "otel")).unwrap();
    let metrics = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    let named = |name: &str| metrics.iter().find(|metric| metric["name"] == name).unwrap();
    let operations = &named("cosmark.operations")["sum"];
    assert_eq!(
        (&operations["aggregationTemporality"], &operations["isMonotonic"]),
        (&2.into(), &true.into())
    );
    let response = &named("cosmark.response_seconds")["histogram"]["dataPoints"][0];
    assert_eq!(response["count"], READS.to_string());
    let (bounds, counts) =
        (response["explicitBounds"].as_array().unwrap(), response["bucketCounts"].as_array().unwrap());
    assert_eq!(bounds.len() + 1, counts.len());
    let sum: u64 = counts.iter().map(|count| count.as_str().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, READS);
}

#[test]
fn influx_lines_escape_names_and_intervals_add_up() {
    let (_home, run) = run();
    let text = text(&run, "influx");
    let intervals: Vec<&str> = text.lines().filter(|line| line.contains("kind=response,")).collect();
    let count = |line: &&str| -> u64 {
        line.split_once("count=").unwrap().1.split_once('i').unwrap().0.parse().unwrap()
    };
    assert_eq!(intervals.iter().map(count).sum::<u64>(), READS);
    assert!(intervals[0].contains(r#"workload=a\,\ "b"\ \=\ c\\ count"#), "{}", intervals[0]);
    assert!(text.lines().all(|line| line.rsplit(' ').next().unwrap().parse::<i128>().is_ok()), "times in ns");
}

#[test]
fn influx_has_what_the_data_supports_by_the_labels_of_the_metrics_and_zeros_where_nothing_succeeded() {
    let home = tempfile::tempdir().unwrap();
    let path = quick(home.path());
    // Of the log the first slice is left, up to 1.2 s after the load began: 100 successes.
    let log = path.join("histograms.hlog");
    let lines = std::fs::read_to_string(&log).unwrap();
    let first = lines.lines().find(|line| line.contains(".response,")).unwrap();
    let heads = lines.lines().filter(|line| !line.starts_with("Tag="));
    let kept: String = heads.chain([first]).map(|line| format!("{line}\n")).collect();
    std::fs::write(&log, kept).unwrap();
    let text = text(&open_run(&path).unwrap(), "influx");
    let intervals: Vec<&str> = text.lines().filter(|line| line.starts_with("cosmark_interval,")).collect();
    let labels = "op=read,operation=read,phase=window,run=w1,stage=s1-main,work=main,workload=quick ";
    assert!(intervals.iter().all(|line| line.contains(labels)), "{intervals:?}");
    let metric = text.lines().find(|line| line.starts_with("cosmark_throughput_per_second,")).unwrap();
    assert!(metric.contains("operation=read,run=w1,stage=s1-main,work=main,workload=quick"), "{metric}");
    let times = intervals[0];
    assert!(
        times.contains("count=100i") && times.contains(",p50_ms=") && times.contains(",p90_ms="),
        "{times}"
    );
    assert!(!times.contains("p99_ms"), "p99 needs 1000 operations: {times}");
    let zeros: Vec<&&str> =
        intervals.iter().filter(|line| line.contains(" count=0i,length_s=0.25 ")).collect();
    assert_eq!((zeros.len(), intervals.len()), (15, 16), "{intervals:?}");
}

#[test]
fn what_a_driver_delivers_late_takes_the_place_of_no_point_in_influx() {
    let (_home, run) = run();
    let log = run.path.join("histograms.hlog");
    let lines = std::fs::read_to_string(&log).unwrap();
    let late = lines.lines().filter(|line| line.contains(".response,")).nth(2).unwrap();
    std::fs::write(&log, format!("{lines}{late}\n{late}\n")).unwrap();
    let text = text(&run, "influx");
    // A point is known by its measurement, its tags and its time.
    let points: Vec<(&str, &str)> = text
        .lines()
        .filter(|line| line.contains("kind=response,"))
        .map(|line| (line.split_once(" count=").unwrap().0, line.rsplit(' ').next().unwrap()))
        .collect();
    let mut known = points.clone();
    known.sort_unstable();
    known.dedup();
    assert_eq!(known.len(), points.len(), "{text}");
    let times: Vec<i128> = points.iter().map(|(_, at)| at.parse().unwrap()).collect();
    let moved = &times[times.len() - 2..];
    assert_eq!(moved, [times[2] + 1, times[2] + 2], "{times:?}");
}

#[test]
fn warp_gets_every_operation_of_the_window_with_its_error() {
    let (_home, run) = run();
    let packed = bytes(&run, "warp");
    let mut text = String::new();
    zstd::stream::read::Decoder::new(packed.as_slice()).unwrap().read_to_string(&mut text).unwrap();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let rows: Vec<Vec<&str>> =
        lines.filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len() as u64, READS + FAILED);
    assert!(rows.iter().all(|row| row.len() == head.len() && row[2] == "GET"));
    let at = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let failed: Vec<_> = rows.iter().filter(|row| row[at("error")] == "http_503").collect();
    assert_eq!(failed.len() as u64, FAILED);
    assert!(failed.iter().all(|row| row[at("bytes")] == "0" && row[at("first_byte")].is_empty()));
    for row in &rows {
        let moment =
            |name: &str| row[at(name)].parse::<cosmark_archive::Timestamp>().unwrap().as_nanosecond();
        assert_eq!(moment("end") - moment("start"), row[at("duration_ns")].parse::<i128>().unwrap());
    }
}

#[test]
fn an_export_that_needs_the_operation_log_says_so() {
    let (_home, mut run) = run();
    std::fs::remove_file(run.path.join("operations.parquet")).unwrap();
    let error_of = |run: &Run, format: &str| {
        Format::named(format).unwrap().write(run, &mut Vec::new()).unwrap_err().to_string()
    };
    for format in ["warp", "parquet"] {
        let error = error_of(&run, format);
        assert!(error.ends_with("run again with --oplog"), "{error}");
    }
    std::fs::remove_file(run.path.join("nodes.parquet")).unwrap();
    run.record.state = RunState::Running;
    for (format, done) in [("parquet", "--oplog, unless"), ("nodes", "nodes:, unless")] {
        let error = error_of(&run, format);
        assert!(error.contains("the run goes on and has none yet") && error.contains(done), "{error}");
    }
    // One that has it, though not yet, or not any more.
    std::fs::write(run.path.join(".operations.part-00001.parquet.tmp-7"), "PAR1").unwrap();
    for (state, why) in [(RunState::Running, "the run goes on"), (RunState::Killed, "was killed before")] {
        run.record.state = state;
        for format in ["warp", "parquet"] {
            let error = error_of(&run, format);
            assert!(error.contains(why) && !error.contains("--oplog"), "{format}: {error}");
        }
    }
    std::fs::write(run.path.join("operations.part-00001.parquet"), "PAR1").unwrap();
    for (state, why) in
        [(RunState::Running, "when the run has ended"), (RunState::Terminated, "not put together")]
    {
        run.record.state = state;
        let error = error_of(&run, "parquet");
        assert!(
            error.contains(why) && error.contains("operations.part-*") && !error.contains("--oplog"),
            "{error}"
        );
    }
}

#[test]
fn events_of_a_run_whose_table_is_gone_are_those_of_its_record() {
    let (_home, mut run) = run();
    std::fs::remove_file(run.path.join("events.csv")).unwrap();
    let (kind, stage) = (EventKind::Note, Some("s1-main".to_owned()));
    run.record.events = vec![EventRecord { at: at("18:54:00"), kind, stage, text: "=a, b\nc".to_owned() }];
    assert_eq!(
        text(&run, "events"),
        "at,kind,stage,text\n2026-11-21T18:54:00Z,note,s1-main,\"'=a, b | c\"\n"
    );
    run.record.events.clear();
    let refused = Format::named("events").unwrap().write(&run, &mut Vec::new()).unwrap_err();
    assert!(matches!(refused, ExportError::Missing { .. }), "{refused}");
}

#[test]
fn exports_of_a_run_of_cosbench_have_its_states_and_say_what_it_does_not_leave() {
    let run = open_run(&cosbench("w3-mock-full")).unwrap();
    let events = text(&run, "events");
    let lines: Vec<&str> = events.lines().collect();
    assert_eq!(lines[0], "at,kind,stage,text");
    assert!(lines.len() > 20 && lines[1..].iter().map(|line| &line[..20]).is_sorted(), "{events}");
    for state in ["s1-init,running", "s3-main,running", "s6-dispose,completed"] {
        assert!(events.contains(&format!(",stage,{state}\n")), "{state}: {events}");
    }
    for format in ["hlog", "warp", "parquet", "history-edn", "history-jsonl", "probes", "time", "nodes"] {
        let error = Format::named(format).unwrap().write(&run, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("COSBench 0.4.2 leaves nothing of the kind"), "{format}: {error}");
        assert!(!error.contains("run again") && !error.contains("--oplog"), "{format}: {error}");
    }
}

#[test]
fn failures_whose_kind_is_not_known_are_exported_as_such() {
    let mut run = open_run(&cosbench("w3-mock-full")).unwrap();
    let labels = |op: &str| {
        format!(
            r#"cosmark_operations_total{{op="{op}",operation="{op}",run="w3",stage="s3-main",work="",workload="mock-full""#
        )
    };
    let failed =
        |text: &str, op: &str| samples(text).get(&format!("{},outcome=\"failed\"}}", labels(op))).copied();
    assert_eq!(failed(&text(&run, "prometheus"), "list"), None, "nothing failed");
    let list = run.record.stages[2].operations.iter_mut().find(|op| op.name == "list").unwrap();
    list.failed = 42;
    assert_eq!(failed(&text(&run, "prometheus"), "list"), Some(42.0));
    let list = run.record.stages[2].operations.iter_mut().find(|op| op.name == "list").unwrap();
    list.errors.insert("http_503".to_owned(), 40);
    let both = text(&run, "prometheus");
    assert_eq!(failed(&both, "list"), Some(2.0));
    assert_eq!(samples(&both)[&format!("{},outcome=\"http_503\"}}", labels("list"))], 40.0);
    assert_eq!(failed(&both, "read"), None);
}

#[test]
fn a_link_in_place_of_a_file_is_a_fault_of_the_archive_and_not_of_the_output() {
    let (_home, run) = run();
    let file = run.path.join("events.csv");
    std::fs::rename(&file, run.path.join("moved.csv")).unwrap();
    std::os::unix::fs::symlink("moved.csv", &file).unwrap();
    let error = Format::named("events").unwrap().write(&run, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, ExportError::Archive(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("cannot read") && text.contains("events.csv") && text.contains("link"), "{text}");
    assert!(!text.contains("--output"), "{text}");
}

/// Fields of a protobuf message: number and, for wire type 2, bytes; for others, the value's bytes.
fn fields(mut message: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
            shift += 7;
        }
    }
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = varint(&mut message);
        let length = match key & 7 {
            0 => {
                found.push((key >> 3, varint(&mut message).to_le_bytes().to_vec()));
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut message)).unwrap(),
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, message[..length].to_vec()));
        message = &message[length..];
    }
    found
}

#[test]
fn remote_write_is_a_snappy_block_of_sorted_labels_and_samples() {
    let (_home, run) = run();
    let block = remote_write(&run_points(&run).unwrap(), 1_763_751_270_000).unwrap();
    let request = snap::raw::Decoder::new().decompress_vec(&block).unwrap();
    let mut ok = None;
    for (number, series) in fields(&request) {
        assert_eq!(number, 1);
        let parts = fields(&series);
        let labels: Vec<(String, String)> = parts
            .iter()
            .filter(|(number, _)| *number == 1)
            .map(|(_, label)| {
                let pair: Vec<String> =
                    fields(label).into_iter().map(|(_, text)| String::from_utf8(text).unwrap()).collect();
                (pair[0].clone(), pair[1].clone())
            })
            .collect();
        assert!(labels.windows(2).all(|pair| pair[0].0 < pair[1].0), "{labels:?}");
        let sample = fields(&parts.iter().find(|(number, _)| *number == 2).unwrap().1);
        let value = f64::from_le_bytes(sample[0].1.clone().try_into().unwrap());
        assert_eq!(sample[1].1, 1_763_751_270_000_u64.to_le_bytes());
        let is = |name: &str, value: &str| labels.contains(&(name.to_owned(), value.to_owned()));
        if is("__name__", "cosmark_operations_total") && is("outcome", "ok") {
            ok = Some(value);
        }
    }
    assert_eq!(ok, Some(READS as f64));
}
