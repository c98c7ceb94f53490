//! Where to connect and how: parsed once from a URL and the transport keys, shared by all workers of a work.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{Error, ErrorKind, Key, KeyKind, Result, Settings};
use url::{Host, Url};

use super::concat_keys;
use super::tls::Tls;

/// Keys of every adaptor and auth that speaks HTTP; put them behind its own with [`super::concat_keys`].
pub const TRANSPORT_KEYS: &[Key] = &[
    Key::new("proxyhost", KeyKind::Host, "HTTP proxy: host name or address"),
    Key::new("proxyport", KeyKind::Int(1, 65_535), "HTTP proxy: port"),
    Key::new(
        "ca_file",
        KeyKind::File,
        "PEM file with all certificate authorities to trust, or with the server's own certificate",
    ),
    Key::new("insecure", KeyKind::Bool, "accept every TLS certificate; for tests")
        .default("false")
        .alias(&["no_verify_ssl"]),
    Key::new("client_cert", KeyKind::File, "PEM file with the client certificate and its chain"),
    Key::new("client_key", KeyKind::File, "PEM file with the client certificate's key"),
    Key::new(
        "tls_server_name",
        KeyKind::Text,
        "name that the server's certificate must have, if not the endpoint's host",
    ),
    Key::new("source_address", KeyKind::OwnAddress, "address of this machine to connect from"),
    Key::new("send_buffer", KeyKind::Size, "size of a socket's send buffer; the system's choice without it"),
    Key::new(
        "receive_buffer",
        KeyKind::Size,
        "size of a socket's receive buffer; the system's choice without it",
    ),
];

/// Keys of every adaptor that speaks HTTP.
pub const STORE_KEYS: &[Key] = &concat_keys::<{ TRANSPORT_KEYS.len() + 1 }>(TRANSPORT_KEYS, &[WIRE_TIME]);

const WIRE_TIME: Key = Key::new(
    "wire_time",
    KeyKind::Choice(&["auto", "all", "off"]),
    "of which operations the system is asked when requests left the host and answers reached it: `auto` of all at up to \
     4000 operations per second and thread and of a fair sample beyond, `all`, or `off`; it costs about 1 us of a processor \
     for each",
)
.default("auto");

/// Of which exchanges the system is asked when they were on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireTime {
    /// Of none: it is no store.
    Unasked,
    /// Of none.
    Off,
    /// Of those that are drawn.
    Auto,
    /// Of each.
    All,
}

impl WireTime {
    fn of(settings: &Settings) -> Self {
        if !settings.knows(WIRE_TIME.name) {
            return Self::Unasked;
        }
        let asked = match settings.get(WIRE_TIME.name) {
            Some("off") => return Self::Off,
            Some("all") => Self::All,
            _ => Self::Auto,
        };
        super::socket::announce();
        asked
    }
}

/// How long resolved addresses stand before a failed connection asks the resolver again.
const RESOLVED_FOR: Duration = Duration::from_secs(30);

/// Where to connect and how.
#[derive(Debug)]
pub struct Endpoint {
    host: String,
    port: u16,
    host_header: String,
    base_path: String,
    pub(crate) tls: Option<Tls>,
    /// Host and port of the proxy.
    pub(crate) proxy: Option<(String, u16)>,
    pub(crate) source: Option<IpAddr>,
    pub(crate) send_buffer: Option<u32>,
    pub(crate) receive_buffer: Option<u32>,
    pub(crate) wire_time: WireTime,
    resolved: Mutex<Option<(Arc<[SocketAddr]>, Instant)>>,
    turn: AtomicUsize,
    /// Its place among the endpoints of one target, from 1; 0 = the only one.
    number: AtomicU16,
    /// The addresses that stand behind its name, if connections spread over several.
    spread: Mutex<Vec<SocketAddr>>,
}

impl Endpoint {
    /// Reads `url` (`http://` or `https://`, a port and a path if wanted) and the [`TRANSPORT_KEYS`] of `settings`,
    /// whose table must contain them. Loads certificates; resolves and connects nothing.
    ///
    /// # Errors
    /// `Config` for a URL or key that cannot be used, `LocalIo` for a certificate file that cannot be read.
    pub fn new(url: &str, settings: &Settings) -> Result<Arc<Self>> {
        let parsed = parse_url(url)?;
        let host = match parsed.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => return Err(bad_url("the endpoint has no host")),
        };
        let is_tls = parsed.scheme() == "https";
        let port = parsed.port_or_known_default().unwrap_or(if is_tls { 443 } else { 80 });
        let shown_host = parsed.host_str().unwrap_or_default();
        let host_header = match parsed.port() {
            Some(port) => format!("{shown_host}:{port}"),
            None => shown_host.to_owned(),
        };
        Ok(Arc::new(Self {
            tls: if is_tls { Some(Tls::new(&host, settings)?) } else { None },
            host,
            port,
            host_header,
            base_path: parsed.path().trim_end_matches('/').to_owned(),
            proxy: proxy(settings)?,
            source: source(settings)?,
            send_buffer: buffer(settings, "send_buffer"),
            receive_buffer: buffer(settings, "receive_buffer"),
            wire_time: WireTime::of(settings),
            resolved: Mutex::new(None),
            turn: AtomicUsize::new(0),
            number: AtomicU16::new(0),
            spread: Mutex::default(),
        }))
    }

    /// Makes it the endpoint of this number, from 1, among several of one target.
    pub fn set_number(&self, number: u16) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// See [`Marks::endpoint`](cosmark_adaptor_api::Marks); 0 = the only one.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number.load(Ordering::Relaxed)
    }

    /// The number of a connection to this address: its endpoint's, or where one name stands for several machines, that of the
    /// address. What is one population and what are several, nobody can tell who counts them together.
    pub(crate) fn number_at(&self, address: SocketAddr) -> u16 {
        let number = self.number();
        if number != 0 {
            return number;
        }
        let spread = self.spread.lock().unwrap_or_else(PoisonError::into_inner);
        let at = spread.iter().position(|known| *known == address);
        at.and_then(|at| u16::try_from(at + 1).ok()).unwrap_or(0)
    }

    /// What [`Endpoint::number_at`] numbers, in that order; empty where connections go to one address, and before the name was
    /// resolved. On every machine that resolves it to the same addresses their order is the same.
    #[must_use]
    pub fn spread(&self) -> Vec<String> {
        if self.number() != 0 {
            return Vec::new();
        }
        let spread = self.spread.lock().unwrap_or_else(PoisonError::into_inner);
        spread.iter().map(|address| format!("{}:{} ({})", self.host, self.port, address.ip())).collect()
    }

    /// Value of the `Host` header line: the host, and the port if it is not the scheme's own.
    #[must_use]
    pub fn host_header(&self) -> &str {
        &self.host_header
    }

    /// Host without port; IPv6 addresses without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// True for `https://`.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Path of the URL without a slash at its end, escaped; empty or starts with a slash.
    #[must_use]
    pub fn base_path(&self) -> &str {
        &self.base_path
    }

    /// Appends the request line and the `Host` line. `target` is the escaped path (with [`Endpoint::base_path`], if that
    /// is wanted) and query; it starts with a slash. Over a plain HTTP proxy the request line has the whole URL.
    pub fn start_head(&self, head: &mut Vec<u8>, method: &str, target: &[u8]) {
        self.start_head_for(head, method, target, &self.host_header);
    }

    /// The same with another `Host` (such as `bucket.host`); the connection still goes to the endpoint's address.
    pub fn start_head_for(&self, head: &mut Vec<u8>, method: &str, target: &[u8], host: &str) {
        head.extend_from_slice(method.as_bytes());
        head.push(b' ');
        if self.proxy.is_some() && self.tls.is_none() {
            head.extend_from_slice(b"http://");
            head.extend_from_slice(host.as_bytes());
        }
        head.extend_from_slice(target);
        head.extend_from_slice(b" HTTP/1.1\r\nHost: ");
        head.extend_from_slice(host.as_bytes());
        head.extend_from_slice(b"\r\n");
    }

    /// Host and port that a connection goes to: the proxy's, if there is one.
    pub(crate) fn peer(&self) -> (&str, u16) {
        match &self.proxy {
            Some((host, port)) => (host, *port),
            None => (&self.host, self.port),
        }
    }

    /// The peer as a text for errors.
    pub(crate) fn peer_text(&self) -> String {
        let (host, port) = self.peer();
        let shown = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        if self.proxy.is_some() { format!("the proxy {shown}") } else { shown }
    }

    /// A number that differs from connection to connection, to spread them over several addresses.
    pub(crate) fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }

    /// The peer's addresses, asked for once.
    pub(crate) async fn addresses(&self) -> Result<Arc<[SocketAddr]>> {
        if let Some((addresses, _)) = &*self.resolved.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Arc::clone(addresses));
        }
        let (host, port) = self.peer();
        let found: Vec<SocketAddr> = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => tokio::net::lookup_host((host, port))
                .await
                .map_err(|error| {
                    Error::new(ErrorKind::Connect, format!("the name {host} cannot be resolved ({error})"))
                        .with_hint("check the endpoint's spelling and this machine's DNS")
                })?
                .collect(),
        };
        if found.is_empty() {
            return Err(Error::new(ErrorKind::Connect, format!("the name {host} has no address"))
                .with_hint("check the endpoint's spelling and this machine's DNS"));
        }
        if self.proxy.is_none() {
            self.note_spread(&found);
        }
        let addresses: Arc<[SocketAddr]> = found.into();
        *self.resolved.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Arc::clone(&addresses), Instant::now()));
        Ok(addresses)
    }

    fn note_spread(&self, found: &[SocketAddr]) {
        let mut several = preferred(found).to_vec();
        several.sort_unstable();
        several.dedup();
        let mut spread = self.spread.lock().unwrap_or_else(PoisonError::into_inner);
        if several.len() > 1 || !spread.is_empty() {
            // One that has a number keeps it.
            several.retain(|address| !spread.contains(address));
            spread.extend(several);
        }
    }

    /// No address answered: after a while the resolver is asked again.
    pub(crate) fn forget_addresses(&self) {
        let mut resolved = self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
        if resolved.as_ref().is_some_and(|(_, since)| since.elapsed() > RESOLVED_FOR) {
            *resolved = None;
        }
    }
}

fn bad_url(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, message).with_hint("write it as http://host:port or https://host:port")
}

pub(crate) fn parse_url(text: &str) -> Result<Url> {
    // The text itself is shown only where it cannot hold a password, and never what follows its path: links have signatures there.
    let address = text.trim().split(['?', '#']).next().unwrap_or_default();
    let shown = if text.contains('@') { "the endpoint" } else { address };
    let url =
        Url::parse(text.trim()).map_err(|error| bad_url(format!("`{shown}` is not a URL ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad_url(format!("`{shown}` is neither http:// nor https://")));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::new(ErrorKind::Config, "the endpoint holds a user name or password")
            .with_hint("give credentials by their own keys, not in the URL"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad_url(format!("`{shown}` has a `?` or `#` part, which an endpoint cannot have")));
    }
    Ok(url)
}

/// Connections spread over the addresses of the family that the resolver prefers; the rest is the reserve.
pub(crate) fn preferred(addresses: &[SocketAddr]) -> &[SocketAddr] {
    let first_is_v4 = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let count = addresses.iter().take_while(|address| address.is_ipv4() == first_is_v4).count();
    addresses.get(..count).unwrap_or_default()
}

fn proxy(settings: &Settings) -> Result<Option<(String, u16)>> {
    let host = settings.text("proxyhost");
    let port = settings.int("proxyport").and_then(|port| u16::try_from(port).ok());
    match (host.is_empty(), port) {
        (true, None) => Ok(None),
        (false, Some(port)) => {
            let host = host.strip_prefix("http://").unwrap_or(&host).trim_end_matches('/');
            Ok(Some((host.trim_matches(['[', ']']).to_owned(), port)))
        }
        _ => Err(Error::new(ErrorKind::Config, "proxyhost and proxyport go together")
            .with_hint("give both or none")),
    }
}

fn source(settings: &Settings) -> Result<Option<IpAddr>> {
    match settings.get("source_address").filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            Error::new(ErrorKind::Config, format!("source_address={text} is not an IP address"))
                .with_hint("give one address of this machine, as `ip address` shows them")
        }),
    }
}

fn buffer(settings: &Settings, key: &str) -> Option<u32> {
    settings.size_bytes(key).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Entries<'a> = &'a [(&'a str, &'a str)];

    fn endpoint(url: &str, entries: Entries<'_>) -> Result<Arc<Endpoint>> {
        let (settings, problems) = Settings::parse(TRANSPORT_KEYS, entries.iter().copied());
        assert!(problems.is_empty(), "{problems:?}");
        Endpoint::new(url, &settings)
    }

    #[test]
    fn addresses_behind_a_name_have_numbers_that_do_not_depend_on_their_order() {
        let several = ["10.0.0.9:80", "10.0.0.1:80"].map(|text| text.parse::<SocketAddr>().unwrap());
        let reserve: SocketAddr = "[fe80::1]:80".parse().unwrap();
        let store = endpoint("http://store", &[]).unwrap();
        assert_eq!((store.spread(), store.number_at(several[0])), (Vec::new(), 0));
        store.note_spread(&[several[0], several[1], reserve]);
        assert_eq!(store.spread(), ["store:80 (10.0.0.1)", "store:80 (10.0.0.9)"]);
        assert_eq!([several[0], several[1], reserve].map(|one| store.number_at(one)), [2, 1, 0]);
        // A name that is resolved again: who has a number keeps it.
        store.note_spread(&["10.0.0.0:80".parse().unwrap(), several[0]]);
        assert_eq!((store.number_at(several[0]), store.spread().len()), (2, 3));
        // One address, be there another family in reserve, is one endpoint.
        let local = endpoint("http://localhost", &[]).unwrap();
        local.note_spread(&["[::1]:80".parse().unwrap(), "127.0.0.1:80".parse().unwrap()]);
        assert!(local.spread().is_empty());
        // One of several endpoints of a target is told apart by its own number.
        store.set_number(7);
        assert_eq!((store.number_at(several[0]), store.spread()), (7, Vec::new()));
    }

    #[test]
    fn host_port_and_path_are_what_the_url_says() {
        let cases = [
            ("http://127.0.0.1:9000", "127.0.0.1:9000", "127.0.0.1", 9000, ""),
            ("http://Store.Example/", "store.example", "store.example", 80, ""),
            ("http://store.example:80/a/b/", "store.example", "store.example", 80, "/a/b"),
            ("http://[::1]:8080/x", "[::1]:8080", "::1", 8080, "/x"),
            ("http://my_store:81", "my_store:81", "my_store", 81, ""),
        ];
        for (url, header, host, port, path) in cases {
            let endpoint = endpoint(url, &[]).unwrap();
            let seen = (endpoint.host_header(), endpoint.host(), endpoint.port(), endpoint.base_path());
            assert_eq!(seen, (header, host, port, path), "{url}");
            assert!(!endpoint.is_tls());
        }
        let secure = endpoint("https://store.example", &[("insecure", "true")]).unwrap();
        assert!(secure.is_tls() && secure.port() == 443 && secure.host_header() == "store.example");
    }

    #[test]
    fn an_unusable_setting_is_a_config_error_with_a_remedy() {
        let cases: &[(&str, Entries<'_>, &str)] = &[
            ("store:9000", &[], "neither http"),
            ("", &[], "not a URL"),
            ("ftp://x", &[], "neither http"),
            ("http://user:pw@store", &[], "holds a user name"),
            ("http://user:p w@store:99999", &[], "not a URL"),
            ("http://store/?x=pw", &[], "`http://store/` has a `?`"),
            ("http://store/v1?temp_url_sig=pw&x#y", &[], "`?`"),
            ("http://store:99999?sig=pw", &[], "`http://store:99999` is not a URL"),
            ("store:9000#pw", &[], "`store:9000` is neither http"),
            ("http://store", &[("proxyhost", "proxy")], "go together"),
            ("http://store", &[("source_address", "eth0")], "not an IP address"),
            ("https://store", &[("client_key", "/nonexistent"), ("insecure", "true")], "go together"),
        ];
        for (url, entries, words) in cases {
            let error = endpoint(url, entries).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{url}");
            assert!(error.message().contains(words) && error.hint().is_some(), "{url}: {error}");
            assert!(!error.to_string().contains("pw") && !error.to_string().contains("p w"));
        }
        let error = endpoint("https://store", &[("ca_file", "/nonexistent.pem")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LocalIo);
    }

    #[test]
    fn only_a_plain_proxy_gets_the_whole_url_in_the_request_line() {
        let mut head = Vec::new();
        let entries = [("proxyhost", "proxy.example"), ("proxyport", "3128")];
        endpoint("http://store:81/base", &entries).unwrap().start_head(&mut head, "GET", b"/base/x?y");
        assert_eq!(head, b"GET http://store:81/base/x?y HTTP/1.1\r\nHost: store:81\r\n");
        head.clear();
        endpoint("http://store:81", &[]).unwrap().start_head_for(&mut head, "PUT", b"/x", "b.store:81");
        assert_eq!(head, b"PUT /x HTTP/1.1\r\nHost: b.store:81\r\n");
    }
}
