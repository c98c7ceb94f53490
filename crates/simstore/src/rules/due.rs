//! Rules that are asked when a request is whole: refusals, the queue, delays, stalls. Their answer is the time at
//! which the request's own answer is due. Times are nanoseconds of the script.

use std::sync::Arc;

use super::armed::{Armed, Fired, arm};
use super::load::{Bucket, Queue, Stalls};
use super::pick::millis_ns;
use super::sampler::{Moment, Sampler};
use super::verdict::{Decision, Instead, InsteadKind};
use crate::behaviour::{Behaviour, DelayRule, Law, Op, RateCapRule, Schedule};

const STALL_LABEL: &str = "stall";
const QUEUE_LABEL: &str = "capacity";
const SCHEDULE_LABEL: &str = "schedule";

pub(super) struct LoadRules {
    delays: Vec<(Armed<DelayRule>, Sampler)>,
    stalls: Stalls,
    stalled: u64,
    queue: Option<Queue>,
    queue_full: u64,
    caps: Vec<(Armed<RateCapRule>, Bucket)>,
    schedule: Option<(Schedule, Bucket, u64)>,
    wants_bytes: bool,
}

fn refusal(status: u16, code: Option<&String>, delay_ms: f64, retry_after_s: Option<u32>) -> Instead {
    Instead {
        status,
        kind: InsteadKind::Error(code.cloned()),
        delay_ns: Some(millis_ns(delay_ms)),
        retry_after_s,
        before_body: false,
    }
}

impl LoadRules {
    /// Compiles the rules; fails only if a file of a law cannot be read.
    pub(super) fn new(b: &Behaviour) -> Result<LoadRules, String> {
        let mut delays = Vec::new();
        for armed in arm(&b.delay, "delay", b.seed) {
            let law = armed.rule.law.as_ref().ok_or("a delay rule has no law")?;
            let sampler = Sampler::new(law, b.seed, &format!("{} law", armed.label))?;
            delays.push((armed, sampler));
        }
        let queue = match &b.capacity {
            None => None,
            Some(capacity) => {
                let law = capacity.law().ok_or("capacity has no service time")?;
                let service = Sampler::new(&law, b.seed, "capacity law")?;
                Some(Queue::new(capacity.servers, service, capacity.max_queue, capacity.op))
            }
        };
        let with_bucket = |armed: Armed<RateCapRule>| {
            let bucket = Bucket::constant(armed.rule.per_s, armed.rule.burst);
            (armed, bucket)
        };
        let by_bytes = |law: &Option<Law>| matches!(law, Some(Law::ByBytes { .. }));
        let wants_bytes = b.delay.iter().any(|rule| by_bytes(&rule.law))
            || b.capacity.as_ref().is_some_and(|capacity| by_bytes(&capacity.service));
        Ok(LoadRules {
            wants_bytes,
            delays,
            stalls: Stalls::new(&b.stalls),
            stalled: 0,
            queue,
            queue_full: 0,
            caps: arm(&b.rate_cap, "rate_cap", b.seed).into_iter().map(with_bucket).collect(),
            schedule: b.schedule.as_ref().map(|s| (s.clone(), Bucket::scheduled(&s.points, s.burst), 0)),
        })
    }

    pub(super) fn wants_bytes(&self) -> bool {
        self.wants_bytes
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.delays.is_empty()
            && self.stalls.is_empty()
            && self.queue.is_none()
            && self.caps.is_empty()
            && self.schedule.is_none()
    }

    /// When the answer is due, and what the delay laws alone gave. May turn the decision into a refusal.
    pub(super) fn due(&mut self, op: Op, key: &str, moment: Moment, d: &mut Decision) -> (u64, u64) {
        let at_ns = moment.at_ns;
        if let Some(fixed_ns) = d.instead.as_ref().and_then(|instead| instead.delay_ns) {
            return (self.held(op, at_ns, fixed_ns, d), fixed_ns);
        }
        if let Some((refusal, label)) = self.refusal(op, key, at_ns) {
            return self.refuse(op, at_ns, refusal, label, d);
        }
        let served_ns = match &mut self.queue {
            None => at_ns,
            Some(queue) => match queue.enter(op, moment, &self.stalls) {
                Some(served_ns) => served_ns,
                None => {
                    self.queue_full += 1;
                    return self.refuse(op, at_ns, refusal(503, None, 0.0, None), QUEUE_LABEL.into(), d);
                }
            },
        };
        let mut delay_ns = 0;
        for (armed, sampler) in &mut self.delays {
            if armed.picker.takes(op, key, at_ns) {
                armed.fired += 1;
                delay_ns += sampler.draw(moment);
            }
        }
        (self.held(op, served_ns, delay_ns, d), delay_ns)
    }

    fn held(&mut self, op: Op, from_ns: u64, work_ns: u64, d: &mut Decision) -> u64 {
        let (due_ns, held) = self.stalls.advance(op, from_ns, work_ns);
        if held {
            self.stalled += 1;
            d.rule.get_or_insert_with(|| STALL_LABEL.into());
        }
        due_ns
    }

    fn refuse(
        &mut self,
        op: Op,
        at_ns: u64,
        instead: Instead,
        label: Arc<str>,
        d: &mut Decision,
    ) -> (u64, u64) {
        let delay_ns = instead.delay_ns.unwrap_or(0);
        (d.rule, d.instead) = (Some(label), Some(instead));
        (self.held(op, at_ns, delay_ns, d), delay_ns)
    }

    fn refusal(&mut self, op: Op, key: &str, at_ns: u64) -> Option<(Instead, Arc<str>)> {
        for (armed, bucket) in &mut self.caps {
            if armed.picker.takes(op, key, at_ns) && !bucket.take(at_ns) {
                armed.fired += 1;
                let r = &armed.rule;
                return Some((
                    refusal(r.status, r.code.as_ref(), r.delay_ms, r.retry_after_s),
                    armed.label.clone(),
                ));
            }
        }
        let (s, bucket, fired) = self.schedule.as_mut()?;
        if !s.op.contains(op) || bucket.take(at_ns) {
            return None;
        }
        *fired += 1;
        Some((refusal(s.status, s.code.as_ref(), s.delay_ms, s.retry_after_s), SCHEDULE_LABEL.into()))
    }

    /// Full buckets and an empty queue, when the script's clock starts anew.
    pub(super) fn clear(&mut self) {
        self.caps.iter_mut().for_each(|(_, bucket)| bucket.clear());
        if let Some((_, bucket, _)) = &mut self.schedule {
            bucket.clear();
        }
        if let Some(queue) = &mut self.queue {
            queue.clear();
        }
    }

    pub(super) fn report(&self, out: &mut Fired) {
        out.extend(self.delays.iter().map(|(armed, _)| (armed.label.clone(), armed.fired)));
        out.extend((!self.stalls.is_empty()).then(|| (STALL_LABEL.into(), self.stalled)));
        out.extend(self.queue.as_ref().map(|_| (QUEUE_LABEL.into(), self.queue_full)));
        out.extend(self.caps.iter().map(|(armed, _)| (armed.label.clone(), armed.fired)));
        out.extend(self.schedule.as_ref().map(|(_, _, fired)| (SCHEDULE_LABEL.into(), *fired)));
    }
}
