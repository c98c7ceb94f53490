//! What is stored: accounts, containers, objects with their versions, uploads under way.
//!
//! Protocol-free. One thread owns it, so there are no locks. When a rule shows the past, the version before
//! the last change and the tombstones of deleted objects are kept for the rule's window.

mod container;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use crate::behaviour::{BrokenPromise, EtagKind, StoreMode, StoreOptions};
use crate::content::Content;
use crate::http::body::{Budget, Reserved};

pub(crate) use container::{Container, Listing, Page, Row};

/// Longest name of an object, bytes (S3 and Swift agree).
pub(crate) const MAX_NAME: usize = 1024;

/// Header fields kept with something, names in lower case.
pub(crate) type Fields = Vec<(Box<str>, Box<str>)>;

/// What makes an object more than its bytes.
#[derive(Clone)]
pub(crate) enum Kind {
    Plain,
    /// S3: made of so many parts.
    Multipart(u32),
    /// Swift: the content is that of all objects of this container with this prefix.
    Dynamic {
        container: Box<str>,
        prefix: Box<str>,
    },
    /// Swift: the content is that of these segments.
    Static(Rc<[Segment]>),
}

/// One segment of a Swift static large object.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) container: Box<str>,
    pub(crate) object: Box<str>,
    pub(crate) etag: Box<str>,
    /// Size of the whole segment object, bytes.
    pub(crate) bytes: u64,
    pub(crate) range: Option<(u64, u64)>,
}

/// One version of an object.
pub(crate) struct Object {
    pub(crate) version: u64,
    /// Time of the acknowledgement on the wall clock, ms since 1970.
    pub(crate) modified_ms: u64,
    pub(crate) etag: Box<str>,
    pub(crate) content_type: Box<str>,
    /// Metadata and other header fields to give back.
    pub(crate) fields: Fields,
    /// `x-amz-checksum-*` fields.
    pub(crate) checksums: Fields,
    pub(crate) content: Content,
    pub(crate) kind: Kind,
    /// Memory of everything but the content.
    #[expect(dead_code, reason = "held for its drop, which gives the memory back")]
    pub(crate) reserved: Option<Reserved>,
}

impl Object {
    /// Length that a reader gets, bytes; for dynamic large objects that of the object itself.
    pub(crate) fn len(&self) -> u64 {
        match &self.kind {
            Kind::Static(segments) => {
                segments.iter().map(|s| s.range.map_or(s.bytes, |(_, length)| length)).sum()
            }
            _ => self.content.len(),
        }
    }
}

/// A multipart upload under way.
pub(crate) struct Upload {
    pub(crate) key: String,
    pub(crate) started_ms: u64,
    pub(crate) content_type: Box<str>,
    pub(crate) fields: Fields,
    pub(crate) parts: BTreeMap<u32, UploadPart>,
    pub(crate) reserved: Option<Reserved>,
}

/// One part of an upload.
pub(crate) struct UploadPart {
    pub(crate) etag: Box<str>,
    pub(crate) modified_ms: u64,
    pub(crate) content: Content,
}

/// Where an object is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) account: &'a str,
    pub(crate) container: &'a str,
    pub(crate) object: &'a str,
}

/// An account: S3 has one, Swift has one for each tenant.
#[derive(Default)]
pub(crate) struct Account {
    pub(crate) containers: BTreeMap<Arc<str>, Container>,
    pub(crate) fields: Fields,
}

/// Everything.
pub(crate) struct Store {
    pub(crate) options: StoreOptions,
    pub(crate) etag: EtagKind,
    pub(crate) budget: Budget,
    /// How long replaced and deleted versions are remembered.
    pub(crate) past_ns: u64,
    accounts: HashMap<String, Account>,
    /// Objects that exist.
    objects: u64,
    next_version: u64,
    seed: u64,
    /// What becomes of the change that comes next, if not what was asked.
    pub(crate) broken: Option<BrokenPromise>,
    /// Entries whose past may be forgotten, by time.
    fading: VecDeque<Fading>,
    null: Rc<Object>,
}

/// An entry whose past may be forgotten at a time.
struct Fading {
    until_ns: u64,
    changed_ns: u64,
    account: Arc<str>,
    container: Arc<str>,
    name: Arc<str>,
}

/// Fixed memory that an object or container takes beside its texts, roughly.
const OVERHEAD: u64 = 384;

/// Memory of header fields.
pub(crate) fn fields_bytes(fields: &Fields) -> u64 {
    fields.iter().map(|(name, value)| (name.len() + value.len() + 32) as u64).sum()
}

impl Store {
    pub(crate) fn new(options: StoreOptions, etag: EtagKind, seed: u64, past_ns: u64) -> Store {
        let budget = Budget::new(options.max_total_bytes);
        let null = Object {
            version: 0,
            modified_ms: 0,
            etag: "00000000000000000000000000000000".into(),
            content_type: "application/octet-stream".into(),
            fields: Vec::new(),
            checksums: Vec::new(),
            content: Content::pattern(options.null_bytes),
            kind: Kind::Plain,
            reserved: None,
        };
        Store {
            options,
            etag,
            budget,
            past_ns,
            accounts: HashMap::new(),
            objects: 0,
            next_version: 0,
            seed,
            broken: None,
            fading: VecDeque::new(),
            null: Rc::new(null),
        }
    }

    /// Whether nothing is stored at all.
    pub(crate) fn is_null(&self) -> bool {
        self.options.mode == StoreMode::Null
    }

    /// The one object of a store that stores nothing.
    pub(crate) fn null_object(&self) -> Rc<Object> {
        self.null.clone()
    }

    /// Whether contents are kept.
    pub(crate) fn keeps_content(&self) -> bool {
        self.options.mode == StoreMode::Full
    }

    /// Number of objects that exist.
    pub(crate) fn objects(&self) -> u64 {
        self.objects
    }

    /// A new version number: unique and rising over the whole store.
    pub(crate) fn new_version(&mut self) -> u64 {
        self.next_version += 1;
        self.next_version
    }

    /// 32 hexadecimal digits that no other version has.
    pub(crate) fn cheap_etag(&self, version: u64) -> Box<str> {
        // splitmix64 is a bijection, so different versions differ in the first half already.
        let high = mix(version ^ self.seed.rotate_left(32));
        format!("{high:016x}{:016x}", mix(high ^ self.seed)).into_boxed_str()
    }

    pub(crate) fn account(&self, account: &str) -> Option<&Account> {
        self.accounts.get(account)
    }

    /// The account, made if it does not exist.
    pub(crate) fn account_mut(&mut self, account: &str) -> &mut Account {
        if !self.accounts.contains_key(account) {
            self.accounts.insert(account.to_owned(), Account::default());
        }
        self.accounts.entry(account.to_owned()).or_default()
    }

    pub(crate) fn container(&self, account: &str, container: &str) -> Option<&Container> {
        self.accounts.get(account)?.containers.get(container)
    }

    /// The container of this name in any account.
    pub(crate) fn find_container(&self, container: &str) -> Option<&Container> {
        self.accounts.values().find_map(|account| account.containers.get(container))
    }

    pub(crate) fn container_mut(&mut self, account: &str, container: &str) -> Option<&mut Container> {
        self.accounts.get_mut(account)?.containers.get_mut(container)
    }

    /// Makes a container; `false` if there is no memory for it.
    pub(crate) fn create_container(
        &mut self,
        account: &str,
        container: &str,
        now_ms: u64,
        fields: Fields,
        policy: Option<String>,
    ) -> bool {
        let Some(reserved) = self.budget.reserve(OVERHEAD + container.len() as u64 + fields_bytes(&fields))
        else {
            return false;
        };
        let name: Arc<str> = container.into();
        let made = Container::new(name.clone(), now_ms, fields, policy, reserved);
        self.account_mut(account).containers.insert(name, made);
        true
    }

    /// Removes a container that exists and is empty.
    pub(crate) fn remove_container(&mut self, account: &str, container: &str) {
        if let Some(account) = self.accounts.get_mut(account) {
            account.containers.remove(container);
        }
    }

    /// Memory for one more object of this name and fields.
    pub(crate) fn reserve_object(&self, name: &str, fields: &Fields) -> Option<Reserved> {
        self.budget.reserve(OVERHEAD + name.len() as u64 + fields_bytes(fields))
    }

    /// Stores a version; the container must exist. Returns the shared name.
    pub(crate) fn put(
        &mut self,
        place: Place<'_>,
        object: Object,
        now_ns: u64,
    ) -> Option<(Arc<str>, Rc<Object>)> {
        let broken = self.broken.take();
        if broken == Some(BrokenPromise::Forget) {
            self.container(place.account, place.container)?;
            return Some((place.object.into(), Rc::new(object)));
        }
        let said = object.etag.clone();
        let kept = if broken == Some(BrokenPromise::Damage) {
            Object { content: object.content.damaged(), etag: said, ..object }
        } else {
            object
        };
        let object = Rc::new(kept);
        let name = self.change(place, Some(object.clone()), now_ns)?;
        self.set_unlisted(place, broken, None);
        Some((name, object))
    }

    /// Deletes an object; returns its name and what it was.
    pub(crate) fn delete(&mut self, place: Place<'_>, now_ns: u64) -> Option<(Arc<str>, Rc<Object>)> {
        let (name, object) = self.container(place.account, place.container)?.get(place.object);
        let (name, object) = (name?, object?);
        let broken = self.broken.take();
        if matches!(broken, Some(BrokenPromise::Forget | BrokenPromise::Damage)) {
            return Some((name, object));
        }
        self.change(place, None, now_ns)?;
        self.set_unlisted(place, broken, Some(&object));
        Some((name, object))
    }

    fn set_unlisted(&mut self, place: Place<'_>, broken: Option<BrokenPromise>, ghost: Option<&Rc<Object>>) {
        if let Some(container) = self.container_mut(place.account, place.container) {
            container.list_wrongly(place.object, broken == Some(BrokenPromise::Unlisted), ghost);
        }
    }

    fn change(&mut self, place: Place<'_>, object: Option<Rc<Object>>, now_ns: u64) -> Option<Arc<str>> {
        let keep_past = self.past_ns > 0;
        let container = self.accounts.get_mut(place.account)?.containers.get_mut(place.container)?;
        let before = container.count;
        let name = container.change(place.object, object, now_ns, keep_past);
        self.objects = self.objects + container.count - before;
        if keep_past {
            self.fading.push_back(Fading {
                until_ns: now_ns + self.past_ns,
                changed_ns: now_ns,
                account: place.account.into(),
                container: container.name.clone(),
                name: name.clone(),
            });
        }
        self.forget_past(now_ns);
        Some(name)
    }

    /// Drops what was before changes that are old enough.
    fn forget_past(&mut self, now_ns: u64) {
        while self.fading.front().is_some_and(|fading| fading.until_ns <= now_ns) {
            let Some(fading) = self.fading.pop_front() else { return };
            if let Some(container) = self.container_mut(&fading.account, &fading.container) {
                container.forget(&fading.name, fading.changed_ns);
            }
        }
    }
}

/// Sebastiano Vigna's splitmix64.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
