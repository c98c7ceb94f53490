//! `list` and `head`.

use cosmark_adaptor_api::{Error, ErrorKind, ListPage, ListRequest, Result, clock};

use super::{Call, Done, fits};
use crate::mission::Known;

/// Objects given: metadata of one of them (as COSBench does on Swift); else one page of the container, or of the
/// account's containers.
pub async fn list(call: Call<'_>) -> Result<Done> {
    if call.operation.objects.is_some() {
        return head(call).await;
    }
    let least = match call.known {
        Some(Known::Names { least, from_ns }) if clock::now_ns() >= from_ns => Some(least),
        _ => None,
    };
    let request = ListRequest {
        container: if call.operation.containers.is_some() { call.container } else { "" },
        page_size: call.operation.page_size,
        prefix: &call.operation.list_prefix,
        delimiter: Some(call.operation.delimiter.as_str()).filter(|text| !text.is_empty()),
        want_names: least.is_some(),
        holds_all: least.is_some(),
        ..ListRequest::default()
    };
    let page = call.timing.time(call.client.list(request, call.marks)).await?;
    if !request.container.is_empty() {
        page.answers(&request)?;
    }
    let checked = match least {
        Some(least) => holds(&page, least, request.container)?,
        None => false,
    };
    Ok(Done { bytes: page.bytes, accepted_only: false, checked })
}

/// Whether a page, the first of its listing, can be what the store holds: no name is on it twice, and where it is the last
/// one it has no fewer names than must be there. True where it is the last one.
fn holds(page: &ListPage, least: u64, container: &str) -> Result<bool> {
    // Of names that are no text nobody can say whether they differ.
    let is_text = |name: &&str| !name.is_empty() && !name.contains(char::REPLACEMENT_CHARACTER);
    let mut names: Vec<&str> = page.names.iter().map(String::as_str).filter(is_text).collect();
    let all = names.len();
    // In the order of most stores this costs a comparison each.
    if !names.is_sorted_by(|one, next| one < next) {
        names.sort_unstable();
        names.dedup();
    }
    let repeated = all - names.len();
    // Where they are counted by their tags, names in tags of another form are not.
    let count = page.count.max(page.names.len() as u64);
    let what = if repeated > 0 {
        format!("has {repeated} of its {all} names more than once")
    } else if page.next.is_none() && count < least {
        format!("ends after {count} names where at least {least} were written and not deleted")
    } else {
        return Ok(page.next.is_none());
    };
    let message = format!("the listing of container {container} {what}");
    Err(Error::new(ErrorKind::WrongListing, message).with_partial_bytes(page.bytes).with_hint(
        "a store that promises its listings only in the end may need more time: settle says how much, and counts six times",
    ))
}

pub async fn head(call: Call<'_>) -> Result<Done> {
    let name = call.name();
    let length = call.timing.time(call.client.head(name, call.marks)).await?;
    if let Some(bytes) = length {
        // No byte of the object came.
        fits(call.known, None, bytes, name).map_err(|error| error.with_partial_bytes(0))?;
    }
    Ok(Done::default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn page(names: &[&str], next: Option<&str>) -> ListPage {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        ListPage { count: names.len() as u64, names, next: next.map(str::to_owned), bytes: 7 }
    }

    #[test]
    fn a_listing_that_ends_too_soon_or_repeats_itself_is_wrong_and_nothing_else_is() {
        for (names, next, least) in [
            (&["a", "b", "c"][..], None, 3),
            (&["a", "b", "c"][..], None, 2),
            // More follows.
            (&["a", "b"][..], Some("b"), 3),
            // In another order than most.
            (&["b", "c", "a"][..], None, 3),
            // Two names that are no text.
            (&["", "", "a\u{fffd}", "a\u{fffd}"][..], None, 4),
        ] {
            let found = holds(&page(names, next), least, "c1");
            assert_eq!(found.ok(), Some(next.is_none()), "{names:?}");
        }
        let uncounted = ListPage { count: 0, ..page(&["a", "b", "c"], None) };
        assert_eq!(holds(&uncounted, 3, "c1").ok(), Some(true));
        for (names, next, least, said) in [
            (&["a", "b"][..], None, 3, "c1 ends after 2 names where at least 3 were written"),
            (&[] as &[&str], None, 1, "ends after 0 names"),
            (&["a", "a", "b"][..], None, 3, "has 1 of its 3 names more than once"),
            (&["a", "b", "a", "b"][..], Some("b"), 9, "has 2 of its 4 names more than once"),
        ] {
            let error = holds(&page(names, next), least, "c1").unwrap_err();
            assert_eq!((error.kind(), error.partial_bytes()), (ErrorKind::WrongListing, 7));
            assert!(error.message().contains(said), "{error}");
        }
    }
}
