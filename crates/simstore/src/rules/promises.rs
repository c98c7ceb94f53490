//! Rules that break the word of the store: what is said to be done is not done, or not as it should be.

use std::sync::Arc;

use super::armed::{Armed, Fired, arm, first, report};
use crate::behaviour::{Behaviour, BrokenPromise, BrokenPromiseRule, Op};

pub(super) struct PromiseRules {
    broken: Vec<Armed<BrokenPromiseRule>>,
}

impl PromiseRules {
    pub(super) fn new(b: &Behaviour) -> PromiseRules {
        PromiseRules { broken: arm(&b.broken_promise, "broken_promise", b.seed) }
    }

    /// What becomes of a change that will be acknowledged, if not what was asked; by which rule.
    pub(super) fn breaks(&mut self, op: Op, key: &str, at_ns: u64) -> Option<(BrokenPromise, Arc<str>)> {
        let armed = first(&mut self.broken, op, key, at_ns)?;
        Some((armed.rule.kind, armed.label.clone()))
    }

    pub(super) fn report(&self, out: &mut Fired) {
        report(&self.broken, out);
    }
}
