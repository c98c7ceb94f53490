//! How requests to Azure Blob Storage are authorised. Sources: Microsoft, "Authorize with Shared Key" (the string to sign
//! of version 2015-02-21 and later, `learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key`), and "Delegate
//! access with a shared access signature".

use cosmark_adaptor_api::{Error, ErrorKind, Result, Secret};
use data_encoding::BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::http::push_decimal;
use crate::http::signed_headers::Lines;

/// What is signed of one request.
pub(super) struct Signable<'a> {
    pub(super) method: &'a str,
    /// 0 and none are the same.
    pub(super) content_length: Option<u64>,
    pub(super) content_type: &'a str,
    /// The `x-ms-` lines, sorted by lower-case name.
    pub(super) lines: &'a Lines<'a>,
    /// Escaped path as sent.
    pub(super) path: &'a [u8],
    /// Parameters that are not escaped, sorted by lower-case name.
    pub(super) query: &'a [(&'a str, &'a str)],
}

/// Signs one worker's requests with the account's key.
#[derive(Clone)]
pub(super) struct SharedKey {
    account: String,
    key: Hmac<Sha256>,
    text: Vec<u8>,
}

impl SharedKey {
    /// # Errors
    /// `Config` for a key that is not base64.
    pub(super) fn new(account: &str, key: &Secret) -> Result<Self> {
        let wrong = || {
            Error::new(ErrorKind::Config, "account_key is not a key: it must be base64")
                .with_hint("copy it as the portal shows it, with the `=` at its end")
        };
        let bytes = BASE64.decode(key.expose().trim().as_ref()).map_err(|_| wrong())?;
        let key = Hmac::new_from_slice(&bytes).map_err(|_| wrong())?;
        Ok(Self { account: account.to_owned(), key, text: Vec::with_capacity(512) })
    }

    /// Appends the `Authorization` line.
    pub(super) fn authorize(&mut self, head: &mut Vec<u8>, request: &Signable<'_>) {
        self.write_text(request);
        let mut mac = self.key.clone();
        mac.update(&self.text);
        let mut encoded = [0; 44];
        let signature = mac.finalize().into_bytes();
        // 32 bytes are 44 characters of base64.
        BASE64.encode_mut(&signature, &mut encoded);
        for part in [b"Authorization: SharedKey ", self.account.as_bytes(), b":", &encoded, b"\r\n"] {
            head.extend_from_slice(part);
        }
    }

    fn write_text(&mut self, request: &Signable<'_>) {
        let text = &mut self.text;
        text.clear();
        text.extend_from_slice(request.method.as_bytes());
        // Content-Encoding and Content-Language are never sent.
        text.extend_from_slice(b"\n\n\n");
        if let Some(length) = request.content_length.filter(|length| *length > 0) {
            push_decimal(text, length);
        }
        // Neither is Content-MD5.
        text.extend_from_slice(b"\n\n");
        text.extend_from_slice(request.content_type.as_bytes());
        // Date (x-ms-date stands for it), four conditions, Range (x-ms-range stands for it).
        text.extend_from_slice(b"\n\n\n\n\n\n\n");
        for (name, value) in request.lines.iter() {
            text.extend_from_slice(name.as_bytes());
            text.push(b':');
            text.extend_from_slice(value);
            text.push(b'\n');
        }
        text.push(b'/');
        text.extend_from_slice(self.account.as_bytes());
        text.extend_from_slice(request.path);
        for (name, value) in request.query {
            text.push(b'\n');
            text.extend_from_slice(name.as_bytes());
            text.push(b':');
            text.extend_from_slice(value.as_bytes());
        }
    }
}

/// How requests are authorised.
#[derive(Clone)]
pub(super) enum Access {
    SharedKey(Box<SharedKey>),
    /// A shared access signature: a query, escaped.
    Sas(Secret),
    /// A token of Microsoft Entra ID.
    Bearer(Secret),
    Anonymous,
}

/// The SAS as a query without its question mark.
///
/// # Errors
/// `Config` for a text that is none.
pub(super) fn checked_sas(text: &Secret) -> Result<Secret> {
    let query = text.expose().trim().trim_start_matches('?').trim_end_matches('&');
    let is_query = query.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#' && byte != b'?');
    if !is_query || !query.split('&').any(|pair| pair.starts_with("sig=")) {
        return Err(Error::new(ErrorKind::Config, "sas is not a shared access signature: it has no `sig=`")
            .with_hint("give the whole query that the portal shows, beginning with `sv=` or `?sv=`"));
    }
    Ok(Secret::new(query))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_string_to_sign_is_the_manuals() {
        // The emulator's published account and key.
        let key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
        let mut signer = SharedKey::new("myaccount", &Secret::new(key)).unwrap();
        let mut lines = Lines::new();
        lines.add("x-ms-date", b"Fri, 26 Jun 2015 23:39:12 GMT");
        lines.add("x-ms-version", b"2015-02-21");
        let request = Signable {
            method: "GET",
            content_length: Some(0),
            content_type: "",
            lines: &lines,
            path: b"/mycontainer",
            query: &[("comp", "metadata"), ("restype", "container"), ("timeout", "20")],
        };
        signer.write_text(&request);
        let expected = "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n\
                        /myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20";
        assert_eq!(String::from_utf8_lossy(&signer.text), expected);
        let put = Signable { method: "PUT", content_length: Some(11), content_type: "text/plain", ..request };
        signer.write_text(&put);
        assert!(signer.text.starts_with(b"PUT\n\n\n11\n\ntext/plain\n\n\n\n\n\n\nx-ms-date:"));
    }

    #[test]
    fn what_is_no_key_or_signature_is_refused() {
        assert!(SharedKey::new("a", &Secret::new("not base64!")).is_err());
        for text in ["", "sv=1&sr=c", "sig=a b", "https://x/?sv=1&sig=2"] {
            assert!(checked_sas(&Secret::new(text)).is_err(), "{text}");
        }
        assert_eq!(checked_sas(&Secret::new(" ?sv=1&sig=a%2B ")).unwrap().expose(), "sv=1&sig=a%2B");
    }
}
