//! How busy each machine of the store was over a run, with its stages marked. Where nothing is known a line has a gap.

use std::collections::BTreeMap;
use std::sync::Arc;

use cosmark_archive::{Run, StageRecord, Timestamp};
use cosmark_metrics::nodes::course::{NODE_CHARTS, OwnTimes, between};
use cosmark_metrics::nodes::reading::{Found, NodeLook, NodeName, Reading};
use cosmark_metrics::results::Unit;

use super::title;
use crate::plot::chart::{Axis, Chart, Mark, Scale, Series};
use crate::plot::pattern::stars;
use crate::plot::{Picture, PlotError, PlotRun, Wishes as Options};

/// Steps along the time of a run.
const BINS: u32 = 600;
/// Machines that have pictures; of more the busiest do.
const MOST_MACHINES: usize = 12;
/// A stage's name is written beside its mark where it has so much of the picture's width to the right.
const ROOM_OF_NAME: f64 = 0.12;
/// The charts whose figures are drawn: what is used of a resource, as a share.
const CHARTS: [&str; 2] = ["processors", "disks"];

/// A line: its number among all figures, and its name.
fn figures() -> Vec<(usize, String)> {
    let all = NODE_CHARTS.iter().flat_map(|chart| chart.figures.iter().map(move |figure| (chart, figure)));
    let wanted =
        all.enumerate().filter(|(_, (chart, _))| CHARTS.contains(&chart.id) && chart.unit == Unit::Share);
    let name = |chart: &str, figure: &str| match figure {
        "" => chart.to_owned(),
        _ => format!("{chart}, {figure}"),
    };
    wanted.map(|(number, (chart, figure))| (number, name(chart.title, figure.name))).collect()
}

/// The stretch of a run that is drawn, nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from_ns: u64,
    to_ns: u64,
}

impl Stretch {
    #[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
    fn second(self, at_ns: u64) -> f64 {
        at_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    fn bin_s(self) -> f64 {
        self.second(self.to_ns) / f64::from(BINS)
    }
}

/// One machine: the sum of each figure over the time in which it is known, bin by bin.
#[derive(Debug, Default)]
struct Course {
    last: Option<Arc<Reading>>,
    own_times: OwnTimes,
    bins: BTreeMap<(usize, u32), (f64, f64)>,
    /// Why it did not answer, the first time.
    lost: Option<String>,
}

impl Course {
    fn add(&mut self, look: &NodeLook, stretch: Stretch) {
        let reading = match &look.found {
            Found::Reading { reading, .. } => reading,
            Found::Lost { why, .. } => {
                self.last = None;
                self.lost.get_or_insert_with(|| why.clone());
                return;
            }
        };
        // What has not been renewed says nothing of the time since.
        if self.last.as_ref().is_some_and(|last| last.samples == reading.samples) {
            return;
        }
        let Some(before) = self.last.replace(Arc::clone(reading)) else { return };
        let from_s = stretch.second(before.at_ns.clamp(stretch.from_ns, stretch.to_ns));
        let to_s = stretch.second(reading.at_ns.clamp(stretch.from_ns, stretch.to_ns));
        let values = between(&before, reading, &mut self.own_times);
        for (bin, seconds) in pieces(from_s, to_s, stretch.bin_s()) {
            for (number, value) in values.iter().enumerate() {
                let Some(value) = value else { continue };
                let sum = self.bins.entry((number, bin)).or_default();
                *sum = (sum.0 + value * seconds, sum.1 + seconds);
            }
        }
    }

    /// The mean of a figure in a bin, in percent.
    fn percent(&self, figure: usize, bin: u32) -> Option<f64> {
        let (sum, seconds) = *self.bins.get(&(figure, bin))?;
        (seconds > 0.0).then(|| 100.0 * sum / seconds)
    }

    /// Levels from bin to bin, with a break where nothing is known.
    fn points(&self, figure: usize, bin_s: f64) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for bin in 0..BINS {
            let (from_s, to_s) = (f64::from(bin) * bin_s, f64::from(bin + 1) * bin_s);
            let level = self.percent(figure, bin).unwrap_or(f64::NAN);
            match points.last_mut() {
                // A level that goes on, or a gap that does.
                Some(last) if last.1 == level || (last.1.is_nan() && level.is_nan()) => last.0 = to_s,
                _ => points.extend([(from_s, level), (to_s, level)]),
            }
        }
        points
    }

    fn mean(&self, figures: &[(usize, String)]) -> f64 {
        let of = |(number, _): &(usize, String)| {
            let known = self.bins.iter().filter(|((figure, _), _)| figure == number);
            let (sum, seconds) = known.fold((0.0, 0.0), |all, (_, one)| (all.0 + one.0, all.1 + one.1));
            if seconds > 0.0 { sum / seconds } else { 0.0 }
        };
        figures.iter().map(of).fold(0.0, f64::max)
    }
}

/// The bins in which a stretch of time lies, and how much of it each has.
fn pieces(from_s: f64, to_s: f64, bin_s: f64) -> impl Iterator<Item = (u32, f64)> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some hundred bins")]
    let number = move |at_s: f64| ((at_s / bin_s).floor().max(0.0) as u32).min(BINS - 1);
    let bins = (to_s > from_s && bin_s > 0.0).then(|| number(from_s)..=number(to_s));
    bins.into_iter().flatten().filter_map(move |bin| {
        let (start_s, end_s) = (f64::from(bin) * bin_s, f64::from(bin + 1) * bin_s);
        let inside = to_s.min(end_s) - from_s.max(start_s);
        (inside > 0.0).then_some((bin, inside))
    })
}

/// A picture for each machine of each run: what was used of its processors and disks.
pub fn nodes(runs: &[PlotRun], options: &Options) -> Result<Vec<Picture>, PlotError> {
    let mut pictures = Vec::new();
    for run in runs {
        let Some(own) = run.record() else { continue };
        pictures.extend(of_run(own, run, runs.len() > 1, options)?);
    }
    if pictures.is_empty() {
        let text = "no machine of a store was looked at during these stages; list them under nodes:";
        return Err(PlotError::Nothing(text.to_owned()));
    }
    Ok(pictures)
}

fn of_run(run: &Run, plotted: &PlotRun, several: bool, options: &Options) -> Result<Vec<Picture>, PlotError> {
    let wanted = |stage: &&StageRecord| {
        let fits =
            |pattern: &String| stars(pattern, &stage.name).or_else(|| stars(pattern, &stage.id)).is_some();
        options.stages.is_empty() || options.stages.iter().any(fits)
    };
    let stages: Vec<&StageRecord> =
        run.record.stages.iter().filter(wanted).filter(|stage| began(stage).is_some()).collect();
    let from_ns = stages.iter().filter_map(|stage| nanoseconds(began(stage)?)).min();
    let to_ns = stages.iter().filter_map(|stage| nanoseconds(stage.ended.or(run.record.ended)?)).max();
    let Some(stretch) = from_ns.zip(to_ns).map(|(from_ns, to_ns)| Stretch { from_ns, to_ns }) else {
        return Ok(Vec::new());
    };
    let Some(looks) = run.node_looks()? else { return Ok(Vec::new()) };
    let mut courses: BTreeMap<Arc<NodeName>, Course> = BTreeMap::new();
    for look in looks {
        let look = look?;
        courses.entry(Arc::clone(&look.node)).or_default().add(&look, stretch);
    }
    let figures = figures();
    let machines = courses.len();
    let mut busiest: Vec<_> = courses.iter().filter(|(_, course)| !course.bins.is_empty()).collect();
    busiest.sort_by(|a, b| b.1.mean(&figures).total_cmp(&a.1.mean(&figures)).then_with(|| a.0.cmp(b.0)));
    busiest.truncate(MOST_MACHINES);
    let more = match machines > MOST_MACHINES {
        true => format!(" One of the {MOST_MACHINES} busiest of {machines} machines."),
        false => String::new(),
    };
    let label = if several { format!("{}: ", plotted.label) } else { String::new() };
    let picture = |(node, course): (&Arc<NodeName>, &Course)| {
        let chart = chart(node, course, &figures, stretch, &stages);
        let chart = Chart {
            title: title(options, format!("{label}{} ({}), how busy", node.name, node.role)),
            note: format!("{}{more}", chart.note),
            ..chart
        };
        let file = if several { format!("{}-", plotted.label) } else { String::new() };
        Picture::chart(format!("nodes-{file}{}-{}", node.role, node.name), chart)
    };
    Ok(busiest.into_iter().map(picture).collect())
}

fn began(stage: &StageRecord) -> Option<Timestamp> {
    stage.load_started.or(stage.started)
}

fn nanoseconds(at: Timestamp) -> Option<u64> {
    u64::try_from(at.as_nanosecond()).ok()
}

fn chart(
    node: &NodeName,
    course: &Course,
    figures: &[(usize, String)],
    stretch: Stretch,
    stages: &[&StageRecord],
) -> Chart {
    let known = |number: usize| course.bins.keys().any(|(figure, _)| *figure == number);
    let lines = figures.iter().filter(|(number, _)| known(*number)).enumerate();
    let mut series: Vec<Series> = lines
        .map(|(look, (number, name))| {
            Series::new(name.clone(), look, Mark::Line, course.points(*number, stretch.bin_s()))
        })
        .collect();
    let marks: Vec<(f64, &str)> = stages
        .iter()
        .filter_map(|stage| Some((stretch.second(nanoseconds(began(stage)?)?), stage.name.as_str())))
        .collect();
    for (at_s, name) in &marks {
        let at_s = *at_s;
        let end_s = stretch.second(stretch.to_ns);
        let next_s = marks.iter().map(|mark| mark.0).filter(|other| *other > at_s).fold(end_s, f64::min);
        let mut mark = Series::new("", 0, Mark::Guide, vec![(at_s, 0.0), (at_s, 100.0)]);
        if next_s - at_s >= ROOM_OF_NAME * end_s {
            mark.words = vec![(at_s, 100.0, (*name).to_owned())];
        }
        series.push(mark);
    }
    let mut left = Axis::new("Share of the time in which it was busy (%)", Scale::FromZero);
    left.at_least = Some(100.0);
    let lost = course.lost.as_ref().map(|why| format!(" It did not answer for a while: {why}."));
    Chart {
        title: String::new(),
        x: Axis::new("Time since the load began (s)", Scale::FromZero),
        left,
        right: None,
        series,
        note: format!(
            "Dashed: where a stage began. A gap: nothing is known. Read by {}.{}",
            node.source,
            lost.unwrap_or_default()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_metrics::nodes::quantity::{CPU_BUSY, DISK_BUSY};

    const S: u64 = 1_000_000_000;
    const STRETCH: Stretch = Stretch { from_ns: 100 * S, to_ns: 700 * S };

    fn look(second: u64, busy_s: Option<f64>) -> NodeLook {
        let node = Arc::new(NodeName { name: "p".into(), role: "proxy".into(), source: "local".into() });
        let at_ns = second * S;
        let Some(busy_s) = busy_s else {
            return NodeLook { node, found: Found::Lost { at_ns, why: "gone".into() } };
        };
        let mut reading = Reading { at_ns, samples: Vec::new() };
        reading.add(&CPU_BUSY, "cpu0", busy_s);
        reading.add(&DISK_BUSY, "sda", busy_s / 2.0);
        NodeLook { node, found: Found::Reading { reading: Arc::new(reading), age_ns: 0 } }
    }

    #[test]
    fn a_machine_has_the_shares_of_each_stretch_and_a_gap_where_it_did_not_answer() {
        let mut course = Course::default();
        for (second, busy_s) in [
            (90, Some(0.0)),
            (110, Some(10.0)),
            (120, Some(20.0)),
            (121, None),
            (130, Some(21.0)),
            (140, Some(23.5)),
        ] {
            course.add(&look(second, busy_s), STRETCH);
        }
        let figures = figures();
        let of = |name: &str| figures.iter().find(|(_, own)| own == name).unwrap().0;
        let (all, disk) = (of("Processors, all"), of("Busiest disk"));
        // Bins of a second, counted from the beginning of the load.
        let seen = |bin| (course.percent(all, bin), course.percent(disk, bin));
        assert_eq!((seen(0), seen(9)), ((Some(50.0), Some(25.0)), (Some(50.0), Some(25.0))));
        assert_eq!((seen(10), seen(19)), ((Some(100.0), Some(50.0)), (Some(100.0), Some(50.0))));
        assert_eq!((seen(20), seen(29)), ((None, None), (None, None)), "while it did not answer");
        assert_eq!(
            (seen(30), seen(39), seen(40)),
            ((Some(25.0), Some(12.5)), (Some(25.0), Some(12.5)), (None, None))
        );
        let points = course.points(all, STRETCH.bin_s());
        let known: Vec<_> = points.iter().filter(|(_, y)| y.is_finite()).copied().collect();
        assert_eq!(
            known,
            [(0.0, 50.0), (10.0, 50.0), (10.0, 100.0), (20.0, 100.0), (30.0, 25.0), (40.0, 25.0)]
        );
        assert_eq!(points.last().map(|last| (last.0, last.1.is_nan())), Some((600.0, true)));
        let broken = points.iter().position(|(_, y)| y.is_nan()).unwrap();
        assert_eq!(broken, 4, "the line breaks between what is known before and after");
    }

    #[test]
    fn pieces_of_a_stretch_are_as_long_as_it_is_and_an_empty_one_has_none() {
        for (from_s, to_s) in [(0.0, 600.0), (0.25, 0.5), (7.5, 9.25), (599.5, 600.0)] {
            let sum: f64 = pieces(from_s, to_s, 1.0).map(|(_, seconds)| seconds).sum();
            assert!((sum - (to_s - from_s)).abs() < 1e-9, "{from_s} {to_s} {sum}");
        }
        assert_eq!(pieces(5.0, 5.0, 1.0).count(), 0);
        assert_eq!(pieces(0.0, 0.0, 0.0).count(), 0);
    }
}
