//! A wrapper around any client that delays, fails or hangs calls by a script: what the engine's own tests use to prove
//! stops, time limits, error counts and window rules. It says nothing about sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{
    Adaptor, BodySink, BodySource, ByteRange, Capability, Client, Error, ListPage, ListRequest, Marks,
    MultipartPlan, ObjectName, OpFuture, PutOptions, PutOutcome, ReadOutcome, Result, Session,
};

/// What to do with the n-th call (counted from 0 over all clients of one [`Faulty`]).
pub type Script = Arc<dyn Fn(u64) -> Act + Send + Sync>;

/// One call's fate.
#[derive(Debug, Clone, Default)]
pub struct Act {
    /// Wait first.
    pub delay: Duration,
    /// Then fail with this instead of calling the store.
    pub error: Option<Error>,
    /// Never answer.
    pub hang: bool,
}

/// An adaptor with a script in front.
#[derive(Clone)]
pub struct Faulty<A> {
    inner: A,
    script: Script,
    calls: Arc<AtomicU64>,
    timeout: Option<Duration>,
}

impl<A: Adaptor> Faulty<A> {
    /// Puts `script` in front of `inner`.
    pub fn new(inner: A, script: impl Fn(u64) -> Act + Send + Sync + 'static) -> Self {
        Self { inner, script: Arc::new(script), calls: Arc::new(AtomicU64::new(0)), timeout: None }
    }

    /// With a time limit per call.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Calls so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

impl<A: Adaptor> Adaptor for Faulty<A> {
    fn capability(&self) -> Capability {
        self.inner.capability()
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout.or(self.inner.timeout())
    }

    fn client(&self, session: &Arc<Session>) -> Result<Box<dyn Client>> {
        let inner = self.inner.client(session)?;
        Ok(Box::new(FaultyClient { inner, script: Arc::clone(&self.script), calls: Arc::clone(&self.calls) }))
    }
}

struct FaultyClient {
    inner: Box<dyn Client>,
    script: Script,
    calls: Arc<AtomicU64>,
}

impl FaultyClient {
    fn next(&self) -> Act {
        (self.script)(self.calls.fetch_add(1, Ordering::Relaxed))
    }
}

async fn act(act: Act) -> Result<()> {
    if !act.delay.is_zero() {
        tokio::time::sleep(act.delay).await;
    }
    if act.hang {
        std::future::pending::<()>().await;
    }
    act.error.map_or(Ok(()), Err)
}

impl Client for FaultyClient {
    fn set_session(&mut self, session: &Arc<Session>) {
        self.inner.set_session(session);
    }

    fn probe<'a>(&'a mut self, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        self.inner.probe(marks)
    }

    fn get<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        range: Option<ByteRange>,
        sink: Option<&'a mut dyn BodySink>,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, ReadOutcome> {
        let fate = self.next();
        Box::pin(async move {
            act(fate).await?;
            self.inner.get(name, range, sink, marks).await
        })
    }

    fn put<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        options: PutOptions,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        let fate = self.next();
        Box::pin(async move {
            act(fate).await?;
            self.inner.put(name, body, options, marks).await
        })
    }

    fn delete<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let fate = self.next();
        Box::pin(async move {
            act(fate).await?;
            self.inner.delete(name, marks).await
        })
    }

    fn head<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, Option<u64>> {
        let fate = self.next();
        Box::pin(async move {
            act(fate).await?;
            self.inner.head(name, marks).await
        })
    }

    fn list<'a>(&'a mut self, request: ListRequest<'a>, marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        let fate = self.next();
        Box::pin(async move {
            act(fate).await?;
            self.inner.list(request, marks).await
        })
    }

    fn put_multipart<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        plan: MultipartPlan,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        let fate = self.next();
        Box::pin(async move {
            act(fate).await?;
            self.inner.put_multipart(name, body, plan, marks).await
        })
    }

    fn create_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let fate = self.next();
        Box::pin(async move {
            act(fate).await?;
            self.inner.create_container(container, marks).await
        })
    }

    fn delete_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let fate = self.next();
        Box::pin(async move {
            act(fate).await?;
            self.inner.delete_container(container, marks).await
        })
    }
}
