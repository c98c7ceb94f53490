//! The `file` storage: a directory as a store, to measure a file system (local, NFS, CephFS, a FUSE mount of an object
//! store) with the same workloads. A container is a sub-directory, an object a file in it (names: [`names`]).
//!
//! System calls block, so each runs on the runtime's blocking pool and only the body's bytes are copied on the load
//! thread; one hand-over costs some ten microseconds, once per `buffer_size`. A call that the engine drops at its time
//! limit ends as soon as the system call in flight returns; until then it occupies one of the pool's threads (tokio: 512
//! for each runtime). Reads may come from the page cache and writes may stay in it: `direct=true` and `fsync=true` are
//! there to exclude that.

mod buffer;
mod disk;
mod errors;
mod named;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, Alias, BodySink, BodySource, ByteRange, Capability, Client, Error, ErrorKind, Key,
    KeyKind, ListPage, ListRequest, Marks, ObjectName, OpFuture, PutOptions, PutOutcome, ReadOutcome, Result,
    Session, Settings, clock,
};

use buffer::Buffer;
use disk::{Disk, Reading, Writing, source_failed};
use named::Named;

use crate::common_keys::{LOGGING, TIMEOUT};

const KEYS: &[Key] = &[
    Key::new(
        "directory",
        KeyKind::Directory,
        "the directory that holds the containers; it must exist (also file:///dir)",
    )
    .alias(&["dir", "path", "endpoint"]),
    Key::new(
        "fsync",
        KeyKind::Bool,
        "a write or delete counts as done when the device has it (fsync of file and directory)",
    )
    .default("false"),
    Key::new("direct", KeyKind::Bool, "reads and writes go past the page cache (O_DIRECT)").default("false"),
    Key::new("atomic", KeyKind::Bool, "objects appear whole: written under a temporary name, then renamed")
        .default("true"),
    Key::new(
        "buffer_size",
        KeyKind::Size,
        "bytes per system call and worker, in whole blocks of 4 KiB, at most 1 GiB",
    )
    .alias(&["block_size"])
    .default("1MiB"),
    TIMEOUT,
    LOGGING,
];

const CAPABILITY: Capability = Capability::of(&[
    Capability::STORE,
    Capability::CONTAINERS,
    Capability::HEAD,
    Capability::LIST,
    Capability::RANGE,
    Capability::CHUNKED,
    Capability::DELETE_MISSING_FAILS,
]);

/// The row of the table of adaptors.
pub const DEF: AdaptorDef = AdaptorDef {
    name: "file",
    aliases: &[Alias { name: "posix", implied: &[], note: "the same" }],
    summary: "a directory of this machine: local disk, NFS, CephFS or any mount",
    keys: KEYS,
    capability: CAPABILITY,
    open,
    lacks: AdaptorDef::lacks_nothing,
    takes: AdaptorDef::takes_nothing,
};

const MAX_BUFFER_BYTES: u64 = 1 << 30;

struct FileStore {
    disk: Arc<Disk>,
    buffer_bytes: usize,
    timeout: Option<Duration>,
}

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    let path = directory(&settings.required("directory")?)?;
    let bytes = settings.size_bytes("buffer_size").unwrap_or(1 << 20).clamp(1, MAX_BUFFER_BYTES);
    let disk = Disk::open(&path, settings.flag("fsync"), settings.flag("direct"), settings.flag("atomic"))?;
    Ok(Arc::new(FileStore {
        disk: Arc::new(disk),
        buffer_bytes: usize::try_from(bytes).unwrap_or(1 << 20),
        timeout: settings.duration("timeout").filter(|limit| !limit.is_zero()),
    }))
}

/// A plain path, or a `file:` URL (RFC 8089) of this machine.
fn directory(text: &str) -> Result<PathBuf> {
    let Some(rest) = text.strip_prefix("file://") else {
        return Ok(PathBuf::from(text));
    };
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(Error::new(ErrorKind::Config, format!("`{text}` names another host"))
            .with_hint("write file:///path with three slashes"));
    }
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8();
    let decoded = decoded.map_err(|_| Error::new(ErrorKind::Config, format!("`{text}` is not UTF-8")))?;
    Ok(PathBuf::from(decoded.as_ref()))
}

impl Adaptor for FileStore {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn client(&self, _session: &Arc<Session>) -> Result<Box<dyn Client>> {
        Ok(Box::new(FileClient {
            disk: Arc::clone(&self.disk),
            buffer_bytes: self.buffer_bytes,
            buffer: None,
        }))
    }
}

struct FileClient {
    disk: Arc<Disk>,
    buffer_bytes: usize,
    /// `None` while a call has it, and after a call was dropped or failed with it.
    buffer: Option<Buffer>,
}

impl FileClient {
    /// Room for `wanted` bytes, as far as one system call goes.
    fn take_buffer(&mut self, wanted: u64) -> Buffer {
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).min(self.buffer_bytes);
        match self.buffer.take() {
            Some(buffer) if buffer.len() >= wanted => buffer,
            _ => Buffer::new(wanted),
        }
    }

    async fn read(
        &mut self,
        name: ObjectName<'_>,
        range: Option<ByteRange>,
        mut sink: Option<&mut dyn BodySink>,
        marks: &mut Marks,
    ) -> Result<u64> {
        marks.requests += 1;
        let name = Arc::new(Named::new(name)?);
        let mut reading: Option<Reading> = None;
        let mut buffer = self.take_buffer(u64::MAX);
        loop {
            let (disk, job_name) = (Arc::clone(&self.disk), Arc::clone(&name));
            let step = blocking(move || {
                let mut reading = match reading {
                    Some(reading) => reading,
                    None => disk.open_object(&job_name, range)?,
                };
                let piece = reading.next_piece(&mut buffer, &job_name)?;
                Ok((buffer, reading, piece))
            });
            let (filled, continued, piece) = step.await.inspect_err(|error| answered(marks, error))?;
            if marks.first_byte_ns == 0 {
                marks.first_byte_ns = piece.done_ns;
            }
            if let Some(sink) = sink.as_deref_mut() {
                sink.accept(&filled.bytes()[piece.start..piece.start + piece.len]);
            }
            marks.body_bytes += piece.len as u64;
            buffer = filled;
            if continued.is_done() {
                self.buffer = Some(buffer);
                marks.status = if range.is_some() { 206 } else { 200 };
                return Ok(marks.body_bytes);
            }
            reading = Some(continued);
        }
    }

    async fn write(&mut self, name: ObjectName<'_>, body: &dyn BodySource, marks: &mut Marks) -> Result<u64> {
        marks.requests += 1;
        let name = Arc::new(Named::new(name)?);
        let total = body.len();
        let mut writing: Option<Writing> = None;
        let mut buffer = self.take_buffer(total);
        let mut at = 0;
        loop {
            let len = usize::try_from(total - at).unwrap_or(usize::MAX).min(buffer.len());
            body.copy_to(at, &mut buffer.bytes_mut()[..len]).map_err(|error| source_failed(&error))?;
            let is_last = at + len as u64 == total;
            let (disk, job_name) = (Arc::clone(&self.disk), Arc::clone(&name));
            let step = blocking(move || {
                let mut writing = match writing {
                    Some(writing) => writing,
                    None => Writing::create(disk, job_name)?,
                };
                writing.write(&mut buffer, len)?;
                let writing = if is_last { writing.finish().map(|()| None)? } else { Some(writing) };
                Ok((buffer, writing, clock::now_ns()))
            });
            let (emptied, continued, done_ns) = step.await.inspect_err(|error| answered(marks, error))?;
            (buffer, writing) = (emptied, continued);
            at += len as u64;
            marks.body_bytes = at;
            if is_last {
                self.buffer = Some(buffer);
                (marks.first_byte_ns, marks.status) = (done_ns, 201);
                return Ok(at);
            }
        }
    }

    /// One request without a body.
    async fn ask<T: Send + 'static>(
        &mut self,
        marks: &mut Marks,
        job: impl FnOnce(&Disk) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        marks.requests += 1;
        let disk = Arc::clone(&self.disk);
        let answer = blocking(move || job(&disk)).await;
        match &answer {
            Ok(_) => {
                marks.first_byte();
                marks.status = 200;
            }
            Err(error) => answered(marks, error),
        }
        answer
    }
}

/// A failure is an answer too.
fn answered(marks: &mut Marks, error: &Error) {
    marks.first_byte();
    marks.status = error.status().unwrap_or(0);
}

async fn blocking<T: Send + 'static>(job: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(job).await {
        Ok(result) => result,
        Err(_) => {
            Err(Error::new(ErrorKind::Aborted, "the file operation was abandoned: the run is shutting down"))
        }
    }
}

impl Client for FileClient {
    fn set_session(&mut self, _session: &Arc<Session>) {}

    fn probe<'a>(&'a mut self, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(self.ask(marks, Disk::probe))
    }

    fn get<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        range: Option<ByteRange>,
        sink: Option<&'a mut dyn BodySink>,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, ReadOutcome> {
        Box::pin(async move { Ok(ReadOutcome { bytes: self.read(name, range, sink, marks).await? }) })
    }

    fn put<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        _options: PutOptions,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        Box::pin(async move {
            Ok(PutOutcome { bytes: self.write(name, body, marks).await?, accepted_only: false })
        })
    }

    fn delete<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(async move {
            let name = Named::new(name)?;
            self.ask(marks, move |disk| disk.delete(&name)).await
        })
    }

    fn head<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, Option<u64>> {
        Box::pin(async move {
            let name = Named::new(name)?;
            self.ask(marks, move |disk| disk.length(&name)).await.map(Some)
        })
    }

    fn list<'a>(&'a mut self, request: ListRequest<'a>, marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        Box::pin(async move {
            request.without_delimiter()?;
            let container = request.container.to_owned();
            let page = crate::name_page::NamePage::new(&request);
            self.ask(marks, move |disk| disk.list(&container, page)).await
        })
    }

    fn create_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let container = container.to_owned();
        Box::pin(self.ask(marks, move |disk| disk.create_container(&container)))
    }

    fn delete_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let container = container.to_owned();
        Box::pin(self.ask(marks, move |disk| disk.delete_container(&container)))
    }
}

#[cfg(test)]
mod tests;
