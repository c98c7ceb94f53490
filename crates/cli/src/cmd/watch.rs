//! `cosmark watch`: how a run is doing, made by whatever process: from its archive's files, or told by its controller. It only looks.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use cosmark_archive::{
    EventKind, EventRecord, HistogramLog, IntervalLine, Run, RunState, StageRecord, StageState, Timestamp,
};
use cosmark_metrics::{OpSnapshot, Phase};
use cosmark_service::api::types::{Interval, RunSummary};
use cosmark_verdict::from_archive::Places;
use cosmark_verdict::open_judged;
use cosmark_workload::model::Stage;
use cosmark_workload::{Environment, Format, Workload, parse_what_is_there};
use serde_json::Value;

use crate::args::WatchArgs;
use crate::client::{Absence, Client};
use crate::cmd::cancel::{number_of, path_of, run_id};
use crate::cmd::run::print_results;
use crate::exit::{Exit, Outcome, Problem};
use crate::progress::scene::{MOST_PAST, Row, Scene};
use crate::progress::{can_draw, missing_at_end, of_verdict, show, so_far};
use crate::runs::find;
use crate::{screen, units};

/// A look is taken this often, and so seldom that looking takes less than a twentieth of one processor.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_SHARE: u32 = 20;
const VERDICT_EVERY: Duration = Duration::from_secs(5);
const VERDICT_SHARE: u32 = 100;
/// Without a terminal a line comes this often.
const PLAIN_EVERY: Duration = Duration::from_secs(5);
/// What is read of the end of the histogram log: some intervals of many operations.
const TAIL_BYTES: u64 = 1 << 20;

/// Runs the subcommand.
pub fn run(args: &WatchArgs) -> Outcome {
    if args.client.controller.is_some() && args.archive.is_none() {
        return of_controller(args);
    }
    of_archive(&find(&args.run, args.archive.as_deref().unwrap_or(Path::new("archive")))?)
}

/// Shows a scene, or now and then a line of it.
struct Teller {
    draws: bool,
    next_line: Instant,
}

impl Teller {
    fn new() -> Self {
        Self { draws: can_draw(), next_line: Instant::now() }
    }

    fn tell(&mut self, scene: &Scene) {
        if self.draws && screen::is_in_front() {
            screen::show(&scene.lines(show()));
        } else if self.next_line <= Instant::now() {
            self.next_line = Instant::now() + PLAIN_EVERY;
            eprintln!("{}", line_of(scene));
        }
    }
}

fn line_of(scene: &Scene) -> String {
    let rate = scene.rates.back().map_or_else(|| "-".to_owned(), |rate| units::rate(*rate));
    let p99 = scene.p99s.back().copied().flatten();
    let p99 = p99.map_or_else(|| "-".to_owned(), |ms| format!("{} ms", units::ms(ms)));
    let left = scene.remaining.map_or_else(String::new, |left| format!(" left {}", units::clock(left)));
    let missing = missing_at_end(&scene.missing);
    let verdict = scene.verdict.as_ref().map_or_else(String::new, |(word, _)| format!("  so far {word}"));
    format!(
        "{} {}{left}  {rate} op/s  p99 {p99}  errors {}{missing}{verdict}",
        scene.head,
        units::clock(scene.elapsed),
        units::grouped(scene.failed)
    )
}

// ---- from the files of its archive ----------------------------------------------------------------------------------

fn of_archive(directory: &Path) -> Outcome {
    let mut teller = Teller::new();
    let mut next_verdict = Instant::now() + VERDICT_EVERY;
    let mut verdict = None;
    let mut workload = None;
    loop {
        let began = Instant::now();
        let run = open_judged(directory)?;
        if run.record.state != RunState::Running {
            screen::clear();
            print_results(&run.record, directory);
            return Ok(exit_of(run.record.state));
        }
        let workload = workload.get_or_insert_with(|| read_workload(&run));
        if next_verdict <= Instant::now() {
            let looked = Instant::now();
            verdict = so_far(directory).as_ref().map(of_verdict).or(verdict);
            next_verdict = Instant::now() + VERDICT_EVERY.max(looked.elapsed() * VERDICT_SHARE);
        }
        let mut scene = scene_of(&run, workload.as_ref())?;
        scene.verdict.clone_from(&verdict);
        teller.tell(&scene);
        if crate::out::nobody_reads() {
            return Ok(Exit::Done);
        }
        std::thread::sleep(LOOK_EVERY.max(began.elapsed() * LOOK_SHARE));
    }
}

fn exit_of(state: RunState) -> Exit {
    match state {
        RunState::Finished => Exit::Done,
        RunState::Failed => Exit::StageFailed,
        _ => Exit::Cancelled,
    }
}

fn read_workload(run: &Run) -> Option<Workload> {
    let text = run.workload_yaml().ok().flatten()?;
    parse_what_is_there(&text, Format::Yaml, &Environment::default()).0
}

/// The stage that is shown: that which has begun last.
fn newest(run: &Run) -> Option<(usize, &StageRecord)> {
    let begun =
        |stage: &&StageRecord| stage.state != StageState::Waiting && stage.state != StageState::Aborted;
    run.record.stages.iter().enumerate().rfind(|(_, stage)| begun(stage))
}

fn scene_of(run: &Run, workload: Option<&Workload>) -> Result<Scene, Problem> {
    let of = run.record.stages.len();
    let Some((index, stage)) = newest(run) else {
        return Ok(Scene {
            head: format!("{} {}: begins", run.record.id, run.record.name),
            ..Scene::default()
        });
    };
    let mut scene = Scene {
        head: format!("{} [{}/{of}] {} {}", run.record.id, index + 1, stage.name, state_word(stage.state)),
        ..Scene::default()
    };
    let Some(began) = stage.load_started else { return Ok(scene) };
    let now = Timestamp::now();
    scene.elapsed = Duration::try_from(now.duration_since(began)).unwrap_or_default();
    let planned = workload.and_then(|workload| planned(workload, index, &run.record.stages));
    let planned = planned.as_deref();
    if let Some(length) = planned.and_then(length_of) {
        scene.remaining = Some(length.saturating_sub(scene.elapsed));
        scene.done = Some((scene.elapsed.as_secs_f64() / length.as_secs_f64()).clamp(0.0, 1.0));
    }
    let sums = Sums::read(run, stage, planned.map_or(Duration::ZERO, Stage::interval))?;
    sums.fill(&mut scene, &stage.id);
    scene.missing = missing_of(&run.events()?, &stage.id, began);
    Ok(scene)
}

/// What the workload says of the stage at `index` of the record: several may have its name, and a trial has the name of none.
fn planned<'a>(workload: &'a Workload, index: usize, stages: &[StageRecord]) -> Option<Cow<'a, Stage>> {
    let stage = stages.get(index)?;
    let plan = Places::of(stages, workload).plan(index, stage, workload)?;
    Some(plan).filter(|plan| plan.name == stage.name)
}

/// Drivers that this stage has lost and that are not back, as the events of a run that goes on say it: `d2 since 00:08`.
fn missing_of(events: &[EventRecord], stage: &str, began: Timestamp) -> Vec<String> {
    let mut missing: Vec<(&str, String)> = Vec::new();
    let own = events.iter().filter(|event| event.kind == EventKind::Driver);
    for event in own.filter(|event| event.stage.as_deref() == Some(stage)) {
        let Some(text) = event.text.strip_prefix("driver ") else { continue };
        if let Some((driver, _)) = text.split_once(" is lost: ") {
            let since = Duration::try_from(event.at.duration_since(began)).unwrap_or_default();
            missing.retain(|(known, _)| *known != driver);
            missing.push((driver, format!("{driver} since {}", units::clock(since))));
        } else if let Some(driver) = text.strip_suffix(" is back") {
            missing.retain(|(known, _)| *known != driver);
        }
    }
    missing.into_iter().map(|(_, text)| text).collect()
}

fn state_word(state: StageState) -> String {
    serde_json::to_value(state).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// How long a stage lasts, where time ends it.
fn length_of(stage: &Stage) -> Option<Duration> {
    let timed = !stage.works.is_empty() && stage.works.iter().all(|work| !work.runtime.is_zero());
    let longest = stage.works.iter().map(|work| work.rampup + work.runtime + work.rampdown).max();
    longest.filter(|length| timed && !length.is_zero())
}

/// Times of one operation, in ns, and how often each came.
type Steps = BTreeMap<u64, u64>;

/// What is shown as one moment: lines of all works, drivers and phases. Where a ramp ends in an interval it has a line before that
/// and one behind it.
struct Moment {
    start_s: f64,
    end_s: f64,
    tags: BTreeMap<String, OpSnapshot>,
}

impl Moment {
    fn seconds(&self) -> f64 {
        (self.end_s - self.start_s).max(1e-3)
    }
}

/// What a stage did so far, moment by moment and by tag.
struct Sums {
    /// Length of a moment: that of the intervals, or a second where these are shorter.
    length_ms: i64,
    moments: BTreeMap<i64, Moment>,
    failed: BTreeMap<String, u64>,
    drivers: Vec<String>,
    /// Times of the newest moments.
    times: BTreeMap<i64, BTreeMap<String, Steps>>,
}

#[expect(clippy::cast_possible_truncation, reason = "milliseconds of a run")]
fn in_ms(seconds: f64) -> i64 {
    (seconds * 1e3).round() as i64
}

/// So many percent of the times took no longer, ms.
fn percentile_ms(steps: &Steps, percent: u64) -> Option<f64> {
    let all: u64 = steps.values().fold(0, |sum, count| sum.saturating_add(*count));
    let wanted = all.saturating_mul(percent).div_ceil(100);
    let mut seen = 0_u64;
    let reached = |(_, count): &(&u64, &u64)| {
        seen = seen.saturating_add(**count);
        seen >= wanted
    };
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    steps.iter().find(reached).map(|(ns, _)| *ns as f64 / 1e6)
}

impl Sums {
    fn new(interval: Duration) -> Self {
        Self {
            length_ms: i64::try_from(interval.as_millis()).unwrap_or(i64::MAX).max(1000),
            moments: BTreeMap::new(),
            failed: BTreeMap::new(),
            drivers: Vec::new(),
            times: BTreeMap::new(),
        }
    }

    fn read(run: &Run, stage: &StageRecord, interval: Duration) -> Result<Self, Problem> {
        let mut sums = Self::new(interval);
        run.intervals(|line| {
            if line.stage == stage.id {
                sums.add(&line);
            }
        })?;
        sums.read_times(run, stage);
        Ok(sums)
    }

    fn number(&self, at_s: f64) -> i64 {
        in_ms(at_s).div_euclid(self.length_ms)
    }

    fn add(&mut self, line: &IntervalLine) {
        *self.failed.entry(line.tag.clone()).or_default() += line.failed;
        if !self.drivers.contains(&line.driver) {
            self.drivers.push(line.driver.clone());
        }
        // What was in flight when the load ended says nothing of how fast it was.
        if line.phase == Phase::Drain.word() {
            return;
        }
        let moment = self.moments.entry(self.number(line.start_s)).or_insert_with(|| Moment {
            start_s: line.start_s,
            end_s: line.end_s,
            tags: BTreeMap::new(),
        });
        moment.start_s = moment.start_s.min(line.start_s);
        moment.end_s = moment.end_s.max(line.end_s);
        moment.tags.entry(line.tag.clone()).or_default().merge(&line.sums());
        while self.moments.len() > MOST_PAST {
            self.moments.pop_first();
        }
    }

    fn add_times(&mut self, tag: &str, middle_s: f64, steps: impl Iterator<Item = (u64, u64)>) {
        let number = self.number(middle_s);
        if self.moments.contains_key(&number) {
            let times = self.times.entry(number).or_default().entry(tag.to_owned()).or_default();
            for (ns, count) in steps {
                let sum = times.entry(ns).or_default();
                *sum = sum.saturating_add(count);
            }
        }
    }

    /// The newest times. A log that cannot be read costs the percentiles and nothing else.
    fn read_times(&mut self, run: &Run, stage: &StageRecord) {
        let (Some(began), Ok(log)) = (stage.load_started, HistogramLog::open_at_end(&run.path, TAIL_BYTES))
        else {
            return;
        };
        // The log counts from when the run was submitted.
        let Some(base) = run.record.submitted else { return };
        let offset_s = began.duration_since(base).as_secs_f64();
        for entry in log.map_while(Result::ok) {
            let tag = [".response", ".response.rampup", ".response.rampdown"]
                .iter()
                .find_map(|end| entry.tag.strip_suffix(end));
            let Some(tag) = tag.filter(|tag| self.failed.contains_key(*tag)) else { continue };
            let middle_s = entry.start.as_secs_f64() + entry.length.as_secs_f64() / 2.0 - offset_s;
            let recorded = entry.histogram.iter_recorded();
            let steps = recorded.map(|step| (step.value_iterated_to(), step.count_at_value()));
            self.add_times(tag, middle_s, steps);
        }
    }

    fn fill(&self, scene: &mut Scene, stage: &str) {
        for (number, moment) in &self.moments {
            #[expect(clippy::cast_precision_loss, reason = "figures for people")]
            let done = moment.tags.values().map(|sums| sums.ok as f64).sum::<f64>();
            let p99s = self.times.get(number).into_iter().flat_map(BTreeMap::values);
            let slowest = p99s.filter_map(|steps| percentile_ms(steps, 99)).max_by(f64::total_cmp);
            scene.push(done / moment.seconds(), slowest);
        }
        let newest = self.moments.last_key_value();
        for (tag, failed) in &self.failed {
            let name = tag.strip_prefix(&format!("{stage}.")).unwrap_or(tag);
            let lately = newest.and_then(|(number, moment)| Some((number, moment, moment.tags.get(tag)?)));
            let mut row = Row { name: name.to_owned(), failed: *failed, ..Row::default() };
            if let Some((number, moment, sums)) = lately {
                row = crate::progress::row(name, sums, moment.seconds(), *failed);
                let steps = self.times.get(number).and_then(|times| times.get(tag));
                let ms = |percent| steps.and_then(|steps| percentile_ms(steps, percent));
                (row.p50_ms, row.p99_ms) = (ms(50), ms(99));
            }
            scene.rows.push(row);
        }
        scene.failed = self.failed.values().sum();
        if self.drivers.len() > 1 {
            scene.drivers.clone_from(&self.drivers);
        }
    }
}

// ---- from its controller --------------------------------------------------------------------------------------------

/// Failures of stages by operation, bin by bin, as a controller has them since each began: of intervals it remembers only the last
/// ones, and whoever comes late never hears of those before.
#[derive(Default)]
struct Failures(BTreeMap<String, Vec<(String, Vec<u64>)>>);

/// A controller speaks of the stage that runs and of the one before it.
const MOST_STAGES: usize = 4;

impl Failures {
    /// Puts bins in the place of those from there on. What follows on bins that never came says nothing.
    fn take(&mut self, news: &Value, running: &str) {
        let (Some(stage), Some(operations)) = (news["stage"].as_str(), news["operations"].as_array()) else {
            return;
        };
        let from = news["from"].as_u64().and_then(|from| usize::try_from(from).ok()).unwrap_or(usize::MAX);
        if self.0.len() >= MOST_STAGES && !self.0.contains_key(stage) {
            self.0.retain(|known, _| known == running);
        }
        let known = self.0.entry(stage.to_owned()).or_default();
        known.resize_with(operations.len(), Default::default);
        for ((name, bins), operation) in known.iter_mut().zip(operations) {
            let text = |key: &str| operation[key].as_str().unwrap_or_default();
            *name = name_of(text("work"), text("name"));
            if from <= bins.len() {
                let counts = operation["series"]["failures"].as_array().into_iter().flatten();
                bins.truncate(from);
                bins.extend(counts.map(|count| count.as_u64().unwrap_or(0)));
            }
        }
    }

    /// So many of each operation of a stage.
    fn of(&self, stage: &str) -> BTreeMap<&str, u64> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, bins) in self.0.get(stage).into_iter().flatten() {
            let sum = sums.entry(name).or_default();
            *sum = bins.iter().fold(*sum, |sum, count| sum.saturating_add(*count));
        }
        sums
    }
}

/// With the work where that is called otherwise.
fn name_of(work: &str, operation: &str) -> String {
    if work == operation || work.is_empty() { operation.to_owned() } else { format!("{work} {operation}") }
}

/// What a controller has told so far.
#[derive(Default)]
struct News {
    summary: Option<RunSummary>,
    scene: Scene,
    stage: String,
    failed: BTreeMap<String, u64>,
    since_it_began: Failures,
}

impl News {
    fn summary(&mut self, summary: RunSummary) {
        let stage = summary.stage.clone().unwrap_or_default();
        let number = summary.stages_done.saturating_add(1).min(summary.stages);
        let place = if stage.is_empty() {
            summary.state.clone()
        } else {
            format!("[{number}/{}] {stage}", summary.stages)
        };
        self.scene.head = format!("{} {} {place}", summary.id, summary.name);
        self.scene.done = summary.progress;
        self.scene.remaining = summary.remaining_s.map(|s| Duration::from_secs_f64(s.clamp(0.0, 1e9)));
        if summary.drivers.len() > 1 {
            self.scene.drivers.clone_from(&summary.drivers);
        }
        self.scene.missing = summary.lost.iter().map(|lost| lost.driver.clone()).collect();
        if let Some(word) = &summary.verdict {
            let reason = summary.verdict_reason.clone().unwrap_or_default();
            self.scene.verdict = Some((word.replace('_', " ").to_uppercase(), reason));
        }
        self.summary = Some(summary);
    }

    fn interval(&mut self, interval: &Interval) {
        if self.stage != interval.stage {
            interval.stage.clone_into(&mut self.stage);
            self.failed.clear();
            self.scene.rates.clear();
            self.scene.p99s.clear();
        }
        let seconds = (interval.end_s - interval.start_s).max(1e-3);
        self.scene.elapsed = Duration::from_secs_f64(interval.end_s.clamp(0.0, 1e9));
        let mut rows: Vec<(Row, u64)> = Vec::new();
        for row in interval.rows.iter().filter(|row| row.driver.is_none() && row.endpoint.is_none()) {
            let name = name_of(&row.work, &row.operation);
            let failed = self.failed.entry(name.clone()).or_default();
            *failed = failed.saturating_add(row.failures);
            // What was in flight when the load ended says nothing of how fast it was.
            if row.phase == Phase::Drain.word() {
                continue;
            }
            let p50_ms = row.response_ms.map(|times| times[1]);
            let p99_ms = row.response_ms.map(|times| times[4]);
            #[expect(clippy::cast_precision_loss, reason = "figures for people")]
            let (rate_per_s, bytes_per_s) = (row.count as f64 / seconds, row.bytes as f64 / seconds);
            // A second in which a ramp ends has a row of each phase: the times are of that in which more was done.
            if let Some((known, most)) = rows.iter_mut().find(|(known, _)| known.name == name) {
                known.rate_per_s += rate_per_s;
                known.bytes_per_s += bytes_per_s;
                known.failed = *failed;
                if row.count > *most {
                    (known.p50_ms, known.p99_ms, *most) = (p50_ms, p99_ms, row.count);
                }
            } else {
                let own = Row { name, rate_per_s, bytes_per_s, p50_ms, p99_ms, failed: *failed };
                rows.push((own, row.count));
            }
        }
        let rows: Vec<Row> = rows.into_iter().map(|(row, _)| row).collect();
        let is_after_the_load = rows.is_empty() && !interval.rows.is_empty();
        if !is_after_the_load {
            let slowest = rows.iter().filter_map(|row| row.p99_ms).max_by(f64::total_cmp);
            self.scene.push(rows.iter().map(|row| row.rate_per_s).sum(), slowest);
            self.scene.rows = rows;
        }
        self.count_failures();
    }

    /// Those of the intervals that came, or all since the stage began, whichever is ahead.
    fn count_failures(&mut self) {
        let all = self.since_it_began.of(&self.stage);
        for row in &mut self.scene.rows {
            let counted = self.failed.get(&row.name).copied().unwrap_or(0);
            row.failed = counted.max(all.get(row.name.as_str()).copied().unwrap_or(0));
        }
        let sum = |sum: u64, failed: &u64| sum.saturating_add(*failed);
        self.scene.failed = self.failed.values().fold(0, sum).max(all.values().fold(0, sum));
    }

    fn take(&mut self, name: &str, data: &Value) -> bool {
        match name {
            "run" => {
                if let Ok(summary) = serde_json::from_value(data.clone()) {
                    self.summary(summary);
                }
            }
            "interval" => {
                if let Ok(interval) = serde_json::from_value(data.clone()) {
                    self.interval(&interval);
                }
            }
            "series" => {
                self.since_it_began.take(data, &self.stage);
                self.count_failures();
            }
            "verdict" => {
                let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
                self.scene.verdict = Some((text("overall").replace('_', " ").to_uppercase(), text("reason")));
            }
            "end" => return true,
            _ => {}
        }
        false
    }
}

fn of_controller(args: &WatchArgs) -> Outcome {
    let client = Client::new(&args.client)?;
    let id = if args.run == "last" { newest_of(&client)? } else { run_id(&args.run)? };
    let path = path_of(&id);
    let events = format!("{path}/events");
    let mut news = News::default();
    news.summary(client.get(&path)?);
    let mut teller = Teller::new();
    let (mut last, mut absence) = (None, Absence::default());
    loop {
        let is_over = |news: &News| {
            let state = news.summary.as_ref().map(|run| run.state.as_str());
            !matches!(state, Some("queuing" | "processing"))
        };
        if is_over(&news) {
            return Ok(end(&news));
        }
        let done = client.events(&events, &mut last, |name, data| {
            absence.ends(&client);
            let ends = news.take(name, data);
            if matches!(name, "run" | "interval" | "verdict") {
                teller.tell(&news.scene);
            }
            Ok(ends || crate::out::nobody_reads())
        });
        match done {
            Ok(true) => {
                news.summary(client.get(&path)?);
                return Ok(end(&news));
            }
            Ok(false) => absence.ends(&client),
            Err(problem) => absence.goes_on(&client, problem)?,
        }
        std::thread::sleep(LOOK_EVERY);
        // This alone does not end an absence: what is shown are the events.
        if let Ok(summary) = client.get(&path) {
            news.summary(summary);
        }
    }
}

fn newest_of(client: &Client) -> Result<String, Problem> {
    let runs: Vec<RunSummary> = client.get("/api/v1/runs?limit=1000")?;
    let number = |run: &RunSummary| number_of(&run.id);
    let is_on = |run: &&RunSummary| run.state == "processing";
    let newest = runs.iter().filter(is_on).max_by_key(|run| number(run));
    let newest = newest.or_else(|| runs.iter().max_by_key(|run| number(run)));
    newest.map(|run| run.id.clone()).ok_or_else(|| Problem::usage(format!("no runs at {}", client.url())))
}

/// What became of it.
fn end(news: &News) -> Exit {
    screen::clear();
    let Some(run) = &news.summary else { return Exit::Cancelled };
    let reason = run.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    println!("{} {} {}{reason}", run.id, run.name, run.state);
    if let Some((word, reason)) = &news.scene.verdict {
        println!("verdict: {word}{}", if reason.is_empty() { String::new() } else { format!(": {reason}") });
    }
    match run.state.as_str() {
        "finished" => Exit::Done,
        "failed" => Exit::StageFailed,
        _ => Exit::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_controller_says_it_is_shown() {
        let row = serde_json::json!({"work": "w", "operation": "read", "driver": null, "endpoint": null, "phase": "window",
            "count": u64::MAX, "failures": u64::MAX, "missed": 0, "bytes": u64::MAX, "in_flight": -1e300,
            "response_ms": [1e308, 1e308, 1e308, 1e308, 1e308, 1e308, 1e308], "errors": [], "heat": []});
        let other = serde_json::json!({"work": "x", "operation": "read", "driver": null, "endpoint": null, "phase": "window",
            "count": 1, "failures": 1, "missed": 0, "bytes": 1, "in_flight": 0, "response_ms": null, "errors": [],
            "heat": []});
        let interval =
            serde_json::json!({"stage": "s1-main", "start_s": 1e308, "end_s": -1e308, "rows": [row, other]});
        let interval: Interval = serde_json::from_value(interval).unwrap();
        let mut news = News::default();
        (0..3).for_each(|_| news.interval(&interval));
        assert_eq!((news.scene.failed, news.scene.rows.len()), (u64::MAX, 2));
    }

    #[test]
    fn failures_since_a_stage_began_are_counted_however_late_its_controller_is_asked() {
        let interval = |stage: &str, end_s: u32, failures: u64| {
            let row = serde_json::json!({"work": "w", "operation": "read", "driver": null, "endpoint": null, "phase": "window",
                "count": 5, "failures": failures, "missed": 0, "bytes": 1, "in_flight": 0, "response_ms": null, "errors": [],
                "heat": []});
            serde_json::json!({"stage": stage, "start_s": end_s - 1, "end_s": end_s, "rows": [row]})
        };
        let series = |stage: &str, from: u64, bins: &[u64]| {
            let read =
                serde_json::json!({"work": "w", "name": "read", "series": {"count": [], "failures": bins}});
            let other =
                serde_json::json!({"work": "x", "name": "x", "series": {"count": [], "failures": null}});
            serde_json::json!({"stage": stage, "from": from, "operations": [read, other]})
        };
        let mut news = News::default();
        let mut failed_after = |name: &str, data: &Value| {
            news.take(name, data);
            assert_eq!(news.scene.rows[0].failed, news.scene.failed);
            news.scene.failed
        };
        // It remembers the last seconds of an hour.
        assert_eq!(failed_after("interval", &interval("s1-main", 3599, 1)), 1);
        assert_eq!(failed_after("series", &series("s1-main", 0, &[40, 0, 2])), 42);
        assert_eq!(failed_after("interval", &interval("s1-main", 3600, 3)), 42, "they are among the 42");
        assert_eq!(failed_after("series", &series("s1-main", 2, &[5, 1])), 46);
        for nonsense in [u64::MAX, 9] {
            assert_eq!(failed_after("series", &series("s1-main", nonsense, &[1])), 46);
        }
        assert_eq!(failed_after("series", &serde_json::json!({"stage": 1, "operations": [[]]})), 46);
        // Of the next stage nothing is known but its interval, and of one before it nothing counts.
        assert_eq!(failed_after("interval", &interval("s2-more", 1, 2)), 2);
        (3..9).for_each(|at| assert_eq!(failed_after("series", &series(&format!("s{at}"), 0, &[7])), 2));
        assert_eq!(failed_after("series", &series("s2-more", 0, &[u64::MAX, 9])), u64::MAX);
    }

    #[test]
    fn a_second_in_which_a_ramp_ends_is_one_row_of_each_operation() {
        let row = |work: &str, phase: &str, count: u64, p99: f64| {
            serde_json::json!({"work": work, "operation": "read", "driver": null, "endpoint": null, "phase": phase,
                "count": count, "failures": 1, "missed": 0, "bytes": 10 * count, "in_flight": 0,
                "response_ms": [1.0, 1.0, 1.0, 1.0, p99, 9.0, 9.0], "errors": [], "heat": []})
        };
        let rows = [row("w", "rampup", 3, 80.0), row("w", "window", 7, 20.0), row("x", "window", 5, 30.0)];
        let interval = serde_json::json!({"stage": "s1-main", "start_s": 4, "end_s": 5, "rows": rows});
        let mut news = News::default();
        news.interval(&serde_json::from_value(interval).unwrap());
        let shown: Vec<_> = news
            .scene
            .rows
            .iter()
            .map(|row| (row.name.as_str(), row.rate_per_s, row.bytes_per_s, row.p99_ms, row.failed))
            .collect();
        let expected = [("w read", 10.0, 100.0, Some(20.0), 2), ("x read", 5.0, 50.0, Some(30.0), 1)];
        assert_eq!(shown, expected);
        assert_eq!((news.scene.rates.back(), news.scene.p99s.back()), (Some(&15.0), Some(&Some(30.0))));
        // What ends after the load counts as failed, and is no rate.
        let rest = [row("w", "drain", 3, 90.0), row("x", "drain", 1, 90.0)];
        let interval = serde_json::json!({"stage": "s1-main", "start_s": 5, "end_s": 5.01, "rows": rest});
        news.interval(&serde_json::from_value(interval).unwrap());
        assert_eq!((news.scene.rates.len(), news.scene.rates.back(), news.scene.failed), (1, Some(&15.0), 5));
        assert_eq!(news.scene.rows.iter().map(|row| row.failed).collect::<Vec<_>>(), [3, 2]);
    }

    #[test]
    fn an_interval_of_an_archive_is_one_moment_whichever_ramps_and_drivers_end_in_it() {
        let line = |tag: &str, driver: &str, start_s: f64, end_s: f64, ok: u64| IntervalLine {
            stage: "s1-main".to_owned(),
            tag: format!("s1-main.{tag}"),
            driver: driver.to_owned(),
            start_s,
            end_s,
            ok,
            failed: 1,
            ..IntervalLine::default()
        };
        // Seconds, intervals that are shorter, and ones of 5 s.
        for (interval_s, length_s) in [(1.0, 1.0), (0.25, 1.0), (5.0, 5.0)] {
            let mut sums = Sums::new(Duration::from_secs_f64(interval_s));
            for at in 0..3_u32 {
                let at_s = f64::from(at) * length_s;
                sums.add(&line("b", "d1", at_s, at_s + length_s, 10));
                let ends = if at == 1 { vec![0.0, 0.3, 1.0] } else { vec![0.0, 1.0] };
                for (part, pair) in ends.windows(2).enumerate() {
                    let [from, to] = [pair[0], pair[1]].map(|share| at_s + share * length_s);
                    sums.add(&line("a", "d2", from, to, 20));
                    let ms = if part == 0 { 1_000_000 } else { 9_000_000 };
                    sums.add_times("s1-main.a", (from + to) / 2.0, [(ms, 20)].into_iter());
                }
            }
            // Nor is what ended when the load had, but for its failures.
            sums.add(&IntervalLine {
                phase: "drain".to_owned(),
                ..line("a", "d2", 3.0 * length_s, 3.01 * length_s, 3)
            });
            // What has no line yet is not shown.
            sums.add_times("s1-main.a", 3.5 * length_s, [(5, 1)].into_iter());
            let mut scene = Scene::default();
            sums.fill(&mut scene, "s1-main");
            let rates: Vec<f64> = scene.rates.iter().map(|rate| rate * length_s).collect();
            let close = |value: f64, wanted: f64| (value - wanted).abs() < 1e-6;
            assert!(
                rates.len() == 3
                    && rates.iter().zip([30.0, 50.0, 30.0]).all(|(rate, wanted)| close(*rate, wanted)),
                "{rates:?}"
            );
            assert_eq!(scene.p99s, [Some(1.0), Some(9.0), Some(1.0)]);
            let rows: Vec<_> =
                scene.rows.iter().map(|row| (row.name.as_str(), row.p50_ms, row.failed)).collect();
            assert_eq!(rows, [("a", Some(1.0), 5), ("b", None, 3)]);
            assert!(close(scene.rows[0].rate_per_s * length_s, 20.0) && scene.drivers == ["d1", "d2"]);
        }
        let steps = BTreeMap::from([(1_000_000, 99), (2_000_000, 1)]);
        let of = |percent| percentile_ms(&steps, percent);
        assert_eq!((of(50), of(99), of(100)), (Some(1.0), Some(1.0), Some(2.0)));
        assert_eq!(percentile_ms(&Steps::new(), 99), None);
    }

    #[test]
    fn what_is_left_is_of_the_very_stage_and_of_the_trial_that_runs() {
        let work = |name: &str, runtime: &str| {
            format!(
                "works: [{{name: {name}, workers: 1, runtime: {runtime}, operations: [{{type: read, containers: c(1), objects: \
                 c(1)}}]}}]"
            )
        };
        let workload = |search: &str| {
            let text = format!(
                "name: x\nstorage: {{type: mock}}\nstages:\n  - {{name: main, {}}}\n  - {{name: main, {}}}\n{search}",
                work("a", "3s"),
                work("b", "8s")
            );
            parse_what_is_there(&text, Format::Yaml, &Environment::default()).0.unwrap()
        };
        let lengths = |workload: &Workload, names: &[&str]| -> Vec<Option<u64>> {
            let record = |name: &&str| {
                let text = serde_json::json!({"id": format!("s1-{name}"), "name": name, "state": "running"});
                serde_json::from_value::<StageRecord>(text).unwrap()
            };
            let stages: Vec<StageRecord> = names.iter().map(record).collect();
            let length = |at| planned(workload, at, &stages).as_deref().and_then(length_of);
            (0..stages.len()).map(|at| length(at).map(|length| length.as_secs())).collect()
        };
        assert_eq!(lengths(&workload(""), &["main", "main", "trial"]), [Some(3), Some(8), None]);
        let search = format!(
            "  - name: find\n    search: {{over: workers, from: 1, to: 4}}\n    thresholds: ['p95 <= 7 ms']\n    {}\n  - {{name: \
             last, {}}}\n",
            work("c", "5s"),
            work("d", "7s")
        );
        let names = ["main", "main", "find-w1", "find-w2-again2", "last", "other"];
        let expected = [Some(3), Some(8), Some(5), Some(5), Some(7), None];
        assert_eq!(lengths(&workload(&search), &names), expected);
    }

    #[test]
    fn drivers_that_are_lost_are_missing_until_they_are_back() {
        let began: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let event = |second: u32, kind: EventKind, stage: &str, text: &str| {
            let at = format!("2026-11-21T12:00:{second:02}Z").parse().unwrap();
            EventRecord::new(at, kind, Some(stage.to_owned()), text)
        };
        let mut events = vec![
            event(1, EventKind::Stage, "s1-main", "load begins"),
            event(2, EventKind::Driver, "s0-init", "driver d9 is lost: nothing was heard of it for 15 s"),
            event(8, EventKind::Driver, "s1-main", "driver d2 is lost: nothing was heard of it for 15 s"),
            event(9, EventKind::Driver, "s1-main", "driver d1 made no load for 3.0 s: it stood still"),
            event(9, EventKind::Driver, "s1-main", "driver d3 is lost: nothing was heard of it for 15 s"),
        ];
        assert_eq!(missing_of(&events, "s1-main", began), ["d2 since 00:08", "d3 since 00:09"]);
        events.push(event(12, EventKind::Driver, "s1-main", "driver d2 is back"));
        assert_eq!(missing_of(&events, "s1-main", began), ["d3 since 00:09"]);
    }
}
