//! How an operation ended, in two bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// 0 is success; 100..=999 an HTTP status; above that the classes of [`Outcome::CLASSES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Outcome(u16);

const FIRST_CLASS: u16 = 1000;

impl Outcome {
    /// Class of what was in flight when the load was stopped for good: in the operation log, and in no count of failures.
    pub const GIVEN_UP: &'static str = "given_up";

    /// It worked.
    pub const OK: Outcome = Outcome(0);

    /// Names of the failures that are not an HTTP status, in the order of their codes.
    pub const CLASSES: &'static [&'static str] = &[
        "other",
        "timeout",
        "connect",
        "reset",
        "tls",
        "short_body",
        "corrupt_body",
        "protocol",
        "unsupported",
        "config",
        "local_io",
        "aborted",
        "denied",
        Self::GIVEN_UP,
        "wrong_range",
        "wrong_length",
        "wrong_listing",
    ];

    /// From a label such as `http_503` or `timeout`; unknown labels become `other`.
    #[must_use]
    pub fn failed(label: &str) -> Self {
        if let Some(status) = label.strip_prefix("http_").and_then(|text| text.parse().ok())
            && (100..FIRST_CLASS).contains(&status)
        {
            return Self(status);
        }
        let at = Self::CLASSES.iter().position(|class| *class == label).unwrap_or(0);
        Self(FIRST_CLASS + u16::try_from(at).unwrap_or(0))
    }

    /// True for success.
    #[must_use]
    pub fn is_ok(self) -> bool {
        self == Self::OK
    }

    /// The number behind it, for logs.
    #[must_use]
    pub fn code(self) -> u16 {
        self.0
    }

    /// `ok`, `http_503`, `timeout`, ..
    #[must_use]
    pub fn label(self) -> String {
        match self.0 {
            0 => "ok".into(),
            status if status < FIRST_CLASS => format!("http_{status}"),
            class => Self::CLASSES.get(usize::from(class - FIRST_CLASS)).copied().unwrap_or("other").into(),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_comes_back() {
        let labels = Outcome::CLASSES.iter().map(|class| (*class).to_owned());
        for label in labels.chain(["http_100".into(), "http_404".into(), "http_999".into()]) {
            assert_eq!(Outcome::failed(&label).label(), label);
        }
        assert_eq!(Outcome::failed("http_7").label(), "other");
        assert_eq!(Outcome::OK.label(), "ok");
    }
}
