//! Of what sizes the bodies are that operations move, as far as the workload asks for that: a write says it, and of a read
//! it is known where the workload itself prepared all that it chooses from.

use std::collections::BTreeMap;

use crate::model::{Effect, Operation, TargetSpec, Work, WorkKind, Workload};
use crate::reachability::FIND_ALL;
use crate::reachability::areas::{Area, Naming, area, lying};
use crate::reachability::read_sizes::{MOST_FOLLOWED, same_target};
use crate::{IntSelector, SizeSelector};

/// Writes of other words, and rectangles that are left of a read, beyond which its sizes are not followed.
const MOST: usize = 200;

/// What a workload asks for of the bodies of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedSizes {
    /// In its own words: operations of which the same is said move bodies of the same sizes.
    pub text: String,
    /// Bytes of the smallest.
    pub least_bytes: u64,
    /// Bytes of the largest.
    pub most_bytes: u64,
    /// How many of them are of which size is as the text says. Not so where others were written over some of them: how many
    /// that were depends on how much was done.
    pub is_settled: bool,
}

impl AskedSizes {
    fn of(text: String, sizes: &SizeSelector) -> Self {
        let (least_bytes, most_bytes) = sizes.bounds_bytes();
        Self { text, least_bytes, most_bytes, is_settled: true }
    }
}

/// An operation, with the numbers of its stage, of its work and of itself.
struct Placed<'a> {
    place: (usize, usize, usize),
    work: &'a Work,
    operation: &'a Operation,
}

/// Objects of known sizes.
struct Written<'a> {
    /// They are there when this stage begins.
    there: usize,
    /// Everything in the area was written; otherwise as much of it as there was time for.
    is_all: bool,
    /// The store that they were written into; `None` for a data set, which is the same for all who name it.
    storage: Option<&'a TargetSpec>,
    area: Area,
    selector: &'a SizeSelector,
    sizes: AskedSizes,
}

/// All that is written, and what hides of which sizes it is.
#[derive(Default)]
struct Known<'a> {
    written: BTreeMap<Naming, Vec<Written<'a>>>,
    /// The first stage that writes files, whose sizes and names are not in the workload.
    files: Option<usize>,
    /// By what stands behind the names of copies, the first stage that makes such.
    copies: BTreeMap<&'a str, usize>,
}

/// What is asked for, by stage, work and operation (all 0-based). Left out are operations whose sizes depend on something
/// else than the workload: listings, and reads of objects that were not all prepared by an earlier stage of it.
#[must_use]
pub fn asked_sizes(workload: &Workload) -> BTreeMap<(usize, usize, usize), AskedSizes> {
    let mut all = Vec::new();
    for (s, stage) in workload.stages.iter().enumerate() {
        for (w, work) in stage.works.iter().enumerate() {
            let operations = work.operations.iter().enumerate();
            all.extend(operations.map(|(o, operation)| Placed { place: (s, w, o), work, operation }));
        }
    }
    let follows = all.len() <= MOST_FOLLOWED;
    let known = if follows { Known::of(&all) } else { Known::default() };
    let asked = |one: &Placed<'_>| match one.operation.kind.row().effect {
        Effect::Writes | Effect::WritesLocally => {
            let sizes = one.operation.sizes.as_ref()?;
            Some(AskedSizes::of(sizes.to_string(), sizes))
        }
        Effect::Reads => known.of_read(one),
        _ => None,
    };
    all.iter().filter_map(|one| Some((one.place, asked(one)?))).collect()
}

impl<'a> Known<'a> {
    fn of(all: &[Placed<'a>]) -> Self {
        let mut known = Self::default();
        // What lies there before the run begins comes before all that the run writes.
        for one in all {
            if let (Some((naming, area)), Some(used)) = (lying(one.operation), &one.operation.dataset) {
                let sizes = AskedSizes::of(used.to_string(), &used.sizes);
                let selector = &used.sizes;
                let of_set = Written { there: 0, is_all: true, storage: None, area, selector, sizes };
                let there = known.written.entry(naming).or_default();
                if there.iter().all(|other| other.sizes != of_set.sizes) {
                    there.push(of_set);
                }
            }
        }
        for one in all {
            let (stage, operation) = (one.place.0, one.operation);
            match operation.kind.row().effect {
                Effect::Writes => {
                    let Some((naming, area)) = area(operation) else { continue };
                    let Some(selector) = &operation.sizes else { continue };
                    let sizes = AskedSizes::of(format!("{} {selector}", place_of(operation)), selector);
                    let storage = Some(&one.work.storage);
                    let is_all = one.work.kind == WorkKind::Prepare;
                    let written = Written { there: stage + 1, is_all, storage, area, selector, sizes };
                    known.written.entry(naming).or_default().push(written);
                }
                Effect::WritesFiles => {
                    known.files.get_or_insert(stage);
                }
                Effect::Copies => {
                    known.copies.entry(&operation.copy_suffix).or_insert(stage);
                }
                _ => {}
            }
        }
        known
    }

    fn of_read(&self, read: &Placed<'_>) -> Option<AskedSizes> {
        let (stage, operation) = (read.place.0, read.operation);
        let mut copies = self.copies.iter();
        let may_be_copy =
            copies.any(|(behind, first)| *first <= stage && operation.object_suffix.ends_with(*behind));
        let may_be_file = self.files.is_some_and(|first| first <= stage);
        let finds_anything = FIND_ALL.contains(&read.work.storage.kind.as_str());
        if may_be_copy || may_be_file || finds_anything {
            return None;
        }
        let (naming, wanted) = area(operation)?;
        let (mut left, mut texts) = (vec![wanted], Vec::<&str>::new());
        let (mut least_bytes, mut most_bytes) = (u64::MAX, 0);
        let (mut selectors, mut are_all_whole) = (Vec::<&SizeSelector>::new(), true);
        for written in self.written.get(&naming)? {
            let is_of_other_set = written.storage.is_none() && operation.dataset.is_none();
            if is_of_other_set || written.there > stage + 1 || !written.area.overlaps(wanted) {
                continue;
            }
            // Two ways to what may be one store: whose object it is cannot be told.
            if written.storage.is_some_and(|storage| !same_target(storage, &read.work.storage)) {
                return None;
            }
            least_bytes = least_bytes.min(written.sizes.least_bytes);
            most_bytes = most_bytes.max(written.sizes.most_bytes);
            if !texts.contains(&written.sizes.text.as_str()) {
                texts.push(&written.sizes.text);
            }
            if !selectors.contains(&written.selector) {
                selectors.push(written.selector);
            }
            let is_whole = written.is_all && written.there <= stage;
            are_all_whole &= is_whole;
            if is_whole {
                left = left.into_iter().flat_map(|one| one.without(written.area)).collect();
            }
            if texts.len() > MOST || left.len() > MOST {
                return None;
            }
        }
        if !left.is_empty() {
            return None;
        }
        let mut text = format!("{} of {}", place_of(operation), texts.join(", "));
        if let Some(part) = &operation.range {
            let of = part.object_length_bytes.map(|bytes| format!(" of {bytes}")).unwrap_or_default();
            text = format!("{} bytes{of} from {text}", part.chunk_length_bytes);
            least_bytes = least_bytes.min(part.chunk_length_bytes);
            most_bytes = most_bytes.min(part.chunk_length_bytes);
        }
        let is_settled = are_all_whole || selectors.len() == 1;
        Some(AskedSizes { text, least_bytes, most_bytes, is_settled })
    }
}

/// Which objects an operation chooses from.
fn place_of(operation: &Operation) -> String {
    let text = |numbers: &Option<IntSelector>| numbers.as_ref().map(ToString::to_string);
    let (containers, objects) = (text(&operation.containers), text(&operation.objects));
    format!(
        "{}{}/{}",
        operation.container_prefix,
        containers.unwrap_or_default(),
        objects.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Format, parse_what_is_there};

    /// What is asked for of the first operation of the last stage.
    fn asked(stages: &[&str]) -> Option<AskedSizes> {
        let stages: Vec<String> = (1..)
            .zip(stages)
            .map(|(number, works)| format!("  - {{name: s{number}, works: [{works}]}}\n"))
            .collect();
        let text =
            format!("name: t\nstorage: {{type: s3, endpoint: 'http://h'}}\nstages:\n{}", stages.concat());
        let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
        let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
        asked_sizes(&workload).remove(&(stages.len() - 1, 0, 0))
    }

    fn work(operations: &str) -> String {
        format!("{{name: w, workers: 1, runtime: 9s, operations: [{operations}]}}")
    }

    const PREPARE: &str =
        "{type: prepare, workers: 1, containers: 'r(1,2)', objects: 'r(1,9)', sizes: 'u(1,64)KB'}";
    const READ: &str = "{type: read, ratio: 50, containers: c(2), objects: 'u(1,9)'}";

    #[test]
    fn sizes_of_a_read_are_known_only_where_earlier_stages_prepared_all_that_it_chooses() {
        let own = asked(&[PREPARE, &work(READ)]).unwrap();
        assert_eq!((own.least_bytes, own.most_bytes), (1_000, 64_000));
        // Elsewhere, or some of them, or for a time, or while they are read: something else may have been there.
        let write = |place: &str| format!("{{type: write, ratio: 50, {place}, sizes: c(4)KB}}");
        let elsewhere = write("containers: c(1), objects: 'u(1,9)'");
        let there = write("containers: c(2), objects: 'r(1,9)'");
        let half = write("containers: c(2), objects: 'r(1,5)'");
        let rest = write("containers: c(2), objects: 'r(6,9)'");
        let part = |objects: &str| PREPARE.replace("r(1,9)", objects);
        for (stages, least) in [
            (vec![work(&format!("{READ}, {elsewhere}"))], None),
            (vec![work(&elsewhere), work(READ)], None),
            (vec![work(&format!("{READ}, {there}"))], None),
            (vec![work(&half), work(READ)], None),
            (vec![work(&there), work(READ)], None),
            (vec![work(&there.replace("r(1,9)", "u(1,9)")), work(READ)], None),
            (vec![work(&half), work(&rest), work(READ)], None),
            (vec![part("r(1,5)"), part("r(6,9)"), work(READ)], Some(1_000)),
            (vec![part("r(1,5)"), work(&rest), work(READ)], None),
            (vec![PREPARE.into(), work(&format!("{READ}, {there}"))], Some(1_000)),
        ] {
            let found = asked(&stages.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.map(|found| found.least_bytes), least, "{stages:?}");
        }
        // How many were written over depends on the time, and says nothing where they are drawn alike.
        let over = |sizes: &str| work(&there.replace("c(4)KB", sizes));
        let mixed = asked(&[PREPARE, &over("c(128)KB"), &work(READ)]).unwrap();
        assert_eq!((mixed.least_bytes, mixed.most_bytes, mixed.is_settled), (1_000, 128_000, false));
        assert!(!asked(&[PREPARE, &work(&format!("{READ}, {there}"))]).unwrap().is_settled);
        assert!(own.is_settled && asked(&[PREPARE, &over("'u(1,64)KB'"), &work(READ)]).unwrap().is_settled);
        let prepared_again = PREPARE.replace("'u(1,64)KB'", "c(128)KB");
        assert!(asked(&[PREPARE, &prepared_again, &work(READ)]).unwrap().is_settled);
        // A write that is done again asks for nothing else.
        let again = work(&format!("{READ}, {there}"));
        assert_eq!(asked(&[PREPARE, &again]), asked(&[PREPARE, &again, &again]));
        assert_ne!(asked(&[PREPARE, &again]), asked(&[PREPARE, &work(READ)]));
    }

    #[test]
    fn sizes_of_what_no_workload_tells_are_not_asked_for() {
        const OTHER: &str = "type: s3, endpoint: 'http://elsewhere'";
        let on = |storage: &str, work: &str| {
            work.replacen("workers", &format!("storage: {{{storage}}}, workers"), 1)
        };
        let of = |written: &str, read: &str| asked(&[&on(written, PREPARE), &on(read, &work(READ))]);
        assert!(of(OTHER, OTHER).is_some());
        assert_eq!(of("type: s3, endpoint: 'http://h'", OTHER), None);
        assert_eq!(
            of("type: mock", "type: mock"),
            None,
            "it holds nothing, and says itself how long that is"
        );
        let copy = "{type: copy, ratio: 50, containers: c(2), objects: 'u(1,9)'}";
        assert!(asked(&[PREPARE, &work(&format!("{READ}, {copy}"))]).is_some(), "copies have other names");
        for touched in ["list", "delete"] {
            assert_eq!(asked(&[PREPARE, &work(&READ.replace("read", touched))]), None, "{touched}");
        }
        let part = READ.replace('}', ", range_read: true, object_length: 8KB, chunk_length: 4KB}");
        let part = asked(&[PREPARE, &work(&part)]).unwrap();
        assert_eq!((part.least_bytes, part.most_bytes), (1_000, 4_000), "{part:?}");
    }
}
