//! What the kernel counts for the connections of this process to stores: segments sent, and sent again (`TCP_INFO`, tcp(7),
//! `struct tcp_info` of linux/tcp.h). Other programs of the machine have no part in it. A connection is entered when it is
//! open and taken out when it closes; between operations nothing happens here.

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Segments of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segments {
    /// Sent.
    pub out: u64,
    /// Of these, sent again because they had not arrived. What the other end says to have got twice (DSACK, RFC 2883) is not
    /// counted: it was sent again because the answer came late, as from a store that is slow to read (RFC 8985, section 7).
    pub again: u64,
}

impl Segments {
    fn plus(self, other: Self) -> Self {
        Self { out: self.out + other.out, again: self.again + other.again }
    }
}

#[derive(Default)]
struct All {
    open: HashMap<u64, RawFd>,
    next: u64,
    /// Of those that are closed.
    closed: Segments,
}

static ALL: LazyLock<Mutex<All>> = LazyLock::new(Mutex::default);

/// An open connection that is counted; to be dropped before its socket.
#[derive(Debug)]
pub struct Counted {
    number: u64,
    fd: RawFd,
}

/// Counts the connected socket `fd` until what comes back is dropped.
#[must_use]
pub fn count(fd: RawFd) -> Counted {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let number = all.next;
    all.next += 1;
    all.open.insert(number, fd);
    Counted { number, fd }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let last = of_socket(self.fd).unwrap_or_default();
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.open.remove(&self.number);
        all.closed = all.closed.plus(last);
    }
}

/// Of all connections that this process has had to stores; `None` where the system does not tell.
#[must_use]
pub fn segments() -> Option<Segments> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    // Whoever opens or closes a connection waits meanwhile: a microsecond for each one that is open.
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    Some(all.open.values().filter_map(|fd| of_socket(*fd)).fold(all.closed, Segments::plus))
}

/// Where the counters lie in `struct tcp_info`.
const TOTAL_RETRANS_AT: usize = 100;
const SEGS_OUT_AT: usize = 136;
/// Since Linux 4.19.
const DSACK_DUPS_AT: usize = 216;

#[cfg(target_os = "linux")]
fn of_socket(fd: RawFd) -> Option<Segments> {
    let mut info = [0_u8; 256];
    let mut length = libc::socklen_t::try_from(info.len()).ok()?;
    // SAFETY: buffer and length are valid for the call, which writes at most `length` bytes.
    let result = unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length)
    };
    let told = info.get(..usize::try_from(length).ok()?).filter(|_| result == 0)?;
    of_info(told)
}

/// What a `struct tcp_info` of any length says.
#[cfg(target_os = "linux")]
fn of_info(info: &[u8]) -> Option<Segments> {
    let number = |at: usize| {
        let bytes = info.get(at..at + 4)?;
        Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)))
    };
    let in_vain = number(DSACK_DUPS_AT).unwrap_or(0);
    Some(Segments { out: number(SEGS_OUT_AT)?, again: number(TOTAL_RETRANS_AT)?.saturating_sub(in_vain) })
}

#[cfg(not(target_os = "linux"))]
fn of_socket(_: RawFd) -> Option<Segments> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn what_arrived_twice_was_not_lost() {
        let mut info = [0_u8; 232];
        for (at, number) in [(TOTAL_RETRANS_AT, 30_u32), (SEGS_OUT_AT, 1000), (DSACK_DUPS_AT, 28)] {
            info[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        }
        assert_eq!(of_info(&info), Some(Segments { out: 1000, again: 2 }));
        assert_eq!(of_info(&info[..216]), Some(Segments { out: 1000, again: 30 }), "before Linux 4.19");
        info[DSACK_DUPS_AT] = 31;
        assert_eq!(of_info(&info), Some(Segments { out: 1000, again: 0 }), "the other end may say it twice");
        assert_eq!(of_info(&info[..100]), None);
    }

    #[test]
    fn segments_of_counted_connections_are_counted_open_and_closed_and_no_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let pair = || {
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (stream, listener.accept().unwrap().0)
        };
        let talk = |(one, other): &mut (TcpStream, TcpStream)| {
            for _ in 0..50 {
                one.write_all(b"a question").unwrap();
                other.read_exact(&mut [0; 10]).unwrap();
            }
        };
        let before = segments().unwrap();
        let mut foreign = pair();
        talk(&mut foreign);
        assert_eq!(segments().unwrap(), before, "nobody said that this is one of ours");
        let mut own = pair();
        let counted = count(own.0.as_raw_fd());
        talk(&mut own);
        let open = segments().unwrap();
        assert!(open.out >= before.out + 50 && open.again <= open.out, "{before:?} {open:?}");
        drop(counted);
        let closed = segments().unwrap();
        assert!(closed.out >= open.out, "{open:?} {closed:?}");
        talk(&mut own);
        assert_eq!(segments().unwrap(), closed, "it is not counted any more");
    }
}
