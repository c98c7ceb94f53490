//! A sorted run of changes in a file: blocks of rows, each with its length and a checksum, rows as differences to the row
//! before in variable-length integers (LEB128), about ten bytes a row. A file is written under a temporary name, so what has
//! its name is whole; what is damaged is found and never taken for a row.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use cosmark_ledger::{Change, Key, Row, What};

use crate::ArchiveError;
use crate::directory::files::write_whole;
use crate::regular;

/// What a file begins with.
const MAGIC: &[u8; 8] = b"CSMKLDG1";
/// Rows of a block.
const BLOCK_ROWS: usize = 4096;
/// No block is longer than this, in bytes; what says so is damaged.
const MOST_BLOCK_BYTES: u32 = 1 << 20;
/// Of the byte that says what was done: it was not acknowledged.
const UNANSWERED: u8 = 0x80;

/// Writes a run; `rows` are sorted.
pub fn write_run(
    path: &Path,
    rows: impl Iterator<Item = Result<Row, ArchiveError>>,
) -> Result<u64, ArchiveError> {
    let (mut count, mut trouble) = (0_u64, None);
    write_whole(path, true, |out| {
        out.write_all(MAGIC)?;
        let mut block = Block::default();
        for row in rows {
            match row {
                Ok(row) => block.push(&row),
                Err(error) => {
                    trouble = Some(error);
                    return Err(std::io::Error::other("what it is made of cannot be read"));
                }
            }
            count += 1;
            if block.rows as usize >= BLOCK_ROWS {
                block.write(out)?;
            }
        }
        block.write(out)?;
        // The end is said, so that a file that was cut at a block is found.
        out.write_all(&[0; 8])?;
        out.write_all(&count.to_le_bytes())
    })
    .map_err(|error| trouble.take().unwrap_or(error))?;
    Ok(count)
}

/// Rows that are put together.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    rows: u32,
    last: Option<Row>,
}

impl Block {
    fn push(&mut self, row: &Row) {
        let none = first_row();
        let last = self.last.as_ref().unwrap_or(&none);
        let bytes = &mut self.bytes;
        let (key, before) = (row.key, last.key);
        let space = key.space - before.space;
        put(bytes, u64::from(space));
        let container = if space == 0 { key.container - before.container } else { key.container };
        put(bytes, container);
        let same = space == 0 && container == 0;
        put(bytes, if same { key.object - before.object } else { key.object });
        let Change { sent_ns, end_ns, what, acknowledged, version, bytes: length } = row.change;
        bytes.push(what.code() | if acknowledged { 0 } else { UNANSWERED });
        put_signed(bytes, i64::from(version) - i64::from(last.change.version));
        put_signed(bytes, length.wrapping_sub(last.change.bytes).cast_signed());
        put_signed(bytes, sent_ns.wrapping_sub(last.change.sent_ns));
        put_signed(bytes, end_ns.wrapping_sub(sent_ns));
        self.last = Some(*row);
        self.rows += 1;
    }

    fn write(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        out.write_all(&self.rows.to_le_bytes())?;
        out.write_all(&u32::try_from(self.bytes.len()).unwrap_or(u32::MAX).to_le_bytes())?;
        out.write_all(&checksum(&self.bytes).to_le_bytes())?;
        out.write_all(&self.bytes)?;
        *self = Self { bytes: std::mem::take(&mut self.bytes), ..Self::default() };
        self.bytes.clear();
        Ok(())
    }
}

fn first_row() -> Row {
    let change =
        Change { sent_ns: 0, end_ns: 0, what: What::Random, acknowledged: true, version: 0, bytes: 0 };
    Row { key: Key::default(), change }
}

/// FNV-1a of 64 bits.
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push((value & 0x7f) as u8);
}

fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put(bytes, (value << 1 ^ value >> 63).cast_unsigned());
}

/// What is left of a block.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn row(&mut self, last: &Row) -> Option<Row> {
        let space = self.number()?;
        let (container, object) = (self.number()?, self.number()?);
        let before = last.key;
        let container = if space == 0 { before.container.checked_add(container)? } else { container };
        let same = space == 0 && container == before.container;
        let key = Key {
            space: before.space.checked_add(u16::try_from(space).ok()?)?,
            container,
            object: if same { before.object.checked_add(object)? } else { object },
        };
        let code = self.byte()?;
        let version = u32::try_from(i64::from(last.change.version).checked_add(self.signed()?)?).ok()?;
        let bytes = last.change.bytes.wrapping_add(self.signed()?.cast_unsigned());
        let sent_ns = last.change.sent_ns.wrapping_add(self.signed()?);
        let change = Change {
            sent_ns,
            end_ns: sent_ns.wrapping_add(self.signed()?),
            what: What::of_code(code & !UNANSWERED)?,
            acknowledged: code & UNANSWERED == 0,
            version,
            bytes,
        };
        Some(Row { key, change })
    }
}

/// Reads a run back, block by block.
pub struct RunReader {
    path: PathBuf,
    file: BufReader<File>,
    /// In reverse, so that the next is the last.
    rows: Vec<Row>,
    count: u64,
    over: bool,
}

impl RunReader {
    /// Opens one.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        let file = regular::open(path).map_err(ArchiveError::io("read", path))?;
        let mut reader = Self {
            path: path.to_owned(),
            file: BufReader::new(file),
            rows: Vec::new(),
            count: 0,
            over: false,
        };
        let mut magic = [0; MAGIC.len()];
        let read = reader.file.read_exact(&mut magic);
        if read.is_err() || magic != *MAGIC {
            return Err(reader.damaged("it does not begin as a run of a ledger"));
        }
        Ok(reader)
    }

    fn damaged(&self, problem: &str) -> ArchiveError {
        ArchiveError::Unreadable {
            path: self.path.clone(),
            problem: problem.to_owned(),
            remedy: "restore the file from a copy: without it nobody knows what was acknowledged",
        }
    }

    fn next_block(&mut self) -> Result<bool, ArchiveError> {
        let mut head = [0; 16];
        let mut have = 0;
        while have < head.len() {
            match self.file.read(&mut head[have..]) {
                Ok(0) => return Err(self.damaged("it ends before its end")),
                Ok(count) => have += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ArchiveError::io("read", &self.path)(error)),
            }
        }
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (rows, length) = (word(0), word(4));
        let sum = u64::from(word(8)) | u64::from(word(12)) << 32;
        if (rows, length) == (0, 0) {
            return if sum == self.count { Ok(false) } else { Err(self.damaged("blocks are missing")) };
        }
        if length > MOST_BLOCK_BYTES || rows as usize > BLOCK_ROWS {
            return Err(self.damaged("a block says that it is longer than any"));
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact(&mut bytes).map_err(|_| self.damaged("it ends within a block"))?;
        if checksum(&bytes) != sum {
            return Err(self.damaged("the checksum of a block is wrong"));
        }
        let mut left = Bytes(&bytes);
        let mut last = first_row();
        for _ in 0..rows {
            last =
                left.row(&last).ok_or_else(|| self.damaged("a block holds something else than changes"))?;
            self.rows.push(last);
        }
        self.count += u64::from(rows);
        self.rows.reverse();
        Ok(true)
    }
}

impl Iterator for RunReader {
    type Item = Result<Row, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.rows.is_empty() && !self.over {
            match self.next_block() {
                Ok(true) => {}
                Ok(false) => self.over = true,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        self.rows.pop().map(Ok)
    }
}
