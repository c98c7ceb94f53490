//! What each operation asks of the store. One file per family; [`perform`] is the only place that knows all of them.

mod change;
mod container;
mod delete;
mod local;
mod query;
mod read;
mod write;

use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;

use cosmark_adaptor_api::{
    ByteRange, Capability, Client, Error, ErrorKind, Marks, ObjectName, Result, clock,
};
use cosmark_workload::model::{OpKind, Operation};

use crate::choice::Choice;
use crate::content::{Body, key_of};
use crate::files::FileSet;
use crate::mission::Known;

pub use container::{lists_what_is_gone, remove as remove_container};

/// When the clock of a sample starts and stops: around the adaptor's work, with nothing of ours inside.
#[derive(Debug, Default)]
pub struct Timing {
    /// Index of the operation in its work.
    pub op: Cell<u16>,
    /// Start; 0 = not yet.
    pub sent_ns: Cell<u64>,
    /// End; 0 = not yet.
    pub end_ns: Cell<u64>,
}

impl Timing {
    /// For the next operation.
    pub fn reset(&self, op: u16) {
        self.op.set(op);
        self.clear();
    }

    /// Nothing is in flight any more.
    pub fn clear(&self) {
        self.sent_ns.set(0);
        self.end_ns.set(0);
    }

    /// Operation and start of what is in flight now, if anything.
    pub fn in_flight(&self) -> Option<(u16, u64)> {
        let sent_ns = self.sent_ns.get();
        (sent_ns != 0).then(|| (self.op.get(), sent_ns))
    }

    /// Runs one call; an operation of several calls counts from the first to the last.
    async fn time<T>(&self, call: impl Future<Output = T>) -> T {
        if self.sent_ns.get() == 0 {
            self.sent_ns.set(clock::now_ns());
        }
        let result = call.await;
        self.end_ns.set(clock::now_ns());
        result
    }
}

/// One operation, ready to be done.
pub struct Call<'a> {
    pub client: &'a mut dyn Client,
    pub operation: &'a Operation,
    pub files: Option<&'a Arc<FileSet>>,
    pub container: &'a str,
    pub object: &'a str,
    pub choice: Choice,
    /// What the answer can only be, where it is known.
    pub known: Option<Known>,
    /// Different in every write of a run.
    pub version: u64,
    pub marks: &'a mut Marks,
    pub timing: &'a Timing,
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Body bytes.
    pub bytes: u64,
    /// See `PutOutcome::accepted_only`.
    pub accepted_only: bool,
    /// The body was compared with what it should be, or a listing that ended with what must be in it.
    pub checked: bool,
}

/// What an operation asks of a storage beyond reading, writing and deleting objects and making containers, which `cosmark check`
/// leaves to the run.
#[must_use]
pub const fn needs(kind: OpKind) -> Capability {
    match kind {
        OpKind::List => Capability::LIST,
        OpKind::Head => Capability::HEAD,
        OpKind::Copy => Capability::COPY,
        OpKind::BulkDelete => Capability::BULK_DELETE,
        OpKind::Metadata => Capability::METADATA,
        OpKind::Restore => Capability::RESTORE,
        OpKind::MultipartWrite | OpKind::MultipartFileWrite => Capability::MULTIPART,
        OpKind::Read
        | OpKind::Write
        | OpKind::Delete
        | OpKind::FileWrite
        | OpKind::LocalWrite
        | OpKind::Init
        | OpKind::Prepare
        | OpKind::Cleanup
        | OpKind::Dispose => Capability::of(&[]),
    }
}

/// Does it.
pub async fn perform(call: Call<'_>) -> Result<Done> {
    match call.operation.kind {
        OpKind::Read => read::read(call).await,
        OpKind::Write | OpKind::Prepare | OpKind::MultipartWrite => write::generated(call).await,
        OpKind::FileWrite | OpKind::MultipartFileWrite => write::file(call).await,
        OpKind::LocalWrite => local::write(call).await,
        OpKind::Delete | OpKind::Cleanup => delete::delete(call).await,
        OpKind::BulkDelete => delete::many(call).await,
        OpKind::Copy => change::copy(call).await,
        OpKind::Metadata => change::metadata(call).await,
        OpKind::Restore => change::restore(call).await,
        OpKind::List => query::list(call).await,
        OpKind::Head => query::head(call).await,
        OpKind::Init => container::create(call).await,
        OpKind::Dispose => container::remove(call).await,
    }
}

impl<'a> Call<'a> {
    fn name(&self) -> ObjectName<'a> {
        ObjectName { container: self.container, object: self.object }
    }

    fn body(&self) -> Body {
        let key = key_of(self.container, self.object);
        Body::new(self.operation.content, key, self.version, self.choice.size_bytes)
    }
}

/// Whether what was read of an object can be so long, by what the workload knows of its length; for free, on every answer.
fn fits(known: Option<Known>, range: Option<ByteRange>, bytes: u64, name: ObjectName<'_>) -> Result<()> {
    let Some(Known::Length { least, most }) = known else { return Ok(()) };
    let read_of = |object: u64| match range {
        None => object,
        Some(ByteRange { first, last }) => object.min(last.saturating_add(1)).saturating_sub(first),
    };
    let (least, most) = (read_of(least), read_of(most));
    if (least..=most).contains(&bytes) {
        return Ok(());
    }
    let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
    let ObjectName { container, object } = name;
    let message = format!("{container}/{object}: {bytes} bytes where {wanted} were written");
    Err(Error::new(ErrorKind::WrongLength, message)
        .with_partial_bytes(bytes)
        .with_hint("an object of another write, or somebody else's, or a body that was cut and announced so"))
}

fn local_error(what: &str, cause: &std::io::Error) -> Error {
    Error::new(ErrorKind::LocalIo, format!("{what}: {cause}"))
}
