//! The questions: one row each. A row says what is asked, what is right and by which document; the function beside it asks.

mod access;
mod archives;
mod assembled;
mod buckets;
mod conditional;
mod consistency;
mod contents;
mod copies;
mod deletes;
mod digests;
mod encryption;
mod errors;
mod forms;
mod heads;
mod integrity;
mod large;
mod lasting;
mod lifecycle;
mod listing;
mod locks;
mod middleware;
mod multipart;
mod names;
mod objects;
mod old_versions;
mod operations;
mod partial;
mod races;
mod ranges;
mod resources;
mod signatures;
mod swift;
mod swift_containers;
mod swift_objects;
pub(crate) mod swift_versions;
mod tags;
mod together;
pub(crate) mod unlocking;
mod uploads;
pub(crate) mod versions;
mod visible;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use cosmark_adaptor_api::{Capability, Protocol};

use crate::request::{Found, Request, refused};
use crate::room::Room;

/// Part of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// What an application does all day.
    Operations,
    /// Mistakes and how they are refused.
    Errors,
    /// Parts of objects.
    Ranges,
    /// Checksums, metadata, what comes back with an object.
    Integrity,
    /// Reads and writes on a condition.
    Conditions,
    /// Writes in parts.
    Multipart,
    /// Listings.
    Listings,
    /// Names of objects.
    Names,
    /// Tags of objects.
    Tags,
    /// Versions of objects.
    Versions,
    /// Versions that nobody deletes before their time.
    Locks,
    /// Encryption by keys of those who ask.
    Encryption,
    /// Many at once.
    Concurrency,
    /// How soon what was written is seen.
    Consistency,
    /// Sizes and numbers.
    Limits,
    /// What holds after a restart.
    Durability,
}

impl Group {
    /// Its title.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Operations => "Operations",
            Self::Errors => "Errors",
            Self::Ranges => "Ranges",
            Self::Integrity => "Integrity and metadata",
            Self::Conditions => "Conditions",
            Self::Multipart => "Writes in parts",
            Self::Listings => "Listings",
            Self::Names => "Names",
            Self::Tags => "Tags",
            Self::Versions => "Versions",
            Self::Locks => "Object lock",
            Self::Encryption => "Encryption",
            Self::Concurrency => "Concurrency",
            Self::Consistency => "Consistency",
            Self::Limits => "Limits",
            Self::Durability => "Durability",
        }
    }
}

/// Whom a question is put to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Every store whose adaptor can do this.
    Any(Capability),
    /// Stores that speak this protocol.
    Only(Protocol),
}

/// A question on its way.
pub(crate) type Asking<'a> = Pin<Box<dyn Future<Output = Found> + 'a>>;

/// A row.
pub struct Question {
    /// Its name in `certify.json`.
    pub id: &'static str,
    /// Its part of the page.
    pub group: Group,
    /// Whom it is put to.
    pub of: Of,
    /// What is asked, a question.
    pub asks: &'static str,
    /// What is right.
    pub right: &'static str,
    /// Which document says so.
    pub source: &'static str,
    /// Left out when asked quickly: it moves many bytes or takes long.
    pub is_slow: bool,
    /// When it has not ended by then it is answered "no".
    pub most: Duration,
    pub(crate) ask: for<'a> fn(&'a mut Room) -> Asking<'a>,
}

/// Every question, in the order in which they are asked.
pub const QUESTIONS: &[&[Question]] = &[
    operations::ROWS,
    lasting::EARLY,
    contents::ROWS,
    visible::ROWS,
    errors::ROWS,
    signatures::ROWS,
    ranges::ROWS,
    integrity::ROWS,
    digests::ROWS,
    objects::ROWS,
    copies::ROWS,
    buckets::ROWS,
    deletes::ROWS,
    resources::ROWS,
    access::ROWS,
    forms::ROWS,
    lifecycle::ROWS,
    conditional::ROWS,
    heads::ROWS,
    multipart::ROWS,
    uploads::ROWS,
    assembled::ROWS,
    listing::ROWS,
    names::ROWS,
    tags::ROWS,
    versions::ROWS,
    old_versions::ROWS,
    versions::LATE,
    locks::ROWS,
    encryption::ROWS,
    swift::ROWS,
    swift_objects::ROWS,
    swift_containers::ROWS,
    large::ROWS,
    middleware::ROWS,
    swift_versions::ROWS,
    archives::ROWS,
    together::ROWS,
    partial::ROWS,
    consistency::ROWS,
    lasting::LATE,
];

const S3: Of = Of::Only(Protocol::S3);
const SWIFT: Of = Of::Only(Protocol::Swift);

/// A row's function from one that is asynchronous.
macro_rules! by {
    ($ask:expr) => {
        |room| Box::pin($ask(room))
    };
}
use by;

/// A row's function that sends one request which has to be refused.
macro_rules! refusal {
    ($status:expr, $codes:expr, $request:expr) => {
        |room| Box::pin(crate::questions::asks_for_refusal(room, $status, $codes, $request))
    };
}
use refusal;

async fn asks_for_refusal(
    room: &mut Room,
    status: u16,
    codes: &'static [&'static str],
    request: fn(&Room) -> Request,
) -> Found {
    let request = request(room);
    let reply = room.send(request).await?;
    Ok(refused(&reply, status, codes))
}

/// How long a question may take.
const MOST: Duration = Duration::from_secs(150);

/// A short row.
const fn row(
    id: &'static str,
    (group, of): (Group, Of),
    (asks, right, source): (&'static str, &'static str, &'static str),
    ask: for<'a> fn(&'a mut Room) -> Asking<'a>,
) -> Question {
    Question { id, group, of, asks, right, source, is_slow: false, most: MOST, ask }
}

impl Question {
    const fn slow(mut self) -> Self {
        self.is_slow = true;
        self
    }

    const fn within(mut self, most: Duration) -> Self {
        self.most = most;
        self
    }
}

/// Bytes that tell where each of them was.
pub(crate) fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// A value that may not be there, for people.
pub(crate) fn stated(value: Option<impl std::fmt::Display>) -> String {
    value.map_or_else(|| "not there".to_owned(), |value| value.to_string())
}

/// Where two contents differ first, for people; `None`: they are the same.
pub(crate) fn difference(written: &[u8], read: &[u8]) -> Option<String> {
    if written == read {
        return None;
    }
    let at = written.iter().zip(read).position(|(a, b)| a != b);
    Some(match at {
        Some(at) => format!(
            "{} bytes were written and {} read; they differ from byte {at}",
            written.len(),
            read.len()
        ),
        None => format!("{} bytes were written and {} read", written.len(), read.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_or_not_is_said_in_plain_words() {
        assert_eq!((stated(Some("first")), stated(Some(7_u64))), ("first".to_owned(), "7".to_owned()));
        assert_eq!(stated(None::<&str>), "not there");
    }

    #[test]
    fn every_question_has_a_name_of_its_own_and_says_what_is_right_and_who_says_so() {
        let mut seen = std::collections::BTreeSet::new();
        for one in QUESTIONS.iter().copied().flatten() {
            assert!(seen.insert(one.id), "{} twice", one.id);
            assert!(one.asks.ends_with('?'), "{}: {}", one.id, one.asks);
            assert!(
                !one.right.is_empty() && !one.right.ends_with('.') && !one.source.is_empty(),
                "{}",
                one.id
            );
            let first = match one.of {
                Of::Any(_) => "any.",
                Of::Only(Protocol::S3) => "s3.",
                Of::Only(Protocol::Swift) => "swift.",
            };
            assert!(one.id.starts_with(first), "{}", one.id);
        }
        assert!(seen.len() > 80, "{}", seen.len());
        // The help and the README say "more than 200" of S3, and that others are asked fewer.
        let not_of = |other: Protocol| {
            QUESTIONS.iter().copied().flatten().filter(|one| one.of != Of::Only(other)).count()
        };
        let (of_s3, of_swift) = (not_of(Protocol::Swift), not_of(Protocol::S3));
        assert!(of_s3 > 200 && of_swift < of_s3, "{of_s3} and {of_swift}");
    }

    #[test]
    fn a_question_has_the_time_that_it_gives_to_others() {
        let all = || QUESTIONS.iter().copied().flatten();
        let restart = all().find(|one| one.id == "any.restart").unwrap();
        // The command of `cosmark certify --restart`, and a store that takes its minute to come back.
        assert!(restart.most > Duration::from_secs(180 + 60 + 30), "{:?}", restart.most);
        assert!(all().filter(|one| one.id != restart.id).all(|one| one.most == MOST));
    }
}
