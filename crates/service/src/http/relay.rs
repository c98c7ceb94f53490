//! A controller that does not lead passes requests on to the one that does, so that everybody may ask any of them: browsers,
//! scripts, load balancers. It opens a connection for each request and looks into nothing. Source: RFC 9110, 7.6.1 (which
//! headers are for one connection only).

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version, header};
use axum::response::Response;
use cosmark_archive::Timestamp;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;

use crate::auth::keys::ClusterKey;
use crate::http::serve::fingerprint_of;
use crate::queue::store::Leader;

/// Header of a request that was passed on: for whom, when, and the cluster's signature.
pub const RELAYED: HeaderName = HeaderName::from_static("x-cosmark-relayed");
/// A leader that does not take a connection within this time is not there.
const PATIENCE: Duration = Duration::from_secs(5);
/// Clocks of controllers may differ by so many seconds.
const CLOCKS_APART: i64 = 300;
/// Headers that are for one connection only; `expect` was answered by then.
const OF_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::EXPECT,
];

/// Why a request that was passed on has no answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The leader cannot be reached; why, a part of a sentence.
    Away(String),
    /// It took the request and gave no answer before another controller led.
    Overtaken,
}

/// Passes a request on to the leader, and gives its answer as it comes. A leader that stands still is waited for until
/// `leaders` names another one.
///
/// # Errors
/// Why there is no answer.
pub async fn pass_on(
    key: &ClusterKey,
    leaders: watch::Receiver<Option<Leader>>,
    leader: &Leader,
    request: Request,
) -> Result<Response, Unanswered> {
    tokio::select! {
        answer = send(key, leader, request) => answer.map_err(Unanswered::Away),
        () = another_leads(leaders, leader) => Err(Unanswered::Overtaken),
    }
}

/// Waits until another controller than `asked` leads, this one included. While nobody is known to lead, `asked` may.
async fn another_leads(mut leaders: watch::Receiver<Option<Leader>>, asked: &Leader) {
    let is_other = |now: &Leader| !now.name.is_empty() && now.name != asked.name;
    if leaders.wait_for(|now| now.as_ref().is_none_or(is_other)).await.is_err() {
        // This controller ends, and its connections with it.
        std::future::pending::<()>().await;
    }
}

async fn send(key: &ClusterKey, leader: &Leader, request: Request) -> Result<Response, String> {
    let from = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let (mut parts, body) = request.into_parts();
    let base: Uri = leader.url.parse().map_err(|_| "its address is none".to_owned())?;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let path = format!("{}{path}", base.path().trim_end_matches('/'));
    keep_for_all(&mut parts.headers);
    if let Some(note) = from.and_then(|from| HeaderValue::try_from(note(key, from, &parts.method)).ok()) {
        parts.headers.insert(RELAYED, note);
    }
    parts.uri = path.parse().map_err(|_| "the path is none".to_owned())?;
    parts.version = Version::HTTP_11;
    let dialled = tokio::time::timeout(PATIENCE, dial(&base, leader)).await;
    let stream = dialled.map_err(|_| format!("no answer within {PATIENCE:?}"))?.map_err(|e| e.to_string())?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    // It ends with the answer, or with whoever reads that.
    tokio::spawn(connection);
    let answer = sender.send_request(Request::from_parts(parts, body)).await;
    let (mut parts, body) = answer.map_err(|error| error.to_string())?.into_parts();
    keep_for_all(&mut parts.headers);
    Ok(Response::from_parts(parts, Body::new(body)))
}

/// Takes away what is for one connection only, also what `Connection` names.
fn keep_for_all(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in OF_CONNECTION.iter().chain(&named).chain([&RELAYED]) {
        headers.remove(name);
    }
}

/// Who asks, so that the leader counts wrong tokens for the right address.
fn note(key: &ClusterKey, from: IpAddr, method: &Method) -> String {
    let text = format!("{from}|{}", Timestamp::now().as_second());
    let signature = HEXLOWER.encode(key.sign(format!("relay|{method}|{text}").as_bytes()).as_ref());
    format!("{text}|{signature}")
}

/// The address of who asked another controller, if that one passed the request on.
#[must_use]
pub fn asked_by(key: &ClusterKey, method: &Method, headers: &HeaderMap) -> Option<IpAddr> {
    let (text, signature) = headers.get(RELAYED)?.to_str().ok()?.rsplit_once('|')?;
    let (from, at) = text.split_once('|')?;
    let age = Timestamp::now().as_second().checked_sub(at.parse().ok()?)?;
    let signed = key.is_signed(
        format!("relay|{method}|{text}").as_bytes(),
        &HEXLOWER_PERMISSIVE.decode(signature.as_bytes()).ok()?,
    );
    if !signed || age.abs() > CLOCKS_APART { None } else { from.parse().ok() }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

async fn dial(base: &Uri, leader: &Leader) -> io::Result<Box<dyn Stream>> {
    let other = |text: String| io::Error::other(text);
    let host = base.host().ok_or_else(|| other("its address has no host".to_owned()))?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let is_tls = base.scheme_str() == Some("https");
    let port = base.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let stream = TcpStream::connect((host.as_str(), port)).await?;
    stream.set_nodelay(true)?;
    if !is_tls {
        return Ok(Box::new(stream));
    }
    let expected = leader.certificate.clone().ok_or_else(|| {
        other("it has no TLS of its own; its --public-url has to lead to itself, not to a proxy".to_owned())
    })?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| other(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ThisOne { expected, provider }))
        .with_no_client_auth();
    let name = ServerName::try_from(host).map_err(|error| other(error.to_string()))?;
    Ok(Box::new(TlsConnector::from(Arc::new(config)).connect(name, stream).await?))
}

/// Takes the certificate that the leader wrote down with its lease, and no other.
#[derive(Debug)]
struct ThisOne {
    expected: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ThisOne {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if fingerprint_of(end_entity) == self.expected {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::General("it shows another certificate than its own".to_owned()))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::StateDir;

    #[test]
    fn only_a_controller_of_the_cluster_says_who_asks() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = |dir: &tempfile::TempDir| ClusterKey::open(&StateDir::open(dir.path()).unwrap()).unwrap();
        let (own, foreign) = (key(&one), key(&two));
        let from: IpAddr = "192.0.2.7".parse().unwrap();
        let with = |text: String| HeaderMap::from_iter([(RELAYED, HeaderValue::try_from(text).unwrap())]);
        let signed = with(note(&own, from, &Method::GET));
        assert_eq!(asked_by(&own, &Method::GET, &signed), Some(from));
        assert_eq!(asked_by(&own, &Method::POST, &signed), None, "signed for another request");
        assert_eq!(asked_by(&own, &Method::GET, &with(note(&foreign, from, &Method::GET))), None);
        assert_eq!(asked_by(&own, &Method::GET, &with("192.0.2.7|1|00".to_owned())), None);
        assert_eq!(asked_by(&own, &Method::GET, &HeaderMap::new()), None);
    }

    #[tokio::test]
    async fn a_leader_that_stands_still_is_waited_for_until_another_one_leads() {
        let state = tempfile::tempdir().unwrap();
        let key = ClusterKey::open(&StateDir::open(state.path()).unwrap()).unwrap();
        // The system takes its connections; nobody reads them.
        let still = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", still.local_addr().unwrap());
        let led_by = |name: &str| Leader { name: name.to_owned(), url: url.clone(), certificate: None };
        let (sender, leaders) = watch::channel(Some(led_by("a")));
        for now in [Some(led_by("b")), None] {
            sender.send_replace(Some(led_by("a")));
            let (leader, request) = (led_by("a"), Request::new(Body::empty()));
            let asked = pass_on(&key, leaders.clone(), &leader, request);
            let mut asked = std::pin::pin!(asked);
            // Who leads is not known for a moment, and then it is still the same one.
            for same in [led_by(""), led_by("a")] {
                sender.send_replace(Some(same));
                let waited = tokio::time::timeout(std::time::Duration::from_millis(50), &mut asked).await;
                assert!(waited.is_err(), "{waited:?}");
            }
            sender.send_replace(now);
            assert_eq!(asked.await.map(drop), Err(Unanswered::Overtaken));
        }
    }

    #[test]
    fn what_is_for_one_connection_only_stays_behind() {
        let pairs = [("connection", "close, X-Own"), ("x-own", "1"), ("te", "trailers"), ("cookie", "a=b")];
        let mut headers: HeaderMap = pairs
            .iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap()))
            .collect();
        keep_for_all(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["cookie"]);
    }
}
