//! A pool, and what is done to pools and listings. Everything here blocks until the cluster answers, so it runs on the
//! runtime's blocking pool; librados has no other way for these calls.

use std::ffi::c_char;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cosmark_adaptor_api::{Error, ErrorKind, ListPage, Result};

use super::cluster::{Cluster, c_text};
use super::errors::{self, About};
use super::library::{ListItem, RawCursor, RawPool};

/// Names that one request for a listing asks for at most.
const LIST_STEP: usize = 1000;

/// Names on a page when the request does not say.
const DEFAULT_PAGE_SIZE: usize = 10_000;

/// librados's name for "in all namespaces" (`LIBRADOS_ALL_NSPACES`).
const ALL_NAMESPACES: &str = "\u{1}";

/// The application that marks the pools which Cosmark created, and the key of that mark.
const APPLICATION: &std::ffi::CStr = c"cosmark";
const CREATED: &std::ffi::CStr = c"created";

/// An open pool; closed when dropped.
pub(super) struct Pool {
    pub(super) cluster: Arc<Cluster>,
    pub(super) raw: RawPool,
}

// SAFETY: an ioctx may be used from any thread, as long as its namespace is not changed meanwhile; only its one worker
// does that, between its calls.
unsafe impl Send for Pool {}
// SAFETY: the same.
unsafe impl Sync for Pool {}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: made by `ioctx_create`; calls in flight hold it on their own.
        unsafe { (self.cluster.api.ioctx_destroy)(self.raw) };
    }
}

impl Pool {
    /// Opens it; waits for the cluster's newest map if the pool is not in ours.
    pub(super) fn open(cluster: &Arc<Cluster>, name: &str) -> Result<Self> {
        let text = c_text(name, "the pool's name")?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the cluster is connected, the text lives through the call, `raw` is set when it succeeds.
        let result = unsafe { (cluster.api.ioctx_create)(cluster.raw, text.as_ptr(), &raw mut raw) };
        match result {
            0.. => Ok(Self { cluster: Arc::clone(cluster), raw }),
            result if -result == libc::ENOENT => Err(errors::no_pool(name)),
            result => Err(errors::answer(About::Pool("opening", name), result.into())),
        }
    }

    /// From now on objects are in this namespace.
    pub(super) fn set_namespace(&self, namespace: &str) -> Result<()> {
        let text = c_text(namespace, "the namespace")?;
        // SAFETY: the ioctx is open; librados copies the text.
        unsafe { (self.cluster.api.ioctx_set_namespace)(self.raw, text.as_ptr()) };
        Ok(())
    }
}

/// True when the cluster has such a pool.
pub(super) fn exists(cluster: &Cluster, name: &str) -> Result<bool> {
    let text = c_text(name, "the pool's name")?;
    // SAFETY: the cluster is connected, the text lives through the call.
    match unsafe { (cluster.api.pool_lookup)(cluster.raw, text.as_ptr()) } {
        0.. => Ok(true),
        result if -result == i64::from(libc::ENOENT) => Ok(false),
        result => Err(errors::answer(About::Pool("looking for", name), result)),
    }
}

/// Creates a pool with the cluster's defaults and marks it as ours; one that is there is left as it is.
pub(super) fn create(cluster: &Arc<Cluster>, name: &str) -> Result<()> {
    let text = c_text(name, "the pool's name")?;
    if exists(cluster, name)? {
        return Ok(());
    }
    let failed = |result| errors::answer(About::Pool("creating", name), i64::from(result));
    // SAFETY: the cluster is connected, the text lives through the call.
    let result = unsafe { (cluster.api.pool_create)(cluster.raw, text.as_ptr()) };
    if result < 0 {
        // Another worker or driver was faster.
        return if -result == libc::EEXIST { Ok(()) } else { Err(failed(result)) };
    }
    let pool = Pool::open(cluster, name)?;
    // SAFETY: the ioctx is open, the texts are constants.
    let result = unsafe { (cluster.api.application_enable)(pool.raw, APPLICATION.as_ptr(), 1) };
    if result < 0 {
        return Err(failed(result));
    }
    // SAFETY: the same.
    let result = unsafe {
        (cluster.api.application_metadata_set)(
            pool.raw,
            APPLICATION.as_ptr(),
            CREATED.as_ptr(),
            c"true".as_ptr(),
        )
    };
    if result < 0 { Err(failed(result)) } else { Ok(()) }
}

/// Deletes a pool that is empty and that Cosmark created; any other is left as it is.
pub(super) fn delete(cluster: &Arc<Cluster>, name: &str) -> Result<()> {
    let pool = match Pool::open(cluster, name) {
        Err(error) if error.kind() == ErrorKind::Status(404) => return Ok(()),
        other => other?,
    };
    let (mut value, mut len) = ([0_u8; 16], 16_usize);
    // SAFETY: `value` has room for `len` bytes, and the texts are constants.
    let result = unsafe {
        (cluster.api.application_metadata_get)(
            pool.raw,
            APPLICATION.as_ptr(),
            CREATED.as_ptr(),
            value.as_mut_ptr().cast::<c_char>(),
            &raw mut len,
        )
    };
    match result {
        0.. => {}
        result if -result == libc::ENOENT => return Ok(()),
        result => return Err(errors::answer(About::Pool("looking at", name), result.into())),
    }
    pool.set_namespace(ALL_NAMESPACES)?;
    refuse_unless_empty(pool, name)?;
    let text = c_text(name, "the pool's name")?;
    // SAFETY: the cluster is connected, the text lives through the call.
    let result = unsafe { (cluster.api.pool_delete)(cluster.raw, text.as_ptr()) };
    match result {
        0.. => Ok(()),
        result if -result == libc::ENOENT => Ok(()),
        result if -result == libc::EPERM => {
            Err(errors::answer(About::Pool("deleting", name), result.into()).with_hint(
                "the cluster deletes pools only with `mon_allow_pool_delete=true`, and for users with `mon 'allow rw'`",
            ))
        }
        result => Err(errors::answer(About::Pool("deleting", name), result.into())),
    }
}

/// `Status(409)` when there is an object in the pool's present namespace.
pub(super) fn refuse_unless_empty(pool: Pool, container: &str) -> Result<()> {
    let mut place = Place::begin(Arc::new(pool));
    let page = place.next_page(
        &Wanted { prefix: String::new(), page_size: 1, want_names: false },
        container,
        &AtomicBool::new(false),
    )?;
    if page == (ListPage::default()) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Status(409), format!("container {container} is not empty"))
        .with_code("ContainerNotEmpty")
        .with_hint("delete its objects first (cleanup before dispose)"))
}

/// Names of all pools.
pub(super) fn names(cluster: &Cluster) -> Result<Vec<String>> {
    let mut buffer = vec![0_u8; 4096];
    for _ in 0..8 {
        // SAFETY: the buffer has room for as many bytes as we say.
        let needed = unsafe {
            (cluster.api.pool_list)(cluster.raw, buffer.as_mut_ptr().cast::<c_char>(), buffer.len())
        };
        let Ok(needed) = usize::try_from(needed) else {
            return Err(errors::answer(About::Pool("listing", "names"), needed.into()));
        };
        if needed <= buffer.len() {
            let texts = buffer[..needed].split(|byte| *byte == 0).filter(|text| !text.is_empty());
            return Ok(texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect());
        }
        buffer.resize(needed + 4096, 0);
    }
    Err(Error::new(ErrorKind::Protocol, "the list of pools grows faster than it can be read"))
}

/// What a page shall hold.
pub(super) struct Wanted {
    pub(super) prefix: String,
    pub(super) page_size: usize,
    pub(super) want_names: bool,
}

impl Wanted {
    /// From a request.
    pub(super) fn of(request: &cosmark_adaptor_api::ListRequest<'_>) -> Self {
        let page_size = request.page_size.map_or(DEFAULT_PAGE_SIZE, |size| size as usize);
        Self {
            prefix: request.prefix.to_owned(),
            page_size: page_size.clamp(1, 1_000_000),
            want_names: request.want_names,
        }
    }
}

/// A place in the listing of a pool. RADOS lists by the hash of the names, so a place is not a name.
pub(super) struct Place {
    pool: Arc<Pool>,
    cursor: RawCursor,
    end: RawCursor,
}

// SAFETY: cursors are plain memory of librados without ties to a thread.
unsafe impl Send for Place {}

impl Drop for Place {
    fn drop(&mut self) {
        let api = self.pool.cluster.api;
        // SAFETY: both are cursors of this pool and not used any more.
        unsafe {
            (api.object_list_cursor_free)(self.pool.raw, self.cursor);
            (api.object_list_cursor_free)(self.pool.raw, self.end);
        }
    }
}

impl Place {
    /// Before the first object.
    pub(super) fn begin(pool: Arc<Pool>) -> Self {
        let api = pool.cluster.api;
        // SAFETY: the ioctx is open; what is given is ours to free.
        let (cursor, end) = unsafe { ((api.object_list_begin)(pool.raw), (api.object_list_end)(pool.raw)) };
        Self { pool, cursor, end }
    }

    /// True behind the last object.
    pub(super) fn is_end(&self) -> bool {
        // SAFETY: a cursor of this pool.
        unsafe { (self.pool.cluster.api.object_list_is_end)(self.pool.raw, self.cursor) != 0 }
    }

    /// Goes on by one page; gives up where `stop` is set. `ListPage::next` is left to the caller.
    pub(super) fn next_page(
        &mut self,
        wanted: &Wanted,
        container: &str,
        stop: &AtomicBool,
    ) -> Result<ListPage> {
        let mut page = ListPage::default();
        while !self.is_end() {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Aborted, "the listing was given up"));
            }
            let room = wanted.page_size.saturating_sub(usize::try_from(page.count).unwrap_or(usize::MAX));
            if room == 0 {
                break;
            }
            self.step(room.min(LIST_STEP), container, |name| {
                page.bytes += name.len() as u64;
                if name.starts_with(wanted.prefix.as_bytes()) {
                    page.count += 1;
                    if wanted.want_names {
                        page.names.push(String::from_utf8_lossy(name).into_owned());
                    }
                }
            })?;
        }
        Ok(page)
    }

    fn step(&mut self, most: usize, container: &str, mut see: impl FnMut(&[u8])) -> Result<()> {
        let api = self.pool.cluster.api;
        let mut items = vec![ListItem::EMPTY; most];
        // SAFETY: there is room for `most` items; the cursor is both where to begin and where the next place is put.
        let count = unsafe {
            (api.object_list)(
                self.pool.raw,
                self.cursor,
                self.end,
                most,
                std::ptr::null(),
                0,
                items.as_mut_ptr(),
                &raw mut self.cursor,
            )
        };
        let Ok(count) = usize::try_from(count) else {
            return Err(errors::answer(About::Pool("listing", container), count.into()));
        };
        for item in items.iter().take(count) {
            if item.oid.is_null() {
                continue;
            }
            // SAFETY: librados filled in `count` items, each with a name of that length.
            see(unsafe { std::slice::from_raw_parts(item.oid.cast::<u8>(), item.oid_length) });
        }
        // SAFETY: frees the names that librados allocated for these items.
        unsafe { (api.object_list_free)(count.min(most), items.as_mut_ptr()) };
        Ok(())
    }
}
