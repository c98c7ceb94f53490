//! `init` and `dispose`. A container that is not empty is emptied only where the workload says so.

use cosmark_adaptor_api::{Error, ErrorKind, ListRequest, ObjectName, Result};

use super::{Call, Done};

/// Rounds of listing and deleting after which a container that keeps filling is left alone.
const MOST_ROUNDS: usize = 1000;

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
    for _ in 0..MOST_ROUNDS {
        let request = ListRequest { container, want_names: true, ..ListRequest::default() };
        let page = timing.time(client.list(request, marks)).await?;
        for object in &page.names {
            match timing.time(client.delete(ObjectName { container, object }, marks)).await {
                Err(error) if error.kind() != ErrorKind::Status(404) => return Err(error),
                _ => {}
            }
        }
        if page.next.is_none() {
            break;
        }
    }
    timing.time(client.delete_container(container, marks)).await?;
    Ok(Done::default())
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
