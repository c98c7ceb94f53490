//! Writes in parts: a body cut into pieces that go over several connections side by side.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;

use cosmark_adaptor_api::{BodySource, Error, ErrorKind, Marks, MultipartPlan, Piece, Result, SideBySide};

/// More would only queue in the client.
const MOST_LANES: u64 = 256;

/// Part of a body.
pub(crate) struct Part<'a> {
    pub(crate) whole: &'a dyn BodySource,
    /// First byte.
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) len: u64,
}

impl BodySource for Part<'_> {
    fn len(&self) -> u64 {
        self.len
    }

    fn copy_to(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.whole.copy_to(self.offset + offset, buf)
    }

    fn lend<'a>(&'a self, offset: u64, scratch: &'a mut [u8], pieces: &mut [Piece<'a>]) -> usize {
        self.whole.lend(self.offset + offset, scratch, pieces)
    }
}

/// How a body is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    total_bytes: u64,
    part_bytes: u64,
    /// Parts; at least 1.
    pub(crate) count: u64,
    /// Connections to use at once; at least 1.
    pub(crate) lanes: usize,
}

impl Cut {
    /// # Errors
    /// `Config` where there would be more parts than `most`, which is the store's limit.
    pub(crate) fn new(total_bytes: u64, plan: MultipartPlan, default_bytes: u64, most: u64) -> Result<Self> {
        let asked = if plan.part_size_bytes == 0 { default_bytes } else { plan.part_size_bytes };
        let part_bytes = asked.max(1);
        let count = total_bytes.div_ceil(part_bytes).max(1);
        if count > most {
            let message = format!("{count} parts are more than the {most} that the store takes");
            return Err(Error::new(ErrorKind::Config, message).with_hint("use larger parts"));
        }
        let lanes = u64::from(plan.concurrency.max(1)).min(count).min(MOST_LANES);
        Ok(Self { total_bytes, part_bytes, count, lanes: usize::try_from(lanes).unwrap_or(1) })
    }

    /// Part `number`, from 0.
    pub(crate) fn part<'a>(&self, whole: &'a dyn BodySource, number: u64) -> Part<'a> {
        Part { whole, offset: number * self.part_bytes, len: self.len_of(number) }
    }

    /// Bytes of part `number`, from 0.
    pub(crate) fn len_of(&self, number: u64) -> u64 {
        self.part_bytes.min(self.total_bytes - number * self.part_bytes)
    }
}

/// Adds what one part observed to the call's marks, when the part is done or dropped.
struct PartMarks<'a, 'm> {
    call: &'a RefCell<&'m mut Marks>,
    /// When the parts were on the wire, side by side.
    on_wire: &'a SideBySide,
    own: Marks,
}

impl Drop for PartMarks<'_, '_> {
    fn drop(&mut self) {
        let mut call = self.call.borrow_mut();
        call.connect_ns += self.own.connect_ns;
        call.tls_ns += self.own.tls_ns;
        call.connections += self.own.connections;
        call.requests += self.own.requests;
        self.on_wire.note(&self.own.wire);
        call.body_bytes += self.own.body_bytes;
        if self.own.status != 0 {
            call.status = self.own.status;
        }
    }
}

/// Sends the parts 0 to `count`-1 over the lanes, each lane one after the other, until all are sent or one has failed. A
/// part under way when another fails is let end: one that arrived later could not be cleaned up.
///
/// # Errors
/// Of the first part that failed.
pub(crate) async fn send_all<L, T, S>(
    lanes: &mut [L],
    count: u64,
    marks: &mut Marks,
    send: S,
) -> Result<Vec<T>>
where
    S: AsyncFn(&mut L, u64, &mut Marks) -> Result<T>,
{
    let next = Cell::new(0);
    let done: RefCell<Vec<(u64, T)>> = RefCell::new(Vec::new());
    let failed: RefCell<Option<Error>> = RefCell::new(None);
    let on_wire = SideBySide::of(&mut marks.wire);
    let call = RefCell::new(marks);
    let run = async |lane: &mut L| {
        while failed.borrow().is_none() && next.get() < count {
            let number = next.get();
            next.set(number + 1);
            let own = Marks { wire: on_wire.part(), ..Marks::default() };
            let mut marks = PartMarks { call: &call, on_wire: &on_wire, own };
            match send(lane, number, &mut marks.own).await {
                Ok(result) => done.borrow_mut().push((number, result)),
                Err(error) => {
                    failed.borrow_mut().get_or_insert(error);
                }
            }
        }
    };
    let mut running: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::with_capacity(lanes.len());
    for lane in lanes {
        running.push(Box::pin(run(lane)));
    }
    poll_fn(|context| {
        running.retain_mut(|one| one.as_mut().poll(context).is_pending());
        if running.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    drop(running);
    let marks = call.into_inner();
    on_wire.add_to(&mut marks.wire);
    match failed.into_inner() {
        Some(error) => {
            marks.status = error.status().unwrap_or(marks.status);
            Err(error.with_partial_bytes(marks.body_bytes))
        }
        None => {
            let mut done = done.into_inner();
            done.sort_unstable_by_key(|(number, _)| *number);
            Ok(done.into_iter().map(|(_, result)| result).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_in_one_part() {
        let cases = [(0, 5, 1), (1, 5, 1), (5, 5, 1), (6, 5, 2), (10, 5, 2), (11, 5, 3)];
        for (total, part, count) in cases {
            let content = vec![7_u8; total];
            let source = cosmark_adaptor_api::BytesSource(&content);
            let plan = MultipartPlan { part_size_bytes: part, concurrency: 9 };
            let cut = Cut::new(total as u64, plan, 1, 100).unwrap();
            assert_eq!(cut.count, count);
            assert_eq!(cut.lanes as u64, count);
            let lengths: Vec<u64> = (0..count).map(|number| cut.part(&source, number).len()).collect();
            assert_eq!(lengths.iter().sum::<u64>(), total as u64, "{lengths:?}");
            assert!(lengths.iter().all(|len| *len <= part));
        }
        let plan = MultipartPlan { part_size_bytes: 0, concurrency: 0 };
        let error = Cut::new(100, plan, 9, 10).unwrap_err();
        assert!(error.to_string().contains("12 parts are more than the 10"), "{error}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn results_are_in_order_and_the_first_failure_is_the_one_told() {
        let mut marks = Marks::default();
        let mut lanes = [0, 1, 2];
        let all = send_all(&mut lanes, 10, &mut marks, async |_, number, marks: &mut Marks| {
            // Later parts end earlier.
            tokio::time::sleep(std::time::Duration::from_millis(12 - number)).await;
            marks.requests += 1;
            marks.body_bytes += 10;
            Ok(number)
        });
        assert_eq!(all.await.unwrap(), (0..10).collect::<Vec<_>>());
        assert_eq!((marks.requests, marks.body_bytes), (10, 100));
        let mut sent = Marks::default();
        let some = send_all(&mut lanes[..1], 10, &mut sent, async |_, number, marks: &mut Marks| {
            marks.requests += 1;
            if number == 3 { Err(Error::new(ErrorKind::Status(503), "no")) } else { Ok(()) }
        });
        assert_eq!(some.await.unwrap_err().status(), Some(503));
        assert_eq!((sent.requests, sent.status), (4, 503));
    }
}
