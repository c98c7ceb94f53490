//! Columns of words: each is written once, and its number in every row.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::UInt16Type;
use arrow_array::{ArrayRef, DictionaryArray, StringArray, UInt16Array};
use arrow_schema::DataType;
use parquet::errors::ParquetError;

/// The type of such a column.
pub fn words() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8))
}

/// Names, and the number of each in the dictionary of its column.
#[derive(Debug, Default)]
pub struct Names {
    names: Vec<String>,
    numbers: BTreeMap<String, u16>,
}

impl Names {
    /// These, in their order.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut this = Self::default();
        for name in names {
            this.number(name);
        }
        this
    }

    /// Its number; `u16::MAX` stands for all names beyond 65 534 different ones.
    pub fn number(&mut self, name: &str) -> u16 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u16::try_from(self.names.len()).unwrap_or(u16::MAX);
        if number < u16::MAX {
            self.names.push(name.to_owned());
            self.numbers.insert(name.to_owned(), number);
        }
        number
    }

    /// The column of these numbers, which are used up; a number without a name is null.
    pub fn column(&self, numbers: &mut Vec<u16>) -> Result<ArrayRef, ParquetError> {
        let keys: UInt16Array = numbers
            .drain(..)
            .map(|number| (usize::from(number) < self.names.len()).then_some(number))
            .collect();
        let values = StringArray::from_iter_values(&self.names);
        Ok(Arc::new(DictionaryArray::<UInt16Type>::try_new(keys, Arc::new(values))?))
    }
}
