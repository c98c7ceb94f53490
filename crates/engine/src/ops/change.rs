//! `copy`, `metadata` and `restore`: changes that the store makes by itself, with no object data on the wire.

use cosmark_adaptor_api::{ObjectName, Result};

use super::{Call, Done};

/// The key of the metadata that is set.
const METADATA_KEY: &str = "cosmark-version";

pub async fn copy(call: Call<'_>) -> Result<Done> {
    let from = call.name();
    let target = format!("{}{}", call.object, call.operation.copy_suffix);
    let to = ObjectName { container: call.container, object: &target };
    let outcome = call.timing.time(call.client.copy(from, to, call.marks)).await?;
    // The bytes moved inside the store only.
    Ok(Done { accepted_only: outcome.accepted_only, ..Done::default() })
}

pub async fn metadata(call: Call<'_>) -> Result<Done> {
    let name = call.name();
    let value = call.version.to_string();
    call.timing.time(call.client.set_metadata(name, METADATA_KEY, &value, call.marks)).await?;
    Ok(Done::default())
}

/// What is timed is the request; when the object can be read again is the store's affair.
pub async fn restore(call: Call<'_>) -> Result<Done> {
    let name = call.name();
    call.timing.time(call.client.restore(name, call.marks)).await?;
    Ok(Done::default())
}
