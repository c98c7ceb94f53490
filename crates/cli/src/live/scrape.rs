//! What Prometheus fetches: `GET /metrics`. One request at a time, each within two seconds and eight kilobytes.

use std::io::{Read, Write};
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
    stream.set_write_timeout(Some(PATIENCE))?;
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
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {PROMETHEUS_TYPE}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{shown}",
        body.len()
    )
}
