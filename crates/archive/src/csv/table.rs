//! The tables of ours that grow while a run lasts, such as `clients.csv`: their heads, and reading them line by
//! line, so that no table has to fit into memory.

use std::collections::BTreeMap;
use std::path::Path;

use cosmark_metrics::results::{METRICS, Metric};
use csv::StringRecord;

use crate::ArchiveError;
use crate::csv::line::{push_line, read_records};

/// A table: its file and its columns.
pub(crate) struct Table {
    pub file: &'static str,
    pub columns: &'static [&'static str],
    /// Columns of its first form; what came later is empty in older files.
    pub first: usize,
    /// Behind its columns stand the figures that are measured, by their names. What a later version adds is such a figure.
    pub figures: bool,
}

impl Table {
    /// Its first line.
    pub fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        push_line(&mut head, self.columns.iter().copied().chain(self.figures().map(|metric| metric.id)));
        head
    }

    fn figures(&self) -> impl Iterator<Item = &'static Metric> {
        let wanted = self.figures;
        METRICS.iter().filter(move |metric| wanted && metric.is_measured())
    }

    /// Calls `each` with every line after the head; false when there is no such file.
    pub(crate) fn read(
        &self,
        dir: &Path,
        mut each: impl FnMut(&Fields<'_>) -> Result<(), String>,
    ) -> Result<bool, ArchiveError> {
        let path = dir.join(self.file);
        if !path.exists() {
            return Ok(false);
        }
        let mut seen_head = false;
        let mut figures: Vec<(usize, &'static str)> = Vec::new();
        read_records(&path, |_, record| {
            if !seen_head {
                seen_head = true;
                // Later versions may add columns at the end, and earlier ones had fewer.
                for metric in self.figures() {
                    let at = record.iter().skip(self.columns.len()).position(|name| name == metric.id);
                    figures.extend(at.map(|at| (self.columns.len() + at, metric.id)));
                }
                let is_head = record.len() >= self.first
                    && record.iter().zip(self.columns).all(|(found, column)| found == *column);
                return if is_head { Ok(()) } else { Err(format!("not the header of {}", self.file)) };
            }
            if record.len() < self.first {
                return Err(format!("{} fields instead of {}", record.len(), self.columns.len()));
            }
            each(&Fields { record, columns: self.columns, figures: &figures })
        })?;
        Ok(true)
    }
}

/// The fields of one line.
pub(crate) struct Fields<'a> {
    record: &'a StringRecord,
    columns: &'static [&'static str],
    figures: &'a [(usize, &'static str)],
}

impl Fields<'_> {
    fn get(&self, at: usize) -> &str {
        self.record.get(at).unwrap_or_default()
    }

    fn bad(&self, at: usize, what: &str) -> String {
        let shown: String = self.get(at).chars().take(40).collect();
        format!("{}: `{shown}` is not {what}", self.columns.get(at).copied().unwrap_or_default())
    }

    pub fn text(&self, at: usize) -> String {
        self.get(at).to_owned()
    }

    pub fn count(&self, at: usize) -> Result<u64, String> {
        self.get(at).parse().map_err(|_| self.bad(at, "a count"))
    }

    pub fn number(&self, at: usize) -> Result<f64, String> {
        let value = self.get(at).parse::<f64>().ok().filter(|value| value.is_finite());
        value.ok_or_else(|| self.bad(at, "a number"))
    }

    /// The figures that are measured, by name; what is not known is not in it.
    pub fn figures(&self) -> Result<BTreeMap<String, f64>, String> {
        let mut found = BTreeMap::new();
        for (at, name) in self.figures {
            found.extend(self.number_if_any(*at)?.map(|value| ((*name).to_owned(), value)));
        }
        Ok(found)
    }

    pub fn count_if_any(&self, at: usize) -> Result<Option<u64>, String> {
        if self.get(at).is_empty() { Ok(None) } else { self.count(at).map(Some) }
    }

    pub fn number_if_any(&self, at: usize) -> Result<Option<f64>, String> {
        if self.get(at).is_empty() { Ok(None) } else { self.number(at).map(Some) }
    }
}
