//! Access keys, secret keys and upload ids out of the system's random numbers.

use data_encoding::HEXLOWER;
use std::fs::File;
use std::io::{self, Read};

use crate::Error;

/// Letters of random keys: no sign that needs escaping in a URL, 32 of them so that one byte gives one without bias.
const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// `2 * N` random hexadecimal digits.
pub(crate) fn random_hex<const N: usize>() -> io::Result<String> {
    Ok(HEXLOWER.encode(random_bytes::<N>()?.as_ref()))
}

fn letters(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}

/// The given keys, checked, or fresh ones: 20 letters for the access key, 40 (200 bits) for the secret key.
pub(crate) fn choose(access: Option<String>, secret: Option<String>) -> Result<(String, String), Error> {
    let access = match access {
        Some(given) => given,
        None => letters(&random_bytes::<20>().map_err(Error::Random)?),
    };
    let secret = match secret {
        Some(given) => given,
        None => letters(&random_bytes::<40>().map_err(Error::Random)?),
    };
    if access.is_empty() || !access.bytes().all(|b| b.is_ascii_graphic() && !b"/,:=&%".contains(&b)) {
        return Err(Error::Keys(
            "the access key must have at least one sign and only printable ASCII without / , : = & and %",
        ));
    }
    if secret.is_empty() || !secret.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Error::Keys("the secret key must have at least one sign and only printable ASCII"));
    }
    Ok((access, secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_keys_differ_from_start_to_start() {
        let (access, secret) = choose(None, None).unwrap();
        assert_eq!((access.len(), secret.len()), (20, 40));
        let again = choose(None, None).unwrap();
        assert_ne!(access, again.0);
        assert_ne!(secret, again.1);
    }

    #[test]
    fn keys_that_no_client_could_send_are_refused() {
        for (access, secret) in
            [("", "s"), ("a/b", "s"), ("a b", "s"), ("k", ""), ("k", "a\nb"), ("k\u{e9}", "s")]
        {
            let answer = choose(Some(access.into()), Some(secret.into()));
            assert!(matches!(answer, Err(Error::Keys(_))), "{access:?} {secret:?}");
        }
    }
}
