//! What operations are called where some runs have one work in a stage and others several: a name alone in the former, work and
//! name in the latter. Beside runs of COSBench, which know no works, they have the labels of its tables.

use std::collections::{BTreeMap, BTreeSet};

use super::load::{Loaded, LoadedStage, number_operations};

/// What a stage cost the machines of the store is an operation of no work.
const COSTS: &str = "store";

fn works(stage: &LoadedStage) -> BTreeSet<&str> {
    let own = stage.operations.iter().filter(|operation| operation.op != COSTS);
    own.map(|operation| operation.published.work.as_str()).collect()
}

/// By stage, the work that is alone in some runs and one of several in others. Left out are stages whose only works have other
/// names: these stay comparable by their operations.
fn alone_and_among(sides: &[Vec<Loaded>]) -> BTreeMap<String, String> {
    let (mut alone, mut among) = (BTreeMap::new(), BTreeMap::new());
    for stage in sides.iter().flatten().flat_map(|run| &run.stages) {
        let works = works(stage);
        let of: &mut BTreeMap<&str, BTreeSet<&str>> = if works.len() > 1 { &mut among } else { &mut alone };
        of.entry(stage.name.as_str()).or_default().extend(works);
    }
    let one = |(stage, works): (&str, BTreeSet<&str>)| {
        let work = works.first().copied().filter(|work| works.len() == 1 && !work.is_empty())?;
        let is_among = among.get(stage).is_some_and(|works| works.contains(work));
        is_among.then(|| (stage.to_owned(), work.to_owned()))
    };
    alone.into_iter().filter_map(one).collect()
}

/// The runs with operations of ours called as COSBench's tables call them, where there are runs of both; else `None`.
fn named_by_labels(sides: &[Vec<Loaded>]) -> Option<Vec<Vec<Loaded>>> {
    let runs = || sides.iter().flatten();
    if !runs().any(|run| run.is_cosbench) || runs().all(|run| run.is_cosbench) {
        return None;
    }
    let mut sides = sides.to_vec();
    let own = sides.iter_mut().flatten().filter(|run| !run.is_cosbench);
    for stage in own.flat_map(|run| &mut run.stages) {
        for operation in &mut stage.operations {
            let (name, sample) = (&operation.published.name, &operation.published.sample);
            if operation.op == COSTS || name.is_empty() {
                continue;
            }
            let is_plain = name == sample || sample.is_empty();
            operation.name = if is_plain { name.clone() } else { format!("{name}-{sample}") };
        }
        // Works are not in a label: what they told apart is told apart by its order, as theirs is.
        number_operations(stage);
    }
    Some(sides)
}

/// The runs with operations called alike in all of them; `None` where nothing has to be called otherwise.
pub fn named_alike(sides: &[Vec<Loaded>]) -> Option<Vec<Vec<Loaded>>> {
    let by_labels = named_by_labels(sides);
    after_works(by_labels.as_deref().unwrap_or(sides)).or(by_labels)
}

/// The runs with operations called after their works in all of them; `None` where nothing has to be called otherwise.
fn after_works(sides: &[Vec<Loaded>]) -> Option<Vec<Vec<Loaded>>> {
    let alone = alone_and_among(sides);
    if alone.is_empty() {
        return None;
    }
    let mut sides = sides.to_vec();
    for stage in sides.iter_mut().flatten().flat_map(|run| &mut run.stages) {
        let is_alone = works(stage).len() == 1;
        let Some(work) = alone.get(&stage.name).filter(|_| is_alone) else { continue };
        for operation in stage.operations.iter_mut().filter(|operation| operation.op != COSTS) {
            operation.name = format!("{work} {}", operation.name);
        }
    }
    Some(sides)
}
