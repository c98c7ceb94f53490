//! Who may come in: tokens (`Authorization: Bearer`, HTTP Basic, COSBench's `password`), the session cookie of the console, and
//! a limit on guessing. A cookie is signed, so that it outlives the controller that gave it and another controller of the
//! cluster takes it; it dies with its token.
//!
//! What is changed by a cookie needs the header `X-Cosmark: 1` and an `Origin` that is ours: a page of somebody else's can
//! send neither (Fetch standard, CORS protocol).

mod ended;
pub mod keys;
pub mod secrets;
pub mod tokens;

use data_encoding::{BASE64, HEXLOWER, HEXLOWER_PERMISSIVE};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, Method, header};
use cosmark_archive::Timestamp;
use tokio::time::Instant;

use crate::ServiceError;
use crate::api::types::Role;
use crate::auth::ended::Ended;
use crate::auth::keys::{ClusterKey, random};
use crate::auth::tokens::{Identity, Tokens};
use crate::state::StateDir;

/// Name of the session cookie.
pub const COOKIE: &str = "cosmark_session";
/// What stands in a cookie.
struct Session {
    /// Name of the token.
    name: String,
    /// Its end, seconds since 1970.
    until: i64,
    /// Its own number.
    nonce: String,
    /// Of the token with which it began.
    mark: String,
}

/// A session lasts so long.
const SESSION: Duration = Duration::from_secs(12 * 3600);
/// Wrong tokens that an address may show at once.
const MOST_WRONG: f64 = 10.0;
/// One more is allowed every so often.
const FORGIVEN_EVERY: Duration = Duration::from_secs(3);
/// Addresses that are remembered.
const MOST_ADDRESSES: usize = 10_000;

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// No token, or a session that is over.
    Unknown,
    /// A token that is not one of ours, or no longer.
    Wrong,
    /// Too many wrong tokens from this address.
    TooMany,
    /// A cookie without the header and the origin that a change needs.
    Foreign,
}

/// What somebody came in with.
#[derive(Clone)]
pub enum Login {
    /// A token.
    Token(String),
    /// A session's cookie.
    Cookie(String),
}

/// Requests without a login that are heard at a time, and those of one address.
const MOST_STRANGERS: usize = 256;
const MOST_STRANGERS_HERE: usize = 32;

/// A request without a login that is being heard.
pub struct Stranger {
    from: IpAddr,
    all: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(&self.from) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(all.remove(&self.from)),
        }
    }
}

/// Who is let in.
pub struct Access {
    tokens: Tokens,
    key: Arc<ClusterKey>,
    wrong: Mutex<HashMap<IpAddr, (f64, Instant)>>,
    ended: Ended,
    strangers: Arc<Mutex<HashMap<IpAddr, usize>>>,
    /// Cookies travel over TLS alone.
    secure: bool,
    /// COSBench's endpoints take programs of this machine without a login.
    anonymous_loopback: bool,
}

impl Access {
    /// With these tokens; `secure` = the service speaks TLS.
    #[must_use]
    pub fn new(tokens: Tokens, key: Arc<ClusterKey>, secure: bool) -> Self {
        Self {
            tokens,
            key,
            wrong: Mutex::default(),
            ended: Ended::default(),
            strangers: Arc::default(),
            secure,
            anonymous_loopback: false,
        }
    }

    /// The same, with COSBench's endpoints open to programs of this machine that have no login, where `yes`.
    #[must_use]
    pub fn with_anonymous_loopback(self, yes: bool) -> Self {
        Self { anonymous_loopback: yes, ..self }
    }

    /// The same, with what was logged out also after a restart: it is written down in this state directory.
    ///
    /// # Errors
    /// When what was written there cannot be read.
    pub fn remembering(self, state: &StateDir) -> Result<Self, ServiceError> {
        Ok(Self { ended: Ended::open(state)?, ..self })
    }

    /// Who asks without a login, where that is allowed: a program of this machine that speaks to this controller itself. What
    /// a browser sends for a page, a proxy passes on, or another controller relays (from port 0), is none.
    #[must_use]
    pub fn nameless(&self, headers: &HeaderMap, from: SocketAddr) -> Option<Identity> {
        const OF_OTHERS: [&str; 8] = [
            "origin",
            "referer",
            "sec-fetch-site",
            "forwarded",
            "x-forwarded-for",
            "x-real-ip",
            "via",
            "x-cosmark-relayed",
        ];
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        // A name that only resolves to this machine may be a page's trick.
        let is_here = ["localhost", "127.0.0.1", "[::1]"]
            .iter()
            .any(|name| host.strip_prefix(name).is_some_and(|port| port.is_empty() || port.starts_with(':')));
        let own = self.anonymous_loopback
            && from.ip().to_canonical().is_loopback()
            && from.port() != 0
            && is_here
            && !OF_OTHERS.iter().any(|name| headers.contains_key(*name));
        own.then(|| Identity { name: "anonymous (this machine)".to_owned(), role: Role::Operate })
    }

    /// The cluster's key.
    #[must_use]
    pub fn key(&self) -> &ClusterKey {
        &self.key
    }

    /// Who makes this request.
    ///
    /// # Errors
    /// Why nobody whom we know.
    pub fn identify(&self, method: &Method, headers: &HeaderMap, from: IpAddr) -> Result<Identity, Closed> {
        if let Some(token) = bearer(headers) {
            return self.by_token(&token, from);
        }
        let Some(cookie) = cookie(headers) else { return Err(Closed::Unknown) };
        let who = self.by_cookie(&cookie).ok_or(Closed::Unknown)?;
        if !matches!(*method, Method::GET | Method::HEAD) && !is_same_origin(headers) {
            return Err(Closed::Foreign);
        }
        Ok(who)
    }

    /// What came with a request, to be looked at again while it is answered.
    #[must_use]
    pub fn login_of(headers: &HeaderMap) -> Option<Login> {
        bearer(headers).map(Login::Token).or_else(|| cookie(headers).map(Login::Cookie))
    }

    /// Whether somebody still comes in with it.
    #[must_use]
    pub fn holds(&self, login: &Login) -> bool {
        match login {
            Login::Token(token) => self.tokens.verify(token).is_some(),
            Login::Cookie(cookie) => self.by_cookie(cookie).is_some(),
        }
    }

    /// Lets a stranger speak, if there are not too many: at the end of it the place is free again.
    pub fn hear_stranger(&self, from: IpAddr) -> Option<Stranger> {
        let from = network_of(from);
        let mut strangers = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = strangers.values().sum();
        let here = strangers.get(&from).copied().unwrap_or(0);
        if all >= MOST_STRANGERS || here >= MOST_STRANGERS_HERE {
            return None;
        }
        strangers.insert(from, here + 1);
        Some(Stranger { from, all: Arc::clone(&self.strangers) })
    }

    /// Who has this token.
    ///
    /// # Errors
    /// When nobody has; after too many wrong ones nobody is told whether the next was wrong, too.
    pub fn by_token(&self, token: &str, from: IpAddr) -> Result<Identity, Closed> {
        // Who has a token is let in whatever others do from the same address; 256 random bits are not found by guessing.
        if let Some(who) = self.tokens.verify(token) {
            return Ok(who);
        }
        let from = network_of(from);
        if !self.may_try(from) {
            return Err(Closed::TooMany);
        }
        self.note_wrong(from);
        Err(Closed::Wrong)
    }

    fn with_wrong<T>(&self, look: impl FnOnce(&mut HashMap<IpAddr, (f64, Instant)>) -> T) -> T {
        look(&mut self.wrong.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn may_try(&self, from: IpAddr) -> bool {
        self.with_wrong(|wrong| {
            wrong.get(&from).is_none_or(|(count, at)| left(*count, *at) <= MOST_WRONG - 1.0)
        })
    }

    fn note_wrong(&self, from: IpAddr) {
        self.with_wrong(|wrong| {
            if wrong.len() >= MOST_ADDRESSES {
                wrong.retain(|_, (count, at)| left(*count, *at) > 0.0);
            }
            if wrong.len() < MOST_ADDRESSES || wrong.contains_key(&from) {
                let entry = wrong.entry(from).or_insert((0.0, Instant::now()));
                *entry = (left(entry.0, entry.1) + 1.0, Instant::now());
            }
        });
    }

    /// The `Set-Cookie` of a new session.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new_session(&self, who: &Identity) -> Result<String, ServiceError> {
        let until = Timestamp::now().as_second().saturating_add_unsigned(SESSION.as_secs());
        let mark = self.tokens.mark(&who.name).unwrap_or_default();
        let payload = format!("{}|{until}|{}|{mark}", who.name, HEXLOWER.encode(random::<16>()?.as_ref()));
        let signature = HEXLOWER.encode(self.key.sign(payload.as_bytes()).as_ref());
        let value = format!("{}.{signature}", HEXLOWER.encode(payload.as_ref()));
        Ok(self.set_cookie(&value, SESSION.as_secs()))
    }

    /// Ends the session of this request; gives the `Set-Cookie` that takes the cookie away. Writes a file.
    ///
    /// # Errors
    /// When it cannot be written down that the session has ended: it has until this controller starts again.
    pub fn end_session(&self, headers: &HeaderMap) -> Result<String, ServiceError> {
        if let Some(Session { until, nonce, .. }) = cookie(headers).and_then(|cookie| self.payload(&cookie)) {
            self.ended.add(&nonce, until, Timestamp::now().as_second())?;
        }
        Ok(self.set_cookie("", 0))
    }

    fn set_cookie(&self, value: &str, seconds: u64) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
    }

    /// What a cookie says; `None` for one that is not ours.
    fn payload(&self, cookie: &str) -> Option<Session> {
        let (payload, signature) = cookie.split_once('.')?;
        let (payload, signature) = (
            HEXLOWER_PERMISSIVE.decode(payload.as_bytes()).ok()?,
            HEXLOWER_PERMISSIVE.decode(signature.as_bytes()).ok()?,
        );
        if !self.key.is_signed(&payload, &signature) {
            return None;
        }
        let text = String::from_utf8(payload).ok()?;
        let mut parts = text.split('|');
        let (name, until, nonce) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        let mark = parts.next()?;
        Some(Session { name: name.to_owned(), until, nonce: nonce.to_owned(), mark: mark.to_owned() })
    }

    fn by_cookie(&self, cookie: &str) -> Option<Identity> {
        let Session { name, until, nonce, mark } = self.payload(cookie)?;
        // A token that was made again under its name is another: what was opened with the old one is over.
        if self.ended.has(&nonce) || until <= Timestamp::now().as_second() || self.tokens.mark(&name)? != mark
        {
            return None;
        }
        let role: Role = self.tokens.role(&name)?;
        Some(Identity { name, role })
    }
}

/// Whom an address is counted with: of IPv6 all with the same first 64 bits, which are one network and often one machine
/// (RFC 4291, section 2.5.1).
#[must_use]
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address => address,
    }
}

/// Wrong tokens that still count.
fn left(count: f64, at: Instant) -> f64 {
    (count - at.elapsed().as_secs_f64() / FORGIVEN_EVERY.as_secs_f64()).max(0.0)
}

/// The token of `Authorization: Bearer` or, as its password, `Authorization: Basic` (RFC 6750, RFC 7617).
#[must_use]
pub fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.trim().to_owned());
    }
    basic(headers).map(|(_, password)| password)
}

/// Name and password of `Authorization: Basic` (RFC 7617).
#[must_use]
pub fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (_, rest) = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))?;
    let pair = String::from_utf8(BASE64.decode(rest.trim().as_ref()).ok()?).ok()?;
    pair.split_once(':').map(|(name, password)| (name.to_owned(), password.to_owned()))
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value.to_owned())
}

/// True for a request that only a page of ours can make.
#[must_use]
pub fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let marked = headers.get("x-cosmark").is_some_and(|value| value == "1");
    let origin = text(header::ORIGIN).and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    marked && origin.is_some() && origin == text(header::HOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> (tempfile::TempDir, Access, String) {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let (tokens, first) = Tokens::open(&state).unwrap();
        let key = Arc::new(ClusterKey::open(&state).unwrap());
        (dir, Access::new(tokens, key, false), first.unwrap())
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn a_session_lets_look_but_changes_only_from_our_own_pages() {
        let (_dir, access, token) = access();
        let who = access.by_token(&token, HERE).unwrap();
        let set = access.new_session(&who).unwrap();
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
        let value = set.split(';').next().unwrap().to_owned();
        let plain = headers(&[("cookie", &value), ("host", "h:1")]);
        assert_eq!(access.identify(&Method::GET, &plain, HERE).unwrap(), who);
        assert_eq!(access.identify(&Method::POST, &plain, HERE), Err(Closed::Foreign));
        let forged: &[(&str, &str)] = &[("x-cosmark", "1"), ("origin", "http://evil:1")];
        let own: &[(&str, &str)] = &[("x-cosmark", "1"), ("origin", "http://h:1")];
        for (extra, expected) in [(forged, Err(Closed::Foreign)), (own, Ok(who.clone()))] {
            let mut all = plain.clone();
            for (name, value) in extra {
                all.insert(name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap());
            }
            assert_eq!(access.identify(&Method::POST, &all, HERE), expected);
        }
        access.end_session(&plain).unwrap();
        assert_eq!(
            access.identify(&Method::GET, &plain, HERE),
            Err(Closed::Unknown),
            "a session that was ended"
        );
        let mut forged = value.into_bytes();
        *forged.last_mut().unwrap() ^= 1;
        let forged = headers(&[("cookie", std::str::from_utf8(&forged).unwrap())]);
        assert_eq!(access.identify(&Method::GET, &forged, HERE), Err(Closed::Unknown), "a forged signature");
    }

    #[test]
    fn a_session_ends_with_its_token_also_where_another_gets_its_name() {
        let (dir, access, token) = access();
        let cookie_of = |token: &str| {
            let set = access.new_session(&access.by_token(token, HERE).unwrap()).unwrap();
            headers(&[("cookie", set.split(';').next().unwrap())])
        };
        let old = cookie_of(&token);
        assert!(access.identify(&Method::GET, &old, HERE).is_ok());
        let state = StateDir::open(dir.path()).unwrap();
        let other = tokens::add(&state, "admin", Role::Operate).unwrap();
        assert_eq!(access.identify(&Method::GET, &old, HERE), Err(Closed::Unknown));
        assert!(access.identify(&Method::GET, &cookie_of(&other), HERE).is_ok());
    }

    #[test]
    fn a_session_that_was_ended_opens_nothing_after_a_restart() {
        let (dir, first, token) = access();
        let state = StateDir::open(dir.path()).unwrap();
        let first = first.remembering(&state).unwrap();
        let who = first.by_token(&token, HERE).unwrap();
        let opened = || {
            let set = first.new_session(&who).unwrap();
            headers(&[("cookie", set.split(';').next().unwrap())])
        };
        let (left, open) = (opened(), opened());
        first.end_session(&left).unwrap();
        let key = Arc::new(ClusterKey::open(&state).unwrap());
        let again = Access::new(Tokens::open(&state).unwrap().0, key, false).remembering(&state).unwrap();
        assert_eq!(again.identify(&Method::GET, &left, HERE), Err(Closed::Unknown));
        assert_eq!(again.identify(&Method::GET, &open, HERE), Ok(who));
    }

    #[test]
    fn without_a_login_nobody_comes_in_but_a_program_that_speaks_from_this_machine_itself() {
        let (_dir, access, _) = access();
        let own = headers(&[("host", "127.0.0.1:19088")]);
        let from = |address: &str, port| SocketAddr::new(address.parse().unwrap(), port);
        assert_eq!(access.nameless(&own, from("127.0.0.1", 4711)), None, "without the option");
        let access = access.with_anonymous_loopback(true);
        for (address, port, is_let_in) in [
            ("127.0.0.1", 4711, true),
            ("::1", 4711, true),
            ("::ffff:127.0.0.1", 4711, true),
            ("192.0.2.7", 4711, false),
            ("2001:db8::7", 4711, false),
            ("::ffff:192.0.2.7", 4711, false),
            // What another controller relays, whoever sent it.
            ("127.0.0.1", 0, false),
        ] {
            let role = access.nameless(&own, from(address, port)).map(|who| who.role);
            assert_eq!(role, is_let_in.then_some(Role::Operate), "{address}, port {port}");
        }
    }

    #[test]
    fn guessing_is_slowed_down_for_the_address_that_guesses() {
        let (_dir, access, token) = access();
        let answers: Vec<Closed> = (0..30).map(|_| access.by_token("wrong", HERE).unwrap_err()).collect();
        assert!(answers.starts_with(&[Closed::Wrong; 9]), "{answers:?}");
        assert_eq!(answers.last(), Some(&Closed::TooMany));
        assert!(access.by_token(&token, HERE).is_ok(), "who has a token is not locked out by who has none");
        assert_eq!(access.by_token("wrong", HERE), Err(Closed::TooMany));
        let elsewhere = "192.0.2.1".parse().unwrap();
        assert_eq!(access.by_token("wrong", elsewhere), Err(Closed::Wrong));
    }

    #[test]
    fn who_has_many_addresses_of_one_network_is_counted_once() {
        let (_dir, access, token) = access();
        let address = |network: u16, host: u16| IpAddr::from([0x2001, 0xdb8, 0, network, 0, 0, 1, host]);
        let answers: Vec<Closed> =
            (0..30).map(|host| access.by_token("wrong", address(1, host)).unwrap_err()).collect();
        assert_eq!((answers[0], answers[29]), (Closed::Wrong, Closed::TooMany), "{answers:?}");
        assert_eq!(access.by_token("wrong", address(2, 1)), Err(Closed::Wrong));
        assert!(access.by_token(&token, address(1, 7)).is_ok());
        let heard: Vec<Stranger> =
            (0..60).filter_map(|host| access.hear_stranger(address(1, host))).collect();
        assert_eq!(heard.len(), MOST_STRANGERS_HERE);
        assert!(access.hear_stranger(address(2, 1)).is_some());
        drop(heard);
        assert!(access.hear_stranger(address(1, 1)).is_some(), "their places are free again");
        // Those of IPv4 are counted one by one, in whatever form they come.
        let mapped = "::ffff:192.0.2.7".parse().unwrap();
        assert_eq!(network_of(mapped), network_of("192.0.2.7".parse().unwrap()));
        assert_ne!(network_of(mapped), network_of("192.0.2.8".parse().unwrap()));
    }

    #[test]
    fn tokens_come_as_bearer_and_as_the_password_of_basic() {
        assert_eq!(bearer(&headers(&[("authorization", "bearer abc ")])).as_deref(), Some("abc"));
        assert_eq!(bearer(&headers(&[("authorization", "Basic dTphOmI=")])).as_deref(), Some("a:b"));
        for wrong in ["", "abc", "Basic !!", "Digest x", "Basic dQ=="] {
            assert_eq!(bearer(&headers(&[("authorization", wrong)])), None, "{wrong}");
        }
    }
}
