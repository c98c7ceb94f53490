//! `delete`, `bulkdelete` and `cleanup`. For `delete` a missing object is what the protocol says it is: a failure on Swift, a success
//! on S3. For `cleanup` it is gone, which is all that was asked for.

use cosmark_adaptor_api::{ErrorKind, Result};
use cosmark_workload::model::OpKind;

use super::{Call, Done};
use crate::names::NameTemplate;

/// The names of a batch are put together before the clock starts.
pub async fn many(call: Call<'_>) -> Result<Done> {
    let mut template = NameTemplate::objects(call.operation);
    let names: Vec<String> =
        call.operation.batch_of(call.choice.object).map(|number| template.write(number).to_owned()).collect();
    call.timing.time(call.client.delete_many(call.container, &names, call.marks)).await?;
    Ok(Done::default())
}

pub async fn delete(call: Call<'_>) -> Result<Done> {
    let name = call.name();
    match call.timing.time(call.client.delete(name, call.marks)).await {
        Err(error) if call.operation.kind == OpKind::Cleanup && error.kind() == ErrorKind::Status(404) => {}
        other => other?,
    }
    Ok(Done::default())
}
