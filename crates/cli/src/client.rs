//! Asks a controller over REST, for the commands that do.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cosmark_service::auth::tokens::LOCAL_FILE;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use url::Url;

use crate::args::ClientArgs;
use crate::diagnose;
use crate::exit::Problem;

const USUAL: &str = "http://127.0.0.1:19088";
/// One request takes no longer, but for events.
const PATIENCE: Duration = Duration::from_secs(130);
/// Answers are not longer.
const MOST_BYTES: u64 = 256 << 20;

/// A way to a controller.
pub struct Client {
    agent: Agent,
    events: Agent,
    url: Url,
    token: Option<String>,
}

/// The state directory that is meant: `given`, or the usual one.
///
/// # Errors
/// When there is none to be found.
pub fn state_directory(given: Option<&Path>) -> Result<PathBuf, Problem> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || var("HOME").map(|home| home.join(".local/state"));
    var("XDG_STATE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(home)
        .map(|base| base.join("cosmark"))
        .ok_or_else(|| {
            Problem::usage("there is no home directory; say where the state lies with --state DIR".to_owned())
        })
}

fn read_line(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

impl Client {
    /// To the controller that the arguments name, or the one on this machine.
    ///
    /// # Errors
    /// When the URL is none, or a file cannot be read.
    pub fn new(args: &ClientArgs) -> Result<Self, Problem> {
        let state = state_directory(args.state_dir.as_deref()).ok();
        let in_state = |name: &str| state.as_ref().map(|state| state.join(name));
        let local = in_state("address").and_then(|path| read_line(&path));
        let text = args.controller.clone().filter(|url| !url.is_empty()).or_else(|| local.clone());
        let text = text.unwrap_or_else(|| USUAL.to_owned());
        let bad = || Problem::usage(format!("--controller {text}: give a URL such as {USUAL}"));
        let mut url = Url::parse(&text).map_err(|_| bad())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(bad());
        }
        url.set_path("/");
        // The local token goes to the local controller alone.
        let is_local =
            is_loopback(&url) || local.and_then(|local| Url::parse(&local).ok()).as_ref() == Some(&url);
        let token = match &args.token_file {
            Some(path) => Some(read_line(path).ok_or_else(|| {
                Problem::usage(format!("--token-file {}: there is no token in it", path.display()))
            })?),
            None => std::env::var("COSMARK_TOKEN")
                .ok()
                .filter(|token| !token.is_empty())
                .or_else(|| in_state(LOCAL_FILE).filter(|_| is_local).and_then(|path| read_line(&path))),
        };
        let own = in_state("tls-cert.pem").filter(|_| is_local);
        let agent =
            |patience: Option<Duration>| agent(url.scheme() == "https", args, own.as_deref(), patience);
        Ok(Self { agent: agent(Some(PATIENCE))?, events: agent(None)?, url, token })
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url())
    }

    fn unreachable(&self, cause: &ureq::Error) -> Problem {
        Problem::ours(format!(
            "no controller answers at {}: {cause}; start one with `cosmark controller --local`, or name it with \
             --controller URL",
            self.url()
        ))
    }

    /// `GET`.
    ///
    /// # Errors
    /// When it cannot be reached, or refuses.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Problem> {
        let mut request = self.agent.get(self.at(path));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let answer = request.call().map_err(|cause| self.unreachable(&cause))?;
        self.read(answer)
    }

    /// `POST` or `PATCH` with a JSON body.
    ///
    /// # Errors
    /// When it cannot be reached, or refuses.
    pub fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Problem> {
        let text = serde_json::to_vec(body)
            .map_err(|cause| Problem::ours(format!("cannot write the request: {cause}")))?;
        let target = self.at(path);
        let mut request = if method == "PATCH" { self.agent.patch(target) } else { self.agent.post(target) };
        request = request.header("Content-Type", "application/json");
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let answer = request.send(&text[..]).map_err(|cause| self.unreachable(&cause))?;
        self.read(answer)
    }

    fn read<T: DeserializeOwned>(&self, mut answer: ureq::http::Response<ureq::Body>) -> Result<T, Problem> {
        let status = answer.status().as_u16();
        let mut text = String::new();
        let read = answer.body_mut().as_reader().take(MOST_BYTES).read_to_string(&mut text);
        read.map_err(|cause| Problem::ours(format!("the answer of {} broke off: {cause}", self.url())))?;
        if (200..300).contains(&status) {
            return serde_json::from_str(&text).map_err(|cause| {
                Problem::ours(format!(
                    "{} answers something else than a controller does ({cause}); is it one, and of this version?",
                    self.url()
                ))
            });
        }
        Err(self.refused(status, &text))
    }

    fn refused(&self, status: u16, text: &str) -> Problem {
        let refusal: Option<Value> = serde_json::from_str(text).ok();
        let sentence = refusal.as_ref().and_then(|value| value["error"].as_str()).map(str::to_owned);
        if let Some(mistakes) = refusal.as_ref().and_then(|value| value["mistakes"].as_array()) {
            diagnose::show_remote(mistakes);
        }
        let sentence = sentence.unwrap_or_else(|| format!("{} answers {status}", self.url()));
        let text = match (status, &self.token) {
            (401, None) => format!("{sentence}; give the token in COSMARK_TOKEN or with --token-file FILE"),
            (401, Some(_)) => format!(
                "{} does not know this token; look at COSMARK_TOKEN and --token-file, or make another with \
                 `cosmark controller --add-token NAME`",
                self.url()
            ),
            _ => sentence,
        };
        if status >= 500 { Problem::ours(text) } else { Problem::usage(text) }
    }

    /// Reads server-sent events until `take` says that it is enough (true), or the stream ends.
    ///
    /// # Errors
    /// When it cannot be reached, or refuses.
    pub fn events(
        &self,
        path: &str,
        last: &mut Option<String>,
        mut take: impl FnMut(&str, &Value) -> Result<bool, Problem>,
    ) -> Result<bool, Problem> {
        let mut request = self.events.get(self.at(path));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        if let Some(id) = &last {
            request = request.header("Last-Event-ID", id);
        }
        let mut answer = request.call().map_err(|cause| self.unreachable(&cause))?;
        if !answer.status().is_success() {
            let status = answer.status().as_u16();
            let text = answer.body_mut().with_config().limit(64 << 10).read_to_string().unwrap_or_default();
            return Err(self.refused(status, &text));
        }
        let mut name = String::new();
        let mut data = String::new();
        for line in BufReader::new(answer.body_mut().as_reader()).lines() {
            // A stream that breaks off is taken up again.
            let Ok(line) = line else { return Ok(false) };
            if line.is_empty() {
                if !data.is_empty() && take(&name, &serde_json::from_str(&data).unwrap_or_default())? {
                    return Ok(true);
                }
                name.clear();
                data.clear();
            } else if let Some(value) = line.strip_prefix("event:") {
                value.trim_start().clone_into(&mut name);
            } else if let Some(value) = line.strip_prefix("data:") {
                data.push_str(value.strip_prefix(' ').unwrap_or(value));
            } else if let Some(value) = line.strip_prefix("id:") {
                *last = Some(value.trim().to_owned());
            }
        }
        Ok(false)
    }
}

fn agent(
    secure: bool,
    args: &ClientArgs,
    own: Option<&Path>,
    patience: Option<Duration>,
) -> Result<Agent, Problem> {
    let mut config = Agent::config_builder()
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_global(patience)
        // Not by a proxy of the environment, which would see the token and knows no address of this machine.
        .proxy(None)
        .http_status_as_error(false)
        // A token goes where the user said, and nowhere else.
        .max_redirects(0)
        .max_redirects_will_error(false);
    if secure {
        let found = rustls_native_certs::load_native_certs();
        let mut roots: Vec<Certificate<'static>> =
            found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
        if let Some(path) = &args.ca {
            let text = std::fs::read(path)
                .map_err(|cause| Problem::usage(format!("--ca {}: {cause}", path.display())))?;
            roots.extend(certificates(&text));
        }
        roots
            .extend(own.and_then(|path| std::fs::read(path).ok()).iter().flat_map(|text| certificates(text)));
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .root_certs(RootCerts::new_with_certs(&roots));
        config = config.tls_config(tls.build());
    }
    Ok(config.build().into())
}

fn certificates(pem: &[u8]) -> Vec<Certificate<'static>> {
    let items = ureq::tls::parse_pem(pem).filter_map(Result::ok);
    items
        .filter_map(|item| match item {
            ureq::tls::PemItem::Certificate(certificate) => Some(certificate.to_owned()),
            _ => None,
        })
        .collect()
}
