//! One operation in flight, shared between the load thread that waits for it and whichever thread of the plugin answers.
//!
//! The plugin holds one count of the [`Arc`] from `start` to `complete`; the load thread may go away meanwhile (time limit,
//! end of the run), and everything that the plugin may still touch stays until it is done with it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use cosmark_adaptor_api::{Error, ErrorKind, Result, clock};

use super::abi::{ABI, Op, RawHost, RawRequest, RawResult};
use crate::plugin::handle::{Handle, kind_of};

/// A plugin's thread waits when so much has not been taken yet.
const MOST_PENDING: usize = 4 << 20;
/// So much may be handed over inside a `start` that must not wait.
const MOST_KEPT: usize = 1 << 30;
/// Names of one page of a listing.
const MOST_NAMES: u64 = 1_000_000;

/// The functions of `cosmark_host`.
pub static HOST: RawHost = RawHost {
    size: size_of_u32::<RawHost>(),
    abi: ABI,
    first_byte: host_first_byte,
    data: host_data,
    name: host_name,
    request: host_request,
    connected: host_connected,
    complete: host_complete,
};

/// What is asked, in our own memory.
pub struct Asked {
    /// The operation.
    pub op: Op,
    /// Container.
    pub container: CString,
    /// Object.
    pub object: CString,
    /// First and last byte.
    pub range: Option<(u64, u64)>,
    /// Listing: begin of names.
    pub prefix: CString,
    /// Listing: where the page begins.
    pub after: Option<CString>,
    /// Listing: names per page, 0 = default.
    pub page_size: u32,
    /// Bytes to be written.
    pub body: Vec<u8>,
    /// Somebody looks at the bytes or names.
    pub want_data: bool,
}

/// See the module.
pub struct Call {
    raw: RawRequest,
    asked: Asked,
    handle: Arc<Handle>,
    /// The load thread is inside `start`: nobody could take what is handed over.
    must_not_wait: AtomicBool,
    cancelled: AtomicBool,
    state: Mutex<State>,
    room: Condvar,
}

// SAFETY: the raw pointers of `raw` point into `asked`, which lives as long and is never changed.
unsafe impl Send for Call {}
// SAFETY: as above; everything that changes is behind the lock or atomic.
unsafe impl Sync for Call {}

/// What came so far.
#[derive(Default)]
pub struct State {
    /// The end.
    pub answer: Option<Answer>,
    /// Who is to be told.
    pub waker: Option<Waker>,
    /// Bytes that the load thread has not taken.
    pub pending: Vec<u8>,
    /// Bytes that came.
    pub bytes: u64,
    /// When the first byte came; 0 = not yet.
    pub first_byte_ns: u64,
    /// Names that came, if wanted.
    pub names: Vec<String>,
    /// How many names came.
    pub name_count: u64,
    /// Further requests.
    pub requests: u32,
    /// Retries among them.
    pub retries: u32,
    /// Connections opened.
    pub connections: u32,
    /// Time that took.
    pub connect_ns: u64,
    /// The plugin broke the rules.
    fault: Option<&'static str>,
}

/// The end of an operation.
#[derive(Debug)]
pub struct Answer {
    /// As the plugin said it, or what it did wrong.
    pub outcome: Result<Done>,
    /// In HTTP's numbers; 0 = none.
    pub status: u16,
}

/// A success.
#[derive(Debug, Default)]
pub struct Done {
    /// `cosmark_result.bytes`.
    pub bytes: u64,
    /// `cosmark_result.accepted_only`.
    pub accepted_only: bool,
    /// `cosmark_result.next`.
    pub next: Option<String>,
}

const fn size_of_u32<T>() -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "structures of a few dozen bytes")]
    let size = size_of::<T>() as u32;
    size
}

impl Call {
    /// A call through `handle`. `may_wait`: `start` runs on a thread of its own.
    pub fn new(asked: Asked, handle: Arc<Handle>, may_wait: bool) -> Arc<Self> {
        let (first, last) = asked.range.unwrap_or_default();
        let raw = RawRequest {
            size: size_of_u32::<RawRequest>(),
            op: asked.op as u32,
            container: asked.container.as_ptr(),
            object: asked.object.as_ptr(),
            range_first: first,
            range_last: last,
            has_range: u32::from(asked.range.is_some()),
            page_size: asked.page_size,
            prefix: asked.prefix.as_ptr(),
            after: asked.after.as_ref().map_or(ptr::null(), |after| after.as_ptr()),
            body: asked.body.as_ptr(),
            body_len: asked.body.len() as u64,
            want_data: u32::from(asked.want_data),
            reserved: 0,
        };
        Arc::new(Self {
            raw,
            asked,
            handle,
            must_not_wait: AtomicBool::new(!may_wait),
            cancelled: AtomicBool::new(false),
            state: Mutex::default(),
            room: Condvar::new(),
        })
    }

    /// Hands the operation to the plugin, with one count of the `Arc`.
    pub fn start(self: Arc<Self>) {
        let kept = Arc::clone(&self);
        let Some(start) = kept.handle.table().start else { return };
        let pointer = Arc::into_raw(self).cast_mut().cast::<c_void>();
        // SAFETY: the client is connected and has no other operation; the request lives as long as the call, of which the
        // plugin now holds a count.
        unsafe { start(kept.handle.client(), &raw const kept.raw, pointer) };
        kept.must_not_wait.store(false, Ordering::Release);
    }

    /// Nobody waits for it any more.
    pub fn cancel(self: &Arc<Self>) {
        self.cancelled.store(true, Ordering::Release);
        let is_over = {
            let mut state = self.state();
            state.waker = None;
            state.pending = Vec::new();
            state.answer.is_some()
        };
        self.room.notify_all();
        if let (false, Some(cancel)) = (is_over, self.handle.table().cancel) {
            // SAFETY: `self` keeps the call valid until this returns.
            unsafe { cancel(self.handle.client(), Arc::as_ptr(self).cast_mut().cast()) };
        }
    }

    /// What came so far.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plugin's thread may go on.
    pub fn taken(&self) {
        self.room.notify_all();
    }

    /// The body's memory, to be used again.
    pub fn into_body(self) -> Vec<u8> {
        self.asked.body
    }

    fn is_cancelled(&self) -> c_int {
        c_int::from(self.cancelled.load(Ordering::Acquire))
    }

    fn accept(&self, bytes: &[u8], len: u64) {
        let mut state = self.state();
        state.mark_first_byte();
        state.bytes += len;
        if self.asked.want_data {
            while state.pending.len() > MOST_PENDING
                && !self.must_not_wait.load(Ordering::Acquire)
                && !self.cancelled.load(Ordering::Acquire)
            {
                state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if self.cancelled.load(Ordering::Acquire) {
                return;
            }
            if bytes.len() as u64 != len {
                state.fault = Some("it gave no bytes to data() where they were wanted");
            } else if state.pending.len() + bytes.len() > MOST_KEPT {
                state.fault = Some("it gave more than 1 GiB to data() inside start()");
            } else {
                state.pending.extend_from_slice(bytes);
            }
        }
        let waker = if self.asked.want_data { state.waker.take() } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn finish(self: Arc<Self>, answer: Answer) {
        let mut state = self.state();
        state.mark_first_byte();
        let outcome = match state.fault {
            Some(fault) if answer.outcome.is_ok() => Err(broken(fault)),
            _ => answer.outcome,
        };
        state.answer = Some(Answer { outcome, status: answer.status });
        let waker = state.waker.take();
        drop(state);
        drop(self);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl State {
    fn mark_first_byte(&mut self) {
        if self.first_byte_ns == 0 {
            self.first_byte_ns = clock::now_ns();
        }
    }
}

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("the plugin breaks the rules of its interface: {what}"))
        .with_hint("see cosmark_adaptor.h")
}

/// # Safety
/// `pointer` is null or a text that ends with a zero byte.
unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    let bytes = text.to_bytes();
    Some(String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).into_owned())
}

/// # Safety
/// `result` is null or a `cosmark_result` of the size that it says.
unsafe fn read(result: *const RawResult) -> Answer {
    if result.is_null() {
        return Answer { outcome: Err(broken("complete() got no result")), status: 0 };
    }
    // SAFETY: not null; the size is the first field, and is read alone before the rest.
    let size = unsafe { result.cast::<u32>().read_unaligned() };
    if size < size_of_u32::<RawResult>() {
        return Answer { outcome: Err(broken("the `size` of a result is too small")), status: 0 };
    }
    // SAFETY: as long as the structure; its texts are texts by the header.
    let (result, code, message, hint, next) = unsafe {
        let result = &*result;
        (result, text(result.code), text(result.message), text(result.hint), text(result.next))
    };
    let status = u16::try_from(result.status).unwrap_or(0);
    if result.error == 0 {
        let done = Done { bytes: result.bytes, accepted_only: result.accepted_only != 0, next };
        return Answer { outcome: Ok(done), status };
    }
    let message = message.unwrap_or_else(|| "the plugin gave no reason".into());
    let mut error = Error::new(kind_of(result.error, status), message);
    if let Some(code) = code {
        error = error.with_code(code);
    }
    if let Some(hint) = hint {
        error = error.with_hint(hint);
    }
    Answer { outcome: Err(error), status }
}

/// # Safety
/// `call` was given to `start` and is not complete, or is valid until a `cancel` returns.
unsafe fn borrow<'a>(call: *mut c_void) -> Option<&'a Call> {
    // SAFETY: the caller's promise.
    unsafe { call.cast::<Call>().cast_const().as_ref() }
}

extern "C" fn host_first_byte(call: *mut c_void) -> c_int {
    // SAFETY: the header's rule for calls.
    let Some(call) = (unsafe { borrow(call) }) else { return 1 };
    call.state().mark_first_byte();
    call.is_cancelled()
}

extern "C" fn host_data(call: *mut c_void, bytes: *const c_void, len: u64) -> c_int {
    // SAFETY: the header's rule for calls.
    let Some(call) = (unsafe { borrow(call) }) else { return 1 };
    let slice = match usize::try_from(len) {
        // SAFETY: the header asks for `len` readable bytes.
        Ok(len) if !bytes.is_null() => unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), len) },
        _ => &[],
    };
    call.accept(slice, len);
    call.is_cancelled()
}

extern "C" fn host_name(call: *mut c_void, name: *const c_char) -> c_int {
    // SAFETY: the header's rule for calls.
    let Some(call) = (unsafe { borrow(call) }) else { return 1 };
    // SAFETY: a text by the header.
    let name = unsafe { text(name) };
    let mut state = call.state();
    state.mark_first_byte();
    match name {
        Some(name) if state.name_count < MOST_NAMES => {
            state.name_count += 1;
            state.bytes += name.len() as u64;
            if call.asked.want_data {
                state.names.push(name);
            }
        }
        Some(_) => state.fault = Some("a page has more than a million names"),
        None => state.fault = Some("name() got no name"),
    }
    drop(state);
    call.is_cancelled()
}

extern "C" fn host_request(call: *mut c_void, retry: u32) -> c_int {
    // SAFETY: the header's rule for calls.
    let Some(call) = (unsafe { borrow(call) }) else { return 1 };
    let mut state = call.state();
    state.requests = state.requests.saturating_add(1);
    state.retries = state.retries.saturating_add(u32::from(retry != 0));
    drop(state);
    call.is_cancelled()
}

extern "C" fn host_connected(call: *mut c_void, took_ns: u64) -> c_int {
    // SAFETY: the header's rule for calls.
    let Some(call) = (unsafe { borrow(call) }) else { return 1 };
    let mut state = call.state();
    state.connections = state.connections.saturating_add(1);
    state.connect_ns = state.connect_ns.saturating_add(took_ns);
    drop(state);
    call.is_cancelled()
}

extern "C" fn host_complete(call: *mut c_void, result: *const RawResult) {
    if call.is_null() {
        return;
    }
    // SAFETY: the count that `Call::start` gave away, given back once by the header's rule.
    let call = unsafe { Arc::from_raw(call.cast::<Call>().cast_const()) };
    // SAFETY: a result by the header.
    let answer = unsafe { read(result) };
    call.finish(answer);
}
