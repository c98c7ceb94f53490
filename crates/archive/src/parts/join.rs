//! Joins the parts of an operation log without decoding them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;

use crate::regular;

/// Copies the row groups of `parts`, as they are, into `file`; `first` gives the schema and the metadata.
pub fn copy_parts(file: File, first: &Path, parts: &[PathBuf]) -> Result<(), ParquetError> {
    let head = SerializedFileReader::new(regular::open(first)?)?;
    let meta = head.metadata().file_metadata();
    let properties = WriterProperties::builder().set_key_value_metadata(meta.key_value_metadata().cloned());
    let root = meta.schema_descr().root_schema_ptr();
    let mut writer = SerializedFileWriter::new(file, root, Arc::new(properties.build()))?;
    for part in parts {
        let source = regular::open(part)?;
        let reader = SerializedFileReader::new(source.try_clone()?)?;
        for group in reader.metadata().row_groups() {
            let mut out = writer.next_row_group()?;
            for column in group.columns() {
                let whole = ColumnCloseResult {
                    bytes_written: u64::try_from(column.compressed_size()).unwrap_or(0),
                    rows_written: u64::try_from(group.num_rows()).unwrap_or(0),
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                out.append_column(&source, whole)?;
            }
            out.close()?;
        }
    }
    writer.close().map(drop)
}
