//! Reads `nodes.parquet` back, look by look, in bounded memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::vec;

use cosmark_metrics::nodes::quantity::{Quantity, quantity};
use cosmark_metrics::nodes::reading::{Found, NodeLook, NodeName, Reading};
use jiff::Timestamp;

use super::{COLUMNS, STEM};
use crate::ArchiveError;
use crate::parts::read::{Expected, TableReader};
use crate::parts::rows::Rows;

/// Columns that every such table has.
const FIRST_COLUMNS: usize = 12;

/// One row.
struct Row {
    /// Since the epoch.
    time_ns: i64,
    node: Arc<NodeName>,
    sample: Option<(&'static Quantity, Arc<str>, Arc<str>, f64)>,
    /// When that was true, where its source says so of each number; since the epoch.
    own_time_ns: Option<i64>,
    age_ns: u64,
    lost: Arc<str>,
}

/// Reads what was seen of the store's machines: of `nodes.parquet`, or of the parts that a killed run left.
pub struct NodeLogReader {
    table: TableReader<super::Row>,
    rows: std::iter::Peekable<vec::IntoIter<Row>>,
}

impl NodeLogReader {
    /// Opens the table of the run in `dir`; `None` when it has none.
    ///
    /// # Errors
    /// When a file is not such a table.
    pub fn open(dir: &Path) -> Result<Option<Self>, ArchiveError> {
        let expected = Expected {
            stem: STEM,
            what: "a table of nodes",
            columns: &COLUMNS,
            first_columns: FIRST_COLUMNS,
        };
        let table = TableReader::open(dir, expected)?;
        Ok(table.map(|table| Self { table, rows: Vec::new().into_iter().peekable() }))
    }

    /// The wall time that all times of the table count from.
    #[must_use]
    pub fn epoch(&self) -> Timestamp {
        self.table.epoch()
    }

    /// The next row; decodes more where there is none.
    fn fill(&mut self) -> Result<bool, ArchiveError> {
        while self.rows.peek().is_none() {
            match self.table.next(rows_of)? {
                Some(rows) => self.rows = rows.into_iter().peekable(),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// All rows of one look at one machine.
    fn look(&mut self) -> Result<Option<NodeLook>, ArchiveError> {
        if !self.fill()? {
            return Ok(None);
        }
        let Some(first) = self.rows.next() else { return Ok(None) };
        let epoch_ns = self.table.epoch().as_nanosecond();
        let since_1970 = |time_ns: i64| u64::try_from(i128::from(time_ns) + epoch_ns).unwrap_or(0);
        let at_ns = since_1970(first.time_ns);
        let (time_ns, node, age_ns) = (first.time_ns, Arc::clone(&first.node), first.age_ns);
        if !first.lost.is_empty() {
            let why = first.lost.to_string();
            return Ok(Some(NodeLook { node, found: Found::Lost { at_ns, why } }));
        }
        let mut reading = Reading { at_ns, samples: Vec::new() };
        let add = |reading: &mut Reading, row: Row| {
            if let Some((quantity, unit, name, value)) = row.sample {
                let own_ns = row.own_time_ns.map(since_1970);
                reading.add_at(quantity, &unit, name.to_string(), value, own_ns);
            }
        };
        add(&mut reading, first);
        while self.fill()? {
            let same = |row: &Row| row.time_ns == time_ns && row.node == node && row.lost.is_empty();
            match self.rows.next_if(same) {
                Some(row) => add(&mut reading, row),
                None => break,
            }
        }
        Ok(Some(NodeLook { node, found: Found::Reading { reading: Arc::new(reading), age_ns } }))
    }
}

impl Iterator for NodeLogReader {
    type Item = Result<NodeLook, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        let look = self.look();
        if look.is_err() {
            self.table.stop();
            self.rows = Vec::new().into_iter().peekable();
        }
        look.transpose()
    }
}

fn rows_of(rows: &Rows) -> Result<Vec<Row>, String> {
    let (times, ages, values) = (rows.whole("time_ns"), rows.whole("age_ns"), rows.real("value"));
    let (node, role, source) = (rows.text("node"), rows.text("role"), rows.text("source"));
    let (name, id, unit) = (rows.text("name"), rows.text("quantity"), rows.text("unit"));
    let (lost, own_times) = (rows.text("lost"), rows.whole("own_time_ns"));
    let mut nodes: BTreeMap<[Arc<str>; 3], Arc<NodeName>> = BTreeMap::new();
    let row = |row: usize| {
        let of = |node: &[Arc<str>; 3]| {
            let [name, role, source] = node.each_ref().map(ToString::to_string);
            Arc::new(NodeName { name, role, source })
        };
        let key = [node(row), role(row), source(row)].map(Arc::clone);
        let node = Arc::clone(nodes.entry(key.clone()).or_insert_with(|| of(&key)));
        // What a later version knows and this one does not is left out.
        let sample = quantity(id(row)).zip(values(row));
        let sample =
            sample.map(|(quantity, value)| (quantity, Arc::clone(unit(row)), Arc::clone(name(row)), value));
        let age_ns = ages(row).and_then(|age| u64::try_from(age).ok()).unwrap_or(0);
        let (time_ns, own_time_ns, lost) = (times(row).unwrap_or(0), own_times(row), Arc::clone(lost(row)));
        Row { time_ns, node, sample, own_time_ns, age_ns, lost }
    };
    Ok((0..rows.count()).map(row).collect())
}
