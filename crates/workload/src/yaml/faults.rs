//! `faults:` of a stage of native YAML.

use std::time::Duration;

use cosmark_units::{parse_bool, parse_size};

use crate::diagnostics::{Mistakes, shown, suggest};
use crate::keys::attributes::{self, yaml_names};
use crate::keys::values::{parse_time, parse_whole};
use crate::model::faults::{
    FAULT_TYPES, FaultAt, FaultKind, FaultLimit, FaultPlace, FaultProcess, FaultProcesses, FaultSignal,
    FaultSpec, MOST_FAULT_REPEATS, MOST_FAULTS, NetworkFault, ProxyFault,
};
use crate::model::{Load, Work};
use crate::yaml::fields::Fields;
use crate::yaml::tree::{Node, NodeKind};

/// Slots, holds and limits are no longer than this.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// How long a rate has to stay in the band where nothing is said.
const KEEP: Duration = Duration::from_secs(60);
/// How long a command may take where nothing is said.
pub(super) const WITHIN: Duration = Duration::from_secs(120);
/// How long after a slot a store that is not whole is waited for where nothing is said.
const WHOLE_WITHIN: Duration = Duration::from_secs(120);
/// So much of a load has to be without a fault before the first one.
const LEAST_BEFORE: Duration = Duration::from_secs(25);

/// The faults of a stage with these works.
pub(crate) fn read(stage: &Fields<'_>, works: &[Work], mistakes: &mut Mistakes) -> Vec<FaultSpec> {
    let Some(node) = stage.get("faults") else { return Vec::new() };
    let NodeKind::Sequence(items) = &node.kind else {
        let hint = "write faults: with one `- {name: .., type: .., at: .., hold: .., slot: ..}` for each";
        mistakes.error(node.span, format!("faults is a list, not {}", node.what()), hint);
        return Vec::new();
    };
    if items.len() > MOST_FAULTS {
        mistakes.error(node.span, "too many faults", format!("at most {MOST_FAULTS} in a stage"));
        return Vec::new();
    }
    if stage.get("search").is_some() {
        mistakes.error(
            node.span,
            "a stage has a search or faults, not both",
            "search first, then play faults",
        );
    }
    let mut found: Vec<FaultSpec> = Vec::new();
    for item in items {
        let Some(one) = one(item, mistakes) else { continue };
        if found.iter().any(|other| other.name == one.name) {
            let message = format!("two faults are called {}", shown(&one.name));
            mistakes.error(item.span, message, "give each fault of a stage a name of its own");
            continue;
        }
        found.push(one);
    }
    fits(node, &found, works, mistakes);
    found
}

fn one(item: &Node, mistakes: &mut Mistakes) -> Option<FaultSpec> {
    let fields = Fields::of(item, "a fault", mistakes)?;
    let name = fields.name("name", mistakes);
    if fields.get("name").is_none() {
        mistakes.error(fields.span, "a fault has no name", "add name:, as it is to be called in the results");
    }
    let types = || FAULT_TYPES.iter().map(|row| row.0);
    let Some((word, span)) = fields.text("type", mistakes) else {
        if fields.get("type").is_none() {
            let known: Vec<_> = types().collect();
            mistakes.error(fields.span, "a fault has no type", format!("add type: {}", known.join(" or ")));
        }
        return None;
    };
    let Some((_, own)) = FAULT_TYPES.iter().find(|row| row.0 == word) else {
        let message = format!("there is no type of fault `{}`", shown(word));
        mistakes.error(span, message, suggest::hint(word, types()));
        return None;
    };
    let all = yaml_names(attributes::FAULT).filter(|name| !is_of_a_type(name) || own.contains(name));
    fields.check_words(&all.collect::<Vec<_>>(), mistakes);
    let time = |key, mistakes: &mut Mistakes| {
        fields.read(key, mistakes, |text| {
            let time = parse_time(text)?;
            let hint = "write a time up to 24h".to_owned();
            if time > LONGEST { Err((format!("{key} is {}", shown(text)), hint)) } else { Ok(time) }
        })
    };
    let kind = kind(word, &fields, mistakes);
    let at = fields.read("at", mistakes, parse_at).unwrap_or(FaultAt::Steady);
    let hold = time("hold", mistakes);
    let slot = time("slot", mistakes);
    let needs_hold = word != "none" && fields.get("hold").is_none();
    for (key, missing) in [("slot", fields.get("slot").is_none()), ("hold", needs_hold)] {
        if missing {
            let hint = "hold: how long the fault stays; slot: how long is looked at from its beginning on";
            mistakes.error(fields.span, format!("a fault needs `{key}`"), hint);
        }
    }
    let (hold, slot) = (hold.unwrap_or_default(), slot?);
    if slot <= hold || slot.is_zero() {
        let message = format!("the slot ({slot:?}) is not longer than the fault stays ({hold:?})");
        mistakes.error(fields.span, message, "leave time to come back: slot: several times hold:");
    }
    let repeats = fields.read("repeats", mistakes, |text| {
        let hint = format!("write a number from 1 to {MOST_FAULT_REPEATS}");
        let count = u32::try_from(parse_whole(text)?).unwrap_or(u32::MAX);
        let fits = (1..=MOST_FAULT_REPEATS).contains(&count);
        if fits { Ok(count) } else { Err((format!("repeats is {}", shown(text)), hint)) }
    });
    let text =
        |key, mistakes: &mut Mistakes| fields.text(key, mistakes).map(|(text, _)| text.trim().to_owned());
    Some(FaultSpec {
        name: name?,
        kind: kind?,
        at,
        hold,
        slot,
        repeats: repeats.unwrap_or(3),
        keep: time("keep", mistakes).unwrap_or(KEEP.min(slot.saturating_sub(hold) / 2)),
        within: time("within", mistakes).unwrap_or(WITHIN),
        noticed: text("noticed", mistakes),
        whole: text("whole", mistakes),
        whole_within: time("whole_within", mistakes).unwrap_or(WHOLE_WITHIN),
        limit: time("limit", mistakes),
        span: item.span,
    })
}

fn is_of_a_type(name: &str) -> bool {
    FAULT_TYPES.iter().any(|row| row.1.contains(&name))
}

/// `90s`, `steady` or `10000 objects`.
fn parse_at(text: &str) -> Result<FaultAt, (String, String)> {
    let text = text.trim();
    if text == "steady" {
        return Ok(FaultAt::Steady);
    }
    if let Some(count) = text.strip_suffix("objects") {
        return parse_whole(count.trim()).map(FaultAt::Objects);
    }
    let time = parse_time(text).map_err(|(message, _)| {
        (message, "write a time after the load began (at: 90s), at: steady, or at: 10000 objects".to_owned())
    })?;
    Ok(FaultAt::After(time))
}

/// What is of this type alone.
pub(super) fn kind(word: &str, fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<FaultKind> {
    let text = |key, mistakes: &mut Mistakes| fields.name(key, mistakes);
    let needed = |key: &'static str, hint: &str, mistakes: &mut Mistakes| {
        if fields.get(key).is_none() {
            mistakes.error(fields.span, format!("a fault of type {word} needs `{key}`"), hint);
            return None;
        }
        fields.name(key, mistakes)
    };
    match word {
        "bed" => Some(FaultKind::Bed {
            bed: needed("bed", "the directory of the test bed: bed: testbeds/swift", mistakes)?,
            verb: needed("verb", "as its faults script knows it: verb: kill", mistakes)?,
            target: needed("target", "as its faults script knows it: target: node.2", mistakes)?,
            argument: text("argument", mistakes).filter(|_| fields.get("argument").is_some()),
        }),
        "command" => Some(FaultKind::Command {
            inject: needed("inject", "the command that makes the fault", mistakes)?,
            heal: needed(
                "heal",
                "the command that heals it; it has to work however often it is run",
                mistakes,
            )?,
            proof: Some(needed("proof", "the command that ends with 0 while the fault is there", mistakes)?),
            place: place(fields, mistakes)?,
        }),
        "signal" => signal(fields, mistakes),
        "cgroup" => {
            let who = processes(word, fields, mistakes);
            let limit = limit(fields, mistakes);
            Some(FaultKind::Cgroup { who: who?, limit: limit? })
        }
        "network" => {
            let of = store(&needed("of", OF, mistakes)?, fields, mistakes)?;
            let netns = fields.get("netns").and_then(|_| text("netns", mistakes));
            Some(FaultKind::Network { of, how: network(fields, mistakes)?, netns })
        }
        "proxy" => {
            let of = store(&needed("of", OF, mistakes)?, fields, mistakes)?;
            Some(FaultKind::Proxy { of, how: proxy(fields, mistakes)? })
        }
        "agent" => {
            for key in ["noticed", "whole", "within"].into_iter().filter(|key| fields.get(key).is_some()) {
                let hint = "it stands in the agent's file, as the operator of the machine wrote it";
                mistakes.error(fields.span, format!("a fault of type agent has no `{key}`"), hint);
            }
            let agent = needed("agent", "the name of the machine's agent: agent: s1", mistakes);
            let fault = needed("fault", "the name of a fault in that agent's file: fault: hangs", mistakes);
            Some(FaultKind::Agent { agent: agent?, fault: fault? })
        }
        _ => Some(FaultKind::None),
    }
}

const OF: &str = "host and port of the store: of: 127.0.0.1:8080";

/// Host and port.
fn store(of: &str, fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<String> {
    if of
        .rsplit_once(':')
        .is_none_or(|(host, port)| host.is_empty() || !port.parse::<u16>().is_ok_and(|port| port > 0))
    {
        let hint = "write of: 127.0.0.1:8080, as it stands in the endpoint";
        mistakes.error(fields.span, format!("`{}` is no host and port", shown(of)), hint);
        return None;
    }
    Some(of.to_owned())
}

/// What the packet filter does.
fn network(fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<NetworkFault> {
    match (fields.get("partition").is_some(), fields.get("loss").is_some()) {
        (true, false) => fields.read("partition", mistakes, |text| match text.trim() {
            "true" => Ok(NetworkFault::Partition),
            _ => Err((format!("partition is {}", shown(text)), "write partition: true".to_owned())),
        }),
        (false, true) => fields.read("loss", mistakes, |text| {
            let hint = "write a share of the packets from 0.01 % to 99.99 %, e.g. loss: 2 %".to_owned();
            let fits = percent(text).filter(|share| (1..NetworkFault::WHOLE).contains(share));
            fits.map(NetworkFault::Loss).ok_or((format!("loss is {}", shown(text)), hint))
        }),
        _ => {
            let hint = "write partition: true or loss: 2 %; to delay or to limit, use type: proxy";
            mistakes.error(fields.span, "a fault of type network does one thing", hint);
            None
        }
    }
}

/// `2 %` in hundredths of a percent.
fn percent(text: &str) -> Option<u32> {
    hundredths(text.trim().strip_suffix('%')?.trim())
}

/// `2`, `0.5` or `12.25` in hundredths.
fn hundredths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 2 {
        return None;
    }
    let part = part.parse::<u32>().ok()? * if part.len() == 1 { 10 } else { 1 };
    whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(part)
}

/// On which machine.
fn place(fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<FaultPlace> {
    match (fields.get("host").is_some(), fields.get("node").is_some()) {
        (false, false) => Some(FaultPlace::Here),
        (false, true) => fields.name("node", mistakes).map(FaultPlace::Node),
        (true, true) => {
            let hint = "write node: with a name of nodes:, or host: as ssh takes it";
            mistakes.error(fields.span, "a fault is made on one machine", hint);
            None
        }
        (true, false) => fields.read("host", mistakes, |host| {
            let of_a_host = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@:[]%".contains(&byte);
            let host = host.trim();
            if host.is_empty() || host.starts_with('-') || !host.bytes().all(of_a_host) {
                let message = format!("`{}` is no host for ssh", shown(host));
                return Err((message, "write host: s2.example or host: root@s2.example".to_owned()));
            }
            Ok(FaultPlace::Host(host.to_owned()))
        }),
    }
}

fn signal(fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<FaultKind> {
    let signal = fields.read("signal", mistakes, |text| match text.trim().to_ascii_uppercase().as_str() {
        "STOP" | "SIGSTOP" => Ok(FaultSignal::Stop),
        "KILL" | "SIGKILL" => Ok(FaultSignal::Kill),
        _ => Err((format!("`{}` is no signal of a fault", shown(text)), "write STOP or KILL".to_owned())),
    });
    if fields.get("signal").is_none() {
        mistakes.error(
            fields.span,
            "a fault of type signal needs `signal`",
            "write signal: STOP or signal: KILL",
        );
    }
    let who = processes("signal", fields, mistakes);
    let heal = fields.get("heal").and_then(|_| fields.name("heal", mistakes));
    if signal == Some(FaultSignal::Kill) && heal.is_none() {
        let hint = "write the command that starts it again; `heal: true` where something else does";
        mistakes.error(fields.span, "what is killed needs `heal`", hint);
    }
    if signal == Some(FaultSignal::Stop) && heal.is_some() {
        mistakes.error(fields.span, "what is stopped is healed by SIGCONT", "drop heal:");
    }
    let place = place(fields, mistakes);
    Some(FaultKind::Signal { signal: signal?, who: who?, heal, place: place? })
}

/// Whom a fault of this type acts on.
fn processes(word: &str, fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<FaultProcesses> {
    let named = fields.get("process").and_then(|_| fields.name("process", mistakes));
    let file = fields.get("pid_file").and_then(|_| fields.name("pid_file", mistakes));
    let children = fields.get("children").and_then(|_| {
        fields.read("children", mistakes, |text| {
            let hint = "write true or false".to_owned();
            parse_bool(text).ok_or((format!("`{}` is neither true nor false", shown(text)), hint))
        })
    });
    let process = match (named, file) {
        (Some(name), None) => FaultProcess::Named(name),
        (None, Some(file)) => FaultProcess::PidFile(file),
        _ => {
            let hint = "write process: with its exact name, or pid_file: with a path";
            mistakes.error(
                fields.span,
                format!("a fault of type {word} needs `process` or `pid_file`"),
                hint,
            );
            return None;
        }
    };
    Some(FaultProcesses { process, children: children.unwrap_or_default() })
}

/// More percent of a processor are no limit.
const MOST_PERCENT: u32 = 100_000;

/// What a control group lets its processes have.
fn limit(fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<FaultLimit> {
    let ways = ["cpu", "read", "write"];
    let given: Vec<_> = ways.into_iter().filter(|key| fields.get(key).is_some()).collect();
    let [way] = given[..] else {
        let message = "a fault of type cgroup has one limit";
        mistakes.error(fields.span, message, format!("write one of {}", ways.join(", ")));
        return None;
    };
    let disk = fields.get("disk").and_then(|_| fields.name("disk", mistakes));
    if way == "cpu" {
        if disk.is_some() {
            mistakes.error(fields.span, "`cpu` has no `disk`", "drop disk:, or limit read: or write:");
        }
        return fields.read("cpu", mistakes, |text| {
            let plain = text.trim().strip_suffix('%').map(str::trim);
            let percent = plain.and_then(|plain| plain.parse().ok());
            let hint = "write percent of one processor, e.g. cpu: 20 % or cpu: 150 %".to_owned();
            let fits = percent.filter(|percent| (1..=MOST_PERCENT).contains(percent));
            fits.map(FaultLimit::Cpu).ok_or((format!("cpu is {}", shown(text)), hint))
        });
    }
    let bytes_per_s = fields.read(way, mistakes, parse_bandwidth);
    let Some(disk) = disk else {
        if fields.get("disk").is_none() {
            let hint = "write disk: with the block device, or with a path that lies on it";
            mistakes.error(fields.span, format!("`{way}` needs `disk`"), hint);
        }
        return None;
    };
    let bytes_per_s = bytes_per_s?;
    Some(if way == "read" {
        FaultLimit::Read { bytes_per_s, disk }
    } else {
        FaultLimit::Write { bytes_per_s, disk }
    })
}

/// `1MB/s`: above 0.
pub(crate) fn parse_bandwidth(text: &str) -> Result<u64, (String, String)> {
    let plain = text.trim().strip_suffix("/s").unwrap_or(text.trim());
    let bytes = parse_size(plain)?;
    if bytes == 0 {
        Err((format!("{} lets nothing pass", shown(text)), "write e.g. 1MB/s".to_owned()))
    } else {
        Ok(bytes)
    }
}

fn proxy(fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<ProxyFault> {
    let ways = ["delay", "stall", "reset", "refuse", "bandwidth", "drop"];
    let given: Vec<_> = ways.into_iter().filter(|key| fields.get(key).is_some()).collect();
    let [way] = given[..] else {
        let message = "a fault of type proxy does one thing";
        mistakes.error(fields.span, message, format!("write one of {}", ways.join(", ")));
        return None;
    };
    let flag = |how, mistakes: &mut Mistakes| {
        fields.read(way, mistakes, |text| match text.trim() {
            "true" => Ok(how),
            _ => Err((format!("{way} is {}", shown(text)), format!("write {way}: true"))),
        })
    };
    match way {
        "delay" => fields.time("delay", mistakes).map(|delay| ProxyFault::Delay(delay.min(LONGEST))),
        "bandwidth" => fields.read("bandwidth", mistakes, parse_bandwidth).map(ProxyFault::Bandwidth),
        "drop" => fields.read("drop", mistakes, |text| {
            let hint = "write a share of the blocks from 0.01 % to 100 %, e.g. drop: 2 %".to_owned();
            let share = percent(text).filter(|share| (1..=NetworkFault::WHOLE).contains(share));
            share.map(ProxyFault::Drop).ok_or((format!("drop is {}", shown(text)), hint))
        }),
        "stall" => flag(ProxyFault::Stall, mistakes),
        "reset" => flag(ProxyFault::Reset, mistakes),
        _ => flag(ProxyFault::Refuse, mistakes),
    }
}

/// Slots that the load has no time for would never be played.
fn fits(node: &Node, faults: &[FaultSpec], works: &[Work], mistakes: &mut Mistakes) {
    if faults.is_empty() {
        return;
    }
    if works.is_empty() {
        mistakes.error(
            node.span,
            "a stage without works has no faults",
            "put faults: into the stage with the load",
        );
        return;
    }
    for fault in faults {
        if let FaultAt::After(at) = fault.at
            && at < LEAST_BEFORE
        {
            let message = format!(
                "fault {} begins {at:?} after the load: there is nothing to compare with",
                fault.name
            );
            mistakes.error(
                fault.span,
                message,
                format!("leave at least {LEAST_BEFORE:?} without a fault, better minutes"),
            );
        }
    }
    let timed = works.iter().all(|work| !work.runtime.is_zero());
    let load = works.iter().map(|work| work.rampup + work.runtime).min().unwrap_or_default();
    let needed = faults.iter().fold(Duration::ZERO, |end, fault| {
        let begins = match fault.at {
            FaultAt::After(at) => end.max(at),
            FaultAt::Steady | FaultAt::Objects(_) => end.max(LEAST_BEFORE),
        };
        begins + fault.lasts()
    });
    if timed && needed > load {
        let message = format!("the faults take {needed:?}, and the load lasts {load:?}");
        mistakes.error(node.span, message, "give the work a longer runtime, or fewer repeats");
    }
    if works.iter().any(|work| !matches!(work.load, Load::Open { .. })) {
        let hint = "give the work a rate: of about 70 % of what the store can do";
        mistakes.warning(
            node.span,
            "a closed loop asks for less while the store is slow and hides what a fault costs",
            hint,
        );
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::model::faults::{
        FaultAt, FaultKind, FaultLimit, FaultPlace, FaultProcess, FaultSignal, NetworkFault, ProxyFault,
    };
    use crate::{Environment, Format, Workload, parse, to_yaml};

    fn with(faults: &str) -> String {
        format!(
            "name: n\nstorage: {{type: mock}}\nstages:\n  - name: main\n    faults:\n{faults}    works:\n      - {{name: w, \
             workers: 4, runtime: 700s, rate: 100/s, operations: [{{type: read, containers: c(1), objects: u(1,9)}}]}}\n"
        )
    }

    fn read(faults: &str) -> (Option<Workload>, Vec<String>) {
        let (workload, mistakes) = parse(&with(faults), Format::Yaml, &Environment::default());
        (workload, mistakes.into_iter().map(|one| one.message).collect())
    }

    const ALL: &str = "      - {name: a, type: bed, bed: testbeds/swift, verb: kill, target: node.2, at: 60s, hold: 10s, slot: 30s, repeats: 2}
      - {name: b, type: command, inject: 'a \"b\"', heal: 'c: d', proof: p, host: u@h, at: steady, hold: 5s, slot: 40s, within: 9s, whole_within: 5m}
      - {name: c, type: signal, signal: KILL, process: nginx, heal: start, at: 500 objects, hold: 1s, slot: 30s, limit: 200ms}
      - {name: d, type: signal, signal: STOP, pid_file: /run/x.pid, hold: 1s, slot: 30s, noticed: n, whole: w, whole_within: 0s}
      - {name: e, type: proxy, of: '127.0.0.1:80', delay: 100ms, hold: 1s, slot: 20s, keep: 8s}
      - {name: f, type: proxy, of: '127.0.0.1:80', bandwidth: 1MB/s, hold: 1s, slot: 20s}
      - {name: g, type: none, slot: 30s, repeats: 1}
      - {name: h, type: cgroup, process: swift-object-server, children: true, cpu: 20 %, hold: 1s, slot: 10s, repeats: 1}
      - {name: i, type: cgroup, pid_file: /run/x.pid, write: 1MB/s, disk: /srv/node, hold: 1s, slot: 10s, repeats: 1}
      - {name: j, type: network, of: '10.0.0.5:8080', partition: true, hold: 1s, slot: 4s, repeats: 1}
      - {name: k, type: network, of: '[fe80::1]:8080', loss: 0.5 %, netns: bed, hold: 1s, slot: 4s, repeats: 1}
      - {name: l, type: signal, signal: STOP, process: x, node: s2, hold: 1s, slot: 4s, repeats: 1}
      - {name: m, type: signal, signal: KILL, process: x, heal: y, host: root@s2, hold: 1s, slot: 4s, repeats: 1}
      - {name: n, type: proxy, of: '127.0.0.1:80', drop: 2.5 %, hold: 1s, slot: 4s, repeats: 1}
      - {name: o, type: agent, agent: s1, fault: osd hangs, hold: 1s, slot: 4s, repeats: 1}
";

    #[test]
    fn faults_are_read_and_written_again() {
        let (workload, mistakes) = read(ALL);
        let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
        let faults = &workload.stages[0].faults;
        assert_eq!(faults.len(), 15);
        assert_eq!(*faults[1].kind.place(), FaultPlace::Host("u@h".into()));
        assert_eq!(*faults[11].kind.place(), FaultPlace::Node("s2".into()));
        assert_eq!(faults[11].kind.text(), "SIGSTOP to x (on s2)");
        assert_eq!(faults[12].kind.text(), "SIGKILL to x (on root@s2)");
        assert_eq!((faults[0].at, faults[0].repeats), (FaultAt::After(Duration::from_secs(60)), 2));
        assert_eq!(
            (faults[2].at, faults[2].limit),
            (FaultAt::Objects(500), Some(Duration::from_millis(200)))
        );
        let FaultKind::Signal { signal, who, .. } = &faults[2].kind else { panic!("{:?}", faults[2]) };
        assert_eq!((*signal, &who.process), (FaultSignal::Kill, &FaultProcess::Named("nginx".into())));
        assert!(!who.children);
        let FaultKind::Cgroup { who, limit } = &faults[7].kind else { panic!("{:?}", faults[7]) };
        assert_eq!((who.children, limit), (true, &FaultLimit::Cpu(20)));
        let FaultKind::Cgroup { limit, .. } = &faults[8].kind else { panic!("{:?}", faults[8]) };
        assert_eq!(*limit, FaultLimit::Write { bytes_per_s: 1_000_000, disk: "/srv/node".into() });
        let FaultKind::Network { of, how, netns } = &faults[10].kind else { panic!("{:?}", faults[10]) };
        assert_eq!((of.as_str(), *how), ("[fe80::1]:8080", NetworkFault::Loss(50)));
        assert_eq!(netns.as_deref(), Some("bed"));
        assert_eq!(faults[10].kind.text(), "0.5 % of packets lost to and from [fe80::1]:8080 (in bed)");
        assert_eq!(faults[4].keep, Duration::from_secs(8));
        let whole_within: Vec<u64> = faults.iter().map(|fault| fault.whole_within.as_secs()).collect();
        assert_eq!(whole_within[..4], [120, 300, 120, 0]);
        let FaultKind::Proxy { how: ProxyFault::Bandwidth(bytes), .. } = faults[5].kind else { panic!() };
        assert_eq!(bytes, 1_000_000);
        assert_eq!(faults[14].kind.text(), "osd hangs by agent s1");
        assert_eq!(faults[13].kind.text(), "2.5 % of blocks swallowed on the way to 127.0.0.1:80");
        let (again, mistakes) = parse(&to_yaml(&workload), Format::Yaml, &Environment::default());
        let again = again.unwrap_or_else(|| panic!("{mistakes:?}\n{}", to_yaml(&workload)));
        let plain = |workload: &Workload| {
            let mut faults = workload.stages[0].faults.clone();
            faults.iter_mut().for_each(|fault| fault.span = crate::Span::default());
            faults
        };
        assert_eq!(plain(&again), plain(&workload));
    }

    #[test]
    fn every_mistake_of_a_fault_is_named() {
        for (fault, words) in [
            ("x", "a fault is a map"),
            ("{type: none, slot: 9s}", "has no name"),
            ("{name: a, slot: 9s}", "has no type"),
            ("{name: a, type: nonsense, slot: 9s}", "no type of fault"),
            ("{name: a, type: none}", "needs `slot`"),
            ("{name: a, type: none, slot: 9s, verb: kill}", "no field `verb`"),
            ("{name: a, type: command, inject: x, hold: 1s, slot: 9s}", "needs `heal`"),
            ("{name: a, type: command, inject: x, heal: y, hold: 1s, slot: 9s}", "needs `proof`"),
            ("{name: a, type: proxy, of: nowhere, stall: true, hold: 1s, slot: 9s}", "no host and port"),
            ("{name: a, type: proxy, of: 'h:1', hold: 1s, slot: 9s}", "does one thing"),
            ("{name: a, type: proxy, of: 'h:1', drop: 101 %, hold: 1s, slot: 9s}", "drop is 101 %"),
            ("{name: a, type: proxy, of: 'h:1', drop: 0 %, hold: 1s, slot: 9s}", "drop is 0 %"),
            ("{name: a, type: proxy, of: 'h:0', stall: true, hold: 1s, slot: 9s}", "no host and port"),
            ("{name: a, type: network, partition: true, hold: 1s, slot: 9s}", "needs `of`"),
            ("{name: a, type: network, of: h, partition: true, hold: 1s, slot: 9s}", "no host and port"),
            ("{name: a, type: network, of: 'h:1', hold: 1s, slot: 9s}", "does one thing"),
            (
                "{name: a, type: network, of: 'h:1', partition: true, loss: 1 %, hold: 1s, slot: 9s}",
                "does one thing",
            ),
            ("{name: a, type: network, of: 'h:1', partition: no, hold: 1s, slot: 9s}", "partition is no"),
            ("{name: a, type: network, of: 'h:1', loss: 100 %, hold: 1s, slot: 9s}", "loss is 100 %"),
            ("{name: a, type: network, of: 'h:1', loss: 0.001 %, hold: 1s, slot: 9s}", "loss is 0.001 %"),
            ("{name: a, type: network, of: 'h:1', loss: 0 %, hold: 1s, slot: 9s}", "loss is 0 %"),
            ("{name: a, type: network, of: 'h:1', delay: 1s, hold: 1s, slot: 9s}", "no field `delay`"),
            (
                "{name: a, type: proxy, of: 'h:1', stall: true, delay: 1s, hold: 1s, slot: 9s}",
                "does one thing",
            ),
            ("{name: a, type: signal, signal: KILL, process: x, hold: 1s, slot: 9s}", "needs `heal`"),
            ("{name: a, type: signal, signal: HUP, process: x, hold: 1s, slot: 9s}", "no signal of a fault"),
            ("{name: a, type: signal, signal: STOP, hold: 1s, slot: 9s}", "`process` or `pid_file`"),
            (
                "{name: a, type: signal, signal: STOP, process: x, node: s, host: h, hold: 1s, slot: 9s}",
                "on one machine",
            ),
            (
                "{name: a, type: signal, signal: STOP, process: x, host: -oProxyCommand=x, hold: 1s, slot: 9s}",
                "no host for ssh",
            ),
            ("{name: a, type: cgroup, process: x, cpu: 9 %, node: s, hold: 1s, slot: 9s}", "no field `node`"),
            ("{name: a, type: cgroup, process: x, hold: 1s, slot: 9s}", "has one limit"),
            ("{name: a, type: cgroup, process: x, cpu: 9 %, read: 1MB, hold: 1s, slot: 9s}", "has one limit"),
            ("{name: a, type: cgroup, process: x, cpu: 0 %, hold: 1s, slot: 9s}", "cpu is 0 %"),
            ("{name: a, type: cgroup, process: x, cpu: 0.5, hold: 1s, slot: 9s}", "cpu is 0.5"),
            (
                "{name: a, type: cgroup, process: x, cpu: 5 %, disk: /x, hold: 1s, slot: 9s}",
                "`cpu` has no `disk`",
            ),
            ("{name: a, type: cgroup, process: x, read: 1MB/s, hold: 1s, slot: 9s}", "needs `disk`"),
            (
                "{name: a, type: cgroup, process: x, read: 0/s, disk: /x, hold: 1s, slot: 9s}",
                "lets nothing pass",
            ),
            ("{name: a, type: cgroup, cpu: 5 %, hold: 1s, slot: 9s}", "`process` or `pid_file`"),
            (
                "{name: a, type: cgroup, process: x, children: maybe, cpu: 5 %, hold: 1s, slot: 9s}",
                "neither true nor false",
            ),
            ("{name: a, type: proxy, of: 'h:1', stall: true, hold: 9s, slot: 9s}", "not longer than"),
            ("{name: a, type: agent, agent: s1, hold: 1s, slot: 9s}", "needs `fault`"),
            ("{name: a, type: agent, fault: x, hold: 1s, slot: 9s}", "needs `agent`"),
            (
                "{name: a, type: agent, agent: s, fault: x, inject: y, hold: 1s, slot: 9s}",
                "no field `inject`",
            ),
            ("{name: a, type: agent, agent: s, fault: x, whole: y, hold: 1s, slot: 9s}", "has no `whole`"),
            ("{name: a, type: none, slot: 90s, repeats: 0}", "repeats is 0"),
            ("{name: a, type: none, slot: 90s, repeats: 9}", "the load lasts"),
            ("{name: a, type: none, slot: 9s, at: 3s}", "nothing to compare with"),
            ("{name: a, type: none, slot: 48h, at: 60s}", "slot is 48h"),
        ] {
            let (workload, mistakes) = read(&format!("      - {fault}\n"));
            assert!(workload.is_none(), "{fault}");
            assert!(mistakes.iter().any(|one| one.contains(words)), "{fault}: {mistakes:?}");
        }
        let twice = "      - {name: a, type: none, slot: 9s}\n".repeat(2);
        assert!(read(&twice).1.iter().any(|one| one.contains("two faults are called")));
    }
}
