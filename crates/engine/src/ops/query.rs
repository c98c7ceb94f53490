//! `list` and `head`.

use cosmark_adaptor_api::{ListRequest, Result};

use super::{Call, Done, fits};

/// Objects given: metadata of one of them (as COSBench does on Swift); else one page of the container, or of the
/// account's containers.
pub async fn list(call: Call<'_>) -> Result<Done> {
    if call.operation.objects.is_some() {
        return head(call).await;
    }
    let request = ListRequest {
        container: if call.operation.containers.is_some() { call.container } else { "" },
        page_size: call.operation.page_size,
        prefix: &call.operation.list_prefix,
        delimiter: Some(call.operation.delimiter.as_str()).filter(|text| !text.is_empty()),
        ..ListRequest::default()
    };
    let page = call.timing.time(call.client.list(request, call.marks)).await?;
    if !request.container.is_empty() {
        page.answers(&request)?;
    }
    Ok(Done { bytes: page.bytes, accepted_only: false, checked: false })
}

pub async fn head(call: Call<'_>) -> Result<Done> {
    let name = call.name();
    let length = call.timing.time(call.client.head(name, call.marks)).await?;
    if let Some(bytes) = length {
        // No byte of the object came.
        fits(call.length, None, bytes, name).map_err(|error| error.with_partial_bytes(0))?;
    }
    Ok(Done::default())
}
