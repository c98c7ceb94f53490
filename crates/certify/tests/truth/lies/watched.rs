//! When the requests of a probe were asked and answered. The store made a change while it was asked for it, and
//! answered a look while that was under way: so the age of the change at the store lies between two bounds, on a machine
//! of any speed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cosmark_adaptor_api::{
    BodySink, BodySource, ByteRange, Client, ListPage, ListRequest, Marks, ObjectName, OpFuture, PutOptions,
    PutOutcome, ReadOutcome, Session, clock,
};
use cosmark_consistency::Class;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Change,
    Read,
    Listing,
}

/// One request for one object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    what: What,
    call_ns: u64,
    return_ns: u64,
    /// A write made the object, or a listing had it.
    is_there: bool,
}

/// All of them by object, in the order of their answers.
pub(super) type Watch = Arc<Mutex<BTreeMap<String, Vec<Asked>>>>;

/// A look between an acknowledgement and the next change.
#[derive(Debug)]
pub(super) struct Look {
    /// The least age of its change, ns: from the acknowledgement to when the look was sent.
    pub(super) least_ns: u64,
    /// The greatest.
    pub(super) most_ns: u64,
    /// A listing was not what the change had made of it.
    pub(super) is_stale_listing: bool,
}

/// The changes of a probe's object in their order: what reads after each of them are, and listings.
const CHANGES: [(Class, Option<Class>); 5] = [
    (Class::ReadAfterCreate, Some(Class::ListAfterCreate)),
    (Class::ReadAfterOverwrite, None),
    (Class::ReadAfterDelete, Some(Class::ListAfterDelete)),
    (Class::ReadAfterCreate, Some(Class::ListAfterCreate)),
    (Class::ReadAfterDelete, Some(Class::ListAfterDelete)),
];

pub(super) fn looks(watch: &Watch, class: Class) -> Vec<Look> {
    let mut looks = Vec::new();
    for asked in watch.lock().unwrap().values() {
        let (changes, others): (Vec<&Asked>, Vec<&Asked>) =
            asked.iter().partition(|one| one.what == What::Change);
        for one in others {
            let Some(at) = changes.iter().rposition(|change| change.return_ns <= one.call_ns) else {
                continue;
            };
            let of_class = CHANGES.get(at).is_some_and(|(read, listed)| {
                if one.what == What::Read { *read == class } else { *listed == Some(class) }
            });
            if of_class && changes.get(at + 1).is_none_or(|next| one.return_ns <= next.call_ns) {
                looks.push(Look {
                    least_ns: one.call_ns - changes[at].return_ns,
                    most_ns: one.return_ns - changes[at].call_ns,
                    is_stale_listing: one.what == What::Listing && one.is_there != changes[at].is_there,
                });
            }
        }
    }
    looks
}

/// A request whose times are noted.
fn noted<'a, T: 'a>(
    watch: &Watch,
    (what, object): (What, &'a str),
    asked: OpFuture<'a, T>,
    is_there: impl Fn(&T) -> bool + 'a,
) -> OpFuture<'a, T> {
    let (watch, call_ns) = (Arc::clone(watch), clock::now_ns());
    Box::pin(async move {
        let answer = asked.await;
        let is_there = answer.as_ref().is_ok_and(is_there);
        let one = Asked { what, call_ns, return_ns: clock::now_ns(), is_there };
        watch.lock().unwrap().entry(object.to_owned()).or_default().push(one);
        answer
    })
}

/// A client whose requests are watched.
pub(super) struct Watched {
    pub(super) inner: Box<dyn Client>,
    pub(super) watch: Watch,
}

impl Client for Watched {
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
        let asked = self.inner.get(name, range, sink, marks);
        noted(&self.watch, (What::Read, name.object), asked, |_| true)
    }

    fn put<'a>(
        &'a mut self,
        name: ObjectName<'a>,
        body: &'a dyn BodySource,
        options: PutOptions,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        let asked = self.inner.put(name, body, options, marks);
        noted(&self.watch, (What::Change, name.object), asked, |_| true)
    }

    fn delete<'a>(&'a mut self, name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        let asked = self.inner.delete(name, marks);
        noted(&self.watch, (What::Change, name.object), asked, |()| false)
    }

    fn list<'a>(&'a mut self, request: ListRequest<'a>, marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        let object = request.prefix;
        let asked = self.inner.list(request, marks);
        noted(&self.watch, (What::Listing, object), asked, move |page| {
            page.names.iter().any(|name| name == object)
        })
    }

    fn create_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        self.inner.create_container(container, marks)
    }

    fn delete_container<'a>(&'a mut self, container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        self.inner.delete_container(container, marks)
    }
}
