//! What each login may do in NATS: the permissions of users, in the server's own configuration (docs.nats.io, "Authorization" and
//! "NKeys"; of JetStream's API, ADR-1 and "NATS API Reference"). A driver's login reads its orders, answers questions and writes
//! its events and its registration; it cannot order, speak as another driver, or read another bucket. JetStream's own answers go
//! wherever the asker wants them, past these permissions: docs/reference/security.md says what that leaves open.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::nats::error::BusError;
use crate::nats::names::{AGENT_INBOX, BUCKETS, DRIVER_INBOX, ForDrivers, RUNS, TRUST, WHO, agent, is_token};
use crate::nats::private_file::write_private;
use crate::nats::seal::Key;
use crate::nats::sign::Identity;

/// Where answers to controllers go.
const CONTROLLER_INBOX: &str = "_INBOX.>";

/// A role of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Orders, keeps the queue, makes streams.
    Controller,
    /// The driver of this name; `None` = any driver, for a fleet that shares a login.
    Driver(Option<String>),
    /// The agent of this name on one of the store's machines; `None` = any.
    Agent(Option<String>),
    /// Hears events and registrations.
    Observer,
}

/// Subjects that a role may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    /// To publish to.
    pub publish: Vec<String>,
    /// To subscribe to.
    pub subscribe: Vec<String>,
    /// It may answer what it was asked, wherever the answer goes. Who may publish what it hears itself would ask itself and
    /// answer to any subject.
    pub answers: bool,
}

impl Role {
    /// Name of its file with the seed, without ending.
    #[must_use]
    pub fn file(&self) -> String {
        match self {
            Self::Controller => "controller".to_owned(),
            Self::Driver(None) => "driver".to_owned(),
            Self::Driver(Some(name)) => format!("driver-{name}"),
            Self::Agent(None) => "agent".to_owned(),
            Self::Agent(Some(name)) => format!("agent-{name}"),
            Self::Observer => "observer".to_owned(),
        }
    }

    /// The role whose file has this name without ending.
    #[must_use]
    pub fn of_file(name: &str) -> Option<Self> {
        let named = |what: &str| name.strip_prefix(what).filter(|name| is_token(name)).map(str::to_owned);
        match name {
            "controller" => Some(Self::Controller),
            "driver" => Some(Self::Driver(None)),
            "agent" => Some(Self::Agent(None)),
            "observer" => Some(Self::Observer),
            _ => named("driver-")
                .map(|name| Self::Driver(Some(name)))
                .or_else(|| named("agent-").map(|name| Self::Agent(Some(name)))),
        }
    }

    /// What it may do.
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        match self {
            Self::Controller => of_controller(),
            Self::Driver(name) => of_driver(name.as_deref().unwrap_or("*")),
            Self::Agent(name) => of_agent(name.as_deref().unwrap_or("*")),
            Self::Observer => Permissions {
                publish: Vec::new(),
                subscribe: vec!["cosmark.run.*.event.*".to_owned(), "$KV.cosmark_drivers.>".to_owned()],
                answers: false,
            },
        }
    }
}

fn of_controller() -> Permissions {
    let mut publish: Vec<String> =
        ["cosmark.>", "$JS.API.>", "$JS.FC.>", "$JS.ACK.>"].map(str::to_owned).to_vec();
    publish.extend(BUCKETS.iter().map(|bucket| format!("$KV.{}.>", bucket.name)));
    Permissions {
        publish,
        subscribe: vec![CONTROLLER_INBOX.to_owned(), "cosmark.>".to_owned()],
        answers: false,
    }
}

fn of_driver(name: &str) -> Permissions {
    let mut publish = vec![
        format!("cosmark.run.*.event.{name}"),
        format!("$JS.API.STREAM.INFO.{RUNS}"),
        // The filter stands in the subject: orders to another cannot be asked for.
        format!("$JS.API.CONSUMER.CREATE.{RUNS}.*.cosmark.run.*.order.{name}"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{RUNS}.*"),
    ];
    let mut subscribe = vec![format!("{DRIVER_INBOX}.{name}.>"), format!("cosmark.driver.{name}.*")];
    for bucket in BUCKETS {
        let kv = bucket.name;
        let keys = match bucket.for_drivers {
            ForDrivers::Nothing => continue,
            ForDrivers::Read => {
                subscribe.push(format!("$KV.{kv}.>"));
                // From the leader: what a copy has may be old.
                publish.push(format!("$JS.API.STREAM.MSG.GET.KV_{kv}"));
                ">"
            }
            ForDrivers::OwnKey => {
                publish.push(format!("$KV.{kv}.{name}"));
                name
            }
        };
        publish.push(format!("$JS.API.STREAM.INFO.KV_{kv}"));
        publish.push(format!("$JS.API.DIRECT.GET.KV_{kv}.$KV.{kv}.{keys}"));
    }
    Permissions { publish, subscribe, answers: true }
}

/// An agent hears who is asked for and what it is asked, answers, sends its readings, and reads whom to trust. It asks
/// for agents of its own name, too, and hears that: so it answers to the inboxes of controllers and agents, whose names
/// nobody can guess, and to nothing else.
fn of_agent(name: &str) -> Permissions {
    let publish = vec![
        WHO.to_owned(),
        CONTROLLER_INBOX.to_owned(),
        format!("{AGENT_INBOX}.*.>"),
        agent(name, "reading"),
        format!("$JS.API.STREAM.INFO.KV_{TRUST}"),
        format!("$JS.API.STREAM.MSG.GET.KV_{TRUST}"),
        format!("$JS.API.DIRECT.GET.KV_{TRUST}.$KV.{TRUST}.>"),
    ];
    let asked = [agent(name, "look"), agent(name, "fault")];
    let subscribe = [format!("{AGENT_INBOX}.{name}.>"), WHO.to_owned()].into_iter().chain(asked).collect();
    Permissions { publish, subscribe, answers: false }
}

fn list(subjects: &[String]) -> String {
    let quoted: Vec<String> = subjects.iter().map(|subject| format!("\"{subject}\"")).collect();
    format!("[{}]", quoted.join(", "))
}

/// The users of a server, each with the public half of its key, for the server's configuration.
#[must_use]
pub fn authorization(users: &[(Role, String)]) -> String {
    let mut text = "authorization {\n  users: [\n".to_owned();
    for (role, key) in users {
        let Permissions { publish, subscribe, answers } = role.permissions();
        // An empty list would allow everything.
        let publish = match publish.as_slice() {
            [] => "{deny: \">\"}".to_owned(),
            some => format!("{{allow: {}}}", list(some)),
        };
        let subscribe = format!("{{allow: {}}}", list(&subscribe));
        let answers = if answers { ", allow_responses: {max: 1, expires: \"2m\"}" } else { "" };
        let _ = writeln!(
            text,
            "    # {}\n    {{nkey: {key}, permissions: {{publish: {publish}, subscribe: {subscribe}{answers}}}}}",
            role.file()
        );
    }
    text.push_str("  ]\n}\n");
    text
}

/// The file with a role's seed in a directory.
#[must_use]
pub fn seed_file(directory: &Path, role: &Role) -> PathBuf {
    directory.join(format!("{}.nk", role.file()))
}

/// A path as the server's configuration writes it.
pub(crate) fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

/// The public key of a role's login: of the seed in its file, which is drawn (0600) if it is not there.
///
/// # Errors
/// When the file cannot be read or written, or holds no seed.
pub fn login(directory: &Path, role: &Role) -> Result<String, BusError> {
    let path = seed_file(directory, role);
    let fail = |cause: String| BusError::File { what: "NATS login", path: path.display().to_string(), cause };
    match std::fs::read_to_string(&path) {
        Ok(text) => nkeys::KeyPair::from_seed(text.trim())
            .map(|pair| pair.public_key())
            .map_err(|cause| fail(format!("it holds no NKey seed ({cause}); move it away for a new one"))),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            // The public half of a fresh key: 32 bytes that nobody can guess.
            let identity = Identity::derive(&Key::generate().public(), "nats login")?;
            write_private(&path, &format!("{}\n", identity.seed()?))?;
            Ok(identity.public().to_owned())
        }
        Err(cause) => Err(fail(cause.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_may_name_no_other_driver_and_no_bucket_that_is_not_for_it() {
        let Permissions { publish, subscribe, .. } = Role::Driver(Some("d1".into())).permissions();
        for subject in publish.iter().chain(&subscribe) {
            let bucket = BUCKETS.iter().find(|bucket| subject.contains(&format!("{}.", bucket.name)));
            assert!(bucket.is_none_or(|bucket| bucket.for_drivers != ForDrivers::Nothing), "{subject}");
            assert!(subject != ">" && !subject.starts_with("cosmark.run.*.order"), "{subject}");
            assert!(!subject.contains("PURGE") && !subject.contains("DELETE") && !subject.contains("UPDATE"));
        }
        let text = authorization(&[(Role::Observer, "UX".into())]);
        assert!(text.contains("publish: {deny: \">\"}"), "{text}");
    }

    #[test]
    fn an_agent_may_send_its_readings_and_change_nothing() {
        let Permissions { publish, subscribe, .. } = Role::Agent(Some("s1".into())).permissions();
        let allowed = |subject: &&String| {
            subject.as_str() == WHO
                || ["_INBOX.>", "_COSMARK_AGENT.*.>"].contains(&subject.as_str())
                || **subject == agent("s1", "reading")
                || subject.starts_with("$JS.API.") && subject.contains(".GET.KV_cosmark_trust")
                || subject.as_str() == "$JS.API.STREAM.INFO.KV_cosmark_trust"
        };
        assert!(publish.iter().all(|subject| allowed(&subject)), "{publish:?}");
        assert_eq!(
            subscribe,
            ["_COSMARK_AGENT.s1.>", "cosmark.agents.who", "cosmark.agent.s1.look", "cosmark.agent.s1.fault"]
        );
    }

    /// Whether a subject may be one of both patterns.
    fn meet(one: &str, other: &str) -> bool {
        let (mut ones, mut others) = (one.split('.'), other.split('.'));
        loop {
            match (ones.next(), others.next()) {
                (Some(">"), Some(_)) | (Some(_), Some(">")) | (None, None) => return true,
                (Some(a), Some(b)) if a == b || a == "*" || b == "*" => {}
                _ => return false,
            }
        }
    }

    #[test]
    fn who_may_answer_anywhere_hears_nothing_that_it_may_publish() {
        assert!(meet("a.*.c", "a.b.>") && meet("a.b", "a.b") && !meet("a.b", "a.b.c") && !meet("a.>", "b.a"));
        let named = |name: &str| Some(name.to_owned());
        let some =
            [Role::Driver(None), Role::Driver(named("d1")), Role::Agent(None), Role::Agent(named("s1"))];
        for role in some.into_iter().chain([Role::Controller, Role::Observer]) {
            let Permissions { publish, subscribe, answers } = role.permissions();
            let own = publish.iter().find(|to| subscribe.iter().any(|heard| meet(to, heard)));
            assert!(
                !answers || own.is_none(),
                "{role:?} may ask itself by {own:?}, and answer to any subject"
            );
        }
    }

    #[test]
    fn a_login_is_drawn_once_and_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let role = Role::Driver(None);
        let key = login(directory.path(), &role).unwrap();
        assert_eq!(login(directory.path(), &role).unwrap(), key);
        assert_ne!(login(directory.path(), &Role::Controller).unwrap(), key);
        let file = seed_file(directory.path(), &role);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&file, "noise").unwrap();
        assert!(login(directory.path(), &role).unwrap_err().to_string().contains("no NKey seed"));
    }
}
