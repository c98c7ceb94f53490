//! Reads such a table back, batch by batch, in bounded memory.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt16Type;
use arrow_schema::{ArrowError, Schema};
use jiff::Timestamp;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::{EPOCH_UNIX_NS, files_of};
use crate::ArchiveError;

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 8192;

/// What a table has to be.
pub struct Expected {
    /// Of its file's name, before `.parquet`.
    pub stem: &'static str,
    /// For people.
    pub what: &'static str,
    /// Its columns today.
    pub schema: Schema,
    /// Columns that every such table has; those behind came later.
    pub first_columns: usize,
}

/// Reads the one file of a table, or the parts that a killed run left.
pub struct TableReader {
    expected: Expected,
    epoch: Timestamp,
    files: vec::IntoIter<PathBuf>,
    current: Option<(PathBuf, ParquetRecordBatchReader)>,
}

impl TableReader {
    /// Opens the table of the run in `dir`; `None` when it has none.
    ///
    /// # Errors
    /// When a file is not such a table.
    pub fn open(dir: &Path, expected: Expected) -> Result<Option<Self>, ArchiveError> {
        let files = files_of(dir, expected.stem)?;
        let Some(first) = files.first() else { return Ok(None) };
        let builder = builder_of(first, &expected)?;
        let metadata = builder.metadata().file_metadata().key_value_metadata();
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
        convert: impl Fn(&RecordBatch) -> Result<T, String>,
    ) -> Result<Option<T>, ArchiveError> {
        loop {
            let Some((path, reader)) = &mut self.current else {
                let Some(path) = self.files.next() else { return Ok(None) };
                let reader = builder_of(&path, &self.expected)?
                    .with_batch_size(BATCH_ROWS)
                    .build()
                    .map_err(|error| unreadable(&path, error.to_string()))?;
                self.current = Some((path, reader));
                continue;
            };
            match next_batch(reader) {
                Some(Some(Ok(batch))) => {
                    return convert(&batch).map(Some).map_err(|problem| unreadable(path, problem));
                }
                Some(Some(Err(error))) => return Err(unreadable(path, error.to_string())),
                Some(None) => self.current = None,
                None => {
                    let error = unreadable(path, "it is damaged".to_owned());
                    self.current = None;
                    return Err(error);
                }
            }
        }
    }
}

fn builder_of(
    path: &Path,
    expected: &Expected,
) -> Result<ParquetRecordBatchReaderBuilder<File>, ArchiveError> {
    let file = File::open(path).map_err(ArchiveError::io("read", path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| unreadable(path, error.to_string()))?;
    let (found, fields) = (builder.schema(), expected.schema.fields());
    let same = |(found, expected): (&Arc<arrow_schema::Field>, &Arc<arrow_schema::Field>)| {
        found.name() == expected.name() && found.data_type() == expected.data_type()
    };
    if !(expected.first_columns..=fields.len()).contains(&found.fields().len())
        || !found.fields().iter().zip(fields).all(same)
    {
        return Err(unreadable(path, format!("its columns are not those of {}", expected.what)));
    }
    // The library takes for granted that what the file says of its own places is true.
    let placed = builder.metadata().row_groups().iter().flat_map(|group| group.columns()).all(|column| {
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        start >= 0 && column.data_page_offset() >= 0 && column.compressed_size() >= 0
    });
    if placed { Ok(builder) } else { Err(unreadable(path, "its index is damaged".to_owned())) }
}

fn unreadable(path: &Path, problem: String) -> ArchiveError {
    ArchiveError::Unreadable {
        path: path.to_owned(),
        problem,
        remedy: "restore the file from a copy; the results in run.json do not need it",
    }
}

/// The next rows; `None` of damage that the library takes for its own mistake: it panics (parquet 60, differences of numbers).
fn next_batch(reader: &mut ParquetRecordBatchReader) -> Option<Option<Result<RecordBatch, ArrowError>>> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reader.next())).ok()
}

/// The words of a dictionary column, one per row; nothing for null.
pub fn words_of(batch: &RecordBatch, name: &str) -> Result<impl Fn(usize) -> Arc<str> + use<>, String> {
    let column = batch.column_by_name(name).ok_or_else(|| format!("no column {name}"))?;
    let column = column
        .as_dictionary_opt::<UInt16Type>()
        .ok_or_else(|| format!("column {name} is not a dictionary"))?
        .clone();
    let values =
        column.values().as_string_opt::<i32>().ok_or_else(|| format!("column {name} has no words"))?;
    let values: Vec<Arc<str>> = values.iter().map(|word| Arc::from(word.unwrap_or(""))).collect();
    let none: Arc<str> = Arc::from("");
    Ok(move |row| {
        let value = column.key(row).and_then(|key| values.get(key));
        Arc::clone(value.unwrap_or(&none))
    })
}
