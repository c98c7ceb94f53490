//! Who orders a driver: only controllers whose key it trusts, each word once, for it alone. Anything else that whoever reaches
//! NATS can send costs it a count.

use std::path::Path;
use std::time::{Duration, Instant};

use cosmark_cluster::nats::names::{order, question};
use cosmark_cluster::nats::{Bus, Identity, Limits, NatsOptions};
use cosmark_wire::message::{Envelope, EnvelopeKind, Order, Registration};
use cosmark_wire::{MESSAGE_VERSION, unix_ns};

use crate::fleet_bed::{Bed, PATIENCE};
use crate::service_bed::{Controller, Driver, within};
use crate::table::Attacks;

/// Forged orders of each kind.
const MANY: usize = 400;

pub const WORKLOAD: &str = "name: honest\nstorage: {type: none}\nstages:\n- name: main\n  works:\n  - {name: main, workers: 1, \
                        total_ops: 5, operations: [{type: read, ratio: 1, containers: c(1), objects: c(1)}]}\n";

fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

fn count(directory: &Path) -> usize {
    std::fs::read_dir(directory).map_or(0, Iterator::count)
}

/// What a driver says of itself. Its entry ends by itself when it is not renewed, and a busy machine renews it late.
async fn registered(bus: &Bus, name: &str) -> Registration {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = bus.registered(name).await.unwrap() {
            return found;
        }
        assert!(Instant::now() < until, "{name} is not registered");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Waits until the driver says that it was told so many lies.
async fn forged(bus: &Bus, name: &str, least: u64) -> u64 {
    let until = Instant::now() + PATIENCE;
    loop {
        let now = registered(bus, name).await.forged;
        if now >= least || Instant::now() > until {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What a stranger may try, by kind; `seen` are words of a true controller that were overheard.
fn lies(
    stranger: &Identity,
    known: &str,
    driver: &Registration,
    seen: &[Vec<u8>],
) -> Vec<(&'static str, Vec<u8>)> {
    let by_stranger = |kind| {
        let envelope = Envelope {
            version: MESSAGE_VERSION,
            kind,
            driver: driver.name.clone(),
            run: "x1".into(),
            id: "forget".into(),
            step: None,
            issued_ns: unix_ns(),
        };
        let plain = cosmark_wire::message::encode(&Order::Forget).unwrap();
        stranger.sign(&envelope, &cosmark_cluster::nats::seal(driver.public_key, &plain).unwrap()).unwrap()
    };
    let mut under_a_known_name = by_stranger(EnvelopeKind::Order);
    under_a_known_name[..known.len()].copy_from_slice(known.as_bytes());
    let sealed_alone = cosmark_cluster::nats::seal(driver.public_key, b"whatever").unwrap();
    vec![
        ("an order by a key that nobody trusts", by_stranger(EnvelopeKind::Order)),
        ("an order under the name of the trusted key", under_a_known_name),
        ("an order that is only sealed", sealed_alone),
        ("noise", vec![0xC1; 300]),
        ("an overheard order, in another run", seen.first().unwrap().clone()),
    ]
}

#[test]
fn forged_and_replayed_orders_cost_a_driver_a_count_and_nothing_else() {
    let mut bed = Bed::new(2);
    let mut attacks = Attacks::on("forged orders");
    std::fs::write(bed.path().join("w.yaml"), WORKLOAD).unwrap();
    let mut overheard = bed.hear("cosmark.run.*.order.d1");
    assert_eq!(bed.start_run("w.yaml", &[]).wait(), 0, "{}", bed.logs());
    // Stage, go, and the word that it is over.
    let seen: Vec<Vec<u8>> = (0..3).map(|_| overheard.next()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = NatsOptions { url: bed.url(), ..NatsOptions::default() };
        let bus = Bus::connect(&options, "stranger", Limits::default()).await.unwrap();
        let stranger = Identity::derive(b"a stranger", "cosmark controller").unwrap();
        let until = Instant::now() + PATIENCE;
        while registered(&bus, "d1").await.trusts.is_empty() && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let driver = registered(&bus, "d1").await;
        let known = driver.trusts.first().cloned().unwrap_or_default();
        attacks.judge("none: the first controller that came is trusted", "d1", !known.is_empty(), &known);
        let runs = bed.path().join("state/drivers/d1/runs");
        let until = Instant::now() + PATIENCE;
        while count(&runs) > 0 && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let (files, lines) = (open_files(bed.drivers[0].pid()), bed.drivers[0].log().lines().count());
        let mut sum = 0;
        for (what, payload) in lies(&stranger, &known, &driver, &seen) {
            for number in 0..MANY {
                let subject = order(&format!("x{number}"), "d1");
                bus.client().publish(subject, payload.clone().into()).await.unwrap();
            }
            bus.client().flush().await.unwrap();
            sum += MANY as u64;
            let counted = forged(&bus, "d1", sum).await;
            let (left, now) = (count(&runs), open_files(bed.drivers[0].pid()));
            let said = format!("{counted} counted, {left} directories, {now} open files (before: {files})");
            attacks.judge(what, "d1", counted == sum && left == 0 && now <= files + 2, &said);
        }
        for (what, subject) in [
            ("an overheard order, to another driver", order("x1", "d2")),
            ("an overheard order as a question", question("d2", "probe")),
        ] {
            let before = registered(&bus, "d2").await.forged;
            for payload in &seen {
                bus.client()
                    .publish_with_reply(subject.clone(), "nowhere", payload.clone().into())
                    .await
                    .unwrap();
            }
            let counted = forged(&bus, "d2", before + 3).await - before;
            attacks.judge(what, "d2", counted == 3, &format!("{counted} of 3 counted"));
        }
        let said = bed.drivers[0].log().lines().count() - lines;
        attacks.judge("all of them, to fill the log", "d1", said <= 8, &format!("{said} lines"));
        // The very words of the run that is over, where they were said. They were true once: nothing is counted.
        let run = bed.run_on_nats();
        for payload in &seen[..2] {
            bus.client().publish(order(&run, "d1"), payload.clone().into()).await.unwrap();
        }
        bus.client().publish(order("x1", "d1"), Vec::new().into()).await.unwrap();
        forged(&bus, "d1", sum + 1).await;
        let left = count(&runs);
        attacks.judge(
            "the order of a run that is over, again",
            "d1",
            left == 0,
            &format!("{left} directories"),
        );
    });
    let mut foreign = bed.start_run("w.yaml", &["--state-dir", "stranger"]);
    let code = foreign.wait();
    let said = foreign.log();
    let held = code == 2 && said.contains("does not obey this controller") && said.contains("--trust U");
    attacks.judge("cosmark run with a key of its own", "d1 and d2", held, &said);
    let mut again = bed.start_run("w.yaml", &[]);
    let code = again.wait();
    attacks.judge("none: the next run of the trusted controller", "d1 and d2", code == 0, &again.log());
}

#[test]
fn a_driver_that_is_not_admitted_gets_no_work() {
    let dir = tempfile::tempdir().unwrap();
    let mut attacks = Attacks::on("admission of drivers");
    let drivers =
        |c: &Controller| within(|| c.get("drivers").as_array().filter(|all| !all.is_empty()).cloned());
    let stranger = Identity::derive(b"a stranger", "cosmark driver").unwrap();
    let mut c = Controller::launch(dir.path(), "a", &["--admit", &format!("d1={}", stranger.public())]);
    within(|| (c.curl(&[], "/api/v1/status").0 == 401).then_some(()));
    let said = std::fs::read_to_string(dir.path().join("controller.log")).unwrap();
    let url = said.split("--join ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let _driver = Driver::join(dir.path(), "d1", &url, &dir.path().join("a/nats/driver.nk"));
    within(|| (c.with_token(&c.token, &[], "/api/v1/drivers").0 == 200).then_some(()));
    let driver = drivers(&c).remove(0);
    let (trouble, key) =
        (driver["trouble"].as_str().unwrap_or_default().to_owned(), driver["key"].as_str().unwrap());
    let held = driver["state"] == "refused" && trouble.contains(&format!("--admit d1={key}"));
    attacks.judge("join under an admitted name with another key", "the queue", held, &trouble);
    // With its own key it is admitted.
    crate::support::signal(&c.child, libc::SIGTERM);
    c.child.wait().unwrap();
    let c = Controller::launch(dir.path(), "a", &["--admit", &format!("d1={key}")]);
    within(|| (c.with_token(&c.token, &[], "/api/v1/drivers").0 == 200).then_some(()));
    let state = within(|| Some(drivers(&c).remove(0)["state"].clone()).filter(|state| state == "idle"));
    attacks.judge("none: the driver that was admitted", "d1", state == "idle", &state.to_string());
}
