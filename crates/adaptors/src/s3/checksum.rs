//! Checksums that S3 verifies on arrival (Amazon S3 user guide, "Checking object integrity"): CRCs big-endian, all in
//! base64.

use data_encoding::BASE64;
use std::io;

use cosmark_adaptor_api::BodySource;
use crc_fast::CrcAlgorithm;
use sha2::{Digest as _, Sha256};

use super::sigv4::{Hex, hex};
use crate::http::with_buffer;

/// The algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checksum {
    None,
    Crc32,
    Crc32c,
    Crc64Nvme,
    Sha256,
}

impl Checksum {
    /// Words of the key `checksum`.
    pub(crate) const WORDS: &'static [&'static str] = &["none", "crc32", "crc32c", "crc64nvme", "sha256"];

    pub(crate) fn from_word(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "crc32" => Self::Crc32,
            "crc32c" => Self::Crc32c,
            "crc64nvme" => Self::Crc64Nvme,
            "sha256" => Self::Sha256,
            _ => Self::None,
        }
    }

    /// Header or trailer line's name; empty for none.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Crc32 => "x-amz-checksum-crc32",
            Self::Crc32c => "x-amz-checksum-crc32c",
            Self::Crc64Nvme => "x-amz-checksum-crc64nvme",
            Self::Sha256 => "x-amz-checksum-sha256",
        }
    }

    /// Value of `x-amz-checksum-algorithm`; empty for none.
    pub(crate) fn algorithm(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Crc32 => "CRC32",
            Self::Crc32c => "CRC32C",
            Self::Crc64Nvme => "CRC64NVME",
            Self::Sha256 => "SHA256",
        }
    }

    /// Length of its base64 text in bytes.
    pub(crate) fn text_bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Crc32 | Self::Crc32c => 8,
            Self::Crc64Nvme => 12,
            Self::Sha256 => 44,
        }
    }

    pub(crate) fn start(self) -> Running {
        match self {
            Self::None => Running::None,
            Self::Crc32 => Running::Crc(crc_fast::Digest::new(CrcAlgorithm::Crc32IsoHdlc), 4),
            Self::Crc32c => Running::Crc(crc_fast::Digest::new(CrcAlgorithm::Crc32Iscsi), 4),
            Self::Crc64Nvme => Running::Crc(crc_fast::Digest::new(CrcAlgorithm::Crc64Nvme), 8),
            Self::Sha256 => Running::Sha256(Sha256::new()),
        }
    }

    /// The checksum of a whole body, as text.
    pub(crate) fn of(self, body: &dyn BodySource) -> io::Result<Text> {
        if let (Self::Sha256, Some(known)) = (self, body.known_sha256()) {
            return Ok(Text::new(&known));
        }
        let mut running = self.start();
        if self == Self::None {
            return Ok(running.finish());
        }
        read_through(body, |chunk| running.update(chunk))?;
        Ok(running.finish())
    }
}

/// A checksum under way.
#[derive(Debug)]
pub(crate) enum Running {
    None,
    Crc(crc_fast::Digest, usize),
    Sha256(Sha256),
}

impl Running {
    pub(crate) fn update(&mut self, data: &[u8]) {
        match self {
            Self::None => {}
            Self::Crc(digest, _) => digest.update(data),
            Self::Sha256(digest) => digest.update(data),
        }
    }

    pub(crate) fn finish(self) -> Text {
        match self {
            Self::None => Text::new(&[]),
            Self::Crc(digest, width) => Text::new(&digest.finalize().to_be_bytes()[8 - width..]),
            Self::Sha256(digest) => Text::new(&digest.finalize()),
        }
    }
}

/// A checksum in base64.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text {
    bytes: [u8; 44],
    length: usize,
}

impl Text {
    fn new(raw: &[u8]) -> Self {
        let mut bytes = [0; 44];
        let length = BASE64.encode_len(raw.len());
        if let Some(room) = bytes.get_mut(..length) {
            BASE64.encode_mut(raw, room);
        }
        Self { bytes, length }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// SHA-256 of a whole body in hex, read only if the source does not know it.
pub(crate) fn sha256_hex(body: &dyn BodySource) -> io::Result<Hex> {
    if let Some(known) = body.known_sha256() {
        return Ok(hex(&known));
    }
    let mut digest = Sha256::new();
    read_through(body, |chunk| digest.update(chunk))?;
    Ok(hex(&digest.finalize().into()))
}

fn read_through(body: &dyn BodySource, mut see: impl FnMut(&[u8])) -> io::Result<()> {
    with_buffer(|buffer| {
        let mut offset = 0;
        while offset < body.len() {
            let count = usize::try_from(body.len() - offset).unwrap_or(usize::MAX).min(buffer.len());
            body.copy_to(offset, &mut buffer[..count])?;
            see(&buffer[..count]);
            offset += count as u64;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_adaptor_api::BytesSource;
    use data_encoding::HEXLOWER_PERMISSIVE;

    #[test]
    fn the_published_check_values_come_out() {
        // The check value of a CRC is that of these nine digits (reveng catalogue); SHA-256 by FIPS 180-4.
        let cases: [(Checksum, &[u8]); 4] = [
            (Checksum::Crc32, &0xcbf4_3926_u32.to_be_bytes()),
            (Checksum::Crc32c, &0xe306_9283_u32.to_be_bytes()),
            (Checksum::Crc64Nvme, &0xae8b_1486_0a79_9888_u64.to_be_bytes()),
            (
                Checksum::Sha256,
                &HEXLOWER_PERMISSIVE
                    .decode("15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225".as_bytes())
                    .unwrap(),
            ),
        ];
        for (checksum, raw) in cases {
            let text = checksum.of(&BytesSource(b"123456789")).unwrap();
            assert_eq!(
                std::str::from_utf8(text.as_bytes()).unwrap(),
                BASE64.encode(raw.as_ref()),
                "{checksum:?}"
            );
            assert_eq!(text.as_bytes().len(), checksum.text_bytes());
            assert_eq!(Checksum::from_word(&checksum.algorithm().to_lowercase()), checksum);
        }
    }

    #[test]
    fn without_a_checksum_and_with_a_known_hash_the_body_is_not_read() {
        struct Unreadable;
        impl BodySource for Unreadable {
            fn len(&self) -> u64 {
                10
            }
            fn copy_to(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
                Err(io::ErrorKind::Other.into())
            }
            fn known_sha256(&self) -> Option<[u8; 32]> {
                Some([0; 32])
            }
        }
        assert_eq!(Checksum::None.of(&Unreadable).unwrap().as_bytes(), b"");
        assert_eq!(Checksum::Sha256.of(&Unreadable).unwrap().as_bytes().len(), 44);
        assert_eq!(sha256_hex(&Unreadable).unwrap(), [b'0'; 64]);
        assert!(Checksum::Crc32.of(&Unreadable).is_err());
    }

    #[test]
    fn a_body_longer_than_the_buffer_is_read_whole() {
        let body = vec![b'a'; 1_000_000];
        let text = sha256_hex(&BytesSource(&body)).unwrap();
        let expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(std::str::from_utf8(&text).unwrap(), expected);
    }
}
