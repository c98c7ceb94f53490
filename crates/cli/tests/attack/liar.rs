//! A driver whose login is good and whose words are not: it speaks of steps that it has no order for, of times that have
//! not come, and of sums that no load makes. It costs its own run a sentence that names it, and nobody memory or time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cosmark_cluster::nats::names::{self, About};
use cosmark_cluster::nats::{Bus, Identity, Limits, NatsOptions};
use cosmark_metrics::{OpSnapshot, Phase, Snapshot};
use cosmark_wire::message::{Event, encode};
use cosmark_wire::{ContainersBefore, DriverEvent, Launched, unix_ns};

use crate::fleet_bed::Bed;
use crate::table::Attacks;

/// What its clock shows when its load begins.
const ORIGIN_NS: u64 = 1_000_000_000;

const WORKLOAD: &str = "name: w\nstorage: {type: mock, delay: 5ms}\nstages:\n- name: main\n  works:\n  - {name: main, workers: 4, \
                        runtime: 600s, operations: [{type: read, ratio: 1, containers: c(1), objects: c(1)}]}\n";

/// Joins as `liar`, and lies as soon as it has an order, until it is dropped.
struct Liar(Arc<AtomicBool>);

impl Liar {
    fn start(url: String, lie: DriverEvent) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let options = NatsOptions { url, ..NatsOptions::default() };
                let bus = Bus::connect(&options, "liar", Limits::default()).await.unwrap();
                let identity = Identity::derive(b"liar", "driver").unwrap();
                let mut like = bus.registered("d1").await.unwrap().unwrap();
                (like.name, like.life) = ("liar".into(), 7);
                identity.public().clone_into(&mut like.identity);
                like.proof = identity.sign_bytes(&like.what_is_proved()).unwrap();
                let beats = async {
                    while !over.load(Ordering::Acquire) {
                        drop(bus.register(&like).await);
                        tokio::time::sleep(Duration::from_millis(500)).await;
                    }
                };
                tokio::join!(beats, lies(&bus, &identity, lie));
            });
        });
        Self(is_over)
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Waits for its first order, and says what it has to say.
async fn lies(bus: &Bus, identity: &Identity, lie: DriverEvent) {
    let order = bus.reader(&names::orders_to("liar"), 1).next().await.unwrap();
    let Some((run, About::Order(_))) = names::read(&order.subject) else { return };
    let step = order.step().unwrap();
    let launched = Launched {
        start_ns: ORIGIN_NS,
        origin_ns: ORIGIN_NS,
        origin_unix_ns: unix_ns(),
        clock: None,
        plans: Vec::new(),
        endpoints: Vec::new(),
        containers: ContainersBefore::default(),
    };
    let never = Event { step: step + 1_000_000, seq: 0, event: DriverEvent::Authed };
    let rest = [DriverEvent::Authed, DriverEvent::Launched(launched), lie];
    let rest = rest.into_iter().zip(0..).map(|(event, seq)| Event { step, seq, event });
    let subject = names::event(run, "liar");
    for event in std::iter::once(never).chain(rest) {
        let payload = encode(&event).unwrap();
        let mut headers = bus.headers(&format!("{run}/liar/{}/{}", event.step, event.seq), None);
        headers.insert("Cosmark-Signature", identity.sign_event(&subject, &payload).unwrap().as_str());
        drop(bus.publish(&subject, &headers, &payload, |_| {}).await);
    }
}

async fn is_registered(url: String) {
    let options = NatsOptions { url, ..NatsOptions::default() };
    let bus = Bus::connect(&options, "test", Limits::default()).await.unwrap();
    while bus.registered("liar").await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn a_driver_that_speaks_of_what_cannot_be_is_refused_by_name_and_holds_nobody_up() {
    let mut attacks = Attacks::on("drivers that lie");
    let slice = |end_ns: u64, ok: u64| {
        let ops = vec![OpSnapshot { ok, ..OpSnapshot::default() }];
        DriverEvent::Snapshot(Snapshot { work: 0, phase: Phase::Window, start_ns: end_ns - 1, end_ns, ops })
    };
    for (what, lie) in [
        ("says that all up to the end of time was reported", DriverEvent::Told { up_to_ns: u64::MAX }),
        ("sends a slice of the far future", slice(u64::MAX, 5)),
        ("has made more operations than there are numbers", slice(ORIGIN_NS + 2, u64::MAX)),
    ] {
        let mut bed = Bed::new(1);
        let _liar = Liar::start(bed.url(), lie);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(is_registered(bed.url()));
        std::fs::write(bed.path().join("w.yaml"), WORKLOAD).unwrap();
        let mut run = bed.start_run("w.yaml", &["--drivers", "d1,liar"]);
        let code = run.wait();
        let log = run.log();
        let held = code != 0 && log.contains("driver liar speaks of times that have not come");
        attacks.judge(what, "a run", held, &format!("exit {code}: {log}"));
    }
}
