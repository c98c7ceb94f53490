//! What `fill:` becomes, what `dataset:` gives, and what is refused.

use crate::model::dataset::FillPass;
use crate::model::{OpKind, WorkKind};
use crate::{Environment, Format, Workload, parse, to_yaml};

fn read(stages: &str) -> (Option<Workload>, Vec<String>) {
    let text = format!("name: x\nseed: 1\nstorage: {{type: s3, endpoint: 'http://a:1'}}\nstages:\n{stages}");
    let (workload, mistakes) = parse(&text, Format::Yaml, &Environment::default());
    (
        workload,
        mistakes
            .into_iter()
            .map(|one| format!("{}: {}", one.message, one.hint.unwrap_or_default()))
            .collect(),
    )
}

fn good(stages: &str) -> Workload {
    let (workload, mistakes) = read(stages);
    workload.unwrap_or_else(|| panic!("{mistakes:?}"))
}

const AGED: &str = "- name: fill\n  fill: {dataset: pebbles, objects: 1003, containers: 'r(2,5)', sizes: 'u(1,10)KB', workers: 8, \
                    order: scattered, overwrite: 20 %, delete: 0.1, rounds: 2}\n";
const READS: &str = "- name: main\n  works:\n  - name: w\n    workers: 2\n    runtime: 60s\n    operations:\n    \
                     - {type: read, dataset: pebbles}\n";

#[test]
fn a_fill_is_a_stage_for_each_of_its_passes_and_is_read_back_as_it_is_written() {
    let workload = good(AGED);
    let names: Vec<&str> = workload.stages.iter().map(|stage| stage.name.as_str()).collect();
    let expected = [
        "fill-init",
        "fill",
        "fill-overwrite-1",
        "fill-delete-1",
        "fill-rewrite-1",
        "fill-overwrite-2",
        "fill-delete-2",
        "fill-rewrite-2",
    ];
    assert_eq!(names, expected);
    let passes: Vec<&FillPass> =
        workload.stages.iter().filter_map(|stage| stage.works[0].pass.as_deref()).collect();
    let of = |at: usize| (passes[at].start, passes[at].count, passes[at].round, passes[at].scattered);
    assert_eq!(
        (of(0), of(1), of(2), of(3)),
        ((0, 1003, 0, true), (0, 201, 1, true), (201, 100, 1, true), (201, 100, 1, true))
    );
    assert_eq!(of(4), (301, 201, 2, true));
    assert!(passes.iter().zip(0..).all(|(pass, step)| pass.step == step && pass.steps == 7));
    let fill = &workload.stages[1].works[0];
    assert_eq!((fill.kind, fill.workers, fill.operations[0].kind), (WorkKind::Prepare, 8, OpKind::Prepare));
    assert_eq!(fill.operations[0].objects.as_ref().map(ToString::to_string).as_deref(), Some("r(1,251)"));
    assert_eq!(fill.operations[0].container_prefix, "pebbles-");
    assert_eq!(workload.stages[3].works[0].kind, WorkKind::Cleanup);
    let text = to_yaml(&workload);
    let (again, mistakes) = parse(&text, Format::Yaml, &Environment::default());
    let again = again.unwrap_or_else(|| panic!("{mistakes:?}\n{text}"));
    assert_eq!(to_yaml(&again), text);
    assert_eq!(again.stages[6].works[0].pass, workload.stages[6].works[0].pass);
}

#[test]
fn what_was_filled_before_is_read_by_its_name_and_what_stands_beside_it_holds_instead() {
    let workload = good(&format!("{AGED}{READS}"));
    let read = &workload.stages.last().unwrap().works[0].operations[0];
    let numbers = |selector: &Option<crate::IntSelector>| selector.as_ref().unwrap().to_string();
    assert_eq!((numbers(&read.containers).as_str(), numbers(&read.objects).as_str()), ("u(2,5)", "u(1,250)"));
    assert_eq!(read.container_prefix, "pebbles-");
    assert_eq!(read.dataset.as_ref().unwrap().name, "pebbles");
    let own = READS.replace("dataset: pebbles", "dataset: pebbles, objects: 'z(1,250,0.9)'");
    let workload = good(&format!("{AGED}{own}"));
    assert_eq!(numbers(&workload.stages.last().unwrap().works[0].operations[0].objects), "z(1,250,0.9)");
    // Expanded once, it needs nobody who knows it.
    let (again, mistakes) = parse(&to_yaml(&workload), Format::Yaml, &Environment::default());
    assert!(again.is_some(), "{mistakes:?}");
}

#[test]
fn bytes_and_shares_are_numbers_of_objects() {
    let fill = |goal: &str| {
        let text = format!("- {{name: f, fill: {{dataset: d, {goal}, sizes: c(10)KB}}}}\n");
        good(&text).stages[1].works[0].pass.as_ref().unwrap().objects
    };
    assert_eq!(fill("bytes: 1MB"), 100);
    assert_eq!(fill("bytes: 1001KB"), 101);
    assert_eq!(fill("share: 60 %, capacity: 1MB"), 60);
}

#[test]
fn a_fill_to_a_share_of_the_store_says_so_in_its_pass_and_is_read_by_later_runs_alone() {
    let text = "- {name: f, fill: {dataset: pebbles, to: 62.5 %, bytes: 1GB, containers: 'r(1,4)', sizes: c(10)KB, order: sequential}}\n";
    let workload = good(text);
    let pass = workload.stages[1].works[0].pass.clone().unwrap();
    assert_eq!((pass.full_at_ppm, pass.objects, pass.scattered), (Some(625_000), 100_000, false));
    let (again, mistakes) = parse(&to_yaml(&workload), Format::Yaml, &Environment::default());
    assert_eq!(again.unwrap_or_else(|| panic!("{mistakes:?}")).stages[1].works[0].pass, Some(pass));
    let named = good(&text.replace("bytes:", "nodes: 'm1, node 2', bytes:"));
    let pass = named.stages[1].works[0].pass.clone().unwrap();
    assert_eq!(pass.full_by, ["m1", "node 2"]);
    let (again, mistakes) = parse(&to_yaml(&named), Format::Yaml, &Environment::default());
    assert_eq!(again.unwrap_or_else(|| panic!("{mistakes:?}")).stages[1].works[0].pass, Some(pass));
    let (both, mistakes) = read(&format!("{text}{READS}"));
    assert!(
        both.is_none() && mistakes.iter().any(|one| one.contains("read it in a later run")),
        "{mistakes:?}"
    );
    assert!(
        good(AGED).stages.iter().flat_map(|stage| &stage.works[0].pass).all(|pass| pass.full_at().is_none())
    );
}

#[test]
fn what_an_unknown_data_set_would_have_given_is_not_called_missing_as_well() {
    for (stage, at) in [
        (READS.to_owned(), "type: read"),
        (READS.replace("type: read", "type: write"), "type: write"),
        (READS.replace("type: read", "type: read, objects: 'u(1,9)'"), "objects"),
        (READS.replace("    operations:", "    defaults: {dataset: pebbles}\n    operations:"), "defaults"),
        ("- {name: p, works: [{type: prepare, workers: 8, dataset: pebbles}]}\n".to_owned(), "prepare"),
    ] {
        let (workload, mistakes) = read(&stage);
        let is_the_name = |one: &String| one.starts_with("no data set is called `pebbles`");
        assert!(
            workload.is_none() && !mistakes.is_empty() && mistakes.iter().all(is_the_name),
            "{at}: {mistakes:?}"
        );
        assert!(mistakes[0].contains("`cosmark datasets list --archive DIR`"), "{mistakes:?}");
    }
}

#[test]
fn what_cannot_be_filled_or_read_is_refused_where_it_stands() {
    let fill = |inner: &str| format!("- {{name: f, fill: {{{inner}}}}}\n");
    for (inner, says) in [
        ("objects: 5, sizes: c(1)KB", "fill needs `dataset`"),
        ("dataset: d, objects: 5", "fill needs `sizes`"),
        ("dataset: d, sizes: c(1)KB", "fill needs one of objects, bytes and share"),
        ("dataset: d, objects: 5, bytes: 5KB, sizes: c(1)KB", "fill needs one of objects, bytes and share"),
        ("dataset: D_x, objects: 5, sizes: c(1)KB", "is no name of a data set"),
        ("dataset: ../x, objects: 5, sizes: c(1)KB", "is no name of a data set"),
        ("dataset: d, objects: 0, sizes: c(1)KB", "objects is 0"),
        ("dataset: d, objects: 99999999999, sizes: c(1)KB", "objects is 99999999999"),
        ("dataset: d, objects: 5, sizes: 'r(1,5)KB'", "depend on who writes"),
        ("dataset: d, objects: 5, sizes: c(1)KB, containers: 'u(1,2)'", "are a range"),
        ("dataset: d, objects: 2, sizes: c(1)KB, containers: 'r(1,3)'", "too few for 3 containers"),
        ("dataset: d, share: 50 %, sizes: c(1)KB", "share and capacity go together"),
        ("dataset: d, bytes: 0, sizes: c(1)KB", "is no number of objects"),
        ("dataset: d, objects: 5, sizes: c(1)KB, overwrite: 60 %, delete: 60 %", "more than the whole"),
        ("dataset: d, objects: 5, sizes: c(1)KB, rounds: 3", "a round does nothing"),
        ("dataset: d, objects: 5, sizes: c(1)KB, rounds: 101, delete: 1 %", "rounds is 101"),
        ("dataset: d, objects: 5, sizes: c(1)KB, order: random", "unknown order"),
        ("dataset: d, to: 60 %, sizes: c(1)KB", "fill needs one of objects, bytes and share"),
        ("dataset: d, to: 0, objects: 5, sizes: c(1)KB", "always that full"),
        ("dataset: d, to: 101 %, objects: 5, sizes: c(1)KB", "is no share"),
        ("dataset: d, to: 60 %, share: 9 %, capacity: 1MB, sizes: c(1)KB", "two goals"),
        ("dataset: d, to: 60 %, objects: 5, sizes: c(1)KB, order: scattered", "by their numbers"),
        ("dataset: d, to: 60 %, objects: 5, sizes: c(1)KB, overwrite: 20 %", "of how many objects overwrite"),
        ("dataset: d, to: 60 %, objects: 5, sizes: c(1)KB, delete: 20 %", "of how many objects delete"),
        (
            "dataset: d, to: 60 %, objects: 5, sizes: c(1)KB, nodes: 'a,,b'",
            "`` is no node that a fill can go by",
        ),
        ("dataset: d, objects: 5, sizes: c(1)KB, nodes: a", "nobody is asked"),
        ("dataset: d, objects: 5, sizes: c(1)KB, colour: red", "fill has no field `colour`"),
    ] {
        let (workload, mistakes) = read(&fill(inner));
        assert!(workload.is_none() && mistakes.iter().any(|one| one.contains(says)), "{inner}: {mistakes:?}");
    }
    let (workload, mistakes) = read(READS);
    assert!(
        workload.is_none() && mistakes.iter().any(|one| one.contains("no data set is called `pebbles`")),
        "{mistakes:?}"
    );
    let deletes = READS.replace("type: read", "type: delete");
    let (workload, mistakes) = read(&format!("{AGED}{deletes}"));
    assert!(
        workload.is_none() && mistakes.iter().any(|one| one.contains("delete takes objects away")),
        "{mistakes:?}"
    );
    let matrix = AGED.replace("  fill:", "  matrix: {n: [1, 2]}\n  fill:");
    let (workload, mistakes) = read(&matrix);
    assert!(workload.is_none() && mistakes.iter().any(|one| one.contains("matrix")), "{mistakes:?}");
}
