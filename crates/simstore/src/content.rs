//! The bytes of objects: shared pieces that are never copied to be read.

use std::rc::Rc;
use std::sync::LazyLock;

use crate::http::body::Reserved;

/// Length of the fixed pattern. Prime, so that no power of two aligns with it.
const PATTERN_BYTES: usize = 1_048_573;

/// The fixed content of stores that keep none: a xorshift64 stream.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(PATTERN_BYTES + 8);
    while bytes.len() < PATTERN_BYTES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(PATTERN_BYTES);
    bytes
});

/// The byte at this place of every object of a store in mode `headers` or `null`.
pub fn pattern_byte(place: u64) -> u8 {
    PATTERN[(place % PATTERN_BYTES as u64) as usize]
}

/// Kept bytes and the memory reserved for them.
pub(crate) struct Blob {
    data: Vec<u8>,
    _reserved: Option<Reserved>,
}

#[derive(Clone)]
enum Source {
    Blob(Rc<Blob>),
    Pattern,
}

/// A range of one source.
#[derive(Clone)]
struct Piece {
    source: Source,
    from: u64,
    length: u64,
}

impl Piece {
    fn at(&self, place: u64) -> &[u8] {
        let (from, end) = (self.from + place, self.from + self.length);
        match &self.source {
            Source::Blob(blob) => &blob.data[from as usize..end as usize],
            Source::Pattern => {
                let start = (from % PATTERN_BYTES as u64) as usize;
                let bytes = &PATTERN[start..];
                &bytes[..(bytes.len() as u64).min(end - from) as usize]
            }
        }
    }
}

/// The content of an object. Cloning shares it.
#[derive(Clone)]
pub(crate) struct Content(Pieces);

#[derive(Clone)]
enum Pieces {
    One(Piece),
    /// Pieces with the places where they end.
    Many(Rc<[(u64, Piece)]>),
}

impl Content {
    /// Content that was received.
    pub(crate) fn kept(data: Vec<u8>, reserved: Option<Reserved>) -> Content {
        let length = data.len() as u64;
        let blob = Rc::new(Blob { data, _reserved: reserved });
        Content(Pieces::One(Piece { source: Source::Blob(blob), from: 0, length }))
    }

    /// Content of which only the length is kept.
    pub(crate) fn pattern(length: u64) -> Content {
        Content(Pieces::One(Piece { source: Source::Pattern, from: 0, length }))
    }

    /// Several contents one after the other. Patterns join to one pattern, so that a multipart object
    /// reads like any other of its length.
    pub(crate) fn joined(parts: impl IntoIterator<Item = Slice>) -> Content {
        let (mut pieces, mut end, mut all_pattern) = (Vec::new(), 0, true);
        for part in parts {
            part.for_each_piece(|piece| {
                all_pattern &= matches!(piece.source, Source::Pattern);
                end += piece.length;
                pieces.push((end, piece));
            });
        }
        match pieces.len() {
            _ if all_pattern => Content::pattern(end),
            1 => Content(Pieces::One(pieces.remove(0).1)),
            _ => Content(Pieces::Many(pieces.into())),
        }
    }

    /// The same with one bit flipped in the middle.
    pub(crate) fn damaged(&self) -> Content {
        let mut data = self.whole().to_vec();
        let middle = data.len() / 2;
        if let Some(byte) = data.get_mut(middle) {
            *byte ^= 1;
        }
        Content::kept(data, None)
    }

    pub(crate) fn len(&self) -> u64 {
        match &self.0 {
            Pieces::One(piece) => piece.length,
            Pieces::Many(pieces) => pieces.last().map_or(0, |(end, _)| *end),
        }
    }

    /// The whole content as a slice.
    pub(crate) fn whole(&self) -> Slice {
        self.slice(0, self.len())
    }

    /// A range of the content, cut to what there is.
    pub(crate) fn slice(&self, from: u64, length: u64) -> Slice {
        let from = from.min(self.len());
        Slice { content: self.clone(), from, length: length.min(self.len() - from) }
    }

    fn at(&self, place: u64) -> &[u8] {
        match &self.0 {
            Pieces::One(piece) if place < piece.length => piece.at(place),
            Pieces::One(_) => &[],
            Pieces::Many(pieces) => {
                let index = pieces.partition_point(|(end, _)| *end <= place);
                pieces.get(index).map_or(&[], |(end, piece)| piece.at(place - (end - piece.length)))
            }
        }
    }
}

/// A range of a content.
#[derive(Clone)]
pub(crate) struct Slice {
    content: Content,
    from: u64,
    length: u64,
}

impl Slice {
    pub(crate) fn len(&self) -> u64 {
        self.length
    }

    /// Bytes from this place of the slice on, as many as lie together; empty only at the end.
    pub(crate) fn at(&self, place: u64) -> &[u8] {
        let left = self.length.saturating_sub(place);
        let bytes = self.content.at(self.from + place);
        &bytes[..(bytes.len() as u64).min(left) as usize]
    }

    /// All bytes in a new vector.
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.length as usize);
        while (out.len() as u64) < self.length {
            let bytes = self.at(out.len() as u64);
            if bytes.is_empty() {
                break;
            }
            out.extend_from_slice(bytes);
        }
        out
    }

    fn for_each_piece(&self, mut each: impl FnMut(Piece)) {
        let mut clip = |start: u64, piece: &Piece| {
            // The overlap of this piece, which lies at `start` of the content, with the slice.
            let from = self.from.max(start);
            let end = (self.from + self.length).min(start + piece.length);
            if from < end {
                each(Piece {
                    source: piece.source.clone(),
                    from: piece.from + from - start,
                    length: end - from,
                });
            }
        };
        match &self.content.0 {
            Pieces::One(piece) => clip(0, piece),
            Pieces::Many(pieces) => pieces.iter().for_each(|(end, piece)| clip(end - piece.length, piece)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Content {
        Content::kept(text.as_bytes().to_vec(), None)
    }

    #[test]
    fn joined_contents_read_as_one_at_every_place() {
        let ab =
            Content::joined([kept("hello ").whole(), kept("").whole(), kept("brave new world").slice(6, 9)]);
        let all = Content::joined([ab.slice(4, 100), kept("!").whole()]);
        assert_eq!(ab.whole().to_vec(), b"hello new world");
        assert_eq!(all.whole().to_vec(), b"o new world!");
        for from in 0..all.len() {
            for length in 0..=all.len() - from {
                let expected = &b"o new world!"[from as usize..(from + length) as usize];
                assert_eq!(all.slice(from, length).to_vec(), expected);
            }
        }
        assert_eq!(all.slice(99, 1).len(), 0);
    }

    #[test]
    fn a_pattern_is_the_same_however_it_is_cut() {
        let whole = Content::pattern(3_000_000);
        for from in [0, 5, 1_048_572, 2_500_000] {
            let bytes = whole.slice(from, 100_000).to_vec();
            assert!(bytes.iter().zip(from..).all(|(byte, place)| *byte == pattern_byte(place)));
        }
        let parts = Content::joined([Content::pattern(1000).whole(), Content::pattern(500).whole()]);
        assert_eq!(parts.whole().to_vec(), whole.slice(0, 1500).to_vec());
    }
}
