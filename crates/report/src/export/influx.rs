//! InfluxDB's line protocol: intervals from the histogram log, then the results.

use std::collections::BTreeMap;
use std::io::Write;

use cosmark_archive::{Run, TimeKind};

use super::encode::{escaped_tag, influx};
use super::{ExportError, run_points, run_points::end_ns};

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

/// One line `cosmark_interval` per line of the histogram log, one line `cosmark_event` per event, then the metrics of [`super::point::NAMES`].
pub fn lines(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let base = run.record.submitted.unwrap_or_default().as_nanosecond();
    let (id, name) = (escaped_tag(&run.record.id), escaped_tag(&run.record.name));
    let mut times = OwnTimes::default();
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
        #[expect(clippy::cast_precision_loss, reason = "times below an hour in ns fit 53 bits")]
        let ms = |ns: u64| ns as f64 / 1e6;
        let end = base + i128::try_from((entry.start + entry.length).as_nanos()).unwrap_or_default();
        let end = times.of(&entry.tag, end);
        writeln!(
            out,
            "cosmark_interval,kind={},operation={},phase={phase},run={id},workload={name} count={}i,mean_ms={},p50_ms={},\
             p90_ms={},p99_ms={},max_ms={},length_s={} {end}",
            escaped_tag(kind),
            escaped_tag(operation),
            histogram.len(),
            histogram.mean() / 1e6,
            ms(histogram.value_at_quantile(0.5)),
            ms(histogram.value_at_quantile(0.9)),
            ms(histogram.value_at_quantile(0.99)),
            ms(histogram.max()),
            entry.length.as_secs_f64(),
        )?;
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
