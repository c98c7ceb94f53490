//! When the next operation is due. One file per load shape; the worker's loop does not know which it has.

mod arrivals;
mod free;
mod open;
mod paced;
mod recorded;

use std::rc::Rc;

use cosmark_adaptor_api::clock;

pub use arrivals::{Part, Schedule};
pub use open::{ArrivalQueue, Taken};
pub use paced::Paced;
pub use recorded::{ArrivalError, Recorded, look_at_recorded};

use crate::source::Quota;

/// A worker's pace.
pub enum Pace {
    /// The next operation is due when the last is over.
    Closed,
    /// Own due times.
    Paced(Paced),
    /// Due times come from the thread's arrivals.
    Open(Rc<ArrivalQueue>),
}

/// An operation may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// When it was due.
    pub due_ns: u64,
    /// It had to wait for a free worker.
    pub delayed: bool,
}

impl Pace {
    /// Waits for the next slot; `None` when there will be no more. `share` is what the worker has left to make. `free_ns` is
    /// when it became free, 0 = now: in a closed loop the next operation is due then, which spares a reading of the clock.
    #[inline]
    pub async fn next(&mut self, worker: usize, share: &Quota, free_ns: u64) -> Option<Slot> {
        match self {
            Self::Closed => {
                let due_ns = if free_ns == 0 { clock::now_ns() } else { free_ns };
                Some(Slot { due_ns, delayed: false })
            }
            Self::Paced(paced) => paced.next().await,
            Self::Open(queue) => match queue.take(worker, share).await {
                Taken::Due { due_ns, delayed } => Some(Slot { due_ns, delayed }),
                Taken::Over => None,
            },
        }
    }

    /// `worker` has made its share of the totals, and takes nothing any more.
    pub fn leave(&self, worker: usize) {
        if let Self::Open(queue) = self {
            queue.leave(worker);
        }
    }

    /// Arrivals come by the clock.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// In a closed loop due and sent are one moment.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }
}
