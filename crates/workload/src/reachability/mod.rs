//! What finds its object and what does not, as far as the workload alone tells: writes and deletes are followed from
//! stage to stage over rectangles of container and object numbers, each with the probability that a key in it exists.
//!
//! With writes and deletes drawn uniformly from one set of keys a key is written w and deleted d times while the stage
//! runs; it exists with probability w/(w+d) in the long run, and on the way there with
//! p(t) = w/(w+d) + (p(0) - w/(w+d)) exp(-(w+d) t), which is averaged over the stage.

pub(crate) mod areas;
pub mod asked;
pub mod compared;
pub mod listed;
mod pieces;
mod read_bytes;
pub mod read_sizes;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::model::{Effect, OpKind, Operation, Stage, Work, WorkKind, Workload};
use crate::reachability::areas::{Area, Naming, area, lying};
use crate::reachability::pieces::{begun_pieces, is_in_order, pieces, ranges};
pub use crate::reachability::read_bytes::{read_bytes, read_bytes_of_stages};

/// More cells than this are not followed.
const MOST_CELLS: usize = 4_096;
/// Comparisons of rectangles for each operation of a workload, and to begin with; beyond them nothing more is said. What a check
/// costs grows with the workload, and not with its square.
const EFFORT_PER_OPERATION: u64 = 2_000;
const EFFORT: u64 = 200_000;

/// How many operations of (stage, work, operation), all 0-based, were or will be made.
pub type Counts<'a> = &'a dyn Fn(usize, usize, usize) -> Option<f64>;

/// An operation that finds nothing in a share of its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Missing {
    /// 0-based stage.
    pub stage: usize,
    /// Name of the work.
    pub work: String,
    /// Name of the operation.
    pub operation: String,
    /// What it does.
    pub kind: OpKind,
    /// Share of its calls that find nothing, 0 to 1: over the stage where the number of operations is known, else what
    /// it tends to.
    pub share: f64,
    /// True when nothing in the workload writes what is missing: a run before this one may have done so, as a fill run does.
    pub is_unwritten: bool,
    /// Why, with the names and ranges that are to blame.
    pub cause: String,
}

/// Storages that hold no objects and find every one.
const FIND_ALL: &[&str] = &["mock", "none"];

/// A rectangle of keys and how likely each of them exists.
#[derive(Debug, Clone)]
struct Cell {
    area: Area,
    exists: f64,
    /// What took some of them away.
    cause: Option<Cause>,
}

/// Why keys are not there.
#[derive(Debug, Clone)]
struct Cause {
    text: Rc<str>,
    is_unwritten: bool,
}

/// The keys under one naming of one store.
#[derive(Debug, Default, Clone)]
struct Keys {
    cells: Vec<Cell>,
    /// Too many cells: nothing is said any more.
    lost: bool,
}

/// Numbers of the containers that were created under one naming.
type Containers = Vec<(u64, u64)>;

/// One operation's way of choosing keys.
struct Draw<'a> {
    work: &'a Work,
    work_index: usize,
    op_index: usize,
    operation: &'a Operation,
    /// Rectangles and the share of the draws that goes to each.
    pieces: Vec<(Area, f64)>,
    /// Calls over the stage, where that is known.
    made: Option<f64>,
    /// Calls relative to those of the other works.
    rate: f64,
    in_order: bool,
}

/// Everything that finds nothing in more than one of 10 000 calls, stage by stage. Without `counts` a stage without
/// total operations is taken to go on for ever.
#[must_use]
pub fn missing(workload: &Workload, counts: Option<Counts<'_>>) -> Vec<Missing> {
    let mut keys: BTreeMap<String, BTreeMap<Naming, Keys>> = BTreeMap::new();
    let mut containers: BTreeMap<String, Containers> = BTreeMap::new();
    let mut found = Vec::new();
    let works = workload.stages.iter().flat_map(|stage| &stage.works);
    let operations = works.map(|work| work.operations.len() as u64).sum::<u64>();
    let mut effort = EFFORT + EFFORT_PER_OPERATION * operations;
    for (index, stage) in workload.stages.iter().enumerate() {
        let mut stores: BTreeMap<String, Vec<(usize, &Work)>> = BTreeMap::new();
        let keeps = |work: &Work| !FIND_ALL.contains(&work.storage.kind.as_str());
        for (work_index, work) in stage.works.iter().enumerate().filter(|(_, work)| keeps(work)) {
            let store = store_of(work);
            created(&store, work, &mut containers);
            lies_there(&store, work, keys.entry(store.clone()).or_default(), &mut containers);
            stores.entry(store).or_default().push((work_index, work));
        }
        for (store, works) in stores {
            for (_, work) in &works {
                found.extend(without_container(&store, index, work, &containers));
            }
            let state = keys.entry(store).or_default();
            for (naming, draws) in draws_of(index, &works, counts) {
                follow(state.entry(naming).or_default(), &draws, (index, stage), &mut effort, &mut found);
            }
        }
    }
    found.retain(|miss| miss.share > 1e-4);
    found
}

/// How the works of one stage on one store choose keys, by naming.
fn draws_of<'a>(
    index: usize,
    works: &[(usize, &'a Work)],
    counts: Option<Counts<'_>>,
) -> BTreeMap<Naming, Vec<Draw<'a>>> {
    let mut by_naming: BTreeMap<Naming, Vec<Draw<'_>>> = BTreeMap::new();
    for &(work_index, work) in works {
        let weight: f64 = work.operations.iter().map(|op| op.weight).sum();
        for (op_index, operation) in work.operations.iter().enumerate() {
            let Some((naming, _)) = area(operation) else { continue };
            let made = calls(counts, index, work_index, op_index, work, weight);
            by_naming.entry(naming).or_default().push(Draw {
                work,
                work_index,
                op_index,
                operation,
                pieces: made
                    .and_then(|made| begun_pieces(work, operation, made))
                    .unwrap_or_else(|| pieces(operation)),
                made,
                rate: share_of(weight, operation) * f64::from(work.workers),
                in_order: is_in_order(operation),
            });
        }
    }
    by_naming
}

/// What an earlier run wrote and this one names: the objects of data sets, with their containers.
fn lies_there(
    store: &str,
    work: &Work,
    keys: &mut BTreeMap<Naming, Keys>,
    containers: &mut BTreeMap<String, Containers>,
) {
    for operation in &work.operations {
        let Some((naming, there)) = lying(operation) else { continue };
        join(containers.entry(container_naming(store, operation)).or_default(), there.containers);
        let keys = keys.entry(naming).or_default();
        if keys.cells.iter().all(|cell| !cell.area.overlaps(there)) {
            keys.cells.push(Cell { area: there, exists: 1.0, cause: None });
        }
    }
}

fn store_of(work: &Work) -> String {
    let config = work.storage.config.entries.iter().map(|e| (&e.key, &e.value)).collect::<Vec<_>>();
    format!("{} {config:?}", work.storage.kind)
}

/// Share of the operations of a work with these weights.
fn share_of(total: f64, operation: &Operation) -> f64 {
    if total > 0.0 { operation.weight / total } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "counts of operations fit 53 bits")]
fn calls(
    counts: Option<Counts<'_>>,
    stage: usize,
    work_index: usize,
    op_index: usize,
    work: &Work,
    weight: f64,
) -> Option<f64> {
    if let Some(count) = counts.and_then(|counts| counts(stage, work_index, op_index)) {
        return Some(count);
    }
    let operation = work.operations.get(op_index)?;
    if work.kind != WorkKind::Normal {
        return Some(0.0);
    }
    work.total_ops.filter(|_| work.runtime.is_zero()).map(|total| total as f64 * share_of(weight, operation))
}

pub(crate) fn is_write(kind: OpKind) -> bool {
    kind.row().effect == Effect::Writes
}

#[expect(clippy::cast_precision_loss, reason = "a share of numbers")]
pub(crate) fn size(area: Area) -> f64 {
    let length = |(lo, hi): (u64, u64)| hi.saturating_sub(lo) as f64 + 1.0;
    length(area.containers) * length(area.objects)
}

/// The rectangles into which all edges cut the plane; `None` when there are too many.
fn grid(areas: &[Area], effort: &mut u64) -> Option<Vec<Area>> {
    let cuts = |edge: fn(&Area) -> (u64, u64)| {
        let mut cuts: Vec<u64> =
            areas.iter().map(edge).flat_map(|(lo, hi)| [lo, hi.saturating_add(1)]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    };
    let (containers, objects) = (cuts(|area| area.containers), cuts(|area| area.objects));
    let cells = containers.len().saturating_mul(objects.len());
    if cells > MOST_CELLS || !spend(effort, cells, areas.len()) {
        return None;
    }
    let pairs = |cuts: &[u64]| {
        cuts.windows(2).filter_map(|pair| Some((*pair.first()?, pair.get(1)? - 1))).collect::<Vec<_>>()
    };
    let objects = pairs(&objects);
    let all = pairs(&containers)
        .into_iter()
        .flat_map(|containers| objects.iter().map(move |objects| Area { containers, objects: *objects }));
    Some(all.filter(|cell| areas.iter().any(|area| area.overlaps(*cell))).collect())
}

/// Takes so many comparisons from what may still be done; false when it is not enough.
fn spend(effort: &mut u64, each: usize, with: usize) -> bool {
    let cost = each.saturating_mul(with);
    match effort.checked_sub(u64::try_from(cost).unwrap_or(u64::MAX)) {
        Some(left) => {
            *effort = left;
            true
        }
        None => false,
    }
}

/// What one stage does to the keys of one naming.
fn follow(
    keys: &mut Keys,
    draws: &[Draw<'_>],
    (index, stage): (usize, &Stage),
    effort: &mut u64,
    found: &mut Vec<Missing>,
) {
    if keys.lost {
        return;
    }
    let stage_id = stage.id(index);
    let pieces: Vec<Area> = draws.iter().flat_map(|draw| draw.pieces.iter().map(|(area, _)| *area)).collect();
    // Who never writes here works on what somebody else has put there.
    let ours = !keys.cells.is_empty() || draws.iter().any(|draw| is_write(draw.operation.kind));
    let cells = std::mem::take(&mut keys.cells);
    if !spend(effort, cells.len(), pieces.len()) {
        keys.lost = true;
        return;
    }
    // What the stage does not touch stays as it is.
    let (touched, mut after): (Vec<Cell>, Vec<Cell>) =
        cells.into_iter().partition(|cell| pieces.iter().any(|piece| piece.overlaps(cell.area)));
    let edges: Vec<Area> = touched.iter().map(|cell| cell.area).chain(pieces.iter().copied()).collect();
    let cells =
        grid(&edges, effort).filter(|cells| spend(effort, cells.len(), touched.len() + 3 * pieces.len()));
    let Some(cells) = cells else {
        keys.lost = true;
        return;
    };
    let mut missed: BTreeMap<(usize, usize), (f64, f64, Cause)> = BTreeMap::new();
    for cell in cells {
        let before = touched.iter().find(|known| known.area.overlaps(cell));
        let change = Change::of(cell, draws, before.map_or(if ours { 0.0 } else { 1.0 }, |cell| cell.exists));
        let cause = change.cause_of(cell, draws, &stage_id, before);
        for draw in draws
            .iter()
            .filter(|draw| matches!(draw.operation.kind, OpKind::Read | OpKind::Head | OpKind::Delete))
        {
            let hits: f64 = draw
                .pieces
                .iter()
                .filter(|(area, _)| area.overlaps(cell))
                .map(|(area, share)| share * size(cell) / size(*area))
                .sum();
            let absent = match (draw.operation.kind, draw.made) {
                (OpKind::Delete, _) => change.absent_for_deletes,
                (_, Some(_)) => 1.0 - change.average,
                (_, None) => 1.0 - change.tends_to,
            };
            let entry =
                missed.entry((draw.work_index, draw.op_index)).or_insert_with(|| (0.0, 0.0, cause.clone()));
            entry.0 += hits * absent;
            if hits * absent > entry.1 {
                entry.1 = hits * absent;
                entry.2 = cause.clone();
            }
        }
        if ours {
            after.push(Cell {
                area: cell,
                exists: change.after,
                cause: (change.after < 1.0).then_some(cause),
            });
        }
    }
    keys.cells = after;
    for ((work_index, op_index), (share, _, cause)) in missed {
        let Some(work) = stage.works.get(work_index) else { continue };
        // A cleanup is meant to find gaps.
        let Some(operation) = work.operations.get(op_index).filter(|_| work.kind == WorkKind::Normal) else {
            continue;
        };
        found.push(Missing {
            stage: index,
            work: work.name.clone(),
            operation: operation.name.clone(),
            kind: operation.kind,
            share: share.clamp(0.0, 1.0),
            is_unwritten: cause.is_unwritten,
            cause: cause.text.to_string(),
        });
    }
}

/// What a stage does to one cell.
struct Change {
    writes: f64,
    deletes: f64,
    /// Probability that a key exists, averaged over the stage.
    average: f64,
    /// The same for whoever goes on when all that is counted has been done.
    tends_to: f64,
    /// The same at its end.
    after: f64,
    /// Probability that a delete finds nothing.
    absent_for_deletes: f64,
}

/// What touches one cell: writes and deletes for each of its keys.
struct Touched {
    writes: f64,
    deletes: f64,
    /// Whether that is known of all, as numbers of calls; else these are relative rates.
    known: bool,
    prepared: bool,
    cleaned: bool,
    writes_in_order: bool,
    deletes_in_order: bool,
}

impl Touched {
    fn of(cell: Area, draws: &[Draw<'_>]) -> Self {
        let (mut made, mut rates) = ([0.0; 2], [0.0; 2]);
        let (mut known, mut prepared, mut cleaned, mut in_order) = (true, false, false, [true; 2]);
        for draw in draws {
            let touched = draw.pieces.iter().filter(|(area, _)| area.overlaps(cell));
            let per_key: f64 = touched.clone().map(|(area, share)| share / size(*area)).sum();
            let touches = touched.count() > 0;
            let changes = match (draw.work.kind, draw.operation.kind) {
                (WorkKind::Prepare, _) => {
                    prepared |= touches;
                    continue;
                }
                (WorkKind::Cleanup, _) => {
                    cleaned |= touches;
                    continue;
                }
                (_, kind) if is_write(kind) => 0,
                (_, OpKind::Delete) => 1,
                _ => continue,
            };
            known &= draw.made.is_some() || !touches;
            made[changes] += per_key * draw.made.unwrap_or_default();
            rates[changes] += per_key * draw.rate;
            in_order[changes] &= draw.in_order || !touches;
        }
        let [writes, deletes] = if known { made } else { rates };
        let [writes_in_order, deletes_in_order] = in_order;
        Self { writes, deletes, known, prepared, cleaned, writes_in_order, deletes_in_order }
    }
}

impl Change {
    fn of(cell: Area, draws: &[Draw<'_>], before: f64) -> Self {
        let touched = Touched::of(cell, draws);
        let (writes, deletes) = (touched.writes, touched.deletes);
        let change = |average: f64, after: f64, absent_for_deletes: f64| Self {
            writes,
            deletes,
            average,
            tends_to: after,
            after,
            absent_for_deletes,
        };
        if touched.cleaned {
            return Self { tends_to: before, ..change(before, 0.0, 0.0) };
        }
        let before = if touched.prepared { 1.0 } else { before };
        let turnover = writes + deletes;
        if turnover <= 0.0 {
            return change(before, before, 1.0 - before);
        }
        let long_run = writes / turnover;
        if !touched.known {
            return change(long_run, long_run, 1.0 - long_run);
        }
        // Each key once, in order, and nothing against it: no chance in it.
        if writes == 0.0 && touched.deletes_in_order {
            let gone = turnover.min(1.0);
            let absent = 1.0 - before / turnover.max(1.0);
            let average = before * if turnover <= 1.0 { 1.0 - turnover / 2.0 } else { 0.5 / turnover };
            return change(average, before * (1.0 - gone), absent);
        }
        if deletes == 0.0 && touched.writes_in_order {
            let after = before + (1.0 - before) * turnover.min(1.0);
            let average =
                if turnover <= 1.0 { (before + after) / 2.0 } else { 1.0 - (1.0 - before) * 0.5 / turnover };
            return change(average, after, 1.0 - average);
        }
        let fading = (-turnover).exp();
        let average = long_run + (before - long_run) * (1.0 - fading) / turnover;
        change(average, long_run + (before - long_run) * fading, 1.0 - average)
    }

    /// Why keys of a cell are not there: this stage, one before it, or that nobody wrote them.
    fn cause_of(&self, cell: Area, draws: &[Draw<'_>], stage_id: &str, before: Option<&Cell>) -> Cause {
        match (self.cause(cell, draws, stage_id), before.and_then(|cell| cell.cause.clone())) {
            (Some(own), _) => Cause { text: own.into(), is_unwritten: false },
            (None, Some(earlier)) => earlier,
            (None, None) => {
                let text = format!("nothing before it writes {}", text_of(cell));
                Cause { text: text.into(), is_unwritten: true }
            }
        }
    }

    /// In words, where this stage is to blame.
    fn cause(&self, cell: Area, draws: &[Draw<'_>], stage_id: &str) -> Option<String> {
        if self.deletes <= 0.0 {
            return None;
        }
        let names = |wanted: fn(OpKind) -> bool| {
            let names: BTreeSet<&str> = draws
                .iter()
                .filter(|draw| {
                    wanted(draw.operation.kind) && draw.pieces.iter().any(|(area, _)| area.overlaps(cell))
                })
                .map(|draw| draw.operation.name.as_str())
                .collect();
            names.into_iter().collect::<Vec<_>>().join(", ")
        };
        let deleters = names(|kind| kind == OpKind::Delete);
        let place = text_of(cell);
        if self.writes <= 0.0 {
            return Some(format!("`{deleters}` of {stage_id} deletes {place} and nothing writes them again"));
        }
        let exists = 100.0 * self.writes / (self.writes + self.deletes);
        Some(format!(
            "`{deleters}` of {stage_id} deletes {place}, which `{}` writes ({} for each delete), so that in the long run a \
             key exists with probability w/(w+d) = {exists:.0} %",
            names(is_write),
            writes_text(self.writes / self.deletes),
        ))
    }
}

fn writes_text(per_delete: f64) -> String {
    let text = format!("{per_delete:.1}");
    let number = text.strip_suffix(".0").unwrap_or(&text);
    format!("{number} write{}", if number == "1" { "" } else { "s" })
}

fn span((lo, hi): (u64, u64), one: &str) -> String {
    if lo == hi { format!("{one} {lo}") } else { format!("{one}s {lo} to {hi}") }
}

fn text_of(area: Area) -> String {
    format!("{} of {}", span(area.objects, "object"), span(area.containers, "container"))
}

fn container_naming(store: &str, operation: &Operation) -> String {
    let name = operation.container_name.as_ref().unwrap_or(&operation.container_prefix);
    format!("{store} {name} {}", operation.container_suffix)
}

/// Adds a range to sorted ones that do not touch each other.
fn join(ranges: &mut Containers, (mut lo, mut hi): (u64, u64)) {
    let from = ranges.partition_point(|range| range.1.saturating_add(1) < lo);
    let to = from + ranges[from..].partition_point(|range| range.0 <= hi.saturating_add(1));
    if let (Some(first), Some(last)) = (ranges[from..to].first(), ranges[from..to].last()) {
        (lo, hi) = (lo.min(first.0), hi.max(last.1));
    }
    ranges.splice(from..to, [(lo, hi)]);
}

fn created(store: &str, work: &Work, containers: &mut BTreeMap<String, Containers>) {
    for operation in &work.operations {
        let creates = matches!(operation.kind, OpKind::Init | OpKind::Prepare) && operation.create_container;
        if let Some(selector) =
            operation.containers.as_ref().filter(|selector| creates && !selector.is_nothing())
        {
            join(containers.entry(container_naming(store, operation)).or_default(), selector.bounds());
        }
    }
}

/// Listings and writes of containers that the workload creates only in part.
#[expect(clippy::cast_precision_loss, reason = "a share of numbers")]
fn without_container(
    store: &str,
    stage: usize,
    work: &Work,
    containers: &BTreeMap<String, Containers>,
) -> Vec<Missing> {
    let mut found = Vec::new();
    if work.kind != WorkKind::Normal {
        return found;
    }
    for operation in work.operations.iter().filter(|o| o.kind == OpKind::List || is_write(o.kind)) {
        let Some(selector) = operation.containers.as_ref().filter(|selector| !selector.is_nothing()) else {
            continue;
        };
        let Some(there) = containers.get(&container_naming(store, operation)) else { continue };
        let mut share = 0.0;
        let mut first = None;
        for ((lo, hi), weight) in ranges(selector) {
            let mut covered = 0_u64;
            let mut next = lo;
            let from = there.partition_point(|range| range.1 < lo);
            for &(from, to) in there[from..].iter().take_while(|range| range.0 <= hi) {
                let (from, to) = (from.max(next), to.min(hi));
                if from <= to {
                    covered += to - from + 1;
                    next = to.saturating_add(1);
                }
            }
            let all = hi - lo + 1;
            share += weight * (1.0 - covered as f64 / all as f64);
            if covered < all {
                first.get_or_insert((lo, hi));
            }
        }
        if let Some(range) = first {
            let made: Vec<String> = there.iter().take(3).map(|range| span(*range, "container")).collect();
            found.push(Missing {
                stage,
                work: work.name.clone(),
                operation: operation.name.clone(),
                kind: operation.kind,
                share,
                is_unwritten: true,
                cause: format!(
                    "it uses {}, and the workload creates only {}",
                    span(range, "container"),
                    made.join(", ")
                ),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Format, parse_what_is_there};

    fn workload(stages: &str) -> Workload {
        let text = format!("name: t\nstorage: {{type: s3, endpoint: 'http://h'}}\nstages:\n{stages}");
        let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
        workload.unwrap_or_else(|| panic!("{mistakes:?}"))
    }

    const PREPARE: &str = "  - {name: prepare, works: [{type: prepare, workers: 1, containers: 'r(1,1)', objects: 'r(1,1000)', \
                           sizes: c(4)KB}]}\n";

    fn main_stage(name: &str, limit: &str, operations: &str) -> String {
        format!(
            "  - {{name: {name}, works: [{{name: {name}, workers: 8, {limit}, operations: [{operations}]}}]}}\n"
        )
    }

    const MIX: &str = "{type: read, ratio: 80, containers: c(1), objects: 'u(1,1000)'}, {type: write, ratio: 15, containers: \
                       c(1), objects: 'u(1,1000)', sizes: c(4)KB}, {type: delete, ratio: 5, containers: c(1), objects: \
                       'u(1,1000)'}";

    fn shares(workload: &Workload) -> Vec<(String, f64)> {
        missing(workload, None)
            .into_iter()
            .map(|miss| (format!("{} {}", miss.stage, miss.operation), miss.share))
            .collect()
    }

    #[test]
    fn a_mix_that_deletes_what_it_reads_misses_a_quarter_and_so_does_the_stage_after_it() {
        let read = "{type: read, ratio: 100, containers: c(1), objects: 'u(1,1000)'}";
        let workload = workload(&format!(
            "{PREPARE}{}{}",
            main_stage("mix", "runtime: 60s", MIX),
            main_stage("only", "runtime: 60s", read)
        ));
        assert_eq!(
            shares(&workload),
            [("1 read".into(), 0.25), ("1 delete".into(), 0.25), ("2 read".into(), 0.25)]
        );
        let causes: Vec<String> = missing(&workload, None).into_iter().map(|miss| miss.cause).collect();
        for cause in &causes {
            let words = [
                "`delete` of s2-mix deletes objects 1 to 1000 of container 1",
                "3 writes for each delete",
                "75 %",
            ];
            assert!(words.iter().all(|word| cause.contains(word)), "{cause}");
        }
    }

    #[test]
    fn a_short_run_has_not_come_that_far_yet() {
        let workload = workload(&format!("{PREPARE}{}", main_stage("mix", "total_ops: 1000", MIX)));
        // 0.15 writes and 0.05 deletes per key: the average over the run of 0.25 (1 - exp(-0.2 t)).
        let expected = 0.25 * (1.0 - (1.0 - (-0.2_f64).exp()) / 0.2);
        let found = shares(&workload);
        assert!(found.len() == 2 && (found[0].1 - expected).abs() < 1e-9, "{found:?}");
        let many: Counts<'_> = &|_, _, op| [Some(8e6), Some(1.5e6), Some(5e5)].get(op).copied().flatten();
        let long = missing(&workload, Some(many));
        assert!((long[0].share - 0.25).abs() < 1e-3, "{long:?}");
    }

    #[test]
    fn counted_deletes_in_order_find_their_objects_whatever_is_timed_beside_them() {
        let stage = |beside: &str| {
            workload(&format!(
                "{PREPARE}  - name: main\n    works:\n      - {{name: deletes, workers: 2, total_ops: 500, operations: [{{type: \
                 delete, containers: c(1), objects: 's(1,500)'}}]}}\n      - {{name: beside, workers: 8, runtime: 60s, \
                 operations: [{beside}]}}\n"
            ))
        };
        // Whether what is timed goes elsewhere or reads: none of the deletes misses. What is read ends up deleted.
        let elsewhere = "{type: write, containers: c(1), objects: 'u(501,1000)', sizes: c(4)KB}";
        assert_eq!(shares(&stage(elsewhere)), vec![]);
        let read = "{type: read, containers: c(1), objects: 'u(1,1000)'}";
        assert_eq!(shares(&stage(read)), [("1 read".into(), 0.5)]);
        // Where deletes that are timed take from the same objects, each of them is gone in the long run.
        let found = shares(&stage("{type: delete, containers: c(1), objects: 'u(1,1000)'}"));
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["1 delete", "1 delete"]);
        assert!(found.iter().all(|(_, share)| *share == 1.0), "{found:?}");
    }

    #[test]
    fn a_simulation_with_drawn_keys_gives_the_same_share() {
        use rand_xoshiro::rand_core::{Rng, SeedableRng};
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut there, mut reads, mut misses) = (vec![true; 1000], 0_u32, 0_u32);
        for _ in 0..20_000 {
            let key = (random.next_u64() % 1000) as usize;
            match random.next_u64() % 100 {
                0..80 => (reads, misses) = (reads + 1, misses + u32::from(!there[key])),
                80..95 => there[key] = true,
                _ => there[key] = false,
            }
        }
        let workload = workload(&format!("{PREPARE}{}", main_stage("mix", "total_ops: 20000", MIX)));
        let simulated = f64::from(misses) / f64::from(reads);
        assert!((missing(&workload, None)[0].share - simulated).abs() < 0.01, "{simulated}");
    }

    /// Writes in order and then reads; `made` of the writes came to an end.
    fn written_in_order(write: &str, read: &str, made: f64) -> Vec<Missing> {
        let workload = workload(&format!(
            "{}{}",
            main_stage(
                "fill",
                "runtime: 60s",
                &format!("{{type: write, containers: c(1), {write}, sizes: c(4)KB}}")
            ),
            main_stage("reads", "runtime: 60s", &format!("{{type: read, containers: c(1), {read}}}"))
        ));
        let counts = |stage: usize, _: usize, _: usize| Some(if stage == 0 { made } else { 3000.0 });
        missing(&workload, Some(&counts))
    }

    #[test]
    fn writes_in_order_that_time_cuts_off_have_written_the_first_numbers() {
        let found = |read: &str, made: f64| written_in_order("objects: 's(1,2000)'", read, made);
        assert_eq!(found("objects: 'u(1,1000)'", 1500.0), []);
        assert_eq!(found("objects: 'u(1,1000)'", 1000.0), []);
        assert_eq!(found("objects: 'u(1,2000)'", 5000.0), []);
        let half = found("objects: 'u(1,2000)'", 1000.0);
        assert!(half.len() == 1 && half[0].share == 0.5 && half[0].is_unwritten, "{half:?}");
        assert!(half[0].cause.contains("nothing before it writes objects 1001 to 2000"), "{half:?}");
        // Numbers that are drawn fill the whole range, with gaps.
        let drawn = written_in_order("objects: 'u(1,2000)'", "objects: 'u(1,1000)'", 2000.0);
        assert!((drawn[0].share - (-1.0_f64).exp()).abs() < 1e-6, "{drawn:?}");
        // Each of the 8 workers has written the first half of its own 250.
        let own = |read: &str| written_in_order("objects: 'r(1,2000)', division: object", read, 1000.0);
        assert_eq!(own("objects: 'u(1,125)'"), []);
        assert_eq!(own("objects: 'u(251,375)'"), []);
        assert_eq!(own("objects: 'u(126,250)'")[0].share, 1.0);
        // A division cuts no walk in order: all workers together have written the first half.
        let all = |read: &str| written_in_order("objects: 's(1,2000)', division: object", read, 1000.0);
        assert_eq!(all("objects: 'u(1,1000)'"), []);
        assert_eq!(all("objects: 'u(1001,2000)'")[0].share, 1.0);
    }

    #[test]
    fn what_is_deleted_is_told_from_what_a_run_before_may_have_written() {
        let mix = workload(&format!("{PREPARE}{}", main_stage("mix", "runtime: 60s", MIX)));
        assert!(missing(&mix, None).iter().all(|miss| !miss.is_unwritten));
        let more = "{type: read, containers: c(1), objects: 'u(1,2000)'}";
        let more = workload(&format!("{PREPARE}{}", main_stage("main", "runtime: 60s", more)));
        assert!(missing(&more, None).iter().all(|miss| miss.is_unwritten && miss.share == 0.5));
        // Nothing here writes them at all: a run of its own did, as is usual with COSBench.
        let only = "{type: read, containers: c(1), objects: 'u(1,2000)'}";
        assert_eq!(missing(&workload(&main_stage("main", "runtime: 60s", only)), None), []);
    }

    #[test]
    fn a_storage_that_holds_nothing_misses_nothing() {
        for kind in ["mock", "none"] {
            let text = format!(
                "name: t\nstorage: {{type: {kind}}}\nstages:\n{PREPARE}{}",
                main_stage("mix", "runtime: 60s", MIX)
            );
            let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
            assert_eq!(missing(&workload.unwrap_or_else(|| panic!("{mistakes:?}")), None), [], "{kind}");
        }
    }

    #[test]
    fn keys_of_their_own_miss_nothing_and_unwritten_ones_are_named() {
        let own = "{type: read, ratio: 80, containers: c(1), objects: 'u(1,500)'}, {type: delete, ratio: 20, containers: \
                   c(1), objects: 's(501,1000)'}";
        let clean = workload(&format!("{PREPARE}{}", main_stage("main", "total_ops: 1000", own)));
        assert_eq!(shares(&clean), vec![]);
        let half = "{type: read, containers: c(1), objects: 'u(501,1500)'}";
        let partly = workload(&format!("{PREPARE}{}", main_stage("main", "runtime: 60s", half)));
        let found = missing(&partly, None);
        assert!((found[0].share - 0.5).abs() < 1e-9, "{found:?}");
        assert!(found[0].cause.contains("nothing before it writes objects 1001 to 1500"), "{found:?}");
        // What nobody in the workload writes may be there already.
        assert_eq!(shares(&workload(&main_stage("main", "runtime: 60s", half))), vec![]);
    }

    #[test]
    fn a_histogram_weighs_what_is_missing() {
        let skewed = "{type: read, containers: c(1), objects: 'h(1|1000|90,1001|2000|10)'}";
        let found =
            missing(&workload(&format!("{PREPARE}{}", main_stage("main", "runtime: 60s", skewed))), None);
        assert!((found[0].share - 0.1).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn listings_of_containers_that_nobody_creates_are_found() {
        let found = |more: &str| {
            let init = "  - {name: init, works: [{type: init, workers: 1, containers: 'r(1,4)'";
            let main = main_stage("main", "runtime: 60s", "{type: list, containers: 'u(1,8)'}");
            missing(&workload(&format!("{init}{more}}}]}}\n{main}")), None)
        };
        // Then nothing is known of any of them.
        assert_eq!(found(", create_container: false"), []);
        let found = found("");
        assert!(
            found.len() == 1
                && found[0].share == 0.5
                && found[0].cause.contains("creates only containers 1 to 4"),
            "{found:?}"
        );
    }

    /// Stages that prepare, read, write and delete, each on keys of its own (`shared` = all on the same).
    fn many_stages(stages: u64, shared: bool) -> Workload {
        let mut text = String::new();
        for number in 0..stages {
            let (lo, hi) = if shared { (1, 1000) } else { (1 + number * 10, 10 + number * 10) };
            text.push_str(&format!(
                "  - {{name: p{number}, works: [{{type: prepare, workers: 1, containers: 'r(1,2)', objects: 'r({lo},{hi})', sizes: \
                 c(4)KB}}]}}\n"
            ));
            text.push_str(&main_stage(
                &format!("m{number}"),
                "runtime: 60s",
                &format!(
                    "{{type: read, ratio: 80, containers: c(1), objects: 'u({lo},{hi})'}}, {{type: write, ratio: 15, containers: c(1), \
                     objects: 'u({lo},{hi})', sizes: c(4)KB}}, {{type: delete, ratio: 5, containers: c(1), objects: 'u({lo},{hi})'}}"
                ),
            ));
        }
        workload(&text)
    }

    /// Counted, not timed: comparisons and readings of operations.
    #[test]
    fn a_check_of_twice_the_workload_costs_about_twice() {
        use crate::reachability::areas::effort;
        for shared in [true, false] {
            let cost = |stages: u64| {
                let workload = many_stages(stages, shared);
                effort::of(|| {
                    drop(crate::check::check(&workload));
                    drop(missing(&workload, None));
                    drop(read_bytes_of_stages(&workload));
                })
            };
            for stages in [200, 400, 800, 1600] {
                let (made, operations) = (cost(stages), 4 * stages);
                assert!(made > operations, "{made} of {operations} operations: nothing was counted");
                let most = EFFORT + 2 * EFFORT_PER_OPERATION * operations;
                assert!(made < most, "shared {shared}: {made} comparisons for {operations} operations");
            }
        }
    }

    #[test]
    fn ranges_of_containers_are_joined_where_they_touch() {
        let mut ranges = Vec::new();
        for range in [(5, 6), (1, 2), (9, 12), (7, 7), (3, 3), (30, 40), (11, 20)] {
            join(&mut ranges, range);
        }
        assert_eq!(ranges, [(1, 3), (5, 7), (9, 20), (30, 40)]);
        join(&mut ranges, (4, 4));
        assert_eq!(ranges, [(1, 7), (9, 20), (30, 40)]);
        join(&mut ranges, (0, u64::MAX));
        assert_eq!(ranges, [(0, u64::MAX)]);
    }

    #[test]
    fn the_bytes_that_reads_touch_come_from_what_is_written() {
        let workload = workload(&format!("{PREPARE}{}", main_stage("mix", "runtime: 60s", MIX)));
        assert_eq!(read_bytes(&workload, 1, None), Some(4_000_000.0));
        let few: Counts<'_> = &|_, _, _| Some(10.0);
        assert!(read_bytes(&workload, 1, Some(few)).unwrap() < 41_000.0);
        assert_eq!(read_bytes(&workload, 0, None), Some(0.0));
    }
}
