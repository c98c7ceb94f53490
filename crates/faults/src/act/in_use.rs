//! Nobody else of this machine makes the same thing fail at the same time: what a fault acts on is held by the names of sockets
//! that the kernel gives to one process and takes back when it ends, however it does (unix(7), abstract sockets).

use std::os::unix::net::UnixListener;

/// What this process holds; given back when it goes.
#[derive(Debug, Default)]
pub struct InUse {
    _held: Vec<UnixListener>,
}

impl InUse {
    /// Takes all of them, or none.
    ///
    /// # Errors
    /// Which of them another process holds.
    pub fn take(keys: &[String]) -> Result<Self, String> {
        let mut held = Vec::new();
        for key in keys {
            match listen(key) {
                Ok(one) => held.extend(one),
                Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                    return Err(format!(
                        "another cosmark of this machine has made it fail and heals it ({key})"
                    ));
                }
                Err(error) => {
                    return Err(format!("it cannot be told whether another one makes it fail: {error}"));
                }
            }
        }
        Ok(Self { _held: held })
    }
}

#[cfg(target_os = "linux")]
fn listen(key: &str) -> std::io::Result<Option<UnixListener>> {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("cosmark-fault-{:016x}", fnv(key.as_bytes()));
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
    UnixListener::bind_addr(&address).map(Some)
}

#[cfg(not(target_os = "linux"))]
fn listen(_: &str) -> std::io::Result<Option<UnixListener>> {
    Ok(None)
}

/// FNV-1a of 64 bits: a key may be longer than a socket's name. Source: draft-eastlake-fnv.
#[cfg(target_os = "linux")]
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_one_holds_no_other_takes_until_it_is_given_back() {
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
        let own = |words: &[&str]| -> Vec<String> {
            words.iter().map(|word| format!("test {} {word}", std::process::id())).collect()
        };
        let first = InUse::take(&own(&["a", "b"])).unwrap();
        let second = InUse::take(&own(&["c", "b"]));
        assert!(second.as_ref().is_err_and(|why| why.contains("another cosmark")), "{second:?}");
        // All or none: c is free although it was taken before b was refused.
        let third = InUse::take(&own(&["c"])).unwrap();
        drop((first, third));
        InUse::take(&own(&["a", "b", "c"])).unwrap();
    }
}
