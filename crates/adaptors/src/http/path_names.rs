//! Names of containers and objects as file names, here and on a WebDAV server: percent-escaping (RFC 3986, section 2.1) with a small safe set.
//!
//! ASCII letters, digits and `-_.~+=@,` stand for themselves; every other byte is `%XX` (upper-case hex), and so is a dot
//! at the beginning. So `/`, `..`, control characters and bytes that some file systems refuse cannot reach the file
//! system, a hidden file is never one of ours, and names sort on disk in an order that listings put right. A file whose
//! name is not exactly what this scheme would write is not listed. The file system's own limit (255 bytes on most) holds
//! for the escaped name.

use std::fmt::Write as _;

/// The file name of `name`.
pub(crate) fn to_file_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    push_file_name(&mut out, name);
    out
}

/// Appends the file name of `name`.
pub(crate) fn push_file_name(out: &mut String, name: &str) {
    for (at, byte) in name.bytes().enumerate() {
        if is_plain(byte) && !(at == 0 && byte == b'.') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// The name that [`to_file_name`] made this file name from; `None` for any other file.
pub(crate) fn from_file_name(file_name: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(file_name.len());
    let mut rest = file_name;
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let (digits, tail) = tail.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    let name = String::from_utf8(bytes).ok()?;
    (!name.is_empty() && to_file_name(&name).as_bytes() == file_name).then_some(name)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'=' | b'@' | b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: &[(&str, &str)] = &[
        ("myobjects1", "myobjects1"),
        ("..", "%2E."),
        (".", "%2E"),
        ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
        ("/abs", "%2Fabs"),
        (".hidden", "%2Ehidden"),
        ("a b%2F", "a%20b%252F"),
        ("nul\0line\nend", "nul%00line%0Aend"),
        ("\u{e4}", "%C3%A4"),
        ("a\\b:c*", "a%5Cb%3Ac%2A"),
    ];

    #[test]
    fn every_name_becomes_one_safe_file_name_and_comes_back() {
        for (name, file_name) in PAIRS {
            assert_eq!(to_file_name(name), *file_name);
            assert_eq!(from_file_name(file_name.as_bytes()).as_deref(), Some(*name));
        }
    }

    #[test]
    fn a_file_name_that_this_scheme_does_not_write_is_nobodys() {
        for foreign in ["", ".", "..", ".cosmark-1-1", "a b", "%2f", "%2", "%zz", "%FF", "%41", "%+1"] {
            assert_eq!(from_file_name(foreign.as_bytes()), None, "{foreign}");
        }
    }
}
