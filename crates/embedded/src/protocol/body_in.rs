//! A request body on its way to a file: counted, hashed, checked, written.
//!
//! A small body is hashed and written where it arrives: a write of some KiB into the page cache takes less time than
//! handing it to another thread. A larger one goes in blocks to the blocking pool, one block being written while the
//! next arrives.

use data_encoding::{BASE64, HEXLOWER};
use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::pin::Pin;

use futures_util::Stream as _;
use s3s::crypto::{Checksum as _, Md5};
use s3s::dto::StreamingBlob;
use s3s::stream::ByteStream as _;
use s3s::{S3Result, s3_error};
use tokio::task::JoinHandle;

use crate::digest::{Claim, Digest, Hasher};
use crate::fault;
use crate::store::disk::Draft;
use crate::store::object::Record;

/// Bodies up to this length are handled on the thread that received them.
pub(crate) const INLINE_BYTES: u64 = 64 << 10;
/// Unit of hashing and writing of larger ones.
pub(crate) const BLOCK_BYTES: usize = 256 << 10;
/// The longest body of one request (AWS, "Amazon S3 multipart upload limits").
const LONGEST_BODY_BYTES: u64 = 5 << 30;
/// Room for the record behind the content.
const RECORD_ROOM_BYTES: usize = 512;

/// The length of a body, which S3 demands.
pub(crate) fn length(body: Option<&StreamingBlob>, header: Option<i64>) -> S3Result<u64> {
    let known =
        body.map_or(Some(0), |body| body.remaining_length().exact()).and_then(|len| u64::try_from(len).ok());
    let announced = header.and_then(|len| u64::try_from(len).ok());
    let Some(length) = known.or(announced) else {
        return Err(s3_error!(
            MissingContentLength,
            "the length of the body is not announced; send Content-Length, or aws-chunked with \
             x-amz-decoded-content-length"
        ));
    };
    if length > LONGEST_BODY_BYTES {
        return Err(s3_error!(EntityTooLarge, "one request takes at most 5 GiB; write the object in parts"));
    }
    Ok(length)
}

/// Hashes and file of one body.
pub(crate) struct Sink {
    pub(crate) draft: Draft,
    md5: Md5,
    hasher: Option<Hasher>,
}

impl Sink {
    pub(crate) fn new(draft: Draft, hasher: Option<Hasher>) -> Self {
        Self { draft, md5: Md5::new(), hasher }
    }

    pub(crate) fn hash(&mut self, block: &[u8]) {
        self.md5.update(block);
        if let Some(hasher) = &mut self.hasher {
            hasher.update(block);
        }
    }

    pub(crate) fn put(&mut self, block: &[u8]) -> io::Result<()> {
        self.hash(block);
        self.draft.write_all(block)
    }

    pub(crate) fn finish(self) -> (Draft, [u8; 16], Option<Digest>) {
        (self.draft, self.md5.finalize(), self.hasher.map(Hasher::finish))
    }
}

/// A body that arrived whole and as promised. Its last block is not written yet: the record goes with it.
pub(crate) struct Received {
    pub(crate) draft: Draft,
    pub(crate) size_bytes: u64,
    pub(crate) md5: [u8; 16],
    pub(crate) digest: Option<Digest>,
    block: Vec<u8>,
}

impl Received {
    /// Writes what is missing of an object, and its record.
    pub(crate) async fn seal(self, record: Record) -> S3Result<Draft> {
        let Self { mut draft, size_bytes, block, .. } = self;
        let step = move || draft.seal(block, size_bytes, &record).map(|()| draft);
        off_thread(size_bytes, step).await
    }

    /// Writes what is missing of a part, which has no record.
    pub(crate) async fn close(self) -> S3Result<Draft> {
        let Self { mut draft, size_bytes, block, .. } = self;
        let step = move || draft.close(&block, size_bytes).map(|()| draft);
        off_thread(size_bytes, step).await
    }
}

async fn off_thread(
    size_bytes: u64,
    step: impl FnOnce() -> io::Result<Draft> + Send + 'static,
) -> S3Result<Draft> {
    let outcome = if size_bytes <= INLINE_BYTES {
        step()
    } else {
        tokio::task::spawn_blocking(step).await.map_err(|error| fault::task(&error))?
    };
    outcome.map_err(|error| fault::write(&error))
}

enum Writer {
    Here(Box<Sink>),
    Away(JoinHandle<io::Result<Box<Sink>>>),
}

impl Writer {
    async fn back(self) -> S3Result<Box<Sink>> {
        match self {
            Self::Here(sink) => Ok(sink),
            Self::Away(task) => match task.await {
                Ok(outcome) => outcome.map_err(|error| fault::write(&error)),
                Err(error) => Err(fault::task(&error)),
            },
        }
    }

    fn send(mut sink: Box<Sink>, block: Vec<u8>) -> Self {
        Self::Away(tokio::task::spawn_blocking(move || sink.put(&block).map(|()| sink)))
    }
}

/// Reads the body to its end and checks it against its length, `Content-MD5` (base64) and checksum.
pub(crate) async fn receive(
    body: Option<StreamingBlob>,
    length: u64,
    content_md5: Option<&str>,
    claim: Claim,
    draft: Draft,
) -> S3Result<Received> {
    let mut writer = Writer::Here(Box::new(Sink::new(draft, claim.hasher())));
    let room = usize::try_from(length).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES) + RECORD_ROOM_BYTES;
    let mut block = Vec::with_capacity(room);
    let mut size_bytes = 0_u64;
    if let Some(mut body) = body {
        while let Some(chunk) = poll_fn(|cx| Pin::new(&mut body).poll_next(cx)).await {
            let mut chunk = chunk.map_err(|error| fault::body(&error))?;
            size_bytes += chunk.len() as u64;
            if size_bytes > length {
                return Err(s3_error!(
                    IncompleteBody,
                    "the body is longer than the announced {length} bytes"
                ));
            }
            while !chunk.is_empty() {
                if block.len() >= BLOCK_BYTES {
                    let full = std::mem::replace(&mut block, Vec::with_capacity(room));
                    writer = Writer::send(writer.back().await?, full);
                }
                let fits = chunk.split_to(chunk.len().min(BLOCK_BYTES - block.len()));
                block.extend_from_slice(&fits);
            }
        }
    }
    if size_bytes < length {
        return Err(s3_error!(IncompleteBody, "the body has {size_bytes} bytes, {length} were announced"));
    }
    let sink = writer.back().await?;
    let (sink, block) = if size_bytes <= INLINE_BYTES {
        hash_last(sink, block)
    } else {
        let step = move || hash_last(sink, block);
        tokio::task::spawn_blocking(step).await.map_err(|error| fault::task(&error))?
    };
    let (draft, md5, digest) = sink.finish();
    check_md5(content_md5, md5)?;
    let digest = claim.check(digest)?;
    Ok(Received { draft, size_bytes, md5, digest, block })
}

fn hash_last(mut sink: Box<Sink>, block: Vec<u8>) -> (Box<Sink>, Vec<u8>) {
    sink.hash(&block);
    (sink, block)
}

fn check_md5(promised: Option<&str>, computed: [u8; 16]) -> S3Result<()> {
    let Some(promised) = promised else { return Ok(()) };
    match BASE64.decode(promised.as_ref()) {
        Ok(bytes) if bytes == computed => Ok(()),
        Ok(bytes) if bytes.len() == 16 => Err(s3_error!(
            BadDigest,
            "the MD5 of the body is {}, not the announced one",
            HEXLOWER.encode(computed.as_ref())
        )),
        _ => Err(s3_error!(InvalidDigest, "Content-MD5 must be 16 bytes in base64")),
    }
}

/// Copies `range` of `source` to the end of the draft, hashing it on the way.
pub(super) fn copy_hashed(source: &File, range: &Range<u64>, sink: &mut Sink) -> io::Result<()> {
    let mut reader = source;
    reader.seek(SeekFrom::Start(range.start))?;
    let mut reader = reader.take(range.end - range.start);
    let mut block = Vec::with_capacity(BLOCK_BYTES);
    let mut left = range.end - range.start;
    while left > 0 {
        block.clear();
        (&mut reader).take(BLOCK_BYTES as u64).read_to_end(&mut block)?;
        if block.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the source is shorter than the object",
            ));
        }
        left -= block.len() as u64;
        sink.put(&block)?;
    }
    Ok(())
}
