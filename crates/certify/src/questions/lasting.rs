//! What is there at the beginning and has to be there at the end: objects that are written before most questions, and
//! looked at again behind all others. What a store forgets after a while, after so many others or once its caches are
//! full shows there.

use std::time::Duration;

use cosmark_adaptor_api::Capability;

use super::operations::late;
use super::{Group, Of, Question, by, difference, pattern, row};
use crate::certificate::Answer;
use crate::request::{Finding, Found};
use crate::room::{Planted, Room, is_busy, unprepared};

const STORE: (Group, Of) = (Group::Durability, Of::Any(Capability::STORE));
const MODEL: &str = "S3 user guide, Data protection and Amazon S3 data consistency model";
/// Objects of each kind: those that stay, that are overwritten, that are deleted, that are deleted and written again.
const EACH: usize = 15;
/// Where nothing else was asked in between, it is waited for so long.
const PAUSE: Duration = Duration::from_secs(3);

/// Before most others.
pub(super) const EARLY: &[Question] = &[row(
    "any.many-written",
    STORE,
    (
        "Are 60 objects of 0 to 262144 bytes as their last writes and deletes left them, right after them?",
        "every object, byte for byte; what was deleted is gone",
        MODEL,
    ),
    by!(many_written),
)];

/// Behind all others.
pub(super) const LATE: &[Question] = &[row(
    "any.still-there",
    STORE,
    (
        "Are the first 60 objects still so after everything else that was asked?",
        "every object, byte for byte; what was deleted stays deleted",
        MODEL,
    ),
    by!(still_there),
)];

/// Lengths that are spread over powers of two and lie on none.
fn length(at: usize) -> usize {
    match at % 19 {
        0 => 0,
        18 => 1 << 18,
        power => (1 << power) + at,
    }
}

async fn plant(room: &mut Room) -> Result<(), Finding> {
    let mut all = Vec::new();
    for at in 0..4 * EACH {
        let key = room.key(&format!("planted-{at:02}"));
        let first = (at as u64 + 500, length(at));
        put(room, &key, first).await?;
        let content = match at % 4 {
            0 => Some(first),
            1 => Some((at as u64 + 700, length(at + 5))),
            2 => None,
            _ => Some((at as u64 + 800, length(at + 9))),
        };
        if at % 4 >= 2 {
            room.remove(&key).await.map_err(|error| unprepared(&error))?;
        }
        if let Some(content) = content.filter(|content| *content != first) {
            put(room, &key, content).await?;
        }
        all.push(Planted { key, content });
    }
    room.planted = all;
    Ok(())
}

async fn put(room: &mut Room, key: &str, (seed, length): (u64, usize)) -> Result<(), Finding> {
    room.put(key, &pattern(length, seed)).await.map_err(|error| unprepared(&error))
}

/// Looks at all of them; names the first that is wrong, and counts all that are.
async fn look(room: &mut Room, when: &str) -> Found {
    let planted = room.planted.clone();
    let (mut wrong, mut first) = (0_usize, None);
    // Of what a busy store does not give nobody knows how it is.
    let (mut unread, mut busy) = (0_usize, None);
    for one in &planted {
        let read = room.get(&one.key).await;
        let found = match (one.content, read) {
            (_, Err(error)) if is_busy(error.status()) => {
                unread += 1;
                busy.get_or_insert_with(|| error.message().to_owned());
                None
            }
            (Some((seed, length)), Ok(read)) => difference(&pattern(length, seed), &read),
            (None, Ok(read)) => Some(format!("it was deleted, and {} bytes are there", read.len())),
            (None, Err(error)) if error.status().is_some_and(|status| (400..500).contains(&status)) => None,
            (_, Err(error)) => Some(error.message().to_owned()),
        };
        if let Some(found) = found {
            wrong += 1;
            first.get_or_insert_with(|| format!("{}: {found}", room.short(&one.key)));
        }
    }
    let of = planted.len();
    Ok(match (first, busy) {
        (Some(first), _) => Finding::no(format!("{wrong} of {of} are not as they were left {when}; {first}")),
        (None, Some(busy)) => {
            Finding::not_asked(format!("the store was busy: {unread} of {of} not read: {busy}"))
        }
        (None, None) => Finding::yes(format!("{of} objects, {EACH} of them deleted")),
    })
}

async fn many_written(room: &mut Room) -> Found {
    plant(room).await?;
    let found = look(room, "a moment ago").await?;
    Ok(if found.answer == Answer::No { late(room, found.saw) } else { found })
}

async fn still_there(room: &mut Room) -> Found {
    if room.planted.is_empty() {
        plant(room).await?;
        tokio::time::sleep(PAUSE).await;
    }
    look(room, "before").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planted_has_every_size_and_what_replaces_it_is_another() {
        let lengths: std::collections::BTreeSet<usize> = (0..4 * EACH).map(length).collect();
        assert!(lengths.contains(&0) && lengths.contains(&(1 << 18)) && lengths.len() > 50, "{lengths:?}");
        for at in 0..4 * EACH {
            assert_ne!(length(at), length(at + 5), "{at}");
            assert_ne!(length(at), length(at + 9), "{at}");
        }
    }
}
