//! AWS Signature Version 2 (Amazon S3 developer guide, "Signing and authenticating REST requests"): HMAC-SHA1 over a few
//! lines of the request. Old, but what COSBench sent and what older gateways want.

use cosmark_adaptor_api::AwsKeys;
use data_encoding::BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;

use crate::http::date;
use crate::http::signed_headers::Lines;

/// Query parameters that name a part of the resource, and so are signed; sorted.
const SUBRESOURCES: [&str; 19] = [
    "acl",
    "cors",
    "delete",
    "lifecycle",
    "location",
    "logging",
    "notification",
    "partNumber",
    "policy",
    "requestPayment",
    "restore",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versionId",
    "versioning",
    "versions",
    "website",
];

/// What is signed of one request.
#[derive(Debug)]
pub(crate) struct Signable<'a> {
    pub(crate) method: &'a str,
    pub(crate) content_md5: &'a [u8],
    pub(crate) content_type: &'a [u8],
    /// Header lines, of which those that begin with `x-amz-` or `x-emc-` are signed; sorted.
    pub(crate) lines: &'a Lines<'a>,
    /// The bucket, where it stands in the host name; else empty.
    pub(crate) host_bucket: &'a str,
    /// Escaped path as sent.
    pub(crate) path: &'a [u8],
    /// Query parameters (name, value or none) that are not escaped, sorted by name.
    pub(crate) query: &'a [(&'a str, Option<&'a str>)],
}

/// Signs one worker's requests.
pub(crate) struct SigV2 {
    access_key: String,
    key: Option<Hmac<Sha1>>,
    second: u64,
    date: [u8; 29],
    text: Vec<u8>,
}

impl SigV2 {
    pub(crate) fn new(keys: &AwsKeys) -> Self {
        Self {
            access_key: keys.access_key.clone(),
            // HMAC takes keys of any length, so this is always there.
            key: Hmac::new_from_slice(keys.secret_key.expose().as_bytes()).ok(),
            second: u64::MAX,
            date: [0; 29],
            text: Vec::new(),
        }
    }

    /// Value of `Date` for requests signed from now on.
    pub(crate) fn set_time(&mut self, unix_seconds: u64) -> [u8; 29] {
        if self.second != unix_seconds {
            self.second = unix_seconds;
            self.date = date::http(unix_seconds);
        }
        self.date
    }

    /// Appends the whole `Authorization` line, signed at the time of the last [`SigV2::set_time`].
    pub(crate) fn push_authorization(&mut self, out: &mut Vec<u8>, request: &Signable<'_>) {
        let date = self.date;
        let mut signature = [0; 28];
        let bytes = self.sign(&date, request);
        // 20 bytes are 28 characters.
        BASE64.encode_mut(&bytes, &mut signature);
        out.extend_from_slice(b"Authorization: AWS ");
        out.extend_from_slice(self.access_key.as_bytes());
        out.push(b':');
        out.extend_from_slice(&signature);
        out.extend_from_slice(b"\r\n");
    }

    fn sign(&mut self, date: &[u8], request: &Signable<'_>) -> [u8; 20] {
        let text = &mut self.text;
        text.clear();
        for part in [request.method.as_bytes(), request.content_md5, request.content_type, date] {
            text.extend_from_slice(part);
            text.push(b'\n');
        }
        for (name, value) in request.lines.iter() {
            if name.starts_with("x-amz-") || name.starts_with("x-emc-") {
                text.extend_from_slice(name.as_bytes());
                text.push(b':');
                text.extend_from_slice(value);
                text.push(b'\n');
            }
        }
        if !request.host_bucket.is_empty() {
            text.push(b'/');
            text.extend_from_slice(request.host_bucket.as_bytes());
        }
        text.extend_from_slice(request.path);
        let mut separator = b'?';
        for (name, value) in request.query.iter().filter(|(name, _)| SUBRESOURCES.contains(name)) {
            text.push(separator);
            separator = b'&';
            text.extend_from_slice(name.as_bytes());
            if let Some(value) = value {
                text.push(b'=');
                text.extend_from_slice(value.as_bytes());
            }
        }
        let Some(mut mac) = self.key.clone() else { return [0; 20] };
        mac.update(text);
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_adaptor_api::Secret;

    fn signature(date: &str, request: &Signable<'_>) -> String {
        let keys = AwsKeys {
            access_key: "AKIAIOSFODNN7EXAMPLE".into(),
            secret_key: Secret::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            session_token: None,
        };
        BASE64.encode(SigV2::new(&keys).sign(date.as_bytes(), request).as_ref())
    }

    #[test]
    fn amazons_published_examples_come_out() {
        let none = Lines::new();
        let base = Signable {
            method: "GET",
            content_md5: b"",
            content_type: b"",
            lines: &none,
            host_bucket: "johnsmith",
            path: b"/photos/puppy.jpg",
            query: &[],
        };
        assert_eq!(signature("Tue, 27 Mar 2007 19:36:42 +0000", &base), "bWq2s1WEIj+Ydj0vQ697zp+IXMU=");
        let put = Signable { method: "PUT", content_type: b"image/jpeg", ..base };
        assert_eq!(signature("Tue, 27 Mar 2007 21:15:45 +0000", &put), "MyyxeRY7whkBe+bq8fHCL/2kKUg=");
        let query = [("marker", Some("puppy")), ("max-keys", Some("50")), ("prefix", Some("photos"))];
        let list = Signable { method: "GET", content_type: b"", path: b"/", query: &query, ..put };
        assert_eq!(signature("Tue, 27 Mar 2007 19:42:41 +0000", &list), "htDYFYduRNen8P9ZfE/s9SuKy0U=");
        let acl = Signable { query: &[("acl", None)], ..list };
        assert_eq!(signature("Tue, 27 Mar 2007 19:44:46 +0000", &acl), "c2WLPFtWHVgbEmeEG93a4cG37dM=");
        let service = Signable { host_bucket: "", query: &[], ..acl };
        assert_eq!(signature("Wed, 28 Mar 2007 01:29:59 +0000", &service), "qGdzdERIC03wnaRNKh6OqZehG9s=");
        let mut lines = Lines::new();
        lines.add("x-amz-meta-reviewedby", b"joe@johnsmith.net,jane@johnsmith.net");
        lines.add("x-amz-meta-filechecksum", b"0x02661779");
        lines.add("x-amz-meta-checksumalgorithm", b"crc32");
        lines.add("x-amz-acl", b"public-read");
        lines.add("host", b"static.johnsmith.net:8080");
        let upload = Signable {
            method: "PUT",
            content_md5: b"4gJE4saaMU4BqNR0kLY+lw==",
            content_type: b"application/x-download",
            lines: &lines,
            host_bucket: "static.johnsmith.net",
            path: b"/db-backup.dat.gz",
            query: &[],
        };
        assert_eq!(signature("Tue, 27 Mar 2007 21:06:08 +0000", &upload), "ilyl83RwaSoYIEdixDQcA4OnAnc=");
        let unicode =
            Signable { host_bucket: "", path: b"/dictionary/fran%C3%A7ais/pr%c3%a9f%c3%a8re", ..service };
        assert_eq!(signature("Wed, 28 Mar 2007 01:49:49 +0000", &unicode), "DNEZGsoieTZ92F3bUfSPQcbGmlM=");
    }
}
