//! Percent-encoding (RFC 3986, section 2.3) and decimal numbers, into a reused buffer without allocation.

/// True for the bytes that stand for themselves in every part of a URL: letters, digits, `-`, `.`, `_`, `~`.
const UNRESERVED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "byte is below 256")]
        let value = byte as u8;
        table[byte] = value.is_ascii_alphanumeric() || matches!(value, b'-' | b'.' | b'_' | b'~');
        byte += 1;
    }
    table
};

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn push_with(out: &mut Vec<u8>, text: &str, keep_slash: bool) {
    let mut rest = text.as_bytes();
    loop {
        let stays = |byte: &u8| UNRESERVED[usize::from(*byte)] || (keep_slash && *byte == b'/');
        let run = rest.iter().position(|byte| !stays(byte)).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..run]);
        let Some(byte) = rest.get(run) else { return };
        out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        rest = &rest[run + 1..];
    }
}

/// Appends `text` for a path; `/` stays if `keep_slash`, else it becomes `%2F`.
pub fn push_escaped(out: &mut Vec<u8>, text: &str, keep_slash: bool) {
    push_with(out, text, keep_slash);
}

/// Appends `text` for a query name or value (a blank is `%20`, never `+`).
pub fn push_query_escaped(out: &mut Vec<u8>, text: &str) {
    push_with(out, text, false);
}

/// Appends a number.
pub fn push_decimal(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_bytes_stay_and_the_slash_if_asked() {
        let mut out = Vec::new();
        push_escaped(&mut out, "a/b c~é%+", true);
        push_query_escaped(&mut out, "/&=");
        assert_eq!(String::from_utf8(out).unwrap(), "a/b%20c~%C3%A9%25%2B%2F%26%3D");
    }

    #[test]
    fn numbers_are_written_from_zero_to_the_largest() {
        let mut out = Vec::new();
        for value in [0, 7, 10, u64::MAX] {
            push_decimal(&mut out, value);
            out.push(b' ');
        }
        assert_eq!(out, b"0 7 10 18446744073709551615 ");
    }
}
