//! Where the time of operations went: do its parts say what the store did? What a plant adds to each operation is never less
//! than the plant, whatever the machine does; that the parts are those of the operation log is audited in every case.

use cosmark_metrics::results::TimeResult;
use cosmark_simstore::Op;

use crate::bench::{READS, Ran, against, alone, compared, one_work};

fn spent(ran: &Ran) -> &TimeResult {
    ran.main().time.as_ref().unwrap()
}

/// Times that a plant of so many milliseconds adds to each operation.
fn holds(part: &str, ms: f64, planted_ms: f64) {
    assert!(ms >= planted_ms * 0.999, "{part}: {ms} ms, planted are {planted_ms} ms");
}

#[test]
fn a_delay_before_the_answer_is_the_first_byte_and_a_slow_body_is_the_body() {
    let _alone = alone();
    let attempt = || {
        against(
            "store: {mode: 'null', null_bytes: 1024}\ndelay: {op: get, law: {constant_ms: 40}}\n",
            "30s",
            &one_work(&format!("workers: 4, total_ops: 100, {READS}")),
        )
    };
    let delayed = compared("spent, a delay", 10.0, attempt, |ran, noise_ms| {
        let time = spent(ran);
        time.first_byte_ms > 4.0 * (time.send_ms.unwrap() + time.body_ms - noise_ms)
    });
    let time = spent(&delayed);
    holds("send and first byte", time.send_ms.unwrap() + time.first_byte_ms, 40.0);
    // Nearly all of it, by what the server says of itself: it may be late on a busy machine, and then so is the first byte.
    // A client that gets no processor hears late that its request is sent, and the server has it by then.
    let served: u64 = delayed.served(Op::Get).map(|one| one.headers_ns - one.complete_ns).sum();
    let heard_late_ms = (time.send_ms.unwrap() - 0.5).max(0.0);
    let served_ms = served as f64 / 1e6 / delayed.main().ok as f64;
    holds("first byte", time.first_byte_ms + heard_late_ms, served_ms * 0.98);
    assert_eq!((time.wait_ms, time.tls_ms, time.rest_ms, time.several), (0.0, 0.0, 0.0, 0), "{time:?}");
    assert_eq!(time.sampled, delayed.main().ok, "few operations are all looked at");

    // 200 kB at 2 MB/s are 100 ms of body, and the head comes at once.
    let attempt = || {
        against(
            "store: {mode: 'null', null_bytes: 200000}\nbandwidth: {bytes_per_s: 2000000}\n",
            "30s",
            &one_work(&format!("workers: 4, total_ops: 60, {READS}")),
        )
    };
    compared("spent, a slow body", 20.0, attempt, |ran, noise_ms| {
        let time = spent(ran);
        time.body_ms > 80.0 - noise_ms && time.body_ms > 4.0 * (time.first_byte_ms - noise_ms)
    });
}

#[test]
fn a_handshake_that_is_served_late_is_tls_and_falls_on_each_operation_that_opens_a_connection() {
    let _alone = alone();
    let behaviour = |more: &str| {
        format!("store: {{mode: 'null', null_bytes: 1024}}\ntls: {{}}\naccept_delay_ms: 30\n{more}\n")
    };
    let workload = one_work(&format!("workers: 2, total_ops: 60, {READS}"));
    let attempt = || against(&behaviour("close_after: 1"), "30s", &workload);
    let each = compared("spent, handshakes", 10.0, attempt, |ran, noise_ms| {
        let time = spent(ran);
        time.tls_ms > 15.0 - noise_ms && time.tls_ms > time.first_byte_ms - noise_ms
    });
    let time = spent(&each);
    assert_eq!(each.main().connections, each.main().ok);
    // Where the client hears late that TCP is open, a part of the delay is over by then.
    holds("connect and TLS", time.connect_ms + time.tls_ms, 30.0);
    assert!(time.connect_ms > 0.0 && time.wait_ms == 0.0, "{time:?}");
    // Connections that are kept cost the same once.
    let attempt = || against(&behaviour(""), "30s", &workload);
    let kept = compared("spent, connections that are kept", 10.0, attempt, |ran, noise_ms| {
        spent(ran).tls_ms - noise_ms < spent(&each).tls_ms / 2.0
    });
    let (time, op) = (spent(&kept), kept.main());
    let opened = op.connections as f64 / op.ok as f64;
    holds("connect and TLS", time.connect_ms + time.tls_ms, 30.0 * opened);
    assert!(op.connections <= 2, "{time:?}");
}

#[test]
fn an_open_loop_that_asks_for_more_than_its_workers_can_do_waits_and_its_store_is_as_fast_as_before() {
    let _alone = alone();
    let run = |workers: u32| {
        against(
            "store: {mode: 'null', null_bytes: 1024}\ndelay: {op: get, law: {constant_ms: 50}}\n",
            "30s",
            &one_work(&format!("workers: {workers}, runtime: 4s, rate: 40/s, {READS}")),
        )
    };
    // One worker does 20 a second at most.
    let queued = run(1);
    let with = spent(&queued);
    assert!(with.wait_ms > 3.0 * with.first_byte_ms, "half of the arrivals wait for others: {with:?}");
    // What stands still for a moment lets arrivals wait that have workers of their own.
    let free = compared(
        "spent, workers enough",
        100.0,
        || run(40),
        |ran, noise_ms| with.wait_ms > 3.0 * (spent(ran).wait_ms - noise_ms),
    );
    for time in [with, spent(&free)] {
        holds("send and first byte", time.send_ms.unwrap() + time.first_byte_ms, 50.0);
    }
}

#[test]
fn writes_that_the_store_takes_slowly_are_sent_slowly_and_sizes_have_parts_of_their_own() {
    let _alone = alone();
    // More than what systems keep for a connection, so that the client feels how slowly it is taken.
    let attempt = || {
        against(
            "store: {mode: 'null', null_bytes: 1024}\nbandwidth: {op: put, upload_bytes_per_s: 60000000}\n",
            "60s",
            &one_work(
                "workers: 1, total_ops: 6, operations: [{type: write, containers: c(1), objects: 's(1,9)', sizes: c(24)MB}]",
            ),
        )
    };
    compared("spent, slow writes", 100.0, attempt, |ran, noise_ms| {
        let time = spent(ran);
        time.send_ms.unwrap() > time.first_byte_ms + time.body_ms - noise_ms
    });

    let sizes = against(
        "store: {mode: 'null', null_bytes: 1024}\n",
        "30s",
        &one_work(
            "workers: 2, total_ops: 200, operations: [{type: write, containers: c(1), objects: 's(1,300)', sizes: 'h(2|3|50,90|100|50)KB'}]",
        ),
    );
    let op = sizes.main();
    assert!(op.size_classes.len() == 2 && op.times().count() == 3, "{:?}", op.size_classes);
    let means: Vec<f64> = op.times().map(|times| times.time.mean_ms * times.count as f64).collect();
    assert!((means[0] - means[1] - means[2]).abs() < 1e-6 * means[0], "sizes add up to the whole: {means:?}");
}
