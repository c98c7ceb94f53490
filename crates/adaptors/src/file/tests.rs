//! The `file` storage against a real directory.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::task::Poll;
use std::time::Duration;

use cosmark_adaptor_api::conformance::{Ground, Verdict, run_all};
use cosmark_adaptor_api::{BytesSource, CollectSink};

use super::*;

fn store(directory: &Path, entries: &[(&str, &str)]) -> Result<Arc<dyn Adaptor>> {
    let path = directory.to_str().unwrap();
    let (settings, problems) =
        Settings::parse(KEYS, [("dir", path)].into_iter().chain(entries.iter().copied()));
    assert!(problems.is_empty(), "{problems:?}");
    (DEF.open)(&settings)
}

fn client(directory: &Path, entries: &[(&str, &str)]) -> Box<dyn Client> {
    store(directory, entries).unwrap().client(&Arc::default()).unwrap()
}

fn name<'a>(container: &'a str, object: &'a str) -> ObjectName<'a> {
    ObjectName { container, object }
}

async fn put(client: &mut dyn Client, name: ObjectName<'_>, content: &[u8]) -> Result<PutOutcome> {
    client.put(name, &BytesSource(content), PutOptions::default(), &mut Marks::default()).await
}

async fn get(client: &mut dyn Client, name: ObjectName<'_>) -> Result<Vec<u8>> {
    let mut sink = CollectSink::new(usize::MAX);
    client.get(name, None, Some(&mut sink), &mut Marks::default()).await?;
    Ok(sink.bytes)
}

/// What is in a container, without its mark.
fn entries(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != ".cosmark")
        .collect();
    names.sort();
    names
}

/// A directory on a real disk: some kernels have no direct I/O on tmpfs.
fn scratch() -> tempfile::TempDir {
    let programs = std::env::current_exe().unwrap();
    tempfile::tempdir_in(programs.parent().unwrap()).unwrap()
}

#[tokio::test(flavor = "current_thread")]
async fn the_file_store_passes_the_conformance_suite_in_every_mode() {
    let modes: &[&[(&str, &str)]] = &[
        &[],
        &[("fsync", "true"), ("buffer_size", "64KiB")],
        &[("atomic", "false"), ("buffer_size", "4KiB")],
        &[("direct", "true"), ("buffer_size", "64KiB")],
        &[("direct", "true"), ("atomic", "false"), ("fsync", "true")],
    ];
    for mode in modes {
        let directory = scratch();
        let adaptor = store(directory.path(), mode).unwrap();
        let ground = Ground { container: "conformance".into(), part_size_bytes: 1 << 20 };
        for (case, verdict) in run_all(adaptor.as_ref(), &Arc::default(), &ground).await {
            assert!(!matches!(verdict, Verdict::Failed(_)), "{mode:?} {case}: {verdict:?}");
        }
        assert!(entries(directory.path()).is_empty(), "{mode:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn no_name_leads_out_of_the_directory() {
    let outside = scratch();
    let root = outside.path().join("store");
    std::fs::create_dir(&root).unwrap();
    let mut client = client(&root, &[]);
    for container in ["..", "../..", "/", ".", "a/../.."] {
        client.create_container(container, &mut Marks::default()).await.unwrap();
        put(client.as_mut(), name(container, "../escaped"), b"x").await.unwrap();
        assert_eq!(get(client.as_mut(), name(container, "../escaped")).await.unwrap(), b"x");
    }
    assert_eq!(entries(outside.path()), ["store"]);
    assert_eq!(entries(&root).len(), 5);
    assert_eq!(entries(&root.join("%2E.")), ["%2E.%2Fescaped"]);
}

#[tokio::test(flavor = "current_thread")]
async fn symbolic_links_are_not_followed() {
    let outside = scratch();
    let root = outside.path().join("store");
    let secret = outside.path().join("secret");
    std::fs::create_dir_all(root.join("c")).unwrap();
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(secret.join("file"), "private").unwrap();
    symlink(&secret, root.join("linked")).unwrap();
    symlink(secret.join("file"), root.join("c/linked")).unwrap();
    for mode in ["true", "false"] {
        let mut client = client(&root, &[("atomic", mode)]);
        let error = get(client.as_mut(), name("linked", "file")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LocalIo, "{error}");
        assert_eq!(get(client.as_mut(), name("c", "linked")).await.unwrap_err().kind(), ErrorKind::LocalIo);
        assert!(put(client.as_mut(), name("linked", "file"), b"overwritten").await.is_err());
        let _ = put(client.as_mut(), name("c", "linked"), b"overwritten").await;
        assert!(client.create_container("linked", &mut Marks::default()).await.is_err());
        assert!(client.delete_container("linked", &mut Marks::default()).await.is_err());
        assert_eq!(std::fs::read_to_string(secret.join("file")).unwrap(), "private");
        let _ = std::fs::remove_file(root.join("c/linked"));
        symlink(secret.join("file"), root.join("c/linked")).unwrap();
    }
    assert_eq!(entries(&secret), ["file"]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_pipe_or_directory_under_an_objects_name_is_an_error_not_a_hang() {
    let root = scratch();
    std::fs::create_dir_all(root.path().join("c/dir")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, root.path().join("c/pipe"), rustix::fs::Mode::from_raw_mode(0o600))
        .unwrap();
    for mode in ["true", "false"] {
        let mut client = client(root.path(), &[("atomic", mode)]);
        for object in ["pipe", "dir"] {
            let read = tokio::time::timeout(Duration::from_secs(60), get(client.as_mut(), name("c", object)));
            assert_eq!(read.await.unwrap().unwrap_err().kind(), ErrorKind::LocalIo, "{object}");
            if mode == "false" {
                let write = put(client.as_mut(), name("c", object), b"x");
                let write = tokio::time::timeout(Duration::from_secs(60), write).await;
                assert_eq!(write.unwrap().unwrap_err().kind(), ErrorKind::LocalIo, "{object}");
            }
        }
        assert!(client.delete(name("c", "dir"), &mut Marks::default()).await.is_err());
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_abandoned_atomic_write_leaves_the_old_object_and_no_litter() {
    let root = scratch();
    let mut client = client(root.path(), &[("buffer_size", "4KiB")]);
    client.create_container("c", &mut Marks::default()).await.unwrap();
    put(client.as_mut(), name("c", "o"), b"old").await.unwrap();
    // More pieces than tokio lets a task go on with before it yields, however fast they are written.
    let body = vec![7; 4 << 20];
    let mut marks = Marks::default();
    {
        let source = BytesSource(&body);
        let mut call = client.put(name("c", "o"), &source, PutOptions::default(), &mut marks);
        let polled = std::future::poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
        assert!(polled.is_pending());
        // A piece is on its way; the call is dropped once its file is there.
        until(|| entries(&root.path().join("c")).len() == 2).await;
    }
    until(|| entries(&root.path().join("c")).len() == 1).await;
    assert_eq!(entries(&root.path().join("c")), ["o"]);
    assert_eq!(get(client.as_mut(), name("c", "o")).await.unwrap(), b"old");
}

/// Waits for what another thread does, at most a minute.
async fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain");
}

#[tokio::test(flavor = "current_thread")]
async fn foreign_files_are_neither_listed_nor_deleted_and_dispose_says_so() {
    let root = scratch();
    let container = root.path().join("c");
    let mut client = client(root.path(), &[]);
    client.create_container("c", &mut Marks::default()).await.unwrap();
    for foreign in ["my file", ".hidden", ".cosmark-1-1"] {
        std::fs::write(container.join(foreign), "x").unwrap();
    }
    let request = ListRequest { container: "c", want_names: true, ..ListRequest::default() };
    assert_eq!(client.list(request, &mut Marks::default()).await.unwrap().count, 0);
    let error = client.delete_container("c", &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.status(), Some(409));
    assert!(
        error.message().contains("0 objects, 1 unfinished writes, 2 files that Cosmark did not write"),
        "{error}"
    );
    assert_eq!(entries(&container).len(), 3);
    assert!(container.join(".cosmark").exists(), "it is still ours");
}

#[tokio::test(flavor = "current_thread")]
async fn a_directory_that_somebody_else_made_is_never_deleted_whatever_is_in_it() {
    let root = scratch();
    let mut client = client(root.path(), &[]);
    for (container, what) in [("empty", None), ("full", Some("o1")), ("strange", Some("my file"))] {
        std::fs::create_dir(root.path().join(container)).unwrap();
        what.into_iter()
            .for_each(|file| std::fs::write(root.path().join(container).join(file), "x").unwrap());
        // An init on it makes it nobody else's.
        client.create_container(container, &mut Marks::default()).await.unwrap();
        let error = client.delete_container(container, &mut Marks::default()).await.unwrap_err();
        // No 409, on which a dispose with `empty_container` would empty it.
        assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, Some("NotOurs")), "{container}");
        assert_eq!(entries(&root.path().join(container)).len(), usize::from(what.is_some()));
    }
    std::fs::create_dir(root.path().join("tricked")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.path().join("tricked/.cosmark")).unwrap();
    let error = client.delete_container("tricked", &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.code(), Some("NotOurs"), "a link is no mark");
}

#[tokio::test(flavor = "current_thread")]
async fn the_account_listing_gives_the_containers() {
    let root = scratch();
    std::fs::write(root.path().join("a-file"), "x").unwrap();
    let mut client = client(root.path(), &[]);
    for container in ["b", "a", "sp ace"] {
        client.create_container(container, &mut Marks::default()).await.unwrap();
    }
    let request = ListRequest { want_names: true, ..ListRequest::default() };
    let page = client.list(request, &mut Marks::default()).await.unwrap();
    assert_eq!(page.names, ["a", "b", "sp ace"]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_full_device_and_a_too_long_name_name_their_remedy() {
    let root = scratch();
    std::fs::create_dir(root.path().join("c")).unwrap();
    let mut client = client(root.path(), &[]);
    let error = put(client.as_mut(), name("c", &"x".repeat(300)), b"x").await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::LocalIo, Some("ENAMETOOLONG")));
    assert!(error.hint().unwrap().contains("255"));
    let full = io_error_of_a_full_device();
    let error = errors::io(&full, errors::Doing::Writing, &Named::new(name("c", "o")).unwrap());
    assert_eq!((error.kind(), error.code()), (ErrorKind::LocalIo, Some("ENOSPC")));
    assert!(error.hint().unwrap().contains("free space"));
}

fn io_error_of_a_full_device() -> std::io::Error {
    use std::io::Write as _;
    std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap().write_all(b"x").unwrap_err()
}

#[test]
fn a_missing_directory_is_refused_with_the_command_that_makes_it() {
    let error = store(Path::new("/nonexistent/cosmark"), &[]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("mkdir -p /nonexistent/cosmark"), "{error}");
}

#[test]
fn the_directory_may_be_a_file_url() {
    for (text, path) in [
        ("/plain/dir", "/plain/dir"),
        ("relative", "relative"),
        ("file:///a%20b/c", "/a b/c"),
        ("file://localhost/x", "/x"),
    ] {
        assert_eq!(directory(text).unwrap(), Path::new(path));
    }
    assert_eq!(directory("file://elsewhere/x").unwrap_err().kind(), ErrorKind::Config);
}

#[tokio::test(flavor = "current_thread")]
async fn marks_tell_bytes_requests_and_the_first_byte() {
    let root = scratch();
    let mut client = client(root.path(), &[("buffer_size", "8KiB")]);
    client.create_container("c", &mut Marks::default()).await.unwrap();
    let mut marks = Marks::default();
    let body = vec![1; 20_000];
    client.put(name("c", "o"), &BytesSource(&body), PutOptions::default(), &mut marks).await.unwrap();
    assert_eq!((marks.requests, marks.body_bytes, marks.status), (1, 20_000, 201));
    let (before, mut marks) = (clock::now_ns(), Marks::default());
    client.get(name("c", "o"), None, None, &mut marks).await.unwrap();
    assert_eq!((marks.requests, marks.body_bytes, marks.status), (1, 20_000, 200));
    assert!(marks.first_byte_ns >= before && marks.first_byte_ns <= clock::now_ns());
}
