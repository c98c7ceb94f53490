//! Asks a controller over REST, for the commands that do.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_service::auth::tokens::LOCAL_FILE;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use url::Url;

use crate::args::ClientArgs;
use crate::diagnose;
use crate::exit::{Exit, Problem};
use crate::host::state_directory;

const USUAL: &str = "http://127.0.0.1:19088";
/// Of an address with a login, which may be a token and is not repeated.
const LOGIN_IN_ADDRESS: &str = "--controller has a login in its address, which no controller looks at: give its token in COSMARK_TOKEN \
                                or with --token-file FILE, and the address without it";
/// One request takes no longer, but for events.
const PATIENCE: Duration = Duration::from_secs(130);
/// A controller that lives says something this often in a stream of events, if only that it lives (each 10 s): a machine that
/// has gone says nothing, and closes nothing.
const SILENCE: Duration = Duration::from_secs(35);
/// A controller that answered before may be away for so long.
const MOST_AWAY: Duration = Duration::from_secs(60);
/// Answers are not longer.
const MOST_BYTES: u64 = 256 << 20;
/// Nor is one event.
const MOST_EVENT_BYTES: usize = 64 << 20;

/// A way to a controller.
pub struct Client {
    agent: Agent,
    events: Agent,
    url: Url,
    token: Option<String>,
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
        Self::with_silence(args, SILENCE)
    }

    /// The same, with another time after which a silent stream of events is taken up again.
    fn with_silence(args: &ClientArgs, silence: Duration) -> Result<Self, Problem> {
        let state = state_directory(args.state_dir.as_deref()).ok();
        let in_state = |name: &str| state.as_ref().map(|state| state.join(name));
        let local = in_state("address").and_then(|path| read_line(&path));
        let text = args.controller.clone().filter(|url| !url.is_empty()).or_else(|| local.clone());
        let text = text.unwrap_or_else(|| USUAL.to_owned());
        if text.contains('@') {
            return Err(Problem::usage(LOGIN_IN_ADDRESS));
        }
        // The query of an address may hold a token.
        let shown = text.split(['?', '#']).next().unwrap_or_default();
        let bad = || Problem::usage(format!("--controller {shown}: give a URL such as {USUAL}"));
        let mut url = Url::parse(&text).map_err(|_| bad())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(bad());
        }
        // Of the address of a page, as a browser shows it, the controller is meant.
        url.set_path("/");
        url.set_query(None);
        url.set_fragment(None);
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
        let agent = |limit: Limit| agent(url.scheme() == "https", args, own.as_deref(), limit);
        Ok(Self {
            agent: agent(Limit::Whole(PATIENCE))?,
            events: agent(Limit::Silence(silence))?,
            url,
            token,
        })
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
                    "{} does not answer as a controller does ({cause}); is it one, and of this version?",
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
        let mut lines = BufReader::new(answer.body_mut().as_reader());
        loop {
            // A stream that breaks off, or is silent for too long, is taken up again.
            let Some(line) = next_line(&mut lines, MOST_EVENT_BYTES.saturating_sub(data.len()))? else {
                return Ok(false);
            };
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
    }
}

/// Waits for a controller that does not answer for a while, and says so.
#[derive(Default)]
pub struct Absence {
    since: Option<Instant>,
}

impl Absence {
    /// It answers.
    pub fn ends(&mut self, client: &Client) {
        if self.since.take().is_some() {
            eprintln!("cosmark: the controller at {} answers again", client.url());
        }
    }

    /// It does not answer.
    ///
    /// # Errors
    /// The problem, when it has been away for too long, or refuses.
    pub fn goes_on(&mut self, client: &Client, problem: Problem) -> Result<(), Problem> {
        if problem.exit() == Exit::Usage {
            return Err(problem);
        }
        match self.since {
            Some(since) if since.elapsed() > MOST_AWAY => return Err(problem),
            Some(_) => {}
            None => {
                self.since = Some(Instant::now());
                let seconds = MOST_AWAY.as_secs();
                eprintln!(
                    "cosmark: the controller at {} does not answer; it is asked for {seconds} s more",
                    client.url()
                );
            }
        }
        Ok(())
    }
}

/// The next line of a stream of events, without its end; `None` where the stream breaks off.
fn next_line(lines: &mut impl BufRead, room: usize) -> Result<Option<String>, Problem> {
    let mut line = Vec::new();
    let read = lines.take(room as u64).read_until(b'\n', &mut line);
    if line.pop_if(|last| *last == b'\n').is_some() {
        line.pop_if(|last| *last == b'\r');
        return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
    }
    match read {
        Ok(_) if line.len() >= room => Err(Problem::ours(format!(
            "the answer has an event of more than {} MiB, which no controller sends",
            MOST_EVENT_BYTES >> 20
        ))),
        _ => Ok(None),
    }
}

/// What ends a request that is not answered.
#[derive(Clone, Copy)]
enum Limit {
    /// A time for all of it.
    Whole(Duration),
    /// A time in which nothing comes; something that comes begins it again.
    Silence(Duration),
}

fn agent(secure: bool, args: &ClientArgs, own: Option<&Path>, limit: Limit) -> Result<Agent, Problem> {
    let (whole, silence) = match limit {
        Limit::Whole(time) => (Some(time), None),
        Limit::Silence(time) => (None, Some(time)),
    };
    let mut config = Agent::config_builder()
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_global(whole)
        .timeout_per_read(silence)
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
            roots.extend(given_certificates(path)?);
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

/// Those of `--ca`: a file without any would change nothing, and the controller would be refused as before.
fn given_certificates(path: &Path) -> Result<Vec<Certificate<'static>>, Problem> {
    let refused = |why: &str| {
        let remedy =
            "give a PEM file with certificates, such as tls-cert.pem of the controller's state directory";
        Problem::usage(format!("--ca {}: {why}; {remedy}", path.display()))
    };
    let text = std::fs::read(path).map_err(|cause| refused(&cause.to_string()))?;
    let found = certificates(&text);
    if found.is_empty() { Err(refused("it has no certificate")) } else { Ok(found) }
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn lines_of_events_are_whole_and_bounded() {
        let mut lines = BufReader::new(&b"data: 1\r\n\n\xff\nbroken"[..]);
        let mut next = || next_line(&mut lines, 20).unwrap();
        assert_eq!(next().as_deref(), Some("data: 1"));
        assert_eq!((next().as_deref(), next().as_deref()), (Some(""), Some("\u{fffd}")));
        assert_eq!(next(), None, "it breaks off");
        let mut endless = BufReader::new(std::io::repeat(b'x'));
        assert!(next_line(&mut endless, 1 << 20).is_err());
        assert!(next_line(&mut endless, 0).is_err(), "many short ones without an end of the event");
    }

    #[test]
    fn a_login_in_the_address_of_a_controller_is_refused_and_not_repeated() {
        for address in ["http://u:hunter2@127.0.0.1:19088", "https://hunter2@bench", "u:hunter2@bench:19088"]
        {
            let controller = Some(address.to_owned());
            let args = ClientArgs { controller, token_file: None, ca: None, state_dir: None };
            let said = Client::new(&args).err().unwrap().to_string();
            assert!(said.contains("COSMARK_TOKEN") && !said.contains("hunter2"), "{said}");
        }
        for address in ["ftp://bench/?token=hunter2", "http://bench:99999#hunter2", "bench?hunter2"] {
            let controller = Some(address.to_owned());
            let args = ClientArgs { controller, token_file: None, ca: None, state_dir: None };
            let said = Client::new(&args).err().unwrap().to_string();
            assert!(
                said.contains("bench") && said.contains("give a URL") && !said.contains("hunter2"),
                "{said}"
            );
        }
    }

    #[test]
    fn the_address_of_a_page_is_that_of_its_controller() {
        for page in
            ["", "/", "/runs/w1", "/runs?state=failed&token=hunter2", "/runs/w1#stage=s2-main", "?x#y"]
        {
            let controller = Some(format!("http://127.0.0.1:19088{page}"));
            let args = ClientArgs { controller, token_file: None, ca: None, state_dir: None };
            let client = Client::new(&args).unwrap();
            assert_eq!(client.at("/api/v1/runs"), "http://127.0.0.1:19088/api/v1/runs", "{page}");
        }
    }

    #[test]
    fn a_controller_is_waited_for_by_time_and_not_by_how_often_it_was_asked() {
        let controller = Some("http://127.0.0.1:1".to_owned());
        let args = ClientArgs { controller, token_file: None, ca: None, state_dir: None };
        let client = Client::new(&args).unwrap();
        let mut absence = Absence::default();
        for _ in 0..1000 {
            absence.goes_on(&client, Problem::ours("away")).unwrap();
        }
        // Two attempts at one that takes no connections, each for longer than that.
        absence.since = Instant::now().checked_sub(MOST_AWAY + Duration::from_secs(1));
        assert!(absence.since.is_some());
        assert_eq!(absence.goes_on(&client, Problem::ours("away")).unwrap_err().to_string(), "away");
        absence.ends(&client);
        absence.goes_on(&client, Problem::ours("away again")).unwrap();
        assert!(absence.goes_on(&client, Problem::usage("no such run")).is_err(), "that is an answer");
    }

    #[test]
    fn a_file_without_a_certificate_is_not_taken_for_one() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("tls-key.pem");
        let said = || given_certificates(&file).err().unwrap().to_string();
        assert!(said().contains("No such file") && said().contains("give a PEM file"), "{}", said());
        for text in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "no PEM at all"] {
            std::fs::write(&file, text).unwrap();
            assert!(said().contains("it has no certificate; give a PEM file"), "{}", said());
        }
        std::fs::write(&file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        assert_eq!(given_certificates(&file).map(|found| found.len()).ok(), Some(1));
    }

    /// Reads the head of a request and begins a stream of events.
    fn begin(stream: &mut TcpStream) -> String {
        let mut head = String::new();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        while !head.ends_with("\r\n\r\n") && lines.read_line(&mut head).unwrap() > 0 {}
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n").unwrap();
        head
    }

    #[test]
    fn a_stream_that_has_gone_silent_is_taken_up_again_and_one_that_lives_is_not_cut() {
        let silence = Duration::from_secs(2);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (done, is_done) = mpsc::sync_channel::<()>(1);
        let server = std::thread::spawn(move || {
            let (mut first, _) = listener.accept().unwrap();
            begin(&mut first);
            // Longer than the silence as a whole, with a sign of life in each part of it.
            for _ in 0..8 {
                std::thread::sleep(Duration::from_millis(300));
                first.write_all(b": alive\n\n").unwrap();
            }
            first.write_all(b"id: 7\nevent: log\ndata: {\"n\":1}\n\n").unwrap();
            // One that waits for ever is let go in the end, to fail.
            listener.set_nonblocking(true).unwrap();
            let next = (0..300).find_map(|_| {
                std::thread::sleep(Duration::from_millis(100));
                listener.accept().ok()
            });
            let (mut second, _) = next.unwrap();
            let head = begin(&mut second);
            second.write_all(b"event: end\ndata: {}\n\n").unwrap();
            // The first stays open and says nothing, as a machine that has vanished.
            let _ = is_done.recv();
            head
        });
        let args = ClientArgs { controller: Some(url), token_file: None, ca: None, state_dir: None };
        let client = Client::with_silence(&args, silence).unwrap();
        let (mut last, mut heard) = (None, Vec::new());
        let mut listen = || {
            client.events("/events", &mut last, |name, _| {
                heard.push(name.to_owned());
                Ok(name == "end")
            })
        };
        assert!(!listen().unwrap(), "the first is silent");
        assert!(listen().unwrap(), "the second has the end");
        assert_eq!(heard, ["log", "end"]);
        done.send(()).unwrap();
        let head = server.join().unwrap().to_ascii_lowercase();
        assert!(head.contains("last-event-id: 7"), "{head}");
    }
}
