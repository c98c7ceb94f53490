//! The kernel's stamps of one socket (Linux, `SO_TIMESTAMPING`; the kernel's documentation, networking/timestamping): of
//! bytes that were received, with the read that returns them, and of the request's first bytes, when they were handed to
//! the network driver, through the error queue.
//!
//! A read of TCP returns the stamp of the newest segment that it took, so the last read of an answer has the stamp of its
//! last byte, whenever it was read. What one write sends has the stamp of its last byte: so that the stamp is that of the
//! request's beginning, a write that would not leave at once is cut after its first piece. Stamps of network cards are
//! not asked for: their clocks are others than the machine's.

use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::OnceLock;

use cosmark_adaptor_api::{OnWire, WireGap};

use super::clock::{self, Offset, Raw};

/// Flags of a read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flags(pub(super) i32);

impl Flags {
    pub(super) const NONE: Self = Self(0);
    /// The bytes are dropped in the kernel.
    #[cfg(target_os = "linux")]
    pub(super) const DROP: Self = Self(libc::MSG_TRUNC);
}

/// What is stamped of a socket.
#[derive(Debug)]
pub(super) struct Stamps {
    /// Bytes written since stamps were asked for first, modulo 2^32: the kernel's own count.
    written: u32,
    exchange: Option<Exchange>,
    /// The stamp of an earlier exchange has not come.
    is_owed: bool,
}

/// The exchange that is being stamped.
#[derive(Debug)]
struct Exchange {
    begin: (Offset, u64),
    sent: Sent,
    first_byte_ns: Option<u64>,
    /// Of the newest bytes that were read, if they had one.
    newest_ns: Option<u64>,
}

/// The stamp of the request's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// Nothing has been written.
    Not,
    /// It will come with this number.
    Awaited(u32),
    At(u64),
}

/// What leaves in one burst on every connection: ten segments (RFC 6928), of 1448 bytes on Ethernet.
const BURST_BYTES: usize = 14_480;
/// Old stamps of the error queue that are passed over in search of one.
const MOST_OLD: u32 = 8;
/// Stamps that are taken out of an error queue at once: more than one segment is ever sent again.
const MOST_DRAINED: u32 = 64;

/// What keeps the system stamping from one connection to the next.
static ASKED: OnceLock<Option<UdpSocket>> = OnceLock::new();

/// See [`super::announce`].
pub(super) fn announce() {
    ASKED.get_or_init(|| {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
        sys::enable(socket.as_raw_fd()).ok()?;
        Some(socket)
    });
}

impl Stamps {
    /// Asks the system to stamp this connected socket.
    ///
    /// # Errors
    /// `System`
    pub(super) fn enable(fd: RawFd) -> Result<Self, WireGap> {
        sys::enable(fd).map_err(|_| WireGap::System)?;
        Ok(Self { written: 0, exchange: None, is_owed: false })
    }

    pub(super) fn begin(&mut self, fd: RawFd) {
        // One that came too late for its exchange would be reported as an error for ever.
        while self.is_owed && sys::next_sent(fd).is_some() {}
        self.is_owed = false;
        self.exchange = Some(Exchange {
            begin: (Offset::last(), cosmark_adaptor_api::clock::now_ns()),
            sent: Sent::Not,
            first_byte_ns: None,
            newest_ns: None,
        });
    }

    pub(super) fn is_active(&self) -> bool {
        self.exchange.is_some()
    }

    pub(super) fn note_first_byte(&mut self, has_come: bool) {
        if let Some(exchange) = &mut self.exchange {
            exchange.first_byte_ns =
                if has_come { exchange.first_byte_ns.or(exchange.newest_ns) } else { None };
        }
    }

    /// Notes a read of some bytes.
    fn note_read(&mut self, at_ns: Option<u64>) {
        if let Some(exchange) = &mut self.exchange {
            exchange.newest_ns = at_ns;
        }
    }

    /// Writes; what is written first in an exchange is stamped.
    pub(super) fn send(&mut self, fd: RawFd, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let is_first = self.exchange.as_ref().is_some_and(|exchange| exchange.sent == Sent::Not);
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        let is_cut = is_first && total > BURST_BYTES && pieces.len() > 1 && !pieces[0].is_empty();
        let count = sys::send(fd, if is_cut { &pieces[..1] } else { pieces }, is_first, is_cut)?;
        self.written = self.written.wrapping_add(u32::try_from(count & 0xffff_ffff).unwrap_or(0));
        if is_first
            && count > 0
            && let Some(exchange) = &mut self.exchange
        {
            exchange.sent = Sent::Awaited(self.written.wrapping_sub(1));
            self.look_for_sent(fd);
        }
        Ok(count)
    }

    /// Sends the first bytes of an exchange, and leaves their stamp in the error queue.
    #[cfg(all(test, target_os = "linux"))]
    pub(super) fn send_without_a_look(&mut self, fd: RawFd, bytes: &[u8]) -> io::Result<()> {
        let count = sys::send(fd, &[IoSlice::new(bytes)], true, false)?;
        self.written = self.written.wrapping_add(u32::try_from(count).unwrap_or(0));
        if let Some(exchange) = &mut self.exchange {
            exchange.sent = Sent::Awaited(self.written.wrapping_sub(1));
        }
        Ok(())
    }

    /// As if the stamp had come already, and what stands in the error queue were another one of the same segment.
    #[cfg(all(test, target_os = "linux"))]
    pub(super) fn believe_sent(&mut self, at_ns: u64) {
        if let Some(exchange) = &mut self.exchange {
            exchange.sent = Sent::At(at_ns);
        }
    }

    /// Takes the awaited stamp out of the error queue, if it is there.
    pub(super) fn look_for_sent(&mut self, fd: RawFd) {
        let Some(exchange) = &mut self.exchange else { return };
        exchange.sent.look(|| sys::next_sent(fd));
    }

    /// Empties the error queue, and takes the awaited stamp if it is there. A segment that was sent again has a stamp again: one
    /// that nobody waits for any more would be reported as an error for ever.
    pub(super) fn drain(&mut self, fd: RawFd) {
        for _ in 0..MOST_DRAINED {
            let Some((number, at_ns)) = sys::next_sent(fd) else { return };
            if let Some(exchange) = &mut self.exchange
                && exchange.sent == Sent::Awaited(number)
            {
                exchange.sent = Sent::At(at_ns);
            }
        }
    }

    /// Ends the exchange that was begun, if one was.
    pub(super) fn end(&mut self, fd: RawFd) -> Option<Result<OnWire, WireGap>> {
        self.look_for_sent(fd);
        let exchange = self.exchange.take()?;
        self.is_owed = matches!(exchange.sent, Sent::Awaited(_));
        Some(exchange.result(Offset::now()))
    }
}

impl Sent {
    /// `next` gives number and time of the queue's stamps, one after the other.
    fn look(&mut self, mut next: impl FnMut() -> Option<(u32, u64)>) {
        for _ in 0..MOST_OLD {
            let Self::Awaited(wanted) = *self else { return };
            match next() {
                Some((number, at_ns)) if number == wanted => *self = Self::At(at_ns),
                // Of an earlier exchange, or the same bytes sent again: the first time counts.
                Some(_) => {}
                None => return,
            }
        }
    }
}

impl Exchange {
    fn result(&self, end: (Offset, u64)) -> Result<OnWire, WireGap> {
        let Sent::At(sent_ns) = self.sent else { return Err(WireGap::NotSent) };
        let Some(end_ns) = self.newest_ns else { return Err(WireGap::NotReceived) };
        let first_byte_ns = self.first_byte_ns.unwrap_or(end_ns);
        clock::convert(Raw { sent_ns, first_byte_ns, end_ns }, self.begin, end)
    }
}

/// Reads; the stamp goes to `stamps`.
pub(super) fn receive(
    fd: RawFd,
    buffer: &mut [u8],
    flags: Flags,
    stamps: Option<&mut Stamps>,
) -> io::Result<usize> {
    let Some(stamps) = stamps.filter(|stamps| stamps.is_active()) else {
        return sys::receive(fd, buffer, flags);
    };
    let (count, at_ns) = sys::receive_stamped(fd, buffer, flags)?;
    if count > 0 {
        stamps.note_read(at_ns);
    }
    Ok(count)
}

#[cfg(target_os = "linux")]
mod sys {
    //! The system calls.

    use std::io::{self, IoSlice};
    use std::os::fd::RawFd;

    use super::super::control::{self, CONTROL_BYTES, Control, TIMESTAMPING};
    use super::Flags;

    /// Stamps are made and reported by the software, numbered by byte, without a copy of what was sent.
    const WANTED: u32 = libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;

    /// Control messages must begin where a header may.
    #[repr(C, align(8))]
    struct Room([u8; CONTROL_BYTES]);

    pub(super) fn enable(fd: RawFd) -> io::Result<()> {
        // Since Linux 6.2 bytes can be counted from the next that is written; before, from the first that was not
        // acknowledged, which is the same where nothing is under way.
        set(fd, WANTED | libc::SOF_TIMESTAMPING_OPT_ID_TCP).or_else(|_| set(fd, WANTED))
    }

    fn set(fd: RawFd, flags: u32) -> io::Result<()> {
        // SAFETY: the value is a live u32 of the length given.
        let result = unsafe {
            libc::setsockopt(
                fd,
                libc::SOL_SOCKET,
                TIMESTAMPING,
                (&raw const flags).cast(),
                size_of::<u32>() as libc::socklen_t,
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn message() -> libc::msghdr {
        // SAFETY: msghdr is a plain C structure for which all zeroes is "nothing".
        unsafe { std::mem::zeroed() }
    }

    fn checked(result: isize) -> io::Result<usize> {
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }

    pub(super) fn receive(fd: RawFd, buffer: &mut [u8], flags: Flags) -> io::Result<usize> {
        // SAFETY: pointer and length are those of a live, writable buffer.
        checked(unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), flags.0) })
    }

    pub(super) fn receive_stamped(
        fd: RawFd,
        buffer: &mut [u8],
        flags: Flags,
    ) -> io::Result<(usize, Option<u64>)> {
        let (count, control) = receive_message(fd, buffer, flags.0)?;
        Ok((count, control.at_ns))
    }

    /// Number and time of the next stamp in the error queue.
    pub(super) fn next_sent(fd: RawFd) -> Option<(u32, u64)> {
        loop {
            let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
            let (_, Control { at_ns, sent }) = receive_message(fd, &mut [], flags).ok()?;
            if let (Some(number), Some(at_ns)) = (sent, at_ns) {
                return Some((number, at_ns));
            }
        }
    }

    fn receive_message(fd: RawFd, buffer: &mut [u8], flags: i32) -> io::Result<(usize, Control)> {
        let mut room = Room([0; CONTROL_BYTES]);
        let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut header = message();
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        header.msg_control = room.0.as_mut_ptr().cast();
        header.msg_controllen = CONTROL_BYTES as _;
        // SAFETY: the header names a live buffer and live room for control messages, each with its length.
        let count = checked(unsafe { libc::recvmsg(fd, &raw mut header, flags) })?;
        #[allow(clippy::unnecessary_cast, reason = "its type differs between C libraries")]
        let length = (header.msg_controllen as usize).min(CONTROL_BYTES);
        Ok((count, control::read(&room.0[..length])))
    }

    pub(super) fn send(fd: RawFd, pieces: &[IoSlice<'_>], is_stamped: bool, more: bool) -> io::Result<usize> {
        let mut room = Room([0; CONTROL_BYTES]);
        let mut header = message();
        // The system only reads them.
        header.msg_iov = pieces.as_ptr().cast_mut().cast();
        header.msg_iovlen = pieces.len().min(1024) as _;
        if is_stamped {
            // SAFETY: CMSG_LEN and CMSG_SPACE only compute.
            let (length, space) = unsafe { (libc::CMSG_LEN(4), libc::CMSG_SPACE(4)) };
            room.0[..size_of::<usize>()].copy_from_slice(&(length as usize).to_ne_bytes());
            let at = size_of::<usize>();
            room.0[at..at + 4].copy_from_slice(&libc::SOL_SOCKET.to_ne_bytes());
            room.0[at + 4..at + 8].copy_from_slice(&TIMESTAMPING.to_ne_bytes());
            room.0[at + 8..at + 12].copy_from_slice(&libc::SOF_TIMESTAMPING_TX_SOFTWARE.to_ne_bytes());
            header.msg_control = room.0.as_mut_ptr().cast();
            header.msg_controllen = space as _;
        }
        let flags = libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
        // SAFETY: IoSlice has the layout of iovec; all pieces and the room for control messages outlive the call.
        checked(unsafe { libc::sendmsg(fd, &raw const header, flags) })
    }
}

#[cfg(not(target_os = "linux"))]
mod sys {
    //! No other system stamps TCP: what cannot be enabled is never called.

    use std::io::{self, IoSlice};
    use std::os::fd::RawFd;

    use super::Flags;

    pub(super) fn enable(_: RawFd) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn receive(_: RawFd, _: &mut [u8], _: Flags) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn receive_stamped(_: RawFd, _: &mut [u8], _: Flags) -> io::Result<(usize, Option<u64>)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn next_sent(_: RawFd) -> Option<(u32, u64)> {
        None
    }

    pub(super) fn send(_: RawFd, _: &[IoSlice<'_>], _: bool, _: bool) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        // What one exchange finds in the queue: stamps of earlier ones, its own, perhaps twice, perhaps never or later.
        #[test]
        fn the_first_stamp_with_the_awaited_number_is_taken_and_no_other(
            old in proptest::collection::vec((0u32..1000, 1u64..100), 0..6),
            own in proptest::option::of(100u64..200),
            again in proptest::option::of(200u64..300),
            looks_before in 0usize..3,
        ) {
            let wanted = 5000;
            let mut queue: std::collections::VecDeque<(u32, u64)> = old.iter().copied().collect();
            let mut sent = Sent::Awaited(wanted);
            for _ in 0..looks_before {
                sent.look(|| queue.pop_front());
                proptest::prop_assert_eq!(sent, Sent::Awaited(wanted));
            }
            queue.extend(own.map(|at_ns| (wanted, at_ns)));
            queue.extend(again.map(|at_ns| (wanted, at_ns)));
            sent.look(|| queue.pop_front());
            let expected = own.or(again).map_or(Sent::Awaited(wanted), Sent::At);
            proptest::prop_assert_eq!(sent, expected);
            sent.look(|| Some((wanted, 999)));
            proptest::prop_assert!(own.or(again).is_none() || sent == expected, "a second one changes nothing");
        }

        // An answer in any segments, read in any pieces, some without a stamp: the last byte's stamp is what counts.
        #[test]
        fn an_answer_has_the_stamp_of_the_read_that_brought_its_last_byte(
            reads in proptest::collection::vec(proptest::option::weighted(0.8, 1u64..50), 1..20),
            interim in 0usize..3,
        ) {
            let mut stamps = Stamps { written: 0, exchange: None, is_owed: false };
            stamps.begin(-1);
            let began = stamps.exchange.as_ref().map(|exchange| exchange.begin).unwrap();
            let real = |ns: u64| began.0.stamp(began.1 + ns);
            stamps.exchange.as_mut().unwrap().sent = Sent::At(real(0));
            let mut now_ns = 0;
            let mut last = None;
            let mut first = None;
            for (number, gap) in reads.iter().enumerate() {
                now_ns += gap.unwrap_or(1);
                last = gap.map(|_| now_ns);
                stamps.note_read(last.map(real));
                stamps.note_first_byte(number >= interim);
                if number >= interim {
                    first = first.or(last);
                }
            }
            let end = (began.0, began.1 + now_ns + 1);
            let result = stamps.exchange.take().unwrap().result(end);
            match last {
                None => proptest::prop_assert_eq!(result, Err(WireGap::NotReceived)),
                Some(last) => {
                    let wire = result.unwrap();
                    proptest::prop_assert_eq!(wire.sent_ns, began.1);
                    proptest::prop_assert_eq!(wire.end_ns, began.1 + last);
                    proptest::prop_assert_eq!(wire.first_byte_ns, began.1 + first.unwrap_or(last));
                }
            }
        }
    }

    #[test]
    fn an_exchange_without_a_stamp_of_sending_has_no_times() {
        let mut stamps = Stamps { written: 0, exchange: None, is_owed: false };
        assert!(stamps.end(-1).is_none(), "it was not asked for");
        stamps.begin(-1);
        stamps.note_read(Some(1));
        assert_eq!(stamps.end(-1), Some(Err(WireGap::NotSent)));
    }
}
