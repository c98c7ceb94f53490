//! `delete` and `cleanup`. A missing object is what the adaptor says it is: a failure on Swift, a success on S3.

use cosmark_adaptor_api::Result;

use super::{Call, Done};

pub async fn delete(call: Call<'_>) -> Result<Done> {
    let name = call.name();
    call.timing.time(call.client.delete(name, call.marks)).await?;
    Ok(Done::default())
}
