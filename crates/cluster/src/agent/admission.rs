//! Which requests of a kind come in at an agent. Where NATS has no logins anybody may send any number of them: what nobody
//! whom it trusts can have signed costs a comparison, what may be is looked at for a fifth of the time at most, and no such
//! request takes the place of one that is signed.

use std::time::Duration;

use cosmark_wire::message::EnvelopeKind;
use tokio::time::Instant;

use crate::driver::trust::{Admitted, SharedTrust};

/// Requests of each kind that are followed in a second; what comes beyond is not answered.
const MOST: u32 = 50;
/// No request is larger.
const MOST_BYTES: usize = 64 << 10;
/// So much of each stretch is spent on signatures.
pub(super) const STRETCH: Duration = Duration::from_millis(100);
pub(super) const SPENT: Duration = Duration::from_millis(20);

/// How many may still come in this second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count {
    left: u32,
    since: Instant,
}

impl Count {
    pub(super) fn new() -> Self {
        Self { left: MOST, since: Instant::now() }
    }

    /// Takes one of those that are left; false where too many come.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) >= Duration::from_secs(1) {
            *self = Self { left: MOST, since: now };
        }
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }
}

/// Time that is spent on signatures.
#[derive(Debug, Clone, Copy)]
struct Spending {
    spent: Duration,
    since: Instant,
}

impl Spending {
    fn may(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) >= STRETCH {
            *self = Self { spent: Duration::ZERO, since: now };
        }
        self.spent < SPENT
    }

    fn spend(&mut self, time: Duration) {
        self.spent = self.spent.saturating_add(time);
    }
}

/// Lets requests of one kind in.
#[derive(Debug)]
pub(super) struct Admission {
    kind: EnvelopeKind,
    /// Of those who are trusted.
    signed: Count,
    /// Of others: what they are is said of so many.
    strangers: Count,
    signatures: Spending,
    /// When it was asked last whom to trust.
    learned: Option<Instant>,
}

impl Admission {
    pub(super) fn new(kind: EnvelopeKind) -> Self {
        let signatures = Spending { spent: Duration::ZERO, since: Instant::now() };
        Self { kind, signed: Count::new(), strangers: Count::new(), signatures, learned: None }
    }

    /// Whether it may be asked now whom to trust: once a second.
    pub(super) fn may_learn(&mut self, now: Instant) -> bool {
        let may = self.learned.is_none_or(|at| now.saturating_duration_since(at) >= Duration::from_secs(1));
        if may {
            self.learned = Some(now);
        }
        may
    }

    /// The request, if it is to be followed.
    pub(super) fn admit(&mut self, trust: &SharedTrust, payload: &[u8], now: Instant) -> Option<Admitted> {
        let mut trust = trust.get();
        if payload.len() > MOST_BYTES || !trust.may_be_followed(payload, self.kind) {
            if self.strangers.take(now) {
                trust.say_of(payload, self.kind);
            }
            return None;
        }
        if !self.signatures.may(now) {
            return None;
        }
        let began = Instant::now();
        let admitted = match self.kind {
            EnvelopeKind::Fault => trust.fault(payload),
            _ => trust.look(payload),
        };
        self.signatures.spend(began.elapsed());
        admitted.filter(|_| self.signed.take(now))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cosmark_wire::message::Envelope;
    use cosmark_wire::{MESSAGE_VERSION, unix_ns};

    use super::*;
    use crate::driver::trust::Trust;
    use crate::nats::Identity;

    fn identity(secret: &[u8]) -> Identity {
        Identity::derive(secret, "controller").unwrap()
    }

    fn signed(by: &Identity, id: &str, at_ns: i64) -> Vec<u8> {
        let envelope = Envelope {
            version: MESSAGE_VERSION,
            kind: EnvelopeKind::Fault,
            driver: "s1".into(),
            run: String::new(),
            id: id.into(),
            step: None,
            issued_ns: at_ns,
        };
        by.sign(&envelope, b"ask").unwrap()
    }

    fn trusting(me: &Identity, directory: &std::path::Path) -> SharedTrust {
        let given = [me.public().to_owned()];
        SharedTrust::new(Trust::open(directory, "s1", &given, Arc::new(|_: &str| {})).unwrap())
    }

    #[test]
    fn a_flood_of_requests_that_nobody_trusted_signed_keeps_none_out_that_is_signed() {
        let directory = tempfile::tempdir().unwrap();
        let (me, stranger) = (identity(b"me"), identity(b"stranger"));
        let trust = trusting(&me, directory.path());
        let now_ns = unix_ns();
        let replayed = signed(&me, "w0/gone 1/fault", now_ns);
        // One whose time is long past under a stolen name, with a signature of nothing.
        let mut old = signed(&stranger, "w1/gone 1/fault", now_ns - 7200 * 1_000_000_000);
        old[..56].copy_from_slice(me.public().as_bytes());
        let flood = [
            Vec::new(),
            vec![7; 300],
            vec![b'U'; MOST_BYTES + 1],
            signed(&stranger, "x", now_ns),
            old,
            replayed,
        ];
        let mut admission = Admission::new(EnvelopeKind::Fault);
        let now = Instant::now();
        assert!(admission.admit(&trust, &flood[5], now).is_some());
        // All within one moment: nothing that was spent comes back.
        admission.signatures = Spending { spent: Duration::ZERO, since: now };
        let began = Instant::now();
        for number in 0..40 {
            for at in 0..600 {
                assert!(admission.admit(&trust, &flood[at % flood.len()], now).is_none());
            }
            admission.signatures.spent = Duration::ZERO;
            let ask = signed(&me, "w1/gone 1/fault", now_ns + number);
            assert!(admission.admit(&trust, &ask, now).is_some(), "{number}");
        }
        // 24 000 signatures would be a second and a half where all is optimized.
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert!(trust.get().forged() > 0);
    }

    #[test]
    fn signatures_under_a_stolen_name_are_looked_at_for_a_fifth_of_the_time_and_one_that_is_good_comes_in_then()
     {
        let directory = tempfile::tempdir().unwrap();
        let (me, stranger) = (identity(b"me"), identity(b"stranger"));
        let trust = trusting(&me, directory.path());
        let mut admission = Admission::new(EnvelopeKind::Fault);
        let start = Instant::now();
        let now_ns = unix_ns();
        let mut spent = Duration::ZERO;
        for stretch in 0..5u32 {
            let now = start + STRETCH * stretch;
            let good = signed(&me, "w1/gone 1/fault", now_ns + i64::from(stretch));
            assert!(admission.admit(&trust, &good, now).is_some(), "the first of a stretch");
            for number in 0..20_000 {
                let mut forged = signed(&stranger, "w2/gone 1/fault", now_ns + number);
                forged[..56].copy_from_slice(me.public().as_bytes());
                if !admission.signatures.may(now) {
                    break;
                }
                assert!(admission.admit(&trust, &forged, now).is_none());
            }
            let before = trust.get().forged();
            let mut forged = signed(&stranger, "w2/gone 1/fault", now_ns);
            forged[..56].copy_from_slice(me.public().as_bytes());
            assert!(admission.admit(&trust, &forged, now).is_none());
            assert_eq!(trust.get().forged(), before, "it was not looked at");
            spent += admission.signatures.spent;
        }
        // The last one of each stretch may have begun within it.
        assert!(spent >= SPENT * 5, "{spent:?}");
    }

    #[test]
    fn of_those_who_are_trusted_so_many_are_followed_in_a_second_and_it_is_learned_once() {
        let directory = tempfile::tempdir().unwrap();
        let me = identity(b"me");
        let trust = trusting(&me, directory.path());
        let mut admission = Admission::new(EnvelopeKind::Fault);
        let now = Instant::now();
        let mut follow = |from: i64, now: Instant| {
            let asked = (from..from + 80).map(|number| signed(&me, "w1/x", unix_ns() + number));
            asked
                .filter(|ask| {
                    admission.signatures.spent = Duration::ZERO;
                    admission.admit(&trust, ask, now).is_some()
                })
                .count()
        };
        assert_eq!(follow(0, now), 50);
        assert_eq!(follow(10_000_000_000, now + Duration::from_secs(1)), 50);
        assert!(admission.may_learn(now) && !admission.may_learn(now));
        assert!(admission.may_learn(now + Duration::from_secs(1)));
    }
}
