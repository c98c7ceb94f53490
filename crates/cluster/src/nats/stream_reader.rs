//! Reads a part of the stream of runs in its order, from any position, for ever: whatever happens to the connection,
//! the next message is the one after the last.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use futures_util::StreamExt;
use thiserror::Error;

use crate::nats::connect::Bus;
use crate::nats::names::{MESSAGE_ID, RUNS, SIGNATURE, STEP, VERSION};
use crate::nats::seal::Key;
use crate::nats::sign::is_event_of;

const PAUSE: Duration = Duration::from_millis(300);
const HEARTBEAT: Duration = Duration::from_secs(2);
const EXPIRES: Duration = Duration::from_secs(20);
/// A consumer that nobody reads is dropped by the server.
const ABANDONED: Duration = Duration::from_secs(60);
const BATCH: usize = 256;

/// The stream is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "NATS lost its data: message {wanted} was still to come, and its stream of today ends at {last}; start the run again"
)]
pub struct StreamError {
    /// Number of the next message.
    pub wanted: u64,
    /// Number of the last one that there is.
    pub last: u64,
}

/// The stream of runs, as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamNow {
    /// Number of its last message.
    pub last: u64,
    /// When it was made, ns since 1970: tells it from one of the same name that was there before.
    pub made_ns: i64,
}

/// A message of the stream.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its subject.
    pub subject: String,
    /// Its number in the stream.
    pub sequence: u64,
    /// Its number among what its consumer has sent.
    number: u64,
    /// When the server got it, ns since 1970.
    pub unix_ns: i64,
    /// What it says.
    pub payload: Vec<u8>,
    headers: HeaderMap,
}

impl Message {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(async_nats::HeaderValue::as_str)
    }

    /// Version of its contents; 0 when it says none.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.header(VERSION).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// The step that an order is about.
    #[must_use]
    pub fn step(&self) -> Option<u32> {
        self.header(STEP)?.parse().ok()
    }

    /// True when the holder of this key has signed it.
    #[must_use]
    pub fn is_by(&self, key: &str) -> bool {
        let signature = self.header(SIGNATURE).unwrap_or_default();
        is_event_of(key, &self.subject, &self.payload, signature)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.header(MESSAGE_ID).unwrap_or_default()
    }
}

/// A place in the stream.
pub struct StreamReader {
    bus: Bus,
    filter: String,
    next: u64,
    /// When the stream was made in which `next` counts; `None` until it was seen.
    stream: Option<i64>,
    source: Option<pull::Stream>,
    /// How many messages came from it.
    had: u64,
}

impl std::fmt::Debug for StreamReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamReader")
            .field("filter", &self.filter)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl Bus {
    /// Number of the last message of the stream of runs.
    ///
    /// # Errors
    /// When NATS does not answer.
    pub async fn last_sequence(&self) -> Result<u64, String> {
        Ok(self.stream_now().await?.last)
    }

    /// The stream of runs.
    ///
    /// # Errors
    /// When NATS does not answer.
    pub async fn stream_now(&self) -> Result<StreamNow, String> {
        let stream =
            self.jetstream().get_stream(RUNS).await.map_err(|cause| format!("stream {RUNS}: {cause}"))?;
        Ok(now_of(stream.cached_info()))
    }

    /// The same, however long NATS is away.
    pub async fn stream_at_last(&self) -> StreamNow {
        loop {
            match self.stream_now().await {
                Ok(now) => return now,
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Reads what matches `filter`, from message number `next` on (1 = from the first).
    #[must_use]
    pub fn reader(&self, filter: &str, next: u64) -> StreamReader {
        StreamReader {
            bus: self.clone(),
            filter: filter.to_owned(),
            next: next.max(1),
            stream: None,
            source: None,
            had: 0,
        }
    }

    /// The same in the stream that was made at this moment (ns since 1970) and in no other.
    #[must_use]
    pub fn reader_in(&self, filter: &str, next: u64, stream: i64) -> StreamReader {
        StreamReader { stream: Some(stream), ..self.reader(filter, next) }
    }

    /// Reads what matches `filter` now, up to message number `last`.
    ///
    /// # Errors
    /// When NATS does not answer.
    pub async fn history(&self, filter: &str, last: u64) -> Result<Vec<Message>, String> {
        let stream =
            self.jetstream().get_stream(RUNS).await.map_err(|cause| format!("stream {RUNS}: {cause}"))?;
        let config = config(filter, 1);
        let consumer = stream.create_consumer(config).await.map_err(|cause| cause.to_string())?;
        let mut waiting = consumer.cached_info().num_pending;
        let mut messages = Vec::new();
        while waiting > 0 {
            let fetch = consumer.fetch().max_messages(BATCH).expires(EXPIRES);
            let mut batch = fetch.messages().await.map_err(|cause| cause.to_string())?;
            let before = waiting;
            while let Some(message) = batch.next().await {
                let message = message.map_err(|cause| cause.to_string())?;
                waiting = waiting.saturating_sub(1);
                match read(&message) {
                    Some(message) if message.sequence <= last => messages.push(message),
                    _ => waiting = 0,
                }
            }
            if waiting == before {
                return Err("NATS stopped answering in the middle of a run's history".to_owned());
            }
        }
        Ok(messages)
    }

    /// Forgets everything of a run.
    ///
    /// # Errors
    /// When NATS does not answer.
    pub async fn purge_run(&self, run: &str) -> Result<(), String> {
        let stream = self.jetstream().get_stream(RUNS).await.map_err(|cause| cause.to_string())?;
        let purge = stream.purge().filter(crate::nats::names::all_of(run));
        purge.await.map(drop).map_err(|cause| cause.to_string())
    }
}

fn now_of(info: &async_nats::jetstream::stream::Info) -> StreamNow {
    let made_ns = i64::try_from(info.created.unix_timestamp_nanos()).unwrap_or(0);
    StreamNow { last: info.state.last_sequence, made_ns }
}

fn config(filter: &str, next: u64) -> pull::Config {
    pull::Config {
        // With a name, which nobody guesses, the filter stands in the subject of the question: a server can allow one filter and
        // refuse another.
        name: Some(Key::generate().public().iter().take(12).map(|byte| format!("{byte:02x}")).collect()),
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: next },
        ack_policy: AckPolicy::None,
        filter_subject: filter.to_owned(),
        inactive_threshold: ABANDONED,
        memory_storage: true,
        num_replicas: 1,
        ..pull::Config::default()
    }
}

fn read(message: &async_nats::jetstream::Message) -> Option<Message> {
    let info = message.info().ok()?;
    Some(Message {
        subject: message.subject.to_string(),
        sequence: info.stream_sequence,
        number: info.consumer_sequence,
        unix_ns: i64::try_from(info.published.unix_timestamp_nanos()).unwrap_or(0),
        payload: message.payload.to_vec(),
        headers: message.headers.clone().unwrap_or_default(),
    })
}

impl StreamReader {
    /// The next message, whenever it comes. May be dropped and called again.
    ///
    /// # Errors
    /// [`StreamError`] when it can never come.
    pub async fn next(&mut self) -> Result<Message, StreamError> {
        loop {
            let Some(source) = &mut self.source else {
                self.open().await?;
                continue;
            };
            // The heartbeat makes a dead consumer an error; this is for a client that is stuck itself.
            let next = tokio::time::timeout(3 * HEARTBEAT, source.next()).await;
            let message = match next {
                Ok(Some(Ok(message))) => message,
                Err(_) if self.bus.is_connected() => continue,
                _ => {
                    self.source = None;
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let Some(message) = read(&message) else {
                // Sent all the same.
                self.had += 1;
                continue;
            };
            if message.number != self.had + 1 {
                // What was on its way when a connection broke does not come again from this consumer: another begins with it.
                self.source = None;
                continue;
            }
            self.had = message.number;
            if message.sequence >= self.next {
                self.next = message.sequence + 1;
                return Ok(message);
            }
        }
    }

    /// Number of the message from which it goes on.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.next
    }

    async fn open(&mut self) -> Result<(), StreamError> {
        if let Ok(source) = self.try_open().await? {
            (self.source, self.had) = (Some(source), 0);
        } else {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn try_open(&mut self) -> Result<Result<pull::Stream, String>, StreamError> {
        let stream = match self.bus.jetstream().get_stream(RUNS).await {
            Ok(stream) => stream,
            Err(cause) => return Ok(Err(cause.to_string())),
        };
        let StreamNow { last, made_ns } = now_of(stream.cached_info());
        if self.next > last + 1 || *self.stream.get_or_insert(made_ns) != made_ns {
            return Err(StreamError { wanted: self.next, last });
        }
        let consumer = match stream.create_consumer(config(&self.filter, self.next)).await {
            Ok(consumer) => consumer,
            Err(cause) => return Ok(Err(cause.to_string())),
        };
        let reading = consumer.stream().max_messages_per_batch(BATCH).expires(EXPIRES).heartbeat(HEARTBEAT);
        Ok(reading.messages().await.map_err(|cause| cause.to_string()))
    }
}
