//! aws-chunked bodies (Amazon S3 API reference, "Transferring Payload in Multiple Chunks", with and without trailers):
//! each chunk may carry a signature that covers it and the one before, and a checksum may follow the last one.

use super::checksum::{Checksum, Running};
use super::sigv4::{Hex, SigV4};
use crate::http::{ChunkCoder, push_hex};

/// Data per chunk. Amazon asks for 8 KiB at least; its examples use this.
const CHUNK_BYTES: usize = 64 * 1024;

const SIGNATURE_EXTENSION: &[u8] = b";chunk-signature=";
const TRAILER_SIGNATURE: &[u8] = b"x-amz-trailer-signature:";

/// How a streamed body is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Streaming {
    pub(crate) signed: bool,
    pub(crate) checksum: Checksum,
}

impl Streaming {
    /// Value of `x-amz-content-sha256`.
    pub(crate) fn payload(self) -> &'static str {
        match (self.signed, self.checksum) {
            (true, Checksum::None) => "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
            (true, _) => "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
            (false, _) => "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        }
    }

    /// Length on the wire of a body of `length` bytes.
    pub(crate) fn encoded_bytes(self, length: u64) -> u64 {
        let chunk = CHUNK_BYTES as u64;
        let (whole, rest) = (length / chunk, length % chunk);
        let mut total = whole * self.chunk_cost(CHUNK_BYTES) + length;
        if rest > 0 {
            total += self.chunk_cost(usize::try_from(rest).unwrap_or(0));
        }
        total + self.chunk_cost(0) + self.trailer_cost()
    }

    /// What stands around a chunk: its line, and the line end after its data (or the end of the body).
    fn chunk_cost(self, length: usize) -> u64 {
        let mut line = Vec::with_capacity(16);
        push_hex(&mut line, length);
        let signature = if self.signed { SIGNATURE_EXTENSION.len() + 64 } else { 0 };
        (line.len() + signature + 4) as u64
    }

    fn trailer_cost(self) -> u64 {
        if self.checksum == Checksum::None {
            return 0;
        }
        let line = self.checksum.header().len() + 1 + self.checksum.text_bytes() + 2;
        let signature = if self.signed { TRAILER_SIGNATURE.len() + 64 + 2 } else { 0 };
        (line + signature) as u64
    }

    /// Frames one body; `seed` is the signature of the request's head.
    pub(crate) fn coder(self, signer: Option<&mut SigV4>, seed: Hex) -> AwsChunks<'_> {
        let signer = if self.signed { signer } else { None };
        AwsChunks { how: self, signer, previous: seed, running: self.checksum.start() }
    }
}

/// Frames one body.
#[derive(Debug)]
pub(crate) struct AwsChunks<'a> {
    how: Streaming,
    signer: Option<&'a mut SigV4>,
    previous: Hex,
    running: Running,
}

impl AwsChunks<'_> {
    fn line(&mut self, data: &[u8], out: &mut Vec<u8>) {
        push_hex(out, data.len());
        if let Some(signer) = &mut self.signer {
            self.previous = signer.sign_chunk(&self.previous, data);
            out.extend_from_slice(SIGNATURE_EXTENSION);
            out.extend_from_slice(&self.previous);
        }
        out.extend_from_slice(b"\r\n");
    }
}

impl ChunkCoder for AwsChunks<'_> {
    fn chunk_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn before(&mut self, data: &[u8], out: &mut Vec<u8>) {
        self.running.update(data);
        self.line(data, out);
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.line(&[], out);
        if self.how.checksum != Checksum::None {
            let text = std::mem::replace(&mut self.running, Running::None).finish();
            let start = out.len();
            out.extend_from_slice(self.how.checksum.header().as_bytes());
            out.push(b':');
            out.extend_from_slice(text.as_bytes());
            if let Some(signer) = &mut self.signer {
                // The signature covers the line with a bare newline.
                out.push(b'\n');
                let signature = signer.sign_trailer(&self.previous, &out[start..]);
                out.pop();
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(TRAILER_SIGNATURE);
                out.extend_from_slice(&signature);
            }
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::signed_headers::Lines;
    use crate::s3::sigv4::Canonical;
    use cosmark_adaptor_api::{AwsKeys, Secret};

    fn frame(coder: &mut AwsChunks<'_>, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for chunk in body.chunks(CHUNK_BYTES) {
            coder.before(chunk, &mut out);
            out.extend_from_slice(chunk);
            coder.after(&mut out);
        }
        coder.finish(&mut out);
        out
    }

    fn example(extra: &[(&str, &str)], payload: &str) -> (SigV4, Hex) {
        let keys = AwsKeys {
            access_key: "AKIAIOSFODNN7EXAMPLE".into(),
            secret_key: Secret::new("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            session_token: None,
        };
        let mut signer = SigV4::new(&keys, "us-east-1");
        let date = signer.set_time(1_369_353_600);
        let mut lines = Lines::new();
        for (name, value) in
            [("host", "s3.amazonaws.com"), ("x-amz-content-sha256", payload)].iter().chain(extra)
        {
            lines.add(name, value.as_bytes());
        }
        lines.add("x-amz-date", &date);
        let path = b"/examplebucket/chunkObject.txt";
        let seed = signer.sign(&Canonical { method: "PUT", path, query: b"", lines: &lines, payload });
        (signer, seed)
    }

    #[test]
    fn amazons_published_chunk_signatures_come_out() {
        let how = Streaming { signed: true, checksum: Checksum::None };
        let extra = [
            ("content-encoding", "aws-chunked"),
            ("content-length", "66824"),
            ("x-amz-decoded-content-length", "66560"),
            ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ];
        let (mut signer, seed) = example(&extra, how.payload());
        let body = vec![b'a'; 66_560];
        let framed = frame(&mut how.coder(Some(&mut signer), seed), &body);
        assert_eq!((framed.len(), how.encoded_bytes(66_560)), (66_824, 66_824));
        let text = String::from_utf8(framed).unwrap();
        let lines: Vec<_> = text.split("\r\n").filter(|line| line.contains(';')).collect();
        assert_eq!(
            lines,
            [
                "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
                "400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
                "0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
            ]
        );
    }

    #[test]
    fn amazons_published_trailer_signature_comes_out() {
        let how = Streaming { signed: true, checksum: Checksum::Crc32c };
        let extra = [
            ("content-encoding", "aws-chunked"),
            ("x-amz-decoded-content-length", "66560"),
            ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ("x-amz-trailer", "x-amz-checksum-crc32c"),
        ];
        let (mut signer, seed) = example(&extra, how.payload());
        let body = vec![b'a'; 66_560];
        let framed = frame(&mut how.coder(Some(&mut signer), seed), &body);
        assert_eq!(framed.len() as u64, how.encoded_bytes(66_560));
        let text = String::from_utf8(framed).unwrap();
        let end = "0;chunk-signature=2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992\r\n\
                   x-amz-checksum-crc32c:sOO8/Q==\r\n\
                   x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n";
        assert!(text.ends_with(end), "{}", &text[text.len() - 300..]);
    }

    #[test]
    fn the_announced_length_is_the_framed_length() {
        for signed in [false, true] {
            for checksum in [Checksum::None, Checksum::Crc32, Checksum::Crc64Nvme, Checksum::Sha256] {
                let how = Streaming { signed, checksum };
                for size in [0, 1, 15, 16, 4096, 65_535, 65_536, 65_537, 300_000] {
                    let (mut signer, seed) = example(&[], how.payload());
                    let framed = frame(&mut how.coder(Some(&mut signer), seed), &vec![b'x'; size]);
                    assert_eq!(framed.len() as u64, how.encoded_bytes(size as u64), "{how:?} {size}");
                }
            }
        }
    }
}
