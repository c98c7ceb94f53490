//! What a file tells readers that think in Arrow, pandas and Polars among them: that a column of text is a dictionary, so that they
//! keep each word once and not once a row. It is a schema in Arrow's own form under the key `ARROW:schema`. Sources: Apache Arrow,
//! `format/Message.fbs` and `format/Schema.fbs`; the layout of FlatBuffers (tables, their lists of fields, forward offsets).

use data_encoding::BASE64;

use super::column::{Column, Value};

/// The key of the entry.
pub const KEY: &str = "ARROW:schema";

/// `MetadataVersion.V5` and `MessageHeader.Schema`.
const VERSION: i16 = 4;
const SCHEMA: u8 = 1;
/// Members of the union `Type`.
const INT: u8 = 2;
const FLOATING_POINT: u8 = 3;
const UTF8: u8 = 5;
const BOOL: u8 = 6;
/// `Precision.DOUBLE`.
const DOUBLE: i16 = 2;

/// A field of a table.
#[derive(Clone, Copy)]
enum Field {
    /// As if it had its default.
    Absent,
    U8(u8),
    I16(i16),
    I32(i32),
    I64(i64),
    /// What comes later, as its distance from here.
    Ahead,
}

/// A buffer in which everything stands before what it points at.
#[derive(Default)]
struct Buffer(Vec<u8>);

impl Buffer {
    fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    fn set(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Lets the distance at `place` lead to `target`.
    fn lead(&mut self, place: usize, target: usize) {
        self.set(place, &((target - place) as u32).to_le_bytes());
    }

    /// Writes a table; gives its place, and those of the distances in it.
    fn table(&mut self, fields: &[Field]) -> (usize, Vec<usize>) {
        self.align(2);
        let list = self.0.len();
        let list_length = 4 + 2 * fields.len();
        self.0.resize(list + list_length, 0);
        self.align(8);
        let table = self.0.len();
        self.0.extend(((table - list) as i32).to_le_bytes());
        let mut ahead = Vec::new();
        for (number, field) in fields.iter().enumerate() {
            let bytes = match field {
                Field::Absent => continue,
                Field::U8(value) => value.to_le_bytes().to_vec(),
                Field::I16(value) => value.to_le_bytes().to_vec(),
                Field::I32(value) => value.to_le_bytes().to_vec(),
                Field::I64(value) => value.to_le_bytes().to_vec(),
                Field::Ahead => vec![0; 4],
            };
            self.align(bytes.len());
            let place = self.0.len();
            self.set(list + 4 + 2 * number, &((place - table) as u16).to_le_bytes());
            self.0.extend(bytes);
            if matches!(field, Field::Ahead) {
                ahead.push(place);
            }
        }
        self.set(list, &(list_length as u16).to_le_bytes());
        self.set(list + 2, &((self.0.len() - table) as u16).to_le_bytes());
        (table, ahead)
    }

    /// A table that `place` leads to; gives the places of the distances in it.
    fn table_at(&mut self, place: usize, fields: &[Field]) -> Vec<usize> {
        let (table, ahead) = self.table(fields);
        self.lead(place, table);
        ahead
    }

    fn text_at(&mut self, place: usize, text: &str) {
        self.align(4);
        self.lead(place, self.0.len());
        self.0.extend((text.len() as u32).to_le_bytes());
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    /// A list of distances; gives their places.
    fn list_at(&mut self, place: usize, length: usize) -> Vec<usize> {
        self.align(4);
        self.lead(place, self.0.len());
        self.0.extend((length as u32).to_le_bytes());
        let first = self.0.len();
        self.0.resize(first + 4 * length, 0);
        (0..length).map(|at| first + 4 * at).collect()
    }

    /// The field of a schema that `place` leads to; `dictionary` is its number among the columns of text.
    fn column_at<R>(&mut self, place: usize, column: &Column<R>, dictionary: i64) {
        let integer = |bits, signed| (INT, vec![Field::I32(bits), Field::U8(signed)]);
        let (kind, details) = match column.value {
            Value::Text(_) => (UTF8, Vec::new()),
            Value::Bool(_) => (BOOL, Vec::new()),
            Value::U16(_) => integer(16, 0),
            Value::U32(_) => integer(32, 0),
            Value::I64(_) => integer(64, 1),
            Value::F64(_) => (FLOATING_POINT, vec![Field::I16(DOUBLE)]),
        };
        let is_text = kind == UTF8;
        let fields = [
            Field::Ahead,
            Field::U8(column.nullable.into()),
            Field::U8(kind),
            Field::Ahead,
            if is_text { Field::Ahead } else { Field::Absent },
            Field::Ahead,
        ];
        let ahead = self.table_at(place, &fields);
        self.text_at(ahead[0], column.name);
        self.table_at(ahead[1], &details);
        if is_text {
            let index = self.table_at(ahead[2], &[Field::I64(dictionary), Field::Ahead, Field::U8(0)]);
            self.table_at(index[0], &integer(16, 0).1);
        }
        self.list_at(ahead[ahead.len() - 1], 0);
    }
}

/// The value of the entry for these columns.
pub fn schema<R>(columns: &[Column<R>]) -> String {
    let mut buffer = Buffer(vec![0; 4]);
    let message = [Field::I16(VERSION), Field::U8(SCHEMA), Field::Ahead, Field::I64(0)];
    let header = buffer.table_at(0, &message)[0];
    let fields = buffer.table_at(header, &[Field::I16(0), Field::Ahead])[0];
    let places = buffer.list_at(fields, columns.len());
    let mut dictionaries = 0;
    for (place, column) in places.into_iter().zip(columns) {
        buffer.column_at(place, column, dictionaries);
        dictionaries += i64::from(matches!(column.value, Value::Text(_)));
    }
    buffer.align(8);
    let mut framed = vec![0xff; 4];
    framed.extend((buffer.0.len() as u32).to_le_bytes());
    framed.extend(buffer.0);
    BASE64.encode(&framed)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
        bytes[at..at + N].try_into().unwrap()
    }

    fn ahead(bytes: &[u8], at: usize) -> usize {
        at + u32::from_le_bytes(number(bytes, at)) as usize
    }

    /// The place of a field of a table; `None` where it has its default.
    fn field(bytes: &[u8], table: usize, which: usize) -> Option<usize> {
        let list = (table as i64 - i64::from(i32::from_le_bytes(number(bytes, table)))) as usize;
        let length = usize::from(u16::from_le_bytes(number(bytes, list)));
        let at = 4 + 2 * which;
        let distance = (at < length).then(|| usize::from(u16::from_le_bytes(number(bytes, list + at))))?;
        (distance != 0).then_some(table + distance)
    }

    fn byte(bytes: &[u8], table: usize, which: usize) -> u8 {
        field(bytes, table, which).map_or(0, |at| bytes[at])
    }

    /// Bits and sign of a whole number.
    fn integer(bytes: &[u8], table: usize) -> (i32, u8) {
        let bits = field(bytes, table, 0).map_or(0, |at| i32::from_le_bytes(number(bytes, at)));
        (bits, byte(bytes, table, 1))
    }

    /// What the entry says of each column.
    fn columns_in(entry: &str) -> Vec<String> {
        let framed = BASE64.decode(entry.as_bytes()).unwrap();
        assert_eq!(number(&framed, 0), [0xff; 4]);
        assert_eq!(u32::from_le_bytes(number(&framed, 4)) as usize, framed.len() - 8);
        let bytes = &framed[8..];
        assert_eq!(bytes.len() % 8, 0);
        let message = ahead(bytes, 0);
        let version = i16::from_le_bytes(number(bytes, field(bytes, message, 0).unwrap()));
        assert_eq!((version, byte(bytes, message, 1)), (VERSION, SCHEMA));
        let schema = ahead(bytes, field(bytes, message, 2).unwrap());
        let list = ahead(bytes, field(bytes, schema, 1).unwrap());
        let told = |at: usize| {
            let table = ahead(bytes, list + 4 + 4 * at);
            let name = ahead(bytes, field(bytes, table, 0).unwrap());
            let length = u32::from_le_bytes(number(bytes, name)) as usize;
            let name = std::str::from_utf8(&bytes[name + 4..name + 4 + length]).unwrap();
            let (kind, details) = (byte(bytes, table, 2), ahead(bytes, field(bytes, table, 3).unwrap()));
            let details = match kind {
                INT => format!("{:?}", integer(bytes, details)),
                FLOATING_POINT => byte(bytes, details, 0).to_string(),
                _ => String::new(),
            };
            let dictionary = field(bytes, table, 4).map(|at| {
                let dictionary = ahead(bytes, at);
                let id = field(bytes, dictionary, 0).map_or(0, |at| i64::from_le_bytes(number(bytes, at)));
                (id, integer(bytes, ahead(bytes, field(bytes, dictionary, 1).unwrap())))
            });
            let children = u32::from_le_bytes(number(bytes, ahead(bytes, field(bytes, table, 5).unwrap())));
            format!("{name} {} {kind} {details} {dictionary:?} {children}", byte(bytes, table, 1))
        };
        (0..u32::from_le_bytes(number(bytes, list)) as usize).map(told).collect()
    }

    /// The entry of a file that Arrow's own library wrote.
    fn of_arrow(file: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet").join(file);
        let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let entries = file.metadata().file_metadata().key_value_metadata().unwrap();
        entries.iter().find(|entry| entry.key == KEY).and_then(|entry| entry.value.clone()).unwrap()
    }

    #[test]
    fn arrow_is_told_of_each_column_what_its_own_library_says() {
        let operations = columns_in(&of_arrow("operations.parquet"));
        assert_eq!(columns_in(&schema(&crate::oplog::columns::COLUMNS))[..operations.len()], operations);
        let nodes = columns_in(&of_arrow("nodes.parquet"));
        assert_eq!(columns_in(&schema(&crate::nodelog::COLUMNS))[..nodes.len()], nodes);
        assert_eq!(nodes[3], "source 0 5  Some((2, (16, 0))) 0");
    }
}
