//! Faults of the way between two machines, by the kernel's packet filter: packets to and from one address and port are dropped,
//! all or by chance, in this machine's network or in a namespace of it. Each fault is one table of its own, and healing deletes
//! that table: nothing else of anybody's filter is read or changed. Source: nft(8), network_namespaces(7), nsenter(1), setns(2).

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cosmark_archive::Heal;
use cosmark_workload::model::faults::NetworkFault;

use super::command::{Output, run};
use super::process::Process;
use super::{Hand, here};

/// How the tables that are made here are called; nothing else is ever deleted.
const PREFIX: &str = "cosmark_fault_";
/// Before connection tracking and before anybody else's rules. Source: nft(8), standard priority names: raw.
const PRIORITY: i32 = -300;
/// An address that has not answered within this time is cut off.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);
/// One that answers nothing before it is cut off proves nothing afterwards.
const ANSWERS_BEFORE: Duration = Duration::from_secs(5);
/// More addresses of one name are too many to be meant.
const MOST_ADDRESSES: usize = 16;
/// Where `ip netns` keeps its names. Source: ip-netns(8).
const NAMES: &str = "/run/netns";

pub struct Network {
    of: String,
    addresses: Vec<SocketAddr>,
    how: NetworkFault,
    /// The file of the namespace; `None` = that of this process.
    netns: Option<PathBuf>,
    table: String,
    directory: PathBuf,
    within: Duration,
}

impl Network {
    pub fn of(of: &str, how: NetworkFault, netns: Option<&str>, within: Duration) -> Result<Self, String> {
        let netns = netns.map(namespace).transpose()?;
        let found = of.to_socket_addrs().map_err(|cause| format!("{of}: {cause}"))?;
        let mut addresses: Vec<SocketAddr> = found.collect();
        addresses.sort();
        addresses.dedup();
        if addresses.is_empty() || addresses.len() > MOST_ADDRESSES {
            return Err(format!("{of} has {} addresses: name one", addresses.len()));
        }
        if let Some(bad) = addresses.iter().find(|one| one.ip().is_unspecified() || one.ip().is_multicast()) {
            return Err(format!("{bad} is no address of a machine: name the one that clients connect to"));
        }
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let table = format!("{PREFIX}{}_{now}", std::process::id());
        Ok(Self { of: of.to_owned(), addresses, how, netns, table, directory: here()?, within })
    }

    /// Whether this machine has a packet filter that this user may change: found out before anything is made, since what heals
    /// a fault needs the same.
    ///
    /// # Errors
    /// What is missing.
    pub fn ready(self) -> Result<Self, String> {
        self.counts().map(|_| self)
    }

    /// `nft` in the namespace.
    fn words(&self, commands: &str) -> Vec<String> {
        let inside = self.netns.iter().map(|file| format!("--net={}", file.display()));
        let enter = inside.flat_map(|file| ["nsenter".to_owned(), file, "--".to_owned()]);
        enter.chain(["nft".to_owned(), commands.to_owned()]).collect()
    }

    fn nft(&self, commands: &str) -> Result<Output, String> {
        run(&self.words(commands), &self.directory, self.within).map_err(|why| {
            format!(
                "{why}; it needs the packet filter's program (package nftables), and nsenter for a namespace"
            )
        })
    }

    /// One transaction: all rules are there, or none.
    fn rules(&self) -> String {
        let table = &self.table;
        let mut text = format!("add table inet {table}");
        // What stays on this machine passes output and input, and is to be hit once; what is passed on passes forward alone.
        for (hook, only) in [("output", ""), ("input", "iifname != \"lo\" "), ("forward", "")] {
            text.push_str(&format!(
                "; add chain inet {table} {hook} {{ type filter hook {hook} priority {PRIORITY}; policy accept; }}"
            ));
            for address in &self.addresses {
                let (ip, port) = (address.ip(), address.port());
                let family = if ip.is_ipv4() { "ip" } else { "ip6" };
                let chance = match self.how {
                    NetworkFault::Partition => String::new(),
                    NetworkFault::Loss(share) => {
                        format!("counter numgen random mod {} < {share} ", NetworkFault::WHOLE)
                    }
                };
                for (machine, process) in [("daddr", "dport"), ("saddr", "sport")] {
                    text.push_str(&format!(
                        "; add rule inet {table} {hook} {only}{family} {machine} {ip} tcp {process} {port} {chance}counter drop"
                    ));
                }
            }
        }
        text
    }

    /// Packets that were seen and dropped; `None` when the table is not there.
    fn counts(&self) -> Result<Option<(u64, u64)>, String> {
        let output = self.nft(&format!("list table inet {}", self.table))?;
        match output.code {
            Some(0) => Ok(Some(sums(&output.text))),
            _ if output.text.contains("No such file") => Ok(None),
            _ if output.text.contains("not permitted") => Err(format!(
                "the packet filter may not be changed ({}): that is root's right (CAP_NET_ADMIN)",
                super::command::last_line(&output.text)
            )),
            _ => Err(output.failure(&self.words("list"))),
        }
    }

    /// The first address that answers within the time.
    fn answers(&self, within: Duration) -> Result<Option<SocketAddr>, String> {
        let addresses = self.addresses.clone();
        let ask = move || addresses.into_iter().find(|address| answers(*address, within));
        let Some(file) = &self.netns else { return Ok(ask()) };
        let file = std::fs::File::open(file).map_err(|cause| format!("{}: {cause}", file.display()))?;
        // A thread of its own is in the namespace, and nothing else of this process.
        let asked = std::thread::spawn(move || enter(&file).map(|()| ask())).join();
        asked.unwrap_or_else(|_| Err("the probe ended by a bug in Cosmark".to_owned()))
    }
}

impl Hand for Network {
    fn plan(&self) -> Heal {
        // Without an error also where there is none.
        let words = self.words(&format!("add table inet {0}; delete table inet {0}", self.table));
        Heal::Command { words, directory: self.directory.clone(), within: self.within, proof: None }
    }

    fn acts_on(&self) -> Vec<String> {
        let place = self.netns.as_deref().map(|file| file.display().to_string()).unwrap_or_default();
        self.addresses.iter().map(|address| format!("network {place} {address}")).collect()
    }

    fn lasts(&self) -> bool {
        true
    }

    fn inject(&mut self, _begun: &mut dyn FnMut(Process)) -> Result<String, String> {
        if self.how == NetworkFault::Partition && self.answers(ANSWERS_BEFORE)?.is_none() {
            return Err(format!(
                "{} does not answer before it is cut off, so that nothing could prove it",
                self.of
            ));
        }
        let rules = self.rules();
        let output = self.nft(&rules)?;
        match output.code {
            Some(0) => Ok(String::new()),
            _ => Err(format!(
                "{}; the kernel may lack what it needs (nf_tables{})",
                output.failure(&self.words("..")),
                if self.how == NetworkFault::Partition { "" } else { ", nft_numgen" }
            )),
        }
    }

    fn landed(&mut self) -> Result<Option<String>, String> {
        if self.counts()?.is_none() {
            return Ok(None);
        }
        let silent = match self.how {
            NetworkFault::Partition => match self.answers(ANSWERS_WITHIN)? {
                Some(_) => return Ok(None),
                None => format!(", and {} does not answer", self.of),
            },
            NetworkFault::Loss(_) => String::new(),
        };
        let Some((seen, dropped)) = self.counts()? else { return Ok(None) };
        let proof = format!("{dropped} of {seen} packets were dropped{silent}");
        Ok((dropped > 0).then_some(proof))
    }

    fn heal(&mut self) -> Result<String, String> {
        let Some((seen, dropped)) = self.counts()? else { return Ok(String::new()) };
        super::heal(&self.plan())?;
        Ok(format!("{dropped} of {seen} packets were dropped"))
    }
}

/// The file of a namespace by its name, or by its path.
fn namespace(name: &str) -> Result<PathBuf, String> {
    let path = if name.starts_with('/') { PathBuf::from(name) } else { Path::new(NAMES).join(name) };
    if path.exists() {
        return Ok(path);
    }
    Err(format!(
        "there is no network namespace {}: name one of `ip netns`, or a path such as /proc/PID/ns/net",
        path.display()
    ))
}

/// Somebody answers there, be it that nothing listens.
fn answers(address: SocketAddr, within: Duration) -> bool {
    match TcpStream::connect_timeout(&address, within) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionRefused,
    }
}

#[cfg(target_os = "linux")]
fn enter(file: &std::fs::File) -> Result<(), String> {
    use std::os::fd::AsRawFd;
    // SAFETY: an open file; the call moves only this thread.
    if unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) } == 0 {
        return Ok(());
    }
    let cause = std::io::Error::last_os_error();
    Err(format!("the network namespace cannot be entered ({cause}): that is root's right (CAP_SYS_ADMIN)"))
}

#[cfg(not(target_os = "linux"))]
fn enter(_: &std::fs::File) -> Result<(), String> {
    Err("only Linux has network namespaces".to_owned())
}

/// Packets that the rules have seen and dropped: the first and the last counter of each.
fn sums(listing: &str) -> (u64, u64) {
    let mut sums = (0, 0);
    for line in listing.lines().filter(|line| line.trim_end().ends_with(" drop")) {
        let packets = |part: &str| part.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        let counters: Vec<u64> = line.split("counter packets ").skip(1).filter_map(packets).collect();
        sums.0 += counters.first().copied().unwrap_or_default();
        sums.1 += counters.last().copied().unwrap_or_default();
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_a_listing_are_added_up_and_other_lines_are_none() {
        let listing = "table inet cosmark_fault_1_2 {
	chain output {
		type filter hook output priority raw; policy accept;
		ip daddr 127.0.0.1 tcp dport 99 counter packets 40 bytes 1 numgen random mod 10000 < 500 counter packets 3 bytes 0 drop
		ip saddr 127.0.0.1 tcp sport 99 counter packets 60 bytes 1 numgen random mod 10000 < 500 counter packets 2 bytes 9 drop
		tcp dport 22 counter packets 7 bytes 7
	}
}";
        assert_eq!(sums(listing), (100, 5));
        assert_eq!(sums(""), (0, 0));
    }

    #[test]
    fn rules_name_one_address_and_port_and_hit_what_stays_on_the_machine_once() {
        let within = Duration::from_secs(1);
        let fault = Network::of("127.0.0.1:99", NetworkFault::Loss(500), None, within).unwrap();
        let rules = fault.rules();
        assert!(
            rules.split("; ").filter(|rule| rule.contains("add rule")).all(|rule| rule.contains("port 99 "))
        );
        assert_eq!(rules.matches("iifname != \"lo\" ip ").count(), 2, "{rules}");
        assert_eq!(rules.matches("numgen random mod 10000 < 500 counter drop").count(), 6, "{rules}");
        let six = Network::of("[::1]:99", NetworkFault::Partition, None, within).unwrap();
        assert!(six.rules().contains("ip6 daddr ::1 tcp dport 99 counter drop"), "{}", six.rules());
        assert!(fault.table.starts_with(PREFIX) && fault.table != six.table);
        let words = fault.plan().to_string();
        assert!(words.contains(&format!("delete table inet {}", fault.table)), "{words}");
        for (of, netns, why) in [
            ("0.0.0.0:99", None, "no address of a machine"),
            ("224.0.0.1:99", None, "no address of a machine"),
            ("127.0.0.1:99", Some("no-such-space"), "no network namespace"),
        ] {
            let error = Network::of(of, NetworkFault::Partition, netns, within).err().unwrap();
            assert!(error.contains(why), "{error}");
        }
    }
}
