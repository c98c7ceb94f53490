//! Answers to `WWW-Authenticate` challenges: HTTP Digest (RFC 7616, and RFC 2617 and RFC 2069 where a server still speaks
//! them) and Basic (RFC 7617). Pure arithmetic on texts: no sockets, no clock.

use data_encoding::{BASE64, HEXLOWER};
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cosmark_adaptor_api::Secret;
use md5::Md5;
use sha2::{Sha256, Sha512_256};

/// A longer challenge is not looked at.
const MAX_CHALLENGE_BYTES: usize = 8 * 1024;

/// What the digest is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Algorithm {
    Md5,
    Sha512Trunc256,
    Sha256,
}

impl Algorithm {
    fn hex(self, parts: &[&str]) -> String {
        fn run<D: md5::Digest>(parts: &[&str]) -> String {
            let mut digest = D::new();
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    digest.update(b":");
                }
                digest.update(part.as_bytes());
            }
            HEXLOWER.encode(digest.finalize().as_ref())
        }
        match self {
            Self::Md5 => run::<Md5>(parts),
            Self::Sha256 => run::<Sha256>(parts),
            Self::Sha512Trunc256 => run::<Sha512_256>(parts),
        }
    }
}

/// One `Digest` challenge of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    algorithm: Algorithm,
    /// The algorithm as the server wrote it; `None` = it did not.
    algorithm_text: Option<String>,
    is_session: bool,
    /// True: `qop=auth`; false: the server knows no qop (RFC 2069).
    qop_auth: bool,
    userhash: bool,
    /// The credentials were right, only the nonce is too old.
    pub stale: bool,
}

impl Challenge {
    /// Reads the parameters of a challenge, without the word `Digest`.
    ///
    /// # Errors
    /// A sentence when it is malformed, or asks for something that cannot be done (`qop=auth-int` alone, an unknown
    /// algorithm).
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_CHALLENGE_BYTES {
            return Err(format!("the challenge is longer than {MAX_CHALLENGE_BYTES} bytes"));
        }
        let parameters = parameters(text)?;
        let find = |name: &str| {
            parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
        };
        let is_true = |name: &str| find(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let algorithm_text = find("algorithm");
        let full = algorithm_text.as_deref().unwrap_or("MD5").to_ascii_uppercase();
        let (base, is_session) =
            full.strip_suffix("-SESS").map_or((full.as_str(), false), |base| (base, true));
        let algorithm = match base {
            "MD5" => Algorithm::Md5,
            "SHA-256" => Algorithm::Sha256,
            "SHA-512-256" => Algorithm::Sha512Trunc256,
            _ => return Err(format!("the server asks for the unknown digest algorithm {full}")),
        };
        let qop_auth = match find("qop") {
            None => false,
            Some(offered) if offered.split(',').any(|one| one.trim().eq_ignore_ascii_case("auth")) => true,
            Some(offered) => return Err(format!("the server offers only qop={offered}, not auth")),
        };
        Ok(Self {
            realm: find("realm").ok_or("the challenge has no realm")?,
            nonce: find("nonce").ok_or("the challenge has no nonce")?,
            opaque: find("opaque"),
            algorithm,
            algorithm_text,
            is_session,
            qop_auth,
            userhash: is_true("userhash"),
            stale: is_true("stale"),
        })
    }
}

/// The challenges of an answer, from all its `WWW-Authenticate` lines: the best Digest one as text, and whether Basic is
/// offered. A line may hold several challenges.
#[must_use]
pub fn offers<'a>(lines: impl Iterator<Item = &'a str>) -> Offers {
    let mut offers = Offers::default();
    let mut best = None;
    for line in lines.filter(|line| line.len() <= MAX_CHALLENGE_BYTES) {
        for (scheme, rest) in split_schemes(line) {
            if scheme.eq_ignore_ascii_case("basic") {
                offers.basic = true;
            } else if scheme.eq_ignore_ascii_case("digest") {
                match Challenge::parse(rest) {
                    Ok(challenge) if best.is_none_or(|best| challenge.algorithm > best) => {
                        best = Some(challenge.algorithm);
                        offers.digest = Some(rest.to_owned());
                    }
                    Ok(_) => {}
                    Err(reason) => offers.problem = Some(reason),
                }
            } else {
                offers.other.push(scheme.to_owned());
            }
        }
    }
    offers
}

/// What a server would accept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offers {
    /// Basic.
    pub basic: bool,
    /// The best Digest challenge that can be answered, without the word `Digest`.
    pub digest: Option<String>,
    /// Why a Digest challenge cannot be answered.
    pub problem: Option<String>,
    /// Other schemes (Bearer, Negotiate, ..).
    pub other: Vec<String>,
}

/// Makes the `Authorization` values of one client.
#[derive(Debug)]
pub struct DigestState {
    username: String,
    password: Secret,
    challenge: Challenge,
    user_field: String,
    secret_hash: String,
    cnonce: String,
    /// Uses of the nonce so far, by all clients that share it.
    uses: Arc<AtomicU32>,
}

impl DigestState {
    /// For a challenge of which `uses` counts the answers: clients that share a nonce share the count, since a server may
    /// refuse a count that it has seen.
    #[must_use]
    pub fn new(username: &str, password: &Secret, challenge: Challenge, uses: Arc<AtomicU32>) -> Self {
        let mut state = Self::with_cnonce(username, password, challenge, random_text());
        state.uses = uses;
        state
    }

    fn with_cnonce(username: &str, password: &Secret, challenge: Challenge, cnonce: String) -> Self {
        let algorithm = challenge.algorithm;
        let mut secret_hash = algorithm.hex(&[username, &challenge.realm, password.expose()]);
        if challenge.is_session {
            secret_hash = algorithm.hex(&[&secret_hash, &challenge.nonce, &cnonce]);
        }
        let user_field = if challenge.userhash {
            format!("username=\"{}\", userhash=true", algorithm.hex(&[username, &challenge.realm]))
        } else if username.is_ascii() {
            format!("username=\"{}\"", quoted(username))
        } else {
            let mut field = "username*=UTF-8''".to_owned();
            for byte in username.bytes() {
                if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
                    field.push(char::from(byte));
                } else {
                    let _ = write!(field, "%{byte:02X}");
                }
            }
            field
        };
        let (username, password) = (username.to_owned(), password.clone());
        Self { username, password, challenge, user_field, secret_hash, cnonce, uses: Arc::default() }
    }

    /// Goes on with a new challenge of the same server.
    pub fn renew(&mut self, challenge: Challenge) {
        *self = Self::with_cnonce(&self.username, &self.password, challenge, random_text());
    }

    /// Goes on with the nonce that an `Authentication-Info` line announced (`nextnonce`), if it does.
    pub fn take_next_nonce(&mut self, authentication_info: &str) {
        let Ok(parameters) = parameters(authentication_info) else { return };
        if let Some((_, nonce)) =
            parameters.into_iter().find(|(key, _)| key.eq_ignore_ascii_case("nextnonce"))
            && nonce != self.challenge.nonce
        {
            let challenge = Challenge { nonce, ..self.challenge.clone() };
            self.renew(challenge);
        }
    }

    /// Appends the value of the `Authorization` line for the next request; `target` is its request target as sent.
    pub fn authorize(&mut self, out: &mut Vec<u8>, method: &str, target: &str) {
        let challenge = &self.challenge;
        let count = format!("{:08x}", self.uses.fetch_add(1, Ordering::Relaxed).wrapping_add(1));
        let request_hash = challenge.algorithm.hex(&[method, target]);
        let response = if challenge.qop_auth {
            let parts = [&self.secret_hash, &challenge.nonce, &count, &self.cnonce, "auth", &request_hash];
            challenge.algorithm.hex(&parts)
        } else {
            challenge.algorithm.hex(&[&self.secret_hash, &challenge.nonce, &request_hash])
        };
        let (realm, nonce) = (quoted(&challenge.realm), quoted(&challenge.nonce));
        let mut value = format!("Digest {}, realm=\"{realm}\", nonce=\"{nonce}\"", self.user_field);
        let _ = write!(value, ", uri=\"{target}\", response=\"{response}\"");
        if let Some(algorithm) = &challenge.algorithm_text {
            let _ = write!(value, ", algorithm={algorithm}");
        }
        if challenge.qop_auth {
            let _ = write!(value, ", qop=auth, nc={count}, cnonce=\"{}\"", self.cnonce);
        } else if challenge.is_session {
            let _ = write!(value, ", cnonce=\"{}\"", self.cnonce);
        }
        if let Some(opaque) = &challenge.opaque {
            let _ = write!(value, ", opaque=\"{}\"", quoted(opaque));
        }
        out.extend_from_slice(value.as_bytes());
    }
}

/// The value of an `Authorization` line for Basic.
#[must_use]
pub fn basic(username: &str, password: &Secret) -> Secret {
    let pair = format!("{username}:{}", password.expose());
    Secret::new(format!("Basic {}", BASE64.encode(pair.as_ref())))
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// 128 bits that differ from client to client; std seeds its hashers from the system's random source.
fn random_text() -> String {
    let mut text = String::with_capacity(32);
    for _ in 0..2 {
        let random = std::hash::RandomState::new().build_hasher().finish();
        let _ = write!(text, "{random:016x}");
    }
    text
}

/// Cuts `Basic realm="x", Digest realm="y", nonce="z"` at the schemes: a token that a blank and no `=` follows.
fn split_schemes(line: &str) -> Vec<(&str, &str)> {
    let mut starts = Vec::new();
    let bytes = line.as_bytes();
    let (mut at, mut in_quotes, mut may_start) = (0, false, true);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_quotes => at += 1,
            b'"' => (in_quotes, may_start) = (!in_quotes, false),
            b',' if !in_quotes => may_start = true,
            b' ' | b'\t' => {}
            _ if may_start && !in_quotes => {
                may_start = false;
                let end = at + bytes[at..].iter().take_while(|byte| is_token(**byte)).count();
                let next = line[end..].trim_start();
                if end > at && !next.starts_with('=') {
                    starts.push((at, end));
                }
                at = end.max(at + 1);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|(start, _)| *start).chain([line.len()]).collect();
    starts
        .iter()
        .zip(ends)
        .map(|((start, end), stop)| (&line[*start..*end], line[*end..stop].trim()))
        .collect()
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// `name=value, name="quoted value"` (RFC 9110, section 11.2); at most 64 of them.
fn parameters(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let (name, after) =
            rest.split_once('=').ok_or_else(|| "a challenge parameter has no value".to_owned())?;
        let name = name.trim();
        if name.is_empty() || !name.bytes().all(is_token) || found.len() == 64 {
            return Err("the challenge is malformed".to_owned());
        }
        let after = after.trim_start();
        let (value, tail) = match after.strip_prefix('"') {
            Some(quoted) => {
                unquote(quoted).ok_or_else(|| format!("the quotes of `{name}` are not closed"))?
            }
            None => {
                let (value, tail) = after.split_at(after.find(',').unwrap_or(after.len()));
                (value.trim().to_owned(), tail)
            }
        };
        found.push((name.to_owned(), value));
        rest = tail.trim_start_matches([' ', '\t', ',']);
    }
    Ok(found)
}

/// The text up to the closing quote, and what follows it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests;
