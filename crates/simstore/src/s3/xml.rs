//! Reads the small XML documents that S3 requests carry. No DTD, no entity but the five of XML itself.

use quick_xml::Reader;
use quick_xml::events::Event;

/// Calls `leaf` with the name and text of every element that holds text, and `end` with the name of every
/// element that ends, in the order of the document. Namespaces are not looked at.
///
/// # Errors
/// When the text is no well-formed document.
pub(super) fn walk(text: &[u8], mut each: impl FnMut(Item<'_>)) -> Result<(), ()> {
    let text = std::str::from_utf8(text).map_err(|_| ())?;
    let mut reader = Reader::from_str(text);
    let (mut depth, mut seen, mut value) = (0_u32, false, String::new());
    loop {
        match reader.read_event().map_err(|_| ())? {
            Event::Start(_) => {
                depth += 1;
                seen = true;
                value.clear();
            }
            Event::Empty(start) => {
                seen = true;
                let name = start.local_name();
                each(Item { name: name.as_ref(), text: "" });
            }
            Event::End(end) => {
                depth = depth.checked_sub(1).ok_or(())?;
                let name = end.local_name();
                each(Item { name: name.as_ref(), text: value.trim() });
                value.clear();
            }
            Event::Text(part) => value.push_str(part.as_ref()),
            Event::CData(part) => value.push_str(part.as_ref()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref().map_err(|_| ())? {
                Some(character) => value.push(character),
                None => value.push(match reference.as_ref() {
                    "amp" => '&',
                    "lt" => '<',
                    "gt" => '>',
                    "quot" => '"',
                    "apos" => '\'',
                    _ => return Err(()),
                }),
            },
            Event::DocType(_) => return Err(()),
            Event::Eof if depth == 0 && seen => return Ok(()),
            Event::Eof => return Err(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

/// An element that ended, with the text directly in it since the last tag.
pub(super) struct Item<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Result<Vec<(String, String)>, ()> {
        let mut out = Vec::new();
        walk(text.as_bytes(), |item| out.push((item.name.to_owned(), item.text.to_owned()))).map(|()| out)
    }

    #[test]
    fn elements_come_with_their_text_and_references_resolved() {
        let found = items(
            "<?xml version=\"1.0\"?><a xmlns=\"x\"><k> a&amp;b&#65; </k><p:q/><c><![CDATA[<]]></c></a>",
        )
        .unwrap();
        let expected = [("k", "a&bA"), ("q", ""), ("c", "<"), ("a", "")];
        assert_eq!(found, expected.map(|(n, t)| (n.to_owned(), t.to_owned())));
    }

    #[test]
    fn what_is_no_document_or_has_a_doctype_is_refused() {
        for text in ["", "<a>", "</a>", "<a></b>", "plain", "<!DOCTYPE a><a/>", "<a>&evil;</a>"] {
            assert!(items(text).is_err(), "{text}");
        }
        assert!(walk(&[0xff, 0xfe], |_| {}).is_err());
    }
}
