//! A container: its objects by name and in order, what was before their last changes, and its listings.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;

use super::{Fields, Object, Upload};
use crate::http::body::Reserved;
use crate::rules::{Change, Past};
use crate::sharded::Sharded;

/// What was before the last change, and when that was.
struct Before {
    object: Option<Rc<Object>>,
    at_ns: u64,
}

struct Entry {
    now: Option<Rc<Object>>,
    before: Option<Before>,
}

/// The last change of an object, when it may still be hidden.
pub(crate) struct Recent {
    pub(crate) change: Change,
    pub(crate) age_ns: u64,
    /// What was before.
    pub(crate) before: Option<Rc<Object>>,
}

/// A container.
pub(crate) struct Container {
    pub(crate) name: Arc<str>,
    pub(crate) created_ms: u64,
    pub(crate) fields: Fields,
    pub(crate) policy: Option<String>,
    /// Objects that exist.
    pub(crate) count: u64,
    /// Bytes of the objects that exist.
    pub(crate) bytes: u64,
    pub(crate) uploads: BTreeMap<String, Upload>,
    objects: Sharded<Arc<str>, Entry>,
    /// The same names in order.
    order: BTreeSet<Arc<str>>,
    /// Names that listings show wrongly: nothing where an object is, or an object that is gone.
    wrongly: BTreeMap<Arc<str>, Option<Rc<Object>>>,
    _reserved: Reserved,
}

/// A row of a listing.
pub(crate) enum Row {
    Object(Arc<str>, Rc<Object>),
    Prefix(String),
}

/// What to list.
#[derive(Default)]
pub(crate) struct Listing<'a> {
    pub(crate) prefix: &'a str,
    pub(crate) delimiter: &'a str,
    /// Only names after this one.
    pub(crate) after: &'a str,
    /// Only names before this one, if it is not empty.
    pub(crate) before: &'a str,
    pub(crate) limit: usize,
    pub(crate) past: Option<Past>,
    pub(crate) now_ns: u64,
}

/// One page of a listing.
pub(crate) struct Page {
    pub(crate) rows: Vec<Row>,
    /// There is more.
    pub(crate) truncated: bool,
    /// The last name or prefix, to go on from.
    pub(crate) last: Option<String>,
}

impl Container {
    pub(super) fn new(
        name: Arc<str>,
        created_ms: u64,
        fields: Fields,
        policy: Option<String>,
        reserved: Reserved,
    ) -> Container {
        Container {
            name,
            created_ms,
            fields,
            policy,
            count: 0,
            bytes: 0,
            uploads: BTreeMap::new(),
            objects: Sharded::new(),
            order: BTreeSet::new(),
            wrongly: BTreeMap::new(),
            _reserved: reserved,
        }
    }

    /// Sets what is under a name (`None`: nothing) and returns the shared name. What was there before is
    /// kept if it may still have to be shown; then it must be forgotten later.
    pub(super) fn change(
        &mut self,
        name: &str,
        object: Option<Rc<Object>>,
        now_ns: u64,
        keep_past: bool,
    ) -> Arc<str> {
        let name = match self.objects.get(name) {
            Some((name, _)) => name.clone(),
            None => {
                let name: Arc<str> = name.into();
                self.order.insert(name.clone());
                self.objects.insert(name.clone(), Entry { now: None, before: None });
                name
            }
        };
        if let Some(new) = &object {
            self.bytes += new.len();
            self.count += 1;
        }
        let Some(entry) = self.objects.get_mut(&name) else { return name };
        let old = std::mem::replace(&mut entry.now, object);
        if let Some(old) = &old {
            self.bytes -= old.len();
            self.count -= 1;
        }
        entry.before = keep_past.then_some(Before { object: old, at_ns: now_ns });
        if entry.now.is_none() && !keep_past {
            self.remove(&name);
        }
        name
    }

    /// From now on listings show `ghost` under this name, or nothing, whatever is there; or the truth again.
    pub(super) fn list_wrongly(&mut self, name: &str, wrongly: bool, ghost: Option<&Rc<Object>>) {
        if wrongly {
            let name: Arc<str> = name.into();
            self.order.insert(name.clone());
            self.wrongly.insert(name, ghost.cloned());
        } else if !self.wrongly.is_empty()
            && self.wrongly.remove(name).is_some()
            && self.objects.get(name).is_none()
        {
            self.order.remove(name);
        }
    }

    /// Forgets what was before the change of this time; a later change stays.
    pub(super) fn forget(&mut self, name: &str, changed_ns: u64) {
        let Some(entry) = self.objects.get_mut(name) else { return };
        if entry.before.as_ref().is_none_or(|before| before.at_ns != changed_ns) {
            return;
        }
        entry.before = None;
        if entry.now.is_none() {
            self.remove(name);
        }
    }

    fn remove(&mut self, name: &str) {
        self.objects.remove(name);
        self.order.remove(name);
    }

    /// The object of this name and the name as shared text.
    pub(crate) fn get(&self, name: &str) -> (Option<Arc<str>>, Option<Rc<Object>>) {
        match self.objects.get(name) {
            Some((name, entry)) => (Some(name.clone()), entry.now.clone()),
            None => (None, None),
        }
    }

    /// The last change of an object, if what was before is still known.
    pub(crate) fn recent(&self, name: &str, now_ns: u64) -> Option<Recent> {
        let (_, entry) = self.objects.get(name)?;
        let before = entry.before.as_ref()?;
        let change = match (&before.object, &entry.now) {
            (None, Some(_)) => Change::Create,
            (Some(_), Some(_)) => Change::Overwrite,
            (Some(_), None) => Change::Delete,
            (None, None) => return None,
        };
        Some(Recent { change, age_ns: now_ns.saturating_sub(before.at_ns), before: before.object.clone() })
    }

    /// What a listing sees under a name.
    fn seen(&self, name: &str, listing: &Listing<'_>) -> Option<Rc<Object>> {
        if !self.wrongly.is_empty()
            && let Some(shown) = self.wrongly.get(name)
        {
            return shown.clone();
        }
        let (_, entry) = self.objects.get(name)?;
        if let (Some(past), Some(before)) = (listing.past, &entry.before)
            && listing.now_ns.saturating_sub(before.at_ns) < past.window_ns
        {
            match (&before.object, &entry.now) {
                (None, Some(_)) if past.create => return None,
                (Some(object), None) if past.delete => return Some(object.clone()),
                _ => {}
            }
        }
        entry.now.clone()
    }

    /// Lists names in the order of their bytes.
    pub(crate) fn list(&self, listing: &Listing<'_>) -> Page {
        let mut page = Page { rows: Vec::new(), truncated: false, last: None };
        let mut from = if listing.after >= listing.prefix {
            Bound::Excluded(listing.after.to_owned())
        } else {
            Bound::Included(listing.prefix.to_owned())
        };
        // A prefix that was already given must not come again from the names below it.
        if !listing.delimiter.is_empty()
            && listing.after.starts_with(listing.prefix)
            && let Some(end) = rolled(listing.after, listing.prefix, listing.delimiter)
            && end == listing.after.len()
            && let Some(next) = successor(listing.after)
        {
            from = Bound::Included(next);
        }
        'scan: loop {
            let borrowed = match &from {
                Bound::Included(name) => Bound::Included(name.as_str()),
                Bound::Excluded(name) => Bound::Excluded(name.as_str()),
                Bound::Unbounded => Bound::Unbounded,
            };
            for name in self.order.range::<str, _>((borrowed, Bound::Unbounded)) {
                if !name.starts_with(listing.prefix)
                    || (!listing.before.is_empty() && **name >= *listing.before)
                {
                    return page;
                }
                let Some(object) = self.seen(name, listing) else { continue };
                if page.rows.len() >= listing.limit {
                    page.truncated = true;
                    return page;
                }
                if let Some(end) = rolled(name, listing.prefix, listing.delimiter) {
                    let prefix = name[..end].to_owned();
                    let next = successor(&prefix);
                    page.last = Some(prefix.clone());
                    page.rows.push(Row::Prefix(prefix));
                    match next {
                        Some(next) => from = Bound::Included(next),
                        None => return page,
                    }
                    continue 'scan;
                }
                page.last = Some(name.to_string());
                page.rows.push(Row::Object(name.clone(), object));
            }
            return page;
        }
    }

    /// Names that exist, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.order.iter().filter(|name| self.objects.get(*name).is_some_and(|(_, entry)| entry.now.is_some()))
    }
}

/// Where the common prefix of a name ends, if the delimiter occurs in it behind the listing's prefix.
fn rolled(name: &str, prefix: &str, delimiter: &str) -> Option<usize> {
    if delimiter.is_empty() {
        return None;
    }
    name.get(prefix.len()..)?.find(delimiter).map(|at| prefix.len() + at + delimiter.len())
}

/// The first text that is behind all texts that begin with this one.
fn successor(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        // The next scalar value; the surrogates are none.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(last as u32 + 1) };
        if let Some(next) = next {
            text.push(next);
            return Some(text);
        }
    }
    None
}
