//! In which ways an operation costs a unit less under load: one table, from which ceilings are predicted and stores are planned.
//! Each law is the truth of some servers. What it takes to wake one is saved while it is awake. What is done once for all that
//! wait (looking for work, writing a journal) is shared by the unit's own queue; or by all operations under way, wherever they
//! are, from the first or from the second on.

/// In which way an operation costs a unit less under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// Who comes while the unit is busy need not wake it.
    Waking,
    /// The cost falls with the logarithm of what waits for the unit itself, by how much of the time it is not busy.
    Queue,
    /// The cost falls with a power of all operations under way.
    Sharing,
    /// The cost falls with a power of all operations under way and one more: it stays while operations hardly ever meet. So do
    /// groups that a quota stops, which find a batch at the beginning of each period.
    Meeting,
}

/// The cost is not thought to fall to less than one part of so many.
pub(crate) const MOST_TIMES: f64 = 4.0;
/// How well the share of the time in which a unit is busy is known at best, whatever a few points look like.
pub(crate) const KNOWN_TO: f64 = 0.01;
/// A law that predicts what was seen so many times worse than the best one is refuted.
pub(crate) const REFUTED: f64 = 3.0;
/// A unit is never so full that no more of it than this is left, as far as a step can show.
const LEAST_LEFT: f64 = 1e-3;

impl Law {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Waking, Self::Queue, Self::Sharing, Self::Meeting];

    /// What falls, in words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Waking => "waking",
            Self::Queue => "its queue",
            Self::Sharing => "all under way",
            Self::Meeting => "those that meet",
        }
    }

    /// The bends that are tried: 0 is the straight line.
    pub(crate) fn bends(self) -> impl Iterator<Item = f64> {
        let (step, count) = match self {
            Self::Waking => (0.05, 61_u32),
            Self::Queue => (0.005, 81_u32),
            Self::Sharing | Self::Meeting => (0.01, 51_u32),
        };
        (0..count).map(move |at| f64::from(at) * step)
    }

    /// What an operation costs a unit that is so busy, where so many are under way, in units of its cost without the law.
    pub(crate) fn times(self, bend: f64, busy: f64, in_flight: f64) -> f64 {
        let left = (1.0 - busy).max(LEAST_LEFT);
        match self {
            Self::Waking => 1.0 + bend * left,
            Self::Queue => (1.0 + bend * left.ln()).max(1.0 / MOST_TIMES),
            Self::Sharing => in_flight.powf(-bend),
            Self::Meeting => (1.0 + in_flight).powf(-bend),
        }
    }

    /// The same of a unit that is full: all that is under way waits for it.
    pub(crate) fn when_full(self, bend: f64, in_flight: f64) -> f64 {
        match self {
            Self::Waking => 1.0,
            Self::Queue => (1.0 - bend * in_flight.ln_1p()).max(1.0 / MOST_TIMES),
            Self::Sharing | Self::Meeting => self.times(bend, 1.0, in_flight),
        }
    }

    /// The same of a unit at any load, of which it is known how many are under way: no more than these wait for it, and what is
    /// done once for all that wait costs each its part, also where the unit is full.
    pub(crate) fn at(self, bend: f64, busy: f64, in_flight: f64) -> f64 {
        let waits = (busy / (1.0 - busy).max(LEAST_LEFT)).min(in_flight);
        match self {
            Self::Waking => 1.0 + bend / (1.0 + waits),
            Self::Queue => self.when_full(bend, waits),
            Self::Sharing | Self::Meeting => self.times(bend, busy, in_flight),
        }
    }
}
