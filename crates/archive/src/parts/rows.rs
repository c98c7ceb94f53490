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
/// Bytes of them together.
const MOST_WORD_BYTES: usize = 64 << 20;

/// A column, as long as there are rows; where a row has no value stands anything.
struct Values<T> {
    all: Vec<T>,
    /// 0 for each row that has none; empty where all have one.
    levels: Vec<i16>,
}

impl<T: Copy> Values<T> {
    fn get(&self, row: usize) -> Option<T> {
        if self.levels.get(row) == Some(&0) { None } else { self.all.get(row).copied() }
    }

    fn map<V>(self, convert: impl FnMut(T) -> V) -> Values<V> {
        Values { all: self.all.into_iter().map(convert).collect(), levels: self.levels }
    }
}

enum ColumnValues {
    /// Numbers of words, and the words; a number without a word for null.
    Text(Vec<u32>, Vec<Arc<str>>),
    Bool(Values<bool>),
    /// Without a sign, where the column's type has none.
    Whole(Values<i64>),
    Real(Values<f64>),
}

/// Some rows, of which each column can be asked by its name. What a file does not have, because it is older than the column, is
/// null in each row.
pub struct Rows {
    count: usize,
    columns: Vec<(String, ColumnValues)>,
    none: Arc<str>,
}

impl Rows {
    /// How many.
    pub fn count(&self) -> usize {
        self.count
    }

    fn column(&self, name: &str) -> Option<&ColumnValues> {
        self.columns.iter().find(|(found, _)| found == name).map(|(_, values)| values)
    }

    /// A column of text; nothing for null.
    pub fn text<'a>(&'a self, name: &str) -> impl Fn(usize) -> &'a Arc<str> + use<'a> {
        let (numbers, words) = match self.column(name) {
            Some(ColumnValues::Text(numbers, words)) => (numbers.as_slice(), words.as_slice()),
            _ => (&[] as &[u32], &[] as &[Arc<str>]),
        };
        let none = &self.none;
        move |row| numbers.get(row).and_then(|number| words.get(*number as usize)).unwrap_or(none)
    }

    /// A column of yes and no.
    pub fn bools<'a>(&'a self, name: &str) -> impl Fn(usize) -> Option<bool> + use<'a> {
        let found = match self.column(name) {
            Some(ColumnValues::Bool(values)) => Some(values),
            _ => None,
        };
        move |row| found?.get(row)
    }

    /// A column of whole numbers.
    pub fn whole<'a>(&'a self, name: &str) -> impl Fn(usize) -> Option<i64> + use<'a> {
        let found = match self.column(name) {
            Some(ColumnValues::Whole(values)) => Some(values),
            _ => None,
        };
        move |row| found?.get(row)
    }

    /// A column of fractions.
    pub fn real<'a>(&'a self, name: &str) -> impl Fn(usize) -> Option<f64> + use<'a> {
        let found = match self.column(name) {
            Some(ColumnValues::Real(values)) => Some(values),
            _ => None,
        };
        move |row| found?.get(row)
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
        Ok(Some(Rows { count, columns, none: Arc::from("") }))
    }
}

fn values_of(column: &mut ColumnRows, count: usize) -> Result<ColumnValues, ParquetError> {
    let ColumnRows { described, reader, known } = column;
    let name = &described.name;
    Ok(match reader {
        ColumnReader::ByteArrayColumnReader(reader) => {
            known.trim();
            let Found { values, levels } = read(reader, name, count)?;
            let mut numbers = Vec::with_capacity(count);
            for word in &values {
                numbers.push(known.number(word)?);
            }
            spread(&mut numbers, &levels, NO_WORD);
            ColumnValues::Text(numbers, known.words.clone())
        }
        ColumnReader::BoolColumnReader(reader) => ColumnValues::Bool(read(reader, name, count)?.into_rows()),
        ColumnReader::Int32ColumnReader(reader) if described.is_unsigned() => {
            let values = read(reader, name, count)?.into_rows();
            ColumnValues::Whole(values.map(|value| i64::from(value.cast_unsigned())))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            ColumnValues::Whole(read(reader, name, count)?.into_rows())
        }
        ColumnReader::DoubleColumnReader(reader) => {
            ColumnValues::Real(read(reader, name, count)?.into_rows())
        }
        _ => return Err(ParquetError::General(format!("column {name} is of a type that is not read here"))),
    })
}

/// The values that are there, and 0 for each row that has none; no levels where all have one.
struct Found<T> {
    values: Vec<T>,
    levels: Vec<i16>,
}

impl<T: Copy + Default> Found<T> {
    fn into_rows(self) -> Values<T> {
        let Self { mut values, levels } = self;
        spread(&mut values, &levels, T::default());
        Values { all: values, levels }
    }
}

/// The next `count` rows of a column.
fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    name: &str,
    count: usize,
) -> Result<Found<T::T>, ParquetError> {
    let (mut values, mut levels) = (Vec::with_capacity(count), Vec::new());
    let (records, found, _) = reader.read_records(count, Some(&mut levels), None, &mut values)?;
    if records != count {
        return Err(ParquetError::General(format!("column {name} has fewer rows than its row group")));
    }
    if found == count {
        levels.clear();
    }
    Ok(Found { values, levels })
}

/// Moves values to their rows; `none` stands where there is none.
fn spread<T: Copy>(values: &mut Vec<T>, levels: &[i16], none: T) {
    if levels.is_empty() {
        return;
    }
    let mut from = values.len();
    values.resize(levels.len(), none);
    // From the last on: a value never moves to the left.
    for to in (0..levels.len()).rev() {
        if levels[to] == 0 {
            values[to] = none;
        } else if from > 0 {
            from -= 1;
            values[to] = values[from];
        }
    }
}

/// No word has this number.
const NO_WORD: u32 = u32::MAX;

/// The words of a column, each kept once.
#[derive(Default)]
struct Words {
    words: Vec<Arc<str>>,
    numbers: HashMap<Box<[u8]>, u32>,
    bytes: usize,
    last: u32,
}

impl Words {
    fn number(&mut self, bytes: &ByteArray) -> Result<u32, ParquetError> {
        let bytes = bytes.data();
        // Most rows say what the row before them said.
        if self.words.get(self.last as usize).is_some_and(|last| last.as_bytes() == bytes) {
            return Ok(self.last);
        }
        self.last = match self.numbers.get(bytes) {
            Some(number) => *number,
            None => {
                let word =
                    std::str::from_utf8(bytes).map_err(|error| ParquetError::General(error.to_string()))?;
                let number = self.words.len() as u32;
                self.bytes += bytes.len();
                self.words.push(Arc::from(word));
                self.numbers.insert(Box::from(bytes), number);
                number
            }
        };
        Ok(self.last)
    }

    /// Forgets what is not needed any more where there is too much of it.
    fn trim(&mut self) {
        if self.words.len() > MOST_WORDS || self.bytes > MOST_WORD_BYTES {
            *self = Self::default();
        }
    }
}
