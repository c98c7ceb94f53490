//! One request as it stands, for who wants to know how a store answers to what no operation asks: conditions, odd parameters,
//! misuse. The adaptor puts the names where its protocol has them and signs; everything else is the asker's.

use std::pin::Pin;

use crate::{Error, ErrorKind, Result};

/// Which protocol an [`Asker`] speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Amazon S3's REST API.
    S3,
    /// OpenStack Swift's object API v1.
    Swift,
}

/// In whose name a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Whom {
    /// The session's.
    #[default]
    Session,
    /// The session's user with a secret (or token) that is not his.
    WrongSecret,
    /// A user that the store does not know.
    Unknown,
    /// Nobody's: without a signature or token.
    Nobody,
    /// The session's, signed as an hour ago: what somebody who listened then could send again.
    AnHourAgo,
    /// The session's, signed as an hour from now: it would be good for longer than a request is.
    AnHourAhead,
    /// The session's, signed for another region than the store's.
    OtherRegion,
    /// The session's, with [`Ask::lines`] beside what is signed.
    UnsignedLines,
    /// The session's, with the body in frames of which each is signed.
    Frames,
    /// The same, but the frames are signed with a secret that is not his.
    ForgedFrames,
    /// Nobody's, by a link that the session's user has signed now: for a minute whoever has it may read this object.
    Link,
    /// The same, signed an hour ago for the minute behind that.
    OldLink,
    /// The same, but what was signed is the link to an object of another name.
    LinkToOther,
    /// An old link whose minute was made a week by who has it.
    StretchedLink,
    /// Nobody's, by a link that was signed now: for a minute whoever has it may write this object.
    WriteLink,
}

impl Whom {
    /// Whether it is nobody who has a link, be it a good one or not.
    #[must_use]
    pub const fn has_link(self) -> bool {
        matches!(self, Self::Link | Self::OldLink | Self::LinkToOther | Self::StretchedLink | Self::WriteLink)
    }

    /// What his link was signed for.
    #[must_use]
    pub const fn method_of_link(self) -> &'static str {
        if matches!(self, Self::WriteLink) { "PUT" } else { "GET" }
    }

    /// Whether his link was signed an hour ago.
    #[must_use]
    pub const fn is_of_an_hour_ago(self) -> bool {
        matches!(self, Self::OldLink | Self::StretchedLink)
    }
}

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// `GET`, `PUT`, ..
    pub method: &'static str,
    /// Container; empty = the account.
    pub container: &'a str,
    /// Object, unescaped; empty = the container. Without a container it is what a Swift says of itself, beside all
    /// accounts: `info`.
    pub object: &'a str,
    /// Parameters, unescaped, in any order.
    pub query: &'a [(&'a str, Option<&'a str>)],
    /// Further header lines, names in lower case, at most 6.
    pub lines: &'a [(&'a str, &'a str)],
    /// Body.
    pub body: &'a [u8],
    /// In whose name.
    pub whom: Whom,
    /// What the request says that the SHA-256 of its body is (S3's `x-amz-content-sha256`), if not the truth; of a link
    /// of Swift's the key that its container has.
    pub payload: Option<&'a str>,
    /// Announce a body of this length, in bytes, and send no more than [`Ask::body`], over a connection of its own: for limits that a
    /// store should know before it takes terabytes, and for writes that are broken off.
    pub announce_bytes: Option<u64>,
}

impl<'a> Ask<'a> {
    /// A request of the session's without parameters, lines and body.
    #[must_use]
    pub fn new(method: &'static str, container: &'a str, object: &'a str) -> Self {
        Self {
            method,
            container,
            object,
            query: &[],
            lines: &[],
            body: &[],
            whom: Whom::Session,
            payload: None,
            announce_bytes: None,
        }
    }
}

/// What came back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// Status.
    pub status: u16,
    /// Header lines in their order, names in lower case.
    pub lines: Vec<(String, String)>,
    /// Body, at most [`Reply::MOST_BYTES`] (of an answer that is no success, at most 64 KiB).
    pub body: Vec<u8>,
}

impl Reply {
    /// A longer body of a success fails with `Protocol`, in bytes.
    pub const MOST_BYTES: usize = 32 << 20;

    /// The first value of a header line; `name` in lower case.
    #[must_use]
    pub fn line(&self, name: &str) -> Option<&str> {
        self.lines.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// True for 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// One connection for such requests.
pub trait Asker {
    /// What it speaks.
    fn protocol(&self) -> Protocol;

    /// Sends one request and reads the whole answer; any status is `Ok`. Not limited in time: drop the future to give up, the next
    /// request opens a new connection.
    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>>;

    /// The fields of a form that the session's user signs now: whoever has it may write what its policy allows (S3's
    /// browser uploads), without a login. `conditions` are those of the policy beside what the signature needs, as JSON
    /// between commas; it ends so many seconds from now, or ended so many before.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] where the protocol or the login has no such forms.
    fn form(&self, _conditions: &str, _ends_in_s: i64) -> Result<Vec<(&'static str, String)>> {
        Err(Error::new(ErrorKind::Unsupported, "this protocol has no signed forms"))
    }

    /// The fields of a form that the key of a container signs now (Swift's FormPost): whoever has it may write one file
    /// of at most so many bytes, without a login. `place` is the container and what names begin with; it ends so many
    /// seconds from now, or ended so many before.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] where the protocol has no such forms.
    fn form_by_key(
        &self,
        _key: &str,
        _place: (&str, &str),
        _most_bytes: u64,
        _ends_in_s: i64,
    ) -> Result<Vec<(&'static str, String)>> {
        Err(Error::new(ErrorKind::Unsupported, "this protocol has no forms of containers"))
    }
}
