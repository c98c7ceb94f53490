//! What is wrong with a workload as a whole, whichever format it came in: limits, slices, names, objects that nobody wrote.

use std::collections::{BTreeMap, HashMap, HashSet};

use cosmark_metrics::results::Statistic;

use crate::diagnostics::{Diagnostic, Mistakes, Span, shown};
use crate::model::dataset::{self, FillPass};
use crate::model::search::Loads;
use crate::model::selector::{IntSelector, OPEN_END};
use crate::model::{Arrivals, Effect, Load, OpKind, Operation, Stage, Work, WorkKind, Workload};
use crate::plan::choose::{ChooseError, Chooser};
use crate::plan::share::{Slice, WorkerIndex};
use crate::reachability::areas::{Area, Existing, Naming, area, lying};
use crate::reachability::listed::names_of_stage;

/// Operations of a stage beyond which reads and deletes are not compared with each other.
const MOST_COMPARED: usize = 2_000;

/// Shortest range in which `verify` finds every wrong byte wherever it begins: fewer bytes may not tell which write they are of.
pub const SHORTEST_VERIFIED_BYTES: u64 = 32;

/// Every mistake of a workload that was read, or changed since.
#[must_use]
pub fn check(workload: &Workload) -> Vec<Diagnostic> {
    let mut mistakes = Mistakes::default();
    into(workload, &mut mistakes);
    mistakes.finish()
}

pub(crate) fn into(workload: &Workload, mistakes: &mut Mistakes) {
    let mut names: HashSet<&str> = HashSet::new();
    let mut existing: BTreeMap<String, Existing> = BTreeMap::new();
    for stage in &workload.stages {
        stage_name(stage, mistakes);
        if !names.insert(&stage.name) {
            let message = format!("a second stage is called `{}`", shown(&stage.name));
            mistakes.warning(
                stage.span,
                message,
                "give every stage a name of its own: results are found by it",
            );
        }
        names_of_works(stage, mistakes);
        for work in &stage.works {
            check_work(work, mistakes);
        }
        objects(stage, &mut existing, mistakes);
        goal_of_search(stage, mistakes);
    }
    if workload.settle.is_some() && !workload.durability && !lists_what_it_wrote(workload) {
        mistakes.warning(
            Span::default(),
            "settle is a time of the check, and nothing is checked",
            "add check: durability, or give it to verify-data as --settle",
        );
    }
}

/// Whether it knows of a listing what that must hold.
fn lists_what_it_wrote(workload: &Workload) -> bool {
    let is_known = |stage| !names_of_stage(workload, stage, &|_, _| Some(u64::MAX)).is_empty();
    (0..workload.stages.len()).any(is_known)
}

fn stage_name(stage: &Stage, mistakes: &mut Mistakes) {
    let name = shown(&stage.name);
    if stage.name.contains(';') {
        mistakes.error(
            stage.span,
            format!("the stage name `{name}` must not contain `;`"),
            "use - or _ instead",
        );
    } else if stage.name.contains(['/', ',']) || stage.name.contains(char::is_control) {
        let message = format!("the stage name `{name}` is part of file names and of CSV columns");
        mistakes.warning(stage.span, message, "use - or _ instead of / and ,");
    }
}

/// Results of what measures are found by the names of work and operation: two of one name are told apart by their order alone.
fn names_of_works(stage: &Stage, mistakes: &mut Mistakes) {
    let mut works: HashSet<&str> = HashSet::new();
    for work in stage.works.iter().filter(|work| work.kind == WorkKind::Normal) {
        let name = shown(&work.name);
        if !works.insert(&work.name) {
            let message = format!("a second work of the stage is called `{name}`");
            let hint = "give every work of a stage a name of its own (name): results are found by it";
            mistakes.warning(work.span, message, hint);
        }
        let mut operations: HashSet<&str> = HashSet::new();
        let again = work.operations.iter().find(|operation| !operations.insert(&operation.name));
        if let Some(again) = again {
            let message =
                format!("a second operation of the work `{name}` is called `{}`", shown(&again.name));
            let hint = "give every operation of a work a name of its own (name, in XML name= in its config), or none: then \
                        they are numbered";
            mistakes.warning(work.span, message, hint);
        }
    }
}

/// Halving needs something that higher loads miss.
fn goal_of_search(stage: &Stage, mistakes: &mut Mistakes) {
    let judged =
        stage.thresholds.iter().any(|t| t.metric.is_time() || t.metric.statistic == Statistic::Failures);
    let between = stage.search.as_ref().is_some_and(|search| matches!(search.loads, Loads::Between(..)));
    if between && !judged {
        let hint = "add to the stage e.g. thresholds: [p95 <= 20 ms, error_rate <= 0.1 %]";
        mistakes.error(stage.span, "a search needs a threshold that higher loads miss", hint);
    }
}

fn check_work(work: &Work, mistakes: &mut Mistakes) {
    let name = shown(&work.name);
    if work.name.contains([',', ';', '/']) {
        mistakes.warning(
            work.span,
            format!("the work name `{name}` shifts CSV columns"),
            "use - or _ instead",
        );
    }
    if work.workers == 0 {
        let message = "must specify 'workers' for a work: 0 workers do nothing";
        mistakes.error(work.span, message, "give a number above 0: the total over all drivers");
    }
    if work.interval.is_zero() {
        mistakes.error(work.span, "the interval is 0", "give a period above 0, e.g. 5 seconds");
    }
    if !work.histogram {
        let message =
            "histogram=false has no effect: the verdict needs the response times, and they cost little";
        mistakes.warning(work.span, message, "drop it");
    }
    if work.kind == WorkKind::Normal {
        limits(work, mistakes);
    }
    for operation in &work.operations {
        check_operation(operation, work, mistakes);
        if let Some(used) = operation.dataset.as_ref().filter(|_| dataset::harms(operation)) {
            let message = format!("{} takes objects away that later runs count on", operation.kind.word());
            let hint = format!("name no data set here; `cosmark datasets clean {}` removes it", used.name);
            mistakes.error(operation.span, message, hint);
        }
    }
    if let Some(pass) = &work.pass {
        check_pass(pass, work, mistakes);
    }
    bucket_names(work, mistakes);
}

/// A pass is over the objects that its work names.
fn check_pass(pass: &FillPass, work: &Work, mistakes: &mut Mistakes) {
    let fits = work.operations.first().is_some_and(|operation| {
        let containers = operation.containers.as_ref().map(|containers| containers.count());
        let objects = operation.objects.as_ref().map(|objects| objects.bounds());
        let last =
            containers.map(|containers| dataset::cell_of(pass.objects.saturating_sub(1), containers).object);
        matches!(operation.kind, OpKind::Prepare | OpKind::Cleanup)
            && objects.zip(last).is_some_and(|((lo, hi), last)| lo == 1 && hi == last + 1)
    });
    if !fits {
        let message = "the pass over a data set does not fit the containers and objects of its work";
        mistakes.error(work.span, message, "change the stage with fill: instead of what became of it");
    }
}

fn limits(work: &Work, mistakes: &mut Mistakes) {
    if work.runtime.is_zero() && work.total_ops.is_none() && work.total_bytes.is_none() {
        let message = "no work limits detected, either runtime, total ops or total bytes";
        mistakes.error(
            work.span,
            message,
            "set at least one of them above 0; the first one that is reached ends the work",
        );
    }
    if work.runtime.is_zero() && !(work.rampup.is_zero() && work.rampdown.is_zero()) {
        let message = "ramps have no effect without a runtime";
        mistakes.warning(work.span, message, "set a runtime, or drop the ramps");
    }
    if work.runtime.is_zero() && matches!(work.load, Load::Open { arrivals: Arrivals::Ramp { .. }, .. }) {
        let message = "a ramp needs a runtime: its rate moves over it";
        mistakes.error(work.span, message, "set a runtime");
    }
    let moves_no_bytes = |o: &Operation| !o.kind.row().effect.moves_bytes();
    let bytes_only = work.runtime.is_zero() && work.total_ops.is_none() && work.total_bytes.is_some();
    if bytes_only && work.operations.iter().all(moves_no_bytes) {
        let message = "total bytes is the only limit, but no operation moves bytes: the work would never end";
        mistakes.error(work.span, message, "set a runtime or total ops");
    }
}

fn check_operation(operation: &Operation, work: &Work, mistakes: &mut Mistakes) {
    let name = shown(&operation.name);
    if operation.name.contains([',', ';']) {
        let message = format!("the operation name `{name}` shifts CSV columns");
        mistakes.warning(operation.span, message, "use - or _ instead");
    }
    let parts = [
        ("containers", &operation.containers, Slice::of_containers(operation.division)),
        ("objects", &operation.objects, Slice::of_objects(operation.division)),
    ];
    for (what, selector, slice) in parts {
        if let Some(selector) = selector {
            slices(what, selector, slice, operation, work, mistakes);
        }
    }
    verifiable(operation, mistakes);
    let open = |b: &crate::model::selector::Bucket| b.hi == OPEN_END;
    let sizes = operation.sizes.as_ref();
    let unbounded = sizes.is_some_and(|s| match &s.values {
        IntSelector::Histogram { buckets } => buckets.iter().any(open),
        IntSelector::Uniform { hi, .. } => *hi == OPEN_END,
        _ => false,
    });
    if let Some(sizes) = sizes.filter(|_| unbounded) {
        let message = format!("sizes of {sizes} reach {OPEN_END}{}", sizes.unit);
        mistakes.warning(operation.span, message, "give the range an upper end");
    }
}

/// `verify` compares with what Cosmark writes; what cannot be compared is not asked for.
fn verifiable(operation: &Operation, mistakes: &mut Mistakes) {
    if operation.kind != OpKind::Read || !operation.verify {
        return;
    }
    if let Some(range) = operation.range.filter(|range| range.chunk_length_bytes < SHORTEST_VERIFIED_BYTES) {
        let message = format!(
            "verify cannot check ranges of {} bytes: they do not tell which write they are of",
            range.chunk_length_bytes
        );
        let hint = format!("read {SHORTEST_VERIFIED_BYTES} bytes or more at a time, or drop `verify`");
        mistakes.error(operation.span, message, hint);
    }
    if operation.hash_check {
        let message =
            "verify and hash_check exclude each other: the hash stands where verify expects content";
        mistakes.error(operation.span, message, "drop one of them");
    }
}

/// The last worker has the smallest slice: when it has one, all have.
fn slices(
    what: &str,
    selector: &IntSelector,
    slice: Slice,
    operation: &Operation,
    work: &Work,
    mistakes: &mut Mistakes,
) {
    if slice == Slice::Whole || work.workers == 0 || selector.is_nothing() {
        return;
    }
    let last = WorkerIndex { index: work.workers - 1, total: work.workers };
    let passed_once = match selector {
        // What goes through its numbers once cuts these as well.
        IntSelector::Sequential { lo, hi } if work.kind != WorkKind::Normal => {
            IntSelector::Range { lo: *lo, hi: *hi }
        }
        other => other.clone(),
    };
    let problem = match Chooser::new(&passed_once, slice, last) {
        Ok(_) => return,
        Err(problem) => problem,
    };
    if work.kind != WorkKind::Normal {
        if matches!(problem, ChooseError::EmptySlice { .. }) {
            let idle = u64::from(work.workers) - selector.count();
            let message = format!("{idle} of {} workers have no {what} to work on", work.workers);
            let hint = format!("{} workers are enough for {selector}", selector.count());
            mistakes.warning(operation.span, message, hint);
        }
        return;
    }
    let text = problem.to_string();
    let (message, hint) = text.rsplit_once(": ").unwrap_or((&text, "change the division"));
    mistakes.error(operation.span, format!("{what}: {message}"), hint);
}

/// S3 takes lower-case letters, digits, dots and hyphens, 3 to 63 of them.
fn bucket_names(work: &Work, mistakes: &mut Mistakes) {
    if work.storage.kind != "s3" {
        return;
    }
    for operation in &work.operations {
        let Some(containers) = &operation.containers else { continue };
        let (lo, hi) = containers.bounds();
        for number in [lo, hi] {
            let name = format!("{}{number}{}", operation.container_prefix, operation.container_suffix);
            let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'.' || b == b'-';
            if !(3..=63).contains(&name.len()) || !name.bytes().all(good) || name.starts_with(['.', '-']) {
                let message = format!("`{}` is no valid bucket name for S3", shown(&name));
                let hint = "use 3 to 63 lower-case letters, digits and hyphens, e.g. the prefix cosmark-";
                mistakes.warning(operation.span, message, hint);
                break;
            }
        }
    }
}

/// Follows what is written and deleted from stage to stage, one store at a time.
fn objects(stage: &Stage, existing: &mut BTreeMap<String, Existing>, mistakes: &mut Mistakes) {
    let store = |work: &Work| {
        let config = work.storage.config.entries.iter().map(|e| (&e.key, &e.value)).collect::<Vec<_>>();
        format!("{} {config:?}", work.storage.kind)
    };
    let mut by_store: BTreeMap<String, Vec<&Work>> = BTreeMap::new();
    for work in stage.works.iter().filter(|w| w.storage.kind != "mock") {
        by_store.entry(store(work)).or_default().push(work);
    }
    for (store, works) in by_store {
        let existing = existing.entry(store).or_default();
        reads(&works, existing, mistakes);
        full_containers(&works, WorkKind::Dispose, existing, mistakes);
        let done = works.iter().flat_map(|w| w.operations.iter().map(|o| (w.kind, o)));
        let done: Vec<_> = done.filter_map(|(kind, o)| area(o).map(|a| (kind, o, a))).collect();
        for (_, operation, (naming, area)) in &done {
            if is_write(operation.kind) {
                existing.add(naming.clone(), *area);
            }
        }
        for (kind, operation, (naming, area)) in &done {
            if *kind == WorkKind::Cleanup {
                existing.remove(naming, *area);
            } else if is_delete(operation.kind) {
                existing.doubt(naming, *area);
            }
        }
        // It deletes its containers when its objects are gone.
        full_containers(&works, WorkKind::Cleanup, existing, mistakes);
    }
}

/// Containers that works of this kind are to delete while objects of this workload may still be in them: stores refuse that,
/// COSBench empties them.
fn full_containers(works: &[&Work], kind: WorkKind, existing: &Existing, mistakes: &mut Mistakes) {
    for work in works.iter().filter(|work| work.kind == kind) {
        for operation in work.operations.iter().filter(|operation| !operation.empty_container) {
            let Some(containers) = &operation.containers else { continue };
            if containers.is_nothing() || !operation.delete_container {
                continue;
            }
            let prefix = operation.container_name.as_ref().unwrap_or(&operation.container_prefix);
            let left = existing.left_in(prefix, &operation.container_suffix, containers.bounds());
            let Some(Area { containers, objects }) = left else { continue };
            let (word, nobody) = match kind {
                WorkKind::Cleanup => ("cleanup", "neither it nor a stage before it"),
                _ => ("dispose", "no stage before it"),
            };
            let message = format!(
                "{word} finds containers {} that are not empty: {nobody} deletes their objects {}",
                bounds_text(containers),
                bounds_text(objects)
            );
            let hint = format!(
                "delete them in a cleanup stage of the same range, or let {word} empty containers with emptyContainer=true \
                 (empty_container: true), which deletes whatever is in them"
            );
            mistakes.warning(operation.span, message, hint);
        }
    }
}

fn is_write(kind: OpKind) -> bool {
    kind.row().effect == Effect::Writes
}

fn is_delete(kind: OpKind) -> bool {
    kind.row().effect == Effect::Deletes && !kind.row().is_special
}

/// Reads of objects that are not there, or that the same stage deletes.
fn reads(works: &[&Work], existing: &Existing, mistakes: &mut Mistakes) {
    let all: Vec<(&Work, &Operation, Naming, Area)> = works
        .iter()
        .flat_map(|w| w.operations.iter().map(move |o| (*w, o)))
        .filter_map(|(w, o)| area(o).map(|(naming, area)| (w, o, naming, area)))
        .collect();
    if all.len() > MOST_COMPARED {
        return;
    }
    // Only what changes something is compared, and only under one naming.
    let mut changing: HashMap<&Naming, Vec<(OpKind, Area, f64)>> = HashMap::new();
    for (work, operation, naming, area) in &all {
        if is_write(operation.kind) || is_delete(operation.kind) {
            let rate = share_of_work(work, operation) * f64::from(work.workers);
            changing.entry(naming).or_default().push((operation.kind, *area, rate));
        }
    }
    let changes = |kinds: fn(OpKind) -> bool, naming: &Naming, area: Area| -> f64 {
        let own = changing.get(naming).map_or(&[][..], Vec::as_slice);
        own.iter().filter(|(kind, a, _)| kinds(*kind) && a.overlaps(area)).map(|(.., rate)| rate).sum()
    };
    for (_, operation, naming, wanted) in &all {
        if !operation.kind.row().effect.needs_the_object() {
            continue;
        }
        let deletes = changes(is_delete, naming, *wanted);
        let writes = changes(is_write, naming, *wanted);
        if deletes > 0.0 {
            deleted_under_reads(operation, writes, deletes, mistakes);
        } else if !existing.covers(naming, *wanted) && !is_in_its_data_set(operation, *wanted) {
            let partly = existing.touches(naming, *wanted) || writes > 0.0;
            let message = format!(
                "{} of containers {}, objects {}: {}",
                operation.kind.word(),
                bounds_text(wanted.containers),
                bounds_text(wanted.objects),
                if partly {
                    "earlier stages of this workload write only a part of them"
                } else {
                    "no earlier stage of this workload writes them"
                },
            );
            let hint = "prepare them in an earlier stage under the same names, or be sure that they are there already";
            mistakes.warning(operation.span, message, hint);
        }
    }
}

/// Whether an earlier run wrote all of it, as the data set tells that the operation names.
fn is_in_its_data_set(operation: &Operation, wanted: Area) -> bool {
    lying(operation).is_some_and(|(_, set)| wanted.without(set).is_empty())
}

/// Fraction of a work's operations that are of this line of the mix.
fn share_of_work(work: &Work, operation: &Operation) -> f64 {
    let total: f64 = work.operations.iter().map(|o| o.weight).sum();
    if total > 0.0 { operation.weight / total } else { 0.0 }
}

fn bounds_text((lo, hi): (u64, u64)) -> String {
    if lo == hi { lo.to_string() } else { format!("{lo} to {hi}") }
}

/// Uniform writes and deletes on one set of keys: in the steady state a key exists with probability w/(w+d).
fn deleted_under_reads(operation: &Operation, writes: f64, deletes: f64, mistakes: &mut Mistakes) {
    let (message, hint) = if writes > 0.0 {
        let exists = writes / (writes + deletes) * 100.0;
        let message = format!(
            "this stage deletes what `{}` reads: with {:.1} writes per delete a key exists with probability w/(w+d) = \
             {exists:.0} %, so expect about {:.0} % of these reads to find nothing",
            shown(&operation.name),
            writes / deletes,
            100.0 - exists,
        );
        (message, "delete other object numbers than the ones that are read")
    } else {
        let message = format!(
            "this stage deletes what `{}` reads and nothing writes it again: the longer it runs, the more reads find \
             nothing",
            shown(&operation.name)
        );
        (message, "delete other object numbers than the ones that are read")
    };
    mistakes.warning(operation.span, message, hint);
}
