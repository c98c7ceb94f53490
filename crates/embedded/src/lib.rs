//! The embedded store: a real S3 server inside this process, for `cosmark demo`, `cosmark serve` and tests. It speaks
//! HTTP/1.1 on loopback, checks signatures, and keeps objects as files in a directory that is removed afterwards.
//!
//! It is a store to try a benchmark against, not one to trust data to: nothing is synced to the device. It has buckets,
//! objects, ranges, conditions, checksums, listings, copies and uploads in parts; no versions, tags, access control
//! lists, encryption or life cycles, which it refuses with `NotImplemented`.
//!
//! ```
//! let store = cosmark_embedded::EmbeddedStore::start(cosmark_embedded::Options::default())?;
//! assert!(store.endpoint().starts_with("http://127.0.0.1:"));
//! store.stop()?;
//! # Ok::<(), cosmark_embedded::Error>(())
//! ```

mod bodies;
mod digest;
mod error;
mod fault;
mod heads;
mod home;
mod keys;
mod protocol;
mod server;
mod store;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use s3s::config::{S3Config, StaticConfigProvider};
use s3s::service::S3ServiceBuilder;

pub use error::Error;

use home::Home;
use protocol::{Keys, Protocol};
use server::Server;
use store::Store;

/// Largest body of a browser form (POST Object), which is held in memory.
const MOST_FORM_BYTES: u64 = 16 << 20;

/// How to start a store.
#[derive(Clone)]
pub struct Options {
    /// Where to listen; port 0 takes any that is free.
    pub bind: SocketAddr,
    /// Accept an address that other machines can reach.
    pub allow_remote: bool,
    /// Where to keep the objects. `None`: a fresh temporary directory that is removed when the store stops. `Some`: a
    /// new or empty directory, or one of an earlier store, whose objects are there again; it stays.
    pub directory: Option<PathBuf>,
    /// `None`: random, see [`EmbeddedStore::access_key`].
    pub access_key: Option<String>,
    /// `None`: random, see [`EmbeddedStore::secret_key`].
    pub secret_key: Option<String>,
    /// Most bytes of objects and parts; a write beyond fails with status 507. `None`: until the disk is full.
    pub max_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            allow_remote: false,
            directory: None,
            access_key: None,
            secret_key: None,
            max_bytes: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("bind", &self.bind)
            .field("allow_remote", &self.allow_remote)
            .field("directory", &self.directory)
            .field("access_key", &self.access_key)
            .field("secret_key", &self.secret_key.as_ref().map(|_| "<hidden>"))
            .field("max_bytes", &self.max_bytes)
            .finish()
    }
}

/// A running store. It stops when it is dropped.
///
/// A process that is to end on SIGINT must catch the signal and drop or [`stop`](Self::stop) the store. What a killed
/// process leaves in the temporary directory is removed by the next start of a store on this machine.
pub struct EmbeddedStore {
    server: Server,
    store: Arc<Store>,
    home: Home,
    address: SocketAddr,
    access_key: String,
    secret_key: String,
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStore")
            .field("endpoint", &self.endpoint())
            .field("directory", &self.directory())
            .field("access_key", &self.access_key)
            .finish_non_exhaustive()
    }
}

impl EmbeddedStore {
    /// Starts a store on threads of its own and returns when it accepts connections. Needs no async runtime and may be
    /// called inside one.
    ///
    /// # Errors
    /// When the address cannot be bound or is not loopback, the directory is not usable or in use, or the keys are no
    /// keys; see [`Error`].
    pub fn start(options: Options) -> Result<Self, Error> {
        if !options.allow_remote && !options.bind.ip().is_loopback() {
            return Err(Error::NotLoopback(options.bind));
        }
        let (access_key, secret_key) = keys::choose(options.access_key, options.secret_key)?;
        let failed = |source| Error::Listen { address: options.bind, source };
        let listener = server::listen(options.bind).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let home = match &options.directory {
            Some(path) => Home::kept(path)?,
            None => Home::temporary(&std::env::temp_dir())?,
        };
        let started = Store::open(home.path(), options.max_bytes).map(Arc::new).and_then(|store| {
            let mut builder = S3ServiceBuilder::new(Protocol::new(Arc::clone(&store)));
            builder.set_auth(Keys { access: access_key.clone(), secret: secret_key.clone().into() });
            let mut config = S3Config::default();
            config.post_object_max_file_size = MOST_FORM_BYTES;
            builder.set_config(Arc::new(StaticConfigProvider::new(Arc::new(config))));
            Ok((Server::start(listener, builder.build())?, store))
        });
        match started {
            Ok((server, store)) => Ok(Self { server, store, home, address, access_key, secret_key }),
            Err(error) => {
                let _ = home.remove();
                Err(error)
            }
        }
    }

    /// `http://127.0.0.1:<port>`, or the address it was bound to. Buckets are in the path.
    #[must_use]
    pub fn endpoint(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address {
                SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
                SocketAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
            });
        }
        format!("http://{address}")
    }

    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The access key that clients sign with.
    #[must_use]
    pub fn access_key(&self) -> &str {
        &self.access_key
    }

    /// The secret key that clients sign with.
    #[must_use]
    pub fn secret_key(&self) -> &str {
        &self.secret_key
    }

    /// Where the objects are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.home.path()
    }

    /// Bytes of all objects, of the parts of unfinished uploads, and of writes that run.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.store.used_bytes()
    }

    /// Stops: no new connections, up to three seconds for requests that run, then the temporary directory is removed.
    /// Blocks for that long.
    ///
    /// # Errors
    /// [`Error::Remove`] when the temporary directory is still there.
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        self.server.stop();
        self.home.remove()
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
