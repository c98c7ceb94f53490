//! A client's table of operations: each call of [`Client`](cosmark_adaptor_api::Client) and the method of the client that
//! does it. What does not stand in the table is what the adaptor does not offer, or is written out beside it.

/// Inside `impl Client for ..`: `forward!(get => read, put => write)` makes the calls `get` and `put`, each the boxed future of
/// the method behind it, which takes the same arguments in the same order. `forward!(holding choose; get => read)` calls
/// the method `choose` first and holds what it gives until the call is over.
macro_rules! forward {
    (holding $guard:ident; $($call:ident => $own:ident),+ $(,)?) => {
        $($crate::forward::forward_one!($call $own $guard);)+
    };
    ($($call:ident => $own:ident),+ $(,)?) => {
        $($crate::forward::forward_one!($call $own);)+
    };
}

macro_rules! boxed {
    ($call:expr) => {
        Box::pin($call)
    };
    ($call:expr, $guard:expr) => {
        Box::pin(async move {
            let _held = $guard;
            $call.await
        })
    };
}

/// The signature of each call, once.
macro_rules! forward_one {
    (probe $own:ident $($guard:ident)?) => {
        fn probe<'a>(
            &'a mut self,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, ()> {
            $crate::forward::boxed!(self.$own(marks) $(, self.$guard())?)
        }
    };
    (get $own:ident $($guard:ident)?) => {
        fn get<'a>(
            &'a mut self,
            name: cosmark_adaptor_api::ObjectName<'a>,
            range: Option<cosmark_adaptor_api::ByteRange>,
            sink: Option<&'a mut dyn cosmark_adaptor_api::BodySink>,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, cosmark_adaptor_api::ReadOutcome> {
            $crate::forward::boxed!(self.$own(name, range, sink, marks) $(, self.$guard())?)
        }
    };
    (put $own:ident $($guard:ident)?) => {
        fn put<'a>(
            &'a mut self,
            name: cosmark_adaptor_api::ObjectName<'a>,
            body: &'a dyn cosmark_adaptor_api::BodySource,
            options: cosmark_adaptor_api::PutOptions,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, cosmark_adaptor_api::PutOutcome> {
            $crate::forward::boxed!(self.$own(name, body, options, marks) $(, self.$guard())?)
        }
    };
    (delete $own:ident $($guard:ident)?) => {
        fn delete<'a>(
            &'a mut self,
            name: cosmark_adaptor_api::ObjectName<'a>,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, ()> {
            $crate::forward::boxed!(self.$own(name, marks) $(, self.$guard())?)
        }
    };
    (head $own:ident $($guard:ident)?) => {
        fn head<'a>(
            &'a mut self,
            name: cosmark_adaptor_api::ObjectName<'a>,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, Option<u64>> {
            $crate::forward::boxed!(self.$own(name, marks) $(, self.$guard())?)
        }
    };
    (list $own:ident $($guard:ident)?) => {
        fn list<'a>(
            &'a mut self,
            request: cosmark_adaptor_api::ListRequest<'a>,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, cosmark_adaptor_api::ListPage> {
            $crate::forward::boxed!(self.$own(request, marks) $(, self.$guard())?)
        }
    };
    (put_multipart $own:ident $($guard:ident)?) => {
        fn put_multipart<'a>(
            &'a mut self,
            name: cosmark_adaptor_api::ObjectName<'a>,
            body: &'a dyn cosmark_adaptor_api::BodySource,
            plan: cosmark_adaptor_api::MultipartPlan,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, cosmark_adaptor_api::PutOutcome> {
            $crate::forward::boxed!(self.$own(name, body, plan, marks) $(, self.$guard())?)
        }
    };
    (copy $own:ident $($guard:ident)?) => {
        fn copy<'a>(
            &'a mut self,
            from: cosmark_adaptor_api::ObjectName<'a>,
            to: cosmark_adaptor_api::ObjectName<'a>,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, cosmark_adaptor_api::PutOutcome> {
            $crate::forward::boxed!(self.$own(from, to, marks) $(, self.$guard())?)
        }
    };
    (delete_many $own:ident $($guard:ident)?) => {
        fn delete_many<'a>(
            &'a mut self,
            container: &'a str,
            objects: &'a [String],
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, ()> {
            $crate::forward::boxed!(self.$own(container, objects, marks) $(, self.$guard())?)
        }
    };
    (set_metadata $own:ident $($guard:ident)?) => {
        fn set_metadata<'a>(
            &'a mut self,
            name: cosmark_adaptor_api::ObjectName<'a>,
            key: &'a str,
            value: &'a str,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, ()> {
            $crate::forward::boxed!(self.$own(name, key, value, marks) $(, self.$guard())?)
        }
    };
    (restore $own:ident $($guard:ident)?) => {
        fn restore<'a>(
            &'a mut self,
            name: cosmark_adaptor_api::ObjectName<'a>,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, ()> {
            $crate::forward::boxed!(self.$own(name, marks) $(, self.$guard())?)
        }
    };
    (create_container $own:ident $($guard:ident)?) => {
        fn create_container<'a>(
            &'a mut self,
            container: &'a str,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, ()> {
            $crate::forward::boxed!(self.$own(container, marks) $(, self.$guard())?)
        }
    };
    (delete_container $own:ident $($guard:ident)?) => {
        fn delete_container<'a>(
            &'a mut self,
            container: &'a str,
            marks: &'a mut cosmark_adaptor_api::Marks,
        ) -> cosmark_adaptor_api::OpFuture<'a, ()> {
            $crate::forward::boxed!(self.$own(container, marks) $(, self.$guard())?)
        }
    };
}

pub(crate) use {boxed, forward, forward_one};
