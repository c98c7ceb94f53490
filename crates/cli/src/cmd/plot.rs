//! `cosmark plot`: pictures of runs.

use std::fs;
use std::path::Path;

use cosmark_report::plot::{PlotError, PlotRun, Wishes, named, pictures, png};

use crate::args::{PictureFormat, PlotArgs};
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::runs::find;

/// More runs than this do not fit into a picture.
const MOST_RUNS: usize = 500;

/// Runs the subcommand.
pub fn run(args: &PlotArgs) -> Outcome {
    let mut runs = Vec::new();
    for given in &args.runs {
        runs.extend(open(given, &args.archive)?);
        if runs.len() > MOST_RUNS {
            return Err(Problem::usage(format!("more than {MOST_RUNS} runs; draw fewer at a time")));
        }
    }
    let wishes = Wishes {
        metrics: args.metrics.iter().filter_map(|name| named(name)).collect(),
        stages: args.stages.clone(),
        operations: args.operations.clone(),
        only_fit: args.only_fit,
        no_title: args.no_title,
    };
    let kinds: Vec<&str> = args.kinds.iter().map(String::as_str).collect();
    let pictures = pictures(&runs, &kinds, &wishes)?;
    fs::create_dir_all(&args.output).map_err(|cause| cannot_write(&args.output, &cause))?;
    let mut written = 0_usize;
    for picture in &pictures {
        let svg = picture.svg();
        for format in &args.formats {
            match format {
                PictureFormat::Svg => put(&args.output, &format!("{}.svg", picture.name), svg.as_bytes())?,
                PictureFormat::Png => {
                    put(&args.output, &format!("{}.png", picture.name), &png(&picture.name, &svg)?)?;
                }
            }
            written += 1;
        }
        if let Some(csv) = &picture.csv {
            put(&args.output, &format!("{}.csv", picture.name), csv.as_bytes())?;
            written += 1;
        }
    }
    println!("{written} files in {}", args.output.display());
    Ok(Exit::Done)
}

/// The runs of `[NAME=]RUN[,RUN..]`.
fn open(given: &str, archive: &Path) -> Result<Vec<PlotRun>, Problem> {
    // A path may have `=` and `,` in it; what exists is taken as it stands.
    let (name, list) = match given.split_once('=') {
        Some((name, list)) if !Path::new(given).exists() => (Some(name), list),
        _ => (None, given),
    };
    let parts: Vec<&str> = if Path::new(list).exists() { vec![list] } else { list.split(',').collect() };
    let several = parts.len() > 1;
    let mut runs = Vec::new();
    for part in parts {
        let mut run = PlotRun::open(&find(part, archive)?, if several { None } else { name })?;
        if several {
            let series = name.unwrap_or(list);
            run.label = format!("{series} {}", run.label);
            run.series = series.to_owned();
        }
        runs.push(run);
    }
    Ok(runs)
}

impl From<PlotError> for Problem {
    fn from(error: PlotError) -> Self {
        match error {
            PlotError::Archive(error) => error.into(),
            PlotError::Render { .. } => Self::ours(error.to_string()),
            _ => Self::usage(error.to_string()),
        }
    }
}

fn put(dir: &Path, file: &str, bytes: &[u8]) -> Result<(), Problem> {
    output::write_bytes(Some(&dir.join(file)), bytes)
}

fn cannot_write(path: &Path, cause: &std::io::Error) -> Problem {
    Problem::usage(format!("cannot write {}: {cause}; give another directory with --output", path.display()))
}
