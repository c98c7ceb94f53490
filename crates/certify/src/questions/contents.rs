//! What objects hold, whatever their length, their bytes and the place that is read: stores cut objects into blocks,
//! keep small ones elsewhere, compress them and keep equal blocks once, each with an edge of its own.

use cosmark_adaptor_api::{ByteRange, Capability, ErrorKind};

use super::{Group, Of, Question, by, difference, pattern, row};
use crate::request::{Finding, Found};
use crate::room::Room;

const API: &str = "every protocol's object read and write";
/// Objects are one byte shorter than, as long as, and one byte longer than powers of two up to this one.
const LARGEST_POWER: u32 = 21;
/// Smaller ones are looked at by another question.
const SMALLEST_POWER: u32 = 3;
/// Blocks of stores are as long as these powers of two.
const BLOCKS: [u32; 8] = [12, 14, 16, 17, 18, 19, 20, 21];
/// Bytes of the object whose ranges are read: a little more than two of the largest blocks.
const LONG: usize = (2 << 20) + 77;

pub(super) const ROWS: &[Question] = &[
    row(
        "any.sizes",
        (Group::Operations, Of::Any(Capability::STORE)),
        (
            "Do objects come back whose length is beside a power of two?",
            "byte for byte, from 7 bytes to 2 MiB and one byte",
            API,
        ),
        by!(sizes),
    ),
    row(
        "any.contents",
        (Group::Operations, Of::Any(Capability::STORE)),
        (
            "Do bytes of every kind come back: zeros, line ends, frames, objects that differ in one byte?",
            "byte for byte, each its own",
            API,
        ),
        by!(contents),
    ),
    row(
        "any.range-borders",
        (Group::Ranges, Of::Any(Capability::RANGE)),
        (
            "Do ranges across the borders of blocks give these bytes and no others?",
            "each range across 4 KiB to 2 MiB and at the end of the object",
            "RFC 9110, section 14",
        ),
        by!(range_borders),
    ),
];

async fn sizes(room: &mut Room) -> Found {
    let mut count = 0;
    for power in SMALLEST_POWER..=LARGEST_POWER {
        for length in [(1_usize << power) - 1, 1 << power, (1 << power) + 1] {
            let (key, content) = (room.key(&format!("long-{length}")), pattern(length, length as u64 + 11));
            comes_back(room, &key, &content, &format!("{length} bytes")).await?;
            count += 1;
        }
    }
    Ok(Finding::yes(format!("{count} lengths, byte for byte")))
}

/// Writes and reads.
async fn comes_back(room: &mut Room, key: &str, content: &[u8], what: &str) -> Result<(), Finding> {
    room.put(key, content)
        .await
        .map_err(|error| Finding::no(format!("{what} could not be written: {}", error.message())))?;
    let read = room
        .get(key)
        .await
        .map_err(|error| Finding::no(format!("{what} could not be read: {}", error.message())))?;
    difference(content, &read).map_or(Ok(()), |wrong| Err(Finding::no(format!("{what}: {wrong}"))))
}

/// Contents that a store, or what stands before it, could take for something else; what each is.
fn odd_contents() -> Vec<(&'static str, Vec<u8>)> {
    let every: Vec<u8> = (0..=u8::MAX).cycle().take(70_000).collect();
    let frame = b"9\r\n123456789\r\n0\r\nx-amz-checksum-crc32c:4waSgw==\r\n\r\n";
    let answer = b"<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code></Error>";
    let gzip = [&b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"[..], &pattern(3000, 9)[..]].concat();
    vec![
        ("zeros", vec![0; 200_000]),
        ("ones", vec![0xff; 200_000]),
        ("every byte", every),
        ("line ends", b"\r\n\n\r \t\r\n\r\n".repeat(700)),
        ("bytes that are no text", [&b"\xff\xfe\x00\xc3\x28"[..], &pattern(4000, 3)[..]].concat()),
        ("a frame of another body", frame.to_vec()),
        ("a store's answer", answer.to_vec()),
        ("what looks compressed", gzip),
        ("one line", vec![b'a'; 150_000]),
    ]
}

async fn contents(room: &mut Room) -> Found {
    let odd = odd_contents();
    for (number, (what, content)) in odd.iter().enumerate() {
        let key = room.key(&format!("kind-{number}"));
        comes_back(room, &key, content, what).await?;
    }
    // Two objects that are alike but for one byte; both have to be there when both are written.
    let first = pattern(300_000, 77);
    for at in [0, 65_536, 150_000, first.len() - 1] {
        let mut other = first.clone();
        other[at] ^= 1;
        let keys = [room.key(&format!("one-{at}")), room.key(&format!("other-{at}"))];
        for (key, content) in keys.iter().zip([&first, &other]) {
            comes_back(room, key, content, "an object").await?;
        }
        let read = room.get(&keys[0]).await.map_err(|error| Finding::no(error.message()))?;
        if let Some(wrong) = difference(&first, &read) {
            return Ok(Finding::no(format!("after another was written that differs in byte {at}: {wrong}")));
        }
    }
    Ok(Finding::yes(format!("{} kinds, 4 pairs that differ in one byte", odd.len())))
}

async fn range_borders(room: &mut Room) -> Found {
    let (key, content) = (room.key("long"), pattern(LONG, 14));
    comes_back(room, &key, &content, "the object").await?;
    let mut ranges = vec![(0, LONG - 1), (1, LONG - 1), (LONG - 78, LONG - 1), (LONG - 1, LONG - 1)];
    for border in BLOCKS.map(|power| 1_usize << power) {
        ranges.extend([(border - 1, border), (border, border), (border - 1, border - 1)]);
        ranges.push((border / 2, border + 76));
    }
    for (first, last) in &ranges {
        let range = ByteRange { first: *first as u64, last: *last as u64 };
        let read = room.get_range(&key, Some(range)).await.map_err(|error| match error.kind() {
            ErrorKind::Unsupported => Finding::not_asked(error.message()),
            _ => Finding::no(format!("bytes {first}-{last}: {}", error.message())),
        })?;
        if let Some(wrong) = difference(&content[*first..=*last], &read) {
            return Ok(Finding::no(format!("bytes {first}-{last}: {wrong}")));
        }
    }
    Ok(Finding::yes(format!("{} ranges", ranges.len())))
}
