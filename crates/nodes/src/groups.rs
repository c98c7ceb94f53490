//! Control groups that may use only so much processor time, or do only so much input and output: which there are, and their
//! files read into samples. Both hierarchies. Sources: Linux kernel, Documentation/admin-guide/cgroup-v2.rst, and
//! admin-guide/cgroup-v1/{cpuacct,blkio-controller}.rst, scheduler/sched-bwc.rst.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::quantity as q;
use crate::reading::Reading;

/// Where control groups are.
pub const ROOT: &str = "/sys/fs/cgroup";
/// Hierarchies of the first version that have something to read, and where the second one is beside them.
const CONTROLLERS: &[&str] = &["cpu", "cpuacct", "cpu,cpuacct", "cpuacct,cpu", "blkio", "unified"];
/// Groups deeper than this, and more of them, are left out.
const DEEPEST: usize = 6;
const MOST_LOOKED_AT: usize = 2000;
const MOST_LIMITED: usize = 64;
/// Devices on which a group is limited, and lines of what it did, five for each of them; no machine has more.
const MOST_DEVICES: usize = 1_024;
const MOST_COUNTED: usize = 8 * MOST_DEVICES;

/// Limits of the first version on what a group does with a device, with the file that counts it and the word in that.
const DEVICE_LIMITS: &[(&str, &str, &str, &str)] = &[
    ("blkio.throttle.read_bps_device", "blkio.throttle.io_service_bytes", "Read", "read bytes"),
    ("blkio.throttle.write_bps_device", "blkio.throttle.io_service_bytes", "Write", "written bytes"),
    ("blkio.throttle.read_iops_device", "blkio.throttle.io_serviced", "Read", "reads"),
    ("blkio.throttle.write_iops_device", "blkio.throttle.io_serviced", "Write", "writes"),
];
/// The same of the second version, as `io.max` and `io.stat` call it.
const IO_MAX: &[(&str, &str, &str)] = &[
    ("rbps", "rbytes", "read bytes"),
    ("wbps", "wbytes", "written bytes"),
    ("riops", "rios", "reads"),
    ("wiops", "wios", "writes"),
];

/// The files of all groups below `root` that are limited, but for those that this process itself is in: what limits the
/// client is no limit of the store. What the root group may do with a device is a limit of whoever is in no other group.
#[must_use]
pub fn limited(root: &Path) -> Vec<String> {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let own: Vec<&str> = own.lines().filter_map(|line| line.rsplit_once(':').map(|parts| parts.1)).collect();
    let mut found = Vec::new();
    let mut looked_at = 0;
    let mut open = vec![(ROOT.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        looked_at += 1;
        if looked_at > MOST_LOOKED_AT || found.len() >= 8 * MOST_LIMITED {
            break;
        }
        let group = format!("/{}", name_of(&directory));
        let is_own = own
            .iter()
            .any(|own| *own == group || own.starts_with(&format!("{}/", group.trim_end_matches('/'))));
        if !is_own || group == "/" {
            files_of(root, &directory, !is_own, &mut found);
        }
        if depth < DEEPEST {
            let entries = fs::read_dir(root.join(&directory[1..])).into_iter().flatten().flatten();
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let below = below.filter_map(|entry| entry.file_name().into_string().ok());
            open.extend(below.map(|name| (format!("{directory}/{name}"), depth + 1)));
        }
    }
    found
}

/// The files that matter of one group, those of its processor time only if asked for: none where it is not limited.
fn files_of(root: &Path, directory: &str, with_quota: bool, found: &mut Vec<String>) {
    let text = |name: &str| fs::read_to_string(root.join(&directory[1..]).join(name)).unwrap_or_default();
    let mut add = |names: &[&str]| found.extend(names.iter().map(|name| format!("{directory}/{name}")));
    let quota = text("cpu.max");
    if with_quota && !quota.is_empty() && !quota.starts_with("max") {
        add(&["cpu.max", "cpu.stat"]);
    }
    if with_quota && text("cpu.cfs_quota_us").trim().parse::<u64>().is_ok_and(|quota| quota > 0) {
        add(&["cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.stat"]);
        let name = name_of(directory);
        found.push(format!("{ROOT}/cpuacct/{name}/cpuacct.usage"));
        found.push(format!("{directory}/cpuacct.usage"));
    } else if !text("io.max").trim().is_empty() {
        add(&["io.max", "io.stat", "io.pressure"]);
    } else {
        for (limit, counter, ..) in DEVICE_LIMITS {
            if !text(limit).trim().is_empty() {
                add(&[limit, counter]);
            }
        }
    }
}

/// `a/b` of `/sys/fs/cgroup/a/b` and of `/sys/fs/cgroup/cpu/a/b`.
fn name_of(directory: &str) -> &str {
    let path = directory.strip_prefix(ROOT).unwrap_or(directory).trim_start_matches('/');
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    if CONTROLLERS.contains(&first) { rest } else { path }
}

/// Shell that adds the same files to `$t`. One walk by `find`: a pattern of the shell for each depth opens every file on
/// the way as if it was a directory, which of hundreds of groups costs most of a second of processor time.
#[must_use]
pub fn script() -> String {
    script_below(ROOT)
}

fn script_below(root: &str) -> String {
    let limits: String = DEVICE_LIMITS.iter().map(|(limit, ..)| format!(" -o -name {limit}")).collect();
    let devices: String = DEVICE_LIMITS
        .iter()
        .map(|(limit, counter, ..)| format!(" {limit}) t=\"$t $m $g/{counter}\";;"))
        .collect();
    // A group of the deepest level, and its file; two files of each group matter.
    let (depth, most) = (DEEPEST + 1, 2 * MOST_LOOKED_AT);
    format!(
        "for m in $(find {root} -maxdepth {depth} \\( -name cpu.max -o -name cpu.cfs_quota_us -o -name io.max{limits} \\) | \
         head -n {most}); do v=; read -r v <$m || continue; g=${{m%/*}}; case ${{m##*/}} in cpu.max) case $v in max*) ;; *) \
         t=\"$t $m $g/cpu.stat\";; esac;; cpu.cfs_quota_us) case $v in 0|-*) ;; *) t=\"$t $m $g/cpu.cfs_period_us \
         $g/cpu.stat $g/cpuacct.usage {root}/cpuacct/${{g#{root}/*/}}/cpuacct.usage\";; esac;; io.max) t=\"$t $m \
         $g/io.stat $g/io.pressure\";;{devices} esac; done; "
    )
}

/// Reads one file of a group into samples; what is no such file gives none.
pub(crate) fn read(files: &BTreeMap<String, String>, path: &str, text: &str, reading: &mut Reading) {
    let Some((directory, file)) = path.rsplit_once('/') else { return };
    let group = Some(name_of(directory)).filter(|name| !name.is_empty()).unwrap_or("/");
    match file {
        "cpu.stat" => processor_time(text, group, reading),
        "cpuacct.usage" => reading.add(&q::QUOTA_USED, group, number(first_line(text)) / 1e9),
        "cpu.max" => {
            if let Some((quota, period)) = first_line(text).split_once(' ') {
                reading.add(&q::QUOTA_PROCESSORS, group, number(quota) / number(period));
            }
        }
        "cpu.cfs_quota_us" => {
            let period = files.get(&format!("{directory}/cpu.cfs_period_us"));
            let period = period.map_or(f64::NAN, |text| number(first_line(text)));
            reading.add(&q::QUOTA_PROCESSORS, group, number(first_line(text)) / period);
        }
        "io.max" => {
            let stat = files.get(&format!("{directory}/io.stat")).map_or("", String::as_str);
            device_limits(text, stat, group, reading);
        }
        "io.pressure" => {
            let some = text.lines().find(|line| line.starts_with("some"));
            let total = some
                .and_then(|line| line.split_once("total="))
                .map_or(f64::NAN, |pair| number(pair.1.trim()));
            reading.add(&q::GROUP_IO_PRESSURE, group, total / 1e6);
        }
        _ => {
            let Some((_, counter, word, what)) = DEVICE_LIMITS.iter().find(|row| row.0 == file) else {
                return;
            };
            let counted = files.get(&format!("{directory}/{counter}")).map_or("", String::as_str);
            for line in text.lines().take(MOST_DEVICES) {
                let Some((device, limit)) = line.split_once(' ') else { continue };
                let start = format!("{device} {word} ");
                let done = counted.lines().take(MOST_COUNTED).find_map(|line| line.strip_prefix(&start));
                limit_of(group, device, what, limit, done, reading);
            }
        }
    }
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120` beside `8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 ..`.
fn device_limits(limits: &str, counts: &str, group: &str, reading: &mut Reading) {
    let field = |line: &str, name: &str| {
        line.split_ascii_whitespace()
            .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
            .map(str::to_owned)
    };
    for line in limits.lines().take(MOST_DEVICES) {
        let Some((device, _)) = line.split_once(' ') else { continue };
        let counted = counts
            .lines()
            .take(MOST_COUNTED)
            .find(|line| line.split_ascii_whitespace().next() == Some(device));
        for (limit, counter, what) in IO_MAX {
            let Some(limit) = field(line, limit) else { continue };
            let done = counted.and_then(|line| field(line, counter));
            limit_of(group, device, what, &limit, done.as_deref(), reading);
        }
    }
}

fn limit_of(group: &str, device: &str, what: &str, limit: &str, done: Option<&str>, reading: &mut Reading) {
    let limit = number(limit.trim());
    if limit > 0.0 {
        let unit = format!("{group} {device} {what}");
        reading.add(&q::IO_LIMIT, &unit, limit);
        reading.add(&q::IO_LIMIT_USED, &unit, done.map_or(0.0, |done| number(done.trim())));
    }
}

fn processor_time(text: &str, group: &str, reading: &mut Reading) {
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(' ').filter(|pair| seen.insert(pair.0)) else { continue };
        let value = number(value.trim());
        match name {
            "usage_usec" => reading.add(&q::QUOTA_USED, group, value / 1e6),
            "throttled_usec" => reading.add(&q::QUOTA_THROTTLED, group, value / 1e6),
            "throttled_time" => reading.add(&q::QUOTA_THROTTLED, group, value / 1e9),
            "nr_periods" => reading.add(&q::QUOTA_PERIODS, group, value),
            "nr_throttled" => reading.add(&q::QUOTA_STOPPED_PERIODS, group, value),
            _ => {}
        }
    }
}

/// What a file of one line says, however often it was printed.
fn first_line(text: &str) -> &str {
    text.trim_start().lines().next().unwrap_or_default().trim_end()
}

fn number(text: &str) -> f64 {
    text.parse().ok().filter(|value| *value >= 0.0).unwrap_or(f64::NAN)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn samples(files: &[(&str, &str)]) -> Vec<(&'static str, String, f64)> {
        let files: BTreeMap<String, String> =
            files.iter().map(|(path, text)| (format!("{ROOT}/{path}"), (*text).to_owned())).collect();
        let mut reading = Reading::default();
        files.iter().for_each(|(path, text)| read(&files, path, text, &mut reading));
        reading.samples.into_iter().map(|sample| (sample.quantity.id, sample.unit, sample.value)).collect()
    }

    #[test]
    fn both_hierarchies_say_the_same_of_a_quota() {
        let second = samples(&[
            ("a/b/cpu.max", "50000 100000\n"),
            ("a/b/cpu.stat", "usage_usec 1500000\nnr_periods 10\nnr_throttled 9\nthrottled_usec 250000\n"),
        ]);
        let first = samples(&[
            ("cpu/a/b/cpu.cfs_quota_us", "50000\n"),
            ("cpu/a/b/cpu.cfs_period_us", "100000\n"),
            ("cpu/a/b/cpu.stat", "nr_periods 10\nnr_throttled 9\nthrottled_time 250000000\n"),
            ("cpuacct/a/b/cpuacct.usage", "1500000000\n"),
        ]);
        let sorted = |mut samples: Vec<(&'static str, String, f64)>| {
            samples.sort_by(|a, b| a.0.cmp(b.0));
            samples
        };
        assert_eq!(sorted(first), sorted(second.clone()));
        assert_eq!(second.len(), 5);
        assert_eq!(second[0], ("quota_processors", "a/b".to_owned(), 0.5));
        assert_eq!(samples(&[("a/cpu.max", "max 100000\n")]), []);
    }

    #[test]
    fn limits_of_devices_stand_beside_what_was_done() {
        let found = samples(&[
            ("g/io.max", "8:16 rbps=2097152 wbps=max riops=max wiops=120\n"),
            (
                "g/io.stat",
                "8:0 rbytes=1 wbytes=1 rios=1 wios=1\n8:16 rbytes=4096 wbytes=9 rios=192 wios=353\n",
            ),
            ("g/io.pressure", "some avg10=0.00 total=2000000\nfull avg10=0.00 total=1\n"),
            ("blkio/h/blkio.throttle.read_iops_device", "8:16 100\n"),
            ("blkio/h/blkio.throttle.io_serviced", "8:16 Read 30\n8:16 Write 5\n8:16 Total 35\nTotal 35\n"),
        ]);
        let unit = |name: &str| name.to_owned();
        assert_eq!(
            found,
            [
                ("io_limit_per_s", unit("h 8:16 reads"), 100.0),
                ("io_limit_used", unit("h 8:16 reads"), 30.0),
                ("io_limit_per_s", unit("g 8:16 read bytes"), 2_097_152.0),
                ("io_limit_used", unit("g 8:16 read bytes"), 4096.0),
                ("io_limit_per_s", unit("g 8:16 writes"), 120.0),
                ("io_limit_used", unit("g 8:16 writes"), 353.0),
                ("group_io_pressure_s", unit("g"), 2.0),
            ]
        );
    }

    #[test]
    fn limited_groups_are_found_and_the_own_one_is_none_of_the_stores() {
        let root = std::env::temp_dir().join(format!("cosmark-groups-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/self/cgroup", "2:cpu:/client/run\n0::/\n");
        put("sys/fs/cgroup/cpu/client/cpu.cfs_quota_us", "30000\n");
        put("sys/fs/cgroup/cpu/store/osd/cpu.cfs_quota_us", "30000\n");
        put("sys/fs/cgroup/cpu/store/cpu.cfs_quota_us", "-1\n");
        put("sys/fs/cgroup/pod/cpu.max", "20000 100000\n");
        put("sys/fs/cgroup/free/cpu.max", "max 100000\n");
        let mut found = limited(&root);
        found.sort();
        let expected = [
            "/sys/fs/cgroup/cpu/store/osd/cpu.cfs_period_us",
            "/sys/fs/cgroup/cpu/store/osd/cpu.cfs_quota_us",
            "/sys/fs/cgroup/cpu/store/osd/cpu.stat",
            "/sys/fs/cgroup/cpu/store/osd/cpuacct.usage",
            "/sys/fs/cgroup/cpuacct/store/osd/cpuacct.usage",
            "/sys/fs/cgroup/pod/cpu.max",
            "/sys/fs/cgroup/pod/cpu.stat",
        ];
        assert_eq!(found, expected);
        fs::remove_dir_all(&root).unwrap();
    }

    /// Who is in no group of its own is in the root group, as daemons that were started by hand are.
    #[test]
    fn what_the_root_group_may_do_with_a_device_is_a_limit_of_the_store_and_its_quota_is_none() {
        let root = std::env::temp_dir().join(format!("cosmark-root-group-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("proc/self/cgroup", "5:blkio:/client\n2:cpu:/client\n0::/\n");
        put("sys/fs/cgroup/blkio/blkio.throttle.write_iops_device", "7:3 600\n");
        put("sys/fs/cgroup/blkio/blkio.throttle.read_iops_device", "");
        put("sys/fs/cgroup/blkio/client/blkio.throttle.write_iops_device", "8:0 100\n");
        put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "30000\n");
        let mut found = limited(&root);
        found.sort();
        let files = ["blkio.throttle.io_serviced", "blkio.throttle.write_iops_device"];
        assert_eq!(found, files.map(|file| format!("/sys/fs/cgroup/blkio/{file}")));
        fs::remove_dir_all(&root).unwrap();
        let of_root = samples(&[
            ("blkio/blkio.throttle.write_iops_device", "7:3 600\n"),
            ("blkio/blkio.throttle.io_serviced", "7:3 Read 30\n7:3 Write 5\n"),
        ]);
        let unit = "/ 7:3 writes".to_owned();
        assert_eq!(of_root, [("io_limit_per_s", unit.clone(), 600.0), ("io_limit_used", unit, 5.0)]);
    }

    /// The shell of another machine, where one hierarchy of the first version has two names.
    #[test]
    fn the_shell_finds_the_files_of_limited_groups_each_once() {
        let root = std::env::temp_dir().join(format!("cosmark-shell-groups-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("cpu,cpuacct/store/osd/cpu.cfs_quota_us", "30000\n");
        put("cpu,cpuacct/store/cpu.cfs_quota_us", "-1\n");
        std::os::unix::fs::symlink("cpu,cpuacct", root.join("cpu")).unwrap();
        put("pods/one/cpu.max", "20000 100000\n");
        put("pods/two/cpu.max", "max 100000\n");
        put("pods/two/io.max", "8:16 rbps=max\n");
        put("pods/one/io.max", "");
        put("blkio/db/blkio.throttle.write_iops_device", "8:16 100\n");
        put("a/b/c/d/e/f/cpu.max", "5 10\n");
        put("a/b/c/d/e/f/g/cpu.max", "5 10\n");
        let shown = root.display().to_string();
        let script = format!("t=; {}printf '%s\\n' $t", script_below(&shown));
        let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let mut found: Vec<&str> =
            said.lines().filter_map(|line| line.strip_prefix(&shown)?.strip_prefix('/')).collect();
        found.sort_unstable();
        let expected = [
            "a/b/c/d/e/f/cpu.max",
            "a/b/c/d/e/f/cpu.stat",
            "blkio/db/blkio.throttle.io_serviced",
            "blkio/db/blkio.throttle.write_iops_device",
            "cpu,cpuacct/store/osd/cpu.cfs_period_us",
            "cpu,cpuacct/store/osd/cpu.cfs_quota_us",
            "cpu,cpuacct/store/osd/cpu.stat",
            "cpu,cpuacct/store/osd/cpuacct.usage",
            "cpuacct/store/osd/cpuacct.usage",
            "pods/one/cpu.max",
            "pods/one/cpu.stat",
            "pods/two/io.max",
            "pods/two/io.pressure",
            "pods/two/io.stat",
        ];
        assert_eq!(found, expected, "{said}");
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn garbage_is_no_sample_and_no_panic() {
        for file in ["cpu.stat", "cpu.max", "io.max", "io.pressure", "blkio.throttle.read_bps_device", "x"] {
            for text in
                ["", "\0", "max", "a b", "8:0", "8:0 rbps=", "8:0 x", "some total=", "-1 -1", "nr_periods"]
            {
                assert_eq!(samples(&[(&format!("g/{file}"), text)]), [], "{file}: {text:?}");
            }
        }
    }
}
