//! How soon what was written was seen beside a load, as the terminal shows it.

use cosmark_archive::RunRecord;
use cosmark_metrics::ConsistencyClass;

use crate::fit;
use crate::units::rounded_share;

/// What the probers of a run saw; empty without any.
#[must_use]
pub fn text(record: &RunRecord) -> String {
    let probed = record.stages.iter().filter_map(|stage| Some((stage, stage.consistency.as_ref()?)));
    let probed: Vec<_> = probed.collect();
    let several = probed.len() > 1;
    let mut lines = Vec::new();
    for (stage, found) in probed {
        let of = if several { format!(" of {}", stage.name) } else { String::new() };
        lines.push(format!(
            "how soon writes were seen beside the load{of} ({} changes, {} requests beside {} operations):",
            found.changes, found.requests, found.load_operations
        ));
        if !found.classes.is_empty() {
            lines.push(table(&found.classes));
        }
        if let Some(between) = found.between_drivers.as_ref().filter(|between| !between.classes.is_empty()) {
            lines.push(format!(
                "from other drivers{of} ({} changes, {} readings by {} drivers):",
                between.changes,
                between.reads,
                between.drivers.len()
            ));
            lines.push(table(&between.classes));
        }
        lines.extend(cosmark_report::data::consistency_remarks(found));
    }
    lines.join("\n")
}

fn table(classes: &[ConsistencyClass]) -> String {
    let heads = ["", "looks", "missed", "changes missed", "last miss after", "99 % visible after"];
    let row = |class: &ConsistencyClass| {
        let share = |part: u64, of: u64| rounded_share(part as f64 / of.max(1) as f64);
        let time = |ms: Option<f64>, none: &str| ms.map_or_else(|| none.to_owned(), millis);
        let visible = class.visible.iter().find(|one| (one.share - 0.99).abs() < 1e-9);
        vec![
            class.title.clone(),
            class.looks.to_string(),
            format!("{} ({})", class.stale, share(class.stale, class.looks)),
            format!(
                "{} of {} (at most {:.1} %)",
                class.missed_changes,
                class.changes,
                class.missed_at_most * 100.0
            ),
            time(class.longest_stale_ms, "-"),
            time(visible.and_then(|one| one.after_ms), "not known"),
        ]
    };
    fit::plain(&heads, 1, &classes.iter().map(row).collect::<Vec<_>>())
}

fn millis(ms: f64) -> String {
    if ms >= 1000.0 { format!("{:.2} s", ms / 1e3) } else { format!("{ms:.1} ms") }
}
