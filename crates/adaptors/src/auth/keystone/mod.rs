//! The `keystone` auth: OpenStack Identity, API v3 (password, application credential or a ready token) and the old v2.0
//! that COSBench spoke. Gives the token and the object store's URL from the service catalogue. Source: OpenStack
//! "Identity API v3" and "Identity API v2.0"; keys and defaults of v2.0 are COSBench's.

mod answer;
mod request;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    Auth, AuthDef, BytesSource, Error, ErrorKind, Key, KeyKind, OpFuture, Result, Secret, Session,
    SessionPart, Settings,
};

use super::login::{LoginUrl, renew_at};
use crate::http::{Body, Connection, Request, TRANSPORT_KEYS, concat_keys, header, header_number};
use answer::Wanted;
use request::{Identity, Scope};

const OWN_KEYS: &[Key] = &[
    Key::new("auth_url", KeyKind::Url, "Keystone's URL, ending in /v3 or /v2.0 (without either: v3)")
        .alias(&["url"])
        .default("http://127.0.0.1:5000/v2.0"),
    Key::new("version", KeyKind::Choice(&["auto", "3", "2.0"]), "API version; auto: what auth_url ends in").default("auto"),
    Key::new("username", KeyKind::Text, "user name").default(""),
    Key::new("password", KeyKind::Text, "password").default("").secret(),
    Key::new("tenant_name", KeyKind::Text, "project (v2.0: tenant) by name")
        .alias(&["tenname", "project_name", "project"])
        .default(""),
    Key::new("tenant_id", KeyKind::Text, "project (v2.0: tenant) by id").alias(&["project_id"]).default(""),
    Key::new(
        "domain",
        KeyKind::Text,
        "domain of user and project (v3), where they have no key of their own; a name, or an id (32 hexadecimal digits, or \
         `default`)",
    )
    .default(""),
    Key::new("user_domain", KeyKind::Text, "name of the user's domain (v3), or its id as in `domain`")
        .alias(&["user_domain_name"])
        .default(""),
    Key::new("user_domain_id", KeyKind::Text, "id of the user's domain (v3), if it is not named").default("default"),
    Key::new("project_domain", KeyKind::Text, "name of the project's domain (v3), or its id as in `domain`")
        .alias(&["project_domain_name"])
        .default(""),
    Key::new("project_domain_id", KeyKind::Text, "id of the project's domain (v3), if it is not named").default("default"),
    Key::new("application_credential_id", KeyKind::Text, "log in with this application credential (v3)").default(""),
    Key::new("application_credential_name", KeyKind::Text, "the same by name, together with username (v3)").default(""),
    Key::new("application_credential_secret", KeyKind::Text, "its secret").default("").secret(),
    Key::new("usertoken", KeyKind::Text, "log in with this token instead of a password").alias(&["token"]).default("").secret(),
    Key::new(
        "service",
        KeyKind::Text,
        "NAME of the object store in the catalogue; while it is not given, any of the service_type will do and one \
         named swift comes first",
    )
    .default("swift"),
    Key::new("service_type", KeyKind::Text, "type of the object store in the catalogue").default("object-store"),
    Key::new("region", KeyKind::Text, "region of the endpoint; without it the first one").alias(&["region_name"]).default(""),
    Key::new("interface", KeyKind::Choice(&["public", "internal", "admin"]), "which of the endpoints").default("public"),
    Key::new("timeout", KeyKind::Duration, "time limit of a login").default("10s"),
    super::RETRY,
    super::CACHING,
    super::LOGGING,
];
const KEYS: &[Key] = &concat_keys::<{ OWN_KEYS.len() + TRANSPORT_KEYS.len() }>(OWN_KEYS, TRANSPORT_KEYS);

/// The row of the table of auths.
pub const DEF: AuthDef = AuthDef {
    name: "keystone",
    aliases: &[],
    summary: "OpenStack Keystone, v3 and v2.0",
    keys: KEYS,
    open,
    gives: Some(SessionPart::AuthToken),
};

const USUAL: &str = "Keystone's usual URLs are http://host:5000/v3 and http://host/identity/v3";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V2,
    V3,
}

struct Keystone {
    /// The URL with the version's path.
    url: LoginUrl,
    version: Version,
    identity: Identity,
    scope: Scope,
    wanted: Wanted,
    timeout: Duration,
    retries: u32,
}

fn open(settings: &Settings) -> Result<Arc<dyn Auth>> {
    let (text, version) = versioned(&settings.required("auth_url")?, &settings.text("version"));
    Ok(Arc::new(Keystone {
        url: LoginUrl::new(&text, settings)?,
        version,
        identity: Identity::from(settings, version)?,
        scope: Scope::from(settings),
        wanted: Wanted::from(settings),
        timeout: settings.duration("timeout").unwrap_or(Duration::from_secs(10)),
        retries: super::retries(settings),
    }))
}

/// The URL with a version at its end.
fn versioned(url: &str, asked: &str) -> (String, Version) {
    let url = url.trim().trim_end_matches('/');
    let url = url.strip_suffix("/tokens").unwrap_or(url);
    let url = url.strip_suffix("/auth").unwrap_or(url);
    let (base, found) = if let Some(base) = url.strip_suffix("/v3") {
        (base, Some(Version::V3))
    } else if let Some(base) = url.strip_suffix("/v2.0") {
        (base, Some(Version::V2))
    } else {
        (url, None)
    };
    let version = match asked {
        "3" => Version::V3,
        "2.0" => Version::V2,
        _ => found.unwrap_or(Version::V3),
    };
    (format!("{base}/{}", if version == Version::V3 { "v3" } else { "v2.0" }), version)
}

impl Keystone {
    async fn session(&self) -> Result<Session> {
        let begun = Instant::now();
        let mut connection = Connection::new(&self.url.endpoint);
        let status = self.ask_for_token(&mut connection, &self.scope).await?;
        match status {
            200..300 => {}
            401 | 403 => return Err(self.why_denied(&mut connection, status).await),
            status => return Err(self.unexpected(&connection, status)),
        }
        let found = match self.version {
            Version::V3 => answer::read_v3(connection.body(), connection.header("x-subject-token")),
            Version::V2 => answer::read_v2(connection.body()),
        };
        let found = found.map_err(|lacks| self.url.no_session(status, &lacks, USUAL))?;
        let storage_url = self.wanted.find(&found.catalog).map_err(|reason| {
            Error::new(ErrorKind::Denied, format!("login at {}: {reason}", self.url.text)).with_hint(
                "set `service`, `service_type`, `region` or `interface` to what is there; a catalogue without \
                 anything means that no project was given (`tenant_name`)",
            )
        })?;
        Ok(Session {
            token: Some(found.token),
            storage_url: Some(storage_url),
            expires_at: found.lifetime.and_then(renew_at),
            login_time: begun.elapsed(),
            ..Session::default()
        })
    }

    async fn ask_for_token(&self, connection: &mut Connection, scope: &Scope) -> Result<u16> {
        let (path, body) = match self.version {
            Version::V3 => ("auth/tokens", request::v3(&self.identity, scope)),
            Version::V2 => ("tokens", request::v2(&self.identity, scope)),
        };
        let mut head = self.start("POST", path);
        header(&mut head, "Content-Type", "application/json");
        header(&mut head, "Accept", "application/json");
        header_number(&mut head, "Content-Length", body.len() as u64);
        head.extend_from_slice(b"\r\n");
        let source = BytesSource(&body);
        let request = Request::with_body(&head, Body::Sized(&source));
        Ok(self.url.exchange(connection, request, true).await?.status)
    }

    fn start(&self, method: &str, path: &str) -> Vec<u8> {
        let mut head = Vec::with_capacity(512);
        let target = format!("{}/{path}", self.url.path.trim_end_matches('/'));
        self.url.endpoint.start_head(&mut head, method, target.as_bytes());
        head
    }

    /// Keystone says 401 both for a wrong password and for a project that is not there (or not this user's). Asking once
    /// more without the project tells which; this happens only after a login has failed.
    async fn why_denied(&self, connection: &mut Connection, status: u16) -> Error {
        let who = self.identity.describe();
        let wrong = self.url.denied(status, &format!("wrong {who}"), self.identity.remedy());
        if self.version == Version::V2 || self.scope.is_none() || !self.identity.can_be_unscoped() {
            return wrong;
        }
        let Ok(200..300) = self.ask_for_token(connection, &Scope::Unscoped).await else { return wrong };
        let token = connection.header("x-subject-token").map(Secret::new);
        let projects = match token {
            Some(token) => self.projects(connection, &token).await,
            None => Vec::new(),
        };
        let has = if projects.is_empty() { "none".to_owned() } else { projects.join(", ") };
        let what = format!("{who} is right, but has no {} there; its projects: {has}", self.scope.describe());
        let remedy = "set `tenant_name` (and `project_domain`) to a project in which the user has a role";
        self.url.denied(status, &what, remedy)
    }

    /// Names of the projects that a token's user may enter; empty where Keystone does not tell.
    async fn projects(&self, connection: &mut Connection, token: &Secret) -> Vec<String> {
        let mut head = self.start("GET", "auth/projects");
        header(&mut head, "X-Auth-Token", token.expose());
        header(&mut head, "Accept", "application/json");
        head.extend_from_slice(b"\r\n");
        match self.url.exchange(connection, Request::new(&head), true).await {
            Ok(answer) if answer.is_success() => answer::project_names(connection.body()),
            _ => Vec::new(),
        }
    }

    fn unexpected(&self, connection: &Connection, status: u16) -> Error {
        let told = answer::error_text(connection.body());
        match (status, told) {
            (400, Some(told)) => Error::new(
                ErrorKind::Status(status),
                format!("login at {}: Keystone does not understand the request: {told}", self.url.text),
            )
            .with_hint("check the user, domain and project keys"),
            // Keystone's own 404, about the token and not about the path.
            (404, Some(told)) if matches!(self.identity, Identity::Token(_)) => {
                self.url.denied(status, &told, self.identity.remedy())
            }
            (404 | 300, _) if self.version == Version::V2 => {
                self.url.unexpected(connection, status, "new Keystones have no v2.0: end auth_url in /v3")
            }
            _ => self.url.unexpected(connection, status, USUAL),
        }
    }
}

impl Auth for Keystone {
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
mod tests;
