//! A table of Parquet that grows while a run lasts. A Parquet file has its index at its end, so a file that a kill cut short is
//! lost: the table is written as parts (`operations.part-00001.parquet`, ..), each closed when it is full or a minute old, and at
//! the end the parts are joined into one file without decoding them. A killed run leaves its closed parts.

mod arrow;
pub mod column;
mod group;
mod join;
pub mod names;
mod pages;
pub mod read;
pub mod rows;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;

use crate::ArchiveError;
use column::{Column, properties, schema};
use group::Group;
use join::copy_parts;
use names::Names;

/// Wall time of the epoch, in nanoseconds since 1970, in the file's metadata.
pub const EPOCH_UNIX_NS: &str = "cosmark.epoch_unix_ns";
/// Rows of a row group, which is also a part.
const GROUP_ROWS: usize = 1 << 20;
/// Rows that are gathered before they are encoded: few enough for a processor's cache, through which each column goes once. The row
/// group's are a multiple of them.
pub const BATCH_ROWS: usize = 1 << 11;
/// A part is closed after this time even if it is not full: that much a kill costs.
const PART_AGE: Duration = Duration::from_secs(60);

struct Part {
    temporary: PathBuf,
    path: PathBuf,
    file: SerializedFileWriter<File>,
    group: Group,
    rows: usize,
    began: Instant,
}

/// A table that is being written, of rows `R`.
pub struct Parts<R: 'static> {
    dir: PathBuf,
    /// Of its file's name, before `.parquet`.
    stem: &'static str,
    columns: &'static [Column<R>],
    properties: WriterPropertiesPtr,
    part: Option<Part>,
    parts: Vec<PathBuf>,
    rows: u64,
}

impl<R> Parts<R> {
    /// A table `STEM.parquet` in `dir`, of which nothing is written yet; its times count from `epoch`.
    pub fn new(dir: &Path, stem: &'static str, columns: &'static [Column<R>], epoch: Timestamp) -> Self {
        let properties = properties(columns, metadata(columns, epoch));
        Self { dir: dir.to_owned(), stem, columns, properties, part: None, parts: Vec::new(), rows: 0 }
    }

    /// Rows that were written.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Begins a part, so that it is known now whether there is room.
    pub fn open(&mut self) -> Result<(), ArchiveError> {
        let name = format!("{}.part-{:05}.parquet", self.stem, self.parts.len() + 1);
        let path = self.dir.join(&name);
        let temporary = self.dir.join(format!(".{name}.tmp-{}", std::process::id()));
        let file = File::create(&temporary).map_err(ArchiveError::io("write", &path))?;
        let file = self.begin(file).map_err(refused(&path))?;
        let group = Group::new(file.schema_descr(), file.properties());
        self.part = Some(Part { temporary, path, file, group, rows: 0, began: Instant::now() });
        Ok(())
    }

    fn begin(&self, file: File) -> Result<SerializedFileWriter<File>, ParquetError> {
        SerializedFileWriter::new(file, schema(self.columns)?, WriterPropertiesPtr::clone(&self.properties))
    }

    /// Adds at most [`BATCH_ROWS`] rows, and closes the part when it is full; `names` are those of the columns of text, in their
    /// order.
    pub fn write(&mut self, rows: &[R], names: &[Names]) -> Result<(), ArchiveError> {
        if self.part.is_none() {
            self.open()?;
        }
        // A part that was not written whole is not kept.
        let Some(mut part) = self.part.take() else { return Ok(()) };
        part.group.write(self.columns, rows, names).map_err(refused(&part.path))?;
        part.rows += rows.len();
        self.rows += rows.len() as u64;
        let full = part.rows >= GROUP_ROWS;
        self.part = Some(part);
        if full { self.close() } else { Ok(()) }
    }

    /// The part that is being written has become old.
    pub fn is_old(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.began.elapsed() >= PART_AGE)
    }

    /// Closes the part, which from then on can be read. An empty one goes away.
    pub fn close(&mut self) -> Result<(), ArchiveError> {
        let Some(part) = self.part.take() else { return Ok(()) };
        if part.rows == 0 {
            return fs::remove_file(&part.temporary).map_err(ArchiveError::io("remove", &part.temporary));
        }
        let Part { temporary, path, mut file, group, .. } = part;
        group.close(&mut file).and_then(|()| file.close()).map_err(refused(&path))?;
        fs::rename(&temporary, &path).map_err(ArchiveError::io("write", &path))?;
        self.parts.push(path);
        Ok(())
    }

    /// Puts all parts into the one file; gives its rows.
    pub fn finish(mut self) -> Result<u64, ArchiveError> {
        self.close()?;
        let path = self.dir.join(format!("{}.parquet", self.stem));
        match self.parts.as_slice() {
            [only] => fs::rename(only, &path).map_err(ArchiveError::io("write", &path))?,
            parts => {
                self.join(parts, &path)?;
                for part in parts {
                    fs::remove_file(part).map_err(ArchiveError::io("remove", part))?;
                }
            }
        }
        Ok(self.rows)
    }

    /// Copies the row groups of all parts, as they are, into one file.
    fn join(&self, parts: &[PathBuf], path: &Path) -> Result<(), ArchiveError> {
        let temporary = self.dir.join(format!(".{}.parquet.tmp-{}", self.stem, std::process::id()));
        let joined = File::create(&temporary)
            .map_err(ArchiveError::io("write", path))
            .and_then(|file| match parts.first() {
                Some(first) => copy_parts(file, first, parts).map_err(refused(path)),
                None => {
                    self.begin(file).and_then(SerializedFileWriter::close).map(drop).map_err(refused(path))
                }
            })
            .and_then(|()| fs::rename(&temporary, path).map_err(ArchiveError::io("write", path)));
        if joined.is_err() {
            // The parts are still there and are read instead.
            drop(fs::remove_file(&temporary));
        }
        joined
    }
}

/// The files of a table: the one that all parts were joined into, or the closed parts in order.
pub fn files_of(dir: &Path, stem: &str) -> Result<Vec<PathBuf>, ArchiveError> {
    let whole = dir.join(format!("{stem}.parquet"));
    if whole.exists() {
        return Ok(vec![whole]);
    }
    let begin = format!("{stem}.part-");
    let mut parts = Vec::new();
    for entry in fs::read_dir(dir).map_err(ArchiveError::io("read directory", dir))? {
        let entry = entry.map_err(ArchiveError::io("read directory", dir))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&begin) && name.ends_with(".parquet") {
            parts.push(entry.path());
        }
    }
    parts.sort();
    Ok(parts)
}

/// Whether there are closed parts of a table, and whether there is one that is not closed, as its run goes on or was killed.
pub fn parts_of(dir: &Path, stem: &str) -> (bool, bool) {
    let (closed, open) = (format!("{stem}.part-"), format!(".{stem}.part-"));
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.fold((false, false), |(has_closed, has_open), entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        (has_closed || name.starts_with(&closed), has_open || name.starts_with(&open))
    })
}

/// What every table says of itself: the format, the wall time that its times count from, and its columns as Arrow knows them.
fn metadata<R>(columns: &[Column<R>], epoch: Timestamp) -> Vec<KeyValue> {
    let pair = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    vec![
        pair("cosmark.schema", "1".to_owned()),
        pair(EPOCH_UNIX_NS, epoch.as_nanosecond().to_string()),
        pair("cosmark.epoch", epoch.to_string()),
        pair(arrow::KEY, arrow::schema(columns)),
    ]
}

/// A refusal of the library: the system's error where there is one inside.
fn refused(path: &Path) -> impl FnOnce(ParquetError) -> ArchiveError {
    let path = path.to_owned();
    move |error| match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(source) => ArchiveError::Io { action: "write", path, source: *source },
            Err(inner) => ArchiveError::OpLog(format!("{}: {inner}", path.display())),
        },
        other => ArchiveError::OpLog(format!("{}: {other}", path.display())),
    }
}
