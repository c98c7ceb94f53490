//! The `librados` storage against a library that keeps objects in memory: what crosses the border to C, completions from
//! another thread, cancelled calls, pieces, listings. Against a real cluster it runs in `tests/beds.rs`.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use cosmark_adaptor_api::conformance::{Ground, Verdict, run_all};
use cosmark_adaptor_api::{
    ByteRange, BytesSource, CollectSink, Marks, MultipartPlan, ObjectName, PutOptions, Secret,
};

use super::library::{Api, Callback, ListItem, RawCluster, RawCompletion, RawCursor, RawPool, install};
use super::*;

/// Pool, namespace, name.
type Place = (String, String, String);

#[derive(Default)]
struct World {
    pools: BTreeMap<String, bool>,
    objects: BTreeMap<Place, Vec<u8>>,
}

static WORLD: Mutex<World> = Mutex::new(World { pools: BTreeMap::new(), objects: BTreeMap::new() });
/// Calls that were given up, of all tests.
static CANCELLED: AtomicUsize = AtomicUsize::new(0);

fn world() -> MutexGuard<'static, World> {
    WORLD.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

struct FakePool {
    name: String,
    namespace: String,
}

struct FakeCompletion {
    argument: usize,
    callback: Callback,
    result: AtomicI64,
    /// The user's and the call's.
    holders: AtomicUsize,
    /// Set by whoever completes it.
    done: AtomicUsize,
}

unsafe fn text<'a>(text: *const c_char) -> &'a str {
    unsafe { CStr::from_ptr(text) }.to_str().unwrap()
}

unsafe fn place(pool: RawPool, object: *const c_char) -> Place {
    let pool = unsafe { &*pool.cast::<FakePool>() };
    (pool.name.clone(), pool.namespace.clone(), unsafe { text(object) }.to_owned())
}

unsafe fn let_go(completion: RawCompletion) {
    let own = completion.cast::<FakeCompletion>();
    if unsafe { &*own }.holders.fetch_sub(1, Ordering::AcqRel) == 1 {
        drop(unsafe { Box::from_raw(own) });
    }
}

/// Completes a call that `take` gave to this thread.
unsafe fn complete(completion: RawCompletion, result: i64) {
    let own = unsafe { &*completion.cast::<FakeCompletion>() };
    own.result.store(result, Ordering::Release);
    (own.callback)(completion, own.argument as *mut c_void);
    unsafe { let_go(completion) };
}

/// True for the one that may complete a call: its thread or whoever cancels it. Under the world's lock, so that a call
/// which was cancelled writes nowhere any more.
unsafe fn take(completion: RawCompletion, _: &World) -> bool {
    unsafe { &*completion.cast::<FakeCompletion>() }.done.swap(1, Ordering::AcqRel) == 0
}

/// Runs a call on a thread of its own, as librados does. Objects called `hang*` are never answered.
unsafe fn later(
    name: &str,
    completion: RawCompletion,
    job: impl FnOnce(&mut World) -> i64 + Send + 'static,
) -> c_int {
    let own = unsafe { &*completion.cast::<FakeCompletion>() };
    own.holders.fetch_add(1, Ordering::AcqRel);
    if !name.starts_with("hang") {
        own.holders.fetch_add(1, Ordering::AcqRel);
        let completion = completion as usize;
        std::thread::spawn(move || {
            let completion = completion as RawCompletion;
            let result = {
                let mut world = world();
                let mine = unsafe { take(completion, &world) };
                mine.then(|| job(&mut world))
            };
            if let Some(result) = result {
                unsafe { complete(completion, result) };
            }
            unsafe { let_go(completion) };
        });
    }
    0
}

const MISSING: i64 = -(libc::ENOENT as i64);

extern "C" fn create2(cluster: *mut RawCluster, _: *const c_char, name: *const c_char, _: u64) -> c_int {
    assert!(unsafe { text(name) }.starts_with("client."));
    unsafe { *cluster = Box::into_raw(Box::new(0_i32)).cast() };
    0
}
extern "C" fn conf_read_file(_: RawCluster, _: *const c_char) -> c_int {
    0
}
/// Options of clusters, in the order in which they were set.
static OPTIONS: Mutex<Vec<(usize, String, String)>> = Mutex::new(Vec::new());

extern "C" fn conf_set(cluster: RawCluster, name: *const c_char, value: *const c_char) -> c_int {
    let option = unsafe { (cluster.addr(), text(name).to_owned(), text(value).to_owned()) };
    OPTIONS.lock().unwrap().push(option);
    if unsafe { text(name) } == "key" && unsafe { text(value) } == "wrong" {
        unsafe { *cluster.cast::<i32>() = -libc::EACCES };
    }
    0
}
extern "C" fn connect(cluster: RawCluster) -> c_int {
    unsafe { *cluster.cast::<i32>() }
}
extern "C" fn shutdown(cluster: RawCluster) {
    drop(unsafe { Box::from_raw(cluster.cast::<i32>()) });
}
extern "C" fn pool_lookup(_: RawCluster, name: *const c_char) -> i64 {
    if world().pools.contains_key(unsafe { text(name) }) { 1 } else { MISSING }
}
extern "C" fn pool_create(_: RawCluster, name: *const c_char) -> c_int {
    world().pools.insert(unsafe { text(name) }.to_owned(), false);
    0
}
extern "C" fn pool_delete(_: RawCluster, name: *const c_char) -> c_int {
    world().pools.remove(unsafe { text(name) });
    0
}
extern "C" fn pool_list(_: RawCluster, buffer: *mut c_char, len: usize) -> c_int {
    let names: Vec<u8> =
        world().pools.keys().flat_map(|name| [name.as_bytes(), &[0]].concat()).chain([0]).collect();
    if names.len() <= len {
        unsafe { std::ptr::copy_nonoverlapping(names.as_ptr(), buffer.cast(), names.len()) };
    }
    c_int::try_from(names.len()).unwrap()
}
extern "C" fn application_enable(_: RawPool, _: *const c_char, _: c_int) -> c_int {
    0
}
extern "C" fn application_metadata_get(
    pool: RawPool,
    _: *const c_char,
    _: *const c_char,
    _: *mut c_char,
    _: *mut usize,
) -> c_int {
    let pool = unsafe { &*pool.cast::<FakePool>() };
    if world().pools[&pool.name] { 0 } else { -libc::ENOENT }
}
extern "C" fn application_metadata_set(
    pool: RawPool,
    _: *const c_char,
    _: *const c_char,
    _: *const c_char,
) -> c_int {
    let pool = unsafe { &*pool.cast::<FakePool>() };
    world().pools.insert(pool.name.clone(), true);
    0
}
extern "C" fn ioctx_create(_: RawCluster, name: *const c_char, pool: *mut RawPool) -> c_int {
    let name = unsafe { text(name) }.to_owned();
    if !world().pools.contains_key(&name) {
        return -libc::ENOENT;
    }
    unsafe { *pool = Box::into_raw(Box::new(FakePool { name, namespace: String::new() })).cast() };
    0
}
extern "C" fn ioctx_destroy(pool: RawPool) {
    drop(unsafe { Box::from_raw(pool.cast::<FakePool>()) });
}
extern "C" fn ioctx_set_namespace(pool: RawPool, namespace: *const c_char) {
    unsafe { &mut *pool.cast::<FakePool>() }.namespace = unsafe { text(namespace) }.to_owned();
}
extern "C" fn aio_create_completion(
    argument: *mut c_void,
    callback: Option<Callback>,
    _: Option<Callback>,
    completion: *mut RawCompletion,
) -> c_int {
    let own = FakeCompletion {
        argument: argument as usize,
        callback: callback.unwrap(),
        result: AtomicI64::new(0),
        holders: AtomicUsize::new(1),
        done: AtomicUsize::new(0),
    };
    unsafe { *completion = Box::into_raw(Box::new(own)).cast() };
    0
}
extern "C" fn aio_get_return_value(completion: RawCompletion) -> c_int {
    let own = unsafe { &*completion.cast::<FakeCompletion>() };
    c_int::try_from(own.result.load(Ordering::Acquire)).unwrap()
}
extern "C" fn aio_release(completion: RawCompletion) {
    unsafe { let_go(completion) };
}
extern "C" fn aio_cancel(_: RawPool, completion: RawCompletion) -> c_int {
    CANCELLED.fetch_add(1, Ordering::Relaxed);
    let mine = unsafe { take(completion, &world()) };
    if mine {
        unsafe { complete(completion, -i64::from(libc::ECANCELED)) };
    }
    0
}
extern "C" fn aio_read(
    pool: RawPool,
    object: *const c_char,
    completion: RawCompletion,
    buffer: *mut c_char,
    len: usize,
    offset: u64,
) -> c_int {
    let place = unsafe { place(pool, object) };
    let (buffer, offset) = (buffer as usize, usize::try_from(offset).unwrap());
    let name = place.2.clone();
    let job = move |world: &mut World| {
        let Some(content) = world.objects.get(&place) else { return MISSING };
        let part = &content[offset.min(content.len())..(offset + len).min(content.len())];
        unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), buffer as *mut u8, part.len()) };
        i64::try_from(part.len()).unwrap()
    };
    unsafe { later(&name, completion, job) }
}
extern "C" fn aio_write(
    pool: RawPool,
    object: *const c_char,
    completion: RawCompletion,
    data: *const c_char,
    len: usize,
    offset: u64,
) -> c_int {
    let place = unsafe { place(pool, object) };
    let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) };
    if data.starts_with(b"too much") {
        return -libc::E2BIG;
    }
    // As in RADOS, the order of one client's writes to an object is the order in which they were given.
    let mut world = world();
    let content = world.objects.entry(place).or_default();
    let offset = usize::try_from(offset).unwrap();
    content.resize(content.len().max(offset + len), 0);
    content[offset..offset + len].copy_from_slice(data);
    drop(world);
    unsafe { later("", completion, |_| 0) }
}
extern "C" fn aio_write_full(
    pool: RawPool,
    object: *const c_char,
    completion: RawCompletion,
    data: *const c_char,
    len: usize,
) -> c_int {
    world().objects.remove(&unsafe { place(pool, object) });
    aio_write(pool, object, completion, data, len, 0)
}
extern "C" fn aio_remove(pool: RawPool, object: *const c_char, completion: RawCompletion) -> c_int {
    let place = unsafe { place(pool, object) };
    unsafe { later("", completion, move |world| world.objects.remove(&place).map_or(MISSING, |_| 0)) }
}
extern "C" fn aio_stat(
    pool: RawPool,
    object: *const c_char,
    completion: RawCompletion,
    size: *mut u64,
    modified: *mut libc::time_t,
) -> c_int {
    let place = unsafe { place(pool, object) };
    let (size, modified) = (size as usize, modified as usize);
    let job = move |world: &mut World| {
        let Some(content) = world.objects.get(&place) else { return MISSING };
        unsafe {
            *(size as *mut u64) = content.len() as u64;
            *(modified as *mut libc::time_t) = 1;
        }
        0
    };
    unsafe { later("", completion, job) }
}
extern "C" fn object_list_begin(_: RawPool) -> RawCursor {
    Box::into_raw(Box::new(Some(String::new()))).cast()
}
extern "C" fn object_list_end(_: RawPool) -> RawCursor {
    Box::into_raw(Box::new(None::<String>)).cast()
}
extern "C" fn object_list_is_end(_: RawPool, cursor: RawCursor) -> c_int {
    c_int::from(unsafe { &*cursor.cast::<Option<String>>() }.is_none())
}
extern "C" fn object_list_cursor_free(_: RawPool, cursor: RawCursor) {
    drop(unsafe { Box::from_raw(cursor.cast::<Option<String>>()) });
}
extern "C" fn object_list(
    pool: RawPool,
    from: RawCursor,
    _: RawCursor,
    most: usize,
    _: *const c_char,
    _: usize,
    items: *mut ListItem,
    next: *mut RawCursor,
) -> c_int {
    let pool = unsafe { &*pool.cast::<FakePool>() };
    let from = unsafe { &*from.cast::<Option<String>>() }.clone().unwrap();
    let names: Vec<String> = world()
        .objects
        .keys()
        .filter(|(name, namespace, _)| {
            *name == pool.name && (pool.namespace == "\u{1}" || *namespace == pool.namespace)
        })
        .map(|place| place.2.clone())
        .filter(|name| *name > from)
        .take(most + 1)
        .collect();
    let is_last = names.len() <= most;
    for (at, name) in names.iter().take(most).enumerate() {
        let own = Box::leak(name.clone().into_bytes().into_boxed_slice());
        unsafe {
            *items.add(at) =
                ListItem { oid_length: own.len(), oid: own.as_mut_ptr().cast(), ..ListItem::EMPTY }
        };
    }
    let count = names.len().min(most);
    let place = if is_last { None } else { Some(names[count - 1].clone()) };
    unsafe { *(*next).cast::<Option<String>>() = place };
    c_int::try_from(count).unwrap()
}
extern "C" fn object_list_free(count: usize, items: *mut ListItem) {
    for at in 0..count {
        let item = unsafe { *items.add(at) };
        let slice = std::ptr::slice_from_raw_parts_mut(item.oid.cast::<u8>(), item.oid_length);
        drop(unsafe { Box::from_raw(slice) });
    }
}

fn fake() -> Api {
    Api {
        create2,
        conf_read_file,
        conf_set,
        connect,
        shutdown,
        pool_lookup,
        pool_create,
        pool_delete,
        pool_list,
        application_enable,
        application_metadata_get,
        application_metadata_set,
        ioctx_create,
        ioctx_destroy,
        ioctx_set_namespace,
        aio_create_completion,
        aio_get_return_value,
        aio_release,
        aio_cancel,
        aio_read,
        aio_write,
        aio_write_full,
        aio_remove,
        aio_stat,
        object_list_begin,
        object_list_end,
        object_list_is_end,
        object_list_cursor_free,
        object_list,
        object_list_free,
    }
}

/// An adaptor on the library in memory; `pool` exists there.
fn adaptor(pool: &str, entries: &[(&str, &str)]) -> Arc<dyn Adaptor> {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| install("memory", fake()));
    world().pools.entry(pool.to_owned()).or_insert(false);
    let always = [("library", "memory"), ("endpoint", "127.0.0.1"), ("secretkey", "right")];
    let (settings, problems) = Settings::parse(KEYS, always.into_iter().chain(entries.iter().copied()));
    assert!(problems.is_empty(), "{problems:?}");
    (DEF.open)(&settings).unwrap()
}

async fn conform(adaptor: &dyn Adaptor, container: &str) -> Vec<&'static str> {
    let ground = Ground { container: container.into(), part_size_bytes: 1 << 20 };
    let results = run_all(adaptor, &Arc::default(), &ground).await;
    let failed: Vec<_> =
        results.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Failed(_))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    results.into_iter().filter(|(_, verdict)| *verdict == Verdict::Passed).map(|(case, _)| case).collect()
}

#[tokio::test(flavor = "current_thread")]
async fn containers_conform_as_namespaces_of_a_pool_and_as_pools_of_their_own() {
    let passed = conform(adaptor("one", &[("pool", "one")]).as_ref(), "a-namespace").await;
    assert_eq!(passed.len(), 16, "{passed:?}");
    let passed = conform(adaptor("one", &[("pool", "one"), ("piece", "4KiB")]).as_ref(), "small").await;
    assert_eq!(passed.len(), 16, "{passed:?}");
    let passed = conform(adaptor("one", &[("create_pools", "true")]).as_ref(), "made-by-us").await;
    assert_eq!(passed.len(), 16, "{passed:?}");
    assert!(!world().pools.contains_key("made-by-us"));
    let passed = conform(adaptor("given", &[("namespace", "ns")]).as_ref(), "given").await;
    assert_eq!(passed.len(), 13, "{passed:?}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_pool_that_cosmark_did_not_create_is_neither_created_nor_deleted() {
    for entries in [&[][..], &[("create_pools", "true")]] {
        let adaptor = adaptor("users-own", entries);
        let mut client = adaptor.client(&Arc::default()).unwrap();
        client.create_container("users-own", &mut Marks::default()).await.unwrap();
        client.delete_container("users-own", &mut Marks::default()).await.unwrap();
        assert!(world().pools.contains_key("users-own"));
    }
    let adaptor = adaptor("users-own", &[]);
    let mut client = adaptor.client(&Arc::default()).unwrap();
    let error = client.create_container("no-such-pool", &mut Marks::default()).await.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(404), Some("NoSuchPool")), "{error}");
    assert!(!world().pools.contains_key("no-such-pool"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_call_that_is_never_answered_is_cancelled_when_it_is_dropped_and_the_next_one_works() {
    let adaptor = adaptor("hung", &[("pool", "hung")]);
    let mut client = adaptor.client(&Arc::default()).unwrap();
    // With an open pool a call is with the library as soon as it is made.
    let name = ObjectName { container: "c", object: "before" };
    client.put(name, &BytesSource(b"abc"), PutOptions::default(), &mut Marks::default()).await.unwrap();
    let before = CANCELLED.load(Ordering::Relaxed);
    for _ in 0..3 {
        let name = ObjectName { container: "c", object: "hang" };
        let mut marks = Marks::default();
        let call = client.get(name, None, None, &mut marks);
        assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
    }
    assert!(CANCELLED.load(Ordering::Relaxed) - before >= 3);
    let name = ObjectName { container: "c", object: "after" };
    client.put(name, &BytesSource(b"abc"), PutOptions::default(), &mut Marks::default()).await.unwrap();
    let mut sink = CollectSink::new(10);
    client.get(name, None, Some(&mut sink), &mut Marks::default()).await.unwrap();
    assert_eq!(sink.bytes, b"abc");
}

#[tokio::test(flavor = "current_thread")]
async fn long_objects_go_in_pieces_and_each_piece_is_a_request() {
    let adaptor = adaptor("pieces", &[("pool", "pieces"), ("piece", "4KiB")]);
    let mut client = adaptor.client(&Arc::default()).unwrap();
    let name = ObjectName { container: "c", object: "long" };
    let content: Vec<u8> = (0..10_000_u32).map(|n| (n % 251) as u8).collect();
    let mut marks = Marks::default();
    client.put(name, &BytesSource(&content), PutOptions::default(), &mut marks).await.unwrap();
    assert_eq!((marks.requests, marks.body_bytes, marks.status), (3, 10_000, 201));
    // A read asks for 8 KiB at a time: a piece, and 4 KiB to see the end.
    let mut marks = Marks::default();
    client.get(name, None, None, &mut marks).await.unwrap();
    assert_eq!((marks.requests, marks.body_bytes, marks.status), (2, 10_000, 200));
    client
        .put(name, &BytesSource(&content[..4096]), PutOptions::default(), &mut Marks::default())
        .await
        .unwrap();
    let mut marks = Marks::default();
    client.get(name, None, None, &mut marks).await.unwrap();
    assert_eq!((marks.requests, marks.body_bytes), (1, 4096), "an object of one piece is one request");
    let range = ByteRange { first: 4096, last: 5000 };
    let error = client.get(name, Some(range), None, &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.status(), Some(416), "{error}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_write_in_parts_that_fails_leaves_nothing_behind() {
    let adaptor = adaptor("parts", &[("pool", "parts")]);
    let mut client = adaptor.client(&Arc::default()).unwrap();
    let name = ObjectName { container: "c", object: "broken" };
    let content = [b"fine so far. ".as_slice(), b"too much".as_slice()].concat();
    let plan = MultipartPlan { part_size_bytes: 13, concurrency: 1 };
    let failed = client.put_multipart(name, &BytesSource(&content), plan, &mut Marks::default()).await;
    let error = failed.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(413), Some("E2BIG")), "{error}");
    let gone = client.head(name, &mut Marks::default()).await.unwrap_err();
    assert_eq!(gone.status(), Some(404), "{gone}");
}

#[tokio::test(flavor = "current_thread")]
async fn names_that_c_cannot_hold_are_refused() {
    let adaptor = adaptor("names", &[("pool", "names")]);
    let mut client = adaptor.client(&Arc::default()).unwrap();
    for (container, object) in [("c", "a\0b"), ("c\0d", "a"), ("", "a"), ("c", "")] {
        let name = ObjectName { container, object };
        let error = client.head(name, &mut Marks::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_wrong_key_a_missing_file_and_a_missing_library_are_one_sentence_each() {
    type Case<'a> = (&'a [(&'a str, &'a str)], ErrorKind, &'a str);
    let cases: [Case<'_>; 6] = [
        (&[("secretkey", "wrong")], ErrorKind::Denied, "refuses client.admin"),
        (&[("keyring", "/nonexistent/keyring")], ErrorKind::Config, "/nonexistent/keyring"),
        (&[("endpoint", "host.invalid")], ErrorKind::Connect, "host.invalid cannot be resolved"),
        (&[("conf", "/nonexistent/ceph.conf")], ErrorKind::Config, "/nonexistent/ceph.conf"),
        (&[("library", "librados.so.none")], ErrorKind::LocalIo, "librados.so.none"),
        (&[("library", "libc.so.6")], ErrorKind::LocalIo, "libc.so.6 is no librados"),
    ];
    for (entries, kind, words) in cases {
        let adaptor = adaptor("any", entries);
        let mut client = adaptor.client(&Arc::default()).unwrap();
        let error = client.probe(&mut Marks::default()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(words) && error.hint().is_some(), "{error}");
    }
    let missing = adaptor("any", &[("library", "librados.so.none")]);
    let error = missing.client(&Arc::default()).unwrap().probe(&mut Marks::default()).await.unwrap_err();
    assert!(error.hint().unwrap().contains("apt-get install librados2"), "{error}");
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    for entries in [&[("pool", "p"), ("namespace", "n"), ("endpoint", "m")][..], &[("pool", "p")]] {
        let (settings, _) = Settings::parse(KEYS, entries.iter().copied());
        let error = (DEF.open)(&settings).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    }
}

#[test]
fn all_works_with_the_same_settings_share_one_connection() {
    let _ = adaptor("shared", &[]);
    let config = |user: &str| Config {
        library: "memory".into(),
        mon_host: Some("127.0.0.1".into()),
        conf: None,
        user: user.into(),
        key: Secret::new("right"),
        keyring: None,
        usual_keyrings: true,
        connect_timeout: Duration::from_secs(1),
        timeout: None,
    };
    let (first, second) =
        (cluster::connected(&config("a")).unwrap(), cluster::connected(&config("a")).unwrap());
    assert!(Arc::ptr_eq(&first, &second));
    // Whoever is elsewhere gets neither that connection nor a key that this machine keeps.
    let from_outside = cluster::connected(&Config { usual_keyrings: false, ..config("a") }).unwrap();
    assert!(!Arc::ptr_eq(&first, &from_outside));
    let has_no_keyring = |cluster: &cluster::Cluster| {
        let none = (cluster.raw.addr(), "keyring".to_owned(), String::new());
        OPTIONS.lock().unwrap().contains(&none)
    };
    assert_eq!((has_no_keyring(&first), has_no_keyring(&from_outside)), (false, true));
    assert!(!Arc::ptr_eq(&first, &cluster::connected(&config("b")).unwrap()));
}
