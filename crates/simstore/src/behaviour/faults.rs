//! The rules of a behaviour file: what each does and which requests it touches.
//!
//! Every rule has the same selecting fields (see [`Select`]); the macro below writes them into each
//! rule, so that a rule is one flat map in YAML and unknown fields are errors.

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, de};

use super::law::Law;
use super::ops::{Op, OpSet};

/// Which requests a rule touches. All conditions must hold. A rule counts only the requests that its
/// conditions select, in the order in which they arrive (for faults of a body: in which they are answered).
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// Kinds of request.
    pub op: OpSet,
    /// Only objects whose name begins so.
    pub key_prefix: Option<String>,
    /// Not before this time, s from the script's time zero.
    pub from_s: f64,
    /// Not at or after this time, s from the script's time zero.
    pub until_s: Option<f64>,
    /// Each request with this probability, independently (seeded).
    pub share: Option<f64>,
    /// Every n-th request: the n-th, the 2n-th, ...
    pub every_nth: Option<u64>,
    /// An exact number in each block of requests, at seeded random places of the block.
    pub exact: Option<Exact>,
}

/// `count` of each `of` requests, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exact {
    /// How many of each block.
    pub count: u32,
    /// Length of the block.
    pub of: u32,
}

/// What all rules have in common.
pub trait Rule {
    /// The selecting fields.
    fn select(&self) -> Select;
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident on $ops:expr => {
        $($(#[$field_doc:meta])* $field:ident : $kind:ty = $value:expr),* $(,)?
    })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
            /// Kinds of request: `any`, a name, or a list of names.
            pub op: OpSet,
            /// Only objects whose name begins so.
            pub key_prefix: Option<String>,
            /// Not before this time, s from the script's time zero.
            pub from_s: f64,
            /// Not at or after this time, s from the script's time zero.
            pub until_s: Option<f64>,
            /// Each request with this probability, independently (seeded).
            pub share: Option<f64>,
            /// Every n-th request: the n-th, the 2n-th, ...
            pub every_nth: Option<u64>,
            /// An exact number in each block of requests, at seeded random places of the block.
            pub exact: Option<Exact>,
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($field: $value,)*
                    op: $ops, key_prefix: None, from_s: 0.0, until_s: None,
                    share: None, every_nth: None, exact: None,
                }
            }
        }

        impl Rule for $name {
            fn select(&self) -> Select {
                Select {
                    op: self.op, key_prefix: self.key_prefix.clone(), from_s: self.from_s, until_s: self.until_s,
                    share: self.share, every_nth: self.every_nth, exact: self.exact,
                }
            }
        }
    )+};
}

const GET: OpSet = OpSet::one(Op::Get);

rules! {
    /// A delay between the arrival of the whole request and the first byte of the answer. The delays of
    /// all rules that select a request are added.
    DelayRule on OpSet::ANY => {
        /// How long. Required.
        law: Option<Law> = None,
    }

    /// Answer with an error instead of doing what was asked. The first error, redirect or hidden-error
    /// rule that selects a request wins and later ones do not count it.
    ErrorRule on OpSet::ANY => {
        /// HTTP status, 300..=599.
        status: u16 = 503,
        /// S3 error code in the XML body; chosen by the status when absent.
        code: Option<String> = None,
        /// Answer this long after the request, ms, without queue, capacity or delay laws (a stall still
        /// holds it). When absent the error takes as long as a success would.
        delay_ms: Option<f64> = None,
        /// Send `Retry-After` with this many seconds.
        retry_after_s: Option<u32> = None,
        /// Answer before the request's body is read, and close the connection if there is a body.
        before_body: bool = false,
    }

    /// Redirect to the same URL, for ever.
    RedirectRule on OpSet::ANY => {
        /// HTTP status, 301, 302, 307 or 308.
        status: u16 = 307,
    }

    /// Status 200 with an S3 error document as body; nothing is done.
    HiddenErrorRule on OpSet::ANY => {
        /// S3 error code.
        code: String = "InternalError".to_owned(),
    }

    /// Reset the connection (TCP RST).
    ResetRule on OpSet::ANY => {
        /// When. At `accept` the rule counts connections and only `share`, `every_nth`, `exact`, `from_s`
        /// and `until_s` select.
        at: ResetAt = ResetAt::Request,
    }

    /// Send only the first part of a body, then close the connection.
    TruncateRule on GET => {
        /// Share of the body that is sent.
        keep: f64 = 0.5,
        /// Send the body with chunked transfer coding and no last chunk, instead of Content-Length.
        chunked: bool = false,
    }

    /// Flip one bit of one byte, at a seeded random place of the body. The length stays right.
    FlipRule on GET => {}

    /// State a wrong Content-Length, then close the connection after the true body.
    WrongLengthRule on GET => {
        /// Added to the true length. The sum is never below 0.
        by: i64 = 10,
    }

    /// Begin the answer with something that is not HTTP, then close the connection.
    GarbageRule on OpSet::ANY => {
        /// The line, without its end.
        text: String = "S3/9.9 maybe OK".to_owned(),
    }

    /// Send header lines without end.
    EndlessHeadersRule on OpSet::ANY => {
        /// Close the connection after so many bytes.
        limit_bytes: u64 = 16 << 20,
    }

    /// Send the body in small pieces.
    TrickleRule on GET => {
        /// Bytes in a piece.
        bytes: u32 = 1,
        /// Time between two pieces, and before the first, ms.
        every_ms: f64 = 1000.0,
    }

    /// Pace bodies: byte k of a body leaves k / rate after the answer's headers. Each connection alone.
    BandwidthRule on GET => {
        /// Rate of the answer's body, bytes per second.
        bytes_per_s: Option<f64> = None,
        /// Time between the headers and the clock of the body, ms.
        first_byte_ms: f64 = 0.0,
        /// Rate at which the request's body is read, bytes per second.
        upload_bytes_per_s: Option<f64> = None,
    }

    /// Send the (right, whole) body with chunked transfer coding instead of Content-Length.
    ChunkedRule on GET => {}

    /// A token bucket: requests beyond it get an error at once and are not done.
    RateCapRule on OpSet::ANY => {
        /// Requests per second. Required.
        per_s: f64 = 0.0,
        /// Depth of the bucket, requests; it is full at the beginning. Tokens that arrive while it is full are
        /// lost, so an overload passes exactly at the rate only if the bucket is deeper than the arrivals
        /// are irregular: 2 is enough for even arrivals.
        burst: f64 = 10.0,
        /// Status of the refusal.
        status: u16 = 503,
        /// S3 error code of the refusal; chosen by the status when absent.
        code: Option<String> = None,
        /// Refusals leave this long after the request, ms.
        delay_ms: f64 = 0.0,
        /// Send `Retry-After` with this many seconds.
        retry_after_s: Option<u32> = None,
    }

    /// For a while after an acknowledged change, answer as if it had not happened. At most one version
    /// old. Counts only requests that meet an object changed less than `window_ms` ago.
    StaleRule on OpSet::of(&[Op::Get, Op::Head]) => {
        /// Length of the window after the acknowledgement, ms. Required.
        window_ms: f64 = 0.0,
        /// Overwritten objects may show their former version.
        overwrite: bool = true,
        /// Deleted objects may still be there.
        delete: bool = true,
        /// New objects may still be missing.
        create: bool = false,
    }

    /// Acknowledge a change and break the word, for ever. Counts only changes that would be done.
    BrokenPromiseRule on OpSet::of(&[Op::Put, Op::Delete]) => {
        /// How.
        kind: BrokenPromise = BrokenPromise::Forget,
    }

    /// The same for listings: one draw for each listing of a container.
    StaleListRule on OpSet::one(Op::List) => {
        /// Length of the window after the acknowledgement, ms. Required.
        window_ms: f64 = 0.0,
        /// New objects may be missing from the listing.
        create: bool = true,
        /// Deleted objects may still be listed.
        delete: bool = true,
    }
}

/// How a [`BrokenPromiseRule`] breaks the word of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BrokenPromise {
    /// The change is not done: a new object is not there, an overwritten one is as before, a deleted one still there.
    Forget,
    /// One bit of the object is wrong from then on. Of a deletion: as `forget`.
    Damage,
    /// Done, and listings go on as if it were not: a new object is in none, a deleted one in all.
    Unlisted,
}

/// When a [`ResetRule`] resets the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetAt {
    /// As soon as the connection is accepted.
    Accept,
    /// When the whole request was read; it is not done.
    Request,
    /// When the request was done, instead of any byte of the answer: the client cannot know the outcome.
    Reply,
    /// After the answer's headers.
    Headers,
    /// After half of the answer's body.
    Body,
}

/// A time in which the whole server holds still.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// Begin, s from the script's time zero.
    pub at_s: f64,
    /// Length, s.
    pub for_s: f64,
    /// What happens to requests in the stall.
    #[serde(default)]
    pub kind: StallKind,
    /// Kinds of request it touches.
    #[serde(default = "any")]
    pub op: OpSet,
}

fn any() -> OpSet {
    OpSet::ANY
}

/// What a [`Stall`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// The server's time stands still: a request that arrives in the stall begins its queueing, service
    /// and delay when the stall ends; one that is already waiting keeps what is left of its wait.
    #[default]
    Freeze,
    /// Only the door is shut: answers that fall due in the stall leave together when it ends.
    Gate,
}

/// A FIFO queue before k equal servers. The queue is computed, not executed: the order of arrival alone
/// decides, and the work of a client that went away is still done.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Capacity {
    /// Number of servers.
    pub servers: u32,
    /// Service time of each request, ms.
    pub service_ms: Option<f64>,
    /// Service time as a law, instead of `service_ms`.
    pub service: Option<Law>,
    /// Refuse a request with 503 at once if so many already wait.
    pub max_queue: Option<u32>,
    /// Kinds of request that need a server.
    pub op: OpSet,
}

impl Default for Capacity {
    fn default() -> Self {
        Capacity { servers: 1, service_ms: None, service: None, max_queue: None, op: OpSet::ANY }
    }
}

impl Capacity {
    /// The law of the service time.
    pub fn law(&self) -> Option<Law> {
        self.service.clone().or(self.service_ms.map(Law::ConstantMs))
    }
}

/// Capacity as a function of time; requests beyond it are refused at once (nothing queues).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// The capacity from each time on, in order of time.
    pub points: Vec<Point>,
    /// Depth of the token bucket, requests; see [`RateCapRule`].
    pub burst: f64,
    /// Status of the refusal.
    pub status: u16,
    /// S3 error code of the refusal; chosen by the status when absent.
    pub code: Option<String>,
    /// Refusals leave this long after the request, ms.
    pub delay_ms: f64,
    /// Send `Retry-After` with this many seconds.
    pub retry_after_s: Option<u32>,
    /// Kinds of request it touches.
    pub op: OpSet,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule {
            points: Vec::new(),
            burst: 10.0,
            status: 503,
            code: None,
            delay_ms: 0.0,
            retry_after_s: None,
            op: OpSet::ANY,
        }
    }
}

/// One point of a [`Schedule`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Time, s from the script's time zero.
    pub at_s: f64,
    /// Capacity from here on, requests per second.
    pub per_s: f64,
    /// Change linearly from here to the next point's capacity, instead of holding until there.
    #[serde(default)]
    pub ramp: bool,
}

/// Accepts one rule or a list of rules.
pub(super) fn one_or_many<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct OneOrMany<T>(std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a rule or a list of rules")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(|rule| vec![rule])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            let mut rules = Vec::new();
            while let Some(rule) = seq.next_element()? {
                rules.push(rule);
            }
            Ok(rules)
        }

        fn visit_unit<E: de::Error>(self) -> Result<Vec<T>, E> {
            Ok(Vec::new())
        }
    }
    deserializer.deserialize_any(OneOrMany(std::marker::PhantomData))
}
