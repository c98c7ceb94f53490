//! Every adaptor that speaks HTTP, every operation, against servers that lie. Each must end within its time limit with the
//! right kind of error, whatever it was doing, and the worker's client must work again once the server is honest.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{
    AdaptorDef, ByteRange, BytesSource, Client, CollectSink, Error, ErrorKind, ListRequest, Marks,
    ObjectName, PutOptions, Secret, Session, Settings,
};
use cosmark_adaptors::{azure, cdmi, gcs, s3, sproxyd, swift, webdav};

/// What takes longer is no slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the server does once it has read a request's head.
#[derive(Debug, Clone, Copy)]
enum Lie {
    /// These bytes, then it hangs up.
    Say(&'static str),
    /// These bytes, then a reset.
    SayAndReset(&'static str),
    /// These bytes, then these others without end.
    Endless(&'static str, &'static str),
    /// These bytes, then one a while, without end.
    Trickle(&'static str),
}

/// Name, lie, and what it may be counted as.
type Row = (&'static str, Lie, fn(ErrorKind) -> bool);

const LIES: &[Row] = &[
    ("silence and a hang-up", Lie::Say(""), |kind| kind == ErrorKind::Reset),
    ("a reset at once", Lie::SayAndReset(""), |kind| kind == ErrorKind::Reset),
    ("a garbage status line", Lie::Say("ICY 200 garbage\r\n\r\n"), |kind| kind == ErrorKind::Protocol),
    ("a reset in the head", Lie::SayAndReset("HTTP/1.1 200 OK\r\nContent-Le"), |kind| {
        kind == ErrorKind::Reset
    }),
    ("a body that is cut", Lie::Say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort"), |kind| {
        kind == ErrorKind::ShortBody
    }),
    (
        "a reset in the body",
        Lie::SayAndReset("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort"),
        |kind| matches!(kind, ErrorKind::ShortBody | ErrorKind::Reset),
    ),
    (
        "chunks without an end",
        Lie::Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
        |kind| kind == ErrorKind::ShortBody,
    ),
    ("a length that is no number", Lie::Say("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"), |kind| {
        kind == ErrorKind::Protocol
    }),
    ("a header without end", Lie::Endless("HTTP/1.1 200 OK\r\nX-Long: ", "xxxxxxxxxxxxxxxx"), |kind| {
        kind == ErrorKind::Protocol
    }),
    (
        "a redirect to itself",
        Lie::Say("HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        |kind| kind == ErrorKind::Status(301),
    ),
    (
        "not now, later",
        Lie::Say("HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        |kind| kind == ErrorKind::Status(503),
    ),
    (
        "too many requests",
        Lie::Say(
            "HTTP/1.1 429 Slow\r\nRetry-After: 3600\r\nContent-Length: 4\r\nConnection: close\r\n\r\nslow",
        ),
        |kind| kind == ErrorKind::Status(429),
    ),
    (
        "a token that is no longer good",
        Lie::Say("HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        |kind| matches!(kind, ErrorKind::Status(401) | ErrorKind::Denied),
    ),
    ("a trickle in the head", Lie::Trickle("HTTP/1.1 200 OK\r\nX-Slow: "), |kind| kind == ErrorKind::Timeout),
];

/// Lies only until told otherwise; then every request gets 404.
struct Liar {
    port: u16,
    lie: Arc<Mutex<Option<Lie>>>,
    said_bytes: Arc<AtomicU64>,
    requests: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Liar {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let liar = Self {
            port: listener.local_addr().unwrap().port(),
            lie: Arc::default(),
            said_bytes: Arc::default(),
            requests: Arc::default(),
            is_over: Arc::default(),
        };
        let (lie, said_bytes, requests, is_over) = (
            Arc::clone(&liar.lie),
            Arc::clone(&liar.said_bytes),
            Arc::clone(&liar.requests),
            Arc::clone(&liar.is_over),
        );
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_over.load(Ordering::Acquire) {
                    break;
                }
                let (lie, said_bytes, requests) =
                    (Arc::clone(&lie), Arc::clone(&said_bytes), Arc::clone(&requests));
                std::thread::spawn(move || answer(stream, &lie, &said_bytes, &requests));
            }
        });
        liar
    }

    fn tell(&self, lie: Option<Lie>) {
        *self.lie.lock().unwrap() = lie;
        self.said_bytes.store(0, Ordering::Release);
        self.requests.store(0, Ordering::Release);
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

/// Takes requests with their bodies and answers them.
fn answer(mut stream: TcpStream, lie: &Mutex<Option<Lie>>, said_bytes: &AtomicU64, requests: &AtomicU64) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let Ok(count) = stream.read(&mut buffer) else { return };
        if count == 0 {
            return;
        }
        heard.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&heard).to_lowercase();
        let Some(end) = text.find("\r\n\r\n") else { continue };
        let length =
            text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next()?.parse().ok());
        if heard.len() < end + 4 + length.unwrap_or(0) {
            continue;
        }
        heard.clear();
        requests.fetch_add(1, Ordering::AcqRel);
        let mut say = |text: &str| {
            said_bytes.fetch_add(text.len() as u64, Ordering::AcqRel);
            stream.write_all(text.as_bytes()).is_ok()
        };
        let told = *lie.lock().unwrap();
        match told {
            None => {
                if !say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n") {
                    return;
                }
            }
            Some(Lie::Say(text)) => {
                say(text);
                return;
            }
            Some(Lie::SayAndReset(text)) => {
                say(text);
                // Time for what was said to arrive; a linger of 0 throws away what has not been sent.
                std::thread::sleep(Duration::from_millis(20));
                reset(&stream);
                return;
            }
            Some(Lie::Endless(text, more)) => {
                say(text);
                // Bounded here too: a client that takes it all has failed the test.
                for _ in 0..4_000_000 {
                    if !say(more) {
                        return;
                    }
                }
                return;
            }
            Some(Lie::Trickle(text)) => {
                say(text);
                for _ in 0..200 {
                    std::thread::sleep(Duration::from_millis(100));
                    if !say("x") {
                        return;
                    }
                }
                return;
            }
        }
    }
}

fn reset(stream: &TcpStream) {
    let socket = socket2::SockRef::from(stream);
    socket.set_linger(Some(Duration::ZERO)).unwrap();
}

/// Every adaptor that speaks HTTP, pointed at `url`.
fn clients(url: &str) -> Vec<(&'static str, Box<dyn Client>)> {
    let session = Arc::new(Session {
        token: Some(Secret::new("token")),
        storage_url: Some(format!("{url}/v1/account")),
        ..Session::default()
    });
    let keys: &[(&AdaptorDef, &[(&str, &str)])] = &[
        (
            &s3::DEF,
            &[("endpoint", url), ("accesskey", "a"), ("secretkey", "b"), ("path_style_access", "true")],
        ),
        (&swift::DEF, &[]),
        (&webdav::DEF, &[("endpoint", url)]),
        (&azure::DEF, &[("endpoint", url), ("account", "a"), ("account_key", "a2V5")]),
        (&gcs::DEF, &[("endpoint", url), ("project", "p")]),
        (&cdmi::DEF, &[("endpoint", url)]),
        (&sproxyd::DEF, &[("hosts", "127.0.0.1"), ("port", url.rsplit(':').next().unwrap())]),
    ];
    keys.iter()
        .map(|(def, entries)| {
            let (settings, problems) = Settings::parse(def.keys, entries.iter().copied());
            assert!(problems.is_empty(), "{}: {problems:?}", def.name);
            let adaptor = (def.open)(&settings).unwrap_or_else(|error| panic!("{}: {error}", def.name));
            (def.name, adaptor.client(&session).unwrap())
        })
        .collect()
}

const OPERATIONS: &[&str] = &["get", "put", "delete", "head", "list"];

/// One operation within the limit that the engine would set it.
async fn perform(client: &mut dyn Client, operation: &str, limit: Duration) -> Result<(), Error> {
    let name = ObjectName { container: "c", object: "o" };
    let body = BytesSource(&[7; 1000]);
    let mut sink = CollectSink::new(100);
    let mut marks = Marks::default();
    let call = async {
        match operation {
            "get" => client.get(name, None, Some(&mut sink), &mut marks).await.map(drop),
            "put" => client.put(name, &body, PutOptions::default(), &mut marks).await.map(drop),
            "delete" => client.delete(name, &mut marks).await,
            "head" => client.head(name, &mut marks).await.map(drop),
            _ => {
                let request = ListRequest { container: "c", ..ListRequest::default() };
                client.list(request, &mut marks).await.map(drop)
            }
        }
    };
    let over = tokio::time::timeout(limit, call).await;
    over.unwrap_or_else(|_| Err(Error::new(ErrorKind::Timeout, "the caller's time limit")))
}

/// A HEAD answer has no body, whatever it announces, and some take a success for what it says; those have told no lie.
fn is_no_lie(operation: &str, lie: Lie) -> bool {
    let (Lie::Say(text) | Lie::SayAndReset(text) | Lie::Endless(text, _) | Lie::Trickle(text)) = lie;
    operation == "head" && text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("\r\n\r\n")
}

#[tokio::test(flavor = "current_thread")]
async fn every_adaptor_tells_every_lie_apart_in_bounded_time_and_memory_and_goes_on() {
    let liar = Liar::start();
    let mut clients = clients(&format!("http://127.0.0.1:{}", liar.port));
    let mut wrong = Vec::new();
    let mut told = 0;
    for (what, lie, is_right) in LIES {
        let is_slow = matches!(lie, Lie::Trickle(_));
        for (name, client) in &mut clients {
            for operation in OPERATIONS {
                if is_no_lie(operation, *lie) {
                    continue;
                }
                liar.tell(Some(*lie));
                // A machine under load may take seconds for what takes microseconds.
                let limit = if is_slow { Duration::from_millis(150) } else { PATIENCE };
                let result = perform(client.as_mut(), operation, limit).await;
                let requests = liar.requests.load(Ordering::Acquire);
                let said_bytes = liar.said_bytes.load(Ordering::Acquire);
                liar.tell(None);
                let after = perform(client.as_mut(), operation, PATIENCE).await;
                let unsupported = matches!(&result, Err(error) if error.kind() == ErrorKind::Unsupported);
                if unsupported {
                    continue;
                }
                told += 1;
                match &result {
                    Err(error) if is_right(error.kind()) && !error.message().is_empty() => {}
                    other => wrong.push(format!("{name} {operation}, {what}: {other:?}")),
                }
                if requests > 1 {
                    wrong.push(format!("{name} {operation}, {what}: {requests} requests, a hidden retry"));
                }
                if said_bytes > 8 << 20 {
                    wrong.push(format!("{name} {operation}, {what}: {said_bytes} bytes were taken"));
                }
                if matches!(&after, Err(error) if error.kind() != ErrorKind::Status(404)) {
                    wrong.push(format!("{name} {operation}, after {what}: {after:?}"));
                }
            }
        }
    }
    assert!(told > 350, "{told}");
    assert!(wrong.is_empty(), "{} of {told}:\n{}", wrong.len(), wrong.join("\n"));
}

/// A complete and valid answer that is not the one to what was asked.
struct Quiet {
    what: &'static str,
    operation: &'static str,
    answer: &'static str,
    /// Of whom; empty = all that have the operation.
    adaptors: &'static [&'static str],
    kind: ErrorKind,
}

const fn quiet(
    operation: &'static str,
    what: &'static str,
    answer: &'static str,
    adaptors: &'static [&'static str],
    kind: ErrorKind,
) -> Quiet {
    Quiet { what, operation, answer, adaptors, kind }
}

const S3: &[&str] = &["s3"];

/// Asked is always for bytes 100-199, five names below `p/`, or the object `o`.
const QUIET_LIES: &[Quiet] = &[
    quiet("range", "the whole object", "200 OK\r\nContent-Length: 4\r\n\r\nwhol", &[], ErrorKind::WrongRange),
    quiet(
        "range",
        "no word on which bytes",
        "206 P\r\nContent-Length: 4\r\n\r\nwhol",
        &[],
        ErrorKind::WrongRange,
    ),
    quiet(
        "range",
        "the first bytes",
        "206 P\r\nContent-Range: bytes 0-3/900\r\nContent-Length: 4\r\n\r\nwhol",
        &[],
        ErrorKind::WrongRange,
    ),
    quiet(
        "range",
        "one byte later",
        "206 P\r\nContent-Range: bytes 101-104/900\r\nContent-Length: 4\r\n\r\nwhol",
        &[],
        ErrorKind::WrongRange,
    ),
    quiet(
        "range",
        "a part of what was asked",
        "206 P\r\nContent-Range: bytes 100-103/900\r\nContent-Length: 4\r\n\r\nwhol",
        &[],
        ErrorKind::WrongRange,
    ),
    quiet(
        "range",
        "fewer bytes than it says",
        "206 P\r\nContent-Range: bytes 100-199/900\r\nContent-Length: 4\r\n\r\nwhol",
        &[],
        ErrorKind::WrongRange,
    ),
    quiet(
        "range",
        "two ranges at once",
        "206 P\r\nContent-Range: bytes 100-103/104\r\nContent-Range: bytes 0-3/4\r\nContent-Length: 4\r\n\r\nwhol",
        &[],
        ErrorKind::WrongRange,
    ),
    quiet(
        "range",
        "more than the object is said to have",
        "206 P\r\nContent-Range: bytes 100-103/50\r\nContent-Length: 4\r\n\r\nwhol",
        &[],
        ErrorKind::WrongRange,
    ),
    quiet(
        "get",
        "a part of the object",
        "206 P\r\nContent-Range: bytes 0-3/900\r\nContent-Length: 4\r\n\r\nwhol",
        // CDMI wraps objects in JSON, Azure's reads of blobs begin with a question of their own.
        &["s3", "swift", "webdav", "gcs", "sproxyd"],
        ErrorKind::WrongRange,
    ),
    quiet(
        "get",
        "another length in chunks than announced",
        "200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwhol\r\n0\r\n\r\n",
        &["s3", "swift", "webdav", "gcs", "sproxyd"],
        ErrorKind::Protocol,
    ),
    quiet(
        "copy",
        "nothing at all",
        "200 OK\r\nContent-Length: 0\r\n\r\n",
        &["s3", "gcs"],
        ErrorKind::Protocol,
    ),
    quiet(
        "copy",
        "somebody's page",
        "200 OK\r\nContent-Length: 7\r\n\r\n<html/>",
        &["s3", "gcs"],
        ErrorKind::Protocol,
    ),
    quiet(
        "copy",
        "success on top, a failure below",
        "200 OK\r\nContent-Length: 43\r\n\r\n<Error><Code>InternalError</Code>12</Error>",
        S3,
        ErrorKind::Status(500),
    ),
    quiet(
        "put",
        "success on top, a failure below",
        "200 OK\r\nContent-Length: 43\r\n\r\n<Error><Code>InternalError</Code>12</Error>",
        S3,
        ErrorKind::Status(500),
    ),
    quiet(
        "delete_many",
        "nothing at all",
        "200 OK\r\nContent-Length: 0\r\n\r\n",
        &["s3", "swift"],
        ErrorKind::Protocol,
    ),
    quiet(
        "delete_many",
        "somebody's page",
        "200 OK\r\nContent-Length: 7\r\n\r\n<html/>",
        &["s3", "swift"],
        ErrorKind::Protocol,
    ),
    quiet("put", "somebody's page", "200 OK\r\nContent-Length: 7\r\n\r\n<html/>", S3, ErrorKind::Protocol),
    quiet("delete", "somebody's page", "200 OK\r\nContent-Length: 7\r\n\r\n<html/>", S3, ErrorKind::Protocol),
    quiet(
        "delete_many",
        "half a report",
        "200 OK\r\nContent-Length: 36\r\n\r\n<DeleteResult><Deleted><Key>o</Key><",
        S3,
        ErrorKind::Protocol,
    ),
    quiet(
        "list",
        "half a page",
        "200 OK\r\nContent-Length: 38\r\n\r\n<ListBucketResult><Key>p/1</Key><Key>p",
        S3,
        ErrorKind::Protocol,
    ),
    quiet(
        "list",
        "a failure within the page",
        "200 OK\r\nContent-Length: 77\r\n\r\n<ListBucketResult><Key>p/1</Key><Error><Code>InternalError</Code>1234</Error>",
        S3,
        ErrorKind::Status(500),
    ),
    quiet(
        "list",
        "more names than asked for",
        "200 OK\r\nContent-Length: 121\r\n\r\n<ListBucketResult><Key>p/1</Key><Key>p/2</Key><Key>p/3</Key><Key>p/4</Key>\
         <Key>p/5</Key><Key>p/6</Key></ListBucketResult>",
        S3,
        ErrorKind::Protocol,
    ),
    quiet(
        "list",
        "other names than asked for",
        "200 OK\r\nContent-Length: 66\r\n\r\n<ListBucketResult><Key>p/1</Key><Key>q/2</Key></ListBucketResult> ",
        S3,
        ErrorKind::Protocol,
    ),
    quiet(
        "list",
        "the same page again",
        "200 OK\r\nContent-Length: 137\r\n\r\n<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>again\
         </NextContinuationToken><Key>p/1</Key></ListBucketResult>   ",
        S3,
        ErrorKind::Protocol,
    ),
    quiet(
        "list",
        "other names than asked for",
        "200 OK\r\nContent-Length: 8\r\n\r\np/1\nq/2\n",
        &["swift"],
        ErrorKind::Protocol,
    ),
    quiet(
        "list",
        "more names than asked for",
        "200 OK\r\nContent-Length: 24\r\n\r\np/1\np/2\np/3\np/4\np/5\np/6\n",
        &["swift"],
        ErrorKind::Protocol,
    ),
];

/// As the engine does it: a page is looked at by [`cosmark_adaptor_api::ListPage::answers`].
async fn ask(client: &mut dyn Client, operation: &str) -> Result<(), Error> {
    let name = ObjectName { container: "c", object: "o" };
    let mut marks = Marks::default();
    match operation {
        "range" => {
            let range = ByteRange { first: 100, last: 199 };
            client.get(name, Some(range), None, &mut marks).await.map(drop)
        }
        "copy" => client.copy(name, ObjectName { object: "copy", ..name }, &mut marks).await.map(drop),
        "delete_many" => client.delete_many("c", &["o".to_owned(), "p".to_owned()], &mut marks).await,
        "list" => {
            let request = ListRequest {
                container: "c",
                prefix: "p/",
                after: Some("again"),
                page_size: Some(5),
                want_names: true,
                ..ListRequest::default()
            };
            client.list(request, &mut marks).await?.answers(&request)
        }
        other => perform(client, other, PATIENCE).await,
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_complete_answer_to_something_else_is_never_a_success() {
    let liar = Liar::start();
    let mut wrong = Vec::new();
    let mut told = 0;
    for lie in QUIET_LIES {
        let answer: &'static str = Box::leak(format!("HTTP/1.1 {}", lie.answer).into_boxed_str());
        let mut asked_of = 0;
        // A client of its own for each: what one has learnt from a lie is not the next one's.
        for (name, mut client) in clients(&format!("http://127.0.0.1:{}", liar.port)) {
            if !lie.adaptors.is_empty() && !lie.adaptors.contains(&name) {
                continue;
            }
            liar.tell(Some(Lie::Say(answer)));
            match ask(client.as_mut(), lie.operation).await {
                Err(error) if error.kind() == ErrorKind::Unsupported => continue,
                Err(error) if error.kind() == lie.kind => {}
                other => wrong.push(format!("{name} {}, {}: {other:?}", lie.operation, lie.what)),
            }
            told += 1;
            asked_of += 1;
        }
        assert!(asked_of > 0, "{} {}", lie.operation, lie.what);
    }
    assert!(wrong.is_empty(), "{} of {told}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(told > 60, "{told}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_server_that_takes_connections_and_says_nothing_is_a_timeout_of_the_callers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    for (name, mut client) in clients(&url) {
        let begun = Instant::now();
        let error = perform(client.as_mut(), "get", Duration::from_millis(100)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{name}");
        assert!(begun.elapsed() >= Duration::from_millis(100), "{name}");
    }
}
