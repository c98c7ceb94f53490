//! `faults:` of a stage: what is made to fail while its load runs, how that is healed, and what is waited for.

use std::time::Duration;

use crate::diagnostics::Span;

/// More faults of one stage are not played.
pub const MOST_FAULTS: usize = 50;
/// More repetitions of one.
pub const MOST_FAULT_REPEATS: u32 = 100;

/// One fault.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultSpec {
    /// Its name in the results; no two of a stage have the same.
    pub name: String,
    /// How it is made.
    pub kind: FaultKind,
    /// When its first slot begins.
    pub at: FaultAt,
    /// From when it was made to when it is healed.
    pub hold: Duration,
    /// Length of a slot, from when it was made.
    pub slot: Duration,
    /// Slots, one after another.
    pub repeats: u32,
    /// How long the rate has to stay in the band to be called back.
    pub keep: Duration,
    /// How long one command may take.
    pub within: Duration,
    /// Asks whether the store has noticed, by its exit code 0.
    pub noticed: Option<String>,
    /// Asks whether redundancy is whole, by its exit code 0.
    pub whole: Option<String>,
    /// How long after a slot the next fault waits for that at most; zero: it does not.
    pub whole_within: Duration,
    /// Response times beyond are counted by the second.
    pub limit: Option<Duration>,
    /// Where it stands in the source.
    pub span: Span,
}

/// When the first slot of a fault begins; a fault before it in the list has ended then in any case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FaultAt {
    /// So long after the load began.
    After(Duration),
    /// When the rate has been steady for 30 s after the ramp.
    Steady,
    /// When so many objects have been written.
    Objects(u64),
}

/// How a fault is made and healed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// By the `faults` script of a test bed.
    Bed {
        /// Its directory.
        bed: String,
        /// What is done.
        verb: String,
        /// To what.
        target: String,
        /// And how much, for verbs that want to know.
        argument: Option<String>,
    },
    /// By commands of the user, through `sh -c`.
    Command {
        /// Makes it.
        inject: String,
        /// Heals it.
        heal: String,
        /// Proves by its exit code 0 that it is there.
        proof: Option<String>,
        /// The machine on which all of them run.
        place: FaultPlace,
    },
    /// By a signal to processes.
    Signal {
        /// Which one.
        signal: FaultSignal,
        /// Who gets it.
        who: FaultProcesses,
        /// Heals what was killed.
        heal: Option<String>,
        /// Their machine.
        place: FaultPlace,
    },
    /// By a control group of the kernel's, into which processes of this machine are put.
    Cgroup {
        /// Who is limited.
        who: FaultProcesses,
        /// To what.
        limit: FaultLimit,
    },
    /// By the kernel's packet filter.
    Network {
        /// Host and port whose packets are meant, in both directions.
        of: String,
        /// What happens to them.
        how: NetworkFault,
        /// The network namespace, by its name or path; `None` = that of cosmark.
        netns: Option<String>,
    },
    /// By a proxy between client and store.
    Proxy {
        /// Host and port of the store that it stands before.
        of: String,
        /// What it does.
        how: ProxyFault,
    },
    /// By the agent of a machine (`cosmark node`), whose operator has named the fault and allowed it.
    Agent {
        /// Name of the agent.
        agent: String,
        /// Name of the fault in the agent's file.
        fault: String,
    },
    /// Not at all: a slot for comparison.
    None,
}

/// A fault that the operator of a machine lets its agent make. A workload knows its name and nothing else of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedFault {
    /// Its name; no two of a file have the same.
    pub name: String,
    /// How it is made; never by another agent, on another machine, by a proxy, or not at all.
    pub kind: FaultKind,
    /// From when it was made to when it is healed, at most.
    pub longest: Duration,
    /// How long one command may take.
    pub within: Duration,
    /// Asks whether the store has noticed, by its exit code 0.
    pub noticed: Option<String>,
    /// Asks whether redundancy is whole, by its exit code 0.
    pub whole: Option<String>,
    /// Where it stands in the source.
    pub span: Span,
}

impl AllowedFault {
    /// As a fault that is held for so long.
    #[must_use]
    pub fn held_for(&self, hold: Duration) -> FaultSpec {
        FaultSpec {
            name: self.name.clone(),
            kind: self.kind.clone(),
            at: FaultAt::After(Duration::ZERO),
            hold,
            slot: hold,
            repeats: 1,
            keep: Duration::ZERO,
            within: self.within,
            noticed: self.noticed.clone(),
            whole: self.whole.clone(),
            whole_within: Duration::ZERO,
            limit: None,
            span: self.span,
        }
    }
}

/// The machine on which a fault is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultPlace {
    /// This one.
    Here,
    /// The one that ssh reaches by `host` or `user@host`.
    Host(String),
    /// The one of this name in `nodes:`, of type ssh.
    Node(String),
}

impl FaultPlace {
    /// For people, behind what is done.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Here => String::new(),
            Self::Host(name) | Self::Node(name) => format!(" (on {name})"),
        }
    }
}

/// A signal of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultSignal {
    /// SIGSTOP, healed by SIGCONT.
    Stop,
    /// SIGKILL, healed by a command.
    Kill,
}

/// Processes of one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultProcesses {
    /// Which ones.
    pub process: FaultProcess,
    /// Those that they have started, too.
    pub children: bool,
}

/// How processes of a machine are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultProcess {
    /// All with exactly this name.
    Named(String),
    /// The one whose number stands in this file.
    PidFile(String),
}

/// What a control group lets its processes have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultLimit {
    /// So many percent of one processor, all of them together.
    Cpu(u32),
    /// So many bytes a second read from a disk.
    Read {
        /// The limit.
        bytes_per_s: u64,
        /// The block device, or what lies on it.
        disk: String,
    },
    /// So many bytes a second written to a disk.
    Write {
        /// The limit.
        bytes_per_s: u64,
        /// The block device, or what lies on it.
        disk: String,
    },
}

/// What the packet filter does while a fault holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkFault {
    /// Every packet is dropped.
    Partition,
    /// So many of [`NetworkFault::WHOLE`] packets are dropped, by chance.
    Loss(u32),
}

impl NetworkFault {
    /// Parts of all packets: a share is known to a hundredth of a percent.
    pub const WHOLE: u32 = 10_000;

    /// For people, and as it stands in a workload.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Partition => "no packet passes".to_owned(),
            Self::Loss(share) => format!("{} % of packets lost", Self::percent(share)),
        }
    }

    /// A share in percent.
    #[must_use]
    pub fn percent(share: u32) -> String {
        match (share / 100, share % 100) {
            (whole, 0) => whole.to_string(),
            (whole, part) => format!("{whole}.{part:02}").trim_end_matches('0').to_owned(),
        }
    }
}

/// What the proxy does while a fault holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyFault {
    /// Everything arrives later, in both directions.
    Delay(Duration),
    /// Nothing arrives any more; connections stay.
    Stall,
    /// Connections are reset, new ones too.
    Reset,
    /// New connections are refused and old ones reset.
    Refuse,
    /// At most so many bytes a second, both directions and all connections together.
    Bandwidth(u64),
    /// So many of [`NetworkFault::WHOLE`] blocks of bytes never arrive, by chance; connections stay.
    Drop(u32),
}

/// The types of faults and their keys beside those that all have.
pub const FAULT_TYPES: &[(&str, &[&str])] = &[
    ("bed", &["bed", "verb", "target", "argument"]),
    ("command", &["inject", "heal", "proof", "host", "node"]),
    ("signal", &["signal", "process", "pid_file", "children", "heal", "host", "node"]),
    ("cgroup", &["process", "pid_file", "children", "cpu", "read", "write", "disk"]),
    ("network", &["of", "partition", "loss", "netns"]),
    ("proxy", &["of", "delay", "stall", "reset", "refuse", "bandwidth", "drop"]),
    ("agent", &["agent", "fault"]),
    ("none", &[]),
];

impl FaultKind {
    /// Its word in a workload.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Bed { .. } => "bed",
            Self::Command { .. } => "command",
            Self::Signal { .. } => "signal",
            Self::Cgroup { .. } => "cgroup",
            Self::Network { .. } => "network",
            Self::Proxy { .. } => "proxy",
            Self::Agent { .. } => "agent",
            Self::None => "none",
        }
    }

    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Bed { bed, verb, target, argument } => {
                let argument = argument.as_ref().map(|argument| format!(" {argument}")).unwrap_or_default();
                format!("{bed}/faults {verb} {target}{argument}")
            }
            Self::Command { inject, place, .. } => format!("{inject}{}", place.text()),
            Self::Signal { signal, who, place, .. } => {
                let signal = match signal {
                    FaultSignal::Stop => "SIGSTOP",
                    FaultSignal::Kill => "SIGKILL",
                };
                format!("{signal} to {}{}", who.text(), place.text())
            }
            Self::Cgroup { who, limit } => format!("{} for {}", limit.text(), who.text()),
            Self::Network { of, how, netns } => {
                let place = netns.as_ref().map(|netns| format!(" (in {netns})")).unwrap_or_default();
                format!("{} to and from {of}{place}", how.text())
            }
            Self::Proxy { of, how } => format!("{} on the way to {of}", how.text()),
            Self::Agent { agent, fault } => format!("{fault} by agent {agent}"),
            Self::None => "no fault".to_owned(),
        }
    }

    /// The machine on which it is made.
    #[must_use]
    pub fn place(&self) -> &FaultPlace {
        match self {
            Self::Command { place, .. } | Self::Signal { place, .. } => place,
            _ => &FaultPlace::Here,
        }
    }

    /// The same, to be changed; `None` for what is made here in any case.
    pub fn place_mut(&mut self) -> Option<&mut FaultPlace> {
        match self {
            Self::Command { place, .. } | Self::Signal { place, .. } => Some(place),
            _ => None,
        }
    }
}

impl FaultProcess {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Named(name) => name.clone(),
            Self::PidFile(file) => format!("the process of {file}"),
        }
    }
}

impl FaultProcesses {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let more = if self.children { " and what it has started" } else { "" };
        format!("{}{more}", self.process.text())
    }
}

impl FaultLimit {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Cpu(percent) => format!("{percent} % of a processor"),
            Self::Read { bytes_per_s, disk } => format!("{bytes_per_s} bytes/s read from {disk}"),
            Self::Write { bytes_per_s, disk } => format!("{bytes_per_s} bytes/s written to {disk}"),
        }
    }
}

impl ProxyFault {
    /// For people.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Delay(delay) => format!("{delay:?} of delay"),
            Self::Stall => "nothing passes".to_owned(),
            Self::Reset => "connections are reset".to_owned(),
            Self::Refuse => "connections are refused".to_owned(),
            Self::Bandwidth(bytes) => format!("{bytes} bytes/s at most"),
            Self::Drop(share) => format!("{} % of blocks swallowed", NetworkFault::percent(share)),
        }
    }
}

impl FaultSpec {
    /// How long all its slots take.
    #[must_use]
    pub fn lasts(&self) -> Duration {
        self.slot.saturating_mul(self.repeats)
    }
}
