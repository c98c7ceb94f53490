//! `delete` and `cleanup`. For `delete` a missing object is what the protocol says it is: a failure on Swift, a success
//! on S3. For `cleanup` it is gone, which is all that was asked for.

use cosmark_adaptor_api::{ErrorKind, Result};
use cosmark_workload::model::OpKind;

use super::{Call, Done};

pub async fn delete(call: Call<'_>) -> Result<Done> {
    let name = call.name();
    match call.timing.time(call.client.delete(name, call.marks)).await {
        Err(error) if call.operation.kind == OpKind::Cleanup && error.kind() == ErrorKind::Status(404) => {}
        other => other?,
    }
    Ok(Done::default())
}
