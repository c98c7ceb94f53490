//! The faults that the operator of a machine lets its agent make (`cosmark node --faults FILE`).

use crate::diagnostics::{Mistakes, Span, shown, suggest};
use crate::keys::values::parse_time;
use crate::model::faults::{AllowedFault, FAULT_TYPES, FaultKind, FaultPlace, MOST_FAULTS};
use crate::yaml::faults::{LONGEST, WITHIN, kind};
use crate::yaml::fields::Fields;
use crate::yaml::tree::{self, Node, NodeKind};

/// Types that no agent makes: their faults are not on its machine, or not there at all.
const NOT_OF_AN_AGENT: [&str; 3] = ["proxy", "agent", "none"];
/// What each fault of the file may have beside the keys of its type.
const OF_ALL: [&str; 6] = ["name", "type", "longest", "within", "noticed", "whole"];
/// The longest name, in bytes.
const LONGEST_NAME: usize = 64;

/// Reads the file.
pub(crate) fn read(source: &str, mistakes: &mut Mistakes) -> Vec<AllowedFault> {
    let hint = "write faults: with one `- {name: .., type: .., longest: ..}` for each";
    if source.trim().is_empty() {
        mistakes.error(Span::default(), "the file is empty", hint);
        return Vec::new();
    }
    let Some(root) = tree::read(source, mistakes) else { return Vec::new() };
    tree::report_duplicates(&root, mistakes);
    let Some(fields) = Fields::of(&root, "a file of faults", mistakes) else { return Vec::new() };
    fields.check_words(&["faults"], mistakes);
    let Some(node) = fields.get("faults") else {
        mistakes.error(fields.span, "the file names no faults", hint);
        return Vec::new();
    };
    let NodeKind::Sequence(items) = &node.kind else {
        mistakes.error(node.span, format!("faults is a list, not {}", node.what()), hint);
        return Vec::new();
    };
    if items.len() > MOST_FAULTS {
        mistakes.error(node.span, "too many faults", format!("at most {MOST_FAULTS} of an agent"));
        return Vec::new();
    }
    let mut found: Vec<AllowedFault> = Vec::new();
    for item in items {
        let Some(one) = one(item, mistakes) else { continue };
        if found.iter().any(|other| other.name == one.name) {
            let message = format!("two faults are called {}", shown(&one.name));
            mistakes.error(item.span, message, "give each fault of the file a name of its own");
            continue;
        }
        found.push(one);
    }
    found
}

fn one(item: &Node, mistakes: &mut Mistakes) -> Option<AllowedFault> {
    let fields = Fields::of(item, "a fault", mistakes)?;
    for (key, hint) in [
        ("name", "add name:, by which workloads ask for it"),
        ("longest", "add longest:, after which it is healed whatever a run asks for, e.g. longest: 2m"),
    ] {
        if fields.get(key).is_none() {
            mistakes.error(fields.span, format!("a fault needs `{key}`"), hint);
        }
    }
    let types = || FAULT_TYPES.iter().map(|row| row.0).filter(|word| !NOT_OF_AN_AGENT.contains(word));
    let Some((word, span)) = fields.text("type", mistakes) else {
        if fields.get("type").is_none() {
            let known: Vec<_> = types().collect();
            mistakes.error(fields.span, "a fault has no type", format!("add type: {}", known.join(" or ")));
        }
        return None;
    };
    let own = FAULT_TYPES.iter().find(|row| row.0 == word && !NOT_OF_AN_AGENT.contains(&word));
    let Some((_, own)) = own else {
        let message = format!("an agent makes no fault of type `{}`", shown(word));
        mistakes.error(span, message, suggest::hint(word, types()));
        return None;
    };
    let known: Vec<&'static str> = OF_ALL.into_iter().chain(own.iter().copied()).collect();
    fields.check_words(&known, mistakes);
    let time = |key, mistakes: &mut Mistakes| {
        fields.read(key, mistakes, |text| {
            let time = parse_time(text)?;
            let fits = !time.is_zero() && time <= LONGEST;
            let hint = "write a time up to 24h".to_owned();
            if fits { Ok(time) } else { Err((format!("{key} is {}", shown(text)), hint)) }
        })
    };
    let name = fields.read("name", mistakes, |text| {
        let text = text.trim();
        let fits = (1..=LONGEST_NAME).contains(&text.len()) && !text.chars().any(char::is_control);
        let hint = format!("write a name of up to {LONGEST_NAME} bytes");
        if fits { Ok(text.to_owned()) } else { Err((format!("name is {}", shown(text)), hint)) }
    });
    let kind: Option<FaultKind> = kind(word, &fields, mistakes);
    if kind.as_ref().is_some_and(|kind| *kind.place() != FaultPlace::Here) {
        let message = "an agent makes faults on its own machine";
        mistakes.error(fields.span, message, "drop host: and node:, or give that machine an agent");
    }
    let longest = time("longest", mistakes);
    let within = time("within", mistakes).unwrap_or(WITHIN);
    let text = |key, mistakes: &mut Mistakes| fields.get(key).and_then(|_| fields.name(key, mistakes));
    let (noticed, whole) = (text("noticed", mistakes), text("whole", mistakes));
    Some(AllowedFault {
        name: name?,
        kind: kind?,
        longest: longest?,
        within,
        noticed,
        whole,
        span: item.span,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::model::faults::FaultKind;
    use crate::parse_allowed_faults;

    #[test]
    fn the_faults_of_an_agent_are_read() {
        let text = "faults:\n- {name: osd hangs, type: signal, signal: STOP, process: ceph-osd, longest: 2m}\n- {name: net, type: \
                    command, inject: a, heal: b, proof: c, longest: 30s, within: 5s, noticed: d, whole: e}\n- {name: slow, type: \
                    cgroup, process: x, cpu: 5 %, longest: 1m}\n";
        let (faults, mistakes) = parse_allowed_faults(text);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let names: Vec<&str> = faults.iter().map(|fault| fault.name.as_str()).collect();
        assert_eq!(names, ["osd hangs", "net", "slow"]);
        assert_eq!(
            (faults[0].longest, faults[0].within),
            (Duration::from_secs(120), Duration::from_secs(120))
        );
        let spec = faults[1].held_for(Duration::from_secs(7));
        assert_eq!((spec.hold, spec.within), (Duration::from_secs(7), Duration::from_secs(5)));
        assert_eq!((spec.noticed.as_deref(), spec.whole.as_deref()), (Some("d"), Some("e")));
        assert!(matches!(spec.kind, FaultKind::Command { .. }));
    }

    #[test]
    fn every_mistake_of_an_agents_file_is_named() {
        for (text, words) in [
            ("[]", "a file of faults"),
            ("fault: []", "no field `fault`"),
            ("{}", "names no faults"),
            ("faults: x", "faults is a list"),
            ("faults: [{type: signal, signal: STOP, process: x, longest: 1m}]", "needs `name`"),
            ("faults: [{name: a, type: signal, signal: STOP, process: x}]", "needs `longest`"),
            ("faults: [{name: a, type: signal, signal: STOP, process: x, longest: 0s}]", "longest is 0s"),
            ("faults: [{name: a, type: signal, signal: STOP, process: x, longest: 48h}]", "longest is 48h"),
            ("faults: [{name: a, longest: 1m}]", "no type"),
            (
                "faults: [{name: a, type: proxy, of: 'h:1', stall: true, longest: 1m}]",
                "makes no fault of type",
            ),
            ("faults: [{name: a, type: agent, agent: s, fault: x, longest: 1m}]", "makes no fault of type"),
            ("faults: [{name: a, type: none, longest: 1m}]", "makes no fault of type"),
            ("faults: [{name: a, type: command, inject: x, heal: y, longest: 1m}]", "needs `proof`"),
            (
                "faults: [{name: a, type: signal, signal: STOP, process: x, host: h, longest: 1m}]",
                "on its own machine",
            ),
            ("faults: [{name: a, type: signal, signal: STOP, process: x, longest: 1m, hold: 1s}]", "`hold`"),
            (
                "faults:\n- &a {name: a, type: signal, signal: STOP, process: x, longest: 1m}\n- *a\n",
                "two faults are called",
            ),
        ] {
            let (_, mistakes) = parse_allowed_faults(text);
            assert!(mistakes.iter().any(|one| one.message.contains(words)), "{text}: {mistakes:?}");
        }
    }
}
