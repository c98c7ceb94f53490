//! Violins: how response times are spread, on a log axis, of operations and of classes of sizes, of several runs side by side. From
//! merged histograms; the density is that of the logarithms of the times, smoothed (Silverman 1986, 3.4).

use cosmark_archive::harmless;

use super::response::{BEYOND, MOST_CURVES, distributions, precise};
use super::{Pick, distinct, labels, name_of, note, picks, title};
use crate::plot::chart::{Axis, Chart, Mark, Outline, Scale, Series};
use crate::plot::metric::time_unit;
use crate::plot::scale::number;
use crate::plot::table::TextTable;
use crate::plot::{Distribution, Picture, PlotError, PlotRun, Shown, Wishes as Options};

/// Fewer operations have no shape that could be told from chance.
const LEAST_FOR_SHAPE: u64 = 100;
/// Values at which a density is computed.
const STEPS: u32 = 160;
/// How far one operation is smeared, decades: no less, no more.
const SMEARED: (f64, f64) = (0.008, 0.08);
/// Buckets of COSBench that are wider than this share of the times in them say nothing of a shape.
const COARSE: f64 = 0.25;
/// More shapes than this are not told apart in one picture.
const MOST_SHAPES: usize = 24;
/// Quantiles that are marked above the median, and their names.
const MARKED: [(f64, &str); 3] = [(0.95, "95 %"), (0.99, "99 %"), (0.999, "99.9 %")];

/// One shape: in which series, at which name.
struct Shape {
    series: String,
    name: String,
    times: Distribution,
}

#[expect(clippy::cast_precision_loss, reason = "a drawing needs no more than 53 bits")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Pictures of operations, then of the sizes of each operation that has several.
pub fn violin(runs: &[PlotRun], options: &Options) -> Result<Vec<Picture>, PlotError> {
    let picks = picks(runs, options)?;
    let mut pictures = Vec::new();
    let mut too_few = None;
    let mut draw = |name: String, heading: String, shapes: Vec<Shape>, picks: &[Pick<'_>]| {
        let picture = picture_of(name, &heading, &shapes, picks, options);
        match picture {
            Ok(picture) => pictures.push(picture),
            Err(why) => drop(too_few.get_or_insert(why)),
        }
    };
    for (ending, own) in frames(&distributions(&picks)?) {
        let picks: Vec<Pick<'_>> = own.iter().map(|(pick, _)| pick.clone()).collect();
        let of = labels(&picks);
        let heading = match of.as_slice() {
            [only] => format!("Response times of {only}"),
            _ => "Response times by operation".to_owned(),
        };
        let several = of.len() > 1;
        let shapes = own.iter().map(|(pick, times)| {
            let (series, name) = match several {
                true => (name_of(pick, &picks), pick.label.clone()),
                false => (String::new(), name_of(pick, &picks)),
            };
            Shape { series, name, times: times.clone() }
        });
        draw(format!("violin{ending}"), heading, shapes.collect(), &picks);
    }
    for label in labels(&picks) {
        let own: Vec<Pick<'_>> = picks.iter().filter(|pick| pick.label == label).cloned().collect();
        for part in own.chunks(MOST_CURVES) {
            let shapes = by_size(part)?;
            if !shapes.is_empty() {
                let heading = format!("Response times of {label} by size of object");
                draw(format!("violin-sizes-{label}"), heading, shapes, part);
            }
        }
    }
    match (pictures.is_empty(), too_few) {
        (true, Some(why)) => Err(PlotError::Nothing(why)),
        _ => Ok(pictures),
    }
}

/// Sets of operations that fit into one picture, with what its name ends in.
type Frame<'r> = (String, Vec<(Pick<'r>, Distribution)>);

fn frames<'r>(found: &[(Pick<'r>, Distribution)]) -> Vec<Frame<'r>> {
    let place = |pick: &Pick<'_>| (pick.run_at, pick.stage_at);
    let series = distinct(found.iter().map(|(pick, _)| place(pick))).len();
    let operations = distinct(found.iter().map(|(pick, _)| pick.label.as_str()));
    // Every series takes room at every name, whether it has something there or not.
    let room = series * operations.len();
    if (series <= MOST_CURVES || operations.len() == 1) && room <= MOST_SHAPES {
        return vec![(String::new(), found.to_vec())];
    }
    let mut frames = Vec::new();
    for label in operations {
        let own: Vec<_> = found.iter().filter(|(pick, _)| pick.label == label).cloned().collect();
        frames.extend(own.chunks(MOST_SHAPES).map(|part| (format!("-{label}"), part.to_vec())));
    }
    frames
}

/// Shapes of the classes of sizes of one operation, by size.
fn by_size(picks: &[Pick<'_>]) -> Result<Vec<Shape>, PlotError> {
    let mut found = Vec::new();
    for pick in picks {
        let classes = &pick.op.result.size_classes;
        for (least_bytes, times) in pick.run.distributions_by_size(pick.op)? {
            let class = classes.iter().find(|class| class.least_bytes == least_bytes);
            let name = class.map_or_else(|| format!("{least_bytes} B"), |class| class.label.clone());
            found.push((least_bytes, Shape { series: name_of(pick, picks), name, times }));
        }
    }
    // Stable: runs and stages stay in their order.
    found.sort_by_key(|(least_bytes, _)| *least_bytes);
    Ok(found.into_iter().map(|(_, shape)| shape).collect())
}

/// The time that a share of the operations did not exceed, where ten lie beyond it.
fn quantile(times: &Distribution, share: f64) -> Option<f64> {
    let total = times.count();
    let rank = (share * float(total) - 1e-9).ceil().max(1.0);
    if float(total) - rank < float(BEYOND) {
        return None;
    }
    let mut so_far = 0;
    let reached = |(_, count): &&(f64, u64)| {
        so_far += count;
        float(so_far) >= rank
    };
    times.steps.iter().find(reached).map(|(ms, _)| *ms).filter(|ms| ms.is_finite())
}

/// Why a distribution has no shape; `None` = it has one.
fn withheld(times: &Distribution) -> Option<String> {
    let count = times.count();
    if count < LEAST_FOR_SHAPE {
        return Some(format!("{count} operations"));
    }
    let median = quantile(times, 0.5)?;
    let coarse = times.bucket_ms.is_some_and(|width| width > COARSE * median);
    coarse.then(|| "buckets of 10 ms".to_owned())
}

/// Counts of logarithms (to 10) of times in ms, up to the last time that ten operations exceed.
fn logarithms(times: &Distribution) -> Vec<(f64, f64)> {
    let mut left = times.count();
    let mut all = Vec::new();
    for (ms, count) in times.steps.iter().filter(|(ms, _)| ms.is_finite() && *ms > 0.0) {
        if left <= BEYOND {
            break;
        }
        left = left.saturating_sub(*count);
        // The upper edge of a bucket stands for it; a wide one is spread over its width.
        match times.bucket_ms {
            None => all.push((ms.log10(), float(*count))),
            Some(width) => {
                let part = |at: u32| (ms - width * (f64::from(at) + 0.5) / 8.0).max(width / 16.0);
                all.extend((0..8).rev().map(|at| (part(at).log10(), float(*count) / 8.0)));
            }
        }
    }
    all
}

/// Where it is how wide: times in ms, 1 where most are.
fn widths(times: &Distribution) -> Vec<(f64, f64)> {
    let logs = logarithms(times);
    let total: f64 = logs.iter().map(|(_, count)| count).sum();
    let (Some((low, _)), Some((high, _))) = (logs.first(), logs.last()) else { return Vec::new() };
    let mean = logs.iter().map(|(log, count)| log * count).sum::<f64>() / total;
    let deviation =
        (logs.iter().map(|(log, count)| (log - mean).powi(2) * count).sum::<f64>() / total).sqrt();
    let quartiles = quantile(times, 0.25).zip(quantile(times, 0.75));
    let spread = quartiles.map_or(deviation, |(low, high)| ((high / low).log10() / 1.34).min(deviation));
    let smeared = (0.9 * spread * total.powf(-0.2)).clamp(SMEARED.0, SMEARED.1);
    // All alike: a shape as high as one operation is smeared.
    let (low, high) = if high - low < smeared { (low - smeared, high + smeared) } else { (*low, *high) };
    let density = |step: u32| {
        let at = low + (high - low) * f64::from(step) / f64::from(STEPS);
        let near = logs.iter().filter(|(log, _)| (log - at).abs() < 5.0 * smeared);
        let sum: f64 = near.map(|(log, count)| count * (-0.5 * ((log - at) / smeared).powi(2)).exp()).sum();
        (10_f64.powf(at), sum)
    };
    let shape: Vec<(f64, f64)> = (0..=STEPS).map(density).collect();
    let most = shape.iter().map(|(_, density)| *density).fold(f64::MIN_POSITIVE, f64::max);
    shape.into_iter().map(|(ms, density)| (ms, density / most)).collect()
}

/// The outline of a shape at `x`, in units of `unit_ms`; `None` where there is not even a median.
fn outline_of(times: &Distribution, x: f64, unit_ms: f64) -> Option<Outline> {
    let median = quantile(times, 0.5)?;
    let widths = if withheld(times).is_none() { widths(times) } else { Vec::new() };
    let is_drawn = !widths.is_empty();
    let middle = quantile(times, 0.25).zip(quantile(times, 0.75)).filter(|_| is_drawn);
    let marked = MARKED.iter().filter(|_| is_drawn).filter_map(|(share, _)| quantile(times, *share));
    Some(Outline {
        x,
        widths: widths.into_iter().map(|(ms, width)| (ms / unit_ms, width)).collect(),
        middle: middle.map(|(low, high)| (low / unit_ms, high / unit_ms)),
        median: median / unit_ms,
        marked: marked.map(|ms| ms / unit_ms).collect(),
    })
}

/// The picture; or why there is none.
fn picture_of(
    name: String,
    heading: &str,
    shapes: &[Shape],
    picks: &[Pick<'_>],
    options: &Options,
) -> Result<Picture, String> {
    let names = distinct(shapes.iter().map(|shape| shape.name.as_str()));
    let mut left_out = Vec::new();
    for shape in shapes {
        let what = [shape.name.as_str(), shape.series.as_str()].into_iter().filter(|text| !text.is_empty());
        let what = what.collect::<Vec<_>>().join(" ");
        left_out.extend(withheld(&shape.times).map(|why| format!("{what} ({why})")));
    }
    if left_out.len() == shapes.len() {
        let few = left_out.into_iter().take(4).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "a shape needs {LEAST_FOR_SHAPE} operations and times that are finer than a quarter of the median: {few}"
        ));
    }
    let ends = shapes.iter().filter_map(|shape| quantile(&shape.times, 0.99).or(quantile(&shape.times, 0.5)));
    let (unit_ms, unit) = time_unit(ends.fold(0.0, f64::max));
    let mut series = Vec::new();
    for (look, of) in distinct(shapes.iter().map(|shape| shape.series.as_str())).into_iter().enumerate() {
        let mut one = Series::new(of, look, Mark::Outlines, Vec::new());
        for shape in shapes.iter().filter(|shape| shape.series == of) {
            let at = names.iter().position(|name| *name == shape.name).unwrap_or(0);
            #[expect(clippy::cast_precision_loss, reason = "a few names")]
            one.outlines.extend(outline_of(&shape.times, at as f64, unit_ms));
        }
        series.push(one);
    }
    let few = match left_out.is_empty() {
        true => String::new(),
        false => format!("Too few or too coarse for a shape: {}. ", left_out.join(", ")),
    };
    let text = format!(
        "Each is widest where most operations are, and ends where fewer than {BEYOND} lie beyond. Sign: median; bar: the middle \
         half; ticks: {}. {few}{}",
        MARKED.map(|(_, name)| name).join(", "),
        note(picks, true)
    );
    let chart = Chart {
        title: title(options, heading.to_owned()),
        x: Axis::new("", Scale::Names(names.into_iter().map(str::to_owned).collect())),
        left: Axis::new(format!("Response time ({unit})"), Scale::Log),
        right: None,
        series,
        note: text,
    };
    let (title, note) = (chart.title.clone(), chart.note.clone());
    let mut picture = Picture::chart(name, chart);
    picture.shown = Some(Shown { csv: csv_of(shapes), table: table_of(title, shapes, note) });
    Ok(picture)
}

/// Quantiles of each shape, then its outline: one row for each.
fn csv_of(shapes: &[Shape]) -> String {
    let mut out = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    // Writing to memory cannot fail.
    drop(out.write_record(["series", "name", "operations", "what", "ms", "width"]));
    for shape in shapes {
        let count = shape.times.count().to_string();
        let mut row = |what: &str, ms: f64, width: String| {
            let (ms, cells) = (ms.to_string(), [shape.series.as_str(), &shape.name, &count, what]);
            let cells = cells.into_iter().chain([ms.as_str(), width.as_str()]);
            drop(out.write_record(cells.map(|cell| harmless(cell).into_owned())));
        };
        for (share, what) in
            [(0.25, "p25"), (0.5, "p50"), (0.75, "p75"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99_9")]
        {
            if let Some(ms) = quantile(&shape.times, share) {
                row(what, ms, String::new());
            }
        }
        if withheld(&shape.times).is_none() {
            widths(&shape.times).into_iter().for_each(|(ms, width)| row("outline", ms, width.to_string()));
        }
    }
    out.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// One row for each shape.
fn table_of(title: String, shapes: &[Shape], note: String) -> TextTable {
    let several = shapes.iter().any(|shape| !shape.series.is_empty());
    let row = |shape: &Shape| {
        let series = several.then(|| shape.series.clone());
        let shares = [0.25, 0.5, 0.75].into_iter().chain(MARKED.map(|(share, _)| share));
        let figures =
            shares.map(|share| quantile(&shape.times, share).map_or_else(|| "-".to_owned(), precise));
        let count = number(float(shape.times.count()), 1.0);
        std::iter::once(shape.name.clone()).chain(series).chain([count]).chain(figures).collect()
    };
    let heads = ["operations", "25 %", "50 %", "75 %"].into_iter().chain(MARKED.map(|(_, name)| name));
    let head = [""].into_iter().chain(several.then_some("of")).chain(heads);
    TextTable {
        title,
        head: head.map(str::to_owned).collect(),
        names: if several { 2 } else { 1 },
        rows: shapes.iter().map(row).collect(),
        note: format!("Times in ms. {note}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(steps: &[(f64, u64)]) -> Distribution {
        Distribution { steps: steps.to_vec(), bucket_ms: None, complete: true }
    }

    #[test]
    fn a_shape_is_widest_where_most_are_and_has_a_waist_between_two_modes() {
        // 600 at about 2 ms, 300 at about 200 ms.
        let steps: Vec<(f64, u64)> = (0..60)
            .map(|n| (2.0 + 0.01 * f64::from(n), 10))
            .chain((0..30).map(|n| (200.0 + f64::from(n), 10)))
            .collect();
        let shape = widths(&of(&steps));
        let at =
            |ms: f64| shape.iter().min_by(|a, b| (a.0 - ms).abs().total_cmp(&(b.0 - ms).abs())).unwrap().1;
        assert!(at(2.3) > 0.9 && (0.2..0.9).contains(&at(214.0)) && at(20.0) < 1e-6, "{shape:?}");
        assert_eq!(shape.iter().map(|(_, width)| *width).fold(0.0, f64::max), 1.0);
        assert!(
            shape.windows(2).all(|pair| pair[0].0 < pair[1].0)
                && shape.iter().all(|(ms, w)| ms.is_finite() && *w >= 0.0)
        );
        // The last ten are not part of it.
        assert!(shape.last().unwrap().0 < 229.0, "{:?}", shape.last());
    }

    #[test]
    fn all_alike_have_a_shape_and_few_have_none() {
        let alike = widths(&of(&[(5.0, 1000)]));
        assert!(
            alike.first().unwrap().0 < 5.0 && alike.last().unwrap().0 > 5.0 && alike.last().unwrap().0 < 5.5
        );
        assert_eq!(withheld(&of(&[(5.0, 99)])).as_deref(), Some("99 operations"));
        assert_eq!(withheld(&of(&[(5.0, 100)])), None);
        let few = outline_of(&of(&[(5.0, 60)]), 0.0, 1.0).unwrap();
        assert!(few.widths.is_empty() && few.middle.is_none() && few.marked.is_empty() && few.median == 5.0);
        assert_eq!(outline_of(&of(&[(5.0, 19)]), 0.0, 1.0), None, "not even ten beyond the median");
    }

    #[test]
    fn quantiles_are_those_of_the_counts_and_withheld_where_few_lie_beyond() {
        let even = of(&(1..=1000).map(|n| (f64::from(n), 1)).collect::<Vec<_>>());
        assert_eq!(quantile(&even, 0.5), Some(500.0));
        assert_eq!((quantile(&even, 0.99), quantile(&even, 0.991)), (Some(990.0), None));
        assert_eq!(outline_of(&even, 0.0, 10.0).unwrap().marked, [95.0, 99.0]);
    }

    #[test]
    fn buckets_of_cosbench_have_a_shape_only_where_they_are_narrow() {
        let coarse = |from: u32| Distribution {
            steps: (from..from + 20).map(|n| (10.0 * f64::from(n + 1), 50)).collect(),
            bucket_ms: Some(10.0),
            complete: true,
        };
        assert_eq!(withheld(&coarse(0)), None, "a median of 100 ms");
        let fast = Distribution { steps: vec![(10.0, 900), (20.0, 100)], ..coarse(0) };
        assert_eq!(withheld(&fast).as_deref(), Some("buckets of 10 ms"));
        assert!(widths(&coarse(0)).iter().all(|(ms, width)| *ms > 0.0 && width.is_finite()));
    }
}
