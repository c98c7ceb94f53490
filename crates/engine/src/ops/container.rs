//! `init` and `dispose`, and what a `cleanup` does with its containers. One that is not empty is emptied only where the
//! workload says so.

use cosmark_adaptor_api::{Client, Error, ErrorKind, ListRequest, Marks, ObjectName, Result};

use super::{Call, Done};

/// Rounds of listing and deleting after which a container that keeps filling is left alone.
const MOST_ROUNDS: usize = 1000;
/// Names of a listing that are looked at to tell whether they are still there.
const MOST_LOOKED_AT: usize = 16;
/// Pages in a row on which nothing was to be deleted, after which the listing is taken to have no end.
const MOST_IDLE_ROUNDS: u32 = 100;

pub async fn create(call: Call<'_>) -> Result<Done> {
    call.timing.time(call.client.create_container(call.container, call.marks)).await?;
    Ok(Done::default())
}

pub async fn remove(call: Call<'_>) -> Result<Done> {
    let Call { client, operation, container, marks, timing, .. } = call;
    match timing.time(client.delete_container(container, marks)).await {
        Err(error) if error.kind() == ErrorKind::Status(409) && operation.empty_container => {}
        Err(error) if error.kind() == ErrorKind::Status(409) => {
            return Err(not_empty(container, &error));
        }
        other => return other.map(|()| Done::default()),
    }
    let mut after: Option<String> = None;
    let mut before: Vec<String> = Vec::new();
    let mut idle_rounds = 0;
    for _ in 0..MOST_ROUNDS {
        let request =
            ListRequest { container, want_names: true, after: after.as_deref(), ..ListRequest::default() };
        let page = timing.time(client.list(request, marks)).await?;
        page.answers(&request)?;
        let mut deleted = 0_u32;
        for object in &page.names {
            match timing.time(client.delete(ObjectName { container, object }, marks)).await {
                Err(error) if error.kind() != ErrorKind::Status(404) => return Err(error),
                Err(_) => {}
                Ok(()) => deleted += 1,
            }
        }
        // What is listed late may be listed once more; a listing that never leads on is no listing.
        let is_repeated = !page.names.is_empty() && page.names == before;
        idle_rounds = if deleted == 0 || is_repeated { idle_rounds + 1 } else { 0 };
        if idle_rounds >= MOST_IDLE_ROUNDS {
            return Err(endless(container));
        }
        let Some(next) = page.next else { break };
        // What was on the page is gone: the next one is the first again.
        after = page.names.is_empty().then_some(next);
        before = page.names;
    }
    timing.time(client.delete_container(container, marks)).await?;
    Ok(Done::default())
}

/// Whether a store that refuses to delete a container, because it is not empty, only lists what is gone already: listings of
/// Swift are behind for a while, and until then it refuses.
pub async fn lists_what_is_gone(client: &mut dyn Client, container: &str, marks: &mut Marks) -> Result<bool> {
    let request = ListRequest { container, want_names: true, ..ListRequest::default() };
    let page = client.list(request, marks).await?;
    for object in page.names.iter().take(MOST_LOOKED_AT) {
        match client.head(ObjectName { container, object }, marks).await {
            Err(error) if error.kind() == ErrorKind::Status(404) => {}
            other => return other.map(|_| false),
        }
    }
    Ok(true)
}

fn endless(container: &str) -> Error {
    let message = format!(
        "the listing of container {container} does not end: {MOST_IDLE_ROUNDS} pages in a row held nothing that was still there"
    );
    Error::new(ErrorKind::Protocol, message)
        .with_hint("the store's listing lags far behind its deletes, or repeats its pages: empty it with the store's own tools")
}

fn not_empty(container: &str, cause: &Error) -> Error {
    Error::new(
        cause.kind(),
        format!("container {container} still holds objects that this work was not told to delete"),
    )
    .with_code(cause.code().unwrap_or("NotEmpty"))
    .with_hint(
        "widen the ranges of the cleanup stage, or set `emptyContainer=true` to delete all that is in it; an S3 bucket that \
         keeps versions needs `purge_versions=true` of its storage",
    )
}
