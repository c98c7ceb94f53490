//! `cosmark study`: runs an experiment of many cells and makes its paper.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cosmark_archive::{ArchiveError, Timestamp, write_whole};
use cosmark_driver::secrets::stars_over_secrets;
use cosmark_study::claims::judge;
use cosmark_study::design::{Choice, Design};
use cosmark_study::engine::{Engine, Limits, Outcome as Ending, belongs, how_far, observations};
use cosmark_study::estimate::{Cost, cost, cost_of, times};
use cosmark_study::journal::{Call, CellState, DISK_FULL, Journal, Step, digest, ended, steps};
use cosmark_study::library::{Entry, LIBRARY, NEW_PUBLISHED, NEW_STUDY, find};
use cosmark_study::measured::Files;
use cosmark_study::page::{self, Part};
use cosmark_study::paper::paper;
use cosmark_study::place::{TARGET_LINE, forget_stop, is_changed, keep};
use cosmark_study::published::{Published, numbers, read as read_published};
use cosmark_study::selected::Selected;
use cosmark_study::spec::{OneOrMore, Spec, Where, json_schema, read};
use cosmark_workload::diagnostics::nearest;
use cosmark_workload::units::parse_duration;
use serde_json::{Value, json};

use crate::args::StudyArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::host::data_of_beds;
use crate::load::{load_text, read_text};
use crate::registry::{CATALOG, READING};
use crate::study::bed::{Bed, unique};
use crate::study::fio::{Device, check, remove_left};
use crate::study::go_on::remember;
use crate::study::inside::directory_of;
use crate::study::runner::{Here, Settings, minutes, systems};
use crate::study::status::status;
use crate::{diagnose, faults};

/// What stands in place of a study's name and is none.
const WORDS: [&str; 4] = ["list", "schema", "status", "new"];

/// Runs the subcommand.
pub fn run(args: &StudyArgs) -> Outcome {
    if args.json && !matches!(args.what.as_str(), "list" | "status" | "schema") {
        return Err(Problem::usage(
            "--json works with `study list` and `study status`; `cosmark study status NAME --json` has what was measured",
        ));
    }
    match (args.what.as_str(), &args.name) {
        ("list", None) if args.json => list_as_json(),
        ("list", None) => list(),
        ("schema", None) => {
            verbatim!("{}", crate::output::json(&json_schema())?);
            Ok(Exit::Done)
        }
        ("status", name) => status(name.as_deref(), args.dir.as_deref(), args.json),
        ("new", Some(name)) => new(name),
        ("new", None) => Err(Problem::usage("cosmark study new NAME: give the directory that is to be made")),
        (_, Some(name)) => Err(Problem::usage(format!("{name}: only `new` and `status` take a second name"))),
        (_, None) => study(args),
    }
}

/// A study of the library.
fn of_library(entry: &Entry) -> Result<Spec, Problem> {
    let (spec, _) = read(entry.text);
    spec.ok_or_else(|| Problem::usage(format!("the study {} of this program cannot be read", entry.name)))
}

/// Its scales in their order, with what each comes to.
fn costs(spec: &Spec) -> Vec<(&'static str, Cost, u32)> {
    let of = |name: &'static str| {
        let scale = spec.scales.get(name)?;
        let choice = Choice { scale: name.to_owned(), ..Choice::default() };
        let cost = Design::new(spec, choice).and_then(|design| cost(&design)).ok()?;
        Some((name, cost, scale.repetitions.least))
    };
    ["quick", "scaled", "full"].into_iter().filter_map(of).collect()
}

fn list_as_json() -> Outcome {
    let mut all = Vec::new();
    for entry in LIBRARY {
        let spec = of_library(entry)?;
        let scales: Vec<Value> = costs(&spec)
            .into_iter()
            .map(|(name, cost, least)| json!({"name": name, "runs": cost.runs, "time_s": cost.time_s, "repetitions": least}))
            .collect();
        all.push(
            json!({"name": entry.name, "title": spec.title, "question": spec.question, "scales": scales}),
        );
    }
    verbatim!("{}", crate::output::json(&all)?);
    Ok(Exit::Done)
}

fn list() -> Outcome {
    for entry in LIBRARY {
        let spec = of_library(entry)?;
        println!("{:<15} {}", entry.name, spec.title);
        for (name, cost, least) in costs(&spec) {
            println!(
                "{:15}   {name:<7} {}, {} runs, {least} x each cell",
                "",
                minutes(cost.time_s),
                cost.runs
            );
        }
    }
    println!("\ncosmark study NAME --plan shows what would be run.");
    Ok(Exit::Done)
}

/// Writes a study to begin with.
fn new(name: &str) -> Outcome {
    let directory = Path::new(name);
    let base = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let good = !base.is_empty()
        && base.len() <= 30
        && base.starts_with(|sign: char| sign.is_ascii_alphanumeric())
        && base.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_'));
    if !good {
        return Err(Problem::usage(format!("{name}: a study's name has up to 30 letters, digits, - and _")));
    }
    if WORDS.contains(&name) {
        return Err(Problem::usage(format!("{name}: a word of this command; give another name")));
    }
    if find(&base).is_some() {
        return Err(Problem::usage(format!(
            "{name}: a study of this program has that name; give another name"
        )));
    }
    if directory.exists() {
        return Err(Problem::usage(format!("{name} is there already; nothing was written")));
    }
    let failed = |cause: std::io::Error| Problem::place(format!("{name}: {cause}"), &cause);
    std::fs::create_dir_all(directory).map_err(failed)?;
    let text = NEW_STUDY.replace("name: mine\n", &format!("name: {base}\n"));
    std::fs::write(directory.join("study.yaml"), text).map_err(failed)?;
    std::fs::write(directory.join("published.csv"), NEW_PUBLISHED).map_err(failed)?;
    for file in ["study.yaml", "published.csv"] {
        println!("{}", directory.join(file).display());
    }
    println!("\nnext: cosmark study {} --plan", directory.display());
    Ok(Exit::Done)
}

/// A study with its texts.
struct Loaded {
    spec: Spec,
    text: String,
    /// `published.csv`.
    csv: String,
    published: Vec<Published>,
}

fn load(what: &str) -> Result<Loaded, Problem> {
    let path = Path::new(what);
    let file = if path.is_dir() { path.join("study.yaml") } else { path.to_owned() };
    let (text, csv, shown) = if file.is_file() {
        let csv = file.with_file_name("published.csv");
        let csv = if csv.is_file() { read_text(&csv)? } else { String::new() };
        (read_text(&file)?, csv, file.display().to_string())
    } else if path.is_dir() && find(what).is_none() {
        return Err(Problem::usage(format!(
            "{what}: this directory has no study.yaml; `cosmark study new NAME` makes one with a beginning of it"
        )));
    } else if let Some(entry) = find(what) {
        (entry.text.to_owned(), entry.published.to_owned(), format!("studies/{what}/study.yaml"))
    } else {
        let names: Vec<&str> = LIBRARY.iter().map(|entry| entry.name).collect();
        let remedy = match nearest(what, WORDS.into_iter().chain(names.iter().copied())) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are {}; `cosmark study list` says what they are", names.join(", ")),
        };
        return Err(Problem::usage(format!("{what}: no such study or file; {remedy}")));
    };
    let (spec, mistakes) = read(&text);
    diagnose::show(&shown, &text, &mistakes);
    let spec = spec
        .ok_or_else(|| Problem::usage(format!("{shown}: {}; nothing was run", diagnose::count(&mistakes))))?;
    let tables = read_published(&csv).map_err(Problem::usage)?;
    let published = numbers(&spec, &tables).map_err(Problem::usage)?;
    Ok(Loaded { spec, text, csv, published })
}

/// `FACTOR=LEVEL,LEVEL`.
fn only(given: &[String]) -> Result<Where, Problem> {
    let mut all = Where::new();
    for text in given {
        let (factor, levels) = text
            .split_once('=')
            .map(|(factor, levels)| (factor.trim(), levels.trim()))
            .filter(|(factor, levels)| !factor.is_empty() && !levels.is_empty())
            .ok_or_else(|| {
                Problem::usage(format!("--only {text}: write FACTOR=LEVEL, such as system=swift"))
            })?;
        let levels = levels.split(',').map(|level| level.trim().to_owned()).collect();
        if all.insert(factor.to_owned(), OneOrMore(levels)).is_some() {
            return Err(Problem::usage(format!(
                "--only {factor}: give all its levels at once, separated by commas"
            )));
        }
    }
    Ok(all)
}

/// `NAME=FILE`.
fn targets(spec: &Spec, given: &[String]) -> Result<BTreeMap<String, PathBuf>, Problem> {
    let mut all = BTreeMap::new();
    for text in given {
        let (name, file) = text
            .split_once('=')
            .filter(|(_, file)| !file.is_empty())
            .ok_or_else(|| Problem::usage(format!("--system {text}: write NAME=target.yaml")))?;
        if !spec.systems.iter().any(|system| system.name == name) {
            let known: Vec<&str> = spec.systems.iter().map(|system| system.name.as_str()).collect();
            return Err(Problem::usage(format!(
                "--system {name}: no system of this study; there are {}",
                known.join(", ")
            )));
        }
        let path = Path::new(file);
        if !path.is_file() {
            return Err(Problem::usage(format!("--system {text}: there is no file {file}")));
        }
        all.insert(name.to_owned(), path.to_owned());
    }
    Ok(all)
}

fn study(args: &StudyArgs) -> Outcome {
    let Loaded { mut spec, text, csv, published } = load(&args.what)?;
    let targets = targets(&spec, &args.system)?;
    let mut only = only(&args.only)?;
    let without = beside_a_store(&spec, &targets, &mut only);
    if !without.is_empty() && !args.quiet {
        eprintln!(
            "cosmark: left out: {}, variants of test beds; name those that you want beside your store with --only system=..",
            without.join(", ")
        );
    }
    for system in &mut spec.systems {
        if targets.contains_key(&system.name) {
            // The user's store is not one of our making.
            system.bed = None;
            system.environment.clear();
        }
    }
    let budget_s = match &args.budget {
        None => None,
        Some(text) => Some(
            parse_duration(text)
                .map_err(|(what, remedy)| Problem::usage(format!("--budget {text}: {what}; {remedy}")))?
                .as_secs_f64(),
        ),
    };
    let directory = args.dir.clone().unwrap_or_else(|| default_directory(&spec.name, args));
    let digests = digests(&targets)?;
    let choice = Choice {
        targets: digests,
        scale: args.scale.clone(),
        as_published: args.as_published,
        only,
        seed: args.seed,
        tag: if args.plan { String::new() } else { tag(&directory, !targets.is_empty())? },
    };
    if choice.as_published && spec.as_published.is_none() {
        let why = "none of the published flaws is one that a workload can put back; the report names them";
        return Err(Problem::usage(format!("{}: {why}", spec.name)));
    }
    let design = Design::new(&spec, choice).map_err(Problem::usage)?;
    // Who only looks makes nothing fail.
    check_workloads(&design, (!args.plan && !args.report).then_some(args.allow_faults))?;
    if args.plan {
        print!("{}", plan(&design).map_err(Problem::usage)?);
        return Ok(Exit::Done);
    }
    if args.report {
        let done = steps(&directory).map_err(Problem::usage)?;
        if done.is_empty() {
            return Err(Problem::usage(format!("{}: nothing was measured there yet", directory.display())));
        }
        belongs(&design, &text, &done).map_err(Problem::usage)?;
        let is_changed = is_changed(&directory, &text);
        return write_report(&design, &done, &directory, &published, is_changed);
    }
    if let Some(why) = design.why_nothing_is_run() {
        return Err(Problem::usage(format!("{}: {why}", spec.name)));
    }
    let limits = Limits { budget_s, retry: args.retry };
    let here = Place {
        directory: &directory,
        targets,
        text: &with_targets(&text, &args.system),
        csv: &csv,
        published: &published,
    };
    execute(&design, args, limits, here)
}

/// Variants of test beds stand for their hardware: beside a store of the user they are left out, unless `only` names systems.
/// Gives those that are.
fn beside_a_store(spec: &Spec, targets: &BTreeMap<String, PathBuf>, only: &mut Where) -> Vec<String> {
    if targets.is_empty() || only.contains_key("system") {
        return Vec::new();
    }
    let is_meant = |name: &str, is_variant: bool| !is_variant || targets.contains_key(name);
    let all = spec.systems.iter().map(|system| (system.name.clone(), !system.environment.is_empty()));
    let (meant, variants): (Vec<_>, Vec<_>) = all.partition(|(name, is_variant)| is_meant(name, *is_variant));
    let names =
        |systems: Vec<(String, bool)>| -> Vec<String> { systems.into_iter().map(|(name, _)| name).collect() };
    if !variants.is_empty() {
        only.insert("system".to_owned(), OneOrMore(names(meant)));
    }
    names(variants)
}

/// What target files say, without the secrets in them: another password is no other store.
fn digests(targets: &BTreeMap<String, PathBuf>) -> Result<BTreeMap<String, String>, Problem> {
    let of = |(name, path): (&String, &PathBuf)| {
        let text = stars_over_secrets(&CATALOG, &read_text(path)?);
        let short: Vec<&str> = text.split('*').filter(|part| !part.is_empty()).collect();
        Ok((name.clone(), digest(&short.join("*"))))
    };
    targets.iter().map(of).collect()
}

/// What is in the names of containers: what the journal has; of a new study on the user's stores, on which another may run at
/// the same time, drawn letters.
fn tag(directory: &Path, on_stores: bool) -> Result<String, Problem> {
    let begun = steps(directory).map_err(Problem::usage)?;
    let known = begun.iter().find_map(|step| match step {
        Step::Design { tag, .. } => Some(tag.clone()),
        _ => None,
    });
    let drawn = || if on_stores { format!("{:06x}", unique() & 0xff_ffff) } else { String::new() };
    Ok(known.unwrap_or_else(drawn))
}

/// Where a study is run, and from what.
struct Place<'a> {
    directory: &'a Path,
    targets: BTreeMap<String, PathBuf>,
    text: &'a str,
    csv: &'a str,
    published: &'a [Published],
}

fn default_directory(name: &str, args: &StudyArgs) -> PathBuf {
    let flawed = if args.as_published { "-as-published" } else { "" };
    PathBuf::from(format!("study-{name}-{}{flawed}", args.scale))
}

/// What was measured at one place does not go on at another. In which order the places were given is nothing.
fn with_targets(text: &str, given: &[String]) -> String {
    let mut given: Vec<&String> = given.iter().collect();
    given.sort();
    given.into_iter().fold(text.to_owned(), |text, target| format!("{text}\n{TARGET_LINE}{target}"))
}

/// A mistake in the workload of any cell is found before the first is run; where cells are run, also a fault that may not
/// be made: `allowed` is the user's word.
fn check_workloads(design: &Design<'_>, allowed: Option<bool>) -> Result<(), Problem> {
    if design.spec.workload.is_none() {
        return Ok(());
    }
    for cell in design.cells.iter().filter(|cell| cell.is_run()) {
        let text =
            design.workload(cell, 1).map_err(|why| Problem::usage(format!("cell {}: {why}", cell.id)))?;
        let shown = format!("the workload of {}", cell.id);
        // Whether a store is named is the target's affair.
        let with_store = format!("storage: {{type: mock}}\n{text}");
        // Who plans or reports runs nobody's code: what a plugin's own keys are is seen when it is run.
        let loaded = load_text(&READING, with_store, &shown, "workload.yaml", None, &[])?;
        if let Some(allowed) = allowed {
            faults::check(&loaded.workload, true, allowed)?;
        }
        let mut stages: BTreeMap<&str, usize> = BTreeMap::new();
        for stage in &loaded.workload.stages {
            *stages.entry(stage.name.as_str()).or_default() += 1;
        }
        for point in cell.points.iter().filter(|point| point.refused.is_none()) {
            let found = stages.get(point.stage.as_str()).copied().unwrap_or(0);
            if found != 1 {
                return Err(Problem::usage(format!(
                    "{shown} has {found} stages called {}: workload.measured names one stage for each point",
                    point.stage
                )));
            }
        }
    }
    Ok(())
}

fn execute(design: &Design<'_>, args: &StudyArgs, limits: Limits, place: Place<'_>) -> Outcome {
    let Place { directory, targets, text, csv, published } = place;
    for system in systems(design) {
        let known = targets.contains_key(&system.name) || (system.block.is_some() && system.bed.is_none());
        if !known && Bed::of(&args.testbeds, system).map_err(Problem::usage)?.is_none() {
            let name = &system.name;
            return Err(Problem::usage(format!("{name} has no bed: give --system {name}=target.yaml")));
        }
    }
    let ceph = ceph();
    if design.spec.fio.is_some() {
        check(&systems(design), ceph.as_ref()).map_err(Problem::usage)?;
    }
    let mut journal = Journal::open(directory).map_err(unusable)?;
    for path in remove_left(directory, &journal.steps) {
        eprintln!("cosmark: removed {}, which a killed call of this study left", path.display());
    }
    let settings = Settings {
        directory: directory.to_owned(),
        beds: args.testbeds.clone(),
        targets,
        device: Device::new(directory, args.disk.clone().unwrap_or_else(|| directory.to_owned()), ceph),
        threads: args.threads,
        no_nodes: args.no_nodes,
        allow_faults: args.allow_faults,
        quiet: args.quiet,
        seed: args.seed,
    };
    let mut runner = Here::new(settings)?;
    let engine = Engine::new(design, text, &mut journal, limits, &mut runner).map_err(unusable)?;
    if engine.is_begun_again {
        eprintln!(
            "cosmark: the study's text or a target was changed since it was begun; nothing was measured yet, so it \
             begins with the new one"
        );
    }
    // Who looks at the directory reads what is run there.
    keep(directory, text, csv).map_err(Problem::usage)?;
    let call = this_call(design);
    remember(directory, &call);
    // A bed in which a killed cell's fault is in force would be called broken.
    faults::heal_left_if_possible(&directory.join("archive"));
    let ending = engine.on_call(call).run(&mut runner);
    let forgotten = forget_stop(directory).map_err(Problem::usage);
    // What was measured is shown however it ended; why it ended is said before why that cannot be written.
    let shown = write_report(design, &journal.steps, directory, published, false);
    let ending = ending.map_err(|why| Problem::from(std::io::Error::other(why)))?;
    let shown = forgotten.and(shown)?;
    let (done, of, left_s) = how_far(design, &journal.steps);
    match ending {
        Ending::Complete => {}
        Ending::BudgetSpent => {
            println!(
                "the budget is spent: {done} of {of} runs are done, {} left; the same command goes on",
                minutes(left_s)
            );
        }
        Ending::Stopped => {
            eprintln!("cosmark: stopped: {done} of {of} runs are done; the same command goes on");
            return Ok(Exit::Cancelled);
        }
    }
    let failed = ended(&journal.steps).values().filter(|end| end.state == CellState::Failed).count();
    if failed > 0 {
        eprintln!("cosmark: {failed} runs failed; the report names them; --retry runs them once more");
        return Ok(Exit::StageFailed);
    }
    Ok(shown)
}

/// Why a journal cannot be gone on with: what the user gave, or this machine's disk.
fn unusable(why: String) -> Problem {
    if why.ends_with(DISK_FULL) { Problem::ours(why) } else { Problem::usage(why) }
}

/// This call of the command, as somebody else may repeat it.
fn this_call(design: &Design<'_>) -> Call {
    let only = design.choice.only.iter().map(|(factor, levels)| (factor.clone(), levels.0.clone()));
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    Call {
        at_s: u64::try_from(Timestamp::now().as_second()).unwrap_or(0),
        only: only.collect(),
        arguments: std::env::args_os().skip(1).map(text).collect(),
        directory: std::env::current_dir().map(|path| text(path.into())).unwrap_or_default(),
    }
}

/// The Ceph of the test bed, or that of the environment.
fn ceph() -> Option<(PathBuf, PathBuf)> {
    let var = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if let (Some(conf), Some(keyring)) = (var("CEPH_CONF"), var("CEPH_KEYRING")) {
        return Some((conf, keyring));
    }
    let beds = data_of_beds().ok()?;
    Some((beds.join("ceph/ceph.conf"), beds.join("ceph/keys/client.admin")))
}

/// The parts of a plan as text.
fn plan(design: &Design<'_>) -> Result<String, String> {
    let spec = design.spec;
    let times = times(design)?;
    let Cost { time_s, space_bytes, runs, points } = cost_of(design, &times)?;
    let mut out = String::new();
    let _ = writeln!(out, "{}\n{}\n", spec.title, spec.question);
    let _ = writeln!(
        out,
        "{} --scale {}: {runs} runs with {points} measured points, {}, {} MB on the store at a time",
        spec.name,
        design.choice.scale,
        minutes(time_s),
        space_bytes.div_ceil(1_000_000)
    );
    if spec.systems.iter().any(|system| system.bed.is_some())
        && let Some(line) = crate::study::bed::free_room()
    {
        let _ = writeln!(out, "{line}");
    }
    let repetitions = design.scale.repetitions;
    if let (Some(most), Some(within)) = (repetitions.most, repetitions.within_percent) {
        let _ =
            writeln!(out, "and up to {most} repetitions of cells whose interval is wider than +-{within} %");
    }
    let fraction = design.selected.iter().flat_map(Selected::lines);
    for line in design.scale.shrunk.iter().cloned().chain(fraction) {
        let _ = writeln!(out, "  - {line}");
    }
    let all = (0..design.cells.len()).collect();
    for repetition in 1..=repetitions.least {
        for block in design.blocks(repetition, &all) {
            let system = &spec.systems[block.system];
            let on =
                system.bed.as_ref().map_or_else(|| "its target".to_owned(), |bed| format!("test bed {bed}"));
            let blocks = design.selected.as_ref().map_or(1, Selected::count_of_blocks);
            let part = if blocks > 1 { format!(", block {}", block.part + 1) } else { String::new() };
            let _ = writeln!(out, "\nrepetition {repetition}{part}, on {on}");
            for (cell, time_s) in block.cells.iter().map(|at| (&design.cells[*at], times[*at])) {
                let run: Vec<&str> = cell
                    .points
                    .iter()
                    .filter(|point| point.refused.is_none())
                    .map(|point| if point.stage.is_empty() { "one job" } else { point.stage.as_str() })
                    .collect();
                let _ = writeln!(out, "  {:<28} {:>13}  {}", cell.id, minutes(time_s), run.join(" "));
            }
        }
    }
    let refused: Vec<String> = design
        .refused()
        .iter()
        .map(|one| {
            let mut levels = one.common();
            levels.insert("system".to_owned(), spec.systems[one.system].name.clone());
            format!("  {}{}: {}", design.named(&levels), one.how_many(), one.why)
        })
        .collect();
    if !refused.is_empty() {
        let _ = writeln!(out, "\nnot run:\n{}", refused.join("\n"));
    }
    Ok(out)
}

/// Writes a file of the report. The directory may have come from anybody: a link of this name is replaced, not followed.
fn put(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let written: Result<(), ArchiveError> = write_whole(path, false, |out| out.write_all(bytes));
    Ok(written?)
}

/// Writes all forms of the report and says what the claims came to, and which runs cannot be read.
fn write_report(
    design: &Design<'_>,
    done: &[Step],
    directory: &Path,
    published: &[Published],
    is_changed: bool,
) -> Outcome {
    let files = Files { directory };
    let paper = paper(design, done, &files, published, is_changed);
    let pictures = directory_of(directory, "figures").map_err(Problem::usage)?;
    for part in &paper.parts {
        if let Part::Figure { name, svg, .. } = part {
            put(&pictures.join(format!("{name}.svg")), svg.as_bytes())?;
        }
    }
    put(&directory.join("report.html"), page::html(&paper).as_bytes())?;
    put(&directory.join("report.md"), page::markdown(&paper, "figures").as_bytes())?;
    put(&directory.join("tables.tex"), page::latex(&paper).as_bytes())?;
    let all = observations(design, done, &files);
    for claim in judge(design, &all) {
        println!("{:<6} {:<18} {}", claim.id, claim.finding.words(), claim.says);
    }
    println!("report: {}", directory.join("report.html").display());
    let broken: BTreeSet<&str> =
        all.iter().filter(|one| one.unreadable).map(|one| one.place.as_str()).collect();
    if broken.is_empty() {
        return Ok(Exit::Done);
    }
    let names: Vec<&str> = broken.into_iter().collect();
    eprintln!("cosmark: runs that cannot be read: {}; --retry runs them once more", names.join(", "));
    Ok(Exit::Ours)
}
