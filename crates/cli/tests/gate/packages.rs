//! What makes the packages (`scripts/packages.sh`) when a step fails: nothing old is packed, nothing half is used again.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use super::script;

/// A directory with the script and programs that stand for those which it calls.
fn repository(stubs: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let write = |name: &str, text: &str| {
        let path = here.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    write("Cargo.toml", "version = \"0.1.0\"\n");
    write("scripts/console.sh", "#!/bin/sh\n");
    for (name, source) in [("scripts/packages.sh", "packages.sh"), ("testbeds/lib.sh", "../testbeds/lib.sh")]
    {
        write(name, &fs::read_to_string(script(source)).unwrap());
    }
    for (name, text) in stubs {
        write(name, &format!("#!/bin/sh\n{text}\n"));
    }
    directory
}

fn packages(here: &Path, verb: &str) -> Output {
    let path = format!("{}:{}", here.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(here.join("scripts/packages.sh"));
    command.arg(verb).env("PATH", path).env("HERE", here).env("SOURCE_DATE_EPOCH", "1");
    command.env_remove("COSMARK_DIST").env_remove("COSMARK_PACKAGE_PROFILE").output().unwrap()
}

#[test]
fn the_binary_of_an_earlier_build_is_not_packed_when_a_build_fails() {
    let machine = std::env::consts::ARCH;
    let earlier = format!("target/packages/build/{machine}-unknown-linux-gnu/release/cosmark");
    let repository = repository(&[
        ("bin/uname", format!("echo {machine}").as_str()),
        ("bin/rustc", "echo \"$HERE\""),
        ("bin/cargo", "touch \"$HERE/compiled\"\nexit 101"),
        ("target/packages/venv/bin/wheel", ""),
        (earlier.as_str(), "touch \"$HERE/asked\""),
    ]);
    let here = repository.path();
    let output = packages(here, "build");
    assert!(!output.status.success() && here.join("compiled").exists(), "{output:?}");
    let tree = here.join(format!("target/packages/tree-{machine}"));
    assert!(!tree.exists() && !here.join("asked").exists(), "{output:?}");
}

#[test]
fn a_clean_root_that_was_not_made_wholly_is_not_used_again() {
    let machine = std::env::consts::ARCH;
    let repository = repository(&[
        ("bin/uname", format!("echo {machine}").as_str()),
        ("bin/id", "echo 0"),
        ("bin/sha256sum", ""),
        ("bin/unshare", ""),
        ("bin/debootstrap", "for root; do :; done\nmkdir -p \"$root/etc\"\nexit 1"),
        (format!("dist/cosmark-0.1.0-{machine}-linux-gnu.tar.gz").as_str(), ""),
    ]);
    let here = repository.path();
    let output = packages(here, "test");
    let base = here.join("target/packages/root-base");
    assert!(!output.status.success() && base.join("etc").exists(), "{output:?}");
    assert!(!base.join(".complete").exists(), "{output:?}");
}

#[test]
fn the_size_that_the_debian_package_states_is_that_of_its_files_and_not_of_a_disk() {
    let text = fs::read_to_string(script("packages.sh")).unwrap();
    let start = text.find("installed_kib() {").unwrap();
    let end = start + text[start..].find("\n}\n").unwrap() + 3;
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("usr");
    fs::create_dir_all(tree.join("share")).unwrap();
    // No disk holds anything of it.
    fs::File::create(tree.join("sparse")).unwrap().set_len((3 << 20) - 5).unwrap();
    fs::write(tree.join("small"), "x").unwrap();
    std::os::unix::fs::symlink("small", tree.join("link")).unwrap();
    let command = format!("{}installed_kib \"$1\"", &text[start..end]);
    let output = Command::new("bash").args(["-c", &command, "bash"]).arg(&tree).output().unwrap();
    // 3072 and 1 of the files, two directories, a link.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "3076\n", "{output:?}");
}
