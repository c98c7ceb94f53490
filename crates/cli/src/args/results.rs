//! The arguments of what puts runs into figures, tables and other programs.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::builder::{PossibleValue, PossibleValuesParser};
use cosmark_report::export::FORMATS;
use cosmark_report::plot::{KINDS, drawn};

/// The formats of exports.
fn export_formats() -> impl clap::builder::TypedValueParser<Value = String> {
    PossibleValuesParser::new(FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.what)))
}

/// `cosmark export`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark export last --format csv -o last.csv
  cosmark export w12 --format warp -o w12.csv.zst && warp analyze w12.csv.zst
  cosmark export w12 --format influx | influx write --bucket bench")]
pub struct ExportArgs {
    /// Run: a directory, its number (12 or w12), `last` or `baseline`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// What to write
    #[arg(long, value_name = "FORMAT", value_parser = export_formats())]
    pub format: String,
    /// Write here instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Archive to look for the run in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
}

/// The kinds of pictures, with what they show.
fn plot_kinds() -> impl clap::builder::TypedValueParser<Value = String> {
    PossibleValuesParser::new(KINDS.iter().map(|kind| PossibleValue::new(kind.name).help(kind.what)))
}

/// The values that can be drawn.
fn plot_metrics() -> impl clap::builder::TypedValueParser<Value = String> {
    PossibleValuesParser::new(
        drawn().map(|metric| PossibleValue::new(metric.names.plot).alias(metric.column).help(metric.title)),
    )
}

/// `cosmark plot`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark plot last                                     everything that the last run shows
  cosmark plot w4 w5 --kind cdf --op read               two runs in one frame
  cosmark plot ceph=w4,w5 swift=w18,w21 --kind maximum  two systems, workloads matched by position
  cosmark plot /data/cosbench/archive/w3-mix --kind timeline --metric response --format svg,png

RUN is a directory of a run, its number (12 or w12), `last` or `baseline`; NAME=RUN names it in the pictures,
NAME=RUN,RUN joins several runs to one series. A name of a stage may have * for any text.")]
pub struct PlotArgs {
    /// Runs to draw: [NAME=]RUN[,RUN..]
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Kinds of pictures; default: all for which there is something to draw
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',', value_parser = plot_kinds())]
    pub kinds: Vec<String>,
    /// Values to draw; default: what suits the kind
    #[arg(long = "metric", value_name = "METRIC", value_delimiter = ',', value_parser = plot_metrics())]
    pub metrics: Vec<String>,
    /// Stages, e.g. main or 'w*_c20_*'; what the stars stand for becomes the label
    #[arg(long = "stage", value_name = "NAME")]
    pub stages: Vec<String>,
    /// Operations by name or by what they do; default: all but preparing and cleaning up
    #[arg(long = "op", value_name = "NAME", value_delimiter = ',')]
    pub operations: Vec<String>,
    /// Directory for the pictures
    #[arg(long, short, value_name = "DIR", default_value = "plots")]
    pub output: PathBuf,
    /// File formats
    #[arg(long = "format", value_name = "FORMAT", value_delimiter = ',', default_value = "svg")]
    pub formats: Vec<PictureFormat>,
    /// Leave out the thin line of measured values behind a fitted curve
    #[arg(long)]
    pub only_fit: bool,
    /// Leave out titles, for papers that have captions
    #[arg(long)]
    pub no_title: bool,
    /// Archive to look for runs in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
}

/// How a picture is written.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PictureFormat {
    /// Vector graphics, for papers
    Svg,
    /// 300 dots per inch at a width of 18 cm
    Png,
}

/// How a comparison is written.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CompareFormat {
    /// For the terminal
    Table,
    /// For a pull request or a wiki
    Markdown,
    /// For programs
    Json,
    /// For CI systems
    Junit,
}

/// `cosmark compare`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark compare w3 w4
  cosmark compare w3,w5,w7 w4,w6,w8            repetitions, made in turns
  cosmark compare old/w12-mixed new/w1-mixed --fail-on \"p95 +5%\" --fail-on \"throughput -5%\"

A run is a directory, of Cosmark or of COSBench, its number (12 or w12) in the archive, `last` or `baseline`.")]
pub struct CompareArgs {
    /// The first is compared with each other one; several runs of one side are joined by commas
    #[arg(value_name = "RUN[,RUN..]", required = true, num_args = 2..)]
    pub runs: Vec<String>,
    /// Archive to look for ids in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// How to write it
    #[arg(long, value_enum, default_value = "table")]
    pub format: CompareFormat,
    /// Exit with 6 when a metric has certainly changed, and by more than this, e.g. \"p95 +5%\"; with 8 when that could not
    /// be tested; may be repeated
    #[arg(long, value_name = "METRIC CHANGE")]
    pub fail_on: Vec<String>,
    /// Exit with 0 also where a condition of --fail-on could not be tested
    #[arg(long, requires = "fail_on")]
    pub allow_untested: bool,
    /// Show every value relative to the first side as well
    #[arg(long)]
    pub normalised: bool,
    /// Per cent: how surely all intervals hold together
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0)]
    pub confidence: f64,
    /// Per cent: smaller differences are not called differences
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub least: f64,
    /// Per cent: the difference that the recommended run length is for
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    pub effect: f64,
}
