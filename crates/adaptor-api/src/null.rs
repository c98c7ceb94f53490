//! The null adaptor: does nothing, at once. It shows the tool's own ceiling and overhead.

use std::future::{Future, ready};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::{
    Adaptor, BodySink, BodySource, ByteRange, Capability, Client, ListPage, ListRequest, Marks,
    MultipartPlan, ObjectName, OpFuture, PutOptions, PutOutcome, ReadOutcome, Result, Session,
};

/// Answers everything with success and no bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Null;

/// Done at once, with nothing to say. It has no size, so that boxing it allocates nothing.
struct AtOnce<T>(PhantomData<fn() -> T>);

impl<T: Default> Future for AtOnce<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(T::default()))
    }
}

fn at_once<'a, T: Default + 'a>() -> OpFuture<'a, T> {
    Box::pin(AtOnce(PhantomData))
}

/// What [`Null`] can do: everything, while keeping nothing.
pub const CAPABILITY: Capability = Capability::of(&[
    Capability::CONTAINERS,
    Capability::HEAD,
    Capability::LIST,
    Capability::RANGE,
    Capability::MULTIPART,
    Capability::CHUNKED,
]);

impl Adaptor for Null {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    fn timeout(&self) -> Option<Duration> {
        None
    }

    fn client(&self, _session: &Arc<Session>) -> Result<Box<dyn Client>> {
        Ok(Box::new(*self))
    }
}

impl Client for Null {
    fn set_session(&mut self, _session: &Arc<Session>) {}

    fn probe<'a>(&'a mut self, _marks: &'a mut Marks) -> OpFuture<'a, ()> {
        at_once()
    }

    fn get<'a>(
        &'a mut self,
        _name: ObjectName<'a>,
        _range: Option<ByteRange>,
        _sink: Option<&'a mut dyn BodySink>,
        _marks: &'a mut Marks,
    ) -> OpFuture<'a, ReadOutcome> {
        at_once()
    }

    fn put<'a>(
        &'a mut self,
        _name: ObjectName<'a>,
        body: &'a dyn BodySource,
        _options: PutOptions,
        _marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        Box::pin(ready(Ok(PutOutcome { bytes: body.len(), accepted_only: false })))
    }

    fn delete<'a>(&'a mut self, _name: ObjectName<'a>, _marks: &'a mut Marks) -> OpFuture<'a, ()> {
        at_once()
    }

    fn head<'a>(&'a mut self, _name: ObjectName<'a>, _marks: &'a mut Marks) -> OpFuture<'a, Option<u64>> {
        at_once()
    }

    fn list<'a>(&'a mut self, _request: ListRequest<'a>, _marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        at_once()
    }

    fn put_multipart<'a>(
        &'a mut self,
        _name: ObjectName<'a>,
        body: &'a dyn BodySource,
        _plan: MultipartPlan,
        _marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        Box::pin(ready(Ok(PutOutcome { bytes: body.len(), accepted_only: false })))
    }

    fn create_container<'a>(&'a mut self, _container: &'a str, _marks: &'a mut Marks) -> OpFuture<'a, ()> {
        at_once()
    }

    fn delete_container<'a>(&'a mut self, _container: &'a str, _marks: &'a mut Marks) -> OpFuture<'a, ()> {
        at_once()
    }
}
