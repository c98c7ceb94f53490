//! Which containers were there before an init or prepare made them: what a run may take away again is what it has made.
//! Asked before the load, in no measured time, of the first driver of a work alone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{Capability, ErrorKind, ListRequest, Marks, Session};
use cosmark_wire::ContainersBefore;
use cosmark_workload::leftovers::containers_made;
use cosmark_workload::model::Work;

use crate::target::Opened;

/// Of more containers than these nothing is known.
const MOST_ASKED: u64 = 1000;
const MOST_BYTES: usize = 128 << 10;
/// Questions side by side.
const CLIENTS: usize = 16;
/// What is not answered by then is not known.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks for each container that `work` is to make. A store that cannot say it, or is slow to, leaves it open.
pub async fn look(work: &Work, opened: &Opened, session: &Arc<Session>) -> ContainersBefore {
    let rules = containers_made(work);
    let many = rules.iter().fold(0, |sum: u64, rule| sum.saturating_add(rule.count()));
    let needed = Capability::of(&[Capability::STORE, Capability::CONTAINERS, Capability::LIST]);
    if !opened.adaptor.capability().has(needed) || many > MOST_ASKED {
        return ContainersBefore::default();
    }
    let names: BTreeSet<String> = rules.iter().flat_map(|rule| rule.names().collect::<Vec<_>>()).collect();
    // All of it goes in one message.
    if names.iter().map(String::len).sum::<usize>() > MOST_BYTES {
        return ContainersBefore::default();
    }
    let names: Vec<String> = names.into_iter().collect();
    let share = names.len().div_ceil(CLIENTS).max(1);
    let asking = names.chunks(share).map(|names| some(names, opened, session));
    let mut before = ContainersBefore::default();
    for part in futures_util::future::join_all(asking).await {
        before.add(part);
    }
    before
}

async fn some(names: &[String], opened: &Opened, session: &Arc<Session>) -> ContainersBefore {
    let mut before = ContainersBefore::default();
    let Ok(mut client) = opened.adaptor.client(session) else { return before };
    let until = tokio::time::Instant::now() + PATIENCE;
    for name in names {
        let mut marks = Marks::default();
        let request = ListRequest { container: name, page_size: Some(1), ..ListRequest::default() };
        match tokio::time::timeout_at(until, client.list(request, &mut marks)).await {
            Ok(Ok(_)) => before.there.push(name.clone()),
            Ok(Err(error)) if error.kind() == ErrorKind::Status(404) => before.missing.push(name.clone()),
            Ok(Err(_)) => {}
            // The client was dropped in the middle of a call.
            Err(_) => return before,
        }
    }
    before
}
