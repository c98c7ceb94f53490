//! `cosmark list`: the runs of an archive.

use comfy_table::{Table, presets};
use cosmark_archive::list;
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::exit::{Exit, Outcome, Problem};

/// Runs the subcommand.
pub fn run(args: &ListArgs) -> Outcome {
    if !args.archive.is_dir() {
        let shown = args.archive.display();
        return Err(Problem::usage(format!("no archive at {shown}; name one with --archive DIR")));
    }
    let runs = list(&args.archive)?;
    if args.json {
        let rows: Vec<Value> = runs
            .iter()
            .map(|run| match &run.record {
                Some(Ok(record)) => {
                    json!({ "id": record.id, "name": record.name, "state": record.state.word(),
                    "started": record.started, "ended": record.ended, "path": run.path })
                }
                Some(Err(error)) => json!({ "id": format!("w{}", run.number), "path": run.path,
                    "error": error.to_string() }),
                None => json!({ "id": format!("w{}", run.number), "path": run.path, "state": Value::Null }),
            })
            .collect();
        println!("{:#}", Value::Array(rows));
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        println!("no runs in {}", args.archive.display());
        return Ok(Exit::Done);
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY).set_header([
        "id",
        "name",
        "state",
        "submitted",
        "took",
        "what",
    ]);
    for run in &runs {
        let id = format!("w{}", run.number);
        let directory =
            run.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        table.add_row(match &run.record {
            Some(Ok(record)) => {
                let took = record.started.zip(record.ended).map(|(started, ended)| {
                    format!("{:.0} s", ended.duration_since(started).unsigned_abs().as_secs_f64())
                });
                let submitted = record.submitted.map(|at| at.strftime("%F %T UTC").to_string());
                let count: u64 =
                    record.stages.iter().flat_map(|stage| &stage.operations).map(|op| op.count).sum();
                let what =
                    format!("{} stages, {} operations", record.stages.len(), crate::units::grouped(count));
                [
                    id,
                    record.name.clone(),
                    record.state.word().to_owned(),
                    submitted.unwrap_or_default(),
                    took.unwrap_or_default(),
                    what,
                ]
            }
            Some(Err(error)) => {
                [id, directory, "damaged".into(), String::new(), String::new(), error.to_string()]
            }
            None => [
                id,
                directory,
                "no run.json".into(),
                String::new(),
                String::new(),
                "written by COSBench?".into(),
            ],
        });
    }
    println!("{table}");
    Ok(Exit::Done)
}
