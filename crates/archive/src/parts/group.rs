//! A row group that grows row by row. A file wants each of its columns in one piece: until the group is closed the pages of all
//! columns wait in memory, encoded and compressed.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl, get_column_writer};
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};

use super::column::{Column, Value};
use super::names::Names;

/// The bytes of a column's pages: the library's writer of a column fills them, and the group takes them when it is closed.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<Vec<u8>>>);

impl Pages {
    fn take(&self) -> Bytes {
        Bytes::from(std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Write for Pages {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Puts pages behind one another.
struct PageSink(TrackedWrite<Pages>);

impl PageWriter for PageSink {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec, ParquetError> {
        SerializedPageWriter::new(&mut self.0).write_page(page)
    }

    fn close(&mut self) -> Result<(), ParquetError> {
        SerializedPageWriter::new(&mut self.0).close()
    }
}

struct ColumnPages {
    writer: ColumnWriter<'static>,
    pages: Pages,
    words: LastWords,
}

/// A row group of which nothing is in the file yet.
pub struct Group(Vec<ColumnPages>);

impl Group {
    /// Begins a group of a file with this schema.
    pub fn new(schema: &SchemaDescriptor, properties: &WriterPropertiesPtr) -> Self {
        let begin = |column: &ColumnDescPtr| {
            let pages = Pages::default();
            let sink = PageSink(TrackedWrite::new(pages.clone()));
            let writer = get_column_writer(Arc::clone(column), Arc::clone(properties), Box::new(sink));
            ColumnPages { writer, pages, words: LastWords::default() }
        };
        Self(schema.columns().iter().map(begin).collect())
    }

    /// Encodes rows; `names` are those of the columns of text, in their order.
    ///
    /// # Errors
    /// When a row has no value where its column needs one.
    pub fn write<R>(
        &mut self,
        columns: &[Column<R>],
        rows: &[R],
        names: &[Names],
    ) -> Result<(), ParquetError> {
        let mut names = names.iter();
        for (column, ColumnPages { writer, words, .. }) in columns.iter().zip(&mut self.0) {
            match (&column.value, writer) {
                (Value::Text(number), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                    let names = names.next().ok_or_else(|| wrong(column, "has no names"))?;
                    words.put(writer, column, rows.iter().map(number), names)
                }
                (Value::Bool(of), ColumnWriter::BoolColumnWriter(writer)) => put(writer, column, rows, of),
                (Value::U16(of), ColumnWriter::Int32ColumnWriter(writer)) => {
                    put(writer, column, rows, |row| of(row).map(i32::from))
                }
                (Value::U32(of), ColumnWriter::Int32ColumnWriter(writer)) => {
                    put(writer, column, rows, |row| of(row).map(u32::cast_signed))
                }
                (Value::I64(of), ColumnWriter::Int64ColumnWriter(writer)) => put(writer, column, rows, of),
                (Value::F64(of), ColumnWriter::DoubleColumnWriter(writer)) => put(writer, column, rows, of),
                _ => Err(wrong(column, "is of another type in the file")),
            }?;
        }
        Ok(())
    }

    /// Puts the columns into the file, one behind the other.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn close<W: Write + Send>(self, file: &mut SerializedFileWriter<W>) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        for ColumnPages { writer, pages, .. } in self.0 {
            let closed = writer.close()?;
            group.append_column(&pages.take(), closed)?;
        }
        group.close().map(drop)
    }
}

fn wrong<R>(column: &Column<R>, what: &str) -> ParquetError {
    ParquetError::General(format!("column {} {what}", column.name))
}

/// Encodes the values of one column.
fn put<R, T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    column: &Column<R>,
    rows: &[R],
    value_of: impl Fn(&R) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let mut values = Vec::with_capacity(rows.len());
    if !column.nullable {
        values.extend(rows.iter().filter_map(value_of));
        if values.len() != rows.len() {
            return Err(wrong(column, "has no value in some row"));
        }
        return writer.write_batch(&values, None, None).map(drop);
    }
    // Whether a row has a value, in the numbers of the format.
    let mut levels = Vec::with_capacity(rows.len());
    for row in rows {
        let value = value_of(row);
        levels.push(i16::from(value.is_some()));
        values.extend(value);
    }
    writer.write_batch(&values, Some(&levels), None).map(drop)
}

/// The words that were encoded last. Most rows say at their place what the rows before them said there: that need not be counted up
/// and down once more for each of them.
#[derive(Default)]
struct LastWords {
    numbers: Vec<u16>,
    words: Vec<ByteArray>,
    levels: Vec<i16>,
}

impl LastWords {
    /// Encodes the words of these numbers.
    fn put<R>(
        &mut self,
        writer: &mut ColumnWriterImpl<'_, ByteArrayType>,
        column: &Column<R>,
        numbers: impl Iterator<Item = u16>,
        names: &Names,
    ) -> Result<(), ParquetError> {
        let mut count = 0;
        self.levels.clear();
        for number in numbers {
            let word = names.word(number);
            self.levels.push(i16::from(word.is_some()));
            let Some(word) = word else { continue };
            match self.numbers.get_mut(count) {
                Some(last) if *last == number => {}
                Some(last) => {
                    *last = number;
                    self.words[count] = word.clone();
                }
                None => {
                    self.numbers.push(number);
                    self.words.push(word.clone());
                }
            }
            count += 1;
        }
        if !column.nullable && count != self.levels.len() {
            return Err(wrong(column, "has no value in some row"));
        }
        let levels = column.nullable.then_some(self.levels.as_slice());
        writer.write_batch(&self.words[..count], levels, None).map(drop)
    }
}
