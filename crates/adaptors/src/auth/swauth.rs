//! The `swauth` auth: Swift's first auth protocol ("auth v1"), spoken by TempAuth, swauth and Ceph's RGW. A GET with
//! user and key in header lines gives a token and the account's URL. Source: OpenStack Swift, "TempAuth" middleware
//! documentation; keys and defaults of the type are COSBench's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    Alias, Auth, AuthDef, Error, ErrorKind, Key, KeyKind, OpFuture, Result, Secret, Session, SessionPart,
    Settings,
};

use super::login::{LoginUrl, renew_at};
use crate::http::{Connection, Request, TRANSPORT_KEYS, concat_keys, header};

const OWN_KEYS: &[Key] = &[
    Key::new("auth_url", KeyKind::Url, "the auth service's URL")
        .alias(&["url"])
        .default("http://127.0.0.1:8080/auth/v1.0"),
    Key::new("username", KeyKind::Text, "account:user").default(""),
    Key::new("password", KeyKind::Text, "the user's key").default("").secret(),
    Key::new("timeout", KeyKind::Duration, "time limit of a login").default("30s"),
    super::RETRY,
    super::CACHING,
    super::LOGGING,
];
const KEYS: &[Key] = &concat_keys::<{ OWN_KEYS.len() + TRANSPORT_KEYS.len() }>(OWN_KEYS, TRANSPORT_KEYS);

/// The row of the table of auths.
pub const DEF: AuthDef = AuthDef {
    name: "swauth",
    aliases: &[Alias { name: "tempauth", implied: &[], note: "the same protocol" }],
    summary: "Swift's auth v1: TempAuth, swauth, Ceph RGW",
    keys: KEYS,
    open,
    gives: Some(SessionPart::AuthToken),
};

const USUAL: &str =
    "the usual path is /auth/v1.0 (TempAuth, swauth and Ceph RGW), such as http://proxy:8080/auth/v1.0";

struct SwAuth {
    url: LoginUrl,
    username: String,
    password: Secret,
    timeout: Duration,
    retries: u32,
}

fn open(settings: &Settings) -> Result<Arc<dyn Auth>> {
    Ok(Arc::new(SwAuth {
        url: LoginUrl::new(&settings.required("auth_url")?, settings)?,
        username: settings.text("username"),
        password: settings.secret("password"),
        timeout: settings.duration("timeout").unwrap_or(Duration::from_secs(30)),
        retries: super::retries(settings),
    }))
}

impl SwAuth {
    async fn session(&self) -> Result<Session> {
        let begun = Instant::now();
        let mut connection = Connection::new(&self.url.endpoint);
        let mut head = Vec::with_capacity(256);
        self.url.endpoint.start_head(&mut head, "GET", self.url.path.as_bytes());
        header(&mut head, "X-Auth-User", &self.username);
        header(&mut head, "X-Auth-Key", self.password.expose());
        head.extend_from_slice(b"\r\n");
        let answer = self.url.exchange(&mut connection, Request::new(&head), false).await?;
        match answer.status {
            200..300 => {}
            401 | 403 => {
                let what = format!("wrong user or key (user `{}`)", self.username);
                let hint = "users are written account:user, such as test:tester; the key is `password=`";
                return Err(self.url.denied(answer.status, &what, hint));
            }
            status => return Err(self.url.unexpected(&connection, status, USUAL)),
        }
        let token = connection.header("x-auth-token").or_else(|| connection.header("x-storage-token"));
        let token = token.ok_or_else(|| self.url.no_session(answer.status, "an X-Auth-Token line", USUAL))?;
        let storage_url = connection
            .header("x-storage-url")
            .ok_or_else(|| self.url.no_session(answer.status, "an X-Storage-Url line", USUAL))?;
        if !storage_url.starts_with("http://") && !storage_url.starts_with("https://") {
            let message =
                format!("{} gave the storage URL `{storage_url}`, which is not http", self.url.text);
            return Err(Error::new(ErrorKind::Protocol, message)
                .with_hint("look at `storage_url_scheme` and `reseller_prefix` of the auth service"));
        }
        let lifetime = connection.header("x-auth-token-expires").and_then(|text| text.trim().parse().ok());
        Ok(Session {
            token: Some(Secret::new(token)),
            storage_url: Some(storage_url.to_owned()),
            expires_at: lifetime.map(Duration::from_secs).and_then(renew_at),
            login_time: begun.elapsed(),
            ..Session::default()
        })
    }
}

impl Auth for SwAuth {
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

    fn auth(url: &str, more: &[(&str, &str)]) -> Arc<dyn Auth> {
        let entries = [("url", url), ("username", "test:tester"), ("password", "hunter2")];
        let (settings, problems) = Settings::parse(KEYS, entries.into_iter().chain(more.iter().copied()));
        assert!(problems.is_empty(), "{problems:?}");
        (DEF.open)(&settings).unwrap()
    }

    #[tokio::test(flavor = "current_thread")]
    async fn user_and_key_are_sent_and_token_url_and_lifetime_taken_from_any_2xx() {
        for status in ["200 OK", "204 No Content"] {
            let length = if status.starts_with("204") { "" } else { "Content-Length: 0\r\n" };
            let server = scripted::serve(vec![Script::answer(format!(
                "HTTP/1.1 {status}\r\n{length}X-Storage-Url: http://store:8080/v1/AUTH_test\r\nX-Auth-Token: AUTH_tk9\r\n\
                 X-Auth-Token-Expires: 600\r\n\r\n"
            ))]);
            let session = auth(&server.url("/auth/v1.0"), &[]).login().await.unwrap();
            assert_eq!(session.token, Some(Secret::new("AUTH_tk9")));
            assert_eq!(session.storage_url.as_deref(), Some("http://store:8080/v1/AUTH_test"));
            let left = session.expires_at.unwrap() - Instant::now();
            assert!(left > Duration::from_secs(500) && left < Duration::from_secs(541), "{left:?}");
            let request = server.requests().remove(0);
            assert!(request.starts_with("GET /auth/v1.0 HTTP/1.1\r\n"), "{request}");
            assert!(request.contains("X-Auth-User: test:tester\r\nX-Auth-Key: hunter2\r\n"), "{request}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn every_way_to_fail_is_told_apart_and_none_shows_the_key() {
        let cases = [
            ("401 Unauthorized", "", ErrorKind::Denied, "wrong user or key"),
            ("403 Forbidden", "", ErrorKind::Denied, "account:user"),
            ("404 Not Found", "", ErrorKind::Status(404), "/auth/v1.0"),
            ("405 Method Not Allowed", "", ErrorKind::Status(405), "probably not an auth URL"),
            (
                "302 Found",
                "Location: http://else/where?ticket=hunter2\r\n",
                ErrorKind::Status(302),
                "redirects to http://else/where",
            ),
            ("503 Service Unavailable", "", ErrorKind::Status(503), "auth service's own log"),
            ("200 OK", "", ErrorKind::Protocol, "without an X-Auth-Token"),
            ("200 OK", "X-Auth-Token: t\r\n", ErrorKind::Protocol, "without an X-Storage-Url"),
            ("200 OK", "X-Auth-Token: t\r\nX-Storage-Url: /v1\r\n", ErrorKind::Protocol, "not http"),
        ];
        for (status, lines, kind, words) in cases {
            let server = scripted::serve(vec![Script::answer(format!(
                "HTTP/1.1 {status}\r\n{lines}Content-Length: 2\r\n\r\nno"
            ))]);
            let error = auth(&server.url("/auth/v1.0"), &[]).login().await.unwrap_err();
            assert_eq!(error.kind(), kind, "{status}: {error}");
            assert!(error.to_string().contains(words), "{status}: {error}");
            assert!(error.hint().is_some() && !error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_server_that_is_not_there_and_a_name_that_is_unknown_are_connect_errors() {
        for url in
            [scripted::closed_port_url("/auth/v1.0"), "http://no-such-host.invalid/auth/v1.0".to_owned()]
        {
            let error = auth(&url, &[]).login().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
            assert!(error.message().starts_with(&format!("login at {url}: ")), "{error}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn plain_http_behind_an_https_url_is_a_tls_error() {
        let server = scripted::serve(vec![Script::answer("HTTP/1.1 400 Bad Request\r\n\r\n")]);
        let url = server.url("/auth/v1.0").replace("http:", "https:");
        let error = auth(&url, &[("insecure", "true")]).login().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
    }
}
