//! The names in a container, as numbers: in a bit each they fit into memory however many there are.

use std::collections::BTreeSet;

use cosmark_adaptor_api::{Error, ListRequest};
use cosmark_ledger::{NumberSet, Space};

use super::reader::Reader;

/// Pages of a listing; one that does not end by then is none.
const MOST_PAGES: u64 = 10_000_000;

/// What a listing says, less what was accounted for.
pub struct Listing {
    numbers: NumberSet,
}

impl Listing {
    /// Lists the objects of a space in a container.
    ///
    /// # Errors
    /// When it cannot be listed to its end.
    pub async fn of(reader: &mut Reader, space: &Space, container: u64) -> Result<Self, Error> {
        let mut numbers = NumberSet::default();
        let Some(objects) = &space.objects else { return Ok(Self { numbers }) };
        let container = space.containers.name(container);
        let mut after: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let request = ListRequest {
                container: &container,
                prefix: &objects.prefix,
                after: after.as_deref(),
                want_names: true,
                ..ListRequest::default()
            };
            let page = reader.list(request).await?;
            page.names.iter().filter_map(|name| objects.number_in(name)).for_each(|number| {
                numbers.insert(number);
            });
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(Self { numbers }),
            }
        }
        Err(Error::new(cosmark_adaptor_api::ErrorKind::Protocol, "the listing does not end"))
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
