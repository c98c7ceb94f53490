//! A bounded line of events that any number of clients read, each at its own pace. What is old goes; a client that fell
//! behind that is cut, never waited for. A client that comes again says which event it saw last and goes on from there.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

/// An event as it is sent.
#[derive(Debug, Clone)]
pub struct Line {
    /// Counts from 1.
    pub number: u64,
    /// Name of the event.
    pub name: &'static str,
    /// JSON.
    pub data: Arc<str>,
}

/// What a client is to be sent next.
#[derive(Debug)]
pub struct Batch {
    /// In order.
    pub lines: Vec<Line>,
    /// Events between the last one it saw and the first of these are gone.
    pub gap: bool,
    /// Nothing will come after these.
    pub over: bool,
}

/// Events of one thing.
pub struct Feed {
    buffer: Mutex<Buffer>,
    news: watch::Sender<u64>,
    most_bytes: usize,
}

#[derive(Default)]
struct Buffer {
    lines: VecDeque<Line>,
    last: u64,
    bytes: usize,
    closed: bool,
}

/// Most events that one look takes.
const BATCH: usize = 256;

impl Feed {
    /// Empty; keeps about `most_bytes` of the latest events.
    #[must_use]
    pub fn new(most_bytes: usize) -> Self {
        Self { buffer: Mutex::default(), news: watch::Sender::new(0), most_bytes }
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        // Events stay whole whatever happened to who held them.
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event: `event` is an enum with `event` and `data`, as the types of the interface are.
    pub fn push(&self, name: &'static str, data: &impl Serialize) {
        // The types of the interface are maps, lists, numbers and texts: all can be written.
        let Ok(text) = serde_json::to_string(data) else { return };
        let last = {
            let mut buffer = self.buffer();
            if buffer.closed {
                return;
            }
            buffer.last += 1;
            buffer.bytes += text.len();
            let number = buffer.last;
            buffer.lines.push_back(Line { number, name, data: text.into() });
            while buffer.bytes > self.most_bytes && buffer.lines.len() > 1 {
                let gone = buffer.lines.pop_front().map_or(0, |line| line.data.len());
                buffer.bytes -= gone;
            }
            buffer.last
        };
        self.news.send_replace(last);
    }

    /// Nothing will come any more.
    pub fn close(&self) {
        self.buffer().closed = true;
        self.news.send_modify(|_| {});
    }

    /// Number of the last event.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.buffer().last
    }

    /// Tells when something has come.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// What comes after the event `seen`.
    #[must_use]
    pub fn after(&self, seen: u64) -> Batch {
        let buffer = self.buffer();
        let first = buffer.lines.front().map_or(buffer.last + 1, |line| line.number);
        let gap = seen + 1 < first;
        let skip = usize::try_from((seen + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        let lines: Vec<Line> = buffer.lines.iter().skip(skip).take(BATCH).cloned().collect();
        let at_end = lines.last().map_or(seen, |line| line.number) >= buffer.last;
        Batch { lines, gap, over: buffer.closed && at_end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_go_on_from_what_they_saw_and_a_gap_is_told() {
        let feed = Feed::new(40);
        (0..30).for_each(|n| feed.push("n", &n));
        let all = feed.after(0);
        assert!(all.gap && all.lines.len() < 30, "the oldest are gone: {all:?}");
        assert_eq!(all.lines.last().unwrap().number, 30);
        let rest = feed.after(28);
        assert_eq!(rest.lines.iter().map(|line| &*line.data).collect::<Vec<_>>(), ["28", "29"]);
        assert!(!rest.gap && !rest.over);
        assert!(feed.after(30).lines.is_empty() && !feed.after(30).gap);
        feed.close();
        feed.push("n", &31);
        assert!(feed.after(30).over && feed.after(29).over && feed.after(29).lines.len() == 1);
    }

    #[test]
    fn a_long_history_comes_in_parts_and_is_not_over_before_the_last() {
        let feed = Feed::new(1 << 20);
        (0..600).for_each(|n| feed.push("n", &n));
        feed.close();
        let first = feed.after(0);
        assert!(first.lines.len() == BATCH && !first.over && !first.gap);
        assert!(feed.after(512).over);
    }
}
