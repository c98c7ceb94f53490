//! The little XML that S3 speaks, read by scanning for tags: answers are flat, names in them are escaped, and a scan of a
//! page of a thousand names takes microseconds where a parser takes a millisecond.

use memchr::memmem;

/// The text of the first `<tag>..</tag>`, still escaped.
pub(crate) fn find<'a>(xml: &'a [u8], tag: &str) -> Option<&'a str> {
    texts(xml, tag).next()
}

/// The texts of all `<tag>..</tag>`, still escaped, in order. A tag with attributes is found too.
pub(crate) fn texts<'a>(xml: &'a [u8], tag: &str) -> impl Iterator<Item = &'a str> {
    let open = memmem::Finder::new(format!("<{tag}").as_bytes()).into_owned();
    let close = memmem::Finder::new(format!("</{tag}>").as_bytes()).into_owned();
    let mut rest = xml;
    std::iter::from_fn(move || {
        loop {
            let at = open.find(rest)? + open.needle().len();
            let after = rest.get(at..)?;
            // In this order, and to the end where there is none: a search at each of millions of tags would never end.
            if !matches!(after.first(), Some(b'>' | b' ' | b'/' | b'\t' | b'\r' | b'\n')) {
                rest = after;
                continue;
            }
            let end = memchr::memchr(b'>', after)?;
            let content = &after[end + 1..];
            if end > 0 && after[end - 1] == b'/' {
                rest = content;
                return Some("");
            }
            let length = close.find(content)?;
            rest = &content[length + close.needle().len()..];
            return std::str::from_utf8(&content[..length]).ok().or(Some(""));
        }
    })
}

/// Whether the element of this name ends: what was cut short, or only speaks of it, does not.
pub(crate) fn closes(xml: &[u8], tag: &str) -> bool {
    let Some(at) = memmem::rfind(xml, tag.as_bytes()) else { return false };
    let (before, behind) = (&xml[..at], &xml[at + tag.len()..]);
    let (Some(begin), Some(end)) = (memchr::memrchr(b'<', before), memchr::memchr(b'>', behind)) else {
        return false;
    };
    let (prefix, rest) = (&before[begin + 1..], &behind[..end]);
    let (is_end, prefix) = match prefix.strip_prefix(b"/") {
        Some(prefix) => (true, prefix),
        None => (false, prefix),
    };
    let is_name = prefix.is_empty() || prefix.ends_with(b":");
    let is_whole = rest.first().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'/');
    let ends = if is_end { rest.trim_ascii().is_empty() } else { rest.ends_with(b"/") };
    is_name && is_whole && ends
}

/// A page for people: what a portal or a proxy answers, and no store that speaks XML to programs.
pub(crate) fn is_page(body: &[u8]) -> bool {
    let text = body.trim_ascii_start();
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    begins(b"<!doctype html") || begins(b"<html")
}

/// How many `<tag>` there are.
pub(crate) fn count(xml: &[u8], tag: &str) -> u64 {
    memmem::find_iter(xml, format!("<{tag}>").as_bytes()).count() as u64
}

/// Replaces the five named entities and numeric ones; anything else stays as it is.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(11).position(|byte| byte == b';');
        let entity = end.and_then(|end| Some((end, character(&rest[1..end])?)));
        match entity {
            Some((end, character)) => {
                out.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

/// Appends a text with what XML needs escaped.
pub(crate) fn push_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_with_and_without_attributes_and_not_by_prefix() {
        let xml = br#"<?xml version="1.0"?><List xmlns="x"><KeyCount>2</KeyCount><Key>a</Key><Key x='1'>b</Key><Key/><Keys>no</Keys></List>"#;
        assert_eq!(texts(xml, "Key").collect::<Vec<_>>(), ["a", "b", ""]);
        assert_eq!(find(xml, "KeyCount"), Some("2"));
        assert_eq!(find(xml, "Owner"), None);
        assert_eq!(count(xml, "Key"), 1);
    }

    #[test]
    fn an_element_ends_by_its_tag_and_not_where_it_was_cut_or_is_spoken_of() {
        for xml in
            ["<R></R>", "<R><K>R</K></R>\n", "<R/>", "<R xmlns=\"x\" />", "<s:R><s:K/></s:R >", "<s:R/>"]
        {
            assert!(closes(xml.as_bytes(), "R"), "{xml}");
        }
        for xml in [
            "",
            "R",
            "<R>",
            "<R><K>a</K>",
            "<R></R",
            "<R></",
            "<Rs/>",
            "<E><M>no R</M></E>",
            "<E>R</E/>",
            "</Q R>",
        ] {
            assert!(!closes(xml.as_bytes(), "R"), "{xml}");
        }
    }

    #[test]
    fn broken_xml_gives_what_is_there_and_ends() {
        for xml in ["<Key", "<Key>", "<Key>a", "<Key><Key><Key>", "</Key><Key>", "<Key\0>x</Key>"] {
            assert!(texts(xml.as_bytes(), "Key").count() <= 1, "{xml}");
        }
        assert_eq!(texts(b"<Key>\xff</Key><Key>b</Key>", "Key").collect::<Vec<_>>(), ["", "b"]);
    }

    #[test]
    fn an_answer_of_nothing_but_beginnings_is_read_once() {
        const MANY: usize = 2_000_000;
        for begin in ["<Keys", "<Key ", "<Key", "<"] {
            assert_eq!(texts(begin.repeat(MANY).as_bytes(), "Key").count(), 0, "{begin}");
        }
        let open = format!("<Key>{}</Key>", "<Key".repeat(MANY));
        assert_eq!(texts(open.as_bytes(), "Key").count(), 1);
        for text in ["&", "&amp", "&#", "&&;"] {
            assert_eq!(unescape(&text.repeat(MANY)), text.repeat(MANY));
        }
    }

    #[test]
    fn entities_are_replaced_and_what_is_none_stays() {
        let cases = [
            ("a&amp;b&lt;&gt;&quot;&apos;", "a&b<>\"'"),
            ("&#65;&#x42;&#xe9;&#128512;", "ABé😀"),
            ("&nbsp;&&;&#;&#xd800;&#99999999999;& amp;", "&nbsp;&&;&#;&#xd800;&#99999999999;& amp;"),
            ("", ""),
        ];
        for (escaped, plain) in cases {
            assert_eq!(unescape(escaped), plain);
        }
        let mut out = String::new();
        push_escaped(&mut out, "a&b<c>\"d\"'");
        assert_eq!(unescape(&out), "a&b<c>\"d\"'");
    }
}
