//! What a login may do in NATS, against a real server with the configuration that `cosmark controller --write-nats-config`
//! writes: a driver's may do its work and nothing else.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, Event};
use cosmark_cluster::nats::{Bus, Identity, Limits, NatsOptions, names};
use cosmark_wire::lease::Lease;

use crate::fleet_bed::{Bed, PATIENCE, Process};
use crate::support::{cosmark, stderr, stdout};
use crate::table::Attacks;

/// What a login tries.
enum Try {
    Publish(&'static str),
    Subscribe(&'static str),
}
use Try::{Publish, Subscribe};

/// A subject that nobody may publish to: what the server says of it comes after everything that it said before.
const END: &str = "end.of.the.list";

/// Driver d1: what is not its own.
const NOT_FOR_A_DRIVER: &[(&str, Try)] = &[
    ("order itself", Publish("cosmark.run.w1.order.d1")),
    ("order another driver", Publish("cosmark.run.w1.order.d2")),
    ("speak as another driver", Publish("cosmark.run.w1.event.d2")),
    ("decide for the controller", Publish("cosmark.run.w1.control")),
    ("question another driver", Publish("cosmark.driver.d2.probe")),
    ("hear questions to another driver", Subscribe("cosmark.driver.d2.probe")),
    ("hear all questions", Subscribe("cosmark.driver.*.*")),
    ("hear orders to another driver", Subscribe("cosmark.run.*.order.d2")),
    ("hear all orders", Subscribe("cosmark.run.*.order.*")),
    ("hear everything of runs", Subscribe("cosmark.run.>")),
    ("hear everything", Subscribe(">")),
    ("hear answers to the controller", Subscribe("_INBOX.>")),
    ("hear answers to another driver", Subscribe("_COSMARK.d2.>")),
    ("answer in the controller's place", Publish("_INBOX.x.y")),
    ("register as another driver", Publish("$KV.cosmark_drivers.d2")),
    ("publish a key to be trusted", Publish("$KV.cosmark_trust.controller")),
    ("lead", Publish("$KV.cosmark_lease.leader")),
    ("write the queue", Publish("$KV.cosmark_queue.w1")),
    ("write the history", Publish("$KV.cosmark_history.w1")),
    ("write the numbers of runs", Publish("$KV.cosmark_meta.last-run")),
    ("hear the queue", Subscribe("$KV.cosmark_queue.>")),
    ("read the queue", Publish("$JS.API.DIRECT.GET.KV_cosmark_queue.$KV.cosmark_queue.w1")),
    ("read the queue, the old way", Publish("$JS.API.STREAM.MSG.GET.KV_cosmark_queue")),
    ("look at the queue", Publish("$JS.API.STREAM.INFO.KV_cosmark_queue")),
    (
        "read the queue by a consumer",
        Publish("$JS.API.CONSUMER.CREATE.KV_cosmark_queue.x.$KV.cosmark_queue.w1"),
    ),
    ("read the history", Publish("$JS.API.DIRECT.GET.KV_cosmark_history.$KV.cosmark_history.w1")),
    ("read the numbers", Publish("$JS.API.DIRECT.GET.KV_cosmark_meta.$KV.cosmark_meta.cluster")),
    (
        "read another driver's registration",
        Publish("$JS.API.DIRECT.GET.KV_cosmark_drivers.$KV.cosmark_drivers.d2"),
    ),
    ("read any message of runs", Publish("$JS.API.STREAM.MSG.GET.COSMARK_RUNS")),
    ("read any message of runs directly", Publish("$JS.API.DIRECT.GET.COSMARK_RUNS.cosmark.run.w1.order.d2")),
    (
        "read orders to another driver",
        Publish("$JS.API.CONSUMER.CREATE.COSMARK_RUNS.x.cosmark.run.*.order.d2"),
    ),
    ("read all orders", Publish("$JS.API.CONSUMER.CREATE.COSMARK_RUNS.x.cosmark.run.*.order.*")),
    ("read everything of runs", Publish("$JS.API.CONSUMER.CREATE.COSMARK_RUNS.x.cosmark.run.>")),
    ("read everything without a filter", Publish("$JS.API.CONSUMER.CREATE.COSMARK_RUNS.x")),
    ("make a consumer the old way", Publish("$JS.API.CONSUMER.CREATE.COSMARK_RUNS")),
    ("make a consumer that lasts", Publish("$JS.API.CONSUMER.DURABLE.CREATE.COSMARK_RUNS.x")),
    ("list the consumers of others", Publish("$JS.API.CONSUMER.LIST.COSMARK_RUNS")),
    ("name the consumers of others", Publish("$JS.API.CONSUMER.NAMES.COSMARK_RUNS")),
    ("delete a consumer", Publish("$JS.API.CONSUMER.DELETE.COSMARK_RUNS.x")),
    ("purge the stream of runs", Publish("$JS.API.STREAM.PURGE.COSMARK_RUNS")),
    ("delete the stream of runs", Publish("$JS.API.STREAM.DELETE.COSMARK_RUNS")),
    ("delete a message", Publish("$JS.API.STREAM.MSG.DELETE.COSMARK_RUNS")),
    ("change the stream of runs", Publish("$JS.API.STREAM.UPDATE.COSMARK_RUNS")),
    ("make a stream", Publish("$JS.API.STREAM.CREATE.MINE")),
    ("list the streams", Publish("$JS.API.STREAM.LIST")),
    ("purge the registrations", Publish("$JS.API.STREAM.PURGE.KV_cosmark_drivers")),
    ("have a fault made by an agent", Publish("cosmark.agent.s1.fault")),
    ("publish anything else", Publish("elsewhere")),
];

const FOR_A_DRIVER: &[(&str, Try)] = &[
    ("tell its events", Publish("cosmark.run.w1.event.d1")),
    ("register", Publish("$KV.cosmark_drivers.d1")),
    ("ask for its orders", Publish("$JS.API.CONSUMER.CREATE.COSMARK_RUNS.x.cosmark.run.*.order.d1")),
    ("hear questions", Subscribe("cosmark.driver.d1.clock")),
    ("hear its answers", Subscribe("_COSMARK.d1.x")),
];

/// The agent of machine s1.
const NOT_FOR_AN_AGENT: &[(&str, Try)] = &[
    ("order a driver", Publish("cosmark.run.w1.order.d1")),
    ("speak as a driver", Publish("cosmark.run.w1.event.d1")),
    ("register as a driver", Publish("$KV.cosmark_drivers.s1")),
    ("have another agent read", Publish("cosmark.agent.s2.look")),
    ("have itself read", Publish("cosmark.agent.s1.look")),
    ("have a fault made by another agent", Publish("cosmark.agent.s2.fault")),
    ("have a fault made by itself", Publish("cosmark.agent.s1.fault")),
    ("hear which faults another is asked for", Subscribe("cosmark.agent.s2.fault")),
    ("send the readings of another", Publish("cosmark.agent.s2.reading")),
    ("hear what another is asked", Subscribe("cosmark.agent.s2.look")),
    ("hear the readings of others", Subscribe("cosmark.agent.*.reading")),
    ("hear events of runs", Subscribe("cosmark.run.*.event.*")),
    ("hear answers to the controller", Subscribe("_INBOX.>")),
    ("hear everything", Subscribe(">")),
    ("publish a key to be trusted", Publish("$KV.cosmark_trust.controller")),
    ("read the queue", Publish("$JS.API.DIRECT.GET.KV_cosmark_queue.$KV.cosmark_queue.w1")),
    ("read a lease", Publish("$JS.API.DIRECT.GET.KV_cosmark_alive.$KV.cosmark_alive.w1")),
    ("read orders", Publish("$JS.API.CONSUMER.CREATE.COSMARK_RUNS.x.cosmark.run.*.order.d1")),
    ("purge the stream of runs", Publish("$JS.API.STREAM.PURGE.COSMARK_RUNS")),
    ("make a stream", Publish("$JS.API.STREAM.CREATE.MINE")),
];

const FOR_AN_AGENT: &[(&str, Try)] = &[
    ("send its readings", Publish("cosmark.agent.s1.reading")),
    ("ask whether its name is taken", Publish("cosmark.agents.who")),
    ("answer a controller", Publish("_INBOX.x.y")),
    ("answer another agent", Publish("_COSMARK_AGENT.s2.x")),
    ("hear what it is asked", Subscribe("cosmark.agent.s1.look")),
    ("hear which faults it is asked for", Subscribe("cosmark.agent.s1.fault")),
    ("hear its answers", Subscribe("_COSMARK_AGENT.s1.x")),
];

const NOT_FOR_AN_OBSERVER: &[(&str, Try)] = &[
    ("order", Publish("cosmark.run.w1.order.d1")),
    ("speak as a driver", Publish("cosmark.run.w1.event.d1")),
    ("register", Publish("$KV.cosmark_drivers.d1")),
    ("ask JetStream", Publish("$JS.API.STREAM.INFO.COSMARK_RUNS")),
    ("hear orders", Subscribe("cosmark.run.*.order.*")),
    ("hear the queue", Subscribe("$KV.cosmark_queue.>")),
    ("hear answers", Subscribe("_INBOX.>")),
];

const FOR_AN_OBSERVER: &[(&str, Try)] = &[
    ("hear events", Subscribe("cosmark.run.*.event.*")),
    ("hear registrations", Subscribe("$KV.cosmark_drivers.>")),
];

/// A connection with the login of a file, and what the server says to it.
async fn connect(url: &str, seed: &std::path::Path) -> (Client, Arc<Mutex<Vec<String>>>) {
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let hear = Arc::clone(&said);
    let seed = std::fs::read_to_string(seed).unwrap().trim().to_owned();
    let options = ConnectOptions::with_nkey(seed).event_callback(move |event| {
        if let Event::ServerError(error) = event {
            hear.lock().unwrap().push(error.to_string());
        }
        async {}
    });
    (options.connect(url).await.unwrap(), said)
}

/// Makes every try; what the server said of each.
async fn make(
    client: &Client,
    said: &Mutex<Vec<String>>,
    tries: &[(&'static str, Try)],
) -> Vec<(String, bool)> {
    let mut kept = Vec::new();
    for (_, one) in tries {
        match one {
            Publish(subject) => client.publish(*subject, "".into()).await.unwrap(),
            Subscribe(subject) => kept.push(client.subscribe(*subject).await.unwrap()),
        }
    }
    client.publish(END, "".into()).await.unwrap();
    client.flush().await.unwrap();
    let until = Instant::now() + PATIENCE;
    while !said.lock().unwrap().iter().any(|text| text.contains(END)) {
        assert!(Instant::now() < until, "the server says nothing: {said:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let said = said.lock().unwrap();
    let refused = |one: &Try| {
        let (verb, subject) = match one {
            Publish(subject) => ("publish", subject),
            Subscribe(subject) => ("subscription", subject),
        };
        let quoted = format!("\"{subject}\"").to_lowercase();
        let of = |text: &String| {
            let text = text.to_lowercase();
            text.contains("permissions violation") && text.contains(verb) && text.contains(&quoted)
        };
        said.iter().any(of)
    };
    tries.iter().map(|(what, one)| ((*what).to_owned(), refused(one))).collect()
}

#[test]
fn a_login_may_do_what_its_role_does_and_nothing_else() {
    let mut attacks = Attacks::on("roles in NATS");
    let mut bed = Bed::new(0);
    // A server of its own: with roles.
    bed.nats.take().unwrap().kill();
    let port = bed.port.to_string();
    let args = ["controller", "--write-nats-config", "nats", "--nats-driver", "d1", "--nats-driver", "d2"];
    let more = ["--nats-node", "s1", "--nats-port", &port];
    let written = cosmark(bed.path()).args(args).args(more).output().unwrap();
    assert!(written.status.success(), "{}", stderr(&written));
    let said = stdout(&written);
    assert!(said.contains("--name d1 --nats-nkey-file nats/driver-d1.nk --trust U"), "{said}");
    assert!(said.contains("cosmark node --join") && said.contains("nats/agent-s1.nk --trust U"), "{said}");
    let mut command = Command::new("nats-server");
    command.current_dir(bed.path().join("nats")).args(["-c", "nats.conf"]);
    bed.nats = Some(Process::start(command, bed.path().join("nats.log")));
    bed.wait_for_nats();
    let login = |name: &str| format!("nats/{name}.nk");
    // The whole way: the streams, a driver, a run.
    let controller = login("controller");
    std::fs::write(bed.path().join("w.yaml"), crate::orders::WORKLOAD).unwrap();
    let early = bed.driver_command(1, &["--nats-nkey-file", &login("driver-d1")]).output().unwrap();
    let early = stderr(&early);
    attacks.judge(
        "join before a controller was there",
        "d1",
        early.contains("start the controller first"),
        &early,
    );
    let nobody = bed.start_run("w.yaml", &["--nats-nkey-file", &controller]).wait();
    assert_eq!(nobody, 2, "no driver is there, but the streams are made: {}", bed.logs());
    let command = bed.driver_command(1, &["--nats-nkey-file", &login("driver-d2")]);
    let wrong = stderr(&{ command }.output().unwrap());
    attacks.judge("join under another name", "d1", wrong.contains("the name that it has"), &wrong);
    for number in [1, 2] {
        bed.start_driver(number, &["--nats-nkey-file", &login(&format!("driver-d{number}"))]);
    }
    let mut command = cosmark(bed.path());
    let url = bed.url();
    command.args(["node", "--join", &url, "--name", "s1", "--state", "state"]);
    command.args(["--nats-nkey-file", &login("agent-s1")]);
    let mut agent = Process::start(command, bed.path().join("s1.log"));
    agent.wait_for("waits to be asked");
    let mut run = bed.start_run("w.yaml", &["--nats-nkey-file", &controller]);
    let code = run.wait();
    attacks.judge("none: a run of the controller", "d1 and d2", code == 0, &run.log());
    let reads = agent.log().contains("reads this machine");
    attacks.judge("none: the agent reads for it", "s1", reads, &agent.log());
    let mut run = bed.start_run("w.yaml", &["--nats-nkey-file", &login("driver-d1")]);
    let code = run.wait();
    let held = code == 1 && run.log().contains("use the login of a controller");
    attacks.judge("cosmark run with a driver's login", "d2", held, &run.log());
    let url = bed.url();
    let nats = bed.path().join("nats");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for (role, not, may) in [
            ("driver-d1", NOT_FOR_A_DRIVER, FOR_A_DRIVER),
            ("agent-s1", NOT_FOR_AN_AGENT, FOR_AN_AGENT),
            ("observer", NOT_FOR_AN_OBSERVER, FOR_AN_OBSERVER),
        ] {
            let (client, said) = connect(&url, &nats.join(format!("{role}.nk"))).await;
            for (what, refused) in make(&client, &said, not).await {
                attacks.judge(&what, role, refused, if refused { "refused by NATS" } else { "allowed" });
            }
            let (client, said) = connect(&url, &nats.join(format!("{role}.nk"))).await;
            for (what, refused) in make(&client, &said, may).await {
                attacks.judge(
                    &format!("none: {what}"),
                    role,
                    !refused,
                    if refused { "refused" } else { "allowed" },
                );
            }
        }
        roll_up(&mut attacks, &url, &nats).await;
        ask_itself(&mut attacks, &url, &nats).await;
        have_it_relayed(&mut attacks, &url, &nats).await;
    });
    assert!(names::BUCKETS.len() > 3);
}

/// Who hears a question may answer it, where NATS lets it answer anywhere: one that it asked itself, too.
async fn ask_itself(attacks: &mut Attacks, url: &str, nats: &std::path::Path) {
    const MINE: &str = "$KV.cosmark_trust.controller";
    let (agent, said) = connect(url, &nats.join("agent-s1.nk")).await;
    let _heard = agent.subscribe("cosmark.agents.who").await.unwrap();
    agent.publish_with_reply("cosmark.agents.who", MINE, "".into()).await.unwrap();
    // What the server has heard by then it has delivered, too.
    agent.flush().await.unwrap();
    for (what, refused) in
        make(&agent, &said, &[("answer itself with a key to be trusted", Publish(MINE))]).await
    {
        attacks.judge(&what, "agent-s1", refused, if refused { "refused by NATS" } else { "allowed" });
    }
}

/// JetStream answers to any subject: with what a driver wrote itself, too. What is stored there counts for nothing.
async fn have_it_relayed(attacks: &mut Attacks, url: &str, nats: &std::path::Path) {
    const MINE: &str = "$KV.cosmark_drivers.d1";
    let options = NatsOptions {
        url: url.to_owned(),
        nkey_file: Some(nats.join("controller.nk")),
        ..NatsOptions::default()
    };
    let bus = Bus::connect(&options, "watches", Limits::default()).await.unwrap();
    let stranger = Identity::derive(b"a stranger's", "attack").unwrap().public().to_owned();
    let lease = cosmark_wire::message::encode(&Lease::begin(7, 60_000)).unwrap();
    let (driver, _) = connect(url, &nats.join("driver-d1.nk")).await;
    let ask = format!("$JS.API.DIRECT.GET.KV_cosmark_drivers.{MINE}");
    for (what, bucket, key, value) in [
        ("have a key to be trusted relayed", names::TRUST, "controller", stranger.clone().into_bytes()),
        ("have a lease relayed", names::ALIVE, "relayed", lease),
    ] {
        let (there, to) = (bus.bucket(bucket).await.unwrap().stream, format!("$KV.{bucket}.{key}"));
        let until = Instant::now() + PATIENCE;
        // The driver itself registers all the time: until the value that counts was relayed.
        // By the leader's own word: a direct answer would have the headers of two.
        while !there
            .get_last_raw_message_by_subject(&to)
            .await
            .is_ok_and(|found| found.payload[..] == value[..])
        {
            assert!(Instant::now() < until, "{what}: nothing was relayed");
            driver.publish(MINE, value.clone().into()).await.unwrap();
            driver.publish_with_reply(ask.clone(), to.clone(), "".into()).await.unwrap();
            driver.flush().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let held = match bucket {
            names::TRUST => bus.published_key().await.unwrap().is_none_or(|key| key != stranger),
            _ => bus.lease_of(key).await.unwrap().is_none(),
        };
        attacks.judge(what, "all", held, "it is stored, and counts for nothing");
    }
}

/// A header that makes JetStream forget everything else of a stream (NATS ADR-8) is no way around the permissions.
async fn roll_up(attacks: &mut Attacks, url: &str, nats: &std::path::Path) {
    let (driver, _) = connect(url, &nats.join("driver-d1.nk")).await;
    let (controller, _) = connect(url, &nats.join("controller.nk")).await;
    let jetstream = async_nats::jetstream::new(controller);
    for (what, stream, subject, behind) in [
        (
            "roll up the registrations",
            "KV_cosmark_drivers",
            "$KV.cosmark_drivers.d1",
            "$KV.cosmark_drivers.behind",
        ),
        ("roll up the stream of runs", names::RUNS, "cosmark.run.w1.event.d1", "cosmark.run.behind.control"),
    ] {
        jetstream.publish("cosmark.run.keep.control", "kept".into()).await.unwrap().await.unwrap();
        let messages =
            async || jetstream.get_stream(stream).await.unwrap().info().await.unwrap().state.messages;
        let before = messages().await;
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Nats-Rollup", "all");
        driver.publish_with_headers(subject, headers, "".into()).await.unwrap();
        driver.flush().await.unwrap();
        // What is acknowledged behind it was taken into the stream behind it: one that was rolled up has two messages then.
        jetstream.publish(behind, "".into()).await.unwrap().await.unwrap();
        let after = messages().await;
        let held = before > 1 && after > before;
        attacks.judge(
            what,
            "all drivers",
            held,
            &format!("{before} messages before, {after} after, with one behind it"),
        );
    }
}
