//! The names in a container, as numbers: in a bit each they fit into memory however many there are.

use std::collections::BTreeSet;

use cosmark_adaptor_api::{Error, ListRequest};
use cosmark_ledger::{NumberSet, Space};

use super::reader::Reader;
use crate::way::Way;

/// What a listing says, less what was accounted for.
#[derive(Default)]
pub struct Listing {
    numbers: NumberSet,
    way: Way,
    listed_twice: u64,
    /// Names on the last page, where none of them is of the space.
    others: Vec<String>,
}

impl Listing {
    /// Lists one page more of the objects of a space in a container; true behind the last one.
    ///
    /// # Errors
    /// When it cannot be listed to its end.
    pub async fn page(&mut self, reader: &mut Reader, space: &Space, container: u64) -> Result<bool, Error> {
        let Some(objects) = &space.objects else { return Ok(true) };
        let container = space.containers.name(container);
        let after = self.way.after.take();
        let request = ListRequest {
            container: &container,
            prefix: &objects.prefix,
            after: after.as_deref(),
            want_names: true,
            ..ListRequest::default()
        };
        let mut page = reader.list(request).await?;
        let is_new = self.take(&page.names, |name| objects.number_in(name));
        self.way.goes_on(&mut page, is_new)?;
        Ok(self.way.is_over)
    }

    /// Takes the names of a page; true when one of them may be new, or there is none.
    fn take(&mut self, names: &[String], number_in: impl Fn(&str) -> Option<u64>) -> bool {
        let (mut new, mut twice) = (0, 0);
        for number in names.iter().filter_map(|name| number_in(name)) {
            let is_new = self.numbers.insert(number);
            new += u64::from(is_new);
            twice += u64::from(!is_new);
        }
        self.listed_twice += twice;
        if new > 0 || names.is_empty() {
            return true;
        }
        // Names that others wrote are not remembered; what comes again with the next page is the same page.
        let is_new = twice == 0 && self.others != names;
        self.others = if twice == 0 { names.to_vec() } else { Vec::new() };
        is_new
    }

    /// Pages so far.
    pub fn pages(&self) -> u64 {
        self.way.pages
    }

    /// Names that were there again after they had been listed.
    pub fn listed_twice(&self) -> u64 {
        self.listed_twice
    }

    /// Whether it has the object with this number, which is accounted for from now on.
    pub fn has(&mut self, number: u64) -> bool {
        self.numbers.remove(number)
    }

    /// The first numbers of those that are left, and how many are left beyond.
    pub fn left(&self, most: usize) -> (Vec<u64>, u64) {
        let first: Vec<u64> = self.numbers.iter().take(most).collect();
        let beyond = self.numbers.len() - first.len() as u64;
        (first, beyond)
    }
}

/// Whether a container lists this name now; `None` = it cannot be listed.
pub async fn is_listed(reader: &mut Reader, container: &str, object: &str) -> Option<bool> {
    let request = ListRequest { container, prefix: object, want_names: true, ..ListRequest::default() };
    // Names are in order, so the name itself is on the first page if anywhere.
    let page = reader.list(request).await.ok()?;
    let names: BTreeSet<&str> = page.names.iter().map(String::as_str).collect();
    Some(names.contains(object))
}
