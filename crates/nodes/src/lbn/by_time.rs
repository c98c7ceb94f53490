//! Traces whose lines are not quite in the order of their times: each processor writes down its own, and whoever puts
//! them together takes what is there. What lies further apart is another trace, or one processor's behind that of
//! another.

use std::collections::BTreeMap;

use super::{MOST_DISKS, Trace, issued};

/// A trace that is read to its end before anything is said of it.
#[derive(Debug, Default)]
pub struct ByTime {
    trace: Trace,
    waiting: Vec<Waiting>,
    disks: BTreeMap<String, usize>,
    names: Vec<String>,
    newest_s: Option<f64>,
    steps_back: u64,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    at_s: f64,
    disk: usize,
    start: u64,
    blocks: u64,
}

/// Lines that are put into order are no further apart.
const WITHIN_S: f64 = 1.0;
/// So many are sorted at a time, and no more wait.
const SORTED: usize = 1 << 16;
const MOST_WAITING: usize = 1 << 20;

impl ByTime {
    /// Takes one line, whatever it is.
    pub fn add_line(&mut self, line: &str) {
        if Trace::is_loss(line) {
            self.begin_anew();
            return;
        }
        let Some(one) = issued(line) else { return };
        let at_s = time_s(line).or(self.newest_s).unwrap_or(0.0);
        if self.newest_s.is_some_and(|newest_s| at_s < newest_s - WITHIN_S) {
            self.steps_back += 1;
            self.begin_anew();
            self.newest_s = None;
        }
        self.newest_s = Some(self.newest_s.map_or(at_s, |newest_s| newest_s.max(at_s)));
        let Some(disk) = self.number_of(one.disk) else { return };
        self.waiting.push(Waiting { at_s, disk, start: one.start, blocks: one.blocks });
        if self.waiting.len().is_multiple_of(SORTED) {
            self.settle();
        }
    }

    /// `None` where there are too many.
    fn number_of(&mut self, disk: &str) -> Option<usize> {
        if let Some(number) = self.disks.get(disk) {
            return Some(*number);
        }
        let number = self.names.len();
        if number >= MOST_DISKS {
            return None;
        }
        self.names.push(disk.to_owned());
        self.disks.insert(disk.to_owned(), number);
        Some(number)
    }

    /// What it comes to, and how often its times go back further than lines of one trace do.
    #[must_use]
    pub fn end(mut self) -> (Trace, u64) {
        self.settle_all();
        (self.trace, self.steps_back)
    }

    /// How far the next request is from one that nobody saw is not known.
    fn begin_anew(&mut self) {
        self.settle_all();
        self.trace.forget_ends();
    }

    fn settle_all(&mut self) {
        self.sort();
        self.take(self.waiting.len());
    }

    /// Counts what no line can come before any more.
    fn settle(&mut self) {
        self.sort();
        let newest_s = self.newest_s.unwrap_or(0.0);
        let old = self.waiting.partition_point(|one| one.at_s < newest_s - WITHIN_S);
        self.take(old.max(self.waiting.len().saturating_sub(MOST_WAITING)));
    }

    /// Lines of the same time stay as they came.
    fn sort(&mut self) {
        self.waiting.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    }

    fn take(&mut self, count: usize) {
        for one in self.waiting.drain(..count) {
            self.trace.add(&self.names[one.disk], one.start, one.blocks);
        }
    }
}

/// When a request was issued, seconds by the trace's clock; `None` where the line does not say so. Before the event
/// stands `12.345678:`, of perf with `block:` behind it; of blkparse it is the fourth word.
fn time_s(line: &str) -> Option<f64> {
    let word = match line.split_once("block_rq_issue:") {
        Some((before, _)) => {
            let before = before.trim_end().trim_end_matches("block:").trim_end();
            before.rsplit(char::is_whitespace).next()?.strip_suffix(':')?
        }
        None => line.split_whitespace().nth(3)?,
    };
    // Clocks that count something else have no fraction.
    word.contains('.').then(|| word.parse::<f64>().ok()).flatten().filter(|at_s| at_s.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[String]) -> (Trace, u64) {
        let mut trace = ByTime::default();
        lines.iter().for_each(|line| trace.add_line(line));
        trace.end()
    }

    fn line(at_s: f64, disk: &str, start: u64) -> String {
        format!(
            "  fio-77  [001] d..1.  {at_s:.6}: block_rq_issue: {disk} R 4096 () {start} + 8 none,0,0 [fio]"
        )
    }

    /// One after the other by their times, as two processors wrote them down.
    #[test]
    fn lines_of_several_processors_are_put_into_order() {
        let mut lines: Vec<String> =
            (0..200_000_u32).map(|at| line(f64::from(at) * 1e-3, "8,16", u64::from(at) * 8)).collect();
        lines.extend((0..3_u32).map(|at| line(200.0 + f64::from(at), "8,0", 9_000_000 * u64::from(at % 2))));
        for pair in lines[..200_000].chunks_mut(7) {
            pair.reverse();
        }
        let (trace, steps_back) = read(&lines);
        let disk = &trace.disks()["8,16"];
        assert_eq!((disk.requests, disk.distances, disk.far, steps_back), (200_000, 199_999, 0, 0));
        assert_eq!(disk.by_log2.get(&0), Some(&199_999));
        assert_eq!((trace.disks()["8,0"].distances, trace.disks()["8,0"].far), (2, 2));
    }

    #[test]
    fn what_is_another_trace_is_not_mixed_with_this_one() {
        let one = |from: u64| (0..5_u32).map(move |at| line(f64::from(at), "8,0", from + u64::from(at) * 8));
        let lines: Vec<String> = one(0).chain(one(90_000_000)).collect();
        let (trace, steps_back) = read(&lines);
        let disk = &trace.disks()["8,0"];
        assert_eq!((disk.requests, disk.distances, disk.far, steps_back), (10, 8, 0, 1));
        // What was lost breaks it, too, and lines without times stay as they are.
        let plain = |start: u64| format!("x: block_rq_issue: 8,0 R 4096 () {start} + 8 [x]");
        let (trace, steps_back) =
            read(&[plain(0), plain(8), "CPU:1 [LOST 7 EVENTS]".to_owned(), plain(9_000_000), plain(16)]);
        let disk = &trace.disks()["8,0"];
        assert_eq!((disk.requests, disk.distances, disk.far, steps_back), (4, 2, 1, 0));
    }

    #[test]
    fn the_time_of_a_request_is_found_in_every_form() {
        for (line, at_s) in [
            (
                "  fio-77  [001] d..1.  12.345678: block_rq_issue: 8,16 R 4096 () 2048 + 8 [fio]",
                Some(12.345678),
            ),
            ("fio  77 [001] 12.345: block:block_rq_issue: 8,16 WFS 4096 () 64 + 8 [fio]", Some(12.345)),
            (
                "fio-77 [001]   12.345678901: block_rq_issue:   8,16 R 4096 () 2048 + 8 [fio]",
                Some(12.345678901),
            ),
            ("  8,16   3   11   0.009507758   697  D   W 223490 + 8 [kjournald]", Some(0.009507758)),
            ("  fio-77  [001] d..1.  1234567: block_rq_issue: 8,16 R 4096 () 2048 + 8 [fio]", None),
            ("x: block_rq_issue: 8,0 R 4096 () 0 + 8 [x]", None),
            ("", None),
        ] {
            assert_eq!(time_s(line), at_s, "{line}");
        }
    }
}
