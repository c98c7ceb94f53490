//! The rows of a row group as their columns, some thousands at a time.

use std::collections::HashMap;
use std::sync::Arc;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;

use super::column::Described;

/// Different words that are remembered of a column. Ours have at most 65 534.
const MOST_WORDS: usize = 1 << 16;

/// The values of a column, one per row.
enum Values {
    Text(Vec<Option<Arc<str>>>),
    Bool(Vec<Option<bool>>),
    /// Without a sign, where the column's type has none.
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
}

/// Some rows, of which each column can be asked by its name. What a file does not have, because it is older than the column, is
/// null in each row.
pub struct Rows {
    count: usize,
    columns: Vec<(String, Values)>,
}

impl Rows {
    /// How many.
    pub fn count(&self) -> usize {
        self.count
    }

    fn column(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|(found, _)| found == name).map(|(_, values)| values)
    }

    /// A column of text; nothing for null.
    pub fn text<'a>(&'a self, name: &str) -> impl Fn(usize) -> Arc<str> + use<'a> {
        let none: Arc<str> = Arc::from("");
        let words = match self.column(name) {
            Some(Values::Text(words)) => words.as_slice(),
            _ => &[],
        };
        move |row| Arc::clone(words.get(row).and_then(Option::as_ref).unwrap_or(&none))
    }

    /// A column of yes and no.
    pub fn bools<'a>(&'a self, name: &str) -> impl Fn(usize) -> Option<bool> + use<'a> {
        let values = match self.column(name) {
            Some(Values::Bool(values)) => values.as_slice(),
            _ => &[],
        };
        move |row| *values.get(row)?
    }

    /// A column of whole numbers.
    pub fn whole<'a>(&'a self, name: &str) -> impl Fn(usize) -> Option<i64> + use<'a> {
        let values = match self.column(name) {
            Some(Values::Whole(values)) => values.as_slice(),
            _ => &[],
        };
        move |row| *values.get(row)?
    }

    /// A column of fractions.
    pub fn real<'a>(&'a self, name: &str) -> impl Fn(usize) -> Option<f64> + use<'a> {
        let values = match self.column(name) {
            Some(Values::Real(values)) => values.as_slice(),
            _ => &[],
        };
        move |row| *values.get(row)?
    }
}

struct ColumnRows {
    described: Described,
    reader: ColumnReader,
    known: Words,
}

/// A row group that is being read.
pub struct GroupRows {
    columns: Vec<ColumnRows>,
    /// Rows that were not read yet.
    left: usize,
}

impl GroupRows {
    /// Begins to read a row group of a file with these columns.
    ///
    /// # Errors
    /// When its index is damaged.
    pub fn new(group: &dyn RowGroupReader, described: &[Described]) -> Result<Self, ParquetError> {
        let left = usize::try_from(group.metadata().num_rows())?;
        let begin = |(at, described): (usize, &Described)| {
            let reader = group.get_column_reader(at)?;
            Ok(ColumnRows { described: described.clone(), reader, known: Words::default() })
        };
        let columns = described.iter().enumerate().map(begin).collect::<Result<_, ParquetError>>()?;
        Ok(Self { columns, left })
    }

    /// At most so many rows; `None` at the end.
    ///
    /// # Errors
    /// When a page is damaged, or a column ends before the others.
    pub fn next(&mut self, most: usize) -> Result<Option<Rows>, ParquetError> {
        let count = self.left.min(most);
        if count == 0 {
            return Ok(None);
        }
        self.left -= count;
        let decode = |column: &mut ColumnRows| {
            let values = values_of(column, count)?;
            Ok((column.described.name.clone(), values))
        };
        let columns = self.columns.iter_mut().map(decode).collect::<Result<_, ParquetError>>()?;
        Ok(Some(Rows { count, columns }))
    }
}

fn values_of(column: &mut ColumnRows, count: usize) -> Result<Values, ParquetError> {
    let ColumnRows { described, reader, known } = column;
    let name = &described.name;
    Ok(match reader {
        ColumnReader::ByteArrayColumnReader(reader) => {
            Values::Text(decode(reader, name, count, |bytes| known.word(&bytes))?)
        }
        ColumnReader::BoolColumnReader(reader) => Values::Bool(decode(reader, name, count, Ok)?),
        ColumnReader::Int32ColumnReader(reader) if described.is_unsigned() => {
            Values::Whole(decode(reader, name, count, |value| Ok(i64::from(value.cast_unsigned())))?)
        }
        ColumnReader::Int64ColumnReader(reader) => Values::Whole(decode(reader, name, count, Ok)?),
        ColumnReader::DoubleColumnReader(reader) => Values::Real(decode(reader, name, count, Ok)?),
        _ => return Err(ParquetError::General(format!("column {name} is of a type that is not read here"))),
    })
}

/// The next `count` values of a column, each as `convert` makes it.
fn decode<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    name: &str,
    count: usize,
    mut convert: impl FnMut(T::T) -> Result<V, ParquetError>,
) -> Result<Vec<Option<V>>, ParquetError> {
    let (mut values, mut levels) = (Vec::with_capacity(count), Vec::new());
    let (records, ..) = reader.read_records(count, Some(&mut levels), None, &mut values)?;
    if records != count {
        return Err(ParquetError::General(format!("column {name} has fewer rows than its row group")));
    }
    let mut values = values.into_iter();
    if levels.is_empty() {
        return values.map(|value| convert(value).map(Some)).collect();
    }
    let mut of =
        |level: &i16| if *level == 0 { Ok(None) } else { values.next().map(&mut convert).transpose() };
    levels.iter().map(&mut of).collect()
}

/// The words of a column, each kept once.
#[derive(Default)]
struct Words {
    last: Option<Arc<str>>,
    known: HashMap<Box<[u8]>, Arc<str>>,
}

impl Words {
    fn word(&mut self, bytes: &ByteArray) -> Result<Arc<str>, ParquetError> {
        // Most rows say what the row before them said.
        if let Some(last) = self.last.as_ref().filter(|last| last.as_bytes() == bytes.data()) {
            return Ok(Arc::clone(last));
        }
        let word = match self.known.get(bytes.data()) {
            Some(word) => Arc::clone(word),
            None => {
                let word: Arc<str> = Arc::from(bytes.as_utf8()?);
                if self.known.len() >= MOST_WORDS {
                    self.known.clear();
                }
                self.known.insert(Box::from(bytes.data()), Arc::clone(&word));
                word
            }
        };
        self.last = Some(Arc::clone(&word));
        Ok(word)
    }
}
