//! How the machines of the store did over time: from looks at them to the lines of charts, by role.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cosmark_metrics::nodes::course::{CourseFigure, NODE_CHARTS, NodeChart, OwnTimes, between};
use cosmark_metrics::nodes::reading::{Found, NodeLook, NodeName, Reading};

use super::axis::{Axis, Span};
use super::model::{NodeChartData, NodeGap, NodeLine};
use super::times::rounded;

/// Lines of one chart; of more machines the busiest are drawn, and the table has the others.
const MOST_LINES: usize = 8;
/// Colours of lines that differ.
const COLOURS: usize = 8;
/// Gaps of one machine that are shown.
const MOST_GAPS: usize = 50;
/// Machines that have lines; the table has more.
const MOST_NODES: usize = 200;

/// Sums of each figure over the time in which it is known.
#[derive(Debug, Clone, Default)]
struct NodeSums(Vec<Option<(f64, f64)>>);

impl NodeSums {
    fn of(values: &[Option<f64>], span: Span) -> Self {
        let seconds = span.length_s();
        Self(values.iter().map(|value| value.map(|value| (value * seconds, seconds))).collect())
    }

    /// Adds a share of another.
    fn merge(&mut self, other: &Self, share: f64) {
        self.0.resize(self.0.len().max(other.0.len()), None);
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            if let Some((sum, seconds)) = other {
                let before = own.unwrap_or_default();
                *own = Some((before.0 + sum * share, before.1 + seconds * share));
            }
        }
    }

    /// The mean over time of a figure.
    fn mean(&self, figure: usize) -> Option<f64> {
        let (sum, seconds) = (*self.0.get(figure)?)?;
        (seconds > 0.0).then(|| sum / seconds)
    }
}

/// What is known of stretches of time. A figure that is renewed rarely is known of all bins that its stretch covers: it is a
/// step, and nothing is made up between two.
#[derive(Debug, Clone, Default)]
struct Steps {
    cells: BTreeMap<Span, NodeSums>,
    grid_us: Option<u64>,
}

impl Steps {
    fn add(&mut self, span: Span, sums: &NodeSums) {
        match self.grid_us {
            None => self.cells.entry(span).or_default().merge(sums, 1.0),
            Some(grid_us) => pieces(span, grid_us).for_each(|(number, share)| {
                let piece = Span { start_us: number * grid_us, length_us: grid_us };
                self.cells.entry(piece).or_default().merge(sums, share);
            }),
        }
    }

    /// Cuts everything at the bins of `axis` when there is more than memory should hold. Bins are doubled as a run goes on, so
    /// that cutting twice is cutting once.
    fn cut_if_many(&mut self, axis: &Axis, most_bins: u32) {
        const SPARE: usize = 8;
        let most = most_bins as usize;
        let limit = if self.grid_us.is_some() { most + SPARE } else { 2 * most + SPARE };
        if self.cells.len() > limit && self.grid_us != Some(axis.bin_us) {
            self.grid_us = Some(axis.bin_us);
            let before = std::mem::take(&mut self.cells);
            before.iter().for_each(|(span, sums)| self.add(*span, sums));
        }
    }

    /// Sums of the bins of `axis` from number `from` on. A stretch that ends behind the axis is left out: whoever looks while the
    /// run goes on does not know it yet.
    fn bins(&self, axis: &Axis, from: u32) -> Vec<NodeSums> {
        let mut sums = vec![NodeSums::default(); axis.time.bins.saturating_sub(from) as usize];
        let end_us = u64::from(axis.time.bins) * axis.bin_us;
        for (span, cell) in self.cells.iter().filter(|(span, _)| span.end_us() <= end_us) {
            for (number, share) in pieces(*span, axis.bin_us) {
                let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(from as usize));
                if let Some(sum) = at.and_then(|at| sums.get_mut(at)) {
                    sum.merge(cell, share);
                }
            }
        }
        sums
    }
}

/// The stretches of a grid in which a stretch lies, and which share of it lies in each.
#[expect(clippy::cast_precision_loss, reason = "shares of some seconds")]
fn pieces(span: Span, grid_us: u64) -> impl Iterator<Item = (u64, f64)> {
    let grid_us = grid_us.max(1);
    let (start_us, end_us) = (span.start_us, span.end_us());
    let last = end_us.saturating_sub(1).max(start_us) / grid_us;
    (start_us / grid_us..=last).map(move |number| {
        let inside = end_us.min((number + 1) * grid_us).saturating_sub(start_us.max(number * grid_us));
        (number, inside as f64 / span.length_us.max(1) as f64)
    })
}

/// The course of one machine.
#[derive(Debug, Clone, Default)]
struct Course {
    /// The last reading that brought something new.
    last: Option<Arc<Reading>>,
    own_times: OwnTimes,
    steps: Steps,
    /// Over all that was seen, by which the busiest are known.
    all: NodeSums,
    /// From, to and why nothing came, microseconds since the load began.
    gaps: Vec<(u64, Option<u64>, String)>,
}

/// All machines of the store during one stage.
#[derive(Debug, Clone, Default)]
pub struct Nodes(BTreeMap<Arc<NodeName>, Course>);

/// What of the charts somebody was shown: the lines of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodesShown(BTreeMap<String, Vec<String>>);

impl Nodes {
    /// Adds a look; gives the stretch of time of which more is known now. `began_ns` is when the load did, nanoseconds since
    /// 1970: what was seen before is left out, so that a course is the same whoever makes it.
    pub fn add(&mut self, look: &NodeLook, began_ns: u64) -> Option<Span> {
        let at_us = look.at_ns().checked_sub(began_ns)? / 1000;
        if self.0.len() >= MOST_NODES && !self.0.contains_key(&look.node) {
            return None;
        }
        let own = self.0.entry(Arc::clone(&look.node)).or_default();
        let reading = match &look.found {
            Found::Reading { reading, .. } => reading,
            Found::Lost { why, .. } => {
                own.last = None;
                let known = own.gaps.last().is_some_and(|(_, to, _)| to.is_none());
                if own.gaps.len() < MOST_GAPS && !known {
                    own.gaps.push((at_us, None, why.clone()));
                }
                return Some(Span { start_us: at_us, length_us: 0 });
            }
        };
        if let Some((_, to @ None, _)) = own.gaps.last_mut() {
            *to = Some(at_us);
        }
        // What has not been renewed says nothing of the time since.
        if own.last.as_ref().is_some_and(|last| last.samples == reading.samples) {
            return None;
        }
        let before = own.last.replace(Arc::clone(reading))?;
        let start_us = before.at_ns.checked_sub(began_ns)? / 1000;
        let span = Span { start_us, length_us: at_us.checked_sub(start_us)? };
        let sums = NodeSums::of(&between(&before, reading, &mut own.own_times), span);
        own.steps.add(span, &sums);
        own.all.merge(&sums, 1.0);
        Some(span)
    }

    /// Bounds what is kept of a machine.
    pub fn cut_if_many(&mut self, node: &NodeName, axis: &Axis, most_bins: u32) {
        if let Some(own) = self.0.get_mut(node) {
            own.steps.cut_if_many(axis, most_bins);
        }
    }

    /// When nothing came from which machine.
    pub fn gaps(&self, axis: &Axis) -> Vec<NodeGap> {
        #[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
        let seconds = |us: u64| (us as f64 / 1e6).min(axis.time.end_s);
        let all = self.0.iter().flat_map(|(node, own)| own.gaps.iter().map(move |gap| (node, gap)));
        let gap = |(node, (from, to, why)): (&Arc<NodeName>, &(u64, Option<u64>, String))| NodeGap {
            node: node.name.clone(),
            role: node.role.clone(),
            from_s: seconds(*from),
            to_s: to.map_or(axis.time.end_s, seconds),
            why: why.clone(),
        };
        all.map(gap).filter(|gap| gap.to_s > gap.from_s).collect()
    }

    /// The charts of each role, bins from number `from` on. A chart whose lines are not those that were shown before comes from
    /// its beginning.
    pub fn charts(&self, axis: &Axis, from: u32, shown: &mut NodesShown) -> Vec<NodeChartData> {
        let roles: BTreeSet<&str> = self.0.keys().map(|node| node.role.as_str()).collect();
        let mut all = Vec::new();
        let mut now = BTreeMap::new();
        for role in roles {
            let nodes: Vec<_> = self.0.iter().filter(|(node, _)| node.role == role).collect();
            let mut first = 0;
            for chart in NODE_CHARTS {
                let drawn = drawn(chart, first, &nodes);
                first += chart.figures.len();
                let Some(drawn) = drawn else { continue };
                let id = format!("{}-{role}", chart.id);
                let names: Vec<String> = drawn.lines.iter().map(|line| line.name.clone()).collect();
                let from = if shown.0.get(&id) == Some(&names) { from } else { 0 };
                now.insert(id.clone(), names);
                all.push(NodeChartData {
                    id,
                    role: role.to_owned(),
                    title: chart.title.to_owned(),
                    hint: chart.hint.to_owned(),
                    unit: chart.unit.word().to_owned(),
                    machines: drawn.machines,
                    drawn: drawn.drawn,
                    from,
                    lines: drawn.lines.into_iter().map(|line| line.data(axis, from)).collect(),
                });
            }
        }
        shown.0 = now;
        all
    }
}

/// The lines of a chart.
struct Drawn<'a> {
    /// Machines of which something is known.
    machines: u32,
    /// How many of these are drawn.
    drawn: u32,
    lines: Vec<Drawing<'a>>,
}

/// A line that is drawn.
struct Drawing<'a> {
    course: &'a Course,
    /// Its number over all charts.
    figure: usize,
    name: String,
    colour: u32,
    dash: u32,
}

impl Drawing<'_> {
    fn data(self, axis: &Axis, from: u32) -> NodeLine {
        let sums = self.course.steps.bins(axis, from);
        let values = sums.iter().map(|sum| sum.mean(self.figure).map(|value| rounded(value, 4)));
        NodeLine { name: self.name, colour: self.colour, dash: self.dash, values: values.collect() }
    }
}

/// A machine has one colour in all charts of its role, where there are enough.
fn colour_of(node: &Arc<NodeName>, nodes: &[(&Arc<NodeName>, &Course)], drawn: u32) -> u32 {
    let place = nodes.iter().position(|(other, _)| *other == node);
    place.filter(|_| nodes.len() <= COLOURS).and_then(|place| u32::try_from(place).ok()).unwrap_or(drawn)
}

/// The busiest machines of a role and their figures in one chart, whose first figure has the number `first`.
fn drawn<'a>(
    chart: &NodeChart,
    first: usize,
    nodes: &[(&'a Arc<NodeName>, &'a Course)],
) -> Option<Drawn<'a>> {
    let figures = || (first..).zip(chart.figures);
    let most = |own: &Course| figures().filter_map(|(number, _)| own.all.mean(number)).reduce(f64::max);
    let mut busiest: Vec<_> =
        nodes.iter().filter_map(|(node, own)| Some((most(own)?, *node, *own))).collect();
    if busiest.is_empty() || (chart.only_if_moved && busiest.iter().all(|one| one.0 <= 0.0)) {
        return None;
    }
    busiest.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let alone = busiest.len() == 1;
    let (mut lines, mut drawn) = (Vec::new(), 0_u32);
    for (_, node, course) in &busiest {
        let moved =
            |number: usize| course.all.mean(number).is_some_and(|mean| mean > 0.0 || !chart.only_if_moved);
        let own: Vec<(usize, &CourseFigure)> = figures().filter(|(number, _)| moved(*number)).collect();
        if drawn > 0 && lines.len() + own.len() > MOST_LINES {
            break;
        }
        for (number, figure) in own {
            let place = u32::try_from(number - first).unwrap_or(0);
            let name = match (alone, figure.name) {
                (true, "") | (false, "") => node.name.clone(),
                (true, name) => name.to_owned(),
                (false, name) => format!("{}, {name}", node.name),
            };
            let (colour, dash) = if alone { (place, 0) } else { (colour_of(node, nodes, drawn), place) };
            lines.push(Drawing { course, figure: number, name, colour, dash });
        }
        drawn += 1;
    }
    Some(Drawn { machines: u32::try_from(busiest.len()).unwrap_or(u32::MAX), drawn, lines })
}
