//! What a server repeats of the credentials that came with a request: an answer that is shown, and kept with a run, must not
//! have it. A token out of a login is known to nobody who writes the run down.

use memchr::memmem;

/// Header lines whose values let requests in.
const LINES: [&[u8]; 6] = [
    b"authorization",
    b"x-auth-token",
    b"x-auth-key",
    b"x-amz-security-token",
    b"x-storage-token",
    b"cookie",
];

/// Shorter values would be found in every sentence.
const SHORTEST: usize = 8;

const STARS: &[u8] = b"***";

/// Puts stars into the answer's body in place of what the request's head has for credentials.
pub(crate) fn hide(body: &mut Vec<u8>, head: &[u8]) {
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if !LINES.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            continue;
        }
        replace(body, value);
        // Behind the name of the scheme.
        if let Some(space) = memchr::memchr(b' ', value) {
            replace(body, value[space..].trim_ascii());
        }
    }
}

fn replace(body: &mut Vec<u8>, secret: &[u8]) {
    if secret.len() < SHORTEST || memmem::find(body, secret).is_none() {
        return;
    }
    let mut shown = Vec::with_capacity(body.len());
    let mut rest = body.as_slice();
    while let Some(at) = memmem::find(rest, secret) {
        shown.extend_from_slice(&rest[..at]);
        shown.extend_from_slice(STARS);
        rest = &rest[at + secret.len()..];
    }
    shown.extend_from_slice(rest);
    *body = shown;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_brought_for_credentials_is_not_in_its_answer() {
        let head = b"GET /c/o HTTP/1.1\r\nHost: store\r\nx-auth-token: AUTH_tk0123\r\nAuthorization: Bearer ya29.abcdef\r\n\
                     X-Auth-Key: test\r\n\r\n";
        let mut body =
            b"no AUTH_tk0123, (AUTH_tk0123) or Bearer ya29.abcdef or 'ya29.abcdef' in a test of store"
                .to_vec();
        hide(&mut body, head);
        assert_eq!(String::from_utf8(body).unwrap(), "no ***, (***) or *** or '***' in a test of store");
        let mut body = b"GET /c/o AUTH_tk012".to_vec();
        hide(&mut body, head);
        assert_eq!(body, b"GET /c/o AUTH_tk012");
    }
}
