//! The request log: a bounded ring of records in memory, counters, and a CSV file written by another thread.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::behaviour::{LogOptions, Op};
use crate::http::answer::Outcome;
use crate::route::Protocol;
use crate::sharded::Sharded;

/// One request, as the server saw it. All times are nanoseconds since the server's epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Number of the connection, from 1 in the order of acceptance.
    pub connection: u64,
    /// The client's port, to find the connection in the client's own records.
    pub peer_port: u16,
    /// Number of the request on its connection, from 1.
    pub request: u32,
    /// Protocol.
    pub protocol: Protocol,
    /// Kind of request.
    pub op: Op,
    /// Bucket or container; empty if there is none.
    pub container: Arc<str>,
    /// Object; empty if there is none.
    pub object: Arc<str>,
    /// The last byte of the request's head was read.
    pub arrival_ns: u64,
    /// The last byte of the request was read. Delays and queues count from here.
    pub complete_ns: u64,
    /// The script wanted the answer to leave at this time.
    pub due_ns: u64,
    /// What the delay laws alone gave, ns.
    pub delay_ns: u64,
    /// Just before the write that carried the answer's headers; minus `due_ns` it is the server's own lag.
    pub headers_ns: u64,
    /// Just after the last write of the answer.
    pub end_ns: u64,
    /// Bytes of the request: head, body and framing.
    pub request_bytes: u64,
    /// Bytes of body content in the answer that were handed to the kernel.
    pub body_bytes: u64,
    /// Status; 0 if no answer was begun.
    pub status: u16,
    /// Version of the object that was written, read or deleted; 0 if none.
    pub version: u64,
    /// The last rule of the behaviour that harmed the request, such as `errors[0]`.
    pub rule: Option<Arc<str>>,
    /// How the answer ended.
    pub outcome: Outcome,
}

/// Columns of the CSV file, in the order of [`LogRecord`].
pub const CSV_HEADER: &str = "connection,peer_port,request,protocol,op,container,object,arrival_ns,complete_ns,due_ns,\
delay_ns,headers_ns,end_ns,request_bytes,body_bytes,status,version,rule,outcome";

/// RFC 4180, and an apostrophe before what a spreadsheet would take for a formula.
fn quote(text: &str) -> std::borrow::Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return format!("\"'{}\"", text.replace('"', "\"\"")).into();
    }
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

impl LogRecord {
    /// Writes the record as one line of CSV (RFC 4180).
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            self.connection,
            self.peer_port,
            self.request,
            self.protocol.name(),
            self.op,
            quote(&self.container),
            quote(&self.object),
            self.arrival_ns,
            self.complete_ns,
            self.due_ns,
            self.delay_ns,
            self.headers_ns,
            self.end_ns,
            self.request_bytes,
            self.body_bytes,
            self.status,
            self.version,
            self.rule.as_deref().unwrap_or_default(),
            self.outcome.name(),
        )
    }
}

/// Sums over everything the server did since its start, or since they were cleared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests by kind and status. Status 0: no answer was begun.
    pub requests: BTreeMap<(Op, u16), u64>,
    /// Answers by how they ended, by name.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Connections that were accepted.
    pub connections_accepted: u64,
    /// Connections that were closed at once because there were too many.
    pub connections_refused: u64,
    /// Connections that the script reset when they were accepted.
    pub connections_reset: u64,
    /// Connections that are open now.
    pub connections_open: u64,
    /// Requests that were no HTTP.
    pub bad_requests: u64,
    /// Different objects that requests named; 0 if that is not counted.
    pub distinct_keys: u64,
    /// Bytes of all requests.
    pub bytes_in: u64,
    /// Bytes of body content in all answers.
    pub body_bytes_out: u64,
    /// Objects that exist now.
    pub objects: u64,
    /// Memory that objects and uploads take now, bytes.
    pub stored_bytes: u64,
    /// How often each rule acted, since the behaviour was set.
    pub rules: Vec<(String, u64)>,
    /// Records that fell out of the ring in memory.
    pub log_dropped: u64,
    /// Records that the CSV file misses because the disk was too slow or failed.
    pub csv_dropped: u64,
    /// Why the CSV file could not be written.
    pub csv_error: Option<String>,
}

impl Counters {
    /// Requests of this kind with this status.
    pub fn of(&self, op: Op, status: u16) -> u64 {
        self.requests.get(&(op, status)).copied().unwrap_or(0)
    }

    /// All requests of this kind.
    pub fn of_op(&self, op: Op) -> u64 {
        self.requests.iter().filter(|((o, _), _)| *o == op).map(|(_, count)| count).sum()
    }

    /// All requests.
    pub fn total(&self) -> u64 {
        self.requests.values().sum()
    }

    /// How often the rule of this label (`errors[0]`, `stall`, ...) acted.
    pub fn rule(&self, label: &str) -> u64 {
        self.rules.iter().find(|(name, _)| name == label).map_or(0, |(_, count)| *count)
    }
}

/// Records that are handed over together.
type Chunk = Arc<Vec<LogRecord>>;

/// Largest chunk.
const CHUNK: usize = 4096;
/// Chunks on their way to the CSV file: about a million records before any is lost.
const BACKLOG: usize = 256;
/// Statuses 0..=599 of each kind.
const STATUSES: usize = 600;

/// Shares of the log that a reader gets without stopping the server.
pub(crate) struct Snapshot {
    chunks: Vec<Chunk>,
    max_records: usize,
}

impl Snapshot {
    pub(crate) fn into_records(self) -> Vec<LogRecord> {
        let total: usize = self.chunks.iter().map(|chunk| chunk.len()).sum();
        let skip = total.saturating_sub(self.max_records);
        self.chunks.iter().flat_map(|chunk| chunk.iter()).skip(skip).cloned().collect()
    }
}

struct Csv {
    /// Chunks, and how many of their records were handed over already.
    to: SyncSender<(Chunk, usize)>,
    thread: JoinHandle<()>,
    error: Arc<Mutex<Option<String>>>,
    /// Records of the current chunk that were handed over already.
    handed: usize,
    dropped: u64,
}

impl Csv {
    fn hand_over(&mut self, chunk: Chunk, from: usize, wait: bool) {
        let count = (chunk.len() - from) as u64;
        let lost = if wait {
            self.to.send((chunk, from)).is_err()
        } else {
            self.to.try_send((chunk, from)).is_err()
        };
        if lost {
            self.dropped += count;
        }
    }
}

/// The log of one server.
pub(crate) struct Log {
    max_records: usize,
    chunk: usize,
    full: VecDeque<Chunk>,
    current: Vec<LogRecord>,
    dropped: u64,
    counts: Vec<u64>,
    outcomes: [u64; 4],
    distinct: Option<(RandomState, Sharded<u64, ()>)>,
    /// The counters that are not derived from requests.
    pub(crate) sums: Counters,
    csv: Option<Csv>,
}

impl Log {
    /// Makes the log; fails if the CSV file cannot be made.
    pub(crate) fn new(options: &LogOptions) -> io::Result<Log> {
        Ok(Log {
            max_records: options.max_records,
            chunk: options.max_records.clamp(1, CHUNK),
            full: VecDeque::new(),
            current: Vec::new(),
            dropped: 0,
            counts: vec![0; Op::ALL.len() * STATUSES],
            outcomes: [0; 4],
            distinct: options.distinct_keys.then(|| (RandomState::new(), Sharded::new())),
            sums: Counters::default(),
            csv: options.csv.as_deref().map(start_csv).transpose()?,
        })
    }

    /// Whether records are wanted at all.
    pub(crate) fn keeps_records(&self) -> bool {
        self.max_records > 0 || self.csv.is_some()
    }

    /// Counts a request.
    pub(crate) fn count(&mut self, op: Op, status: u16, outcome: Outcome, bytes_in: u64, body_out: u64) {
        self.counts[op as usize * STATUSES + usize::from(status).min(STATUSES - 1)] += 1;
        self.outcomes[outcome as usize] += 1;
        self.sums.bytes_in += bytes_in;
        self.sums.body_bytes_out += body_out;
    }

    /// Counts the name of an object.
    pub(crate) fn name(&mut self, container: &str, object: &str) {
        if let Some((hash, seen)) = &mut self.distinct
            && !object.is_empty()
        {
            seen.insert(hash.hash_one((container, object)), ());
        }
    }

    /// Adds a record.
    pub(crate) fn record(&mut self, record: LogRecord) {
        self.current.push(record);
        if self.current.len() < self.chunk {
            return;
        }
        let chunk = Arc::new(std::mem::replace(&mut self.current, Vec::with_capacity(self.chunk)));
        if let Some(csv) = &mut self.csv {
            let handed = std::mem::take(&mut csv.handed);
            csv.hand_over(chunk.clone(), handed, false);
        }
        self.full.push_back(chunk);
        // The ring always holds the newest `max_records`, and up to one chunk more.
        while self.full.iter().skip(1).map(|chunk| chunk.len()).sum::<usize>() >= self.max_records {
            let Some(oldest) = self.full.pop_front() else { break };
            self.dropped += oldest.len() as u64;
        }
    }

    /// Hands new records to the CSV file's thread; waits for it only if asked to.
    pub(crate) fn hand_over(&mut self, wait: bool) {
        let Some(csv) = &mut self.csv else { return };
        let new = &self.current[csv.handed..];
        if !new.is_empty() {
            csv.handed = self.current.len();
            csv.hand_over(Arc::new(new.to_vec()), 0, wait);
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut chunks: Vec<Chunk> = self.full.iter().cloned().collect();
        chunks.push(Arc::new(self.current.clone()));
        Snapshot { chunks, max_records: self.max_records }
    }

    /// The counters; those of the store and the script are added by the server.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = self.sums.clone();
        for (index, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            counters.requests.insert((Op::ALL[index / STATUSES], (index % STATUSES) as u16), *count);
        }
        let outcomes = [Outcome::Done, Outcome::Cut, Outcome::Reset, Outcome::Gone];
        for (outcome, count) in
            outcomes.iter().map(|o| (o, self.outcomes[*o as usize])).filter(|(_, count)| *count > 0)
        {
            counters.outcomes.insert(outcome.name(), count);
        }
        counters.distinct_keys = self.distinct.as_ref().map_or(0, |(_, seen)| seen.len() as u64);
        counters.log_dropped = self.dropped;
        if let Some(csv) = &self.csv {
            counters.csv_dropped = csv.dropped;
            counters.csv_error = csv.error.lock().map(|error| error.clone()).unwrap_or_default();
        }
        counters
    }

    /// Forgets records and counters. The CSV file keeps what it has.
    pub(crate) fn clear(&mut self) {
        self.hand_over(false);
        if let Some(csv) = &mut self.csv {
            csv.handed = 0;
        }
        self.full.clear();
        self.current.clear();
        self.dropped = 0;
        self.counts.fill(0);
        self.outcomes = [0; 4];
        self.sums = Counters { connections_open: self.sums.connections_open, ..Counters::default() };
        if let Some((_, seen)) = &mut self.distinct {
            seen.clear();
        }
    }

    /// Completes the CSV file.
    pub(crate) fn finish(&mut self) {
        self.hand_over(true);
        if let Some(csv) = self.csv.take() {
            drop(csv.to);
            // A panic of the writer has no consequence but a short file.
            let _ended = csv.thread.join();
        }
    }
}

fn start_csv(path: &Path) -> io::Result<Csv> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(out, "{CSV_HEADER}")?;
    let (to, from) = sync_channel(BACKLOG);
    let error = Arc::new(Mutex::new(None));
    let report = error.clone();
    let thread = std::thread::Builder::new().name("simstore-csv".to_owned()).spawn(move || {
        if let Err(error) = write_chunks(&mut out, &from)
            && let Ok(mut report) = report.lock()
        {
            *report = Some(error.to_string());
        }
    })?;
    Ok(Csv { to, thread, error, handed: 0, dropped: 0 })
}

fn write_chunks(out: &mut BufWriter<File>, from: &Receiver<(Chunk, usize)>) -> io::Result<()> {
    while let Ok((chunk, handed)) = from.recv() {
        for record in chunk.iter().skip(handed) {
            record.write_csv(out)?;
        }
        out.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(request: u32) -> LogRecord {
        LogRecord {
            connection: 1,
            peer_port: 2,
            request,
            protocol: Protocol::S3,
            op: Op::Get,
            container: "b".into(),
            object: "a,\"b\"".into(),
            arrival_ns: 1,
            complete_ns: 2,
            due_ns: 3,
            delay_ns: 0,
            headers_ns: 4,
            end_ns: 5,
            request_bytes: 6,
            body_bytes: 7,
            status: 200,
            version: 8,
            rule: Some("errors[0]".into()),
            outcome: Outcome::Done,
        }
    }

    #[test]
    fn the_ring_keeps_the_newest_records_and_counts_the_rest() {
        for (max, total) in [(10, 25), (1, 3), (5000, 20_000)] {
            let options = LogOptions { max_records: max, csv: None, distinct_keys: false };
            let mut log = Log::new(&options).unwrap();
            (1..=total).for_each(|n| log.record(record(n)));
            let kept: Vec<u32> = log.snapshot().into_records().iter().map(|r| r.request).collect();
            let expected: Vec<u32> = (total - max as u32 + 1..=total).collect();
            assert_eq!(kept, expected);
            let held = log.full.iter().map(|c| c.len()).sum::<usize>() + log.current.len();
            assert_eq!(log.counters().log_dropped, u64::from(total) - held as u64);
            assert!(held <= max + 2 * log.chunk, "{held} of {max}");
        }
    }

    #[test]
    fn the_csv_file_has_every_record_once_and_quotes_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.csv");
        let options = LogOptions { max_records: 3, csv: Some(path.clone()), distinct_keys: true };
        let mut log = Log::new(&options).unwrap();
        for n in 1..=10 {
            log.record(record(n));
            if n % 4 == 0 {
                log.hand_over(true);
            }
        }
        log.finish();
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[0].split(',').count(), 19);
        assert_eq!(lines[1], "1,2,1,s3,get,b,\"a,\"\"b\"\"\",1,2,3,0,4,5,6,7,200,8,errors[0],done");
        assert!(lines[10].starts_with("1,2,10,"));
    }

    #[test]
    fn counters_sum_by_kind_and_status_and_can_be_cleared() {
        let mut log = Log::new(&LogOptions::default()).unwrap();
        log.count(Op::Get, 200, Outcome::Done, 100, 4096);
        log.count(Op::Get, 503, Outcome::Done, 100, 0);
        log.count(Op::Put, 0, Outcome::Gone, 10, 0);
        ["a", "b", "a"].iter().for_each(|name| log.name("c", name));
        let counters = log.counters();
        assert_eq!((counters.of(Op::Get, 200), counters.of_op(Op::Get), counters.total()), (1, 2, 3));
        assert_eq!((counters.distinct_keys, counters.bytes_in, counters.body_bytes_out), (2, 210, 4096));
        assert_eq!(counters.outcomes, BTreeMap::from([("done", 2), ("gone", 1)]));
        log.clear();
        assert_eq!(log.counters(), Counters::default());
    }
}
