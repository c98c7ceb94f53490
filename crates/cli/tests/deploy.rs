//! The files of `deploy/` against what they rely on: flags that the binary has, values that the chart's schema takes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").canonicalize().unwrap()
}

fn read(name: &str) -> String {
    fs::read_to_string(deploy().join(name)).unwrap_or_else(|cause| panic!("{name}: {cause}"))
}

/// The long flags that a text names.
fn flags(text: &str) -> BTreeSet<String> {
    let is_of_flag = |c: char| c.is_ascii_lowercase() || c == '-';
    text.match_indices("--")
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| c == '-' || c.is_alphanumeric()))
        .map(|(at, _)| text[at..].chars().take_while(|c| is_of_flag(*c)).collect::<String>())
        .filter(|flag| flag.len() > 3)
        .collect()
}

fn flags_of_help(subcommand: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_cosmark")).args([subcommand, "--help"]).output().unwrap();
    assert!(output.status.success());
    flags(&String::from_utf8(output.stdout).unwrap())
}

/// File, subcommand, the part of the file from the first text to the second.
const STARTS: &[(&str, &str, &str, &str)] = &[
    ("systemd/cosmark-controller.service", "controller", "ExecStart=", "\nRestart"),
    ("systemd/cosmark-controller.service", "controller", "COSMARK_CONTROLLER_ARGS=", "\n[Unit]"),
    ("systemd/cosmark-driver.service", "driver", "ExecStart=", "\nRestart"),
    ("systemd/cosmark-driver.service", "driver", "COSMARK_DRIVER_ARGS=", "\n#"),
    ("systemd/cosmark-node.service", "node", "ExecStart=", "\nRestart"),
    ("systemd/cosmark-node.service", "node", "COSMARK_NODE_ARGS=", "\n[Unit]"),
    ("systemd/cosmark-driver@.service", "driver", "ExecStart=", "\nRestart"),
    ("compose.yaml", "controller", "controller --nats", "ports:"),
    ("compose.yaml", "driver", "driver --join", "deploy:"),
    ("helm/cosmark/templates/controller.yaml", "controller", "args:", "ports:"),
    ("helm/cosmark/templates/drivers.yaml", "driver", "args:", "env:"),
    ("helm/cosmark/templates/_names.tpl", "driver", "- --nats-token-file", "end"),
    ("helm/cosmark/templates/_names.tpl", "controller", "- --nats-token-file", "end"),
];

#[test]
fn every_flag_that_a_deployment_uses_exists() {
    for (file, subcommand, from, to) in STARTS {
        let text = read(file);
        let start = text.find(from).unwrap_or_else(|| panic!("{file} has no `{from}`"));
        let end = text[start..].find(to).unwrap_or_else(|| panic!("{file} has no `{to}`"));
        let used = flags(&text[start..start + end]);
        assert!(!used.is_empty(), "{file}: {from}");
        let unknown: Vec<_> = used.difference(&flags_of_help(subcommand)).cloned().collect();
        assert!(unknown.is_empty(), "{file}: `cosmark {subcommand}` has no {unknown:?}");
    }
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// What is wrong with the values, if anything.
fn refused(values: &Value) -> Option<String> {
    let schema: Value = serde_json::from_str(&read("helm/cosmark/values.schema.json")).unwrap();
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("values", schema).unwrap();
    let index = compiler.compile("values", &mut schemas).unwrap();
    schemas.validate(values, index).err().map(|error| error.to_string())
}

#[test]
fn the_values_of_the_chart_fit_their_schema_and_mistakes_do_not() {
    let values = yaml(&read("helm/cosmark/values.yaml"));
    assert_eq!(refused(&values), None);
    for (at, wrong) in [
        ("/drivers/kind", json!("pets")),
        ("/drivers/count", json!(-1)),
        ("/controller/concurrency", json!(0)),
        ("/controller/storage/size", json!("ten")),
        ("/natsConnection/url", json!("http://nats")),
        ("/image/repository", json!("")),
        ("/drivers", json!({"replicas": 3})),
        ("/drivers/tolerations", json!([{"kay": "a"}])),
        ("/controller/tolerations", json!([{"key": "a", "operator": "Maybe"}])),
    ] {
        let mut changed = values.clone();
        *changed.pointer_mut(at).unwrap() = wrong;
        assert!(refused(&changed).is_some(), "{at}");
    }
}

#[test]
fn every_value_that_a_template_reads_is_in_the_values() {
    let values = yaml(&read("helm/cosmark/values.yaml"));
    for name in ["_names.tpl", "controller.yaml", "drivers.yaml", "NOTES.txt"] {
        let text = read(&format!("helm/cosmark/templates/{name}"));
        for (at, _) in text.match_indices(".Values.") {
            let path: String =
                text[at + 8..].chars().take_while(|c| c.is_alphanumeric() || *c == '.').collect();
            let pointer = format!("/{}", path.trim_end_matches('.').replace('.', "/"));
            assert!(values.pointer(&pointer).is_some(), "{name}: {pointer}");
        }
    }
}

/// A text that stands in a template without quotes is a number or a truth to YAML where it looks like one: a secret called
/// `123`, a tag `1.10`.
#[test]
fn texts_that_a_user_gives_are_quoted_where_templates_use_them() {
    let places = [
        ("_names.tpl", ".Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}"),
        ("_names.tpl", "secretName: {{ .Values.natsConnection.tokenSecret.name | quote }}"),
        ("_names.tpl", "key: {{ .Values.natsConnection.tokenSecret.key | quote }}"),
        ("controller.yaml", "storageClassName: {{ . | quote }}"),
        ("controller.yaml", "{{ include \"cosmark.nats\" . | quote }}"),
        ("drivers.yaml", "{{ include \"cosmark.nats\" . | quote }}"),
        ("drivers.yaml", "{{ join \",\" $labels | quote }}"),
    ];
    for (file, quoted) in places {
        let text = read(&format!("helm/cosmark/templates/{file}"));
        assert!(text.contains(quoted), "{file}: {quoted}");
    }
}

#[test]
fn compose_starts_a_nats_a_controller_and_three_drivers_and_publishes_only_to_this_host() {
    let compose = yaml(&read("compose.yaml"));
    let services: Vec<_> = compose["services"].as_object().unwrap().keys().collect();
    assert_eq!(services, ["controller", "driver", "nats"]);
    assert_eq!(compose["services"]["driver"]["deploy"]["replicas"], 3);
    let ports = compose["services"].as_object().unwrap().values().filter_map(|one| one["ports"].as_array());
    for port in ports.flatten() {
        assert!(port.as_str().unwrap().starts_with("127.0.0.1:"), "{port}");
    }
}
