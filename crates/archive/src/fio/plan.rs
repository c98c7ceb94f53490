//! Jobs of fio as a workload: a stage for each group of jobs, a work for each job, an operation for each direction.
//! It says what was measured in the words of any run; only fio can run it.

use std::collections::BTreeSet;
use std::fmt::Write;

use cosmark_workload::{Environment, Format, Workload, parse_what_is_there};

use super::FioJob;

/// Longer names are cut.
const LONGEST_NAME: usize = 60;
/// A workload has no more objects than this in a container here: it is a range of block numbers.
const MOST_BLOCKS: u64 = 1_000_000_000;

/// A name of what may stand in names of files and columns alone.
fn plain_name(text: &str) -> String {
    let sign =
        |sign: char| if sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_') { sign } else { '_' };
    let name: String = text.chars().take(LONGEST_NAME).map(sign).collect();
    if name.is_empty() { "job".to_owned() } else { name }
}

/// The name, or the same with a number that nobody has.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut own = name.to_owned();
    let mut number = 2_u32;
    while !taken.insert(own.clone()) {
        own = format!("{name}-{number}");
        number += 1;
    }
    own
}

/// Gives each job the names of its stage and its work.
pub fn name(jobs: &mut [FioJob]) {
    let mut stages = BTreeSet::new();
    for group in jobs.chunk_by_mut(|a, b| a.group == b.group) {
        let mut works = BTreeSet::new();
        let first = group.first().map(|job| job.facts.work.clone()).unwrap_or_default();
        let is_alike = group.iter().all(|job| job.facts.work == first);
        let number = group.first().map_or(0, |job| job.group);
        let stage = if is_alike { plain_name(&first) } else { format!("group-{number}") };
        let stage = unique(&stage, &mut stages);
        for job in group {
            job.facts.work = unique(&plain_name(&job.facts.work), &mut works);
            job.facts.stage.clone_from(&stage);
        }
    }
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
    serde_json::Value::from(plain).to_string()
}

/// The workload of these jobs, in the order in which they stand.
///
/// # Errors
/// What cannot be said as a workload.
pub fn workload_of(name: &str, description: &str, jobs: &[FioJob]) -> Result<Workload, String> {
    let mut text = format!("name: {}\ndescription: {}\nstages:\n", quoted(name), quoted(description));
    for stage in jobs.chunk_by(|a, b| a.facts.stage == b.facts.stage) {
        let stage_name = stage.first().map_or("", |job| job.facts.stage.as_str());
        let _ = writeln!(text, "  - name: {}\n    works:", quoted(stage_name));
        stage.iter().for_each(|job| write_work(&mut text, job));
    }
    let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
    let workload = workload.filter(|workload| {
        let works = workload.stages.iter().flat_map(|stage| &stage.works);
        works.map(|work| work.operations.len()).eq(jobs.iter().map(operations))
    });
    workload.ok_or_else(|| {
        let first = mistakes.first().map_or("it has no operations", |mistake| mistake.message.as_str());
        format!("its jobs cannot be said as a run: {first}")
    })
}

fn operations(job: &FioJob) -> usize {
    usize::from(job.reads.is_some()) + usize::from(job.writes.is_some())
}

fn write_work(text: &mut String, job: &FioJob) {
    let facts = &job.facts;
    let runtime_s = facts.runtime_s.or(facts.measured_s).unwrap_or(1.0).max(0.001);
    let _ = write!(
        text,
        "      - name: {}\n        workers: {}\n        rampup: {:.3}s\n        runtime: {runtime_s:.3}s\n        interval: 1s\n        \
         storage: {{type: fio, engine: {}, pattern: {}",
        quoted(&facts.work),
        facts.depth.max(1),
        facts.rampup_s,
        quoted(&facts.engine),
        quoted(&facts.pattern),
    );
    let place = if facts.engine == "rbd" { "pool" } else { "directory" };
    let direct = facts.direct.map(|direct| if direct { "1" } else { "0" }.to_owned());
    for (key, value) in
        [(place, Some(facts.target.clone())), ("block", facts.block.clone()), ("direct", direct)]
    {
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            let _ = write!(text, ", {key}: {}", quoted(&value));
        }
    }
    text.push_str("}\n        operations:\n");
    let blocks = facts.size_bytes.unwrap_or(0) / job.block_bytes.max(1);
    let blocks = blocks.clamp(1, MOST_BLOCKS);
    for (kind, ratio, sizes) in [
        ("read", job.reads, String::new()),
        ("write", job.writes, format!(", sizes: \"c({})B\"", job.block_bytes)),
    ] {
        if let Some(ratio) = ratio {
            let _ = writeln!(
                text,
                "          - {{type: {kind}, ratio: {ratio}, containers: \"c(1)\", objects: \"u(1,{blocks})\"{sizes}}}"
            );
        }
    }
}
