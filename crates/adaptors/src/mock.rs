//! The `mock` storage: no store at all, but a scripted delay and error rate, to measure the load generator itself and to
//! try workloads out. Keys and semantics are COSBench's (User Guide, "mock"); `seed` is ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, BodySink, BodySource, ByteRange, Capability, Client, Error, ErrorKind, Key, KeyKind,
    ListPage, ListRequest, Marks, ObjectName, OpFuture, PutOptions, PutOutcome, ReadOutcome, Result, Session,
    Settings,
};

use crate::common_keys::LOGGING;

const KEYS: &[Key] = &[
    Key::new("size", KeyKind::Size, "bytes that every read returns, whatever was written").default("1000"),
    Key::new(
        "delay",
        KeyKind::Duration,
        "time that every operation takes; 1 ms and more are timed in steps of 1 ms and never end early, less than 1 ms \
         is waited for by polling (which costs CPU), 0 does not touch the clock",
    )
    .default("10ms"),
    Key::new("errors", KeyKind::Float(0.0, 1.0), "probability that an operation fails, with HTTP status 500").default("0"),
    Key::new("seed", KeyKind::Int(0, i64::MAX), "the failures fall on the same operations for the same seed").default("1"),
    Key::new("printing", KeyKind::Bool, "accepted for COSBench's sake, no effect").default("false"),
    Key::new("doStats", KeyKind::Bool, "accepted for COSBench's sake, no effect: all statistics are the engine's")
        .default("false"),
    LOGGING,
];

const CAPABILITY: Capability = Capability::of(&[
    Capability::CONTAINERS,
    Capability::HEAD,
    Capability::LIST,
    Capability::RANGE,
    Capability::CHUNKED,
]);

/// The row of the table of adaptors.
pub const DEF: AdaptorDef = AdaptorDef {
    name: "mock",
    aliases: &[],
    summary: "no store: a fixed delay, a fixed size and an error rate, to try workloads and measure the client",
    keys: KEYS,
    capability: CAPABILITY,
    open,
    lacks: AdaptorDef::lacks_nothing,
    takes: AdaptorDef::takes_nothing,
};

/// Zeros that reads hand out; larger reads get it several times.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// A timer of the runtime is used from here on.
const TIMER_STEP: Duration = Duration::from_millis(1);

struct Mock {
    size_bytes: u64,
    delay: Duration,
    /// Failure threshold in 2^-64 steps; `None` = never.
    fail_below: Option<u64>,
    seed: u64,
    clients: AtomicU64,
}

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    let probability = settings.float("errors").unwrap_or(0.0);
    Ok(Arc::new(Mock {
        size_bytes: settings.size_bytes("size").unwrap_or(1000),
        delay: settings.duration("delay").unwrap_or_default(),
        fail_below: threshold(probability),
        seed: settings.int("seed").unwrap_or(1).unsigned_abs(),
        clients: AtomicU64::new(0),
    }))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates; the value is 0 to 2^64"
)]
fn threshold(probability: f64) -> Option<u64> {
    (probability > 0.0).then_some((probability * 18_446_744_073_709_551_616.0) as u64)
}

impl Adaptor for Mock {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    fn timeout(&self) -> Option<Duration> {
        None
    }

    fn client(&self, _session: &Arc<Session>) -> Result<Box<dyn Client>> {
        let number = self.clients.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(MockClient {
            size_bytes: self.size_bytes,
            delay: self.delay,
            fail_below: self.fail_below,
            random: SplitMix(self.seed ^ number.wrapping_mul(0xA076_1D64_78BD_642F)),
            drain: vec![0; ZEROS.len()],
        }))
    }
}

/// Steele, Lea and Flood's generator (OOPSLA 2014): eight bytes of state are enough to draw failures.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

struct MockClient {
    size_bytes: u64,
    delay: Duration,
    fail_below: Option<u64>,
    random: SplitMix,
    drain: Vec<u8>,
}

impl MockClient {
    /// The delay, then the verdict.
    async fn answer(&mut self, marks: &mut Marks) -> Result<()> {
        marks.requests += 1;
        wait(self.delay).await;
        marks.first_byte();
        let Some(below) = self.fail_below else {
            marks.status = 200;
            return Ok(());
        };
        if self.random.next() <= below {
            marks.status = 500;
            return Err(Error::new(ErrorKind::Status(500), "the mock storage was told to fail here")
                .with_code("MockError")
                .with_hint("set `errors=0` for none"));
        }
        marks.status = 200;
        Ok(())
    }
}

/// Waits no less than `delay`. The timer's 1 ms steps would more than double a shorter delay, so that is polled for,
/// letting the thread's other tasks run in between.
pub(crate) async fn wait(delay: Duration) {
    if delay >= TIMER_STEP {
        tokio::time::sleep(delay).await;
    } else if !delay.is_zero() {
        let due = Instant::now() + delay;
        while Instant::now() < due {
            tokio::task::yield_now().await;
        }
    }
}

/// Pieces of a body after which others of the thread have a turn: nothing here waits for a network, and a body may be without end.
const PIECES: u32 = 64;

async fn breathe(pieces: &mut u32) {
    *pieces += 1;
    if pieces.is_multiple_of(PIECES) {
        tokio::task::yield_now().await;
    }
}

impl Client for MockClient {
    fn set_session(&mut self, _session: &Arc<Session>) {}

    fn probe<'a>(&'a mut self, _marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn get<'a>(
        &'a mut self,
        _name: ObjectName<'a>,
        range: Option<ByteRange>,
        sink: Option<&'a mut dyn BodySink>,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, ReadOutcome> {
        Box::pin(async move {
            self.answer(marks).await?;
            let bytes = match range {
                None => self.size_bytes,
                Some(range) if range.first >= self.size_bytes || range.last < range.first => {
                    marks.status = 416;
                    let size = self.size_bytes;
                    let message =
                        format!("bytes {}-{} are not in an object of {size} bytes", range.first, range.last);
                    return Err(Error::new(ErrorKind::Status(416), message)
                        .with_hint("raise `size` of the mock storage"));
                }
                Some(range) => range.last.min(self.size_bytes - 1) - range.first + 1,
            };
            if let Some(sink) = sink {
                let mut left = bytes;
                let mut pieces = 0_u32;
                while left > 0 {
                    breathe(&mut pieces).await;
                    let piece =
                        &ZEROS[..usize::try_from(left).map_or(ZEROS.len(), |left| left.min(ZEROS.len()))];
                    sink.accept(piece);
                    left -= piece.len() as u64;
                }
            }
            marks.body_bytes += bytes;
            Ok(ReadOutcome { bytes })
        })
    }

    fn put<'a>(
        &'a mut self,
        _name: ObjectName<'a>,
        body: &'a dyn BodySource,
        _options: PutOptions,
        marks: &'a mut Marks,
    ) -> OpFuture<'a, PutOutcome> {
        Box::pin(async move {
            let bytes = body.len();
            let mut pieces = 0_u32;
            while marks.body_bytes < bytes {
                breathe(&mut pieces).await;
                let left = usize::try_from(bytes - marks.body_bytes).unwrap_or(usize::MAX);
                let piece = left.min(self.drain.len());
                body.copy_to(marks.body_bytes, &mut self.drain[..piece]).map_err(|e| {
                    Error::new(ErrorKind::LocalIo, format!("cannot read the content to write: {e}"))
                        .with_partial_bytes(marks.body_bytes)
                })?;
                marks.body_bytes += piece as u64;
            }
            self.answer(marks).await?;
            Ok(PutOutcome { bytes, accepted_only: false })
        })
    }

    fn delete<'a>(&'a mut self, _name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(self.answer(marks))
    }

    fn head<'a>(&'a mut self, _name: ObjectName<'a>, marks: &'a mut Marks) -> OpFuture<'a, Option<u64>> {
        Box::pin(async move {
            self.answer(marks).await?;
            Ok(Some(self.size_bytes))
        })
    }

    fn list<'a>(&'a mut self, _request: ListRequest<'a>, marks: &'a mut Marks) -> OpFuture<'a, ListPage> {
        Box::pin(async move {
            self.answer(marks).await?;
            Ok(ListPage::default())
        })
    }

    fn create_container<'a>(&'a mut self, _container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(self.answer(marks))
    }

    fn delete_container<'a>(&'a mut self, _container: &'a str, marks: &'a mut Marks) -> OpFuture<'a, ()> {
        Box::pin(self.answer(marks))
    }
}

#[cfg(test)]
mod tests {
    use cosmark_adaptor_api::{BytesSource, CollectSink};

    use super::*;

    const NAME: ObjectName<'_> = ObjectName { container: "c", object: "o" };

    fn client(entries: &[(&str, &str)]) -> Box<dyn Client> {
        let (settings, problems) = Settings::parse(KEYS, entries.iter().copied());
        assert!(problems.is_empty(), "{problems:?}");
        (DEF.open)(&settings).unwrap().client(&Arc::default()).unwrap()
    }

    /// Which of 1000 deletes fail.
    async fn failures(entries: &[(&str, &str)]) -> Vec<usize> {
        let mut client = client(entries);
        let mut failed = Vec::new();
        for at in 0..1000 {
            if client.delete(NAME, &mut Marks::default()).await.is_err() {
                failed.push(at);
            }
        }
        failed
    }

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn every_operation_takes_the_delay_and_not_more_than_a_timer_step_longer() {
        let mut client = client(&[("delay", "25")]);
        let before = tokio::time::Instant::now();
        client.head(NAME, &mut Marks::default()).await.unwrap();
        let took = before.elapsed();
        assert!(took >= Duration::from_millis(25) && took <= Duration::from_millis(26), "{took:?}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_delay_under_one_millisecond_is_never_shortened() {
        let mut client = client(&[("delay", "0.2")]);
        let before = Instant::now();
        client.head(NAME, &mut Marks::default()).await.unwrap();
        assert!(before.elapsed() >= Duration::from_micros(200));
    }

    #[test]
    fn a_delay_of_zero_needs_no_timer() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut client = client(&[("delay", "0")]);
        runtime.block_on(client.delete(NAME, &mut Marks::default())).unwrap();
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_error_rate_is_kept_and_the_same_seed_fails_the_same_operations() {
        let keys = [("delay", "0"), ("errors", "0.2"), ("seed", "7")];
        let failed = failures(&keys).await;
        assert!((150..250).contains(&failed.len()), "{} of 1000", failed.len());
        assert_eq!(failed, failures(&keys).await);
        assert_ne!(failed, failures(&[("delay", "0"), ("errors", "0.2"), ("seed", "8")]).await);
        assert_eq!(failures(&[("delay", "0"), ("errors", "1")]).await.len(), 1000);
        assert_eq!(failures(&[("delay", "0"), ("errors", "0")]).await.len(), 0);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn reads_give_size_zeros_and_writes_drain_the_body() {
        let mut client = client(&[("delay", "0"), ("size", "150000")]);
        let (mut sink, mut marks) = (CollectSink::new(usize::MAX), Marks::default());
        let read = client.get(NAME, None, Some(&mut sink), &mut marks).await.unwrap();
        assert_eq!((read.bytes, sink.seen, marks.body_bytes), (150_000, 150_000, 150_000));
        assert!(sink.bytes.iter().all(|byte| *byte == 0));
        let mut marks = Marks::default();
        let body = vec![1; 200_000];
        let written = client.put(NAME, &BytesSource(&body), PutOptions::default(), &mut marks).await.unwrap();
        assert_eq!((written.bytes, marks.body_bytes), (200_000, 200_000));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_range_beyond_the_size_is_416_as_a_real_store_says() {
        let mut client = client(&[("delay", "0"), ("size", "10")]);
        let part = client
            .get(NAME, Some(ByteRange { first: 8, last: 20 }), None, &mut Marks::default())
            .await
            .unwrap();
        assert_eq!(part.bytes, 2);
        let range = Some(ByteRange { first: 10, last: 20 });
        let error = client.get(NAME, range, None, &mut Marks::default()).await.unwrap_err();
        assert_eq!(error.status(), Some(416));
    }
}
