//! One error type: a kind for machines, which is counted, and a sentence with a remedy for people.

use std::fmt;

/// Result of every fallible call of an adaptor or auth.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, by meaning; samples are counted by [`ErrorKind::label`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The store answered with this HTTP status (or its protocol's equivalent).
    Status(u16),
    /// No complete answer within the operation's time limit.
    Timeout,
    /// No connection: refused, unreachable, name not found.
    Connect,
    /// The connection was reset or closed before the answer was complete in its head.
    Reset,
    /// TLS handshake or certificate.
    Tls,
    /// The body ended before its announced length.
    ShortBody,
    /// The body is not what was written.
    CorruptBody,
    /// Another range of the object than was asked for, or the whole object.
    WrongRange,
    /// The body is complete, and not as long as what was written.
    WrongLength,
    /// The listing lacks names that must be in it, or has some of them twice.
    WrongListing,
    /// The answer is not valid in its protocol.
    Protocol,
    /// The adaptor cannot do this operation.
    Unsupported,
    /// A setting is missing or wrong.
    Config,
    /// A file or device of this machine.
    LocalIo,
    /// Stopped by us, at the end of the run or by the user.
    Aborted,
    /// Login failed: wrong user, key or project, or no store for this login.
    Denied,
}

impl ErrorKind {
    /// Every kind that is no HTTP status, with its name in `run.json` and what it means.
    pub const TABLE: &'static [(ErrorKind, &'static str, &'static str)] = &[
        (Self::Timeout, "timeout", "no complete answer within the operation's time limit"),
        (Self::Connect, "connect", "no connection: refused, unreachable, name not found"),
        (Self::Reset, "reset", "the connection ended before the answer's head was complete"),
        (Self::Tls, "tls", "TLS handshake or certificate"),
        (Self::ShortBody, "short_body", "the body ended before its announced length"),
        (Self::CorruptBody, "corrupt_body", "the body is not what was written (`verify`, `hashcheck`)"),
        (
            Self::WrongRange,
            "wrong_range",
            "a read of a range was answered by other bytes: no or another `Content-Range`, the whole object, a part of another \
             length than it says; or a whole object was asked for and a part came",
        ),
        (
            Self::WrongLength,
            "wrong_length",
            "the answer is complete, and longer or shorter than the object can be by the sizes that this workload wrote",
        ),
        (
            Self::WrongListing,
            "wrong_listing",
            "a listing ends with fewer names than this workload wrote into its container and nothing deletes, or has a name more \
             than once",
        ),
        (
            Self::Protocol,
            "protocol",
            "the answer is not valid in its protocol, or does not say that what was asked for was done: a copy, a bulk delete or \
             the completion of an upload without its whole report, a listing that breaks off, has other names or more of them \
             than were asked for, or never ends",
        ),
        (Self::Unsupported, "unsupported", "the adaptor cannot do this operation"),
        (Self::Config, "config", "a setting is missing or wrong"),
        (Self::LocalIo, "local_io", "a file or device of the driver's machine"),
        (Self::Aborted, "aborted", "stopped by Cosmark, at the end of the run or by the user"),
        (Self::Denied, "denied", "login failed: wrong user, key or project, or no store for this login"),
    ];

    /// The name in `run.json`: `http_503`, `timeout`, `connect`, ..
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::Status(code) => format!("http_{code}"),
            other => {
                let row = Self::TABLE.iter().find(|(kind, ..)| *kind == other);
                row.map_or("other", |(_, label, _)| label).to_owned()
            }
        }
    }

    /// True where trying again at once would only spin: no server answered at all.
    #[must_use]
    pub fn is_unreachable(self) -> bool {
        matches!(self, Self::Connect | Self::Tls)
    }
}

/// A text as it may stand in one line of a terminal, a log, a table: what would move the cursor, change colours, end the line
/// or turn the direction of writing is replaced by `?`, breaks between words by blanks. Everything that a store, a login
/// service or a plugin says comes through here, because it becomes part of an [`Error`].
#[must_use]
pub fn plain(text: String) -> String {
    let is_hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    if !text.contains(is_hostile) {
        return text;
    }
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        c if is_hostile(c) => '?',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Longest sentence or remedy, in bytes: a store that answers with a name or a reason of megabytes would have them in every
/// example of its errors.
const MOST_BYTES: usize = 4096;

/// A text as it may stand in an error: [`plain`], and no longer than a long sentence.
fn sentence(mut text: String) -> String {
    if text.len() > MOST_BYTES {
        text.truncate(text.floor_char_boundary(MOST_BYTES));
        text.push_str("..");
    }
    plain(text)
}

/// A failed operation or login. Small on purpose (one pointer): it travels in every result of the hot path.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    code: Option<String>,
    message: String,
    hint: Option<String>,
    partial_bytes: u64,
}

impl Error {
    /// `message`: one sentence without a full stop, no secrets.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = sentence(message.into());
        Self(Box::new(Inner { kind, code: None, message, hint: None, partial_bytes: 0 }))
    }

    /// The protocol's own code, such as `NoSuchKey`; at most 64 characters are kept.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        let mut code = plain(code.into());
        if code.len() > 64 {
            let cut = (0..=64).rev().find(|at| code.is_char_boundary(*at)).unwrap_or(0);
            code.truncate(cut);
        }
        self.0.code = Some(code);
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(sentence(hint.into()));
        self
    }

    /// Body bytes that were transferred before it failed.
    #[must_use]
    pub fn with_partial_bytes(mut self, bytes: u64) -> Self {
        self.0.partial_bytes = bytes;
        self
    }

    /// The kind it is counted by.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The protocol's own code.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The remedy.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Body bytes transferred before it failed.
    #[must_use]
    pub fn partial_bytes(&self) -> u64 {
        self.0.partial_bytes
    }

    /// HTTP status, if a server answered with one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self.0.kind {
            ErrorKind::Status(code) => Some(code),
            _ => None,
        }
    }

    /// True when a new login may help: HTTP 401, or the code of S3 for temporary credentials that have ended, which comes
    /// with 400 or 403 (Amazon S3 API Reference, Error responses).
    #[must_use]
    pub fn is_session_over(&self) -> bool {
        self.0.kind == ErrorKind::Status(401)
            || matches!(self.code(), Some("ExpiredToken" | "TokenRefreshRequired"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(hint) = &self.0.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({}", self.0.kind.label())?;
        if let Some(code) = &self.0.code {
            write!(f, " {code}")?;
        }
        write!(f, ": {self})")
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_says_at_great_length_is_cut() {
        for said in ["k".repeat(1_000_000), "\u{4e2d}".repeat(1_000_000)] {
            let error = Error::new(ErrorKind::Status(403), said.as_str())
                .with_hint(said.as_str())
                .with_code(said.as_str());
            for text in [error.message(), error.hint().unwrap(), error.code().unwrap()] {
                assert!(
                    text.len() <= MOST_BYTES + 2 && said.starts_with(text.trim_end_matches('.')),
                    "{}",
                    text.len()
                );
            }
        }
        let whole = "w".repeat(MOST_BYTES);
        assert_eq!(Error::new(ErrorKind::Protocol, whole.as_str()).message(), whole);
    }

    #[test]
    fn what_a_store_says_cannot_drive_a_terminal_or_end_a_line() {
        let said = "no\u{1b}[2J\u{1b}]0;owned\u{7} such\r\nkey\u{9b}31m\u{202e}gpj.exe\u{2028}end\0\u{7f}";
        let error = Error::new(ErrorKind::Status(404), said).with_code(said).with_hint(said);
        for text in [
            error.message(),
            error.code().unwrap(),
            error.hint().unwrap(),
            &error.to_string(),
            &format!("{error:?}"),
        ] {
            assert!(
                text.contains("such")
                    && !text.contains(|c: char| c.is_control() || c == '\u{202e}' || c == '\u{2028}'),
                "{text:?}"
            );
        }
        assert_eq!(plain("größe 5 µs – “ok” 日本".to_owned()), "größe 5 µs – “ok” 日本");
    }

    #[test]
    fn each_kind_has_a_row_and_a_name_of_its_own() {
        let mut labels: Vec<&str> = ErrorKind::TABLE.iter().map(|(_, label, _)| *label).collect();
        for (kind, label, meaning) in ErrorKind::TABLE {
            assert_eq!(kind.label(), *label);
            assert!(!meaning.is_empty());
        }
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), ErrorKind::TABLE.len());
        // The compiler asks for a row when a kind is added.
        let row = |kind: ErrorKind| match kind {
            ErrorKind::Status(_) => true,
            ErrorKind::Timeout
            | ErrorKind::Connect
            | ErrorKind::Reset
            | ErrorKind::Tls
            | ErrorKind::ShortBody
            | ErrorKind::CorruptBody
            | ErrorKind::WrongRange
            | ErrorKind::WrongLength
            | ErrorKind::WrongListing
            | ErrorKind::Protocol
            | ErrorKind::Unsupported
            | ErrorKind::Config
            | ErrorKind::LocalIo
            | ErrorKind::Aborted
            | ErrorKind::Denied => ErrorKind::TABLE.iter().any(|(own, ..)| *own == kind),
        };
        assert!(ErrorKind::TABLE.iter().all(|(kind, ..)| row(*kind)) && row(ErrorKind::Status(500)));
        assert_eq!(ErrorKind::TABLE.len(), 15);
    }
}
