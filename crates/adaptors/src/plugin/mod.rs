//! The `plugin` storage: an adaptor in a shared library, spoken to through the C interface in
//! `include/cosmark_adaptor.h`. How to write one: `docs/extend/adaptor-plugin.md`.
//!
//! A plugin that blocks runs on the runtime's pool of threads, another one answers from threads of its own; either way the
//! load thread waits for a wake-up, and body bytes are copied once. A call that the engine drops is cancelled; the worker goes
//! on with a new client, and the old one is given back when its last operation is complete.

mod abi;
mod call;
mod handle;
mod load;

use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, BodySink, BodySource, ByteRange, Capability, Client, Error, ErrorKind, Key, KeyKind,
    ListPage, ListRequest, Marks, ObjectName, OpFuture, PutOptions, PutOutcome, ReadOutcome, Result, Session,
    SessionPart, Settings,
};

use abi::Op;
use call::{Asked, Call, Done};
use handle::{Handle, Store, c_text};

use crate::common_keys::TIMEOUT;
pub use load::declares_secret;

/// Keys that every plugin has.
const KEYS: &[Key] = &[
    Key::new("path", KeyKind::Library, "the shared library on the driver, full path"),
    TIMEOUT,
    Key::new(
        "max_body",
        KeyKind::Size,
        "largest object that may be written: a plugin is given the whole body at once",
    )
    .default("256MiB"),
];

/// The row of the table of adaptors; each plugin has a row of its own, see [`row_of`].
pub const DEF: AdaptorDef = AdaptorDef {
    name: "plugin",
    aliases: &[],
    summary: "an adaptor of your own in a shared library; it adds its own keys",
    keys: KEYS,
    capability: Capability::of(&[
        Capability::STORE,
        Capability::CONTAINERS,
        Capability::HEAD,
        Capability::LIST,
        Capability::RANGE,
    ]),
    open,
    lacks: AdaptorDef::lacks_nothing,
    takes: |_| &SessionPart::ALL,
};

/// The row of the plugin at `path`: its name, summary, keys and capability. Loads the library.
///
/// # Errors
/// `Config`: it cannot be loaded, or is no plugin for this version.
pub fn row_of(path: &str) -> Result<&'static AdaptorDef> {
    if path.is_empty() {
        return Err(Error::new(ErrorKind::Config, "a plugin needs the key `path`")
            .with_hint("add `path=/full/path/of/the/library.so` to the config"));
    }
    load::load(Path::new(path)).map(|plugin| &plugin.def)
}

struct PluginStore {
    store: Arc<Store>,
    capability: Capability,
    is_blocking: bool,
    timeout: Option<Duration>,
    most_body_bytes: u64,
}

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    let plugin = load::load(Path::new(&settings.required("path")?))?;
    let mut values = Vec::new();
    for key in plugin.def.keys.iter().filter(|key| KEYS.iter().all(|own| own.name != key.name)) {
        if let Some(value) = settings.get(key.name) {
            let value = match key.kind {
                KeyKind::Bool => settings.flag(key.name).to_string(),
                KeyKind::Duration => settings.duration(key.name).unwrap_or_default().as_millis().to_string(),
                KeyKind::Size => settings.size_bytes(key.name).unwrap_or_default().to_string(),
                _ => value.to_owned(),
            };
            values.push((c_text(key.name)?, c_text(&value)?));
        }
    }
    Ok(Arc::new(PluginStore {
        store: Arc::new(Store::open(plugin.table, &values)?),
        capability: plugin.def.capability,
        is_blocking: plugin.table.flags & abi::BLOCKING != 0,
        timeout: settings.duration("timeout").filter(|limit| !limit.is_zero()),
        most_body_bytes: settings.size_bytes("max_body").unwrap_or(256 << 20),
    }))
}

impl Adaptor for PluginStore {
    fn capability(&self) -> Capability {
        self.capability
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn client(&self, session: &Arc<Session>) -> Result<Box<dyn Client>> {
        Ok(Box::new(PluginClient {
            handle: Some(Handle::connect(&self.store, session)?),
            store: Arc::clone(&self.store),
            session: Arc::clone(session),
            is_blocking: self.is_blocking,
            most_body_bytes: self.most_body_bytes,
            body: Vec::new(),
        }))
    }
}

struct PluginClient {
    store: Arc<Store>,
    session: Arc<Session>,
    /// `None` after a call was dropped: its client is still busy with it.
    handle: Option<Arc<Handle>>,
    is_blocking: bool,
    most_body_bytes: u64,
    /// Memory of the last body.
    body: Vec<u8>,
}

/// An operation before its texts are copied.
#[derive(Default)]
struct Ask<'a> {
    container: &'a str,
    object: &'a str,
    range: Option<ByteRange>,
    list: Option<ListRequest<'a>>,
    body: Option<&'a dyn BodySource>,
}

impl<'a> Ask<'a> {
    fn object(name: ObjectName<'a>) -> Self {
        Self { container: name.container, object: name.object, ..Self::default() }
    }

    fn container(container: &'a str) -> Self {
        Self { container, ..Self::default() }
    }
}

/// What is there at the end of a call.
struct Over {
    done: Done,
    bytes: u64,
    names: Vec<String>,
    name_count: u64,
}

impl PluginClient {
    fn asked(&mut self, op: Op, ask: &Ask<'_>, wants: bool) -> Result<Asked> {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        if let Some(source) = ask.body {
            if source.len() > self.most_body_bytes {
                let message =
                    format!("an object of {} bytes is more than a plugin is given at once", source.len());
                return Err(Error::new(ErrorKind::Config, message).with_hint(format!(
                    "raise `max_body` (now {}), or write smaller objects",
                    self.most_body_bytes
                )));
            }
            body.resize(usize::try_from(source.len()).unwrap_or(usize::MAX), 0);
            source.copy_to(0, &mut body).map_err(|error| {
                Error::new(ErrorKind::LocalIo, format!("the content to be written cannot be read: {error}"))
            })?;
        }
        let list = ask.list.unwrap_or_default();
        Ok(Asked {
            op,
            container: c_text(ask.container)?,
            object: c_text(ask.object)?,
            range: ask.range.map(|range| (range.first, range.last)),
            prefix: c_text(list.prefix)?,
            after: list.after.map(c_text).transpose()?,
            page_size: list.page_size.unwrap_or(0),
            body,
            want_data: wants,
        })
    }

    async fn perform(
        &mut self,
        op: Op,
        ask: Ask<'_>,
        sink: Option<&mut dyn BodySink>,
        marks: &mut Marks,
    ) -> Result<Over> {
        let wants = sink.is_some() || ask.list.is_some_and(|list| list.want_names);
        let asked = self.asked(op, &ask, wants)?;
        let handle = match self.handle.take() {
            Some(handle) => handle,
            None => Handle::connect(&self.store, &self.session)?,
        };
        marks.requests += 1;
        let already = (marks.requests, marks.retries, marks.connections, marks.connect_ns);
        let call = Call::new(asked, Arc::clone(&handle), self.is_blocking);
        let mut flight = Flight { call: Some(Arc::clone(&call)), sink, marks, already };
        if self.is_blocking {
            // The handle is not awaited: the end is what `complete` says, and dropping it stops nothing.
            drop(tokio::task::spawn_blocking(move || call.start()));
        } else {
            call.start();
        }
        let over = std::future::poll_fn(|context| flight.poll(context)).await;
        self.handle = Some(handle);
        if let Some(call) = flight.call.take().and_then(Arc::into_inner) {
            self.body = call.into_body();
        }
        over
    }
}

/// Waits for a call; dropped before its end, it cancels it.
struct Flight<'a, 'sink> {
    call: Option<Arc<Call>>,
    sink: Option<&'a mut (dyn BodySink + 'sink)>,
    marks: &'a mut Marks,
    /// Marks before this call: requests, retries, connections, time to connect.
    already: (u32, u32, u32, u64),
}

impl Flight<'_, '_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Over>> {
        let Some(call) = &self.call else { return Poll::Pending };
        let (pending, answer, names, counts) = {
            let mut state = call.state();
            let pending = std::mem::take(&mut state.pending);
            let answer = state.answer.take();
            let names = if answer.is_some() { std::mem::take(&mut state.names) } else { Vec::new() };
            if answer.is_none() {
                state.waker = Some(context.waker().clone());
            }
            let (requests, retries, connections, connect_ns) = self.already;
            self.marks.requests = requests + state.requests;
            self.marks.retries = retries + state.retries;
            self.marks.connections = connections + state.connections;
            self.marks.connect_ns = connect_ns + state.connect_ns;
            if self.marks.first_byte_ns == 0 {
                self.marks.first_byte_ns = state.first_byte_ns;
            }
            self.marks.body_bytes = state.bytes;
            (pending, answer, names, (state.bytes, state.name_count))
        };
        if !pending.is_empty() {
            call.taken();
            if let Some(sink) = self.sink.as_deref_mut() {
                sink.accept(&pending);
            }
        }
        match answer {
            None => Poll::Pending,
            Some(answer) => {
                self.marks.status = answer.status;
                let over = answer.outcome;
                Poll::Ready(over.map(|done| Over { done, bytes: counts.0, names, name_count: counts.1 }))
            }
        }
    }
}

impl Drop for Flight<'_, '_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            call.cancel();
        }
    }
}

impl Client for PluginClient {
    fn set_session(&mut self, session: &Arc<Session>) {
        self.session = Arc::clone(session);
        self.handle = None;
    }

    fn probe<'a>(&'a mut self, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(async move { self.perform(Op::Probe, Ask::default(), None, marks).await.map(drop) })
    }

    fn get<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        range: Option<ByteRange>,
        sink: Option<&'a mut dyn BodySink>,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, ReadOutcome> {
        Box::pin(async move {
            let ask = Ask { range, ..Ask::object(name) };
            let over = self.perform(Op::Get, ask, sink, marks).await?;
            Ok(ReadOutcome { bytes: over.bytes })
        })
    }

    fn put<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        _options: PutOptions,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        Box::pin(async move {
            let ask = Ask { body: Some(body), ..Ask::object(name) };
            let over = self.perform(Op::Put, ask, None, marks).await?;
            let bytes = if over.done.bytes == 0 { body.len() } else { over.done.bytes };
            marks.body_bytes = bytes;
            Ok(PutOutcome { bytes, accepted_only: over.done.accepted_only })
        })
    }

    fn delete<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(async move { self.perform(Op::Delete, Ask::object(name), None, marks).await.map(drop) })
    }

    fn head<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, Option<u64>> {
        Box::pin(async move {
            let over = self.perform(Op::Head, Ask::object(name), None, marks).await?;
            Ok(Some(over.done.bytes))
        })
    }

    fn list<'a>(&'a mut self, request: ListRequest<'a>, marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        Box::pin(async move {
            request.without_delimiter()?;
            let ask = Ask { list: Some(request), ..Ask::container(request.container) };
            let over = self.perform(Op::List, ask, None, marks).await?;
            Ok(ListPage {
                count: over.name_count,
                names: over.names,
                next: over.done.next,
                bytes: over.bytes,
            })
        })
    }

    fn create_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(async move {
            self.perform(Op::CreateContainer, Ask::container(container), None, marks).await.map(drop)
        })
    }

    fn delete_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(async move {
            self.perform(Op::DeleteContainer, Ask::container(container), None, marks).await.map(drop)
        })
    }
}

#[cfg(test)]
mod tests;
