//! A Google service account's key file, and the JSON Web Tokens that it signs with RS256. Sources: Google, "Using OAuth 2.0
//! for server to server applications"; RFC 7515, RFC 7519, RFC 7523.

use data_encoding::BASE64URL_NOPAD;
use std::path::Path;
use std::sync::Arc;

use cosmark_adaptor_api::{Error, ErrorKind, Result, Secret};
use rustls::SignatureScheme;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::sign::SigningKey;
use serde::Deserialize;
use serde_json::{Value, json};

/// How long a token is good for; Google takes no longer ones.
pub(crate) const LIFETIME_S: u64 = 3600;
/// Key files have some 2 KiB.
const MOST_BYTES: u64 = 1 << 20;

/// A service account that can sign.
pub(crate) struct ServiceAccount {
    pub(crate) email: String,
    /// Where tokens are had for assertions.
    pub(crate) token_uri: String,
    key_id: String,
    key: Arc<dyn SigningKey>,
}

#[derive(Deserialize)]
struct KeyFile {
    #[serde(rename = "type")]
    kind: String,
    client_email: String,
    private_key: String,
    #[serde(default)]
    private_key_id: String,
    token_uri: Option<String>,
}

impl ServiceAccount {
    /// # Errors
    /// `LocalIo` for a file that cannot be read, `Config` for one that is no key; neither shows its content.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let shown = file.display();
        let too_long = std::fs::metadata(file).is_ok_and(|found| found.len() > MOST_BYTES);
        let text = if too_long {
            Err("it is too long for a key file".to_owned())
        } else {
            std::fs::read_to_string(file).map_err(|error| error.to_string())
        };
        let text = text.map_err(|cause| {
            Error::new(ErrorKind::LocalIo, format!("the key file {shown} cannot be read: {cause}")).with_hint(
                "give the path, on the driver's machine, of the JSON file that Google made for the account",
            )
        })?;
        Self::parse(&text).map_err(|cause| {
            Error::new(ErrorKind::Config, format!("{shown} is no service account's key file: {cause}"))
                .with_hint(
                    "make a key of type JSON for the service account in Google's console and give its path",
                )
        })
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        // The parser's own message could show a piece of the key.
        let file: KeyFile = serde_json::from_str(text)
            .map_err(|error| format!("line {} is not as expected", error.line()))?;
        if file.kind != "service_account" {
            return Err(format!("its type is `{}`", file.kind.chars().take(40).collect::<String>()));
        }
        let key = PrivateKeyDer::from_pem_slice(file.private_key.as_bytes())
            .map_err(|_| "its private_key is not PEM".to_owned())?;
        let key = any_supported_type(&key).map_err(|_| "its private_key cannot be used".to_owned())?;
        if key.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256]).is_none() {
            return Err("its private_key is not an RSA key".to_owned());
        }
        let token_uri = file.token_uri.unwrap_or_else(|| "https://oauth2.googleapis.com/token".to_owned());
        Ok(Self { email: file.client_email, token_uri, key_id: file.private_key_id, key })
    }

    /// A signed token with these claims besides `iss`, `iat` and `exp`.
    ///
    /// # Errors
    /// `Config` when the key does not sign.
    pub(crate) fn sign(&self, mut claims: Value, now_unix_s: u64) -> Result<Secret> {
        claims["iss"] = json!(self.email);
        claims["iat"] = json!(now_unix_s);
        claims["exp"] = json!(now_unix_s + LIFETIME_S);
        let mut header = json!({ "alg": "RS256", "typ": "JWT" });
        if !self.key_id.is_empty() {
            header["kid"] = json!(self.key_id);
        }
        let mut token = BASE64URL_NOPAD.encode(header.to_string().as_ref());
        token.push('.');
        BASE64URL_NOPAD.encode_append(claims.to_string().as_bytes(), &mut token);
        let signer = self.key.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256]);
        let signature = signer.and_then(|signer| signer.sign(token.as_bytes()).ok()).ok_or_else(|| {
            Error::new(ErrorKind::Config, "the service account's key does not sign")
                .with_hint("make a new key")
        })?;
        token.push('.');
        BASE64URL_NOPAD.encode_append(&signature, &mut token);
        Ok(Secret::new(token))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use aws_lc_rs::signature::KeyPair as _;
    use data_encoding::BASE64;
    use rustls::crypto::aws_lc_rs::default_provider;

    use super::*;

    /// A key file with a new key, and the public key in the form in which signatures are checked.
    pub(crate) fn key_file(token_uri: &str) -> (String, Vec<u8>) {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            BASE64.encode(der.as_ref())
        );
        let text = json!({
            "type": "service_account",
            "project_id": "p",
            "private_key_id": "key-1",
            "private_key": pem,
            "client_email": "bench@p.iam.gserviceaccount.com",
            "token_uri": token_uri,
        });
        (text.to_string(), pair.public_key().as_ref().to_vec())
    }

    /// The claims of a token whose signature is right.
    pub(crate) fn verified(token: &str, public_key: &[u8]) -> Value {
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let signature = BASE64URL_NOPAD.decode(signature.as_ref()).unwrap();
        let algorithms = default_provider().signature_verification_algorithms;
        let (_, checks) =
            algorithms.mapping.iter().find(|row| row.0 == SignatureScheme::RSA_PKCS1_SHA256).unwrap();
        checks[0].verify_signature(public_key, signed.as_bytes(), &signature).unwrap();
        let claims = signed.split_once('.').unwrap().1;
        serde_json::from_slice(&BASE64URL_NOPAD.decode(claims.as_ref()).unwrap()).unwrap()
    }

    #[test]
    fn a_token_is_signed_with_the_key_and_says_who_and_until_when() {
        let (text, public_key) = key_file("https://x/token");
        let account = ServiceAccount::parse(&text).unwrap();
        let token = account.sign(json!({ "aud": "https://x/token" }), 1000).unwrap();
        let claims = verified(token.expose(), &public_key);
        assert_eq!(claims["iss"], "bench@p.iam.gserviceaccount.com");
        assert_eq!((claims["iat"].as_u64(), claims["exp"].as_u64()), (Some(1000), Some(4600)));
        let header = BASE64URL_NOPAD.decode(token.expose().split('.').next().unwrap().as_ref()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&header).unwrap()["kid"], "key-1");
    }

    #[test]
    fn a_file_that_is_no_key_is_refused_without_showing_it() {
        let (text, _) = key_file("https://x/token");
        let cases = [
            ("{", "line 1"),
            (
                "{\"type\": \"authorized_user\", \"client_email\": \"x\", \"private_key\": \"hunter2\"}",
                "authorized_user",
            ),
            (
                "{\"type\": \"service_account\", \"client_email\": \"x\", \"private_key\": \"hunter2\"}",
                "not PEM",
            ),
            (&text.replace("client_email", "other"), "line 1"),
        ];
        for (text, words) in cases {
            let error = ServiceAccount::parse(text).err().unwrap();
            assert!(
                error.contains(words) && !error.contains("hunter2") && !error.contains("BEGIN"),
                "{error}"
            );
        }
        let error = ServiceAccount::read(Path::new("/nonexistent/key.json")).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::LocalIo);
    }
}
