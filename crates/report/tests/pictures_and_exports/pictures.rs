//! Every kind of picture from archives of both kinds: drawn, labelled with units, well formed, always the same.

use std::collections::BTreeSet;

use cosmark_report::plot::{
    KINDS, Picture, PlotError, PlotRun, Wishes, named as figure, of_interval, pictures, png,
};

use crate::support::{READS, cosbench, ours};

fn mixed() -> (tempfile::TempDir, Vec<PlotRun>) {
    let home = tempfile::tempdir().unwrap();
    let fast = ours(home.path(), "a & <b>", 4, 1);
    let slow = ours(home.path(), "a & <b>", 8, 2);
    let runs = vec![
        PlotRun::open(&fast, None).unwrap(),
        PlotRun::open(&slow, Some("slow")).unwrap(),
        PlotRun::open(&cosbench("w3-mock-full"), None).unwrap(),
        PlotRun::open(&cosbench("w23-swift-real"), None).unwrap(),
    ];
    (home, runs)
}

fn named<'p>(all: &'p [Picture], name: &str) -> &'p Picture {
    let names: Vec<&str> = all.iter().map(|picture| picture.name.as_str()).collect();
    all.iter().find(|picture| picture.name == name).unwrap_or_else(|| panic!("no {name} in {names:?}"))
}

/// Numbers in `attribute="…"` of the elements with this class.
fn places(svg: &str, class: &str, attribute: &str) -> Vec<String> {
    let head = format!("class=\"{class}\"");
    let key = format!(" {attribute}=\"");
    svg.lines()
        .filter(|line| line.contains(&head))
        .filter_map(|line| line.split_once(&key)?.1.split_once('"').map(|(value, _)| value.to_owned()))
        .collect()
}

#[test]
fn every_kind_draws_well_formed_pictures_of_mixed_archives_that_are_always_the_same() {
    let (_home, runs) = mixed();
    for kind in KINDS {
        // Stages called main have the same workers within a system; ours differ.
        let joined: Vec<PlotRun>;
        let own = if kind.name == "workers" {
            let (home, mut ours) = mixed();
            ours.truncate(2);
            ours.iter_mut().for_each(|run| run.series = "one system".to_owned());
            drop(home);
            joined = ours;
            &joined
        } else {
            &runs
        };
        let all = pictures(own, &[kind.name], &Wishes::default()).unwrap();
        let again = pictures(own, &[kind.name], &Wishes::default()).unwrap();
        let names: BTreeSet<&str> = all.iter().map(|picture| picture.name.as_str()).collect();
        assert_eq!(names.len(), all.len(), "{}: every picture has its own name", kind.name);
        let first = all.first().unwrap();
        for (picture, same) in all.iter().zip(&again) {
            assert_eq!(picture.svg(), same.svg(), "{}", picture.name);
        }
        let svg = first.svg();
        assert!(svg.contains("</text>") && !svg.contains("NaN") && !svg.contains("inf"), "{}", first.name);
        let bytes = png(&first.name, &svg).unwrap();
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{}", first.name);
        let width = u32::from_be_bytes(bytes[16..20].try_into().unwrap());
        assert!(width >= 2000, "{}: {width} pixels", first.name);
    }
}

#[test]
fn text_in_a_png_is_drawn_without_fonts_of_the_machine() {
    let sheet = |text: &str| {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"80\" height=\"20\" font-family=\"DejaVu Sans\">\
             <rect width=\"80\" height=\"20\" fill=\"#fff\"/><text x=\"2\" y=\"15\">{text}</text></svg>"
        )
    };
    let (empty, written) = (png("empty", &sheet("")).unwrap(), png("written", &sheet("µs 99.9 %")).unwrap());
    assert_ne!(empty, written);
    assert!(png("broken", "<svg").is_err());
}

#[test]
fn axes_have_units_that_suit_the_values() {
    let (_home, runs) = mixed();
    let all = pictures(&runs[2..], &["timeline"], &Wishes::default()).unwrap();
    for (name, label) in [
        ("timeline-main-read-throughput", "Throughput (operations/s)"),
        ("timeline-main-read-bandwidth", "Bandwidth (MB/s)"),
        ("timeline-main-read-response", "Mean response time (ms)"),
        ("timeline-main-read-success", "Success ratio (%)"),
    ] {
        assert!(named(&all, name).svg().contains(label), "{name}");
    }
    let svg = named(&all, "timeline-main-read-throughput").svg();
    assert!(svg.contains("w3 mock-full") && svg.contains("w23 swift-real"), "both runs share the frame");
}

#[test]
fn failures_stand_below_a_rate() {
    let (_home, runs) = mixed();
    let all = pictures(&runs[..1], &["timeline"], &Wishes { only_fit: true, ..Wishes::default() }).unwrap();
    assert!(
        named(&all, "timeline-main-read-throughput").svg().contains("Failed operations: main read 0.99 %")
    );
}

#[test]
fn the_first_run_is_one_and_the_others_are_factors() {
    let (_home, runs) = mixed();
    let wishes = Wishes { metrics: vec![figure("response").unwrap()], ..Wishes::default() };
    let all = pictures(&runs[..2], &["compare"], &wishes).unwrap();
    let svg = all[0].svg();
    let heights: Vec<f64> =
        places(&svg, "bar", "height").iter().map(|height| height.parse().unwrap()).collect();
    assert_eq!(heights.len(), 2);
    assert!((heights[1] / heights[0] - 2.0).abs() < 0.01, "{heights:?}");
    assert!(svg.contains(">1.00<") && svg.contains(">2.00<"));
}

#[test]
fn a_cdf_ends_where_ten_operations_lie_beyond() {
    let (_home, runs) = mixed();
    let all = pictures(&runs[3..], &["cdf"], &Wishes::default()).unwrap();
    // 39 reads: the curve ends at 29 of 39, far left of 90 %.
    let svg = named(&all, "cdf-read").svg();
    let points = places(&svg, "series", "points");
    let last: f64 = points[0].rsplit(' ').next().unwrap().split_once(',').unwrap().0.parse().unwrap();
    let frame = places(&svg, "frame", "x")[0].parse::<f64>().unwrap();
    let width = places(&svg, "frame", "width")[0].parse::<f64>().unwrap();
    let expected = -(1.0_f64 - 29.0 / 39.0).log10();
    assert!(((last - frame) / width - expected).abs() < 0.01, "{last} in {frame}+{width}, {expected}");
    assert!(svg.contains("steps of 10 ms"));
}

#[test]
fn the_table_of_percentiles_is_a_csv_with_what_run_json_says() {
    let (home, runs) = mixed();
    drop(home);
    let all = pictures(&runs[..3], &["percentiles"], &Wishes::default()).unwrap();
    let text = all[0].csv.clone().unwrap();
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let head = table.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| {
        rows[row].get(head.iter().position(|column| column == name).unwrap()).unwrap().to_owned()
    };
    assert_eq!((cell(0, "run"), cell(0, "count")), ("w1 a & <b>".to_owned(), READS.to_string()));
    let p99: f64 = cell(0, "p99_ms").parse().unwrap();
    assert!((p99 - 100.0).abs() < 1.5, "{p99}");
    assert_eq!(cell(2, "p99_ms"), "10");
    assert_eq!(cell(2, "p50_ms"), "", "COSBench has no median");
}

#[test]
fn a_wish_that_fits_nothing_says_what_there_is() {
    let (_home, runs) = mixed();
    let asked = |wishes: Wishes, kind: &str| pictures(&runs[2..3], &[kind], &wishes).unwrap_err();
    let error = asked(Wishes { operations: vec!["head".to_owned()], ..Wishes::default() }, "cdf");
    assert!(error.to_string().contains("no operation head; there are 1-read-read, 2-read-read"), "{error}");
    let error = asked(Wishes { stages: vec!["w*".to_owned()], ..Wishes::default() }, "cdf");
    assert!(matches!(error, PlotError::Nothing(_)), "{error}");
    let error = asked(Wishes::default(), "compare");
    assert!(error.to_string().contains("two runs or more"), "{error}");
}

#[test]
fn what_the_stars_stood_for_is_the_label() {
    let (_home, runs) = mixed();
    let wishes = Wishes { stages: vec!["m*n".to_owned(), "t*".to_owned()], ..Wishes::default() };
    let all = pictures(&runs[2..3], &["aggregate"], &wishes).unwrap();
    let svg = named(&all, "aggregate-write-throughput").svg();
    assert!(svg.contains(">ai<") && svg.contains(">wo<"), "{svg}");
}

#[test]
fn every_column_of_cosbench_can_be_drawn_over_time() {
    for column in
        ["Op-Count", "Byte-Count", "Avg-ResTime", "Avg-ProcTime", "Throughput", "Bandwidth", "Succ-Ratio"]
    {
        assert!(figure(column).is_some_and(|metric| of_interval(metric).is_some()), "{column}");
    }
}
