//! The runs that a controller has in its queue and its history.

use std::collections::BTreeSet;

use cosmark_archive::Timestamp;
use cosmark_service::api::types::RunSummary;

use super::{moment, most, tell_of_more, when};
use crate::args::ListArgs;
use crate::client::Client;
use crate::cmd::cancel::number_of;
use crate::exit::{Exit, Outcome, Problem};
use crate::fit::{self, Column};
use crate::paint::Ink;

/// Lists them.
pub fn list(args: &ListArgs) -> Outcome {
    let client = Client::new(&args.client)?;
    let since = args.since.as_deref().map(|text| moment(text, Timestamp::now())).transpose()?;
    let submitted = |run: &RunSummary| run.submitted.as_ref().and_then(|at| at.parse::<Timestamp>().ok());
    let mut runs: Vec<RunSummary> = all_of(&client, args)?
        .into_iter()
        .filter(|run| since.is_none_or(|since| submitted(run).is_some_and(|at| at >= since)))
        .collect();
    // The service lists by number; what came last is looked for first.
    runs.sort_by_key(|run| std::cmp::Reverse(number_of(&run.id)));
    let fitting = runs.len();
    runs.truncate(most(args).unwrap_or(usize::MAX));
    if args.json {
        verbatim!("{}", crate::output::json(&runs)?);
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        println!("no runs at {}", client.url());
        return Ok(Exit::Done);
    }
    let now = Timestamp::now();
    let rows: Vec<Vec<String>> = runs.iter().map(|run| queued(run, now)).collect();
    println!(
        "{}",
        fit::table(COLUMNS, &rows, |column, text| if column == 2 {
            Ink::of_state(text)
        } else {
            of_word(column, text)
        })
    );
    tell_of_more(fitting - runs.len());
    Ok(Exit::Done)
}

/// Runs that a controller gives at once, at most.
const PAGE: usize = 1000;

/// All runs of a controller that fit but for when they were submitted, page by page. A run that is submitted meanwhile moves the
/// others to the next page: none is there twice.
fn all_of(client: &Client, args: &ListArgs) -> Result<Vec<RunSummary>, Problem> {
    let mut runs: Vec<RunSummary> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut skip = 0;
    loop {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &PAGE.to_string()).append_pair("skip", &skip.to_string());
        for (name, value) in [("search", &args.search), ("state", &args.state)] {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        query.append_pair("tag", &args.tags.join(","));
        let page: Vec<RunSummary> = client.get(&format!("/api/v1/runs?{}", query.finish()))?;
        let is_last = page.len() < PAGE;
        skip += page.len();
        runs.extend(page.into_iter().filter(|run| seen.insert(run.id.clone())));
        if is_last {
            return Ok(runs);
        }
    }
}

fn of_word(column: usize, text: &str) -> Ink {
    if column == 3 { Ink::of_verdict(text) } else { Ink::Plain }
}

/// What is shown of a run that a controller knows.
const COLUMNS: &[Column] = &[
    Column::text("id"),
    Column::text("name").least(10),
    Column::text("state").least(12),
    Column::text("verdict").goes(1).least(8),
    Column::number("op/s").goes(2),
    Column::number("p99 ms").goes(3),
    Column::text("stage").goes(4).least(8),
    Column::text("target").goes(6).least(14),
    Column::text("submitted").goes(7),
    Column::text("tags").goes(5).least(6),
];

fn queued(run: &RunSummary, now: Timestamp) -> Vec<String> {
    let state = match run.position {
        Some(position) => match &run.waits_for {
            Some(what) => format!("{}, {what}", run.state),
            None => format!("{} ({position} before it)", run.state),
        },
        None => run.state.clone(),
    };
    let stage = run.stage.clone().unwrap_or_else(|| format!("{} of {}", run.stages_done, run.stages));
    let mut tags: Vec<String> = run.baseline.then(|| "(baseline)".to_owned()).into_iter().collect();
    tags.extend(run.tags.iter().cloned());
    let at = run.submitted.as_ref().and_then(|at| at.parse::<Timestamp>().ok()).map(|at| when(at, now));
    vec![
        run.id.clone(),
        run.name.clone(),
        state,
        run.verdict.as_deref().map(verdict_words).unwrap_or_default(),
        run.throughput_per_s.map(crate::units::rate).unwrap_or_default(),
        super::p99_of(run.p99_ms, run.p99_is_least).unwrap_or_default(),
        stage,
        run.target.clone().unwrap_or_default(),
        at.unwrap_or_default(),
        tags.join(" "),
    ]
}

/// A verdict as a controller says it, in the words that an archive's list has.
fn verdict_words(word: &str) -> String {
    word.replace('_', " ").to_uppercase()
}

#[cfg(test)]
mod tests {
    use cosmark_archive::Overall;

    use super::*;

    #[test]
    fn no_figure_stays_where_the_verdict_on_it_has_gone() {
        let goes = |head: &str| COLUMNS.iter().find(|column| column.head == head).unwrap().goes;
        for figure in ["op/s", "p99 ms"] {
            assert!(goes(figure) > goes("verdict"), "{figure}");
        }
    }

    #[test]
    fn a_verdict_of_a_controller_reads_as_in_the_list_of_an_archive() {
        for overall in [Overall::True, Overall::TrueWithLimits, Overall::NotProven, Overall::False] {
            let word = serde_json::to_value(overall).unwrap();
            assert_eq!(verdict_words(word.as_str().unwrap()), overall.words());
        }
    }
}
