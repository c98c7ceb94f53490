//! What is read of this machine, from files of our own and programs that hang.

use super::*;

fn daemon(root: &Path, process: &str, ran_ns: u64) {
    put(root, &format!("proc/{process}/comm"), "osd\n");
    put(root, &format!("proc/{process}/task/{process}/stat"), &format!("{process} (osd) S 1"));
    put(root, &format!("proc/{process}/task/{process}/schedstat"), &format!("{ran_ns} 0 9"));
}

#[test]
fn idle_threads_are_read_now_and_then_active_ones_always_and_dead_ones_not_at_all() {
    let root = std::env::temp_dir().join(format!("cosmark-threads-{}", std::process::id()));
    let mut reader = LocalReader::below(&root, vec!["osd".to_owned()]);
    (10..20).for_each(|process| daemon(&root, &process.to_string(), 1));
    let mut read = [0; 20];
    for round in 0..40_u64 {
        daemon(&root, "10", 1_000_000_000 * (round + 1));
        if round == 30 {
            (11..20).for_each(|process| fs::remove_dir_all(root.join(format!("proc/{process}"))).unwrap());
        }
        let reading = reader.read();
        let busy = reading.samples.iter().filter(|sample| sample.quantity.id == "thread_busy_s");
        for sample in busy {
            let number: usize = sample.unit.strip_prefix("osd/").unwrap().parse().unwrap();
            read[number] += 1;
        }
    }
    assert_eq!(read[10], 40);
    // Ten times after it was found, then each fifth time until it was gone.
    assert!(read[11..].iter().all(|count| *count == 14), "{read:?}");
    assert_eq!((reader.threads.len(), reader.names.len()), (1, 1));
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn a_look_that_costs_much_is_rare_and_readings_go_on_meanwhile() {
    let milliseconds = Duration::from_millis;
    for (cost, rest) in [(0, 0), (20, 0), (100, 50_000), (60_000, 300_000)] {
        assert_eq!(rest_after(milliseconds(cost)), milliseconds(rest), "{cost} ms");
    }
    let began = processor_time();
    let until = Instant::now() + Duration::from_secs(60);
    while processor_time() <= began && Instant::now() < until {
        std::hint::spin_loop();
    }
    assert!(processor_time() > began, "what a look costs is known");

    let root = std::env::temp_dir().join(format!("cosmark-rests-{}", std::process::id()));
    let mut reader = LocalReader::below(&root, vec!["osd".to_owned()]);
    daemon(&root, "10", 1);
    reader.read();
    daemon(&root, "11", 1);
    reader.rests_until = Some(Instant::now() + Duration::from_secs(3600));
    let read: usize = (1..25).map(|_| reader.read().samples.len()).sum();
    assert!(reader.threads.len() == 1 && read > 0, "{read} samples");
    reader.rests_until = None;
    (25..31).for_each(|_| drop(reader.read()));
    assert_eq!(reader.threads.len(), 2);
    fs::remove_dir_all(&root).unwrap();
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A `tc` of a test: what it prints stands in a file beside it. A shell writes it: a file that this process has open for
/// writing, or one that another test has just forked, cannot be run.
fn tc(root: &Path, script: &str) {
    let write = "mkdir -p \"$1\" && printf '%s\\n' '#!/bin/sh' 'cd \"${0%/*}\"' \"$2\" >\"$1/tc\" && chmod +x \"$1/tc\"";
    let directory = root.join("usr/sbin");
    let written = Command::new("sh").args(["-c", write, "sh"]).arg(directory).arg(script).status();
    assert!(written.unwrap().success());
}

#[test]
fn the_speed_of_a_pair_or_a_tunnel_is_no_figure() {
    let root = std::env::temp_dir().join(format!("cosmark-speeds-{}", std::process::id()));
    for (link, kind) in [
        ("eth0", ""),
        ("bond0", "DEVTYPE=bond\n"),
        ("eth0.7", "DEVTYPE=vlan\n"),
        ("mac0", "DEVTYPE=macvlan\n"),
        ("veth1", ""),
        ("docker0", "DEVTYPE=bridge\n"),
        ("tun0", ""),
    ] {
        put(&root, &format!("sys/class/net/{link}/speed"), "10000\n");
        put(&root, &format!("sys/class/net/{link}/uevent"), &format!("{kind}INTERFACE={link}\n"));
    }
    put(&root, "sys/class/net/eth0/device/vendor", "x\n");
    let speeds = LocalReader::below(&root, Vec::new()).read().samples;
    let links: BTreeSet<&str> = speeds
        .iter()
        .filter(|one| one.quantity.id == q::NETWORK_SPEED.id)
        .map(|one| one.unit.as_str())
        .collect();
    assert_eq!(links, BTreeSet::from(["bond0", "eth0", "eth0.7", "mac0"]));
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn queues_of_links_are_asked_for_and_missed_only_where_they_were_there() {
    let root = std::env::temp_dir().join(format!("cosmark-queues-{}", std::process::id()));
    let mut absent = LocalReader::below(&root, Vec::new());
    assert!(absent.read().samples.is_empty() && absent.missing().is_none());
    put(
        &root,
        "usr/sbin/queues",
        "[{\"kind\":\"htb\",\"handle\":\"1:\",\"dev\":\"eth0\",\"root\":true,\"options\":{\"default\":\"0x10\"},\
         \"drops\":3}]",
    );
    let once = "[ $1 = class ] && echo class htb 1:10 root prio 0 rate 8Mbit ceil 8Mbit && exit; cat queues";
    tc(&root, once);
    let mut reader = LocalReader::below(&root, Vec::new());
    let (first, second) = (reader.read(), reader.read());
    let found: Vec<_> = first.samples.iter().map(|one| (one.quantity.id, one.value)).collect();
    assert_eq!(found, [("network_queue_send_drops", 3.0), ("network_send_limit_bytes_per_s", 1e6)]);
    assert_eq!((second.samples, reader.missing()), (first.samples, None));
    tc(&root, "exit 1");
    assert!(reader.read().samples.is_empty());
    let said = reader.missing().unwrap();
    assert!(said.starts_with("tc says nothing of the queues of links any more: exit status"), "{said}");
    tc(&root, once);
    assert!(reader.read().samples.is_empty(), "it is not its turn");
    assert_eq!((reader.read().samples.len(), reader.missing()), (2, None));
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn what_classes_have_sent_is_asked_for_as_often_as_the_queues() {
    let root = std::env::temp_dir().join(format!("cosmark-classes-{}", std::process::id()));
    let queues = "[{\"kind\":\"htb\",\"handle\":\"1:\",\"dev\":\"eth0\",\"root\":true,\"options\":{\"default\":\"0x1\"}}]";
    put(&root, "usr/sbin/queues", queues);
    tc(&root, "case $1$2 in (-sclass) cat classes counts;; (class*) cat classes;; (*) cat queues;; esac");
    put(
        &root,
        "usr/sbin/classes",
        "class htb 1:1 root rate 1Gbit ceil 1Gbit\nclass htb 1:2 root rate 8Mbit ceil 8Mbit\n",
    );
    let mut reader = LocalReader::below(&root, Vec::new());
    let mut sent = |counts: &str| {
        put(
            &root,
            "usr/sbin/counts",
            &format!(" Sent {counts} bytes 9 pkt (dropped 1, overlimits 2 requeues 0)\n"),
        );
        let reading = reader.read();
        let of_class = reading.samples.iter().filter(|one| one.unit == "eth0 class 1:2");
        of_class.map(|one| one.value).collect::<Vec<f64>>()
    };
    assert_eq!(sent("500"), [1e6, 500.0, 1.0, 2.0]);
    assert_eq!(sent("700"), [1e6, 500.0, 1.0, 2.0], "it is not its turn");
    assert_eq!(sent("900"), [1e6, 900.0, 1.0, 2.0]);
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn requests_stand_with_the_name_of_their_disk_and_are_missed_where_they_cannot_be_followed() {
    let root = std::env::temp_dir().join(format!("cosmark-disks-{}", std::process::id()));
    put(&root, "proc/diskstats", "   8      16 sdb 0 0 0 0 0 0 0 0 0 0 0\n");
    let line = |disk: &str, start: u64| format!("x: block_rq_issue: {disk} R 4096 () {start} + 8 [x]\n");
    let text = ["8,16", "253,0"].map(|disk| line(disk, 0) + &line(disk, 9_000_000)).concat();
    let mut reader = LocalReader::below(&root, Vec::new());
    reader.requests = Some(Ok(crate::requests::tests::following(&text)));
    let reading = reader.read();
    let found: Vec<_> = reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
    assert_eq!(
        found,
        [
            ("disk_followed_requests", "253,0", 1.0),
            ("disk_far_requests", "253,0", 1.0),
            ("disk_followed_requests", "sdb", 1.0),
            ("disk_far_requests", "sdb", 1.0),
        ]
    );
    assert_eq!(reader.missing(), None);
    reader.requests = Some(Err("no such file".to_owned()));
    reader.follow_requests();
    assert!(reader.read().samples.is_empty(), "what cannot be followed is tried once");
    let said = reader.missing().unwrap();
    assert_eq!(said, "requests of disks: no such file; it needs root and a kernel with tracing");
    reader.leave_requests();
    assert!(reader.missing().is_none() && reader.requests.is_none());
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn a_program_that_hangs_or_has_no_end_is_ended() {
    let root = std::env::temp_dir().join(format!("cosmark-tc-{}", std::process::id()));
    for (script, words) in [
        ("exec sleep 60", "no answer in"),
        ("exec >&-; exec sleep 60", "no answer in"),
        ("exec head -c 3000000 /dev/zero", "has no end"),
        ("exit 3", "exit status: 3"),
    ] {
        tc(&root, script);
        // What does not hang may be late once where the machine is busy. What is not told apart is late each time.
        let asked = || {
            let began = Instant::now();
            let said = said_by(&root.join("usr/sbin/tc"), &[]);
            assert!(began.elapsed() < Duration::from_secs(20), "{script}");
            said
        };
        let is_said =
            |said: &Result<String, Unsaid>| said.as_ref().is_err_and(|unsaid| unsaid.why.contains(words));
        let is_late = |said: &Result<String, Unsaid>| said.as_ref().is_err_and(|unsaid| unsaid.is_late);
        let said = (0..9).map(|_| asked()).find(|said| is_said(said) || !is_late(said)).unwrap_or_else(asked);
        assert!(is_said(&said), "{script}: {said:?}");
    }
    assert!(said_by(&root.join("gone"), &[]).is_err());
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn what_a_program_has_said_is_there_although_somebody_keeps_its_output_open() {
    let root = std::env::temp_dir().join(format!("cosmark-held-tc-{}", std::process::id()));
    tc(&root, "echo queues; sleep 20 2>/dev/null & exit 0");
    // A busy machine may take longer once; who waits for the end of the output has no answer each time.
    let said = (0..9).find_map(|_| said_by(&root.join("usr/sbin/tc"), &[]).ok());
    assert_eq!(said.as_deref(), Some("queues\n"));
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn an_answer_that_is_late_at_the_start_is_asked_for_again() {
    let root = std::env::temp_dir().join(format!("cosmark-late-tc-{}", std::process::id()));
    let queues =
        "[{\"kind\":\"fq\",\"handle\":\"1:\",\"dev\":\"eth0\",\"root\":true,\"options\":{},\"drops\":3}]";
    put(&root, "usr/sbin/queues", queues);
    tc(&root, "[ -e asked ] || { echo x >asked; exec sleep 60; }; cat queues");
    let mut reader = LocalReader::below(&root, Vec::new());
    assert!(reader.read().samples.is_empty() && reader.missing().is_none(), "it was never there");
    // It may be late again where the machine is busy, and is asked some times.
    let turns = links::EVERY * (MOST_FAILED - 1);
    assert!((0..turns).any(|_| !reader.read().samples.is_empty()), "{:?}", reader.queues);
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn many_links_of_which_each_is_slow_hold_no_reading_up() {
    let root = std::env::temp_dir().join(format!("cosmark-slow-tc-{}", std::process::id()));
    // All of them would take 45 s.
    let rows: Vec<String> = (0..64)
        .map(|link| {
            format!(
                "{{\"kind\":\"htb\",\"dev\":\"eth{link}\",\"handle\":\"1:\",\"root\":true,\"options\":{{}}}}"
            )
        })
        .collect();
    tc(&root, "case $3 in (qdisc) cat q;; (*) echo x >>asked; sleep 0.7;; esac");
    fs::write(root.join("usr/sbin/q"), format!("[{}]", rows.join(","))).unwrap();
    // On a machine that is busy the list of them may be late, and none is asked for: then once more.
    let asked = (0..10).find_map(|_| {
        let mut reader = LocalReader::below(&root, Vec::new());
        let began = Instant::now();
        reader.read();
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        fs::read_to_string(root.join("usr/sbin/asked")).ok()
    });
    let asked = asked.unwrap().lines().count();
    assert!((1..=3).contains(&asked), "{asked}");
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn threads_of_named_daemons_and_the_quotas_of_all_groups_are_looked_at() {
    let root = std::env::temp_dir().join(format!("cosmark-nodes-{}", std::process::id()));
    for (process, name, group) in [("7", "swift-proxy-ser", "/proxies/one"), ("8", "bash", "/others")] {
        put(&root, &format!("proc/{process}/comm"), &format!("{name}\n"));
        put(&root, &format!("proc/{process}/cgroup"), &format!("1:cpu:/x\n0::{group}\n"));
        let stat = format!("{process} ({name}) S 1 2 3 4 5 6 7 8 9 10 100 20 0 0");
        put(&root, &format!("proc/{process}/task/{process}/stat"), &stat);
        put(&root, &format!("proc/{process}/task/{process}/schedstat"), "500000000 2000000000 9");
        put(&root, &format!("sys/fs/cgroup{group}/cpu.max"), "50000 100000");
    }
    let mut reader = LocalReader::below(&root, vec!["swift-proxy-server".to_owned()]);
    let (reading, again) = (reader.read(), reader.read());
    assert_eq!(reading.samples, again.samples);
    let found: Vec<_> = reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
    assert_eq!(
        found,
        [
            ("thread_busy_s", "swift-proxy-ser/7", 0.5),
            ("thread_run_queue_s", "swift-proxy-ser/7", 2.0),
            ("quota_processors", "others", 0.5),
            ("quota_processors", "proxies/one", 0.5),
        ]
    );
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn file_systems_of_the_store_are_read_and_missed_beside_the_rest() {
    let root = std::env::temp_dir().join(format!("cosmark-rooms-{}", std::process::id()));
    put(&root, "proc/stat", "cpu0 1 0 0 0 0 0 0 0\n");
    put(&root, "srv/node/d1/x", "");
    put(&root, "proc/self/mounts", "/dev/sdb /srv/node/d1 xfs rw 0 0\n");
    let mut reader = LocalReader::below(&root, Vec::new()).with_filesystems(vec!["/srv/node".to_owned()]);
    let reading = reader.read();
    let found: BTreeSet<_> = reading.samples.iter().map(|one| (one.quantity.id, one.unit.as_str())).collect();
    for quantity in ["store_capacity_bytes", "store_free_bytes"] {
        assert!(found.contains(&(quantity, "/srv/node/d1")), "{found:?}");
    }
    assert!(found.contains(&("cpu_busy_s", "cpu0")), "{found:?}");
    assert_eq!(reader.missing(), None);
    put(&root, "proc/self/mounts", "");
    let reading = reader.read();
    // The rest of the machine is read all the same.
    assert!(!reading.samples.is_empty(), "{reading:?}");
    assert!(reading.samples.iter().all(|one| one.quantity.id.starts_with("cpu_")), "{reading:?}");
    let missing = reader.missing().unwrap();
    assert!(missing.starts_with("no file system is mounted at or below /srv/node: "), "{missing}");
    fs::remove_dir_all(&root).unwrap();
}
