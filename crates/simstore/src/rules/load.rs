//! What load does to a request: stalls, a FIFO queue, token buckets, capacity over time.
//!
//! All are computed from the order and times of arrival, none is executed, so their truth does not
//! depend on how busy the machine is. Times are nanoseconds of the script.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::pick::seconds_ns;
use super::sampler::{Moment, Sampler};
use crate::behaviour::{Op, OpSet, Point, Stall, StallKind};

struct Hold {
    from_ns: u64,
    until_ns: u64,
    kind: StallKind,
    op: OpSet,
}

/// The stalls in order of time.
pub(crate) struct Stalls(Vec<Hold>);

impl Stalls {
    pub(crate) fn new(stalls: &[Stall]) -> Stalls {
        let mut holds: Vec<Hold> = stalls
            .iter()
            .map(|stall| Hold {
                from_ns: seconds_ns(stall.at_s),
                until_ns: seconds_ns(stall.at_s + stall.for_s),
                kind: stall.kind,
                op: stall.op,
            })
            .collect();
        holds.sort_by_key(|hold| hold.from_ns);
        Stalls(holds)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When work that begins at `at_ns` and takes `work_ns` of the server's time ends, and whether a stall
    /// took part in it.
    pub(crate) fn advance(&self, op: Op, mut at_ns: u64, mut work_ns: u64) -> (u64, bool) {
        let mut held = false;
        for hold in self.0.iter().filter(|hold| hold.op.contains(op)) {
            let end_ns = at_ns.saturating_add(work_ns);
            match hold.kind {
                _ if at_ns >= hold.until_ns || end_ns < hold.from_ns => {}
                StallKind::Freeze => {
                    work_ns -= hold.from_ns.saturating_sub(at_ns);
                    at_ns = hold.until_ns;
                    held = true;
                }
                StallKind::Gate if end_ns < hold.until_ns => {
                    (at_ns, work_ns) = (hold.until_ns, 0);
                    held = true;
                }
                StallKind::Gate => {}
            }
        }
        (at_ns.saturating_add(work_ns), held)
    }
}

/// A FIFO queue before k equal servers.
pub(crate) struct Queue {
    free_ns: BinaryHeap<Reverse<u64>>,
    /// Times at which accepted requests begin service; those in the future are waiting.
    starts_ns: VecDeque<u64>,
    service: Sampler,
    max_queue: Option<usize>,
    op: OpSet,
}

impl Queue {
    pub(crate) fn new(servers: u32, service: Sampler, max_queue: Option<u32>, op: OpSet) -> Queue {
        let free_ns = (0..servers).map(|_| Reverse(0)).collect();
        Queue { free_ns, starts_ns: VecDeque::new(), service, max_queue: max_queue.map(|n| n as usize), op }
    }

    /// When a request that arrives now leaves its server; `None` if the queue is full.
    pub(crate) fn enter(&mut self, op: Op, moment: Moment, stalls: &Stalls) -> Option<u64> {
        let now_ns = moment.at_ns;
        if !self.op.contains(op) {
            return Some(now_ns);
        }
        while self.starts_ns.front().is_some_and(|start| *start <= now_ns) {
            self.starts_ns.pop_front();
        }
        let Reverse(free_ns) = self.free_ns.peek().copied().unwrap_or(Reverse(0));
        let start_ns = free_ns.max(now_ns);
        if start_ns > now_ns && self.max_queue.is_some_and(|max| self.starts_ns.len() >= max) {
            return None;
        }
        self.free_ns.pop();
        let (end_ns, _) = stalls.advance(op, start_ns, self.service.draw(moment));
        self.free_ns.push(Reverse(end_ns));
        if start_ns > now_ns {
            self.starts_ns.push_back(start_ns);
        }
        Some(end_ns)
    }

    /// Forgets all work, when the script's clock starts anew.
    pub(crate) fn clear(&mut self) {
        self.starts_ns.clear();
        self.free_ns = self.free_ns.drain().map(|_| Reverse(0)).collect();
    }
}

/// A token bucket whose tokens arrive at a rate that may change over time.
pub(crate) struct Bucket {
    supply: Supply,
    burst: f64,
    tokens: f64,
    supplied: f64,
}

enum Supply {
    Constant(f64),
    Points(Vec<Point>),
}

impl Supply {
    /// Tokens that arrived from time 0 to this time.
    fn until(&self, at_ns: u64) -> f64 {
        let at_s = at_ns as f64 / 1e9;
        match self {
            Supply::Constant(per_s) => per_s * at_s,
            Supply::Points(points) => area(points, at_s),
        }
    }
}

/// Integral of the capacity from 0 to `until_s`. Before the first point the first capacity holds, after
/// the last point the last.
fn area(points: &[Point], until_s: f64) -> f64 {
    let Some(first) = points.first() else { return 0.0 };
    let mut sum = first.per_s * first.at_s.min(until_s);
    for (index, point) in points.iter().enumerate() {
        if point.at_s >= until_s {
            break;
        }
        let next = points.get(index + 1);
        let end_s = next.map_or(until_s, |next| next.at_s.min(until_s));
        let end_per_s = match next {
            Some(next) if point.ramp => {
                point.per_s + (next.per_s - point.per_s) * (end_s - point.at_s) / (next.at_s - point.at_s)
            }
            _ => point.per_s,
        };
        sum += (end_s - point.at_s) * (point.per_s + end_per_s) / 2.0;
    }
    sum
}

impl Bucket {
    pub(crate) fn constant(per_s: f64, burst: f64) -> Bucket {
        Bucket { supply: Supply::Constant(per_s), burst, tokens: burst, supplied: 0.0 }
    }

    pub(crate) fn scheduled(points: &[Point], burst: f64) -> Bucket {
        Bucket { supply: Supply::Points(points.to_vec()), burst, tokens: burst, supplied: 0.0 }
    }

    /// Takes one token if there is one.
    pub(crate) fn take(&mut self, at_ns: u64) -> bool {
        let supplied = self.supply.until(at_ns);
        self.tokens = (self.tokens + (supplied - self.supplied).max(0.0)).min(self.burst);
        self.supplied = supplied;
        // A millionth of a token forgives the rounding of the sum, so that arrivals at exactly the rate pass.
        let taken = self.tokens >= 1.0 - 1e-6;
        if taken {
            self.tokens -= 1.0;
        }
        taken
    }

    /// Fills the bucket, when the script's clock starts anew.
    pub(crate) fn clear(&mut self) {
        self.tokens = self.burst;
        self.supplied = 0.0;
    }
}

/// A link that all connections share: pieces pass one after the other.
#[derive(Debug)]
pub(crate) struct Link {
    per_s: f64,
    free_ns: Cell<u64>,
}

impl Link {
    pub(crate) fn new(per_s: f64) -> Link {
        Link { per_s, free_ns: Cell::new(0) }
    }

    /// When so many bytes, given to the link now, have passed. Times are the server's.
    pub(crate) fn pass(&self, now_ns: u64, bytes: u64) -> u64 {
        let passed_ns = self.free_ns.get().max(now_ns) + (bytes as f64 / self.per_s * 1e9) as u64;
        self.free_ns.set(passed_ns);
        passed_ns
    }

    /// Bytes of one piece: two milliseconds of the link, so that many connections share it evenly.
    pub(crate) fn piece(&self) -> u64 {
        ((self.per_s * 0.002) as u64).clamp(1, 64 * 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::Law;

    const MS: u64 = 1_000_000;

    fn stalls(kind: StallKind) -> Stalls {
        Stalls::new(&[Stall { at_s: 30.0, for_s: 1.0, kind, op: OpSet::ANY }])
    }

    #[test]
    fn a_frozen_server_makes_arrivals_wait_for_its_end_and_then_take_their_own_time() {
        let s = stalls(StallKind::Freeze);
        // (begin ms, work ms, end ms)
        for (begin, work, end) in [
            (29_980, 10, 29_990),
            (29_995, 10, 31_005),
            (30_000, 10, 31_010),
            (30_990, 10, 31_010),
            (31_000, 10, 31_010),
            (29_000, 3_000, 33_000),
        ] {
            assert_eq!(s.advance(Op::Get, begin * MS, work * MS).0, end * MS, "from {begin} for {work}");
        }
    }

    #[test]
    fn a_gate_lets_answers_that_fall_due_behind_it_leave_at_its_end() {
        let s = stalls(StallKind::Gate);
        for (begin, work, end) in [
            (29_980, 10, 29_990),
            (29_995, 10, 31_000),
            (30_980, 10, 31_000),
            (30_995, 10, 31_005),
            (29_000, 3_000, 32_000),
        ] {
            assert_eq!(s.advance(Op::Get, begin * MS, work * MS).0, end * MS, "from {begin} for {work}");
        }
    }

    #[test]
    fn a_stall_of_other_operations_does_not_touch_a_request() {
        let s =
            Stalls::new(&[Stall { at_s: 0.0, for_s: 9.0, kind: StallKind::Freeze, op: OpSet::one(Op::Put) }]);
        assert_eq!(s.advance(Op::Get, MS, MS), (2 * MS, false));
        assert_eq!(s.advance(Op::Put, MS, MS), (9_001 * MS, true));
    }

    fn queue(servers: u32, max_queue: Option<u32>) -> Queue {
        Queue::new(servers, Sampler::new(&Law::ConstantMs(10.0), 1, "t").unwrap(), max_queue, OpSet::ANY)
    }

    fn enter(queue: &mut Queue, at_ms: u64) -> Option<u64> {
        let moment = Moment { at_ns: at_ms * MS, ..Moment::default() };
        queue.enter(Op::Get, moment, &Stalls::new(&[])).map(|ns| ns / MS)
    }

    #[test]
    fn an_overloaded_single_server_falls_behind_by_the_excess() {
        // 120 arrivals a second for 60 s before one server of 10 ms: the last of 7200 leaves at 72 s.
        let mut q = queue(1, None);
        let mut last = 0;
        let mut done_in_time = 0;
        for k in 0..7200_u64 {
            let moment = Moment { at_ns: k * 1_000_000_000 / 120, ..Moment::default() };
            last = q.enter(Op::Get, moment, &Stalls::new(&[])).unwrap();
            done_in_time += u64::from(last <= 60_000 * MS);
        }
        assert_eq!(last, 72_000 * MS);
        assert_eq!(done_in_time, 6000);
    }

    #[test]
    fn k_servers_work_side_by_side_and_a_full_queue_refuses() {
        let mut q = queue(2, Some(1));
        assert_eq!(enter(&mut q, 0), Some(10));
        assert_eq!(enter(&mut q, 0), Some(10));
        assert_eq!(enter(&mut q, 0), Some(20));
        assert_eq!(enter(&mut q, 0), None);
        // At 10 ms the one that waited has begun, so one may wait again.
        assert_eq!(enter(&mut q, 10), Some(20));
        assert_eq!(enter(&mut q, 10), Some(30));
        assert_eq!(enter(&mut q, 10), None);
        q.clear();
        assert_eq!(enter(&mut q, 10), Some(20));
    }

    fn accepted(bucket: &mut Bucket, per_s: u64, seconds: u64) -> u64 {
        (0..per_s * seconds).filter(|k| bucket.take(k * 1_000_000_000 / per_s)).count() as u64
    }

    #[test]
    fn a_token_bucket_lets_its_rate_and_burst_through() {
        let overloaded = accepted(&mut Bucket::constant(200.0, 2.0), 300, 30);
        assert!((6000..=6001).contains(&overloaded), "{overloaded}");
        assert_eq!(accepted(&mut Bucket::constant(200.0, 2.0), 100, 30), 3000);
        // A bucket of one token loses what arrives while it is full: every second request passes.
        assert_eq!(accepted(&mut Bucket::constant(200.0, 1.0), 300, 30), 4500);
        let with_burst = accepted(&mut Bucket::constant(200.0, 50.0), 300, 30);
        assert!((6049..=6050).contains(&with_burst), "{with_burst}");
    }

    #[test]
    fn a_scheduled_dip_loses_exactly_its_area() {
        let point = |at_s, per_s, ramp| Point { at_s, per_s, ramp };
        let points = [
            point(0.0, 1000.0, false),
            point(100.0, 400.0, false),
            point(130.0, 400.0, true),
            point(190.0, 1000.0, false),
        ];
        let mut bucket = Bucket::scheduled(&points, 2.0);
        let offered = 900 * 300;
        let lost = offered - accepted(&mut bucket, 900, 300);
        // 500/s for 30 s, then a triangle of 500/s until the ramp of 10/s per s reaches 900: 27500.
        assert!((27_490..=27_510).contains(&lost), "{lost}");
    }

    #[test]
    fn the_area_under_ramps_and_steps_is_right() {
        let points =
            [Point { at_s: 10.0, per_s: 100.0, ramp: true }, Point { at_s: 20.0, per_s: 0.0, ramp: false }];
        for (until_s, expected) in
            [(5.0, 500.0), (10.0, 1000.0), (15.0, 1375.0), (20.0, 1500.0), (99.0, 1500.0)]
        {
            assert!((area(&points, until_s) - expected).abs() < 1e-9, "until {until_s}");
        }
    }

    #[test]
    fn a_link_is_shared_by_all_that_use_it() {
        let link = Link::new(1_000_000.0);
        assert_eq!(link.pass(5 * MS, 1000), 6 * MS);
        assert_eq!(link.pass(5 * MS, 2000), 8 * MS);
        assert_eq!(link.pass(20 * MS, 1000), 21 * MS);
        assert_eq!((link.piece(), Link::new(1.0).piece()), (2000, 1));
    }
}
