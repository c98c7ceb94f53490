//! A look at the monitors by ourselves, after librados gave up: it reports a name that cannot be resolved, a wrong port and,
//! with an address that does not say which protocol version is spoken there, even a wrong key by numbers that mean
//! something else. Source: Ceph's doc/dev/msgr2.rst and doc/dev/network-protocol.rst (both versions begin with a banner
//! from the server, `ceph v..`); the ports are those registered with IANA.

use std::io::Read;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// What was found there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// This name has no address.
    NoAddress(String),
    /// Nobody, or not Ceph.
    Nothing,
    /// A daemon of Ceph.
    Ceph,
}

/// Ports of protocol versions 2 and 1.
const PORTS: [u16; 2] = [3300, 6789];
const LIMIT: Duration = Duration::from_millis(500);
/// Addresses that are looked at, at most.
const MOST: usize = 4;

/// Looks at what `mon_host` names; bounded by two seconds or so, name resolution aside.
pub(super) fn look(mon_host: &str) -> Seen {
    for (host, port) in addresses(mon_host).into_iter().take(MOST) {
        let ports = port.map_or(PORTS.to_vec(), |port| vec![port]);
        for port in ports {
            let Ok(mut found) = (host.as_str(), port).to_socket_addrs() else {
                return Seen::NoAddress(host);
            };
            if found.next().is_some_and(|address| is_ceph(&address)) {
                return Seen::Ceph;
            }
        }
    }
    Seen::Nothing
}

fn is_ceph(address: &std::net::SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect_timeout(address, LIMIT) else { return false };
    let mut banner = [0; 6];
    stream.set_read_timeout(Some(LIMIT)).is_ok()
        && stream.read_exact(&mut banner).is_ok()
        && &banner == b"ceph v"
}

/// Hosts and ports of `host`, `host:port`, `v2:host:port/nonce`, `[v2:..,v1:..]` and lists of them.
fn addresses(mon_host: &str) -> Vec<(String, Option<u16>)> {
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
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().ok()),
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
        type Case<'a> = (&'a str, &'a [(&'a str, Option<u16>)]);
        let cases: &[Case<'_>] = &[
            ("mon.a", &[("mon.a", None)]),
            ("10.0.0.1:6789,10.0.0.2", &[("10.0.0.1", Some(6789)), ("10.0.0.2", None)]),
            ("v2:10.0.0.1:3300/0", &[("10.0.0.1", Some(3300))]),
            ("[v2:h:3300/0,v1:h:6789/0]", &[("h", Some(3300)), ("h", Some(6789))]),
            ("[::1]:3300", &[("::1", Some(3300))]),
            ("v2:[fe80::1]:3300/0", &[("fe80::1", Some(3300))]),
            (" , ", &[]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> = expected.iter().map(|(host, port)| ((*host).to_owned(), *port)).collect();
            assert_eq!(addresses(text), expected, "{text}");
        }
    }

    #[test]
    fn a_monitor_is_known_by_its_banner() {
        for (banner, expected) in [(&b"ceph v2\n"[..], Seen::Ceph), (b"SSH-2.0-x", Seen::Nothing)] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let server = std::thread::spawn(move || listener.accept().unwrap().0.write_all(banner).unwrap());
            assert_eq!(look(&format!("v2:{address}")), expected);
            server.join().unwrap();
        }
        assert_eq!(look("host.invalid:3300"), Seen::NoAddress("host.invalid".into()));
    }
}
