//! Every name that Cosmark uses in NATS: subjects, streams, buckets, headers. `docs/reference/messages.md` is written from
//! this table.

use std::time::Duration;

/// The stream that holds everything that is said about runs.
pub const RUNS: &str = "COSMARK_RUNS";
/// Registrations of drivers, by name.
pub const DRIVERS: &str = "cosmark_drivers";
/// Leases of runs: which of them live, and which are over.
pub const ALIVE: &str = "cosmark_alive";
/// Which controller leads.
pub const LEASE: &str = "cosmark_lease";
/// Runs that wait or run, sealed.
pub const QUEUE: &str = "cosmark_queue";
/// Summaries of runs that are over.
pub const HISTORY: &str = "cosmark_history";
/// Next run number, version of the messages, id of the cluster.
pub const META: &str = "cosmark_meta";

/// The public key of the controllers.
pub const TRUST: &str = "cosmark_trust";

/// Header by which JetStream drops duplicates.
pub const MESSAGE_ID: &str = "Nats-Msg-Id";
/// Header with the version of the messages.
pub const VERSION: &str = "Cosmark-Version";
/// Header of events: the driver's signature.
pub const SIGNATURE: &str = "Cosmark-Signature";
/// Header of orders: the step that they are about, for drivers that cannot open them.
pub const STEP: &str = "Cosmark-Step";

/// JetStream drops a message whose id it has seen within this time.
pub const DUPLICATE_WINDOW: Duration = Duration::from_secs(600);
/// What is said about a run is kept this long at most, archived or not.
pub const RUN_MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// What a driver's login may do with a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForDrivers {
    /// Nothing, not even look.
    Nothing,
    /// Read.
    Read,
    /// Read and write the key with its own name.
    OwnKey,
}

/// One bucket of keys and values.
#[derive(Debug, Clone, Copy)]
pub struct BucketRow {
    /// Its name.
    pub name: &'static str,
    /// Values vanish after this time; `None` = never.
    pub max_age: Option<Duration>,
    /// What is in it.
    pub holds: &'static str,
    /// What drivers may do with it.
    pub for_drivers: ForDrivers,
}

/// All buckets.
pub const BUCKETS: &[BucketRow] = &[
    BucketRow {
        name: DRIVERS,
        max_age: Some(Duration::from_secs(10)),
        holds: "one key per driver: what it is and can, renewed every 2 s",
        for_drivers: ForDrivers::OwnKey,
    },
    BucketRow {
        name: ALIVE,
        max_age: Some(RUN_MAX_AGE),
        holds: "one key per run: its lease to make load, renewed every second while it lives; then that it is over",
        for_drivers: ForDrivers::Read,
    },
    BucketRow {
        name: LEASE,
        max_age: Some(Duration::from_secs(6)),
        holds: "key `leader`: the controller that leads, signed, renewed every 2 s",
        for_drivers: ForDrivers::Nothing,
    },
    BucketRow {
        name: QUEUE,
        max_age: None,
        holds: "one key per run that waits or runs, sealed for the controllers",
        for_drivers: ForDrivers::Nothing,
    },
    BucketRow {
        name: HISTORY,
        max_age: None,
        holds: "one key per run that is over: its summary",
        for_drivers: ForDrivers::Nothing,
    },
    BucketRow {
        name: META,
        max_age: None,
        holds: "next run number, version of the messages, id of the cluster, drivers that get nothing new",
        for_drivers: ForDrivers::Nothing,
    },
    BucketRow {
        name: TRUST,
        max_age: None,
        holds: "key `controller`: the public key that signs orders, which drivers trust at their first join",
        for_drivers: ForDrivers::Read,
    },
];

/// One kind of subject.
#[derive(Debug, Clone, Copy)]
pub struct SubjectRow {
    /// With its variable parts in angle brackets.
    pub pattern: &'static str,
    /// Whether it is in the stream [`RUNS`], or a question with an answer.
    pub durable: bool,
    /// From whom to whom.
    pub way: &'static str,
    /// What it carries.
    pub carries: &'static str,
}

/// All subjects.
pub const SUBJECTS: &[SubjectRow] = &[
    SubjectRow {
        pattern: "cosmark.run.<run>.order.<driver>",
        durable: true,
        way: "controller to driver",
        carries: "an order, sealed for the driver and signed: stage, go, finish, abort, trigger, forget",
    },
    SubjectRow {
        pattern: "cosmark.run.<run>.event.<driver>",
        durable: true,
        way: "driver to controller",
        carries: "an event, signed: authed, launched, snapshots, samples, health, ended, ..",
    },
    SubjectRow {
        pattern: "cosmark.run.<run>.control",
        durable: true,
        way: "controller to its successor",
        carries: "a decision that a controller which takes the run up must repeat",
    },
    SubjectRow {
        pattern: "cosmark.driver.<driver>.clock",
        durable: false,
        way: "controller asks, driver answers",
        carries: "nothing; the driver's clocks",
    },
    SubjectRow {
        pattern: "cosmark.driver.<driver>.probe",
        durable: false,
        way: "controller asks, driver answers",
        carries: "a target, sealed and signed; whether the driver reaches it",
    },
    SubjectRow {
        pattern: "cosmark.agents.who",
        durable: false,
        way: "controller asks, all agents answer",
        carries: "nothing; name and role of the machine, whom the agent obeys",
    },
    SubjectRow {
        pattern: "cosmark.agent.<agent>.look",
        durable: false,
        way: "controller asks, agent answers",
        carries: "that the machine be read for 15 seconds at most, signed; the agent's clock",
    },
    SubjectRow {
        pattern: "cosmark.agent.<agent>.reading",
        durable: false,
        way: "agent to controller",
        carries: "what the machine's counters say, and what of it says nothing, once a second while somebody has asked",
    },
    SubjectRow {
        pattern: "cosmark.agent.<agent>.fault",
        durable: false,
        way: "controller asks, agent answers",
        carries: "the name of a fault that the machine's operator allows, or a step of it, signed; what it came to",
    },
];

/// Everything of the stream [`RUNS`].
pub const ALL_RUNS: &str = "cosmark.run.>";

/// The key of a run in the bucket [`ALIVE`], as a subject.
#[must_use]
pub fn lease(run: &str) -> String {
    format!("$KV.{ALIVE}.{run}")
}

/// Orders of a run to a driver.
#[must_use]
pub fn order(run: &str, driver: &str) -> String {
    format!("cosmark.run.{run}.order.{driver}")
}

/// Orders of all runs to a driver.
#[must_use]
pub fn orders_to(driver: &str) -> String {
    format!("cosmark.run.*.order.{driver}")
}

/// Events of a driver in a run.
#[must_use]
pub fn event(run: &str, driver: &str) -> String {
    format!("cosmark.run.{run}.event.{driver}")
}

/// Decisions of a run's controller.
#[must_use]
pub fn control(run: &str) -> String {
    format!("cosmark.run.{run}.control")
}

/// Everything of a run.
#[must_use]
pub fn all_of(run: &str) -> String {
    format!("cosmark.run.{run}.>")
}

/// Where a driver answers questions: `clock` or `probe`.
#[must_use]
pub fn question(driver: &str, what: &str) -> String {
    format!("cosmark.driver.{driver}.{what}")
}

/// Where all agents are asked who they are.
pub const WHO: &str = "cosmark.agents.who";

/// Where an agent is asked to read its machine: `look`; where it sends what it read: `reading`; where it is asked for a
/// fault: `fault`.
#[must_use]
pub fn agent(name: &str, what: &str) -> String {
    format!("cosmark.agent.{name}.{what}")
}

/// What a subject of the stream is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About<'s> {
    /// An order to this driver.
    Order(&'s str),
    /// An event of this driver.
    Event(&'s str),
    /// A decision.
    Control,
}

/// Run and kind of a subject of the stream.
#[must_use]
pub fn read(subject: &str) -> Option<(&str, About<'_>)> {
    let (run, rest) = subject.strip_prefix("cosmark.run.")?.split_once('.')?;
    let about = match rest.split_once('.') {
        Some(("order", driver)) => About::Order(driver),
        Some(("event", driver)) => About::Event(driver),
        None if rest == "control" => About::Control,
        _ => return None,
    };
    Some((run, about))
}

/// Whether a text can be a part of a subject and a key of a bucket: the name of a driver, the id of a run.
#[must_use]
pub fn is_token(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

/// Inboxes of drivers begin so, followed by their names: nobody hears the answers to others.
pub(crate) const DRIVER_INBOX: &str = "_COSMARK";

/// Inboxes of agents.
pub(crate) const AGENT_INBOX: &str = "_COSMARK_AGENT";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_read_as_it_was_written() {
        assert_eq!(read(&order("w1", "d-2")), Some(("w1", About::Order("d-2"))));
        assert_eq!(read(&event("w1", "d")), Some(("w1", About::Event("d"))));
        assert_eq!(read(&control("w1")), Some(("w1", About::Control)));
        assert_eq!(read("cosmark.run.w1.other"), None);
        assert_eq!(read("elsewhere"), None);
    }

    #[test]
    fn the_page_of_messages_has_every_subject_and_bucket() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/messages.md");
        let page = std::fs::read_to_string(page).unwrap();
        for SubjectRow { pattern, durable, way, carries } in SUBJECTS {
            let kept = if *durable { "yes" } else { "no" };
            let line = format!("| `{pattern}` | {kept} | {way} | {carries} |");
            assert!(page.contains(&line), "{line}");
        }
        for BucketRow { name, max_age, holds, for_drivers } in BUCKETS {
            let age = max_age.map_or("never".to_owned(), |age| format!("{} s", age.as_secs()));
            let drivers = match for_drivers {
                ForDrivers::Nothing => "nothing",
                ForDrivers::Read => "read",
                ForDrivers::OwnKey => "read and write their own key",
            };
            let line = format!("| `{name}` | {age} | {drivers} | {holds} |");
            assert!(page.contains(&line), "{line}");
        }
        assert!(page.contains(&format!("`{RUNS}`")));
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let version = format!("is the version of the messages, now {}:", cosmark_wire::MESSAGE_VERSION);
        assert!(words.contains(&version), "{version}");
    }

    #[test]
    fn names_that_would_be_another_subject_are_no_names() {
        for bad in ["", "a.b", "*", ">", "a b", "ä", "a/b", &"x".repeat(65)] {
            assert!(!is_token(bad), "{bad}");
        }
        assert!(is_token("node-7_b"));
    }
}
