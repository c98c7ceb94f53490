//! Listings: Swift's plain text form, one name a line, read as it comes.

use cosmark_adaptor_api::{BodySink, Error, ErrorKind, ListPage, ListRequest, Result};

use crate::http::request::one_line;
use crate::http::{push_decimal, push_query_escaped};

/// A longer line is no name: Swift's limit is 1024 bytes, RGW's likewise.
const MAX_NAME_BYTES: usize = 64 * 1024;

/// No cluster gives more names on a page; a server that does not stop is stopped here.
const MAX_KEPT_NAMES: usize = 1_000_000;

/// RGW gives no more than 1000 or 10000 names however many were asked for.
const RGW_STEP: u64 = 1000;

/// Limits of listings that operators set are multiples of it.
const ROUND: u64 = 50;

/// The query of a listing, with its question mark; empty without any wish.
pub(super) fn query(request: &ListRequest<'_>) -> Vec<u8> {
    let mut query = Vec::with_capacity(64);
    let begin = |query: &mut Vec<u8>, name: &str| {
        query.push(if query.is_empty() { b'?' } else { b'&' });
        query.extend_from_slice(name.as_bytes());
        query.push(b'=');
    };
    if let Some(page_size) = request.page_size {
        begin(&mut query, "limit");
        push_decimal(&mut query, u64::from(page_size));
    }
    if let Some(after) = request.after {
        begin(&mut query, "marker");
        push_query_escaped(&mut query, after);
    }
    if !request.prefix.is_empty() {
        begin(&mut query, "prefix");
        push_query_escaped(&mut query, request.prefix);
    }
    if let Some(delimiter) = request.delimiter {
        begin(&mut query, "delimiter");
        push_query_escaped(&mut query, delimiter);
    }
    query
}

/// The page as the last one where it is held against what must be there and only the server's own limit can have ended it, but
/// did not: that is 10 000 names, 1000 and its multiples with RGW, or what an operator has set, which is a round number.
pub(super) fn ended(page: ListPage, request: &ListRequest<'_>) -> ListPage {
    let is_cut = page.count.is_multiple_of(ROUND);
    if request.holds_all && request.page_size.is_none() && !is_cut {
        return ListPage { next: None, ..page };
    }
    page
}

/// Names come as lines of plain text, which is what is had where nothing else is asked for.
///
/// # Errors
/// `Protocol` for a page for people, or a form whose lines are no names.
pub(super) fn check_kind(content_type: Option<&str>, body_bytes: u64) -> Result<()> {
    let kind = content_type.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    let is_other = ["html", "json", "xml"].iter().any(|other| kind.to_ascii_lowercase().ends_with(other));
    if body_bytes == 0 || !is_other {
        return Ok(());
    }
    let kind = one_line(kind);
    Err(Error::new(ErrorKind::Protocol, format!("the answer is no list of names: it comes as {kind}"))
        .with_hint("is the storage URL an account's, and what stands before it no portal or cache?"))
}

/// Counts the lines and keeps the last one; keeps all where the names are wanted.
pub(super) struct Names {
    wanted: bool,
    count: u64,
    kept: Vec<String>,
    line: Vec<u8>,
    last: Vec<u8>,
}

impl Names {
    pub(super) fn new(wanted: bool) -> Self {
        Self { wanted, count: 0, kept: Vec::new(), line: Vec::new(), last: Vec::new() }
    }

    fn end_line(&mut self) {
        if self.line.is_empty() {
            return;
        }
        self.count += 1;
        if self.wanted && self.kept.len() < MAX_KEPT_NAMES {
            self.kept.push(String::from_utf8_lossy(&self.line).into_owned());
        }
        std::mem::swap(&mut self.line, &mut self.last);
        self.line.clear();
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        let room = MAX_NAME_BYTES - self.line.len();
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The page. Without a wished page size the server's own is not known, so any page but an empty one may have a
    /// successor.
    ///
    /// # Errors
    /// `Protocol` when there were more names than can be kept.
    pub(super) fn finish(mut self, page_size: Option<u32>, bytes: u64) -> Result<ListPage> {
        self.end_line();
        if self.wanted && self.count > self.kept.len() as u64 {
            let message = format!("the server gave {} names on one page", self.count);
            return Err(Error::new(ErrorKind::Protocol, message).with_hint("ask for smaller pages"));
        }
        let may_go_on = match page_size {
            Some(size) => {
                self.count >= u64::from(size) || (self.count > 0 && self.count.is_multiple_of(RGW_STEP))
            }
            None => self.count > 0,
        };
        let next = may_go_on
            .then(|| String::from_utf8_lossy(&self.last).into_owned())
            .filter(|last| !last.is_empty());
        Ok(ListPage { count: self.count, names: self.kept, next, bytes })
    }
}

impl BodySink for Names {
    fn accept(&mut self, mut chunk: &[u8]) {
        while let Some(at) = memchr::memchr(b'\n', chunk) {
            self.extend_line(&chunk[..at]);
            self.end_line();
            chunk = &chunk[at + 1..];
        }
        self.extend_line(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, piece: usize, wanted: bool, page_size: Option<u32>) -> ListPage {
        let mut names = Names::new(wanted);
        for chunk in text.as_bytes().chunks(piece) {
            names.accept(chunk);
        }
        names.finish(page_size, text.len() as u64).unwrap()
    }

    #[test]
    fn names_are_the_same_however_the_text_is_cut() {
        let text = "alpha\nb c\n\u{e4}\u{4e2d}\n";
        for piece in 1..=text.len() {
            let page = read(text, piece, true, Some(10));
            assert_eq!(page.names, ["alpha", "b c", "\u{e4}\u{4e2d}"]);
            assert_eq!((page.count, page.next), (3, None));
        }
        assert_eq!(read("last line without end", 3, true, Some(10)).names, ["last line without end"]);
    }

    #[test]
    fn a_full_page_has_a_successor_and_an_empty_one_has_none() {
        assert_eq!(read("a\nb\n", 9, false, Some(2)).next.as_deref(), Some("b"));
        assert_eq!(read("a\nb\n", 9, false, Some(3)).next, None);
        assert_eq!(read("a\nb\n", 9, false, None).next.as_deref(), Some("b"));
        assert_eq!(read("", 9, false, None), ListPage::default());
    }

    #[test]
    fn a_page_that_is_held_against_what_must_be_there_ends_where_no_limit_cuts() {
        let next = |names: usize, page_size: Option<u32>, holds_all: bool| {
            let text = "x\n".repeat(names);
            let page = read(&text, 4096, false, page_size);
            ended(page, &ListRequest { page_size, holds_all, ..ListRequest::default() }).next.is_some()
        };
        assert!(next(90, None, false) && !next(90, None, true));
        assert!(
            next(1000, None, true)
                && next(10_000, None, true)
                && next(250, None, true)
                && !next(0, None, true)
        );
        assert!(next(90, Some(90), true) && !next(90, Some(100), true));
    }

    #[test]
    fn a_page_for_people_is_no_list_of_names() {
        for kind in [None, Some("text/plain; charset=utf-8"), Some("application/octet-stream"), Some("")] {
            assert!(check_kind(kind, 9).is_ok(), "{kind:?}");
        }
        for kind in ["text/html; charset=UTF-8", "Application/JSON", "text/xml", "application/problem+json"] {
            assert_eq!(check_kind(Some(kind), 9).unwrap_err().kind(), ErrorKind::Protocol, "{kind}");
            assert!(check_kind(Some(kind), 0).is_ok(), "an empty container's answer may be called anything");
        }
    }

    #[test]
    fn a_line_without_end_is_bounded_in_memory() {
        let mut names = Names::new(true);
        for _ in 0..100 {
            names.accept(&[b'x'; 10_000]);
        }
        assert_eq!(names.finish(Some(5), 0).unwrap().names[0].len(), MAX_NAME_BYTES);
    }

    #[test]
    fn a_page_without_end_is_refused_before_memory_runs_out() {
        let mut names = Names::new(true);
        let piece = b"x\n".repeat(1000);
        for _ in 0..=MAX_KEPT_NAMES / 1000 {
            names.accept(&piece);
        }
        assert_eq!(names.kept.len(), MAX_KEPT_NAMES);
        assert_eq!(names.finish(None, 0).unwrap_err().kind(), ErrorKind::Protocol);
    }

    #[test]
    fn the_query_escapes_its_values() {
        let request = ListRequest {
            container: "c",
            prefix: "a&b/",
            after: Some("x y=\u{e4}"),
            page_size: Some(7),
            delimiter: Some("/"),
            want_names: false,
            holds_all: false,
        };
        assert_eq!(query(&request), b"?limit=7&marker=x%20y%3D%C3%A4&prefix=a%26b%2F&delimiter=%2F");
        assert_eq!(query(&ListRequest::default()), b"");
    }
}
