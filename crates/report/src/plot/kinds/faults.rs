//! What faults cost: one picture for each fault, in which the rates of all stores lie on top of each other from when it was asked
//! for, and one table with a row for each store and fault. Which faults of two stores are the same says `compare`.

use cosmark_archive::Run;
use cosmark_metrics::{FaultResult, SLOT_FIGURES, SlotResult};
use cosmark_workload::units::rounded_bytes;

use super::{caption_of, distinct, title};
use crate::compare::{FaultBeside, FaultCell, FaultSide, FaultsBeside, Loaded, faults_beside};
use crate::plot::chart::{Axis, Chart, Mark, Scale, Series};
use crate::plot::table::TextTable;
use crate::plot::{Picture, PlotError, PlotRun, Wishes};

/// The columns of the table after store, load, fault and slots: figures, and their heads.
const COLUMNS: [(&str, &str); 14] = [
    ("landed_after_s", "landed after"),
    ("first_error_after_s", "first failure"),
    ("noticed_after_s", "noticed"),
    ("depth", "depth"),
    ("lost_operations", "lost operations"),
    ("lost_bytes", "lost bytes"),
    ("below_tenth_s", "below 10 %"),
    ("beyond_limit_s", "beyond the limit"),
    ("p99_ms", "p99 inside"),
    ("back_after_s", "back after"),
    ("whole_after_s", "whole after"),
    ("rebuild_lost_operations", "lost to rebuilding"),
    ("resiliency", "resiliency"),
    ("manual_steps", "steps to heal"),
];

/// A picture for each fault, and the table of all.
pub fn faults(runs: &[PlotRun], options: &Wishes) -> Result<Vec<Picture>, PlotError> {
    let names = distinct(runs.iter().map(|run| run.series.as_str()));
    let of_series = |name: &&str| -> Vec<Loaded> {
        runs.iter().filter(|run| run.series == *name).map(|run| loaded(run, options)).collect()
    };
    let sides: Vec<Vec<Loaded>> = names.iter().map(of_series).collect();
    let Some(mut beside) = faults_beside(&sides) else {
        let why = "nothing was made to fail in these stages; `faults:` of a stage does that";
        return Err(PlotError::Nothing(why.to_owned()));
    };
    for (side, name) in beside.sides.iter_mut().zip(&names) {
        side.side = (*name).to_owned();
    }
    let mut pictures = Vec::new();
    for fault in &beside.faults {
        let lines: Vec<Line<'_>> = beside
            .sides
            .iter()
            .zip(&sides)
            .zip(&fault.names)
            .enumerate()
            .filter_map(|(look, ((side, runs), name))| Line::of(look, side, runs, name.as_deref()?))
            .collect();
        if let Some(chart) = chart(fault, &lines, options) {
            pictures.push(Picture::chart(format!("faults-{}", fault.fault), chart));
        }
    }
    pictures.push(Picture::table("faults".to_owned(), table(&beside, options), csv(&beside)));
    Ok(pictures)
}

/// The faults of the stages of a run that are meant.
fn loaded(run: &PlotRun, options: &Wishes) -> Loaded {
    let of = |record: &Run| {
        let stages = record.record.stages.iter().zip(&run.stages);
        let meant = stages.filter(|(_, stage)| caption_of(stage, options).is_some());
        meant
            .flat_map(|(stage, _)| stage.faults.iter().map(|fault| (stage.id.clone(), fault.clone())))
            .collect()
    };
    Loaded { label: run.label.clone(), faults: run.record().map(of).unwrap_or_default(), ..Loaded::default() }
}

/// A slot that counts, with the rate without a fault of its stage.
struct Course<'a> {
    slot: &'a SlotResult,
    level_per_s: f64,
}

impl Course<'_> {
    /// Seconds since the fault was asked for, and the rate in percent of that without a fault.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let slot = self.slot;
        let values = slot.course_per_s.iter().enumerate();
        values.map(move |(at, rate)| {
            let middle_s = slot.course_from_s + (float(at) + 0.5) * slot.course_step_s;
            (middle_s - slot.from_s, 100.0 * rate / self.level_per_s)
        })
    }
}

/// A store in a picture.
struct Line<'a> {
    look: usize,
    name: &'a str,
    level_per_s: Option<f64>,
    slots: usize,
    courses: Vec<Course<'a>>,
}

impl<'a> Line<'a> {
    fn of(look: usize, side: &'a FaultSide, runs: &'a [Loaded], fault: &str) -> Option<Self> {
        let own: Vec<&FaultResult> = runs
            .iter()
            .flat_map(|run| run.faults.iter().map(|(_, fault)| fault))
            // Names for people have no signs that a terminal obeys; those of the archive may.
            .filter(|other| other.name.replace(char::is_control, " ") == fault)
            .collect();
        let course = |fault: &'a FaultResult, slot: &'a SlotResult| {
            let level_per_s = fault.healthy.as_ref()?.level_per_s;
            let is_drawn = level_per_s > 0.0 && slot.void.is_none() && slot.course_step_s > 0.0;
            (is_drawn && slot.course_per_s.len() > 1).then_some(Course { slot, level_per_s })
        };
        let courses: Vec<Course<'_>> =
            own.iter().flat_map(|fault| fault.slots.iter().filter_map(|slot| course(fault, slot))).collect();
        let slots = own.iter().map(|fault| fault.slots.len()).sum();
        (!courses.is_empty()).then_some(Self {
            look,
            name: &side.side,
            level_per_s: side.level_per_s,
            slots,
            courses,
        })
    }

    /// The mean of the slots, in bins as long as their longest steps.
    fn mean(&self) -> Vec<(f64, f64)> {
        let step_s = self.courses.iter().map(|course| course.slot.course_step_s).fold(1.0, f64::max);
        let mut bins = std::collections::BTreeMap::<i64, Vec<f64>>::new();
        for course in &self.courses {
            let mut own = std::collections::BTreeMap::<i64, (f64, f64)>::new();
            for (at_s, share) in course.points().filter(|(_, share)| share.is_finite()) {
                #[expect(clippy::cast_possible_truncation, reason = "some thousand seconds")]
                let sum = own.entry((at_s / step_s).floor() as i64).or_default();
                *sum = (sum.0 + share, sum.1 + 1.0);
            }
            for (bin, (sum, count)) in own {
                bins.entry(bin).or_default().push(sum / count);
            }
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / float(values.len());
        #[expect(clippy::cast_precision_loss, reason = "some thousand bins")]
        let place = |bin: i64| (bin as f64 + 0.5) * step_s;
        bins.into_iter().map(|(bin, values)| (place(bin), mean(&values))).collect()
    }

    /// When healing began, mean of the slots; `None` for slots without a fault.
    fn healing_s(&self) -> Option<f64> {
        let times: Vec<f64> =
            self.courses.iter().filter_map(|course| Some(course.slot.heal_s? - course.slot.from_s)).collect();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / float(times.len()))
    }
}

/// Marks of healing that lie closer together than this share of the picture are one.
const NEAR: f64 = 0.03;
/// Of the picture's width: half of what a sign of a mark's word takes.
const HALF_A_SIGN: f64 = 0.0052;

/// `None` where no store has a slot that counts.
fn chart(fault: &FaultBeside, lines: &[Line<'_>], options: &Wishes) -> Option<Chart> {
    let mut series = Vec::new();
    for line in lines {
        if line.courses.len() > 1 && !options.only_fit {
            for course in &line.courses {
                series.push(Series::new("", line.look, Mark::Thin, course.points().collect()));
            }
        }
        series.push(Series::new(line.name, line.look, Mark::Line, line.mean()));
    }
    let places = || series.iter().flat_map(|one: &Series| &one.points);
    let from_s = places().map(|(x, _)| *x).fold(f64::INFINITY, f64::min).floor();
    let to_s = places().map(|(x, _)| *x).fold(f64::NEG_INFINITY, f64::max).ceil();
    let top = places().map(|(_, y)| *y).fold(100.0, f64::max);
    if !(from_s < to_s && top.is_finite()) {
        return None;
    }
    series.push(Series::new("", 2, Mark::Guide, vec![(from_s, 100.0), (to_s, 100.0)]));
    let mut marks: Vec<(f64, String)> = Vec::new();
    let healing: Vec<(f64, &str)> =
        lines.iter().filter_map(|line| Some((line.healing_s()?, line.name))).collect();
    if !healing.is_empty() {
        marks.push((0.0, "made".to_owned()));
    }
    let near = |a: f64, b: f64| (a - b).abs() <= NEAR * (to_s - from_s);
    let is_one = healing.iter().all(|(at_s, _)| healing.first().is_some_and(|first| near(first.0, *at_s)));
    for (at_s, name) in &healing {
        let text = if is_one { "healing".to_owned() } else { format!("healing {name}") };
        if !marks.iter().any(|(other_s, word)| *word == text && near(*other_s, *at_s)) {
            marks.push((*at_s, text));
        }
    }
    for (step, (at_s, word)) in marks.into_iter().enumerate() {
        let mut mark = Series::new("", 2, Mark::Guide, vec![(at_s, 0.0), (at_s, top)]);
        // Beside its line; one below the other, so that words of marks that are near do not cover each other.
        let beside_s = at_s + (to_s - from_s) * (0.01 + HALF_A_SIGN * float(word.chars().count()));
        mark.words = vec![(beside_s, top * (1.0 - 0.06 * float(step)), word)];
        series.push(mark);
    }
    let mut x = Axis::new("Time since the fault was asked for (s)", Scale::FromZero);
    x.bounds = (Some(from_s), Some(to_s));
    let each = |line: &Line<'_>| {
        let level = line.level_per_s.map_or(String::new(), |level| format!(", 100 % = {level:.1}/s"));
        format!("{}: {} of {} slots count{level}", line.name, line.courses.len(), line.slots)
    };
    let thin = if options.only_fit { "" } else { "Thin: each slot. " };
    Some(Chart {
        title: title(options, format!("Operations while it fails: {}", fault.fault)),
        x,
        left: Axis::new("Operations, of those without a fault (%)", Scale::FromZero),
        right: None,
        series,
        note: format!("{thin}Bold: their mean. {}.", lines.iter().map(each).collect::<Vec<_>>().join("; ")),
    })
}

/// A row for each store and fault, store by store.
fn table(beside: &FaultsBeside, options: &Wishes) -> TextTable {
    // A figure that no fault of any store has needs no column.
    let is_known = |figure: &str| {
        let rows = beside.faults.iter().flat_map(|fault| &fault.rows);
        rows.filter(|row| row.figure == figure)
            .any(|row| row.cells.iter().flatten().any(|cell| cell.mean.is_some()))
    };
    let columns: Vec<_> = COLUMNS.iter().filter(|(figure, _)| is_known(figure)).collect();
    let heads = ["store", "load", "fault", "slots that count"].into_iter();
    let mut rows = Vec::new();
    for (at, side) in beside.sides.iter().enumerate() {
        for fault in &beside.faults {
            let Some(Some(name)) = fault.names.get(at) else { continue };
            let count = |counts: &[u32]| counts.get(at).copied().unwrap_or_default();
            let (slots, void) = (count(&fault.slots), count(&fault.void));
            let load = side.level_per_s.map_or("-".to_owned(), |level| format!("{level:.1}/s"));
            let cells = columns.iter().map(|(figure, _)| {
                let row = fault.rows.iter().find(|row| row.figure == *figure);
                let cell = row.and_then(|row| Some((row.cells.get(at)?.as_ref()?, row.unit.as_str())));
                // Nothing falls below nothing, whatever few slots let an interval say.
                let most = if *figure == "depth" { 1.0 } else { f64::INFINITY };
                cell.map_or_else(|| "-".to_owned(), |(cell, unit)| text(cell, unit, most))
            });
            let own = [side.side.clone(), load, name.clone(), format!("{slots} of {}", slots + void)];
            rows.push(own.into_iter().chain(cells).collect());
        }
    }
    let dips = |side: &FaultSide| {
        let most = side.false_dips_share_at_most?;
        let (side, found, of) = (&side.side, side.false_dips, side.stretches);
        Some(format!("{side} {found} of {of} (at most {:.0} %)", most * 100.0))
    };
    let dips = beside.sides.iter().filter_map(dips).collect::<Vec<_>>().join(", ");
    let dips = if dips.is_empty() { dips } else { format!(" Dips where nothing failed: {dips}.") };
    TextTable {
        title: title(options, "What the faults cost".to_owned()),
        head: heads.chain(columns.iter().map(|row| row.1)).map(str::to_owned).collect(),
        names: 3,
        rows,
        note: format!(
            "Means of the slots that count, with 95 % intervals; times from when the fault was asked for. - = not known, or it \
             did not happen; the CSV says why.{dips}"
        ),
    }
}

/// `17 % [0, 91]`.
fn text(cell: &FaultCell, unit: &str, most: f64) -> String {
    let Some(mean) = cell.mean else { return "-".to_owned() };
    let (size, word, digits) = match unit {
        "share" => (100.0, " %", 0),
        "s" => (1.0, " s", 1),
        "ms" => (1.0, " ms", 0),
        _ => (1.0, "", 0),
    };
    // Each bound has a unit of its own where they are bytes: they may reach from some kB to some GB.
    let plain = |value: f64| match unit {
        "bytes" => rounded_bytes(value),
        _ => format!("{:.digits$}", value * size),
    };
    match (cell.low, cell.high.map(|high| high.min(most))) {
        (Some(low), Some(high)) if high > low => {
            format!("{}{word} [{}, {}]", plain(mean), plain(low), plain(high))
        }
        _ => format!("{}{word}", plain(mean)),
    }
}

/// Every figure of every store and fault, a line each, with why it is not known (RFC 4180).
fn csv(beside: &FaultsBeside) -> String {
    let head = [
        "store",
        "level_per_s",
        "fault",
        "name",
        "slots",
        "void",
        "figure",
        "unit",
        "mean",
        "low",
        "high",
        "of_slots",
        "reason",
    ];
    let mut out = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    // Writing to memory cannot fail.
    drop(out.write_record(head));
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for (at, side) in beside.sides.iter().enumerate() {
        for fault in &beside.faults {
            let Some(Some(name)) = fault.names.get(at) else { continue };
            let count = |counts: &[u32]| counts.get(at).copied().unwrap_or_default().to_string();
            // In the order of the figures, also those that no store has.
            for figure in SLOT_FIGURES {
                let Some(row) = fault.rows.iter().find(|row| row.figure == figure.figure) else { continue };
                let Some(Some(cell)) = row.cells.get(at) else { continue };
                let line = [
                    side.side.clone(),
                    number(side.level_per_s),
                    fault.fault.clone(),
                    name.clone(),
                    count(&fault.slots),
                    count(&fault.void),
                    row.figure.clone(),
                    row.unit.clone(),
                    number(cell.mean),
                    number(cell.low),
                    number(cell.high),
                    cell.slots.to_string(),
                    cell.reason.clone().unwrap_or_default(),
                ];
                drop(out.write_record(line.iter().map(|cell| cosmark_archive::harmless(cell).into_owned())));
            }
        }
    }
    out.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "slots and bins of a run")]
fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use cosmark_metrics::HealthyResult;

    use super::*;
    use crate::plot::Sheet;

    /// A slot of 60 s whose fault begins at its 10th second and is healed at its 30th: the rate falls to `share` of 50/s between.
    fn slot(number: u32, from_s: f64, share: f64) -> SlotResult {
        SlotResult {
            number,
            from_s,
            landed_s: Some(from_s + 0.5),
            heal_s: Some(from_s + 20.0),
            depth: Some(1.0 - share),
            course_from_s: from_s - 10.0,
            course_step_s: 1.0,
            course_per_s: (0..60)
                .map(|at| if (10..30).contains(&at) { 50.0 * share } else { 50.0 })
                .collect(),
            ..SlotResult::default()
        }
    }

    fn side(label: &str, name: &str, kind: &str, what: &str, slots: Vec<SlotResult>) -> Vec<Loaded> {
        let healthy = Some(HealthyResult { level_per_s: 50.0, ..HealthyResult::default() });
        let fault = FaultResult {
            name: name.to_owned(),
            kind: kind.to_owned(),
            what: what.to_owned(),
            healthy,
            slots,
            ..FaultResult::default()
        };
        vec![Loaded {
            label: label.to_owned(),
            faults: vec![("s1-main".to_owned(), fault)],
            ..Loaded::default()
        }]
    }

    fn stores() -> Vec<Vec<Loaded>> {
        let gone = SlotResult { void: Some("x".to_owned()), ..slot(3, 300.0, 0.0) };
        vec![
            side(
                "a",
                "gateway away",
                "network",
                "no packet passes to and from 10.0.0.5:80",
                vec![slot(1, 100.0, 0.0), slot(2, 200.0, 0.5), gone],
            ),
            side("b", "=node", "bed", "testbeds/swift/faults partition node.2", vec![slot(1, 50.0, 1.0)]),
        ]
    }

    fn lines<'a>(beside: &'a FaultsBeside, stores: &'a [Vec<Loaded>]) -> Vec<Line<'a>> {
        let all = beside.sides.iter().zip(stores).zip(&beside.faults[0].names).enumerate();
        all.filter_map(|(look, ((side, runs), name))| Line::of(look, side, runs, name.as_deref()?)).collect()
    }

    #[test]
    fn the_rates_of_two_stores_lie_on_top_of_each_other_from_when_the_fault_was_asked_for() {
        let stores = stores();
        let beside = faults_beside(&stores).unwrap();
        // Other names, the same thing done: both were cut off.
        assert_eq!(beside.faults.len(), 1, "{:?}", beside.faults);
        assert_eq!(beside.faults[0].fault, "cut off");
        let lines = lines(&beside, &stores);
        let mean = lines[0].mean();
        assert_eq!((mean[0], mean.len()), ((-9.5, 100.0), 60));
        let at = |second: f64| mean.iter().find(|(at_s, _)| *at_s == second).unwrap().1;
        // One slot falls to nothing, one to a half; the one that is void is in no mean.
        assert_eq!((at(-0.5), at(0.5), at(19.5), at(20.5)), (100.0, 25.0, 25.0, 100.0));
        let chart = chart(&beside.faults[0], &lines, &Wishes::default()).unwrap();
        let bold: Vec<&str> =
            chart.series.iter().filter(|one| one.mark == Mark::Line).map(|one| one.label.as_str()).collect();
        assert_eq!(bold, ["a", "b"]);
        assert_eq!(chart.series.iter().filter(|one| one.mark == Mark::Thin).count(), 2);
        let words: Vec<_> = chart
            .series
            .iter()
            .flat_map(|one| Some((one.points[0].0, one.words.first()?.2.as_str())))
            .collect();
        assert_eq!(words, [(0.0, "made"), (20.0, "healing")]);
        assert!(chart.note.contains("a: 2 of 3 slots count, 100 % = 50.0/s; b: 1 of 1"), "{}", chart.note);
        assert_eq!((chart.x.bounds.0, chart.x.bounds.1), (Some(-10.0), Some(50.0)));
        let picture = Picture::chart("cut-off".to_owned(), chart);
        let svg = picture.svg(Sheet::default());
        assert!(svg.contains(">healing</text>") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(picture.png(Sheet::default(), 100.0).unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
    }

    #[test]
    fn the_table_has_every_cost_that_a_store_knows_in_its_unit() {
        let slot = SlotResult {
            lost_bytes: Some(2_560_000.0),
            beyond_limit_s: Some(4.0),
            p99_ms: Some(812.4),
            rebuild_lost_operations: Some(31.0),
            manual_steps: Some(2),
            ..slot(1, 100.0, 0.0)
        };
        let mut stores = stores();
        stores[1] = side("b", "=node", "bed", "testbeds/swift/faults partition node.2", vec![slot]);
        let table = table(&faults_beside(&stores).unwrap(), &Wishes::default());
        for (head, of_b) in [
            ("lost bytes", "2.56 MB"),
            ("beyond the limit", "4.0 s"),
            ("p99 inside", "812 ms"),
            ("lost to rebuilding", "31"),
            ("steps to heal", "2"),
        ] {
            let at =
                table.head.iter().position(|one| one == head).unwrap_or_else(|| panic!("{head}: {table:?}"));
            assert_eq!((table.rows[0][at].as_str(), table.rows[1][at].as_str()), ("-", of_b), "{head}");
        }
    }

    #[test]
    fn the_table_has_a_row_for_each_store_and_fault_and_its_csv_each_figure() {
        let stores = stores();
        let beside = faults_beside(&stores).unwrap();
        let table = table(&beside, &Wishes::default());
        assert_eq!(table.head, ["store", "load", "fault", "slots that count", "landed after", "depth"]);
        assert_eq!(table.rows[0], ["a", "50.0/s", "gateway away", "2 of 3", "0.5 s", "75 % [0, 100]"]);
        assert_eq!(table.rows[1], ["b", "50.0/s", "=node", "1 of 1", "0.5 s", "0 %"]);
        let csv = csv(&beside);
        assert!(csv.contains("a,50,cut off,gateway away,2,1,depth,share,0.75,0,"), "{csv}");
        // No name is a formula.
        assert!(csv.contains("b,50,cut off,'=node,1,0,depth,share,0,,,1,"), "{csv}");
    }
}
