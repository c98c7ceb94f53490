//! TLS settings (rustls) and what its errors mean to a user.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cosmark_adaptor_api::{Error, ErrorKind, Result, Settings};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// What a TLS connection needs. The config holds the session cache, so all connections of an endpoint resume sessions.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

impl Tls {
    /// From the transport keys; `host` is the name to expect unless `tls_server_name` says otherwise.
    pub(crate) fn new(host: &str, settings: &Settings) -> Result<Self> {
        let wanted = settings.get("tls_server_name").filter(|name| !name.is_empty()).unwrap_or(host);
        let name = ServerName::try_from(wanted.to_owned()).map_err(|_| {
            Error::new(ErrorKind::Config, format!("`{wanted}` is not a name that a TLS certificate can have"))
                .with_hint("set tls_server_name to the name in the server's certificate")
        })?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::new(ErrorKind::Tls, format!("TLS cannot be set up: {error}")))?;
        let builder = if settings.flag("insecure") {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAll(provider)))
        } else if let Some(file) = settings.path("ca_file") {
            let verifier = Given::new(&file, provider)?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        } else {
            builder.with_root_certificates(system_roots()?)
        };
        let config = match (settings.path("client_cert"), settings.path("client_key")) {
            (None, None) => builder.with_no_client_auth(),
            (Some(chain), Some(key)) => {
                let key_der = PrivateKeyDer::from_pem_file(&key).map_err(|e| unreadable(&key, &e))?;
                builder.with_client_auth_cert(certificates(&chain)?, key_der).map_err(|error| {
                    Error::new(ErrorKind::Config, format!("the client certificate cannot be used: {error}"))
                        .with_hint("client_cert and client_key must belong together")
                })?
            }
            _ => {
                return Err(Error::new(ErrorKind::Config, "client_cert and client_key go together")
                    .with_hint("give both or none"));
            }
        };
        Ok(Self { config: Arc::new(config), name })
    }
}

fn system_roots() -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if store.is_empty() {
        return Err(Error::new(ErrorKind::Config, "this machine has no certificate authorities installed")
            .with_hint("install ca-certificates, or give ca_file=..., or insecure=true for a test"));
    }
    Ok(store)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(file).map_err(|error| unreadable(file, &error))?.collect();
    let certificates = read.map_err(|error| unreadable(file, &error))?;
    if certificates.is_empty() {
        return Err(Error::new(ErrorKind::LocalIo, format!("{} holds no certificate", file.display()))
            .with_hint("it must be a PEM file with BEGIN CERTIFICATE lines"));
    }
    Ok(certificates)
}

fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::LocalIo, format!("{} cannot be read as PEM: {error}", file.display()))
        .with_hint("check the path on the driver's machine and its permissions")
}

/// What a failed handshake (or a broken TLS stream) means.
pub(crate) fn describe(error: &io::Error, host: &str) -> Error {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(cause) = cause else {
        return Error::new(ErrorKind::Tls, format!("the TLS handshake with {host} was broken off: {error}"))
            .with_hint("check that the port speaks TLS; for plain HTTP write the endpoint with http://");
    };
    let (sentence, hint): (String, &str) = match cause {
        rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => (
            format!("the certificate of {host} is not signed by a known authority"),
            "give ca_file=... with its authority, or insecure=true for a test",
        ),
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => (
            format!("the certificate of {host} is for another name"),
            "connect by that name, or set tls_server_name",
        ),
        rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => (
            format!("the certificate of {host} has expired"),
            "renew it, check this machine's clock, or insecure=true for a test",
        ),
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => (
            format!("the certificate of {host} is not valid yet"),
            "check this machine's clock and the server's, or insecure=true for a test",
        ),
        rustls::Error::InvalidCertificate(CertificateError::Other(reason)) => (
            format!("the certificate of {host} cannot be checked ({reason})"),
            "a self-signed one can be given as ca_file=..., or insecure=true for a test",
        ),
        rustls::Error::InvalidMessage(_) => (
            format!("{host} does not speak TLS on this port"),
            "for plain HTTP write the endpoint with http://",
        ),
        rustls::Error::AlertReceived(
            rustls::AlertDescription::CertificateRequired
            | rustls::AlertDescription::UnknownCA
            | rustls::AlertDescription::BadCertificate
            | rustls::AlertDescription::UnsupportedCertificate
            | rustls::AlertDescription::CertificateRevoked
            | rustls::AlertDescription::CertificateExpired
            | rustls::AlertDescription::CertificateUnknown
            | rustls::AlertDescription::AccessDenied
            | rustls::AlertDescription::DecryptError,
        ) => (
            format!("{host} does not accept our client certificate ({cause})"),
            "give client_cert=... and client_key=... that the server trusts",
        ),
        other => (
            format!("TLS with {host} failed: {other}"),
            "check the endpoint's TLS settings; `insecure=true` skips certificate checks for a test",
        ),
    };
    Error::new(ErrorKind::Tls, sentence).with_hint(hint)
}

/// Trusts what the user gave: certificates signed by the file's authorities, and the file's certificates themselves.
/// The latter is for servers with a self-signed certificate, which is no authority's and so has no chain to check; name
/// and handshake are checked for both.
#[derive(Debug)]
struct Given {
    chains: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl Given {
    fn new(file: &Path, provider: Arc<CryptoProvider>) -> Result<Self> {
        let certificates = certificates(file)?;
        let mut store = RootCertStore::empty();
        for certificate in &certificates {
            store.add(certificate.clone()).map_err(|error| unreadable(file, &error))?;
        }
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider)
            .build()
            .map_err(|error| unreadable(file, &error))?;
        Ok(Self { chains, certificates })
    }
}

impl ServerCertVerifier for Given {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        if self.certificates.iter().any(|given| given == end_entity) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.chains.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.chains.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.chains.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

/// Accepts every certificate; the handshake's signatures are still checked.
#[derive(Debug)]
struct AcceptAll(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAll {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_of_another_time_points_at_the_clock() {
        for (cause, words) in
            [(CertificateError::Expired, "has expired"), (CertificateError::NotValidYet, "is not valid yet")]
        {
            let error = describe(&io::Error::other(rustls::Error::InvalidCertificate(cause)), "store");
            assert_eq!(error.message(), format!("the certificate of store {words}"));
            assert!(error.hint().is_some_and(|hint| hint.contains("clock")), "{error}");
        }
    }
}
