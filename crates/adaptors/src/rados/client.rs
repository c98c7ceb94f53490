//! One worker's client of a cluster.

use std::collections::{HashMap, VecDeque};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use cosmark_adaptor_api::{
    BodySink, BodySource, ByteRange, Client, Error, ErrorKind, ListPage, ListRequest, Marks, MultipartPlan,
    ObjectName, OpFuture, PutOptions, PutOutcome, ReadOutcome, Result, Session, clock,
};

use super::cluster::{Cluster, c_text, connected};
use super::config::Config;
use super::errors::{self, About};
use super::flight::{Airborne, Flight, Landed};
use super::pool::{self, Place, Pool, Wanted};

/// A read asks for a little more than a piece, so that one answer shows the end of an object that is just one piece long.
const READ_BEYOND: u64 = 4096;

/// Pools that one worker keeps open; when there are more, it opens them again.
const MOST_POOLS: usize = 256;

/// What the name of an object that is only asked for is.
const PROBE: &str = "cosmark-probe";

/// What all clients of one adaptor share.
pub(super) struct Shared {
    pub(super) config: Config,
    /// All containers are namespaces of this pool; `None` = each container is a pool.
    pub(super) pool: Option<String>,
    /// The namespace in pools that are containers.
    pub(super) namespace: String,
    /// Containers that are pools may be created, and deleted if they were.
    pub(super) create_pools: bool,
    /// Most bytes of one request.
    pub(super) piece_bytes: u64,
    pub(super) cluster: OnceLock<Arc<Cluster>>,
}

pub(super) struct RadosClient {
    shared: Arc<Shared>,
    pools: HashMap<String, OpenPool>,
    flight: Option<Arc<Flight>>,
    scratch: Vec<u8>,
    /// Where the last listing stopped, under the text that was given out for it.
    place: Option<(String, Place)>,
    places: u64,
}

struct OpenPool {
    pool: Arc<Pool>,
    namespace: String,
}

/// Runs on the runtime's blocking pool.
async fn blocking<T: Send + 'static>(job: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(job).await {
        Ok(result) => result,
        Err(_) => Err(Error::new(ErrorKind::Aborted, "the call was abandoned: the run is shutting down")),
    }
}

/// A failure is an answer too, if the cluster gave it.
fn failed(marks: &mut Marks, error: Error) -> Error {
    marks.status = error.status().unwrap_or(0);
    if marks.status != 0 {
        marks.first_byte();
    }
    error
}

/// Sets a flag when it is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl RadosClient {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, pools: HashMap::new(), flight: None, scratch: Vec::new(), place: None, places: 0 }
    }

    async fn cluster(&self, marks: &mut Marks) -> Result<Arc<Cluster>> {
        if let Some(cluster) = self.shared.cluster.get() {
            return Ok(Arc::clone(cluster));
        }
        let began_ns = clock::now_ns();
        let shared = Arc::clone(&self.shared);
        let cluster = blocking(move || connected(&shared.config)).await?;
        marks.connections += 1;
        marks.connect_ns += clock::now_ns().saturating_sub(began_ns);
        Ok(Arc::clone(self.shared.cluster.get_or_init(|| cluster)))
    }

    /// The pool's and the namespace's name of a container.
    fn address<'a>(shared: &'a Shared, container: &'a str) -> Result<(&'a str, &'a str)> {
        if container.is_empty() {
            return Err(Error::new(ErrorKind::Config, "the container has no name")
                .with_hint("set `cprefix` or a selector that gives names"));
        }
        Ok(match &shared.pool {
            Some(pool) => (pool, container),
            None => (container, &shared.namespace),
        })
    }

    /// The open pool of a container, its namespace set.
    async fn pool(&mut self, container: &str, marks: &mut Marks) -> Result<Arc<Pool>> {
        let shared = Arc::clone(&self.shared);
        let (name, namespace) = Self::address(&shared, container)?;
        if !self.pools.contains_key(name) {
            let cluster = self.cluster(marks).await?;
            let owned = name.to_owned();
            let pool = blocking(move || Pool::open(&cluster, &owned)).await?;
            if self.pools.len() >= MOST_POOLS {
                self.pools.clear();
            }
            self.pools.insert(name.to_owned(), OpenPool { pool: Arc::new(pool), namespace: String::new() });
        }
        let Some(open) = self.pools.get_mut(name) else {
            return Err(errors::no_pool(name));
        };
        if open.namespace != namespace {
            open.pool.set_namespace(namespace)?;
            namespace.clone_into(&mut open.namespace);
        }
        Ok(Arc::clone(&open.pool))
    }

    fn flight(&mut self, pool: &Pool) -> Arc<Flight> {
        self.flight.take().unwrap_or_else(|| Flight::new(pool.cluster.api))
    }

    /// Takes note of a call that came back.
    fn landed(&mut self, landed: Landed, flight: Arc<Flight>, marks: &mut Marks) -> i64 {
        if marks.first_byte_ns == 0 {
            marks.first_byte_ns = landed.at_ns;
        }
        self.flight = Some(flight);
        landed.result
    }

    async fn read(
        &mut self,
        name: ObjectName<'_>,
        range: Option<ByteRange>,
        mut sink: Option<&mut dyn BodySink>,
        marks: &mut Marks,
    ) -> Result<u64> {
        let pool = self.pool(name.container, marks).await?;
        let object = object_name(name)?;
        let about = About::Object("reading", name.container, name.object);
        let (first, end) = range.map_or((0, u64::MAX), |range| (range.first, range.last.saturating_add(1)));
        let mut at = first;
        while at < end {
            let wanted = (end - at).min(self.shared.piece_bytes + READ_BEYOND);
            let room = usize::try_from(wanted).unwrap_or(usize::MAX);
            marks.requests += 1;
            let call = self.flight(&pool).launch(&pool, room, |api, completion, target| {
                // SAFETY: pool and completion are open; the target has `room` bytes and lives until the completion.
                unsafe { (api.aio_read)(pool.raw, object.as_ptr(), completion, target.buffer, room, at) }
            });
            let (landed, flight) = call.map_err(|result| errors::answer(about, result))?.await;
            let Ok(got) = usize::try_from(landed.result) else {
                let result = self.landed(landed, flight, marks);
                return Err(errors::answer(about, result).with_partial_bytes(marks.body_bytes));
            };
            if let Some(sink) = sink.as_deref_mut() {
                sink.accept(flight.bytes(got));
            }
            self.landed(landed, flight, marks);
            marks.body_bytes += got as u64;
            at += got as u64;
            if got < room {
                break;
            }
        }
        if range.is_some() && at == first {
            let message = format!("byte {first} is behind the end of {}/{}", name.container, name.object);
            return Err(Error::new(ErrorKind::Status(416), message).with_code("InvalidRange"));
        }
        marks.status = if range.is_some() { 206 } else { 200 };
        Ok(at - first)
    }

    /// Writes in pieces of `piece_bytes`, at most `most` of them in flight. RADOS keeps the order of one client's writes to
    /// one object, so the first, which replaces the object, comes first.
    async fn write(
        &mut self,
        name: ObjectName<'_>,
        body: &dyn BodySource,
        (piece_bytes, most): (u64, usize),
        marks: &mut Marks,
    ) -> Result<u64> {
        let pool = self.pool(name.container, marks).await?;
        let object = object_name(name)?;
        let about = About::Object("writing", name.container, name.object);
        let mut flying: VecDeque<(Airborne<'_>, u64)> = VecDeque::new();
        let (total, mut at, mut first) = (body.len(), 0, true);
        while first || at < total || !flying.is_empty() {
            if (first || at < total) && flying.len() < most.max(1) {
                let len = (total - at).min(piece_bytes);
                self.fill(body, at, len)?;
                marks.requests += 1;
                let (data, offset) = (&self.scratch, at);
                let flight = self.flight.take().unwrap_or_else(|| Flight::new(pool.cluster.api));
                let call = flight.launch(&pool, 0, |api, completion, _| {
                    let (text, length) = (data.as_ptr().cast(), data.len());
                    // SAFETY: pool and completion are open; librados copies the data before it returns.
                    unsafe {
                        if offset == 0 {
                            (api.aio_write_full)(pool.raw, object.as_ptr(), completion, text, length)
                        } else {
                            (api.aio_write)(pool.raw, object.as_ptr(), completion, text, length, offset)
                        }
                    }
                });
                flying.push_back((call.map_err(|result| errors::answer(about, result))?, len));
                at += len;
                first = false;
                continue;
            }
            let Some((call, len)) = flying.pop_front() else { break };
            let (landed, flight) = call.await;
            let result = self.landed(landed, flight, marks);
            if result < 0 {
                return Err(errors::answer(about, result).with_partial_bytes(marks.body_bytes));
            }
            marks.body_bytes += len;
        }
        marks.status = 201;
        Ok(total)
    }

    fn fill(&mut self, body: &dyn BodySource, at: u64, len: u64) -> Result<()> {
        self.scratch.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
        body.copy_to(at, &mut self.scratch).map_err(|cause| {
            Error::new(ErrorKind::LocalIo, format!("cannot read what is to be written: {cause}"))
        })
    }

    async fn remove(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<()> {
        let pool = self.pool(name.container, marks).await?;
        let object = object_name(name)?;
        marks.requests += 1;
        let about = About::Object("deleting", name.container, name.object);
        let call = self.flight(&pool).launch(&pool, 0, |api, completion, _| {
            // SAFETY: pool and completion are open.
            unsafe { (api.aio_remove)(pool.raw, object.as_ptr(), completion) }
        });
        let (landed, flight) = call.map_err(|result| errors::answer(about, result))?.await;
        match self.landed(landed, flight, marks) {
            0.. => {
                marks.status = 204;
                Ok(())
            }
            result => Err(errors::answer(about, result)),
        }
    }

    async fn stat(&mut self, name: ObjectName<'_>, marks: &mut Marks) -> Result<u64> {
        let pool = self.pool(name.container, marks).await?;
        let object = object_name(name)?;
        marks.requests += 1;
        let about = About::Object("asking for", name.container, name.object);
        let call = self.flight(&pool).launch(&pool, 0, |api, completion, target| {
            // SAFETY: pool and completion are open; the target lives until the completion.
            unsafe { (api.aio_stat)(pool.raw, object.as_ptr(), completion, target.size, target.modified) }
        });
        let (landed, flight) = call.map_err(|result| errors::answer(about, result))?.await;
        let size = if landed.result < 0 { 0 } else { flight.size() };
        match self.landed(landed, flight, marks) {
            0.. => {
                marks.status = 200;
                Ok(size)
            }
            result => Err(errors::answer(about, result)),
        }
    }

    /// Connects, and asks for an object of the pool if there is one for all containers.
    async fn ask(&mut self, marks: &mut Marks) -> Result<()> {
        self.cluster(marks).await?;
        if self.shared.pool.is_none() {
            return Ok(());
        }
        match self.stat(ObjectName { container: PROBE, object: PROBE }, marks).await {
            Err(error) if error.kind() != ErrorKind::Status(404) || error.code() == Some("NoSuchPool") => {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    async fn page(&mut self, request: ListRequest<'_>, marks: &mut Marks) -> Result<ListPage> {
        request.without_delimiter()?;
        let cluster = self.cluster(marks).await?;
        marks.requests += 1;
        if request.container.is_empty() {
            return self.containers(cluster, request).await;
        }
        let wanted = Wanted::of(&request);
        let shared = Arc::clone(&self.shared);
        let (pool_name, namespace) = Self::address(&shared, request.container)?;
        let before = self.place.take();
        let place = match (request.after, before) {
            (None, _) => None,
            (Some(after), Some((known, place))) if known == after => Some(place),
            (Some(after), _) => {
                return Err(Error::new(ErrorKind::Config, format!("no listing stopped at `{after}`"))
                    .with_hint("only the worker that read a page can go on behind it"));
            }
        };
        let stop = StopOnDrop(Arc::default());
        let stopped = Arc::clone(&stop.0);
        let names = (pool_name.to_owned(), namespace.to_owned(), request.container.to_owned());
        let (place, mut page) = blocking(move || {
            let (pool_name, namespace, container) = names;
            let mut place = match place {
                Some(place) => place,
                None => {
                    // One of its own: the worker's may be given another namespace while this one is still at work.
                    let pool = Pool::open(&cluster, &pool_name)?;
                    pool.set_namespace(&namespace)?;
                    Place::begin(Arc::new(pool))
                }
            };
            let page = place.next_page(&wanted, &container, &stopped)?;
            Ok((place, page))
        })
        .await?;
        marks.first_byte();
        if !place.is_end() {
            self.places += 1;
            let token = format!("{}#{}", request.container, self.places);
            page.next = Some(token.clone());
            self.place = Some((token, place));
        }
        (marks.status, marks.body_bytes) = (200, page.bytes);
        Ok(page)
    }

    /// The names of pools, where pools are containers.
    async fn containers(&self, cluster: Arc<Cluster>, request: ListRequest<'_>) -> Result<ListPage> {
        if self.shared.pool.is_some() {
            return Err(Error::new(ErrorKind::Unsupported, "Ceph cannot list the namespaces of a pool")
                .with_hint("give the list operation containers"));
        }
        let mut page = crate::name_page::NamePage::new(&request);
        let names = blocking(move || pool::names(&cluster)).await?;
        let bytes = names.iter().map(|name| name.len() as u64).sum();
        names.iter().for_each(|name| page.offer(name));
        Ok(page.finish(bytes))
    }

    async fn create(&mut self, container: &str, marks: &mut Marks) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let (name, _) = Self::address(&shared, container)?;
        let cluster = self.cluster(marks).await?;
        let name = name.to_owned();
        let creates = shared.create_pools && shared.pool.is_none();
        marks.requests += 1;
        blocking(move || match creates {
            true => pool::create(&cluster, &name),
            false if pool::exists(&cluster, &name)? => Ok(()),
            false => Err(errors::no_pool(&name)),
        })
        .await?;
        marks.first_byte();
        marks.status = 201;
        Ok(())
    }

    async fn destroy(&mut self, container: &str, marks: &mut Marks) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let (name, namespace) = Self::address(&shared, container)?;
        let cluster = self.cluster(marks).await?;
        let names = (name.to_owned(), namespace.to_owned(), container.to_owned());
        marks.requests += 1;
        if shared.pool.is_some() {
            // A namespace is not there any more when nothing is in it.
            blocking(move || {
                let pool = Pool::open(&cluster, &names.0)?;
                pool.set_namespace(&names.1)?;
                pool::refuse_unless_empty(pool, &names.2)
            })
            .await?;
        } else if shared.create_pools {
            self.pools.remove(name);
            blocking(move || pool::delete(&cluster, &names.0)).await?;
        }
        marks.first_byte();
        marks.status = 204;
        Ok(())
    }
}

fn object_name(name: ObjectName<'_>) -> Result<CString> {
    if name.object.is_empty() {
        return Err(Error::new(ErrorKind::Config, "the object has no name")
            .with_hint("set `oprefix` or a selector that gives names"));
    }
    c_text(name.object, "the object's name")
}

impl Client for RadosClient {
    fn set_session(&mut self, _session: &Arc<Session>) {}

    fn probe<'a>(&'a mut self, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(async move { self.ask(marks).await.map_err(|error| failed(marks, error)) })
    }

    fn get<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        range: Option<ByteRange>,
        sink: Option<&'a mut dyn BodySink>,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, ReadOutcome> {
        Box::pin(async move {
            match self.read(name, range, sink, marks).await {
                Ok(bytes) => Ok(ReadOutcome { bytes }),
                Err(error) => Err(failed(marks, error)),
            }
        })
    }

    fn put<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        _options: PutOptions,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        let plan = (self.shared.piece_bytes, 1);
        Box::pin(async move {
            match self.write(name, body, plan, marks).await {
                Ok(bytes) => Ok(PutOutcome { bytes, accepted_only: false }),
                Err(error) => Err(failed(marks, error)),
            }
        })
    }

    fn put_multipart<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        plan: MultipartPlan,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        Box::pin(async move {
            let most = usize::try_from(plan.concurrency).unwrap_or(1);
            match self.write(name, body, (plan.part_size_bytes.max(1), most), marks).await {
                Ok(bytes) => Ok(PutOutcome { bytes, accepted_only: false }),
                Err(error) => {
                    if marks.body_bytes > 0 {
                        // What was written of it; that it failed is told by the error that we have.
                        let _ = self.remove(name, marks).await;
                    }
                    Err(failed(marks, error))
                }
            }
        })
    }

    fn delete<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(async move { self.remove(name, marks).await.map_err(|error| failed(marks, error)) })
    }

    fn head<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, Option<u64>> {
        Box::pin(async move { self.stat(name, marks).await.map(Some).map_err(|error| failed(marks, error)) })
    }

    fn list<'a>(&'a mut self, request: ListRequest<'a>, marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        Box::pin(async move { self.page(request, marks).await.map_err(|error| failed(marks, error)) })
    }

    fn create_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(async move { self.create(container, marks).await.map_err(|error| failed(marks, error)) })
    }

    fn delete_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(async move { self.destroy(container, marks).await.map_err(|error| failed(marks, error)) })
    }
}
