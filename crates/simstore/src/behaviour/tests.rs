//! Behaviour files: what is read, what is refused, and how it is said.

use super::*;

/// Users read of these files there.
#[test]
fn every_field_stands_in_the_guide_and_its_example_is_one() {
    let guide = include_str!("../../../../docs/guide/simulated-store.md");
    let refused = Behaviour::from_yaml("no_such_field: 1\n").unwrap_err().to_string();
    let listed = refused.split("expected one of ").nth(1).and_then(|text| text.lines().next()).unwrap();
    let fields: Vec<&str> = listed.split(", ").map(|name| name.trim_matches(['`', ' '])).collect();
    assert!(fields.len() > 30 && fields.contains(&"stale_list"), "{refused}");
    let rows: String = guide.lines().filter(|line| line.starts_with("| ")).collect();
    let stands = |name: &&str| ["`", ": "].iter().any(|end| rows.contains(&format!("`{name}{end}")));
    let missing: Vec<&str> = fields.into_iter().filter(|name| !stands(name)).collect();
    assert_eq!(missing, [""; 0], "not in docs/guide/simulated-store.md");
    let examples: Vec<&str> = guide.split("```\n").filter(|text| text.starts_with("time_zero:")).collect();
    let [example] = examples.as_slice() else { panic!("{} examples", examples.len()) };
    let behaviour = Behaviour::from_yaml(example).unwrap();
    assert_eq!((behaviour.stalls.len(), behaviour.errors.len()), (1, 1), "{behaviour:?}");
}

/// Every field of the schema once.
const ALL: &str = "
seed: 42
time_zero: first_request
store: {mode: headers, null_bytes: 1, max_object_bytes: 2, max_total_bytes: 3}
etag: cheap
keys: {AK: SK}
swift: {users: {'a:u': k}, check_tokens: false, token_lifetime_ms: 5, token_max_requests: 6, policies: [p]}
version_header: true
log: {max_records: 7, csv: x.csv, distinct_keys: false}
max_connections: 8
idle_timeout_s: 9
spin_us: 10
core: 0
tls: {names: [localhost]}
delay:
  - {op: get, law: {constant_ms: 1}}
  - {op: [put, head], law: {uniform: {min_ms: 1, max_ms: 2}}, key_prefix: a, from_s: 1, until_s: 2}
  - {law: {exponential_ms: 3}, share: 0.5}
  - {law: {lognormal: {median_ms: 4, sigma: 0.5}}, every_nth: 2}
  - {law: {mixture: [{count: 1, ms: 5}]}, exact: {count: 1, of: 2}}
  - {law: {list_ms: [1, 2]}}
  - {law: {file: recorded.txt}}
  - {law: {decay: {from_ms: 100, to_ms: 10, tau_s: 20}}}
  - {law: {linear: {from_ms: 1, to_ms: 2, over_s: 3}}}
  - {law: {by_bytes: {base_ms: 1, per_mib_ms: 2}}}
  - {law: {by_objects: {base_ms: 1, per_million_ms: 2}}}
stalls: [{at_s: 30, for_s: 1}, {at_s: 40, for_s: 1, kind: gate, op: get}]
capacity: {servers: 2, service_ms: 10, max_queue: 5, op: get}
rate_cap: {per_s: 200, burst: 10, status: 429, code: X, delay_ms: 1, retry_after_s: 2}
schedule: {points: [{at_s: 0, per_s: 1000}, {at_s: 100, per_s: 400, ramp: true}], burst: 2, status: 503, delay_ms: 0}
link: {download_bytes_per_s: 125000000, upload_bytes_per_s: 1}
bandwidth: {bytes_per_s: 1, first_byte_ms: 2, upload_bytes_per_s: 3}
errors: [{op: get, status: 503, share: 0.2, delay_ms: 1, code: SlowDown, retry_after_s: 1, before_body: true}]
redirect_loop: {status: 301}
error_body_with_200: {code: InternalError}
reset: [{at: accept}, {at: request}, {at: reply}, {at: headers}, {at: body}]
truncate: {keep: 0.5, chunked: true}
flip_byte: {every_nth: 1000}
wrong_content_length: {by: -1}
garbage_status_line: {text: x}
endless_headers: {limit_bytes: 100}
slow_trickle: {bytes: 1, every_ms: 2}
chunked: {}
stale: {window_ms: 200, share: 0.3, overwrite: true, delete: true, create: true}
stale_list: {window_ms: 200, create: true, delete: false}
close_after: 1
close_silently_after: 2
accept_delay_ms: 3
retry_after_s: 4
";

#[test]
fn every_field_is_read() {
    let b = Behaviour::from_yaml(ALL).unwrap();
    assert_eq!((b.seed, b.delay.len(), b.reset.len()), (42, 11, 5));
    assert_eq!(b.delay[1].op, OpSet::of(&[Op::Put, Op::Head]));
    assert_eq!(b.errors[0].code.as_deref(), Some("SlowDown"));
    assert_eq!(b.stalls[1].kind, StallKind::Gate);
    assert_eq!((b.truncate[0].keep, b.stale[0].share), (0.5, Some(0.3)));
}

#[test]
fn nothing_is_the_default_and_the_default_is_sound() {
    for text in ["", "\n# only a remark\n", "{}"] {
        assert_eq!(Behaviour::from_yaml(text).unwrap(), Behaviour::default(), "{text:?}");
    }
    Behaviour::default().check().unwrap();
}

#[test]
fn the_store_mode_null_needs_no_quotes() {
    for text in ["store: {mode: null}", "store: {mode: 'null'}"] {
        assert_eq!(Behaviour::from_yaml(text).unwrap().store.mode, StoreMode::Null, "{text}");
    }
    assert_eq!(Behaviour::from_yaml("store: {null_bytes: 1}").unwrap().store.mode, StoreMode::Full);
}

#[test]
fn unknown_fields_and_wrong_types_are_refused_with_their_place() {
    for (text, expected) in [
        ("sead: 1", "sead"),
        ("errors: {opp: get}", "opp"),
        ("errors: {op: fetch}", "unknown operation `fetch`"),
        ("delay: {law: {constant: 5}}", "constant"),
        ("delay: {law: {uniform: {min_ms: 1, max_ms: 2, mean: 3}}}", "mean"),
        ("store: {mode: half}", "half"),
        ("seed: many", "seed"),
        ("stalls: {at_s: 1}", "for_s"),
        ("a: [", "1:"),
    ] {
        let error = Behaviour::from_yaml(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let error =
        Behaviour::from_yaml("seed: 1\n\nerrors:\n  - {op: get, sttus: 1}\n").unwrap_err().to_string();
    assert!(error.contains("4:"), "no line number in {error}");
}

#[test]
fn numbers_that_make_no_sense_are_all_refused_at_once() {
    for (text, expected) in [
        ("errors: {share: 1.5}", "errors[0]: share is 1.5"),
        ("errors: {share: 0.5, every_nth: 2}", "only one of share"),
        ("errors: {every_nth: 0}", "every_nth is 0"),
        ("errors: {exact: {count: 3, of: 2}}", "3 of 2"),
        ("errors: {status: 200}", "status 200 is no error"),
        ("errors: {from_s: 5, until_s: 5}", "until_s 5 is not after"),
        ("errors: {op: []}", "op is an empty list"),
        ("errors: {delay_ms: .nan}", "delay_ms"),
        ("delay: {op: get}", "law is missing"),
        ("delay: {law: {constant_ms: -1}}", "constant_ms is -1"),
        ("delay: {law: {exponential_ms: .inf}}", "exponential_ms"),
        ("delay: {law: {mixture: []}}", "sum to 0"),
        ("delay: {law: {uniform: {min_ms: 3, max_ms: 2}}}", "exchange them"),
        ("delay: {law: {lognormal: {median_ms: 1, sigma: -1}}}", "sigma"),
        ("delay: {law: {list_ms: []}}", "0 values"),
        ("delay: {law: {decay: {from_ms: 1, to_ms: 1, tau_s: 0}}}", "tau_s"),
        ("delay: {law: {linear: {from_ms: 1, to_ms: 1, over_s: 0}}}", "over_s"),
        ("stalls: [{at_s: 1, for_s: 2}, {at_s: 2, for_s: 1}]", "overlap"),
        ("capacity: {servers: 0, service_ms: 1}", "servers is 0"),
        ("capacity: {}", "either service_ms or service"),
        ("capacity: {service_ms: 1, service: {constant_ms: 1}}", "either service_ms or service"),
        ("rate_cap: {}", "per_s is 0"),
        ("rate_cap: {per_s: 1, burst: 0.5}", "burst is 0.5"),
        ("schedule: {}", "points is empty"),
        ("schedule: {points: [{at_s: 1, per_s: 1}, {at_s: 1, per_s: 2}]}", "not in order"),
        ("truncate: {keep: 1}", "keep is 1"),
        ("wrong_content_length: {by: 0}", "by is 0"),
        ("slow_trickle: {bytes: 0}", "bytes is 0"),
        ("bandwidth: {bytes_per_s: 0}", "bytes_per_s is 0"),
        ("link: {download_bytes_per_s: -1}", "a rate is -1"),
        ("delay: {law: {by_bytes: {base_ms: 1, per_mib_ms: -1}}}", "per_mib_ms is -1"),
        ("redirect_loop: {status: 200}", "no redirect"),
        ("stale: {share: 0.5}", "window_ms is missing"),
        ("stale_list: {}", "window_ms is missing"),
        ("close_after: 0", "close_after"),
        ("max_connections: 0", "max_connections"),
        ("spin_us: 1000000", "spin_us"),
        ("swift: {policies: []}", "swift.policies"),
        ("tls: {cert: a.pem}", "both cert and key"),
        ("{etag: md5, store: {mode: headers}}", "md5 needs the content"),
        ("accept_delay_ms: -1", "accept_delay_ms"),
    ] {
        match Behaviour::from_yaml(text) {
            Err(BehaviourError::Invalid(problems)) => {
                let all = problems.join("\n");
                assert!(all.contains(expected), "{text}: {all}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    let two = Behaviour::from_yaml("{errors: {share: 2}, close_after: 0}").unwrap_err().to_string();
    assert!(two.contains("share is 2") && two.contains("close_after"), "{two}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Behaviour::from_file(Path::new("/no/such/behaviour.yaml")).unwrap_err().to_string();
    assert!(error.contains("/no/such/behaviour.yaml") && error.contains("check the name"), "{error}");
}

#[test]
fn names_of_operations_are_unique_and_found_again() {
    for op in Op::ALL {
        assert_eq!(Op::from_name(op.name()), Some(*op));
        assert!(OpSet::ANY.contains(*op) && OpSet::one(*op).contains(*op));
    }
    assert!(Op::ALL.len() <= 32, "OpSet has 32 bits");
    assert!(!OpSet::one(Op::Get).contains(Op::Put));
}

#[test]
fn every_behaviour_file_beside_the_crate_is_valid() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("behaviours");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let behaviour =
            Behaviour::from_file(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_ne!(behaviour, Behaviour::default(), "{}", path.display());
        names.push(path);
    }
    assert!(names.len() >= 15, "{names:?}");
}
