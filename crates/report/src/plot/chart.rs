//! A chart as data: what is drawn, on which axes, in which look.

/// How values of an axis become places.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Even steps from 0.
    FromZero,
    /// Decades.
    Log,
    /// Shares 0..1 so that 90 %, 99 %, 99.9 % are equally far apart.
    Percentile,
    /// Names, one per whole number from 0.
    Names(Vec<String>),
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it shows, with unit.
    pub label: String,
    /// How.
    pub scale: Scale,
    /// The axis goes up to this at least.
    pub at_least: Option<f64>,
    /// Where it begins and ends, where the user says so.
    pub bounds: (Option<f64>, Option<f64>),
}

impl Axis {
    /// An axis that shows `label` on `scale`.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale, at_least: None, bounds: (None, None) }
    }
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A line.
    Line,
    /// A thin, pale line: raw values behind a fitted curve.
    Thin,
    /// A line with a mark at each point.
    Marked,
    /// Dotted steps.
    Steps,
    /// Marks alone.
    Dots,
    /// Marks that are not filled: values from elsewhere.
    Hollow,
    /// Bars side by side.
    Bars,
    /// A dotted line that only helps the eye; no legend.
    Guide,
    /// A level from each point to the next.
    Levels,
    /// Rectangles in shades; no legend.
    Cells,
    /// Parts of a whole, one upon the other in the order of their series; the look is the number of the part.
    Stacked,
    /// Shapes of distributions side by side.
    Outlines,
    /// A level across the whole picture at the first of its points, with its name at the line; no legend.
    Limit,
}

/// Which axis a series belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The left one.
    Left,
    /// The right one.
    Right,
}

/// A series of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend; empty = it has no entry there.
    pub label: String,
    /// Number of its colour, dash and mark; those of the same thing are the same.
    pub look: usize,
    /// How it is drawn.
    pub mark: Mark,
    /// Its axis.
    pub side: Side,
    /// Its points; a line breaks where y is not finite.
    pub points: Vec<(f64, f64)>,
    /// Words at points.
    pub words: Vec<(f64, f64, String)>,
    /// Lower and upper end of the interval of each point, as many as points, or none.
    pub errors: Vec<(f64, f64)>,
    /// What these span was measured, and is not where a value may lie: all of it is shown.
    pub is_span: bool,
    /// Places along the horizontal axis whose bars cannot be believed: they are white, crossed, and say so.
    pub doubted: Vec<f64>,
    /// Rectangles in shades.
    pub cells: Vec<ShadedCell>,
    /// Shapes of distributions.
    pub outlines: Vec<Outline>,
}

/// The shape of a distribution: as wide as many had about that value, the same to both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    /// Its place along the horizontal axis.
    pub x: f64,
    /// Values along the vertical axis, ascending, and how wide it is there: 1 where it is widest. Empty = no shape.
    pub widths: Vec<(f64, f64)>,
    /// Between which values the middle half lies.
    pub middle: Option<(f64, f64)>,
    /// The median.
    pub median: f64,
    /// Quantiles above it that are marked.
    pub marked: Vec<f64>,
}

impl Outline {
    /// Every value that has to be on the axis.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        let ends = [self.widths.first(), self.widths.last()].into_iter().flatten().map(|(value, _)| *value);
        ends.chain([self.median]).chain(self.marked.iter().copied())
    }
}

/// A rectangle of a heat map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShadedCell {
    /// From, to along the horizontal axis.
    pub x: (f64, f64),
    /// From, to along the vertical axis.
    pub y: (f64, f64),
    /// 0 (white) to 1 (darkest).
    pub shade: f64,
    /// How many it stands for.
    pub count: u64,
}

impl Series {
    /// A series on the left axis.
    pub fn new(label: impl Into<String>, look: usize, mark: Mark, points: Vec<(f64, f64)>) -> Self {
        Self {
            label: label.into(),
            look,
            mark,
            side: Side::Left,
            points,
            words: Vec::new(),
            errors: Vec::new(),
            is_span: false,
            doubted: Vec::new(),
            cells: Vec::new(),
            outlines: Vec::new(),
        }
    }
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Above it; empty = none.
    pub title: String,
    /// Horizontal.
    pub x: Axis,
    /// Vertical, left.
    pub left: Axis,
    /// Vertical, right.
    pub right: Option<Axis>,
    /// What is drawn, from back to front.
    pub series: Vec<Series>,
    /// Small, below it: what a reader has to know.
    pub note: String,
}
