//! From the thresholds and searches of `run.json` to what the page shows. Source of the law: N. J. Gunther, Guerrilla Capacity
//! Planning (2007), chapter 4.

use cosmark_archive::{IntervalRecord, RunRecord, SearchRecord, UslRecord};

use super::model::{LawData, LawPart, SearchData, ThresholdData, TrialData};

/// Points of a drawn law.
const POINTS: u32 = 60;

/// The thresholds of stages; those of trials stand with their search.
pub fn thresholds(record: &RunRecord) -> Vec<ThresholdData> {
    let of = record.thresholds.iter().map(|threshold| ThresholdData {
        stage: threshold.stage.clone(),
        operation: record.operation_of(threshold),
        threshold: threshold.threshold.clone(),
        status: threshold.status.word().to_owned(),
        message: threshold.message.clone(),
    });
    of.collect()
}

/// The searches with their trials.
pub fn searches(record: &RunRecord) -> Vec<SearchData> {
    record.searches.iter().map(search).collect()
}

fn search(search: &SearchRecord) -> SearchData {
    let trials: Vec<TrialData> = search
        .trials
        .iter()
        .map(|trial| TrialData {
            stage: trial.stage.clone(),
            load: trial.load,
            purpose: trial.purpose.clone(),
            throughput_per_s: trial.throughput_per_s,
            mean_ms: trial.mean_ms,
            p95_ms: trial.p95_ms,
            error_ratio: trial.error_ratio,
            status: trial.status.word().to_owned(),
            reason: trial.reason.clone(),
        })
        .collect();
    let most = trials.iter().map(|trial| trial.load).fold(1.0, f64::max);
    SearchData {
        name: search.name.clone(),
        over: search.over.clone(),
        thresholds: search.thresholds.clone(),
        answer: answer(search),
        best: search.best,
        missed_at: search.missed_at,
        notes: search.notes.clone(),
        trials,
        law: search.usl.as_ref().map(|law| law_of(law, most)),
    }
}

fn answer(search: &SearchRecord) -> String {
    let what = if search.over == "rate" { "operations/s" } else { "workers" };
    let Some(best) = search.best else {
        return format!("No load met {}.", search.thresholds.join(" and "));
    };
    let missed = match search.missed_at {
        Some(missed) => format!(", {missed} is too much"),
        None => ", and no load that was tried was too much".to_owned(),
    };
    let settled = match (&search.unsettled, search.settled) {
        (Some(why), _) => format!(" Not settled: {why}."),
        (None, true) => format!(" Settled; confirmed by fresh trials: {}.", search.confirmed),
        (None, false) => " Not settled.".to_owned(),
    };
    format!("{best} {what} meet {}{missed}.{settled}", search.thresholds.join(" and "))
}

fn law_of(law: &UslRecord, most: f64) -> LawData {
    let part = |name: &str, interval: &IntervalRecord| LawPart {
        name: name.to_owned(),
        value: interval.value,
        low: interval.low,
        high: interval.high,
    };
    let mut parts = vec![
        part("operations/s of one worker", &law.one_per_s),
        part("contention", &law.contention),
        part("coherence", &law.coherence),
    ];
    parts.extend(law.peak_workers.as_ref().map(|peak| part("workers at the peak", peak)));
    let curve = (0..=POINTS).map(|at| {
        let workers = 1.0 + (most - 1.0) * f64::from(at) / f64::from(POINTS);
        (workers, throughput(law, workers))
    });
    LawData { parts, curve: curve.collect(), largest_residual: law.largest_residual, points: law.points }
}

fn throughput(law: &UslRecord, workers: f64) -> f64 {
    let more = workers - 1.0;
    let slower = 1.0 + law.contention.value * more + law.coherence.value * workers * more;
    law.one_per_s.value * workers / slower.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_without_contention_is_a_straight_line_and_with_coherence_it_falls() {
        let interval = |value: f64| IntervalRecord { value, low: value * 0.9, high: value * 1.1 };
        let law = |contention: f64, coherence: f64| UslRecord {
            one_per_s: interval(100.0),
            contention: interval(contention),
            coherence: interval(coherence),
            peak_workers: None,
            largest_residual: 0.01,
            points: 5,
        };
        let straight = law_of(&law(0.0, 0.0), 64.0);
        assert!(straight.curve.iter().all(|(workers, rate)| (rate - 100.0 * workers).abs() < 1e-9));
        assert_eq!(
            (straight.curve.first().map(|at| at.0), straight.curve.last().map(|at| at.0)),
            (Some(1.0), Some(64.0))
        );
        // The peak of the law lies at sqrt((1 - contention) / coherence).
        let falling = law_of(&law(0.1, 0.01), 64.0);
        let peak = falling.curve.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.0, |at| at.0);
        assert!((peak - (0.9_f64 / 0.01).sqrt()).abs() < 1.1, "{peak}");
    }
}
