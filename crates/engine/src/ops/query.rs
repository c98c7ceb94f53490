//! `list` and `head`.

use cosmark_adaptor_api::{ListRequest, Result};

use super::{Call, Done};

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
    Ok(Done { bytes: page.bytes, accepted_only: false, checked: false })
}

pub async fn head(call: Call<'_>) -> Result<Done> {
    let name = call.name();
    call.timing.time(call.client.head(name, call.marks)).await?;
    Ok(Done::default())
}
