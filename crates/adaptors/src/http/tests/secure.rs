//! TLS with certificates of our own, and proxies.

use std::io::Write;
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread::JoinHandle;

use cosmark_adaptor_api::{BytesSource, CollectSink, ErrorKind, Marks};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{HandshakeKind, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::bodies::{SIZES, pattern};
use super::server::{PATIENCE, Server, Step, answer, read_exactly, read_head, say};
use super::*;

type Authority = CertifiedIssuer<'static, KeyPair>;

/// A certificate authority and what it signed, as PEM files in a directory of its own.
struct Certificates {
    directory: tempfile::TempDir,
    authority: Authority,
}

impl Certificates {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "test authority");
        let authority = Authority::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let made = Self { directory: tempfile::tempdir().unwrap(), authority };
        made.write("ca.pem", &made.authority.pem());
        made
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.directory.path().join(name), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A server that shows the authority's own certificate, as a self-signed one is.
    fn self_signed(&self) {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        self.write("alone.pem", &params.self_signed(&key).unwrap().pem());
        self.write("alone.key", &key.serialize_pem());
    }

    /// Signs a certificate; its files are `<name>.pem` and `<name>.key`.
    fn sign(&self, name: &str, host: &str, purpose: ExtendedKeyUsagePurpose) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        self.write(&format!("{name}.pem"), &certificate.pem());
        self.write(&format!("{name}.key"), &key.serialize_pem());
    }

    fn server_config(&self, name: &str, client_authority: Option<&Self>) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder =
            ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let chain = vec![CertificateDer::from_pem_file(self.path(&format!("{name}.pem"))).unwrap()];
        let key = PrivateKeyDer::from_pem_file(self.path(&format!("{name}.key"))).unwrap();
        let builder = match client_authority {
            None => builder.unwrap().with_no_client_auth(),
            Some(other) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from_pem_file(other.path("ca.pem")).unwrap()).unwrap();
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
                builder.unwrap().with_client_cert_verifier(verifier)
            }
        };
        Arc::new(builder.with_single_cert(chain, key).unwrap())
    }
}

/// Answers each request on each connection with the body of the request before it; gives the kinds of handshakes.
fn echo(config: Arc<ServerConfig>, connections: usize) -> (u16, JoinHandle<Vec<HandshakeKind>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut kinds = Vec::new();
        for _ in 0..connections {
            let (socket, _) = listener.accept().unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket.set_write_timeout(Some(PATIENCE)).unwrap();
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), socket);
            let mut body = b"first".to_vec();
            loop {
                let mut heard = Vec::new();
                read_head(&mut stream, &mut heard);
                if heard.is_empty() {
                    break;
                }
                let text = String::from_utf8(heard).unwrap();
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                if let Some((_, rest)) = text.split_once("Content-Length: ") {
                    let length = rest.lines().next().unwrap().parse().unwrap();
                    body.clear();
                    read_exactly(&mut stream, length, &mut body);
                    stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").unwrap();
                } else {
                    stream.write_all(head.as_bytes()).unwrap();
                    stream.write_all(&body).unwrap();
                }
                stream.flush().unwrap();
            }
            kinds.extend(stream.conn.handshake_kind());
        }
        kinds
    });
    (port, thread)
}

#[test]
fn bodies_cross_tls_unchanged_on_one_connection() {
    let made = Certificates::new();
    made.sign("server", "127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth);
    let (port, thread) = echo(made.server_config("server", None), 1);
    let endpoint = endpoint(&format!("https://127.0.0.1:{port}"), &[("ca_file", &made.text("ca.pem"))]);
    run(async {
        let (mut connection, mut marks) = (Connection::new(&endpoint), Marks::default());
        for size in SIZES {
            let content = pattern(size);
            let (source, head) = (BytesSource(&content), put_head(size as u64));
            let request = Request::with_body(&head, Body::Sized(&source));
            assert_eq!(connection.exchange(request, Take::Discard, &mut marks).await.unwrap().status, 201);
            let mut sink = CollectSink::new(size);
            connection.exchange(Request::new(GET), Take::Sink(&mut sink), &mut marks).await.unwrap();
            assert!(sink.bytes == content, "a body of {size} bytes came changed");
            assert_eq!(get(&mut connection, &mut marks).await.unwrap().body_bytes, size as u64);
        }
        assert_eq!(marks.connections, 1);
    });
    assert_eq!(thread.join().unwrap(), [HandshakeKind::Full]);
}

#[test]
fn later_connections_of_an_endpoint_resume_the_tls_session() {
    let made = Certificates::new();
    made.sign("server", "127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth);
    let (port, thread) = echo(made.server_config("server", None), 3);
    let endpoint = endpoint(&format!("https://127.0.0.1:{port}"), &[("ca_file", &made.text("ca.pem"))]);
    run(async {
        for _ in 0..3 {
            get(&mut Connection::new(&endpoint), &mut Marks::default()).await.unwrap();
        }
    });
    assert_eq!(thread.join().unwrap(), [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed]);
}

#[test]
fn a_certificate_problem_is_a_tls_error_that_names_the_key_to_set() {
    let (ours, other) = (Certificates::new(), Certificates::new());
    ours.sign("right", "127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth);
    ours.sign("elsewhere", "other.example", ExtendedKeyUsagePurpose::ServerAuth);
    ours.sign("client", "client", ExtendedKeyUsagePurpose::ClientAuth);
    ours.self_signed();
    other.sign("client", "client", ExtendedKeyUsagePurpose::ClientAuth);
    let (ca, wrong_ca) = (("ca_file", ours.text("ca.pem")), ("ca_file", other.text("ca.pem")));
    let client = [("client_cert", ours.text("client.pem")), ("client_key", ours.text("client.key"))];
    let stranger = [("client_cert", other.text("client.pem")), ("client_key", other.text("client.key"))];
    let insecure = ("insecure", "true".to_owned());
    let name = ("tls_server_name", "other.example".to_owned());
    type Entries = Vec<(&'static str, String)>;
    let cases: Vec<(&str, &str, bool, Entries, Option<&str>)> = vec![
        ("own authority", "right", false, vec![ca.clone()], None),
        ("wrong authority", "right", false, vec![wrong_ca.clone()], Some("ca_file")),
        ("system authorities", "right", false, vec![], Some("ca_file")),
        ("self-signed, given", "alone", false, vec![("ca_file", ours.text("alone.pem"))], None),
        (
            "self-signed, given, other name",
            "alone",
            false,
            vec![("ca_file", ours.text("alone.pem")), ("tls_server_name", "x.example".to_owned())],
            Some("tls_server_name"),
        ),
        ("self-signed, not given", "alone", false, vec![ca.clone()], Some("ca_file")),
        ("insecure", "right", false, vec![insecure.clone()], None),
        ("insecure, other name", "elsewhere", false, vec![insecure], None),
        ("other name", "elsewhere", false, vec![ca.clone()], Some("tls_server_name")),
        ("other name, told so", "elsewhere", false, vec![ca.clone(), name], None),
        ("client certificate missing", "right", true, vec![ca.clone()], Some("client_cert")),
        ("client certificate", "right", true, [vec![ca.clone()], client.to_vec()].concat(), None),
        (
            "strange client certificate",
            "right",
            true,
            [vec![ca], stranger.to_vec()].concat(),
            Some("client_cert"),
        ),
    ];
    for (case, certificate, asks_client, entries, problem) in cases {
        let (port, thread) = echo(ours.server_config(certificate, asks_client.then_some(&ours)), 1);
        let entries: Vec<_> = entries.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let endpoint = endpoint(&format!("https://127.0.0.1:{port}"), &entries);
        let result = run(async { get(&mut Connection::new(&endpoint), &mut Marks::default()).await });
        match problem {
            None => assert_eq!(result.map(|a| a.status).map_err(|e| e.to_string()), Ok(200), "{case}"),
            Some(key) => {
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Tls, "{case}: {error}");
                assert!(error.hint().is_some_and(|hint| hint.contains(key)), "{case}: {error}");
            }
        }
        thread.join().unwrap();
    }
}

#[test]
fn the_wrong_scheme_for_a_port_is_told_in_both_directions() {
    let refusal = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    let plain = Server::start(vec![vec![Step::Bytes(5), say(refusal)]]);
    let https = endpoint(&format!("https://127.0.0.1:{}", plain.port), &[("insecure", "true")]);
    let made = Certificates::new();
    made.sign("server", "127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth);
    let (port, thread) = echo(made.server_config("server", None), 1);
    run(async {
        let error = get(&mut Connection::new(&https), &mut Marks::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tls);
        assert!(error.to_string().contains("http://"), "{error}");
        let error = get(&mut connection(port), &mut Marks::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.to_string().contains("https://"), "{error}");
    });
    thread.join().unwrap();
}

#[test]
fn a_plain_proxy_is_asked_for_the_whole_url() {
    let proxy = Server::start(vec![answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]);
    let port = proxy.port.to_string();
    let endpoint = endpoint("http://store.invalid:81", &[("proxyhost", "127.0.0.1"), ("proxyport", &port)]);
    run(async {
        let mut head = Vec::new();
        endpoint.start_head(&mut head, "GET", b"/x");
        head.extend_from_slice(b"\r\n");
        let mut connection = Connection::new(&endpoint);
        let answer =
            connection.exchange(Request::new(&head), Take::Discard, &mut Marks::default()).await.unwrap();
        assert_eq!(answer.body_bytes, 2);
    });
    assert_eq!(proxy.heard()[0], b"GET http://store.invalid:81/x HTTP/1.1\r\nHost: store.invalid:81\r\n\r\n");
}

/// A proxy for one connection: answers CONNECT with `answer`, then carries bytes both ways.
fn tunnel(target: u16, answer: &'static str) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut heard = Vec::new();
        read_head(&mut client, &mut heard);
        client.write_all(answer.as_bytes()).unwrap();
        if answer.contains(" 200 ") {
            let mut server = std::net::TcpStream::connect(("127.0.0.1", target)).unwrap();
            let (mut from_server, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let back = std::thread::spawn(move || drop(std::io::copy(&mut from_server, &mut to_client)));
            drop(std::io::copy(&mut client, &mut server));
            drop(server.shutdown(std::net::Shutdown::Write));
            back.join().unwrap();
        }
        heard
    });
    (port, thread)
}

#[test]
fn tls_goes_through_a_tunnel_of_the_proxy() {
    let made = Certificates::new();
    made.sign("server", "store.invalid", ExtendedKeyUsagePurpose::ServerAuth);
    let (target, server) = echo(made.server_config("server", None), 1);
    let (port, proxy) = tunnel(target, "HTTP/1.1 200 Connection established\r\nX: y\r\n\r\n");
    let (ca, port) = (made.text("ca.pem"), port.to_string());
    let entries = [("proxyhost", "127.0.0.1"), ("proxyport", port.as_str()), ("ca_file", &ca)];
    let endpoint = endpoint("https://store.invalid:8443", &entries);
    run(async {
        let mut connection = Connection::new(&endpoint);
        assert_eq!(get(&mut connection, &mut Marks::default()).await.unwrap().body_bytes, 5);
    });
    assert_eq!(
        proxy.join().unwrap(),
        b"CONNECT store.invalid:8443 HTTP/1.1\r\nHost: store.invalid:8443\r\n\r\n"
    );
    assert_eq!(server.join().unwrap(), [HandshakeKind::Full]);
}

#[test]
fn a_proxy_that_refuses_or_breaks_is_a_connect_error_that_names_it() {
    for (answer, words) in [
        ("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "status 403"),
        ("nonsense\r\n\r\n", "broke off"),
        ("", "broke off"),
    ] {
        let (port, proxy) = tunnel(0, answer);
        let port = port.to_string();
        let entries = [("proxyhost", "127.0.0.1"), ("proxyport", port.as_str()), ("insecure", "true")];
        let endpoint = endpoint("https://store.invalid", &entries);
        let error =
            run(async { get(&mut Connection::new(&endpoint), &mut Marks::default()).await.unwrap_err() });
        assert_eq!(error.kind(), ErrorKind::Connect);
        assert!(error.message().contains(words) && error.message().contains(&port), "{error}");
        proxy.join().unwrap();
    }
}
