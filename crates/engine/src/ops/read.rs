//! `read`: a whole object or a range, its bytes dropped, compared, or hashed.

use cosmark_adaptor_api::{ByteRange, Error, ErrorKind, Result};

use super::{Call, Done, fits};
use crate::content::key_of;
use crate::hashcheck::{HashSink, HashVerdict};
use crate::verify::{Verified, Verifier};

pub async fn read(call: Call<'_>) -> Result<Done> {
    let name = call.name();
    let Call { client, operation, choice, known, marks, timing, .. } = call;
    let range = operation.range.map(|range| {
        let first = choice.first_byte;
        ByteRange { first, last: first + range.chunk_length_bytes.max(1) - 1 }
    });
    let corrupt = |bytes: u64, what: &str| {
        let message = format!("{}/{}: the content {what}", name.container, name.object);
        Err(Error::new(ErrorKind::CorruptBody, message).with_partial_bytes(bytes))
    };
    let done = |bytes, checked| {
        fits(known, range, bytes, name)?;
        Ok(Done { bytes, accepted_only: false, checked })
    };
    if operation.verify {
        let offset = range.map_or(0, |range| range.first);
        let mut verifier = Verifier::new(key_of(name.container, name.object), offset);
        let bytes = timing.time(client.get(name, range, Some(&mut verifier), marks)).await?.bytes;
        return match verifier.verdict() {
            Verified::Right => done(bytes, true),
            Verified::Wrong => corrupt(bytes, "is not what Cosmark writes"),
            // It counts as checked only if every byte was.
            Verified::TooShort => done(bytes, false),
        };
    }
    if operation.hash_check && range.is_none() {
        let mut sink = HashSink::new();
        let bytes = timing.time(client.get(name, None, Some(&mut sink), marks)).await?.bytes;
        return match sink.verdict() {
            HashVerdict::Wrong => corrupt(bytes, "does not match its embedded hash"),
            // COSBench counts an object without a hash as a success.
            HashVerdict::Right => done(bytes, true),
            HashVerdict::Missing => done(bytes, false),
        };
    }
    done(timing.time(client.get(name, range, None, marks)).await?.bytes, false)
}
