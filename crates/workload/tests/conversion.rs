//! Conversion keeps the meaning: XML -> YAML -> XML, the expanded form, and YAML with everything that XML cannot say by itself.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cosmark_workload::model::*;
use cosmark_workload::operation::blank;
use cosmark_workload::selector::{Bucket, SizeUnit};
use cosmark_workload::{
    Environment, Format, IntSelector, Severity, SizeSelector, Span, parse, to_expanded_xml, to_xml, to_yaml,
};
use proptest::prelude::*;

fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for directory in ["tests/data", "../../workloads", "../../workloads/cosbench"] {
        let entries = fs::read_dir(root.join(directory)).unwrap().map(|e| e.unwrap().path());
        files.extend(entries.filter(|p| p.extension().is_some_and(|e| e == "xml" || e == "yaml")));
    }
    files.sort();
    files
}

fn read(text: &str, format: Format) -> Workload {
    let (workload, diagnostics) = parse(text, format, &Environment::default());
    workload.unwrap_or_else(|| panic!("{diagnostics:#?}\n{text}"))
}

fn no_error(diagnostics: &[cosmark_workload::Diagnostic]) -> bool {
    diagnostics.iter().all(|d| d.severity != Severity::Error)
}

#[test]
fn every_sample_means_the_same_in_both_formats() {
    let mut seen = 0;
    for path in files() {
        let text = fs::read_to_string(&path).unwrap();
        let format = Format::detect(&path.to_string_lossy(), &text);
        let (Some(mut workload), _) = parse(&text, format, &Environment::default()) else { continue };
        seen += 1;
        let yaml = to_yaml(&workload);
        let mut from_yaml = read(&yaml, Format::Yaml);
        assert_eq!(from_yaml, workload, "{path:?}\n{yaml}");
        assert_eq!(to_yaml(&from_yaml), yaml, "{path:?}: not canonical");
        // XML says that it loses these: `goals_come_back_from_yaml_and_their_loss_in_xml_is_told`.
        for stage in workload.stages.iter_mut().chain(&mut from_yaml.stages) {
            (stage.thresholds, stage.search) = (Vec::new(), None);
        }
        let (xml, diagnostics) = to_xml(&from_yaml);
        assert!(no_error(&diagnostics), "{path:?}: {diagnostics:#?}");
        assert_eq!(read(&xml, Format::Xml), workload, "{path:?}\n{xml}");
        let (expanded, diagnostics) = to_expanded_xml(&workload, |_, _| false);
        assert!(no_error(&diagnostics), "{path:?}: {diagnostics:#?}");
        assert_eq!(read(&expanded, Format::Xml), workload, "{path:?}\n{expanded}");
    }
    assert!(seen > 20, "only {seen} files were read");
}

#[test]
fn the_expanded_form_writes_everything_out_and_hides_secrets() {
    let text = r#"<workload name="w"><auth type="swauth" config="username=u;password=geheim"/>
        <storage type="s3" config="secretkey=geheim;endpoint=http://h"/><workflow>
        <workstage name="init"><work type="init" workers="3" config="containers=r(1,9)"/></workstage>
        <workstage name="main"><work name="m" workers="2" runtime="5">
        <operation type="read" config="containers=c(1);objects=c(1)"/></work></workstage></workflow></workload>"#;
    let workload = read(text, Format::Xml);
    let (xml, _) = to_expanded_xml(&workload, |kind, key| {
        (kind, key) == ("swauth", "password") || (kind, key) == ("s3", "secretkey")
    });
    assert!(!xml.contains("geheim"), "{xml}");
    assert_eq!(xml.matches("secretkey=***").count(), 3, "{xml}");
    for part in [
        r#"<workstage name="init" closuredelay="0">"#,
        r#"<work name="init" type="init" workers="3" interval="5" division="container" runtime="0" rampup="0" rampdown="0" afr="0" totalOps="3" totalBytes="0" config="containers=r(1,9)">"#,
        r#"<operation type="init" ratio="100" division="container" config="containers=r(1,9)" id="op1"/>"#,
        r#"afr="200000" totalOps="0" totalBytes="0">"#,
    ] {
        assert!(xml.contains(part), "{part}\n{xml}");
    }
}

#[test]
fn what_xml_cannot_carry_is_reported_and_not_silently_changed() {
    for (yaml, what) in [
        ("container_prefix: 'a;b'", "cprefix=a;b"),
        ("container_prefix: ' a'", "outer blanks"),
        ("container_prefix: 'x${containers}'", "is replaced"),
        ("container_prefix: 'x${csuffix}'\n    container_suffix: s", "is replaced"),
        ("container_prefix: 'x${container_suffix}'\n    container_suffix: s", "is replaced"),
        ("container_prefix: 'x${CSUFFIX}'\n    container_suffix: s", "is replaced"),
        ("container_prefix: 'x${seed}'", "is replaced"),
    ] {
        let text = format!(
            "name: w\nseed: 42\nstorage: {{type: mock}}\nstages:\n- name: i\n  works:\n  - type: init\n    workers: 1\n    \
             containers: r(1,2)\n    {yaml}\n"
        );
        let (_, diagnostics) = to_xml(&read(&text, Format::Yaml));
        assert!(
            diagnostics.iter().any(|d| d.severity == Severity::Error && d.message.contains(what)),
            "{diagnostics:?}"
        );
    }
    // In an operation the keys of its work, of its stage and of the workload would be meant.
    let of = |prefix: &str| {
        let text = format!(
            "name: w\nseed: 42\nstorage: {{type: mock}}\nstages:\n- name: s\n  works:\n  - name: w\n    workers: 1\n    \
             runtime: 1s\n    rate: 10/s\n    operations:\n    - {{type: read, containers: c(1), objects: c(1), \
             container_prefix: '{prefix}'}}\n"
        );
        to_xml(&read(&text, Format::Yaml)).1.into_iter().map(|d| (d.severity, d.message)).collect::<Vec<_>>()
    };
    for prefix in ["${seed}", "a${rate}b", "${objects}", "${object_prefix}${seed}"] {
        let found = of(prefix);
        let is_error = |(severity, message): &(Severity, String)| {
            *severity == Severity::Error && message.contains("is replaced")
        };
        assert!(found.iter().any(is_error), "{prefix}: {found:?}");
    }
    for prefix in ["${think_time}", "${nothing}", "${}", "$seed"] {
        assert!(of(prefix).is_empty(), "{prefix}: {:?}", of(prefix));
    }
    assert!(of("${sys:user.name}").iter().any(|(severity, _)| *severity == Severity::Warning));
    let text = "name: w\ntrigger: {script: s, args: ['a,b']}\nstages:\n- {name: p, delay: 1s}\n";
    let (_, diagnostics) = to_xml(&read(text, Format::Yaml));
    assert!(diagnostics.iter().any(|d| d.message.contains("trigger")), "{diagnostics:?}");
    assert!(diagnostics.iter().any(|d| d.severity == Severity::Warning && d.message.contains("only pauses")));
}

#[test]
fn ratios_become_whole_percents_that_sum_to_100_and_stay_exact() {
    let text = "name: w\nstorage: {type: mock}\ndefaults: {containers: c(1), objects: c(1)}\nstages:\n- name: s\n  works:\n  \
                - name: w\n    workers: 1\n    runtime: 1s\n    operations:\n    - {type: read, ratio: 1}\n    \
                - {type: head, ratio: 1}\n    - {type: delete, ratio: 1}\n";
    let workload = read(text, Format::Yaml);
    let (xml, _) = to_xml(&workload);
    assert!(xml.contains(r#"ratio="34" config="containers=c(1);objects=c(1);weight=1""#), "{xml}");
    assert_eq!(xml.matches("ratio=\"33\"").count(), 2);
    assert_eq!(read(&xml, Format::Xml), workload);
}

fn text() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "null",
        "~",
        "true",
        "1.0",
        "a: b",
        "a #b",
        "- x",
        "{a}",
        "[b",
        "'",
        "\"",
        "\\",
        "a\nb",
        "\u{85}",
        "\u{2028}",
        "é",
        "*a",
        "&b",
        "!c",
        "%d",
        "@e",
        "a:",
        "?",
        "=",
        "<",
        "a;b",
        "${x}",
        "${{",
        "a ${{ matrix.x }} }} ${{ '${{' }}",
        "&amp;",
        "\u{1f600}",
        "-",
        ".",
        "a,b",
        "\u{7f}",
    ]);
    prop_oneof![3 => "[a-z]{1,8}", 2 => odd.prop_map(str::to_owned), 1 => "\\PC{1,12}"]
}

/// As names and values come out of a file: without outer blanks, not empty.
fn trimmed() -> impl Strategy<Value = String> {
    text().prop_map(|t| t.trim().to_owned()).prop_filter("empty", |t| !t.is_empty())
}

fn selector() -> impl Strategy<Value = IntSelector> {
    (1..1000u64, 0..1000u64, 0.01..5.0f64, 0..6).prop_map(|(lo, len, x, form)| {
        let hi = lo + len;
        match form {
            0 => IntSelector::Constant(lo),
            1 => IntSelector::Uniform { lo, hi },
            2 => IntSelector::Sequential { lo, hi },
            3 => IntSelector::Range { lo, hi },
            4 => IntSelector::Zipf { lo, hi, theta: x },
            _ => IntSelector::Histogram {
                buckets: vec![Bucket { lo, hi, weight: x }, Bucket { lo: hi, hi: hi + 1, weight: 1.0 }],
            },
        }
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    let kinds = vec![
        OpKind::Read,
        OpKind::Write,
        OpKind::Delete,
        OpKind::List,
        OpKind::Head,
        OpKind::FileWrite,
        OpKind::MultipartWrite,
        OpKind::LocalWrite,
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let units = prop::sample::select(SizeUnit::TABLE.iter().map(|row| row.0).collect::<Vec<_>>());
    let names = (text(), text(), trimmed());
    (prop::sample::select(kinds), selector(), selector(), units, names, flags, 1..9u32, 0.001..1000.0f64)
        .prop_map(|(kind, containers, objects, unit, names, flags, small, weight)| {
            let mut o = blank(kind);
            o.weight = weight;
            o.containers = Some(containers);
            o.container_prefix = names.0;
            o.hash_check =
                flags.0 && !matches!(kind, OpKind::Delete | OpKind::List | OpKind::Head | OpKind::LocalWrite);
            if !matches!(kind, OpKind::FileWrite | OpKind::List) {
                o.objects = Some(objects.clone());
                o.object_suffix = names.1;
            }
            match kind {
                OpKind::Write | OpKind::MultipartWrite | OpKind::LocalWrite => {
                    o.sizes = Some(SizeSelector { values: IntSelector::Constant(u64::from(small)), unit });
                    o.content = if flags.1 { Content::Zero } else { Content::Random };
                }
                OpKind::Read if flags.1 => {
                    let length = flags.2.then_some(1 << 30);
                    o.range = Some(RangeRead {
                        object_length_bytes: length,
                        chunk_length_bytes: u64::from(small) << 10,
                    });
                }
                OpKind::List => o.page_size = flags.1.then_some(small),
                _ => {}
            }
            if matches!(kind, OpKind::FileWrite | OpKind::LocalWrite) {
                o.files = Some(names.2);
            }
            if kind == OpKind::MultipartWrite {
                (o.part_size_bytes, o.part_concurrency) = (u64::from(small) * 1000, small);
            }
            o
        })
}

fn load() -> impl Strategy<Value = Load> {
    (0..6, 0.001..1e6f64, 1..10_000_000_000u64, any::<bool>(), trimmed()).prop_map(
        |(form, rate, nanos, drop, path)| {
            let when_full = if drop { WhenFull::Drop } else { WhenFull::Wait };
            let arrivals = match form {
                0 => return Load::Closed,
                1 => {
                    return Load::Paced {
                        think_time: Some(Duration::from_nanos(nanos)),
                        rate_per_worker: drop.then_some(rate),
                    };
                }
                2 => Arrivals::Constant { rate_per_s: rate },
                3 => Arrivals::Ramp { from_per_s: 0.0, to_per_s: rate },
                4 => Arrivals::Step {
                    steps: vec![(rate, Duration::from_nanos(nanos)), (1.0, Duration::from_secs(1))],
                },
                _ => Arrivals::Recorded { path, time_warp: rate },
            };
            Load::Open { arrivals, when_full }
        },
    )
}

fn target() -> impl Strategy<Value = TargetSpec> {
    let value = prop_oneof![
        text().prop_map(|t| ConfigValue::Text(t.trim().to_owned())),
        "[A-Z_]{1,8}".prop_map(ConfigValue::Env),
        "[a-z/.~]{1,8}".prop_map(ConfigValue::File),
        "[a-z-]{1,8}".prop_map(ConfigValue::Secret),
    ];
    let keys = prop::sample::subsequence(vec!["type", "endpoint", "a b", "secret", "config"], 0..4);
    (trimmed(), keys, prop::collection::vec(value, 4)).prop_map(|(kind, keys, values)| TargetSpec {
        kind,
        config: Config {
            // In YAML `type` and `config` come last: they stand in a map of their own.
            entries: {
                let mut entries: Vec<ConfigEntry> = keys
                    .into_iter()
                    .zip(values)
                    .map(|(key, value)| ConfigEntry { key: key.to_owned(), value, span: Span::default() })
                    .collect();
                entries.sort_by_key(|e| e.key == "type" || e.key == "config");
                entries
            },
        },
        span: Span::default(),
    })
}

fn work() -> impl Strategy<Value = Work> {
    let times = (0..100_000u64, 1..20_000u64, 0..3u64);
    let limits = (prop::option::of(1..u64::MAX), prop::option::of(1..u64::MAX), 0..=1_000_000u32);
    (
        trimmed(),
        1..100u32,
        times,
        limits,
        load(),
        target(),
        prop::collection::vec(operation(), 1..4),
        any::<bool>(),
    )
        .prop_map(|(name, workers, times, limits, load, storage, operations, flag)| Work {
            name,
            kind: WorkKind::Normal,
            workers,
            interval: Duration::from_millis(times.1),
            division: Division::None,
            runtime: Duration::from_millis(times.0 + 1),
            rampup: Duration::from_millis(times.2 * 500),
            rampdown: Duration::ZERO,
            total_ops: limits.0,
            total_bytes: limits.1,
            afr_per_million: limits.2,
            driver: flag.then(|| "driver1".to_owned()),
            load,
            pass: None,
            histogram: !flag,
            auth: TargetSpec { kind: "none".to_owned(), config: Config::default(), span: Span::default() },
            storage,
            operations,
            span: Span::default(),
        })
}

fn workload() -> impl Strategy<Value = Workload> {
    let stage_name = trimmed().prop_filter("no ;", |name| !name.contains(';'));
    let stage =
        (stage_name, 0..4000u64, prop::collection::vec(work(), 0..3)).prop_map(|(name, pause, works)| {
            Stage {
                name,
                closure_delay: Duration::from_millis(pause),
                trigger: None,
                thresholds: Vec::new(),
                search: None,
                faults: Vec::new(),
                consistency: None,
                works,
                span: Span::default(),
            }
        });
    let stages = prop::collection::vec(stage, 1..4);
    (trimmed(), prop::option::of(text()), prop::option::of(any::<u64>()), stages).prop_map(
        |(name, description, seed, stages)| Workload {
            name,
            description,
            seed,
            stages,
            ..Workload::default()
        },
    )
}

/// Ids, names and config texts are the reader's work.
fn fill_in(mut made: Workload, read: &Workload) -> Workload {
    let read = read.stages.iter().flat_map(|s| &s.works).flat_map(|w| &w.operations);
    let made_operations = made.stages.iter_mut().flat_map(|s| &mut s.works).flat_map(|w| &mut w.operations);
    for (made, read) in made_operations.zip(read) {
        made.id.clone_from(&read.id);
        made.config_text.clone_from(&read.config_text);
    }
    made
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_workload_survives_yaml_and_xml_unless_xml_says_what_it_cannot_carry(made in workload()) {
        let yaml = to_yaml(&made);
        let from_yaml = read(&yaml, Format::Yaml);
        prop_assert_eq!(&from_yaml, &fill_in(made, &from_yaml), "{}", yaml);
        prop_assert_eq!(to_yaml(&from_yaml), yaml);
        for (xml, diagnostics) in [to_xml(&from_yaml), to_expanded_xml(&from_yaml, |_, _| false)] {
            if no_error(&diagnostics) {
                prop_assert_eq!(read(&xml, Format::Xml), from_yaml.clone(), "{}", xml);
            }
        }
    }
}

#[test]
fn goals_come_back_from_yaml_and_their_loss_in_xml_is_told() {
    let source = include_str!("data/search.yaml");
    let (workload, diagnostics) = parse(source, Format::Yaml, &Environment::default());
    assert!(diagnostics.iter().all(|d| d.severity == Severity::Warning), "{diagnostics:#?}");
    let workload = workload.unwrap();
    let (again, _) = parse(&to_yaml(&workload), Format::Yaml, &Environment::default());
    assert_eq!(again.as_ref(), Some(&workload));
    let (_, lost) = to_xml(&workload);
    assert!(lost.iter().any(|d| d.message.contains("no thresholds")), "{lost:#?}");
}

#[test]
fn a_pass_over_a_data_set_that_xml_has_no_words_for_is_an_error_there() {
    let text = "name: w\nstorage: {type: mock}\nstages:\n- name: set\n  fill: {dataset: aged, objects: 100, sizes: c(1)KB, \
                overwrite: 20 %}\n";
    let workload = read(text, Format::Yaml);
    for (_, lost) in [to_xml(&workload), to_expanded_xml(&workload, |_, _| false)] {
        let reported: Vec<_> = lost.iter().filter(|d| d.message.contains("XML has no fill")).collect();
        assert!(reported.len() == 1 && reported[0].severity == Severity::Error, "{lost:#?}");
        assert!(reported[0].message.contains("`aged`"), "{lost:#?}");
    }
}

#[test]
fn a_special_work_and_its_operation_may_have_names_of_their_own() {
    let text = r#"<workload name="w"><storage type="mock"/><workflow><workstage name="s">
        <work type="init" workers="1" name="make" config="containers=r(1,2)"/>
        <work type="prepare" workers="1" name="load" config="containers=r(1,2);objects=r(1,9);sizes=c(1)KB;name=fill"/>
        <work type="cleanup" workers="1" config="containers=r(1,2);objects=r(1,9);name=sweep"/>
        </workstage></workflow></workload>"#;
    let workload = read(text, Format::Xml);
    let names = |workload: &Workload| -> Vec<(String, String)> {
        let works = workload.stages[0].works.iter();
        works.map(|work| (work.name.clone(), work.operations[0].name.clone())).collect()
    };
    let expected = [("make", "init"), ("load", "fill"), ("cleanup", "sweep")];
    let expected: Vec<_> = expected.map(|(work, op)| (work.to_owned(), op.to_owned())).into();
    assert_eq!(names(&workload), expected);
    let yaml = to_yaml(&workload);
    let from_yaml = read(&yaml, Format::Yaml);
    assert_eq!(names(&from_yaml), expected, "{yaml}");
    assert_eq!(from_yaml, workload, "{yaml}");
    assert_eq!(read(&to_xml(&from_yaml).0, Format::Xml), workload);
}

#[test]
fn every_round_of_a_repeated_matrix_has_every_cell_once_in_an_order_of_its_own() {
    let source = include_str!("data/search.yaml");
    let (workload, _) = parse(source, Format::Yaml, &Environment::default());
    let names: Vec<String> = workload.unwrap().stages.into_iter().map(|stage| stage.name).collect();
    let round =
        |suffix: &str| -> Vec<&str> { names.iter().filter_map(|name| name.strip_suffix(suffix)).collect() };
    let (mut first, mut second) = (round("-r1"), round("-r2"));
    assert_eq!((first.len(), names.len()), (16, 1 + 32 + 2));
    assert_ne!(first, second, "drawn anew");
    first.sort_unstable();
    second.sort_unstable();
    assert_eq!(first, second);
    let again = parse(source, Format::Yaml, &Environment::default()).0.unwrap();
    assert_eq!(
        names,
        again.stages.into_iter().map(|stage| stage.name).collect::<Vec<_>>(),
        "same seed, same order"
    );
}

#[test]
fn a_workload_that_is_repeated_keeps_the_order_of_its_stages_and_prepares_once() {
    let source = include_str!("../../../workloads/smoke.yaml");
    let mut workload = parse(source, Format::Yaml, &Environment::default()).0.unwrap();
    let before = workload.stages.len();
    cosmark_workload::search::repeat(&mut workload, 3, 1);
    let names: Vec<&str> = workload.stages.iter().map(|stage| stage.name.as_str()).collect();
    let prepares = names.iter().filter(|name| name.contains("prepare")).count();
    let rounds: Vec<_> = names.iter().filter(|name| name.ends_with("-r2")).collect();
    assert_eq!(workload.stages.len(), before + 2 * rounds.len(), "{names:?}");
    assert!(prepares >= 1 && names.iter().all(|n| !n.contains("prepare-r")), "{names:?}");
}
