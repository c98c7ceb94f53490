//! The words of a column of text: each is kept once, and rows hold its number.

use std::collections::BTreeMap;

use parquet::data_type::ByteArray;

/// Words, and the number of each.
#[derive(Debug, Default)]
pub struct Names {
    words: Vec<ByteArray>,
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
        let number = u16::try_from(self.words.len()).unwrap_or(u16::MAX);
        if number < u16::MAX {
            self.words.push(ByteArray::from(name));
            self.numbers.insert(name.to_owned(), number);
        }
        number
    }

    /// The word of a number, if there is one.
    pub fn word(&self, number: u16) -> Option<&ByteArray> {
        self.words.get(usize::from(number))
    }
}
