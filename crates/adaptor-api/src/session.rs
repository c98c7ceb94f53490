//! What an auth hands to a storage adaptor.

use std::time::{Duration, Instant};

use crate::Secret;

/// The result of a login: whatever of it the storage adaptor needs.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// Token for `X-Auth-Token` or a bearer header.
    pub token: Option<Secret>,
    /// Where the account's containers are (Swift's `X-Storage-Url`, a catalogue's endpoint).
    pub storage_url: Option<String>,
    /// HTTP Basic or Digest credential.
    pub http: Option<HttpCredential>,
    /// Keys for AWS signatures.
    pub aws: Option<AwsKeys>,
    /// When it should be renewed, if the server said so.
    pub expires_at: Option<Instant>,
    /// Time that the login took.
    pub login_time: Duration,
}

/// What of a session lets requests in. An auth gives one of these, and a storage adaptor that takes none of what it gives has
/// no use for its login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionPart {
    /// [`Session::token`], sent as `X-Auth-Token`.
    AuthToken,
    /// [`Session::token`], sent as `Authorization: Bearer`.
    BearerToken,
    /// [`Session::http`].
    HttpCredential,
    /// [`Session::aws`].
    AwsKeys,
}

impl SessionPart {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::AuthToken, Self::BearerToken, Self::HttpCredential, Self::AwsKeys];
}

/// How to answer a `WWW-Authenticate` challenge (RFC 7617, RFC 7616).
#[derive(Debug, Clone)]
pub enum HttpCredential {
    /// Sent with every request.
    Basic {
        /// User name.
        username: String,
        /// Password.
        password: Secret,
    },
    /// Computed for every request from the server's challenge.
    Digest {
        /// User name.
        username: String,
        /// Password.
        password: Secret,
        /// The challenge as received, without the word `Digest`.
        challenge: String,
    },
}

/// Keys for AWS signatures; the token is there for temporary credentials.
#[derive(Debug, Clone)]
pub struct AwsKeys {
    /// Access key id.
    pub access_key: String,
    /// Secret access key.
    pub secret_key: Secret,
    /// Session token of temporary credentials.
    pub session_token: Option<Secret>,
}
