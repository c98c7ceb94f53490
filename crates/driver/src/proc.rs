//! What Linux tells about this machine and process: `proc(5)`, `getrlimit(2)`, `clock_gettime(2)`. Texts are parsed by pure
//! functions; a file that is not there, or says something unexpected, is `None`.

use std::ffi::CStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use cosmark_metrics::{NicHealth, has_a_speed};

/// Sums since boot of all processors, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Processors {
    /// How many there are.
    pub cpus: u32,
    /// Time that they worked.
    pub busy_ns: u64,
    /// Time that the host took; `None` where the system does not tell.
    pub steal_ns: Option<u64>,
}

/// Sums since its start of one thread, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadTimes {
    /// Time on a processor.
    pub cpu_ns: u64,
    /// Time that it was ready and waited for one.
    pub run_queue_wait_ns: Option<u64>,
}

/// TCP sockets of this machine now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sockets {
    /// Connections and listeners.
    pub in_use: Option<u64>,
    /// Closed ones whose ports are not free yet.
    pub time_wait: Option<u64>,
}

/// How often a control group that this process is in was stopped, since it was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Quota {
    /// Its directory.
    pub group: String,
    /// Periods in which it had something to run; 0 without a quota.
    pub periods: u64,
    /// Periods among them in which its quota was used up.
    pub stopped: u64,
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Nanoseconds of one tick of the kernel's accounting.
fn tick_ns() -> u64 {
    // SAFETY: takes a number, gives a number.
    let per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    1_000_000_000 / u64::try_from(per_s).unwrap_or(100).max(1)
}

/// Bytes of memory that can be had without swapping.
#[must_use]
pub fn available_memory_bytes() -> Option<u64> {
    parse_available_memory(&read("/proc/meminfo")?)
}

/// `MemAvailable:   12345 kB`.
fn parse_available_memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Sums since boot of all processors.
#[must_use]
pub fn processors() -> Option<Processors> {
    parse_processors(&read("/proc/stat")?, tick_ns())
}

/// `cpu  user nice system idle iowait irq softirq steal ..`; user holds guest time already.
fn parse_processors(text: &str, tick_ns: u64) -> Option<Processors> {
    let all = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = all.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, ..] = ticks.as_slice() else { return None };
    let is_one = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let cpus = u32::try_from(text.lines().filter(is_one).count()).ok()?;
    let busy = user + nice + system + irq + softirq;
    Some(Processors {
        cpus,
        busy_ns: busy.saturating_mul(tick_ns),
        steal_ns: ticks.get(7).map(|steal| steal.saturating_mul(tick_ns)),
    })
}

/// Of a thread of this process; `None` when it is gone.
#[must_use]
pub fn thread_times(id: i32) -> Option<ThreadTimes> {
    let schedstat = read(&format!("/proc/self/task/{id}/schedstat"));
    schedstat
        .and_then(|text| parse_schedstat(&text))
        .or_else(|| parse_stat(&read(&format!("/proc/self/task/{id}/stat"))?, tick_ns()))
}

/// `cpu_ns run_queue_wait_ns slices`; all 0 where the kernel keeps no such statistics.
fn parse_schedstat(text: &str) -> Option<ThreadTimes> {
    let mut fields = text.split_whitespace().map(|field| field.parse::<u64>().ok());
    let (cpu_ns, wait_ns) = (fields.next()??, fields.next()??);
    (cpu_ns > 0).then_some(ThreadTimes { cpu_ns, run_queue_wait_ns: Some(wait_ns) })
}

/// Fields 14 and 15 of `stat` are user and system ticks; the name before them may hold anything.
fn parse_stat(text: &str, tick_ns: u64) -> Option<ThreadTimes> {
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    let ticks = fields.next()?? + fields.next()??;
    Some(ThreadTimes { cpu_ns: ticks.saturating_mul(tick_ns), run_queue_wait_ns: None })
}

/// Bytes of every interface since boot.
#[must_use]
pub fn interfaces() -> Vec<NicHealth> {
    let mut nics = read("/proc/net/dev").map(|text| parse_interfaces(&text)).unwrap_or_default();
    for nic in &mut nics {
        let place = format!("/sys/class/net/{}", nic.name);
        let uevent = read(&format!("{place}/uevent")).unwrap_or_default();
        if has_a_speed(Path::new(&format!("{place}/device")).exists(), &uevent) {
            nic.speed_bits_per_s = read(&format!("{place}/speed")).and_then(|text| parse_speed(&text));
        }
    }
    nics
}

fn parse_interfaces(text: &str) -> Vec<NicHealth> {
    let nic = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let fields: Vec<u64> = numbers.split_whitespace().map_while(|field| field.parse().ok()).collect();
        let name = name.trim().to_owned();
        Some(NicHealth {
            name,
            rx_bytes: *fields.first()?,
            tx_bytes: *fields.get(8)?,
            speed_bits_per_s: None,
        })
    };
    text.lines().filter_map(nic).collect()
}

/// Megabits per second; -1 where the driver does not know.
fn parse_speed(text: &str) -> Option<u64> {
    text.trim().parse::<u64>().ok().filter(|megabits| *megabits > 0).map(|megabits| megabits * 1_000_000)
}

/// The control groups that this process is in and that may have a quota of processor time, its own and those above it.
/// Sources: Linux kernel, admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst.
#[must_use]
pub fn quotas() -> Vec<Quota> {
    let of = read("/proc/self/cgroup").map(|text| groups_of(&text)).unwrap_or_default();
    let quota = |group: String| {
        let (periods, stopped) = parse_quota(&read(&format!("{group}/cpu.stat"))?)?;
        Some(Quota { group, periods, stopped })
    };
    of.into_iter().filter_map(quota).collect()
}

/// Directories of both hierarchies. Inside a container the path may be one that only its host can see: then what is mounted
/// is the group itself, so the places where hierarchies are mounted are always among them.
fn groups_of(text: &str) -> Vec<String> {
    const DEEPEST: usize = 16;
    let mut found = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let roots: &[&str] = match controllers {
            "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
            of if of.split(',').any(|one| one == "cpu") => {
                &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
            }
            _ => continue,
        };
        for root in roots {
            let above = std::iter::successors(Some(path.trim_matches('/')), |path| {
                (!path.is_empty()).then(|| path.rsplit_once('/').map_or("", |parts| parts.0))
            });
            let directory = |path: &str| format!("{root}/{path}").trim_end_matches('/').to_owned();
            found.extend(above.take(DEEPEST).map(directory));
        }
    }
    found
}

/// `nr_periods` and `nr_throttled` of a `cpu.stat`.
fn parse_quota(text: &str) -> Option<(u64, u64)> {
    let count = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse().ok()
    };
    Some((count("nr_periods")?, count("nr_throttled")?))
}

/// TCP sockets of this machine.
#[must_use]
pub fn sockets() -> Sockets {
    let mut sockets = Sockets::default();
    for path in ["/proc/net/sockstat", "/proc/net/sockstat6"] {
        if let Some(text) = read(path) {
            let Sockets { in_use, time_wait } = parse_sockets(&text);
            sockets.in_use = match (sockets.in_use, in_use) {
                (Some(four), Some(six)) => Some(four + six),
                (four, six) => four.or(six),
            };
            sockets.time_wait = sockets.time_wait.or(time_wait);
        }
    }
    sockets
}

/// `TCP: inuse 5 orphan 0 tw 3 alloc 6 mem 1`, or `TCP6: inuse 2`.
fn parse_sockets(text: &str) -> Sockets {
    let line =
        text.lines().find_map(|line| line.strip_prefix("TCP: ").or_else(|| line.strip_prefix("TCP6: ")));
    let value = |wanted: &str| {
        let mut words = line?.split_whitespace();
        words.find(|word| *word == wanted)?;
        words.next()?.parse().ok()
    };
    Sockets { in_use: value("inuse"), time_wait: value("tw") }
}

/// Memory of the machine, bytes.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    let text = read("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// When the machine was booted, seconds since 1970.
#[must_use]
pub fn boot_time_s() -> Option<f64> {
    parse_boot_time(&read("/proc/stat")?)
}

/// `btime 1700000000`.
fn parse_boot_time(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// Addresses of the network interfaces that are up, without link-local ones; getifaddrs(3).
#[must_use]
pub fn addresses() -> Vec<(String, IpAddr)> {
    let mut list = std::ptr::null_mut();
    // SAFETY: `list` is valid for the call; what it gives is freed below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: each entry is valid until the list is freed; the end is null.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        if let Some(address) = address_of(entry.ifa_addr) {
            // SAFETY: the name of an entry is a C string.
            let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
            found.push((name, address));
        }
    }
    // SAFETY: `list` came from getifaddrs and is not used any more.
    unsafe { libc::freeifaddrs(list) };
    found
}

fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: null or a socket address; which one says its family.
    let family = i32::from(unsafe { address.as_ref() }?.sa_family);
    match family {
        libc::AF_INET => {
            // SAFETY: the family says that it is this.
            let address = unsafe { std::ptr::read_unaligned(address.cast::<libc::sockaddr_in>()) };
            Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr))))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that it is this.
            let address = unsafe { std::ptr::read_unaligned(address.cast::<libc::sockaddr_in6>()) };
            let address = Ipv6Addr::from(address.sin6_addr.s6_addr);
            (!address.is_unicast_link_local()).then_some(IpAddr::V6(address))
        }
        _ => None,
    }
}

/// Local ports that the system gives to connections.
#[must_use]
pub fn ephemeral_ports() -> Option<u64> {
    parse_ports(&read("/proc/sys/net/ipv4/ip_local_port_range")?)
}

fn parse_ports(text: &str) -> Option<u64> {
    let mut ends = text.split_whitespace().map(|field| field.parse::<u64>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    last.checked_sub(first).map(|span| span + 1)
}

/// The processors that this process may run on, a bit for each, where these are not all of the machine.
#[must_use]
pub fn bound_to() -> Option<[u64; 4]> {
    parse_bound(&read("/proc/self/status")?, &read("/sys/devices/system/cpu/online")?)
}

fn parse_bound(status: &str, online: &str) -> Option<[u64; 4]> {
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let (allowed, online) = (parse_list(allowed)?, parse_list(online)?);
    let mut own = allowed;
    own.iter_mut().zip(online).for_each(|(own, online)| *own &= online);
    (own != online && own != [0; 4]).then_some(own)
}

/// `0-3,8`; `None` where there are more than the bits can say.
fn parse_list(list: &str) -> Option<[u64; 4]> {
    let mut found = [0_u64; 4];
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        for number in first.parse::<usize>().ok()?..=last.parse::<usize>().ok()? {
            *found.get_mut(number / 64)? |= 1 << (number % 64);
        }
    }
    Some(found)
}

/// Files and sockets that this process may have open.
#[must_use]
pub fn nofile_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes to a structure of ours.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    (result == 0).then_some(limit.rlim_cur)
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to a structure of ours.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let (seconds, ns) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    (result == 0).then_some(seconds.saturating_mul(1_000_000_000).saturating_add(ns))
}

/// Processor time of this process, ns.
#[must_use]
pub fn process_cpu_ns() -> Option<u64> {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Time since boot that the machine was suspended, ns: what one clock counts and the other does not.
#[must_use]
pub fn suspended_ns() -> Option<u64> {
    let monotonic_ns = clock_ns(libc::CLOCK_MONOTONIC)?;
    Some(clock_ns(libc::CLOCK_BOOTTIME)?.saturating_sub(monotonic_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_bound_where_it_may_not_run_on_all_processors() {
        let of = |allowed: &str, online: &str| {
            parse_bound(
                &format!("Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t{allowed}\nMems:\t0\n"),
                online,
            )
        };
        assert_eq!(of("1", "0-1\n"), Some([0b10, 0, 0, 0]));
        assert_eq!(of("0-2,65", "0-127\n"), Some([0b111, 0b10, 0, 0]));
        // All that there are, though others might be switched on.
        for (allowed, online) in
            [("0-1", "0-1\n"), ("0-7", "0-3\n"), ("0-300", "0-300"), ("x", "0-1"), ("", "0")]
        {
            assert_eq!(of(allowed, online), None, "{allowed} of {online}");
        }
    }

    #[test]
    fn the_groups_of_a_process_are_its_own_and_all_above_it_in_both_hierarchies() {
        let first = "9:memory:/a/b\n3:cpu,cpuacct:/a/b\n0::/c\n";
        let of = |root: &str, paths: &[&str]| {
            paths.iter().map(|path| format!("/sys/fs/cgroup{root}{path}")).collect::<Vec<_>>()
        };
        let wanted = [
            of("/cpu", &["/a/b", "/a", ""]),
            of("/cpu,cpuacct", &["/a/b", "/a", ""]),
            of("", &["/c", ""]),
            of("/unified", &["/c", ""]),
        ];
        assert_eq!(groups_of(first), wanted.concat());
        assert_eq!(groups_of("0::/\n"), [of("", &[""]), of("/unified", &[""])].concat());
        assert_eq!(groups_of("garbage\n1:cpu\n"), [""; 0]);
        let text = "usage_usec 9\nnr_periods 10\nnr_throttled 9\nthrottled_usec 5\n";
        assert_eq!(parse_quota(text), Some((10, 9)));
        assert_eq!(parse_quota("usage_usec 9\nuser_usec 5\n"), None, "the root group has no quota");
    }

    #[test]
    fn what_linux_writes_is_understood() {
        let memory = "MemTotal:       24 kB\nMemAvailable:   22 kB\n";
        assert_eq!(parse_available_memory(memory), Some(22 * 1024));
        assert_eq!(parse_available_memory("MemAvailable: much\n"), None);
        let stat = "cpu  100 1 50 900 7 2 3 40 9 0\ncpu0 50 0 25 450 3 1 1 20 0 0\ncpu1 50 1 25 450 4 1 2 20 0 0\nintr 5 6\n";
        let processors = Processors { cpus: 2, busy_ns: 1_560_000_000, steal_ns: Some(400_000_000) };
        assert_eq!(parse_processors(stat, 10_000_000), Some(processors));
        assert_eq!(parse_boot_time("cpu 1\nbtime 1700000000\nprocesses 7\n"), Some(1.7e9));
        assert_eq!(parse_boot_time(stat), None);
        let times = ThreadTimes { cpu_ns: 5, run_queue_wait_ns: Some(6) };
        assert_eq!(parse_schedstat("5 6 7\n"), Some(times));
        let stat = "12 (a) b ) S 1 2 3 4 5 6 7 8 9 10 30 4 0 0 20";
        let times = ThreadTimes { cpu_ns: 340, run_queue_wait_ns: None };
        assert_eq!(parse_stat(stat, 10), Some(times));
        let dev = "Inter-|   Receive\n face |bytes packets\n    lo: 10 1 0 0 0 0 0 0 20 1 0\n  eth0:30 1 0 0 0 0 0 0 40 1 0\n";
        let nics: Vec<_> =
            parse_interfaces(dev).into_iter().map(|nic| (nic.name, nic.rx_bytes, nic.tx_bytes)).collect();
        assert_eq!(nics, [("lo".to_owned(), 10, 20), ("eth0".to_owned(), 30, 40)]);
        assert_eq!((parse_speed("1000\n"), parse_speed("-1\n")), (Some(1_000_000_000), None));
        for (has_device, uevent, tells) in [
            (true, "INTERFACE=eth0\nIFINDEX=2\n", true),
            (false, "DEVTYPE=bond\nINTERFACE=bond0\n", true),
            (false, "DEVTYPE=vlan\nINTERFACE=bond0.7\n", true),
            (false, "DEVTYPE=macvlan\nINTERFACE=eth0\n", true),
            (false, "INTERFACE=veth0\nIFINDEX=9\n", false),
            (false, "DEVTYPE=bridge\nINTERFACE=docker0\n", false),
            (false, "", false),
        ] {
            assert_eq!(has_a_speed(has_device, uevent), tells, "{uevent}");
        }
        let sockets =
            parse_sockets("sockets: used 9\nTCP: inuse 5 orphan 0 tw 3 alloc 6 mem 1\nUDP: inuse 2\n");
        assert_eq!(sockets, Sockets { in_use: Some(5), time_wait: Some(3) });
        assert_eq!(parse_sockets("TCP6: inuse 2\n"), Sockets { in_use: Some(2), time_wait: None });
        assert_eq!(parse_ports("32768\t60999\n"), Some(28_232));
    }

    #[test]
    fn what_is_not_there_or_strange_is_none() {
        for text in ["", "cpu ", "cpu  1 2", "\u{0}", "-1 5", "9 8", ":", "TCP: inuse"] {
            assert_eq!(parse_processors(text, 1), None, "{text}");
            assert_eq!(parse_ports(text), None, "{text}");
            assert_eq!(parse_stat(text, 1), None, "{text}");
            assert_eq!(parse_sockets(text), Sockets::default(), "{text}");
            assert!(parse_interfaces(text).is_empty(), "{text}");
        }
        assert_eq!(parse_schedstat("0 0 0"), None, "a kernel without these statistics");
        assert_eq!(thread_times(i32::MAX), None);
    }
}
