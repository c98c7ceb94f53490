//! Reads such a table back, batch by batch, in bounded memory.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::vec;

use jiff::Timestamp;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::column::{Column, Described};
use super::pages::are_bearable;
use super::rows::{GroupRows, Rows};
use super::{EPOCH_UNIX_NS, files_of};
use crate::ArchiveError;
use crate::regular;

/// Rows that are decoded at a time: few enough for a processor's cache.
const BATCH_ROWS: usize = 1 << 10;

/// What a table has to be.
pub struct Expected<R: 'static> {
    /// Of its file's name, before `.parquet`.
    pub stem: &'static str,
    /// For people.
    pub what: &'static str,
    /// Its columns today.
    pub columns: &'static [Column<R>],
    /// Columns that every such table has; those behind came later.
    pub first_columns: usize,
}

/// A file that is being read.
struct Open {
    path: PathBuf,
    file: SerializedFileReader<File>,
    /// The same, for a look at what stands where.
    raw: File,
    described: Vec<Described>,
    /// Row groups that were begun.
    begun: usize,
    group: Option<GroupRows>,
}

/// Reads the one file of a table, or the parts that a killed run left.
pub struct TableReader<R: 'static> {
    expected: Expected<R>,
    epoch: Timestamp,
    files: vec::IntoIter<PathBuf>,
    current: Option<Open>,
}

impl<R> TableReader<R> {
    /// Opens the table of the run in `dir`; `None` when it has none.
    ///
    /// # Errors
    /// When a file is not such a table.
    pub fn open(dir: &Path, expected: Expected<R>) -> Result<Option<Self>, ArchiveError> {
        let files = files_of(dir, expected.stem)?;
        let Some(first) = files.first() else { return Ok(None) };
        let opened = Open::new(first.clone(), &expected)?;
        let metadata = opened.file.metadata().file_metadata().key_value_metadata();
        let epoch = metadata
            .and_then(|pairs| pairs.iter().find(|pair| pair.key == EPOCH_UNIX_NS))
            .and_then(|pair| pair.value.as_deref()?.parse::<i128>().ok())
            .and_then(|ns| Timestamp::from_nanosecond(ns).ok())
            .ok_or_else(|| unreadable(first, format!("its metadata lacks {EPOCH_UNIX_NS}")))?;
        Ok(Some(Self { expected, epoch, files: files.into_iter(), current: None }))
    }

    /// The wall time that all its times count from.
    pub fn epoch(&self) -> Timestamp {
        self.epoch
    }

    /// Nothing more is read.
    pub fn stop(&mut self) {
        self.files = Vec::new().into_iter();
        self.current = None;
    }

    /// The next rows as `convert` makes them; `None` at the end.
    ///
    /// # Errors
    /// When a file is damaged.
    pub fn next<T>(
        &mut self,
        convert: impl Fn(&Rows) -> Result<T, String>,
    ) -> Result<Option<T>, ArchiveError> {
        loop {
            let Some(open) = &mut self.current else {
                let Some(path) = self.files.next() else { return Ok(None) };
                self.current = Some(Open::new(path, &self.expected)?);
                continue;
            };
            match open.next() {
                Ok(Some(rows)) => {
                    return convert(&rows).map(Some).map_err(|problem| unreadable(&open.path, problem));
                }
                Ok(None) => self.current = None,
                Err(problem) => {
                    let error = unreadable(&open.path, problem);
                    self.current = None;
                    return Err(error);
                }
            }
        }
    }
}

impl Open {
    fn new<R>(path: PathBuf, expected: &Expected<R>) -> Result<Self, ArchiveError> {
        let raw = regular::open(&path).map_err(ArchiveError::io("read", &path))?;
        let file = raw.try_clone().map_err(ArchiveError::io("read", &path))?;
        let file = guarded(|| SerializedFileReader::new(file)).map_err(|error| unreadable(&path, error))?;
        let described = Described::all(file.metadata().file_metadata().schema_descr());
        let are = |found: &Vec<Described>| Described::are(found, expected.columns, expected.first_columns);
        let Some(described) = described.filter(are) else {
            return Err(unreadable(&path, format!("its columns are not those of {}", expected.what)));
        };
        // The library takes for granted that what the file says of its own places is true.
        let placed = file.metadata().row_groups().iter().flat_map(|group| group.columns()).all(|column| {
            let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            start >= 0 && column.data_page_offset() >= 0 && column.compressed_size() >= 0
        });
        if !placed {
            return Err(unreadable(&path, "its index is damaged".to_owned()));
        }
        Ok(Self { path, file, raw, described, begun: 0, group: None })
    }

    /// Whether the pages of a row group are as large as pages are.
    fn is_bearable(&self, group: usize) -> Result<bool, String> {
        let group = self.file.metadata().row_group(group);
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            let place = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
            let Some((start, length)) = place else { return Ok(false) };
            if !are_bearable(&self.raw, start, length, rows).map_err(|error| error.to_string())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next rows; `None` at the end of the file.
    fn next(&mut self) -> Result<Option<Rows>, String> {
        loop {
            if let Some(group) = &mut self.group
                && let Some(rows) = guarded(|| group.next(BATCH_ROWS))?
            {
                return Ok(Some(rows));
            }
            if self.begun == self.file.num_row_groups() {
                return Ok(None);
            }
            if !self.is_bearable(self.begun)? {
                return Err("a page in it is damaged, or larger than any".to_owned());
            }
            let begin = || GroupRows::new(&*self.file.get_row_group(self.begun)?, &self.described);
            self.group = Some(guarded(begin)?);
            self.begun += 1;
        }
    }
}

/// What the library answers, or says against it. It panics of some damage that it takes for its own mistake (parquet 60,
/// differences of numbers).
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err("it is damaged".to_owned()),
    }
}

fn unreadable(path: &Path, problem: String) -> ArchiveError {
    ArchiveError::Unreadable {
        path: path.to_owned(),
        problem,
        remedy: "restore the file from a copy; the results in run.json do not need it",
    }
}
