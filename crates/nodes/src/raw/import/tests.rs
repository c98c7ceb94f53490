//! What programs print, and what is read of it.

use super::*;

fn fio_text(rw: &str, side: &str, bytes: u64, bw: u64, runtime: u64) -> String {
    let other = if side == "read" { "write" } else { "read" };
    format!(
        r#"note: both iodepth >= 1 and synchronous I/O engine are selected
        {{"fio version": "fio-3.33", "global options": {{"direct": "1"}}, "jobs": [{{"jobname": "j", "error": 0,
        "job options": {{"rw": "{rw}", "bs": "4k"}}, "{other}": {{"io_bytes": 0, "bw_bytes": 0, "iops": 0, "runtime": 0}},
        "{side}": {{"io_bytes": {bytes}, "bw_bytes": {bw}, "iops": {}, "runtime": {runtime},
        "clat_ns": {{"percentile": {{"99.000000": 2500000}}}}}}}}]}}"#,
        bw / 4096
    )
}

#[test]
fn each_program_is_known_by_what_it_prints() {
    let Imported::Disks(disks) =
        import(&fio_text("randread", "read", 4096 * 2000, 4096 * 1000, 2000), "/srv/d1").unwrap()
    else {
        panic!("no disks")
    };
    let [disk] = disks.as_slice() else { panic!("{disks:?}") };
    assert_eq!((disk.pattern, disk.block_bytes, disk.direct), (DiskPattern::RandomRead, 4096, Some(true)));
    assert_eq!((disk.requests_per_s, disk.p99_ms, disk.directory.as_str()), (1000.0, Some(2.5), "/srv/d1"));

    let text = r#"{"start": {"connecting_to": {"host": "10.0.0.7"}, "test_start": {"reverse": 1}},
        "end": {"sum_sent": {"retransmits": 3}, "sum_received": {"bits_per_second": 8e9}}}"#;
    let network = RawNetwork { to_node: false, bytes_per_s: 1e9, resent: Some(3), loopback: false };
    assert_eq!(import(text, ""), Ok(Imported::Network(network)));

    let text = r#"{"bytes_written": 1073741824, "blocksize": 4194304, "elapsed_sec": 10.0,
        "bytes_per_sec": 107374182.4, "iops": 25.6}"#;
    let Ok(Imported::Cluster(osd)) = import(text, "") else { panic!("no cluster") };
    assert_eq!((osd.what.as_str(), osd.requests_per_s), ("osd bench", Some(25.6)));

    let text = r#"{"total_time_run": 5.1, "total_writes_made": 100, "bandwidth": "80", "average_iops": 20}"#;
    let Ok(Imported::Cluster(rados)) = import(text, "") else { panic!("no cluster") };
    assert_eq!((rados.what.as_str(), rados.bytes_per_s), ("rados bench write", 80.0 * 1_048_576.0));
}

#[test]
fn whoever_measures_the_way_to_itself_measures_no_link() {
    let between = |host: &str, local: &str, remote: &str| {
        let text = serde_json::json!({"start": {"connecting_to": {"host": host}, "connected":
            [{"socket": 5, "local_host": local, "local_port": 40_000, "remote_host": remote, "remote_port": 5201}]},
            "end": {"sum_received": {"bits_per_second": 8e9}}});
        match import(&text.to_string(), "") {
            Ok(Imported::Network(network)) => network.loopback,
            other => panic!("{other:?}"),
        }
    };
    assert!(between("s1", "192.0.2.7", "192.0.2.7") && between("localhost", "192.0.2.7", "192.0.2.8"));
    assert!(!between("s1", "192.0.2.7", "192.0.2.8"));
}

const RADOS: &str = "hints = 1\nMaintaining 16 concurrent writes of 4194304 bytes to objects of size 4194304 for up to 10 \
                     seconds or 0 objects\nObject prefix: benchmark_data_n1_4711\n  sec Cur ops   started  finished  avg MB/s\n    \
                     0       0         0         0         0\nTotal time run:         10.0412\nTotal writes made:      \
                     250\nWrite size:             4194304\nObject size:            4194304\nBandwidth (MB/sec):     \
                     99.5897\nStddev Bandwidth:       6.27\nMax bandwidth (MB/sec): 112\nMin bandwidth (MB/sec): 92\nAverage \
                     IOPS:           24\nStddev IOPS:            1.5\nAverage Latency(s):     0.63\nCleaning up (deleting \
                     benchmark objects)\n";

#[test]
fn what_rados_bench_prints_for_people_is_read_as_its_json_is() {
    let read = |text: &str| import(text, "");
    let cluster = |what: &str, mib: f64, requests: f64| RawCluster {
        what: what.to_owned(),
        bytes_per_s: mib * 1_048_576.0,
        requests_per_s: Some(requests),
    };
    let written = Ok(Imported::Cluster(cluster("rados bench write", 99.5897, 24.0)));
    assert_eq!(read(RADOS), written);
    assert_eq!(read(&RADOS.replace('\n', "\r\n")), written);
    let reads = RADOS.replace("writes made:", "reads made: ").replace("Write size:", "Read size: ");
    let older = reads.replace("IOPS: ", "IOPS  ");
    for text in [reads, older] {
        assert_eq!(read(&text), Ok(Imported::Cluster(cluster("rados bench read", 99.5897, 24.0))), "{text}");
    }
    for (text, words) in [
        (format!("{RADOS}{RADOS}"), "2 results"),
        (RADOS.replace("99.5897", "995.897"), "are not 995.897 MB per second"),
        (RADOS.replace("99.5897", "0"), "are not 0 MB per second"),
        (RADOS.replace("99.5897", "-nan"), "bandwidth"),
    ] {
        let said = read(&text).unwrap_err();
        assert!(said.contains(words), "{said}");
    }
    let json = r#"{"total_time_run": "10.0", "total_reads_made": "250", "read_size": "4194304", "bandwidth": "80.0"}"#;
    assert!(read(json).unwrap_err().contains("are not 80 MB per second"));
}

#[test]
fn who_was_not_asked_for_json_hears_how_to_ask() {
    for (text, words) in [
        ("3;fio-3.33;seq;0;0;1048576;52428;51;20000;0;0\n", "--output-format=json"),
        (
            "seq: (groupid=0, jobs=1): err= 0\n\nRun status group 0 (all jobs):\n   READ: bw=51MiB/s\n",
            "fio: ",
        ),
        ("Connecting to host n1, port 5201\n[ ID] Interval           Transfer     Bitrate\n", "with -J"),
        ("{\"fio version\": \"fio-3.36\", \"client_stats\": []}", "run it on each"),
        ("{\"start\": {\"test_start\": {\"bidir\": 1}}, \"end\": {}}", "without --bidir"),
        ("nothing of the kind", "it has no {"),
    ] {
        let said = import(text, "").unwrap_err();
        assert!(said.contains(words), "{text}: {said}");
    }
}

#[test]
fn an_osd_of_an_older_release_does_not_say_how_long_it_took() {
    let text = r#"{"bytes_written": 1073741824, "blocksize": 4194304, "bytes_per_sec": "107374182.400000"}"#;
    let osd = RawCluster { what: "osd bench".to_owned(), bytes_per_s: 107_374_182.4, requests_per_s: None };
    assert_eq!(import(text, ""), Ok(Imported::Cluster(osd)));
    let untrue = text.replace("\"blocksize\": 4194304", "\"elapsed_sec\": \"soon\"");
    assert!(import(&untrue, "").unwrap_err().contains("elapsed_sec"));
}

/// Jobs as fio 3 prints them without `group_reporting`: name, group, what was asked for, the disk, and bytes per
/// second of requests of 4 KiB.
fn jobs(rows: &[(&str, u64, &str, &str, u64)]) -> String {
    let one = |(name, group, rw, disk, bw): &(&str, u64, &str, &str, u64)| {
        let side = if rw.ends_with("read") { "read" } else { "write" };
        serde_json::json!({"jobname": name, "groupid": group, "error": 0,
            "job options": {"rw": rw, "filename": disk, "direct": "1"},
            side: {"io_bytes": bw * 2, "bw_bytes": bw, "iops": bw / 4096, "runtime": 2000}})
    };
    let all: Vec<Value> = rows.iter().map(one).collect();
    serde_json::json!({"fio version": "fio-3.36", "jobs": all}).to_string()
}

#[test]
fn jobs_that_run_at_once_are_one_disk_and_one_after_the_other_they_are_not() {
    let found = |rows: &[(&str, u64, &str, &str, u64)]| match import(&jobs(rows), "") {
        Ok(Imported::Disks(disks)) => Ok(disks.iter().map(|disk| disk.requests_per_s).collect::<Vec<f64>>()),
        Ok(other) => panic!("{other:?}"),
        Err(why) => Err(why),
    };
    let one = |group: u64, rw: &'static str, disk: &'static str| ("j", group, rw, disk, 4_096_000);
    let of = |count: usize, rw, disk| vec![one(0, rw, disk); count];
    assert_eq!(found(&of(4, "randread", "/dev/sdb")), Ok(vec![4000.0]));
    assert_eq!(
        found(&[one(0, "randread", "/dev/sdb"), one(0, "randread", "/dev/sdc")]),
        Ok(vec![1000.0, 1000.0])
    );
    assert_eq!(
        found(&[one(0, "randread", "/dev/sdb"), one(1, "randwrite", "/dev/sdb")]),
        Ok(vec![1000.0, 1000.0])
    );
    let beside = found(&[one(0, "read", "/dev/sdb"), one(0, "randwrite", "/dev/sdb")]).unwrap_err();
    assert!(
        beside.contains("random write beside sequential read") && beside.contains("stonewall"),
        "{beside}"
    );
}

/// fio goes through the page cache unless it is asked not to, and repeats only options that were given.
#[test]
fn a_disk_that_was_asked_through_the_page_cache_is_known() {
    let direct = |global: &str, own: &str| {
        let text = format!(
            "{{\"fio version\": \"fio-3.36\"{global}, \"jobs\": [{{\"jobname\": \"j\", \"error\": 0{own}, \"read\": \
             {{\"io_bytes\": 8192000, \"bw_bytes\": 4096000, \"iops\": 1000, \"runtime\": 2000}}}}]}}"
        );
        match import(&text, "/srv/d1") {
            Ok(Imported::Disks(disks)) => disks[0].direct,
            other => panic!("{other:?}"),
        }
    };
    let global = |options: &str| format!(", \"global options\": {{{options}}}");
    let own = |options: &str| format!(", \"job options\": {{\"rw\": \"read\"{options}}}");
    for (of_all, of_job, expected) in [
        (String::new(), own(""), Some(false)),
        (String::new(), own(", \"ioengine\": \"libaio\""), Some(false)),
        (String::new(), own(", \"direct\": \"1\""), Some(true)),
        (String::new(), own(", \"direct\": \"\""), Some(true)),
        (String::new(), own(", \"buffered\": \"0\""), Some(true)),
        (global("\"direct\": \"1\""), own(""), Some(true)),
        (global("\"direct\": \"1\""), own(", \"direct\": \"0\""), Some(false)),
        (global("\"direct\": \"1\""), own(", \"buffered\": \"1\""), Some(false)),
        (global("\"ioengine\": \"rbd\""), own(""), None),
        (String::new(), String::new(), None),
    ] {
        assert_eq!(direct(&of_all, &of_job), expected, "{of_all} {of_job}");
    }
}

#[test]
fn what_is_no_limit_of_a_disk_or_a_link_is_refused_with_what_would_be() {
    let mixed = jobs(&[("m", 0, "randrw:4", "/d", 4_096_000)]);
    let old = fio_text("read", "read", 4_096_000, 2_048_000, 2000)
        .replace("bw_bytes", "bw")
        .replace("fio-3.33", "fio-2.1.11");
    let iperf3 = |start: &str, end: &str| {
        format!(
            "{{\"start\": {{\"test_start\": {{{start}}}}}, \"end\": {{\"sum_received\": {{\"bits_per_second\": 8e9{end}}}}}}}"
        )
    };
    for (text, words) in [
        (mixed, "reads and writes at once"),
        (old, "fio-2.1.11 counts otherwise than fio 3"),
        (iperf3("\"protocol\": \"UDP\"", ""), "-b 0"),
        (iperf3("\"protocol\": \"TCP\", \"target_bitrate\": 1000000", ""), "-b 0"),
        (iperf3("\"protocol\": \"TCP\"", ", \"bytes\": 1, \"seconds\": 1"), "are not"),
        ("{\"event\": \"start\", \"data\": {}}\n{\"event\": \"end\"}".to_owned(), "-J alone"),
    ] {
        let said = import(&text, "").unwrap_err();
        assert!(said.contains(words), "{text}: {said}");
    }
    for start in ["\"protocol\": \"TCP\", \"target_bitrate\": 0", "\"protocol\": \"TCP\""] {
        assert!(import(&iperf3(start, ", \"bytes\": 1e9, \"seconds\": 1"), "").is_ok(), "{start}");
    }
}

/// As a job that reads again what it wrote (`verify`), behind what a machine prints to everybody who logs in.
#[test]
fn only_what_was_asked_for_counts_and_greetings_are_passed_over() {
    let text = jobs(&[("w", 0, "write", "/d", 4_096_000)]);
    let mut both: Value = serde_json::from_str(&text).unwrap();
    both["jobs"][0]["read"] = both["jobs"][0]["write"].clone();
    let greeted = format!("{{welcome}} to s1\n{both}\nbye\n");
    let Ok(Imported::Disks(disks)) = import(&greeted, "") else { panic!("no disks") };
    let patterns: Vec<DiskPattern> = disks.iter().map(|disk| disk.pattern).collect();
    assert_eq!(patterns, [DiskPattern::SequentialWrite]);
}

#[test]
fn what_is_cut_off_failed_or_contradicts_itself_is_refused() {
    let whole = fio_text("write", "write", 1 << 30, 1 << 29, 2000);
    assert!(import(&whole, "").is_ok());
    for cut in [0, 10, 90, whole.len() - 3] {
        assert!(import(&whole[..cut], "").unwrap_err().contains("cut off"), "{cut}");
    }
    for (text, words) in [
        (fio_text("write", "write", 1 << 30, 1 << 31, 2000), "are not"),
        (fio_text("write", "write", 1 << 30, 1 << 29, 0), "are not"),
        (fio_text("write", "write", 0, 0, 0), "no job read or wrote"),
        (whole.replace("\"error\": 0", "\"error\": 5"), "failed with error 5"),
        (r#"{"start": {}, "error": "unable to connect to server"}"#.into(), "unable to connect"),
        (r#"{"start": {}, "end": {"sum_received": {"bits_per_second": 1e300}}}"#.into(), "cannot be"),
        (r#"{"start": {}, "end": {}}"#.into(), "is missing"),
        (r#"{"bytes_written": 100, "elapsed_sec": 1, "bytes_per_sec": 5e9}"#.into(), "are not"),
        (r#"{"bandwidth": -3}"#.into(), "cannot be"),
        (r#"{"a": 1}"#.into(), "no output of fio"),
    ] {
        let said = import(&text, "").unwrap_err();
        assert!(said.contains(words), "{text}: {said}");
    }
}
