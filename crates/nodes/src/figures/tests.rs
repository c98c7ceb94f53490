//! What readings come to over a window.

use super::*;

fn readings(quantity: &'static Quantity, unit: &str, values: &[f64]) -> Vec<Reading> {
    let at = |second: usize| second as u64 * 1_000_000_000;
    let reading = |(second, value): (usize, &f64)| {
        let mut reading = Reading { at_ns: at(second), samples: Vec::new() };
        reading.add(quantity, unit, *value);
        reading
    };
    values.iter().enumerate().map(reading).collect()
}

const ALL: (u64, u64) = (0, u64::MAX);

#[test]
fn a_counter_is_a_rate_and_begins_anew_when_its_machine_does() {
    let read = readings(&q::DISK_READS, "sda", &[100.0, 150.0, 170.0, 10.0, 30.0]);
    let found = over(&read, ALL.0, ALL.1);
    assert_eq!((found.readings, found.resets), (5, 1));
    assert_eq!(
        (found.quantities[0].mean, found.quantities[0].highest),
        ((50.0 + 20.0 + 10.0 + 20.0) / 4.0, 50.0)
    );
}

/// Seconds of a processor that this thread has had so far: what runs beside it takes none of them.
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // In hundredths, as a user and within the kernel: the 14th and 15th field. The second is a name of any signs.
    let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11..13].iter().map(|field| field.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// As large as a reading may be: whoever answers may make up as many parts as it likes.
#[test]
fn a_machine_that_names_thousands_of_parts_takes_no_minutes() {
    let reading = |second: u64| {
        let mut reading = Reading { at_ns: second * 1_000_000_000, samples: Vec::new() };
        for at in 0..5000_u32 {
            let (disk, link) = (format!("disk-of-a-long-name-{at}"), format!("link-of-a-long-name-{at}"));
            reading.add(&q::DISK_BUSY, &disk, second as f64 * 0.25);
            reading.add(&q::DISK_QUEUE, &disk, second as f64 * 2.0);
            reading.add(&q::NETWORK_SENT, &link, second as f64 * 50.0);
            reading.add(&q::NETWORK_SPEED, &link, 100.0);
        }
        reading
    };
    let began_s = processor_s();
    let found = over(&[reading(1), reading(2), reading(3)], ALL.0, ALL.1);
    let took_s = processor_s() - began_s;
    assert_eq!(found.units.len(), 10_000);
    let busy = |kind: Kind| found.units.iter().find(|unit| unit.kind == kind).map(|unit| unit.busy);
    assert_eq!((busy(Kind::Disk), busy(Kind::NetworkTransmit)), (Some(0.25), Some(0.5)));
    assert!(took_s < 8.0, "{took_s} s");
}

#[test]
fn what_the_kernel_takes_back_of_a_wait_for_disks_is_no_restart() {
    let read = readings(&q::CPU_IO_WAIT, "cpu0", &[3000.5, 3000.49, 3000.6, 3000.7]);
    let found = over(&read, ALL.0, ALL.1);
    let own = found.quantities.iter().find(|one| one.quantity == q::CPU_IO_WAIT.id).unwrap();
    assert!(found.resets == 0 && (own.mean - 0.2 / 3.0).abs() < 1e-6 && own.highest < 0.2, "{own:?}");
    let read = readings(&q::CPU_IO_WAIT, "cpu0", &[3000.5, 0.2, 0.3]);
    assert_eq!(over(&read, ALL.0, ALL.1).resets, 1, "its machine began anew");
}

#[test]
fn a_small_step_back_is_no_restart_and_a_counter_of_energy_that_wraps_is_none_either() {
    let read = readings(&q::CPU_BUSY, "cpu0", &[1_000_000.5, 1_000_000.49, 1_000_000.9, 1_000_001.3]);
    let found = over(&read, ALL.0, ALL.1);
    assert!(found.resets == 0 && (found.quantities[0].mean - 0.8 / 3.0).abs() < 1e-6, "{found:?}");
    assert!(found.quantities[0].highest < 0.5, "{found:?}");
    let read = readings(&q::ENERGY, "package-0", &[262_100.0, 262_140.0, 36.0, 76.0]);
    let found = over(&read, ALL.0, ALL.1);
    assert_eq!((found.resets, found.quantities[0].mean), (0, (40.0 + 36.0 + 40.0) / 3.0));
    // Read rarely, it may come to more than half of what it was.
    let read = readings(&q::ENERGY, "package-0", &[200_000.0, 150_000.0]);
    assert_eq!(over(&read, ALL.0, ALL.1).quantities[0].mean, 150_000.0);
}

/// Two containers of a kubelet, each looked at every 12 s at a time of its own, and read every second.
#[test]
fn a_number_that_bears_a_time_counts_at_that_time_and_once() {
    let rate = |phase: u64| {
        let reading = |at_s: u64| {
            let mut reading = Reading { at_ns: at_s * 1_000_000_000, samples: Vec::new() };
            for (unit, phase, used) in [("a", phase, 0.5), ("b", phase + 5, 0.25)] {
                let looked_s = (at_s - phase) / 12 * 12 + phase;
                let value = looked_s as f64 * used;
                reading.add_at(&q::QUOTA_USED, unit, "", value, Some(looked_s * 1_000_000_000));
            }
            reading.add(&q::QUOTA_PROCESSORS, "a", 1.0);
            reading
        };
        let readings: Vec<Reading> = (990..=1070).map(reading).collect();
        let found = over(&readings, 1_000_000_000_000, 1_060_000_000_000);
        assert_eq!(found.resets, 0);
        let of = |unit: &str| {
            let mut own = found.quantities.iter().filter(|one| one.quantity == q::QUOTA_USED.id);
            let own = own.find(|one| one.unit == unit).unwrap();
            (own.mean, own.highest)
        };
        let busy = found.units.iter().find(|unit| unit.kind == Kind::CpuQuota).map(|unit| unit.busy);
        (of("a"), of("b"), busy)
    };
    for phase in 0..12 {
        let (a, b, busy) = rate(phase);
        let is =
            |found: (f64, f64), rate: f64| (found.0 - rate).abs() < 1e-9 && (found.1 - rate).abs() < 1e-9;
        assert!(is(a, 0.5) && is(b, 0.25), "phase {phase}: {a:?} {b:?}");
        assert!(busy.is_some_and(|busy| (busy - 0.5).abs() < 1e-9), "phase {phase}: {busy:?}");
    }
}

/// What goes to a namespace of NVMe by two controllers.
#[test]
fn the_ways_to_a_disk_are_not_counted_beside_it() {
    let reading = |at: u64, disk: f64| {
        let mut reading = Reading { at_ns: at * 1_000_000_000, samples: Vec::new() };
        for (unit, share) in [("nvme0c0n1", 0.25), ("nvme0c1n1", 0.5), ("nvme0n1", disk), ("nvme1n1", 1.0)] {
            reading.add(&q::DISK_BUSY, unit, at as f64 * 0.6 * share);
            reading.add(&q::DISK_READ_BYTES, unit, at as f64 * 1000.0 * share);
        }
        reading
    };
    let of = |disk: f64| {
        let found = over(&(0..4).map(|at| reading(at, disk)).collect::<Vec<Reading>>(), ALL.0, ALL.1);
        let read = found.quantities.iter().filter(|one| one.quantity == q::DISK_READ_BYTES.id);
        let read: f64 = read.map(|one| one.mean).sum();
        let units: Vec<String> = found.units.into_iter().map(|unit| unit.name).collect();
        (units, read)
    };
    assert_eq!(of(0.75), (vec!["nvme0n1".to_owned(), "nvme1n1".to_owned()], 1750.0));
    // Older kernels count at the ways only.
    let (units, read) = of(0.0);
    assert!(units.contains(&"nvme0c0n1".to_owned()) && units.contains(&"nvme0c1n1".to_owned()), "{units:?}");
    assert_eq!(read, 1750.0);
    for (name, disk) in [
        ("nvme10c3n12", Some("nvme10n12")),
        ("nvme0n1", None),
        ("nvme0c1n1p1", None),
        ("nvmecn", None),
        ("c", None),
    ] {
        assert_eq!(reached_by(name).as_deref(), disk, "{name}");
    }
}

/// As the milliseconds of a disk with a queue, and what a port of a switch dropped.
#[test]
fn a_counter_of_32_bits_that_comes_round_is_no_restart_and_loses_nothing() {
    let milliseconds = 4_294_967.296;
    let numbers = 4_294_967_296.0;
    for (quantity, round, each) in [
        (&q::DISK_QUEUE, milliseconds, 32.0),
        (&q::DISK_BUSY, milliseconds, 0.9),
        (&q::DISK_READ_TIME, milliseconds, 400.0),
        (&q::DISK_READS, numbers, 100_000.0),
        (&q::DISK_READ_BYTES, numbers * 512.0, 2e9),
        (&q::NETWORK_RECEIVE_DROPS, numbers, 7.0),
        (&q::NETWORK_RECEIVED, numbers, 5e7),
    ] {
        let values: Vec<f64> = (0..6).map(|at| (round - 2.5 * each + f64::from(at) * each) % round).collect();
        let found = over(&readings(quantity, "sda", &values), ALL.0, ALL.1);
        let own = &found.quantities[0];
        assert!(found.resets == 0, "{found:?}");
        assert!((own.mean / each - 1.0).abs() < 1e-6 && (own.highest / each - 1.0).abs() < 1e-6, "{own:?}");
    }
    // Elsewhere, and of what has more bits, it began anew.
    for (quantity, values) in [
        (&q::DISK_QUEUE, [milliseconds * 0.9, 10.0, 42.0]),
        (&q::DISK_QUEUE, [milliseconds * 1.001, 10.0, 42.0]),
        (&q::DISK_QUEUE, [milliseconds - 1.0, milliseconds * 0.1, milliseconds * 0.1 + 32.0]),
        (&q::CPU_BUSY, [milliseconds - 1.0, 1.0, 2.0]),
        (&q::SERVER_REQUESTS, [numbers - 1.0, 1.0, 2.0]),
    ] {
        let found = over(&readings(quantity, "sda", &values), ALL.0, ALL.1);
        assert_eq!((found.resets, found.quantities[0].mean), (1, values[2] / 2.0), "{values:?}");
    }
}

#[test]
fn a_counter_that_is_renewed_rarely_has_no_peaks_of_its_own_and_its_age_is_told() {
    let read = readings(&q::DISK_READS, "sda", &[0.0, 0.0, 0.0, 300.0, 300.0, 300.0, 600.0]);
    let found = over(&read, ALL.0, ALL.1);
    assert_eq!((found.quantities[0].mean, found.quantities[0].highest), (100.0, 100.0));
    assert_eq!(found.renewed_every_s, Some(3.0));
}

/// A processor that is busy half of the time, read every second for so long by an exporter that renews its numbers
/// every 15 s, `phase` seconds after the first reading for the first time.
fn renewed_every_15_s(phase: usize, long: usize) -> NodeFigures {
    let renewed_at = |second: usize| (second + 15 - phase) / 15 * 15;
    let values: Vec<f64> = (0..=long).map(|second| 1000.0 + renewed_at(second) as f64 * 0.5).collect();
    over(&readings(&q::CPU_BUSY, "cpu0", &values), ALL.0, ALL.1)
}

#[test]
fn a_rate_is_between_renewals_however_they_lie_in_the_window() {
    for long in [20, 40, 50] {
        for phase in 0..15 {
            let found = renewed_every_15_s(phase, long);
            let busy = found.quantities.first().map(|one| one.mean);
            let said = format!("{long} s, phase {phase}: {found:?}");
            match busy {
                Some(busy) => assert!((busy / 0.5 - 1.0).abs() < 0.05, "{said}"),
                None => assert!(long == 20 && found.readings == 1 && found.units.is_empty(), "{said}"),
            }
            assert!(busy.is_none() || found.readings == long + 1, "{said}");
        }
    }
    assert_eq!(renewed_every_15_s(14, 5).readings, 1, "nothing was renewed at all");
    // What is counted when something happens stands still in between, and that time is its own.
    let requests =
        |values: &[f64]| over(&readings(&q::SERVER_REQUESTS, "GET", values), ALL.0, ALL.1).quantities[0].mean;
    assert_eq!(requests(&[0.0, 0.0, 0.0, 9.0, 9.0, 9.0]), 1.8);
    assert_eq!(requests(&[0.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 18.0, 18.0, 18.0, 24.0]), 24.0 / 11.0);
}

#[test]
fn a_source_that_leaves_zeros_out_is_read_as_if_it_gave_them() {
    let mut read: Vec<Reading> =
        (0..5u64).map(|at| Reading { at_ns: at * 1_000_000_000, samples: Vec::new() }).collect();
    // One answer in the middle lacks the counter: it has not begun anew.
    for (at, total) in [(1, 40.0), (2, 40.0), (4, 100.0)] {
        read[at].add_named(&q::SERVER_REQUESTS, "GetObject", "minio_api_requests_total", total);
    }
    read[3].add_named(&q::SERVER_QUEUE, "in flight", "minio_api_requests_inflight_total", 5.0);
    read[3].add_named(&q::SERVER_QUEUE, "rgw.a", "ceph_rgw_qlen", 5.0);
    let found = over(&read, ALL.0, ALL.1);
    let means: Vec<_> =
        found.quantities.iter().map(|one| (one.unit.as_str(), one.mean, one.highest)).collect();
    assert_eq!(means, [("in flight", 1.0, 5.0), ("rgw.a", 5.0, 5.0), ("GetObject", 25.0, 40.0)]);
}

#[test]
fn parts_that_are_scraped_one_by_one_say_nothing_of_each_other() {
    let mut read: Vec<Reading> =
        (0..8u64).map(|at| Reading { at_ns: at * 1_000_000_000, samples: Vec::new() }).collect();
    for (at, reading) in read.iter_mut().enumerate() {
        let value = 1000.0 + 10.0 * at as f64;
        match at % 3 {
            // Another exporter of the same machine.
            0 => reading.add_named(&q::MEMORY_CACHE, "", "node_memory_Cached_bytes", 1e9),
            1 => reading.add_named(&q::STORE_DRIVE_BUSY, "/d", "minio_system_drive_perc_util", 0.6),
            _ => reading.add_named(&q::SERVER_REQUESTS, "GetObject", "minio_api_requests_total", value),
        }
    }
    let means = |read: &[Reading]| -> Vec<(String, f64)> {
        let found = over(read, ALL.0, ALL.1).quantities.into_iter();
        let of_minio = found.filter(|one| one.quantity != q::MEMORY_CACHE.id);
        of_minio.map(|one| (one.quantity, (one.mean * 1e6).round() / 1e6)).collect()
    };
    let busy = |mean: f64| ("store_drive_busy".to_owned(), mean);
    // The requests do not come from 0, and the drive is not idle, where the other part was scraped.
    let mut requests = ("server_requests".to_owned(), 10.0);
    assert_eq!(means(&read), [requests.clone(), busy(0.6)]);
    // One answer that has both says that they come together: what it lacks is 0.
    read[2].add_named(&q::STORE_DRIVE_BUSY, "/d", "minio_system_drive_perc_util", 0.6);
    requests.1 = 1050.0 / 4.0;
    assert_eq!(means(&read), [requests, busy(4.0 * 0.6 / 5.0)]);
}

#[test]
fn only_the_window_counts_and_one_reading_is_no_rate() {
    let read = readings(&q::DISK_READS, "sda", &[0.0, 1000.0, 1010.0, 1020.0, 9000.0]);
    let found = over(&read, 1_000_000_000, 3_000_000_000);
    assert_eq!((found.readings, found.quantities[0].mean), (3, 10.0));
    assert_eq!(over(&read, 1_000_000_000, 1_500_000_000).quantities, []);
    assert_eq!(over::<Reading>(&[], 0, 1), NodeFigures::default());
}

#[test]
fn a_link_that_is_shaped_otherwise_meanwhile_is_no_machine_that_was_restarted() {
    let found = over(&readings(&q::QUEUE_HELD, "eth0", &[100.0, 130.0, 20.0, 30.0]), ALL.0, ALL.1);
    assert_eq!((found.quantities[0].mean, found.resets), (20.0, 0));
    let found = over(&readings(&q::DISK_READS, "sda", &[100.0, 130.0, 20.0, 30.0]), ALL.0, ALL.1);
    assert_eq!((found.quantities[0].mean, found.resets), (20.0, 1));
}

#[test]
fn a_link_that_is_shaped_for_a_part_of_the_window_has_no_ceiling_there() {
    let shaped = |from: usize| {
        let mut read = readings(&q::NETWORK_SENT, "eth0", &[0.0, 1e6, 2e6, 3e6, 4e6, 5e6]);
        read[from..].iter_mut().for_each(|reading| reading.add(&q::SEND_LIMIT, "eth0", 2e6));
        over(&read, ALL.0, ALL.1).units.iter().map(|unit| unit.busy).collect::<Vec<_>>()
    };
    assert_eq!((shaped(0), shaped(1), shaped(5)), (vec![0.5], Vec::new(), Vec::new()));
}

#[test]
fn readings_that_come_late_are_put_where_they_belong() {
    let mut read = readings(&q::DISK_READS, "sda", &[0.0, 10.0, 20.0, 30.0]);
    read.swap(1, 2);
    let found = over(&read, ALL.0, ALL.1);
    let reads = found.quantities.first().map(|one| (one.mean, one.highest));
    assert_eq!((reads, found.resets), (Some((10.0, 10.0)), 0));
    assert_eq!(found.seen.map(|seen| (seen.0, seen.1)), Some((0, 3_000_000_000)));
}

#[test]
fn threads_that_do_next_to_nothing_are_left_out() {
    let mut read = vec![Reading::default(), Reading { at_ns: 1_000_000_000, samples: Vec::new() }];
    for (at, reading) in read.iter_mut().enumerate() {
        let at = at as f64;
        for (name, busy) in [("osd/1", 0.4), ("osd/2", 0.009), ("osd/3", 0.0)] {
            reading.add(&q::THREAD_BUSY, name, 5.0 + at * busy);
            reading.add(&q::THREAD_RUN_QUEUE, name, at * 0.001);
        }
    }
    let found = over(&read, ALL.0, ALL.1);
    assert_eq!(found.units.iter().map(|unit| unit.name.as_str()).collect::<Vec<_>>(), ["osd/1"]);
    let together = found.quantities.iter().find(|figure| figure.quantity == "daemons_busy_s").unwrap();
    assert!((together.mean - 0.409).abs() < 1e-9, "{together:?}");
    let others = found.quantities.iter().filter(|figure| figure.quantity != "daemons_busy_s");
    assert!({ others }.all(|figure| figure.unit == "osd/1"), "{found:?}");
}

#[test]
fn threads_of_a_daemon_that_was_restarted_are_not_added_up_as_if_all_were_there_at_once() {
    let reading = |second: u64| {
        let mut reading = Reading { at_ns: second * 1_000_000_000, samples: Vec::new() };
        let (before, after) = (second <= 5, second >= 5);
        for name in [("osd/1", before), ("osd/2", after)].iter().filter(|one| one.1).map(|one| one.0) {
            reading.add(&q::THREAD_BUSY, name, second as f64);
        }
        reading
    };
    let read: Vec<Reading> = (0..=10).map(reading).collect();
    let found = over(&read, ALL.0, ALL.1);
    let together = found.quantities.iter().find(|figure| figure.quantity == "daemons_busy_s").unwrap();
    assert!((together.mean - 1.0).abs() < 0.01, "{together:?}");
    assert_eq!(found.units.iter().map(|unit| unit.busy).collect::<Vec<_>>(), [1.0, 1.0]);
}

#[test]
fn a_shaped_link_is_full_at_what_its_queue_lets_through_in_the_direction_that_it_shapes() {
    let mut read = vec![Reading::default(), Reading { at_ns: 2_000_000_000, samples: Vec::new() }];
    for (at, reading) in read.iter_mut().enumerate() {
        let at = at as f64;
        for name in ["eth0", "veth1"] {
            reading.add(&q::NETWORK_SENT, name, at * 8e6);
            reading.add(&q::NETWORK_RECEIVED, name, at * 8e6);
            reading.add(&q::SEND_LIMIT, name, 5e6);
            reading.add(&q::NETWORK_SEND_DROPS, name, at * 2.0);
            reading.add(&q::QUEUE_SEND_DROPS, name, at * 4.0);
            reading.add(&q::QUEUE_HELD, name, at * 100.0);
            reading.add(&q::QUEUE_RECEIVE_DROPS, name, at * 6.0);
        }
        reading.add(&q::NETWORK_SPEED, "eth0", 1.25e8);
        reading.add(&q::RECEIVE_LIMIT, "veth1", 8e6);
    }
    let units = over(&read, ALL.0, ALL.1).units;
    let found: Vec<_> =
        units.iter().map(|unit| (unit.kind, unit.name.as_str(), unit.busy, unit.waiting)).collect();
    let events = |rate| Some(Waiting::Events(rate));
    assert_eq!(
        found,
        [
            (Kind::NetworkReceive, "eth0", 0.032, events(3.0)),
            (Kind::NetworkReceive, "veth1", 0.5, events(3.0)),
            (Kind::NetworkTransmit, "eth0", 0.8, events(53.0)),
            (Kind::NetworkTransmit, "veth1", 0.8, events(53.0)),
        ]
    );
}

#[test]
fn a_part_of_a_link_that_is_limited_by_itself_is_a_unit_beside_the_link() {
    let mut read = vec![Reading::default(), Reading { at_ns: 2_000_000_000, samples: Vec::new() }];
    for (at, reading) in read.iter_mut().enumerate() {
        let at = at as f64;
        reading.add(&q::NETWORK_SENT, "lo", at * 3e7);
        reading.add(&q::SEND_LIMIT, "lo", 1e9);
        reading.add(&q::QUEUE_SENT, "lo", at * 3e7);
        for (part, sent) in [("lo class 1:2", 2.4e7), ("lo class 1:3", 0.0)] {
            reading.add(&q::SEND_LIMIT, part, 12.5e6);
            reading.add(&q::QUEUE_SENT, part, at * sent);
            reading.add(&q::QUEUE_SEND_DROPS, part, at * 2.0);
            reading.add(&q::QUEUE_HELD, part, at * 100.0);
        }
    }
    let units = over(&read, ALL.0, ALL.1).units;
    let found: Vec<_> = units.iter().map(|unit| (unit.name.as_str(), unit.busy, unit.waiting)).collect();
    let waited = Some(Waiting::Events(51.0));
    assert_eq!(found, [("lo", 0.015, None), ("lo class 1:2", 0.96, waited), ("lo class 1:3", 0.0, waited)]);
    assert!(units.iter().all(|unit| unit.kind == Kind::NetworkTransmit), "{units:?}");
}

#[test]
fn a_queue_that_counts_more_headers_than_its_device_is_full_at_what_it_counts() {
    let busy = |sent: f64, queued: f64| {
        let mut read = vec![Reading::default(), Reading { at_ns: 2_000_000_000, samples: Vec::new() }];
        for (at, reading) in read.iter_mut().enumerate() {
            let at = at as f64;
            reading.add(&q::NETWORK_SENT, "eth0", at * sent);
            reading.add(&q::NETWORK_RECEIVED, "eth0", at * 1e6);
            reading.add(&q::SEND_LIMIT, "eth0", 5e6);
            reading.add(&q::QUEUE_SENT, "eth0", at * queued);
            reading.add(&q::RECEIVE_LIMIT, "eth0", 5e6);
        }
        let units = over(&read, ALL.0, ALL.1).units;
        let of = |kind: Kind| units.iter().find(|unit| unit.kind == kind).unwrap().busy;
        (of(Kind::NetworkTransmit), of(Kind::NetworkReceive))
    };
    let (sends, receives) = busy(9.58e6, 10e6);
    assert!((sends - 1.0).abs() < 1e-9 && (receives - 0.1).abs() < 1e-9, "{sends} {receives}");
    // One that counts less, or something else, says nothing.
    for queued in [0.0, 5e6, 30e6] {
        let (sends, _) = busy(8e6, queued);
        assert!((sends - 0.8).abs() < 1e-9, "{queued}: {sends}");
    }
}

#[test]
fn what_a_queue_says_in_every_second_reading_only_is_no_more_or_less_than_it_sent() {
    // Two readings a second, of 4 s or a little less; the queue is asked in the even or the odd ones.
    for (first, count) in [(0, 9), (1, 9), (0, 8), (1, 8), (0, 4), (1, 5)] {
        let read: Vec<Reading> = (first..first + count)
            .map(|turn: u32| {
                let mut reading = Reading { at_ns: u64::from(turn) * 500_000_000, samples: Vec::new() };
                reading.add(&q::NETWORK_SENT, "lo", f64::from(turn) * 2.4e6);
                reading.add(&q::SEND_LIMIT, "lo", 5e6);
                reading.add(&q::QUEUE_SENT, "lo", f64::from(turn / 2) * 5e6);
                reading.add(&q::QUEUE_HELD, "lo", f64::from(turn / 2) * 300.0);
                reading
            })
            .collect();
        let found = over(&read, ALL.0, ALL.1);
        let link = found.units.iter().find(|unit| unit.kind == Kind::NetworkTransmit).unwrap();
        let held = found.quantities.iter().find(|one| one.quantity == q::QUEUE_HELD.id).unwrap();
        assert!((link.busy - 1.0).abs() < 1e-9, "{first} {count}: {link:?}");
        assert!((held.mean - 300.0).abs() < 1e-6, "{first} {count}: {held:?}");
    }
}

#[test]
fn what_can_be_full_is_a_unit_and_a_link_without_a_speed_is_none() {
    let mut read = vec![Reading::default(), Reading { at_ns: 2_000_000_000, samples: Vec::new() }];
    for (at, reading) in read.iter_mut().enumerate() {
        let at = at as f64;
        reading.add(&q::CPU_BUSY, "cpu0", 1.0 + at);
        reading.add(&q::CPU_BUSY, "cpu1", 2.0);
        reading.add(&q::CPU_PRESSURE, "", at * 0.5);
        reading.add(&q::DISK_BUSY, "sda", at * 2.2);
        reading.add(&q::DISK_QUEUE, "sda", at * 14.0);
        reading.add(&q::NETWORK_SENT, "lo", at * 1e9);
        reading.add(&q::NETWORK_SENT, "eth0", at * 1e8);
        reading.add(&q::NETWORK_SPEED, "eth0", 1.25e8);
        // A tunnel: 10 Mbit/s by its own words.
        reading.add(&q::NETWORK_SENT, "tun0", at * 1e7);
        reading.add(&q::NETWORK_RECEIVED, "tun0", at * 1e3);
        reading.add(&q::NETWORK_SPEED, "tun0", 1.25e6);
        reading.add(&q::QUOTA_USED, "proxy", at);
        reading.add(&q::QUOTA_PROCESSORS, "proxy", 0.5);
    }
    let found = over(&read, ALL.0, ALL.1);
    let busy: Vec<_> = found.units.iter().map(|unit| (unit.kind, unit.name.as_str(), unit.busy)).collect();
    assert_eq!(
        busy,
        [
            (Kind::Core, "cpu0", 0.5),
            (Kind::Core, "cpu1", 0.0),
            (Kind::Disk, "sda", 1.0),
            (Kind::NetworkTransmit, "eth0", 0.4),
            (Kind::CpuQuota, "proxy", 1.0),
            (Kind::Machine, "cpu", 0.25),
        ]
    );
    assert_eq!(found.units[2].waiting, Some(Waiting::Queue(7.0)));
    assert_eq!(found.units[5].waiting, Some(Waiting::Share(0.25)));
}

/// Two processors of which one was switched off, or switched on, for a part of ten seconds: what each ran, and from
/// when to when.
fn two_cores(second: std::ops::RangeInclusive<u64>, ran: f64) -> NodeFigures {
    let reading = |at: u64| {
        let mut reading = Reading { at_ns: at * 1_000_000_000, samples: Vec::new() };
        reading.add(&q::CPU_BUSY, "cpu0", 100.0 + at as f64);
        if second.contains(&at) {
            reading.add(&q::CPU_BUSY, "cpu1", 100.0 + at as f64 * ran);
            reading.add(&q::CPU_INTERRUPTS, "cpu1", 100.0 + at as f64 * ran * 0.5);
        }
        reading
    };
    over(&(0..=10).map(reading).collect::<Vec<Reading>>(), ALL.0, ALL.1)
}

#[test]
fn a_processor_counts_for_the_time_in_which_it_was_there() {
    let busy = |found: &NodeFigures, kind: Kind, name: &str| {
        found.units.iter().find(|unit| unit.kind == kind && unit.name == name).map(|unit| unit.busy).unwrap()
    };
    // It was idle, and off after two seconds: the machine had one processor, which was full.
    let off = two_cores(0..=2, 0.0);
    assert!((busy(&off, Kind::Machine, "cpu") - 1.0 / 1.2).abs() < 1e-9, "{off:?}");
    // It came at the end and was full from then on.
    let on = two_cores(8..=10, 1.0);
    assert_eq!((busy(&on, Kind::Machine, "cpu"), busy(&on, Kind::Core, "cpu1")), (1.0, 0.2));
    let seconds: f64 =
        on.quantities.iter().filter(|one| one.quantity == q::CPU_BUSY.id).map(|one| one.mean).sum();
    assert!((seconds - 1.2).abs() < 1e-9, "12 s of processors were used in 10 s: {on:?}");
    let interrupts = on.quantities.iter().find(|one| one.quantity == q::CPU_INTERRUPTS.id).unwrap();
    assert!((interrupts.mean - 0.1).abs() < 1e-9, "{interrupts:?}");
    // One that was there all the time counts as a whole one.
    assert_eq!(busy(&two_cores(0..=10, 0.5), Kind::Machine, "cpu"), 0.75);
}

/// As an exporter in milliseconds, and as two machines behind one address whose counters are far apart.
#[test]
fn more_than_a_second_in_a_second_is_said_and_no_unit_is_made_of_it() {
    let milliseconds: Vec<f64> = (0..8).map(|second| f64::from(second) * 400.0).collect();
    let in_turn = [1_000.0, 9_000.0, 1_001.0, 9_001.0, 1_002.0, 9_002.0];
    for values in [&milliseconds[..], &in_turn] {
        let found = over(&readings(&q::CPU_BUSY, "cpu0", values), ALL.0, ALL.1);
        assert_eq!(found.units, [], "{values:?}");
        assert!(
            found.doubt.as_ref().is_some_and(|why| why.contains("it says that cpu0 was busy for")),
            "{found:?}"
        );
        assert!(!found.quantities.is_empty(), "what it says is there all the same");
    }
    // Times of readings are not those at which numbers were true.
    for values in [&[0.0, 0.9, 2.4, 3.1, 4.9][..], &[0.0, 7.0]] {
        let found = over(&readings(&q::DISK_BUSY, "sda", values), ALL.0, ALL.1);
        assert_eq!((found.units.len(), found.doubt), (1, None), "{values:?}");
    }
}

/// A thread of a compaction, and a disk that was pulled out: neither was full for the window, though it was while it
/// was there.
#[test]
fn what_was_there_for_a_moment_is_not_full_for_the_whole_window() {
    let reading = |at: u64| {
        let mut reading = Reading { at_ns: at * 1_000_000_000, samples: Vec::new() };
        reading.add(&q::THREAD_BUSY, "osd/1", at as f64 * 0.3);
        reading.add(&q::DISK_BUSY, "sda", at as f64 * 0.5);
        if (3..=5).contains(&at) {
            reading.add(&q::THREAD_BUSY, "osd/9", at as f64);
            reading.add(&q::DISK_BUSY, "sdb", at as f64);
        }
        reading
    };
    let found = over(&(0..=20).map(reading).collect::<Vec<Reading>>(), ALL.0, ALL.1);
    let busy: Vec<(&str, f64, f64)> = found
        .units
        .iter()
        .map(|unit| (unit.name.as_str(), (unit.busy * 100.0).round(), (unit.highest_busy * 100.0).round()))
        .collect();
    assert_eq!(
        busy,
        [("sda", 50.0, 50.0), ("sdb", 10.0, 100.0), ("osd/1", 30.0, 30.0), ("osd/9", 10.0, 100.0)]
    );
}
