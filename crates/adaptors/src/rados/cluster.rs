//! A connection to a cluster. All works and workers of a driver that give the same settings share one, as librados is made
//! for it: its threads and connections to OSDs are there once. The last who uses it closes it.

use std::ffi::{CString, c_int};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{Error, ErrorKind, Result};

use super::config::Config;
use super::errors;
use super::library::{self, Api, RawCluster};
use super::monitor;

/// A connected cluster.
pub(super) struct Cluster {
    pub(super) api: &'static Api,
    pub(super) raw: RawCluster,
}

// SAFETY: every call on a connected `rados_t` may come from any thread (librados.h, "Thread safety").
unsafe impl Send for Cluster {}
// SAFETY: the same.
unsafe impl Sync for Cluster {}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SAFETY: made by `create2`, and nobody has it any more: pools hold the cluster that they are of.
        unsafe { (self.api.shutdown)(self.raw) };
    }
}

/// What became of the last attempt with these settings.
struct Known {
    config: Config,
    cluster: Weak<Cluster>,
    failed: Option<(Instant, Error)>,
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Those who waited for an attempt that failed share its failure, instead of waiting as long again one after another.
const FAILURE_HOLDS: Duration = Duration::from_secs(1);

/// The cluster of this configuration. Blocks, at most for the configuration's `connect_timeout` or so.
///
/// # Errors
/// One sentence: no library, no monitor, a wrong user or key.
pub(super) fn connected(config: &Config) -> Result<Arc<Cluster>> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|entry| {
        entry.cluster.strong_count() > 0
            || entry.failed.as_ref().is_some_and(|(at, _)| at.elapsed() < FAILURE_HOLDS)
    });
    if let Some(entry) = known.iter().find(|entry| entry.config == *config) {
        if let Some((_, error)) = &entry.failed {
            return Err(error.clone());
        }
        if let Some(cluster) = entry.cluster.upgrade() {
            return Ok(cluster);
        }
    }
    known.retain(|entry| entry.config != *config);
    let outcome = connect(config).map(Arc::new);
    let (cluster, failed) = match &outcome {
        Ok(cluster) => (Arc::downgrade(cluster), None),
        Err(error) => (Weak::new(), Some((Instant::now(), error.clone()))),
    };
    known.push(Known { config: config.clone(), cluster, failed });
    outcome
}

fn connect(config: &Config) -> Result<Cluster> {
    let api = library::load(&config.library)?;
    check_file(config.conf.as_ref(), "conf")?;
    check_file(config.keyring.as_ref(), "keyring")?;
    if let Some(host) = &config.mon_host {
        monitor::resolve(host).map_err(|why| errors::unusable(host, &why))?;
    }
    let name = c_text(&format!("client.{}", config.user), "the user's name")?;
    let mut raw = std::ptr::null_mut();
    // SAFETY: both texts end with 0 and live through the call; `raw` is set when it succeeds.
    let result = unsafe { (api.create2)(&raw mut raw, c"ceph".as_ptr(), name.as_ptr(), 0) };
    if result < 0 {
        return Err(errors::connect(config, result));
    }
    // From here on dropping it frees the handle, connected or not.
    let cluster = Cluster { api, raw };
    if !config.usual_keyrings {
        // Before the configuration file, so that one which was admitted may still name a keyring.
        set(&cluster, "keyring", "")?;
    }
    if let Some(conf) = &config.conf {
        let path = c_text(&conf.display().to_string(), "conf")?;
        // SAFETY: the handle is not connected yet; the text lives through the call.
        let result = unsafe { (api.conf_read_file)(raw, path.as_ptr()) };
        if result < 0 {
            return Err(bad_file("conf", &conf.display().to_string(), "Ceph cannot read it", result));
        }
    }
    for (option, value) in config.options() {
        set(&cluster, option, &value)?;
    }
    // SAFETY: configured, not connected yet.
    let result = unsafe { (api.connect)(raw) };
    if result < 0 { Err(errors::connect(config, result)) } else { Ok(cluster) }
}

/// Sets an option of a cluster that is not connected yet.
fn set(cluster: &Cluster, option: &str, value: &str) -> Result<()> {
    let (name, value) = (c_text(option, "option")?, c_text(value, option)?);
    // SAFETY: the handle is not connected yet; the texts live through the call.
    let result = unsafe { (cluster.api.conf_set)(cluster.raw, name.as_ptr(), value.as_ptr()) };
    if result < 0 {
        let message = format!("librados takes no such value for its option {option}");
        return Err(Error::new(ErrorKind::Config, message).with_hint("check the keys of the storage"));
    }
    Ok(())
}

/// librados would say no more than that something was not found.
fn check_file(path: Option<&PathBuf>, key: &str) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    match std::fs::File::open(path) {
        Ok(_) => Ok(()),
        Err(cause) => Err(bad_file(
            key,
            &path.display().to_string(),
            &cause.to_string(),
            -c_int::from(cause.raw_os_error().unwrap_or(0)),
        )),
    }
}

fn bad_file(key: &str, path: &str, cause: &str, result: c_int) -> Error {
    Error::new(ErrorKind::Config, format!("{key} {path}: {cause}"))
        .with_code(format!("errno_{}", -result))
        .with_hint(format!("`{key}` is a file that this user can read on every driver"))
}

/// Text for C.
///
/// # Errors
/// `Config` when it holds a zero byte.
pub(super) fn c_text(text: &str, what: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::new(ErrorKind::Config, format!("{what} holds a zero byte")).with_hint("Ceph has no such names")
    })
}
