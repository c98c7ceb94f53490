//! What a check found: how it came out, and the best verdict that this leaves possible.

/// How a check came out. What was not run is never a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Fine.
    Pass,
    /// Not fine, within limits.
    Warn,
    /// Not fine.
    Fail,
    /// Could not be made.
    NotRun,
}

/// The best verdict that a finding leaves possible, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allows {
    /// The numbers say what they seem to say.
    True,
    /// They do, within a limit that the finding names.
    WithLimits,
    /// Too little data.
    NotProven,
    /// They do not.
    False,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// How it came out.
    pub status: Status,
    /// What it leaves possible.
    pub allows: Allows,
    /// What was found, in the unit of the row.
    pub value: Option<f64>,
    /// What it was compared with.
    pub limit: Option<f64>,
    /// What was found and what to do, one sentence or two.
    pub message: String,
    /// Which headline figure it can have moved, and by which share of it; `None` where nobody can say.
    pub moves: Option<(&'static str, f64)>,
    /// The check whose finding makes up for all of this one, e.g. `V12` of a rate that falls as failures come.
    pub because: Option<&'static str>,
}

impl Finding {
    fn new(status: Status, allows: Allows, value: Option<f64>, limit: Option<f64>, message: String) -> Self {
        Self {
            status,
            allows,
            value: value.filter(|v| v.is_finite()),
            limit,
            message,
            moves: None,
            because: None,
        }
    }

    /// Fine.
    #[must_use]
    pub fn pass(value: f64, limit: f64, message: impl Into<String>) -> Self {
        Self::new(Status::Pass, Allows::True, Some(value), Some(limit), message.into())
    }

    /// Not fine, within limits.
    #[must_use]
    pub fn warn(value: f64, limit: f64, message: impl Into<String>) -> Self {
        Self::new(Status::Warn, Allows::WithLimits, Some(value), Some(limit), message.into())
    }

    /// Not fine.
    #[must_use]
    pub fn fail(value: f64, limit: f64, message: impl Into<String>) -> Self {
        Self::new(Status::Fail, Allows::False, Some(value), Some(limit), message.into())
    }

    /// Not made because there is nothing to look at: this run has no such thing.
    #[must_use]
    pub fn does_not_apply(message: impl Into<String>) -> Self {
        Self::new(Status::NotRun, Allows::True, None, None, message.into())
    }

    /// Not made because something is not known: nobody can say that it is fine.
    #[must_use]
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::new(Status::NotRun, Allows::WithLimits, None, None, message.into())
    }

    /// Not made because the run was too short or too small.
    #[must_use]
    pub fn too_little(value: f64, limit: f64, message: impl Into<String>) -> Self {
        Self::new(Status::NotRun, Allows::NotProven, Some(value), Some(limit), message.into())
    }

    /// The same, where it can have moved this figure by this share of it.
    #[must_use]
    pub fn moving(mut self, figure: &'static str, share: f64) -> Self {
        self.moves = share.is_finite().then(|| (figure, share.clamp(0.0, 1.0)));
        self
    }

    /// The same, as a consequence of what another check finds.
    #[must_use]
    pub fn because_of(mut self, id: &'static str) -> Self {
        self.because = Some(id);
        self
    }

    /// `value` above `fail` fails, above `warn` warns; the messages are made only when they are needed.
    pub(crate) fn graded(
        value: f64,
        warn: f64,
        fail: f64,
        good: impl FnOnce() -> String,
        bad: impl FnOnce() -> String,
    ) -> Self {
        if value > fail {
            Self::fail(value, fail, bad())
        } else if value > warn {
            Self::warn(value, warn, bad())
        } else {
            Self::pass(value, warn, good())
        }
    }
}

/// The findings from the one that says most to the one that says least: what the verdict is because of comes first; among
/// equals a warning before what was not run, then the order of the table.
#[must_use]
pub fn rank(finding: &Finding) -> (std::cmp::Reverse<Allows>, bool) {
    (std::cmp::Reverse(finding.allows), finding.status == Status::NotRun)
}
