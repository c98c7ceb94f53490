//! What a run may do with data sets: fill one that is new, go on with one that is not whole, read one that is. It is asked
//! before anything is sent.

use std::path::Path;
use std::sync::Arc;

use cosmark_workload::dataset::MOST_STRETCHES;
use cosmark_workload::model::{Effect, Work};
use cosmark_workload::{Environment, FillPass, Format, Workload, parse_what_is_there};
use jiff::Timestamp;

use crate::ArchiveError;
use crate::datasets::{
    DIRECTORY, DataSet, DataSetRecord, DataSetRun, DataSetState, Left, MOST_RUNS, passes_of, store_of,
};

/// Sets passes of `workload` as they were when the run in `dir` was begun, which is taken up: what it did since then comes again
/// with what drivers said of it. False where the directory does not tell.
pub fn passes_as_begun(dir: &Path, workload: &mut Workload) -> bool {
    let text = crate::open_run(dir).ok().and_then(|run| run.workload_yaml().ok().flatten());
    let begun = text.and_then(|text| parse_what_is_there(&text, Format::Yaml, &Environment::default()).0);
    let Some(begun) = begun.filter(|begun| begun.stages.len() == workload.stages.len()) else { return false };
    for (own, was) in workload.stages.iter_mut().zip(&begun.stages) {
        for (own, was) in own.works.iter_mut().zip(&was.works) {
            if own.pass.is_some() && was.pass.is_some() {
                own.pass.clone_from(&was.pass);
            }
        }
    }
    true
}

/// Sets what passes of `workload` leave to do, by what the archive knows; gives what is worth telling. The seed of the workload
/// is set.
///
/// # Errors
/// One sentence: a data set of this name is another one, lies elsewhere, or cannot be read now.
pub fn admit(archive: &Path, workload: &mut Workload) -> Result<Vec<String>, String> {
    let found = |name: &str| DataSet::find(archive, name).map_err(|error| error.to_string());
    let mut notes = Vec::new();
    let own = workload.clone();
    let run_seed = own.seed.unwrap_or(0);
    for ((stage, index), work, pass) in passes_of(&own) {
        let known = found(&pass.dataset)?.filter(|set| set.record.cleaned.is_none());
        let mut resolved = FillPass { seed: Some(run_seed), left: None, again: 0, later: 0, ..pass.clone() };
        let mut torn = None;
        if let Some(set) = &known {
            same(set, &own, work, pass)?;
            resolved.seed = Some(set.record.seed);
            let passes = set.over().map_err(|error| error.to_string())?;
            let step = usize::try_from(pass.step).unwrap_or(usize::MAX);
            if let Some(done) = passes.get(step) {
                // Who deletes a second time is answered that there is nothing, and who writes what a later pass has
                // overwritten brings an old version back.
                let deletes = work.operations.iter().any(|one| one.kind.row().effect == Effect::Deletes);
                let is_last = passes.iter().skip(step + 1).all(|later| later.count() == 0);
                let left = done.left(MOST_STRETCHES, is_last && !deletes);
                torn = in_many_places(&pass.dataset, &left);
                (resolved.again, resolved.later) = (left.again, left.later);
                resolved.left = Some(left.stretches);
            }
        }
        if pass.step == 0
            && let Some(set) = known
        {
            notes.push(going_on(&set, pass)?);
        }
        notes.extend(torn);
        if let Some(work) = workload.stages.get_mut(stage).and_then(|stage| stage.works.get_mut(index)) {
            work.pass = Some(Arc::new(resolved));
        }
    }
    for (work, used) in uses(&own) {
        let Some(set) = found(&used.name)? else {
            if own.stages.iter().any(|stage| fills(stage.works.iter(), &used.name)) {
                continue;
            }
            return Err(format!(
                "the archive {} knows no data set `{}`: fill it, or give the archive in which that was done",
                archive.display(),
                used.name
            ));
        };
        let filled_here = own.stages.iter().any(|stage| fills(stage.works.iter(), &used.name));
        let name = &used.name;
        match set.state().map_err(|error| error.to_string())? {
            _ if filled_here => {}
            DataSetState::Whole => {}
            DataSetState::Partial => {
                return Err(format!("the data set {name} is not whole: run what fills it again first"));
            }
            DataSetState::Cleaned => {
                return Err(format!("the data set {name} was removed: fill it again first"));
            }
        }
        if set.record.cleaned.is_none() {
            lies_in(&set, work)?;
        }
        let is = set.used()?;
        if set.record.cleaned.is_none() && (is.containers, is.objects) != (used.containers, used.objects) {
            return Err(format!(
                "the data set {name} is another than when this workload was written: {is} and not {used}"
            ));
        }
    }
    Ok(notes)
}

fn going_on(set: &DataSet, pass: &FillPass) -> Result<String, String> {
    let done = set.over().map_err(|error| error.to_string())?;
    let (name, sum) = (&set.record.name, |of: fn(&super::Done) -> u64| done.iter().map(of).sum::<u64>());
    let (there, all) = (sum(|done| done.count()), sum(|done| done.len()));
    if let Some(ppm) = pass.full_at_ppm {
        let goal = f64::from(ppm) / 1e4;
        return Ok(format!(
            "data set {name}: {there} objects are there; it is filled to {goal} % of the store"
        ));
    }
    Ok(if there == all {
        format!("data set {name}: whole, nothing is left to write")
    } else {
        format!("data set {name}: goes on, {there} of {all} writes and deletions are done")
    })
}

/// What is said of a pass whose missing positions lie in more places than one order names.
fn in_many_places(name: &str, left: &Left) -> Option<String> {
    let later = match left.later {
        0 => String::new(),
        later => format!(", and {later} of these are left for the next run of the same command"),
    };
    (left.again > 0 || left.later > 0).then(|| {
        format!(
            "data set {name}: what is missing lies in more than {MOST_STRETCHES} places: {} objects between these are written \
             again{later}",
            left.again
        )
    })
}

fn fills<'a>(mut works: impl Iterator<Item = &'a Work>, name: &str) -> bool {
    works.any(|work| work.pass.as_ref().is_some_and(|pass| pass.dataset == name))
}

/// Every data set that operations name, with a work that does.
fn uses(workload: &Workload) -> Vec<(&Work, &cosmark_workload::DataSetUse)> {
    let works = workload.stages.iter().flat_map(|stage| &stage.works);
    let all = works.flat_map(|work| work.operations.iter().map(move |operation| (work, operation)));
    let named = all.filter_map(|(work, operation)| Some((work, operation.dataset.as_ref()?)));
    let mut uses: Vec<(&Work, &cosmark_workload::DataSetUse)> = Vec::new();
    for (work, used) in named {
        if !uses.iter().any(|(known, other)| *other == used && store_of(known) == store_of(work)) {
            uses.push((work, used));
        }
    }
    uses
}

fn lies_in(set: &DataSet, work: &Work) -> Result<(), String> {
    let (is, asked) = (&set.record.store, store_of(work));
    if *is == asked {
        return Ok(());
    }
    Err(format!(
        "the data set {} lies in another store: {}, and this work's is {}",
        set.record.name,
        is.join(" "),
        asked.join(" ")
    ))
}

/// A data set of one name is one: what fills it now has to be what filled it before.
fn same(set: &DataSet, workload: &Workload, work: &Work, pass: &FillPass) -> Result<(), String> {
    lies_in(set, work)?;
    let (is, asked) = (&set.record, record_of(workload, work, pass));
    let differs = [
        ("objects", is.objects.to_string(), asked.objects.to_string()),
        ("containers", format!("{:?}", is.containers), format!("{:?}", asked.containers)),
        ("sizes", is.sizes.clone(), asked.sizes.clone()),
        ("container_prefix", is.container_prefix.clone(), asked.container_prefix.clone()),
        ("object_prefix", is.object_prefix.clone(), asked.object_prefix.clone()),
        ("order and ageing", without_goal(&is.passes), without_goal(&asked.passes)),
    ];
    match differs.into_iter().find(|(_, is, asked)| is != asked) {
        None => Ok(()),
        Some((what, is, asked)) => Err(format!(
            "there is a data set {} with other {what} ({is}, here {asked}): give this one another name, or remove that by \
             `cosmark datasets clean {}`",
            set.record.name, set.record.name
        )),
    }
}

/// What passes do, without how full the store is to be: that may be another one each time.
fn without_goal(passes: &[String]) -> String {
    let plain = |text: &String| {
        let Ok(pass) = text.parse::<FillPass>() else { return text.clone() };
        FillPass { full_at_ppm: pass.full_at_ppm.map(|_| 1_000_000), ..pass }.to_string()
    };
    passes.iter().map(plain).collect::<Vec<_>>().join("; ")
}

/// The record of the data set that `work` is a pass of.
fn record_of(workload: &Workload, work: &Work, pass: &FillPass) -> DataSetRecord {
    let operation = work.operations.first();
    let containers = operation.and_then(|operation| operation.containers.as_ref());
    let passes = passes_of(workload).filter(|(_, _, other)| other.dataset == pass.dataset);
    let plain = |pass: &FillPass| {
        FillPass { seed: None, left: None, again: 0, later: 0, full_by: Vec::new(), ..pass.clone() }
            .to_string()
    };
    let sizes = passes_of(workload)
        .filter(|(_, _, other)| other.dataset == pass.dataset)
        .find_map(|(_, work, _)| work.operations.first()?.sizes.as_ref().map(ToString::to_string));
    DataSetRecord {
        schema: 1,
        name: pass.dataset.clone(),
        seed: pass.seed.or(workload.seed).unwrap_or(0),
        store: store_of(work),
        objects: pass.objects,
        containers: containers.map_or((1, 1), |containers| containers.bounds()),
        sizes: sizes.unwrap_or_default(),
        container_prefix: operation.map(|operation| operation.container_prefix.clone()).unwrap_or_default(),
        object_prefix: operation.map(|operation| operation.object_prefix.clone()).unwrap_or_default(),
        passes: passes.map(|(_, _, pass)| plain(pass)).collect(),
        full: None,
        runs: Vec::new(),
        overwritten_by: Vec::new(),
        cleaned: None,
    }
}

/// Writes down that run `id` writes the data set of `pass`, whose lock is held.
pub(super) fn enter(
    archive: &Path,
    dir: &Path,
    id: &str,
    workload: &Workload,
    work: &Work,
    pass: &FillPass,
) -> Result<(), ArchiveError> {
    let known = DataSet::find(archive, &pass.dataset)?;
    let mut set = match known.filter(|set| set.record.cleaned.is_none()) {
        Some(mut set) => {
            if pass.full_at().is_some() {
                // What it comes to is known at the end, by the goal of this run.
                (set.record.full, set.record.passes) = (None, record_of(workload, work, pass).passes);
            }
            set
        }
        None => {
            let set = DataSet { record: record_of(workload, work, pass), dir: dir.to_owned() };
            for step in 0..pass.steps {
                super::Done::forget(dir, step)?;
            }
            set
        }
    };
    let from = set.done()?.iter().map(super::Done::count).sum();
    if set.record.runs.len() < MOST_RUNS && set.record.runs.iter().all(|run| run.run != id) {
        set.record.runs.push(DataSetRun { run: id.to_owned(), at: Timestamp::now(), from });
    }
    set.write()
}

/// Writes down that a run overwrites objects of the data sets that it names.
pub(crate) fn note_overwriting(archive: &Path, id: &str, workload: &Workload) -> Result<(), ArchiveError> {
    let works = workload.stages.iter().flat_map(|stage| &stage.works);
    let writing = works
        .flat_map(|work| &work.operations)
        .filter(|operation| operation.kind.row().effect == Effect::Writes)
        .filter_map(|operation| operation.dataset.as_ref());
    for used in writing {
        let dir = archive.join(DIRECTORY).join(&used.name);
        let Some(mut set) = DataSet::find(archive, &used.name)? else { continue };
        if set.record.overwritten_by.iter().any(|run| run == id)
            || set.record.overwritten_by.len() >= MOST_RUNS
        {
            continue;
        }
        debug_assert_eq!(dir, set.dir);
        set.record.overwritten_by.push(id.to_owned());
        set.write()?;
    }
    Ok(())
}
