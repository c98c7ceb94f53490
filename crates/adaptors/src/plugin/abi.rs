//! The structures of `include/cosmark_adaptor.h`, number 1, field by field. A test compiles the header with a C compiler and
//! compares sizes, offsets and constants.

use std::ffi::{c_char, c_int, c_void};

/// `COSMARK_ADAPTOR_ABI`.
pub const ABI: u32 = 1;

/// `COSMARK_BLOCKING`.
pub const BLOCKING: u32 = 1;

/// Capability bits.
pub mod can {
    /// `COSMARK_CAN_STORE`.
    pub const STORE: u32 = 1;
    /// `COSMARK_CAN_CONTAINERS`.
    pub const CONTAINERS: u32 = 1 << 1;
    /// `COSMARK_CAN_HEAD`.
    pub const HEAD: u32 = 1 << 2;
    /// `COSMARK_CAN_LIST`.
    pub const LIST: u32 = 1 << 3;
    /// `COSMARK_CAN_RANGE`.
    pub const RANGE: u32 = 1 << 4;
    /// `COSMARK_DELETE_MISSING_FAILS`.
    pub const DELETE_MISSING_FAILS: u32 = 1 << 5;
}

/// `COSMARK_OP_..`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Op {
    /// Is the store there?
    Probe = 0,
    /// Read.
    Get = 1,
    /// Write.
    Put = 2,
    /// Delete an object.
    Delete = 3,
    /// Length of an object.
    Head = 4,
    /// One page of names.
    List = 5,
    /// Create a container.
    CreateContainer = 6,
    /// Delete a container.
    DeleteContainer = 7,
}

/// `cosmark_key`.
#[repr(C)]
pub struct RawKey {
    pub name: *const c_char,
    pub help: *const c_char,
    pub default_value: *const c_char,
    pub kind: u32,
    pub secret: u32,
}

/// `cosmark_setting`.
#[repr(C)]
pub struct RawSetting {
    pub name: *const c_char,
    pub value: *const c_char,
}

/// `cosmark_request`.
#[repr(C)]
pub struct RawRequest {
    pub size: u32,
    pub op: u32,
    pub container: *const c_char,
    pub object: *const c_char,
    pub range_first: u64,
    pub range_last: u64,
    pub has_range: u32,
    pub page_size: u32,
    pub prefix: *const c_char,
    pub after: *const c_char,
    pub body: *const u8,
    pub body_len: u64,
    pub want_data: u32,
    pub reserved: u32,
}

/// `cosmark_result`.
#[repr(C)]
pub struct RawResult {
    pub size: u32,
    pub error: u32,
    pub status: u32,
    pub accepted_only: u32,
    pub bytes: u64,
    pub code: *const c_char,
    pub message: *const c_char,
    pub hint: *const c_char,
    pub next: *const c_char,
}

/// `cosmark_host`. `call` is a [`super::call::Call`].
#[repr(C)]
pub struct RawHost {
    pub size: u32,
    pub abi: u32,
    pub first_byte: extern "C" fn(*mut c_void) -> c_int,
    pub data: extern "C" fn(*mut c_void, *const c_void, u64) -> c_int,
    pub name: extern "C" fn(*mut c_void, *const c_char) -> c_int,
    pub request: extern "C" fn(*mut c_void, u32) -> c_int,
    pub connected: extern "C" fn(*mut c_void, u64) -> c_int,
    pub complete: extern "C" fn(*mut c_void, *const RawResult),
}

/// Room for a text of [`RawError`].
pub const ERROR_TEXT: usize = 512;

/// `cosmark_error`.
#[repr(C)]
pub struct RawError {
    pub kind: u32,
    pub message: [c_char; ERROR_TEXT],
    pub hint: [c_char; ERROR_TEXT],
}

/// `cosmark_session`.
#[repr(C)]
pub struct RawSession {
    pub size: u32,
    pub reserved: u32,
    pub token: *const c_char,
    pub storage_url: *const c_char,
    pub access_key: *const c_char,
    pub secret_key: *const c_char,
    pub session_token: *const c_char,
    pub username: *const c_char,
    pub password: *const c_char,
}

type Open = unsafe extern "C" fn(*const RawSetting, usize, *mut *mut c_void, *mut RawError) -> c_int;
type Connect = unsafe extern "C" fn(*mut c_void, *const RawSession, *mut *mut c_void, *mut RawError) -> c_int;

/// `cosmark_adaptor`. Functions are optional here, so that a null one is refused and not called.
#[repr(C)]
pub struct RawAdaptor {
    pub size: u32,
    pub flags: u32,
    pub capability: u32,
    pub key_count: u32,
    pub keys: *const RawKey,
    pub name: *const c_char,
    pub summary: *const c_char,
    pub open: Option<Open>,
    pub close: Option<unsafe extern "C" fn(*mut c_void)>,
    pub connect: Option<Connect>,
    pub disconnect: Option<unsafe extern "C" fn(*mut c_void)>,
    pub start: Option<unsafe extern "C" fn(*mut c_void, *const RawRequest, *mut c_void)>,
    pub cancel: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
}

/// `cosmark_adaptor_entry`.
pub type Entry = unsafe extern "C" fn(*const RawHost) -> *const RawAdaptor;
