//! Receives the body of a request: by length, in chunks, aws-chunked inside either; kept or thrown away.
//!
//! Memory is reserved from one budget as bytes arrive, never on the word of a header. A body that may not be
//! kept is still read to its end, so that the client gets its answer.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use tokio::io::AsyncReadExt as _;

use super::chunked::{Chunks, Step};
use super::head::Framing;
use super::input::Input;
use super::sock::{Sock, drain};
use crate::clock::Clock;
use crate::rules::{Link, Pace};
use crate::timer::Timer;

/// Memory that objects and uploads share.
#[derive(Clone)]
pub(crate) struct Budget(Rc<(u64, Cell<u64>)>);

impl Budget {
    pub(crate) fn new(max_bytes: u64) -> Budget {
        Budget(Rc::new((max_bytes, Cell::new(0))))
    }

    /// Takes a share that is given back when the result is dropped; `None` if too little is left.
    pub(crate) fn reserve(&self, bytes: u64) -> Option<Reserved> {
        let mut reserved = Reserved { budget: self.clone(), bytes: 0 };
        reserved.grow(bytes).then_some(reserved)
    }

    /// Bytes taken.
    pub(crate) fn used(&self) -> u64 {
        self.0.1.get()
    }
}

/// A share of a [`Budget`].
pub(crate) struct Reserved {
    budget: Budget,
    bytes: u64,
}

impl Reserved {
    fn grow(&mut self, by: u64) -> bool {
        let (max, used) = (self.budget.0.0, &self.budget.0.1);
        let Some(sum) = used.get().checked_add(by).filter(|sum| *sum <= max) else { return false };
        used.set(sum);
        self.bytes += by;
        true
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let used = &self.budget.0.1;
        used.set(used.get().saturating_sub(self.bytes));
    }
}

/// Why a body was read but not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    TooLarge,
    NoSpace,
}

/// A body that was received.
pub(crate) struct Body {
    /// The content, if it was kept.
    pub(crate) data: Vec<u8>,
    pub(crate) reserved: Option<Reserved>,
    /// Length of the content, bytes.
    pub(crate) length: u64,
    /// Bytes on the wire, with all framing.
    pub(crate) wire: u64,
    /// Trailer fields, names in lower case.
    pub(crate) trailers: Vec<(String, String)>,
    pub(crate) refused: Option<Refused>,
}

impl Body {
    pub(crate) fn empty() -> Body {
        Body { data: Vec::new(), reserved: None, length: 0, wire: 0, trailers: Vec::new(), refused: None }
    }
}

/// What to do with a body.
pub(crate) struct Plan {
    pub(crate) keep: bool,
    pub(crate) max_bytes: u64,
    pub(crate) budget: Budget,
    /// The content is aws-chunked.
    pub(crate) aws_chunked: bool,
    /// Read no faster than this.
    pub(crate) pace: Option<Pace>,
}

/// Why a body could not be received.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// The connection broke or ended.
    Gone,
    /// The body is malformed.
    Malformed(&'static str),
}

impl From<io::Error> for BodyError {
    fn from(_: io::Error) -> BodyError {
        BodyError::Gone
    }
}

struct Sink {
    keep: bool,
    max_bytes: u64,
    data: Vec<u8>,
    reserved: Option<Reserved>,
    length: u64,
    refused: Option<Refused>,
    aws: Option<Chunks>,
}

impl Sink {
    fn keeps(&self) -> bool {
        self.keep && self.refused.is_none()
    }

    /// Accounts for content that is about to be kept.
    fn account(&mut self, count: u64) {
        self.length += count;
        let refused = if self.length > self.max_bytes {
            Some(Refused::TooLarge)
        } else if self.keeps() && !self.reserved.as_mut().is_some_and(|reserved| reserved.grow(count)) {
            Some(Refused::NoSpace)
        } else {
            None
        };
        if self.refused.is_none() && refused.is_some() {
            self.refused = refused;
            (self.data, self.reserved) = (Vec::new(), None);
        }
    }

    fn content(&mut self, bytes: &[u8]) {
        self.account(bytes.len() as u64);
        if self.keeps() {
            self.data.extend_from_slice(bytes);
        }
    }

    fn push(&mut self, mut bytes: &[u8]) -> Result<(), BodyError> {
        let Some(mut aws) = self.aws.take() else {
            self.content(bytes);
            return Ok(());
        };
        loop {
            match aws.step(&mut bytes).map_err(BodyError::Malformed)? {
                Step::Data(data) => self.content(data),
                Step::More => break,
                Step::End if bytes.is_empty() => break,
                Step::End => return Err(BodyError::Malformed("There is content after the last aws-chunk.")),
            }
        }
        self.aws = Some(aws);
        Ok(())
    }
}

/// How fast a body is read.
struct Throttle {
    from_ns: u64,
    per_s: Option<f64>,
    link: Option<Rc<Link>>,
}

impl Throttle {
    fn new(pace: &Pace, from_ns: u64) -> Option<Throttle> {
        let throttle = Throttle { from_ns, per_s: pace.upload_per_s, link: pace.upload.clone() };
        (throttle.per_s.is_some() || throttle.link.is_some()).then_some(throttle)
    }
}

/// Receives one body.
pub(crate) struct Receiver<'a, S> {
    pub(crate) sock: &'a mut S,
    pub(crate) input: &'a mut Input,
    pub(crate) timer: &'a Timer,
    pub(crate) clock: Clock,
    /// Time of the last sign of life.
    pub(crate) alive: &'a Cell<u64>,
}

impl<S: Sock> Receiver<'_, S> {
    /// Reads the whole body.
    pub(crate) async fn receive(mut self, framing: Framing, plan: Plan) -> Result<Body, BodyError> {
        let mut sink = Sink {
            keep: plan.keep,
            max_bytes: plan.max_bytes,
            data: Vec::new(),
            reserved: if plan.keep { plan.budget.reserve(0) } else { None },
            length: 0,
            refused: None,
            aws: plan.aws_chunked.then(Chunks::new),
        };
        let pace = plan.pace.and_then(|pace| Throttle::new(&pace, self.clock.now_ns()));
        let pace = pace.as_ref();
        let (wire, mut trailers) = match framing {
            Framing::Length(length) => (self.by_length(length, &mut sink, pace).await?, Vec::new()),
            Framing::Chunked => self.in_chunks(&mut sink, pace).await?,
        };
        if let Some(mut aws) = sink.aws.take() {
            if !matches!(aws.step(&mut &[][..]), Ok(Step::End)) {
                return Err(BodyError::Malformed("The aws-chunked body ends before its last chunk."));
            }
            trailers.append(&mut aws.trailers);
        }
        if sink.data.capacity() - sink.data.len() > sink.data.len() / 4 {
            sink.data.shrink_to_fit();
        }
        let Sink { data, reserved, length, refused, .. } = sink;
        Ok(Body { data, reserved, length, wire, trailers, refused })
    }

    /// Waits until these bytes may have come, the last `new` of them just now.
    async fn wait(&self, pace: Option<&Throttle>, done: u64, new: u64) {
        let Some(pace) = pace else { return };
        let own_ns = pace.per_s.map_or(0, |per_s| pace.from_ns + (done as f64 / per_s * 1e9) as u64);
        let shared_ns = pace.link.as_ref().map_or(0, |link| link.pass(self.clock.now_ns(), new));
        self.alive.set(u64::MAX);
        self.timer.until(own_ns.max(shared_ns)).await;
        self.alive.set(self.clock.now_ns());
    }

    async fn more(&mut self) -> Result<(), BodyError> {
        if self.input.fill(self.sock).await? == 0 {
            return Err(BodyError::Gone);
        }
        self.alive.set(self.clock.now_ns());
        Ok(())
    }

    async fn by_length(
        &mut self,
        length: u64,
        sink: &mut Sink,
        pace: Option<&Throttle>,
    ) -> Result<u64, BodyError> {
        let mut left = length;
        while left > 0 {
            let there = self.input.bytes().len() as u64;
            if there > 0 {
                let take = there.min(left) as usize;
                if sink.keeps() && sink.data.capacity() == 0 && sink.aws.is_none() {
                    // Room for a small object at once; a large one must arrive to get its memory.
                    sink.data.reserve_exact(length.min(1 << 20) as usize);
                }
                sink.push(&self.input.bytes()[..take])?;
                self.input.consume(take);
                left -= take as u64;
                self.wait(pace, length - left, take as u64).await;
            } else if pace.is_some() || sink.aws.is_some() || (!sink.keeps() && !S::PLAIN) {
                self.more().await?;
            } else if sink.keeps() {
                left -= self.direct(left, length, sink).await?;
            } else {
                let drained = drain(self.sock.tcp(), left).await?;
                if drained == 0 {
                    return Err(BodyError::Gone);
                }
                self.alive.set(self.clock.now_ns());
                sink.account(drained as u64);
                left -= drained as u64;
            }
        }
        Ok(length)
    }

    /// Reads once, straight into the kept content; what belongs to the next request goes to the input.
    async fn direct(&mut self, left: u64, length: u64, sink: &mut Sink) -> Result<u64, BodyError> {
        let data = &mut sink.data;
        let before = data.len();
        if data.capacity() == before {
            let target = length.min((2 * before as u64).max(1 << 20)) as usize;
            data.reserve_exact(target.saturating_sub(before).max(1));
        }
        let read = self.sock.read_buf(data).await? as u64;
        if read == 0 {
            return Err(BodyError::Gone);
        }
        self.alive.set(self.clock.now_ns());
        let ours = read.min(left);
        self.input.push(&data[before + ours as usize..]);
        data.truncate(before + ours as usize);
        sink.account(ours);
        Ok(ours)
    }

    async fn in_chunks(
        &mut self,
        sink: &mut Sink,
        pace: Option<&Throttle>,
    ) -> Result<(u64, Vec<(String, String)>), BodyError> {
        let (mut chunks, mut wire) = (Chunks::new(), 0);
        loop {
            let mut bytes = self.input.bytes();
            let before = bytes.len();
            let ended = loop {
                match chunks.step(&mut bytes).map_err(BodyError::Malformed)? {
                    Step::Data(data) => sink.push(data)?,
                    Step::More => break false,
                    Step::End => break true,
                }
            };
            let used = before - bytes.len();
            self.input.consume(used);
            wire += used as u64;
            self.wait(pace, sink.length, used as u64).await;
            if ended {
                return Ok((wire, chunks.trailers));
            }
            self.more().await?;
        }
    }
}
