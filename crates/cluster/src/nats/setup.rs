//! Joining: a connection with the stream and the buckets of [`crate::nats::names`] behind it. Existing ones are not
//! changed.

use std::time::Duration;

use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};

use crate::nats::connect::{Bus, NatsOptions};
use crate::nats::error::BusError;
use crate::nats::names::{
    AGENT_INBOX, ALL_RUNS, BUCKETS, DRIVER_INBOX, DUPLICATE_WINDOW, ForDrivers, RUN_MAX_AGE, RUNS,
};

/// How much Cosmark may keep in NATS.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of all runs that are not archived yet. Beyond it new messages are refused: drivers keep them.
    pub run_bytes: u64,
    /// Copies of everything, in a cluster of NATS servers.
    pub replicas: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { run_bytes: 4 << 30, replicas: 1 }
    }
}

/// A bucket that is not the stream of runs is small.
const BUCKET_BYTES: i64 = 64 << 20;
/// With less than this there is no room for runs.
const LEAST_RUN_BYTES: u64 = 64 << 20;
/// Attempts while a cluster chooses its leaders.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);
/// So long all of them may take: a NATS that answers nothing takes seconds for each of many questions.
const DEADLINE: Duration = Duration::from_secs(30);
/// So long a wait for NATS is nothing to speak of.
const SILENCE: Duration = Duration::from_secs(5);
/// What NATS says where JetStream is switched off for an account.
const NOT_ENABLED: &str = "not enabled";
/// What its client says where nobody hears questions to JetStream.
const NOBODY: &str = "jetstream unavailable";
/// So often nobody hears them before it is believed: a server that has just come up may not know its cluster yet.
const DEAF: u32 = 8;
const UNANSWERED: &str = "it does not answer";
const START: &str = "start it with JetStream (`nats-server -js`, or `jetstream {}` in its configuration)";

/// Waits for what NATS is asked for, and says once that it is waited for if that takes longer than a moment.
pub async fn patiently<T>(asked: impl Future<Output = T>, say: impl FnOnce()) -> T {
    let mut asked = std::pin::pin!(asked);
    if let Ok(answer) = tokio::time::timeout(SILENCE, asked.as_mut()).await {
        return answer;
    }
    say();
    asked.await
}

impl Bus {
    /// Connects, and makes the streams and buckets that are not there. `name` is what the server's operator sees.
    ///
    /// # Errors
    /// [`BusError`] when NATS cannot be reached now. Later it may come and go.
    pub async fn connect(options: &NatsOptions, name: &str, limits: Limits) -> Result<Self, BusError> {
        let bus = Self::dial(options, options.connect_options(name)?, false).await?;
        ensure(&bus, limits).await?;
        Ok(bus)
    }

    /// Connects as a driver of this name, whose login may do little ([`crate::nats::roles`]).
    ///
    /// # Errors
    /// [`BusError`] when NATS cannot be reached now, or this login is not a driver's.
    pub async fn join(options: &NatsOptions, driver: &str) -> Result<Self, BusError> {
        let connecting = options
            .connect_options(&format!("driver {driver}"))?
            .custom_inbox_prefix(format!("{DRIVER_INBOX}.{driver}"));
        let bus = Self::dial(options, connecting, true).await?;
        ensure_for_driver(&bus).await?;
        Ok(bus)
    }

    /// Connects as an agent of this name on one of the store's machines, whose login may do even less.
    ///
    /// # Errors
    /// [`BusError`] when NATS cannot be reached now.
    pub async fn join_as_agent(options: &NatsOptions, agent: &str) -> Result<Self, BusError> {
        let connecting = options
            .connect_options(&format!("agent {agent}"))?
            .custom_inbox_prefix(format!("{AGENT_INBOX}.{agent}"));
        Self::dial(options, connecting, true).await
    }

    /// Makes what is not there, as far as this connection may.
    pub(crate) async fn ensure(&self) -> Result<(), BusError> {
        if self.is_driver {
            return ensure_for_driver(self).await;
        }
        ensure(self, Limits::default()).await
    }
}

pub(crate) async fn ensure(bus: &Bus, limits: Limits) -> Result<(), BusError> {
    ensure_within(bus, limits, DEADLINE).await
}

async fn ensure_within(bus: &Bus, limits: Limits, deadline: Duration) -> Result<(), BusError> {
    let mut last = UNANSWERED.to_owned();
    let made = tokio::time::timeout(deadline, make_all(bus, limits, &mut last)).await;
    if made.unwrap_or_default() {
        return Ok(());
    }
    if let Some(denied) = bus.denied() {
        return Err(bus.problem(format!(
            "this login may not do what a controller does ({denied}); use the login of a controller"
        )));
    }
    if last.contains("insufficient") {
        return Err(bus.problem(format!(
            "the streams cannot be made: {last}; give its JetStream more room (max_file_store), or delete streams that nobody needs"
        )));
    }
    let why = if has_no_jetstream(&last) { format!("JetStream is not enabled there ({last})") } else { last };
    Err(bus.problem(format!("the streams cannot be made: {why}; {START}, and let this account use it")))
}

fn has_no_jetstream(cause: &str) -> bool {
    cause.contains(NOT_ENABLED) || cause.contains(NOBODY)
}

/// Tries until all is there. False: it never will be, or not soon; `last` is why.
async fn make_all(bus: &Bus, limits: Limits, last: &mut String) -> bool {
    for attempt in 1..=ATTEMPTS {
        if attempt > 1 {
            tokio::time::sleep(PAUSE).await;
        }
        match try_all(bus, limits).await {
            Ok(()) => return true,
            Err(cause) => *last = cause,
        }
        let is_plain = last.contains("insufficient") || last.contains(NOT_ENABLED);
        if is_plain || (attempt >= DEAF && last.contains(NOBODY)) || bus.denied().is_some() {
            return false;
        }
    }
    false
}

/// What a driver needs, which it makes itself where its login may; elsewhere a controller does.
pub(crate) async fn ensure_for_driver(bus: &Bus) -> Result<(), BusError> {
    ensure_for_driver_within(bus, DEADLINE).await
}

async fn ensure_for_driver_within(bus: &Bus, deadline: Duration) -> Result<(), BusError> {
    let mut last = UNANSWERED.to_owned();
    let found = tokio::time::timeout(deadline, find_or_make(bus, &mut last)).await;
    if found.unwrap_or_default() {
        return Ok(());
    }
    let cause = bus.denied().unwrap_or(last);
    let enabled = if has_no_jetstream(&cause) { START } else { "start the controller first" };
    Err(bus.problem(format!(
        "the streams cannot be used: {cause}; {enabled}, and let this login have the role of a driver with the name that it has"
    )))
}

/// Whether what a driver needs is there, or comes; `last` is why not.
async fn find_or_make(bus: &Bus, last: &mut String) -> bool {
    if has_what_drivers_need(bus).await {
        return true;
    }
    // What is refused already will be refused again.
    if bus.denied().is_some() {
        return false;
    }
    *last = match try_all(bus, Limits::default()).await {
        Ok(()) => "they are not there".to_owned(),
        Err(cause) => cause,
    };
    let attempts = if has_no_jetstream(last) { DEAF } else { ATTEMPTS };
    for _ in 0..attempts {
        if has_what_drivers_need(bus).await {
            return true;
        }
        tokio::time::sleep(PAUSE).await;
    }
    false
}

async fn has_what_drivers_need(bus: &Bus) -> bool {
    for row in BUCKETS.iter().filter(|row| row.for_drivers != ForDrivers::Nothing) {
        if bus.jetstream().get_key_value(row.name).await.is_err() {
            return false;
        }
    }
    bus.jetstream().get_stream(RUNS).await.is_ok()
}

async fn try_all(bus: &Bus, limits: Limits) -> Result<(), String> {
    let jetstream = bus.jetstream();
    for row in BUCKETS {
        if jetstream.get_key_value(row.name).await.is_ok() {
            continue;
        }
        // A bucket is a stream (NATS ADR-8). The client's own call asks servers for what those before 2.10 do not tell.
        let config = Config {
            name: format!("KV_{}", row.name),
            subjects: vec![format!("$KV.{}.>", row.name)],
            description: Some(format!("Cosmark: {}", row.holds)),
            max_messages_per_subject: 1,
            max_age: row.max_age.unwrap_or_default(),
            max_bytes: BUCKET_BYTES,
            storage: StorageType::File,
            num_replicas: limits.replicas,
            discard: DiscardPolicy::New,
            // A value that takes all others away is nothing that whoever may write one key should be able to write.
            allow_rollup: row.for_drivers == ForDrivers::Nothing,
            deny_delete: true,
            allow_direct: true,
            ..Config::default()
        };
        if let Err(cause) = jetstream.create_stream(config).await {
            // Somebody else may have made it meanwhile.
            if jetstream.get_key_value(row.name).await.is_err() {
                return Err(format!("{}: {cause}", row.name));
            }
        }
    }
    if jetstream.get_stream(RUNS).await.is_err() {
        make_runs(bus, limits).await?;
    }
    Ok(())
}

/// The stream of runs, as large as was asked for or as a server with less room has room for: JetStream sets aside what a
/// stream may grow to.
async fn make_runs(bus: &Bus, limits: Limits) -> Result<(), String> {
    let mut run_bytes = limits.run_bytes;
    loop {
        let config = Config {
            name: RUNS.to_owned(),
            subjects: vec![ALL_RUNS.to_owned()],
            max_bytes: i64::try_from(run_bytes).unwrap_or(i64::MAX),
            max_age: RUN_MAX_AGE,
            discard: DiscardPolicy::New,
            duplicate_window: DUPLICATE_WINDOW,
            num_replicas: limits.replicas,
            allow_direct: true,
            description: Some("Cosmark: everything that is said about runs".to_owned()),
            ..Config::default()
        };
        let Err(cause) = bus.jetstream().get_or_create_stream(config).await else { return Ok(()) };
        let text = cause.to_string();
        if !text.contains("insufficient") || run_bytes / 2 < LEAST_RUN_BYTES {
            return Err(text);
        }
        run_bytes /= 2;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Speaks as NATS does until its client leaves: `answer` is what comes to the inbox of each request. Counts those
    /// that would make a stream.
    fn speak(stream: TcpStream, answer: fn(&str) -> String, made: &AtomicUsize) -> std::io::Result<()> {
        let mut out = stream.try_clone()?;
        out.write_all(
            b"INFO {\"server_id\":\"S\",\"version\":\"2.9.0\",\"headers\":true,\"max_payload\":1048576}\r\n",
        )?;
        let mut subscription = String::new();
        for line in BufReader::new(stream).lines() {
            let line = line?;
            let words: Vec<&str> = line.split_whitespace().collect();
            match *words.as_slice() {
                ["PING"] => out.write_all(b"PONG\r\n")?,
                ["SUB", _, id] => id.clone_into(&mut subscription),
                ["PUB", subject, inbox, _] => {
                    made.fetch_add(usize::from(subject.contains("STREAM.CREATE")), Ordering::Relaxed);
                    out.write_all(answer(&format!("{inbox} {subscription}")).as_bytes())?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A connection to a server that answers so, and how often it was asked to make a stream.
    async fn beside(answer: fn(&str) -> String) -> (Bus, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        std::thread::spawn(move || speak(listener.accept().unwrap().0, answer, &count));
        let options = NatsOptions { url, ..NatsOptions::default() };
        let bus = Bus::dial(&options, options.connect_options("test").unwrap(), false).await.unwrap();
        (bus, made)
    }

    fn nobody_hears(inbox: &str) -> String {
        format!("HMSG {inbox} 16 16\r\nNATS/1.0 503\r\n\r\n\r\n")
    }

    fn is_switched_off(inbox: &str) -> String {
        let json = "{\"type\":\"x\",\"error\":{\"code\":503,\"err_code\":10039,\
                    \"description\":\"JetStream not enabled for account\"}}";
        format!("MSG {inbox} {}\r\n{json}\r\n", json.len())
    }

    #[tokio::test]
    async fn a_nats_without_jetstream_is_named_with_the_remedy_and_not_asked_for_ever() {
        let kinds = [(nobody_hears as fn(&str) -> String, 8), (is_switched_off, 1)];
        for (answer, most) in kinds {
            let (bus, made) = beside(answer).await;
            let said = ensure(&bus, Limits::default()).await.unwrap_err().to_string();
            assert!(said.contains("JetStream is not enabled there"), "{said}");
            assert!(said.contains("`nats-server -js`, or `jetstream {}`"), "{said}");
            assert_eq!(made.load(Ordering::Relaxed), most, "{said}");
            let said = ensure_for_driver(&bus).await.unwrap_err().to_string();
            assert!(said.contains("`nats-server -js`, or `jetstream {}`"), "{said}");
        }
    }

    #[tokio::test]
    async fn a_nats_that_answers_nothing_has_one_deadline_for_everything() {
        let (bus, _) = beside(|_| String::new()).await;
        // Over before the first question is given up.
        let deadline = Duration::from_millis(50);
        let said = ensure_within(&bus, Limits::default(), deadline).await.unwrap_err().to_string();
        assert!(said.contains(UNANSWERED) && said.contains("nats-server -js"), "{said}");
        let said = ensure_for_driver_within(&bus, deadline).await.unwrap_err().to_string();
        assert!(said.contains(UNANSWERED) && said.contains("start the controller first"), "{said}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_wait_for_nats_is_spoken_of_once_and_a_short_one_is_not() {
        for (takes, words) in [(SILENCE / 2, 0), (SILENCE * 4, 1)] {
            let mut said = 0;
            let asked = async {
                tokio::time::sleep(takes).await;
                "here"
            };
            let answer = patiently(asked, || said += 1).await;
            assert_eq!((answer, said), ("here", words));
        }
    }
}
