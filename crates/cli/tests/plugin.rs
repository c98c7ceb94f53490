//! Adaptors in shared libraries, from outside: the two examples, built as their users build them.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cosmark_archive::RunState;
use support::{operation, repository, run, run_json, stderr, stdout};

fn built_in_c(directory: &Path) -> PathBuf {
    let library = directory.join("memory.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-I"])
        .arg(repository().join("crates/adaptors/include"))
        .arg("-o")
        .arg(&library)
        .arg(repository().join("examples/plugins/c/memory.c"))
        .arg("-lpthread")
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", stderr(&compiled));
    library
}

fn built_in_rust(directory: &Path) -> PathBuf {
    let compiled = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--manifest-path"])
        .arg(repository().join("examples/plugins/rust/Cargo.toml"))
        .arg("--target-dir")
        .arg(directory)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", stderr(&compiled));
    directory.join("debug/libcosmark_plugin_threads.so")
}

fn target(directory: &Path, keys: &str) -> String {
    let path = directory.join("target.yaml");
    fs::write(&path, format!("storage:\n  type: plugin\n{keys}")).unwrap();
    path.display().to_string()
}

#[test]
fn a_library_workload_runs_on_a_plugin_and_its_secret_is_written_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let library = built_in_rust(&directory.path().join("build"));
    let target = target(directory.path(), &format!("  path: {}\n  token: hunter-two\n", library.display()));
    let smoke = repository().join("workloads/smoke.yaml").display().to_string();
    // So many that there are some of each kind, however slow the machine is: a tenth of them are lists.
    let quick = ["--set", "main.total_ops=150", "--set", "main.runtime=1h", "--set", "main.rampup=0s"];
    let args: Vec<&str> = ["run", &smoke, "--target", &target].into_iter().chain(quick).collect();
    let (output, record) = run_json(directory.path(), &args);
    assert_eq!((output.status.code(), record.state), (Some(0), RunState::Finished), "{}", stderr(&output));
    for name in ["read", "write", "head", "list"] {
        let found = operation(&record, "main", name);
        assert!(found.ok > 0 && found.failed == 0, "{name}: {found:?}");
    }
    let archive = directory.path().join("archive");
    let run_directory =
        fs::read_dir(&archive).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir());
    for entry in fs::read_dir(run_directory.unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains("hunter-two"), "{}", path.display());
        }
    }
    assert!(!stderr(&output).contains("hunter-two"));
}

#[test]
fn the_workload_of_the_guide_runs_on_the_example_that_has_no_containers() {
    let directory = tempfile::tempdir().unwrap();
    let library = built_in_c(directory.path());
    let target = target(directory.path(), &format!("  path: {}\n", library.display()));
    let page = fs::read_to_string(repository().join("docs/extend/adaptor-plugin.md")).unwrap();
    let block = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let file = directory.path().join("flat.yaml");
    fs::write(&file, block).unwrap();
    let args = ["run", file.to_str().unwrap(), "--target", &target, "--no-report"];
    let (output, record) = run_json(directory.path(), &args);
    assert_eq!((output.status.code(), record.state), (Some(0), RunState::Finished), "{}", stderr(&output));
    for name in ["read", "head", "write"] {
        let found = operation(&record, "main", name);
        assert!(found.ok > 0 && found.failed == 0, "{name}: {found:?}");
    }
}

#[test]
fn a_plugin_shows_its_keys_and_its_mistakes_at_their_line() {
    let directory = tempfile::tempdir().unwrap();
    let library = built_in_c(directory.path());
    let shown = run(directory.path(), &["adaptors", library.to_str().unwrap(), "--plugins", "."]);
    let text = stdout(&shown);
    for expected in ["storage type memory", "delay", "passphrase", "(secret)", "max_body"] {
        assert!(text.contains(expected), "{text}");
    }
    let smoke = repository().join("workloads/smoke.yaml").display().to_string();
    let check = |keys: &str| {
        let target = target(directory.path(), keys);
        let output = run(directory.path(), &["check", &smoke, "--target", &target, "--plugins", "."]);
        (output.status.code(), stderr(&output))
    };
    let path = library.display();
    let (code, text) = check(&format!("  path: {path}\n  dellay: 5ms\n"));
    assert!(
        code == Some(2) && text.contains("did you mean `delay`?") && text.contains("target.yaml:4:"),
        "{text}"
    );
    let (code, text) = check("  path: /no/such/library.so\n");
    assert!(code == Some(2) && text.contains("not below"), "{text}");
    let (code, text) = check(&format!("  path: {}/gone.so\n", directory.path().display()));
    assert!(code == Some(2) && text.contains("cannot be used"), "{text}");
}
