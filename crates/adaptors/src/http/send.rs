//! Sending a request: the head and the first piece of the body leave in one system call, pieces of the body are lent by
//! its source and not copied where it can lend them.

use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};

use cosmark_adaptor_api::{BodySource, Marks};

use super::Body;
use super::buffer::{BUFFER_BYTES, with_buffer};
use super::dial::Transport;

/// Bodies up to this size use the small piece table, which costs less to set up.
const SMALL_BODY: u64 = 16 * 1024;

/// Why a request could not be sent.
#[derive(Debug)]
pub(crate) enum SendFailure {
    /// The connection failed.
    Connection,
    /// The body's source failed (a file could not be read).
    Source(io::Error),
}

/// Reused buffers for coded bodies.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// What stands before the chunk's data.
    before: Vec<u8>,
    /// The chunk's data and what stands after it.
    data: Vec<u8>,
}

/// A request on its way.
pub(crate) struct Outgoing<'a, 'f> {
    head: &'a [u8],
    body: Body<'a>,
    frames: &'f mut Frames,
    head_sent: usize,
    /// Bytes of the source that are sent or stand in `frames`.
    offset: u64,
    /// Bytes of `frames` that are sent.
    frame_sent: usize,
    /// Source bytes in `frames`.
    frame_bytes: usize,
    finished: bool,
    /// How much is copied at once where the source cannot lend.
    window: usize,
    /// The body waits (for a 100).
    pub(crate) hold: bool,
}

impl<'a, 'f> Outgoing<'a, 'f> {
    pub(crate) fn new(head: &'a [u8], body: Body<'a>, frames: &'f mut Frames, hold: bool) -> Self {
        frames.before.clear();
        frames.data.clear();
        Self {
            head,
            body,
            frames,
            head_sent: 0,
            offset: 0,
            frame_sent: 0,
            frame_bytes: 0,
            finished: false,
            window: BUFFER_BYTES,
            hold,
        }
    }

    /// Body bytes on their way so far, and in all.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let total = match &self.body {
            Body::None => 0,
            Body::Sized(source) | Body::Coded(source, _) => source.len(),
        };
        (self.offset, total)
    }

    /// One write. `true` = all is sent.
    pub(crate) fn poll_step(
        &mut self,
        cx: &mut Context<'_>,
        transport: &mut Transport,
        marks: &mut Marks,
    ) -> Poll<Result<bool, SendFailure>> {
        let head_left = &self.head[self.head_sent..];
        let (source, left) = match &mut self.body {
            Body::Sized(source) if !self.hold => (*source, source.len() - self.offset),
            Body::Coded(..) if !self.hold => return self.poll_coded(cx, transport, marks),
            _ => (&NOTHING as &dyn BodySource, 0),
        };
        if head_left.is_empty() && left == 0 {
            return Poll::Ready(flushed(ready!(transport.poll_flush(cx))));
        }
        let sent = if left == 0 {
            ready!(transport.poll_write_pieces(cx, &[IoSlice::new(head_left)])).map_err(connection)?
        } else if left <= SMALL_BODY {
            ready!(write_sized::<12, 128>(
                cx,
                transport,
                head_left,
                source,
                (self.offset, left),
                &mut self.window
            ))?
        } else {
            ready!(write_sized::<136, 1024>(
                cx,
                transport,
                head_left,
                source,
                (self.offset, left),
                &mut self.window
            ))?
        };
        if sent == 0 {
            return Poll::Ready(Err(connection(io::ErrorKind::WriteZero.into())));
        }
        let of_head = sent.min(head_left.len());
        self.head_sent += of_head;
        let of_body = (sent - of_head) as u64;
        self.offset += of_body;
        marks.body_bytes += of_body;
        if of_body < left || self.head_sent < self.head.len() {
            return Poll::Ready(Ok(false));
        }
        Poll::Ready(flushed(ready!(transport.poll_flush(cx))))
    }

    fn poll_coded(
        &mut self,
        cx: &mut Context<'_>,
        transport: &mut Transport,
        marks: &mut Marks,
    ) -> Poll<Result<bool, SendFailure>> {
        let framed = self.frames.before.len() + self.frames.data.len();
        if self.frame_sent == framed {
            if self.finished {
                return Poll::Ready(flushed(ready!(transport.poll_flush(cx))));
            }
            self.next_frame().map_err(SendFailure::Source)?;
        }
        let (before, data) = (&self.frames.before, &self.frames.data);
        let head_left = &self.head[self.head_sent..];
        let before_left = &before[self.frame_sent.min(before.len())..];
        let data_left = &data[self.frame_sent.saturating_sub(before.len())..];
        let pieces = [IoSlice::new(head_left), IoSlice::new(before_left), IoSlice::new(data_left)];
        let sent = ready!(transport.poll_write_pieces(cx, &pieces)).map_err(connection)?;
        if sent == 0 {
            return Poll::Ready(Err(connection(io::ErrorKind::WriteZero.into())));
        }
        let of_head = sent.min(head_left.len());
        self.head_sent += of_head;
        let data_sent = |frame_sent: usize| frame_sent.saturating_sub(before.len()).min(self.frame_bytes);
        marks.body_bytes += (data_sent(self.frame_sent + sent - of_head) - data_sent(self.frame_sent)) as u64;
        self.frame_sent += sent - of_head;
        Poll::Ready(Ok(false))
    }

    fn next_frame(&mut self) -> io::Result<()> {
        let Body::Coded(source, coder) = &mut self.body else { return Ok(()) };
        let left = source.len() - self.offset;
        let size = coder.chunk_bytes().clamp(1, 1 << 20);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(size);
        self.frames.before.clear();
        self.frames.data.clear();
        if count > 0 {
            self.frames.data.resize(count, 0);
            source.copy_to(self.offset, &mut self.frames.data)?;
            coder.before(&self.frames.data, &mut self.frames.before);
            coder.after(&mut self.frames.data);
            self.offset += count as u64;
        }
        if self.offset == source.len() {
            coder.finish(&mut self.frames.data);
            self.finished = true;
        }
        self.frame_sent = 0;
        self.frame_bytes = count;
        Ok(())
    }
}

const NOTHING: cosmark_adaptor_api::BytesSource<'static> = cosmark_adaptor_api::BytesSource(&[]);

/// The receiving side will find out, and say, what is wrong with the connection.
fn connection(_: io::Error) -> SendFailure {
    SendFailure::Connection
}

fn flushed(result: io::Result<()>) -> Result<bool, SendFailure> {
    result.map(|()| true).map_err(connection)
}

/// Writes the rest of the head and as much of the body as `PIECES` lent pieces, or one copied window, hold.
fn write_sized<const PIECES: usize, const SCRATCH: usize>(
    cx: &mut Context<'_>,
    transport: &mut Transport,
    head_left: &[u8],
    source: &dyn BodySource,
    (offset, left): (u64, u64),
    window: &mut usize,
) -> Poll<Result<usize, SendFailure>> {
    let mut scratch = [0_u8; SCRATCH];
    let mut pieces = [IoSlice::new(&[]); PIECES];
    pieces[0] = IoSlice::new(head_left);
    let skip = usize::from(head_left.is_empty());
    let lent = source.lend(offset, &mut scratch, &mut pieces[1..]).min(PIECES - 1);
    if lent > 0 {
        let whole = whole_pieces(&pieces[1..=lent], left);
        if whole > 0 {
            return transport.poll_write_pieces(cx, &pieces[skip..=whole]).map_err(connection);
        }
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(pieces[1].len());
        let cut = [IoSlice::new(head_left), IoSlice::new(&pieces[1][..part])];
        return transport.poll_write_pieces(cx, &cut[skip..]).map_err(connection);
    }
    with_buffer(|buffer| {
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(*window).min(buffer.len());
        source.copy_to(offset, &mut buffer[..count]).map_err(SendFailure::Source)?;
        let pieces = [IoSlice::new(head_left), IoSlice::new(&buffer[..count])];
        let result = transport.poll_write_pieces(cx, &pieces[skip..]).map_err(connection);
        // What a full socket did not take is copied again later: the window follows what it takes.
        *window = match &result {
            Poll::Ready(Ok(sent)) if *sent >= head_left.len() + count => BUFFER_BYTES,
            Poll::Ready(Ok(sent)) => (sent * 2).clamp(16 * 1024, BUFFER_BYTES),
            _ => 16 * 1024,
        };
        result
    })
}

/// How many pieces lie wholly within the next `left` bytes: a source that is part of a larger one may lend more.
fn whole_pieces(pieces: &[IoSlice<'_>], mut left: u64) -> usize {
    let fits = move |piece: &&IoSlice<'_>| {
        let fits = piece.len() as u64 <= left && left > 0;
        left = left.saturating_sub(piece.len() as u64);
        fits
    };
    pieces.iter().take_while(fits).count()
}
