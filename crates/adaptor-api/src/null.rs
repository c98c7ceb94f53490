//! The null adaptor: does nothing, at once. It shows the tool's own ceiling and overhead.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use crate::{
    Adaptor, BodySink, BodySource, ByteRange, Capability, Client, ListPage, ListRequest, Marks,
    MultipartPlan, ObjectName, OpFuture, PutOptions, PutOutcome, ReadOutcome, Result, Session,
};

/// Answers everything with success and no bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Null;

/// What [`Null`] can do: everything, while keeping nothing.
pub const CAPABILITY: Capability = Capability {
    stores: false,
    containers: true,
    head: true,
    list: true,
    range: true,
    multipart: true,
    chunked: true,
    copy: false,
    bulk_delete: false,
    metadata: false,
    delete_missing_fails: false,
};

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
        Box::pin(ready(Ok(())))
    }

    fn get<'a>(
        &'a mut self,
        _name: ObjectName<'a>,
        _range: Option<ByteRange>,
        _sink: Option<&'a mut dyn BodySink>,
        _marks: &'a mut Marks,
    ) -> OpFuture<'a, ReadOutcome> {
        Box::pin(ready(Ok(ReadOutcome::default())))
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
        Box::pin(ready(Ok(())))
    }

    fn head<'a>(&'a mut self, _name: ObjectName<'a>, _marks: &'a mut Marks) -> OpFuture<'a, Option<u64>> {
        Box::pin(ready(Ok(None)))
    }

    fn list<'a>(&'a mut self, _request: ListRequest<'a>, _marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        Box::pin(ready(Ok(ListPage::default())))
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
        Box::pin(ready(Ok(())))
    }

    fn delete_container<'a>(&'a mut self, _container: &'a str, _marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(ready(Ok(())))
    }
}
