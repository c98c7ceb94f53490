//! The text of a file. YAML and XML are UTF-8; XML that names ISO-8859-1 or windows-1252 in its declaration, as older
//! editors wrote it, is read as windows-1252, and so is UTF-16; comments of XML may be in any encoding. Sources: XML 1.0,
//! 4.3.3 and appendix F; WHATWG Encoding, labels and index of windows-1252, indexes of gb18030, Big5 and Shift_JIS.

use std::ops::Range;

/// Names of encodings that are read as windows-1252.
const LATIN: [&str; 9] = [
    "iso-8859-1",
    "iso8859-1",
    "iso_8859-1",
    "latin1",
    "latin-1",
    "windows-1252",
    "cp1252",
    "us-ascii",
    "ascii",
];

/// What the bytes from 0x80 to 0x9f are in it; all others are the signs of their numbers.
const UPPER: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}',
    '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// The text in these bytes. One that was in another encoding than UTF-8 says UTF-8 from now on, because it is stored
/// so.
///
/// # Errors
/// The line, from 1, in which the first bytes stand that are no text.
pub fn text_of(bytes: Vec<u8>) -> Result<String, usize> {
    let wide = match bytes.as_slice() {
        [0xff, 0xfe, ..] | [b'<', 0, b'?', 0, ..] => Some(u16::from_le_bytes as fn([u8; 2]) -> u16),
        [0xfe, 0xff, ..] | [0, b'<', 0, b'?', ..] => Some(u16::from_be_bytes as fn([u8; 2]) -> u16),
        _ => None,
    };
    if let Some(unit) = wide {
        return from_wide(&bytes, unit).map(in_utf8);
    }
    String::from_utf8(bytes).or_else(|bad| {
        let good = bad.as_bytes().get(..bad.utf8_error().valid_up_to()).unwrap_or_default();
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        let text: String = bad.as_bytes().iter().map(|byte| from_latin(*byte)).collect();
        let name = encoding_of(&text).and_then(|at| text.get(at)).unwrap_or_default().to_ascii_lowercase();
        if LATIN.contains(&name.as_str()) {
            return Ok(in_utf8(text));
        }
        in_comments_alone(bad.as_bytes()).map(in_utf8).ok_or(line)
    })
}

/// XML whose bytes that are no UTF-8 all stand in comments, which say nothing to a program: a sign stands in their place.
/// COSBench, too, takes files whatever editor wrote the comments. Second bytes in GBK, Big5 and Shift JIS are letters and
/// more, but none of `<`, `-` and `>`, so that comments end where they seem to.
fn in_comments_alone(bytes: &[u8]) -> Option<String> {
    const BEGIN: &[u8] = b"<!--";
    const END: &[u8] = b"-->";
    let find = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).position(|part| part == what);
    let head = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    if ![&b"<?xml"[..], BEGIN, b"<workload"].iter().any(|begin| head.starts_with(begin)) {
        return None;
    }
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = find(rest, BEGIN) {
        let (before, comment) = rest.split_at(at);
        let inside = comment.get(BEGIN.len()..)?;
        let length = BEGIN.len() + find(inside, END)? + END.len();
        text.push_str(str::from_utf8(before).ok()?);
        text.push_str(&String::from_utf8_lossy(comment.get(..length)?));
        rest = comment.get(length..)?;
    }
    text.push_str(str::from_utf8(rest).ok()?);
    Some(text)
}

fn from_wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, usize> {
    let pairs = bytes.chunks_exact(2);
    let rest = pairs.remainder();
    let mut text = String::with_capacity(bytes.len());
    let line = |text: &str| 1 + text.matches('\n').count();
    for sign in char::decode_utf16(pairs.map(|pair| unit([pair[0], pair[1]]))) {
        match sign {
            Ok(sign) => text.push(sign),
            Err(_) => return Err(line(&text)),
        }
    }
    if rest.is_empty() { Ok(text) } else { Err(line(&text)) }
}

fn from_latin(byte: u8) -> char {
    let upper = byte.checked_sub(0x80).and_then(|at| UPPER.get(usize::from(at)));
    upper.copied().unwrap_or(char::from(byte))
}

/// Where an XML declaration names the encoding.
fn encoding_of(text: &str) -> Option<Range<usize>> {
    let begin = text.len() - text.trim_start_matches('\u{feff}').len();
    let declaration = text.get(begin..)?.strip_prefix("<?xml")?.split_once("?>")?.0;
    let behind = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = behind.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    let name = behind.get(1..)?.split_once(quote)?.0;
    // Slices of one text: where one begins in the other is the difference of their addresses.
    let at = name.as_ptr().addr() - text.as_ptr().addr();
    Some(at..at + name.len())
}

fn in_utf8(mut text: String) -> String {
    if let Some(at) = encoding_of(&text) {
        text.replace_range(at, "UTF-8");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "\n<workload name=\"Größe 5 €\"/>\n";

    fn declared(encoding: &str) -> String {
        format!("<?xml version='1.0' encoding = \"{encoding}\" ?>{BODY}")
    }

    fn latin(text: &str) -> Vec<u8> {
        let byte =
            |sign: char| UPPER.iter().position(|one| *one == sign).map_or(sign as u8, |at| 0x80 + at as u8);
        text.chars().map(byte).collect()
    }

    fn wide(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn text_of_older_editors_is_read_and_says_utf_8_from_then_on() {
        for name in ["ISO-8859-1", "iso8859-1", "Windows-1252", "latin1"] {
            assert_eq!(text_of(latin(&declared(name))), Ok(declared("UTF-8")), "{name}");
        }
        let utf16 = declared("UTF-16");
        let marked = format!("\u{feff}{utf16}");
        for bytes in [
            wide(&utf16, u16::to_le_bytes),
            wide(&utf16, u16::to_be_bytes),
            wide(&marked, u16::to_le_bytes),
            wide(&marked, u16::to_be_bytes),
        ] {
            let text = text_of(bytes).unwrap();
            assert_eq!(text.trim_start_matches('\u{feff}'), declared("UTF-8"));
        }
    }

    #[test]
    fn text_in_utf_8_stays_as_it_is_whatever_it_says() {
        for text in [
            declared("UTF-8"),
            declared("ISO-8859-1"),
            BODY.to_owned(),
            "name: ü\n".to_owned(),
            String::new(),
        ] {
            assert_eq!(text_of(text.clone().into_bytes()), Ok(text));
        }
    }

    #[test]
    fn comments_may_be_in_any_encoding() {
        // Words in GBK, second bytes that are letters and more in it, a word in ISO-8859-1.
        for comment in [&b" \xb2\xe2\xca\xd4 -"[..], b"\x81|\x81@\xc4A", b"f\xfcr < > - --x"] {
            for head in
                ["", "\n ", "\u{feff}<?xml version='1.0' encoding='GBK'?>\n", "<?xml encoding='UTF-8'?>"]
            {
                let tail = "\n<workload name=\"ü\">\n<!-- ä --></workload>\n";
                let file =
                    |comment: &[u8], tail: &[u8]| [head.as_bytes(), b"<!--", comment, b"-->", tail].concat();
                let text = text_of(file(comment, tail.as_bytes())).unwrap();
                assert!(text.ends_with(&format!("-->{tail}")), "{text}");
                let lines = file(comment, tail.as_bytes()).iter().filter(|byte| **byte == b'\n').count();
                assert_eq!(text.matches('\n').count(), lines);
                assert!(!text.contains("GBK") && text.contains('\u{fffd}'), "{text}");
                let line = 1 + head.matches('\n').count();
                for tail in [&b"<workload name='\xb2\xe2'/>"[..], b"<!-- <workload/>", b"\xb2"] {
                    assert_eq!(text_of(file(comment, tail)), Err(line), "{tail:?}");
                }
            }
        }
        assert_eq!(text_of(b"name: a # <!-- \xb2\xe2 -->\n".to_vec()), Err(1), "that is no XML");
    }

    #[test]
    fn bytes_that_are_no_text_are_in_their_line() {
        assert_eq!(text_of(latin(&declared("KOI8-R"))), Err(2));
        assert_eq!(text_of(latin(BODY)), Err(2));
        assert_eq!(text_of(b"name: a\nb: \xff\n".to_vec()), Err(2));
        // A half of a sign that is two, and a byte too much.
        assert_eq!(text_of(b"\xff\xfe<\0\n\0\x00\xd8x\0".to_vec()), Err(2));
        assert_eq!(text_of(b"\xff\xfe<\0x".to_vec()), Err(1));
        for bytes in [
            &b"<?xml encoding=\"ISO-8859-1"[..],
            b"<?xml encoding=\xe9?>",
            b"<?xml encoding?>\xe9",
            b"<?xml\xe9",
        ] {
            assert_eq!(text_of(bytes.to_vec()).is_err(), !bytes.is_ascii(), "{bytes:?}");
        }
    }
}
