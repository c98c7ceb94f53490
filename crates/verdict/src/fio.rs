//! What can be said of a run whose load fio made: rows of the common table that its figures allow, some of them from
//! what fio says of its jobs, and of the others why they do not apply. Sources: fio's HOWTO (`direct`, `ramp_time`,
//! `runtime`, `verify`).

use cosmark_archive::{FioJobRecord, FioRecord, FioTimes, StageRecord};

use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::numbers::{bytes, grouped, percent, plain};

/// Rows that look at figures which fio has as any run.
const KNOWN: &[&str] = &["V9", "V11", "V12", "V22", "V23", "V25"];

/// Rows that do not apply, and why.
const DO_NOT_APPLY: &[(&str, &str)] = &[
    ("V1", "fio does not say what was in flight: it is worked out from its times, by this very law"),
    ("V2", "fio keeps its depth by itself, without workers of Cosmark"),
    ("V3", "fio keeps a depth, and nothing is due by a clock"),
    ("V7", "no link of Cosmark's machine carried the load"),
    ("V10", "fio waits for what is under way at its end, and counts it"),
    ("V13", "a device has its blocks: there is no object that could be missing"),
    ("V15", "one fio made the load, by one clock"),
    ("V17", "one fio made the load"),
    ("V18", "requests to a device open no connection"),
    ("V19", "no connection of Cosmark carried the load"),
    ("V21", "fio repeats no request"),
    ("V26", "fio keeps no ledger of what was acknowledged"),
];

/// Data below this fits the memory of any machine.
const TINY_BYTES: f64 = 8e9;
/// A job that measured less than this part of its time was cut.
const CUT: f64 = 0.95;
/// The same, where it was a moment.
const A_MOMENT: f64 = 0.995;
/// A copy of a job that is busier limits the load by itself.
const BUSY: f64 = 0.9;
/// Jobs of one group that end further apart do not measure the same time.
const APART: (f64, f64) = (0.01, 0.05);

/// What the row `id` says of a stage: `finding`, which the table made of its figures, or what fio knows better.
#[must_use]
pub fn finding(
    id: &str,
    fio: &FioRecord,
    stage: &StageRecord,
    evidence: &Evidence,
    finding: Finding,
) -> Finding {
    let jobs: Vec<&FioJobRecord> = fio.jobs.iter().filter(|job| job.stage == stage.name).collect();
    if let Some((_, why)) = DO_NOT_APPLY.iter().find(|(own, _)| *own == id) {
        return Finding::does_not_apply(*why);
    }
    match id {
        "V4" => length_as_asked(&jobs),
        "V5" => processor(&jobs),
        "V6" => Finding::unknown("nobody looked whether the machine on which fio ran paused"),
        "V8" if jobs.iter().any(|job| !job.has_course) => Finding::unknown(
            "fio's JSON has no course over time: give it --write_iops_log=NAME --log_avg_msec=1000, and its log to the import",
        ),
        "V8" => finding,
        "V11" | "V25" if jobs.iter().any(|job| job.times == FioTimes::None) => {
            Finding::unknown("fio measured no times (gtod_reduce or disable_clat): its rates stand alone")
        }
        "V14" => working_set(fio, &jobs, evidence),
        "V16" => common_window(&jobs),
        "V20" => integrity(&jobs),
        "V24" if jobs.iter().any(|job| job.engine == "null") => {
            Finding::warn(1.0, 0.0, "fio's engine null only pretends: these are the numbers of fio itself")
        }
        "V24" => finding,
        known if KNOWN.contains(&known) => finding,
        _ => Finding::does_not_apply("fio made the load, and says nothing of it"),
    }
}

/// V4: whether each job measured as long as it was to.
fn length_as_asked(jobs: &[&FioJobRecord]) -> Finding {
    let asked = jobs.iter().filter_map(|job| Some((job, job.measured_s? / job.runtime_s?)));
    let Some((job, share)) = asked.min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Finding::does_not_apply(
            "its size and not its time ended it (no time_based), and nothing was offered by a clock",
        );
    };
    let (measured_s, asked_s) = (job.measured_s.unwrap_or(0.0), job.runtime_s.unwrap_or(0.0));
    let numbers = format!("{} of {} s were measured", plain(measured_s), plain(asked_s));
    if share < CUT {
        let message = format!("{numbers}: job {} was ended before its time; run it again", job.work);
        return Finding::fail(1.0 - share, 1.0 - CUT, message);
    }
    if share < A_MOMENT {
        return Finding::warn(1.0 - share, 1.0 - A_MOMENT, format!("{numbers} by job {}", job.work));
    }
    Finding::pass(1.0 - share.min(1.0), 1.0 - A_MOMENT, numbers)
}

/// V5: how busy fio itself was.
fn processor(jobs: &[&FioJobRecord]) -> Finding {
    let known = jobs.iter().filter_map(|job| Some((job, job.cpu_share?)));
    let Some((job, share)) = known.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Finding::unknown("fio does not say how busy its processor was (usr_cpu, sys_cpu)");
    };
    let numbers = format!("job {} had {} of a processor", job.work, percent(share));
    if share > BUSY {
        let message = format!(
            "{numbers}: fio, and not the device, may have limited the load; give it more jobs (numjobs)"
        );
        return Finding::warn(share, BUSY, message);
    }
    Finding::pass(share, BUSY, numbers)
}

/// V14: a page cache on the way, or the memory of a store behind a network.
#[expect(clippy::cast_precision_loss, reason = "sizes of memory and of files fit 53 bits")]
fn working_set(fio: &FioRecord, jobs: &[&FioJobRecord], evidence: &Evidence) -> Finding {
    let reads = evidence.operations.iter().any(|op| op.kind == "read" && op.ok > 0);
    let memory = fio.memory_bytes.map(|bytes| bytes as f64).filter(|bytes| *bytes > 0.0);
    // Files of jobs that ran side by side share the memory.
    let is_own = |job: &&&FioJobRecord| job.has_own_files && !job.is_remote() && !job.is_direct();
    let together: u64 =
        jobs.iter().filter(is_own).fold(0, |sum, job| sum.saturating_add(job.size_bytes.unwrap_or(0)));
    let each = jobs.iter().map(|job| {
        let size = job.size_bytes.map(|bytes| bytes as f64);
        if job.is_remote() {
            return remote(job, size, memory, reads);
        }
        local(job, size.map(|size| if job.has_own_files { size.max(together as f64) } else { size }), memory)
    });
    let worst = each.max_by_key(|finding| finding.allows);
    worst.unwrap_or_else(|| Finding::unknown("fio says nothing of its jobs"))
}

/// A store behind a network: what is written reaches it, what is read may come from its memory.
fn remote(job: &FioJobRecord, size: Option<f64>, memory: Option<f64>, reads: bool) -> Finding {
    if !reads {
        return Finding::does_not_apply("no reads: nothing can come from a cache");
    }
    let target = &job.target;
    match (size, memory) {
        (Some(size), Some(memory)) if size < memory => Finding::warn(
            size / memory,
            1.0,
            format!(
                "the image {target} of {} fits the memory of {}, from which its store may have read: use a larger one",
                bytes(size),
                bytes(memory)
            ),
        ),
        (Some(size), Some(memory)) => Finding::pass(
            size / memory,
            1.0,
            format!("the image {target} of {} is larger than the memory of {}", bytes(size), bytes(memory)),
        ),
        _ => Finding::unknown(format!(
            "the memory of the store of {target}, from which it may have read, or the size of the image is not known"
        )),
    }
}

/// A device or file of the machine on which fio ran.
fn local(job: &FioJobRecord, size: Option<f64>, memory: Option<f64>) -> Finding {
    let target = if job.target.is_empty() { "its file" } else { job.target.as_str() };
    if job.is_direct() {
        let how = if job.direct == Some(true) { "direct=1" } else { job.engine.as_str() };
        return Finding::pass(
            1.0,
            1.0,
            format!("{how}: requests to {target} pass by the page cache of the machine"),
        );
    }
    if matches!(job.pattern.as_str(), "write" | "randwrite") {
        if job.synced {
            let message = format!("sync: a write to {target} was over when it was on the device");
            return Finding::pass(1.0, 1.0, message);
        }
        if let Some(writes) = job.synced_every {
            return waited_for(target, writes);
        }
    }
    let buffered = format!("{target} was reached through the page cache (direct=0)");
    let Some(size) = size else {
        return Finding::unknown(format!("{buffered}, and its size is not known: give direct=1 to fio"));
    };
    let Some(memory) = memory else {
        if size < TINY_BYTES {
            let message = format!(
                "{buffered}, and its {} fit the memory of any machine: this measures memory; give direct=1 to fio",
                bytes(size)
            );
            return Finding::warn(size, TINY_BYTES, message);
        }
        return Finding::unknown(format!(
            "{buffered}, and the memory of the machine is not known: give --memory to the import, or direct=1 to fio"
        ));
    };
    let (ratio, numbers) =
        (size / memory, format!("{buffered}: {} of data, {} of memory", bytes(size), bytes(memory)));
    if ratio < 1.0 {
        return Finding::fail(
            ratio,
            1.0,
            format!("{numbers}: this measures memory and no disk; give direct=1 to fio"),
        );
    }
    if ratio < 5.0 {
        let message = format!("{numbers}: about {} can be served from it", percent((1.0 / ratio).min(1.0)));
        return Finding::warn(ratio, 5.0, message);
    }
    Finding::pass(ratio, 5.0, numbers)
}

/// A job that only writes, and waits for the device after so many writes: memory can hold no more than those, and fio
/// has that wait apart from the times of writes.
#[expect(clippy::cast_precision_loss, reason = "a number of writes")]
fn waited_for(target: &str, writes: u64) -> Finding {
    let after = if writes == 1 { "each".to_owned() } else { format!("every {}", grouped(writes)) };
    let message = format!(
        "writes to {target} went through the page cache, and after {after} of them fio waited until they were on the device: that \
         wait is in the rates and in no time; give sync=1 or direct=1 to fio"
    );
    Finding::warn(writes as f64, 0.0, message)
}

/// V16: jobs that ran side by side.
fn common_window(jobs: &[&FioJobRecord]) -> Finding {
    if jobs.len() < 2 {
        return Finding::does_not_apply("one job, or copies of one that fio reports together");
    }
    let lengths = || jobs.iter().filter_map(|job| Some(job.rampup_s + job.measured_s?));
    let (least, most) =
        lengths().fold((f64::INFINITY, 0.0_f64), |(least, most), s| (least.min(s), most.max(s)));
    if most <= 0.0 {
        return Finding::unknown("fio does not say how long its jobs took");
    }
    let apart = (most - least.min(most)) / most;
    let numbers =
        format!("{} jobs ran side by side, from {} to {} s", jobs.len(), plain(least.min(most)), plain(most));
    Finding::graded(
        apart,
        APART.0,
        APART.1,
        || numbers.clone(),
        || format!("{numbers}: their sum is of no common time; give them one runtime with time_based"),
    )
}

/// V20.
fn integrity(jobs: &[&FioJobRecord]) -> Finding {
    if jobs.iter().any(|job| job.zeros) {
        let message = "zeros are written (zero_buffers), which a device may compress or leave out: give refill_buffers instead";
        return Finding::warn(1.0, 0.0, message);
    }
    if jobs.iter().all(|job| job.verified) && !jobs.is_empty() {
        return Finding::pass(
            0.0,
            0.0,
            "fio compared what it read with what was written, and found no difference",
        );
    }
    Finding::does_not_apply("fio was not asked to compare what it reads (verify)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::OperationEvidence;
    use crate::finding::{Allows, Status};

    fn job(engine: &str, direct: Option<bool>, size: u64) -> FioJobRecord {
        FioJobRecord {
            engine: engine.to_owned(),
            target: "x".to_owned(),
            direct,
            size_bytes: Some(size),
            ..FioJobRecord::default()
        }
    }

    fn cache(job: FioJobRecord, memory_bytes: Option<u64>, op: &str) -> Finding {
        let fio = FioRecord { memory_bytes, ..FioRecord::default() };
        let operation = OperationEvidence { kind: op.to_owned(), ok: 5, ..OperationEvidence::default() };
        let evidence = Evidence { operations: vec![operation], ..Evidence::default() };
        working_set(&fio, &[&job], &evidence)
    }

    #[test]
    fn what_a_page_cache_can_have_served_is_no_figure_of_a_disk() {
        let memory = Some(8 << 30);
        for (job, memory, op, allows) in [
            (job("libaio", Some(true), 1 << 20), memory, "read", Allows::True),
            (job("libaio", Some(false), 1 << 30), memory, "read", Allows::False),
            (job("io_uring_cmd", None, 1 << 30), memory, "read", Allows::True),
            (job("external:build/fio/spdk_nvme", Some(false), 1 << 30), memory, "read", Allows::True),
            (job("io_uring", None, 1 << 30), memory, "read", Allows::False),
            // Not to say it is not to have it.
            (job("psync", None, 1 << 30), memory, "write", Allows::False),
            (job("psync", None, 16 << 30), memory, "read", Allows::WithLimits),
            (job("psync", None, 80 << 30), memory, "read", Allows::True),
            (job("psync", None, 1 << 30), None, "read", Allows::WithLimits),
            (job("psync", None, 80 << 30), None, "read", Allows::WithLimits),
            (job("rbd", None, 1 << 30), memory, "read", Allows::WithLimits),
            (job("rbd", None, 1 << 30), memory, "write", Allows::True),
            (job("rbd", None, 80 << 30), memory, "read", Allows::True),
            (job("rbd", None, 1 << 30), None, "read", Allows::WithLimits),
        ] {
            let shown = format!("{job:?} {memory:?} {op}");
            assert_eq!(cache(job, memory, op).allows, allows, "{shown}");
        }
        let said = cache(job("psync", None, 1 << 30), memory, "read").message;
        assert!(said.contains("1.07 GB of data, 8.59 GB of memory") && said.contains("direct=1"), "{said}");
    }

    #[test]
    fn writes_that_the_device_had_before_the_next_are_no_writes_to_memory() {
        let of = |pattern: &str, synced: bool, synced_every: Option<u64>| {
            let pattern = pattern.to_owned();
            let own = FioJobRecord { pattern, synced, synced_every, ..job("sync", None, 22 << 20) };
            cache(own, Some(8 << 30), "write")
        };
        assert_eq!(
            (of("write", true, None).status, of("randwrite", true, None).status),
            (Status::Pass, Status::Pass)
        );
        for writes in [1, 32] {
            let found = of("write", false, Some(writes));
            assert_eq!((found.status, found.allows), (Status::Warn, Allows::WithLimits));
            assert!(found.message.contains("in no time"), "{found:?}");
        }
        assert_eq!(of("write", false, None).allows, Allows::False);
        // What it reads may come from memory all the same.
        assert_eq!(
            (of("randrw", true, Some(1)).allows, of("read", true, None).allows),
            (Allows::False, Allows::False)
        );
        assert_eq!(cache(job("io_uring_cmd", None, 1 << 30), Some(8 << 30), "read").status, Status::Pass);
    }

    #[test]
    fn files_of_jobs_that_ran_side_by_side_share_the_memory() {
        let own = FioJobRecord { has_own_files: true, ..job("psync", None, 12 << 30) };
        let fio = FioRecord { memory_bytes: Some(16 << 30), ..FioRecord::default() };
        let of = |jobs: &[&FioJobRecord]| working_set(&fio, jobs, &Evidence::default()).allows;
        assert_eq!((of(&[&own]), of(&[&own, &own])), (Allows::False, Allows::WithLimits));
        assert_eq!(of(&[&own; 8]), Allows::True);
        // Of one file there is no more for eight of them.
        let shared = job("psync", None, 12 << 30);
        let direct = FioJobRecord { direct: Some(true), ..own.clone() };
        assert_eq!((of(&[&shared; 8]), of(&[&own, &direct, &direct])), (Allows::False, Allows::False));
    }

    #[test]
    fn a_job_that_was_cut_is_found_and_one_that_its_size_ended_is_not_blamed() {
        let of = |measured_s: f64, runtime_s: Option<f64>| {
            let job = FioJobRecord { measured_s: Some(measured_s), runtime_s, ..FioJobRecord::default() };
            length_as_asked(&[&job])
        };
        assert_eq!(of(60.001, Some(60.0)).status, Status::Pass);
        assert_eq!(of(59.0, Some(60.0)).status, Status::Warn);
        assert_eq!(of(31.0, Some(60.0)).allows, Allows::False);
        assert_eq!((of(3.0, None).status, of(3.0, None).allows), (Status::NotRun, Allows::True));
    }

    #[test]
    fn jobs_that_ran_apart_are_no_sum_and_a_busy_fio_is_a_limit() {
        let of = |measured_s: f64| FioJobRecord { measured_s: Some(measured_s), ..FioJobRecord::default() };
        let (one, same, short) = (of(60.0), of(60.1), of(30.0));
        assert_eq!(common_window(&[&one]).status, Status::NotRun);
        assert_eq!(common_window(&[&one, &same]).status, Status::Pass);
        assert_eq!(common_window(&[&one, &short]).allows, Allows::False);
        let busy = |share: Option<f64>| FioJobRecord { cpu_share: share, ..FioJobRecord::default() };
        assert_eq!(processor(&[&busy(Some(0.2))]).status, Status::Pass);
        assert_eq!(processor(&[&busy(Some(0.2)), &busy(Some(0.97))]).status, Status::Warn);
        assert_eq!(processor(&[&busy(None)]).status, Status::NotRun);
    }

    #[test]
    fn every_row_of_the_table_is_said_something_of() {
        let fio = FioRecord { jobs: vec![job("libaio", Some(true), 1 << 30)], ..FioRecord::default() };
        let text = serde_json::json!({"id": "s1-", "name": "", "state": "completed"});
        let stage: StageRecord = serde_json::from_value(text).unwrap();
        for row in crate::checks::CHECKS {
            let found =
                finding(row.id, &fio, &stage, &Evidence::default(), Finding::pass(0.0, 1.0, "as found"));
            assert!(!found.message.is_empty() && found.allows < Allows::False, "{}: {found:?}", row.id);
            let is_known = KNOWN.contains(&row.id) || DO_NOT_APPLY.iter().any(|(id, _)| *id == row.id);
            let own = ["V4", "V5", "V6", "V8", "V14", "V16", "V20", "V24"].contains(&row.id);
            assert!(is_known ^ own, "{} is in no list of what fio says, or in two", row.id);
        }
    }
}
