//! Swift's rings: which device of which node holds a partition. Source: `swift/common/ring/ring.py` (format 1: `R1NG`, version,
//! length of a JSON part, the JSON part, then for each replica one 16-bit device number per partition, all gzipped) and
//! `hash_path` of `swift/common/utils`.

use std::io::Read as _;
use std::path::Path;

use cosmark_adaptor_api::{Error, ErrorKind, Result};
use md5::Digest as _;
use serde::Deserialize;

/// A larger ring is damage: 2^24 partitions of 5 replicas have 160 MiB.
const MOST_BYTES: u64 = 256 << 20;

/// A ring file, read.
#[derive(Debug)]
pub(crate) struct Ring {
    devices: Vec<Option<Device>>,
    part_shift: u32,
    /// One row per replica; the last may be shorter.
    rows: Vec<Vec<u16>>,
}

/// A device of a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Device {
    /// Address of the node's object server.
    pub(crate) ip: String,
    /// Its port.
    pub(crate) port: u16,
    /// Name of the device there.
    pub(crate) device: String,
}

#[derive(Deserialize)]
struct Head {
    devs: Vec<Option<Device>>,
    part_shift: u32,
    replica_count: f64,
    #[serde(default)]
    byteorder: String,
}

/// What is mixed into the names before they are hashed (`[swift-hash]` of swift.conf).
#[derive(Debug, Clone, Default)]
pub(crate) struct HashPath {
    pub(crate) prefix: String,
    pub(crate) suffix: String,
}

fn wrong(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Config, format!("{} is no ring of Swift: {what}", path.display()))
        .with_hint("give a copy of the cluster's object.ring.gz, or object-POLICY.ring.gz")
}

impl Ring {
    /// Reads a file.
    ///
    /// # Errors
    /// `Config`: it cannot be read, or is no ring of format 1.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = std::fs::File::open(path).map_err(|error| {
            Error::new(ErrorKind::Config, format!("the ring {} cannot be opened: {error}", path.display()))
                .with_hint("give the path of a copy of the cluster's object.ring.gz on the driver")
        })?;
        let mut bytes = Vec::new();
        let mut limited = flate2::read::MultiGzDecoder::new(file).take(MOST_BYTES + 1);
        limited.read_to_end(&mut bytes).map_err(|error| wrong(path, &error.to_string()))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(wrong(path, "it is larger than 256 MiB"));
        }
        Self::parse(&bytes).map_err(|what| wrong(path, &what))
    }

    fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        let rest = bytes.strip_prefix(b"R1NG").ok_or("it does not begin with R1NG")?;
        let (version, rest) = rest.split_first_chunk::<2>().ok_or("it is cut")?;
        if u16::from_be_bytes(*version) != 1 {
            return Err(format!("format {} is not known, only 1 is", u16::from_be_bytes(*version)));
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or("it is cut")?;
        let length = u32::from_be_bytes(*length) as usize;
        let json = rest.get(..length).ok_or("it is cut")?;
        let head: Head = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if head.part_shift > 31 || !(1.0..=64.0).contains(&head.replica_count) {
            return Err(format!("part_shift {}, {} replicas", head.part_shift, head.replica_count));
        }
        let partitions = 1_usize << (32 - head.part_shift);
        let read = |pair: &[u8; 2]| match head.byteorder.as_str() {
            "big" => u16::from_be_bytes(*pair),
            _ => u16::from_le_bytes(*pair),
        };
        let numbers: Vec<u16> = rest[length..].as_chunks::<2>().0.iter().map(read).collect();
        let rows: Vec<Vec<u16>> = numbers.chunks(partitions).map(<[u16]>::to_vec).collect();
        if rows.first().is_none_or(|row| row.len() < partitions) {
            return Err("it has not one whole replica".into());
        }
        Ok(Self { devices: head.devs, part_shift: head.part_shift, rows })
    }

    /// How many replicas there are.
    pub(crate) fn replicas(&self) -> usize {
        self.rows.len()
    }

    /// Partition of an object, and the device of its replica `replica` (from 0).
    pub(crate) fn place(&self, path: &str, salt: &HashPath, replica: usize) -> Option<(u32, &Device)> {
        let mut hash = md5::Md5::new();
        for part in [salt.prefix.as_str(), path, salt.suffix.as_str()] {
            hash.update(part.as_bytes());
        }
        let hash = hash.finalize();
        let partition = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) >> self.part_shift;
        let device = *self.rows.get(replica)?.get(partition as usize)?;
        self.devices.get(usize::from(device))?.as_ref().map(|device| (partition, device))
    }

    /// Every device once.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(rows: &[u16]) -> Vec<u8> {
        let json = br#"{"devs":[{"ip":"10.0.0.1","port":6200,"device":"d1"},null,{"ip":"10.0.0.2","port":6201,"device":"d2"}],
            "part_shift":30,"replica_count":2,"byteorder":"little","version":5}"#;
        let mut bytes = b"R1NG\x00\x01".to_vec();
        bytes.extend_from_slice(&u32::try_from(json.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(json);
        rows.iter().for_each(|row| bytes.extend_from_slice(&row.to_le_bytes()));
        bytes
    }

    /// The hash is that of Swift: `md5("cosmark" + "/AUTH_test/c/o" + "testbed")` begins with 0x85, computed by md5sum.
    #[test]
    fn an_object_lies_where_swift_looks_for_it() {
        let ring = Ring::parse(&ring(&[0, 2, 0, 2, 2, 0, 2, 0])).unwrap();
        assert_eq!(ring.replicas(), 2);
        let salt = HashPath { prefix: "cosmark".into(), suffix: "testbed".into() };
        let (partition, first) = ring.place("/AUTH_test/c/o", &salt, 0).unwrap();
        let (_, second) = ring.place("/AUTH_test/c/o", &salt, 1).unwrap();
        assert_eq!((partition, first.port, second.port), (2, 6200, 6201));
        assert!(ring.place("/AUTH_test/c/o", &salt, 2).is_none());
        assert_eq!(ring.devices().count(), 2);
    }

    #[test]
    fn what_is_no_ring_is_refused_with_its_reason() {
        let good = ring(&[0, 2, 0, 2]);
        let mut future = good.clone();
        future[5] = 2;
        for (bytes, reason) in [
            (&b"PK"[..], "does not begin"),
            (&good[..8], "cut"),
            (&good[..40], "cut"),
            (&future, "format 2"),
            (&good[..good.len() - 4], "not one whole replica"),
        ] {
            let error = Ring::parse(bytes).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
