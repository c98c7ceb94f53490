//! The signer against AWS's published examples and against another implementation.

use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use cosmark_adaptor_api::Secret;
use proptest::prelude::*;

use super::*;
use crate::http::{push_escaped, push_query_escaped};

/// The moment of Amazon's examples: 24 May 2013, 00:00 UTC.
const EXAMPLE_TIME: u64 = 1_369_353_600;

fn example_keys() -> AwsKeys {
    AwsKeys {
        access_key: "AKIAIOSFODNN7EXAMPLE".into(),
        secret_key: Secret::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        session_token: None,
    }
}

fn example_signature(method: &str, path: &str, query: &str, extra: &[(&str, &str)], payload: &str) -> String {
    let mut signer = SigV4::new(&example_keys(), "us-east-1");
    let date = signer.set_time(EXAMPLE_TIME);
    let mut lines = Lines::new();
    lines.add("x-amz-date", &date);
    lines.add("x-amz-content-sha256", payload.as_bytes());
    for (name, value) in extra {
        lines.add(name, value.as_bytes());
    }
    let (path, query) = (path.as_bytes(), query.as_bytes());
    String::from_utf8(signer.sign(&Canonical { method, path, query, lines: &lines, payload }).to_vec())
        .unwrap()
}

#[test]
fn the_policy_of_a_form_is_signed_as_amazon_does_in_its_example() {
    // "Example: Browser-Based Upload using HTTP POST (Using AWS Signature Version 4)".
    let policy = [
        "{ \"expiration\": \"2015-12-30T12:00:00.000Z\",",
        "  \"conditions\": [",
        "    {\"bucket\": \"sigv4examplebucket\"},",
        "    [\"starts-with\", \"$key\", \"user/user1/\"],",
        "    {\"acl\": \"public-read\"},",
        "    {\"success_action_redirect\": \"http://sigv4examplebucket.s3.amazonaws.com/successful_upload.html\"},",
        "    [\"starts-with\", \"$Content-Type\", \"image/\"],",
        "    {\"x-amz-meta-uuid\": \"14365123651274\"},",
        "    {\"x-amz-server-side-encryption\": \"AES256\"},",
        "    [\"starts-with\", \"$x-amz-meta-tag\", \"\"],",
        "",
        "    {\"x-amz-credential\": \"AKIAIOSFODNN7EXAMPLE/20151229/us-east-1/s3/aws4_request\"},",
        "    {\"x-amz-algorithm\": \"AWS4-HMAC-SHA256\"},",
        "    {\"x-amz-date\": \"20151229T000000Z\" }",
        "  ]",
        "}",
    ]
    .join("\r\n");
    let mut signer = SigV4::new(&example_keys(), "us-east-1");
    signer.set_time(1_451_347_200);
    let signature = signer.sign_policy(&data_encoding::BASE64.encode(policy.as_bytes()));
    let right = b"8afdbf4008c03f22c2cd3cdb72e4afbb1f6a588f3255ac628749a66d7f09699e";
    assert_eq!(String::from_utf8_lossy(&signature), String::from_utf8_lossy(right));
}

#[test]
fn amazons_published_examples_come_out() {
    let host = ("host", "examplebucket.s3.amazonaws.com");
    assert_eq!(
        example_signature("GET", "/test.txt", "", &[host, ("range", "bytes=0-9")], EMPTY_SHA256),
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    );
    let date = ("date", "Fri, 24 May 2013 00:00:00 GMT");
    let class = ("x-amz-storage-class", "REDUCED_REDUNDANCY");
    let hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
    assert_eq!(
        example_signature("PUT", "/test%24file.text", "", &[host, date, class], hash),
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    );
    assert_eq!(
        example_signature("GET", "/", "lifecycle=", &[host], EMPTY_SHA256),
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
    );
    assert_eq!(
        example_signature("GET", "/", "max-keys=2&prefix=J", &[host], EMPTY_SHA256),
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    );
}

#[test]
fn the_link_of_amazons_example_is_signed_as_it_is_published() {
    let mut signer = SigV4::new(&example_keys(), "us-east-1");
    let date = signer.set_time(EXAMPLE_TIME);
    let (credential, date) = (signer.credential(), String::from_utf8(date.to_vec()).unwrap());
    let mut query = b"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=".to_vec();
    push_query_escaped(&mut query, &credential);
    query.extend_from_slice(
        format!("&X-Amz-Date={date}&X-Amz-Expires=86400&X-Amz-SignedHeaders=host").as_bytes(),
    );
    let mut lines = Lines::new();
    lines.add("host", b"examplebucket.s3.amazonaws.com");
    let canonical =
        Canonical { method: "GET", path: b"/test.txt", query: &query, lines: &lines, payload: UNSIGNED };
    assert_eq!(
        String::from_utf8(signer.sign(&canonical).to_vec()).unwrap(),
        "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    );
}

#[test]
fn the_authorization_line_is_the_published_one() {
    let mut signer = SigV4::new(&example_keys(), "us-east-1");
    let date = signer.set_time(EXAMPLE_TIME);
    let mut lines = Lines::new();
    lines.add("host", b"h");
    lines.add("x-amz-date", &date);
    let mut out = Vec::new();
    signer.push_authorization(&mut out, &lines, &[b'a'; 64]);
    let expected = "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
                    SignedHeaders=host;x-amz-date, Signature=";
    assert_eq!(String::from_utf8(out).unwrap(), format!("{expected}{}\r\n", "a".repeat(64)));
}

#[test]
fn the_key_follows_the_day_and_the_date_follows_the_second() {
    let mut signer = SigV4::new(&example_keys(), "us-east-1");
    let sign_at = |signer: &mut SigV4, unix| {
        let date = signer.set_time(unix);
        let mut lines = Lines::new();
        lines.add("host", b"h");
        lines.add("x-amz-date", &date);
        signer.sign(&Canonical { method: "GET", path: b"/", query: b"", lines: &lines, payload: UNSIGNED })
    };
    for unix in [EXAMPLE_TIME, EXAMPLE_TIME + 1, EXAMPLE_TIME + 86_400, EXAMPLE_TIME - 86_400] {
        let fresh = sign_at(&mut SigV4::new(&example_keys(), "us-east-1"), unix);
        assert_eq!(sign_at(&mut signer, unix), fresh);
    }
}

/// The other implementation's signature of the same request.
fn oracle(request: &Random, path: &[u8], query: &[u8], payload: &str, region: &str) -> String {
    let credentials = aws_sigv4::sign::v4::SigningParams::builder();
    let identity =
        aws_credential_types::Credentials::new(&request.access_key, &request.secret, None, None, "test")
            .into();
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    settings.payload_checksum_kind = PayloadChecksumKind::NoHeader;
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(request.unix);
    let params: v4::SigningParams<'_, _> = credentials
        .identity(&identity)
        .region(region)
        .name("s3")
        .time(time)
        .settings(settings)
        .build()
        .unwrap();
    let query = std::str::from_utf8(query).unwrap();
    let separator = if query.is_empty() { "" } else { "?" };
    let uri = format!("http://{}{}{separator}{query}", request.host, std::str::from_utf8(path).unwrap());
    let mut headers = vec![("host", request.host.as_str()), ("x-amz-content-sha256", payload)];
    headers.extend(request.storage_class.as_deref().map(|class| ("x-amz-storage-class", class)));
    let body = SignableBody::Precomputed(payload.to_owned());
    let signable = SignableRequest::new(request.method, uri, headers.into_iter(), body).unwrap();
    sign(signable, &params.into()).unwrap().signature().to_owned()
}

#[derive(Debug)]
struct Random {
    method: &'static str,
    host: String,
    name: String,
    query: std::collections::BTreeMap<String, String>,
    storage_class: Option<String>,
    access_key: String,
    secret: String,
    unix: u64,
}

prop_compose! {
    fn random_request()(
        method in prop_oneof![Just("GET"), Just("PUT"), Just("DELETE"), Just("HEAD"), Just("POST")],
        host in "[a-z][a-z0-9.-]{0,20}[a-z0-9](:[1-9][0-9]{1,3})?",
        name in "\\PC{0,40}",
        query in proptest::collection::btree_map("[a-zA-Z-]{1,10}", "\\PC{0,12}", 0..4),
        storage_class in proptest::option::of("[A-Z_]{3,12}"),
        access_key in "[A-Z0-9]{16,20}",
        secret in "[a-zA-Z0-9/+]{20,80}",
        unix in 1_000_000_000..4_000_000_000_u64,
    ) -> Random {
        Random { method, host, name, query, storage_class, access_key, secret, unix }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_requests_are_signed_as_another_implementation_signs_them(request in random_request()) {
        let region = "eu-west-3";
        let (mut path, mut query) = (b"/bucket/".to_vec(), Vec::new());
        push_escaped(&mut path, &request.name, true);
        for (name, value) in &request.query {
            if !query.is_empty() {
                query.push(b'&');
            }
            push_query_escaped(&mut query, name);
            query.push(b'=');
            push_query_escaped(&mut query, value);
        }
        let keys = AwsKeys {
            access_key: request.access_key.clone(),
            secret_key: Secret::new(request.secret.clone()),
            session_token: None,
        };
        let mut signer = SigV4::new(&keys, region);
        let date = signer.set_time(request.unix);
        let mut lines = Lines::new();
        lines.add("host", request.host.as_bytes());
        lines.add("x-amz-content-sha256", UNSIGNED.as_bytes());
        lines.add("x-amz-date", &date);
        if let Some(class) = &request.storage_class {
            lines.add("x-amz-storage-class", class.as_bytes());
        }
        let canonical =
            Canonical { method: request.method, path: &path, query: &query, lines: &lines, payload: UNSIGNED };
        let ours = String::from_utf8(signer.sign(&canonical).to_vec()).unwrap();
        prop_assert_eq!(ours, oracle(&request, &path, &query, UNSIGNED, region));
    }
}
