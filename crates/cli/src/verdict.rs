//! The verdict for people: short above the results, what is known before a run, and the whole table.

use cosmark_archive::{Check, CheckStatus, Overall, Verdict};
use cosmark_verdict::{most_telling, telling_order};
use cosmark_workload::Workload;

use crate::fit::{self, Column};
use crate::paint::{Ink, To, paint};
use crate::screen::room;

/// More reasons than this are for `cosmark judge`.
const REASONS_SHOWN: usize = 3;

/// The word, the first reason, what else speaks against it, and how the checks came out.
#[must_use]
pub fn short(verdict: &Verdict) -> Vec<String> {
    if verdict.checks.is_empty() {
        return vec![format!("verdict: {}: nobody looked; `cosmark judge` does", verdict.overall.words())];
    }
    let mut lines = vec![headline(verdict)];
    let first = most_telling(&verdict.checks);
    let speaks = |check: &&Check| matches!(check.status, CheckStatus::Fail | CheckStatus::Warn);
    let is_other = |check: &&Check| first.is_none_or(|first| !std::ptr::eq(first, *check));
    let others: Vec<&Check> =
        telling_order(&verdict.checks).into_iter().filter(speaks).filter(is_other).collect();
    lines.extend(others.iter().take(REASONS_SHOWN).map(|check| format!("  {}", sentence(check))));
    let hidden = others.len().saturating_sub(REASONS_SHOWN);
    let more = if hidden > 0 { format!("; {hidden} more not shown") } else { String::new() };
    lines.push(format!("  {}{more}; `cosmark judge RUN` shows all", tally(&verdict.checks)));
    lines
}

fn headline(verdict: &Verdict) -> String {
    let well = || verdict.checks.iter().find(|check| Some(&check.message) == verdict.reason.as_ref());
    let first = most_telling(&verdict.checks).or_else(well);
    let first = first.map(|check| format!(": {}", place(check))).unwrap_or_default();
    let word = verdict.overall.words();
    format!("verdict: {}{first}", paint(To::Stdout, Ink::of_verdict(word), word))
}

fn place(check: &Check) -> String {
    let stage = check.stage.as_ref().map(|stage| format!("{stage}: ")).unwrap_or_default();
    format!("{stage}{} ({})", check.message, check.id)
}

fn sentence(check: &Check) -> String {
    let ink = match check.status {
        CheckStatus::Fail => Ink::Bad,
        CheckStatus::Warn => Ink::Doubtful,
        _ => Ink::Plain,
    };
    if check.status == CheckStatus::NotRun {
        return place(check);
    }
    format!("{} {}", paint(To::Stdout, ink, word(check)), place(check))
}

fn tally(checks: &[Check]) -> String {
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let words = [
        (CheckStatus::Pass, "passed"),
        (CheckStatus::Warn, "warned"),
        (CheckStatus::Fail, "failed"),
        (CheckStatus::NotRun, "not run"),
    ];
    let parts: Vec<String> = words
        .into_iter()
        .map(|(status, word)| (count(status), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    format!("{}: {}", crate::units::count(checks.len() as u64, "check"), parts.join(", "))
}

fn word(check: &Check) -> &'static str {
    match check.status {
        CheckStatus::Pass => "pass",
        CheckStatus::Warn => "warn",
        CheckStatus::Fail => "FAIL",
        CheckStatus::NotRun if check.allows == Overall::NotProven => "too little",
        CheckStatus::NotRun => "not run",
    }
}

/// True when the workload alone makes the verdict FALSE.
#[must_use]
pub fn is_false_already(workload: &Workload) -> bool {
    cosmark_verdict::preflight(workload).iter().any(|check| check.status == CheckStatus::Fail)
}

/// What the workload alone says against the numbers to come; empty when nothing does.
#[must_use]
pub fn preflight(workload: &Workload) -> Vec<String> {
    let said = cosmark_verdict::preflight(workload);
    let mut lines = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    for check in &said {
        if ids.contains(&check.id.as_str()) {
            continue;
        }
        ids.push(&check.id);
        // A matrix of stages says the same of each: the worst speaks for all.
        let alike = || said.iter().filter(|other| other.id == check.id);
        let Some(worst) = alike().max_by_key(|other| other.allows) else { continue };
        let more = and_more(alike().count() - 1);
        lines.push(format!("before the run: {}{more}", sentence(worst)));
    }
    lines
}

/// Of how many other stages the same is true.
fn and_more(others: usize) -> String {
    if others == 0 {
        return String::new();
    }
    format!(" [and {}]", crate::units::count(others as u64, "more stage"))
}

/// Columns of the table where neither a terminal nor COLUMNS says how many there are.
const WIDTH_OF_A_PIPE: usize = 120;

/// A check is known by its number where there is no room for its name; what it found is wrapped, never cut.
const COLUMNS: &[Column] = &[
    Column::text("check"),
    Column::text("name").goes(1),
    Column::text("came out"),
    Column::text("found").wraps(24),
];

/// Every check of every stage.
#[must_use]
pub fn table(verdict: &Verdict) -> String {
    table_in(room().unwrap_or(WIDTH_OF_A_PIPE), verdict)
}

/// The same in this width.
fn table_in(room: usize, verdict: &Verdict) -> String {
    let mut text = headline(verdict);
    let mut stages: Vec<Option<&str>> = Vec::new();
    for check in &verdict.checks {
        let stage = check.stage.as_deref();
        if !stages.contains(&stage) {
            stages.push(stage);
        }
    }
    for stage in stages {
        let rows = rows(verdict.checks.iter().filter(|check| check.stage.as_deref() == stage));
        let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
        let table = fit::table_in(Some(room), COLUMNS, &rows, |_, _| Ink::Plain);
        text.push_str(&format!("\n{}\n{table}", stage.unwrap_or("the whole run")));
    }
    text.push_str(&format!("\n{}", tally(&verdict.checks)));
    text
}

/// One row per check; those that were not run for the same reason share one.
fn rows<'a>(checks: impl Iterator<Item = &'a Check>) -> Vec<[String; 4]> {
    let mut rows: Vec<[String; 4]> = Vec::new();
    for check in checks {
        let alike = rows
            .iter_mut()
            .find(|[.., message]| check.status == CheckStatus::NotRun && *message == check.message);
        match alike {
            Some([ids, names, words, _]) => {
                ids.push_str(&format!("\n{}", check.id));
                names.push_str(&format!("\n{}", check.name.replace('_', " ")));
                words.push_str(&format!("\n{}", word(check)));
            }
            None => rows.push([
                check.id.clone(),
                check.name.replace('_', " "),
                word(check).to_owned(),
                check.message.clone(),
            ]),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str, status: CheckStatus, allows: Overall) -> Check {
        let (name, message) = (format!("name_of_{id}"), format!("what {id} found"));
        Check {
            id: id.into(),
            name,
            stage: Some("s3-main".into()),
            status,
            allows,
            value: None,
            limit: None,
            message,
            moves: None,
            because: None,
        }
    }

    #[test]
    fn one_more_stage_is_no_plural() {
        assert_eq!([0, 1, 12].map(and_more), ["", " [and 1 more stage]", " [and 12 more stages]"]);
    }

    #[test]
    fn the_worst_comes_first_and_what_passed_is_only_counted() {
        let checks = vec![
            check("V3", CheckStatus::NotRun, Overall::TrueWithLimits),
            check("V8", CheckStatus::Warn, Overall::TrueWithLimits),
            check("V9", CheckStatus::NotRun, Overall::NotProven),
            check("V5", CheckStatus::Fail, Overall::False),
            check("V12", CheckStatus::Fail, Overall::False),
            check("V1", CheckStatus::Pass, Overall::True),
        ];
        let verdict = Verdict { overall: Overall::False, reason: None, checks };
        let lines = short(&verdict);
        assert_eq!(lines[0], "verdict: FALSE: s3-main: what V12 found (V12)");
        assert_eq!(lines[1], "  FAIL s3-main: what V5 found (V5)");
        assert_eq!(lines[2], "  warn s3-main: what V8 found (V8)");
        assert!(lines[3].starts_with("  6 checks: 1 passed, 1 warned, 2 failed, 2 not run"), "{lines:?}");
        let all = table(&verdict);
        assert!(all.contains("too little") && all.contains("what V1 found"), "{all}");
        // Those that share what was found have each its word.
        let alone = Check { message: verdict.checks[0].message.clone(), ..verdict.checks[2].clone() };
        let shared = rows([&verdict.checks[0], &alone].into_iter());
        assert_eq!(shared.len(), 1, "{shared:?}");
        assert_eq!((shared[0][0].as_str(), shared[0][2].as_str()), ("V3\nV9", "not run\ntoo little"));
        // A word of the table is none of a sentence.
        assert_eq!(sentence(&verdict.checks[2]), "s3-main: what V9 found (V9)");
        assert_eq!(sentence(&verdict.checks[1]), "warn s3-main: what V8 found (V8)");
        assert!(short(&Verdict::default())[0].contains("nobody looked"));
    }

    #[test]
    fn a_table_of_checks_fits_and_breaks_no_word_and_no_number_from_forty_columns_on() {
        let found = "1 234 567 of 12 345 678 operations were sent 12.9 ms late in s3-main, which moves the \
                     response_ms.p99 by 7.31 % of what it is";
        let mut checks = vec![
            check("V3", CheckStatus::Warn, Overall::TrueWithLimits),
            check("V12", CheckStatus::Fail, Overall::False),
            check("V9", CheckStatus::NotRun, Overall::NotProven),
            check("V25", CheckStatus::NotRun, Overall::TrueWithLimits),
        ];
        checks[0].message = found.to_owned();
        checks[2].message = "no open loop".to_owned();
        checks[3].message = "no open loop".to_owned();
        let verdict = Verdict { overall: Overall::False, reason: None, checks };
        for room in [40, 48, 60, 80, 120, 200] {
            let text = table_in(room, &verdict);
            // The headline and the tally are sentences, which are wrapped where they are printed.
            let table: Vec<&str> =
                text.lines().skip(1).take_while(|line| !line.starts_with("4 checks")).collect();
            for line in &table {
                assert!(crate::screen::columns_of(line) <= room, "{room}: {line}\n{text}");
            }
            assert!(text.starts_with("verdict: FALSE: s3-main: what V12 found (V12)\ns3-main\n"), "{text}");
            for what in ["V3", "V12", "V9", "V25", "warn", "FAIL", "too little", "not run"] {
                assert!(table.concat().contains(what), "{room}: {what} in\n{text}");
            }
            for whole in ["1 234 567", "12 345 678", "response_ms.p99", "operations"] {
                assert!(table.iter().any(|line| line.contains(whole)), "{room}: {whole} in\n{text}");
            }
            let words = |text: &str| -> Vec<String> {
                let text = text.replace(['│', '|'], " ");
                text.split_whitespace().map(str::to_owned).collect()
            };
            let shown = words(&table.join(" "));
            let missing: Vec<String> =
                words(found).into_iter().filter(|word| !shown.contains(word)).collect();
            assert!(missing.is_empty(), "{room}: {missing:?} in\n{text}");
        }
        assert!(
            table_in(40, &verdict)
                .contains("check: V3\n  name: name of V3\n  came out: warn\n  found: 1 234 567")
        );
        assert!(
            table_in(60, &verdict).contains("came out") && !table_in(60, &verdict).contains("name of V3")
        );
    }
}
