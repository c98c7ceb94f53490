//! `cosmark run`: read, check, connect, run, report.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cosmark_archive::{Archive, NewRun, OpLog, Overall, RunDir, Source, Timestamp};
use cosmark_controller::{ArchiveWriter, Ended, RunJob, Settle, StopLevel, run_workload};
use cosmark_driver::secrets::{self, SecretSource, Secrets};
use cosmark_driver::{
    LocalDriver, Options, Permit, RecordedProblem, cosbench_xml, native_yaml, recorded_files,
    too_many_workers,
};
use cosmark_ledger::Plan;
use cosmark_workload::{Workload, search};
use tokio::sync::watch;

use crate::args::{ManyArgs, RunArgs, RunOptions};
use crate::cmd::remote::Remote;
use crate::exit::{Exit, Outcome, Problem};
use crate::live::{self, Live};
use crate::load::{Loaded, load_beside};
use crate::paint::{Ink, To, paint};
use crate::progress::Terminal;
use crate::readback::{self, Wish, WithinRun};
use crate::registry::{CATALOG, READING};
use crate::runs::{Beside, Earlier, new_id};
use crate::secrets::{ForElsewhere, Own};
use crate::{consistency, faults, fill, goals, host, nodes, raw, signals, table, verdict};

/// Runs the subcommand.
pub fn run(args: &RunArgs) -> Outcome {
    // Drivers elsewhere load what they are allowed to; nothing is loaded here for them.
    let catalog = if args.many.nats.is_some() { READING } else { CATALOG };
    let loaded = load_beside(&catalog, &args.file, args.target.as_deref(), &args.set, &args.options.archive)?;
    let scripts = args.scripts.clone().or_else(|| scripts_beside(&args.file));
    let ended = match &args.many.nats {
        Some(url) => execute_at(loaded, &Place::Drivers { url, many: &args.many }, &args.options)?,
        None => execute(loaded, scripts, &args.options)?,
    };
    report(&ended, &args.options)
}

fn scripts_beside(file: &Path) -> Option<PathBuf> {
    let directory = file.parent()?.join("scripts");
    directory.is_dir().then_some(directory)
}

/// Who makes the load.
enum Place<'a> {
    /// This process, with trigger scripts of a directory; a run that the user ends deletes what it wrote, and
    /// stages end when enough is known, if that is wanted.
    Here { scripts: Option<PathBuf>, tidies_up: bool, settle: Option<Settle> },
    /// Drivers that joined this NATS.
    Drivers { url: &'a str, many: &'a ManyArgs },
}

/// Runs a workload on this machine and archives it.
///
/// # Errors
/// When it cannot start, or the archive cannot be written.
pub fn execute(loaded: Loaded, scripts: Option<PathBuf>, options: &RunOptions) -> Result<Ended, Problem> {
    execute_at(loaded, &Place::Here { scripts, tidies_up: false, settle: None }, options)
}

/// The same for a workload that Cosmark wrote: when the user ends the run, its last stages still delete what it wrote.
///
/// # Errors
/// As [`execute`].
pub fn execute_and_tidy_up(
    loaded: Loaded,
    settle: Option<Settle>,
    options: &RunOptions,
) -> Result<Ended, Problem> {
    execute_at(loaded, &Place::Here { scripts: None, tidies_up: true, settle }, options)
}

/// The whole way of a run: prepare, connect, open the archive, make the load, show what came of it.
fn execute_at(mut loaded: Loaded, place: &Place<'_>, options: &RunOptions) -> Result<Ended, Problem> {
    live::check(&options.live)?;
    let here = matches!(place, Place::Here { .. });
    faults::check(&loaded.workload, here, options.allow_faults)?;
    if here {
        check_recorded(&loaded)?;
        check_workers(&loaded.workload)?;
    }
    faults::find_hosts(&mut loaded.workload)?;
    if here {
        faults::heal_left(&options.archive, None)?;
    }
    let prepared = prepare(loaded, place, options)?;
    warn_of_open_files(&prepared.workload);
    if !options.quiet {
        verdict::preflight(&prepared.workload).iter().for_each(|line| eprintln!("{line}"));
    }
    let runtime = host::runtime()?;
    // Before the archive: a run without drivers leaves nothing behind.
    let remote = match place {
        Place::Drivers { url, many } => {
            Some(runtime.block_on(Remote::connect(url, many, &prepared.workload))?)
        }
        Place::Here { .. } => None,
    };
    if let Some(remote) = &remote {
        runtime.block_on(remote.heal_left(&options.archive))?;
    }
    let dir = open_archive(&prepared, remote.as_ref(), options)?;
    let mut watching = Live::start(Terminal::new(options.quiet, dir.path()), &options.live, dir.record())?;
    let ended = runtime.block_on(make_load(prepared, place, remote, dir, options, &mut watching));
    watching.end().iter().for_each(|line| eprintln!("cosmark: {line}"));
    ended
}

/// What a load of this machine replays has to be there before anything is sent.
fn check_recorded(loaded: &Loaded) -> Result<(), Problem> {
    let files = recorded_files(&loaded.workload, &loaded.directory);
    let wrong = files.into_iter().find_map(|file| {
        let (RecordedProblem::Missing(why) | RecordedProblem::Wrong(why)) = file.found.err()?;
        Some(format!("{} {}: {why}; nothing was sent", file.stage, file.work))
    });
    wrong.map_or(Ok(()), |why| Err(Problem::usage(why)))
}

/// A stage that this machine has no memory for is refused before the stages before it send anything.
fn check_workers(workload: &Workload) -> Result<(), Problem> {
    let wrong = workload.stages.iter().find_map(|stage| {
        let workers: u64 = stage.works.iter().map(|work| u64::from(work.workers)).sum();
        Some(format!("stage {}: {}; nothing was sent", stage.name, too_many_workers(workers)?))
    });
    wrong.map_or(Ok(()), |why| Err(Problem::usage(why)))
}

/// A workload that can run, and what may be shown of it.
struct Prepared {
    workload: Workload,
    known: Secrets,
    hidden: Workload,
    file_name: String,
    shown_source: String,
    /// The run that is taken over.
    earlier: Option<Earlier>,
}

/// Resolves what the options and the environment add to the workload: repetitions, secrets, the seed.
fn prepare(loaded: Loaded, place: &Place<'_>, options: &RunOptions) -> Result<Prepared, Problem> {
    let Loaded { mut workload, source, file_name, .. } = loaded;
    if options.no_nodes {
        workload.nodes.clear();
    }
    if let Some(times) = options.repeat {
        let seed = options.seed.or(workload.seed).unwrap_or(0);
        search::repeat(&mut workload, times, seed);
    }
    if options.oplog && workload.stages.iter().any(|stage| stage.search.is_some()) {
        return Err(Problem::usage(
            "a search has no operation log: its stages are not known before the run; drop --oplog",
        ));
    }
    if options.ledger || workload.durability {
        Plan::of(&workload).map_err(|problem| Problem::usage(format!("no ledger can be kept: {problem}")))?;
    }
    // What a plugin keeps secret is known only where its code was loaded.
    let (catalog, from): (_, &dyn SecretSource) = match place {
        Place::Here { .. } => (CATALOG, &Own),
        Place::Drivers { .. } => (READING, &ForElsewhere),
    };
    secrets::resolve(&catalog, &mut workload, from).map_err(Problem::usage)?;
    let earlier = match place {
        Place::Drivers { many: ManyArgs { take_over: Some(run), .. }, .. } => {
            Some(Earlier::find(run, &options.archive)?)
        }
        _ => None,
    };
    let seed = earlier.as_ref().and_then(|earlier| earlier.seed);
    workload.seed = seed.or(options.seed).or(workload.seed).or_else(|| Some(draw_seed()));
    let begun = earlier.as_ref().map(|earlier| &earlier.path);
    if !begun.is_some_and(|path| cosmark_archive::passes_as_begun(path, &mut workload)) {
        for note in cosmark_archive::admit(&options.archive, &mut workload).map_err(Problem::usage)? {
            eprintln!("cosmark: {note}");
        }
    }
    Ok(Prepared {
        known: Secrets::of(&catalog, &workload),
        hidden: secrets::hidden(&catalog, &workload),
        shown_source: secrets::hide_in_source(&catalog, &source, &file_name, &workload),
        workload,
        file_name,
        earlier,
    })
}

fn warn_of_open_files(workload: &Workload) {
    let open_files = host::raise_open_files();
    let workers = workload
        .stages
        .iter()
        .map(|stage| stage.works.iter().map(|work| u64::from(work.workers)).sum::<u64>());
    if workers.max().is_some_and(|most| most + 64 > open_files) {
        eprintln!(
            "cosmark: more workers than open files ({open_files}); raise `ulimit -n` or expect connect errors"
        );
    }
}

/// The directory of the run: a new one, or that of the run that is taken over.
fn open_archive(
    prepared: &Prepared,
    remote: Option<&Remote>,
    options: &RunOptions,
) -> Result<RunDir, Problem> {
    let archive = Archive::open(&options.archive)?;
    let new = NewRun {
        number: prepared.earlier.as_ref().map(|earlier| earlier.number),
        workload: &prepared.workload,
        seed: prepared.workload.seed,
        source: Some(Source { file_name: &prepared.file_name, text: &prepared.shown_source }),
        config_xml: &cosbench_xml(&READING, &prepared.hidden).0,
        config_yaml: &native_yaml(&READING, &prepared.hidden),
        host: host::record(),
        submitted: Timestamp::now(),
    };
    let mut dir =
        if prepared.earlier.is_some() { archive.begin_again(&new)? } else { archive.begin(&new)? };
    if let Some(drivers) = remote.and_then(Remote::record) {
        dir.set_drivers(drivers)?;
    }
    if let Some(renamed) = dir.renamed() {
        eprintln!("cosmark: {renamed}");
    }
    Ok(dir)
}

/// Runs the stages here or on drivers, and stops them when the user asks for it.
async fn make_load(
    prepared: Prepared,
    place: &Place<'_>,
    remote: Option<Remote>,
    dir: RunDir,
    options: &RunOptions,
    watching: &mut Live,
) -> Result<Ended, Problem> {
    let (level, stop) = watch::channel(StopLevel::Run);
    let levels = [
        (StopLevel::Finish, "stopping; operations in flight may end (Ctrl-C again: at once)"),
        (StopLevel::Abort, "stopping at once"),
    ];
    let listening = tokio::spawn(signals::three_times(level, levels));
    let Prepared { mut workload, known, earlier, .. } = prepared;
    let proxies = faults::stand_before(&mut workload)?;
    let redact = |text: &str| known.hide(text);
    let run = earlier.map_or_else(|| new_id(dir.id()), |earlier| earlier.run);
    let agents = match &remote {
        Some(remote) if !options.no_nodes => remote.agents(&run, &workload).await,
        _ => Vec::new(),
    };
    // Looks until the run is over.
    let (_watch, nodes) = nodes::watch(&workload, agents, stop.clone(), options.quiet).await?.unzip();
    let ended = match (remote, place) {
        (Some(remote), _) => {
            let record = dir.record().id.clone();
            let beside = Beside { nodes, faults: remote.faults(&workload, record, &options.archive)? };
            remote.run(run, &workload, dir, beside, options, stop, &redact, watching).await
        }
        (None, Place::Here { scripts, tidies_up, settle }) => {
            let operation_log = open_log(&dir, &workload, options)?;
            let driver = local_driver(scripts.clone(), options);
            let mut job =
                RunJob::new(&workload, ArchiveWriter::new(dir), vec![Box::new(driver)], stop, &redact);
            (job.operation_log, job.drain) = (operation_log, options.drain.map(Duration::from_secs));
            job.tidies_up = *tidies_up;
            job.settle = *settle;
            faults::play(&workload, &mut job, proxies, &options.archive)?;
            if workload.durability {
                let wish = Wish::of_a_run(&workload);
                job.reads_back = Some(Box::new(WithinRun { workload: workload.clone(), wish }));
            }
            job.on_nodes(nodes);
            job.raw_limits = raw::newest(&options.archive, &workload.nodes);
            Ok(run_workload(job, watching).await)
        }
        (None, Place::Drivers { .. }) => Err(Problem::ours("there is no connection to NATS")),
    };
    listening.abort();
    ended
}

fn local_driver(scripts: Option<PathBuf>, options: &RunOptions) -> LocalDriver {
    let threads = options.threads.map_or_else(host::load_threads, usize::from);
    let drain = Duration::from_secs(options.drain.unwrap_or(options.usual_drain));
    let permit = Permit { scripts, ..Permit::here() };
    let options = Options { name: "local".into(), threads, beside: 0, permit, drain };
    LocalDriver::new(CATALOG, options)
}

fn open_log(
    dir: &RunDir,
    workload: &Workload,
    options: &RunOptions,
) -> Result<Option<(OpLog, Timestamp)>, Problem> {
    let epoch = Timestamp::now();
    let log = OpLog::wanted(dir, workload, (options.oplog, options.ledger), epoch)?;
    Ok(log.map(|log| (log, epoch)))
}

/// Seeds are drawn where nobody gives one, and recorded.
fn draw_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // Below 2^53, so that every JSON reader gives it back unchanged.
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 11
}

/// Shows the results; gives the exit code.
///
/// # Errors
/// When stdout is gone.
pub fn report(ended: &Ended, options: &RunOptions) -> Outcome {
    if options.json {
        let text = serde_json::to_string_pretty(&ended.record)
            .map_err(|cause| Problem::ours(format!("cannot print run.json: {cause}")))?;
        verbatim!("{text}");
    } else {
        print_results(&ended.record, &ended.path);
    }
    if let Some(reason) = &ended.record.reason {
        let word = ended.record.state.word();
        let word = if reason.starts_with(word) { String::new() } else { format!("{word}: ") };
        eprintln!("cosmark: {word}{reason}");
    }
    write_report(ended, options);
    if let Some(trouble) = &ended.archive_trouble {
        eprintln!("cosmark: the archive is not complete: {trouble}");
        return Ok(Exit::Ours);
    }
    if ended.record.durability.iter().any(|durability| durability.broken() > 0) {
        return Ok(Exit::Broken);
    }
    let exit = Exit::from(ended.class);
    let untrusted = options.strict && exit == Exit::Done && ended.record.verdict.overall == Overall::False;
    Ok(if untrusted { Exit::Untrusted } else { exit })
}

/// The HTML report; that it could not be made does not make the run a failure.
fn write_report(ended: &Ended, options: &RunOptions) {
    // Without the page there is nothing to write; `cosmark report` says how to get it.
    if options.no_report || ended.archive_trouble.is_some() || !cosmark_report::html::page_is_built_in() {
        return;
    }
    match cosmark_report::html::write(&ended.path, None) {
        Ok(path) if options.json => eprintln!("report: {}", path.display()),
        Ok(path) => println!("report: {}", path.display()),
        Err(problem) => eprintln!("cosmark: no report.html: {problem}"),
    }
}

/// The table, its remarks, and where everything is.
pub fn print_results(record: &cosmark_archive::RunRecord, path: &Path) {
    let state = record.state.word();
    println!("{} {} {}", record.id, record.name, paint(To::Stdout, Ink::of_state(state), state));
    verdict::short(&record.verdict).iter().for_each(|line| println!("{line}"));
    if record.stages.iter().any(|stage| !stage.operations.is_empty()) {
        println!("{}", table::results(record));
    }
    let goals = goals::text(record);
    if !goals.is_empty() {
        println!("{goals}");
    }
    let machines = nodes::text(record);
    if !machines.is_empty() {
        println!("{machines}");
    }
    let costs = faults::text(record);
    if !costs.is_empty() {
        println!("{costs}");
    }
    let filled = fill::text(record);
    if !filled.is_empty() {
        println!("{filled}");
    }
    let seen = consistency::text(record);
    if !seen.is_empty() {
        println!("{seen}");
    }
    let shares = raw::shares_text(record);
    if !shares.is_empty() {
        println!("{shares}");
    }
    record.durability.iter().flat_map(readback::text).for_each(|line| println!("{line}"));
    table::remarks(record).iter().for_each(|remark| println!("{remark}"));
    println!("archive: {}", path.display());
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use cosmark_archive::StageState;

    use super::*;
    use crate::args::{Args, Command};
    use crate::load::load_text;

    const TEXT: &str = "name: t\nstorage: {type: mock, delay: 1ms}\nstages:\n  - name: main\n    works:\n      - {name: main, \
                        workers: 4, runtime: 300s, interval: 100ms, operations: [{type: read, containers: c(1), objects: \
                        c(1)}]}\n";

    #[test]
    fn a_stage_ends_when_its_figures_are_known_and_they_are_those_of_the_window_that_it_had() {
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path().to_str().unwrap();
        let args = ["cosmark", "run", "t.yaml", "--archive", archive, "--quiet", "--no-report"];
        let Command::Run(args) = Args::parse_from(args).command else { panic!("another subcommand") };
        let loaded = load_text(&CATALOG, TEXT.to_owned(), "t", "t.yaml", None, &[]).ok().unwrap();
        let second = Duration::from_secs(1);
        let settle = Settle { least: second, every: second, within: 5.0 };
        let ended = execute_and_tidy_up(loaded, Some(settle), &args.options).ok().unwrap();
        let stage = &ended.record.stages[0];
        assert_eq!(stage.state, StageState::Completed, "{:?}", stage.reason);
        let why = stage.stopped_early.as_deref().unwrap_or_default();
        assert!(why.starts_with("stopped after"), "{why}");
        let window_s = stage.window_s.unwrap();
        assert!((1.0..300.0).contains(&window_s), "{window_s}");
        let read = &stage.operations[0];
        let counted = read.throughput_per_s.unwrap() * window_s / read.ok as f64;
        assert!((counted - 1.0).abs() < 1e-6, "{counted}");
        // A window that was meant to end is not one that was cut.
        let offered = ended.record.verdict.checks.iter().find(|check| check.id == "V4").unwrap();
        assert!(!offered.message.contains("was to be"), "{offered:?}");
        let remarks = table::remarks(&ended.record);
        assert!(remarks.iter().any(|remark| remark.contains("stopped after")), "{remarks:?}");
    }
}
