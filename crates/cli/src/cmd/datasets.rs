//! `cosmark datasets`: the data sets of an archive, and whether the store still has them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cosmark_archive::{
    DataSet, DataSetState, Done, DurabilityFinding, DurabilityRecord, Run, Timestamp, open_run,
};
use cosmark_driver::clean::{CleanedContainer, Cleaning};
use cosmark_driver::dataset::Expected;
use cosmark_driver::readback::{Finding, Manner, ReadBack, ReadBackListener, Standing};
use cosmark_ledger::{Site, Space, Template};
use cosmark_stats::bootstrap::Random;
use cosmark_workload::leftovers::dataset_leftovers;
use cosmark_workload::model::{Effect, TargetSpec, Work};
use cosmark_workload::{FillPass, SizeSelector, Workload};
use serde_json::{Value, json};

use crate::args::{DatasetCheckArgs, DatasetsArgs, DatasetsCommand};
use crate::cmd::clean::{BY_DATASETS, begin, line, maybe, remember, workload_of};
use crate::exit::{Exit, Outcome, Problem};
use crate::fit::{self, Column};
use crate::paint::Ink;
use crate::readback::{bound, fill, text};
use crate::registry::CATALOG;
use crate::runs::{find, no_archive};
use crate::signals;
use crate::units::{self, grouped, percent};

/// Findings that are shown.
const MOST_EXAMPLES: usize = 20;
/// What looks broken is looked at again after so long.
const SETTLE: Duration = Duration::from_secs(2);
const TELL_EVERY: Duration = Duration::from_secs(5);

/// Runs the subcommand.
pub fn run(args: &DatasetsArgs) -> Outcome {
    match &args.command {
        DatasetsCommand::List { archive, json } => list(archive, *json),
        DatasetsCommand::Show { name, archive, json } => show(&known(name, archive)?, *json),
        DatasetsCommand::Check(check) => self::check(check),
        DatasetsCommand::Clean { name, archive, target, another_address, dry_run } => {
            let set = known(name, archive)?;
            clean(set, archive, target.as_deref(), *another_address, *dry_run)
        }
    }
}

fn known(name: &str, archive: &Path) -> Result<DataSet, Problem> {
    let shown = archive.display();
    DataSet::find(archive, name)?.ok_or_else(|| {
        Problem::usage(format!(
            "no data set {name} in {shown}; `cosmark datasets list --archive {shown}` shows what is there"
        ))
    })
}

fn list(archive: &Path, as_json: bool) -> Outcome {
    if !archive.is_dir() {
        return Err(no_archive(archive));
    }
    let mut sets = Vec::new();
    for set in DataSet::all(archive)? {
        match set {
            Ok(set) => sets.push(set),
            Err(error) => eprintln!("cosmark: {error}"),
        }
    }
    if as_json {
        let all: Result<Vec<Value>, Problem> = sets.iter().map(as_value).collect();
        return print(&json!(all?));
    }
    if sets.is_empty() {
        println!("no data sets in {}; a stage with fill: writes one", archive.display());
        return Ok(Exit::Done);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for set in &sets {
        let record = &set.record;
        rows.push(vec![
            record.name.clone(),
            set.state()?.word().to_owned(),
            match (set.full_at(), &record.full) {
                (Some(_), None) => format!("at most {}", grouped(record.objects)),
                _ => grouped(set.objects()),
            },
            record.sizes.clone(),
            units::bytes(about_bytes(set)),
            record.store.join(" "),
            record.runs.last().map_or("-", |run| run.run.as_str()).to_owned(),
        ]);
    }
    println!("{}", fit::table(LISTED, &rows, |_, _| Ink::Plain));
    Ok(Exit::Done)
}

/// How data sets are listed: what is known of each, and where it was measured last.
const LISTED: &[Column] = &[
    Column::text("data set").least(12),
    Column::text("state"),
    Column::number("objects"),
    Column::text("sizes").least(8),
    Column::number("about"),
    Column::text("store").goes(1).least(16),
    Column::text("last run").goes(2).least(8),
];

fn print(value: &Value) -> Outcome {
    let text = serde_json::to_string_pretty(value).map_err(|cause| Problem::ours(cause.to_string()))?;
    verbatim!("{text}");
    Ok(Exit::Done)
}

/// By the mean of its sizes.
#[expect(clippy::cast_precision_loss, reason = "for people")]
fn about_bytes(set: &DataSet) -> f64 {
    set.used().map_or(0.0, |used| used.sizes.mean_bytes() * set.objects() as f64)
}

fn as_value(set: &DataSet) -> Result<Value, Problem> {
    let mut value = serde_json::to_value(&set.record).map_err(|cause| Problem::ours(cause.to_string()))?;
    value["state"] = json!(set.state()?.word());
    value["about_bytes"] = json!(about_bytes(set));
    let done = set.done()?;
    value["done"] = json!(done.iter().map(Done::count).collect::<Vec<_>>());
    Ok(value)
}

fn show(set: &DataSet, as_json: bool) -> Outcome {
    if as_json {
        return print(&as_value(set)?);
    }
    let record = &set.record;
    let (first, last) = record.containers;
    println!("{} {}", record.name, set.state()?.word());
    println!("  store: {}", record.store.join(" "));
    println!(
        "  {}{} objects, {} each, about {} in all, seed {}",
        if set.full_at().is_some() && record.full.is_none() { "at most " } else { "" },
        grouped(set.objects()),
        record.sizes,
        units::bytes(about_bytes(set)),
        record.seed
    );
    if let Some(goal) = set.full_at() {
        let share = record.full.as_ref().and_then(|full| full.share);
        let became =
            share.map_or_else(|| "not reached".to_owned(), |share| format!("it was {} then", percent(share)));
        println!("  filled until the store is {} full: {became}", percent(goal));
    }
    let prefix = &record.container_prefix;
    println!("  containers {prefix}{first} to {prefix}{last}, objects {}N", record.object_prefix);
    for (pass, done) in passes(set)?.iter().zip(set.done()?) {
        let what = match (pass.round, pass.step) {
            (0, _) => "fill".to_owned(),
            (round, _) => format!("ageing, round {round}, pass {}", pass.step),
        };
        println!("  {what}: {} of {} done", grouped(done.count()), grouped(done.len()));
    }
    for run in &record.runs {
        println!("  {} from {} on, at {}", run.run, grouped(run.from), run.at);
    }
    if !record.overwritten_by.is_empty() {
        println!("  objects of it were overwritten by {}", record.overwritten_by.join(", "));
    }
    if let Some(at) = record.cleaned {
        println!("  removed from the store at {at}");
    }
    if set.state()? == DataSetState::Partial {
        println!("the run that fills it goes on where it was: repeat its command");
    }
    Ok(Exit::Done)
}

fn passes(set: &DataSet) -> Result<Vec<FillPass>, Problem> {
    set.passes().map_err(|problem| Problem::usage(format!("{}: {problem}", set.record.name)))
}

/// The workload of the newest run that wrote it and is still archived, with its secrets.
fn workload_that_filled(
    set: &DataSet,
    archive: &Path,
    target: Option<&Path>,
    anywhere: bool,
) -> Result<(Workload, Vec<Run>), Problem> {
    let runs: Vec<Run> = set
        .record
        .runs
        .iter()
        .rev()
        .filter_map(|run| open_run(&find(&run.run, archive).ok()?).ok())
        .collect();
    let newest = runs.first().ok_or_else(|| {
        let name = &set.record.name;
        Problem::usage(format!(
            "no run that wrote {name} is in the archive any more, so it is not known how to reach its store: restore one of the \
             runs that `cosmark datasets show {name}` names from a copy"
        ))
    })?;
    Ok((workload_of(newest, target, anywhere)?, runs))
}

/// The works that write it, by stage and work.
fn works_of<'w>(workload: &'w Workload, name: &str) -> Vec<(Site, &'w Work)> {
    let stages = workload.stages.iter().enumerate();
    let works = stages.flat_map(|(stage, own)| {
        own.works.iter().enumerate().map(move |(work, own)| (Site { stage, work }, own))
    });
    works.filter(|(_, work)| work.pass.as_ref().is_some_and(|pass| pass.dataset == name)).collect()
}

fn check(args: &DatasetCheckArgs) -> Outcome {
    let set = known(&args.name, &args.archive)?;
    let record = &set.record;
    if record.cleaned.is_some() {
        return Err(Problem::usage(format!("{} was removed from the store", record.name)));
    }
    let (workload, _) = workload_that_filled(&set, &args.archive, args.target.as_deref(), true)?;
    let works = works_of(&workload, &record.name);
    let Some((site, work)) = works.first() else {
        return Err(Problem::usage(format!(
            "the run that wrote {} no longer says how: restore its workload.yaml from a copy",
            record.name
        )));
    };
    let passes = passes(&set)?;
    let deletes = passes.iter().map(|pass| {
        let own = works.iter().find(|(_, work)| work.pass.as_ref().is_some_and(|own| own.step == pass.step));
        own.and_then(|(_, work)| work.operations.first())
            .is_some_and(|operation| operation.kind.row().effect == Effect::Deletes)
    });
    let sizes: SizeSelector = set.used().map_err(Problem::usage)?.sizes;
    let acknowledged = set.done()?;
    let done = |step: usize, position: u64| acknowledged.get(step).is_some_and(|done| done.has(position));
    let expected = Expected {
        passes: &passes,
        deletes: deletes.collect(),
        begun: acknowledged.iter().map(|done| done.count() > 0).collect(),
        done: &done,
        seed: record.seed,
        sizes,
        containers: record.containers,
        // Of the most that it may have, what lies behind the last one was never written.
        objects: match set.full_at() {
            Some(_) => acknowledged.iter().map(Done::up_to).max().unwrap_or(0),
            None => record.objects,
        },
    };
    let template = |prefix: &str| Template {
        prefix: prefix.to_owned(),
        suffix: String::new(),
        numbered: true,
        scattered: false,
    };
    let space = Space {
        site: *site,
        containers: template(&record.container_prefix),
        objects: Some(template(&record.object_prefix)),
        written: true,
        deleted: false,
        anonymous: false,
    };
    let read = read(args, &expected, space, (work.auth.clone(), work.storage.clone()))?;
    let found = match read {
        Ok(found) => found,
        Err(problem) => {
            eprintln!("cosmark: {problem}");
            return Ok(Exit::Target);
        }
    };
    tell(args, &set, &found)
}

fn tell(args: &DatasetCheckArgs, set: &DataSet, found: &DurabilityRecord) -> Outcome {
    if args.json {
        print(&serde_json::to_value(found).unwrap_or_default())?;
    } else {
        println!("data set {} {}", set.record.name, set.state()?.word());
        text(found).iter().for_each(|line| println!("{line}"));
        if found.stale > 0 && !set.record.overwritten_by.is_empty() {
            println!(
                "  stale here may mean overwritten: {} wrote to it",
                set.record.overwritten_by.join(", ")
            );
        }
    }
    Ok(match (found.broken(), found.complete) {
        (1.., _) => Exit::Broken,
        (0, false) => Exit::Cancelled,
        (0, true) if found.read() == 0 || found.unreadable > 0 => Exit::Target,
        (0, true) => Exit::Done,
    })
}

/// Reads until the end or Ctrl-C.
fn read(
    args: &DatasetCheckArgs,
    expected: &Expected<'_>,
    space: Space,
    target: (TargetSpec, TargetSpec),
) -> Result<Result<DurabilityRecord, String>, Problem> {
    let sample = Some(args.sample).filter(|sample| (1..expected.objects).contains(sample));
    let mut random = Random::new(args.seed);
    let mut objects = expected.entries(sample, move || random.next_u64());
    let stopped = Arc::new(AtomicBool::new(false));
    let record = DurabilityRecord {
        started: Some(Timestamp::now()),
        through: vec![target.1.kind.clone()],
        ledger_complete: true,
        objects: expected.objects,
        sample,
        ..DurabilityRecord::default()
    };
    let mut listener =
        Telling { record, stopped: Arc::clone(&stopped), quiet: args.quiet, last_line: Instant::now() };
    let manner = Manner {
        workers: usize::from(args.workers),
        rate_per_s: args.rate,
        settle: SETTLE,
        listings: false,
        in_doubt: false,
        removed: false,
    };
    let spaces = [space];
    let targets: BTreeMap<Site, (TargetSpec, TargetSpec)> = [(spaces[0].site, target)].into();
    let what = ReadBack { catalog: CATALOG, targets, spaces: &spaces, manner };
    let mut standing = Standing::default();
    let read = crate::host::runtime()?.block_on(async {
        let asked = signals::first();
        let over = async {
            asked.await;
            stopped.store(true, Ordering::Relaxed);
        };
        what.run_until(&mut objects, &mut standing, &mut listener, over).await
    });
    Ok(read.map(|complete| {
        let mut record = listener.record;
        fill(&mut record, &standing);
        (record.complete, record.ended) = (complete, Some(Timestamp::now()));
        bound(&mut record);
        record
    }))
}

struct Telling {
    record: DurabilityRecord,
    stopped: Arc<AtomicBool>,
    quiet: bool,
    last_line: Instant,
}

impl ReadBackListener for Telling {
    fn found(&mut self, finding: &Finding) -> Result<(), String> {
        let Finding { container, object, class, detail } = finding.clone();
        if class.is_broken() && self.record.examples.len() < MOST_EXAMPLES {
            let class = class.word().to_owned();
            self.record.examples.push(DurabilityFinding { class, container, object, detail });
        }
        Ok(())
    }

    fn reached(&mut self, standing: &Standing) -> Result<bool, String> {
        if !self.quiet && self.last_line.elapsed() >= TELL_EVERY {
            self.last_line = Instant::now();
            let all = self.record.sample.unwrap_or(self.record.objects);
            eprintln!(
                "read {} of {} objects, {} broken",
                grouped(standing.decided()),
                grouped(all),
                grouped(standing.broken())
            );
        }
        Ok(!self.stopped.load(Ordering::Relaxed))
    }
}

fn clean(mut set: DataSet, archive: &Path, target: Option<&Path>, anywhere: bool, dry_run: bool) -> Outcome {
    if set.record.cleaned.is_some() {
        println!("data set {}: removed before", set.record.name);
        return Ok(Exit::Done);
    }
    let hold = set.hold()?;
    let (workload, runs) = workload_that_filled(&set, archive, target, anywhere)?;
    let left = dataset_leftovers(&workload, &set.record.name);
    let containers = || runs.iter().flat_map(|run| &run.record.stages).map(|stage| &stage.containers);
    // Those that its own first run made were there for the next one.
    let created: BTreeSet<String> = containers().flat_map(|one| one.created.iter().cloned()).collect();
    let found = containers().flat_map(|one| one.found.iter().cloned()).filter(|name| !created.contains(name));
    let begins = || {
        if let Err(error) = set.forget_written(&hold) {
            eprintln!("cosmark: {error}; should this be cut off, the data set is called whole and is not");
        }
        runs.iter().for_each(|run| begin(run, BY_DATASETS));
    };
    let cleaning = Cleaning {
        catalog: CATALOG,
        leftovers: &left,
        written: None,
        found: found.collect(),
        created,
        containers: false,
        dry_run,
        asked: AtomicU64::new(0),
        begins: &begins,
    };
    let mut tell = |cleaned: &CleanedContainer| eprintln!("{}", line(cleaned, dry_run));
    let name = set.record.name.clone();
    let note = |objects: u64, what: &str| {
        let asked = cleaning.asked.load(Ordering::Relaxed);
        runs.iter().for_each(|run| remember(run, BY_DATASETS, asked, objects, &format!("{what} of {name}")));
    };
    let cleaned = match crate::host::runtime()?.block_on(cleaning.run(&mut tell)) {
        Ok(cleaned) => cleaned,
        Err(text) => {
            let asked = cleaning.asked.load(Ordering::Relaxed);
            note(asked, &format!("up to {} objects", grouped(asked)));
            let far =
                if asked == 0 { "nothing was removed" } else { "not all was removed: repeat the command" };
            eprintln!("cosmark: {text}; {far}");
            return Ok(Exit::Target);
        }
    };
    let objects: u64 = cleaned.iter().map(|one| one.objects).sum();
    let troubled =
        cleaned.iter().any(|one| one.failed > 0 || (one.note.is_some() && !one.removed && one.objects == 0));
    let removed = cleaned.iter().filter(|one| one.removed).count();
    let verb = if dry_run { "would be removed" } else { "removed" };
    println!("data set {}: {} objects and {removed} containers {verb}", set.record.name, grouped(objects));
    if dry_run {
        return Ok(Exit::Done);
    }
    let failed: u64 = cleaned.iter().map(|one| one.failed).sum();
    note(objects + failed, &format!("{} objects{}", grouped(objects), maybe(failed)));
    if failed > 0 {
        eprintln!("cosmark: not all of it could be removed: repeat the command");
        return Ok(Exit::Target);
    }
    if troubled {
        eprintln!("cosmark: see above what stays");
    }
    set.set_cleaned(&hold)?;
    Ok(Exit::Done)
}
