//! Native YAML to a [`Workload`]: the same model as COSBench XML, in snake_case, with durations, a stage matrix, open loops
//! and references to secrets. Described in `docs/reference/workload-yaml.md`.

pub(crate) mod allowed;
mod consistency;
mod dataset;
pub(crate) mod faults;
pub(crate) mod fields;
pub(crate) mod fill;
mod goals;
pub(crate) mod matrix;
mod nodes;
pub(crate) mod tree;
pub(crate) mod work;

use std::time::Duration;

use cosmark_units::Complaint;

use crate::Environment;
use crate::assemble::{self, MAX_OPERATIONS, MAX_PER_PARENT, MAX_STAGES, NO_STORAGE, no_target};
use crate::diagnostics::{Mistakes, shown};
use crate::keys::attributes;
use crate::keys::operation::Settings;
use crate::model::consistency::ConsistencySpec;
use crate::model::nodes::NodeSpec;
use crate::model::search::{Order, repeated};
use crate::model::{Stage, TargetSpec, Trigger, Workload};
use crate::plan::drivers::DriversWanted;
use crate::room::{self, Room};
use crate::yaml::fields::{Fields, settings, text_of};
use crate::yaml::tree::{Node, NodeKind};

/// Reads a workload; `None` when there is none to speak of.
pub(crate) fn parse(source: &str, environment: &Environment, mistakes: &mut Mistakes) -> Option<Workload> {
    let mut root = tree::read(source, mistakes)?;
    tree::report_duplicates(&root, mistakes);
    dataset::expand(&mut root, environment, mistakes);
    let fields = Fields::of(&root, "a workload", mistakes)?;
    let mut reader = YamlReader {
        mistakes,
        operations: 0,
        room: Room::default(),
        stored: true,
        consistency: None,
        order: Order(0),
    };
    let mut workload = reader.workload(&fields)?;
    assemble::number_operations(&mut workload);
    Some(workload)
}

/// Auth, storage and nodes.
type TargetParts = (Option<TargetSpec>, Option<TargetSpec>, Vec<NodeSpec>);

/// Reads a target file.
pub(crate) fn parse_target(source: &str, mistakes: &mut Mistakes) -> Option<TargetParts> {
    let root = tree::read(source, mistakes)?;
    tree::report_duplicates(&root, mistakes);
    let fields = Fields::of(&root, "a target", mistakes)?;
    fields.check_words(&["auth", "storage", "nodes", "name", "description"], mistakes);
    let auth = fields.get("auth").and_then(|node| fields::target(node, "auth", mistakes));
    let storage = fields.get("storage").and_then(|node| fields::target(node, "storage", mistakes));
    if fields.get("auth").is_none() && fields.get("storage").is_none() {
        let hint = "write storage: with its type and keys";
        mistakes.error(fields.span, "a target has an auth, a storage or both", hint);
    }
    let nodes = fields.get("nodes").map(|node| nodes::read(node, mistakes)).unwrap_or_default();
    Some((auth, storage, nodes))
}

/// What a stage or a work inherits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Level {
    pub(crate) settings: Settings,
    pub(crate) auth: Option<TargetSpec>,
    pub(crate) storage: Option<TargetSpec>,
}

impl Level {
    /// What its auth and its storage weigh.
    pub(crate) fn targets_bytes(&self) -> usize {
        [&self.auth, &self.storage].into_iter().flatten().map(room::of_target).sum()
    }
}

pub(crate) struct YamlReader<'a> {
    pub(crate) mistakes: &'a mut Mistakes,
    pub(crate) operations: usize,
    /// For what works and operations hold.
    pub(crate) room: Room,
    /// False once a work without a storage was met.
    pub(crate) stored: bool,
    /// What is probed beside stages that do not say it themselves.
    consistency: Option<ConsistencySpec>,
    /// Draws the order of repetitions.
    order: Order,
}

impl YamlReader<'_> {
    fn workload(&mut self, fields: &Fields<'_>) -> Option<Workload> {
        fields.check(attributes::WORKLOAD, false, self.mistakes);
        let name = fields.name("name", self.mistakes).unwrap_or_default();
        match fields.get("name") {
            Some(given) => assemble::workload_name(&name, given.span, self.mistakes),
            None => self.mistakes.error(fields.span, "workload name cannot be empty", "add name: at the top"),
        }
        let mut workload = Workload { name, trigger: self.trigger(fields), ..Workload::default() };
        self.values(&mut workload, fields);
        workload.nodes = fields.get("nodes").map(|node| nodes::read(node, self.mistakes)).unwrap_or_default();
        let probed = fields.get("consistency");
        self.consistency = probed.and_then(|node| consistency::read(node, self.mistakes));
        let level = self.enter(fields, &Level::default());
        self.order = Order(workload.seed.unwrap_or(0));
        let stages = &mut workload.stages;
        let Some(list) = fields.get("stages") else {
            self.mistakes.error(fields.span, "the workload has no stages", "add stages: with at least one");
            return None;
        };
        for node in self.items(list, "stages") {
            if self.operations > MAX_OPERATIONS || self.room.is_full() {
                break;
            }
            self.stage_or_matrix(node, &level, stages);
        }
        if self.operations > MAX_OPERATIONS {
            self.mistakes.error(
                list.span,
                "too many operations",
                format!("at most {MAX_OPERATIONS} over all stages"),
            );
        }
        self.common_thresholds(fields, stages);
        if let Some(node) = probed.filter(|_| self.consistency.is_some()) {
            consistency::is_used(node, stages, self.mistakes);
        }
        if !self.stored {
            let hint =
                "without one every operation succeeds at once and nothing is measured but Cosmark itself";
            self.mistakes.warning(fields.span, NO_STORAGE, hint);
        }
        Some(workload)
    }

    /// The fields that are one value each.
    fn values(&mut self, workload: &mut Workload, fields: &Fields<'_>) {
        for (row, value) in attributes::of_workload() {
            match fields.get(row.yaml) {
                Some(node) if row.yaml == "drivers" && matches!(node.kind, NodeKind::Mapping(_)) => {
                    workload.drivers = self.drivers(node);
                }
                _ => {
                    fields.put(row, value, workload, self.mistakes);
                }
            }
        }
    }

    /// `{count: 3, labels: zone=a, wait: 2m}`.
    fn drivers(&mut self, node: &Node) -> DriversWanted {
        let Some(own) = Fields::of(node, "drivers", self.mistakes) else { return DriversWanted::default() };
        own.check_words(&["count", "labels", "wait"], self.mistakes);
        let mut wanted = DriversWanted { wait: own.time("wait", self.mistakes), ..DriversWanted::default() };
        wanted.count = own.read("count", self.mistakes, |text| {
            let wrong = || {
                (format!("`{}` is no number of drivers", shown(text)), "give a number from 1 on".to_owned())
            };
            let read = DriversWanted::of_text(text).ok().filter(|read| read.which.is_empty());
            read.and_then(|read| read.count).ok_or_else(wrong)
        });
        let which = own.read("labels", self.mistakes, |text| {
            let read = DriversWanted::of_text(text)?;
            match read.count {
                None => Ok(read.which),
                Some(count) => {
                    Err((format!("{count} is no label"), format!("write count: {count} beside labels")))
                }
            }
        });
        wanted.which = which.unwrap_or_default();
        wanted
    }

    /// The items of a list that may not be empty.
    pub(crate) fn items<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        match &node.kind {
            NodeKind::Sequence(items) if !items.is_empty() => items,
            NodeKind::Sequence(_) => {
                self.mistakes.error(
                    node.span,
                    format!("{what} is empty"),
                    "give at least one, each behind a `-`",
                );
                &[]
            }
            _ => {
                let message = format!("{what} is a list, not {}", node.what());
                self.mistakes.error(node.span, message, "begin each with `-`");
                &[]
            }
        }
    }

    fn stage_or_matrix(&mut self, node: &Node, level: &Level, stages: &mut Vec<Stage>) {
        let Some(fields) = Fields::of(node, "a stage", self.mistakes) else { return };
        if stages.len() >= MAX_STAGES {
            self.mistakes.error(node.span, "too many stages", format!("at most {MAX_STAGES}"));
            return;
        }
        if let Some(own) = fields.get("fill") {
            stages.extend(fill::stages(self, &fields, own, level));
            return;
        }
        let before = (self.operations, self.room.used());
        let mut cells = Vec::new();
        match fields.get("matrix") {
            Some(axes) => self.cells(node, &fields, axes, level, stages.len(), &mut cells),
            None => cells.extend(self.single(node, &fields, level)),
        }
        let times = self.repeats(&fields);
        if times > 1 && (stages.len() + cells.len() * times as usize) > MAX_STAGES {
            self.mistakes.error(node.span, "too many stages", format!("at most {MAX_STAGES} in a workload"));
            return;
        }
        if times <= 1 {
            stages.extend(cells);
        } else if self.may_repeat(node, cells.len(), times as usize, before) {
            stages.extend(repeated(cells, times, &mut self.order));
        }
    }

    /// Whether there may be so many rounds of these cells; `before` are the operations and the room before them.
    fn may_repeat(&mut self, node: &Node, cells: usize, times: usize, before: (usize, usize)) -> bool {
        let more = |now: usize, before: usize| (now - before).saturating_mul(times - 1);
        let (operations, bytes) = (more(self.operations, before.0), more(self.room.used(), before.1));
        // Too many of them are reported with those of the other stages.
        self.operations = self.operations.saturating_add(operations);
        self.operations <= MAX_OPERATIONS
            && self.room.take(bytes, node.span, self.mistakes)
            && matrix::fits(node, cells.saturating_mul(times), self.mistakes)
    }

    /// One stage for every combination of the axes.
    fn cells(
        &mut self,
        node: &Node,
        fields: &Fields<'_>,
        axes: &Node,
        level: &Level,
        before: usize,
        stages: &mut Vec<Stage>,
    ) {
        let Some(combinations) = matrix::combinations(axes, self.mistakes) else { return };
        if before + combinations.len() > MAX_STAGES {
            self.mistakes.error(axes.span, "too many stages", format!("at most {MAX_STAGES} in a workload"));
            return;
        }
        if !matrix::fits(node, combinations.len(), self.mistakes) {
            return;
        }
        let named =
            fields.get("name").is_some_and(|n| matches!(&n.kind, NodeKind::Scalar(t) if matrix::refers(t)));
        for values in &combinations {
            let mut copy = node.clone();
            if let NodeKind::Mapping(pairs) = &mut copy.kind {
                pairs.retain(|pair| pair.key != "matrix");
            }
            matrix::substitute(&mut copy, Some(values), self.mistakes);
            let Some(fields) = Fields::of(&copy, "a stage", self.mistakes) else { return };
            if let Some(mut stage) = self.stage(&fields, level) {
                if !named {
                    stage.name.push_str(&matrix::suffix(values));
                }
                stages.push(stage);
            }
            if self.operations > MAX_OPERATIONS || self.room.is_full() {
                return;
            }
        }
    }

    /// A stage without a matrix.
    fn single(&mut self, node: &Node, fields: &Fields<'_>, level: &Level) -> Option<Stage> {
        if !matrix::has_expressions(node) {
            return self.stage(fields, level);
        }
        let mut copy = node.clone();
        matrix::substitute(&mut copy, None, self.mistakes);
        let fields = Fields::of(&copy, "a stage", self.mistakes)?;
        self.stage(&fields, level)
    }

    fn stage(&mut self, fields: &Fields<'_>, outer: &Level) -> Option<Stage> {
        fields.check(attributes::STAGE, false, self.mistakes);
        let name = fields.name("name", self.mistakes).unwrap_or_default();
        if fields.get("name").is_none() {
            self.mistakes.error(fields.span, "stage name cannot be empty", "add name: to the stage");
        }
        let trigger = self.trigger(fields);
        let level = self.enter(fields, outer);
        let mut stage = assemble::blank_stage(name, trigger, fields.span);
        for (row, value) in attributes::of_stage() {
            fields.put(row, value, &mut stage, self.mistakes);
        }
        let works = &mut stage.works;
        match (fields.get("delay"), fields.get("works")) {
            (Some(delay), Some(_)) => {
                let hint = "for a pause after the works write closure_delay";
                self.mistakes.error(delay.span, "a stage has works or a delay, not both", hint);
            }
            (Some(_), None) => {
                let delay = fields.time("delay", self.mistakes).unwrap_or(Duration::from_secs(1));
                if delay.is_zero() {
                    self.mistakes.warning(
                        fields.span,
                        "this stage does not wait",
                        "give a delay, e.g. delay: 30s",
                    );
                }
                stage.closure_delay = stage.closure_delay.saturating_add(delay);
            }
            (None, Some(list)) => {
                for node in self.items(list, "works") {
                    if self.operations > MAX_OPERATIONS || self.room.is_full() {
                        break;
                    }
                    if works.len() == MAX_PER_PARENT {
                        let hint = format!("at most {MAX_PER_PARENT}");
                        self.mistakes.error(node.span, "too many works in one stage", hint);
                        break;
                    }
                    if let Some(work) = work::read(self, node, &level) {
                        self.operations += work.operations.len();
                        works.push(work);
                    }
                }
            }
            (None, None) => {
                self.mistakes.error(
                    fields.span,
                    "this stage has no works",
                    "add works:, or delay: for a pause",
                );
            }
        }
        stage.thresholds = self.thresholds(fields, &stage.works);
        stage.search = self.search(fields, &stage.works);
        stage.faults = faults::read(fields, &stage.works, self.mistakes);
        let common = self.consistency.as_ref();
        stage.consistency = consistency::of_stage(fields, &stage.works, common, self.mistakes);
        Some(stage)
    }

    /// What the children of a map inherit: its own auth, storage and defaults over the outer ones.
    pub(crate) fn enter(&mut self, fields: &Fields<'_>, outer: &Level) -> Level {
        let bytes = outer.targets_bytes() + room::of_settings(&outer.settings.0);
        if !self.room.pass(bytes, fields.span, self.mistakes) {
            return Level { auth: Some(no_target()), storage: Some(no_target()), ..Level::default() };
        }
        let mut inner = Settings::default();
        if let Some(defaults) = fields.get("defaults")
            && let Some(defaults) = Fields::of(defaults, "defaults", self.mistakes)
        {
            defaults.check(&[], true, self.mistakes);
            inner = settings(defaults.pairs, self.mistakes);
        }
        let mut target = |which, outer: &Option<TargetSpec>| match fields.get(which) {
            // A target that cannot be read was reported: it is not missing as well.
            Some(node) => Some(fields::target(node, which, self.mistakes).unwrap_or_else(no_target)),
            None => outer.clone(),
        };
        let (auth, storage) = (target("auth", &outer.auth), target("storage", &outer.storage));
        Level { settings: outer.settings.overridden(&inner), auth, storage }
    }

    fn trigger(&mut self, fields: &Fields<'_>) -> Option<Trigger> {
        let node = fields.get("trigger")?;
        let read = if let NodeKind::Mapping(_) = node.kind {
            self.trigger_map(node)?
        } else {
            let (text, _) = text_of(node, "trigger", self.mistakes)?;
            assemble::parse_trigger(text)
        };
        read.map_err(|(message, hint)| self.mistakes.error(node.span, message, hint)).ok()
    }

    fn trigger_map(&mut self, node: &Node) -> Option<Result<Trigger, Complaint>> {
        let fields = Fields::of(node, "a trigger", self.mistakes)?;
        fields.check_words(&["script", "args"], self.mistakes);
        let Some((script, _)) = fields.text("script", self.mistakes) else {
            let hint = "write trigger: {script: before.sh, args: [a, b]}";
            self.mistakes.error(fields.span, "a trigger needs a script", hint);
            return None;
        };
        let mut args = Vec::new();
        match fields.get("args").map(|node| (&node.kind, node.span)) {
            None => {}
            Some((NodeKind::Sequence(items), _)) => {
                for item in items {
                    args.push(text_of(item, "an argument", self.mistakes)?.0.to_owned());
                }
            }
            Some((_, span)) => self.mistakes.error(span, "args is a list", "write args: [a, b]"),
        }
        let script = script.trim().to_owned();
        Some(assemble::check_script(&script).map(|()| Trigger { script, args }))
    }
}
