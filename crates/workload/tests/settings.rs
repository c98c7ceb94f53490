//! `--set KEY=VALUE` and targets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use cosmark_workload::model::{ConfigValue, Load, WhenFull, Work, Workload};
use cosmark_workload::{Environment, Format, apply_setting, apply_target, parse, parse_target, to_yaml};

const TEXT: &str = "
name: w
storage: {type: s3, endpoint: http://a, accesskey: x}
defaults: {containers: 'r(1,4)', objects: 'r(1,100)', sizes: c(4)KiB}
stages:
  - name: init
    works: [{type: init, workers: 1}]
  - name: prepare
    works: [{type: prepare, workers: 4}]
  - name: main.0
    works:
      - name: mix
        workers: 8
        runtime: 30s
        operations:
          - {type: read, ratio: 80, objects: 'u(1,100)'}
          - {type: write, ratio: 15, objects: 'u(101,200)'}
          - {type: list, ratio: 5}
      - {name: other, workers: 2, total_ops: 10, operations: [{type: read}]}
";

fn workload() -> Workload {
    parse(TEXT, Format::Yaml, &Environment::default()).0.unwrap()
}

fn set(setting: &str) -> Workload {
    let mut workload = workload();
    apply_setting(&mut workload, setting).unwrap_or_else(|e| panic!("{setting}: {e}"));
    workload
}

fn works(workload: &Workload) -> Vec<&Work> {
    workload.stages.iter().flat_map(|s| &s.works).collect()
}

#[test]
fn a_setting_reaches_the_works_it_fits() {
    assert!(works(&set("workers=16")).iter().all(|w| w.workers == 16));
    let changed = set("main.0.workers=16");
    assert_eq!(works(&changed).iter().map(|w| w.workers).collect::<Vec<_>>(), [1, 4, 16, 16]);
    let changed = set("main.0.other.workers=16");
    assert_eq!(works(&changed).iter().map(|w| w.workers).collect::<Vec<_>>(), [1, 4, 8, 16]);
    let changed = set("runtime=1500ms");
    let times: Vec<_> = works(&changed).iter().map(|w| w.runtime).collect();
    assert_eq!(
        times,
        [Duration::ZERO, Duration::ZERO, Duration::from_millis(1500), Duration::from_millis(1500)]
    );
    assert_eq!(works(&set("total_ops=0"))[3].total_ops, None);
    assert_eq!(works(&set("total_bytes=1GiB"))[2].total_bytes, Some(1 << 30));
    assert_eq!(works(&set("afr=0.05"))[2].afr_per_million, 50_000);
    assert_eq!(works(&set("afr=50000"))[2].afr_per_million, 50_000);
    assert_eq!(set("seed=0x10").seed, Some(16));
    assert_eq!(set("init.closure_delay=5s").stages[0].closure_delay, Duration::from_secs(5));
}

#[test]
fn a_setting_changes_the_load() {
    let rate = |workload: &Workload| works(workload)[2].load.clone();
    assert!(matches!(rate(&set("rate=poisson,500/s")), Load::Open { when_full: WhenFull::Wait, .. }));
    assert!(matches!(works(&set("rate=5"))[0].load, Load::Closed));
    let mut both = set("rate=500");
    apply_setting(&mut both, "main.0.mix.when_full=drop").unwrap();
    assert!(matches!(rate(&both), Load::Open { when_full: WhenFull::Drop, .. }));
    assert!(matches!(works(&both)[3].load, Load::Open { when_full: WhenFull::Wait, .. }));
    let mut paced = set("main.0.think_time=10ms");
    apply_setting(&mut paced, "rate_per_worker=5").unwrap();
    assert_eq!(
        rate(&paced),
        Load::Paced { think_time: Some(Duration::from_millis(10)), rate_per_worker: Some(5.0) }
    );
}

#[test]
fn a_setting_of_storage_or_auth_replaces_one_key() {
    let changed = set("storage.secretkey=${env:S3_SECRET}");
    let entries = &works(&changed)[0].storage.config.entries;
    assert_eq!(entries[2].value, ConfigValue::Env("S3_SECRET".to_owned()));
    let changed = set("main.0.storage.endpoint=http://b=c");
    assert_eq!(
        works(&changed)[2].storage.config.entries[0].value,
        ConfigValue::Text("http://b=c".to_owned())
    );
    assert_eq!(works(&changed)[0].storage.config.entries[0].value, ConfigValue::Text("http://a".to_owned()));
    assert_eq!(works(&set("auth.type=swauth"))[1].auth.kind, "swauth");
}

#[test]
fn a_setting_of_an_operation_key_reaches_the_operations_that_read_it() {
    let changed = set("sizes=64KiB");
    assert_eq!(works(&changed)[1].operations[0].sizes.as_ref().unwrap().to_string(), "c(64)KiB");
    assert!(works(&changed)[2].operations[0].sizes.is_none());
    assert!(works(&changed)[2].operations[1].config_text.contains("sizes=c(64)KiB"));
    let changed = set("container_prefix=bench-");
    assert!(works(&changed).iter().flat_map(|w| &w.operations).all(|o| o.container_prefix == "bench-"));
    let changed = set("main.0.objects=z(1,50,0.99)");
    assert_eq!(works(&changed)[2].operations[0].objects.as_ref().unwrap().to_string(), "z(1,50,0.99)");
    assert!(works(&changed)[2].operations[2].objects.is_none(), "a listing stays a listing");
    let operation = &works(&changed)[2].operations[1];
    assert_eq!((operation.weight, operation.id.as_str(), operation.name.as_str()), (15.0, "op2", "write"));
    let again = parse(&to_yaml(&changed), Format::Yaml, &Environment::default()).0.unwrap();
    assert_eq!(again, changed);
}

#[test]
fn when_a_check_looks_again_is_a_setting_and_without_a_check_it_is_said_that_it_does_nothing() {
    for (text, time) in [("2m", 120), ("0s", 0), ("24h", 86_400)] {
        let changed = set(&format!("settle={text}"));
        assert_eq!(changed.settle, Some(Duration::from_secs(time)), "{text}");
        let again = parse(&to_yaml(&changed), Format::Yaml, &Environment::default()).0.unwrap();
        assert_eq!(again, changed);
    }
    let said_of = |text: &str, rest: &str| -> Vec<String> {
        let found = parse(&format!("{text}{rest}"), Format::Yaml, &Environment::default()).1;
        found.into_iter().map(|one| one.message).filter(|one| one.contains("settle")).collect()
    };
    assert!(said_of("settle: 30s", TEXT).is_empty(), "what was prepared is listed");
    let unlisted = TEXT.replace("{type: list, ratio: 5}", "{type: list, ratio: 5, containers: 'u(1,5)'}");
    let said = |text: &str| said_of(text, &unlisted);
    assert_eq!(said("settle: 30s"), ["settle is a time of the check, and nothing is checked"]);
    assert!(said("settle: 30s\ncheck: durability").is_empty());
    assert!(said("").is_empty() && workload().settle.is_none());
}

#[test]
fn a_setting_that_cannot_be_says_why_and_changes_nothing() {
    for (setting, text) in [
        ("workers", "write e.g. workers=16"),
        ("wokers=5", "did you mean workers?"),
        ("main.0.runtme=5s", "did you mean runtime?"),
        ("mian.0.runtime=5s", "no such stage"),
        ("workers=many", "not a whole number"),
        ("runtime=soon", "is not a duration"),
        ("runtime=30", "write 30s or 30ms"),
        ("main.0.think_time=5", "write 5s or 5ms"),
        ("init.closure_delay=5", "write 5s or 5ms"),
        ("lost_after=30", "write 30s or 30ms"),
        ("init.runtime=5s", "fits no work here: `runtime`: special works have no limits"),
        ("init.sizes=c(1)KB", "fits no work here: `sizes`: of operations only these read it"),
        ("batch=5", "only these read it where they say it: bulkdelete"),
        ("settle=30", "write 30s or 30ms"),
        ("settle=25h", "at most 24h"),
        ("main.0.seed=5", "without a stage"),
        ("seed=x", "not a whole number"),
        ("objects=u(1,5)", "write r(1,5), or name a stage"),
        ("main.0.sizes=c(5)", "add a unit"),
        ("rate=fast", "is not a rate"),
        ("when_full=drop", "set a rate first"),
        ("storage.=5", "storage.KEY=VALUE"),
        ("page_size=0", "whole number above 0"),
        ("main.0.name=x", "keep their names"),
        ("colour=red", "known: workers"),
    ] {
        let mut workload = workload();
        let error = apply_setting(&mut workload, setting).unwrap_err();
        assert!(error.contains(text), "{setting}: {error}");
        assert_eq!(workload, self::workload(), "{setting}");
    }
}

#[test]
fn a_target_replaces_what_it_has_in_every_work() {
    let (target, diagnostics) = parse_target("storage: {type: swift, timeout: 5}\n");
    assert_eq!(diagnostics, []);
    let mut workload = workload();
    apply_target(&mut workload, &target.unwrap()).unwrap();
    assert!(works(&workload).iter().all(|w| w.storage.kind == "swift" && w.auth.kind == "none"));
    let text = "name: lab\nauth: {type: swauth, password: {env: KEY}}\nstorage:\n  type: swift\n";
    let (target, _) = parse_target(text);
    apply_target(&mut workload, &target.unwrap()).unwrap();
    assert!(
        works(&workload).iter().all(|w| w.auth.config.entries[0].value == ConfigValue::Env("KEY".to_owned()))
    );
}

#[test]
fn a_target_that_cannot_be_is_refused_with_the_reason() {
    for (text, message) in [
        ("", "empty"),
        ("storge: {type: s3}\n", "no field `storge`"),
        ("storage: s3\n", "not a single value"),
        ("auth: {}\n", "type cannot be empty"),
        ("name: x\n", "an auth, a storage or both"),
    ] {
        let (target, diagnostics) = parse_target(text);
        assert!(
            target.is_none() && diagnostics.iter().any(|d| d.message.contains(message)),
            "{text}: {diagnostics:?}"
        );
    }
}
