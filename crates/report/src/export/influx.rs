//! InfluxDB's line protocol: intervals from the histogram log, those without a success from `intervals.csv`, then the results.

use std::collections::BTreeMap;
use std::io::Write;

use cosmark_archive::{Run, TimeKind};
use cosmark_metrics::PERCENTILES;

use super::encode::{escaped_tag, influx};
use super::point::Labels;
use super::run_points::{end_ns, labels_of};
use super::{ExportError, began_ns, run_points};

/// Times that no two points of one series share: of two points of one time and the same tags the database has the last alone.
#[derive(Default)]
struct OwnTimes {
    /// Of each series the latest time, and how many points came behind it.
    series: BTreeMap<String, (i128, i128)>,
}

impl OwnTimes {
    /// A time as it is, or by as many nanoseconds later as there were such points. What a driver delivers late is a point of
    /// an interval that has one.
    fn of(&mut self, series: &str, at: i128) -> i128 {
        let Some((latest, late)) = self.series.get_mut(series) else {
            self.series.insert(series.to_owned(), (at, 0));
            return at;
        };
        if at > *latest {
            *latest = at;
            return at;
        }
        *late += 1;
        at + *late
    }
}

/// A stretch of time that nothing covers for less than this is a border that was rounded, ns.
const LEAST_GAP_NS: i128 = 50_000_000;

/// Stretches of time, from and to in ns since 1970.
type Stretches = Vec<(i128, i128)>;

/// Adds a stretch, to the one before where it follows that.
fn cover(stretches: &mut Stretches, from: i128, to: i128) {
    match stretches.last_mut() {
        Some(last) if (last.0..=last.1).contains(&from) => last.1 = last.1.max(to),
        _ => stretches.push((from, to)),
    }
}

/// What of some stretches the others do not cover, in order.
fn uncovered(mut stretches: Stretches, mut others: Stretches) -> Stretches {
    stretches.sort_unstable();
    others.sort_unstable();
    let mut covered = Stretches::new();
    others.into_iter().for_each(|(from, to)| cover(&mut covered, from, to));
    let mut gaps = Stretches::new();
    // Several drivers have the same intervals.
    let mut reached = i128::MIN;
    for (from, to) in stretches {
        let mut at = from.max(reached);
        let first = covered.partition_point(|(_, end)| *end <= from);
        for (begin, end) in covered.iter().skip(first).take_while(|(begin, _)| *begin < to) {
            gaps.push((at, *begin));
            at = at.max(*end);
        }
        gaps.push((at, to));
        reached = reached.max(to);
    }
    gaps.retain(|(from, to)| to - from >= LEAST_GAP_NS);
    gaps
}

/// Tag of an operation and phase.
type Place = (String, String);

/// Labels of a line by the tag that the log has for its operation: those of the metrics of the same run.
fn labels(run: &Run) -> BTreeMap<&str, Labels> {
    let each = run.record.stages.iter().flat_map(|stage| stage.operations.iter().map(move |op| (stage, op)));
    each.map(|(stage, op)| (op.tag.as_str(), labels_of(run, stage, op))).collect()
}

/// What a line is of: its measurement and its tags, sorted by name.
fn series(run: &Run, labels: &BTreeMap<&str, Labels>, (tag, phase): (&str, &str), kind: &str) -> String {
    let mut tags: Vec<(&str, &str)> = match labels.get(tag) {
        Some(labels) => labels.iter().map(|(name, value)| (*name, value.as_str())).collect(),
        None => {
            let (run, workload) = (run.record.id.as_str(), run.record.name.as_str());
            vec![("operation", tag), ("run", run), ("workload", workload)]
        }
    };
    tags.extend([("kind", kind), ("phase", phase)]);
    tags.sort_unstable();
    // A tag without a value is none.
    let tags = tags.into_iter().filter(|(_, value)| !value.is_empty());
    let tags: String = tags.map(|(name, value)| format!(",{name}={}", escaped_tag(value))).collect();
    format!("cosmark_interval{tags}")
}

/// A field for each percentile of these that the data supports.
fn percentiles(histogram: &hdrhistogram::Histogram<u64>) -> String {
    const SHOWN: [&str; 3] = ["p50", "p90", "p99"];
    #[expect(clippy::cast_precision_loss, reason = "times below an hour in ns fit 53 bits")]
    let ms = |ns: u64| ns as f64 / 1e6;
    let known = PERCENTILES.iter().filter(|percentile| SHOWN.contains(&percentile.name));
    known
        .filter(|percentile| histogram.len() >= percentile.needs())
        .map(|one| format!(",{}_ms={}", one.name, ms(histogram.value_at_quantile(one.quantile))))
        .collect()
}

/// When each operation ran, by the lines of `intervals.csv`, and how many succeeded.
fn ran(run: &Run) -> Result<BTreeMap<Place, (Stretches, u64)>, ExportError> {
    let began = began_ns(run);
    let mut ran: BTreeMap<Place, (Stretches, u64)> = BTreeMap::new();
    run.intervals(|line| {
        let Some(began) = began.get(line.stage.as_str()) else { return };
        #[expect(clippy::cast_possible_truncation, reason = "no run is so long")]
        let ns = |seconds: f64| began + (seconds * 1e9) as i128;
        let (stretches, ok) = ran.entry((line.tag, line.phase)).or_default();
        stretches.push((ns(line.start_s), ns(line.end_s)));
        *ok += line.ok;
    })?;
    Ok(ran)
}

/// One line `cosmark_interval` per line of the histogram log, and one for each stretch in which an operation had none because nothing
/// succeeded, one line `cosmark_event` per event, then the metrics of [`super::point::NAMES`].
pub fn lines(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let base = run.record.submitted.unwrap_or_default().as_nanosecond();
    let name = escaped_tag(&run.record.name);
    let id = escaped_tag(&run.record.id);
    let labels = labels(run);
    let mut times = OwnTimes::default();
    let mut logged: BTreeMap<Place, Stretches> = BTreeMap::new();
    let log = if run.path.join("histograms.hlog").is_file() { Some(run.histograms()?) } else { None };
    for entry in log.into_iter().flatten() {
        let entry = entry?;
        // <tag of the operation>.<kind of time>[.<phase>]
        let (tag, phase) = match entry.tag.rsplit_once('.') {
            Some((tag, phase @ ("rampup" | "rampdown" | "drain"))) => (tag, phase),
            _ => (entry.tag.as_str(), "window"),
        };
        let Some((operation, kind)) = tag.rsplit_once('.') else { continue };
        // The others are of a class of sizes over the whole window.
        if !TimeKind::ALL.iter().any(|time| time.word() == kind) {
            continue;
        }
        let histogram = &entry.histogram;
        let nanos = |time: std::time::Duration| i128::try_from(time.as_nanos()).unwrap_or_default();
        let end = base + nanos(entry.start + entry.length);
        if kind == TimeKind::Response.word() {
            let place = (operation.to_owned(), phase.to_owned());
            cover(logged.entry(place).or_default(), base + nanos(entry.start), end);
        }
        let end = times.of(&entry.tag, end);
        #[expect(clippy::cast_precision_loss, reason = "times below an hour in ns fit 53 bits")]
        let most_ms = histogram.max() as f64 / 1e6;
        writeln!(
            out,
            "{} count={}i,mean_ms={}{},max_ms={most_ms},length_s={} {end}",
            series(run, &labels, (operation, phase), kind),
            histogram.len(),
            histogram.mean() / 1e6,
            percentiles(histogram),
            entry.length.as_secs_f64(),
        )?;
    }
    for ((tag, phase), (stretches, ok)) in ran(run)? {
        let own = logged.remove(&(tag.clone(), phase.clone()));
        // Of a work without a histogram nothing is in the log.
        if own.is_none() && ok > 0 {
            continue;
        }
        let series = series(run, &labels, (tag.as_str(), phase.as_str()), TimeKind::Response.word());
        for (from, to) in uncovered(stretches, own.unwrap_or_default()) {
            #[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
            let length_s = (to - from) as f64 / 1e9;
            writeln!(out, "{series} count=0i,length_s={length_s} {to}")?;
        }
    }
    for event in run.events()? {
        let stage =
            event.stage.as_deref().map(|stage| format!(",stage={}", escaped_tag(stage))).unwrap_or_default();
        let text = event.text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
        let kind = event.kind.word();
        let at = times.of(&format!("event {kind}{stage}"), event.at.as_nanosecond());
        writeln!(out, "cosmark_event,kind={kind},run={id}{stage},workload={name} text=\"{text}\" {at}")?;
    }
    let results = influx(&run_points(run)?, end_ns(run));
    Ok(out.write_all(results.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_line_covers_is_found_and_rounded_borders_are_not() {
        let ns = |ms: i128| ms * 1_000_000;
        let of = |spans: &[(i128, i128)]| -> Stretches {
            spans.iter().map(|(from, to)| (ns(*from), ns(*to))).collect()
        };
        // Two drivers, and a log whose borders are a millisecond off.
        let ran = of(&[(0, 5000), (5000, 10_000), (0, 5000), (5000, 10_000), (10_000, 12_500)]);
        let logged = of(&[(0, 1001), (1001, 2000), (4000, 5000), (5001, 10_000), (6000, 7000)]);
        assert_eq!(uncovered(ran.clone(), logged), of(&[(2000, 4000), (10_000, 12_500)]));
        assert_eq!(uncovered(ran, Vec::new()), of(&[(0, 5000), (5000, 10_000), (10_000, 12_500)]));
    }
}
