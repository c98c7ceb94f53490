//! What a picture of a study may say: its kind, by what its values are divided, lines beside those of its cells, and levels
//! across it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Quantity, Take, Where, throughput, unit_factor};

/// A picture.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Above it.
    pub title: String,
    /// How it is drawn.
    #[serde(default)]
    pub kind: FigureKind,
    /// Factor on the horizontal axis; of `knee` the one along which the points of a line follow each other. The kinds
    /// `percentiles`, `formulas`, `over_time`, `over_objects` and `distances` have none.
    #[serde(default)]
    pub x: String,
    /// What is on the vertical axis.
    #[serde(default = "throughput")]
    pub metric: String,
    /// Which cells.
    #[serde(default, rename = "where")]
    pub cells: Where,
    /// One line for each level of these factors; `system` and `op` count as factors.
    #[serde(default)]
    pub lines: Vec<String>,
    /// What is taken of the values over `over`.
    #[serde(default)]
    pub take: Take,
    /// Factor that `take` goes over.
    #[serde(default)]
    pub over: Option<String>,
    /// Each value is divided by one of other cells: the ratio of two systems, or a line over its own base.
    #[serde(default)]
    pub to: Option<Base>,
    /// A factor on each value, such as the copies of each byte.
    #[serde(default = "unit_factor")]
    pub times: f64,
    /// More lines, of other cells or of the same ones times something.
    #[serde(default)]
    pub also: Vec<Also>,
    /// Levels across the picture, such as what a network or a raw disk gives.
    #[serde(default)]
    pub limits: Vec<Limit>,
    /// Of the kind `formulas`: the names of the efficiencies that it draws, all over the same factor.
    #[serde(default)]
    pub formulas: Vec<String>,
    /// Axes by decades: both, where the levels of `x` are numbers. Bars and stacks have none, and `percentiles` one of times.
    #[serde(default)]
    pub log: bool,
    /// How published points are put beside those from here.
    #[serde(default)]
    pub published: Overlay,
}

/// How a picture is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// A line with marks over the levels of `x`.
    #[default]
    Lines,
    /// Bars side by side at each level of `x`, one for each line.
    Bars,
    /// Bars of parts, one upon the other: each line is a part of the whole.
    Stacked,
    /// A time (`metric`) over throughput, load by load, with the knee marked: the load at which throughput over time is greatest.
    Knee,
    /// Percentiles of the response time, on an axis that shows the tail.
    Percentiles,
    /// Efficiencies by name (`formulas`) over their factor, each beside its published value.
    Formulas,
    /// Throughput or bandwidth over the time of a run, from its intervals; of several runs of a line the first.
    OverTime,
    /// Throughput over the objects that were done in a run: of each interval (thin), and done since the start (bold).
    OverObjects,
    /// How far apart successive requests of the disk lay that `follow` names: shares by distance, as bars.
    Distances,
}

/// By what the values of a picture are divided: the same cell, with some things in place of its own.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// Levels in place of those of the cell, such as `{system: disk}` or, for each line over its own base, `{workers: 5}`.
    #[serde(default, rename = "where")]
    pub cells: Where,
    /// Another figure.
    #[serde(default)]
    pub metric: Option<String>,
    /// What is taken over `over`: with `max` each line is drawn as a share of its own peak.
    #[serde(default)]
    pub take: Take,
    /// Factor that `take` goes over, whatever the level of the cell.
    #[serde(default)]
    pub over: Option<String>,
}

/// A line more in a picture.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Also {
    /// Its name in the legend, such as `3 x RBD`.
    pub name: String,
    /// Its levels, in place of those of the picture.
    #[serde(default, rename = "where")]
    pub cells: Where,
    /// A factor on its values, in place of that of the picture.
    #[serde(default = "unit_factor")]
    pub times: f64,
    /// Another figure, of the same unit.
    #[serde(default)]
    pub metric: Option<String>,
}

/// A level across a picture, from one of `value`, `published`, `of` and `sla`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Its name at the line, such as `link`.
    pub name: String,
    /// A number in the unit of the figure; of bandwidth bytes per second.
    #[serde(default)]
    pub value: Option<f64>,
    /// The published number at these cells, of the picture's figure.
    #[serde(default)]
    pub published: Option<Where>,
    /// What cells of this study came to, such as those of a raw disk.
    #[serde(default)]
    pub of: Option<Quantity>,
    /// A limit of response times: its name in `slas`.
    #[serde(default)]
    pub sla: Option<String>,
    /// A factor on it: a third of the link.
    #[serde(default = "unit_factor")]
    pub times: f64,
}

/// How published points are put beside those from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overlay {
    /// Not at all.
    #[default]
    None,
    /// As they are; in a picture with `to` the published ratios, or the published line over its own base.
    Plain,
    /// Each published line is scaled so that its greatest value is that of the line from here.
    Peak,
}
