//! The JSON of fio (3.x, `--output-format=json` and `json+`) as jobs of a run: what each was to do, and what each
//! direction of it came to. Format: fio's HOWTO, "JSON output" and "JSON+ output". What contradicts itself, failed
//! or was cut off is refused with its place.

mod course;
mod options;
mod plan;
mod side;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

pub use course::{Course, Rate, Step};
pub use plan::workload_of;
pub use side::{Side, Times};

use crate::FioJobRecord;
use crate::record::fio::FioTimes;
use options::Options;

/// More jobs of one output are none of ours.
const MOST_JOBS: usize = 4096;
/// Values of options that nobody may read in an archive, by a part of the option's name.
const SECRETS: [&str; 4] = ["key", "pass", "secret", "token"];

/// What fio printed.
#[derive(Debug, Clone, PartialEq)]
pub struct FioOutput {
    /// As it says of itself, e.g. `fio-3.33`.
    pub version: String,
    /// When it was over; `None` where it does not say.
    pub ended: Option<Timestamp>,
    /// Its jobs, in the order of their groups.
    pub jobs: Vec<FioJob>,
    /// The JSON, secrets removed.
    pub text: String,
}

/// One job: what it was to do, and what it came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FioJob {
    /// What it was to do.
    pub facts: FioJobRecord,
    /// Its group: jobs of one group run at the same time.
    pub group: u64,
    /// It reads, and how much of it.
    pub reads: Option<u8>,
    /// It writes, and how much of it.
    pub writes: Option<u8>,
    /// Bytes of a request.
    pub block_bytes: u64,
    /// What its reads came to.
    pub read: Option<Side>,
    /// What its writes came to.
    pub write: Option<Side>,
    /// Requests that failed where it went on after failures (`continue_on_error`).
    pub failed: u64,
}

impl FioJob {
    /// A job that has not run: its `facts`, and the percentage of reads where it does both.
    #[must_use]
    pub fn planned(facts: FioJobRecord, block_bytes: u64, mix: Option<u8>) -> Self {
        let (reads, writes) = options::shares(&facts.pattern, mix);
        Self { facts, block_bytes: block_bytes.max(1), reads, writes, ..Self::default() }
    }

    /// Seconds that it measured.
    #[must_use]
    pub fn window_s(&self) -> f64 {
        let sides = self.read.iter().chain(&self.write);
        sides.map(|side| side.runtime_s).fold(0.0, f64::max)
    }
}

impl FioOutput {
    /// Seconds that its groups took one after the other, ramps included.
    #[must_use]
    pub fn length_s(&self) -> f64 {
        let groups = self.jobs.chunk_by(|a, b| a.group == b.group);
        let length = |job: &FioJob| job.facts.rampup_s + job.window_s();
        groups.map(|group| group.iter().map(length).fold(0.0, f64::max)).sum()
    }

    /// Reads what fio printed; notes before the JSON are passed over.
    ///
    /// # Errors
    /// What is wrong with it and where, in one sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut value = json(text)?;
        let version = version(&value)?;
        let jobs = value
            .get("jobs")
            .and_then(Value::as_array)
            .ok_or("it has no list `jobs`: fio printed no result")?;
        if jobs.len() > MOST_JOBS {
            return Err(format!(
                "{} jobs are more than {MOST_JOBS}: give --group_reporting to fio",
                jobs.len()
            ));
        }
        let global = value.get("global options");
        let mut read = Vec::with_capacity(jobs.len());
        let mut groups = BTreeMap::new();
        for (at, job) in jobs.iter().enumerate() {
            let name = job.get("jobname").and_then(Value::as_str).unwrap_or("without a name");
            let own = job_of(job, global).map_err(|why| format!("jobs[{at}] ({}): {why}", shown(name)))?;
            // The first job of a group says how the group begins.
            let begins_beside = || Options::of(job.get("job options"), global).begins_beside();
            groups.entry(own.group).or_insert_with(begins_beside);
            read.push(own);
        }
        if read.iter().all(|job| job.read.is_none() && job.write.is_none()) {
            return Err("no job read or wrote anything: there is no operation in it".to_owned());
        }
        read.sort_by_key(|job| job.group);
        join_groups(&mut read, &groups);
        plan::name(&mut read);
        Ok(Self { version, ended: ended(&value), jobs: read, text: without_secrets(&mut value, text) })
    }
}

/// Makes one group of those that ran at the same time: `groups` says which began beside the one before.
fn join_groups(jobs: &mut [FioJob], groups: &BTreeMap<u64, bool>) {
    let mut before = None;
    for job in jobs {
        if let Some(group) = before.filter(|_| groups.get(&job.group) == Some(&true)) {
            job.group = group;
        }
        before = Some(job.group);
    }
}

/// What a file of somebody else says, as a terminal bears it.
fn shown(text: &str) -> String {
    text.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).take(300).collect()
}

/// The JSON value in a text, of which notes may stand before and behind it.
fn json(text: &str) -> Result<Value, String> {
    let from = text.find('{').ok_or("it is empty, or no JSON: it has no {")?;
    let lines_before = text.get(..from).unwrap_or_default().matches('\n').count();
    let body = text.get(from..).unwrap_or_default();
    let mut last = None;
    // With --status-interval fio prints what it has so far again and again: the last is the whole.
    for value in serde_json::Deserializer::from_str(body).into_iter::<Value>() {
        match value {
            Ok(value) if value.is_object() => last = Some(value),
            Err(cause) if last.is_none() || cause.is_eof() => {
                let (line, column) = (cause.line() + lines_before, cause.column());
                let what = if cause.is_eof() { "it is cut off" } else { "it is damaged" };
                return Err(format!(
                    "line {line}, column {column}: {what}: it was written by a fio that did not end, or copied in part"
                ));
            }
            // Notes stand behind it.
            _ => break,
        }
    }
    last.ok_or_else(|| "it is empty".to_owned())
}

/// The version, which has to be one whose fields are known: fio 2 counted in microseconds and KiB.
fn version(value: &Value) -> Result<String, String> {
    let said = value.get("fio version").and_then(Value::as_str);
    let said =
        said.ok_or("it has no `fio version`: this is no JSON of fio (--output-format=json or json+)")?;
    let number = said.strip_prefix("fio-").unwrap_or(said);
    let major = number.split(|sign: char| !sign.is_ascii_digit()).next().unwrap_or_default();
    if major == "3" {
        return Ok(shown(said));
    }
    Err(format!(
        "`fio version`: {} is none of fio 3, whose fields and units are known: measure again with one of them",
        shown(said)
    ))
}

fn ended(value: &Value) -> Option<Timestamp> {
    let whole = |key: &str| value.get(key).and_then(Value::as_i64);
    let ms = whole("timestamp_ms").and_then(|ms| Timestamp::from_millisecond(ms).ok());
    ms.or_else(|| Timestamp::from_second(whole("timestamp")?).ok()).filter(|at| at.as_second() > 0)
}

fn job_of(job: &Value, global: Option<&Value>) -> Result<FioJob, String> {
    let options = Options::of(job.get("job options"), global);
    let error = job.get("error").and_then(Value::as_i64).unwrap_or(0);
    if error != 0 {
        let said = std::io::Error::from_raw_os_error(i32::try_from(error.abs()).unwrap_or(0));
        return Err(format!(
            "`error` is {error} ({said}): the job failed, its figures are of what was before"
        ));
    }
    if job.get("mixed").is_some() {
        return Err("`mixed`: reads and writes are added up; measure without unified_rw_reporting".to_owned());
    }
    let (read, write) = (Side::of(job, "read")?, Side::of(job, "write")?);
    if Side::of(job, "trim")?.is_some() {
        return Err(
            "`trim`: trims move no bytes and are no operation of a run; measure reads or writes".to_owned()
        );
    }
    let mut facts = options.facts()?;
    facts.work = job.get("jobname").and_then(Value::as_str).unwrap_or("job").to_owned();
    let allowed = options.pattern().map(|pattern| options::shares(pattern, None));
    // To verify what was written is to read it.
    let more = match allowed {
        Some((Some(_), None)) if write.is_some() => Some("wrote"),
        Some((None, Some(_))) if read.is_some() && !facts.verified => Some("read"),
        _ => None,
    };
    if let Some(more) = more {
        return Err(format!(
            "its pattern is `{}` and it {more}, too: fio added up several jobs (group_reporting) and has the options of the first \
             alone; measure without it, or with new_group in each",
            facts.pattern
        ));
    }
    // What it did counts more than what it was to do.
    let (reads, writes) = match (&read, &write) {
        (Some(_), Some(_)) => {
            let reads = options.mix().unwrap_or(50).clamp(1, 99);
            (Some(reads), Some(100 - reads))
        }
        (Some(_), None) => (Some(100), None),
        (None, Some(_)) => (None, Some(100)),
        (None, None) => options::shares(&facts.pattern, options.mix()),
    };
    if reads.is_none() && writes.is_none() {
        return Err(format!(
            "it neither read nor wrote, and its pattern `{}` does neither",
            shown(&facts.pattern)
        ));
    }
    let moved = || read.iter().chain(&write).find(|side| side.ios > 0).map(|side| side.bytes / side.ios);
    let block_bytes = options.block_bytes().or_else(moved).unwrap_or(1).max(1);
    let busy =
        |key: &str| job.get(key).and_then(Value::as_f64).filter(|percent| (0.0..=1e4).contains(percent));
    facts.cpu_share = busy("usr_cpu").zip(busy("sys_cpu")).map(|(user, system)| (user + system) / 100.0);
    let failed = job.get("total_err").and_then(Value::as_u64).unwrap_or(0);
    let group = job.get("groupid").and_then(Value::as_u64).unwrap_or(0);
    let mut own = FioJob { facts, group, reads, writes, block_bytes, read, write, failed };
    own.facts.times = own
        .read
        .iter()
        .chain(&own.write)
        .map(|side| side.times.kind())
        .max_by_key(|kind| rank(*kind))
        .unwrap_or_default();
    own.facts.measured_s = Some(own.window_s()).filter(|seconds| *seconds > 0.0);
    Ok(own)
}

/// The poorest of several sources counts.
fn rank(times: FioTimes) -> u8 {
    match times {
        FioTimes::Bins => 0,
        FioTimes::Percentiles => 1,
        FioTimes::None => 2,
    }
}

/// The text as it came, or where an option of it is a secret, the same with stars in its place.
fn without_secrets(value: &mut Value, text: &str) -> String {
    fn hide(options: Option<&mut Value>) -> bool {
        let mut any = false;
        for (name, value) in options.and_then(Value::as_object_mut).into_iter().flatten() {
            let name = name.to_ascii_lowercase();
            if SECRETS.iter().any(|part| name.contains(part))
                && value.as_str().is_some_and(|text| !text.is_empty())
            {
                *value = Value::from("***");
                any = true;
            }
        }
        any
    }
    let mut any = hide(value.get_mut("global options"));
    for job in value.get_mut("jobs").and_then(Value::as_array_mut).into_iter().flatten() {
        any |= hide(job.get_mut("job options"));
    }
    if any { serde_json::to_string_pretty(value).unwrap_or_default() } else { text.to_owned() }
}
