//! What the schema refuses, and that it refuses no value that a reader takes.

use boon::{Compiler, SchemaIndex, Schemas};
use proptest::prelude::*;
use serde_json::Value;

use super::{Role, TargetKey, TargetType, TargetValue, json_schema};
use crate::keys::values::{parse_share, parse_time};
use crate::model::selector::{IntSelector, SizeSelector};
use crate::model::threshold::Threshold;
use crate::yaml::faults::parse_bandwidth;
use crate::yaml::fill::parse_percent;

fn types() -> Vec<TargetType> {
    let key =
        |names: &[&'static str], value| TargetKey { names: names.to_vec(), help: "", default: None, value };
    let keys = vec![
        key(&["endpoint", "url"], TargetValue::Url),
        key(&["region"], TargetValue::Text),
        key(&["timeout"], TargetValue::Time),
        key(&["path_style"], TargetValue::Switch),
        key(&["retries"], TargetValue::Whole(0, 9)),
        key(&["jitter"], TargetValue::Number(0.0, 1.0)),
        key(&["part"], TargetValue::Size),
        key(&["version"], TargetValue::Words(&["2", "3", "newest"])),
    ];
    let one = |role, names: &[&'static str], keys, open| TargetType {
        role,
        names: names.to_vec(),
        help: "",
        keys,
        has_unknown_keys: open,
    };
    vec![
        one(Role::Storage, &["s3", "sio"], keys.clone(), false),
        one(Role::Storage, &["plugin"], vec![key(&["path"], TargetValue::Text)], true),
        one(Role::Auth, &["keystone"], keys.clone(), false),
        one(Role::Node, &["ssh"], vec![key(&["host"], TargetValue::Text)], false),
    ]
}

struct Checked {
    schemas: Schemas,
    whole: SchemaIndex,
}

impl Checked {
    fn new(schema: Value) -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("workload.json", schema).unwrap();
        let whole = compiler.compile("workload.json", &mut schemas).unwrap();
        Self { schemas, whole }
    }

    fn check(&self, yaml: &str) -> Result<(), String> {
        let value: Value = serde_saphyr::from_str(yaml).unwrap();
        self.schemas.validate(&value, self.whole).map_err(|error| format!("{error:#}"))
    }
}

/// A workload with this in its stage, beside a work.
fn in_stage(text: &str) -> String {
    format!(
        "name: x\nstages:\n  - name: a\n    {text}\n    works: [{{type: init, workers: 1, containers: c(1)}}]\n"
    )
}

/// A workload with this in its one work.
fn in_work(text: &str) -> String {
    format!("name: x\nstages:\n  - name: a\n    works: [{{name: b, workers: 1, {text}}}]\n")
}

/// A workload with this in its one operation.
fn in_operation(text: &str) -> String {
    in_work(&format!("operations: [{{type: read, {text}}}]"))
}

#[test]
fn the_schema_refuses_mistakes_in_keys_types_and_values() {
    let schema = Checked::new(json_schema(&types()));
    let refused = [
        in_work("colour: red"),
        in_work("type: innit"),
        "name: x\nstages: [{name: a, works: [{type: init, workers: 0}]}]\n".to_owned(),
        "name: x\nstages: [{name: a, works: [{type: init}]}]\n".to_owned(),
        "name: x\nstages: {name: a}\n".to_owned(),
        "name: x\n".to_owned(),
        "name: x\nlost_after: 30\nstages: [{name: a, delay: 1s}]\n".to_owned(),
        in_stage("closure_delay: 5"),
        in_stage("closure_delay: 30parsecs"),
        in_stage("closure_delay: 1h30m"),
        in_work("runtime: 30parsecs"),
        in_work("runtime: -5s"),
        in_work("total_ops: many"),
        in_work("total_bytes: 5 parsecs"),
        in_work("histogram: maybe"),
        in_work("acceptable_failure_ratio: 2"),
        in_work("rate: 5 per day"),
        in_work("rate: 5/day"),
        in_work("rate: poisson"),
        in_work("rate: {shape: ramp, from: 1/s, to: fast}"),
        in_work("rate: {shape: step, steps: [{rate: 5/s, for: 10}]}"),
        in_work("pace: {think_time: 5}"),
        in_operation("objects: 'q(1,5)'"),
        in_operation("objects: 'u(1;5)'"),
        in_operation("objects: 'u(1,5'"),
        in_operation("objects: 'c(1,5)'"),
        in_operation("objects: 5"),
        in_operation("objects: 'h(1|5)'"),
        in_operation("objects: 'z(1,5)'"),
        in_operation("sizes: c(4)KX"),
        in_operation("sizes: c(4)kb"),
        in_operation("sizes: 4"),
        in_operation("sizes: 'u(1KiB,2)'"),
        in_operation("chunk_length: 5 parsecs"),
        in_operation("verify: perhaps"),
        in_operation("ratio: most"),
        in_stage("thresholds: ['p95 << 20']"),
        in_stage("thresholds: ['p95 <= 20']"),
        in_stage("thresholds: ['p59 <= 20 ms']"),
        in_stage("thresholds: ['p95 >= 20 ms']"),
        in_stage("thresholds: throughput <= 5/s"),
        in_stage("thresholds: throughput >= 5 per day"),
        in_stage("thresholds: error_rate <= low"),
        in_stage("thresholds: bandwidth >= 5 parsec/s"),
        in_stage("thresholds: .p95 <= 20 ms"),
        in_stage("search: {over: rate, from: 1/s, to: fast}"),
        in_stage("search: {over: rate, steps: [1/s, fast]}"),
        in_stage("search: {over: rate, from: 1/s, to: 9/s, width: wide}"),
        in_stage("faults: [{name: f, type: cgroup, slot: 30s, cpu: 20}]"),
        in_stage("faults: [{name: f, type: proxy, slot: 30s, bandwidth: 1 parsec/s}]"),
        in_stage("faults: [{name: f, type: network, slot: soon}]"),
        in_stage("storage: {type: s4}"),
        in_stage("storage: {endpoint: 'http://x'}"),
        in_stage("storage: {type: s3, endpoit: 'http://x'}"),
        in_stage("storage: {type: s3, config: {endpoit: 'http://x'}}"),
        in_stage("storage: {type: S3, endpoit: 'http://x'}"),
        in_stage("storage: {type: sio, endpoit: 'http://x'}"),
        in_stage("storage: {type: s3, endpoint: 's3://x'}"),
        in_stage("storage: {type: s3, endpoint: {environment: X}}"),
        in_stage("storage: {type: s3, endpoint: {env: X, file: Y}}"),
        in_stage("storage: {type: s3, timeout: 5}"),
        in_stage("storage: {type: s3, timeout: 5 parsecs}"),
        in_stage("storage: {type: s3, retries: 10}"),
        in_stage("storage: {type: s3, retries: some}"),
        in_stage("storage: {type: s3, jitter: 2}"),
        in_stage("storage: {type: s3, part: 5 parsecs}"),
        in_stage("storage: {type: s3, version: 4}"),
        in_stage("storage: {type: s3, path_style: perhaps}"),
        in_stage("storage: {type: keystone}"),
        in_stage("auth: {type: s3}"),
        in_stage("auth: {type: keystone, user: x}"),
        format!("nodes: [{{name: m1, type: shh}}]\n{}", in_work("")),
        format!("nodes: [{{type: ssh, host: m1}}]\n{}", in_work("")),
        format!("nodes: [{{name: m1, type: ssh, hots: m1}}]\n{}", in_work("")),
        format!("nodes: [{{name: m1, type: ssh, host: m1, links: {{eth0: 40 furlongs}}}}]\n{}", in_work("")),
    ];
    for text in refused {
        assert!(schema.check(&text).is_err(), "an editor says nothing of\n{text}");
    }
}

#[test]
fn the_schema_takes_every_way_to_write_a_value() {
    let schema = Checked::new(json_schema(&types()));
    let taken = [
        in_work(""),
        in_work("runtime: 1.5 h, rampup: 0, total_ops: '0x10', total_bytes: 5MiB, histogram: 'No'"),
        in_work("runtime: '${{ matrix.time }}', total_ops: '${{ matrix.n }}'"),
        in_work("rate: 5"),
        in_work("rate: 'step, 5/s : 10s, 300/m:2min'"),
        in_work("rate: 'recorded,1,/a, b'"),
        in_work("rate: {shape: ramp, from: 0, to: 5e3/s}"),
        in_operation("objects: ' u ( 1 , 5 ) ', containers: 1-4, sizes: 'h(1KiB|2KiB|3.5,4KiB||1)'"),
        in_operation("objects: 'r(1,${{ matrix.n }})', sizes: 64KiB, ratio: 0.5"),
        in_operation("sizes: 'u(1,5) KB', verify: true"),
        in_stage("thresholds: ['read.p99.9 <= 1.5 s', '1-read.p95_ms<20', throughput >= 5]"),
        in_stage("thresholds: p95 <= 200 ms + size / 1 MB/s"),
        in_stage("search: {over: workers, steps: [1, '2'], width: 0.1}"),
        in_stage(
            "faults: [{name: f, type: cgroup, slot: 30s, cpu: 150 %}, {name: g, type: proxy, slot: 1m, bandwidth: 1MB/s}]",
        ),
        in_stage(
            "storage: {type: S3, Endpoint: 'https://a,https://b', region: 5, Retries: 0x9, version: 3, path_style: 'ON'}",
        ),
        in_stage(
            "storage: {type: sio, url: {env: URL}, timeout: 0, part: 5MiB, jitter: '0.5', version: Newest}",
        ),
        in_stage("storage: {type: s3, config: {endpoint: {secret: here}, timeout: '', retries: '+3'}}"),
        format!("drivers: {{count: '3'}}\n{}", in_work("")),
        in_stage("storage: {type: '${{ matrix.store }}', whatever: 5}"),
        in_stage("storage: {type: plugin, path: /x.so, whatever: 5, config: {type: 7}}"),
        in_stage("auth: {type: keystone, url: http://x}"),
        format!(
            "nodes: [{{name: 5, role: proxy, type: ssh, host: m1, links: {{eth0: 40 mbit/s, eth1: 5MB/s}}}}]\n{}",
            in_work("")
        ),
    ];
    for text in taken {
        schema.check(&text).unwrap_or_else(|error| panic!("an editor refuses\n{text}{error}"));
    }
}

#[test]
fn every_reference_has_its_definition() {
    let schema = json_schema(&types());
    let text = schema.to_string();
    let names: Vec<_> = text.split("\"#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 10);
    for name in names {
        assert!(schema.pointer(&format!("/$defs/{name}")).is_some(), "{name}");
    }
}

#[test]
fn a_default_is_said_in_a_sentence_of_its_own() {
    let keys = ["how long it waits", "How long it waits.", "how long it waits"].into_iter().zip([
        Some("30s"),
        Some("30s"),
        None,
    ]);
    let keys = keys.map(|(help, default)| TargetKey {
        names: vec!["wait"],
        help,
        default,
        value: TargetValue::Time,
    });
    let said: Vec<Value> = keys
        .map(|key| {
            let one = TargetType {
                role: Role::Storage,
                names: vec!["x"],
                help: "",
                keys: vec![key],
                has_unknown_keys: false,
            };
            json_schema(&[one]).pointer("/$defs/storage-x-keys/properties/wait/description").unwrap().clone()
        })
        .collect();
    assert_eq!(
        said,
        ["how long it waits. Default: 30s.", "How long it waits. Default: 30s.", "how long it waits"]
    );
}

/// Name of a definition, and what reads such a value.
type Kind = (&'static str, fn(&str) -> bool);

/// The patterns of single values, each with what reads such a value.
struct Patterns {
    schemas: Schemas,
    kinds: Vec<(SchemaIndex, Kind)>,
}

impl Patterns {
    fn new() -> Self {
        let readers: [Kind; 13] = [
            ("numbers", |text| text.parse::<IntSelector>().is_ok()),
            ("sizes", |text| text.parse::<SizeSelector>().is_ok()),
            ("switch", |text| cosmark_units::parse_bool(text).is_some()),
            ("whole", |text| cosmark_units::parse_integer(text).is_some()),
            ("bytes", |text| cosmark_units::parse_size(text).is_ok()),
            ("time", |text| parse_time(text).is_ok()),
            ("perSecond", |text| cosmark_units::parse_rate(text).is_ok()),
            ("arrivals", |text| {
                crate::model::arrivals::parse_arrivals(text, cosmark_units::Plain::Refused).is_ok()
            }),
            ("speed", |text| cosmark_units::parse_speed(text).is_ok()),
            ("percent", |text| parse_percent(text).is_ok()),
            ("share", |text| parse_share(text).is_ok()),
            ("bandwidth", |text| parse_bandwidth(text).is_ok()),
            ("threshold", |text| Threshold::parse(text).is_ok()),
        ];
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("workload.json", json_schema(&types())).unwrap();
        let kinds = readers.map(|kind| {
            let name = kind.0;
            (compiler.compile(&format!("workload.json#/$defs/{name}"), &mut schemas).unwrap(), kind)
        });
        Self { schemas, kinds: kinds.to_vec() }
    }
}

/// What stands for each other where a text is changed a little.
const SIGNS: &str = "0159. ,()|-+/%<>=:_eEkKMiBsmhcurzxpt\u{a0}";

const TEXTS: [&str; 43] = [
    "20 %",
    "0.25",
    "64KiB/s",
    "c(1)",
    "u(1,100)",
    "u(5)",
    "r(0,0)",
    "s(1,9)",
    "h(1|5|2,6||3.5)",
    "z(1,100,0.99)",
    "1-5",
    "c(64)KiB",
    "u(1,10)MB",
    "64KiB",
    "u(4KiB,1MiB)",
    "h(1KB|2KB|1)",
    "1-5KB",
    "true",
    "OFF",
    "17",
    "0x1F",
    "5MiB",
    "1.5 GiB",
    "30s",
    "1.5 h",
    "2min",
    "0",
    "0.0",
    "5000/s",
    "300/m",
    "5e3",
    "poisson,5/s",
    "ramp,0,5/s",
    "step,5/s:10s,6/s:1m",
    "recorded,2,/a,b",
    "40Mbit/s",
    "1 Gbit/s",
    "5 MB/s",
    "read.p95 <= 20 ms",
    "p99.9<1.5s",
    "error_rate <= 0.1 %",
    "throughput >= 1000/s",
    "wire_p95_ms <= 200 + size / 1 MB/s",
];

#[test]
fn no_value_that_is_read_is_refused_by_its_pattern() {
    let patterns = Patterns::new();
    let mut taken = [0u32; 13];
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(6000)
    });
    let changes =
        prop::collection::vec((0..3u8, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..3);
    let drawn = (0..TEXTS.len(), changes).prop_map(|(at, changes)| {
        let mut signs: Vec<char> = TEXTS[at].chars().collect();
        let others: Vec<char> = SIGNS.chars().collect();
        for (how, place, other) in changes {
            let (place, other) = (place.index(signs.len().max(1)), *other.get(&others));
            match how {
                0 => signs.insert(place, other),
                1 if place < signs.len() => signs[place] = other,
                _ if place < signs.len() => drop(signs.remove(place)),
                _ => {}
            }
        }
        signs.into_iter().collect::<String>()
    });
    let counted = std::cell::RefCell::new(&mut taken);
    runner
        .run(&drawn, |text| {
            for (at, (index, (name, reads))) in patterns.kinds.iter().enumerate() {
                if reads(&text) {
                    counted.borrow_mut()[at] += 1;
                    let is_taken = patterns.schemas.validate(&Value::String(text.clone()), *index).is_ok();
                    prop_assert!(is_taken, "{name}: {text:?}");
                }
            }
            Ok(())
        })
        .unwrap();
    assert!(taken.iter().all(|count| *count > 20), "{taken:?}");
}
