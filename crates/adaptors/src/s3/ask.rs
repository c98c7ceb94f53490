//! Requests as they stand, signed like all others.

use std::sync::Arc;

use cosmark_adaptor_api::{
    Ask, Asker, AwsKeys, BytesSource, Error, ErrorKind, Marks, OpFuture, Protocol, Reply, Result, Secret,
    Session, Whom,
};
use data_encoding::BASE64;
use sha2::Digest as _;

use super::channel::{Call, Channel};
use super::checksum::Checksum;
use super::config::{Config, Signature, StoreAddress};
use super::sigv4::{SigV4, hex};
use super::streaming::Streaming;
use crate::http::date::{basic, unix_seconds};
use crate::http::{Body, Take};

/// Seconds of an hour.
const HOUR_S: u64 = 3600;
/// What no store's region is called.
const NOWHERE: &str = "cosmark-nowhere-1";
/// Seconds that a link is good for as it is signed, and as somebody stretched it.
const LINK_S: &str = "60";
const STRETCHED_S: &str = "604800";

/// One connection for them.
pub(super) struct S3Asker {
    config: Arc<Config>,
    address: StoreAddress,
    keys: AwsKeys,
    channel: Channel,
}

impl S3Asker {
    pub(super) fn new(config: &Arc<Config>, turn: usize, session: &Session) -> Result<Self> {
        let keys = config.keys(session)?;
        let address = config.addresses[turn % config.addresses.len()].clone();
        let channel = Channel::new(config, &address, &keys);
        Ok(Self { config: Arc::clone(config), address, keys, channel })
    }

    /// A connection in somebody else's name, or of another time or place.
    fn other(&self, whom: Whom) -> Result<Channel> {
        let wrong = |text: &str| text.chars().rev().chain("-not".chars()).collect::<String>();
        let mut keys = self.keys.clone();
        let signature = match whom {
            Whom::Session => self.config.signature,
            Whom::AnHourAgo | Whom::AnHourAhead
                if matches!(self.config.signature, Signature::V4 | Signature::V2) =>
            {
                self.config.signature
            }
            Whom::AnHourAgo | Whom::AnHourAhead => {
                return Err(Error::new(ErrorKind::Unsupported, "this login signs no time"));
            }
            Whom::OtherRegion | Whom::UnsignedLines | Whom::Frames | Whom::ForgedFrames
                if matches!(self.config.signature, Signature::V4) =>
            {
                self.config.signature
            }
            Whom::OtherRegion | Whom::UnsignedLines | Whom::Frames | Whom::ForgedFrames => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "this login signs neither regions nor frames",
                ));
            }
            Whom::WrongSecret => {
                keys.secret_key = Secret::new(wrong(keys.secret_key.expose()));
                self.config.signature
            }
            Whom::Unknown => {
                keys.access_key = "COSMARKKNOWSNOBODY00".to_owned();
                keys.secret_key = Secret::new(wrong(keys.secret_key.expose()));
                keys.session_token = None;
                self.config.signature
            }
            Whom::Nobody
            | Whom::Link
            | Whom::OldLink
            | Whom::LinkToOther
            | Whom::StretchedLink
            | Whom::WriteLink => {
                keys.session_token = None;
                Signature::None
            }
        };
        let mut address = self.address.clone();
        if whom == Whom::OtherRegion {
            address.region = NOWHERE.to_owned();
        }
        let mut channel = Channel::new(&self.config, &address, &keys);
        channel.set_keys(signature, &keys);
        match whom {
            Whom::AnHourAgo => channel.sign_at(-HOUR_S.cast_signed()),
            Whom::AnHourAhead => channel.sign_at(HOUR_S.cast_signed()),
            Whom::ForgedFrames => {
                keys.secret_key = Secret::new(wrong(keys.secret_key.expose()));
                channel.forge_frames(&keys);
            }
            _ => {}
        }
        Ok(channel)
    }

    /// Sends its body in frames of which each is signed, without a trailer: stores that know no trailers know these.
    async fn in_frames(&self, ask: &Ask<'_>, query: &[(&str, Option<&str>)]) -> Result<Reply> {
        let how = Streaming { signed: true, checksum: Checksum::None };
        let length = ask.body.len() as u64;
        let decoded = length.to_string();
        let mut lines: Vec<(&str, &[u8])> =
            ask.lines.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        lines.push(("x-amz-decoded-content-length", decoded.as_bytes()));
        let call = Call {
            query,
            lines: &lines,
            unsigned: b"Content-Encoding: aws-chunked\r\n",
            payload: how.payload(),
            content_length: Some(how.encoded_bytes(length)),
            ..Call::new(ask.method, ask.container, ask.object)
        };
        let (mut channel, mut marks) = (self.other(ask.whom)?, Marks::default());
        let answer = channel.exchange_streaming(&call, &BytesSource(ask.body), how, &mut marks).await?;
        Ok(channel.connection().reply(answer))
    }

    /// Sends it by a link that was signed for a minute.
    async fn by_link(&self, ask: &Ask<'_>) -> Result<Reply> {
        if !matches!(self.config.signature, Signature::V4) {
            return Err(Error::new(ErrorKind::Unsupported, "this login signs no links"));
        }
        let late_s = if ask.whom.is_of_an_hour_ago() { HOUR_S } else { 0 };
        let mut signer = SigV4::new(&self.keys, &self.address.region);
        let date = signer.set_time(unix_seconds().saturating_sub(late_s));
        let (date, credential) = (String::from_utf8_lossy(&date).into_owned(), signer.credential());
        let mut query = ask.query.to_vec();
        query.extend([
            ("X-Amz-Algorithm", Some("AWS4-HMAC-SHA256")),
            ("X-Amz-Credential", Some(credential.as_str())),
            ("X-Amz-Date", Some(date.as_str())),
            ("X-Amz-Expires", Some(LINK_S)),
            ("X-Amz-SignedHeaders", Some("host")),
        ]);
        let token = self.keys.session_token.as_ref().map(|token| token.expose());
        query.extend(token.map(|token| ("X-Amz-Security-Token", Some(token))));
        query.sort_unstable();
        let mut channel = self.other(ask.whom)?;
        let other = format!("{}-other", ask.object);
        let object = if ask.whom == Whom::LinkToOther { other.as_str() } else { ask.object };
        let unsigned = Call { query: &query, ..Call::new(ask.whom.method_of_link(), ask.container, object) };
        let signature = channel.sign_link(&unsigned, &mut signer);
        let signature = String::from_utf8_lossy(&signature).into_owned();
        if ask.whom == Whom::StretchedLink {
            let times = query.iter_mut().filter(|(name, _)| *name == "X-Amz-Expires");
            times.for_each(|(_, value)| *value = Some(STRETCHED_S));
        }
        query.push(("X-Amz-Signature", Some(signature.as_str())));
        let content_length = matches!(ask.method, "PUT" | "POST").then_some(ask.body.len() as u64);
        let call = Call { query: &query, content_length, ..Call::new(ask.method, ask.container, ask.object) };
        let source = BytesSource(ask.body);
        let body = if ask.body.is_empty() { Body::None } else { Body::Sized(&source) };
        let (take, mut marks) = (Take::Keep { limit: Reply::MOST_BYTES }, Marks::default());
        let answer = channel.exchange(&call, body, take, &mut marks).await?;
        Ok(channel.connection().reply(answer))
    }

    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        if ask.whom.has_link() {
            return self.by_link(ask).await;
        }
        let mut query = ask.query.to_vec();
        query.sort_unstable();
        if matches!(ask.whom, Whom::Frames | Whom::ForgedFrames) {
            return self.in_frames(ask, &query).await;
        }
        let mut lines: Vec<(&str, &[u8])> =
            ask.lines.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        let mut unsigned = String::new();
        if ask.whom == Whom::UnsignedLines {
            lines.clear();
            unsigned.extend(ask.lines.iter().map(|(name, value)| format!("{name}: {value}\r\n")));
        }
        let hash = hex(&sha2::Sha256::digest(ask.body).into());
        let takes_body = matches!(ask.method, "PUT" | "POST");
        let length = ask.announce_bytes.or_else(|| takes_body.then_some(ask.body.len() as u64));
        let call = Call {
            query: &query,
            lines: &lines,
            unsigned: unsigned.as_bytes(),
            payload: ask.payload.unwrap_or_else(|| std::str::from_utf8(&hash).unwrap_or_default()),
            content_length: length,
            ..Call::new(ask.method, ask.container, ask.object)
        };
        let source = BytesSource(ask.body);
        let body = if ask.body.is_empty() { Body::None } else { Body::Sized(&source) };
        let take = Take::Keep { limit: Reply::MOST_BYTES };
        let mut marks = Marks::default();
        if ask.whom == Whom::Session && ask.announce_bytes.is_none() {
            let answer = self.channel.exchange(&call, body, take, &mut marks).await?;
            return Ok(self.channel.connection().reply(answer));
        }
        // What is left of such a connection is of no use to the next request.
        let mut channel = self.other(ask.whom)?;
        let answer = channel.exchange(&call, body, take, &mut marks).await?;
        Ok(channel.connection().reply(answer))
    }
}

/// `2013-05-24T00:00:00.000Z`.
fn iso(unix_s: u64) -> String {
    let text = String::from_utf8_lossy(&basic(unix_s)).into_owned();
    let [year, month, day] = [&text[..4], &text[4..6], &text[6..8]];
    let [hour, minute, second] = [&text[9..11], &text[11..13], &text[13..15]];
    format!("{year}-{month}-{day}T{hour}:{minute}:{second}.000Z")
}

/// A form that these keys sign now for who may write what the conditions say.
fn signed_form(
    (keys, region): (&AwsKeys, &str),
    now_s: u64,
    (conditions, ends_in_s): (&str, i64),
) -> Vec<(&'static str, String)> {
    let mut signer = SigV4::new(keys, region);
    let date = String::from_utf8_lossy(&signer.set_time(now_s)).into_owned();
    let mut fields = vec![
        ("x-amz-algorithm", "AWS4-HMAC-SHA256".to_owned()),
        ("x-amz-credential", signer.credential()),
        ("x-amz-date", date),
    ];
    fields
        .extend(keys.session_token.as_ref().map(|token| ("x-amz-security-token", token.expose().to_owned())));
    let mut all: Vec<String> = fields
        .iter()
        .map(|(name, value)| serde_json::json!(["eq", format!("${name}"), value]).to_string())
        .collect();
    all.push(conditions.to_owned());
    all.retain(|condition| !condition.is_empty());
    let ends = iso(now_s.saturating_add_signed(ends_in_s));
    let policy = format!("{{\"expiration\":\"{ends}\",\"conditions\":[{}]}}", all.join(","));
    let policy = BASE64.encode(policy.as_bytes());
    let signature = String::from_utf8_lossy(&signer.sign_policy(&policy)).into_owned();
    fields.extend([("policy", policy), ("x-amz-signature", signature)]);
    fields
}

impl Asker for S3Asker {
    fn protocol(&self) -> Protocol {
        Protocol::S3
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> OpFuture<'a, Reply> {
        Box::pin(self.exchange(ask))
    }

    fn form(&self, conditions: &str, ends_in_s: i64) -> Result<Vec<(&'static str, String)>> {
        if !matches!(self.config.signature, Signature::V4) {
            return Err(Error::new(ErrorKind::Unsupported, "this login signs no forms"));
        }
        let signer = (&self.keys, self.address.region.as_str());
        Ok(signed_form(signer, unix_seconds(), (conditions, ends_in_s)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_says_who_signed_it_when_and_until_when_it_is_good() {
        let keys = AwsKeys {
            access_key: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret_key: Secret::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            session_token: None,
        };
        let form = |token: Option<&str>, ends_in_s| {
            let keys = AwsKeys { session_token: token.map(Secret::new), ..keys.clone() };
            let fields = signed_form((&keys, "us-east-1"), 1_451_347_200, ("{\"bucket\":\"b\"}", ends_in_s));
            let value = |name| fields.iter().find(|field| field.0 == name).map(|field| field.1.clone());
            let policy = BASE64.decode(value("policy").unwrap().as_bytes()).unwrap();
            let names: Vec<&str> = fields.iter().map(|field| field.0).collect();
            (names, String::from_utf8(policy).unwrap(), value("x-amz-signature").unwrap())
        };
        let (names, policy, signature) = form(None, 60);
        assert_eq!(names, ["x-amz-algorithm", "x-amz-credential", "x-amz-date", "policy", "x-amz-signature"]);
        assert_eq!(
            policy,
            "{\"expiration\":\"2015-12-29T00:01:00.000Z\",\"conditions\":[\
             [\"eq\",\"$x-amz-algorithm\",\"AWS4-HMAC-SHA256\"],\
             [\"eq\",\"$x-amz-credential\",\"AKIAIOSFODNN7EXAMPLE/20151229/us-east-1/s3/aws4_request\"],\
             [\"eq\",\"$x-amz-date\",\"20151229T000000Z\"],{\"bucket\":\"b\"}]}"
        );
        // HMAC-SHA256 of that in base64, by Python's hmac.
        assert_eq!(signature, "313d19a3b482753d01241e1beb18d28aa5eaaed31036dc5299a737b9f3d96ffc");
        let (names, policy, other) = form(Some("token"), -3600);
        assert!(names.contains(&"x-amz-security-token") && policy.contains("\"token\""), "{policy}");
        assert!(policy.contains("2015-12-28T23:00:00.000Z") && other != signature, "{policy}");
    }
}
