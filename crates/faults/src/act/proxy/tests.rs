//! The proxy passes bytes on unchanged, and each of its faults does what it says, proves it, and is gone when healed.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Instant;

use super::*;

/// Sends back what it gets, for ever.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let of = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let (mut from, mut to) = (stream.try_clone().unwrap(), stream);
                drop(std::io::copy(&mut from, &mut to));
            });
        }
    });
    of
}

fn ask(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut sender = stream.try_clone()?;
    let sent = bytes.to_vec();
    let sending = std::thread::spawn(move || sender.write_all(&sent));
    let mut back = vec![0; bytes.len()];
    stream.read_exact(&mut back)?;
    drop(sending.join());
    Ok(back)
}

fn until_landed(hand: &mut ByProxy) -> String {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(proof) = hand.landed().unwrap() {
            return proof;
        }
        assert!(Instant::now() < until, "it did not land");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn every_fault_of_the_proxy_does_what_it_says_and_ends_when_healed() {
    let of = echo();
    let proxies = Proxies::start(std::iter::once(of.as_str())).unwrap();
    let at = proxies.instead_of(&of).unwrap();
    let open = || {
        let stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    };
    let much: Vec<u8> = (0..3_000_000_u32).map(|number| number as u8).collect();
    let mut stream = open();
    assert!(ask(&mut stream, &much).unwrap() == much, "bytes are changed");
    assert!(proxies.cost(&of).unwrap().mean_us.unwrap() > 0.0);

    let mut delay = proxies.hand(&of, ProxyFault::Delay(Duration::from_millis(150))).unwrap();
    delay.inject(&mut |_| {}).unwrap();
    assert_eq!(delay.landed().unwrap(), None, "nothing has passed yet");
    let began = Instant::now();
    ask(&mut stream, b"late").unwrap();
    assert!(began.elapsed() >= Duration::from_millis(300), "both ways: {:?}", began.elapsed());
    assert!(until_landed(&mut delay).contains("ms or more"));
    delay.heal().unwrap();
    assert_eq!(delay.landed().unwrap(), None);

    let mut stall = proxies.hand(&of, ProxyFault::Stall).unwrap();
    stall.inject(&mut |_| {}).unwrap();
    stream.write_all(b"held").unwrap();
    until_landed(&mut stall);
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut back = [0; 4];
    assert!(stream.read(&mut back).is_err(), "nothing arrives");
    stall.heal().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"held");

    let mut slow = proxies.hand(&of, ProxyFault::Bandwidth(1_000_000)).unwrap();
    slow.inject(&mut |_| {}).unwrap();
    let began = Instant::now();
    ask(&mut stream, &much[..250_000]).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(400), "{:?}", began.elapsed());
    until_landed(&mut slow);
    slow.heal().unwrap();

    let mut reset = proxies.hand(&of, ProxyFault::Reset).unwrap();
    reset.inject(&mut |_| {}).unwrap();
    until_landed(&mut reset);
    let error = stream.read(&mut back).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    reset.heal().unwrap();
    ask(&mut open(), b"again").unwrap();

    let mut refuse = proxies.hand(&of, ProxyFault::Refuse).unwrap();
    refuse.inject(&mut |_| {}).unwrap();
    until_landed(&mut refuse);
    assert_eq!(TcpStream::connect(at).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
    refuse.heal().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(at).is_err() {
        assert!(Instant::now() < until, "it listens again");
        std::thread::sleep(Duration::from_millis(5));
    }
    ask(&mut open(), b"again").unwrap();
}

/// How much goes into a connection of which nobody reads.
fn goes_in(stream: &mut TcpStream) -> usize {
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    std::iter::from_fn(|| stream.write(&[7; 64 << 10]).ok()).sum()
}

#[test]
fn a_proxy_that_stalls_takes_hardly_more_than_a_store_that_reads_nothing() {
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut straight = TcpStream::connect(deaf.local_addr().unwrap()).unwrap();
    let _silent = deaf.accept().unwrap();
    let buffers = goes_in(&mut straight);
    let of = echo();
    let proxies = Proxies::start(std::iter::once(of.as_str())).unwrap();
    let mut stream = TcpStream::connect(proxies.instead_of(&of).unwrap()).unwrap();
    ask(&mut stream, b"open").unwrap();
    let mut stall = proxies.hand(&of, ProxyFault::Stall).unwrap();
    stall.inject(&mut |_| {}).unwrap();
    let taken = goes_in(&mut stream);
    until_landed(&mut stall);
    assert!(taken < buffers + (2 << 20), "{taken} and not {buffers}");
    // All of it arrives when it is healed, and comes back.
    stall.heal().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut back = vec![0; taken];
    stream.read_exact(&mut back).unwrap();
    assert!(back.iter().all(|byte| *byte == 7));
}

#[test]
fn a_fault_that_nothing_met_has_not_landed() {
    let of = echo();
    let proxies = Proxies::start(std::iter::once(of.as_str())).unwrap();
    for how in [ProxyFault::Delay(Duration::from_millis(1)), ProxyFault::Stall, ProxyFault::Bandwidth(1)] {
        let mut hand = proxies.hand(&of, how).unwrap();
        hand.inject(&mut |_| {}).unwrap();
        assert_eq!(hand.landed().unwrap(), None, "{how:?}");
        hand.heal().unwrap();
    }
    assert!(proxies.hand("elsewhere:1", ProxyFault::Stall).is_err());
}

#[test]
fn a_bandwidth_is_what_was_asked_for_however_late_the_timer_wakes() {
    for bytes_per_s in [1_000_000_u64, 20_000_000, 200_000_000, 1_000_000_000] {
        for late_ns in [0, 300_000, 1_900_000] {
            let booked = AtomicU64::new(0);
            let (begin_ns, end_ns) = (3_000_000_000_u64, 5_000_000_000_u64);
            let (mut now_ns, mut sent) = (begin_ns, 0_u64);
            while now_ns < end_ns {
                let until_ns = book(&booked, BLOCK, bytes_per_s, now_ns);
                // A timer of milliseconds, and whoever wakes after it; or what a block costs itself.
                now_ns = match until_ns.saturating_sub(now_ns) {
                    TIMER_NS.. => until_ns.div_ceil(TIMER_NS) * TIMER_NS + late_ns,
                    _ => now_ns + 10_000,
                };
                sent += BLOCK as u64;
            }
            let rate = sent as f64 / ((now_ns - begin_ns) as f64 / 1e9);
            let share = rate / bytes_per_s as f64;
            assert!(
                (0.9..=1.1).contains(&share),
                "{bytes_per_s} bytes/s, {late_ns} ns late: {share:.3} of it"
            );
        }
    }
}

#[test]
fn a_bandwidth_that_nothing_had_to_wait_for_has_not_landed() {
    let of = echo();
    let proxies = Proxies::start(std::iter::once(of.as_str())).unwrap();
    let mut stream = TcpStream::connect(proxies.instead_of(&of).unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut wide = proxies.hand(&of, ProxyFault::Bandwidth(1_000_000_000)).unwrap();
    wide.inject(&mut |_| {}).unwrap();
    for _ in 0..50 {
        assert_eq!(ask(&mut stream, b"a trickle").unwrap(), b"a trickle");
    }
    assert_eq!(wide.landed().unwrap(), None);
    wide.heal().unwrap();
    // What one bandwidth has booked is not owed by the next.
    let mut narrow = proxies.hand(&of, ProxyFault::Bandwidth(1000)).unwrap();
    narrow.inject(&mut |_| {}).unwrap();
    stream.write_all(&[7; 20_000]).unwrap();
    until_landed(&mut narrow);
    narrow.heal().unwrap();
    let mut back = vec![0; 20_000];
    stream.read_exact(&mut back).unwrap();
    wide.inject(&mut |_| {}).unwrap();
    ask(&mut stream, b"a trickle").unwrap();
    assert_eq!(wide.landed().unwrap(), None);
}

#[test]
fn a_share_of_the_blocks_is_swallowed_and_the_connection_goes_on() {
    let of = echo();
    let proxies = Proxies::start(std::iter::once(of.as_str())).unwrap();
    let mut stream = TcpStream::connect(proxies.instead_of(&of).unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut all = proxies.hand(&of, ProxyFault::Drop(NetworkFault::WHOLE)).unwrap();
    all.inject(&mut |_| {}).unwrap();
    assert_eq!(all.landed().unwrap(), None, "nothing has passed yet");
    stream.write_all(b"gone").unwrap();
    assert_eq!(until_landed(&mut all), "1 blocks were swallowed");
    all.heal().unwrap();
    assert_eq!(ask(&mut stream, b"back").unwrap(), b"back", "and nothing of what was before");

    // Each of so many questions is a block up and, where it gets through, one down.
    let mut some = proxies.hand(&of, ProxyFault::Drop(2_500)).unwrap();
    some.inject(&mut |_| {}).unwrap();
    let mut answered = 0_u32;
    for number in 0..60_u32 {
        let mut stream = TcpStream::connect(proxies.instead_of(&of).unwrap()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        stream.write_all(&number.to_be_bytes()).unwrap();
        let mut back = [0; 4];
        answered += u32::from(stream.read_exact(&mut back).is_ok() && back == number.to_be_bytes());
    }
    // Three quarters of three quarters are 34 of 60; a busy machine answers late.
    assert!((8..=52).contains(&answered), "{answered} of 60");
    let proof = until_landed(&mut some);
    let swallowed: u32 = proof.split(' ').next().unwrap().parse().unwrap();
    assert!(swallowed >= 8 && answered + swallowed <= 60, "{proof}, {answered} answered");
    some.heal().unwrap();
}

#[tokio::test]
async fn who_cannot_take_a_connection_waits_before_it_asks_for_the_next() {
    // A socket that does not listen: each connection that is asked for is an error at once.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    let own = TcpListener::from(socket.as_fd().try_clone_to_owned().unwrap());
    let listener = tokio::net::TcpListener::from_std(own).unwrap();
    let began = Instant::now();
    let asked = timeout(Duration::from_secs(20), accept(Some(&listener))).await;
    assert!(asked.unwrap().is_err() && began.elapsed() >= BIND_AGAIN, "{:?}", began.elapsed());
}
