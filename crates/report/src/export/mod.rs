//! Runs for other programs. Each format is a row of [`FORMATS`]; metrics that go out live while a run lasts have the
//! same names and the same encoders ([`point`], [`encode`]).

mod consistency;
pub mod encode;
mod events;
mod faults;
mod fill;
mod history;
mod influx;
pub mod point;
mod run_points;
mod tidy;
mod time;
mod warp;

use std::collections::BTreeMap;
use std::io::{self, Write};

use cosmark_archive::{ArchiveError, OperationResult, Run, RunState, open_file};

pub use run_points::run_points;

/// A format.
pub struct Format {
    /// What the user types.
    pub name: &'static str,
    /// What it is, and who reads it.
    pub what: &'static str,
    /// Ending of a file of this format.
    pub ending: &'static str,
    /// True where it is not text.
    pub binary: bool,
    write: fn(&Run, &mut dyn Write) -> Result<(), ExportError>,
}

/// Every format.
pub const FORMATS: &[Format] = &[
    Format {
        name: "csv",
        what: "one tidy table (RFC 4180) of all results and intervals, for spreadsheets, R and pandas",
        ending: "csv",
        binary: false,
        write: tidy::csv,
    },
    Format {
        name: "json",
        what: "run.json with the timelines of its stages in one document",
        ending: "json",
        binary: false,
        write: tidy::json,
    },
    Format {
        name: "hlog",
        what: "the HdrHistogram log, for HdrHistogram's tools",
        ending: "hlog",
        binary: false,
        write: |run, out| copy(run, "histograms.hlog", "it was not written", out),
    },
    Format {
        name: "prometheus",
        what: "Prometheus text format, for node_exporter's textfile collector and the Pushgateway",
        ending: "prom",
        binary: false,
        write: |run, out| Ok(out.write_all(encode::prometheus(&run_points(run)?).as_bytes())?),
    },
    Format {
        name: "openmetrics",
        what: "OpenMetrics 1.0 with time stamps, for `promtool tsdb create-blocks-from openmetrics`",
        ending: "om",
        binary: false,
        write: |run, out| {
            let end = run_points::end_ns(run);
            Ok(out.write_all(encode::openmetrics(&run_points(run)?, end).as_bytes())?)
        },
    },
    Format {
        name: "otel",
        what: "OpenTelemetry metrics as OTLP/JSON, for the collector's file receiver",
        ending: "json",
        binary: false,
        write: |run, out| {
            let (start, end) = (run_points::start_ns(run), run_points::end_ns(run));
            let text = encode::otlp_json(&run_points(run)?, start, end, &run.record.cosmark).to_string();
            out.write_all(text.as_bytes())?;
            Ok(out.write_all(b"\n")?)
        },
    },
    Format {
        name: "influx",
        what: "InfluxDB line protocol: one line per interval and operation, and the results",
        ending: "lp",
        binary: false,
        write: influx::lines,
    },
    Format {
        name: "warp",
        what: "the operations as warp's csv.zst, for `warp analyze` (needs --oplog)",
        ending: "csv.zst",
        binary: true,
        write: warp::operations,
    },
    Format {
        name: "parquet",
        what: "the operation log, for DuckDB, pandas and Spark (needs --oplog)",
        ending: "parquet",
        binary: true,
        write: |run, out| {
            let remedy = without_table(run, "operations", NO_OPLOG);
            copy(run, "operations.parquet", &remedy, out)
        },
    },
    Format {
        name: "events",
        what: "what happened and when as a table (RFC 4180): stages, drivers, faults, notes of people",
        ending: "csv",
        binary: false,
        write: events::table,
    },
    Format {
        name: "faults",
        what: "what faults cost as a table (RFC 4180): every figure of every slot, and means with intervals (needs faults:)",
        ending: "csv",
        binary: false,
        write: faults::table,
    },
    Format {
        name: "consistency",
        what: "how soon writes were seen beside the load, by time since the acknowledgement, as a table (needs consistency:)",
        ending: "csv",
        binary: false,
        write: consistency::table,
    },
    Format {
        name: "history-edn",
        what: "what the probers beside the load did and saw as Jepsen's EDN, for Knossos (needs consistency:)",
        ending: "edn",
        binary: false,
        write: history::jepsen,
    },
    Format {
        name: "history-jsonl",
        what: "the same as JSON lines of Porcupine's operations (needs consistency:)",
        ending: "jsonl",
        binary: false,
        write: history::porcupine,
    },
    Format {
        name: "probes",
        what: "the same as a table (RFC 4180), with the error of each driver's clock (needs consistency:)",
        ending: "csv",
        binary: false,
        write: |run, out| {
            let remedy = "run with consistency: in the workload (docs/guide/consistency.md)";
            copy(run, "probes.csv", remedy, out)
        },
    },
    Format {
        name: "fill",
        what: "the rate of passes over data sets by the objects stored, as a table (needs fill:)",
        ending: "csv",
        binary: false,
        write: fill::table,
    },
    Format {
        name: "time",
        what: "what response times went into (waiting, connecting, TLS, sending, first byte, body) by operation and size, as a table",
        ending: "csv",
        binary: false,
        write: time::table,
    },
    Format {
        name: "nodes",
        what: "every reading of the store's machines as Parquet (needs nodes:)",
        ending: "parquet",
        binary: true,
        write: |run, out| {
            let remedy = without_table(run, "nodes", "list the store's machines under nodes:");
            copy(run, "nodes.parquet", &remedy, out)
        },
    },
];

/// Endings of other formats that a format may have all the same: one document in one line is a file of JSON lines.
const ALSO: &[(&str, &str)] = &[("otel", "jsonl")];

/// A run could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The archive could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The output could not be written.
    #[error("cannot write: {0}; check the disk, or give another file with --output")]
    Output(#[from] io::Error),
    /// The run lacks what the format needs.
    #[error("{what} is not in this run; {remedy}")]
    Missing {
        /// What.
        what: String,
        /// What to do.
        remedy: String,
    },
}

impl Format {
    /// The format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Whether it gives times of the histogram log: where this is not whole, neither are they.
    #[must_use]
    pub fn reads_times(&self) -> bool {
        matches!(self.name, "hlog" | "prometheus" | "openmetrics" | "otel" | "influx")
    }

    /// The ending by which a file of this name says that it is of another format; `None` where it says nothing of the kind.
    #[must_use]
    pub fn belied_by(&self, file_name: &str) -> Option<&'static str> {
        let name = file_name.to_ascii_lowercase();
        let has = |ending: &&str| name.strip_suffix(*ending).is_some_and(|rest| rest.ends_with('.'));
        // What ends in `.csv.zst` is no other format that ends in a part of it.
        let endings = FORMATS.iter().map(|format| format.ending).filter(has);
        let ending = endings.max_by_key(|ending| ending.len())?;
        (ending != self.ending && !ALSO.contains(&(self.name, ending))).then_some(ending)
    }

    /// Writes the run.
    ///
    /// # Errors
    /// When the archive lacks or damaged what the format needs, or the output fails.
    pub fn write(&self, run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
        (self.write)(run, out).map_err(|error| match (error, &run.record.made_by) {
            (ExportError::Missing { what, .. }, Some(program)) => {
                let remedy = format!(
                    "{program} leaves nothing of the kind: csv and json have its tables and timelines"
                );
                ExportError::Missing { what, remedy }
            }
            (error, _) => error,
        })
    }
}

/// What is to be done where a run logged no operations.
const NO_OPLOG: &str = "run again with --oplog";

/// Why a table `STEM.parquet` is not there, or what to do; `none` = what, where the run was to have none.
fn without_table(run: &Run, stem: &str, none: &str) -> String {
    let is_on = run.record.state == RunState::Running;
    let was_cut = run.record.stages.iter().any(|stage| stage.cut_s.is_some());
    match run.parts_of(stem) {
        (true, _) if is_on => format!(
            "it will be when the run has ended: until then its closed parts {stem}.part-*.parquet can be read"
        ),
        (true, _) => {
            format!("it was not put together, but its closed parts {stem}.part-*.parquet can be read")
        }
        (false, true) if is_on => {
            "it will be: the run goes on, and its first part is closed when it is full or a minute old"
                .to_owned()
        }
        (false, true) => {
            "the run was killed before its first part was closed, which is when that is full or a minute old"
                .to_owned()
        }
        (false, false) if is_on => format!("the run goes on and has none yet: {none}, unless that was done"),
        (false, false) if was_cut => {
            format!("{none}; of a run that is killed in its first minute no part of it is kept")
        }
        (false, false) => none.to_owned(),
    }
}

/// When the load of each stage began, in ns since 1970, by the id of the stage.
fn began_ns(run: &Run) -> BTreeMap<&str, i128> {
    let stages = run.record.stages.iter();
    stages.filter_map(|stage| Some((stage.id.as_str(), stage.load_started?.as_nanosecond()))).collect()
}

/// What tells an operation from all of its stage; of COSBench's runs operations have no ids.
fn id_of(op: &OperationResult) -> &str {
    if op.id.is_empty() { &op.tag } else { &op.id }
}

fn copy(run: &Run, file: &str, remedy: &str, out: &mut dyn Write) -> Result<(), ExportError> {
    let path = run.path.join(file);
    if !path.is_file() {
        return Err(ExportError::Missing { what: file.to_owned(), remedy: remedy.to_owned() });
    }
    // Whoever may look at the runs of a controller gets what is copied here.
    let mut from = open_file(&path).map_err(|source| ArchiveError::Io { action: "read", path, source })?;
    io::copy(&mut from, out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_says_another_format_is_found_and_no_other() {
        for format in FORMATS {
            for other in FORMATS {
                let is_wrong =
                    other.ending != format.ending && (format.name, other.ending) != ("otel", "jsonl");
                for name in [format!("w1.{}", other.ending), format!("W1.{}", other.ending.to_uppercase())] {
                    let found = format.belied_by(&name);
                    assert_eq!(found, is_wrong.then_some(other.ending), "{} as {name}", format.name);
                }
            }
            for name in ["w1", "csv", "w1.txt", "w1.csv.gz", "w1.", "", ".parquet.bak", "w1xcsv"] {
                assert_eq!(format.belied_by(name), None, "{} as {name}", format.name);
            }
        }
    }
}
