//! What is known about the answer to a read before it comes, and so is checked on every one: the status that belongs to what
//! was asked, and of a part which bytes it is (RFC 9110, sections 14.4 and 15.3.7).

use cosmark_adaptor_api::{ByteRange, Error, ErrorKind, Result};

use super::{Answer, Connection};

/// What `Content-Range` says: first and last byte, and the whole length, where the server tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    first: u64,
    last: u64,
    total: Option<u64>,
}

impl Part {
    /// `bytes 0-99/1000`, `bytes 0-99/*`.
    fn read(text: &str) -> Option<Self> {
        let (unit, rest) = text.trim().split_once([' ', '='])?;
        let (span, total) = rest.trim().split_once('/')?;
        let (first, last) = span.trim().split_once('-')?;
        let number = |text: &str| -> Option<u64> {
            let text = text.trim();
            // `parse` would take a sign, too.
            text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
        };
        let total = match total.trim() {
            "*" => None,
            total => Some(number(total)?),
        };
        unit.eq_ignore_ascii_case("bytes").then_some(())?;
        Some(Self { first: number(first)?, last: number(last)?, total })
    }

    /// Why this is not what was asked for, if it is not.
    fn differs(self, range: ByteRange, body_bytes: u64) -> Option<&'static str> {
        let Self { first, last, total } = self;
        if first != range.first || last < first || last > range.last {
            return Some("it is another range");
        }
        // A part may be shorter than was asked for only where the object ends.
        if total.is_some_and(|total| total.checked_sub(1).map(|end| end.min(range.last)) != Some(last)) {
            return Some("it ends before both the range and the object");
        }
        if (last - first).checked_add(1) != Some(body_bytes) {
            return Some("the body is not as long as it says");
        }
        None
    }
}

impl Connection {
    /// Bytes of a successful read, once it is what was asked for; `None`: the status is an error of the store's.
    ///
    /// # Errors
    /// `WrongRange` for a whole object where a range was asked for, a range for a whole object, and another range.
    pub(crate) fn checked_read(&self, answer: Answer, range: Option<ByteRange>) -> Option<Result<u64>> {
        let bytes = answer.body_bytes;
        let what = match (answer.status, range) {
            (200, None) => return Some(Ok(bytes)),
            (206, Some(range)) => match self.told_part() {
                Some(part) => match part.differs(range, bytes) {
                    None => return Some(Ok(bytes)),
                    Some(what) => what,
                },
                None => "it does not say which bytes it is",
            },
            (200, Some(_)) => "it is the whole object",
            (206, None) => "it is a part, and the whole object was asked for",
            _ => return None,
        };
        Some(Err(self.wrong(answer, range, what)))
    }

    fn told_part(&self) -> Option<Part> {
        let mut lines = self.header_all("content-range");
        let part = Part::read(lines.next()?);
        // Two of them contradict each other, or one is somebody else's.
        part.filter(|_| lines.next().is_none())
    }

    fn wrong(&self, answer: Answer, range: Option<ByteRange>, what: &str) -> Error {
        let asked = range
            .map_or_else(|| "all bytes".to_owned(), |range| format!("bytes {}-{}", range.first, range.last));
        let told = self.header("content-range").map_or_else(
            || "no Content-Range".to_owned(),
            |told| format!("Content-Range `{}`", crate::http::request::one_line(told)),
        );
        let Answer { status, body_bytes, .. } = answer;
        let message = format!(
            "the answer to a read of {asked} is wrong: {what} (status {status}, {told}, {body_bytes} bytes)"
        );
        Error::new(ErrorKind::WrongRange, message)
            .with_partial_bytes(body_bytes)
            .with_hint("the store, or a cache before it, does not honour ranges")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_as_the_standard_writes_it_and_nothing_else_is() {
        let part = |first, last, total| Some(Part { first, last, total });
        let cases = [
            ("bytes 0-99/1000", part(0, 99, Some(1000))),
            ("Bytes 5-5/*", part(5, 5, None)),
            ("bytes  7-9 / 10 ", part(7, 9, Some(10))),
            ("bytes 0-99", None),
            ("bytes */1000", None),
            ("items 0-9/10", None),
            ("bytes +1-9/10", None),
            ("bytes 0-99999999999999999999999/*", None),
            ("bytes 1-/10", None),
            ("", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(Part::read(text), wanted, "{text}");
        }
    }

    #[test]
    fn each_way_to_be_another_range_is_seen() {
        let asked = ByteRange { first: 1000, last: 1999 };
        let cases = [
            ((1000, 1999, Some(5000)), 1000, true),
            ((1000, 1999, None), 1000, true),
            ((1000, 1499, Some(1500)), 500, true),
            ((1000, 1499, None), 500, true),
            ((0, 999, Some(5000)), 1000, false),
            ((1001, 1999, Some(5000)), 999, false),
            ((1000, 2000, Some(5000)), 1001, false),
            ((1000, 1499, Some(5000)), 500, false),
            ((1000, 1999, Some(1500)), 1000, false),
            ((1000, 1999, Some(0)), 1000, false),
            ((1000, 999, Some(5000)), 0, false),
            ((1000, 1999, Some(5000)), 999, false),
            ((0, u64::MAX, None), 0, false),
        ];
        for ((first, last, total), body_bytes, is_right) in cases {
            let part = Part { first, last, total };
            assert_eq!(part.differs(asked, body_bytes).is_none(), is_right, "{part:?} {body_bytes}");
        }
    }
}
