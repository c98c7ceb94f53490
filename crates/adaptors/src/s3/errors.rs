//! What S3's error answers mean (Amazon S3 API reference, "Error responses"): status, code, a sentence, and a remedy.

use cosmark_adaptor_api::{Error, ErrorKind};

use crate::http::xml_scan;

/// What an error answer is about.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct About<'a> {
    pub(crate) bucket: &'a str,
    pub(crate) object: &'a str,
    /// The region that requests are signed for.
    pub(crate) region: &'a str,
    /// `x-amz-bucket-region` of the answer.
    pub(crate) bucket_region: Option<&'a str>,
    /// `Location` of the answer.
    pub(crate) location: Option<&'a str>,
}

/// An answer that is no success, as an error.
pub(crate) fn failure(status: u16, body: &[u8], about: About<'_>) -> Error {
    let code = xml_scan::find(body, "Code").map(xml_scan::unescape);
    let message = xml_scan::find(body, "Message").map(|text| xml_scan::unescape(text.trim()));
    let is_page = xml_scan::is_page(body);
    let code = code.as_deref().unwrap_or(match status {
        // A proxy's page says nothing of what is in the store.
        _ if is_page => "",
        // HEAD answers have no body to tell it.
        404 if !about.object.is_empty() => "NoSuchKey",
        404 if !about.bucket.is_empty() => "NoSuchBucket",
        _ => "",
    });
    let detail = match (code, message.as_deref().unwrap_or_default()) {
        ("NoSuchBucket", _) => format!("bucket \"{}\" does not exist", about.bucket),
        ("NoSuchKey" | "NotFound", _) if !about.object.is_empty() => {
            format!("object \"{}\" in bucket \"{}\" does not exist", about.object, about.bucket)
        }
        (_, "") => reason(status).to_owned(),
        (_, text) => text.trim_end_matches('.').to_owned(),
    };
    // Whoever looks for what was written would call it lost.
    if status == 404 && is_page && code.is_empty() {
        return Error::new(
            ErrorKind::Protocol,
            "404 with a page for people: nothing says that the store was asked for it",
        )
        .with_hint("the answer is no S3 error: is the endpoint the store itself?");
    }
    let separator = if code.is_empty() { "" } else { " " };
    let error =
        Error::new(ErrorKind::Status(status), bounded(format!("{status}{separator}{code}: {detail}")));
    let error = if code.is_empty() { error } else { error.with_code(code) };
    match hint(status, code, body, about) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Codes that say that the keys, the region or the clock are wrong, so that every request will fail.
pub(crate) fn is_credential_problem(code: &str) -> bool {
    const CODES: [&str; 12] = [
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "RequestTimeTooSkewed",
        "AuthorizationHeaderMalformed",
        "InvalidSecurity",
        "InvalidToken",
        "ExpiredToken",
        "TokenRefreshRequired",
        "AccountProblem",
        "NotSignedUp",
        "CredentialsNotSupported",
        "MissingSecurityHeader",
    ];
    CODES.contains(&code)
}

fn hint(status: u16, code: &str, body: &[u8], about: About<'_>) -> Option<String> {
    let told_region = xml_scan::find(body, "Region").or(about.bucket_region);
    let fixed = match code {
        "NoSuchBucket" => "an init stage creates it; also check path_style_access",
        "NoSuchKey" | "NotFound" => "a prepare stage writes it; an earlier delete may have removed it",
        "InvalidAccessKeyId" => "the store does not know this accesskey: check it",
        "SignatureDoesNotMatch" => {
            "check secretkey and region; a proxy that changes Host or the path has the same effect"
        }
        "RequestTimeTooSkewed" => "this machine's clock and the store's differ too much: set both by NTP",
        "InvalidToken" | "ExpiredToken" | "TokenRefreshRequired" => {
            "the session token is not valid (any more): get new temporary credentials"
        }
        "AccessDenied" => {
            "the credentials are not allowed to do this: check the user's and the bucket's policy"
        }
        "BucketAlreadyExists" => {
            "somebody else owns a bucket of this name: choose another cprefix, or set bucket_exists_ok=true to use it"
        }
        "BucketNotEmpty" => "delete its objects first (a cleanup stage does)",
        "InvalidBucketName" => {
            "bucket names have 3 to 63 small letters, digits, dots and hyphens: check cprefix"
        }
        "InvalidLocationConstraint" | "IllegalLocationConstraintException" => {
            "the store does not know this region as a place for buckets: set region to its own, or to us-east-1"
        }
        "EntityTooSmall" => "parts but the last must have 5 MiB at least: raise the part size",
        "EntityTooLarge" => "larger than the store takes in one request: write it in parts",
        "SlowDown" | "ServiceUnavailable" | "RequestLimitExceeded" => "the store asks for less load",
        "XAmzContentSHA256Mismatch" | "BadDigest" => {
            "the body changed on its way: look at proxies and the network"
        }
        "MissingContentLength" => "the store wants a length: set chunked=false",
        "NotImplemented" => {
            "the store cannot do this: try payload, checksum or list_version of an older kind"
        }
        "InvalidDigest" | "InvalidChunkSizeError" => "try payload=unsigned and checksum=none",
        "MethodNotAllowed" => "check that the endpoint is the store's S3 port",
        "AuthorizationHeaderMalformed" | "PermanentRedirect" | "TemporaryRedirect" => {
            return Some(match (told_region, xml_scan::find(body, "Endpoint")) {
                (Some(region), _) if region != about.region => format!("set region={region}"),
                (_, Some(endpoint)) => format!("the bucket is at endpoint {endpoint}"),
                _ => "set region and endpoint to where the bucket is".to_owned(),
            });
        }
        _ => {
            return match (status, told_region) {
                (301 | 307 | 400, Some(region)) if region != about.region => {
                    Some(format!("set region={region}"))
                }
                (301 | 302 | 307 | 308, _) => Some(match about.location {
                    // What stands behind `?` may be a signature.
                    Some(location) => {
                        let address = location.split('?').next().unwrap_or_default();
                        bounded(format!(
                            "it answers that what was asked for is at {address}; set the endpoint to that host"
                        ))
                    }
                    None => "set the endpoint to where the answer points".to_owned(),
                }),
                (401 | 403, _) if code.is_empty() => {
                    Some("the answer is no S3 error: is the endpoint the store itself?".to_owned())
                }
                _ => None,
            };
        }
    };
    Some(fixed.to_owned())
}

fn reason(status: u16) -> &'static str {
    match status {
        301 | 302 | 307 | 308 => "the store points elsewhere",
        400 => "the store does not understand the request",
        401 | 403 => "the store refuses the request",
        404 => "not found",
        405 | 501 => "the store cannot do this",
        409 => "it conflicts with what is there",
        411 => "the store wants a length",
        412 => "a condition does not hold",
        413 => "too large for the store",
        416 => "the object does not have this range",
        429 => "the store asks for less load",
        500 => "the store failed",
        502 | 504 => "a gateway cannot reach the store",
        503 => "the store is overloaded or down",
        507 => "the store is full",
        _ => "unexpected status",
    }
}

/// An error's text is for one line: long ones are cut, control characters become blanks.
fn bounded(text: String) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: About<'static> =
        About { bucket: "b", object: "", region: "us-east-1", bucket_region: None, location: None };

    #[test]
    fn an_answer_that_points_elsewhere_says_where() {
        let about = About { location: Some("https://store.example/b/?X-Amz-Signature=1"), ..ABOUT };
        let error = failure(301, b"", about);
        let hint = error.hint().unwrap();
        assert!(hint.contains("is at https://store.example/b/;") && !hint.contains("Signature"), "{hint}");
    }

    #[test]
    fn an_answer_becomes_a_sentence_with_code_and_remedy() {
        let cases: &[(u16, &str, &str, &str, Option<&str>)] = &[
            (
                404,
                "<Error><Code>NoSuchBucket</Code><Message>gone.</Message></Error>",
                "",
                "404 NoSuchBucket: bucket \"b\" does not exist",
                Some("init stage"),
            ),
            (
                404,
                "",
                "o",
                "404 NoSuchKey: object \"o\" in bucket \"b\" does not exist",
                Some("prepare stage"),
            ),
            (
                403,
                "<Error><Code>SignatureDoesNotMatch</Code><Message>The &quot;sum&quot; differs.</Message></Error>",
                "",
                "403 SignatureDoesNotMatch: The \"sum\" differs",
                Some("secretkey"),
            ),
            (
                400,
                "<Error><Code>AuthorizationHeaderMalformed</Code><Message>wrong</Message><Region>eu-west-1</Region></Error>",
                "",
                "400 AuthorizationHeaderMalformed: wrong",
                Some("region=eu-west-1"),
            ),
            (
                301,
                "<Error><Code>PermanentRedirect</Code><Message>m</Message><Endpoint>b.s3-eu.example</Endpoint></Error>",
                "",
                "301 PermanentRedirect: m",
                Some("b.s3-eu.example"),
            ),
            (503, "<html>busy</html>", "", "503: the store is overloaded or down", None),
            (403, "nginx says no", "", "403: the store refuses the request", Some("no S3 error")),
            (418, "", "", "418: unexpected status", None),
        ];
        for (status, body, object, message, remedy) in cases {
            let error = failure(*status, body.as_bytes(), About { object, ..ABOUT });
            assert_eq!(error.status(), Some(*status));
            assert_eq!(error.message(), *message);
            assert_eq!(remedy.is_some(), error.hint().is_some(), "{error}");
            assert!(
                remedy.is_none_or(|words| error.hint().is_some_and(|hint| hint.contains(words))),
                "{error}"
            );
        }
    }

    #[test]
    fn a_page_for_people_says_of_no_object_that_it_is_not_there() {
        let about = About { object: "o", ..ABOUT };
        for page in ["<html>\n<h1>404 Not Found</h1>nginx</html>", "\n<!DOCTYPE HTML><title>404</title>"] {
            let error = failure(404, page.as_bytes(), about);
            assert_eq!((error.kind(), error.code()), (ErrorKind::Protocol, None), "{error}");
        }
        for (status, body, code) in [(404, "", Some("NoSuchKey")), (503, "<html>busy</html>", None)] {
            let error = failure(status, body.as_bytes(), about);
            assert_eq!((error.status(), error.code()), (Some(status), code), "{error}");
        }
    }

    #[test]
    fn a_hostile_answer_makes_no_long_or_multi_line_error() {
        let body = format!(
            "<Code>{}</Code><Message>a\r\nb\u{1b}[31m{}</Message>",
            "C".repeat(9999),
            "m".repeat(9999)
        );
        let error = failure(500, body.as_bytes(), ABOUT);
        assert!(error.message().chars().count() <= 400 && !error.message().contains(char::is_control));
        assert_eq!(error.code().map(str::len), Some(64));
    }
}
