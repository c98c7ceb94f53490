//! What a run of a workload leaves in a store if nothing removes it: names of containers and objects, as rules that a listing is held
//! against. A rule takes a name that the workload would have written and no other.

use crate::Workload;
use crate::model::selector::IntSelector;
use crate::model::{Effect, ObjectNames, OpKind, Operation, TargetSpec, Work, WorkKind};

/// Names that a workload gives: all that begin and end so and have one of these numbers between.
#[derive(Debug, Clone, PartialEq)]
pub struct NameRule {
    prefix: String,
    suffix: String,
    /// `None` = the prefix is the whole name.
    numbers: Option<IntSelector>,
    /// How a number stands between prefix and suffix.
    kind: ObjectNames,
}

/// What one operation of a workload makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Leftover {
    /// 0-based index of its stage.
    pub stage: usize,
    /// How the store is logged in to.
    pub auth: TargetSpec,
    /// Which store.
    pub storage: TargetSpec,
    /// The containers that it made, or wrote into.
    pub containers: NameRule,
    /// The objects that it wrote in each of them; `None` = it only made containers.
    pub objects: Option<Objects>,
}

/// Objects in a container.
#[derive(Debug, Clone, PartialEq)]
pub enum Objects {
    /// Numbered names.
    Numbered(NameRule),
    /// The names of the files of this directory of the driver.
    Files(String),
    /// Whatever begins so.
    Prefixed(String),
}

/// How the containers begin that probers beside a load make (`consistency:`), and the objects in them.
pub const PROBE: &str = "cosmark-probe-";

/// True for the name of a container that a prober has made.
fn is_probed(name: &str) -> bool {
    let digits = name.strip_prefix(PROBE).unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// What probers of stage `stage` left that were killed: of `created`, the containers that the stage has made, those with such a
/// name, and what has the same name and a slash before its own in them.
#[must_use]
pub fn probed_leftovers(workload: &Workload, stage: usize, created: &[String]) -> Vec<Leftover> {
    // The prober speaks to the store of the first work.
    let Some(work) = workload.stages.get(stage).and_then(|stage| stage.works.first()) else {
        return Vec::new();
    };
    let one = |name: &str, objects| Leftover {
        stage,
        auth: work.auth.clone(),
        storage: work.storage.clone(),
        containers: NameRule::whole(name),
        objects,
    };
    let names = created.iter().filter(|name| is_probed(name));
    names.flat_map(|name| [one(name, None), one(name, Some(Objects::Prefixed(format!("{name}/"))))]).collect()
}

impl NameRule {
    /// This name and no other.
    fn whole(name: &str) -> Self {
        Self { prefix: name.to_owned(), suffix: String::new(), numbers: None, kind: ObjectNames::Counted }
    }

    fn containers(operation: &Operation) -> Option<Self> {
        let numbers = operation.containers.as_ref().filter(|numbers| !numbers.is_nothing());
        match (&operation.container_name, numbers) {
            (Some(name), _) => Some(Self::whole(name)),
            (None, Some(numbers)) => Some(Self {
                prefix: operation.container_prefix.clone(),
                suffix: operation.container_suffix.clone(),
                numbers: Some(numbers.clone()),
                kind: ObjectNames::Counted,
            }),
            (None, None) => None,
        }
    }

    fn objects(operation: &Operation, behind: &str) -> Option<Self> {
        let numbers = operation.objects.as_ref().filter(|numbers| !numbers.is_nothing())?;
        Some(Self {
            prefix: operation.object_prefix.clone(),
            suffix: format!("{}{behind}", operation.object_suffix),
            numbers: Some(numbers.clone()),
            kind: operation.object_names,
        })
    }

    /// True for a name that this rule gives: the number stands as it is written, without a sign or zeros before it.
    #[must_use]
    pub fn gives(&self, name: &str) -> bool {
        let Some(numbers) = &self.numbers else { return name == self.prefix };
        let digits =
            name.strip_prefix(self.prefix.as_str()).and_then(|rest| rest.strip_suffix(self.suffix.as_str()));
        digits.and_then(|digits| self.kind.number_in(digits)).is_some_and(|number| has(numbers, number))
    }

    /// The name that has this number; `None` = this rule does not give it.
    #[must_use]
    pub fn name_of(&self, number: u64) -> Option<String> {
        let Some(numbers) = &self.numbers else { return Some(self.prefix.clone()) };
        has(numbers, number).then(|| self.kind.name(&self.prefix, number, &self.suffix))
    }

    /// How many names it may give.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.numbers.as_ref().map_or(1, |numbers| {
            ranges(numbers)
                .iter()
                .fold(0, |sum: u64, (lo, hi)| sum.saturating_add((hi - lo).saturating_add(1)))
        })
    }

    /// All its names.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let whole = self.numbers.is_none().then(|| self.prefix.clone());
        let numbers = self.numbers.iter().flat_map(ranges).flat_map(|(lo, hi)| lo..=hi);
        whole.into_iter().chain(numbers.map(|number| self.kind.name(&self.prefix, number, &self.suffix)))
    }
}

/// First and last numbers that a selector may choose.
fn ranges(selector: &IntSelector) -> Vec<(u64, u64)> {
    match selector {
        IntSelector::Constant(number) => vec![(*number, *number)],
        IntSelector::Uniform { lo, hi }
        | IntSelector::Sequential { lo, hi }
        | IntSelector::Range { lo, hi }
        | IntSelector::Zipf { lo, hi, .. } => vec![(*lo, (*hi).max(*lo))],
        IntSelector::Histogram { buckets } => {
            buckets.iter().map(|bucket| (bucket.lo, bucket.hi.max(bucket.lo))).collect()
        }
    }
}

fn has(selector: &IntSelector, number: u64) -> bool {
    ranges(selector).iter().any(|(lo, hi)| (*lo..=*hi).contains(&number))
}

/// What the stages that `begun` says were begun would have made, each thing once.
#[must_use]
pub fn leftovers(workload: &Workload, begun: &dyn Fn(usize) -> bool) -> Vec<Leftover> {
    let mut found: Vec<Leftover> = Vec::new();
    // Data sets are there for later runs, and so are their containers.
    let works = || workload.stages.iter().flat_map(|stage| &stage.works);
    let kept: Vec<_> = works().filter(|work| work.pass.is_some()).filter_map(naming_of).map(Some).collect();
    for (index, stage) in workload.stages.iter().enumerate().filter(|(index, _)| begun(*index)) {
        for work in stage.works.iter().filter(|work| !kept.contains(&naming_of(work))) {
            for operation in &work.operations {
                for (containers, objects) in made_by(operation) {
                    let (auth, storage) = (work.auth.clone(), work.storage.clone());
                    let one = Leftover { stage: index, auth, storage, containers, objects };
                    let same = |other: &Leftover| Leftover { stage: index, ..other.clone() } == one;
                    if !found.iter().any(same) {
                        found.push(one);
                    }
                }
            }
        }
    }
    found
}

/// What the data set of this name is in a store: its objects, and the containers that were made for it.
#[must_use]
pub fn dataset_leftovers(workload: &Workload, name: &str) -> Vec<Leftover> {
    let stages = || workload.stages.iter().enumerate();
    let works = || stages().flat_map(|(index, stage)| stage.works.iter().map(move |work| (index, work)));
    let own = |work: &Work| work.pass.as_ref().is_some_and(|pass| pass.dataset == name);
    let names: Vec<_> =
        works().filter(|(_, work)| own(work)).filter_map(|(_, work)| naming_of(work)).collect();
    let mut found = Vec::new();
    let made = works().filter(|(_, work)| naming_of(work).is_some_and(|naming| names.contains(&naming)));
    for (stage, work) in made.filter(|(_, work)| own(work) || work.kind == WorkKind::Init) {
        for (containers, objects) in work.operations.iter().flat_map(made_by) {
            let (auth, storage) = (work.auth.clone(), work.storage.clone());
            let one = Leftover { stage, auth, storage, containers, objects };
            let same = |other: &Leftover| Leftover { stage, ..other.clone() } == one;
            if !found.iter().any(same) {
                found.push(one);
            }
        }
    }
    found
}

/// Store and names of the containers of a special work.
fn naming_of(work: &Work) -> Option<(&TargetSpec, NameRule)> {
    let operation = work.operations.first().filter(|_| work.kind != WorkKind::Normal)?;
    Some((&work.storage, NameRule::containers(operation)?))
}

/// The containers that a work makes where they are missing.
#[must_use]
pub fn containers_made(work: &Work) -> Vec<NameRule> {
    let made = work.operations.iter().flat_map(made_by);
    made.filter(|(_, objects)| objects.is_none()).map(|(containers, _)| containers).collect()
}

/// The names that an operation writes to, by their numbers in the operation log; `None` for one that writes no numbered objects.
#[must_use]
pub fn written_names(operation: &Operation) -> Option<(NameRule, NameRule)> {
    match objects_of(operation)? {
        Objects::Numbered(objects) => Some((NameRule::containers(operation)?, objects)),
        Objects::Files(_) | Objects::Prefixed(_) => None,
    }
}

fn made_by(operation: &Operation) -> Vec<(NameRule, Option<Objects>)> {
    let Some(containers) = NameRule::containers(operation) else { return Vec::new() };
    let makes = matches!(operation.kind, OpKind::Init | OpKind::Prepare) && operation.create_container;
    let made = makes.then(|| (containers.clone(), None));
    made.into_iter().chain(objects_of(operation).map(|objects| (containers, Some(objects)))).collect()
}

fn objects_of(operation: &Operation) -> Option<Objects> {
    let numbered = |behind: &str| Some(Objects::Numbered(NameRule::objects(operation, behind)?));
    match operation.kind.row().effect {
        Effect::Writes => numbered(""),
        Effect::Copies => numbered(&operation.copy_suffix),
        Effect::WritesFiles => operation.files.clone().map(Objects::Files),
        // These write no object into a store.
        Effect::MakesContainer
        | Effect::Reads
        | Effect::Touches
        | Effect::Lists
        | Effect::WritesLocally
        | Effect::Deletes
        | Effect::RemovesContainer => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Format, parse_what_is_there};

    fn workload() -> Workload {
        let text = "name: x\nstorage: {type: mock}\nstages:\n\
            - {name: init, works: [{type: init, containers: 'r(1,2)', container_prefix: c-}]}\n\
            - {name: main, works: [{name: w, workers: 1, runtime: 1s, operations: [\
            {type: write, containers: 'u(1,2)', container_prefix: c-, objects: 'u(5,12)', object_prefix: o, object_suffix: .x, sizes: c(1)KB}, \
            {type: read, containers: 'u(1,9)', container_prefix: c-, objects: 'u(1,99)', object_prefix: o}]}]}\n";
        let (workload, mistakes) = parse_what_is_there(text, Format::Yaml, &Environment::default());
        workload.unwrap_or_else(|| panic!("{mistakes:?}"))
    }

    #[test]
    fn names_that_merely_look_alike_are_not_taken() {
        let all = leftovers(&workload(), &|_| true);
        assert_eq!(all.len(), 2, "{all:?}");
        let Some(Objects::Numbered(objects)) = &all[1].objects else { panic!("{all:?}") };
        for own in ["o5.x", "o12.x", "o9.x"] {
            assert!(objects.gives(own), "{own}");
        }
        let others = [
            "o4.x",
            "o13.x",
            "o05.x",
            "o+5.x",
            "o5",
            "5.x",
            "o5.xx",
            "oo5.x",
            "o5.X",
            "o.x",
            "o-5.x",
            "o5 .x",
            "o٥.x",
            "",
            "o5.x/",
            "o18446744073709551621.x",
        ];
        for other in others {
            assert!(!objects.gives(other), "{other}");
        }
        assert_eq!(objects.count(), 8);
        assert!(objects.names().all(|name| objects.gives(&name)));
        assert!(all[0].containers.gives("c-2") && !all[0].containers.gives("c-3"));
        assert_eq!((objects.name_of(5).as_deref(), objects.name_of(13)), (Some("o5.x"), None));
        let named = NameRule {
            prefix: "bucket".into(),
            suffix: String::new(),
            numbers: None,
            kind: ObjectNames::Counted,
        };
        assert!(named.gives("bucket") && !named.gives("bucket1"));
        assert_eq!(named.names().collect::<Vec<_>>(), ["bucket"]);
    }

    #[test]
    fn an_init_that_creates_nothing_leaves_nothing() {
        let mut workload = workload();
        workload.stages[0].works[0].operations[0].create_container = false;
        assert_eq!(leftovers(&workload, &|stage| stage == 0), []);
        assert_eq!(containers_made(&workload.stages[0].works[0]), []);
    }

    #[test]
    fn what_was_not_begun_left_nothing() {
        assert!(leftovers(&workload(), &|_| false).is_empty());
        let init = leftovers(&workload(), &|stage| stage == 0);
        assert_eq!((init.len(), init[0].objects.is_none()), (1, true));
    }
}
