//! TLS of the server: rustls with given certificates or a self-signed one made at the start.

#[cfg(feature = "tls")]
pub(crate) use tokio_rustls::TlsAcceptor as Acceptor;

/// There is no TLS without the feature `tls`.
#[cfg(not(feature = "tls"))]
#[derive(Clone)]
pub(crate) enum Acceptor {}

use crate::behaviour::TlsOptions;

/// The acceptor and the certificate chain in PEM.
#[cfg(feature = "tls")]
pub(crate) fn acceptor(options: &TlsOptions) -> Result<(Acceptor, String), String> {
    use std::sync::Arc;

    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};

    let (chain_pem, key_pem) = match (&options.cert, &options.key) {
        (Some(cert), Some(key)) => {
            let read = |path: &std::path::Path| {
                std::fs::read_to_string(path).map_err(|error| {
                    format!("cannot read {}: {error}; check tls.cert and tls.key", path.display())
                })
            };
            (read(cert)?, read(key)?)
        }
        _ => self_signed(&options.names)?,
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain_pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| format!("tls.cert is no PEM certificate chain: {error}"))?;
    let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes())
        .map_err(|error| format!("tls.key is no PEM private key: {error}"))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| {
            format!("the certificate cannot be used: {error}; check that tls.key belongs to tls.cert")
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((Acceptor::from(Arc::new(config)), chain_pem))
}

#[cfg(feature = "tls")]
fn self_signed(names: &[String]) -> Result<(String, String), String> {
    let names =
        if names.is_empty() { vec!["localhost".to_owned(), "127.0.0.1".to_owned()] } else { names.to_vec() };
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|error| format!("cannot make a certificate: {error}; check tls.names"))?;
    Ok((made.cert.pem(), made.signing_key.serialize_pem()))
}

#[cfg(not(feature = "tls"))]
pub(crate) fn acceptor(_: &TlsOptions) -> Result<(Acceptor, String), String> {
    Err("this build has no TLS; build cosmark-simstore with the feature `tls`, or remove `tls:`".to_owned())
}
