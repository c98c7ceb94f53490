//! Every kind of picture from archives of both kinds: drawn, labelled with units, well formed, always the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use cosmark_report::plot::{
    AxisWish, KINDS, Picture, PlotError, PlotRun, Sheet, Wishes, named as figure, of_interval, pictures, png,
    typeface_of,
};

use crate::support::{READS, cosbench, failed, ours, ours_of_sizes};

pub fn mixed() -> (tempfile::TempDir, Vec<PlotRun>) {
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
        if kind.name == "faults" {
            // Nothing failed in these runs; what is drawn where something did is tested beside the kind.
            let refused = pictures(&runs, &[kind.name], &Wishes::default()).err().unwrap();
            assert!(refused.to_string().contains("nothing was made to fail"), "{refused}");
            continue;
        }
        let own = if matches!(kind.name, "workers" | "knee") {
            let (home, mut ours) = mixed();
            ours.truncate(2);
            ours.iter_mut().for_each(|run| run.series = "one system".to_owned());
            drop(home);
            joined = ours;
            &joined
        } else if kind.name == "sizes" {
            joined = of_two_sizes();
            &joined
        } else {
            &runs
        };
        let all = pictures(own, &[kind.name], &Wishes::default()).unwrap().pictures;
        let again = pictures(own, &[kind.name], &Wishes::default()).unwrap().pictures;
        let names: BTreeSet<&str> = all.iter().map(|picture| picture.name.as_str()).collect();
        assert_eq!(names.len(), all.len(), "{}: every picture has its own name", kind.name);
        let first = all.first().unwrap();
        for (picture, same) in all.iter().zip(&again) {
            assert_eq!(picture.svg(Sheet::default()), same.svg(Sheet::default()), "{}", picture.name);
        }
        let svg = first.svg(Sheet::default());
        assert!(svg.contains("</text>") && !svg.contains("NaN") && !svg.contains("inf"), "{}", first.name);
        let bytes = first.png(Sheet::default(), 300.0).unwrap();
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{}", first.name);
        let width = u32::from_be_bytes(bytes[16..20].try_into().unwrap());
        assert!(width >= 2000, "{}: {width} pixels", first.name);
    }
}

/// A run whose reads were of two classes of size.
fn of_two_sizes() -> Vec<PlotRun> {
    let (_home, mut runs) = mixed();
    runs.truncate(1);
    let operations = runs.iter_mut().flat_map(|run| &mut run.stages).flat_map(|stage| &mut stage.operations);
    for operation in operations {
        for (least_bytes, factor) in [(1024, 1.0), (1 << 20, 3.0)] {
            let mut class = cosmark_archive::SizeClassResult {
                least_bytes,
                label: format!("{least_bytes} B"),
                ..Default::default()
            };
            class.sums.response_ms.p50 = Some(10.0 * factor);
            class.sums.response_ms.p99 = Some(40.0 * factor);
            operation.result.size_classes.push(class);
        }
    }
    runs
}

#[test]
fn lines_up_to_a_percentile_are_drawn_to_their_end_however_long_the_tail_is() {
    let mut runs = of_two_sizes();
    let operations = runs.iter_mut().flat_map(|run| &mut run.stages).flat_map(|stage| &mut stage.operations);
    for class in operations.flat_map(|operation| &mut operation.result.size_classes) {
        class.sums.response_ms.p99 = class.sums.response_ms.p50.map(|p50| p50 * 25.0);
    }
    // 10 and 30 ms, and up to 250 and 750 ms.
    for (log, last) in [(true, ">1000<"), (false, ">800<")] {
        let y = AxisWish { log: Some(log), ..AxisWish::default() };
        let wishes = Wishes { y, ..Wishes::default() };
        let svg = pictures(&runs, &["sizes"], &wishes).unwrap().pictures[0].svg(Sheet::default());
        assert!(svg.contains(last) && !svg.contains("beyond"), "{svg}");
    }
}

/// Repetitions of two systems, the second half as fast.
fn repeated() -> (Vec<tempfile::TempDir>, Vec<PlotRun>) {
    let (mut homes, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (home, mut both) = mixed();
        both.truncate(2);
        for (run, series) in both.iter_mut().zip(["a", "b"]) {
            run.series = series.to_owned();
        }
        homes.push(home);
        runs.extend(both);
    }
    runs.sort_by(|a, b| a.series.cmp(&b.series));
    (homes, runs)
}

/// Two runs, the second twice as slow, whose objects have 4000 bytes, and each third one of the slowest half of times a megabyte.
fn by_size() -> (tempfile::TempDir, Vec<PlotRun>) {
    let home = tempfile::tempdir().unwrap();
    let size = |n: u64| if n % 100 >= 50 && n.is_multiple_of(3) { 1_000_000 } else { 4000 };
    let runs = [("fast", 1), ("slow", 2)].map(|(name, slower)| {
        PlotRun::open(&ours_of_sizes(home.path(), name, 4, slower, size), Some(name)).unwrap()
    });
    (home, runs.into())
}

/// Rows of a picture's data.
pub fn rows(picture: &Picture) -> Vec<Vec<String>> {
    let text = picture.data();
    let mut table = csv::Reader::from_reader(text.as_bytes());
    table.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[test]
fn parts_of_a_time_are_stacked_up_to_its_mean_by_size_and_run() {
    let (_home, runs) = by_size();
    let all = pictures(&runs, &["time"], &Wishes::default()).unwrap().pictures;
    assert_eq!(all.iter().map(|picture| picture.name.as_str()).collect::<Vec<_>>(), ["time", "time-share"]);
    let rows = rows(named(&all, "time"));
    let of = |run: &str, size: &str| -> Vec<f64> {
        rows.iter().filter(|row| row[0] == run && row[3] == size).map(|row| row[5].parse().unwrap()).collect()
    };
    for (run, at) in [("fast", 0), ("slow", 1)] {
        let operation = &runs[at].stages[0].operations[0].result;
        let mut bars = vec![("all".to_owned(), operation.response_ms.mean.unwrap())];
        let classes = operation.size_classes.iter();
        bars.extend(classes.map(|class| (class.label.clone(), class.sums.response_ms.mean.unwrap())));
        assert_eq!(bars.len(), 3, "{bars:?}");
        for (size, mean_ms) in bars {
            let sum: f64 = of(run, &size).iter().sum();
            assert!((sum / mean_ms - 1.0).abs() < 1e-3, "{run} {size}: {sum} of {mean_ms}");
        }
    }
    // As high as the axis says: six bars of two parts, the slow ones twice as high.
    let svg = named(&all, "time").svg(Sheet::default());
    let heights: Vec<f64> =
        places(&svg, "part", "height").iter().map(|height| height.parse().unwrap()).collect();
    assert_eq!(heights.len(), 12, "{heights:?}");
    // `first_byte` is the same half a millisecond in both, `body` the rest; in groups of fast and slow.
    let body = &heights[6..];
    for pair in body.chunks(2) {
        let factor = pair[1] / pair[0];
        assert!((1.95..2.1).contains(&factor), "{body:?}");
    }
    let share = named(&all, "time-share").svg(Sheet::default());
    let heights: Vec<f64> =
        places(&share, "part", "height").iter().map(|height| height.parse().unwrap()).collect();
    let frame: f64 = places(&share, "frame", "height")[0].parse().unwrap();
    // Initials stand above: the axis goes on to 115 %.
    let whole = frame / 1.15;
    let sums = (0..6).map(|bar| heights[bar] + heights[bar + 6]);
    sums.for_each(|sum| assert!((sum - whole).abs() < 0.2, "{heights:?} in {frame}"));
    assert!(share.contains("A: fast. B: slow.") && share.matches(">B</text>").count() == 3, "{share}");
    // On a log axis parts would not add up: it stays even, and says so.
    let log = Wishes { y: AxisWish { log: Some(true), ..AxisWish::default() }, ..Wishes::default() };
    let same = pictures(&runs, &["time"], &log).unwrap().pictures;
    let same = named(&same, "time").svg(Sheet::default());
    assert_eq!(places(&same, "part", "height"), places(&svg, "part", "height"));
    assert!(same.contains("even axis only"));
    let table = named(&all, "time").markdown().unwrap();
    assert_eq!(table.lines().filter(|line| line.starts_with("| ")).count(), 8, "{table}");
}

#[test]
fn times_of_runs_that_do_not_know_their_parts_are_left_out_with_the_reason() {
    let (_home, runs) = mixed();
    let error = pictures(&runs[2..], &["time"], &Wishes::default()).unwrap_err();
    assert!(error.to_string().contains("COSBench"), "{error}");
}

#[test]
fn many_bars_are_cut_into_pictures_and_none_is_lost() {
    let (_home, mut runs) = by_size();
    let one = runs[0].stages[0].clone();
    runs[0].stages = (0..30)
        .map(|at| cosmark_report::plot::PlotStage { name: format!("main{at}"), ..one.clone() })
        .collect();
    let all = pictures(&runs[..1], &["time"], &Wishes::default()).unwrap().pictures;
    let bars: BTreeSet<(String, String)> =
        all.iter().flat_map(rows).map(|row| (row[1].clone(), row[3].clone())).collect();
    assert_eq!(
        (bars.len(), all.len()),
        (90, 12),
        "30 stages of 3 bars, at most 24 in a picture, each in two ways"
    );
}

#[test]
fn operations_of_one_name_in_two_works_do_not_lie_upon_each_other() {
    let (_home, mut runs) = by_size();
    runs.truncate(1);
    let one = runs[0].stages[0].operations[0].clone();
    runs[0].stages[0]
        .operations
        .push(cosmark_report::plot::PlotOperation { work: "other".to_owned(), ..one });
    let all = pictures(&runs, &["time", "violin"], &Wishes::default()).unwrap().pictures;
    let bars: BTreeSet<String> = rows(named(&all, "time")).into_iter().map(|row| row[2].clone()).collect();
    assert_eq!(bars.into_iter().collect::<Vec<_>>(), ["read of main", "read of other"]);
    let svg = named(&all, "violin").svg(Sheet::default());
    assert!(svg.contains(">read of main<") && places(&svg, "outline", "points").len() == 2, "{svg}");
    // Nor is one the other's repetition: each has its curve, its row and its name.
    let all = pictures(&runs, &["timeline", "cdf", "percentiles"], &Wishes::default()).unwrap().pictures;
    for name in ["timeline-main-read_of_main-throughput", "cdf-read_of_main", "cdf-read_of_other"] {
        assert!(!named(&all, name).data().is_empty(), "{name}");
    }
    let listed: Vec<String> =
        rows(named(&all, "percentiles")).into_iter().map(|row| row[2].clone()).collect();
    assert_eq!(listed, ["read of main", "read of other"]);
    let chosen = Wishes { operations: vec!["read of other".to_owned()], ..Wishes::default() };
    assert_eq!(rows(&pictures(&runs, &["percentiles"], &chosen).unwrap().pictures[0]).len(), 1);
    let both = Wishes { operations: vec!["read".to_owned()], ..Wishes::default() };
    assert_eq!(rows(&pictures(&runs, &["percentiles"], &both).unwrap().pictures[0]).len(), 2);
}

#[test]
fn works_and_stages_of_one_name_are_no_repetitions_of_each_other() {
    let (_home, mut runs) = by_size();
    for run in &mut runs {
        let mut one = run.stages[0].operations[0].clone();
        one.work = "other".to_owned();
        one.result.response_ms.mean = one.result.response_ms.mean.map(|ms| ms * 3.0);
        run.stages[0].operations.push(one);
        let again = cosmark_report::plot::PlotStage { id: "s2-main".to_owned(), ..run.stages[0].clone() };
        run.stages.push(again);
    }
    let wishes = Wishes { metrics: vec![figure("response").unwrap()], ..Wishes::default() };
    let drawn = pictures(&runs, &["compare", "percentiles"], &wishes).unwrap().pictures;
    let bars: Vec<[String; 2]> = rows(named(&drawn, "compare-response"))
        .into_iter()
        .map(|row| [row[0].clone(), row[2].clone()])
        .collect();
    let names =
        ["s1-main read of main", "s1-main read of other", "s2-main read of main", "s2-main read of other"];
    let expected: Vec<[String; 2]> = ["fast", "slow"]
        .iter()
        .flat_map(|run| names.map(|name| [(*run).to_owned(), name.to_owned()]))
        .collect();
    assert_eq!(bars, expected);
    assert!(!named(&drawn, "compare-response").svg(Sheet::default()).contains("Whiskers"));
    let stages: BTreeSet<String> =
        rows(named(&drawn, "percentiles")).into_iter().map(|row| row[1].clone()).collect();
    assert_eq!(stages.into_iter().collect::<Vec<_>>(), ["s1-main", "s2-main"]);
    let by_pattern = Wishes { stages: vec!["m*n".to_owned()], ..wishes };
    let drawn = pictures(&runs, &["compare"], &by_pattern).unwrap().pictures;
    assert_eq!(rows(named(&drawn, "compare-response")).len(), expected.len());
}

#[test]
fn violins_of_operations_and_sizes_have_the_quantiles_of_the_run() {
    let (_home, runs) = by_size();
    let all = pictures(&runs, &["violin"], &Wishes::default()).unwrap().pictures;
    assert_eq!(
        all.iter().map(|picture| picture.name.as_str()).collect::<Vec<_>>(),
        ["violin", "violin-sizes-read"]
    );
    let told = |picture: &Picture, series: &str, name: &str, what: &str| -> f64 {
        let rows = rows(picture);
        let row = rows.iter().find(|row| row[0] == series && row[1] == name && row[3] == what);
        row.unwrap_or_else(|| panic!("{series} {name} {what}")).get(4).unwrap().parse().unwrap()
    };
    for (at, run) in ["fast", "slow"].into_iter().enumerate() {
        let result = &runs[at].stages[0].operations[0].result;
        let own = |what: &str| told(&all[0], "", run, what);
        for (what, ms) in [("p50", result.response_ms.p50), ("p99", result.response_ms.p99)] {
            assert!((own(what) / ms.unwrap() - 1.0).abs() < 2e-3, "{run} {what}: {} of {ms:?}", own(what));
        }
        for class in &result.size_classes {
            let (ours, theirs) =
                (told(&all[1], run, &class.label, "p50"), class.sums.response_ms.p50.unwrap());
            assert!((ours / theirs - 1.0).abs() < 2e-3, "{run} {}: {ours} of {theirs}", class.label);
        }
        // Of 1 to 100 ms: the large ones are among the slower half.
        let large = &result.size_classes[1].label;
        assert!(told(&all[1], run, large, "p25") > 50.0, "{large}");
    }
    // A shape for each of two runs, and of two runs in two classes.
    assert_eq!(places(&all[0].svg(Sheet::default()), "outline", "points").len(), 2);
    assert_eq!(places(&all[1].svg(Sheet::default()), "outline", "points").len(), 4);
    let widest = rows(&all[0])
        .iter()
        .filter(|row| row[3] == "outline")
        .map(|row| row[5].parse::<f64>().unwrap())
        .fold(0.0, f64::max);
    assert_eq!(widest, 1.0);
    let table = all[1].markdown().unwrap();
    assert!(table.contains("| 256 KiB..1 MiB | fast |") && table.contains("| slow |"), "{table}");
}

#[test]
fn a_violin_is_withheld_where_operations_are_too_few_or_times_too_coarse() {
    let (_home, runs) = mixed();
    // 39 operations, and times of about 10 ms in buckets of 10 ms.
    for run in [&runs[3..], &runs[2..3]] {
        let error = pictures(run, &["violin"], &Wishes::default()).unwrap_err();
        assert!(error.to_string().contains("a shape needs 100 operations"), "{error}");
    }
    let all = pictures(&[runs.into_iter().next().unwrap()], &["violin", "cdf"], &Wishes::default()).unwrap();
    assert!(all.left_out.is_empty(), "{:?}", all.left_out);
}

#[test]
fn repetitions_of_one_side_are_one_bar_with_its_interval() {
    let (_homes, mut runs) = repeated();
    let figure = figure("response").unwrap();
    let times: Vec<f64> = [90.0, 110.0, 190.0, 210.0].to_vec();
    for (run, ms) in runs.iter_mut().zip(times) {
        let operations = run.stages.iter_mut().flat_map(|stage| &mut stage.operations);
        operations.for_each(|operation| operation.result.response_ms.mean = Some(ms));
    }
    let options = Wishes { metrics: vec![figure], ..Wishes::default() };
    let drawn = pictures(&runs, &["compare"], &options).unwrap().pictures;
    let svg = drawn[0].svg(Sheet::default());
    let heights: Vec<f64> =
        places(&svg, "bar", "height").iter().map(|height| height.parse().unwrap()).collect();
    assert_eq!(heights.len(), 2, "a bar for each side");
    assert!((heights[1] / heights[0] - 2.0).abs() < 0.01, "{heights:?}");
    assert!(svg.contains("Whiskers: 95 % intervals"), "{svg}");
    // Mean 200, over 100; the interval is that of logarithms: t(0.975, 1) = 12.7062, and half of what they differ by.
    let (middle, reach) = ((1.9_f64 * 2.1).sqrt(), 12.706_2 * (210.0_f64 / 190.0).ln() / 2.0);
    let data = drawn[0].data();
    let line = data.lines().find(|line| line.starts_with("b,")).unwrap();
    let cells: Vec<f64> = line.split(',').skip(3).map(|cell| cell.parse().unwrap()).collect();
    assert!(
        (cells[0] - 2.0).abs() < 1e-9
            && (cells[1] - middle * (-reach).exp()).abs() < 1e-3
            && (cells[2] - middle * reach.exp()).abs() < 1e-3,
        "{line}"
    );
    let tex = drawn[0].latex().unwrap();
    // Both ends are said, since they are not equally far away.
    assert!(tex.contains("2 [1.058, 3.77"), "{tex}");
    let table = drawn[0].markdown().unwrap();
    assert!(table.contains("1.058, 3.77"), "{table}");
    // One that has no value is not left out in silence.
    let operations = runs[3].stages.iter_mut().flat_map(|stage| &mut stage.operations);
    operations.for_each(|operation| operation.result.response_ms.mean = None);
    let svg = pictures(&runs, &["compare"], &options).unwrap().pictures[0].svg(Sheet::default());
    let texts = svg.lines().filter(|line| line.starts_with("<text")).filter_map(|line| line.split_once('>'));
    let said: String = texts.map(|(_, text)| text.replace("</text>", " ")).collect();
    assert!(said.contains("Repetitions that have this value: b read 1 of 2."), "{said}");
}

#[test]
fn a_kind_without_data_is_said_and_the_others_are_drawn() {
    let (_home, runs) = mixed();
    let drawn = pictures(&runs[..1], &["cdf", "compare", "sizes"], &Wishes::default()).unwrap();
    assert!(
        drawn.pictures.iter().all(|picture| picture.name.starts_with("cdf-")) && !drawn.pictures.is_empty()
    );
    assert_eq!(drawn.left_out.len(), 2, "{:?}", drawn.left_out);
    assert!(drawn.left_out[0].starts_with("compare: give two runs"), "{:?}", drawn.left_out);
}

/// How large the numbers beside the axes of a drawing are on paper, pt.
fn sizes_of_numbers_pt(svg: &str) -> Vec<f64> {
    let value = |line: &str, key: &str| {
        line.split_once(&format!(" {key}=\"")).unwrap().1.split_once('"').unwrap().0.to_owned()
    };
    let head = svg.lines().find(|line| line.starts_with("<svg")).unwrap();
    let paper_pt: f64 = value(head, "width").trim_end_matches("pt").parse().unwrap();
    let units: f64 = value(head, "viewBox").split(' ').nth(2).unwrap().parse().unwrap();
    let is_number = |line: &&str| {
        let text = line.split_once('>').unwrap().1.trim_end_matches("</text>");
        line.starts_with("<text") && text.parse::<f64>().is_ok()
    };
    let size = |line: &str| value(line, "font-size").parse::<f64>().unwrap() * paper_pt / units;
    svg.lines().filter(|line| line.contains('>')).filter(is_number).map(size).collect()
}

#[test]
fn a_column_of_a_paper_has_its_width_text_and_resolution() {
    let (_home, runs) = mixed();
    let sheet = Sheet::new(8.5, 8.0).unwrap();
    assert!(Sheet::new(3.0, 30.0).is_none(), "text that leaves no room");
    let y =
        AxisWish { log: Some(true), bounds: (Some(0.5), Some(500.0)), label: Some("T & <ms>".to_owned()) };
    let options = Wishes { y, title: Some("A title".to_owned()), ..Wishes::default() };
    let all = pictures(&runs[..2], &["ecdf", "knee", "timeline", "ccdf"], &options).unwrap().pictures;
    assert!(all.len() > 3);
    for picture in &all {
        let svg = picture.svg(sheet);
        assert!(
            svg.contains("width=\"240.94pt\"")
                && svg.contains("T &amp; &lt;ms&gt;")
                && svg.contains("A title"),
            "{svg}"
        );
        for (width_cm, text_pt) in [(8.5, 8.0), (8.5, 5.5), (18.0, 8.0)] {
            let sizes = sizes_of_numbers_pt(&picture.svg(Sheet::new(width_cm, text_pt).unwrap()));
            let is_asked_for = |size_pt: &f64| (size_pt - text_pt).abs() < 0.01;
            assert!(
                sizes.len() > 2 && sizes.iter().all(is_asked_for),
                "{width_cm} cm, {text_pt} pt: {sizes:?}"
            );
        }
        let pdf = String::from_utf8_lossy(&picture.pdf(sheet).unwrap()).into_owned();
        assert!(pdf.contains("/MediaBox [0 0 240.9"), "{}", pdf.get(..400).unwrap_or_default());
    }
    let tables = pictures(&runs[..2], &["percentiles"], &options).unwrap().pictures;
    let svg = tables[0].svg(sheet);
    assert!(svg.contains("width=\"240.94pt\"") && svg.contains("A title"), "{svg}");
    assert!(tables[0].smaller_text_pt(sheet).is_some_and(|size_pt| (3.0..8.0).contains(&size_pt)));
    let wide = Sheet::new(40.0, 8.0).unwrap();
    assert!(tables[0].svg(wide).contains("width=\"1133.86pt\"") && tables[0].smaller_text_pt(wide).is_none());
    // Drawing so many pixels takes long: one of them.
    let png = all[0].png(sheet, 600.0).unwrap();
    let width = u32::from_be_bytes(png[16..20].try_into().unwrap());
    assert!(width.abs_diff(2008) <= 1, "8.5 cm at 600 dots per inch: {width}");
    let resolution = png.windows(4).position(|part| part == b"pHYs").unwrap();
    assert_eq!(u32::from_be_bytes(png[resolution + 4..resolution + 8].try_into().unwrap()), 23_622);
}

#[test]
fn words_of_every_picture_are_in_the_typeface_that_was_asked_for() {
    let (_home, runs) = mixed();
    let serif = typeface_of(vec![dejavu::serif::regular().to_vec()]).unwrap();
    let wishes = Wishes { typeface: Some(Arc::new(serif)), ..Wishes::default() };
    let drawn = |wishes: &Wishes| pictures(&runs[..1], &["ecdf", "percentiles"], wishes).unwrap().pictures;
    for (own, set) in drawn(&Wishes::default()).iter().zip(&drawn(&wishes)) {
        let svg = set.svg(Sheet::default());
        assert!(svg.contains("font-family=\"'DejaVu Serif', DejaVu Sans, "), "{svg}");
        assert_ne!(own.pdf(Sheet::default()).unwrap(), set.pdf(Sheet::default()).unwrap(), "{}", set.name);
        assert_eq!(own.data(), set.data());
    }
}

#[test]
fn shares_and_tails_add_up_and_a_heat_map_holds_every_operation() {
    let (_home, runs) = mixed();
    let of = |kind: &str| pictures(&runs[..1], &[kind], &Wishes::default()).unwrap().pictures[0].data();
    let column = |text: &str, at: usize| -> Vec<f64> {
        text.lines()
            .skip(1)
            .map(|line| line.rsplit(',').nth(2 - (at - 3)).unwrap().parse().unwrap())
            .collect()
    };
    let shares = column(&of("ecdf"), 3);
    assert!(shares.windows(2).all(|pair| pair[0] <= pair[1]) && shares.last() == Some(&1.0), "{shares:?}");
    let tail = column(&of("ccdf"), 3);
    assert!(tail.windows(2).all(|pair| pair[0] >= pair[1]), "{tail:?}");
    let least = tail.last().unwrap() * READS as f64;
    assert!((10.0..READS as f64 / 10.0).contains(&least.round()), "a tail ends where ten are left: {least}");
    let operations: f64 = column(&of("heat"), 3).iter().sum();
    assert!(operations >= READS as f64, "{operations}");
}

#[test]
fn text_in_a_png_is_drawn_without_fonts_of_the_machine() {
    let sheet = |text: &str| {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"80\" height=\"20\" font-family=\"DejaVu Sans\">\
             <rect width=\"80\" height=\"20\" fill=\"#fff\"/><text x=\"2\" y=\"15\">{text}</text></svg>"
        )
    };
    let (empty, written) =
        (png("empty", &sheet(""), 300.0).unwrap(), png("written", &sheet("µs 99.9 %"), 300.0).unwrap());
    assert_ne!(empty, written);
    assert!(png("broken", "<svg", 300.0).is_err());
}

#[test]
fn axes_have_units_that_suit_the_values() {
    let (_home, runs) = mixed();
    let all = pictures(&runs[2..], &["timeline"], &Wishes::default()).unwrap().pictures;
    for (name, label) in [
        ("timeline-main-read-throughput", "Throughput (operations/s)"),
        ("timeline-main-read-bandwidth", "Bandwidth (MB/s)"),
        ("timeline-main-read-response", "Mean response time (ms)"),
        ("timeline-main-read-success", "Success ratio (%)"),
    ] {
        assert!(named(&all, name).svg(Sheet::default()).contains(label), "{name}");
    }
    let svg = named(&all, "timeline-main-read-throughput").svg(Sheet::default());
    assert!(svg.contains("w3 mock-full") && svg.contains("w23 swift-real"), "both runs share the frame");
}

#[test]
fn failures_stand_below_a_rate() {
    let (_home, runs) = mixed();
    let all = pictures(&runs[..1], &["timeline"], &Wishes { only_fit: true, ..Wishes::default() })
        .unwrap()
        .pictures;
    assert!(
        named(&all, "timeline-main-read-throughput")
            .svg(Sheet::default())
            .contains("Failed operations: main read 0.99 %")
    );
}

#[test]
fn the_first_run_is_one_and_the_others_are_factors() {
    let (_home, runs) = mixed();
    let wishes = Wishes { metrics: vec![figure("response").unwrap()], ..Wishes::default() };
    let all = pictures(&runs[..2], &["compare"], &wishes).unwrap().pictures;
    let svg = all[0].svg(Sheet::default());
    let heights: Vec<f64> =
        places(&svg, "bar", "height").iter().map(|height| height.parse().unwrap()).collect();
    assert_eq!(heights.len(), 2);
    assert!((heights[1] / heights[0] - 2.0).abs() < 0.01, "{heights:?}");
    assert!(svg.contains(">1.00<") && svg.contains(">2.00<"));
}

#[test]
fn a_cdf_ends_where_ten_operations_lie_beyond() {
    let (_home, runs) = mixed();
    let all = pictures(&runs[3..], &["cdf"], &Wishes::default()).unwrap().pictures;
    // 39 reads: the curve ends at 29 of 39, far left of 90 %.
    let svg = named(&all, "cdf-read").svg(Sheet::default());
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
    let all = pictures(&runs[..3], &["percentiles"], &Wishes::default()).unwrap().pictures;
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
    assert!(error.to_string().contains("no stage w*; there are init, prepare, main, two, "), "{error}");
    // Also where no kind is named: these runs do have results.
    let every = |wishes: Wishes| pictures(&runs[2..3], &[], &wishes).unwrap_err().to_string();
    let text = every(Wishes { stages: vec!["w*".to_owned()], ..Wishes::default() });
    assert!(text.contains("no stage w*; there are init, "), "{text}");
    let text = every(Wishes { operations: vec!["head".to_owned()], ..Wishes::default() });
    assert!(text.contains("no operation head; there are "), "{text}");
    let error = asked(Wishes { metrics: vec![figure("p99").unwrap()], ..Wishes::default() }, "timeline");
    let text = error.to_string();
    assert!(text.contains("over time there are ") && text.contains("throughput, "), "{text}");
    let error = asked(Wishes::default(), "compare");
    assert!(error.to_string().contains("two runs or more"), "{error}");
}

#[test]
fn what_the_stars_stood_for_is_the_label() {
    let (_home, runs) = mixed();
    let wishes = Wishes { stages: vec!["m*n".to_owned(), "t*".to_owned()], ..Wishes::default() };
    let all = pictures(&runs[2..3], &["aggregate"], &wishes).unwrap().pictures;
    let svg = named(&all, "aggregate-write-throughput").svg(Sheet::default());
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

#[test]
fn the_share_of_successes_is_drawn_also_where_nothing_succeeded() {
    let home = tempfile::tempdir().unwrap();
    let runs = [PlotRun::open(&failed(home.path()), None).unwrap()];
    let drawn = pictures(&runs, &["timeline"], &Wishes::default()).unwrap().pictures;
    let names: Vec<&str> = drawn.iter().map(|picture| picture.name.as_str()).collect();
    assert_eq!(names, ["timeline-main-read-success"]);
    let values: Vec<f64> = rows(&drawn[0]).iter().map(|row| row[3].parse().unwrap()).collect();
    assert!(values.len() > 4 && values.iter().all(|value| *value == 0.0), "{values:?}");
    let svg = drawn[0].svg(Sheet::default());
    assert!(
        svg.contains(">100<") && svg.contains("Failed operations:") && svg.contains("main read 100 %"),
        "{svg}"
    );
}
