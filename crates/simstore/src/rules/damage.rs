//! Rules that are asked when there is an answer: what is done to it on its way out, and which past it shows.

use std::sync::Arc;

use super::armed::{Armed, Fired, arm, first, report};
use super::pick::{below, millis_ns};
use super::verdict::{Change, Faults, Past};
use crate::behaviour::{
    Behaviour, ChunkedRule, EndlessHeadersRule, FlipRule, GarbageRule, Op, StaleListRule, StaleRule,
    TrickleRule, TruncateRule, WrongLengthRule,
};

pub(super) struct AnswerRules {
    truncate: Vec<Armed<TruncateRule>>,
    flip: Vec<Armed<FlipRule>>,
    wrong_length: Vec<Armed<WrongLengthRule>>,
    garbage: Vec<Armed<GarbageRule>>,
    endless: Vec<Armed<EndlessHeadersRule>>,
    trickle: Vec<Armed<TrickleRule>>,
    chunked: Vec<Armed<ChunkedRule>>,
}

impl AnswerRules {
    pub(super) fn new(b: &Behaviour) -> AnswerRules {
        AnswerRules {
            truncate: arm(&b.truncate, "truncate", b.seed),
            flip: arm(&b.flip_byte, "flip_byte", b.seed),
            wrong_length: arm(&b.wrong_content_length, "wrong_content_length", b.seed),
            garbage: arm(&b.garbage_status_line, "garbage_status_line", b.seed),
            endless: arm(&b.endless_headers, "endless_headers", b.seed),
            trickle: arm(&b.slow_trickle, "slow_trickle", b.seed),
            chunked: arm(&b.chunked, "chunked", b.seed),
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.truncate.is_empty()
            && self.flip.is_empty()
            && self.wrong_length.is_empty()
            && self.garbage.is_empty()
            && self.endless.is_empty()
            && self.trickle.is_empty()
            && self.chunked.is_empty()
    }

    /// What is done to an answer with a body of this length (0: none that may be harmed).
    pub(super) fn faults(
        &mut self,
        op: Op,
        key: &str,
        at_ns: u64,
        body: u64,
        rule: &mut Option<Arc<str>>,
    ) -> Faults {
        let mut faults = Faults::default();
        if body > 0 {
            self.body_faults(op, key, at_ns, body, &mut faults, rule);
        }
        if let Some(armed) = first(&mut self.garbage, op, key, at_ns) {
            faults.garbage = Some(armed.rule.text.clone());
            *rule = Some(armed.label.clone());
        }
        if let Some(armed) = first(&mut self.endless, op, key, at_ns) {
            faults.endless_limit = Some(armed.rule.limit_bytes);
            *rule = Some(armed.label.clone());
        }
        faults
    }

    fn body_faults(
        &mut self,
        op: Op,
        key: &str,
        at_ns: u64,
        body: u64,
        faults: &mut Faults,
        rule: &mut Option<Arc<str>>,
    ) {
        let mut note = |label: &Arc<str>| *rule = Some(label.clone());
        if let Some(armed) = first(&mut self.chunked, op, key, at_ns) {
            faults.chunked = true;
            note(&armed.label);
        }
        if let Some(armed) = first(&mut self.trickle, op, key, at_ns) {
            faults.trickle = Some((armed.rule.bytes, millis_ns(armed.rule.every_ms)));
            note(&armed.label);
        }
        if let Some(armed) = first(&mut self.flip, op, key, at_ns) {
            faults.flip_at = Some(below(armed.picker.random(), body));
            note(&armed.label);
        }
        if let Some(armed) = first(&mut self.wrong_length, op, key, at_ns) {
            faults.length_by = Some(armed.rule.by);
            note(&armed.label);
        }
        if let Some(armed) = first(&mut self.truncate, op, key, at_ns) {
            faults.stop_at = Some(((body as f64 * armed.rule.keep) as u64).min(body - 1));
            faults.chunked |= armed.rule.chunked;
            note(&armed.label);
        }
    }

    pub(super) fn report(&self, out: &mut Fired) {
        report(&self.truncate, out);
        report(&self.flip, out);
        report(&self.wrong_length, out);
        report(&self.garbage, out);
        report(&self.endless, out);
        report(&self.trickle, out);
        report(&self.chunked, out);
    }
}

/// Rules that show what was before.
pub(super) struct PastRules {
    stale: Vec<Armed<StaleRule>>,
    stale_list: Vec<Armed<StaleListRule>>,
}

impl PastRules {
    pub(super) fn new(b: &Behaviour) -> PastRules {
        PastRules {
            stale: arm(&b.stale, "stale", b.seed),
            stale_list: arm(&b.stale_list, "stale_list", b.seed),
        }
    }

    /// The longest window; 0 without a rule.
    pub(super) fn window_ns(&self) -> u64 {
        let reads = self.stale.iter().map(|armed| armed.rule.window_ms);
        let lists = self.stale_list.iter().map(|armed| armed.rule.window_ms);
        reads.chain(lists).map(millis_ns).max().unwrap_or(0)
    }

    pub(super) fn shows(
        &mut self,
        op: Op,
        key: &str,
        at_ns: u64,
        age_ns: u64,
        change: Change,
    ) -> Option<Arc<str>> {
        let concerns = |rule: &StaleRule| match change {
            Change::Create => rule.create,
            Change::Overwrite => rule.overwrite,
            Change::Delete => rule.delete,
        };
        let armed = self.stale.iter_mut().find_map(|armed| {
            let open = concerns(&armed.rule) && age_ns < millis_ns(armed.rule.window_ms);
            (open && armed.picker.takes(op, key, at_ns)).then_some(armed)
        })?;
        armed.fired += 1;
        Some(armed.label.clone())
    }

    pub(super) fn lists(&mut self, op: Op, at_ns: u64) -> Option<(Past, Arc<str>)> {
        let armed = first(&mut self.stale_list, op, "", at_ns)?;
        let rule = &armed.rule;
        let past = Past { window_ns: millis_ns(rule.window_ms), create: rule.create, delete: rule.delete };
        Some((past, armed.label.clone()))
    }

    pub(super) fn report(&self, out: &mut Fired) {
        report(&self.stale, out);
        report(&self.stale_list, out);
    }
}
