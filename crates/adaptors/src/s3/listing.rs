//! Listings (Amazon S3 API reference, `ListObjectsV2`, `ListObjects`, `ListBuckets`).

use cosmark_adaptor_api::{Error, ErrorKind, ListPage, Result};

use crate::http::xml_scan;

/// Most bytes of one page of a listing: a page has 1000 names if nothing else is said, a name 1024 bytes, each of which may be
/// escaped as six, and what is told about an object does not need as much again.
pub(crate) fn most_bytes(page_size: Option<u32>) -> usize {
    const PER_NAME: usize = 8 << 10;
    const MOST: usize = 32 << 20;
    // Never less than a whole page of a server that ignores a smaller size: it is told apart by its number of names.
    (usize::try_from(page_size.unwrap_or(1000)).unwrap_or(MOST).max(1000) * PER_NAME).min(MOST)
}

/// What kind of listing an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of objects, version 1 or 2.
    Objects { version: u8 },
    /// Of the account's buckets.
    Buckets,
}

/// Reads a page. [`ListPage::next`] is what the protocol continues by: version 2's token, else the last name.
pub(crate) fn read(kind: Kind, body: &[u8], want_names: bool) -> Result<ListPage> {
    let (root, tag) = match kind {
        Kind::Objects { .. } => ("ListBucketResult", "Key"),
        Kind::Buckets => ("ListAllMyBucketsResult", "Name"),
    };
    if memchr::memmem::find(body, root.as_bytes()).is_none() {
        return Err(Error::new(ErrorKind::Protocol, format!("the listing holds no {root}"))
            .with_hint("check that the endpoint is the store's S3 port"));
    }
    if !xml_scan::closes(body, root) {
        return Err(Error::new(
            ErrorKind::Protocol,
            format!("the listing breaks off: its {root} has no end"),
        )
        .with_hint("the store, or a proxy before it, sent a part of the page as if it were all of it"));
    }
    // An owner's or a bucket's own `Name` stands outside of `Buckets`.
    let entries = match kind {
        Kind::Objects { .. } => body,
        Kind::Buckets => memchr::memmem::find(body, b"<Buckets").map_or(&body[..0], |at| &body[at..]),
    };
    // Names that were folded at a delimiter.
    let folded =
        xml_scan::texts(entries, "CommonPrefixes").filter_map(|one| xml_scan::find(one.as_bytes(), "Prefix"));
    let count = xml_scan::count(entries, tag) + xml_scan::count(entries, "CommonPrefixes");
    let names: Vec<String> = if want_names {
        xml_scan::texts(entries, tag).chain(folded).map(xml_scan::unescape).collect()
    } else {
        Vec::new()
    };
    let is_truncated = xml_scan::find(body, "IsTruncated").is_some_and(is_true);
    let next = match kind {
        _ if !is_truncated => None,
        Kind::Buckets => None,
        Kind::Objects { version: 2 } => {
            Some(xml_scan::find(body, "NextContinuationToken").ok_or_else(no_next)?)
        }
        Kind::Objects { .. } => Some(match xml_scan::find(body, "NextMarker") {
            Some(marker) => marker,
            None => xml_scan::texts(body, "Key").last().ok_or_else(no_next)?,
        }),
    };
    Ok(ListPage { count, names, next: next.map(xml_scan::unescape), bytes: body.len() as u64 })
}

/// XML's words for true, and Python's.
fn is_true(text: &str) -> bool {
    let text = text.trim();
    text == "1" || text.eq_ignore_ascii_case("true")
}

fn no_next() -> Error {
    Error::new(ErrorKind::Protocol, "the listing says that more follows, but not from where")
        .with_hint("try list_version=1 (or 2)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_every_kind_are_read() {
        let two = b"<ListBucketResult><Name>b</Name><Prefix>p</Prefix><KeyCount>2</KeyCount><IsTruncated>true</IsTruncated>\
            <NextContinuationToken>t&amp;1</NextContinuationToken><Contents><Key>a&lt;1&gt;</Key></Contents>\
            <Contents><Key>b</Key><Owner><ID>x</ID></Owner></Contents></ListBucketResult>";
        let page = read(Kind::Objects { version: 2 }, two, true).unwrap();
        assert_eq!(
            (page.count, page.names, page.next.as_deref()),
            (2, vec!["a<1>".to_owned(), "b".to_owned()], Some("t&1"))
        );
        assert_eq!(read(Kind::Objects { version: 1 }, two, false).unwrap().next.as_deref(), Some("b"));
        for (word, goes_on) in
            [("True", true), ("\n  true ", true), ("1", true), ("False", false), ("", false)]
        {
            let body = String::from_utf8_lossy(two).replace("true", word);
            let page = read(Kind::Objects { version: 2 }, body.as_bytes(), false).unwrap();
            assert_eq!(page.next.is_some(), goes_on, "{word}");
        }
        let buckets = b"<ListAllMyBucketsResult><Owner><DisplayName>n</DisplayName><Name>me</Name></Owner>\
            <Buckets><Bucket><Name>b1</Name></Bucket><Bucket><Name>b2</Name></Bucket></Buckets></ListAllMyBucketsResult>";
        let page = read(Kind::Buckets, buckets, true).unwrap();
        assert_eq!((page.count, page.names.join(","), page.next), (2, "b1,b2".to_owned(), None));
        let empty = read(Kind::Objects { version: 2 }, b"<ListBucketResult/>", true).unwrap();
        assert_eq!((empty.count, empty.next), (0, None));
    }

    #[test]
    fn a_page_that_is_none_is_a_protocol_error() {
        let endless = "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>";
        let cut = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key></Contents><Contents><Ke";
        for (version, body) in [(2, "<html/>"), (2, ""), (2, endless), (1, endless), (2, cut), (1, cut)] {
            let error = read(Kind::Objects { version }, body.as_bytes(), true).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{body}");
        }
    }
}
