//! `consistency:` of native YAML: `true`, `false`, or a map.

use cosmark_units::{Complaint, parse_bool};

use crate::diagnostics::{Mistakes, shown};
use crate::keys::attributes;
use crate::keys::values::{parse_time, parse_whole};
use crate::model::consistency::{
    ConsistencySpec, LONGEST_REACH, MOST_READERS, MOST_SHARE_PER_MILLION, SHORTEST_REACH,
};
use crate::model::{Stage, WorkKind};
use crate::yaml::fields::Fields;
use crate::yaml::tree::{Node, NodeKind};

/// Longest name of a container, in bytes: no store has longer ones.
const LONGEST_NAME: usize = 1024;

/// Reads one; `None` where it says no, or is a mistake.
pub(crate) fn read(node: &Node, mistakes: &mut Mistakes) -> Option<ConsistencySpec> {
    if let NodeKind::Scalar(text) = &node.kind {
        let hint = "write consistency: true, or a map such as {share: 0.5%, readers: 8}";
        return match parse_bool(text) {
            Some(wanted) => wanted.then(ConsistencySpec::default),
            None => {
                mistakes.error(node.span, format!("consistency is `{}`", shown(text)), hint);
                None
            }
        };
    }
    let fields = Fields::of(node, "consistency", mistakes)?;
    fields.check(attributes::CONSISTENCY, false, mistakes);
    let mut spec = ConsistencySpec::default();
    if let Some(share) = fields.read("share", mistakes, parse_percent) {
        spec.share_per_million = share;
    }
    if let Some(readers) = fields.read("readers", mistakes, parse_readers) {
        spec.readers = readers;
    }
    if let Some(lists) = fields.read("lists", mistakes, parse_yes) {
        spec.lists = lists;
    }
    let reach = fields.read("reach", mistakes, |text| {
        let reach = parse_time(text)?;
        let fits = (SHORTEST_REACH..=LONGEST_REACH).contains(&reach);
        let complaint = || (format!("reach is {}", shown(text)), "write a time from 10ms to 60s".to_owned());
        fits.then_some(reach).ok_or_else(complaint)
    });
    if let Some(reach) = reach {
        spec.reach = reach;
    }
    if fields.get("container").is_some() {
        spec.container = fields.name("container", mistakes);
    }
    // What is said above the stages, each of them has.
    if let Some(name) = spec.container.take_if(|name| name.len() > LONGEST_NAME) {
        let message = format!("the name of the container is too long: {}", shown(&name));
        mistakes.error(fields.span, message, format!("at most {LONGEST_NAME} bytes"));
    }
    Some(spec)
}

/// What a workload says holds for its stages with normal works that do not say it themselves; what a stage says has to fit it.
pub(crate) fn of_stage(
    stage: &Fields<'_>,
    works: &[crate::model::Work],
    common: Option<&ConsistencySpec>,
    mistakes: &mut Mistakes,
) -> Option<ConsistencySpec> {
    let is_load = works.iter().any(|work| work.kind == WorkKind::Normal);
    let Some(node) = stage.get("consistency") else { return common.filter(|_| is_load).cloned() };
    let own = read(node, mistakes)?;
    if !is_load {
        let hint = "put consistency: into the stage with the load, or above stages: for all that have one";
        mistakes.error(node.span, "a stage without normal works has no load to probe beside", hint);
        return None;
    }
    Some(own)
}

/// Warns of what is said above the stages for none of them.
pub(crate) fn is_used(node: &Node, stages: &[Stage], mistakes: &mut Mistakes) {
    if stages.iter().all(|stage| stage.consistency.is_none()) {
        let hint = "it needs a stage with normal works";
        mistakes.warning(node.span, "consistency is probed beside no stage", hint);
    }
}

fn parse_percent(text: &str) -> Result<u32, Complaint> {
    let plain = text.trim();
    let (number, scale) = plain.strip_suffix('%').map_or((plain, 1e6), |percent| (percent.trim(), 1e4));
    let share =
        number.parse::<f64>().ok().filter(|share| share.is_finite()).map(|share| (share * scale).round());
    let most = f64::from(MOST_SHARE_PER_MILLION);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and the most")]
    let whole = share.filter(|share| (1.0..=most).contains(share)).map(|share| share as u32);
    whole.ok_or_else(|| {
        let message = format!("the share of the prober is {}", shown(text));
        (message, "write a part of the load's operations up to 10 %, such as 1 % or 0.01".to_owned())
    })
}

fn parse_readers(text: &str) -> Result<u32, Complaint> {
    let readers = u32::try_from(parse_whole(text)?).unwrap_or(u32::MAX);
    let complaint =
        || (format!("readers is {}", shown(text)), format!("write a number from 1 to {MOST_READERS}"));
    (1..=MOST_READERS).contains(&readers).then_some(readers).ok_or_else(complaint)
}

fn parse_yes(text: &str) -> Result<bool, Complaint> {
    parse_bool(text).ok_or_else(|| (format!("lists is {}", shown(text)), "write true or false".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::model::consistency::ConsistencySpec;
    use crate::{Environment, Format, Workload, parse, to_yaml};

    fn read(top: &str, stage: &str) -> (Option<Workload>, Vec<String>) {
        let text = format!(
            "name: n\nstorage: {{type: mock}}\n{top}stages:\n  - {{name: init, works: [{{type: init, workers: 1, containers: \
             r(1,2)}}]}}\n  - name: main\n{stage}    works:\n      - {{name: w, workers: 4, runtime: 60s, operations: [{{type: read, \
             containers: c(1), objects: u(1,9)}}]}}\n"
        );
        let (workload, mistakes) = parse(&text, Format::Yaml, &Environment::default());
        (workload, mistakes.into_iter().map(|one| one.message).collect())
    }

    #[test]
    fn what_the_workload_says_holds_for_stages_with_a_load_that_do_not_say_it_themselves() {
        let given = |top: &str, stage: &str| {
            let (workload, mistakes) = read(top, stage);
            let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
            let (again, _) = parse(&to_yaml(&workload), Format::Yaml, &Environment::default());
            let all = |workload: &Workload| -> Vec<Option<ConsistencySpec>> {
                workload.stages.iter().map(|stage| stage.consistency.clone()).collect()
            };
            assert_eq!(again.map(|again| all(&again)), Some(all(&workload)), "{}", to_yaml(&workload));
            assert!(workload.stages[0].consistency.is_none());
            workload.stages[1].consistency.clone()
        };
        assert_eq!(given("", ""), None);
        assert_eq!(given("consistency: true\n", ""), Some(ConsistencySpec::default()));
        assert_eq!(given("consistency: true\n", "    consistency: false\n"), None);
        let all = "{share: 0.5%, readers: 9, lists: no, reach: 5s, container: probes}";
        let expected = ConsistencySpec {
            share_per_million: 5_000,
            readers: 9,
            lists: false,
            reach: Duration::from_secs(5),
            container: Some("probes".to_owned()),
        };
        assert_eq!(given("", &format!("    consistency: {all}\n")), Some(expected.clone()));
        assert_eq!(given(&format!("consistency: {all}\n"), ""), Some(expected));
        let share = given("", "    consistency: {share: 0.01}\n").map(|spec| spec.share_per_million);
        assert_eq!(share, Some(10_000));
    }

    #[test]
    fn every_mistake_of_it_is_named() {
        for (text, words) in [
            ("perhaps", "consistency is `perhaps`"),
            ("[1]", "consistency is a map"),
            ("{share: 0}", "share of the prober"),
            ("{share: 11%}", "share of the prober"),
            ("{share: nan}", "share of the prober"),
            ("{share: -1%}", "share of the prober"),
            ("{readers: 0}", "readers is 0"),
            ("{readers: 65}", "readers is 65"),
            ("{lists: some}", "lists is some"),
            ("{reach: 61s}", "reach is 61s"),
            ("{reach: 5}", "5"),
            ("{container: ''}", "container is empty"),
            ("{shares: 1%}", "no field `shares`"),
        ] {
            for (top, stage) in [
                (format!("consistency: {text}\n"), String::new()),
                (String::new(), format!("    consistency: {text}\n")),
            ] {
                let (workload, mistakes) = read(&top, &stage);
                assert!(workload.is_none(), "{text}");
                assert!(mistakes.iter().any(|one| one.contains(words)), "{text}: {mistakes:?}");
            }
        }
    }

    #[test]
    fn a_stage_without_a_load_is_not_probed() {
        let text = "name: n\nstorage: {type: mock}\nstages:\n  - name: init\n    consistency: true\n    works: [{type: init, workers: \
                    1, containers: r(1,2)}]\n";
        let (workload, mistakes) = parse(text, Format::Yaml, &Environment::default());
        assert!(workload.is_none());
        assert!(mistakes.iter().any(|one| one.message.contains("no load to probe")), "{mistakes:?}");
        let top =
            text.replace("    consistency: true\n", "").replace("stages:", "consistency: true\nstages:");
        let (workload, mistakes) = parse(&top, Format::Yaml, &Environment::default());
        assert!(workload.is_some());
        assert!(mistakes.iter().any(|one| one.message.contains("beside no stage")), "{mistakes:?}");
    }
}
