//! How to reach a cluster, and what librados is told of it.

use std::path::PathBuf;
use std::time::Duration;

use cosmark_adaptor_api::Secret;

/// How to reach a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    /// The library's file.
    pub(super) library: String,
    /// Monitors; `None` = those of `conf`.
    pub(super) mon_host: Option<String>,
    /// A configuration file of Ceph.
    pub(super) conf: Option<PathBuf>,
    /// Without `client.` before it.
    pub(super) user: String,
    /// Its key; may be empty.
    pub(super) key: Secret,
    /// A file with its key.
    pub(super) keyring: Option<PathBuf>,
    /// Without one, look for the user's key where Ceph's own tools keep theirs (`/etc/ceph/..`).
    pub(super) usual_keyrings: bool,
    /// For the first answer of a monitor.
    pub(super) connect_timeout: Duration,
    /// For each answer after that; `None` = no limit.
    pub(super) timeout: Option<Duration>,
}

impl Config {
    /// What the user gave as the place.
    pub(super) fn place(&self) -> String {
        match (&self.mon_host, &self.conf) {
            (Some(host), _) => host.clone(),
            (None, Some(conf)) => conf.display().to_string(),
            (None, None) => String::new(),
        }
    }

    /// The user said where the key is.
    pub(super) fn has_key(&self) -> bool {
        !self.key.is_empty() || self.keyring.is_some() || self.conf.is_some()
    }

    /// Options of librados and their values, in the order in which they are set.
    pub(super) fn options(&self) -> Vec<(&'static str, String)> {
        let seconds = |limit: Duration| limit.as_secs_f64().ceil().max(1.0).to_string();
        // Calls over our own limit are cancelled by us; these are a second net. The first must be there even without a
        // limit: only then does librados not read from the network straight into the buffer of a call, which it would go
        // on doing after the call was cancelled (Objecter::_send_op; https://tracker.ceph.com/issues/9582).
        let osd_limit = self.timeout.map_or(NO_LIMIT, |limit| limit + Duration::from_secs(2));
        let mut options = vec![
            ("client_mount_timeout", seconds(self.connect_timeout)),
            ("rados_osd_op_timeout", seconds(osd_limit)),
            // A client that may have only so many calls in flight blocks its caller at the next: a load thread with all
            // its workers. The number of workers is the limit here.
            ("objecter_inflight_ops", "0".to_owned()),
            ("objecter_inflight_op_bytes", "0".to_owned()),
            ("log_to_stderr", "false".to_owned()),
            ("err_to_stderr", "false".to_owned()),
        ];
        if let Some(limit) = self.timeout {
            options.push(("rados_mon_op_timeout", seconds(limit)));
        }
        if let Some(host) = &self.mon_host {
            options.push(("mon_host", host.clone()));
        }
        if let Some(keyring) = &self.keyring {
            options.push(("keyring", keyring.display().to_string()));
        }
        if !self.key.is_empty() {
            options.push(("key", self.key.expose().to_owned()));
        }
        options
    }
}

/// Longer than any operation of a benchmark.
const NO_LIMIT: Duration = Duration::from_secs(86_400);
