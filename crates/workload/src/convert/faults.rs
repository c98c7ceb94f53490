//! `faults:` written again: the fields of a fault and what stands in them.

use cosmark_units::duration_text;

use crate::model::faults::{
    FaultAt, FaultKind, FaultLimit, FaultPlace, FaultProcess, FaultProcesses, FaultSignal, FaultSpec,
    NetworkFault, ProxyFault,
};

/// What is only of this type.
pub(crate) fn of_kind(kind: &FaultKind) -> Vec<(&'static str, String)> {
    let given = |key, value: &Option<String>| value.clone().map(|value| (key, value));
    match kind {
        FaultKind::Bed { bed, verb, target, argument } => {
            let all = [("bed", bed.clone()), ("verb", verb.clone()), ("target", target.clone())];
            all.into_iter().chain(given("argument", argument)).collect()
        }
        FaultKind::Command { inject, heal, proof, place } => {
            let all = [("inject", inject.clone()), ("heal", heal.clone())];
            all.into_iter().chain(given("proof", proof)).chain(of_place(place)).collect()
        }
        FaultKind::Signal { signal, who, heal, place } => {
            let word = match signal {
                FaultSignal::Stop => "STOP",
                FaultSignal::Kill => "KILL",
            };
            let signal = ("signal", word.to_owned());
            let all = std::iter::once(signal).chain(of_processes(who)).chain(given("heal", heal));
            all.chain(of_place(place)).collect()
        }
        FaultKind::Cgroup { who, limit } => {
            let limit = match limit {
                FaultLimit::Cpu(percent) => vec![("cpu", format!("{percent} %"))],
                FaultLimit::Read { bytes_per_s, disk } => {
                    vec![("read", bytes_per_s.to_string()), ("disk", disk.clone())]
                }
                FaultLimit::Write { bytes_per_s, disk } => {
                    vec![("write", bytes_per_s.to_string()), ("disk", disk.clone())]
                }
            };
            of_processes(who).chain(limit).collect()
        }
        FaultKind::Network { of, how, netns } => {
            let how = match how {
                NetworkFault::Partition => ("partition", "true".to_owned()),
                NetworkFault::Loss(share) => ("loss", format!("{} %", NetworkFault::percent(*share))),
            };
            [("of", of.clone()), how].into_iter().chain(given("netns", netns)).collect()
        }
        FaultKind::Proxy { of, how } => {
            let how = match how {
                ProxyFault::Delay(delay) => ("delay", duration_text(*delay)),
                ProxyFault::Stall => ("stall", "true".to_owned()),
                ProxyFault::Reset => ("reset", "true".to_owned()),
                ProxyFault::Refuse => ("refuse", "true".to_owned()),
                ProxyFault::Bandwidth(bytes) => ("bandwidth", bytes.to_string()),
                ProxyFault::Drop(share) => ("drop", format!("{} %", NetworkFault::percent(*share))),
            };
            vec![("of", of.clone()), how]
        }
        FaultKind::Agent { agent, fault } => vec![("agent", agent.clone()), ("fault", fault.clone())],
        FaultKind::None => Vec::new(),
    }
}

fn of_place(place: &FaultPlace) -> Option<(&'static str, String)> {
    match place {
        FaultPlace::Here => None,
        FaultPlace::Host(host) => Some(("host", host.clone())),
        FaultPlace::Node(node) => Some(("node", node.clone())),
    }
}

fn of_processes(who: &FaultProcesses) -> impl Iterator<Item = (&'static str, String)> {
    let process = match &who.process {
        FaultProcess::Named(name) => ("process", name.clone()),
        FaultProcess::PidFile(file) => ("pid_file", file.clone()),
    };
    std::iter::once(process).chain(who.children.then(|| ("children", "true".to_owned())))
}

/// What every fault has.
pub(crate) fn of_fault(fault: &FaultSpec) -> Vec<(&'static str, String)> {
    let at = match fault.at {
        FaultAt::After(time) => duration_text(time),
        FaultAt::Steady => "steady".to_owned(),
        FaultAt::Objects(count) => format!("{count} objects"),
    };
    let mut all = vec![("at", at)];
    if !fault.hold.is_zero() {
        all.push(("hold", duration_text(fault.hold)));
    }
    all.extend([
        ("slot", duration_text(fault.slot)),
        ("repeats", fault.repeats.to_string()),
        ("keep", duration_text(fault.keep)),
    ]);
    // How long the commands of an agent may take its operator says.
    if !matches!(fault.kind, FaultKind::Agent { .. }) {
        all.push(("within", duration_text(fault.within)));
    }
    all.extend(fault.noticed.clone().map(|command| ("noticed", command)));
    all.extend(fault.whole.clone().map(|command| ("whole", command)));
    all.push(("whole_within", duration_text(fault.whole_within)));
    all.extend(fault.limit.map(|limit| ("limit", duration_text(limit))));
    all
}
