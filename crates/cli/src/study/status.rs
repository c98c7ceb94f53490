//! How far studies are: a line each, and the cells of one as a grid.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cosmark_archive::{Overall, Timestamp};
use cosmark_study::claims::short;
use cosmark_study::design::Design;
use cosmark_study::engine::{how_far, observations};
use cosmark_study::figures::axis_label;
use cosmark_study::grid::{RunState, Spot, choices, runs, spots, together};
use cosmark_study::journal::{CellState, JOURNAL, Step, ended, is_held};
use cosmark_study::measured::Files;
use cosmark_study::place::{Look, State, asked_to_stop, look};

use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::study::json;
use crate::study::runner::minutes;
use crate::units;

/// More columns or rows than these are not read in a terminal.
const MOST_COLUMNS: usize = 12;
const MOST_ROWS: usize = 60;
/// What stands for a point that is not run.
const NOT_RUN: &str = "-";

/// Shows the studies of this directory, or one of them with its cells.
pub fn status(name: Option<&str>, directory: Option<&Path>, as_json: bool) -> Outcome {
    let mut places: Vec<PathBuf> = directory.map(Path::to_owned).into_iter().collect();
    if places.is_empty() {
        let entries =
            std::fs::read_dir(".").map_err(|cause| Problem::usage(format!("this directory: {cause}")))?;
        places
            .extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.join(JOURNAL).is_file()));
        places.sort();
    }
    let (mut found, mut values) = (false, Vec::new());
    for place in places.iter().filter(|place| place.join(JOURNAL).is_file()) {
        let shown = place.strip_prefix(".").unwrap_or(place).display().to_string();
        let look = match look(place) {
            Ok(look) => look,
            Err(why) => {
                // One that cannot be read hides no other.
                found = true;
                if as_json {
                    values.push(json::unreadable(&shown, &why));
                } else {
                    println!("{shown}: cannot be read: {why}");
                }
                continue;
            }
        };
        if name.is_some_and(
            |name| !matches!(look.steps.first(), Some(Step::Design { study, .. }) if study == name),
        ) {
            continue;
        }
        found = true;
        let with_cells = name.is_some() || directory.is_some();
        if as_json {
            values.push(json::study(place, &shown, &look, with_cells));
        } else {
            print!("{}", lines_of(place, &shown, &look, with_cells));
        }
    }
    if as_json && (found || (name.is_none() && directory.is_none())) {
        verbatim!("{}", output::json(&values)?);
        return Ok(Exit::Done);
    }
    if found { Ok(Exit::Done) } else { nothing(name, directory, places) }
}

/// Nothing was found of what was asked for.
fn nothing(name: Option<&str>, directory: Option<&Path>, places: Vec<PathBuf>) -> Outcome {
    let of = |path: PathBuf| match look(&path).ok()?.steps.into_iter().next()? {
        Step::Design { study, .. } => Some(study),
        _ => None,
    };
    let mut begun: Vec<String> = places.into_iter().filter_map(of).collect();
    begun.sort();
    begun.dedup();
    match (name, directory, begun.as_slice()) {
        // Nothing was asked for that is not there.
        (None, None, _) => {
            println!(
                "no study was begun in this directory; `cosmark study list` names those that can be run"
            );
            Ok(Exit::Done)
        }
        (_, Some(directory), []) => Err(Problem::usage(format!(
            "{} has no journal.jsonl: it is no directory of a study; give one such as study-NAME-SCALE",
            directory.display()
        ))),
        (name, _, []) => Err(Problem::usage(format!(
            "{}: no study was begun in this directory; go to the one that has its study-NAME-SCALE, or name that with --dir",
            name.unwrap_or_default()
        ))),
        (name, _, begun) => Err(Problem::usage(format!(
            "{}: no such study was begun here; there are {}",
            name.unwrap_or_default(),
            begun.join(", ")
        ))),
    }
}

/// What there is to say of a study.
fn lines_of(place: &Path, shown: &str, look: &Look, with_cells: bool) -> String {
    let Some(Step::Design { study, scale, as_published, at_s, .. }) = look.steps.first() else {
        return String::new();
    };
    let held = is_held(place);
    let design = look.design();
    let (state, why) = look.state(design.as_ref().ok(), held, held && asked_to_stop(place).is_some());
    let date = Timestamp::from_second(i64::try_from(*at_s).unwrap_or(0))
        .map_or_else(|_| String::new(), |at| at.to_string());
    let over = ended(&look.steps);
    let failed = over.values().filter(|end| end.state == CellState::Failed).count();
    let flawed = if *as_published { " --as-published" } else { "" };
    let far = design.as_ref().map_or_else(
        |_| format!("{} done", over.len()),
        |design| {
            let (done, of, left_s) = how_far(design, &look.steps);
            let left = if done >= of { String::new() } else { format!(", {} left", minutes(left_s)) };
            format!("{done} done of {of} runs{left}")
        },
    );
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let mut out = format!(
        "{shown}: {study} --scale {scale}{flawed}, begun {date}: {}{why}, {far}, {failed} failed\n",
        word(state)
    );
    if let Some((run, _)) = look.under_way() {
        let doing = if held { "under way" } else { "cut off" };
        let _ = writeln!(out, "  {doing}: {run}");
    }
    match &design {
        Ok(design) if with_cells => out.push_str(&cells(place, look, design, held)),
        Ok(_) => {}
        Err(why) => {
            let _ = writeln!(out, "  {why}");
        }
    }
    out
}

fn word(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Stopping => "stopping",
        State::Complete => "complete",
        State::Stopped => "stopped",
        State::BudgetSpent => "budget spent",
        State::Trouble => "could not go on",
        State::CutOff => "cut off",
    }
}

/// The grid: the factor that varies within a run across, all others down.
fn cells(place: &Path, look: &Look, design: &Design<'_>, held: bool) -> String {
    let all = observations(design, &look.steps, &Files { directory: place });
    let (metrics, operations) = choices(&all);
    let (metric, op) = (
        metrics.first().map(String::as_str).unwrap_or_default(),
        operations.first().map(String::as_str).unwrap_or_default(),
    );
    let spots = spots(design, &all, metric, op);
    let runs = runs(design, &look.steps, held);
    let names = ["system"].into_iter().chain(design.spec.factors.iter().map(|factor| factor.name.as_str()));
    let varied: Vec<&str> = names.filter(|name| levels(&spots, design, name).len() > 1).collect();
    let within =
        |name: &&&str| design.spec.factors.iter().any(|factor| factor.within && factor.name == ***name);
    let across = varied.iter().rev().find(within).or(varied.last()).copied().unwrap_or("system");
    let columns = levels(&spots, design, across);
    let down: Vec<&str> = varied.into_iter().filter(|name| *name != across).collect();
    let head = |spot: &Spot| {
        let own: Vec<&str> =
            down.iter().filter_map(|name| spot.levels.get(*name)).map(String::as_str).collect();
        own.join(" ")
    };
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for spot in &spots {
        let (name, state) = (head(spot), together(&runs[spot.cell]));
        let at = rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            rows.push((name, vec![String::new(); columns.len()]));
            rows.len() - 1
        });
        let column = spot.levels.get(across).and_then(|level| columns.iter().position(|one| one == level));
        if let Some(column) = column {
            rows[at].1[column] = text_of(spot, state);
        }
    }
    let refused = leave_out_what_is_not_run(&mut rows);
    let first = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(across.len());
    let mut out = String::new();
    if !metric.is_empty() {
        let _ =
            writeln!(out, "  {} of {op}; . waits, > runs, x failed, ! FALSE, - not run", axis_label(metric));
    }
    let line = |name: &str, fields: &[String]| {
        let fields: String = fields.iter().take(MOST_COLUMNS).map(|field| format!(" {field:>9}")).collect();
        format!("  {name:<first$}{fields}\n")
    };
    out.push_str(&line(across, &columns));
    rows.iter().take(MOST_ROWS).for_each(|(name, fields)| out.push_str(&line(name, fields)));
    if rows.len() > MOST_ROWS || columns.len() > MOST_COLUMNS {
        out.push_str("  and more, which `cosmark controller` shows in the browser\n");
    }
    if refused > 0 {
        let _ = writeln!(out, "  {} of which nothing is run: --plan says why", units::count(refused, "row"));
    }
    out
}

/// Takes away the rows in which nothing is run, where others are, and says how many they were: they would hide those that are.
fn leave_out_what_is_not_run(rows: &mut Vec<(String, Vec<String>)>) -> u64 {
    let is_run = |fields: &[String]| fields.iter().any(|field| !field.is_empty() && field != NOT_RUN);
    if !rows.iter().any(|(_, fields)| is_run(fields)) {
        return 0;
    }
    let before = rows.len();
    rows.retain(|(_, fields)| is_run(fields));
    (before - rows.len()) as u64
}

/// The levels of a factor that points have, in the order of the study.
fn levels(spots: &[Spot], design: &Design<'_>, factor: &str) -> Vec<String> {
    let mut names: Vec<String> = spots.iter().filter_map(|spot| spot.levels.get(factor).cloned()).collect();
    names.sort_by_key(|name| design.rank(factor, name));
    names.dedup();
    names
}

fn text_of(spot: &Spot, state: RunState) -> String {
    if spot.refused.is_some() {
        return NOT_RUN.to_owned();
    }
    let sign = match state {
        RunState::Running => ">",
        RunState::Failed => "x",
        RunState::Waiting | RunState::CutOff | RunState::Done => "",
    };
    let doubt = if spot.verdict == Some(Overall::False) { "!" } else { "" };
    match &spot.worth {
        Some(worth) => format!("{sign}{}{doubt}", short(worth.mean)),
        None if sign.is_empty() && doubt.is_empty() => ".".to_owned(),
        None => format!("{sign}{doubt}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_which_nothing_is_run_hide_no_others() {
        let row = |name: &str, fields: [&str; 3]| (name.to_owned(), fields.map(str::to_owned).to_vec());
        let mut rows = vec![
            row("a", ["12.5", "-", ""]),
            row("b", ["-", "-", "-"]),
            row("c", [".", "-", "-"]),
            row("d", ["-", "", "-"]),
        ];
        assert_eq!(leave_out_what_is_not_run(&mut rows), 2);
        let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "c"]);
        // Where that is all, it is what there is to see.
        let mut rows = vec![row("b", ["-", "-", "-"])];
        assert_eq!((leave_out_what_is_not_run(&mut rows), rows.len()), (0, 1));
    }
}
