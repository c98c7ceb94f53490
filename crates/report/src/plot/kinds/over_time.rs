//! Values over time, stage by stage or all in one frame.

use super::{Pick, distinct, labels, metrics, name_of, note, picks, title};
use crate::plot::chart::{Axis, Chart, Mark, Scale, Series};
use crate::plot::fit::smooth;
use cosmark_metrics::results::Metric;

use crate::plot::metric::{drawn, of_interval, unit_of};
use crate::plot::{Picture, PlotError, PlotRun, Wishes};

/// More marks than this have no words beside them: nobody could read them.
const MOST_WORDS: usize = 12;

/// One picture per stage, operation and metric; runs with a stage of the same name share it.
pub fn timeline(runs: &[PlotRun], options: &Wishes) -> Result<Vec<Picture>, PlotError> {
    let picks = picks(runs, options)?;
    let metrics = metrics(options, &["throughput", "bandwidth", "response", "success"]);
    let mut pictures = Vec::new();
    for place in distinct(picks.iter().map(|pick| (pick.stage_name.as_str(), pick.label.as_str()))) {
        let own: Vec<Pick<'_>> = picks
            .iter()
            .filter(|pick| (pick.stage_name.as_str(), pick.label.as_str()) == place)
            .cloned()
            .collect();
        for metric in &metrics {
            let heading = format!("{}: {} of stage {}", metric.title, place.1, place.0);
            if let Some(chart) = chart(&own, metric, options, heading, true)? {
                let name = format!("timeline-{}-{}-{}", place.0, place.1, metric.names.plot);
                pictures.push(Picture::chart(name, chart));
            }
        }
    }
    some(pictures)
}

/// One picture per operation and metric with all stages of all runs.
pub fn aggregate(runs: &[PlotRun], options: &Wishes) -> Result<Vec<Picture>, PlotError> {
    let picks = picks(runs, options)?;
    let mut pictures = Vec::new();
    for label in labels(&picks) {
        let own: Vec<Pick<'_>> = picks.iter().filter(|pick| pick.label == label).cloned().collect();
        for metric in metrics(options, &["throughput", "response"]) {
            let heading = format!("{}: {label}, all stages", metric.title);
            if let Some(chart) = chart(&own, metric, options, heading, false)? {
                pictures.push(Picture::chart(format!("aggregate-{label}-{}", metric.names.plot), chart));
            }
        }
    }
    some(pictures)
}

fn some(pictures: Vec<Picture>) -> Result<Vec<Picture>, PlotError> {
    if pictures.is_empty() {
        let known: Vec<&str> =
            drawn().filter(|one| of_interval(one).is_some()).map(|one| one.names.plot).collect();
        return Err(PlotError::Nothing(format!(
            "no stage has two intervals that show this metric; over time there are {}",
            known.join(", ")
        )));
    }
    Ok(pictures)
}

/// `None` when no pick has two intervals with a value.
fn chart(
    picks: &[Pick<'_>],
    metric: &Metric,
    options: &Wishes,
    heading: String,
    with_fit: bool,
) -> Result<Option<Chart>, PlotError> {
    let Some(of_interval) = of_interval(metric) else { return Ok(None) };
    let mut curves = Vec::new();
    let mut first_s = None;
    for pick in picks {
        let timed = pick.run.timed(pick.stage_at)?;
        first_s = first_s.or(Some(timed.first_s));
        let value = |entry: &cosmark_archive::TimelineEntry| {
            entry.operations.get(pick.op_at).and_then(of_interval).unwrap_or(f64::NAN)
        };
        let points: Vec<(f64, f64)> = timed.rows.iter().map(|(at, entry)| (*at, value(entry))).collect();
        curves.push(points);
    }
    let filled = |points: &Vec<(f64, f64)>| points.iter().filter(|(_, y)| y.is_finite()).count();
    let most = curves.iter().flatten().map(|(_, y)| *y).filter(|y| y.is_finite()).fold(0.0, f64::max);
    // A rate of nothing shows nothing; that all operations failed does.
    let whole = (metric.names.plot == "success").then_some(100.0);
    if curves.iter().all(|points| filled(points) < 2) || (most <= 0.0 && whole.is_none()) {
        return Ok(None);
    }
    let (size, unit) = unit_of(metric, most);
    let mut series = Vec::new();
    let mut fitted_any = false;
    for (look, (pick, points)) in picks.iter().zip(curves).enumerate() {
        let points: Vec<(f64, f64)> = points.into_iter().map(|(x, y)| (x, y / size)).collect();
        let known: Vec<(f64, f64)> = points.iter().copied().filter(|(_, y)| y.is_finite()).collect();
        let fitted = if with_fit { fitted(&known, whole) } else { Vec::new() };
        let name = if picks.len() > 1 { name_of(pick, picks) } else { String::new() };
        if fitted.is_empty() {
            series.push(Series::new(name, look, if with_fit { Mark::Marked } else { Mark::Line }, points));
        } else {
            fitted_any = true;
            if !options.only_fit {
                series.push(Series::new("", look, Mark::Thin, points));
            }
            series.push(Series::new(name, look, Mark::Line, fitted));
        }
    }
    if let (true, Some(pick)) = (with_fit, picks.first()) {
        let height = whole.unwrap_or(most / size);
        let marks = pick.run.marks(pick.stage_at)?;
        let is_few = marks.len() <= MOST_WORDS;
        for (since_load_s, word) in marks {
            // The axis begins where the first interval ended.
            let at = (since_load_s - first_s.unwrap_or_default()).max(0.0);
            let mut mark = Series::new("", 0, Mark::Guide, vec![(at, 0.0), (at, height)]);
            mark.words = if is_few { vec![(at, height, word)] } else { Vec::new() };
            series.push(mark);
        }
    }
    let mut text = note(picks, false);
    if fitted_any {
        let thin = if options.only_fit { "" } else { "Thin: as measured, one value per interval. " };
        text = format!("{thin}Bold: least squares, a polynomial of degree 6 at most. {text}");
    }
    let mut left = Axis::new(format!("{} ({unit})", metric.title), Scale::FromZero);
    left.at_least = whole;
    Ok(Some(Chart {
        title: title(options, heading),
        x: Axis::new("Time since the first interval (s)", Scale::FromZero),
        left,
        right: None,
        series,
        note: text,
    }))
}

/// A smooth curve through values, which goes nowhere where no value can be: below 0, or above the whole of a share.
fn fitted(known: &[(f64, f64)], whole: Option<f64>) -> Vec<(f64, f64)> {
    let most = whole.unwrap_or(f64::INFINITY);
    smooth(known).into_iter().map(|(x, y)| (x, y.clamp(0.0, most))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_through_shares_stays_between_nothing_and_all() {
        // All succeed, but for a fault in the middle and one at the end.
        let share = |at: u32| if (28..34).contains(&at) || at > 56 { 0.0 } else { 100.0 };
        let known: Vec<(f64, f64)> = (0..60).map(|at| (f64::from(at), share(at))).collect();
        assert!(smooth(&known).iter().any(|(_, y)| *y > 101.0), "the polynomial itself goes beyond");
        let fitted_shares = fitted(&known, Some(100.0));
        assert!(fitted_shares.iter().all(|(_, y)| (0.0..=100.0).contains(y)), "{fitted_shares:?}");
        let rates = fitted(&known, None);
        assert!(rates.iter().all(|(_, y)| *y >= 0.0) && rates.iter().any(|(_, y)| *y > 100.0), "{rates:?}");
    }
}
