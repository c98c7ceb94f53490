//! One page of a listing out of names that come in any order: bounded memory however many names there are. For stores
//! that have no paging of their own (a directory, a WebDAV collection).

use std::collections::BinaryHeap;

use cosmark_adaptor_api::{ListPage, ListRequest};

/// Names on a page when the request does not say (what Swift gives).
pub(crate) const DEFAULT_PAGE_SIZE: u32 = 10_000;

/// Keeps the smallest names after the marker.
pub(crate) struct NamePage {
    prefix: String,
    after: Option<String>,
    want_names: bool,
    page_size: usize,
    kept: BinaryHeap<String>,
    more: bool,
}

impl NamePage {
    /// An empty page for this request.
    pub(crate) fn new(request: &ListRequest<'_>) -> Self {
        let page_size = request.page_size.unwrap_or(DEFAULT_PAGE_SIZE).clamp(1, 1_000_000);
        Self {
            prefix: request.prefix.to_owned(),
            after: request.after.map(str::to_owned),
            want_names: request.want_names,
            page_size: page_size as usize,
            kept: BinaryHeap::new(),
            more: false,
        }
    }

    /// Takes the name in if it belongs on this page.
    pub(crate) fn offer(&mut self, name: &str) {
        let after = self.after.as_deref().is_none_or(|after| name > after);
        if !after || !name.starts_with(&self.prefix) {
            return;
        }
        if self.kept.len() < self.page_size {
            self.kept.push(name.to_owned());
            return;
        }
        self.more = true;
        if let Some(mut largest) = self.kept.peek_mut()
            && name < largest.as_str()
        {
            name.clone_into(&mut largest);
        }
    }

    /// The page, sorted; `bytes` is the size of the answer that it was read from.
    pub(crate) fn finish(self, bytes: u64) -> ListPage {
        let names = self.kept.into_sorted_vec();
        let next = if self.more { names.last().cloned() } else { None };
        let count = names.len() as u64;
        ListPage { count, names: if self.want_names { names } else { Vec::new() }, next, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(names: &[&str], request: &ListRequest<'_>) -> ListPage {
        let mut page = NamePage::new(request);
        for name in names {
            page.offer(name);
        }
        page.finish(0)
    }

    #[test]
    fn pages_follow_each_other_without_gap_or_repeat_whatever_the_order() {
        let names = ["b/5", "a9", "b/1", "b/4", "c", "b/2", "b/3"];
        let mut seen = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let request = ListRequest {
                prefix: "b/",
                after: after.as_deref(),
                page_size: Some(2),
                want_names: true,
                ..ListRequest::default()
            };
            let page = page(&names, &request);
            assert_eq!(page.count, page.names.len() as u64);
            seen.extend(page.names);
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, ["b/1", "b/2", "b/3", "b/4", "b/5"]);
    }

    #[test]
    fn names_are_only_counted_when_nobody_wants_them() {
        let page = page(&["a", "b", "c"], &ListRequest { page_size: Some(3), ..ListRequest::default() });
        assert_eq!((page.count, page.names.len(), page.next), (3, 0, None));
    }
}
