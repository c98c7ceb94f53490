//! Metrics in the formats of others. Sources: Prometheus's exposition formats and OpenMetrics 1.0; OTLP 1.x's protobuf
//! mapping to JSON; Prometheus remote write 1.0 (protobuf in a snappy block); InfluxDB's line protocol.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::point::{EDGES_S, NAMES, Point, PointKind, PointName, PointValue};

/// Media type of [`prometheus`].
pub const PROMETHEUS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Prometheus's text format.
#[must_use]
pub fn prometheus(points: &[Point]) -> String {
    exposition(points, None)
}

/// OpenMetrics 1.0; all points are of the time `at_ns` (nanoseconds since 1970).
#[must_use]
pub fn openmetrics(points: &[Point], at_ns: i128) -> String {
    let mut text = exposition(points, Some(at_ns));
    text.push_str("# EOF\n");
    text
}

fn exposition(points: &[Point], at_ns: Option<i128>) -> String {
    let open = at_ns.is_some();
    let stamp =
        at_ns.map(|ns| format!(" {}.{:09}", ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000)));
    let stamp = stamp.unwrap_or_default();
    let mut text = String::new();
    for name in NAMES.iter() {
        let mut own = points.iter().filter(|point| point.name == name).peekable();
        if own.peek().is_none() {
            continue;
        }
        // OpenMetrics names the family of a counter without `_total`.
        let family = if open { name.name.trim_end_matches("_total") } else { name.name };
        let _ = writeln!(text, "# HELP {family} {}", name.help);
        let kind = match name.kind {
            PointKind::Counter => "counter",
            PointKind::Gauge => "gauge",
            PointKind::Histogram => "histogram",
        };
        let _ = writeln!(text, "# TYPE {family} {kind}");
        for point in own {
            expose(&mut text, point, &stamp);
        }
    }
    text
}

fn expose(text: &mut String, point: &Point, stamp: &str) {
    let name = point.name.name;
    let labels: Vec<String> =
        point.all_labels().map(|(name, value)| format!("{name}=\"{}\"", escaped_label(value))).collect();
    let labels = labels.join(",");
    match &point.value {
        PointValue::Number(value) => {
            let _ = writeln!(text, "{name}{{{labels}}} {value}{stamp}");
        }
        PointValue::Histogram(histogram) => {
            let (counts, sum_s) = histogram.as_ref();
            let mut below = 0;
            for (count, edge) in
                counts.iter().zip(EDGES_S.iter().map(ToString::to_string).chain(["+Inf".into()]))
            {
                below += count;
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{edge}\"}} {below}{stamp}");
            }
            let _ = writeln!(text, "{name}_count{{{labels}}} {below}{stamp}");
            let _ = writeln!(text, "{name}_sum{{{labels}}} {sum_s}{stamp}");
        }
    }
}

fn escaped_label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// OTLP/JSON: an `ExportMetricsServiceRequest`. Sums are cumulative since `start_ns`.
#[must_use]
pub fn otlp_json(points: &[Point], start_ns: i128, now_ns: i128, version: &str) -> Value {
    let metrics: Vec<Value> = NAMES
        .iter()
        .filter_map(|name| {
            let own: Vec<&Point> = points.iter().filter(|point| point.name == name).collect();
            (!own.is_empty()).then(|| otlp_metric(name, &own, start_ns, now_ns))
        })
        .collect();
    json!({ "resourceMetrics": [{
        "resource": { "attributes": [attribute("service.name", "cosmark"), attribute("service.version", version)] },
        "scopeMetrics": [{ "scope": { "name": "cosmark", "version": version }, "metrics": metrics }]
    }] })
}

fn attribute(name: &str, value: &str) -> Value {
    json!({ "key": name, "value": { "stringValue": value } })
}

fn otlp_metric(name: &PointName, points: &[&Point], start_ns: i128, now_ns: i128) -> Value {
    let data: Vec<Value> = points
        .iter()
        .map(|point| {
            let attributes: Vec<Value> =
                point.all_labels().map(|(name, value)| attribute(name, value)).collect();
            let mut data = json!({
                "attributes": attributes,
                "startTimeUnixNano": start_ns.to_string(),
                "timeUnixNano": now_ns.to_string(),
            });
            match &point.value {
                PointValue::Number(value) => data["asDouble"] = json!(value),
                PointValue::Histogram(histogram) => {
                    let (counts, sum_s) = histogram.as_ref();
                    let total: u64 = counts.iter().sum();
                    data["count"] = json!(total.to_string());
                    data["sum"] = json!(sum_s);
                    data["explicitBounds"] = json!(EDGES_S);
                    data["bucketCounts"] = counts.iter().map(|count| json!(count.to_string())).collect();
                }
            }
            data
        })
        .collect();
    // OpenTelemetry's names have dots and no `_total`; receivers for Prometheus add it again.
    let dotted = name.name.trim_end_matches("_total").replacen("cosmark_", "cosmark.", 1);
    let mut metric = json!({ "name": dotted, "unit": name.unit, "description": name.help });
    // 2 = cumulative.
    match name.kind {
        PointKind::Counter => {
            metric["sum"] = json!({ "dataPoints": data, "aggregationTemporality": 2, "isMonotonic": true });
        }
        PointKind::Gauge => metric["gauge"] = json!({ "dataPoints": data }),
        PointKind::Histogram => {
            metric["histogram"] = json!({ "dataPoints": data, "aggregationTemporality": 2 })
        }
    }
    metric
}

/// InfluxDB's line protocol: one line per metric and labels, of the time `now_ns`. A histogram becomes its count, its sum
/// and the counts up to each edge.
#[must_use]
pub fn influx(points: &[Point], now_ns: i128) -> String {
    let mut text = String::new();
    for point in points {
        let mut line = escaped_tag(point.name.name);
        for (name, value) in point.all_labels().filter(|(_, value)| !value.is_empty()) {
            let _ = write!(line, ",{name}={}", escaped_tag(value));
        }
        match &point.value {
            PointValue::Number(value) if value.is_finite() => {
                let _ = write!(line, " value={value}");
            }
            PointValue::Number(_) => continue,
            PointValue::Histogram(histogram) => {
                let (counts, sum_s) = histogram.as_ref();
                let total: u64 = counts.iter().sum();
                let _ = write!(line, " count={total}i,sum={sum_s}");
                let mut below = 0;
                for (count, edge) in counts.iter().zip(EDGES_S) {
                    below += count;
                    let _ = write!(line, ",le_{edge}={below}i");
                }
            }
        }
        let _ = writeln!(text, "{line} {now_ns}");
    }
    text
}

/// A tag's value, a measurement or a field's name: commas, blanks and equal signs are escaped, line breaks become blanks.
#[must_use]
pub fn escaped_tag(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            ',' | ' ' | '=' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => text.push_str("\\ "),
            c => text.push(c),
        }
    }
    text
}

/// Prometheus remote write 1.0: a `WriteRequest` in protobuf, as one snappy block. All samples are of the time `now_ms`
/// (milliseconds since 1970).
///
/// # Errors
/// When the block would be larger than snappy can take (4 GiB).
pub fn remote_write(points: &[Point], now_ms: i64) -> Result<Vec<u8>, snap::Error> {
    let mut request = Vec::new();
    for point in points {
        let name = point.name.name;
        match &point.value {
            PointValue::Number(value) => push_series(&mut request, name, point, None, *value, now_ms),
            PointValue::Histogram(histogram) => {
                let (counts, sum_s) = histogram.as_ref();
                let edges = EDGES_S.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
                let mut below = 0_u64;
                for (count, edge) in counts.iter().zip(edges) {
                    below += count;
                    push_series(
                        &mut request,
                        &format!("{name}_bucket"),
                        point,
                        Some(&edge),
                        float(below),
                        now_ms,
                    );
                }
                push_series(&mut request, &format!("{name}_count"), point, None, float(below), now_ms);
                push_series(&mut request, &format!("{name}_sum"), point, None, *sum_s, now_ms);
            }
        }
    }
    snap::raw::Encoder::new().compress_vec(&request)
}

#[expect(clippy::cast_precision_loss, reason = "samples are doubles")]
fn float(count: u64) -> f64 {
    count as f64
}

/// `WriteRequest.timeseries`: labels ascending by name, then one sample.
fn push_series(request: &mut Vec<u8>, name: &str, point: &Point, le: Option<&str>, value: f64, now_ms: i64) {
    let mut labels: Vec<(&str, &str)> = point.all_labels().filter(|(_, value)| !value.is_empty()).collect();
    labels.push(("__name__", name));
    labels.extend(le.map(|edge| ("le", edge)));
    labels.sort_unstable();
    let mut series = Vec::new();
    for (name, value) in labels {
        let mut label = Vec::new();
        push_bytes(&mut label, 1, name.as_bytes());
        push_bytes(&mut label, 2, value.as_bytes());
        push_bytes(&mut series, 1, &label);
    }
    let mut sample = vec![(1 << 3) | 1];
    sample.extend(value.to_le_bytes());
    sample.push(2 << 3);
    push_varint(&mut sample, u64::try_from(now_ms).unwrap_or(0));
    push_bytes(&mut series, 2, &sample);
    push_bytes(request, 1, &series);
}

/// A field of wire type 2: length and bytes.
fn push_bytes(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push((field << 3) | 2);
    push_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 128")]
    out.push(value as u8);
}
