//! Many at once: writers of one name, readers beside them, pages while names come and go, a restart. Conditional writes that only
//! one may win are in [`races`].

use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    BytesSource, Capability, Client, CollectSink, Error, Marks, ObjectName, PutOptions, Reply,
};
use futures_util::future::join_all;

use super::operations::late;
use super::races::{self, ROUNDS, WRITERS, writer_of};
use super::{Group, Of, Question, S3, by, pattern, row};
use crate::request::{Finding, Found};
use crate::room::{Room, is_busy, unprepared, within};

const TOGETHER: (Group, Of) = (Group::Concurrency, Of::Any(Capability::STORE));
const RACE: (Group, Of) = (Group::Concurrency, S3);
const WRITES: &str = "S3 user guide, How to prevent object overwrites with conditional writes";
/// Names on a page of a listing beside writes.
const NAMES_A_PAGE: u32 = 7;
/// Pages of such listings: a fault of one in twenty is on one of so many as good as surely.
const PAGES: usize = 200;
/// A slow store is listed for so long.
const LISTED_FOR: Duration = Duration::from_secs(30);
/// A store that was restarted answers every request again by then.
const BACK_WITHIN: Duration = Duration::from_secs(60);
/// Between two looks whether it does.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The command that restarts it has 180 s, the store has [`BACK_WITHIN`], and as much is left for the requests.
const MOST_OF_A_RESTART: Duration = Duration::from_secs(320);

pub(super) const ROWS: &[Question] = &[
    row(
        "any.sixteen-writers",
        TOGETHER,
        (
            "Do 16 writers of one name leave one of their objects, whole?",
            "the bytes of one of them, each time",
            "S3 user guide, Amazon S3 data consistency model",
        ),
        by!(sixteen_writers),
    ),
    row(
        "any.side-by-side",
        TOGETHER,
        (
            "Do 16 connections that write and read at once each get back their own objects?",
            "byte for byte, each its own",
            "every protocol's object read and write",
        ),
        by!(side_by_side),
    ),
    row(
        "any.read-while-written",
        TOGETHER,
        (
            "Does a read beside overwrites give one version, whole?",
            "the bytes of one write, never of two",
            "S3 user guide, Amazon S3 data consistency model",
        ),
        by!(read_while_written),
    ),
    row(
        "any.pages-while-written",
        (Group::Concurrency, Of::Any(Capability::LIST)),
        (
            "Do pages give each name that stays exactly once, while others come and go?",
            "no name twice, none left out",
            "S3 API, ListObjectsV2; OpenStack Object Storage API",
        ),
        by!(pages_while_written),
    ),
    row(
        "s3.race.create-once",
        RACE,
        (
            "Of 16 writes at once with If-None-Match: *, does exactly one win?",
            "one 200; all others 412 PreconditionFailed or 409 ConditionalRequestConflict; the winner's bytes stay",
            WRITES,
        ),
        by!(races::create),
    ),
    row(
        "s3.race.if-match",
        RACE,
        (
            "Of 8 writes at once with If-Match of one version, does at most one win?",
            "one 200; all others 412 or 409: no update is lost",
            WRITES,
        ),
        by!(races::match_one),
    ),
    row(
        "s3.race.complete",
        RACE,
        (
            "Of 4 completions of one upload at once, is at least one done, and the object whole?",
            "200, or 404 NoSuchUpload for some; every byte of the part",
            "S3 API, CompleteMultipartUpload",
        ),
        by!(races::complete),
    ),
    row(
        "any.restart",
        (Group::Durability, Of::Any(Capability::STORE)),
        (
            "Is everything that was acknowledged there after a restart?",
            "every object, byte for byte; what was deleted stays deleted",
            "S3 user guide, Data protection",
        ),
        by!(restart),
    )
    .within(MOST_OF_A_RESTART),
];

fn clients(room: &Room, count: usize) -> Result<Vec<Box<dyn Client>>, Finding> {
    (0..count).map(|_| room.another()).collect()
}

/// Writes small objects over some connections.
pub(super) async fn write_side_by_side(room: &mut Room, keys: &[String]) -> Result<(), Finding> {
    room.written.extend(keys.iter().cloned());
    let (began, lanes) = (Instant::now(), clients(room, 8)?);
    let (patience, container) = (room.patience, room.container.clone());
    let results = join_all(lanes.into_iter().enumerate().map(|(lane, mut client)| {
        let container = &container;
        async move {
            for key in keys.iter().skip(lane).step_by(8) {
                put(client.as_mut(), (container, key), b"x", patience).await?;
            }
            Ok::<(), Error>(())
        }
    }))
    .await;
    let failed = results.into_iter().find_map(Result::err);
    room.say(format!("write {} objects over 8 connections", keys.len()), outcome(failed.as_ref()), began);
    failed.map_or(Ok(()), |error| Err(unprepared(&error)))
}

fn outcome(failed: Option<&Error>) -> String {
    failed.map_or_else(|| "done".to_owned(), |error| error.message().to_owned())
}

/// The failure that says most: not that the store was busy, if there is another one.
fn worst<'a>(errors: impl Iterator<Item = &'a Error>) -> Option<&'a Error> {
    errors.min_by_key(|error| is_busy(error.status()))
}

/// What a failure says that nobody has repeated: nothing where the store was busy.
pub(super) fn failure(what: &str, error: Option<&Error>) -> Finding {
    let seen = format!("{what}: {}", outcome(error));
    if is_busy(error.and_then(Error::status)) { Finding::not_asked(seen) } else { Finding::no(seen) }
}

async fn put(
    client: &mut dyn Client,
    (container, object): (&str, &str),
    content: &[u8],
    patience: Duration,
) -> Result<(), Error> {
    let (mut marks, source) = (Marks::default(), BytesSource(content));
    let name = ObjectName { container, object };
    within(patience, client.put(name, &source, PutOptions::default(), &mut marks)).await.map(drop)
}

async fn sixteen_writers(room: &mut Room) -> Found {
    let length = 20_000;
    for round in 0..ROUNDS / 2 {
        let key = room.key(&format!("same-{round}"));
        room.written.push(key.clone());
        let (began, lanes) = (Instant::now(), clients(room, WRITERS)?);
        let (patience, container) = (room.patience, room.container.clone());
        let all = join_all(lanes.into_iter().enumerate().map(|(writer, mut client)| {
            let (container, key) = (&container, &key);
            async move {
                put(client.as_mut(), (container, key), &pattern(length, writer as u64 + 1000), patience).await
            }
        }))
        .await;
        let done = all.iter().filter(|result| result.is_ok()).count();
        room.say(format!("{WRITERS} writes of {} at once", room.short(&key)), format!("{done} done"), began);
        if done == 0 {
            let errors = all.iter().filter_map(|result| result.as_ref().err());
            return Ok(failure("none was written", worst(errors)));
        }
        let first = room.get(&key).await.map_err(|error| Finding::no(error.message()))?;
        if writer_of(&first, length).is_none() {
            return Ok(Finding::no(format!("{} bytes that nobody wrote", first.len())));
        }
        let again = room.get(&key).await.map_err(|error| Finding::no(error.message()))?;
        if again != first {
            return Ok(Finding::no("two reads after the last write give different objects"));
        }
    }
    Ok(Finding::yes(format!("{} rounds", ROUNDS / 2)))
}

async fn side_by_side(room: &mut Room) -> Found {
    let (began, lanes) = (Instant::now(), clients(room, WRITERS)?);
    let keys: Vec<Vec<String>> = (0..WRITERS)
        .map(|lane| (0..ROUNDS).map(|round| room.key(&format!("side-{lane}-{round}"))).collect())
        .collect();
    room.written.extend(keys.iter().flatten().cloned());
    let (patience, container) = (room.patience, room.container.clone());
    let all = join_all(lanes.into_iter().zip(&keys).enumerate().map(|(lane, (mut client, keys))| {
        let container = &container;
        async move {
            for (round, key) in keys.iter().enumerate() {
                // All have one length: bodies that are mixed up are not found by it.
                let content = pattern(9000, (lane * 100 + round) as u64 + 5000);
                put(client.as_mut(), (container, key), &content, patience).await?;
                let (mut sink, mut marks) = (CollectSink::new(Reply::MOST_BYTES), Marks::default());
                let name = ObjectName { container, object: key };
                within(patience, client.get(name, None, Some(&mut sink), &mut marks)).await?;
                if sink.bytes != content {
                    return Ok(Some(key));
                }
            }
            Ok::<Option<&String>, Error>(None)
        }
    }))
    .await;
    let failed = worst(all.iter().filter_map(|result| result.as_ref().err()));
    room.say(format!("{WRITERS} connections, {ROUNDS} writes and reads each"), outcome(failed), began);
    // What one connection was given wrong stays wrong, whatever another one failed with.
    let wrong = all.iter().flatten().flatten().next();
    Ok(match (wrong, failed) {
        (Some(key), _) => Finding::no(format!("{} does not hold what was written to it", room.short(key))),
        (None, Some(_)) => failure("a write or a read failed", failed),
        (None, None) => Finding::yes(format!("{} objects", WRITERS * ROUNDS)),
    })
}

async fn read_while_written(room: &mut Room) -> Found {
    let (length, key) = (200_000, room.key("read"));
    room.put(&key, &pattern(length, 1000)).await.map_err(|error| unprepared(&error))?;
    let (began, mut lanes) = (Instant::now(), clients(room, 4)?);
    let (patience, container) = (room.patience, room.container.clone());
    let mut writer = lanes.remove(0);
    let write = async {
        for round in 0..30 {
            let content = pattern(length, 1000 + round % WRITERS as u64);
            put(writer.as_mut(), (&container, &key), &content, patience).await?;
        }
        Ok::<(), Error>(())
    };
    let reads = join_all(lanes.iter_mut().map(|client| {
        let (container, key) = (&container, &key);
        async move {
            let (mut whole, mut wrong) = (0, None);
            for _ in 0..40 {
                let (mut sink, mut marks) = (CollectSink::new(Reply::MOST_BYTES), Marks::default());
                let name = ObjectName { container, object: key };
                let read = within(patience, client.get(name, None, Some(&mut sink), &mut marks)).await;
                match read {
                    Ok(_) if writer_of(&sink.bytes, length).is_some() => whole += 1,
                    Ok(_) => {
                        wrong = Some(format!("a read gave {} bytes that no write had", sink.bytes.len()))
                    }
                    Err(error) if is_busy(error.status()) => {}
                    Err(error) => wrong = Some(format!("a read failed: {}", error.message())),
                }
            }
            (whole, wrong)
        }
    }));
    let (wrote, reads) = futures_util::future::join(write, reads).await;
    let whole: usize = reads.iter().map(|(whole, _)| whole).sum();
    room.say("30 overwrites beside 120 reads".to_owned(), format!("{whole} reads whole"), began);
    let wrong = reads.into_iter().find_map(|(_, wrong)| wrong);
    Ok(match (wrong, wrote) {
        (Some(wrong), _) => Finding::no(wrong),
        // Some stores take one write of a name each second, and answer 429 to more.
        (None, Err(error)) => failure("an overwrite failed", Some(&error)),
        (None, Ok(())) if whole == 0 => Finding::not_asked("the store was busy in every read"),
        (None, Ok(())) => Finding::yes(format!("{whole} reads, each of one version")),
    })
}

async fn pages_while_written(room: &mut Room) -> Found {
    let stay: Vec<String> = (0..40).map(|at| room.key(&format!("{at:02}-stays"))).collect();
    let others: Vec<String> = (0..40).map(|at| room.key(&format!("{at:02}-goes"))).collect();
    write_side_by_side(room, &stay).await?;
    room.written.extend(others.iter().cloned());
    let (mut writer, container, patience) = (room.another()?, room.container.clone(), room.patience);
    let is_over = std::cell::Cell::new(false);
    let churn = async {
        let mut failed = None;
        for key in others.iter().cycle() {
            if is_over.get() {
                break;
            }
            failed = put(writer.as_mut(), (&container, key), b"x", patience).await.err();
            let name = ObjectName { container: &container, object: key };
            failed = failed.or(within(patience, writer.delete(name, &mut Marks::default())).await.err());
            if failed.is_some() {
                break;
            }
        }
        failed
    };
    let (mut listings, mut pages) = (0, 0);
    let until = Instant::now() + LISTED_FOR;
    let lists = async {
        let mut wrong = None;
        while wrong.is_none() && pages < PAGES && (listings == 0 || Instant::now() < until) {
            let listed = match room.names(&room.key(""), Some(NAMES_A_PAGE), 60).await {
                Ok(listed) => listed,
                Err(error) => {
                    wrong = Some(Finding::no(error.message()));
                    break;
                }
            };
            listings += 1;
            pages += listed.len().div_ceil(NAMES_A_PAGE as usize);
            let mut sorted: Vec<&String> = listed.iter().filter(|name| name.ends_with("-stays")).collect();
            sorted.sort_unstable();
            let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
            let absent = stay.iter().find(|name| !listed.contains(name));
            wrong = twice.map(|name| Finding::no(format!("{} is listed twice", room.short(name))));
            wrong = wrong.or(absent.map(|name| late(room, format!("{} is left out", room.short(name)))));
        }
        is_over.set(true);
        wrong
    };
    let (failed, wrong) = futures_util::future::join(churn, lists).await;
    if let Some(wrong) = wrong {
        return Ok(wrong);
    }
    Ok(match failed {
        Some(error) => Finding::not_asked(format!("the writer beside it failed: {}", error.message())),
        None => Finding::yes(format!(
            "{listings} listings, {pages} pages of {NAMES_A_PAGE}: each of 40 names once in each"
        )),
    })
}

async fn restart(room: &mut Room) -> Found {
    let Some(restart) = room.restart.clone() else {
        return Ok(Finding::not_asked("no command restarts the store: give one with --restart"));
    };
    let there: Vec<String> = (0..30).map(|at| room.key(&format!("stays-{at}"))).collect();
    let gone: Vec<String> = (0..10).map(|at| room.key(&format!("goes-{at}"))).collect();
    for (at, key) in there.iter().chain(&gone).enumerate() {
        room.put(key, &pattern(2000 + at, at as u64)).await.map_err(|error| unprepared(&error))?;
    }
    for key in &gone {
        room.remove(key).await.map_err(|error| unprepared(&error))?;
    }
    let began = Instant::now();
    let result = restart.restart().await;
    room.say("restart".to_owned(), result.clone().err().unwrap_or_else(|| "done".to_owned()), began);
    if let Err(why) = result {
        return Ok(Finding::not_asked(format!("the command that restarts the store did not work: {why}")));
    }
    let until = Instant::now() + BACK_WITHIN;
    for (at, key) in there.iter().enumerate() {
        let read = get_when_back(room, key, until).await.map_err(|error| {
            let when = if is_away(&error) { "a minute after the restart" } else { "now" };
            Finding::no(format!("{} was acknowledged, and {when}: {}", room_short(key), error.message()))
        })?;
        if read != pattern(2000 + at, at as u64) {
            return Ok(Finding::no(format!("{} holds other bytes", room.short(key))));
        }
    }
    for key in &gone {
        match get_when_back(room, key, until).await {
            Ok(_) => return Ok(Finding::no(format!("{} was deleted and is there again", room.short(key)))),
            Err(error) if is_away(&error) => {
                let why = error.message();
                let name = room_short(key);
                return Ok(Finding::no(format!("{name} was deleted, and a minute after the restart: {why}")));
            }
            Err(_) => {}
        }
    }
    Ok(Finding::yes("30 objects, 10 deletes"))
}

/// Reads an object as soon as the store gives an answer that says something of it. Not all of a store is back at once.
async fn get_when_back(room: &mut Room, key: &str, until: Instant) -> Result<Vec<u8>, Error> {
    loop {
        let read = room.get(key).await;
        // A store that comes back is not busy.
        room.repeated = 0;
        if !read.as_ref().is_err_and(is_away) || Instant::now() >= until {
            return read;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// It says nothing of the object: no answer, or one that only says that there will be one.
fn is_away(error: &Error) -> bool {
    error.status().is_none_or(|status| status >= 500 || matches!(status, 408 | 429))
}

/// The end of a name.
fn room_short(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}
