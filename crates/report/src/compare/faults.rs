//! What faults cost the sides of a comparison: one table, a row for each kind of fault and figure, a column for each side. Stores
//! break in ways of their own, so faults meet by their names or, where these differ, by what was done.

use std::fmt::Write as _;

use cosmark_metrics::{FaultFigure, FaultResult, SlotResult};
use cosmark_stats::proportions::clopper_pearson;
use cosmark_stats::slots::figures;
use cosmark_workload::units::{columns_of, rounded_bytes};
use serde::Serialize;

use super::Loaded;
use crate::escape;

/// Faults of all sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FaultsBeside {
    /// One for each side.
    pub sides: Vec<FaultSide>,
    /// What was made to fail.
    pub faults: Vec<FaultBeside>,
}

/// A side: a store, or repetitions of its run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FaultSide {
    /// How the user called it.
    pub side: String,
    /// Operations per second without a fault, mean of its stages; null where that is not known.
    pub level_per_s: Option<f64>,
    /// Stretches without a fault that were looked at.
    pub stretches: u32,
    /// Dips that were found in them.
    pub false_dips: u32,
    /// Upper end of the 95 % interval of their share (Clopper and Pearson); null without any.
    pub false_dips_share_at_most: Option<f64>,
}

/// One kind of fault.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FaultBeside {
    /// The name that all sides have, or what was done.
    pub fault: String,
    /// Its name on each side; null where that had none.
    pub names: Vec<Option<String>>,
    /// Slots that count, of each side.
    pub slots: Vec<u32>,
    /// Slots that say nothing, of each side.
    pub void: Vec<u32>,
    /// Figures that some side has.
    pub rows: Vec<FaultRow>,
}

/// A figure of a kind of fault.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FaultRow {
    /// Its name, as in `run.json`.
    pub figure: String,
    /// For people.
    pub title: String,
    /// `s`, `ms`, `share`, `count` or `bytes`.
    pub unit: String,
    /// One for each side; null where that had no such fault.
    pub cells: Vec<Option<FaultCell>>,
}

/// A figure on one side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FaultCell {
    /// Mean of the slots that have it.
    pub mean: Option<f64>,
    /// Lower end of its 95 % interval (Student); null with fewer than two slots.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// How many slots have it.
    pub slots: u32,
    /// Why none has it.
    pub reason: Option<String>,
}

/// A fault of a side: its entries in the runs of that side.
struct Own<'a> {
    name: &'a str,
    class: String,
    results: Vec<&'a FaultResult>,
}

/// What was done, whatever it was done to: `bed` and `signal` have words of their own for the same.
fn class_of(fault: &FaultResult) -> String {
    let what = fault.what.as_str();
    let before = |sign: &str| what.split(sign).next().unwrap_or(what).to_owned();
    match fault.kind.as_str() {
        "none" => "no fault".to_owned(),
        "bed" => {
            let verb = what.rsplit_once("/faults ").map_or(what, |(_, verb)| verb);
            match verb.split(' ').next().unwrap_or(verb) {
                "kill" => "processes killed".to_owned(),
                "pause" => "processes stand still".to_owned(),
                "devfail" => "device gone".to_owned(),
                "lose" => "device replaced".to_owned(),
                "fill" => "device full".to_owned(),
                "partition" => "cut off".to_owned(),
                other => other.to_owned(),
            }
        }
        "signal" if what.starts_with("SIGKILL") => "processes killed".to_owned(),
        "signal" => "processes stand still".to_owned(),
        "network" if what.starts_with("no packet passes") => "cut off".to_owned(),
        "network" => before(" to and from "),
        "proxy" => before(" on the way to "),
        "cgroup" => before(" for "),
        _ => fault.name.clone(),
    }
}

/// Faults of a side in their order, those of one name together.
fn of_side(side: &[Loaded]) -> Vec<Own<'_>> {
    let mut all: Vec<Own<'_>> = Vec::new();
    for (_, fault) in side.iter().flat_map(|run| &run.faults) {
        match all.iter_mut().find(|own| own.name == fault.name) {
            Some(own) => own.results.push(fault),
            None => all.push(Own { name: &fault.name, class: class_of(fault), results: vec![fault] }),
        }
    }
    all
}

/// The faults of all sides; `None` where no side has any.
#[must_use]
pub(crate) fn beside(sides: &[Vec<Loaded>]) -> Option<FaultsBeside> {
    let own: Vec<Vec<Own<'_>>> = sides.iter().map(|side| of_side(side)).collect();
    if own.iter().all(Vec::is_empty) {
        return None;
    }
    // Names first, so that a side with two faults of a class meets the right one of another.
    let mut rows: Vec<Vec<Option<&Own<'_>>>> = Vec::new();
    for (at, faults) in own.iter().enumerate() {
        let mut left: Vec<&Own<'_>> = Vec::new();
        for fault in faults {
            if !join(&mut rows, at, fault, |other| other.name == fault.name) {
                left.push(fault);
            }
        }
        for fault in left {
            if !join(&mut rows, at, fault, |other| other.class == fault.class) {
                let mut row = vec![None; sides.len()];
                if let Some(cell) = row.get_mut(at) {
                    *cell = Some(fault);
                }
                rows.push(row);
            }
        }
    }
    Some(FaultsBeside {
        sides: sides.iter().map(|side| side_of(side)).collect(),
        faults: rows.iter().map(|row| one(row)).collect(),
    })
}

/// Puts a fault into the first row that fits and has none of its side; whether there is one.
fn join<'a>(
    rows: &mut [Vec<Option<&'a Own<'a>>>],
    at: usize,
    fault: &'a Own<'a>,
    fits: impl Fn(&Own<'_>) -> bool,
) -> bool {
    let row = rows.iter_mut().find(|row| {
        row.get(at).is_some_and(Option::is_none) && row.iter().flatten().any(|other| fits(other))
    });
    let Some(cell) = row.and_then(|row| row.get_mut(at)) else { return false };
    *cell = Some(fault);
    true
}

fn side_of(side: &[Loaded]) -> FaultSide {
    // All faults of a stage were held against the same seconds.
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let (mut levels, mut stretches, mut dips) = (Vec::new(), 0, 0);
    for run in side {
        for (stage, fault) in &run.faults {
            if seen.contains(&(run.label.as_str(), stage.as_str())) {
                continue;
            }
            seen.push((&run.label, stage));
            levels.extend(fault.healthy.as_ref().map(|healthy| healthy.level_per_s));
            let quiet = fault.false_dips.as_ref();
            stretches += quiet.map_or(0, |quiet| quiet.stretches);
            dips += quiet.map_or(0, |quiet| quiet.dips);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of stages")]
    let level_per_s = (!levels.is_empty()).then(|| levels.iter().sum::<f64>() / levels.len() as f64);
    let share = (stretches > 0).then(|| clopper_pearson(u64::from(dips), u64::from(stretches), 0.95).1);
    FaultSide {
        side: side.iter().map(|run| shown(&run.label)).collect::<Vec<_>>().join(","),
        level_per_s,
        stretches,
        false_dips: dips,
        false_dips_share_at_most: share,
    }
}

fn one(row: &[Option<&Own<'_>>]) -> FaultBeside {
    let names: Vec<Option<String>> = row.iter().map(|own| own.map(|own| shown(own.name))).collect();
    let mut known = names.iter().flatten();
    let first = known.next().cloned().unwrap_or_default();
    let is_one = known.all(|name| *name == first);
    let class = row.iter().flatten().next().map(|own| shown(&own.class)).unwrap_or_default();
    let slots = |own: &Own<'_>| -> Vec<SlotResult> {
        own.results.iter().flat_map(|result| result.slots.iter().cloned()).collect()
    };
    let slots: Vec<Option<Vec<SlotResult>>> = row.iter().map(|own| own.map(slots)).collect();
    let count = |is_void: bool| -> Vec<u32> {
        let of = |slots: &Vec<SlotResult>| slots.iter().filter(|slot| slot.void.is_some() == is_void).count();
        slots
            .iter()
            .map(|slots| slots.as_ref().map_or(0, |slots| u32::try_from(of(slots)).unwrap_or(u32::MAX)))
            .collect()
    };
    let figures: Vec<Option<Vec<FaultFigure>>> =
        slots.iter().map(|slots| slots.as_ref().map(|slots| figures(slots.iter()))).collect();
    let some = figures.iter().flatten().next().cloned().unwrap_or_default();
    let rows = some.into_iter().enumerate().map(|(at, figure)| {
        let cell = |figures: &Option<Vec<FaultFigure>>| {
            let figure = figures.as_ref()?.get(at)?;
            let FaultFigure { mean, low, high, slots, reason, .. } = figure.clone();
            Some(FaultCell { mean, low, high, slots, reason })
        };
        let FaultFigure { figure, title, unit, .. } = figure;
        FaultRow { figure, title, unit, cells: figures.iter().map(cell).collect() }
    });
    let is_known = |row: &FaultRow| row.cells.iter().flatten().any(|cell| cell.mean.is_some());
    FaultBeside {
        fault: if is_one { first } else { class },
        names,
        slots: count(false),
        void: count(true),
        rows: rows.filter(is_known).collect(),
    }
}

/// What stands in an archive may be anybody's, and is shown on terminals.
fn shown(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// A value in its unit.
fn amount(value: f64, unit: &str) -> String {
    match unit {
        "share" => format!("{:.0} %", value * 100.0),
        "s" => format!("{value:.1} s"),
        "ms" => format!("{value:.1} ms"),
        "bytes" => rounded_bytes(value),
        _ => format!("{value:.0}"),
    }
}

fn cell(cell: Option<&FaultCell>, unit: &str) -> String {
    let Some((cell, mean)) = cell.and_then(|cell| Some((cell, cell.mean?))) else { return "-".to_owned() };
    match (cell.low, cell.high) {
        (Some(low), Some(high)) if high > low => {
            format!("{} [{}, {}]", amount(mean, unit), amount(low, unit), amount(high, unit))
        }
        _ => amount(mean, unit),
    }
}

impl FaultsBeside {
    /// Heads and rows of the table: what failed, the figure, a cell for each side.
    fn grid(&self) -> Vec<Vec<String>> {
        let head = ["fault", "figure"].map(str::to_owned).into_iter();
        let mut grid = vec![head.chain(self.sides.iter().map(|side| side.side.clone())).collect::<Vec<_>>()];
        let mut push = |fault: &str, figure: &str, cells: Vec<String>| {
            grid.push([fault, figure].map(str::to_owned).into_iter().chain(cells).collect());
        };
        let level =
            |side: &FaultSide| side.level_per_s.map_or("-".to_owned(), |level| format!("{level:.1}/s"));
        push("without one", "operations", self.sides.iter().map(level).collect());
        let dips = |side: &FaultSide| match side.false_dips_share_at_most {
            Some(share) => {
                format!("{} of {} (at most {:.0} %)", side.false_dips, side.stretches, share * 100.0)
            }
            None => "-".to_owned(),
        };
        push("", "false dips", self.sides.iter().map(dips).collect());
        for fault in &self.faults {
            let counts = fault.slots.iter().zip(&fault.void).zip(&fault.names);
            let slots = counts.map(|((slots, void), name)| match name {
                None => "-".to_owned(),
                Some(name) if *name == fault.fault => format!("{slots} of {}", slots + void),
                Some(name) => format!("{name}: {slots} of {}", slots + void),
            });
            push(&fault.fault, "slots that count", slots.collect());
            for row in &fault.rows {
                push("", &row.title, row.cells.iter().map(|one| cell(one.as_ref(), &row.unit)).collect());
            }
        }
        grid
    }

    /// For the terminal.
    pub(super) fn table(&self) -> String {
        let grid = self.grid();
        let columns = grid.first().map_or(0, Vec::len);
        let length = |text: &String| columns_of(text);
        let width = |at: usize| grid.iter().filter_map(|row| row.get(at)).map(length).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = format!("{HEAD}\n");
        for row in &grid {
            let mut line = String::new();
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let pad = " ".repeat(width - columns_of(cell));
                let _ = if at < 2 { write!(line, "{cell}{pad}  ") } else { write!(line, "{pad}{cell}  ") };
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }

    /// For a pull request or a wiki.
    pub(super) fn markdown(&self) -> String {
        let mut out = format!("{HEAD}\n\n");
        for (at, row) in self.grid().iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| escape::markdown(cell)).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
            if at == 0 {
                let _ = writeln!(out, "|---|---|{}", "--:|".repeat(row.len().saturating_sub(2)));
            }
        }
        out
    }
}

const HEAD: &str = "What the faults cost: means of the slots that count, with their 95 % intervals.";

#[cfg(test)]
mod tests {
    use cosmark_metrics::{FalseDips, HealthyResult};

    use super::*;

    fn fault(name: &str, kind: &str, what: &str, depths: &[f64], void: usize) -> FaultResult {
        let slot = |depth: Option<f64>| SlotResult {
            depth,
            void: depth.is_none().then(|| "x".to_owned()),
            ..SlotResult::default()
        };
        FaultResult {
            name: name.to_owned(),
            what: what.to_owned(),
            kind: kind.to_owned(),
            healthy: Some(HealthyResult { level_per_s: 20.0, ..HealthyResult::default() }),
            slots: depths
                .iter()
                .map(|depth| slot(Some(*depth)))
                .chain((0..void).map(|_| slot(None)))
                .collect(),
            false_dips: Some(FalseDips { stretches: 2, seconds: 60.0, dips: 1, share_at_most: 0.9 }),
            ..FaultResult::default()
        }
    }

    fn side(label: &str, faults: Vec<FaultResult>) -> Vec<Loaded> {
        let faults = faults.into_iter().map(|fault| ("s1-main".to_owned(), fault)).collect();
        vec![Loaded { label: label.to_owned(), faults, ..Loaded::default() }]
    }

    #[test]
    fn two_stores_stand_side_by_side_fault_by_fault() {
        let swift = vec![
            fault("no fault", "none", "no fault", &[0.0], 0),
            fault("node killed", "bed", "testbeds/swift/faults kill node.2", &[0.1, 0.2, 0.3], 0),
            fault("frozen", "bed", "testbeds/swift/faults pause node.3", &[0.7], 2),
        ];
        let ceph = vec![
            fault("no fault", "none", "no fault", &[0.0], 0),
            fault("OSD hangs", "signal", "SIGSTOP to the process of /run/osd.pid", &[1.0, 1.0], 0),
            fault("OSD killed", "bed", "/x/testbeds/ceph/faults kill osd.3", &[0.8, 0.6], 1),
            fault("own", "command", "rm x", &[0.5], 0),
        ];
        let found = beside(&[side("w1", swift), side("w2", ceph)]).unwrap();
        let names: Vec<_> = found.faults.iter().map(|fault| fault.fault.as_str()).collect();
        assert_eq!(names, ["no fault", "processes killed", "processes stand still", "own"]);
        let killed = &found.faults[1];
        assert_eq!(killed.names, [Some("node killed".to_owned()), Some("OSD killed".to_owned())]);
        assert_eq!((killed.slots.as_slice(), killed.void.as_slice()), (&[3, 2][..], &[0, 1][..]));
        let depth = killed.rows.iter().find(|row| row.figure == "depth").unwrap();
        let cell = depth.cells[0].as_ref().unwrap();
        // Student with two degrees of freedom: 4.303 * 0.1 / sqrt(3).
        assert!(
            (cell.mean.unwrap() - 0.2).abs() < 1e-9 && (cell.high.unwrap() - 0.4484).abs() < 1e-3,
            "{cell:?}"
        );
        assert_eq!(found.faults[3].names[0], None);
        // Every fault of a stage was held against the same seconds: they count once.
        assert_eq!((found.sides[0].stretches, found.sides[0].false_dips), (2, 1));
        assert_eq!(found.sides[1].level_per_s, Some(20.0));
        let text = found.table();
        for words in ["OSD killed: 2 of 3", "20 % [0 %, 45 %]", "1 of 2 (at most 99 %)", "slots that count"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(found.markdown().contains("|---|---|--:|--:|\n"), "{}", found.markdown());
    }

    #[test]
    fn the_slots_of_repeated_runs_are_put_together_and_no_faults_make_no_table() {
        let mut first = side("w1", vec![fault("a", "command", "x", &[0.2], 0)]);
        first.extend(side("w2", vec![fault("a", "command", "x", &[0.4], 0)]));
        let found = beside(&[first, side("w3", Vec::new())]).unwrap();
        assert_eq!(found.sides[0].side, "w1,w2");
        assert_eq!((found.sides[0].stretches, found.sides[1].stretches), (4, 0));
        let cells = &found.faults[0].rows[0].cells;
        assert_eq!((cells[0].as_ref().unwrap().slots, &cells[1]), (2, &None));
        assert!(beside(&[side("w1", Vec::new()), side("w2", Vec::new())]).is_none());
    }
}
