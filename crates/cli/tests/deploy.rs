//! The files of `deploy/` against what they rely on: flags that the binary has, values that the chart's schema takes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
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
fn the_guide_builds_and_pushes_the_image_that_the_chart_pulls() {
    let chart = yaml(&read("helm/cosmark/Chart.yaml"));
    let version = chart["appVersion"].as_str().unwrap();
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    assert_eq!(
        yaml(&read("helm/cosmark/values.yaml"))["image"]["tag"],
        "",
        "the chart's own version is pulled"
    );
    let page = fs::read_to_string(deploy().join("../docs/guide/deploy.md")).unwrap();
    let install = page.find("helm install").unwrap();
    for step in ["podman build -f deploy/Containerfile -t", "podman push"] {
        let line = page.lines().find(|line| line.contains(step) && line.contains("REGISTRY/cosmark:"));
        let line = line.unwrap_or_else(|| panic!("no line says `{step}` of the registry's image"));
        assert!(line.contains(&format!("REGISTRY/cosmark:{version}")), "{line}");
        assert!(page.find(line).unwrap() < install, "{line}");
    }
    assert!(page.contains(&format!("`appVersion` names, {version}")));
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

/// What a program does that stands for one of the system, beside noting how it was called.
fn stand_in(name: &str) -> &'static str {
    match name {
        "getent" => {
            "while read -r one; do if [ \"$one\" = \"$1:$2\" ]; then exit 0; fi; done <\"$HERE/known\"\nexit 2\n"
        }
        "systemd-sysusers" => "for one in passwd group; do echo \"$one:cosmark\" >>\"$HERE/known\"; done\n",
        "systemctl" => {
            "if [ \"$1\" = list-units ]; then echo 'cosmark-driver@a.service loaded active running A driver'; fi\n"
        }
        _ => "",
    }
}

/// A maintainer script of the Debian package, whose directories are below `here`, with nothing but these programs and those of
/// `path`: what it called of them, in order, and what it said. `known` are users and groups, such as `group:cosmark`.
fn maintained(
    here: &Path,
    (script, arguments): (&str, &[&str]),
    (programs, path): (&[&str], &str),
    known: &[&str],
) -> (Vec<String>, String) {
    let bin = here.join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(here.join("run")).unwrap();
    fs::write(here.join("known"), known.iter().flat_map(|one| [*one, "\n"]).collect::<String>()).unwrap();
    fs::write(here.join("log"), "").unwrap();
    for name in programs {
        let text = format!("#!/bin/sh\necho \"{name} $*\" >>\"$HERE/log\"\n{}", stand_in(name));
        fs::write(bin.join(name), text).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut text = read(&format!("debian/{script}"));
    for (place, name) in [
        ("/run/systemd/system", "run"),
        ("/var/lib/cosmark", "var"),
        ("/etc/cosmark", "etc"),
        ("/etc/systemd/system", "enabled"),
        ("/usr/lib/systemd/system", "units"),
    ] {
        text = text.replace(place, &here.join(name).display().to_string());
    }
    fs::write(here.join("script"), text).unwrap();
    let output = Command::new("/bin/sh")
        .arg(here.join("script"))
        .args(arguments)
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HERE", here)
        .output()
        .unwrap();
    assert!(output.status.success(), "{script} {arguments:?}: {output:?}");
    let called = fs::read_to_string(here.join("log")).unwrap().lines().map(str::to_owned).collect();
    (called, String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_package_makes_the_user_and_the_group_that_are_not_there() {
    const SYSUSERS: &[&str] = &["getent", "groupadd", "useradd", "install", "systemctl", "systemd-sysusers"];
    let plain = &SYSUSERS[..5];
    let cases: [(&[&str], &[&str], &[&str]); 6] = [
        (plain, &[], &["groupadd --system cosmark", "useradd --system --gid cosmark "]),
        (plain, &["passwd:cosmark"], &["groupadd --system cosmark"]),
        (plain, &["group:cosmark"], &["useradd --system --gid cosmark "]),
        (plain, &["passwd:cosmark", "group:cosmark"], &[]),
        (SYSUSERS, &[], &["systemd-sysusers cosmark.conf"]),
        (SYSUSERS, &["passwd:cosmark"], &["groupadd --system cosmark"]),
    ];
    for (programs, known, expected) in cases {
        let directory = tempfile::tempdir().unwrap();
        let (called, said) =
            maintained(directory.path(), ("postinst", &["configure", ""][..]), (programs, ""), known);
        let made: Vec<&String> =
            called.iter().filter(|call| call.contains("add ") || call.contains("sysusers")).collect();
        assert!(
            made.len() == expected.len()
                && made.iter().zip(expected).all(|(call, begin)| call.starts_with(begin)),
            "{known:?}: {called:?}"
        );
        assert!(called.iter().any(|call| call.starts_with("install -d -o cosmark -g cosmark")), "{called:?}");
        assert_eq!(said, "", "a first install has nothing to say");
    }
}

#[test]
fn an_upgrade_says_which_services_go_on_as_they_were_and_stops_none() {
    let directory = tempfile::tempdir().unwrap();
    let programs = &["getent", "install", "systemctl"][..];
    let known = &["passwd:cosmark", "group:cosmark"][..];
    let upgrade = ("postinst", &["configure", "0.0.9"][..]);
    let (called, said) = maintained(directory.path(), upgrade, (programs, ""), known);
    assert!(said.contains("cosmark-driver@a.service goes on as version 0.0.9"), "{said}");
    assert!(said.contains("systemctl restart cosmark-driver@a.service"), "{said}");
    let (called_before, _) =
        maintained(directory.path(), ("prerm", &["upgrade", "0.1.0"][..]), (programs, ""), known);
    for call in called.iter().chain(&called_before).filter(|call| call.starts_with("systemctl")) {
        assert!(call.contains("daemon-reload") || call.contains("list-units"), "{call}");
    }
    let (called, _) = maintained(directory.path(), ("prerm", &["remove"][..]), (programs, ""), known);
    assert!(
        called.iter().any(|call| call.starts_with("systemctl stop cosmark-controller.service ")),
        "{called:?}"
    );
}

#[test]
fn a_purge_takes_the_links_to_units_that_are_gone_and_leaves_results_and_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let wanted = at("enabled/multi-user.target.wants");
    for made in [&wanted, &at("units"), &at("var"), &at("etc")] {
        fs::create_dir_all(made).unwrap();
    }
    fs::write(at("units/cosmark-own.service"), "").unwrap();
    fs::write(at("etc/driver.nk"), "").unwrap();
    for unit in ["cosmark-driver@a.service", "cosmark-own.service", "other.service"] {
        symlink(at("units").join(unit.replace("@a", "@")), wanted.join(unit)).unwrap();
    }
    let links = || {
        let mut names: Vec<String> = fs::read_dir(&wanted)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let programs = (&["systemctl"][..], "/usr/bin:/bin");
    maintained(directory.path(), ("postrm", &["remove"][..]), programs, &[]);
    assert_eq!(links().len(), 3, "who installs it again has what was enabled");
    let (_, said) = maintained(directory.path(), ("postrm", &["purge"][..]), programs, &[]);
    assert_eq!(links(), ["cosmark-own.service", "other.service"]);
    assert!(at("etc/driver.nk").exists() && at("var").exists() && said.contains("is kept"), "{said}");
}

/// What compose.yaml says to write below `deploy` are the keys of a fleet.
#[test]
fn keys_that_are_made_beside_the_sources_come_into_no_image_and_no_commit() {
    let commands = read("compose.yaml");
    for made in ["deploy/nats", "deploy/state"] {
        assert!(commands.contains(&format!(" {made}")), "{made}");
        for file in ["../.gitignore", "../.dockerignore", "../.containerignore"] {
            let ignored = read(file);
            assert!(ignored.lines().any(|line| line.trim_start_matches('/') == made), "{file}: {made}");
        }
    }
    assert_eq!(read("../.dockerignore"), read("../.containerignore"));
}
