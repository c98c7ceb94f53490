//! A request that a question sends, and what it makes of the reply.

use cosmark_adaptor_api::{Reply, Whom, plain};

use crate::certificate::Answer;
use crate::xml;

/// What a question found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) answer: Answer,
    pub(crate) saw: String,
}

impl Finding {
    pub(crate) fn new(answer: Answer, saw: impl Into<String>) -> Self {
        Self { answer, saw: plain(saw.into()) }
    }

    pub(crate) fn yes(saw: impl Into<String>) -> Self {
        Self::new(Answer::Yes, saw)
    }

    pub(crate) fn no(saw: impl Into<String>) -> Self {
        Self::new(Answer::No, saw)
    }

    pub(crate) fn differs(saw: impl Into<String>) -> Self {
        Self::new(Answer::Differs, saw)
    }

    pub(crate) fn not_asked(why: impl Into<String>) -> Self {
        Self::new(Answer::NotAsked, why)
    }

    /// `Yes` when it holds, else `No`.
    pub(crate) fn holds(is_right: bool, saw: impl Into<String>) -> Self {
        Self::new(if is_right { Answer::Yes } else { Answer::No }, saw)
    }
}

/// What a question gives; both are findings, so that a step can end it by `?`.
pub(crate) type Found = Result<Finding, Finding>;

/// A request in the making.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    /// `None`: that of the certification.
    pub(crate) container: Option<String>,
    pub(crate) object: String,
    pub(crate) query: Vec<(String, Option<String>)>,
    pub(crate) lines: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) whom: Whom,
    pub(crate) payload: Option<String>,
    pub(crate) announce_bytes: Option<u64>,
}

impl Request {
    pub(crate) fn new(method: &'static str, object: impl Into<String>) -> Self {
        Self {
            method,
            container: None,
            object: object.into(),
            query: Vec::new(),
            lines: Vec::new(),
            body: Vec::new(),
            whom: Whom::Session,
            payload: None,
            announce_bytes: None,
        }
    }

    pub(crate) fn get(object: impl Into<String>) -> Self {
        Self::new("GET", object)
    }

    pub(crate) fn head(object: impl Into<String>) -> Self {
        Self::new("HEAD", object)
    }

    pub(crate) fn delete(object: impl Into<String>) -> Self {
        Self::new("DELETE", object)
    }

    pub(crate) fn put(object: impl Into<String>, body: &[u8]) -> Self {
        Self { body: body.to_vec(), ..Self::new("PUT", object) }
    }

    pub(crate) fn post(object: impl Into<String>, body: &[u8]) -> Self {
        Self { body: body.to_vec(), ..Self::new("POST", object) }
    }

    pub(crate) fn of(mut self, container: impl Into<String>) -> Self {
        self.container = Some(container.into());
        self
    }

    pub(crate) fn query(mut self, name: &str, value: impl Into<String>) -> Self {
        self.query.push((name.to_owned(), Some(value.into())));
        self
    }

    pub(crate) fn flag(mut self, name: &str) -> Self {
        self.query.push((name.to_owned(), None));
        self
    }

    pub(crate) fn line(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.lines.push((name, value.into()));
        self
    }

    pub(crate) fn by(mut self, whom: Whom) -> Self {
        self.whom = whom;
        self
    }
}

/// Signs of a code.
const MOST_SIGNS: usize = 64;

/// S3's code of a refusal.
pub(crate) fn code_of(reply: &Reply) -> Option<String> {
    // One that is cut could end within a secret.
    xml::text(&reply.body, "Code").map(|code| match code.chars().count() {
        ..=MOST_SIGNS => plain(code),
        signs => format!("(a code of {signs} signs)"),
    })
}

/// Status and code, for people.
pub(crate) fn status_of(reply: &Reply) -> String {
    match code_of(reply).filter(|_| !reply.is_success()) {
        Some(code) => format!("{} {code}", reply.status),
        None => reply.status.to_string(),
    }
}

/// Judges a reply that has to be a refusal of this status and one of these codes (none: any).
pub(crate) fn refused(reply: &Reply, status: u16, codes: &[&str]) -> Finding {
    let seen = status_of(reply);
    let code = code_of(reply);
    if reply.status == status {
        let is_right = codes.is_empty()
            || code.as_deref().is_some_and(|code| codes.contains(&code))
            || (code.is_none() && reply.body.is_empty());
        return if is_right { Finding::yes(seen) } else { Finding::differs(format!("{seen}: another code")) };
    }
    match reply.status {
        200..=399 => Finding::no(format!("it was not refused: {seen}")),
        400..=499 | 501 => Finding::differs(format!("refused by {seen}")),
        _ => Finding::no(format!("the store failed: {seen}")),
    }
}

/// Judges a reply that has to be a success of one of these statuses.
pub(crate) fn succeeded(reply: &Reply, statuses: &[u16]) -> Finding {
    let seen = status_of(reply);
    if statuses.contains(&reply.status) {
        return Finding::yes(seen);
    }
    match reply.status {
        200..=299 => Finding::differs(format!("{seen} where {} is right", words(statuses))),
        501 => Finding::differs("501: the store says that it does not have this"),
        _ => Finding::no(format!("{seen} where {} is right", words(statuses))),
    }
}

/// Judges a reply that has to be a refusal of one of these statuses, whatever its code. `Err`: it is none; `Some`:
/// another one.
pub(crate) fn shut_out(reply: &Reply, what: &str, statuses: &[u16]) -> Result<Option<String>, Finding> {
    let seen = format!("{what}: {}", status_of(reply));
    match reply.status {
        status if statuses.contains(&status) => Ok(None),
        200..=399 => Err(Finding::no(format!("{seen}, and it has to be refused"))),
        400..=499 | 501 => Ok(Some(seen)),
        _ => Err(Finding::no(format!("the store failed: {seen}"))),
    }
}

fn words(statuses: &[u16]) -> String {
    statuses.iter().map(u16::to_string).collect::<Vec<_>>().join(" or ")
}

/// Whether what was seen has the status 503 or 429, and not so many of something.
pub(crate) fn says_busy(saw: &str) -> bool {
    ["503", "429"].into_iter().flat_map(|status| saw.match_indices(status)).any(|(at, status)| {
        let is_alone =
            |sign: Option<char>| sign.is_none_or(|sign| !sign.is_alphanumeric() && !".-/".contains(sign));
        let behind = &saw[at + status.len()..];
        // What is counted is named behind its number; these words stand behind a status.
        let is_of_words = behind.strip_prefix(' ').is_some_and(|rest| {
            let word = rest.split(' ').next().unwrap_or_default();
            !word.starts_with(char::is_uppercase) && !["and", "where", "with"].contains(&word)
        });
        is_alone(saw[..at].chars().next_back()) && is_alone(behind.chars().next()) && !is_of_words
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, body: &str) -> Reply {
        Reply { status, lines: Vec::new(), body: body.as_bytes().to_vec() }
    }

    #[test]
    fn a_refusal_is_judged_by_its_status_and_its_code() {
        let body = "<Error><Code>NoSuchKey</Code></Error>";
        let cases = [
            (reply(404, body), Answer::Yes),
            (reply(404, ""), Answer::Yes),
            (reply(404, "<Code>Other</Code>"), Answer::Differs),
            (reply(404, "<html>not found"), Answer::Differs),
            (reply(403, body), Answer::Differs),
            (reply(501, ""), Answer::Differs),
            (reply(200, body), Answer::No),
            (reply(307, ""), Answer::No),
            (reply(500, body), Answer::No),
        ];
        for (reply, answer) in cases {
            assert_eq!(refused(&reply, 404, &["NoSuchKey"]).answer, answer, "{reply:?}");
        }
    }

    #[test]
    fn a_success_is_judged_by_its_status() {
        for (status, answer) in
            [(200, Answer::Yes), (204, Answer::Differs), (501, Answer::Differs), (404, Answer::No)]
        {
            assert_eq!(succeeded(&reply(status, ""), &[200]).answer, answer, "{status}");
        }
    }

    #[test]
    fn who_is_shut_out_may_be_so_by_several_statuses() {
        for (status, right) in [
            (400, Ok(None)),
            (403, Ok(None)),
            (404, Ok(Some("a key: 404".to_owned()))),
            (501, Ok(Some("a key: 501".to_owned()))),
            (200, Err(Answer::No)),
            (303, Err(Answer::No)),
            (500, Err(Answer::No)),
        ] {
            let found = shut_out(&reply(status, ""), "a key", &[400, 403]);
            assert_eq!(found.map_err(|finding| finding.answer), right, "{status}");
        }
    }

    #[test]
    fn a_status_that_says_busy_is_none_that_counts_something() {
        for saw in [
            "503 SlowDown: Please reduce your request rate",
            "it could not be deleted: 429 Too Many Requests",
            "another connection: 503",
            "the write gave 503; it was asked again",
            "503 where 200 or 204 is right",
            "304 and 503",
            "503 and 412 PreconditionFailed",
            "429 with 0 bytes",
        ] {
            assert!(says_busy(saw), "{saw}");
        }
        for saw in [
            "429 of 1200 looks missed it",
            "503 bytes were written and 3 read",
            "200 with 503 bytes",
            "12 races: 503 x 412",
            "they differ from byte 1503",
            "017-503-key: 404",
            "500 InternalError",
        ] {
            assert!(!says_busy(saw), "{saw}");
        }
    }
}
