//! A write in parts that has begun and not ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::object::Attributes;
use crate::digest::{Algorithm, Digest};

/// One part as it was written last.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) file: u64,
    pub(crate) size_bytes: u64,
    pub(crate) md5: [u8; 16],
    pub(crate) modified: SystemTime,
    pub(crate) digest: Option<Digest>,
}

/// Parts by number, and whether more are taken.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) closed: bool,
    pub(crate) by_number: BTreeMap<u16, Arc<Part>>,
}

/// One upload.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) started: SystemTime,
    pub(crate) attributes: Arc<Attributes>,
    pub(crate) algorithm: Option<Algorithm>,
    parts: Mutex<Parts>,
}

impl Upload {
    pub(crate) fn new(attributes: Attributes, algorithm: Option<Algorithm>) -> Self {
        let parts = Mutex::default();
        Self { started: SystemTime::now(), attributes: Arc::new(attributes), algorithm, parts }
    }

    pub(crate) fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
