//! How soon writes were seen, from `run.json`.

use cosmark_metrics::{ConsistencyClass, ConsistencyPoint, ConsistencyResult};

use super::model::{ConsistencyClassData, ConsistencyData, ConsistencyPointData};

/// What a prober saw.
pub fn seen(found: &ConsistencyResult) -> ConsistencyData {
    ConsistencyData {
        requests: found.requests,
        load_operations: found.load_operations,
        changes: found.changes,
        classes: found.classes.iter().flat_map(classes).collect(),
        remarks: remarks(found),
    }
}

fn classes(class: &ConsistencyClass) -> Vec<ConsistencyClassData> {
    let whole = ConsistencyClassData {
        title: class.title.clone(),
        from: None,
        looks: class.looks,
        stale: class.stale,
        changes: Some(class.changes),
        missed_changes: Some(class.missed_changes),
        missed_at_most: Some(class.missed_at_most),
        longest_stale_ms: class.longest_stale_ms,
        visible_after_ms: class.visible.iter().map(|one| one.after_ms).collect(),
        points: class.points.iter().map(point).collect(),
    };
    let parts = class.from.iter().map(|part| ConsistencyClassData {
        title: class.title.clone(),
        from: Some(part.from.words().to_owned()),
        looks: part.looks,
        stale: part.stale,
        changes: None,
        missed_changes: None,
        missed_at_most: None,
        longest_stale_ms: part.longest_stale_ms,
        visible_after_ms: Vec::new(),
        points: part.points.iter().map(point).collect(),
    });
    [whole].into_iter().chain(parts).collect()
}

fn point(point: &ConsistencyPoint) -> ConsistencyPointData {
    ConsistencyPointData {
        mean_ms: point.mean_ms,
        looks: point.looks,
        share: point.stale as f64 / point.looks.max(1) as f64,
        low: point.low,
        high: point.high,
    }
}

/// What the figures do not say, for the page and the terminal alike.
pub fn remarks(found: &ConsistencyResult) -> Vec<String> {
    let mut lines = Vec::new();
    if found.classes.is_empty() {
        lines.push(match &found.unanswered_why {
            Some(why) => format!("nothing was looked at: {why}"),
            None => "nothing was looked at: the load made too few operations; run it longer, or give it a larger consistency: \
                     {share: ..}"
                .to_owned(),
        });
    }
    let reads = found.reads;
    for (count, what) in [
        (found.back_on_a_connection, "gave an older version than an earlier read of the same connection"),
        (found.went_back, "gave an older version than a read that had ended before"),
        (found.never_written, "gave what nobody had written"),
    ] {
        if count > 0 {
            lines.push(format!("{count} of {reads} reads {what}"));
        }
    }
    if found.unanswered > 0 {
        let why = found.unanswered_why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        lines.push(format!(
            "{} requests of the prober had no answer that says anything{why}",
            found.unanswered
        ));
    }
    if let Some(first) = found.left.first() {
        lines.push(format!(
            "the prober left {} names in the store, such as {first}: delete them",
            found.left.len()
        ));
    }
    lines
}
