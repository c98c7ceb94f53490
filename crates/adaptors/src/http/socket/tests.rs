//! A socket whose stamps come through the error queue while nobody looks there.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::future::poll_fn;
use std::io::Read;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const PAUSE: Duration = Duration::from_millis(300);

fn cpu_of_this_thread() -> Duration {
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut used) };
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}

#[tokio::test(flavor = "current_thread")]
async fn a_full_socket_with_a_stamp_in_its_error_queue_waits_for_room_and_does_not_spin() {
    full_socket(false).await;
}

/// The network lost the request's first segment, so that it has two stamps.
#[tokio::test(flavor = "current_thread")]
async fn a_full_socket_with_a_second_stamp_of_its_request_waits_for_room_and_does_not_spin() {
    full_socket(true).await;
}

async fn full_socket(sent_again: bool) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    socket2::SockRef::from(&listener).set_recv_buffer_size(64 * 1024).unwrap();
    let address = listener.local_addr().unwrap();
    let content = vec![7_u8; 1 << 20];
    let wanted = content.len() + 5;
    let (begins, begun) = std::sync::mpsc::sync_channel(1);
    let peer = std::thread::spawn(move || {
        let mut peer = listener.accept().unwrap().0;
        begun.recv().unwrap();
        std::thread::sleep(PAUSE);
        let mut all = vec![0; wanted];
        peer.read_exact(&mut all).unwrap();
        std::io::Write::write_all(&mut peer, b"done").unwrap();
        all
    });
    let tcp = TcpStream::connect(address).await.unwrap();
    socket2::SockRef::from(&tcp).set_send_buffer_size(64 * 1024).unwrap();
    let mut socket = Socket::new(tcp);
    socket.stamp().unwrap();
    // Stamped, and nobody takes the stamp before the runtime hears of it: as with a queue before the network card.
    let fd = socket.fd().unwrap();
    socket.stamps.as_mut().unwrap().send_without_a_look(fd, b"first").unwrap();
    if sent_again {
        socket.stamps.as_mut().unwrap().believe_sent(clock::Offset::now().1);
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    let (used, began) = (cpu_of_this_thread(), std::time::Instant::now());
    begins.send(()).unwrap();
    socket.write_all(&content).await.unwrap();
    let (used, took) = (cpu_of_this_thread() - used, began.elapsed());
    assert!(took >= PAUSE / 2, "the peer did not let it wait: {took:?}");
    assert!(used < took / 2, "{used:?} of a processor in {took:?}");
    // Nor does it count as broken for reading, and its stamps are those of the exchange.
    let mut answer = [0; 4];
    socket.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"done");
    let wire = socket.stamped().unwrap();
    if !sent_again {
        let wire = wire.unwrap();
        assert!(wire.end_ns - wire.sent_ns >= u64::try_from((PAUSE / 2).as_nanos()).unwrap(), "{wire:?}");
    }
    assert!(socket.stamped().is_none());
    assert_eq!(peer.join().unwrap(), [&b"first"[..], &content].concat());
}

#[tokio::test(flavor = "current_thread")]
async fn tokio_takes_a_stamp_for_the_end_of_writing_which_is_why_sockets_are_registered_anew() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let mut socket = Socket::new(tcp);
    socket.stamp().unwrap();
    let fd = socket.fd().unwrap();
    socket.stamps.as_mut().unwrap().send_without_a_look(fd, b"x").unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let state = async |socket: &Socket| socket.tcp().unwrap().ready(Interest::WRITABLE).await.unwrap();
    // Once it is not: `register_again` can go.
    assert!(state(&socket).await.is_write_closed());
    socket.register_again().unwrap();
    assert!(!state(&socket).await.is_write_closed());
    // Nor does a stamp stay there that nobody waits for: that of a segment which was sent again.
    socket.stamps.as_mut().unwrap().send_without_a_look(fd, b"z").unwrap();
    socket.stamps.as_mut().unwrap().believe_sent(clock::Offset::now().1);
    tokio::time::sleep(Duration::from_millis(20)).await;
    socket.register_again().unwrap();
    assert!(!state(&socket).await.is_write_closed());
    poll_fn(|cx| Pin::new(&mut socket).poll_write(cx, b"y")).await.unwrap();
}
