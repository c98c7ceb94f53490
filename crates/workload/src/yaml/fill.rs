//! `fill:` of a stage: a data set is written, and aged. It becomes stages of special works, each a pass over the data set:
//! its containers are made, it is filled, and in each round of ageing a part is overwritten, a part deleted and written again.

use std::sync::Arc;
use std::time::Duration;

use cosmark_units::{Complaint, parse_size};

use crate::assemble::{blank_stage, blank_work, no_target};
use crate::diagnostics::{Mistakes, Span, shown};
use crate::keys::operation::{self, Dialect, Setting, Settings};
use crate::keys::values::{parse_share, parse_time, parse_whole};
use crate::keys::{KeyId, attributes};
use crate::model::dataset::{DataSetFacts, DataSetUse, FillPass, MOST_OBJECTS, cell_of, is_name, is_node};
use crate::model::selector::{IntSelector, SizeSelector};
use crate::model::{Content, Division, OpKind, Stage, Work, WorkKind};
use crate::yaml::fields::Fields;
use crate::yaml::tree::{Node, NodeKind};
use crate::yaml::{Level, YamlReader};

/// Most rounds of ageing.
const MOST_ROUNDS: u64 = 100;
/// Most containers: making them is no load that is looked at.
const MOST_CONTAINERS: u64 = 1_000_000;
const DEFAULT_WORKERS: u32 = 16;
const HINT: &str =
    "write fill: {dataset: pebbles, objects: 1000000, containers: r(1,4), sizes: c(10)KB, workers: 64}";

/// What a data set holds that is filled until the store is full enough, nobody knows before.
const READ_LATER: &str = "how many objects it has is known when the store is full enough: read it in a later run, from a workload \
                          without this fill";

/// What stands in a `fill:`.
struct Fill {
    dataset: String,
    objects: u64,
    containers: (u64, u64),
    sizes: SizeSelector,
    workers: u32,
    interval: Duration,
    scattered: bool,
    /// Objects of each round.
    overwritten: u64,
    deleted: u64,
    rounds: u32,
    afr_per_million: u32,
    full_at_ppm: Option<u32>,
    full_by: Vec<String>,
    container_prefix: String,
    object_prefix: String,
}

/// One pass and what it does.
struct Step {
    suffix: String,
    kind: WorkKind,
    round: u32,
    scattered: bool,
    start: u64,
    count: u64,
}

/// What a stage with a `fill:` makes known to those behind it: nothing where it is wrong, which is told when it is read. `None`
/// for a stage without one.
pub(super) fn facts(stage: &Node) -> Option<Option<DataSetFacts>> {
    let NodeKind::Mapping(pairs) = &stage.kind else { return None };
    let node = &pairs.iter().find(|pair| pair.key == "fill")?.value;
    let mut unheard = Mistakes::default();
    Some(read(node, &mut unheard).map(|fill| fill.facts()))
}

impl Fill {
    fn grid(&self) -> u64 {
        self.containers.1 - self.containers.0 + 1
    }

    fn facts(&self) -> DataSetFacts {
        DataSetFacts {
            of: self.of(),
            container_names: (self.container_prefix.clone(), String::new()),
            object_names: (self.object_prefix.clone(), String::new()),
            refused: self.full_at_ppm.map(|_| READ_LATER.to_owned()),
        }
    }

    /// What may be read: objects that every container has.
    fn of(&self) -> DataSetUse {
        DataSetUse {
            name: self.dataset.clone(),
            containers: self.containers,
            objects: (1, (self.objects / self.grid()).max(1)),
            sizes: self.sizes.clone(),
        }
    }

    fn steps(&self) -> Vec<Step> {
        let whole = Step {
            suffix: String::new(),
            kind: WorkKind::Prepare,
            round: 0,
            scattered: self.scattered,
            start: 0,
            count: self.objects,
        };
        let mut steps = vec![whole];
        let mut start = 0;
        for round in 1..=self.rounds {
            let mut part = |word: &str, kind, start, count| {
                let suffix = format!("-{word}-{round}");
                steps.push(Step { suffix, kind, round, scattered: true, start, count });
            };
            if self.overwritten > 0 {
                part("overwrite", WorkKind::Prepare, start, self.overwritten);
            }
            start = (start + self.overwritten) % self.objects;
            if self.deleted > 0 {
                part("delete", WorkKind::Cleanup, start, self.deleted);
                part("rewrite", WorkKind::Prepare, start, self.deleted);
            }
            start = (start + self.deleted) % self.objects;
        }
        steps
    }
}

/// The stages that a `fill:` stands for.
pub(super) fn stages(
    reader: &mut YamlReader<'_>,
    fields: &Fields<'_>,
    node: &Node,
    outer: &Level,
) -> Vec<Stage> {
    let known = ["name", "fill", "trigger", "auth", "storage", "defaults"];
    fields.check_words(&known, reader.mistakes);
    let Some(name) = fields.name("name", reader.mistakes) else {
        reader.mistakes.error(fields.span, "stage name cannot be empty", "add name: to the stage");
        return Vec::new();
    };
    let trigger = reader.trigger(fields);
    let level = reader.enter(fields, outer);
    reader.stored &= level.storage.is_some();
    let Some(fill) = read(node, reader.mistakes) else { return Vec::new() };
    let steps = fill.steps();
    let names = fill.container_prefix.len() + fill.object_prefix.len();
    let bytes = (steps.len() + 1).saturating_mul(level.targets_bytes() + 2 * names);
    if !reader.room.take(bytes, node.span, reader.mistakes) {
        return Vec::new();
    }
    let count = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let mut stages = vec![blank_stage(format!("{name}-init"), trigger, node.span)];
    stages[0].works = vec![work(reader, &fill, &level, node.span, WorkKind::Init, None)];
    for (step, index) in steps.into_iter().zip(0..) {
        let pass = FillPass {
            dataset: fill.dataset.clone(),
            objects: fill.objects,
            step: index,
            steps: count,
            round: step.round,
            scattered: step.scattered,
            start: step.start,
            count: step.count,
            full_at_ppm: fill.full_at_ppm,
            full_by: fill.full_by.clone(),
            seed: None,
            left: None,
            again: 0,
            later: 0,
        };
        let mut stage = blank_stage(format!("{name}{}", step.suffix), None, node.span);
        stage.works = vec![work(reader, &fill, &level, node.span, step.kind, Some(pass))];
        stages.push(stage);
    }
    reader.operations += stages.len();
    stages
}

fn work(
    reader: &mut YamlReader<'_>,
    fill: &Fill,
    level: &Level,
    span: Span,
    kind: WorkKind,
    pass: Option<FillPass>,
) -> Work {
    let (op, division) = match kind {
        WorkKind::Init => (OpKind::Init, Division::Container),
        WorkKind::Cleanup => (OpKind::Cleanup, Division::Object),
        _ => (OpKind::Prepare, Division::Object),
    };
    let last = cell_of(fill.objects - 1, fill.grid()).object + 1;
    let own = [
        (KeyId::Containers, format!("r({},{})", fill.containers.0, fill.containers.1)),
        (KeyId::Objects, format!("r(1,{last})")),
        (KeyId::Sizes, fill.sizes.to_string()),
        (KeyId::ContainerPrefix, fill.container_prefix.clone()),
        (KeyId::ObjectPrefix, fill.object_prefix.clone()),
    ];
    let settings = own.into_iter().map(|(id, value)| Setting { id, value, span, own: true });
    let mut operation =
        operation::build(op, true, &Settings(settings.collect()), Dialect::Yaml, span, reader.mistakes);
    operation.division = division;
    operation.content = Content::Random;
    let most = if kind == WorkKind::Init { fill.grid() } else { pass.as_ref().map_or(1, |pass| pass.count) };
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    Work {
        name: operation.kind.word().to_owned(),
        workers: fill.workers.min(most),
        interval: fill.interval,
        division,
        afr_per_million: fill.afr_per_million,
        auth: level.auth.clone().unwrap_or_else(no_target),
        storage: level.storage.clone().unwrap_or_else(no_target),
        pass: pass.map(Arc::new),
        operations: vec![operation],
        span,
        ..blank_work(kind)
    }
}

fn read(node: &Node, mistakes: &mut Mistakes) -> Option<Fill> {
    let fields = Fields::of(node, "fill", mistakes)?;
    fields.check(attributes::FILL, false, mistakes);
    for key in ["dataset", "sizes"] {
        if fields.get(key).is_none() {
            mistakes.error(fields.span, format!("fill needs `{key}`"), HINT);
        }
    }
    let dataset = fields.read("dataset", mistakes, parse_name);
    let sizes = fields.read("sizes", mistakes, parse_sizes);
    let containers = match fields.get("containers") {
        Some(_) => fields.read("containers", mistakes, parse_containers),
        None => Some((1, 1)),
    };
    let number = |key: &str, default: u64, most: u64, mistakes: &mut Mistakes| match fields.get(key) {
        None => Some(default),
        Some(_) => fields.read(key, mistakes, |text| within(key, text, most)),
    };
    let workers = number("workers", u64::from(DEFAULT_WORKERS), u64::from(u32::MAX), mistakes);
    let rounds = number("rounds", 1, MOST_ROUNDS, mistakes);
    let scattered = fields.read("order", mistakes, parse_order);
    let interval = fields.read("interval", mistakes, parse_time);
    let afr_per_million = fields.read("acceptable_failure_ratio", mistakes, parse_share);
    let [overwritten, deleted] = ["overwrite", "delete"].map(|key| fields.read(key, mistakes, parse_percent));
    let names = ["container_prefix", "object_prefix"]
        .map(|key| fields.get(key).and_then(|_| fields.name(key, mistakes)));
    let (dataset, sizes, containers) = (dataset?, sizes?, containers?);
    let objects = goal(&fields, &sizes, mistakes)?;
    let grid = containers.1 - containers.0 + 1;
    if objects < grid {
        let message = format!("{objects} objects are too few for {grid} containers");
        mistakes.error(fields.span, message, "give each container at least one object");
        return None;
    }
    let (full_at_ppm, full_by) = full(&fields, mistakes)?;
    let [container_prefix, object_prefix] = names;
    let [overwritten, deleted] = [overwritten, deleted].map(|share| portion(share.unwrap_or(0.0), objects));
    if rounds? > 1 && overwritten + deleted == 0 {
        mistakes.error(
            fields.span,
            "a round does nothing",
            "say overwrite: 20 % or delete: 10 %, or leave rounds out",
        );
    }
    if overwritten + deleted > objects {
        mistakes.error(
            fields.span,
            "overwrite and delete are more than the whole",
            "let them be 100 % together at most",
        );
        return None;
    }
    Some(Fill {
        container_prefix: container_prefix.unwrap_or_else(|| format!("{dataset}-")),
        object_prefix: object_prefix.unwrap_or_else(|| "myobjects".to_owned()),
        dataset,
        objects,
        containers,
        sizes,
        workers: u32::try_from(workers?).unwrap_or(u32::MAX),
        interval: interval.unwrap_or(Duration::from_secs(5)),
        scattered: scattered.unwrap_or(false),
        overwritten,
        deleted,
        rounds: u32::try_from(rounds?).unwrap_or(1),
        afr_per_million: afr_per_million.unwrap_or(0),
        full_at_ppm,
        full_by,
    })
}

/// When the store is full enough, and by whose word.
fn full(fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<(Option<u32>, Vec<String>)> {
    let at = match fields.get("to") {
        Some(_) => Some(full_at(fields, mistakes)?),
        None => None,
    };
    let by = match fields.get("nodes") {
        Some(_) => full_by(fields, mistakes)?,
        None => Vec::new(),
    };
    Some((at, by))
}

/// At which share of the store's capacity the fill ends, in millionths. Objects are written by their numbers then, so that those
/// that are there are a range.
fn full_at(fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<u32> {
    let share = fields.read("to", mistakes, |text| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a million")]
        let ppm = (parse_percent(text)? * 1e6).round() as u32;
        let none =
            || ("a store is always that full".to_owned(), "write a share above 0, as to: 60 %".to_owned());
        (ppm > 0).then_some(ppm).ok_or_else(none)
    })?;
    let clashes = |key: &&str| match *key {
        "order" => fields.read("order", &mut Mistakes::default(), parse_order) == Some(true),
        key => fields.get(key).is_some(),
    };
    let Some(other) = ["share", "order", "overwrite", "delete", "rounds"].into_iter().find(clashes) else {
        return Some(share);
    };
    let (message, hint) = match other {
        "share" => {
            let message = "to and share are two goals".to_owned();
            (message, "give objects or bytes beside to: the most that is written")
        }
        "order" => {
            let message = "with `to`, objects are written by their numbers, so that what is there is a range"
                .to_owned();
            (message, "leave out order: scattered")
        }
        other => {
            let message = format!("with `to`, nobody knows before of how many objects {other} is a part");
            (message, "fill a number of objects to age them")
        }
    };
    mistakes.error(fields.span, message, hint);
    None
}

/// The nodes by whose word the fill ends.
fn full_by(fields: &Fields<'_>, mistakes: &mut Mistakes) -> Option<Vec<String>> {
    if fields.get("to").is_none() {
        let hint = "add to: 60 %, or leave nodes out";
        mistakes.error(fields.span, "nodes says who tells how full the store is, and nobody is asked", hint);
        return None;
    }
    fields.read("nodes", mistakes, |text| {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        let hint = || "write the names of nodes, with commas: manager1,manager2".to_owned();
        match names.iter().find(|name| !is_node(name)) {
            Some(name) => Err((format!("`{}` is no node that a fill can go by", shown(name)), hint())),
            None => Ok(names),
        }
    })
}

/// How many objects are asked for: by number, by bytes, or by a share of what the store holds.
fn goal(fields: &Fields<'_>, sizes: &SizeSelector, mistakes: &mut Mistakes) -> Option<u64> {
    let given: Vec<&str> =
        ["objects", "bytes", "share"].into_iter().filter(|key| fields.get(key).is_some()).collect();
    let [goal] = given[..] else {
        mistakes.error(fields.span, "fill needs one of objects, bytes and share", HINT);
        return None;
    };
    if (goal == "share") != fields.get("capacity").is_some() {
        let hint = "write share: 60 %, capacity: 200GB";
        mistakes.error(fields.span, "share and capacity go together", hint);
        return None;
    }
    let capacity = match goal {
        "share" => Some(fields.read("capacity", mistakes, parse_size)?),
        _ => None,
    };
    fields.read(goal, mistakes, |text| {
        #[expect(clippy::cast_precision_loss, reason = "bytes of a store fit 53 bits well enough")]
        let bytes = match goal {
            "objects" => return within(goal, text, MOST_OBJECTS),
            "bytes" => parse_size(text)? as f64,
            _ => parse_percent(text)? * capacity.unwrap_or(0) as f64,
        };
        let mean = sizes.mean_bytes();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and the most")]
        let objects =
            Some(bytes / mean).filter(|_| mean > 0.0 && bytes > 0.0).map(|objects| objects.ceil() as u64);
        let fitting = objects.filter(|objects| (1..=MOST_OBJECTS).contains(objects));
        fitting.ok_or_else(|| {
            let message =
                format!("{goal} `{}` in objects of {mean} bytes is no number of objects", shown(text));
            (
                message,
                format!("a data set has 1 to {MOST_OBJECTS} objects: give other sizes or another {goal}"),
            )
        })
    })
}

/// So many of them, at least one where any are asked for.
fn portion(share: f64, objects: u64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of a count"
    )]
    let part = (share * objects as f64).round() as u64;
    if share > 0.0 { part.clamp(1, objects) } else { 0 }
}

fn within(key: &str, text: &str, most: u64) -> Result<u64, Complaint> {
    let number = parse_whole(text)?;
    let complaint = || (format!("{key} is {}", shown(text)), format!("write a number from 1 to {most}"));
    (1..=most).contains(&number).then_some(number).ok_or_else(complaint)
}

fn parse_name(text: &str) -> Result<String, Complaint> {
    let name = text.trim();
    is_name(name).then(|| name.to_owned()).ok_or_else(|| {
        let hint =
            "use small letters, digits and hyphens, up to 40, no hyphen first: it begins names of buckets";
        (format!("`{}` is no name of a data set", shown(name)), hint.to_owned())
    })
}

fn parse_sizes(text: &str) -> Result<SizeSelector, Complaint> {
    let sizes: SizeSelector =
        text.parse().map_err(|error: crate::model::selector::SelectorError| (error.message, error.hint))?;
    if matches!(sizes.values, IntSelector::Sequential { .. } | IntSelector::Range { .. }) {
        let message = "sizes that go in order depend on who writes".to_owned();
        return Err((message, "use c(10)KB, u(1,10)KB, h(..)KB or z(..)KB".to_owned()));
    }
    Ok(sizes)
}

fn parse_containers(text: &str) -> Result<(u64, u64), Complaint> {
    let hint = || format!("write a range such as r(1,4), at most {MOST_CONTAINERS} containers");
    match text.parse::<IntSelector>() {
        Ok(IntSelector::Range { lo, hi }) if lo > 0 && lo <= hi && hi - lo < MOST_CONTAINERS => Ok((lo, hi)),
        Ok(IntSelector::Constant(one)) if one > 0 => Ok((one, one)),
        Ok(other) => Err((format!("containers of a data set are a range, not {other}"), hint())),
        Err(error) => Err((error.message, error.hint)),
    }
}

fn parse_order(text: &str) -> Result<bool, Complaint> {
    match text.trim() {
        "scattered" => Ok(true),
        "sequential" => Ok(false),
        other => Err((format!("unknown order `{}`", shown(other)), "known: sequential scattered".to_owned())),
    }
}

/// A share from 0 to 1.
pub(crate) fn parse_percent(text: &str) -> Result<f64, Complaint> {
    let plain = text.trim();
    let (number, scale) = plain.strip_suffix('%').map_or((plain, 1.0), |percent| (percent.trim(), 0.01));
    let share =
        number.parse::<f64>().ok().map(|share| share * scale).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| {
        (format!("`{}` is no share", shown(plain)), "write 20 % or 0.2, at most all".to_owned())
    })
}

#[cfg(test)]
mod tests;
