//! AWS Signature Version 4 (Amazon S3 API reference, "Authenticating Requests: Using the Authorization Header" and
//! "Signature Calculations for the Authorization Header: Transferring Payload in Multiple Chunks").
//!
//! The key of the day is derived once and kept as HMAC states, the date's text is made once a second, and texts are put
//! together in reused buffers, so signing costs little more than the hashing.

use cosmark_adaptor_api::AwsKeys;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::http::date;
use crate::http::signed_headers::Lines;

/// `x-amz-content-sha256` of a body that the signature does not cover.
pub(crate) const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
/// SHA-256 of nothing, in hex.
pub(crate) const EMPTY_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A signature or hash in lower-case hex.
pub(crate) type Hex = [u8; 64];

/// What is signed of one request.
#[derive(Debug)]
pub(crate) struct Canonical<'a> {
    pub(crate) method: &'a str,
    /// Escaped path as sent.
    pub(crate) path: &'a [u8],
    /// Escaped query, its parameters sorted by name, each with `=`.
    pub(crate) query: &'a [u8],
    /// Header lines to sign, sorted by lower-case name.
    pub(crate) lines: &'a Lines<'a>,
    /// Value of `x-amz-content-sha256`.
    pub(crate) payload: &'a str,
}

/// Signs one worker's requests.
#[derive(Clone)]
pub(crate) struct SigV4 {
    access_key: String,
    /// `AWS4` and the secret key.
    secret: Vec<u8>,
    region: String,
    second: u64,
    date: [u8; 16],
    /// `20130524/us-east-1/s3/aws4_request`.
    scope: Vec<u8>,
    key: Option<Hmac<Sha256>>,
    text: Vec<u8>,
}

impl SigV4 {
    pub(crate) fn new(keys: &AwsKeys, region: &str) -> Self {
        Self {
            access_key: keys.access_key.clone(),
            secret: [b"AWS4", keys.secret_key.expose().as_bytes()].concat(),
            region: region.to_owned(),
            second: u64::MAX,
            date: [0; 16],
            scope: Vec::new(),
            key: None,
            text: Vec::new(),
        }
    }

    /// Value of `x-amz-date` for requests signed from now on.
    pub(crate) fn set_time(&mut self, unix_seconds: u64) -> [u8; 16] {
        if self.second != unix_seconds {
            let date = date::basic(unix_seconds);
            if self.key.is_none() || date[..8] != self.date[..8] {
                self.derive_key(&date[..8]);
            }
            self.second = unix_seconds;
            self.date = date;
        }
        self.date
    }

    fn derive_key(&mut self, day: &[u8]) {
        self.scope.clear();
        for part in [day, b"/", self.region.as_bytes(), b"/s3/aws4_request"] {
            self.scope.extend_from_slice(part);
        }
        let mut key = mac(&self.secret, day);
        for part in [self.region.as_bytes(), b"s3", b"aws4_request"] {
            key = mac(&key, part);
        }
        self.key = keyed(&key);
    }

    /// Signs a request at the time of the last [`SigV4::set_time`].
    pub(crate) fn sign(&mut self, request: &Canonical<'_>) -> Hex {
        let text = &mut self.text;
        text.clear();
        for part in [request.method.as_bytes(), b"\n", request.path, b"\n", request.query, b"\n"] {
            text.extend_from_slice(part);
        }
        for (name, value) in request.lines.iter() {
            text.extend_from_slice(name.as_bytes());
            text.push(b':');
            text.extend_from_slice(value);
            text.push(b'\n');
        }
        text.push(b'\n');
        push_names(text, request.lines);
        text.push(b'\n');
        text.extend_from_slice(request.payload.as_bytes());
        let hash = hex(&Sha256::digest(&*text).into());
        self.start_text(b"AWS4-HMAC-SHA256\n");
        self.text.extend_from_slice(&hash);
        self.finish()
    }

    /// Signs a chunk of a body; `previous` is the signature of what came before it.
    pub(crate) fn sign_chunk(&mut self, previous: &Hex, data: &[u8]) -> Hex {
        let hash = hex(&Sha256::digest(data).into());
        self.start_text(b"AWS4-HMAC-SHA256-PAYLOAD\n");
        self.text.extend_from_slice(previous);
        self.text.push(b'\n');
        self.text.extend_from_slice(EMPTY_SHA256.as_bytes());
        self.text.push(b'\n');
        self.text.extend_from_slice(&hash);
        self.finish()
    }

    /// Signs the trailer: `lines` are `name:value` lines, each with a newline.
    pub(crate) fn sign_trailer(&mut self, previous: &Hex, lines: &[u8]) -> Hex {
        let hash = hex(&Sha256::digest(lines).into());
        self.start_text(b"AWS4-HMAC-SHA256-TRAILER\n");
        self.text.extend_from_slice(previous);
        self.text.push(b'\n');
        self.text.extend_from_slice(&hash);
        self.finish()
    }

    /// Signs the policy of a form, in base64 (Amazon S3 API reference, "Browser-Based Uploads Using POST").
    pub(crate) fn sign_policy(&mut self, policy: &str) -> Hex {
        self.text.clear();
        self.text.extend_from_slice(policy.as_bytes());
        self.finish()
    }

    /// Appends the whole `Authorization` line.
    pub(crate) fn push_authorization(&self, out: &mut Vec<u8>, lines: &Lines<'_>, signature: &Hex) {
        out.extend_from_slice(b"Authorization: AWS4-HMAC-SHA256 Credential=");
        out.extend_from_slice(self.access_key.as_bytes());
        out.push(b'/');
        out.extend_from_slice(&self.scope);
        out.extend_from_slice(b", SignedHeaders=");
        push_names(out, lines);
        out.extend_from_slice(b", Signature=");
        out.extend_from_slice(signature);
        out.extend_from_slice(b"\r\n");
    }

    /// Who signs for what: the access key and the scope of the last [`SigV4::set_time`].
    pub(crate) fn credential(&self) -> String {
        format!("{}/{}", self.access_key, String::from_utf8_lossy(&self.scope))
    }

    /// Begins the string to sign: algorithm, date, scope.
    fn start_text(&mut self, algorithm: &[u8]) {
        self.text.clear();
        for part in [algorithm, &self.date, b"\n", &self.scope, b"\n"] {
            self.text.extend_from_slice(part);
        }
    }

    fn finish(&self) -> Hex {
        let Some(mut mac) = self.key.clone() else { return [b'0'; 64] };
        mac.update(&self.text);
        hex(&mac.finalize().into_bytes().into())
    }
}

impl std::fmt::Debug for SigV4 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigV4").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

fn push_names(out: &mut Vec<u8>, lines: &Lines<'_>) {
    for (at, (name, _)) in lines.iter().enumerate() {
        if at > 0 {
            out.push(b';');
        }
        out.extend_from_slice(name.as_bytes());
    }
}

fn keyed(key: &[u8]) -> Option<Hmac<Sha256>> {
    // HMAC takes keys of any length, so this is always there.
    Hmac::new_from_slice(key).ok()
}

fn mac(key: &[u8], data: &[u8]) -> [u8; 32] {
    let Some(mut mac) = keyed(key) else { return [0; 32] };
    mac.update(data);
    mac.finalize().into_bytes().into()
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8; 32]) -> Hex {
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
        pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
    text
}

#[cfg(test)]
mod tests;
