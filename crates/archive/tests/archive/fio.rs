//! What fio measured as a run of the archive: every number of `run.json`, the files beside it, and what a kill
//! leaves.

use cosmark_archive::fio::{Course, FioJob, FioOutput};
use cosmark_archive::{
    FioRun, FioTimes, HostRecord, NewFio, RunState, StageState, TimeKind, Timestamp, list, open_run,
};

use crate::support::{open, text};

fn golden(name: &str) -> String {
    text(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fio").join(name))
}

fn begin(root: &std::path::Path, name: &str, jobs: &[FioJob]) -> FioRun {
    let new = NewFio {
        name,
        description: "fio-3.33: randrw",
        jobs,
        memory_bytes: Some(8 << 30),
        host: HostRecord { hostname: "bench1".into(), cpus: 4, kernel: "Linux 6.1".into() },
        submitted: Timestamp::from_second(1_763_999_990).unwrap(),
    };
    open(root).begin_fio(&new).unwrap()
}

fn imported(root: &std::path::Path, name: &str, log: Option<&str>) -> std::path::PathBuf {
    let output = FioOutput::read(&golden(&format!("{name}.json"))).unwrap();
    let mut run = begin(root, name, &output.jobs);
    let course = log.map(|log| Course::read(&golden(log)).unwrap());
    let (record, tables) = run.add("its.json", &output, &[course]).unwrap();
    let path = run.dir().path().to_owned();
    run.finish(&record, &tables).unwrap();
    path
}

#[test]
fn a_result_of_fio_is_a_run_whose_figures_are_those_of_fio() {
    let root = tempfile::tempdir().unwrap();
    let path = imported(root.path(), "fio-3.33-mixed", Some("fio-3.33-mixed_iops.1.log"));
    assert_eq!(path.file_name().unwrap(), "w1-fio-3.33-mixed");
    let run = open_run(&path).unwrap();
    let record = &run.record;
    assert_eq!((record.state, record.name.as_str()), (RunState::Finished, "fio-3.33-mixed"));
    assert_eq!(record.ended.unwrap().as_millisecond(), 1_764_000_000_381);
    let [stage] = record.stages.as_slice() else { panic!("{:?}", record.stages) };
    assert_eq!(
        (stage.id.as_str(), stage.state, stage.window_s),
        ("s1-cell", StageState::Completed, Some(3.001))
    );
    let [read, write] = stage.operations.as_slice() else { panic!("{:?}", stage.operations) };
    assert_eq!((read.op.as_str(), write.op.as_str(), read.workers), ("read", "write", 4));
    assert_eq!((read.ok, read.bytes, read.failed, write.ok, write.bytes), (420, 1_720_320, 0, 180, 737_280));
    assert_eq!((read.throughput_per_s, read.bandwidth_bytes_per_s), (Some(139.953_349), Some(573_248.0)));
    assert_eq!((write.throughput_per_s, write.bandwidth_bytes_per_s), (Some(59.980_007), Some(245_678.0)));
    assert_eq!((read.response_ms.max, write.response_ms.max), (Some(64.906_026), Some(141.741_068)));
    assert!((read.response_ms.mean.unwrap() - 0.764_376_578).abs() < 1e-6);
    assert!((read.in_flight_mean.unwrap() - 420.0 * 0.000_764_376_6 / 3.001).abs() < 1e-6);
    assert_eq!(read.service_ms, read.response_ms);
    let fio = record.fio.as_ref().unwrap();
    assert_eq!((fio.version.as_str(), fio.file.as_deref()), ("fio-3.33", Some("its.json")));
    assert_eq!((fio.memory_bytes, fio.jobs.len()), (Some(8 << 30), 1));
    assert_eq!((fio.jobs[0].times, fio.jobs[0].has_course), (FioTimes::Bins, true));
    // The JSON is part of the archive, and what it was is said as a workload.
    assert_eq!(text(path.join("source/its.json")), golden("fio-3.33-mixed.json"));
    let yaml = run.workload_yaml().unwrap().unwrap();
    assert!(yaml.contains("fio") && yaml.contains("/dev/vdb"), "{yaml}");
    let mut counted = (0, 0, 0);
    run.intervals(|line| {
        assert_eq!((line.phase.as_str(), line.driver.as_str()), ("window", "fio"));
        let writes = line.tag == write.tag;
        let sum = if writes { &mut counted.1 } else { &mut counted.0 };
        *sum += line.ok;
        counted.2 += 1;
        // The second before is the ramp.
        assert!(line.start_s >= 1.0 && line.end_s <= 4.0, "{line:?}");
    })
    .unwrap();
    assert_eq!(counted, (420, 180, 12));
    let times = cosmark_archive::HistogramLog::merged(&path, &read.tag, TimeKind::Response).unwrap().unwrap();
    assert_eq!(times.len(), 420);
    assert_eq!(run.timeline(stage).unwrap().len(), 6);
    // It is in the index as any run is.
    let found = cosmark_archive::overview(root.path()).unwrap();
    let headline = found[0].headline.as_ref().unwrap();
    assert!((headline.throughput_per_s - 199.933_356).abs() < 1e-6, "{headline:?}");
    assert_eq!(found[0].target.as_deref(), Some("fio /dev/vdb"));
}

#[test]
fn without_bins_and_without_a_log_there_are_percentiles_and_one_interval() {
    let root = tempfile::tempdir().unwrap();
    for (name, target) in [("fio-3.28-buffered", "fio /srv/f"), ("fio-3.36-rbd", "fio cosmark-study/image")] {
        let path = imported(root.path(), name, None);
        let run = open_run(&path).unwrap();
        let fio = run.record.fio.as_ref().unwrap();
        assert_eq!((fio.jobs[0].times, fio.jobs[0].has_course), (FioTimes::Percentiles, false), "{name}");
        let operations = &run.record.stages[0].operations;
        assert!(operations.iter().all(|one| one.ok > 0 && one.response_ms.mean.is_some()), "{operations:?}");
        let mut lines = 0;
        run.intervals(|_| lines += 1).unwrap();
        assert_eq!(lines, operations.len(), "{name}");
        for one in operations {
            let log = cosmark_archive::HistogramLog::merged(&path, &one.tag, TimeKind::Response).unwrap();
            assert!(log.is_none(), "nothing is made up where there is no histogram");
        }
        let found = cosmark_archive::overview(root.path()).unwrap();
        assert_eq!(found.last().unwrap().target.as_deref(), Some(target));
    }
}

#[test]
fn each_of_several_jobs_has_its_own_course_and_groups_follow_each_other() {
    let root = tempfile::tempdir().unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&golden("fio-3.33-mixed.json")).unwrap();
    let mut jobs = vec![value["jobs"][0].clone(); 3];
    jobs[1]["jobname"] = "beside".into();
    (jobs[2]["jobname"], jobs[2]["groupid"]) = ("later".into(), 1.into());
    value["jobs"] = jobs.into();
    let output = FioOutput::read(&value.to_string()).unwrap();
    let mut run = begin(root.path(), "three", &output.jobs);
    let course = Course::read(&golden("fio-3.33-mixed_iops.1.log")).unwrap();
    let (record, tables) = run.add("its.json", &output, &[Some(course.clone()), None, Some(course)]).unwrap();
    let path = run.dir().path().to_owned();
    run.finish(&record, &tables).unwrap();
    let run = open_run(&path).unwrap();
    let stages = &run.record.stages;
    let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["group-0", "later"]);
    assert_eq!(stages.iter().map(|stage| stage.operations.len()).collect::<Vec<_>>(), [4, 2]);
    assert!(stages[0].ended <= stages[1].load_started, "{stages:?}");
    let mut lines = std::collections::BTreeMap::<String, usize>::new();
    run.intervals(|line| *lines.entry(line.tag).or_default() += 1).unwrap();
    let counts: Vec<usize> =
        stages.iter().flat_map(|stage| &stage.operations).map(|one| lines[&one.tag]).collect();
    assert_eq!(counts, [6, 6, 1, 1, 6, 6]);
    let courses: Vec<bool> = run.record.fio.unwrap().jobs.iter().map(|job| job.has_course).collect();
    assert_eq!(courses, [true, false, true]);
    assert_eq!(run.record.ended.unwrap().as_millisecond(), 1_764_000_000_381);
}

#[test]
fn a_run_of_fio_that_failed_or_printed_other_jobs_says_so() {
    let root = tempfile::tempdir().unwrap();
    let output = FioOutput::read(&golden("fio-3.33-mixed.json")).unwrap();
    let mut run = begin(root.path(), "a", &output.jobs);
    run.start(Timestamp::now()).unwrap();
    // While it lasts it is a run that is under way, of which a kill leaves what it was.
    let going = &list(root.path()).unwrap()[0];
    let record = going.record.as_ref().unwrap().as_ref().unwrap();
    assert_eq!((record.state, record.stages[0].state), (RunState::Running, StageState::Running));
    assert_eq!(record.fio.as_ref().unwrap().version, "");
    let record = run.fail(RunState::Failed, "fio failed with error 5").unwrap();
    assert_eq!((record.state, record.stages[0].state), (RunState::Failed, StageState::Failed));
    assert_eq!(record.reason.as_deref(), Some("fio failed with error 5"));
    assert!(record.stages[0].operations.is_empty());

    let mut other = output.jobs[0].clone();
    other.facts.work = "cell-2".to_owned();
    let mut run = begin(root.path(), "b", &[output.jobs[0].clone(), other]);
    let error = run.add("its.json", &output, &[]).unwrap_err().to_string();
    assert!(error.contains("printed 1 jobs and 2 were asked for"), "{error}");
}
