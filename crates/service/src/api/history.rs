//! Lists of runs: those that wait or run and the archive, filtered, sorted, a page at a time; and how one is taken out.

use std::cmp::Ordering;
use std::path::{Path as FsPath, PathBuf};

use axum::extract::State;
use axum::http::StatusCode;
use cosmark_archive::{
    ArchiveError, Overall, RunOverview, RunState, Timestamp, overview, remove_run, text_of_name,
};
use serde::Deserialize;

use super::answer::{Given, Params, Path, blocking, json};
use super::archived::{directory, number_in, number_of, of_several, unknown};
use super::{App, No, Shared};
use crate::api::types::RunSummary;
use crate::live::overall_word;

/// Filters of a list of runs.
#[derive(Debug, Default, Deserialize)]
pub struct Filter {
    state: Option<String>,
    search: Option<String>,
    tag: Option<String>,
    verdict: Option<String>,
    baseline: Option<String>,
    since: Option<String>,
    until: Option<String>,
    sort: Option<String>,
    down: Option<String>,
    /// At most so many.
    pub limit: Option<usize>,
    skip: Option<usize>,
    before: Option<String>,
}

/// Runs of a list without a limit.
const USUAL: usize = 100;
/// Runs of a list at most.
const MOST: usize = 1000;

/// What a list can be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Id,
    Name,
    Target,
    State,
    Verdict,
    Started,
    Took,
    Throughput,
    P99,
}

const SORTS: [(&str, Sort); 9] = [
    ("id", Sort::Id),
    ("name", Sort::Name),
    ("target", Sort::Target),
    ("state", Sort::State),
    ("verdict", Sort::Verdict),
    ("started", Sort::Started),
    ("took", Sort::Took),
    ("throughput", Sort::Throughput),
    ("p99", Sort::P99),
];

/// States of a list, and those of an archive's files that have another word here.
const STATES: [(&str, &str); 10] = [
    ("active", "active"),
    ("ended", "ended"),
    ("queuing", "queuing"),
    ("processing", "processing"),
    ("finished", "finished"),
    ("failed", "failed"),
    ("terminated", "terminated"),
    ("cancelled", "cancelled"),
    ("running", "processing"),
    ("killed", "killed"),
];

const VERDICTS: [Overall; 4] = [Overall::True, Overall::TrueWithLimits, Overall::NotProven, Overall::False];

/// A filter whose words were read.
struct Wanted<'a> {
    filter: &'a Filter,
    state: Option<&'static str>,
    verdict: Option<&'static str>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    baselines: bool,
    sort: Sort,
    down: bool,
    before: Option<(u64, &'a str)>,
}

fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

fn yes_or_no(name: &str, text: &Option<String>) -> Result<Option<bool>, No> {
    match given(text) {
        None => Ok(None),
        Some("1" | "true" | "yes") => Ok(Some(true)),
        Some("0" | "false" | "no") => Ok(Some(false)),
        Some(_) => Err(No::bad(format!("{name}: say 1 or 0"))),
    }
}

/// A moment, or the beginning of a day in UTC; `end` = the end of that day.
fn moment(name: &str, text: &Option<String>, end: bool) -> Result<Option<Timestamp>, No> {
    let Some(text) = given(text) else { return Ok(None) };
    let is_day = text.len() == 10;
    let day = format!("{text}T{}Z", if end { "23:59:59.999" } else { "00:00:00" });
    let read = if is_day { day.parse() } else { text.parse() };
    let bad = |_| {
        No::bad(format!("{name}: give a day such as 2026-01-31, or a moment such as 2026-01-31T12:00:00Z"))
    };
    read.map(Some).map_err(bad)
}

/// What one of these words means, in capitals or not and as a page shows it.
fn known_word<T: Copy>(name: &str, text: &Option<String>, known: &[(&str, T)]) -> Result<Option<T>, No> {
    let Some(text) = given(text) else { return Ok(None) };
    let word = text.to_lowercase().replace([' ', '-'], "_");
    let found = known.iter().find(|(name, _)| *name == word);
    let names = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found
        .map(|(_, one)| Some(*one))
        .ok_or_else(|| No::bad(format!("{name}: {text} is not one of {}", names())))
}

impl Filter {
    fn read(&self) -> Result<Wanted<'_>, No> {
        let verdicts = VERDICTS.map(|one| (overall_word(one), overall_word(one)));
        Ok(Wanted {
            filter: self,
            state: known_word("state", &self.state, &STATES)?,
            verdict: known_word("verdict", &self.verdict, &verdicts)?,
            since: moment("since", &self.since, false)?,
            until: moment("until", &self.until, true)?,
            baselines: yes_or_no("baseline", &self.baseline)?.unwrap_or(false),
            sort: known_word("sort", &self.sort, &SORTS)?.unwrap_or(Sort::Id),
            down: yes_or_no("down", &self.down)?.unwrap_or(true),
            before: self.before.as_deref().map(numbered).transpose()?,
        })
    }
}

impl Wanted<'_> {
    fn fits(&self, run: &RunSummary) -> bool {
        let is_active = matches!(run.state.as_str(), "queuing" | "processing");
        let text = given(&self.filter.search).map(str::to_lowercase);
        let has = |text: &String| {
            let words = [Some(run.id.as_str()), Some(run.name.as_str()), run.target.as_deref()];
            let mut words = words.into_iter().flatten().chain(run.tags.iter().map(String::as_str));
            words.any(|word| word.to_lowercase().contains(text))
        };
        let tags = given(&self.filter.tag).unwrap_or_default();
        let mut tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        let at = moment_of(run);
        self.state.is_none_or(|state| match state {
            "active" => is_active,
            "ended" => !is_active,
            state => run.state == state,
        }) && text.as_ref().is_none_or(has)
            && tags.all(|tag| run.tags.iter().any(|own| own == tag))
            && self.verdict.is_none_or(|word| run.verdict.as_deref() == Some(word))
            && (!self.baselines || run.baseline)
            && self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| at.is_some_and(|at| at <= until))
            && self.before.is_none_or(|before| is_older(run, before))
    }

    /// What has no value comes last either way; equal ones are newest first.
    fn order(&self, a: &RunSummary, b: &RunSummary) -> Ordering {
        let way = |order: Ordering| if self.down { order.reverse() } else { order };
        let texts = |a: &str, b: &str| way(a.to_lowercase().cmp(&b.to_lowercase()));
        let numbers = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => way(a.total_cmp(&b)),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        let took = |run: &RunSummary| {
            let of = |text: &Option<String>| text.as_ref()?.parse::<Timestamp>().ok();
            Some((of(&run.ended)?.as_nanosecond() - of(&run.started)?.as_nanosecond()) as f64)
        };
        let ids = || number_in(&a.id).cmp(&number_in(&b.id)).then_with(|| b.id.cmp(&a.id));
        let order = match self.sort {
            Sort::Id => way(ids()),
            Sort::Name => texts(&a.name, &b.name),
            Sort::Target => match (&a.target, &b.target) {
                (Some(a), Some(b)) => texts(a, b),
                (a, b) => b.is_some().cmp(&a.is_some()),
            },
            Sort::State => texts(&a.state, &b.state),
            Sort::Verdict => numbers(believed(a), believed(b)),
            Sort::Started => match (moment_of(a), moment_of(b)) {
                (Some(a), Some(b)) => way(a.cmp(&b)),
                (a, b) => b.is_some().cmp(&a.is_some()),
            },
            Sort::Took => numbers(took(a), took(b)),
            Sort::Throughput => numbers(a.throughput_per_s, b.throughput_per_s),
            Sort::P99 => numbers(a.p99_ms, b.p99_ms),
        };
        order.then_with(|| ids().reverse())
    }
}

/// The number in an id, and the id.
fn numbered(id: &str) -> Result<(u64, &str), No> {
    let bad = || No::bad(format!("before: {id} is no id of a run, such as w12"));
    number_in(id).map(|number| (number, id)).ok_or_else(bad)
}

/// Whether a run stands behind that of this number and id where the newest are first. Those of one number stand there by the names
/// of their directories.
fn is_older(run: &RunSummary, (number, id): (u64, &str)) -> bool {
    number_in(&run.id).is_some_and(|own| own < number || (own == number && run.id.as_str() > id))
}

/// When it began, or else was submitted.
fn moment_of(run: &RunSummary) -> Option<Timestamp> {
    run.started.as_ref().or(run.submitted.as_ref())?.parse().ok()
}

/// How far its numbers can be believed.
fn believed(run: &RunSummary) -> Option<f64> {
    match run.verdict.as_deref()? {
        "true" => Some(3.0),
        "true_with_limits" => Some(2.0),
        "not_proven" => Some(1.0),
        _ => Some(0.0),
    }
}

fn state_word(state: Option<RunState>) -> &'static str {
    match state {
        Some(RunState::Running) => "processing",
        // What cannot be read did not end by itself.
        None => "terminated",
        Some(state) => state.word(),
    }
}

/// A run of the archive.
fn summary_of(run: &RunOverview) -> RunSummary {
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
    RunSummary {
        id: format!("w{}", run.number),
        name: run.name.clone(),
        state: state_word(run.state).to_owned(),
        reason: run.reason.clone().or_else(|| run.problem.clone()),
        submitted: time(run.submitted),
        started: time(run.started),
        ended: time(run.ended),
        priority: 0,
        position: None,
        stage: None,
        stages_done: count(run.stages_over),
        stages: count(run.stages),
        progress: None,
        remaining_s: None,
        left_s: None,
        left_open: 0,
        target: run.target.clone(),
        throughput_per_s: run.headline.as_ref().map(|one| one.throughput_per_s),
        p99_ms: run.headline.as_ref().and_then(|one| one.p99_ms),
        p99_is_least: run.headline.as_ref().is_some_and(|one| one.p99_is_least),
        verdict: run.verdict.map(|verdict| overall_word(verdict).to_owned()),
        verdict_reason: run.verdict_reason.clone(),
        operations: run.kinds.clone(),
        tags: run.tags.iter().cloned().collect(),
        baseline: run.baseline,
        submitted_by: None,
        drivers: run.drivers.clone(),
        lost: Vec::new(),
        waits_for: None,
        class: None,
    }
}

fn is_called(path: &FsPath, directory: &str) -> bool {
    path.file_name().is_some_and(|name| text_of_name(name) == directory)
}

/// A run of the archive, and how it ended if the archive had no room to be told.
pub fn summarize(app: &App, run: &RunOverview) -> RunSummary {
    let archived = summary_of(run);
    let ended = |live: &RunSummary| !matches!(live.state.as_str(), "queuing" | "processing");
    let lately = app.queue.live(&archived.id).filter(|_| archived.state == "processing");
    let lately = lately.filter(|live| live.path().is_some_and(|path| is_called(&path, &run.directory)));
    lately.map(|live| live.summary()).filter(ended).unwrap_or(archived)
}

/// All runs that fit, newest first where no other order is asked for. Reads the archive.
pub fn select(app: &App, filter: &Filter) -> Result<Vec<RunSummary>, No> {
    let wanted = filter.read()?;
    let limit = filter.limit.unwrap_or(USUAL).clamp(1, MOST);
    let active = app.queue.active();
    let archive = &app.queue.runner().archive;
    let archived = if archive.is_dir() { overview(archive)? } else { Vec::new() };
    // Asked last: what has begun since the archive was read is not in it.
    let places = app.queue.places();
    let several = of_several(&archived);
    let is_active = |id: &str| active.iter().any(|run| run.id == id);
    let in_list = |run: &RunOverview| {
        let mut summary = summarize(app, run);
        let place = places.get(&summary.id);
        let is_own = || place.and_then(Option::as_ref).is_some_and(|path| is_called(path, &run.directory));
        let is_another = place.is_some() && !is_own();
        if is_active(&summary.id) && !is_another {
            return None;
        }
        if several.contains(&run.number) || is_another {
            summary.id.clone_from(&run.directory);
        }
        Some(summary)
    };
    let archived: Vec<RunSummary> = archived.iter().filter_map(in_list).collect();
    let mut all: Vec<RunSummary> =
        active.into_iter().chain(archived).filter(|run| wanted.fits(run)).collect();
    all.sort_by(|a, b| wanted.order(a, b));
    Ok(all.into_iter().skip(filter.skip.unwrap_or(0)).take(limit).collect())
}

/// `GET runs`
pub async fn list(State(app): State<Shared>, Params(filter): Params<Filter>) -> Given<Vec<RunSummary>> {
    json(blocking(move || select(&app, &filter)).await?)
}

/// `DELETE runs/ID`
pub async fn remove(State(app): State<Shared>, Path(id): Path<String>) -> Result<StatusCode, No> {
    let busy = |text: &str| No::new(StatusCode::CONFLICT, format!("{id} {text}"));
    if app.queue.find(&id).is_some() {
        return Err(busy("waits or runs: cancel it first"));
    }
    let refused = |text: String| No::new(StatusCode::CONFLICT, text);
    let wanted = id.clone();
    blocking(move || {
        let dir = directory(&app, &wanted)?;
        // Where nobody can say whose the number is, nothing is taken out. A second time finds no run of elsewhere in its place.
        let own = match number_in(&wanted).map(|number| format!("w{number}")) {
            Some(own) => app.queue.place_of_ended(&own)?.map(|place| (own, place)),
            None => None,
        };
        let is_own = |place: &Option<PathBuf>| place.as_deref() == Some(dir.as_path());
        if number_of(&wanted).is_some() && own.as_ref().is_some_and(|(_, place)| !is_own(place)) {
            return Err(unknown(&wanted));
        }
        let own = own.filter(|(_, place)| is_own(place)).map(|(own, _)| own);
        remove_run(&dir).map_err(|error| match error {
            // The place on this machine is nobody's business.
            ArchiveError::InUse { why, .. } => refused(format!("{wanted} cannot be deleted: {why}")),
            error => No::from(error),
        })?;
        app.queue.forget(own, &dir);
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u64, change: impl FnOnce(&mut RunSummary)) -> RunSummary {
        let json = serde_json::json!({
            "id": format!("w{number}"), "name": "x", "state": "finished", "reason": null, "waits_for": null,
            "submitted": null, "started": format!("2026-01-{:02}T12:00:00Z", number + 10), "ended": null, "priority": 0,
            "position": null, "stage": null, "stages_done": 0, "stages": 1, "progress": null, "remaining_s": null,
            "verdict": null, "verdict_reason": null, "class": null, "operations": [], "tags": [], "baseline": false,
            "submitted_by": null, "drivers": []
        });
        let mut run = serde_json::from_value(json).unwrap();
        change(&mut run);
        run
    }

    fn ids(filter: &Filter, runs: &[RunSummary]) -> Vec<String> {
        let wanted = filter.read().unwrap_or_else(|no| panic!("{no:?}"));
        let mut found: Vec<&RunSummary> = runs.iter().filter(|run| wanted.fits(run)).collect();
        found.sort_by(|a, b| wanted.order(a, b));
        found.iter().map(|run| run.id.clone()).collect()
    }

    fn filter(pairs: &[(&str, &str)]) -> Filter {
        let map: serde_json::Map<String, serde_json::Value> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
        serde_json::from_value(map.into()).unwrap()
    }

    #[test]
    fn the_history_is_filtered_and_sorted_over_all_runs() {
        let runs = [
            run(1, |run| (run.throughput_per_s, run.verdict) = (Some(9.0), Some("true".into()))),
            run(2, |run| (run.throughput_per_s, run.baseline) = (Some(100.0), true)),
            run(3, |run| run.verdict = Some("false".into())),
            run(10, |run| (run.target, run.throughput_per_s) = (Some("s3 10.0.0.7".into()), Some(20.0))),
        ];
        // By number and not by text, newest first.
        assert_eq!(ids(&filter(&[]), &runs), ["w10", "w3", "w2", "w1"]);
        assert_eq!(ids(&filter(&[("down", "0")]), &runs), ["w1", "w2", "w3", "w10"]);
        // What has no value comes last either way.
        assert_eq!(ids(&filter(&[("sort", "throughput")]), &runs), ["w2", "w10", "w1", "w3"]);
        assert_eq!(ids(&filter(&[("sort", "throughput"), ("down", "0")]), &runs), ["w1", "w10", "w2", "w3"]);
        assert_eq!(ids(&filter(&[("sort", "verdict")]), &runs), ["w1", "w3", "w10", "w2"]);
        assert_eq!(ids(&filter(&[("verdict", "false")]), &runs), ["w3"]);
        assert_eq!(ids(&filter(&[("baseline", "1")]), &runs), ["w2"]);
        assert_eq!(ids(&filter(&[("search", "10.0.0")]), &runs), ["w10"]);
        assert_eq!(ids(&filter(&[("since", "2026-01-12"), ("until", "2026-01-13")]), &runs), ["w3", "w2"]);
        assert_eq!(ids(&filter(&[("before", "w3")]), &runs), ["w2", "w1"]);
    }

    #[test]
    fn pages_leave_out_no_run_whose_number_another_one_has() {
        let called = |number: u64, id: &str| run(number, |run| id.clone_into(&mut run.id));
        let runs = [called(1, "w1-srch"), run(2, |_| ()), called(1, "w1-mixed"), called(1, "w1-again")];
        let mut page = ids(&filter(&[]), &runs);
        assert_eq!(page, ["w2", "w1-again", "w1-mixed", "w1-srch"]);
        // Whatever run is the last of a page, the next one goes on behind it.
        while !page.is_empty() {
            let last = page.remove(0);
            assert_eq!(ids(&filter(&[("before", &last)]), &runs), page, "{last}");
        }
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_refused_with_what_to_write() {
        for (key, value) in
            [("sort", "colour"), ("since", "yesterday"), ("baseline", "maybe"), ("before", "12")]
        {
            assert!(filter(&[(key, value)]).read().is_err(), "{key}={value}");
        }
        for (key, value, known) in
            [("state", "bogus", "processing"), ("verdict", "yes", "true_with_limits"), ("sort", "p9", "p99")]
        {
            let Err(no) = filter(&[(key, value)]).read() else { panic!("{key}={value}") };
            let said = format!("{no:?}");
            assert!(
                said.contains(&format!("{key}: {value} is not one of ")) && said.contains(known),
                "{said}"
            );
        }
    }

    #[test]
    fn a_state_has_the_word_of_the_archive_too_and_a_verdict_any_letters() {
        let runs = [
            run(1, |run| run.state = "processing".into()),
            run(2, |run| run.state = "terminated".into()),
            run(3, |run| run.verdict = Some("true".into())),
            run(4, |run| run.verdict = Some("true_with_limits".into())),
            run(5, |run| run.state = "queuing".into()),
            run(6, |run| run.state = state_word(Some(RunState::Killed)).into()),
        ];
        let asked: [(&str, &str, &[&str]); 10] = [
            ("state", "running", &["w1"]),
            ("state", "processing", &["w1"]),
            ("state", "killed", &["w6"]),
            ("state", "Terminated", &["w2"]),
            ("state", "active", &["w5", "w1"]),
            ("state", "ended", &["w6", "w4", "w3", "w2"]),
            ("verdict", "TRUE", &["w3"]),
            ("verdict", "TRUE with limits", &["w4"]),
            ("verdict", "not_proven", &[]),
            ("state", "", &["w6", "w5", "w4", "w3", "w2", "w1"]),
        ];
        for (key, value, found) in asked {
            assert_eq!(ids(&filter(&[(key, value)]), &runs), found, "{key}={value}");
        }
        // COSBench's scripts are told one of its words.
        assert_eq!(crate::api::cosbench::state(&runs[5]), "TERMINATED");
        // Every state that a run of an archive can have has a word here.
        for state in [
            RunState::Running,
            RunState::Finished,
            RunState::Failed,
            RunState::Terminated,
            RunState::Cancelled,
            RunState::Killed,
        ] {
            let asked = filter(&[("state", state.word())]);
            assert_eq!(asked.read().ok().and_then(|wanted| wanted.state), Some(state_word(Some(state))));
        }
    }
}
