//! The bodies of token requests.

use cosmark_adaptor_api::{Error, ErrorKind, Result, Secret, Settings};
use serde_json::{Value, json};

use super::Version;

/// Who logs in.
pub(super) enum Identity {
    Password { username: String, domain: Value, password: Secret },
    CredentialById { id: String, secret: Secret },
    CredentialByName { name: String, username: String, domain: Value, secret: Secret },
    Token(Secret),
}

/// A domain: what the key of its own says, else the key of both. Forks of COSBench put ids there, people names.
fn domain(settings: &Settings, own: &str, id: &str) -> Value {
    let given = |key: &str| Some(settings.text(key)).filter(|text| !text.is_empty());
    let of_both = || given("domain").filter(|_| !settings.is_given(id));
    match given(own).or_else(of_both) {
        Some(text) if is_id(&text) => json!({ "id": text }),
        Some(text) => json!({ "name": text }),
        None => json!({ "id": settings.text(id) }),
    }
}

/// Keystone makes ids of 32 hexadecimal digits; its first domain, which is called `Default`, has the id `default`.
fn is_id(text: &str) -> bool {
    text == "default" || (text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl Identity {
    /// # Errors
    /// `Config` when keys are missing or do not go together.
    pub(super) fn from(settings: &Settings, version: Version) -> Result<Self> {
        let config = |message: &str, hint: &str| Error::new(ErrorKind::Config, message).with_hint(hint);
        let (id, name) =
            (settings.text("application_credential_id"), settings.text("application_credential_name"));
        let username = settings.text("username");
        let user_domain = || domain(settings, "user_domain", "user_domain_id");
        if !id.is_empty() || !name.is_empty() {
            if version == Version::V2 {
                return Err(config("application credentials need Keystone v3", "end auth_url in /v3"));
            }
            let secret = settings.secret("application_credential_secret");
            if secret.is_empty() {
                return Err(config(
                    "the application credential has no secret",
                    "set application_credential_secret",
                ));
            }
            if !id.is_empty() {
                return Ok(Self::CredentialById { id, secret });
            }
            if username.is_empty() {
                return Err(config(
                    "application_credential_name goes with username",
                    "set username, or the id instead",
                ));
            }
            return Ok(Self::CredentialByName { name, username, domain: user_domain(), secret });
        }
        let token = settings.secret("usertoken");
        if username.is_empty() && !token.is_empty() {
            return Ok(Self::Token(token));
        }
        if username.is_empty() {
            return Err(config("the keystone auth has no user", "set username and password"));
        }
        Ok(Self::Password { username, domain: user_domain(), password: settings.secret("password") })
    }

    /// For messages; no secrets.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Password { username, domain, .. } => {
                format!("user or password (user `{username}`, domain {})", shown(domain))
            }
            Self::CredentialById { id, .. } => format!("application credential or secret (id {id})"),
            Self::CredentialByName { name, username, .. } => {
                format!("application credential or secret (`{name}` of user `{username}`)")
            }
            Self::Token(_) => "token, or it has expired".to_owned(),
        }
    }

    pub(super) fn remedy(&self) -> &'static str {
        match self {
            Self::Password { .. } => "check username, password and user_domain",
            Self::CredentialById { .. } | Self::CredentialByName { .. } => {
                "check the application credential's id or name, its secret and its expiry"
            }
            Self::Token(_) => "get a new token, or give username and password",
        }
    }

    /// Application credentials are bound to their project.
    pub(super) fn can_be_unscoped(&self) -> bool {
        matches!(self, Self::Password { .. } | Self::Token(_))
    }
}

fn shown(domain: &Value) -> String {
    let find = |key: &str| domain.get(key).and_then(Value::as_str);
    match (find("name"), find("id")) {
        (Some(name), _) => format!("`{name}`"),
        (None, id) => format!("id `{}`", id.unwrap_or_default()),
    }
}

/// What the token is for.
pub(super) enum Scope {
    /// Nothing said: the user's default project.
    None,
    /// Explicitly nothing.
    Unscoped,
    ProjectId(String),
    ProjectName {
        name: String,
        domain: Value,
    },
}

impl Scope {
    pub(super) fn from(settings: &Settings) -> Self {
        let (id, name) = (settings.text("tenant_id"), settings.text("tenant_name"));
        if !id.is_empty() {
            Self::ProjectId(id)
        } else if !name.is_empty() {
            Self::ProjectName { name, domain: domain(settings, "project_domain", "project_domain_id") }
        } else {
            Self::None
        }
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None | Self::Unscoped)
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::ProjectId(id) => format!("project with id {id}"),
            Self::ProjectName { name, domain } => format!("project `{name}` (domain {})", shown(domain)),
            Self::None | Self::Unscoped => "project".to_owned(),
        }
    }
}

/// The body for `POST /v3/auth/tokens`.
pub(super) fn v3(identity: &Identity, scope: &Scope) -> Vec<u8> {
    let identity_part = match identity {
        Identity::Password { username, domain, password } => json!({
            "methods": ["password"],
            "password": { "user": { "name": username, "domain": domain, "password": password.expose() } },
        }),
        Identity::CredentialById { id, secret } => json!({
            "methods": ["application_credential"],
            "application_credential": { "id": id, "secret": secret.expose() },
        }),
        Identity::CredentialByName { name, username, domain, secret } => json!({
            "methods": ["application_credential"],
            "application_credential": {
                "name": name, "secret": secret.expose(), "user": { "name": username, "domain": domain },
            },
        }),
        Identity::Token(token) => json!({ "methods": ["token"], "token": { "id": token.expose() } }),
    };
    let mut auth = json!({ "identity": identity_part });
    // An application credential has its own project and refuses another.
    let is_bound = matches!(identity, Identity::CredentialById { .. } | Identity::CredentialByName { .. });
    let scope_part = match scope {
        _ if is_bound => Value::Null,
        Scope::None => Value::Null,
        Scope::Unscoped => json!("unscoped"),
        Scope::ProjectId(id) => json!({ "project": { "id": id } }),
        Scope::ProjectName { name, domain } => json!({ "project": { "name": name, "domain": domain } }),
    };
    if !scope_part.is_null() {
        auth["scope"] = scope_part;
    }
    json!({ "auth": auth }).to_string().into_bytes()
}

/// The body for `POST /v2.0/tokens`.
pub(super) fn v2(identity: &Identity, scope: &Scope) -> Vec<u8> {
    let mut auth = match identity {
        Identity::Password { username, password, .. } => {
            json!({ "passwordCredentials": { "username": username, "password": password.expose() } })
        }
        Identity::Token(token) => json!({ "token": { "id": token.expose() } }),
        // Refused when the settings are read.
        Identity::CredentialById { .. } | Identity::CredentialByName { .. } => json!({}),
    };
    match scope {
        Scope::ProjectId(id) => auth["tenantId"] = json!(id),
        Scope::ProjectName { name, .. } => auth["tenantName"] = json!(name),
        Scope::None | Scope::Unscoped => {}
    }
    json!({ "auth": auth }).to_string().into_bytes()
}
