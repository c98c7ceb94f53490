//! `thresholds:`, `search:` and `repeat:` of native YAML.

use crate::diagnostics::shown;
use crate::keys::attributes;
use crate::keys::values::parse_whole;
use crate::model::search::{Loads, MOST_REPEATS, MOST_STEPS, Over, Search, parse_load, parse_over};
use crate::model::threshold::{MOST_THRESHOLDS, Threshold};
use crate::model::{Stage, Work, WorkKind};
use crate::yaml::YamlReader;
use crate::yaml::fields::{Fields, text_of};
use crate::yaml::tree::{Node, NodeKind};

impl YamlReader<'_> {
    /// The thresholds of a stage; each names an operation that the stage has.
    pub(crate) fn thresholds(&mut self, fields: &Fields<'_>, works: &[Work]) -> Vec<Threshold> {
        let Some(node) = fields.get("thresholds") else { return Vec::new() };
        let mut found = Vec::new();
        for (threshold, node) in self.read_thresholds(node) {
            if !works.is_empty() && !names_one_of(&threshold, works.iter()) {
                self.unknown_operation(&threshold, node, works.iter());
            }
            found.push(threshold);
        }
        found
    }

    /// Those of the workload go to every stage with normal works that has the operation.
    pub(crate) fn common_thresholds(&mut self, fields: &Fields<'_>, stages: &mut [Stage]) {
        let Some(node) = fields.get("thresholds") else { return };
        for (threshold, node) in self.read_thresholds(node) {
            let normal = |stage: &Stage| stage.works.iter().any(|work| work.kind == WorkKind::Normal);
            let mut used = false;
            for stage in stages.iter_mut().filter(|stage| normal(stage)) {
                if names_one_of(&threshold, stage.works.iter()) {
                    used = true;
                    stage.thresholds.push(threshold.clone());
                }
            }
            if !used {
                self.unknown_operation(&threshold, node, stages.iter().flat_map(|stage| &stage.works));
            }
        }
    }

    fn read_thresholds<'n>(&mut self, node: &'n Node) -> Vec<(Threshold, &'n Node)> {
        let items = match &node.kind {
            NodeKind::Sequence(_) => self.items(node, "thresholds"),
            _ => std::slice::from_ref(node),
        };
        if items.len() > MOST_THRESHOLDS {
            self.mistakes.error(node.span, "too many thresholds", format!("at most {MOST_THRESHOLDS}"));
            return Vec::new();
        }
        let mut found = Vec::new();
        for item in items {
            let Some((text, span)) = text_of(item, "a threshold", self.mistakes) else { continue };
            match Threshold::parse(text) {
                Ok(threshold) => found.push((threshold, item)),
                Err((message, hint)) => self.mistakes.error(span, message, hint),
            }
        }
        found
    }

    fn unknown_operation<'w>(
        &mut self,
        threshold: &Threshold,
        node: &Node,
        works: impl Iterator<Item = &'w Work>,
    ) {
        let wanted = threshold.operation.as_deref().unwrap_or_default();
        let mut names: Vec<&str> =
            works.flat_map(|work| &work.operations).map(|operation| operation.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let message = if names.is_empty() || wanted.is_empty() {
            "no stage can meet this threshold: there is none with normal works".to_owned()
        } else {
            format!("there is no operation `{}`", shown(wanted))
        };
        let hint = format!("known: {}", names.into_iter().take(20).collect::<Vec<_>>().join(" "));
        self.mistakes.error(node.span, message, hint);
    }

    /// How many times a stage is run.
    pub(crate) fn repeats(&mut self, fields: &Fields<'_>) -> u32 {
        let count = fields.read("repeat", self.mistakes, |text| {
            let count = parse_whole(text)?;
            u32::try_from(count).ok().filter(|n| (1..=MOST_REPEATS).contains(n)).ok_or_else(|| {
                (format!("repeat is {}", shown(text)), format!("write a number from 1 to {MOST_REPEATS}"))
            })
        });
        let count = count.unwrap_or(1);
        if count > 1 && fields.get("search").is_some() {
            let hint = "a search repeats its trials by itself: see extend and confirm";
            self.mistakes.error(fields.span, "a stage has a search or is repeated, not both", hint);
            return 1;
        }
        count
    }

    /// The search of a stage.
    pub(crate) fn search(&mut self, outer: &Fields<'_>, works: &[Work]) -> Option<Search> {
        let node = outer.get("search")?;
        let fields = Fields::of(node, "a search", self.mistakes)?;
        fields.check(attributes::SEARCH, false, self.mistakes);
        if fields.get("over").is_none() {
            self.mistakes.error(fields.span, "a search needs `over`", "write over: rate or over: workers");
        }
        let over = fields.read("over", self.mistakes, parse_over);
        let loads = self.loads(&fields, over)?;
        let mut search = Search::new(over?, loads);
        for (row, value) in attributes::of_search() {
            fields.put(row, value, &mut search, self.mistakes);
        }
        self.search_fits(&fields, works);
        Some(search)
    }

    fn loads(&mut self, fields: &Fields<'_>, over: Option<Over>) -> Option<Loads> {
        if let Some(list) = fields.get("steps") {
            for key in ["from", "to"] {
                if let Some(node) = fields.get(key) {
                    self.mistakes.error(node.span, "a search has steps, or from and to", "drop one of them");
                }
            }
            let items = self.items(list, "steps");
            if items.len() > MOST_STEPS {
                self.mistakes.error(list.span, "too many steps", format!("at most {MOST_STEPS}"));
                return None;
            }
            let mut steps = Vec::new();
            for item in items {
                let (text, span) = text_of(item, "a step", self.mistakes)?;
                match parse_load(over, text) {
                    Ok(load) => steps.push(load),
                    Err((message, hint)) => self.mistakes.error(span, message, hint),
                }
            }
            return (!steps.is_empty()).then_some(Loads::Steps(steps));
        }
        for key in ["from", "to"] {
            if fields.get(key).is_none() {
                let hint = "give from and to, or a list of steps";
                self.mistakes.error(fields.span, format!("a search needs `{key}`"), hint);
            }
        }
        let from = fields.read("from", self.mistakes, |text| parse_load(over, text));
        let to = fields.read("to", self.mistakes, |text| parse_load(over, text));
        let (from, to) = (from?, to?);
        if from >= to {
            self.mistakes.error(fields.span, "the search ends where it begins", "give `to` more than `from`");
        }
        Some(Loads::Between(from, to))
    }

    fn search_fits(&mut self, fields: &Fields<'_>, works: &[Work]) {
        let mut wrong = |message: &str, hint: &str| self.mistakes.error(fields.span, message, hint);
        match works {
            [work] if work.kind == WorkKind::Normal => {
                if work.runtime.is_zero() {
                    wrong("the trials of a search need a runtime", "add runtime: to the work");
                }
            }
            [] => {}
            _ => wrong("a search needs a stage of one normal work", "put the other works into other stages"),
        }
    }
}

fn names_one_of<'w>(threshold: &Threshold, mut works: impl Iterator<Item = &'w Work>) -> bool {
    works.any(|work| work.operations.iter().any(|operation| threshold.is_about(operation)))
}
