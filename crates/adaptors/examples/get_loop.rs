//! Reads (or, with `put=BYTES`, writes) one object over and over on one thread, as an engine thread does, and prints what
//! a request costs.
//! Put `wrk` beside it on the same server to see what is lost to the client.
//!
//! `get_loop URL [connections] [seconds] [key=value ..]`, such as
//! `get_loop http://127.0.0.1:27080/bucket/4KiB 64 5 signature=none`

#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    BodySource, BytesSource, Client, Marks, ObjectName, Piece, PutOptions, Session, Settings,
};
use cosmark_adaptors::s3;

/// User and system time of this thread.
fn cpu() -> (Duration, Duration) {
    // SAFETY: all zeros is a valid rusage, and the pointer is to a live one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    let time =
        |t: libc::timeval| Duration::new(t.tv_sec.unsigned_abs(), t.tv_usec.unsigned_abs() as u32 * 1000);
    (time(usage.ru_utime), time(usage.ru_stime))
}

/// A body that is lent, as the engine's are.
struct Block(Vec<u8>);

impl BodySource for Block {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn copy_to(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<()> {
        BytesSource(&self.0).copy_to(offset, buf)
    }

    fn lend<'a>(&'a self, offset: u64, _: &'a mut [u8], pieces: &mut [Piece<'a>]) -> usize {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        let rest = &self.0[start..];
        pieces[0] = Piece::new(&rest[..rest.len().min(256 * 1024)]);
        1
    }
}

struct Plan {
    container: String,
    object: String,
    /// Write this instead of reading.
    body: Option<Block>,
    until: Instant,
    count: Cell<u64>,
    bytes: Cell<u64>,
}

async fn worker(mut client: Box<dyn Client>, plan: Rc<Plan>) {
    let name = ObjectName { container: &plan.container, object: &plan.object };
    loop {
        let mut marks = Marks::default();
        let result = match &plan.body {
            None => client.get(name, None, None, &mut marks).await.map(|read| read.bytes),
            Some(body) => {
                client.put(name, body, PutOptions::default(), &mut marks).await.map(|put| put.bytes)
            }
        };
        match result {
            Ok(bytes) => plan.bytes.set(plan.bytes.get() + bytes),
            Err(error) => return println!("{error}"),
        }
        plan.count.set(plan.count.get() + 1);
        if Instant::now() >= plan.until {
            return;
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let url = arguments.first().map_or("http://127.0.0.1:27080/bucket/4KiB", String::as_str);
    let number = |at: usize, default| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (connections, seconds): (u64, u64) = (number(1, 64), number(2, 5));
    let Some((endpoint, path)) = url.match_indices('/').nth(2).map(|(at, _)| url.split_at(at)) else {
        println!("the URL needs a bucket and an object");
        return;
    };
    let (bucket, object) = path.trim_start_matches('/').split_once('/').unwrap_or((path, ""));
    let mut entries = vec![("endpoint", endpoint), ("accesskey", "testaccess"), ("secretkey", "testsecret")];
    entries.extend(arguments.iter().filter_map(|text| text.split_once('=')).filter(|entry| entry.0 != "put"));
    let (settings, problems) = Settings::parse(s3::DEF.keys, entries);
    problems.iter().for_each(|problem| println!("{problem:?}"));
    let adaptor = match (s3::DEF.open)(&settings) {
        Ok(adaptor) => adaptor,
        Err(error) => return println!("{error}"),
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    let size = arguments.iter().find_map(|text| text.strip_prefix("put=")).and_then(|text| text.parse().ok());
    let started = Instant::now();
    let plan = Rc::new(Plan {
        container: bucket.to_owned(),
        object: object.to_owned(),
        body: size.map(|bytes| Block(vec![b'x'; bytes])),
        until: started + Duration::from_secs(seconds),
        count: Cell::new(0),
        bytes: Cell::new(0),
    });
    let session = Arc::new(Session::default());
    let before = cpu();
    let tasks = tokio::task::LocalSet::new();
    let workers: Vec<_> = (0..connections)
        .filter_map(|_| adaptor.client(&session).ok())
        .map(|client| tasks.spawn_local(worker(client, Rc::clone(&plan))))
        .collect();
    runtime.block_on(tasks.run_until(async {
        for worker in workers {
            drop(worker.await);
        }
    }));
    let (wall, after) = (started.elapsed(), cpu());
    let (user, system) = (after.0 - before.0, after.1 - before.1);
    let requests = plan.count.get().max(1) as f64;
    println!(
        "{:.0} requests/s, {:.2} us CPU per request ({:.2} user, {:.2} system), {:.2} GB/s, busy {:.0} %",
        requests / wall.as_secs_f64(),
        (user + system).as_secs_f64() * 1e6 / requests,
        user.as_secs_f64() * 1e6 / requests,
        system.as_secs_f64() * 1e6 / requests,
        plan.bytes.get() as f64 / 1e9 / wall.as_secs_f64(),
        (user + system).as_secs_f64() * 100.0 / wall.as_secs_f64(),
    );
}
