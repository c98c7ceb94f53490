//! How far a listing has come, and whether it leads on. A page that leads back to one before it would lead there for ever.

use cosmark_adaptor_api::{Error, ErrorKind, ListPage};

/// Pages of a listing; one that does not end by then is none.
const MOST_PAGES: u64 = 10_000_000;
/// Pages in a row without any name, each of which says that there is another one.
const MOST_EMPTY: u32 = 1000;
/// Pages that were there before: one may come twice by chance, as when a cache is asked.
const MOST_REPEATED: u32 = 3;

/// The way through one listing, page by page.
#[derive(Debug, Default)]
pub(crate) struct Way {
    /// Where the next page begins.
    pub(crate) after: Option<String>,
    /// The last page was there.
    pub(crate) is_over: bool,
    /// Pages so far.
    pub(crate) pages: u64,
    /// Where a page behind led to, and its first name, to be met again in a circle (Brent, "An improved Monte Carlo factorization
    /// algorithm", BIT 1980). A store that makes new marks for the same pages is known by the names.
    mark: Option<String>,
    first: Option<String>,
    empty: u32,
    met_again: u32,
    old: u32,
}

impl Way {
    /// Goes behind this page. `is_new` = it has no names, or one that was on no page before, as far as the caller can tell.
    ///
    /// # Errors
    /// `Protocol`, when the listing leads back, or to nothing for ever.
    pub(crate) fn goes_on(&mut self, page: &mut ListPage, is_new: bool) -> Result<(), Error> {
        let next = page.next.take();
        self.pages += 1;
        self.is_over = next.is_none();
        if self.is_over {
            self.after = None;
            return Ok(());
        }
        let first = page.names.first();
        self.empty = if page.count == 0 && first.is_none() { self.empty + 1 } else { 0 };
        self.old = if is_new { 0 } else { self.old + 1 };
        self.met_again += u32::from(first.is_some() && first == self.first.as_ref());
        if next == self.mark || self.old >= MOST_REPEATED || self.met_again >= MOST_REPEATED {
            return Err(endless("the listing repeats itself: it leads back to pages that it had before"));
        }
        if self.empty >= MOST_EMPTY || self.pages > MOST_PAGES {
            return Err(endless("the listing does not end: it leads on and on, to pages without names"));
        }
        if self.pages.is_power_of_two() {
            self.mark.clone_from(&next);
            self.first = first.cloned();
        }
        self.after = next;
        Ok(())
    }
}

fn endless(message: &'static str) -> Error {
    Error::new(ErrorKind::Protocol, message)
        .with_hint("a cache or gateway before the store may ignore parameters: look at what it was asked")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages until the way ends, and whether by a mistake.
    fn walk(most: u64, page_of: impl Fn(u64) -> (Option<String>, Vec<String>, bool)) -> (u64, bool) {
        let mut way = Way::default();
        for at in 0..most {
            let (next, names, is_new) = page_of(at);
            let mut page = ListPage { count: names.len() as u64, names, next, bytes: 0 };
            if way.goes_on(&mut page, is_new).is_err() {
                return (way.pages, true);
            }
            if way.is_over {
                break;
            }
        }
        (way.pages, false)
    }

    #[test]
    fn a_listing_that_repeats_itself_is_left_whatever_marks_it_gives() {
        let new_mark = |at: u64| Some(format!("mark-{at}"));
        let name = |at: u64| vec![format!("o-{at:06}")];
        // The same page for ever, behind marks that are new each time; also where nobody can tell old names from new ones.
        assert_eq!(walk(1000, |at| (new_mark(at), name(0), at == 0)), (4, true));
        assert!(walk(1000, |at| (new_mark(at), name(0), true)).1);
        // A circle of pages, behind new marks and behind old ones.
        assert!(walk(1000, |at| (new_mark(at), name(at % 7), true)).1);
        assert!(walk(1000, |at| (Some(format!("mark-{}", at % 7)), name(at), true)).1);
        // Nothing for ever.
        assert_eq!(walk(5000, |at| (new_mark(at), Vec::new(), true)), (1000, true));
    }

    #[test]
    fn a_listing_that_leads_on_is_followed_although_a_page_comes_twice_or_many_have_no_names() {
        let name = |at: u64| vec![format!("o-{at:06}")];
        let mark = |at: u64, last: u64| Some(format!("mark-{at}")).filter(|_| at < last);
        assert_eq!(walk(10_000, |at| (mark(at, 5000), name(at), true)), (5001, false));
        assert_eq!(walk(10_000, |at| (mark(at, 5000), name(at.max(1)), at != 1)), (5001, false));
        let few = |at: u64| if at.is_multiple_of(900) { name(at) } else { Vec::new() };
        assert_eq!(walk(10_000, |at| (mark(at, 5000), few(at), true)), (5001, false));
    }
}
