//! Ceph's C library, found and loaded when a work asks for it, so that Cosmark runs where it is not installed. Only the
//! calls that are used are declared. Source: include/rados/librados.h of Ceph 14.2; later versions kept them.

use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use cosmark_adaptor_api::{Error, ErrorKind, Result};
use libloading::Library;

/// `rados_t`: a connection to a cluster.
pub(super) type RawCluster = *mut c_void;
/// `rados_ioctx_t`: a pool, with a namespace.
pub(super) type RawPool = *mut c_void;
/// `rados_completion_t`: an asynchronous call.
pub(super) type RawCompletion = *mut c_void;
/// `rados_object_list_cursor`: a place in a listing.
pub(super) type RawCursor = *mut c_void;
/// `rados_callback_t`: called on a thread of librados when a call is complete.
pub(super) type Callback = extern "C" fn(RawCompletion, *mut c_void);

/// `rados_object_list_item`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ListItem {
    pub(super) oid_length: usize,
    pub(super) oid: *mut c_char,
    pub(super) nspace_length: usize,
    pub(super) nspace: *mut c_char,
    pub(super) locator_length: usize,
    pub(super) locator: *mut c_char,
}

impl ListItem {
    /// As the library wants it: it fills all fields itself.
    pub(super) const EMPTY: Self = Self {
        oid_length: 0,
        oid: std::ptr::null_mut(),
        nspace_length: 0,
        nspace: std::ptr::null_mut(),
        locator_length: 0,
        locator: std::ptr::null_mut(),
    };
}

macro_rules! declare {
    ($($name:ident ( $($arg:ty),* ) $(-> $answer:ty)?;)*) => {
        /// The calls, without `rados_` before their names. Results below 0 are negated error numbers.
        #[derive(Clone, Copy)]
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($arg),*) $(-> $answer)?,)*
        }

        impl Api {
            /// # Safety
            /// `library` has to be librados, and stay loaded for as long as the result is used.
            unsafe fn of(library: &Library) -> std::result::Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the types are those of the header that this file names.
                    $($name: *unsafe { library.get(concat!("rados_", stringify!($name))) }?,)*
                })
            }
        }
    };
}

declare! {
    create2(*mut RawCluster, *const c_char, *const c_char, u64) -> c_int;
    conf_read_file(RawCluster, *const c_char) -> c_int;
    conf_set(RawCluster, *const c_char, *const c_char) -> c_int;
    connect(RawCluster) -> c_int;
    shutdown(RawCluster);
    pool_lookup(RawCluster, *const c_char) -> i64;
    pool_create(RawCluster, *const c_char) -> c_int;
    pool_delete(RawCluster, *const c_char) -> c_int;
    pool_list(RawCluster, *mut c_char, usize) -> c_int;
    application_enable(RawPool, *const c_char, c_int) -> c_int;
    application_metadata_get(RawPool, *const c_char, *const c_char, *mut c_char, *mut usize) -> c_int;
    application_metadata_set(RawPool, *const c_char, *const c_char, *const c_char) -> c_int;
    ioctx_create(RawCluster, *const c_char, *mut RawPool) -> c_int;
    ioctx_destroy(RawPool);
    ioctx_set_namespace(RawPool, *const c_char);
    aio_create_completion(*mut c_void, Option<Callback>, Option<Callback>, *mut RawCompletion) -> c_int;
    aio_get_return_value(RawCompletion) -> c_int;
    aio_release(RawCompletion);
    aio_cancel(RawPool, RawCompletion) -> c_int;
    aio_read(RawPool, *const c_char, RawCompletion, *mut c_char, usize, u64) -> c_int;
    aio_write(RawPool, *const c_char, RawCompletion, *const c_char, usize, u64) -> c_int;
    aio_write_full(RawPool, *const c_char, RawCompletion, *const c_char, usize) -> c_int;
    aio_remove(RawPool, *const c_char, RawCompletion) -> c_int;
    aio_stat(RawPool, *const c_char, RawCompletion, *mut u64, *mut libc::time_t) -> c_int;
    object_list_begin(RawPool) -> RawCursor;
    object_list_end(RawPool) -> RawCursor;
    object_list_is_end(RawPool, RawCursor) -> c_int;
    object_list_cursor_free(RawPool, RawCursor);
    object_list(RawPool, RawCursor, RawCursor, usize, *const c_char, usize, *mut ListItem, *mut RawCursor) -> c_int;
    object_list_free(usize, *mut ListItem);
}

/// The libraries that were loaded, by name. They stay: threads of theirs may run until the process ends.
static LOADED: Mutex<Vec<(String, &'static Api)>> = Mutex::new(Vec::new());

/// Loads `name` (a file, or what the dynamic linker looks for), once.
///
/// # Errors
/// `LocalIo` with the package to install.
pub(super) fn load(name: &str) -> Result<&'static Api> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, api)) = loaded.iter().find(|(known, _)| known == name) {
        return Ok(api);
    }
    // SAFETY: the user named this library as librados, whose initialisation may run on any thread.
    let library = unsafe { Library::new(name) }.map_err(|cause| missing(name, &cause))?;
    // SAFETY: it is never unloaded, see below.
    let api = unsafe { Api::of(&library) }.map_err(|cause| too_old(name, &cause))?;
    std::mem::forget(library);
    let api: &'static Api = Box::leak(Box::new(api));
    loaded.push((name.to_owned(), api));
    Ok(api)
}

fn missing(name: &str, cause: &libloading::Error) -> Error {
    Error::new(ErrorKind::LocalIo, format!("Ceph's client library {name} cannot be loaded ({cause})"))
        .with_code("NoLibrary")
        .with_hint("install it on every driver: `apt-get install librados2` or `dnf install librados2`")
}

fn too_old(name: &str, cause: &libloading::Error) -> Error {
    Error::new(ErrorKind::LocalIo, format!("{name} is no librados that Cosmark can use ({cause})"))
        .with_code("NoLibrary")
        .with_hint("install librados2 of Ceph 14.2 (Nautilus) or later")
}

#[cfg(test)]
pub(super) fn install(name: &str, api: Api) {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).push((name.to_owned(), Box::leak(Box::new(api))));
}
