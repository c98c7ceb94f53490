//! Between the start and the end of a small operation, once warm, nothing is allocated but the boxed future that the
//! trait asks for.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails loudly and shows what it saw")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use cosmark_adaptor_api::{BytesSource, Marks, ObjectName, PutOptions, Session, Settings};
use cosmark_adaptors::s3;

/// The system's allocator, counting the calls of each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Answers GETs with 4 KiB and PUTs with nothing, on one connection after the other.
fn serve(listener: &TcpListener, connections: usize) {
    for stream in listener.incoming().take(connections) {
        converse(stream.unwrap());
    }
}

fn converse(mut stream: TcpStream) {
    let mut answer = b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 4096\r\n\r\n".to_vec();
    answer.resize(answer.len() + 4096, b'd');
    let mut buffer = vec![0; 65_536];
    let mut held = 0;
    loop {
        match stream.read(&mut buffer[held..]) {
            Ok(0) | Err(_) => return,
            Ok(count) => held += count,
        }
        let Some(head) = buffer[..held].windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let is_put = buffer.starts_with(b"PUT");
        let length = head + 4 + if is_put { 4096 } else { 0 };
        if held < length {
            continue;
        }
        held = 0;
        let bytes = if is_put { &b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"[..] } else { &answer };
        stream.write_all(bytes).unwrap();
    }
}

#[test]
fn a_warm_small_read_or_write_allocates_only_its_future() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || serve(&listener, 3));
    for signature in ["v4", "v2", "none"] {
        let entries =
            [("endpoint", url.as_str()), ("accesskey", "a"), ("secretkey", "b"), ("signature", signature)];
        let (settings, _) = Settings::parse(s3::DEF.keys, entries);
        let adaptor = (s3::DEF.open)(&settings).unwrap();
        let mut client = adaptor.client(&Arc::new(Session::default())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let name = ObjectName { container: "bucket", object: "object" };
        let body = [7_u8; 4096];
        runtime.block_on(async {
            for round in 0..30 {
                // The date's text and, at midnight, the key are made anew; no allocation even then.
                let before = CALLS.get();
                let mut marks = Marks::default();
                assert_eq!(client.get(name, None, None, &mut marks).await.unwrap().bytes, 4096);
                let between = CALLS.get();
                client.put(name, &BytesSource(&body), PutOptions::default(), &mut marks).await.unwrap();
                let after = CALLS.get();
                if round >= 10 {
                    assert_eq!((between - before, after - between), (1, 1), "signature {signature}");
                }
            }
        });
    }
    server.join().unwrap();
}
