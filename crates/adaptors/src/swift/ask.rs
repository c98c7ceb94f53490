//! Requests as they stand, with the session's token.

use cosmark_adaptor_api::{Ask, Asker, BytesSource, Marks, OpFuture, Protocol, Reply, Result, Secret, Whom};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::request::Link;
use crate::http::date::unix_seconds;
use crate::http::{Body, Request, Take, header, header_number, push_query_escaped};

/// How long a link is good for, how long ago an old one was signed, and how long a stretched one says to be good, s.
const LINK_S: u64 = 60;
const HOUR_S: u64 = 3600;
const WEEK_S: u64 = 7 * 86_400;

/// One connection for them.
pub(super) struct SwiftAsker {
    link: Link,
}

impl SwiftAsker {
    pub(super) fn new(link: Link) -> Self {
        Self { link }
    }

    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        let signed = temporary(self.link.connection.endpoint().base_path(), ask, unix_seconds());
        let mut parameters = ask.query.to_vec();
        if let Some((signature, ends)) = &signed {
            parameters.push(("temp_url_sig", Some(signature.as_str())));
            parameters.push(("temp_url_expires", Some(ends.as_str())));
        }
        let mut other;
        let link = if ask.whom == Whom::Session && ask.announce_bytes.is_none() {
            &mut self.link
        } else {
            let wrong = Secret::new("AUTH_tk00000000000000000000000000000000");
            other = match ask.whom {
                // Tokens stand for no moment and no region, and sign nothing.
                Whom::Session
                | Whom::AnHourAgo
                | Whom::AnHourAhead
                | Whom::OtherRegion
                | Whom::UnsignedLines
                | Whom::Frames
                | Whom::ForgedFrames => self.link.another(),
                Whom::WrongSecret | Whom::Unknown => Link::new(self.link.connection.endpoint(), &wrong),
                Whom::Nobody
                | Whom::Link
                | Whom::OldLink
                | Whom::LinkToOther
                | Whom::StretchedLink
                | Whom::WriteLink => Link::without_token(self.link.connection.endpoint()),
            };
            &mut other
        };
        let mut query = Vec::new();
        for (at, (name, value)) in parameters.iter().enumerate() {
            query.push(if at == 0 { b'?' } else { b'&' });
            push_query_escaped(&mut query, name);
            if let Some(value) = value {
                query.push(b'=');
                push_query_escaped(&mut query, value);
            }
        }
        let names = [ask.container, ask.object];
        let depth = names.iter().take_while(|name| !name.is_empty()).count();
        if ask.container.is_empty() && !ask.object.is_empty() {
            link.start_beside(ask.method, ask.object, &query);
        } else {
            link.start_path(ask.method, &names[..depth], &query);
        }
        for (name, value) in ask.lines {
            header(&mut link.head, name, value);
        }
        let takes_body = matches!(ask.method, "PUT" | "POST");
        if let Some(length) = ask.announce_bytes.or_else(|| takes_body.then_some(ask.body.len() as u64)) {
            header_number(&mut link.head, "Content-Length", length);
        }
        link.head.extend_from_slice(b"\r\n");
        let source = BytesSource(ask.body);
        let body = if ask.body.is_empty() { Body::None } else { Body::Sized(&source) };
        let request =
            Request { head: &link.head, body, is_head: ask.method == "HEAD", expects_continue: false };
        let take = Take::Keep { limit: Reply::MOST_BYTES };
        let answer = link.connection.exchange(request, take, &mut Marks::default()).await?;
        Ok(link.connection.reply(answer))
    }
}

/// Signature and end of a temporary link to what is asked for (Swift's `tempurl` middleware), by the key in
/// [`Ask::payload`]; `base` is the path of the account. With `temp_url_prefix` it is good for all names that begin so.
fn temporary(base: &str, ask: &Ask<'_>, now_s: u64) -> Option<(String, String)> {
    let key = ask.payload.filter(|_| ask.whom.has_link())?;
    let ends = if ask.whom.is_of_an_hour_ago() { now_s.saturating_sub(HOUR_S) } else { now_s + LINK_S };
    let prefix = ask.query.iter().find(|(name, _)| *name == "temp_url_prefix").and_then(|(_, value)| *value);
    let (scope, name) = prefix.map_or(("", ask.object), |prefix| ("prefix:", prefix));
    let other = if ask.whom == Whom::LinkToOther { "-other" } else { "" };
    let method = ask.whom.method_of_link();
    let text = format!("{method}\n{ends}\n{scope}{base}/{}/{name}{other}", ask.container);
    // HMAC takes keys of any length, so this is always there.
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).ok()?;
    mac.update(text.as_bytes());
    let signature = HEXLOWER.encode(&mac.finalize().into_bytes());
    let said = if ask.whom == Whom::StretchedLink { now_s + WEEK_S } else { ends };
    Some((signature, said.to_string()))
}

/// A form that the key of a container signs (Swift's `formpost` middleware); `base` is the path of the account.
fn signed_form(
    base: &str,
    key: &str,
    (container, prefix): (&str, &str),
    most_bytes: u64,
    ends: u64,
) -> Option<Vec<(&'static str, String)>> {
    // No page to go to, and one file.
    let text = format!("{base}/{container}/{prefix}\n\n{most_bytes}\n1\n{ends}");
    // HMAC takes keys of any length, so this is always there.
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).ok()?;
    mac.update(text.as_bytes());
    Some(vec![
        ("redirect", String::new()),
        ("max_file_size", most_bytes.to_string()),
        ("max_file_count", "1".to_owned()),
        ("expires", ends.to_string()),
        ("signature", HEXLOWER.encode(&mac.finalize().into_bytes())),
    ])
}

impl Asker for SwiftAsker {
    fn protocol(&self) -> Protocol {
        Protocol::Swift
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> OpFuture<'a, Reply> {
        Box::pin(self.exchange(ask))
    }

    fn form_by_key(
        &self,
        key: &str,
        place: (&str, &str),
        most_bytes: u64,
        ends_in_s: i64,
    ) -> Result<Vec<(&'static str, String)>> {
        let base = self.link.connection.endpoint().base_path();
        let ends = unix_seconds().saturating_add_signed(ends_in_s);
        Ok(signed_form(base, key, place, most_bytes, ends).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_signed_for_one_place_length_and_moment() {
        let form = |prefix, most_bytes, ends| {
            let fields = signed_form("/v1/AUTH_test", "mykey", ("c", prefix), most_bytes, ends).unwrap();
            let signature = fields.iter().find(|field| field.0 == "signature").unwrap().1.clone();
            (fields, signature)
        };
        let (fields, signature) = form("o/", 5000, 1_400_000_000);
        // HMAC-SHA256 of "/v1/AUTH_test/c/o/\n\n5000\n1\n1400000000", by Python's hmac.
        assert_eq!(signature, "048da743ed751bc568ef7eb1cb3bf11126108ecf2cbf0db185e3c385b7eae225");
        let value = |name| fields.iter().find(|field| field.0 == name).map(|field| field.1.as_str());
        assert_eq!((value("max_file_size"), value("expires")), (Some("5000"), Some("1400000000")));
        assert_eq!((value("redirect"), value("max_file_count")), (Some(""), Some("1")));
        for other in [form("p/", 5000, 1_400_000_000), form("o/", 6000, 1_400_000_000), form("o/", 5000, 1)] {
            assert_ne!(other.1, signature);
        }
    }

    #[test]
    fn a_link_is_signed_for_one_method_name_and_moment_by_the_key_alone() {
        let by = |whom, object| {
            let ask = Ask { whom, payload: Some("mykey"), ..Ask::new("GET", "c", object) };
            temporary("/v1/AUTH_test", &ask, 1_399_999_940)
        };
        let (signature, ends) = by(Whom::Link, "o").unwrap();
        // HMAC-SHA256 of "GET\n1400000000\n/v1/AUTH_test/c/o", by Python's hmac.
        assert_eq!(signature, "4b6a43842d7bfcf6ce525a146003e10fc6ec15622131177bf077068a0353a2a5");
        assert_eq!(ends, "1400000000");
        let (old, over) = by(Whom::OldLink, "o").unwrap();
        assert_eq!(over, "1399996340");
        // What was signed of a stretched one is the old one, and what it says is not.
        assert_eq!(by(Whom::StretchedLink, "o"), Some((old, "1400604740".to_owned())));
        assert_eq!(by(Whom::LinkToOther, "o").unwrap().0, by(Whom::Link, "o-other").unwrap().0);
        assert_ne!(by(Whom::WriteLink, "o").unwrap().0, signature);
        // Nobody else has one, and none is without a key.
        assert_eq!((by(Whom::Session, "o"), by(Whom::Nobody, "o")), (None, None));
        let without = Ask { whom: Whom::Link, ..Ask::new("GET", "c", "o") };
        assert_eq!(temporary("/v1/AUTH_test", &without, 1_399_999_940), None);
        // By a prefix it is the same for each name below.
        let query = [("temp_url_prefix", Some("below/"))];
        let below = |object| {
            let ask = Ask { whom: Whom::Link, payload: Some("mykey"), ..Ask::new("GET", "c", object) };
            temporary("/v1/AUTH_test", &Ask { query: &query, ..ask }, 1_399_999_940).unwrap().0
        };
        assert_eq!(below("below/a"), below("below/b"));
        assert_ne!(below("below/a"), by(Whom::Link, "below/").unwrap().0);
    }
}
