//! The `httpauth` auth: HTTP Basic (RFC 7617) or Digest (RFC 7616). It asks the URL once without credentials, takes the
//! strongest challenge of the answer, and asks again with the credentials to see whether they are right. What the store
//! needs for its own requests is kept in the session. Keys and defaults are COSBench's; `scheme` is ours.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    Auth, AuthDef, Error, ErrorKind, HttpCredential, Key, KeyKind, OpFuture, Result, Secret, Session,
    SessionPart, Settings,
};

use super::digest::{self, Challenge, DigestState};
use super::login::LoginUrl;
use crate::http::{Connection, Request, TRANSPORT_KEYS, concat_keys};

const OWN_KEYS: &[Key] = &[
    Key::new("auth_url", KeyKind::Url, "a URL of the store that asks for a login")
        .alias(&["url"])
        .default("http://127.0.0.1:80"),
    Key::new("username", KeyKind::Text, "user name").default(""),
    Key::new("password", KeyKind::Text, "password").default("").secret(),
    Key::new(
        "scheme",
        KeyKind::Choice(&["auto", "basic", "digest"]),
        "auto: what the server asks for; basic: sends user and password at once, without being asked",
    )
    .default("auto"),
    Key::new("timeout", KeyKind::Duration, "time limit of a login").default("30s"),
    super::RETRY,
    super::CACHING,
    super::LOGGING,
];
const KEYS: &[Key] = &concat_keys::<{ OWN_KEYS.len() + TRANSPORT_KEYS.len() }>(OWN_KEYS, TRANSPORT_KEYS);

/// The row of the table of auths.
pub const DEF: AuthDef = AuthDef {
    name: "httpauth",
    aliases: &[],
    summary: "HTTP Basic or Digest, as the server asks",
    keys: KEYS,
    open,
    gives: Some(SessionPart::HttpCredential),
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Auto,
    Basic,
    Digest,
}

struct HttpAuth {
    url: LoginUrl,
    username: String,
    password: Secret,
    scheme: Scheme,
    timeout: Duration,
    retries: u32,
}

fn open(settings: &Settings) -> Result<Arc<dyn Auth>> {
    let username = settings.text("username");
    if username.contains(':') {
        return Err(Error::new(ErrorKind::Config, "a user name of HTTP Basic or Digest cannot hold a colon")
            .with_hint("account:user names belong to the auth `swauth`"));
    }
    let scheme = match settings.text("scheme").to_ascii_lowercase().as_str() {
        "basic" => Scheme::Basic,
        "digest" => Scheme::Digest,
        _ => Scheme::Auto,
    };
    Ok(Arc::new(HttpAuth {
        url: LoginUrl::new(&settings.required("auth_url")?, settings)?,
        username,
        password: settings.secret("password"),
        scheme,
        timeout: settings.duration("timeout").unwrap_or(Duration::from_secs(30)),
        retries: super::retries(settings),
    }))
}

impl HttpAuth {
    async fn session(&self) -> Result<Session> {
        let begun = Instant::now();
        let mut connection = Connection::new(&self.url.endpoint);
        let credential = if self.scheme == Scheme::Basic {
            Some(self.basic())
        } else {
            let status = self.ask(&mut connection, None).await?;
            if status == 401 {
                Some(self.choose(&connection)?)
            } else {
                self.unprotected(&connection, status)?
            }
        };
        let mut credential = credential;
        if let Some(HttpCredential::Basic { username, password }) = &credential {
            let line = digest::basic(username, password);
            let status = self.ask(&mut connection, Some(line.expose().as_bytes())).await?;
            self.check(&connection, status)?;
        } else if let Some(HttpCredential::Digest { username, password, challenge }) = &mut credential {
            let parsed = Challenge::parse(challenge).map_err(|reason| self.unanswerable(&reason))?;
            let mut state = DigestState::new(username, password, parsed, Arc::default());
            let mut line = Vec::with_capacity(512);
            state.authorize(&mut line, "GET", &self.url.path);
            let status = self.ask(&mut connection, Some(&line)).await?;
            self.check(&connection, status)?;
        }
        let storage_url = Some(self.url.text.trim_end_matches('/').to_owned());
        Ok(Session { storage_url, http: credential, login_time: begun.elapsed(), ..Session::default() })
    }

    async fn ask(&self, connection: &mut Connection, authorization: Option<&[u8]>) -> Result<u16> {
        let mut head = Vec::with_capacity(1024);
        self.url.endpoint.start_head(&mut head, "GET", self.url.path.as_bytes());
        if let Some(value) = authorization {
            head.extend_from_slice(b"Authorization: ");
            // From the server's text: nothing in it may end the line.
            head.extend(value.iter().map(|byte| if *byte < 0x20 || *byte == 0x7f { b' ' } else { *byte }));
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        Ok(self.url.exchange(connection, Request::new(&head), false).await?.status)
    }

    fn basic(&self) -> HttpCredential {
        HttpCredential::Basic { username: self.username.clone(), password: self.password.clone() }
    }

    /// By the challenges of a 401: Digest rather than Basic.
    fn choose(&self, connection: &Connection) -> Result<HttpCredential> {
        let offers = digest::offers(connection.header_all("www-authenticate"));
        if let Some(challenge) = offers.digest {
            let (username, password) = (self.username.clone(), self.password.clone());
            return Ok(HttpCredential::Digest { username, password, challenge });
        }
        if offers.basic && self.scheme == Scheme::Auto {
            return Ok(self.basic());
        }
        let reason = offers.problem.unwrap_or_else(|| {
            let mut others = offers.other;
            if offers.basic {
                others.push("Basic".to_owned());
            }
            if others.is_empty() {
                "it names no way to log in (no WWW-Authenticate line)".to_owned()
            } else {
                format!("it offers only {}", others.join(", "))
            }
        });
        Err(self.unanswerable(&reason))
    }

    fn unanswerable(&self, reason: &str) -> Error {
        let message = format!("{} asks for a login that cannot be given: {reason}", self.url.text);
        Error::new(ErrorKind::Denied, message)
            .with_code("http_401")
            .with_hint("turn on Basic or Digest at the server")
    }

    /// Without a challenge there is nothing to log in to: the store is used without credentials.
    fn unprotected(&self, connection: &Connection, status: u16) -> Result<Option<HttpCredential>> {
        match status {
            200..300 => Ok(None),
            // The URL itself may be no page; it did not ask for a login though.
            404 | 405 if self.scheme == Scheme::Auto => Ok(None),
            _ => self.check(connection, status).map(|()| None),
        }
    }

    fn check(&self, connection: &Connection, status: u16) -> Result<()> {
        match status {
            // With right credentials a URL that is no page answers 404 or 405.
            200..300 | 404 | 405 => Ok(()),
            401 => {
                let what = format!("wrong user or password (user `{}`)", self.username);
                Err(self.url.denied(status, &what, "set `username` and `password`"))
            }
            403 => {
                let what = format!("user `{}` may not read this URL", self.username);
                Err(self.url.denied(
                    status,
                    &what,
                    "give the user the right to read it, or set another `auth_url`",
                ))
            }
            status => {
                Err(self.url.unexpected(connection, status, "give a URL of the store that asks for a login"))
            }
        }
    }
}

impl Auth for HttpAuth {
    fn login(&self) -> OpFuture<'_, Session> {
        Box::pin(self.session())
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn retries(&self) -> u32 {
        self.retries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{self, Script};

    async fn login(url: &str, more: &[(&str, &str)]) -> Result<Session> {
        let entries = [("auth_url", url), ("username", "u"), ("password", "hunter2")];
        let (settings, problems) = Settings::parse(KEYS, entries.into_iter().chain(more.iter().copied()));
        assert!(problems.is_empty(), "{problems:?}");
        (DEF.open)(&settings)?.login().await
    }

    fn challenge(lines: &str) -> Script {
        Script::status("401 Unauthorized", lines, "log in")
    }

    fn authorization(request: &str) -> Option<&str> {
        request.lines().find_map(|line| line.strip_prefix("Authorization: "))
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_password_is_sent_only_after_the_server_asked_for_basic() {
        let server = scripted::serve(vec![
            challenge("WWW-Authenticate: Basic realm=\"x\"\r\n"),
            Script::status("200 OK", "", ""),
        ]);
        let session = login(&server.url("/dav/"), &[]).await.unwrap();
        assert!(matches!(session.http, Some(HttpCredential::Basic { .. })));
        assert_eq!(session.storage_url, Some(server.url("/dav")));
        let requests = server.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(authorization(&requests[0]), None);
        assert_eq!(authorization(&requests[1]), Some("Basic dTpodW50ZXIy"));
        assert!(requests[1].starts_with("GET /dav/ HTTP/1.1\r\n"));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn basic_can_be_sent_at_once_where_the_user_says_so() {
        let server = scripted::serve(vec![Script::status("200 OK", "", "")]);
        login(&server.url(""), &[("scheme", "basic")]).await.unwrap();
        assert_eq!(server.requests().len(), 1);
        assert!(authorization(&server.requests()[0]).is_some());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn digest_is_preferred_and_its_challenge_is_kept_for_the_store() {
        let lines = "WWW-Authenticate: Basic realm=\"x\"\r\nWWW-Authenticate: Digest realm=\"x\", nonce=\"n1\", qop=\"auth\"\r\n";
        let server = scripted::serve(vec![challenge(lines), Script::status("200 OK", "", "")]);
        let session = login(&server.url("/p"), &[]).await.unwrap();
        let Some(HttpCredential::Digest { challenge, .. }) = session.http else { panic!("no digest") };
        assert_eq!(challenge, "realm=\"x\", nonce=\"n1\", qop=\"auth\"");
        let requests = server.requests();
        let sent = authorization(&requests[1]).unwrap();
        assert!(sent.starts_with("Digest username=\"u\", realm=\"x\", nonce=\"n1\", uri=\"/p\""), "{sent}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_open_server_gets_no_credentials_at_all() {
        let server = scripted::serve(vec![Script::status("200 OK", "", "")]);
        let session = login(&server.url(""), &[]).await.unwrap();
        assert!(session.http.is_none());
        assert_eq!(authorization(&server.requests()[0]), None);
    }

    /// What the server answers, further keys, words of the error.
    type Refusal<'a> = (Vec<Script>, &'a [(&'a str, &'a str)], &'a str);

    #[tokio::test(flavor = "current_thread")]
    async fn refusals_are_told_apart_and_show_no_password() {
        let digest = || challenge("WWW-Authenticate: Digest realm=\"x\", nonce=\"n\", qop=\"auth\"\r\n");
        let cases: Vec<Refusal<'_>> = vec![
            (vec![digest(), digest()], &[], "wrong user or password"),
            (vec![digest(), Script::status("403 Forbidden", "", "")], &[], "may not read"),
            (vec![challenge("WWW-Authenticate: Negotiate\r\n")], &[], "offers only Negotiate"),
            (vec![challenge("")], &[], "names no way"),
            (
                vec![challenge("WWW-Authenticate: Basic realm=x\r\n")],
                &[("scheme", "digest")],
                "offers only Basic",
            ),
            (
                vec![challenge("WWW-Authenticate: Digest realm=x, nonce=n, algorithm=X\r\n")],
                &[],
                "unknown digest",
            ),
        ];
        for (scripts, more, words) in cases {
            let server = scripted::serve(scripts);
            let error = login(&server.url("/"), more).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
            assert!(error.to_string().contains(words) && error.hint().is_some(), "{error}");
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}
