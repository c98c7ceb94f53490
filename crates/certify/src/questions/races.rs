//! Conditional writes at once, of which only one may win. All connections are open before the first of them is sent.

use std::time::{Duration, Instant};

use cosmark_adaptor_api::{Ask, Asker, Reply};
use futures_util::future::join_all;

use super::integrity::bare;
use super::multipart::{begin, completion, part};
use super::{difference, pattern};
use crate::request::{Finding, Found, code_of, status_of};
use crate::room::{Room, is_busy, within};

/// Writers of one name.
pub(super) const WRITERS: usize = 16;
/// Races; a store that lets two win does not do it each time.
pub(super) const ROUNDS: usize = 12;
/// Bytes of each write.
const LENGTH: usize = 3000;
/// Completions of one upload at once.
const COMPLETIONS: usize = 4;
/// A write that was refused and lands nevertheless has done so by then.
const LANDED_WITHIN: Duration = Duration::from_millis(200);

/// Number of the writer whose content this is.
pub(super) fn writer_of(content: &[u8], length: usize) -> Option<usize> {
    (0..WRITERS).find(|writer| pattern(length, *writer as u64 + 1000) == content)
}

/// Sends requests that only differ in their bodies, at once over connections of their own.
async fn race(
    room: &mut Room,
    key: &str,
    line: (&'static str, &str),
    writers: usize,
) -> Result<Vec<Option<Reply>>, Finding> {
    let mut askers: Vec<Box<dyn Asker>> =
        (0..writers).map(|_| room.another_asker()).collect::<Result<_, _>>()?;
    let bodies: Vec<Vec<u8>> = (0..writers).map(|writer| pattern(LENGTH, writer as u64 + 1000)).collect();
    let (patience, container, lines) = (room.patience, room.container.clone(), [line]);
    // Each connection is open, and no write waits for one.
    join_all(askers.iter_mut().map(|asker| {
        let container = &container;
        async move {
            let warm = Ask::new("HEAD", container, key);
            drop(within(patience, asker.ask(&warm)).await);
        }
    }))
    .await;
    let began = Instant::now();
    let replies = join_all(askers.iter_mut().zip(&bodies).map(|(asker, body)| {
        let (container, lines) = (&container, &lines);
        async move {
            let ask = Ask { lines, body, ..Ask::new("PUT", container, key) };
            within(patience, asker.ask(&ask)).await.ok()
        }
    }))
    .await;
    room.written.push(key.to_owned());
    let mut seen: Vec<String> = replies
        .iter()
        .map(|reply| reply.as_ref().map_or_else(|| "no answer".to_owned(), status_of))
        .collect();
    seen.sort_unstable();
    let shown: Vec<String> =
        seen.chunk_by(|a, b| a == b).map(|same| format!("{} x {}", same.len(), same[0])).collect();
    room.say(
        format!("{writers} writes of {} at once ({}: {})", room.short(key), line.0, line.1),
        shown.join(", "),
        began,
    );
    Ok(replies)
}

/// What the races came to.
#[derive(Default)]
struct Races {
    refused: usize,
    conflicts: usize,
    unanswered: usize,
    none_won: usize,
    /// Nobody won, and the store had no time for one who might have.
    undecided: usize,
    /// The store says that it has no such writes.
    absent: Option<String>,
    /// The store had no time for a write, which says nothing of it.
    busy: Option<String>,
    /// A failure of the store's own.
    failure: Option<String>,
    /// Another refusal.
    other: Option<String>,
}

impl Races {
    /// Gives who won; a finding when two did.
    fn add(&mut self, replies: &[Option<Reply>]) -> Result<Option<usize>, Finding> {
        let mut winners = Vec::new();
        for (writer, reply) in replies.iter().enumerate() {
            match reply {
                Some(reply) if reply.is_success() => winners.push(writer),
                Some(reply) if reply.status == 412 => self.refused += 1,
                Some(reply) if reply.status == 409 => self.conflicts += 1,
                Some(reply) if reply.status == 501 => self.absent = Some(status_of(reply)),
                Some(reply) if is_busy(Some(reply.status)) => self.busy = Some(status_of(reply)),
                Some(reply) if reply.status >= 500 => self.failure = Some(status_of(reply)),
                Some(reply) => self.other = Some(status_of(reply)),
                None => self.unanswered += 1,
            }
        }
        if winners.len() > 1 {
            return Err(Finding::no(format!("{} of {} won at once", winners.len(), replies.len())));
        }
        if winners.is_empty() {
            let was_busy = replies.iter().flatten().any(|reply| is_busy(Some(reply.status)));
            *(if was_busy { &mut self.undecided } else { &mut self.none_won }) += 1;
        }
        Ok(winners.first().copied())
    }

    fn finding(self, rounds: usize) -> Finding {
        let seen = format!("{rounds} races: {} x 412, {} x 409", self.refused, self.conflicts);
        if self.unanswered > 0 {
            return Finding::no(format!("{seen}, {} without an answer", self.unanswered));
        }
        if let Some(absent) = self.absent {
            return Finding::differs(format!("the store has none: {absent}"));
        }
        if let Some(failure) = self.failure {
            return Finding::no(format!("{seen}; the store failed: {failure}"));
        }
        let also = |other: Option<String>| other.map(|other| format!(", also {other}"));
        if self.none_won > 0 {
            // Where the store was busy in another race, too, is not said: it would be taken for the reason.
            let others = also(self.other).unwrap_or_default();
            return Finding::no(format!("{seen}{others}; nobody won {} of them", self.none_won));
        }
        let also = also(self.busy.or(self.other));
        if self.undecided > 0 {
            let others = also.unwrap_or_default();
            return Finding::not_asked(format!(
                "{seen}{others}; nobody won {}, with the store busy",
                self.undecided
            ));
        }
        match also {
            Some(also) => Finding::differs(format!("{seen}{also}")),
            None => Finding::yes(seen),
        }
    }
}

/// Every writer heard that its write was not done.
fn are_all_refused(replies: &[Option<Reply>]) -> bool {
    replies.iter().all(|reply| {
        reply.as_ref().is_some_and(|reply| (300..500).contains(&reply.status) || reply.status == 501)
    })
}

/// What the object of a race has to be after it.
struct Left {
    key: String,
    winner: Option<usize>,
    before: Option<Vec<u8>>,
}

impl Left {
    async fn is_there(&self, room: &mut Room, when: &str) -> Result<(), Finding> {
        let now = room.content(&self.key).await?;
        let is_right = match self.winner {
            Some(winner) => now.as_deref().is_some_and(|now| writer_of(now, LENGTH) == Some(winner)),
            None => now == self.before,
        };
        if is_right {
            return Ok(());
        }
        Err(Finding::no(match self.winner {
            Some(_) => format!("the object is not that of the write that won{when}"),
            None => format!("all were refused, and the object was written{when}"),
        }))
    }
}

/// Looks at what a race left, unless that cannot be said.
async fn look(
    room: &mut Room,
    all: &mut Vec<Left>,
    replies: &[Option<Reply>],
    one: Left,
) -> Result<(), Finding> {
    if one.winner.is_some() || are_all_refused(replies) {
        one.is_there(room, "").await?;
        all.push(one);
    }
    Ok(())
}

/// Looks once more, at all of them, a little later.
async fn look_again(room: &mut Room, all: &[Left]) -> Result<(), Finding> {
    tokio::time::sleep(LANDED_WITHIN).await;
    for one in all {
        one.is_there(room, ", a little later").await?;
    }
    Ok(())
}

pub(super) async fn create(room: &mut Room) -> Found {
    let (mut races, mut all) = (Races::default(), Vec::new());
    for round in 0..ROUNDS {
        let key = room.key(&format!("once-{round}"));
        let replies = race(room, &key, ("if-none-match", "*"), WRITERS).await?;
        let winner = races.add(&replies)?;
        look(room, &mut all, &replies, Left { key, winner, before: None }).await?;
    }
    look_again(room, &all).await?;
    Ok(races.finding(ROUNDS))
}

pub(super) async fn match_one(room: &mut Room) -> Found {
    let (mut races, mut all) = (Races::default(), Vec::new());
    for round in 0..ROUNDS {
        let key = room.key(&format!("match-{round}"));
        let before = pattern(LENGTH, round as u64);
        let reply = room.write(&key, &before).await?;
        let Some(etag) = reply.line("etag") else {
            return Ok(Finding::not_asked("the store gives no ETag"));
        };
        let etag = format!("\"{}\"", bare(Some(etag)));
        let replies = race(room, &key, ("if-match", &etag), WRITERS / 2).await?;
        let winner = races.add(&replies)?;
        look(room, &mut all, &replies, Left { key, winner, before: Some(before) }).await?;
    }
    look_again(room, &all).await?;
    Ok(races.finding(ROUNDS))
}

/// One upload is completed several times at once, as by a client that repeats what took long.
pub(super) async fn complete(room: &mut Room) -> Found {
    let mut others = Vec::new();
    for round in 0..ROUNDS / 2 {
        let (key, content) = (room.key(&format!("completed-{round}")), pattern(70_000, round as u64 + 600));
        let upload = begin(room, &key).await?;
        let etag = part(room, &key, &upload, 1, &content).await?;
        let request = completion(&key, &upload, &[(1, etag)]);
        let query: Vec<(&str, Option<&str>)> =
            request.query.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
        let mut askers: Vec<Box<dyn Asker>> =
            (0..COMPLETIONS).map(|_| room.another_asker()).collect::<Result<_, _>>()?;
        let (patience, container, began) = (room.patience, room.container.clone(), Instant::now());
        let replies = join_all(askers.iter_mut().map(|asker| {
            let (container, query, request) = (&container, &query, &request);
            async move {
                let ask = Ask { query, body: &request.body, ..Ask::new("POST", container, &request.object) };
                within(patience, asker.ask(&ask)).await.ok()
            }
        }))
        .await;
        let is_done = |reply: &&Reply| reply.is_success() && code_of(reply).is_none();
        let done = replies.iter().flatten().filter(is_done).count();
        let shown = |reply: &Option<Reply>| reply.as_ref().map_or_else(|| "no answer".to_owned(), status_of);
        let shown: Vec<String> = replies.iter().map(shown).collect();
        room.say(format!("{COMPLETIONS} completions of one upload at once"), shown.join(", "), began);
        if done == 0 {
            let seen = format!("none of {COMPLETIONS} was done: {}", shown.join(", "));
            let was_busy = replies.iter().flatten().any(|reply| is_busy(Some(reply.status)));
            return Ok(if was_busy { Finding::not_asked(seen) } else { Finding::no(seen) });
        }
        let read = room.content(&key).await?.unwrap_or_default();
        if let Some(wrong) = difference(&content, &read) {
            return Ok(Finding::no(format!("after {}: {wrong}", shown.join(", "))));
        }
        let failures = replies.iter().flatten().filter(|reply| reply.status >= 500).map(status_of);
        others.extend(failures);
    }
    Ok(match others.first() {
        None => Finding::yes(format!("{} uploads, each object whole", ROUNDS / 2)),
        Some(failure) => {
            Finding::differs(format!("each object is whole, {} also gave {failure}", others.len()))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;
    use crate::request::says_busy;

    fn replies(statuses: &[u16]) -> Vec<Option<Reply>> {
        let reply = |status: &u16| Reply { status: *status, ..Reply::default() };
        statuses.iter().map(|status| Some(reply(status)).filter(|_| *status > 0)).collect()
    }

    #[test]
    fn races_that_nobody_wins_or_in_which_the_store_fails_are_answered_no_and_a_busy_one_is_not() {
        for (statuses, answer, words) in [
            (&[200, 412, 409][..], Answer::Yes, "1 x 412, 1 x 409"),
            (&[200, 403, 412], Answer::Differs, "also 403"),
            (&[501, 501, 501], Answer::Differs, "has none"),
            (&[412, 412, 409], Answer::No, "nobody won"),
            (&[403, 400, 403], Answer::No, "nobody won"),
            (&[200, 500, 412], Answer::No, "the store failed: 500"),
            (&[200, 500, 503], Answer::No, "the store failed: 500"),
            (&[200, 503, 412], Answer::Differs, "also 503"),
            (&[503, 429, 403], Answer::NotAsked, "also 429; nobody won"),
            (&[200, 0, 412], Answer::No, "1 without an answer"),
        ] {
            let mut races = Races::default();
            races.add(&replies(statuses)).unwrap();
            let finding = races.finding(1);
            assert_eq!(finding.answer, answer, "{statuses:?}");
            assert!(finding.saw.contains(words), "{statuses:?}: {}", finding.saw);
        }
        // Another race in which the store was busy excuses none that nobody won.
        for others in [&[200, 503, 412][..], &[503, 503, 412]] {
            let mut races = Races::default();
            races.add(&replies(others)).unwrap();
            races.add(&replies(&[412, 412, 409])).unwrap();
            let finding = races.finding(2);
            assert_eq!(finding.answer, Answer::No);
            assert!(finding.saw.contains("nobody won 1 of them"), "{}", finding.saw);
            // Nor does what is said of it.
            assert!(!says_busy(&finding.saw), "{}", finding.saw);
        }
        let two = Races::default().add(&replies(&[200, 412, 204])).unwrap_err();
        assert_eq!((two.answer, two.saw.as_str()), (Answer::No, "2 of 3 won at once"));
    }

    #[test]
    fn only_where_each_write_was_refused_the_object_has_to_be_what_it_was() {
        for (statuses, all) in [
            (&[412, 409, 403, 501][..], true),
            (&[412, 500], false),
            (&[412, 0], false),
            (&[200, 412], false),
        ] {
            assert_eq!(are_all_refused(&replies(statuses)), all, "{statuses:?}");
        }
    }
}
