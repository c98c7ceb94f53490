//! The course of one stage: the one place where what was measured becomes bins and percentiles over time. The report fills it
//! from an archive, the service from what it writes into one while a run goes on; both show what it gives, so a chart does
//! not change when its run ends.

use std::collections::BTreeMap;

use cosmark_archive::{ClientLine, IntervalLine, TimeKind};
use cosmark_metrics::nodes::reading::NodeLook;
use cosmark_metrics::{OperationResult, Phase};

use super::Detail;
use super::axis::{Axis, Extent, PHASES, Span};
use super::bins::Bins;
use super::clients::{self, ClientSums};
use super::counts::{self, Counted};
use super::model::{
    ClientNews, ClientSeries, CountSeries, NodeChartData, NodeGap, OperationNews, SeriesNews, Shown,
};
use super::nodes::{Nodes, NodesShown};
use super::parts::{self, PartName, PartSlice, Parts, most_points};
use super::sparse::Sparse;
use super::times::{BinsPerPoint, Times};

/// What is collected of one operation.
#[derive(Debug, Clone, Default)]
struct OperationBins {
    counts: Bins<Counted>,
    /// Of intervals that are not over.
    open: Vec<(Span, Counted)>,
    times: Times,
    parts: Parts,
}

/// The course of one stage so far.
#[derive(Debug, Clone)]
pub struct StageSeries {
    detail: Detail,
    /// Of what is over.
    extent: Extent,
    /// Of intervals that are not over.
    open: Vec<(Phase, Span)>,
    operations: Vec<OperationBins>,
    /// How the machines of the drivers did.
    clients: BTreeMap<String, Bins<ClientSums>>,
    /// How the machines of the store did.
    nodes: Nodes,
    /// Where what was added lately begins, since [`Self::take_changed_us`].
    changed_us: Option<u64>,
}

/// What was shown of a stage to somebody, so that only what is new has to be shown next.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeriesShown {
    bin_us: u64,
    bins: u32,
    operations: Vec<OperationShown>,
    nodes: NodesShown,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct OperationShown {
    latency: BinsPerPoint,
    heat: u32,
    parts: u32,
}

impl StageSeries {
    /// Empty, for a stage with so many operations.
    #[must_use]
    pub fn new(operations: usize, detail: Detail) -> Self {
        Self {
            detail,
            extent: Extent::default(),
            open: Vec::new(),
            operations: vec![OperationBins::default(); operations],
            clients: BTreeMap::new(),
            nodes: Nodes::default(),
            changed_us: None,
        }
    }

    fn changed(&mut self, span: Span) {
        self.changed_us = Some(self.changed_us.map_or(span.start_us, |us| us.min(span.start_us)));
    }

    /// Adds a line of `intervals.csv`.
    pub fn add_interval(&mut self, operation: usize, line: &IntervalLine) {
        let Some((phase, span)) = place_of(line) else { return };
        self.extent.add(phase, span);
        self.changed(span);
        if let Some(own) = self.operations.get_mut(operation) {
            own.counts.at(span).add(line, span);
            let axis = Axis::of(&self.extent, self.detail.bins);
            own.counts.fold_if_many(&axis, self.detail.bins);
        }
    }

    /// Puts lines of intervals that are not over, with the number of their operation, in the place of those before.
    pub fn set_open<'a>(&mut self, lines: impl IntoIterator<Item = (usize, &'a IntervalLine)>) {
        let before = std::mem::take(&mut self.open);
        before.into_iter().for_each(|(_, span)| self.changed(span));
        self.operations.iter_mut().for_each(|own| own.open.clear());
        for (operation, line) in lines {
            let Some((phase, span)) = place_of(line) else { continue };
            self.open.push((phase, span));
            self.changed(span);
            if let Some(own) = self.operations.get_mut(operation) {
                let mut counted = Counted::default();
                counted.add(line, span);
                own.open.push((span, counted));
            }
        }
    }

    /// Adds the times of a slice: values in ns, ascending, with how many there are of each. `start_s` is since the load began.
    pub fn add_times(
        &mut self,
        operation: usize,
        kind: TimeKind,
        phase: Phase,
        (start_s, length_s): (f64, f64),
        steps: impl Iterator<Item = (u64, u64)>,
    ) {
        let span = Span::of(start_s, length_s);
        let times = Sparse::of_steps(steps);
        if times.total() == 0 {
            return;
        }
        self.changed(span);
        let axis = self.known_axis();
        if let Some(own) = self.operations.get_mut(operation) {
            own.times.add(kind, phase, span, &times);
            if let Some(axis) = axis {
                own.times.fold_if_many(&axis, self.detail.bins);
            }
        }
    }

    /// Adds what one driver or endpoint did of an operation in a slice.
    pub fn add_part(
        &mut self,
        operation: usize,
        name: PartName,
        phase: Phase,
        (start_s, length_s): (f64, f64),
        slice: &PartSlice,
    ) {
        let span = Span::of(start_s, length_s);
        self.changed(span);
        let series = self.parts();
        let extent = self.whole_extent();
        if let Some(own) = self.operations.get_mut(operation) {
            own.parts.add(name, phase, span, slice);
            own.parts.fold_if_many(&extent, series, self.detail.bins);
        }
    }

    /// Adds a line of `clients.csv`. Before the load began nothing belongs on the axis.
    pub fn add_client(&mut self, line: &ClientLine) {
        if line.time_s <= 0.0 {
            return;
        }
        let span = Span::of(line.time_s - line.span_s, line.span_s);
        self.changed(span);
        let axis = self.known_axis();
        let own = self.clients.entry(line.driver.clone()).or_default();
        own.at(span).add(line);
        if let Some(axis) = axis {
            own.fold_if_many(&axis, self.detail.bins);
        }
    }

    /// Adds a look at one of the store's machines; the load began at `began_ns`, nanoseconds since 1970.
    pub fn add_node(&mut self, look: &NodeLook, began_ns: u64) {
        let Some(span) = self.nodes.add(look, began_ns) else { return };
        self.changed(span);
        if let Some(axis) = self.known_axis() {
            self.nodes.cut_if_many(&look.node, &axis, self.detail.bins);
        }
    }

    /// How the machines of the store did, and when they did not answer.
    pub(super) fn nodes(&self, axis: &Axis) -> (Vec<NodeChartData>, Vec<NodeGap>) {
        (self.nodes.charts(axis, 0, &mut NodesShown::default()), self.nodes.gaps(axis))
    }

    /// How the machine of each driver did.
    pub(super) fn clients(&self, axis: &Axis) -> BTreeMap<String, ClientSeries> {
        self.clients.iter().map(|(driver, bins)| (driver.clone(), clients::series(bins, axis, 0))).collect()
    }

    pub(super) fn operations(&self) -> usize {
        self.operations.len()
    }

    /// How far it reaches, where `intervals.csv` does not say it.
    pub(super) fn set_extent(&mut self, extent: Extent) {
        self.extent = extent;
    }

    /// Whether anything was counted.
    pub(super) fn is_empty(&self) -> bool {
        self.extent.is_empty()
    }

    /// Nothing will come that changes the axis: what comes goes into its bins at once.
    pub(super) fn settle(&mut self) {
        if let Some(axis) = self.known_axis() {
            self.operations.iter_mut().for_each(|own| own.times.settle(&axis));
        }
    }

    /// Times are not needed any more.
    pub(super) fn drop_times(&mut self) {
        self.operations.iter_mut().for_each(|own| own.times = Times::default());
    }

    fn parts(&self) -> usize {
        self.operations.iter().map(|own| own.parts.len()).sum()
    }

    fn whole_extent(&self) -> Extent {
        let mut extent = self.extent;
        let is_first = extent.is_empty();
        self.open.iter().for_each(|(phase, span)| extent.add_open(*phase, *span, is_first));
        extent
    }

    fn known_axis(&self) -> Option<Axis> {
        let extent = self.whole_extent();
        (!extent.is_empty()).then(|| Axis::of(&extent, self.detail.bins))
    }

    /// The axis; `None` while nothing was counted.
    pub(super) fn axis(&self) -> Option<Axis> {
        self.known_axis()
    }

    /// Counts of an operation from bin `from` on.
    pub(super) fn counts(&self, operation: usize, axis: &Axis, from: u32) -> CountSeries {
        self.operations
            .get(operation)
            .map(|own| counts::series(&own.counts, &own.open, axis, from))
            .unwrap_or_default()
    }

    /// Times of an operation.
    pub(super) fn times(&self, operation: usize) -> Option<&Times> {
        self.operations.get(operation).map(|own| &own.times)
    }

    /// Where what was added since the last call begins; `None` = nothing was.
    pub fn take_changed_us(&mut self) -> Option<u64> {
        self.changed_us.take()
    }

    /// What has changed from `changed_us` on for somebody who was shown `shown`, which then says what they were shown.
    /// `None` while nothing was counted.
    pub fn news(
        &self,
        stage: &str,
        window_s: Option<f64>,
        results: &[OperationResult],
        changed_us: u64,
        shown: &mut SeriesShown,
    ) -> Option<SeriesNews> {
        let axis = self.known_axis()?;
        if shown.bin_us != axis.bin_us || shown.operations.len() != self.operations.len() {
            *shown = SeriesShown::default();
            shown.operations.resize(self.operations.len(), OperationShown::default());
        }
        // The last bin grows with the axis.
        let changed = axis.bin(Span { start_us: changed_us, length_us: 0 });
        let from = changed.min(shown.bins.saturating_sub(1));
        (shown.bin_us, shown.bins) = (axis.bin_us, axis.time.bins);
        let coarse = Axis::of(&self.whole_extent(), most_points(self.parts(), self.detail.bins));
        let every = parts::every(self.operations.iter().map(|own| &own.parts), &axis, &coarse);
        let operations =
            self.operations.iter().zip(&mut shown.operations).zip(results).map(|((own, shown), result)| {
                OperationNews {
                    result: Shown(result.clone()),
                    series: counts::series(&own.counts, &own.open, &axis, from),
                    latency: own.times.latency(&axis, from, &mut shown.latency),
                    heat: own.times.heat(&axis, self.detail.heat_columns, from, &mut shown.heat),
                    parts: own.parts.news(&axis, every, from, window_s, &mut shown.parts),
                }
            });
        Some(SeriesNews {
            stage: stage.to_owned(),
            from,
            time: axis.time,
            operations: operations.collect(),
            clients: self
                .clients
                .iter()
                .map(|(driver, bins)| ClientNews {
                    driver: driver.clone(),
                    series: clients::series(bins, &axis, from),
                })
                .collect(),
            node_charts: self.nodes.charts(&axis, from, &mut shown.nodes),
            node_gaps: self.nodes.gaps(&axis),
            window_s,
            left_out: 0,
            phases: axis.phases,
        })
    }
}

/// Phase and stretch of a line.
fn place_of(line: &IntervalLine) -> Option<(Phase, Span)> {
    let (phase, _) = PHASES.iter().find(|row| row.1 == line.phase)?;
    Some((*phase, Span::of(line.start_s, line.end_s - line.start_s)))
}
