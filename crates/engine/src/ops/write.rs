//! `write`, `prepare`, `mwrite` with generated content; `filewrite`, `mfilewrite` with files of the driver.

use cosmark_adaptor_api::{BodySource, MultipartPlan, PutOptions, Result};
use cosmark_workload::model::OpKind;

use super::{Call, Done, local_error};
use crate::hashcheck::{GuardedBody, is_guarded};

pub async fn generated(call: Call<'_>) -> Result<Done> {
    let body = call.body();
    if call.operation.hash_check && is_guarded(body.len()) {
        let guarded =
            GuardedBody::new(&body, false).map_err(|cause| local_error("hashing the content", &cause))?;
        return send(call, &guarded).await;
    }
    send(call, &body).await
}

pub async fn file(call: Call<'_>) -> Result<Done> {
    let Some(files) = call.files else { return Ok(Done::default()) };
    let file = files
        .open(call.choice.object)
        .map_err(|cause| local_error(files.name(call.choice.object), &cause))?;
    if call.operation.hash_check && file.len() > 0 {
        // COSBench appends the guard here: the object is 40 bytes longer than the file.
        let guarded = GuardedBody::new(&file, true).map_err(|cause| local_error("hashing a file", &cause))?;
        return send(call, &guarded).await;
    }
    send(call, &file).await
}

async fn send(call: Call<'_>, body: &dyn BodySource) -> Result<Done> {
    let name = call.name();
    let outcome = match call.operation.kind {
        OpKind::MultipartWrite | OpKind::MultipartFileWrite => {
            let plan = MultipartPlan {
                part_size_bytes: call.operation.part_size_bytes.max(1),
                concurrency: call.operation.part_concurrency.max(1),
            };
            call.timing.time(call.client.put_multipart(name, body, plan, call.marks)).await?
        }
        _ => {
            let options = PutOptions { chunked: call.operation.chunked };
            call.timing.time(call.client.put(name, body, options, call.marks)).await?
        }
    };
    Ok(Done { bytes: outcome.bytes, accepted_only: outcome.accepted_only, checked: false })
}
