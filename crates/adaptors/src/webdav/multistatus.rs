//! Reads the answer of a PROPFIND (RFC 4918, section 14.16) as it comes: of each `response` only its `href` and whether
//! it is a `collection`. Namespace prefixes are not looked at; everything else is skipped. Memory is bounded by the
//! longest name, not by the answer.

use cosmark_adaptor_api::{BodySink, Error, ErrorKind, Result};
use percent_encoding::percent_decode_str;

use crate::http::path_names::from_file_name;
use crate::name_page::NamePage;

/// A longer href is cut: no server has such paths.
const MAX_HREF_BYTES: usize = 64 * 1024;
/// Only the beginning of a tag matters.
const MAX_TAG_BYTES: usize = 256;

/// Where in the text the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    /// In `<..>`, with the quote that is open.
    Tag(Option<u8>),
    /// In a comment, with the number of hyphens just before.
    Comment(u8),
    /// In a CDATA section, with the number of closing brackets just before.
    Literal(u8),
}

/// Receives the answer's body.
pub(super) struct Members {
    /// Decoded path of the collection itself, without the slash at its end.
    own_path: String,
    escapes_names: bool,
    wants_collections: bool,
    page: Option<NamePage>,
    /// Members of any kind, but not the collection itself.
    pub(super) count: u64,
    place: Place,
    tag: Vec<u8>,
    href: Vec<u8>,
    in_href: bool,
    is_collection: bool,
    is_complete: bool,
}

impl Members {
    /// For the collection at the escaped path `target`.
    pub(super) fn new(target: &[u8], escapes_names: bool, wants_collections: bool, page: NamePage) -> Self {
        Self {
            own_path: decoded(String::from_utf8_lossy(target).trim_end_matches('/')),
            escapes_names,
            wants_collections,
            page: Some(page),
            count: 0,
            place: Place::Text,
            tag: Vec::new(),
            href: Vec::new(),
            in_href: false,
            is_collection: false,
            is_complete: false,
        }
    }

    /// The names that were found.
    ///
    /// # Errors
    /// `Protocol` when the answer was no whole multistatus.
    pub(super) fn finish(&mut self) -> Result<NamePage> {
        match self.page.take() {
            Some(page) if self.is_complete => Ok(page),
            _ => {
                Err(Error::new(ErrorKind::Protocol, "the answer to PROPFIND is no complete DAV multistatus")
                    .with_hint("is this URL a WebDAV collection?"))
            }
        }
    }

    fn byte(&mut self, byte: u8) {
        match self.place {
            Place::Text if byte == b'<' => {
                self.tag.clear();
                self.place = Place::Tag(None);
            }
            Place::Text => self.text(byte),
            Place::Tag(None) if byte == b'>' => self.end_tag(),
            Place::Tag(None) => {
                if self.tag.len() < MAX_TAG_BYTES {
                    self.tag.push(byte);
                }
                self.place = match self.tag.as_slice() {
                    b"!--" => Place::Comment(0),
                    b"![CDATA[" => Place::Literal(0),
                    _ if matches!(byte, b'"' | b'\'') => Place::Tag(Some(byte)),
                    _ => Place::Tag(None),
                };
            }
            Place::Tag(Some(quote)) => {
                if byte == quote {
                    self.place = Place::Tag(None);
                }
            }
            Place::Comment(hyphens) => {
                self.place = match byte {
                    b'>' if hyphens >= 2 => Place::Text,
                    b'-' => Place::Comment((hyphens + 1).min(2)),
                    _ => Place::Comment(0),
                };
            }
            Place::Literal(brackets) => match byte {
                b']' if brackets < 2 => self.place = Place::Literal(brackets + 1),
                b'>' if brackets == 2 => self.place = Place::Text,
                _ => {
                    for _ in 0..brackets {
                        self.text(b']');
                    }
                    self.text(byte);
                    self.place = Place::Literal(0);
                }
            },
        }
    }

    fn text(&mut self, byte: u8) {
        if self.in_href && self.href.len() < MAX_HREF_BYTES {
            self.href.push(byte);
        }
    }

    fn end_tag(&mut self) {
        self.place = Place::Text;
        let tag = std::mem::take(&mut self.tag);
        let (is_end, rest) = match tag.strip_prefix(b"/") {
            Some(rest) => (true, rest),
            None => (false, tag.as_slice()),
        };
        let name_end =
            rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'/').unwrap_or(rest.len());
        let name = &rest[..name_end];
        let local = name.rsplit(|byte| *byte == b':').next().unwrap_or(name);
        match (local, is_end) {
            (b"response", false) => {
                self.href.clear();
                self.is_collection = false;
            }
            // A response may hold further hrefs, in `location` for one; the first is its own.
            (b"href", false) => self.in_href = self.href.is_empty(),
            (b"href", true) => self.in_href = false,
            (b"collection", false) => self.is_collection = true,
            (b"response", true) => self.end_response(),
            (b"multistatus", _) => self.is_complete = is_end || tag.ends_with(b"/"),
            _ => {}
        }
        self.tag = tag;
    }

    fn end_response(&mut self) {
        self.in_href = false;
        let text = String::from_utf8_lossy(&self.href);
        let Ok(href) = quick_xml::escape::unescape(text.trim()) else { return };
        let Some(path) = path_of(&href) else { return };
        let path = path.trim_end_matches('/');
        if path.is_empty() || decoded(path) == self.own_path {
            return;
        }
        self.count += 1;
        if self.is_collection != self.wants_collections {
            return;
        }
        let member = decoded(path.rsplit('/').next().unwrap_or(path));
        let name = if self.escapes_names { from_file_name(member.as_bytes()) } else { Some(member) };
        if let (Some(name), Some(page)) = (name, &mut self.page) {
            page.offer(&name);
        }
    }
}

impl BodySink for Members {
    fn accept(&mut self, chunk: &[u8]) {
        for byte in chunk {
            self.byte(*byte);
        }
    }
}

/// The path of a `Simple-ref`: a path, or a whole URL.
fn path_of(href: &str) -> Option<&str> {
    if href.starts_with('/') {
        return Some(href);
    }
    let (_, rest) = href.split_once("://")?;
    rest.find('/').map(|at| &rest[at..])
}

fn decoded(path: &str) -> String {
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use cosmark_adaptor_api::ListRequest;

    use super::*;

    fn read(text: &str, piece: usize, wants_collections: bool) -> (u64, Result<Vec<String>>) {
        let request = ListRequest { want_names: true, ..ListRequest::default() };
        let mut members = Members::new(b"/dav/my%20c/", true, wants_collections, NamePage::new(&request));
        for chunk in text.as_bytes().chunks(piece) {
            members.accept(chunk);
        }
        (members.count, members.finish().map(|page| page.finish(0).names))
    }

    /// As mod_dav writes it, and with what other servers do differently.
    const ANSWER: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<D:multistatus xmlns:D="DAV:" xmlns:ns0="DAV:">
<D:response xmlns:lp1="DAV:"><D:href>/dav/my%20c/</D:href><D:propstat><D:prop>
<lp1:resourcetype><D:collection/></lp1:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
<D:response note="a > b"><D:href>/dav/my%20c/plain</D:href><D:propstat><D:prop><lp1:resourcetype/></D:prop></D:propstat></D:response>
<!-- <D:response><D:href>/dav/my%20c/ghost</D:href></D:response> -->
<response xmlns="DAV:"><href>http://host:80/dav/my%20c/a%252Fb</href><location><href>/else/where</href></location></response>
<x:response><x:href><![CDATA[/dav/my%20c/x]]></x:href></x:response>
<x:response><x:href>
  /dav/my%20c/list%2526%3C1%3E&#50;</x:href></x:response>
<x:response><x:href>/dav/my%20c/sub/</x:href><x:collection /></x:response>
<x:response><x:href>/dav/my%20c/for%20eign</x:href></x:response>
</D:multistatus>"#;

    #[test]
    fn members_are_the_same_however_the_answer_is_cut() {
        for piece in [1, 2, 3, 7, 64, ANSWER.len()] {
            let (count, names) = read(ANSWER, piece, false);
            assert_eq!(count, 6, "pieces of {piece}");
            assert_eq!(names.unwrap(), ["a/b", "plain", "x"], "pieces of {piece}");
        }
        assert_eq!(read(ANSWER, 5, true).1.unwrap(), ["sub"]);
    }

    #[test]
    fn a_cut_or_foreign_answer_is_refused() {
        for text in ["", "<html><body>hello</body></html>", &ANSWER[..ANSWER.len() - 5]] {
            assert_eq!(read(text, 16, false).1.unwrap_err().kind(), ErrorKind::Protocol);
        }
        assert!(read("<multistatus/>", 4, false).1.unwrap().is_empty());
    }

    #[test]
    fn an_endless_tag_or_name_is_bounded_in_memory() {
        let request = ListRequest::default();
        let mut members = Members::new(b"/", true, false, NamePage::new(&request));
        members.accept(b"<a");
        members.accept(&[b'a'; 1 << 20]);
        members.accept(b"><response><href>");
        members.accept(&[b'/'; 1 << 20]);
        assert!(members.tag.capacity() <= 2 * MAX_TAG_BYTES && members.href.capacity() <= 2 * MAX_HREF_BYTES);
    }
}
