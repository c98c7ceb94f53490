//! How soon writes were seen, from `run.json`.

use cosmark_metrics::{
    BetweenDrivers, ConsistencyClass, ConsistencyPoint, ConsistencyResult, LookClass, LookFrom,
};

use super::model::{ConsistencyClassData, ConsistencyData, ConsistencyPointData};

/// What a prober saw.
pub fn seen(found: &ConsistencyResult) -> ConsistencyData {
    ConsistencyData {
        requests: found.requests,
        load_operations: found.load_operations,
        changes: found.changes,
        classes: rows(found),
        remarks: remarks(found),
    }
}

/// What drivers saw of this class at objects that other drivers wrote: its times are right within the clocks' error.
fn between(found: &ConsistencyResult, class: LookClass) -> Option<ConsistencyClassData> {
    let others = found.between_drivers.as_ref()?;
    let one = others.classes.iter().find(|one| one.class == class)?;
    Some(ConsistencyClassData { from: Some(LookFrom::OtherDriver.words().to_owned()), ..whole(one) })
}

/// All rows: each class, its parts, and what other drivers saw of it.
fn rows(found: &ConsistencyResult) -> Vec<ConsistencyClassData> {
    let of = |class: LookClass| {
        let own = found.classes.iter().filter(move |one| one.class == class).flat_map(classes);
        own.chain(between(found, class))
    };
    LookClass::TABLE.iter().flat_map(|(class, ..)| of(*class)).collect()
}

fn whole(class: &ConsistencyClass) -> ConsistencyClassData {
    ConsistencyClassData {
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
    }
}

fn classes(class: &ConsistencyClass) -> Vec<ConsistencyClassData> {
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
    [whole(class)].into_iter().chain(parts).collect()
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
    lines.extend(found.between_drivers.iter().flat_map(remarks_between));
    if found.not_recorded > 0 {
        lines.push(format!(
            "{} requests of the prober are not in probes.csv: there were too many",
            found.not_recorded
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

/// What the figures between drivers do not say.
fn remarks_between(found: &BetweenDrivers) -> Vec<String> {
    let mut lines = Vec::new();
    let reads = found.reads;
    if found.classes.is_empty() {
        lines.push(format!(
            "{} drivers shared objects, and none of {reads} readings of one driver at what another wrote says anything; run it longer, \
             or give it a larger consistency: {{share: ..}}",
            found.drivers.len()
        ));
    }
    if !found.classes.is_empty() {
        lines.push(format!(
            "from other drivers: times are right within {:.1} ms, the error of the clocks, and no reading is held against a change \
             that was acknowledged closer to it",
            found.clock_error_ms
        ));
    }
    for (count, what) in [
        (found.unjudged, "say nothing: no change is known before them, or none behind them"),
        (
            found.within_clock_error,
            "were so close to a change that the clocks do not tell which was first: it is not held against them",
        ),
        (
            found.before_sent,
            "saw a change before it was sent: the clocks of the drivers were further apart than was measured",
        ),
        (found.never_written, "gave what nobody had written"),
    ] {
        if count > 0 {
            lines.push(format!("between drivers, {count} of {reads} readings {what}"));
        }
    }
    if !found.lost.is_empty() {
        let names = found.lost.join(", ");
        lines.push(format!(
            "of {names}, lost while the load ran, only what was heard is in the figures between drivers"
        ));
    }
    lines.extend(found.blind.iter().map(|(reader, writer)| {
        format!("{reader} saw nothing at all of what {writer} wrote: they may reach different stores, and are held against nothing")
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(looks: u64) -> ConsistencyClass {
        ConsistencyClass {
            class: LookClass::ReadAfterOverwrite,
            title: "reads after an overwrite".to_owned(),
            looks,
            stale: 1,
            changes: 4,
            missed_changes: 1,
            missed_at_most: 0.7,
            longest_stale_ms: Some(30.0),
            visible: Vec::new(),
            points: Vec::new(),
            from: Vec::new(),
        }
    }

    #[test]
    fn what_other_drivers_saw_has_rows_of_its_own_and_what_they_cannot_say_is_said() {
        let between = BetweenDrivers {
            drivers: vec!["d1".to_owned(), "d2".to_owned()],
            lost: vec!["d2".to_owned()],
            reads: 50,
            unjudged: 7,
            blind: vec![("d1".to_owned(), "d2".to_owned())],
            clock_error_ms: 12.34,
            classes: vec![class(40)],
            ..BetweenDrivers::default()
        };
        let found = ConsistencyResult {
            classes: vec![class(100)],
            between_drivers: Some(between),
            not_recorded: 3,
            ..ConsistencyResult::default()
        };
        let rows = seen(&found);
        let shown: Vec<_> = rows.classes.iter().map(|row| (row.looks, row.from.as_deref())).collect();
        assert_eq!(shown, [(100, None), (40, Some("from other drivers"))]);
        let text = rows.remarks.join("\n");
        for part in [
            "right within 12.3 ms",
            "7 of 50 readings say nothing",
            "of d2, lost",
            "d1 saw nothing at all",
            "3 requests",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
