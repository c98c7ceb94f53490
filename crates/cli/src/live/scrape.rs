//! What Prometheus fetches: `GET /metrics`. One request at a time, each within two seconds and eight kilobytes, and
//! its answer within two more.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use cosmark_report::export::encode::{PROMETHEUS_TYPE, prometheus};

use super::Shared;
use crate::exit::Problem;

const PATIENCE: Duration = Duration::from_secs(2);
const MOST_HEAD: usize = 8 << 10;

/// Listens; the thread ends with the program. Gives the address, whose port may have been 0.
pub fn serve(listen: SocketAddr, sums: Shared) -> Result<SocketAddr, Problem> {
    let refused = |cause: std::io::Error| {
        Problem::usage(format!(
            "cannot listen on {listen} for metrics: {cause}; give another --metrics-listen"
        ))
    };
    let listener = TcpListener::bind(listen).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let work = move || {
        for stream in listener.incoming() {
            match stream {
                // Who goes away in the middle harms nobody.
                Ok(stream) => drop(answer(stream, &sums)),
                // Out of open files, for instance: no reason to spin.
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    };
    std::thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(work)
        .map_err(|cause| Problem::ours(format!("cannot start a thread: {cause}")))?;
    Ok(address)
}

fn answer(mut stream: TcpStream, sums: &Shared) -> std::io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > MOST_HEAD {
            return Ok(());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Ok(()),
            read => head.extend_from_slice(part.get(..read).unwrap_or_default()),
        }
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let path = |target: &[u8]| target.split(|byte| *byte == b'?').next() == Some(b"/metrics");
    let (status, body) = match (words.next(), words.next()) {
        (Some(b"GET" | b"HEAD"), Some(target)) if path(target) => {
            let points = sums.lock().points();
            ("200 OK", prometheus(&points))
        }
        (Some(b"GET" | b"HEAD"), _) => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "GET /metrics\n".to_owned()),
    };
    let shown = if line.starts_with(b"HEAD") { "" } else { body.as_str() };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {PROMETHEUS_TYPE}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{shown}",
        body.len()
    );
    write_until(&mut stream, answer.as_bytes(), Instant::now() + PATIENCE)
}

/// Writes all of it until then: who reads it drop by drop would hold up everybody else.
fn write_until(stream: &mut TcpStream, mut bytes: &[u8], until: Instant) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        let sent = stream.write(bytes)?;
        bytes = bytes.get(sent..).filter(|_| sent > 0).ok_or(ErrorKind::WriteZero)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().unwrap().0, reader)
    }

    #[test]
    fn who_reads_drop_by_drop_is_left_and_who_reads_has_all() {
        let (mut stream, mut reader) = pair();
        let drops = std::thread::spawn(move || {
            let mut some = [0; 4 << 10];
            while reader.read(&mut some).is_ok_and(|read| read > 0) {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        // More than all buffers on the way hold; at this pace it would take minutes.
        let bytes = vec![0; 64 << 20];
        let error =
            write_until(&mut stream, &bytes, Instant::now() + Duration::from_millis(300)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock), "{error}");
        drop((stream, drops));
        let (mut stream, mut reader) = pair();
        write_until(&mut stream, b"whole", Instant::now() + Duration::from_secs(60)).unwrap();
        drop(stream);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "whole");
    }
}
