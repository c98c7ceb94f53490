//! Faults of a run on this machine: whether they may be made, the proxies that they need, who plays them, what they cost in
//! words, and what an earlier run has left.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use cosmark_archive::{
    Archive, FAULT_HEALED, FaultInForce, FaultNote, Heal, MissingRecord, PauseRecord, RunRecord, Timestamp,
};
use cosmark_controller::{FaultNews, FaultsPlayed, RunJob};
use cosmark_faults::{Agents, Away, Player, Playing, Proxies, Said, heal_left as heal_all, may_run, reach};
use cosmark_metrics::{FaultFigure, FaultResult, Snapshot};
use cosmark_workload::Workload;
use cosmark_workload::model::faults::{FaultKind, FaultPlace, FaultSpec};
use cosmark_workload::model::nodes::NodeSpec;
use cosmark_workload::model::{ConfigValue, Effect, Load, Stage, TargetSpec};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::exit::Problem;
use crate::fit::{self, Column};
use crate::host::data_of_beds;
use crate::paint::Ink;
use crate::units;

fn faults(workload: &Workload) -> impl Iterator<Item = &FaultSpec> {
    workload.stages.iter().flat_map(|stage| &stage.faults)
}

/// Whether the faults of a workload may be made: `here` says that this process makes the load, and not drivers over a
/// NATS, where agents are; `allowed` that the user has read what they do.
///
/// # Errors
/// The first that may not.
pub fn check(workload: &Workload, here: bool, allowed: bool) -> Result<(), Problem> {
    for fault in faults(workload) {
        let name = &fault.name;
        match &fault.kind {
            FaultKind::Agent { agent, .. } if here => {
                return Err(Problem::usage(format!(
                    "fault {name}: agent {agent} is reached over NATS: run it with --nats URL, or submit it to a controller"
                )));
            }
            FaultKind::Agent { .. } | FaultKind::None => {}
            kind if !here => {
                return Err(Problem::usage(format!(
                    "fault {name}: faults of type {} are made by the machine that makes the load: run it without --nats, or have \
                     the agent of a machine make it (type: agent)",
                    kind.word()
                )));
            }
            _ => {}
        }
    }
    let beds = data_of_beds().ok();
    faults(workload).try_for_each(|fault| may_run(fault, allowed, beds.as_deref())).map_err(Problem::usage)
}

/// Puts the hosts of `nodes:` in the place of their names in faults, and reaches each machine once.
///
/// # Errors
/// For a name that none of them has, or a machine that is not reached.
pub fn find_hosts(workload: &mut Workload) -> Result<(), Problem> {
    let Workload { nodes, stages, .. } = workload;
    for fault in stages.iter_mut().flat_map(|stage| &mut stage.faults) {
        let FaultPlace::Node(name) = fault.kind.place() else { continue };
        let reached = |node: &&NodeSpec| node.source.kind == "ssh";
        let known =
            nodes.iter().filter(reached).map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
        let problem = |why: &str| {
            let known = if known.is_empty() { "none".to_owned() } else { known.clone() };
            let remedy = "write one of these, or host: instead";
            Problem::usage(format!("fault {}: node {name} {why}; of type ssh: {known}; {remedy}", fault.name))
        };
        let Some(node) = nodes.iter().find(|node| node.name == *name) else {
            return Err(problem("is not in nodes: of the workload or its target"));
        };
        if !reached(&node) {
            return Err(problem(&format!("is of type {}, over which nothing can be done", node.source.kind)));
        }
        let entry = node.source.config.entries.iter().find(|entry| entry.key == "host");
        let Some(ConfigValue::Text(host)) = entry.map(|entry| &entry.value) else {
            return Err(problem("has no host: that is written there as it is"));
        };
        let host = FaultPlace::Host(host.clone());
        if let Some(place) = fault.kind.place_mut() {
            *place = host;
        }
    }
    let places = faults(workload).filter_map(|fault| match fault.kind.place() {
        FaultPlace::Host(host) => Some((host.clone(), &fault.name)),
        _ => None,
    });
    // Before the load, and not in the middle of it.
    let hosts: BTreeMap<_, _> = places.collect();
    hosts.iter().try_for_each(|(host, name)| {
        reach(host).map_err(|why| Problem::usage(format!("fault {name}: {why}")))
    })
}

/// Heals what earlier runs of this archive that are gone have left in force; `agents` are asked what became of theirs.
///
/// # Errors
/// When something could not be healed, or an agent that is asked does not know: a run would measure it.
pub fn heal_left(archive: &Path, agents: Option<&dyn Agents>) -> Result<(), Problem> {
    if !archive.is_dir() {
        return Ok(());
    }
    let (mut left, damaged) = Archive::open(archive)?.fault_journal().found()?;
    for (_, fault) in left.iter().filter(|(_, fault)| !fault.was_made_here()) {
        eprintln!(
            "cosmark: {} {} of this archive was in force elsewhere, or before this machine was started; `cosmark faults list` \
             shows it",
            fault.run, fault.fault
        );
    }
    left.retain(|(_, fault)| fault.was_made_here() && !fault.has_its_maker());
    let (by_agents, left): (Vec<_>, Vec<_>) =
        left.into_iter().partition(|(_, fault)| matches!(fault.heal, Heal::Agent { .. }));
    // An agent that does not answer keeps nothing else from being healed.
    let mut asked = Ok(());
    for (note, fault) in by_agents {
        asked = asked.and(ask_after(note, &fault, agents));
    }
    // Nor does one that cannot be read.
    asked = asked.and(damaged.into_iter().next().map_or(Ok(()), |error| Err(error.into())));
    if left.is_empty() {
        return asked;
    }
    eprintln!(
        "cosmark: faults of earlier runs, which have ended, are recorded as in force; they are healed first"
    );
    let (healed, failed) = heal_all(left, &mut |text| eprintln!("cosmark: {text}"));
    healed.iter().for_each(|text| eprintln!("cosmark: {text}"));
    match failed.first() {
        None => asked,
        Some(why) => Err(Problem::usage(format!("{why}; heal it by hand, then `cosmark faults heal`"))),
    }
}

/// Asks agents what became of the faults that they made for a run of this archive that is gone, and forgets those that are healed.
///
/// # Errors
/// When the journal cannot be read, or of the first fault that is not known to be healed, or that cannot be read.
pub fn ask_after_run(archive: &Path, run: &str, agents: &dyn Agents) -> Result<(), Problem> {
    let (left, damaged) = Archive::open(archive)?.fault_journal().found()?;
    let is_asked_after = |fault: &FaultInForce| {
        fault.run == run
            && matches!(fault.heal, Heal::Agent { .. })
            && fault.was_made_here()
            && !fault.has_its_maker()
    };
    let mut asked = Ok(());
    for (note, fault) in left.into_iter().filter(|(_, fault)| is_asked_after(fault)) {
        asked = asked.and(ask_after(note, &fault, Some(agents)));
    }
    asked.and(damaged.into_iter().next().map_or(Ok(()), |error| Err(error.into())))
}

/// What became of a fault that an agent made for a run that is gone.
fn ask_after(note: FaultNote, fault: &FaultInForce, agents: Option<&dyn Agents>) -> Result<(), Problem> {
    let FaultInForce { run, fault: name, what, heal, .. } = fault;
    let Heal::Agent { agent, ticket } = heal else { return Ok(()) };
    let of = format!("{name} of run {run} ({what})");
    let remedy =
        format!("`cosmark faults list --nats URL` asks it, `cosmark faults heal {run}` forgets it here");
    let Some(agents) = agents else {
        // A run of this machine has no way to it, and nothing to do with it.
        eprintln!("cosmark: only agent {agent} knows whether {of} is healed: {remedy}");
        return Ok(());
    };
    let said = match ticket {
        // It is healed where it is in force.
        Some(ticket) => {
            let said = aside(|| agents.became(agent, *ticket));
            said.unwrap_or_else(|| Err("asking ended by a bug in Cosmark".to_owned()))
        }
        None => Err("it was made by an older Cosmark".to_owned()),
    };
    let how = match said {
        Ok(Said::Yes(_)) => format!("by now, says agent {agent}"),
        Ok(Said::Ended { why, ago }) => format!("{:.0} s ago, says agent {agent}: {why}", ago.as_secs_f64()),
        Ok(Said::Failed(why)) => {
            return Err(Problem::usage(format!(
                "{of} is still in force, says agent {agent}: {why}; heal it on that machine, by hand or by `cosmark faults heal \
                 --archive STATE/agents/{agent} --force`"
            )));
        }
        Ok(Said::No) => {
            return Err(Problem::usage(format!("{of} is not healed, says agent {agent}; {remedy}")));
        }
        Err(why) => {
            return Err(Problem::usage(format!("it is not known whether {of} is healed: {why}; {remedy}")));
        }
    };
    eprintln!("cosmark: {of} was healed {how}");
    // In the timeline of its run, too.
    drop(fault.log(note.path(), &format!("{FAULT_HEALED} {how}")));
    Ok(note.forget()?)
}

/// Asks on a thread of no runtime, as agents have to be; the tasks of a runtime of which this one is go on meanwhile.
fn aside<T: Send>(ask: impl FnOnce() -> T + Send) -> Option<T> {
    let asked = || std::thread::scope(|scope| scope.spawn(ask).join().ok());
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => block_in_place(asked),
        _ => asked(),
    }
}

/// The same before somebody looks whether a system is whole. What cannot be healed yet, because its bed is down, is said: the
/// run that begins tries again, and is not begun with it.
pub fn heal_left_if_possible(archive: &Path) {
    if let Err(problem) = heal_left(archive, None) {
        eprintln!("cosmark: {problem}");
    }
}

/// Starts the proxies that the faults of a workload need, and sends its works through them.
///
/// # Errors
/// When one cannot listen, or no work reaches the store by what the fault names.
pub fn stand_before(workload: &mut Workload) -> Result<Proxies, Problem> {
    let of = |fault: &FaultSpec| match &fault.kind {
        FaultKind::Proxy { of, .. } => Some(of.clone()),
        _ => None,
    };
    // Each once: who has been sent through a proxy does not name the store any more.
    let stores: BTreeSet<String> = faults(workload).filter_map(of).collect();
    let proxies = Proxies::start(stores.iter().map(String::as_str))
        .map_err(|error| Problem::usage(error.to_string()))?;
    for store in &stores {
        let Some(instead) = proxies.instead_of(store) else { continue };
        let mut changed = 0;
        for work in workload.stages.iter_mut().flat_map(|stage| &mut stage.works) {
            changed += redirect(&mut work.storage, store, &instead.to_string())?;
            changed += redirect(&mut work.auth, store, &instead.to_string())?;
        }
        if changed == 0 {
            return Err(Problem::usage(format!(
                "a fault of type proxy is to stand before {store}, but no storage or auth of the workload has that address; \
                 write of: with host and port as they are there"
            )));
        }
    }
    Ok(proxies)
}

/// Puts the proxy's address into every URL of this host and port, also in a list of them; how many there were.
fn redirect(target: &mut TargetSpec, store: &str, instead: &str) -> Result<usize, Problem> {
    let mut changed = 0;
    for entry in &mut target.config.entries {
        let ConfigValue::Text(text) = &mut entry.value else { continue };
        let mut parts: Vec<String> = text.split(',').map(str::to_owned).collect();
        let mut found = 0;
        for part in &mut parts {
            let Some((scheme, rest)) = part.split_once("://") else { continue };
            let end = rest.find(|sign: char| matches!(sign, '/' | '?') || sign.is_whitespace());
            let (host, path) = rest.split_at(end.unwrap_or(rest.len()));
            if host != store {
                continue;
            }
            if scheme.trim_start() != "http" {
                return Err(Problem::usage(format!(
                    "{}: a proxy cannot stand before {}://{store}: certificates name the store; use the plain address",
                    entry.key,
                    scheme.trim_start()
                )));
            }
            *part = format!("{scheme}://{instead}{path}");
            found += 1;
        }
        if found > 0 {
            *text = parts.join(",");
        }
        changed += found;
    }
    Ok(changed)
}

/// Has the faults of a workload played while it runs.
///
/// # Errors
/// When the archive cannot be opened.
pub fn play(
    workload: &Workload,
    job: &mut RunJob<'_>,
    proxies: Proxies,
    archive: &Path,
) -> Result<(), Problem> {
    let run = job.dir.record().id.clone();
    let played = played(workload, run, proxies, None, (archive, None))?;
    played.into_iter().for_each(|played| job.on_faults(played));
    Ok(())
}

/// Who plays the faults of a workload in the run of this id, `agents` those of other machines; `None` where it has
/// none. The moment is that at which another controller took the run up.
///
/// # Errors
/// When the archive cannot be opened.
pub fn played(
    workload: &Workload,
    run: String,
    proxies: Proxies,
    agents: Option<Arc<dyn Agents>>,
    (archive, taken_up): (&Path, Option<Timestamp>),
) -> Result<Option<Box<dyn FaultsPlayed>>, Problem> {
    if faults(workload).next().is_none() {
        return Ok(None);
    }
    let journal = Archive::open(archive)?.fault_journal();
    Ok(Some(Box::new(Plays { run, journal, proxies, agents, taken_up, player: None, writes: Vec::new() })))
}

/// This very program, also where its file was replaced since: `cosmark faults guard`.
pub fn guardian() -> Vec<OsString> {
    ["/proc/self/exe", "faults", "guard"].map(OsString::from).to_vec()
}

struct Plays {
    run: String,
    journal: cosmark_archive::FaultJournal,
    proxies: Proxies,
    agents: Option<Arc<dyn Agents>>,
    taken_up: Option<Timestamp>,
    player: Option<Player>,
    /// Whether an operation writes objects, work by work.
    writes: Vec<Vec<bool>>,
}

impl FaultsPlayed for Plays {
    fn begin(&mut self, stage: &Stage, id: &str, at: Timestamp) {
        let works = &stage.works;
        let writes = |op: &cosmark_workload::model::Operation| op.kind.row().effect == Effect::Writes;
        self.writes = works.iter().map(|work| work.operations.iter().map(writes).collect()).collect();
        let ramp = works.iter().map(|work| work.rampup).max().unwrap_or_default();
        let load = works.iter().map(|work| work.rampup + work.runtime).min().unwrap_or_default();
        let timed = works.iter().all(|work| !work.runtime.is_zero());
        self.player = Some(Player::begin(Playing {
            faults: stage.faults.clone(),
            run: self.run.clone(),
            stage: id.to_owned(),
            began: at,
            taken_up: self.taken_up,
            ramp_s: ramp.as_secs_f64(),
            load_s: timed.then_some(load.as_secs_f64()),
            is_open: works.iter().all(|work| matches!(work.load, Load::Open { .. })),
            journal: self.journal.clone(),
            proxies: self.proxies.clone(),
            agents: self.agents.clone(),
            guardian: guardian(),
        }));
    }

    fn slice(&mut self, start_ns: u64, end_ns: u64, snapshot: &Snapshot) {
        let Some(player) = &self.player else { return };
        let writes = self.writes.get(usize::from(snapshot.work)).map(Vec::as_slice).unwrap_or_default();
        let writes = writes.iter().copied().chain(std::iter::repeat(false));
        player.add(start_ns, end_ns, snapshot.ops.iter().zip(writes));
    }

    fn take(&mut self) -> Vec<FaultNews> {
        let news = self.player.as_ref().map(Player::take).unwrap_or_default();
        news.into_iter().map(|one| FaultNews { at: one.at, kind: one.kind, text: one.text }).collect()
    }

    fn stop(&mut self) {
        self.player.iter().for_each(Player::stop);
    }

    fn leave(&mut self) {
        self.player.iter().for_each(Player::leave);
    }

    fn is_over(&self) -> bool {
        self.player.as_ref().is_none_or(Player::is_over)
    }

    fn results(&mut self, missing: &[MissingRecord], pauses: &[PauseRecord]) -> Vec<FaultResult> {
        let away = Away::of(missing, pauses);
        self.player.take().map(|player| player.results(&away)).unwrap_or_default()
    }
}

/// Figures that the terminal shows, and their heads; the report and `run.json` have all.
const SHOWN: [(&str, &str); 6] = [
    ("first_error_after_s", "first failure"),
    ("noticed_after_s", "noticed"),
    ("depth", "depth"),
    ("lost_operations", "lost ops"),
    ("back_after_s", "back after"),
    ("resiliency", "resiliency"),
];

/// What the faults of a run cost; empty without any.
#[must_use]
pub fn text(record: &RunRecord) -> String {
    let all = || record.stages.iter().flat_map(|stage| &stage.faults);
    if all().next().is_none() {
        return String::new();
    }
    // What comes last in `SHOWN` goes first, but for how deep it was.
    let goes = |at: usize, id: &str| if id == "depth" { 0 } else { u8::try_from(at + 1).unwrap_or(u8::MAX) };
    let figures = SHOWN.iter().enumerate().map(|(at, (id, head))| Column::number(head).goes(goes(at, id)));
    let columns = [Column::text("fault").least(12), Column::text("slots")].into_iter().chain(figures);
    let columns: Vec<Column> = columns.collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut lines = vec!["what the faults cost (mean of the slots, 95 % interval):".to_owned()];
    let mut said = Vec::new();
    for fault in all() {
        let void: Vec<_> = fault.slots.iter().filter(|slot| slot.void.is_some()).collect();
        let slots = format!("{} of {}", fault.slots.len() - void.len(), fault.slots.len());
        let figure = |id: &str| fault.figures.iter().find(|one| one.figure == id);
        let cells = SHOWN.iter().map(|(id, _)| figure(id).map_or_else(|| "-".to_owned(), shown));
        rows.push([fault.name.clone(), slots].into_iter().chain(cells).collect());
        // Slots one after another that are void for one reason are said in one line.
        said.extend(void.chunk_by(|one, next| one.void == next.void && one.number + 1 == next.number).map(
            |alike| {
                let why = alike.first().and_then(|slot| slot.void.clone()).unwrap_or_default();
                let numbers: Vec<u32> = alike.iter().map(|slot| slot.number).collect();
                let which = match numbers.as_slice() {
                    [first, .., last] => format!("{first} to {last}"),
                    numbers => numbers.iter().map(u32::to_string).collect(),
                };
                format!("{} {which}: void: {why}", fault.name)
            },
        ));
        said.extend(fault.failed_as().map(|failed| format!("{}: {failed}", fault.name)));
        said.extend(fault.remarks.iter().map(|remark| format!("{}: {remark}", fault.name)));
    }
    lines.push(fit::table(&columns, &rows, |_, _| Ink::Plain));
    if let Some(quiet) = all().find_map(|fault| fault.false_dips.as_ref()) {
        lines.push(format!(
            "without a fault a dip was found in {} of {} stretches of {:.0} s",
            quiet.dips, quiet.stretches, quiet.seconds
        ));
    }
    said.dedup();
    lines.extend(said);
    lines.join("\n")
}

fn shown(figure: &FaultFigure) -> String {
    let Some(mean) = figure.mean else { return "-".to_owned() };
    let one = |value: f64| match figure.unit.as_str() {
        "share" => format!("{:.0} %", value * 100.0),
        "s" => format!("{value:.1} s"),
        "bytes" => units::bytes(value),
        _ => format!("{value:.0}"),
    };
    match (figure.low, figure.high) {
        (Some(low), Some(high)) if high > low => format!("{} [{}, {}]", one(mean), one(low), one(high)),
        _ => one(mean),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cosmark_faults::{FaultThere, Wish};
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    use super::*;

    /// Endpoints of the works of a workload whose store has these, and whose faults stand before those stores.
    fn redirected(endpoints: &str, of: &[&str]) -> Result<(Proxies, Vec<String>), Problem> {
        let faults: Vec<String> = of
            .iter()
            .enumerate()
            .map(|(at, of)| {
                format!("{{name: f{at}, type: proxy, of: '{of}', stall: true, at: 5s, hold: 1s, slot: 9s}}")
            })
            .collect();
        let text = format!(
            "name: x\nstorage: {{type: s3, endpoint: '{endpoints}', accesskey: a, secretkey: b}}\nstages:\n- {{name: main, faults: [{}], \
             works: [{{name: w, workers: 1, runtime: 300s, operations: [{{type: read, containers: c(1), objects: c(1)}}]}}]}}\n",
            faults.join(", ")
        );
        let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
        let mut workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
        assert_eq!(workload.stages[0].faults.len(), of.len(), "{mistakes:?}");
        let proxies = stand_before(&mut workload)?;
        let of_work = |work: &cosmark_workload::model::Work| {
            work.storage.config.entries.iter().find_map(|entry| match &entry.value {
                ConfigValue::Text(text) if entry.key == "endpoint" => Some(text.clone()),
                _ => None,
            })
        };
        Ok((proxies, workload.stages[0].works.iter().filter_map(of_work).collect()))
    }

    /// One agent answers, and the other one is away.
    struct OneAway;

    impl Agents for OneAway {
        fn open(&self, _: &str, _: &Wish) -> Result<Box<dyn FaultThere>, String> {
            Err("nothing is made here".to_owned())
        }

        fn became(&self, agent: &str, _: u64) -> Result<Said, String> {
            if agent == "away" { Err("no answer".to_owned()) } else { Ok(Said::Yes(String::new())) }
        }
    }

    #[test]
    fn an_agent_that_is_away_keeps_nothing_else_from_being_healed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let journal = Archive::open(path).unwrap().fault_journal();
        let by = |agent: &str| Heal::Agent { agent: agent.to_owned(), ticket: Some(7) };
        let here = Heal::Command {
            words: ["rm", "there"].map(str::to_owned).to_vec(),
            directory: path.to_owned(),
            within: Duration::from_secs(30),
            proof: None,
        };
        std::fs::write(path.join("there"), "").unwrap();
        for (name, heal) in [("a", by("away")), ("b", by("s1")), ("c", here)] {
            let mut left = FaultInForce::made_here("w1", "s1-main", name, "x", heal);
            left.process.started_ticks = left.process.started_ticks.map(|ticks| ticks + 1);
            journal.note(&left).unwrap();
        }
        let why = heal_left(path, Some(&OneAway)).unwrap_err().to_string();
        assert!(why.contains("not known whether a of run w1") && why.contains("no answer"), "{why}");
        let still: Vec<String> = journal.all().unwrap().into_iter().map(|(_, fault)| fault.fault).collect();
        assert_eq!((still, path.join("there").exists()), (vec!["a".to_owned()], false));
        // Nor does a note that cannot be read keep agents from being asked.
        let mut left = FaultInForce::made_here("w2", "s1-main", "d", "x", by("s1"));
        left.process.started_ticks = left.process.started_ticks.map(|ticks| ticks + 1);
        let note = journal.note(&left).unwrap();
        std::fs::write(path.join(".faults/w9-9.json"), "{").unwrap();
        let why = ask_after_run(path, "w2", &OneAway).unwrap_err().to_string();
        assert!(why.contains("w9-9.json") && !note.path().exists(), "{why}");
    }

    #[test]
    fn a_note_that_is_damaged_keeps_nothing_else_from_being_healed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let journal = Archive::open(path).unwrap().fault_journal();
        let heal = Heal::Command {
            words: ["rm", "there"].map(str::to_owned).to_vec(),
            directory: path.to_owned(),
            within: Duration::from_secs(30),
            proof: None,
        };
        std::fs::write(path.join("there"), "").unwrap();
        let mut left = FaultInForce::made_here("w1", "s1-main", "gone 1", "x", heal);
        left.process.started_ticks = left.process.started_ticks.map(|ticks| ticks + 1);
        journal.note(&left).unwrap();
        std::fs::write(path.join(".faults/w9-9.json"), "{").unwrap();
        let why = heal_left(path, None).unwrap_err().to_string();
        assert!(why.contains("w9-9.json") && !path.join("there").exists(), "{why}");
        assert!(heal_left(path, None).is_err(), "no run begins with it");
        std::fs::remove_file(path.join(".faults/w9-9.json")).unwrap();
        assert!(heal_left(path, None).is_ok());
    }

    #[test]
    fn a_proxy_stands_before_a_store_wherever_a_list_names_it_and_in_whatever_order_faults_do() {
        let (a, b) = ("127.0.0.1:9001", "127.0.0.1:9002");
        let list = format!("http://{a}/x?y, http://{b},http://127.0.0.1:9003");
        for of in [vec![a], vec![b], vec![a, b], vec![a, b, a], vec![b, a, a, b]] {
            let (proxies, endpoints) = redirected(&list, &of).unwrap_or_else(|why| panic!("{of:?}: {why:?}"));
            let at = |store: &str| proxies.instead_of(store).map_or(store.to_owned(), |at| at.to_string());
            assert_eq!(
                endpoints,
                [format!("http://{}/x?y, http://{},http://127.0.0.1:9003", at(a), at(b))],
                "{of:?}"
            );
            assert_eq!((at(a) != a, at(b) != b), (of.contains(&a), of.contains(&b)));
        }
    }

    #[test]
    fn a_proxy_is_refused_before_a_store_that_nothing_names_or_whose_way_is_encrypted() {
        let why = |endpoints: &str| format!("{:?}", redirected(endpoints, &["127.0.0.1:9002"]).err());
        assert!(why("http://127.0.0.1:9001").contains("no storage or auth of the workload has that address"));
        let https = why("http://127.0.0.1:9001,https://127.0.0.1:9002");
        assert!(https.contains("a proxy cannot stand before https://127.0.0.1:9002"), "{https}");
    }
}
