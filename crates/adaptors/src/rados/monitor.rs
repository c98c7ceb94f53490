//! A look at the monitors by ourselves. Before librados does: it would print to the terminal what it cannot resolve. And
//! after it gave up: with an address that does not say which protocol version is spoken there, it reports even a wrong key as
//! a time limit. Source: Ceph's doc/dev/msgr2.rst and doc/dev/network-protocol.rst (in both versions the server begins with a
//! banner, `ceph v..`); the ports are those registered with IANA.

use std::io::Read;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It names nobody.
    Empty,
    /// This is no port.
    Port(String),
    /// This name has no address.
    Name(String),
}

/// Ports of protocol versions 2 and 1.
const PORTS: [&str; 2] = ["3300", "6789"];
const LIMIT: Duration = Duration::from_millis(500);
/// Addresses that are looked at, at most.
const MOST: usize = 16;

/// Resolves what `mon_host` names.
pub(super) fn resolve(mon_host: &str) -> Result<Vec<SocketAddr>, Unusable> {
    let mut found = Vec::new();
    for (host, port) in addresses(mon_host).into_iter().take(MOST) {
        for port in port.as_deref().map_or(PORTS.to_vec(), |port| vec![port]) {
            let number = port.parse().map_err(|_| Unusable::Port(port.to_owned()))?;
            let resolved = (host.as_str(), number).to_socket_addrs().ok().and_then(|mut all| all.next());
            found.push(resolved.ok_or_else(|| Unusable::Name(host.clone()))?);
        }
    }
    if found.is_empty() { Err(Unusable::Empty) } else { Ok(found) }
}

/// True when a daemon of Ceph is there; bounded by some seconds.
pub(super) fn answers(mon_host: &str) -> bool {
    resolve(mon_host).is_ok_and(|found| found.iter().take(4).any(is_ceph))
}

fn is_ceph(address: &SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect_timeout(address, LIMIT) else { return false };
    let mut banner = [0; 6];
    stream.set_read_timeout(Some(LIMIT)).is_ok()
        && stream.read_exact(&mut banner).is_ok()
        && &banner == b"ceph v"
}

/// Hosts and ports of `host`, `host:port`, `v2:host:port/nonce`, `[v2:..,v1:..]` and lists of them.
fn addresses(mon_host: &str) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    for part in mon_host.split([',', ';', ' ']) {
        let part = part.trim();
        let plain = part.strip_prefix('[').unwrap_or(part);
        let versioned = plain.strip_prefix("v2:").or_else(|| plain.strip_prefix("v1:"));
        // A bracket around an IPv6 address belongs to it, one around a list does not.
        let part = match versioned {
            Some(rest) => rest.strip_suffix(']').filter(|rest| !rest.starts_with('[')).unwrap_or(rest),
            None => part,
        };
        let part = part.split('/').next().unwrap_or_default();
        let (host, port) = match part.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port.to_owned())),
            _ => (part, None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if !host.is_empty() {
            found.push((host.to_owned(), port));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn every_way_to_write_monitors_is_taken_apart() {
        type Case<'a> = (&'a str, &'a [(&'a str, Option<&'a str>)]);
        let cases: &[Case<'_>] = &[
            ("mon.a", &[("mon.a", None)]),
            ("10.0.0.1:6789,10.0.0.2", &[("10.0.0.1", Some("6789")), ("10.0.0.2", None)]),
            ("v2:10.0.0.1:3300/0", &[("10.0.0.1", Some("3300"))]),
            ("[v2:h:3300/0,v1:h:6789/0]", &[("h", Some("3300")), ("h", Some("6789"))]),
            ("[::1]:3300", &[("::1", Some("3300"))]),
            ("v2:[fe80::1]:3300/0", &[("fe80::1", Some("3300"))]),
            (" , ", &[]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(host, port)| ((*host).to_owned(), port.map(str::to_owned))).collect();
            assert_eq!(addresses(text), expected, "{text}");
        }
    }

    #[test]
    fn a_monitor_is_known_by_its_banner_and_an_unusable_address_before_it_is_tried() {
        for (banner, expected) in [(&b"ceph v2\n"[..], true), (b"SSH-2.0-x", false)] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let server = std::thread::spawn(move || listener.accept().unwrap().0.write_all(banner).unwrap());
            assert_eq!(answers(&format!("v2:{address}")), expected);
            server.join().unwrap();
        }
        assert_eq!(resolve("host.invalid:3300"), Err(Unusable::Name("host.invalid".into())));
        assert_eq!(resolve("127.0.0.1:ceph"), Err(Unusable::Port("ceph".into())));
        assert_eq!(resolve(" , "), Err(Unusable::Empty));
        assert_eq!(resolve("127.0.0.1").map(|found| found.len()), Ok(2));
    }
}
