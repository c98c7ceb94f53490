//! How many names a listing must hold, as far as the workload and what was done of it tell: what `prepare` stages wrote, and what
//! a data set holds, less all that anything may have deleted. Whatever else lies in a container only adds to it.

use std::time::Duration;

use crate::model::{Effect, ObjectNames, OpKind, Operation, Stage, Work, WorkKind, Workload};
use crate::reachability::areas::{Area, overlap};
use crate::reachability::read_sizes::{MOST_FOLLOWED, same_target};

/// Rectangles beyond which what lies in containers is not followed.
const MOST_AREAS: usize = 200;
/// Storages that are another one on each driver's machine, or that may answer with a part of a listing and not say so.
const UNSURE: &[&str] = &["file", "posix", "cdmi", "cdmi_swift", "plugin"];
/// The part of a storage's name that promises listings only in the end: how long that takes is for the workload to say.
const EVENTUAL: &str = "swift";
/// The storage that may be a file system: it may make folders of slashes in names, and lists a folder as one name, or not at all;
/// and who reads a folder while a file in it is replaced may miss it, or see it twice.
const OF_FILES: &str = "webdav";
/// A listing has so many times `settle`, as where it is read back.
const SETTLES: u32 = 6;
const ALL: (u64, u64) = (0, u64::MAX);

/// The last page of a listing of an operation holds at least so many names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedNames {
    /// Index of the work in its stage.
    pub work: usize,
    /// Index of the operation in its work.
    pub op: usize,
    /// Names, of whichever container it lists.
    pub least: u64,
    /// Before so much of the stage is over, the listing may be behind.
    pub settle: Duration,
}

/// How many operations of a special work succeeded (stage and work, 0-based); `None` where nobody can say.
pub type Written<'a> = &'a dyn Fn(usize, usize) -> Option<u64>;

/// What is known of the listings of a stage; nothing for stages beyond some thousands of operations.
#[must_use]
pub fn names_of_stage(workload: &Workload, stage: usize, written: Written<'_>) -> Vec<ListedNames> {
    let Some(stages) = workload.stages.get(..=stage) else { return Vec::new() };
    let operations: usize =
        stages.iter().flat_map(|stage| &stage.works).map(|work| work.operations.len()).sum();
    let Some(own) = stages.last().filter(|_| operations <= MOST_FOLLOWED) else { return Vec::new() };
    let has_faults = stages.iter().any(|stage| !stage.faults.is_empty());
    // A store that promises its listings in the end may need any time after a fault, and without one nobody knows how much.
    let any_time = has_faults || workload.settle.is_none();
    let is_changed = own.works.iter().flat_map(|work| &work.operations).any(changes);
    let is_sure = |work: &Work| {
        let kind = work.storage.kind.as_str();
        let is_eventual = any_time && kind.contains(EVENTUAL);
        !(UNSURE.contains(&kind) || is_eventual || is_changed && kind == OF_FILES)
    };
    let works = own.works.iter().enumerate().filter(|(_, work)| is_sure(work));
    let lists: Vec<(usize, &Work, usize, &Operation)> = works
        .flat_map(|(index, work)| {
            let operations = work.operations.iter().enumerate();
            operations.map(move |(op, operation)| (index, work, op, operation))
        })
        .filter(|(.., operation)| operation.kind == OpKind::List && operation.objects.is_none())
        .collect();
    if lists.is_empty() {
        return Vec::new();
    }
    let there = what_is_there(stages, written);
    let settle = workload.settle.unwrap_or_default().saturating_mul(SETTLES);
    let known = lists.into_iter().map(|(index, work, op, operation)| {
        let least = there.least(work, operation).saturating_sub(there.lacks);
        ListedNames { work: index, op, least, settle }
    });
    known.filter(|one| one.least > 0).collect()
}

/// What certainly lies there while the load of the last of these stages runs.
fn what_is_there<'a>(stages: &'a [Stage], written: Written<'_>) -> There<'a> {
    let mut there = There::default();
    for work in stages.iter().flat_map(|stage| &stage.works) {
        there.add_data_sets(work);
    }
    let last = stages.len().saturating_sub(1);
    for (index, own) in stages.iter().enumerate() {
        for (at, work) in own.works.iter().enumerate() {
            if work.kind != WorkKind::Prepare || index == last {
                continue;
            }
            match (&work.pass, written(index, at)) {
                (Some(pass), written) => there.lack(pass.left() + pass.later, written.unwrap_or(0)),
                (None, Some(written)) => there.add_prepared(work, written),
                (None, None) => {}
            }
        }
        // What a pass over a data set deletes is written again by the one behind it.
        let works = own.works.iter().filter(|work| work.pass.is_none());
        works.flat_map(|work| &work.operations).for_each(|operation| there.take(operation));
    }
    there
}

/// Whether an operation changes what is listed.
fn changes(operation: &Operation) -> bool {
    !matches!(operation.kind.row().effect, Effect::Reads | Effect::Touches | Effect::Lists)
}

/// Whether a listing names folders instead of objects of such names.
fn in_folders(work: &Work, (_, before, behind): OfObjects<'_>) -> bool {
    work.storage.kind == OF_FILES && (before.contains('/') || behind.contains('/'))
}

/// What names of containers are made of beside numbers: whether there is no number, what stands before it and what behind.
type OfContainers<'a> = (bool, &'a str, &'a str);
/// The same of objects, with how the number is written.
type OfObjects<'a> = (ObjectNames, &'a str, &'a str);

fn of_containers(operation: &Operation) -> OfContainers<'_> {
    match &operation.container_name {
        Some(name) => (true, name, ""),
        None => (false, &operation.container_prefix, &operation.container_suffix),
    }
}

fn of_objects(operation: &Operation) -> OfObjects<'_> {
    (operation.object_names, &operation.object_prefix, &operation.object_suffix)
}

/// The containers by the numbers in their names; 0 where there is none in it.
fn numbers(operation: &Operation) -> Option<(u64, u64)> {
    let chosen = operation.containers.as_ref().filter(|selector| !selector.is_nothing())?;
    Some(if operation.container_name.is_some() { (0, 0) } else { chosen.bounds() })
}

/// Whether no name of the one is a name of the other, by what stands before and behind the numbers.
fn are_apart(one: (&str, &str), other: (&str, &str)) -> bool {
    let begin_alike = one.0.starts_with(other.0) || other.0.starts_with(one.0);
    let end_alike = one.1.ends_with(other.1) || other.1.ends_with(one.1);
    !begin_alike || !end_alike
}

/// Objects that certainly lie in the store of a work.
#[derive(Clone, Copy)]
struct Lying<'a> {
    work: &'a Work,
    containers: OfContainers<'a>,
    objects: OfObjects<'a>,
    area: Area,
}

/// All of them; no two have an object in common.
#[derive(Default)]
struct There<'a> {
    lying: Vec<Lying<'a>>,
    /// Objects that were to be written and were not, wherever that was.
    lacks: u64,
}

impl<'a> There<'a> {
    fn add_prepared(&mut self, work: &'a Work, written: u64) {
        let Some(operation) = work.operations.first() else { return };
        let (Some(containers), Some(objects)) = (&operation.containers, &operation.objects) else { return };
        let planned = containers.count().saturating_mul(objects.count());
        self.lack(planned, written);
        if let Some(numbers) = numbers(operation).filter(|_| planned > 0) {
            self.add(work, operation, Area { containers: numbers, objects: objects.bounds() });
        }
    }

    /// So many were to be written, and no more than so many were.
    fn lack(&mut self, planned: u64, written: u64) {
        self.lacks = self.lacks.saturating_add(planned.saturating_sub(written));
    }

    /// The data sets that operations name, which can be named only where they are whole: they lie there since before the run, or
    /// since a stage of it that fills them.
    fn add_data_sets(&mut self, work: &'a Work) {
        for operation in work.operations.iter().filter(|operation| operation.container_name.is_none()) {
            if let Some(used) = &operation.dataset {
                self.add(work, operation, Area { containers: used.containers, objects: used.objects });
            }
        }
    }

    fn add(&mut self, work: &'a Work, operation: &'a Operation, area: Area) {
        let new = Lying { work, containers: of_containers(operation), objects: of_objects(operation), area };
        let mut areas = vec![area];
        let alike = |old: &&Lying<'_>| {
            old.containers == new.containers && old.objects == new.objects && same_store(old.work, work)
        };
        for old in self.lying.iter().filter(alike) {
            areas = areas.into_iter().flat_map(|area| area.without(old.area)).collect();
        }
        self.lying.extend(areas.into_iter().map(|area| Lying { area, ..new }));
        self.bound();
    }

    /// Takes away what an operation may delete, by whichever way to the store.
    fn take(&mut self, operation: &Operation) {
        let effect = operation.kind.row().effect;
        if !matches!(effect, Effect::Deletes | Effect::RemovesContainer) {
            return;
        }
        let takes_all = effect == Effect::RemovesContainer
            || operation.delete_container
            || operation.empty_container
            || operation.objects.is_none();
        let numbers_of_objects = match &operation.objects {
            Some(objects) if !takes_all && operation.kind == OpKind::BulkDelete => {
                let (first, last) = objects.bounds();
                (*operation.batch_of(first).start(), *operation.batch_of(last).end())
            }
            Some(objects) if !takes_all => objects.bounds(),
            _ => ALL,
        };
        let (containers, objects) = (of_containers(operation), of_objects(operation));
        let hole_in = |lying: &Lying<'_>| {
            let in_any = Area { containers: ALL, objects: ALL };
            if lying.containers != containers {
                let (own, other) = (lying.containers, containers);
                return (!are_apart((own.1, own.2), (other.1, other.2))).then_some(in_any);
            }
            let in_these =
                Area { containers: numbers(operation).unwrap_or(ALL), objects: numbers_of_objects };
            if takes_all || lying.objects == objects {
                return Some(in_these);
            }
            let (own, other) = (lying.objects, objects);
            let may_meet = !are_apart((own.1, own.2), (other.1, other.2));
            may_meet.then_some(Area { objects: ALL, ..in_these })
        };
        let left = std::mem::take(&mut self.lying).into_iter().flat_map(|lying| {
            let areas = hole_in(&lying).map_or_else(|| vec![lying.area], |hole| lying.area.without(hole));
            areas.into_iter().map(move |area| Lying { area, ..lying })
        });
        self.lying = left.collect();
        self.bound();
    }

    fn bound(&mut self) {
        if self.lying.len() > MOST_AREAS {
            self.lying.clear();
        }
    }

    /// How many names any container that an operation lists holds at least.
    fn least(&self, work: &Work, list: &Operation) -> u64 {
        let Some((lo, hi)) = numbers(list) else { return 0 };
        let is_own = |lying: &&Lying<'_>| {
            lying.containers == of_containers(list)
                && same_store(lying.work, work)
                && !in_folders(work, lying.objects)
        };
        let own: Vec<(&Lying<'_>, Vec<(u64, u64)>)> =
            self.lying.iter().filter(is_own).map(|lying| (lying, named_by(list, lying.objects))).collect();
        let in_container = |number: u64| {
            let mut sums: Vec<(OfObjects<'_>, u64)> = Vec::new();
            for (lying, named) in &own {
                if overlap(lying.area.containers, (number, number)).is_none() {
                    continue;
                }
                let parts = named.iter().filter_map(|numbers| overlap(*numbers, lying.area.objects));
                let count =
                    parts.fold(0, |sum: u64, (lo, hi)| sum.saturating_add((hi - lo).saturating_add(1)));
                match sums.iter_mut().find(|(objects, _)| *objects == lying.objects) {
                    Some((_, sum)) => *sum = sum.saturating_add(count),
                    None => sums.push((lying.objects, count)),
                }
            }
            together(&sums)
        };
        // From one edge to the next all containers hold the same.
        let edges = own.iter().flat_map(|(lying, _)| {
            let (first, last) = lying.area.containers;
            [first, last.saturating_add(1)]
        });
        let firsts = std::iter::once(lo).chain(edges.filter(|edge| (lo..=hi).contains(edge)));
        firsts.map(in_container).min().unwrap_or(0)
    }
}

/// How many different names there are under several kinds of names: their sum where no two can be the same.
fn together(sums: &[(OfObjects<'_>, u64)]) -> u64 {
    let apart = sums.iter().enumerate().all(|(at, (one, _))| {
        let mut others = sums.iter().skip(at + 1);
        others.all(|(other, _)| are_apart((one.1, one.2), (other.1, other.2)))
    });
    let counts = sums.iter().map(|(_, count)| *count);
    if apart { counts.fold(0, u64::saturating_add) } else { counts.max().unwrap_or(0) }
}

/// The numbers of the objects that a listing names one by one, in order.
fn named_by(list: &Operation, (written, before, behind): OfObjects<'_>) -> Vec<(u64, u64)> {
    let may_be_folded = |byte: u8| {
        written.may_have(byte) || before.as_bytes().contains(&byte) || behind.as_bytes().contains(&byte)
    };
    if !list.delimiter.is_empty() && list.delimiter.bytes().all(may_be_folded) {
        return Vec::new();
    }
    let prefix = list.list_prefix.as_str();
    if before.starts_with(prefix) {
        return vec![ALL];
    }
    match prefix.strip_prefix(before) {
        Some(digits) if written == ObjectNames::Counted => beginning_with(digits),
        _ => Vec::new(),
    }
}

/// The numbers whose decimal digits begin so.
fn beginning_with(digits: &str) -> Vec<(u64, u64)> {
    let Some(number) = ObjectNames::Counted.number_in(digits) else { return Vec::new() };
    let longer = |&(lo, hi): &(u64, u64)| Some((lo.checked_mul(10)?, hi.checked_mul(10)?.checked_add(9)?));
    let first = Some((number, number));
    if number == 0 { first.into_iter().collect() } else { std::iter::successors(first, longer).collect() }
}

fn same_store(one: &Work, other: &Work) -> bool {
    same_target(&one.storage, &other.storage) && same_target(&one.auth, &other.auth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Format, parse_what_is_there};

    const PREPARE: &str =
        "type: prepare, workers: 1, containers: 'r(1,4)', objects: 'r(1,100)', sizes: c(1)KB";
    const LIST: &str = "type: list, containers: 'u(1,4)'";

    fn workload(head: &str, kind: &str, prepares: &[&str], operations: &str) -> Workload {
        let works: Vec<String> = prepares.iter().map(|one| format!("{{{one}}}")).collect();
        let text = format!(
            "name: t\n{head}storage: {{type: {kind}, endpoint: 'http://h'}}\nstages:\n  - {{name: before, works: [{}]}}\n  - {{name: \
             main, works: [{{name: main, workers: 1, runtime: 60s, operations: [{operations}]}}]}}\n",
            works.join(", ")
        );
        let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
        workload.unwrap_or_else(|| panic!("{mistakes:?}"))
    }

    /// The least number of names of the first listing of the last stage; 0 where nothing is known.
    fn least_of(workload: &Workload, written: Written<'_>) -> u64 {
        let known = names_of_stage(workload, workload.stages.len() - 1, written);
        known.iter().find(|one| (one.work, one.op) == (0, 0)).map_or(0, |one| one.least)
    }

    fn least(prepares: &[&str], operations: &str) -> u64 {
        least_of(&workload("", "s3", prepares, operations), &|_, _| Some(u64::MAX))
    }

    #[test]
    fn what_prepares_wrote_and_nothing_deletes_is_listed_at_least() {
        let list = format!("{{{LIST}, ratio: 50}}");
        let with = |more: &str| least(&[PREPARE], &format!("{list}, {{{more}, ratio: 50}}"));
        assert_eq!(least(&[PREPARE], &list), 100);
        assert_eq!(with("type: write, containers: c(1), objects: 'u(1,500)', sizes: c(1)KB"), 100);
        assert_eq!(with("type: read, containers: c(1), objects: 'u(1,100)'"), 100);
        assert_eq!(with("type: delete, containers: c(2), objects: 'u(41,500)'"), 40);
        assert_eq!(with("type: delete, containers: c(9), objects: 'u(1,100)'"), 100);
        assert_eq!(with("type: delete, containers: 'u(1,4)', objects: 'u(1,100)', object_prefix: x"), 100);
        // What may be called the same is taken for the same.
        assert_eq!(
            with("type: delete, containers: 'u(1,4)', objects: 'u(1,9)', object_prefix: myobjects1"),
            0
        );
        assert_eq!(
            with("type: delete, containers: c(1), container_name: mycontainers1, objects: 'u(1,9)'"),
            0
        );
        // Whole batches are deleted.
        assert_eq!(with("type: bulkdelete, containers: c(1), objects: 'u(12,15)', batch: 10"), 90);
        // A foreign container: nothing is said of it, nor of any that the same operation lists.
        assert_eq!(least(&[PREPARE], "{type: list, containers: 'u(1,5)'}"), 0);
        assert_eq!(least(&[PREPARE], "{type: list, containers: c(1), container_prefix: theirs}"), 0);
        assert_eq!(least(&["type: init, workers: 1, containers: 'r(1,4)'"], &list), 0);
        assert_eq!(least(&[PREPARE], "{type: list}"), 0);
    }

    #[test]
    fn prepares_add_up_where_their_names_differ_and_are_counted_once_where_they_do_not() {
        let list = format!("{{{LIST}}}");
        let more = |more: &str| {
            let other =
                format!("type: prepare, name: p2, workers: 1, containers: 'r(1,8)', sizes: c(1)KB, {more}");
            least(&[PREPARE, &other], &list)
        };
        assert_eq!(more("objects: 'r(51,150)'"), 150);
        assert_eq!(more("objects: 'r(1,100)'"), 100);
        assert_eq!(more("objects: 'r(1,30)', object_prefix: large"), 130);
        assert_eq!(more("objects: 'r(1,130)', object_prefix: myobjects1"), 130);
        let fewer =
            "type: prepare, name: p3, workers: 1, containers: 'r(5,6)', objects: 'r(1,7)', sizes: c(1)KB";
        assert_eq!(least(&[PREPARE, fewer], "{type: list, containers: 'u(3,6)'}"), 7);
        assert_eq!(least(&[PREPARE, fewer], "{type: list, containers: 'u(3,7)'}"), 0);
    }

    #[test]
    fn prefixes_and_delimiters_are_followed_where_they_can_be() {
        let with = |more: &str| least(&[PREPARE], &format!("{{{LIST}, {more}}}"));
        assert_eq!(with("list_prefix: my"), 100);
        assert_eq!(with("list_prefix: myobjects"), 100);
        // 1, 10 to 19, 100.
        assert_eq!(with("list_prefix: myobjects1"), 12);
        assert_eq!(with("list_prefix: myobjects2"), 11);
        assert_eq!(with("list_prefix: myobjects100"), 1);
        assert_eq!(with("list_prefix: myobjects0"), 0);
        assert_eq!(with("list_prefix: theirs"), 0);
        assert_eq!(with("delimiter: /"), 100);
        assert_eq!(with("delimiter: o"), 0);
        assert_eq!(with("delimiter: '1'"), 0);
    }

    #[test]
    fn what_was_not_written_lacks_and_what_nobody_counted_is_not_known() {
        let workload = workload("", "s3", &[PREPARE], &format!("{{{LIST}}}"));
        assert_eq!(least_of(&workload, &|_, _| Some(400)), 100);
        assert_eq!(least_of(&workload, &|stage, work| Some(397).filter(|_| (stage, work) == (0, 0))), 97);
        assert_eq!(least_of(&workload, &|_, _| Some(10)), 0);
        assert_eq!(least_of(&workload, &|_, _| None), 0);
    }

    #[test]
    fn folders_of_files_are_not_listed_as_objects_are() {
        let slashed = format!("{PREPARE}, object_prefix: a/o");
        let of = |kind: &str, prepare: &str| {
            let workload = workload("", kind, &[prepare], &format!("{{{LIST}}}"));
            least_of(&workload, &|_, _| Some(400))
        };
        assert_eq!([of("webdav", PREPARE), of("s3", &slashed), of("webdav", &slashed)], [100, 100, 0]);
        let beside = |kind: &str| {
            let write = "type: write, containers: c(9), objects: 'u(1,100)', sizes: c(1)KB, ratio: 50";
            let workload = workload("", kind, &[PREPARE], &format!("{{{LIST}, ratio: 50}}, {{{write}}}"));
            least_of(&workload, &|_, _| Some(400))
        };
        assert_eq!([beside("webdav"), beside("s3")], [0, 100]);
    }

    #[test]
    fn of_a_data_set_that_the_run_fills_no_more_is_expected_than_was_written_and_left() {
        let text = |more: &str| {
            format!(
                "name: t\nstorage: {{type: s3, endpoint: 'http://h'}}\nstages:\n  - {{name: f, fill: {{dataset: d, objects: \
                 100, containers: 'r(1,4)', sizes: c(1)KB, workers: 2, overwrite: 0.1, delete: 0.2, rounds: 1}}}}\n{more}  - \
                 {{name: main, works: [{{name: main, workers: 1, runtime: 60s, operations: [{{{LIST}, container_prefix: d-, \
                 ratio: 50}}, {{type: read, dataset: d, ratio: 50}}]}}]}}\n"
            )
        };
        let least = |more: &str, written: Written<'_>| {
            let (workload, mistakes) =
                parse_what_is_there(&text(more), Format::Yaml, &Environment::default());
            least_of(&workload.unwrap_or_else(|| panic!("{mistakes:?}")), written)
        };
        assert_eq!(least("", &|_, _| Some(100)), 25);
        // The stages are its init, the fill, and what overwrites, deletes and writes again.
        assert_eq!(least("", &|stage, _| Some(if stage == 1 { 97 } else { 100 })), 22);
        assert_eq!(least("", &|stage, _| Some(if stage == 4 { 15 } else { 100 })), 20);
        assert_eq!(least("", &|stage, _| Some(100).filter(|_| stage != 1)), 0);
        let deletes = "  - {name: gone, works: [{type: cleanup, workers: 1, containers: 'r(1,4)', objects: 'r(1,5)', \
                       container_prefix: d-}]}\n";
        assert_eq!(least(deletes, &|_, _| Some(100)), 20);
    }

    #[test]
    fn a_listing_may_be_behind_as_long_as_the_store_and_the_workload_say() {
        let settle = |head: &str, kind: &str| {
            let workload = workload(head, kind, &[PREPARE], &format!("{{{LIST}}}"));
            names_of_stage(&workload, 1, &|_, _| Some(400)).first().map(|one| one.settle.as_secs())
        };
        assert_eq!(settle("", "s3"), Some(0));
        assert_eq!(settle("settle: 5s\n", "s3"), Some(30));
        assert_eq!(settle("", "swift"), None, "nobody said how long");
        assert_eq!(settle("settle: 10s\n", "swift"), Some(60));
        assert_eq!(settle("settle: 2m\n", "swift"), Some(720));
        assert_eq!(settle("settle: 0s\n", "swift"), Some(0));
        assert_eq!(settle("", "file"), None, "each driver has a directory of its own");
    }
}
