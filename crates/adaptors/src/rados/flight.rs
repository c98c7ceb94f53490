//! One asynchronous call of librados as a future. librados completes calls on a thread of its own; there the result is
//! noted and the worker's task woken. Nobody polls, and nobody waits in C.
//!
//! What librados may still write to (the buffer of a read, the size of a stat) belongs to the call and not to the future:
//! a future that is dropped at its time limit cancels its call, and the memory lives until librados has let go of it.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use cosmark_adaptor_api::clock;

use super::library::{Api, RawCompletion};
use super::pool::Pool;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Landed {
    /// What librados gave: a count of bytes, 0, or a negated error number.
    pub(super) result: i64,
    /// When, [`clock::now_ns`]; on the thread of librados, before anything of ours ran.
    pub(super) at_ns: u64,
}

/// What a call and its future share.
pub(super) struct Flight {
    api: &'static Api,
    slot: Mutex<Slot>,
    memory: UnsafeCell<Memory>,
}

#[derive(Default)]
struct Slot {
    landed: Option<Landed>,
    waker: Option<Waker>,
}

/// What librados writes to.
#[derive(Default)]
struct Memory {
    /// Its capacity is what a read may fill; it is not initialised, so that pages which no read needs are never touched.
    buffer: Vec<u8>,
    size: u64,
    modified: libc::time_t,
}

// SAFETY: `memory` is written by librados between the start of a call and its completion, and read by the future after
// that; `slot`'s lock orders the two. Nobody else has access: a flight serves one call at a time.
unsafe impl Sync for Flight {}
// SAFETY: the same; nothing in it belongs to a thread.
unsafe impl Send for Flight {}

impl Flight {
    /// For calls through this library.
    pub(super) fn new(api: &'static Api) -> Arc<Self> {
        Arc::new(Self { api, slot: Mutex::default(), memory: UnsafeCell::default() })
    }

    /// Ready for another call with room for `room` bytes: this one, if librados has let go of it, or a new one.
    fn again(self: Arc<Self>, room: usize) -> Arc<Self> {
        let api = self.api;
        let mut flight = self;
        if Arc::get_mut(&mut flight).is_none() {
            flight = Self::new(api);
        }
        if let Some(own) = Arc::get_mut(&mut flight) {
            own.slot = Mutex::default();
            let memory = own.memory.get_mut();
            memory.buffer.clear();
            if memory.buffer.capacity() < room {
                // A fresh one: growing would copy what nobody wants.
                memory.buffer = Vec::with_capacity(room);
            }
        }
        flight
    }

    /// Starts a call. `begin` gets the completion and the memory to give to librados, and returns what librados says.
    ///
    /// # Errors
    /// The negated error number with which librados refused to start it.
    pub(super) fn launch<'p>(
        self: Arc<Self>,
        pool: &'p Arc<Pool>,
        room: usize,
        begin: impl FnOnce(&Api, RawCompletion, Target) -> c_int,
    ) -> Result<Airborne<'p>, i64> {
        let flight = self.again(room);
        let api = flight.api;
        let argument = Arc::into_raw(Arc::clone(&flight)).cast_mut().cast::<c_void>();
        let mut completion = std::ptr::null_mut();
        // SAFETY: `argument` is one counted reference, which `landed` takes back.
        let result =
            unsafe { (api.aio_create_completion)(argument, Some(landed), None, &raw mut completion) };
        if result < 0 {
            // SAFETY: no call will come, so the reference is still ours.
            drop(unsafe { Arc::from_raw(argument.cast::<Self>().cast_const()) });
            return Err(result.into());
        }
        // SAFETY: no call is in flight, so nobody else looks at the memory.
        let memory = unsafe { &mut *flight.memory.get() };
        let target = Target {
            buffer: memory.buffer.as_mut_ptr().cast::<c_char>(),
            size: &raw mut memory.size,
            modified: &raw mut memory.modified,
        };
        let result = begin(api, completion, target);
        if result < 0 {
            // SAFETY: a call that did not start does not complete; both are still ours.
            unsafe {
                (api.aio_release)(completion);
                drop(Arc::from_raw(argument.cast::<Self>().cast_const()));
            }
            return Err(result.into());
        }
        Ok(Airborne { pool, completion, flight: Some(flight) })
    }

    /// The first `len` bytes of what a read brought.
    pub(super) fn bytes(&self, len: usize) -> &[u8] {
        // SAFETY: only asked after the completion, see `Airborne::poll`.
        let memory = unsafe { &*self.memory.get() };
        let len = len.min(memory.buffer.capacity());
        // SAFETY: librados has written `len` bytes there, and said so as the call's result.
        unsafe { std::slice::from_raw_parts(memory.buffer.as_ptr(), len) }
    }

    /// What a stat brought.
    pub(super) fn size(&self) -> u64 {
        // SAFETY: only asked after the completion, see `Airborne::poll`.
        unsafe { (*self.memory.get()).size }
    }
}

/// Where librados shall write.
pub(super) struct Target {
    pub(super) buffer: *mut c_char,
    pub(super) size: *mut u64,
    pub(super) modified: *mut libc::time_t,
}

/// Called by librados, on its thread, once for each call that was started.
extern "C" fn landed(completion: RawCompletion, argument: *mut c_void) {
    let at_ns = clock::now_ns();
    // SAFETY: the reference that `launch` counted for this call.
    let flight = unsafe { Arc::from_raw(argument.cast::<Flight>().cast_const()) };
    // SAFETY: librados holds the completion while it calls us.
    let result = unsafe { (flight.api.aio_get_return_value)(completion) };
    let waker = {
        let mut slot = flight.slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.landed = Some(Landed { result: result.into(), at_ns });
        slot.waker.take()
    };
    // Before the wake, so that the worker finds itself alone with the memory and can use it again.
    drop(flight);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// A call on its way.
pub(super) struct Airborne<'p> {
    pool: &'p Arc<Pool>,
    completion: RawCompletion,
    /// `None` once it has landed.
    flight: Option<Arc<Flight>>,
}

impl Future for Airborne<'_> {
    type Output = (Landed, Arc<Flight>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(flight) = &self.flight else { return Poll::Pending };
        let mut slot = flight.slot.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(landed) = slot.landed else {
            if !slot.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                slot.waker = Some(context.waker().clone());
            }
            return Poll::Pending;
        };
        drop(slot);
        match self.flight.take() {
            Some(flight) => Poll::Ready((landed, flight)),
            None => Poll::Pending,
        }
    }
}

impl Drop for Airborne<'_> {
    fn drop(&mut self) {
        let api = self.pool.cluster.api;
        // SAFETY: the pool is open, and the completion was made by `launch` and is released here once.
        unsafe {
            if self.flight.is_some() {
                // It completes at once with ECANCELED, unless it just completed by itself.
                (api.aio_cancel)(self.pool.raw, self.completion);
            }
            (api.aio_release)(self.completion);
        }
    }
}
