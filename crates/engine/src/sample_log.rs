//! Samples on their way from a load thread to the operation log, in batches that are moved and never copied again. A
//! batch is small, so that filling its fresh memory costs some microseconds here and there and not a millisecond at once.

use std::collections::VecDeque;

use cosmark_metrics::Sample;
use tokio::sync::mpsc;

use crate::mission::EngineEvent;

/// Samples that are handed over together.
const BATCH: usize = 512;
/// Batches that are kept for a slow receiver before samples are lost: 4 million samples.
const MOST_KEPT: usize = (4 << 20) / BATCH;

/// One work's samples on one thread.
#[derive(Debug, Default)]
pub struct SampleLog {
    full: VecDeque<Vec<Sample>>,
    open: Vec<Sample>,
    lost: u64,
}

impl SampleLog {
    /// Keeps one sample, or counts it as lost.
    #[inline]
    pub fn enter(&mut self, sample: &Sample) {
        if self.open.len() == self.open.capacity() {
            self.next_batch();
        }
        if self.full.len() < MOST_KEPT {
            self.open.push(*sample);
        } else {
            self.lost += 1;
        }
    }

    #[cold]
    fn next_batch(&mut self) {
        if !self.open.is_empty() && self.full.len() < MOST_KEPT {
            self.full.push_back(std::mem::take(&mut self.open));
        }
        if self.open.capacity() == 0 {
            self.open.reserve_exact(BATCH);
        }
    }

    /// Hands over the full batches, with `all` the open one too; false when the receiver has no room for them.
    pub fn hand_over(&mut self, work: u16, events: &mpsc::Sender<EngineEvent>, all: bool) -> bool {
        if all && !self.open.is_empty() {
            self.full.push_back(std::mem::take(&mut self.open));
        }
        while !self.full.is_empty() {
            let Ok(permit) = events.try_reserve() else { return events.is_closed() };
            if let Some(samples) = self.full.pop_front() {
                permit.send(EngineEvent::Samples { work, samples });
            }
        }
        if self.lost > 0
            && let Ok(permit) = events.try_reserve()
        {
            permit.send(EngineEvent::SamplesLost { count: std::mem::take(&mut self.lost) });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(events: &mut mpsc::Receiver<EngineEvent>, seen: &mut Vec<u64>) -> u64 {
        let mut lost = 0;
        while let Ok(event) = events.try_recv() {
            match event {
                EngineEvent::Samples { samples, .. } => seen.extend(samples.iter().map(|s| s.object)),
                EngineEvent::SamplesLost { count } => lost += count,
                EngineEvent::Snapshot(_) => {}
            }
        }
        lost
    }

    #[test]
    fn every_sample_is_handed_over_once_and_in_order_also_to_a_slow_receiver() {
        let (sender, mut receiver) = mpsc::channel(2);
        let mut log = SampleLog::default();
        let mut seen = Vec::new();
        for object in 0..5000_u64 {
            log.enter(&Sample { object, ..Sample::default() });
            if object % 700 == 0 {
                log.hand_over(0, &sender, false);
                assert_eq!(drain(&mut receiver, &mut seen), 0);
            }
        }
        while !log.hand_over(0, &sender, true) {
            drain(&mut receiver, &mut seen);
        }
        drain(&mut receiver, &mut seen);
        assert_eq!(seen, (0..5000).collect::<Vec<_>>());
    }

    #[test]
    fn what_nobody_takes_is_bounded_and_counted() {
        let (sender, mut receiver) = mpsc::channel(MOST_KEPT * 2);
        let mut log = SampleLog::default();
        let entered = (MOST_KEPT * BATCH + 10_000) as u64;
        for object in 0..entered {
            log.enter(&Sample { object, ..Sample::default() });
        }
        let mut seen = Vec::new();
        while !log.hand_over(0, &sender, true) {}
        let lost = drain(&mut receiver, &mut seen);
        assert!(lost > 0 && seen.len() as u64 + lost == entered, "{} + {lost}", seen.len());
    }
}
