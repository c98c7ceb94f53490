//! What is joined to one line, which points of it stand for several stages, and what is marked beside it.

use cosmark_report::plot::{Picture, PlotRun, Sheet, Wishes, each_once, named as figure, pictures};

use crate::pictures::{mixed, rows};
use crate::support::{ours, quick};

/// A run of ours whose stages are the trials of a search over workers, with the rate of each.
fn searched(trials: &[(&str, u64, f64)]) -> (tempfile::TempDir, Vec<PlotRun>) {
    let (home, mut runs) = mixed();
    runs.truncate(1);
    let stage = runs[0].stages[0].clone();
    let trial = |(name, workers, rate): &(&str, u64, f64)| {
        let mut stage = stage.clone();
        (stage.id, stage.name) = (format!("s1-{name}"), (*name).to_owned());
        for operation in &mut stage.operations {
            operation.workers = Some(*workers);
            operation.result.throughput_per_s = Some(*rate);
        }
        stage
    };
    runs[0].stages = trials.iter().map(trial).collect();
    (home, runs)
}

#[test]
fn trials_of_a_search_that_are_made_again_are_one_point_with_its_interval() {
    let (_home, runs) = searched(&[
        ("main-w1", 1, 100.0),
        ("main-w4", 4, 330.0),
        ("main-w2", 2, 180.0),
        ("main-w2-confirm1", 2, 220.0),
        ("main-w4-again1", 4, 330.0),
        ("main-w1-2", 1, 100.0),
    ]);
    let wishes = || Wishes { metrics: vec![figure("throughput").unwrap()], ..Wishes::default() };
    let drawn = pictures(&runs, &["workers"], &wishes()).unwrap().pictures;
    assert_eq!(drawn.len(), 1, "one operation, one metric");
    let data = drawn[0].data();
    let points: Vec<&str> = data.lines().skip(1).filter(|line| !line.is_empty()).collect();
    assert_eq!(points.len(), 3, "a point for each number of workers: {data}");
    // The mean of 180 and 220; the interval is that of logarithms, whose half is 12.706 times ln(220 / 180) / 2.
    let of_two = points.iter().find(|line| line.contains(",2,")).unwrap();
    assert!(of_two.contains(",200,55.6") && of_two.contains(",712."), "{data}");
    // The same holds for a knee, over rates too: one point for each load.
    assert_eq!(points_of_lines(&pictures(&runs, &["knee"], &Wishes::default()).unwrap().pictures[0])[0].1, 3);
    let (_home, rates) =
        searched(&[("main-rate50", 9, 50.0), ("main-rate90", 9, 90.0), ("main-rate90-confirm1", 9, 80.0)]);
    let knee = &pictures(&rates, &["knee"], &Wishes::default()).unwrap().pictures[0];
    assert_eq!(points_of_lines(knee)[0].1, 2, "{}", knee.data());
    // One search is one workload: nothing is the best of several.
    let refused = pictures(&runs, &["maximum"], &wishes()).err().unwrap();
    assert!(refused.to_string().contains("several workloads"), "{refused}");
    // A stage that somebody called so is no trial made again, and a workload of its own.
    let (_home, runs) = searched(&[("main-w1", 1, 100.0), ("main-w2", 2, 180.0), ("main-w2-big", 2, 90.0)]);
    assert!(pictures(&runs, &["maximum"], &wishes()).is_ok());
}

#[test]
fn a_run_that_is_named_again_is_no_repetition_however_it_is_written() {
    let home = tempfile::tempdir().unwrap();
    let (one, other) = (ours(home.path(), "again", 4, 1), ours(home.path(), "again", 4, 2));
    let link = home.path().join("link");
    std::os::unix::fs::symlink(&one, &link).unwrap();
    let spelled = one.join("..").join(one.file_name().unwrap());
    let open = |(series, path): (&str, &std::path::PathBuf)| {
        let mut run = PlotRun::open(path, None).unwrap();
        (run.label, run.series) = (format!("{series} {}", path.display()), series.to_owned());
        run
    };
    let named = [("a", &one), ("a", &other), ("a", &link), ("a", &spelled), ("b", &one)].map(open);
    let (once, said) = each_once(named.into());
    assert_eq!(once.iter().map(|run| run.series.as_str()).collect::<Vec<_>>(), ["a", "a", "b"]);
    let wanted = [&link, &spelled]
        .map(|path| format!("a {} is named twice: it is one repetition and is drawn once", path.display()));
    assert_eq!(said, wanted);
}

#[test]
fn rounds_of_a_repeated_stage_are_repetitions_in_every_picture() {
    let rounds = |factor: f64| {
        let of = |(name, workers, rate): &(&'static str, u64, f64)| (*name, *workers, rate * factor);
        let stages = [
            ("main-workers2-r1", 2, 180.0),
            ("main-workers1-r1", 1, 100.0),
            ("main-workers1-r2", 1, 100.0),
            ("main-workers2-r2", 2, 220.0),
        ];
        searched(&stages.iter().map(of).collect::<Vec<_>>())
    };
    let (_home, mut runs) = rounds(1.0);
    let wishes = || Wishes { metrics: vec![figure("throughput").unwrap()], ..Wishes::default() };
    let drawn = pictures(&runs, &["workers"], &wishes()).unwrap().pictures;
    let found = rows(&drawn[0]);
    let points: Vec<[&str; 2]> = found.iter().map(|row| [row[2].as_str(), row[3].as_str()]).collect();
    assert_eq!(points, [["1", "100"], ["2", "200"]], "{found:?}");
    let knee = &pictures(&runs, &["knee"], &Wishes::default()).unwrap().pictures[0];
    assert_eq!(
        points_of_lines(knee).iter().map(|(_, points)| *points).collect::<Vec<_>>(),
        [2],
        "{}",
        knee.data()
    );
    let refused = pictures(&runs, &["maximum"], &wishes()).err().unwrap();
    assert!(refused.to_string().contains("several workloads"), "one workload: {refused}");
    // Beside a system of half the rate: a bar for each number of workers, with intervals.
    let (_other_home, other) = rounds(0.5);
    runs.extend(other);
    for (run, series) in runs.iter_mut().zip(["a", "b"]) {
        run.series = series.to_owned();
    }
    let bars = &pictures(&runs, &["compare"], &wishes()).unwrap().pictures[0];
    let ratios: Vec<f64> =
        rows(bars).iter().filter(|row| row[0] == "b").map(|row| row[3].parse().unwrap()).collect();
    assert_eq!(ratios, [0.5, 0.5], "{}", bars.data());
    let svg = bars.svg(Sheet::default());
    assert!(svg.contains("Whiskers: 95 %") && !svg.contains("without repetitions"), "{svg}");
    let best = &pictures(&runs, &["maximum"], &wishes());
    assert!(best.is_err(), "one workload on each side");
    // Two stages that somebody called so are two workloads.
    let (_home, named_so) = searched(&[("x-r1", 1, 100.0), ("x-r2", 4, 180.0)]);
    assert!(pictures(&named_so, &["workers"], &wishes()).is_err(), "no line goes through both");
}

/// Two sizes at 1, 2 and 4 workers, with the rate of each.
const LADDERS: [(&str, u64, f64); 6] = [
    ("small-1", 1, 100.0),
    ("small-2", 2, 180.0),
    ("small-4", 4, 330.0),
    ("big-1", 1, 30.0),
    ("big-2", 2, 50.0),
    ("big-4", 4, 40.0),
];

/// Runs of one workload with these stages: under the name `twice` at 0.9 and 1.1 of these rates, under `once` at the rates
/// themselves; each worker costs 10 ms, likewise.
fn repeated(stages: &[(&str, u64, f64)]) -> (Vec<tempfile::TempDir>, Vec<PlotRun>) {
    let of = |(series, factor): (&str, f64)| {
        let (home, mut runs) = searched(stages);
        let mut run = runs.remove(0);
        run.series = series.to_owned();
        for operation in run.stages.iter_mut().flat_map(|stage| &mut stage.operations) {
            let workers = operation.workers.unwrap() as f64;
            let result = &mut operation.result;
            result.throughput_per_s = result.throughput_per_s.map(|rate| rate * factor);
            result.response_ms.p95 = Some(workers * 10.0 * factor);
        }
        (home, run)
    };
    [("twice", 0.9), ("twice", 1.1), ("once", 1.0)].map(of).into_iter().unzip()
}

#[test]
fn repeated_runs_of_one_name_are_one_point_with_its_interval_in_lines_and_maxima() {
    let (_homes, runs) = repeated(&LADDERS);
    let small = [("small", "1", 100.0), ("small", "2", 180.0), ("small", "4", 330.0)];
    let big = [("big", "1", 30.0), ("big", "2", 50.0), ("big", "4", 40.0)];
    let knee = [("small", "100", 10.0), ("small", "180", 20.0), ("small", "330", 40.0)];
    let knee_of_big = [("big", "30", 10.0), ("big", "50", 20.0), ("big", "40", 40.0)];
    // That of logarithms: t(0.975, 1) = 12.7062, and half of what they differ by.
    let (middle, reach) = ((0.9_f64 * 1.1).sqrt(), 12.706_2 * (1.1_f64 / 0.9).ln() / 2.0);
    let interval = [middle * (-reach).exp(), middle * reach.exp()];
    for (kind, metric, expected) in [
        ("workers", "throughput", [small, big].concat()),
        ("maximum", "throughput", vec![("", "small", 330.0), ("", "big", 50.0)]),
        ("knee", "p95", [knee, knee_of_big].concat()),
    ] {
        let wishes = Wishes { metrics: vec![figure(metric).unwrap()], ..Wishes::default() };
        let drawn = pictures(&runs, &[kind], &wishes).unwrap().pictures;
        assert_eq!(drawn.len(), 1, "{kind}");
        let found = rows(&drawn[0]);
        assert_eq!(
            found.len(),
            2 * expected.len(),
            "{kind}: a point at each place under each name: {found:?}"
        );
        for (name, ends) in [("twice", &interval[..]), ("once", &interval[..0])] {
            for (group, at, value) in &expected {
                let line = if group.is_empty() { name.to_owned() } else { format!("{name}: {group}") };
                let place: Result<f64, _> = at.parse();
                let is_there = |cell: &str| match (&place, cell.parse::<f64>()) {
                    (Ok(wanted), Ok(own)) => (own / wanted - 1.0).abs() < 1e-9,
                    _ => cell == *at,
                };
                let row = found.iter().find(|row| row[0] == line && is_there(&row[2]));
                let row = row.unwrap_or_else(|| panic!("{kind}: no {line} at {at} in {found:?}"));
                let cells: Vec<f64> = row[3..].iter().filter_map(|cell| cell.parse().ok()).collect();
                let wanted: Vec<f64> =
                    std::iter::once(*value).chain(ends.iter().map(|end| value * end)).collect();
                let is_same = |(own, wanted): (&f64, &f64)| (own / wanted - 1.0).abs() < 1e-3;
                assert!(
                    cells.len() == wanted.len() && cells.iter().zip(&wanted).all(is_same),
                    "{kind}: {row:?} is not {wanted:?}"
                );
            }
        }
        assert!(drawn[0].svg(Sheet::default()).contains("Whiskers: 95 % intervals"), "{kind}");
    }
}

#[test]
fn a_workload_has_a_maximum_where_it_has_several_stages_to_choose_from() {
    let wishes = || Wishes { metrics: vec![figure("throughput").unwrap()], ..Wishes::default() };
    let maximum = |runs: &[PlotRun]| -> Result<Vec<[String; 2]>, String> {
        let drawn = pictures(runs, &["maximum"], &wishes()).map_err(|error| error.to_string())?.pictures;
        Ok(rows(&drawn[0]).into_iter().map(|row| [row[0].clone(), row[2].clone()]).collect())
    };
    let apart = [("small", 1, 100.0), ("big", 2, 50.0), ("huge", 4, 10.0)];
    let (_home, run) = searched(&apart);
    let refused = maximum(&run).unwrap_err();
    assert!(refused.contains("several workloads"), "{refused}");
    // Nor are its stages to be chosen from because it ran again.
    let (_homes, runs) = repeated(&apart);
    let refused = maximum(&runs[..2]).unwrap_err();
    assert!(refused.contains("several workloads"), "{refused}");
    // Beside another system each has its like.
    let of = |line: &str, names: &[&str]| -> Vec<[String; 2]> {
        names.iter().map(|name| [line.to_owned(), (*name).to_owned()]).collect()
    };
    let names = ["small", "big", "huge"];
    assert_eq!(maximum(&runs), Ok([of("twice", &names), of("once", &names)].concat()));
    // The sizes of a matrix are the workloads of one run, which is one line.
    let (_home, matrix) = searched(&LADDERS);
    assert_eq!(maximum(&matrix), Ok(of(&matrix[0].series, &["small", "big"])));
}

/// The series of a picture's data and how many points each has, in order.
fn points_of_lines(picture: &Picture) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for row in rows(picture) {
        match found.last_mut() {
            Some((name, count)) if *name == row[0] => *count += 1,
            _ => found.push((row[0].clone(), 1)),
        }
    }
    found
}

#[test]
fn a_knee_has_a_line_for_each_size_of_a_matrix_and_one_for_a_ladder() {
    let of = |stages: &[(&str, u64)]| {
        let trials: Vec<(&str, u64, f64)> = stages
            .iter()
            .zip(1_u32..)
            .map(|((name, workers), at)| (*name, *workers, f64::from(at)))
            .collect();
        let (_home, runs) = searched(&trials);
        points_of_lines(&pictures(&runs, &["knee"], &Wishes::default()).unwrap().pictures[0])
    };
    let matrix = of(&[
        ("main-size4-workers1", 1),
        ("main-size4-workers2", 2),
        ("main-size4-workers4", 4),
        ("main-size64-workers1", 1),
        ("main-size64-workers2", 2),
        ("main-size64-workers4", 4),
    ]);
    let three = |name: &str| (name.to_owned(), 3);
    assert_eq!(matrix, [three("main-size4-workers"), three("main-size64-workers")]);
    // The axes may stand in any order.
    let turned = of(&[
        ("main-workers1-size4", 1),
        ("main-workers1-size64", 1),
        ("main-workers2-size4", 2),
        ("main-workers2-size64", 2),
        ("main-workers4-size4", 4),
        ("main-workers4-size64", 4),
    ]);
    assert_eq!(turned, [three("main-size4"), three("main-size64")]);
    // Stages of several rates are one ladder, whatever their workers are.
    let ladder = of(&[("load100", 4), ("load400", 4), ("load450", 1)]);
    assert_eq!(ladder.len(), 1, "{ladder:?}");
    assert_eq!(ladder[0].1, 3);
}

#[test]
fn a_timeline_has_every_interval_of_less_than_a_second_at_its_time() {
    let home = tempfile::tempdir().unwrap();
    let run = PlotRun::open(&quick(home.path()), None).unwrap();
    let rows: Vec<(f64, u64)> =
        run.timeline(0).unwrap().iter().map(|(at, entry)| (*at, entry.operations[0].count)).collect();
    let wanted: Vec<(f64, u64)> =
        (0..20_u32).map(|at| (f64::from(at) * 0.25, u64::from(2 + at % 2))).collect();
    assert_eq!(rows, wanted, "all but the rest behind the load");
    // What is marked lies where it was: the axis begins a quarter of a second behind the load.
    std::fs::remove_file(run.record().unwrap().path.join("events.csv")).ok();
    let file = run.record().unwrap().path.join("run.json");
    let mut record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    record["events"] =
        serde_json::json!([{"at": "2026-11-21T18:54:02.7Z", "kind": "note", "stage": null, "text": "now"}]);
    std::fs::write(&file, record.to_string()).unwrap();
    let run = PlotRun::open(file.parent().unwrap(), None).unwrap();
    assert_eq!(run.marks(0).unwrap(), [(2.5, "now".to_owned())]);
    let wishes = Wishes { metrics: vec![figure("throughput").unwrap()], ..Wishes::default() };
    let drawn = pictures(&[run], &["timeline"], &wishes).unwrap().pictures;
    let svg = drawn[0].svg(Sheet::default());
    let xs = |line: &str| -> Vec<f64> {
        let points = line.split_once("points=\"").unwrap().1.split_once('"').unwrap().0;
        points.split(' ').map(|point| point.split_once(',').unwrap().0.parse().unwrap()).collect()
    };
    let lines: Vec<Vec<f64>> = svg.lines().filter(|line| line.starts_with("<polyline")).map(xs).collect();
    let curve = lines.iter().find(|xs| xs.len() > 2).unwrap();
    let mark = lines.iter().find(|xs| xs.len() == 2).unwrap_or_else(|| panic!("{svg}"));
    let place = (mark[0] - curve[0]) / (curve[curve.len() - 1] - curve[0]);
    assert!((place - 2.25 / 4.75).abs() < 0.002, "{place}: {svg}");
}

#[test]
fn a_timeline_marks_notes_faults_and_drivers_that_came_back() {
    let home = tempfile::tempdir().unwrap();
    let path = ours(home.path(), "eventful", 4, 1);
    let mut record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path.join("run.json")).unwrap()).unwrap();
    let stage = record["stages"][0]["id"].clone();
    let event = |at: &str, kind: &str, stage: &serde_json::Value, text: &str| {
        let at = format!("2026-11-21T{at}Z");
        serde_json::json!({"at": at, "kind": kind, "stage": stage, "text": text})
    };
    let nowhere = serde_json::Value::Null;
    record["events"] = serde_json::json!([
        event("18:54:00", "stage", &stage, "load begins"),
        event("18:54:05", "fault", &stage, "disk: the device is gone"),
        event("18:54:06", "command", &stage, "disk: printed"),
        event("18:54:10", "note", &nowhere, "fan of node 3 swapped"),
        event("18:54:15", "driver", &stage, "driver d2 is back"),
        event("18:59:00", "note", &nowhere, "after the run"),
    ]);
    std::fs::write(path.join("run.json"), record.to_string()).unwrap();
    std::fs::remove_file(path.join("events.csv")).ok();
    let run = PlotRun::open(&path, None).unwrap();
    let marks = run.marks(0).unwrap();
    let wanted = [
        (5.0, "disk: the device is gone".to_owned()),
        (10.0, "fan of node 3 swapped".to_owned()),
        (15.0, "driver d2 is back".to_owned()),
    ];
    assert_eq!(marks, wanted);
    let drawn = pictures(&[run], &["timeline"], &Wishes::default()).unwrap().pictures;
    assert!(drawn[0].svg(Sheet::default()).contains("fan of node 3 swapped"));
}
