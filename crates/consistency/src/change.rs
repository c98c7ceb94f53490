//! One change of a key: what it writes, what the register holds after it, and the requests that make it and look at it.

use std::time::Duration;

use cosmark_adaptor_api::{
    BytesSource, Client, CollectSink, Error, ErrorKind, ListRequest, Marks, ObjectName, PutOptions, clock,
};
use cosmark_history::{ABSENT, Kind, Operation, Outcome};

use crate::Class;

/// Bytes of a version.
const BYTES: usize = 1024;
/// Changes of a key: a first write, an overwrite, a delete, and once more. A key that lives longer begins anew behind them.
pub(crate) const CHANGES: u64 = 5;

/// Where keys are, and how long a request may take.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) container: &'a str,
    pub(crate) patience: Duration,
}

impl Place<'_> {
    async fn within<T>(self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::time::timeout(self.patience, call).await.unwrap_or_else(|_| {
            let message = format!("no answer within {:.0} s", self.patience.as_secs_f64());
            Err(Error::new(ErrorKind::Timeout, message))
        })
    }
}

fn content(key: u32, version: u64) -> Vec<u8> {
    let mut bytes = format!("cosmark probe, key {key}, version {version}, ").into_bytes();
    bytes.resize(BYTES, b'.');
    bytes
}

/// The version that a content says; `None`: it is none of this key.
fn version_of(bytes: &[u8], key: u32) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let rest = text.strip_prefix(&format!("cosmark probe, key {key}, version "))?;
    let version = rest.split(',').next()?.parse().ok()?;
    (content(key, version) == bytes).then_some(version)
}

/// One change of a key.
pub(crate) struct Change<'a> {
    pub(crate) key: u32,
    pub(crate) version: u64,
    pub(crate) object: &'a str,
    /// Its writer; its readers have the numbers behind.
    pub(crate) processes: u32,
}

impl Change<'_> {
    /// From 1 to [`CHANGES`].
    fn turn(&self) -> u64 {
        self.version.saturating_sub(1) % CHANGES + 1
    }

    /// The third is a delete; the fourth writes what was deleted again.
    pub(crate) fn is_delete(&self) -> bool {
        self.turn() == 3 || self.turn() == CHANGES
    }

    /// Another one for each change.
    pub(crate) fn number(&self) -> u64 {
        u64::from(self.key).saturating_mul(CHANGES).saturating_add(self.version)
    }

    /// What the register holds after it.
    pub(crate) fn value(&self) -> u64 {
        if self.is_delete() { ABSENT } else { self.version }
    }

    pub(crate) fn class(&self) -> Class {
        match self.turn() {
            1 | 4 => Class::ReadAfterCreate,
            2 => Class::ReadAfterOverwrite,
            _ => Class::ReadAfterDelete,
        }
    }

    pub(crate) fn class_of_list(&self) -> Option<Class> {
        match self.class() {
            Class::ReadAfterCreate => Some(Class::ListAfterCreate),
            Class::ReadAfterDelete => Some(Class::ListAfterDelete),
            _ => None,
        }
    }

    /// Makes it, as process `process` of the history.
    pub(crate) async fn make(
        &self,
        place: Place<'_>,
        client: &mut dyn Client,
        marks: &mut Marks,
        process: u32,
    ) -> (Operation, Result<(), Error>) {
        let name = ObjectName { container: place.container, object: self.object };
        let bytes = content(self.key, self.version);
        let (source, call_ns) = (BytesSource(&bytes), clock::now_ns());
        let result = if self.is_delete() {
            place.within(client.delete(name, marks)).await
        } else {
            place.within(client.put(name, &source, PutOptions::default(), marks)).await.map(drop)
        };
        let kind = if self.is_delete() { Kind::Delete } else { Kind::Write };
        let outcome = if result.is_ok() { Outcome::Done } else { Outcome::Unknown };
        (self.operation(kind, process, call_ns, self.value(), outcome), result)
    }

    /// Reads its object, as process `process` of the history.
    pub(crate) async fn read(
        &self,
        place: Place<'_>,
        client: &mut dyn Client,
        marks: &mut Marks,
        process: u32,
    ) -> Result<Operation, Error> {
        let name = ObjectName { container: place.container, object: self.object };
        let (mut sink, call_ns) = (CollectSink::new(BYTES * 4), clock::now_ns());
        let value = match place.within(client.get(name, None, Some(&mut sink), marks)).await {
            // What is no version of this key was written by nobody.
            Ok(_) => version_of(&sink.bytes, self.key).unwrap_or(u64::MAX),
            Err(error) if error.status() == Some(404) => ABSENT,
            Err(error) => return Err(error),
        };
        Ok(self.operation(Kind::Read, process, call_ns, value, Outcome::Done))
    }

    /// Lists its object; true: the listing does not show it yet.
    pub(crate) async fn list(
        &self,
        place: Place<'_>,
        client: &mut dyn Client,
        marks: &mut Marks,
    ) -> Result<bool, Error> {
        let request = ListRequest {
            container: place.container,
            prefix: self.object,
            page_size: Some(10),
            want_names: true,
            ..ListRequest::default()
        };
        let page = place.within(client.list(request, marks)).await?;
        let is_there = page.names.iter().any(|name| name == self.object);
        Ok(is_there == self.is_delete())
    }

    /// What a request that ends now was.
    fn operation(&self, kind: Kind, process: u32, call_ns: u64, value: u64, outcome: Outcome) -> Operation {
        Operation { call_ns, return_ns: clock::now_ns(), value, key: self.key, process, kind, outcome }
    }
}
