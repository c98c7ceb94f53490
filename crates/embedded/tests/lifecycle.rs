//! Start, stop, and what is left on disk.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod client;

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use client::{Client, pattern};
use cosmark_embedded::{EmbeddedStore, Error, Options};

fn kept(directory: &Path) -> EmbeddedStore {
    EmbeddedStore::start(Options { directory: Some(directory.into()), ..Options::default() }).unwrap()
}

/// Names of all files below, without directories.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

#[test]
fn a_stopped_store_leaves_neither_port_nor_directory() {
    for explicitly in [true, false] {
        let store = EmbeddedStore::start(Options::default()).unwrap();
        let client = Client::of(&store);
        client.put("/bucket", b"");
        client.put("/bucket/key", &pattern(10_000));
        let (directory, address) = (store.directory().to_owned(), store.address());
        assert!(directory.starts_with(std::env::temp_dir()) && files(&directory).len() == 3);
        if explicitly {
            store.stop().unwrap()
        } else {
            drop(store)
        }
        assert!(!directory.exists());
        assert!(TcpListener::bind(address).is_ok());
    }
}

#[test]
fn requests_that_hang_do_not_keep_a_store_from_stopping() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let client = Client::of(&store);
    client.put("/bucket", b"");
    let mut stuck = client.connect();
    stuck.write_all(client.head("PUT", "/bucket/key", "", &[], 5_000_000).as_bytes()).unwrap();
    stuck.write_all(&pattern(600_000)).unwrap();
    let _idle = client.connect();
    let directory = store.directory().to_owned();
    store.stop().unwrap();
    assert!(!directory.exists());
}

#[tokio::test]
async fn a_store_can_be_started_and_stopped_inside_an_async_runtime() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let directory = store.directory().to_owned();
    drop(store);
    assert!(!directory.exists());
}

#[test]
fn a_kept_directory_gives_its_objects_back_and_nothing_that_was_not_finished() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("store");
    let store = kept(&directory);
    let client = Client::of(&store);
    for path in ["/one-bucket", "/two-bucket", "/gone-bucket"] {
        client.put(path, b"");
    }
    client.delete("/gone-bucket");
    client.send(
        "PUT",
        "/one-bucket/a/b",
        "",
        &[("x-amz-meta-who", "me"), ("Content-Type", "text/plain")],
        b"old",
    );
    let content = pattern(300_000);
    client.put("/one-bucket/a/b", &pattern(70_000));
    client.send(
        "PUT",
        "/one-bucket/a/b",
        "",
        &[("x-amz-meta-who", "me"), ("Content-Type", "text/plain")],
        &content,
    );
    client.put("/two-bucket/deleted", b"x");
    client.delete("/two-bucket/deleted");
    client.put("/two-bucket/small", b"was overwritten by something shorter");
    client.put("/two-bucket/small", b"short");
    let id = client.send("POST", "/two-bucket/parts", "uploads=", &[], b"").tag("UploadId").unwrap();
    client.send("PUT", "/two-bucket/parts", &format!("partNumber=1&uploadId={id}"), &[], &pattern(9000));
    let tag = client.get("/one-bucket/a/b").header("etag").unwrap().to_owned();
    store.stop().unwrap();

    let store = kept(&directory);
    let client = Client::of(&store);
    assert_eq!(client.get("/").tags("Name"), ["one-bucket", "two-bucket"]);
    let read = client.get("/one-bucket/a/b");
    assert!(read.body == content);
    assert_eq!(read.header("etag"), Some(tag.as_str()));
    assert_eq!(
        (read.header("x-amz-meta-who"), read.header("content-type")),
        (Some("me"), Some("text/plain"))
    );
    assert_eq!(client.get("/two-bucket/small").body, b"short");
    assert_eq!(client.get("/two-bucket").tags("Key"), ["small"]);
    assert_eq!(store.used_bytes(), 300_005);
    assert_eq!(client.put("/two-bucket/new", b"new").status, 200);
    assert_eq!(client.get("/two-bucket/new").body, b"new");
    drop(store);
    let left = files(&directory);
    assert_eq!(left.iter().filter(|name| name.len() == 16).count(), 3, "{left:?}");
    assert_eq!(left.len(), 3 + 2 + 1, "{left:?}");
}

#[test]
fn files_that_are_no_whole_objects_are_removed_when_a_directory_is_read_again() {
    let parent = tempfile::tempdir().unwrap();
    let store = kept(parent.path());
    let client = Client::of(&store);
    client.put("/bucket", b"");
    client.put("/bucket/key", b"content");
    store.stop().unwrap();
    let buckets = parent.path().join("buckets");
    let folder = std::fs::read_dir(&buckets).unwrap().next().unwrap().unwrap().path();
    let whole =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir());
    let shard = whole.unwrap();
    let object = std::fs::read_dir(&shard).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&object).unwrap();
    std::fs::write(shard.join("00000000000000aa"), &bytes[..bytes.len() - 1]).unwrap();
    std::fs::write(shard.join("00000000000000ab"), b"").unwrap();
    std::fs::create_dir(buckets.join("00000000000000ac-half-made")).unwrap();
    let store = kept(parent.path());
    let client = Client::of(&store);
    assert_eq!(client.get("/bucket/key").body, b"content");
    assert_eq!(client.get("/").tags("Name"), ["bucket"]);
    assert_eq!(std::fs::read_dir(&shard).unwrap().count(), 1);
    assert!(!buckets.join("00000000000000ac-half-made").exists());
}

#[test]
fn an_address_that_is_taken_or_not_loopback_is_refused_with_a_remedy() {
    let first = EmbeddedStore::start(Options::default()).unwrap();
    let taken = Options { bind: first.address(), ..Options::default() };
    let error = EmbeddedStore::start(taken).unwrap_err();
    assert!(matches!(error, Error::Listen { .. }) && error.to_string().contains("port 0"), "{error}");
    let anywhere = Options { bind: "0.0.0.0:0".parse().unwrap(), ..Options::default() };
    let error = EmbeddedStore::start(anywhere.clone()).unwrap_err();
    assert!(matches!(error, Error::NotLoopback(_)), "{error}");
    let allowed = EmbeddedStore::start(Options { allow_remote: true, ..anywhere }).unwrap();
    assert!(allowed.endpoint().starts_with("http://127.0.0.1:"));
    assert_eq!(
        Client { address: allowed.endpoint()[7..].parse().unwrap(), ..Client::of(&allowed) }.get("/").status,
        200
    );
}

#[test]
fn a_store_that_does_not_start_leaves_no_directory() {
    let parent = tempfile::tempdir().unwrap();
    let options = Options { access_key: Some("with blank".into()), ..Options::default() };
    assert!(matches!(EmbeddedStore::start(options).unwrap_err(), Error::Keys(_)));
    let file = parent.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let options = Options { directory: Some(file.join("below")), ..Options::default() };
    assert!(matches!(EmbeddedStore::start(options).unwrap_err(), Error::Directory { .. }));
}

#[test]
fn secret_keys_do_not_show_in_debug_output() {
    let options = Options { secret_key: Some("hush-hush".into()), ..Options::default() };
    assert!(!format!("{options:?}").contains("hush"));
    let store = EmbeddedStore::start(options).unwrap();
    assert_eq!(store.secret_key(), "hush-hush");
    assert!(!format!("{store:?}").contains("hush"));
}
