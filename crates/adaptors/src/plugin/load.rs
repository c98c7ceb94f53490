//! Loading a library: nothing of it is called before its interface number is known to be ours, and whatever its table says
//! is checked before it is used. A loaded library stays loaded: threads of its own may still run.

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cosmark_adaptor_api::{AdaptorDef, Capability, Error, ErrorKind, Key, KeyKind, Result};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::abi::{ABI, Entry, RawAdaptor, RawKey, can};
use super::{KEYS, call};

/// A table of keys longer than this is a mistake.
const MOST_KEYS: u32 = 256;
const LONGEST_TEXT: usize = 4096;

/// A library that was loaded and checked.
pub struct Plugin {
    /// Its table.
    pub table: &'static RawAdaptor,
    /// The row that stands for it: its keys and ours.
    pub def: AdaptorDef,
}

// SAFETY: the table and its texts are constant for as long as the library is loaded, which is for ever; the header asks that
// its functions may be called from any thread.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}

static LOADED: Mutex<Vec<(PathBuf, &'static Plugin)>> = Mutex::new(Vec::new());

fn config(message: String, hint: &str) -> Error {
    Error::new(ErrorKind::Config, message).with_hint(hint)
}

/// Loads the library at `path`, or finds it loaded.
///
/// # Errors
/// `Config`: no such file, not a plugin, another interface number, or a table that makes no sense.
pub fn load(path: &Path) -> Result<&'static Plugin> {
    let shown = path.display();
    let path = path.canonicalize().map_err(|error| {
        config(
            format!("the plugin {shown} cannot be opened: {error}"),
            "give the library's full path as `path`",
        )
    })?;
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, plugin)) = loaded.iter().find(|(known, _)| *known == path) {
        return Ok(plugin);
    }
    let plugin: &'static Plugin = Box::leak(Box::new(open(&path)?));
    loaded.push((path, plugin));
    Ok(plugin)
}

/// True when a loaded plugin calls this key a secret.
#[must_use]
pub fn declares_secret(key: &str) -> bool {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut keys = loaded.iter().flat_map(|(_, plugin)| plugin.def.keys);
    keys.any(|row| row.secret && row.name.eq_ignore_ascii_case(key))
}

fn open(path: &Path) -> Result<Plugin> {
    let shown = path.display();
    // SAFETY: loading a library runs its initialisers; the user named this file as code to run.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| {
        config(
            format!("{shown} cannot be loaded: {error}"),
            "it must be a shared library for this machine whose own libraries are installed (`ldd` shows them)",
        )
    })?;
    let not_a_plugin = |symbol: &str| {
        config(
            format!("{shown} is no plugin of Cosmark: it exports no `{symbol}`"),
            "build it with cosmark_adaptor.h; both symbols must be exported with C linkage",
        )
    };
    // SAFETY: the header makes this symbol a `const uint32_t`; only its four bytes are read, and no code is called.
    let abi =
        unsafe { library.get::<*const u32>(b"cosmark_adaptor_abi\0").map(|symbol| symbol.read_unaligned()) }
            .map_err(|_| not_a_plugin("cosmark_adaptor_abi"))?;
    if abi != ABI {
        let message = format!("{shown} was built for plugin interface {abi}, this Cosmark speaks {ABI}");
        return Err(config(message, "build it again with the cosmark_adaptor.h of this version"));
    }
    // SAFETY: the number says that this symbol is the function of the header.
    let table = unsafe {
        let entry = library
            .get::<Entry>(b"cosmark_adaptor_entry\0")
            .map_err(|_| not_a_plugin("cosmark_adaptor_entry"))?;
        entry(&raw const call::HOST)
    };
    std::mem::forget(library);
    read_table(path, table)
}

fn read_table(path: &Path, table: *const RawAdaptor) -> Result<Plugin> {
    let wrong = |what: &str| {
        config(
            format!("the plugin {} has a table that cannot be used: {what}", path.display()),
            "see cosmark_adaptor.h",
        )
    };
    if table.is_null() {
        return Err(wrong("cosmark_adaptor_entry gave none"));
    }
    // SAFETY: not null; the size is the first field, and is read alone before the rest.
    let size = unsafe { table.cast::<u32>().read_unaligned() } as usize;
    if size < size_of::<RawAdaptor>() {
        return Err(wrong("its `size` is less than sizeof(cosmark_adaptor)"));
    }
    // SAFETY: as long as the structure, constant for ever by the header.
    let table: &'static RawAdaptor = unsafe { &*table };
    for (name, is_there) in [
        ("open", table.open.is_some()),
        ("close", table.close.is_some()),
        ("connect", table.connect.is_some()),
        ("disconnect", table.disconnect.is_some()),
        ("start", table.start.is_some()),
    ] {
        if !is_there {
            return Err(wrong(&format!("the function `{name}` is null")));
        }
    }
    let text = |pointer: *const c_char, what: &str| -> Result<&'static str> {
        // SAFETY: texts of the table are constant for ever by the header.
        unsafe { static_text(pointer) }.ok_or_else(|| wrong(&format!("{what} is no text in UTF-8")))
    };
    let name = text(table.name, "its name")?;
    let summary = text(table.summary, "its summary")?;
    let keys = read_keys(table, &text, &wrong)?;
    let capability = [
        (can::STORE, Capability::STORE),
        (can::CONTAINERS, Capability::CONTAINERS),
        (can::HEAD, Capability::HEAD),
        (can::LIST, Capability::LIST),
        (can::RANGE, Capability::RANGE),
        (can::DELETE_MISSING_FAILS, Capability::DELETE_MISSING_FAILS),
    ]
    .into_iter()
    .fold(Capability::default(), |all, (bit, one)| all.with_if(table.capability & bit != 0, one));
    let def = AdaptorDef {
        name,
        aliases: &[],
        summary,
        keys,
        capability,
        open: super::open,
        lacks: AdaptorDef::lacks_nothing,
        takes: super::DEF.takes,
    };
    Ok(Plugin { table, def })
}

fn read_keys(
    table: &'static RawAdaptor,
    text: &dyn Fn(*const c_char, &str) -> Result<&'static str>,
    wrong: &dyn Fn(&str) -> Error,
) -> Result<&'static [Key]> {
    let mut keys: Vec<Key> = KEYS.to_vec();
    if table.key_count > MOST_KEYS || (table.keys.is_null() && table.key_count > 0) {
        return Err(wrong(&format!("a table of {} keys at {:?}", table.key_count, table.keys)));
    }
    for at in 0..table.key_count as usize {
        // SAFETY: the header asks for `key_count` rows.
        let raw: &RawKey = unsafe { &*table.keys.add(at) };
        let name = text(raw.name, &format!("the name of key {at}"))?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || !name.chars().all(is_word) {
            return Err(wrong(&format!(
                "`{name}` is no name for a key: letters, digits, `_`, `-` and `.` are"
            )));
        }
        if keys.iter().any(|key| key.name.eq_ignore_ascii_case(name)) {
            return Err(wrong(&format!("the key `{name}` is there twice, or is one of Cosmark's own")));
        }
        let default = if raw.default_value.is_null() {
            None
        } else {
            Some(text(raw.default_value, &format!("the default of key `{name}`"))?)
        };
        keys.push(Key {
            name,
            aliases: &[],
            env: None,
            kind: kind_of(raw.kind).ok_or_else(|| wrong(&format!("key `{name}` has kind {}", raw.kind)))?,
            default,
            secret: raw.secret != 0,
            help: text(raw.help, &format!("the help of key `{name}`"))?,
        });
    }
    Ok(Box::leak(keys.into_boxed_slice()))
}

/// `COSMARK_KEY_..`
fn kind_of(kind: u32) -> Option<KeyKind> {
    Some(match kind {
        0 => KeyKind::Text,
        1 => KeyKind::Url,
        2 => KeyKind::Bool,
        3 => KeyKind::Int(0, i64::MAX),
        4 => KeyKind::Float(f64::MIN, f64::MAX),
        5 => KeyKind::Duration,
        6 => KeyKind::Size,
        7 => KeyKind::List,
        8 => KeyKind::File,
        _ => return None,
    })
}

/// # Safety
/// `pointer` is null or a text that ends with a zero byte and lives for ever.
unsafe fn static_text(pointer: *const c_char) -> Option<&'static str> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().ok().filter(|text| text.len() <= LONGEST_TEXT)
}
