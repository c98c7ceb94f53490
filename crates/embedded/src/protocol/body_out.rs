//! An object's bytes on their way to the client: a small range is read at once, a larger one in blocks on the blocking
//! pool, one block ahead of the socket.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use hyper::body::Bytes;
use s3s::dto::StreamingBlob;
use s3s::stream::{ByteStream, RemainingLength};
use s3s::{Body, S3Result, StdError};
use tokio::task::JoinHandle;

use super::body_in::{BLOCK_BYTES, INLINE_BYTES};
use crate::fault;
use crate::store::object::Object;

/// The bytes of `range`, which must lie within the object, whose file this is.
pub(crate) fn send(object: &Arc<Object>, mut file: File, range: &Range<u64>) -> S3Result<StreamingBlob> {
    if range.is_empty() {
        return Ok(StreamingBlob::from(Body::empty()));
    }
    let failed = |error: io::Error| fault::disk("read the object's file", &error);
    if range.start > 0 {
        file.seek(SeekFrom::Start(range.start)).map_err(failed)?;
    }
    let left = range.end - range.start;
    if left <= INLINE_BYTES {
        return Ok(StreamingBlob::from(Body::from(read(&file, left).map_err(failed)?)));
    }
    Ok(StreamingBlob::new(FileStream {
        file: Arc::new(file),
        _object: Arc::clone(object),
        left,
        ahead: None,
    }))
}

fn read(file: &File, len: u64) -> io::Result<Bytes> {
    let mut block = Vec::with_capacity(usize::try_from(len).unwrap_or(BLOCK_BYTES));
    file.take(len).read_to_end(&mut block)?;
    if block.len() as u64 == len {
        Ok(block.into())
    } else {
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is shorter than the object"))
    }
}

struct FileStream {
    file: Arc<File>,
    /// Held, so that the file is not written again.
    _object: Arc<Object>,
    left: u64,
    ahead: Option<JoinHandle<io::Result<Bytes>>>,
}

impl FileStream {
    fn read_ahead(&self, left: u64) -> JoinHandle<io::Result<Bytes>> {
        let file = Arc::clone(&self.file);
        let len = left.min(BLOCK_BYTES as u64);
        tokio::task::spawn_blocking(move || read(&file, len))
    }
}

impl Stream for FileStream {
    type Item = Result<Bytes, StdError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut task = match self.ahead.take() {
            Some(task) => task,
            None => self.read_ahead(self.left),
        };
        let Poll::Ready(outcome) = Pin::new(&mut task).poll(cx) else {
            self.ahead = Some(task);
            return Poll::Pending;
        };
        match outcome {
            Ok(Ok(bytes)) => {
                self.left -= bytes.len() as u64;
                if self.left > 0 {
                    self.ahead = Some(self.read_ahead(self.left));
                }
                Poll::Ready(Some(Ok(bytes)))
            }
            Ok(Err(error)) => self.fail(error.into()),
            Err(error) => self.fail(error.into()),
        }
    }
}

impl FileStream {
    fn fail(&mut self, error: StdError) -> Poll<Option<Result<Bytes, StdError>>> {
        self.left = 0;
        Poll::Ready(Some(Err(error)))
    }
}

impl ByteStream for FileStream {
    fn remaining_length(&self) -> RemainingLength {
        RemainingLength::new_exact(usize::try_from(self.left).unwrap_or(usize::MAX))
    }
}
