//! The kinds of request a rule can select, one table for parsing, logs and counters.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

macro_rules! ops {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// One kind of request, whatever the protocol. Container means S3 bucket or Swift container.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Op { $($(#[$doc])* $variant),+ }

        impl Op {
            /// Every kind, in the order of their numbers.
            pub const ALL: &'static [Op] = &[$(Op::$variant),+];

            /// The name used in behaviour files, logs and counters.
            pub fn name(self) -> &'static str {
                match self { $(Op::$variant => $name),+ }
            }
        }
    };
}

ops! {
    /// Read an object, whole or a range.
    Get = "get",
    /// Write an object.
    Put = "put",
    /// Ask for an object's headers.
    Head = "head",
    /// Delete an object.
    Delete = "delete",
    /// Copy an object on the server.
    Copy = "copy",
    /// Change an object's metadata (Swift POST).
    Post = "post",
    /// List the objects of a container.
    List = "list",
    /// Create a container.
    PutContainer = "put_container",
    /// Ask whether a container exists.
    HeadContainer = "head_container",
    /// Delete a container.
    DeleteContainer = "delete_container",
    /// Change a container's metadata (Swift POST).
    PostContainer = "post_container",
    /// List the containers of an account.
    ListContainers = "list_containers",
    /// HEAD or POST of a Swift account.
    Account = "account",
    /// Delete many objects with one request (S3).
    MultiDelete = "multi_delete",
    /// Begin a multipart upload (S3).
    MultipartStart = "multipart_start",
    /// Upload or copy one part (S3).
    MultipartPart = "multipart_part",
    /// Finish a multipart upload (S3).
    MultipartComplete = "multipart_complete",
    /// Give up a multipart upload (S3).
    MultipartAbort = "multipart_abort",
    /// List the parts of an upload, or the uploads of a bucket (S3).
    MultipartList = "multipart_list",
    /// Ask for a token (Swift).
    Auth = "auth",
    /// Anything else: capability queries, sub-resources that are not served, bad requests.
    Other = "other",
}

impl Op {
    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of request kinds. In a behaviour file: `any`, one name, or a list of names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OpSet(u32);

impl OpSet {
    /// Every kind of request.
    pub const ANY: OpSet = OpSet(u32::MAX);

    /// The set that holds one kind.
    pub const fn one(op: Op) -> OpSet {
        OpSet(1 << op as u8)
    }

    /// The set that holds the kinds given.
    pub fn of(ops: &[Op]) -> OpSet {
        OpSet(ops.iter().fold(0, |bits, op| bits | 1 << *op as u8))
    }

    /// Whether the set holds this kind.
    #[inline]
    pub fn contains(self, op: Op) -> bool {
        self.0 & (1 << op as u8) != 0
    }

    /// Whether the set holds nothing.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for OpSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == OpSet::ANY {
            return f.write_str("any");
        }
        f.debug_list().entries(Op::ALL.iter().filter(|op| self.contains(**op)).map(|op| op.name())).finish()
    }
}

struct OpSetVisitor;

impl OpSetVisitor {
    fn named<E: de::Error>(name: &str) -> Result<OpSet, E> {
        if name == "any" {
            return Ok(OpSet::ANY);
        }
        Op::from_name(name).map(OpSet::one).ok_or_else(|| {
            let known: Vec<&str> = Op::ALL.iter().map(|op| op.name()).collect();
            E::custom(format!("unknown operation `{name}`, expected `any` or one of: {}", known.join(", ")))
        })
    }
}

impl<'de> Visitor<'de> for OpSetVisitor {
    type Value = OpSet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`any`, the name of an operation, or a list of such names")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<OpSet, E> {
        OpSetVisitor::named(name)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OpSet, A::Error> {
        let mut set = OpSet(0);
        while let Some(name) = seq.next_element::<String>()? {
            set.0 |= OpSetVisitor::named::<A::Error>(&name)?.0;
        }
        Ok(set)
    }
}

impl<'de> Deserialize<'de> for OpSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OpSet, D::Error> {
        deserializer.deserialize_any(OpSetVisitor)
    }
}
