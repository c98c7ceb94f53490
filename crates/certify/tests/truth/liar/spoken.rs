//! Lies in what is said: conditions that never hold, lines of an answer and names in a listing that are not those of the
//! object. Each is found by the question about it, and by no other.

use cosmark_adaptor_api::{Ask, Reply, Result};
use cosmark_embedded::{EmbeddedStore, Options};

use super::{Lie, LyingAsker, are_found};

/// Which lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saying {
    /// Nothing was modified since any date.
    NothingModified,
    /// The same, by HEAD alone.
    NothingModifiedByHead,
    /// Everything was modified since any date.
    AllModified,
    /// A completion on a condition is refused, whatever is there.
    RefusesCompletions,
    /// A delete on a condition is refused, whatever is there.
    RefusesDeletes,
    /// On which date the source of a copy was modified is not looked at.
    CopiesOfAnyDate,
}

/// The status of an answer that the lie gives without the store.
fn at_once(saying: Saying, ask: &Ask<'_>) -> Option<u16> {
    let has = |name: &str| ask.lines.iter().any(|line| line.0 == name);
    let is_on_condition = has("if-match") || has("if-none-match");
    let is_completion = ask.method == "POST" && ask.query.iter().any(|(name, _)| *name == "uploadId");
    let says_unmodified = has("if-modified-since") && !is_on_condition;
    match saying {
        Saying::NothingModified if says_unmodified && ask.method == "GET" => Some(304),
        Saying::NothingModifiedByHead if says_unmodified && ask.method == "HEAD" => Some(304),
        Saying::AllModified if has("if-unmodified-since") && !is_on_condition => Some(412),
        Saying::RefusesCompletions if is_on_condition && is_completion => Some(412),
        Saying::RefusesDeletes if is_on_condition && ask.method == "DELETE" => Some(412),
        _ => None,
    }
}

/// Whether a header line is not looked at.
fn is_overlooked(saying: Saying, name: &str) -> bool {
    saying == Saying::CopiesOfAnyDate && name == "x-amz-copy-source-if-unmodified-since"
}

impl LyingAsker {
    pub(super) async fn says(&mut self, saying: Saying, ask: &Ask<'_>) -> Result<Reply> {
        if let Some(status) = at_once(saying, ask) {
            return Ok(Reply { status, ..Reply::default() });
        }
        let heard = ask.lines.iter().copied().filter(|line| !is_overlooked(saying, line.0));
        let lines: Vec<(&str, &str)> = heard.collect();
        self.inner.ask(&Ask { lines: &lines, ..*ask }).await
    }
}

const fn says(saying: Saying) -> Lie {
    Lie::Says(saying)
}

#[tokio::test]
async fn conditions_that_never_hold_are_found_as_those_that_always_do() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let only =
        ["s3.copy.", "s3.delete.", "s3.head.if-", "s3.multipart.create-once", "s3.multipart.if-", "s3.read."];
    let cases: &[(Lie, &[&str])] = &[
        (Lie::SaysNothing, &[]),
        (says(Saying::NothingModified), &["s3.read.if-modified"]),
        (says(Saying::NothingModifiedByHead), &["s3.head.if-modified"]),
        (says(Saying::AllModified), &["s3.head.if-modified", "s3.read.if-modified"]),
        (says(Saying::RefusesCompletions), &["s3.multipart.create-once", "s3.multipart.if-match"]),
        (says(Saying::RefusesDeletes), &["s3.delete.if-match"]),
        (says(Saying::CopiesOfAnyDate), &["s3.copy.dates"]),
    ];
    are_found(&store, &only, cases).await;
}
