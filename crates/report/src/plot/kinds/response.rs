//! Response times: their distribution in buckets, on an axis of percentiles, and as a table.

use super::{Pick, distinct, labels, name_of, note, picks, title};
use crate::plot::chart::{Axis, Chart, Mark, Scale, Series, Side};
use crate::plot::metric::time_unit;
use crate::plot::table::TextTable;
use crate::plot::{Distribution, Picture, PlotError, PlotRun, Wishes};
use cosmark_workload::units::rounded_share;

/// With more curves than this a frame is cut into one per stage.
pub(super) const MOST_CURVES: usize = 8;
/// Buckets of a histogram of ours, about.
const BUCKETS: f64 = 120.0;
/// A curve ends where fewer operations than this lie beyond.
pub(super) const BEYOND: u64 = 10;

#[expect(clippy::cast_precision_loss, reason = "a drawing needs no more than 53 bits")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Picks whose archive has the distribution.
pub(super) fn distributions<'r>(picks: &[Pick<'r>]) -> Result<Vec<(Pick<'r>, Distribution)>, PlotError> {
    let mut found = Vec::new();
    for pick in picks {
        if let Some(distribution) = pick.run.distribution(pick.stage, pick.op)?
            && distribution.count() > 0
        {
            found.push((pick.clone(), distribution));
        }
    }
    if found.is_empty() {
        return Err(PlotError::Nothing("the archives hold no distribution of these operations".to_owned()));
    }
    Ok(found)
}

fn cut_note(all: &[(Pick<'_>, Distribution)]) -> &'static str {
    if all.iter().all(|(_, distribution)| distribution.complete) {
        ""
    } else {
        "A histogram file was cut; the longest times are missing. "
    }
}

/// Groups of curves, each for one frame, with what the frame is called.
pub(super) fn frames<'r>(found: &[(Pick<'r>, Distribution)]) -> Vec<(String, Vec<(Pick<'r>, Distribution)>)> {
    let picks: Vec<Pick<'r>> = found.iter().map(|(pick, _)| pick.clone()).collect();
    let mut frames = Vec::new();
    for label in labels(&picks) {
        let own: Vec<_> = found.iter().filter(|(pick, _)| pick.label == label).cloned().collect();
        if own.len() <= MOST_CURVES {
            frames.push((label.to_owned(), own));
            continue;
        }
        for caption in distinct(own.iter().map(|(pick, _)| pick.caption.clone())) {
            let stage = own.iter().filter(|(pick, _)| pick.caption == caption).cloned().collect();
            frames.push((format!("{label}, {caption}"), stage));
        }
    }
    frames
}

/// Response times against percentiles.
pub fn cdf(runs: &[PlotRun], wishes: &Wishes) -> Result<Vec<Picture>, PlotError> {
    let found = distributions(&picks(runs, wishes)?)?;
    let mut pictures = Vec::new();
    for (name, own) in frames(&found) {
        let picks: Vec<Pick<'_>> = own.iter().map(|(pick, _)| pick.clone()).collect();
        let curves: Vec<Vec<(f64, f64)>> = own.iter().map(|(_, distribution)| shares(distribution)).collect();
        let all = || curves.iter().flatten().map(|(_, y)| *y).filter(|y| *y > 0.0 && y.is_finite());
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        if curves.iter().all(|curve| curve.len() < 2) {
            continue;
        }
        let (size, unit) = time_unit(most);
        let series = curves.into_iter().zip(&picks).enumerate().map(|(look, (curve, pick))| {
            let points = curve.into_iter().map(|(x, y)| (x, y / size)).collect();
            Series::new(name_of(pick, &picks), look, Mark::Line, points)
        });
        let scale = if most / least > 5.0 { Scale::Log } else { Scale::FromZero };
        let text = format!(
            "{}A curve ends where fewer than {BEYOND} operations lie beyond. {}",
            cut_note(&own),
            note(&picks, true)
        );
        let chart = Chart {
            title: title(wishes, format!("Response time of {name}")),
            x: Axis::new("Share of operations", Scale::Percentile),
            left: Axis::new(format!("Response time ({unit})"), scale),
            right: None,
            series: series.collect(),
            note: text,
        };
        pictures.push(Picture::chart(format!("cdf-{name}"), chart));
    }
    if pictures.is_empty() {
        return Err(PlotError::Nothing(format!("a curve needs more than {BEYOND} operations")));
    }
    Ok(pictures)
}

/// Share of operations that took no longer, and how long; ends with ten operations beyond.
fn shares(distribution: &Distribution) -> Vec<(f64, f64)> {
    let total = distribution.count();
    let mut points = Vec::new();
    let mut below = 0;
    for (ms, count) in &distribution.steps {
        if total - below <= BEYOND || !ms.is_finite() {
            break;
        }
        if points.is_empty() {
            points.push((0.0, *ms));
        }
        points.push((float(below) / float(total), *ms));
        below += count;
        let reached = float(below.min(total - BEYOND.min(total))) / float(total);
        points.push((reached, *ms));
    }
    points.dedup();
    points
}

/// Counts in buckets (dotted, left) and their sum (drawn through, right).
pub fn histogram(runs: &[PlotRun], wishes: &Wishes) -> Result<Vec<Picture>, PlotError> {
    let found = distributions(&picks(runs, wishes)?)?;
    let mut pictures = Vec::new();
    for place in distinct(found.iter().map(|(pick, _)| (pick.caption.clone(), pick.label.clone()))) {
        let own: Vec<_> = found
            .iter()
            .filter(|(pick, _)| (&pick.caption, &pick.label) == (&place.0, &place.1))
            .cloned()
            .collect();
        for part in own.chunks(MOST_CURVES) {
            let chart = histogram_of(part, &place, wishes);
            pictures.push(Picture::chart(format!("histogram-{}-{}", place.0, place.1), chart));
        }
    }
    Ok(pictures)
}

fn histogram_of(own: &[(Pick<'_>, Distribution)], place: &(String, String), wishes: &Wishes) -> Chart {
    let picks: Vec<Pick<'_>> = own.iter().map(|(pick, _)| pick.clone()).collect();
    let end = own.iter().map(|(_, distribution)| end_of(distribution)).fold(0.0, f64::max).max(1e-6);
    let coarse = own.iter().filter_map(|(_, distribution)| distribution.bucket_ms).fold(0.0, f64::max);
    let width =
        if coarse > 0.0 { coarse * (end / BUCKETS / coarse).ceil().max(1.0) } else { rounded(end / BUCKETS) };
    let (size, unit) = time_unit(end);
    let mut series = Vec::new();
    for (look, (pick, distribution)) in own.iter().enumerate() {
        let (counts, sums, _) = buckets(distribution, width, end);
        let name = name_of(pick, &picks);
        let head = if picks.len() > 1 { format!("{name}: ") } else { String::new() };
        let scaled =
            |points: Vec<(f64, f64)>| points.into_iter().map(|(x, y)| (x / size, y)).collect::<Vec<_>>();
        let mut steps = Series::new(format!("{head}operations"), look, Mark::Steps, scaled(counts));
        steps.side = Side::Left;
        let mut sum = Series::new(format!("{head}share so far"), look, Mark::Line, scaled(sums));
        sum.side = Side::Right;
        series.extend([steps, sum]);
    }
    let beyond: Vec<String> = own
        .iter()
        .filter_map(|(pick, distribution)| {
            let beyond = buckets(distribution, width, end).2;
            (beyond > 0).then(|| format!("{} {beyond}", name_of(pick, &picks)))
        })
        .collect();
    let beyond = if beyond.is_empty() {
        String::new()
    } else {
        format!("Operations beyond the right edge: {}. ", beyond.join(", "))
    };
    let mut right = Axis::new("Share of operations (%)", Scale::FromZero);
    right.at_least = Some(100.0);
    let (shown, small) = time_unit(width);
    Chart {
        title: title(wishes, format!("Response times: {} of stage {}", place.1, place.0)),
        x: Axis::new(format!("Response time ({unit})"), Scale::FromZero),
        left: Axis::new(format!("Operations per {} {small}", trimmed(width / shown)), Scale::FromZero),
        right: Some(right),
        series,
        note: format!("{}{beyond}{}", cut_note(own), note(&picks, true)),
    }
}

/// Where the picture ends: the 99.9th percentile, or the last time where there are few.
fn end_of(distribution: &Distribution) -> f64 {
    let total = distribution.count();
    let wanted = (float(total) * 0.999).ceil();
    let mut below = 0;
    let mut last = 0.0;
    for (ms, count) in distribution.steps.iter().filter(|(ms, _)| ms.is_finite()) {
        below += count;
        last = *ms;
        if float(below) >= wanted {
            break;
        }
    }
    last
}

/// 1, 2 or 5 times a power of ten.
fn rounded(step: f64) -> f64 {
    let power = 10_f64.powf(step.max(1e-6).log10().floor());
    power * [1.0, 2.0, 5.0].into_iter().find(|round| step <= round * power).unwrap_or(10.0)
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Right edge and count of each bucket, right edge and per cent so far, and how many lie beyond `end`.
#[expect(clippy::type_complexity, reason = "two curves and a number")]
fn buckets(distribution: &Distribution, width: f64, end: f64) -> (Vec<(f64, f64)>, Vec<(f64, f64)>, u64) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred")]
    let number = (end / width - 1e-9).ceil().clamp(1.0, 2000.0) as usize;
    let mut counts = vec![0_u64; number];
    let mut beyond = 0;
    for (ms, count) in &distribution.steps {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bounded by the next line"
        )]
        let at = (ms / width - 1e-6).floor().clamp(0.0, 1e9) as usize;
        match counts.get_mut(at) {
            Some(bucket) => *bucket += count,
            None => beyond += count,
        }
    }
    let total = float(distribution.count());
    let mut sum = 0;
    let (mut steps, mut sums) = (vec![(0.0, 0.0)], vec![(0.0, 0.0)]);
    for (at, count) in counts.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let (from, edge) = (at as f64 * width, (at + 1) as f64 * width);
        sum += count;
        steps.push((from, float(*count)));
        steps.push((edge, float(*count)));
        sums.push((edge, float(sum) / total * 100.0));
    }
    (steps, sums, beyond)
}

/// The table of percentiles, as picture and CSV.
pub fn percentiles(runs: &[PlotRun], wishes: &Wishes) -> Result<Vec<Picture>, PlotError> {
    const SHARES: [(f64, &str); 8] = [
        (0.5, "50 %"),
        (0.6, "60 %"),
        (0.8, "80 %"),
        (0.9, "90 %"),
        (0.95, "95 %"),
        (0.99, "99 %"),
        (0.999, "99.9 %"),
        (1.0, "max"),
    ];
    let picks = picks(runs, wishes)?;
    let used: Vec<(f64, &str)> = SHARES
        .into_iter()
        .filter(|(share, _)| picks.iter().any(|pick| pick.op.percentile(*share).is_some()))
        .collect();
    let mut head: Vec<String> =
        ["run", "stage", "operation", "count", "failed", "mean"].map(str::to_owned).to_vec();
    let mut csv_head: Vec<String> =
        ["run", "stage", "operation", "count", "success_ratio", "mean_ms"].map(str::to_owned).to_vec();
    for (share, name) in &used {
        head.push((*name).to_owned());
        csv_head.push(if *share < 1.0 {
            format!("p{}_ms", trimmed(share * 100.0).replace('.', "_"))
        } else {
            "max_ms".to_owned()
        });
    }
    let mut rows = Vec::new();
    let mut csv = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    // Writing to memory cannot fail.
    drop(csv.write_record(&csv_head));
    for pick in &picks {
        let op = pick.op;
        let values = || {
            std::iter::once(op.result.response_ms.mean)
                .chain(used.iter().map(|(share, _)| op.percentile(*share)))
        };
        let exact = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let failed =
            op.result.success_ratio.map_or_else(|| "-".to_owned(), |ratio| rounded_share(1.0 - ratio));
        let names = [pick.run.label.clone(), pick.caption.clone(), pick.label.clone()];
        let mut row = names.to_vec();
        row.extend([crate::plot::scale::number(float(op.result.ok), 1.0), failed]);
        row.extend(values().map(|value| value.map_or_else(|| "-".to_owned(), precise)));
        rows.push(row);
        let mut line = names.to_vec();
        line.extend([op.result.ok.to_string(), exact(op.result.success_ratio)]);
        line.extend(values().map(exact));
        drop(csv.write_record(line.iter().map(|cell| cosmark_archive::harmless(cell).into_owned())));
    }
    let text = csv.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let mut below = "- = not in the archive, or fewer than ten operations lie beyond.".to_owned();
    if picks.iter().any(|pick| pick.run.is_cosbench()) {
        below.push_str(" COSBench's percentiles are upper edges of buckets of 10 ms.");
    }
    let table = TextTable {
        title: title(wishes, "Response times in ms".to_owned()),
        head,
        names: 3,
        rows,
        note: below,
    };
    Ok(vec![Picture::table("percentiles".to_owned(), table, text)])
}

/// Three digits that count.
pub(super) fn precise(ms: f64) -> String {
    if ms <= 0.0 {
        return "0".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let digits = (2.0 - ms.log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{ms:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_below_a_microsecond_have_three_digits_that_count() {
        let texts = [0.0, 0.000_000_481, 0.000_481, 0.0123, 4.976_639, 12_345.0].map(precise);
        assert_eq!(texts, ["0", "0.000000481", "0.000481", "0.0123", "4.98", "12345"]);
    }

    #[test]
    fn a_fast_store_has_more_than_one_bar() {
        // 0.2 to 0.4 ms in steps of a microsecond, most around 0.3 ms, and one late operation in a thousand.
        let near = |at: u32| 1 + u64::from(100 - at.abs_diff(300).min(100));
        let steps = (200..=400).map(|at| (f64::from(at) / 1000.0, near(at))).chain([(30.0, 10)]);
        let fast = Distribution { steps: steps.collect(), bucket_ms: None, complete: true };
        let end = end_of(&fast);
        assert!(end <= 0.4, "{end}: the late one is beyond the picture");
        let (bars, sums, beyond) = buckets(&fast, rounded(end / BUCKETS), end);
        let filled = bars.iter().skip(1).step_by(2).filter(|(_, count)| *count > 0.0).count();
        assert!(filled > 8, "{filled} bars");
        assert_eq!(beyond, 10);
        assert!(sums.last().is_some_and(|(_, share)| *share > 99.0 && *share < 100.0));
    }
}
