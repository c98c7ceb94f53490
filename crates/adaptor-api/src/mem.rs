//! A store in this process's memory: the reference that the conformance suite was written against, and the store of the
//! engine's own tests. It does not prove anything about sockets.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{
    Adaptor, BodySink, BodySource, ByteRange, BytesSource, Capability, Client, Error, ErrorKind, ListPage,
    ListRequest, Marks, MultipartPlan, ObjectName, OpFuture, PutOptions, PutOutcome, ReadOutcome, Result,
    Session,
};

type Containers = BTreeMap<String, BTreeMap<String, Arc<Vec<u8>>>>;

/// The store; clones share their content.
#[derive(Debug, Clone, Default)]
pub struct Mem {
    containers: Arc<Mutex<Containers>>,
}

impl Mem {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Containers> {
        self.containers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names of the objects of a container, sorted; empty if there is no such container.
    #[must_use]
    pub fn names(&self, container: &str) -> Vec<String> {
        self.lock().get(container).map(|objects| objects.keys().cloned().collect()).unwrap_or_default()
    }

    /// Content of an object.
    #[must_use]
    pub fn content(&self, container: &str, object: &str) -> Option<Arc<Vec<u8>>> {
        self.lock().get(container)?.get(object).cloned()
    }

    /// Stores an object, creating its container.
    pub fn insert(&self, container: &str, object: &str, content: Vec<u8>) {
        self.lock().entry(container.to_owned()).or_default().insert(object.to_owned(), Arc::new(content));
    }

    /// Names of the containers, sorted.
    #[must_use]
    pub fn container_names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    fn find(&self, name: ObjectName<'_>) -> Result<Arc<Vec<u8>>> {
        let containers = self.lock();
        let objects = containers.get(name.container).ok_or_else(|| no_container(name.container))?;
        objects.get(name.object).cloned().ok_or_else(|| {
            Error::new(ErrorKind::Status(404), format!("no object {}/{}", name.container, name.object))
                .with_code("NoSuchKey")
        })
    }

    fn write(&self, name: ObjectName<'_>, body: &dyn BodySource) -> Result<PutOutcome> {
        let mut content = vec![0; usize::try_from(body.len()).unwrap_or(usize::MAX)];
        body.copy_to(0, &mut content).map_err(|cause| Error::new(ErrorKind::LocalIo, cause.to_string()))?;
        let mut containers = self.lock();
        let objects = containers.get_mut(name.container).ok_or_else(|| no_container(name.container))?;
        objects.insert(name.object.to_owned(), Arc::new(content));
        Ok(PutOutcome { bytes: body.len(), accepted_only: false })
    }

    fn page(&self, request: &ListRequest<'_>) -> Result<ListPage> {
        request.without_delimiter()?;
        let containers = self.lock();
        let names: Vec<String> = if request.container.is_empty() {
            containers.keys().cloned().collect()
        } else {
            let objects = containers.get(request.container).ok_or_else(|| no_container(request.container))?;
            objects.keys().cloned().collect()
        };
        let size = request.page_size.unwrap_or(1000) as usize;
        let mut rest = names.into_iter().filter(|name| {
            name.starts_with(request.prefix) && request.after.is_none_or(|after| name.as_str() > after)
        });
        let names: Vec<String> = rest.by_ref().take(size).collect();
        let next = if rest.next().is_some() { names.last().cloned() } else { None };
        let bytes = names.iter().map(|name| name.len() as u64 + 1).sum();
        let count = names.len() as u64;
        Ok(ListPage { count, names: if request.want_names { names } else { Vec::new() }, next, bytes })
    }
}

fn no_container(container: &str) -> Error {
    Error::new(ErrorKind::Status(404), format!("no container {container}"))
        .with_code("NoSuchBucket")
        .with_hint("create it with an init stage")
}

/// What [`Mem`] can do.
pub const CAPABILITY: Capability = Capability::of(&[
    Capability::STORE,
    Capability::CONTAINERS,
    Capability::HEAD,
    Capability::LIST,
    Capability::RANGE,
    Capability::MULTIPART,
    Capability::CHUNKED,
    Capability::COPY,
    Capability::BULK_DELETE,
    Capability::METADATA,
    Capability::DELETE_MISSING_FAILS,
]);

impl Adaptor for Mem {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    fn timeout(&self) -> Option<Duration> {
        None
    }

    fn client(&self, _session: &Arc<Session>) -> Result<Box<dyn Client>> {
        Ok(Box::new(self.clone()))
    }
}

impl Client for Mem {
    fn set_session(&mut self, _session: &Arc<Session>) {}

    fn probe<'a>(&'a mut self, _marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(ready(Ok(())))
    }

    fn get<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        range: Option<ByteRange>,
        sink: Option<&'a mut dyn BodySink>,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, ReadOutcome> {
        let found = self.find(name).and_then(|content| {
            let part = match range {
                None => &content[..],
                Some(range) => cut(&content, range)?,
            };
            marks.first_byte();
            if let Some(sink) = sink {
                sink.accept(part);
            }
            marks.body_bytes = part.len() as u64;
            Ok(ReadOutcome { bytes: part.len() as u64 })
        });
        Box::pin(ready(found))
    }

    fn put<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        _options: PutOptions,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        marks.body_bytes = body.len();
        Box::pin(ready(self.write(name, body)))
    }

    fn delete<'a>(&'a mut self, name: ObjectName<'a>, _marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let result = self.find(name).map(|_| {
            if let Some(objects) = self.lock().get_mut(name.container) {
                objects.remove(name.object);
            }
        });
        Box::pin(ready(result))
    }

    fn head<'a>(&'a mut self, name: ObjectName<'a>, _marks: &'a mut Marks) -> OpFuture<'a, Option<u64>> {
        Box::pin(ready(self.find(name).map(|content| Some(content.len() as u64))))
    }

    fn list<'a>(&'a mut self, request: ListRequest<'a>, _marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        Box::pin(ready(self.page(&request)))
    }

    fn put_multipart<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        _plan: MultipartPlan,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        marks.body_bytes = body.len();
        Box::pin(ready(self.write(name, body)))
    }

    fn copy<'a>(
        &'a mut self,
        from: ObjectName<'a>,
        to: ObjectName<'a>,
        _marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        let copied = self.find(from).and_then(|content| self.write(to, &BytesSource(&content)));
        Box::pin(ready(copied))
    }

    fn delete_many<'a>(
        &'a mut self,
        container: &'a str,
        objects: &'a [String],
        _marks: &'a mut Marks,
    ) -> OpFuture<'a, ()> {
        let result = match self.lock().get_mut(container) {
            Some(present) => {
                objects.iter().for_each(|object| drop(present.remove(object)));
                Ok(())
            }
            None => Err(no_container(container)),
        };
        Box::pin(ready(result))
    }

    fn set_metadata<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        _key: &'a str,
        _value: &'a str,
        _marks: &'a mut Marks,
    ) -> OpFuture<'a, ()> {
        Box::pin(ready(self.find(name).map(drop)))
    }

    fn create_container<'a>(&'a mut self, container: &'a str, _marks: &'a mut Marks) -> OpFuture<'a, ()> {
        self.lock().entry(container.to_owned()).or_default();
        Box::pin(ready(Ok(())))
    }

    fn delete_container<'a>(&'a mut self, container: &'a str, _marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let mut containers = self.lock();
        let result = match containers.get(container) {
            Some(objects) if !objects.is_empty() => Err(Error::new(
                ErrorKind::Status(409),
                format!("container {container} holds {} objects", objects.len()),
            )
            .with_code("BucketNotEmpty")),
            _ => {
                containers.remove(container);
                Ok(())
            }
        };
        Box::pin(ready(result))
    }
}

fn cut(content: &[u8], range: ByteRange) -> Result<&[u8]> {
    let len = content.len() as u64;
    if range.first >= len || range.last < range.first {
        return Err(Error::new(ErrorKind::Status(416), format!("the object has {len} bytes")));
    }
    let first = usize::try_from(range.first).unwrap_or(usize::MAX);
    let last = usize::try_from(range.last.min(len - 1)).unwrap_or(usize::MAX);
    Ok(&content[first..=last])
}
