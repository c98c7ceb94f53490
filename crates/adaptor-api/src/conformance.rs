//! The suite that every adaptor passes: plain async functions over `&dyn Adaptor`, chosen by capability. [`run_all`]
//! runs those that apply and says by name which ran, which were left out for want of a capability, and which failed.
//!
//! It writes only into the containers that it is given a prefix for, and deletes what it wrote.

use std::sync::Arc;

use crate::{
    Adaptor, ByteRange, BytesSource, Capability, Client, CollectSink, Error, ErrorKind, ListRequest, Marks,
    MultipartPlan, ObjectName, PutOptions, Result, Session,
};

/// Where the suite may write.
#[derive(Debug, Clone)]
pub struct Ground {
    /// A container that it may create, fill and delete (valid as an S3 bucket name).
    pub container: String,
    /// Size of the parts of the multipart case (S3 needs at least 5 MiB for all but the last).
    pub part_size_bytes: u64,
}

/// What became of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It did what the traits promise.
    Passed,
    /// The adaptor does not claim this capability.
    NotClaimed,
    /// What was seen instead.
    Failed(String),
}

/// Runs every case that the adaptor's capability names; one line each.
pub async fn run_all(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Vec<(&'static str, Verdict)> {
    let can = adaptor.capability();
    let stored = |more| Capability::of(&[Capability::STORE, more]);
    let mut results = Vec::new();
    macro_rules! case {
        ($claimed:expr, $name:ident) => {
            let verdict = if !$claimed {
                Verdict::NotClaimed
            } else {
                match $name(adaptor, session, ground).await {
                    Ok(()) => Verdict::Passed,
                    Err(error) => Verdict::Failed(format!("{error:?}")),
                }
            };
            results.push((stringify!($name), verdict));
        };
    }
    case!(true, probe_is_answered);
    case!(can.has(Capability::CONTAINERS), container_can_be_created_twice);
    case!(can.has(Capability::STORE), object_comes_back_as_written);
    case!(can.has(Capability::STORE), sizes_around_block_borders_come_back);
    case!(can.has(Capability::STORE), overwriting_replaces_the_content);
    case!(can.has(Capability::STORE), names_with_odd_characters_come_back);
    case!(can.has(Capability::STORE), missing_object_is_404_and_the_client_goes_on);
    case!(can.has(stored(Capability::RANGE)), range_gives_just_that_part);
    case!(can.has(stored(Capability::HEAD)), head_tells_the_length);
    case!(can.has(stored(Capability::LIST)), listing_pages_through_all_names);
    case!(can.has(stored(Capability::CHUNKED)), chunked_write_comes_back);
    case!(can.has(stored(Capability::MULTIPART)), multipart_write_comes_back);
    case!(can.has(stored(Capability::COPY)), copied_object_is_the_same);
    case!(can.has(stored(Capability::BULK_DELETE)), many_objects_are_deleted_in_one_request);
    case!(can.has(stored(Capability::METADATA)), metadata_changes_and_the_content_stays);
    case!(can.has(stored(Capability::CONTAINERS)), full_container_is_not_deleted);
    case!(can.has(Capability::STORE), deleted_object_is_gone);
    case!(can.has(Capability::STORE), dropped_call_does_not_spoil_the_next);
    case!(can.has(Capability::CONTAINERS), container_can_be_deleted_twice);
    results
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Protocol, message)
}

fn name<'a>(ground: &'a Ground, object: &'a str) -> ObjectName<'a> {
    ObjectName { container: &ground.container, object }
}

fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

async fn write(client: &mut dyn Client, name: ObjectName<'_>, content: &[u8]) -> Result<()> {
    let outcome =
        client.put(name, &BytesSource(content), PutOptions::default(), &mut Marks::default()).await?;
    if outcome.bytes != content.len() as u64 {
        return Err(wrong(format!("{} bytes were written, {} were reported", content.len(), outcome.bytes)));
    }
    Ok(())
}

async fn read_back(
    client: &mut dyn Client,
    name: ObjectName<'_>,
    range: Option<ByteRange>,
    expected: &[u8],
) -> Result<()> {
    let mut sink = CollectSink::new(expected.len() + 1);
    let mut marks = Marks::default();
    let outcome = client.get(name, range, Some(&mut sink), &mut marks).await?;
    if outcome.bytes != expected.len() as u64 || sink.seen != outcome.bytes {
        let (told, seen) = (outcome.bytes, sink.seen);
        return Err(wrong(format!("{} bytes expected, {told} reported, {seen} seen", expected.len())));
    }
    if sink.bytes != expected {
        return Err(wrong("the content differs"));
    }
    if marks.first_byte_ns == 0 {
        return Err(wrong("the first byte was not marked"));
    }
    let mut marks = Marks::default();
    let unseen = client.get(name, range, None, &mut marks).await?;
    if unseen.bytes != expected.len() as u64 {
        return Err(wrong(format!(
            "without a sink {} of {} bytes were counted",
            unseen.bytes,
            expected.len()
        )));
    }
    Ok(())
}

/// The probe of a working store succeeds.
pub async fn probe_is_answered(adaptor: &dyn Adaptor, session: &Arc<Session>, _: &Ground) -> Result<()> {
    adaptor.client(session)?.probe(&mut Marks::default()).await
}

/// Creating a container that is there is success.
pub async fn container_can_be_created_twice(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    client.create_container(&ground.container, &mut Marks::default()).await?;
    client.create_container(&ground.container, &mut Marks::default()).await
}

/// What was written is read, byte by byte, on the same connection.
pub async fn object_comes_back_as_written(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    let content = pattern(100_000, 1);
    write(client.as_mut(), name(ground, "plain"), &content).await?;
    read_back(client.as_mut(), name(ground, "plain"), None, &content).await?;
    client.delete(name(ground, "plain"), &mut Marks::default()).await
}

/// Empty, tiny and block-sized bodies.
pub async fn sizes_around_block_borders_come_back(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    for len in [0, 1, 4095, 4096, 4097, 65_536, 262_143, 262_145, 1_048_577] {
        let content = pattern(len, len as u64);
        let object = format!("size-{len}");
        write(client.as_mut(), name(ground, &object), &content).await?;
        if len > 0 {
            read_back(client.as_mut(), name(ground, &object), None, &content).await?;
        } else {
            let outcome = client.get(name(ground, &object), None, None, &mut Marks::default()).await?;
            if outcome.bytes != 0 {
                return Err(wrong("an empty object came back with bytes"));
            }
        }
        client.delete(name(ground, &object), &mut Marks::default()).await?;
    }
    Ok(())
}

/// A second write of a name wins, also when it is shorter.
pub async fn overwriting_replaces_the_content(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    write(client.as_mut(), name(ground, "twice"), &pattern(5000, 1)).await?;
    let second = pattern(300, 2);
    write(client.as_mut(), name(ground, "twice"), &second).await?;
    read_back(client.as_mut(), name(ground, "twice"), None, &second).await?;
    client.delete(name(ground, "twice"), &mut Marks::default()).await
}

/// Blanks, slashes, percent signs, plus signs, non-ASCII letters.
pub async fn names_with_odd_characters_come_back(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    for (index, object) in
        ["a b", "a/b/c", "100%", "x+y=z&q?", "caf\u{e9}-\u{4e2d}", "~tilde_(1)'!*"].iter().enumerate()
    {
        let content = pattern(100 + index, 7);
        write(client.as_mut(), name(ground, object), &content)
            .await
            .map_err(|error| wrong(format!("writing `{object}`: {error}")))?;
        read_back(client.as_mut(), name(ground, object), None, &content)
            .await
            .map_err(|error| wrong(format!("reading `{object}`: {error}")))?;
        client.delete(name(ground, object), &mut Marks::default()).await?;
    }
    Ok(())
}

/// A missing object is `Status(404)`; the next call on the same client works.
pub async fn missing_object_is_404_and_the_client_goes_on(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    match client.get(name(ground, "not-there"), None, None, &mut Marks::default()).await {
        Err(error) if error.kind() == ErrorKind::Status(404) => {}
        other => return Err(wrong(format!("expected status 404, got {other:?}"))),
    }
    let deleted = client.delete(name(ground, "not-there"), &mut Marks::default()).await;
    let expect_failure = adaptor.capability().has(Capability::DELETE_MISSING_FAILS);
    if deleted.is_err() != expect_failure {
        return Err(wrong(format!(
            "deleting a missing object gave {deleted:?}, not what the capability says"
        )));
    }
    let content = pattern(10, 3);
    write(client.as_mut(), name(ground, "after-404"), &content).await?;
    read_back(client.as_mut(), name(ground, "after-404"), None, &content).await?;
    client.delete(name(ground, "after-404"), &mut Marks::default()).await
}

/// A range gives its bytes only.
pub async fn range_gives_just_that_part(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    let content = pattern(10_000, 4);
    write(client.as_mut(), name(ground, "ranged"), &content).await?;
    for (first, last) in [(0, 0), (17, 4242), (9_000, 9_999)] {
        let range = ByteRange { first, last };
        let expected = &content[usize::try_from(first).unwrap_or(0)..=usize::try_from(last).unwrap_or(0)];
        read_back(client.as_mut(), name(ground, "ranged"), Some(range), expected).await?;
    }
    client.delete(name(ground, "ranged"), &mut Marks::default()).await
}

/// Metadata tells the length, and 404 for a missing object.
pub async fn head_tells_the_length(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    write(client.as_mut(), name(ground, "headed"), &pattern(12_345, 5)).await?;
    let length = client.head(name(ground, "headed"), &mut Marks::default()).await?;
    if length != Some(12_345) {
        return Err(wrong(format!("expected 12345 bytes, got {length:?}")));
    }
    client.delete(name(ground, "headed"), &mut Marks::default()).await?;
    match client.head(name(ground, "headed"), &mut Marks::default()).await {
        Err(error) if error.kind() == ErrorKind::Status(404) => Ok(()),
        other => Err(wrong(format!("head of a deleted object gave {other:?}"))),
    }
}

/// Every name exactly once, over several pages, and the prefix is respected.
pub async fn listing_pages_through_all_names(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    let mut expected: Vec<String> = (0..7).map(|n| format!("list&<{n}>")).collect();
    for object in &expected {
        write(client.as_mut(), name(ground, object), b"x").await?;
    }
    write(client.as_mut(), name(ground, "other"), b"x").await?;
    let mut seen = Vec::new();
    let mut counted = 0;
    let mut after: Option<String> = None;
    for _ in 0..10 {
        let request = ListRequest {
            container: &ground.container,
            prefix: "list&",
            after: after.as_deref(),
            page_size: Some(3),
            delimiter: None,
            want_names: true,
            holds_all: false,
        };
        let page = client.list(request, &mut Marks::default()).await?;
        counted += page.count;
        seen.extend(page.names);
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    for object in expected.iter().map(String::as_str).chain(["other"]) {
        client.delete(name(ground, object), &mut Marks::default()).await?;
    }
    seen.sort();
    expected.sort();
    if seen != expected || counted != expected.len() as u64 {
        return Err(wrong(format!("expected {expected:?}, got {seen:?} and a count of {counted}")));
    }
    Ok(())
}

/// A copy has the content of the original, which stays; a copy of a missing object is `Status(404)`.
pub async fn copied_object_is_the_same(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    let content = pattern(70_000, 11);
    let (from, to) = (name(ground, "copied from/a b+c"), name(ground, "copied-to"));
    write(client.as_mut(), from, &content).await?;
    client.copy(from, to, &mut Marks::default()).await?;
    read_back(client.as_mut(), to, None, &content).await?;
    read_back(client.as_mut(), from, None, &content).await?;
    client.delete(from, &mut Marks::default()).await?;
    match client.copy(from, to, &mut Marks::default()).await {
        Err(error) if error.kind() == ErrorKind::Status(404) => {}
        other => return Err(wrong(format!("a copy of a missing object gave {other:?}"))),
    }
    client.delete(to, &mut Marks::default()).await
}

/// All named objects go, others stay, missing ones are no failure.
pub async fn many_objects_are_deleted_in_one_request(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    let mut objects: Vec<String> = (0..5).map(|n| format!("many <{n}>&%2F")).collect();
    for object in objects.iter().map(String::as_str).chain(["stays"]) {
        write(client.as_mut(), name(ground, object), b"x").await?;
    }
    objects.push("was-never-there".into());
    client.delete_many(&ground.container, &objects, &mut Marks::default()).await?;
    for object in &objects {
        match client.get(name(ground, object), None, None, &mut Marks::default()).await {
            Err(error) if error.kind() == ErrorKind::Status(404) => {}
            other => return Err(wrong(format!("reading the deleted `{object}` gave {other:?}"))),
        }
    }
    read_back(client.as_mut(), name(ground, "stays"), None, b"x").await?;
    client.delete(name(ground, "stays"), &mut Marks::default()).await
}

/// Metadata can be set twice, and does not touch the content; that of a missing object is `Status(404)`.
pub async fn metadata_changes_and_the_content_stays(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    let content = pattern(300, 12);
    write(client.as_mut(), name(ground, "described"), &content).await?;
    let mut set = Ok(());
    for value in ["first", "second"] {
        let again =
            client.set_metadata(name(ground, "described"), "colour", value, &mut Marks::default()).await;
        set = set.and(again);
    }
    read_back(client.as_mut(), name(ground, "described"), None, &content).await?;
    client.delete(name(ground, "described"), &mut Marks::default()).await?;
    set?;
    match client.set_metadata(name(ground, "described"), "colour", "third", &mut Marks::default()).await {
        Err(error) if error.kind() == ErrorKind::Status(404) => Ok(()),
        other => Err(wrong(format!("metadata of a missing object gave {other:?}"))),
    }
}

/// A body without announced length.
pub async fn chunked_write_comes_back(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    for len in [0, 70_000, 600_001] {
        let content = pattern(len, 6);
        let options = PutOptions { chunked: true };
        client.put(name(ground, "chunked"), &BytesSource(&content), options, &mut Marks::default()).await?;
        if len > 0 {
            read_back(client.as_mut(), name(ground, "chunked"), None, &content).await?;
        }
    }
    client.delete(name(ground, "chunked"), &mut Marks::default()).await
}

/// Three parts, the last one short, two in flight.
pub async fn multipart_write_comes_back(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    let part = usize::try_from(ground.part_size_bytes).unwrap_or(5 << 20);
    let content = pattern(part * 2 + 1234, 8);
    let plan = MultipartPlan { part_size_bytes: part as u64, concurrency: 2 };
    let outcome = client
        .put_multipart(name(ground, "parts"), &BytesSource(&content), plan, &mut Marks::default())
        .await?;
    if outcome.bytes != content.len() as u64 {
        return Err(wrong(format!("{} bytes were written, {} were reported", content.len(), outcome.bytes)));
    }
    read_back(client.as_mut(), name(ground, "parts"), None, &content).await?;
    client.delete(name(ground, "parts"), &mut Marks::default()).await
}

/// A container with an object in it is not deleted: `Status(409)`.
pub async fn full_container_is_not_deleted(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    write(client.as_mut(), name(ground, "keep"), b"x").await?;
    let result = client.delete_container(&ground.container, &mut Marks::default()).await;
    client.delete(name(ground, "keep"), &mut Marks::default()).await?;
    match result {
        Err(error) if error.kind() == ErrorKind::Status(409) => Ok(()),
        other => Err(wrong(format!("expected status 409, got {other:?}"))),
    }
}

/// After a delete the object is 404.
pub async fn deleted_object_is_gone(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    write(client.as_mut(), name(ground, "gone"), b"x").await?;
    client.delete(name(ground, "gone"), &mut Marks::default()).await?;
    match client.get(name(ground, "gone"), None, None, &mut Marks::default()).await {
        Err(error) if error.kind() == ErrorKind::Status(404) => Ok(()),
        other => Err(wrong(format!("expected status 404, got {other:?}"))),
    }
}

/// A call that is dropped half-way (a time limit) leaves no bytes for the next one to stumble over.
pub async fn dropped_call_does_not_spoil_the_next(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    let content = pattern(3_000_000, 9);
    write(client.as_mut(), name(ground, "dropped"), &content).await?;
    for polls in 1..6 {
        let mut marks = Marks::default();
        let mut call = client.get(name(ground, "dropped"), None, None, &mut marks);
        for _ in 0..polls {
            if poll_once(&mut call).await.is_some() {
                break;
            }
        }
        drop(call);
        read_back(client.as_mut(), name(ground, "dropped"), None, &content).await?;
    }
    client.delete(name(ground, "dropped"), &mut Marks::default()).await
}

async fn poll_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    tokio::time::timeout(std::time::Duration::from_micros(200), future).await.ok()
}

/// Deleting a container that is not there is success.
pub async fn container_can_be_deleted_twice(
    adaptor: &dyn Adaptor,
    session: &Arc<Session>,
    ground: &Ground,
) -> Result<()> {
    let mut client = adaptor.client(session)?;
    client.delete_container(&ground.container, &mut Marks::default()).await?;
    client.delete_container(&ground.container, &mut Marks::default()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_memory_store_passes_every_case() {
        let ground = Ground { container: "conformance".into(), part_size_bytes: 1000 };
        for (case, verdict) in run_all(&crate::mem::Mem::new(), &Arc::default(), &ground).await {
            assert_eq!(verdict, Verdict::Passed, "{case}");
        }
    }

    #[tokio::test]
    async fn the_null_store_is_asked_only_for_what_it_claims() {
        let ground = Ground { container: "conformance".into(), part_size_bytes: 1000 };
        for (case, verdict) in run_all(&crate::null::Null, &Arc::default(), &ground).await {
            assert!(!matches!(verdict, Verdict::Failed(_)), "{case}: {verdict:?}");
        }
    }
}
