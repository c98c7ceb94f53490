//! Conclusions as hypotheses: agrees, disagrees, not shown, emulated, not testable here. One run never reads better than "not
//! shown", and what holds only with a throttle that stands for hardware says "emulated".

use crate::design::Design;
use crate::measured::Observation;
use crate::metric::is_bandwidth;
use crate::select::{Found, NO_KNEE, UNREADABLE, one_sided, quantity, repetitions, why_none};
use crate::spec::{Claim, Condition, Quantity, System, Take};
use crate::statistics::{Interval, interval_of_amount, interval_of_ratio};

/// Fewer repetitions show nothing.
pub const LEAST_REPETITIONS: usize = 5;

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The whole interval of every condition agrees.
    Agrees,
    /// The whole interval of a condition lies elsewhere.
    Disagrees,
    /// Neither, or too few repetitions.
    NotShown,
    /// Agrees, with a throttle or a shaped link that stands for hardware.
    Emulated,
    /// One machine, or what is up here, cannot tell.
    NotTestable,
}

impl Finding {
    /// The words of the report.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Disagrees => "disagrees",
            Self::NotShown => "not shown",
            Self::Emulated => "emulated",
            Self::NotTestable => "not testable here",
        }
    }
}

/// A claim with its finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Its id.
    pub id: String,
    /// What it says.
    pub says: String,
    /// What became of it.
    pub finding: Finding,
    /// Why: values, intervals, what is missing.
    pub why: String,
}

/// One condition over all repetitions.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    values: Vec<f64>,
    center: f64,
    interval: Option<Interval>,
    is_false: bool,
    /// Repetitions without a value, for what is below the line did nothing in them.
    by_nothing: usize,
    /// Names of the FALSE cells among those that were asked for.
    doubted: Vec<String>,
}

/// Judges every claim.
#[must_use]
pub fn judge(design: &Design<'_>, all: &[Observation]) -> Vec<Judged> {
    design.spec.claims.iter().map(|claim| judge_one(design, all, claim)).collect()
}

fn judge_one(design: &Design<'_>, all: &[Observation], claim: &Claim) -> Judged {
    let with = |finding, why: String| Judged { id: claim.id.clone(), says: claim.says.clone(), finding, why };
    if let Some(why) = &claim.not_testable {
        return with(Finding::NotTestable, why.clone());
    }
    let missing: Vec<&str> = claim
        .needs
        .iter()
        .filter(|need| !provided(design).any(|system| system.provides.contains(need)))
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        return with(
            Finding::NotTestable,
            format!("needs {}, which no system of this run has", missing.join(" and ")),
        );
    }
    let mut findings = Vec::new();
    let mut words = Vec::new();
    for condition in &claim.test {
        let (finding, text) = match look(design, all, condition) {
            Ok(seen) => weigh(condition, &seen),
            Err(why) => (Finding::NotShown, why),
        };
        findings.push(finding);
        if !words.contains(&text) {
            words.push(text);
        }
    }
    let conditions = words.len();
    let has = |of: fn(&Observation) -> bool| {
        let mut sides = claim.test.iter().flat_map(sides);
        sides.any(|side| all.iter().any(|one| of(one) && one.is_in(&side.cells)))
    };
    // The others are those in which a load was found: nothing is shown by them alone.
    if has(|one| one.no_knee) {
        findings = vec![Finding::NotShown];
        words.push(NO_KNEE.to_owned());
    }
    if has(|one| one.unreadable) {
        words.push(UNREADABLE.to_owned());
    }
    let mut said = std::collections::BTreeSet::new();
    words.retain(|text| said.insert(text.clone()));
    // Of several conditions each has its number, or nobody sees where one ends.
    if conditions > 1 {
        let own = words.iter_mut().take(conditions).enumerate();
        own.for_each(|(at, text)| *text = format!("({}) {text}", at + 1));
    }
    let finding = if findings.contains(&Finding::Disagrees) {
        Finding::Disagrees
    } else if findings.iter().all(|finding| *finding == Finding::Agrees) {
        if claim.emulated { Finding::Emulated } else { Finding::Agrees }
    } else {
        Finding::NotShown
    };
    if claim.emulated && finding != Finding::Emulated {
        words.push("emulated: a throttle or a shaped link stands for hardware".to_owned());
    }
    with(finding, words.join("; "))
}

/// The systems that have a cell in this run.
fn provided<'a>(design: &'a Design<'_>) -> impl Iterator<Item = &'a System> {
    design.cells.iter().filter(|cell| cell.is_run()).map(move |cell| &design.spec.systems[cell.system])
}

/// All quantities of a condition.
fn sides(condition: &Condition) -> Vec<&Quantity> {
    let own = std::iter::once(&condition.of).chain(&condition.to);
    own.chain(condition.than.iter().flat_map(|than| sides(than))).collect()
}

/// The value of a condition at one repetition: a quantity, a ratio, or the ratio of two.
fn value_at(
    design: &Design<'_>,
    all: &[Observation],
    condition: &Condition,
    repetition: u32,
) -> Option<Found> {
    let mut found = quantity(design, all, &condition.of, repetition)?;
    found.value *= condition.times;
    let to = condition.to.as_ref().map(|to| quantity(design, all, to, repetition));
    let than = condition.than.as_ref().map(|than| value_at(design, all, than, repetition));
    for below in [to, than].into_iter().flatten() {
        let below = below.filter(|below| below.value != 0.0)?;
        found.value /= below.value;
        found.is_false |= below.is_false;
    }
    Some(found)
}

/// Whether a condition has no value at a repetition because what is below a line of it did nothing. Without such a repetition
/// the one that failed would look better than it is.
fn is_by_nothing(design: &Design<'_>, all: &[Observation], condition: &Condition, repetition: u32) -> bool {
    let at = |side: &Quantity| quantity(design, all, side, repetition);
    let is_nothing = |found: Option<Found>| found.is_some_and(|found| found.value == 0.0);
    let by_than = |than: &Condition| {
        is_nothing(value_at(design, all, than, repetition)) || is_by_nothing(design, all, than, repetition)
    };
    at(&condition.of).is_some()
        && (condition.to.as_ref().is_some_and(|to| is_nothing(at(to)))
            || condition.than.as_deref().is_some_and(by_than))
}

/// What is said of such repetitions.
fn of_nothing(count: usize) -> String {
    format!("in {count} {} it would be divided by 0", if count == 1 { "run" } else { "runs" })
}

/// Points of a ratio in it of which only one side was measured.
fn lopsided(design: &Design<'_>, all: &[Observation], condition: &Condition) -> Option<String> {
    let own = condition.to.as_ref().and_then(|to| one_sided(design, all, &condition.of, to));
    own.or_else(|| condition.than.as_ref().and_then(|than| lopsided(design, all, than)))
}

/// A condition over all repetitions, or why nothing of it can be seen.
fn look(design: &Design<'_>, all: &[Observation], condition: &Condition) -> Result<Seen, String> {
    if let Some(points) = lopsided(design, all, condition) {
        return Err(format!("measured only on one side: {points}"));
    }
    let found: Vec<Found> = repetitions(all)
        .into_iter()
        .filter_map(|repetition| value_at(design, all, condition, repetition))
        .collect();
    let is_false = found.iter().any(|one| one.is_false);
    let values: Vec<f64> = found.iter().map(|one| one.value).collect();
    let is_lost = |repetition: &u32| is_by_nothing(design, all, condition, *repetition);
    let by_nothing = repetitions(all).iter().filter(|repetition| is_lost(repetition)).count();
    if values.is_empty() && by_nothing > 0 {
        return Err(of_nothing(by_nothing));
    }
    if values.is_empty() {
        // The first of the sides that has nothing.
        let nothing = sides(condition).into_iter().find_map(|side| why_none(design, all, side));
        return Err(nothing.unwrap_or("no repetition has figures of both sides").to_owned());
    }
    let (center, interval) = interval_of_ratio(&values).unwrap_or_else(|| {
        let mean = cosmark_stats::bootstrap::mean(&values);
        (mean, interval_of_amount(&values))
    });
    let doubted = if is_false { false_cells(design, all, condition) } else { Vec::new() };
    Ok(Seen { values, center, interval, is_false, by_nothing, doubted })
}

/// Cells are named up to this many.
const MOST_NAMED: usize = 3;

/// The FALSE cells of a condition, each once.
fn false_cells(design: &Design<'_>, all: &[Observation], condition: &Condition) -> Vec<String> {
    let sides = sides(condition);
    let is_asked = |one: &&Observation| {
        one.is_false()
            && sides.iter().any(|side| one.is_in(&side.cells) && one.values.contains_key(&side.metric))
    };
    let mut names: Vec<String> = Vec::new();
    for one in all.iter().filter(is_asked) {
        let name = design.named(&one.all_levels());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What is said of a value that a FALSE cell is in.
fn of_doubted(names: &[String]) -> String {
    let shown = names.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "from a cell that is FALSE".to_owned(),
        1 => format!("from a cell that is FALSE ({shown})"),
        count if count > MOST_NAMED => {
            format!("from cells that are FALSE ({shown} and {} more)", count - MOST_NAMED)
        }
        _ => format!("from cells that are FALSE ({shown})"),
    }
}

/// Values go through logarithms and back: what differs by less is rounding.
const ROUNDING: f64 = 1e-9;

fn weigh(condition: &Condition, seen: &Seen) -> (Finding, String) {
    // A ratio has no unit, and neither has the level of a greatest value.
    let is_ratio = condition.to.is_some() || condition.than.is_some();
    let is_level = matches!(condition.of.take, Take::ArgMax | Take::ArgBest);
    let short = |value: f64| match (is_ratio, is_level) {
        (true, _) => short(value),
        (false, true) => as_level(value),
        (false, false) => with_unit(&condition.of.metric, value),
    };
    let (least, most) =
        (condition.least.unwrap_or(f64::NEG_INFINITY), condition.most.unwrap_or(f64::INFINITY));
    let wanted = match (condition.least, condition.most) {
        (Some(least), Some(most)) => format!("{} to {}", short(least), short(most)),
        (Some(least), None) => format!("at least {}", short(least)),
        (None, most) => format!("at most {}", most.map(short).unwrap_or_default()),
    };
    // Infinite bounds stay so.
    let (from, to) = (least - least.abs() * ROUNDING, most + most.abs() * ROUNDING);
    let inside = (from..=to).contains(&seen.center);
    let points = if inside { "points the way of the claim" } else { "points against it" };
    let what = format!("{} where {wanted} is claimed", short(seen.center));
    if seen.is_false {
        return (Finding::NotShown, format!("{what}, {}", of_doubted(&seen.doubted)));
    }
    if seen.by_nothing > 0 {
        return (Finding::NotShown, format!("{what}, {}", of_nothing(seen.by_nothing)));
    }
    let runs = seen.values.len();
    if runs < LEAST_REPETITIONS {
        let runs = if runs == 1 {
            "one run".to_owned()
        } else {
            format!("{runs} runs, fewer than {LEAST_REPETITIONS}")
        };
        return (Finding::NotShown, format!("{what}: {runs}; {points}"));
    }
    let Some(known) = seen.interval else { return (Finding::NotShown, what) };
    let text = format!(
        "{} ({} to {}) where {wanted} is claimed, {runs} runs",
        short(seen.center),
        short(known.low),
        short(known.high)
    );
    if known.low >= from && known.high <= to {
        (Finding::Agrees, text)
    } else if known.high < from || known.low > to {
        (Finding::Disagrees, text)
    } else {
        (Finding::NotShown, format!("{text}: the interval lies on both sides"))
    }
}

/// A value of a figure as people read it: bandwidth in MB/s, whatever else in its own unit without a sign.
#[must_use]
pub fn with_unit(metric: &str, value: f64) -> String {
    if is_bandwidth(metric) { format!("{} MB/s", short(value / 1e6)) } else { short(value) }
}

/// A level as a number: one that is whole has no digits behind it, as 64 workers.
#[must_use]
pub fn as_level(value: f64) -> String {
    let whole = value.round();
    // Also one that went through logarithms and back.
    if (value - whole).abs() <= whole.abs() * ROUNDING { format!("{whole:.0}") } else { short(value) }
}

/// A number that somebody has printed, with its digits; three of one that was computed and has many.
#[must_use]
pub fn as_printed(value: f64) -> String {
    let whole = format!("{value}");
    if value.is_finite() && whole.len() <= 7 { whole } else { short(value) }
}

/// Three digits.
#[must_use]
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    match value.abs() {
        size if size >= 100.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        size if size >= 0.01 => format!("{value:.3}"),
        size if size >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use cosmark_archive::Overall;

    use super::*;
    use crate::design::Choice;
    use crate::select::LOOKED_AT;

    #[test]
    fn a_value_that_is_the_limit_itself_keeps_it_whatever_logarithms_make_of_it() {
        for level in [8.0, 128.0, 320.0, 512.0, 1280.0] {
            let values = vec![level; 5];
            let (center, interval) = interval_of_ratio(&values).unwrap();
            let seen = Seen { values, center, interval, is_false: false, by_nothing: 0, doubted: Vec::new() };
            let finds = |limit: serde_json::Value| {
                let condition: Condition = serde_json::from_value(limit).unwrap();
                weigh(&condition, &seen).0
            };
            let of = serde_json::json!({"take": "arg_max", "over": "workers"});
            assert_eq!(finds(serde_json::json!({"of": of, "most": level})), Finding::Agrees, "{level}");
            assert_eq!(finds(serde_json::json!({"of": of, "least": level})), Finding::Agrees, "{level}");
            assert_eq!(finds(serde_json::json!({"of": of, "least": 1.01 * level})), Finding::Disagrees);
        }
    }

    /// What is found of these claims about one system with these levels of `n`.
    fn judged(levels: &str, claims: &str, all: &[Observation]) -> Vec<Judged> {
        let text = format!(
            "
name: t
title: t
question: q
systems: [{{name: a}}]
factors: [{{name: n, within: true, levels: [{levels}]}}]
scales: {{quick: {{}}}}
workload: {{point: '- name: p-${{{{ n }}}}', measured: 'p-${{{{ n }}}}'}}
claims:{claims}"
        );
        let (spec, mistakes) = crate::spec::read(&text);
        let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
        let choice = Choice { scale: "quick".into(), ..Choice::default() };
        let design = Design::new(&spec, choice).unwrap();
        judge(&design, all)
    }

    fn seen(n: &str, rate: f64, verdict: Overall) -> Observation {
        Observation {
            levels: [("system", "a"), ("n", n)].map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            op: "read".into(),
            repetition: 1,
            values: [("throughput_per_s".to_owned(), rate)].into(),
            verdict,
            ..Observation::default()
        }
    }

    #[test]
    fn a_run_in_which_what_is_divided_by_did_nothing_is_not_left_out() {
        let claims = "
  - {id: ONE, says: s, test: [{of: {where: {n: 8}}, to: {where: {n: 1}}, least: 1.5}]}
  - {id: TWO, says: s, test: [{of: {where: {n: 8}}, than: {of: {where: {n: 1}}}, least: 1.5}]}
";
        let both = |repetition: u32| {
            [("1", 10.0), ("8", 20.0)]
                .map(|(n, rate)| Observation { repetition, ..seen(n, rate, Overall::True) })
        };
        let mut all: Vec<Observation> = (1..=6).flat_map(both).collect();
        let found = |all: &[Observation]| -> Vec<(Finding, String)> {
            let both: Vec<_> =
                judged("1, 8", claims, all).into_iter().map(|one| (one.finding, one.why)).collect();
            assert_eq!(both.len(), 2, "{both:?}");
            both
        };
        for (finding, why) in found(&all) {
            assert_eq!(finding, Finding::Agrees, "{why}");
        }
        all[0].values.insert("throughput_per_s".to_owned(), 0.0);
        for (finding, why) in found(&all) {
            assert!(
                finding == Finding::NotShown && why.ends_with("in 1 run it would be divided by 0"),
                "{why}"
            );
        }
        for one in all.iter_mut().filter(|one| one.levels["n"] == "1") {
            one.values.insert("throughput_per_s".to_owned(), 0.0);
        }
        for (finding, why) in found(&all) {
            assert!(finding == Finding::NotShown && why == "in 6 runs it would be divided by 0", "{why}");
        }
    }

    #[test]
    fn a_claim_goes_through_what_was_measured_without_a_copy_for_each_repetition() {
        let claims = "
  - {id: ONE, says: s, test: [{of: {where: {n: 8, op: read}}, to: {where: {n: 1, op: read}}, least: 1.5}]}
";
        let copied = |repetitions: u32| {
            let both = |repetition: u32| {
                ["1", "8"].map(|n| Observation { repetition, ..seen(n, 10.0, Overall::True) })
            };
            let all: Vec<Observation> = (1..=repetitions).flat_map(both).collect();
            let before = LOOKED_AT.with(std::cell::Cell::get);
            assert_eq!(judged("1, 8", claims, &all)[0].finding, Finding::Disagrees);
            LOOKED_AT.with(std::cell::Cell::get) - before
        };
        let (few, many) = (copied(6), copied(60));
        assert!(many <= 11 * few, "{few} of 6 repetitions, {many} of 60");
    }

    #[test]
    fn several_conditions_of_a_claim_have_their_numbers() {
        let claims = "
  - {id: ONE, says: s, test: [{of: {where: {n: 1}}, least: 5}]}
  - {id: TWO, says: s, test: [{of: {where: {n: 1}}, least: 5}, {of: {where: {n: 8}}, most: 9}]}
";
        let judged = judged("1, 8", claims, &[seen("1", 6.0, Overall::True), seen("8", 7.0, Overall::True)]);
        assert!(judged[0].why.starts_with("6.00 where at least 5.00"), "{}", judged[0].why);
        assert!(judged[1].why.starts_with("(1) 6.00 where"), "{}", judged[1].why);
        assert!(judged[1].why.contains("; (2) 7.00 where at most 9.00"), "{}", judged[1].why);
    }

    #[test]
    fn a_claim_names_the_false_cells_that_it_comes_from_and_says_levels_as_levels() {
        use Overall::{False, True};
        let claims = "
  - {id: ONE, says: s, test: [{of: {where: {n: 8}}, least: 5}]}
  - {id: PEAK, says: s, test: [{of: {take: arg_max, over: n, where: {n: [1, 8]}}, most: 64}]}
  - {id: ALL, says: s, test: [{of: {take: max, over: n}, least: 5}]}
";
        let judged = |all: &[Observation]| judged("1, 8, 64, 128, 256", claims, all);
        let few = judged(&[seen("1", 6.0, True), seen("8", 7.0, False)]);
        assert_eq!(few[0].why, "7.00 where at least 5.00 is claimed, from a cell that is FALSE (a n=8 read)");
        assert_eq!(few[1].why, "8 where at most 64 is claimed, from a cell that is FALSE (a n=8 read)");
        let good = judged(&[seen("1", 6.0, True), seen("8", 7.0, True)]);
        assert_eq!(good[1].why, "8 where at most 64 is claimed: one run; points the way of the claim");
        let all: Vec<Observation> =
            ["1", "8", "64", "128", "256"].iter().map(|n| seen(n, 9.0, False)).collect();
        let many = judged(&all);
        let words = "from cells that are FALSE (a n=1 read, a n=8 read, a n=64 read and 2 more)";
        assert!(many[2].why.ends_with(words), "{}", many[2].why);
    }

    #[test]
    fn a_printed_number_keeps_its_digits() {
        for (value, text) in
            [(0.885, "0.885"), (1.0, "1"), (143.0, "143"), (1.0 / 3.0, "0.33"), (26_500.0, "26500")]
        {
            assert_eq!(as_printed(value), text);
        }
        assert_eq!(as_printed(f64::NAN), "-");
    }

    #[test]
    fn a_claim_says_its_values_in_the_unit_of_their_figure() {
        let bandwidth = |to: serde_json::Value| -> Condition {
            let mut text =
                serde_json::json!({"of": {"metric": "bandwidth_bytes_per_s"}, "most": 150_000_000});
            text["to"] = to;
            serde_json::from_value(text).unwrap()
        };
        let (values, center) = (vec![9.668e8], 9.668e8);
        let seen =
            Seen { values, center, interval: None, is_false: false, by_nothing: 0, doubted: Vec::new() };
        let says = |condition: &Condition| weigh(condition, &seen).1;
        assert!(
            says(&bandwidth(serde_json::Value::Null))
                .starts_with("967 MB/s where at most 150 MB/s is claimed")
        );
        assert!(
            says(&bandwidth(serde_json::json!({"metric": "bandwidth_bytes_per_s"})))
                .starts_with("966800000 where at most 150000000")
        );
    }
}
