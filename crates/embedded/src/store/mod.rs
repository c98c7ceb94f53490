//! The store behind the protocol: buckets by name, their objects, and the directory that they are read from again.

pub(crate) mod bucket;
pub(crate) mod disk;
mod file;
pub(crate) mod listing;
pub(crate) mod object;
pub(crate) mod spares;
pub(crate) mod upload;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use s3s::{S3Result, s3_error};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::fault;
use bucket::Bucket;
use disk::Disk;

/// Makes a directory a bucket. It is written last and removed first.
const BUCKET_FILE: &str = "bucket.json";

#[derive(Debug, Serialize, Deserialize)]
struct BucketFile {
    name: String,
    created_ms: u64,
}

/// All buckets.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    disk: Arc<Disk>,
    buckets: RwLock<BTreeMap<String, Arc<Bucket>>>,
}

impl Store {
    /// Opens the store in a directory, with whatever an earlier one left there; unfinished writes are removed.
    pub(crate) fn open(home: &Path, max_bytes: Option<u64>) -> Result<Self, Error> {
        let folder = home.join("buckets");
        let store = Self { folder, disk: Arc::new(Disk::new(max_bytes)), buckets: RwLock::default() };
        store.read_again().map_err(|source| Error::Directory {
            path: store.folder.clone(),
            doing: "read the objects in",
            source,
        })?;
        Ok(store)
    }

    fn map(&self) -> RwLockReadGuard<'_, BTreeMap<String, Arc<Bucket>>> {
        self.buckets.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.disk.used_bytes()
    }

    pub(crate) fn bucket(&self, name: &str) -> S3Result<Arc<Bucket>> {
        self.map().get(name).cloned().ok_or_else(|| s3_error!(NoSuchBucket, "there is no bucket {name}"))
    }

    /// Names and times of creation, sorted by name.
    pub(crate) fn list(&self) -> Vec<(String, SystemTime)> {
        self.map().iter().map(|(name, bucket)| (name.clone(), bucket.created)).collect()
    }

    pub(crate) fn create_bucket(&self, name: &str) -> S3Result<()> {
        let mut buckets = self.buckets.write().unwrap_or_else(PoisonError::into_inner);
        if buckets.contains_key(name) {
            return Err(s3_error!(BucketAlreadyOwnedByYou, "the bucket {name} exists already and is yours"));
        }
        let created = SystemTime::now();
        let folder = self.folder.join(format!("{:016x}-{name}", self.disk.next_number()));
        let since = created.duration_since(UNIX_EPOCH).unwrap_or_default();
        let file = BucketFile {
            name: name.to_owned(),
            created_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        };
        let make = || -> io::Result<()> {
            fs::create_dir(&folder)?;
            fs::write(folder.join(BUCKET_FILE), serde_json::to_vec(&file)?)
        };
        let mut made = make();
        if made.as_ref().is_err_and(crate::fault::is_full) && self.disk.spares.clear() {
            let _ = fs::remove_dir_all(&folder);
            made = make();
        }
        if let Err(error) = made {
            let _ = fs::remove_dir_all(&folder);
            return Err(fault::disk("make the bucket's directory", &error));
        }
        buckets.insert(name.to_owned(), Arc::new(Bucket::new(&self.disk, folder, created)));
        Ok(())
    }

    /// Deletes an empty bucket; its directory may be removed by the caller later.
    pub(crate) fn delete_bucket(&self, name: &str) -> S3Result<PathBuf> {
        let mut buckets = self.buckets.write().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.get(name).ok_or_else(|| s3_error!(NoSuchBucket, "there is no bucket {name}"))?;
        bucket.close_if_empty()?;
        let folder = bucket.folder().to_owned();
        buckets.remove(name);
        drop(buckets);
        self.disk.spares.forget(&folder);
        fs::remove_file(folder.join(BUCKET_FILE))
            .map_err(|error| fault::disk("remove the bucket's directory", &error))?;
        Ok(folder)
    }

    fn read_again(&self) -> io::Result<()> {
        match fs::create_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            outcome => return outcome,
        }
        let mut buckets = self.buckets.write().unwrap_or_else(PoisonError::into_inner);
        for entry in fs::read_dir(&self.folder)? {
            let folder = entry?.path();
            let Some(number) = folder_number(&folder) else { continue };
            self.disk.number_taken(number);
            let file = fs::read(folder.join(BUCKET_FILE)).ok();
            let Some(file) = file.and_then(|text| serde_json::from_slice::<BucketFile>(&text).ok()) else {
                fs::remove_dir_all(&folder)?;
                continue;
            };
            let created = UNIX_EPOCH + Duration::from_millis(file.created_ms);
            let bucket = Bucket::new(&self.disk, folder, created);
            self.read_bucket(&bucket)?;
            buckets.insert(file.name, Arc::new(bucket));
        }
        Ok(())
    }

    fn read_bucket(&self, bucket: &Bucket) -> io::Result<()> {
        for shard in fs::read_dir(bucket.folder())? {
            let shard = shard?.path();
            if !shard.is_dir() {
                continue;
            }
            for entry in fs::read_dir(shard)? {
                let path = entry?.path();
                let Some(number) = file_number(&path) else { continue };
                self.disk.number_taken(number);
                let found = disk::read_record(&path)?;
                match found.and_then(|(record, size_bytes)| record.into_object(number, size_bytes)) {
                    Some((key, object)) => bucket.enter_found(&key, object),
                    None => fs::remove_file(&path)?,
                }
            }
        }
        Ok(())
    }
}

/// The number in `<16 hexadecimal digits>-<bucket>`.
fn folder_number(path: &Path) -> Option<u64> {
    let (digits, _) = path.file_name()?.to_str()?.split_once('-')?;
    number(digits)
}

fn file_number(path: &Path) -> Option<u64> {
    number(path.file_name()?.to_str()?)
}

fn number(digits: &str) -> Option<u64> {
    if digits.len() == 16 { u64::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests;
