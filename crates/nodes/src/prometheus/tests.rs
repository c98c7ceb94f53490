//! Texts of exporters, and what is read of them.

use super::*;

#[test]
fn both_formats_are_read() {
    let text = "# HELP a b\n# TYPE a counter\na 1\nb{x=\"1\",y=\"a\\\"b\\\\c\\nd\",} 2.5e3 1700000000000\n\
                c_bucket{le=\"+Inf\"} 7 # {trace=\"x\"} 0.5 1700000000.1\nd NaN\ne +Inf 1700000000.250\n# EOF\n";
    let read = parse(text);
    assert_eq!((read.series.len(), read.unreadable), (5, 0), "{read:?}");
    assert_eq!(read.series[1].label("y"), Some("a\"b\\c\nd"));
    assert_eq!(read.series[1].at_ms, Some(1.7e12));
    assert_eq!((read.series[2].value, read.series[2].at_ms), (7.0, None));
    assert_eq!(read.series[4].at_ms, Some(1_700_000_000_250.0));
    assert!(read.series[3].value.is_nan() && read.series[4].value.is_infinite());
}

/// Any number of blanks and tabs separates what stands in a line.
#[test]
fn blanks_separate_and_say_nothing() {
    let lines = [
        "m{a=\"b\"} 7 1700000000000",
        "m {a=\"b\"}\t7  1700000000000",
        "  m\t{ a = \"b\" , } 7\t1700000000000\r",
    ];
    for line in lines {
        let read = parse(line);
        assert_eq!(read.series.len(), 1, "{line}: {read:?}");
        let one = &read.series[0];
        assert_eq!((one.name.as_str(), one.label("a"), one.value), ("m", Some("b"), 7.0), "{line}");
        assert_eq!(one.at_ms, Some(1.7e12), "{line}");
    }
    assert_eq!(parse("m\t7").series.first().map(|one| one.value), Some(7.0));
}

#[test]
fn what_is_no_series_is_counted_and_the_first_is_named() {
    let text = "ok 1\n{\"json\": true}\n<html>\na{x=\"1} 2\na{x=1} 2\na 1 2 3\na one\n9a 1\na{x=\"1\" y=\"2\"} 1\na\n";
    let read = parse(text);
    assert_eq!((read.series.len(), read.unreadable), (1, 9), "{read:?}");
    assert_eq!(read.first_unreadable, Some((2, "{\"json\": true}".to_owned())));
}

#[test]
fn modes_of_a_processor_are_added_up_and_idle_ones_are_not() {
    let text = "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 100\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 7\n\
                node_cpu_seconds_total{cpu=\"0\",mode=\"softirq\"} 2\nnode_cpu_seconds_total{cpu=\"0\",mode=\"iowait\"} 50\n\
                node_disk_io_time_seconds_total{device=\"sda\"} 3\nnode_network_speed_bytes{device=\"lo\"} -1\n";
    let reading = reading(&parse(text).series, 9);
    let found: Vec<_> = reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
    assert_eq!(
        found,
        [
            ("cpu_busy_s", "cpu0", 9.0),
            ("cpu_interrupts_s", "cpu0", 2.0),
            ("cpu_io_wait_s", "cpu0", 50.0),
            ("disk_busy_s", "sda", 3.0),
        ]
    );
}

/// As `node_exporter` tells them on FreeBSD, whose processors have one mode more.
#[test]
fn machines_of_other_systems_have_processors_disks_and_memory() {
    let mut text = String::new();
    for (name, mode) in [("node_cpu_seconds_total", "cpu=\"0\","), ("node_cpu", "cpu=\"1\",")] {
        for (which, value) in [("user", 4), ("interrupt", 2), ("system", 1), ("spin", 3), ("idle", 90)] {
            text += &format!("{name}{{{mode}mode=\"{which}\"}} {value}\n");
        }
    }
    for (name, value) in [("transfers", 5), ("bytes", 4096), ("duration_seconds", 2)] {
        for (which, times) in [("read", 1), ("write", 10), ("free", 100)] {
            let value = value * times;
            text += &format!("node_devstat_{name}_total{{device=\"ada0\",type=\"{which}\"}} {value}\n");
        }
    }
    text += "node_devstat_busy_time_seconds_total{device=\"ada0\"} 7\nnode_memory_size_bytes 8e9\n";
    let read = |text: &str| -> Vec<(&'static str, String, f64)> {
        let samples = reading(&parse(text).series, 9).samples;
        samples.into_iter().map(|one| (one.quantity.id, one.unit, one.value)).collect()
    };
    let (cpu, disk) = ("cpu0".to_owned(), "ada0".to_owned());
    let expected = [
        ("cpu_busy_s", cpu.clone(), 10.0),
        ("cpu_interrupts_s", cpu, 2.0),
        ("disk_busy_s", disk.clone(), 7.0),
        ("disk_read_bytes", disk.clone(), 4096.0),
        ("disk_read_s", disk.clone(), 2.0),
        ("disk_reads", disk.clone(), 5.0),
        ("disk_write_s", disk.clone(), 20.0),
        ("disk_writes", disk.clone(), 50.0),
        ("disk_written_bytes", disk, 40_960.0),
        ("memory_total_bytes", String::new(), 8e9),
    ];
    // The older name beside today's says the same once more.
    assert_eq!(read(&text), expected);
    let older: Vec<&str> = text.lines().filter(|line| line.starts_with("node_cpu{")).collect();
    assert_eq!(
        read(&older.join("\n")),
        [("cpu_busy_s", "cpu1".to_owned(), 10.0), ("cpu_interrupts_s", "cpu1".to_owned(), 2.0)]
    );
    let solaris = "node_cpu_seconds_total{cpu=\"0\",mode=\"kernel\"} 3\n\
                   node_cpu_seconds_total{cpu=\"0\",mode=\"wait\"} 9\nnode_memory_total_bytes 4e9\n";
    assert_eq!(
        read(solaris),
        [("cpu_busy_s", "cpu0".to_owned(), 3.0), ("memory_total_bytes", String::new(), 4e9)]
    );
}

#[test]
fn whatever_is_written_is_read_again() {
    let values = ["", "a", "\"", "\\", "\n", ",}", "a=\"b\"", "  ", "é # x"];
    for value in values {
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let read = parse(&format!("m{{a=\"{escaped}\",b=\"{escaped}\"}} 1"));
        assert_eq!(read.series.first().and_then(|one| one.label("b")), Some(value), "{read:?}");
    }
}

#[test]
fn a_store_tells_its_servers_own_time_by_daemon_and_kind() {
    let text = "ceph_osd_op_r_latency_sum{ceph_daemon=\"osd.3\"} 7.5\nceph_osd_op_w_latency_sum{ceph_daemon=\"osd.3\"} 2\n\
                ceph_osd_up{ceph_daemon=\"osd.3\"} 1\nceph_osd_up{ceph_daemon=\"osd.4\"} 1\nceph_osd_up{ceph_daemon=\"osd.5\"} 0\n\
                ceph_num_objects_degraded 12\nceph_pg_scrubbing{pool_id=\"1\"} 1\nceph_pg_scrubbing{pool_id=\"2\"} 2\n\
                minio_api_requests_inflight_total{server=\"a\"} 4\n";
    let reading = reading(&parse(text).series, 9);
    let found: Vec<_> = reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
    assert_eq!(
        found,
        [
            ("server_queue", "in flight", 4.0),
            ("server_request_s", "osd.3 read", 7.5),
            ("server_request_s", "osd.3 write", 2.0),
            ("store_drives_online", "", 2.0),
            ("store_objects_degraded", "", 12.0),
            ("store_scrubbing", "", 3.0),
        ]
    );
}

/// As a server of 2026-02 prints them, with a drive gone.
#[test]
fn minio_tells_its_drives_its_scanner_and_its_requests() {
    let text = "minio_api_requests_total{name=\"GetObject\",server=\"h:9000\",type=\"s3\"} 12\n\
                minio_cluster_health_drives_count 4\nminio_cluster_health_drives_online_count 3\n\
                minio_cluster_health_drives_offline_count 1\n\
                minio_cluster_erasure_set_healing_drives_count{pool_id=\"0\",set_id=\"0\"} 1\n\
                minio_system_drive_availability_errors_total{drive=\"/d2\",drive_index=\"1\",pool_index=\"0\",\
                server=\"h:9000\",set_index=\"0\"} 7\n\
                minio_scanner_objects_scanned{server=\"h:9000\"} 800\n";
    let reading = reading(&parse(text).series, 9);
    let found: Vec<_> = reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
    assert_eq!(
        found,
        [
            ("server_requests", "GetObject", 12.0),
            ("store_drive_errors", "/d2", 7.0),
            ("store_drives_healing", "0", 1.0),
            ("store_drives_offline", "", 1.0),
            ("store_drives_online", "", 3.0),
            ("store_objects_scanned", "h:9000", 800.0),
        ]
    );
}

#[test]
fn a_package_that_is_read_in_two_ways_draws_what_it_draws_once() {
    let line = |path: &str, index: u32| {
        format!("node_rapl_package_joules_total{{index=\"{index}\",path=\"/sys/class/powercap/{path}\"}} 7\n")
    };
    let text = [line("intel-rapl:0", 0), line("intel-rapl-mmio:0", 0), line("intel-rapl:1", 1)].concat();
    expect(&text, &[("energy_j", "0", 7.0), ("energy_j", "1", 7.0)]);
}

/// `node_exporter` leaves partitions out unless it is started otherwise.
#[test]
fn a_partition_is_a_part_of_its_disk_and_no_disk_beside_it() {
    let line = |device: &str| format!("node_disk_io_time_seconds_total{{device=\"{device}\"}} 3\n");
    let text: String =
        ["sda", "sda1", "nvme0n1", "nvme0n1p2", "dm-0", "md127", "vdb1"].into_iter().map(line).collect();
    let units: Vec<String> = found(&text).into_iter().map(|one| one.1).collect();
    assert_eq!(units, ["dm-0", "md127", "nvme0n1", "sda", "vdb1"]);
}

fn found(text: &str) -> Vec<(&'static str, String, f64)> {
    let samples = reading(&parse(text).series, 9).samples;
    samples.into_iter().map(|one| (one.quantity.id, one.unit, one.value)).collect()
}

fn expect(text: &str, expected: &[(&str, &str, f64)]) {
    let found = found(text);
    let found: Vec<_> = found.iter().map(|(id, unit, value)| (*id, unit.as_str(), *value)).collect();
    assert_eq!(found, expected, "{text}");
}

/// By the sources of its metrics v3 (`cmd/metrics-v3-*.go`).
#[test]
fn minio_tells_what_failed_how_soon_it_answered_and_how_long_its_drives_took() {
    let drive = "drive=\"/d2\",drive_index=\"1\",pool_index=\"0\",server=\"h:9000\",set_index=\"0\"";
    expect(
        &format!(
            "minio_api_requests_4xx_errors_total{{name=\"GetObject\",server=\"h:9000\",type=\"s3\"}} 3\n\
             minio_api_requests_5xx_errors_total{{name=\"GetObject\",server=\"h:9000\",type=\"s3\"}} 2\n\
             minio_api_requests_errors_total{{name=\"GetObject\",server=\"h:9000\",type=\"s3\"}} 5\n\
             minio_api_requests_rejected_auth_total{{server=\"h:9000\",type=\"s3\"}} 1\n\
             minio_api_requests_ttfb_seconds_distribution{{le=\"0.05\",name=\"GetObject\",server=\"h:9000\",type=\"s3\"}} 90\n\
             minio_api_requests_ttfb_seconds_distribution{{le=\"+Inf\",name=\"GetObject\",server=\"h:9000\",type=\"s3\"}} 99\n\
             minio_api_requests_traffic_sent_bytes{{server=\"h:9000\",type=\"s3\"}} 4096\n\
             minio_system_drive_reads_await{{{drive}}} 2.5\nminio_system_drive_perc_util{{{drive}}} 25\n\
             minio_system_drive_api_latency_micros{{api=\"storage.ReadVersion\",{drive}}} 1500\n"
        ),
        &[
            ("server_errors", "GetObject 4xx", 3.0),
            ("server_errors", "GetObject 5xx", 2.0),
            ("server_errors", "rejected: auth", 1.0),
            ("server_first_bytes_within", "GetObject +Inf s", 99.0),
            ("server_first_bytes_within", "GetObject 0.05 s", 90.0),
            ("server_sent_bytes", "", 4096.0),
            ("store_drive_busy", "/d2", 0.25),
            ("store_drive_call_s", "/d2 ReadVersion", 0.0015),
            ("store_drive_read_s", "/d2", 0.0025),
        ],
    );
}

/// As `node_exporter` 0.15 prints them: processors with their whole name, times of disks in milliseconds.
#[test]
fn an_exporter_of_before_units_in_names_says_the_same() {
    let older = "node_cpu{cpu=\"cpu0\",mode=\"idle\"} 100\nnode_cpu{cpu=\"cpu0\",mode=\"user\"} 7\n\
                 node_cpu{cpu=\"cpu0\",mode=\"softirq\"} 2\nnode_cpu{cpu=\"cpu10\",mode=\"system\"} 4\n\
                 node_disk_io_time_ms{device=\"sda\"} 3000\nnode_disk_io_time_ms{device=\"sda1\"} 3000\n\
                 node_disk_io_time_weighted{device=\"sda\"} 9000\nnode_disk_bytes_read{device=\"sda\"} 4096\n\
                 node_network_transmit_errs{device=\"eth0\"} 2\nnode_network_receive_errs{device=\"eth0\"} 1\n\
                 node_memory_MemTotal 8e+09\nnode_boot_time 1.5e+09\nnode_vmstat_pgmajfault 7\n";
    let expected = [
        ("boot_time_s", "", 1.5e9),
        ("cpu_busy_s", "cpu0", 9.0),
        ("cpu_busy_s", "cpu10", 4.0),
        ("cpu_interrupts_s", "cpu0", 2.0),
        ("disk_busy_s", "sda", 3.0),
        ("disk_queue_s", "sda", 9.0),
        ("disk_read_bytes", "sda", 4096.0),
        ("major_faults", "", 7.0),
        ("memory_total_bytes", "", 8e9),
        ("network_errors", "eth0", 3.0),
    ];
    expect(older, &expected);
    // Rules may have made the older names of today's, or today's of the older ones.
    let both = format!("{older}node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} 7\n");
    expect(&both, &[("cpu_busy_s", "cpu0", 7.0), ("major_faults", "", 7.0)]);
}

/// As the page `/minio/v2/metrics/cluster` of two servers with drives at the same places.
#[test]
fn minio_tells_the_same_by_its_metrics_of_before() {
    let text = "minio_s3_requests_total{api=\"getobject\",server=\"h1:9000\"} 12\n\
                minio_s3_requests_total{api=\"getobject\",server=\"h2:9000\"} 8\n\
                minio_s3_requests_inflight_total{api=\"getobject\",server=\"h1:9000\"} 3\n\
                minio_s3_requests_inflight_total{api=\"putobject\",server=\"h1:9000\"} 1\n\
                minio_s3_requests_5xx_errors_total{api=\"putobject\",server=\"h1:9000\"} 2\n\
                minio_s3_requests_ttfb_seconds_distribution{api=\"getobject\",le=\"0.050\",server=\"h1:9000\"} 11\n\
                minio_s3_traffic_sent_bytes{server=\"h1:9000\"} 4096\nminio_cluster_drive_offline_total{server=\"h1:9000\"} 0\n\
                minio_cluster_capacity_raw_total_bytes{server=\"h1:9000\"} 9e12\n\
                minio_cluster_health_erasure_set_healing_drives{pool=\"0\",server=\"h1:9000\",set=\"0\"} 1\n\
                minio_cluster_health_erasure_set_online_drives{pool=\"0\",server=\"h1:9000\",set=\"0\"} 4\n\
                minio_cluster_health_erasure_set_online_drives{pool=\"0\",server=\"h1:9000\",set=\"1\"} 3\n\
                minio_node_drive_used_bytes{drive=\"/d1\",server=\"h1:9000\"} 20\n\
                minio_node_drive_used_bytes{drive=\"/d1\",server=\"h2:9000\"} 30\n\
                minio_node_disk_total_bytes{disk=\"/d1\",server=\"h1:9000\"} 90\n\
                minio_node_drive_latency_us{api=\"storage.ReadVersion\",drive=\"/d1\",server=\"h1:9000\"} 1500\n";
    let expected = [
        ("server_errors", "putobject 5xx", 2.0),
        ("server_first_bytes_within", "getobject 0.050 s", 11.0),
        ("server_queue", "in flight", 4.0),
        ("server_requests", "getobject", 20.0),
        ("server_sent_bytes", "", 4096.0),
        ("store_capacity_bytes", "", 9e12),
        ("store_capacity_bytes", "h1:9000 /d1", 90.0),
        ("store_drive_call_s", "h1:9000 /d1 ReadVersion", 0.0015),
        ("store_drives_healing", "0", 1.0),
        ("store_drives_offline", "", 0.0),
        ("store_drives_online", "", 7.0),
        ("store_used_bytes", "h1:9000 /d1", 20.0),
        ("store_used_bytes", "h2:9000 /d1", 30.0),
    ];
    expect(text, &expected);
    // A Prometheus server may scrape both pages.
    let today = "minio_api_requests_total{name=\"GetObject\",server=\"h1:9000\",type=\"s3\"} 20\n";
    expect(&format!("{text}{today}"), &[("server_requests", "GetObject", 20.0)]);
    let left_out = [
        ("minio_s3_requests_total", true),
        ("minio_cluster_capacity_raw_free_bytes", false),
        ("minio_node_drive_latency_us", false),
        ("minio_cluster_health_drives_offline_count", true),
    ];
    for (name, leaves) in left_out {
        assert_eq!((names().contains(name), leaves_zeros_out(name)), (true, leaves), "{name}");
    }
}

#[test]
fn gateways_of_ceph_are_read_by_the_names_of_each_release() {
    for name in ["ceph_rgw_get_initial_lat", "ceph_rgw_op_get_obj_lat", "ceph_rgw_op_global_get_obj_lat"] {
        let text =
            format!("{name}_sum{{instance_id=\"4711\"}} 2.5\n{name}_count{{instance_id=\"4711\"}} 50\n");
        expect(&text, &[("server_request_s", "4711 get", 2.5), ("server_requests", "4711 get", 50.0)]);
    }
}

#[test]
fn a_store_says_how_full_it_is_as_a_whole_and_device_by_device() {
    let text = "ceph_cluster_total_bytes 3000\nceph_cluster_total_used_bytes 900\nceph_cluster_total_used_raw_bytes 1000\n\
                ceph_osd_stat_bytes{ceph_daemon=\"osd.0\"} 1500\nceph_osd_stat_bytes_used{ceph_daemon=\"osd.0\"} 600\n\
                minio_cluster_health_capacity_raw_free_bytes 70\nminio_system_drive_used_bytes{drive=\"/d1\"} 20\n";
    let reading = reading(&parse(text).series, 9);
    let found: Vec<_> = reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
    assert_eq!(
        found,
        [
            ("store_capacity_bytes", "", 3000.0),
            ("store_capacity_bytes", "osd.0", 1500.0),
            ("store_free_bytes", "", 70.0),
            ("store_used_bytes", "", 1000.0),
            ("store_used_bytes", "/d1", 20.0),
            ("store_used_bytes", "osd.0", 600.0),
        ]
    );
}

#[test]
fn a_time_is_not_0_where_nothing_took_any() {
    let left_out = |name: &str| (KNOWN.iter().any(|known| known.name == name), leaves_zeros_out(name));
    assert_eq!(left_out("minio_api_requests_5xx_errors_total"), (true, true));
    assert_eq!(left_out("minio_system_drive_reads_await"), (true, false));
    assert_eq!(left_out("minio_system_drive_api_latency_micros"), (true, false));
    assert_eq!(left_out("container_oom_events_total"), (true, false));
}

#[test]
fn a_container_has_its_quota_and_sums_of_pods_and_machines_are_left_out() {
    let of = |container: &str, id: &str| {
        format!(
            "container=\"{container}\",id=\"/kubepods/{id}\",image=\"ceph\",name=\"x\",namespace=\"rook\",pod=\"osd-0\""
        )
    };
    let (osd, sum, pause) = (of("osd", "a/b"), of("", "a"), of("POD", "a/c"));
    expect(
        &format!(
            "container_cpu_usage_seconds_total{{{osd},cpu=\"total\"}} 12.5 1700000000123\n\
             container_cpu_usage_seconds_total{{{sum},cpu=\"total\"}} 13\n\
             container_cpu_usage_seconds_total{{{pause},cpu=\"total\"}} 0.5\n\
             container_cpu_usage_seconds_total{{container=\"\",id=\"/\",cpu=\"total\"}} 500\n\
             container_cpu_cfs_periods_total{{{osd}}} 100\ncontainer_cpu_cfs_throttled_periods_total{{{osd}}} 90\n\
             container_cpu_cfs_throttled_seconds_total{{{osd}}} 4\ncontainer_spec_cpu_quota{{{osd}}} 50000\n\
             container_spec_cpu_period{{{osd}}} 100000\ncontainer_spec_memory_limit_bytes{{{osd}}} 4096\n\
             container_spec_memory_limit_bytes{{{pause}}} 9.223372036854771712e+18\n\
             container_memory_working_set_bytes{{{osd}}} 2048\ncontainer_network_receive_bytes_total{{{pause},interface=\"eth0\"}} 7\n\
             container_fs_reads_bytes_total{{{osd},device=\"/dev/sdb\"}} 8\n\
             kube_pod_container_resource_limits{{namespace=\"rook\",pod=\"osd-0\",container=\"osd\",resource=\"cpu\",unit=\"core\"}} 0.5\n"
        ),
        &[
            ("container_memory_bytes", "rook/osd-0/osd", 2048.0),
            ("container_memory_limit_bytes", "rook/osd-0/osd", 4096.0),
            ("container_read_bytes", "rook/osd-0/osd sdb", 8.0),
            ("network_received_bytes", "rook/osd-0 eth0", 7.0),
            ("quota_periods", "rook/osd-0/osd", 100.0),
            ("quota_processors", "rook/osd-0/osd", 0.5),
            ("quota_stopped_periods", "rook/osd-0/osd", 90.0),
            ("quota_throttled_s", "rook/osd-0/osd", 4.0),
            ("quota_used_s", "rook/osd-0/osd", 12.5),
        ],
    );
    // As cAdvisor says it without Kubernetes; a container without a quota has a period all the same.
    expect(
        "container_cpu_usage_seconds_total{cpu=\"cpu00\",id=\"/docker/1f\",image=\"minio\",name=\"minio1\"} 1\n\
         container_cpu_usage_seconds_total{cpu=\"cpu01\",id=\"/docker/1f\",image=\"minio\",name=\"minio1\"} 2\n\
         container_cpu_usage_seconds_total{cpu=\"cpu00\",id=\"/\"} 9\n\
         container_cpu_usage_seconds_total{cpu=\"cpu00\",id=\"/system.slice/ceph.service\"} 4\n\
         container_cpu_usage_seconds_total{cpu=\"total\",id=\"/kubepods.slice/kubepods-burstable.slice\"} 70\n\
         container_spec_cpu_period{id=\"/docker/1f\",name=\"minio1\"} 100000\n\
         container_spec_cpu_quota{id=\"/docker/2f\",name=\"minio2\"} 100000\n\
         container_spec_cpu_quota{id=\"/docker/3f\",name=\"minio3\"} 100000\n\
         container_spec_cpu_period{id=\"/docker/3f\",name=\"minio3\"} 0\n",
        &[("quota_used_s", "minio1", 3.0), ("quota_used_s", "system.slice/ceph.service", 4.0)],
    );
}

#[test]
fn a_port_of_a_switch_has_its_name_its_speed_and_its_counters() {
    let port = "ifAlias=\"to storage1\",ifDescr=\"Ethernet1/7\",ifIndex=\"7\",ifName=\"Eth1/7\"";
    expect(
        &format!(
            "ifHCInOctets{{{port}}} 1000\nifHCOutOctets{{{port}}} 2000\nifHighSpeed{{{port}}} 10000\n\
             ifSpeed{{{port}}} 4.294967295e+09\nifInDiscards{{{port}}} 3\nifOutErrors{{{port}}} 4\nifInErrors{{{port}}} 1\n\
             ifSpeed{{ifDescr=\"vlan9\",ifIndex=\"9\",ifName=\"\"}} 8000\nifHighSpeed{{ifDescr=\"vlan9\",ifIndex=\"9\",ifName=\"\"}} 0\n\
             ifHCOutUcastPkts{{ifIndex=\"12\"}} 5\nifHCOutBroadcastPkts{{ifIndex=\"12\"}} 6\nsysUpTime 77\n"
        ),
        &[
            ("network_errors", "Eth1/7", 5.0),
            ("network_receive_drops", "Eth1/7", 3.0),
            ("network_received_bytes", "Eth1/7", 1000.0),
            ("network_sent_bytes", "Eth1/7", 2000.0),
            ("network_sent_packets", "12", 11.0),
            ("network_speed_bytes_per_s", "Eth1/7", 1.25e9),
            ("network_speed_bytes_per_s", "vlan9", 1000.0),
        ],
    );
}

#[test]
fn what_is_hostile_adds_nothing_to_what_is_there() {
    let long = "x".repeat(1 << 20);
    let mut text = format!(
        "ifHCInOctets{{ifName=\"e\",ifIndex=\"1\"}} 5\nifHCInOctets{{ifIndex=\"1\",ifName=\"e\"}} 5\n\
         ifHCInOctets{{ifName=\"n\"}} NaN\nifHCInOctets{{ifName=\"i\"}} +Inf\nifHCInOctets{{ifName=\"m\"}} -7\n\
         ifInErrors{{ifName=\"e\"}} 3\nifOutErrors{{ifName=\"e\"}} -3\nifHCInOctets{{ifName=\"{long}\"}} 5\n\
         ifHCInOctets{{ifName=\"a\\nb\"}} 5\nifHCInOctets{{ifName=\"\u{1b}[31m\"}} 5\nifHCInOctets 5\n"
    );
    expect(&text, &[("network_errors", "e", 3.0), ("network_received_bytes", "e", 5.0)]);
    (0..100_000).for_each(|at| text.push_str(&format!("made_up_{at}{{a=\"{at}\"}} 1\n")));
    (0..30_000).for_each(|at| text.push_str(&format!("ifHCOutOctets{{ifName=\"p{at}\"}} 1\n")));
    let many = found(&text);
    assert!(many.len() <= 20_000 && many.len() > 1_000, "{}", many.len());
}

#[test]
fn all_names_are_ones_that_a_question_may_hold_as_they_stand() {
    assert!(names().iter().all(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')));
}
