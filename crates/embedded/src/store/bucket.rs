//! One bucket: the index of its objects and uploads in memory, their files in one directory.
//!
//! The index is the truth: an object exists from the moment it is entered to the moment it is taken out, whole or not
//! at all. Files are removed after their entry; a reader that opened one before still reads it to the end. A reader
//! holds the object as long as its file: only a file that nobody holds is written again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::SystemTime;

use s3s::{S3Error, S3Result, s3_error};

use super::disk::{Disk, Draft};
use super::file::file_path;
use super::listing::{Ask, Entry, page};
use super::object::{Attributes, Object};
use super::spares;
use super::upload::{Part, Upload};
use crate::fault;
use crate::protocol::condition::WriteCondition;

/// Files larger than this are unlinked on the blocking pool: freeing their blocks takes milliseconds.
const SLOW_UNLINK_BYTES: u64 = 16 << 20;

/// Uploads by key, then id.
pub(crate) type Uploads = BTreeMap<(String, String), Arc<Upload>>;

#[derive(Debug, Default)]
struct Content {
    objects: BTreeMap<Box<str>, Arc<Object>>,
    uploads: Uploads,
    /// Most objects of a bucket have the same attributes: they share them.
    common: Arc<Attributes>,
    deleted: bool,
}

/// One bucket.
#[derive(Debug)]
pub(crate) struct Bucket {
    pub(crate) created: SystemTime,
    folder: PathBuf,
    disk: Arc<Disk>,
    content: RwLock<Content>,
}

impl Bucket {
    pub(crate) fn new(disk: &Arc<Disk>, folder: PathBuf, created: SystemTime) -> Self {
        Self { created, folder, disk: Arc::clone(disk), content: RwLock::default() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn read(&self) -> RwLockReadGuard<'_, Content> {
        self.content.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> S3Result<RwLockWriteGuard<'_, Content>> {
        let content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        if content.deleted { Err(s3_error!(NoSuchBucket, "the bucket was deleted")) } else { Ok(content) }
    }

    /// Room for an object or part of this length.
    pub(crate) fn draft(&self, size_bytes: u64) -> S3Result<Draft> {
        Draft::new(&self.disk, &self.folder, size_bytes)
    }

    /// Room for an object made of parts that are in the store already.
    pub(crate) fn draft_of_parts(&self, size_bytes: u64) -> Draft {
        Draft::in_place_of(&self.disk, &self.folder, size_bytes)
    }

    pub(crate) fn open_file(&self, number: u64) -> io::Result<File> {
        File::open(file_path(&self.folder, number))
    }

    /// The object under this key.
    pub(crate) fn object(&self, key: &str) -> S3Result<Arc<Object>> {
        self.read().objects.get(key).cloned().ok_or_else(|| fault::no_such_key(key))
    }

    /// The object under this key and its file. An overwrite between the two is met by looking again.
    pub(crate) fn open(&self, key: &str) -> S3Result<(Arc<Object>, File)> {
        let mut object = self.object(key)?;
        loop {
            match self.open_file(object.file) {
                Ok(file) => return Ok((object, file)),
                Err(error) => {
                    let now = self.object(key)?;
                    if Arc::ptr_eq(&now, &object) {
                        return Err(fault::disk("open the object's file", &error));
                    }
                    object = now;
                }
            }
        }
    }

    /// Whether a write under this condition may begin. [`Bucket::enter`] asks again, so that two writers cannot both win.
    pub(crate) fn check(&self, key: &str, condition: &WriteCondition) -> S3Result<()> {
        condition.check(self.read().objects.get(key).map(|object| object.tag))
    }

    /// Makes the written file the object under this key.
    pub(crate) fn enter(
        &self,
        key: &str,
        draft: Draft,
        object: Object,
        condition: &WriteCondition,
    ) -> S3Result<()> {
        let mut content = self.write()?;
        let old = content.enter(key, draft, object, condition)?;
        drop(content);
        self.discard_object(old);
        Ok(())
    }

    /// The same for an upload, which ends with it.
    pub(crate) fn enter_upload(
        &self,
        (key, id): (&str, &str),
        draft: Draft,
        object: Object,
        condition: &WriteCondition,
    ) -> S3Result<()> {
        let name = (key.to_owned(), id.to_owned());
        let mut content = self.write()?;
        let upload = content.uploads.get(&name).cloned().ok_or_else(|| fault::no_such_upload(id))?;
        let old = content.enter(key, draft, object, condition)?;
        content.uploads.remove(&name);
        drop(content);
        self.discard_object(old);
        self.discard_upload(&upload);
        Ok(())
    }

    /// Enters an object that was found on disk; the older of two files of one key is removed.
    pub(crate) fn enter_found(&self, key: &str, object: Object) {
        let Ok(mut content) = self.write() else { return };
        self.disk.claim_unchecked(object.size_bytes);
        let order = |object: &Object| (object.modified, object.file);
        let loser = match content.objects.get(key) {
            Some(other) if order(other) > order(&object) => Some(Arc::new(object)),
            _ => content.objects.insert(key.into(), Arc::new(object)),
        };
        drop(content);
        self.discard_object(loser);
    }

    /// Removes an object; says whether it was there.
    pub(crate) fn remove(&self, key: &str) -> S3Result<bool> {
        let old = self.write()?.objects.remove(key);
        let was_there = old.is_some();
        self.discard_object(old);
        Ok(was_there)
    }

    pub(crate) fn list(&self, ask: Ask<'_>) -> (Vec<Entry<Arc<Object>>>, bool) {
        page(&self.read().objects, ask)
    }

    /// Marks an empty bucket as deleted: nothing can be entered from now on.
    pub(crate) fn close_if_empty(&self) -> S3Result<()> {
        let mut content = self.write()?;
        if !content.objects.is_empty() {
            return Err(s3_error!(BucketNotEmpty, "the bucket is not empty; delete its objects first"));
        }
        content.deleted = true;
        let uploads = std::mem::take(&mut content.uploads);
        drop(content);
        for upload in uploads.into_values() {
            self.discard_upload(&upload);
        }
        Ok(())
    }

    pub(crate) fn start_upload(&self, key: &str, id: &str, upload: Upload) -> S3Result<()> {
        self.write()?.uploads.insert((key.to_owned(), id.to_owned()), Arc::new(upload));
        Ok(())
    }

    pub(crate) fn upload(&self, key: &str, id: &str) -> S3Result<Arc<Upload>> {
        let name = (key.to_owned(), id.to_owned());
        self.read().uploads.get(&name).cloned().ok_or_else(|| fault::no_such_upload(id))
    }

    /// Gives the uploads to `look`, sorted by key and id.
    pub(crate) fn with_uploads<T>(&self, look: impl FnOnce(&Uploads) -> T) -> T {
        look(&self.read().uploads)
    }

    pub(crate) fn enter_part(
        &self,
        id: &str,
        upload: &Upload,
        number: u16,
        draft: Draft,
        part: Part,
    ) -> S3Result<()> {
        let mut parts = upload.parts();
        if parts.closed {
            return Err(fault::no_such_upload(id));
        }
        draft.keep();
        let old = parts.by_number.insert(number, Arc::new(part));
        drop(parts);
        if let Some(old) = old {
            self.discard(old.file, old.size_bytes);
        }
        Ok(())
    }

    pub(crate) fn abort_upload(&self, key: &str, id: &str) -> S3Result<()> {
        let removed = self.write()?.uploads.remove(&(key.to_owned(), id.to_owned()));
        let upload = removed.ok_or_else(|| fault::no_such_upload(id))?;
        self.discard_upload(&upload);
        Ok(())
    }

    fn discard_upload(&self, upload: &Upload) {
        let mut parts = upload.parts();
        parts.closed = true;
        let gone = std::mem::take(&mut parts.by_number);
        drop(parts);
        for part in gone.into_values() {
            self.discard(part.file, part.size_bytes);
        }
    }

    fn discard_object(&self, object: Option<Arc<Object>>) {
        let Some(object) = object else { return };
        let (number, size_bytes) = (object.file, object.size_bytes);
        let unread = Arc::into_inner(object).is_some();
        if unread && size_bytes <= spares::LARGEST_BYTES && self.disk.spares.keep(&self.folder, number) {
            self.disk.release(size_bytes);
        } else {
            self.discard(number, size_bytes);
        }
    }

    /// A file that cannot be removed costs space only, and goes with the directory: no reason to fail a request that
    /// has been carried out.
    fn discard(&self, number: u64, size_bytes: u64) {
        self.disk.release(size_bytes);
        let path = file_path(&self.folder, number);
        let unlink = move || {
            let _ = fs::remove_file(path);
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) if size_bytes > SLOW_UNLINK_BYTES => drop(runtime.spawn_blocking(unlink)),
            _ => unlink(),
        }
    }
}

impl Content {
    fn enter(
        &mut self,
        key: &str,
        draft: Draft,
        mut object: Object,
        condition: &WriteCondition,
    ) -> Result<Option<Arc<Object>>, S3Error> {
        condition.check(self.objects.get(key).map(|object| object.tag))?;
        if object.attributes == self.common {
            object.attributes = Arc::clone(&self.common);
        } else {
            self.common = Arc::clone(&object.attributes);
        }
        draft.keep();
        Ok(self.objects.insert(key.into(), Arc::new(object)))
    }
}
