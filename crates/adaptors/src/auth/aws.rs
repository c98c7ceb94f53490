//! The `aws` auth: keys for AWS signatures, found where Amazon's own tools find them. Sources: AWS, "Configuration and
//! credential file settings" and "Environment variables to configure the AWS CLI"; AWS Security Token Service API reference,
//! `AssumeRoleWithWebIdentity`.
//!
//! The first of these that is there: keys (`accesskey`, `secretkey`, with `session_token` for temporary ones); a role and
//! the file with a web identity token, which the Security Token Service exchanges for temporary keys; a profile of the
//! shared credentials file. Files are read at every login, so that what rotates them is followed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    Auth, AuthDef, AwsKeys, BytesSource, Error, ErrorKind, Key, KeyKind, OpFuture, Result, Secret, Session,
    SessionPart, Settings,
};
use jiff::Timestamp;

use super::login::{LoginUrl, renew_at};
use crate::http::date::unix_seconds;
use crate::http::request::one_line;
use crate::http::xml_scan;
use crate::http::{
    Body, Connection, Request, TRANSPORT_KEYS, concat_keys, header, header_number, push_query_escaped,
};

const OWN_KEYS: &[Key] = &[
    Key::new("accesskey", KeyKind::Text, "access key id")
        .alias(&["access_key", "access_key_id"])
        .env("AWS_ACCESS_KEY_ID"),
    Key::new("secretkey", KeyKind::Text, "secret access key")
        .alias(&["secret_key", "secret_access_key"])
        .secret()
        .env("AWS_SECRET_ACCESS_KEY"),
    Key::new("session_token", KeyKind::Text, "session token of temporary keys")
        .secret()
        .env("AWS_SESSION_TOKEN"),
    Key::new("role_arn", KeyKind::Text, "role to take on with a web identity token").env("AWS_ROLE_ARN"),
    Key::new("web_identity_token_file", KeyKind::File, "file with the token of an identity provider")
        .env("AWS_WEB_IDENTITY_TOKEN_FILE"),
    Key::new("role_session_name", KeyKind::Text, "name of the session in Amazon's logs")
        .default("cosmark")
        .env("AWS_ROLE_SESSION_NAME"),
    Key::new(
        "sts_endpoint",
        KeyKind::Url,
        "the Security Token Service, or another store's: MinIO answers at its own URL",
    )
    .alias(&["auth_url", "url"])
    .default("https://sts.amazonaws.com")
    .env("AWS_ENDPOINT_URL_STS"),
    Key::new("duration", KeyKind::Duration, "how long the temporary keys are to be good for").default("1h"),
    Key::new("profile", KeyKind::Text, "section of the credentials file")
        .default("default")
        .env("AWS_PROFILE"),
    Key::new("credentials_file", KeyKind::File, "the shared credentials file")
        .default("~/.aws/credentials")
        .env("AWS_SHARED_CREDENTIALS_FILE"),
    Key::new("timeout", KeyKind::Duration, "time limit of a login").default("30s"),
    super::RETRY,
    super::CACHING,
    super::LOGGING,
];
const KEYS: &[Key] = &concat_keys::<{ OWN_KEYS.len() + TRANSPORT_KEYS.len() }>(OWN_KEYS, TRANSPORT_KEYS);

/// The row of the table of auths.
pub const DEF: AuthDef = AuthDef {
    name: "aws",
    aliases: &[],
    summary: "keys for s3 from the environment, a profile or a web identity, as Amazon's tools find them",
    keys: KEYS,
    open,
    gives: Some(SessionPart::AwsKeys),
};

/// Files with credentials or tokens have some KiB.
const MOST_BYTES: u64 = 1 << 20;

const USUAL: &str =
    "the Security Token Service is at https://sts.amazonaws.com or https://sts.REGION.amazonaws.com";

enum Source {
    Keys(AwsKeys),
    WebIdentity(Box<WebIdentity>),
    Profile { file: PathBuf, profile: String },
}

struct WebIdentity {
    url: LoginUrl,
    role: String,
    session_name: String,
    token_file: PathBuf,
    duration: Duration,
}

struct Aws {
    source: Source,
    timeout: Duration,
    retries: u32,
}

fn open(settings: &Settings) -> Result<Arc<dyn Auth>> {
    Ok(Arc::new(Aws {
        source: source(settings)?,
        timeout: settings.duration("timeout").unwrap_or(Duration::from_secs(30)),
        retries: super::retries(settings),
    }))
}

fn source(settings: &Settings) -> Result<Source> {
    let config = |message: &str, hint: &str| Error::new(ErrorKind::Config, message).with_hint(hint);
    let access_key = settings.text("accesskey");
    let secret_key = settings.secret("secretkey");
    match (access_key.is_empty(), secret_key.is_empty()) {
        (false, false) => {
            let session_token = Some(settings.secret("session_token")).filter(|token| !token.is_empty());
            return Ok(Source::Keys(AwsKeys { access_key, secret_key, session_token }));
        }
        (true, true) => {}
        _ => return Err(config("accesskey and secretkey go together", "give both or none")),
    }
    let role = settings.text("role_arn");
    match (role.is_empty(), settings.path("web_identity_token_file")) {
        (false, Some(token_file)) => {
            return Ok(Source::WebIdentity(Box::new(WebIdentity {
                url: LoginUrl::new(&settings.required("sts_endpoint")?, settings)?,
                role,
                session_name: settings.text("role_session_name"),
                token_file,
                duration: settings.duration("duration").unwrap_or(Duration::from_secs(3600)),
            })));
        }
        (true, None) => {}
        _ => return Err(config("role_arn and web_identity_token_file go together", "give both or none")),
    }
    let file = settings.path("credentials_file").ok_or_else(|| {
        config(
            "no credentials: neither keys, nor a role, nor a credentials file",
            "set accesskey and secretkey",
        )
    })?;
    Ok(Source::Profile { file, profile: settings.text("profile") })
}

fn read_file(file: &Path, what: &str) -> Result<String> {
    let shown = file.display();
    let read = match std::fs::metadata(file) {
        Ok(found) if found.len() > MOST_BYTES => Err("it is too long".to_owned()),
        Ok(_) => std::fs::read_to_string(file).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    read.map_err(|cause| {
        Error::new(ErrorKind::LocalIo, format!("{what} {shown} cannot be read: {cause}")).with_hint(
            "give accesskey and secretkey, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name the file in the auth \
             config",
        )
    })
}

/// Keys of one section of an INI file.
fn read_profile(file: &Path, profile: &str) -> Result<AwsKeys> {
    let text = read_file(file, "the credentials file")?;
    let mut sections: Vec<&str> = Vec::new();
    let mut is_wanted = false;
    let (mut access_key, mut secret_key, mut session_token) = (None, None, None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.trim();
            // The other of Amazon's two files writes `[profile name]`.
            is_wanted = name.strip_prefix("profile ").map_or(name, str::trim) == profile;
            sections.push(name);
        } else if let Some((key, value)) = line.split_once('=')
            && is_wanted
            && !line.starts_with(['#', ';'])
        {
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "aws_access_key_id" => access_key = Some(value.to_owned()),
                "aws_secret_access_key" => secret_key = Some(Secret::new(value)),
                "aws_session_token" => session_token = Some(Secret::new(value)),
                _ => {}
            }
        }
    }
    match (access_key, secret_key) {
        (Some(access_key), Some(secret_key)) if !secret_key.is_empty() => {
            Ok(AwsKeys { access_key, secret_key, session_token })
        }
        _ => {
            let has: Vec<String> = sections.iter().take(20).map(|name| one_line(name)).collect();
            let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
            let message =
                format!("{} has no keys in the profile `{profile}`; its profiles: {has}", file.display());
            Err(Error::new(ErrorKind::Config, message)
                .with_hint("set `profile` to one that has aws_access_key_id and aws_secret_access_key"))
        }
    }
}

impl WebIdentity {
    async fn keys(&self) -> Result<(AwsKeys, Option<Instant>)> {
        let token = Secret::new(read_file(&self.token_file, "the web identity token")?.trim());
        let mut body = b"Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=".to_vec();
        push_query_escaped(&mut body, &self.role);
        for (name, value) in [
            ("RoleSessionName", self.session_name.as_str()),
            ("DurationSeconds", &self.duration.as_secs().to_string()),
            ("WebIdentityToken", token.expose()),
        ] {
            body.push(b'&');
            body.extend_from_slice(name.as_bytes());
            body.push(b'=');
            push_query_escaped(&mut body, value);
        }
        let mut connection = Connection::new(&self.url.endpoint);
        let mut head = Vec::with_capacity(256);
        self.url.endpoint.start_head(&mut head, "POST", self.url.path.as_bytes());
        header(&mut head, "Content-Type", "application/x-www-form-urlencoded");
        header_number(&mut head, "Content-Length", body.len() as u64);
        head.extend_from_slice(b"\r\n");
        let source = BytesSource(&body);
        let request = Request::with_body(&head, Body::Sized(&source));
        let status = self.url.exchange(&mut connection, request, true).await?.status;
        let answer = connection.body();
        let find = |tag: &str| xml_scan::find(answer, tag).map(|text| xml_scan::unescape(text.trim()));
        if (200..300).contains(&status) {
            let keys = find("AccessKeyId").zip(find("SecretAccessKey"));
            let (access_key, secret_key) =
                keys.ok_or_else(|| self.url.no_session(status, "an AccessKeyId and SecretAccessKey", USUAL))?;
            let session_token = find("SessionToken").map(Secret::new);
            let keys = AwsKeys { access_key, secret_key: Secret::new(secret_key), session_token };
            return Ok((keys, find("Expiration").and_then(|text| expires_at(&text))));
        }
        match find("Code") {
            Some(code) if (400..500).contains(&status) => {
                let told = one_line(&find("Message").unwrap_or_default());
                Err(self.url.denied(status, &format!("{}: {told}", one_line(&code)), remedy(&code)))
            }
            _ => Err(self.url.unexpected(&connection, status, USUAL)),
        }
    }
}

fn expires_at(text: &str) -> Option<Instant> {
    let at: Timestamp = text.parse().ok()?;
    let left = u64::try_from(at.as_second()).ok()?.checked_sub(unix_seconds())?;
    renew_at(Duration::from_secs(left))
}

fn remedy(code: &str) -> &'static str {
    match code {
        "ExpiredTokenException" | "ExpiredToken" => {
            "the web identity token has expired: what writes its file has stopped"
        }
        "InvalidIdentityToken" | "IDPRejectedClaim" => {
            "the role's identity provider does not know this token"
        }
        "AccessDenied" => "the role's trust policy does not let this identity take it on: check role_arn",
        _ => "check role_arn and the web identity token",
    }
}

impl Aws {
    async fn session(&self) -> Result<Session> {
        let begun = Instant::now();
        let (keys, expires_at) = match &self.source {
            Source::Keys(keys) => (keys.clone(), None),
            Source::Profile { file, profile } => (read_profile(file, profile)?, None),
            Source::WebIdentity(identity) => identity.keys().await?,
        };
        Ok(Session { aws: Some(keys), expires_at, login_time: begun.elapsed(), ..Session::default() })
    }
}

impl Auth for Aws {
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

    async fn login(entries: &[(&str, &str)]) -> Result<Session> {
        let (settings, problems) = Settings::parse(KEYS, entries.iter().copied());
        assert!(problems.is_empty(), "{problems:?}");
        open(&settings)?.login().await
    }

    const FILE: &str = "[default]\naws_access_key_id = AKDEFAULT\naws_secret_access_key=hidden-one\n\n; a comment\n\
        [profile bench]\naws_access_key_id=AKBENCH\naws_secret_access_key = hidden=two\naws_session_token = hidden-three\n\
        [empty]\nregion = eu-west-1\n";

    #[tokio::test(flavor = "current_thread")]
    async fn keys_come_first_then_a_profile_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("credentials");
        std::fs::write(&file, FILE).unwrap();
        let file = ("credentials_file", file.to_str().unwrap());
        let keys = login(&[("accesskey", "A"), ("secretkey", "B"), file]).await.unwrap().aws.unwrap();
        assert_eq!((keys.access_key.as_str(), keys.session_token), ("A", None));
        let keys = login(&[file]).await.unwrap().aws.unwrap();
        assert_eq!((keys.access_key.as_str(), keys.secret_key.expose()), ("AKDEFAULT", "hidden-one"));
        let keys = login(&[file, ("profile", "bench")]).await.unwrap().aws.unwrap();
        assert_eq!((keys.access_key.as_str(), keys.secret_key.expose()), ("AKBENCH", "hidden=two"));
        assert_eq!(keys.session_token.unwrap().expose(), "hidden-three");
        for profile in ["empty", "nowhere"] {
            let error = login(&[file, ("profile", profile)]).await.unwrap_err();
            assert!(error.message().ends_with("its profiles: default, profile bench, empty"), "{error}");
            assert!(!error.to_string().contains("hidden"));
        }
        let error = login(&[("credentials_file", "/nonexistent")]).await.unwrap_err();
        assert!(error.kind() == ErrorKind::LocalIo && error.hint().is_some(), "{error}");
        let error = login(&[("accesskey", "A")]).await.unwrap_err();
        assert!(error.message().contains("go together"), "{error}");
    }

    const GRANTED: &str = "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
        <AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s/1</SecretAccessKey><SessionToken>t&amp;1</SessionToken>\
        <Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>\
        </AssumeRoleWithWebIdentityResponse>";

    #[tokio::test(flavor = "current_thread")]
    async fn a_web_identity_is_exchanged_for_temporary_keys_and_its_file_is_read_each_time() {
        let server =
            serve(vec![Script::status("200 OK", "", GRANTED), Script::status("200 OK", "", GRANTED)]);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        let url = server.url("");
        let entries = [
            ("role_arn", "arn:aws:iam::1:role/bench"),
            ("web_identity_token_file", file.to_str().unwrap()),
            ("sts_endpoint", url.as_str()),
        ];
        for token in ["ey.one", "ey.two"] {
            std::fs::write(&file, format!("{token}\n")).unwrap();
            let session = login(&entries).await.unwrap();
            let keys = session.aws.unwrap();
            assert_eq!((keys.access_key.as_str(), keys.secret_key.expose()), ("ASIA1", "s/1"));
            assert_eq!(keys.session_token.unwrap().expose(), "t&1");
            assert!(session.expires_at.is_some());
        }
        let requests = server.requests();
        assert!(requests[0].starts_with("POST / HTTP/1.1"), "{}", requests[0]);
        assert!(requests[0].contains(
            "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fbench&RoleSessionName=cosmark&DurationSeconds=3600"
        ));
        assert!(requests[1].ends_with("&WebIdentityToken=ey.two"), "{}", requests[1]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn refusals_are_one_sentence_with_a_remedy_and_no_secret() {
        let refused = |code: &str| {
            format!("<ErrorResponse><Error><Code>{code}</Code><Message>No.</Message></Error></ErrorResponse>")
        };
        let cases = [
            ("400 Bad Request", refused("ExpiredTokenException"), ErrorKind::Denied, "has expired"),
            ("403 Forbidden", refused("AccessDenied"), ErrorKind::Denied, "trust policy"),
            ("404 Not Found", "<html>".to_owned(), ErrorKind::Status(404), "sts.amazonaws.com"),
            ("200 OK", "<html>".to_owned(), ErrorKind::Protocol, "sts.amazonaws.com"),
        ];
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, "hidden-token").unwrap();
        for (status, body, kind, words) in cases {
            let server = serve(vec![Script::status(status, "", &body)]);
            let url = server.url("");
            let entries = [
                ("role_arn", "r"),
                ("web_identity_token_file", file.to_str().unwrap()),
                ("sts_endpoint", url.as_str()),
            ];
            let error = login(&entries).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.hint().unwrap().contains(words), "{error}");
            assert!(!format!("{error:?}").contains("hidden-token"));
        }
        let error = login(&[("role_arn", "r")]).await.unwrap_err();
        assert!(error.message().contains("go together"), "{error}");
    }
}
