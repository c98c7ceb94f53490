//! Time as the wire saw it: is it the server's, whatever becomes of the client?

use std::process::{Child, Command, Stdio};

use cosmark_archive::open_run;
use cosmark_simstore::{Handle, Op};

use crate::bench::{
    READS, Ran, against, against_store, alone, assert_never_below, one_work, quantile_ms, say, start,
};
use crate::support::skipped;

const DELAYED: &str = "store: {mode: 'null', null_bytes: 1024}\ntime_zero: first_request\n\
                       delay: {op: get, law: {constant_ms: 10}}\n";

#[test]
fn each_operation_of_a_slow_client_has_its_time_on_the_wire_and_it_holds_the_servers() {
    let _alone = alone();
    // The books are audited by the run: order of stamps, quantiles, counts.
    let ran = against(DELAYED, "30s", &one_work(&format!("workers: 4, total_ops: 200, {READS}")));
    let op = ran.main();
    let missing: u64 = op.wire_unstamped.values().sum();
    assert_eq!(op.wire_ms.count + missing, op.ok, "few operations are all stamped: {:?}", op.wire_unstamped);
    assert!(op.wire_ms.count > op.ok / 2 && op.wire_unmeasured.is_none(), "{:?}", op.wire_unstamped);
    // What was not stamped contains the server's part as well.
    let on_wire = |row: &cosmark_archive::OpRow| match row.sample.wire.weight {
        0 => row.sample.service_ns(),
        _ => row.sample.wire.spent_ns,
    };
    let served = ran.served(Op::Get).map(|one| one.headers_ns - one.complete_ns).collect();
    assert_never_below(ran.rows.iter().map(on_wire).collect(), served);
    assert!(op.wire_ms.p50.unwrap() <= op.service_ms.p50.unwrap() * 1.001);
}

/// Programs that never rest, a minute at most.
struct Hogs(Vec<Child>);

impl Hogs {
    fn start(count: usize) -> Self {
        const HOG: &str = "end=$(($(date +%s) + 60)); while [ $(date +%s) -lt $end ]; do i=0; while [ $i -lt 99999 ]; do \
            i=$((i + 1)); done; done";
        Self((0..count).map(|_| Command::new("sh").args(["-c", HOG]).spawn().unwrap()).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            hog.kill().unwrap();
            hog.wait().unwrap();
        }
    }
}

/// A store whose threads come before all others of the machine, so that only the client is disturbed; `None` where that is
/// not allowed.
fn prompt_store(behaviour: &str) -> Option<Handle> {
    let policy = |policy: i32, priority: i32| {
        // SAFETY: the structure is plain data, of which only the priority matters.
        let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
        parameters.sched_priority = priority;
        // SAFETY: the pointer is to a live structure; 0 is this thread.
        unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
    };
    // Threads take over what the one has that makes them.
    if !policy(libc::SCHED_FIFO, 10) {
        return None;
    }
    let store = start(behaviour);
    assert!(policy(libc::SCHED_OTHER, 0));
    Some(store)
}

/// How long the server took by its own log, at 99 %.
fn served_p99_ms(ran: &Ran) -> f64 {
    let served = ran.served(Op::Get).map(|one| one.headers_ns - one.complete_ns).collect();
    quantile_ms(served, 0.99).unwrap()
}

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn g25_the_wire_says_the_same_of_a_server_of_10_ms_whether_or_not_the_clients_machine_is_full() {
    let _alone = alone();
    let attempt = |hogs: usize| {
        let store = prompt_store(DELAYED)?;
        let _hogs = Hogs::start(hogs);
        Some(against_store(store, "30s", &one_work(&format!("workers: 8, runtime: 8s, {READS}"))))
    };
    let mut attempts = (1..=3).map_while(|_| Some((attempt(4)?, attempt(0)?))).peekable();
    if attempts.peek().is_none() {
        return skipped("the store gets no real-time priority: run as root");
    }
    let is_good = |(full, calm): &(Ran, Ran)| {
        let both = [full, calm];
        let truths = both.map(served_p99_ms);
        let wires = both.map(|ran| ran.main().wire_ms.p99.unwrap());
        let added = both.map(|ran| ran.main().client_added_ms.p99.unwrap());
        let services = both.map(|ran| ran.main().service_ms.p99.unwrap());
        say(&format!(
            "G25 with four busy loops and without: service p99 {services:.2?} ms, on the wire {wires:.2?} ms, added by the \
             client {added:.2?} ms; the server's own log says {truths:.2?} ms"
        ));
        // How long the server took in truth is in its log; whoever disturbs the client may disturb it a little as well.
        let is_prompt = truths.iter().all(|truth| (truth / 10.0 - 1.0).abs() <= 0.04) && added[0] > added[1];
        let is_near = |one: f64, other: f64| (one / other - 1.0).abs() <= 0.05;
        assert!(
            !is_prompt
                || is_near(wires[0], wires[1])
                    && wires.iter().zip(truths).all(|(wire, truth)| is_near(*wire, truth)),
            "{wires:?} ms on the wire of a server of {truths:?} ms"
        );
        is_prompt
    };
    if !attempts.any(|ran| is_good(&ran)) {
        say("G25 inconclusive: the server was late by its own log, or the busy loops disturbed nobody");
    }
}

/// Time and direction of each packet with content on a connection to `port`, in ns since 1970, from a capture of the
/// loopback device (the format of tcpdump with nanoseconds: headers of 24 and 16 bytes, Ethernet, IPv4).
fn packets(capture: &[u8], port: u16) -> Vec<(u64, bool)> {
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 1), "nanoseconds, Ethernet");
    let mut at = 24;
    let mut all = Vec::new();
    while at + 16 <= capture.len() {
        let (at_ns, length) =
            (u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)), word(at + 8) as usize);
        let ip = &capture[at + 30..at + 16 + length];
        at += 16 + length;
        let header = usize::from(ip[0] & 15) * 4;
        let tcp = &ip[header..];
        let whole = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        let content = whole - header - usize::from(tcp[12] >> 4) * 4;
        let [from, to] = [0, 2].map(|at| u16::from_be_bytes([tcp[at], tcp[at + 1]]));
        if content > 0 && (from == port || to == port) {
            all.push((at_ns, to == port));
        }
    }
    all
}

/// The 99.9th percentile of how far these are from their median, in us.
fn spread_us(mut apart_ns: Vec<i64>) -> f64 {
    apart_ns.sort_unstable();
    let middle = apart_ns[apart_ns.len() / 2];
    let off = apart_ns.iter().map(|apart| apart.abs_diff(middle)).collect();
    quantile_ms(off, 0.999).unwrap() * 1000.0
}

#[test]
#[ignore = "measures time: run it alone on a quiet machine, with `make truth`"]
fn g26_stamps_of_10_000_operations_are_those_of_a_packet_capture() {
    let _alone = alone();
    if Command::new("tcpdump").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err()
    {
        return skipped("tcpdump is not installed");
    }
    let store = start("store: {mode: 'null', null_bytes: 4096}\n");
    let port = store.url().rsplit(':').next().unwrap().trim_end_matches('/').parse().unwrap();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("capture");
    let mut tcpdump = Command::new("tcpdump")
        .args([
            "-i",
            "lo",
            "-Z",
            "root",
            "--time-stamp-precision=nano",
            "-j",
            "host",
            "-s",
            "128",
            "-B",
            "65536",
            "-U",
            "-w",
        ])
        .arg(&file)
        .arg(format!("tcp port {port}"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It says when it listens, or why it cannot.
    let mut said = String::new();
    let mut heard = std::io::BufReader::new(tcpdump.stderr.take().unwrap());
    while !said.contains("listening on") {
        if std::io::BufRead::read_line(&mut heard, &mut said).unwrap() == 0 {
            tcpdump.wait().unwrap();
            return skipped(&format!("tcpdump cannot capture: {said}"));
        }
    }
    let workload = one_work(&format!("workers: 1, total_ops: 10000, {READS}"));
    let ran = against_store(store, "30s, wire_time: all", &workload);
    // What is under way to it arrives before it ends: it is behind where it gets no processor.
    let captured = || std::fs::metadata(&file).map_or(0, |file| file.len());
    for _ in 0..60 {
        let before = captured();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        if before > 0 && captured() == before {
            break;
        }
    }
    // SAFETY: the process is a child that was not waited for.
    unsafe { libc::kill(tcpdump.id().cast_signed(), libc::SIGINT) };
    tcpdump.wait().unwrap();
    let packets = packets(&std::fs::read(&file).unwrap(), port);
    let epoch_ns = open_run(&ran.path("archive/w1-truth"))
        .unwrap()
        .operations()
        .unwrap()
        .unwrap()
        .epoch()
        .as_nanosecond();
    // One worker: requests and answers take turns. The question before the stage is no operation.
    let mut exchanges: Vec<(u64, u64)> = Vec::new();
    for (at_ns, is_request) in packets {
        match (is_request, exchanges.last_mut()) {
            (true, _) => exchanges.push((at_ns, 0)),
            (false, Some(last)) => last.1 = at_ns,
            (false, None) => {}
        }
    }
    let exchanges = &exchanges[exchanges.len() - ran.rows.len()..];
    let (mut sent, mut came) = (Vec::new(), Vec::new());
    for (row, (sent_ns, came_ns)) in ran.rows.iter().zip(exchanges) {
        let wire = row.sample.wire;
        if wire.weight > 0 {
            let apart =
                |captured: u64, stamp: u64| (i128::from(captured) - epoch_ns - i128::from(stamp)) as i64;
            sent.push(apart(*sent_ns, wire.sent_ns));
            came.push(apart(*came_ns, wire.end_ns));
        }
    }
    assert!(sent.len() > 9900, "{} of 10 000 were stamped", sent.len());
    // The archive's own clock was set to the machine's once, at its beginning: a constant.
    let (sent, came) = (spread_us(sent), spread_us(came));
    say(&format!(
        "G26 stamps against a capture, 99.9 % of 10 000 operations: sent within {sent:.1} us, answered {came:.1} us"
    ));
    assert!(sent <= 50.0 && came <= 50.0, "{sent} {came}");
}
