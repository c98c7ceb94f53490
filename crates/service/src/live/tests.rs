//! A run of twenty minutes in simulated time, by two drivers that say what they are told to: what those who watched it were
//! shown last is what the report shows of its archive.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmark_archive::{
    Archive, HostRecord, IntervalLine, MissingRecord, NewRun, RunDir, RunRecord, RunState, StageRecord,
    StageState, Timestamp,
};
use cosmark_controller::{
    ArchiveListener, ArchiveWriter, Measured, Observer, Progress, RunJob, SliceNews, StageNews, StopLevel,
    run_workload,
};
use cosmark_metrics::{
    HealthSample, Latency, MachineHealth, NicHealth, OpSnapshot, Outcome, PartSums, Phase, SlicePlan,
    Snapshot, ThreadHealth,
};
use cosmark_report::data::model::{CountSeries, GroupData, HeatMap, LatencySeries, OperationData, StageData};
use cosmark_report::data::{Detail, SeriesNews, read};
use cosmark_wire::{
    DriverEvent, DriverLink, EventSender, Launched, MissionReport, StageOrder, TriggerOrder, TriggerReport,
};
use cosmark_workload::model::Stage;
use cosmark_workload::{Environment, Format, Workload, parse};
use tokio::sync::{mpsc, watch};

use super::{CourseSeen, LiveRun, RunListener, RunPlan, Watcher};
use crate::api::types::{LostDriver, RunSummary};

const SECOND_NS: u64 = 1_000_000_000;
/// When the load begins, on the drivers' clock.
const ORIGIN_NS: u64 = 77_000_000_123;
const MAIN_S: u64 = 1200;
const SLICE_S: u64 = 5;

fn workload() -> Workload {
    let text = format!(
        "name: long\nstorage: {{type: none}}\nstages:\n  - name: main\n    works:\n      - {{name: w, workers: 8, rampup: 30.5s, \
         runtime: 1150s, rampdown: 19.5s, interval: {SLICE_S}s, operations: [{{type: read, ratio: 80, containers: c(1), \
         objects: 'u(1,9)'}}, {{type: write, ratio: 20, containers: c(1), objects: 'u(1,9)', sizes: c(1)KB}}]}}\n"
    );
    let (workload, mistakes) = parse(&text, Format::Yaml, &Environment::default());
    Workload { seed: Some(1), ..workload.unwrap_or_else(|| panic!("{mistakes:?}")) }
}

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// What operations may do in a slice, in easy and in hard times, as a driver's message has it: its distributions are lists.
struct Script {
    easy: Vec<[OpSnapshot; 2]>,
    hard: Vec<[OpSnapshot; 2]>,
}

impl Script {
    const SLICES: u64 = 25;

    fn new(mut random: Random, slice_s: u64) -> Self {
        let mut some = |hard: bool| {
            let slice = |_| [0, 1].map(|op| as_sent(&sums(&mut random, slice_s, hard, op)));
            (0..Self::SLICES).map(slice).collect()
        };
        Self { easy: some(false), hard: some(true) }
    }

    /// For a minute all is hard.
    fn slice(&self, random: &mut Random, second: u64) -> Vec<OpSnapshot> {
        let slices = if (400..460).contains(&second) { &self.hard } else { &self.easy };
        slices[random.below(Self::SLICES) as usize].to_vec()
    }
}

fn as_sent(sum: &OpSnapshot) -> OpSnapshot {
    serde_json::from_slice(&serde_json::to_vec(sum).unwrap()).unwrap()
}

/// What an operation did in a slice; in hard times reads fail and arrivals are missed.
fn sums(random: &mut Random, slice_s: u64, hard: bool, op: u64) -> OpSnapshot {
    let mut sum = OpSnapshot::default();
    let mut parts = [PartSums::default(), PartSums::default()];
    for n in 0..(40 + random.below(40) / (1 + 3 * op)) * slice_s {
        let service_ns = 900_000 + random.below(if hard { 400_000_000 } else { 4_000_000 });
        if op == 0 && hard && n % 3 == 0 {
            sum.failed += 1;
            let label = if n % 2 == 0 { "http_503" } else { "timeout" };
            *sum.errors.entry(Outcome::failed(label)).or_default() += 1;
            sum.failed_service.record(service_ns);
            continue;
        }
        let response_ns = service_ns + random.below(1_000_000);
        sum.ok += 1;
        sum.bytes += 1000;
        sum.service.record(service_ns);
        sum.response.record(response_ns);
        sum.first_byte.record(service_ns / 2);
        sum.in_flight_ns += u128::from(service_ns);
        let part = &mut parts[(n % 2) as usize];
        part.ok += 1;
        part.bytes += 1000;
        part.service.record(service_ns);
        part.response.record(response_ns);
    }
    sum.missed = if hard { random.below(9) } else { 0 };
    sum.delayed = if hard { random.below(30) } else { 0 };
    sum.endpoints = parts.to_vec();
    sum
}

/// A look at the machine at the end of this second of the load, which was taken at no whole one.
fn health(random: &mut Random, second: u64) -> HealthSample {
    let mut pause = Latency::default();
    pause.record(1_000_000 + random.below(30_000_000));
    let thread = |number: u64, random: &mut Random| ThreadHealth {
        name: format!("load-{number}"),
        // Some read so much behind the clock that it would be more than all of the time.
        cpu_ns: random.below(SECOND_NS / 100 * 114),
        run_queue_wait_ns: Some(random.below(SECOND_NS / 9)),
    };
    HealthSample {
        at_ns: ORIGIN_NS + second * SECOND_NS + SECOND_NS / 2 + random.below(1000),
        span_ns: SECOND_NS + random.below(1_000_000),
        threads: vec![thread(0, random), thread(1, random)],
        machine: Some(MachineHealth {
            cpus: 2,
            busy_ns: random.below(2 * SECOND_NS / 100 * 114),
            steal_ns: Some(random.below(99)),
        }),
        pause,
        tcp_segments_retransmitted: (!second.is_multiple_of(7)).then(|| random.below(3)),
        nics: vec![NicHealth {
            name: "eth0".into(),
            rx_bytes: random.below(1 << 30),
            tx_bytes: random.below(1 << 20),
            speed_bits_per_s: None,
        }],
        sockets_in_use: Some(random.below(100)),
        ..HealthSample::default()
    }
}

/// A driver that tells a script, a simulated second at a time.
struct Scripted {
    name: String,
    events: Option<EventSender>,
    seed: u64,
    slice_s: u64,
}

impl Scripted {
    fn plan(slice_s: u64) -> SlicePlan {
        let at = |seconds: f64| ORIGIN_NS + (seconds * 1e9) as u64;
        SlicePlan {
            start_ns: ORIGIN_NS,
            window_start_ns: at(30.5),
            window_end_ns: at(1180.5),
            stop_ns: at(MAIN_S as f64),
            slice_ns: slice_s * SECOND_NS,
        }
    }

    async fn tell(events: EventSender, mut random: Random, slice_s: u64, origin_unix_ns: i64) {
        let (plan, script) = (Self::plan(slice_s), Script::new(Random(random.below(1 << 30)), slice_s));
        let launched = Launched {
            start_ns: ORIGIN_NS,
            origin_ns: ORIGIN_NS,
            origin_unix_ns,
            clock: None,
            plans: vec![(0, plan)],
            endpoints: vec![(0, vec!["a:1".to_owned(), "b:1".to_owned()])],
            containers: cosmark_wire::ContainersBefore::default(),
        };
        let past = |second: u64| Some(origin_unix_ns + (second * SECOND_NS) as i64);
        events.send(past(0), DriverEvent::Launched(launched)).await.unwrap();
        let mut late = None;
        for second in (0..MAIN_S).step_by(slice_s as usize) {
            tokio::time::sleep(Duration::from_secs(slice_s)).await;
            let told = past(second + slice_s);
            let from_ns = ORIGIN_NS + second * SECOND_NS;
            let up_to_ns = from_ns + slice_s * SECOND_NS;
            let mut at_ns = from_ns + 1;
            while at_ns <= up_to_ns {
                let (start_ns, end_ns) = plan.slice_at(at_ns);
                let ops = script.slice(&mut random, second);
                let snapshot = Snapshot { work: 0, phase: plan.phase_at(at_ns), start_ns, end_ns, ops };
                at_ns = end_ns + 1;
                // One slice comes long after its interval was written.
                if second == 700 {
                    late = Some(snapshot);
                    continue;
                }
                events.send(told, DriverEvent::Snapshot(snapshot)).await.unwrap();
            }
            if let Some(snapshot) = late.take_if(|_| second == 720) {
                events.send(told, DriverEvent::Snapshot(snapshot)).await.unwrap();
            }
            events.send(told, DriverEvent::Told { up_to_ns }).await.unwrap();
            for ahead in 0..slice_s {
                events.send(told, DriverEvent::Health(health(&mut random, second + ahead))).await.unwrap();
            }
        }
        let report = MissionReport {
            work: 0,
            workers: 4,
            window_s: 1150.0,
            endpoints: vec!["a:1".to_owned(), "b:1".to_owned()],
            examples: Vec::new(),
            began: None,
        };
        let ended = DriverEvent::Ended { missions: vec![report], gave_up: None };
        events.send(past(MAIN_S), ended).await.unwrap();
    }
}

impl DriverLink for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&mut self, _order: StageOrder, events: EventSender) {
        events.try_send(DriverEvent::Authed);
        self.events = Some(events);
    }

    fn probe(&mut self, _step: u32) {
        self.events.as_ref().unwrap().try_send(DriverEvent::Probed);
    }

    fn go(&mut self, _step: u32, at_unix_ns: Option<i64>) {
        let events = self.events.clone().unwrap();
        let at_unix_ns = at_unix_ns.unwrap_or(1_767_600_000_000_000_000);
        tokio::spawn(Self::tell(events, Random(self.seed), self.slice_s, at_unix_ns));
    }

    fn finish(&self, _step: u32) {}

    fn abort(&self, _step: u32) {}

    fn trigger(&mut self, _step: u32, _order: TriggerOrder) -> mpsc::Receiver<TriggerReport> {
        mpsc::channel(1).1
    }
}

/// What a client has of the stage: what it was told, put together as the console does.
#[derive(Debug, Default)]
struct Client {
    seen: CourseSeen,
    has: Option<SeriesNews>,
    /// How often all of it was told.
    whole: usize,
}

fn joined<T: Clone>(before: &[T], from: u32, told: &[T], missing: &T) -> Vec<T> {
    let mut all: Vec<T> = before.iter().take(from as usize).cloned().collect();
    all.resize(from as usize, missing.clone());
    all.extend_from_slice(told);
    all
}

impl Client {
    fn look(&mut self, live: &LiveRun) {
        for mut news in live.course_news(&mut self.seen) {
            self.whole += usize::from(news.from == 0);
            if let Some(before) = self.has.take().filter(|_| news.from > 0) {
                put_together(&before, &mut news);
            }
            self.has = Some(news);
        }
    }
}

fn put_together(before: &SeriesNews, news: &mut SeriesNews) {
    let from = news.from;
    for told in &mut news.clients {
        let Some(old) = before.clients.iter().find(|old| old.driver == told.driver) else { continue };
        let (old, new) = (&old.series, &mut told.series);
        for (old, new) in [
            (&old.thread_busy_max, &mut new.thread_busy_max),
            (&old.machine_busy, &mut new.machine_busy),
            (&old.run_queue_wait_max, &mut new.run_queue_wait_max),
            (&old.steal, &mut new.steal),
            (&old.pause_max_ms, &mut new.pause_max_ms),
            (&old.tcp_retransmitted, &mut new.tcp_retransmitted),
            (&old.rx_bytes_per_s, &mut new.rx_bytes_per_s),
            (&old.tx_bytes_per_s, &mut new.tx_bytes_per_s),
            (&old.sockets, &mut new.sockets),
        ] {
            *new = joined(old, from, new, &None);
        }
    }
    for (old, new) in before.operations.iter().zip(&mut news.operations) {
        let counts = |old: &Option<Vec<u64>>, new: &Option<Vec<u64>>| {
            new.as_ref().map(|new| joined(old.as_deref().unwrap_or_default(), from, new, &0))
        };
        let named = |old: &std::collections::BTreeMap<String, Vec<u64>>,
                     new: &mut std::collections::BTreeMap<String, Vec<u64>>| {
            for (name, values) in new {
                *values = joined(old.get(name).map_or(&[][..], Vec::as_slice), from, values, &0);
            }
        };
        let (a, b): (&CountSeries, &mut CountSeries) = (&old.series, &mut new.series);
        b.count = joined(&a.count, from, &b.count, &0);
        b.failures = counts(&a.failures, &b.failures);
        b.bytes = counts(&a.bytes, &b.bytes);
        b.missed = counts(&a.missed, &b.missed);
        b.delayed = counts(&a.delayed, &b.delayed);
        b.in_flight =
            b.in_flight.as_ref().map(|new| joined(a.in_flight.as_deref().unwrap(), from, new, &0.0));
        named(&a.errors, &mut b.errors);
        named(&a.drivers, &mut b.drivers);
        for told in &mut new.latency {
            let Some(known) = old.latency.iter().find(|known| known.series.kind == told.series.kind) else {
                continue;
            };
            let (from, known, series) = (told.from, &known.series, &mut told.series);
            series.count = joined(&known.count, from, &series.count, &0);
            for (known, values) in [
                (&known.p50, &mut series.p50),
                (&known.p95, &mut series.p95),
                (&known.p99, &mut series.p99),
                (&known.max, &mut series.max),
            ] {
                *values = joined(known, from, values, &None);
            }
        }
        if let (Some(known), Some(told)) = (&old.heat, &mut new.heat) {
            let lower = known.map.first_row - told.map.first_row;
            let cells = known.map.cells.chunks(3).take_while(|cell| cell[0] < u64::from(told.from));
            let mut all: Vec<u64> = cells
                .flat_map(|cell| [cell[0], cell[1].checked_add_signed(i64::from(lower)).unwrap(), cell[2]])
                .collect();
            all.append(&mut told.map.cells);
            told.map.cells = all;
        }
        for told in &mut new.parts {
            let same = |known: &&cosmark_report::data::model::PartNews| {
                known.by == told.by && known.group.label == told.group.label
            };
            let Some(known) = old.parts.iter().find(same) else { continue };
            told.series_count = joined(&known.series_count, told.from, &told.series_count, &0);
            told.series_bytes = joined(&known.series_bytes, told.from, &told.series_bytes, &0);
            told.p99 = joined(&known.p99, told.from, &told.p99, &None);
        }
    }
}

fn summary() -> RunSummary {
    serde_json::from_value(serde_json::json!({
        "id": "w1", "name": "long", "state": "processing", "reason": null, "waits_for": null, "submitted": null,
        "started": null, "ended": null, "priority": 0, "position": null, "stage": null, "stages_done": 0, "stages": 1,
        "progress": null, "remaining_s": null, "verdict": null, "verdict_reason": null, "class": null,
        "operations": [], "tags": [], "baseline": false, "submitted_by": null, "drivers": []
    }))
    .unwrap()
}

/// The directory of a run that begins.
fn begun(root: &std::path::Path, workload: &Workload) -> RunDir {
    let new = NewRun {
        number: None,
        workload,
        seed: workload.seed,
        source: None,
        config_xml: "<workload/>",
        config_yaml: &cosmark_workload::to_yaml(workload),
        host: HostRecord { hostname: "here".into(), cpus: 2, kernel: "none".into() },
        submitted: Timestamp::now(),
    };
    Archive::open(root).unwrap().begin(&new).unwrap()
}

/// Runs it; the clients look as `looks` says, simulated second by second, and once more after its end.
async fn run(
    root: &std::path::Path,
    detail: Option<Detail>,
    mut clients: Vec<Client>,
    looks: fn(usize, u64, &mut Client) -> bool,
) -> (StageData, Vec<Client>) {
    let workload = workload();
    let dir = begun(root, &workload);
    let path = dir.path().to_owned();
    let live = LiveRun::new(summary());
    live.courses().show_as_report(&workload);
    if detail.is_some() {
        live.courses().detail = detail;
    }
    let nothing = || Arc::new(|| {});
    let mut watcher = Watcher::new(Arc::clone(&live), true, Box::new(str::to_owned), nothing());
    let keeper = ArchiveWriter::new(dir).heard_by(Box::new(RunListener::new(Arc::clone(&live), nothing())));
    let drivers = (1..3).map(|n| {
        Box::new(Scripted { name: format!("d{n}"), events: None, seed: n, slice_s: SLICE_S })
            as Box<dyn DriverLink>
    });
    let (_stop, stopped) = watch::channel(StopLevel::Run);
    let shared = Arc::new(Mutex::new(std::mem::take(&mut clients)));
    let watching = {
        let (live, shared) = (Arc::clone(&live), Arc::clone(&shared));
        tokio::spawn(async move {
            for second in 0_u64.. {
                tokio::time::sleep(Duration::from_millis(1000)).await;
                for (number, client) in shared.lock().unwrap().iter_mut().enumerate() {
                    if looks(number, second, client) {
                        client.look(&live);
                    }
                }
            }
        })
    };
    let job = RunJob::new(&workload, keeper, drivers.collect(), stopped, &|text| text.to_owned());
    let ended = run_workload(job, &mut watcher).await;
    watching.abort();
    assert_eq!(ended.record.state, RunState::Finished, "{:?}", ended.record);
    let mut clients = std::mem::take(&mut *shared.lock().unwrap());
    clients.iter_mut().for_each(|client| client.look(&live));
    let mut data = read(&path, detail).unwrap();
    (data.stages.remove(0), clients)
}

/// Every chart of the live page against the report's of the same name.
fn same_as_report(who: &str, client: &Client, report: &StageData) {
    let shown = client.has.as_ref().unwrap_or_else(|| panic!("{who} was told nothing"));
    assert_eq!((shown.stage.as_str(), Some(shown.time)), (report.id.as_str(), report.time), "{who}: axis");
    assert_eq!(shown.phases, report.phases, "{who}: phases");
    assert_eq!(shown.window_s, report.window_s, "{who}: window");
    assert_eq!(shown.operations.len(), report.operations.len());
    assert_eq!(shown.clients.len(), 2, "{who}: drivers");
    for (live, last) in shown.clients.iter().zip(&report.clients) {
        assert_eq!(
            (&live.driver, Some(&live.series)),
            (&last.driver, last.series.as_ref()),
            "{who}: machines"
        );
        assert!(live.series.machine_busy.iter().flatten().any(|share| *share > 0.0), "{who}");
        let shares = [&live.series.machine_busy, &live.series.thread_busy_max];
        let most = shares.into_iter().flatten().flatten().fold(0.0, |most: f64, share| most.max(*share));
        assert!(most <= 1.0, "{who}: {most}");
    }
    for (live, last) in shown.operations.iter().zip(&report.operations) {
        let OperationData { result, series, latency, heat, .. } = last;
        let name = &result.name;
        assert_eq!(
            [&live.result.work, &live.result.name, &live.result.op],
            [&result.work, name, &result.op],
            "{who}"
        );
        let figures = |one: &cosmark_metrics::OperationResult| {
            let rates = (one.throughput_per_s, one.bandwidth_bytes_per_s, one.in_flight_mean, one.window_s);
            (
                one.ok,
                one.failed,
                one.missed,
                one.bytes,
                rates,
                one.response_ms.clone(),
                one.service_ms.clone(),
            )
        };
        assert_eq!(figures(&live.result), figures(result), "{who}: figures of {name}");
        assert_eq!(Some(&live.series), series.as_ref(), "{who}: rate, bytes, failures, in flight of {name}");
        let times: Vec<LatencySeries> = live.latency.iter().map(|news| news.series.clone()).collect();
        assert_eq!(&times, latency, "{who}: percentiles of {name}");
        let map: Option<HeatMap> = live.heat.as_ref().map(|news| news.map.clone());
        assert_eq!(&map, heat, "{who}: heat map of {name}");
        for (by, groups) in [("driver", &last.drivers), ("endpoint", &last.endpoints)] {
            let parts: Vec<_> = live.parts.iter().filter(|part| part.by == by).collect();
            assert_eq!(parts.len(), 2, "{who}: {by}s of {name}");
            for (part, group) in parts.iter().zip(groups) {
                let figures = |group: &GroupData| {
                    let times = &group.part.response_ms;
                    let times = (times.count, times.p50.map(digits), times.p99.map(digits));
                    (group.part.ok, group.part.failed, group.part.bytes, times)
                };
                assert_eq!(part.group.label, group.label, "{who}");
                assert_eq!(figures(&part.group), figures(group), "{who}: {by} {}", group.label);
                // As in the report: a percentile needs ten values beyond it.
                let supported = part.series_count.iter().map(|count| *count >= 1000);
                assert!(supported.eq(part.p99.iter().map(Option::is_some)), "{who}: {by} {}", group.label);
            }
        }
        let all: u64 =
            live.parts.iter().filter(|part| part.by == "driver").flat_map(|part| &part.series_count).sum();
        assert_eq!(all, live.series.count.iter().sum::<u64>(), "{who}: lines of single drivers of {name}");
    }
}

/// With the digits that are shown.
fn digits(ms: f64) -> String {
    format!("{ms:.3e}")
}

const WHO: [&str; 4] = ["who watches", "who comes late", "who falls behind", "who begins again"];

fn looks(client: usize, second: u64, who: &mut Client) -> bool {
    match client {
        0 => second.is_multiple_of(SLICE_S),
        1 => second >= 900 && second.is_multiple_of(SLICE_S),
        // More changes than are remembered lie between two looks.
        2 => second % 200 == 199,
        _ => {
            if second == 640 {
                *who = Client::default();
            }
            second.is_multiple_of(20)
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_a_live_page_shows_last_is_what_the_report_shows() {
    // As fine as the workload's intervals, and with a resolution that is halved twice on the way.
    let coarse = Detail { bins: 100, heat_columns: 30 };
    for (detail, bin_s) in [(None, 5.0), (Some(coarse), 20.0)] {
        let root = tempfile::tempdir().unwrap();
        let clients = WHO.iter().map(|_| Client::default()).collect();
        let (report, clients) = run(root.path(), detail, clients, looks).await;
        let time = report.time.unwrap();
        assert_eq!((time.bin_s, time.end_s), (bin_s, MAIN_S as f64));
        for (who, client) in WHO.iter().zip(&clients) {
            same_as_report(&format!("{who}, bins of {bin_s} s"), client, &report);
        }
        // Whole only at the beginning, when the resolution changed, and for who has missed too much.
        assert!(clients[0].whole < 20, "{}", clients[0].whole);
        assert!(clients[2].whole >= 5, "{}", clients[2].whole);
    }
}

/// A stage of a run whose drivers have told everything up to `at_s`.
fn progress(stage: &Stage, (index, of): (usize, usize), at_s: u64) -> Progress<'_> {
    let at = Duration::from_secs(at_s);
    Progress {
        stage,
        index,
        of,
        elapsed: at,
        watermark: at,
        remaining: None,
        done: None,
        latest_s: 1.0,
        latest: OpSnapshot::default(),
        total_ok: 0,
        total_failed: 0,
        missing: Vec::new(),
    }
}

/// What a driver did in a second of the measured window.
fn second_of_window(second: u64) -> Snapshot {
    let mut service = Latency::default();
    (0..9).for_each(|_| service.record(2_000_000));
    let start_ns = ORIGIN_NS + second * SECOND_NS;
    let ops = vec![OpSnapshot { ok: 9, service, ..OpSnapshot::default() }, OpSnapshot::default()];
    Snapshot { work: 0, phase: Phase::Window, start_ns, end_ns: start_ns + SECOND_NS, ops }
}

// Time stands still: whatever is told at once is not told because five seconds have passed.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_driver_that_is_lost_is_told_at_once_and_so_is_its_return() {
    let root = tempfile::tempdir().unwrap();
    let (workload, live) = (workload(), LiveRun::new(summary()));
    let mut dir = begun(root.path(), &workload);
    dir.enter_stage(0, StageState::Running, Timestamp::now()).unwrap();
    live.begins_at(dir.path().to_owned());
    let mut watcher = Watcher::new(Arc::clone(&live), true, Box::new(str::to_owned), Arc::new(|| {}));
    let (stage, mut seen) = (&workload.stages[0], CourseSeen::default());
    watcher.stage_begins(&StageNews { stage, index: 0, of: 1, planned: None });
    let mut tell = |second: u64, is_work: bool, missing: &[MissingRecord]| {
        if is_work {
            let snapshot = second_of_window(second);
            let line =
                IntervalLine::of("d1", Phase::Window, second as f64, second as f64 + 1.0, &snapshot.ops[0]);
            live.courses().add(0, &Measured::Interval { first: 0, lines: &[line] });
            watcher.slice(&SliceNews {
                stage,
                index: 0,
                driver: "d1",
                load_started: Timestamp::now(),
                start_ns: ORIGIN_NS,
                endpoints: &[],
                snapshot: &snapshot,
            });
        }
        watcher.progress(&Progress { missing: missing.to_vec(), ..progress(stage, (0, 1), second + 1) });
        let phases = live.course_news(&mut seen).remove(0).phases.into_iter();
        let gone = phases.filter(|span| span.phase != "window");
        let gone: Vec<_> = gone.map(|span| (span.phase, span.from_s, span.to_s)).collect();
        (live.summary().lost, gone)
    };
    let stretch = |to_s: f64| ("without driver d2".to_owned(), 12.0, to_s);
    assert_eq!(tell(40, true, &[]), (Vec::new(), Vec::new()));
    let missing = [MissingRecord {
        driver: "d2".into(),
        works: vec!["w".into()],
        workers: 4,
        from_s: 12.0,
        to_s: None,
    }];
    let lost = LostDriver { driver: "d2".into(), from_s: 12.0, share: 0.5 };
    // Also while nobody does anything; and what is known of the results later takes nothing of it back.
    assert_eq!(tell(41, false, &missing), (vec![lost.clone()], vec![stretch(41.0)]));
    let verdicts = || live.feed.after(0).lines.into_iter().filter(|line| line.name == "verdict");
    let names_it = |data: &str| {
        data.contains("\"V16\"") && data.contains("driver d2 from 12 s on (4 workers) is missing")
    };
    let begun = std::time::Instant::now();
    while !verdicts().any(|line| names_it(&line.data)) {
        let told: Vec<_> = verdicts().collect();
        assert!(begun.elapsed() < Duration::from_secs(60), "{told:?}");
        tokio::task::yield_now().await;
    }
    assert_eq!(tell(50, true, &missing), (vec![lost], vec![stretch(51.0)]));
    assert_eq!(tell(51, false, &[]), (Vec::new(), Vec::new()));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_run_is_as_long_as_its_stages_plan_and_what_is_left_of_it_is_told() {
    let stage = |name: &str, end: &str| {
        format!(
            "  - {{name: {name}, works: [{{name: w, workers: 1, {end}, operations: [{{type: read, ratio: 100, \
             containers: c(1), objects: 'u(1,9)'}}]}}]}}\n"
        )
    };
    let stages = [("short", "runtime: 96s"), ("long", "runtime: 24h"), ("counted", "total_ops: 1000")];
    let stages: String = stages.map(|(name, end)| stage(name, end)).concat();
    let text = format!("name: days\nstorage: {{type: none}}\nstages:\n{stages}");
    let (workload, mistakes) = parse(&text, Format::Yaml, &Environment::default());
    let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
    let live = LiveRun::new(summary());
    live.plans(RunPlan::of(&workload));
    let planned: Vec<_> = live.stages().iter().map(|stage| stage.planned_s).collect();
    assert_eq!(planned, [Some(96.0), Some(86_400.0), None]);
    let left = || {
        let summary = live.summary();
        (summary.left_s, summary.left_open)
    };
    let mut listener = RunListener::new(Arc::clone(&live), Arc::new(|| {}));
    let mut watcher = Watcher::new(Arc::clone(&live), true, Box::new(str::to_owned), Arc::new(|| {}));
    let mut record =
        RunRecord::begun("w1".to_owned(), &workload, HostRecord::default(), Timestamp::UNIX_EPOCH);
    record.stages[0].enter(StageState::Running, Timestamp::UNIX_EPOCH);
    listener.stage(0, &record);
    assert_eq!(left(), (Some(86_496.0), 1), "what is planned, and a stage of which nobody knows it");
    watcher.stage_begins(&StageNews { stage: &workload.stages[0], index: 0, of: 3, planned: None });
    tokio::time::advance(Duration::from_secs(36)).await;
    let remaining = Some(Duration::from_secs(60));
    watcher.progress(&Progress { remaining, ..progress(&workload.stages[0], (0, 3), 36) });
    assert_eq!(left(), (Some(86_460.0), 1));
    record.stages[0].enter(StageState::Completed, Timestamp::UNIX_EPOCH);
    listener.stage(0, &record);
    assert_eq!(left(), (Some(86_400.0), 1), "of three stages the first is over");
}

#[test]
fn times_of_phases_outside_the_window_are_in_the_charts_and_not_in_the_figures() {
    let (workload, mut courses) = (workload(), super::Courses::default());
    courses.begin(&workload.stages[0], 0);
    let mut latency = Latency::default();
    (0..50).for_each(|_| latency.record(2_000_000));
    let op = OpSnapshot { ok: 50, service: latency, ..OpSnapshot::default() };
    let ops = vec![op, OpSnapshot::default()];
    let snapshot = Snapshot { work: 0, phase: Phase::Rampup, start_ns: 0, end_ns: SECOND_NS, ops };
    let slice = Measured::Slice { first: 0, start_s: 0.0, length_s: 1.0, snapshot: &snapshot };
    courses.add(0, &slice);
    let mut seen = CourseSeen::default();
    let line = IntervalLine::of("d1", Phase::Rampup, 0.0, 1.0, &snapshot.ops[0]);
    courses.add(0, &Measured::Open(&[(0, vec![line])]));
    let news = courses.news(&mut seen).remove(0);
    assert_eq!(news.operations[0].series.count, [50]);
    assert_eq!(news.operations[0].latency[0].series.p50, [Some(2.001)]);
    assert_eq!((news.operations[0].result.ok, news.window_s), (0, None));
    assert!(courses.news(&mut seen).is_empty(), "nothing is told twice");
    // Results alone change no bin; the last one comes along.
    let mut record = StageRecord::waiting(&workload.stages[0], 0, Timestamp::UNIX_EPOCH);
    record.set_results(&workload.stages[0], 0, &[(1.0, snapshot.ops.clone())]);
    courses.set_results(&record);
    let news = courses.news(&mut seen).remove(0);
    assert_eq!((news.from, news.operations[0].result.ok, news.window_s), (0, 50, Some(1.0)));
}
