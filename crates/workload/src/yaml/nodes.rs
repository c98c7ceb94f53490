//! `nodes:` of native YAML and of target files.

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
    // What is left is a type and its keys, as of a storage.
    let mut source = item.clone();
    if let NodeKind::Mapping(pairs) = &mut source.kind {
        pairs.retain(|pair| pair.key != "name" && pair.key != "role");
    }
    let source = fields::target(&source, "node", mistakes)?;
    Some(NodeSpec { name: name?, role, source })
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
    fn mistakes_are_named_at_their_place() {
        for (nodes, words) in [
            ("nodes: 3\n", "nodes is a list"),
            ("nodes:\n  - x\n", "a node is a map"),
            ("nodes:\n  - {type: local}\n", "a node has no name"),
            ("nodes:\n  - {name: a}\n", "node type cannot be empty"),
            ("nodes:\n  - {name: a, type: local}\n  - {name: a, type: local}\n", "two nodes are called"),
        ] {
            let (workload, mistakes) =
                parse(&format!("{HEAD}{nodes}"), Format::Yaml, &Environment::default());
            assert!(workload.is_none(), "{nodes}");
            assert!(mistakes.iter().any(|one| one.message.contains(words)), "{nodes}: {mistakes:?}");
        }
    }
}
