//! The identity that a connection speaks for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::nats::sign::Identity;

/// Who speaks, and what the cluster publishes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Speaker {
    pub(super) identity: Option<Arc<Identity>>,
    pub(super) published: Arc<Mutex<Option<String>>>,
    /// Drivers whose registrations were proved: key, key for sealing, proof. They say it again every two seconds.
    pub(super) proved: Arc<Mutex<HashMap<String, Proof>>>,
}

type Proof = (String, [u8; 32], Vec<u8>);
