//! `cosmark import`: what fio measured as a run of the archive.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use cosmark_archive::fio::{Course, FioJob, FioOutput};
use cosmark_archive::{Archive, NewFio, Timestamp};
use cosmark_workload::units::parse_size;

use crate::args::ImportArgs;
use crate::cmd::run::print_results;
use crate::exit::{Exit, Outcome, Problem};
use crate::fio::{described, fill};
use crate::host;

/// Larger is no output of fio.
const MOST_BYTES: u64 = 64 << 20;

/// Runs the subcommand.
pub fn run(args: &ImportArgs) -> Outcome {
    let mut output = FioOutput::read(&text_of(&args.file)?)
        .map_err(|why| Problem::usage(format!("{}: {why}", args.file.display())))?;
    if let Some(stage) = &args.stage {
        name_stage(&mut output, stage)?;
    }
    let courses = courses(&args.iops_log, &output.jobs)?;
    let memory_bytes = args
        .memory
        .as_deref()
        .map(|text| {
            parse_size(text)
                .map_err(|(what, remedy)| Problem::usage(format!("--memory {text}: {what}; {remedy}")))
        })
        .transpose()?;
    let stem = args.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = args.name.clone().unwrap_or(stem);
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        return Err(Problem::usage("a run needs a name: give --name NAME".to_owned()));
    }
    let length = Duration::try_from_secs_f64(output.length_s()).unwrap_or_default();
    let ended = output.ended.unwrap_or_else(Timestamp::now).min(Timestamp::now());
    let archive = Archive::open(&args.archive)?;
    let run = archive.begin_fio(&NewFio {
        name: &name,
        description: &described(&output.version, &output.jobs),
        jobs: &output.jobs,
        memory_bytes,
        host: host::record(),
        submitted: ended.checked_sub(length).unwrap_or(ended),
    })?;
    let file = args.file.file_name().map(|name| name.to_string_lossy().into_owned());
    let (record, path) = fill(run, &file.unwrap_or_else(|| "fio.json".to_owned()), &output, &courses)?;
    print_results(&record, &path);
    if !args.no_report && cosmark_report::html::page_is_built_in() {
        match cosmark_report::html::write(&path, None) {
            Ok(report) => println!("report: {}", report.display()),
            Err(problem) => eprintln!("cosmark: no report.html: {problem}"),
        }
    }
    Ok(Exit::Done)
}

/// Gives the one stage of a result this name.
fn name_stage(output: &mut FioOutput, name: &str) -> Result<(), Problem> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    if name.is_empty() || name.len() > 60 || !name.chars().all(is_plain) {
        return Err(Problem::usage(format!("--stage {name}: give up to 60 letters, digits, - and _")));
    }
    let first = output.jobs.first().map(|job| job.group);
    if output.jobs.iter().any(|job| Some(job.group) != first) {
        return Err(Problem::usage(format!(
            "--stage {name}: these jobs ran in several groups, of which each is a stage; leave it out"
        )));
    }
    output.jobs.iter_mut().for_each(|job| name.clone_into(&mut job.facts.stage));
    Ok(())
}

/// A file of a bearable size.
fn text_of(path: &Path) -> Result<String, Problem> {
    let unreadable =
        |cause: std::io::Error| Problem::usage(format!("cannot read {}: {cause}", path.display()));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Problem::usage(format!(
            "{}: larger than {} MiB, so this is not the output of fio",
            path.display(),
            MOST_BYTES >> 20
        )));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn courses(files: &[std::path::PathBuf], jobs: &[FioJob]) -> Result<Vec<Option<Course>>, Problem> {
    if files.len() > jobs.len() {
        return Err(Problem::usage(format!(
            "more logs ({}) than jobs of fio ({}): give one --iops-log for each job at most",
            files.len(),
            jobs.len()
        )));
    }
    let read = |(file, job): (&std::path::PathBuf, &FioJob)| {
        let refused = |why: String| Problem::usage(format!("{}: {why}", file.display()));
        let course = Course::read(&text_of(file)?).map_err(refused)?;
        match course.contradicts(job) {
            Some(why) => Err(refused(why)),
            None => Ok(Some(course)),
        }
    };
    files.iter().zip(jobs).map(read).collect()
}
