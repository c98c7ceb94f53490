//! `nodes:` of native YAML and of target files.

use cosmark_units::parse_speed;

use crate::diagnostics::{Mistakes, shown};
use crate::model::nodes::{MOST_NODES, NodeSpec};
use crate::yaml::fields::{self, Fields};
use crate::yaml::tree::{Node, NodeKind};

/// The machines of a list; none of them where it is no list.
pub(crate) fn read(node: &Node, mistakes: &mut Mistakes) -> Vec<NodeSpec> {
    let NodeKind::Sequence(items) = &node.kind else {
        let hint = "write nodes: with one `- {name: .., role: .., type: ..}` for each machine";
        mistakes.error(node.span, format!("nodes is a list, not {}", node.what()), hint);
        return Vec::new();
    };
    if items.len() > MOST_NODES {
        mistakes.error(node.span, "too many nodes", format!("at most {MOST_NODES}"));
        return Vec::new();
    }
    let mut found: Vec<NodeSpec> = Vec::new();
    for item in items {
        let Some(one) = one(item, mistakes) else { continue };
        if found.iter().any(|other| other.name == one.name) {
            let message = format!("two nodes are called {}", shown(&one.name));
            mistakes.error(item.span, message, "give each machine a name of its own");
            continue;
        }
        found.push(one);
    }
    found
}

fn one(item: &Node, mistakes: &mut Mistakes) -> Option<NodeSpec> {
    let fields = Fields::of(item, "a node", mistakes)?;
    let name = fields.name("name", mistakes);
    if fields.get("name").is_none() {
        mistakes.error(fields.span, "a node has no name", "add name:, as it is to be called in the results");
    }
    let role = match fields.get("role") {
        Some(_) => fields.name("role", mistakes)?,
        None => "store".to_owned(),
    };
    let links = fields.get("links").map_or_else(Vec::new, |node| links(node, mistakes));
    // What is left is a type and its keys, as of a storage.
    let mut source = item.clone();
    if let NodeKind::Mapping(pairs) = &mut source.kind {
        pairs.retain(|pair| !["name", "role", "links"].contains(&pair.key.as_str()));
    }
    let source = fields::target(&source, "node", mistakes)?;
    Some(NodeSpec { name: name?, role, links, source })
}

/// Speeds of interfaces, by their names.
fn links(node: &Node, mistakes: &mut Mistakes) -> Vec<(String, f64)> {
    let Some(fields) = Fields::of(node, "links", mistakes) else { return Vec::new() };
    let mut found: Vec<(String, f64)> = Vec::new();
    for pair in fields.pairs {
        let name = pair.key.trim();
        if name.is_empty() || found.iter().any(|(other, _)| other == name) {
            let message = format!("the interface `{}` has no name or is given twice", shown(name));
            mistakes.error(pair.key_span, message, "write each one once: links: {eth0: 40Mbit/s}");
            continue;
        }
        let Some((text, span)) = fields::text_of(&pair.value, &pair.key, mistakes) else { continue };
        match parse_speed(text) {
            Ok(speed) => found.push((name.to_owned(), speed)),
            Err((message, hint)) => mistakes.error(span, message, hint),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::model::ConfigValue;
    use crate::{Environment, Format, parse, parse_target, to_yaml};

    const HEAD: &str = "name: n\nstages:\n  - {name: p, delay: 1s}\n";

    #[test]
    fn nodes_are_read_from_workloads_and_targets_and_written_again() {
        let nodes = "nodes:\n  - {name: proxy1, role: proxy, type: ssh, host: a@b}\n  - {name: s1, type: prometheus, url: \
                     'http://x/metrics', token: {env: T}}\n";
        let (workload, mistakes) = parse(&format!("{HEAD}{nodes}"), Format::Yaml, &Environment::default());
        let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
        let [first, second] = workload.nodes.as_slice() else { panic!("{:?}", workload.nodes) };
        assert_eq!((first.role.as_str(), second.role.as_str()), ("proxy", "store"));
        assert_eq!(second.source.config.entries[1].value, ConfigValue::Env("T".to_owned()));
        let again = parse(&to_yaml(&workload), Format::Yaml, &Environment::default()).0;
        let names = |nodes: &[super::NodeSpec]| -> Vec<(String, String, usize)> {
            let one = |node: &super::NodeSpec| {
                (node.name.clone(), node.source.kind.clone(), node.source.config.entries.len())
            };
            nodes.iter().map(one).collect()
        };
        assert_eq!(again.map(|again| names(&again.nodes)), Some(names(&workload.nodes)));
        let (target, mistakes) = parse_target(&format!("storage: {{type: mock}}\n{nodes}"));
        assert_eq!(target.map(|target| names(&target.nodes)), Some(names(&workload.nodes)), "{mistakes:?}");
    }

    #[test]
    fn speeds_of_links_are_read_and_written_again() {
        let nodes = "nodes:\n  - {name: a, type: local, links: {eth0: 40Mbit/s, \"no\": 1.5 Gbit/s}}\n  - {name: b, type: local}\n";
        let (workload, mistakes) = parse(&format!("{HEAD}{nodes}"), Format::Yaml, &Environment::default());
        let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
        assert_eq!(workload.nodes[0].links, [("eth0".to_owned(), 5e6), ("no".to_owned(), 1.875e8)]);
        assert!(workload.nodes[0].source.config.entries.is_empty() && workload.nodes[1].links.is_empty());
        let again = parse(&to_yaml(&workload), Format::Yaml, &Environment::default()).0;
        let again = again.map(|again| again.nodes.into_iter().map(|node| node.links).collect::<Vec<_>>());
        assert_eq!(again, Some(vec![workload.nodes[0].links.clone(), Vec::new()]));
    }

    #[test]
    fn mistakes_are_named_at_their_place() {
        for (nodes, words) in [
            ("nodes: 3\n", "nodes is a list"),
            ("nodes:\n  - x\n", "a node is a map"),
            ("nodes:\n  - {type: local}\n", "a node has no name"),
            ("nodes:\n  - {name: a}\n", "node type cannot be empty"),
            ("nodes:\n  - {name: a, type: local}\n  - {name: a, type: local}\n", "two nodes are called"),
            ("nodes:\n  - {name: a, type: local, links: 40Mbit/s}\n", "links is a map"),
            ("nodes:\n  - {name: a, type: local, links: {eth0: 40}}\n", "`40` is not the speed of a link"),
            ("nodes:\n  - {name: a, type: local, links: {eth0: }}\n", "eth0 has no value"),
        ] {
            let (workload, mistakes) =
                parse(&format!("{HEAD}{nodes}"), Format::Yaml, &Environment::default());
            assert!(workload.is_none(), "{nodes}");
            assert!(mistakes.iter().any(|one| one.message.contains(words)), "{nodes}: {mistakes:?}");
        }
        // The remedies are of nodes, and not of storages.
        for (nodes, words) in [
            ("nodes:\n  - {name: a}\n", "type: local"),
            ("nodes:\n  - {name: a, type: local, daemons: [b, c]}\n", "with commas"),
        ] {
            let (_, mistakes) = parse(&format!("{HEAD}{nodes}"), Format::Yaml, &Environment::default());
            assert!(
                mistakes.iter().any(|one| one.hint.as_ref().is_some_and(|hint| hint.contains(words))),
                "{nodes}: {mistakes:?}"
            );
        }
    }
}
