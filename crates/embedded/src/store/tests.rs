//! Tests of buckets, objects, listings and uploads on disk.

use super::*;
use std::io::Read;
use std::time::SystemTime;

use super::file::file_path;
use super::object::{Object, Record, Tag};
use crate::protocol::condition::WriteCondition;

fn write(bucket: &Bucket, key: &str, content: &[u8], condition: &WriteCondition) -> S3Result<u64> {
    let mut draft = bucket.draft(content.len() as u64)?;
    let object = Object {
        file: draft.number(),
        size_bytes: content.len() as u64,
        tag: Tag { md5: [0; 16], parts: 0 },
        modified: SystemTime::now(),
        attributes: Arc::default(),
        digest: None,
        parts: None,
    };
    draft.seal(content.to_vec(), object.size_bytes, &Record::of(key, &object)).unwrap();
    let number = object.file;
    bucket.enter(key, draft, object, condition).map(|()| number)
}

fn read(bucket: &Bucket, key: &str) -> Vec<u8> {
    let (object, file) = bucket.open(key).unwrap();
    let mut content = Vec::new();
    file.take(object.size_bytes).read_to_end(&mut content).unwrap();
    content
}

fn opened() -> (tempfile::TempDir, Store, Arc<Bucket>) {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(home.path(), None).unwrap();
    store.create_bucket("bucket").unwrap();
    let bucket = store.bucket("bucket").unwrap();
    (home, store, bucket)
}

#[test]
fn a_reader_that_has_begun_reads_the_object_as_it_was() {
    let (_home, _store, bucket) = opened();
    write(&bucket, "key", b"the first content", &WriteCondition::None).unwrap();
    let (object, mut file) = bucket.open("key").unwrap();
    for round in 0..5 {
        write(&bucket, "key", format!("overwritten {round}").as_bytes(), &WriteCondition::None).unwrap();
    }
    let mut content = vec![0; usize::try_from(object.size_bytes).unwrap()];
    file.read_exact(&mut content).unwrap();
    assert_eq!(content, b"the first content");
    assert_eq!(read(&bucket, "key"), b"overwritten 4");
}

#[test]
fn files_that_nobody_reads_are_written_again() {
    let (_home, store, bucket) = opened();
    let mut numbers = std::collections::BTreeSet::new();
    for round in 0..20 {
        let content = vec![b'x'; 1 + round * 7919 % 5000];
        numbers.insert(write(&bucket, "key", &content, &WriteCondition::None).unwrap());
        assert_eq!(read(&bucket, "key"), content);
        assert_eq!(store.used_bytes(), content.len() as u64);
    }
    assert!(numbers.len() <= 2, "{numbers:?}");
}

#[test]
fn of_many_writers_that_want_to_be_first_one_wins() {
    let (_home, _store, bucket) = opened();
    let won: usize = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|n: u8| {
                scope.spawn({
                    let bucket = &bucket;
                    move || usize::from(write(bucket, "key", &[n], &WriteCondition::IfAbsent).is_ok())
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
}

#[test]
fn the_newer_of_two_files_of_one_key_is_the_object() {
    let (home, store, bucket) = opened();
    let old = write(&bucket, "key", b"old", &WriteCondition::None).unwrap();
    let path = file_path(bucket.folder(), old);
    let bytes = fs::read(&path).unwrap();
    let new = write(&bucket, "key", b"newer", &WriteCondition::None).unwrap();
    // As a kill between the entry of the new and the removal of the old file would leave it.
    fs::write(&path, bytes).unwrap();
    let folder = bucket.folder().to_owned();
    drop((store, bucket));
    let store = Store::open(home.path(), None).unwrap();
    let bucket = store.bucket("bucket").unwrap();
    assert_eq!(read(&bucket, "key"), b"newer");
    assert_eq!(store.used_bytes(), 5);
    assert_ne!(old, new);
    assert!(file_path(&folder, new).exists());
    store.delete_bucket("bucket").unwrap_err();
    bucket.remove("key").unwrap();
    store.delete_bucket("bucket").unwrap();
}

#[test]
fn a_deleted_bucket_takes_no_late_writes() {
    let (_home, store, bucket) = opened();
    let folder = store.delete_bucket("bucket").unwrap();
    fs::remove_dir_all(folder).unwrap();
    let mut draft = bucket.draft(1).unwrap();
    assert!(draft.write_all(b"x").is_err());
    drop(draft);
    assert_eq!(store.used_bytes(), 0);
    store.create_bucket("bucket").unwrap();
    assert!(write(&store.bucket("bucket").unwrap(), "key", b"x", &WriteCondition::None).is_ok());
    assert!(bucket.remove("key").is_err());
}
