//! Time as the wire saw it: what the system's network code noted of the requests of one call (when each left this host, when
//! its answer reached it), and of which calls it is asked. An adaptor that can ask fills [`WireMarks`] beside its other
//! marks; one that cannot leaves them alone.
//!
//! Stamps cost about as much as a third of a small request. A thread that makes few operations has all of them stamped; one
//! that makes many draws which, by a chance that does not look at the operation, and each that is drawn stands for as many
//! as it was drawn from (Horvitz and Thompson 1952), so that busy and quiet times weigh as they do in all operations.

use std::cell::{Cell, RefCell};

use crate::clock;

/// Operations of one thread that are stamped per second; above that rate they are drawn.
const STAMPED_PER_S: u64 = 4000;

/// How often the rate of a thread is looked at anew.
const LOOK_EVERY_NS: u64 = 100_000_000;

/// Why the times of a call on the wire are not known although they were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WireGap {
    /// The user does not want them.
    Off,
    /// The system refuses to stamp a connection.
    System,
    /// No stamp of a request's leaving came.
    NotSent,
    /// No stamp of an answer's arrival came.
    NotReceived,
    /// The machine's clock was set meanwhile: stamps before and after have nothing to do with each other.
    Clock,
    /// The stamps contradict the order of events.
    Order,
    /// One of its requests failed, or was not asked about.
    Partly,
}

impl WireGap {
    /// For files and people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Off => "switched off by wire_time=off",
            Self::System => "this system does not stamp what TCP sends and receives",
            Self::NotSent => "the network driver did not stamp the request",
            Self::NotReceived => "the system did not stamp the answer",
            Self::Clock => "the machine's clock was set meanwhile",
            Self::Order => "stamps that contradict the order of events",
            Self::Partly => "not all requests of the operation were answered",
        }
    }
}

/// One request on the wire, on the clock of [`clock::now_ns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnWire {
    /// When its first bytes left this host.
    pub sent_ns: u64,
    /// When the first bytes of its answer had reached this host.
    pub first_byte_ns: u64,
    /// When the last had.
    pub end_ns: u64,
}

/// What is known of the requests of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WireMarks {
    /// Drawn: how many calls this one stands for, 0 = it is not stamped; `None` = nobody has drawn yet.
    drawn: Option<u32>,
    /// How many calls this one stands for; 0 = it was not stamped.
    pub weight: u32,
    /// Requests that were stamped.
    pub requests: u32,
    /// When the first request left; 0 = none is known.
    pub sent_ns: u64,
    /// When the first bytes of its answer had come.
    pub first_byte_ns: u64,
    /// When the last byte of the last answer had come.
    pub end_ns: u64,
    /// Time in which at least one request was on its way or being answered.
    pub spent_ns: u64,
    /// Why it is not known.
    pub gap: Option<WireGap>,
}

impl WireMarks {
    /// Whether this call is stamped where only some are: how many it stands for, 0 = not. The first to ask decides for all
    /// requests of the call.
    pub fn draw(&mut self) -> u32 {
        *self.drawn.get_or_insert_with(|| SAMPLER.with(|sampler| sampler.draw(clock::now_ns())))
    }

    /// Adds a request that followed those before.
    pub fn add(&mut self, request: OnWire) {
        self.add_side_by_side(&mut [request]);
    }

    /// Adds requests that were under way side by side, after those before.
    pub fn add_side_by_side(&mut self, requests: &mut [OnWire]) {
        requests.sort_unstable_by_key(|request| request.sent_ns);
        for request in requests {
            if self.requests == 0 {
                (self.sent_ns, self.first_byte_ns) = (request.sent_ns, request.first_byte_ns);
            }
            self.requests += 1;
            self.spent_ns += request.end_ns.saturating_sub(request.sent_ns.max(self.end_ns));
            self.end_ns = self.end_ns.max(request.end_ns);
        }
    }

    /// Of a part of the call: what was drawn, and nothing known yet.
    #[must_use]
    pub fn of_part(&mut self) -> Self {
        self.draw();
        Self { drawn: self.drawn, ..Self::default() }
    }

    /// Its requests as one, if there were any; a part of a call has but one after the other.
    #[must_use]
    pub fn as_one(&self) -> Option<OnWire> {
        let Self { sent_ns, first_byte_ns, end_ns, .. } = *self;
        (self.requests > 0).then_some(OnWire { sent_ns, first_byte_ns, end_ns })
    }

    /// Adds a part of the call, which came after those before.
    pub fn add_part(&mut self, part: &Self) {
        self.add_outcome(part);
        if let Some(all) = part.as_one() {
            self.add(all);
            self.requests += part.requests - 1;
            // Time between the requests of the part is nobody's.
            self.spent_ns -= (all.end_ns - all.sent_ns).saturating_sub(part.spent_ns).min(self.spent_ns);
        }
    }

    /// Adds what a part says beside its times.
    pub fn add_outcome(&mut self, part: &Self) {
        self.weight = self.weight.max(part.weight);
        self.gap = self.gap.or(part.gap);
    }

    /// How many calls this one stands for, if all of its `requests` were stamped.
    ///
    /// # Errors
    /// Why it is not known; `None` = nobody was asked.
    pub fn complete(&self, requests: u32) -> Result<u32, Option<WireGap>> {
        match self.gap {
            Some(gap) => Err(Some(gap)),
            None if self.weight == 0 => Err(None),
            None if self.requests != requests => Err(Some(WireGap::Partly)),
            None => Ok(self.weight),
        }
    }
}

/// The requests of a call that are under way side by side, each observed by marks of its own.
#[derive(Debug)]
pub struct SideBySide {
    part: WireMarks,
    outcome: Cell<WireMarks>,
    requests: RefCell<Vec<OnWire>>,
}

impl SideBySide {
    /// For a call with these marks.
    #[must_use]
    pub fn of(call: &mut WireMarks) -> Self {
        Self { part: call.of_part(), outcome: Cell::default(), requests: RefCell::default() }
    }

    /// For one request.
    #[must_use]
    pub fn part(&self) -> WireMarks {
        self.part
    }

    /// Notes what was seen of one request.
    pub fn note(&self, part: &WireMarks) {
        let mut outcome = self.outcome.get();
        outcome.add_outcome(part);
        self.outcome.set(outcome);
        self.requests.borrow_mut().extend(part.as_one());
    }

    /// Adds all to the call.
    pub fn add_to(self, call: &mut WireMarks) {
        call.add_outcome(&self.outcome.get());
        call.add_side_by_side(&mut self.requests.into_inner());
    }
}

thread_local! {
    static SAMPLER: Sampler = const { Sampler::new() };
}

/// Draws one of `one_in` operations of a thread, so that no more than [`STAMPED_PER_S`] are drawn per second.
struct Sampler {
    /// A power of two.
    one_in: Cell<u32>,
    /// Operations since the last look at the rate.
    seen: Cell<u64>,
    looked_ns: Cell<u64>,
    /// Of xorshift (Marsaglia 2003); what is drawn must not follow any order of operations.
    random: Cell<u64>,
}

impl Sampler {
    const fn new() -> Self {
        Self {
            one_in: Cell::new(1),
            seen: Cell::new(0),
            looked_ns: Cell::new(0),
            random: Cell::new(0x9e37_79b9_7f4a_7c15),
        }
    }

    fn draw(&self, now_ns: u64) -> u32 {
        let seen = self.seen.get() + 1;
        self.seen.set(seen);
        let one_in = self.one_in.get();
        let since_ns = now_ns.saturating_sub(self.looked_ns.get());
        // A thread that begins at full speed is noticed after a few milliseconds and not after the time that is looked over.
        let many = STAMPED_PER_S * LOOK_EVERY_NS / 1_000_000_000 * u64::from(one_in);
        if since_ns >= LOOK_EVERY_NS || seen >= 2 * many {
            let rate_per_s = seen.saturating_mul(1_000_000_000) / since_ns.max(1);
            let wanted = rate_per_s.div_ceil(STAMPED_PER_S).clamp(1, 1 << 16);
            self.one_in.set(u32::try_from(wanted).unwrap_or(1 << 16).next_power_of_two());
            self.seen.set(0);
            self.looked_ns.set(now_ns);
        }
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        if (random >> 20) & u64::from(one_in - 1) == 0 { one_in } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(sent_ns: u64, end_ns: u64) -> OnWire {
        OnWire { sent_ns, first_byte_ns: sent_ns + 1, end_ns }
    }

    #[test]
    fn requests_one_after_the_other_add_up_without_the_time_between() {
        let mut marks = WireMarks { weight: 1, ..WireMarks::default() };
        marks.add(request(100, 150));
        marks.add(request(1000, 1030));
        assert_eq!((marks.sent_ns, marks.first_byte_ns, marks.end_ns, marks.spent_ns), (100, 101, 1030, 80));
        assert_eq!((marks.complete(2), marks.complete(3)), (Ok(1), Err(Some(WireGap::Partly))));
    }

    #[test]
    fn a_part_counts_with_the_time_that_its_own_requests_took() {
        let mut marks = WireMarks::default();
        marks.add(request(10, 20));
        let mut part = WireMarks { weight: 4, ..WireMarks::default() };
        part.add(request(30, 40));
        part.add(request(60, 65));
        marks.add_part(&part);
        assert_eq!((marks.requests, marks.spent_ns, marks.end_ns, marks.weight), (3, 25, 65, 4));
        marks.add_part(&WireMarks { gap: Some(WireGap::Clock), ..WireMarks::default() });
        assert_eq!(marks.complete(3), Err(Some(WireGap::Clock)));
    }

    #[test]
    fn all_operations_of_a_slow_thread_are_drawn_and_of_a_fast_one_a_fair_share() {
        let sampler = Sampler::new();
        let drawn = |from_ns: u64, every_ns: u64, count: u64| -> (u64, u64) {
            (0..count).fold((0, 0), |(drawn, stands_for), at| {
                let weight = u64::from(sampler.draw(from_ns + at * every_ns));
                (drawn + u64::from(weight > 0), stands_for + weight)
            })
        };
        // 1000 per second.
        assert_eq!(drawn(1, 1_000_000, 5000), (5000, 5000));
        // 100 000 per second for ten seconds.
        let (many, stands_for) = drawn(6_000_000_000, 10_000, 1_000_000);
        assert!((20_000..60_000).contains(&many), "{many}");
        assert!(stands_for.abs_diff(1_000_000) < 50_000, "{stands_for}");
        // And slow again: it takes a tenth of a second to be noticed.
        assert!(drawn(20_000_000_000, 1_000_000, 5000).0 > 4800);
    }

    proptest::proptest! {
        #[test]
        fn requests_side_by_side_count_the_time_in_which_one_was_under_way(
            spans in proptest::collection::vec((1u64..200, 1u64..60), 1..12),
        ) {
            let mut requests: Vec<OnWire> =
                spans.iter().map(|(start, length)| request(*start, start + length)).collect();
            let covered = (0..300).filter(|at| requests.iter().any(|one| one.sent_ns <= *at && *at < one.end_ns));
            let covered = covered.count() as u64;
            let mut marks = WireMarks::default();
            marks.add_side_by_side(&mut requests);
            proptest::prop_assert_eq!(marks.spent_ns, covered);
            proptest::prop_assert_eq!(marks.requests as usize, spans.len());
            proptest::prop_assert_eq!(Some(marks.end_ns), spans.iter().map(|(start, length)| start + length).max());
        }
    }
}
