//! Rules that are asked when the head of a request was read: pace, resets, and answers instead of the operation.

use std::rc::Rc;
use std::sync::Arc;

use super::armed::{Armed, Fired, arm, first, report};
use super::load::Link;
use super::pick::millis_ns;
use super::verdict::{Decision, Instead, InsteadKind, Pace};
use crate::behaviour::{
    BandwidthRule, Behaviour, ErrorRule, HiddenErrorRule, Op, RedirectRule, ResetAt, ResetRule,
};

pub(super) struct HeadRules {
    bandwidth: Vec<Armed<BandwidthRule>>,
    errors: Vec<Armed<ErrorRule>>,
    redirects: Vec<Armed<RedirectRule>>,
    hidden: Vec<Armed<HiddenErrorRule>>,
    resets: Vec<Armed<ResetRule>>,
    accept_resets: Vec<Armed<ResetRule>>,
    download: Option<Rc<Link>>,
    upload: Option<Rc<Link>>,
}

fn link(per_s: Option<f64>) -> Option<Rc<Link>> {
    per_s.map(|per_s| Rc::new(Link::new(per_s)))
}

impl HeadRules {
    pub(super) fn new(b: &Behaviour) -> HeadRules {
        let (accept_resets, resets) =
            arm(&b.reset, "reset", b.seed).into_iter().partition(|armed| armed.rule.at == ResetAt::Accept);
        HeadRules {
            bandwidth: arm(&b.bandwidth, "bandwidth", b.seed),
            errors: arm(&b.errors, "errors", b.seed),
            redirects: arm(&b.redirect_loop, "redirect_loop", b.seed),
            hidden: arm(&b.error_body_with_200, "error_body_with_200", b.seed),
            resets,
            accept_resets,
            download: link(b.link.as_ref().and_then(|link| link.download_bytes_per_s)),
            upload: link(b.link.as_ref().and_then(|link| link.upload_bytes_per_s)),
        }
    }

    /// Whether no request will ever meet one of these rules.
    pub(super) fn is_quiet(&self) -> bool {
        self.bandwidth.is_empty()
            && self.errors.is_empty()
            && self.redirects.is_empty()
            && self.hidden.is_empty()
            && self.resets.is_empty()
            && self.download.is_none()
            && self.upload.is_none()
    }

    /// Whether a new connection is reset.
    pub(super) fn resets_connection(&mut self, at_ns: u64) -> bool {
        let hit = self
            .accept_resets
            .iter_mut()
            .find_map(|armed| armed.picker.takes_connection(at_ns).then_some(armed));
        hit.map(|armed| armed.fired += 1).is_some()
    }

    pub(super) fn decide(&mut self, op: Op, key: &str, at_ns: u64) -> Decision {
        let mut decision = Decision { pace: self.pace(op, key, at_ns), ..Decision::default() };
        if let Some(armed) = first(&mut self.resets, op, key, at_ns) {
            decision.reset = Some(armed.rule.at);
            decision.rule = Some(armed.label.clone());
            if armed.rule.at == ResetAt::Request {
                return decision;
            }
        }
        if let Some((instead, label)) = self.instead(op, key, at_ns) {
            decision.instead = Some(instead);
            decision.rule = Some(label);
        }
        decision
    }

    fn pace(&mut self, op: Op, key: &str, at_ns: u64) -> Option<Pace> {
        let rule = first(&mut self.bandwidth, op, key, at_ns).map(|armed| &armed.rule);
        if rule.is_none() && self.download.is_none() && self.upload.is_none() {
            return None;
        }
        Some(Pace {
            download_per_s: rule.and_then(|rule| rule.bytes_per_s),
            upload_per_s: rule.and_then(|rule| rule.upload_bytes_per_s),
            first_byte_ns: rule.map_or(0, |rule| millis_ns(rule.first_byte_ms)),
            download: self.download.clone(),
            upload: self.upload.clone(),
        })
    }

    fn instead(&mut self, op: Op, key: &str, at_ns: u64) -> Option<(Instead, Arc<str>)> {
        if let Some(armed) = first(&mut self.errors, op, key, at_ns) {
            let rule = &armed.rule;
            let instead = Instead {
                status: rule.status,
                kind: InsteadKind::Error(rule.code.clone()),
                delay_ns: rule.delay_ms.map(millis_ns),
                retry_after_s: rule.retry_after_s,
                before_body: rule.before_body,
            };
            return Some((instead, armed.label.clone()));
        }
        let plain =
            |status, kind| Instead { status, kind, delay_ns: None, retry_after_s: None, before_body: false };
        if let Some(armed) = first(&mut self.redirects, op, key, at_ns) {
            return Some((plain(armed.rule.status, InsteadKind::Redirect), armed.label.clone()));
        }
        let armed = first(&mut self.hidden, op, key, at_ns)?;
        Some((plain(200, InsteadKind::Hidden(armed.rule.code.clone())), armed.label.clone()))
    }

    pub(super) fn report(&self, out: &mut Fired) {
        report(&self.bandwidth, out);
        report(&self.errors, out);
        report(&self.redirects, out);
        report(&self.hidden, out);
        report(&self.resets, out);
        report(&self.accept_resets, out);
    }
}
