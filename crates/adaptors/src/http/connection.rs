//! One worker's keep-alive connection and the exchange over it.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use cosmark_adaptor_api::sockets::{self, Counted};
use cosmark_adaptor_api::{Error, ErrorKind, Marks, Reply, Result, WireGap, clock};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::decode::{Decoder, Event};
use super::dial::{Dialled, Transport, dial};
use super::echo;
use super::endpoint::WireTime;
use super::receive::{Receiver, poll_bytes};
use super::send::{Frames, Outgoing, SendFailure};
use super::{Answer, Body, Endpoint, Request, Take};

/// A connection that was idle for longer is looked at before it is used again.
const IDLE_UNCHECKED: Duration = Duration::from_millis(500);
/// How long the body waits for a 100 that never comes (RFC 9110, section 10.1.1).
const CONTINUE_WAIT: Duration = Duration::from_secs(1);
/// Reads or writes in a row before other connections of the thread get their turn.
const STEPS_PER_TURN: u32 = 4;
/// Kept bodies above this size are given back to the allocator.
const KEEP_ALLOCATED: usize = 1 << 20;
/// Most bytes read at once of an answer that comes before the request is sent.
const EARLY_READ: usize = 16 * 1024;

/// One keep-alive connection, for one exchange at a time. Opens when first used.
pub struct Connection {
    endpoint: Arc<Endpoint>,
    turn: usize,
    /// See [`Marks::endpoint`](cosmark_adaptor_api::Marks).
    number: u16,
    /// Before the socket, so that it is dropped before it.
    counted: Option<Counted>,
    transport: Option<Transport>,
    /// An exchange began and has not ended: if it was dropped, bytes of it are still under way.
    busy: bool,
    idle_since: Duration,
    decoder: Decoder,
    /// Bytes that came while the request was being sent.
    early: Vec<u8>,
    kept: Vec<u8>,
    frames: Frames,
}

// Heads and bodies may hold tokens: they are not shown.
impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_open = self.transport.is_some();
        f.debug_struct("Connection")
            .field("peer", &self.endpoint.peer())
            .field("is_open", &is_open)
            .finish_non_exhaustive()
    }
}

/// How the sending of a request ended.
enum Sent {
    Whole,
    /// The answer came first, or the connection broke, after so many of so many body bytes.
    Cut((u64, u64)),
}

impl Connection {
    /// A connection that is not open yet.
    #[must_use]
    pub fn new(endpoint: &Arc<Endpoint>) -> Self {
        Self {
            endpoint: Arc::clone(endpoint),
            turn: endpoint.next_turn(),
            number: endpoint.number(),
            counted: None,
            transport: None,
            busy: false,
            idle_since: Duration::ZERO,
            decoder: Decoder::new(),
            early: Vec::new(),
            kept: Vec::new(),
            frames: Frames::default(),
        }
    }

    /// Where it goes.
    #[must_use]
    pub fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// Sends the request and reads the whole answer, opening the connection first if needed. Fills `marks` as it goes:
    /// connections, connect_ns, tls_ns, requests, request_sent_ns where the time on the wire is asked for, endpoint, first_byte_ns,
    /// status, and body_bytes (the request's body, or, of a request without one, the body of a 2xx answer).
    ///
    /// # Errors
    /// By what went wrong (`Connect`, `Reset`, `Tls`, `ShortBody`, `Protocol`, `LocalIo`), never by status: an answer
    /// with status 404 is `Ok`. After an error the connection is closed; the next call opens a new one.
    pub async fn exchange(
        &mut self,
        request: Request<'_>,
        take: Take<'_>,
        marks: &mut Marks,
    ) -> Result<Answer> {
        if self.busy || (self.transport.is_some() && self.is_stale().await) {
            self.let_go();
        }
        self.busy = true;
        if self.transport.is_none() {
            self.open(marks).await?;
        }
        marks.requests += 1;
        marks.endpoint = self.number;
        let (has_body, head) = (!request.is_head, request.head);
        let is_stamped = self.stamp(marks);
        let result = self.send_and_receive(request, take, marks).await.and_then(|reusable| {
            if has_body {
                self.decoder.check_announced()?
            };
            Ok(reusable)
        });
        if is_stamped {
            self.note_stamps(marks, result.is_ok());
        }
        match result {
            Ok(true) => {
                self.busy = false;
                self.idle_since = coarse_now();
            }
            Ok(false) => self.close(),
            Err(error) => {
                self.close();
                return Err(error);
            }
        }
        if !(200..300).contains(&self.decoder.status) && !self.kept.is_empty() {
            echo::hide(&mut self.kept, head);
        }
        Ok(Answer {
            status: self.decoder.status,
            body_bytes: self.decoder.body_bytes,
            content_length: self.decoder.content_length,
        })
    }

    /// First value of a header line of the last answer, by case-insensitive name; `None` too where it is not UTF-8.
    #[must_use]
    pub fn header<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.decoder.header_all(name).next()
    }

    /// All values of a header line of the last answer, in order.
    pub fn header_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.decoder.header_all(name)
    }

    /// The last answer with all of its header lines, whatever its status.
    pub(crate) fn reply(&self, answer: Answer) -> Reply {
        let lines = self.decoder.lines().map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        Reply { status: answer.status, lines: lines.collect(), body: self.kept.clone() }
    }

    /// The body of the last answer that was kept: all of it for [`Take::Keep`] and success, the first
    /// [`super::ERROR_BODY_LIMIT`] bytes where the status was not 2xx, without the request's credentials; else empty.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.kept
    }

    /// Closes it; the next exchange opens a new one.
    pub fn close(&mut self) {
        self.let_go();
        self.busy = false;
    }

    fn let_go(&mut self) {
        self.counted = None;
        self.transport = None;
    }

    async fn open(&mut self, marks: &mut Marks) -> Result<()> {
        let since = clock::now_ns();
        let result = dial(&self.endpoint, self.turn).await;
        marks.connect_ns += clock::now_ns() - since;
        let Dialled { transport, address, tls_ns } = result?;
        marks.tls_ns += tls_ns;
        self.number = self.endpoint.number_at(address);
        self.counted = transport.socket().fd().ok().map(sockets::count);
        self.transport = Some(transport);
        marks.connections += 1;
        Ok(())
    }

    /// Asks the system to stamp this exchange, if its operation is one of those that are stamped.
    fn stamp(&mut self, marks: &mut Marks) -> bool {
        let weight = match self.endpoint.wire_time {
            WireTime::Unasked => return false,
            WireTime::Off => {
                marks.wire.gap = Some(WireGap::Off);
                return false;
            }
            WireTime::All => 1,
            WireTime::Auto => marks.wire.draw(),
        };
        let Some(transport) = self.transport.as_mut().filter(|_| weight > 0) else { return false };
        marks.wire.weight = weight;
        let asked = transport.socket_mut().stamp();
        marks.wire.gap = marks.wire.gap.or(asked.err());
        asked.is_ok()
    }

    /// Takes the stamps of the exchange that ended.
    fn note_stamps(&mut self, marks: &mut Marks, is_answered: bool) {
        let stamped = self.transport.as_mut().and_then(|transport| transport.socket_mut().stamped());
        match stamped.filter(|_| is_answered).unwrap_or(Err(WireGap::Partly)) {
            Ok(request) => marks.wire.add(request),
            Err(gap) => marks.wire.gap = marks.wire.gap.or(Some(gap)),
        }
    }

    /// True when the peer closed the idle connection, or sent what nobody asked for.
    async fn is_stale(&mut self) -> bool {
        let idle = coarse_now().saturating_sub(self.idle_since);
        poll_fn(|cx| Poll::Ready(self.poll_stale(cx, idle > IDLE_UNCHECKED))).await
    }

    fn poll_stale(&mut self, cx: &mut Context<'_>, look: bool) -> bool {
        let Some(transport) = &mut self.transport else { return true };
        if look {
            let Ok(tcp) = transport.socket().tcp() else { return true };
            match recv(tcp, &mut [0], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
                Ok((0, _)) => return true,
                Ok(_) => {}
                Err(error) => return error != Errno::WOULDBLOCK,
            }
        }
        // Costs no system call while nothing has arrived. TLS uses up its own messages (session tickets) here.
        poll_bytes(transport, cx, 1, |_| ()).is_ready()
    }

    /// One exchange over the open connection; `true` = it can be used again.
    async fn send_and_receive(
        &mut self,
        request: Request<'_>,
        take: Take<'_>,
        marks: &mut Marks,
    ) -> Result<bool> {
        self.early.clear();
        if self.kept.capacity() > KEEP_ALLOCATED {
            self.kept = Vec::new();
        }
        self.kept.clear();
        self.decoder.start(request.is_head);
        let counted = matches!(request.body, Body::None);
        let marked = marks.first_byte_ns != 0;
        let sent = self.send(request, marked, marks).await?;
        if marks.wire.weight > 0 {
            marks.request_sent_ns = clock::now_ns();
        }
        let Some(transport) = &mut self.transport else { return Err(closed()) };
        let mut receiver = Receiver {
            decoder: &mut self.decoder,
            kept: &mut self.kept,
            take,
            counted,
            marked,
            surplus: false,
        };
        if !receiver.accept(&self.early, marks)? {
            let mut steps = 0;
            poll_fn(|cx| {
                loop {
                    let step = receiver.poll_step(cx, transport, marks);
                    transport.socket_mut().note_first_byte(marks.first_byte_ns != 0);
                    match step {
                        Poll::Ready(Ok(false)) => {}
                        other => return other,
                    }
                    if !may_go_on(&mut steps, cx) {
                        return Poll::Pending;
                    }
                }
            })
            .await
            .map_err(|error| explain_cut(error, &sent))?;
        }
        let surplus = receiver.surplus;
        match sent {
            Sent::Cut((sent, total)) if (200..300).contains(&self.decoder.status) => {
                let status = self.decoder.status;
                let message = format!("the server answered {status} after {sent} of {total} body bytes");
                Err(Error::new(ErrorKind::Reset, message).with_partial_bytes(sent))
            }
            Sent::Cut(_) => Ok(false),
            Sent::Whole => Ok(!surplus && self.decoder.keep_alive),
        }
    }

    /// Sends the request, but stops when a final answer that is no success comes first.
    async fn send(&mut self, request: Request<'_>, marked: bool, marks: &mut Marks) -> Result<Sent> {
        let Some(transport) = &mut self.transport else { return Err(closed()) };
        let early = &mut self.early;
        let mut watch = !matches!(request.body, Body::None);
        let hold = watch && request.expects_continue;
        let mut outgoing = Outgoing::new(request.head, request.body, &mut self.frames, hold);
        loop {
            let mut steps = 0;
            let pause = poll_fn(|cx| {
                loop {
                    let step = match outgoing.poll_step(cx, transport, marks) {
                        Poll::Ready(Ok(true)) => return Poll::Ready(Pause::Sent),
                        Poll::Ready(Err(failure)) => return Poll::Ready(Pause::Failed(failure)),
                        step => step,
                    };
                    if watch && let Poll::Ready(is_open) = poll_early(transport, cx, early) {
                        return Poll::Ready(Pause::Arrived { is_open });
                    }
                    if step.is_pending() || !may_go_on(&mut steps, cx) {
                        return Poll::Pending;
                    }
                }
            })
            .await;
            let is_open = match pause {
                Pause::Sent if outgoing.hold => {
                    let wait = poll_fn(|cx| poll_early(transport, cx, early));
                    let waited = tokio::time::timeout(CONTINUE_WAIT, wait).await;
                    outgoing.hold = false;
                    waited.unwrap_or(true)
                }
                Pause::Sent => return Ok(Sent::Whole),
                Pause::Arrived { is_open } => is_open,
                Pause::Failed(SendFailure::Connection) => false,
                Pause::Failed(SendFailure::Source(error)) => {
                    return Err(Error::new(ErrorKind::LocalIo, format!("the body cannot be read: {error}"))
                        .with_hint("check the source file on the driver's machine"));
                }
            };
            let status = sniff(&mut self.decoder, early, marked, marks)?;
            transport.socket_mut().note_first_byte(marks.first_byte_ns != 0);
            if !is_open || status.is_some_and(|status| status >= 300) {
                return Ok(Sent::Cut(outgoing.progress()));
            }
            // A success that comes early is odd but no reason to stop.
            watch &= status.is_none();
        }
    }
}

/// Why the sending of a request paused.
enum Pause {
    Sent,
    /// Something arrived before all was sent, or (not `is_open`) the peer closed.
    Arrived {
        is_open: bool,
    },
    Failed(SendFailure),
}

/// Reads what arrives while a request is being sent; `false` = the peer closed.
fn poll_early(transport: &mut Transport, cx: &mut Context<'_>, early: &mut Vec<u8>) -> Poll<bool> {
    poll_bytes(transport, cx, EARLY_READ, |bytes| {
        early.extend_from_slice(bytes);
        !bytes.is_empty()
    })
    .map(|result| result.unwrap_or(false))
}

/// Decodes the head of an answer that came early; its status if it is complete and final.
fn sniff(decoder: &mut Decoder, early: &mut Vec<u8>, marked: bool, marks: &mut Marks) -> Result<Option<u16>> {
    let mut used = 0;
    let mut is_final = false;
    while used < early.len() && !is_final {
        marks.first_byte();
        let (taken, event) = decoder.push(&early[used..], |_| {})?;
        used += taken;
        match event {
            Event::Interim if !marked => marks.first_byte_ns = 0,
            Event::Interim | Event::More => {}
            Event::Head | Event::Done => is_final = true,
        }
    }
    early.drain(..used);
    if is_final {
        marks.status = decoder.status;
    }
    Ok(is_final.then_some(decoder.status))
}

/// Counts reads or writes in a row; `false` = the others' turn, this task is woken again.
fn may_go_on(steps: &mut u32, cx: &Context<'_>) -> bool {
    *steps += 1;
    let go_on = !steps.is_multiple_of(STEPS_PER_TURN);
    if !go_on {
        cx.waker().wake_by_ref();
    }
    go_on
}

/// Says that a connection broke under the request's body, if it did.
fn explain_cut(error: Error, sent: &Sent) -> Error {
    match sent {
        Sent::Cut((sent, total)) if error.kind() == ErrorKind::Reset => Error::new(
            ErrorKind::Reset,
            format!("the server closed the connection while the body was sent ({sent} of {total} bytes)"),
        )
        .with_hint("it may refuse the size or the credentials: see the server's log")
        .with_partial_bytes(*sent),
        _ => error,
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Reset, "the connection is closed")
}

/// The monotonic clock, exact to some milliseconds and cheaper than the exact one.
fn coarse_now() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a live timespec; this clock exists since Linux 2.6.32.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
    }
    #[cfg(not(target_os = "linux"))]
    Duration::from_nanos(clock::now_ns())
}
