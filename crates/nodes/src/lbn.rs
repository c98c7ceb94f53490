//! How far apart on a disk successive requests lie: the distance from the end of one to the start of the next, from traces of the
//! block layer. Zmanda's study of Swift reads from it whether a disk seeks: 38 % of the requests for objects of 10 KB lay more
//! than 2.5 million blocks apart, 9 % for 1 MB. Formats: the kernel's event `block_rq_issue` (tracefs, perf script,
//! trace-cmd), and blkparse(1) in its default form.

pub mod by_time;

use std::collections::BTreeMap;

use serde::Serialize;

/// Blocks of 512 bytes beyond which a disk is said to seek far.
pub const FAR_BLOCKS: u64 = 2_500_000;
/// The same for a small file, such as a container's database.
pub const NEAR_BLOCKS: u64 = 125_000;
/// Disks beyond these are left out: no machine has so many.
const MOST_DISKS: usize = 10_000;

/// One request as the driver of the disk got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued<'a> {
    /// `major,minor`.
    pub disk: &'a str,
    /// First block of 512 bytes.
    pub start: u64,
    /// Blocks.
    pub blocks: u64,
}

/// The request in a line of a trace; `None` for other lines, other events, and requests that move nothing.
#[must_use]
pub fn issued(line: &str) -> Option<Issued<'_>> {
    let (disk, kind, rest) = if let Some((_, event)) = line.split_once("block_rq_issue:") {
        let mut words = event.split_whitespace();
        (words.next()?, words.next()?, words.collect::<Vec<&str>>())
    } else {
        // major,minor, CPU, sequence, time, process, action, kind, start, +, blocks.
        let words: Vec<&str> = line.split_whitespace().collect();
        if *words.get(5)? != "D" {
            return None;
        }
        (*words.first()?, *words.get(6)?, words.get(7..)?.to_vec())
    };
    let is_disk = disk.split_once(',').is_some_and(|(major, minor)| {
        [major, minor].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    });
    // Discards and flushes move no head.
    if !is_disk || !kind.contains(['R', 'W']) || kind.starts_with('D') {
        return None;
    }
    let plus = rest.iter().position(|word| *word == "+")?;
    let start = rest.get(plus.checked_sub(1)?)?.parse().ok()?;
    let blocks = rest.get(plus + 1)?.parse().ok().filter(|blocks| *blocks > 0)?;
    Some(Issued { disk, start, blocks })
}

/// What successive requests of one disk were apart.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Distances {
    /// Requests.
    pub requests: u64,
    /// Distances: one fewer.
    pub distances: u64,
    /// Beyond [`FAR_BLOCKS`].
    pub far: u64,
    /// Beyond [`NEAR_BLOCKS`].
    pub beyond_125000: u64,
    /// How many were less than 2^k blocks, and not less than half of that, by k; 0 has those that follow each other.
    pub by_log2: BTreeMap<u32, u64>,
    #[serde(skip)]
    end: Option<u64>,
}

impl Distances {
    fn add(&mut self, start: u64, blocks: u64) {
        self.requests += 1;
        if let Some(end) = self.end {
            let distance = end.abs_diff(start);
            self.distances += 1;
            self.far += u64::from(distance > FAR_BLOCKS);
            self.beyond_125000 += u64::from(distance > NEAR_BLOCKS);
            *self.by_log2.entry(u64::BITS - distance.leading_zeros()).or_insert(0) += 1;
        }
        self.end = Some(start.saturating_add(blocks));
    }
}

/// A trace, line by line.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    disks: BTreeMap<String, Distances>,
}

impl Trace {
    /// Takes one line, whatever it is.
    pub fn add_line(&mut self, line: &str) {
        if Self::is_loss(line) {
            self.forget_ends();
        } else if let Some(one) = issued(line) {
            self.add(one.disk, one.start, one.blocks);
        }
    }

    /// Whether a line says that others were lost before it.
    fn is_loss(line: &str) -> bool {
        line.trim_start().starts_with("CPU:") && line.contains("[LOST ")
    }

    /// How far the next one is from one that nobody saw is not known.
    fn forget_ends(&mut self) {
        self.disks.values_mut().for_each(|disk| disk.end = None);
    }

    fn add(&mut self, disk: &str, start: u64, blocks: u64) {
        if let Some(own) = self.disks.get_mut(disk) {
            own.add(start, blocks);
        } else if self.disks.len() < MOST_DISKS {
            self.disks.entry(disk.to_owned()).or_default().add(start, blocks);
        }
    }

    /// By `major,minor`.
    #[must_use]
    pub fn disks(&self) -> &BTreeMap<String, Distances> {
        &self.disks
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_in_every_form_of_a_trace() {
        for (line, start) in [
            ("  fio-77  [001] d..1.  12.345: block_rq_issue: 8,16 R 4096 () 2048 + 8 [fio]", 2048),
            ("  fio-77  [001] .....  12.345: block_rq_issue: 8,16 WS 4096 () 9 + 8 none,0,0 [a + b]", 9),
            ("fio  77 [001] 12.345: block:block_rq_issue: 8,16 WFS 4096 () 64 + 8 [fio]", 64),
            ("  8,16   3   11   0.009507758   697  D   W 223490 + 8 [kjournald]", 223_490),
        ] {
            assert_eq!(issued(line), Some(Issued { disk: "8,16", start, blocks: 8 }), "{line}");
        }
        for line in [
            "",
            "# tracer: nop",
            "  fio-77 [001] .... 12.3: block_rq_complete: 8,16 R () 2048 + 8 [0]",
            "  fio-77 [001] .... 12.3: block_rq_issue: 8,16 FF 0 () 18446744073709551615 + 0 [fio]",
            "  fio-77 [001] .... 12.3: block_rq_issue: 8,16 D 4096 () 2048 + 8 [fstrim]",
            "  8,16   3   11   0.009507758   697  Q   W 223490 + 8 [kjournald]",
            "  8,16   3   11   0.0   697  D   W + 8",
            "CPU0 (8,16): Reads Queued: D W 4 + 8",
        ] {
            assert_eq!(issued(line), None, "{line}");
        }
    }

    #[test]
    fn nothing_is_said_of_the_distance_to_what_was_lost() {
        let mut trace = Trace::default();
        for line in [
            "x: block_rq_issue: 8,0 R 4096 () 0 + 8 [x]",
            "CPU:1 [LOST 77 EVENTS]",
            "x: block_rq_issue: 8,0 R 4096 () 9000000 + 8 [x]",
            "x: block_rq_issue: 8,0 R 4096 () 9000008 + 8 [CPU:1 [LOST ]",
        ] {
            trace.add_line(line);
        }
        let disk = &trace.disks()["8,0"];
        assert_eq!((disk.requests, disk.distances, disk.far), (3, 1, 0));
    }

    #[test]
    fn distances_are_from_the_end_of_one_to_the_start_of_the_next_on_its_own_disk() {
        let mut trace = Trace::default();
        let mut add = |disk: &str, start: u64| {
            trace.add_line(&format!("x: block_rq_issue: {disk} R 4096 () {start} + 8 [x]"));
        };
        // In a row; 1 back; far; far back; and another disk between.
        for start in [1000, 1008, 1015, 3_000_000] {
            add("8,0", start);
            add("8,16", 5);
        }
        add("8,0", 2_700_000);
        let disk = &trace.disks()["8,0"];
        assert_eq!((disk.requests, disk.distances, disk.far, disk.beyond_125000), (5, 4, 1, 2));
        let by_log2: Vec<(u32, u64)> = disk.by_log2.iter().map(|(k, many)| (*k, *many)).collect();
        assert_eq!(by_log2, [(0, 1), (1, 1), (19, 1), (22, 1)]);
        assert_eq!(trace.disks().len(), 2);
    }
}
