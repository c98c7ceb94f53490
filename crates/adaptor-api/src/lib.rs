//! What an adaptor and an auth are: the traits, the error kinds, the key tables, and the conformance suite that every
//! adaptor passes. An adaptor speaks one storage protocol and nothing else: it holds no loop over operations, no
//! metric, reads no environment, prints nothing and never retries by itself.
//!
//! * [`Adaptor`] is made once for each work of a stage from its [`Settings`]; it is shared by all load threads.
//! * [`Client`] is one worker's handle of the store: its own connection, used by one task of one thread.
//! * [`Auth`] obtains a [`Session`], which the driver caches, shares and renews.
//! * [`AdaptorDef`] and [`AuthDef`] are the rows of the two tables from which parsing, help, docs and forms derive.

mod ask;
mod body;
mod capability;
pub mod clock;
pub mod conformance;
mod error;
pub mod faulty;
mod key;
pub mod mem;
pub mod null;
mod reach;
mod secret;
mod session;
pub mod sockets;
mod traits;
mod wire_time;

pub use ask::{Ask, Asker, Protocol, Reply, Whom};
pub use body::{BodySink, BodySource, BytesSource, CollectSink, Piece};
pub use capability::{Capability, CapabilityRow};
pub use error::{Error, ErrorKind, Result, plain};
pub use key::{Key, KeyKind, KeyProblem, STORE_FACTS, Settings, times_without_unit};
pub use reach::Reach;
pub use secret::{Secret, Stars};
pub use session::{AwsKeys, HttpCredential, Session, SessionPart};
pub use traits::{
    Adaptor, AdaptorDef, Alias, Auth, AuthDef, ByteRange, Client, ListPage, ListRequest, Marks,
    MultipartPlan, ObjectName, OpFuture, PutOptions, PutOutcome, ReadOutcome,
};
pub use wire_time::{OnWire, SideBySide, WireGap, WireMarks};
