//! Pictures for papers from archives of ours and of COSBench: SVG, PDF and PNG, their data as text, legible in print and in shades of grey. Each
//! kind of picture is a row of [`KINDS`], each value that can be drawn a row of the table of figures.
//!
//! The first five kinds are those of cosbench-plot (ICCLab), which users of COSBench know.

pub mod chart;
mod data;
mod draw;
mod fit;
mod kinds;
pub mod metric;
mod pattern;
#[cfg(feature = "raster")]
mod pdf;
#[cfg(feature = "raster")]
mod png;
mod repeats;
mod scale;
mod source;
mod svg;
mod table;
#[cfg_attr(not(feature = "raster"), expect(dead_code, reason = "without the renderer no font is read"))]
mod typeface;
#[cfg(not(feature = "raster"))]
mod undrawn;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use cosmark_archive::ArchiveError;
use cosmark_metrics::results::Metric;

pub use draw::Sheet;
pub use metric::{drawn, named, of_interval};
#[cfg(feature = "raster")]
pub use png::{png, typeface_of};
pub use source::{Distribution, PlotOperation, PlotRun, PlotStage, each_once};
pub use typeface::Typeface;
#[cfg(not(feature = "raster"))]
pub use undrawn::png::typeface_of;

use chart::Chart;
use table::TextTable;
#[cfg(not(feature = "raster"))]
use undrawn::{pdf, png};

/// More pictures than this nobody looks at; filters make it fewer.
pub const MOST_PICTURES: usize = 400;

/// A kind of picture.
pub struct Kind {
    /// What the user types.
    pub name: &'static str,
    /// What it shows.
    pub what: &'static str,
    draw: fn(&[PlotRun], &Wishes) -> Result<Vec<Picture>, PlotError>,
}

/// Every kind of picture.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "timeline",
        what: "one picture per stage, operation and metric: values over time, thin as measured, bold as fitted",
        draw: kinds::timeline,
    },
    Kind {
        name: "aggregate",
        what: "all stages of all runs over time in one picture per operation and metric",
        draw: kinds::aggregate,
    },
    Kind {
        name: "histogram",
        what: "response times in buckets, with their share up to each bucket",
        draw: kinds::histogram,
    },
    Kind {
        name: "maximum",
        what: "the best stage of each workload, with the number of workers that reached it",
        draw: kinds::maximum,
    },
    Kind { name: "scatter", what: "one dot per stage, one column per run", draw: kinds::scatter },
    Kind {
        name: "cdf",
        what: "response times of all runs on an axis of percentiles, which shows the tail",
        draw: kinds::cdf,
    },
    Kind {
        name: "workers",
        what: "throughput and a percentile of the response time against the number of workers",
        draw: kinds::workers,
    },
    Kind { name: "compare", what: "bars per operation, the first run = 1.0", draw: kinds::compare },
    Kind { name: "ecdf", what: "share of operations that took no longer, against time", draw: kinds::ecdf },
    Kind {
        name: "ccdf",
        what: "share of operations that took longer, against time, both on log axes: the tail",
        draw: kinds::ccdf,
    },
    Kind { name: "heat", what: "heat map: how many operations took how long when", draw: kinds::heat },
    Kind {
        name: "sizes",
        what: "response times by size of object: median, and up to the 99th percentile",
        draw: kinds::sizes,
    },
    Kind {
        name: "violin",
        what: "the shape of response times on a log axis, by operation and by size of object: the wider, the more operations",
        draw: kinds::violin,
    },
    Kind {
        name: "time",
        what: "what mean response times went into, as stacked bars in units of time and as shares: by operation, size and run",
        draw: kinds::time,
    },
    Kind {
        name: "knee",
        what: "a percentile of the response time against throughput, load by load",
        draw: kinds::knee,
    },
    Kind {
        name: "nodes",
        what: "what was used of processors and disks of the store's machines over the run, one picture per machine (needs nodes:)",
        draw: kinds::nodes,
    },
    Kind {
        name: "faults",
        what: "what faults cost: one picture per fault with the rates of all stores, and one table of all (needs faults:)",
        draw: kinds::faults,
    },
    Kind { name: "percentiles", what: "table of percentiles, also as CSV", draw: kinds::percentiles },
];

/// What the user wants to see.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// Values to draw; empty = what suits the kind.
    pub metrics: Vec<&'static Metric>,
    /// Names of stages with `*` for any text; empty = all. What the stars stand for becomes the label.
    pub stages: Vec<String>,
    /// Operations by name or by what they do; empty = all but preparing and cleaning up.
    pub operations: Vec<String>,
    /// Leave out the thin line of measured values.
    pub only_fit: bool,
    /// Leave out the title, for papers that have captions.
    pub no_title: bool,
    /// In the place of every title.
    pub title: Option<String>,
    /// For all words, in the place of our own.
    pub typeface: Option<Arc<Typeface>>,
    /// The horizontal axis.
    pub x: AxisWish,
    /// The vertical one, where there are two the left one.
    pub y: AxisWish,
}

/// What the user wants of an axis. Names and shares in nines stay as they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AxisWish {
    /// Decades (true), or even steps (false).
    pub log: Option<bool>,
    /// Where it begins and ends, in the unit that the axis shows.
    pub bounds: (Option<f64>, Option<f64>),
    /// What stands beside it.
    pub label: Option<String>,
}

impl AxisWish {
    fn apply(&self, axis: &mut chart::Axis) {
        if matches!(axis.scale, chart::Scale::FromZero | chart::Scale::Log) {
            // What begins below 0 has no decades.
            let has_decades = axis.bounds.0.is_none_or(|from| from >= 0.0);
            let ((from, to), own) = (self.bounds, axis.bounds);
            axis.scale = match self.log {
                Some(true) if has_decades => chart::Scale::Log,
                Some(false) => chart::Scale::FromZero,
                // Nor has what is to show a 0, whatever the picture would have by itself.
                None if from.into_iter().chain(to).any(|end| end <= 0.0) => chart::Scale::FromZero,
                _ => axis.scale.clone(),
            };
            axis.bounds = (from.or(own.0), to.or(own.1));
            if to.is_some() {
                axis.at_least = None;
            }
        }
        if let Some(label) = &self.label {
            axis.label.clone_from(label);
        }
    }
}

/// A picture, not yet drawn.
#[derive(Debug, Clone)]
pub struct Picture {
    /// Name of its file, without ending.
    pub name: String,
    /// The same as a table (RFC 4180), where that says more than the picture.
    pub csv: Option<String>,
    /// What it shows, where that is more than the points of its chart.
    shown: Option<Shown>,
    typeface: Option<Arc<Typeface>>,
    body: Body,
}

/// What a picture shows, for programs (RFC 4180) and for people.
#[derive(Debug, Clone)]
struct Shown {
    csv: String,
    table: TextTable,
}

#[derive(Debug, Clone)]
enum Body {
    Chart(Box<Chart>),
    Table(TextTable),
}

/// A picture could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// An archive could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The runs lack what was asked for.
    #[error("nothing to draw: {0}")]
    Nothing(String),
    /// Too many pictures.
    #[error("{0} pictures are more than {MOST_PICTURES}; choose with --kind, --metric, --stage or --op")]
    TooMany(usize),
    /// What was to be the typeface is none.
    #[error("{0}")]
    Typeface(String),
    /// This program was built without the renderer.
    #[error(
        "this binary was built without pictures as {0} (`make build` makes one with them); --format svg needs nothing"
    )]
    NoRenderer(&'static str),
    /// The renderer refused our own drawing.
    #[error("the picture {name} could not be drawn: {problem}; report this as a bug, the SVG is good")]
    Render {
        /// Which picture.
        name: String,
        /// What it said.
        problem: String,
    },
    /// Neither an archive of ours nor one of COSBench.
    #[error("{}: neither run.json nor a result table of COSBench; give the directory of one run", .0.display())]
    NotARun(PathBuf),
}

impl Picture {
    fn chart(name: String, chart: Chart) -> Self {
        Self { name: safe(&name), csv: None, shown: None, typeface: None, body: Body::Chart(Box::new(chart)) }
    }

    fn table(name: String, table: TextTable, csv: String) -> Self {
        Self { name, csv: Some(csv), shown: None, typeface: None, body: Body::Table(table) }
    }

    /// As SVG 1.1, the same bytes for the same runs.
    #[must_use]
    pub fn svg(&self, sheet: Sheet) -> String {
        let svg = match &self.body {
            Body::Chart(chart) => draw::draw(chart, sheet),
            Body::Table(table) => table::draw(table, sheet),
        };
        match &self.typeface {
            Some(typeface) => typeface.set(&svg),
            None => svg,
        }
    }

    /// Size of the text of a table that is too wide for the sheet with the sheet's own, pt; `None` where it fits.
    #[must_use]
    pub fn smaller_text_pt(&self, sheet: Sheet) -> Option<f64> {
        let Body::Table(table) = &self.body else { return None };
        Some(table::text_pt(table, sheet)).filter(|size_pt| *size_pt < 0.99 * sheet.text_pt())
    }

    /// As PNG with so many dots per inch.
    ///
    /// # Errors
    /// When that is too large.
    pub fn png(&self, sheet: Sheet, dpi: f32) -> Result<Vec<u8>, PlotError> {
        png::png_in(&self.name, &self.svg(sheet), self.typeface.as_deref(), dpi)
    }

    /// As PDF of one page, words as outlines.
    ///
    /// # Errors
    /// When the renderer refuses the drawing.
    pub fn pdf(&self, sheet: Sheet) -> Result<Vec<u8>, PlotError> {
        let title = match &self.body {
            Body::Chart(chart) => &chart.title,
            Body::Table(table) => &table.title,
        };
        pdf::pdf(&self.name, title, &self.svg(sheet), self.typeface.as_deref())
    }

    /// The signs of its words that no font has: boxes stand for them in PNG and PDF.
    #[must_use]
    pub fn shapeless(&self, sheet: Sheet) -> BTreeSet<char> {
        let svg = self.svg(sheet);
        let texts = svg.split("<text").skip(1).filter_map(|rest| rest.split_once('>')?.1.split_once('<'));
        let own = texts.flat_map(|(text, _)| text.chars());
        let signs =
            own.filter(|sign| !sign.is_ascii() && !sign.is_whitespace() && !sign.is_control()).collect();
        png::shapeless(&signs, self.typeface.as_deref())
    }

    /// What it shows, as CSV.
    #[must_use]
    pub fn data(&self) -> String {
        match (self.csv.as_ref().or(self.shown.as_ref().map(|shown| &shown.csv)), &self.body) {
            (Some(csv), _) => csv.clone(),
            (None, Body::Chart(chart)) => data::csv(chart),
            (None, Body::Table(_)) => String::new(),
        }
    }

    fn as_table(&self) -> Option<TextTable> {
        match (self.shown.as_ref().map(|shown| &shown.table), &self.body) {
            (Some(table), _) | (None, Body::Table(table)) => Some(table.clone()),
            (None, Body::Chart(chart)) => data::table(chart),
        }
    }

    /// As a table in Markdown; `None` where it shows too many values for one.
    #[must_use]
    pub fn markdown(&self) -> Option<String> {
        self.as_table().as_ref().map(data::markdown)
    }

    /// As a table for LaTeX; `None` where it shows too many values for one.
    #[must_use]
    pub fn latex(&self) -> Option<String> {
        self.as_table().as_ref().map(data::latex)
    }
}

/// Pictures, and what could not be drawn.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// The pictures.
    pub pictures: Vec<Picture>,
    /// Of each kind that was named and has nothing to show: why.
    pub left_out: Vec<String>,
}

/// A chart as SVG 1.1, the same bytes for the same chart.
#[must_use]
pub fn chart_svg(chart: &Chart) -> String {
    draw::draw(chart, Sheet::default())
}

/// Makes the pictures of `kinds` (names of [`KINDS`]; empty = all for which there is something to draw).
///
/// # Errors
/// When an archive is damaged, no kind finds something to draw, or there would be too many pictures.
pub fn pictures(runs: &[PlotRun], kinds: &[&str], wishes: &Wishes) -> Result<Drawn, PlotError> {
    let mut all = Vec::new();
    let mut left_out = Vec::new();
    for kind in KINDS {
        let asked = kinds.contains(&kind.name);
        if !asked && !kinds.is_empty() {
            continue;
        }
        match (kind.draw)(runs, wishes) {
            Ok(pictures) => all.extend(pictures),
            Err(PlotError::Nothing(why)) if asked => left_out.push(format!("{}: {why}", kind.name)),
            Err(PlotError::Nothing(_)) => {}
            Err(error) => return Err(error),
        }
        if all.len() > MOST_PICTURES {
            return Err(PlotError::TooMany(all.len()));
        }
    }
    if all.is_empty() {
        let why = if left_out.is_empty() { kinds::why_nothing(runs, wishes) } else { left_out.join("; ") };
        return Err(PlotError::Nothing(why));
    }
    tell_apart(&mut all);
    for picture in &mut all {
        picture.typeface.clone_from(&wishes.typeface);
        if let Body::Chart(chart) = &mut picture.body {
            wishes.x.apply(&mut chart.x);
            let is_sum = chart.series.iter().any(|series| series.mark == chart::Mark::Stacked);
            // Parts add up on an even axis only.
            let own = &wishes.y;
            AxisWish { log: own.log.filter(|_| !is_sum), ..own.clone() }.apply(&mut chart.left);
        }
    }
    Ok(Drawn { pictures: all, left_out })
}

/// Two names that became the same get a number, and none of them the name of a third.
fn tell_apart(pictures: &mut [Picture]) {
    let mut taken = BTreeSet::<String>::new();
    for picture in pictures {
        let mut name = picture.name.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{}-{number}", picture.name);
        }
        picture.name = name;
    }
}

/// The most of a name: file systems take 255 bytes, with a number, an ending and what is added while the file is written.
const MOST_SIGNS: usize = 120;
const MOST_BYTES: usize = 200;

/// A name for a file: letters, digits, `.`, `_`, `-`.
fn safe(name: &str) -> String {
    let stays = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    let mut safe = String::new();
    for sign in name.chars().take(MOST_SIGNS).map(stays) {
        if safe.len() + sign.len_utf8() > MOST_BYTES {
            break;
        }
        safe.push(sign);
    }
    safe.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_nobody_asked_for_stays_where_the_picture_has_it() {
        let own =
            chart::Axis { bounds: (Some(-30.0), Some(90.0)), ..chart::Axis::new("", chart::Scale::FromZero) };
        for (wish, bounds) in [
            ((None, Some(60.0)), (Some(-30.0), Some(60.0))),
            ((Some(-10.0), None), (Some(-10.0), Some(90.0))),
            ((None, None), own.bounds),
        ] {
            let mut axis = own.clone();
            AxisWish { log: Some(true), bounds: wish, label: None }.apply(&mut axis);
            assert_eq!((axis.bounds, axis.scale), (bounds, chart::Scale::FromZero), "{wish:?}");
        }
        // The end of a share is that of its whole, however little succeeded.
        for (wish, at_least) in [((Some(20.0), None), Some(100.0)), ((None, Some(60.0)), None)] {
            let mut share =
                chart::Axis { at_least: Some(100.0), ..chart::Axis::new("", chart::Scale::FromZero) };
            AxisWish { bounds: wish, ..AxisWish::default() }.apply(&mut share);
            assert_eq!((share.bounds, share.at_least), (wish, at_least));
        }
        let mut plain = chart::Axis::new("", chart::Scale::FromZero);
        AxisWish { log: Some(true), bounds: (None, Some(60.0)), label: None }.apply(&mut plain);
        assert_eq!((plain.bounds, plain.scale), ((None, Some(60.0)), chart::Scale::Log));
    }

    #[test]
    fn an_axis_that_is_to_show_0_has_even_steps() {
        for (bounds, is_log) in [
            ((Some(0.0), Some(50.0)), false),
            ((Some(-5.0), None), false),
            ((None, Some(0.0)), false),
            ((Some(0.5), Some(50.0)), true),
            ((None, Some(50.0)), true),
        ] {
            let mut axis = chart::Axis::new("", chart::Scale::Log);
            AxisWish { bounds, ..AxisWish::default() }.apply(&mut axis);
            let scale = if is_log { chart::Scale::Log } else { chart::Scale::FromZero };
            assert_eq!((axis.scale, axis.bounds), (scale, bounds));
        }
    }

    #[test]
    fn no_picture_takes_the_file_of_another_and_every_name_fits_a_file_system() {
        let picture = |name: &str| Picture::table(safe(name), TextTable::default(), String::new());
        let mut all = ["a b", "a_b", "a_b-2", "a/b", "a_b-2"].map(picture);
        tell_apart(&mut all);
        let names: Vec<&str> = all.iter().map(|picture| picture.name.as_str()).collect();
        assert_eq!(names, ["a_b", "a_b-2", "a_b-2-2", "a_b-3", "a_b-2-3"]);
        for long in ["x".repeat(500), "読".repeat(500), "𠮷".repeat(500), "é.".repeat(500)] {
            let name = safe(&long);
            assert!(name.len() <= MOST_BYTES && name.chars().count() > 45, "{name}");
        }
        assert_eq!(safe("../w 1: 50 %"), "_w_1__50__");
    }
}
