//! Checksums that a client sends along (`x-amz-checksum-*`, as header or as trailer), computes and gets back
//! (AWS, "Checking object integrity in Amazon S3").

use data_encoding::BASE64;
use hyper::HeaderMap;
use s3s::crypto::{Checksum as _, Crc32, Crc32c, Crc64Nvme, Sha1, Sha256};
use s3s::dto::{ChecksumAlgorithm, ChecksumType};
use s3s::{S3Result, TrailingHeaders, s3_error};
use serde::{Deserialize, Serialize};

use crate::fault;

/// The five checksums of S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Algorithm {
    #[serde(rename = "CRC32")]
    Crc32,
    #[serde(rename = "CRC32C")]
    Crc32c,
    #[serde(rename = "CRC64NVME")]
    Crc64Nvme,
    #[serde(rename = "SHA1")]
    Sha1,
    #[serde(rename = "SHA256")]
    Sha256,
}

const ALL: [(Algorithm, &str, &str); 5] = [
    (Algorithm::Crc32, "CRC32", "x-amz-checksum-crc32"),
    (Algorithm::Crc32c, "CRC32C", "x-amz-checksum-crc32c"),
    (Algorithm::Crc64Nvme, "CRC64NVME", "x-amz-checksum-crc64nvme"),
    (Algorithm::Sha1, "SHA1", "x-amz-checksum-sha1"),
    (Algorithm::Sha256, "SHA256", "x-amz-checksum-sha256"),
];

impl Algorithm {
    pub(crate) fn name(self) -> &'static str {
        ALL.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    fn header(self) -> &'static str {
        ALL.iter().find(|row| row.0 == self).map_or("", |row| row.2)
    }

    /// The one that a request names in `x-amz-checksum-algorithm`.
    pub(crate) fn named(name: Option<&ChecksumAlgorithm>) -> S3Result<Option<Self>> {
        let Some(name) = name else { return Ok(None) };
        match ALL.iter().find(|row| row.1 == name.as_str()) {
            Some(row) => Ok(Some(row.0)),
            None => Err(s3_error!(InvalidRequest, "there is no checksum {}", name.as_str())),
        }
    }

    pub(crate) fn to_dto(self) -> ChecksumAlgorithm {
        ChecksumAlgorithm::from_static(self.name())
    }
}

/// A checksum in base64, as it stands in headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest {
    pub(crate) algorithm: Algorithm,
    pub(crate) value: String,
    /// A checksum of the parts' checksums (with `-<parts>` at its end), not of the content.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) composite: bool,
}

impl Digest {
    pub(crate) fn kind(&self) -> ChecksumType {
        ChecksumType::from_static(if self.composite {
            ChecksumType::COMPOSITE
        } else {
            ChecksumType::FULL_OBJECT
        })
    }
}

/// Sets the field of an s3s output that belongs to the digest, if there is one.
macro_rules! fill {
    ($output:expr, $digest:expr) => {
        if let Some(digest) = $digest {
            let value = Some(digest.value.clone());
            match digest.algorithm {
                $crate::digest::Algorithm::Crc32 => $output.checksum_crc32 = value,
                $crate::digest::Algorithm::Crc32c => $output.checksum_crc32c = value,
                $crate::digest::Algorithm::Crc64Nvme => $output.checksum_crc64nvme = value,
                $crate::digest::Algorithm::Sha1 => $output.checksum_sha1 = value,
                $crate::digest::Algorithm::Sha256 => $output.checksum_sha256 = value,
            }
        }
    };
}
pub(crate) use fill;

/// Takes the checksum out of an s3s input.
macro_rules! given {
    ($input:expr) => {
        $crate::digest::one_of([
            $input.checksum_crc32.take(),
            $input.checksum_crc32c.take(),
            $input.checksum_crc64nvme.take(),
            $input.checksum_sha1.take(),
            $input.checksum_sha256.take(),
        ])
    };
}
pub(crate) use given;

/// The one value that is given, in the order of [`ALL`].
pub(crate) fn one_of(values: [Option<String>; 5]) -> S3Result<Option<Digest>> {
    let mut found = None;
    for (row, value) in ALL.iter().zip(values) {
        let Some(value) = value else { continue };
        if found.is_some() {
            return Err(s3_error!(InvalidRequest, "a request takes one x-amz-checksum header, not several"));
        }
        let composite = value.contains('-');
        found = Some(Digest { algorithm: row.0, value, composite });
    }
    Ok(found)
}

/// What the client promises about its body.
#[derive(Debug)]
pub(crate) enum Claim {
    None,
    Header(Digest),
    /// The value follows the body.
    Trailer(Algorithm, TrailingHeaders),
}

impl Claim {
    /// From the header value, or from the announcement in `x-amz-trailer`.
    pub(crate) fn new(
        given: Option<Digest>,
        headers: &HeaderMap,
        trailers: Option<TrailingHeaders>,
    ) -> S3Result<Self> {
        if let Some(digest) = given {
            return Ok(Self::Header(digest));
        }
        let (Some(trailers), Some(names)) = (trailers, headers.get("x-amz-trailer")) else {
            return Ok(Self::None);
        };
        let names = names.to_str().unwrap_or_default();
        let announced = |header: &str| names.split(',').any(|name| name.trim().eq_ignore_ascii_case(header));
        let mut rows = ALL.iter().filter(|row| announced(row.2));
        match (rows.next(), rows.next()) {
            (Some(row), None) => Ok(Self::Trailer(row.0, trailers)),
            (None, _) => Ok(Self::None),
            _ => Err(s3_error!(InvalidRequest, "a request takes one x-amz-checksum trailer, not several")),
        }
    }

    pub(crate) fn hasher(&self) -> Option<Hasher> {
        match self {
            Self::None => None,
            Self::Header(digest) => Some(Hasher::new(digest.algorithm)),
            Self::Trailer(algorithm, _) => Some(Hasher::new(*algorithm)),
        }
    }

    /// Compares what was computed with what was promised, once the body is read.
    pub(crate) fn check(self, computed: Option<Digest>) -> S3Result<Option<Digest>> {
        let promised = match self {
            Self::None => return Ok(computed),
            Self::Header(digest) => digest.value,
            Self::Trailer(algorithm, trailers) => {
                let value = trailers.read(|headers| {
                    headers.get(algorithm.header()).and_then(|value| value.to_str().ok()).map(str::to_owned)
                });
                value.flatten().ok_or_else(|| fault::no_trailer(algorithm.header()))?
            }
        };
        match computed {
            Some(digest) if digest.value == promised => Ok(Some(digest)),
            Some(digest) => Err(s3_error!(
                BadDigest,
                "the {} of the body is {}, not {promised}",
                digest.algorithm.name(),
                digest.value
            )),
            None => Err(s3_error!(InternalError, "a checksum was promised and not computed")),
        }
    }
}

/// One checksum in the making.
pub(crate) enum Hasher {
    Crc32(Crc32),
    Crc32c(Crc32c),
    Crc64Nvme(Crc64Nvme),
    Sha1(Sha1),
    Sha256(Sha256),
}

impl Hasher {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Crc32 => Self::Crc32(Crc32::new()),
            Algorithm::Crc32c => Self::Crc32c(Crc32c::new()),
            Algorithm::Crc64Nvme => Self::Crc64Nvme(Crc64Nvme::new()),
            Algorithm::Sha1 => Self::Sha1(Sha1::new()),
            Algorithm::Sha256 => Self::Sha256(Sha256::new()),
        }
    }

    pub(crate) fn update(&mut self, data: &[u8]) {
        match self {
            Self::Crc32(hasher) => hasher.update(data),
            Self::Crc32c(hasher) => hasher.update(data),
            Self::Crc64Nvme(hasher) => hasher.update(data),
            Self::Sha1(hasher) => hasher.update(data),
            Self::Sha256(hasher) => hasher.update(data),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        let (algorithm, value) = match self {
            Self::Crc32(hasher) => (Algorithm::Crc32, BASE64.encode(hasher.finalize().as_ref())),
            Self::Crc32c(hasher) => (Algorithm::Crc32c, BASE64.encode(hasher.finalize().as_ref())),
            Self::Crc64Nvme(hasher) => (Algorithm::Crc64Nvme, BASE64.encode(hasher.finalize().as_ref())),
            Self::Sha1(hasher) => (Algorithm::Sha1, BASE64.encode(hasher.finalize().as_ref())),
            Self::Sha256(hasher) => (Algorithm::Sha256, BASE64.encode(hasher.finalize().as_ref())),
        };
        Digest { algorithm, value, composite: false }
    }
}

/// The checksum of the parts' checksums, if all parts have one of this kind. CRC64NVME has no such form.
pub(crate) fn composite<'a>(
    algorithm: Algorithm,
    parts: impl ExactSizeIterator<Item = Option<&'a Digest>>,
) -> Option<Digest> {
    if algorithm == Algorithm::Crc64Nvme {
        return None;
    }
    let count = parts.len();
    let mut hasher = Hasher::new(algorithm);
    for part in parts {
        let part = part.filter(|digest| digest.algorithm == algorithm)?;
        hasher.update(&BASE64.decode(part.value.as_ref()).ok()?);
    }
    let value = format!("{}-{count}", hasher.finish().value);
    Some(Digest { algorithm, value, composite: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::HEXLOWER;

    /// Values of `123456789`: the catalogue of parametrised CRC algorithms, FIPS 180-4 implementations.
    #[test]
    fn checksums_are_those_of_the_published_check_values() {
        let cases = [
            (Algorithm::Crc32, "cbf43926"),
            (Algorithm::Crc32c, "e3069283"),
            (Algorithm::Crc64Nvme, "ae8b14860a799888"),
            (Algorithm::Sha1, "f7c3bc1d808e04732adf679965ccc34ca7ae3441"),
            (Algorithm::Sha256, "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"),
        ];
        for (algorithm, expected) in cases {
            let mut hasher = Hasher::new(algorithm);
            hasher.update(b"1234");
            hasher.update(b"56789");
            let digest = hasher.finish();
            assert_eq!(
                HEXLOWER.encode(BASE64.decode(digest.value.as_ref()).unwrap().as_ref()),
                expected,
                "{}",
                algorithm.name()
            );
            assert_eq!(digest.algorithm, algorithm);
        }
    }

    #[test]
    fn a_composite_needs_a_checksum_of_every_part() {
        let part = |value: &str| Digest {
            algorithm: Algorithm::Sha1,
            value: BASE64.encode(value.as_ref()),
            composite: false,
        };
        let (a, b) = (part("a"), part("b"));
        let both = composite(Algorithm::Sha1, [Some(&a), Some(&b)].into_iter()).unwrap();
        let mut whole = Hasher::new(Algorithm::Sha1);
        whole.update(b"ab");
        assert_eq!(both.value, format!("{}-2", whole.finish().value));
        assert_eq!(composite(Algorithm::Sha1, [Some(&a), None].into_iter()), None);
        assert_eq!(composite(Algorithm::Sha256, [Some(&a), Some(&b)].into_iter()), None);
        assert_eq!(composite(Algorithm::Crc64Nvme, [Some(&a)].into_iter()), None);
    }

    #[test]
    fn a_wrong_promise_is_a_bad_digest_and_two_are_refused() {
        let digest =
            |value: &str| Digest { algorithm: Algorithm::Crc32, value: value.into(), composite: false };
        assert!(Claim::Header(digest("a")).check(Some(digest("a"))).is_ok());
        let error = Claim::Header(digest("a")).check(Some(digest("b"))).unwrap_err();
        assert_eq!(error.code(), &s3s::S3ErrorCode::BadDigest);
        let one = Some("x".to_owned());
        assert!(one_of([one.clone(), None, one.clone(), None, None]).is_err());
        assert_eq!(one_of([None, None, None, None, one]).unwrap().unwrap().algorithm, Algorithm::Sha256);
    }
}
