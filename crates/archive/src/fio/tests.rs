//! What fio printed, as it is read: golden files of several versions, and files that are none.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;

const MIXED: &str = include_str!("../../tests/fio/fio-3.33-mixed.json");
const BUFFERED: &str = include_str!("../../tests/fio/fio-3.28-buffered.json");
const RBD: &str = include_str!("../../tests/fio/fio-3.36-rbd.json");
const LOG: &str = include_str!("../../tests/fio/fio-3.33-mixed_iops.1.log");

fn changed(change: impl FnOnce(&mut Value)) -> Result<FioOutput, String> {
    let mut value: Value = serde_json::from_str(MIXED).unwrap();
    change(&mut value);
    FioOutput::read(&value.to_string())
}

#[test]
fn each_figure_of_each_version_is_read_as_it_stands() {
    let output = FioOutput::read(&format!("note: both iodepth >= 1 and ..\n{MIXED}")).unwrap();
    assert_eq!(output.version, "fio-3.33");
    assert_eq!(output.ended.unwrap().as_millisecond(), 1_764_000_000_381);
    let [job] = output.jobs.as_slice() else { panic!("{:?}", output.jobs) };
    let facts = &job.facts;
    assert_eq!((facts.stage.as_str(), facts.work.as_str()), ("cell", "cell"));
    assert_eq!((facts.engine.as_str(), facts.target.as_str()), ("libaio", "/dev/vdb"));
    assert_eq!((facts.pattern.as_str(), facts.block.as_deref(), facts.depth), ("randrw", Some("4k"), 4));
    assert_eq!((facts.direct, facts.size_bytes), (Some(true), Some(8 << 20)));
    assert_eq!((facts.runtime_s, facts.rampup_s, facts.measured_s), (Some(3.0), 1.0, Some(3.001)));
    assert!((facts.cpu_share.unwrap() - 0.016_333_33).abs() < 1e-6, "{facts:?}");
    assert_eq!(facts.times, FioTimes::Bins);
    assert_eq!((job.reads, job.writes, job.block_bytes), (Some(70), Some(30), 4096));
    let (read, write) = (job.read.as_ref().unwrap(), job.write.as_ref().unwrap());
    assert_eq!((read.ios, read.bytes, read.iops, read.bytes_per_s), (420, 1_720_320, 139.953_349, 573_248.0));
    assert_eq!(
        (write.ios, write.bytes, write.iops, write.bytes_per_s),
        (180, 737_280, 59.980_007, 245_678.0)
    );
    let times = read.times.latencies();
    assert_eq!((times.count, read.times.distribution().count()), (420, 420));
    assert_eq!((times.min, times.max), (Some(0.041_552), Some(64.906_026)));
    assert!((times.mean.unwrap() - 0.764_376_578).abs() < 1e-6, "{times:?}");
    // The bin in which the 210th lies, to the thousandth of a histogram of ours.
    assert!((times.p50.unwrap() / 0.111_104 - 1.0).abs() < 0.001, "{times:?}");
    assert!(times.p99.is_none() && times.withheld.is_some(), "1000 are needed: {times:?}");

    let output = FioOutput::read(BUFFERED).unwrap();
    let job = &output.jobs[0];
    assert_eq!((job.facts.engine.as_str(), job.facts.depth, job.facts.direct), ("psync", 1, Some(false)));
    assert_eq!((job.facts.times, job.reads, job.writes), (FioTimes::Percentiles, Some(100), None));
    let times = job.read.as_ref().unwrap().times.latencies();
    assert_eq!((times.p50, times.p95), (Some(0.284_672), Some(1.761_28)));
    assert!(times.p99.is_some() && times.p99_9.is_none(), "1201 support a p99: {times:?}");
    assert_eq!(job.read.as_ref().unwrap().times.distribution().count(), 0);

    let output = FioOutput::read(RBD).unwrap();
    let facts = &output.jobs[0].facts;
    assert_eq!((facts.target.as_str(), facts.is_remote()), ("cosmark-study/image", true));
    assert_eq!(output.jobs[0].write.as_ref().unwrap().ios, 90);
}

#[test]
fn buffered_is_the_opposite_of_direct_and_what_a_job_says_itself_holds() {
    let direct = |own: &str, global: &str| {
        let (own, global): (Value, Value) =
            (serde_json::from_str(own).unwrap(), serde_json::from_str(global).unwrap());
        options::Options::of(Some(&own), Some(&global)).facts().unwrap().direct
    };
    for (own, global, found) in [
        ("{}", "{}", None),
        (r#"{"buffered":"0"}"#, "{}", Some(true)),
        (r#"{"buffered":""}"#, "{}", Some(false)),
        ("{}", r#"{"buffered":"0"}"#, Some(true)),
        (r#"{"buffered":"0"}"#, r#"{"direct":"0"}"#, Some(true)),
        (r#"{"direct":"0"}"#, r#"{"buffered":"0"}"#, Some(false)),
    ] {
        assert_eq!(direct(own, global), found, "{own} {global}");
    }
}

#[test]
fn what_is_cut_off_foreign_failed_or_empty_is_refused_with_its_place() {
    for cut in [0, 1, MIXED.len() / 3, MIXED.len() - 3] {
        let said = FioOutput::read(&MIXED[..cut]).unwrap_err();
        assert!(cut == 0 || (said.contains("line ") && said.contains("cut off")), "{cut}: {said}");
    }
    assert!(FioOutput::read("").unwrap_err().contains("no {"));
    let with = |path: &str, new: Value| changed(|value| *value.pointer_mut(path).unwrap() = new).unwrap_err();
    let version = |text: &str| changed(|value| value["fio version"] = Value::from(text)).unwrap_err();
    assert!(version("fio-2.21").contains("none of fio 3") && version("fio-4.0").contains("none of fio 3"));
    assert!(version("iperf 3.1").contains("none of fio 3"));
    let none = changed(|value| drop(value.as_object_mut().unwrap().remove("fio version"))).unwrap_err();
    assert!(none.contains("no JSON of fio"), "{none}");
    let failed = with("/jobs/0/error", Value::from(5));
    assert!(failed.starts_with("jobs[0] (cell): ") && failed.contains("`error` is 5"), "{failed}");
    let nothing = changed(|value| {
        value["jobs"][0]["read"]["total_ios"] = Value::from(0);
        value["jobs"][0]["write"]["total_ios"] = Value::from(0);
    });
    assert!(nothing.unwrap_err().contains("no operation"));
    assert!(changed(|value| value["jobs"] = serde_json::json!([])).unwrap_err().contains("no operation"));
    for (path, new, words) in [
        ("/jobs/0/read/iops", Value::from(900.0), "`read.iops` is 900"),
        ("/jobs/0/write/bw_bytes", Value::from(9e9), "`write.bw_bytes`"),
        ("/jobs/0/read/runtime", Value::from(0), "`read.runtime` is 0"),
        ("/jobs/0/read/total_ios", Value::from(u64::MAX), "`read.total_ios`"),
        ("/jobs/0/read/clat_ns/N", Value::from(421_000), "`read.clat_ns.N` is 421000"),
        ("/jobs/0/read/clat_ns/N", Value::from(300), "`read.clat_ns.bins` hold 420"),
        ("/jobs/0/job options/iodepth", Value::from("many"), "iodepth is many"),
    ] {
        let said = with(path, new);
        assert!(said.contains(words) && said.contains("jobs[0] (cell)"), "{path}: {said}");
    }
    let mixed = changed(|value| value["jobs"][0]["mixed"] = serde_json::json!({}));
    assert!(mixed.unwrap_err().contains("unified_rw_reporting"));
    let said = changed(|value| {
        value["jobs"][0]["jobname"] = Value::from("\u{1b}[31mred");
        value["jobs"][0]["error"] = Value::from(1);
    });
    assert!(!said.unwrap_err().contains('\u{1b}'), "what a file says may not reach the terminal as it is");
    for (pattern, words) in
        [("randread", "and it wrote, too"), ("write", "and it read, too"), ("read:8", "`read`")]
    {
        let said = with("/jobs/0/job options/rw", Value::from(pattern));
        assert!(said.contains(words) && said.contains("group_reporting"), "{pattern}: {said}");
    }
    let verified = changed(|value| {
        let options = &mut value["jobs"][0]["job options"];
        (options["rw"], options["verify"]) = (Value::from("randwrite"), Value::from("crc32c"));
    });
    assert!(verified.is_ok_and(|output| output.jobs[0].facts.verified), "what is verified is read");
    let trims = changed(|value| value["jobs"][0]["trim"] = value["jobs"][0]["read"].clone());
    assert!(trims.unwrap_err().contains("`trim`"));
}

#[test]
fn requests_that_were_under_way_when_the_ramp_was_over_are_timed_and_not_counted() {
    let output = changed(|value| {
        let read = &mut value["jobs"][0]["read"];
        (read["total_ios"], read["iops"]) = (Value::from(416), Value::from(416.0 / 3.001));
    });
    let output = output.unwrap();
    let read = output.jobs[0].read.as_ref().unwrap();
    assert_eq!((read.ios, read.times.latencies().count), (416, 420));
}

#[test]
fn of_several_results_of_one_fio_the_last_is_the_whole() {
    let early = MIXED.replace("\"total_ios\": 420", "\"total_ios\": 1");
    assert_ne!(early, MIXED);
    let output = FioOutput::read(&format!("{early}\n{MIXED}\nfio: it was long\n")).unwrap();
    assert_eq!(output.jobs[0].read.as_ref().unwrap().ios, 420);
    let cut = FioOutput::read(&format!("{MIXED}\n{}", &MIXED[..900])).unwrap_err();
    assert!(cut.contains("cut off"), "{cut}");
}

#[test]
fn sizes_and_times_are_those_of_fio() {
    let sizes =
        [("4k", 4096), ("8M", 8 << 20), ("1g", 1 << 30), ("4KiB", 4000), ("4096", 4096), ("1.5k", 1536)];
    for (text, bytes) in sizes {
        assert_eq!(options::bytes(text, false), Some(bytes), "{text}");
    }
    assert_eq!((options::bytes("4k", true), options::bytes("4KiB", true)), (Some(4000), Some(4096)));
    assert_eq!((options::bytes("50%", false), options::bytes("k", false)), (None, None));
    for (text, seconds) in [("60", 60.0), ("60s", 60.0), ("2m", 120.0), ("1h", 3600.0), ("500ms", 0.5)] {
        assert_eq!(options::seconds(text), Some(seconds), "{text}");
    }
    assert_eq!(options::seconds("soon"), None);
}

#[test]
fn a_time_in_which_nothing_ended_is_steps_of_nothing_also_at_the_end() {
    let lines = |from: u32, to: u32| -> String {
        (from..=to).map(|at| format!("{}, 50, 0, 0, 0\n", at * 1000)).collect()
    };
    let course = Course::read(&format!("{}{}", lines(1, 20), lines(31, 40))).unwrap();
    let steps = course.steps_within(60.0);
    let reads: Vec<u64> = steps.iter().map(|step| step.reads).collect();
    assert_eq!(reads, [[50; 20].as_slice(), &[0; 10], &[50; 10], &[0; 19]].concat());
    assert!(steps.windows(2).all(|two| (two[0].to_s - two[1].from_s).abs() < 1e-9), "{steps:?}");
    assert!(steps.iter().all(|step| (step.to_s - step.from_s - 1.0).abs() < 1e-9), "{steps:?}");
    // The last line may be missing, and one may be late.
    assert_eq!(course.steps_within(41.2).len(), 40);
    let late = Course::read("1000, 5, 0\n2000, 5, 0\n3600, 5, 0\n4000, 5, 0\n5000, 5, 0\n").unwrap().steps();
    assert_eq!(late.len(), 5, "{late:?}");
    // No log makes more steps than can be looked at.
    let far = Course::read("1000, 5, 0\n2000, 5, 0\n3000, 5, 0\n9999999999999, 5, 0\n").unwrap();
    assert!(far.steps().len() <= 200_001 && far.steps_within(f64::MAX).len() <= 200_002);
    assert_eq!(course.steps_within(f64::NAN).len(), 40);
}

#[test]
fn a_log_that_is_not_of_the_job_is_found() {
    let output = FioOutput::read(MIXED).unwrap();
    assert_eq!(Course::read(LOG).unwrap().contradicts(&output.jobs[0]), None);
    let job = |ios: u32, seconds: f64| {
        let iops = f64::from(ios) / seconds;
        let side = Side { ios: u64::from(ios), iops, runtime_s: seconds, ..Side::default() };
        FioJob { read: Some(side), ..FioJob::default() }
    };
    let log = |rate: u64, from: u64, to: u64| -> Course {
        let lines: String = (from..=to).map(|at| format!("{}, {rate}, 0, 0, 0\n", at * 1000)).collect();
        Course::read(&lines).unwrap()
    };
    let fits = |course: &Course, job: &FioJob| course.contradicts(job).is_none();
    assert!(fits(&log(1000, 1, 120), &job(120_000, 120.0)));
    assert!(fits(&log(1000, 1, 119), &job(120_000, 120.0)), "the last line may be missing");
    assert!(fits(&log(1000, 11, 130), &job(120_000, 120.0)), "times may count the ramp");
    assert!(fits(&log(2000, 1, 60), &job(120_000, 120.0)), "where nothing ended there is no line");
    let copy = log(1000, 1, 120).contradicts(&job(480_000, 120.0)).unwrap();
    assert!(
        copy.contains("120000 reads") && copy.contains("480000") && copy.contains("group_reporting"),
        "{copy}"
    );
    // However short the job: one of two copies is half, whether or not lines are missing at its end.
    for seconds in [3_u32, 4, 5, 8, 30] {
        let of_copies = |copies: u32| job(copies * 1000 * seconds, f64::from(seconds));
        for last in [seconds - 1, seconds] {
            let one = log(1000, 1, u64::from(last));
            assert!(fits(&one, &of_copies(1)), "{last} of {seconds} s");
            assert!(!fits(&one, &of_copies(2)) && !fits(&one, &of_copies(3)), "{last} of {seconds} s");
        }
        // Its burst at the begin explains no other copy.
        let rate = |at: u32| -> u32 { if at == 1 { 3000 } else { 500 } };
        let burst: String = (1..=seconds).map(|at| format!("{}, {}, 0\n", at * 1000, rate(at))).collect();
        let (course, done) = (Course::read(&burst).unwrap(), (1..=seconds).map(rate).sum::<u32>());
        let of = |copies: u32| job(copies * done, f64::from(seconds));
        assert!(fits(&course, &of(1)) && !fits(&course, &of(2)), "{seconds} s");
    }
    assert!(!fits(&log(1000, 1, 30), &job(120_000, 120.0)), "of a shorter one");
    assert!(!fits(&log(1000, 1, 240), &job(120_000, 120.0)), "of a longer one");
    let writes: String = (1..=120).map(|at| format!("{}, 1000, 1, 0, 0\n", at * 1000)).collect();
    let said = Course::read(&writes).unwrap().contradicts(&job(120_000, 120.0)).unwrap();
    assert!(said.contains("0 reads"), "{said}");
    assert!(fits(&Course::default(), &job(10, 1.0)));
}

#[test]
fn what_passes_by_the_page_cache_is_known_by_each_of_its_options() {
    let of = |options: Value| {
        let output = changed(|value| {
            value.as_object_mut().unwrap().remove("global options");
            value["jobs"][0]["job options"] = options;
        });
        output.unwrap().jobs[0].facts.clone()
    };
    for (options, direct, synced, size) in [
        (
            serde_json::json!({"direct": "1", "size": "1g", "numjobs": "4"}),
            Some(true),
            (false, None),
            1 << 30,
        ),
        (serde_json::json!({"buffered": "0", "size": "1g"}), Some(true), (false, None), 1 << 30),
        (serde_json::json!({"buffered": "1", "size": "1g"}), Some(false), (false, None), 1 << 30),
        (serde_json::json!({"fsync": "0", "fdatasync": "1", "size": "1g"}), None, (false, Some(1)), 1 << 30),
        (serde_json::json!({"fsync": "32", "sync": "0", "size": "1g"}), None, (false, Some(32)), 1 << 30),
        (serde_json::json!({"sync": "dsync", "size": "1g"}), None, (true, None), 1 << 30),
        (
            serde_json::json!({"size": "1g", "numjobs": "4", "group_reporting": ""}),
            None,
            (false, None),
            4 << 30,
        ),
        (
            serde_json::json!({"size": "1g", "numjobs": "4", "group_reporting": "", "filename": "/dev/sdb"}),
            None,
            (false, None),
            1 << 30,
        ),
    ] {
        let shown = options.to_string();
        let has_own_files = options.get("filename").is_none();
        let facts = of(options);
        assert_eq!((facts.direct, (facts.synced, facts.synced_every)), (direct, synced), "{shown}");
        assert_eq!((facts.size_bytes, facts.has_own_files), (Some(size), has_own_files), "{shown}");
    }
}

#[test]
fn what_is_secret_in_options_is_in_no_archive() {
    let output = changed(|value| {
        value["jobs"][0]["job options"]["http_s3_key"] = Value::from("hunter2");
        value["global options"] = serde_json::json!({"http_pass": "hunter2"});
    });
    let output = output.unwrap();
    assert!(!output.text.contains("hunter2") && output.text.contains("***"));
    assert_eq!(FioOutput::read(MIXED).unwrap().text, MIXED, "what hides nothing is as it came");
}

#[test]
fn jobs_of_one_group_share_a_stage_and_each_has_a_name_of_its_own() {
    let output = changed(|value| {
        let job = value["jobs"][0].clone();
        let mut other = job.clone();
        (other["jobname"], other["groupid"]) = (Value::from("big/one"), Value::from(1));
        let mut third = other.clone();
        third["jobname"] = Value::from("c");
        value["jobs"] = serde_json::json!([other, job.clone(), job, third]);
    });
    let output = output.unwrap();
    let names: Vec<(&str, &str)> =
        output.jobs.iter().map(|job| (job.facts.stage.as_str(), job.facts.work.as_str())).collect();
    assert_eq!(names, [("cell", "cell"), ("cell", "cell-2"), ("group-1", "big_one"), ("group-1", "c")]);
    assert!((output.length_s() - 2.0 * 4.001).abs() < 1e-9, "{}", output.length_s());
    let workload = workload_of("n: \"x\"", "d # e", &output.jobs).unwrap();
    assert_eq!((workload.name.as_str(), workload.stages.len()), ("n: \"x\"", 2));
    let work = &workload.stages[0].works[0];
    assert_eq!((work.workers, work.storage.kind.as_str(), work.operations.len()), (4, "fio", 2));
    assert_eq!((work.rampup.as_secs_f64(), work.runtime.as_secs_f64()), (1.0, 3.0));
}

#[test]
fn groups_of_reports_alone_ran_at_the_same_time_and_are_one_stage() {
    let stages = |second: Value, third: Value| -> Vec<String> {
        let output = changed(|value| {
            let first = value["jobs"][0].clone();
            let of = |name: &str, group: u64, more: Value| {
                let mut job = first.clone();
                (job["jobname"], job["groupid"]) = (Value::from(name), Value::from(group));
                for (name, value) in more.as_object().unwrap() {
                    job["job options"][name] = value.clone();
                }
                job
            };
            value["jobs"] = serde_json::json!([first, of("b", 1, second), of("c", 2, third)]);
        });
        output.unwrap().jobs.into_iter().map(|job| job.facts.stage).collect()
    };
    let (beside, behind) = (serde_json::json!({"new_group": ""}), serde_json::json!({"stonewall": ""}));
    assert_eq!(stages(beside.clone(), beside.clone()), ["group-0", "group-0", "group-0"]);
    assert_eq!(stages(behind.clone(), behind.clone()), ["cell", "b", "c"]);
    assert_eq!(stages(beside.clone(), behind.clone()), ["group-0", "group-0", "c"]);
    assert_eq!(stages(behind, beside), ["cell", "group-1", "group-1"]);
    let both = serde_json::json!({"new_group": "1", "wait_for_previous": ""});
    assert_eq!(stages(both.clone(), both), ["cell", "b", "c"]);
}

#[test]
fn a_log_of_rates_becomes_steps_and_one_of_requests_is_refused() {
    let steps = Course::read(LOG).unwrap().steps();
    assert_eq!(steps.len(), 6);
    assert_eq!((steps[0].from_s, steps[0].to_s, steps[0].reads, steps[0].writes), (0.0, 0.499, 70, 30));
    assert_eq!((steps[5].from_s, steps[5].to_s), (2.499, 3.0));
    let (reads, writes) = steps.iter().fold((0, 0), |(r, w), step| (r + step.reads, w + step.writes));
    assert_eq!((reads, writes), (420, 180));
    // Times that count the ramp, directions a few milliseconds apart, and a second without a line.
    let text = "11000, 100, 0, 0, 0\n11003, 50, 1, 0, 0\n12000, 80, 0, 0, 0\n14001, 10, 0, 0, 0\n14002, 20, 1, 0, 0\n";
    let steps = Course::read(text).unwrap().steps();
    let found: Vec<(u64, u64)> = steps.iter().map(|step| (step.reads, step.writes)).collect();
    // fio leaves out what had no request, and the next line is of its own second.
    assert_eq!(found, [(100, 50), (80, 0), (0, 0), (10, 20)]);
    let is_whole = |step: &Step| (step.to_s - step.from_s - 1.0).abs() < 0.01;
    assert!(steps[0].from_s == 0.0 && steps.iter().all(is_whole), "{steps:?}");
    let single: String = (0..50).map(|at| format!("{at}, 1, 0, 4096, 0\n")).collect();
    assert!(Course::read(&single).unwrap_err().contains("--log_avg_msec"));
    assert!(Course::read("1, 2, 0\nx, 2, 0\n").unwrap_err().starts_with("line 2"));
    assert!(Course::read("").unwrap().steps().is_empty());
}

/// Numbers that contradict each other, and texts that are cut or doubled: whatever is taken for a result is one that could be.
mod hostile {
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::*;

    const NUMBERS: &[&str] = &[
        "-1",
        "0",
        "1e308",
        "18446744073709551615",
        "9223372036854775807",
        "1e-320",
        "\"\"",
        "null",
        "[]",
        "{}",
    ];

    /// A text in which some numbers are others, or a part is left out, said again, or cut off.
    fn changed(text: &'static str) -> impl Strategy<Value = String> {
        let change = (any::<Index>(), any::<Index>(), 0_u8..8, select(NUMBERS));
        prop::collection::vec(change, 1..4).prop_map(move |changes| {
            let mut text = text.to_owned();
            for (at, to, what, number) in changes {
                let digits: Vec<usize> = text
                    .bytes()
                    .enumerate()
                    .filter(|(_, byte)| byte.is_ascii_digit())
                    .map(|(at, _)| at)
                    .collect();
                let (at, to) = (at.index(text.len() + 1), to.index(text.len() + 1));
                let (from, to) = (at.min(to), at.max(to).min(at.min(to) + 300));
                match what {
                    0 => text.truncate(to),
                    1 => drop(text.drain(from..to)),
                    2 => {
                        let again = text[from..to].to_owned();
                        text.insert_str(to, &again);
                    }
                    _ => {
                        let Some(from) = digits.iter().copied().find(|digit| *digit >= from) else {
                            continue;
                        };
                        let length = text[from..].bytes().take_while(u8::is_ascii_digit).count();
                        text.replace_range(from..from + length, number);
                    }
                }
            }
            text
        })
    }

    fn output() -> impl Strategy<Value = String> {
        select(vec![MIXED, BUFFERED, RBD]).prop_flat_map(changed)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

        #[test]
        fn what_is_taken_for_a_result_could_be_one(text in output()) {
            match FioOutput::read(&text) {
                Err(why) => prop_assert!(!why.is_empty() && why.len() < 2000, "{}", why),
                Ok(output) => {
                    prop_assert!(!output.length_s().is_nan());
                    for side in output.jobs.iter().flat_map(|job| job.read.iter().chain(&job.write)) {
                        prop_assert!(side.ios > 0 && side.iops.is_finite() && side.bytes_per_s.is_finite());
                        prop_assert!(side.runtime_s > 0.0 && side.runtime_s.is_finite());
                        let times = side.times.latencies();
                        prop_assert!(side.times.distribution().count() <= times.count.saturating_mul(2));
                    }
                }
            }
        }

        #[test]
        fn a_log_is_a_course_in_order_or_the_line_is_named(text in changed(LOG)) {
            match Course::read(&text) {
                Err(why) => prop_assert!(why.contains("line"), "{}", why),
                Ok(course) => {
                    let steps = course.steps();
                    prop_assert!(steps.iter().all(|step| step.from_s <= step.to_s));
                    prop_assert!(steps.windows(2).all(|two| two[0].to_s <= two[1].to_s));
                }
            }
        }
    }
}
