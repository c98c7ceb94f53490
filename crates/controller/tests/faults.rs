//! What the faults of a stage hear of its drivers: that the load is to end, and which of them made none.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmark_archive::{Archive, HostRecord, MissingRecord, NewRun, PauseRecord, StageRecord, Timestamp};
use cosmark_controller::{
    ArchiveWriter, FaultNews, FaultsPlayed, Observer, Progress, RunJob, StageNews, StopLevel, run_workload,
};
use cosmark_metrics::{FaultResult, HealthSample, Latency, SlicePlan, Snapshot};
use cosmark_wire::{
    ContainersBefore, DriverEvent, DriverLink, EventSender, Launched, MissionReport, PauseReason, StageOrder,
    TriggerOrder, TriggerReport,
};
use cosmark_workload::model::Stage;
use cosmark_workload::{Environment, Format, parse};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep};

/// Drivers lose what they have said nothing of from the fourth second on, and one of them is lost after the fifth.
const LOST_AFTER: Duration = Duration::from_secs(5);
const LOAD: Duration = Duration::from_secs(60);
/// Operations in flight take so long to end.
const DRAIN: Duration = Duration::from_secs(20);

/// A moment of a driver's clock.
const fn at_ns(second: u64) -> u64 {
    (100 + second) * 1_000_000_000
}

struct Scripted {
    name: String,
    is_lost: bool,
    events: Option<EventSender>,
    finish: Arc<Notify>,
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
        self.events.iter().for_each(|events| events.try_send(DriverEvent::Probed));
    }

    fn go(&mut self, _step: u32, at_unix_ns: Option<i64>) {
        let Some(events) = self.events.clone() else { return };
        let (begin_ns, end_ns) = (at_ns(0), at_ns(LOAD.as_secs()));
        let plan = SlicePlan {
            start_ns: begin_ns,
            window_start_ns: begin_ns,
            window_end_ns: end_ns,
            stop_ns: end_ns,
            slice_ns: 1_000_000_000,
        };
        let launched = Launched {
            start_ns: begin_ns,
            origin_ns: begin_ns,
            origin_unix_ns: at_unix_ns.unwrap_or_default(),
            clock: None,
            plans: vec![(0, plan)],
            endpoints: Vec::new(),
            containers: ContainersBefore::default(),
        };
        let (is_lost, finish) = (self.is_lost, Arc::clone(&self.finish));
        tokio::spawn(async move {
            let tells = [DriverEvent::Launched(launched), DriverEvent::Told { up_to_ns: at_ns(4) }];
            for event in tells {
                events.send(None, event).await.unwrap();
            }
            let last = if is_lost {
                sleep(LOST_AFTER).await;
                DriverEvent::Lost { silent_ms: 1000, late: None }
            } else {
                let why = PauseReason::NotRenewed;
                let paused = DriverEvent::Paused { from_ns: at_ns(1), to_ns: at_ns(3), why };
                events.send(None, paused).await.unwrap();
                // It stood still for three seconds, which is heard of with the look after that; later for less than
                // two.
                for (second, longest_ms) in [(30, 3000), (40, 1990)] {
                    let mut pause = Latency::default();
                    pause.record(longest_ms * 1_000_000);
                    let (at_ns, span_ns) = (at_ns(second), 1_000_000_000);
                    let look = HealthSample { at_ns, span_ns, pause, ..HealthSample::default() };
                    events.send(None, DriverEvent::Health(look)).await.unwrap();
                }
                tokio::select! {
                    () = finish.notified() => sleep(DRAIN).await,
                    () = sleep(LOAD) => {}
                }
                let mission = MissionReport {
                    work: 0,
                    workers: 2,
                    window_s: LOAD.as_secs_f64(),
                    endpoints: Vec::new(),
                    examples: Vec::new(),
                    began: None,
                };
                DriverEvent::Ended { missions: vec![mission], gave_up: None }
            };
            events.send(None, last).await.unwrap();
        });
    }

    fn finish(&self, _step: u32) {
        self.finish.notify_one();
    }

    fn abort(&self, _step: u32) {}

    fn trigger(&mut self, _step: u32, _order: TriggerOrder) -> mpsc::Receiver<TriggerReport> {
        mpsc::channel(1).1
    }
}

#[derive(Default)]
struct Heard {
    began: Option<Instant>,
    stopped_after: Option<Duration>,
    away: Vec<String>,
}

struct Listens(Arc<Mutex<Heard>>);

impl FaultsPlayed for Listens {
    fn begin(&mut self, _stage: &Stage, _id: &str, _at: Timestamp) {
        self.0.lock().unwrap().began = Some(Instant::now());
    }

    fn slice(&mut self, _start_ns: u64, _end_ns: u64, _snapshot: &Snapshot) {}

    fn take(&mut self) -> Vec<FaultNews> {
        Vec::new()
    }

    fn stop(&mut self) {
        let mut heard = self.0.lock().unwrap();
        let after = heard.began.map(|began| began.elapsed());
        heard.stopped_after = heard.stopped_after.or(after);
    }

    fn leave(&mut self) {}

    fn is_over(&self) -> bool {
        self.0.lock().unwrap().stopped_after.is_some()
    }

    fn results(&mut self, missing: &[MissingRecord], pauses: &[PauseRecord]) -> Vec<FaultResult> {
        let missing = missing.iter().map(|one| format!("{} from {}", one.driver, one.from_s));
        let pauses =
            pauses.iter().map(|one| format!("{} from {:.1} to {:.1}", one.driver, one.from_s, one.to_s));
        self.0.lock().unwrap().away = missing.chain(pauses).collect();
        Vec::new()
    }
}

struct Nobody;

impl Observer for Nobody {
    fn stage_begins(&mut self, _news: &StageNews<'_>) {}
    fn progress(&mut self, _progress: &Progress<'_>) {}
    fn stage_ends(&mut self, _record: &StageRecord) {}
    fn note(&mut self, _text: &str) {}
}

fn heard(on_driver_loss: &str) -> Heard {
    let text = format!(
        "name: x\non_driver_loss: {on_driver_loss}\nstorage: {{type: mock}}\nstages:\n  - name: main\n    faults:\n      - {{name: \
         quiet, type: none, at: 30s, slot: 10s, repeats: 1}}\n    works:\n      - {{name: w, workers: 4, runtime: 60s, rate: 100/s, \
         operations: [{{type: read, containers: c(1), objects: 'u(1,9)'}}]}}\n"
    );
    let (workload, mistakes) = parse(&text, Format::Yaml, &Environment::default());
    let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
    let root = tempfile::tempdir().unwrap();
    let new = NewRun {
        number: None,
        workload: &workload,
        seed: Some(1),
        source: None,
        config_xml: "<workload/>",
        config_yaml: &text,
        host: HostRecord { hostname: "here".into(), cpus: 2, kernel: "none".into() },
        submitted: Timestamp::now(),
    };
    let dir = Archive::open(root.path()).unwrap().begin(&new).unwrap();
    let drivers = [("d1", false), ("d2", true)].map(|(name, is_lost)| {
        let (events, finish) = (None, Arc::default());
        Box::new(Scripted { name: name.to_owned(), is_lost, events, finish }) as Box<dyn DriverLink>
    });
    let (_stop, stopped) = watch::channel(StopLevel::Run);
    let keep = |text: &str| text.to_owned();
    let mut job = RunJob::new(&workload, ArchiveWriter::new(dir), drivers.into(), stopped, &keep);
    let heard = Arc::new(Mutex::new(Heard::default()));
    job.on_faults(Box::new(Listens(Arc::clone(&heard))));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(run_workload(job, &mut Nobody));
    std::mem::take(&mut *heard.lock().unwrap())
}

#[test]
fn a_stage_that_fails_heals_at_once_and_not_when_all_that_was_under_way_has_ended() {
    let stopped_s = heard("fail").stopped_after.unwrap().as_secs_f64();
    assert!((5.0..10.0).contains(&stopped_s), "{stopped_s}");
}

#[test]
fn what_drivers_did_not_do_is_said_to_whoever_judges_the_faults() {
    let heard = heard("continue");
    assert_eq!(heard.away, ["d2 from 4", "d1 from 1.0 to 3.0", "d1 from 27.0 to 30.0"]);
    assert!(heard.stopped_after.unwrap() >= LOAD - Duration::from_secs(1), "{:?}", heard.stopped_after);
}
