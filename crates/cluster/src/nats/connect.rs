//! Connecting to NATS, with errors that name what to change. A connection that was there once is restored for ever.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::{self, context::ContextBuilder};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use cosmark_workload::logins::without_logins;
use tokio::sync::{OnceCell, watch};

use crate::nats::error::BusError;
use crate::nats::names::DRIVERS;
use crate::nats::speaker::Speaker;

/// A question to NATS that takes longer has failed, and is asked again.
const PATIENCE: Duration = Duration::from_secs(5);
/// A connection over which nothing comes back for two of these is dead.
const PING_EVERY: Duration = Duration::from_secs(4);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Where NATS is and who we are there.
#[derive(Debug, Clone, Default)]
pub struct NatsOptions {
    /// `nats://host:4222` or `tls://host:4222`, several behind commas.
    pub url: String,
    /// File with a token.
    pub token_file: Option<PathBuf>,
    /// User; the password is in `password_file`.
    pub user: Option<String>,
    /// File with the user's password.
    pub password_file: Option<PathBuf>,
    /// File with an NKey seed.
    pub nkey_file: Option<PathBuf>,
    /// File with a JWT and its NKey seed, as `nsc` makes it.
    pub creds_file: Option<PathBuf>,
    /// Certificates of authorities to trust beside the machine's own.
    pub ca_file: Option<PathBuf>,
    /// Client certificate and key.
    pub client_cert: Option<(PathBuf, PathBuf)>,
}

/// How the connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// It is there.
    Connected,
    /// It is being made again.
    Disconnected,
}

/// A connection to NATS with Cosmark's streams and buckets in it. Clones are the same connection.
#[derive(Debug, Clone)]
pub struct Bus {
    client: Client,
    jetstream: jetstream::Context,
    state: watch::Receiver<LinkState>,
    url: String,
    pub(crate) speaker: Speaker,
    pub(super) is_driver: bool,
    /// What the server did not let this login do, last.
    denied: Arc<Mutex<Option<String>>>,
    /// The bucket that every driver writes to every two seconds.
    drivers: Arc<OnceCell<jetstream::kv::Store>>,
}

fn read_secret(what: &'static str, path: &Path) -> Result<String, BusError> {
    let text = std::fs::read_to_string(path).map_err(|cause| BusError::File {
        what,
        path: path.display().to_string(),
        cause: cause.to_string(),
    })?;
    Ok(text.trim().to_owned())
}

impl NatsOptions {
    /// The addresses.
    fn addresses(&self) -> Result<Vec<ServerAddr>, BusError> {
        let one = |text: &str| {
            text.trim().parse::<ServerAddr>().map_err(|cause| {
                let shown = without_credentials(text);
                BusError::Options(format!("{shown} is no address of NATS ({cause}); write nats://host:4222"))
            })
        };
        self.url.split(',').filter(|text| !text.trim().is_empty()).map(one).collect()
    }

    /// The addresses without credentials.
    #[must_use]
    pub fn shown(&self) -> String {
        // A comma may be one of a password's.
        without_logins(&self.url).split(',').map(without_credentials).collect::<Vec<_>>().join(",")
    }

    pub(super) fn connect_options(&self, name: &str) -> Result<ConnectOptions, BusError> {
        let ways = [
            self.token_file.is_some(),
            self.user.is_some(),
            self.nkey_file.is_some(),
            self.creds_file.is_some(),
        ];
        if ways.iter().filter(|given| **given).count() > 1 {
            return Err(BusError::Options(
                "give one of --nats-token-file, --nats-user, --nats-nkey-file and --nats-creds".to_owned(),
            ));
        }
        let mut options = ConnectOptions::new()
            .name(format!("cosmark {name}"))
            .connection_timeout(PATIENCE)
            .request_timeout(Some(PATIENCE))
            .ping_interval(PING_EVERY)
            .max_reconnects(None)
            .reconnect_delay_callback(|attempts| {
                let attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
                Duration::from_millis(50).saturating_mul(1 << attempts.min(6)).min(LONGEST_PAUSE)
            });
        if let Some(path) = &self.token_file {
            options = options.token(read_secret("NATS token file", path)?);
        }
        match (&self.user, &self.password_file) {
            (Some(user), Some(path)) => {
                options = options.user_and_password(user.clone(), read_secret("NATS password file", path)?);
            }
            (None, None) => {}
            _ => {
                let text = "--nats-user and --nats-password-file belong together";
                return Err(BusError::Options(text.to_owned()));
            }
        }
        if let Some(path) = &self.nkey_file {
            options = options.nkey(read_secret("NATS NKey file", path)?);
        }
        if let Some(path) = &self.creds_file {
            let text = read_secret("NATS credentials file", path)?;
            options = options.credentials(&text).map_err(|cause| BusError::File {
                what: "NATS credentials file",
                path: path.display().to_string(),
                cause: cause.to_string(),
            })?;
        }
        if let Some(path) = &self.ca_file {
            options = options.add_root_certificates(path.clone());
        }
        if let Some((certificate, key)) = &self.client_cert {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(options)
    }
}

fn without_credentials(url: &str) -> String {
    let url = url.trim();
    let (scheme, rest) = url.split_once("://").map_or(("nats", url), |(scheme, rest)| (scheme, rest));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let address = host.split(['/', '?']).next().unwrap_or_default();
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    // What is no port may be the beginning of a password with a comma in it.
    let is_one = address.starts_with('[') || address.split_once(':').is_none_or(|(_, port)| is_port(port));
    format!("{scheme}://{}", if is_one { host } else { "***" })
}

impl Bus {
    /// What the server did not let this login do, if there was anything.
    pub(crate) fn denied(&self) -> Option<String> {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn dial(
        options: &NatsOptions,
        connecting: ConnectOptions,
        is_driver: bool,
    ) -> Result<Self, BusError> {
        let url = options.shown();
        let addresses = options.addresses()?;
        let (sender, state) = watch::channel(LinkState::Connected);
        let denied: Arc<Mutex<Option<String>>> = Arc::default();
        let deny = Arc::clone(&denied);
        let connecting = connecting.event_callback(move |event| {
            let (sender, deny) = (sender.clone(), Arc::clone(&deny));
            async move {
                let state = match event {
                    Event::ServerError(error) => {
                        let text = error.to_string();
                        if text.to_lowercase().contains("permissions violation") {
                            *deny.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
                        }
                        return;
                    }
                    Event::Connected => LinkState::Connected,
                    Event::Disconnected | Event::Closed => LinkState::Disconnected,
                    _ => return,
                };
                sender.send_if_modified(|known| std::mem::replace(known, state) != state);
            }
        });
        let client = connecting.connect(addresses).await.map_err(|error| {
            let cause = error.to_string();
            match error.kind() {
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                    BusError::Denied { url: url.clone(), cause }
                }
                _ => BusError::Unreachable { url: url.clone(), cause },
            }
        })?;
        let jetstream = ContextBuilder::new().timeout(PATIENCE).ack_timeout(PATIENCE).build(client.clone());
        let (speaker, drivers) = (Speaker::default(), Arc::default());
        Ok(Self { client, jetstream, state, url, speaker, is_driver, denied, drivers })
    }

    /// The connection.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// JetStream over it.
    #[must_use]
    pub fn jetstream(&self) -> &jetstream::Context {
        &self.jetstream
    }

    /// How the connection is doing; changes as it does.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<LinkState> {
        self.state.clone()
    }

    /// True while there is a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        *self.state.borrow() == LinkState::Connected
    }

    /// Where it is, without credentials.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Bytes of the largest message that the server takes, headers included.
    #[must_use]
    pub fn most_bytes(&self) -> usize {
        self.client.server_info().max_payload
    }

    /// One bucket.
    ///
    /// # Errors
    /// When it cannot be had now.
    pub async fn bucket(&self, name: &str) -> Result<jetstream::kv::Store, BusError> {
        self.jetstream
            .get_key_value(name)
            .await
            .map_err(|cause| self.problem(format!("bucket {name}: {cause}")))
    }

    /// The bucket of registrations; asked for once.
    pub(crate) async fn drivers(&self) -> Result<&jetstream::kv::Store, BusError> {
        self.drivers.get_or_try_init(|| self.bucket(DRIVERS)).await
    }

    pub(crate) fn problem(&self, problem: String) -> BusError {
        BusError::JetStream { url: self.url.clone(), problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_an_address_are_not_shown() {
        let options =
            NatsOptions { url: "nats://me:geheim@a:4222, tls://t0ken@b".into(), ..NatsOptions::default() };
        assert_eq!(options.shown(), "nats://a:4222,tls://b");
        let error = NatsOptions { url: "nats://me:geheim@a:99999".into(), ..NatsOptions::default() };
        let text = error.addresses().unwrap_err().to_string();
        assert!(!text.contains("geheim") && text.contains("nats://a:99999"), "{text}");
        for url in ["nats://me:ge,heim@a:4222", "nats://me:ge,heim@a,tls://b", "me:ge,heim@a", "me:ge"] {
            let options = NatsOptions { url: url.into(), ..NatsOptions::default() };
            let text = options.addresses().unwrap_err().to_string() + &options.shown();
            assert!(!text.contains("ge,") && !text.contains("me:ge"), "{text}");
        }
        for (url, shown) in [
            ("nats://me:12,34@a:4222", "nats://a:4222"),
            ("a,tls://[::1]:4222,b:1/", "nats://a,tls://[::1]:4222,nats://b:1/"),
        ] {
            assert_eq!(NatsOptions { url: url.into(), ..NatsOptions::default() }.shown(), shown);
        }
    }

    #[test]
    fn two_ways_to_log_in_are_refused() {
        let both =
            NatsOptions { token_file: Some("/t".into()), user: Some("u".into()), ..NatsOptions::default() };
        assert!(both.connect_options("x").unwrap_err().to_string().contains("give one of"));
        let half = NatsOptions { user: Some("u".into()), ..NatsOptions::default() };
        assert!(half.connect_options("x").unwrap_err().to_string().contains("belong together"));
    }
}
