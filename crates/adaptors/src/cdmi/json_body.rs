//! The JSON in which CDMI carries an object's content (SNIA CDMI 1.0.2, clauses 8.2 and 8.4): written in base64 as it goes
//! over the wire, read as a whole.

use cosmark_adaptor_api::{BodySink, Error, ErrorKind, Result};
use data_encoding::BASE64;
use serde::Deserialize;

use crate::http::ChunkCoder;

const BEFORE: &[u8] =
    br#"{"mimetype":"application/octet-stream","metadata":{},"valuetransferencoding":"base64","value":""#;
const AFTER: &[u8] = br#""}"#;

/// Most bytes of an answer with an object in it. Plain HTTP has no such limit.
pub(super) const ANSWER_LIMIT: usize = 128 << 20;

/// Bytes of the JSON around and in place of a body of this length.
pub(super) fn encoded_bytes(len: u64) -> u64 {
    (BEFORE.len() + AFTER.len()) as u64 + len.div_ceil(3) * 4
}

/// Frames a body as the JSON's `value`.
#[derive(Default)]
pub(super) struct ValueCoder {
    has_begun: bool,
}

impl ValueCoder {
    fn begin(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            out.extend_from_slice(BEFORE);
        }
    }
}

impl ChunkCoder for ValueCoder {
    /// A multiple of 3, so that only the last chunk is padded.
    fn chunk_bytes(&self) -> usize {
        48 * 1024
    }

    fn before(&mut self, _: &[u8], out: &mut Vec<u8>) {
        self.begin(out);
    }

    fn after(&mut self, out: &mut Vec<u8>) {
        let encoded = BASE64.encode(out);
        out.clear();
        out.extend_from_slice(encoded.as_bytes());
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.begin(out);
        out.extend_from_slice(AFTER);
    }
}

#[derive(Deserialize)]
struct DataObject {
    /// There in an object that is complete.
    value: Option<String>,
    #[serde(default)]
    valuetransferencoding: String,
}

/// Gives the content of an answer to `sink`, and its length.
pub(super) fn read(body: &[u8], sink: Option<&mut dyn BodySink>) -> Result<u64> {
    let wrong = |what: String| {
        Error::new(ErrorKind::Protocol, format!("the answer is no CDMI data object: {what}"))
            .with_hint("set mode=non-cdmi if the server gives the content as it is")
    };
    let object: DataObject =
        serde_json::from_slice(body).map_err(|error| wrong(format!("line {}", error.line())))?;
    let value = object.value.ok_or_else(|| wrong("it has no value".to_owned()))?;
    let content = match object.valuetransferencoding.as_str() {
        "base64" => BASE64.decode(value.as_ref()).map_err(|_| wrong("its value is not base64".to_owned()))?,
        "utf-8" | "" | "json" => value.into_bytes(),
        _ => return Err(wrong("its valuetransferencoding is neither base64 nor utf-8".to_owned())),
    };
    if let Some(sink) = sink {
        sink.accept(&content);
    }
    Ok(content.len() as u64)
}

#[cfg(test)]
mod tests {
    use cosmark_adaptor_api::CollectSink;

    use super::*;

    #[test]
    fn what_is_framed_is_read_back_and_has_the_announced_length() {
        for len in [0, 1, 2, 3, 4, 48 * 1024, 48 * 1024 + 1, 100_000] {
            let content: Vec<u8> = (0..len).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let mut coder = ValueCoder::default();
            let mut wire = Vec::new();
            for chunk in content.chunks(coder.chunk_bytes()) {
                coder.before(chunk, &mut wire);
                let mut data = chunk.to_vec();
                coder.after(&mut data);
                wire.extend_from_slice(&data);
            }
            coder.finish(&mut wire);
            assert_eq!(wire.len() as u64, encoded_bytes(len as u64), "{len}");
            let mut sink = CollectSink::new(len + 1);
            assert_eq!(read(&wire, Some(&mut sink)).unwrap(), len as u64);
            assert_eq!(sink.bytes, content);
        }
    }

    #[test]
    fn text_is_read_and_what_is_no_object_is_a_protocol_error() {
        assert_eq!(read(br#"{"value":"abc","valuetransferencoding":"utf-8"}"#, None).unwrap(), 3);
        assert_eq!(read(br#"{"value":""}"#, None).unwrap(), 0);
        for body in [
            "",
            "[7]",
            "{}",
            r#"{"error":"no"}"#,
            r#"{"completionStatus":"Processing"}"#,
            "{\"value\":\"?\",\"valuetransferencoding\":\"base64\"}",
            "<html>",
        ] {
            assert_eq!(read(body.as_bytes(), None).unwrap_err().kind(), ErrorKind::Protocol, "{body}");
        }
    }
}
