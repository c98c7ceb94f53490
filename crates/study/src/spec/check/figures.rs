//! What is wrong with pictures, and with what flaws are weighed by.

use super::super::{Across, Base, Figure, FigureKind, Limit, Overlay, Quantity, Take, Way};
use super::Check;

impl Check<'_> {
    pub(super) fn figures(&mut self) {
        let spec = self.spec;
        for (at, figure) in spec.figures.iter().enumerate() {
            self.cells(&figure.cells, "figures", Some(at), true);
            self.metric(&figure.metric, "figures", Some(at));
            self.over(figure.take, figure.over.as_deref(), "figures", Some(at));
            self.axes(at, figure);
            self.kind(at, figure);
            if let Some(base) = &figure.to {
                self.base(at, base);
            }
            for more in &figure.also {
                self.cells(&more.cells, "figures", Some(at), true);
                if let Some(metric) = &more.metric {
                    self.metric(metric, "figures", Some(at));
                }
                self.factor(at, more.times);
            }
            self.factor(at, figure.times);
            for limit in &figure.limits {
                self.limit(at, figure, limit);
            }
        }
    }

    /// The factors along and between its lines.
    fn axes(&mut self, at: usize, figure: &Figure) {
        let without_x = [
            FigureKind::Percentiles,
            FigureKind::Formulas,
            FigureKind::OverTime,
            FigureKind::OverObjects,
            FigureKind::Distances,
        ];
        let has_x = !without_x.contains(&figure.kind);
        if has_x == figure.x.is_empty() {
            let span = self.at("figures", Some(at), if has_x { "title" } else { "x" });
            let message = if has_x { "no factor to draw along" } else { "this kind of picture has no x" };
            self.wrong(span, message, "x: names a factor; percentiles and formulas are drawn without one");
        }
        for name in std::iter::once(&figure.x).filter(|_| has_x && !figure.x.is_empty()).chain(&figure.lines)
        {
            let known = ["system", "op"].contains(&name.as_str())
                || self.spec.factors.iter().any(|factor| factor.name == *name);
            if !known {
                let span = self.at("figures", Some(at), name);
                self.wrong(span, format!("{name}: no factor"), "x and lines name factors, system or op");
            }
        }
    }

    /// What a kind needs, and what it cannot have.
    fn kind(&mut self, at: usize, figure: &Figure) {
        let is = |kind: FigureKind| figure.kind == kind;
        let is_time = figure.metric.starts_with("response_ms.");
        let distances = is(FigureKind::Distances);
        let bars = is(FigureKind::Bars) || is(FigureKind::Stacked) || distances;
        let formulas = is(FigureKind::Formulas);
        let of_course = is(FigureKind::OverTime) || is(FigureKind::OverObjects);
        let ruled_out =
            is(FigureKind::Knee) || is(FigureKind::Percentiles) || formulas || of_course || distances;
        let is_rate = figure.metric == "throughput_per_s"
            || (figure.metric == "bandwidth_bytes_per_s" && !is(FigureKind::OverObjects));
        let over: Vec<&String> = figure
            .formulas
            .iter()
            .filter_map(|name| self.spec.efficiencies.iter().find(|one| one.name == *name))
            .map(|one| &one.over)
            .collect();
        let rules = [
            (bars && figure.log, "log", "bars begin at 0, which no axis by decades has"),
            (
                of_course && (!is_rate || figure.log || figure.over.is_some() || self.spec.fio.is_some()),
                "kind",
                "what happens within a run is throughput (over time also bandwidth) of a workload, on even axes",
            ),
            (is(FigureKind::Knee) && !is_time, "kind", "a knee is of a time: metric: response_ms.p95"),
            (
                formulas == figure.formulas.is_empty(),
                "kind",
                "kind: formulas and formulas: [NAME, ..] belong together",
            ),
            (over.len() < figure.formulas.len(), "formulas", "formulas: names efficiencies of this study"),
            (
                over.windows(2).any(|two| two[0] != two[1]),
                "formulas",
                "efficiencies of one picture go over one factor",
            ),
            (
                ruled_out && (figure.to.is_some() || !figure.also.is_empty()),
                "kind",
                "to: and also: are for lines, bars and stacks",
            ),
            (
                is(FigureKind::Stacked) && (figure.published != Overlay::None || figure.to.is_some()),
                "kind",
                "a stack is a whole of parts: no to: and no published: in it",
            ),
        ];
        for (is_wrong, word, hint) in rules {
            if is_wrong {
                let span = self.at("figures", Some(at), word);
                self.wrong(span, "this picture cannot be drawn so", hint);
            }
        }
    }

    fn base(&mut self, at: usize, base: &Base) {
        self.cells(&base.cells, "figures", Some(at), true);
        if let Some(metric) = &base.metric {
            self.metric(metric, "figures", Some(at));
        }
        self.over(base.take, base.over.as_deref(), "figures", Some(at));
        let span = self.at("figures", Some(at), "to");
        if matches!(base.take, Take::ArgMax | Take::ArgBest | Take::Best) {
            self.wrong(span, "nothing is divided by that", "take: first, last, min or max");
        }
        if base.cells.is_empty() && base.over.is_none() && base.metric.is_none() {
            self.wrong(
                span,
                "a ratio to itself",
                "to: {where: {system: other}} or {take: max, over: FACTOR}",
            );
        }
    }

    fn factor(&mut self, at: usize, times: f64) {
        if !(times.is_finite() && times > 0.0) {
            let span = self.at("figures", Some(at), "times");
            self.wrong(span, "a factor is above 0", "times: 3");
        }
    }

    fn limit(&mut self, at: usize, figure: &Figure, limit: &Limit) {
        let given =
            [limit.value.is_some(), limit.published.is_some(), limit.of.is_some(), limit.sla.is_some()];
        let span = self.at("figures", Some(at), &limit.name);
        if given.iter().filter(|one| **one).count() != 1 {
            let hint = "value: NUMBER, published: {CELLS}, of: {CELLS} or sla: NAME";
            self.wrong(span, format!("{}: give one of four", limit.name), hint);
        }
        self.factor(at, limit.times);
        if limit.value.is_some_and(|value| !(value.is_finite() && value >= 0.0)) {
            self.wrong(span, format!("{}: no level of a figure", limit.name), "value: 117750000");
        }
        if let Some(cells) = &limit.published {
            self.cells(cells, "figures", Some(at), true);
        }
        if let Some(of) = &limit.of {
            self.quantity("figures", at, of);
        }
        if let Some(name) = &limit.sla {
            let known = self.spec.slas.iter().any(|sla| sla.name == *name);
            if !known || !figure.metric.starts_with("response_ms.") {
                self.wrong(
                    span,
                    format!("{name}: no limit of this picture"),
                    "sla: names one of slas:, of a time",
                );
            }
        }
    }

    pub(super) fn flaws(&mut self) {
        let spec = self.spec;
        for (at, flaw) in spec.flaws.iter().enumerate() {
            for weigh in &flaw.weighs {
                self.way(at, &weigh.original);
                self.way(at, &weigh.right);
                if weigh.original == weigh.right {
                    let span = self.at("flaws", Some(at), "weighs");
                    self.wrong(
                        span,
                        "both ways are the same",
                        "original: and right: differ in cells or in how they are taken",
                    );
                }
                let each = |way: &Way| way.across == Across::Each && way.formula.is_none();
                if each(&weigh.original) != each(&weigh.right) {
                    let span = self.at("flaws", Some(at), "weighs");
                    let hint = "across: mean, best or worst of both, or of neither; a formula is a mean";
                    self.wrong(span, "one way is of each run, the other of all", hint);
                }
            }
        }
    }

    fn way(&mut self, at: usize, way: &Way) {
        let span = self.at("flaws", Some(at), "weighs");
        if let Some(name) = &way.formula {
            if !self.spec.efficiencies.iter().any(|one| one.name == *name) {
                self.wrong(span, format!("{name}: no efficiency"), "formula: names one of efficiencies:");
            }
            return;
        }
        self.quantity("flaws", at, &Quantity::from(way));
        if way.bucket_ms.is_some_and(|width| !(width.is_finite() && width > 0.0))
            || (way.bucket_ms.is_some() && !way.metric.starts_with("response_ms."))
        {
            self.wrong(span, "no buckets of a time", "bucket_ms: 10, of a response_ms");
        }
    }
}
