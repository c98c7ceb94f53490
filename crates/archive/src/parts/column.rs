//! The columns of a table, as one list: what each is called, which type it has, and how a row tells its value. What is written,
//! what a file has to look like and what Arrow is told of it all come from this list.

use std::sync::Arc;

use parquet::basic::{
    Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, SchemaDescriptor, Type, TypePtr};

/// How a row tells the value of a column, which also says the column's type. `None` is null.
pub enum Value<R> {
    /// The number of a word among the column's [`Names`](super::names::Names); one without a name is null.
    Text(fn(&R) -> u16),
    Bool(fn(&R) -> Option<bool>),
    U16(fn(&R) -> Option<u16>),
    U32(fn(&R) -> Option<u32>),
    I64(fn(&R) -> Option<i64>),
    F64(fn(&R) -> Option<f64>),
}

impl<R> Value<R> {
    /// The type, as the pages for users call it.
    #[cfg(test)]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Bool(_) => "bool",
            Self::U16(_) => "uint16",
            Self::U32(_) => "uint32",
            Self::I64(_) => "int64",
            Self::F64(_) => "float64",
        }
    }

    /// The type as it lies in a file, and what it stands for.
    fn in_file(&self) -> (Physical, Option<LogicalType>) {
        match self {
            Self::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Bool(_) => (Physical::BOOLEAN, None),
            Self::U16(_) => (Physical::INT32, Some(LogicalType::integer(16, false))),
            Self::U32(_) => (Physical::INT32, Some(LogicalType::integer(32, false))),
            Self::I64(_) => (Physical::INT64, None),
            Self::F64(_) => (Physical::DOUBLE, None),
        }
    }
}

/// How the values of a column are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    /// Each different value once, and its number in every row.
    Dictionary,
    /// Differences instead of a dictionary, which would have to look every value up in a hash table. Times hardly repeat, and
    /// of what does repeat the differences are 0.
    Differences,
    /// As they are: few numbers among many nulls.
    Plain,
}

/// A column of a table of rows `R`.
pub struct Column<R> {
    pub name: &'static str,
    pub value: Value<R>,
    pub nullable: bool,
    packing: Packing,
    has_range: bool,
}

impl<R> Column<R> {
    /// A column that has a value in every row, in a dictionary.
    pub const fn of(name: &'static str, value: Value<R>) -> Self {
        Self { name, value, nullable: false, packing: Packing::Dictionary, has_range: true }
    }

    /// The same, and some rows may have none.
    pub const fn nullable(self) -> Self {
        Self { nullable: true, ..self }
    }

    /// The same with differences in place of the dictionary.
    pub const fn differences(self) -> Self {
        Self { packing: Packing::Differences, ..self }
    }

    /// The same without a dictionary, for few numbers among many nulls.
    pub const fn sparse(self) -> Self {
        Self { packing: Packing::Plain, nullable: true, ..self }
    }

    /// The same, and the least and the greatest value are not kept, which would mean to compare every one: for words that hardly
    /// anybody looks for by their order.
    pub const fn unordered(self) -> Self {
        Self { has_range: false, ..self }
    }

    fn in_file(&self) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = self.value.in_file();
        let repetition = if self.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let built = Type::primitive_type_builder(self.name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build();
        built.map(Arc::new)
    }
}

/// The columns as the index of a file describes them.
pub fn schema<R>(columns: &[Column<R>]) -> Result<TypePtr, ParquetError> {
    let fields = columns.iter().map(Column::in_file).collect::<Result<_, _>>()?;
    Type::group_type_builder("schema").with_fields(fields).build().map(Arc::new)
}

/// How a file of these columns is written, and what it says of itself.
pub fn properties<R>(columns: &[Column<R>], said: Vec<KeyValue>) -> WriterPropertiesPtr {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(said));
    for column in columns {
        let path = ColumnPath::from(column.name);
        if !column.has_range {
            builder = builder.set_column_statistics_enabled(path.clone(), EnabledStatistics::None);
        }
        if column.packing != Packing::Dictionary {
            builder = builder.set_column_dictionary_enabled(path.clone(), false);
        }
        if column.packing == Packing::Differences {
            builder = builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Arc::new(builder.build())
}

/// A column of a file, as far as its reader has to know it beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    pub name: String,
    physical: Physical,
    stands_for: ConvertedType,
}

impl Described {
    /// As a file of today describes it.
    fn of<R>(column: &Column<R>) -> Option<Self> {
        let described = column.in_file().ok()?;
        Some(Self {
            name: column.name.to_owned(),
            physical: described.get_physical_type(),
            stands_for: described.get_basic_info().converted_type(),
        })
    }

    /// Whether a file has these columns: all of the first `oldest`, and of those behind, which came later, as many as there are.
    pub fn are<R>(found: &[Self], columns: &[Column<R>], oldest: usize) -> bool {
        (oldest..=columns.len()).contains(&found.len())
            && found.iter().zip(columns).all(|(found, column)| Self::of(column).as_ref() == Some(found))
    }

    /// Its numbers have no sign.
    pub fn is_unsigned(&self) -> bool {
        matches!(self.stands_for, ConvertedType::UINT_16 | ConvertedType::UINT_32)
    }

    /// The columns of a file; `None` where one is a list or lies in a group.
    pub fn all(file: &SchemaDescriptor) -> Option<Vec<Self>> {
        let flat = |column: &ColumnDescPtr| {
            let found = Self {
                name: column.name().to_owned(),
                physical: column.physical_type(),
                stands_for: column.converted_type(),
            };
            let is_flat =
                column.path().parts().len() == 1 && column.max_rep_level() == 0 && column.max_def_level() < 2;
            is_flat.then_some(found)
        };
        file.columns().iter().map(flat).collect()
    }
}
