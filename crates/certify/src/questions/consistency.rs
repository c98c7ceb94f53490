//! How soon readers see what was written: one probe, and a question for each class of what it saw.

use std::time::{Duration, Instant};

use cosmark_adaptor_api::{Capability, Protocol};
use cosmark_consistency::{Class, ClassOutcome, Plan, probe};

use super::{Group, Of, Question, row};
use crate::request::{Finding, Found};
use crate::room::Room;

const READ: (Group, Of) = (Group::Consistency, Of::Any(Capability::STORE));
const LIST: (Group, Of) = (Group::Consistency, Of::Any(Capability::LIST));
const MODEL: &str = "S3 user guide, Amazon S3 data consistency model; Swift promises it only eventually";
/// How long is probed, in full and quickly.
const RUNTIME: [Duration; 2] = [Duration::from_secs(70), Duration::from_secs(8)];
/// Requests per second: nothing else is asked meanwhile.
const RATE_PER_S: f64 = 200.0;

/// A row for a class.
macro_rules! seen {
    ($id:expr, $of:expr, $asks:expr, $class:expr) => {
        row($id, $of, ($asks, "no look at any time misses it", MODEL), |room| Box::pin(sees(room, $class)))
    };
}

pub(super) const ROWS: &[Question] = &[
    seen!(
        "any.consistency.read-after-create",
        READ,
        "Does every reader see a new object at once?",
        Class::ReadAfterCreate
    ),
    seen!(
        "any.consistency.read-after-overwrite",
        READ,
        "Does every reader see an overwrite at once?",
        Class::ReadAfterOverwrite
    ),
    seen!(
        "any.consistency.read-after-delete",
        READ,
        "Does every reader see a delete at once?",
        Class::ReadAfterDelete
    ),
    seen!(
        "any.consistency.list-after-create",
        LIST,
        "Does every listing have a new object at once?",
        Class::ListAfterCreate
    ),
    seen!(
        "any.consistency.list-after-delete",
        LIST,
        "Is a deleted object in no listing at once?",
        Class::ListAfterDelete
    ),
    row(
        "any.consistency.monotonic",
        READ,
        (
            "Does no reader see an older version than another saw before, beside a write, too?",
            "reads and writes are those of atomic registers",
            MODEL,
        ),
        |room| Box::pin(is_atomic(room)),
    ),
];

/// Probes once for all of these questions.
async fn probed(room: &mut Room) -> Result<(), Finding> {
    if room.consistency.is_some() {
        return Ok(());
    }
    let plan = Plan {
        runtime: RUNTIME[usize::from(room.is_quick)],
        rate_per_s: RATE_PER_S,
        readers: 3,
        keys: 6,
        lists: room.adaptor.capability().has(Capability::LIST),
        patience: room.patience,
        container: room.container.clone(),
        prefix: room.key("probe/"),
    };
    let began = Instant::now();
    let mut outcome = {
        let (adaptor, session) = (&room.adaptor, &room.session);
        let mut connect = || adaptor.client(session).map_err(|error| error.message().to_owned());
        probe(&plan, &mut connect).await.map_err(Finding::not_asked)?
    };
    room.written.append(&mut outcome.names);
    if outcome.reads == 0 {
        room.unanswered += 1;
    }
    let looks: u64 = outcome.classes.iter().map(|class| class.looks).sum();
    room.say(
        format!("probe for {:.0} s: 6 writers, 18 readers", plan.runtime.as_secs_f64()),
        format!(
            "{} changes, {} reads, {looks} looks, {} without an answer",
            outcome.changes, outcome.reads, outcome.failed
        ),
        began,
    );
    room.consistency = Some(outcome);
    Ok(())
}

/// The picture of a class in words.
fn words(class: &ClassOutcome) -> String {
    let percent = class.high * 100.0;
    if class.stale == 0 {
        return format!(
            "0 of {} looks at {} changes missed it: at most {percent:.2} % of changes are (95 %)",
            class.looks, class.changes
        );
    }
    let last = class.longest_ms.unwrap_or_default();
    let visible = class.visible_after_ms.map_or_else(
        || "from when on it is seen by 99 % cannot be told".to_owned(),
        |ms| format!("{ms} ms after it at least 99 % see it"),
    );
    format!(
        "{} of {} looks missed it, of {} of {} changes, the last one {last:.1} ms after it; {visible}",
        class.stale, class.looks, class.missed_changes, class.changes
    )
}

async fn sees(room: &mut Room, class: Class) -> Found {
    probed(room).await?;
    let outcome = room.consistency.as_ref();
    let Some(found) = outcome.and_then(|outcome| outcome.classes.iter().find(|one| one.class == class))
    else {
        let why = outcome.and_then(|outcome| outcome.failed_why.clone()).unwrap_or_default();
        return Ok(Finding::not_asked(format!("the probe has no such look: {why}")));
    };
    Ok(match found.stale {
        0 => Finding::yes(words(found)),
        _ if room.protocol() == Some(Protocol::Swift) => Finding::differs(words(found)),
        _ => Finding::no(words(found)),
    })
}

async fn is_atomic(room: &mut Room) -> Found {
    probed(room).await?;
    let Some(outcome) = &room.consistency else {
        return Ok(Finding::not_asked("there was no probe"));
    };
    if outcome.reads == 0 {
        let why = outcome.failed_why.as_deref().unwrap_or("none was sent");
        return Ok(Finding::not_asked(format!("no read can be judged: {why}")));
    }
    if outcome.never_written > 0 {
        return Ok(Finding::no(format!("{} reads gave what nobody had written", outcome.never_written)));
    }
    let example = outcome.examples.first().cloned().unwrap_or_default();
    Ok(match outcome.went_back {
        0 => Finding::yes(format!("{} reads, none went back", outcome.reads)),
        count if room.protocol() == Some(Protocol::Swift) => {
            Finding::differs(format!("{count} of {} reads went back: {example}", outcome.reads))
        }
        count => Finding::no(format!("{count} of {} reads went back: {example}", outcome.reads)),
    })
}
