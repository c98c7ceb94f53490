//! Whether a driver may make load for one run, by what it has heard of the run's lease. The states are in
//! [`cosmark_wire::lease`]; the clocks are here.

use std::sync::Arc;
use std::time::Duration;

use cosmark_engine::{Held, LoadPermit};
use cosmark_wire::lease::{Lease, Standing};
use tokio::time::Instant;

/// Nobody renews the lease when nothing new was heard for so long although NATS answers.
pub const PATIENCE: Duration = Duration::from_secs(4);
/// The same after the connection was away: the controller may still have to make its own again.
pub const PATIENCE_AFTER_AWAY: Duration = Duration::from_secs(20);
/// A question that is not settled is asked again.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// A run of which nothing is going on here may have ended without a word.
const RECONCILE_EVERY: Duration = Duration::from_secs(20);

/// One run.
pub struct Tenure {
    /// What the load threads look at.
    pub permit: Arc<LoadPermit>,
    standing: Standing,
    lease: Option<Lease>,
    asked: Option<Instant>,
    /// What was asked before is not about this doubt.
    doubts_since: Instant,
    /// When the last question was asked whose answer it goes by: a renewal that is newer than the answer is as old as that at
    /// most.
    read_at: Option<Instant>,
    /// Since when questions are answered, in vain.
    answered: Option<Instant>,
    renewed: Option<Instant>,
}

impl Tenure {
    /// With the first order of a run.
    pub fn new() -> Self {
        Self {
            permit: LoadPermit::asked_for(),
            standing: Standing::FIRST,
            lease: None,
            asked: None,
            doubts_since: Instant::now(),
            read_at: None,
            answered: None,
            renewed: None,
        }
    }

    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// What was heard last.
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Time since a renewal was heard.
    pub fn age(&self) -> Option<Duration> {
        self.renewed.map(|at| at.elapsed())
    }

    /// After how long without a renewal it makes no more load.
    pub fn lost_after(&self) -> Duration {
        Duration::from_millis(self.lease.as_ref().map_or(0, |lease| lease.lost_after_ms))
    }

    /// A renewal.
    pub fn hears(&mut self, lease: &Lease) {
        self.turn(self.standing.hears(lease), Some(lease));
    }

    /// The answer to a question that was asked at `asked`; `None` = there is no such lease.
    pub fn is_told(&mut self, asked: Instant, lease: Option<&Lease>) {
        if asked < self.doubts_since {
            return;
        }
        self.answered.get_or_insert_with(Instant::now);
        // While an answer says what the one before said, nothing newer was said up to its question.
        let the_same = Standing::Asks { told: lease.map(|lease| lease.beat) };
        if [Standing::FIRST, the_same].contains(&self.standing) {
            self.read_at = self.read_at.max(Some(asked));
        }
        self.turn(self.standing.is_told(lease), lease);
    }

    /// There is a new order.
    pub fn is_ordered(&mut self) {
        let standing = self.standing.is_ordered();
        if standing != self.standing {
            self.standing = standing;
            self.asks_anew();
        }
    }

    fn asks_anew(&mut self) {
        (self.asked, self.read_at, self.answered, self.doubts_since) = (None, None, None, Instant::now());
    }

    fn turn(&mut self, standing: Standing, lease: Option<&Lease>) {
        let before = std::mem::replace(&mut self.standing, standing);
        if let Some(lease) = lease
            && self.lease.as_ref().is_none_or(|known| known.beat <= lease.beat)
        {
            self.lease = Some(lease.clone());
        }
        match (before, standing) {
            (Standing::Makes { beat: old }, Standing::Makes { beat }) if beat > old => {
                self.renewed = Some(Instant::now());
                self.permit.renew(self.lost_after());
            }
            (Standing::Asks { .. }, Standing::Makes { .. }) => {
                (self.answered, self.renewed) = (None, Some(Instant::now()));
                let age = self.read_at.take().map_or(Duration::MAX, |asked| asked.elapsed());
                self.permit.grant(self.lost_after().saturating_sub(age));
            }
            (_, Standing::Over | Standing::Rests) => self.permit.hold(Held::Expired),
            _ => {}
        }
    }

    /// Looks at the clocks. `jumped`: this process stood still. `is_at_work`: something of the run is going on here. True when the
    /// lease is to be asked for now.
    pub fn look(&mut self, jumped: bool, is_at_work: bool, patience: Duration) -> bool {
        let expired = self.permit.left().is_zero();
        let makes = self.standing.may_make_load();
        if jumped || makes && (expired || self.permit.is_held()) {
            self.permit.hold(if jumped { Held::Jumped } else { Held::Expired });
            self.standing = self.standing.doubts();
            self.asks_anew();
        }
        let in_vain = self.answered.is_some_and(|since| since.elapsed() > patience);
        if in_vain && matches!(self.standing, Standing::Asks { .. }) {
            self.turn(self.standing.gives_up(), None);
        }
        let every = match self.standing {
            Standing::Asks { .. } if is_at_work => ASK_EVERY,
            Standing::Over => return false,
            _ if is_at_work => return false,
            _ => RECONCILE_EVERY,
        };
        let is_due = self.asked.is_none_or(|at| at.elapsed() >= every);
        if is_due {
            self.asked = Some(Instant::now());
        }
        is_due
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        self.permit.revoke();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(beat: u64) -> Lease {
        Lease { beat, ..Lease::begin(1, 3_000) }
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_works_is_asked_about_twice_a_second_and_an_idle_one_every_twenty_seconds() {
        let mut tenure = Tenure::new();
        assert!(tenure.look(false, true, PATIENCE), "the first question is due at once");
        assert!(!tenure.look(false, true, PATIENCE));
        tokio::time::advance(ASK_EVERY).await;
        assert!(tenure.look(false, true, PATIENCE));
        let asked = Instant::now();
        tenure.is_told(asked, Some(&lease(1)));
        tenure.hears(&lease(2));
        assert!(tenure.standing().may_make_load());
        assert!(!tenure.look(false, true, PATIENCE), "what is renewed is not asked about");
        assert!(!tenure.look(false, false, PATIENCE));
        tokio::time::advance(RECONCILE_EVERY).await;
        assert!(tenure.look(false, false, PATIENCE));
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_answered_in_vain_for_longer_than_the_patience_gives_up() {
        let mut tenure = Tenure::new();
        let asked = Instant::now();
        assert!(tenure.look(false, true, PATIENCE));
        tenure.is_told(asked, Some(&lease(1)));
        assert!(matches!(tenure.standing(), Standing::Asks { .. }));
        tokio::time::advance(PATIENCE).await;
        tenure.look(false, true, PATIENCE);
        assert!(matches!(tenure.standing(), Standing::Asks { .. }), "it is not over before");
        tokio::time::advance(Duration::from_millis(1)).await;
        tenure.look(false, true, PATIENCE);
        assert!(!matches!(tenure.standing(), Standing::Asks { .. }), "{:?}", tenure.standing());
        assert!(!tenure.standing().may_make_load());
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_is_as_old_at_most_as_the_last_question_whose_answer_did_not_know_it() {
        let mut tenure = Tenure::new();
        let mut asked = Instant::now();
        for _ in 0..5 {
            asked = Instant::now();
            tenure.is_told(asked, Some(&lease(4)));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        // The answer to a question from before comes late, and changes nothing.
        tenure.is_told(asked.checked_sub(Duration::from_secs(3)).unwrap(), Some(&lease(4)));
        tenure.hears(&lease(5));
        assert!(tenure.standing().may_make_load());
        let left = tenure.permit.left();
        assert!(left > Duration::from_millis(1_500) && left <= Duration::from_secs(2), "{left:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_to_a_question_from_before_the_doubt_says_nothing() {
        let mut tenure = Tenure::new();
        let before = Instant::now();
        tokio::time::advance(Duration::from_secs(1)).await;
        tenure.look(true, true, PATIENCE);
        tenure.is_told(before, Some(&lease(7)));
        tenure.hears(&lease(7));
        assert!(!tenure.standing().may_make_load(), "the answer is older than the doubt");
    }
}
