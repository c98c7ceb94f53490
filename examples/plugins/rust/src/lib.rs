//! A store in memory that answers from a thread of its own for each client: a Cosmark plugin in Rust that does not block.
//!
//!     cargo build --release
//!     cosmark adaptors ./target/release/libcosmark_plugin_threads.so
//!
//! `abi.rs` is Cosmark's own declaration of cosmark_adaptor.h; copy that file into a project of yours.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};

#[allow(dead_code, reason = "an example need not use all of the interface")]
#[path = "../../../../crates/adaptors/src/plugin/abi.rs"]
mod abi;

use abi::{RawAdaptor, RawError, RawHost, RawKey, RawRequest, RawResult, RawSession, RawSetting, can};

type Containers = BTreeMap<String, BTreeMap<String, Vec<u8>>>;

/// `open` is called for every work of every stage, so what the works share does not belong to the store.
static CONTAINERS: Mutex<Containers> = Mutex::new(BTreeMap::new());

struct Store {
    page_size: usize,
}

struct Client {
    jobs: SyncSender<Job>,
}

/// A request and its call; both stay valid until the call is complete.
struct Job {
    request: *const RawRequest,
    call: *mut c_void,
}

// SAFETY: the host lets any thread answer, one at a time.
unsafe impl Send for Job {}

struct Constant<T>(T);

// SAFETY: never changed.
unsafe impl<T> Sync for Constant<T> {}
// SAFETY: never changed.
unsafe impl<T> Send for Constant<T> {}

static HOST: OnceLock<Constant<*const RawHost>> = OnceLock::new();

static KEYS: Constant<[RawKey; 2]> = Constant([
    RawKey {
        name: c"page_size".as_ptr(),
        help: c"names per page of a listing".as_ptr(),
        default_value: c"1000".as_ptr(),
        kind: 3,
        secret: 0,
    },
    RawKey {
        name: c"token".as_ptr(),
        help: c"not used, but never shown".as_ptr(),
        default_value: ptr::null(),
        kind: 0,
        secret: 1,
    },
]);

static ADAPTOR: Constant<RawAdaptor> = Constant(RawAdaptor {
    size: size_of::<RawAdaptor>() as u32,
    flags: 0,
    capability: can::STORE | can::CONTAINERS | can::HEAD | can::LIST | can::RANGE,
    key_count: 2,
    keys: &raw const KEYS.0 as *const RawKey,
    name: c"threads".as_ptr(),
    summary: c"objects in this process's memory, answered by a thread for each client".as_ptr(),
    open: Some(open),
    close: Some(close),
    connect: Some(connect),
    disconnect: Some(disconnect),
    start: Some(start),
    cancel: None,
});

#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name of the interface")]
pub static cosmark_adaptor_abi: u32 = abi::ABI;

#[unsafe(no_mangle)]
pub extern "C" fn cosmark_adaptor_entry(host: *const RawHost) -> *const RawAdaptor {
    HOST.get_or_init(|| Constant(host));
    &raw const ADAPTOR.0
}

fn host() -> Option<&'static RawHost> {
    // SAFETY: the host's table lives as long as the process.
    HOST.get().and_then(|host| unsafe { host.0.as_ref() })
}

/// The empty text for null or what is not UTF-8.
unsafe fn text<'a>(pointer: *const c_char) -> &'a str {
    if pointer.is_null() {
        return "";
    }
    // SAFETY: a text of the host.
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap_or_default()
}

unsafe extern "C" fn open(
    settings: *const RawSetting,
    count: usize,
    store: *mut *mut c_void,
    _error: *mut RawError,
) -> c_int {
    let mut page_size = 1000;
    for at in 0..count {
        // SAFETY: the host gives `count` settings.
        let (name, value) = unsafe { (text((*settings.add(at)).name), text((*settings.add(at)).value)) };
        if name == "page_size" {
            page_size = value.parse().unwrap_or(page_size).max(1);
        }
    }
    let made = Box::new(Store { page_size });
    // SAFETY: the host's place for the result.
    unsafe { *store = Box::into_raw(made).cast() };
    0
}

unsafe extern "C" fn close(store: *mut c_void) {
    // SAFETY: made by `open`.
    drop(unsafe { Box::from_raw(store.cast::<Store>()) });
}

unsafe extern "C" fn connect(
    store: *mut c_void,
    _session: *const RawSession,
    client: *mut *mut c_void,
    _error: *mut RawError,
) -> c_int {
    // SAFETY: made by `open`, closed after the last client.
    let page_size = unsafe { &*store.cast::<Store>() }.page_size;
    let (jobs, todo) = sync_channel::<Job>(1);
    std::thread::spawn(move || {
        while let Ok(job) = todo.recv() {
            answer(page_size, &job);
        }
    });
    // SAFETY: the host's place for the result.
    unsafe { *client = Box::into_raw(Box::new(Client { jobs })).cast() };
    0
}

unsafe extern "C" fn disconnect(client: *mut c_void) {
    // SAFETY: made by `connect`; its thread ends when the channel does.
    drop(unsafe { Box::from_raw(client.cast::<Client>()) });
}

unsafe extern "C" fn start(client: *mut c_void, request: *const RawRequest, call: *mut c_void) {
    // SAFETY: made by `connect`.
    let client = unsafe { &*client.cast::<Client>() };
    // One operation at a time, so that there is room.
    let _ = client.jobs.try_send(Job { request, call });
}

/// What came out, in the terms of the interface.
#[derive(Default)]
struct Outcome {
    status: u32,
    bytes: u64,
    next: Option<CString>,
}

fn answer(page_size: usize, job: &Job) {
    let Some(host) = host() else { return };
    let outcome = perform(host, page_size, job);
    let result = RawResult {
        size: size_of::<RawResult>() as u32,
        error: u32::from(outcome.status >= 400),
        status: outcome.status,
        accepted_only: 0,
        bytes: outcome.bytes,
        code: ptr::null(),
        message: match outcome.status {
            404 => c"there is no such container or object".as_ptr(),
            409 => c"the container is not empty".as_ptr(),
            416 => c"the object has no such bytes".as_ptr(),
            _ => ptr::null(),
        },
        hint: ptr::null(),
        next: outcome.next.as_ref().map_or(ptr::null(), |next| next.as_ptr()),
    };
    (host.complete)(job.call, &raw const result);
}

fn perform(host: &RawHost, page_size: usize, job: &Job) -> Outcome {
    let mut containers = CONTAINERS.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: valid until the call is complete.
    let request = unsafe { &*job.request };
    // SAFETY: as above.
    let (container, object) = unsafe { (text(request.container), text(request.object)) };
    let status = |status| Outcome { status, ..Outcome::default() };
    match request.op {
        0 => status(200),
        6 => {
            containers.entry(container.to_owned()).or_default();
            status(201)
        }
        7 => match containers.get(container) {
            Some(objects) if !objects.is_empty() => status(409),
            _ => {
                containers.remove(container);
                status(204)
            }
        },
        op => match (containers.get_mut(container), op) {
            (None, 3) => status(204),
            (None, _) => status(404),
            (Some(objects), 1) => objects.get(object).map_or(status(404), |bytes| get(host, request, job.call, bytes)),
            (Some(objects), 2) => {
                let len = usize::try_from(request.body_len).unwrap_or_default();
                // SAFETY: the host gives `body_len` bytes; none for an empty body.
                let body = if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(request.body, len) } };
                objects.insert(object.to_owned(), body.to_vec());
                status(201)
            }
            (Some(objects), 3) => {
                objects.remove(object);
                status(204)
            }
            (Some(objects), 4) => match objects.get(object) {
                Some(bytes) => Outcome { status: 200, bytes: bytes.len() as u64, next: None },
                None => status(404),
            },
            (Some(objects), _) => list(host, request, job.call, objects, page_size),
        },
    }
}

fn get(host: &RawHost, request: &RawRequest, call: *mut c_void, bytes: &[u8]) -> Outcome {
    let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
    let part = if request.has_range == 0 {
        bytes
    } else {
        &bytes[at(request.range_first)..at(request.range_last.saturating_add(1)).max(at(request.range_first))]
    };
    if request.has_range != 0 && part.is_empty() {
        return Outcome { status: 416, ..Outcome::default() };
    }
    for chunk in part.chunks(64 * 1024) {
        if (host.data)(call, chunk.as_ptr().cast(), chunk.len() as u64) != 0 {
            break;
        }
    }
    Outcome { status: 200, ..Outcome::default() }
}

fn list(
    host: &RawHost,
    request: &RawRequest,
    call: *mut c_void,
    objects: &BTreeMap<String, Vec<u8>>,
    page_size: usize,
) -> Outcome {
    // SAFETY: texts of the request.
    let (prefix, after) = unsafe { (text(request.prefix), text(request.after)) };
    let page_size = if request.page_size == 0 { page_size } else { request.page_size as usize };
    let mut names = objects.keys().filter(|name| name.starts_with(prefix) && name.as_str() > after);
    let page: Vec<CString> =
        names.by_ref().take(page_size).filter_map(|name| CString::new(name.as_str()).ok()).collect();
    for name in &page {
        (host.name)(call, name.as_ptr());
    }
    let next = if names.next().is_some() { page.last().cloned() } else { None };
    Outcome { status: 200, bytes: 0, next }
}
