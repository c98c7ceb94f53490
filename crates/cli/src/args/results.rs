//! The arguments of what puts runs into figures, tables and other programs, and makes runs of what others measured.

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
  cosmark plot a=w1,w3,w5 b=w2,w4,w6 --kind compare     repetitions: means with their intervals
  cosmark plot w7 --kind knee,ccdf --format pdf,csv,tex --width 8.5cm --font-size 8 --ylim 0..50
  cosmark plot /data/cosbench/archive/w3-mix --kind timeline --metric response --format svg,png

RUN is a directory of a run, its number (12 or w12), `last` or `baseline`; NAME=RUN names it in the pictures, \
NAME=RUN,RUN joins several runs to one series: runs of the same workload are repetitions and become their mean with a 95 % \
interval. In the name of a stage, * stands for any text. A kind without data is reported and does not stop the others.")]
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
    /// Archive to look for the runs in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    #[command(flatten)]
    pub look: LookArgs,
}

/// How pictures look on paper.
#[derive(ClapArgs)]
#[command(next_help_heading = "On paper")]
pub struct LookArgs {
    /// Width, e.g. 8.5cm, 85mm, 3.5in, 240pt: as wide as a column, so that nothing is scaled
    #[arg(long, value_name = "LENGTH", default_value = "18cm", value_parser = centimetres)]
    pub width: f64,
    /// Size of the text in points; default: 9.2, below a width of 12 cm 8
    #[arg(long, value_name = "PT", value_parser = points)]
    pub font_size: Option<f64>,
    /// Font of all text, a file .ttf or .otf; once more for its bold face
    #[arg(long = "font", value_name = "FILE")]
    pub fonts: Vec<PathBuf>,
    /// Dots per inch of PNG
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u16).range(36..=2400))]
    pub dpi: u16,
    /// Axes in decades: x, y or x,y
    #[arg(long = "log", value_name = "AXES", value_delimiter = ',')]
    pub logs: Vec<AxisName>,
    /// Axes in even steps: x, y or x,y
    #[arg(long = "linear", value_name = "AXES", value_delimiter = ',')]
    pub linears: Vec<AxisName>,
    /// Where the horizontal axis begins and ends, in its unit: 0..20, 5.. or ..20
    #[arg(long, value_name = "FROM..TO", value_parser = bounds, allow_hyphen_values = true)]
    pub xlim: Option<Bounds>,
    /// The same for the vertical axis, or the left one of two
    #[arg(long, value_name = "FROM..TO", value_parser = bounds, allow_hyphen_values = true)]
    pub ylim: Option<Bounds>,
    /// Text beside the horizontal axis
    #[arg(long, value_name = "TEXT")]
    pub xlabel: Option<String>,
    /// Text beside the vertical axis
    #[arg(long, value_name = "TEXT")]
    pub ylabel: Option<String>,
    /// Title of every picture
    #[arg(long, value_name = "TEXT", conflicts_with = "no_title")]
    pub title: Option<String>,
    /// Leave out titles, for papers that have captions
    #[arg(long)]
    pub no_title: bool,
}

/// An axis.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum AxisName {
    /// The horizontal one
    X,
    /// The vertical one
    Y,
}

/// Both ends of an axis.
pub type Bounds = (Option<f64>, Option<f64>);

fn finite(text: &str) -> Result<f64, String> {
    let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    value.ok_or_else(|| format!("`{text}` is not a number"))
}

fn centimetres(text: &str) -> Result<f64, String> {
    let units = [("cm", 1.0), ("mm", 0.1), ("in", 2.54), ("pt", 2.54 / 72.0)];
    let found = units.iter().find_map(|(unit, cm)| Some((text.strip_suffix(unit)?, cm)));
    let (number, cm) =
        found.ok_or_else(|| "give a length with its unit, such as 8.5cm, 85mm, 3.5in or 240pt".to_owned())?;
    let width = finite(number)? * cm;
    if (2.0..=200.0).contains(&width) { Ok(width) } else { Err("give 2cm to 200cm".to_owned()) }
}

fn points(text: &str) -> Result<f64, String> {
    let size = finite(text.strip_suffix("pt").unwrap_or(text))?;
    if (3.0..=72.0).contains(&size) { Ok(size) } else { Err("give 3 to 72 points".to_owned()) }
}

fn bounds(text: &str) -> Result<Bounds, String> {
    let (from, to) =
        text.split_once("..").ok_or_else(|| "give FROM..TO, such as 0..20, 5.. or ..20".to_owned())?;
    let end = |text: &str| if text.trim().is_empty() { Ok(None) } else { finite(text).map(Some) };
    let (from, to) = (end(from)?, end(to)?);
    match (from, to) {
        (None, None) => Err("give one end at least, such as ..20".to_owned()),
        (Some(from), Some(to)) if from >= to => Err(format!("{from} is not below {to}")),
        ends => Ok(ends),
    }
}

/// How a picture is written.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PictureFormat {
    /// Vector graphics, for browsers and drawing programs
    Svg,
    /// Vector graphics, for LaTeX
    Pdf,
    /// Pixels, as many as --dpi and --width make
    Png,
    /// What the picture shows, as numbers
    Csv,
    /// The same as a table in Markdown, where it is small enough
    Md,
    /// The same as a table for LaTeX, where it is small enough
    Tex,
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
  cosmark compare last-1 last                  the newest run and the one before it
  cosmark compare w3,w5,w7 w4,w6,w8            repetitions, made in turns
  cosmark compare old/w12-mixed new/w1-mixed --fail-on \"p95 +5%\" --fail-on \"throughput -5%\"

A run is a directory, of Cosmark or of COSBench, its number (12 or w12) in the archive, `last`, `last-1` (the one before) or \
`baseline`. Runs with faults get a table of what these cost as well, a column for each run.")]
pub struct CompareArgs {
    /// Each other run is compared with the first; join the repetitions of one side by commas
    #[arg(value_name = "RUN[,RUN..]", required = true, num_args = 2..)]
    pub runs: Vec<String>,
    /// Archive to look for the runs in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// How to write it
    #[arg(long, value_enum, default_value = "table")]
    pub format: CompareFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Exit with 6 when a metric has certainly changed, and by more than this, e.g. "p95 +5%"; with 8 when that could not
    /// be tested; may be repeated
    #[arg(long, value_name = "METRIC CHANGE")]
    pub fail_on: Vec<String>,
    /// Exit with 0 also where a condition of --fail-on could not be tested
    #[arg(long, requires = "fail_on")]
    pub allow_untested: bool,
    /// Show every value relative to the first side as well
    #[arg(long)]
    pub normalised: bool,
    /// Confidence of all intervals together, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0)]
    pub confidence: f64,
    /// Smallest difference, in percent, that is called a difference
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub least: f64,
    /// Difference, in percent, that a run of the recommended length can find
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    pub effect: f64,
}

/// `cosmark import`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  fio --output-format=json+ --output=disk.json --write_iops_log=disk --log_avg_msec=1000 job.fio
  cosmark import disk.json --iops-log disk_iops.1.log
  cosmark import raw.json && cosmark import rbd.json && cosmark compare w1 w2

From json+ the histogram of all times is imported, from json the percentiles that fio printed. A log of rates gives the rate over \
time, from which the verdict sees whether it was steady. Archives of COSBench need no import: name their directory.")]
pub struct ImportArgs {
    /// What fio 3 printed with --output-format=json or json+
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Log of rates of a job (--write_iops_log with --log_avg_msec); several in the order of the jobs
    #[arg(long, value_name = "FILE")]
    pub iops_log: Vec<PathBuf>,
    /// Memory of the machine that fio ran on, such as 64GiB, to judge whether data came from its page cache
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Name of its stage; default: that of the job. Stages of one name are compared, also with those of an object store
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// Name of the run; default: that of the file
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Archive: the directory of the results
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// Do not write report.html at the end
    #[arg(long)]
    pub no_report: bool,
}
