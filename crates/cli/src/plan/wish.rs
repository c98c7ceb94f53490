//! From the words of the command line to a store and a load that are wanted.

use std::collections::BTreeMap;

use cosmark_capacity::change::{More, machines};
use cosmark_capacity::ladder::Unit;

/// More machines of a role, and more times what there is of a unit, are not planned: that would take minutes.
const MOST_NODES: usize = 2_000;
const MOST_TIMES: f64 = 2_000.0;

/// How many of what was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Many {
    Times(f64),
    Count(usize),
}

impl Many {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(factor) = text.strip_suffix(['x', 'X']) {
            let factor = factor.trim().parse::<f64>().ok();
            return factor.filter(|factor| *factor > 0.0 && *factor <= MOST_TIMES).map(Self::Times);
        }
        text.parse::<u32>().ok().filter(|count| *count > 0).map(|count| Self::Count(count as usize))
    }

    /// How many machines there would be.
    fn of(self, now: usize, role: &str) -> Result<usize, String> {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "counts of machines"
        )]
        let count = match self {
            Self::Count(count) => count,
            Self::Times(factor) => {
                let count = now as f64 * factor;
                if (count - count.round()).abs() > 1e-6 || count < 0.5 {
                    return Err(format!(
                        "--nodes {role}={factor}x: {now} machine(s) times {factor} is no whole number; give a count: \
                         {role}={:.0}",
                        count.ceil()
                    ));
                }
                count.round() as usize
            }
        };
        if count > MOST_NODES {
            return Err(format!(
                "--nodes {role}={count}: no more than {MOST_NODES} machines of a role are planned"
            ));
        }
        Ok(count)
    }
}

/// A role as the run spells it, where it is one of these but for capitals.
fn as_spelt<'a>(role: &'a str, roles: &[&'a str]) -> &'a str {
    let mut alike = roles.iter().copied().filter(|own| own.eq_ignore_ascii_case(role));
    match (roles.contains(&role), alike.next(), alike.next()) {
        (false, Some(own), None) => own,
        _ => role,
    }
}

/// The machines and units that are wanted.
///
/// # Errors
/// One sentence with the remedy.
pub fn more(nodes: &[String], factors: &[String], units: &[Unit]) -> Result<More, String> {
    let machines = machines(units);
    let roles: Vec<&str> = machines.keys().copied().collect();
    let mut wanted = More::default();
    for text in nodes {
        let (role, many) = match text.rsplit_once('=') {
            Some((role, many)) => (Some(as_spelt(role.trim(), &roles)), many),
            None => (None, text.as_str()),
        };
        let Some(many) = Many::parse(many) else {
            return Err(format!(
                "--nodes {text}: write 2x, ROLE=2x or ROLE=COUNT; the roles are {}",
                roles.join(", ")
            ));
        };
        let chosen: Vec<(&str, usize)> = machines
            .iter()
            .filter(|(own, _)| role.is_none_or(|role| role == **own))
            .map(|(role, names)| (*role, names.len()))
            .collect();
        match (chosen.is_empty(), role, many) {
            (true, role, _) => {
                let role = role.unwrap_or_default();
                return Err(format!(
                    "--nodes {text}: no machine has the role {role}; the roles are {}",
                    roles.join(", ")
                ));
            }
            (_, None, Many::Count(_)) if chosen.len() > 1 => {
                return Err(format!("--nodes {text}: say of which role: {}", roles.join(", ")));
            }
            _ => {}
        }
        for (role, now) in chosen {
            if wanted.nodes.insert(role.to_owned(), many.of(now, role)?).is_some() {
                return Err(format!("--nodes {text}: machines of role {role} are given twice"));
            }
        }
    }
    for text in factors {
        let parsed = text.split_once('=').and_then(|(name, many)| Some((name.trim(), Many::parse(many)?)));
        let Some((name, Many::Times(factor))) = parsed.filter(|(name, _)| !name.is_empty()) else {
            return Err(format!("--units {text}: write disk=2x, cpu=2x, network=2x, quota=2x or DAEMON=2x"));
        };
        wanted.units.push((name.to_owned(), factor));
    }
    Ok(wanted)
}

/// Shares of operations.
///
/// # Errors
/// One sentence with the remedy.
pub fn mix(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let mut shares = BTreeMap::new();
    for part in text.split(',') {
        let (kind, share) = part.trim().split_once('=').unwrap_or((part.trim(), "100"));
        let share = share.trim().trim_end_matches('%').trim().parse::<f64>().ok();
        let share = share.filter(|share| share.is_finite() && *share >= 0.0);
        let (Some(share), false) = (share, kind.trim().is_empty()) else {
            return Err(format!("--mix {part}: write e.g. read=80,write=20"));
        };
        if shares.insert(kind.trim().to_owned(), share).is_some() {
            return Err(format!("--mix {part}: {} is given twice", kind.trim()));
        }
    }
    let sum = shares.values().sum::<f64>();
    if sum <= 0.0 {
        return Err(format!("--mix {text}: all shares are 0"));
    }
    if !sum.is_finite() {
        return Err(format!(
            "--mix {text}: the shares are too large to be added; write e.g. read=80,write=20"
        ));
    }
    Ok(shares)
}

/// No more workers of one kind are planned.
const MOST_WORKERS: u32 = 100_000;

/// Workers of each kind of operation.
///
/// # Errors
/// One sentence with the remedy.
pub fn workers_of(text: &str) -> Result<BTreeMap<String, u32>, String> {
    let mut workers = BTreeMap::new();
    for part in text.split(',') {
        let (kind, many) = part.split_once('=').unwrap_or((part, ""));
        let many = many.trim().parse::<u32>().ok().filter(|many| (1..=MOST_WORKERS).contains(many));
        let (Some(many), false) = (many, kind.trim().is_empty()) else {
            return Err(format!(
                "--workers-of {part}: write e.g. read=48,write=16, of 1 to {MOST_WORKERS} each"
            ));
        };
        if workers.insert(kind.trim().to_owned(), many).is_some() {
            return Err(format!("--workers-of {part}: {} is given twice", kind.trim()));
        }
    }
    Ok(workers)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use cosmark_metrics::ResourceKind;

    fn units() -> Vec<Unit> {
        [("p1", "proxy"), ("s1", "storage"), ("s2", "storage")]
            .map(|(node, role)| Unit {
                node: node.into(),
                role: role.into(),
                kind: ResourceKind::Machine,
                name: "cpu".into(),
            })
            .into()
    }

    fn nodes(words: &str) -> Result<BTreeMap<String, usize>, String> {
        let words: Vec<String> = words.split(',').map(str::to_owned).collect();
        more(&words, &[], &units()).map(|more| more.nodes)
    }

    #[test]
    fn factors_and_counts_are_machines_of_a_role() {
        let of =
            |list: &[(&str, usize)]| list.iter().map(|(role, count)| ((*role).to_owned(), *count)).collect();
        assert_eq!(nodes("2x"), Ok(of(&[("proxy", 2), ("storage", 4)])));
        assert_eq!(nodes("storage=1.5x"), Ok(of(&[("storage", 3)])));
        assert_eq!(nodes("proxy=4,storage=1"), Ok(of(&[("proxy", 4), ("storage", 1)])));
        assert_eq!(nodes("Storage=2x,PROXY=3"), Ok(of(&[("proxy", 3), ("storage", 4)])));
        let found = more(&[], &["disk=2x".into(), "swift-proxy-server=3x".into()], &units()).unwrap();
        assert_eq!(found.units, [("disk".to_owned(), 2.0), ("swift-proxy-server".to_owned(), 3.0)]);
    }

    #[test]
    fn roles_that_differ_in_capitals_alone_are_two_and_one_may_have_any_sign_in_it() {
        let units: Vec<Unit> = ["proxy", "Proxy", "a=b"]
            .map(|role| Unit {
                node: role.into(),
                role: role.into(),
                kind: ResourceKind::Machine,
                name: "cpu".into(),
            })
            .into();
        let of = |text: &str| more(&[text.to_owned()], &[], &units).map(|more| more.nodes);
        assert_eq!(of("Proxy=2x"), Ok(BTreeMap::from([("Proxy".to_owned(), 2)])));
        assert_eq!(of("a=b=3"), Ok(BTreeMap::from([("a=b".to_owned(), 3)])));
        assert!(of("PROXY=2x").unwrap_err().contains("no machine has the role PROXY"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        for (words, remedy) in [
            ("3", "say of which role: proxy, storage"),
            ("proxy=1.5x", "proxy=2"),
            ("disk=2x", "the roles are proxy, storage"),
            ("proxy=0", "ROLE=COUNT"),
            ("-2x", "write 2x"),
            ("proxy=nanx", "write 2x"),
            ("proxy=2001", "no more than 2000 machines"),
            ("storage=1001x", "no more than 2000 machines"),
            ("storage=99999x", "write 2x"),
            ("2x,proxy=3", "role proxy are given twice"),
            ("proxy=2,Proxy=3", "role proxy are given twice"),
            ("proxies=2x", "no machine has the role proxies; the roles are proxy, storage"),
        ] {
            let said = nodes(words).unwrap_err();
            assert!(said.contains(remedy), "{words}: {said}");
        }
        assert!(
            more(&[], &["disk=2".into()], &units()).is_err() && more(&[], &["=2x".into()], &units()).is_err()
        );
        assert_eq!(mix("read=80, write=20%").unwrap()["write"], 20.0);
        for bad in ["read=-1", "read=x", "read=0", "=5", "read=1,read=2", "read=1e308,write=1e308"] {
            assert!(mix(bad).is_err(), "{bad}");
        }
        assert_eq!(workers_of("read=48, write=16").unwrap()["write"], 16);
        for bad in ["read", "read=0", "read=1.5", "=5", "read=1,read=2", "read=100001", ""] {
            assert!(workers_of(bad).is_err(), "{bad}");
        }
    }
}
