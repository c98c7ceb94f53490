//! The `google` auth: an OAuth token for Google Cloud Storage, out of a service account's key file (RFC 7523: a signed
//! assertion is exchanged for a token), or given as it is. Source: Google, "Using OAuth 2.0 for server to server
//! applications".

use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    Auth, AuthDef, BytesSource, Error, ErrorKind, Key, KeyKind, OpFuture, Result, Secret, Session,
    SessionPart, Settings,
};
use serde::Deserialize;
use serde_json::json;

use super::login::{LoginUrl, renew_at};
use crate::http::date::unix_seconds;
use crate::http::request::one_line;
use crate::http::{Body, Connection, Request, TRANSPORT_KEYS, concat_keys, header, header_number};
use crate::service_account::ServiceAccount;

const OWN_KEYS: &[Key] = &[
    Key::new("jsonkeyfile", KeyKind::File, "key file of a service account, as Google's console makes it")
        .alias(&["json_key_file", "credentials"]),
    Key::new(
        "token",
        KeyKind::Text,
        "a token to use as it is, such as `gcloud auth print-access-token` prints",
    )
    .alias(&["access_token"])
    .secret(),
    Key::new("scope", KeyKind::Text, "what the token is for")
        .default("https://www.googleapis.com/auth/devstorage.full_control"),
    Key::new("token_url", KeyKind::Url, "where tokens are had; without it, what the key file says")
        .alias(&["auth_url", "url"]),
    Key::new("timeout", KeyKind::Duration, "time limit of a login").default("30s"),
    super::RETRY,
    super::CACHING,
    super::LOGGING,
];
const KEYS: &[Key] = &concat_keys::<{ OWN_KEYS.len() + TRANSPORT_KEYS.len() }>(OWN_KEYS, TRANSPORT_KEYS);

/// The row of the table of auths.
pub const DEF: AuthDef = AuthDef {
    name: "google",
    aliases: &[],
    summary: "Google Cloud: a service account's key file, or a ready token",
    keys: KEYS,
    open,
    gives: Some(SessionPart::BearerToken),
};

const USUAL: &str = "the key file's own token_uri is https://oauth2.googleapis.com/token";

enum Source {
    Account { account: Box<ServiceAccount>, url: LoginUrl, scope: String },
    Token(Secret),
}

struct Google {
    source: Source,
    timeout: Duration,
    retries: u32,
}

fn open(settings: &Settings) -> Result<Arc<dyn Auth>> {
    let token = settings.secret("token");
    let source = match (settings.path("jsonkeyfile"), token.is_empty()) {
        (Some(file), true) => {
            let account = ServiceAccount::read(&file)?;
            let url = settings.get("token_url").unwrap_or(&account.token_uri);
            let url = LoginUrl::new(url, settings)?;
            Source::Account { account: Box::new(account), url, scope: settings.text("scope") }
        }
        (None, false) => Source::Token(token),
        (Some(_), false) => {
            return Err(Error::new(ErrorKind::Config, "token and jsonkeyfile are both given")
                .with_hint("give one of them"));
        }
        (None, true) => {
            return Err(Error::new(ErrorKind::Config, "no such key defined: jsonkeyfile")
                .with_hint("add jsonkeyfile=path or token=.. to the auth config; emulators need no auth"));
        }
    };
    Ok(Arc::new(Google {
        source,
        timeout: settings.duration("timeout").unwrap_or(Duration::from_secs(30)),
        retries: super::retries(settings),
    }))
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct Refused {
    #[serde(default)]
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Google {
    async fn session(&self) -> Result<Session> {
        let begun = Instant::now();
        match &self.source {
            Source::Token(token) => Ok(Session { token: Some(token.clone()), ..Session::default() }),
            Source::Account { account, url, scope } => {
                let granted = exchange(account, url, scope).await?;
                Ok(Session {
                    token: Some(Secret::new(granted.access_token)),
                    expires_at: granted.expires_in.and_then(|seconds| renew_at(Duration::from_secs(seconds))),
                    login_time: begun.elapsed(),
                    ..Session::default()
                })
            }
        }
    }
}

async fn exchange(account: &ServiceAccount, url: &LoginUrl, scope: &str) -> Result<Granted> {
    let assertion = account.sign(json!({ "aud": account.token_uri, "scope": scope }), unix_seconds())?;
    let mut body = b"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=".to_vec();
    body.extend_from_slice(assertion.expose().as_bytes());
    let mut connection = Connection::new(&url.endpoint);
    let mut head = Vec::with_capacity(256);
    url.endpoint.start_head(&mut head, "POST", url.path.as_bytes());
    header(&mut head, "Content-Type", "application/x-www-form-urlencoded");
    header(&mut head, "Accept", "application/json");
    header_number(&mut head, "Content-Length", body.len() as u64);
    head.extend_from_slice(b"\r\n");
    let source = BytesSource(&body);
    let request = Request::with_body(&head, Body::Sized(&source));
    let status = url.exchange(&mut connection, request, true).await?.status;
    let refused: Option<Refused> = serde_json::from_slice(connection.body()).ok();
    match (status, refused) {
        (200..300, _) => serde_json::from_slice(connection.body())
            .map_err(|_| url.no_session(status, "an access_token", USUAL)),
        (400 | 401 | 403, Some(refused)) if !refused.error.is_empty() => {
            let what = format!("{}: {}", one_line(&refused.error), one_line(&refused.error_description));
            Err(url.denied(status, what.trim_end_matches([':', ' ']), remedy(&refused)))
        }
        (status, _) => Err(url.unexpected(&connection, status, USUAL)),
    }
}

fn remedy(refused: &Refused) -> &'static str {
    if refused.error_description.contains("iat") || refused.error_description.contains("timeframe") {
        "this machine's clock is wrong: set it by NTP"
    } else if refused.error == "invalid_grant" {
        "the key was deleted or disabled, or the account is not there: make a new key"
    } else {
        "check the scope and the service account"
    }
}

impl Auth for Google {
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
    use crate::scripted::{Script, serve};
    use crate::service_account::tests::{key_file, verified};

    fn auth(entries: &[(&str, &str)]) -> Result<Arc<dyn Auth>> {
        let (settings, problems) = Settings::parse(KEYS, entries.iter().copied());
        assert!(problems.is_empty(), "{problems:?}");
        open(&settings)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_signed_assertion_is_exchanged_for_a_token() {
        let answer = r#"{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}"#;
        let server = serve(vec![Script::status("200 OK", "", answer)]);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key.json");
        let (text, public_key) = key_file(&server.url("/token"));
        std::fs::write(&file, text).unwrap();
        let session = auth(&[("jsonkeyfile", file.to_str().unwrap())]).unwrap().login().await.unwrap();
        assert_eq!(session.token.unwrap().expose(), "ya29.x");
        assert!(session.expires_at.is_some());
        let request = server.requests().remove(0);
        assert!(request.starts_with("POST /token HTTP/1.1"), "{request}");
        let claims = verified(request.rsplit_once("assertion=").unwrap().1, &public_key);
        assert_eq!(claims["aud"], server.url("/token"));
        assert!(claims["scope"].as_str().unwrap().contains("devstorage"));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn refusals_are_one_sentence_with_a_remedy_and_no_secret() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key.json");
        let cases = [
            (
                "400 Bad Request",
                r#"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#,
                ErrorKind::Denied,
                "new key",
            ),
            (
                "400 Bad Request",
                r#"{"error":"invalid_grant","error_description":"check your iat and exp"}"#,
                ErrorKind::Denied,
                "clock",
            ),
            ("404 Not Found", "<html>", ErrorKind::Status(404), "oauth2.googleapis.com"),
            ("200 OK", "{}", ErrorKind::Protocol, "oauth2.googleapis.com"),
            ("503 Unavailable", "", ErrorKind::Status(503), "log"),
        ];
        for (status, body, kind, words) in cases {
            let server = serve(vec![Script::status(status, "", body)]);
            std::fs::write(&file, key_file(&server.url("/token")).0).unwrap();
            let error = auth(&[("jsonkeyfile", file.to_str().unwrap())]).unwrap().login().await.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.hint().unwrap().contains(words), "{error}");
        }
        assert!(auth(&[]).err().unwrap().hint().unwrap().contains("jsonkeyfile"));
        let token = auth(&[("token", "t")]).unwrap().login().await.unwrap().token;
        assert_eq!(token.unwrap().expose(), "t");
    }
}
