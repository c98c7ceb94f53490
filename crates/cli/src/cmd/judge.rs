//! `cosmark judge`: the verdict again, from the files of a run; also of one that COSBench made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cosmark_archive::{Overall, Run, RunState, Verdict, open_so_far};
use cosmark_verdict::{judge_so_far, open_judged};

use crate::args::JudgeArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::runs::{find, say_what_is_lost};
use crate::verdict;

/// Runs the subcommand.
pub fn run(args: &JudgeArgs) -> Outcome {
    let mut judged: Vec<(String, Verdict)> = Vec::new();
    let mut ended: Vec<Run> = Vec::new();
    let mut places: BTreeSet<PathBuf> = BTreeSet::new();
    for name in &args.runs {
        let path = find(name, &args.archive)?;
        // However often it is named, a run says nothing of what another would come to.
        if !places.insert(std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone())) {
            eprintln!("cosmark: {name} is named twice: it is one repetition and counts as one");
            continue;
        }
        let run = open_judged(&path)?;
        if run.record.state == RunState::Running {
            judged.push(so_far(&path)?);
            continue;
        }
        say_what_is_lost(&run);
        match &run.record.made_by {
            Some(by) => {
                let title = format!("{} {}, made by {by}", run.record.id, run.record.name);
                judged.push((title, run.record.verdict));
            }
            None => ended.push(run),
        }
    }
    if let Some(other) =
        ended.iter().find(|run| ended.first().is_some_and(|first| first.record.name != run.record.name))
    {
        let message = format!(
            "{} is a run of another workload ({}) than the first: give repetitions of one workload, or judge them one by one",
            other.record.id, other.record.name
        );
        return Err(Problem::usage(message));
    }
    let all = judged.len() + ended.len();
    while !ended.is_empty() {
        let run = ended.remove(0);
        let title = format!("{} {} {}", run.record.id, run.record.name, run.record.state.word());
        judged.push((title, cosmark_verdict::judge(&run, None, &ended)));
        // Each sees all others, whichever comes first.
        if judged.len() >= all {
            break;
        }
        ended.push(run);
    }
    show(&judged, args.json)?;
    let untrusted = judged.iter().any(|(_, verdict)| verdict.overall == Overall::False);
    Ok(if args.strict && untrusted { Exit::Untrusted } else { Exit::Done })
}

/// What can be said of a run that goes on.
fn so_far(path: &Path) -> Result<(String, Verdict), Problem> {
    let run = open_so_far(path)?;
    let verdict = judge_so_far(&run).ok_or_else(|| {
        let id = &run.record.id;
        Problem::usage(format!("{id} goes on and nothing of it can be judged yet; `cosmark watch {id}` shows its verdict as it forms"))
    })?;
    Ok((format!("{} {} running: as far as it has come", run.record.id, run.record.name), verdict))
}

fn show(judged: &[(String, Verdict)], json: bool) -> Result<(), Problem> {
    if json {
        let text = match judged {
            [(_, one)] => serde_json::to_string_pretty(one),
            several => {
                serde_json::to_string_pretty(&several.iter().map(|(_, verdict)| verdict).collect::<Vec<_>>())
            }
        };
        verbatim!("{}", text.map_err(|cause| Problem::ours(cause.to_string()))?);
        return Ok(());
    }
    for (at, (title, verdict)) in judged.iter().enumerate() {
        if at > 0 {
            println!();
        }
        println!("{title}\n{}", verdict::table(verdict));
    }
    Ok(())
}
