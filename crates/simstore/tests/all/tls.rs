//! The same store behind TLS.

use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::client::{Client, pattern, store};

fn connect(handle: &cosmark_simstore::Handle) -> Client<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(handle.certificate().unwrap().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    Client::over(StreamOwned::new(connection, TcpStream::connect(handle.addr()).unwrap()))
}

#[test]
fn objects_go_through_tls_unharmed_and_harmed() {
    let handle = store("{tls: {}, flip_byte: {every_nth: 2}}");
    assert!(handle.url().starts_with("https://"));
    let mut c = connect(&handle);
    assert_eq!(c.ask("PUT /bkt").status, 200);
    let body = pattern(1_000_000);
    assert_eq!(c.send("PUT /bkt/key", &[], &body).status, 200);
    assert_eq!(c.ask("GET /bkt/key").body, body);
    assert_ne!(c.ask("GET /bkt/key").body, body);
    let auth = c.send("GET /auth/v1.0", &[("X-Auth-User", "a:u"), ("X-Auth-Key", "k")], b"");
    assert_eq!(auth.header("x-storage-url"), Some("https://test/v1/AUTH_a"));
}

#[test]
fn a_store_that_keeps_nothing_drains_uploads_through_tls() {
    let handle = store("{tls: {names: [localhost]}, store: {mode: 'null'}}");
    let mut c = connect(&handle);
    assert_eq!(c.send("PUT /bkt/key", &[], &pattern(3_000_000)).status, 200);
    assert_eq!(c.ask("GET /bkt/key").body.len(), 4096);
}

#[test]
fn plain_http_to_a_tls_port_is_hung_up_on() {
    let handle = store("tls: {}");
    assert_eq!(Client::new(handle.addr()).ask("GET /").status, 0);
}

#[test]
fn given_certificate_files_are_used_or_complained_about() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (cert, key) = (dir.path().join("c.pem"), dir.path().join("k.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let yaml = format!("tls: {{cert: '{}', key: '{}'}}", cert.display(), key.display());
    let handle = store(&yaml);
    assert_eq!(handle.certificate(), Some(made.cert.pem().as_str()));
    assert_eq!(connect(&handle).ask("GET /").status, 200);
    std::fs::write(&key, "rubbish").unwrap();
    let behaviour = cosmark_simstore::Behaviour::from_yaml(&yaml).unwrap();
    let error = cosmark_simstore::SimStore::start(behaviour, "127.0.0.1:0").err().unwrap();
    assert!(error.to_string().contains("tls.key"), "{error}");
}
