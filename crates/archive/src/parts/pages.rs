//! How large the pages of a Parquet file are, as far as their heads say: the library makes room for what they say, and
//! some kilobytes of a file of somebody else's can stand for gigabytes. Sources: parquet.thrift of the Apache Parquet
//! format (`PageHeader`); the compact protocol of Apache Thrift.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Larger pages are none of ours, which are closed at a megabyte.
const MOST_PAGE_BYTES: u64 = 16 << 20;
/// What all pages of a column may have beyond that, for each row, and the rows that are believed.
const MOST_ROW_BYTES: u64 = 256;
const MOST_ROWS: u64 = 4 << 20;
/// Most heads are shorter; none of ours is longer than the second.
const SHORT_HEAD: usize = 256;
const LONGEST_HEAD: usize = 64 << 10;
/// Values within values of a head.
const DEEPEST: u8 = 16;

/// What a head says.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    /// Its own bytes.
    bytes: u64,
    /// Bytes of the page in the file, and unpacked.
    packed: u64,
    unpacked: u64,
}

/// Whether the pages that stand in `length` bytes from `start` on, those of one column of so many rows, are of a
/// bearable size. False too where there is something else.
///
/// # Errors
/// When the file cannot be read.
pub fn are_bearable(file: &File, start: u64, length: u64, rows: u64) -> io::Result<bool> {
    let most = MOST_PAGE_BYTES + rows.min(MOST_ROWS) * MOST_ROW_BYTES;
    let end = start.saturating_add(length);
    let (mut at, mut all) = (start, 0_u64);
    while at < end {
        let Some(head) = head_at(file, at)? else { return Ok(false) };
        all = all.saturating_add(head.unpacked);
        if head.unpacked > MOST_PAGE_BYTES || all > most {
            return Ok(false);
        }
        at = at.saturating_add(head.bytes).saturating_add(head.packed);
    }
    Ok(true)
}

fn head_at(file: &File, at: u64) -> io::Result<Option<Head>> {
    let mut bytes = vec![0; SHORT_HEAD];
    let read = read_at(file, &mut bytes, at)?;
    if let Some(head) = head(bytes.get(..read).unwrap_or_default()) {
        return Ok(Some(head));
    }
    if read < bytes.len() {
        return Ok(None);
    }
    bytes.resize(LONGEST_HEAD, 0);
    let read = read_at(file, &mut bytes, at)?;
    Ok(head(bytes.get(..read).unwrap_or_default()))
}

/// As many as there are.
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut have = 0;
    while let Some(room) = bytes.get_mut(have..).filter(|room| !room.is_empty()) {
        match file.read_at(room, at.saturating_add(have as u64)) {
            Ok(0) => break,
            Ok(count) => have += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(have)
}

/// `None` for what is none, or is not whole.
fn head(bytes: &[u8]) -> Option<Head> {
    const WHOLE: u8 = 5;
    let mut left = Compact { bytes, at: 0 };
    let (mut unpacked, mut packed) = (None, None);
    let mut id = 0;
    while let Some(kind) = left.field(&mut id)? {
        match (id, kind) {
            (2, WHOLE) => unpacked = u64::try_from(left.zigzag()?).ok(),
            (3, WHOLE) => packed = u64::try_from(left.zigzag()?).ok(),
            _ => left.skip(kind, DEEPEST)?,
        }
    }
    Some(Head { bytes: left.at as u64, packed: packed?, unpacked: unpacked? })
}

/// Bytes of the compact protocol.
struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn pass(&mut self, count: u64) -> Option<()> {
        let at = self.at.checked_add(usize::try_from(count).ok()?)?;
        self.at = Some(at).filter(|at| *at <= self.bytes.len())?;
        Some(())
    }

    fn whole(&mut self) -> Option<u64> {
        let mut value = 0;
        for place in 0..10 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.whole()?;
        Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    /// The kind of the next field, whose number becomes `id`; `Some(None)` at the end of a struct.
    fn field(&mut self, id: &mut i64) -> Option<Option<u8>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *id = match head >> 4 {
            0 => self.zigzag()?,
            more => id.checked_add(i64::from(more))?,
        };
        Some(Some(head & 0x0f))
    }

    fn skip(&mut self, kind: u8, depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // Yes and no: the kind says it.
            1 | 2 => Some(()),
            3 => self.pass(1),
            4..=6 => self.whole().map(drop),
            7 => self.pass(8),
            8 => {
                let length = self.whole()?;
                self.pass(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.whole()? } else { u64::from(head >> 4) };
                (0..count).try_for_each(|_| self.skip_one(head & 0x0f, depth))
            }
            11 => {
                let count = self.whole()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.skip_one(kinds >> 4, depth)?;
                    self.skip_one(kinds & 0x0f, depth)
                })
            }
            12 => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// One of a list or a map, where yes and no have a byte of their own.
    fn skip_one(&mut self, kind: u8, depth: u8) -> Option<()> {
        if matches!(kind, 1 | 2) { self.pass(1) } else { self.skip(kind, depth) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn whole(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let byte = u8::try_from(value & 0x7f).unwrap();
            value >>= 7;
            bytes.push(if value == 0 { byte } else { byte | 0x80 });
            if value == 0 {
                return bytes;
            }
        }
    }

    /// The head of a page with everything that one may have, and more that a later version may add.
    fn page(unpacked: u64, packed: u64) -> Vec<u8> {
        let mut bytes = vec![0x15, 0x00, 0x15];
        bytes.extend(whole(unpacked * 2));
        bytes.push(0x15);
        bytes.extend(whole(packed * 2));
        // Field 5, a struct: a number, its statistics with a text, a list of numbers, one of structs, a map, a double,
        // yes.
        bytes.extend([0x2c, 0x15, 0x08, 0x1c, 0x18, 0x03, b'a', b'b', b'c', 0x00]);
        bytes.extend([0x19, 0x25, 0x02, 0x04, 0x19, 0x1c, 0x15, 0x02, 0x00]);
        bytes.extend([0x1b, 0x01, 0x58, 0x02, 0x01, b'x', 0x1b, 0x00]);
        bytes.extend([0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x19, 0x21, 0x01, 0x02, 0x00, 0x00]);
        bytes
    }

    fn file(pages: &[(u64, u64)]) -> (File, u64) {
        let mut file = tempfile::tempfile().unwrap();
        let mut length = 0;
        for (unpacked, packed) in pages {
            let head = page(*unpacked, *packed);
            file.write_all(&head).unwrap();
            file.write_all(&vec![7; usize::try_from(*packed).unwrap()]).unwrap();
            length += head.len() as u64 + packed;
        }
        (file, length)
    }

    #[test]
    fn pages_of_a_megabyte_are_bearable_and_those_that_stand_for_gigabytes_are_not() {
        const LARGEST: u64 = MOST_PAGE_BYTES;
        for (pages, rows, wanted) in [
            (vec![], 0, true),
            (vec![(1000, 1000), (1 << 20, 5000)], 1000, true),
            (vec![(LARGEST, 100)], 0, true),
            (vec![(LARGEST + 1, 100)], u64::MAX, false),
            (vec![(1 << 31, 100)], u64::MAX, false),
            (vec![(LARGEST, 100); 2], 0, false),
            (vec![(LARGEST, 100); 2], LARGEST / MOST_ROW_BYTES, true),
            (vec![(LARGEST, 10); 100], u64::MAX, false),
        ] {
            let (file, length) = file(&pages);
            assert_eq!(are_bearable(&file, 0, length, rows).unwrap(), wanted, "{pages:?} {rows}");
        }
    }

    #[test]
    fn what_is_no_head_is_none() {
        let whole = page(1000, 10);
        let head_of_all = Head { bytes: whole.len() as u64, packed: 10, unpacked: 1000 };
        assert_eq!(head(&whole), Some(head_of_all));
        for end in 0..whole.len() {
            assert_eq!(head(&whole[..end]), None, "{end}");
        }
        // Lists without an end, structs within structs, numbers below nothing and of too many bytes.
        let bad: [&[u8]; 6] = [
            &[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x00],
            &[0x1c; 4000],
            &[0x15, 0x00, 0x15, 0x01, 0x15, 0x02, 0x00],
            &[0xff; 4000],
            &[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x00],
            &[0x00],
        ];
        for bytes in bad {
            assert_eq!(head(bytes), None, "{bytes:?}");
        }
        let (file, length) = file(&[(1000, 10)]);
        assert!(!are_bearable(&file, 1, length, 0).unwrap());
        assert!(!are_bearable(&file, 0, length + 1, 0).unwrap());
    }
}
