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
    /// The name in `run.json`: `http_503`, `timeout`, `connect`, ..
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::Status(code) => format!("http_{code}"),
            Self::Timeout => "timeout".into(),
            Self::Connect => "connect".into(),
            Self::Reset => "reset".into(),
            Self::Tls => "tls".into(),
            Self::ShortBody => "short_body".into(),
            Self::CorruptBody => "corrupt_body".into(),
            Self::Protocol => "protocol".into(),
            Self::Unsupported => "unsupported".into(),
            Self::Config => "config".into(),
            Self::LocalIo => "local_io".into(),
            Self::Aborted => "aborted".into(),
            Self::Denied => "denied".into(),
        }
    }

    /// True where trying again at once would only spin: no server answered at all.
    #[must_use]
    pub fn is_unreachable(self) -> bool {
        matches!(self, Self::Connect | Self::Tls)
    }
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
        Self(Box::new(Inner { kind, code: None, message: message.into(), hint: None, partial_bytes: 0 }))
    }

    /// The protocol's own code, such as `NoSuchKey`; at most 64 characters are kept.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        let mut code: String = code.into();
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
        self.0.hint = Some(hint.into());
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

    /// True when a new login may help (HTTP 401).
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.0.kind == ErrorKind::Status(401)
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
