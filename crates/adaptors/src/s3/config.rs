//! The keys of the S3 adaptor and what they amount to.

use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{
    AwsKeys, Error, ErrorKind, Key, KeyKind, Result, Secret, Session, SessionPart, Settings,
};

use super::checksum::Checksum;
use super::streaming::Streaming;
use crate::common_keys::{LOGGING, TIMEOUT};
use crate::http::{Endpoint, STORE_KEYS, concat_keys, parse_url};
use crate::s3::choice::{EndpointChoice, InFlight, Versioning};

const OWN_KEYS: &[Key] = &[
    Key::new(
        "endpoint",
        KeyKind::List,
        "address of the store with http:// or https://, or several of the same store, separated by commas",
    )
    .default("http://s3.amazonaws.com"),
    Key::new(
        "endpoint_choice",
        KeyKind::Choice(EndpointChoice::WORDS),
        "with several endpoints: each worker keeps to one; each request goes to the next; each request goes to the one \
         with the fewest in flight",
    )
    .default("sticky"),
    Key::new("accesskey", KeyKind::Text, "access key id").alias(&["access_key", "access_key_id"]),
    Key::new("secretkey", KeyKind::Text, "secret access key").alias(&["secret_key", "secret_access_key"]).secret(),
    Key::new("session_token", KeyKind::Text, "session token of temporary credentials").secret(),
    TIMEOUT,
    Key::new(
        "path_style_access",
        KeyKind::Bool,
        "put the bucket into the path; else it stands before the host name, unless the host is an IP address or a \
         name without a dot, or the bucket is no host name",
    )
    .default("false")
    .alias(&["path_style"]),
    Key::new("region", KeyKind::Text, "region to sign for; guessed from Amazon's host names, else us-east-1")
        .alias(&["aws_region"]),
    Key::new(
        "signature",
        KeyKind::Choice(&["v4", "v2", "bearer", "none"]),
        "how requests are signed; bearer: not at all, with the auth's OAuth token, as Google takes it; none: anonymous",
    )
        .default("v4")
        .alias(&["signer_version", "signature_version"]),
    Key::new(
        "payload",
        KeyKind::Choice(&["unsigned", "signed", "streaming", "streaming-trailer"]),
        "how bodies of writes are protected: not by the signature; by a hash of the whole body; in signed chunks; in \
         unsigned chunks with a checksum behind them",
    )
    .default("unsigned"),
    Key::new(
        "checksum",
        KeyKind::Choice(Checksum::WORDS),
        "checksum that the store verifies: in a header line, or behind a body that is sent in chunks",
    )
    .default("none"),
    Key::new("storage_class", KeyKind::Text, "storage class of written objects"),
    Key::new("restore_days", KeyKind::Int(1, 36_500), "operation restore: for how many days the object is to be readable")
        .default("1"),
    Key::new(
        "restore_tier",
        KeyKind::Choice(&["standard", "bulk", "expedited"]),
        "operation restore: how soon, and at what price, the object is to be readable",
    )
    .default("standard"),
    Key::new(
        "versioning",
        KeyKind::Choice(Versioning::WORDS),
        "what init makes of the versioning of buckets: nothing; every write keeps the version before it; no longer",
    )
    .default("unchanged"),
    Key::new(
        "purge_versions",
        KeyKind::Bool,
        "dispose deletes old versions and the marks of deleted objects first, without which a bucket that had versioning is \
         never empty; objects that are still there are not deleted",
    )
    .default("false"),
    Key::new("part_size", KeyKind::Size, "size of parts where the operation names none").default("5MiB"),
    Key::new("list_version", KeyKind::Int(1, 2), "version of the listing request").default("2"),
    Key::new("bucket_exists_ok", KeyKind::Bool, "use a bucket that exists already, whoever owns it").default("false"),
    Key::new("namespace", KeyKind::Text, "ECS namespace (header x-emc-namespace)"),
    Key::new("project", KeyKind::Text, "Google's project of created buckets (header x-goog-project-id)").alias(&["projectid"]),
    Key::new(
        "dialect",
        KeyKind::Choice(&["aws", "oss", "ecs", "openio"]),
        "what the other names of this adaptor imply",
    )
    .default("aws"),
    Key::new("max_connections", KeyKind::Int(0, i64::MAX), "no effect: each worker has its own connection"),
    Key::new("read_timeout", KeyKind::Duration, "no effect: `timeout` limits the whole operation"),
    Key::new("http_client", KeyKind::Text, "no effect: there is one HTTP client"),
    Key::new("use_smart_client", KeyKind::Bool, "no effect: list the endpoints instead"),
    LOGGING,
    Key::new("ns", KeyKind::Text, "OpenIO's own protocol, which is not spoken: use its S3 gateway"),
    Key::new("account", KeyKind::Text, "OpenIO's own protocol, which is not spoken: use its S3 gateway"),
    Key::new("proxyd-url", KeyKind::Text, "OpenIO's own protocol, which is not spoken: use its S3 gateway"),
];

/// The keys.
pub(crate) const KEYS: &[Key] = &concat_keys::<{ OWN_KEYS.len() + STORE_KEYS.len() }>(OWN_KEYS, STORE_KEYS);

/// How requests are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signature {
    V4,
    V2,
    /// The session's token in place of a signature; it travels as the secret key.
    Bearer,
    None,
}

impl Signature {
    fn of(settings: &Settings) -> Self {
        match settings.text("signature").to_ascii_lowercase().as_str() {
            "v2" => Self::V2,
            "bearer" => Self::Bearer,
            "none" => Self::None,
            _ => Self::V4,
        }
    }
}

/// What of a session requests are signed with.
pub(super) fn takes(settings: &Settings) -> &'static [SessionPart] {
    match Signature::of(settings) {
        Signature::V4 | Signature::V2 => &[SessionPart::AwsKeys],
        Signature::Bearer => &[SessionPart::BearerToken],
        Signature::None => &[],
    }
}

/// How bodies of writes are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload {
    Unsigned,
    Signed,
    Streaming(Streaming),
}

/// One address of the store.
#[derive(Debug, Clone)]
pub(crate) struct StoreAddress {
    pub(crate) endpoint: Arc<Endpoint>,
    /// Buckets stand in the path, never in the host name.
    pub(crate) path_style: bool,
    pub(crate) region: String,
}

/// The settings, read once.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) addresses: Vec<StoreAddress>,
    pub(crate) endpoint_choice: EndpointChoice,
    pub(crate) in_flight: InFlight,
    pub(crate) timeout: Option<Duration>,
    pub(crate) signature: Signature,
    pub(crate) payload: Payload,
    pub(crate) checksum: Checksum,
    pub(crate) storage_class: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) project: Option<String>,
    pub(crate) list_version: u8,
    pub(crate) part_size_bytes: u64,
    pub(crate) bucket_exists_ok: bool,
    pub(crate) restore_days: u64,
    pub(crate) restore_tier: &'static str,
    pub(crate) versioning: Versioning,
    pub(crate) purge_versions: bool,
    keys: AwsKeys,
}

impl Config {
    pub(crate) fn read(settings: &Settings) -> Result<Self> {
        let dialect = settings.text("dialect").to_ascii_lowercase();
        refuse_openio(settings, &dialect)?;
        let signature = Signature::of(settings);
        let checksum = Checksum::from_word(&settings.text("checksum"));
        let payload = match settings.text("payload").to_ascii_lowercase().as_str() {
            "signed" => Payload::Signed,
            "streaming" => Payload::Streaming(Streaming { signed: true, checksum }),
            "streaming-trailer" => {
                let checksum = if checksum == Checksum::None { Checksum::Crc32 } else { checksum };
                Payload::Streaming(Streaming { signed: false, checksum })
            }
            _ => Payload::Unsigned,
        };
        if matches!(payload, Payload::Streaming(_)) && signature != Signature::V4 {
            return Err(Error::new(ErrorKind::Config, "payload=streaming needs signature=v4")
                .with_hint("set signature=v4, or payload=unsigned"));
        }
        let session_token = Some(settings.secret("session_token")).filter(|token| !token.is_empty());
        let keys = AwsKeys {
            access_key: settings.text("accesskey"),
            secret_key: settings.secret("secretkey"),
            session_token,
        };
        let addresses = addresses(settings, &dialect)?;
        Ok(Self {
            in_flight: InFlight::of(addresses.len()),
            endpoint_choice: EndpointChoice::from_word(&settings.text("endpoint_choice")),
            addresses,
            timeout: settings.duration("timeout").filter(|time| !time.is_zero()),
            signature,
            payload,
            checksum,
            storage_class: line_value(settings, "storage_class")?,
            namespace: line_value(settings, "namespace")?,
            project: line_value(settings, "project")?,
            list_version: if settings.int("list_version") == Some(1) { 1 } else { 2 },
            part_size_bytes: settings.size_bytes("part_size").filter(|size| *size > 0).unwrap_or(5 << 20),
            bucket_exists_ok: settings.flag("bucket_exists_ok"),
            restore_days: settings.int("restore_days").and_then(|days| u64::try_from(days).ok()).unwrap_or(1),
            restore_tier: match settings.text("restore_tier").to_ascii_lowercase().as_str() {
                "bulk" => "Bulk",
                "expedited" => "Expedited",
                _ => "Standard",
            },
            versioning: Versioning::from_word(&settings.text("versioning")),
            purge_versions: settings.flag("purge_versions"),
            keys,
        })
    }

    /// The keys to sign with: the session's, else the config's.
    pub(crate) fn keys(&self, session: &Session) -> Result<AwsKeys> {
        if self.signature == Signature::Bearer {
            return bearer_keys(session);
        }
        let keys = session.aws.as_ref().unwrap_or(&self.keys);
        if self.signature == Signature::None {
            return Ok(keys.clone());
        }
        for (name, text) in [("accesskey", keys.access_key.as_str()), ("secretkey", keys.secret_key.expose())]
        {
            if text.is_empty() {
                return Err(Error::new(ErrorKind::Config, format!("no such key defined: {name}")).with_hint(
                    format!(
                        "it is missing or empty: add `{name}=...` to the storage config, or signature=none"
                    ),
                ));
            }
        }
        let token = keys.session_token.as_ref().map_or("", |token| token.expose());
        if [keys.access_key.as_str(), token].iter().any(|text| text.contains(|c: char| c.is_control())) {
            return Err(Error::new(
                ErrorKind::Config,
                "the access key or session token holds a control character",
            )
            .with_hint("check for a line end that was copied with it"));
        }
        Ok(keys.clone())
    }
}

/// The session's token, as keys.
fn bearer_keys(session: &Session) -> Result<AwsKeys> {
    let is_usable =
        |token: &&Secret| !token.is_empty() && token.expose().bytes().all(|byte| byte.is_ascii_graphic());
    let token = session.token.as_ref().filter(is_usable).ok_or_else(|| {
        Error::new(
            ErrorKind::Config,
            "signature=bearer needs a token, and the auth gave none that can be used",
        )
        .with_hint("use the auth `google`")
    })?;
    Ok(AwsKeys { access_key: String::new(), secret_key: token.clone(), session_token: None })
}

/// What is missing before anything is opened: OpenIO's own keys name no S3 gateway, and no address is one that can be read.
pub(crate) fn lacks(settings: &Settings) -> Result<()> {
    let dialect = settings.text("dialect").to_ascii_lowercase();
    refuse_openio(settings, &dialect)?;
    urls(settings, &dialect).iter().try_for_each(|url| parse_url(url).map(drop))
}

/// Aliyun's names are written without a scheme.
fn urls(settings: &Settings, dialect: &str) -> Vec<String> {
    let whole = |url: String| match dialect {
        "oss" if !url.contains("://") => format!("http://{url}"),
        _ => url,
    };
    settings.list("endpoint").into_iter().map(whole).collect()
}

fn refuse_openio(settings: &Settings, dialect: &str) -> Result<()> {
    let own = ["ns", "proxyd-url", "account"].into_iter().find(|key| settings.is_given(key));
    if let Some(key) = own {
        let message = format!("`{key}` belongs to OpenIO's own protocol, which Cosmark does not speak");
        return Err(Error::new(ErrorKind::Config, message)
            .with_hint("give endpoint, accesskey and secretkey of OpenIO's S3 gateway instead"));
    }
    if dialect == "openio" && !settings.is_given("endpoint") {
        return Err(Error::new(ErrorKind::Config, "no such key defined: endpoint")
            .with_hint("give endpoint, accesskey and secretkey of OpenIO's S3 gateway"));
    }
    Ok(())
}

fn addresses(settings: &Settings, dialect: &str) -> Result<Vec<StoreAddress>> {
    let urls = urls(settings, dialect);
    if urls.is_empty() {
        return Err(Error::new(ErrorKind::Config, "no such key defined: endpoint")
            .with_hint("add `endpoint=http://host:port` to the storage config"));
    }
    let mut addresses = Vec::with_capacity(urls.len());
    for url in urls {
        let endpoint = Endpoint::new(&url, settings)?;
        let host = endpoint.host();
        let is_address = host.parse::<std::net::IpAddr>().is_ok();
        let is_short = !host.contains('.') && !settings.is_given("path_style_access");
        let region = match line_value(settings, "region")? {
            Some(region) => region,
            None => guess_region(host).unwrap_or("us-east-1").to_owned(),
        };
        let path_style = settings.flag("path_style_access") || is_address || is_short;
        addresses.push(StoreAddress { endpoint, path_style, region });
    }
    if addresses.len() > 1 {
        (1..).zip(&addresses).for_each(|(number, address)| address.endpoint.set_number(number));
    }
    Ok(addresses)
}

/// The value of a key that goes into a header line.
fn line_value(settings: &Settings, key: &str) -> Result<Option<String>> {
    match settings.get(key).map(str::trim).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) if text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') => {
            Ok(Some(text.to_owned()))
        }
        Some(_) => {
            Err(Error::new(ErrorKind::Config, format!("`{key}` holds a character that no header can hold"))
                .with_hint("use plain ASCII"))
        }
    }
}

/// The region in Amazon's host names (`s3.eu-west-1.amazonaws.com`, `s3-eu-west-1..`, `s3.dualstack.eu-west-1..`).
fn guess_region(host: &str) -> Option<&str> {
    let (front, default) = match host.strip_suffix(".amazonaws.com.cn") {
        Some(front) => (front, "cn-north-1"),
        None => (host.strip_suffix(".amazonaws.com")?, "us-east-1"),
    };
    let last = front.rsplit('.').next().unwrap_or(front);
    let last = last.strip_prefix("s3-").unwrap_or(last);
    let is_region = last.bytes().filter(|byte| *byte == b'-').count() >= 2
        && last.ends_with(|c: char| c.is_ascii_digit());
    Some(if is_region { last } else { default })
}

/// True for a bucket that can stand in a host name: letters that DNS and certificates for one label allow.
pub(crate) fn is_host_label(bucket: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (3..=63).contains(&bucket.len())
        && bucket.bytes().all(inner)
        && !bucket.starts_with('-')
        && !bucket.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entries: &[(&str, &str)]) -> Result<Config> {
        let (settings, problems) = Settings::parse(KEYS, entries.iter().copied());
        assert!(problems.is_empty(), "{problems:?}");
        Config::read(&settings)
    }

    #[test]
    fn amazons_host_names_tell_the_region() {
        let cases = [
            ("s3.amazonaws.com", Some("us-east-1")),
            ("s3-us-west-2.amazonaws.com", Some("us-west-2")),
            ("s3.eu-central-1.amazonaws.com", Some("eu-central-1")),
            ("s3.dualstack.ap-southeast-2.amazonaws.com", Some("ap-southeast-2")),
            ("s3-accelerate.amazonaws.com", Some("us-east-1")),
            ("s3.us-gov-west-1.amazonaws.com", Some("us-gov-west-1")),
            ("s3.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("store.example", None),
        ];
        for (host, region) in cases {
            assert_eq!(guess_region(host), region, "{host}");
        }
    }

    #[test]
    fn buckets_stand_in_the_path_where_a_host_name_cannot_hold_them() {
        let cases: &[(&[(&str, &str)], bool)] = &[
            (&[("endpoint", "http://s3.example.com")], false),
            (&[("endpoint", "http://s3.example.com"), ("path_style_access", "true")], true),
            (&[("endpoint", "http://127.0.0.1:9000")], true),
            (&[("endpoint", "http://[::1]:9000")], true),
            (&[("endpoint", "http://minio:9000")], true),
            (&[("endpoint", "http://minio:9000"), ("path_style_access", "false")], false),
        ];
        for (entries, path_style) in cases {
            assert_eq!(read(entries).unwrap().addresses[0].path_style, *path_style, "{entries:?}");
        }
        for (bucket, fits) in [
            ("mycontainers1", true),
            ("my.bucket", false),
            ("My", false),
            ("a_b_c", false),
            ("-ab", false),
            ("ab", false),
        ] {
            assert_eq!(is_host_label(bucket), fits, "{bucket}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_read_is_found_before_anything_is_opened() {
        for (endpoint, is_read) in [
            ("http://a:1,https://b", true),
            ("s3://a", false),
            ("http://a,b:1", false),
            ("http://user:word@a", false),
        ] {
            let found = lacks(&Settings::parse(KEYS, [("endpoint", endpoint)]).0);
            assert_eq!(found.is_ok(), is_read, "{endpoint}: {found:?}");
        }
        let bare = [("endpoint", "oss.example"), ("dialect", "oss")];
        assert!(lacks(&Settings::parse(KEYS, bare).0).is_ok());
    }

    #[test]
    fn several_endpoints_are_read_and_the_session_overrides_the_keys() {
        let config = read(&[
            ("endpoint", "http://a:1, http://b:2"),
            ("accesskey", "x"),
            ("secretkey", "y"),
            ("timeout", "0"),
        ])
        .unwrap();
        assert_eq!(
            config.addresses.iter().map(|address| address.endpoint.port()).collect::<Vec<_>>(),
            [1, 2]
        );
        assert_eq!(
            config.addresses.iter().map(|address| address.endpoint.number()).collect::<Vec<_>>(),
            [1, 2]
        );
        assert_eq!(config.timeout, None);
        assert_eq!(config.keys(&Session::default()).unwrap().access_key, "x");
        let aws = AwsKeys {
            access_key: "s".into(),
            secret_key: cosmark_adaptor_api::Secret::new("t"),
            session_token: None,
        };
        assert_eq!(config.keys(&Session { aws: Some(aws), ..Session::default() }).unwrap().access_key, "s");
    }

    #[test]
    fn what_cannot_work_is_refused_with_a_remedy() {
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[("endpoint", "store:9000")], "neither http"),
            (&[("endpoint", " , ")], "endpoint"),
            (&[("payload", "streaming"), ("signature", "v2")], "signature=v4"),
            (&[("dialect", "openio")], "endpoint"),
            (&[("dialect", "openio"), ("ns", "OPENIO"), ("proxyd-url", "http://x")], "own protocol"),
            (&[("storage_class", "A\u{7}B")], "no header can hold"),
        ];
        for (entries, words) in cases {
            let error = read(entries).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{entries:?}");
            assert!(error.message().contains(words) && error.hint().is_some(), "{error}");
        }
        let anonymous = read(&[("signature", "none")]).unwrap();
        assert!(anonymous.keys(&Session::default()).is_ok());
        let refused = read(&[]).unwrap().keys(&Session::default()).unwrap_err();
        assert!(refused.message().contains("accesskey"), "{refused}");
        assert!(refused.hint().unwrap().starts_with("it is missing or empty"), "{refused}");
    }
}
